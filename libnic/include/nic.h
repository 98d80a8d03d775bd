/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nic.h - libnic core: the NIC of every node, made of software by dmanic.ko
 *
 * Objects and who owns them
 *   nic_ctx      an open device. Thread-safe, but for nic_close().
 *   nic_segment  pinned memory of this process, mapped here. Thread-safe.
 *   nic_remote   a segment or interrupt of another node we are connected to.
 *   nic_queue    submission and completion ring. One owner at a time.
 *   nic_irq      an interrupt others can raise. One owner at a time.
 * Close queues and interrupts, and unmap what nic_map_remote() mapped, before the
 * context: each keeps the device open. After fork() the child must not use any
 * of them: the mappings are not inherited. It may destroy queues and interrupts and
 * close the context, which ends nothing of its parent's; as long as it has them, what
 * the parent leaves when it dies stays.
 *
 * Functions return 0 (or a count) or a negative errno; nic_error_detail() then
 * tells what was tried and what to do. -EMFILE and -ENFILE, no descriptor is left, and
 * -ENODEV, the device was removed, may come from all that make something. -EINTR: a signal
 * came first, or io_uring has work for this thread; call again. The outcome of an operation
 * is an enum nic_status in its completion. Sizes and offsets are bytes, times are
 * nanoseconds. Nothing blocks unless it says so.
 *
 * Environment: NIC_DEVICE, see nic_open(). NIC_SPIN_NS, how long a wait may
 * poll before it sleeps: 20000 when not set; 0 to sleep at once.
 */
#ifndef NIC_H
#define NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NIC_VERSION_MAJOR	0
#define NIC_VERSION_MINOR	1
#define NIC_TIMEOUT_NEVER	UINT64_MAX
#define NIC_NAME_MAX		32
#define NIC_PUBLISH_MAX		64

struct nic_ctx;
struct nic_segment;
struct nic_remote;
struct nic_queue;
struct nic_irq;

/* Outcome of an operation: the driver's table (linux/dmanic_ring.h) */
enum nic_status {
	NIC_OK = 0,
	NIC_INVALID = 1,
	NIC_NO_SEGMENT = 2,
	NIC_NO_HANDLE = 3,
	NIC_BOUNDS = 4,
	NIC_ACCESS = 5,
	NIC_PEER_DEAD = 6,
	NIC_PEER_RESTARTED = 7,
	NIC_LINK_DOWN = 8,
	NIC_TIMED_OUT = 9,
	NIC_CANCELLED = 10,
	NIC_LIMIT = 11,
	NIC_SOURCE_CHANGED = 12,
	NIC_UNSUPPORTED = 13,
};

/**
 * nic_version() - version of the library at run time
 *
 * Return: major << 16 | minor. Thread-safe.
 */
unsigned int nic_version(void);

/**
 * nic_status_name() - short English name of a status
 * @status: enum nic_status
 *
 * Return: static string, "unknown status" for others. Thread-safe.
 */
const char *nic_status_name(unsigned int status);

/**
 * nic_error_detail() - what the last failed call on a context tried, why it
 *	failed and what to do
 * @ctx: the context, or NULL: of whatever call failed last in this thread, as
 *	after nic_open()
 *
 * Return: a string valid until the calling thread's next failing call; ""
 * when nothing failed. Per thread.
 */
const char *nic_error_detail(const struct nic_ctx *ctx);

/* ---- device ---- */

/**
 * struct nic_info - what a device is and can do
 * @size: sizeof(struct nic_info), set by the caller
 * @name: "nic0"
 * @link: "loop" or "ether"
 * @node: this node's id
 * @nodes: loop: nodes of the fabric; ether: this one and those that are connected
 *	now, not how many there are
 * @features: DMANIC_FEATURE_* of linux/dmanic.h
 * @incarnation: changes when the node restarts
 * @max_segment_bytes: largest segment
 * @max_queue_entries: largest ring
 * @max_irq_depth: most events an interrupt keeps
 * @max_segments: on the device
 * @max_queues: on the device
 * @max_irqs: on the device
 * @max_connections: of one context, and of all that a user has on the device
 * @max_contexts: open at once on the device
 * @max_poll_threads: queues with NIC_POLL_THREAD on the device
 * @user_share: a user without CAP_SYS_RESOURCE has at most one in so many of the
 *	device's segments, queues, interrupts, contexts and polling threads; 0: no such limit
 */
struct nic_info {
	size_t size;
	char name[NIC_NAME_MAX];
	char link[NIC_NAME_MAX];
	uint32_t node;
	uint32_t nodes;
	uint64_t features;
	uint64_t incarnation;
	uint64_t max_segment_bytes;
	uint32_t max_queue_entries;
	uint32_t max_irq_depth;
	uint32_t max_segments;
	uint32_t max_queues;
	uint32_t max_irqs;
	uint32_t max_connections;
	uint32_t max_contexts;
	uint32_t max_poll_threads;
	uint32_t user_share;
};

