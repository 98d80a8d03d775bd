// SPDX-License-Identifier: GPL-2.0-only
/*
 * quick.c - small operations that the poster does itself
 *
 * Where the link says that a target's memory is this machine's, waking an
 * engine costs more than a few kilobytes of copying. So ENTER does WRITE, READ,
 * NOTIFY and atomics at the head of the ring at once, straight from the entry to the
 * completion: no op, no reference, everything under RCU.
 *
 * Only while nothing of the queue is in flight: then order is kept, and nobody
 * else writes completions. Whatever is not plain (a FENCE, strides, a list, a
 * mistake, a dead peer) is left in the ring for the general way, which also finds the
 * right status for it. With tracing on, everything goes the general way.
 */
#include "dmanic.h"
#include "link.h"
#include "op.h"
#include "queue.h"
#include "trace.h"

/* Most bytes the poster copies: about as long as waking the engine takes */
#define QUICK_BYTES	SZ_8K
/* Most entries in one RCU section */
#define QUICK_ENTRIES	64

/**
 * struct quick - state of a batch
 * @queue: whose
 * @free: the link charges nothing for an operation that goes nowhere
 * @found: what the last entry named here
 * @reached: the connection @export belongs to
 * @export: what it leads to
 * @result: of the last entry done
 */
struct quick {
	struct dmanic_queue *queue;
	bool free;
	struct dmanic_found found;
	const struct dmanic_remote *reached;
	struct dmanic_export *export;
	u64 result;
};

/* Where a connection leads, when the link can tell and the key fits */
static bool quick_reach(struct quick *quick, const struct dmanic_remote *conn)
{
	struct dmanic_node *node = quick->queue->node, *peer;

	quick->reached = NULL;
	peer = node->link->reach(node, &conn->target);
	if (!peer || dmanic_target_find(peer, &conn->target, conn->kind,
					&quick->export))
		return false;
	quick->reached = conn;
	return true;
}

static __always_inline void quick_copy(struct dmanic_mem *dst, u64 dst_offset,
				       struct dmanic_mem *src, u64 src_offset,
				       u64 bytes)
{
	if (!dmanic_mem_copy_small(dst, dst_offset, src, src_offset, bytes))
		dmanic_mem_copy(dst, dst_offset, src, src_offset, bytes);
}

static __always_inline bool quick_data(struct quick *quick,
				       const struct dmanic_sqe *sqe, u32 right)
{
	struct dmanic_ctx *ctx = quick->queue->ctx;
	struct dmanic_found *found = &quick->found;
	u64 bytes = sqe->length;
	struct dmanic_mem *mem;

	if (unlikely(bytes > QUICK_BYTES || sqe->compare))
		return false;
	if (unlikely(dmanic_found_remote(found, ctx, sqe->remote, right,
					 sqe->remote_offset, bytes)) ||
	    unlikely(dmanic_found_local(found, ctx, sqe->local, sqe->local_offset,
					bytes)))
		return false;
	if (unlikely(quick->reached != found->conn) &&
	    !quick_reach(quick, found->conn))
		return false;
	if (unlikely(dmanic_target_allow(quick->export, right, sqe->remote_offset,
					 bytes)))
		return false;

	mem = quick->export->mem;
	if (right == DMANIC_RIGHT_READ)
		quick_copy(found->mem, sqe->local_offset, mem, sqe->remote_offset,
			   bytes);
	else
		quick_copy(mem, sqe->remote_offset, found->mem, sqe->local_offset,
			   bytes);
	quick->result = bytes;
	return true;
}

/* Done once or not at all: nothing that could fail comes after it */
static bool quick_atomic(struct quick *quick, const struct dmanic_sqe *sqe)
{
	struct dmanic_found *found = &quick->found;

	if (sqe->local | sqe->local_offset | sqe->length | sqe->notify)
		return false;
	if (sqe->compare && sqe->opcode != DMANIC_OP_COMPARE_SWAP)
		return false;
	if (!IS_ALIGNED(sqe->remote_offset, sizeof(u64)) ||
	    dmanic_found_remote(found, quick->queue->ctx, sqe->remote,
				DMANIC_RIGHT_ATOMIC, sqe->remote_offset, sizeof(u64)))
		return false;
	if (quick->reached != found->conn && !quick_reach(quick, found->conn))
		return false;
	return !dmanic_export_atomic(quick->export, sqe->remote_offset, sqe->opcode,
				     sqe->payload, sqe->compare, &quick->result);
}

/* A connected interrupt, or NULL */
static const struct dmanic_remote *quick_irq(struct quick *quick, u32 handle)
{
	const struct dmanic_remote *conn;

	conn = dmanic_remote_lookup(quick->queue->ctx, handle);
	return conn && conn->kind == DMANIC_EXPORT_IRQ ? conn : NULL;
}

static bool quick_notify(struct quick *quick, const struct dmanic_remote *conn,
			 u64 payload)
{
	struct dmanic_queue *queue = quick->queue;

	if (!conn || !quick_reach(quick, conn))
		return false;
	quick->reached = NULL;
	if (dmanic_irq_raise(quick->export->irq, payload, queue->node->id))
		return false;
	dmanic_stat_add(quick->export->node, DMANIC_STATS_A_NOTIFIES_RAISED, 1);
	return true;
}

