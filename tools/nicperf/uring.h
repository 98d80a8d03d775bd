/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring.h - an io_uring, and batches through it
 *
 * One ring of large entries serves all: operations, each a command of its own;
 * batches in the queue's ring, which one command hands over; and NOPs of
 * io_uring itself, what the other two are compared with. A batch is filled in,
 * submitted by one system call, and every completion of it taken.
 *
 * Failing functions leave a sentence in the end's @error.
 */
#ifndef NICPERF_URING_H
#define NICPERF_URING_H

#include "work.h"

#define URING_BATCH_MAX	64

struct uring;

enum uring_kind {
	URING_NOP,	/* of io_uring; the device has no part in it */
	URING_POST,	/* a command for each operation */
	URING_ENTER,	/* a command for the batch */
};

/*
 * A ring for @end. NULL: none, with the reason in @end's error, when the kernel
 * or the device cannot (at the moment) do it
 */
struct uring *uring_create(struct end *end);
void uring_destroy(struct uring *uring);

/* The next batch of @work (OP_PUT, OP_NOP), which must not be in flight */
int uring_batch(struct uring *uring, const struct work *work,
		enum uring_kind kind);

#endif /* NICPERF_URING_H */
