/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The supernode (tiling) transformation and its two schedules. nic_tile_grid.h
 * builds on them.
 *
 * Everything here is pure: no file descriptor, no I/O, no allocation, no
 * global. So every function is thread-safe as long as the callers do not write
 * to the same object, none blocks, and none needs a driver.
 *
 * Decisions (legal, contained, integral, which tile) are made in exact integer
 * arithmetic. What does not fit 64 bits is -EOVERFLOW, never a wrong answer;
 * the check is on intermediate values too, so it is conservative.
 *
 * Source: "[P]" is the paper on overlapped tile execution over PCI-SCI DMA
 * (Dolphin D330, 3 x 3 nodes; Documentation/tile.rst, References); sections and
 * equations are its own.
 *
 * Every function returns 0 or a negative errno:
 *   -EINVAL	a NULL, a count or a field outside its documented range
 *   -EDOM	the matrix is singular, or P is not integral, or (where stated)
 *		the tiling is not legal
 *   -EOVERFLOW	a value does not fit
 *   -ERANGE	an index (tile, rank, dimension) outside the plan
 *   -ENOSPC	the caller's array is too short
 *   -E2BIG	too many points to enumerate, or a longer struct of a newer
 *		library whose tail is not zero
 */
#ifndef NIC_TILE_PLAN_H
#define NIC_TILE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NIC_PLAN_MAX_DIM	8
#define NIC_PLAN_DETAIL		160
/* At most this many candidate points of a first tile are enumerated. */
#define NIC_PLAN_MAX_POINTS	(1 << 24)

/**
 * enum nic_tile_schedule - how the steps of a tile follow each other
 * @NIC_TILE_NONOVERLAP: receive, compute, send; Pi = [1 ... 1] ([P] section 3)
 * @NIC_TILE_OVERLAP: compute tile k while k + 1 arrives and k - 1 leaves;
 *	Pi = 2 everywhere, 1 on the mapped dimension ([P] section 4)
 */
enum nic_tile_schedule {
	NIC_TILE_NONOVERLAP = 0,
	NIC_TILE_OVERLAP = 1,
};

/**
 * struct nic_ratio - an exact rational number
 * @num: numerator
 * @den: denominator, not zero; need not be reduced
 */
struct nic_ratio {
	int64_t num;
	int64_t den;
};

/**
 * struct nic_tile_plan - one tiling H, P = H^-1
 * @size: sizeof(struct nic_tile_plan), set by the caller before
 *	nic_plan_from_h() or nic_plan_from_p(); all else is set by these
 * @n: loop dimensions; 0 while the plan is not usable
 * @reserved: zero
 * @p: tile sides as columns: p[row][column], in points
 * @h: numerators of H over the common denominator @h_den: h[row][column]
 * @h_den: common denominator of H, positive, the least one
 * @volume: g = |det P|, points in a tile
 * @detail: after a refusal: what was refused and what to do; else empty
 */
struct nic_tile_plan {
	size_t size;
	uint32_t n;
	uint32_t reserved;
	int64_t p[NIC_PLAN_MAX_DIM][NIC_PLAN_MAX_DIM];
	int64_t h[NIC_PLAN_MAX_DIM][NIC_PLAN_MAX_DIM];
	int64_t h_den;
	int64_t volume;
	char detail[NIC_PLAN_DETAIL];
};

/**
 * nic_plan_from_h - plan a tiling from H
 * @plan: result; @plan->size is set by the caller
 * @n: loop dimensions, 1 to NIC_PLAN_MAX_DIM
 * @h: n x n ratios, row-major; a row is normal to one family of tile faces
 *
 * P = H^-1 is computed exactly and must be integral (a tile must hold whole
 * points).
 *
 * Return: 0; -EINVAL (also: a denominator is 0); -EDOM: H is singular or P is
 * not integral; -EOVERFLOW. On failure @plan->detail explains.
 * Source: [P] section 2.3.
 */
int nic_plan_from_h(struct nic_tile_plan *plan, unsigned int n,
		    const struct nic_ratio *h);

/**
 * nic_plan_from_p - plan a tiling from its side vectors
 * @plan: result; @plan->size is set by the caller
 * @n: loop dimensions, 1 to NIC_PLAN_MAX_DIM
 * @p: n x n integers, row-major; a *column* is one side of the tile, in points
 *
 * Return: 0; -EINVAL; -EDOM: P is singular; -EOVERFLOW. On failure
 * @plan->detail explains. Source: [P] section 2.3, H = P^-1.
 */
