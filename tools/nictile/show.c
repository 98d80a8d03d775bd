// SPDX-License-Identifier: GPL-2.0-only
/*
 * show.c - tables for people
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nictile.h"
#include "tools/common/output.h"
#include "tools/common/size.h"

/* ---- before the runs ---- */

/* What the link pretends to cost */
static void show_model(const struct story *story, FILE *file)
{
	const struct device *device = &story->card->device;
	const uint64_t *model = device->model;
	char text[SIZE_TEXT];

	if (!strcmp(story->info->link, "ether")) {
		fputs("which has no model", file);
		return;
	}
	if (!story->card->known) {
		fprintf(file, "model not known (%s)", story->card->why);
		return;
	}
	if (!*device->model_name) {
		fputs("no model", file);
		return;
	}
	fprintf(file, "model %s scale %.7g (%s): ", device->model_name,
		device_scale(device), story->options->model ? "set" : "found");
	fprintf(file, "start %s, ",
		time_print((double)model[DMANIC_MODEL_A_START_NS], text));
	fprintf(file, "interrupt %s, ",
		time_print((double)model[DMANIC_MODEL_A_INTERRUPT_NS], text));
	if (model[DMANIC_MODEL_A_BANDWIDTH])
		fprintf(file, "bandwidth %.4g MB/s",
			(double)model[DMANIC_MODEL_A_BANDWIDTH] / 1e6);
	else
		fputs("bandwidth of memory", file);
	fputs(", before scaling", file);
}

void show_head(const struct story *story, FILE *file, const char *newline)
{
	const struct options *options = story->options;
	char text[SIZE_TEXT];

	fprintf(file, "%" PRIu64 "x%" PRIu64 "x%s points on %" PRIu32 "x%"
		PRIu32 " ranks, ", options->dims[0], options->dims[1],
		size_print(options->dims[2], text), options->ranks[0],
		options->ranks[1]);
	if (options->modelled)
		fprintf(file,
			"MODELLED computing: %s a point (%.4g ns times %g)",
			time_print(options->t1_ns, text),
			options->t1_ns / options->scale, options->scale);
	else
		fputs("real computing", file);
	fprintf(file, "%slink %s, ", newline, story->info->link);
	show_model(story, file);
	fputc('\n', file);
}

static void show_cost(FILE *file, const char *name, double ns, const char *what)
{
	char text[SIZE_TEXT + 1] = "-";

	time_print(fabs(ns), text + 1);
	fprintf(file, "  %-12s %10s  %s\n", name, ns < 0 ? text : text + 1,
		what);
}

static void show_transfer(const struct costs *costs, FILE *file)
{
	static const char *const why[] = {
		[GROWTH_NONE] = "larger faces take no longer than small ones",
		[GROWTH_TOO_FAST] = "faces would arrive faster than they can be copied",
	};

	show_cost(file, "t_comm", costs->transfer,
		  "of a step's faces after the doorbell, and");
	if (costs->growth == GROWTH_NONE || costs->growth == GROWTH_TOO_FAST)
		fprintf(file, "  %-12s %10s  bandwidth not measurable: %s\n", "", "-",
			why[costs->growth]);
	else if (costs->transfer_byte > 0)
		fprintf(file, "  %-12s %10.4g  MB/s through the engine\n", "",
			1e3 / costs->transfer_byte);
}

static void show_costs(const struct story *story, FILE *file)
{
	const struct costs *costs = &story->decision->costs;
	char text[SIZE_TEXT];

	fputs("\nmeasured before the runs, between rank 0 and 1 (medians):\n",
	      file);
	show_cost(file, "t_start_dma", costs->start_dma,
		  "a doorbell with two faces");
	show_cost(file, "t_interrupt", costs->interrupt,
		  "a quarter of a ping-pong (two triggers, two waits)");
	show_cost(file, "t_sync", costs->sync,
		  "the four hand-shakes of a step (the paper: 4 t_interrupt)");
	show_transfer(costs, file);
	show_cost(file, "t1", costs->real_point, "a point, really computed");
	if (story->options->modelled)
		show_cost(file, "late", costs->wake,
			  "the end of a modelled tile");
	fprintf(file, "  %-12s %10s  a unit of height: A t1", "",
		time_print(story->prediction->model[0].t1 * 1e9 *
			   (double)story->grid->area, text));
	if (costs->growth == GROWTH_MEASURED)
		fprintf(file, ", and %s to transfer its faces\n",
			time_print(story->prediction->model[0].c * 1e9, text));
	else
		fputs(", what transferring its faces adds is not known\n", file);
}

