/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * copy.h - the memcpy that bandwidth is compared with
 */
#ifndef NICPERF_COPY_H
#define NICPERF_COPY_H

#include <stdint.h>

#include "work.h"

/**
 * struct copy - the same bytes as @work's, from the same memory to the same
 * @work: what is compared
 * @from: first slot of the source
 * @to: first slot of the target
 */
struct copy {
	const struct work *work;
	const char *from;
	char *to;
};

void copy_prepare(struct copy *copy, const struct work *work,
		  const struct end *far);

/* @count copies by this thread; @arg: struct copy */
int copy_run(void *arg, uint64_t count, uint64_t *ns);

#endif /* NICPERF_COPY_H */
