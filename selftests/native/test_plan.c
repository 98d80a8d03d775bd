// SPDX-License-Identifier: GPL-2.0-only
/*
 * The supernode transformation, against the numbers of the paper and against
 * its definitions, counted out.
 *
 * Sources: libnic/tile/plan.c libnic/tile/point.c
 */
#include <errno.h>

#include <nic_tile_plan.h>

#include "unit.h"

static const int64_t unit_deps[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };

static struct nic_tile_plan from_p(unsigned int n, const int64_t *p)
{
	struct nic_tile_plan plan = { .size = sizeof(plan) };

	EXPECT_EQ(nic_plan_from_p(&plan, n, p), 0);
	EXPECT_EQ(plan.detail[0], 0);
	return plan;
}

static struct nic_tile_plan from_h(unsigned int n, const struct nic_ratio *h)
{
	struct nic_tile_plan plan = { .size = sizeof(plan) };

	EXPECT_EQ(nic_plan_from_h(&plan, n, h), 0);
	EXPECT_EQ(plan.detail[0], 0);
	return plan;
}

static const struct nic_ratio quarter[] = { {1, 4}, {0, 1}, {0, 1}, {1, 4} };
static const struct nic_ratio skewed[] = { {1, 4}, {0, 1}, {1, 4}, {1, 4} };

/* A small random non-singular P with entries in -reach..reach */
static bool random_p(uint64_t *state, unsigned int n, int reach,
		     struct nic_tile_plan *plan)
{
	int64_t p[NIC_PLAN_MAX_DIM * NIC_PLAN_MAX_DIM];
	unsigned int i;

	for (i = 0; i < n * n; i++)
		p[i] = unit_between(state, -reach, reach);
	plan->size = sizeof(*plan);
	return !nic_plan_from_p(plan, n, p);
}

/* ---- H and P ----------------------------------------------------------- */

TEST(plan__inverts_h_exactly)
{
	struct nic_tile_plan plan = from_h(2, skewed);

	EXPECT_EQ(plan.p[0][0], 4);
	EXPECT_EQ(plan.p[0][1], 0);
	EXPECT_EQ(plan.p[1][0], -4);
	EXPECT_EQ(plan.p[1][1], 4);
	EXPECT_EQ(plan.volume, 16);
	EXPECT_EQ(plan.h_den, 4);
}

TEST(plan__takes_ratios_not_reduced_and_negative)
{
	const struct nic_ratio h[] = { {-2, -8}, {0, -5}, {0, 3}, {3, -12} };
	struct nic_tile_plan plan = from_h(2, h);

	EXPECT_EQ(plan.p[0][0], 4);
	EXPECT_EQ(plan.p[1][1], -4);
	EXPECT_EQ(plan.volume, 16);
}

TEST(plan__h_times_p_is_the_identity)
{
	struct nic_tile_plan plan, back;
	struct nic_ratio h[64];
	uint64_t seed = 1;
	unsigned int n, r, c, k, round, made = 0;
	int64_t sum;

	for (round = 0; round < 2000; round++) {
		n = 1 + round % 5;
		if (!random_p(&seed, n, 9, &plan))
			continue;
		made++;
		for (r = 0; r < n; r++) {
			for (c = 0; c < n; c++) {
				for (sum = 0, k = 0; k < n; k++)
					sum += plan.h[r][k] * plan.p[k][c];
				ASSERT_EQ(sum, r == c ? plan.h_den : 0);
				h[r * n + c].num = plan.h[r][c];
				h[r * n + c].den = plan.h_den;
			}
		}
		ASSERT_EQ(plan.volume % plan.h_den, 0);
		back = from_h(n, h);
		ASSERT(!memcmp(back.p, plan.p, sizeof(plan.p)));
		ASSERT(!memcmp(back.h, plan.h, sizeof(plan.h)));
		ASSERT_EQ(back.h_den, plan.h_den);
		ASSERT_EQ(back.volume, plan.volume);
	}
	EXPECT(made > 1500);
}

