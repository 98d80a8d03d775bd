// SPDX-License-Identifier: GPL-2.0-only
/*
 * Medians, percentiles and spread of samples.
 *
 * Sources: tools/common/stats.c
 */
#include "tools/common/stats.h"

#include "unit.h"

#define EXACT	1e-12

TEST(stats__none)
{
	struct stats stats;
	double none[1];

	stats_summarize(none, 0, &stats);
	EXPECT_EQ(stats.samples, 0);
	EXPECT_NEAR(stats.median, 0, 0);
	EXPECT_NEAR(stats.p99, 0, 0);
	EXPECT_NEAR(stats.max, 0, 0);
	EXPECT_NEAR(stats.spread, 0, 0);
	EXPECT_NEAR(stats_percentile(none, 0, 50), 0, 0);
}

TEST(stats__one)
{
	double one[] = { 7 };
	struct stats stats;

	stats_summarize(one, 1, &stats);
	EXPECT_EQ(stats.samples, 1);
	EXPECT_NEAR(stats.median, 7, 0);
	EXPECT_NEAR(stats.p99, 7, 0);
	EXPECT_NEAR(stats.min, 7, 0);
	EXPECT_NEAR(stats.max, 7, 0);
	EXPECT_NEAR(stats.spread, 0, 0);
}

TEST(stats__odd_and_even)
{
	double odd[] = { 9, 1, 5 };
	double even[] = { 4, 1, 3, 2 };
	struct stats stats;

	stats_summarize(odd, 3, &stats);
	EXPECT_NEAR(stats.median, 5, EXACT);
	EXPECT_NEAR(stats.min, 1, 0);
	EXPECT_NEAR(stats.max, 9, 0);
	EXPECT_NEAR(stats.spread, (7.0 - 3.0) / 5, EXACT);
	stats_summarize(even, 4, &stats);
	EXPECT_NEAR(stats.median, 2.5, EXACT);
	EXPECT_NEAR(stats.spread, (3.25 - 1.75) / 2.5, EXACT);
}

TEST(stats__percentiles)
{
	double samples[101];
	int i;

	for (i = 0; i <= 100; i++)
		samples[i] = 1000 + i;
	for (i = 0; i <= 100; i++)
		EXPECT_NEAR(stats_percentile(samples, 101, i), 1000 + i, 1e-9);
	EXPECT_NEAR(stats_percentile(samples, 101, 99.5), 1099.5, 1e-9);
	EXPECT_NEAR(stats_percentile(samples, 101, -1), 1000, 0);
	EXPECT_NEAR(stats_percentile(samples, 101, 101), 1100, 0);
	EXPECT_NEAR(stats_percentile(samples, 2, 25), 1000.25, 1e-9);
}

TEST(stats__one_outlier_moves_only_the_maximum)
{
	double samples[1000];
	struct stats stats;
	int i;

	for (i = 0; i < 1000; i++)
		samples[i] = 10;
	samples[3] = 4e6;
	stats_summarize(samples, 1000, &stats);
	EXPECT_NEAR(stats.median, 10, 0);
	EXPECT_NEAR(stats.p99, 10, 0);
	EXPECT_NEAR(stats.spread, 0, 0);
	EXPECT_NEAR(stats.max, 4e6, 0);
}

TEST(stats__order_does_not_matter)
{
	double samples[257];
	uint64_t state = 3;
	size_t i, j;

	for (i = 0; i < 257; i++)
		samples[i] = (double)unit_between(&state, -1000, 1000) / 8;
	stats_sort(samples, 257);
	for (i = 1; i < 257; i++)
		EXPECT(samples[i - 1] <= samples[i]);
	for (i = 256; i; i--) {
		double swap = samples[i];

		j = (size_t)unit_between(&state, 0, (int64_t)i);
		samples[i] = samples[j];
		samples[j] = swap;
	}
	stats_sort(samples, 257);
	for (i = 1; i < 257; i++)
		EXPECT(samples[i - 1] <= samples[i]);
}

TEST(stats__ratio)
{
	EXPECT_NEAR(stats_ratio(3, 4), 0.75, EXACT);
	EXPECT_NEAR(stats_ratio(3, 0), 0, 0);
	EXPECT_NEAR(stats_ratio(0, 4), 0, 0);
}

/* The machine got three times slower in the middle: of both */
TEST(stats__paired_ratio_outlives_a_change_of_speed)
{
	double samples[] = { 2, 2.2, 1.8, 6, 6.6, 5.4, 6 };
	double reference[] = { 4, 4.4, 3.6, 12, 13.2, 10.8, 1 };

	EXPECT_NEAR(stats_paired(samples, reference, 7), 0.5, EXACT);
	EXPECT_NEAR(stats_paired(samples, reference, 1), 0.5, EXACT);
	EXPECT_NEAR(stats_paired(samples, reference, 0), 0, 0);
	/* And both are as they were */
	EXPECT_NEAR(samples[6], 6, 0);
	EXPECT_NEAR(reference[6], 1, 0);
}