/**
 * nic_open() - open a device
 * @name: "nic0", a path, or NULL for $NIC_DEVICE, else the only device there is
 * @ctx: out
 *
 * Return: 0; -ENOENT no such device; -EACCES no permission; -ENODEV removed;
 * -ENOTUNIQ @name is NULL and there are several; -EDQUOT it is open too often;
 * -ENOTTY not a dmanic device; -EPROTO library and driver do not fit.
 */
int nic_open(const char *name, struct nic_ctx **ctx);

/**
 * nic_close() - close a context; its segments and connections go with it
 * @ctx: the context, or NULL. Close its queues and interrupts, unmap what nic_map_remote()
 *	mapped, finalize its teams and destroy what was made with them, before.
 *
 * As if nic_segment_free() and nic_disconnect() were called for each: none of them is there
 * any more, so do not free them afterwards. Waits as these do. No other thread may use
 * the context, or anything of it, any more.
 */
void nic_close(struct nic_ctx *ctx);

/**
 * nic_query() - what the device is and can do
 * @ctx: the context
 * @info: out; what it has more than this library knows is zeroed
 *
 * Return: 0; -EINVAL the size is wrong; -ENODEV removed.
 */
int nic_query(struct nic_ctx *ctx, struct nic_info *info);

/* ---- news of nodes ---- */

/* What happened to another node (PEER), or to this one */
enum nic_news_event {
	NIC_NEWS_FAILED = 4,
	NIC_NEWS_RESTARTED = 5,
	NIC_NEWS_PEER_UP = 6,
	NIC_NEWS_PEER_DOWN = 7,
	NIC_NEWS_PEER_RESTARTED = 8,
	NIC_NEWS_PEER_REFUSED = 9,
	NIC_NEWS_PEER_RIVAL = 10,
	NIC_NEWS_LINK_DOWN = 11,
	NIC_NEWS_LINK_UP = 12,
	NIC_NEWS_PEER_DEGRADED = 13,
	NIC_NEWS_PEER_RESTORED = 14,
};

/**
 * struct nic_news - something happened to a node
 * @event: enum nic_news_event
 * @node: to which
 * @number: how many there were before in this context; a gap is what was lost
 */
struct nic_news {
	uint32_t event;
	uint32_t node;
	uint64_t number;
};

/** nic_ctx_fd() - for poll(): POLLIN there are news, POLLERR the device went */
int nic_ctx_fd(const struct nic_ctx *ctx);

/**
 * nic_news_poll() - take news of nodes, without waiting
 * @ctx: the context
 * @news: out, room for @max
 * @max: most to take; the driver keeps the last 32
 *
 * Several threads may; each of the news goes to one of them.
 *
 * Return: how many, zero when there are none; -ENODEV the device was removed, and
 * all was taken; -EINTR a signal came while another thread took some; -EOPNOTSUPP the
 * driver is older than this library.
 */
int nic_news_poll(struct nic_ctx *ctx, struct nic_news *news, unsigned int max);

/**
 * nic_news_eventfd() - have an eventfd signalled by news of nodes
 * @ctx: the context
 * @eventfd: instead of the one before; -1: none. Borrowed for the call; it may be closed
 *	afterwards.
 *
 * For programs that sleep on one eventfd for many things. It is signalled when there are
 * more news, once for several that come together, at once if some were not taken, and
 * when the device is removed: take all that there are.
 *
 * Return: 0; -EBADF it is not open; -EINVAL it is no eventfd; -ENODEV the device was
 * removed; -EOPNOTSUPP the driver is older than this library.
 */
int nic_news_eventfd(struct nic_ctx *ctx, int eventfd);

/**
 * nic_news_name() - a few words for an event
 * @event: enum nic_news_event
 *
 * Return: static string, "unknown news" for others. Thread-safe.
 */
const char *nic_news_name(unsigned int event);

/* ---- segments ---- */

#define NIC_READ	1U	/* others may read */
#define NIC_WRITE	2U	/* others may write */
#define NIC_ATOMIC	4U	/* others may do atomics */

/**
 * nic_segment_alloc() - pinned memory from the driver, zeroed, mapped here
 * @ctx: the context
 * @bytes: size, at least 1
 * @seg: out
 *
 * May sleep for memory. Return: 0; -EDQUOT or -ENOMEM (nic_error_detail()
 * tells which limit and how much); -EINVAL.
 */
int nic_segment_alloc(struct nic_ctx *ctx, uint64_t bytes, struct nic_segment **seg);

