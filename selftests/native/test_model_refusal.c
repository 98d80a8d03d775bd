// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the time model refuses, and that it says why.
 *
 * Sources: libnic/tile/model.c libnic/tile/grid.c libnic/tile/schedule.c
 */
#include <errno.h>
#include <float.h>

#include <nic_tile_model.h>

#include "unit.h"

/* The paper's first run, which is refused nothing */
static struct nic_tile_model make_model(void)
{
	struct nic_tile_model m;

	EXPECT_EQ(nic_model_init(&m, sizeof(m)), 0);
	m.ngrid = 2;
	m.grid[0] = 3;
	m.grid[1] = 3;
	m.dimz = 512 * 1024;
	m.area = (12 / 3) * (12 / 3);
	m.t1 = NIC_MODEL_SCI_T1;
	return m;
}

static void expect_refused(struct nic_tile_model m, const char *part)
{
	double seconds = -1, z = -1;
	uint64_t whole = 0;
	const char *why;

	EXPECT_EQ(nic_model_check(&m, &why), -EINVAL);
	EXPECT_CONTAINS(why, part);
	EXPECT_EQ(nic_model_get_overhead(&m, NIC_TILE_OVERLAP, &seconds),
		  -EINVAL);
	EXPECT_EQ(nic_model_count_steps(&m, NIC_TILE_OVERLAP, 1, &whole),
		  -EINVAL);
	EXPECT_EQ(nic_model_predict(&m, NIC_TILE_OVERLAP, 1, &seconds),
		  -EINVAL);
	EXPECT_EQ(nic_model_optimize(&m, NIC_TILE_OVERLAP, &z, &seconds),
		  -EINVAL);
	EXPECT_EQ(nic_model_best(&m, NIC_TILE_OVERLAP, &whole, &seconds),
		  -EINVAL);
	EXPECT_EQ(nic_model_crossover(&m, &z, &seconds), -EINVAL);
	EXPECT_NEAR(seconds, -1, 0);
}

#define REFUSED(field, value, part)					\
	do {								\
		struct nic_tile_model changed = make_model();	\
									\
		changed.field = (value);				\
		expect_refused(changed, part);				\
	} while (0)

TEST(model__refuses_bad_times)
{
	REFUSED(t1, NAN, "t1");
	REFUSED(t1, 0, "t1");
	REFUSED(t1, -1e-9, "t1");
	REFUSED(t1, INFINITY, "t1");
	REFUSED(t_start_dma, NAN, "times");
	REFUSED(t_start_dma, -1, "times");
	REFUSED(t_interrupt, NAN, "times");
	REFUSED(t_interrupt, -1, "times");
	REFUSED(t_sync, -1, "times");
	REFUSED(t_sync, INFINITY, "times");
	REFUSED(t_startup, NAN, "times");
	REFUSED(t_startup, -1, "times");
	REFUSED(t_compute, NAN, "times");
	REFUSED(t_compute, -1, "times");
	REFUSED(t_transfer, NAN, "times");
	REFUSED(t_transfer, -1, "times");
	REFUSED(c, NAN, "c must be");
	REFUSED(c, -1e-12, "c must be");
	REFUSED(c, INFINITY, "c must be");
}

TEST(model__refuses_bad_sizes)
{
	REFUSED(size, 0, "size");
	REFUSED(size, sizeof(struct nic_tile_model) - 1, "size");
	REFUSED(size, SIZE_MAX, "size");
	REFUSED(flags, 1, "flags");
	REFUSED(reserved, 1, "reserved");
	REFUSED(ngrid, 0, "ngrid");
	REFUSED(ngrid, NIC_PLAN_MAX_DIM, "ngrid");
	REFUSED(grid[1], 0, "at least one rank");
	REFUSED(dimz, 0, "dimz");
	REFUSED(dimz, NIC_MODEL_MAX_SIZE + 1, "dimz");
	REFUSED(area, 0, "area");
	REFUSED(area, NIC_MODEL_MAX_SIZE + 1, "area");
}

TEST(model__refuses_heights_outside_the_loop)
{
	struct nic_tile_model m = make_model();
	const uint64_t outside[] = { 0, m.dimz + 1, UINT64_MAX };
	uint64_t steps;
	double seconds;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		EXPECT_EQ(nic_model_predict(&m, NIC_TILE_OVERLAP, outside[i],
					    &seconds), -ERANGE);
		EXPECT_EQ(nic_model_count_steps(&m, NIC_TILE_NONOVERLAP,
						outside[i], &steps), -ERANGE);
	}
}

