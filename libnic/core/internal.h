/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * internal.h - what the parts of libnic share and programs do not see
 *
 * Objects are plain structs whose owner the caller is (nic.h tells which are
 * thread-safe: those that are never written after they were made). Barriers
 * have the letters of linux/dmanic_ring.h; each is issued in one place, in
 * queue.c or interrupt.c. E is there for programs that sleep on an eventfd; the
 * library itself sleeps in ENTER and IRQ_WAIT and never arms.
 */
#ifndef LIBNIC_INTERNAL_H
#define LIBNIC_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <time.h>
#include <nic.h>
#include "layout.h"

#define NIC_SECOND	1000000000ULL

/**
 * struct nic_part - what goes with a context, first in each object that does
 * @next: another one of it, or NULL
 * @link: what points to this one
 * @ctx: the context
 * @number: what the driver calls it: id of a segment, handle of a connection. Who posts
 *	reads this and @ctx, and has to fetch one line of the cache.
 * @end: gives it back, and frees it
 */
struct nic_part {
	struct nic_part *next;
	struct nic_part **link;
	struct nic_ctx *ctx;
	uint32_t number;
	void (*end)(struct nic_part *part);
};

/**
 * struct nic_ctx - an open device
 * @fd: of the device
 * @owner: the process that opened it
 * @spin_ns: longest polling before a sleep; zero: never poll
 * @serial: tells contexts apart, also when one has the address of an old one
 * @info: as it was when the device was opened
 * @lock: of @parts; nothing else is written once it is open
 * @parts: segments and connections
 */
struct nic_ctx {
	int fd;
	pid_t owner;
	uint32_t spin_ns;
	uint64_t serial;
	struct nic_info info;
	pthread_mutex_t lock;
	struct nic_part *parts;
};

struct nic_segment {
	struct nic_part part;
	void *addr;
	uint64_t bytes;
	uint64_t mapped;	/* at addr; zero: the program's memory */
};

struct nic_remote {
	struct nic_part part;
	uint64_t bytes;
	uint64_t mmap_offset;	/* zero: cannot be mapped */
	uint32_t node;
	uint32_t rights;
};

static inline int nic_ioctl(int fd, unsigned long number, void *arg)
{
	return ioctl(fd, number, arg) < 0 ? -errno : 0;
}

/* Why a ring has DMANIC_RING_DEAD */
#define NIC_RING_OVER	"the device was removed, or somebody else who has its file stopped it; see \"nicctl dev show\""

/* @number: DMANIC_IOC_QUEUE_STOP, or _IRQ_STOP. An older driver leaves it to the last close() */
static inline void nic_stop(int fd, unsigned long number)
{
	struct dmanic_stop arg = { .size = sizeof(arg) };

	nic_ioctl(fd, number, &arg);
}

#define NIC_LIST_UNIT	8U	/* bytes, of dmanic_sqe.list_offset */
static inline bool nic_list_fits(const struct nic_list *list)
{
	return !(list->offset % NIC_LIST_UNIT) &&
	       list->offset / NIC_LIST_UNIT <= UINT32_MAX;
}

static inline bool nic_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* ---- device.c ---- */

/* From now on it goes with @ctx: @end is called when that is closed */
void nic_part_add(struct nic_ctx *ctx, struct nic_part *part, uint32_t number,
		  void (*end)(struct nic_part *part));
/* It goes by itself: for @end */
void nic_part_remove(struct nic_part *part);
/* By fork(): another process, @owner, goes on with all of it, and has the mappings */
bool nic_inherited(pid_t owner);

/* ---- error.c ---- */

/**
 * nic_fail() - keep the sentence for nic_error_detail()
 * @ctx: the context, or NULL
 * @ret: negative errno
 * @cause: why, and after a semicolon what to do; NULL: the usual for @ret
 * @what: what was tried, as in "cannot <what>: <cause>"
 *
 * Return: @ret.
 */
int nic_fail(const struct nic_ctx *ctx, int ret, const char *cause,
	     const char *what, ...) __attribute__((format(printf, 4, 5)));

/**
 * nic_fail_text() - as nic_fail(), a whole sentence, cheap: for hot paths
 * @ctx: the context, or NULL
 * @ret: negative errno
 * @sentence: it, which is copied
 *
 * Return: @ret.
 */
int nic_fail_text(const struct nic_ctx *ctx, int ret, const char *sentence);

