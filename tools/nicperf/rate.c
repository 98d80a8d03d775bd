// SPDX-License-Identifier: GPL-2.0-only
/*
 * rate.c - messages a second: puts of 8 bytes, and notifies
 *
 * One queue, one thread that polls, WINDOW messages in flight at most, handed
 * over one or many at a time. Beside it, in turn, empty system calls.
 */
#include <string.h>

#include "nicperf.h"
#include "post.h"
#include "ranks.h"
#include "sample.h"

#define WINDOW		64
#define MESSAGE_BYTES	8

static const enum op rate_ops[] = { OP_PUT, OP_NOTIFY };
static const unsigned int rate_batches[] = { 1, 32 };

#define RATE_OPS	ARRAY_SIZE(rate_ops)
#define RATE_BATCHES	ARRAY_SIZE(rate_batches)

static const struct column rate_columns[] = {
	{ "message", true },
	{ "batch", false },
	{ "median [1/s]", false },
	{ "spread [%]", false },
	{ "min [1/s]", false },
	{ "max [1/s]", false },
	{ "of system calls", false },
};

/* A run that remembers how many messages it sent in all */
struct counted {
	struct work work;
	uint64_t sent;
};

static int rate_send(void *arg, uint64_t count, uint64_t *ns)
{
	struct counted *counted = arg;

	counted->sent += count;
	return work_run(&counted->work, count, ns);
}

static void rate_line(struct run *run, struct table *table,
		      const struct work *work, const struct stats *stats,
		      const struct stats *calls, double ratio)
{
	struct report_point point = {
		.unit = "1/s",
		.stats = stats,
		.sized = work->op == OP_PUT,
		.size_bytes = work->bytes,
		.reference = "empty system calls",
		.reference_stats = calls,
		.ratio = ratio,
	};
	struct cJSON *result;
	char name[64];

	snprintf(name, sizeof(name), "rate %s batch %u", op_name(work->op),
		 work->batch);
	point.name = name;
	result = report_result(run->report, &point);
	report_param_text(result, "operation", op_name(work->op));
	report_param_number(result, "batch", work->batch);
	report_param_number(result, "depth", work->depth);
	table_cell(table, "%s", op_name(work->op));
	table_cell(table, "%u", work->batch);
	table_cell(table, "%.0f", stats->median);
	table_cell(table, "%.1f", 100 * stats->spread);
	table_cell(table, "%.0f", stats->min);
	table_cell(table, "%.0f", stats->max);
	table_cell(table, "%.3f", ratio);
}

/* Of times in ns */
static void rates(struct sampled *thing, unsigned int samples,
		  struct stats *stats)
{
	unsigned int i;

	for (i = 0; i < samples; i++)
		thing->ns[i] = stats_ratio(1e9, thing->ns[i]);
	stats_summarize(thing->ns, samples, stats);
}

static int rate_measure(struct run *run, struct table *table,
			struct counted *counted)
{
	struct sampled things[] = {
		{
			.run = rate_send,
			.arg = counted,
			.least = counted->work.depth,
		},
		{ .run = post_system_call_time, .least = 1 },
	};
	struct stats stats, calls;
	uint64_t before, raised;
	double ratio;

	if (far_raised(run, &before))
		return -1;
	if (sample_alternate(things, ARRAY_SIZE(things), &run->opt))
		return run_end_fail(run, &run->near);
	if (far_raised(run, &raised))
		return -1;
	/* To ask before was one */
	raised -= before + !!run->team;
	if (counted->work.op == OP_NOTIFY && raised != counted->sent)
		return run_fail(run, "%llu notifies completed, but the "
				"interrupt was raised %llu times",
				(unsigned long long)counted->sent,
				(unsigned long long)raised);
	ratio = sample_ratio(&things[1], &things[0], &run->opt);
	rates(&things[0], run->opt.samples, &stats);
	rates(&things[1], run->opt.samples, &calls);
	rate_line(run, table, &counted->work, &stats, &calls, ratio);
	return 0;
}

static int rate_one(struct run *run, struct table *table, enum op op,
		    unsigned int batch)
{
	struct counted counted = {
		.work = {
			.end = &run->near,
			.op = op,
			.wait = WAIT_POLL,
			.bytes = MESSAGE_BYTES,
			.depth = WINDOW,
			.batch = batch,
		},
	};
	char what[64];

	if (run_check_entries(run, WINDOW))
		return -1;
	snprintf(what, sizeof(what), "rate %s batch %u", op_name(op), batch);
	run_step(run, what);
	work_slots(&counted.work, MESSAGE_BYTES);
	return rate_measure(run, table, &counted);
}

uint64_t rate_steps(const struct run *run)
{
	(void)run;
	return RATE_OPS * RATE_BATCHES;
}

int rate_run(struct run *run)
{
	struct table *table;
	size_t i, j;
	int ret = 0;

	run_title(run, "rate: messages a second, puts of 8 bytes and notifies");
	table = table_create(rate_columns, ARRAY_SIZE(rate_columns));
	for (i = 0; i < RATE_OPS && !ret; i++)
		for (j = 0; j < RATE_BATCHES && !ret; j++)
			ret = rate_one(run, table, rate_ops[i],
				       rate_batches[j]);
	if (!run->team)
		end_forget_events(&run->far);
	run_table(run, table);
	return ret;
}
