// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * interrupt.c - interrupts that other nodes raise
 *
 * Events are numbered from 0; "seen" is the number of the next one to take.
 * Event i has the place i & (places - 1), and the driver may be writing event
 * "raised" at any moment. So event i may be believed when raised - i < places
 * still holds after it was read: then the writer was at most at the place
 * before. With places = depth that would lose one event of those asked for
 * (all of them, with a depth of 1), hence twice as many places as the depth.
 * A STRICT interrupt is never overwritten and has places for its depth.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

#define DEPTH_MAX	(1U << 30)	/* where doubling would overflow */

struct nic_irq {
	struct nic_ctx *ctx;
	struct dmanic_irq_ring *ring;
	uint64_t seen;
	uint32_t places;	/* power of two */
	uint32_t depth;		/* events kept for the program */
	uint32_t intact;	/* newest events that cannot be half written */
	uint32_t id;
	uint64_t key;
	int fd;
	bool has_eventfd;
	struct nic_spin spin;
	size_t map_bytes;
	pid_t owner;
};

/* ---- make and destroy ---- */

static void choose_depth(struct nic_irq *irq, unsigned int depth, bool strict)
{
	uint32_t limit = irq->ctx->info.max_irq_depth;

	irq->depth = 1;
	while (irq->depth < depth)
		irq->depth *= 2;
	irq->places = irq->depth;
	if (!strict && irq->depth * 2 <= limit)
		irq->places *= 2;
	irq->intact = strict ? irq->places : irq->places - 1;
	if (irq->depth > irq->intact)
		irq->depth = irq->intact;	/* at the device's limit */
}

static int fail_create(struct nic_ctx *ctx, int ret,
		       const struct dmanic_irq_create *arg)
{
	char cause[NIC_CAUSE_MAX];
	const char *why;

	why = nic_refusal_cause(cause, ret, &arg->refusal, 0);
	if (!why)
		why = nic_eventfd_cause(ret, arg->eventfd);
	if (arg->name[0])
		return nic_fail(ctx, ret, why, "make an interrupt \"%s\" of depth %u",
				arg->name, arg->depth);
	return nic_fail(ctx, ret, why, "make an interrupt of depth %u",
			arg->depth);
}

static int irq_open(struct nic_irq *irq, struct dmanic_irq_create *arg)
{
	struct nic_ctx *ctx = irq->ctx;
	void *map;
	int ret;

	ret = nic_ioctl(ctx->fd, DMANIC_IOC_IRQ_CREATE, arg);
	if (ret)
		return fail_create(ctx, ret, arg);
	map = mmap(NULL, arg->mmap_bytes, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, arg->fd, 0);
	if (map == MAP_FAILED) {
		ret = nic_fail(ctx, -errno, NULL, "map an interrupt");
		goto err_close;
	}
	irq->ring = map;
	irq->map_bytes = arg->mmap_bytes;
	irq->fd = arg->fd;
	irq->owner = ctx->owner;
	irq->id = arg->id;
	irq->key = arg->key;
	irq->has_eventfd = arg->eventfd >= 0;
	irq->seen = irq->ring->seen;
	irq->spin.ns = ctx->spin_ns;
	return 0;

err_close:
	close(arg->fd);
	return ret;
}

/* The caller's options; name and eventfd as the driver is asked for them */
static int read_options(struct nic_ctx *ctx, const struct nic_irq_options *options,
			struct nic_irq_options *known,
			struct dmanic_irq_create *arg)
{
	int ret;

	ret = nic_options_copy(ctx, known, sizeof(*known), options,
			       options->size, sizeof(*known),
			       "make an interrupt");
	if (ret)
		return ret;
	if (known->flags & ~(NIC_IRQ_STRICT | NIC_EVENTFD))
		return nic_fail(ctx, -EINVAL,
				"flags are NIC_IRQ_STRICT and NIC_EVENTFD",
				"make an interrupt with flags %#x",
				known->flags);
	if (known->depth > DEPTH_MAX)
		return nic_fail(ctx, -EINVAL, "that is too much",
				"make an interrupt of depth %u", known->depth);
	if (known->name) {
		ret = nic_name_copy(ctx, arg->name, known->name);
		if (ret)
			return ret;
		memcpy(arg->secret, known->secret, sizeof(arg->secret));
	}
	return nic_eventfd_check(ctx, known->flags, known->eventfd,
				 "make an interrupt", &arg->eventfd);
}

int nic_irq_create_with(struct nic_ctx *ctx, const struct nic_irq_options *options,
			struct nic_irq **irq)
{
	struct dmanic_irq_create arg = { .size = sizeof(arg) };
	struct nic_irq_options known;
	struct nic_irq *new;
	int ret;

	ret = read_options(ctx, options, &known, &arg);
	if (ret)
		return ret;
	new = calloc(1, sizeof(*new));
	if (!new)
		return nic_fail(ctx, -ENOMEM, NULL, "make an interrupt");
	new->ctx = ctx;
	arg.flags = known.flags & NIC_IRQ_STRICT;
	choose_depth(new, known.depth, arg.flags);
	arg.depth = new->places;
	ret = irq_open(new, &arg);
	if (ret)
		goto err_free;
	*irq = new;
	return 0;

err_free:
	free(new);
	return ret;
}

int nic_irq_create(struct nic_ctx *ctx, unsigned int depth, unsigned int flags,
		   const char *name, const uint64_t secret[2],
		   struct nic_irq **irq)
{
	struct nic_irq_options options = {
		.size = sizeof(options),
		.flags = flags,
		.depth = depth,
		.name = name,
	};

