/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * harness.h - tests as functions, after the kernel's kselftest_harness.h
 *
 * Owns: how a test is declared, how it fails, how a program runs its tests.
 * Every test runs in a process group of its own with a time limit, so one that
 * crashes or hangs costs only itself. What it prints is KTAP; the program
 * exits with 0, with 1 when a test failed, with 4 when all were skipped.
 *
 *	FIXTURE(thing) { int fd; };
 *	FIXTURE_SETUP(thing) { self->fd = ...; }
 *	FIXTURE_TEARDOWN(thing) { close(self->fd); }
 *	FIXTURE_VARIANT(thing) { size_t length; };		(optional)
 *	FIXTURE_VARIANT_ADD(thing, page) { .length = 4096 };
 *	TEST_F(thing, case) { ASSERT_EQ(f(self->fd), 0); }	thing__case.page
 *	TEST(thing, case) { ... }			without a fixture
 *
 * ASSERT_* leaves the test (teardown still runs), EXPECT_* goes on. Both may be
 * used in helpers, in threads (an ASSERT ends the thread) and in forked
 * children (an ASSERT ends the child, and fails the test).
 */
#ifndef HARNESS_H
#define HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define HARNESS_SECONDS	60	/* time limit of a test, before slowness */

struct harness_variant {
	const char *name;
	const void *data;
	struct harness_variant *next;
};

struct harness_fixture {
	const char *name;
	struct harness_variant *variants;
	struct harness_test *tests;
	struct harness_fixture *next;
};

struct harness_test {
	const char *name;
	struct harness_fixture *fixture;
	void (*run)(const void *variant);
	unsigned int seconds;
	struct harness_test *next;
};

/**
 * struct harness_program - what a program does around its tests
 * @start: before the first test: 0, or the reason to skip all of them
 * @after: after each test, in the parent: NULL, or what the test left behind
 * @stop: after the last test
 */
struct harness_program {
	const char *(*start)(void);
	const char *(*after)(pid_t child);
	void (*stop)(void);
};

extern sigjmp_buf harness_leave;

int harness_main(int argc, char **argv, const struct harness_program *program);
void harness_add_fixture(struct harness_fixture *fixture);
void harness_add_variant(struct harness_fixture *fixture,
			 struct harness_variant *variant);
void harness_add_test(struct harness_fixture *fixture,
		      struct harness_test *test);
void harness_begin(void);
void harness_teardown(void);
bool harness_failed(void);
bool harness_caller(const char *file, int line);
void harness_note(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
void harness_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void harness_compare(const char *file, int line, const char *left,
		     const char *operator, const char *right, long long a,
		     long long b);
void harness_skip(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));
void harness_abort(void) __attribute__((noreturn));

/* How many times slower than usual this machine is (DMANIC_TEST_SLOW) */
unsigned int harness_slow(void);

/*
 * How many rounds a test makes that makes @full of them when there is time:
 * DMANIC_TEST_LOAD (or LOAD) is a percentage, 100 unless it is set.
 */
unsigned int harness_load(unsigned int full);

#define HARNESS_CONSTRUCTOR(name) \
	static void __attribute__((constructor)) name(void)

