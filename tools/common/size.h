/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * size.h - sizes, counts and times as people write them
 *
 * Sizes are bytes, with k, M or G for 1024 each; times are seconds, or carry
 * ns, us, ms or s. What is printed can be parsed again. A parser returns NULL,
 * or the reason of its refusal as the end of a sentence that begins with the
 * refused word ("is negative"). Pure; thread-safe.
 */
#ifndef TOOLS_SIZE_H
#define TOOLS_SIZE_H

#include <stdint.h>

#define SIZE_TEXT	32	/* room for a printed size or time */
#define SIZE_LIST_MAX	64

struct size_list {
	unsigned int n;
	uint64_t value[SIZE_LIST_MAX];
};

/* "8", "64k", "4M", "1G" */
const char *size_parse(const char *text, uint64_t *bytes);

/* "8,64k,1M"; "8-4M" means 8 and its doublings up to 4M */
const char *size_list_parse(const char *text, struct size_list *list);

/* A whole number without unit, at most @max */
const char *count_parse(const char *text, uint64_t max, uint64_t *count);

/* "0,2,4-7": every number of a range; each at most @max */
const char *count_list_parse(const char *text, uint64_t max,
			     struct size_list *list);

/* "1.5" (seconds), "10ms", "49.2us", "100ns"; less than 1 ns is cut off */
const char *time_parse(const char *text, uint64_t *ns);

/* "1", "0.5", "100": thousandths; no unit, at most three decimals */
const char *scale_parse(const char *text, uint64_t *thousandths);

/* "1%", "0.05%": parts per million; at least one, at most all, or 0 */
const char *share_parse(const char *text, uint64_t *ppm);

/* Exact: "64k" for 65536, "65537" for one more. Returns @text[SIZE_TEXT]. */
char *size_print(uint64_t bytes, char *text);

/* Parts per million, exact: "0.05%". Returns @text[SIZE_TEXT]. */
char *share_print(uint64_t ppm, char *text);

/* At most four digits: "49.2us". Returns @text[SIZE_TEXT]. */
char *time_print(double ns, char *text);

#endif /* TOOLS_SIZE_H */
