/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compare_tcp.h - TCP and UDP between the two namespaces, measured as puts are
 *
 * The bytes go from the sending half of one end of the link to the receiving half
 * of the other, slot after slot, as those of a put do, with the same two threads
 * on the same CPUs.
 */
#ifndef NICPERF_COMPARE_TCP_H
#define NICPERF_COMPARE_TCP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "compare_net.h"
#include "nicperf.h"

/* How bytes go */
enum carrier {
	CARRIER_TCP,
	CARRIER_ZEROCOPY,	/* TCP with MSG_ZEROCOPY */
	CARRIER_PLAIN,		/* TCP on a pair without offloads */
	CARRIER_UDP,		/* with UDP_SEGMENT */
	CARRIERS
};

/**
 * struct pipe - a connection of two sockets
 * @run: whose ends, and whose CPUs
 * @carrier: how
 * @fd: of the near and of the far end; -1: not open
 * @bytes: of a message
 * @wait: how is waited for one (latency)
 * @slots: places in turn (bandwidth)
 * @count: messages of the run under way
 * @ready: the far thread is there
 * @sent: all has been sent
 * @abort: the near thread gave up
 * @far_ret: what the far thread returned
 * @pinned: sends whose pages the kernel has still
 * @copied: the kernel said that it did copy, MSG_ZEROCOPY or not
 * @got: bytes that came
 * @lost: bytes that did not, of all runs
 * @moved: bytes of all runs
 * @packet: payload of a packet (UDP)
 * @first: when sending began [ns]
 * @last: when the latest came [ns]
 * @trips: round trips [ns]
 * @error: why a run failed
 */
struct pipe {
	struct run *run;
	enum carrier carrier;
	int fd[SIDES];
	uint64_t bytes;
	enum wait wait;
	unsigned int slots;
	uint64_t count;
	atomic_bool ready;
	atomic_bool sent;
	atomic_bool abort;
	int far_ret;
	unsigned int pinned;
	bool copied;
	uint64_t got;
	uint64_t lost;
	uint64_t moved;
	unsigned int packet;
	uint64_t first;
	uint64_t last;
	struct trips *trips;
	char error[256];
};

#define TRIPS_MAX	16384

/**
 * struct trips - round trips of a sample
 * @n: how many there were; the last TRIPS_MAX are kept
 * @ns: each
 */
struct trips {
	uint64_t n;
	double ns[TRIPS_MAX];
};

static inline void trips_add(struct trips *trips, uint64_t ns)
{
	trips->ns[trips->n++ % TRIPS_MAX] = (double)ns;
}

/* Of @count one ways: the median's, so that one that met a sleeping CPU counts once */
uint64_t trips_one_way(struct trips *trips, uint64_t count);

/* Not open */
void pipe_init(struct pipe *pipe);

/* Connect; pipe_close() in both cases. 0, or a negative errno and net->error */
int pipe_open(struct pipe *pipe, struct run *run, struct net *net,
	      enum carrier carrier);
void pipe_close(struct pipe *pipe);

/* @arg: struct pipe. As struct sampled has it: one after the other, or there and back */
int pipe_stream_run(void *arg, uint64_t count, uint64_t *ns);
int pipe_pong_run(void *arg, uint64_t count, uint64_t *ns);

#endif /* NICPERF_COMPARE_TCP_H */
