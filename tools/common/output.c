// SPDX-License-Identifier: GPL-2.0-only
/*
 * output.c - what the tools print: tables for people, one object for programs
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/common/output.h"

/* Neither tables nor reports are worth living without memory */
static void *must(void *memory)
{
	if (!memory) {
		fputs("out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return memory;
}

static char *must_print(const char *format, va_list args)
{
	char *text;

	return must(vasprintf(&text, format, args) < 0 ? NULL : text);
}

/* ---- lines on stderr ---- */

void output_say(const char *tool, const char *format, va_list args,
		const char *end)
{
	fprintf(stderr, "%s: ", tool);
	vfprintf(stderr, format, args);
	fprintf(stderr, "%s\n", end);
}

int output_finish(const char *tool)
{
	bool lost = ferror(stdout);
	bool known;

	errno = 0;
	if (!fflush(stdout) && !lost)
		return 0;
	/*
	 * What was lost earlier left no reason, and maybe nothing in the
	 * buffer: the end of the line that was cut meets the same one.
	 */
	known = errno || write(STDOUT_FILENO, "\n", 1) < 0;
	fprintf(stderr, "%s: cannot write the output: %s\n", tool,
		known ? strerror(errno) : "a part of it was lost");
	return -1;
}

/* ---- tables ---- */

struct table {
	const struct column *columns;
	unsigned int n;
	size_t cells;
	size_t room;
	char **cell;
};

struct table *table_create(const struct column *columns, unsigned int n)
{
	struct table *table = must(calloc(1, sizeof(*table)));

	table->columns = columns;
	table->n = n;
	return table;
}

void table_free(struct table *table)
{
	size_t i;

	if (!table)
		return;
	for (i = 0; i < table->cells; i++)
		free(table->cell[i]);
	free(table->cell);
	free(table);
}

void table_cell(struct table *table, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = must_print(format, args);
	va_end(args);
	if (table->cells == table->room) {
		table->room = table->room ? 2 * table->room : 64;
		table->cell = must(realloc(table->cell, table->room *
					   sizeof(*table->cell)));
	}
	table->cell[table->cells++] = text;
}

static int table_width(const struct table *table, unsigned int column)
{
	size_t width = strlen(table->columns[column].head);
	size_t i;

	for (i = column; i < table->cells; i += table->n)
		if (strlen(table->cell[i]) > width)
			width = strlen(table->cell[i]);
	return (int)width;
}

static void table_print_cell(const struct table *table, unsigned int column,
			     const char *text, FILE *file)
{
	bool last = column == table->n - 1;
	int width = table_width(table, column);

	if (!table->columns[column].left)
		fprintf(file, "%*s", width, text);
	else if (last)
		fputs(text, file);
	else
		fprintf(file, "%-*s", width, text);
	fputs(last ? "\n" : "  ", file);
}

void table_print(const struct table *table, FILE *file)
{
	unsigned int column;
	size_t i;

	if (!table->n)
		return;
	for (column = 0; column < table->n; column++)
		table_print_cell(table, column, table->columns[column].head,
				 file);
	for (i = 0; i < table->cells; i++)
		table_print_cell(table, i % table->n, table->cell[i], file);
	/* a row that was left unfinished */
	if (table->cells % table->n)
		fputc('\n', file);
}

/* ---- reports ---- */

struct report {
	cJSON *root;
	cJSON *results;
	cJSON *checks;
};

/* Model of the first processor, empty where /proc/cpuinfo has none */
static void cpu_model(char *model, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	*model = '\0';
	if (!file)
		return;
	while (!*model && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(line, "model name", 10) != 0)
			continue;
		colon += strspn(colon, ": \t");
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(model, size, "%s", colon);
	}
	fclose(file);
}

static void report_host(cJSON *root)
{
	struct utsname name;
	char model[256];
	cJSON *host;

	if (uname(&name))
		memset(&name, 0, sizeof(name));
	cpu_model(model, sizeof(model));
	must(cJSON_AddStringToObject(root, "kernel", name.release));
	must(cJSON_AddNullToObject(root, "link"));
	host = must(cJSON_AddObjectToObject(root, "host"));
	must(cJSON_AddStringToObject(host, "name", name.nodename));
	must(cJSON_AddStringToObject(host, "machine", name.machine));
	must(cJSON_AddStringToObject(host, "cpu", model));
	must(cJSON_AddNumberToObject(host, "cpus",
				     (double)sysconf(_SC_NPROCESSORS_ONLN)));
}

struct report *report_create(const char *tool, const char *version, int argc,
			     char *const *argv)
{
	struct report *report = must(calloc(1, sizeof(*report)));
	cJSON *root = must(cJSON_CreateObject());
	cJSON *args;
	int i;

	must(cJSON_AddStringToObject(root, "tool", tool));
	must(cJSON_AddStringToObject(root, "version", version));
	report_host(root);
	args = must(cJSON_AddArrayToObject(root, "args"));
	for (i = 1; i < argc; i++)
		cJSON_AddItemToArray(args, must(cJSON_CreateString(argv[i])));
	report->root = root;
	report->results = must(cJSON_AddArrayToObject(root, "results"));
	report->checks = must(cJSON_AddArrayToObject(root, "checks"));
	return report;
}

void report_free(struct report *report)
{
	if (!report)
		return;
	cJSON_Delete(report->root);
	free(report);
}

void report_link(struct report *report, const char *link)
{
	cJSON *text = must(cJSON_CreateString(link));

	cJSON_ReplaceItemInObject(report->root, "link", text);
}

static void report_reference(cJSON *result, const struct report_point *point)
{
	const struct stats *stats = point->reference_stats;
	double ratio = point->ratio;
	cJSON *reference;

	if (ratio <= 0)
		ratio = stats_ratio(point->stats->median, stats->median);

	reference = must(cJSON_AddObjectToObject(result, "reference"));
	must(cJSON_AddStringToObject(reference, "name", point->reference));
	must(cJSON_AddNumberToObject(reference, "value", stats->median));
	must(cJSON_AddNumberToObject(reference, "spread", stats->spread));
	must(cJSON_AddNumberToObject(result, "ratio", ratio));
}

struct cJSON *report_result(struct report *report,
			    const struct report_point *point)
{
	const struct stats *stats = point->stats;
	cJSON *result = must(cJSON_CreateObject());

	must(cJSON_AddStringToObject(result, "name", point->name));
	must(cJSON_AddObjectToObject(result, "params"));
	if (point->sized)
		must(cJSON_AddNumberToObject(result, "size_bytes",
					     (double)point->size_bytes));
	must(cJSON_AddStringToObject(result, "unit", point->unit));
	must(cJSON_AddNumberToObject(result, "value", stats->median));
	must(cJSON_AddNumberToObject(result, "p50", stats->median));
	must(cJSON_AddNumberToObject(result, "p99", stats->p99));
	must(cJSON_AddNumberToObject(result, "min", stats->min));
	must(cJSON_AddNumberToObject(result, "max", stats->max));
	must(cJSON_AddNumberToObject(result, "spread", stats->spread));
	must(cJSON_AddNumberToObject(result, "samples",
				     (double)stats->samples));
	if (point->reference)
		report_reference(result, point);
	cJSON_AddItemToArray(report->results, result);
	return result;
}

void report_param_number(struct cJSON *result, const char *name, double value)
{
	cJSON *params = cJSON_GetObjectItemCaseSensitive(result, "params");

	must(cJSON_AddNumberToObject(params, name, value));
}

void report_param_text(struct cJSON *result, const char *name,
		       const char *value)
{
	cJSON *params = cJSON_GetObjectItemCaseSensitive(result, "params");

	must(cJSON_AddStringToObject(params, name, value));
}

struct cJSON *report_add_result(struct report *report)
{
	cJSON *result = must(cJSON_CreateObject());

	cJSON_AddItemToArray(report->results, result);
	return result;
}

struct cJSON *line_create(void)
{
	return must(cJSON_CreateObject());
}

void line_print(struct cJSON *line, FILE *file)
{
	char *text = must(cJSON_PrintUnformatted(line));

	fprintf(file, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(line);
}

struct cJSON *report_root(struct report *report)
{
	return report->root;
}

struct cJSON *report_add_object(struct cJSON *object, const char *name)
{
	return must(cJSON_AddObjectToObject(object, name));
}

void report_add_text(struct cJSON *object, const char *name, const char *value)
{
	must(cJSON_AddStringToObject(object, name, value));
}

void report_add_number(struct cJSON *object, const char *name, double value)
{
	must(cJSON_AddNumberToObject(object, name, value));
}

void report_add_count(struct cJSON *object, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	must(cJSON_AddRawToObject(object, name, text));
}

struct cJSON *report_check(struct report *report, const char *name, bool ok,
			   const char *format, ...)
{
	cJSON *check = must(cJSON_CreateObject());
	va_list args;
	char *detail;

	va_start(args, format);
	detail = must_print(format, args);
	va_end(args);
	must(cJSON_AddStringToObject(check, "name", name));
	must(cJSON_AddBoolToObject(check, "ok", ok));
	must(cJSON_AddStringToObject(check, "detail", detail));
	cJSON_AddItemToArray(report->checks, check);
	free(detail);
	return check;
}

static bool check_ok(const cJSON *check)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(check, "ok"));
}

bool report_ok(const struct report *report)
{
	const cJSON *check;

	for (check = report->checks->child; check; check = check->next)
		if (!check_ok(check))
			return false;
	return true;
}

void report_print(const struct report *report, FILE *file)
{
	char *text = must(cJSON_Print(report->root));

	fprintf(file, "%s\n", text);
	cJSON_free(text);
}

static const char *check_text(const cJSON *check, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(check,
								     name));
}

void report_print_checks(const struct report *report, FILE *file)
{
	const cJSON *check;

	for (check = report->checks->child; check; check = check->next)
		fprintf(file, "%-7s %s: %s\n",
			check_ok(check) ? "ok" : "FAILED",
			check_text(check, "name"), check_text(check, "detail"));
}
