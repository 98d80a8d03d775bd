// SPDX-License-Identifier: GPL-2.0-only
/*
 * show.c - tables, JSON, data for a plot, and the checks
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nictile.h"
#include "tools/common/output.h"
#include "tools/common/size.h"

#define OVERRUNS_MAX	0.01	/* of all tiles */
#define ERROR_AT_BEST	5.0	/* percent */
#define ERROR_OVER_ALL	10.0
#define ERROR_OF_BEST	3.0
#define CURVE_POINTS	200

static const char *compute_name(const struct options *options)
{
	return options->modelled ? "modelled" : "real";
}

static double percent(double measured, double predicted)
{
	return predicted > 0 ? 100 * (measured / predicted - 1) : 0;
}

static const struct outcome *outcome_of(const struct story *story,
					unsigned int h, unsigned int kind)
{
	return &story->measurement->outcome[h][kind];
}

/* Index of the height with the least time, or -1: not run */
static int fastest(const struct story *story, unsigned int kind)
{
	const struct outcome *outcome;
	double least = INFINITY;
	unsigned int h;
	int best = -1;

	for (h = 0; h < story->decision->heights; h++) {
		outcome = outcome_of(story, h, kind);
		if (!outcome->n || outcome->time.median >= least)
			continue;
		least = outcome->time.median;
		best = (int)h;
	}
	return best;
}

static int index_of(const struct story *story, uint64_t height)
{
	unsigned int h;

	for (h = 0; h < story->decision->heights; h++)
		if (story->decision->height[h] == height)
			return (int)h;
	return -1;
}

/* ---- before the runs ---- */

static void show_head(const struct story *story, FILE *file)
{
	const struct options *options = story->options;
	char text[SIZE_TEXT];

	fprintf(file, "%" PRIu64 "x%" PRIu64 "x%s points on %" PRIu32 "x%"
		PRIu32 " ranks, link %s, ", options->dims[0], options->dims[1],
		size_print(options->dims[2], text), options->ranks[0],
		options->ranks[1], story->link);
	if (options->modelled)
		fprintf(file,
			"MODELLED computing: %s a point (%.4g ns times %g)\n",
			time_print(options->t1_ns, text),
			options->t1_ns / options->scale, options->scale);
	else
		fputs("real computing\n", file);
}

