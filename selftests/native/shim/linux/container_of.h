/* SPDX-License-Identifier: GPL-2.0-only */
/* See types.h */
#ifndef SHIM_CONTAINER_OF_H
#define SHIM_CONTAINER_OF_H

#include <stddef.h>

#define container_of(at, type, member)					\
	((type *)((char *)(at) - offsetof(type, member)))

#endif /* SHIM_CONTAINER_OF_H */
