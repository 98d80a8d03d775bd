// SPDX-License-Identifier: GPL-2.0-only
/*
 * queue.c - the file of a queue: make it, ENTER, poll, map, stop, close
 *
 * What goes in is in submit.c, quick.c and poller.c, what comes out in cq.c. Stopping and
 * closing cancel what has not begun and wait for what has.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "dmanic.h"
#include "link.h"
#include "queue.h"

/* A thread of the queue's own is to end, or the poster is */
static bool queue_poster_ends(void)
{
	return (current->flags & PF_KTHREAD) ? kthread_should_stop() :
					       fatal_signal_pending(current);
}

/* A modelled card: the poster pays with time, not with CPU */
void dmanic_queue_spend(struct dmanic_queue *queue, u64 ns)
{
	ktime_t until = ktime_add_ns(ktime_get(), ns);
	DEFINE_WAIT(wait);

	for (;;) {
		prepare_to_wait(&queue->wait, &wait, TASK_KILLABLE);
		if (ktime_compare(ktime_get(), until) >= 0 ||
		    queue_poster_ends() || dmanic_queue_over(queue))
			break;
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	}
	finish_wait(&queue->wait, &wait);
}

/* As dmanic_cq_unconsumed(), for who does not hold the lock */
u32 dmanic_queue_unconsumed(struct dmanic_queue *queue)
{
	u32 nr = dmanic_cq_unconsumed(queue);
	unsigned long flags;

	if (likely(nr <= queue->cq_entries))
		return nr;
	/* Somebody consumed between two of the driver's stores, or nonsense */
	spin_lock_irqsave(&queue->lock, flags);
	nr = dmanic_cq_unconsumed(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr;
}

static bool queue_has(struct dmanic_queue *queue, u32 min_complete)
{
	return dmanic_queue_unconsumed(queue) >= min_complete;
}

/* Entries that were left for lack of room may be taken now */
bool dmanic_queue_has_room(struct dmanic_queue *queue)
{
	u32 used = dmanic_queue_unconsumed(queue);

	/* An impossible cq_head is no room, nor does it wrap to some */
	return READ_ONCE(queue->ring->sq_tail) != READ_ONCE(queue->sq_head) &&
	       used <= queue->cq_entries &&
	       used + READ_ONCE(queue->in_flight) < queue->cq_entries;
}

/* That is so, no completion tells the program, and nobody else takes them */
bool dmanic_queue_wants(struct dmanic_queue *queue)
{
	return READ_ONCE(queue->roomy) && !queue->poller && dmanic_queue_has_room(queue);
}

static bool queue_has_entries(const struct dmanic_queue *queue)
{
	return READ_ONCE(queue->ring->sq_tail) - READ_ONCE(queue->sq_head) <
	       queue->sq_entries;
}

static bool queue_wait_over(struct dmanic_queue *queue,
			    const struct dmanic_enter *arg)
{
	return queue_has(queue, arg->min_complete) ||
	       (arg->to_submit != arg->submitted && dmanic_queue_has_room(queue)) ||
	       dmanic_queue_over(queue);
}

/* Sleep until there is something to do, at most until @until */
static int queue_wait(struct dmanic_queue *queue, const struct dmanic_enter *arg,
		      ktime_t until)
{
	ktime_t left = KTIME_MAX;
	int ret;

	if (queue_has(queue, arg->min_complete))
		return 0;
	if (until != KTIME_MAX) {
		left = ktime_sub(until, ktime_get());
		if (left <= 0)
			return -ETIME;
	}
	ret = wait_event_interruptible_hrtimeout(queue->wait,
						 queue_wait_over(queue, arg),
						 left);
	return ret == -ERESTARTSYS ? -EINTR : ret;
}

/* Submit what there is room for; the rest stays in the ring */
static int queue_submit_some(struct dmanic_queue *queue, struct dmanic_enter *arg)
{
	u64 spend = 0;
	int ret;

	if (arg->submitted == arg->to_submit)
		return 0;
	if (mutex_lock_killable(&queue->submit_lock))
		return -EINTR;
	ret = dmanic_queue_submit(queue, arg->to_submit - arg->submitted, &spend);
	if (ret > 0)
		arg->submitted += ret;
	if (spend)
		dmanic_queue_spend(queue, spend);
	mutex_unlock(&queue->submit_lock);
	return min(ret, 0);
}

static int queue_ioctl_enter(void *object, void *data, struct dmanic_late *late)
{
	struct dmanic_queue *queue = object;
	struct dmanic_enter *arg = data;
	ktime_t until = KTIME_MAX;
	int ret;

	arg->submitted = 0;
	arg->available = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->min_complete > queue->cq_entries)
		return -EINVAL;
	if (arg->min_complete && arg->timeout_ns < KTIME_MAX)
		until = ktime_add_safe(ktime_get(), ns_to_ktime(arg->timeout_ns));

	dmanic_poller_wake(queue);
	do {
		ret = dmanic_queue_over(queue);
		if (ret)
			return ret;
		ret = queue_submit_some(queue, arg);
		if (!ret && arg->min_complete)
			ret = queue_wait(queue, arg, until);
		if (!ret && signal_pending(current) &&
		    !queue_has(queue, arg->min_complete))
			ret = -EINTR;
	} while (!ret && !queue_has(queue, arg->min_complete));

	arg->available = min(dmanic_queue_unconsumed(queue), queue->cq_entries);
	return dmanic_queue_over(queue) ?: ret;
}

