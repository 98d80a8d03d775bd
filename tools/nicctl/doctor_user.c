// SPDX-License-Identifier: GPL-2.0-only
/*
 * doctor_user.c - what the user may do, and how much
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "tools/common/size.h"

#define GROUP		"dmanic"
#define DEVICE_MODE	0660
#define STATUS		"/proc/self/status"

/* Segments of a small program fit; below, hardly a ring does */
#define MEMLOCK_USEFUL	(64ULL << 20)
#define MEMLOCK_LEAST	(1ULL << 20)
#define MEMLOCK_LIMITS	"as root, what each may lock, in KiB, for instance 16 GiB: "	\
	"\"@" GROUP " - memlock 16777216\" in /etc/security/limits.d/dmanic.conf, "	\
	"then log in again; a service: LimitMEMLOCK=16G in its unit"

/* A cgroup with less is easily full, as segments are memory of it */
#define MEMORY_USEFUL	(256ULL << 20)

/* ---- the group and its rule ---- */

/* A line of /etc/group: its number and who is in it: 0 or -errno */
static int group_read(const struct doctor *doctor, unsigned int *gid,
		      char *members, size_t size)
{
	char line[4096];
	int ret, at = 0;

	ret = doctor_read_line(doctor, "/etc/group", GROUP ":", line,
			       sizeof(line));
	if (ret)
		return ret;
	if (sscanf(line, "%*[^:]:%u:%n", gid, &at) != 1 || !at)
		return -EINVAL;
	snprintf(members, size, ",%s,", line + at);
	return 0;
}

static bool rule_is_there(const struct doctor *doctor)
{
	static const char *const paths[] = {
		"/etc/udev/rules.d/60-dmanic.rules",
		"/run/udev/rules.d/60-dmanic.rules",
		"/usr/lib/udev/rules.d/60-dmanic.rules",
		"/lib/udev/rules.d/60-dmanic.rules",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(paths); i++)
		if (doctor_exists(doctor, paths[i]))
			return true;
	return false;
}

void doctor_rule(struct doctor *doctor)
{
	char members[4096];
	unsigned int gid;

	if (group_read(doctor, &gid, members, sizeof(members))) {
		doctor_say(doctor, "udev rule", DOCTOR_PROBLEM,
			   "there is no group " GROUP ", so only root can use devices");
		doctor_remedy(doctor, "as root: groupadd --system " GROUP " && make install, then add users: usermod -aG " GROUP " USER");
	} else if (!rule_is_there(doctor)) {
		doctor_say(doctor, "udev rule", DOCTOR_PROBLEM,
			   "60-dmanic.rules is not installed, so devices are made for root alone");
		doctor_remedy(doctor, "as root: make install && udevadm control --reload && udevadm trigger --subsystem-match=dmanic");
	} else {
		doctor_say(doctor, "udev rule", DOCTOR_OK,
			   "installed; group " GROUP " is %u", gid);
	}
}

/* ---- device files ---- */

struct files {
	unsigned int n;
	unsigned int bad;
	char name[256];		/* of the first bad one */
	unsigned int mode;
	unsigned int gid;
};

static void files_look(const struct doctor *doctor, const char *name,
		       unsigned int gid, struct files *files)
{
	char *path = doctor_path(doctor, "/dev/dmanic/%s", name);
	struct stat stat_buf;
	int ret = stat(path, &stat_buf);

	free(path);
	if (ret)
		return;
	files->n++;
	if ((stat_buf.st_mode & 07777) == DEVICE_MODE && stat_buf.st_gid == gid)
		return;
	if (files->bad++)
		return;
	snprintf(files->name, sizeof(files->name), "%s", name);
	files->mode = stat_buf.st_mode & 07777;
	files->gid = stat_buf.st_gid;
}

static void files_read(const struct doctor *doctor, unsigned int gid,
		       struct files *files)
{
	char *path = doctor_path(doctor, "/dev/dmanic");
	DIR *folder = opendir(path);
	struct dirent *entry;

