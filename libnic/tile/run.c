// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The loop of table 1: what a rank does in each phase of each step.
 *
 * Double buffers: tile k is in slot k % 2 on both sides. In a step the rank
 * computes from one receive slot while the other fills, and with overlap it
 * writes one send slot while the other leaves. "Ready" is said at the start of
 * a step: the slot that will fill was last read in the step before.
 *
 * Every phase has its time taken; the end of one is the start of the next.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libnic/core/internal.h"
#include "tile.h"

#define DIMS	NIC_PLAN_MAX_DIM
#define RESULT_MAX	4096	/* a larger size was never set */

/**
 * struct run - one run
 * @tile: of this rank
 * @options: of this run
 * @grid: with the height of this run
 * @move: of this step
 * @in_flight: faces posted, not yet completed
 * @result: filled in as the run goes
 */
struct run {
	struct nic_tile *tile;
	struct nic_tile_run_options options;
	struct nic_tile_grid grid;
	struct nic_tile_move move;
	unsigned int in_flight;
	struct nic_tile_result result;
};

/* Note what failed, with whom; the first failure counts. Returns @ret. */
__attribute__((format(printf, 5, 6)))
static int fail(struct run *run, int ret, int rank, int64_t k,
		const char *format, ...)
{
	va_list args;

	if (run->result.detail[0])
		return ret;
	run->result.failed_rank = rank;
	run->result.failed_tile = k;
	va_start(args, format);
	vsnprintf(run->result.detail, sizeof(run->result.detail), format, args);
	va_end(args);
	return nic_fail_text(run->tile->ctx, ret, run->result.detail);
}

/* A cookie tells phase, dimension and tile of what was posted. */

static uint64_t cookie_make(enum nic_tile_phase phase, unsigned int d,
			    int64_t k)
{
	return (uint64_t)phase << 60 | (uint64_t)d << 56 |
	       ((uint64_t)k & (UINT64_MAX >> 8));
}

static int completed(struct run *run, const struct nic_completion *completion)
{
	unsigned int phase = completion->cookie >> 60;
	unsigned int d = completion->cookie >> 56 & 15;
	int64_t k = (int64_t)(completion->cookie & (UINT64_MAX >> 8));
	struct tile_link *link = phase == NIC_TILE_TRIGGER_PREV ?
				 &run->tile->prev[d] : &run->tile->next[d];

	if (phase == NIC_TILE_START_DMA)
		run->in_flight--;
	if (completion->status == NIC_OK)
		return 0;
	run->result.failed_status = completion->status;
	return fail(run, -EREMOTEIO, link->rank, k,
		    "%s: rank %d, tile %" PRId64 ": %s",
		    nic_tile_phase_name(phase), link->rank, k,
		    nic_status_name(completion->status));
}

/* Take what has completed. Triggers are silent: theirs are failures. */
static int reap(struct run *run)
{
	struct nic_completion done[DIMS];
	unsigned int i, n;
	int ret = 0;

	do {
		n = nic_queue_poll(run->tile->queue, done, DIMS);
		for (i = 0; i < n; i++) {
			int failed = completed(run, &done[i]);

			ret = ret ? ret : failed;
		}
	} while (n == DIMS);
	return ret;
}

/* A call on the queue failed; a completion may tell why */
static int queue_failed(struct run *run, int ret, const char *what, int64_t k)
{
	int cause = reap(run);

	if (cause)
		return cause;
	return fail(run, ret, -1, k, "%s, tile %" PRId64 ": %s (%s)", what, k,
		    strerror(-ret), nic_error_detail(run->tile->ctx));
}

