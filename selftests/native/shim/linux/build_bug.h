/* SPDX-License-Identifier: GPL-2.0-only */
/* static_assert() with one argument: see types.h */
#ifndef SHIM_BUILD_BUG_H
#define SHIM_BUILD_BUG_H

#undef static_assert
#define static_assert(condition)	_Static_assert(condition, #condition)

#endif /* SHIM_BUILD_BUG_H */