	free(path);
	if (!folder)
		return;
	while ((entry = readdir(folder)))
		if (*entry->d_name != '.')
			files_look(doctor, entry->d_name, gid, files);
	closedir(folder);
}

void doctor_files(struct doctor *doctor)
{
	struct files files = { 0 };
	unsigned int gid = 0;
	char members[4096];

	if (group_read(doctor, &gid, members, sizeof(members)))
		gid = 0;
	files_read(doctor, gid, &files);
	if (!files.n && doctor->devices.n) {
		doctor_say(doctor, "device files", DOCTOR_PROBLEM,
			   "there are %zu devices, but no file in /dev/dmanic",
			   doctor->devices.n);
		doctor_remedy(doctor, "mount devtmpfs on /dev; in a container, give it the devices");
	} else if (!files.n) {
		doctor_say(doctor, "device files", DOCTOR_OK,
			   "none, as there is no device in this network namespace");
	} else if (files.bad) {
		doctor_say(doctor, "device files", DOCTOR_PROBLEM,
			   "/dev/dmanic/%s has mode 0%o and group %u, not 0%o and %u (%u of %u files)",
			   files.name, files.mode, files.gid, DEVICE_MODE, gid,
			   files.bad, files.n);
		doctor_remedy(doctor, "as root: udevadm trigger --subsystem-match=dmanic; is udev running?");
	} else {
		doctor_say(doctor, "device files", DOCTOR_OK,
			   "%u, for group " GROUP, files.n);
	}
}

/* ---- permission ---- */

struct user {
	unsigned int uid;
	unsigned int gid;
	char groups[4096];	/* " 4 27 1000 " */
	uint64_t capabilities;
	char name[256];
};

static void user_name(const struct doctor *doctor, struct user *user)
{
	char *path = doctor_path(doctor, "/etc/passwd");
	FILE *file = fopen(path, "re");
	unsigned int uid;
	char line[1024];

	free(path);
	snprintf(user->name, sizeof(user->name), "%u", user->uid);
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*[^:]:%*[^:]:%u:", &uid) != 1 ||
		    uid != user->uid)
			continue;
		line[strcspn(line, ":")] = '\0';
		snprintf(user->name, sizeof(user->name), "%.255s", line);
		break;
	}
	if (file)
		fclose(file);
}

static int user_read(const struct doctor *doctor, struct user *user)
{
	char text[4096], *c;
	int ret;

	ret = doctor_read_line(doctor, STATUS, "Uid:", text, sizeof(text));
	if (ret)
		return ret;
	if (sscanf(text, "%*u %u", &user->uid) != 1)
		return -EINVAL;
	ret = doctor_read_line(doctor, STATUS, "Gid:", text, sizeof(text));
	if (ret)
		return ret;
	if (sscanf(text, "%*u %u", &user->gid) != 1)
		return -EINVAL;
	ret = doctor_read_line(doctor, STATUS, "Groups:", text, sizeof(text));
	if (ret)
		return ret;
	snprintf(user->groups, sizeof(user->groups), " %.4090s %u ", text,
		 user->gid);
	for (c = user->groups; *c; c++)
		if (*c == '\t')
			*c = ' ';
	ret = doctor_read_line(doctor, STATUS, "CapEff:", text, sizeof(text));
	if (ret)
		return ret;
	user->capabilities = strtoull(text, NULL, 16);
	user_name(doctor, user);
	return 0;
}

static bool user_can(const struct user *user, unsigned int capability)
{
	return user->capabilities >> capability & 1;
}

