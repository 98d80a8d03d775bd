// SPDX-License-Identifier: GPL-2.0-only
/*
 * map.c - remote segments mapped into programs
 *
 * mmap() of a connection's offset replaces the context's file by one of its own
 * (struct dmanic_map is its private data), whose address space is that of an
 * inode of the node that exports the memory: node->maps. So all mappings of an
 * export are found at its id << DMANIC_MMAP_SHIFT there, and can be zapped,
 * whoever made them.
 *
 * A mapping holds no memory. Pages are put in by faults, each of which asks the
 * link and the export again and holds export->active meanwhile; revoking hides
 * the export, waits for these, and zaps. What is found to be gone is SIGBUS.
 * The link's answer (a node failed, restarted or was removed) is not tied to an
 * export: for that, faults run under SRCU, and dmanic_map_zap_all() waits for
 * them before it zaps.
 *
 * Pages that somebody holds by GUP (I/O in flight) stay written to until he
 * lets go: nobody can take them back.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "dmanic.h"
#include "link.h"

#define MAP_PAGE_BITS	(DMANIC_MMAP_SHIFT - PAGE_SHIFT)

DEFINE_STATIC_SRCU(map_faults);

/**
 * struct dmanic_map - a mapping of a remote segment
 * @ctx: whose connection it was made with
 * @peer: the node that exports it; counted, for its @maps
 * @target: the export
 * @rights: what the mapping needs: READ, and WRITE if it may be written
 */
struct dmanic_map {
	struct dmanic_ctx *ctx;
	struct dmanic_node *peer;
	struct dmanic_target target;
	u32 rights;
};

/* Under RCU: the node whose memory it is, if it can be mapped, or NULL */
static struct dmanic_node *map_peer(struct dmanic_node *node,
				    const struct dmanic_target *target)
{
	if (!node->link->map || dmanic_node_dead(node))
		return NULL;
	return node->link->map(node, target);
}

/* Neighbours of what is exported are not the other's to see */
static bool map_whole_pages(const struct dmanic_mem *mem)
{
	return !mem->user_pages || (!mem->first && PAGE_ALIGNED(mem->length));
}

/* ---- faults ---- */

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	const struct dmanic_map *map = vmf->vma->vm_file->private_data;
	u32 status = DMANIC_STATUS_PEER_DEAD;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	struct dmanic_export *export;
	struct dmanic_node *peer;
	int idx;

	idx = srcu_read_lock(&map_faults);
	rcu_read_lock();
	peer = map_peer(map->ctx->node, &map->target);
	if (peer)
		status = dmanic_target_get(peer, &map->target, map->rights, 0, 0,
					   &export);
	rcu_read_unlock();
	if (!status) {
		WRITE_ONCE(export->mapped, true);
		ret = dmanic_mem_fault(export->mem, vmf,
				       vmf->pgoff & (BIT(MAP_PAGE_BITS) - 1));
		dmanic_target_put(export);
	}
	srcu_read_unlock(&map_faults, idx);
	return ret;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault = map_fault,
};

/* ---- the file of a mapping ---- */

static int map_release(struct inode *inode, struct file *file)
{
	struct dmanic_map *map = file->private_data;

	dmanic_node_put(map->peer);
	fput(map->ctx->file);
	kfree(map);
	return 0;
}

/* Its owner keeps the module; there is no descriptor of such a file */
static const struct file_operations map_fops = {
	.owner = THIS_MODULE,
	.release = map_release,
};

/* The inode of @peer, made at its first mapping */
static struct inode *map_inode(struct dmanic_node *peer, struct super_block *sb)
{
	struct inode *inode, *other;

	/* M */
	inode = smp_load_acquire(&peer->maps);
	if (inode)
		return inode;
	inode = alloc_anon_inode(sb);
	if (IS_ERR(inode))
		return inode;
	/* M */
	other = cmpxchg(&peer->maps, NULL, inode);
	if (!other)
		return inode;
	iput(inode);
	return other;
}

/* Takes over what @map holds, also when it fails */
static struct file *map_file(struct dmanic_map *map)
{
	struct inode *inode;
	struct file *file;

	file = anon_inode_getfile("[dmanic-remote]", &map_fops, map, O_RDWR);
	if (IS_ERR(file)) {
		dmanic_node_put(map->peer);
		fput(map->ctx->file);
		kfree(map);
		return file;
	}
	inode = map_inode(map->peer, file_inode(file)->i_sb);
	if (IS_ERR(inode)) {
		fput(file);
		return ERR_CAST(inode);
	}
	file->f_mapping = inode->i_mapping;
	return file;
}

/* ---- mmap() ---- */

static int map_check(struct vm_area_struct *vma, const struct dmanic_remote *remote,
		     unsigned long page)
{
	if (!(vma->vm_flags & VM_SHARED) || remote->kind != DMANIC_EXPORT_SEGMENT)
		return -EINVAL;
	if (!dmanic_range_ok(PFN_UP(remote->length), page, vma_pages(vma)))
		return -EINVAL;
	/* What another node may write is data, not code */
	if (vma->vm_flags & VM_EXEC || !(remote->rights & DMANIC_RIGHT_READ))
		return -EACCES;
	if (vma->vm_flags & VM_WRITE && !(remote->rights & DMANIC_RIGHT_WRITE))
		return -EACCES;
	return 0;
}

