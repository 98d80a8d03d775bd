// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * error.c - names of statuses, and the sentence about the last failure
 *
 * The sentence is kept for each thread with the serial number of its context:
 * "cannot <what was tried>: <cause>; <remedy>". Nothing is allocated, so a
 * failure for want of memory is told like any other. Besides, what checks the
 * arguments of more than one file, and tells.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "internal.h"

static const char *const status_name[] = {
	[NIC_OK] = "ok",
	[NIC_INVALID] = "invalid operation",
	[NIC_NO_SEGMENT] = "no such segment or interrupt",
	[NIC_NO_HANDLE] = "no such connection",
	[NIC_BOUNDS] = "out of bounds",
	[NIC_ACCESS] = "access denied",
	[NIC_PEER_DEAD] = "node does not answer",
	[NIC_PEER_RESTARTED] = "node was restarted",
	[NIC_LINK_DOWN] = "link is down",
	[NIC_TIMED_OUT] = "timed out",
	[NIC_CANCELLED] = "cancelled",
	[NIC_LIMIT] = "limit reached",
	[NIC_SOURCE_CHANGED] = "local memory changed before completion",
	[NIC_UNSUPPORTED] = "unsupported by this link",
};

_Static_assert(sizeof(status_name) / sizeof(*status_name) ==
	       DMANIC_STATUS_COUNT, "every status has a name");

static const struct {
	int err;
	const char *cause;
} usual[] = {
	{ E2BIG, "the driver is older than the library; install a newer dmanic.ko" },
	{ EACCES, "wrong key or secret; do all ranks have the same NIC_SECRET?" },
	{ EBADF, "the object is closed" },
	{ EDQUOT, "a limit of the device was reached; see \"nicctl dev show\"" },
	{ EEXIST, "the name is taken on this node; choose another" },
	{ EFAULT, "the memory is not mapped" },
	{ EHOSTUNREACH, "no such node, or it does not answer; \"nicctl doctor\", \"nicctl dev show\" and \"nicctl peer show\" tell why" },
	{ ENETDOWN, "the own network device is down; \"nicctl dev show\" says why" },
	{ EINTR, "a signal came first; call again" },
	{ EINVAL, "a value makes no sense" },
	{ EMFILE, "too many open files; raise the limit with \"ulimit -n\"" },
	{ ENODEV, "the device was removed; see \"nicctl dev show\"" },
	{ ENOENT, "it does not exist, or not any more" },
	{ ENOMEM, "out of memory" },
	{ ENOTTY, "this is not a dmanic device" },
	{ EOPNOTSUPP, "this driver or link cannot do it; see \"nicctl dev show\"" },
	{ ESHUTDOWN, "somebody else who has its file stopped it, as nic_queue_destroy() and nic_irq_destroy() do" },
	{ ETIME, "it took longer than the time-out" },
};

static _Thread_local struct {
	uint64_t serial;
	char text[640];
} last;

const char *nic_status_name(unsigned int status)
{
	if (status >= DMANIC_STATUS_COUNT)
		return "unknown status";
	return status_name[status];
}

const char *nic_error_detail(const struct nic_ctx *ctx)
{
	return !ctx || ctx->serial == last.serial ? last.text : "";
}

static const char *usual_cause(int err)
{
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (usual[i].err == err)
			return usual[i].cause;
	return strerror(err);
}

int nic_fail_text(const struct nic_ctx *ctx, int ret, const char *sentence)
{
	last.serial = ctx ? ctx->serial : 0;
	snprintf(last.text, sizeof(last.text), "%s", sentence);
	return ret;
}

int nic_fail(const struct nic_ctx *ctx, int ret, const char *cause,
	     const char *what, ...)
{
	char text[sizeof(last.text)];
	size_t at;
	va_list ap;

	at = (size_t)snprintf(text, sizeof(text), "cannot ");
	va_start(ap, what);
	vsnprintf(text + at, sizeof(text) - at, what, ap);
	va_end(ap);
	at = strlen(text);
	snprintf(text + at, sizeof(text) - at, ": %s",
		 cause ? cause : usual_cause(-ret));
	return nic_fail_text(ctx, ret, text);
}