TEST(plan__handles_eight_dimensions)
{
	int64_t p[64] = { 0 };
	struct nic_tile_plan plan;
	unsigned int k;

	for (k = 0; k < 8; k++) {
		p[k * 8 + k] = 2 + k;
		if (k)
			p[k * 8] = 1;
	}
	plan = from_p(8, p);
	EXPECT_EQ(plan.volume, 362880);
	EXPECT_EQ(plan.h_den, 5040);
}

TEST(plan__rejects_fractional_p)
{
	const struct nic_ratio h[] = { {1, 4}, {0, 1}, {0, 1}, {2, 7} };
	struct nic_tile_plan plan = { .size = sizeof(plan) };
	int64_t j[2] = { 0 };

	EXPECT_EQ(nic_plan_from_h(&plan, 2, h), -EDOM);
	EXPECT_CONTAINS(plan.detail, "P[1][1] = 7/2 is not an integer");
	EXPECT_EQ(plan.n, 0);
	EXPECT_EQ(nic_plan_map_point(&plan, j, j, j), -EINVAL);
}

TEST(plan__rejects_singular_matrices)
{
	const struct nic_ratio h[] = { {1, 4}, {1, 2}, {1, 8}, {1, 4} };
	const int64_t p[] = { 1, 2, 2, 4 };
	struct nic_tile_plan plan = { .size = sizeof(plan) };

	EXPECT_EQ(nic_plan_from_h(&plan, 2, h), -EDOM);
	EXPECT_CONTAINS(plan.detail, "H is singular");
	EXPECT_EQ(nic_plan_from_p(&plan, 2, p), -EDOM);
	EXPECT_CONTAINS(plan.detail, "P is singular");
}

TEST(plan__rejects_bad_arguments)
{
	const struct nic_ratio h[] = { {1, 4}, {0, 0}, {0, 1}, {1, 4} };
	const int64_t p[64] = { 1 };
	struct nic_tile_plan plan = { .size = sizeof(plan) - 1 };

	EXPECT_EQ(nic_plan_from_p(NULL, 1, p), -EINVAL);
	EXPECT_EQ(nic_plan_from_p(&plan, 1, p), -EINVAL);
	plan.size = sizeof(plan);
	EXPECT_EQ(nic_plan_from_p(&plan, 1, NULL), -EINVAL);
	EXPECT_EQ(nic_plan_from_p(&plan, 0, p), -EINVAL);
	EXPECT_EQ(nic_plan_from_p(&plan, 9, p), -EINVAL);
	EXPECT_CONTAINS(plan.detail, "9 dimensions");
	EXPECT_EQ(nic_plan_from_h(&plan, 2, NULL), -EINVAL);
	EXPECT_EQ(nic_plan_from_h(&plan, 2, h), -EINVAL);
	EXPECT_CONTAINS(plan.detail, "H[0][1] has a denominator of 0");
	EXPECT_EQ(nic_plan_from_p(&plan, 1, p), 0);
}

TEST(plan__rejects_what_overflows)
{
	const int64_t huge[] = { INT64_MAX, 0, 0, INT64_MAX };
	const int64_t lowest[] = { INT64_MIN, 0, 0, 1 };
	const struct nic_ratio h[] = { {1, INT64_MIN}, {0, 1}, {0, 1}, {1, 4} };
	struct nic_tile_plan plan = { .size = sizeof(plan) };

	EXPECT_EQ(nic_plan_from_p(&plan, 2, huge), -EOVERFLOW);
	EXPECT_CONTAINS(plan.detail, "64 bits");
	EXPECT_EQ(nic_plan_from_p(&plan, 2, lowest), -EOVERFLOW);
	EXPECT_EQ(nic_plan_from_h(&plan, 2, h), -EOVERFLOW);
	EXPECT_EQ(plan.n, 0);
}

TEST(plan__large_rectangular_tiles_do_not_overflow)
{
	const int64_t p[] = { 1000000, 0, 0, 0, 1000000, 0, 0, 0, 1000000 };
	struct nic_tile_plan plan = from_p(3, p);
	int64_t points;

	EXPECT_EQ(plan.volume, 1000000000000000000);
	EXPECT_EQ(nic_plan_get_traffic(&plan, 2, 3, unit_deps, &points), 0);
	EXPECT_EQ(points, 2000000000000);
}

