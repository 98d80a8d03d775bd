// SPDX-License-Identifier: GPL-2.0-only
/*
 * doctor_system.c - the kernel, the module and what is set for the machine
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dmanic_netlink.h>
#include <nic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

/* The kernels that dmanic is tested with, from the first to the last */
#define KERNEL_OF(major, minor)	((major) * 1000U + (minor))
#define KERNEL_FIRST		KERNEL_OF(6, 1)
#define KERNEL_LAST		KERNEL_OF(6, 12)

#define RELEASE			"/proc/sys/kernel/osrelease"

/* So many lines after it a complaint of the kernel may still name us */
#define COMPLAINT_LINES		100

#define LOG_RECORD		8192	/* as the kernel has it, and more */

void doctor_kernel(struct doctor *doctor)
{
	unsigned int major, minor, kernel;
	char release[128];
	int ret;

	ret = doctor_read(doctor, RELEASE, release, sizeof(release));
	if (ret) {
		doctor_unknown(doctor, "kernel", RELEASE, ret);
		return;
	}
	if (sscanf(release, "%u.%u", &major, &minor) != 2) {
		doctor_say(doctor, "kernel", DOCTOR_UNKNOWN,
			   "not checked: \"%s\" is no release", release);
		return;
	}
	kernel = KERNEL_OF(major, minor);
	if (kernel < KERNEL_FIRST) {
		doctor_say(doctor, "kernel", DOCTOR_PROBLEM,
			   "%s is older than 6.1, the oldest that dmanic works with",
			   release);
		doctor_remedy(doctor, "boot a kernel 6.1 or 6.12");
	} else if (kernel > KERNEL_LAST) {
		doctor_say(doctor, "kernel", DOCTOR_WARNING,
			   "%s is newer than 6.12, the newest that dmanic is tested with",
			   release);
		doctor_remedy(doctor, "if something fails, try a kernel 6.1 or 6.12");
	} else {
		doctor_say(doctor, "kernel", DOCTOR_OK, "%s", release);
	}
}

/* ---- the module ---- */

/* Where modules.dep has it, below /lib/modules/RELEASE when it is no path */
static bool module_find(const struct doctor *doctor, const char *release,
			char *where, size_t size)
{
	char *path = doctor_path(doctor, "/lib/modules/%s/modules.dep",
				 release);
	FILE *file = fopen(path, "re");
	char *line = NULL, *name;
	bool found = false;
	size_t room = 0;

	free(path);
	if (!file)
		return false;
	while (!found && getline(&line, &room, file) >= 0) {
		line[strcspn(line, ":")] = '\0';
		name = strrchr(line, '/');
		name = name ? name + 1 : line;
		if (strncmp(name, "dmanic.ko", strlen("dmanic.ko")) != 0)
			continue;
		snprintf(where, size, "%s", line);
		found = true;
	}
	free(line);
	fclose(file);
	return found;
}

/* The release a module is built for; empty: it is packed or has none */
static void module_release(const struct doctor *doctor, const char *release,
			   const char *where, char *built, size_t size)
{
	static const char key[] = "vermagic=";
	char *path = doctor_path(doctor, "%s%s%s/%s",
				 *where == '/' ? "" : "/lib/modules/",
				 *where == '/' ? "" : release,
				 *where == '/' ? where : "", where);
	size_t at = 0, length = 0;
	FILE *file;
	int c;

	*built = '\0';
	file = fopen(path, "re");
	free(path);
	if (!file)
		return;
	while ((c = getc(file)) != EOF) {
		if (at == strlen(key)) {
			if (c <= ' ' || length == size - 1)
				break;
			built[length++] = (char)c;
		} else {
			at = c == key[at] ? at + 1 : c == key[0];
		}
	}
	built[length] = '\0';
	fclose(file);
}

static void module_not_loaded(struct doctor *doctor)
{
	char release[128], where[256], built[128], enforce[8];

	if (doctor_read(doctor, RELEASE, release, sizeof(release)))
		snprintf(release, sizeof(release), "this kernel");
	if (!module_find(doctor, release, where, sizeof(where))) {
		doctor_say(doctor, "module", DOCTOR_PROBLEM,
			   "dmanic is not loaded, and not installed for %s",
			   release);
		doctor_remedy(doctor,
			      "install this kernel's headers, then make, and as root: make modules_install; or let DKMS do it; if it was installed by hand: depmod %s",
			      release);
		return;
	}
	module_release(doctor, release, where, built, sizeof(built));
	if (*built && strcmp(built, release) != 0) {
		doctor_say(doctor, "module", DOCTOR_PROBLEM,
			   "dmanic is not loaded, and %s was built for %s, not %s",
			   where, built, release);
		doctor_remedy(doctor, "as root: make modules_install for this kernel");
		return;
	}
	doctor_say(doctor, "module", DOCTOR_PROBLEM,
		   "dmanic is installed (%s), but not loaded", where);
	if (!doctor_read(doctor, "/sys/module/module/parameters/sig_enforce",
			 enforce, sizeof(enforce)) && *enforce == 'Y')
		doctor_remedy(doctor, "as root: modprobe dmanic; this kernel takes signed modules only, so sign it first (Secure Boot)");
	else
		doctor_remedy(doctor, "as root: modprobe dmanic; for every boot, once there are devices: nicctl save /etc/dmanic.conf && systemctl enable --now dmanic");
}

