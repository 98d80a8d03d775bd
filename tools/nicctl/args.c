// SPDX-License-Identifier: GPL-2.0-only
/*
 * args.c - words of a command line, taken one after the other
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "args.h"

#define NONE		(-1)
#define AMBIGUOUS	(-2)

int args_fail(struct args *args, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(args->error, sizeof(args->error), format, list);
	va_end(list);
	return -1;
}

const char *args_peek(const struct args *args)
{
	return *args->word;
}

const char *args_take(struct args *args, const char *what)
{
	if (!*args->word) {
		args_fail(args, "%s is missing", what);
		return NULL;
	}
	if (!**args->word) {
		args_fail(args, "%s is empty", what);
		return NULL;
	}
	return *args->word++;
}

bool args_take_exactly(struct args *args, const char *word)
{
	if (!*args->word || strcmp(*args->word, word) != 0)
		return false;
	args->word++;
	return true;
}

static bool begins(const char *name, const char *word)
{
	return !strncmp(name, word, strlen(word));
}

static int match(const char *word, const char *const *names)
{
	int found = NONE;
	int i;

	if (!*word)
		return NONE;
	for (i = 0; names[i]; i++) {
		if (!strcmp(names[i], word))
			return i;
		if (begins(names[i], word))
			found = found == NONE ? i : AMBIGUOUS;
	}
	return found;
}

bool args_take_keyword(struct args *args, const char *word)
{
	const char *const names[2] = { word, NULL };

	if (!*args->word || match(*args->word, names) < 0)
		return false;
	args->word++;
	return true;
}

/* The names that begin with @word, "" for all: "show, set" */
static void list(char *text, size_t size, const char *word,
		 const char *const *names)
{
	size_t used = 0;
	int i;

	*text = '\0';
	for (i = 0; names[i]; i++) {
		if (!begins(names[i], word) || used >= size)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 used ? ", " : "", names[i]);
	}
}

int args_choose(struct args *args, const char *what, const char *const *names)
{
	const char *word = *args->word;
	char known[ARGS_ERROR / 2];
	int found;

	if (!word) {
		list(known, sizeof(known), "", names);
		return args_fail(args, "a %s is missing: %s", what, known);
	}
	found = match(word, names);
	if (found >= 0) {
		args->word++;
		return found;
	}
	list(known, sizeof(known), found == AMBIGUOUS ? word : "", names);
	if (found == AMBIGUOUS)
		return args_fail(args, "%s \"%s\" is ambiguous: %s", what, word,
				 known);
	return args_fail(args, "unknown %s \"%s\": use %s", what, word, known);
}

int args_end(struct args *args)
{
	if (!*args->word)
		return 0;
	return args_fail(args, "\"%s\" is one word too many", *args->word);
}
