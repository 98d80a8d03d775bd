/* SPDX-License-Identifier: GPL-2.0-only */
/* See dmanic.h */
#include <ctype.h>
