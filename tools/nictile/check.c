// SPDX-License-Identifier: GPL-2.0-only
/*
 * check.c - what must hold
 */
#include <inttypes.h>
#include <math.h>

#include "nictile.h"
#include "tools/common/output.h"

#define OVERRUNS_MAX	0.01	/* of the tiles of a run */
#define ERROR_AT_BEST	5.0	/* percent */
#define ERROR_OVER_ALL	10.0
#define ERROR_OF_BEST	3.0

static void check_results(struct report *report, const struct story *story)
{
	const struct measurement *m = story->measurement;
	double points = (double)story->options->dims[0] *
			(double)story->options->dims[1] *
			(double)story->options->dims[2];

	report_check(report, "results", !m->wrong && m->runs,
		     "%" PRIu64 " of %.0f values differ from the sequential run's, in %" PRIu64 " runs",
		     m->wrong, points * (double)m->runs, m->runs);
}

/* Each run alone: many good ones do not make up for a bad one */
static void check_overruns(struct report *report, const struct story *story)
{
	const struct overruns *worst = &story->measurement->worst;
	double part = worst->tiles ? (double)worst->overruns /
				     (double)worst->tiles : 0;

	report_check(report, "overruns", part <= OVERRUNS_MAX,
		     "in the worst of all runs %" PRIu64 " of %" PRIu64 " tiles took longer than they should (height %" PRIu64 ", %s; bound: 1 %%)",
		     worst->overruns, worst->tiles, worst->height,
		     kind_name(worst->kind));
}

static void check_winner(struct report *report, const struct story *story)
{
	bool overlap = story->options->expect == EXPECT_OVERLAP;
	int with = story_fastest(story, NIC_TILE_OVERLAP);
	int without = story_fastest(story, NIC_TILE_NONOVERLAP);
	double a = story_outcome(story, (unsigned int)with, 1)->time.median;
	double b = story_outcome(story, (unsigned int)without, 0)->time.median;

	report_check(report, overlap ? "overlap wins" : "nonoverlap wins",
		     overlap ? a < b : b < a,
		     "best times: overlap %.6f s, nonoverlap %.6f s", a, b);
}

static void check_sweep(struct report *report, const struct story *story)
{
	double error, worst = 0;
	unsigned int h;

	for (h = 0; h < story->decision->heights; h++) {
		error = story_percent(story_outcome(story, h, 1)->time.median,
				      predict_time(story->prediction, 1,
						   story->decision->height[h]));
		if (fabs(error) > fabs(worst))
			worst = error;
	}
	report_check(report, "prediction over the sweep",
		     fabs(worst) <= ERROR_OVER_ALL,
		     "overlap differs by %+.2f %% at most (bound: %g %%)",
		     worst, ERROR_OVER_ALL);
}

/* The predicted best height is among those run: predict_heights() saw to it */
static void check_best(struct report *report, const struct story *story)
{
	uint64_t best = story->prediction->best[NIC_TILE_OVERLAP];
	int at = story_index(story, best);
	int least = story_fastest(story, NIC_TILE_OVERLAP);
	double error, time;

	if (at < 0) {
		report_check(report, "prediction at its best height", false,
			     "not run at %" PRIu64 ": name fewer heights", best);
		report_check(report, "predicted best height", false,
			     "not run at %" PRIu64, best);
		return;
	}
	time = story_outcome(story, (unsigned int)at, 1)->time.median;
	error = story_percent(time, story->prediction->best_s[1]);
	report_check(report, "prediction at its best height",
		     fabs(error) <= ERROR_AT_BEST,
		     "overlap at %" PRIu64 " differs by %+.2f %% (bound: %g %%)",
		     best, error, ERROR_AT_BEST);
	error = story_percent(time, story_outcome(story, (unsigned int)least,
						  1)->time.median);
	report_check(report, "predicted best height", error <= ERROR_OF_BEST,
		     "overlap at %" PRIu64 " takes %.2f %% longer than at the best, %" PRIu64 " (bound: %g %%)",
		     best, error, story->decision->height[least],
		     ERROR_OF_BEST);
}

void check_all(struct report *report, const struct story *story)
{
	check_results(report, story);
	if (story->options->modelled)
		check_overruns(report, story);
	if (story->options->expect)
		check_winner(report, story);
	if (story->options->expect != EXPECT_OVERLAP)
		return;
	check_sweep(report, story);
	check_best(report, story);
}
