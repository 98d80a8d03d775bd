// SPDX-License-Identifier: GPL-2.0-only
/*
 * irq.c - interrupts other nodes can raise: make, raise, wait, stop, close
 *
 * A descriptor of its own with a shared ring: the driver counts @raised and
 * keeps the last events, the program tells in @seen how far it got. Waiting
 * compares numbers, so no raise is ever lost between a look and a sleep.
 *
 * Who raises holds the export active, so release, which waits for that first,
 * has the object for itself.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "dmanic.h"

/* Every event kept is one not seen yet; a strict one takes no more */
static bool irq_full(const struct dmanic_irq *irq)
{
	/* D: events up to seen are read before their places are reused */
	return irq->raised - smp_load_acquire(&irq->ring->seen) >= irq->depth;
}

static void irq_wake(struct dmanic_irq *irq)
{
	/* E: the count before looking who sleeps */
	smp_mb();
	/* E: the barrier is between the count and this look */
	if (waitqueue_active(&irq->wait))
		wake_up_interruptible_poll(&irq->wait, EPOLLIN | EPOLLRDNORM);
	dmanic_uring_wake(&irq->uring_waits);
	if (irq->eventfd && READ_ONCE(irq->ring->arm) && xchg(&irq->ring->arm, 0))
		dmanic_eventfd_signal(irq->eventfd);
}

/**
 * dmanic_irq_raise() - one more
 * @irq: within an access to its export
 * @payload: for the waiter
 * @from: node id of who raises it
 * @wakes: where it is left to be woken, by dmanic_irq_wake_all(); NULL: it is woken at once
 *
 * Any context; waiters may be very many, so nobody wakes them under a lock of others.
 *
 * Return: enum dmanic_status: OK, or LIMIT when it is strict and full.
 */
u32 dmanic_irq_raise(struct dmanic_irq *irq, u64 payload, u32 from,
		     struct dmanic_wakes *wakes)
{
	struct dmanic_irq_ring *ring = irq->ring;
	struct dmanic_irq_event *event;
	unsigned long flags;

	spin_lock_irqsave(&irq->lock, flags);
	if (irq->strict && irq_full(irq)) {
		spin_unlock_irqrestore(&irq->lock, flags);
		return DMANIC_STATUS_LIMIT;
	}
	event = &ring->event[irq->raised & (irq->depth - 1)];
	WRITE_ONCE(event->payload, payload);
	WRITE_ONCE(event->node, from);
	WRITE_ONCE(event->reserved, 0);
	/* C: the event before the count */
	smp_store_release(&ring->raised, irq->raised + 1);
	/* F: who is told by us that it was raised finds it in the ring */
	smp_store_release(&irq->raised, irq->raised + 1);
	if (wakes && !irq->waking) {
		refcount_inc(&irq->export->active);
		irq->waking = true;
		irq->woken_next = wakes->first;
		wakes->first = irq;
	}
	spin_unlock_irqrestore(&irq->lock, flags);
	if (!wakes)
		irq_wake(irq);
	return DMANIC_STATUS_OK;
}

/**
 * dmanic_irq_wake_all() - those that were raised: who waits is told
 * @wakes: the interrupts; none afterwards
 *
 * Any context, without locks.
 */
void dmanic_irq_wake_all(struct dmanic_wakes *wakes)
{
	struct dmanic_irq *irq, *next;
	unsigned long flags;

	for (irq = wakes->first; irq; irq = next) {
		spin_lock_irqsave(&irq->lock, flags);
		next = irq->woken_next;
		irq->waking = false;
		spin_unlock_irqrestore(&irq->lock, flags);
		irq_wake(irq);
		dmanic_target_put(irq->export);
	}
	wakes->first = NULL;
}

/**
 * dmanic_irq_set_dead() - dmanic_irq_over() became true: waiters are told
 * @irq: does not go meanwhile
 */
void dmanic_irq_set_dead(struct dmanic_irq *irq)
{
	WRITE_ONCE(irq->ring->flags, DMANIC_RING_DEAD);
	wake_up_all(&irq->wait);
	__dmanic_uring_wake(&irq->uring_waits);
	if (irq->eventfd)
		dmanic_eventfd_signal(irq->eventfd);
}

static bool irq_reached(const struct dmanic_irq *irq, u64 target)
{
	/* F: the count here is in the ring too */
	return (s64)(smp_load_acquire(&irq->raised) - target) >= 0;
}

