/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dmanic.h - ioctls of /dev/dmanic/<node>, of its queues and interrupts
 *
 * An open device is a context. Segments and connections belong to a context;
 * queues and interrupts are file descriptors of their own that keep their
 * context alive, and so do mappings. When the last of them is gone everything is
 * given back.
 *
 * Every argument struct begins with its size and with flags. A shorter struct
 * than the driver's is an older program: what is missing counts as zero. A
 * longer one is a newer program: its tail must be zero. No pointers.
 *
 * errno, the same everywhere:
 *   EINVAL      a value makes no sense
 *   E2BIG       the struct is longer than the driver knows, and not zero there
 *   EOPNOTSUPP  unknown flag, non-zero reserved field, feature not available
 *   ENOTTY      no such ioctl on this descriptor
 *   ENOENT      no such object in this context, nothing published by that name
 *   EACCES      wrong key or secret
 *   EEXIST      the name is taken
 *   ENOMEM      out of memory, or of the cgroup's share
 *   EDQUOT      a limit: the refusal in the struct tells which and how much
 *   ENODEV      the device was removed
 *   ESHUTDOWN   somebody stopped the queue or interrupt
 *   EHOSTUNREACH no such node, or it does not answer
 *   ENETDOWN    the network device of this node is down
 *   ETIME       the time-out passed
 *   EINTR       a signal came first
 *   EFAULT      bad address; nothing was done then, or it was taken back, but
 *               what ENTER submitted stays submitted
 *   EBADF       @eventfd is not open (EINVAL: it is no eventfd)
 *   EMFILE, ENFILE  no descriptor left
 */
#ifndef _UAPI_LINUX_DMANIC_H
#define _UAPI_LINUX_DMANIC_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <linux/dmanic_ring.h>

#define DMANIC_ABI_VERSION	1
#define DMANIC_TYPE		0xD3
#define DMANIC_NAME_MAX		32	/* device names, with the final 0 */
#define DMANIC_PUBLISH_MAX	64	/* published names, with the final 0 */
#define DMANIC_TIMEOUT_NEVER	(~0ULL)

enum dmanic_cmd {
	DMANIC_CMD_QUERY = 0,
	DMANIC_CMD_SEGMENT_CREATE = 1,
	DMANIC_CMD_SEGMENT_DESTROY = 2,
	DMANIC_CMD_SEGMENT_EXPORT = 3,
	DMANIC_CMD_SEGMENT_REVOKE = 4,
	DMANIC_CMD_CONNECT = 5,
	DMANIC_CMD_DISCONNECT = 6,
	DMANIC_CMD_QUEUE_CREATE = 7,
	DMANIC_CMD_IRQ_CREATE = 8,
	DMANIC_CMD_NEWS_EVENTFD = 9,
	DMANIC_CMD_ENTER = 16,		/* on a queue */
	DMANIC_CMD_QUEUE_STOP = 17,
	DMANIC_CMD_IRQ_WAIT = 24,	/* on an interrupt */
	DMANIC_CMD_IRQ_STOP = 25,
};

/* Which limit a refusal is about */
enum dmanic_limit {
	DMANIC_LIMIT_NONE = 0,
	DMANIC_LIMIT_MEMLOCK = 1,	/* RLIMIT_MEMLOCK of the user, bytes */
	DMANIC_LIMIT_MEMORY = 2,	/* free memory of the machine, bytes */
	DMANIC_LIMIT_SEGMENT_SIZE = 3,	/* bytes in one segment */
	DMANIC_LIMIT_SEGMENTS = 4,	/* segments on the device */
	DMANIC_LIMIT_QUEUES = 5,	/* queues on the device */
	DMANIC_LIMIT_IRQS = 6,		/* interrupts on the device */
	DMANIC_LIMIT_CONNECTIONS = 7,	/* connections of the context */
	DMANIC_LIMIT_QUEUE_ENTRIES = 8,	/* entries in one ring */
	DMANIC_LIMIT_IRQ_DEPTH = 9,	/* events of one interrupt */
	DMANIC_LIMIT_CONTEXTS = 10,	/* open contexts on the device */
	DMANIC_LIMIT_USER_SEGMENTS = 11, /* of one user, segments on the device */
	DMANIC_LIMIT_USER_QUEUES = 12,	/* of one user, queues on the device */
	DMANIC_LIMIT_USER_IRQS = 13,	/* of one user, interrupts on the device */
	DMANIC_LIMIT_USER_CONTEXTS = 14, /* of one user, open contexts there */
	DMANIC_LIMIT_CGROUP = 15,	/* memory.max of the cgroup or above, bytes */
	DMANIC_LIMIT_POLL_THREADS = 16,	/* queues with a thread on the device */
	DMANIC_LIMIT_USER_POLL_THREADS = 17, /* of one user, such queues there */
	DMANIC_LIMIT_PEERS = 18,	/* other nodes the device knows and needs */
	DMANIC_LIMIT_USER_PEERS = 19,	/* of these, in use by one user at once */
	DMANIC_LIMIT_DEVICE_CONNECTIONS = 20, /* connections of all contexts there */
	DMANIC_LIMIT_USER_CONNECTIONS = 21, /* of these, one user's */
};

