// SPDX-License-Identifier: GPL-2.0-only
/*
 * The processor grid, against the numbers of the paper, and that its steps
 * keep the order of the tiles.
 *
 * Sources: libnic/tile/grid.c libnic/tile/schedule.c
 */
#include <errno.h>

#include <nic_tile_grid.h>

#include "unit.h"

static const struct nic_grid_options paper = {
	.size = sizeof(paper),
	.ndims = 3,
	.dims = { 12, 12, 512 * 1024 },
	.ranks = { 3, 3, 1 },
	.element = sizeof(float),
	.height = 3328,
};

static struct nic_tile_grid make_grid(const struct nic_grid_options *options)
{
	struct nic_tile_grid grid = { .size = sizeof(grid) };

	EXPECT_EQ(nic_grid_init(&grid, options), 0);
	EXPECT_EQ(grid.detail[0], 0);
	return grid;
}

TEST(grid__plans_the_paper_run)
{
	struct nic_tile_grid grid = make_grid(&paper);
	uint64_t steps, bytes, first, count;

	EXPECT_EQ(grid.pipe, 2);
	EXPECT_EQ(grid.nranks, 9);
	EXPECT_EQ(grid.ntiles, 158);
	EXPECT_EQ(grid.area, 16);
	EXPECT_EQ(grid.unit_bytes, 2 * 4 * sizeof(float));
	EXPECT_EQ(grid.face_bytes[0], sizeof(float) * (12 / 3) * 3328);
	EXPECT_EQ(grid.face_bytes[1], sizeof(float) * (12 / 3) * 3328);
	EXPECT_EQ(grid.face_bytes[2], 0);
	EXPECT_EQ(nic_grid_get_face(&grid, 4, 0, 0, &bytes), 0);
	EXPECT_EQ(bytes, sizeof(float) * (12 / 3) * 3328);
	EXPECT_EQ(nic_grid_get_tile(&grid, 157, &first, &count), 0);
	EXPECT_EQ(first, 157 * 3328);
	EXPECT_EQ(count, 512 * 1024 - 157 * 3328);
	EXPECT_EQ(nic_grid_get_face(&grid, 4, 0, 157, &bytes), 0);
	EXPECT_EQ(bytes, sizeof(float) * 4 * count);
	EXPECT_EQ(nic_grid_count_steps(&grid, NIC_TILE_NONOVERLAP, &steps), 0);
	EXPECT_EQ(steps, 4 + 158);
	EXPECT_EQ(nic_grid_count_steps(&grid, NIC_TILE_OVERLAP, &steps), 0);
	EXPECT_EQ(steps, 8 + 158);
}

TEST(grid__neighbours_of_three_by_three)
{
	struct nic_tile_grid grid = make_grid(&paper);
	int prev, next;

	EXPECT_EQ(nic_grid_get_neighbors(&grid, 4, 0, &prev, &next), 0);
	EXPECT_EQ(prev, 1);
	EXPECT_EQ(next, 7);
	EXPECT_EQ(nic_grid_get_neighbors(&grid, 4, 1, &prev, &next), 0);
	EXPECT_EQ(prev, 3);
	EXPECT_EQ(next, 5);
	EXPECT_EQ(nic_grid_get_neighbors(&grid, 2, 1, &prev, &next), 0);
	EXPECT_EQ(prev, 1);
	EXPECT_EQ(next, -1);
	EXPECT_EQ(nic_grid_get_neighbors(&grid, 2, 0, &prev, &next), 0);
	EXPECT_EQ(prev, -1);
	EXPECT_EQ(next, 5);
	EXPECT_EQ(nic_grid_get_neighbors(&grid, 4, 2, &prev, &next), 0);
	EXPECT_EQ(prev, -1);
	EXPECT_EQ(next, -1);
}

