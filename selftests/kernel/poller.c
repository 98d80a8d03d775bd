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

struct poller_pair poller_pair_make(__u64 bytes)
{
	struct poller_pair pair;

	pair.node = node_open(&fabric, 0);
	pair.peer = node_open(&fabric, 1);
	pair.local = segment_make(&pair.node, bytes);
	pair.target = segment_make(&pair.peer, bytes);
	segment_export(&pair.target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	pair.handle = segment_connect(&pair.node, &pair.target);
	return pair;
}

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

void poller_put(const struct poller_pair *pair, struct queue *queue,
		__u64 cookie)
{
	struct dmanic_sqe *sqe = queue_sqe(queue);

	*sqe = sqe_move(DMANIC_OP_WRITE, pair->local.id, 0, pair->handle, 0, 8);
	sqe->cookie = cookie;
}

void poller_put_some(const struct poller_pair *pair, struct queue *queue,
		     __u64 cookie, unsigned int nr)
{
	while (nr--)
		poller_put(pair, queue, cookie++);
}

void poller_reap_some(struct queue *queue, __u64 cookie, unsigned int nr)
{
	__u64 end = now_ns() + slow_ns(20000);
	struct dmanic_cqe cqe;

	while (nr) {
		if (!queue_reap(queue, &cqe)) {
			ASSERT_LT(now_ns(), end);
			continue;
		}
		ASSERT_EQ(cqe.cookie, cookie++);
		ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
		nr--;
	}
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