/**
 * struct dmanic_refusal - which limit stopped a call (out, on EDQUOT, ENOMEM)
 * @limit: enum dmanic_limit
 * @reserved: zero
 * @asked: how much would have been in use; of MEMORY and CGROUP: how much this
 *	call asked for
 * @allowed: the limit; of MEMORY: how much was free; of CGROUP: zero, for the
 *	driver does not know what the cgroup has left
 */
struct dmanic_refusal {
	__u32 limit;
	__u32 reserved;
	__aligned_u64 asked;
	__aligned_u64 allowed;
};

/* What a context keeps of what it is told and has not read */
#define DMANIC_NEWS_KEPT	32

/**
 * struct dmanic_news - what read() of a device gives: something happened to a node
 * @event: enum dmanic_event (linux/dmanic_netlink.h): PEER_UP, _DOWN, _RESTARTED,
 *	_REFUSED, _RIVAL, _DEGRADED, _RESTORED of another node; FAILED, RESTARTED,
 *	LINK_DOWN, LINK_UP of this
 * @node: which
 * @number: of those that this context was told of, from zero on; between two that
 *	were read, what is missing was overwritten
 *
 * read() gives whole structs, the oldest first, and never waits: EAGAIN, there is
 * nothing new; poll() says when there is (EPOLLIN). EINVAL: no room for one. ENODEV: the
 * device was removed, and all was read. EINTR: a signal came while another thread read.
 */
struct dmanic_news {
	__u32 event;
	__u32 node;
	__aligned_u64 number;
};

/**
 * struct dmanic_news_eventfd - DMANIC_IOC_NEWS_EVENTFD
 * @size: sizeof(struct dmanic_news_eventfd)
 * @flags: zero
 * @eventfd: signalled when there are more news, and when the device is removed, instead of
 *	the one before; at once when there is something that was not read. -1: none
 * @reserved: zero
 */
struct dmanic_news_eventfd {
	__u32 size;
	__u32 flags;
	__s32 eventfd;
	__u32 reserved;
};

/* Features (struct dmanic_query.features) */
#define DMANIC_FEATURE_STRIDED		(1ULL << 0)
#define DMANIC_FEATURE_NOTIFY		(1ULL << 1)
#define DMANIC_FEATURE_USER_MEMORY	(1ULL << 2)
#define DMANIC_FEATURE_ATOMIC		(1ULL << 3)
#define DMANIC_FEATURE_LIST		(1ULL << 4)
#define DMANIC_FEATURE_BUS		(1ULL << 5)	/* reserved */
#define DMANIC_FEATURE_URING_CMD	(1ULL << 6)
#define DMANIC_FEATURE_URING_CANCEL	(1ULL << 7)
#define DMANIC_FEATURE_POLL_THREAD	(1ULL << 8)
#define DMANIC_FEATURE_MAP_REMOTE	(1ULL << 9)
#define DMANIC_FEATURE_URGENT		(1ULL << 10)	/* reserved */

