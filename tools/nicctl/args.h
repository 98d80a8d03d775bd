/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * args.h - words of a command line, taken one after the other
 *
 * A keyword may be shortened as long as only one of those possible begins so;
 * an exact word always counts as itself. Pure; thread-safe.
 */
#ifndef NICCTL_ARGS_H
#define NICCTL_ARGS_H

#include <stdbool.h>

#define ARGS_ERROR	512

#define ARGS_PRINTF(text, first) \
	__attribute__((format(printf, text, first)))

/**
 * struct args - what is left of a command line
 * @word: those not yet taken, then NULL
 * @error: what was wrong, set by the functions that fail
 */
struct args {
	char *const *word;
	char error[ARGS_ERROR];
};

/* The next word, which stays; NULL at the end */
const char *args_peek(const struct args *args);

/* The next word; @what it should be: "a device name". NULL: @error is set. */
const char *args_take(struct args *args, const char *what);

/* Take the next word if it is @word, not shortened */
bool args_take_exactly(struct args *args, const char *word);

/* The same, shortened or not */
bool args_take_keyword(struct args *args, const char *word);

/*
 * Take the next word, which must be one of @names (the last is NULL). @what
 * these are: "command". Returns its index, or -1: @error is set and the word
 * was not taken.
 */
int args_choose(struct args *args, const char *what, const char *const *names);

/* Nothing may be left: 0, or -1 and @error is set */
int args_end(struct args *args);

/* Set @error; returns -1 */
int args_fail(struct args *args, const char *format, ...)
	ARGS_PRINTF(2, 3);

#endif /* NICCTL_ARGS_H */
