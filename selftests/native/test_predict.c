// SPDX-License-Identifier: GPL-2.0-only
/*
 * How nictile puts measured costs into the paper's formulas, and which heights
 * follow from them.
 *
 * Sources: tools/nictile/predict.c libnic/tile/grid.c libnic/tile/model.c
 * Sources: libnic/tile/schedule.c
 */
#include <errno.h>

#include "tools/nictile/nictile.h"
#include "unit.h"

#define DIMZ		8192
#define AREA		16	/* 12 x 12 points on 3 x 3 ranks */
#define FACES		32	/* bytes a unit of height: two faces of 4 floats */
#define TINY		1e-15

static struct nic_tile_grid grid;
static struct options options;
static struct costs costs;
static struct prediction prediction;
static struct decision decision;

/* The paper's card, with 100 MB/s; a point takes 46 ns, really 50 */
static void begin(void)
{
	const struct nic_grid_options wanted = {
		.size = sizeof(wanted), .ndims = 3, .dims = { 12, 12, DIMZ },
		.ranks = { 3, 3, 1 }, .element = 4, .height = 512,
	};

	grid.size = sizeof(grid);
	EXPECT_EQ(nic_grid_init(&grid, &wanted), 0);
	EXPECT_EQ(grid.area, AREA);
	EXPECT_EQ(grid.unit_bytes, FACES);
	memset(&options, 0, sizeof(options));
	options.modelled = true;
	options.t1_ns = 46;
	options.schedule[0] = true;
	options.schedule[1] = true;
	costs = (struct costs) {
		.real_point = 50, .wake = 5000, .start_dma = 49200,
		.interrupt = 18800, .sync = 75200, .transfer = 3000,
		.transfer_byte = 10,
	};
	memset(&prediction, 0, sizeof(prediction));
	memset(&decision, 0, sizeof(decision));
}

static int run(void)
{
	return predict(&prediction, &options, &grid, &costs);
}

static double overhead(enum nic_tile_schedule schedule)
{
	double seconds = NAN;

	nic_model_get_overhead(&prediction.model[schedule], schedule,
			       &seconds);
	return seconds;
}

/* ---- costs become parameters ---- */

TEST(predict__costs_go_where_they_belong)
{
	const struct nic_tile_model *without, *with;

	begin();
	ASSERT_EQ(run(), 0);
	without = &prediction.model[NIC_TILE_NONOVERLAP];
	with = &prediction.model[NIC_TILE_OVERLAP];
	EXPECT_EQ(without->dimz, DIMZ);
	EXPECT_EQ(without->area, AREA);
	EXPECT_NEAR(without->t1, 46e-9, TINY);
	EXPECT_NEAR(without->t_start_dma, 49.2e-6, TINY);
	EXPECT_NEAR(without->t_interrupt, 18.8e-6, TINY);
	EXPECT_NEAR(without->t_sync, 75.2e-6, TINY);
	EXPECT_NEAR(without->c, 320e-9, TINY);
	/* Without overlap a step pays for both: waking and the transfer. */
	EXPECT_NEAR(without->t_startup, 132.4e-6, TINY);
	EXPECT_NEAR(with->t_sync, 75.2e-6, TINY);
	EXPECT_NEAR(with->t_start_dma, 49.2e-6, TINY);
	EXPECT_NEAR(with->t_compute, 5e-6, TINY);
	EXPECT_NEAR(with->t_transfer, 3e-6, TINY);
	EXPECT_NEAR(with->c, 320e-9, TINY);
}