/**
 * struct dmanic_query - DMANIC_IOC_QUERY: what the device is and can do
 * @size: sizeof(struct dmanic_query)
 * @flags: zero
 * @abi: DMANIC_ABI_VERSION (out)
 * @node: this node's id (out)
 * @nodes: loop: nodes of the fabric; ether: this one and those that are connected
 *	now, not how many there are (out)
 * @sqe_size: bytes in a submission entry (out)
 * @cqe_size: bytes in a completion entry (out)
 * @max_poll_threads: queues with a polling thread on this device (out)
 * @features: DMANIC_FEATURE_* (out)
 * @incarnation: changes when the node restarts (out)
 * @max_segment_bytes: largest segment (out)
 * @max_segments: on this device (out)
 * @max_queues: on this device (out)
 * @max_queue_entries: submission or completion entries in one queue (out)
 * @max_irqs: on this device (out)
 * @max_irq_depth: events kept by one interrupt (out)
 * @max_connections: of one context, and of all that a user has on the device (out)
 * @max_contexts: open at once on this device (out)
 * @user_share: of @max_segments, @max_queues, @max_irqs, @max_contexts and
 *	@max_poll_threads one user gets this part, rounded up (4: a quarter), unless the caller has
 *	CAP_SYS_RESOURCE in the initial user namespace; zero: an older driver,
 *	all of it (out)
 * @name: device name, "nic0" (out)
 * @link: link type, "loop" (out)
 */
struct dmanic_query {
	__u32 size;
	__u32 flags;
	__u32 abi;
	__u32 node;
	__u32 nodes;
	__u32 sqe_size;
	__u32 cqe_size;
	__u32 max_poll_threads;
	__aligned_u64 features;
	__aligned_u64 incarnation;
	__aligned_u64 max_segment_bytes;
	__u32 max_segments;
	__u32 max_queues;
	__u32 max_queue_entries;
	__u32 max_irqs;
	__u32 max_irq_depth;
	__u32 max_connections;
	__u32 max_contexts;
	__u32 user_share;
	char name[DMANIC_NAME_MAX];
	char link[DMANIC_NAME_MAX];
};

/* @address is the program's memory, to be pinned, instead of new memory */
#define DMANIC_SEGMENT_USER_MEMORY	(1U << 0)

/**
 * struct dmanic_segment_create - DMANIC_IOC_SEGMENT_CREATE
 * @size: sizeof(struct dmanic_segment_create)
 * @flags: DMANIC_SEGMENT_*
 * @length: bytes, at least 1
 * @address: with USER_MEMORY: where it is (any alignment); anonymous, shmem
 *	or hugetlb memory that the program may write. Otherwise zero.
 * @id: name of the segment in entries and calls, unique on the node (out)
 * @block_order: the smallest physically contiguous block is PAGE_SIZE <<
 *	@block_order bytes (out)
 * @mmap_offset: for mmap() on the context, MAP_SHARED only (out; not for
 *	USER_MEMORY)
 * @refusal: out
 */
struct dmanic_segment_create {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__aligned_u64 address;
	__u32 id;
	__u32 block_order;
	__aligned_u64 mmap_offset;
	struct dmanic_refusal refusal;
};

/**
 * struct dmanic_segment_id - DMANIC_IOC_SEGMENT_DESTROY, _REVOKE
 * @size: sizeof(struct dmanic_segment_id)
 * @flags: zero
 * @id: the segment
 * @reserved: zero
 *
 * REVOKE waits for accesses of other nodes in flight; later ones fail there
 * with DMANIC_STATUS_NO_SEGMENT, or with DMANIC_STATUS_ACCESS once it is exported
 * again, which makes another key. DESTROY revokes first. Mappings of the
 * memory stay valid until they are unmapped; operations already posted with
 * the segment as their local side finish.
 */
struct dmanic_segment_id {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 reserved;
};

#define DMANIC_RIGHT_READ	(1U << 0)
#define DMANIC_RIGHT_WRITE	(1U << 1)
#define DMANIC_RIGHT_ATOMIC	(1U << 2)

/**
 * struct dmanic_segment_export - DMANIC_IOC_SEGMENT_EXPORT
 * @size: sizeof(struct dmanic_segment_export)
 * @flags: zero
 * @id: the segment
 * @rights: DMANIC_RIGHT_* others get, at least one
 * @key: random; who connects must show it (out)
 * @secret: of the job: who looks @name up must know it; zero without @name
 * @name: published name, unique on the node; empty: not published
 */
struct dmanic_segment_export {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 rights;
	__aligned_u64 key;
	__aligned_u64 secret[2];
	char name[DMANIC_PUBLISH_MAX];
};

#define DMANIC_CONNECT_BY_NAME	(1U << 0)	/* @name and @secret, not @id and @key */
#define DMANIC_CONNECT_IRQ	(1U << 1)	/* an interrupt, not a segment */

