// SPDX-License-Identifier: GPL-2.0-only
/*
 * bandwidth.c - put, get and puts of blocks beside memcpy
 *
 * Each line compares the device with what this CPU does between the very same
 * two segments, in turn. Before a line is measured, its data are compared,
 * with the gaps between blocks and slots.
 */
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "beside.h"
#include "nicperf.h"
#include "pattern.h"
#include "ranks.h"
#include "sample.h"

#define SLOTS_BYTES	(4ULL << 20)	/* for what is in flight together */
#define SEED_NEAR	1
#define SEED_FAR	2

/* The project's bounds: put against memcpy, polling */
#define BOUND_BYTES	(1ULL << 20)
static const struct bound {
	unsigned int depth;
	double ratio;
} bounds[] = {
	{ 1, 0.75 },
	{ 4, 0.90 },
};

#define BOUNDS	ARRAY_SIZE(bounds)

static const struct column bandwidth_columns[] = {
	{ "operation", true },
	{ "wait", true },
	{ "depth", false },
	{ "size [B]", false },
	{ "device [MB/s]", false },
	{ "spread [%]", false },
	{ "memcpy [MB/s]", false },
	{ "spread [%]", false },
	{ "ratio", false },
};

/**
 * struct point - one line
 * @op: what
 * @wait: how
 * @bytes: of one operation
 * @depth: operations in flight
 * @ratio: of the two
 * @device: MB/s of the operation
 * @memcpy: MB/s of memcpy
 */
struct point {
	enum op op;
	enum wait wait;
	uint64_t bytes;
	unsigned int depth;
	double ratio;
	struct stats device;
	struct stats memcpy;
};

struct bandwidth {
	struct run *run;
	struct table *table;
	struct point *points;
	size_t n;
	char *expected;
};

/* ---- the lines ---- */

static bool points_find(const struct bandwidth *bw, unsigned int depth,
			struct point **found)
{
	size_t i;

	for (i = 0; i < bw->n; i++) {
		struct point *point = &bw->points[i];

		if (point->op == OP_PUT && point->wait == WAIT_POLL &&
		    point->bytes == BOUND_BYTES && point->depth == depth) {
			*found = point;
			return true;
		}
	}
	return false;
}

static void points_add(struct bandwidth *bw, enum op op, enum wait wait,
		       uint64_t bytes, unsigned int depth)
{
	struct point *point = &bw->points[bw->n++];

	memset(point, 0, sizeof(*point));
	point->op = op;
	point->wait = wait;
	point->bytes = bytes;
	point->depth = depth;
}

static void points_add_sizes(struct bandwidth *bw, enum op op, enum wait wait)
{
	const struct options *opt = &bw->run->opt;
	unsigned int depth, size;

	/* Stores are done when they are: depth is about operations */
	if (op == OP_PIO) {
		for (size = 0; size < opt->sizes.n; size++)
			points_add(bw, op, wait, opt->sizes.value[size], 1);
		return;
	}
	for (depth = 0; depth < opt->depths.n; depth++)
		for (size = 0; size < opt->sizes.n; size++)
			points_add(bw, op, wait, opt->sizes.value[size],
				   (unsigned int)opt->depths.value[depth]);
}

/* What was asked for, and what the bounds need */
static bool points_create(struct bandwidth *bw, struct run *run)
{
	const struct options *opt = &run->opt;
	unsigned int waits = opt->waits ? opt->waits : 1U << WAIT_POLL;
	struct point *found;
	enum wait wait;
	enum op op;
	size_t i;

	memset(bw, 0, sizeof(*bw));
	bw->run = run;
	bw->points = calloc((size_t)OP_COUNT * WAIT_COUNT * opt->depths.n *
			    opt->sizes.n + BOUNDS, sizeof(*bw->points));
	if (!bw->points)
		return false;
	for (op = 0; op < OP_COUNT; op++)
		for (wait = 0; wait < WAIT_COUNT; wait++)
			if (opt->ops & 1U << op && waits & 1U << wait &&
			    !(op == OP_PIO && wait == WAIT_SLEEP &&
			      waits & 1U << WAIT_POLL))
				points_add_sizes(bw, op, wait);
	for (i = 0; opt->check && i < BOUNDS; i++)
		if (!points_find(bw, bounds[i].depth, &found))
			points_add(bw, OP_PUT, WAIT_POLL, BOUND_BYTES,
				   bounds[i].depth);
	return true;
}

uint64_t bandwidth_steps(const struct run *run)
{
	struct bandwidth bw;
	uint64_t n = 0;

	if (points_create(&bw, (struct run *)run))
		n = bw.n;
	free(bw.points);
	return n;
}

/* ---- one line ---- */