int nic_plan_from_p(struct nic_tile_plan *plan, unsigned int n,
		    const int64_t *p);

/**
 * nic_plan_map_point - r(j) = (floor(Hj), j - P floor(Hj))
 * @plan: the tiling
 * @j: an index point, n elements, of either sign
 * @tile: result, n elements: the tile j lies in
 * @within: result, n elements: j relative to the tile's origin, in points
 *
 * Return: 0, -EINVAL, -EOVERFLOW. Source: [P] section 2.3.
 */
int nic_plan_map_point(const struct nic_tile_plan *plan, const int64_t *j,
		       int64_t *tile, int64_t *within);

/**
 * nic_plan_unmap_point - j = P tile + within, the inverse of r
 * @plan: the tiling
 * @tile: tile coordinates, n elements
 * @within: point relative to the tile's origin, n elements
 * @j: result, n elements
 *
 * Return: 0, -EINVAL, -EOVERFLOW.
 */
int nic_plan_unmap_point(const struct nic_tile_plan *plan, const int64_t *tile,
			 const int64_t *within, int64_t *j);

/**
 * nic_plan_get_bounds - the smallest box that holds the tile space
 * @plan: the tiling
 * @lo: first index point of the loop nest in each dimension, n elements
 * @hi: last index point, inclusive, n elements
 * @tile_lo: result, n elements: smallest tile coordinate that occurs
 * @tile_hi: result, n elements: largest tile coordinate that occurs
 *
 * Exact in each dimension by itself. With a P that is not diagonal some tiles
 * of the box may be empty: see nic_plan_test_tile(). The x of the schedules is
 * tile_hi - tile_lo.
 *
 * Return: 0; -EINVAL (also: lo > hi); -EOVERFLOW.
 * Source: [P] section 2.3, JS = { floor(Hj) : j in J }.
 */
int nic_plan_get_bounds(const struct nic_tile_plan *plan, const int64_t *lo,
			const int64_t *hi, int64_t *tile_lo, int64_t *tile_hi);

/**
 * nic_plan_test_tile - is a tile in the tile space of a loop box
 * @plan: the tiling
 * @lo: first index point, n elements
 * @hi: last index point, inclusive, n elements
 * @tile: tile coordinates, n elements
 * @inside: result: at least one point of the box lies in the tile
 *
 * Takes time proportional to the tile's bounding box over the dimensions in
 * which P is not diagonal.
 *
 * Return: 0; -EINVAL; -EOVERFLOW; -E2BIG: more than NIC_PLAN_MAX_POINTS
 * candidates. Source: [P] section 2.3.
 */
int nic_plan_test_tile(const struct nic_tile_plan *plan, const int64_t *lo,
		       const int64_t *hi, const int64_t *tile, bool *inside);

/**
 * nic_plan_test_legal - do the tiles keep the order of execution
 * @plan: the tiling
 * @ndeps: dependence vectors
 * @deps: ndeps x n integers, one dependence vector a *row* (the columns of the
 *	paper's D)
 * @legal: result: HD >= 0, element by element
 *
 * Return: 0, -EINVAL, -EOVERFLOW. Source: [P] section 2.3.
 */
int nic_plan_test_legal(const struct nic_tile_plan *plan, unsigned int ndeps,
			const int64_t *deps, bool *legal);

/**
 * nic_plan_test_contained - is every dependence shorter than the tile
 * @plan: the tiling
 * @ndeps: dependence vectors
 * @deps: ndeps x n integers, one dependence vector a row
 * @contained: result: every element of HD < 1; if the tiling is legal too, the
 *	tile dependences are vectors of 0 and 1
 *
 * Return: 0, -EINVAL, -EOVERFLOW. Source: [P] section 2.3.
 */
int nic_plan_test_contained(const struct nic_tile_plan *plan,
			    unsigned int ndeps, const int64_t *deps,
			    bool *contained);

/**
 * nic_plan_list_deps - the dependences between tiles
 * @plan: the tiling
 * @ndeps: dependence vectors
 * @deps: ndeps x n integers, one dependence vector a row
 * @max: rows that fit @tile_deps; ndeps * 2^n always suffice
 * @tile_deps: result, up to max x n integers: DS = { floor(H(j0 + d)) } over
 *	every j0 of the first tile, without 0, each once, in ascending order
 * @count: result: rows stored; with -ENOSPC: the rows that always suffice
 *
 * Takes time proportional to the tile's bounding box over the dimensions in
 * which P is not diagonal (none, if it is).
 *
 * Return: 0; -EINVAL; -EOVERFLOW; -ENOSPC; -E2BIG: more than
 * NIC_PLAN_MAX_POINTS candidates. Source: [P] section 2.3, the set DS.
 */
