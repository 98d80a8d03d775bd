// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two schedules of a tile space, against the numbers of the paper.
 *
 * Sources: libnic/tile/schedule.c
 */
#include <errno.h>

#include <nic_tile_plan.h>

#include "unit.h"

TEST(schedule__vectors)
{
	int64_t pi[3];

	EXPECT_EQ(nic_plan_get_vector(NIC_TILE_NONOVERLAP, 3, 2, pi), 0);
	EXPECT(pi[0] == 1 && pi[1] == 1 && pi[2] == 1);
	EXPECT_EQ(nic_plan_get_vector(NIC_TILE_OVERLAP, 3, 2, pi), 0);
	EXPECT(pi[0] == 2 && pi[1] == 2 && pi[2] == 1);
	EXPECT_EQ(nic_plan_get_vector(NIC_TILE_OVERLAP, 3, 0, pi), 0);
	EXPECT(pi[0] == 1 && pi[1] == 2 && pi[2] == 2);
}

TEST(schedule__three_by_three_takes_4_and_8_more_steps)
{
	const int64_t counts[] = { 1, 2, 158, 524288 };
	int64_t x[] = { 2, 2, 0 }, steps;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		x[2] = counts[i] - 1;
		EXPECT_EQ(nic_plan_count_steps(NIC_TILE_NONOVERLAP, 3, 2, x,
					       &steps), 0);
		EXPECT_EQ(steps, 4 + counts[i]);
		EXPECT_EQ(nic_plan_count_steps(NIC_TILE_OVERLAP, 3, 2, x,
					       &steps), 0);
		EXPECT_EQ(steps, 8 + counts[i]);
	}
}

TEST(schedule__last_step_of_a_rank)
{
	const int64_t x[] = { 2, 2, 9 }, tile[] = { 1, 2, -1 };
	int64_t step;

	EXPECT_EQ(nic_plan_get_last(NIC_TILE_NONOVERLAP, 3, 2, x, tile, &step),
		  0);
	EXPECT_EQ(step, 12);
	EXPECT_EQ(nic_plan_get_last(NIC_TILE_OVERLAP, 3, 2, x, tile, &step), 0);
	EXPECT_EQ(step, 15);
}

TEST(schedule__longest_dimension)
{
	const int64_t one[] = { 12, 12, 512 }, two[] = { 9, 4, 3 };
	const int64_t equal[] = { 5, 5, 5 };
	unsigned int dim;

	EXPECT_EQ(nic_plan_find_longest(3, one, &dim), 0);
	EXPECT_EQ(dim, 2);
	EXPECT_EQ(nic_plan_find_longest(3, two, &dim), 0);
	EXPECT_EQ(dim, 0);
	EXPECT_EQ(nic_plan_find_longest(3, equal, &dim), 0);
	EXPECT_EQ(dim, 2);
	EXPECT_EQ(nic_plan_find_longest(0, equal, &dim), -EINVAL);
}

TEST(schedule__refusals)
{
	const int64_t bad[] = { 0, -1, 3 }, big[] = { INT64_MAX, 0, 0 };
	const int64_t x[] = { 2, 2, 2 }, over[] = { 0, 3, 0 };
	const enum nic_tile_schedule none = (enum nic_tile_schedule)7;
	int64_t out[3];

	EXPECT_EQ(nic_plan_get_vector(none, 3, 2, out), -EINVAL);
	EXPECT_EQ(nic_plan_get_vector(NIC_TILE_OVERLAP, 9, 2, out), -EINVAL);
	EXPECT_EQ(nic_plan_get_vector(NIC_TILE_OVERLAP, 3, 3, out), -ERANGE);
	EXPECT_EQ(nic_plan_get_vector(NIC_TILE_OVERLAP, 3, 2, NULL), -EINVAL);
	EXPECT_EQ(nic_plan_get_step(NIC_TILE_OVERLAP, 3, 2, bad, out), -ERANGE);
	EXPECT_EQ(nic_plan_get_step(NIC_TILE_OVERLAP, 3, 2, big, out),
		  -EOVERFLOW);
	EXPECT_EQ(nic_plan_count_steps(NIC_TILE_NONOVERLAP, 3, 2, big, out),
		  -EOVERFLOW);
	EXPECT_EQ(nic_plan_get_last(NIC_TILE_OVERLAP, 3, 2, x, over, out),
		  -ERANGE);
	EXPECT_EQ(nic_plan_get_last(NIC_TILE_OVERLAP, 3, 3, x, over, out),
		  -ERANGE);
}
