/* SPDX-License-Identifier: GPL-2.0-only */
/* See types.h */
#include <stddef.h>
