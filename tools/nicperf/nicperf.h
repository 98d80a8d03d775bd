/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nicperf.h - a run of nicperf: its options, its two ends, its report
 *
 *   main.c       opens the ends, calls the subcommands, prints
 *   args.c       command line
 *   latency.c    ping-pong            (pong.c answers)
 *   atomic.c     atomics, a part of latency
 *   bandwidth.c  put, get, strided beside memcpy
 *   rate.c       messages a second
 *   post.c       cost of a post beside an empty system call
 *   post_event.c the same, and an eventfd tells of completions
 *   post_uring.c the same through an io_uring, and beside its NOP
 *   cost.c       instructions of operations, where the clock counts them
 *   compare.c    the ether link beside TCP, UDP and Soft RoCE
 *   compare_*.c  its parts: group what is measured in turn, net namespaces, put our
 *                link, tcp and stream sockets, rdma the programs of Soft RoCE
 *   ranks.c      the other end is another process, perhaps on another machine
 *   end.c wait.c one end of a link: its objects, and how it waits
 *   work.c       a window of operations in flight
 *   uring.c      an io_uring, and batches through it
 *   copy.c       the memcpy that bandwidth is compared with
 *   sample.c     interleaved samples of two things
 *   cpu.c        binding; do both CPUs really run?
 *   pattern.c    data that can be recognised
 */
#ifndef NICPERF_H
#define NICPERF_H

#include <nic_team.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/common/output.h"
#include "tools/common/size.h"
#include "tools/common/stats.h"

#include "end.h"
#include "work.h"

#define COMMAND_LATENCY		(1U << 0)
#define COMMAND_BANDWIDTH	(1U << 1)
#define COMMAND_RATE		(1U << 2)
#define COMMAND_POST		(1U << 3)
#define COMMAND_COST		(1U << 4)	/* only in a machine made for it */
#define COMMAND_COMPARE		(1U << 5)	/* makes its own devices */
#define COMMAND_ALL		(COMMAND_LATENCY | COMMAND_BANDWIDTH | \
				 COMMAND_RATE | COMMAND_POST)

/* What a latency is measured of, besides atomics */
#define LATENCY_OPS		(1U << OP_PUT | 1U << OP_PIO)

/* How entries get to the device */
enum way {
	WAY_ENTER,	/* a system call for each batch */
	WAY_EVENTFD,	/* the same, and an eventfd tells of completions */
	WAY_THREAD,	/* a polling thread takes them */
	WAY_URING,	/* an io_uring command for each batch */
	WAY_URING_POST,	/* an io_uring command for each entry */
	WAY_COUNT
};

/**
 * struct options - the command line
 * @commands: COMMAND_*
 * @device: this end
 * @peer_device: the other end
 * @sizes: bytes of an operation
 * @depths: operations in flight (bandwidth)
 * @mtus: of the network devices (compare)
 * @cpus: to bind to, in the order of use; none: the first two allowed
 * @ops: 1 << enum op (bandwidth; latency: of LATENCY_OPS)
 * @waits: 1 << enum wait; 0: the command's own choice
 * @ways: 1 << enum way (post); 0: all that can be measured here
 * @block: bytes in a block of a strided operation
 * @stride: bytes from block to block
 * @iterations: operations in a sample; 0: as many as @time_ns allows
 * @time_ns: time for one line of a table
 * @samples: rounds of a measurement
 * @json: print the report, not tables
 * @json_path: or tables, and the report there
 * @check: hold the results against the project's bounds
 * @ranks: the ends are the two ranks of a job
 */
struct options {
	unsigned int commands;
	const char *device;
	const char *peer_device;
	struct size_list sizes;
	struct size_list depths;
	struct size_list mtus;
	struct size_list cpus;
	unsigned int ops;
	unsigned int waits;
	unsigned int ways;
	uint32_t block;
	uint32_t stride;
	uint64_t iterations;
	uint64_t time_ns;
	unsigned int samples;
	bool json;
	const char *json_path;
	bool check;
	bool ranks;
};

/**
 * struct run - one run
 * @opt: what was asked for
 * @report: what came out
 * @near: the end that measures
 * @far: the end that answers, or is only written to and read; in rank 0 what it
 *	mirrors of that end
 * @team: both ranks; NULL: both ends are here
 * @team_ctx: its context
 * @serves: this is rank 1
 * @cpu: of the measuring and of the answering thread
 * @cpus: how many of @cpu are different CPUs
 * @handoff_checked: whether both really run was looked at
 * @stalled: they did not
 * @failed: it was ended by run_fail()
 * @json: the file of --json=FILE, or NULL
 * @steps_done: lines measured so far
 */
struct run {
	struct options opt;
	struct report *report;
	struct end near;
	struct end far;
	struct nic_team *team;
	struct nic_ctx *team_ctx;
	bool serves;
	int cpu[2];
	unsigned int cpus;
	bool handoff_checked;
	bool stalled;
	bool failed;
	FILE *json;
	uint64_t steps_done;
};

/* args.c: 0, or -1 when the program is to end with @status */
int args_parse(struct options *opt, int argc, char **argv, int *status);

/* main.c; for the main thread */
void run_note(const char *format, ...) OUTPUT_PRINTF(1, 2);
/* Say it, keep it for the report, return -1 */
int run_fail(struct run *run, const char *format, ...) OUTPUT_PRINTF(2, 3);
int run_end_fail(struct run *run, const struct end *end);
/* Do the queues have so many entries? Else as run_fail() */
int run_check_entries(struct run *run, unsigned int needed);
/* Before a line is measured */
void run_step(struct run *run, const char *what);
/* "nic0 -> nic1 (loop)" */
void run_title(const struct run *run, const char *what);
/* Print (unless JSON was asked for) and free */
void run_table(const struct run *run, struct table *table);

/*
 * Open both ends, for @bytes, and connect them; run->near and run->far are closed
 * in the end
 */
int run_connect(struct run *run, struct end *near, const char *device,
		struct end *far, const char *peer, uint64_t bytes);

/* cpu.c */
int cpu_choose(struct run *run);
int cpu_bind(int cpu);
/* Warn when the two CPUs of the run do not really run at the same time; once */
int cpu_check_handoff(struct run *run);

/* Bytes an end must be able to send at once */
uint64_t bandwidth_bytes(const struct options *opt);

/* The subcommands: 0, or -1 after run_fail(); and the lines they measure */
int latency_run(struct run *run);
uint64_t latency_steps(const struct run *run);
/* The part of latency that is about atomics; @waits: 1 << enum wait */
int atomic_run(struct run *run, unsigned int waits);
uint64_t atomic_steps(const struct run *run, unsigned int waits);
int bandwidth_run(struct run *run);
uint64_t bandwidth_steps(const struct run *run);
int rate_run(struct run *run);
uint64_t rate_steps(const struct run *run);
int post_run(struct run *run);
uint64_t post_steps(const struct run *run);
/* Bytes an end must be able to send at once */
#define COST_BYTES	(1ULL << 20)
/* Before anything is opened: does the clock count instructions? */
int cost_check_clock(struct run *run);
int cost_run(struct run *run);
uint64_t cost_steps(const struct run *run);

int compare_run(struct run *run);
uint64_t compare_steps(const struct run *run);
/* A signal asked for the end: what is there is to be removed */
bool run_stopped(void);

#endif /* NICPERF_H */
