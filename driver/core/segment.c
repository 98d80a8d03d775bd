// SPDX-License-Identifier: GPL-2.0-only
/*
 * segment.c - memory a context may use, and may export
 *
 * ctx->lock orders create, export, revoke and destroy. Posting looks segments
 * up under RCU; the segment keeps its reference to the mem until a grace period
 * after it was hidden, so what was found under RCU may be used or referenced.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "dmanic.h"

static struct dmanic_segment *segment_find(struct dmanic_ctx *ctx, u32 id)
{
	lockdep_assert_held(&ctx->lock);
	return xa_load(&ctx->segments, id);
}

static struct dmanic_mem *segment_mem_create(struct dmanic_ctx *ctx,
					     struct dmanic_segment_create *arg)
{
	if (arg->flags & ~DMANIC_SEGMENT_USER_MEMORY)
		return ERR_PTR(-EOPNOTSUPP);
	if (arg->flags & DMANIC_SEGMENT_USER_MEMORY)
		return dmanic_mem_pin(ctx, arg->address, arg->length, &arg->refusal);
	if (arg->address)
		return ERR_PTR(-EOPNOTSUPP);
	return dmanic_mem_alloc(ctx, arg->length, &arg->refusal);
}

/**
 * dmanic_segment_create() - DMANIC_IOC_SEGMENT_CREATE
 * @ctx: the context
 * @arg: in and out
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
int dmanic_segment_create(struct dmanic_ctx *ctx, struct dmanic_segment_create *arg)
{
	struct dmanic_node *node = ctx->node;
	struct dmanic_segment *seg;
	int ret;

	arg->id = 0;
	arg->mmap_offset = 0;
	memset(&arg->refusal, 0, sizeof(arg->refusal));
	ret = dmanic_account_take(ctx, DMANIC_KIND_SEGMENT, &arg->refusal);
	if (ret)
		return ret;

	ret = -ENOMEM;
	seg = kzalloc(sizeof(*seg), GFP_KERNEL_ACCOUNT);
	if (!seg)
		goto err_account;
	seg->mem = segment_mem_create(ctx, arg);
	if (IS_ERR(seg->mem)) {
		ret = PTR_ERR(seg->mem);
		goto err_free;
	}
	ret = dmanic_export_reserve(node, &seg->id);
	if (ret)
		goto err_mem;

	/* Once it is in the table, another thread may destroy it */
	arg->id = seg->id;
	arg->block_order = seg->mem->block_order;
	if (!seg->mem->user_pages)
		arg->mmap_offset = (u64)seg->id << DMANIC_MMAP_SHIFT;
	mutex_lock(&ctx->lock);
	ret = xa_insert(&ctx->segments, seg->id, seg, GFP_KERNEL_ACCOUNT);
	mutex_unlock(&ctx->lock);
	if (ret)
		goto err_unreserve;
	return 0;

err_unreserve:
	arg->id = 0;
	arg->mmap_offset = 0;
	dmanic_export_unreserve(node, seg->id);
err_mem:
	dmanic_mem_put_sleep(seg->mem);
err_free:
	kfree(seg);
err_account:
	dmanic_account_give(ctx, DMANIC_KIND_SEGMENT);
	return ret;
}

static int segment_unexport(struct dmanic_ctx *ctx, struct dmanic_segment *seg)
{
	lockdep_assert_held(&ctx->lock);
	if (!seg->export)
		return -ENOENT;
	dmanic_export_revoke(seg->export);
	seg->export = NULL;
	return 0;
}

/* Nobody finds it any more, here or from another node */
static void segment_hide(struct dmanic_ctx *ctx, struct dmanic_segment *seg)
{
	lockdep_assert_held(&ctx->lock);
	xa_erase(&ctx->segments, seg->id);
	dmanic_forget();
	if (seg->export)
		dmanic_export_hide(seg->export);
}

/* An RCU grace period after segment_hide() */
static void segment_free(struct dmanic_ctx *ctx, struct dmanic_segment *seg)
{
	if (seg->export)
		dmanic_export_free(seg->export);
	dmanic_export_unreserve(ctx->node, seg->id);
	dmanic_mem_put_sleep(seg->mem);
	dmanic_account_give(ctx, DMANIC_KIND_SEGMENT);
	kfree(seg);
}

/**
 * dmanic_segment_destroy() - DMANIC_IOC_SEGMENT_DESTROY
 * @ctx: the context
 * @arg: which
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
int dmanic_segment_destroy(struct dmanic_ctx *ctx, struct dmanic_segment_id *arg)
{
	struct dmanic_segment *seg;

	if (arg->flags || arg->reserved)
		return -EOPNOTSUPP;
	mutex_lock(&ctx->lock);
	seg = segment_find(ctx, arg->id);
	if (seg)
		segment_hide(ctx, seg);
	mutex_unlock(&ctx->lock);
	if (!seg)
		return -ENOENT;
	synchronize_rcu_expedited();
	segment_free(ctx, seg);
	return 0;
}

/**
 * dmanic_segment_destroy_all() - the context goes; nobody posts any more
 * @ctx: the context
 */
