// SPDX-License-Identifier: GPL-2.0-only
/*
 * stats.c - nicctl stats: counters of devices
 */
#include <stdlib.h>

#include "nicctl.h"

int stats_run(struct nicctl *ctl)
{
	struct request request = { 0 };
	struct devices devices = { 0 };
	int status, ret;

	if (args_take_keyword(&ctl->args, "help"))
		return help_topic(ctl, "stats");
	args_take_keyword(&ctl->args, "show");
	if (request_devices(&request, &ctl->args) || args_end(&ctl->args))
		return nicctl_usage(ctl, "stats");
	status = nicctl_connect(ctl);
	if (status)
		return status;
	ret = devices_get(&ctl->nl, DMANIC_GENL_CMD_STATS_GET, request.name,
			  request.fabric, &devices);
	if (ret)
		status = nicctl_fail_selected(ctl, "stats", &request, ret);
	else
		show_stats(ctl, &devices);
	devices_free(&devices);
	return status;
}
