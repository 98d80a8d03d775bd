// SPDX-License-Identifier: GPL-2.0-only
/*
 * uring.c - io_uring commands on queues and interrupts
 *
 * A POST does what ENTER does with one entry, but completes in the io_uring:
 * at once when the poster can do it itself (quick.c), else when the operation
 * is done. The request holds the queue's file, so the queue lives until its
 * last command is done.
 *
 * A dying ring waits for its commands. Where the kernel can cancel them, posts
 * are given up and waits end. Where it cannot, there are no waits, and posts only
 * as many as are done within a fraction of a second, on links that are not slow and
 * behind no more than that of their own queue (queue->taken): node->posted counts
 * them, and account->posted those of a user, who has his share only. Links do not delay
 * anything as long as the first is not zero, even if they become slow, and the loop link
 * serves their queues first (queue->posted). Over a wire they may take longer, or as long
 * as a peer likes: what takes far too long is given up (queue->uring_limit).
 *
 * Cancelling runs under the ring's uring_lock, as long as the command is not
 * done; so does the submission of a command, unless it comes from a worker of
 * io_uring (IO_URING_F_UNLOCKED): then cancelling may come as soon as the command
 * is marked. Whatever it needs is in place before that.
 *
 * Commands that do not end at once are completed by task work, without a lock
 * held: io_uring may signal an eventfd.
 */
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "compat.h"
#include "dmanic.h"
#include "link.h"
#include "op.h"
#include "queue.h"
#include "uring.h"

static const int uring_errnos[DMANIC_STATUS_COUNT] = {
	[DMANIC_STATUS_INVALID] = -EINVAL,
	[DMANIC_STATUS_NO_SEGMENT] = -ENXIO,
	[DMANIC_STATUS_NO_HANDLE] = -ENOENT,
	[DMANIC_STATUS_BOUNDS] = -ERANGE,
	[DMANIC_STATUS_ACCESS] = -EACCES,
	[DMANIC_STATUS_PEER_DEAD] = -EHOSTUNREACH,
	[DMANIC_STATUS_PEER_RESTARTED] = -ECONNRESET,
	[DMANIC_STATUS_LINK_DOWN] = -ENETDOWN,
	[DMANIC_STATUS_TIMED_OUT] = -ETIMEDOUT,
	[DMANIC_STATUS_CANCELLED] = -ECANCELED,
	[DMANIC_STATUS_LIMIT] = -ENOBUFS,
	[DMANIC_STATUS_SOURCE_CHANGED] = -EILSEQ,
	[DMANIC_STATUS_UNSUPPORTED] = -EOPNOTSUPP,
};

static int uring_res(u64 result)
{
	return min_t(u64, result, INT_MAX);
}

/* A command that succeeded at once. Return: for io_uring */
static int uring_done(struct io_uring_cmd *cmd, int res, u64 result,
		      unsigned int issue_flags)
{
	if (DMANIC_URING_RETURNS && !(issue_flags & IO_URING_F_CQE32))
		return res;
	io_uring_cmd_done(cmd, res, result, issue_flags);
	return -EIOCBQUEUED;
}

/* ---- posts ---- */

/**
 * struct uring_post - in the command of a post that did not complete at once
 * @op: under queue->lock; NULL once it is done
 * @next: done commands, to be completed
 * @result: of the operation; before that: its part of node->posted
 * @status: of the operation
 * @opcode: of the operation
 */
struct uring_post {
	struct dmanic_op *op;
	struct io_uring_cmd *next;
	u64 result;
	u32 status;
	u8 opcode;
};

/* What an operation and a block of it count, besides their bytes */
#define URING_OP_SIZE		SZ_4K
#define URING_BLOCK_SIZE	SZ_64
/* Most that a user has posted on a node where nobody can cancel it, and all have */
#define URING_USER_MAX		(DMANIC_URING_POST_MAX + URING_OP_SIZE)
#define URING_POSTED_MAX	(DMANIC_USER_SHARE * URING_USER_MAX)

static struct uring_post *to_post(struct io_uring_cmd *cmd)
{
	return io_uring_cmd_to_pdu(cmd, struct uring_post);
}

/* It is done, or was not begun */
static void uring_posted_sub(struct dmanic_queue *queue, u64 size)
{
	if (DMANIC_URING_CANCEL)
		return;
	atomic64_sub(size, &queue->node->posted);
	atomic64_sub(size, &queue->ctx->account->posted);
}

