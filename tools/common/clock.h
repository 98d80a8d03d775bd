/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * clock.h - the clock the tools measure and wait by
 */
#ifndef TOOLS_CLOCK_H
#define TOOLS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S	1000000000ULL

static inline uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

#endif /* TOOLS_CLOCK_H */