/**
 * struct dmanic_connect - DMANIC_IOC_CONNECT
 * @size: sizeof(struct dmanic_connect)
 * @flags: DMANIC_CONNECT_*
 * @node: where it is
 * @id: its id there (unless BY_NAME)
 * @key: its key (unless BY_NAME)
 * @secret: the job's (with BY_NAME)
 * @timeout_ns: with BY_NAME: wait so long for the name to be published; zero:
 *	do not wait for that. Over ether the call may block all the same, until the
 *	node answers or is taken for dead (DMANIC_A_DEAD_NS, at worst four times
 *	that, and as long again where the other side had given the connection up);
 *	with a shorter @timeout_ns ETIME also means that it did not answer
 * @name: with BY_NAME
 * @handle: names the connection in entries (out)
 * @rights: what was granted (out)
 * @length: bytes of the segment, or depth of the interrupt (out)
 * @refusal: out
 * @mmap_offset: for mmap() of the remote segment on the context, MAP_SHARED
 *	only; reading needs the right READ, and so does writing, with WRITE. Zero
 *	if it cannot be mapped: no FEATURE_MAP_REMOTE, no right, an interrupt
 *	(out)
 */
struct dmanic_connect {
	__u32 size;
	__u32 flags;
	__u32 node;
	__u32 id;
	__aligned_u64 key;
	__aligned_u64 secret[2];
	__aligned_u64 timeout_ns;
	char name[DMANIC_PUBLISH_MAX];
	__u32 handle;
	__u32 rights;
	__aligned_u64 length;
	struct dmanic_refusal refusal;
	__aligned_u64 mmap_offset;
};

/**
 * struct dmanic_disconnect - DMANIC_IOC_DISCONNECT
 * @size: sizeof(struct dmanic_disconnect)
 * @flags: zero
 * @handle: the connection; operations already posted with it finish
 * @reserved: zero
 */
struct dmanic_disconnect {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 reserved;
};

/* A thread of the driver takes entries: posting needs no system call */
#define DMANIC_QUEUE_POLL_THREAD	(1U << 0)
#define DMANIC_POLL_IDLE_MAX_US		1000U

/**
 * struct dmanic_queue_create - DMANIC_IOC_QUEUE_CREATE
 * @size: sizeof(struct dmanic_queue_create)
 * @flags: DMANIC_QUEUE_*
 * @sq_entries: power of two
 * @cq_entries: power of two, at least @sq_entries; also the most operations in
 *	flight
 * @eventfd: signalled when armed, or -1
 * @fd: the queue, close-on-exec (out)
 * @mmap_bytes: map the queue with offset 0 and this length (out)
 * @sq_offset: of the submission entries in the mapping (out)
 * @cq_offset: of the completion entries in the mapping (out)
 * @refusal: out
 * @poll_idle_us: POLL_THREAD: without work for so long it sleeps, sets
 *	DMANIC_RING_NEED_WAKEUP and has to be woken by ENTER; zero: the most,
 *	DMANIC_POLL_IDLE_MAX_US. Zero without POLL_THREAD.
 * @reserved: zero
 */
struct dmanic_queue_create {
	__u32 size;
	__u32 flags;
	__u32 sq_entries;
	__u32 cq_entries;
	__s32 eventfd;
	__s32 fd;
	__aligned_u64 mmap_bytes;
	__u32 sq_offset;
	__u32 cq_offset;
	struct dmanic_refusal refusal;
	__u32 poll_idle_us;
	__u32 reserved;
};

/* Refuse (DMANIC_STATUS_LIMIT) rather than overwrite events not yet seen */
#define DMANIC_IRQ_STRICT	(1U << 0)

/**
 * struct dmanic_irq_create - DMANIC_IOC_IRQ_CREATE: exported at once
 * @size: sizeof(struct dmanic_irq_create)
 * @flags: DMANIC_IRQ_*
 * @depth: events kept, power of two
 * @eventfd: signalled when armed, or -1
 * @fd: the interrupt, close-on-exec; mmap offset 0 (out)
 * @id: unique on the node (out)
 * @key: random; who connects must show it (out)
 * @mmap_bytes: length of the mapping (out)
 * @secret: of the job, for @name
 * @name: published name, unique on the node; empty: not published
 * @refusal: out
 */
struct dmanic_irq_create {
	__u32 size;
	__u32 flags;
	__u32 depth;
	__s32 eventfd;
	__s32 fd;
	__u32 id;
	__aligned_u64 key;
	__aligned_u64 mmap_bytes;
	__aligned_u64 secret[2];
	char name[DMANIC_PUBLISH_MAX];
	struct dmanic_refusal refusal;
};