/**
 * nic_segment_register() - pin memory the program has
 * @ctx: the context
 * @addr: start, any alignment; anonymous, shmem or hugetlb, writable
 * @bytes: size, at least 1
 * @seg: out
 *
 * The memory must stay mapped while registered. Return: as
 * nic_segment_alloc(); -EFAULT not mapped writable; -EINVAL a file mapping.
 */
int nic_segment_register(struct nic_ctx *ctx, void *addr, uint64_t bytes,
			 struct nic_segment **seg);

/**
 * nic_segment_free() - revoke, unmap and give back
 * @seg: the segment, or NULL
 *
 * Waits for accesses of other nodes in flight (bounded by the link). Complete
 * your own operations on it first.
 */
void nic_segment_free(struct nic_segment *seg);

/** nic_segment_addr() - where it is mapped; valid until nic_segment_free(), or nic_close() */
void *nic_segment_addr(const struct nic_segment *seg);
/** nic_segment_bytes() - its size as asked for */
uint64_t nic_segment_bytes(const struct nic_segment *seg);
/** nic_segment_id() - its id, unique on the node */
uint32_t nic_segment_id(const struct nic_segment *seg);

/**
 * nic_segment_export() - let other nodes access it
 * @seg: the segment
 * @rights: NIC_READ | NIC_WRITE | NIC_ATOMIC
 * @name: publish under this name, of 1 to 63 bytes, unique on the node; NULL: do not
 *	publish
 * @secret: the job's two words, for @name; NULL: two zeros
 * @key: out, may be NULL: what nic_connect() must show
 *
 * Exporting an exported segment is -EEXIST; revoke first. Return: 0; -EINVAL;
 * -EEXIST also when @name is taken.
 */
int nic_segment_export(struct nic_segment *seg, unsigned int rights,
		       const char *name, const uint64_t secret[2], uint64_t *key);

/**
 * nic_segment_revoke() - take it back
 * @seg: the segment
 *
 * Waits for accesses in flight; later ones fail at the initiator with
 * NIC_NO_SEGMENT, or with NIC_ACCESS once it is exported again, which makes another
 * key. Return: 0; -ENOENT it is not exported.
 */
int nic_segment_revoke(struct nic_segment *seg);

/* ---- connections ---- */

/**
 * nic_connect() - connect to an exported segment by id and key
 * @ctx: the context
 * @node: where it is
 * @id: its id there
 * @key: its key
 * @remote: out
 *
 * Blocks for one round trip; over ether, where no answer comes, until the node is taken
 * for dead: `dead` (2 s), at worst four times that, and as long again where the other side
 * had given the connection up. Return: 0; -EHOSTUNREACH no such
 * node or dead; -ENETDOWN this node's network device is down; -EOPNOTSUPP the node there
 * speaks other versions of the protocol only; -ENOENT no such segment; -EACCES wrong key;
 * -EINVAL it is an interrupt; -EINTR.
 */
int nic_connect(struct nic_ctx *ctx, uint32_t node, uint32_t id, uint64_t key,
		struct nic_remote **remote);

/**
 * nic_connect_name() - connect to a published segment
 * @ctx: the context
 * @node: where it is
 * @name: as published, 1 to 63 bytes
 * @secret: the job's two words; NULL: two zeros
 * @timeout_ns: wait so long for it to be published; 0: do not wait for that
 * @remote: out
 *
 * Blocks up to @timeout_ns; with 0 as nic_connect(). Return: 0; -ENOENT not published
 * (@timeout_ns 0); -ETIME not published in time, or the node did not answer and
 * @timeout_ns was too short to take it for dead; -EACCES wrong secret; -EINVAL, -EINTR,
 * -EHOSTUNREACH, -ENETDOWN and -EOPNOTSUPP as nic_connect().
 */
int nic_connect_name(struct nic_ctx *ctx, uint32_t node, const char *name,
		     const uint64_t secret[2], uint64_t timeout_ns,
		     struct nic_remote **remote);

/** nic_connect_irq() - as nic_connect(), to an interrupt */
int nic_connect_irq(struct nic_ctx *ctx, uint32_t node, uint32_t id, uint64_t key,
		    struct nic_remote **remote);
/** nic_connect_irq_name() - as nic_connect_name(), to an interrupt */
int nic_connect_irq_name(struct nic_ctx *ctx, uint32_t node, const char *name,
			 const uint64_t secret[2], uint64_t timeout_ns,
			 struct nic_remote **remote);

/**
 * nic_disconnect() - end a connection
 * @remote: the connection, or NULL
 *
 * Operations that the device has taken finish; what is still in a ring fails with
 * NIC_NO_HANDLE. So complete those first.
 */
void nic_disconnect(struct nic_remote *remote);

