/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compare.h - what our link is compared in: its own ping-pong, and Soft RoCE
 */
#ifndef NICPERF_COMPARE_H
#define NICPERF_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "compare_net.h"
#include "compare_tcp.h"
#include "nicperf.h"

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

#endif /* NICPERF_COMPARE_H */
