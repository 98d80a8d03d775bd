// SPDX-License-Identifier: GPL-2.0-only
/*
 * cost.c - instructions of operations, where the clock counts them
 *
 * Under an emulator that advances the time-stamp counter by one for each
 * instruction (selftests/vm --icount) a difference of two readings is the
 * number of instructions between them, of the kernel as well as of this program,
 * and the same on every run. On any other machine it is not, and that is told
 * rather than measured.
 *
 * A line is a thing and a reference, done in turn, ROUNDS times each. What they
 * are said to cost are medians: a round into which the timer's interrupt fell
 * does not count. Nothing is printed meanwhile, since the console would
 * interrupt, too.
 *
 * There is one CPU. Who waits for the device's worker sleeps; the polling
 * thread runs while this program sleeps outside of what is counted. Real-time
 * priority gives this program the CPU as soon as it is woken: else it would be
 * the scheduler that decides what is counted, and each kernel's in its own way.
 */
#include <errno.h>
#include <linux/dmanic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "pattern.h"
#include "post.h"
#include "uring.h"

#define WARM		10	/* rounds not counted */
#define ROUNDS		101
#define BATCH		32
#define NAP_NS		20000	/* others have the CPU; shorter than a polling thread waits */

#if defined(__clang__)
#define COMPILER	"clang " __clang_version__
#else
#define COMPILER	"gcc " __VERSION__
#endif

enum reference { REF_IOCTL, REF_NOP, REF_MEMCPY, REF_COUNT };

struct cost;

/**
 * struct line - a thing that is measured
 * @name: of it
 * @says: what is counted
 * @thing: a round, and how many instructions it took
 * @bytes: of an operation
 * @batch: operations in a round; counts are of one
 * @reference: what it is compared with
 * @remote: also where operations leave the poster's hands
 */
struct line {
	const char *name;
	const char *says;
	int (*thing)(struct cost *cost, uint64_t *count);
	uint64_t bytes;
	unsigned int batch;
	enum reference reference;
	bool remote;
};

/**
 * struct cost - a measurement
 * @run: it is part of
 * @thread: the near end, with a queue that has a polling thread
 * @uring: NULL: there is none
 * @work: of the line
 * @table: what is told
 */
struct cost {
	struct run *run;
	struct end thread;
	struct uring *uring;
	struct work work;
	struct table *table;
};

/* ---- the clock ---- */

#if defined(__x86_64__)
static inline uint64_t instructions(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* Two instructions a pass, between two readings that themselves are some */
static uint64_t loop_count(uint64_t passes)
{
	uint64_t start = instructions();

	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(passes) : : "cc",
			 "memory");
	return instructions() - start;
}
#else
static inline uint64_t instructions(void)
{
	return 0;
}

/* No loop is known: nothing is ever counted right */
static uint64_t loop_count(uint64_t passes)
{
	(void)passes;
	return 0;
}
#endif

#define LOOP_SHORT	1000
#define LOOP_TRIES	5

/* The least of some tries: an interrupt adds, nothing takes away */
static uint64_t loop_least(uint64_t passes)
{
	uint64_t least = UINT64_MAX, count;
	unsigned int i;

	for (i = 0; i < LOOP_TRIES; i++) {
		count = loop_count(passes);
		if (count < least)
			least = count;
	}
	return least;
}

int cost_check_clock(struct run *run)
{
	static const uint64_t passes[] = { 2000, 10000, 50000, 100000 };
	const uint64_t least = loop_least(LOOP_SHORT);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(passes); i++) {
		uint64_t wanted = 2 * (passes[i] - LOOP_SHORT);
		uint64_t count = loop_least(passes[i]) - least;

		if (count != wanted)
			return run_fail(run, "this machine's clock does not count instructions (%llu for a loop of %llu): run it in selftests/vm --icount",
					(unsigned long long)count,
					(unsigned long long)wanted);
	}
	if (sysconf(_SC_NPROCESSORS_ONLN) != 1)
		return run_fail(run, "the clock counts instructions of all %ld CPUs: run it in selftests/vm --icount, which has one",
				sysconf(_SC_NPROCESSORS_ONLN));
	return 0;
}