/* Blocks and strides of an operation that moves about @bytes */
static void stride_of(const struct options *opt, uint64_t bytes,
		      struct nic_stride *stride)
{
	stride->block = bytes < opt->block ? (uint32_t)bytes : opt->block;
	stride->count = (uint32_t)(bytes / stride->block);
	stride->local_stride = opt->stride;
	stride->remote_stride = opt->stride;
}

static uint64_t stride_extent(const struct nic_stride *stride)
{
	return (stride->count - 1) * (uint64_t)stride->local_stride +
		stride->block;
}

uint64_t bandwidth_bytes(const struct options *opt)
{
	uint64_t most = SLOTS_BYTES;
	struct nic_stride stride;
	unsigned int i;

	for (i = 0; i < opt->sizes.n; i++) {
		uint64_t bytes = opt->sizes.value[i];

		if (bytes && opt->ops & (1U << OP_STRIDED | 1U << OP_LIST |
					 1U << OP_BLOCKS)) {
			stride_of(opt, bytes, &stride);
			bytes = stride_extent(&stride);
		}
		if (bytes > most)
			most = bytes;
	}
	return (most + 4095) / 4096 * 4096;
}

/* The blocks of @work->stride as a list, in a segment of its own */
static int list_create(struct work *work)
{
	const struct nic_stride *stride = &work->stride;
	struct nic_list_entry *entry;
	struct nic_segment *segment;
	uint32_t i;
	int ret;

	ret = nic_segment_alloc(work->end->ctx, stride->count * sizeof(*entry),
				&segment);
	if (ret)
		return end_fail(work->end, ret, "make a list");
	entry = nic_segment_addr(segment);
	for (i = 0; i < stride->count; i++) {
		entry[i].local_offset = (uint64_t)i * stride->local_stride;
		entry[i].remote_offset = (uint64_t)i * stride->remote_stride;
		entry[i].bytes = stride->block;
	}
	work->list.seg = segment;
	work->list.count = stride->count;
	return 0;
}

static int work_prepare(struct work *work, struct run *run,
			const struct point *point)
{
	uint64_t extent = point->bytes;

	memset(work, 0, sizeof(*work));
	work->end = &run->near;
	work->op = point->op;
	work->wait = point->wait;
	work->bytes = point->bytes;
	work->depth = point->depth;
	if (op_has_blocks(work->op)) {
		stride_of(&run->opt, point->bytes, &work->stride);
		work->bytes = (uint64_t)work->stride.block * work->stride.count;
		extent = stride_extent(&work->stride);
	}
	/* Each submits its own blocks (post_blocks()) */
	work->batch = work->op == OP_BLOCKS;
	work_slots(work, extent);
	return work->op == OP_LIST ? list_create(work) : 0;
}

/* Do each slot once and compare with what memcpy makes of it */
static int data_verify(struct bandwidth *bw, struct work *work,
		       const struct copy *copy)
{
	bool there = work->op != OP_GET;
	uint64_t area = work->slots * work->extent;
	struct copy model = *copy;
	uint64_t ns, i;

	/* the last slot may end before its round extent does */
	if (area > work->end->half)
		area = work->end->half;
	memset(bw->expected, PATTERN_EMPTY, area);
	memset(copy->to, PATTERN_EMPTY, area);
	model.to = bw->expected;
	copy_run(&model, work->slots, &ns);
	if (there && far_push(bw->run, copy->to, area))
		return -1;
	if (work_run(work, work->slots, &ns))
		return run_end_fail(bw->run, work->end);
	if (there && far_pull(bw->run, copy->to, area))
		return -1;
	if (!memcmp(bw->expected, copy->to, area))
		return 0;
	for (i = 0; bw->expected[i] == copy->to[i]; i++)
		;
	return run_fail(bw->run, "%s of %llu bytes: data came out wrong, first"
			" at byte %llu of slot %llu", op_name(work->op),
			(unsigned long long)work->bytes,
			(unsigned long long)(i % work->extent),
			(unsigned long long)(i / work->extent));
}

static void point_report(struct bandwidth *bw, const struct point *point,
			 const struct work *work)
{
	struct report_point result = {
		.unit = "MB/s",
		.stats = &point->device,
		.sized = true,
		.size_bytes = work->bytes,
		.reference = "memcpy",
		.reference_stats = &point->memcpy,
		.ratio = point->ratio,
	};
	char text[SIZE_TEXT], name[64];
	struct table *table = bw->table;
	struct cJSON *json;

	snprintf(name, sizeof(name), "bandwidth %s depth %u %s",
		 op_name(point->op), point->depth, wait_name(point->wait));
	result.name = name;
	json = report_result(bw->run->report, &result);
	report_param_text(json, "operation", op_name(point->op));
	report_param_text(json, "wait", wait_name(point->wait));
	report_param_number(json, "depth", point->depth);
	if (op_has_blocks(point->op)) {
		report_param_number(json, "block", work->stride.block);
		report_param_number(json, "stride", work->stride.local_stride);
	}
	table_cell(table, "%s", op_name(point->op));
	table_cell(table, "%s", wait_name(point->wait));
	table_cell(table, "%u", point->depth);
	table_cell(table, "%s", size_print(work->bytes, text));
	table_cell(table, "%.1f", point->device.median);
	table_cell(table, "%.1f", 100 * point->device.spread);
	table_cell(table, "%.1f", point->memcpy.median);
	table_cell(table, "%.1f", 100 * point->memcpy.spread);
	table_cell(table, "%.3f", point->ratio);
}