/** nic_remote_bytes() - size of the segment (or places of the interrupt) */
uint64_t nic_remote_bytes(const struct nic_remote *remote);
/** nic_remote_node() - the node it is on */
uint32_t nic_remote_node(const struct nic_remote *remote);
/** nic_remote_rights() - what was granted */
unsigned int nic_remote_rights(const struct nic_remote *remote);

/* ---- remote memory in this program (PIO) ---- */

/**
 * nic_map_remote() - map part of a connected segment
 * @remote: a segment, with NIC_READ; it can be written if NIC_WRITE was granted
 * @offset: bytes into it, any alignment
 * @bytes: how many, at least 1
 * @addr: out: where byte @offset is
 *
 * Loads and stores go straight to the other node's memory; no system call, no
 * queue, no completion. They have the order of the machine's memory model among
 * each other; aligned ones of up to 8 bytes are never seen half done. Operations
 * of queues are ordered with them by nic_pio_flush() and by completions only,
 * atomic instructions on aligned 8 bytes are atomic with nic's atomics, too.
 * A link model does not slow them down.
 *
 * The mapping outlives @remote. When the owner revokes or frees the segment, or
 * one of the two nodes fails, restarts or is removed, an access raises SIGBUS
 * (EFAULT in a system call), never shows old data, and never comes to be valid
 * for something else. Who must go on catches the signal, or uses a queue.
 *
 * May sleep for page tables. Thread-safe. Return: 0; -EOPNOTSUPP it cannot be
 * mapped (link without DMANIC_FEATURE_MAP_REMOTE, no NIC_READ, an interrupt,
 * program memory that is not whole pages); -EINVAL not within the segment;
 * -ENOENT revoked; -EHOSTUNREACH its node failed or restarted; -ENODEV; -ENOMEM.
 */
int nic_map_remote(const struct nic_remote *remote, uint64_t offset,
		   uint64_t bytes, void **addr);

/**
 * nic_unmap_remote() - end a mapping
 * @addr: from nic_map_remote(), or NULL
 * @bytes: as there
 *
 * Stores before it arrive. Thread-safe.
 */
void nic_unmap_remote(void *addr, uint64_t bytes);

/**
 * nic_pio_flush() - make stores through a mapping visible to its owner
 * @addr: where they went, anywhere in the mapping
 *
 * When it returns, the target sees every store that this thread made through the
 * mapping before; a notify or an operation that this thread posts afterwards
 * comes after them, and loads that follow are not satisfied before. Never blocks.
 * Thread-safe.
 */
void nic_pio_flush(const void *addr);

/* ---- queues ---- */

/**
 * struct nic_completion - outcome of one operation
 * @cookie: as posted
 * @status: enum nic_status
 * @opcode: enum dmanic_opcode
 * @result: bytes moved; atomics: the word before
 */
struct nic_completion {
	uint64_t cookie;
	uint32_t status;
	uint32_t opcode;
	uint64_t result;
};

/**
 * nic_queue_create() - a submission and a completion ring
 * @ctx: the context
 * @entries: operations that can be posted before nic_queue_submit(); rounded
 *	up to a power of two; 0: 64. Twice as many can be in flight (as many,
 *	when that would be more than nic_info.max_queue_entries)
 * @queue: out
 *
 * Return: 0; -EDQUOT, -ENOMEM as nic_segment_alloc(); -EINVAL.
 */
int nic_queue_create(struct nic_ctx *ctx, unsigned int entries,
		     struct nic_queue **queue);

/* Flag of nic_queue_options and nic_irq_options: there is an eventfd */
#define NIC_EVENTFD	0x100U
/* Flag of nic_queue_options: a thread of the driver takes what is posted */
#define NIC_POLL_THREAD	0x200U

/**
 * struct nic_queue_options - what nic_queue_create() does not ask for
 * @size: sizeof(struct nic_queue_options)
 * @flags: NIC_EVENTFD | NIC_POLL_THREAD or 0
 * @entries: as of nic_queue_create()
 * @eventfd: with NIC_EVENTFD: see nic_queue_arm(). Borrowed for the call; it
 *	may serve several queues and interrupts.
 * @poll_idle_us: with NIC_POLL_THREAD: microseconds without work after which
 *	the thread sleeps, at most 1000; 0: 1000. Otherwise zero.
 *
 * With NIC_POLL_THREAD nic_queue_submit() makes no system call while the thread
 * is awake, and calls it when it sleeps. The thread uses a processor as long as
 * it is awake, in the caller's cgroups, on his processors and with his priority
 * as they are when the queue is made. It pays for those who post often.
 */
struct nic_queue_options {
	size_t size;
	uint32_t flags;
	uint32_t entries;
	int32_t eventfd;
	uint32_t poll_idle_us;
};