TEST(grid__pipelined_dimension_may_stand_anywhere)
{
	struct nic_grid_options options = {
		.size = sizeof(options), .ndims = 3, .dims = { 6, 100, 8 },
		.ranks = { 2, 0, 4 }, .element = 8, .height = 30,
	};
	struct nic_tile_grid grid = make_grid(&options);
	uint32_t coords[3], rank, r;
	int prev, next;

	EXPECT_EQ(grid.pipe, 1);
	EXPECT_EQ(grid.ntiles, 4);
	EXPECT_EQ(grid.face_bytes[0], 8 * 2 * 30);
	EXPECT_EQ(grid.face_bytes[2], 8 * 3 * 30);
	for (r = 0; r < 8; r++) {
		EXPECT_EQ(nic_grid_get_coords(&grid, r, coords), 0);
		EXPECT_EQ(coords[1], 0);
		EXPECT_EQ(coords[0] * 4 + coords[2], r);
		EXPECT_EQ(nic_grid_get_rank(&grid, coords, &rank), 0);
		EXPECT_EQ(rank, r);
	}
	EXPECT_EQ(nic_grid_get_neighbors(&grid, 3, 0, &prev, &next), 0);
	EXPECT_EQ(next, 7);
	options.flags = NIC_GRID_PIPE;
	options.pipe = 2;
	options.ranks[1] = 5;
	options.ranks[2] = 1;
	options.height = 8;
	grid = make_grid(&options);
	EXPECT_EQ(grid.pipe, 2);
	EXPECT_EQ(grid.nranks, 10);
	EXPECT_EQ(grid.ntiles, 1);
}

TEST(grid__blocks_cover_each_dimension_once)
{
	struct nic_grid_options options = paper;
	uint64_t first, count, expected, total;
	struct nic_tile_grid grid;
	uint32_t x;

	options.dims[0] = 14;
	options.ranks[0] = 4;
	grid = make_grid(&options);
	EXPECT_EQ(grid.area, 4 * 4);
	for (expected = 0, x = 0; x < 4; x++) {
		EXPECT_EQ(nic_grid_get_block(&grid, x * 3, 0, &first, &count),
			  0);
		EXPECT_EQ(first, expected);
		EXPECT_EQ(count, x < 2 ? 4 : 3);
		expected += count;
	}
	EXPECT_EQ(expected, 14);
	for (total = 0, x = 0; x < grid.ntiles; x++) {
		EXPECT_EQ(nic_grid_get_tile(&grid, x, &first, &count), 0);
		EXPECT_EQ(first, total);
		total += count;
	}
	EXPECT_EQ(total, grid.dims[2]);
	EXPECT_EQ(nic_grid_get_block(&grid, 0, 2, &first, &count), 0);
	EXPECT_EQ(first, 0);
	EXPECT_EQ(count, 512 * 1024);
}

TEST(grid__no_message_exceeds_the_largest)
{
	struct nic_grid_options options = {
		.size = sizeof(options), .ndims = 3, .dims = { 7, 11, 50 },
		.ranks = { 3, 4 }, .element = 4, .height = 8,
	};
	struct nic_tile_grid grid = make_grid(&options);
	uint64_t bytes, most[2] = { 0 };
	uint32_t rank, k, d;

	for (rank = 0; rank < grid.nranks; rank++) {
		for (k = 0; k < grid.ntiles; k++) {
			for (d = 0; d < 2; d++) {
				ASSERT_EQ(nic_grid_get_face(&grid, rank, d, k,
							    &bytes), 0);
				if (bytes > most[d])
					most[d] = bytes;
			}
		}
	}
	EXPECT_EQ(most[0], grid.face_bytes[0]);
	EXPECT_EQ(most[1], grid.face_bytes[1]);
}

TEST(grid__two_dimensions)
{
	struct nic_grid_options options = {
		.size = sizeof(options), .ndims = 2, .dims = { 10, 100 },
		.ranks = { 5 }, .element = 4, .height = 7,
	};
	struct nic_tile_grid grid = make_grid(&options);
	uint64_t bytes, steps;

	EXPECT_EQ(grid.ntiles, 15);
	EXPECT_EQ(grid.face_bytes[0], 28);
	EXPECT_EQ(nic_grid_get_face(&grid, 0, 0, 14, &bytes), 0);
	EXPECT_EQ(bytes, 8);
	EXPECT_EQ(nic_grid_get_face(&grid, 5, 0, 0, &bytes), -ERANGE);
	EXPECT_EQ(nic_grid_count_steps(&grid, NIC_TILE_OVERLAP, &steps), 0);
	EXPECT_EQ(steps, 8 + 15);
}

TEST(grid__one_rank_sends_nothing)
{
	struct nic_grid_options options = paper;
	struct nic_tile_grid grid;
	uint64_t steps;

	options.ranks[0] = 1;
	options.ranks[1] = 1;
	grid = make_grid(&options);
	EXPECT_EQ(grid.unit_bytes, 0);
	EXPECT_EQ(grid.face_bytes[0], 0);
	EXPECT_EQ(nic_grid_count_steps(&grid, NIC_TILE_OVERLAP, &steps), 0);
	EXPECT_EQ(steps, grid.ntiles);
}

