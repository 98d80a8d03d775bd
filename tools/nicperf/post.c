// SPDX-License-Identifier: GPL-2.0-only
/*
 * post.c - cost of a post beside an empty system call
 *
 * Timed is what the poster pays: filling in the entries, and nic_queue_submit()
 * once a batch, until the queue is full. A device that carries small
 * operations out at once does so within that time. Completions are reaped
 * after the clock was stopped. getppid(2) stands for a system call that does
 * nothing; the library does not keep its answer.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "nicperf.h"
#include "sample.h"

#define POST_BYTES	8

/* The project's bound: a put of a batch of 32, in system calls */
#define BOUND_BATCH	32
#define BOUND_RATIO	0.5

static const enum op post_ops[] = { OP_PUT, OP_NOP };
static const unsigned int post_batches[] = { 1, 8, BOUND_BATCH };

#define POST_OPS	ARRAY_SIZE(post_ops)
#define POST_BATCHES	ARRAY_SIZE(post_batches)

static const struct column post_columns[] = {
	{ "post", true },
	{ "batch", false },
	{ "a post [ns]", false },
	{ "spread [%]", false },
	{ "system call [ns]", false },
	{ "spread [%]", false },
	{ "ratio", false },
};

/* One batch, as a program would write it */
static int post_batch(const struct work *work, unsigned int *slot)
{
	struct end *end = work->end;
	unsigned int i;
	int ret = 0;

	if (work->op == OP_NOP) {
		for (i = 0; i < work->batch && !ret; i++)
			ret = nic_post_nop(end->queue, 0, i);
		return ret;
	}
	for (i = 0; i < work->batch && !ret; i++) {
		uint64_t lower = *slot * work->extent;

		ret = nic_post_put(end->queue, end->segment, lower, end->remote,
				   end->remote_half + lower, work->bytes, 0, i);
		if (++*slot == work->slots)
			*slot = 0;
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

static int system_call_time(void *arg, uint64_t count, uint64_t *ns)
{
	uint64_t start, i;

	(void)arg;
	start = now_ns();
	for (i = 0; i < count; i++)
		syscall(SYS_getppid);
	*ns = now_ns() - start;
	return 0;
}

static void post_line(struct run *run, struct table *table,
		      const struct work *work, const struct stats *post,
		      const struct stats *call)
{
	double ratio = stats_ratio(post->median, call->median);
	struct report_point point = {
		.unit = "ns",
		.stats = post,
		.sized = work->op == OP_PUT,
		.size_bytes = work->bytes,
		.reference = "empty system call",
		.reference_stats = call,
	};
	struct cJSON *result;
	char name[64];

	snprintf(name, sizeof(name), "post %s batch %u", op_name(work->op),
		 work->batch);
	point.name = name;
	result = report_result(run->report, &point);
	report_param_text(result, "operation", op_name(work->op));
	report_param_number(result, "batch", work->batch);
	if (run->opt.check && work->op == OP_PUT && work->batch == BOUND_BATCH)
		report_check(run->report, name, ratio <= BOUND_RATIO,
			     "%.3f of an empty system call (%.0f of %.0f ns), "
			     "bound %.2f", ratio, post->median, call->median,
			     BOUND_RATIO);
	table_cell(table, "%s", op_name(work->op));
	table_cell(table, "%u", work->batch);
	table_cell(table, "%.1f", post->median);
	table_cell(table, "%.1f", 100 * post->spread);
	table_cell(table, "%.1f", call->median);
	table_cell(table, "%.1f", 100 * call->spread);
	table_cell(table, "%.3f", ratio);
}

static int post_one(struct run *run, struct table *table, enum op op,
		    unsigned int batch)
{
	struct sampled things[2] = {
		{ .run = post_time },
		{ .run = system_call_time },
	};
	struct work work = {
		.end = &run->near,
		.op = op,
		.wait = WAIT_POLL,
		.bytes = op == OP_PUT ? POST_BYTES : 0,
		.depth = run->near.entries / batch * batch,
		.batch = batch,
	};
	struct stats post, call;
	char what[64];

	if (run_check_entries(run, batch))
		return -1;
	snprintf(what, sizeof(what), "post %s batch %u", op_name(op), batch);
	run_step(run, what);
	work_slots(&work, POST_BYTES);
	things[0].arg = &work;
	things[0].least = work.depth;
	things[1].least = work.depth;
	if (sample_alternate(things, 2, &run->opt))
		return run_end_fail(run, &run->near);
	stats_summarize(things[0].ns, run->opt.samples, &post);
	stats_summarize(things[1].ns, run->opt.samples, &call);
	post_line(run, table, &work, &post, &call);
	return 0;
}

uint64_t post_steps(const struct run *run)
{
	(void)run;
	return POST_OPS * POST_BATCHES;
}

int post_run(struct run *run)
{
	struct table *table;
	size_t i, j;
	int ret = 0;

	run_title(run, "post: filling in and submitting, a post; reaping is "
		  "not timed");
	table = table_create(post_columns, ARRAY_SIZE(post_columns));
	for (i = 0; i < POST_OPS && !ret; i++)
		for (j = 0; j < POST_BATCHES && !ret; j++)
			ret = post_one(run, table, post_ops[i],
				       post_batches[j]);
	run_table(run, table);
	return ret;
}
