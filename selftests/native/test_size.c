// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes, counts and times: what is taken, what is refused and why, and that
 * what is printed can be parsed again.
 *
 * Sources: tools/common/size.c
 */
#include "tools/common/size.h"

#include "unit.h"

/* An @what that is refused must leave the result alone */
#define UNTOUCHED	0xdeadbeefULL

typedef const char *parse_fn(const char *text, uint64_t *what);

static void takes(parse_fn *parse, const char *text, uint64_t wanted)
{
	uint64_t what = UNTOUCHED;
	const char *reason = parse(text, &what);

	if (reason)
		UNIT_FAIL("\"%s\" %s", text, reason);
	EXPECT(what == wanted);
}

static void refuses(parse_fn *parse, const char *text, const char *why)
{
	uint64_t what = UNTOUCHED;
	const char *reason = parse(text, &what);

	if (!reason)
		UNIT_FAIL("\"%s\" is taken for %" PRIu64, text, what);
	else
		EXPECT_CONTAINS(reason, why);
	EXPECT(what == UNTOUCHED);
}

static void takes_size(const char *text, uint64_t wanted)
{
	takes(size_parse, text, wanted);
}

static void refuses_size(const char *text, const char *why)
{
	refuses(size_parse, text, why);
}

TEST(size__units)
{
	takes_size("0", 0);
	takes_size("8", 8);
	takes_size("007", 7);
	takes_size("1k", 1024);
	takes_size("64K", 65536);
	takes_size("4M", 4 << 20);
	takes_size("4m", 4 << 20);
	takes_size("3G", 3ULL << 30);
	takes_size("3g", 3ULL << 30);
}

TEST(size__largest)
{
	takes_size("18446744073709551615", UINT64_MAX);
	refuses_size("18446744073709551616", "too large");
	refuses_size("99999999999999999999999999", "too large");
	takes_size("18014398509481983k", UINT64_MAX - 1023);
	refuses_size("18014398509481984k", "too large");
	takes_size("17179869183G", UINT64_MAX - (1ULL << 30) + 1);
	refuses_size("17179869184G", "too large");
}

TEST(size__refused)
{
	refuses_size("", "empty");
	refuses_size("-1", "negative");
	refuses_size("-", "negative");
	refuses_size("+1", "not a number");
	refuses_size(" 1", "not a number");
	refuses_size("k", "not a number");
	refuses_size("four", "not a number");
	refuses_size("0x10", "unit");
	refuses_size("1 k", "unit");
	refuses_size("1kB", "unit");
	refuses_size("1KiB", "unit");
	refuses_size("1T", "unit");
	refuses_size("1e3", "unit");
	refuses_size("1.5M", "whole");
	refuses_size("1,5", "unit");
}

