/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stats.h - what to say about repeated measurements
 *
 * Medians and percentiles, never means: one descheduled sample must not move
 * the result. Pure; thread-safe.
 */
#ifndef TOOLS_STATS_H
#define TOOLS_STATS_H

#include <stddef.h>

/**
 * struct stats - summary of samples; all zero when there were none
 * @samples: how many
 * @median: 50th percentile
 * @p99: 99th percentile
 * @min: smallest
 * @max: largest
 * @spread: distance of the quartiles over the median: half of all samples lie
 *	within it
 */
struct stats {
	size_t samples;
	double median;
	double p99;
	double min;
	double max;
	double spread;
};

/* Ascending, in place */
void stats_sort(double *samples, size_t n);

/*
 * Percentile of ascending samples, 0 to 100. Between two samples the line
 * between them counts (Hyndman and Fan 1996, definition 7).
 */
double stats_percentile(const double *sorted, size_t n, double percent);

/* Sorts @samples and sums them up */
void stats_summarize(double *samples, size_t n, struct stats *stats);

/*
 * Median of @samples[i] over @reference[i], each measured right after the other: a
 * machine whose speed changes meanwhile changes both. Before they are sorted.
 */
double stats_paired(const double *samples, const double *reference, size_t n);

/* @value over @reference, 0 when there is no reference */
double stats_ratio(double value, double reference);

#endif /* TOOLS_STATS_H */