void doctor_permission(struct doctor *doctor)
{
	char members[4096], gid_text[16], name_text[260];
	struct user user;
	unsigned int gid;
	int ret;

	ret = user_read(doctor, &user);
	if (ret) {
		doctor_unknown(doctor, "permission", STATUS, ret);
		return;
	}
	if (user_can(&user, CAP_DAC_OVERRIDE)) {
		doctor_say(doctor, "permission", DOCTOR_OK,
			   "%s may open devices (CAP_DAC_OVERRIDE)", user.name);
		return;
	}
	if (doctor->queried) {
		doctor_say(doctor, "permission", DOCTOR_OK,
			   "%s may open devices: one was opened", user.name);
		return;
	}
	if (group_read(doctor, &gid, members, sizeof(members))) {
		doctor_say(doctor, "permission", DOCTOR_PROBLEM,
			   "%s may not open devices: there is no group " GROUP,
			   user.name);
		doctor_remedy(doctor, "as root: groupadd --system " GROUP " && usermod -aG " GROUP " %s, then log in again",
			      user.name);
		return;
	}
	snprintf(gid_text, sizeof(gid_text), " %u ", gid);
	snprintf(name_text, sizeof(name_text), ",%s,", user.name);
	if (strstr(user.groups, gid_text)) {
		doctor_say(doctor, "permission", DOCTOR_OK,
			   "%s may open devices (group " GROUP ")", user.name);
	} else if (strstr(members, name_text)) {
		doctor_say(doctor, "permission", DOCTOR_PROBLEM,
			   "%s was added to group " GROUP " after this session began, so it cannot open devices",
			   user.name);
		doctor_remedy(doctor, "log in again, or in this shell: newgrp " GROUP);
	} else {
		doctor_say(doctor, "permission", DOCTOR_PROBLEM,
			   "%s is not in group " GROUP " and may not open devices",
			   user.name);
		doctor_remedy(doctor, "as root: usermod -aG " GROUP " %s, then log in again",
			      user.name);
	}
}

/* ---- how much memory ---- */

static int memlock_read(const struct doctor *doctor, uint64_t *soft,
			uint64_t *hard)
{
	char text[256], words[2][64];
	int ret, i;

	ret = doctor_read_line(doctor, "/proc/self/limits",
			       "Max locked memory", text, sizeof(text));
	if (ret)
		return ret;
	if (sscanf(text, "%63s %63s", words[0], words[1]) != 2)
		return -EINVAL;
	for (i = 0; i < 2; i++)
		*(i ? hard : soft) = strcmp(words[i], "unlimited") ?
			strtoull(words[i], NULL, 10) : UINT64_MAX;
	return 0;
}

static void memlock_small(struct doctor *doctor, uint64_t soft, uint64_t hard)
{
	char soft_text[SIZE_TEXT], useful[SIZE_TEXT];

	doctor_say(doctor, "locked memory",
		   soft < MEMLOCK_LEAST ? DOCTOR_PROBLEM : DOCTOR_WARNING,
		   "segments and rings of a user are at most %s bytes (RLIMIT_MEMLOCK); %s are useful",
		   size_print(soft, soft_text),
		   size_print(MEMLOCK_USEFUL, useful));
	if (hard > soft)
		doctor_remedy(doctor, "in this shell: ulimit -l %s; for good: " MEMLOCK_LIMITS,
			      hard == UINT64_MAX ? "unlimited" : "hard");
	else
		doctor_remedy(doctor, MEMLOCK_LIMITS);
}

void doctor_memlock(struct doctor *doctor)
{
	struct user user;
	uint64_t soft, hard;
	char text[SIZE_TEXT];
	int ret;

	ret = memlock_read(doctor, &soft, &hard);
	if (ret)
		doctor_unknown(doctor, "locked memory", "/proc/self/limits",
			       ret);
	else if (!user_read(doctor, &user) && user_can(&user, CAP_IPC_LOCK))
		doctor_say(doctor, "locked memory", DOCTOR_OK,
			   "no limit for %s (CAP_IPC_LOCK)", user.name);
	else if (soft < MEMLOCK_USEFUL)
		memlock_small(doctor, soft, hard);
	else
		doctor_say(doctor, "locked memory", DOCTOR_OK, "%s",
			   soft == UINT64_MAX ? "no limit" :
						size_print(soft, text));
}

