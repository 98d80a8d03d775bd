// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time model against the numbers of the paper, against brute force, and
 * against the properties it must have.
 *
 * Sources: libnic/tile/model.c libnic/tile/grid.c libnic/tile/schedule.c
 */
#include <errno.h>

#include <nic_tile_model.h>

#include "unit.h"

#define OVERHEAD	124.4e-6

/* The paper's runs on 3 x 3 processors, and what must come out */
static const struct space {
	uint64_t side, dimz;
	double z, seconds;	/* z* in points, T* to 10 ms */
	double crossover;	/* percent */
} spaces[] = {
	{ 12, 512 * 1024, 3328, 0.43, 3.00 },
	{ 24, 256 * 1024, 1177, 0.83, 2.11 },
	{ 24, 2048 * 1024, 3328, 6.33, 0.75 },
};

#define SPACES (sizeof(spaces) / sizeof(spaces[0]))

static struct nic_tile_model make_model(const struct space *space)
{
	struct nic_tile_model m;

	EXPECT_EQ(nic_model_init(&m, sizeof(m)), 0);
	m.ngrid = 2;
	m.grid[0] = 3;
	m.grid[1] = 3;
	m.dimz = space->dimz;
	m.area = (space->side / 3) * (space->side / 3);
	m.t1 = NIC_MODEL_SCI_T1;
	return m;
}

/* A T1 so that c can be given as a share of it */
static double compute_unit(const struct nic_tile_model *m)
{
	return (double)m->area * m->t1;
}

static double predict(const struct nic_tile_model *m,
		      enum nic_tile_schedule schedule, uint64_t z)
{
	double seconds = NAN;

	EXPECT_EQ(nic_model_predict(m, schedule, z, &seconds), 0);
	return seconds;
}

static double optimum(const struct nic_tile_model *m,
		      enum nic_tile_schedule schedule, double *z)
{
	double seconds = NAN;

	EXPECT_EQ(nic_model_optimize(m, schedule, z, &seconds), 0);
	return seconds;
}

static double best(const struct nic_tile_model *m,
		   enum nic_tile_schedule schedule, uint64_t *z)
{
	double seconds = NAN;

	EXPECT_EQ(nic_model_best(m, schedule, z, &seconds), 0);
	return seconds;
}

/* ---- the numbers of the paper ------------------------------------------ */

TEST(model__card_costs_124_us_a_step)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	double a;

	EXPECT_EQ(nic_model_get_overhead(&m, NIC_TILE_OVERLAP, &a), 0);
	EXPECT_NEAR(a, OVERHEAD, 1e-15);
	EXPECT_EQ(nic_model_get_overhead(&m, NIC_TILE_NONOVERLAP, &a), 0);
	EXPECT_NEAR(a, OVERHEAD, 1e-15);
	m.t_sync = 10e-6;
	EXPECT_EQ(nic_model_get_overhead(&m, NIC_TILE_OVERLAP, &a), 0);
	EXPECT_NEAR(a, 59.2e-6, 1e-15);
	m.t_startup = 7e-6;
	EXPECT_EQ(nic_model_get_overhead(&m, NIC_TILE_NONOVERLAP, &a), 0);
	EXPECT_NEAR(a, 7e-6, 0);
	EXPECT_EQ(nic_model_get_overhead(&m, NIC_TILE_OVERLAP, &a), 0);
	EXPECT_NEAR(a, 59.2e-6, 1e-15);
}

TEST(model__optimum_of_the_three_spaces)
{
	struct nic_tile_model m;
	double z, seconds;
	unsigned int i;

	for (i = 0; i < SPACES; i++) {
		m = make_model(&spaces[i]);
		seconds = optimum(&m, NIC_TILE_OVERLAP, &z);
		EXPECT_NEAR(z, spaces[i].z, 0.5);
		EXPECT_NEAR(seconds, spaces[i].seconds, 0.005);
		/* the paper's form, with its 8 */
		EXPECT_NEAR(z, sqrt((double)m.dimz * OVERHEAD /
				    (8 * compute_unit(&m))), 1e-6);
		EXPECT_NEAR(seconds,
			    pow(sqrt(8 * OVERHEAD) +
				sqrt((double)m.dimz * compute_unit(&m)), 2),
			    1e-12);
	}
}

