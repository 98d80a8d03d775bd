// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare.c - the ether link beside memcpy, TCP, UDP and Soft RoCE
 *
 * compare_net.h draws what is made for it. Each table is of groups: what is ours,
 * and what it is compared with, in turn; a ratio is the median of those of
 * neighbours. The bounds are the project's. Both ends are threads of this process,
 * each on its CPU, and all but UDP's and Soft RoCE's data are compared before.
 *
 * One CPU alone moves memcpy's bytes and ours (frames arrive in the sender's
 * softirq); TCP and UDP have two.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "copy.h"
#include "pattern.h"

#define PUT_DEPTH	16
#define SMALL		8
#define LARGE		(64ULL << 10)
#define SEED_NEAR	1
#define SEED_FAR	2
#define RDMA_SAMPLES	3U	/* each starts two programs */

static const struct column columns[] = {
	{ "what", true },
	{ "beside", true },
	{ "size [B]", false },
	{ "ours", false },
	{ "spread [%]", false },
	{ "theirs", false },
	{ "spread [%]", false },
	{ "unit", true },
	{ "ratio", false },
	{ "bound", true },
};

/* ---- signals ---- */

static atomic_int stopped;

static void stop(int signal)
{
	atomic_store(&stopped, signal);
}

bool run_stopped(void)
{
	return atomic_load(&stopped);
}

/* A second one ends it at once: only a pair of Soft RoCE may then be left */
static void signals_take(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = {
		.sa_handler = stop,
		.sa_flags = (int)SA_RESETHAND,
	}, before;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &before) &&
		    before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* What was not measured holds no bound */
static void left_out(struct run *run, const char *what, const char *why)
{
	run_note("%s: left out: %s", what, why);
	if (run->opt.check)
		report_check(run->report, what, false, "not measured: %s", why);
}

/* ---- bandwidth ---- */

static void work_of(struct work *work, struct end *end)
{
	memset(work, 0, sizeof(*work));
	work->end = end;
	work->op = OP_PUT;
	/* As those do that it is compared with: who polls takes the CPU from what arrives */
	work->wait = WAIT_SLEEP;
	work->bytes = PUT_BYTES;
	work->depth = PUT_DEPTH;
	work_slots(work, PUT_BYTES);
	if (work->slots > HALF_BYTES / PUT_BYTES)
		work->slots = HALF_BYTES / PUT_BYTES;
}

static int bandwidth_sockets(struct compare *c)
{
	static const double bounds[CARRIERS] = {
		[CARRIER_TCP] = 2.5,
		[CARRIER_ZEROCOPY] = 2,
		[CARRIER_PLAIN] = 8,
	};
	enum carrier carrier;
	struct work work;
	struct copy copy;

	group_begin(c, "put", true, PUT_BYTES);
	work_of(&work, &c->run->near);
	group_add(c, "put", work_run, &work, PUT_DEPTH);
	group_line(c)->error = c->run->near.error;
	copy_prepare(&copy, &work, &c->run->far);
	group_add(c, "memcpy", copy_run, &copy, work.slots);
	group_line(c)->bound = 0.7;
	for (carrier = 0; carrier < CARRIERS; carrier++) {
		group_add_pipe(c, carrier, PUT_BYTES, WAIT_SLEEP);
		group_line(c)->bound = bounds[carrier];
	}
	return group_verify_and_measure(c);
}

/* With checksums beside without, between two ends each */
static int bandwidth_crc(struct compare *c)
{
	struct work with, without;
	struct sampled *thing;

	group_begin(c, "put, CRC", true, PUT_BYTES);
	work_of(&with, &c->near);
	work_of(&without, &c->run->near);
	thing = group_add(c, "put, CRC", work_run, &with, PUT_DEPTH);
	group_line(c)->error = c->near.error;
	if (group_verify(c, &c->near, &c->far, thing))
		return -1;
	group_add(c, "put, no CRC", work_run, &without, PUT_DEPTH);
	group_line(c)->error = c->run->near.error;
	group_line(c)->bound = 0.5;
	return group_measure(c);
}