static bool queue_idle(struct dmanic_queue *queue)
{
	bool idle;

	spin_lock_irq(&queue->lock);
	idle = !queue->in_flight;
	spin_unlock_irq(&queue->lock);
	return idle;
}

/* Cancel what has not begun, wait for what has: links keep that short */
static void queue_quiesce(struct dmanic_queue *queue)
{
	LIST_HEAD(ready);
	LIST_HEAD(ops);

	spin_lock_irq(&queue->lock);
	WRITE_ONCE(queue->dying, true);
	dmanic_queue_promote(queue, &ready, &ops);
	spin_unlock_irq(&queue->lock);
	queue->node->link->cancel(queue->node, queue, NULL);
	dmanic_queue_complete(&ops);
	wait_event(queue->wait, queue_idle(queue));
}

static int queue_ioctl_stop(void *object, void *data, struct dmanic_late *late)
{
	struct dmanic_queue *queue = object;
	struct dmanic_stop *arg = data;

	if (arg->flags)
		return -EOPNOTSUPP;
	WRITE_ONCE(queue->dying, true);
	dmanic_queue_set_dead(queue);
	/* Who submits now did not see it, perhaps; who comes later does */
	mutex_lock(&queue->submit_lock);
	mutex_unlock(&queue->submit_lock);
	queue_quiesce(queue);
	return 0;
}

static const struct dmanic_ioctl queue_ioctls[] = {
	{ DMANIC_IOC_ENTER, sizeof(struct dmanic_enter), sizeof(struct dmanic_enter),
	  queue_ioctl_enter },
	{ DMANIC_IOC_QUEUE_STOP, sizeof(struct dmanic_stop), sizeof(struct dmanic_stop),
	  queue_ioctl_stop, NULL, true },
};

/* ---- the file ---- */

static long queue_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return dmanic_ioctl_run(queue_ioctls, ARRAY_SIZE(queue_ioctls),
				file->private_data, cmd, arg);
}

static __poll_t queue_poll(struct file *file, poll_table *table)
{
	struct dmanic_queue *queue = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &queue->wait, table);
	/* For good, and be there room: who waits for edges does not ask again when it is full */
	if (poll_requested_events(table) & (EPOLLOUT | EPOLLWRNORM))
		WRITE_ONCE(queue->room_wanted, true);
	/* E: on the list before looking at the tail, and at the head */
	smp_mb();
	if (dmanic_queue_unconsumed(queue) || dmanic_queue_wants(queue))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (queue_has_entries(queue))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (dmanic_queue_over(queue))
		mask |= EPOLLERR | EPOLLHUP;
	return mask;
}

static int queue_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dmanic_queue *queue = file->private_data;

	return dmanic_mem_mmap(queue->ring_mem, vma, (u64)vma->vm_pgoff << PAGE_SHIFT);
}

/**
 * dmanic_queue_set_dead() - dmanic_queue_over() became true: waiters are told
 * @queue: does not go meanwhile
 */
