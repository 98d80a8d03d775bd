// SPDX-License-Identifier: GPL-2.0-only
/*
 * latency.c - ping-pong of puts with notify between two ends, and of stores
 *
 * One thread puts and raises the other end's interrupt, which wakes the other
 * thread, which does the same in return. Half of the round trip is the time
 * from the first post to the moment the data and the event are seen. Every
 * round trip is one sample. Where the other end can be mapped, the same is done
 * with stores, a flush and a notify instead of the put.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nicperf.h"
#include "pattern.h"
#include "pong.h"

#define WARM_UP		16
#define SAMPLES_LEAST	100
#define SAMPLES_MOST	(1U << 17)

static const struct column latency_columns[] = {
	{ "operation", true },
	{ "wait", true },
	{ "size [B]", false },
	{ "P50 [us]", false },
	{ "P99 [us]", false },
	{ "min [us]", false },
	{ "max [us]", false },
	{ "round trips", false },
};

/* The two threads */
struct pingpong {
	struct run *run;
	struct table *table;
	pthread_t thread;
	atomic_bool abort;
	bool answer_failed;
	uint32_t sequence;
	uint64_t most;
	double *us;
};

static void *pong_thread(void *arg)
{
	struct pingpong *pair = arg;
	int ret;

	ret = cpu_bind(pair->run->cpu[1]);
	if (ret)
		end_fault(&pair->run->far, ret, "cannot run on CPU %d: %s",
			  pair->run->cpu[1], strerror(-ret));
	else
		ret = pong_serve(&pair->run->far, WAIT_SLEEP);
	if (ret && ret != -ECANCELED) {
		pair->answer_failed = true;
		atomic_store(&pair->abort, true);
	}
	return NULL;
}

static int pair_start(struct pingpong *pair, struct run *run)
{
	int ret;

	memset(pair, 0, sizeof(*pair));
	pair->run = run;
	pair->most = run->opt.iterations ? run->opt.iterations : SAMPLES_MOST;
	pair->us = calloc(pair->most, sizeof(*pair->us));
	if (!pair->us) {
		run_fail(run, "no memory for the samples");
		return -1;
	}
	end_forget_events(&run->near);
	pair->table = table_create(latency_columns,
				   ARRAY_SIZE(latency_columns));
	if (run->team)
		return 0;
	end_forget_events(&run->far);
	run->near.abort = &pair->abort;
	run->far.abort = &pair->abort;
	ret = pthread_create(&pair->thread, NULL, pong_thread, pair);
	if (ret) {
		run_fail(run, "cannot start a thread: %s", strerror(ret));
		table_free(pair->table);
		free(pair->us);
		return -1;
	}
	return 0;
}

/* @ret: how it went; the other thread's failure is the cause of ours */
static int pair_stop(struct pingpong *pair, int ret)
{
	struct run *run = pair->run;

	if (!run->team) {
		if (!ret)
			ret = pong_send(&run->near, PONG_STOP);
		if (ret)
			atomic_store(&pair->abort, true);
		pthread_join(pair->thread, NULL);
		run->near.abort = NULL;
		run->far.abort = NULL;
	}
	free(pair->us);
	run_table(run, pair->table);
	if (pair->answer_failed)
		return run_end_fail(run, &run->far);
	return ret ? run_end_fail(run, &run->near) : 0;
}

/* There and back once */
static int ping(struct pingpong *pair, uint64_t payload, enum wait wait)
{
	payload |= pair->sequence++ & PONG_SEQUENCE;
	return pong_ping(&pair->run->near, pair->run->far.device, payload, wait);
}

/* Put a pattern there and find it here */
static int ping_verify(struct pingpong *pair, uint64_t payload, enum wait wait)
{
	struct end *end = &pair->run->near;
	uint32_t seed = pair->sequence & PONG_SEQUENCE;
	uint64_t bytes = pong_bytes(payload);
	int ret;

	pattern_fill(end_send(end), bytes, seed);
	memset(end_receive(end), PATTERN_EMPTY, bytes);
	ret = ping(pair, payload | PONG_VERIFY, wait);
	if (ret)
		return ret;
	if (!pattern_matches(end_receive(end), bytes, seed))
		return end_fault(end, -EIO, "data came back wrong");
	return 0;
}

/* Take samples until there are enough */
static int ping_sample(struct pingpong *pair, uint64_t payload, enum wait wait,
		       struct stats *stats)
{
	const struct options *opt = &pair->run->opt;
	uint64_t begin, start, now;
	size_t n = 0;
	int ret;

	begin = now_ns();
	do {
		start = now_ns();
		ret = ping(pair, payload, wait);
		if (ret)
			return ret;
		now = now_ns();
		pair->us[n++] = (double)(now - start) / 2000;
	} while (n < pair->most && (opt->iterations || n < SAMPLES_LEAST ||
				    now - begin < opt->time_ns));
	stats_summarize(pair->us, n, stats);
	return 0;
}