/**
 * struct dmanic_enter - DMANIC_IOC_ENTER: submit and wait in one call
 * @size: sizeof(struct dmanic_enter)
 * @flags: zero
 * @to_submit: at most so many entries are taken from the submission ring
 * @min_complete: then wait until so many completions are unconsumed (at most
 *	the entries of the completion ring); entries that were left for lack of
 *	room are taken meanwhile; zero: do not wait
 * @timeout_ns: longest wait; zero: do not wait; DMANIC_TIMEOUT_NEVER
 * @submitted: entries taken (out, also when the wait fails)
 * @available: completions unconsumed (out, also after ETIME and EINTR; after ENODEV
 *	look at cq_tail)
 *
 * ETIME, EINTR and ENODEV are about the wait alone: what was submitted is submitted.
 */
struct dmanic_enter {
	__u32 size;
	__u32 flags;
	__u32 to_submit;
	__u32 min_complete;
	__aligned_u64 timeout_ns;
	__u32 submitted;
	__u32 available;
};

/**
 * struct dmanic_irq_wait - DMANIC_IOC_IRQ_WAIT
 * @size: sizeof(struct dmanic_irq_wait)
 * @flags: zero
 * @target: wait until raised - target, as a signed number, is not negative
 * @timeout_ns: longest wait; zero: do not wait; DMANIC_TIMEOUT_NEVER
 * @raised: how often it was raised since creation (out, also on failure)
 */
struct dmanic_irq_wait {
	__u32 size;
	__u32 flags;
	__aligned_u64 target;
	__aligned_u64 timeout_ns;
	__aligned_u64 raised;
};

/**
 * struct dmanic_stop - DMANIC_IOC_QUEUE_STOP, DMANIC_IOC_IRQ_STOP
 * @size: sizeof(struct dmanic_stop)
 * @flags: zero
 *
 * For who is done with a queue or an interrupt, but whose close() is perhaps not the last:
 * a forked child may have the file, or a command of an io_uring. What close() gives back it
 * gives back with the last one; but nothing happens any more once this returns.
 *
 * QUEUE_STOP: entries are not taken any more, operations that were not done end with
 * CANCELLED, and none of them writes to memory: it waits for that, as the last close() does.
 * IRQ_STOP: other nodes do not find it any more, and its name is free. Whoever waits gets
 * ESHUTDOWN, and DMANIC_RING_DEAD is set. Stopping once more does nothing.
 */
struct dmanic_stop {
	__u32 size;
	__u32 flags;
};

/*
 * io_uring commands: IORING_OP_URING_CMD with one of these as cmd_op, and the
 * argument in the entry's cmd field. res is not negative on success; a failed
 * operation has -errno in res, so that it cuts a chain of linked entries:
 *
 *   INVALID -EINVAL, NO_SEGMENT -ENXIO, NO_HANDLE -ENOENT, BOUNDS -ERANGE,
 *   ACCESS -EACCES, PEER_DEAD -EHOSTUNREACH, PEER_RESTARTED -ECONNRESET,
 *   LINK_DOWN -ENETDOWN, TIMED_OUT -ETIMEDOUT, CANCELLED -ECANCELED,
 *   LIMIT -ENOBUFS, SOURCE_CHANGED -EILSEQ, UNSUPPORTED -EOPNOTSUPP
 *
 * and -EBUSY: as many operations are in flight as the queue has completion
 * entries; -ENODEV: the device was removed; -ESHUTDOWN: the queue or interrupt was
 * stopped. In a ring with 32-byte completions
 * the second result is what struct dmanic_cqe.result would be, or how often the
 * interrupt was raised. A command that makes no sense is refused with -EINVAL,
 * one that does not fit its descriptor with -ENOTTY.
 *
 * A dying ring waits for its commands. Without DMANIC_FEATURE_URING_CANCEL they
 * cannot be cancelled, so what might take long is refused: -EOPNOTSUPP for waits,
 * for LIST, for operations of more than DMANIC_URING_POST_MAX bytes (a block of
 * a strided one counts 64 more), on a link that models costs, and on an ether link
 * whose peers are dead only after more than 5 s; -EBUSY when of its user as much is in
 * flight on the device, or four times that of all, or as much has been taken from the
 * queue's ring and is not done (a LIST there is always too much). What is not done after 5 to
 * 10 s, and five more for each 16 MiB that were in flight on the device when it
 * was posted, or before it in its queue, ends with -ECANCELED.
 */
