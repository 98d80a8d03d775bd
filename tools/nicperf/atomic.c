// SPDX-License-Identifier: GPL-2.0-only
/*
 * atomic.c - how long an atomic takes, from post to completion
 *
 * One FETCH_ADD of 1 after the other on the first word of the other end (the
 * halves may begin anywhere); each is one sample. In the end the word tells whether all were done.
 */
#include <linux/dmanic.h>
#include <stdlib.h>
#include <string.h>

#include "nicperf.h"
#include "ranks.h"

#define WARM_UP		16
#define SAMPLES_LEAST	100
#define SAMPLES_MOST	(1U << 17)

static const struct column atomic_columns[] = {
	{ "wait", true },
	{ "P50 [us]", false },
	{ "P99 [us]", false },
	{ "min [us]", false },
	{ "max [us]", false },
	{ "atomics", false },
};

static bool atomic_known(const struct run *run)
{
	return run->near.info.features & run->far.info.features &
	       DMANIC_FEATURE_ATOMIC;
}

uint64_t atomic_steps(const struct run *run, unsigned int waits)
{
	return atomic_known(run) ? (unsigned int)__builtin_popcount(waits) : 0;
}

static int atomic_one(struct end *end, enum wait wait)
{
	unsigned int taken;
	int ret;

	ret = nic_post_fetch_add(end->queue, end->remote, 0, 1, 0, 0);
	if (ret)
		return end_fail(end, ret, "post");
	return end_wait(end, 1, wait, &taken);
}

/* Take samples until there are enough; @n: how many were taken */
static int atomic_sample(struct run *run, enum wait wait, double *us, size_t most,
			 size_t *n)
{
	const struct options *opt = &run->opt;
	uint64_t begin, start, now;
	int ret = 0, i;

	for (i = 0; i < WARM_UP && !ret; i++)
		ret = atomic_one(&run->near, wait);
	begin = now_ns();
	for (*n = 0, now = begin; !ret && *n < most; (*n)++) {
		if (!opt->iterations && *n >= SAMPLES_LEAST &&
		    now - begin >= opt->time_ns)
			break;
		start = now_ns();
		ret = atomic_one(&run->near, wait);
		now = now_ns();
		us[*n] = (double)(now - start) / 1000;
	}
	return ret;
}

static void atomic_line(struct run *run, struct table *table, enum wait wait,
			const struct stats *stats)
{
	struct report_point point = {
		.name = wait == WAIT_POLL ? "latency atomic poll" :
					    "latency atomic sleep",
		.unit = "us",
		.stats = stats,
	};
	struct cJSON *result = report_result(run->report, &point);

	report_param_text(result, "wait", wait_name(wait));
	table_cell(table, "%s", wait_name(wait));
	table_cell(table, "%.2f", stats->median);
	table_cell(table, "%.2f", stats->p99);
	table_cell(table, "%.2f", stats->min);
	table_cell(table, "%.2f", stats->max);
	table_cell(table, "%zu", stats->samples);
}

static int atomic_wait(struct run *run, struct table *table, enum wait wait,
		       double *us, size_t most)
{
	uint64_t *word = (uint64_t *)(void *)end_send(&run->far), done;
	struct stats stats;
	size_t n;

	run_step(run, wait == WAIT_POLL ? "latency atomic poll" :
					  "latency atomic sleep");
	__atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
	if (far_push(run, end_send(&run->far), sizeof(*word)))
		return -1;
	if (atomic_sample(run, wait, us, most, &n))
		return run_end_fail(run, &run->near);
	if (far_pull(run, end_send(&run->far), sizeof(*word)))
		return -1;
	done = __atomic_load_n(word, __ATOMIC_SEQ_CST);
	if (done != n + WARM_UP)
		return run_fail(run, "%zu times 1 was added, and the sum is %llu",
				n + WARM_UP, (unsigned long long)done);
	stats_summarize(us, n, &stats);
	atomic_line(run, table, wait, &stats);
	return 0;
}

int atomic_run(struct run *run, unsigned int waits)
{
	size_t most = run->opt.iterations ? run->opt.iterations : SAMPLES_MOST;
	struct table *table;
	enum wait wait;
	double *us;
	int ret = 0;

	if (!atomic_known(run))
		return 0;
	us = calloc(most, sizeof(*us));
	if (!us)
		return run_fail(run, "no memory for the samples");
	run_title(run, "latency: an atomic, from post to completion");
	table = table_create(atomic_columns, ARRAY_SIZE(atomic_columns));
	for (wait = 0; wait < WAIT_COUNT && !ret; wait++)
		if (waits & 1U << wait)
			ret = atomic_wait(run, table, wait, us, most);
	run_table(run, table);
	free(us);
	return ret;
}
