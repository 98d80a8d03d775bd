// SPDX-License-Identifier: GPL-2.0-only
/*
 * work.c - a window of operations in flight
 */
#include <errno.h>
#include <string.h>

#include "pong.h"
#include "work.h"

#define CACHE_LINE	64

const char *op_name(enum op op)
{
	static const char *const names[OP_COUNT] = {
		[OP_PUT] = "put",
		[OP_GET] = "get",
		[OP_STRIDED] = "strided",
		[OP_PIO] = "pio",
		[OP_LIST] = "list",
		[OP_BLOCKS] = "blocks",
		[OP_NOTIFY] = "notify",
		[OP_NOP] = "nop",
	};

	return names[op];
}

void work_slots(struct work *work, uint64_t extent)
{
	uint64_t slots;

	extent = (extent + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	work->extent = extent;
	slots = extent ? work->end->half / extent : work->depth;
	if (slots > work->depth)
		slots = work->depth;
	work->slots = slots ? (unsigned int)slots : 1;
}

/*
 * A put for each block, as who has neither strides nor lists would do it. They
 * are done in their order, so that the last one tells of all; the others are
 * submitted here, for they may be more than the ring holds.
 */
static int post_blocks(const struct work *work, uint64_t lower, uint64_t upper,
		       unsigned int slot)
{
	const struct nic_stride *stride = &work->stride;
	struct nic_queue *queue = work->end->queue;
	uint32_t last = stride->count - 1, posted = 0, submitted = 0;
	int ret;

	while (submitted < last) {
		ret = -EAGAIN;
		if (posted < last)
			ret = nic_post_put(queue, work->end->segment, lower,
					   work->end->remote, upper,
					   stride->block, NIC_SILENT, slot);
		if (!ret) {
			lower += stride->local_stride;
			upper += stride->remote_stride;
			posted++;
			continue;
		}
		if (ret == -EAGAIN)
			ret = nic_queue_submit(queue);
		if (ret < 0)
			return ret;
		submitted += (uint32_t)ret;
	}
	return nic_post_put(queue, work->end->segment, lower, work->end->remote,
			    upper, stride->block, 0, slot);
}

int work_post(const struct work *work, unsigned int slot)
{
	struct end *end = work->end;
	uint64_t lower = slot * work->extent;
	uint64_t upper = end->remote_half + lower;
	int ret = 0;

	switch (work->op) {
	case OP_PUT:
		ret = nic_post_put(end->queue, end->segment, lower, end->remote,
				   upper, work->bytes, 0, slot);
		break;
	case OP_GET:
		ret = nic_post_get(end->queue, end->segment, end->half + lower,
				   end->remote, lower, work->bytes, 0, slot);
		break;
	case OP_STRIDED:
		ret = nic_post_put_strided(end->queue, end->segment, lower,
					   end->remote, upper, &work->stride, 0,
					   slot);
		break;
	case OP_LIST:
		ret = nic_post_put_list(end->queue, end->segment, lower,
					end->remote, upper, &work->list, 0,
					slot);
		break;
	case OP_BLOCKS:
		ret = post_blocks(work, lower, upper, slot);
		break;
	case OP_NOTIFY:
		ret = nic_post_notify(end->queue, end->bell, PONG_QUIET, 0, slot);
		break;
	case OP_NOP:
	case OP_PIO:
	case OP_COUNT:
		ret = nic_post_nop(end->queue, 0, slot);
		break;
	}
	return ret ? end_fail(end, ret, "post") : 0;
}

/* What is left of a run */
struct window {
	uint64_t to_post;
	unsigned int in_flight;
	unsigned int slot;
};

/* How many operations to post now */
static unsigned int window_room(const struct work *work,
				const struct window *window)
{
	unsigned int room = work->depth - window->in_flight;
	unsigned int batch = work->batch ? work->batch : room;

	if (batch > window->to_post)
		batch = (unsigned int)window->to_post;
	return batch <= room ? batch : 0;
}

static int window_fill(const struct work *work, struct window *window,
		       unsigned int n)
{
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = work_post(work, window->slot);
		if (ret)
			return ret;
		if (++window->slot == work->slots)
			window->slot = 0;
	}
	window->to_post -= n;
	window->in_flight += n;
	return 0;
}

/* No queue, nothing in flight */
static int work_store(const struct work *work, uint64_t count, uint64_t *ns)
{
	struct end *end = work->end;
	char *to = end->map + end->remote_half;
	unsigned int slot = 0;
	uint64_t start, i;

	start = now_ns();
	for (i = 0; i < count; i++) {
		memcpy(to + slot * work->extent,
		       end_send(end) + slot * work->extent, work->bytes);
		nic_pio_flush(to);
		if (++slot == work->slots)
			slot = 0;
	}
	*ns = now_ns() - start;
	return 0;
}

int work_run(void *arg, uint64_t count, uint64_t *ns)
{
	const struct work *work = arg;
	struct window window = { .to_post = count };
	unsigned int n, taken;
	uint64_t start;
	int ret;

	if (work->op == OP_PIO)
		return work_store(work, count, ns);
	start = now_ns();
	while (window.to_post || window.in_flight) {
		n = window_room(work, &window);
		ret = window_fill(work, &window, n);
		if (ret)
			return ret;
		if (window_room(work, &window)) {
			ret = end_submit(work->end, n);
			if (!ret)
				ret = end_collect(work->end, &taken);
		} else {
			ret = end_wait(work->end, n, work->wait, &taken);
		}
		if (ret)
			return ret;
		window.in_flight -= taken;
	}
	*ns = now_ns() - start;
	return 0;
}
