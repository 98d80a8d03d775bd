// SPDX-License-Identifier: GPL-2.0-only
/*
 * quick.c - small operations that the poster does itself
 *
 * Where the link says that a target's memory is this machine's, waking an
 * engine costs more than a few kilobytes of copying. So ENTER does WRITE, READ,
 * NOTIFY and atomics at the head of the ring at once, straight from the entry to
 * the completion: no op, no reference, everything under RCU. The queue remembers
 * what its last entry named, also from one RCU section to the next:
 * dmanic_forget() tells when that is void (barrier I).
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

/* Bumped by dmanic_forget(); no queue begins with it */
atomic64_t dmanic_epoch = ATOMIC64_INIT(1);

/* What was found for earlier entries, as far as it still holds; under RCU */
static __always_inline void quick_begin(struct dmanic_queue *queue)
{
	struct dmanic_quick *quick = &queue->quick;
	/* I: the number before what is looked up */
	s64 epoch = atomic64_read_acquire(&dmanic_epoch);

	lockdep_assert_held(&queue->submit_lock);
	if (unlikely(quick->epoch != epoch))
		*quick = (struct dmanic_quick) {
			.epoch = epoch,
			.free = queue->node->link->reach(queue->node, NULL),
		};
}

/* Where a connection leads, when the link can tell and the key fits */
static bool quick_reach(struct dmanic_queue *queue, const struct dmanic_remote *conn)
{
	struct dmanic_quick *quick = &queue->quick;
	struct dmanic_node *node = queue->node, *peer;

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

static __always_inline bool quick_data(struct dmanic_queue *queue,
				       const struct dmanic_sqe *sqe, u32 right)
{
	struct dmanic_quick *quick = &queue->quick;
	struct dmanic_found *found = &quick->found;
	struct dmanic_ctx *ctx = queue->ctx;
	u64 bytes = sqe->length;
	struct dmanic_mem *mem;

	if (unlikely(bytes > QUICK_BYTES || sqe->compare))
		return false;
	if (unlikely(dmanic_found_remote(found, ctx, sqe->remote, right,
					 sqe->remote_offset, bytes)) ||
	    unlikely(dmanic_found_local(found, ctx, sqe->local, sqe->local_offset,
					bytes)))
		return false;
	if (unlikely(quick->reached != found->conn) && !quick_reach(queue, found->conn))
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
static bool quick_atomic(struct dmanic_queue *queue, const struct dmanic_sqe *sqe)
{
	struct dmanic_quick *quick = &queue->quick;
	struct dmanic_found *found = &quick->found;

	if (sqe->local | sqe->local_offset | sqe->length | sqe->notify)
		return false;
	if (sqe->compare && sqe->opcode != DMANIC_OP_COMPARE_SWAP)
		return false;
	if (!IS_ALIGNED(sqe->remote_offset, sizeof(u64)) ||
	    dmanic_found_remote(found, queue->ctx, sqe->remote,
				DMANIC_RIGHT_ATOMIC, sqe->remote_offset, sizeof(u64)))
		return false;
	if (quick->reached != found->conn && !quick_reach(queue, found->conn))
		return false;
	return !dmanic_export_atomic(quick->export, sqe->remote_offset, sqe->opcode,
				     sqe->payload, sqe->compare, &quick->result);
}

/* A connected interrupt, or NULL */
static const struct dmanic_remote *quick_irq(struct dmanic_queue *queue, u32 handle)
{
	const struct dmanic_remote *conn;

	conn = dmanic_remote_lookup(queue->ctx, handle);
	return conn && conn->kind == DMANIC_EXPORT_IRQ ? conn : NULL;
}

static bool quick_notify(struct dmanic_queue *queue, const struct dmanic_remote *conn,
			 u64 payload)
{
	struct dmanic_export *export;

	if (!conn || !quick_reach(queue, conn))
		return false;
	/* @reached is for data */
	queue->quick.reached = NULL;
	export = queue->quick.export;
	if (dmanic_irq_raise(export->irq, payload, queue->node->id))
		return false;
	dmanic_stat_add(export->node, DMANIC_STATS_A_NOTIFIES_RAISED, 1);
	return true;
}

/* Are the data and the interrupt of one node? To be known before copying. */
static bool quick_write_notify(struct dmanic_queue *queue, u32 remote,
			       const struct dmanic_remote *irq)
{
	const struct dmanic_remote *conn;

	conn = dmanic_remote_lookup(queue->ctx, remote);
	return conn && irq && conn->target.node == irq->target.node;
}

/*
 * Do one entry; false: leave it to the general way. Data may be in place then
 * (the notify after them failed); they are placed once more, before anybody is
 * told that they are there.
 */
static __always_inline bool quick_one(struct dmanic_queue *queue,
				      const struct dmanic_sqe *sqe)
{
	const u8 flags = sqe->flags & ~DMANIC_SQE_SILENT;

	if (unlikely(sqe->reserved))
		return false;
	if (sqe->opcode == DMANIC_OP_WRITE && flags == DMANIC_SQE_NOTIFY)
		return quick_write_notify(queue, sqe->remote,
					  quick_irq(queue, sqe->notify)) &&
		       quick_data(queue, sqe, DMANIC_RIGHT_WRITE) &&
		       quick_notify(queue, quick_irq(queue, sqe->notify),
				    sqe->payload);
	if (unlikely(flags))
		return false;
	queue->quick.result = 0;
	if (dmanic_opcode_atomic(sqe->opcode))
		return quick_atomic(queue, sqe);
	if (sqe->opcode == DMANIC_OP_NOTIFY)
		return !(sqe->local | sqe->local_offset | sqe->remote |
			 sqe->remote_offset | sqe->length | sqe->compare) &&
		       quick_notify(queue, quick_irq(queue, sqe->notify),
				    sqe->payload);
	if (unlikely(sqe->notify | sqe->payload))
		return false;
	if (sqe->opcode == DMANIC_OP_WRITE)
		return quick_data(queue, sqe, DMANIC_RIGHT_WRITE);
	if (sqe->opcode == DMANIC_OP_READ)
		return quick_data(queue, sqe, DMANIC_RIGHT_READ);
	return sqe->opcode == DMANIC_OP_NOP && queue->quick.free &&
	       !(sqe->local | sqe->local_offset | sqe->remote |
		 sqe->remote_offset | sqe->length | sqe->compare);
}

static __always_inline bool quick_traced(void)
{
	return trace_dmanic_post_enabled() || trace_dmanic_start_enabled() ||
	       trace_dmanic_done_enabled() || trace_dmanic_notify_enabled();
}

/**
 * dmanic_quick_one() - do one entry of an io_uring command, if it is quickly done
 * @queue: its submit_lock is held
 * @shared: the entry; the program may be writing to it
 * @result: out, when it is done: as in its completion
 *
 * Return: it is done, with DMANIC_STATUS_OK: the bytes moved, or 0 for an atomic;
 * -EAGAIN: nothing happened, the general way has to look at it.
 */
int dmanic_quick_one(struct dmanic_queue *queue, const struct dmanic_sqe *shared,
		     u64 *result)
{
	const struct dmanic_sqe sqe = dmanic_sqe_read(shared);
	struct dmanic_sums sums = {};
	bool done;

	lockdep_assert_held(&queue->submit_lock);
	/* H: what was in flight is done, and nobody else makes it busy */
	if (smp_load_acquire(&queue->in_flight) || !queue->node->link->reach ||
	    quick_traced())
		return -EAGAIN;
	if (unlikely(sqe.cookie || (sqe.flags & DMANIC_SQE_SILENT)))
		return -EAGAIN;
	rcu_read_lock();
	quick_begin(queue);
	done = quick_one(queue, &sqe);
	rcu_read_unlock();
	if (!done)
		return -EAGAIN;
	*result = queue->quick.result;
	dmanic_sums_add(&sums, sqe.opcode, sqe.flags, sqe.opcode == DMANIC_OP_READ,
			*result);
	dmanic_stat_add(queue->node, DMANIC_STATS_A_POSTED, 1);
	dmanic_sums_count(queue->node, &sums);
	return sqe.length;
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

	if (!queue->node->link->reach || quick_traced())
		return 0;
	want = min_t(u32, want, QUICK_ENTRIES);
	rcu_read_lock();
	quick_begin(queue);
	for (done = 0; done < want; done++) {
		const struct dmanic_sqe sqe =
			dmanic_sqe_read(&queue->sq[head & (queue->sq_entries - 1)]);

		if (!quick_one(queue, &sqe))
			break;
		head++;
		dmanic_sums_add(sums, sqe.opcode, sqe.flags,
				sqe.opcode == DMANIC_OP_READ, queue->quick.result);
		if (sqe.flags & DMANIC_SQE_SILENT)
			continue;
		dmanic_cqe_fill(&queue->cq[tail++ & (queue->cq_entries - 1)],
				sqe.cookie, DMANIC_STATUS_OK, sqe.opcode, sqe.flags,
				queue->quick.result);
	}
	rcu_read_unlock();
	queue->sq_head = head;
	*cq_tail = tail;
	return done;
}