/**
 * nic_queue_create_with() - nic_queue_create() with options
 * @ctx: the context
 * @options: what is zero is as with nic_queue_create()
 * @queue: out
 *
 * Return: as nic_queue_create(); -EINVAL also for an unknown flag and what is
 * no eventfd; -EBADF the eventfd is not open; -E2BIG options of a newer
 * library; -EOPNOTSUPP the driver has no polling threads; -EDQUOT also when
 * there are too many of them, -EAGAIN too many threads at all.
 */
int nic_queue_create_with(struct nic_ctx *ctx,
			  const struct nic_queue_options *options,
			  struct nic_queue **queue);

/**
 * nic_queue_destroy() - stop and close it; what is in flight is cancelled
 * @queue: the queue, or NULL
 *
 * Waits until the device no longer writes to memory for it (bounded; frames that the network
 * device has already are read later), also when a forked child or a command of an io_uring
 * has its file. In a child it only closes that.
 */
void nic_queue_destroy(struct nic_queue *queue);

/**
 * nic_queue_fd() - for poll(): POLLIN completions, POLLOUT room, POLLERR
 * @queue: the queue
 *
 * POLLIN without a completion: entries that nic_queue_submit() left can be taken now, so
 * call it again.
 *
 * Return: the file descriptor.
 */
int nic_queue_fd(const struct nic_queue *queue);

/**
 * nic_queue_arm() - have the eventfd signalled by the next completion, once
 * @queue: a queue with an eventfd; what is posted and not submitted stays so
 *
 * For programs that sleep on one eventfd for many things: submit, arm, and
 * sleep if that returned 0; then read the eventfd, take completions, arm again.
 * A signal that was not needed may be left over from before. Nothing is lost
 * between arming and sleeping: entries that were submitted and left for want of room are
 * offered once more, with a system call, and room for them signals, too. The end of the
 * device signals, armed or not.
 *
 * Return: 0 armed; how many completions there are already: take them, do not
 * sleep; -EINVAL the queue has no eventfd; -ENODEV the device was removed.
 */
int nic_queue_arm(struct nic_queue *queue);

/* Flags of the posting functions */
#define NIC_FENCE	1U	/* start after everything posted before */
#define NIC_SILENT	4U	/* no completion when it succeeds */

/*
 * Posting. An operation is prepared in the submission ring and handed to the
 * device by nic_queue_submit() or nic_queue_enter(). The local memory belongs
 * to the device from then until the completion. Order holds per queue and
 * target node; a notify is never seen before the data posted before it. But gets arrive
 * in any order: one to the same local bytes as a get before it needs NIC_FENCE.
 *
 * All return 0; -EAGAIN: the ring is full, submit and reap first; -EINVAL: unknown
 * flags, or a segment or connection of another context than the queue's. What else
 * is wrong is told by the completion.
 */

/** nic_post_nop() - completes, moves nothing */
int nic_post_nop(struct nic_queue *queue, unsigned int flags, uint64_t cookie);

/**
 * nic_post_put() - local to remote, contiguous
 * @queue: the queue
 * @seg: local segment of the queue's context
 * @offset: bytes into @seg
 * @remote: connected segment
 * @remote_offset: bytes into @remote
 * @bytes: how many, zero is legal
 * @flags: NIC_FENCE | NIC_SILENT
 * @cookie: returned in the completion
 */
int nic_post_put(struct nic_queue *queue, const struct nic_segment *seg,
		 uint64_t offset, const struct nic_remote *remote,
		 uint64_t remote_offset, uint64_t bytes, unsigned int flags,
		 uint64_t cookie);

/** nic_post_get() - as nic_post_put(), remote to local */
int nic_post_get(struct nic_queue *queue, const struct nic_segment *seg,
		 uint64_t offset, const struct nic_remote *remote,
		 uint64_t remote_offset, uint64_t bytes, unsigned int flags,
		 uint64_t cookie);

/**
 * nic_post_put_notify() - a put that raises an interrupt once it is placed
 * @queue: the queue
 * @seg: local segment of the queue's context
 * @offset: bytes into @seg
 * @remote: connected segment
 * @remote_offset: bytes into @remote
 * @bytes: how many, zero is legal
 * @irq: connected interrupt on the same node as @remote
 * @payload: handed to the waiter
 * @flags: NIC_FENCE | NIC_SILENT
 * @cookie: returned in the completion
 */
int nic_post_put_notify(struct nic_queue *queue, const struct nic_segment *seg,
			uint64_t offset, const struct nic_remote *remote,
			uint64_t remote_offset, uint64_t bytes,
			const struct nic_remote *irq, uint64_t payload,
			unsigned int flags, uint64_t cookie);