static int work_measure(struct bandwidth *bw, struct point *point,
			struct work *work)
{
	struct run *run = bw->run;
	struct sampled things[2] = { };
	struct copy copy;
	int ret;

	copy_prepare(&copy, work, &run->far);
	if (data_verify(bw, work, &copy))
		return -1;
	things[0].run = work_run;
	things[0].arg = work;
	things[0].least = work->depth;
	things[1].run = copy_run;
	things[1].arg = &copy;
	things[1].least = work->slots;
	if (work->wait == WAIT_POLL && work->op != OP_PIO)
		things[1].beside = beside_create(run);
	ret = sample_alternate(things, 2, &run->opt);
	beside_free(things[1].beside);
	if (ret)
		return run_end_fail(run, &run->near);
	/* Of bandwidths: that of times, upside down */
	point->ratio = sample_ratio(&things[1], &things[0], &run->opt);
	sample_rates(&things[0], work->bytes, &run->opt, &point->device);
	sample_rates(&things[1], work->bytes, &run->opt, &point->memcpy);
	point_report(bw, point, work);
	return 0;
}

static int point_measure(struct bandwidth *bw, struct point *point)
{
	struct run *run = bw->run;
	struct work work;
	int ret;

	if (point->depth > run->near.entries)
		return run_fail(run, "--depth %u is more than the %u entries of"
				" a queue of %s", point->depth,
				run->near.entries, run->near.device);
	if (work_prepare(&work, run, point))
		return run_end_fail(run, &run->near);
	ret = work_measure(bw, point, &work);
	nic_segment_free((struct nic_segment *)work.list.seg);
	return ret;
}

/* ---- all lines ---- */

static void bandwidth_check(const struct bandwidth *bw)
{
	struct point *point;
	char name[64];
	size_t i;

	for (i = 0; i < BOUNDS; i++) {
		if (!points_find(bw, bounds[i].depth, &point))
			continue;
		snprintf(name, sizeof(name), "put 1M depth %u poll",
			 point->depth);
		report_check(bw->run->report, name,
			     point->ratio >= bounds[i].ratio,
			     "%.3f of memcpy (%.0f of %.0f MB/s, spread %.0f "
			     "and %.0f %%), bound %.2f%s", point->ratio,
			     point->device.median, point->memcpy.median,
			     100 * point->device.spread,
			     100 * point->memcpy.spread, bounds[i].ratio,
			     bw->run->stalled ? "; not to be believed, the "
			     "CPUs did not both run" : "");
	}
}

static int bandwidth_measure(struct bandwidth *bw)
{
	char text[SIZE_TEXT], what[64];
	size_t i;

	for (i = 0; i < bw->n; i++) {
		struct point *point = &bw->points[i];

		snprintf(what, sizeof(what), "%s depth %u %s %s",
			 op_name(point->op), point->depth,
			 wait_name(point->wait),
			 size_print(point->bytes, text));
		run_step(bw->run, what);
		if (point_measure(bw, point))
			return -1;
	}
	report_check(bw->run->report, "bandwidth data", true,
		     "compared before each of %zu lines", bw->n);
	if (bw->run->opt.check)
		bandwidth_check(bw);
	return 0;
}

int bandwidth_run(struct run *run)
{
	struct bandwidth bw;
	int ret = -1;

	if (run->opt.waits != 1U << WAIT_SLEEP && cpu_check_handoff(run))
		return -1;
	if (points_create(&bw, run))
		bw.expected = malloc(run->near.half);
	if (!bw.expected) {
		run_fail(run, "no memory to compare with");
		goto free_points;
	}
	pattern_fill(end_send(&run->near), run->near.half, SEED_NEAR);
	pattern_fill(end_send(&run->far), run->far.half, SEED_FAR);
	if (far_push(run, end_send(&run->far), run->far.half))
		goto free_points;
	run_title(run, run->team ? "bandwidth: beside memcpy on this machine" :
		  "bandwidth: beside memcpy between the same segments");
	bw.table = table_create(bandwidth_columns,
				ARRAY_SIZE(bandwidth_columns));
	ret = bandwidth_measure(&bw);
	run_table(run, bw.table);
free_points:
	free(bw.expected);
	free(bw.points);
	return ret;
}
