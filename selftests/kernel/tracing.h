/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tracing.h - the driver's tracepoints, in an instance of tracefs of the test's own
 */
#ifndef TRACING_H
#define TRACING_H

#include <linux/types.h>

#define TRACEFS		"/sys/kernel/tracing"
#define TRACING_PATH	64

/* Its path; events are in order across CPUs. Skips the test where there are none. */
void tracing_make(char path[TRACING_PATH]);
void tracing_remove(const char *path);

void tracing_enable(const char *path, const char *event);

/* Events since it was made or cleared, kept or not */
__u64 tracing_count(const char *path);

#endif /* TRACING_H */
