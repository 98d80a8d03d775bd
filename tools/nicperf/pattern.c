// SPDX-License-Identifier: GPL-2.0-only
/*
 * pattern.c - data that can be recognised
 *
 * A linear congruence on 32 bits (constants of Numerical Recipes), of which
 * the highest byte is taken: shifted, swapped or repeated data do not match.
 */
#include "pattern.h"

static uint32_t pattern_next(uint32_t state)
{
	return state * 1664525 + 1013904223;
}

void pattern_fill(void *memory, uint64_t bytes, uint32_t seed)
{
	uint8_t *byte = memory;
	uint64_t i;

	for (i = 0; i < bytes; i++) {
		seed = pattern_next(seed);
		byte[i] = (uint8_t)(seed >> 24);
	}
}

bool pattern_matches(const void *memory, uint64_t bytes, uint32_t seed)
{
	const uint8_t *byte = memory;
	uint64_t i;

	for (i = 0; i < bytes; i++) {
		seed = pattern_next(seed);
		if (byte[i] != (uint8_t)(seed >> 24))
			return false;
	}
	return true;
}