/* One doorbell for @n posted operations */
static int doorbell(struct run *run, unsigned int n, enum nic_tile_phase phase,
		    int64_t k)
{
	const char *name = nic_tile_phase_name(phase);
	uint64_t deadline = nic_deadline(run->tile->timeout_ns);
	int ret;

	while (n) {
		ret = nic_queue_submit(run->tile->queue);
		if (ret < 0)
			return queue_failed(run, ret, name, k);
		n -= (unsigned int)ret < n ? (unsigned int)ret : n;
		if (!n)
			break;
		/* The device had no room: it has when something completes. */
		ret = reap(run);
		if (ret)
			return ret;
		if (!nic_left(deadline))
			return fail(run, -ETIME, -1, k, "%s, tile %" PRId64
				    ": the device takes nothing more", name, k);
	}
	return 0;
}

static int trigger(struct run *run, struct tile_link *link,
		   enum nic_tile_phase phase, int64_t k)
{
	const char *name = nic_tile_phase_name(phase);
	unsigned int d, n = 0;
	int ret;

	for (d = 0; d < run->grid.ndims; d++) {
		if (link[d].rank < 0)
			continue;
		ret = nic_post_notify(run->tile->queue, link[d].raise,
				      (uint64_t)k, NIC_SILENT,
				      cookie_make(phase, d, k));
		if (ret)
			return queue_failed(run, ret, name, k);
		n++;
	}
	return doorbell(run, n, phase, k);
}

/* A signal does not end a run: neighbours count on this rank */
static int await_one(const struct run *run, const struct tile_link *link)
{
	uint64_t deadline = nic_deadline(run->tile->timeout_ns);
	int ret;

	do {
		ret = nic_irq_wait_count(link->heard, link->counted + 1, nic_left(deadline));
	} while (ret == -EINTR);
	return ret;
}

static int await(struct run *run, struct tile_link *link,
		 enum nic_tile_phase phase, int64_t k)
{
	const char *name = nic_tile_phase_name(phase);
	unsigned int d;
	int ret, cause;

	for (d = 0; d < run->grid.ndims; d++) {
		if (link[d].rank < 0)
			continue;
		ret = await_one(run, &link[d]);
		if (!ret) {
			link[d].counted++;
			continue;
		}
		cause = reap(run);
		if (cause)
			return cause;
		if (ret == -ETIME)
			return fail(run, ret, link[d].rank, k,
				    "%s: rank %d, tile %" PRId64
				    ": no answer in %.3g s", name, link[d].rank,
				    k, (double)run->tile->timeout_ns / 1e9);
		return fail(run, ret, link[d].rank, k,
			    "%s: rank %d, tile %" PRId64 ": %s", name,
			    link[d].rank, k, strerror(-ret));
	}
	return 0;
}

static uint64_t face_bytes(const struct run *run, unsigned int d, int64_t k)
{
	uint64_t bytes = 0, first = 0, count = 0;

	nic_grid_get_face(&run->grid, run->tile->rank, d, (uint64_t)k, &bytes);
	nic_grid_get_tile(&run->grid, (uint64_t)k, &first, &count);
	return bytes + count * run->tile->extra[d] * run->grid.element;
}

static int start_dma(struct run *run, int64_t k)
{
	struct nic_tile *tile = run->tile;
	unsigned int d;
	int ret;

	for (d = 0; d < run->grid.ndims; d++) {
		if (tile->next[d].rank < 0)
			continue;
		ret = nic_post_put(tile->queue, tile->out,
				   tile_slot(tile, d, k), tile->next[d].faces,
				   tile_slot(tile, d, k), face_bytes(run, d, k),
				   0, cookie_make(NIC_TILE_START_DMA, d, k));
		if (ret)
			return queue_failed(run, ret, "start dma", k);
		run->in_flight++;
	}
	return doorbell(run, run->in_flight, NIC_TILE_START_DMA, k);
}

/* All faces of a step are waited for at once: one wake-up */
static int wait_dma(struct run *run, int64_t k)
{
	uint64_t deadline = nic_deadline(run->tile->timeout_ns);
	int ret;

	ret = reap(run);
	while (!ret && run->in_flight) {
		ret = nic_queue_enter(run->tile->queue, run->in_flight,
				      nic_left(deadline));
		if (ret < 0 && ret != -EINTR)
			return queue_failed(run, ret, "wait dma", k);
		ret = reap(run);
	}
	return ret;
}

