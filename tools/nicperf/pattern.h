/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pattern.h - data that can be recognised
 */
#ifndef NICPERF_PATTERN_H
#define NICPERF_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define PATTERN_EMPTY	0xee	/* where nothing should have arrived */

/* Fill with bytes that depend on @seed and on their place */
void pattern_fill(void *memory, uint64_t bytes, uint32_t seed);

/* What pattern_fill() with @seed wrote? */
bool pattern_matches(const void *memory, uint64_t bytes, uint32_t seed);

#endif /* NICPERF_PATTERN_H */
