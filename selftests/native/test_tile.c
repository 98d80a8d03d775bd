// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pipelined runtime of one rank: what it computes, and that each refusal
 * has a sentence of its own, in nic_error_detail() and in the result.
 *
 * Sources: libnic/core/queue.c libnic/core/post.c libnic/core/interrupt.c
 * Sources: libnic/core/device.c
 * Sources: libnic/core/segment.c libnic/core/error.c libnic/comm/team.c
 * Sources: libnic/comm/barrier.c libnic/comm/launcher.c libnic/tile/tile.c
 * Sources: libnic/tile/run.c libnic/tile/sequence.c libnic/tile/grid.c
 * Sources: libnic/tile/schedule.c
 * Flags: -Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap
 * Flags: -lpthread
 */
#include <nic_team.h>
#include <nic_tile.h>

#include "fake_driver.h"
#include "unit.h"

static struct nic_ctx *ctx;
static struct nic_team *team;
static struct nic_tile *tile;
static struct nic_tile_grid grid;
static struct nic_tile_options options;
static struct nic_tile_run_options run;
static struct nic_tile_result result;
static uint64_t points;

static int count_points(void *arg, const struct nic_tile_step *step)
{
	points += step->count;
	return arg ? 7 : 0;
}

/* One rank, 4 tiles of at most 5 points */
static void start(void)
{
	const struct nic_grid_options wanted = {
		.size = sizeof(wanted), .flags = NIC_GRID_PIPE, .ndims = 2,
		.pipe = 1, .element = 4, .height = 5,
		.dims = { 3, 18 }, .ranks = { 1, 1 },
	};

	fake_reset();
	unsetenv("NIC_RANK");
	unsetenv("NIC_SIZE");
	grid.size = sizeof(grid);
	if (nic_grid_init(&grid, &wanted) || nic_open("nic0", &ctx) ||
	    nic_team_init(ctx, 1000000000, &team))
		abort();
	options = (struct nic_tile_options) {
		.size = sizeof(options), .grid = &grid,
	};
	run = (struct nic_tile_run_options) {
		.size = sizeof(run), .compute = count_points,
		.schedule = NIC_TILE_OVERLAP,
	};
	result = (struct nic_tile_result) { .size = sizeof(result) };
	points = 0;
}

static void start_tile(void)
{
	start();
	if (nic_tile_create(ctx, team, &options, &tile))
		abort();
}

static void stop(void)
{
	nic_tile_destroy(tile);
	nic_team_finalize(team);
	nic_close(ctx);
	tile = NULL;
}

static void expect_create(int ret, const char *part)
{
	EXPECT_EQ(nic_tile_create(ctx, team, &options, &tile), ret);
	EXPECT_CONTAINS(nic_error_detail(ctx), "cannot make a pipeline of tiles: ");
	EXPECT_CONTAINS(nic_error_detail(ctx), part);
}

static void expect_run(int ret, const char *part)
{
	EXPECT_EQ(nic_tile_run(tile, &run, &result), ret);
	EXPECT_EQ(result.size, sizeof(result));
	EXPECT_CONTAINS(result.detail, part);
	EXPECT_CONTAINS(nic_error_detail(ctx), part);
	EXPECT_EQ(points, 0);
}

TEST(tile__of_one_rank)
{
	start_tile();
	ASSERT_EQ(nic_tile_run(tile, &run, &result), 0);
	EXPECT_EQ(points, 18);
	EXPECT_EQ(result.ntiles, 4);
	EXPECT_EQ(result.detail[0], 0);
	run.height = 2;
	run.schedule = NIC_TILE_NONOVERLAP;
	ASSERT_EQ(nic_tile_run(tile, &run, NULL), 0);
	EXPECT_EQ(points, 2 * 18);
	stop();
}

TEST(tile__options_are_refused)
{
	struct {
		struct nic_tile_options known;
		uint64_t newer;
	} longer;

	start();
	options.size--;
	expect_create(-EINVAL, "the size in the options is wrong");
	options.size = sizeof(longer);
	longer.known = options;
	longer.newer = 0;
	EXPECT_EQ(nic_tile_create(ctx, team, &longer.known, &tile), 0);
	nic_tile_destroy(tile);
	tile = NULL;
	longer.newer = 1;
	EXPECT_EQ(nic_tile_create(ctx, team, &longer.known, &tile), -E2BIG);
	EXPECT_CONTAINS(nic_error_detail(ctx), "install a newer one");
	options.size = sizeof(options);
	options.flags = 1;
	expect_create(-EINVAL, "unknown flag");
	options.flags = 0;
	options.grid = NULL;
	expect_create(-EINVAL, "no usable grid");
	options.grid = &grid;
	options.tag = "a tag of 16 char";
	expect_create(-EINVAL, "tags have 1 to 15 bytes");
	EXPECT_EQ(nic_tile_create(ctx, NULL, &options, &tile), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "team");
	stop();
}

TEST(tile__runs_are_refused)
{
	struct {
		struct nic_tile_run_options known;
		uint64_t newer;
	} longer;

	start_tile();
	run.size--;
	expect_run(-EINVAL, "the size in the options is wrong");
	run.size = sizeof(longer);
	longer.known = run;
	longer.newer = 1;
	EXPECT_EQ(nic_tile_run(tile, &longer.known, &result), -E2BIG);
	EXPECT_CONTAINS(result.detail, "install a newer one");
	run.size = sizeof(run);
	run.flags = 2;
	expect_run(-EINVAL, "unknown flag");
	run.flags = 0;
	run.schedule = 9;
	expect_run(-EINVAL, "no such schedule");
	run.schedule = NIC_TILE_OVERLAP;
	run.compute = NULL;
	expect_run(-EINVAL, "no callback");
	run.compute = count_points;
	run.height = 6;
	expect_run(-EINVAL, "there are buffers for 5 only");
	run.height = 0;
	result.size--;
	EXPECT_EQ(nic_tile_run(tile, &run, &result), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "the size in the result is wrong");
	result.size = 1 << 20;
	EXPECT_EQ(nic_tile_run(tile, &run, &result), -EINVAL);
	result.size = sizeof(result);
	EXPECT_EQ(nic_tile_run(NULL, &run, &result), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(NULL), "object and options");
	/* None of these has broken it */
	EXPECT_EQ(nic_tile_run(tile, &run, &result), 0);
	stop();
}

TEST(tile__is_broken_by_a_failure)
{
	start_tile();
	run.arg = &run;
	EXPECT_EQ(nic_tile_run(tile, &run, &result), -ECANCELED);
	EXPECT_CONTAINS(result.detail, "the callback gave 7 for tile 0");
	run.arg = NULL;
	points = 0;
	expect_run(-EIO, "an earlier run failed; destroy the object");
	stop();
}