void doctor_module(struct doctor *doctor)
{
	if (!doctor_exists(doctor, "/sys/module/dmanic")) {
		module_not_loaded(doctor);
	} else if (!doctor->connected) {
		doctor_say(doctor, "module", DOCTOR_PROBLEM,
			   "dmanic is loaded, but does not answer: %s",
			   doctor->why ? doctor->why : "unknown");
		doctor_remedy(doctor, "load it afresh, as root: rmmod dmanic; modprobe dmanic");
	} else {
		doctor_say(doctor, "module", DOCTOR_OK, "dmanic is loaded");
	}
}

/* Of all that must fit the number of one differs */
static void version_differs(struct doctor *doctor, const char *what,
			    const char *theirs, const char *ours)
{
	doctor_say(doctor, "versions", DOCTOR_PROBLEM,
		   "%s of the module is %s, of this program %s", what, theirs,
		   ours);
	doctor_remedy(doctor, "install both from one version, then as root: rmmod dmanic; modprobe dmanic");
}

void doctor_versions(struct doctor *doctor)
{
	char version[64], text[16], ours[16];

	if (!doctor->connected) {
		doctor_say(doctor, "versions", DOCTOR_UNKNOWN,
			   "not checked: no answer from the module");
		return;
	}
	if (doctor_read(doctor, "/sys/module/dmanic/version", version,
			sizeof(version)))
		snprintf(version, sizeof(version), "unknown");
	snprintf(text, sizeof(text), "%u", doctor->family_version);
	snprintf(ours, sizeof(ours), "%d", DMANIC_GENL_VERSION);
	if (strcmp(text, ours) != 0) {
		version_differs(doctor, "the control plane", text, ours);
		return;
	}
	snprintf(text, sizeof(text), "%u", doctor->query.abi);
	snprintf(ours, sizeof(ours), "%d", DMANIC_ABI_VERSION);
	if (doctor->queried && strcmp(text, ours) != 0) {
		version_differs(doctor, "the interface for programs", text,
				ours);
		return;
	}
	if (strcmp(version, TOOL_VERSION) != 0) {
		doctor_say(doctor, "versions", DOCTOR_WARNING,
			   "the module is version %s, this program %s; they fit, but do not belong together",
			   version, TOOL_VERSION);
		doctor_remedy(doctor, "install both from one version");
		return;
	}
	doctor_say(doctor, "versions", DOCTOR_OK, "module %s, program %s",
		   version, TOOL_VERSION);
}

/* ---- what is set ---- */

void doctor_boot(struct doctor *doctor)
{
	static const char wants[] =
		"/etc/systemd/system/multi-user.target.wants/dmanic.service";

	if (!doctor_exists(doctor, "/etc/dmanic.conf")) {
		doctor_say(doctor, "boot", DOCTOR_OK,
			   "devices are gone after a reboot; to keep them: nicctl save /etc/dmanic.conf && systemctl enable --now dmanic");
	} else if (!doctor_exists(doctor, wants)) {
		doctor_say(doctor, "boot", DOCTOR_WARNING,
			   "/etc/dmanic.conf is there, but nothing reads it at boot");
		doctor_remedy(doctor, "as root: systemctl enable --now dmanic");
	} else {
		doctor_say(doctor, "boot", DOCTOR_OK,
			   "the devices of /etc/dmanic.conf are made at boot");
	}
}

void doctor_tracing(struct doctor *doctor)
{
	static const char path[] = "/sys/kernel/tracing/events/dmanic/enable";
	char text[16];
	int ret = doctor_read(doctor, path, text, sizeof(text));

	if (ret == -ENOENT) {
		doctor_say(doctor, "tracing", DOCTOR_OK,
			   "no trace events of dmanic (tracefs or the module is not there)");
	} else if (ret) {
		doctor_unknown(doctor, "tracing", path, ret);
	} else if (!strcmp(text, "0")) {
		doctor_say(doctor, "tracing", DOCTOR_OK, "off");
	} else {
		doctor_say(doctor, "tracing", DOCTOR_WARNING,
			   "%s trace events of dmanic are on, which slows every operation",
			   !strcmp(text, "1") ? "all" : "some");
		doctor_remedy(doctor, "as root: echo 0 >%s", path);
	}
}