/**
 * dmanic_uring_op_done() - instead of a completion entry
 * @op: done, and posted by a command; queue->lock is held
 * @done: the command is added here
 */
void dmanic_uring_op_done(struct dmanic_op *op, struct io_uring_cmd **done)
{
	struct uring_post *post = to_post(op->uring);

	lockdep_assert_held(&op->queue->lock);
	uring_posted_sub(op->queue, post->result);
	WRITE_ONCE(op->queue->posted, op->queue->posted - 1);
	post->op = NULL;
	post->result = op->result;
	post->status = op->status;
	post->opcode = op->opcode;
	post->next = *done;
	*done = op->uring;
	op->uring = NULL;
	op->given_up = false;
}

static void uring_post_work(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct uring_post *post = to_post(cmd);
	int res;

	if (post->status)
		res = uring_errnos[post->status];
	else
		res = dmanic_opcode_atomic(post->opcode) ? 0 : uring_res(post->result);
	io_uring_cmd_done(cmd, res, post->result, issue_flags);
}

/**
 * dmanic_uring_complete() - any context, no lock held
 * @done: from dmanic_uring_op_done(), or NULL
 */
void dmanic_uring_complete(struct io_uring_cmd *done)
{
	struct io_uring_cmd *cmd;

	while (done) {
		cmd = done;
		done = to_post(cmd)->next;
		dmanic_uring_complete_lazy(cmd, uring_post_work);
	}
}

/* Give up @op, wherever it is; queue->lock is held, and released */
static void uring_post_give_up(struct dmanic_queue *queue, struct dmanic_op *op)
	__releases(&queue->lock)
{
	LIST_HEAD(ops);

	WRITE_ONCE(op->given_up, true);
	dmanic_queue_drop(queue, op, &ops);
	spin_unlock_irq(&queue->lock);
	dmanic_queue_complete(&ops);
	queue->node->link->cancel(queue->node, queue, op);
}

/* The ring dies */
static void uring_post_cancel(struct dmanic_queue *queue, struct io_uring_cmd *cmd)
{
	struct dmanic_op *op;

	spin_lock_irq(&queue->lock);
	op = to_post(cmd)->op;
	if (op)
		uring_post_give_up(queue, op);
	else
		spin_unlock_irq(&queue->lock);
}

/*
 * Where nobody can cancel posts, they are looked at each time this has passed: one that
 * was seen before is given up, with one more look for each so many bytes that were
 * under way before it when it was posted, so a device that moves 4 MiB a second of that ends
 * what it began. What comes later, on this queue or another one, does not make it longer, though
 * it may take its turns on the wire: a dying ring waits for that. At most it is
 * (2 + (URING_POSTED_MAX + URING_USER_MAX) / URING_LIMIT_BYTES) * URING_LIMIT, not two minutes.
 */
#define URING_LIMIT		(5 * HZ)
#define URING_LIMIT_BYTES	SZ_16M

static u32 uring_limit_looks(struct dmanic_queue *queue)
{
	u64 bytes;

	if (DMANIC_URING_CANCEL)
		return 0;
	/* What somebody else had refused may be in it for a moment */
	bytes = min_t(u64, atomic64_read(&queue->node->posted), URING_POSTED_MAX) +
		atomic64_read(&queue->taken);
	return 1 + div_u64(bytes, URING_LIMIT_BYTES);
}

/* As long as it is not done it is given up again */
static void uring_limit_one(struct dmanic_queue *queue, struct dmanic_op *op)
{
	struct io_uring_cmd *cmd;

	spin_lock_irq(&queue->lock);
	/* Pairs with uring_post_general(): its looks are there */
	cmd = smp_load_acquire(&op->uring);
	if (cmd && !op->looks) {
		uring_post_give_up(queue, op);
		return;
	}
	if (cmd)
		op->looks--;
	spin_unlock_irq(&queue->lock);
}

static void uring_limit_work(struct work_struct *work)
{
	struct dmanic_queue *queue = container_of(work, struct dmanic_queue,
						  uring_limit.work);
	u32 i, posted;

	for (i = 0; i < queue->cq_entries; i++) {
		if (READ_ONCE(queue->ops[i].uring))
			uring_limit_one(queue, &queue->ops[i]);
		cond_resched();
	}
	spin_lock_irq(&queue->lock);
	posted = queue->posted;
	spin_unlock_irq(&queue->lock);
	if (posted)
		schedule_delayed_work(&queue->uring_limit, URING_LIMIT);
}