static void latency_line(struct pingpong *pair, enum wait wait, uint64_t bytes,
			 const struct stats *stats)
{
	struct report_point point = {
		.unit = "us",
		.stats = stats,
		.sized = true,
		.size_bytes = bytes,
	};
	enum op op = pair->run->near.by_pio ? OP_PIO : OP_PUT;
	struct table *table = pair->table;
	char text[SIZE_TEXT], name[64];
	struct cJSON *result;

	snprintf(name, sizeof(name), "latency %s%s",
		 op == OP_PIO ? "pio " : "", wait_name(wait));
	point.name = name;
	result = report_result(pair->run->report, &point);
	report_param_text(result, "operation", op_name(op));
	report_param_text(result, "wait", wait_name(wait));
	table_cell(table, "%s", op_name(op));
	table_cell(table, "%s", wait_name(wait));
	table_cell(table, "%s", size_print(bytes, text));
	table_cell(table, "%.2f", stats->median);
	table_cell(table, "%.2f", stats->p99);
	table_cell(table, "%.2f", stats->min);
	table_cell(table, "%.2f", stats->max);
	table_cell(table, "%zu", stats->samples);
}

static int latency_size(struct pingpong *pair, enum wait wait, uint64_t bytes,
			enum op op)
{
	uint64_t payload = bytes << PONG_BYTES_SHIFT;
	bool pio = op == OP_PIO;
	struct stats stats;
	char text[SIZE_TEXT], what[64];
	int ret, i;

	atomic_store(&pair->run->near.by_pio, pio);
	atomic_store(&pair->run->far.by_pio, pio);
	snprintf(what, sizeof(what), "latency %s%s %s", pio ? "pio " : "",
		 wait_name(wait), size_print(bytes, text));
	run_step(pair->run, what);
	if (wait == WAIT_SLEEP)
		payload |= PONG_SLEEP;
	ret = ping_verify(pair, payload, wait);
	for (i = 0; i < WARM_UP && !ret; i++)
		ret = ping(pair, payload, wait);
	if (!ret)
		ret = ping_sample(pair, payload, wait, &stats);
	if (!ret)
		latency_line(pair, wait, bytes, &stats);
	return ret;
}

/* Which ways of waiting are asked for and make sense here */
static unsigned int latency_waits(const struct run *run)
{
	unsigned int waits = run->opt.waits;

	if (!waits)
		waits = 1U << WAIT_POLL | 1U << WAIT_SLEEP;
	if (run->cpus < 2 && !run->team)
		waits &= ~(1U << WAIT_POLL);
	return waits;
}

static unsigned int bit_count(unsigned int bits)
{
	return (unsigned int)__builtin_popcount(bits);
}

/* Which operations are asked for, and possible: 1 << enum op */
static unsigned int latency_ops(const struct run *run)
{
	unsigned int ops = run->opt.ops & LATENCY_OPS;

	return run->near.map && run->far.map ? ops : ops & ~(1U << OP_PIO);
}

uint64_t latency_steps(const struct run *run)
{
	unsigned int waits = latency_waits(run);

	return (uint64_t)bit_count(waits) * run->opt.sizes.n *
		bit_count(latency_ops(run)) + atomic_steps(run, waits);
}

/* Two threads that spin on one CPU would measure the scheduler */
static int latency_refuse(struct run *run)
{
	static const char why[] =
		"polling latency needs two CPUs, and there is one: use --wait "
		"sleep, or another --cpu list";

	if (run->cpus > 1 || run->team)
		return 0;
	if (run->opt.waits & 1U << WAIT_POLL)
		return run_fail(run, "%s", why);
	if (!run->opt.waits)
		run_note("%s", why);
	return 0;
}

/* One way of waiting: all sizes of all operations, in turn */
static int latency_wait(struct pingpong *pair, enum wait wait)
{
	const struct size_list *sizes = &pair->run->opt.sizes;
	unsigned int ops = latency_ops(pair->run), i;
	int ret = 0;
	enum op op;

	for (i = 0; i < sizes->n; i++)
		for (op = 0; op < OP_COUNT && !ret; op++)
			if (ops & 1U << op)
				ret = latency_size(pair, wait, sizes->value[i],
						   op);
	return ret;
}

static int latency_pingpong(struct run *run, unsigned int waits)
{
	struct pingpong pair;
	enum wait wait;
	int ret = 0;

	run_title(run, "latency: half a round trip of put (pio: stores) and notify");
	if (pair_start(&pair, run))
		return -1;
	for (wait = 0; wait < WAIT_COUNT && !ret; wait++)
		if (waits & 1U << wait)
			ret = latency_wait(&pair, wait);
	return pair_stop(&pair, ret);
}

int latency_run(struct run *run)
{
	unsigned int waits;

	if (latency_refuse(run))
		return -1;
	waits = latency_waits(run);
	if (waits & 1U << WAIT_POLL && cpu_check_handoff(run))
		return -1;
	if (latency_ops(run) && latency_pingpong(run, waits))
		return -1;
	return atomic_run(run, waits);
}