/* ---- points and tiles -------------------------------------------------- */

TEST(plan__maps_points_of_both_signs)
{
	const int64_t j[] = { -1, 9 };
	struct nic_tile_plan plan = from_h(2, quarter);
	int64_t tile[2], within[2];

	EXPECT_EQ(nic_plan_map_point(&plan, j, tile, within), 0);
	EXPECT_EQ(tile[0], -1);
	EXPECT_EQ(tile[1], 2);
	EXPECT_EQ(within[0], 3);
	EXPECT_EQ(within[1], 1);
}

TEST(plan__mapping_is_a_bijection)
{
	int64_t j[3], tile[3], within[3], back[3], zero[3];
	struct nic_tile_plan plan;
	uint64_t seed = 2;
	unsigned int round, k, n;

	for (round = 0; round < 3000; round++) {
		n = 2 + round % 2;
		if (!random_p(&seed, n, 12, &plan))
			continue;
		for (k = 0; k < n; k++)
			j[k] = unit_between(&seed, -1000, 1000);
		ASSERT_EQ(nic_plan_map_point(&plan, j, tile, within), 0);
		ASSERT_EQ(nic_plan_unmap_point(&plan, tile, within, back), 0);
		ASSERT(!memcmp(j, back, n * sizeof(*j)));
		/* what is left lies in the first tile */
		ASSERT_EQ(nic_plan_map_point(&plan, within, zero, back), 0);
		for (k = 0; k < n; k++)
			ASSERT_EQ(zero[k], 0);
	}
}

TEST(plan__tile_holds_its_volume_of_points)
{
	int64_t j[2], tile[2], within[2];
	struct nic_tile_plan plan;
	uint64_t seed = 3;
	int64_t count;
	int round;

	for (round = 0; round < 50; round++) {
		if (!random_p(&seed, 2, 6, &plan))
			continue;
		count = 0;
		for (j[0] = -15; j[0] <= 15; j[0]++) {
			for (j[1] = -15; j[1] <= 15; j[1]++) {
				nic_plan_map_point(&plan, j, tile, within);
				count += !tile[0] && !tile[1];
			}
		}
		ASSERT_EQ(count, plan.volume);
	}
}

TEST(plan__mapping_reports_overflow)
{
	const int64_t j[] = { INT64_MAX, INT64_MAX };
	struct nic_tile_plan plan = from_h(2, skewed);
	int64_t out[2];

	EXPECT_EQ(nic_plan_map_point(&plan, j, out, out), -EOVERFLOW);
	EXPECT_EQ(nic_plan_unmap_point(&plan, j, j, out), -EOVERFLOW);
	EXPECT_EQ(nic_plan_map_point(&plan, NULL, out, out), -EINVAL);
	EXPECT_EQ(nic_plan_unmap_point(NULL, j, j, out), -EINVAL);
}

/* The tile space by its definition, against bounds and membership */
static void check_tile_space(const struct nic_tile_plan *plan,
			     const int64_t *lo, const int64_t *hi)
{
	static bool hit[201][201];
	int64_t low[2], high[2], j[2], tile[2], within[2];
	int64_t min[2] = { 100, 100 }, max[2] = { -100, -100 };
	bool inside;
	int k;

	memset(hit, 0, sizeof(hit));
	ASSERT_EQ(nic_plan_get_bounds(plan, lo, hi, low, high), 0);
	for (j[0] = lo[0]; j[0] <= hi[0]; j[0]++) {
		for (j[1] = lo[1]; j[1] <= hi[1]; j[1]++) {
			nic_plan_map_point(plan, j, tile, within);
			hit[tile[0] + 100][tile[1] + 100] = true;
			for (k = 0; k < 2; k++) {
				min[k] = tile[k] < min[k] ? tile[k] : min[k];
				max[k] = tile[k] > max[k] ? tile[k] : max[k];
			}
		}
	}
	ASSERT(!memcmp(low, min, sizeof(min)));
	ASSERT(!memcmp(high, max, sizeof(max)));
	for (tile[0] = low[0] - 1; tile[0] <= high[0] + 1; tile[0]++) {
		for (tile[1] = low[1] - 1; tile[1] <= high[1] + 1; tile[1]++) {
			ASSERT_EQ(nic_plan_test_tile(plan, lo, hi, tile,
						     &inside), 0);
			ASSERT_EQ(inside, hit[tile[0] + 100][tile[1] + 100]);
		}
	}
}

