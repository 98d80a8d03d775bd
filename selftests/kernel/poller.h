/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * poller.h - queues with a polling thread, as tests use them
 */
#ifndef POLLER_H
#define POLLER_H

#include "dmanic_test.h"

/* Two nodes, and what the first needs to write to the second */
struct poller_pair {
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	__u32 handle;		/* to the target */
};

struct poller_pair poller_pair_make(__u64 bytes);

/* A queue whose entries a thread takes; @idle_us as poll_idle_us */
struct queue poller_make(const struct node *node, __u32 sq_entries,
			 __u32 cq_entries, __u32 idle_us);

/* Does its thread sleep, or is it gone? */
bool poller_asleep(const struct queue *queue);

/* ENTER for nothing but this; what was posted is not shown by it */
void poller_wake(const struct queue *queue);

/* Show what was posted; wake it when the ring asks for it. True: it did. */
bool poller_publish(struct queue *queue);

/* Post a put of 8 bytes, told by its cookie; it is not shown by it */
void poller_put(const struct poller_pair *pair, struct queue *queue,
		__u64 cookie);

/* @nr of them, with cookies from @cookie on */
void poller_put_some(const struct poller_pair *pair, struct queue *queue,
		     __u64 cookie, unsigned int nr);

/* Without a system call: @nr completions, in order, all well */
void poller_reap_some(struct queue *queue, __u64 cookie, unsigned int nr);

/*
 * Polling threads of the calling process; the last one in @tid. One that was stopped is there
 * for a moment more.
 */
unsigned int poller_count(pid_t *tid);

/* CPU time of a thread of the kernel */
__u64 poller_cpu_ns(pid_t tid);

#endif /* POLLER_H */