/* Are the data and the interrupt of one node? To be known before copying. */
static bool quick_write_notify(struct quick *quick, u32 remote,
			       const struct dmanic_remote *irq)
{
	const struct dmanic_remote *conn;

	conn = dmanic_remote_lookup(quick->queue->ctx, remote);
	return conn && irq && conn->target.node == irq->target.node;
}

/*
 * Do one entry; false: leave it to the general way. Data may be in place then
 * (the notify after them failed); they are placed once more, before anybody is
 * told that they are there.
 */
static __always_inline bool quick_one(struct quick *quick,
				      const struct dmanic_sqe *sqe)
{
	const u8 flags = sqe->flags & ~DMANIC_SQE_SILENT;

	if (unlikely(sqe->reserved))
		return false;
	if (sqe->opcode == DMANIC_OP_WRITE && flags == DMANIC_SQE_NOTIFY)
		return quick_write_notify(quick, sqe->remote,
					  quick_irq(quick, sqe->notify)) &&
		       quick_data(quick, sqe, DMANIC_RIGHT_WRITE) &&
		       quick_notify(quick, quick_irq(quick, sqe->notify),
				    sqe->payload);
	if (unlikely(flags))
		return false;
	quick->result = 0;
	if (dmanic_opcode_atomic(sqe->opcode))
		return quick_atomic(quick, sqe);
	if (sqe->opcode == DMANIC_OP_NOTIFY)
		return !(sqe->local | sqe->local_offset | sqe->remote |
			 sqe->remote_offset | sqe->length | sqe->compare) &&
		       quick_notify(quick, quick_irq(quick, sqe->notify),
				    sqe->payload);
	if (unlikely(sqe->notify | sqe->payload))
		return false;
	if (sqe->opcode == DMANIC_OP_WRITE)
		return quick_data(quick, sqe, DMANIC_RIGHT_WRITE);
	if (sqe->opcode == DMANIC_OP_READ)
		return quick_data(quick, sqe, DMANIC_RIGHT_READ);
	return sqe->opcode == DMANIC_OP_NOP && quick->free &&
	       !(sqe->local | sqe->local_offset | sqe->remote |
		 sqe->remote_offset | sqe->length | sqe->compare);
}

static bool quick_traced(void)
{
	return trace_dmanic_post_enabled() || trace_dmanic_start_enabled() ||
	       trace_dmanic_done_enabled() || trace_dmanic_notify_enabled();
}

/**
 * dmanic_quick_one() - do one entry at once, if it is quickly done
 * @queue: its submit_lock is held
 * @sqe: private to the driver
 * @result: out, when it is done: as in its completion
 *
 * Return: it is done, with DMANIC_STATUS_OK; false: nothing happened.
 */
bool dmanic_quick_one(struct dmanic_queue *queue, const struct dmanic_sqe *sqe,
		      u64 *result)
{
	const struct dmanic_link_ops *link = queue->node->link;
	struct quick quick = { .queue = queue };
	struct dmanic_sums sums = {};
	bool done;

	lockdep_assert_held(&queue->submit_lock);
	/* H: what was in flight is done, and nobody else makes it busy */
	if (smp_load_acquire(&queue->in_flight) || !link->reach || quick_traced())
		return false;
	rcu_read_lock();
	quick.free = link->reach(queue->node, NULL);
	done = quick_one(&quick, sqe);
	rcu_read_unlock();
	if (!done)
		return false;
	*result = quick.result;
	dmanic_sums_add(&sums, sqe->opcode, sqe->flags,
			sqe->opcode == DMANIC_OP_READ, quick.result);
	dmanic_stat_add(queue->node, DMANIC_STATS_A_POSTED, 1);
	dmanic_cq_count(queue->node, &sums);
	return true;
}

/**
 * dmanic_quick() - do what is quickly done at the head of the ring
 * @queue: its submit_lock is held; sq_head moves on
 * @want: at most so many entries; there are as many, nothing is in flight and
 *	there is room for as many completions
 * @cq_tail: where completions go; moves on, to be published by the caller
 * @sums: added to
 *
 * Return: how many entries were done.
 */
u32 dmanic_quick(struct dmanic_queue *queue, u32 want, u32 *cq_tail,
		 struct dmanic_sums *sums)
{
	u32 head = queue->sq_head, tail = *cq_tail, done;
	const struct dmanic_link_ops *link = queue->node->link;
	struct quick quick = { .queue = queue };

	if (!link->reach || quick_traced())
		return 0;
	want = min_t(u32, want, QUICK_ENTRIES);
	rcu_read_lock();
	quick.free = link->reach(queue->node, NULL);
	for (done = 0; done < want; done++) {
		const struct dmanic_sqe sqe =
			dmanic_sqe_read(&queue->sq[head & (queue->sq_entries - 1)]);

		if (!quick_one(&quick, &sqe))
			break;
		head++;
		dmanic_sums_add(sums, sqe.opcode, sqe.flags,
				sqe.opcode == DMANIC_OP_READ, quick.result);
		if (sqe.flags & DMANIC_SQE_SILENT)
			continue;
		dmanic_cqe_fill(&queue->cq[tail++ & (queue->cq_entries - 1)],
				sqe.cookie, DMANIC_STATUS_OK, sqe.opcode, sqe.flags,
				quick.result);
	}
	rcu_read_unlock();
	queue->sq_head = head;
	*cq_tail = tail;
	return done;
}
