// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The supernode transformation, its schedules, and the processor grid.
 *
 * Owns nothing: every function works on its arguments alone. Invariants of a
 * usable plan (n != 0): h / h_den is exactly p^-1, h_den is the least common
 * denominator and positive, and so divides volume = |det p|.
 *
 * All arithmetic on user values goes through __builtin_*_overflow.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <nic_tile_plan.h>

#define N_MAX NIC_PLAN_MAX_DIM

typedef struct nic_ratio matrix[N_MAX][N_MAX];

__attribute__((format(printf, 3, 4)))
static int refuse(char *detail, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(detail, NIC_PLAN_DETAIL, format, args);
	va_end(args);
	return err;
}

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

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
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

static int clear_column(unsigned int n, unsigned int col, matrix a, matrix inv)
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

static int find_pivot(unsigned int n, unsigned int col, matrix a, matrix inv)
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
static int invert(unsigned int n, matrix a, matrix inv, struct nic_ratio *det)
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
		      const void *elements)
{
	size_t size;

	if (!plan || plan->size < sizeof(*plan))
		return -EINVAL;
	size = plan->size;
	memset(plan, 0, sizeof(*plan));
	plan->size = size;
	if (!elements)
		return refuse(plan->detail, -EINVAL, "no matrix given");
	if (!n || n > N_MAX)
		return refuse(plan->detail, -EINVAL,
			      "%u dimensions: must be 1 to %d", n, N_MAX);
	return 0;
}

static int plan_fail(struct nic_tile_plan *plan, int err, const char *name)
{
	if (err == -EDOM)
		return refuse(plan->detail, err, "%s is singular: its rows do "
			      "not span a tile of non-zero volume", name);
	return refuse(plan->detail, err, "computing with %s needs more than "
		      "64 bits: use a smaller tile", name);
}

static int plan_set_h(struct nic_tile_plan *plan, unsigned int n, matrix h)
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

static int plan_set_p(struct nic_tile_plan *plan, unsigned int n, matrix p)
{
	unsigned int r, c;

	for (r = 0; r < n; r++) {
		for (c = 0; c < n; c++) {
			if (p[r][c].den != 1)
				return refuse(plan->detail, -EDOM,
					      "P[%u][%u] = %" PRId64 "/%" PRId64
					      " is not an integer: choose an H "
					      "whose inverse P is integral",
					      r, c, p[r][c].num, p[r][c].den);
			plan->p[r][c] = p[r][c].num;
		}
	}
	return 0;
}