/* Every tile once, its own last one and those it needs early enough. */
static void check_schedule(const struct nic_tile_grid *grid,
			   enum nic_tile_schedule schedule)
{
	uint64_t steps, step, k, from, last, computed = 0;
	uint64_t lag = schedule == NIC_TILE_OVERLAP ? 2 : 1;
	int prev, next;
	uint32_t rank;
	unsigned int d;
	int64_t found;

	ASSERT(grid->nranks > 0);
	ASSERT_EQ(nic_grid_count_steps(grid, schedule, &steps), 0);
	for (rank = 0; rank < grid->nranks; rank++) {
		ASSERT_EQ(nic_grid_get_last(grid, schedule, rank, &last), 0);
		ASSERT(last < steps);
		for (step = 0; step < steps + 3; step++) {
			ASSERT_EQ(nic_grid_find_tile(grid, schedule, rank, step,
						     &found), 0);
			if (found < 0)
				continue;
			computed++;
			ASSERT(step <= last);
			ASSERT_EQ(nic_grid_get_step(grid, schedule, rank,
						    (uint64_t)found, &k), 0);
			ASSERT_EQ(k, step);
			for (d = 0; d < grid->ndims; d++) {
				ASSERT_EQ(nic_grid_get_neighbors(grid, rank, d,
								 &prev, &next), 0);
				if (prev < 0)
					continue;
				ASSERT_EQ(nic_grid_get_step(grid, schedule,
							    (uint32_t)prev,
							    (uint64_t)found,
							    &from), 0);
				ASSERT_EQ(from + lag, step);
			}
		}
	}
	EXPECT_EQ(last, steps - 1);
	EXPECT_EQ(computed, grid->nranks * grid->ntiles);
}

TEST(grid__schedules_respect_dependences)
{
	struct nic_grid_options options = {
		.size = sizeof(options), .ndims = 4, .dims = { 6, 40, 8, 5 },
		.ranks = { 2, 1, 4, 3 }, .element = 8, .height = 7,
	};
	struct nic_tile_grid grid = make_grid(&options);

	check_schedule(&grid, NIC_TILE_NONOVERLAP);
	check_schedule(&grid, NIC_TILE_OVERLAP);
	options.height = 40;
	grid = make_grid(&options);
	check_schedule(&grid, NIC_TILE_OVERLAP);
}

TEST(grid__steps_equal_the_schedule_vectors)
{
	struct nic_tile_grid grid = make_grid(&paper);
	uint32_t coords[3], rank;
	int64_t tile[3], wanted;
	uint64_t step;
	int s;

	for (rank = 0; rank < 9; rank++) {
		for (s = NIC_TILE_NONOVERLAP; s <= NIC_TILE_OVERLAP; s++) {
			nic_grid_get_coords(&grid, rank, coords);
			tile[0] = coords[0];
			tile[1] = coords[1];
			tile[2] = 57;
			nic_plan_get_step((enum nic_tile_schedule)s, 3, 2, tile,
					  &wanted);
			nic_grid_get_step(&grid, (enum nic_tile_schedule)s,
					  rank, 57, &step);
			EXPECT_EQ(step, wanted);
		}
	}
}

static void expect_refused(struct nic_grid_options options, int error,
			   const char *detail)
{
	struct nic_tile_grid grid = { .size = sizeof(grid) };
	uint64_t steps;

	EXPECT_EQ(nic_grid_init(&grid, &options), error);
	EXPECT_CONTAINS(grid.detail, detail);
	EXPECT_EQ(nic_grid_count_steps(&grid, NIC_TILE_OVERLAP, &steps),
		  -EINVAL);
}

#define REFUSED(field, value, error, detail)				\
	do {								\
		struct nic_grid_options changed = paper;		\
									\
		changed.field = (value);				\
		expect_refused(changed, error, detail);			\
	} while (0)

