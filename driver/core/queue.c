// SPDX-License-Identifier: GPL-2.0-only
/*
 * queue.c - submission and completion rings
 *
 * In:  ENTER lets quick.c do what it can at the head of the ring, then takes
 *      entries, one op each, and hands the batch to the link. Ops behind a
 *      FENCE wait in @deferred until what is before them is done.
 * Out: dmanic_queue_complete() writes completions, frees ops, starts deferred
 *      ones, wakes waiters: once a batch.
 *
 * The completion ring never overflows: an op is only taken while operations in
 * flight plus completions not consumed are fewer than its entries. cq_head is
 * the program's to write, so an impossible value counts as "no room".
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "dmanic.h"
#include "link.h"
#include "op.h"
#include "trace.h"

static void queue_set_flags(struct dmanic_queue *queue, u32 set, u32 clear)
{
	u32 flags = (queue->flags & ~clear) | set;

	lockdep_assert_held(&queue->lock);
	if (flags != queue->flags) {
		queue->flags = flags;
		WRITE_ONCE(queue->ring->flags, flags);
	}
}

/* Completions not consumed; more than cq_entries when cq_head is impossible */
static u32 queue_unconsumed(const struct dmanic_queue *queue)
{
	/* F: what is counted here is in the ring */
	u32 shown = smp_load_acquire(&queue->cq_shown);

	/* D: completions up to cq_head are read before their places are reused */
	return shown - smp_load_acquire(&queue->ring->cq_head);
}

/* ---- completion ---- */

/* Deferred ops whose turn it is go to @ready, those that never get one to @ops */
static void queue_promote(struct dmanic_queue *queue, struct list_head *ready,
			  struct list_head *ops)
{
	struct dmanic_op *op, *next;
	u32 gone = DMANIC_STATUS_OK;

	lockdep_assert_held(&queue->lock);
	/* What was promoted before has to be with the link first */
	if (queue->promoting)
		return;
	if (dmanic_node_dead(queue->node))
		gone = DMANIC_STATUS_LINK_DOWN;
	else if (queue->dying)
		gone = DMANIC_STATUS_CANCELLED;

	list_for_each_entry_safe(op, next, &queue->deferred, entry) {
		if (!gone && (op->flags & DMANIC_SQE_FENCE) && queue->started)
			break;
		queue->nr_deferred--;
		if (gone) {
			op->status = gone;
			list_move_tail(&op->entry, ops);
			continue;
		}
		op->started = true;
		queue->started++;
		queue->promoting = true;
		list_move_tail(&op->entry, ready);
	}
}

/* The promoted ones are with the link: go on */
static void queue_promoted(struct dmanic_queue *queue, struct list_head *ready,
			   struct list_head *ops)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	queue->promoting = false;
	queue_promote(queue, ready, ops);
	spin_unlock_irqrestore(&queue->lock, flags);
}

static void queue_wake(struct dmanic_queue *queue, bool signal)
{
	/* E: queue_publish()'s barrier is between the tail and this look */
	if (waitqueue_active(&queue->wait))
		wake_up_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
	if (signal)
		dmanic_eventfd_signal(queue->eventfd);
}

static void queue_count(struct dmanic_node *node, const struct dmanic_sums *sums)
{
	if (sums->completed)
		dmanic_stat_add(node, DMANIC_STATS_A_COMPLETED, sums->completed);
	if (sums->failed)
		dmanic_stat_add(node, DMANIC_STATS_A_FAILED, sums->failed);
	if (sums->read_bytes)
		dmanic_stat_add(node, DMANIC_STATS_A_READ_BYTES, sums->read_bytes);
	if (sums->write_bytes)
		dmanic_stat_add(node, DMANIC_STATS_A_WRITE_BYTES, sums->write_bytes);
	if (sums->notifies)
		dmanic_stat_add(node, DMANIC_STATS_A_NOTIFIES_SENT, sums->notifies);
}