#define DMANIC_URING_POST_MAX	((1U << 26) - 4096)

enum dmanic_uring_cmd {
	/*
	 * On a queue, ring with 128-byte entries: one operation. The argument is
	 * a struct dmanic_sqe, without SILENT and with a cookie of zero, and then
	 * 16 bytes of zero. It completes in the io_uring only; res: bytes moved.
	 * FENCE is about what was posted before on this queue, in whatever way.
	 * Atomics need 32-byte completions; their res is zero.
	 */
	DMANIC_URING_POST = 1,
	/*
	 * On a queue: take entries from its submission ring; struct
	 * dmanic_uring_enter. res: how many were taken. Never waits.
	 */
	DMANIC_URING_ENTER = 2,
	/*
	 * On a queue: wait for completions; struct dmanic_uring_enter. res: how
	 * many are unconsumed; fewer than asked for: entries that were left for lack
	 * of room (DMANIC_RING_CQ_FULL) can be taken now, which is for ENTER. On an
	 * interrupt: DMANIC_URING_IRQ_WAIT. Both need DMANIC_FEATURE_URING_CANCEL; without it,
	 * IORING_OP_POLL_ADD waits. -ETIME: the time-out passed; -ECANCELED: the ring
	 * dies; -EBUSY: 1024 wait already.
	 */
	DMANIC_URING_WAIT = 3,
	DMANIC_URING_IRQ_WAIT = 4,
};

/**
 * struct dmanic_uring_enter - argument of DMANIC_URING_ENTER and _WAIT
 * @to_submit: ENTER: at most so many; WAIT: zero
 * @min_complete: WAIT: as in struct dmanic_enter; ENTER: zero
 * @timeout_ns: WAIT: longest wait; DMANIC_TIMEOUT_NEVER; ENTER: zero
 */
struct dmanic_uring_enter {
	__u32 to_submit;
	__u32 min_complete;
	__aligned_u64 timeout_ns;
};

/**
 * struct dmanic_uring_irq_wait - argument of DMANIC_URING_IRQ_WAIT
 * @target: as in struct dmanic_irq_wait
 * @timeout_ns: longest wait; DMANIC_TIMEOUT_NEVER
 */
struct dmanic_uring_irq_wait {
	__aligned_u64 target;
	__aligned_u64 timeout_ns;
};

/* The size travels in the struct, so the numbers never change with it. */
#define DMANIC_IOC_QUERY		_IO(DMANIC_TYPE, DMANIC_CMD_QUERY)
#define DMANIC_IOC_SEGMENT_CREATE	_IO(DMANIC_TYPE, DMANIC_CMD_SEGMENT_CREATE)
#define DMANIC_IOC_SEGMENT_DESTROY	_IO(DMANIC_TYPE, DMANIC_CMD_SEGMENT_DESTROY)
#define DMANIC_IOC_SEGMENT_EXPORT	_IO(DMANIC_TYPE, DMANIC_CMD_SEGMENT_EXPORT)
#define DMANIC_IOC_SEGMENT_REVOKE	_IO(DMANIC_TYPE, DMANIC_CMD_SEGMENT_REVOKE)
#define DMANIC_IOC_CONNECT		_IO(DMANIC_TYPE, DMANIC_CMD_CONNECT)
#define DMANIC_IOC_DISCONNECT		_IO(DMANIC_TYPE, DMANIC_CMD_DISCONNECT)
#define DMANIC_IOC_QUEUE_CREATE		_IO(DMANIC_TYPE, DMANIC_CMD_QUEUE_CREATE)
#define DMANIC_IOC_IRQ_CREATE		_IO(DMANIC_TYPE, DMANIC_CMD_IRQ_CREATE)
#define DMANIC_IOC_NEWS_EVENTFD		_IO(DMANIC_TYPE, DMANIC_CMD_NEWS_EVENTFD)
#define DMANIC_IOC_ENTER		_IO(DMANIC_TYPE, DMANIC_CMD_ENTER)
#define DMANIC_IOC_QUEUE_STOP		_IO(DMANIC_TYPE, DMANIC_CMD_QUEUE_STOP)
#define DMANIC_IOC_IRQ_WAIT		_IO(DMANIC_TYPE, DMANIC_CMD_IRQ_WAIT)
#define DMANIC_IOC_IRQ_STOP		_IO(DMANIC_TYPE, DMANIC_CMD_IRQ_STOP)

#endif /* _UAPI_LINUX_DMANIC_H */