/* After queue->posted was counted up: either the work sees that, or it is begun here */
static void uring_limit_begin(struct dmanic_queue *queue)
{
	if (!DMANIC_URING_CANCEL && !delayed_work_pending(&queue->uring_limit))
		schedule_delayed_work(&queue->uring_limit, URING_LIMIT);
}

/**
 * dmanic_uring_queue_init() - what a queue has for commands
 * @queue: a new one
 */
void dmanic_uring_queue_init(struct dmanic_queue *queue)
{
	dmanic_uring_waits_init(&queue->uring_waits);
	INIT_DELAYED_WORK(&queue->uring_limit, uring_limit_work);
}

/**
 * dmanic_uring_queue_exit() - may sleep
 * @queue: its file is closed, so it has no command
 */
void dmanic_uring_queue_exit(struct dmanic_queue *queue)
{
	cancel_delayed_work_sync(&queue->uring_limit);
}

/* How long an operation may take, in bytes; how much a list moves nobody knows */
static u64 uring_size(u8 opcode, u64 block, u32 count)
{
	if (opcode == DMANIC_OP_LIST)
		return URING_USER_MAX + 1;
	block = min_t(u64, block, URING_USER_MAX);
	if (count > 1)
		block += URING_BLOCK_SIZE;
	return min_t(u64, count * block, URING_USER_MAX) + URING_OP_SIZE;
}

u64 __dmanic_uring_taken(const struct dmanic_op *op)
{
	return uring_size(op->opcode, op->block, op->count);
}

static u64 uring_post_size(const struct dmanic_sqe *sqe)
{
	if (sqe->opcode == DMANIC_OP_WRITE_STRIDED ||
	    sqe->opcode == DMANIC_OP_READ_STRIDED)
		return uring_size(sqe->opcode, sqe->block, sqe->count);
	return uring_size(sqe->opcode, sqe->length, 1);
}

/* Count what cannot be cancelled. 0, or -errno when it might take long */
static int uring_posted_add(struct dmanic_queue *queue, const struct dmanic_sqe *sqe,
			    u64 *size)
{
	struct dmanic_account *account = queue->ctx->account;
	struct dmanic_node *node = queue->node;
	int ret = 0;

	*size = uring_post_size(sqe);
	/* What a slow link does not let in is not counted for a moment either: it would hurry */
	if (*size > URING_USER_MAX || dmanic_link_slow(node))
		return -EOPNOTSUPP;
	/* It comes after those; submit_lock is held, so they only get fewer */
	if (*size + atomic64_read(&queue->taken) > URING_USER_MAX)
		return -EBUSY;
	/* First, for others are not to see what he may not have */
	if (atomic64_add_return(*size, &account->posted) > URING_USER_MAX) {
		atomic64_sub(*size, &account->posted);
		return -EBUSY;
	}
	/*
	 * Fully ordered, before asking whether the link is slow: if it becomes
	 * slow after that, it sees the count first.
	 */
	if (atomic64_add_return(*size, &node->posted) > URING_POSTED_MAX)
		ret = -EBUSY;
	else if (dmanic_link_slow(node))
		ret = -EOPNOTSUPP;
	if (ret)
		uring_posted_sub(queue, *size);
	return ret;
}

/* The general way */
static int uring_post_general(struct dmanic_queue *queue, struct io_uring_cmd *cmd,
			      const struct dmanic_sqe *sqe, unsigned int issue_flags)
{
	struct dmanic_op *op;
	bool behind;
	u64 size = 0;
	int ret = 0;

	lockdep_assert_held(&queue->submit_lock);
	if ((sqe->flags & DMANIC_SQE_SILENT) || sqe->cookie)
		return -EINVAL;
	if (!DMANIC_URING_CANCEL)
		ret = uring_posted_add(queue, sqe, &size);
	if (ret)
		return ret;
	op = dmanic_queue_post_begin(queue, &behind);
	if (!op) {
		uring_posted_sub(queue, size);
		return -EBUSY;
	}
	to_post(cmd)->result = size;
	to_post(cmd)->op = op;
	op->looks = uring_limit_looks(queue);
	/* Pairs with uring_limit_one() */
	smp_store_release(&op->uring, cmd);
	uring_limit_begin(queue);
	/* From here on it completes by io_uring_cmd_done(), and may be cancelled */
	dmanic_uring_mark_cancelable(cmd, issue_flags);
	dmanic_queue_post(queue, op, sqe, behind);
	return -EIOCBQUEUED;
}

