/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * output.h - what the tools print: tables for people, one object for programs
 *
 * A table has its units in its head and is printed when it is complete, so
 * that its columns are as wide as they need to be. A report has one shape for
 * all tools:
 *
 *   {"tool", "version", "kernel", "link", "host", "args", "model",
 *    "results": [{"name", "params", "size_bytes", "unit", "value", "p50",
 *                 "p99", "min", "max", "spread", "samples",
 *                 "reference": {"name", "value", "spread"}, "ratio"}],
 *    "checks": [{"name", "ok", "detail"}]}
 *
 * "value" is the median; "params" (what was set: depth, wait, ...) and
 * "size_bytes", "reference", "ratio" are there when they make sense; "model",
 * what the link pretends to cost, in nictile's and in nicctl's results. Running
 * out of memory ends the program. Not thread-safe.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "stats.h"

#define EXIT_USAGE	2

/* "0.1.0": VERSION of the Makefile, as the module has it */
#define TOOL_VERSION		TOOL_VERSION_OF(DMANIC_VERSION)
#define TOOL_VERSION_OF(version)	TOOL_VERSION_TEXT(version)
#define TOOL_VERSION_TEXT(version)	#version

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define OUTPUT_PRINTF(text, first) \
	__attribute__((format(printf, text, first)))

struct cJSON;
struct report;
struct table;

/* ---- lines on stderr ---- */

/* The tool's name, the text, then @end: "nicrun: out of memory" */
void output_say(const char *tool, const char *format, va_list args,
		const char *end) OUTPUT_PRINTF(2, 0);

/*
 * Whether what was printed on stdout has arrived: 0, or -1 after saying on stderr
 * that it could not be written, as on a full disk. Before a tool ends, whatever it
 * printed.
 */
int output_finish(const char *tool);

/* ---- tables ---- */

/**
 * struct column - one column of a table
 * @head: what it holds and its unit: "P50 [us]"
 * @left: words stand left, numbers right
 */
struct column {
	const char *head;
	bool left;
};

/* @columns must outlive the table */
struct table *table_create(const struct column *columns, unsigned int n);

/* The next cell; after the last of a row comes the first of the next */
void table_cell(struct table *table, const char *format, ...)
	OUTPUT_PRINTF(2, 3);

void table_print(const struct table *table, FILE *file);
void table_free(struct table *table);

/* ---- reports ---- */

/**
 * struct report_point - one result of a report
 * @name: what was measured: "put depth 4 poll"
 * @unit: of all its values: "us", "MB/s"
 * @stats: summary
 * @sized: @size_bytes counts
 * @size_bytes: of one operation
 * @reference: what it is compared with, NULL: nothing
 * @reference_stats: summary of that, in the same unit
 * @ratio: to it, of samples that were taken in turn; 0: of the medians
 */
struct report_point {
	const char *name;
	const char *unit;
	const struct stats *stats;
	bool sized;
	uint64_t size_bytes;
	const char *reference;
	const struct stats *reference_stats;
	double ratio;
};

/* Kernel, host and arguments are filled in; @version as TOOL_VERSION */
struct report *report_create(const char *tool, const char *version, int argc,
			     char *const *argv);
void report_free(struct report *report);

/* The link the results are about: "loop"; null until then */
void report_link(struct report *report, const char *link);

/* Add a result; the returned object takes parameters */
struct cJSON *report_result(struct report *report,
			    const struct report_point *point);
void report_param_number(struct cJSON *result, const char *name, double value);
void report_param_text(struct cJSON *result, const char *name,
		       const char *value);

/* Add a result of another shape (devices that nicctl shows), still empty */
struct cJSON *report_add_result(struct report *report);

/* The whole report, for what only some tools tell beside results */
struct cJSON *report_root(struct report *report);

/*
 * An object on a line of its own, for programs that read while a tool runs
 * (nicctl monitor) instead of a report; line_print() gives it back.
 */
struct cJSON *line_create(void);
void line_print(struct cJSON *line, FILE *file);

/* Members of such objects. A count is written out: a double would round it. */
struct cJSON *report_add_object(struct cJSON *object, const char *name);
void report_add_text(struct cJSON *object, const char *name, const char *value);
void report_add_number(struct cJSON *object, const char *name, double value);
void report_add_count(struct cJSON *object, const char *name, uint64_t value);

/* Add a check; the returned object takes more members */
struct cJSON *report_check(struct report *report, const char *name, bool ok,
			   const char *format, ...) OUTPUT_PRINTF(4, 5);

/* Every check was ok (also when there was none) */
bool report_ok(const struct report *report);

/* The whole object, and nothing else */
void report_print(const struct report *report, FILE *file);

/* One line a check, for people */
void report_print_checks(const struct report *report, FILE *file);

#endif /* TOOLS_OUTPUT_H */
