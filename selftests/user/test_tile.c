// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_tile.c - pipelined tiles on real devices
 *
 * Owns: that both schedules give, to the last bit, what a sequential run gives,
 * in two dimensions, and in three with a diagonal dependence whose corners
 * travel in the extra part of the faces. A value depends on every value before
 * it, so one face too late, too early or in the wrong place shows at the end.
 */
#include "ranks.h"

#include <errno.h>
#include <nic_tile.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

/**
 * struct nest - a loop nest, and this rank's part of it
 * @grid: who computes what
 * @rank: this one
 * @first: first point of this rank by dimension
 * @count: its points by dimension; the last dimension is pipelined
 * @value: [i][j][k], as computed by the tiles; j is 0 in two dimensions
 * @extra: elements of a face along j besides its plane, a unit of height
 * @seed: of this run's boundary: no value of another run is right
 * @next: tile that has to come next
 */
struct nest {
	struct nic_tile_grid grid;
	unsigned int rank;
	uint64_t first[3];
	uint64_t count[3];
	__u64 *value;
	uint64_t extra;
	__u64 seed;
	uint64_t next;
};

/* Which of its arguments is which matters. */
static __u64 mix(__u64 up, __u64 left, __u64 diagonal, __u64 back)
{
	__u64 x = up * 0x9e3779b97f4a7c15ULL;

	x = (x ^ left << 7 ^ left >> 57) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ diagonal << 19 ^ diagonal >> 45) * 0x94d049bb133111ebULL;
	return x ^ back << 31 ^ back >> 33;
}

/* Before the first point along any dimension: index -1 */
static __u64 boundary(const struct nest *nest, int64_t i, int64_t j, int64_t k)
{
	return mix(nest->seed + (__u64)i, (__u64)j, 5, (__u64)k);
}

/* ---- the sequential run ---- */

/* @whole: [i + 1][j + 1][k + 1] */
static __u64 *sequential(const struct nest *nest)
{
	int64_t ni = nest->grid.dims[0], nk, nj, i, j, k;
	bool flat = nest->grid.ndims == 2;
	__u64 *whole, *at;

	nj = flat ? 1 : nest->grid.dims[1];
	nk = nest->grid.dims[nest->grid.pipe];
	whole = calloc((ni + 1) * (nj + 1) * (nk + 1), sizeof(*whole));
	ASSERT_TRUE(whole);
	at = whole;
	for (i = -1; i < ni; i++)
		for (j = -1; j < nj; j++)
			for (k = -1; k < nk; k++, at++) {
				const __u64 *row = at - (nk + 1);
				const __u64 *plane = at - (nj + 1) * (nk + 1);

				if (i < 0 || j < 0 || k < 0)
					*at = boundary(nest, i, j, k);
				else if (flat)
					*at = mix(*plane, 0, 0, at[-1]);
				else
					*at = mix(*plane, *row,
						  plane[-(nk + 1)], at[-1]);
			}
	return whole;
}

static void compare(const struct nest *nest)
{
	uint64_t nj = nest->grid.ndims == 2 ? 1 : nest->grid.dims[1];
	uint64_t nk = nest->count[2], i, j, k;
	__u64 *whole = sequential(nest);

	for (i = 0; i < nest->count[0]; i++)
		for (j = 0; j < nest->count[1]; j++)
			for (k = 0; k < nk; k++)
				ASSERT_EQ(nest->value[(i * nest->count[1] + j) *
						      nk + k],
					  whole[((nest->first[0] + i + 1) *
						 (nj + 1) + nest->first[1] +
						 j + 1) * (nk + 1) + k + 1]);
	free(whole);
}

/* ---- tiles ---- */

/* A point of this rank, of a face that came, or of the boundary */
static __u64 point(const struct nest *nest, const struct nic_tile_step *step,
		   int64_t i, int64_t j, uint64_t at)
{
	uint64_t k = step->first + at;
	/* Along j a face begins with the corner that came along i. */
	int64_t corner = nest->extra ? 1 : 0;

	if (i >= 0 && j >= 0)
		return nest->value[(i * nest->count[1] + j) * nest->count[2] +
				   k];
	if (j < 0 && step->receive[1])
		return ((const __u64 *)step->receive[1])
			[(i + corner) * step->count + at];
	if (j >= 0 && step->receive[0])
		return ((const __u64 *)step->receive[0])[j * step->count + at];
	return boundary(nest, nest->first[0] + i, nest->first[1] + j, k);
}

static void send_faces(const struct nest *nest,
		       const struct nic_tile_step *step)
{
	int64_t last_i = nest->count[0] - 1, last_j = nest->count[1] - 1, i, j;
	__u64 *out = step->send[0];
	uint64_t at;

	for (j = 0; out && j <= last_j; j++)
		for (at = 0; at < step->count; at++)
			*out++ = point(nest, step, last_i, j, at);
	out = step->send[1];
	for (i = nest->extra ? -1 : 0; out && i <= last_i; i++)
		for (at = 0; at < step->count; at++)
			*out++ = point(nest, step, i, last_j, at);
}

