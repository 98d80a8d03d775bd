/* SPDX-License-Identifier: GPL-2.0-only */
/* See types.h */
#ifndef SHIM_KTIME_H
#define SHIM_KTIME_H

#include <linux/types.h>

#define KTIME_MAX	((s64)~((u64)1 << 63))

#endif /* SHIM_KTIME_H */