TEST(plan__tile_space_equals_its_definition)
{
	const int64_t mirrored[] = { -4, 0, 0, 3 };
	struct nic_tile_plan plan = from_p(2, mirrored);
	int64_t lo[2], hi[2];
	uint64_t seed = 4;
	int round;

	for (round = 0; round < 60; round++) {
		lo[0] = unit_between(&seed, -9, 9);
		lo[1] = unit_between(&seed, -9, 9);
		hi[0] = lo[0] + unit_between(&seed, 0, 12);
		hi[1] = lo[1] + unit_between(&seed, 0, 12);
		if (round < 20 || random_p(&seed, 2, 4, &plan))
			check_tile_space(&plan, lo, hi);
	}
}

TEST(plan__tile_space_rejects_bad_boxes)
{
	const int64_t a[] = { 0, 0 }, b[] = { 3, -1 };
	struct nic_tile_plan plan = from_h(2, quarter);
	int64_t lo[2], hi[2];
	bool inside;

	EXPECT_EQ(nic_plan_get_bounds(&plan, a, b, lo, hi), -EINVAL);
	EXPECT_EQ(nic_plan_test_tile(&plan, a, b, a, &inside), -EINVAL);
	EXPECT_EQ(nic_plan_get_bounds(&plan, a, NULL, lo, hi), -EINVAL);
	EXPECT_EQ(nic_plan_test_tile(&plan, a, a, a, NULL), -EINVAL);
}

/* ---- dependences ------------------------------------------------------- */

TEST(plan__square_tile_rejects_backward_dependence)
{
	const int64_t d[] = { 1, -1 };
	struct nic_tile_plan plan = from_h(2, quarter);
	bool legal = true;

	EXPECT_EQ(nic_plan_test_legal(&plan, 1, d, &legal), 0);
	EXPECT(!legal);
}

TEST(plan__skewed_tile_accepts_backward_dependence)
{
	const int64_t d[] = { 1, -1 };
	struct nic_tile_plan plan = from_h(2, skewed);
	bool legal = false, contained = false;

	EXPECT_EQ(nic_plan_test_legal(&plan, 1, d, &legal), 0);
	EXPECT(legal);
	EXPECT_EQ(nic_plan_test_contained(&plan, 1, d, &contained), 0);
	EXPECT(contained);
}

TEST(plan__containment_ends_at_the_tile_size)
{
	const int64_t inside[] = { 3, 0 }, outside[] = { 4, 0 };
	struct nic_tile_plan plan = from_h(2, quarter);
	bool contained;

	EXPECT_EQ(nic_plan_test_contained(&plan, 1, inside, &contained), 0);
	EXPECT(contained);
	EXPECT_EQ(nic_plan_test_contained(&plan, 1, outside, &contained), 0);
	EXPECT(!contained);
}

TEST(plan__no_dependences_are_legal)
{
	struct nic_tile_plan plan = from_h(2, quarter);
	unsigned int count = 7;
	int64_t points = 7;
	bool legal = false;

	EXPECT_EQ(nic_plan_test_legal(&plan, 0, NULL, &legal), 0);
	EXPECT(legal);
	EXPECT_EQ(nic_plan_list_deps(&plan, 0, NULL, 0, NULL, &count), 0);
	EXPECT_EQ(count, 0);
	EXPECT_EQ(nic_plan_get_traffic(&plan, 0, 0, NULL, &points), 0);
	EXPECT_EQ(points, 0);
}

