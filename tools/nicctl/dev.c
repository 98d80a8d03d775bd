// SPDX-License-Identifier: GPL-2.0-only
/*
 * dev.c - nicctl dev: make, change, show and remove devices
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nicctl.h"

static const char *selected(const struct request *request)
{
	return request->name ? request->name : request->fabric;
}

static int change(struct nicctl *ctl, const char *what, uint8_t command,
		  const struct request *request)
{
	int status = nicctl_connect(ctl);
	int ret;

	if (status)
		return status;
	ret = devices_change(&ctl->nl, command, request);
	if (ret == -ENODEV && command == DMANIC_GENL_CMD_DEV_NEW && request->netdev)
		return nicctl_fail(ctl, what, "%s: netdev %s: %s", selected(request),
				   request->netdev, ctl->nl.error);
	/* nothing is selected that is yet to be made */
	if (ret && command == DMANIC_GENL_CMD_DEV_NEW)
		return nicctl_fail(ctl, what, "%s: %s", selected(request),
				   ctl->nl.error);
	if (ret)
		return nicctl_fail_selected(ctl, what, request, ret);
	report_check(ctl->report, what, true, "%s", selected(request));
	return EXIT_SUCCESS;
}

static int show_run(struct nicctl *ctl)
{
	struct request request = { 0 };
	struct devices devices = { 0 }, peers = { 0 };
	int status, ret;

	if (request_devices(&request, &ctl->args) || args_end(&ctl->args))
		return nicctl_usage(ctl, "dev");
	status = nicctl_connect(ctl);
	if (status)
		return status;
	ret = devices_get(&ctl->nl, DMANIC_GENL_CMD_DEV_GET, request.name,
			  request.fabric, &devices);
	if (!ret && request.name)
		ret = devices_get(&ctl->nl, DMANIC_GENL_CMD_PEER_GET, NULL, NULL, &peers);
	if (ret)
		status = nicctl_fail_selected(ctl, "dev show", &request, ret);
	else if (request.name && devices.n)
		show_device(ctl, &devices.device[0], &peers);
	else
		show_devices(ctl, &devices);
	devices_free(&devices);
	devices_free(&peers);
	return status;
}

/*
 * Which keywords there are depends on the type, so an unknown type is what
 * must be told, whatever else is on the line.
 */
static int check_type(struct nicctl *ctl)
{
	char *const *word;

	for (word = ctl->args.word; word[0] && word[1]; word++)
		if (!strcmp(word[0], "type") && strcmp(word[1], "loop") != 0 &&
		    strcmp(word[1], "ether") != 0)
			return args_fail(&ctl->args,
					 "link type \"%s\" is not in this version of the driver; types: loop, ether",
					 word[1]);
	return 0;
}

static int add_run(struct nicctl *ctl)
{
	struct request request = { 0 };
	struct args *args = &ctl->args;

	if (request_prefix(&request, args))
		return nicctl_usage(ctl, "dev");
	if (check_type(ctl))
		return nicctl_usage(ctl, "dev");
	if (request_keywords(&request, args, KEYWORDS_ADD))
		return nicctl_usage(ctl, "dev");
	if (request_check_add(&request, args))
		return nicctl_usage(ctl, "dev");
	return change(ctl, "dev add", DMANIC_GENL_CMD_DEV_NEW, &request);
}

/* NAME | fabric PREFIX, which must be there, then keywords */
static int change_parse(struct nicctl *ctl, struct request *request,
			unsigned int keywords)
{
	struct args *args = &ctl->args;

	if (request_devices(request, args))
		return nicctl_usage(ctl, "dev");
	if (!selected(request)) {
		args_fail(args, "which device is missing: NAME or fabric PREFIX");
		return nicctl_usage(ctl, "dev");
	}
	if (request_keywords(request, args, keywords))
		return nicctl_usage(ctl, "dev");
	return 0;
}

static int set_run(struct nicctl *ctl)
{
	struct request request = { 0 };
	int status = change_parse(ctl, &request, KEYWORDS_SET);

	if (status)
		return status;
	if (!request.given) {
		args_fail(&ctl->args, "nothing to change in %s",
			  selected(&request));
		return nicctl_usage(ctl, "dev");
	}
	if (request_check_set(&request, &ctl->args))
		return nicctl_usage(ctl, "dev");
	return change(ctl, "dev set", DMANIC_GENL_CMD_DEV_SET, &request);
}

static int del_run(struct nicctl *ctl)
{
	struct request request = { 0 };
	int status = change_parse(ctl, &request, KEYWORDS_DEL);

	if (status)
		return status;
	return change(ctl, "dev del", DMANIC_GENL_CMD_DEV_DEL, &request);
}

static int dev_help_run(struct nicctl *ctl)
{
	return help_topic(ctl, "dev");
}

/* Is "help" all that follows? Then it is taken. */
static bool asks_for_help(struct args *args)
{
	return args_peek(args) && !args->word[1] &&
	       args_take_exactly(args, "help");
}

int dev_run(struct nicctl *ctl)
{
	static const char *const names[] = {
		"show", "add", "set", "del", "help", NULL
	};
	static int (*const runs[])(struct nicctl *ctl) = {
		show_run, add_run, set_run, del_run, dev_help_run
	};
	int command;

	if (!args_peek(&ctl->args))
		return show_run(ctl);
	command = args_choose(&ctl->args, "command", names);
	/* "dev add help"; a device is never called so, a fabric may be */
	if (command >= 0 && asks_for_help(&ctl->args))
		return dev_help_run(ctl);
	return command < 0 ? nicctl_usage(ctl, "dev") : runs[command](ctl);
}
