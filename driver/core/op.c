// SPDX-License-Identifier: GPL-2.0-only
/*
 * op.c - from an untrusted submission entry to a validated operation
 *
 * Works on the driver's own copy of the entry. One table says what each opcode
 * uses; whatever it does not use must be zero.
 */
#include <linux/nospec.h>

#include "dmanic.h"
#include "op.h"
#include "trace.h"

#define OP_LOCAL	BIT(0)	/* local segment */
#define OP_REMOTE	BIT(1)	/* remote segment */
#define OP_STRIDED	BIT(2)	/* block, count, strides */
#define OP_NOTIFY	BIT(3)	/* raises an interrupt */
#define OP_MAY_NOTIFY	BIT(4)	/* the NOTIFY flag is allowed */
#define OP_LATER	BIT(5)	/* reserved opcode */
#define OP_ATOMIC	BIT(6)	/* payload is an operand */
#define OP_COMPARE	BIT(7)	/* and compare the value expected */
#define OP_LIST		BIT(8)	/* block, count, list, list_offset */

struct op_desc {
	u16 uses;
	u8 right;
};

static const struct op_desc op_descs[] = {
	[DMANIC_OP_NOP] = { 0, 0 },
	[DMANIC_OP_WRITE] = { OP_LOCAL | OP_REMOTE | OP_MAY_NOTIFY,
			      DMANIC_RIGHT_WRITE },
	[DMANIC_OP_READ] = { OP_LOCAL | OP_REMOTE, DMANIC_RIGHT_READ },
	[DMANIC_OP_WRITE_STRIDED] = { OP_LOCAL | OP_REMOTE | OP_STRIDED |
				      OP_MAY_NOTIFY, DMANIC_RIGHT_WRITE },
	[DMANIC_OP_READ_STRIDED] = { OP_LOCAL | OP_REMOTE | OP_STRIDED,
				     DMANIC_RIGHT_READ },
	[DMANIC_OP_NOTIFY] = { OP_NOTIFY, 0 },
	[DMANIC_OP_FETCH_ADD] = { OP_REMOTE | OP_ATOMIC, DMANIC_RIGHT_ATOMIC },
	[DMANIC_OP_COMPARE_SWAP] = { OP_REMOTE | OP_ATOMIC | OP_COMPARE,
				     DMANIC_RIGHT_ATOMIC },
	[DMANIC_OP_SWAP] = { OP_REMOTE | OP_ATOMIC, DMANIC_RIGHT_ATOMIC },
	/* Which right is said by the entry */
	[DMANIC_OP_LIST] = { OP_LOCAL | OP_REMOTE | OP_LIST | OP_MAY_NOTIFY, 0 },
	[DMANIC_OP_BROADCAST] = { OP_LATER, 0 },
};

#define OP_FLAGS	(DMANIC_SQE_FENCE | DMANIC_SQE_NOTIFY | DMANIC_SQE_SILENT)
#define OP_FLAGS_LATER	(DMANIC_SQE_URGENT | DMANIC_SQE_ORDERED)

/* Bytes from the first to the last touched on one side */
static __always_inline u64 op_span(const struct dmanic_op *op, u64 stride)
{
	if (likely(op->count == 1))
		return op->block;
	return op->count ? (op->count - 1) * stride + op->block : 0;
}

static u32 op_shape_strided(struct dmanic_op *op, const struct dmanic_sqe *sqe)
{
	op->block = sqe->block;
	op->count = sqe->block ? sqe->count : 0;
	op->local_stride = sqe->local_stride;
	op->remote_stride = sqe->remote_stride;
	if (op->count > 1 &&
	    (op->local_stride < op->block || op->remote_stride < op->block))
		return DMANIC_STATUS_INVALID;
	return DMANIC_STATUS_OK;
}

static u32 op_shape_atomic(struct dmanic_op *op, const struct dmanic_sqe *sqe)
{
	op->block = sizeof(u64);
	op->payload = sqe->payload;
	op->compare = sqe->compare;
	if (sqe->length || !IS_ALIGNED(sqe->remote_offset, sizeof(u64)))
		return DMANIC_STATUS_INVALID;
	return DMANIC_STATUS_OK;
}

