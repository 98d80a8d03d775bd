/* SPDX-License-Identifier: GPL-2.0-only */
/* Division of 64 bits: see types.h */
#ifndef SHIM_MATH64_H
#define SHIM_MATH64_H

#include <linux/types.h>
#include <stdlib.h>

static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

/* The quotient must fit: on x86 the kernel's division traps when it does not */
static inline u64 mul_u64_u64_div_u64(u64 a, u64 mul, u64 div)
{
	unsigned __int128 quotient = (unsigned __int128)a * mul / div;

	if (quotient > UINT64_MAX)
		abort();
	return (u64)quotient;
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 div)
{
	return mul_u64_u64_div_u64(a, mul, div);
}

#endif /* SHIM_MATH64_H */
