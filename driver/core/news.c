// SPDX-License-Identifier: GPL-2.0-only
/*
 * news.c - what a context is told of nodes: read() and poll() of an open device
 *
 * Each context keeps the last few. Telling never waits for who is told: it takes a
 * spinlock, and overwrites the oldest. Who reads copies out first and touches his
 * memory afterwards, so that nobody can hold others up by a page that does not come.
 * Who waits may be very many, as any number of epoll may look at a file: they are woken
 * by a work item of their context, with no lock that others need, once for what came
 * together.
 */
#include <linux/eventfd.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "dmanic.h"

static void news_wake(struct work_struct *work)
{
	struct dmanic_ctx_news *news = container_of(work, struct dmanic_ctx_news, wake);
	struct dmanic_ctx *ctx = container_of(news, struct dmanic_ctx, news);
	__poll_t mask = EPOLLIN | EPOLLRDNORM;

	if (dmanic_node_dead(ctx->node))
		mask |= EPOLLERR | EPOLLHUP;
	mutex_lock(&news->signals);
	if (news->eventfd)
		dmanic_eventfd_signal(news->eventfd);
	mutex_unlock(&news->signals);
	wake_up_poll(&news->wait, mask);
}

/**
 * dmanic_news_init() - a new context
 * @ctx: the context
 */
void dmanic_news_init(struct dmanic_ctx *ctx)
{
	mutex_init(&ctx->news.reader);
	mutex_init(&ctx->news.signals);
	spin_lock_init(&ctx->news.lock);
	init_waitqueue_head(&ctx->news.wait);
	INIT_WORK(&ctx->news.wake, news_wake);
}

/**
 * dmanic_news_free() - the context goes
 * @ctx: the context, in no list any more
 */
void dmanic_news_free(struct dmanic_ctx *ctx)
{
	cancel_work_sync(&ctx->news.wake);
	if (ctx->news.eventfd)
		eventfd_ctx_put(ctx->news.eventfd);
}

static void news_add(struct dmanic_ctx_news *news, enum dmanic_event event, u32 id)
{
	spin_lock(&news->lock);
	news->kept[news->told % DMANIC_NEWS_KEPT] = (struct dmanic_news) {
		.event = event,
		.node = id,
		.number = news->told,
	};
	WRITE_ONCE(news->told, news->told + 1);
	if (news->told - news->read > DMANIC_NEWS_KEPT)
		WRITE_ONCE(news->read, news->told - DMANIC_NEWS_KEPT);
	spin_unlock(&news->lock);
	queue_work(system_unbound_wq, &news->wake);
}

/* What a program cannot find out otherwise when it has the device open */
static bool news_is(enum dmanic_event event)
{
	switch (event) {
	case DMANIC_EVENT_ADDED:
	case DMANIC_EVENT_REMOVED:
	case DMANIC_EVENT_MODEL:
		return false;
	default:
		return true;
	}
}

/**
 * dmanic_news_tell() - something happened to a node
 * @node: tell who has this one open
 * @event: what happened, already done
 * @id: to which node; may be @node itself
 */
void dmanic_news_tell(struct dmanic_node *node, enum dmanic_event event, u32 id)
{
	struct dmanic_ctx *ctx;

	if (!news_is(event))
		return;
	mutex_lock(&node->lock);
	list_for_each_entry(ctx, &node->contexts, entry)
		news_add(&ctx->news, event, id);
	mutex_unlock(&node->lock);
}

/**
 * dmanic_news_set_dead() - the device goes: who waits is to look
 * @ctx: in node->contexts, node->lock held
 */
void dmanic_news_set_dead(struct dmanic_ctx *ctx)
{
	queue_work(system_unbound_wq, &ctx->news.wake);
}

/**
 * dmanic_news_eventfd() - DMANIC_IOC_NEWS_EVENTFD
 * @ctx: the context
 * @arg: from the user
 *
 * Return: 0; -EOPNOTSUPP; -EBADF; -EINVAL it is no eventfd; -ENODEV.
 */
