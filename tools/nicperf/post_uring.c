// SPDX-License-Identifier: GPL-2.0-only
/*
 * post_uring.c - cost of a post through an io_uring, beside its own NOP
 *
 * Timed is a batch from filling in to taking the last completion, for that of
 * an operation and that of the NOP come from the same ring. (Where a command
 * hands over a batch, completions come from the queue's ring, and are taken,
 * too.) So a post here is more than one of post.c, whose completions nobody
 * takes while the clock runs.
 */
#include "post.h"
#include "sample.h"
#include "uring.h"

/*
 * The project's bound: a put of a batch of 32 by the way that is meant for
 * batches, in NOPs of the same ring. There is none for a command for each.
 */
static const double bound_nops[WAY_COUNT] = {
	[WAY_URING] = 1.4,
};

enum { THING_POST, THING_CALL, THING_NOP, THINGS };

static const struct column uring_columns[] = {
	{ "post", true },
	{ "batch", false },
	{ "a post [ns]", false },
	{ "spread [%]", false },
	{ "system call [ns]", false },
	{ "spread [%]", false },
	{ "ratio", false },
	{ "NOP [ns]", false },
	{ "spread [%]", false },
	{ "ratio", false },
};

static const char *const uring_titles[WAY_COUNT] = {
	[WAY_URING] = "post, io_uring, a command for each batch: filling in, "
		"submitting and reaping, a post",
	[WAY_URING_POST] = "post, io_uring, a command for each operation: "
		"filling in, submitting and reaping, a post",
};

struct uring_work {
	struct uring *uring;
	const struct work *work;
	enum uring_kind kind;
};

/* @count is a multiple of the batch */
static int uring_time(void *arg, uint64_t count, uint64_t *ns)
{
	const struct uring_work *work = arg;
	uint64_t start = now_ns();
	int ret = 0;

	for (; count && !ret; count -= work->work->batch)
		ret = uring_batch(work->uring, work->work, work->kind);
	*ns = now_ns() - start;
	return ret;
}

static void uring_line(struct run *run, struct table *table,
		       const struct work *work, enum way way,
		       struct sampled *things)
{
	const double of_nop = sample_ratio(&things[THING_POST], &things[THING_NOP],
					   &run->opt);
	struct stats stats[THINGS];
	struct post_result result = {
		.work = work,
		.way = way,
		.what = "",
		.post = &stats[THING_POST],
		.reference = "empty system call",
		.reference_stats = &stats[THING_CALL],
		.ratio = sample_ratio(&things[THING_POST], &things[THING_CALL],
				      &run->opt),
	};
	unsigned int i;

	for (i = 0; i < THINGS; i++)
		stats_summarize(things[i].ns, run->opt.samples, &stats[i]);
	post_report(run, &result, 0);
	table_cell(table, "%s", op_name(work->op));
	table_cell(table, "%u", work->batch);
	post_cells(table, &stats[THING_POST]);
	post_cells(table, &stats[THING_CALL]);
	table_cell(table, "%.3f", result.ratio);
	result.what = " beside NOP";
	result.reference = "io_uring NOP";
	result.reference_stats = &stats[THING_NOP];
	result.ratio = of_nop;
	post_report(run, &result, bound_nops[way]);
	post_cells(table, &stats[THING_NOP]);
	table_cell(table, "%.3f", of_nop);
}

static int uring_one(struct run *run, struct table *table, struct uring *uring,
		     enum way way, enum op op, unsigned int batch)
{
	const enum uring_kind kind = way == WAY_URING ? URING_ENTER :
							URING_POST;
	struct work work;
	struct uring_work posts = { uring, &work, kind };
	struct uring_work nops = { uring, &work, URING_NOP };
	struct sampled things[THINGS] = {
		[THING_POST] = { .run = uring_time, .arg = &posts },
		[THING_CALL] = { .run = post_system_call_time },
		[THING_NOP] = { .run = uring_time, .arg = &nops },
	};
	unsigned int i;
	char what[64];

	snprintf(what, sizeof(what), "post %s batch %u %s", op_name(op), batch,
		 way_name(way));
	run_step(run, what);
	post_prepare(&work, &run->near, op, batch);
	for (i = 0; i < THINGS; i++)
		things[i].least = batch;
	if (sample_alternate(things, THINGS, &run->opt))
		return run_end_fail(run, &run->near);
	uring_line(run, table, &work, way, things);
	return 0;
}

static int uring_table(struct run *run, struct uring *uring, enum way way)
{
	struct table *table;
	size_t i, j;
	int ret = 0;

	run_title(run, uring_titles[way]);
	table = table_create(uring_columns, ARRAY_SIZE(uring_columns));
	for (i = 0; i < POST_OPS && !ret; i++)
		for (j = 0; j < POST_BATCHES && !ret; j++)
			ret = uring_one(run, table, uring, way, post_ops[i],
					post_batches[j]);
	run_table(run, table);
	return ret;
}

int post_uring(struct run *run, unsigned int ways)
{
	struct uring *uring;
	int ret = 0;

	if (run_check_entries(run, POST_BATCH_BOUND))
		return -1;
	uring = uring_create(&run->near);
	if (!uring && run->opt.ways)
		return run_end_fail(run, &run->near);
	if (!uring) {
		run_note("%s; the ways uring and uring-post are left out",
			 run->near.error);
		return 0;
	}
	if (ways & 1U << WAY_URING)
		ret = uring_table(run, uring, WAY_URING);
	if (!ret && ways & 1U << WAY_URING_POST)
		ret = uring_table(run, uring, WAY_URING_POST);
	uring_destroy(uring);
	return ret;
}