/**
 * struct nic_stride - blocks of a strided operation
 * @block: bytes in a block, below 4 GiB
 * @count: number of blocks, below 2^32
 * @local_stride: bytes from a local block's start to the next, >= @block
 * @remote_stride: the same on the remote side
 */
struct nic_stride {
	uint32_t block;
	uint32_t count;
	uint32_t local_stride;
	uint32_t remote_stride;
};

/** nic_post_put_strided() - as nic_post_put(), blocks with strides */
int nic_post_put_strided(struct nic_queue *queue, const struct nic_segment *seg,
			 uint64_t offset, const struct nic_remote *remote,
			 uint64_t remote_offset, const struct nic_stride *stride,
			 unsigned int flags, uint64_t cookie);
/** nic_post_put_strided_notify() - blocks with strides, then an interrupt */
int nic_post_put_strided_notify(struct nic_queue *queue,
				const struct nic_segment *seg, uint64_t offset,
				const struct nic_remote *remote,
				uint64_t remote_offset,
				const struct nic_stride *stride,
				const struct nic_remote *irq, uint64_t payload,
				unsigned int flags, uint64_t cookie);
/** nic_post_get_strided() - as nic_post_get(), blocks with strides */
int nic_post_get_strided(struct nic_queue *queue, const struct nic_segment *seg,
			 uint64_t offset, const struct nic_remote *remote,
			 uint64_t remote_offset, const struct nic_stride *stride,
			 unsigned int flags, uint64_t cookie);

/**
 * struct nic_list_entry - a block of a list
 * @local_offset: bytes, added to the operation's
 * @remote_offset: the same on the remote side
 * @bytes: how many, zero is legal
 */
struct nic_list_entry {
	uint64_t local_offset;
	uint64_t remote_offset;
	uint64_t bytes;
};

/**
 * struct nic_list - where the blocks of an operation are written down
 * @seg: segment of the queue's context with the entries; NULL: the local one
 * @offset: bytes to the first entry, a multiple of 8 below 32 GiB
 * @count: entries, below 2^32
 */
struct nic_list {
	const struct nic_segment *seg;
	uint64_t offset;
	uint32_t count;
};

/**
 * nic_post_put_list() - local to remote, blocks of a list, in its order
 * @queue: the queue
 * @seg: local segment of the queue's context
 * @offset: added to every entry's local offset
 * @remote: connected segment
 * @remote_offset: added to every entry's remote offset
 * @list: the blocks; the struct is not needed any more after the call
 * @flags: NIC_FENCE | NIC_SILENT
 * @cookie: returned in the completion
 *
 * The entries are read when the operation is carried out: leave them alone
 * until its completion. NIC_BOUNDS when one is outside of a segment; those
 * before it were moved, and nic_completion.result tells how much. Return: as
 * the others; -EINVAL also when the list cannot begin there.
 */
int nic_post_put_list(struct nic_queue *queue, const struct nic_segment *seg,
		      uint64_t offset, const struct nic_remote *remote,
		      uint64_t remote_offset, const struct nic_list *list,
		      unsigned int flags, uint64_t cookie);
/** nic_post_get_list() - as nic_post_put_list(), remote to local */
int nic_post_get_list(struct nic_queue *queue, const struct nic_segment *seg,
		      uint64_t offset, const struct nic_remote *remote,
		      uint64_t remote_offset, const struct nic_list *list,
		      unsigned int flags, uint64_t cookie);

/*
 * Atomics, on a 64-bit word of a segment exported with NIC_ATOMIC. They are
 * atomic among each other and with atomic instructions of the target's
 * processors on its mapping (of <stdatomic.h>, say). nic_completion.result is
 * the word before. A word is aligned to 8 bytes: NIC_INVALID otherwise, also
 * when a registered segment begins where no word could.
 */

/**
 * nic_post_fetch_add() - add to a remote word
 * @queue: the queue
 * @remote: connected segment
 * @remote_offset: of the word, a multiple of 8
 * @add: what to add, modulo 2^64
 * @flags: NIC_FENCE | NIC_SILENT
 * @cookie: returned in the completion
 */
int nic_post_fetch_add(struct nic_queue *queue, const struct nic_remote *remote,
		       uint64_t remote_offset, uint64_t add, unsigned int flags,
		       uint64_t cookie);

/**
 * nic_post_compare_swap() - write a remote word if it is what is expected
 * @queue: the queue
 * @remote: connected segment
 * @remote_offset: of the word, a multiple of 8
 * @expected: it was written when nic_completion.result is this
 * @desired: what to write
 * @flags: NIC_FENCE | NIC_SILENT
 * @cookie: returned in the completion
 */
int nic_post_compare_swap(struct nic_queue *queue, const struct nic_remote *remote,
			  uint64_t remote_offset, uint64_t expected,
			  uint64_t desired, unsigned int flags, uint64_t cookie);