/* -EAGAIN: io_uring comes again from a thread that may sleep */
static int uring_submit_lock(struct dmanic_queue *queue, unsigned int issue_flags)
{
	if (unlikely(!mutex_trylock(&queue->submit_lock))) {
		if (issue_flags & IO_URING_F_NONBLOCK)
			return -EAGAIN;
		if (mutex_lock_interruptible(&queue->submit_lock))
			return -EINTR;
	}
	if (likely(!dmanic_queue_dying(queue)))
		return 0;
	mutex_unlock(&queue->submit_lock);
	return -ESHUTDOWN;
}

/* What an entry of 128 bytes has behind a struct dmanic_sqe */
static bool uring_tail_zero(const struct dmanic_sqe *sqe)
{
	const u64 *tail = (const u64 *)(sqe + 1);

	return !(READ_ONCE(tail[0]) | READ_ONCE(tail[1]));
}

static int uring_queue_post(struct dmanic_queue *queue, struct io_uring_cmd *cmd,
			    unsigned int issue_flags)
{
	const struct dmanic_sqe *shared = dmanic_uring_arg(cmd);
	struct dmanic_sqe sqe;
	u64 result;
	int ret;

	if (unlikely(!(issue_flags & IO_URING_F_SQE128) || !uring_tail_zero(shared)))
		return -EINVAL;
	/* The program may be writing to it */
	sqe = dmanic_sqe_read(shared);
	/* Where would the old value go */
	if (unlikely(dmanic_opcode_atomic(sqe.opcode) &&
		     !(issue_flags & IO_URING_F_CQE32)))
		return -EINVAL;
	ret = uring_submit_lock(queue, issue_flags);
	if (unlikely(ret))
		return ret;
	ret = dmanic_quick_one(queue, &sqe, &result);
	if (unlikely(ret < 0)) {
		ret = uring_post_general(queue, cmd, &sqe, issue_flags);
		result = ret;
	}
	mutex_unlock(&queue->submit_lock);
	/* Of many in one system call each may have woken very many */
	cond_resched();
	return likely(ret >= 0) ? uring_done(cmd, ret, result, issue_flags) : ret;
}

static int uring_queue_enter(struct dmanic_queue *queue, struct io_uring_cmd *cmd,
			     unsigned int issue_flags)
{
	const struct dmanic_uring_enter *shared = dmanic_uring_arg(cmd);
	u32 to_submit = READ_ONCE(shared->to_submit);
	u64 spend;
	int ret;

	if (READ_ONCE(shared->min_complete) || READ_ONCE(shared->timeout_ns))
		return -EINVAL;
	if (!to_submit) {
		if (dmanic_queue_dying(queue))
			return -ESHUTDOWN;
		dmanic_poller_wake(queue);
		return uring_done(cmd, 0, 0, issue_flags);
	}
	ret = uring_submit_lock(queue, issue_flags);
	if (ret)
		return ret;
	/* What the link's model makes a poster pay delays the operations alone */
	ret = dmanic_queue_submit(queue, to_submit, &spend);
	mutex_unlock(&queue->submit_lock);
	dmanic_poller_wake(queue);
	return ret >= 0 ? uring_done(cmd, ret, ret, issue_flags) : ret;
}

/* ---- waits ---- */

/**
 * struct uring_wait - a command that waits
 * @entry: in waits->list
 * @waits: where; lives as long as the command's file
 * @cmd: the command
 * @over: is it over, and its results; -EINPROGRESS if not
 * @object: queue or interrupt
 * @target: what it waits for
 * @timer: its time-out
 * @begun: under waits->lock: it is in the list, or was
 * @cancelled: under waits->lock: before it had begun
 * @taken: under waits->lock: somebody completes it
 * @res: then
 * @result: then
 */
