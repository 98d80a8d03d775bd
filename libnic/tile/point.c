// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Points and tiles of a plan: which tile a point lies in, which tiles there
 * are, and the points of one tile.
 *
 * Owns nothing: every function works on its arguments alone.
 *
 * All arithmetic on user values goes through __builtin_*_overflow.
 */
#include <errno.h>
#include <string.h>

#include "plan_internal.h"

int nic_plan_map_point(const struct nic_tile_plan *plan, const int64_t *j,
		       int64_t *tile, int64_t *within)
{
	int64_t at[N_MAX], origin;
	unsigned int k;
	int ret;

	if (!plan_usable(plan) || !j || !tile || !within)
		return -EINVAL;
	for (k = 0; k < plan->n; k++) {
		ret = dot(plan->n, plan->h[k], j, &at[k]);
		if (ret)
			return ret;
		at[k] = floor_div(at[k], plan->h_den);
	}
	for (k = 0; k < plan->n; k++) {
		ret = dot(plan->n, plan->p[k], at, &origin);
		if (ret)
			return ret;
		if (__builtin_sub_overflow(j[k], origin, &within[k]))
			return -EOVERFLOW;
	}
	memcpy(tile, at, plan->n * sizeof(*tile));
	return 0;
}

int nic_plan_unmap_point(const struct nic_tile_plan *plan, const int64_t *tile,
			 const int64_t *within, int64_t *j)
{
	int64_t origin;
	unsigned int k;
	int ret;

	if (!plan_usable(plan) || !tile || !within || !j)
		return -EINVAL;
	for (k = 0; k < plan->n; k++) {
		ret = dot(plan->n, plan->p[k], tile, &origin);
		if (ret)
			return ret;
		if (__builtin_add_overflow(origin, within[k], &j[k]))
			return -EOVERFLOW;
	}
	return 0;
}

static int check_box(const struct nic_tile_plan *plan, const int64_t *lo,
		     const int64_t *hi)
{
	unsigned int k;

	if (!plan_usable(plan) || !lo || !hi)
		return -EINVAL;
	for (k = 0; k < plan->n; k++)
		if (lo[k] > hi[k])
			return -EINVAL;
	return 0;
}

int nic_plan_get_bounds(const struct nic_tile_plan *plan, const int64_t *lo,
			const int64_t *hi, int64_t *tile_lo, int64_t *tile_hi)
{
	int64_t low[N_MAX], high[N_MAX];
	unsigned int k, c;
	int ret;

	ret = check_box(plan, lo, hi);
	if (ret || !tile_lo || !tile_hi)
		return -EINVAL;
	for (k = 0; k < plan->n; k++) {
		/* A row of H is least and greatest at corners of the box. */
		for (c = 0; c < plan->n; c++) {
			low[c] = plan->h[k][c] < 0 ? hi[c] : lo[c];
			high[c] = plan->h[k][c] < 0 ? lo[c] : hi[c];
		}
		ret = dot(plan->n, plan->h[k], low, &tile_lo[k]);
		if (!ret)
			ret = dot(plan->n, plan->h[k], high, &tile_hi[k]);
		if (ret)
			return ret;
		tile_lo[k] = floor_div(tile_lo[k], plan->h_den);
		tile_hi[k] = floor_div(tile_hi[k], plan->h_den);
	}
	return 0;
}

static bool is_alone(const struct nic_tile_plan *plan, unsigned int k)
{
	unsigned int c;

	for (c = 0; c < plan->n; c++)
		if (c != k && (plan->p[k][c] || plan->p[c][k]))
			return false;
	return true;
}

int nic_first_tile_begin(struct nic_first_tile *f,
			 const struct nic_tile_plan *plan)
{
	int64_t points = 1, extent;
	unsigned int k, c;

	memset(f, 0, sizeof(*f));
	f->plan = plan;
	for (k = 0; k < plan->n; k++) {
		if (is_alone(plan, k)) {
			f->alone |= 1U << k;
			continue;
		}
		for (c = 0; c < plan->n; c++)
			if (__builtin_add_overflow(plan->p[k][c] < 0 ?
						   f->lo[k] : f->hi[k],
						   plan->p[k][c],
						   plan->p[k][c] < 0 ?
						   &f->lo[k] : &f->hi[k]))
				return -EOVERFLOW;
		if (__builtin_sub_overflow(f->hi[k], f->lo[k], &extent) ||
		    __builtin_add_overflow(extent, 1, &extent) ||
		    __builtin_mul_overflow(points, extent, &points))
			return -E2BIG;
		if (points > NIC_PLAN_MAX_POINTS)
			return -E2BIG;
	}
	memcpy(f->j, f->lo, sizeof(f->j));
	/* One before the first, for nic_first_tile_next() to begin with */
	f->j[plan->n - 1]--;
	return 0;
}

static bool first_tile_step(struct nic_first_tile *f)
{
	unsigned int k = f->plan->n;

	while (k--) {
		if (f->j[k] < f->hi[k]) {
			f->j[k]++;
			return true;
		}
		f->j[k] = f->lo[k];
	}
	return false;
}

int nic_first_tile_next(struct nic_first_tile *f)
{
	const struct nic_tile_plan *plan = f->plan;
	unsigned int k;
	int ret;

	while (first_tile_step(f)) {
		for (k = 0; k < plan->n; k++) {
			ret = dot(plan->n, plan->h[k], f->j, &f->at[k]);
			if (ret)
				return ret;
			if (f->at[k] < 0 || f->at[k] >= plan->h_den)
				break;
		}
		if (k == plan->n)
			return 1;
	}
	return 0;
}

/* Does one tile interval of an independent dimension meet lo..hi? */
static int meets(int64_t side, int64_t origin, int64_t lo, int64_t hi,
		 bool *inside)
{
	int64_t end;

	if (__builtin_add_overflow(origin, side - (side < 0 ? -1 : 1), &end))
		return -EOVERFLOW;
	*inside = (origin < end ? origin : end) <= hi &&
		  (origin < end ? end : origin) >= lo;
	return 0;
}

static bool point_inside(const struct nic_first_tile *f, const int64_t *origin,
			 const int64_t *lo, const int64_t *hi)
{
	unsigned int k;
	int64_t j;

	for (k = 0; k < f->plan->n; k++) {
		if (f->alone & 1U << k)
			continue;
		if (__builtin_add_overflow(origin[k], f->j[k], &j) ||
		    j < lo[k] || j > hi[k])
			return false;
	}
	return true;
}

int nic_plan_test_tile(const struct nic_tile_plan *plan, const int64_t *lo,
		       const int64_t *hi, const int64_t *tile, bool *inside)
{
	int64_t origin[N_MAX] = { 0 };
	struct nic_first_tile f;
	unsigned int k;
	int ret;

	ret = check_box(plan, lo, hi);
	if (ret || !tile || !inside)
		return -EINVAL;
	ret = nic_first_tile_begin(&f, plan);
	if (ret)
		return ret;
	for (k = 0; k < plan->n; k++) {
		ret = dot(plan->n, plan->p[k], tile, &origin[k]);
		if (ret)
			return ret;
	}
	*inside = true;
	for (k = 0; k < plan->n && *inside; k++) {
		if (!(f.alone & 1U << k))
			continue;
		ret = meets(plan->p[k][k], origin[k], lo[k], hi[k], inside);
		if (ret)
			return ret;
	}
	if (!*inside)
		return 0;
	while ((ret = nic_first_tile_next(&f)) > 0)
		if (point_inside(&f, origin, lo, hi))
			return 0;
	*inside = false;
	return ret;
}
