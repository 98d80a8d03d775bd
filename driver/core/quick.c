// SPDX-License-Identifier: GPL-2.0-only
/*
 * quick.c - small operations that the poster does itself
 *
 * Where the link says that a target's memory is this machine's, waking an
 * engine costs more than a few kilobytes of copying. So ENTER does WRITE, READ,
 * NOTIFY and atomics at the head of the ring at once, straight from the entry to
 * the completion: no op, no reference, everything under RCU. The queue remembers
 * what its last entry named, also from one RCU section to the next:
 * dmanic_forget() tells when that is void (barrier I). Of a run of puts that
 * name the same, all but the first are a comparison of two words, two ranges, a
 * copy and a completion (quick_run()).
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
/* Most entries in one RCU section; of those that raise interrupts each has its own */
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

/* An entry that names the same may do the same, as far as memory is contiguous */
static __always_inline void quick_remember(struct dmanic_queue *queue,
					   const struct dmanic_sqe *sqe)
{
	struct dmanic_quick *quick = &queue->quick;
	struct dmanic_mem *local = quick->found.mem;

	quick->move = (struct dmanic_quick_move) {
		.first = dmanic_sqe_word(sqe, DMANIC_SQE_FIRST),
		.remote = dmanic_sqe_word(sqe, DMANIC_SQE_REMOTE),
		.local = dmanic_mem_piece(local, sqe->local_offset, local->length),
		.target = dmanic_mem_piece(quick->export->mem, sqe->remote_offset,
					   min(quick->found.conn->length,
					       quick->export->length)),
		.opcode = sqe->opcode,
		.flags = sqe->flags,
		.valid = true,
	};
}

/*
 * Do one that names the same as the last; false: it does not, or is not plain.
 * @opcode: of the last
 */