TEST(model__steps_of_three_by_three)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	const uint64_t heights[] = { 1, 1000, 3328, 4096, 524287, 524288 };
	uint64_t steps, tiles;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		tiles = (m.dimz + heights[i] - 1) / heights[i];
		EXPECT_EQ(nic_model_count_steps(&m, NIC_TILE_NONOVERLAP,
						heights[i], &steps), 0);
		EXPECT_EQ(steps, 4 + tiles);
		EXPECT_EQ(nic_model_count_steps(&m, NIC_TILE_OVERLAP,
						heights[i], &steps), 0);
		EXPECT_EQ(steps, 8 + tiles);
	}
}

TEST(model__crossover_of_the_three_spaces)
{
	double lower, upper, z, plain, overlapped;
	struct nic_tile_model m;
	unsigned int i;

	for (i = 0; i < SPACES; i++) {
		m = make_model(&spaces[i]);
		ASSERT_EQ(nic_model_crossover(&m, &lower, &upper), 0);
		EXPECT_NEAR(100 * lower, spaces[i].crossover, 0.005);
		EXPECT(upper > 1);
		/* equal at both, overlap better between and worse outside */
		m.c = lower * compute_unit(&m);
		plain = optimum(&m, NIC_TILE_NONOVERLAP, &z);
		overlapped = optimum(&m, NIC_TILE_OVERLAP, &z);
		EXPECT_NEAR(plain, overlapped, 1e-12);
		m.c = upper * compute_unit(&m);
		plain = optimum(&m, NIC_TILE_NONOVERLAP, &z);
		overlapped = optimum(&m, NIC_TILE_OVERLAP, &z);
		EXPECT_NEAR(plain / overlapped, 1, 1e-9);
		m.c = 2 * upper * compute_unit(&m);
		EXPECT(optimum(&m, NIC_TILE_NONOVERLAP, &z) <
		       optimum(&m, NIC_TILE_OVERLAP, &z));
	}
}

TEST(model__crossover_holds_for_whole_tiles)
{
	struct nic_tile_model m;
	unsigned int i;
	uint64_t z;

	/* ceil moves the crossing by less than a twentieth of it */
	for (i = 0; i < SPACES; i++) {
		m = make_model(&spaces[i]);
		m.c = 0.95 * spaces[i].crossover / 100 * compute_unit(&m);
		EXPECT(best(&m, NIC_TILE_NONOVERLAP, &z) <
		       best(&m, NIC_TILE_OVERLAP, &z));
		m.c = 1.05 * spaces[i].crossover / 100 * compute_unit(&m);
		EXPECT(best(&m, NIC_TILE_OVERLAP, &z) <
		       best(&m, NIC_TILE_NONOVERLAP, &z));
	}
}

TEST(model__closed_form_with_transfer_time)
{
	struct nic_tile_model m = make_model(&spaces[1]);
	double unit = compute_unit(&m), d = (double)m.dimz, z, seconds;

	m.c = 0.4 * unit;
	seconds = optimum(&m, NIC_TILE_NONOVERLAP, &z);
	EXPECT_NEAR(z, sqrt(d * OVERHEAD / (4 * 1.4 * unit)), 1e-6);
	EXPECT_NEAR(seconds,
		    pow(sqrt(4 * OVERHEAD) + sqrt(d * 1.4 * unit), 2), 1e-12);
	optimum(&m, NIC_TILE_OVERLAP, &z);
	EXPECT_NEAR(z, sqrt(d * OVERHEAD / (8 * unit)), 1e-6);
	m.c = 3 * unit;
	seconds = optimum(&m, NIC_TILE_OVERLAP, &z);
	EXPECT_NEAR(z, sqrt(d * OVERHEAD / (8 * 3 * unit)), 1e-6);
	EXPECT_NEAR(seconds,
		    pow(sqrt(8 * OVERHEAD) + sqrt(d * 3 * unit), 2), 1e-12);
}

TEST(model__takes_a_grid_plan)
{
	struct nic_grid_options options = {
		.size = sizeof(options), .ndims = 3,
		.dims = { 24, 24, 256 * 1024 }, .ranks = { 3, 3, 1 },
		.element = sizeof(float), .height = 1177,
	};
	struct nic_tile_grid grid = { .size = sizeof(grid) };
	struct nic_tile_model m, wanted = make_model(&spaces[1]);
	uint64_t planned, modelled;
	int s;

	ASSERT_EQ(nic_grid_init(&grid, &options), 0);
	EXPECT_EQ(grid.face_bytes[0], sizeof(float) * (24 / 3) * 1177);
	EXPECT_EQ(nic_model_init(&m, sizeof(m)), 0);
	m.t1 = NIC_MODEL_SCI_T1;
	EXPECT_EQ(nic_model_set_grid(&m, &grid, 80e6), 0);
	/* two faces of 8 floats a unit of height */
	EXPECT_NEAR(m.c, 64 / 80e6, 1e-18);
	m.c = 0;
	EXPECT(!memcmp(&m, &wanted, sizeof(m)));
	for (s = NIC_TILE_NONOVERLAP; s <= NIC_TILE_OVERLAP; s++) {
		EXPECT_EQ(nic_grid_count_steps(&grid, (enum nic_tile_schedule)s,
					       &planned), 0);
		EXPECT_EQ(nic_model_count_steps(&m, (enum nic_tile_schedule)s,
						options.height, &modelled), 0);
		EXPECT_EQ(planned, modelled);
	}
	EXPECT_EQ(nic_model_set_grid(&m, &grid, INFINITY), 0);
	EXPECT_NEAR(m.c, 0, 0);
}

