/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor.h - what is wrong on a machine, and what to do
 *
 * A check looks at files below a root, which is "" but for tests, and at facts
 * that doctor_run() found out. It adds one finding, whatever it finds; what it
 * may not look at is unknown, never an error.
 */
#ifndef NICCTL_DOCTOR_H
#define NICCTL_DOCTOR_H

#include <linux/dmanic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "tools/common/device.h"
#include "tools/common/output.h"

#define DOCTOR_FINDINGS	32
#define DOCTOR_TEXT	512

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_WARNING,		/* works, but not as one may expect */
	DOCTOR_PROBLEM,		/* something does not work */
	DOCTOR_UNKNOWN,		/* not checked */
};

/**
 * struct finding - the outcome of one check
 * @name: what was looked at
 * @level: how it is
 * @text: what was found, and what follows from it
 * @remedy: what to do; empty: nothing
 */
struct finding {
	const char *name;
	enum doctor_level level;
	char text[DOCTOR_TEXT];
	char remedy[DOCTOR_TEXT];
};

/**
 * struct doctor - one examination
 * @root: put before every path
 * @finding: @n of them
 * @n: how many
 * @devices: of this network namespace; empty when @connected is not set
 * @peers: other nodes that these know
 * @stats: @devices once more, with their counters
 * @connected: the driver answers
 * @why: why it does not
 * @family_version: of its netlink family
 * @queried: @query is filled: a device could be opened
 * @query: what that device says
 * @uring_errno: of io_uring_setup() with a bad address; EFAULT: it is there
 */
struct doctor {
	const char *root;
	struct finding finding[DOCTOR_FINDINGS];
	size_t n;
	struct devices devices;
	struct devices peers;
	struct devices stats;
	bool connected;
	const char *why;
	uint32_t family_version;
	bool queried;
	struct dmanic_query query;
	int uring_errno;
};

/* doctor_file.c */

void doctor_say(struct doctor *doctor, const char *name,
		enum doctor_level level, const char *format, ...)
	ARGS_PRINTF(4, 5);

/* Of the finding said last */
void doctor_remedy(struct doctor *doctor, const char *format, ...)
	ARGS_PRINTF(2, 3);

/* Not checked, as it could not be read: @error says why */
void doctor_unknown(struct doctor *doctor, const char *name, const char *path,
		    int error);

/* The path below the root; to be given back to free(). Never NULL. */
char *doctor_path(const struct doctor *doctor, const char *format, ...)
	ARGS_PRINTF(2, 3);

/* The beginning of a file without its last newline: 0 or -errno */
int doctor_read(const struct doctor *doctor, const char *path, char *text,
		size_t size);

/* The rest of the first line that begins with @key: 0 or -errno */
int doctor_read_line(const struct doctor *doctor, const char *path,
		     const char *key, char *text, size_t size);

bool doctor_exists(const struct doctor *doctor, const char *path);

/* Of all network namespaces: those in /dev/dmanic */
size_t doctor_count_files(const struct doctor *doctor);

/* doctor_system.c */
void doctor_kernel(struct doctor *doctor);
void doctor_module(struct doctor *doctor);
void doctor_versions(struct doctor *doctor);
void doctor_boot(struct doctor *doctor);
void doctor_tracing(struct doctor *doctor);
void doctor_uring(struct doctor *doctor);
void doctor_log(struct doctor *doctor);

/* doctor_user.c */
void doctor_rule(struct doctor *doctor);
void doctor_files(struct doctor *doctor);
void doctor_permission(struct doctor *doctor);
void doctor_memlock(struct doctor *doctor);
void doctor_cgroup(struct doctor *doctor);
void doctor_memory(struct doctor *doctor);

/* doctor_device.c */
void doctor_devices(struct doctor *doctor);
void doctor_models(struct doctor *doctor);
void doctor_faults(struct doctor *doctor);
void doctor_keys(struct doctor *doctor);
void doctor_rivals(struct doctor *doctor);
void doctor_degraded(struct doctor *doctor);
void doctor_engines(struct doctor *doctor);
void doctor_limits(struct doctor *doctor);
void doctor_cpus(struct doctor *doctor);

#endif /* NICCTL_DOCTOR_H */
