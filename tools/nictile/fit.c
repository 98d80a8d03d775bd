// SPDX-License-Identifier: GPL-2.0-only
/*
 * fit.c - what transfers of two sizes say of the link
 *
 * A line through the medians always has a slope, if only that of noise. It is
 * believed when the larger transfers certainly take longer: when the confidence
 * intervals of the two medians, of about 96 % each, do not meet. These are
 * order statistics, which assume nothing of how times are distributed: as many of
 * n independent samples lie below the median as n coins show heads. And it is not believed when data would arrive faster than they can be
 * copied, which is known for links whose data the CPU places.
 *
 * Nothing is made up for what cannot be measured: growth is then zero, and the
 * part that does not grow is the median of all transfers.
 */
#include <string.h>

#include "nictile.h"

/* How many of the lowest of @n samples are below the interval: 2 of 12 */
static unsigned int outside(unsigned int n)
{
	double coins = 1, below = 0;
	unsigned int k;

	for (k = 0; k < n; k++)
		coins /= 2;
	/* @coins: the probability that just k are below the median */
	for (k = 0; k < n / 2; k++) {
		below += coins;
		if (below > 0.02)
			break;
		coins *= (double)(n - k) / (k + 1);
	}
	return k ? k - 1 : 0;
}

void fit_transfer(struct transfers *of, struct costs *costs)
{
	unsigned int n = of->n, cut = outside(n);
	double both[2 * TRANSFERS_MAX], small, large, slope;
	struct stats stats;

	memcpy(both, of->small, n * sizeof(*both));
	memcpy(both + n, of->large, n * sizeof(*both));
	stats_sort(of->small, n);
	stats_sort(of->large, n);
	small = stats_percentile(of->small, n, 50);
	large = stats_percentile(of->large, n, 50);
	slope = (large - small) / (double)(of->large_bytes - of->small_bytes);
	if (of->large[cut] <= of->small[n - 1 - cut]) {
		costs->growth = GROWTH_NONE;
	} else if (slope < of->copy_byte) {
		costs->growth = GROWTH_TOO_FAST;
	} else {
		costs->growth = GROWTH_MEASURED;
		costs->transfer_byte = slope;
		/* Negative where the transfer begins before the poster is back */
		costs->transfer = small - slope * (double)of->small_bytes;
		return;
	}
	stats_summarize(both, 2 * n, &stats);
	costs->transfer_byte = 0;
	costs->transfer = stats.median;
}