static void show_cost(FILE *file, const char *name, double ns, const char *what)
{
	char text[SIZE_TEXT + 1] = "-";

	time_print(fabs(ns), text + 1);
	fprintf(file, "  %-12s %10s  %s\n", name, ns < 0 ? text : text + 1,
		what);
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
	show_cost(file, "t_comm", costs->transfer,
		  "of a step's faces after the doorbell, and");
	if (costs->transfer_byte > 0)
		fprintf(file, "  %-12s %10.4g  MB/s through the engine\n", "",
			1e3 / costs->transfer_byte);
	show_cost(file, "t1", costs->real_point, "a point, really computed");
	if (story->options->modelled)
		show_cost(file, "late", costs->wake,
			  "the end of a modelled tile");
	fprintf(file, "  %-12s %10s  a unit of height: A t1", "",
		time_print(story->prediction->model[0].t1 * 1e9 *
			   (double)story->grid->area, text));
	fprintf(file, ", and %s to transfer its faces\n",
		time_print(story->prediction->model[0].c * 1e9, text));
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

	show_head(story, file);
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
	const struct outcome *outcome = outcome_of(story, h, s);
	double predicted = predict_time(story->prediction, s,
					story->decision->height[h]);

	if (outcome->n)
		table_cell(table, "%.6f", outcome->time.median);
	else
		table_cell(table, "-");
	table_cell(table, "%.6f", predicted);
	if (outcome->n)
		table_cell(table, "%+.2f", percent(outcome->time.median,
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
	       compute_name(story->options), story->options->repeat,
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
		best = fastest(story, s);
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
	       compute_name(story->options));
	table = table_create(columns, 4);
	for (h = 0; h < story->decision->heights; h++) {
		table_cell(table, "%" PRIu64, story->decision->height[h]);
		for (kind = 0; kind < KINDS; kind++) {
			outcome = outcome_of(story, h, kind);
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

/* ---- checks ---- */

static void check_results(struct report *report, const struct story *story)
{
	const struct measurement *m = story->measurement;
	double points = (double)story->options->dims[0] *
			(double)story->options->dims[1] *
			(double)story->options->dims[2];

	report_check(report, "results", !m->wrong && m->runs,
		     "%" PRIu64 " of %.0f values differ from the sequential run's, in %" PRIu64 " runs",
		     m->wrong, points * (double)m->runs, m->runs);
	if (story->options->modelled)
		report_check(report, "overruns", (double)m->overruns <=
			     OVERRUNS_MAX * (double)m->tiles,
			     "%" PRIu64 " of %" PRIu64 " tiles took longer than they should (bound: 1 %%)",
			     m->overruns, m->tiles);
}

static void check_winner(struct report *report, const struct story *story)
{
	bool overlap = story->options->expect == EXPECT_OVERLAP;
	int with = fastest(story, NIC_TILE_OVERLAP);
	int without = fastest(story, NIC_TILE_NONOVERLAP);
	double a = outcome_of(story, (unsigned int)with, 1)->time.median;
	double b = outcome_of(story, (unsigned int)without, 0)->time.median;

	report_check(report, overlap ? "overlap wins" : "nonoverlap wins",
		     overlap ? a < b : b < a,
		     "best times: overlap %.6f s, nonoverlap %.6f s", a, b);
}

static void check_prediction(struct report *report, const struct story *story)
{
	uint64_t best = story->prediction->best[NIC_TILE_OVERLAP];
	int at = index_of(story, best);
	int least = fastest(story, NIC_TILE_OVERLAP);
	double error, worst = 0;
	unsigned int h;

	for (h = 0; h < story->decision->heights; h++) {
		error = percent(outcome_of(story, h, 1)->time.median,
				predict_time(story->prediction, 1,
					     story->decision->height[h]));
		if (fabs(error) > fabs(worst))
			worst = error;
	}
	report_check(report, "prediction over the sweep",
		     fabs(worst) <= ERROR_OVER_ALL,
		     "overlap differs by %+.2f %% at most (bound: %g %%)",
		     worst, ERROR_OVER_ALL);
	if (at < 0)
		return;
	error = percent(outcome_of(story, (unsigned int)at, 1)->time.median,
			story->prediction->best_s[1]);
	report_check(report, "prediction at its best height",
		     fabs(error) <= ERROR_AT_BEST,
		     "overlap at %" PRIu64 " differs by %+.2f %% (bound: %g %%)",
		     best, error, ERROR_AT_BEST);
	error = percent(outcome_of(story, (unsigned int)at, 1)->time.median,
			story->measurement->outcome[least][1].time.median);
	report_check(report, "predicted best height", error <= ERROR_OF_BEST,
		     "overlap at %" PRIu64 " takes %.2f %% longer than at the best, %" PRIu64 " (bound: %g %%)",
		     best, error, story->decision->height[least],
		     ERROR_OF_BEST);
}

/* ---- for programs ---- */

static void report_one_cost(struct report *report, const char *name,
			    const char *unit, double value)
{
	struct stats stats;

	stats_summarize(&value, 1, &stats);
	report_result(report, &(struct report_point) {
		.name = name, .unit = unit, .stats = &stats,
	});
}

static void report_costs(struct report *report, const struct story *story)
{
	const struct costs *costs = &story->decision->costs;

	report_one_cost(report, "t_start_dma", "us", costs->start_dma / 1e3);
	report_one_cost(report, "t_interrupt", "us", costs->interrupt / 1e3);
	report_one_cost(report, "t_sync", "us", costs->sync / 1e3);
	report_one_cost(report, "t_comm fixed", "us", costs->transfer / 1e3);
	report_one_cost(report, "t_comm a byte", "ns", costs->transfer_byte);
	report_one_cost(report, "t1 real", "ns", costs->real_point);
	report_one_cost(report, "late", "us", costs->wake / 1e3);
}

static void report_one(struct report *report, const struct story *story,
		       unsigned int h, unsigned int kind)
{
	const struct outcome *outcome = outcome_of(story, h, kind);
	uint64_t height = story->decision->height[h];
	double predicted = kind == KIND_NO_COMM ? 0 :
			   predict_time(story->prediction, kind, height);
	struct report_point point = {
		.name = kind == KIND_NO_COMM ? "no communication" :
			schedule_name(kind),
		.unit = "s", .stats = &outcome->time,
	};
	struct stats reference;
	struct cJSON *result;
	double value = predicted;

	if (!outcome->n)
		return;
	stats_summarize(&value, 1, &reference);
	if (kind != KIND_NO_COMM) {
		point.reference = "prediction";
		point.reference_stats = &reference;
	}
	result = report_result(report, &point);
	report_param_number(result, "height", (double)height);
	report_param_text(result, "compute", compute_name(story->options));
	report_param_number(result, "compute_s", outcome->computing.median);
	if (kind != KIND_NO_COMM)
		report_param_number(result, "error_percent",
				    percent(outcome->time.median, predicted));
}

static void report_prediction(struct report *report, const struct story *story)
{
	const struct prediction *prediction = story->prediction;
	unsigned int s;

	for (s = 0; s < SCHEDULES; s++) {
		struct stats stats;
		struct cJSON *result;
		double value = prediction->best_s[s];

		stats_summarize(&value, 1, &stats);
		result = report_result(report, &(struct report_point) {
			.name = s ? "predicted overlap" :
				    "predicted nonoverlap",
			.unit = "s", .stats = &stats,
		});
		report_param_number(result, "height",
				    (double)prediction->best[s]);
		report_param_number(result, "z*", prediction->optimum[s]);
		report_param_number(result, "T*", prediction->optimum_s[s]);
	}
}

/* ---- for gnuplot: measured, predicted, as two data sets ---- */

static void data_measured(const struct story *story, FILE *file)
{
	unsigned int h, kind;

	fputs("# height; median, min, max [s] of nonoverlap, of overlap; "
	      "compute [s] of nonoverlap, overlap, no communication\n", file);
	for (h = 0; h < story->decision->heights; h++) {
		fprintf(file, "%" PRIu64, story->decision->height[h]);
		for (kind = 0; kind < SCHEDULES; kind++) {
			const struct stats *time = &outcome_of(story, h,
							       kind)->time;

			if (time->samples)
				fprintf(file, " %.6f %.6f %.6f", time->median,
					time->min, time->max);
			else
				fputs(" nan nan nan", file);
		}
		for (kind = 0; kind < KINDS; kind++)
			fprintf(file, " %.6f",
				outcome_of(story, h, kind)->computing.median);
		fputc('\n', file);
	}
}

/* At heights that leave no short last tile; between them the curve saws. */
static void data_predicted(const struct story *story, FILE *file)
{
	uint64_t dimz = story->options->dims[2];
	uint64_t lo = story->decision->height[0];
	uint64_t hi = story->decision->height[story->decision->heights - 1];
	uint64_t most = (dimz + lo - 1) / lo, least = (dimz + hi - 1) / hi;
	uint64_t step = (most - least) / CURVE_POINTS + 1, tiles, z;

	fputs("\n\n# height; predicted [s] of nonoverlap, of overlap\n", file);
	for (tiles = most; tiles >= least && tiles <= most; tiles -= step) {
		z = (dimz + tiles - 1) / tiles;
		fprintf(file, "%" PRIu64 " %.6f %.6f\n", z,
			predict_time(story->prediction, 0, z),
			predict_time(story->prediction, 1, z));
		if (tiles < 4 * step)
			step = 1;
	}
}

static int save(const char *path, const struct story *story,
		const struct report *report)
{
	FILE *file = fopen(path, "w");
	int failed;

	if (!file) {
		fprintf(stderr, "nictile: %s: %s\n", path, strerror(errno));
		return -1;
	}
	if (report) {
		report_print(report, file);
	} else {
		data_measured(story, file);
		data_predicted(story, file);
	}
	failed = ferror(file);
	if (fclose(file) || failed) {
		fprintf(stderr, "nictile: %s: cannot write\n", path);
		return -1;
	}
	return 0;
}

int show_results(const struct story *story)
{
	const struct options *options = story->options;
	struct report *report = report_create("nictile", TOOL_VERSION,
					      story->argc, story->argv);
	unsigned int h, kind;
	bool ok;

	report_link(report, story->link);
	report_costs(report, story);
	report_prediction(report, story);
	for (h = 0; h < story->decision->heights; h++)
		for (kind = 0; kind < KINDS; kind++)
			report_one(report, story, h, kind);
	check_results(report, story);
	if (options->expect)
		check_winner(report, story);
	if (options->expect == EXPECT_OVERLAP)
		check_prediction(report, story);
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
	if (options->json_path && save(options->json_path, story, report))
		ok = false;
	if (options->data_path && save(options->data_path, story, NULL))
		ok = false;
	report_free(report);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
