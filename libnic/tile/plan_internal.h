/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan_internal.h - what plans, points, schedules and grids share (private to
 * libnic/tile)
 */
#ifndef NIC_TILE_PLAN_INTERNAL_H
#define NIC_TILE_PLAN_INTERNAL_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <nic_tile_plan.h>

#define N_MAX NIC_PLAN_MAX_DIM

/* Says in @detail what was refused and what to do, and returns @err. */
__attribute__((format(printf, 3, 4)))
static inline int refuse(char *detail, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(detail, NIC_PLAN_DETAIL, format, args);
	va_end(args);
	return err;
}

static inline bool plan_usable(const struct nic_tile_plan *plan)
{
	return plan && plan->size >= sizeof(*plan) && plan->n &&
	       plan->n <= N_MAX && plan->h_den > 0;
}

/* @b is positive. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* sum row_c v_c */
static inline int dot(unsigned int n, const int64_t *row, const int64_t *v,
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

/* ---- point.c ---- */

/**
 * struct nic_first_tile - the points j0 of the first tile, floor(H j0) = 0
 * @plan: the tiling, borrowed
 * @alone: bit k: dimension k is independent of all others
 * @lo: first candidate of each dimension, the corner of the bounding box
 * @hi: last candidate of each dimension
 * @j: the point
 * @at: H j, over h_den: 0 to h_den - 1
 *
 * A dimension whose row and column of P hold nothing but the diagonal is
 * independent: it stays 0 here and is treated in closed form, so that a tile
 * 10^6 points high costs no more than a flat one.
 */
struct nic_first_tile {
	const struct nic_tile_plan *plan;
	unsigned int alone;
	int64_t lo[N_MAX], hi[N_MAX];
	int64_t j[N_MAX];
	int64_t at[N_MAX];
};

/* Before the first point. 0, -EOVERFLOW, or -E2BIG: too many candidates. */
int nic_first_tile_begin(struct nic_first_tile *f,
			 const struct nic_tile_plan *plan);

/* 1 and the next point in @f->j, 0 after the last one, or an error. */
int nic_first_tile_next(struct nic_first_tile *f);

/* ---- schedule.c ---- */

/*
 * Steps until the result of a tile is there for a neighbouring processor, or
 * -EINVAL
 */
int nic_schedule_latency(enum nic_tile_schedule schedule);

#endif /* NIC_TILE_PLAN_INTERNAL_H */
