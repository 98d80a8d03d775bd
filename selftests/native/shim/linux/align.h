/* SPDX-License-Identifier: GPL-2.0-only */
/* See types.h */
#define ALIGN(x, a)	(((x) + (a) - 1) / (a) * (a))