/* At each height: that of the other is hidden as well */
TEST(predict__overlap_pays_the_constant_of_the_longer)
{
	double step;

	begin();
	costs.transfer = 30000;
	ASSERT_EQ(run(), 0);
	/* 5 us and 736 ns a unit of computing, 30 us and 320 ns of transfer */
	step = predict_time(&prediction, NIC_TILE_OVERLAP, DIMZ) / 9;
	EXPECT_NEAR(step, 124.4e-6 + 5e-6 + 736e-9 * DIMZ, 1e-12);
	step = predict_time(&prediction, NIC_TILE_OVERLAP, 16) /
	       (8 + DIMZ / 16.0);
	EXPECT_NEAR(step, 124.4e-6 + 30e-6 + 320e-9 * 16, 1e-12);
	EXPECT_NEAR(overhead(NIC_TILE_NONOVERLAP), 159.4e-6, TINY);
	/* A transfer that begins before the poster is back takes from it. */
	costs.transfer = -4000;
	costs.transfer_byte = 40;
	ASSERT_EQ(run(), 0);
	step = predict_time(&prediction, NIC_TILE_OVERLAP, DIMZ) / 9;
	EXPECT_NEAR(step, 120.4e-6 + 1280e-9 * DIMZ, 1e-12);
	EXPECT_NEAR(overhead(NIC_TILE_NONOVERLAP), 125.4e-6, TINY);
}

/* Two noisy sizes give any line; a transfer is not over before it was posted */
TEST(predict__noise_takes_no_more_than_the_doorbell)
{
	begin();
	costs.transfer_byte = 40;
	costs.transfer = -200000;
	ASSERT_EQ(run(), 0);
	EXPECT_NEAR(prediction.model[NIC_TILE_OVERLAP].t_start_dma, 0, TINY);
	EXPECT_NEAR(overhead(NIC_TILE_OVERLAP), 129.4e-6, TINY);
	EXPECT_NEAR(overhead(NIC_TILE_NONOVERLAP), 80.2e-6, TINY);
}

TEST(predict__real_computing_takes_the_measured_point)
{
	begin();
	options.modelled = false;
	ASSERT_EQ(run(), 0);
	EXPECT_NEAR(prediction.model[0].t1, 50e-9, TINY);
	EXPECT_NEAR(prediction.model[1].t1, 50e-9, TINY);
}

TEST(predict__transfers_that_take_no_time)
{
	begin();
	costs.transfer_byte = 0;
	ASSERT_EQ(run(), 0);
	EXPECT_NEAR(prediction.model[0].c, 0, 0);
	EXPECT_NEAR(prediction.model[1].c, 0, 0);
	EXPECT(prediction.best_s[NIC_TILE_OVERLAP] >
	       prediction.best_s[NIC_TILE_NONOVERLAP]);
}

TEST(predict__refuses_what_has_no_prediction)
{
	begin();
	options.t1_ns = 0;
	EXPECT_EQ(run(), -EINVAL);
	begin();
	memset(&grid, 0, sizeof(grid));
	EXPECT_EQ(run(), -EINVAL);
}

/* ---- times ---- */

/* Steps times the time of one, both as printed in Documentation/tile.rst */
TEST(predict__times_of_both_schedules)
{
	double tiles = DIMZ / 512.0;

	begin();
	ASSERT_EQ(run(), 0);
	EXPECT_NEAR(predict_time(&prediction, NIC_TILE_NONOVERLAP, 512),
		    (4 + tiles) * (132.4e-6 + (736e-9 + 320e-9) * 512), 1e-12);
	EXPECT_NEAR(predict_time(&prediction, NIC_TILE_OVERLAP, 512),
		    (8 + tiles) * (49.2e-6 + 80.2e-6 + 736e-9 * 512), 1e-12);
	/* 17 tiles, the last one shorter and charged as a whole one */
	EXPECT_NEAR(predict_time(&prediction, NIC_TILE_OVERLAP, 511),
		    (8 + 17) * (129.4e-6 + 736e-9 * 511), 1e-12);
	costs.transfer_byte = 40;
	ASSERT_EQ(run(), 0);
	EXPECT_NEAR(predict_time(&prediction, NIC_TILE_OVERLAP, 512),
		    (8 + tiles) * (49.2e-6 + 78.2e-6 + 1280e-9 * 512), 1e-12);
}

TEST(predict__time_of_what_cannot_be_is_zero)
{
	begin();
	ASSERT_EQ(run(), 0);
	EXPECT_NEAR(predict_time(&prediction, NIC_TILE_OVERLAP, 0), 0, 0);
	EXPECT_NEAR(predict_time(&prediction, NIC_TILE_OVERLAP, DIMZ + 1), 0,
		    0);
	EXPECT(predict_time(&prediction, NIC_TILE_OVERLAP, DIMZ) > 0);
}