static __always_inline bool quick_same(const struct dmanic_quick_move *move,
				       u8 opcode, const struct dmanic_sqe *shared,
				       u64 *moved)
{
	u64 local, remote, bytes;

	if (dmanic_sqe_word(shared, DMANIC_SQE_REMOTE) != move->remote ||
	    dmanic_sqe_word(shared, DMANIC_SQE_FIRST) != move->first ||
	    unlikely(READ_ONCE(shared->compare) | READ_ONCE(shared->payload)))
		return false;
	/* Before the piece it wraps to what is far behind it */
	local = READ_ONCE(shared->local_offset) - move->local.offset;
	remote = READ_ONCE(shared->remote_offset) - move->target.offset;
	bytes = READ_ONCE(shared->length);
	if (unlikely(bytes > QUICK_BYTES ||
		     !dmanic_range_ok(move->local.bytes, local, bytes) ||
		     !dmanic_range_ok(move->target.bytes, remote, bytes)))
		return false;
	if (opcode == DMANIC_OP_READ)
		dmanic_copy_few(move->local.addr + local,
				move->target.addr + remote, bytes);
	else
		dmanic_copy_few(move->target.addr + remote,
				move->local.addr + local, bytes);
	*moved = bytes;
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
	if (!conn || !quick_reach(queue, conn))
		return false;
	/* @reached is for data */
	queue->quick.reached = NULL;
	return !dmanic_target_raise(queue->quick.export, payload, queue->node->id,
				    NULL);
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
	if (sqe->opcode == DMANIC_OP_WRITE || sqe->opcode == DMANIC_OP_READ) {
		if (!quick_data(queue, sqe, sqe->opcode == DMANIC_OP_WRITE ?
				DMANIC_RIGHT_WRITE : DMANIC_RIGHT_READ))
			return false;
		quick_remember(queue, sqe);
		return true;
	}
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
 * @sqe: the entry, a copy
 * @result: out, when it is done: as in its completion
 *
 * Return: it is done, with DMANIC_STATUS_OK: the bytes moved, or 0 for an atomic;
 * -EAGAIN: nothing happened, the general way has to look at it.
 */
int dmanic_quick_one(struct dmanic_queue *queue, const struct dmanic_sqe *sqe, u64 *result)
{
	const struct dmanic_quick_move *move = &queue->quick.move;
	struct dmanic_sums sums = {};
	bool done;

	lockdep_assert_held(&queue->submit_lock);
	/* H: what was in flight is done, and nobody else makes it busy */
	if (smp_load_acquire(&queue->in_flight) || !queue->node->link->reach ||
	    quick_traced())
		return -EAGAIN;
	if (unlikely(sqe->cookie || (sqe->flags & DMANIC_SQE_SILENT)))
		return -EAGAIN;
	rcu_read_lock();
	quick_begin(queue);
	done = (move->valid && quick_same(move, move->opcode, sqe, &queue->quick.result)) ||
	       quick_one(queue, sqe);
	rcu_read_unlock();
	if (!done)
		return -EAGAIN;
	*result = queue->quick.result;
	dmanic_sums_add(&sums, sqe->opcode, sqe->flags, sqe->opcode == DMANIC_OP_READ,
			*result);
	dmanic_stat_add(queue->node, DMANIC_STATS_A_POSTED, 1);
	dmanic_sums_count(queue->node, &sums);
	return sqe->length;
}

/**
 * struct quick_ring - where dmanic_quick() is
 * @queue: whose rings
 * @head: next entry
 * @tail: next completion
 * @left: entries to look at
 * @raised: the last one raised an interrupt
 * @sums: what was done
 */
struct quick_ring {
	struct dmanic_queue *queue;
	u32 head;
	u32 tail;
	u32 left;
	bool raised;
	struct dmanic_sums *sums;
};

/*
 * Entries that name the same as the last one, whose opcode is @opcode. Return:
 * bytes moved.
 */
static __always_inline u64 quick_repeat(struct quick_ring *ring, u8 opcode)
{
	struct dmanic_queue *queue = ring->queue;
	const struct dmanic_quick_move *move = &queue->quick.move;
	const u32 sq_mask = queue->sq_entries - 1, cq_mask = queue->cq_entries - 1;
	const bool silent = move->flags & DMANIC_SQE_SILENT;
	const u32 first = ring->head, end = first + ring->left;
	u32 head = first, tail = ring->tail;
	u64 total = 0, bytes;

	for (; head != end; head++) {
		const struct dmanic_sqe *shared = &queue->sq[head & sq_mask];
		u64 cookie = READ_ONCE(shared->cookie);

		if (!quick_same(move, opcode, shared, &bytes))
			break;
		total += bytes;
		if (!silent)
			dmanic_cqe_fill(&queue->cq[tail++ & cq_mask], cookie,
					DMANIC_STATUS_OK, opcode, 0, bytes);
	}
	ring->head = head;
	ring->left = end - head;
	ring->tail = tail;
	ring->sums->completed += head - first;
	return total;
}

static __always_inline void quick_run(struct quick_ring *ring)
{
	const struct dmanic_quick_move *move = &ring->queue->quick.move;

	/* An entry of zeros is not the same as none */
	if (!move->valid)
		return;
	if (move->opcode == DMANIC_OP_READ)
		ring->sums->read_bytes += quick_repeat(ring, DMANIC_OP_READ);
	else
		ring->sums->write_bytes += quick_repeat(ring, DMANIC_OP_WRITE);
}

/* One entry that names something else, or is no put or get */
static __always_inline bool quick_next(struct quick_ring *ring)
{
	struct dmanic_queue *queue = ring->queue;
	const struct dmanic_sqe sqe =
		dmanic_sqe_read(&queue->sq[ring->head & (queue->sq_entries - 1)]);

	if (!quick_one(queue, &sqe))
		return false;
	ring->head++;
	ring->left--;
	ring->raised = sqe.opcode == DMANIC_OP_NOTIFY || (sqe.flags & DMANIC_SQE_NOTIFY);
	dmanic_sums_add(ring->sums, sqe.opcode, sqe.flags,
			sqe.opcode == DMANIC_OP_READ, queue->quick.result);
	if (!(sqe.flags & DMANIC_SQE_SILENT))
		dmanic_cqe_fill(&queue->cq[ring->tail++ & (queue->cq_entries - 1)],
				sqe.cookie, DMANIC_STATUS_OK, sqe.opcode, sqe.flags,
				queue->quick.result);
	return true;
}

/**
 * dmanic_quick() - do what is quickly done at the head of the ring
 * @queue: its submit_lock is held; sq_head moves on; of a link with reach()
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
	struct quick_ring ring = {
		.queue = queue,
		.head = queue->sq_head,
		.tail = *cq_tail,
		.left = min_t(u32, want, QUICK_ENTRIES),
		.sums = sums,
	};
	u32 done;

	if (quick_traced())
		return 0;
	/* Very many may wait for an interrupt: no two are raised in one RCU section */
	for (;;) {
		ring.raised = false;
		rcu_read_lock();
		quick_begin(queue);
		do
			quick_run(&ring);
		while (ring.left && quick_next(&ring) && !ring.raised);
		rcu_read_unlock();
		/* Who has to leave the CPU publishes what is done first */
		if (!ring.raised || !ring.left || need_resched())
			break;
	}
	done = ring.head - queue->sq_head;
	WRITE_ONCE(queue->sq_head, ring.head);
	*cq_tail = ring.tail;
	return done;
}