/* ---- the formulas ------------------------------------------------------ */

TEST(model__predicts_by_the_formulas)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	double unit = compute_unit(&m);

	m.c = 0.25 * unit;
	/* 525 tiles, the last one of 288 points charged as 1000 */
	EXPECT_NEAR(predict(&m, NIC_TILE_NONOVERLAP, 1000),
		    529 * (1000 * unit + OVERHEAD + 250 * unit), 1e-12);
	EXPECT_NEAR(predict(&m, NIC_TILE_OVERLAP, 1000),
		    533 * (49.2e-6 + 1000 * unit + 4 * 18.8e-6), 1e-12);
	m.c = 2 * unit;
	EXPECT_NEAR(predict(&m, NIC_TILE_OVERLAP, 1000),
		    533 * (49.2e-6 + 2000 * unit + 4 * 18.8e-6), 1e-12);
	EXPECT_NEAR(predict(&m, NIC_TILE_OVERLAP, m.dimz),
		    9 * (OVERHEAD + 2 * unit * (double)m.dimz), 1e-9);
}

TEST(model__overlap_always_takes_the_maximum)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	double unit = compute_unit(&m), one, same;

	one = predict(&m, NIC_TILE_OVERLAP, 2048);
	m.c = unit;
	same = predict(&m, NIC_TILE_OVERLAP, 2048);
	EXPECT_NEAR(one, same, 0);
	m.c = 1.5 * unit;
	EXPECT(predict(&m, NIC_TILE_OVERLAP, 2048) > same);
}

/* A long wire: small tiles wait for it, and the best hide just all of it */
TEST(model__best_tile_is_as_long_as_the_transfer)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	double z, seconds, unit = compute_unit(&m);

	m.c = unit / 10;
	m.t_transfer = 30 * OVERHEAD;
	seconds = optimum(&m, NIC_TILE_OVERLAP, &z);
	EXPECT_NEAR(z * unit / (m.t_transfer + z * m.c), 1, 1e-9);
	EXPECT_NEAR(seconds / ((8 + (double)m.dimz / z) *
			       (OVERHEAD + unit * z)), 1, 1e-9);
	EXPECT_NEAR(predict(&m, NIC_TILE_OVERLAP, 1),
		    (8 + (double)m.dimz) * (OVERHEAD + m.t_transfer + m.c),
		    1e-9);
	EXPECT_NEAR(predict(&m, NIC_TILE_NONOVERLAP, 1),
		    (4 + (double)m.dimz) *
			    (OVERHEAD + m.t_transfer + m.c + unit), 1e-9);
}

TEST(model__overlap_loses_without_transfer_time)
{
	struct nic_tile_model m;
	unsigned int i;
	uint64_t z;

	for (i = 0; i < SPACES; i++) {
		m = make_model(&spaces[i]);
		for (z = 1; z <= m.dimz; z = z * 5 / 4 + 1)
			EXPECT(predict(&m, NIC_TILE_NONOVERLAP, z) <
			       predict(&m, NIC_TILE_OVERLAP, z));
		EXPECT(best(&m, NIC_TILE_NONOVERLAP, &z) <
		       best(&m, NIC_TILE_OVERLAP, &z));
	}
}

TEST(model__overlap_wins_at_equal_times)
{
	struct nic_tile_model m;
	unsigned int i;
	uint64_t z;

	for (i = 0; i < SPACES; i++) {
		m = make_model(&spaces[i]);
		m.c = compute_unit(&m);
		EXPECT(best(&m, NIC_TILE_OVERLAP, &z) <
		       0.65 * best(&m, NIC_TILE_NONOVERLAP, &z));
	}
}

