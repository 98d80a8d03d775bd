// SPDX-License-Identifier: GPL-2.0-only
/*
 * option.c - what getopt_long() refused, in the words that all tools have
 */
#include <stdio.h>
#include <string.h>

#include "option.h"

static const struct option *find(const struct option *longs, int value)
{
	for (; longs->name; longs++)
		if (longs->val == value)
			return longs;
	return NULL;
}

const char *option_refused(int answer, char **argv, const char *shorts,
			   const struct option *longs, char *text)
{
	const struct option *option = optopt ? find(longs, optopt) : NULL;

	if (answer == ':' && option)
		snprintf(text, OPTION_TEXT, "--%s needs a value", option->name);
	else if (option)
		snprintf(text, OPTION_TEXT, "--%s takes no value",
			 option->name);
	else if (optopt && !strchr(shorts, optopt))
		snprintf(text, OPTION_TEXT, "unknown option \"-%c\"", optopt);
	else
		snprintf(text, OPTION_TEXT, "unknown option \"%.80s\"",
			 argv[optind - 1]);
	return text;
}
