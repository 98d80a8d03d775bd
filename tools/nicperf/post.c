// SPDX-License-Identifier: GPL-2.0-only
/*
 * post.c - cost of a post beside an empty system call
 *
 * Timed is what the poster pays: filling in the entries, and nic_queue_submit()
 * once a batch, until the queue is full. A device that carries small
 * operations out at once does so within that time. Completions are reaped
 * after the clock was stopped.
 *
 * With a polling thread the poster has to fill in, to publish and to reap, and
 * all of that is timed; waiting for the thread is not, for it costs time but no
 * work. What a post takes with the waits, from the first one to the last
 * completion and with the queue kept full, is measured beside it.
 *
 * The ways through an io_uring are in post_uring.c; completions told by an eventfd
 * in post_event.c.
 *
 * getppid(2) stands for a system call that does nothing; the library does not
 * keep its answer.
 */
#include <errno.h>
#include <linux/dmanic.h>
#include <nic_uring.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "beside.h"
#include "post.h"
#include "sample.h"

/* The project's bounds: a put of a batch of 32, in system calls */
static const double bound_ratio[WAY_COUNT] = {
	[WAY_ENTER] = 0.5,
	[WAY_THREAD] = 0.15,
};

const enum op post_ops[POST_OPS] = { OP_PUT, OP_NOP };
const unsigned int post_batches[POST_BATCHES] = { 1, 8, POST_BATCH_BOUND };

static const struct column enter_columns[] = {
	{ "post", true },
	{ "batch", false },
	{ "a post [ns]", false },
	{ "spread [%]", false },
	{ "system call [ns]", false },
	{ "spread [%]", false },
	{ "ratio", false },
};

static const struct column thread_columns[] = {
	{ "post", true },
	{ "batch", false },
	{ "a post [ns]", false },
	{ "spread [%]", false },
	{ "system call [ns]", false },
	{ "spread [%]", false },
	{ "ratio", false },
	{ "with waits [ns]", false },
	{ "spread [%]", false },
	{ "ratio", false },
};

const char *way_name(enum way way)
{
	static const char *const names[WAY_COUNT] = {
		[WAY_ENTER] = "enter",
		[WAY_EVENTFD] = "eventfd",
		[WAY_THREAD] = "thread",
		[WAY_URING] = "uring",
		[WAY_URING_POST] = "uring-post",
	};

	return names[way];
}

int post_batch(const struct work *work, unsigned int *slot)
{
	const struct end end = *work->end;
	const uint64_t extent = work->extent, bytes = work->bytes;
	uint64_t lower = *slot * extent;
	unsigned int i;
	int ret = 0;

	if (work->op == OP_NOP) {
		for (i = 0; i < work->batch && !ret; i++)
			ret = nic_post_nop(end.queue, 0, i);
		return ret;
	}
	for (i = 0; i < work->batch && !ret; i++) {
		ret = nic_post_put(end.queue, end.segment, lower, end.remote,
				   end.remote_half + lower, bytes, 0, i);
		lower += extent;
		if (++*slot == work->slots)
			lower = *slot = 0;
	}
	return ret;
}

static int post_fill(const struct work *work)
{
	unsigned int posted, slot = 0;
	int ret;

	for (posted = 0; posted < work->depth; posted += work->batch) {
		ret = post_batch(work, &slot);
		if (ret)
			return end_fail(work->end, ret, "post");
		ret = end_submit(work->end, work->batch);
		if (ret)
			return ret;
	}
	return 0;
}

/* @count is a multiple of the depth: fill the queue, empty it, ... */
static int post_time(void *arg, uint64_t count, uint64_t *ns)
{
	const struct work *work = arg;
	unsigned int left, taken;
	uint64_t start;
	int ret;

	for (*ns = 0; count; count -= work->depth) {
		start = now_ns();
		ret = post_fill(work);
		*ns += now_ns() - start;
		for (left = work->depth; left && !ret; left -= taken)
			ret = end_wait(work->end, 0, WAIT_POLL, &taken);
		if (ret)
			return ret;
	}
	return 0;
}

static int reap(const struct work *work, unsigned int left)
{
	unsigned int taken;
	int ret;

	for (; left; left -= taken) {
		ret = end_collect(work->end, &taken);
		if (ret)
			return ret;
	}
	return 0;
}

/* Without taking any */
static int await_all(const struct work *work)
{
	uint64_t start = now_ns();

	while (nic_queue_ready(work->end->queue) < work->depth) {
		cpu_relax();
		if (now_ns() - start > END_TIMEOUT_NS)
			return end_fault(work->end, -ETIME,
					 "the polling thread does not complete what was posted; see nicctl dev show");
	}
	return 0;
}

