/* SPDX-License-Identifier: GPL-2.0-only */
/* Operands of one type, as the kernel's min() and max() demand: see types.h */
#ifndef SHIM_MINMAX_H
#define SHIM_MINMAX_H

/* Names of their own, for one within the other */
#define SHIM_JOIN(a, b)		a##b
#define SHIM_NAME(a, b)		SHIM_JOIN(a, b)

#define SHIM_CHOOSE(type_a, type_b, x, op, y, a, b) ({			\
	type_a a = (x);							\
	type_b b = (y);							\
									\
	(void)(&(a) == &(b));						\
	(a) op (b) ? (a) : (b);						\
})
#define SHIM_PICK(type_a, type_b, x, op, y, number)			\
	SHIM_CHOOSE(type_a, type_b, x, op, y,				\
		    SHIM_NAME(shim_a, number), SHIM_NAME(shim_b, number))

#define min_t(type, x, y)	SHIM_PICK(type, type, x, <, y, __COUNTER__)
#define max_t(type, x, y)	SHIM_PICK(type, type, x, >, y, __COUNTER__)
#define min(x, y)							\
	SHIM_PICK(__typeof__(x), __typeof__(y), x, <, y, __COUNTER__)
#define max(x, y)							\
	SHIM_PICK(__typeof__(x), __typeof__(y), x, >, y, __COUNTER__)
#define min3(x, y, z)		min((__typeof__(x))min(x, y), z)
#define clamp(value, low, high)						\
	min((__typeof__(value))max(value, low), high)

#endif /* SHIM_MINMAX_H */