static __u64 new_point(const struct nest *nest,
		       const struct nic_tile_step *step, int64_t i, int64_t j,
		       uint64_t at)
{
	bool flat = nest->grid.ndims == 2;
	uint64_t k = step->first + at;
	__u64 back;

	back = k ? nest->value[(i * nest->count[1] + j) * nest->count[2] + k -
			       1] :
		   boundary(nest, nest->first[0] + i, nest->first[1] + j, -1);
	if (flat)
		return mix(point(nest, step, i - 1, 0, at), 0, 0, back);
	return mix(point(nest, step, i - 1, j, at),
		   point(nest, step, i, j - 1, at),
		   point(nest, step, i - 1, j - 1, at), back);
}

static void check_step(const struct nest *nest,
		       const struct nic_tile_step *step)
{
	uint64_t height = nest->grid.height;
	uint64_t plane[2] = { nest->count[1], nest->count[0] + nest->extra };
	const unsigned int faces = nest->grid.ndims - 1;
	int prev, next;
	unsigned int d;

	ASSERT_TRUE(faces <= ARRAY_SIZE(plane));
	ASSERT_EQ(step->k, nest->next);
	ASSERT_EQ(step->first, step->k * height);
	ASSERT_EQ(step->count, nest->count[2] - step->first < height ?
		  nest->count[2] - step->first : height);
	for (d = 0; d < faces; d++) {
		ASSERT_EQ(nic_grid_get_neighbors(&nest->grid, nest->rank, d,
						 &prev, &next), 0);
		ASSERT_EQ(!step->receive[d], prev < 0);
		ASSERT_EQ(!step->send[d], next < 0);
		if (prev >= 0 || next >= 0)
			ASSERT_EQ(step->bytes[d], plane[d] * step->count *
				  sizeof(__u64));
	}
}

static int compute(void *arg, const struct nic_tile_step *step)
{
	struct nest *nest = arg;
	uint64_t i, j, at;

	check_step(nest, step);
	for (i = 0; i < nest->count[0]; i++)
		for (j = 0; j < nest->count[1]; j++)
			for (at = 0; at < step->count; at++)
				nest->value[(i * nest->count[1] + j) *
					    nest->count[2] + step->first + at] =
					new_point(nest, step, i, j, at);
	send_faces(nest, step);
	nest->next++;
	return 0;
}

/* ---- runs ---- */

static struct nest nest_make(const struct rank *self,
			     const struct nic_grid_options *options,
			     uint64_t extra)
{
	struct nest nest = { .rank = self->rank, .extra = extra };
	unsigned int d, to;

	nest.grid.size = sizeof(nest.grid);
	ASSERT_EQ(nic_grid_init(&nest.grid, options), 0);
	nest.first[1] = 0;
	nest.count[1] = 1;
	for (d = 0; d < options->ndims; d++) {
		to = d == nest.grid.pipe ? 2 : d;
		ASSERT_EQ(nic_grid_get_block(&nest.grid, self->rank, d,
					     &nest.first[to], &nest.count[to]),
			  0);
	}
	nest.value = calloc(nest.count[0] * nest.count[1] * nest.count[2],
			    sizeof(*nest.value));
	ASSERT_TRUE(nest.value);
	return nest;
}

/* Between signals while tiles are run, in microseconds; zero: none */
static long signal_us;

static void on_signal(int number)
{
	(void)number;
}

static void signals(bool on)
{
	const long us = on ? signal_us : 0;
	const struct itimerval often = {
		.it_interval.tv_usec = us, .it_value.tv_usec = us,
	};

	ASSERT_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
}

static void nest_run(struct rank *self, struct nest *nest,
		     struct nic_tile *tile, enum nic_tile_schedule schedule,
		     uint64_t height)
{
	struct nic_tile_run_options options = {
		.size = sizeof(options), .schedule = schedule,
		.height = height, .compute = compute, .arg = nest,
	};
	struct nic_tile_result result = { .size = sizeof(result) };
	uint64_t tiles = (nest->count[2] - 1) / height + 1;

	nest->grid.height = height;
	nest->seed += 1000003;
	nest->next = 0;
	signals(true);
	NIC_OK_OR_FAIL(self->ctx, nic_tile_run(tile, &options, &result));
	signals(false);
	EXPECT_EQ(result.ntiles, tiles);
	EXPECT_EQ(result.phase[NIC_TILE_COMPUTE].count, tiles);
	EXPECT_EQ(result.failed_rank, -1);
	EXPECT_GT(result.end_ns, result.start_ns);
	compare(nest);
}