struct uring_wait {
	struct list_head entry;
	struct dmanic_uring_waits *waits;
	struct io_uring_cmd *cmd;
	int (*over)(void *object, u64 target, u64 *result);
	void *object;
	u64 target;
	struct hrtimer timer;
	bool begun;
	bool cancelled;
	bool taken;
	int res;
	u64 result;
};

static struct uring_wait **to_wait(struct io_uring_cmd *cmd)
{
	return io_uring_cmd_to_pdu(cmd, struct uring_wait *);
}

static void uring_wait_work(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct uring_wait *wait = *to_wait(cmd);

	hrtimer_cancel(&wait->timer);
	io_uring_cmd_done(cmd, wait->res, wait->result, issue_flags);
	kfree(wait);
}

/* Off the list; true: the caller completes it, and nobody else */
static bool uring_wait_take(struct uring_wait *wait, int res)
{
	lockdep_assert_held(&wait->waits->lock);
	if (res == -EINPROGRESS || wait->taken)
		return false;
	wait->taken = true;
	wait->res = res;
	list_del_init(&wait->entry);
	wait->waits->nr--;
	return true;
}

static int uring_wait_over(struct uring_wait *wait)
{
	return wait->over(wait->object, wait->target, &wait->result);
}

static void uring_wait_end(struct uring_wait *wait, int res)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&wait->waits->lock, flags);
	/* Whoever is about to begin it looks then */
	wait->cancelled |= !wait->begun;
	mine = wait->begun && uring_wait_take(wait, res);
	spin_unlock_irqrestore(&wait->waits->lock, flags);
	if (mine)
		io_uring_cmd_complete_in_task(wait->cmd, uring_wait_work);
}

static enum hrtimer_restart uring_wait_timeout(struct hrtimer *timer)
{
	uring_wait_end(container_of(timer, struct uring_wait, timer), -ETIME);
	return HRTIMER_NORESTART;
}

/**
 * __dmanic_uring_wake() - something happened: end what waited for it
 * @waits: of the queue or interrupt
 */
void __dmanic_uring_wake(struct dmanic_uring_waits *waits)
{
	struct uring_wait *wait, *next;
	unsigned long flags;
	LIST_HEAD(over);

	spin_lock_irqsave(&waits->lock, flags);
	list_for_each_entry_safe(wait, next, &waits->list, entry)
		if (uring_wait_take(wait, uring_wait_over(wait)))
			list_add_tail(&wait->entry, &over);
	spin_unlock_irqrestore(&waits->lock, flags);
	list_for_each_entry_safe(wait, next, &over, entry)
		io_uring_cmd_complete_in_task(wait->cmd, uring_wait_work);
}

/* A wake-up looks at all of them, with irqs off */
#define URING_WAITS_MAX	1024U