/*
 * Under RCU: fill in @map, with a reference to its peer; @pfnmap: the kind of
 * mapping that dmanic_mem_fault() needs. The memory of an export never changes,
 * and the key tells it from later ones with its id.
 */
static int map_find(struct dmanic_map *map, struct vm_area_struct *vma, u32 handle,
		    unsigned long page, bool *pfnmap)
{
	struct dmanic_ctx *ctx = map->ctx;
	const struct dmanic_remote *remote;
	struct dmanic_export *export;
	struct dmanic_node *peer;
	int ret;

	remote = dmanic_remote_lookup(ctx, handle);
	ret = remote ? map_check(vma, remote, page) : -EINVAL;
	if (ret)
		return ret;
	peer = map_peer(ctx->node, &remote->target);
	if (!peer)
		return ctx->node->link->map ? -EHOSTUNREACH : -EOPNOTSUPP;
	if (dmanic_target_find(peer, &remote->target, remote->kind, &export))
		return -ENOENT;
	if (!map_whole_pages(export->mem))
		return -EOPNOTSUPP;
	*pfnmap = export->mem->user_pages;
	map->target = remote->target;
	map->rights = remote->rights & (DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	map->peer = peer;
	get_device(&peer->dev);
	return 0;
}

static void map_vma(const struct dmanic_map *map, struct vm_area_struct *vma,
		    unsigned long page, bool pfnmap)
{
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTCOPY | VM_DONTDUMP |
			  (pfnmap ? VM_PFNMAP : VM_MIXEDMAP));
	vm_flags_clear(vma, VM_MAYEXEC);
	if (!(map->rights & DMANIC_RIGHT_WRITE))
		vm_flags_clear(vma, VM_MAYWRITE);
	vma->vm_pgoff = ((unsigned long)map->target.id << MAP_PAGE_BITS) + page;
	vma->vm_ops = &map_vm_ops;
}

/**
 * dmanic_map_mmap() - map a remote segment
 * @ctx: the context
 * @vma: its offset is mmap_offset of a connection, and more for a later part
 *
 * Return: 0; -EINVAL private, beyond the end, no such connection or an
 * interrupt; -EACCES a right is missing, or PROT_EXEC; -EHOSTUNREACH; -ENOENT
 * revoked; -EOPNOTSUPP; -ENOMEM, -ENFILE.
 */
int dmanic_map_mmap(struct dmanic_ctx *ctx, struct vm_area_struct *vma)
{
	u64 offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) & ~DMANIC_MMAP_REMOTE;
	unsigned long page = vma->vm_pgoff & (BIT(MAP_PAGE_BITS) - 1);
	struct dmanic_map *map;
	struct file *file;
	bool pfnmap;
	int ret;

	if (offset >> DMANIC_MMAP_SHIFT >= DMANIC_ID_END)
		return -EINVAL;
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return -ENOMEM;
	map->ctx = ctx;
	rcu_read_lock();
	ret = map_find(map, vma, offset >> DMANIC_MMAP_SHIFT, page, &pfnmap);
	rcu_read_unlock();
	if (ret) {
		kfree(map);
		return ret;
	}
	get_file(ctx->file);
	file = map_file(map);
	if (IS_ERR(file))
		return PTR_ERR(file);
	map_vma(map, vma, page, pfnmap);
	vma_set_file(vma, file);
	fput(file);
	return 0;
}

/**
 * dmanic_map_possible() - can a connected segment be mapped
 * @ctx: the context
 * @remote: the connection
 *
 * Return: what mmap() would say now.
 */
bool dmanic_map_possible(struct dmanic_ctx *ctx, const struct dmanic_remote *remote)
{
	struct dmanic_export *export;
	struct dmanic_node *peer;
	bool ret;

	if (remote->kind != DMANIC_EXPORT_SEGMENT ||
	    !(remote->rights & DMANIC_RIGHT_READ))
		return false;
	rcu_read_lock();
	peer = map_peer(ctx->node, &remote->target);
	ret = peer && !dmanic_target_find(peer, &remote->target, remote->kind,
					  &export) &&
	      map_whole_pages(export->mem);
	rcu_read_unlock();
	return ret;
}

/* ---- taking it back ---- */

static void map_zap(struct dmanic_node *node, loff_t start, loff_t length)
{
	struct inode *inode;

	/* M */
	inode = smp_load_acquire(&node->maps);
	if (inode)
		unmap_mapping_range(inode->i_mapping, start, length, 1);
}

/**
 * dmanic_map_zap() - nobody has an export mapped any more
 * @export: hidden, and nothing holds it active: no fault maps it again
 */
void dmanic_map_zap(struct dmanic_export *export)
{
	map_zap(export->node, (loff_t)export->id << DMANIC_MMAP_SHIFT,
		BIT_ULL(DMANIC_MMAP_SHIFT));
}

/**
 * dmanic_map_zap_all() - the link answers otherwise for a node: ask it again
 * @node: the node, which may have been removed
 *
 * Also what it mapped of others goes. What may still be mapped comes back with
 * the next fault. Of a link that maps nothing there is nothing.
 */
void dmanic_map_zap_all(struct dmanic_node *node)
{
	struct dmanic_node *other;

	lockdep_assert_held(&dmanic_nodes_lock);

	if (!node->link->map)
		return;
	synchronize_srcu_expedited(&map_faults);
	map_zap(node, 0, 0);
	list_for_each_entry(other, &dmanic_nodes, entry)
		map_zap(other, 0, 0);
}