TEST(model__general_grids)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	uint64_t steps;
	double z;

	m.ngrid = 3;
	m.grid[0] = 2;
	m.grid[1] = 5;
	m.grid[2] = 1;
	EXPECT_EQ(nic_model_count_steps(&m, NIC_TILE_OVERLAP, m.dimz, &steps),
		  0);
	EXPECT_EQ(steps, 2 * 5 + 1);
	optimum(&m, NIC_TILE_OVERLAP, &z);
	EXPECT_NEAR(z, sqrt((double)m.dimz * OVERHEAD /
			    (10 * compute_unit(&m))), 1e-6);
	optimum(&m, NIC_TILE_NONOVERLAP, &z);
	EXPECT_NEAR(z, sqrt((double)m.dimz * OVERHEAD /
			    (5 * compute_unit(&m))), 1e-6);
}

/* ---- the best whole height --------------------------------------------- */

/* A random model of up to @dimz points; extremes of every ratio included */
static struct nic_tile_model random_model(uint64_t *seed, int64_t dimz)
{
	struct nic_tile_model m;
	int i;

	nic_model_init(&m, sizeof(m));
	m.ngrid = (uint32_t)unit_between(seed, 1, 3);
	for (i = 0; i < 3; i++)
		m.grid[i] = (uint32_t)unit_between(seed, 1, 5);
	m.dimz = (uint64_t)unit_between(seed, 1, dimz);
	m.area = (uint64_t)unit_between(seed, 1, 100);
	m.t1 = pow(10, (double)unit_between(seed, -10, -3));
	m.t_start_dma = unit_between(seed, 0, 3) ? 49.2e-6 : 0;
	m.t_interrupt = unit_between(seed, 0, 3) ? 18.8e-6 : 0;
	m.t_startup = unit_between(seed, 0, 3) ? 0 : 200e-6;
	m.c = unit_between(seed, 0, 2) ?
	      compute_unit(&m) * pow(2, (double)unit_between(seed, -6, 6)) : 0;
	if (unit_between(seed, 0, 1)) {
		m.t_compute = 1e-6 * (double)unit_between(seed, 0, 3000);
		m.t_transfer = 1e-6 * (double)unit_between(seed, 0, 3000);
	}
	return m;
}

TEST(model__best_equals_brute_force)
{
	enum nic_tile_schedule s;
	struct nic_tile_model m;
	uint64_t seed = 1, z, found, wanted, steps;
	double least, seconds, bound, star;
	int round;

	for (round = 0; round < 4000; round++) {
		m = random_model(&seed, round % 8 ? 60 : 2000);
		if (round % 4 > 1) {	/* small whole numbers: equal times */
			m.t1 = 1;
			m.area = 1;
			m.t_start_dma = (double)unit_between(&seed, 1, 20);
			m.t_interrupt = 0;
			m.t_startup = 0;
			m.t_compute = (double)unit_between(&seed, 0, 9);
			m.t_transfer = (double)unit_between(&seed, 0, 9);
			m.c = (double)unit_between(&seed, 0, 3);
		}
		s = round % 2 ? NIC_TILE_OVERLAP : NIC_TILE_NONOVERLAP;
		least = INFINITY;
		wanted = 0;
		for (z = 1; z <= m.dimz; z++) {
			seconds = predict(&m, s, z);
			if (seconds < least) {
				least = seconds;
				wanted = z;
			}
		}
		nic_model_count_steps(&m, s, m.dimz, &steps);
		if (steps == 1)		/* one rank: the whole, even if equal */
			wanted = m.dimz;
		ASSERT_EQ(nic_model_best(&m, s, &found, &seconds), 0);
		ASSERT_EQ(found, wanted);
		EXPECT_NEAR(seconds, least, 0);
		bound = optimum(&m, s, &star);
		EXPECT(star >= 1 && star <= (double)m.dimz);
		EXPECT(bound <= least * (1 + 1e-12));
	}
}

TEST(model__best_of_the_paper_equals_brute_force)
{
	uint64_t z, found, wanted = 0;
	struct nic_tile_model m;
	double least, seconds;
	unsigned int i;

	for (i = 0; i < SPACES; i++) {
		m = make_model(&spaces[i]);
		least = INFINITY;
		for (z = 1; z <= m.dimz; z++) {
			nic_model_predict(&m, NIC_TILE_OVERLAP, z, &seconds);
			if (seconds < least) {
				least = seconds;
				wanted = z;
			}
		}
		EXPECT_NEAR(best(&m, NIC_TILE_OVERLAP, &found), least, 0);
		EXPECT_EQ(found, wanted);
		/* whole tiles cost 0.2 % at most, at nearly the same height */
		EXPECT_NEAR(least / optimum(&m, NIC_TILE_OVERLAP, &seconds), 1,
			    0.002);
		EXPECT_NEAR((double)found / spaces[i].z, 1, 0.05);
	}
}