static bool irq_wait_over(const struct dmanic_irq *irq, u64 target)
{
	return irq_reached(irq, target) || dmanic_irq_over(irq);
}

static int irq_ioctl_wait(void *object, void *data, struct dmanic_late *late)
{
	struct dmanic_irq_wait *arg = data;
	struct dmanic_irq *irq = object;
	ktime_t timeout = KTIME_MAX;
	int ret;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->timeout_ns < KTIME_MAX)
		timeout = ns_to_ktime(arg->timeout_ns);

	ret = 0;
	if (!irq_reached(irq, arg->target)) {
		ret = -ETIME;
		if (arg->timeout_ns)
			ret = wait_event_interruptible_hrtimeout(irq->wait,
								 irq_wait_over(irq, arg->target),
								 timeout);
	}
	/* F: what is counted here is in the ring */
	arg->raised = smp_load_acquire(&irq->raised);
	ret = ret == -ERESTARTSYS ? -EINTR : ret;
	return dmanic_irq_over(irq) ?: ret;
}

static void irq_unpublish(struct dmanic_irq *irq)
{
	u32 id = irq->export->id;

	dmanic_export_hide(irq->export);
	dmanic_export_free(irq->export);
	dmanic_export_unreserve(irq->node, id);
}

static int irq_ioctl_stop(void *object, void *data, struct dmanic_late *late)
{
	struct dmanic_stop *arg = data;
	struct dmanic_irq *irq = object;

	if (arg->flags)
		return -EOPNOTSUPP;
	mutex_lock(&irq->stop_lock);
	if (!irq->stopped) {
		irq_unpublish(irq);
		WRITE_ONCE(irq->stopped, true);
		dmanic_irq_set_dead(irq);
	}
	mutex_unlock(&irq->stop_lock);
	return 0;
}

static const struct dmanic_ioctl irq_ioctls[] = {
	{ DMANIC_IOC_IRQ_WAIT, sizeof(struct dmanic_irq_wait),
	  sizeof(struct dmanic_irq_wait), irq_ioctl_wait },
	{ DMANIC_IOC_IRQ_STOP, sizeof(struct dmanic_stop), sizeof(struct dmanic_stop),
	  irq_ioctl_stop, NULL, true },
};

static long irq_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return dmanic_ioctl_run(irq_ioctls, ARRAY_SIZE(irq_ioctls),
				file->private_data, cmd, arg);
}

static __poll_t irq_poll(struct file *file, poll_table *table)
{
	struct dmanic_irq *irq = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &irq->wait, table);
	/* E: on the list before looking at the count */
	smp_mb();
	if (READ_ONCE(irq->raised) != READ_ONCE(irq->ring->seen))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (dmanic_irq_over(irq))
		mask |= EPOLLERR | EPOLLHUP;
	return mask;
}

static int irq_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dmanic_irq *irq = file->private_data;

	return dmanic_mem_mmap(irq->ring_mem, vma, (u64)vma->vm_pgoff << PAGE_SHIFT);
}

/* Everything but the export, which is there only once it is published */
static void irq_free(struct dmanic_irq *irq)
{
	if (irq->ring)
		vunmap(irq->ring);
	if (irq->ring_mem)
		dmanic_mem_put_sleep(irq->ring_mem);
	if (irq->eventfd)
		eventfd_ctx_put(irq->eventfd);
	dmanic_account_give(irq->ctx, DMANIC_KIND_IRQ);
	kfree(irq);
}

static int irq_release(struct inode *inode, struct file *file)
{
	struct dmanic_irq *irq = file->private_data;
	struct file *ctx_file = irq->ctx->file;

	mutex_lock(&irq->node->lock);
	list_del(&irq->entry);
	mutex_unlock(&irq->node->lock);
	if (!irq->stopped)
		irq_unpublish(irq);
	irq_free(irq);
	fput(ctx_file);
	return 0;
}

static const struct file_operations irq_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = irq_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = irq_poll,
	.mmap = irq_mmap,
	.uring_cmd = dmanic_uring_irq_cmd,
	.release = irq_release,
	.llseek = noop_llseek,
};

static int irq_check(const struct dmanic_irq_create *arg,
		     struct dmanic_refusal *refusal)
{
	if (arg->flags & ~DMANIC_IRQ_STRICT)
		return -EOPNOTSUPP;
	if (!is_power_of_2(arg->depth) || arg->eventfd < -1 ||
	    !dmanic_name_valid(arg->name, sizeof(arg->name)))
		return -EINVAL;
	if (!*arg->name && (arg->secret[0] || arg->secret[1]))
		return -EINVAL;
	if (arg->depth > DMANIC_MAX_IRQ_DEPTH) {
		refusal->limit = DMANIC_LIMIT_IRQ_DEPTH;
		refusal->asked = arg->depth;
		refusal->allowed = DMANIC_MAX_IRQ_DEPTH;
		return -EDQUOT;
	}
	return 0;
}