/* Against all heights there are */
TEST(predict__best_height_is_the_best)
{
	unsigned int schedule;
	uint64_t z, best;
	double time;

	begin();
	ASSERT_EQ(run(), 0);
	for (schedule = 0; schedule < SCHEDULES; schedule++) {
		best = 1;
		for (z = 2; z <= DIMZ; z++)
			if (predict_time(&prediction, schedule, z) <
			    predict_time(&prediction, schedule, best))
				best = z;
		time = predict_time(&prediction, schedule, best);
		EXPECT_EQ(prediction.best[schedule], best);
		EXPECT_NEAR(prediction.best_s[schedule], time, 1e-12);
		EXPECT(prediction.optimum_s[schedule] <= time);
	}
	EXPECT_NEAR(prediction.optimum[NIC_TILE_NONOVERLAP],
		    sqrt(DIMZ * 132.4e-6 / (4 * 1056e-9)), 1e-6);
	EXPECT_NEAR(prediction.optimum[NIC_TILE_OVERLAP],
		    sqrt(DIMZ * 129.4e-6 / (8 * 736e-9)), 1e-6);
}

/* ---- heights to run ---- */

static void expect_heights(const uint64_t *wanted, unsigned int n)
{
	unsigned int i;

	predict_heights(&prediction, &options, &grid, &decision);
	ASSERT_EQ(decision.heights, n);
	for (i = 0; i < n; i++)
		EXPECT_EQ(decision.height[i], wanted[i]);
}

TEST(predict__given_heights_sorted_each_once)
{
	const uint64_t given[] = { 512, 7, 8192, 512, 7, 64 };
	const uint64_t wanted[] = { 7, 64, 512, 8192 };

	begin();
	prediction.best[0] = 100;
	options.height_mode = HEIGHT_LIST;
	options.heights = 6;
	memcpy(options.height, given, sizeof(given));
	expect_heights(wanted, 4);
}

TEST(predict__auto_is_the_best_of_each_schedule)
{
	const uint64_t both[] = { 128, 200 };

	begin();
	prediction.best[NIC_TILE_NONOVERLAP] = 200;
	prediction.best[NIC_TILE_OVERLAP] = 128;
	options.height_mode = HEIGHT_AUTO;
	expect_heights(both, 2);
	options.schedule[NIC_TILE_NONOVERLAP] = false;
	expect_heights(both, 1);
	options.schedule[NIC_TILE_NONOVERLAP] = true;
	prediction.best[NIC_TILE_NONOVERLAP] = 128;
	expect_heights(both, 1);
}

/* Around 128, each the least height that gives its number of tiles */
TEST(predict__sweep_reaches_from_a_third_to_four_times)
{
	const uint64_t wanted[] = {
		39, 52, 71, 97, 128, 179, 200, 256, 357, 512,
	};
	const uint64_t lowest[] = { 1, 2, 3, 4 };
	const uint64_t highest[] = { 2731, 4096, 8192 };

	begin();
	prediction.best[NIC_TILE_NONOVERLAP] = 200;
	prediction.best[NIC_TILE_OVERLAP] = 128;
	options.height_mode = HEIGHT_SWEEP;
	expect_heights(wanted, 10);
	/* At both ends of what can be */
	prediction.best[NIC_TILE_NONOVERLAP] = 1;
	prediction.best[NIC_TILE_OVERLAP] = 1;
	expect_heights(lowest, 4);
	prediction.best[NIC_TILE_NONOVERLAP] = DIMZ;
	prediction.best[NIC_TILE_OVERLAP] = DIMZ;
	expect_heights(highest, 3);
}

TEST(predict__heights_stay_in_their_room)
{
	unsigned int i;

	begin();
	options.height_mode = HEIGHT_SWEEP;
	options.heights = HEIGHTS_MAX;
	for (i = 0; i < HEIGHTS_MAX; i++)
		options.height[i] = 3 * (i + 1);
	prediction.best[0] = 1000;
	prediction.best[1] = 2000;
	predict_heights(&prediction, &options, &grid, &decision);
	EXPECT_EQ(decision.heights, HEIGHTS_MAX);
	EXPECT_EQ(decision.height[HEIGHTS_MAX - 1], 3 * HEIGHTS_MAX);
}