int nic_plan_list_deps(const struct nic_tile_plan *plan, unsigned int ndeps,
		       const int64_t *deps, unsigned int max,
		       int64_t *tile_deps, unsigned int *count);

/**
 * nic_plan_get_traffic - communication volume of a tile
 * @plan: the tiling
 * @mapped: dimension i whose tiles all stay on one processor, 0 to n - 1
 * @ndeps: dependence vectors
 * @deps: ndeps x n integers, one dependence vector a row
 * @points: result: |det P| sum_{k != i} sum_j (HD)_kj, in points sent a tile
 *
 * Return: 0; -EINVAL; -ERANGE: @mapped; -EDOM: not legal; -EOVERFLOW.
 * Source: [P] section 2.3 (the formula of its references 4 and 22).
 */
int nic_plan_get_traffic(const struct nic_tile_plan *plan, unsigned int mapped,
			 unsigned int ndeps, const int64_t *deps,
			 int64_t *points);

/**
 * nic_plan_find_longest - the dimension to map to one processor
 * @n: dimensions, 1 to NIC_PLAN_MAX_DIM
 * @extent: extent of each dimension, n elements
 * @dim: result: the largest; of equal ones the last (contiguous in memory)
 *
 * Return: 0, -EINVAL. Source: [P] section 4 (the choice is optimal).
 */
int nic_plan_find_longest(unsigned int n, const int64_t *extent,
			  unsigned int *dim);

/**
 * nic_plan_get_vector - the schedule vector Pi
 * @schedule: which schedule
 * @n: dimensions, 1 to NIC_PLAN_MAX_DIM
 * @mapped: dimension whose tiles all run on one processor, 0 to n - 1
 * @pi: result, n elements
 *
 * Return: 0; -EINVAL; -ERANGE: @mapped. Source: [P] sections 3 and 4.
 */
int nic_plan_get_vector(enum nic_tile_schedule schedule, unsigned int n,
			unsigned int mapped, int64_t *pi);

/**
 * nic_plan_get_step - the step at which a tile is computed
 * @schedule: which schedule
 * @n: dimensions, 1 to NIC_PLAN_MAX_DIM
 * @mapped: dimension whose tiles all run on one processor
 * @tile: tile coordinates, n elements, the tile space beginning at 0
 * @step: result: Pi . tile, from 0
 *
 * Return: 0; -EINVAL; -ERANGE: @mapped, or a negative coordinate; -EOVERFLOW.
 * Source: [P] sections 3 and 4.
 */
int nic_plan_get_step(enum nic_tile_schedule schedule, unsigned int n,
		      unsigned int mapped, const int64_t *tile, int64_t *step);

/**
 * nic_plan_get_last - the step at which a processor computes its last tile
 * @schedule: which schedule
 * @n: dimensions, 1 to NIC_PLAN_MAX_DIM
 * @mapped: dimension whose tiles all run on one processor
 * @x: largest tile coordinate of each dimension, n elements
 * @tile: the processor's coordinates, n elements; tile[mapped] is not read
 * @step: result, from 0
 *
 * Return: 0; -EINVAL; -ERANGE: @mapped, or a coordinate not in 0 to x;
 * -EOVERFLOW.
 */
int nic_plan_get_last(enum nic_tile_schedule schedule, unsigned int n,
		      unsigned int mapped, const int64_t *x,
		      const int64_t *tile, int64_t *step);

/**
 * nic_plan_count_steps - P(g) or P'(g)
 * @schedule: which schedule
 * @n: dimensions, 1 to NIC_PLAN_MAX_DIM
 * @mapped: dimension i whose tiles all run on one processor
 * @x: largest tile coordinate of each dimension, n elements
 * @steps: result: P(g) = sum x_k + 1, or P'(g) = 2 sum_{k != i} x_k + x_i + 1
 *
 * Return: 0; -EINVAL; -ERANGE: @mapped, or a negative x; -EOVERFLOW.
 * Source: [P] (1) and (2). With x_i = DIMZ/z - 1 on 3 x 3 processors this is
 * 4 + DIMZ/z and 8 + DIMZ/z.
 */
int nic_plan_count_steps(enum nic_tile_schedule schedule, unsigned int n,
			 unsigned int mapped, const int64_t *x,
			 int64_t *steps);

#ifdef __cplusplus
}
#endif

#endif /* NIC_TILE_PLAN_H */