const char *nic_size_text(char *buf, uint64_t bytes)
{
	static const char unit[] = " KMGTPE";
	unsigned int u = 0;
	uint64_t whole = bytes, rest = 0;

	while (whole >= 1024 && u < 6) {
		rest = whole % 1024;
		whole /= 1024;
		u++;
	}
	if (!u)
		snprintf(buf, NIC_SIZE_MAX, "%" PRIu64 " B", bytes);
	else if (rest * 10 / 1024)
		snprintf(buf, NIC_SIZE_MAX, "%" PRIu64 ".%u%c", whole,
			 (unsigned int)(rest * 10 / 1024), unit[u]);
	else
		snprintf(buf, NIC_SIZE_MAX, "%" PRIu64 "%c", whole, unit[u]);
	return buf;
}

/* RLIMIT_MEMLOCK is what people meet first: tell what is left of it */
static void memlock_cause(char *buf, const struct dmanic_refusal *refusal,
			  uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t need = (bytes + page - 1) / page * page;
	uint64_t used = refusal->asked > need ? refusal->asked - need : 0;
	uint64_t left = refusal->allowed > used ? refusal->allowed - used : 0;
	char limit[NIC_SIZE_MAX], size[NIC_SIZE_MAX];

	nic_size_text(limit, refusal->allowed);
	if (bytes)
		snprintf(buf, NIC_CAUSE_MAX,
			 "RLIMIT_MEMLOCK is %s and %s are left; raise it (\"ulimit -l\", LimitMEMLOCK=; \"nicctl doctor\" tells how for good), or run as root",
			 limit, nic_size_text(size, left));
	else
		snprintf(buf, NIC_CAUSE_MAX,
			 "RLIMIT_MEMLOCK is %s and this makes %s; raise it (\"ulimit -l\", LimitMEMLOCK=; \"nicctl doctor\" tells how for good), or run as root",
			 limit, nic_size_text(size, refusal->asked));
}

/* What a user has is that of all his programs together */
#define USER_REMEDY	", also in other programs of the user, or run with CAP_SYS_RESOURCE"

const char *nic_refusal_cause(char *buf, int ret,
			      const struct dmanic_refusal *refusal,
			      uint64_t bytes)
{
	static const struct {
		const char *noun, *remedy;
		bool is_size;
	} limits[] = {
		[DMANIC_LIMIT_SEGMENT_SIZE] = { "the largest segment",
			"use several", true },
		[DMANIC_LIMIT_SEGMENTS] = { "segments on the device",
			"free some, or use larger ones", false },
		[DMANIC_LIMIT_QUEUES] = { "queues on the device",
			"destroy some", false },
		[DMANIC_LIMIT_IRQS] = { "interrupts on the device",
			"destroy some", false },
		[DMANIC_LIMIT_CONNECTIONS] = { "connections of a context",
			"disconnect some", false },
		[DMANIC_LIMIT_QUEUE_ENTRIES] = { "entries in a ring",
			"ask for fewer", false },
		[DMANIC_LIMIT_IRQ_DEPTH] = { "events of an interrupt",
			"ask for fewer", false },
		[DMANIC_LIMIT_CONTEXTS] = { "open contexts on the device",
			"close some", false },
		[DMANIC_LIMIT_USER_SEGMENTS] = { "segments of one user on the device",
			"free some, use larger ones" USER_REMEDY, false },
		[DMANIC_LIMIT_USER_QUEUES] = { "queues of one user on the device",
			"destroy some" USER_REMEDY, false },
		[DMANIC_LIMIT_USER_IRQS] = { "interrupts of one user on the device",
			"destroy some" USER_REMEDY, false },
		[DMANIC_LIMIT_USER_CONTEXTS] = { "open contexts of one user on the device",
			"close some" USER_REMEDY, false },
		[DMANIC_LIMIT_POLL_THREADS] = { "queues with a polling thread on the device",
			"destroy some, or make this one without", false },
		[DMANIC_LIMIT_USER_POLL_THREADS] = {
			"queues with a polling thread of one user on the device",
			"destroy some, make this one without" USER_REMEDY, false },
		[DMANIC_LIMIT_DEVICE_CONNECTIONS] = { "connections of all programs on the device",
			"disconnect some", false },
		[DMANIC_LIMIT_USER_CONNECTIONS] = { "connections of one user on the device",
			"disconnect some" USER_REMEDY, false },
		[DMANIC_LIMIT_PEERS] = { "other nodes in use at once by the device",
			"wait until operations with some have ended", false },
		[DMANIC_LIMIT_USER_PEERS] = {
			"other nodes in use at once by one user on the device",
			"wait until operations with some have ended", false },
	};
	char allowed[NIC_SIZE_MAX], asked[NIC_SIZE_MAX];
	uint32_t limit = refusal->limit;

	if (ret != -EDQUOT && ret != -ENOMEM)
		return NULL;
	if (limit == DMANIC_LIMIT_MEMLOCK) {
		memlock_cause(buf, refusal, bytes);
		return buf;
	}
	if (limit == DMANIC_LIMIT_MEMORY) {
		snprintf(buf, NIC_CAUSE_MAX,
			 "%s are needed, %s are free on this machine; ask for less, or end other programs",
			 nic_size_text(asked, refusal->asked),
			 nic_size_text(allowed, refusal->allowed));
		return buf;
	}
	if (limit == DMANIC_LIMIT_CGROUP) {
		snprintf(buf, NIC_CAUSE_MAX,
			 "%s are needed and the cgroup does not have them; raise memory.max of it and of those above (MemoryMax= of the unit), or ask for less",
			 nic_size_text(asked, refusal->asked));
		return buf;
	}
	if (limit >= sizeof(limits) / sizeof(*limits) || !limits[limit].noun)
		return NULL;
	if (limits[limit].is_size) {
		nic_size_text(allowed, refusal->allowed);
		nic_size_text(asked, refusal->asked);
	} else {
		snprintf(allowed, sizeof(allowed), "%" PRIu64,
			 (uint64_t)refusal->allowed);
		snprintf(asked, sizeof(asked), "%" PRIu64,
			 (uint64_t)refusal->asked);
	}
	snprintf(buf, NIC_CAUSE_MAX,
		 "the limit of %s is %s and this makes %s; %s",
		 limits[limit].noun, allowed, asked, limits[limit].remedy);
	return buf;
}

