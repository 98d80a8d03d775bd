/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a pure file of the driver takes from the kernel's headers, for the unit
 * tests that compile it in user space. Arithmetic here is done in 128 bits, and
 * ends the test where the kernel's own would trap or lose bits.
 */
#ifndef SHIM_TYPES_H
#define SHIM_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#endif /* SHIM_TYPES_H */
