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
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "copy.h"
#include "pattern.h"
#include "sample.h"

#define PUT_BYTES	(1ULL << 20)
#define PUT_DEPTH	16
#define HALF_BYTES	(4ULL << 20)	/* four slots, as bandwidth has */
#define TRIPS_LEAST	16
#define SMALL		8
#define LARGE		(64ULL << 10)
#define LINES_MAX	6
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
 * @near: with checksums of the payload; and @far
 * @pipe: one for each carrier
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

static const char *const carrier_names[CARRIERS] = {
	[CARRIER_TCP] = "TCP",
	[CARRIER_ZEROCOPY] = "TCP, MSG_ZEROCOPY",
	[CARRIER_PLAIN] = "TCP, no offloads",
	[CARRIER_UDP] = "UDP, UDP_SEGMENT",
};

/* ---- signals ---- */

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

bool run_stopped(void)
{
	return stopped;
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

/* ---- groups ---- */

static void group_begin(struct compare *c, const char *what, bool rate, uint64_t bytes)
{
	struct group *group = &c->group;

	memset(group, 0, sizeof(*group));
	group->what = what;
	group->rate = rate;
	group->bytes = bytes;
	group->samples = c->run->opt.samples;
}

static struct sampled *group_add(struct compare *c, const char *name,
				 int (*run)(void *arg, uint64_t count, uint64_t *ns),
				 void *arg, uint64_t least)
{
	struct group *group = &c->group;
	struct sampled *thing = &group->thing[group->n];

	group->line[group->n++].name = name;
	thing->run = run;
	thing->arg = arg;
	thing->least = least;
	return thing;
}

/* Of the latest one */
static struct line *group_line(struct compare *c)
{
	return &c->group.line[c->group.n - 1];
}

static void group_add_pipe(struct compare *c, enum carrier carrier, uint64_t bytes,
			   enum wait wait)
{
	struct pipe *pipe = &c->pipe[carrier];
	bool rate = c->group.rate;
	struct line *line;

	pipe->bytes = bytes;
	pipe->wait = wait;
	pipe->slots = HALF_BYTES / PUT_BYTES;
	pipe->trips = &c->trips;
	group_add(c, carrier_names[carrier], rate ? pipe_stream_run : pipe_pong_run,
		  pipe, rate ? pipe->slots : TRIPS_LEAST);
	line = group_line(c);
	line->pipe = pipe;
	line->error = pipe->error;
}

/* ---- what came out ---- */

/* "at least 2.50", "0.45 at most"; empty: it has none */
static const char *bound_print(const struct group *group, const struct line *line,
			       char text[32])
{
	*text = '\0';
	if (line->bound > 0)
		snprintf(text, 32, "%s %.2f", group->rate ? ">=" : "<=", line->bound);
	return text;
}

static void line_check(struct compare *c, const struct line *line, double ratio,
		       const struct stats *ours, const struct stats *theirs)
{
	const struct group *group = &c->group;
	char name[128], size[SIZE_TEXT], bound[32];
	bool ok;

	if (!c->run->opt.check || line->bound <= 0)
		return;
	ok = group->rate ? ratio >= line->bound : ratio <= line->bound;
	snprintf(name, sizeof(name), "%s %s, MTU %u, beside %s", group->what,
		 size_print(group->bytes, size), c->net.mtu, line->name);
	report_check(c->run->report, name, ok,
		     "%.3f (%.2f to %.2f %s, spread %.0f and %.0f %%), bound %s%s", ratio,
		     ours->median, theirs->median, group->rate ? "MB/s" : "us",
		     100 * ours->spread, 100 * theirs->spread,
		     bound_print(group, line, bound),
		     c->run->stalled ? "; not to be believed, the CPUs did not both run" :
				       "");
}

static void line_report(struct compare *c, const struct line *line, double ratio,
			const struct stats *ours, const struct stats *theirs)
{
	const struct group *group = &c->group;
	const char *unit = group->rate ? "MB/s" : "us";
	struct report_point point = {
		.unit = unit,
		.stats = ours,
		.sized = true,
		.size_bytes = group->bytes,
		.reference = line->name,
		.reference_stats = theirs,
		.ratio = ratio,
	};
	char name[64], size[SIZE_TEXT], bound[32];
	struct cJSON *json;

	snprintf(name, sizeof(name), "compare %s", group->what);
	point.name = name;
	json = report_result(c->run->report, &point);
	report_param_number(json, "mtu", c->net.mtu);
	if (line->bound > 0)
		report_param_number(json, "bound", line->bound);
	if (line->pipe && line->pipe->carrier == CARRIER_ZEROCOPY)
		report_param_text(json, "copied", line->pipe->copied ? "yes" : "no");
	if (line->pipe && line->pipe->moved)
		report_param_number(json, "lost", stats_ratio((double)line->pipe->lost,
							      (double)line->pipe->moved));
	table_cell(c->table, "%s", group->what);
	table_cell(c->table, "%s", line->name);
	table_cell(c->table, "%s", size_print(group->bytes, size));
	table_cell(c->table, group->rate ? "%.1f" : "%.2f", ours->median);
	table_cell(c->table, "%.1f", 100 * ours->spread);
	table_cell(c->table, group->rate ? "%.1f" : "%.2f", theirs->median);
	table_cell(c->table, "%.1f", 100 * theirs->spread);
	table_cell(c->table, "%s", unit);
	table_cell(c->table, "%.3f", ratio);
	table_cell(c->table, "%s", bound_print(group, line, bound));
	line_check(c, line, ratio, ours, theirs);
}

static void sum_up(struct group *group, struct sampled *thing, const struct options *opt,
		   struct stats *stats)
{
	unsigned int i;

	if (group->rate) {
		sample_rates(thing, group->bytes, opt, stats);
		return;
	}
	for (i = 0; i < opt->samples; i++)
		thing->ns[i] /= 1000;
	stats_summarize(thing->ns, opt->samples, stats);
}

static void group_report(struct compare *c, const struct options *opt)
{
	struct group *group = &c->group;
	struct sampled *ours = &group->thing[0];
	struct stats stats[LINES_MAX];
	double ratio[LINES_MAX];
	unsigned int i;

	/* summing up sorts: what are neighbours is to be known before */
	for (i = 1; i < group->n; i++)
		ratio[i] = group->rate ? sample_ratio(&group->thing[i], ours, opt) :
					 sample_ratio(ours, &group->thing[i], opt);
	for (i = 0; i < group->n; i++)
		sum_up(group, &group->thing[i], opt, &stats[i]);
	for (i = 1; i < group->n; i++)
		line_report(c, &group->line[i], ratio[i], &stats[0], &stats[i]);
}

/* ---- measuring ---- */

/* What one of them left is the cause; a signal is nobody's */
static int group_fail(struct compare *c, int ret)
{
	const struct group *group = &c->group;
	unsigned int i;

	if (run_stopped())
		return run_fail(c->run, "ended by signal %d", (int)stopped);
	for (i = 0; i < group->n; i++)
		if (group->line[i].error && *group->line[i].error)
			return run_fail(c->run, "%s: %s", group->line[i].name,
					group->line[i].error);
	return run_fail(c->run, "%s: %s", group->what, strerror(-ret));
}

/* Does it bring what is in the one half to the other half? And back, of latencies */
static int group_verify(struct compare *c, struct end *near, struct end *far,
			struct sampled *thing)
{
	const struct group *group = &c->group;
	uint64_t bytes = group->rate ? HALF_BYTES : group->bytes, ns;
	int ret;

	memset(end_receive(far), PATTERN_EMPTY, bytes);
	memset(end_receive(near), PATTERN_EMPTY, bytes);
	ret = thing->run(thing->arg, group->rate ? HALF_BYTES / group->bytes : 1, &ns);
	if (ret)
		return group_fail(c, ret);
	if (!memcmp(end_send(near), end_receive(far), bytes) &&
	    (group->rate || !memcmp(end_send(far), end_receive(near), bytes)))
		return 0;
	return run_fail(c->run, "%s beside %s: data came out wrong", group->what,
			group->line[thing - group->thing].name);
}

/* Every line is to take the time that was asked for */
static int group_measure(struct compare *c)
{
	struct group *group = &c->group;
	struct options opt = c->run->opt;
	char what[128], size[SIZE_TEXT];
	int ret;

	snprintf(what, sizeof(what), "%s %s, MTU %u", group->what,
		 size_print(group->bytes, size), c->net.mtu);
	run_step(c->run, what);
	opt.time_ns *= group->n;
	if (group->samples < opt.samples)
		opt.samples = group->samples;
	ret = sample_alternate(group->thing, group->n, &opt);
	if (ret)
		return group_fail(c, ret);
	group_report(c, &opt);
	return 0;
}

static int verify_and_measure(struct compare *c)
{
	struct group *group = &c->group;
	unsigned int i;

	for (i = 0; i < group->n; i++)
		if (!(group->line[i].pipe && group->rate &&
		      group->line[i].pipe->carrier == CARRIER_UDP) &&
		    group_verify(c, &c->run->near, &c->run->far, &group->thing[i]))
			return -1;
	return group_measure(c);
}

/* ---- bandwidth ---- */

static void work_of(struct work *work, struct end *end)
{
	memset(work, 0, sizeof(*work));
	work->end = end;
	work->op = OP_PUT;
	work->wait = WAIT_POLL;
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
	return verify_and_measure(c);
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
	return verify_and_measure(c);
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
	c->has_rdma = rdma_create(&c->rdma, run, &c->net);
	if (!c->has_rdma && !run_stopped())
		run_note("Soft RoCE is left out: %s", c->rdma.error);
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
		run_note("MSG_ZEROCOPY: the kernel did copy, as it does where the receiver is on "
			 "the same machine");
	if (udp->lost)
		run_note("UDP lost %.2f %%; what came is counted",
			 100 * (double)udp->lost / (double)udp->moved);
}

static int mtu_run(struct compare *c, unsigned int mtu)
{
	enum carrier carrier;
	char title[128];
	int ret;

	memset(c->pipe, 0, sizeof(c->pipe));
	memset(&c->rdma, 0, sizeof(c->rdma));
	for (carrier = 0; carrier < CARRIERS; carrier++)
		c->pipe[carrier].fd[SIDE_NEAR] = c->pipe[carrier].fd[SIDE_FAR] = -1;
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
		run_note("polling latencies need two CPUs, and there is one: left out");
	else if (cpu_check_handoff(run))
		return -1;
	c = calloc(1, sizeof(*c));
	if (!c)
		return run_fail(run, "no memory for the samples");
	c->run = run;
	signals_take();
	for (i = 0; i < run->opt.mtus.n && !ret; i++)
		ret = mtu_run(c, (unsigned int)run->opt.mtus.value[i]);
	free(c);
	return ret;
}
