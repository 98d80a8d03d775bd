// SPDX-License-Identifier: GPL-2.0-only
/*
 * progress.c - a bar on stderr while something takes long
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/progress.h"

#define BAR_WIDTH	30

static uint64_t bar_total;
static bool bar_terminal;
static bool bar_drawn;

void progress_start(uint64_t total)
{
	bar_total = total;
	bar_terminal = isatty(STDERR_FILENO);
}

void progress_show(uint64_t done, const char *what)
{
	static const char full[] = "##############################";
	unsigned int filled;

	_Static_assert(sizeof(full) == BAR_WIDTH + 1, "one # a column");
	if (!bar_terminal || !bar_total)
		return;
	if (done > bar_total)
		done = bar_total;
	filled = (unsigned int)((double)done / (double)bar_total * BAR_WIDTH);
	/* \033[K clears what a longer line left behind */
	fprintf(stderr, "\r[%-*.*s] %3.0f %%  %.36s\033[K", BAR_WIDTH,
		(int)filled, full, 100.0 * (double)done / (double)bar_total,
		what);
	fflush(stderr);
	bar_drawn = true;
}

void progress_clear(void)
{
	if (!bar_drawn)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	bar_drawn = false;
}
