// SPDX-License-Identifier: GPL-2.0-only
/*
 * poller.c - the thread that takes entries of a queue: posting without a call
 *
 * It does what ENTER does, under the same lock: looks at sq_tail, submits, pays
 * what the link asks for. When there was nothing to do for a while it says
 * so in the ring (NEED_WAKEUP) and sleeps until somebody calls ENTER. Nothing to
 * do is also what cannot be done: no room for completions, impossible indices.
 *
 * It is its owner's: of his cgroups, with his priority and on his CPUs, all as
 * they were when he made the queue, so that the CPU time is charged to who asked
 * for it. It adopts them itself: moving a task takes rights over it, which the
 * owner does not have over a thread of the kernel.
 *
 * It ends with its queue, or with the device, and keeps neither: release() stops
 * it before anything of the queue goes. It uses nothing of its creator but what
 * the queue holds anyway.
 */
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <uapi/linux/sched/types.h>

#include "compat.h"
#include "dmanic.h"
#include "queue.h"

/* Most entries taken under one submit_lock: others may want it */
#define POLLER_ENTRIES	256

/**
 * struct dmanic_poller - the thread of a queue
 * @queue: which; outlives it
 * @thread: counted
 * @owner: who makes the queue; only until @adopted
 * @adopted: it runs as its owner does, or failed to, see @ret
 * @ret: 0 or -errno
 * @idle_ns: how long it looks before it sleeps
 * @woken: somebody called ENTER: look again for that long
 * @tail: sq_tail when entries were last taken; another value is news
 */
struct dmanic_poller {
	struct dmanic_queue *queue;
	struct task_struct *thread;
	struct task_struct *owner;
	struct completion adopted;
	int ret;
	u64 idle_ns;
	bool woken;
	u32 tail;
};

/* ---- becoming the owner's ---- */

static int poller_adopt(struct task_struct *owner)
{
	const bool fair = owner->policy == SCHED_BATCH || owner->policy == SCHED_IDLE;
	/* A real-time owner's polling thread would leave nothing to others */
	const struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = fair ? owner->policy : SCHED_NORMAL,
		.sched_nice = task_nice(owner),
	};
	cpumask_var_t cpus;
	int ret;

	ret = cgroup_attach_task_all(owner, current);
	if (ret)
		return ret;
	ret = sched_setattr_nocheck(current, &attr);
	if (ret)
		return ret;
	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	/* A copy: somebody may be changing it */
	cpumask_copy(cpus, owner->cpus_ptr);
	ret = set_cpus_allowed_ptr(current, cpus);
	free_cpumask_var(cpus);
	return ret;
}

/* ---- work ---- */

static bool poller_over(const struct dmanic_poller *poller)
{
	return kthread_should_stop() || dmanic_queue_over(poller->queue);
}

/* Entries are there, and it makes sense to try */
static bool poller_ready(const struct dmanic_poller *poller)
{
	struct dmanic_queue *queue = poller->queue;
	u32 tail = READ_ONCE(queue->ring->sq_tail);
	u32 nr = tail - READ_ONCE(queue->sq_head);

	if (likely(!nr))
		return false;
	/* Else those that were left for lack of room, or an impossible index */
	return tail != poller->tail ||
	       (nr <= queue->sq_entries && dmanic_queue_has_room(queue));
}

/* Return: some were taken */
static bool poller_pass(struct dmanic_poller *poller)
{
	struct dmanic_queue *queue = poller->queue;
	u64 spend = 0;
	int nr;

	/* Killable, though nobody can: the lock's holder may pay a long time */
	if (mutex_lock_killable(&queue->submit_lock))
		return false;
	poller->tail = READ_ONCE(queue->ring->sq_tail);
	nr = dmanic_queue_submit(queue, POLLER_ENTRIES, &spend);
	if (spend)
		dmanic_queue_spend(queue, spend);
	mutex_unlock(&queue->submit_lock);
	return nr > 0;
}

static void poller_show(struct dmanic_queue *queue, u32 set, u32 clear)
{
	spin_lock_irq(&queue->lock);
	dmanic_cq_set_flags(queue, set, clear);
	spin_unlock_irq(&queue->lock);
}

