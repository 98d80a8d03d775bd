// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - nicctl: make, change, show, watch and remove dmanic devices
 */
#include <ctype.h>
#include <errno.h>
#include <nic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nicctl.h"

int nicctl_fail(struct nicctl *ctl, const char *what, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "nicctl: %s: %s\n", what, text);
	report_check(ctl->report, what, false, "%s", text);
	return EXIT_FAILURE;
}

bool nicctl_is_there(struct nl *nl, const char *name, bool fabric)
{
	char error[sizeof(nl->error)];
	struct devices devices = { 0 };
	bool there;

	memcpy(error, nl->error, sizeof(error));
	there = !devices_get(nl, DMANIC_GENL_CMD_DEV_GET, fabric ? NULL : name,
			     fabric ? name : NULL, &devices);
	devices_free(&devices);
	memcpy(nl->error, error, sizeof(error));
	return there;
}

int nicctl_fail_selected(struct nicctl *ctl, const char *what,
			 const struct request *request, int ret)
{
	const char *name = request->name, *fabric = request->fabric;
	const char *which = name ? name : fabric;

	if (ret == -ENODEV && name && nicctl_is_there(&ctl->nl, name, true))
		return nicctl_fail(ctl, what, "%s is a fabric, not a device: nicctl %s fabric %s",
				   name, what, name);
	if (ret == -ENODEV && fabric && nicctl_is_there(&ctl->nl, fabric, false))
		return nicctl_fail(ctl, what, "%s is a device, not a fabric: nicctl %s %s",
				   fabric, what, fabric);
	if (ret == -ENODEV && fabric)
		return nicctl_fail(ctl, what, "%s: no such fabric in this network namespace: see nicctl dev show",
				   fabric);
	return nicctl_fail(ctl, what, "%s%s%s", which ? which : "", which ? ": " : "",
			   ctl->nl.error);
}

int nicctl_usage(struct nicctl *ctl, const char *topic)
{
	fprintf(stderr, "nicctl: %s; try nicctl help%s%s\n", ctl->args.error,
		topic ? " " : "", topic ? topic : "");
	return EXIT_USAGE;
}

int nicctl_connect(struct nicctl *ctl)
{
	if (nl_open(&ctl->nl))
		return nicctl_fail(ctl, "driver dmanic", "%s", ctl->nl.error);
	return 0;
}

static int version_run(struct nicctl *ctl)
{
	if (args_end(&ctl->args))
		return nicctl_usage(ctl, NULL);
	/* a report has it anyway */
	if (!ctl->json)
		printf("nicctl %s\n", TOOL_VERSION);
	return EXIT_SUCCESS;
}

static int objects_run(struct nicctl *ctl)
{
	static const char *const names[] = {
		"dev", "stats", "peer", "monitor", "doctor", "save", "restore",
		"genkey", "help", "version", NULL
	};
	static int (*const runs[])(struct nicctl *ctl) = {
		dev_run, stats_run, peer_run, monitor_run, doctor_run,
		save_run, restore_run, genkey_run, help_run, version_run
	};
	int object;

	if (!args_peek(&ctl->args)) {
		help_print(NULL, stderr);
		return EXIT_USAGE;
	}
	object = args_choose(&ctl->args, "object", names);
	return object < 0 ? nicctl_usage(ctl, NULL) : runs[object](ctl);
}

/* A word that begins with a dash, wherever it stands: 0 or -1 */
static int option_take(struct nicctl *ctl, const char *option,
		       const char **instead)
{
	if (!strcmp(option, "-j") || !strcmp(option, "--json"))
		ctl->json = true;
	else if (!strcmp(option, "-h") || !strcmp(option, "--help"))
		*instead = "help";
	else if (!strcmp(option, "-V") || !strcmp(option, "--version"))
		*instead = "version";
	else
		return args_fail(&ctl->args, "unknown option \"%s\": use --json, "
				 "--help or --version", option);
	return 0;
}

/* @words: room for all of @argv and one more; gets those that are no options */
static int options_take(struct nicctl *ctl, int argc, char **argv, char **words)
{
	const char *instead = NULL;
	int i, n = 0;

	for (i = 1; i < argc; i++) {
		/* a dash alone stands for standard input, -1 for a value */
		if (*argv[i] != '-' || !argv[i][1] || isdigit((unsigned char)argv[i][1]))
			words[n++] = argv[i];
		else if (option_take(ctl, argv[i], &instead))
			return -1;
	}
	/* nicctl dev add --help: of dev */
	if (instead) {
		words[1] = n && !strcmp(instead, "help") && help_has(words[0]) ? words[0] : NULL;
		words[0] = (char *)instead;
		n = 1 + !!words[1];
	}
	words[n] = NULL;
	ctl->args.word = words;
	return 0;
}

int main(int argc, char **argv)
{
	char **words = calloc((size_t)argc + 2, sizeof(*words));
	static struct nicctl ctl;
	int status;

	if (!words) {
		fputs("nicctl: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	ctl.report = report_create("nicctl", TOOL_VERSION, argc, argv);
	if (options_take(&ctl, argc, argv, words))
		status = nicctl_usage(&ctl, NULL);
	else
		status = objects_run(&ctl);
	if (ctl.json && status != EXIT_USAGE)
		report_print(ctl.report, stdout);
	if (output_finish("nicctl") && !status)
		status = EXIT_FAILURE;
	nl_close(&ctl.nl);
	report_free(ctl.report);
	free(words);
	return status;
}