#define NIC_CAUSE_MAX	256
/**
 * nic_refusal_cause() - the cause that a refusal of the driver tells
 * @buf: room for NIC_CAUSE_MAX bytes
 * @ret: what the call returned
 * @refusal: from the call
 * @bytes: of memory the call asked for, zero when unknown
 *
 * Return: @buf, or NULL when the driver named no limit.
 */
const char *nic_refusal_cause(char *buf, int ret,
			      const struct dmanic_refusal *refusal,
			      uint64_t bytes);

#define NIC_SIZE_MAX	32
/* "64M", "1.5G", "12 B" */
const char *nic_size_text(char *buf, uint64_t bytes);

/**
 * nic_name_copy() - check a name to publish or look up, and copy it
 * @ctx: for the sentence, or NULL
 * @to: room for NIC_PUBLISH_MAX bytes, zeroed
 * @name: the name
 *
 * Return: 0, or -EINVAL with nic_error_detail().
 */
int nic_name_copy(const struct nic_ctx *ctx, char *to, const char *name);

/**
 * nic_options_copy() - options of a caller that may know less or more than we
 * @ctx: for the sentence, or NULL
 * @copy: out, as this library knows them; what the caller leaves out is zero
 * @known: bytes of @copy
 * @options: the caller's
 * @given: the size they begin with
 * @least: bytes that the first release had
 * @what: what was tried, as for nic_fail()
 *
 * Return: 0; -EINVAL no such size; -E2BIG a newer caller's, and not zero in
 * what is new.
 */
int nic_options_copy(const struct nic_ctx *ctx, void *copy, size_t known,
		     const void *options, size_t given, size_t least,
		     const char *what);

/* NULL, or the cause when an eventfd was given and @ret is about that */
const char *nic_eventfd_cause(int ret, int eventfd);

/**
 * nic_eventfd_check() - the eventfd of options, as the driver wants it
 * @ctx: for the sentence
 * @flags: of the options
 * @eventfd: of the options
 * @what: what was tried, as for nic_fail()
 * @out: the eventfd, or -1 for none
 *
 * Return: 0; -EINVAL one without NIC_EVENTFD; -EBADF.
 */
int nic_eventfd_check(const struct nic_ctx *ctx, uint32_t flags, int eventfd,
		      const char *what, int32_t *out);

/* ---- queue.c ---- */

/* Show what was posted to the driver. Return: how much it has not taken yet */
uint32_t nic_queue_publish(struct nic_queue *queue);

/* ---- time ---- */

static inline uint64_t nic_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NIC_SECOND + (uint64_t)ts.tv_nsec;
}

static inline uint64_t nic_deadline(uint64_t timeout_ns)
{
	uint64_t now = nic_now();

	return timeout_ns < NIC_TIMEOUT_NEVER - now ? now + timeout_ns :
						      NIC_TIMEOUT_NEVER;
}

/* What is left until @deadline, as a time-out */
static inline uint64_t nic_left(uint64_t deadline)
{
	uint64_t now;

	if (deadline == NIC_TIMEOUT_NEVER)
		return NIC_TIMEOUT_NEVER;
	now = nic_now();
	return now < deadline ? deadline - now : 0;
}

/* ---- polling before a sleep ---- */

/*
 * How long to poll is learned for each object: as long as it helps up to
 * nic_ctx.spin_ns, half as long after each time it did not. It never quite
 * ends, so it can grow again. Ranks that outnumber the processors thus do not
 * take time from those they wait for.
 */
struct nic_spin {
	uint32_t ns;
	uint32_t turns;
	uint64_t end;
};

#define NIC_SPIN_STEPS	5	/* shortest: the longest >> this */

static inline void nic_spin_begin(struct nic_spin *spin)
{
	spin->turns = 0;
	spin->end = spin->ns ? nic_now() + spin->ns : 0;
}

/* False: polled long enough */
static inline bool nic_spin_again(struct nic_spin *spin)
{
	if (!spin->end)
		return false;
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
	__asm__ __volatile__("yield" ::: "memory");
#endif
	return ++spin->turns % 16 || nic_now() < spin->end;
}

static inline void nic_spin_learn(struct nic_spin *spin, uint32_t longest,
				  bool helped)
{
	uint32_t shortest = longest >> NIC_SPIN_STEPS;

	spin->ns = helped ? spin->ns * 2 : spin->ns / 2;
	if (spin->ns > longest)
		spin->ns = longest;
	if (spin->ns < shortest)
		spin->ns = shortest;
}

#endif /* LIBNIC_INTERNAL_H */