/* Until ENTER, the end, or until entries that were left can be taken */
static void poller_sleep(struct dmanic_poller *poller)
{
	struct dmanic_queue *queue = poller->queue;
	DEFINE_WAIT(wait);

	poller_show(queue, DMANIC_RING_NEED_WAKEUP, 0);
	for (;;) {
		/*
		 * SILENT operations make room when they are done. Only who left
		 * entries looks for it: completions do not wake it otherwise.
		 *
		 * G: both have a full barrier between NEED_WAKEUP and the look at
		 * the ring; the other side's is before it reads the flag
		 */
		if (READ_ONCE(queue->ring->sq_tail) != READ_ONCE(queue->sq_head))
			prepare_to_wait(&queue->wait, &wait, TASK_IDLE);
		else
			set_current_state(TASK_IDLE);
		if (READ_ONCE(poller->woken) || poller_over(poller) ||
		    poller_ready(poller))
			break;
		schedule();
	}
	finish_wait(&queue->wait, &wait);
	poller_show(queue, 0, DMANIC_RING_NEED_WAKEUP);
}

static void poller_work(struct dmanic_poller *poller)
{
	u64 since = ktime_get_ns();

	while (!poller_over(poller)) {
		if (poller_ready(poller)) {
			if (poller_pass(poller))
				since = ktime_get_ns();
		} else if (ktime_get_ns() - since >= poller->idle_ns) {
			poller_sleep(poller);
			since = ktime_get_ns();
		}
		if (unlikely(READ_ONCE(poller->woken))) {
			WRITE_ONCE(poller->woken, false);
			since = ktime_get_ns();
		}
		/* Also for who waits until every task has left its trampolines */
		cond_resched_tasks_rcu_qs();
		cpu_relax();
	}
	/* The device is gone: ENTER says so. Or the queue is, then nobody looks. */
	poller_show(poller->queue, DMANIC_RING_NEED_WAKEUP, 0);
}

static int poller_main(void *data)
{
	struct dmanic_poller *poller = data;

	poller->ret = poller_adopt(poller->owner);
	poller->owner = NULL;
	complete(&poller->adopted);
	if (!poller->ret)
		poller_work(poller);
	return 0;
}

/* ---- for the queue ---- */

/**
 * dmanic_poller_start() - a thread for a queue
 * @queue: complete, but for its file
 * @idle_ns: how long the thread looks before it sleeps
 * @refusal: filled on -EDQUOT
 *
 * Return: 0, then dmanic_poller_stop() ends it; -EDQUOT, -ENOMEM, -EAGAIN no more
 * threads, -EINTR, or what keeps it out of the caller's cgroups.
 */
int dmanic_poller_start(struct dmanic_queue *queue, u64 idle_ns,
			struct dmanic_refusal *refusal)
{
	struct dmanic_poller *poller;
	int ret;

	ret = dmanic_account_take(queue->ctx, DMANIC_KIND_POLL_THREAD, refusal);
	if (ret)
		return ret;
	ret = -ENOMEM;
	poller = kzalloc(sizeof(*poller), GFP_KERNEL_ACCOUNT);
	if (!poller)
		goto err_account;
	poller->queue = queue;
	poller->owner = current;
	poller->idle_ns = idle_ns;
	init_completion(&poller->adopted);
	poller->thread = kthread_create(poller_main, poller, "dmanic-poll/%d",
					current->tgid);
	if (IS_ERR(poller->thread)) {
		ret = PTR_ERR(poller->thread);
		goto err_free;
	}
	/* It may end before it is stopped */
	get_task_struct(poller->thread);
	wake_up_process(poller->thread);
	wait_for_completion(&poller->adopted);
	queue->poller = poller;
	ret = poller->ret;
	if (ret)
		dmanic_poller_stop(queue);
	return ret;

err_free:
	kfree(poller);
err_account:
	dmanic_account_give(queue->ctx, DMANIC_KIND_POLL_THREAD);
	return ret;
}

/**
 * dmanic_poller_wake() - somebody called ENTER, or the device goes
 * @queue: with a thread or without
 */
void dmanic_poller_wake(struct dmanic_queue *queue)
{
	struct dmanic_poller *poller = queue->poller;

	if (!poller)
		return;
	WRITE_ONCE(poller->woken, true);
	wake_up_process(poller->thread);
}

/**
 * dmanic_poller_stop() - end the thread; it touches the queue no more
 * @queue: with a thread or without; nobody wakes it any more
 */
void dmanic_poller_stop(struct dmanic_queue *queue)
{
	struct dmanic_poller *poller = queue->poller;

	if (!poller)
		return;
	queue->poller = NULL;
	kthread_stop(poller->thread);
	put_task_struct(poller->thread);
	kfree(poller);
	dmanic_account_give(queue->ctx, DMANIC_KIND_POLL_THREAD);
}
