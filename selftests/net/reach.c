// SPDX-License-Identifier: GPL-2.0-only
/*
 * reach.c - one rank connects to nodes that are none, or answer nothing
 *
 * To all of them at once. Prints the sentences that tell why it could not; that it could
 * is a failure.
 */
#include "exchange.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct reach - to one node
 * @x: the rank
 * @to: the node
 * @thread: who tries
 */
struct reach {
	const struct exchange *x;
	uint32_t to;
	pthread_t thread;
};

static void *reach_one(void *data)
{
	const struct reach *reach = data;
	const struct exchange *x = reach->x;
	struct nic_remote *remote;

	if (!nic_connect_name(x->ctx, reach->to, "nobody", NULL, x->wait_ns, &remote))
		die(x, "connected to node %u", reach->to);
	puts(nic_error_detail(x->ctx));
	return NULL;
}

void reach_run(struct exchange *x)
{
	struct reach *reach = calloc(x->nodes, sizeof(*reach));
	unsigned int i;
	int ret;

	if (!reach)
		die(x, "no memory for %u nodes", x->nodes);
	for (i = 0; i < x->nodes; i++) {
		reach[i].x = x;
		reach[i].to = x->to + i;
		ret = pthread_create(&reach[i].thread, NULL, reach_one, &reach[i]);
		if (ret)
			die(x, "thread %u: %s", i, strerror(ret));
	}
	for (i = 0; i < x->nodes; i++)
		pthread_join(reach[i].thread, NULL);
	free(reach);
}