void dmanic_segment_destroy_all(struct dmanic_ctx *ctx)
{
	struct dmanic_segment *seg;
	unsigned long id;
	bool any = false;

	xa_for_each(&ctx->segments, id, seg) {
		if (seg->export)
			dmanic_export_hide(seg->export);
		any = true;
	}
	if (any)
		synchronize_rcu_expedited();
	xa_for_each(&ctx->segments, id, seg) {
		xa_erase(&ctx->segments, id);
		segment_free(ctx, seg);
	}
	xa_destroy(&ctx->segments);
}

static int segment_publish(struct dmanic_ctx *ctx, struct dmanic_segment *seg,
			   struct dmanic_segment_export *arg)
{
	struct dmanic_export *export;
	int ret;

	if (seg->export)
		return -EEXIST;
	export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	if (!export)
		return -ENOMEM;
	export->node = ctx->node;
	export->id = seg->id;
	export->kind = DMANIC_EXPORT_SEGMENT;
	export->rights = arg->rights;
	export->length = seg->mem->length;
	export->mem = seg->mem;
	ret = dmanic_export_publish(export, arg->name, arg->secret);
	if (ret) {
		kfree(export);
		return ret;
	}
	seg->export = export;
	arg->key = export->key;
	return 0;
}

/**
 * dmanic_segment_export() - DMANIC_IOC_SEGMENT_EXPORT
 * @ctx: the context
 * @arg: in and out
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
int dmanic_segment_export(struct dmanic_ctx *ctx, struct dmanic_segment_export *arg)
{
	const u32 rights = DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE | DMANIC_RIGHT_ATOMIC;
	struct dmanic_segment *seg;
	int ret;

	if (arg->flags || (arg->rights & ~rights))
		return -EOPNOTSUPP;
	if (!arg->rights || !dmanic_name_valid(arg->name, sizeof(arg->name)))
		return -EINVAL;
	if (!*arg->name && (arg->secret[0] || arg->secret[1]))
		return -EINVAL;

	mutex_lock(&ctx->lock);
	seg = segment_find(ctx, arg->id);
	ret = seg ? segment_publish(ctx, seg, arg) : -ENOENT;
	mutex_unlock(&ctx->lock);
	return ret;
}

/**
 * dmanic_segment_revoke() - DMANIC_IOC_SEGMENT_REVOKE
 * @ctx: the context
 * @arg: which
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
int dmanic_segment_revoke(struct dmanic_ctx *ctx, struct dmanic_segment_id *arg)
{
	struct dmanic_segment *seg;
	int ret;

	if (arg->flags || arg->reserved)
		return -EOPNOTSUPP;
	mutex_lock(&ctx->lock);
	seg = segment_find(ctx, arg->id);
	ret = seg ? segment_unexport(ctx, seg) : -ENOENT;
	mutex_unlock(&ctx->lock);
	return ret;
}

/**
 * dmanic_segment_export_undo() - the caller could not be told of its export
 * @ctx: the context
 * @arg: of dmanic_segment_export()
 *
 * By now it may have been revoked, and exported again.
 */
void dmanic_segment_export_undo(struct dmanic_ctx *ctx,
				const struct dmanic_segment_export *arg)
{
	struct dmanic_segment *seg;

	mutex_lock(&ctx->lock);
	seg = segment_find(ctx, arg->id);
	if (seg && seg->export && seg->export->key == arg->key)
		segment_unexport(ctx, seg);
	mutex_unlock(&ctx->lock);
}

/**
 * dmanic_segment_mem() - memory of a segment, for posting
 * @ctx: the context
 * @id: chosen by the user
 *
 * Return: the mem, valid under RCU, or NULL.
 */
struct dmanic_mem *dmanic_segment_mem(struct dmanic_ctx *ctx, u32 id)
{
	struct dmanic_segment *seg;

	if (id >= DMANIC_ID_END)
		return NULL;
	id = array_index_nospec(id, DMANIC_ID_END);
	seg = xa_load(&ctx->segments, id);
	return seg ? seg->mem : NULL;
}

/**
 * dmanic_segment_mmap() - map a segment of the context
 * @ctx: the context
 * @vma: its offset is mmap_offset, and more for a later part of the segment
 *
 * Return: 0; -EINVAL.
 */
int dmanic_segment_mmap(struct dmanic_ctx *ctx, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	struct dmanic_mem *mem;
	int ret;

	if (offset >> DMANIC_MMAP_SHIFT > U32_MAX)
		return -EINVAL;
	rcu_read_lock();
	mem = dmanic_segment_mem(ctx, offset >> DMANIC_MMAP_SHIFT);
	if (mem)
		refcount_inc(&mem->ref);
	rcu_read_unlock();
	if (!mem)
		return -EINVAL;
	ret = dmanic_mem_mmap(mem, vma, offset & (BIT_ULL(DMANIC_MMAP_SHIFT) - 1));
	dmanic_mem_put_sleep(mem);
	return ret;
}