TEST(model__reports_overflow)
{
	struct nic_tile_model m = make_model();
	uint64_t whole;
	double z, t;

	m.t1 = DBL_MAX / 100;	/* A t1 fits, the run does not */
	EXPECT_EQ(nic_model_predict(&m, NIC_TILE_OVERLAP, 1000, &t),
		  -EOVERFLOW);
	EXPECT_EQ(nic_model_optimize(&m, NIC_TILE_OVERLAP, &z, &t), -EOVERFLOW);
	EXPECT_EQ(nic_model_best(&m, NIC_TILE_OVERLAP, &whole, &t), -EOVERFLOW);
	EXPECT_EQ(nic_model_crossover(&m, &z, &t), -EOVERFLOW);
	m.t1 = DBL_MAX;		/* not even A t1 */
	EXPECT_EQ(nic_model_predict(&m, NIC_TILE_OVERLAP, 1, &t), -EOVERFLOW);
	m = make_model();
	m.t_interrupt = DBL_MAX;
	EXPECT_EQ(nic_model_get_overhead(&m, NIC_TILE_OVERLAP, &t), -EOVERFLOW);
}

TEST(model__refuses_bad_arguments)
{
	const enum nic_tile_schedule none = (enum nic_tile_schedule)2;
	struct nic_tile_model m = make_model();
	struct nic_tile_grid grid = { .size = sizeof(grid) };
	uint64_t whole;
	double x;

	EXPECT_EQ(nic_model_init(NULL, sizeof(m)), -EINVAL);
	EXPECT_EQ(nic_model_init(&m, sizeof(m) - 1), -EINVAL);
	EXPECT_EQ(nic_model_check(NULL, NULL), -EINVAL);
	EXPECT_EQ(nic_model_predict(&m, none, 1, &x), -EINVAL);
	EXPECT_EQ(nic_model_count_steps(&m, none, 1, &whole), -EINVAL);
	EXPECT_EQ(nic_model_optimize(&m, none, &x, &x), -EINVAL);
	EXPECT_EQ(nic_model_best(&m, none, &whole, &x), -EINVAL);
	EXPECT_EQ(nic_model_predict(&m, NIC_TILE_OVERLAP, 1, NULL), -EINVAL);
	EXPECT_EQ(nic_model_best(&m, NIC_TILE_OVERLAP, NULL, &x), -EINVAL);
	EXPECT_EQ(nic_model_crossover(&m, NULL, &x), -EINVAL);
	EXPECT_EQ(nic_model_set_grid(&m, &grid, 1e6), -EINVAL);
	EXPECT_EQ(nic_model_set_grid(&m, NULL, 1e6), -EINVAL);
}

TEST(model__refuses_bad_bandwidths)
{
	struct nic_grid_options options = {
		.size = sizeof(options), .ndims = 2, .dims = { 4, 8 },
		.ranks = { 2 }, .element = 4, .height = 2,
	};
	struct nic_tile_grid grid = { .size = sizeof(grid) };
	struct nic_tile_model m = make_model();

	ASSERT_EQ(nic_grid_init(&grid, &options), 0);
	EXPECT_EQ(nic_model_set_grid(&m, &grid, 0), -EINVAL);
	EXPECT_EQ(nic_model_set_grid(&m, &grid, -1), -EINVAL);
	EXPECT_EQ(nic_model_set_grid(&m, &grid, NAN), -EINVAL);
	EXPECT_EQ(nic_model_set_grid(&m, &grid, 1e6), 0);
	EXPECT_EQ(m.ngrid, 1);
	EXPECT_EQ(nic_model_check(&m, NULL), 0);
}

TEST(model__reads_only_the_fields_it_knows)
{
	struct {
		struct nic_tile_model model;
		uint64_t later;
	} longer = { make_model(), 0 };
	const char *why;
	double t;

	longer.model.size = sizeof(longer);
	EXPECT_EQ(nic_model_predict(&longer.model, NIC_TILE_OVERLAP, 1, &t), 0);
	EXPECT_EQ(nic_model_crossover(&longer.model, &t, NULL), 0);
	longer.later = 1;
	EXPECT_EQ(nic_model_check(&longer.model, &why), -E2BIG);
	EXPECT_CONTAINS(why, "lacks");
}