/* ---- references ---- */

/*
 * A command that a queue does not have: through the system call, the look-up of
 * the file and the driver's table, as ENTER goes, and back with ENOTTY. What
 * the kernel answers before it asks the driver (FIONBIO) would leave out half
 * of that way, and every command that the driver has does something.
 */
static int ioctl_round(struct cost *cost, uint64_t *count)
{
	const int fd = nic_queue_fd(cost->run->near.queue);
	uint64_t start = instructions();
	unsigned int i;
	int ret = 0;

	for (i = 0; i < cost->work.batch; i++)
		ret |= ioctl(fd, DMANIC_IOC_QUERY, NULL);
	*count = instructions() - start;
	if (ret != -1 || errno != ENOTTY)
		return end_fault(&cost->run->near, -EPROTO,
				 "a queue knows a command that it should not");
	return 0;
}

static int memcpy_round(struct cost *cost, uint64_t *count)
{
	const struct run *run = cost->run;
	uint64_t start = instructions();

	memcpy(end_receive(&run->far), end_send(&run->near), cost->work.bytes);
	__asm__ volatile("" ::: "memory");
	*count = instructions() - start;
	return 0;
}

static int uring_round(struct cost *cost, enum uring_kind kind, uint64_t *count)
{
	uint64_t start = instructions();
	int ret = uring_batch(cost->uring, &cost->work, kind);

	*count = instructions() - start;
	return ret;
}

static int uring_nop_round(struct cost *cost, uint64_t *count)
{
	return uring_round(cost, URING_NOP, count);
}

static const struct {
	const char *name;
	int (*thing)(struct cost *cost, uint64_t *count);
} references[REF_COUNT] = {
	[REF_IOCTL] = { "empty ioctl", ioctl_round },
	[REF_NOP] = { "io_uring NOP", uring_nop_round },
	[REF_MEMCPY] = { "memcpy", memcpy_round },
};

/* ---- things ---- */

static int cost_reap(const struct work *work, enum wait wait)
{
	unsigned int left, taken;
	int ret;

	for (left = work->batch; left; left -= taken) {
		ret = end_wait(work->end, 0, wait, &taken);
		if (ret)
			return ret;
	}
	return 0;
}

static int cost_fill(const struct work *work)
{
	unsigned int slot = 0;
	int ret = post_batch(work, &slot);

	return ret ? end_fail(work->end, ret, "post") : 0;
}

static int enter_round(struct cost *cost, uint64_t *count)
{
	const struct work *work = &cost->work;
	uint64_t start = instructions();
	int ret;

	ret = cost_fill(work);
	if (!ret)
		ret = end_submit(work->end, work->batch);
	*count = instructions() - start;
	return ret ? ret : cost_reap(work, WAIT_POLL);
}

static int reap_round(struct cost *cost, uint64_t *count)
{
	const struct work *work = &cost->work;
	uint64_t start;
	int ret;

	ret = cost_fill(work);
	if (!ret)
		ret = end_submit(work->end, work->batch);
	if (ret)
		return ret;
	start = instructions();
	ret = cost_reap(work, WAIT_POLL);
	*count = instructions() - start;
	return ret;
}

/* One system call submits all and, when it has to, sleeps until all is done */
static int alone_round(struct cost *cost, uint64_t *count)
{
	const struct work *work = &cost->work;
	uint64_t start = instructions();
	int ret;

	ret = cost_fill(work);
	if (!ret)
		ret = cost_reap(work, WAIT_SLEEP);
	*count = instructions() - start;
	return ret;
}