static struct uring_wait *uring_wait_new(struct io_uring_cmd *cmd,
					 const struct uring_wait *like)
{
	struct uring_wait *wait;

	wait = kmemdup(like, sizeof(*like), GFP_KERNEL_ACCOUNT);
	if (!wait)
		return NULL;
	wait->cmd = cmd;
	INIT_LIST_HEAD(&wait->entry);
	hrtimer_init(&wait->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	wait->timer.function = uring_wait_timeout;
	*to_wait(cmd) = wait;
	return wait;
}

static int uring_wait_begin(struct io_uring_cmd *cmd, unsigned int issue_flags,
			    const struct uring_wait *like, u64 timeout_ns)
{
	struct dmanic_uring_waits *waits = like->waits;
	struct uring_wait *wait;
	bool over;
	int res;

	wait = uring_wait_new(cmd, like);
	if (!wait)
		return -ENOMEM;
	/* From here on it completes by io_uring_cmd_done(), and may be cancelled */
	dmanic_uring_mark_cancelable(cmd, issue_flags);

	spin_lock_irq(&waits->lock);
	wait->begun = true;
	list_add_tail(&wait->entry, &waits->list);
	waits->nr++;
	/* E: on the list before looking */
	smp_mb();
	res = uring_wait_over(wait);
	if (wait->cancelled)
		res = -ECANCELED;
	else if (res == -EINPROGRESS && waits->nr > URING_WAITS_MAX)
		res = -EBUSY;
	over = uring_wait_take(wait, res);
	if (!over && timeout_ns < KTIME_MAX)
		hrtimer_start(&wait->timer, ns_to_ktime(timeout_ns), HRTIMER_MODE_REL);
	spin_unlock_irq(&waits->lock);
	/* Unless it is over, it may be gone already */
	if (over)
		io_uring_cmd_complete_in_task(cmd, uring_wait_work);
	return -EIOCBQUEUED;
}

static int uring_queue_over(void *object, u64 target, u64 *result)
{
	struct dmanic_queue *queue = object;
	u32 available = min(dmanic_queue_unconsumed(queue), queue->cq_entries);
	int over = dmanic_queue_over(queue);

	*result = available;
	if (over)
		return over;
	return available >= target || dmanic_queue_wants(queue) ? (int)available :
								  -EINPROGRESS;
}

static int uring_queue_wait(struct dmanic_queue *queue, struct io_uring_cmd *cmd,
			    unsigned int issue_flags)
{
	const struct dmanic_uring_enter *shared = dmanic_uring_arg(cmd);
	u64 timeout_ns = READ_ONCE(shared->timeout_ns);
	const struct uring_wait wait = {
		.waits = &queue->uring_waits,
		.over = uring_queue_over,
		.object = queue,
		.target = READ_ONCE(shared->min_complete),
	};

	if (!DMANIC_URING_CANCEL)
		return -EOPNOTSUPP;
	if (READ_ONCE(shared->to_submit) || wait.target > queue->cq_entries)
		return -EINVAL;
	return uring_wait_begin(cmd, issue_flags, &wait, timeout_ns);
}

static int uring_irq_over(void *object, u64 target, u64 *result)
{
	struct dmanic_irq *irq = object;
	int over;

	/* F: what is counted here is in the ring */
	*result = smp_load_acquire(&irq->raised);
	over = dmanic_irq_over(irq);
	if (over)
		return over;
	return (s64)(*result - target) >= 0 ? 0 : -EINPROGRESS;
}

/* ---- the commands ---- */

/**
 * dmanic_uring_queue_cmd() - IORING_OP_URING_CMD on a queue
 * @cmd: the command
 * @issue_flags: IO_URING_F_*
 *
 * Return: the result, or -EIOCBQUEUED.
 */
int dmanic_uring_queue_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct dmanic_queue *queue = cmd->file->private_data;

	if (unlikely(issue_flags & DMANIC_URING_F_CANCEL)) {
		if (cmd->cmd_op == DMANIC_URING_POST)
			uring_post_cancel(queue, cmd);
		else
			uring_wait_end(*to_wait(cmd), -ECANCELED);
		return 0;
	}
	if (unlikely(cmd->flags & IORING_URING_CMD_FIXED))
		return -EINVAL;
	/* Who submits looks whether it was stopped under a lock, who waits does anyway */
	if (unlikely(dmanic_node_dead(queue->node)))
		return -ENODEV;
	switch (cmd->cmd_op) {
	case DMANIC_URING_POST:
		return uring_queue_post(queue, cmd, issue_flags);
	case DMANIC_URING_ENTER:
		return uring_queue_enter(queue, cmd, issue_flags);
	case DMANIC_URING_WAIT:
		return uring_queue_wait(queue, cmd, issue_flags);
	default:
		return -ENOTTY;
	}
}

/**
 * dmanic_uring_irq_cmd() - IORING_OP_URING_CMD on an interrupt
 * @cmd: the command
 * @issue_flags: IO_URING_F_*
 *
 * Return: the result, or -EIOCBQUEUED.
 */
int dmanic_uring_irq_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct dmanic_uring_irq_wait *shared = dmanic_uring_arg(cmd);
	struct dmanic_irq *irq = cmd->file->private_data;
	struct uring_wait wait = {
		.waits = &irq->uring_waits,
		.over = uring_irq_over,
		.object = irq,
	};

	if (unlikely(issue_flags & DMANIC_URING_F_CANCEL)) {
		uring_wait_end(*to_wait(cmd), -ECANCELED);
		return 0;
	}
	if (cmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	if (cmd->cmd_op != DMANIC_URING_IRQ_WAIT)
		return -ENOTTY;
	if (!DMANIC_URING_CANCEL)
		return -EOPNOTSUPP;
	wait.target = READ_ONCE(shared->target);
	return uring_wait_begin(cmd, issue_flags, &wait, READ_ONCE(shared->timeout_ns));
}
