// SPDX-License-Identifier: GPL-2.0-only
/*
 * overtake.c - rank 1 writes much to rank 0, and asks it for something meanwhile
 *
 * To ask is urgent, and goes before the data that wait already: the answer is there when
 * only a part of them is. On a slow wire; that it is slow does not matter.
 */
#include "exchange.h"

#include <stdio.h>

static void ask(struct exchange *x)
{
	struct nic_completion done[64];
	struct nic_remote *to, *late;
	struct nic_segment *from;
	unsigned int i, early = 0;
	unsigned int got;

	must(x, nic_segment_alloc(x->ctx, x->depth * x->bytes, &from), "make a segment");
	must(x, nic_team_find(x->team, 0, "data", x->wait_ns, &to), "find rank 0");
	meet(x);
	for (i = 0; i < x->depth; i++)
		must(x, nic_post_put(x->queue, from, i * x->bytes, to, i * x->bytes, x->bytes,
				     0, i), "put");
	must(x, nic_queue_submit(x->queue), "submit");
	must(x, nic_team_find(x->team, 0, "late", x->wait_ns, &late), "ask rank 0");
	do {
		got = nic_queue_poll(x->queue, done, ARRAY_SIZE(done));
		early += got;
	} while (got);
	printf("answered when %u of %u puts were done\n", early, x->depth);
	fflush(stdout);
	must(x, nic_queue_drain(x->queue, x->wait_ns), "wait for the rest");
	if (early > x->depth / 2)
		die(x, "most of what was written was there before the answer");
}

void overtake_run(struct exchange *x)
{
	struct nic_segment *data, *late;

	if (!x->rank) {
		share(x, x->depth * x->bytes, NIC_WRITE, "data", &data);
		share(x, 4096, NIC_READ, "late", &late);
		meet(x);
	} else {
		ask(x);
	}
	meet(x);
}
