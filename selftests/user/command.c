// SPDX-License-Identifier: GPL-2.0-only
/*
 * command.c - run a tool as a person would, and look at what it said
 *
 * Owns: the output of the last command. Both streams go to files, so that a
 * command that says much is not held up.
 */
#include "command.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct output output;

static char words[1024];

const char *run_words(void)
{
	return words;
}

const char *prefix(void)
{
	static char text[DMANIC_NAME_MAX];

	/* As fabric_add() names those of letter "a" */
	snprintf(text, sizeof(text), "t%da_", getpid());
	return text;
}

const char *file(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/%s.conf", prefix());
	return path;
}

/* build/user, two folders above this program, before everything else */
static void find_tools(void)
{
	static char top[PATH_MAX];
	ssize_t length;
	char *path;
	int i;

	if (*top)
		return;
	length = readlink("/proc/self/exe", top, sizeof(top) - 1);
	ASSERT_GT(length, 0);
	for (i = 0; i < 3; i++)
		*strrchr(top, '/') = '\0';
	ASSERT_GT(asprintf(&path, "%s:%s", top, getenv("PATH") ?:
			   "/usr/sbin:/usr/bin:/sbin:/bin"), 0);
	setenv("PATH", path, 1);
	free(path);
	setenv("LD_LIBRARY_PATH", top, 1);
	unsetenv("NIC_DEVICE");
}

static void put_words(const char *text)
{
	size_t at = 0, length;

	for (; *text; text++) {
		const char *piece = *text == '@' ? prefix() : text;

		length = *text == '@' ? strlen(piece) : 1;
		ASSERT_LT(at + length, sizeof(words));
		memcpy(words + at, piece, length);
		at += length;
	}
	words[at] = '\0';
}

static void take_stream(FILE *file, char *text, size_t bytes)
{
	size_t length;

	rewind(file);
	length = fread(text, 1, bytes - 1, file);
	text[length] = '\0';
	ASSERT_LT(length, bytes - 1);
	fclose(file);
}

/* Only what needs a shell gets one: starting a program takes long here. */
static void become_words(void)
{
	char *argv[64], *rest = words;
	unsigned int n = 0;

	if (strpbrk(words, "'\"$;|&<>[")) {
		execl("/bin/sh", "sh", "-c", words, NULL);
		_exit(127);
	}
	while (n < ARRAY_SIZE(argv) - 1 && (argv[n] = strsep(&rest, " ")))
		n++;
	argv[n] = NULL;
	execvp(argv[0], argv);
	_exit(127);
}

void run(const char *format, ...)
{
	FILE *out = tmpfile(), *err = tmpfile();
	char text[sizeof(words)];
	va_list arguments;
	int status;
	pid_t child;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	put_words(text);
	find_tools();
	ASSERT_TRUE(out && err);
	output.took_ns = now_ns();
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		become_words();
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	output.took_ns = now_ns() - output.took_ns;
	output.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
					      WEXITSTATUS(status);
	take_stream(out, output.out, sizeof(output.out));
	take_stream(err, output.err, sizeof(output.err));
}

unsigned int count(const char *text, const char *part)
{
	unsigned int n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

/* ---- reports ---- */

static const cJSON *member(const cJSON *object, const char *name)
{
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!found)
		FAIL("no \"%s\" in the report of: %s", name, words);
	return found;
}

static void check_stats(const cJSON *result)
{
	static const char *const names[] = {
		"value", "p50", "p99", "min", "max", "spread", "samples",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		ASSERT_TRUE(isfinite(number_of(result, names[i])));
	EXPECT_GE(number_of(result, "samples"), 1);
	EXPECT_TRUE(number_of(result, "min") <= number_of(result, "value"));
	EXPECT_TRUE(number_of(result, "value") <= number_of(result, "max"));
	EXPECT_TRUE(*text_of(result, "unit"));
}

struct cJSON *report_of(const char *tool)
{
	cJSON *report, *result, *check;
	const char *end = NULL;

	report = cJSON_ParseWithOpts(output.out, &end, 0);
	if (!report)
		FAIL("no JSON from: %s: %.200s", words, output.out);
	if (end[strspn(end, "\n")])
		FAIL("more than one object from: %s", words);
	EXPECT_EQ(strcmp(text_of(report, "tool"), tool), 0);
	EXPECT_TRUE(*text_of(report, "version"));
	EXPECT_TRUE(*text_of(report, "kernel"));
	EXPECT_TRUE(*text_of(report, "host.machine"));
	EXPECT_TRUE(cJSON_IsArray(member(report, "args")));
	ASSERT_TRUE(cJSON_IsArray(member(report, "results")));
	ASSERT_TRUE(cJSON_IsArray(member(report, "checks")));
	cJSON_ArrayForEach(result, member(report, "results")) {
		EXPECT_TRUE(*text_of(result, "name"));
		if (cJSON_GetObjectItem(result, "unit"))
			check_stats(result);
	}
	cJSON_ArrayForEach(check, member(report, "checks")) {
		EXPECT_TRUE(*text_of(check, "name"));
		EXPECT_TRUE(cJSON_IsBool(member(check, "ok")));
	}
	return report;
}

struct cJSON *result_named(struct cJSON *report, const char *name)
{
	cJSON *result;

	cJSON_ArrayForEach(result, member(report, "results"))
		if (!strcmp(text_of(result, "name"), name))
			return result;
	FAIL("no result \"%s\" from: %s", name, words);
}

const struct cJSON *check_named(const struct cJSON *report, const char *name)
{
	const cJSON *check;

	cJSON_ArrayForEach(check, member(report, "checks"))
		if (!strcmp(text_of(check, "name"), name))
			return check;
	FAIL("no check \"%s\" from: %s", name, words);
}

static const cJSON *at_path(const cJSON *object, const char *path)
{
	char name[64];
	size_t length;

	for (;; path += length + 1) {
		length = strcspn(path, ".");
		ASSERT_LT(length, sizeof(name));
		memcpy(name, path, length);
		name[length] = '\0';
		object = member(object, name);
		if (!path[length])
			return object;
	}
}

double number_of(const struct cJSON *object, const char *path)
{
	const cJSON *number = at_path(object, path);

	if (!cJSON_IsNumber(number))
		FAIL("\"%s\" is no number in the report of: %s", path, words);
	return number->valuedouble;
}

const char *text_of(const struct cJSON *object, const char *path)
{
	const cJSON *text = at_path(object, path);

	if (!cJSON_IsString(text))
		FAIL("\"%s\" is no text in the report of: %s", path, words);
	return text->valuestring;
}
