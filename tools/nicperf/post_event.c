// SPDX-License-Identifier: GPL-2.0-only
/*
 * post_event.c - cost of a post whose completion an eventfd tells
 *
 * Timed is a batch as a program with an event loop has it: arm, fill in, submit,
 * read the eventfd, take the completions. Compared with an empty system call.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "post.h"
#include "sample.h"

struct event_work {
	struct work work;
	int fd;
};

static int event_arm(const struct event_work *event)
{
	struct end *end = event->work.end;
	int ret = nic_queue_arm(end->queue);

	return ret < 0 ? end_fail(end, ret, "arm an eventfd") : ret;
}

/* What was armed tells of a completion. Return: 0 or -errno */
static int event_read(const struct event_work *event)
{
	struct pollfd wait = { .fd = event->fd, .events = POLLIN };
	struct end *end = event->work.end;
	uint64_t signals;

	while (read(event->fd, &signals, sizeof(signals)) < 0) {
		if (errno != EAGAIN)
			return end_fault(end, -errno,
					 "cannot read an eventfd: %s",
					 strerror(errno));
		if (!poll(&wait, 1, END_TIMEOUT_NS / 1000000))
			return end_fault(end, -ETIME,
					 "no eventfd tells that what was posted is done; see nicctl dev show");
	}
	return 0;
}

static int event_batch(const struct event_work *event, unsigned int *slot)
{
	const struct work *work = &event->work;
	unsigned int left = work->batch, taken;
	int ret;

	ret = event_arm(event);
	if (ret < 0)
		return ret;
	ret = post_batch(work, slot);
	if (ret)
		return end_fail(work->end, ret, "post");
	ret = end_submit(work->end, work->batch);
	if (!ret)
		ret = event_read(event);
	while (!ret) {
		ret = end_collect(work->end, &taken);
		left -= taken;
		if (ret || !left)
			return ret;
		ret = event_arm(event);
		if (!ret)
			ret = event_read(event);
		else if (ret > 0)
			ret = 0;
	}
	return ret;
}

/* @count is a multiple of the batch */
static int event_time(void *arg, uint64_t count, uint64_t *ns)
{
	const struct event_work *event = arg;
	uint64_t start = now_ns();
	unsigned int slot = 0;
	int ret = 0;

	for (; count && !ret; count -= event->work.batch)
		ret = event_batch(event, &slot);
	*ns = now_ns() - start;
	return ret;
}

static int event_one(struct run *run, struct table *table, struct end *end,
		     int fd, enum op op, unsigned int batch)
{
	struct event_work event = { .fd = fd };
	struct sampled things[] = {
		{ .run = event_time, .arg = &event, .least = batch },
		{ .run = post_system_call_time, .least = batch },
	};
	char what[64];

	snprintf(what, sizeof(what), "post %s batch %u eventfd", op_name(op),
		 batch);
	run_step(run, what);
	post_prepare(&event.work, end, op, batch);
	if (sample_alternate(things, ARRAY_SIZE(things), &run->opt))
		return run_end_fail(run, end);
	post_line(run, table, &event.work, WAY_EVENTFD, &things[0], &things[1],
		  NULL);
	return 0;
}

static int event_table(struct run *run, struct end *end, int fd)
{
	struct table *table;
	size_t i, j;
	int ret = 0;

	run_title(run, "post, eventfd: arming, filling in, submitting, reading "
		  "the eventfd and reaping, a post");
	table = post_table_create();
	for (i = 0; i < POST_OPS && !ret; i++)
		for (j = 0; j < POST_BATCHES && !ret; j++)
			ret = event_one(run, table, end, fd, post_ops[i],
					post_batches[j]);
	run_table(run, table);
	return ret;
}

int post_event(struct run *run)
{
	struct nic_queue_options options = {
		.size = sizeof(options),
		.flags = NIC_EVENTFD,
		.entries = run->near.entries,
	};
	/* The near end in all but the queue */
	struct end end = run->near;
	int ret;

	if (run_check_entries(run, POST_BATCH_BOUND))
		return -1;
	options.eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (options.eventfd < 0)
		return run_fail(run, "cannot make an eventfd: %s",
				strerror(errno));
	ret = nic_queue_create_with(end.ctx, &options, &end.queue);
	if (ret) {
		end_fail(&end, ret, "make a queue with an eventfd");
		ret = run_end_fail(run, &end);
	} else {
		ret = event_table(run, &end, options.eventfd);
		nic_queue_destroy(end.queue);
	}
	close(options.eventfd);
	return ret;
}