/**
 * nic_post_swap() - write a remote word and get what was there
 * @queue: the queue
 * @remote: connected segment
 * @remote_offset: of the word, a multiple of 8
 * @value: what to write
 * @flags: NIC_FENCE | NIC_SILENT
 * @cookie: returned in the completion
 */
int nic_post_swap(struct nic_queue *queue, const struct nic_remote *remote,
		  uint64_t remote_offset, uint64_t value, unsigned int flags,
		  uint64_t cookie);

/**
 * nic_post_notify() - raise a remote interrupt
 * @queue: the queue
 * @irq: connected interrupt
 * @payload: handed to the waiter
 * @flags: NIC_FENCE | NIC_SILENT
 * @cookie: returned in the completion
 */
int nic_post_notify(struct nic_queue *queue, const struct nic_remote *irq,
		    uint64_t payload, unsigned int flags, uint64_t cookie);

/**
 * nic_queue_submit() - hand what was posted to the device
 * @queue: the queue
 *
 * One system call. A link model may make it sleep for its start cost.
 * Return: entries taken (fewer than posted: reap completions, call again);
 * -ENODEV the device was removed.
 *
 * With NIC_POLL_THREAD: no system call, unless the thread sleeps, which pays
 * what a link model asks for. Return: entries that are now the thread's, to
 * be taken soon, or when completions were reaped; -ENODEV.
 */
int nic_queue_submit(struct nic_queue *queue);

/**
 * nic_queue_enter() - submit and wait, in one system call
 * @queue: the queue
 * @min_complete: wait for so many unreaped completions
 * @timeout_ns: longest wait
 *
 * Blocks. Return: entries taken; -ETIME; -EINTR; -ENODEV; what was submitted
 * stays submitted then. -EINVAL: @min_complete is more than there is room for; then nothing
 * was submitted. After a nic_queue_drain() that came to no end, one that it keeps for
 * itself may count.
 */
int nic_queue_enter(struct nic_queue *queue, unsigned int min_complete,
		    uint64_t timeout_ns);

/**
 * nic_queue_poll() - take completions without a system call
 * @queue: the queue
 * @out: room for @max completions
 * @max: at most so many
 *
 * With NIC_POLL_THREAD one call wakes the thread, if it sleeps and left entries for which
 * this makes room.
 *
 * Return: how many were taken, 0 when none.
 */
unsigned int nic_queue_poll(struct nic_queue *queue, struct nic_completion *out,
			    unsigned int max);

/**
 * nic_queue_wait() - take at least one completion
 * @queue: the queue; posted entries are submitted first
 * @out: room for @max completions
 * @max: at most so many
 * @timeout_ns: longest wait
 *
 * Polls for a moment, then sleeps. Return: how many, at least 1; -ETIME;
 * -EINTR; -ENODEV.
 */
int nic_queue_wait(struct nic_queue *queue, struct nic_completion *out,
		   unsigned int max, uint64_t timeout_ns);

/**
 * nic_queue_drain() - submit and wait for everything in flight
 * @queue: the queue
 * @timeout_ns: longest wait
 *
 * Completions are consumed. SILENT operations count as done when a NOP fenced behind them
 * is. Return: 0 all succeeded; -EREMOTEIO at least one failed (nic_error_detail() names the
 * first); -ETIME; -EINTR; -ENODEV. After the last three what failed until then is told by
 * the call that comes to an end.
 */
int nic_queue_drain(struct nic_queue *queue, uint64_t timeout_ns);

/** nic_callback - one completion, on the thread that called dispatch */
typedef void (*nic_callback)(void *arg, const struct nic_completion *completion);

/**
 * nic_queue_dispatch() - poll, and call back for each completion
 * @queue: the queue
 * @max: at most so many
 * @callback: called on this thread
 * @arg: its first argument
 *
 * Return: how many.
 */
unsigned int nic_queue_dispatch(struct nic_queue *queue, unsigned int max,
				nic_callback callback, void *arg);

/**
 * nic_queue_ready() - completions that can be taken now
 * @queue: the queue
 *
 * Looks at shared memory alone: no system call, nothing is taken. May count a
 * few that nic_queue_poll() keeps for itself. Return: how many.
 */
unsigned int nic_queue_ready(const struct nic_queue *queue);

/**
 * nic_queue_in_flight() - submitted or posted, not yet reaped (not SILENT)
 * @queue: the queue
 *
 * Return: how many.
 */
unsigned int nic_queue_in_flight(const struct nic_queue *queue);

/* ---- interrupts ---- */

#define NIC_IRQ_STRICT	1U	/* full: refuse (NIC_LIMIT), never overwrite */