TEST(plan__lists_neighbours_of_the_paper_loop)
{
	const int64_t p[] = { 4, 0, 0, 0, 4, 0, 0, 0, 3328 };
	const int64_t wanted[] = { 0, 0, 1, 0, 1, 0, 1, 0, 0 };
	struct nic_tile_plan plan = from_p(3, p);
	unsigned int count;
	int64_t ds[24 * 3];

	ASSERT_EQ(nic_plan_list_deps(&plan, 3, unit_deps, 24, ds, &count), 0);
	ASSERT_EQ(count, 3);
	EXPECT(!memcmp(ds, wanted, sizeof(wanted)));
}

TEST(plan__lists_corners_of_a_diagonal_dependence)
{
	const int64_t d[] = { 1, 1, 0 };
	const int64_t p[] = { 4, 0, 0, 0, 4, 0, 0, 0, 8 };
	const int64_t wanted[] = { 0, 1, 0, 1, 0, 0, 1, 1, 0 };
	struct nic_tile_plan plan = from_p(3, p);
	unsigned int count;
	int64_t ds[8 * 3];

	ASSERT_EQ(nic_plan_list_deps(&plan, 1, d, 8, ds, &count), 0);
	ASSERT_EQ(count, 3);
	EXPECT(!memcmp(ds, wanted, sizeof(wanted)));
}

/* DS by its definition: every j0 of a box that holds the first tile */
static unsigned int count_out_deps(const struct nic_tile_plan *plan,
				   unsigned int ndeps, const int64_t *deps,
				   bool found[32][32])
{
	int64_t j[2], tile[2], within[2];
	unsigned int i, count = 0;

	for (j[0] = -20; j[0] <= 20; j[0]++) {
		for (j[1] = -20; j[1] <= 20; j[1]++) {
			nic_plan_map_point(plan, j, tile, within);
			if (tile[0] || tile[1])
				continue;
			for (i = 0; i < ndeps; i++) {
				int64_t to[] = { j[0] + deps[2 * i],
						 j[1] + deps[2 * i + 1] };

				nic_plan_map_point(plan, to, tile, within);
				if (!tile[0] && !tile[1])
					continue;
				count += !found[tile[0] + 16][tile[1] + 16];
				found[tile[0] + 16][tile[1] + 16] = true;
			}
			memset(tile, 0, sizeof(tile));
		}
	}
	return count;
}

TEST(plan__tile_dependences_equal_their_definition)
{
	int64_t deps[6], ds[3 * 4 * 2];
	bool found[32][32], legal, contained;
	struct nic_tile_plan plan;
	unsigned int count, i, round, tested = 0;
	uint64_t seed = 5;

	for (round = 0; round < 300; round++) {
		if (!random_p(&seed, 2, round % 3 ? 6 : 3, &plan))
			continue;
		for (i = 0; i < 6; i++)
			deps[i] = unit_between(&seed, -3, 3);
		memset(found, 0, sizeof(found));
		if (plan.volume < 2)
			continue;
		tested++;
		ASSERT_EQ(nic_plan_list_deps(&plan, 3, deps, 12, ds, &count),
			  0);
		ASSERT_EQ(count, count_out_deps(&plan, 3, deps, found));
		nic_plan_test_legal(&plan, 3, deps, &legal);
		nic_plan_test_contained(&plan, 3, deps, &contained);
		for (i = 0; i < count; i++) {
			ASSERT(found[ds[2 * i] + 16][ds[2 * i + 1] + 16]);
			if (legal && contained)
				ASSERT(!(ds[2 * i] & ~1) &&
				       !(ds[2 * i + 1] & ~1));
			if (i)
				ASSERT(ds[2 * i] > ds[2 * i - 2] ||
				       (ds[2 * i] == ds[2 * i - 2] &&
					ds[2 * i + 1] > ds[2 * i - 1]));
		}
	}
	EXPECT(tested > 200);
}

