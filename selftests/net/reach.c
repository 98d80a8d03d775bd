// SPDX-License-Identifier: GPL-2.0-only
/*
 * reach.c - one rank connects to a node that is none
 *
 * Prints the sentence that tells why it could not; that it could is a failure.
 */
#include "exchange.h"

#include <stdio.h>

void reach_run(struct exchange *x)
{
	struct nic_remote *remote;

	if (!nic_connect_name(x->ctx, x->to, "nobody", NULL, x->wait_ns, &remote))
		die(x, "connected to node %u", x->to);
	puts(nic_error_detail(x->ctx));
}