	if (flags & ~NIC_IRQ_STRICT)
		return nic_fail(ctx, -EINVAL, "flags are NIC_IRQ_STRICT or 0",
				"make an interrupt with flags %#x", flags);
	if (secret)
		memcpy(options.secret, secret, sizeof(options.secret));
	return nic_irq_create_with(ctx, &options, irq);
}

void nic_irq_destroy(struct nic_irq *irq)
{
	if (!irq)
		return;
	/* Another process goes on with it, and a child has no mapping */
	if (!nic_inherited(irq->owner)) {
		nic_stop(irq->fd, DMANIC_IOC_IRQ_STOP);
		munmap(irq->ring, irq->map_bytes);
	}
	close(irq->fd);
	free(irq);
}

int nic_irq_fd(const struct nic_irq *irq)
{
	return irq->fd;
}

uint32_t nic_irq_id(const struct nic_irq *irq)
{
	return irq->id;
}

uint64_t nic_irq_key(const struct nic_irq *irq)
{
	return irq->key;
}

/* ---- events ---- */

uint64_t nic_irq_count(const struct nic_irq *irq)
{
	/* C: pairs with the driver's raised after writing the event */
	return __atomic_load_n(&irq->ring->raised, __ATOMIC_ACQUIRE);
}

int nic_irq_arm(struct nic_irq *irq)
{
	uint64_t count;

	if (!irq->has_eventfd)
		return nic_fail(irq->ctx, -EINVAL,
				"it was made without; see nic_irq_create_with()",
				"arm an interrupt's eventfd");
	__atomic_store_n(&irq->ring->arm, 1, __ATOMIC_RELAXED);
	/* E: pairs with the driver's between raised and its look at arm */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	count = nic_irq_count(irq) - irq->seen;
	if (count)
		return count < INT_MAX ? (int)count : INT_MAX;
	if (__atomic_load_n(&irq->ring->flags, __ATOMIC_RELAXED) & DMANIC_RING_DEAD)
		return nic_fail(irq->ctx, -ENODEV, NIC_RING_OVER,
				"arm an interrupt's eventfd");
	return 0;
}

static void irq_seen(struct nic_irq *irq, uint64_t seen)
{
	irq->seen = seen;
	/* D: events are read before their places are given back */
	__atomic_store_n(&irq->ring->seen, seen, __ATOMIC_RELEASE);
}

unsigned int nic_irq_poll(struct nic_irq *irq, struct nic_event *events,
			  unsigned int max, uint64_t *lost)
{
	uint64_t raised = nic_irq_count(irq);
	uint64_t seen = irq->seen;
	unsigned int taken = 0;
	uint64_t missed = 0;

	while (taken < max && seen != raised) {
		const struct dmanic_irq_event *event;
		struct nic_event copy;

		if (raised - seen > irq->depth) {
			missed += raised - seen - irq->depth;
			seen = raised - irq->depth;
		}
		event = &irq->ring->event[seen & (irq->places - 1)];
		copy.payload = __atomic_load_n(&event->payload,
					       __ATOMIC_RELAXED);
		copy.node = __atomic_load_n(&event->node, __ATOMIC_RELAXED);
		/* The event before raised, read again: see above */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		raised = nic_irq_count(irq);
		if (raised - seen > irq->intact)
			continue;	/* overwritten meanwhile */
		if (events)
			events[taken] = copy;
		taken++;
		seen++;
	}
	if (seen != irq->seen)
		irq_seen(irq, seen);
	if (lost)
		*lost = missed;
	return taken;
}

/* ---- waiting ---- */

/* Whether it was raised @target times; the counter may wrap, in theory */
static bool reached(const struct nic_irq *irq, uint64_t target)
{
	return (int64_t)(nic_irq_count(irq) - target) >= 0;
}

static bool spin_until_reached(struct nic_irq *irq, uint64_t target)
{
	bool helped = false;

	nic_spin_begin(&irq->spin);
	while (!helped && nic_spin_again(&irq->spin))
		helped = reached(irq, target);
	nic_spin_learn(&irq->spin, irq->ctx->spin_ns, helped);
	return helped;
}

static int irq_sleep(struct nic_irq *irq, uint64_t target, uint64_t deadline)
{
	struct dmanic_irq_wait arg = { .size = sizeof(arg), .target = target };
	uint64_t left;
	int ret;

	if (reached(irq, target))
		return 0;
	left = nic_left(deadline);
	if (left > irq->spin.ns && spin_until_reached(irq, target))
		return 0;
	ret = -ETIME;
	if (left) {
		arg.timeout_ns = left;
		ret = nic_ioctl(irq->fd, DMANIC_IOC_IRQ_WAIT, &arg);
	}
	if (!ret || reached(irq, target))
		return 0;
	return nic_fail(irq->ctx, ret, NULL, "wait for an interrupt");
}

int nic_irq_wait(struct nic_irq *irq, struct nic_event *event,
		 uint64_t timeout_ns)
{
	uint64_t deadline = nic_deadline(timeout_ns);
	int ret;

	while (!nic_irq_poll(irq, event, 1, NULL)) {
		ret = irq_sleep(irq, irq->seen + 1, deadline);
		if (ret)
			return ret;
	}
	return 0;
}

int nic_irq_wait_count(struct nic_irq *irq, uint64_t count, uint64_t timeout_ns)
{
	uint64_t deadline = nic_deadline(timeout_ns);
	int ret;

	ret = irq_sleep(irq, count, deadline);
	if (ret)
		return ret;
	if ((int64_t)(count - irq->seen) > 0)
		irq_seen(irq, count);
	return 0;
}
