/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nicctl.h - what the subcommands of nicctl share
 *
 * A subcommand takes its words from ctl->args, asks the driver and shows what
 * it got. It returns an exit status: 0, EXIT_FAILURE or EXIT_USAGE.
 */
#ifndef NICCTL_H
#define NICCTL_H

#include <stdbool.h>

#include "args.h"
#include "request.h"
#include "tools/common/device.h"
#include "tools/common/nl.h"
#include "tools/common/output.h"

/**
 * struct nicctl - one run of it
 * @args: words not yet taken
 * @json: print a report rather than tables
 * @report: always there, printed with @json
 * @nl: open when nicctl_connect() succeeded
 */
struct nicctl {
	struct args args;
	bool json;
	struct report *report;
	struct nl nl;
};

/* main.c */

/* Say what is wrong, on stderr and in the report. Returns EXIT_FAILURE. */
int nicctl_fail(struct nicctl *ctl, const char *what, const char *format, ...)
	OUTPUT_PRINTF(3, 4);

/* The words were wrong: says so and where to read more. Returns EXIT_USAGE. */
int nicctl_usage(struct nicctl *ctl, const char *topic);

/* Open ctl->nl: 0 or an exit status */
int nicctl_connect(struct nicctl *ctl);

/*
 * What @request selects could not be had, with @ret and ctl->nl.error: says so. When
 * it is a fabric that was taken for a device, or the other way round, says how that
 * is written. Returns EXIT_FAILURE.
 */
int nicctl_fail_selected(struct nicctl *ctl, const char *what,
			 const struct request *request, int ret);

/* Is @name a fabric, or a device? The driver's last error stays. */
bool nicctl_is_there(struct nl *nl, const char *name, bool fabric);

/* change.c */

/* Ask for a change; @command: DEV_NEW, DEV_SET or DEV_DEL. As devices_get(). */
int devices_change(struct nl *nl, uint8_t command,
		   const struct request *request);

/* dev.c, stats.c, peer.c, monitor.c, restore.c, doctor.c, key.c */
int dev_run(struct nicctl *ctl);
int stats_run(struct nicctl *ctl);
int peer_run(struct nicctl *ctl);
int monitor_run(struct nicctl *ctl);
int save_run(struct nicctl *ctl);
int restore_run(struct nicctl *ctl);
int doctor_run(struct nicctl *ctl);
int genkey_run(struct nicctl *ctl);

/* show.c */
void show_devices(struct nicctl *ctl, const struct devices *devices);
/* @peers: of all devices */
void show_device(struct nicctl *ctl, const struct device *device,
		 const struct devices *peers);
void show_stats(struct nicctl *ctl, const struct devices *devices);
void show_peers(struct nicctl *ctl, const struct devices *devices);

/* All that is known of a device as members of @object */
void show_members(struct cJSON *object, const struct device *device);

/* help.c */

/* "dev", "stats", ...; NULL: the overview */
void help_print(const char *topic, FILE *file);
/* There is a topic that begins so */
bool help_has(const char *word);

/* On stdout and alone, after the last word: an exit status */
int help_topic(struct nicctl *ctl, const char *topic);
int help_run(struct nicctl *ctl);

#endif /* NICCTL_H */
