// SPDX-License-Identifier: GPL-2.0-only
/*
 * doctor.c - nicctl doctor: what is wrong on this machine, and what to do
 *
 * Finds out what needs more than reading files, has every check made, and
 * prints what they found. Works for any user, and without the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor.h"
#include "nicctl.h"

static void (*const checks[])(struct doctor *doctor) = {
	doctor_kernel,
	doctor_module,
	doctor_versions,
	doctor_rule,
	doctor_files,
	doctor_permission,
	doctor_memlock,
	doctor_cgroup,
	doctor_memory,
	doctor_devices,
	doctor_models,
	doctor_faults,
	doctor_keys,
	doctor_rivals,
	doctor_degraded,
	doctor_engines,
	doctor_limits,
	doctor_cpus,
	doctor_boot,
	doctor_tracing,
	doctor_uring,
	doctor_log,
};

/* The first device that can be opened: limits are the same for all */
static bool query_any(struct doctor *doctor)
{
	struct dmanic_query query = { .size = sizeof(query) };
	char path[DMANIC_NAME_MAX + sizeof("/dev/dmanic/")];
	bool done = false;
	size_t i;
	int fd;

	for (i = 0; i < doctor->devices.n && !done; i++) {
		snprintf(path, sizeof(path), "/dev/dmanic/%s",
			 doctor->devices.device[i].name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		done = !ioctl(fd, DMANIC_IOC_QUERY, &query);
		close(fd);
	}
	doctor->query = query;
	return done;
}

static void find_out(struct nicctl *ctl, struct doctor *doctor)
{
	syscall(__NR_io_uring_setup, 1, NULL);
	doctor->uring_errno = errno;
	if (nl_open(&ctl->nl)) {
		doctor->why = ctl->nl.error;
		return;
	}
	if (devices_get(&ctl->nl, DMANIC_GENL_CMD_DEV_GET, NULL, NULL,
			&doctor->devices)) {
		doctor->why = ctl->nl.error;
		return;
	}
	/* without them what is degraded is not told, that is all */
	devices_get(&ctl->nl, DMANIC_GENL_CMD_PEER_GET, NULL, NULL, &doctor->peers);
	devices_get(&ctl->nl, DMANIC_GENL_CMD_STATS_GET, NULL, NULL, &doctor->stats);
	doctor->connected = true;
	doctor->family_version = ctl->nl.version;
	doctor->queried = query_any(doctor);
}

static void tell(struct nicctl *ctl, const struct finding *finding)
{
	static const char *const words[] = {
		[DOCTOR_OK] = "ok", [DOCTOR_WARNING] = "warning",
		[DOCTOR_PROBLEM] = "PROBLEM", [DOCTOR_UNKNOWN] = "unknown",
	};
	static const char *const levels[] = {
		[DOCTOR_OK] = "ok", [DOCTOR_WARNING] = "warning",
		[DOCTOR_PROBLEM] = "problem", [DOCTOR_UNKNOWN] = "unknown",
	};
	struct cJSON *check;

	check = report_check(ctl->report, finding->name,
			     finding->level != DOCTOR_PROBLEM, "%s",
			     finding->text);
	report_add_text(check, "level", levels[finding->level]);
	report_add_text(check, "remedy", finding->remedy);
	if (ctl->json)
		return;
	printf("%-7s  %-13s  %s\n", words[finding->level], finding->name,
	       finding->text);
	if (*finding->remedy)
		printf("%*s-> %s\n", 24, "", finding->remedy);
}

int doctor_run(struct nicctl *ctl)
{
	static struct doctor doctor = { .root = "" };
	size_t i;

	if (args_take_exactly(&ctl->args, "help"))
		return help_topic(ctl, "doctor");
	if (args_end(&ctl->args))
		return nicctl_usage(ctl, "doctor");
	find_out(ctl, &doctor);
	for (i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](&doctor);
	for (i = 0; i < doctor.n; i++)
		tell(ctl, &doctor.finding[i]);
	devices_free(&doctor.devices);
	devices_free(&doctor.peers);
	devices_free(&doctor.stats);
	return report_ok(ctl->report) ? EXIT_SUCCESS : EXIT_FAILURE;
}