int nic_plan_from_h(struct nic_tile_plan *plan, unsigned int n,
		    const struct nic_ratio *h)
{
	matrix given = { 0 }, work = { 0 }, p;
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
	matrix work = { 0 }, h;
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

/* Points and tiles */

static bool plan_usable(const struct nic_tile_plan *plan)
{
	return plan && plan->size >= sizeof(*plan) && plan->n &&
	       plan->n <= N_MAX && plan->h_den > 0;
}

/* sum row_c v_c */
static int dot(unsigned int n, const int64_t *row, const int64_t *v,
	       int64_t *sum)
{
	int64_t total = 0, product;
	unsigned int c;

	for (c = 0; c < n; c++)
		if (__builtin_mul_overflow(row[c], v[c], &product) ||
		    __builtin_add_overflow(total, product, &total))
			return -EOVERFLOW;
	*sum = total;
	return 0;
}

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

/*
 * The points j0 of the first tile, floor(H j0) = 0, found in its bounding box.
 * A dimension whose row and column of P hold nothing but the diagonal is
 * independent of all others: it stays 0 here and is treated in closed form, so
 * that a tile 10^6 points high costs no more than a flat one.
 */
struct first_tile {
	const struct nic_tile_plan *plan;
	unsigned int alone;	/* bit k: dimension k is independent */
	int64_t lo[N_MAX], hi[N_MAX];
	int64_t j[N_MAX];
	int64_t at[N_MAX];	/* H j0, over h_den: 0 to h_den - 1 */
};

static bool is_alone(const struct nic_tile_plan *plan, unsigned int k)
{
	unsigned int c;

	for (c = 0; c < plan->n; c++)
		if (c != k && (plan->p[k][c] || plan->p[c][k]))
			return false;
	return true;
}

static int first_tile_begin(struct first_tile *f,
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
	/* One before the first, for first_tile_next() to begin with */
	f->j[plan->n - 1]--;
	return 0;
}

static bool first_tile_step(struct first_tile *f)
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

/* 1 and the next point in @f->j, 0 after the last one, or an error. */
static int first_tile_next(struct first_tile *f)
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

static bool point_inside(const struct first_tile *f, const int64_t *origin,
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
	struct first_tile f;
	unsigned int k;
	int ret;

	ret = check_box(plan, lo, hi);
	if (ret || !tile || !inside)
		return -EINVAL;
	ret = first_tile_begin(&f, plan);
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
	while ((ret = first_tile_next(&f)) > 0)
		if (point_inside(&f, origin, lo, hi))
			return 0;
	*inside = false;
	return ret;
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

int nic_plan_test_legal(const struct nic_tile_plan *plan, unsigned int ndeps,
			const int64_t *deps, bool *legal)
{
	int64_t hd[N_MAX];
	unsigned int j, k;
	bool yes = true;
	int ret;

	if (!plan_usable(plan) || !legal || (ndeps && !deps))
		return -EINVAL;
	for (j = 0; j < ndeps; j++) {
		ret = map_dep(plan, deps + (size_t)j * plan->n, hd);
		if (ret)
			return ret;
		for (k = 0; k < plan->n; k++)
			yes &= hd[k] >= 0;
	}
	*legal = yes;
	return 0;
}

int nic_plan_test_contained(const struct nic_tile_plan *plan,
			    unsigned int ndeps, const int64_t *deps,
			    bool *contained)
{
	int64_t hd[N_MAX];
	unsigned int j, k;
	bool yes = true;
	int ret;

	if (!plan_usable(plan) || !contained || (ndeps && !deps))
		return -EINVAL;
	for (j = 0; j < ndeps; j++) {
		ret = map_dep(plan, deps + (size_t)j * plan->n, hd);
		if (ret)
			return ret;
		for (k = 0; k < plan->n; k++)
			yes &= hd[k] < plan->h_den;
	}
	*contained = yes;
	return 0;
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
	struct first_tile f;
	int ret;

	ret = first_tile_begin(&f, plan);
	if (ret)
		return ret;
	for (k = 0; k < plan->n; k++)
		if (f.alone & 1U << k && fraction[k])
			both |= 1U << k;
	while ((ret = first_tile_next(&f)) > 0) {
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

/* Schedules */

/* Steps until the result of a tile is there for a neighbouring processor */
static int latency(enum nic_tile_schedule schedule)
{
	switch (schedule) {
	case NIC_TILE_NONOVERLAP:
		return 1;
	case NIC_TILE_OVERLAP:
		return 2;
	}
	return -EINVAL;
}

int nic_plan_find_longest(unsigned int n, const int64_t *extent,
			  unsigned int *dim)
{
	unsigned int k, best = 0;

	if (!n || n > N_MAX || !extent || !dim)
		return -EINVAL;
	for (k = 1; k < n; k++)
		if (extent[k] >= extent[best])
			best = k;
	*dim = best;
	return 0;
}

int nic_plan_get_vector(enum nic_tile_schedule schedule, unsigned int n,
			unsigned int mapped, int64_t *pi)
{
	int steps = latency(schedule);
	unsigned int k;

	if (steps < 0 || !n || n > N_MAX || !pi)
		return -EINVAL;
	if (mapped >= n)
		return -ERANGE;
	for (k = 0; k < n; k++)
		pi[k] = k == mapped ? 1 : steps;
	return 0;
}

int nic_plan_get_step(enum nic_tile_schedule schedule, unsigned int n,
		      unsigned int mapped, const int64_t *tile, int64_t *step)
{
	int64_t pi[N_MAX];
	unsigned int k;
	int ret;

	if (!tile || !step)
		return -EINVAL;
	ret = nic_plan_get_vector(schedule, n, mapped, pi);
	if (ret)
		return ret;
	for (k = 0; k < n; k++)
		if (tile[k] < 0)
			return -ERANGE;
	return dot(n, pi, tile, step);
}

int nic_plan_get_last(enum nic_tile_schedule schedule, unsigned int n,
		      unsigned int mapped, const int64_t *x,
		      const int64_t *tile, int64_t *step)
{
	int64_t last[N_MAX];
	unsigned int k;

	if (!x || !tile || !n || n > N_MAX)
		return -EINVAL;
	if (mapped >= n)
		return -ERANGE;
	for (k = 0; k < n; k++) {
		last[k] = k == mapped ? x[k] : tile[k];
		if (last[k] > x[k])
			return -ERANGE;
	}
	return nic_plan_get_step(schedule, n, mapped, last, step);
}

int nic_plan_count_steps(enum nic_tile_schedule schedule, unsigned int n,
			 unsigned int mapped, const int64_t *x,
			 int64_t *steps)
{
	int64_t last;
	int ret;

	if (!steps)
		return -EINVAL;
	ret = nic_plan_get_step(schedule, n, mapped, x, &last);
	if (ret)
		return ret;
	return __builtin_add_overflow(last, 1, steps) ? -EOVERFLOW : 0;
}

/* The processor grid */

static bool grid_usable(const struct nic_tile_grid *grid)
{
	return grid && grid->size >= sizeof(*grid) && grid->nranks;
}

/*
 * A longer struct of a newer caller is fine while it says nothing new. A size
 * beyond a page was never set.
 */
static int check_tail(const void *options, size_t size, size_t known)
{
	const unsigned char *byte = options;

	if (size < known || size > 4096)
		return -EINVAL;
	for (; known < size; known++)
		if (byte[known])
			return -E2BIG;
	return 0;
}

/* Points of the largest block; the first N mod p ranks have it */
static uint64_t largest_block(const struct nic_tile_grid *grid, unsigned int d)
{
	return (grid->dims[d] - 1) / grid->ranks[d] + 1;
}

static int grid_set_pipe(struct nic_tile_grid *grid,
			 const struct nic_grid_options *options)
{
	unsigned int d;

	if (options->flags & NIC_GRID_PIPE) {
		if (options->pipe >= options->ndims)
			return refuse(grid->detail, -EINVAL,
				      "pipelined dimension %" PRIu32 ": there "
				      "are only %" PRIu32, options->pipe,
				      options->ndims);
		grid->pipe = options->pipe;
		return 0;
	}
	if (options->pipe)
		return refuse(grid->detail, -EINVAL, "a pipelined dimension "
			      "without the flag NIC_GRID_PIPE");
	for (d = 1; d < options->ndims; d++)
		if (options->dims[d] >= options->dims[grid->pipe])
			grid->pipe = d;
	return 0;
}

static int grid_set_dims(struct nic_tile_grid *grid,
			 const struct nic_grid_options *options)
{
	uint32_t ranks, nranks = 1;
	unsigned int d;

	for (d = 0; d < options->ndims; d++) {
		ranks = options->ranks[d];
		if (d == grid->pipe && ranks > 1)
			return refuse(grid->detail, -EINVAL,
				      "%" PRIu32 " ranks along dimension %u: "
				      "it is the pipelined one, all its tiles "
				      "stay on one rank", ranks, d);
		if (d == grid->pipe)
			ranks = 1;
		if (!ranks || ranks > options->dims[d])
			return refuse(grid->detail, -EINVAL,
				      "%" PRIu32 " ranks for the %" PRIu64
				      " points of dimension %u: must be 1 to "
				      "the points", ranks, options->dims[d], d);
		grid->dims[d] = options->dims[d];
		grid->ranks[d] = ranks;
		if (__builtin_mul_overflow(nranks, ranks, &nranks) ||
		    nranks > INT32_MAX)
			return refuse(grid->detail, -EOVERFLOW,
				      "more than 2^31 ranks");
	}
	grid->nranks = nranks;
	return 0;
}

/* Sizes of the largest blocks. No smaller block can overflow afterwards. */
static int grid_set_sizes(struct nic_tile_grid *grid)
{
	uint64_t unit, points;
	unsigned int d, other;
	bool bad = false;

	grid->area = 1;
	for (d = 0; d < grid->ndims; d++) {
		if (d == grid->pipe)
			continue;
		bad |= __builtin_mul_overflow(grid->area,
					      largest_block(grid, d),
					      &grid->area);
		unit = grid->element;
		for (other = 0; other < grid->ndims; other++) {
			if (other == grid->pipe || other == d)
				continue;
			points = largest_block(grid, other);
			bad |= __builtin_mul_overflow(unit, points, &unit);
		}
		bad |= __builtin_mul_overflow(unit, grid->height, &points);
		if (grid->ranks[d] == 1)
			continue;
		grid->face_bytes[d] = points;
		bad |= __builtin_add_overflow(grid->unit_bytes, unit,
					      &grid->unit_bytes);
	}
	return bad ? -EOVERFLOW : 0;
}

static int grid_fill(struct nic_tile_grid *grid,
		     const struct nic_grid_options *options)
{
	uint64_t whole;
	int ret;

	ret = grid_set_pipe(grid, options);
	if (!ret)
		ret = grid_set_dims(grid, options);
	if (ret)
		return ret;
	whole = grid->dims[grid->pipe];
	grid->height = options->height;
	if (!grid->height || grid->height > whole)
		return refuse(grid->detail, -EINVAL, "tile height %" PRIu64
			      ": must be 1 to %" PRIu64 ", the points of "
			      "dimension %" PRIu32, grid->height, whole,
			      grid->pipe);
	/* Steps stay far below 2^63, as do tile numbers in find_tile(). */
	grid->ntiles = (whole - 1) / grid->height + 1;
	if (grid->ntiles > INT64_MAX / 2)
		return refuse(grid->detail, -EOVERFLOW,
			      "%" PRIu64 " tiles are too many: use a greater "
			      "tile height", grid->ntiles);
	grid->element = options->element;
	ret = grid_set_sizes(grid);
	if (ret)
		refuse(grid->detail, ret, "a block or a message has more than "
		       "2^64 points or bytes");
	return ret;
}

int nic_grid_init(struct nic_tile_grid *grid,
		  const struct nic_grid_options *options)
{
	size_t size;
	int ret;

	if (!grid || grid->size < sizeof(*grid))
		return -EINVAL;
	size = grid->size;
	memset(grid, 0, sizeof(*grid));
	grid->size = size;
	if (!options)
		return refuse(grid->detail, -EINVAL, "no options given");
	ret = check_tail(options, options->size, sizeof(*options));
	if (ret)
		return refuse(grid->detail, ret, "options of %zu bytes: this "
			      "library knows %zu", options->size,
			      sizeof(*options));
	if (options->flags & ~NIC_GRID_PIPE)
		return refuse(grid->detail, -EINVAL, "unknown flags 0x%" PRIx32,
			      options->flags);
	if (options->ndims < 2 || options->ndims > N_MAX)
		return refuse(grid->detail, -EINVAL, "%" PRIu32 " dimensions: "
			      "must be 2 to %d", options->ndims, N_MAX);
	if (!options->element)
		return refuse(grid->detail, -EINVAL, "elements of 0 bytes");
	grid->ndims = options->ndims;
	ret = grid_fill(grid, options);
	if (ret)
		grid->nranks = 0;	/* not usable */
	return ret;
}

int nic_grid_get_coords(const struct nic_tile_grid *grid, uint32_t rank,
			uint32_t *coords)
{
	unsigned int d;

	if (!grid_usable(grid) || !coords)
		return -EINVAL;
	if (rank >= grid->nranks)
		return -ERANGE;
	for (d = grid->ndims; d--; rank /= grid->ranks[d])
		coords[d] = rank % grid->ranks[d];
	return 0;
}

int nic_grid_get_rank(const struct nic_tile_grid *grid, const uint32_t *coords,
		      uint32_t *rank)
{
	uint32_t number = 0;
	unsigned int d;

	if (!grid_usable(grid) || !coords || !rank)
		return -EINVAL;
	for (d = 0; d < grid->ndims; d++) {
		if (coords[d] >= grid->ranks[d])
			return -ERANGE;
		number = number * grid->ranks[d] + coords[d];
	}
	*rank = number;
	return 0;
}

int nic_grid_get_neighbors(const struct nic_tile_grid *grid, uint32_t rank,
			   unsigned int dim, int *prev, int *next)
{
	uint32_t coords[N_MAX], stride = 1;
	unsigned int d;
	int ret;

	if (!prev || !next)
		return -EINVAL;
	ret = nic_grid_get_coords(grid, rank, coords);
	if (ret)
		return ret;
	if (dim >= grid->ndims)
		return -ERANGE;
	for (d = dim + 1; d < grid->ndims; d++)
		stride *= grid->ranks[d];
	*prev = coords[dim] ? (int)(rank - stride) : -1;
	*next = coords[dim] + 1 < grid->ranks[dim] ? (int)(rank + stride) : -1;
	return 0;
}

int nic_grid_get_block(const struct nic_tile_grid *grid, uint32_t rank,
		       unsigned int dim, uint64_t *first, uint64_t *count)
{
	uint64_t base, longer, x;
	uint32_t coords[N_MAX];
	int ret;

	if (!first || !count)
		return -EINVAL;
	ret = nic_grid_get_coords(grid, rank, coords);
	if (ret)
		return ret;
	if (dim >= grid->ndims)
		return -ERANGE;
	x = coords[dim];
	base = grid->dims[dim] / grid->ranks[dim];
	longer = grid->dims[dim] % grid->ranks[dim];
	*first = x * base + (x < longer ? x : longer);
	*count = base + (x < longer);
	return 0;
}

int nic_grid_get_tile(const struct nic_tile_grid *grid, uint64_t k,
		      uint64_t *first, uint64_t *count)
{
	uint64_t left;

	if (!grid_usable(grid) || !first || !count)
		return -EINVAL;
	if (k >= grid->ntiles)
		return -ERANGE;
	*first = k * grid->height;
	left = grid->dims[grid->pipe] - *first;
	*count = left < grid->height ? left : grid->height;
	return 0;
}

int nic_grid_get_face(const struct nic_tile_grid *grid, uint32_t rank,
		      unsigned int dim, uint64_t k, uint64_t *bytes)
{
	uint64_t first, count, size;
	unsigned int d;
	int ret;

	if (!bytes)
		return -EINVAL;
	ret = nic_grid_get_tile(grid, k, &first, &size);
	if (ret)
		return ret;
	if (dim >= grid->ndims || dim == grid->pipe)
		return -ERANGE;
	size *= grid->element;
	for (d = 0; d < grid->ndims; d++) {
		if (d == dim || d == grid->pipe)
			continue;
		ret = nic_grid_get_block(grid, rank, d, &first, &count);
		if (ret)
			return ret;
		size *= count;
	}
	/* In two dimensions no block was asked for above. */
	if (rank >= grid->nranks)
		return -ERANGE;
	*bytes = size;
	return 0;
}

int nic_grid_get_step(const struct nic_tile_grid *grid,
		      enum nic_tile_schedule schedule, uint32_t rank,
		      uint64_t k, uint64_t *step)
{
	uint32_t coords[N_MAX];
	uint64_t first = 0;
	unsigned int d;
	int ret;

	if (latency(schedule) < 0 || !step)
		return -EINVAL;
	ret = nic_grid_get_coords(grid, rank, coords);
	if (ret)
		return ret;
	if (k >= grid->ntiles)
		return -ERANGE;
	for (d = 0; d < grid->ndims; d++)
		first += coords[d];
	*step = first * (unsigned int)latency(schedule) + k;
	return 0;
}

int nic_grid_get_last(const struct nic_tile_grid *grid,
		      enum nic_tile_schedule schedule, uint32_t rank,
		      uint64_t *step)
{
	if (!grid_usable(grid))
		return -EINVAL;
	return nic_grid_get_step(grid, schedule, rank, grid->ntiles - 1, step);
}

int nic_grid_find_tile(const struct nic_tile_grid *grid,
		       enum nic_tile_schedule schedule, uint32_t rank,
		       uint64_t step, int64_t *k)
{
	uint64_t first;
	int ret;

	if (!k)
		return -EINVAL;
	ret = nic_grid_get_step(grid, schedule, rank, 0, &first);
	if (ret)
		return ret;
	*k = step < first || step - first >= grid->ntiles ?
	     -1 : (int64_t)(step - first);
	return 0;
}

int nic_grid_count_steps(const struct nic_tile_grid *grid,
			 enum nic_tile_schedule schedule, uint64_t *steps)
{
	uint64_t last;
	int ret;

	if (!grid_usable(grid) || !steps)
		return -EINVAL;
	ret = nic_grid_get_last(grid, schedule, grid->nranks - 1, &last);
	if (ret)
		return ret;
	*steps = last + 1;
	return 0;
}