static int bandwidth_rdma(struct compare *c)
{
	struct sampled *thing;
	struct work work;

	group_begin(c, "put", true, PUT_BYTES);
	c->group.samples = RDMA_SAMPLES;
	work_of(&work, &c->run->near);
	group_add(c, "put", work_run, &work, PUT_DEPTH);
	group_line(c)->error = c->run->near.error;
	c->rdma.latency = false;
	c->rdma.bytes = PUT_BYTES;
	thing = group_add(c, "Soft RoCE", rdma_run, &c->rdma, PUT_DEPTH);
	thing->cold = true;
	group_line(c)->error = c->rdma.error;
	return group_measure(c);
}

static int bandwidth_all(struct compare *c)
{
	int ret;

	c->table = table_create(columns, ARRAY_SIZE(columns));
	ret = bandwidth_sockets(c);
	if (!ret)
		ret = bandwidth_crc(c);
	if (!ret && c->has_rdma)
		ret = bandwidth_rdma(c);
	run_table(c->run, c->table);
	return ret;
}

/* ---- latency ---- */

static const char *const pong_names[WAIT_COUNT] = {
	[WAIT_POLL] = "put and notify, polling",
	[WAIT_SLEEP] = "put and notify, sleeping",
};

static void group_add_pong(struct compare *c, struct put_pong *pong, uint64_t bytes,
			   enum wait wait)
{
	group_begin(c, pong_names[wait], false, bytes);
	memset(pong, 0, sizeof(*pong));
	pong->run = c->run;
	pong->bytes = bytes;
	pong->wait = wait;
	pong->trips = &c->trips;
	group_add(c, "put", put_pong_run, pong, TRIPS_LEAST);
	group_line(c)->error = pong->error;
}

static int latency_sockets(struct compare *c, uint64_t bytes, enum wait wait)
{
	struct put_pong pong;

	group_add_pong(c, &pong, bytes, wait);
	group_add_pipe(c, CARRIER_TCP, bytes, wait);
	group_line(c)->name = wait == WAIT_POLL ? "TCP, spinning" : "TCP, blocking";
	if (wait == WAIT_POLL)
		group_line(c)->bound = bytes == SMALL ? 0.5 : 0.45;
	else if (bytes == SMALL)
		group_line(c)->bound = 0.7;
	if (bytes == SMALL) {
		group_add_pipe(c, CARRIER_UDP, bytes, wait);
		group_line(c)->name = wait == WAIT_POLL ? "UDP, spinning" :
							  "UDP, blocking";
	}
	return group_verify_and_measure(c);
}

static int latency_rdma(struct compare *c, uint64_t bytes)
{
	struct put_pong pong;
	struct sampled *thing;

	group_add_pong(c, &pong, bytes, WAIT_POLL);
	c->group.samples = RDMA_SAMPLES;
	c->rdma.latency = true;
	c->rdma.bytes = bytes;
	thing = group_add(c, "Soft RoCE", rdma_run, &c->rdma, bytes == SMALL ? 1000 : 100);
	thing->cold = true;
	group_line(c)->error = c->rdma.error;
	if (bytes == SMALL)
		group_line(c)->bound = 0.5;
	return group_measure(c);
}

static int latency_all(struct compare *c)
{
	bool poll = c->run->cpus > 1;
	int ret = 0;

	c->table = table_create(columns, ARRAY_SIZE(columns));
	if (poll)
		ret = latency_sockets(c, SMALL, WAIT_POLL);
	if (!ret && poll)
		ret = latency_sockets(c, LARGE, WAIT_POLL);
	if (!ret)
		ret = latency_sockets(c, SMALL, WAIT_SLEEP);
	if (!ret)
		ret = latency_sockets(c, LARGE, WAIT_SLEEP);
	if (!ret && poll && c->has_rdma)
		ret = latency_rdma(c, SMALL);
	if (!ret && poll && c->has_rdma)
		ret = latency_rdma(c, LARGE);
	run_table(c->run, c->table);
	return ret;
}

