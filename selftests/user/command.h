/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * command.h - run a tool as a person would, and look at what it said
 *
 * Tools are those that were built with the test. Device names begin with the
 * prefix of the test, so that what a test leaves is removed (see fabric.h).
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "selftests/kernel/dmanic_test.h"

struct cJSON;

/* What the last command of this process gave */
struct output {
	int status;		/* 128 + the signal, as a shell has it */
	__u64 took_ns;
	char out[256 * 1024];
	char err[16 * 1024];
};

extern struct output output;

/* Words as of a shell; "@" stands for the prefix of this test's devices. */
void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* run(), and fail the test unless it ends with @status. */
#define RUN(wanted, ...) do {						\
	run(__VA_ARGS__);						\
	if (output.status != (wanted))					\
		FAIL("status %d, not %d, of: %s: %.200s%.200s",		\
		     output.status, (wanted), run_words(), output.out,	\
		     output.err);					\
} while (0)

const char *run_words(void);

/* The prefix of this test's devices */
const char *prefix(void);

/* A name for whatever this test writes */
const char *file(void);

/* How often @part is in @text */
unsigned int count(const char *text, const char *part);

/* Fail the test unless @text holds @part. */
#define EXPECT_HAS(text, part) do {					\
	if (!strstr(text, part))					\
		harness_fail(__FILE__, __LINE__,			\
			     "%s without \"%s\": %.300s", #text, part,	\
			     text);					\
} while (0)

/*
 * The whole of stdout as one report of a tool, in the shape that
 * tools/common/output.h promises; fails the test when it is not. To be given
 * back to cJSON_Delete().
 */
struct cJSON *report_of(const char *tool);

/* By its name, or the test fails */
struct cJSON *result_named(struct cJSON *report, const char *name);
const struct cJSON *check_named(const struct cJSON *report, const char *name);

/* The number or text by a path "model.scale" */
double number_of(const struct cJSON *object, const char *path);
const char *text_of(const struct cJSON *object, const char *path);

#endif /* COMMAND_H */
