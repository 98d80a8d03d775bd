// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which positions were received: against a bitmap, for many random additions, with
 * few and with enough ranges.
 *
 * Sources: driver/proto/range.c
 */
#include <linux/minmax.h>

#include "driver/proto/range.h"
#include "unit.h"

#define SPAN	400

static struct dmanic_range ranges[64];
static struct dmanic_ranges set;
static bool have[SPAN + 1];

static void begin(u32 room)
{
	set = (struct dmanic_ranges) { .max = room, .range = ranges };
	memset(have, 0, sizeof(have));
}

/* Sorted, apart, and the same as the bitmap */
static void same(void)
{
	u32 i, at = 0;

	for (; at < set.next; at++)
		EXPECT(have[at]);
	for (i = 0; i < set.nr; i++) {
		EXPECT(ranges[i].from >= at && ranges[i].from < ranges[i].to);
		EXPECT(!i || ranges[i].from > ranges[i - 1].to);
		for (; at < ranges[i].from; at++)
			EXPECT(!have[at]);
		for (; at < ranges[i].to; at++)
			EXPECT(have[at]);
	}
	for (; at < SPAN; at++)
		EXPECT(!have[at]);
}

/* All that is missing of a range, as the receiver finds it */
static void missing(u32 from, u32 to)
{
	u64 at = from, nr;
	u32 i = from;

	while ((nr = dmanic_ranges_missing(&set, &at, to))) {
		for (; i < at; i++)
			EXPECT(have[i]);
		for (; i < at + nr; i++)
			EXPECT(!have[i]);
		EXPECT(at + nr <= to);
		at += nr;
	}
	for (; i < to; i++)
		EXPECT(have[i]);
}

static void random_additions(u32 room, uint64_t seed)
{
	u64 from, to, reach;
	int i;

	begin(room);
	for (i = 0; i < 2000 && set.next < SPAN; i++) {
		from = unit_between(&seed, 0, SPAN - 1);
		to = min_t(u64, SPAN, from + unit_between(&seed, 1, 12));
		missing(from, to);
		if (!dmanic_ranges_room(&set, from, to)) {
			EXPECT_EQ(set.nr + 1 >= room, 1);
			from = set.next;
			to = from + 1;
			/* What is next always fits */
			EXPECT(dmanic_ranges_room(&set, from, to));
		}
		dmanic_ranges_add(&set, from, to);
		for (; from < to; from++)
			have[from] = true;
		ASSERT(set.nr <= room);
		same();
		reach = dmanic_ranges_reach(&set);
		if (unit_random(&seed) % 2)
			dmanic_ranges_advance(&set, reach);
		else if (reach > set.next)
			dmanic_ranges_advance(&set, set.next + 1);
		same();
	}
}

TEST(range__as_a_bitmap)
{
	uint64_t seed;

	for (seed = 0; seed < 40; seed++) {
		random_additions(64, seed);
		random_additions(4, seed);
		random_additions(2, seed);
	}
}

TEST(range__merges)
{
	begin(8);
	dmanic_ranges_add(&set, 10, 20);
	dmanic_ranges_add(&set, 30, 40);
	EXPECT_EQ(set.nr, 2);
	dmanic_ranges_add(&set, 20, 30);
	EXPECT_EQ(set.nr, 1);
	EXPECT_EQ(ranges[0].from, 10);
	EXPECT_EQ(ranges[0].to, 40);
	dmanic_ranges_add(&set, 5, 50);
	EXPECT_EQ(set.nr, 1);
	dmanic_ranges_add(&set, 0, 5);
	EXPECT_EQ(dmanic_ranges_reach(&set), 50);
	dmanic_ranges_advance(&set, 50);
	EXPECT_EQ(set.nr, 0);
	EXPECT_EQ(set.next, 50);
	dmanic_ranges_add(&set, 0, 50);
	EXPECT_EQ(set.nr, 0);
}

TEST(range__room)
{
	begin(3);
	dmanic_ranges_add(&set, 10, 20);
	dmanic_ranges_add(&set, 30, 40);
	/* The last place is kept for what is next */
	EXPECT(!dmanic_ranges_room(&set, 50, 60));
	EXPECT(dmanic_ranges_room(&set, 40, 60));
	EXPECT(dmanic_ranges_room(&set, 25, 30));
	EXPECT(dmanic_ranges_room(&set, 0, 5));
	EXPECT(!dmanic_ranges_room(&set, 1, 5));
}

/* Positions are 64 bits wide everywhere */
TEST(range__far)
{
	u64 far = 1ULL << 60, at = far;

	begin(8);
	set.next = far;
	dmanic_ranges_add(&set, far + 10, far + 20);
	EXPECT_EQ(dmanic_ranges_missing(&set, &at, far + 30), 10);
	at += 10;
	EXPECT_EQ(dmanic_ranges_missing(&set, &at, far + 30), 10);
	EXPECT_EQ(at, far + 20);
}
