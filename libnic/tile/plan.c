// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The supernode transformation: H, P, and the dependences between tiles.
 *
 * Owns nothing: every function works on its arguments alone. Invariants of a
 * usable plan (n != 0): h / h_den is exactly p^-1, h_den is the least common
 * denominator and positive, and so divides volume = |det p|.
 *
 * All arithmetic on user values goes through __builtin_*_overflow.
 */
#include <errno.h>
#include <string.h>

#include "plan_internal.h"

/* Exact rationals: reduced, denominator positive. */

static uint64_t magnitude(int64_t a)
{
	return a < 0 ? -(uint64_t)a : (uint64_t)a;
}

/* Of 0 and 0: 1, so that one may always divide by it. */
static int64_t gcd(int64_t a, int64_t b)
{
	uint64_t x = magnitude(a), y = magnitude(b), rest;

	while (y) {
		rest = x % y;
		x = y;
		y = rest;
	}
	return x && x <= INT64_MAX ? (int64_t)x : 1;
}

static int ratio_reduce(struct nic_ratio *r)
{
	int64_t common;

	/* The one value without a negative would be a trap all over. */
	if (r->num == INT64_MIN || r->den == INT64_MIN)
		return -EOVERFLOW;
	common = gcd(r->num, r->den);
	if (r->den < 0)
		common = -common;
	r->num /= common;
	r->den /= common;
	return 0;
}

static int ratio_mul(struct nic_ratio a, struct nic_ratio b,
		     struct nic_ratio *out)
{
	int64_t left = gcd(a.num, b.den), right = gcd(b.num, a.den);

	if (__builtin_mul_overflow(a.num / left, b.num / right, &out->num) ||
	    __builtin_mul_overflow(a.den / right, b.den / left, &out->den))
		return -EOVERFLOW;
	return ratio_reduce(out);
}

static int ratio_div(struct nic_ratio a, struct nic_ratio b,
		     struct nic_ratio *out)
{
	struct nic_ratio inverse = { b.den, b.num };
	int ret;

	ret = ratio_reduce(&inverse);
	return ret ? ret : ratio_mul(a, inverse, out);
}

static int ratio_sub(struct nic_ratio a, struct nic_ratio b,
		     struct nic_ratio *out)
{
	int64_t common = gcd(a.den, b.den), left, right;

	if (__builtin_mul_overflow(a.num, b.den / common, &left) ||
	    __builtin_mul_overflow(b.num, a.den / common, &right) ||
	    __builtin_sub_overflow(left, right, &out->num) ||
	    __builtin_mul_overflow(a.den / common, b.den, &out->den))
		return -EOVERFLOW;
	return ratio_reduce(out);
}

/* row -= factor * pivot_row, in both matrices */
static int subtract_row(unsigned int n, struct nic_ratio *row,
			const struct nic_ratio *pivot_row,
			struct nic_ratio factor)
{
	struct nic_ratio product;
	unsigned int c;
	int ret;

	for (c = 0; c < n; c++) {
		ret = ratio_mul(factor, pivot_row[c], &product);
		if (!ret)
			ret = ratio_sub(row[c], product, &row[c]);
		if (ret)
			return ret;
	}
	return 0;
}

static int clear_column(unsigned int n, unsigned int col,
			struct nic_ratio a[][N_MAX],
			struct nic_ratio inv[][N_MAX])
{
	struct nic_ratio factor;
	unsigned int r;
	int ret;

	for (r = 0; r < n; r++) {
		if (r == col || !a[r][col].num)
			continue;
		ret = ratio_div(a[r][col], a[col][col], &factor);
		if (!ret)
			ret = subtract_row(n, inv[r], inv[col], factor);
		if (!ret)
			ret = subtract_row(n, a[r], a[col], factor);
		if (ret)
			return ret;
	}
	return 0;
}

static int find_pivot(unsigned int n, unsigned int col,
		      struct nic_ratio a[][N_MAX],
		      struct nic_ratio inv[][N_MAX])
{
	struct nic_ratio row[N_MAX];
	unsigned int r = col;