TEST(model__closed_form_is_the_continuous_minimum)
{
	double z, seconds, x, t;
	struct nic_tile_model m;
	unsigned int i, k;

	for (i = 0; i < SPACES; i++) {
		m = make_model(&spaces[i]);
		seconds = optimum(&m, NIC_TILE_OVERLAP, &z);
		for (k = 50; k < 200; k++) {
			x = k / 100.0;
			t = (8 + (double)m.dimz / (x * z)) *
			    (OVERHEAD + compute_unit(&m) * x * z);
			EXPECT(seconds <= t * (1 + 1e-12));
		}
	}
}

TEST(model__best_ends_soon_for_the_largest_loops)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	const double times[] = { 1e-20, 1e-12, 46e-9, 1, 1e20 };
	unsigned int i;
	uint64_t z;

	m.dimz = UINT64_C(1) << 40;
	for (i = 0; i < 5; i++) {
		m.t1 = times[i];
		EXPECT(best(&m, NIC_TILE_OVERLAP, &z) > 0);
		EXPECT(z >= 1 && z <= m.dimz);
	}
	m.dimz = NIC_MODEL_MAX_SIZE;
	m.t1 = NIC_MODEL_SCI_T1;
	EXPECT(best(&m, NIC_TILE_OVERLAP, &z) > 0);
	m.t_start_dma = 0;
	m.t_interrupt = 0;
	EXPECT(best(&m, NIC_TILE_OVERLAP, &z) > 0);
	EXPECT_EQ(z, 1);
}

TEST(model__one_rank_takes_one_tile)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	uint64_t whole;
	double z, up;

	m.grid[0] = 1;
	m.grid[1] = 1;
	optimum(&m, NIC_TILE_OVERLAP, &z);
	EXPECT_NEAR(z, (double)m.dimz, 0);
	best(&m, NIC_TILE_NONOVERLAP, &whole);
	EXPECT_EQ(whole, m.dimz);
	EXPECT_EQ(nic_model_crossover(&m, &z, &up), -EDOM);
}

/* ---- the crossover ----------------------------------------------------- */

TEST(crossover__separates_losing_from_winning)
{
	double lower, upper, z, gain[4];
	const double around[] = { 0.9, 1.1 };
	struct nic_tile_model m;
	uint64_t seed = 2;
	int round, i, ret, found = 0;

	for (round = 0; round < 2000; round++) {
		m = random_model(&seed, 1000000);
		ret = nic_model_crossover(&m, &lower, &upper);
		if (ret == -EDOM || ret == -ERANGE)
			continue;
		ASSERT_EQ(ret, 0);
		ASSERT(lower >= 0 && lower < upper);
		if (m.t_compute <= 0 && m.t_transfer <= 0)
			ASSERT(lower < 1 && upper > 1);
		for (i = 0; i < 4; i++) {
			m.c = (i < 2 ? lower : upper) * around[i % 2] *
			      compute_unit(&m);
			if (isinf(m.c))
				m.c = 0.5 * compute_unit(&m);
			gain[i] = optimum(&m, NIC_TILE_NONOVERLAP, &z) -
				  optimum(&m, NIC_TILE_OVERLAP, &z);
		}
		if (lower > 1e-6 && lower < 0.9) {
			found++;
			ASSERT(gain[0] < 0 && gain[1] > 0);
		}
		if (lower > 1e-6 && lower < 0.9 && upper > 1.2 && upper < 1e6)
			ASSERT(gain[2] > 0 && gain[3] < 0);
	}
	EXPECT(found > 500);
}

TEST(crossover__overlap_may_win_at_once)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	double lower, upper, d = (double)m.dimz, unit = compute_unit(&m);

	m.t_startup = 5e-3;
	EXPECT_EQ(nic_model_crossover(&m, &lower, &upper), 0);
	EXPECT_NEAR(lower, 0, 0);
	/* Only where z* = 1 for both does the longer fill lose. */
	EXPECT_NEAR(upper * 4 * unit /
		    ((d + 4) * (m.t_startup + unit) - (d + 8) * OVERHEAD),
		    1, 0.001);
	EXPECT_EQ(nic_model_crossover(&m, &lower, NULL), 0);
}

TEST(crossover__overlap_may_never_win)
{
	struct nic_tile_model m = make_model(&spaces[0]);
	double lower;

	m.dimz = 100;	/* all of the work is less than the start of a step */
	EXPECT_EQ(nic_model_crossover(&m, &lower, NULL), -ERANGE);
}
