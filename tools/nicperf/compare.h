/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compare.h - what the parts of compare share
 */
#ifndef NICPERF_COMPARE_H
#define NICPERF_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "compare_net.h"
#include "compare_tcp.h"
#include "nicperf.h"
#include "sample.h"

struct table;

#define PUT_BYTES	(1ULL << 20)
#define HALF_BYTES	(4ULL << 20)	/* four slots, as bandwidth has */
#define LINES_MAX	6

/* compare_put.c */

/**
 * struct put_pong - puts with notify, there and back
 * @run: whose ends, and whose CPUs
 * @bytes: of a put
 * @wait: how both ends wait
 * @sequence: of the next
 * @abort: one of the two threads gave up
 * @failed: the far one
 * @trips: round trips
 * @error: why a run failed
 */
struct put_pong {
	struct run *run;
	uint64_t bytes;
	enum wait wait;
	uint32_t sequence;
	atomic_bool abort;
	bool failed;
	struct trips *trips;
	char error[640];
};

/* @arg: struct put_pong. As struct sampled has it */
int put_pong_run(void *arg, uint64_t count, uint64_t *ns);

#define TRIPS_LEAST	16	/* a sample has at least so many */

/* compare_rdma.c */

/**
 * struct rdma - Soft RoCE on a pair of network devices, and its programs
 * @run: whose CPUs
 * @made: the device of each side is there
 * @latency: measure that; else bandwidth
 * @bytes: of a write
 * @port: where the program that serves listens
 * @error: why there is none, or a run failed
 */
struct rdma {
	struct run *run;
	bool made[SIDES];
	bool latency;
	uint64_t bytes;
	uint16_t port;
	char error[640];
};

/* False: not here, and rdma->error says why; rdma_remove() in both cases */
bool rdma_create(struct rdma *rdma, struct run *run, struct net *net);
void rdma_remove(struct rdma *rdma);

/* @arg: struct rdma. As struct sampled has it */
int rdma_run(void *arg, uint64_t count, uint64_t *ns);

/* compare_group.c */

/**
 * struct line - one thing of a group; the first one is ours
 * @name: what it is
 * @bound: of our ratio to it; 0: there is none
 * @pipe: that it goes through; NULL: another way
 * @error: why it failed
 */
struct line {
	const char *name;
	double bound;
	const struct pipe *pipe;
	const char *error;
};

/**
 * struct group - what is measured in turn
 * @what: ours, in words
 * @rate: MB/s, the more the better; else the time of one way
 * @bytes: of one
 * @samples: of each, at most
 * @n: lines
 * @line: of the table
 * @thing: what is measured of each line
 */
struct group {
	const char *what;
	bool rate;
	uint64_t bytes;
	unsigned int samples;
	unsigned int n;
	struct line line[LINES_MAX];
	struct sampled thing[LINES_MAX];
};

/**
 * struct compare - all of it, for one MTU
 * @run: of nicperf: devices, how long, how it is printed
 * @net: namespaces, pairs and devices
 * @near: one end of ours, with checksums of the payload
 * @far: the other
 * @pipe: one for each carrier
 * @rdma: Soft RoCE
 * @has_rdma: this kernel has it
 * @trips: puts there and back, of two threads
 * @group: what is measured just now
 * @table: of all groups
 */
struct compare {
	struct run *run;
	struct net net;
	struct end near;
	struct end far;
	struct pipe pipe[CARRIERS];
	struct rdma rdma;
	bool has_rdma;
	struct trips trips;
	struct group group;
	struct table *table;
};

extern const char *const carrier_names[CARRIERS];

/* Nothing yet; @what, @rate and @bytes as in struct group */
void group_begin(struct compare *c, const char *what, bool rate, uint64_t bytes);

/* One more; the first one is ours */
struct sampled *group_add(struct compare *c, const char *name,
			  int (*run)(void *arg, uint64_t count, uint64_t *ns),
			  void *arg, uint64_t least);
void group_add_pipe(struct compare *c, enum carrier carrier, uint64_t bytes,
		    enum wait wait);

/* The latest of them */
static inline struct line *group_line(struct compare *c)
{
	return &c->group.line[c->group.n - 1];
}

/* What follows: 0, or -1 after run_fail() */

/* Does @thing bring what it is to bring? Of latencies, also back */
int group_verify(struct compare *c, struct end *near, struct end *far,
		 struct sampled *thing);
/* Measure all in turn, and report; to verify each before */
int group_measure(struct compare *c);
int group_verify_and_measure(struct compare *c);

#endif /* NICPERF_COMPARE_H */
