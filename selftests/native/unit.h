/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The smallest harness for tests of pure code. A test program includes this
 * once, defines TEST(object__case) { ... } blocks, and has no main of its own.
 *
 * Prints KTAP version 1. Exit status: 0 passed, 1 failed, 2 wrong usage, 4 if
 * every test was skipped. Arguments choose tests by exact name.
 *
 * EXPECT_ goes on after a failure, ASSERT_ leaves the function it stands in.
 * A failed check prints a diagnostic line before the result of its test.
 */
#ifndef UNIT_H
#define UNIT_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct unit_test {
	const char *name;
	void (*run)(void);
	struct unit_test *next;
};

static struct unit_test *unit_first, **unit_end = &unit_first;
static bool unit_failed;
static const char *unit_skipped;

#define TEST(id)							\
static void unit_run_##id(void);					\
__attribute__((constructor)) static void unit_add_##id(void)		\
{									\
	static struct unit_test test = { #id, unit_run_##id, NULL };	\
									\
	*unit_end = &test;						\
	unit_end = &test.next;						\
}									\
static void unit_run_##id(void)

/* Leaves the test; the reason is printed. */
#define SKIP(reason)							\
	do {								\
		unit_skipped = (reason);				\
		return;							\
	} while (0)

#define UNIT_FAIL(format, ...)						\
	do {								\
		unit_failed = true;					\
		printf("# %s:%d: " format "\n", __FILE__, __LINE__,	\
		       __VA_ARGS__);					\
	} while (0)

#define UNIT_CHECK(condition, then)					\
	do {								\
		if (!(condition)) {					\
			UNIT_FAIL("not true: %s", #condition);		\
			then;						\
		}							\
	} while (0)

#define EXPECT(condition)	UNIT_CHECK(condition, (void)0)
#define ASSERT(condition)	UNIT_CHECK(condition, return)

/* Integers of any type; both must fit intmax_t. */
#define UNIT_EQUAL(value, wanted, then)					\
	do {								\
		intmax_t unit_v = (intmax_t)(value);			\
		intmax_t unit_w = (intmax_t)(wanted);			\
									\
		if (unit_v != unit_w) {					\
			UNIT_FAIL("%s is %" PRIdMAX ", not %" PRIdMAX,	\
				  #value, unit_v, unit_w);		\
			then;						\
		}							\
	} while (0)

#define EXPECT_EQ(value, wanted)	UNIT_EQUAL(value, wanted, (void)0)
#define ASSERT_EQ(value, wanted)	UNIT_EQUAL(value, wanted, return)

/* Doubles: |value - wanted| <= tolerance, which is absolute. A NaN fails. */
#define EXPECT_NEAR(value, wanted, tolerance)				\
	do {								\
		double unit_v = (value), unit_w = (wanted);		\
									\
		if (!(fabs(unit_v - unit_w) <= (tolerance)))		\
			UNIT_FAIL("%s is %.17g, not %.17g", #value,	\
				  unit_v, unit_w);			\
	} while (0)

#define EXPECT_CONTAINS(text, part)					\
	do {								\
		const char *unit_t = (text);				\
									\
		if (!strstr(unit_t, part))				\
			UNIT_FAIL("%s is \"%s\", without \"%s\"", #text, \
				  unit_t, part);			\
	} while (0)

/* A generator of its own, so that a failure repeats on every machine. */
static inline uint64_t unit_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* An integer in lo..hi, both included */
static inline int64_t unit_between(uint64_t *state, int64_t lo, int64_t hi)
{
	return lo + (int64_t)(unit_random(state) % (uint64_t)(hi - lo + 1));
}

static bool unit_chosen(const struct unit_test *test, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], test->name))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	unsigned int count = 0, number = 0, failed = 0, skipped = 0;
	struct unit_test *test;

	/* A crash must not swallow what was printed before it. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (test = unit_first; test; test = test->next)
		count += unit_chosen(test, argc, argv);
	if (!count) {
		fprintf(stderr, "%s: no such test\n", argv[0]);
		return 2;
	}
	printf("KTAP version 1\n1..%u\n", count);
	for (test = unit_first; test; test = test->next) {
		if (!unit_chosen(test, argc, argv))
			continue;
		unit_failed = false;
		unit_skipped = NULL;
		test->run();
		failed += unit_failed;
		skipped += !unit_failed && unit_skipped;
		printf("%s %u - %s%s%s\n", unit_failed ? "not ok" : "ok",
		       ++number, test->name, unit_skipped ? " # SKIP " : "",
		       unit_skipped ? unit_skipped : "");
	}
	if (failed)
		return 1;
	return skipped == count ? 4 : 0;
}

#endif /* UNIT_H */