void dmanic_queue_set_dead(struct dmanic_queue *queue)
{
	spin_lock_irq(&queue->lock);
	dmanic_cq_set_flags(queue, DMANIC_RING_DEAD, 0);
	spin_unlock_irq(&queue->lock);
	wake_up_all(&queue->wait);
	dmanic_poller_wake(queue);
	__dmanic_uring_wake(&queue->uring_waits);
	if (queue->eventfd)
		dmanic_eventfd_signal(queue->eventfd);
}

static void queue_free_rcu(struct rcu_head *rcu)
{
	struct dmanic_queue *queue = container_of(rcu, struct dmanic_queue, rcu);

	if (queue->eventfd)
		eventfd_ctx_put(queue->eventfd);
	kfree(queue);
}

/* Nothing is in flight; a completer may still be about to wake somebody */
static void queue_free(struct dmanic_queue *queue)
{
	WARN_ON_ONCE(!list_empty(&queue->pending) || !list_empty(&queue->behind) ||
		     !list_empty(&queue->self_turn));
	/* An op that ends twice is missing here */
	WARN_ON_ONCE(queue->in_flight || queue->started || queue->nr_deferred);
	if (queue->ring)
		vunmap(queue->ring);
	if (queue->ring_mem)
		dmanic_mem_put_sleep(queue->ring_mem);
	kvfree(queue->op_links);
	kvfree(queue->link);
	kvfree(queue->ops);
	dmanic_account_give(queue->ctx, DMANIC_KIND_QUEUE);
	call_rcu(&queue->rcu, queue_free_rcu);
}

static int queue_release(struct inode *inode, struct file *file)
{
	struct dmanic_queue *queue = file->private_data;
	struct file *ctx_file = queue->ctx->file;

	mutex_lock(&queue->node->lock);
	list_del(&queue->entry);
	mutex_unlock(&queue->node->lock);
	dmanic_poller_stop(queue);
	dmanic_uring_queue_exit(queue);
	queue_quiesce(queue);
	queue_free(queue);
	fput(ctx_file);
	return 0;
}

static const struct file_operations queue_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = queue_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = queue_poll,
	.mmap = queue_mmap,
	.uring_cmd = dmanic_uring_queue_cmd,
	.release = queue_release,
	.llseek = noop_llseek,
};

/* ---- creation ---- */

static int queue_check(struct dmanic_queue_create *arg)
{
	u32 most = max(arg->sq_entries, arg->cq_entries);

	if ((arg->flags & ~DMANIC_QUEUE_POLL_THREAD) || arg->reserved ||
	    (arg->poll_idle_us && !(arg->flags & DMANIC_QUEUE_POLL_THREAD)))
		return -EOPNOTSUPP;
	if (arg->poll_idle_us > DMANIC_POLL_IDLE_MAX_US)
		return -EINVAL;
	if (!is_power_of_2(arg->sq_entries) || !is_power_of_2(arg->cq_entries) ||
	    arg->cq_entries < arg->sq_entries || arg->eventfd < -1)
		return -EINVAL;
	if (most > DMANIC_MAX_QUEUE_ENTRIES) {
		arg->refusal.limit = DMANIC_LIMIT_QUEUE_ENTRIES;
		arg->refusal.asked = most;
		arg->refusal.allowed = DMANIC_MAX_QUEUE_ENTRIES;
		return -EDQUOT;
	}
	return 0;
}

static int queue_alloc_ring(struct dmanic_queue *queue,
			    struct dmanic_queue_create *arg)
{
	u32 sq_offset = ALIGN(sizeof(struct dmanic_queue_ring), DMANIC_CACHE_LINE);
	u32 cq_offset = sq_offset + arg->sq_entries * sizeof(struct dmanic_sqe);
	u64 bytes = cq_offset + (u64)arg->cq_entries * sizeof(struct dmanic_cqe);
	struct dmanic_mem *mem;

	mem = dmanic_mem_alloc(queue->ctx, bytes, &arg->refusal);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	queue->ring_mem = mem;
	queue->ring = dmanic_mem_vmap(mem);
	if (!queue->ring)
		return -ENOMEM;
	queue->sq = (void *)queue->ring + sq_offset;
	queue->cq = (void *)queue->ring + cq_offset;
	arg->sq_offset = sq_offset;
	arg->cq_offset = cq_offset;
	arg->mmap_bytes = (u64)mem->nr_pages << PAGE_SHIFT;
	return 0;
}

