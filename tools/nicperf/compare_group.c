// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare_group.c - what is compared: samples in turn, and what came out
 */
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "pattern.h"

const char *const carrier_names[CARRIERS] = {
	[CARRIER_TCP] = "TCP",
	[CARRIER_ZEROCOPY] = "TCP, MSG_ZEROCOPY",
	[CARRIER_PLAIN] = "TCP, no offloads",
	[CARRIER_UDP] = "UDP, UDP_SEGMENT",
};

/* ---- groups ---- */

void group_begin(struct compare *c, const char *what, bool rate, uint64_t bytes)
{
	struct group *group = &c->group;

	memset(group, 0, sizeof(*group));
	group->what = what;
	group->rate = rate;
	group->bytes = bytes;
	group->samples = c->run->opt.samples;
}

struct sampled *group_add(struct compare *c, const char *name,
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

void group_add_pipe(struct compare *c, enum carrier carrier, uint64_t bytes,
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
	struct stats stats[LINES_MAX] = { };
	double ratio[LINES_MAX] = { };
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
		return run_fail(c->run, "ended by signal %d", run_signal());
	for (i = 0; i < group->n; i++)
		if (group->line[i].error && *group->line[i].error)
			return run_fail(c->run, "%s: %s", group->line[i].name,
					group->line[i].error);
	return run_fail(c->run, "%s: %s", group->what, strerror(-ret));
}

int group_verify(struct compare *c, struct end *near, struct end *far,
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
int group_measure(struct compare *c)
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

int group_verify_and_measure(struct compare *c)
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
