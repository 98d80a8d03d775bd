// SPDX-License-Identifier: GPL-2.0-only
/*
 * cq.c - completions: dmanic_queue_complete(), the one way out
 *
 * Writes completions, frees ops, starts the ops behind a FENCE whose turn it
 * is, wakes waiters: once a batch. From any context, with irqs off under
 * queue->lock. After the lock is dropped only RCU keeps the queue: the last op
 * may be done, and release() waits for nothing else.
 */
#include <linux/eventfd.h>
#include <linux/poll.h>

#include "compat.h"
#include "dmanic.h"
#include "link.h"
#include "op.h"
#include "queue.h"
#include "trace.h"

void dmanic_cq_set_flags(struct dmanic_queue *queue, u32 set, u32 clear)
{
	u32 flags = (queue->flags & ~clear) | set;

	lockdep_assert_held(&queue->lock);
	if (flags != queue->flags) {
		queue->flags = flags;
		WRITE_ONCE(queue->ring->flags, flags);
		if (clear & DMANIC_RING_CQ_FULL)
			WRITE_ONCE(queue->roomy, false);
	}
}

/* Most ops handled with irqs off at a stretch */
#define CQ_CHUNK	256
/* Such stretches until who waits for one of them is woken, and a grace period may end */
#define CQ_RUNS		256

/* Completions not consumed; more than cq_entries when cq_head is impossible */
u32 dmanic_cq_unconsumed(const struct dmanic_queue *queue)
{
	/*
	 * D: completions up to cq_head are read before their places are reused.
	 * Read first: without the lock, cq_shown may only move on after it.
	 */
	u32 head = smp_load_acquire(&queue->ring->cq_head);

	/* F: what is counted here is in the ring */
	return smp_load_acquire(&queue->cq_shown) - head;
}

/* ---- completion ---- */

/* It is not deferred any more, be it to end at once: who gives it up does not take it again */
static void queue_undefer(struct dmanic_queue *queue, struct dmanic_op *op)
{
	queue->nr_deferred--;
	queue->started++;
	op->started = true;
}

/*
 * Deferred ops whose turn it is go to @ready, those that never get one to @ops.
 * At most CQ_CHUNK: whoever handles them comes back here for the rest.
 */
void dmanic_queue_promote(struct dmanic_queue *queue, struct list_head *ready,
			  struct list_head *ops)
{
	u32 gone = DMANIC_STATUS_OK, before = queue->started, nr = 0;
	struct dmanic_op *op, *next;

	lockdep_assert_held(&queue->lock);
	/* What was promoted before has to be with the link first */
	if (queue->promoting)
		return;
	if (dmanic_node_dead(queue->node))
		gone = DMANIC_STATUS_LINK_DOWN;
	else if (queue->dying)
		gone = DMANIC_STATUS_CANCELLED;

	list_for_each_entry_safe(op, next, &queue->deferred, entry) {
		/* Those that never get a turn end in order, behind what had one */
		if ((op->flags & DMANIC_SQE_FENCE) && (gone ? before : queue->started))
			break;
		if (++nr > CQ_CHUNK)
			break;
		queue_undefer(queue, op);
		if (gone) {
			op->status = gone;
			list_move_tail(&op->entry, ops);
			continue;
		}
		queue->promoting = true;
		list_move_tail(&op->entry, ready);
	}
}

/* @op is given up: if it was not promoted yet, it goes to @ops */
void dmanic_queue_drop(struct dmanic_queue *queue, struct dmanic_op *op,
		       struct list_head *ops)
{
	lockdep_assert_held(&queue->lock);
	if (op->started)
		return;
	queue_undefer(queue, op);
	op->status = DMANIC_STATUS_CANCELLED;
	list_move_tail(&op->entry, ops);
}

/* The promoted ones are with the link: go on */
static void queue_promoted(struct dmanic_queue *queue, struct list_head *ready,
			   struct list_head *ops)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	queue->promoting = false;
	dmanic_queue_promote(queue, ready, ops);
	spin_unlock_irqrestore(&queue->lock, flags);
}

void dmanic_cq_wake(struct dmanic_queue *queue, bool signal)
{
	/* E: dmanic_cq_publish()'s barrier is between the tail and this look */
	if (waitqueue_active(&queue->wait))
		wake_up_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
	dmanic_uring_wake(&queue->uring_waits);
	if (signal)
		dmanic_eventfd_signal(queue->eventfd);
}

/*
 * Complete the ops of @queue at the front of @ops, at most CQ_CHUNK: post, count,
 * let go of their memory (a run of the same one at once), free.
 */
static void queue_finish(struct dmanic_queue *queue, struct list_head *ops,
			 struct dmanic_sums *sums, struct io_uring_cmd **uring)
{
	u32 tail = queue->cq_tail, mask = queue->cq_entries - 1;
	u32 held = 0, started = 0, nr = 0;
	struct dmanic_mem *mem = NULL;
	struct dmanic_op *op;
	u64 taken = 0;
	LIST_HEAD(cut);