TEST(plan__independent_dimension_equals_enumeration)
{
	/* The same tiling with and without a closed-form dimension */
	const int64_t alone[] = { 4, 1, 0, 0, 4, 0, 0, 0, 5 };
	const int64_t flat[] = { 4, 1, 0, 4 };
	const int64_t d3[] = { 1, 2, 3, 1, 0, 5, -1, 3, -2 };
	const int64_t d2[] = { 1, 2, 1, 0, -1, 3 };
	struct nic_tile_plan solid = from_p(3, alone), plane = from_p(2, flat);
	unsigned int count3, count2, i, k, seen = 0;
	int64_t ds3[72], ds2[24];

	for (k = 0; k < 3; k++) {
		ASSERT_EQ(nic_plan_list_deps(&solid, 1, d3 + 3 * k, 24, ds3,
					     &count3), 0);
		ASSERT_EQ(nic_plan_list_deps(&plane, 1, d2 + 2 * k, 12, ds2,
					     &count2), 0);
		for (i = 0; i < count3; i++)
			seen += ds3[3 * i] || ds3[3 * i + 1];
		/* 3 of 5: both carries; 5: always 1; -2: both */
		EXPECT_EQ(seen, count2 * (k == 1 ? 1 : 2));
		seen = 0;
	}
}

TEST(plan__listing_reports_a_short_array)
{
	struct nic_tile_plan plan = from_h(2, quarter);
	const int64_t d[] = { 1, 1, 1, 0 };
	unsigned int count;
	int64_t ds[4];

	EXPECT_EQ(nic_plan_list_deps(&plan, 2, d, 2, ds, &count), -ENOSPC);
	EXPECT_EQ(count, 8);
	EXPECT_EQ(nic_plan_list_deps(&plan, 2, d, 2, NULL, &count), -EINVAL);
	EXPECT_EQ(nic_plan_list_deps(&plan, 2, NULL, 2, ds, &count), -EINVAL);
}

TEST(plan__listing_refuses_endless_enumeration)
{
	const int64_t p[] = { 100000, 1, 0, 100000 };
	struct nic_tile_plan plan = from_p(2, p);
	const int64_t d[] = { 1, 1 };
	unsigned int count;
	int64_t ds[8];
	bool inside;

	EXPECT_EQ(nic_plan_list_deps(&plan, 1, d, 4, ds, &count), -E2BIG);
	EXPECT_EQ(nic_plan_test_tile(&plan, d, d, d, &inside), -E2BIG);
}

TEST(plan__traffic_is_two_faces_for_the_paper_loop)
{
	const int64_t p[] = { 4, 0, 0, 0, 4, 0, 0, 0, 3328 };
	struct nic_tile_plan plan = from_p(3, p);
	int64_t points;

	EXPECT_EQ(nic_plan_get_traffic(&plan, 2, 3, unit_deps, &points), 0);
	EXPECT_EQ(points, 2 * 4 * 3328);
	EXPECT_EQ(nic_plan_get_traffic(&plan, 0, 3, unit_deps, &points), 0);
	EXPECT_EQ(points, 4 * 3328 + 16);
}

TEST(plan__traffic_of_a_skewed_tile)
{
	struct nic_tile_plan plan = from_h(2, skewed);
	const int64_t d[] = { 1, -1, 0, 1, 1, 1 };
	int64_t points;

	/* HD = [[1/4, 0, 1/4], [0, 1/4, 1/2]], g = 16 */
	EXPECT_EQ(nic_plan_get_traffic(&plan, 0, 3, d, &points), 0);
	EXPECT_EQ(points, 12);
	EXPECT_EQ(nic_plan_get_traffic(&plan, 1, 3, d, &points), 0);
	EXPECT_EQ(points, 8);
}

TEST(plan__traffic_refusals)
{
	struct nic_tile_plan plan = from_h(2, quarter);
	const int64_t back[] = { 1, -1 }, far[] = { INT64_MAX, INT64_MAX };
	int64_t points;

	EXPECT_EQ(nic_plan_get_traffic(&plan, 0, 1, back, &points), -EDOM);
	EXPECT_EQ(nic_plan_get_traffic(&plan, 2, 0, NULL, &points), -ERANGE);
	EXPECT_EQ(nic_plan_get_traffic(&plan, 0, 1, NULL, &points), -EINVAL);
	EXPECT_EQ(nic_plan_get_traffic(&plan, 0, 1, far, &points), -EOVERFLOW);
}
