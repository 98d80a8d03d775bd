/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * option.h - what getopt_long() refused, in the words that all tools have
 */
#ifndef TOOLS_OPTION_H
#define TOOLS_OPTION_H

#include <getopt.h>

#define OPTION_TEXT	128

/*
 * @answer: what getopt_long() returned, ':' (@shorts begins with it, perhaps
 * behind a '+') or '?'. Returns @text: "unknown option \"--x\"".
 */
const char *option_refused(int answer, char **argv, const char *shorts,
			   const struct option *longs, char *text);

#endif /* TOOLS_OPTION_H */