/* As post_time(), but for who is left alone with it: reaping counts */
static int thread_time(void *arg, uint64_t count, uint64_t *ns)
{
	const struct work *work = arg;
	uint64_t start;
	int ret;

	for (*ns = 0; count; count -= work->depth) {
		start = now_ns();
		ret = post_fill(work);
		*ns += now_ns() - start;
		if (!ret)
			ret = await_all(work);
		if (ret)
			return ret;
		start = now_ns();
		ret = reap(work, work->depth);
		*ns += now_ns() - start;
		if (ret)
			return ret;
	}
	return 0;
}

int post_system_call_time(void *arg, uint64_t count, uint64_t *ns)
{
	uint64_t start, i;

	(void)arg;
	start = now_ns();
	for (i = 0; i < count; i++)
		syscall(SYS_getppid);
	*ns = now_ns() - start;
	return 0;
}

/* ---- what is told ---- */

static void post_check(struct run *run, const struct post_result *result,
		       const char *name, double bound)
{
	const double post = result->post->median;
	const double reference = result->reference_stats->median;

	report_check(run->report, name, result->ratio <= bound,
		     "%.3f of an %s (%.0f of %.0f ns), bound %.2f",
		     result->ratio, result->reference, post, reference, bound);
}

void post_report(struct run *run, const struct post_result *result,
		 double bound)
{
	const struct work *work = result->work;
	struct report_point point = {
		.unit = "ns",
		.stats = result->post,
		.sized = work->op == OP_PUT,
		.size_bytes = work->bytes,
		.reference = result->reference,
		.reference_stats = result->reference_stats,
		.ratio = result->ratio,
	};
	struct cJSON *json;
	char name[64];

	snprintf(name, sizeof(name), "post %s batch %u%s%s%s",
		 op_name(work->op), work->batch,
		 result->way == WAY_ENTER ? "" : " ",
		 result->way == WAY_ENTER ? "" : way_name(result->way),
		 result->what);
	point.name = name;
	json = report_result(run->report, &point);
	report_param_text(json, "operation", op_name(work->op));
	report_param_text(json, "way", way_name(result->way));
	report_param_number(json, "batch", work->batch);
	if (run->opt.check && bound > 0 && work->op == OP_PUT &&
	    work->batch == POST_BATCH_BOUND)
		post_check(run, result, name, bound);
}

void post_cells(struct table *table, const struct stats *stats)
{
	table_cell(table, "%.1f", stats->median);
	table_cell(table, "%.1f", 100 * stats->spread);
}

struct table *post_table_create(void)
{
	return table_create(enter_columns, ARRAY_SIZE(enter_columns));
}

void post_line(struct run *run, struct table *table, const struct work *work,
	       enum way way, struct sampled *post, struct sampled *call,
	       struct sampled *flow)
{
	const struct options *opt = &run->opt;
	double flow_ratio = flow ? sample_ratio(flow, call, opt) : 0;
	struct stats stats, call_stats, flow_stats;
	struct post_result result = {
		.work = work,
		.way = way,
		.what = "",
		.post = &stats,
		.reference = "empty system call",
		.reference_stats = &call_stats,
		.ratio = sample_ratio(post, call, opt),
	};

	stats_summarize(post->ns, opt->samples, &stats);
	stats_summarize(call->ns, opt->samples, &call_stats);
	post_report(run, &result, bound_ratio[way]);
	table_cell(table, "%s", op_name(work->op));
	table_cell(table, "%u", work->batch);
	post_cells(table, &stats);
	post_cells(table, &call_stats);
	table_cell(table, "%.3f", result.ratio);
	if (!flow)
		return;
	stats_summarize(flow->ns, opt->samples, &flow_stats);
	result.what = " with waits";
	result.post = &flow_stats;
	result.ratio = flow_ratio;
	post_report(run, &result, 0);
	post_cells(table, &flow_stats);
	table_cell(table, "%.3f", flow_ratio);
}

/* ---- one line ---- */

void post_prepare(struct work *work, struct end *end, enum op op,
		  unsigned int batch)
{
	memset(work, 0, sizeof(*work));
	work->end = end;
	work->op = op;
	work->wait = WAIT_POLL;
	work->bytes = op == OP_PUT ? POST_BYTES : 0;
	work->depth = end->entries / batch * batch;
	work->batch = batch;
	work_slots(work, POST_BYTES);
}

