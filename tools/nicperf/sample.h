/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sample.h - interleaved samples of two things
 *
 * What is compared is measured in turn, A B A B ..., so that whatever else the
 * machine does meanwhile falls on both.
 */
#ifndef NICPERF_SAMPLE_H
#define NICPERF_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLES_MAX	1001

struct beside;
struct options;
struct stats;

/**
 * struct sampled - one of the things
 * @run: do it @count times and tell how long it took
 * @arg: for @run
 * @least: smallest useful count; counts are multiples of it, and so many are
 *	done untimed before each sample to find the caches as they were left
 * @beside: busy meanwhile; NULL: nothing
 * @cold: nothing untimed before: a program that warms itself up
 * @count: how many make a sample (chosen)
 * @ns: of one, a sample each (out)
 */
struct sampled {
	int (*run)(void *arg, uint64_t count, uint64_t *ns);
	void *arg;
	uint64_t least;
	struct beside *beside;
	bool cold;
	uint64_t count;
	double ns[SAMPLES_MAX];
};

/* Fill in @ns of @n things; 0, or what @run returned */
int sample_alternate(struct sampled *things, unsigned int n,
		     const struct options *opt);

/* Median of @thing's times over those of @reference measured in turn with them */
double sample_ratio(const struct sampled *thing, const struct sampled *reference,
		    const struct options *opt);

/* Turn times into MB/s of @bytes each, and sum them up */
void sample_rates(struct sampled *thing, uint64_t bytes, const struct options *opt,
		  struct stats *stats);

#endif /* NICPERF_SAMPLE_H */
