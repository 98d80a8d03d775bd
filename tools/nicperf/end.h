/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * end.h - one end of a link under measurement
 *
 * An end is a context with a queue, an exported segment and an interrupt, and
 * connections to the other end's. Nothing else passes between two ends, so the
 * other one may be a thread, a process or a host.
 *
 * The segment has two halves: an end sends from the lower one and receives in
 * the upper one, so what arrives never changes what is still being sent.
 *
 * An end belongs to one thread at a time. A failing function leaves the whole
 * sentence in @error and returns a negative errno.
 */
#ifndef NICPERF_END_H
#define NICPERF_END_H

#include <nic.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/common/clock.h"
#include "tools/common/output.h"

#define END_TIMEOUT_NS	10000000000ULL	/* then something is wrong */

enum wait {
	WAIT_POLL,	/* spin on shared memory, no system call */
	WAIT_SLEEP,	/* a system call at once */
	WAIT_COUNT
};

/**
 * struct job - under which names two ends find each other
 * @tag: part of the published names
 * @secret: of the published names
 */
struct job {
	char tag[24];
	uint64_t secret[2];
};

/**
 * struct end - one end
 * @device: its name
 * @info: what the device can do
 * @ctx: on it
 * @segment: of this end, twice @half
 * @half: bytes that can be sent or received at once
 * @memory: the segment, mapped here
 * @queue: of all that this end sends
 * @entries: operations that can be in flight
 * @irq: raised by the other end
 * @remote: the other end's segment
 * @remote_half: where its upper half begins
 * @map: the other end's segment, mapped here; NULL: it cannot be
 * @by_pio: send by stores to @map; set by the end that measures
 * @bell: the other end's interrupt
 * @seen: events taken from @irq
 * @abort: the other thread gave up; NULL: there is none
 * @patient: events come when they come, as long as the other end is there
 * @job: by which names it is found
 * @there: role of the other end
 * @error: the last failure
 */
struct end {
	const char *device;
	struct nic_info info;
	struct nic_ctx *ctx;
	struct nic_segment *segment;
	uint64_t half;
	char *memory;
	struct nic_queue *queue;
	unsigned int entries;
	struct nic_irq *irq;
	struct nic_remote *remote;
	uint64_t remote_half;
	char *map;
	atomic_bool by_pio;
	struct nic_remote *bell;
	uint64_t seen;
	const atomic_bool *abort;
	bool patient;
	struct job job;
	const char *there;
	char error[640];
};

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/* end.c */

/* Open @device and publish @half bytes twice as "nicperf.TAG.ROLE" */
int end_open(struct end *end, const char *device, const struct job *job,
	     const char *role, uint64_t half);
/* Connect to what the end @role publishes on @node within @timeout_ns */
int end_connect(struct end *end, const struct job *job, uint32_t node,
		const char *role, uint64_t timeout_ns);
/* Is the other end still there? */
int end_look_there(struct end *end);
void end_close(struct end *end);
/* Write @error: what the library says, else "cannot @what"; returns @ret */
int end_fail(struct end *end, int ret, const char *what);
/* Write @error about something the library knows nothing of; returns @ret */
int end_fault(struct end *end, int ret, const char *format, ...)
	OUTPUT_PRINTF(3, 4);

static inline char *end_send(const struct end *end)
{
	return end->memory;
}

static inline char *end_receive(const struct end *end)
{
	return end->memory + end->half;
}

const char *wait_name(enum wait wait);

/* wait.c */

/* Hand @n posted operations to the device */
int end_submit(struct end *end, unsigned int n);
/* Take the completions there are; all must have succeeded */
int end_collect(struct end *end, unsigned int *taken);
/* Submit @n operations, then wait for at least one completion */
int end_wait(struct end *end, unsigned int n, enum wait wait,
	     unsigned int *taken);
/* Wait for the next event; -ECANCELED without a sentence when aborted */
int end_event(struct end *end, enum wait wait, struct nic_event *event);
/* Forget all events there are */
void end_forget_events(struct end *end);

#endif /* NICPERF_END_H */