/**
 * nic_irq_create() - an interrupt that other nodes can raise
 * @ctx: the context
 * @depth: events kept, rounded up to a power of two; 0: 1. Unless STRICT, the
 *	device is asked for twice as many places, so that those kept are never
 *	half overwritten when read (at its limit one event fewer is kept)
 * @flags: NIC_IRQ_STRICT
 * @name: publish under this name, of 1 to 63 bytes; NULL: do not publish
 * @secret: the job's two words; NULL: two zeros
 * @irq: out
 *
 * Return: 0; -EEXIST @name is taken; -EDQUOT; -ENOMEM; -EINVAL.
 */
int nic_irq_create(struct nic_ctx *ctx, unsigned int depth, unsigned int flags,
		   const char *name, const uint64_t secret[2], struct nic_irq **irq);

/**
 * struct nic_irq_options - what nic_irq_create() does not ask for
 * @size: sizeof(struct nic_irq_options)
 * @flags: NIC_IRQ_STRICT, NIC_EVENTFD
 * @depth: as of nic_irq_create()
 * @eventfd: with NIC_EVENTFD: see nic_irq_arm(). Borrowed for the call; it may
 *	serve several queues and interrupts.
 * @name: as of nic_irq_create()
 * @secret: the job's two words, for @name
 */
struct nic_irq_options {
	size_t size;
	uint32_t flags;
	uint32_t depth;
	int32_t eventfd;
	const char *name;
	uint64_t secret[2];
};

/**
 * nic_irq_create_with() - nic_irq_create() with options
 * @ctx: the context
 * @options: what is zero is as with nic_irq_create()
 * @irq: out
 *
 * Return: as nic_irq_create(); -EINVAL also for what is no eventfd; -EBADF the
 * eventfd is not open; -E2BIG options of a newer library.
 */
int nic_irq_create_with(struct nic_ctx *ctx, const struct nic_irq_options *options,
			struct nic_irq **irq);

/**
 * nic_irq_destroy() - stop and close it: later notifies fail with NIC_NO_SEGMENT
 * @irq: the interrupt, or NULL
 *
 * Its name is free afterwards, also when a forked child or a command of an io_uring has its
 * file. In a child it only closes that.
 */
void nic_irq_destroy(struct nic_irq *irq);

/** nic_irq_fd() - for poll(): POLLIN raised since last seen */
int nic_irq_fd(const struct nic_irq *irq);
/** nic_irq_id() - its id, unique on the node */
uint32_t nic_irq_id(const struct nic_irq *irq);
/** nic_irq_key() - what nic_connect_irq() must show */
uint64_t nic_irq_key(const struct nic_irq *irq);

/**
 * nic_irq_arm() - have the eventfd signalled by the next event, once
 * @irq: an interrupt with an eventfd
 *
 * To be used as nic_queue_arm(). When the device is removed the eventfd is
 * signalled as well; poll() on nic_irq_fd() then says POLLERR.
 *
 * Return: 0 armed; how many events there are already, at most INT_MAX: take
 * them, do not sleep; -EINVAL the interrupt has no eventfd; -ENODEV the device was
 * removed, and no event is left.
 */
int nic_irq_arm(struct nic_irq *irq);

/** struct nic_event - one raised interrupt: payload and who raised it */
struct nic_event {
	uint64_t payload;
	uint32_t node;
};

/**
 * nic_irq_poll() - take events without a system call
 * @irq: the interrupt
 * @events: room for @max events; NULL: they are taken, and not told
 * @max: at most so many
 * @lost: out, may be NULL: older events that were overwritten (they count in
 *	the return value of nic_irq_count())
 *
 * Return: how many were taken, 0 when none.
 */
unsigned int nic_irq_poll(struct nic_irq *irq, struct nic_event *events,
			  unsigned int max, uint64_t *lost);

/**
 * nic_irq_wait() - wait for the next event and take it
 * @irq: the interrupt
 * @event: out, may be NULL
 * @timeout_ns: longest wait
 *
 * Events that were overwritten are passed over. Where each counts, wait with
 * nic_irq_wait_count(), or have a depth that is never reached.
 *
 * Polls for a moment, then sleeps. Return: 0; -ETIME; -EINTR; -ENODEV.
 */
int nic_irq_wait(struct nic_irq *irq, struct nic_event *event, uint64_t timeout_ns);

/** nic_irq_count() - how often it was raised since creation */
uint64_t nic_irq_count(const struct nic_irq *irq);

/**
 * nic_irq_wait_count() - wait until it was raised @count times since creation
 * @irq: the interrupt
 * @count: target
 * @timeout_ns: longest wait
 *
 * Events up to @count are taken as seen. Return: as nic_irq_wait().
 */
int nic_irq_wait_count(struct nic_irq *irq, uint64_t count, uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif /* NIC_H */
