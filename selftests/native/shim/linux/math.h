/* SPDX-License-Identifier: GPL-2.0-only */
/* See types.h */
#ifndef SHIM_MATH_H
#define SHIM_MATH_H

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#endif /* SHIM_MATH_H */
