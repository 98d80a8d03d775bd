/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * op.h - reading and validating submission entries
 *
 * The one validation of handles, rights and ranges at the initiator, shared by
 * op.c (all operations) and quick.c (what the poster does itself). Everything
 * runs under RCU; struct dmanic_found remembers what the entry before named.
 */
#ifndef DMANIC_OP_H
#define DMANIC_OP_H

#include "dmanic.h"

/* Every field is read once: the program may be writing to the entry */
static __always_inline struct dmanic_sqe
dmanic_sqe_read(const struct dmanic_sqe *shared)
{
	return (struct dmanic_sqe) {
		.opcode = READ_ONCE(shared->opcode),
		.flags = READ_ONCE(shared->flags),
		.reserved = READ_ONCE(shared->reserved),
		.local = READ_ONCE(shared->local),
		.cookie = READ_ONCE(shared->cookie),
		.remote = READ_ONCE(shared->remote),
		.notify = READ_ONCE(shared->notify),
		.local_offset = READ_ONCE(shared->local_offset),
		.remote_offset = READ_ONCE(shared->remote_offset),
		.length = READ_ONCE(shared->length),
		.compare = READ_ONCE(shared->compare),
		.payload = READ_ONCE(shared->payload),
	};
}

/* An entry as eight words; which field is where, is asserted below */
static __always_inline u64 dmanic_sqe_word(const struct dmanic_sqe *shared,
					   size_t offset)
{
	return READ_ONCE(*(const u64 *)((const char *)shared + offset));
}

/* Opcode, flags, reserved and local */
#define DMANIC_SQE_FIRST	0
/* Connection and interrupt */
#define DMANIC_SQE_REMOTE	offsetof(struct dmanic_sqe, remote)

static_assert(offsetofend(struct dmanic_sqe, local) == sizeof(u64));
static_assert(offsetofend(struct dmanic_sqe, notify) ==
	      DMANIC_SQE_REMOTE + sizeof(u64));

/* Find and check the remote side: enum dmanic_status, then found->conn */
static __always_inline u32
dmanic_found_remote(struct dmanic_found *found, struct dmanic_ctx *ctx, u32 handle,
		    u32 right, u64 offset, u64 span)
{
	const struct dmanic_remote *conn = found->conn;

	if (unlikely(!found->remote || found->remote != handle)) {
		conn = dmanic_remote_lookup(ctx, handle);
		found->conn = conn;
		found->remote = conn ? handle : 0;
	}
	if (unlikely(!conn || conn->kind != DMANIC_EXPORT_SEGMENT))
		return DMANIC_STATUS_NO_HANDLE;
	if (unlikely((conn->rights & right) != right))
		return DMANIC_STATUS_ACCESS;
	if (unlikely(!dmanic_range_ok(conn->length, offset, span)))
		return DMANIC_STATUS_BOUNDS;
	return DMANIC_STATUS_OK;
}

/* Find and check the local side: enum dmanic_status, then found->mem */
static __always_inline u32
dmanic_found_local(struct dmanic_found *found, struct dmanic_ctx *ctx, u32 id,
		   u64 offset, u64 span)
{
	struct dmanic_mem *mem = found->mem;

	if (unlikely(!found->local || found->local != id)) {
		mem = dmanic_segment_mem(ctx, id);
		found->mem = mem;
		found->local = mem ? id : 0;
	}
	if (unlikely(!mem))
		return DMANIC_STATUS_NO_SEGMENT;
	if (unlikely(!dmanic_range_ok(mem->length, offset, span)))
		return DMANIC_STATUS_BOUNDS;
	return DMANIC_STATUS_OK;
}

/* How a completion entry is filled */
static __always_inline void dmanic_cqe_fill(struct dmanic_cqe *cqe, u64 cookie,
					    u32 status, u8 opcode, u8 flags, u64 result)
{
	cqe->cookie = cookie;
	cqe->status = status;
	cqe->opcode = opcode;
	cqe->flags = flags;
	cqe->result = result;
	cqe->reserved = 0;
}

/**
 * struct dmanic_sums - what completions add to the statistics
 * @completed: with DMANIC_STATUS_OK
 * @failed: with another status
 * @read_bytes: fetched
 * @write_bytes: placed
 * @notifies: raised
 * @atomics: done
 */
struct dmanic_sums {
	u64 completed;
	u64 failed;
	u64 read_bytes;
	u64 write_bytes;
	u64 notifies;
	u64 atomics;
};

/* @read: towards the local side; @result: bytes moved, or an atomic's old value */
static __always_inline void dmanic_sums_add(struct dmanic_sums *sums, u8 opcode,
					    u8 flags, bool read, u64 result)
{
	sums->completed++;
	if (unlikely(dmanic_opcode_atomic(opcode)))
		sums->atomics++;
	else if (read)
		sums->read_bytes += result;
	else
		sums->write_bytes += result;
	sums->notifies += opcode == DMANIC_OP_NOTIFY || (flags & DMANIC_SQE_NOTIFY);
}

static __always_inline void dmanic_sums_count(struct dmanic_node *node,
					      const struct dmanic_sums *sums)
{
	if (sums->completed)
		dmanic_stat_add(node, DMANIC_STATS_A_COMPLETED, sums->completed);
	if (sums->failed)
		dmanic_stat_add(node, DMANIC_STATS_A_FAILED, sums->failed);
	if (sums->read_bytes)
		dmanic_stat_add(node, DMANIC_STATS_A_READ_BYTES, sums->read_bytes);
	if (sums->write_bytes)
		dmanic_stat_add(node, DMANIC_STATS_A_WRITE_BYTES, sums->write_bytes);
	if (sums->notifies)
		dmanic_stat_add(node, DMANIC_STATS_A_NOTIFIES_SENT, sums->notifies);
	if (sums->atomics)
		dmanic_stat_add(node, DMANIC_STATS_A_ATOMICS, sums->atomics);
}

u32 dmanic_op_prepare(struct dmanic_op *op, const struct dmanic_sqe *sqe);
int dmanic_quick_one(struct dmanic_queue *queue, const struct dmanic_sqe *sqe, u64 *result);
u32 dmanic_quick(struct dmanic_queue *queue, u32 want, u32 *cq_tail,
		 struct dmanic_sums *sums);

#endif /* DMANIC_OP_H */
