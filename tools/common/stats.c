// SPDX-License-Identifier: GPL-2.0-only
/*
 * stats.c - what to say about repeated measurements
 */
#include <stdlib.h>
#include <string.h>

#include "tools/common/stats.h"

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

void stats_sort(double *samples, size_t n)
{
	if (n)
		qsort(samples, n, sizeof(*samples), ascending);
}

double stats_percentile(const double *sorted, size_t n, double percent)
{
	double place, part;
	size_t below;

	if (!n)
		return 0;
	if (percent <= 0)
		return sorted[0];
	place = percent / 100 * (double)(n - 1);
	below = (size_t)place;
	if (below >= n - 1)
		return sorted[n - 1];
	part = place - (double)below;
	return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

void stats_summarize(double *samples, size_t n, struct stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	if (!n)
		return;
	stats_sort(samples, n);
	stats->samples = n;
	stats->median = stats_percentile(samples, n, 50);
	stats->p99 = stats_percentile(samples, n, 99);
	stats->min = samples[0];
	stats->max = samples[n - 1];
	stats->spread = stats_ratio(stats_percentile(samples, n, 75) -
				    stats_percentile(samples, n, 25),
				    stats->median);
}

double stats_paired(const double *samples, const double *reference, size_t n)
{
	double *ratio = malloc(n * sizeof(*ratio)), median;
	size_t i;

	if (!ratio)
		return 0;
	for (i = 0; i < n; i++)
		ratio[i] = stats_ratio(samples[i], reference[i]);
	stats_sort(ratio, n);
	median = stats_percentile(ratio, n, 50);
	free(ratio);
	return median;
}

double stats_ratio(double value, double reference)
{
	return reference > 0 || reference < 0 ? value / reference : 0;
}