static void run_all(struct rank *self, const struct nic_grid_options *wanted,
		    uint64_t extra, const uint64_t *heights, unsigned int n)
{
	struct nest nest = nest_make(self, wanted, extra);
	struct nic_tile_options options = {
		.size = sizeof(options), .grid = &nest.grid,
		.extra = { 0, (uint32_t)extra }, .timeout_ns = WAIT_NS,
	};
	struct nic_tile *tile;
	unsigned int i;

	NIC_OK_OR_FAIL(self->ctx, nic_tile_create(self->ctx, self->team,
						  &options, &tile));
	for (i = 0; i < n; i++) {
		nest_run(self, &nest, tile, NIC_TILE_NONOVERLAP, heights[i]);
		nest_run(self, &nest, tile, NIC_TILE_OVERLAP, heights[i]);
	}
	nic_tile_destroy(tile);
	free(nest.value);
}

/* Four ranks in a row, blocks of 4, 3, 3 and 3 lines */
static const struct nic_grid_options chain = {
	.size = sizeof(chain), .flags = NIC_GRID_PIPE, .ndims = 2,
	.dims = { 13, 300 }, .ranks = { 4, 1 }, .pipe = 1,
	.element = sizeof(__u64), .height = 300,
};

static void chain_rank(struct rank *self)
{
	const uint64_t heights[] = { 300, 64, 7, 3, 150 };

	run_all(self, &chain, 0, heights, ARRAY_SIZE(heights));
}

TEST(tile, two_dimensions_equal_a_sequential_run)
{
	ranks_run(4, chain_rank);
}

/* A profiler's, say: each sleep of each rank is interrupted many times */
static void signalled_rank(struct rank *self)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	const uint64_t heights[] = { 3, 7 };

	ASSERT_EQ(sigaction(SIGALRM, &action, NULL), 0);
	signal_us = 200;
	run_all(self, &chain, 0, heights, ARRAY_SIZE(heights));
}

TEST(tile, signals_do_not_end_a_run)
{
	ranks_run(4, signalled_rank);
}

/* 2 x 3 ranks: corners cross between four of them, twice */
static void corner_rank(struct rank *self)
{
	const struct nic_grid_options wanted = {
		.size = sizeof(wanted), .flags = NIC_GRID_PIPE, .ndims = 3,
		.dims = { 5, 8, 120 }, .ranks = { 2, 3, 1 }, .pipe = 2,
		.element = sizeof(__u64), .height = 120,
	};
	const uint64_t heights[] = { 120, 50, 11, 2 };

	run_all(self, &wanted, 1, heights, ARRAY_SIZE(heights));
}

TEST(tile, three_dimensions_with_corners_equal_a_sequential_run)
{
	ranks_run(6, corner_rank);
}

/* ---- refusals and failures ---- */

static int give_up(void *arg, const struct nic_tile_step *step)
{
	const struct rank *self = arg;

	return self->rank == 1 && step->k == 2 ? 77 : 0;
}

/* One that ends early takes the others with it, and soon. */
static void failing_rank(struct rank *self)
{
	struct nic_tile_run_options run = {
		.size = sizeof(run), .schedule = NIC_TILE_OVERLAP,
		.height = 10, .compute = give_up, .arg = self,
	};
	struct nic_tile_result result = { .size = sizeof(result) };
	struct nest nest = nest_make(self, &chain, 0);
	struct nic_tile_options options = {
		.size = sizeof(options), .grid = &nest.grid,
		.timeout_ns = slow_ns(3000),
	};
	struct nic_tile *tile;
	int ret;

	NIC_OK_OR_FAIL(self->ctx, nic_tile_create(self->ctx, self->team,
						  &options, &tile));
	/* There are no buffers for it: refused, and nothing is broken. */
	run.height = 301;
	EXPECT_EQ(nic_tile_run(tile, &run, &result), -EINVAL);
	EXPECT_TRUE(strstr(result.detail, "300"));
	run.height = 10;
	ret = nic_tile_run(tile, &run, &result);
	if (self->rank == 1) {
		EXPECT_EQ(ret, -ECANCELED);
		EXPECT_EQ(result.failed_tile, 2);
		EXPECT_TRUE(strstr(result.detail, "77"));
	} else {
		EXPECT_TRUE(ret == -ETIME || ret == -EREMOTEIO);
		EXPECT_EQ(result.failed_rank, self->rank ? self->rank - 1 : 1);
	}
	EXPECT_EQ(nic_tile_run(tile, &run, &result), -EIO);
	nic_tile_destroy(tile);
	free(nest.value);
}

TEST(tile, failed_callback_ends_every_rank)
{
	ranks_run(4, failing_rank);
}

FABRIC_TEST_MAIN_NONE()
