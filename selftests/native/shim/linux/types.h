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

typedef unsigned long long u64;
typedef long long s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef uint8_t u8;

/* As in uapi headers, which are included over these */
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef int32_t __s32;
typedef uint16_t __be16;
typedef uint32_t __be32;
typedef unsigned long long __be64;
typedef unsigned long long __le64;
#define __aligned_u64		__u64 __attribute__((aligned(8)))

#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define __packed		__attribute__((packed))
#define fallthrough		__attribute__((fallthrough))
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#endif /* SHIM_TYPES_H */
