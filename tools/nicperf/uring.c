// SPDX-License-Identifier: GPL-2.0-only
/*
 * uring.c - an io_uring, and batches through it
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include <linux/dmanic.h>
#include <nic_uring.h>

#include "post.h"
#include "uring.h"

struct uring {
	struct end *end;
	struct io_uring ring;
	unsigned int slot;
};

static int uring_fail(struct end *end, int ret, const char *what)
{
	return end_fault(end, ret, "cannot %s: %s", what, strerror(-ret));
}

/* Operations that are not done at once are refused on a slow link, by some */
static int uring_try(struct uring *uring)
{
	struct work work = {
		.end = uring->end,
		.op = OP_PUT,
		.bytes = 8,
		.batch = 1,
	};

	work_slots(&work, work.bytes);
	return uring_batch(uring, &work, URING_POST);
}

struct uring *uring_create(struct end *end)
{
	struct uring *uring;
	int ret;

	if (!(nic_uring_features(end->ctx) & NIC_URING_POST)) {
		end_fault(end, -EOPNOTSUPP,
			  "the driver has no io_uring commands");
		return NULL;
	}
	uring = calloc(1, sizeof(*uring));
	if (!uring) {
		uring_fail(end, -ENOMEM, "make an io_uring");
		return NULL;
	}
	uring->end = end;
	ret = io_uring_queue_init(URING_BATCH_MAX, &uring->ring,
				  IORING_SETUP_SQE128);
	if (ret) {
		uring_fail(end, ret, "make an io_uring");
		free(uring);
		return NULL;
	}
	if (uring_try(uring)) {
		uring_destroy(uring);
		return NULL;
	}
	return uring;
}

void uring_destroy(struct uring *uring)
{
	if (!uring)
		return;
	io_uring_queue_exit(&uring->ring);
	free(uring);
}

/* ---- filling in ---- */

static void uring_fill_nops(struct uring *uring, unsigned int n)
{
	while (n--)
		io_uring_prep_nop(io_uring_get_sqe(&uring->ring));
}

static int uring_fill_posts(struct uring *uring, const struct work *work)
{
	const struct end *end = work->end;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < work->batch && !ret; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
		uint64_t lower = uring->slot * work->extent;

		if (work->op == OP_NOP) {
			ret = nic_uring_prep_nop(sqe, end->queue, 0);
			continue;
		}
		ret = nic_uring_prep_put(sqe, end->queue, end->segment, lower,
					 end->remote, end->remote_half + lower,
					 work->bytes, 0);
		if (++uring->slot >= work->slots)
			uring->slot = 0;
	}
	return ret;
}

static int uring_fill_enter(struct uring *uring, const struct work *work)
{
	int ret = post_batch(work, &uring->slot);

	if (!ret)
		nic_uring_prep_enter(io_uring_get_sqe(&uring->ring),
				     work->end->queue);
	return ret;
}

/* ---- completions ---- */

/* Nothing there yet: sleep until there is */
static int uring_sleep(struct uring *uring)
{
	struct __kernel_timespec timeout = {
		.tv_sec = END_TIMEOUT_NS / NS_PER_S,
	};
	struct io_uring_cqe *cqe;
	int ret;

	do {
		ret = io_uring_wait_cqe_timeout(&uring->ring, &cqe, &timeout);
	} while (ret == -EINTR);
	return ret ? uring_fail(uring->end, ret, "wait in an io_uring") : 0;
}

static int uring_failed(const struct uring *uring, int res)
{
	return end_fault(uring->end, res, "a command in an io_uring failed: %s",
			 nic_status_name(nic_uring_status(res)));
}

static int uring_take(struct uring *uring, unsigned int left)
{
	struct io_uring_cqe *cqes[URING_BATCH_MAX];
	unsigned int i, n;
	int ret = 0;

	while (left) {
		n = io_uring_peek_batch_cqe(&uring->ring, cqes, left);
		for (i = 0; i < n; i++)
			if (cqes[i]->res < 0)
				ret = uring_failed(uring, cqes[i]->res);
		io_uring_cq_advance(&uring->ring, n);
		left -= n;
		if (!n)
			ret = uring_sleep(uring);
		if (ret)
			return ret;
	}
	return 0;
}

/* What a command for a batch handed over completes in the queue's ring */
static int uring_take_queue(struct end *end, unsigned int left)
{
	unsigned int taken;
	int ret;

	for (; left; left -= taken) {
		ret = end_wait(end, 0, WAIT_POLL, &taken);
		if (ret)
			return ret;
	}
	return 0;
}

int uring_batch(struct uring *uring, const struct work *work,
		enum uring_kind kind)
{
	unsigned int entries = kind == URING_ENTER ? 1 : work->batch;
	int ret = 0;

	if (uring->slot >= work->slots)
		uring->slot = 0;
	if (kind == URING_NOP)
		uring_fill_nops(uring, work->batch);
	else if (kind == URING_POST)
		ret = uring_fill_posts(uring, work);
	else
		ret = uring_fill_enter(uring, work);
	if (ret)
		return end_fail(work->end, ret, "post");
	ret = io_uring_submit(&uring->ring);
	if (ret != (int)entries)
		return uring_fail(work->end, ret < 0 ? ret : -EAGAIN,
				  "submit to an io_uring");
	ret = uring_take(uring, entries);
	if (!ret && kind == URING_ENTER)
		ret = uring_take_queue(work->end, work->batch);
	return ret;
}
