// SPDX-License-Identifier: GPL-2.0-only
/*
 * range.c - which positions of a stream were received
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "range.h"

/* The first range that ends at or behind @position */
static u32 range_find(const struct dmanic_ranges *set, u64 position)
{
	u32 low = 0, high = set->nr, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (set->range[middle].to < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/**
 * dmanic_ranges_room() - can positions be added
 * @set: the set
 * @from: first
 * @to: behind the last
 *
 * Return: true when dmanic_ranges_add() will find room.
 */
bool dmanic_ranges_room(const struct dmanic_ranges *set, u64 from, u64 to)
{
	u32 i;

	/* What follows next will not stay for long: the last place is for it */
	if (set->nr + 1 < set->max || (from <= set->next && set->nr < set->max))
		return true;
	i = range_find(set, from);
	return i < set->nr && set->range[i].from <= to;
}

/**
 * dmanic_ranges_add() - positions were received
 * @set: the set; dmanic_ranges_room() said yes
 * @from: first
 * @to: behind the last
 *
 * @next stays; see dmanic_ranges_advance().
 */
void dmanic_ranges_add(struct dmanic_ranges *set, u64 from, u64 to)
{
	struct dmanic_range *range = set->range;
	u32 first, last;

	from = max(from, set->next);
	if (from >= to)
		return;
	first = range_find(set, from);
	for (last = first; last < set->nr && range[last].from <= to; last++)
		;
	if (first == last) {
		/* Nobody asked for room: it is not noted, and has to come again */
		if (set->nr == set->max)
			return;
		memmove(range + first + 1, range + first,
			(set->nr - first) * sizeof(*range));
		set->nr++;
	} else {
		from = min(from, range[first].from);
		to = max(to, range[last - 1].to);
		memmove(range + first + 1, range + last,
			(set->nr - last) * sizeof(*range));
		set->nr -= last - first - 1;
	}
	range[first].from = from;
	range[first].to = to;
}

/**
 * dmanic_ranges_advance() - everything up to a position is done
 * @set: the set
 * @next: within what dmanic_ranges_reach() says
 */
void dmanic_ranges_advance(struct dmanic_ranges *set, u64 next)
{
	set->next = next;
	if (!set->nr || set->range[0].from >= next)
		return;
	if (set->range[0].to > next) {
		set->range[0].from = next;
		return;
	}
	set->nr--;
	memmove(set->range, set->range + 1, set->nr * sizeof(*set->range));
}

/**
 * dmanic_ranges_missing() - the first positions that are not in the set
 * @set: the set
 * @from: where to begin; then where they begin
 * @to: where to stop
 *
 * Return: how many there are in one piece; 0: none.
 */
u64 dmanic_ranges_missing(const struct dmanic_ranges *set, u64 *from, u64 to)
{
	u64 at = max(*from, set->next);
	u32 i = range_find(set, at);

	if (i < set->nr && set->range[i].to == at)
		i++;
	if (i < set->nr && set->range[i].from <= at)
		at = set->range[i++].to;
	*from = at;
	if (at >= to)
		return 0;
	if (i < set->nr)
		to = min(to, set->range[i].from);
	return to - at;
}
