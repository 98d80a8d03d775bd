/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * poller.h - queues with a polling thread, as tests use them
 */
#ifndef POLLER_H
#define POLLER_H

#include "dmanic_test.h"

/* A queue whose entries a thread takes; @idle_us as poll_idle_us */
struct queue poller_make(const struct node *node, __u32 sq_entries,
			 __u32 cq_entries, __u32 idle_us);

/* Does its thread sleep, or is it gone? */
bool poller_asleep(const struct queue *queue);

/* ENTER for nothing but this; what was posted is not shown by it */
void poller_wake(const struct queue *queue);

/* Show what was posted; wake it when the ring asks for it. True: it did. */
bool poller_publish(struct queue *queue);

/* Polling threads of the calling process; the last one in @tid */
unsigned int poller_count(pid_t *tid);

/* CPU time of a thread of the kernel */
__u64 poller_cpu_ns(pid_t tid);

#endif /* POLLER_H */