/* Where cgroup v2 is mounted: 0; -ENODATA nowhere; else -errno */
static int cgroup_mount(const struct doctor *doctor, char *path, size_t size)
{
	char *mounts = doctor_path(doctor, "/proc/mounts");
	FILE *file = fopen(mounts, "re");
	char line[1024], where[512], type[64];
	int ret = file ? -ENODATA : -errno;

	free(mounts);
	while (ret && file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %511s %63s", where, type) != 2 ||
		    strcmp(type, "cgroup2") != 0)
			continue;
		snprintf(path, size, "%s", where);
		ret = 0;
	}
	if (file)
		fclose(file);
	return ret;
}

static bool link_read(const struct doctor *doctor, const char *path, char *text,
		      size_t size)
{
	char *whole = doctor_path(doctor, "%s", path);
	ssize_t length = readlink(whole, text, size - 1);

	free(whole);
	if (length < 0)
		return false;
	text[length] = '\0';
	return true;
}

/* As below "ip netns exec", which mounts /sys anew, without what is in it */
static bool mounts_are_others(const struct doctor *doctor)
{
	char ours[64], first[64];

	return link_read(doctor, "/proc/self/ns/mnt", ours, sizeof(ours)) &&
	       link_read(doctor, "/proc/1/ns/mnt", first, sizeof(first)) &&
	       strcmp(ours, first) != 0;
}

void doctor_cgroup(struct doctor *doctor)
{
	char path[512];
	int ret = cgroup_mount(doctor, path, sizeof(path));

	if (!ret) {
		doctor_say(doctor, "cgroup", DOCTOR_OK, "version 2 on %s",
			   path);
	} else if (ret == -ENODATA && mounts_are_others(doctor)) {
		doctor_say(doctor, "cgroup", DOCTOR_UNKNOWN,
			   "not checked: this is not the machine's mount namespace, and none is mounted here (\"ip netns exec\" hides those there are)");
	} else if (ret == -ENODATA) {
		doctor_say(doctor, "cgroup", DOCTOR_WARNING,
			   "cgroup version 2 is not mounted: only RLIMIT_MEMLOCK limits what a user takes");
		doctor_remedy(doctor, "as root: mount -t cgroup2 none /sys/fs/cgroup (systemd: boot with systemd.unified_cgroup_hierarchy=1)");
	} else {
		doctor_unknown(doctor, "cgroup", "/proc/mounts", ret);
	}
}

/* The smallest memory.max of our cgroup and those above; UINT64_MAX: none */
static uint64_t memory_limit(const struct doctor *doctor, const char *mount,
			     char *cgroup)
{
	uint64_t least = UINT64_MAX, limit;
	char path[2048], text[64];
	char *slash;

	for (;;) {
		snprintf(path, sizeof(path), "%s%s/memory.max", mount, cgroup);
		if (!doctor_read(doctor, path, text, sizeof(text)) &&
		    strcmp(text, "max") != 0) {
			limit = strtoull(text, NULL, 10);
			least = limit < least ? limit : least;
		}
		slash = strrchr(cgroup, '/');
		if (!slash)
			return least;
		*slash = '\0';
	}
}

void doctor_memory(struct doctor *doctor)
{
	char mount[512], cgroup[1024], text[SIZE_TEXT];
	uint64_t limit;

	if (cgroup_mount(doctor, mount, sizeof(mount)) ||
	    doctor_read_line(doctor, "/proc/self/cgroup", "0::", cgroup,
			     sizeof(cgroup))) {
		doctor_say(doctor, "memory limit", DOCTOR_UNKNOWN,
			   "not checked: no cgroup version 2");
		return;
	}
	limit = memory_limit(doctor, mount, cgroup);
	if (limit == UINT64_MAX) {
		doctor_say(doctor, "memory limit", DOCTOR_OK,
			   "none by the cgroup");
	} else if (limit < MEMORY_USEFUL) {
		doctor_say(doctor, "memory limit", DOCTOR_WARNING,
			   "programs and their segments together may have %s bytes (memory.max of the cgroup)",
			   size_print(limit, text));
		doctor_remedy(doctor, "raise memory.max; a service: MemoryMax= in its unit; a container: its memory limit");
	} else {
		doctor_say(doctor, "memory limit", DOCTOR_OK,
			   "%s bytes by the cgroup", size_print(limit, text));
	}
}
