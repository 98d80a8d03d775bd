// SPDX-License-Identifier: GPL-2.0-only
/*
 * report.c - results for programs: the report, and columns for a plot
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "nictile.h"
#include "tools/common/output.h"

#define CURVE_POINTS	200

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
	/* left out where it could not be measured */
	if (costs->growth == GROWTH_MEASURED)
		report_one_cost(report, "t_comm a byte", "ns", costs->transfer_byte);
	report_one_cost(report, "t1 real", "ns", costs->real_point);
	report_one_cost(report, "late", "us", costs->wake / 1e3);
}

static void report_one(struct report *report, const struct story *story,
		       unsigned int h, unsigned int kind)
{
	const struct outcome *outcome = story_outcome(story, h, kind);
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
	report_param_text(result, "compute", story_compute(story));
	report_param_number(result, "compute_s", outcome->computing.median);
	if (kind != KIND_NO_COMM)
		report_param_number(result, "error_percent",
				    story_percent(outcome->time.median, predicted));
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
		report_param_text(result, "compute", story_compute(story));
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
			const struct stats *time = &story_outcome(story, h,
							       kind)->time;

			if (time->samples)
				fprintf(file, " %.6f %.6f %.6f", time->median,
					time->min, time->max);
			else
				fputs(" nan nan nan", file);
		}
		for (kind = 0; kind < KINDS; kind++)
			fprintf(file, " %.6f",
				story_outcome(story, h, kind)->computing.median);
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

	fprintf(file,
		"\n\n# height; predicted [s] of nonoverlap, of overlap (%s computing)\n",
		story->options->modelled ? "MODELLED" : "real");
	for (tiles = most; tiles >= least && tiles <= most; tiles -= step) {
		z = (dimz + tiles - 1) / tiles;
		fprintf(file, "%" PRIu64 " %.6f %.6f\n", z,
			predict_time(story->prediction, 0, z),
			predict_time(story->prediction, 1, z));
		if (tiles < 4 * step)
			step = 1;
	}
}

/* ---- all of it ---- */

void report_fill(struct report *report, const struct story *story)
{
	unsigned int h, kind;

	report_link(report, story->info->link);
	if (story->card->known)
		device_report_model(&story->card->device, report_root(report));
	report_costs(report, story);
	report_prediction(report, story);
	for (h = 0; h < story->decision->heights; h++)
		for (kind = 0; kind < KINDS; kind++)
			report_one(report, story, h, kind);
}

int files_open(struct files *files, const struct options *options)
{
	const char *path = options->json_path;

	if (path)
		files->json = fopen(path, "w");
	if (!path || files->json) {
		path = options->data_path;
		if (path)
			files->data = fopen(path, "w");
		if (!path || files->data)
			return 0;
	}
	fprintf(stderr, "nictile: cannot write to %s: %s\n", path,
		strerror(errno));
	return -EIO;
}

static int file_close(FILE **file, const char *path)
{
	int failed = ferror(*file);

	failed |= fclose(*file);
	*file = NULL;
	if (failed)
		fprintf(stderr, "nictile: cannot write to %s: %s\n", path,
			strerror(errno));
	return failed ? -EIO : 0;
}

int files_write(struct files *files, const struct story *story,
		const struct report *report)
{
	int ret = 0;

	if (files->json) {
		report_print(report, files->json);
		ret = file_close(&files->json, story->options->json_path);
	}
	if (files->data) {
		fputs("# ", files->data);
		show_head(story, files->data, "\n# ");
		data_measured(story, files->data);
		data_predicted(story, files->data);
		if (file_close(&files->data, story->options->data_path))
			ret = -EIO;
	}
	return ret;
}
