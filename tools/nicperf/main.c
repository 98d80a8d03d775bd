// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - nicperf: measure a dmanic device
 *
 * Opens both ends, runs the subcommands one after the other and prints. A
 * failure ends the run; what was measured until then is still reported.
 */
#include <errno.h>
#include <linux/dmanic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "nicperf.h"
#include "ranks.h"
#include "tools/common/progress.h"

#define CONNECT_NS	1000000000ULL	/* it was published before */
#define BYTES_LEAST	65536	/* of a half: enough for rate and post */

static const struct {
	unsigned int command;
	int (*run)(struct run *run);
	uint64_t (*steps)(const struct run *run);
} subcommands[] = {
	{ COMMAND_LATENCY, latency_run, latency_steps },
	{ COMMAND_BANDWIDTH, bandwidth_run, bandwidth_steps },
	{ COMMAND_RATE, rate_run, rate_steps },
	{ COMMAND_POST, post_run, post_steps },
	{ COMMAND_COST, cost_run, cost_steps },
	{ COMMAND_COMPARE, compare_run, compare_steps },
};

#define SUBCOMMANDS	ARRAY_SIZE(subcommands)

/* ---- what is said ---- */

void run_note(const char *format, ...)
{
	va_list args;

	progress_clear();
	va_start(args, format);
	output_say("nicperf", format, args, "");
	va_end(args);
}

int run_fail(struct run *run, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	run_note("%s", text);
	run->failed = true;
	/* who reads the tables reads stderr, too */
	if (run->opt.json || run->json)
		report_check(run->report, "run", false, "%s", text);
	return -1;
}

int run_end_fail(struct run *run, const struct end *end)
{
	return run_fail(run, "%s", end->error);
}

int run_check_entries(struct run *run, unsigned int needed)
{
	if (run->near.entries >= needed)
		return 0;
	return run_fail(run, "%s has queues of %u entries, %u are needed",
			run->near.device, run->near.entries, needed);
}

void run_step(struct run *run, const char *what)
{
	progress_show(run->steps_done++, what);
}

void run_title(const struct run *run, const char *what)
{
	if (run->opt.json)
		return;
	progress_clear();
	printf("%s\n%s -> %s (%s), CPU %d", what, run->near.info.name,
	       run->far.info.name, run->near.info.link, run->cpu[0]);
	if (run->cpus > 1)
		printf(" and CPU %d", run->cpu[1]);
	printf("\n\n");
	fflush(stdout);
}

void run_table(const struct run *run, struct table *table)
{
	progress_clear();
	if (!run->opt.json) {
		table_print(table, stdout);
		putchar('\n');
		fflush(stdout);
	}
	table_free(table);
}

/* ---- the ends ---- */

static int job_create(struct run *run, struct job *job)
{
	memset(job, 0, sizeof(*job));
	snprintf(job->tag, sizeof(job->tag), "%d", (int)getpid());
	if (getrandom(job->secret, sizeof(job->secret), 0) !=
	    (ssize_t)sizeof(job->secret))
		return run_fail(run, "no random numbers: %s", strerror(errno));
	return 0;
}

static uint64_t bytes_needed(const struct options *opt)
{
	uint64_t bytes = BYTES_LEAST;
	unsigned int i;

	for (i = 0; opt->commands & COMMAND_LATENCY && i < opt->sizes.n; i++)
		if (opt->sizes.value[i] > bytes)
			bytes = opt->sizes.value[i];
	if (opt->commands & COMMAND_BANDWIDTH && bandwidth_bytes(opt) > bytes)
		bytes = bandwidth_bytes(opt);
	if (opt->commands & COMMAND_COST)
		bytes = COST_BYTES;
	return bytes;
}

