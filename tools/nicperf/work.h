/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * work.h - a window of operations in flight
 */
#ifndef NICPERF_WORK_H
#define NICPERF_WORK_H

#include <nic.h>
#include <stdint.h>

#include "end.h"

enum op {
	OP_PUT,
	OP_GET,
	OP_STRIDED,	/* put */
	OP_PIO,		/* stores through a mapping, and a flush */
	OP_LIST,	/* the same blocks, by a list */
	OP_BLOCKS,	/* the same blocks, a put each */
	OP_NOTIFY,
	OP_NOP,
	OP_COUNT
};

/**
 * struct work - what is done over and over
 * @end: who does it
 * @op: what
 * @wait: how completions are waited for
 * @bytes: moved by one operation
 * @stride: blocks (op_has_blocks()), on both sides alike
 * @list: of OP_LIST: the blocks of a slot, counted from its start
 * @extent: bytes from one slot to the next, on both sides
 * @slots: places that take turns, so that what is in flight together does
 *	not touch the same memory (unless the halves are too small for that)
 * @depth: operations in flight
 * @batch: operations to a submit, at most @depth; 0: as many as there is room
 */
struct work {
	struct end *end;
	enum op op;
	enum wait wait;
	uint64_t bytes;
	struct nic_stride stride;
	struct nic_list list;
	uint64_t extent;
	unsigned int slots;
	unsigned int depth;
	unsigned int batch;
};

const char *op_name(enum op op);

/* Does it move the blocks of a struct nic_stride? */
static inline bool op_has_blocks(enum op op)
{
	return op == OP_STRIDED || op == OP_LIST || op == OP_BLOCKS;
}

/*
 * Give @work slots of @extent bytes: one for each operation in flight, or as
 * many as fit in a half
 */
void work_slots(struct work *work, uint64_t extent);

/* Post one operation on @slot, without submitting it */
int work_post(const struct work *work, unsigned int slot);

/* Do @count of @arg (struct work); @ns: from first post to last completion */
int work_run(void *arg, uint64_t count, uint64_t *ns);

#endif /* NICPERF_WORK_H */
