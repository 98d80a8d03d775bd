// SPDX-License-Identifier: GPL-2.0-only
/*
 * over.c - operations of a flow that write over each other
 *
 * All of a flow have one area, that of its first. To the same bytes the one posted last
 * wins, whatever the network does, and when one raises an interrupt all that was posted
 * before is there. So for each byte the last one posted is known when it is posted, and
 * what it wrote is to be there from its end on.
 */
#include <stdlib.h>

#include "sim.h"

static u64 over_area(const struct sim_flow *flow)
{
	return flow->op[0].area;
}

void sim_over_setup(struct sim_flow *flow)
{
	flow->wanted = calloc(1, sim_area_bytes());
	flow->owner = calloc(sim_area_bytes(), sizeof(*flow->owner));
}

/* Its kind and length are chosen: now where, and what is there in the end */
void sim_over_post(struct sim_op *op)
{
	struct dmanic_xfer *xfer = &op->xfer;
	struct sim_flow *flow = op->flow;
	u64 i, at, from, span = xfer->length;

	if (xfer->block)
		span = (xfer->length + xfer->block - 1) / xfer->block * xfer->stride;
	from = sim_random() % (sim_area_bytes() - span + 1);
	xfer->offset = over_area(flow) + from;
	for (i = 0; i < xfer->length; i++) {
		at = from + i;
		if (xfer->block)
			at = from + i / xfer->block * xfer->stride + i % xfer->block;
		flow->wanted[at] = sim_byte(op->serial, i);
		flow->owner[at] = op->serial;
	}
}

/* Of those with serial numbers @first to @last everything is there that none went over */
void sim_over_check(const struct sim_flow *flow, u64 first, u64 last)
{
	const u8 *memory = flow->peer->other->memory + over_area(flow);
	u64 at;

	for (at = 0; at < sim_area_bytes(); at++) {
		if (flow->owner[at] < first || flow->owner[at] > last)
			continue;
		SIM_CHECK(memory[at] == flow->wanted[at],
			  "byte %llu is not that of operation %llu, with %llu there", at,
			  flow->owner[at], last);
	}
}
