// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The two schedules of a tile space: at which step which tile is computed.
 *
 * Owns nothing: every function works on its arguments alone.
 *
 * All arithmetic on user values goes through __builtin_*_overflow.
 */
#include <errno.h>

#include "plan_internal.h"

int nic_schedule_latency(enum nic_tile_schedule schedule)
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
	int steps = nic_schedule_latency(schedule);
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