#define OPTIONS_MAX	4096	/* a larger size was never set */

int nic_options_copy(const struct nic_ctx *ctx, void *copy, size_t known,
		     const void *options, size_t given, size_t least,
		     const char *what)
{
	const unsigned char *bytes = options;

	if (given < least || given > OPTIONS_MAX)
		return nic_fail(ctx, -EINVAL,
				"the size in the options is wrong; set it to the sizeof() of the struct",
				"%s", what);
	for (size_t i = known; i < given; i++)
		if (bytes[i])
			return nic_fail(ctx, -E2BIG,
					"the options ask for what this libnic does not know; install a newer one",
					"%s", what);
	memset(copy, 0, known);
	memcpy(copy, options, given < known ? given : known);
	return 0;
}

const char *nic_eventfd_cause(int ret, int eventfd)
{
	if (eventfd >= 0 && ret == -EBADF)
		return "the eventfd is not open";
	if (eventfd >= 0 && ret == -EINVAL)
		return "the descriptor is no eventfd; make one with eventfd()";
	return NULL;
}

int nic_eventfd_check(const struct nic_ctx *ctx, uint32_t flags, int eventfd,
		      const char *what, int32_t *out)
{
	*out = -1;
	if (!(flags & NIC_EVENTFD)) {
		if (eventfd)
			return nic_fail(ctx, -EINVAL,
					"there is an eventfd without the flag NIC_EVENTFD",
					"%s", what);
		return 0;
	}
	if (eventfd < 0)
		return nic_fail(ctx, -EBADF, nic_eventfd_cause(-EBADF, 0), "%s",
				what);
	*out = eventfd;
	return 0;
}

int nic_name_copy(const struct nic_ctx *ctx, char *to, const char *name)
{
	size_t len = strnlen(name, NIC_PUBLISH_MAX);

	if (!len || len == NIC_PUBLISH_MAX)
		return nic_fail(ctx, -EINVAL, "names have 1 to 63 bytes",
				"use the name \"%.80s\"", name);
	memcpy(to, name, len + 1);
	return 0;
}