/* Let the thread run until all is done */
static int thread_await(const struct work *work)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t start = now_ns();

	while (nic_queue_ready(work->end->queue) < work->batch) {
		if (now_ns() - start > END_TIMEOUT_NS)
			return end_fault(work->end, -ETIME,
					 "the polling thread does not complete what was posted");
		nanosleep(&nap, NULL);
	}
	return 0;
}

static int thread_round(struct cost *cost, uint64_t *count)
{
	struct work work = cost->work;
	uint64_t start;
	int ret;

	work.end = &cost->thread;
	start = instructions();
	ret = cost_fill(&work);
	if (!ret)
		ret = end_submit(work.end, work.batch);
	*count = instructions() - start;
	if (!ret)
		ret = thread_await(&work);
	if (ret)
		return ret;
	start = instructions();
	ret = cost_reap(&work, WAIT_POLL);
	*count += instructions() - start;
	return ret;
}

static int uring_enter_round(struct cost *cost, uint64_t *count)
{
	return uring_round(cost, URING_ENTER, count);
}

static int uring_post_round(struct cost *cost, uint64_t *count)
{
	return uring_round(cost, URING_POST, count);
}

static const struct line lines[] = {
	{ "put 8 batch 32 enter", "fill, submit", enter_round, 8, BATCH,
	  REF_IOCTL, false },
	{ "put 8 batch 32 reap", "reap", reap_round, 8, BATCH, REF_IOCTL, false },
	{ "put 8 batch 32", "fill, submit and wait, reap", alone_round, 8, BATCH,
	  REF_IOCTL, true },
	{ "put 8 alone", "fill, submit and wait, reap", alone_round, 8, 1,
	  REF_IOCTL, true },
	{ "put 8 batch 32 thread", "fill, publish, reap", thread_round, 8,
	  BATCH, REF_IOCTL, false },
	{ "put 8 batch 32 uring", "fill, submit, reap", uring_enter_round, 8,
	  BATCH, REF_NOP, false },
	{ "put 8 batch 32 uring-post", "fill, submit, reap", uring_post_round,
	  8, BATCH, REF_NOP, false },
	{ "put 64k", "fill, submit and wait, reap", alone_round, 65536, 1,
	  REF_MEMCPY, true },
	{ "put 1M", "fill, submit and wait, reap", alone_round, COST_BYTES, 1,
	  REF_MEMCPY, true },
};

#define LINES	ARRAY_SIZE(lines)

/* ---- measuring ---- */

static const struct column cost_columns[] = {
	{ "operation", true },
	{ "counted", true },
	{ "instructions", false },
	{ "min", false },
	{ "max", false },
	{ "reference", true },
	{ "instructions", false },
	{ "ratio", false },
};

static bool cost_is_loop(const struct cost *cost)
{
	return !strcmp(cost->run->near.info.link, "loop");
}

static void cost_report(struct cost *cost, const struct line *line,
			const struct stats *thing,
			const struct stats *reference)
{
	const char *name = references[line->reference].name;
	char title[64];
	const struct report_point point = {
		.name = title,
		.unit = "instructions",
		.stats = thing,
		.sized = true,
		.size_bytes = line->bytes,
		.reference = name,
		.reference_stats = reference,
	};
	struct table *table = cost->table;
	struct cJSON *result;

	/* The loop link's is the one without a name */
	snprintf(title, sizeof(title), "%s%s%s",
		 cost_is_loop(cost) ? "" : cost->run->near.info.link,
		 cost_is_loop(cost) ? "" : " ", line->name);
	result = report_result(cost->run->report, &point);
	report_param_number(result, "batch", line->batch);
	report_param_text(result, "counted", line->says);
	table_cell(table, "%s", title);
	table_cell(table, "%s", line->says);
	table_cell(table, "%.2f", thing->median);
	table_cell(table, "%.2f", thing->min);
	table_cell(table, "%.2f", thing->max);
	table_cell(table, "%s", name);
	table_cell(table, "%.2f", reference->median);
	table_cell(table, "%.4f", stats_ratio(thing->median,
					      reference->median));
}

