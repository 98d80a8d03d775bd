// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop_engine.c - the DMA engine of a loop node
 *
 * A worker does the node's operations (loop_move.c), each queue's in the order
 * they were posted, the queues in turn.
 *
 * Without a model an operation that is longer than a slice goes back to its
 * queue when others wait: who posts gigabytes does not hold up who posts a
 * page. With a model (model.h) the worker copies when an operation's turn comes
 * and sleeps until the modelled end before it raises and completes. How long a
 * LIST is nobody knows before its list was read: it gets its place in the
 * modelled engine slice by slice, each when it was copied (the same place as
 * before, for nothing else moves meanwhile), and others between them. An atomic
 * costs as much as a READ of its word.
 *
 * The worker is a real-time task, for an engine does not queue for the CPU behind
 * a program that polls or computes. Once it ran LOOP_BUSY_NS longer than it slept
 * it goes on as a normal task, of the priority that high-priority workqueues
 * have, until it has slept enough: who posts gigabytes does not get a CPU of its
 * own.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>

#include "compat.h"
#include "dma.h"
#include "dmanic.h"
#include "link.h"
#include "loop.h"
#include "trace.h"

/* Real-time until it ran so much longer than it slept; forgotten above the most */
#define LOOP_BUSY_NS	(2 * NSEC_PER_MSEC)
#define LOOP_DEBT_NS	(50 * NSEC_PER_MSEC)
/* Looked for more before it sleeps */
#define LOOP_POLL_NS	(50 * NSEC_PER_USEC)
/* Chunks copied for one queue while others wait */
#define LOOP_SLICE	4
/* Operations ended in one hold of the lock when a node goes */
#define LOOP_STOP_CHUNK	1024

/* Data come back from the target */
static bool loop_returns(const struct dmanic_op *op)
{
	return op->read || loop_is_atomic(op);
}

static bool loop_has_data(const struct dmanic_op *op)
{
	return op->mem || loop_is_atomic(op);
}

static bool loop_has_notify(const struct dmanic_op *op)
{
	return op->opcode == DMANIC_OP_NOTIFY || (op->flags & DMANIC_SQE_NOTIFY);
}

/* ---- turns ---- */

/*
 * No queue has something pending; without the lock that may have changed, and one that moves
 * between the lists may be in neither
 */
static bool loop_idle(const struct loop_node *ln)
{
	return list_empty_careful(&ln->turns) && list_empty_careful(&ln->hurried);
}

/* @queue has something pending: it comes behind the others */
static void loop_enqueue(struct loop_node *ln, struct dmanic_queue *queue)
{
	lockdep_assert_held(&ln->lock);
	queue->turn_hurried = dmanic_queue_hurried(queue);
	list_move_tail(&queue->turn, queue->turn_hurried ? &ln->hurried : &ln->turns);
}

/*
 * The queue whose turn it is, or NULL. A dying io_uring that cannot cancel its
 * commands does not wait for what a thousand other queues have to do; nor do
 * they for those who never stop posting commands.
 */
static struct dmanic_queue *loop_turn(struct loop_node *ln)
{
	struct list_head *turns;

	lockdep_assert_held(&ln->lock);
	ln->hurry = !list_empty(&ln->hurried) &&
		    (!ln->hurry || list_empty(&ln->turns));
	turns = ln->hurry ? &ln->hurried : &ln->turns;
	return list_first_entry_or_null(turns, struct dmanic_queue, turn);
}

/* ---- running and resting ---- */

/* The worker ran until now */
static void loop_worked(struct loop_node *ln)
{
	u64 now = ktime_get_ns();

	ln->debt = min_t(u64, ln->debt + now - ln->since, LOOP_DEBT_NS);
	ln->since = now;
	if (!ln->normal && ln->debt > LOOP_BUSY_NS) {
		sched_set_normal(current, MIN_NICE);
		ln->normal = true;
	}
}

/* The worker slept until now */
static void loop_rested(struct loop_node *ln)
{
	u64 now = ktime_get_ns();

	ln->debt -= min(ln->debt, now - ln->since);
	ln->since = now;
	if (ln->normal && ln->debt < LOOP_BUSY_NS) {
		sched_set_fifo_low(current);
		ln->normal = false;
	}
}

static bool loop_give_up(const struct dmanic_op *op)
{
	return dmanic_op_given_up(op) || kthread_should_stop();
}

/*
 * The model costs nothing (any more). What io_uring commands posted where they
 * cannot be cancelled was posted when it cost nothing, and that holds for it.
 */
static bool loop_free(const struct loop_node *ln)
{
	/* Who posted looked the other way round: count, then free (uring.c) */
	return smp_load_acquire(&ln->free) || dmanic_node_hurried(&ln->node);
}