static int queue_alloc_ops(struct dmanic_queue *queue)
{
	const size_t queue_bytes = queue->node->link->queue_bytes;
	const size_t bytes = queue->node->link->op_bytes;
	u32 i;

	queue->ops = kvcalloc(queue->cq_entries, sizeof(*queue->ops),
			      GFP_KERNEL_ACCOUNT);
	if (!queue->ops)
		return -ENOMEM;
	if (queue_bytes) {
		queue->link = kvzalloc(queue_bytes, GFP_KERNEL_ACCOUNT);
		if (!queue->link)
			return -ENOMEM;
	}
	if (bytes) {
		queue->op_links = kvcalloc(queue->cq_entries, bytes, GFP_KERNEL_ACCOUNT);
		if (!queue->op_links)
			return -ENOMEM;
	}
	for (i = 0; i < queue->cq_entries; i++) {
		queue->ops[i].queue = queue;
		if (bytes)
			queue->ops[i].link = queue->op_links + i * bytes;
		list_add_tail(&queue->ops[i].entry, &queue->free);
	}
	return 0;
}

static u64 queue_idle_ns(const struct dmanic_queue_create *arg)
{
	return (u64)(arg->poll_idle_us ?: DMANIC_POLL_IDLE_MAX_US) * NSEC_PER_USEC;
}

static struct dmanic_queue *queue_new(struct dmanic_ctx *ctx,
				      struct dmanic_queue_create *arg)
{
	struct dmanic_queue *queue;
	int ret;

	ret = dmanic_account_take(ctx, DMANIC_KIND_QUEUE, &arg->refusal);
	if (ret)
		return ERR_PTR(ret);
	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue) {
		dmanic_account_give(ctx, DMANIC_KIND_QUEUE);
		return ERR_PTR(-ENOMEM);
	}
	queue->ctx = ctx;
	queue->node = ctx->node;
	queue->sq_entries = arg->sq_entries;
	queue->cq_entries = arg->cq_entries;
	mutex_init(&queue->submit_lock);
	spin_lock_init(&queue->lock);
	init_waitqueue_head(&queue->wait);
	dmanic_uring_queue_init(queue);
	INIT_LIST_HEAD(&queue->free);
	INIT_LIST_HEAD(&queue->deferred);
	INIT_LIST_HEAD(&queue->pending);
	INIT_LIST_HEAD(&queue->turn);
	INIT_LIST_HEAD(&queue->behind);
	INIT_LIST_HEAD(&queue->self);
	INIT_LIST_HEAD(&queue->self_turn);

	ret = queue_alloc_ops(queue);
	if (!ret)
		ret = queue_alloc_ring(queue, arg);
	if (!ret && arg->eventfd >= 0) {
		queue->eventfd = eventfd_ctx_fdget(arg->eventfd);
		if (IS_ERR(queue->eventfd)) {
			ret = PTR_ERR(queue->eventfd);
			queue->eventfd = NULL;
		}
	}
	if (!ret && (arg->flags & DMANIC_QUEUE_POLL_THREAD))
		ret = dmanic_poller_start(queue, queue_idle_ns(arg), &arg->refusal);
	if (ret) {
		queue_free(queue);
		return ERR_PTR(ret);
	}
	return queue;
}

/**
 * dmanic_queue_create() - DMANIC_IOC_QUEUE_CREATE
 * @ctx: the context
 * @arg: in and out
 * @late: the descriptor to install
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
int dmanic_queue_create(struct dmanic_ctx *ctx, struct dmanic_queue_create *arg,
			struct dmanic_late *late)
{
	struct dmanic_queue *queue;
	int ret;

	memset(&arg->refusal, 0, sizeof(arg->refusal));
	arg->fd = -1;
	ret = queue_check(arg);
	if (ret)
		return ret;
	queue = queue_new(ctx, arg);
	if (IS_ERR(queue))
		return PTR_ERR(queue);

	ret = dmanic_late_open(late, "[dmanic-queue]", &queue_fops, queue);
	if (ret) {
		dmanic_poller_stop(queue);
		queue_free(queue);
		return ret;
	}
	get_file(ctx->file);
	mutex_lock(&queue->node->lock);
	list_add_tail(&queue->entry, &queue->node->queues);
	if (queue->node->dead)
		dmanic_queue_set_dead(queue);
	mutex_unlock(&queue->node->lock);
	arg->fd = late->fd;
	return 0;
}