/* What it moves is known only when its list is read: here it is nothing */
static u32 op_shape_list(struct dmanic_op *op, const struct dmanic_sqe *sqe)
{
	op->read = sqe->block == DMANIC_LIST_READ;
	if (sqe->block > DMANIC_LIST_READ ||
	    (op->read && (sqe->flags & DMANIC_SQE_NOTIFY)))
		return DMANIC_STATUS_INVALID;
	return DMANIC_STATUS_OK;
}

static u32 op_shape(struct dmanic_op *op, const struct dmanic_sqe *sqe, u16 uses)
{
	if (uses & OP_ATOMIC)
		return op_shape_atomic(op, sqe);
	if (uses & OP_LIST)
		return op_shape_list(op, sqe);
	return op_shape_strided(op, sqe);
}

static __always_inline u32 op_remote(struct dmanic_op *op,
				     const struct dmanic_sqe *sqe, u32 right,
				     struct dmanic_found *found)
{
	u32 status;

	status = dmanic_found_remote(found, op->queue->ctx, sqe->remote, right,
				     sqe->remote_offset,
				     op_span(op, op->remote_stride));
	if (unlikely(status))
		return status;
	op->conn = found->conn;
	op->target.node = found->conn->target.node;
	op->remote_offset = sqe->remote_offset;
	return DMANIC_STATUS_OK;
}

static __always_inline u32 op_local(struct dmanic_op *op,
				    const struct dmanic_sqe *sqe,
				    struct dmanic_found *found)
{
	u32 status;

	status = dmanic_found_local(found, op->queue->ctx, sqe->local,
				    sqe->local_offset, op_span(op, op->local_stride));
	if (unlikely(status))
		return status;
	op->mem = found->mem;
	op->local_offset = sqe->local_offset;
	return DMANIC_STATUS_OK;
}

/* Where the list is; @found is of the local side */
static u32 op_list(struct dmanic_op *op, const struct dmanic_sqe *sqe,
		   struct dmanic_found *found)
{
	const u64 bytes = (u64)sqe->count * sizeof(struct dmanic_list_entry);
	u64 offset = (u64)sqe->list_offset * sizeof(u64);
	u32 status;

	status = dmanic_found_local(found, op->queue->ctx,
				    sqe->list ? sqe->list : sqe->local, offset, bytes);
	if (status)
		return status;
	op->list.mem = found->mem;
	op->list.offset = offset;
	op->list.count = sqe->count;
	op->list.next = 0;
	op->list.rest.bytes = 0;
	/* What has a list has a remote side: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	op->list.reach = op->conn->length;
	op->list.placed = 0;
	return DMANIC_STATUS_OK;
}

/* @alone: a NOTIFY; otherwise it goes with data and to the same node */
static u32 op_notify(struct dmanic_op *op, const struct dmanic_sqe *sqe, bool alone)
{
	const struct dmanic_remote *remote;

	remote = dmanic_remote_lookup(op->queue->ctx, sqe->notify);
	if (!remote || remote->kind != DMANIC_EXPORT_IRQ)
		return DMANIC_STATUS_NO_HANDLE;
	if (alone)
		op->target.node = remote->target.node;
	else if (remote->target.node != op->target.node)
		return DMANIC_STATUS_INVALID;
	op->notify = remote->target;
	op->payload = sqe->payload;
	return DMANIC_STATUS_OK;
}

/* What the opcode does not use must be zero */
static __always_inline bool op_unused_zero(const struct dmanic_sqe *sqe, u16 uses,
					   bool notify)
{
	u64 unused = sqe->reserved;

	if (!(uses & OP_LOCAL))
		unused |= sqe->local | sqe->local_offset;
	if (!(uses & OP_REMOTE))
		unused |= sqe->remote | sqe->remote_offset | sqe->length;
	if (!(uses & (OP_STRIDED | OP_COMPARE | OP_LIST)))
		unused |= sqe->compare;
	if (!notify)
		unused |= sqe->notify | (uses & OP_ATOMIC ? 0 : sqe->payload);
	return !unused;
}

/* Fill in @op from an entry; enum dmanic_status */
static __always_inline u32 op_prepare(struct dmanic_op *op,
				      const struct dmanic_sqe *shared,
				      struct dmanic_found *found)
{
	const struct dmanic_sqe sqe = dmanic_sqe_read(shared);
	u8 opcode = sqe.opcode;
	u32 status = DMANIC_STATUS_OK;
	u32 right;
	bool notify;
	u16 uses;

