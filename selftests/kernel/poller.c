// SPDX-License-Identifier: GPL-2.0-only
/*
 * poller.c - queues with a polling thread, as tests use them
 */
#include "poller.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct queue poller_make(const struct node *node, __u32 sq_entries,
			 __u32 cq_entries, __u32 idle_us)
{
	struct dmanic_queue_create create = {
		.size = sizeof(create), .flags = DMANIC_QUEUE_POLL_THREAD,
		.sq_entries = sq_entries, .cq_entries = cq_entries,
		.eventfd = -1, .poll_idle_us = idle_us,
	};

	return queue_make_with(node, &create);
}

bool poller_asleep(const struct queue *queue)
{
	return queue_flags(queue) & DMANIC_RING_NEED_WAKEUP;
}

void poller_wake(const struct queue *queue)
{
	struct dmanic_enter arg = { .size = sizeof(arg) };

	ASSERT_EQ(dmanic_call(queue->fd, DMANIC_IOC_ENTER, &arg), 0);
}

bool poller_publish(struct queue *queue)
{
	queue_publish(queue);
	/* Barrier G: sq_tail and cq_head, then the flag. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!poller_asleep(queue))
		return false;
	poller_wake(queue);
	return true;
}

/* The first line of a file in /proc/<pid>; false: there is none */
static bool proc_line(const char *pid, const char *name, char *line, int bytes)
{
	char path[320];
	FILE *file;
	bool read;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	read = fgets(line, bytes, file);
	fclose(file);
	return read;
}

unsigned int poller_count(pid_t *tid)
{
	char wanted[64], line[64];
	struct dirent *entry;
	unsigned int nr = 0;
	DIR *proc;

	snprintf(wanted, sizeof(wanted), "dmanic-poll/%d\n", getpid());
	proc = opendir("/proc");
	ASSERT_TRUE(proc);
	while ((entry = readdir(proc))) {
		if (!isdigit(entry->d_name[0]) ||
		    !proc_line(entry->d_name, "comm", line, sizeof(line)) ||
		    strcmp(line, wanted))
			continue;
		nr++;
		if (tid)
			*tid = atoi(entry->d_name);
	}
	closedir(proc);
	return nr;
}

__u64 poller_cpu_ns(pid_t tid)
{
	struct timespec used;
	clockid_t clock;

	/* A thread of the kernel is a process to itself */
	ASSERT_EQ(clock_getcpuclockid(tid, &clock), 0);
	ASSERT_EQ(clock_gettime(clock, &used), 0);
	return used.tv_sec * SECOND_NS + used.tv_nsec;
}