	lockdep_assert_held(&queue->lock);
	list_for_each_entry(op, ops, entry) {
		if (unlikely(op->queue != queue || nr == CQ_CHUNK))
			break;
		trace_dmanic_done(op);
		if (op->status)
			sums->failed++;
		else
			dmanic_sums_add(sums, op->opcode, op->flags, op->read,
					op->result);
		if (unlikely(op->uring)) {
			dmanic_uring_op_done(op, uring);
		} else {
			taken += dmanic_uring_taken(op);
			if (op->status || !(op->flags & DMANIC_SQE_SILENT))
				dmanic_cqe_fill(&queue->cq[tail++ & mask], op->cookie,
						op->status, op->opcode, op->flags,
						op->result);
		}
		started += op->started;
		nr++;
		if (!op->mem)
			continue;
		if (unlikely(op->list.mem && op->list.mem != op->mem))
			dmanic_mem_put(op->list.mem, 1);
		if (op->mem != mem && held)
			dmanic_mem_put(mem, held);
		held = op->mem == mem ? held + 1 : 1;
		mem = op->mem;
	}
	if (held)
		dmanic_mem_put(mem, held);
	if (taken)
		atomic64_sub(taken, &queue->taken);
	if (unlikely((queue->flags & DMANIC_RING_CQ_FULL) && tail - queue->cq_tail != nr))
		WRITE_ONCE(queue->roomy, true);
	queue->cq_tail = tail;
	queue->started -= started;
	/* H: what they did, before somebody sees that they are done */
	smp_store_release(&queue->in_flight, queue->in_flight - nr);
	list_cut_before(&cut, ops, &op->entry);
	list_splice(&cut, &queue->free);
}

/* Show completions; true: the caller has to signal, once unlocked */
bool dmanic_cq_publish(struct dmanic_queue *queue)
{
	struct dmanic_queue_ring *ring = queue->ring;
	/* Or there is room for entries that were left, and nobody else takes them */
	bool news = queue->cq_shown != queue->cq_tail || (queue->roomy && !queue->poller);

	lockdep_assert_held(&queue->lock);
	/* C: completions before the tail */
	smp_store_release(&ring->cq_tail, queue->cq_tail);
	/* F: who is told by us that there are completions finds them in the ring */
	smp_store_release(&queue->cq_shown, queue->cq_tail);
	/* E: the tail before looking who sleeps */
	smp_mb();
	if (!news || !queue->eventfd || !READ_ONCE(ring->arm))
		return false;
	WRITE_ONCE(ring->arm, 0);
	return true;
}

/*
 * @queue is to be woken once all is done, if others come behind it: who waits may be very
 * many, of each of two queues whose ops come in turn.
 */
static void queue_wake_later(struct dmanic_queue *queue, struct dmanic_queue **woken, bool signal)
{
	lockdep_assert_held(&queue->lock);
	queue->signal |= signal;
	if (!queue->waking) {
		queue->waking = true;
		queue->woken_next = *woken;
		*woken = queue;
	}
}

static void queue_wake_all(struct dmanic_queue *queue)
{
	struct dmanic_queue *next;
	unsigned long flags;
	bool signal;

	for (; queue; queue = next) {
		spin_lock_irqsave(&queue->lock, flags);
		next = queue->woken_next;
		signal = queue->signal;
		queue->signal = false;
		queue->waking = false;
		spin_unlock_irqrestore(&queue->lock, flags);
		/* E: the tail, of whoever left it to us, before looking who sleeps */
		smp_mb();
		dmanic_cq_wake(queue, signal);
	}
}

/* Complete the ops of the first one's queue; called under RCU, which keeps @woken, too */
static void queue_complete_some(struct dmanic_queue *queue, struct list_head *ops,
				struct list_head *ready, struct dmanic_queue **woken)
{
	struct io_uring_cmd *uring = NULL;
	struct dmanic_sums sums = {};
	bool signal, later;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	queue_finish(queue, ops, &sums, &uring);
	dmanic_sums_count(queue->node, &sums);
	if (queue->nr_deferred)
		dmanic_queue_promote(queue, ready, ops);
	signal = dmanic_cq_publish(queue);
	later = !list_empty(ops) || *woken;
	if (later)
		queue_wake_later(queue, woken, signal);
	spin_unlock_irqrestore(&queue->lock, flags);

	/* From here on only RCU keeps the queue, and its commands */
	if (!later)
		dmanic_cq_wake(queue, signal);
	dmanic_uring_complete(uring);
}

/**
 * dmanic_queue_complete() - operations are done
 * @ops: op->status and op->result are set; those of one queue side by side;
 *	empty on return
 *
 * From any context, without the link's locks. Deferred operations may be
 * submitted to the link from here.
 */
void dmanic_queue_complete(struct list_head *ops)
{
	struct dmanic_queue *queue, *woken = NULL;
	unsigned int nr;
	LIST_HEAD(ready);

	/* Once its last op is done, only RCU keeps a queue */
	rcu_read_lock();
	for (nr = 1; !list_empty(ops); nr++) {
		queue = list_first_entry(ops, struct dmanic_op, entry)->queue;
		queue_complete_some(queue, ops, &ready, &woken);
		while (!list_empty(&ready)) {
			queue->node->link->submit(queue->node, &ready);
			queue_promoted(queue, &ready, ops);
		}
		/* A node that goes may have millions: grace periods and sleepers wait for fewer */
		if (nr % CQ_RUNS)
			continue;
		queue_wake_all(woken);
		woken = NULL;
		rcu_read_unlock();
		rcu_read_lock();
	}
	queue_wake_all(woken);
	rcu_read_unlock();
}