/*
 * Complete the ops of @queue at the front of @ops: post, count, let go of their
 * memory (a run of the same one at once), free.
 */
static void queue_finish(struct dmanic_queue *queue, struct list_head *ops,
			 struct dmanic_sums *sums)
{
	u32 tail = queue->cq_tail, mask = queue->cq_entries - 1;
	u32 held = 0, started = 0, nr = 0;
	struct dmanic_mem *mem = NULL;
	struct dmanic_op *op;
	LIST_HEAD(cut);

	lockdep_assert_held(&queue->lock);
	list_for_each_entry(op, ops, entry) {
		if (unlikely(op->queue != queue))
			break;
		trace_dmanic_done(op);
		if (op->status)
			sums->failed++;
		else
			dmanic_sums_add(sums, op->opcode, op->flags, op->result);
		if (op->status || !(op->flags & DMANIC_SQE_SILENT))
			dmanic_cqe_fill(&queue->cq[tail++ & mask], op->cookie,
					op->status, op->opcode, op->flags, op->result);
		started += op->started;
		nr++;
		if (!op->mem)
			continue;
		if (op->mem != mem && held)
			dmanic_mem_put(mem, held);
		held = op->mem == mem ? held + 1 : 1;
		mem = op->mem;
	}
	if (held)
		dmanic_mem_put(mem, held);
	queue->cq_tail = tail;
	queue->started -= started;
	queue->in_flight -= nr;
	list_cut_before(&cut, ops, &op->entry);
	list_splice(&cut, &queue->free);
}

/* Show completions; true: the caller has to signal, once unlocked */
static bool queue_publish(struct dmanic_queue *queue)
{
	struct dmanic_queue_ring *ring = queue->ring;
	bool news = queue->cq_shown != queue->cq_tail;

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

/* Complete the ops of the first one's queue; called under RCU */
static void queue_complete_some(struct dmanic_queue *queue, struct list_head *ops,
				struct list_head *ready)
{
	struct dmanic_sums sums = {};
	unsigned long flags;
	bool signal;

	spin_lock_irqsave(&queue->lock, flags);
	queue_finish(queue, ops, &sums);
	queue_count(queue->node, &sums);
	if (queue->nr_deferred)
		queue_promote(queue, ready, ops);
	signal = queue_publish(queue);
	spin_unlock_irqrestore(&queue->lock, flags);

	/* From here on only RCU keeps the queue */
	queue_wake(queue, signal);
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
	struct dmanic_queue *queue;
	LIST_HEAD(ready);

	while (!list_empty(ops)) {
		queue = list_first_entry(ops, struct dmanic_op, entry)->queue;
		/* Once its last op is done, only RCU keeps the queue */
		rcu_read_lock();
		queue_complete_some(queue, ops, &ready);
		while (!list_empty(&ready)) {
			queue->node->link->submit(queue->node, &ready);
			queue_promoted(queue, &ready, ops);
		}
		rcu_read_unlock();
	}
}

/* ---- submission ---- */

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
	used = queue_unconsumed(queue);
	if (used > queue->cq_entries) {
		queue_set_flags(queue, DMANIC_RING_BAD_INDEX, 0);
		spin_unlock_irq(&queue->lock);
		return -EINVAL;
	}
	room = queue->cq_entries - used;
	room = room > queue->in_flight ? room - queue->in_flight : 0;
	queue_set_flags(queue, want > room ? DMANIC_RING_CQ_FULL : 0,
			DMANIC_RING_BAD_INDEX | DMANIC_RING_CQ_FULL);
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
		if (queue->nr_deferred || queue->promoting ||
		    ((op->flags & DMANIC_SQE_FENCE) && queue->started)) {
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
static void queue_hold(struct list_head *ops)
{
	struct dmanic_mem *mem = NULL;
	struct dmanic_op *op;
	u32 held = 0;

	list_for_each_entry(op, ops, entry) {
		if (op->conn)
			op->target = op->conn->target;
		if (!op->mem)
			continue;
		if (op->mem != mem && held)
			refcount_add(held, &mem->ref);
		held = op->mem == mem ? held + 1 : 1;
		mem = op->mem;
	}
	if (held)
		refcount_add(held, &mem->ref);
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
	queue_hold(&batch->ops);
	rcu_read_unlock();
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

	spin_lock_irq(&queue->lock);
	tail = queue->cq_tail;
	used = queue_unconsumed(queue);
	/* Only who holds submit_lock makes it busy, so it stays idle */
	busy = queue->in_flight || used >= queue->cq_entries;
	if (!busy)
		queue_set_flags(queue, 0, DMANIC_RING_BAD_INDEX | DMANIC_RING_CQ_FULL);
	spin_unlock_irq(&queue->lock);
	if (busy)
		return 0;

	done = dmanic_quick(queue, min(left, queue->cq_entries - used), &tail, &sums);
	if (!done)
		return 0;
	spin_lock_irq(&queue->lock);
	queue->cq_tail = tail;
	queue_count(queue->node, &sums);
	signal = queue_publish(queue);
	spin_unlock_irq(&queue->lock);
	queue_wake(queue, signal);
	return done;
}

/*
 * Take up to @to_submit entries. Return: how many, or -EINVAL; @spend is how
 * long the link makes the poster pay.
 */
static int queue_submit(struct dmanic_queue *queue, u32 to_submit, u64 *spend)
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
	/* A: the tail before the entries */
	tail = smp_load_acquire(&queue->ring->sq_tail);
	if (tail - queue->sq_head > queue->sq_entries) {
		spin_lock_irq(&queue->lock);
		queue_set_flags(queue, DMANIC_RING_BAD_INDEX, 0);
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
		}
		total += nr;
		/* B: entries are read before the head */
		smp_store_release(&queue->ring->sq_head, queue->sq_head);
		if (!list_empty(&batch.failed))
			dmanic_queue_complete(&batch.failed);
		cond_resched();
	}
	if (!total)
		return left ? nr : 0;
	dmanic_stat_add(queue->node, DMANIC_STATS_A_POSTED, total);
	dmanic_stat_add(queue->node, DMANIC_STATS_A_DOORBELLS, 1);
	if (!list_empty(&batch.ready))
		*spend = queue->node->link->submit(queue->node, &batch.ready);
	return total;
}