static int compute(struct run *run, int64_t k)
{
	struct nic_tile *tile = run->tile;
	struct nic_tile_step step = { .k = (uint64_t)k };
	char *in = tile->in ? nic_segment_addr(tile->in) : NULL;
	char *out = tile->out ? nic_segment_addr(tile->out) : NULL;
	unsigned int d;
	int ret;

	nic_grid_get_tile(&run->grid, step.k, &step.first, &step.count);
	for (d = 0; d < run->grid.ndims; d++) {
		if (d == run->grid.pipe)
			continue;
		step.bytes[d] = face_bytes(run, d, k);
		if (tile->prev[d].rank >= 0)
			step.receive[d] = in + tile_slot(tile, d, k);
		if (tile->next[d].rank >= 0)
			step.send[d] = out + tile_slot(tile, d, k);
	}
	ret = run->options.compute(run->options.arg, &step);
	if (ret)
		return fail(run, -ECANCELED, -1, k,
			    "the callback gave %d for tile %" PRId64, ret, k);
	run->result.ntiles++;
	return 0;
}

/* Is there anything to do in this phase of this step? */
static int64_t phase_tile(const struct run *run, enum nic_tile_phase phase)
{
	const struct nic_tile_move *move = &run->move;

	if (phase == NIC_TILE_COMPUTE)
		return move->compute;
	if (run->options.flags & NIC_TILE_NO_COMM)
		return -1;
	if (phase == NIC_TILE_TRIGGER_PREV || phase == NIC_TILE_WAIT_PREV)
		return move->receive;
	return move->send;
}

static int phase_run(struct run *run, enum nic_tile_phase phase, int64_t k)
{
	switch (phase) {
	case NIC_TILE_TRIGGER_PREV:
		return trigger(run, run->tile->prev, phase, k);
	case NIC_TILE_WAIT_NEXT:
		return await(run, run->tile->next, phase, k);
	case NIC_TILE_START_DMA:
		return start_dma(run, k);
	case NIC_TILE_COMPUTE:
		return compute(run, k);
	case NIC_TILE_WAIT_DMA:
		return wait_dma(run, k);
	case NIC_TILE_TRIGGER_NEXT:
		return trigger(run, run->tile->next, phase, k);
	case NIC_TILE_WAIT_PREV:
		return await(run, run->tile->prev, phase, k);
	default:
		return -EINVAL;
	}
}

static int step_run(struct run *run, uint64_t *clock)
{
	const enum nic_tile_phase *order =
		nic_tile_order(run->options.schedule);
	struct nic_tile_phase_time *time;
	uint64_t before;
	unsigned int i;
	int64_t k;
	int ret = 0;

	for (i = 0; !ret && i < NIC_TILE_PHASES; i++) {
		k = phase_tile(run, order[i]);
		if (k < 0)
			continue;
		ret = phase_run(run, order[i], k);
		before = *clock;
		*clock = nic_now();
		time = &run->result.phase[order[i]];
		time->count++;
		time->sum_ns += *clock - before;
		if (time->max_ns < *clock - before)
			time->max_ns = *clock - before;
	}
	return ret;
}

/*
 * The last triggers may still be on their way. Should the object be destroyed
 * now, they would be cancelled, and a neighbour would wait for ever.
 */
static int finish(struct run *run)
{
	struct nic_tile *tile = run->tile;
	uint64_t deadline = nic_deadline(tile->timeout_ns);
	int ret;

	do {
		ret = nic_queue_drain(tile->queue, nic_left(deadline));
	} while (ret == -EINTR);
	if (ret)
		return fail(run, ret, -1, -1, "the last triggers: %s",
			    nic_error_detail(tile->ctx));
	return 0;
}

