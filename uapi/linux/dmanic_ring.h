/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dmanic_ring.h - memory shared between the driver and a program
 *
 * A queue is one mapping: struct dmanic_queue_ring, then the submission entries, then
 * the completion entries (offsets: struct dmanic_queue_create). An interrupt
 * is one mapping too: struct dmanic_irq_ring and its events.
 *
 * Indices are free running __u32 (__u64 for interrupts); an entry's place is
 * index & (entries - 1). Each side writes only its own indices, each on its
 * own cache line. The driver keeps private copies of what it wrote and never
 * reads them back; what a program writes is read once and then validated.
 *
 * Barriers. Every one has a letter; code that issues it names the letter.
 *
 *   A  program: entries, then sq_tail (store-release)
 *      driver:  sq_tail (load-acquire), then entries
 *   B  driver:  reads entries, then sq_head (store-release)
 *      program: sq_head (load-acquire), then reuses entries
 *   C  driver:  completion or event, then cq_tail / raised (store-release)
 *      program: cq_tail / raised (load-acquire), then the completion or event
 *   D  program: reads completions or events, then cq_head / seen (store-release)
 *      driver:  cq_head / seen (load-acquire), then reuses their places
 *   E  program: arm = 1, full barrier, reads cq_tail / raised again, sleeps
 *      driver:  cq_tail / raised, full barrier, reads arm, signals
 *      (the driver's wait queues use the same full barrier)
 *      If CQ_FULL is set, ENTER again behind the full barrier: what made room
 *      for entries that were left may be done by then, and have no completion
 *   G  program: sq_tail or cq_head, full barrier, reads flags, ENTER if
 *      NEED_WAKEUP
 *      driver:  NEED_WAKEUP, full barrier, reads both again, sleeps
 *
 * F, H, I and M are the driver's own, see driver/core/dmanic.h.
 */
#ifndef _UAPI_LINUX_DMANIC_RING_H
#define _UAPI_LINUX_DMANIC_RING_H

#include <linux/types.h>

/**
 * enum dmanic_opcode - what a submission entry asks for
 * @DMANIC_OP_NOP: completes with DMANIC_STATUS_OK, moves nothing
 * @DMANIC_OP_WRITE: local segment to remote segment ("put")
 * @DMANIC_OP_READ: remote segment to local segment ("get")
 * @DMANIC_OP_WRITE_STRIDED: @count blocks, each side with its own stride
 * @DMANIC_OP_READ_STRIDED: the same from remote to local
 * @DMANIC_OP_NOTIFY: raise a remote interrupt with a 64-bit payload
 * @DMANIC_OP_FETCH_ADD: add @payload to a remote 64-bit word; the completion
 *	brings the old value, as it does for the next two
 * @DMANIC_OP_COMPARE_SWAP: put @payload there if the word is @compare
 * @DMANIC_OP_SWAP: put @payload there
 * @DMANIC_OP_LIST: move @count blocks that a list in a segment names
 * @DMANIC_OP_BROADCAST: reserved (virtual bus), needs DMANIC_FEATURE_BUS
 */
enum dmanic_opcode {
	DMANIC_OP_NOP = 0,
	DMANIC_OP_WRITE = 1,
	DMANIC_OP_READ = 2,
	DMANIC_OP_WRITE_STRIDED = 3,
	DMANIC_OP_READ_STRIDED = 4,
	DMANIC_OP_NOTIFY = 5,
	DMANIC_OP_FETCH_ADD = 6,
	DMANIC_OP_COMPARE_SWAP = 7,
	DMANIC_OP_SWAP = 8,
	DMANIC_OP_LIST = 9,
	DMANIC_OP_BROADCAST = 10,
};

/*
 * Flags of a submission entry.
 *
 * FENCE:   start after everything posted before on this queue is acknowledged.
 * NOTIFY:  a WRITE also raises the interrupt @notify with @payload, after its
 *          data are placed. @notify must be on the same node as @remote.
 * SILENT:  no completion when it succeeds; a failure always has one.
 * URGENT:  reserved, needs DMANIC_FEATURE_URGENT.
 * ORDERED: reserved (bytes become visible in address order).
 */
#define DMANIC_SQE_FENCE	(1U << 0)
#define DMANIC_SQE_NOTIFY	(1U << 1)
#define DMANIC_SQE_SILENT	(1U << 2)
#define DMANIC_SQE_URGENT	(1U << 3)
#define DMANIC_SQE_ORDERED	(1U << 4)

/**
 * struct dmanic_sqe - submission entry, 64 bytes (fits an io_uring SQE128)
 * @opcode: enum dmanic_opcode
 * @flags: DMANIC_SQE_*
 * @reserved: zero
 * @local: local segment (struct dmanic_segment_create.id)
 * @cookie: returned in the completion, never interpreted
 * @remote: connected segment (struct dmanic_connect.handle)
 * @notify: connected interrupt, for NOTIFY and the NOTIFY flag, else zero
 * @local_offset: bytes from the start of the local segment
 * @remote_offset: bytes from the start of the remote segment
 * @length: contiguous: bytes to move, zero is legal
 * @block: strided: bytes in a block; LIST: zero to write, DMANIC_LIST_READ to
 *	read
 * @count: strided: number of blocks; LIST: entries of the list
 * @local_stride: strided: bytes from a local block's start to the next one's,
 *	at least @block (a longer reach needs several entries)
 * @remote_stride: the same on the remote side
 * @list: LIST: the local segment that holds the list, or zero if that is @local
 * @list_offset: LIST: where it begins there, in units of 8 bytes
 * @compare: COMPARE_SWAP: the value expected; zero otherwise
 * @payload: NOTIFY: handed to the waiter; atomics: the operand; zero otherwise
 *
 * Atomics: @remote_offset is a multiple of 8, @local, @local_offset and
 * @length are zero; the right needed is ATOMIC. They are atomic among each
 * other and with a processor of the target that uses atomic instructions.
 *
 * LIST: @local_offset and @remote_offset are added to those of every entry of the
 * list. The list is read when the operation is carried out, so it belongs to the
 * device, too, until completion. An entry outside of a segment ends the
 * operation with BOUNDS; those before it were moved.
 *
 * The memory of @local belongs to the device from post to completion: it may
 * be read again at any time in between.
 */
struct dmanic_sqe {
	__u8 opcode;
	__u8 flags;
	__u16 reserved;
	__u32 local;
	__aligned_u64 cookie;
	__u32 remote;
	__u32 notify;
	__aligned_u64 local_offset;
	__aligned_u64 remote_offset;
	union {
		__aligned_u64 length;
		struct {
			__u32 block;
			__u32 count;
		};
	};
	union {
		__aligned_u64 compare;
		struct {
			__u32 local_stride;
			__u32 remote_stride;
		};
		struct {
			__u32 list;
			__u32 list_offset;
		};
	};
	__aligned_u64 payload;
};

/* dmanic_sqe.block of a LIST */
#define DMANIC_LIST_READ	1U

/**
 * struct dmanic_list_entry - a block of a LIST
 * @local_offset: bytes, added to the submission entry's
 * @remote_offset: the same on the remote side
 * @length: bytes to move, zero is legal
 */
struct dmanic_list_entry {
	__aligned_u64 local_offset;
	__aligned_u64 remote_offset;
	__aligned_u64 length;
};

/**
 * enum dmanic_status - outcome of an operation
 * @DMANIC_STATUS_OK: placed at the target, notify raised
 * @DMANIC_STATUS_INVALID: unknown opcode or flag, or a reserved field set
 * @DMANIC_STATUS_NO_SEGMENT: no such local segment, or the remote segment or
 *	interrupt does not exist (any more) or was revoked
 * @DMANIC_STATUS_NO_HANDLE: no such connected handle in this context
 * @DMANIC_STATUS_BOUNDS: outside the local or the remote segment
 * @DMANIC_STATUS_ACCESS: wrong key, or the right was not granted
 * @DMANIC_STATUS_PEER_DEAD: the target node does not answer
 * @DMANIC_STATUS_PEER_RESTARTED: the target node is not the one connected to
 * @DMANIC_STATUS_LINK_DOWN: this node's link is down or being removed
 * @DMANIC_STATUS_TIMED_OUT: gave up waiting for the target
 * @DMANIC_STATUS_CANCELLED: the queue was closed or stopped first
 * @DMANIC_STATUS_LIMIT: a limit was reached: interrupt events not consumed, or too many nodes in
 *	use at once
 * @DMANIC_STATUS_SOURCE_CHANGED: local memory was changed before completion
 * @DMANIC_STATUS_UNSUPPORTED: this link or kernel cannot do it (see QUERY)
 * @DMANIC_STATUS_COUNT: how many there are; never an outcome
 */
enum dmanic_status {
	DMANIC_STATUS_OK = 0,
	DMANIC_STATUS_INVALID = 1,
	DMANIC_STATUS_NO_SEGMENT = 2,
	DMANIC_STATUS_NO_HANDLE = 3,
	DMANIC_STATUS_BOUNDS = 4,
	DMANIC_STATUS_ACCESS = 5,
	DMANIC_STATUS_PEER_DEAD = 6,
	DMANIC_STATUS_PEER_RESTARTED = 7,
	DMANIC_STATUS_LINK_DOWN = 8,
	DMANIC_STATUS_TIMED_OUT = 9,
	DMANIC_STATUS_CANCELLED = 10,
	DMANIC_STATUS_LIMIT = 11,
	DMANIC_STATUS_SOURCE_CHANGED = 12,
	DMANIC_STATUS_UNSUPPORTED = 13,
	DMANIC_STATUS_COUNT
};

/**
 * struct dmanic_cqe - completion entry, 32 bytes
 * @cookie: from the submission entry
 * @status: enum dmanic_status
 * @opcode: from the submission entry
 * @flags: from the submission entry
 * @result: bytes moved; after a failure it means nothing, except that a LIST which
 *	ended with BOUNDS tells the bytes of the entries before the wrong one; atomics:
 *	the word before
 * @reserved: zero
 */
struct dmanic_cqe {
	__aligned_u64 cookie;
	__u32 status;
	__u16 opcode;
	__u16 flags;
	__aligned_u64 result;
	__aligned_u64 reserved;
};

/* Flags the driver sets in struct dmanic_queue_ring.flags, and DEAD in struct dmanic_irq_ring's */
#define DMANIC_RING_CQ_FULL	(1U << 0) /* entries left: no room for completions */
#define DMANIC_RING_BAD_INDEX	(1U << 1) /* sq_tail or cq_head is impossible */
#define DMANIC_RING_NEED_WAKEUP	(1U << 2) /* the polling thread sleeps: ENTER */
#define DMANIC_RING_DEAD	(1U << 3) /* the device was removed, or this was stopped */

#define DMANIC_CACHE_LINE	64

/**
 * struct dmanic_queue_ring - head of a queue's mapping
 * @sq_tail: written by the program: next submission entry it will fill
 * @sq_head: written by the driver: next submission entry it will read
 * @cq_tail: written by the driver: next completion entry it will fill
 * @cq_head: written by the program: next completion entry it will read
 * @flags: written by the driver: DMANIC_RING_*
 * @arm: written by the program: 1 asks for one eventfd signal at the next
 *	completion, or when something ends without one while CQ_FULL is set; the driver
 *	clears it when it signals
 */
struct dmanic_queue_ring {
	__u32 sq_tail;
	/* private: */
	__u8 pad0[60];
	/* public: */
	__u32 sq_head;
	/* private: */
	__u8 pad1[60];
	/* public: */
	__u32 cq_tail;
	/* private: */
	__u8 pad2[60];
	/* public: */
	__u32 cq_head;
	/* private: */
	__u8 pad3[60];
	/* public: */
	__u32 flags;
	/* private: */
	__u8 pad4[60];
	/* public: */
	__u32 arm;
	/* private: */
	__u8 pad5[60];
};

/**
 * struct dmanic_irq_event - one raised interrupt
 * @payload: from the submission entry
 * @node: who raised it
 * @reserved: zero
 */
struct dmanic_irq_event {
	__aligned_u64 payload;
	__u32 node;
	__u32 reserved;
};

/**
 * struct dmanic_irq_ring - head of an interrupt's mapping
 * @raised: written by the driver: how often it was raised since creation
 * @flags: written by the driver: DMANIC_RING_DEAD
 * @seen: written by the program: how many of them it has taken notice of
 * @arm: as in struct dmanic_queue_ring
 * @event: event i is event[i & (depth - 1)]. STRICT: it stays until @seen passes
 *	it. Otherwise it was read whole if @raised, read again afterwards, is
 *	still less than i + depth: the driver writes an event before it counts it.
 */
struct dmanic_irq_ring {
	__aligned_u64 raised;
	__u32 flags;
	/* private: */
	__u8 pad0[52];
	/* public: */
	__aligned_u64 seen;
	/* private: */
	__u8 pad1[56];
	/* public: */
	__u32 arm;
	/* private: */
	__u8 pad2[60];
	/* public: */
	struct dmanic_irq_event event[];
};

#endif /* _UAPI_LINUX_DMANIC_RING_H */