TEST(size__printed_is_parsed)
{
	static const struct { uint64_t bytes; const char *text; } exact[] = {
		{ 0, "0" }, { 1, "1" }, { 1023, "1023" }, { 1024, "1k" },
		{ 1025, "1025" }, { 1536, "1536" }, { 65536, "64k" },
		{ 1 << 20, "1M" }, { 3ULL << 30, "3G" },
		{ 1ULL << 40, "1024G" },
		{ UINT64_MAX, "18446744073709551615" },
	};
	uint64_t state = 1;
	char text[SIZE_TEXT];
	size_t i;

	for (i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		EXPECT(!strcmp(size_print(exact[i].bytes, text),
			       exact[i].text));
	for (i = 0; i < 10000; i++) {
		uint64_t bytes = unit_random(&state);

		bytes = bytes >> (bytes & 63) << (bytes >> 6 & 63);
		takes_size(size_print(bytes, text), bytes);
	}
}

TEST(size_list__items_and_doublings)
{
	static const uint64_t wanted[] = { 3, 65536, 8, 16, 32, 1 << 20 };
	struct size_list list;
	size_t i;

	ASSERT(!size_list_parse("3,64k,8-32,1M", &list));
	ASSERT_EQ(list.n, 6);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(list.value[i], wanted[i]);
	ASSERT(!size_list_parse("8-4M", &list));
	EXPECT_EQ(list.n, 20);
	EXPECT_EQ(list.value[19], 4 << 20);
	ASSERT(!size_list_parse("8-100", &list));
	EXPECT_EQ(list.n, 4);
	ASSERT(!size_list_parse("5-5", &list));
	EXPECT_EQ(list.n, 1);
	ASSERT(!size_list_parse("1-18446744073709551615", &list));
	EXPECT_EQ(list.n, 64);
}

static void refuses_list(const char *text, const char *why)
{
	struct size_list list;
	const char *reason = size_list_parse(text, &list);

	if (!reason)
		UNIT_FAIL("\"%s\" is taken", text);
	else
		EXPECT_CONTAINS(reason, why);
}

TEST(size_list__refused)
{
	refuses_list("", "empty");
	refuses_list("8,", "empty");
	refuses_list(",8", "empty");
	refuses_list("8,,9", "empty");
	refuses_list("8-", "range without an end: write 8-4M");
	refuses_list("8-,9", "range without an end");
	refuses_list("4k-", "range without an end");
	refuses_list("-8", "negative");
	refuses_list("8--9", "negative");
	refuses_list("8-9-10", "unit");
	refuses_list("9-8", "backwards");
	refuses_list("0-8", "begins with 0");
	refuses_list("8;9", "unit");
	refuses_list("8 9", "unit");
	refuses_list("1-18446744073709551615,1", "too many");
	refuses_list("00000000000000000000000000000000000000000000000000000000"
		     "00000001", "not a number");
}

TEST(count__limits)
{
	uint64_t count = UNTOUCHED;

	EXPECT(!count_parse("65536", 65536, &count));
	EXPECT_EQ(count, 65536);
	EXPECT_CONTAINS(count_parse("65537", 65536, &count), "too large");
	EXPECT_CONTAINS(count_parse("4k", 65536, &count), "without unit");
	EXPECT_CONTAINS(count_parse("4.0", 65536, &count), "whole");
	EXPECT_CONTAINS(count_parse("-4", 65536, &count), "negative");
	EXPECT_CONTAINS(count_parse("", 65536, &count), "empty");
	EXPECT_EQ(count, 65536);
}

TEST(count_list__ranges)
{
	static const uint64_t wanted[] = { 0, 2, 4, 5, 6 };
	struct size_list list;
	size_t i;

	ASSERT(!count_list_parse("0,2,4-6", 7, &list));
	ASSERT_EQ(list.n, 5);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(list.value[i], wanted[i]);
	EXPECT_CONTAINS(count_list_parse("0-8", 7, &list), "too large");
	EXPECT_CONTAINS(count_list_parse("0-64", 99, &list), "too many");
	EXPECT_CONTAINS(count_list_parse("6-4", 7, &list), "backwards");
	EXPECT_CONTAINS(count_list_parse("6-", 7, &list), "write 0-3");
	EXPECT_CONTAINS(count_list_parse("1k", 7, &list), "without unit");
}

static void takes_time(const char *text, uint64_t wanted)
{
	takes(time_parse, text, wanted);
}

static void refuses_time(const char *text, const char *why)
{
	refuses(time_parse, text, why);
}

TEST(share__parts_per_million)
{
	static const struct {
		const char *text;
		uint64_t ppm;
	} good[] = {
		{ "0", 0 }, { "0%", 0 }, { "100%", 1000000 }, { "1%", 10000 },
		{ "0.0001%", 1 }, { "12.5%", 125000 }, { "99.9999%", 999999 },
	};
	static const char *const bad[] = {
		"", "1", "0.5", "-1%", "101%", "100.0001%", "1.00001%", "1%%", "%",
		"5 %", "1e-3%", "18446744073709551616%",
	};
	char text[SIZE_TEXT];
	uint64_t ppm;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		EXPECT(!share_parse(good[i].text, &ppm));
		EXPECT_EQ(ppm, good[i].ppm);
		EXPECT(!share_parse(share_print(ppm, text), &ppm));
		EXPECT_EQ(ppm, good[i].ppm);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT(share_parse(bad[i], &ppm));
}

TEST(time__units)
{
	takes_time("0", 0);
	takes_time("1", 1000000000);
	takes_time("1s", 1000000000);
	takes_time("0.5", 500000000);
	takes_time("10ms", 10000000);
	takes_time("49.2us", 49200);
	takes_time("18.8us", 18800);
	takes_time("100ns", 100);
	takes_time("0.000000001", 1);
	takes_time("0.0000000019", 1);
	takes_time("1.9ns", 1);
	takes_time("18446744073.709551615", UINT64_MAX);
	takes_time("18446744073709551615ns", UINT64_MAX);
}

TEST(time__refused)
{
	refuses_time("", "empty");
	refuses_time("-1s", "negative");
	refuses_time(".5", "not a number");
	refuses_time("1.", "not a number");
	refuses_time("1.s", "not a number");
	refuses_time("1.5.2", "unit");
	refuses_time("1m", "unit");
	refuses_time("1 s", "unit");
	refuses_time("1S", "unit");
	refuses_time("nan", "not a number");
	refuses_time("18446744073.709551616", "too large");
	refuses_time("18446744074", "too large");
	refuses_time("18446744073709551616ns", "too large");
}

TEST(time__printed_is_parsed)
{
	static const struct { double ns; const char *text; } exact[] = {
		{ 0, "0ns" }, { 1, "1ns" }, { 0.25, "0.25ns" },
		{ 999.9, "999.9ns" }, { 999.96, "1us" }, { 1000, "1us" },
		{ 49200, "49.2us" }, { 1e6, "1ms" }, { 12345678, "12.35ms" },
		{ 1e9, "1s" }, { 999949999, "999.9ms" }, { 1.5e12, "1500s" },
		{ 123456e9, "123456s" },
	};
	char text[SIZE_TEXT];
	uint64_t state = 2;
	size_t i;

	for (i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		if (strcmp(time_print(exact[i].ns, text), exact[i].text))
			UNIT_FAIL("%s, not %s", text, exact[i].text);
	for (i = 0; i < 10000; i++) {
		uint64_t ns = unit_random(&state) >> 1 >>
			      (unit_random(&state) % 62);
		uint64_t again = 0;

		EXPECT(!time_parse(time_print((double)ns, text), &again));
		EXPECT_NEAR((double)again, (double)ns, (double)ns * 0.0006 + 1);
	}
}