	while (r < n && !a[r][col].num)
		r++;
	if (r == n)
		return -EDOM;
	if (r == col)
		return 0;
	memcpy(row, a[r], sizeof(row));
	memcpy(a[r], a[col], sizeof(row));
	memcpy(a[col], row, sizeof(row));
	memcpy(row, inv[r], sizeof(row));
	memcpy(inv[r], inv[col], sizeof(row));
	memcpy(inv[col], row, sizeof(row));
	return 0;
}

/* Gauss-Jordan. @a is destroyed; @det is the determinant but for its sign. */
static int invert(unsigned int n, struct nic_ratio a[][N_MAX],
		  struct nic_ratio inv[][N_MAX], struct nic_ratio *det)
{
	unsigned int r, c;
	int ret;

	for (r = 0; r < N_MAX; r++)
		for (c = 0; c < N_MAX; c++)
			inv[r][c] = (struct nic_ratio){ r == c, 1 };
	*det = (struct nic_ratio){ 1, 1 };
	for (c = 0; c < n; c++) {
		ret = find_pivot(n, c, a, inv);
		if (!ret)
			ret = clear_column(n, c, a, inv);
		if (!ret)
			ret = ratio_mul(*det, a[c][c], det);
		if (ret)
			return ret;
	}
	for (r = 0; r < n; r++) {
		for (c = 0; c < n; c++) {
			ret = ratio_div(inv[r][c], a[r][r], &inv[r][c]);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Building a plan */

static int plan_begin(struct nic_tile_plan *plan, unsigned int n,
		      const void *matrix)
{
	size_t size;

	if (!plan || plan->size < sizeof(*plan))
		return -EINVAL;
	size = plan->size;
	memset(plan, 0, sizeof(*plan));
	plan->size = size;
	if (!matrix)
		return refuse(plan->detail, -EINVAL, "no matrix given");
	if (!n || n > N_MAX)
		return refuse(plan->detail, -EINVAL,
			      "%u dimensions: must be 1 to %d", n, N_MAX);
	return 0;
}

static int plan_fail(struct nic_tile_plan *plan, int err, const char *name)
{
	if (err == -EDOM)
		return refuse(plan->detail, err,
			      "%s is singular: the tile has no volume", name);
	return refuse(plan->detail, err,
		      "%s needs more than 64 bits: use a smaller tile", name);
}

static int plan_set_h(struct nic_tile_plan *plan, unsigned int n,
		      struct nic_ratio h[][N_MAX])
{
	unsigned int r, c;
	int64_t common;

	plan->h_den = 1;
	for (r = 0; r < n; r++) {
		for (c = 0; c < n; c++) {
			common = gcd(plan->h_den, h[r][c].den);
			if (__builtin_mul_overflow(plan->h_den,
						   h[r][c].den / common,
						   &plan->h_den))
				return -EOVERFLOW;
		}
	}
	for (r = 0; r < n; r++)
		for (c = 0; c < n; c++)
			if (__builtin_mul_overflow(h[r][c].num,
						   plan->h_den / h[r][c].den,
						   &plan->h[r][c]))
				return -EOVERFLOW;
	return 0;
}

static int refuse_fraction(struct nic_tile_plan *plan, unsigned int r,
			   unsigned int c, struct nic_ratio p)
{
	return refuse(plan->detail, -EDOM,
		      "P[%u][%u] = %jd/%jd is not an integer: choose another H",
		      r, c, (intmax_t)p.num, (intmax_t)p.den);
}

static int plan_set_p(struct nic_tile_plan *plan, unsigned int n,
		      struct nic_ratio p[][N_MAX])
{
	unsigned int r, c;

	for (r = 0; r < n; r++) {
		for (c = 0; c < n; c++) {
			if (p[r][c].den != 1)
				return refuse_fraction(plan, r, c, p[r][c]);
			plan->p[r][c] = p[r][c].num;
		}
	}
	return 0;
}

int nic_plan_from_h(struct nic_tile_plan *plan, unsigned int n,
		    const struct nic_ratio *h)
{
	struct nic_ratio given[N_MAX][N_MAX] = { 0 }, p[N_MAX][N_MAX];
	struct nic_ratio work[N_MAX][N_MAX];
	struct nic_ratio det;
	unsigned int i;
	int ret;

	ret = plan_begin(plan, n, h);
	if (ret)
		return ret;
	for (i = 0; i < n * n; i++) {
		if (!h[i].den)
			return refuse(plan->detail, -EINVAL,
				      "H[%u][%u] has a denominator of 0",
				      i / n, i % n);
		given[i / n][i % n] = h[i];
		ret = ratio_reduce(&given[i / n][i % n]);
		if (ret)
			return plan_fail(plan, ret, "H");
	}
	memcpy(work, given, sizeof(work));
	ret = invert(n, work, p, &det);
	if (ret)
		return plan_fail(plan, ret, "H");
	ret = plan_set_p(plan, n, p);
	if (ret)
		return ret;
	ret = plan_set_h(plan, n, given);
	if (ret)
		return plan_fail(plan, ret, "H");
	/* det P = 1 / det H, an integer because P is integral */
	plan->volume = (int64_t)magnitude(det.den);
	plan->n = n;
	return 0;
}

int nic_plan_from_p(struct nic_tile_plan *plan, unsigned int n,
		    const int64_t *p)
{
	struct nic_ratio det;
	struct nic_ratio work[N_MAX][N_MAX] = { 0 }, h[N_MAX][N_MAX];
	unsigned int i;
	int ret;

	ret = plan_begin(plan, n, p);
	if (ret)
		return ret;
	for (i = 0; i < n * n; i++) {
		plan->p[i / n][i % n] = p[i];
		work[i / n][i % n] = (struct nic_ratio){ p[i], 1 };
		if (p[i] == INT64_MIN)
			return plan_fail(plan, -EOVERFLOW, "P");
	}
	ret = invert(n, work, h, &det);
	if (!ret)
		ret = plan_set_h(plan, n, h);
	if (ret)
		return plan_fail(plan, ret, "P");
	plan->volume = (int64_t)magnitude(det.num);
	plan->n = n;
	return 0;
}

/* Dependences */

/* (HD)_kj over h_den, for one dependence */
static int map_dep(const struct nic_tile_plan *plan, const int64_t *dep,
		   int64_t *hd)
{
	unsigned int k;
	int ret = 0;

	for (k = 0; k < plan->n && !ret; k++)
		ret = dot(plan->n, plan->h[k], dep, &hd[k]);
	return ret;
}

/* The least and the largest of all (HD)_kj over h_den */
static int find_bounds(const struct nic_tile_plan *plan, unsigned int ndeps,
		       const int64_t *deps, int64_t *least, int64_t *most)
{
	int64_t hd[N_MAX];
	unsigned int j, k;
	int ret;

	if (!plan_usable(plan) || (ndeps && !deps))
		return -EINVAL;
	*least = INT64_MAX;
	*most = INT64_MIN;
	for (j = 0; j < ndeps; j++) {
		ret = map_dep(plan, deps + (size_t)j * plan->n, hd);
		if (ret)
			return ret;
		for (k = 0; k < plan->n; k++) {
			*least = hd[k] < *least ? hd[k] : *least;
			*most = hd[k] > *most ? hd[k] : *most;
		}
	}
	return 0;
}

int nic_plan_test_legal(const struct nic_tile_plan *plan, unsigned int ndeps,
			const int64_t *deps, bool *legal)
{
	int64_t least, most;
	int ret;

	if (!legal)
		return -EINVAL;
	ret = find_bounds(plan, ndeps, deps, &least, &most);
	if (!ret)
		*legal = least >= 0;
	return ret;
}

int nic_plan_test_contained(const struct nic_tile_plan *plan,
			    unsigned int ndeps, const int64_t *deps,
			    bool *contained)
{
	int64_t least, most;
	int ret;

	if (!contained)
		return -EINVAL;
	ret = find_bounds(plan, ndeps, deps, &least, &most);
	if (!ret)
		*contained = most < plan->h_den;
	return ret;
}

/* A sorted set of vectors in the caller's array */
struct vectors {
	unsigned int n, max, count;
	int64_t *v;
};

static int compare(unsigned int n, const int64_t *a, const int64_t *b)
{
	unsigned int k;

	for (k = 0; k < n; k++)
		if (a[k] != b[k])
			return a[k] < b[k] ? -1 : 1;
	return 0;
}

static int vectors_add(struct vectors *set, const int64_t *v)
{
	size_t n = set->n;
	unsigned int i = set->count;
	int64_t *slot;
	int order = 1;

	while (i && (order = compare(set->n, v, set->v + (i - 1) * n)) < 0)
		i--;
	if (i && !order)
		return 0;
	if (set->count == set->max)
		return -ENOSPC;
	slot = set->v + i * n;
	memmove(slot + n, slot, (set->count - i) * n * sizeof(*slot));
	memcpy(slot, v, n * sizeof(*slot));
	set->count++;
	return 0;
}

/*
 * floor(H(j0 + d)) = floor(Hd) + e, where e_k is 1 iff the fraction of (Hd)_k
 * and (H j0)_k together reach 1. Mark every e that some j0 produces, as a bit
 * mask; an independent dimension has both values, or only 0 if (Hd)_k is whole.
 */
static int mark_carries(const struct nic_tile_plan *plan,
			const int64_t *fraction, bool *seen)
{
	unsigned int k, mask, both = 0;
	struct nic_first_tile f;
	int ret;

	ret = nic_first_tile_begin(&f, plan);
	if (ret)
		return ret;
	for (k = 0; k < plan->n; k++)
		if (f.alone & 1U << k && fraction[k])
			both |= 1U << k;
	while ((ret = nic_first_tile_next(&f)) > 0) {
		mask = 0;
		for (k = 0; k < plan->n; k++)
			if (f.at[k] >= plan->h_den - fraction[k])
				mask |= 1U << k;
		seen[mask] = true;
	}
	for (mask = 0; mask < 1U << plan->n; mask++)
		if (mask & both && !(mask & f.alone & ~both))
			seen[mask] = seen[mask & ~both];
	return ret;
}

static int list_one(const struct nic_tile_plan *plan, const int64_t *dep,
		    struct vectors *set)
{
	bool seen[1 << N_MAX] = { false };
	int64_t hd[N_MAX], base[N_MAX] = { 0 }, v[N_MAX];
	unsigned int k, mask;
	bool zero;
	int ret;

	ret = map_dep(plan, dep, hd);
	if (ret)
		return ret;
	for (k = 0; k < plan->n; k++) {
		base[k] = floor_div(hd[k], plan->h_den);
		hd[k] -= base[k] * plan->h_den;
	}
	ret = mark_carries(plan, hd, seen);
	for (mask = 0; mask < 1U << plan->n && !ret; mask++) {
		zero = true;
		for (k = 0; k < plan->n; k++) {
			v[k] = base[k] + (mask >> k & 1);
			zero &= !v[k];
		}
		if (seen[mask] && !zero)
			ret = vectors_add(set, v);
	}
	return ret;
}

int nic_plan_list_deps(const struct nic_tile_plan *plan, unsigned int ndeps,
		       const int64_t *deps, unsigned int max,
		       int64_t *tile_deps, unsigned int *count)
{
	struct vectors set = { .max = max, .v = tile_deps };
	unsigned int j;
	int ret = 0;

	if (!plan_usable(plan) || !count || (ndeps && !deps) ||
	    (max && !tile_deps))
		return -EINVAL;
	set.n = plan->n;
	for (j = 0; j < ndeps && !ret; j++)
		ret = list_one(plan, deps + (size_t)j * plan->n, &set);
	*count = set.count;
	if (ret == -ENOSPC && __builtin_mul_overflow(ndeps, 1U << plan->n,
						     count))
		return -EOVERFLOW;
	return ret;
}

int nic_plan_get_traffic(const struct nic_tile_plan *plan, unsigned int mapped,
			 unsigned int ndeps, const int64_t *deps,
			 int64_t *points)
{
	int64_t hd[N_MAX], total = 0;
	unsigned int j, k;
	bool legal;
	int ret;

	ret = nic_plan_test_legal(plan, ndeps, deps, &legal);
	if (ret || !points)
		return ret ? ret : -EINVAL;
	if (mapped >= plan->n)
		return -ERANGE;
	if (!legal)
		return -EDOM;
	for (j = 0; j < ndeps; j++) {
		ret = map_dep(plan, deps + (size_t)j * plan->n, hd);
		if (ret)
			return ret;
		for (k = 0; k < plan->n; k++)
			if (k != mapped &&
			    __builtin_add_overflow(total, hd[k], &total))
				return -EOVERFLOW;
	}
	/* h_den divides the volume: no rounding */
	if (__builtin_mul_overflow(total, plan->volume / plan->h_den, points))
		return -EOVERFLOW;
	return 0;
}
