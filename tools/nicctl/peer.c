// SPDX-License-Identifier: GPL-2.0-only
/*
 * peer.c - nicctl peer: other nodes that devices know
 */
#include <stdlib.h>
#include <string.h>

#include "nicctl.h"

/* The driver tells all; of one device those with its name */
static void filter(struct devices *devices, const char *name)
{
	size_t i, n = 0;

	for (i = 0; i < devices->n; i++)
		if (!strcmp(devices->device[i].name, name))
			devices->device[n++] = devices->device[i];
	devices->n = n;
}

int peer_run(struct nicctl *ctl)
{
	struct devices devices = { 0 }, one = { 0 };
	const char *name = NULL;
	int status;

	if (args_take_keyword(&ctl->args, "help"))
		return help_topic(ctl, "peer");
	args_take_keyword(&ctl->args, "show");
	if (args_peek(&ctl->args))
		name = args_take(&ctl->args, "the name of the device");
	if (args_end(&ctl->args))
		return nicctl_usage(ctl, "peer");
	status = nicctl_connect(ctl);
	if (status)
		return status;
	/* Whether there is one of that name, a list of peers does not tell */
	if ((name && devices_get(&ctl->nl, DMANIC_GENL_CMD_DEV_GET, name, NULL, &one)) ||
	    devices_get(&ctl->nl, DMANIC_GENL_CMD_PEER_GET, NULL, NULL, &devices)) {
		status = nicctl_fail(ctl, "peer", "%s", ctl->nl.error);
	} else {
		if (name)
			filter(&devices, name);
		show_peers(ctl, &devices);
	}
	devices_free(&devices);
	devices_free(&one);
	return status;
}
