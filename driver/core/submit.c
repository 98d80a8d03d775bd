// SPDX-License-Identifier: GPL-2.0-only
/*
 * submit.c - submission: from the ring to the link
 *
 * quick.c does what it can at the head of the ring; the rest is taken, one op
 * each, validated (op.c), and handed to the link as one batch. Ops behind a
 * FENCE wait in @deferred until what is before them is done.
 *
 * The completion ring never overflows: an op is only taken while operations in
 * flight plus completions not consumed are fewer than its entries. cq_head is
 * the program's to write, so an impossible value counts as "no room".
 */
#include <linux/poll.h>

#include "dmanic.h"
#include "link.h"
#include "op.h"
#include "queue.h"

/*
 * Take up to @want free ops, as many as there is room for completions; @behind:
 * others wait for a FENCE, so these have to queue behind them.
 * Return: how many; -EINVAL when cq_head is impossible.
 */
static int queue_take_ops(struct dmanic_queue *queue, u32 want, struct list_head *ops,
			  bool *behind)
{
	struct list_head *last;
	u32 used, room, i;

	spin_lock_irq(&queue->lock);
	used = dmanic_cq_unconsumed(queue);
	if (used > queue->cq_entries) {
		dmanic_cq_set_flags(queue, DMANIC_RING_BAD_INDEX, 0);
		spin_unlock_irq(&queue->lock);
		return -EINVAL;
	}
	room = queue->cq_entries - used;
	room = room > queue->in_flight ? room - queue->in_flight : 0;
	dmanic_cq_set_flags(queue, want > room ? DMANIC_RING_CQ_FULL : 0,
			    DMANIC_RING_BAD_INDEX | DMANIC_RING_CQ_FULL);
	if (want > room)
		WRITE_ONCE(queue->roomy, false);
	want = min(want, room);
	for (i = 0, last = &queue->free; i < want; i++)
		last = last->next;
	list_cut_position(ops, &queue->free, last);
	queue->in_flight += want;
	*behind = queue->nr_deferred || queue->promoting;
	/* Those behind others start when queue_defer() says so, or later */
	if (!*behind)
		queue->started += want;
	spin_unlock_irq(&queue->lock);
	return want;
}

/*
 * From the first FENCE that has to wait on, ops go to @deferred. While any are there, something
 * is started or being promoted, whose end takes the first of them off again.
 * @counted of the ops are in queue->started already.
 */
static void queue_defer(struct dmanic_queue *queue, struct list_head *ops, u32 counted)
{
	struct dmanic_op *op, *next;

	spin_lock_irq(&queue->lock);
	queue->started -= counted;
	list_for_each_entry_safe(op, next, ops, entry) {
		/* What was given up has nothing to wait for: the link ends it */
		if (!op->given_up &&
		    (queue->nr_deferred || queue->promoting ||
		     ((op->flags & DMANIC_SQE_FENCE) && queue->started))) {
			op->started = false;
			queue->nr_deferred++;
			list_move_tail(&op->entry, &queue->deferred);
		} else {
			queue->started++;
		}
	}
	spin_unlock_irq(&queue->lock);
}

/* What outlives the RCU section: the target, and the memory, a run of one at once */
static void queue_hold(struct dmanic_queue *queue, struct list_head *ops)
{
	u64 deaths = READ_ONCE(queue->node->deaths);
	struct dmanic_mem *mem = NULL;
	struct dmanic_op *op;
	u32 held = 0;

	list_for_each_entry(op, ops, entry) {
		op->deaths = deaths;
		if (op->conn)
			op->target = op->conn->target;
		if (!op->mem)
			continue;
		if (unlikely(op->list.mem && op->list.mem != op->mem))
			refcount_inc(&op->list.mem->ref);
		if (op->mem != mem && held)
			refcount_add(held, &mem->ref);
		held = op->mem == mem ? held + 1 : 1;
		mem = op->mem;
	}
	if (held)
		refcount_add(held, &mem->ref);
}

/* Before any of them can be done */
static void queue_count_taken(struct dmanic_queue *queue, const struct list_head *ops)
{
	struct dmanic_op *op;
	u64 taken = 0;

	if (DMANIC_URING_CANCEL)
		return;
	list_for_each_entry(op, ops, entry)
		taken += dmanic_uring_taken(op);
	atomic64_add(taken, &queue->taken);
}

/**
 * struct queue_batch - what one ENTER submits
 * @ops: prepared, borrowing their memory
 * @failed: refused by validation
 * @ready: for the link, holding their memory
 */
struct queue_batch {
	struct list_head ops;
	struct list_head failed;
	struct list_head ready;
};

/* Entries handled in one RCU section */
#define QUEUE_CHUNK	64

static void queue_chunk(struct dmanic_queue *queue, struct queue_batch *batch, u32 nr,
			bool behind)
{
	struct dmanic_op *op;
	bool fence;

	rcu_read_lock();
	fence = dmanic_ops_prepare(queue, &batch->ops, &batch->failed);
	queue_hold(queue, &batch->ops);
	rcu_read_unlock();
	queue_count_taken(queue, &batch->ops);
	queue_count_taken(queue, &batch->failed);
	list_for_each_entry(op, &batch->failed, entry) {
		op->started = !behind;
		nr--;
	}
	if (behind || fence)
		queue_defer(queue, &batch->ops, behind ? 0 : nr);
	list_splice_tail_init(&batch->ops, &batch->ready);
}