void show_prediction(const struct story *story, FILE *file)
{
	static const struct column columns[] = {
		{ "predicted", true }, { "z*", false }, { "T* [s]", false },
		{ "best z", false }, { "T [s]", false },
	};
	const struct prediction *prediction = story->prediction;
	struct table *table = table_create(columns, 5);
	unsigned int s;

	show_head(story, file, "\n");
	show_costs(story, file);
	fputc('\n', file);
	for (s = 0; s < SCHEDULES; s++) {
		table_cell(table, "%s", schedule_name(s));
		table_cell(table, "%.1f", prediction->optimum[s]);
		table_cell(table, "%.6f", prediction->optimum_s[s]);
		table_cell(table, "%" PRIu64, prediction->best[s]);
		table_cell(table, "%.6f", prediction->best_s[s]);
	}
	table_print(table, file);
	table_free(table);
	if (!story->options->modelled && story->decision->crowd > 1)
		fprintf(file,
			"(with a processor for each rank; here %.3g ranks share one: see --compute modelled)\n",
			story->decision->crowd);
	fflush(file);
}

/* ---- after the runs, for people ---- */

static void cells_of(struct table *table, const struct story *story,
		     unsigned int h, unsigned int s)
{
	const struct outcome *outcome = story_outcome(story, h, s);
	double predicted = predict_time(story->prediction, s,
					story->decision->height[h]);

	if (outcome->n)
		table_cell(table, "%.6f", outcome->time.median);
	else
		table_cell(table, "-");
	table_cell(table, "%.6f", predicted);
	if (outcome->n)
		table_cell(table, "%+.2f", story_percent(outcome->time.median,
						   predicted));
	else
		table_cell(table, "-");
}

static void show_times(const struct story *story)
{
	static const struct column columns[] = {
		{ "height", false }, { "tiles", false },
		{ "nonoverlap [s]", false }, { "predicted [s]", false },
		{ "error [%]", false }, { "overlap [s]", false },
		{ "predicted [s]", false }, { "error [%]", false },
	};
	struct table *table = table_create(columns, 8);
	unsigned int h;

	printf("\nmeasured, %s computing, median of %u%s:\n",
	       story_compute(story), story->options->repeat,
	       story->measurement->one_clock ? "" : ", longest rank");
	for (h = 0; h < story->decision->heights; h++) {
		uint64_t height = story->decision->height[h];

		table_cell(table, "%" PRIu64, height);
		table_cell(table, "%" PRIu64,
			   (story->options->dims[2] + height - 1) / height);
		cells_of(table, story, h, NIC_TILE_NONOVERLAP);
		cells_of(table, story, h, NIC_TILE_OVERLAP);
	}
	table_print(table, stdout);
	table_free(table);
}

static void show_best(const struct story *story)
{
	double least[SCHEDULES] = { 0, 0 };
	unsigned int s;
	int best;

	putchar('\n');
	for (s = 0; s < SCHEDULES; s++) {
		best = story_fastest(story, s);
		if (best < 0)
			continue;
		least[s] = story->measurement->outcome[best][s].time.median;
		printf("%-10s best at height %" PRIu64 " (predicted: %" PRIu64
		       "), %.6f s (predicted: %.6f s)\n", schedule_name(s),
		       story->decision->height[best],
		       story->prediction->best[s], least[s],
		       story->prediction->best_s[s]);
	}
	if (least[0] > 0 && least[1] > 0)
		printf("speed-up by overlap %.3f (predicted: %.3f)\n",
		       least[0] / least[1],
		       story->prediction->best_s[0] /
		       story->prediction->best_s[1]);
}

static void show_computing(const struct story *story)
{
	static const struct column columns[] = {
		{ "height", false }, { "nonoverlap [s]", false },
		{ "overlap [s]", false }, { "no communication [s]", false },
	};
	const struct outcome *outcome;
	struct table *table;
	unsigned int h, kind;

	if (!story->options->no_comm)
		return;
	printf("\ntime in compute alone, %s, the longest rank's:\n",
	       story_compute(story));
	table = table_create(columns, 4);
	for (h = 0; h < story->decision->heights; h++) {
		table_cell(table, "%" PRIu64, story->decision->height[h]);
		for (kind = 0; kind < KINDS; kind++) {
			outcome = story_outcome(story, h, kind);
			if (outcome->n)
				table_cell(table, "%.6f",
					   outcome->computing.median);
			else
				table_cell(table, "-");
		}
	}
	table_print(table, stdout);
	table_free(table);
}

int show_results(const struct story *story)
{
	const struct options *options = story->options;
	struct report *report = report_create("nictile", TOOL_VERSION,
					      story->argc, story->argv);
	bool ok;

	report_fill(report, story);
	check_all(report, story);
	if (options->json) {
		report_print(report, stdout);
	} else {
		show_times(story);
		show_best(story);
		show_computing(story);
		putchar('\n');
		report_print_checks(report, stdout);
	}
	ok = report_ok(report);
	if (files_write(story->files, story, report))
		ok = false;
	if (output_finish("nictile"))
		ok = false;
	report_free(report);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
