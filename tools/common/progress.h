/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * progress.h - a bar on stderr while something takes long
 *
 * Nothing is printed when stderr is not a terminal. There is one bar; it
 * belongs to the main thread and is drawn between measurements only.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdint.h>

/* @total steps are to come */
void progress_start(uint64_t total);

/* Now doing @what (printed beside the bar); @done steps are done */
void progress_show(uint64_t done, const char *what);

/* Remove the bar, to print something else; the next show draws it again */
void progress_clear(void);

#endif /* TOOLS_PROGRESS_H */
