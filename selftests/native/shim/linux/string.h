/* SPDX-License-Identifier: GPL-2.0-only */
/* See types.h */
#include <string.h>
