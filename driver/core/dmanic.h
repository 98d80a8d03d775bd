/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dmanic.h - the driver's objects, how long they live and what locks them
 *
 * Objects
 *
 *	node      a device, one node of a link. Made by the link (netlink),
 *	          embedded in the link's own struct. [device refcount]
 *	ctx       an open file of a node. [its file]
 *	account   what one user has of a node. [refcount: his contexts]
 *	mem       pinned pages: of a segment or of a ring. [refcount: segment,
 *	          mappings, operations in flight]
 *	segment   memory a context may use as the local side. [ctx]
 *	export    what other nodes may reach: a segment with a key and rights, or
 *	          an interrupt. [RCU for short accesses to memory; refcount
 *	          "active": one while published, one for each long access and
 *	          each raise; who takes it back waits for all of them]
 *	remote    an export of another node we are connected to. [ctx]
 *	map       a remote segment mapped by a program. Holds no memory: revoking
 *	          takes its pages away. [its file: all parts of the mapping]
 *	queue     submission and completion ring. [its file, which holds ctx's]
 *	irq       interrupt others can raise. [its file, which holds ctx's]
 *	op        one operation. Lives in its queue's array. [queue]
 *
 * The way of a descriptor
 *
 *	ENTER (queue.c), or a thread of the queue's own (poller.c): submit.c
 *	takes entries from the ring -> op.c copies and validates them
 *	-> link ops->submit() -> (wire) -> target.c checks the other side's
 *	export, mem.c copies -> cq.c dmanic_queue_complete().
 *
 * Small operations on an idle queue, to memory of this machine, are done by the
 * poster, under RCU and without a reference (quick.c). All others hold their local mem and a
 * copy of their target, so segments, remotes and even the context's handles can
 * go while they are in flight. The link completes each op exactly once, from
 * any context.
 *
 * Locks, outermost first; nothing sleeps under a spinlock
 *
 *	mmap_lock           of a process, held over mmap() and faults. They take
 *	                    none of the mutexes below (somebody who has one may
 *	                    fault), only RCU and the SRCU of map.c.
 *	rtnl_lock           the kernel's, where an ether device is made, or its network
 *	                    device changes
 *	dmanic_nodes_lock   mutex: the list of nodes, making and removing them
 *	device_lock()       of a DMA engine's device, where a loop node takes a channel; its driver
 *	                    goes under it, and takes dma->lock
 *	ctx->lock           mutex: segments and remotes of the context (writers;
 *	                    readers use RCU)
 *	node->lock          mutex: contexts, accounts, queues, irqs, names of the
 *	                    node
 *	queue->submit_lock  mutex: one submitter at a time; sq_head. A worker of
 *	                    io_uring takes its ring's uring_lock inside; who comes
 *	                    with that lock only tries this one.
 *	i_mmap_rwsem        of node->maps: zapping mappings of remote segments,
 *	                    under dmanic_nodes_lock and ctx->lock
 *	news.lock           spinlock: what a context is told, under node->lock
 *	link's own locks    spinlock; a worker of the loop link has dma->lock, a mutex,
 *	                    and nothing else, while an engine copies (dma_internal.h)
 *	uring_waits.lock    spinlock, irqs off: commands that wait
 *	queue->lock         spinlock, irqs off: free ops, deferred ops, cq_tail
 *	irq->lock           spinlock, irqs off: raised
 *
 * Beside these news.reader, a mutex of a context, under which only news.lock is taken: one
 * reads at a time; and news.signals, under which its eventfd is signalled.
 *
 * Completions walk from the link into queue->lock, so a link calls
 * dmanic_queue_complete() without its own locks held.
 *
 * Barriers
 *
 *	A to E, G   between the driver and a program, see dmanic_ring.h
 *	F  writer   ring's cq_tail / raised, then cq_shown / irq->raised
 *	            (store-release)
 *	   reader   cq_shown / irq->raised (load-acquire), then tells the program,
 *	            which finds in the ring what it was told of
 *	H  writer   what an operation did, then in_flight (store-release)
 *	   reader   in_flight is zero (load-acquire), then does the next one itself
 *	I  writer   unlinks something that lookups under RCU find, then
 *	            dmanic_epoch, then waits for a grace period
 *	   reader   under RCU: dmanic_epoch (load-acquire), then looks up; what
 *	            it found in an earlier section is valid if the number is the same
 *	M  writer   the inode, then node->maps (cmpxchg)
 *	   reader   node->maps (load-acquire), then the inode
 *	N  writer   a name that lookups find, then node->publish_seq (store-release),
 *	            then wakes
 *	   reader   node->publish_seq (load-acquire), then looks the name up, then
 *	            sleeps while the number is the same
 */
#ifndef DMANIC_H
#define DMANIC_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mmdebug.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <linux/dmanic.h>
#include <linux/dmanic_netlink.h>

#include "compat.h"
#include "uring.h"

struct dmanic_account;
struct dmanic_link_ops;
struct dmanic_poller;
struct dmanic_ctx;
struct dmanic_late;
struct eventfd_ctx;
struct net;
struct user_struct;
struct vm_area_struct;

/* Limits, reported by QUERY and by refusals */
#define DMANIC_MAX_SEGMENT_BYTES	BIT_ULL(39)
#define DMANIC_MAX_SEGMENTS		65536U
#define DMANIC_MAX_QUEUES		4096U
#define DMANIC_MAX_QUEUE_ENTRIES	32768U
#define DMANIC_MAX_IRQS			65536U
#define DMANIC_MAX_IRQ_DEPTH		65536U
#define DMANIC_MAX_CONNECTIONS		1048576U /* of a context, and of a user's all */
#define DMANIC_MAX_CONTEXTS		4096U
#define DMANIC_MAX_POLL_THREADS		64U

/* Of what a device may have, one user may have this part: a quarter */
#define DMANIC_USER_SHARE		4U

/*
 * Ids and handles are below this: id << 40 is a (signed) mmap offset, and with
 * the bit above that it is a handle and a remote segment's.
 */
#define DMANIC_ID_END			4194304U /* 2^22 */
#define DMANIC_MMAP_SHIFT		40
#define DMANIC_MMAP_REMOTE		BIT_ULL(62)

/* ---- statistics (stats.c) ---- */

/**
 * struct dmanic_stats - counters of one CPU, summed up when shown
 * @counter: indexed by enum dmanic_stats_attr
 */
struct dmanic_stats {
	u64 counter[DMANIC_STATS_A_MAX + 1];
};

/* ---- node (node.c) ---- */

/* Who waits for a name waits at one of so many places */
#define DMANIC_PUBLISHED	64

/* What is counted of a device and of each of its users (account.c) */
enum dmanic_kind {
	DMANIC_KIND_CONTEXT,
	DMANIC_KIND_SEGMENT,
	DMANIC_KIND_QUEUE,
	DMANIC_KIND_IRQ,
	DMANIC_KIND_POLL_THREAD,
	DMANIC_KIND_CONNECTION,
	DMANIC_KINDS
};

/**
 * struct dmanic_node - a device
 * @dev: its name is @name, its release gives the link's struct back
 * @cdev: character device
 * @entry: in the list of nodes, under dmanic_nodes_lock
 * @name: "nic0"
 * @fabric: the name it was made with, "nic"
 * @id: node id on the link
 * @incarnation: changes when the node restarts
 * @dead: removed; set once under @lock, read with READ_ONCE
 * @announced: listeners were told of it; under dmanic_nodes_lock
 * @link: how it reaches other nodes
 * @net: network namespace it belongs to; not counted, the namespace's exit
 *	removes the node first
 * @lock: see the head comment
 * @contexts: struct dmanic_ctx.entry
 * @accounts: struct dmanic_account.entry
 * @queues: struct dmanic_queue.entry
 * @irqs: struct dmanic_irq.entry
 * @exports: id to struct dmanic_export; NULL while an id is only reserved
 * @next_id: ids are handed out in a cycle, so that an old one stays unused long
 * @names: published exports by hash of their name; read under RCU
 * @names_key: of that hash: users choose names
 * @maps: its address space has all mappings of @exports by other nodes; NULL
 *	until there was one
 * @publish_seq: counts published names, under @lock
 * @published: woken when @publish_seq changed for one of their names, or the node goes
 * @nr: objects of all contexts, and these, by enum dmanic_kind
 * @pinned: bytes of all mem objects
 * @posted: size of what io_uring commands posted and nobody can cancel
 *	(uring.c); zero where commands can be cancelled
 * @deaths: for the link, which writes it under its lock: how often a peer died or
 *	restarted
 * @stats: counters
 */
struct dmanic_node {
	struct device dev;
	struct cdev cdev;
	struct list_head entry;
	char name[DMANIC_NAME_MAX];
	char fabric[DMANIC_NAME_MAX];
	u32 id;
	u64 incarnation;
	bool dead;
	bool announced;
	const struct dmanic_link_ops *link;
	struct net *net;

	struct mutex lock; /* protects contexts, accounts, queues, irqs, names */
	struct list_head contexts;
	struct list_head accounts;
	struct list_head queues;
	struct list_head irqs;

	struct xarray exports;
	u32 next_id;
	struct inode *maps;
	siphash_key_t names_key;
	DECLARE_HASHTABLE(names, 8);
	unsigned int publish_seq;
	wait_queue_head_t published[DMANIC_PUBLISHED];

	atomic_t nr[DMANIC_KINDS];
	atomic64_t pinned;
	atomic64_t posted;
	u64 deaths;
	struct dmanic_stats __percpu *stats;
};

extern struct list_head dmanic_nodes;
extern struct mutex dmanic_nodes_lock;
extern u32 dmanic_nodes_generation; /* changes with the list; under the lock */
extern atomic_t dmanic_peers_generation; /* and with peers that somebody wants */

int dmanic_node_init(struct dmanic_node *node, struct net *net,
		     const struct dmanic_link_ops *link, const char *name,
		     const char *fabric, u32 id);
int dmanic_node_add(struct dmanic_node *node);
void dmanic_node_announce(struct dmanic_node *node);
void dmanic_node_remove(struct dmanic_node *node);
struct dmanic_node *dmanic_node_find(struct net *net, const char *name);
void dmanic_node_put(struct dmanic_node *node);
bool dmanic_node_busy(struct dmanic_node *node);
void dmanic_node_set_failed(struct dmanic_node *node, bool failed);
void dmanic_node_remove_all(struct net *net);

static inline bool dmanic_node_dead(const struct dmanic_node *node)
{
	return READ_ONCE(node->dead);
}

/* A dying io_uring waits for posts: links let nothing of the node wait for long */
static inline bool dmanic_node_hurried(const struct dmanic_node *node)
{
	return !DMANIC_URING_CANCEL && atomic64_read(&node->posted);
}

static inline void dmanic_stat_add(struct dmanic_node *node,
				   enum dmanic_stats_attr which, u64 n)
{
	this_cpu_add(node->stats->counter[which], n);
}

u64 dmanic_stat_sum(struct dmanic_node *node, enum dmanic_stats_attr which);

/* ---- memory (mem.c) ---- */

/**
 * struct dmanic_mem - pinned pages
 * @ref: segment or ring, mappings, operations in flight
 * @pages: every page; those of one block are neighbours
 * @nr_pages: how many
 * @linear: kernel address of the first page, when all pages are neighbours;
 *	else NULL
 * @length: bytes as asked for
 * @first: offset of byte 0 in the first page (user memory)
 * @block_order: order of the smallest block
 * @user_pages: pinned user memory, else ours
 * @user: who is charged
 * @charged: pages charged to @user
 * @node: whose @pinned counts it
 * @free_work: freeing may sleep, the last reference may go in atomic context
 */
struct dmanic_mem {
	refcount_t ref;
	struct page **pages;
	unsigned long nr_pages;
	void *linear;
	u64 length;
	unsigned int first;
	unsigned int block_order;
	bool user_pages;
	struct user_struct *user;
	unsigned long charged;
	struct dmanic_node *node;
	struct work_struct free_work;
};

/**
 * struct dmanic_piece - contiguous part of a memory
 * @addr: its kernel address
 * @offset: its place in the memory
 * @bytes: how much it is
 */
struct dmanic_piece {
	void *addr;
	u64 offset;
	u64 bytes;
};

struct dmanic_mem *dmanic_mem_alloc(struct dmanic_ctx *ctx, u64 length,
				    struct dmanic_refusal *refusal);
struct dmanic_mem *dmanic_mem_pin(struct dmanic_ctx *ctx, u64 address, u64 length,
				  struct dmanic_refusal *refusal);
void dmanic_mem_put(struct dmanic_mem *mem, unsigned int nr);
void dmanic_mem_put_sleep(struct dmanic_mem *mem);
void *dmanic_mem_vmap(struct dmanic_mem *mem);
void dmanic_mem_read(const struct dmanic_mem *mem, u64 offset, void *to, size_t length);
int dmanic_mem_mmap(struct dmanic_mem *mem, struct vm_area_struct *vma, u64 offset);
vm_fault_t dmanic_mem_fault(struct dmanic_mem *mem, struct vm_fault *vmf,
			    unsigned long page);
size_t dmanic_mem_run(const struct dmanic_mem *mem, u64 offset, u64 length,
		      void **addr);
struct dmanic_piece dmanic_mem_piece(const struct dmanic_mem *mem, u64 offset,
				     u64 length);
void dmanic_mem_copy(struct dmanic_mem *dst, u64 dst_offset, struct dmanic_mem *src,
		     u64 src_offset, u64 length);
int dmanic_mem_init(void);
void dmanic_mem_exit(void);

/*
 * Where the page of a place is noted. The place was checked, but what it is comes from a
 * program or a neighbour: whoever speculates about the check is left in the table.
 */
static inline struct page **dmanic_mem_page(const struct dmanic_mem *mem, u64 pos)
{
	u64 index = pos >> PAGE_SHIFT;

	VM_WARN_ON_ONCE(index >= mem->nr_pages);
	return mem->pages + array_index_nospec(index, mem->nr_pages);
}

static inline void *dmanic_mem_addr(const struct dmanic_mem *mem, u64 offset)
{
	u64 pos = mem->first + offset;

	return page_address(*dmanic_mem_page(mem, pos)) + offset_in_page(pos);
}

static inline bool dmanic_mem_in_page(const struct dmanic_mem *mem, u64 offset,
				      u64 length)
{
	return offset_in_page(mem->first + offset) + length <= PAGE_SIZE;
}

/* Eight bytes, aligned, are one load and one store: nobody sees half of them */
static __always_inline void dmanic_copy_few(void *to, const void *from, u64 length)
{
	if (length == sizeof(u64))
		put_unaligned(get_unaligned((u64 *)from), (u64 *)to);
	else
		memmove(to, from, length);
}

/* Copy what is contiguous on both sides: one block, or within one page */
static inline bool dmanic_mem_copy_small(const struct dmanic_mem *dst, u64 dst_offset,
					 const struct dmanic_mem *src, u64 src_offset,
					 u64 length)
{
	void *to, *from;

	if (!length)
		return true;
	VM_WARN_ON_ONCE(dst_offset + length > dst->length || src_offset + length > src->length);
	if (likely(dst->linear && src->linear)) {
		to = dst->linear + dst->first + dst_offset;
		from = src->linear + src->first + src_offset;
	} else if (dmanic_mem_in_page(dst, dst_offset, length) &&
		   dmanic_mem_in_page(src, src_offset, length)) {
		to = dmanic_mem_addr(dst, dst_offset);
		from = dmanic_mem_addr(src, src_offset);
	} else {
		return false;
	}
	dmanic_copy_few(to, from, length);
	return true;
}

static inline bool dmanic_range_ok(u64 size, u64 offset, u64 length)
{
	return offset <= size && length <= size - offset;
}

/* ---- context (context.c) ---- */

/**
 * struct dmanic_ctx_news - what a context is told of nodes, and has not read
 * @reader: one reads at a time; may fault
 * @signals: protects @eventfd; within it only the eventfd's own lock
 * @lock: protects @told, @read and @kept
 * @wait: who polls
 * @eventfd: signalled when there are some more, or NULL
 * @wake: does so, and wakes @wait
 * @told: how many there were
 * @read: how many of them were read, or overwritten
 * @kept: the i-th is kept[i % DMANIC_NEWS_KEPT]
 */
struct dmanic_ctx_news {
	struct mutex reader; /* one reads at a time */
	struct mutex signals; /* protects eventfd */
	spinlock_t lock; /* protects told, read, kept */
	wait_queue_head_t wait;
	struct eventfd_ctx *eventfd;
	struct work_struct wake;
	u64 told;
	u64 read;
	struct dmanic_news kept[DMANIC_NEWS_KEPT];
};

/**
 * struct dmanic_ctx - an open file of a node
 * @node: the device; counted by the open file
 * @file: the open file; queues and interrupts hold it
 * @account: of who opened it, charged for its memory and what else it has
 * @entry: in node->contexts
 * @lock: see the head comment
 * @segments: id to struct dmanic_segment
 * @remotes: handle to struct dmanic_remote
 * @next_handle: handles are handed out in a cycle
 * @nr_remotes: connections
 * @news: what it is told of nodes
 */
struct dmanic_ctx {
	struct dmanic_node *node;
	struct file *file;
	struct dmanic_account *account;
	struct list_head entry;
	struct mutex lock; /* writers of segments and remotes */
	struct xarray segments;
	struct xarray remotes;
	u32 next_handle;
	atomic_t nr_remotes;
	struct dmanic_ctx_news news;
};

struct dmanic_ctx *dmanic_ctx_create(struct dmanic_node *node, struct file *file);
void dmanic_ctx_destroy(struct dmanic_ctx *ctx);
int dmanic_ctx_query(struct dmanic_ctx *ctx, struct dmanic_query *query);

/* ---- news (news.c) ---- */

void dmanic_news_init(struct dmanic_ctx *ctx);
void dmanic_news_free(struct dmanic_ctx *ctx);
void dmanic_news_tell(struct dmanic_node *node, enum dmanic_event event, u32 id);
void dmanic_news_set_dead(struct dmanic_ctx *ctx);
int dmanic_news_eventfd(struct dmanic_ctx *ctx, const struct dmanic_news_eventfd *arg);
ssize_t dmanic_news_read(struct dmanic_ctx *ctx, char __user *to, size_t bytes);
__poll_t dmanic_news_poll(struct dmanic_ctx *ctx, struct file *file, poll_table *table);

/* ---- accounts (account.c) ---- */

/**
 * struct dmanic_account - what one user has of a node
 * @entry: in node->accounts
 * @ref: contexts
 * @user: who opened them
 * @link: the link's own, link->account_bytes; NULL when it has none
 * @nr: objects, by enum dmanic_kind
 * @posted: his part of node->posted
 */
struct dmanic_account {
	struct list_head entry;
	refcount_t ref;
	struct user_struct *user;
	void *link;
	atomic_t nr[DMANIC_KINDS];
	atomic64_t posted;
};

struct dmanic_account *dmanic_account_get(struct dmanic_node *node,
					  struct user_struct *user);
void dmanic_account_put(struct dmanic_node *node, struct dmanic_account *account);
int dmanic_account_take(struct dmanic_ctx *ctx, enum dmanic_kind kind,
			struct dmanic_refusal *refusal);
void dmanic_account_give(struct dmanic_ctx *ctx, enum dmanic_kind kind);
int dmanic_limit_refuse(u32 count, u32 max, u32 limit, struct dmanic_refusal *refusal);
int dmanic_limit_take(atomic_t *count, u32 max, u32 limit,
		      struct dmanic_refusal *refusal);

/* ---- exports (export.c) ---- */

enum dmanic_export_kind {
	DMANIC_EXPORT_SEGMENT,
	DMANIC_EXPORT_IRQ,
};

/**
 * struct dmanic_export - what other nodes may reach
 * @node: whose
 * @id: in node->exports
 * @kind: which of @mem and @irq is set
 * @rights: DMANIC_RIGHT_*
 * @key: must be shown at each access
 * @length: bytes, or depth of the interrupt
 * @mem: of the segment; the segment's reference keeps it
 * @irq: the interrupt
 * @active: one while published, one for each long access in flight and for who
 *	raises @irq
 * @idle: @active is zero
 * @mapped: pages of it were mapped by another node; set while @active is held
 * @name: published name, or empty
 * @secret: whoever looks up @name must know it
 * @name_entry: in node->names
 * @rcu: lookups run under RCU
 */
struct dmanic_export {
	struct dmanic_node *node;
	u32 id;
	enum dmanic_export_kind kind;
	u32 rights;
	u64 key;
	u64 length;
	struct dmanic_mem *mem;
	struct dmanic_irq *irq;
	refcount_t active;
	struct completion idle;
	bool mapped;
	char name[DMANIC_PUBLISH_MAX];
	u64 secret[2];
	struct hlist_node name_entry;
	struct rcu_head rcu;
};

/* A NOP goes to no node, nor does an entry that was refused before it named one */
#define DMANIC_NO_NODE		U32_MAX

/**
 * struct dmanic_target - how an initiator names an export of another node
 * @node: node id
 * @id: export id
 * @key: shown at each access
 * @incarnation: of the node when we connected
 */
struct dmanic_target {
	u32 node;
	u32 id;
	u64 key;
	u64 incarnation;
};

int dmanic_export_reserve(struct dmanic_node *node, u32 *id);
void dmanic_export_unreserve(struct dmanic_node *node, u32 id);
wait_queue_head_t *dmanic_export_waits(struct dmanic_node *node, const char *name);
void dmanic_export_wake_all(struct dmanic_node *node);
int dmanic_export_publish(struct dmanic_export *export, const char *name,
			  const u64 *secret);
void dmanic_export_hide(struct dmanic_export *export);
void dmanic_export_free(struct dmanic_export *export);
void dmanic_export_revoke(struct dmanic_export *export);
int dmanic_export_lookup(struct dmanic_node *node, enum dmanic_export_kind kind,
			 const char *name, const u64 *secret,
			 struct dmanic_export **found);
bool dmanic_name_valid(const char *name, size_t size);

/* ---- segments (segment.c) ---- */

/**
 * struct dmanic_segment - memory a context may use
 * @mem: its pages; the reference is dropped an RCU grace period after the
 *	segment was last found
 * @id: in ctx->segments and, when exported, in node->exports
 * @export: while exported, under ctx->lock
 */
struct dmanic_segment {
	struct dmanic_mem *mem;
	u32 id;
	struct dmanic_export *export;
};

int dmanic_segment_create(struct dmanic_ctx *ctx, struct dmanic_segment_create *arg);
int dmanic_segment_destroy(struct dmanic_ctx *ctx, struct dmanic_segment_id *arg);
int dmanic_segment_export(struct dmanic_ctx *ctx, struct dmanic_segment_export *arg);
void dmanic_segment_export_undo(struct dmanic_ctx *ctx,
				const struct dmanic_segment_export *arg);
int dmanic_segment_revoke(struct dmanic_ctx *ctx, struct dmanic_segment_id *arg);
void dmanic_segment_destroy_all(struct dmanic_ctx *ctx);
struct dmanic_mem *dmanic_segment_mem(struct dmanic_ctx *ctx, u32 id);
int dmanic_segment_mmap(struct dmanic_ctx *ctx, struct vm_area_struct *vma);

/* ---- connections (remote.c) ---- */

/**
 * struct dmanic_remote - an export of another node we are connected to
 * @target: where it is
 * @kind: segment or interrupt
 * @rights: what was granted
 * @length: bytes, or depth
 * @rcu: lookups run under RCU
 */
struct dmanic_remote {
	struct dmanic_target target;
	enum dmanic_export_kind kind;
	u32 rights;
	u64 length;
	struct rcu_head rcu;
};

int dmanic_remote_connect(struct dmanic_ctx *ctx, struct dmanic_connect *arg);
int dmanic_remote_disconnect(struct dmanic_ctx *ctx, struct dmanic_disconnect *arg);
void dmanic_remote_destroy_all(struct dmanic_ctx *ctx);
struct dmanic_remote *dmanic_remote_lookup(struct dmanic_ctx *ctx, u32 handle);

/* ---- mappings of remote segments (map.c) ---- */

bool dmanic_map_possible(struct dmanic_ctx *ctx, const struct dmanic_remote *remote);
int dmanic_map_mmap(struct dmanic_ctx *ctx, struct vm_area_struct *vma);
void dmanic_map_zap(struct dmanic_export *export);
void dmanic_map_zap_all(struct dmanic_node *node);

/* ---- queues (queue.c, submit.c, poller.c, cq.c) and operations (op.c, list.c, quick.c) ---- */

/**
 * struct dmanic_list_block - contiguous bytes of a LIST
 * @local: into the local segment
 * @remote: into the remote segment
 * @bytes: how many
 */
struct dmanic_list_block {
	u64 local;
	u64 remote;
	u64 bytes;
};

/**
 * struct dmanic_op_list - how far a LIST is
 * @mem: memory of the list; NULL: the operation is none. Held as the local side
 *	is, unless it is the same.
 * @offset: of the list in @mem
 * @count: entries
 * @next: entry to be read next
 * @rest: of the entry before that
 * @reach: bytes of the remote segment, when it was connected
 * @placed: for the link: bytes that were counted by its model
 */
struct dmanic_op_list {
	struct dmanic_mem *mem;
	u64 offset;
	u32 count;
	u32 next;
	struct dmanic_list_block rest;
	u64 reach;
	u64 placed;
};

/**
 * struct dmanic_op - one operation, validated
 * @entry: in the free list, in a batch, deferred, or in the link's list
 * @queue: whose
 * @cookie: returned in the completion
 * @opcode: enum dmanic_opcode
 * @flags: DMANIC_SQE_*
 * @started: not deferred
 * @read: towards the local side
 * @status: set by the link, or by validation
 * @count: blocks; one when contiguous
 * @block: bytes in a block; zero for a LIST
 * @local_stride: bytes from block to block
 * @remote_stride: the same on the remote side
 * @mem: local side; NULL when there is none. Borrowed under RCU until
 *	submit.c takes a reference for an op that outlives the call.
 * @local_offset: into @mem
 * @remote_offset: into the target
 * @conn: remote side, borrowed under RCU while it is posted
 * @target: copy of conn->target, made when the op outlives that; its node is
 *	always set, DMANIC_NO_NODE while the entry has named none
 * @notify: interrupt to raise, for NOTIFY and the NOTIFY flag
 * @payload: for @notify; operand of an atomic
 * @compare: COMPARE_SWAP: the value expected
 * @list: of a LIST
 * @result: for the completion
 * @uring: io_uring command that posted it, or NULL
 * @looks: how often uring.c may see that, when it looks for what takes too long
 * @given_up: that is being cancelled
 * @pending: for the link, under its lock: in queue->pending
 * @deaths: node->deaths when it was taken from the ring
 * @due: for the link: when it may be done, CLOCK_MONOTONIC
 * @moved: for the link: bytes of it that are done
 * @link: the link's own, link->op_bytes; NULL when it has none
 */
struct dmanic_op {
	struct list_head entry;
	struct dmanic_queue *queue;
	u64 cookie;
	u8 opcode;
	u8 flags;
	bool started;
	bool read;
	u32 status;
	u32 count;
	u64 block;
	u64 local_stride;
	u64 remote_stride;
	struct dmanic_mem *mem;
	u64 local_offset;
	u64 remote_offset;
	const struct dmanic_remote *conn;
	struct dmanic_target target;
	struct dmanic_target notify;
	u64 payload;
	u64 compare;
	struct dmanic_op_list list;
	u64 result;
	struct io_uring_cmd *uring;
	u32 looks;
	bool given_up;
	bool pending;
	u64 deaths;
	u64 due;
	u64 moved;
	void *link;
};

/**
 * struct dmanic_found - what the last entry named; under RCU
 * @local: id of @mem; 0: none yet
 * @mem: of that segment
 * @remote: handle of @conn; 0: none yet
 * @conn: of that handle
 */
struct dmanic_found {
	u32 local;
	struct dmanic_mem *mem;
	u32 remote;
	const struct dmanic_remote *conn;
};

/**
 * struct dmanic_quick_move - what the last plain WRITE or READ was allowed to do
 * @first: its opcode, flags and local segment, as they stand in the entry
 * @remote: its connection and its interrupt (none)
 * @local: contiguous memory around what it touched here
 * @target: and there
 * @opcode: of the entry
 * @flags: of the entry; SILENT or none
 * @valid: there was such an entry
 */
struct dmanic_quick_move {
	u64 first;
	u64 remote;
	struct dmanic_piece local;
	struct dmanic_piece target;
	u8 opcode;
	u8 flags;
	bool valid;
};

/**
 * struct dmanic_quick - what quick.c found last
 * @epoch: when it was found; valid as long as dmanic_epoch is that
 * @free: the link charges nothing for an operation that goes nowhere
 * @found: what the last entry named here
 * @reached: the connection @export belongs to
 * @export: what it leads to
 * @move: for an entry that differs from the last one in offsets and length only
 * @result: of the last entry done
 */
struct dmanic_quick {
	s64 epoch;
	bool free;
	struct dmanic_found found;
	const struct dmanic_remote *reached;
	struct dmanic_export *export;
	struct dmanic_quick_move move;
	u64 result;
};

extern atomic64_t dmanic_epoch;

/*
 * Something found before is not to be used any more: a segment, connection or
 * export is unlinked, or a link reaches other nodes than before. Called before
 * the grace period that ends its use.
 */
static inline void dmanic_forget(void)
{
	/* I: the change before the number; fully ordered, as it returns a value */
	atomic64_inc_return(&dmanic_epoch);
}

/**
 * struct dmanic_queue - submission and completion ring
 * @ctx: context; the queue's file holds the context's
 * @node: its device
 * @entry: in node->queues
 * @ring_mem: pages of the ring
 * @ring: kernel mapping of the ring's head
 * @sq: submission entries
 * @cq: completion entries
 * @sq_entries: power of two
 * @cq_entries: power of two; also the most operations in flight
 * @eventfd: signalled when armed, may be NULL
 * @ops: @cq_entries of them
 * @op_links: for each of them, what its @link points to
 * @link: the link's own, link->queue_bytes; NULL when it has none
 * @dying: stopped, or being closed: what is left is cancelled, and nothing is taken any more;
 *	set before whoever holds @submit_lock then is waited for
 * @wait: waiters for completions
 * @room_wanted: somebody polled for room in the submission ring, and may be about to again
 * @uring_waits: io_uring commands that wait for completions
 * @uring_limit: gives up posts that nobody can cancel and that take too long
 * @poller: thread that takes entries, or NULL
 * @submit_lock: one submitter at a time
 * @sq_head: next entry to read, under @submit_lock
 * @quick: under @submit_lock
 * @lock: protects what follows
 * @cq_tail: next completion to write
 * @free: ops not in use
 * @cq_shown: what @ring->cq_tail shows
 * @flags: what @ring->flags shows
 * @in_flight: ops in use
 * @posted: of those, posted by io_uring commands
 * @taken: size of the others, as uring.c counts; zero where commands can be
 *	cancelled
 * @started: of those, not deferred
 * @deferred: ops behind a FENCE, in order
 * @nr_deferred: how many
 * @roomy: since @flags has CQ_FULL something ended without a completion
 * @promoting: some were taken off @deferred and are on their way to the link;
 *	until they are there nothing may overtake them
 * @waking: who completes wakes it when all is done, and has it in his list
 * @signal: and signals @eventfd
 * @woken_next: the next in that list
 * @pending: for the link, under its lock: ops not begun, in order
 * @turn: for the link, under its lock: in its list of queues, or its ops under way
 * @turn_hurried: for the link, under its lock: that list is the one of hurried queues
 * @behind: for the link, under its lock: in its list of queues that go on
 * @self: for the link, under its lock: ops of the node with itself, in order
 * @self_turn: for the link, under its lock: in its list of queues that have such
 * @rcu: completions touch the queue after the last op is gone
 */
struct dmanic_queue {
	struct dmanic_ctx *ctx;
	struct dmanic_node *node;
	struct list_head entry;
	struct dmanic_mem *ring_mem;
	struct dmanic_queue_ring *ring;
	struct dmanic_sqe *sq;
	struct dmanic_cqe *cq;
	u32 sq_entries;
	u32 cq_entries;
	struct eventfd_ctx *eventfd;
	struct dmanic_op *ops;
	void *op_links;
	void *link;
	bool dying;
	bool room_wanted;
	wait_queue_head_t wait;
	struct dmanic_uring_waits uring_waits;
	struct delayed_work uring_limit;

	struct dmanic_poller *poller;
	struct mutex submit_lock; /* one submitter at a time; sq_head */
	u32 sq_head;
	struct dmanic_quick quick;

	spinlock_t lock ____cacheline_aligned_in_smp;
	u32 cq_tail;
	u32 cq_shown;
	u32 flags;
	u32 in_flight;
	u32 posted;
	atomic64_t taken;
	u32 started;
	struct list_head free;
	struct list_head deferred;
	u32 nr_deferred;
	bool roomy;
	bool promoting;
	bool waking;
	bool signal;
	struct dmanic_queue *woken_next;

	struct list_head pending ____cacheline_aligned_in_smp; /* link's, and turn */
	struct list_head turn;
	bool turn_hurried;
	struct list_head behind;
	struct list_head self;
	struct list_head self_turn;
	struct rcu_head rcu;
};

int dmanic_queue_create(struct dmanic_ctx *ctx, struct dmanic_queue_create *arg,
			struct dmanic_late *late);
void dmanic_queue_complete(struct list_head *ops);
void dmanic_queue_set_dead(struct dmanic_queue *queue);
bool dmanic_ops_prepare(struct dmanic_queue *queue, struct list_head *ops,
			struct list_head *failed);

/* As dmanic_node_hurried(), of this queue */
static inline bool dmanic_queue_hurried(const struct dmanic_queue *queue)
{
	return !DMANIC_URING_CANCEL && READ_ONCE(queue->posted);
}

static inline bool dmanic_queue_dying(const struct dmanic_queue *queue)
{
	return READ_ONCE(queue->dying);
}

/* Nothing happens on it any more: -ENODEV or -ESHUTDOWN; else 0 */
static inline int dmanic_queue_over(const struct dmanic_queue *queue)
{
	if (dmanic_node_dead(queue->node))
		return -ENODEV;
	return dmanic_queue_dying(queue) ? -ESHUTDOWN : 0;
}

/* Nobody waits for it any more: links end it soon, as CANCELLED */
static inline bool dmanic_op_given_up(const struct dmanic_op *op)
{
	return dmanic_queue_dying(op->queue) || READ_ONCE(op->given_up);
}

static inline bool dmanic_opcode_atomic(u8 opcode)
{
	return opcode == DMANIC_OP_FETCH_ADD || opcode == DMANIC_OP_COMPARE_SWAP ||
	       opcode == DMANIC_OP_SWAP;
}

static inline u64 dmanic_op_bytes(const struct dmanic_op *op)
{
	return op->block * op->count;
}

/* list.c */
u32 dmanic_list_next(struct dmanic_op *op, u64 remote_length, u64 most,
		     struct dmanic_list_block *block);

static inline bool dmanic_list_done(const struct dmanic_op *op)
{
	return op->list.next == op->list.count && !op->list.rest.bytes;
}

/* ---- interrupts (irq.c) ---- */

/**
 * struct dmanic_irq - interrupt other nodes can raise
 * @ctx: context; the interrupt's file holds the context's
 * @node: its device
 * @entry: in node->irqs
 * @export: how others reach it
 * @ring_mem: pages of the ring
 * @ring: kernel mapping of the ring
 * @depth: events kept, power of two
 * @strict: refuse rather than overwrite
 * @stop_lock: one stops it
 * @stopped: @export is not there any more, under @stop_lock
 * @eventfd: signalled when armed, may be NULL
 * @wait: waiters
 * @uring_waits: io_uring commands that wait
 * @lock: protects @raised, @waking
 * @raised: how often it was raised
 * @waking: somebody has it in a struct dmanic_wakes
 * @woken_next: the next one there
 */
struct dmanic_irq {
	struct dmanic_ctx *ctx;
	struct dmanic_node *node;
	struct list_head entry;
	struct dmanic_export *export;
	struct dmanic_mem *ring_mem;
	struct dmanic_irq_ring *ring;
	u32 depth;
	bool strict;
	struct mutex stop_lock; /* one stops it; stopped */
	bool stopped;
	struct eventfd_ctx *eventfd;
	wait_queue_head_t wait;
	struct dmanic_uring_waits uring_waits;
	spinlock_t lock; /* protects raised, waking */
	u64 raised;
	bool waking;
	struct dmanic_irq *woken_next;
};

/**
 * struct dmanic_wakes - interrupts that were raised, whose waiters are not told yet
 * @first: of them; each holds its export active
 */
struct dmanic_wakes {
	struct dmanic_irq *first;
};

/* As dmanic_queue_over() */
static inline int dmanic_irq_over(const struct dmanic_irq *irq)
{
	if (dmanic_node_dead(irq->node))
		return -ENODEV;
	return READ_ONCE(irq->stopped) ? -ESHUTDOWN : 0;
}

int dmanic_irq_create(struct dmanic_ctx *ctx, struct dmanic_irq_create *arg,
		      struct dmanic_late *late);
u32 dmanic_irq_raise(struct dmanic_irq *irq, u64 payload, u32 from,
		     struct dmanic_wakes *wakes);
void dmanic_irq_wake_all(struct dmanic_wakes *wakes);
void dmanic_irq_set_dead(struct dmanic_irq *irq);

/* ---- receiving side, called by links (target.c, atomic.c) ---- */

u32 dmanic_target_refused(struct dmanic_node *node, u32 status);

u32 dmanic_target_find(struct dmanic_node *node, const struct dmanic_target *target,
		       enum dmanic_export_kind kind, struct dmanic_export **export);

/* May this access to a segment be made; enum dmanic_status */
static inline u32 dmanic_target_allow(const struct dmanic_export *export, u32 right,
				      u64 offset, u64 span)
{
	if (unlikely((export->rights & right) != right))
		return DMANIC_STATUS_ACCESS;
	if (unlikely(!dmanic_range_ok(export->length, offset, span)))
		return DMANIC_STATUS_BOUNDS;
	return DMANIC_STATUS_OK;
}

u32 dmanic_target_get(struct dmanic_node *node, const struct dmanic_target *target,
		      u32 right, u64 offset, u64 span,
		      struct dmanic_export **export);
void dmanic_target_put(struct dmanic_export *export);
u32 dmanic_target_raise(struct dmanic_export *export, u64 payload, u32 from,
			struct dmanic_wakes *wakes);
u32 dmanic_target_notify(struct dmanic_node *node, const struct dmanic_target *target,
			 u64 payload, u32 from, struct dmanic_wakes *wakes);
u32 dmanic_export_atomic(const struct dmanic_export *export, u64 offset, u8 opcode,
			 u64 operand, u64 compare, u64 *old);
u32 dmanic_target_atomic(struct dmanic_node *node, const struct dmanic_target *target,
			 u64 offset, u8 opcode, u64 operand, u64 compare, u64 *old);

/* ---- faces (cdev.c, netlink.c) ---- */

/**
 * struct dmanic_late - a descriptor that is installed only once the caller has
 *	been told about it
 * @fd: reserved number
 * @file: its file, or NULL
 */
struct dmanic_late {
	int fd;
	struct file *file;
};

/**
 * struct dmanic_ioctl - one ioctl
 * @ioctl: DMANIC_IOC_*
 * @size: of the driver's struct
 * @min_size: of its first version
 * @fn: gets a zero-extended kernel copy of the argument; what it leaves there
 *	is copied back, also when it fails
 * @undo: takes back what @fn did when the copy back fails; may be NULL
 * @in_only: @fn has nothing to tell, so nothing is copied back
 */
struct dmanic_ioctl {
	unsigned int ioctl;
	unsigned int size;
	unsigned int min_size;
	int (*fn)(void *object, void *arg, struct dmanic_late *late);
	void (*undo)(void *object, void *arg);
	bool in_only;
};

int dmanic_late_open(struct dmanic_late *late, const char *name,
		     const struct file_operations *fops, void *object);
long dmanic_ioctl_run(const struct dmanic_ioctl *table, size_t entries, void *object,
		      unsigned int cmd, unsigned long uarg);
int dmanic_cdev_init(void);
void dmanic_cdev_exit(void);
int dmanic_cdev_add(struct dmanic_node *node);
void dmanic_cdev_remove(struct dmanic_node *node);
int dmanic_netlink_init(void);
void dmanic_netlink_exit(void);
void dmanic_netlink_event(struct dmanic_node *node, enum dmanic_event event);
void dmanic_netlink_peer_event(struct dmanic_node *node, enum dmanic_event event, u32 peer);

#endif /* DMANIC_H */