/* Leave out what the device cannot do, and say so */
static int features_check(struct run *run)
{
	uint64_t features = run->near.info.features & run->far.info.features;

	if (run->opt.commands & (COMMAND_LATENCY | COMMAND_RATE) &&
	    !(features & DMANIC_FEATURE_NOTIFY))
		return run_fail(run, "%s has no interrupts; only bandwidth and "
				"post can be measured", run->near.device);
	if (run->opt.commands & COMMAND_BANDWIDTH &&
	    run->opt.ops & 1U << OP_STRIDED &&
	    !(features & DMANIC_FEATURE_STRIDED)) {
		run_note("%s cannot put with strides; left out",
			 run->near.device);
		run->opt.ops &= ~(1U << OP_STRIDED);
	}
	if (run->opt.commands & COMMAND_BANDWIDTH &&
	    run->opt.ops & 1U << OP_LIST && !(features & DMANIC_FEATURE_LIST)) {
		run_note("%s cannot put by a list; left out", run->near.device);
		run->opt.ops &= ~(1U << OP_LIST);
	}
	if (run->opt.commands & (COMMAND_LATENCY | COMMAND_BANDWIDTH) &&
	    run->opt.ops & 1U << OP_PIO &&
	    !(features & DMANIC_FEATURE_MAP_REMOTE)) {
		run_note("memory of %s cannot be mapped; pio is left out",
			 run->far.device);
		run->opt.ops &= ~(1U << OP_PIO);
	}
	return 0;
}

int run_connect(struct run *run, struct end *near, const char *device,
		struct end *far, const char *peer, uint64_t bytes)
{
	struct job job;

	if (job_create(run, &job))
		return -1;
	if (end_open(near, device, &job, "near", bytes))
		return run_end_fail(run, near);
	if (end_open(far, peer, &job, "far", bytes))
		return run_end_fail(run, far);
	report_link(run->report, near->info.link);
	if (end_connect(near, &job, far->info.node, "far", CONNECT_NS))
		return run_end_fail(run, near);
	if (end_connect(far, &job, near->info.node, "near", CONNECT_NS))
		return run_end_fail(run, far);
	return 0;
}

static int ends_open(struct run *run)
{
	uint64_t bytes = bytes_needed(&run->opt);

	if (run->opt.ranks)
		return ranks_open(run, bytes) ? -1 :
		       run->serves ? 0 : features_check(run);
	if (run_connect(run, &run->near, run->opt.device, &run->far,
			run->opt.peer_device, bytes))
		return -1;
	return features_check(run);
}

/* ---- the run ---- */

static int run_commands(struct run *run)
{
	uint64_t steps = 0;
	int ret = 0;
	size_t i;

	for (i = 0; i < SUBCOMMANDS; i++)
		if (run->opt.commands & subcommands[i].command)
			steps += subcommands[i].steps(run);
	progress_start(steps);
	for (i = 0; i < SUBCOMMANDS && !ret; i++)
		if (run->opt.commands & subcommands[i].command)
			ret = subcommands[i].run(run);
	progress_clear();
	return ret;
}

/* Before anything is measured in vain */
static int json_open(struct run *run)
{
	if (!run->opt.json_path)
		return 0;
	run->json = fopen(run->opt.json_path, "we");
	if (run->json)
		return 0;
	return run_fail(run, "cannot write to %s: %s", run->opt.json_path,
			strerror(errno));
}

static int json_close(struct run *run)
{
	int ret = 0;

	if (!run->json)
		return 0;
	report_print(run->report, run->json);
	if (ferror(run->json))
		ret = -1;
	if (fclose(run->json))
		ret = -1;
	if (ret)
		run_note("cannot write to %s: %s", run->opt.json_path, strerror(errno));
	return ret;
}

static int run_print(struct run *run)
{
	int ret = json_close(run);

	if (run->opt.json)
		report_print(run->report, stdout);
	else
		report_print_checks(run->report, stdout);
	return output_finish("nicperf") ? -1 : ret;
}

int main(int argc, char **argv)
{
	struct run run;
	int status;
	bool ok;

	memset(&run, 0, sizeof(run));
	/* first of all: getopt moves the arguments about */
	run.report = report_create("nicperf", TOOL_VERSION, argc, argv);
	if (args_parse(&run.opt, argc, argv, &status)) {
		report_free(run.report);
		return status;
	}
	if (!json_open(&run) &&
	    !(run.opt.commands & COMMAND_COST && cost_check_clock(&run)) &&
	    !cpu_choose(&run) &&
	    (run.opt.commands & COMMAND_COMPARE || !ends_open(&run))) {
		if (run.serves)
			ranks_serve(&run);
		else
			run_commands(&run);
	}
	ok = !run.failed && report_ok(run.report);
	/* Rank 0 tells of both */
	if (!run.serves && run_print(&run))
		ok = false;
	ranks_close(&run);
	end_close(&run.near);
	end_close(&run.far);
	report_free(run.report);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