/* ---- an MTU ---- */

static int pair_open(struct compare *c, unsigned int mtu)
{
	struct run *run = c->run;
	enum carrier carrier;

	if (net_create(&c->net, mtu))
		return run_fail(run, "%s", c->net.error);
	if (run_connect(run, &run->near, c->net.device[0], &run->far, c->net.device[1],
			HALF_BYTES) ||
	    run_connect(run, &c->near, c->net.device[2], &c->far, c->net.device[3],
			HALF_BYTES))
		return -1;
	pattern_fill(end_send(&run->near), HALF_BYTES, SEED_NEAR);
	pattern_fill(end_send(&run->far), HALF_BYTES, SEED_FAR);
	pattern_fill(end_send(&c->near), HALF_BYTES, SEED_NEAR);
	for (carrier = 0; carrier < CARRIERS; carrier++)
		if (pipe_open(&c->pipe[carrier], run, &c->net, carrier))
			return run_fail(run, "%s: %s", carrier_names[carrier],
					c->net.error);
	if (run_stopped())
		return -1;
	c->has_rdma = rdma_create(&c->rdma, run, &c->net);
	if (!c->has_rdma && !run_stopped())
		left_out(run, "Soft RoCE", c->rdma.error);
	return 0;
}

static void pair_close(struct compare *c)
{
	struct run *run = c->run;
	enum carrier carrier;

	for (carrier = 0; carrier < CARRIERS; carrier++)
		pipe_close(&c->pipe[carrier]);
	end_close(&c->near);
	end_close(&c->far);
	end_close(&run->near);
	end_close(&run->far);
	rdma_remove(&c->rdma);
	*c->net.error = '\0';
	net_remove(&c->net);
	if (*c->net.error)
		run_note("%s", c->net.error);
}

/* What the figures of others depend on */
static void pair_notes(const struct compare *c)
{
	const struct pipe *udp = &c->pipe[CARRIER_UDP];

	if (c->pipe[CARRIER_ZEROCOPY].copied)
		run_note("MSG_ZEROCOPY: the kernel did copy, as it does within a machine");
	if (udp->lost)
		run_note("UDP lost %.2f %%; what came is counted",
			 100 * (double)udp->lost / (double)udp->moved);
}

static int mtu_run(struct compare *c, unsigned int mtu)
{
	enum carrier carrier;
	char title[128];
	int ret;

	memset(&c->rdma, 0, sizeof(c->rdma));
	for (carrier = 0; carrier < CARRIERS; carrier++)
		pipe_init(&c->pipe[carrier]);
	ret = pair_open(c, mtu);
	if (!ret) {
		snprintf(title, sizeof(title),
			 "compare: puts over veth, MTU %u, beside others over the same", mtu);
		run_title(c->run, title);
		ret = bandwidth_all(c);
	}
	if (!ret)
		ret = latency_all(c);
	if (!ret)
		pair_notes(c);
	pair_close(c);
	return ret;
}

/* ---- all ---- */

/* The groups, for the bar: Soft RoCE's too, there or not */
uint64_t compare_steps(const struct run *run)
{
	return run->opt.mtus.n * (run->cpus > 1 ? 9ULL : 5);
}

int compare_run(struct run *run)
{
	struct compare *c;
	unsigned int i;
	int ret = 0;

	if (run->cpus < 2)
		left_out(run, "polling latencies", "they need two CPUs, and there is one");
	else if (cpu_check_handoff(run))
		return -1;
	c = calloc(1, sizeof(*c));
	if (!c)
		return run_fail(run, "no memory for the samples");
	c->run = run;
	signals_take();
	for (i = 0; i < run->opt.mtus.n && !ret; i++)
		ret = mtu_run(c, (unsigned int)run->opt.mtus.value[i]);
	if (run_stopped())
		ret = run_fail(run, "ended by signal %d", atomic_load(&stopped));
	free(c);
	return ret;
}