static int cost_measure(struct cost *cost, const struct line *line)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	double thing[ROUNDS], reference[ROUNDS];
	struct stats of_thing, of_reference;
	uint64_t count[2];
	int i, ret;

	memset(&cost->work, 0, sizeof(cost->work));
	cost->work.end = &cost->run->near;
	cost->work.op = OP_PUT;
	cost->work.bytes = line->bytes;
	cost->work.depth = line->batch;
	cost->work.batch = line->batch;
	work_slots(&cost->work, line->bytes);
	for (i = -WARM; i < ROUNDS; i++) {
		/* A kernel thread that waits to do softirqs keeps others from doing them */
		nanosleep(&nap, NULL);
		ret = references[line->reference].thing(cost, &count[0]);
		if (!ret)
			ret = line->thing(cost, &count[1]);
		if (ret)
			return run_end_fail(cost->run,
					    line->thing == thread_round ?
					    &cost->thread : &cost->run->near);
		if (i < 0)
			continue;
		reference[i] = (double)count[0] / line->batch;
		thing[i] = (double)count[1] / line->batch;
	}
	stats_summarize(thing, ROUNDS, &of_thing);
	stats_summarize(reference, ROUNDS, &of_reference);
	cost_report(cost, line, &of_thing, &of_reference);
	return 0;
}

/* ---- all lines ---- */

static bool line_is_uring(const struct line *line)
{
	return line->reference == REF_NOP;
}

/* What it needs beside the two ends; what cannot be had is left out */
static int cost_prepare(struct cost *cost, struct run *run)
{
	const struct sched_param priority = { .sched_priority = 1 };

	memset(cost, 0, sizeof(*cost));
	cost->run = run;
	cost->thread = run->near;
	cost->thread.queue = NULL;
	pattern_fill(end_send(&run->near), COST_BYTES, 1);
	memset(end_receive(&run->far), PATTERN_EMPTY, COST_BYTES);
	if (run_check_entries(run, BATCH))
		return -1;
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		return run_fail(run, "no real-time priority: %s; run it as root",
				strerror(errno));
	if (run->near.info.features & DMANIC_FEATURE_POLL_THREAD) {
		if (post_thread_queue(run, &cost->thread))
			return run_end_fail(run, &cost->thread);
	} else {
		run_note("%s has no polling threads; that line is left out",
			 run->near.device);
	}
	cost->uring = uring_create(&run->near);
	if (!cost->uring)
		run_note("%s; lines of io_uring are left out", run->near.error);
	return 0;
}

/* What ends before the post does is counted in parts; else only as a whole */
static bool cost_can(const struct cost *cost, const struct line *line)
{
	if (!cost_is_loop(cost) && !line->remote)
		return false;
	if (line_is_uring(line))
		return cost->uring;
	return line->thing != thread_round || cost->thread.queue;
}

/* Of the whole last put: a fast wrong copy is an error */
static int cost_verify(struct run *run)
{
	if (memcmp(end_send(&run->near), end_receive(&run->far),
		   COST_BYTES) != 0)
		return run_fail(run, "put of 1M: data came out wrong");
	return 0;
}

uint64_t cost_steps(const struct run *run)
{
	(void)run;
	return 0;
}

int cost_run(struct run *run)
{
	struct cost cost;
	int ret;
	size_t i;

	report_add_text(report_root(run->report), "compiler", COMPILER);
	ret = cost_prepare(&cost, run);
	cost.table = table_create(cost_columns, ARRAY_SIZE(cost_columns));
	for (i = 0; i < LINES && !ret; i++)
		if (cost_can(&cost, &lines[i]))
			ret = cost_measure(&cost, &lines[i]);
	if (!ret)
		ret = cost_verify(run);
	run_title(run, "cost: instructions of an operation, medians");
	run_table(run, cost.table);
	uring_destroy(cost.uring);
	nic_queue_destroy(cost.thread.queue);
	return ret;
}
