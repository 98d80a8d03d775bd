// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpu.c - binding; do both CPUs really run?
 *
 * Two threads that spin on each other measure the scheduler, not the device,
 * when one of their CPUs does not run: a virtual CPU on a busy host, or one
 * that somebody else uses. So they first hand a cache line back and forth
 * for a while, and gaps far longer than a hand-over show it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "nicperf.h"

#define HANDOFF_NS	300000000ULL	/* how long is tried */
#define GAP_NS		1000000.0	/* longer: somebody was not running */
#define STALLED_MAX	0.1		/* part of the time spent in gaps */
#define HANDOFF_KEEP	65536		/* samples kept, the last ones */
#define SPINS_A_LOOK	1024

int cpu_bind(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* The first two CPUs this process may run on */
static int cpu_defaults(struct run *run)
{
	unsigned int n = 0;
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		return run_fail(run, "cannot ask for the CPUs: %s",
				strerror(errno));
	for (cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			run->cpu[n++] = cpu;
	if (n < 2)
		run->cpu[1] = run->cpu[0];
	return 0;
}

int cpu_choose(struct run *run)
{
	const struct size_list *list = &run->opt.cpus;
	int ret, i;

	if (list->n) {
		run->cpu[0] = (int)list->value[0];
		run->cpu[1] = (int)list->value[list->n > 1];
	} else if (cpu_defaults(run)) {
		return -1;
	}
	/* the second first, to stay on the first one */
	for (i = 1; i >= 0; i--) {
		ret = cpu_bind(run->cpu[i]);
		if (ret)
			return run_fail(run, "cannot run on CPU %d: %s; see "
					"/sys/devices/system/cpu/online",
					run->cpu[i], strerror(-ret));
	}
	run->cpus = run->cpu[0] == run->cpu[1] ? 1 : 2;
	return 0;
}

/* Even: ours. Odd: the other thread's. LINE_END: go home; far from any turn. */
#define LINE_END	UINT32_MAX

struct line {
	_Alignas(64) _Atomic uint32_t turn;
	_Alignas(64) int cpu;
	int ret;
};

static void *line_answer(void *arg)
{
	struct line *line = arg;
	uint32_t turn;

	line->ret = cpu_bind(line->cpu);
	for (;;) {
		turn = atomic_load_explicit(&line->turn, memory_order_acquire);
		if (turn == LINE_END)
			return NULL;
		if (turn & 1) {
			/* fails when it became LINE_END meanwhile */
			atomic_compare_exchange_strong(&line->turn, &turn,
						       turn + 1);
			continue;
		}
		cpu_relax();
	}
}

struct handoff {
	double ns[HANDOFF_KEEP];
	uint64_t n;
	double stalled;
	double whole;
	unsigned int gaps;
};

static void handoff_add(struct handoff *handoff, uint64_t round_trip)
{
	double ns = (double)round_trip / 2;

	handoff->ns[handoff->n++ % HANDOFF_KEEP] = ns;
	if (2 * ns > GAP_NS) {
		handoff->stalled += 2 * ns;
		handoff->gaps++;
	}
}

/* Round trips until the time is up; the last may never come back */
static void handoff_measure(struct line *line, struct handoff *handoff)
{
	uint64_t begin = now_ns(), start = begin, now = begin;
	uint32_t turn = 0;
	unsigned int spins;

	while (now - begin < HANDOFF_NS) {
		atomic_store_explicit(&line->turn, turn + 1,
				      memory_order_release);
		turn += 2;
		for (spins = 1;; spins++) {
			if (atomic_load_explicit(&line->turn,
						 memory_order_acquire) == turn)
				break;
			cpu_relax();
			if (spins % SPINS_A_LOOK == 0 &&
			    now_ns() - begin > HANDOFF_NS)
				break;
		}
		now = now_ns();
		handoff_add(handoff, now - start);
		start = now;
	}
	handoff->whole = (double)(now - begin);
}

static void handoff_report(struct run *run, struct handoff *handoff)
{
	struct report_point point = { .name = "cpu hand-over", .unit = "ns" };
	struct stats stats;
	struct cJSON *result;

	stats_summarize(handoff->ns, handoff->n < HANDOFF_KEEP ?
			(size_t)handoff->n : HANDOFF_KEEP, &stats);
	point.stats = &stats;
	result = report_result(run->report, &point);
	report_param_number(result, "cpu", run->cpu[0]);
	report_param_number(result, "peer_cpu", run->cpu[1]);
	run->stalled = handoff->stalled > STALLED_MAX * handoff->whole;
	if (run->stalled)
		run_note("CPU %d and CPU %d do not both run: %.0f of %.0f ms in"
			 " %u gaps between hand-overs. Do not believe times of"
			 " spinning threads; free the CPUs, or give others with"
			 " --cpu", run->cpu[0], run->cpu[1],
			 handoff->stalled / 1e6, handoff->whole / 1e6,
			 handoff->gaps);
}

int cpu_check_handoff(struct run *run)
{
	struct line line = { .cpu = run->cpu[1] };
	struct handoff *handoff;
	pthread_t thread;
	int ret;

	if (run->handoff_checked || run->cpus < 2 || run->team)
		return 0;
	run->handoff_checked = true;
	handoff = calloc(1, sizeof(*handoff));
	ret = handoff ? pthread_create(&thread, NULL, line_answer, &line) :
			ENOMEM;
	if (ret) {
		free(handoff);
		return run_fail(run, "cannot start a thread: %s",
				strerror(ret));
	}
	handoff_measure(&line, handoff);
	atomic_store(&line.turn, LINE_END);
	pthread_join(thread, NULL);
	if (line.ret)
		ret = run_fail(run, "cannot run on CPU %d: %s", run->cpu[1],
			       strerror(-line.ret));
	else
		handoff_report(run, handoff);
	free(handoff);
	return ret;
}
