// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of nodes: written from random numbers and read again, and random text
 * against a slow reader that knows nothing of the fast one.
 */
#include <stdlib.h>

#include "libnic/comm/nodes.h"
#include "unit.h"

#define MOST	64

TEST(nodes__lists)
{
	static const struct {
		const char *text;
		int count;
		uint32_t first, last;
	} good[] = {
		{ "0", 1, 0, 0 },
		{ "0,1,2", 3, 0, 2 },
		{ "0-8", 9, 0, 8 },
		{ "7-7", 1, 7, 7 },
		{ "3,0-2,9", 5, 3, 9 },
		{ "007", 1, 7, 7 },
		{ "4294967295", 1, UINT32_MAX, UINT32_MAX },
		{ "4294967294-4294967295", 2, UINT32_MAX - 1, UINT32_MAX },
	};
	uint32_t nodes[MOST];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		ASSERT_EQ(nic_nodes_parse(good[i].text, nodes, MOST),
			  good[i].count);
		EXPECT_EQ(nodes[0], good[i].first);
		EXPECT_EQ(nodes[good[i].count - 1], good[i].last);
	}
}

TEST(nodes__no_lists)
{
	static const char *const bad[] = {
		"", ",", "1,", ",1", "1,,2", "-", "-1", "1-", "2-1", "1-2-3",
		" 1", "1 ", "1, 2", "+1", "0x1", "a", "1a", "1.0",
		"4294967296", "99999999999999999999999", "0-4294967296",
	};
	uint32_t nodes[MOST];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (nic_nodes_parse(bad[i], nodes, MOST) != -EINVAL)
			UNIT_FAIL("\"%s\" was taken", bad[i]);
}

TEST(nodes__too_many)
{
	uint32_t nodes[4] = { 0, 0, 0, 77 };

	EXPECT_EQ(nic_nodes_parse("0-3", nodes, 3), -E2BIG);
	EXPECT_EQ(nic_nodes_parse("0,1,2,3", nodes, 3), -E2BIG);
	EXPECT_EQ(nic_nodes_parse("0-4294967295", nodes, 3), -E2BIG);
	EXPECT_EQ(nic_nodes_parse("5", nodes, 0), -E2BIG);
	EXPECT_EQ(nodes[3], 77);
}

TEST(nodes__what_is_written_is_read)
{
	uint32_t wanted[MOST], nodes[MOST];
	uint64_t state = 1;
	char text[MOST * 24];
	int run, count, i;
	size_t at;

	for (run = 0; run < 20000; run++) {
		count = 0;
		at = 0;
		while (count < MOST && unit_between(&state, 0, 9)) {
			uint32_t first = (uint32_t)unit_random(&state) >>
					 unit_between(&state, 0, 31);
			int64_t room = MOST - 1 - count;
			uint32_t more = (uint32_t)unit_between(&state, 0, room);
			bool range = unit_between(&state, 0, 1);

			if (!range || more > UINT32_MAX - first)
				more = 0;
			at += (size_t)sprintf(text + at, "%s%" PRIu32,
					      at ? "," : "", first);
			if (range)
				at += (size_t)sprintf(text + at, "-%" PRIu32,
						      first + more);
			for (uint32_t n = 0; n <= more; n++)
				wanted[count++] = first + n;
		}
		if (!count)
			continue;
		ASSERT_EQ(nic_nodes_parse(text, nodes, MOST), count);
		for (i = 0; i < count; i++)
			ASSERT_EQ(nodes[i], wanted[i]);
	}
}

typedef unsigned __int128 huge;	/* 30 digits fit */

/* One item, by the book: digits, or digits-digits; NULL: wrong */
static const char *slow_item(const char *at, huge *first, huge *last)
{
	huge *number = first;
	size_t digits;

	for (;;) {
		digits = strspn(at, "0123456789");
		if (!digits || digits > 30)
			return NULL;
		for (*number = 0; digits--; at++)
			*number = *number * 10 + (unsigned int)(*at - '0');
		if (*number > UINT32_MAX)
			return NULL;
		if (number == last)
			return at;
		*last = *first;
		if (*at != '-')
			return at;
		at++;
		number = last;
	}
}

static bool slow_is_list(const char *at, huge *count)
{
	huge first, last;

	*count = 0;
	for (;; at++) {
		at = slow_item(at, &first, &last);
		if (!at || last < first)
			return false;
		*count += last - first + 1;
		if (!*at)
			return true;
		if (*at != ',')
			return false;
	}
}

TEST(nodes__random_text)
{
	static const char letters[] = "0123456789,,,---11 x";
	huge count;
	uint32_t nodes[MOST];
	uint64_t state = 2;
	int run, lists = 0, ret;
	char *text;

	for (run = 0; run < 200000; run++) {
		size_t length = (size_t)unit_between(&state, 0, 14), i;

		/* Of its own, so that reading past the end is noticed */
		text = malloc(length + 1);
		for (i = 0; i < length; i++)
			text[i] = letters[unit_between(&state, 0,
						       sizeof(letters) - 2)];
		text[length] = 0;
		ret = nic_nodes_parse(text, nodes, MOST);
		if (slow_is_list(text, &count)) {
			lists++;
			if (count > MOST ? ret != -E2BIG : ret != (int)count)
				UNIT_FAIL("\"%s\" gives %d", text, ret);
		} else if (ret != -EINVAL && ret != -E2BIG) {
			/* What is too much may be found before what is wrong */
			UNIT_FAIL("\"%s\" gives %d", text, ret);
		}
		free(text);
	}
	EXPECT(lists > 1000);
}
