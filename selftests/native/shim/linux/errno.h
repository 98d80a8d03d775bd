/* SPDX-License-Identifier: GPL-2.0-only */
/* See types.h */
#include_next <linux/errno.h>