/* A modelled card: the poster pays with time, not with CPU */
static void queue_spend(u64 ns)
{
	ktime_t until = ktime_add_ns(ktime_get(), ns);

	while (ktime_before(ktime_get(), until) && !fatal_signal_pending(current)) {
		set_current_state(TASK_KILLABLE);
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
}

static bool queue_has(const struct dmanic_queue *queue, u32 min_complete)
{
	return queue_unconsumed(queue) >= min_complete;
}

/* Entries that were left for lack of room may be taken now */
static bool queue_has_room(const struct dmanic_queue *queue, u32 to_submit)
{
	return to_submit &&
	       READ_ONCE(queue->ring->sq_tail) != READ_ONCE(queue->sq_head) &&
	       queue_unconsumed(queue) + READ_ONCE(queue->in_flight) <
	       queue->cq_entries;
}

static bool queue_wait_over(const struct dmanic_queue *queue,
			    const struct dmanic_enter *arg)
{
	return queue_has(queue, arg->min_complete) ||
	       queue_has_room(queue, arg->to_submit - arg->submitted) ||
	       dmanic_node_dead(queue->node);
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
	ret = queue_submit(queue, arg->to_submit - arg->submitted, &spend);
	if (ret > 0)
		arg->submitted += ret;
	if (spend)
		queue_spend(spend);
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

	do {
		if (dmanic_node_dead(queue->node))
			return -ENODEV;
		ret = queue_submit_some(queue, arg);
		if (!ret && arg->min_complete)
			ret = queue_wait(queue, arg, until);
	} while (!ret && !queue_has(queue, arg->min_complete));

	arg->available = min(queue_unconsumed(queue), queue->cq_entries);
	if (dmanic_node_dead(queue->node))
		return -ENODEV;
	return ret;
}

static const struct dmanic_ioctl queue_ioctls[] = {
	{ DMANIC_IOC_ENTER, sizeof(struct dmanic_enter), sizeof(struct dmanic_enter),
	  queue_ioctl_enter },
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
	struct dmanic_queue_ring *ring = queue->ring;
	__poll_t mask = 0;

	poll_wait(file, &queue->wait, table);
	/* E: on the list before looking at the tail */
	smp_mb();
	if (queue_unconsumed(queue))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(ring->sq_tail) - READ_ONCE(queue->sq_head) < queue->sq_entries)
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (dmanic_node_dead(queue->node))
		mask |= EPOLLERR | EPOLLHUP;
	return mask;
}