	op->cookie = sqe.cookie;
	op->opcode = opcode;
	op->flags = sqe.flags;
	op->started = true;
	op->read = opcode == DMANIC_OP_READ || opcode == DMANIC_OP_READ_STRIDED;
	op->result = 0;
	op->mem = NULL;
	op->list.mem = NULL;
	op->conn = NULL;
	op->target.node = DMANIC_NO_NODE;
	op->block = 0;
	op->count = 1;

	if (unlikely(opcode >= ARRAY_SIZE(op_descs) ||
		     (sqe.flags & ~(OP_FLAGS | OP_FLAGS_LATER))))
		return DMANIC_STATUS_INVALID;
	opcode = array_index_nospec(opcode, ARRAY_SIZE(op_descs));
	uses = op_descs[opcode].uses;
	if (unlikely((uses & OP_LATER) || (sqe.flags & OP_FLAGS_LATER)))
		return DMANIC_STATUS_UNSUPPORTED;
	notify = sqe.flags & DMANIC_SQE_NOTIFY;
	if (unlikely(notify && !(uses & OP_MAY_NOTIFY)))
		return DMANIC_STATUS_INVALID;
	notify |= !!(uses & OP_NOTIFY);
	if (unlikely(!op_unused_zero(&sqe, uses, notify)))
		return DMANIC_STATUS_INVALID;

	if (uses & OP_REMOTE) {
		right = op_descs[opcode].right;
		if (uses & (OP_STRIDED | OP_ATOMIC | OP_LIST))
			status = op_shape(op, &sqe, uses);
		else
			op->block = sqe.length;
		if (uses & OP_LIST)
			right = op->read ? DMANIC_RIGHT_READ : DMANIC_RIGHT_WRITE;
		if (!status)
			status = op_remote(op, &sqe, right, found);
	}
	if (!status && notify)
		status = op_notify(op, &sqe, uses & OP_NOTIFY);
	if (!status && (uses & OP_LOCAL))
		status = op_local(op, &sqe, found);
	if (!status && (uses & OP_LIST))
		status = op_list(op, &sqe, found);
	return status;
}

/* Nothing was borrowed */
static void op_refused(struct dmanic_op *op)
{
	op->mem = NULL;
	op->list.mem = NULL;
}

/**
 * dmanic_op_prepare() - fill in an op from an entry
 * @op: of the queue
 * @sqe: the entry
 *
 * Called under RCU: op->mem and op->conn are borrowed. Return: enum
 * dmanic_status; op->mem is NULL unless it is OK.
 */
u32 dmanic_op_prepare(struct dmanic_op *op, const struct dmanic_sqe *sqe)
{
	struct dmanic_found found = {};
	u32 status;

	status = op_prepare(op, sqe, &found);
	trace_dmanic_post(op);
	if (status)
		op_refused(op);
	return status;
}

/**
 * dmanic_ops_prepare() - take the next entries of a queue, one for each op
 * @queue: its submit_lock is held; sq_head moves on
 * @ops: not in use; refused ones are moved away
 * @failed: to here, with op->status set
 *
 * Called under RCU: op->mem and op->conn are borrowed. Return: one of them has
 * a FENCE.
 */
bool dmanic_ops_prepare(struct dmanic_queue *queue, struct list_head *ops,
			struct list_head *failed)
{
	u32 head = queue->sq_head, mask = queue->sq_entries - 1;
	struct dmanic_found found = {};
	struct dmanic_op *op, *next;
	u8 flags = 0;

	list_for_each_entry_safe(op, next, ops, entry) {
		op->status = op_prepare(op, &queue->sq[head++ & mask], &found);
		trace_dmanic_post(op);
		flags |= op->flags;
		if (unlikely(op->status)) {
			op_refused(op);
			list_move_tail(&op->entry, failed);
		}
	}
	WRITE_ONCE(queue->sq_head, head);
	return flags & DMANIC_SQE_FENCE;
}
