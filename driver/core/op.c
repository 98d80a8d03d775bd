// SPDX-License-Identifier: GPL-2.0-only
/*
 * op.c - from an untrusted submission entry to a validated operation
 *
 * Works on the driver's own copy of the entry. One table says what each opcode
 * uses; whatever it does not use must be zero.
 */
#include <linux/nospec.h>

#include "dmanic.h"
#include "link.h"

#define OP_LOCAL	(1U << 0)	/* local segment */
#define OP_REMOTE	(1U << 1)	/* remote segment */
#define OP_STRIDED	(1U << 2)	/* block, count, strides */
#define OP_NOTIFY	(1U << 3)	/* raises an interrupt */
#define OP_MAY_NOTIFY	(1U << 4)	/* the NOTIFY flag is allowed */
#define OP_LATER	(1U << 5)	/* reserved opcode */

struct op_desc {
	u8 uses;
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
	[DMANIC_OP_FETCH_ADD] = { OP_LATER, 0 },
	[DMANIC_OP_COMPARE_SWAP] = { OP_LATER, 0 },
	[DMANIC_OP_SWAP] = { OP_LATER, 0 },
	[DMANIC_OP_LIST] = { OP_LATER, 0 },
	[DMANIC_OP_BROADCAST] = { OP_LATER, 0 },
};

#define OP_FLAGS	(DMANIC_SQE_FENCE | DMANIC_SQE_NOTIFY | DMANIC_SQE_SILENT)
#define OP_FLAGS_LATER	(DMANIC_SQE_URGENT | DMANIC_SQE_ORDERED)

/* Bytes from the first to the last touched on one side */
static u64 op_span(const struct dmanic_op *op, u64 stride)
{
	return op->count ? (op->count - 1) * stride + op->block : 0;
}

/* Every field is read once: the program may be writing to the entry */
static __always_inline struct dmanic_sqe op_read(const struct dmanic_sqe *shared)
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

static u32 op_shape(struct dmanic_op *op, const struct dmanic_sqe *sqe, u8 uses)
{
	if (!(uses & OP_STRIDED)) {
		if (sqe->compare)
			return DMANIC_STATUS_INVALID;
		op->block = sqe->length;
		op->count = 1;
		return DMANIC_STATUS_OK;
	}
	op->block = sqe->block;
	op->count = sqe->block ? sqe->count : 0;
	op->local_stride = sqe->local_stride;
	op->remote_stride = sqe->remote_stride;
	if (op->count > 1 &&
	    (op->local_stride < op->block || op->remote_stride < op->block))
		return DMANIC_STATUS_INVALID;
	return DMANIC_STATUS_OK;
}

static u32 op_remote(struct dmanic_op *op, const struct dmanic_sqe *sqe, u32 right,
		     struct dmanic_found *found)
{
	if (!found->remote || found->remote != sqe->remote) {
		found->conn = dmanic_remote_lookup(op->queue->ctx, sqe->remote);
		found->remote = sqe->remote;
	}
	if (!found->conn || found->conn->kind != DMANIC_EXPORT_SEGMENT)
		return DMANIC_STATUS_NO_HANDLE;
	if ((found->conn->rights & right) != right)
		return DMANIC_STATUS_ACCESS;
	if (!dmanic_range_ok(found->conn->length, sqe->remote_offset,
			     op_span(op, op->remote_stride)))
		return DMANIC_STATUS_BOUNDS;
	op->conn = found->conn;
	op->target.node = found->conn->target.node;
	op->remote_offset = sqe->remote_offset;
	return DMANIC_STATUS_OK;
}

static u32 op_local(struct dmanic_op *op, const struct dmanic_sqe *sqe,
		    struct dmanic_found *found)
{
	if (!found->local || found->local != sqe->local) {
		found->mem = dmanic_segment_mem(op->queue->ctx, sqe->local);
		found->local = sqe->local;
	}
	if (!found->mem)
		return DMANIC_STATUS_NO_SEGMENT;
	if (!dmanic_range_ok(found->mem->length, sqe->local_offset,
			     op_span(op, op->local_stride)))
		return DMANIC_STATUS_BOUNDS;
	op->mem = found->mem;
	op->local_offset = sqe->local_offset;
	return DMANIC_STATUS_OK;
}

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
static bool op_unused_zero(const struct dmanic_sqe *sqe, u8 uses, bool notify)
{
	if (!(uses & OP_LOCAL) && (sqe->local || sqe->local_offset))
		return false;
	if (!(uses & OP_REMOTE) &&
	    (sqe->remote || sqe->remote_offset || sqe->length || sqe->compare))
		return false;
	return notify || (!sqe->notify && !sqe->payload);
}

/**
 * dmanic_op_prepare() - fill in an operation
 * @op: of a queue, not in use
 * @shared: the entry in the ring
 * @found: what the entry before it in the batch named
 *
 * Called under RCU; op->mem is borrowed. Return: enum dmanic_status.
 */
u32 dmanic_op_prepare(struct dmanic_op *op, const struct dmanic_sqe *shared,
		      struct dmanic_found *found)
{
	const struct dmanic_sqe copy = op_read(shared);
	const struct dmanic_sqe *sqe = &copy;
	u8 opcode = sqe->opcode;
	bool notify;
	u32 status;
	u8 uses;

	op->cookie = sqe->cookie;
	op->opcode = opcode;
	op->flags = sqe->flags;
	op->started = true;
	op->status = DMANIC_STATUS_OK;
	op->count = 0;
	op->block = 0;
	op->mem = NULL;
	op->result = 0;
	op->conn = NULL;
	op->target.node = 0;

	if (opcode >= ARRAY_SIZE(op_descs) || sqe->reserved ||
	    (sqe->flags & ~(OP_FLAGS | OP_FLAGS_LATER)))
		return DMANIC_STATUS_INVALID;
	opcode = array_index_nospec(opcode, ARRAY_SIZE(op_descs));
	uses = op_descs[opcode].uses;
	if ((uses & OP_LATER) || (sqe->flags & OP_FLAGS_LATER))
		return DMANIC_STATUS_UNSUPPORTED;
	notify = (uses & OP_NOTIFY) || (sqe->flags & DMANIC_SQE_NOTIFY);
	if ((sqe->flags & DMANIC_SQE_NOTIFY) && !(uses & OP_MAY_NOTIFY))
		return DMANIC_STATUS_INVALID;
	if (!op_unused_zero(sqe, uses, notify))
		return DMANIC_STATUS_INVALID;

	if (uses & OP_REMOTE) {
		status = op_shape(op, sqe, uses);
		if (!status)
			status = op_remote(op, sqe, op_descs[opcode].right, found);
		if (status)
			return status;
	}
	if (notify) {
		status = op_notify(op, sqe, uses & OP_NOTIFY);
		if (status)
			return status;
	}
	return uses & OP_LOCAL ? op_local(op, sqe, found) : DMANIC_STATUS_OK;
}
