// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop_move.c - what an operation does at the target of a loop link
 *
 * Data are copied once, from the pages of the initiator's segment to those of the
 * target's: by the CPU, or by a DMA engine of the machine where that is faster
 * (dma_copy.c). A chunk at a time: who calls looks around between them. The worker
 * of the initiator's node calls, in process context.
 */
#include <linux/math64.h>

#include "dma.h"
#include "dmanic.h"
#include "loop.h"

/* Copied between two looks around */
#define LOOP_CHUNK	SZ_256K

static_assert(LOOP_CHUNK <= DMANIC_DMA_MAX);

static __always_inline u64 loop_span(const struct dmanic_op *op)
{
	if (likely(op->count == 1))
		return op->block;
	return op->count ? (op->count - 1) * op->remote_stride + op->block : 0;
}

/* The target's export for the whole of @op, for dmanic_target_put() */
static u32 loop_target_get(struct loop_node *ln, const struct dmanic_op *op,
			   struct dmanic_export **export)
{
	u32 right = op->read ? DMANIC_RIGHT_READ : DMANIC_RIGHT_WRITE;
	struct loop_node *peer;
	u32 status;

	rcu_read_lock();
	status = dmanic_loop_peer(ln, &op->target, &peer);
	if (!status)
		status = dmanic_target_get(&peer->node, &op->target, right,
					   op->remote_offset, loop_span(op), export);
	rcu_read_unlock();
	return status;
}

/* Copy with the DMA engine; false: it is not there, or in use */
static bool loop_copy_dma(struct loop_node *ln, struct dmanic_mem *dst, u64 dst_offset,
			  struct dmanic_mem *src, u64 src_offset, u64 bytes)
{
	struct dmanic_dma_copy copy = {
		.dst = dst, .dst_offset = dst_offset,
		.src = src, .src_offset = src_offset, .bytes = bytes,
	};

	if (!dmanic_dma_run(ln->dma, &copy))
		return false;
	dmanic_stat_add(&ln->node, DMANIC_STATS_A_DMA_BYTES, copy.moved);
	dmanic_stat_add(&ln->node, DMANIC_STATS_A_DMA_FALLBACKS, copy.fallbacks);
	loop_slept(ln, copy.slept_ns);
	return true;
}

static __always_inline void
loop_copy_piece(const struct dmanic_op *op, struct dmanic_export *export,
		u64 local, u64 remote, u64 bytes)
{
	struct loop_node *ln = to_loop(op->queue->node);
	struct dmanic_mem *dst = export->mem, *src = op->mem;

	if (op->read) {
		swap(dst, src);
		swap(local, remote);
	}
	if (unlikely(bytes >= dmanic_dma_threshold(ln->dma)) &&
	    loop_copy_dma(ln, dst, remote, src, local, bytes))
		return;
	if (!dmanic_mem_copy_small(dst, remote, src, local, bytes))
		dmanic_mem_copy(dst, remote, src, local, bytes);
}

/* Copy on from op->moved, until at least LOOP_CHUNK bytes more are moved */
static void loop_copy_chunk(struct dmanic_op *op, struct dmanic_export *export)
{
	u64 first, local, remote, piece, since = 0;
	u64 i = div64_u64_rem(op->moved, op->block, &first);

	local = op->local_offset + i * op->local_stride;
	remote = op->remote_offset + i * op->remote_stride;
	for (; i < op->count && since < LOOP_CHUNK; i++) {
		piece = min_t(u64, op->block - first, LOOP_CHUNK);
		loop_copy_piece(op, export, local + first, remote + first, piece);
		op->moved += piece;
		/* Many small blocks take longer than their bytes */
		since += piece + SZ_64;
		/* Or the block goes on, but then the loop is over */
		local += op->local_stride;
		remote += op->remote_stride;
		first = 0;
	}
}

/* The same for a LIST */
static u32 loop_list_chunk(struct dmanic_op *op, struct dmanic_export *export)
{
	struct dmanic_list_block block;
	u64 since = 0;
	u32 status;

	while (!dmanic_list_done(op) && since < LOOP_CHUNK) {
		status = dmanic_list_next(op, export->length, LOOP_CHUNK, &block);
		if (status) {
			/* All of the entries before it */
			op->result = op->moved;
			return status;
		}
		loop_copy_piece(op, export, block.local, block.remote, block.bytes);
		op->moved += block.bytes;
		/* An entry takes time, be it empty */
		since += block.bytes + SZ_128;
	}
	return DMANIC_STATUS_OK;
}

/**
 * dmanic_loop_copy() - do a chunk of an operation
 * @ln: the initiator, whose worker this is
 * @op: neither an atomic nor without data
 *
 * Return: enum dmanic_status. loop_done() tells whether that was all.
 */
u32 dmanic_loop_copy(struct loop_node *ln, struct dmanic_op *op)
{
	struct dmanic_export *export;
	u32 status;

	status = loop_target_get(ln, op, &export);
	if (status)
		return status;
	if (loop_is_list(op))
		status = loop_list_chunk(op, export);
	else if (!loop_done(op))
		loop_copy_chunk(op, export);
	dmanic_target_put(export);
	return status;
}

/**
 * dmanic_loop_atomic() - do an atomic operation
 * @ln: the initiator
 * @op: it; its result is set
 *
 * Return: enum dmanic_status.
 */
u32 dmanic_loop_atomic(struct loop_node *ln, struct dmanic_op *op)
{
	struct loop_node *peer;
	u32 status;

	rcu_read_lock();
	status = dmanic_loop_peer(ln, &op->target, &peer);
	if (!status)
		status = dmanic_target_atomic(&peer->node, &op->target,
					      op->remote_offset, op->opcode, op->payload,
					      op->compare, &op->result);
	rcu_read_unlock();
	op->moved = dmanic_op_bytes(op);
	return status;
}

/**
 * dmanic_loop_notify() - raise the interrupt an operation names
 * @ln: the initiator
 * @op: with a notify
 *
 * Return: enum dmanic_status.
 */
u32 dmanic_loop_notify(struct loop_node *ln, struct dmanic_op *op)
{
	struct loop_node *peer;
	u32 status;

	rcu_read_lock();
	status = dmanic_loop_peer(ln, &op->notify, &peer);
	if (!status)
		status = dmanic_target_notify(&peer->node, &op->notify, op->payload,
					      ln->node.id, NULL);
	rcu_read_unlock();
	return status;
}