static struct dmanic_irq *irq_new(struct dmanic_ctx *ctx,
				  struct dmanic_irq_create *arg)
{
	struct dmanic_irq *irq;
	int ret;

	ret = dmanic_account_take(ctx, DMANIC_KIND_IRQ, &arg->refusal);
	if (ret)
		return ERR_PTR(ret);
	irq = kzalloc(sizeof(*irq), GFP_KERNEL_ACCOUNT);
	if (!irq) {
		dmanic_account_give(ctx, DMANIC_KIND_IRQ);
		return ERR_PTR(-ENOMEM);
	}
	irq->ctx = ctx;
	irq->node = ctx->node;
	irq->depth = arg->depth;
	irq->strict = arg->flags & DMANIC_IRQ_STRICT;
	init_waitqueue_head(&irq->wait);
	dmanic_uring_waits_init(&irq->uring_waits);
	mutex_init(&irq->stop_lock);
	spin_lock_init(&irq->lock);

	if (arg->eventfd >= 0) {
		irq->eventfd = eventfd_ctx_fdget(arg->eventfd);
		if (IS_ERR(irq->eventfd)) {
			ret = PTR_ERR(irq->eventfd);
			irq->eventfd = NULL;
			goto err_free;
		}
	}
	irq->ring_mem = dmanic_mem_alloc(ctx, struct_size(irq->ring, event, irq->depth),
					 &arg->refusal);
	if (IS_ERR(irq->ring_mem)) {
		ret = PTR_ERR(irq->ring_mem);
		irq->ring_mem = NULL;
		goto err_free;
	}
	ret = -ENOMEM;
	irq->ring = dmanic_mem_vmap(irq->ring_mem);
	if (!irq->ring)
		goto err_free;
	return irq;

err_free:
	irq_free(irq);
	return ERR_PTR(ret);
}

static int irq_publish(struct dmanic_irq *irq, const struct dmanic_irq_create *arg)
{
	struct dmanic_export *export;
	int ret;

	export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	if (!export)
		return -ENOMEM;
	export->node = irq->node;
	export->kind = DMANIC_EXPORT_IRQ;
	export->irq = irq;
	export->length = irq->depth;
	ret = dmanic_export_reserve(irq->node, &export->id);
	if (ret)
		goto err_free;
	/* Once it is published it is raised, too */
	irq->export = export;
	ret = dmanic_export_publish(export, arg->name, arg->secret);
	if (ret)
		goto err_unreserve;
	return 0;

err_unreserve:
	dmanic_export_unreserve(irq->node, export->id);
err_free:
	kfree(export);
	return ret;
}

/**
 * dmanic_irq_create() - DMANIC_IOC_IRQ_CREATE
 * @ctx: the context
 * @arg: in and out
 * @late: the descriptor to install
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
int dmanic_irq_create(struct dmanic_ctx *ctx, struct dmanic_irq_create *arg,
		      struct dmanic_late *late)
{
	struct dmanic_irq *irq;
	int ret;

	memset(&arg->refusal, 0, sizeof(arg->refusal));
	arg->fd = -1;
	ret = irq_check(arg, &arg->refusal);
	if (ret)
		return ret;
	irq = irq_new(ctx, arg);
	if (IS_ERR(irq))
		return PTR_ERR(irq);
	ret = irq_publish(irq, arg);
	if (ret)
		goto err_free;
	ret = dmanic_late_open(late, "[dmanic-irq]", &irq_fops, irq);
	if (ret)
		goto err_unpublish;
	get_file(ctx->file);

	mutex_lock(&irq->node->lock);
	list_add_tail(&irq->entry, &irq->node->irqs);
	if (irq->node->dead)
		dmanic_irq_set_dead(irq);
	mutex_unlock(&irq->node->lock);
	arg->fd = late->fd;
	arg->id = irq->export->id;
	arg->key = irq->export->key;
	arg->mmap_bytes = (u64)irq->ring_mem->nr_pages << PAGE_SHIFT;
	return 0;

err_unpublish:
	irq_unpublish(irq);
err_free:
	irq_free(irq);
	return ret;
}