static int run_all(struct run *run)
{
	struct nic_tile_sequence sequence;
	uint64_t clock;
	int ret;

	ret = nic_tile_sequence_init(&sequence, &run->grid,
				     run->options.schedule, run->tile->rank);
	if (ret)
		return fail(run, ret, -1, -1, "rank %u has no steps: %s",
			    run->tile->rank, strerror(-ret));
	clock = nic_now();
	run->result.start_ns = clock;
	while (!ret && nic_tile_sequence_next(&sequence, &run->move)) {
		run->result.steps++;
		ret = step_run(run, &clock);
	}
	run->result.end_ns = clock;
	if (!ret && !(run->options.flags & NIC_TILE_NO_COMM))
		ret = finish(run);
	return ret;
}

/* The grid of the object with the height of the run */
static int set_height(struct run *run, uint64_t height)
{
	const struct nic_tile_grid *grid = &run->tile->grid;
	struct nic_grid_options options = {
		.size = sizeof(options),
		.flags = NIC_GRID_PIPE,
		.ndims = grid->ndims,
		.pipe = grid->pipe,
		.element = grid->element,
		.height = height ? height : grid->height,
	};
	unsigned int d;
	int ret;

	if (height > grid->height)
		return fail(run, -EINVAL, -1, -1, "height %" PRIu64
			    ": there are buffers for %" PRIu64 " only",
			    height, grid->height);
	for (d = 0; d < grid->ndims; d++) {
		options.dims[d] = grid->dims[d];
		options.ranks[d] = grid->ranks[d];
	}
	run->grid.size = sizeof(run->grid);
	ret = nic_grid_init(&run->grid, &options);
	if (ret)
		return fail(run, ret, -1, -1, "height %" PRIu64 ": %s",
			    options.height, run->grid.detail);
	return 0;
}

/* NULL, or why the options cannot be used */
static const char *refuse(const struct nic_tile_run_options *options)
{
	if (options->flags & ~NIC_TILE_NO_COMM)
		return "an unknown flag is set; flags are NIC_TILE_NO_COMM or 0";
	if (!options->compute)
		return "there is no callback; set compute";
	if (!nic_tile_order(options->schedule))
		return "there is no such schedule; set NIC_TILE_OVERLAP or NIC_TILE_NONOVERLAP";
	return NULL;
}

static int run_checked(struct run *run,
		       const struct nic_tile_run_options *options)
{
	const struct nic_ctx *ctx = run->tile->ctx;
	const char *cause;
	int ret;

	ret = nic_options_copy(ctx, &run->options, sizeof(run->options),
			       options, options->size, sizeof(run->options),
			       "run tiles");
	if (ret)
		return fail(run, ret, -1, -1, "%s", nic_error_detail(ctx));
	cause = refuse(&run->options);
	if (cause)
		return fail(run, -EINVAL, -1, -1, "cannot run tiles: %s", cause);
	if (run->tile->broken)
		return fail(run, -EIO, -1, -1,
			    "cannot run tiles: an earlier run failed; destroy the object and make it anew");
	ret = set_height(run, run->options.height);
	if (ret)
		return ret;
	ret = run_all(run);
	run->tile->broken = ret;
	return ret;
}

int nic_tile_run(struct nic_tile *tile,
		 const struct nic_tile_run_options *options,
		 struct nic_tile_result *result)
{
	struct run run = {
		.tile = tile,
		.result = { .failed_rank = -1, .failed_tile = -1 },
	};
	size_t size;
	int ret;

	if (!tile || !options)
		return nic_fail(tile ? tile->ctx : NULL, -EINVAL,
				"object and options are needed", "run tiles");
	if (result && (result->size < sizeof(*result) ||
		       result->size > RESULT_MAX))
		return nic_fail(tile->ctx, -EINVAL,
				"the size in the result is wrong; set it to the sizeof() of the struct",
				"run tiles");
	ret = run_checked(&run, options);
	if (result) {
		size = result->size;
		memset(result, 0, size);
		*result = run.result;
		result->size = size;
	}
	return ret;
}
