// SPDX-License-Identifier: GPL-2.0-only
/*
 * tracing.c - the driver's tracepoints, in an instance of tracefs of the test's own
 */
#include "tracing.h"

#include "dmanic_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

void tracing_enable(const char *path, const char *event)
{
	char file[64];

	snprintf(file, sizeof(file), "events/dmanic/%s/enable", event);
	ASSERT_EQ(put_file(path, file, "1"), 0);
}

static void tracefs_open(void)
{
	if (!access(TRACEFS "/instances", F_OK))
		return;
	if (mount("tracefs", TRACEFS, "tracefs", 0, NULL))
		SKIP("this kernel has no tracefs: %s", strerror(errno));
	if (access(TRACEFS "/instances", F_OK))
		SKIP("this kernel's tracefs has no instances");
}

/* An option of the whole tracing system: '0' or '1' */
static char option(const char *file)
{
	char path[96], value = 0;
	int fd;

	snprintf(path, sizeof(path), TRACEFS "/options/%s", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(read(fd, &value, 1), 1);
	close(fd);
	return value;
}

void tracing_make(char path[TRACING_PATH])
{
	char before[2] = "";
	int made;

	path[0] = 0;
	tracefs_open();
	before[0] = option("record-cmd");
	snprintf(path, TRACING_PATH, TRACEFS "/instances/dmanic%d", getpid());
	/*
	 * An instance begins with the options of the whole. With this one the
	 * scheduler is patched, too, each time an event is switched.
	 */
	ASSERT_EQ(put_file(TRACEFS, "options/record-cmd", "0"), 0);
	made = mkdir(path, 0700);
	ASSERT_EQ(put_file(TRACEFS, "options/record-cmd", before), 0);
	ASSERT_EQ(made, 0);
	ASSERT_EQ(put_file(path, "trace_clock", "counter"), 0);
}

void tracing_remove(const char *path)
{
	if (*path)
		rmdir(path);
}

/* A number of a CPU's statistics, as "entries: 5" */
static __u64 statistic(const char *path, long cpu, const char *name)
{
	char file[160], line[128];
	__u64 value = 0;
	FILE *stream;

	snprintf(file, sizeof(file), "%s/per_cpu/cpu%ld/stats", path, cpu);
	stream = fopen(file, "re");
	ASSERT_TRUE(stream);
	while (fgets(line, sizeof(line), stream)) {
		if (!strncmp(line, name, strlen(name)))
			value = strtoull(line + strlen(name), NULL, 10);
	}
	fclose(stream);
	return value;
}

__u64 tracing_count(const char *path)
{
	long cpu, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	__u64 count = 0;

	for (cpu = 0; cpu < cpus; cpu++)
		count += statistic(path, cpu, "entries: ") + statistic(path, cpu, "overrun: ");
	return count;
}
