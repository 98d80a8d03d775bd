/* SPDX-License-Identifier: GPL-2.0-only */
/* Operands of one type, as the kernel's min() and max() demand: see types.h */
#ifndef SHIM_MINMAX_H
#define SHIM_MINMAX_H

#define min_t(type, a, b) ({						\
	type min_a = (a);						\
	type min_b = (b);						\
									\
	min_a < min_b ? min_a : min_b;					\
})

#define max(a, b) ({							\
	__typeof__(a) max_a = (a);					\
	__typeof__(b) max_b = (b);					\
									\
	(void)(&max_a == &max_b);					\
	max_a > max_b ? max_a : max_b;					\
})

#endif /* SHIM_MINMAX_H */