static void uring_is_there(struct doctor *doctor)
{
	const uint64_t features = doctor->query.features;

	if (!doctor->queried)
		doctor_say(doctor, "io_uring", DOCTOR_OK, "available");
	else if (!(features & DMANIC_FEATURE_URING_CMD))
		doctor_say(doctor, "io_uring", DOCTOR_OK,
			   "available, but this dmanic takes no operations from it");
	else if (!(features & DMANIC_FEATURE_URING_CANCEL))
		doctor_say(doctor, "io_uring", DOCTOR_OK,
			   "operations can be posted; this kernel cannot wait there but with IORING_OP_POLL_ADD");
	else
		doctor_say(doctor, "io_uring", DOCTOR_OK,
			   "operations can be posted and waited for");
}

void doctor_uring(struct doctor *doctor)
{
	static const char path[] = "/proc/sys/kernel/io_uring_disabled";
	char text[16];

	/* Kernels before 6.6 have no such switch */
	if (doctor_read(doctor, path, text, sizeof(text)))
		snprintf(text, sizeof(text), "0");
	if (doctor->uring_errno == ENOSYS) {
		doctor_say(doctor, "io_uring", DOCTOR_WARNING,
			   "this kernel has none: programs can only use the rings of dmanic itself");
		doctor_remedy(doctor, "boot a kernel with CONFIG_IO_URING, if a program needs it");
	} else if (!strcmp(text, "2")) {
		doctor_say(doctor, "io_uring", DOCTOR_WARNING,
			   "switched off for everybody (kernel.io_uring_disabled is 2)");
		doctor_remedy(doctor, "if a program needs it, as root: sysctl kernel.io_uring_disabled=0");
	} else if (doctor->uring_errno == EPERM) {
		doctor_say(doctor, "io_uring", DOCTOR_WARNING,
			   "not for this user (kernel.io_uring_disabled is %s, or a seccomp filter)",
			   text);
		doctor_remedy(doctor, "if a program needs it, as root: sysctl kernel.io_uring_disabled=0, or its group in kernel.io_uring_group; containers: their seccomp profile");
	} else {
		uring_is_there(doctor);
	}
}

/* ---- the kernel's log ---- */

struct log {
	unsigned int lines_left;
	unsigned int about_us;
	bool counted;
	char first[DOCTOR_TEXT / 2];
	char latest[DOCTOR_TEXT / 2];
};

static bool is_complaint(const char *line)
{
	static const char *const words[] = {
		"WARNING:", "BUG:", "Oops", "general protection", "KASAN",
		"KFENCE", "UBSAN", "possible circular", "possible recursive",
		"inconsistent lock state", "suspicious RCU",
		"sleeping function called", "scheduling while atomic",
		"detected stall", "self-detected stall",
		"blocked for more than", "refcount_t",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

/* A complaint is about us when a function of ours is in what follows it */
static void log_line(struct log *log, const char *line)
{
	const char *text = strchr(line, ';');

	text = text ? text + 1 : line;
	if (is_complaint(text)) {
		log->lines_left = COMPLAINT_LINES;
		log->counted = false;
		snprintf(log->latest, sizeof(log->latest), "%s", text);
	}
	if (!log->lines_left)
		return;
	log->lines_left--;
	if (log->counted || !strstr(text, "[dmanic]"))
		return;
	log->counted = true;
	if (!log->about_us++)
		memcpy(log->first, log->latest, sizeof(log->first));
}

/* A record a read; in a test a file of many lines. 0 or -errno */
static int log_read(int fd, struct log *log)
{
	static char text[LOG_RECORD + 1];
	char *line, *next;
	ssize_t length;

	for (;;) {
		length = read(fd, text, sizeof(text) - 1);
		/* records were overwritten meanwhile: go on with those left */
		if (length < 0 && errno == EPIPE)
			continue;
		if (length < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (!length)
			return 0;
		text[length] = '\0';
		next = text;
		while ((line = strsep(&next, "\n")))
			log_line(log, line);
	}
}

void doctor_log(struct doctor *doctor)
{
	char *path = doctor_path(doctor, "/dev/kmsg");
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct log log = { 0 };
	int ret = fd < 0 ? -errno : log_read(fd, &log);

	free(path);
	if (fd >= 0)
		close(fd);
	if (ret) {
		doctor_unknown(doctor, "kernel log", "/dev/kmsg", ret);
	} else if (log.about_us) {
		doctor_say(doctor, "kernel log", DOCTOR_PROBLEM,
			   "it complains about dmanic, times: %u; first: %s",
			   log.about_us, log.first);
		doctor_remedy(doctor, "report it with the output of dmesg; then reboot: the driver may no longer work as it should");
	} else {
		doctor_say(doctor, "kernel log", DOCTOR_OK,
			   "no complaint about dmanic");
	}
}