TEST(grid__init_refusals)
{
	struct nic_tile_grid grid = { .size = sizeof(grid) };

	REFUSED(size, sizeof(paper) - 1, -EINVAL, "options of");
	REFUSED(size, SIZE_MAX, -EINVAL, "options of");
	REFUSED(flags, 2, -EINVAL, "unknown flags 0x2");
	REFUSED(ndims, 1, -EINVAL, "1 dimensions");
	REFUSED(ndims, 9, -EINVAL, "9 dimensions");
	REFUSED(dims[0], 0, -EINVAL, "3 ranks for 0 points");
	REFUSED(dims[0], 2, -EINVAL, "3 ranks for 2 points");
	REFUSED(ranks[1], 0, -EINVAL, "0 ranks");
	REFUSED(ranks[2], 2, -EINVAL, "2 ranks along the pipelined");
	REFUSED(pipe, 2, -EINVAL, "NIC_GRID_PIPE");
	REFUSED(element, 0, -EINVAL, "0 bytes");
	REFUSED(height, 0, -EINVAL, "tile height 0");
	REFUSED(height, 512 * 1024 + 1, -EINVAL, "tile height 524289");
	EXPECT_EQ(nic_grid_init(&grid, NULL), -EINVAL);
	EXPECT_EQ(nic_grid_init(NULL, &paper), -EINVAL);
	grid.size--;
	EXPECT_EQ(nic_grid_init(&grid, &paper), -EINVAL);
}

TEST(grid__init_refuses_what_overflows)
{
	struct nic_grid_options options = paper;

	options.dims[2] = UINT64_MAX;
	options.height = UINT64_MAX;
	expect_refused(options, -EOVERFLOW, "a block has more");
	options.height = 1;
	expect_refused(options, -EOVERFLOW, "tiles: use a greater");
	options = paper;
	options.dims[0] = 1 << 20;
	options.dims[1] = 1 << 20;
	options.dims[2] = 1 << 20;
	options.ranks[0] = 1 << 20;
	options.ranks[1] = 1 << 20;
	expect_refused(options, -EOVERFLOW, "more than 2^31 ranks");
}

TEST(grid__init_reads_only_the_options_it_knows)
{
	struct {
		struct nic_grid_options options;
		uint64_t later;
	} longer = { paper, 0 };
	struct nic_tile_grid grid = { .size = sizeof(grid) };

	longer.options.size = sizeof(longer);
	EXPECT_EQ(nic_grid_init(&grid, &longer.options), 0);
	longer.later = 1;
	EXPECT_EQ(nic_grid_init(&grid, &longer.options), -E2BIG);
}

TEST(grid__queries_refuse_what_is_outside)
{
	struct nic_tile_grid grid = make_grid(&paper), empty = { 0 };
	const uint32_t beyond[] = { 0, 3, 0 }, high[] = { 0, 0, 1 };
	uint64_t a, b;
	uint32_t rank;
	int prev, next;
	int64_t k;

	EXPECT_EQ(nic_grid_get_coords(&grid, 9, &rank), -ERANGE);
	EXPECT_EQ(nic_grid_get_rank(&grid, beyond, &rank), -ERANGE);
	EXPECT_EQ(nic_grid_get_rank(&grid, high, &rank), -ERANGE);
	EXPECT_EQ(nic_grid_get_neighbors(&grid, 0, 3, &prev, &next), -ERANGE);
	EXPECT_EQ(nic_grid_get_neighbors(&grid, 9, 0, &prev, &next), -ERANGE);
	EXPECT_EQ(nic_grid_get_block(&grid, 0, 3, &a, &b), -ERANGE);
	EXPECT_EQ(nic_grid_get_tile(&grid, 158, &a, &b), -ERANGE);
	EXPECT_EQ(nic_grid_get_face(&grid, 0, 2, 0, &a), -ERANGE);
	EXPECT_EQ(nic_grid_get_face(&grid, 0, 0, 158, &a), -ERANGE);
	EXPECT_EQ(nic_grid_get_face(&grid, 9, 0, 0, &a), -ERANGE);
	EXPECT_EQ(nic_grid_get_step(&grid, NIC_TILE_OVERLAP, 0, 158, &a),
		  -ERANGE);
	EXPECT_EQ(nic_grid_get_step(&grid, (enum nic_tile_schedule)2, 0, 0, &a),
		  -EINVAL);
	EXPECT_EQ(nic_grid_find_tile(&grid, NIC_TILE_OVERLAP, 9, 0, &k),
		  -ERANGE);
	EXPECT_EQ(nic_grid_get_coords(&empty, 0, &rank), -EINVAL);
	EXPECT_EQ(nic_grid_get_last(NULL, NIC_TILE_OVERLAP, 0, &a), -EINVAL);
	EXPECT_EQ(nic_grid_get_tile(&grid, 0, NULL, &b), -EINVAL);
}