#define FIXTURE(f)							\
	struct f##_self;						\
	struct f##_variant;						\
	static struct harness_fixture f##_fixture = { .name = #f };	\
	HARNESS_CONSTRUCTOR(f##_fixture_add)				\
	{								\
		harness_add_fixture(&f##_fixture);			\
	}								\
	struct f##_self

#define FIXTURE_SETUP(f)						\
	static void f##_setup(						\
		struct f##_self *self __attribute__((unused)),		\
		const struct f##_variant *variant __attribute__((unused)))

#define FIXTURE_TEARDOWN(f)						\
	static void f##_teardown(					\
		struct f##_self *self __attribute__((unused)),		\
		const struct f##_variant *variant __attribute__((unused)))

#define FIXTURE_VARIANT(f) struct f##_variant

#define FIXTURE_VARIANT_ADD(f, v)					\
	static const struct f##_variant f##_variant_##v;		\
	static struct harness_variant f##_variant_add_##v = {		\
		.name = #v, .data = &f##_variant_##v,			\
	};								\
	HARNESS_CONSTRUCTOR(f##_variant_register_##v)			\
	{								\
		harness_add_variant(&f##_fixture, &f##_variant_add_##v);\
	}								\
	static const struct f##_variant f##_variant_##v =

#define TEST_F(f, t) TEST_F_TIMEOUT(f, t, HARNESS_SECONDS)

#define TEST_F_TIMEOUT(f, t, limit)					\
	static void f##__##t(struct f##_self *self,			\
			     const struct f##_variant *variant);	\
	static void f##__##t##_run(const void *variant)			\
	{								\
		static struct f##_self self;				\
									\
		if (!sigsetjmp(harness_leave, 1)) {			\
			harness_begin();				\
			f##_setup(&self, variant);			\
			if (!harness_failed())				\
				f##__##t(&self, variant);		\
		}							\
		harness_teardown();					\
		f##_teardown(&self, variant);				\
	}								\
	static struct harness_test f##__##t##_test = {			\
		.name = #t, .run = f##__##t##_run, .seconds = (limit),	\
	};								\
	HARNESS_CONSTRUCTOR(f##__##t##_add)				\
	{								\
		harness_add_test(&f##_fixture, &f##__##t##_test);	\
	}								\
	static void f##__##t(						\
		struct f##_self *self __attribute__((unused)),		\
		const struct f##_variant *variant __attribute__((unused)))

#define TEST(f, t) TEST_TIMEOUT(f, t, HARNESS_SECONDS)

#define TEST_TIMEOUT(f, t, limit)					\
	static void f##__##t(void);					\
	static void f##__##t##_run(					\
		const void *variant __attribute__((unused)))		\
	{								\
		if (!sigsetjmp(harness_leave, 1)) {			\
			harness_begin();				\
			f##__##t();					\
		}							\
	}								\
	static struct harness_fixture f##__##t##_fixture = {		\
		.name = #f,						\
	};								\
	static struct harness_test f##__##t##_test = {			\
		.name = #t, .run = f##__##t##_run, .seconds = (limit),	\
	};								\
	HARNESS_CONSTRUCTOR(f##__##t##_add)				\
	{								\
		harness_add_fixture(&f##__##t##_fixture);		\
		harness_add_test(&f##__##t##_fixture,			\
				 &f##__##t##_test);			\
	}								\
	static void f##__##t(void)

/*
 * Whole numbers of any kind; ordering is that of signed 64-bit ones. The texts
 * are made by the outermost macro, before it replaces what they hold.
 */
#define HARNESS_CHECK(a, left, operator, b, right, then) do {		\
	long long left_ = (long long)(a);				\
	long long right_ = (long long)(b);				\
									\
	if (!(left_ operator right_)) {					\
		harness_compare(__FILE__, __LINE__, left, #operator,	\
				right, left_, right_);			\
		then;							\
	}								\
} while (0)

#define HARNESS_CHECK_TRUE(condition, text, then) do {			\
	if (!(condition)) {						\
		harness_fail(__FILE__, __LINE__, "not true: %s", text);	\
		then;							\
	}								\
} while (0)

#define EXPECT_EQ(a, b)	HARNESS_CHECK(a, #a, ==, b, #b, (void)0)
#define EXPECT_NE(a, b)	HARNESS_CHECK(a, #a, !=, b, #b, (void)0)
#define EXPECT_LT(a, b)	HARNESS_CHECK(a, #a, <, b, #b, (void)0)
#define EXPECT_LE(a, b)	HARNESS_CHECK(a, #a, <=, b, #b, (void)0)
#define EXPECT_GT(a, b)	HARNESS_CHECK(a, #a, >, b, #b, (void)0)
#define EXPECT_GE(a, b)	HARNESS_CHECK(a, #a, >=, b, #b, (void)0)
#define EXPECT_TRUE(c)	HARNESS_CHECK_TRUE(c, #c, (void)0)

#define ASSERT_EQ(a, b)	HARNESS_CHECK(a, #a, ==, b, #b, harness_abort())
#define ASSERT_NE(a, b)	HARNESS_CHECK(a, #a, !=, b, #b, harness_abort())
#define ASSERT_LT(a, b)	HARNESS_CHECK(a, #a, <, b, #b, harness_abort())
#define ASSERT_LE(a, b)	HARNESS_CHECK(a, #a, <=, b, #b, harness_abort())
#define ASSERT_GT(a, b)	HARNESS_CHECK(a, #a, >, b, #b, harness_abort())
#define ASSERT_GE(a, b)	HARNESS_CHECK(a, #a, >=, b, #b, harness_abort())
#define ASSERT_TRUE(c)	HARNESS_CHECK_TRUE(c, #c, harness_abort())

/* A failure with words of its own */
#define FAIL(...) do {							\
	harness_fail(__FILE__, __LINE__, __VA_ARGS__);			\
	harness_abort();						\
} while (0)

#define SKIP(...) harness_skip(__VA_ARGS__)

#endif /* HARNESS_H */
