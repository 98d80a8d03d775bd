// SPDX-License-Identifier: GPL-2.0-only
/*
 * copy.c - the memcpy that bandwidth is compared with
 *
 * It walks the same slots of the same two segments as the operations do, so
 * both find the same memory and much the same caches.
 */
#include <string.h>

#include "copy.h"

void copy_prepare(struct copy *copy, const struct work *work,
		  const struct end *far)
{
	const struct end *near = work->end;

	copy->work = work;
	if (work->op == OP_GET) {
		copy->from = end_send(far);
		copy->to = end_receive(near);
	} else {
		copy->from = end_send(near);
		copy->to = end_receive(far);
	}
}

static void copy_blocks(char *to, const char *from,
			const struct nic_stride *stride)
{
	uint32_t i;

	for (i = 0; i < stride->count; i++) {
		memcpy(to, from, stride->block);
		to += stride->remote_stride;
		from += stride->local_stride;
	}
}

int copy_run(void *arg, uint64_t count, uint64_t *ns)
{
	const struct copy *copy = arg;
	const struct work *work = copy->work;
	unsigned int slot = 0;
	uint64_t start, i;

	start = now_ns();
	for (i = 0; i < count; i++) {
		char *to = copy->to + slot * work->extent;
		const char *from = copy->from + slot * work->extent;

		if (op_has_blocks(work->op))
			copy_blocks(to, from, &work->stride);
		else
			memcpy(to, from, work->bytes);
		/* the next copy to the same place must not replace this one */
		__asm__ volatile("" ::: "memory");
		if (++slot == work->slots)
			slot = 0;
	}
	*ns = now_ns() - start;
	return 0;
}