int dmanic_news_eventfd(struct dmanic_ctx *ctx, const struct dmanic_news_eventfd *arg)
{
	struct dmanic_ctx_news *news = &ctx->news;
	struct eventfd_ctx *eventfd = NULL, *before;

	if (arg->flags || arg->reserved)
		return -EOPNOTSUPP;
	if (arg->eventfd < -1)
		return -EINVAL;
	if (arg->eventfd >= 0)
		eventfd = eventfd_ctx_fdget(arg->eventfd);
	if (IS_ERR(eventfd))
		return PTR_ERR(eventfd);
	mutex_lock(&news->signals);
	/* A device that goes from now on signals the new one */
	if (dmanic_node_dead(ctx->node)) {
		mutex_unlock(&news->signals);
		if (eventfd)
			eventfd_ctx_put(eventfd);
		return -ENODEV;
	}
	before = news->eventfd;
	news->eventfd = eventfd;
	if (eventfd && READ_ONCE(news->told) != READ_ONCE(news->read))
		dmanic_eventfd_signal(eventfd);
	mutex_unlock(&news->signals);
	if (before)
		eventfd_ctx_put(before);
	return 0;
}

/* As many as there are, at most @most; they stay */
static unsigned int news_copy(struct dmanic_ctx_news *news, struct dmanic_news *out,
			      unsigned int most)
{
	unsigned int i;

	spin_lock(&news->lock);
	for (i = 0; i < most && news->read + i != news->told; i++)
		out[i] = news->kept[(news->read + i) % DMANIC_NEWS_KEPT];
	spin_unlock(&news->lock);
	return i;
}

/* Up to @number, unless they were overwritten meanwhile */
static void news_forget(struct dmanic_ctx_news *news, u64 number)
{
	spin_lock(&news->lock);
	if (news->read <= number)
		WRITE_ONCE(news->read, number + 1);
	spin_unlock(&news->lock);
}

/**
 * dmanic_news_read() - read() of a device
 * @ctx: the context
 * @to: where to, user memory
 * @bytes: of it
 *
 * Return: bytes; -EAGAIN there is nothing new; -ENODEV neither will there be; -EINVAL
 * no room for one; -EFAULT, then it is there still; -EINTR.
 */
ssize_t dmanic_news_read(struct dmanic_ctx *ctx, char __user *to, size_t bytes)
{
	struct dmanic_news out[DMANIC_NEWS_KEPT];
	struct dmanic_ctx_news *news = &ctx->news;
	unsigned int nr;
	ssize_t ret;

	nr = min_t(size_t, bytes / sizeof(*out), DMANIC_NEWS_KEPT);
	if (!nr)
		return -EINVAL;
	if (mutex_lock_interruptible(&news->reader))
		return -EINTR;
	nr = news_copy(news, out, nr);
	ret = dmanic_node_dead(ctx->node) ? -ENODEV : -EAGAIN;
	if (!nr)
		goto out_unlock;
	ret = -EFAULT;
	if (copy_to_user(to, out, nr * sizeof(*out)))
		goto out_unlock;
	news_forget(news, out[nr - 1].number);
	ret = nr * sizeof(*out);
out_unlock:
	mutex_unlock(&news->reader);
	return ret;
}

/**
 * dmanic_news_poll() - poll() of a device
 * @ctx: the context
 * @file: its file
 * @table: of who polls
 *
 * Return: EPOLLIN when there is something new; EPOLLERR and EPOLLHUP once the device
 * was removed.
 */
__poll_t dmanic_news_poll(struct dmanic_ctx *ctx, struct file *file, poll_table *table)
{
	struct dmanic_ctx_news *news = &ctx->news;
	__poll_t mask = 0;

	poll_wait(file, &news->wait, table);
	if (READ_ONCE(news->told) != READ_ONCE(news->read))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (dmanic_node_dead(ctx->node))
		mask |= EPOLLERR | EPOLLHUP;
	return mask;
}
