// SPDX-License-Identifier: GPL-2.0-only
/*
 * stats.c - per-CPU counters of a node
 *
 * Written with this_cpu_add() on 64-bit kernels only, so a reader sees whole
 * values; the sum is not a snapshot.
 */
#include "dmanic.h"

/**
 * dmanic_stat_sum() - one counter over all CPUs
 * @node: the device
 * @which: DMANIC_STATS_A_*
 *
 * Return: the sum.
 */
u64 dmanic_stat_sum(struct dmanic_node *node, enum dmanic_stats_attr which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(node->stats, cpu)->counter[which]);
	return sum;
}