static int queue_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dmanic_queue *queue = file->private_data;

	return dmanic_mem_mmap(queue->ring_mem, vma, (u64)vma->vm_pgoff << PAGE_SHIFT);
}

/**
 * dmanic_queue_set_dead() - the device goes: waiters get ENODEV
 * @queue: in node->queues, node->lock held
 */
void dmanic_queue_set_dead(struct dmanic_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue_set_flags(queue, DMANIC_RING_DEAD, 0);
	spin_unlock_irq(&queue->lock);
	wake_up_all(&queue->wait);
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
	if (queue->ring)
		vunmap(queue->ring);
	if (queue->ring_mem)
		dmanic_mem_put_sleep(queue->ring_mem);
	kvfree(queue->ops);
	atomic_dec(&queue->node->nr_queues);
	call_rcu(&queue->rcu, queue_free_rcu);
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
	queue_promote(queue, &ready, &ops);
	spin_unlock_irq(&queue->lock);
	queue->node->link->cancel(queue->node, queue);
	dmanic_queue_complete(&ops);
	wait_event(queue->wait, queue_idle(queue));
}

static int queue_release(struct inode *inode, struct file *file)
{
	struct dmanic_queue *queue = file->private_data;
	struct file *ctx_file = queue->ctx->file;

	mutex_lock(&queue->node->lock);
	list_del(&queue->entry);
	mutex_unlock(&queue->node->lock);
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
	.release = queue_release,
	.llseek = noop_llseek,
};

/* ---- creation ---- */

static int queue_check(struct dmanic_queue_create *arg)
{
	u32 most = max(arg->sq_entries, arg->cq_entries);

	if (arg->flags)
		return -EOPNOTSUPP;
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
	u32 i;

	queue->ops = kvcalloc(queue->cq_entries, sizeof(*queue->ops),
			      GFP_KERNEL_ACCOUNT);
	if (!queue->ops)
		return -ENOMEM;
	for (i = 0; i < queue->cq_entries; i++) {
		queue->ops[i].queue = queue;
		list_add_tail(&queue->ops[i].entry, &queue->free);
	}
	return 0;
}

static struct dmanic_queue *queue_new(struct dmanic_ctx *ctx,
				      struct dmanic_queue_create *arg)
{
	struct dmanic_queue *queue;
	int ret;

	ret = dmanic_limit_take(&ctx->node->nr_queues, DMANIC_MAX_QUEUES,
				DMANIC_LIMIT_QUEUES, &arg->refusal);
	if (ret)
		return ERR_PTR(ret);
	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue) {
		atomic_dec(&ctx->node->nr_queues);
		return ERR_PTR(-ENOMEM);
	}
	queue->ctx = ctx;
	queue->node = ctx->node;
	queue->sq_entries = arg->sq_entries;
	queue->cq_entries = arg->cq_entries;
	mutex_init(&queue->submit_lock);
	spin_lock_init(&queue->lock);
	init_waitqueue_head(&queue->wait);
	INIT_LIST_HEAD(&queue->free);
	INIT_LIST_HEAD(&queue->deferred);

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
