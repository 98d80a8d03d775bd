/* SPDX-License-Identifier: GPL-2.0-only */
/* See types.h */
#ifndef SHIM_TIME64_H
#define SHIM_TIME64_H

#define NSEC_PER_SEC	1000000000L

#endif /* SHIM_TIME64_H */