static void loop_sleep_until(struct loop_node *ln, const struct dmanic_op *op,
			     u64 until)
{
	ktime_t due = ns_to_ktime(until);

	loop_worked(ln);
	while (ktime_before(ktime_get(), due)) {
		set_current_state(TASK_IDLE);
		if (loop_give_up(op) || loop_free(ln))
			break;
		schedule_hrtimeout(&due, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
	loop_rested(ln);
}

/*
 * Who waits for an operation before it posts the next would pay each time for
 * waking the worker. So it looks for a while, where nothing else wants its CPU.
 */
static void loop_poll(const struct loop_node *ln)
{
	u64 until = ktime_get_ns() + LOOP_POLL_NS;

	while (loop_idle(ln) && !kthread_should_stop() &&
	       single_task_running() && ktime_get_ns() < until)
		cpu_relax();
}

static void loop_sleep(struct loop_node *ln)
{
	bool idle;

	if (loop_free(ln))
		loop_poll(ln);
	loop_worked(ln);
	set_current_state(TASK_IDLE);
	/* Who posts wakes us only if there was nothing, under the lock */
	spin_lock(&ln->lock);
	idle = loop_idle(ln);
	spin_unlock(&ln->lock);
	if (idle && !kthread_should_stop())
		schedule();
	__set_current_state(TASK_RUNNING);
	loop_rested(ln);
}

/* ---- an operation, slice by slice ---- */

static bool loop_begun(const struct dmanic_op *op)
{
	return op->moved || (loop_is_list(op) && op->list.next);
}

/*
 * Between two chunks: who closes the queue, stops the node or revokes the
 * segment must not wait for gigabytes.
 */
static u32 loop_look_around(struct loop_node *ln, const struct dmanic_op *op)
{
	loop_worked(ln);
	cond_resched();
	if (dmanic_op_given_up(op))
		return DMANIC_STATUS_CANCELLED;
	return kthread_should_stop() ? DMANIC_STATUS_LINK_DOWN : DMANIC_STATUS_OK;
}

/*
 * This one had its slice, and others wait. An engine that is modelled, still, does
 * not switch, but for a LIST, which has a place for each slice.
 */
static bool loop_slice_over(struct loop_node *ln, const struct dmanic_op *op, u32 chunks)
{
	if (chunks < LOOP_SLICE)
		return false;
	return op->due && !loop_free(ln) ? loop_is_list(op) : !loop_idle(ln);
}

/* Do all of @op, or a slice: loop_done() tells */
static u32 loop_data(struct loop_node *ln, struct dmanic_op *op)
{
	u32 status, chunks = 0;

	if (!loop_begun(op))
		trace_dmanic_start(op);
	if (loop_is_atomic(op))
		return dmanic_loop_atomic(ln, op);
	if (!op->mem)
		return DMANIC_STATUS_OK;
	for (;;) {
		status = dmanic_loop_copy(ln, op);
		if (status)
			return status;
		if (loop_done(op))
			break;
		status = loop_look_around(ln, op);
		if (status || loop_slice_over(ln, op, ++chunks))
			return status;
	}
	op->result = op->moved;
	return DMANIC_STATUS_OK;
}

/* ---- the worker ---- */

static void loop_complete_one(struct dmanic_op *op, u32 status)
{
	LIST_HEAD(done);

	op->status = status;
	list_add(&op->entry, &done);
	dmanic_queue_complete(&done);
}

/* What it was doing was given up: the modelled engine is free at once */
static void loop_engine_free(struct loop_node *ln)
{
	u64 now = ktime_get_ns();

	spin_lock(&ln->lock);
	ln->state.engine_free = min(ln->state.engine_free, now);
	ln->state.last_due = min(ln->state.last_due, now);
	spin_unlock(&ln->lock);
}

/* The rest of @op comes when its queue's turn comes again */
static void loop_put_back(struct loop_node *ln, struct dmanic_op *op)
{
	struct dmanic_queue *queue = op->queue;
	bool given_up;

	spin_lock(&ln->lock);
	/* Set before cancel() takes the lock: one of the two sees this op */
	given_up = dmanic_op_given_up(op);
	if (!given_up) {
		op->pending = true;
		list_add(&op->entry, &queue->pending);
		if (list_empty(&queue->turn))
			loop_enqueue(ln, queue);
	}
	spin_unlock(&ln->lock);
	if (given_up)
		loop_complete_one(op, DMANIC_STATUS_CANCELLED);
}

/* The modelled place of what was copied of a LIST since the last time */
static void loop_place_list(struct loop_node *ln, struct dmanic_op *op, bool last)
{
	u64 due, engine_free;

	spin_lock(&ln->lock);
	due = dmanic_model_due(&ln->model, &ln->state, op->due, true, op->read,
			       last && loop_has_notify(op),
			       op->moved - op->list.placed);
	engine_free = ln->state.engine_free;
	spin_unlock(&ln->lock);
	op->list.placed = op->moved;
	if (last)
		op->due = due;
	else
		loop_sleep_until(ln, op, engine_free);
}

static void loop_run(struct loop_node *ln, struct dmanic_op *op)
{
	u32 status;

	status = loop_data(ln, op);
	if (op->due && loop_is_list(op))
		loop_place_list(ln, op, status || loop_done(op));
	if (!status && !loop_done(op)) {
		if (loop_give_up(op))
			loop_engine_free(ln);
		loop_put_back(ln, op);
		return;
	}
	if (op->due)
		loop_sleep_until(ln, op, op->due);
	if (loop_give_up(op))
		loop_engine_free(ln);
	if (!status && loop_give_up(op))
		status = dmanic_op_given_up(op) ? DMANIC_STATUS_CANCELLED :
						  DMANIC_STATUS_LINK_DOWN;
	if (!status && loop_has_notify(op))
		status = dmanic_loop_notify(ln, op);
	loop_complete_one(op, status);
}

/*
 * The next operation of the queue whose turn it is. Only now it gets its place
 * in the modelled engine: those that are cancelled before cost nothing.
 */
static struct dmanic_op *loop_next(struct loop_node *ln)
{
	struct dmanic_queue *queue;
	struct dmanic_op *op = NULL;

	spin_lock(&ln->lock);
	queue = loop_turn(ln);
	if (!queue)
		goto out_unlock;
	op = list_first_entry(&queue->pending, struct dmanic_op, entry);
	list_del(&op->entry);
	op->pending = false;
	if (list_empty(&queue->pending))
		list_del_init(&queue->turn);
	else
		loop_enqueue(ln, queue);
	if (loop_free(ln))
		op->due = 0;
	else if (!loop_is_list(op))
		op->due = dmanic_model_due(&ln->model, &ln->state, op->due,
					   loop_has_data(op), loop_returns(op),
					   loop_has_notify(op), dmanic_op_bytes(op));
out_unlock:
	spin_unlock(&ln->lock);
	return op;
}

static int loop_worker(void *data)
{
	struct loop_node *ln = data;
	struct dmanic_op *op;

	sched_set_fifo_low(current);
	dmanic_dma_measure(ln->dma);
	ln->since = ktime_get_ns();
	/* What is pending when it has to stop is taken by dmanic_loop_engine_stop() */
	while (!kthread_should_stop()) {
		op = loop_next(ln);
		if (op) {
			loop_run(ln, op);
			loop_worked(ln);
			cond_resched();
		} else {
			loop_sleep(ln);
		}
	}
	return 0;
}

/* ---- submission ---- */

/* Nothing of it begins before the poster has paid */
static u64 loop_doorbell(struct loop_node *ln, struct list_head *ops)
{
	bool data = false, notify = false;
	struct dmanic_op *op;
	u64 start, poster;

	lockdep_assert_held(&ln->lock);
	list_for_each_entry(op, ops, entry) {
		data |= loop_has_data(op);
		notify |= loop_has_notify(op);
	}
	poster = dmanic_model_poster(&ln->model, data, notify);
	start = ktime_get_ns() + poster;
	list_for_each_entry(op, ops, entry)
		op->due = start;
	return poster;
}

/* Not to be carried out any more */
static void loop_set_status(struct list_head *ops, u32 status)
{
	struct dmanic_op *op;

	list_for_each_entry(op, ops, entry) {
		op->pending = false;
		op->status = status;
	}
}

/* Move what is given up from @from to @ops */
static void loop_take_given_up(struct list_head *from, struct list_head *ops)
{
	struct dmanic_op *op, *next;

	list_for_each_entry_safe(op, next, from, entry) {
		if (!dmanic_op_given_up(op))
			continue;
		op->status = DMANIC_STATUS_CANCELLED;
		list_move_tail(&op->entry, ops);
	}
}

static u64 loop_queue(struct loop_node *ln, struct dmanic_queue *queue,
		      struct list_head *ops)
{
	bool idle = loop_idle(ln);
	struct dmanic_op *op;
	u64 poster = 0;

	lockdep_assert_held(&ln->lock);
	if (!ln->free)
		poster = loop_doorbell(ln, ops);
	list_for_each_entry(op, ops, entry)
		op->pending = true;
	list_splice_tail_init(ops, &queue->pending);
	/* Also when it has just become a hurried one; else it keeps its place */
	if (list_empty(&queue->turn) ||
	    (dmanic_queue_hurried(queue) && !queue->turn_hurried))
		loop_enqueue(ln, queue);
	/* Under the lock: once stopped, the worker may be gone */
	if (idle)
		wake_up_process(ln->worker);
	return poster;
}

/* As link.h says of submit() */
u64 dmanic_loop_submit(struct dmanic_node *node, struct list_head *ops)
{
	struct loop_node *ln = to_loop(node);
	struct dmanic_queue *queue;
	struct dmanic_op *op;
	bool uring = false;
	LIST_HEAD(gone);
	u64 poster = 0;

	queue = list_first_entry(ops, struct dmanic_op, entry)->queue;
	list_for_each_entry(op, ops, entry) {
		op->due = 0;
		op->moved = 0;
		uring |= !!op->uring;
	}
	spin_lock(&ln->lock);
	/* Set before cancel() takes the lock: one of the two sees these ops */
	if (unlikely(uring || dmanic_queue_dying(queue)))
		loop_take_given_up(ops, &gone);
	if (unlikely(ln->stopped)) {
		loop_set_status(ops, DMANIC_STATUS_LINK_DOWN);
		list_splice_init(ops, &gone);
	}
	if (!list_empty(ops))
		poster = loop_queue(ln, queue, ops);
	spin_unlock(&ln->lock);
	dmanic_queue_complete(&gone);
	return poster;
}

/* As link.h says of cancel() */
void dmanic_loop_cancel(struct dmanic_node *node, struct dmanic_queue *queue,
			struct dmanic_op *op)
{
	struct loop_node *ln = to_loop(node);
	LIST_HEAD(ops);

	spin_lock(&ln->lock);
	if (!op)
		list_splice_init(&queue->pending, &ops);
	else if (op->pending && dmanic_op_given_up(op))
		list_move(&op->entry, &ops);
	loop_set_status(&ops, DMANIC_STATUS_CANCELLED);
	if (list_empty(&queue->pending))
		list_del_init(&queue->turn);
	/* It may be sleeping until the due time of an op of this queue */
	if (!ln->stopped)
		wake_up_process(ln->worker);
	spin_unlock(&ln->lock);
	dmanic_queue_complete(&ops);
}

/**
 * dmanic_loop_engine_init() - make the worker of a node
 * @ln: new, in its fabric; the caller wakes the worker once the node is complete
 * @name: of the node
 *
 * Return: 0 or -errno.
 */
int dmanic_loop_engine_init(struct loop_node *ln, const char *name)
{
	struct task_struct *worker;

	spin_lock_init(&ln->lock);
	INIT_LIST_HEAD(&ln->turns);
	INIT_LIST_HEAD(&ln->hurried);
	worker = kthread_create(loop_worker, ln, "dmanic/%s", name);
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	ln->worker = worker;
	ln->dma = dmanic_dma_get(ln->fabric->dma);
	return 0;
}

/**
 * dmanic_loop_engine_end() - end the worker and give back its DMA engine
 * @ln: nobody wakes the worker any more
 */
void dmanic_loop_engine_end(struct loop_node *ln)
{
	kthread_stop(ln->worker);
	dmanic_dma_put(ln->dma);
	/* Who is told that the node went asks for it still */
	ln->dma = NULL;
}

/* Some of those that are pending, to @ops; false: there are none. @ln->lock is held. */
static bool loop_take_some(struct loop_node *ln, struct list_head *ops)
{
	struct dmanic_queue *queue;
	u32 nr = 0;

	list_splice_init(&ln->hurried, &ln->turns);
	while (nr < LOOP_STOP_CHUNK && !list_empty(&ln->turns)) {
		queue = list_first_entry(&ln->turns, struct dmanic_queue, turn);
		for (; nr < LOOP_STOP_CHUNK && !list_empty(&queue->pending); nr++)
			list_move_tail(queue->pending.next, ops);
		if (list_empty(&queue->pending))
			list_del_init(&queue->turn);
	}
	return nr;
}

/**
 * dmanic_loop_engine_stop() - complete all operations as LINK_DOWN
 * @ln: nobody reaches it from other nodes, @ln->stopped is set and seen by all
 *
 * Of all users very many may be pending: others have the CPU in between.
 */
void dmanic_loop_engine_stop(struct loop_node *ln)
{
	LIST_HEAD(ops);
	bool any;

	dmanic_loop_engine_end(ln);
	do {
		spin_lock(&ln->lock);
		any = loop_take_some(ln, &ops);
		loop_set_status(&ops, DMANIC_STATUS_LINK_DOWN);
		spin_unlock(&ln->lock);
		dmanic_queue_complete(&ops);
		cond_resched();
	} while (any);
}
