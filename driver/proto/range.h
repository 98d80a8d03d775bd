/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * range.h - which positions of a stream were received
 *
 * Everything before next, and a bounded number of ranges beyond it, sorted, with
 * a gap between any two. The first may begin at next itself: then what is there
 * was received but waits to be done.
 */
#ifndef DMANIC_RANGE_H
#define DMANIC_RANGE_H

#include <linux/types.h>

/**
 * struct dmanic_range - positions from @from up to but without @to
 * @from: first
 * @to: behind the last
 */
struct dmanic_range {
	u64 from;
	u64 to;
};

/**
 * struct dmanic_ranges - a set of positions
 * @next: all before are in it
 * @nr: of @range
 * @max: how many there may be
 * @range: room for @max
 */
struct dmanic_ranges {
	u64 next;
	u32 nr;
	u32 max;
	struct dmanic_range *range;
};

bool dmanic_ranges_room(const struct dmanic_ranges *set, u64 from, u64 to);
void dmanic_ranges_add(struct dmanic_ranges *set, u64 from, u64 to);
void dmanic_ranges_advance(struct dmanic_ranges *set, u64 next);
u64 dmanic_ranges_missing(const struct dmanic_ranges *set, u64 *from, u64 to);

/* Up to where it can go on from next */
static inline u64 dmanic_ranges_reach(const struct dmanic_ranges *set)
{
	return set->nr && set->range[0].from == set->next ? set->range[0].to : set->next;
}

#endif /* DMANIC_RANGE_H */