static int post_one(struct run *run, struct table *table, struct end *end,
		    enum way way, enum op op, unsigned int batch)
{
	struct sampled things[3] = {
		{ .run = way == WAY_THREAD ? thread_time : post_time },
		{ .run = post_system_call_time },
		{ .run = work_run },
	};
	const unsigned int n = way == WAY_THREAD ? 3 : 2;
	struct work work;
	unsigned int i;
	char what[64];
	int ret;

	if (run_check_entries(run, batch))
		return -1;
	snprintf(what, sizeof(what), "post %s batch %u %s", op_name(op), batch,
		 way_name(way));
	run_step(run, what);
	post_prepare(&work, end, op, batch);
	for (i = 0; i < n; i++)
		things[i].least = work.depth;
	things[0].arg = &work;
	things[2].arg = &work;
	if (way == WAY_THREAD)
		things[1].beside = beside_create(run);
	ret = sample_alternate(things, n, &run->opt);
	beside_free(things[1].beside);
	if (ret)
		return run_end_fail(run, end);
	post_line(run, table, &work, way, &things[0], &things[1],
		  way == WAY_THREAD ? &things[2] : NULL);
	return 0;
}

static int post_table(struct run *run, struct end *end, enum way way)
{
	struct table *table;
	size_t i, j;
	int ret = 0;

	if (way == WAY_ENTER) {
		run_title(run, "post: filling in and submitting, a post; "
			  "reaping is not timed");
		table = post_table_create();
	} else {
		run_title(run, "post, polling thread: filling in, publishing "
			  "and reaping, a post");
		table = table_create(thread_columns,
				     ARRAY_SIZE(thread_columns));
	}
	for (i = 0; i < POST_OPS && !ret; i++)
		for (j = 0; j < POST_BATCHES && !ret; j++)
			ret = post_one(run, table, end, way, post_ops[i],
				       post_batches[j]);
	run_table(run, table);
	return ret;
}

/* ---- the polling thread ---- */

/* It runs where who makes the queue runs: on the second CPU */
int post_thread_queue(struct run *run, struct end *end)
{
	const struct nic_queue_options options = {
		.size = sizeof(options),
		.flags = NIC_POLL_THREAD,
		.entries = end->entries,
	};
	int ret, back;

	ret = cpu_bind(run->cpu[1]);
	if (!ret)
		ret = nic_queue_create_with(end->ctx, &options, &end->queue);
	back = cpu_bind(run->cpu[0]);
	if (ret)
		return end_fail(end, ret, "make a queue with a polling thread");
	if (back) {
		nic_queue_destroy(end->queue);
		return end_fail(end, back, "go back to the first CPU");
	}
	return 0;
}

static int post_thread(struct run *run)
{
	/* The near end in all but the queue */
	struct end end = run->near;
	int ret;

	if (post_thread_queue(run, &end))
		return run_end_fail(run, &end);
	ret = post_table(run, &end, WAY_THREAD);
	nic_queue_destroy(end.queue);
	return ret;
}

/* What was asked for, or what can be measured here */
static unsigned int post_ways(const struct run *run)
{
	unsigned int ways = 1U << WAY_ENTER | 1U << WAY_EVENTFD;

	if (run->opt.ways)
		return run->opt.ways;
	if (run->near.info.features & DMANIC_FEATURE_POLL_THREAD &&
	    run->cpus > 1)
		ways |= 1U << WAY_THREAD;
	if (nic_uring_features(run->near.ctx) & NIC_URING_POST)
		ways |= 1U << WAY_URING | 1U << WAY_URING_POST;
	return ways;
}

uint64_t post_steps(const struct run *run)
{
	return (uint64_t)__builtin_popcount(post_ways(run)) * POST_OPS *
	       POST_BATCHES;
}

int post_run(struct run *run)
{
	const unsigned int ways = post_ways(run);
	int ret = 0;

	if (run->opt.ways & 1U << WAY_THREAD && run->cpus < 2)
		return run_fail(run, "a polling thread needs a CPU of its own; "
				"use --cpu with two, or --way enter");
	if (ways & 1U << WAY_ENTER)
		ret = post_table(run, &run->near, WAY_ENTER);
	if (!ret && ways & 1U << WAY_EVENTFD)
		ret = post_event(run);
	if (!ret && ways & 1U << WAY_THREAD)
		ret = post_thread(run);
	if (!ret && ways & (1U << WAY_URING | 1U << WAY_URING_POST))
		ret = post_uring(run, ways);
	return ret;
}