/* What the poster does itself: how many of @left entries */
static u32 queue_quick(struct dmanic_queue *queue, u32 left)
{
	struct dmanic_sums sums = {};
	u32 used, tail, done;
	bool signal, busy;

	if (!queue->node->link->reach)
		return 0;
	spin_lock_irq(&queue->lock);
	tail = queue->cq_tail;
	used = dmanic_cq_unconsumed(queue);
	/* Only who holds submit_lock makes it busy, so it stays idle */
	busy = queue->in_flight || used >= queue->cq_entries;
	if (!busy)
		dmanic_cq_set_flags(queue, 0, DMANIC_RING_BAD_INDEX | DMANIC_RING_CQ_FULL);
	spin_unlock_irq(&queue->lock);
	if (busy)
		return 0;

	done = dmanic_quick(queue, min(left, queue->cq_entries - used), &tail, &sums);
	if (!done)
		return 0;
	/*
	 * B: entries are read before the head; and before C, so that who has seen
	 * all completions finds room for as many entries
	 */
	smp_store_release(&queue->ring->sq_head, queue->sq_head);
	spin_lock_irq(&queue->lock);
	queue->cq_tail = tail;
	dmanic_sums_count(queue->node, &sums);
	signal = dmanic_cq_publish(queue);
	spin_unlock_irq(&queue->lock);
	dmanic_cq_wake(queue, signal);
	return done;
}

/*
 * Take up to @to_submit entries. Return: how many; -EINVAL impossible index; -ESHUTDOWN;
 * @spend is how long the link makes the poster pay.
 */
int dmanic_queue_submit(struct dmanic_queue *queue, u32 to_submit, u64 *spend)
{
	struct queue_batch batch = {
		.ops = LIST_HEAD_INIT(batch.ops),
		.failed = LIST_HEAD_INIT(batch.failed),
		.ready = LIST_HEAD_INIT(batch.ready),
	};
	int nr, total = 0;
	u32 tail, left;
	bool behind;

	lockdep_assert_held(&queue->submit_lock);
	if (unlikely(dmanic_queue_dying(queue)))
		return -ESHUTDOWN;
	/* A: the tail before the entries */
	tail = smp_load_acquire(&queue->ring->sq_tail);
	if (tail - queue->sq_head > queue->sq_entries) {
		spin_lock_irq(&queue->lock);
		dmanic_cq_set_flags(queue, DMANIC_RING_BAD_INDEX, 0);
		spin_unlock_irq(&queue->lock);
		return -EINVAL;
	}
	for (left = min(to_submit, tail - queue->sq_head); left; left -= nr) {
		nr = queue_quick(queue, left);
		if (!nr) {
			nr = queue_take_ops(queue, min(left, QUEUE_CHUNK), &batch.ops,
					    &behind);
			if (nr <= 0)
				break;
			queue_chunk(queue, &batch, nr, behind);
			/* B: entries are read before the head */
			smp_store_release(&queue->ring->sq_head, queue->sq_head);
		}
		total += nr;
		if (!list_empty(&batch.failed))
			dmanic_queue_complete(&batch.failed);
		cond_resched();
	}
	if (!total)
		return left ? nr : 0;
	/* E: the head before looking who waits for room in the ring */
	smp_mb();
	/* Who is not there yet sees the head */
	if (unlikely(READ_ONCE(queue->room_wanted)) && waitqueue_active(&queue->wait))
		wake_up_poll(&queue->wait, EPOLLOUT | EPOLLWRNORM);
	dmanic_stat_add(queue->node, DMANIC_STATS_A_POSTED, total);
	dmanic_stat_add(queue->node, DMANIC_STATS_A_DOORBELLS, 1);
	if (!list_empty(&batch.ready))
		*spend = queue->node->link->submit(queue->node, &batch.ready);
	return total;
}

/**
 * dmanic_queue_post_begin() - an op for what does not come from the ring
 * @queue: its submit_lock is held
 * @behind: out: others wait for a FENCE, so this has to queue behind them
 *
 * It needs no room in the completion ring. Return: the op, in flight, and started
 * unless @behind; NULL: all are in use.
 */
struct dmanic_op *dmanic_queue_post_begin(struct dmanic_queue *queue, bool *behind)
{
	struct dmanic_op *op;

	lockdep_assert_held(&queue->submit_lock);
	spin_lock_irq(&queue->lock);
	op = list_first_entry_or_null(&queue->free, struct dmanic_op, entry);
	if (op) {
		list_del_init(&op->entry);
		op->started = true;
		queue->in_flight++;
		WRITE_ONCE(queue->posted, queue->posted + 1);
		*behind = queue->nr_deferred || queue->promoting;
		/* As in queue_take_ops(): a FENCE must not wait for this one */
		if (!*behind)
			queue->started++;
	}
	spin_unlock_irq(&queue->lock);
	return op;
}

static void queue_count_started(struct dmanic_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->started++;
	spin_unlock_irq(&queue->lock);
}

/**
 * dmanic_queue_post() - prepare @op and hand it to the link
 * @queue: its submit_lock is held
 * @op: from dmanic_queue_post_begin()
 * @sqe: private to the driver
 * @behind: from dmanic_queue_post_begin()
 */
void dmanic_queue_post(struct dmanic_queue *queue, struct dmanic_op *op,
		       const struct dmanic_sqe *sqe, bool behind)
{
	LIST_HEAD(ops);

	list_add(&op->entry, &ops);
	dmanic_stat_add(queue->node, DMANIC_STATS_A_POSTED, 1);
	rcu_read_lock();
	op->status = dmanic_op_prepare(op, sqe);
	if (!op->status)
		queue_hold(queue, &ops);
	rcu_read_unlock();
	if (op->status) {
		/* Its end takes it off again, and looks who may start */
		if (behind)
			queue_count_started(queue);
		dmanic_queue_complete(&ops);
		return;
	}
	if (behind || (op->flags & DMANIC_SQE_FENCE))
		queue_defer(queue, &ops, behind ? 0 : 1);
	if (!list_empty(&ops))
		queue->node->link->submit(queue->node, &ops);
}
