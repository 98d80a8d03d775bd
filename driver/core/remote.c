// SPDX-License-Identifier: GPL-2.0-only
/*
 * remote.c - connections: handles for exports of other nodes
 *
 * A connection is only knowledge (where, key, rights, size). Each access is
 * checked again by the target, so nothing has to be told when one of the two
 * goes away.
 */
#include <linux/nospec.h>
#include <linux/slab.h>

#include "dmanic.h"
#include "link.h"

static int remote_ask(struct dmanic_ctx *ctx, struct dmanic_connect *arg,
		      struct dmanic_remote *remote)
{
	remote->kind = arg->flags & DMANIC_CONNECT_IRQ ? DMANIC_EXPORT_IRQ :
							 DMANIC_EXPORT_SEGMENT;
	remote->target.node = arg->node;
	remote->target.id = arg->id;
	remote->target.key = arg->key;
	return ctx->node->link->connect(ctx, arg, remote);
}

static int remote_check(const struct dmanic_connect *arg)
{
	bool by_name = arg->flags & DMANIC_CONNECT_BY_NAME;

	if (arg->flags & ~(DMANIC_CONNECT_BY_NAME | DMANIC_CONNECT_IRQ))
		return -EOPNOTSUPP;
	if (!dmanic_name_valid(arg->name, sizeof(arg->name)))
		return -EINVAL;
	if (by_name ? (arg->id || arg->key || !*arg->name) :
		      (*arg->name || arg->secret[0] || arg->secret[1] ||
		       arg->timeout_ns))
		return -EINVAL;
	return 0;
}

/**
 * dmanic_remote_connect() - DMANIC_IOC_CONNECT
 * @ctx: the context
 * @arg: in and out
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
int dmanic_remote_connect(struct dmanic_ctx *ctx, struct dmanic_connect *arg)
{
	struct dmanic_remote *remote;
	bool map;
	u32 handle;
	int ret;

	arg->handle = 0;
	arg->mmap_offset = 0;
	memset(&arg->refusal, 0, sizeof(arg->refusal));
	ret = remote_check(arg);
	if (ret)
		return ret;
	ret = dmanic_limit_take(&ctx->nr_remotes, DMANIC_MAX_CONNECTIONS,
				DMANIC_LIMIT_CONNECTIONS, &arg->refusal);
	if (ret)
		return ret;
	ret = dmanic_account_take(ctx, DMANIC_KIND_CONNECTION, &arg->refusal);
	if (ret)
		goto err_limit;

	ret = -ENOMEM;
	remote = kzalloc(sizeof(*remote), GFP_KERNEL_ACCOUNT);
	if (!remote)
		goto err_account;
	ret = remote_ask(ctx, arg, remote);
	if (ret)
		goto err_free;
	/* Read before the handle is public: a racing thread may disconnect it */
	arg->rights = remote->rights;
	arg->length = remote->length;
	map = dmanic_map_possible(ctx, remote);

	mutex_lock(&ctx->lock);
	ret = xa_alloc_cyclic(&ctx->remotes, &handle, remote,
			      XA_LIMIT(1, DMANIC_ID_END - 1), &ctx->next_handle,
			      GFP_KERNEL_ACCOUNT);
	mutex_unlock(&ctx->lock);
	if (ret < 0)
		goto err_free;
	arg->handle = handle;
	if (map)
		arg->mmap_offset = DMANIC_MMAP_REMOTE |
				   (u64)handle << DMANIC_MMAP_SHIFT;
	return 0;

err_free:
	kfree(remote);
err_account:
	dmanic_account_give(ctx, DMANIC_KIND_CONNECTION);
err_limit:
	atomic_dec(&ctx->nr_remotes);
	return ret;
}

/**
 * dmanic_remote_disconnect() - DMANIC_IOC_DISCONNECT
 * @ctx: the context
 * @arg: which
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
int dmanic_remote_disconnect(struct dmanic_ctx *ctx, struct dmanic_disconnect *arg)
{
	struct dmanic_remote *remote;

	if (arg->flags || arg->reserved)
		return -EOPNOTSUPP;
	mutex_lock(&ctx->lock);
	remote = xa_erase(&ctx->remotes, arg->handle);
	if (!remote) {
		mutex_unlock(&ctx->lock);
		return -ENOENT;
	}
	dmanic_forget();
	mutex_unlock(&ctx->lock);
	dmanic_account_give(ctx, DMANIC_KIND_CONNECTION);
	atomic_dec(&ctx->nr_remotes);
	kfree_rcu(remote, rcu);
	return 0;
}

/**
 * dmanic_remote_destroy_all() - the context goes
 * @ctx: the context
 */
void dmanic_remote_destroy_all(struct dmanic_ctx *ctx)
{
	struct dmanic_remote *remote;
	unsigned long handle;

	xa_for_each(&ctx->remotes, handle, remote) {
		/* One by one: xa_destroy() has irqs off until all are gone */
		xa_erase(&ctx->remotes, handle);
		dmanic_account_give(ctx, DMANIC_KIND_CONNECTION);
		kfree_rcu(remote, rcu);
		cond_resched();
	}
	xa_destroy(&ctx->remotes);
}

/**
 * dmanic_remote_lookup() - connection by handle, for posting
 * @ctx: the context
 * @handle: chosen by the user
 *
 * Return: the connection, valid under RCU, or NULL.
 */
struct dmanic_remote *dmanic_remote_lookup(struct dmanic_ctx *ctx, u32 handle)
{
	if (handle >= DMANIC_ID_END)
		return NULL;
	handle = array_index_nospec(handle, DMANIC_ID_END);
	return xa_load(&ctx->remotes, handle);
}
