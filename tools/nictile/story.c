// SPDX-License-Identifier: GPL-2.0-only
/*
 * story.c - what tables, reports and checks ask of the results
 */
#include <math.h>

#include "nictile.h"

const char *story_compute(const struct story *story)
{
	return story->options->modelled ? "modelled" : "real";
}

double story_percent(double measured, double predicted)
{
	return predicted > 0 ? 100 * (measured / predicted - 1) : 0;
}

const struct outcome *story_outcome(const struct story *story, unsigned int h,
				    unsigned int kind)
{
	return &story->measurement->outcome[h][kind];
}

int story_fastest(const struct story *story, unsigned int kind)
{
	const struct outcome *outcome;
	double least = INFINITY;
	unsigned int h;
	int best = -1;

	for (h = 0; h < story->decision->heights; h++) {
		outcome = story_outcome(story, h, kind);
		if (!outcome->n || outcome->time.median >= least)
			continue;
		least = outcome->time.median;
		best = (int)h;
	}
	return best;
}

int story_index(const struct story *story, uint64_t height)
{
	unsigned int h;

	for (h = 0; h < story->decision->heights; h++)
		if (story->decision->height[h] == height)
			return (int)h;
	return -1;
}
