// SPDX-License-Identifier: GPL-2.0-only
/*
 * table.c - what calls there are, and what their numbers mean
 */
#include <linux/dmanic.h>
#include <string.h>

#include "calls.h"

#define FIELD(type, member, kind) \
	{ #member, offsetof(struct type, member), sizeof(((struct type *)0)->member), kind }
#define FIELDS(list)	.field = (list), .nr = sizeof(list) / sizeof(*(list))
#define ARGUMENT(type)	.bytes = sizeof(struct type)

static const struct field query[] = {
	FIELD(dmanic_query, size, KIND_SIZE),
	FIELD(dmanic_query, flags, KIND_ZERO),
};

static const struct field segment_create[] = {
	FIELD(dmanic_segment_create, size, KIND_SIZE),
	FIELD(dmanic_segment_create, flags, KIND_FLAGS),
	FIELD(dmanic_segment_create, length, KIND_LENGTH),
	FIELD(dmanic_segment_create, address, KIND_MEMORY),
};

static const struct field segment_id[] = {
	FIELD(dmanic_segment_id, size, KIND_SIZE),
	FIELD(dmanic_segment_id, flags, KIND_ZERO),
	FIELD(dmanic_segment_id, id, KIND_SEGMENT),
	FIELD(dmanic_segment_id, reserved, KIND_ZERO),
};

static const struct field segment_export[] = {
	FIELD(dmanic_segment_export, size, KIND_SIZE),
	FIELD(dmanic_segment_export, flags, KIND_ZERO),
	FIELD(dmanic_segment_export, id, KIND_SEGMENT),
	FIELD(dmanic_segment_export, rights, KIND_SMALL),
	FIELD(dmanic_segment_export, secret[0], KIND_ZERO),
	FIELD(dmanic_segment_export, name, KIND_NAME),
};

/* @key picks an export, whose node, id and kind are taken with it (run_fill()) */
static const struct field connect[] = {
	FIELD(dmanic_connect, size, KIND_SIZE),
	FIELD(dmanic_connect, flags, KIND_FLAGS),
	FIELD(dmanic_connect, node, KIND_SMALL),
	FIELD(dmanic_connect, id, KIND_SMALL),
	FIELD(dmanic_connect, secret[0], KIND_ZERO),
	FIELD(dmanic_connect, timeout_ns, KIND_TIME),
	FIELD(dmanic_connect, name, KIND_NAME),
	FIELD(dmanic_connect, key, KIND_EXPORT),
};

static const struct field disconnect[] = {
	FIELD(dmanic_disconnect, size, KIND_SIZE),
	FIELD(dmanic_disconnect, flags, KIND_ZERO),
	FIELD(dmanic_disconnect, handle, KIND_HANDLE),
	FIELD(dmanic_disconnect, reserved, KIND_ZERO),
};

static const struct field queue_create[] = {
	FIELD(dmanic_queue_create, size, KIND_SIZE),
	FIELD(dmanic_queue_create, flags, KIND_FLAGS),
	FIELD(dmanic_queue_create, sq_entries, KIND_COUNT),
	FIELD(dmanic_queue_create, cq_entries, KIND_COUNT),
	FIELD(dmanic_queue_create, eventfd, KIND_EVENTFD),
	FIELD(dmanic_queue_create, poll_idle_us, KIND_COUNT),
	FIELD(dmanic_queue_create, reserved, KIND_ZERO),
};

static const struct field irq_create[] = {
	FIELD(dmanic_irq_create, size, KIND_SIZE),
	FIELD(dmanic_irq_create, flags, KIND_FLAGS),
	FIELD(dmanic_irq_create, depth, KIND_COUNT),
	FIELD(dmanic_irq_create, eventfd, KIND_EVENTFD),
	FIELD(dmanic_irq_create, secret[0], KIND_ZERO),
	FIELD(dmanic_irq_create, name, KIND_NAME),
};

static const struct field news_eventfd[] = {
	FIELD(dmanic_news_eventfd, size, KIND_SIZE),
	FIELD(dmanic_news_eventfd, flags, KIND_ZERO),
	FIELD(dmanic_news_eventfd, eventfd, KIND_EVENTFD),
	FIELD(dmanic_news_eventfd, reserved, KIND_ZERO),
};

static const struct field enter[] = {
	FIELD(dmanic_enter, size, KIND_SIZE),
	FIELD(dmanic_enter, flags, KIND_ZERO),
	FIELD(dmanic_enter, to_submit, KIND_COUNT),
	FIELD(dmanic_enter, min_complete, KIND_COUNT),
	FIELD(dmanic_enter, timeout_ns, KIND_TIME),
};

static const struct field irq_wait[] = {
	FIELD(dmanic_irq_wait, size, KIND_SIZE),
	FIELD(dmanic_irq_wait, flags, KIND_ZERO),
	FIELD(dmanic_irq_wait, target, KIND_COUNT),
	FIELD(dmanic_irq_wait, timeout_ns, KIND_TIME),
};

static const struct field stop[] = {
	FIELD(dmanic_stop, size, KIND_SIZE),
	FIELD(dmanic_stop, flags, KIND_ZERO),
};

/* A submission entry; its unions are what most opcodes take them for */
static const struct field sqe[] = {
	FIELD(dmanic_sqe, opcode, KIND_SMALL),
	FIELD(dmanic_sqe, flags, KIND_FLAGS),
	FIELD(dmanic_sqe, reserved, KIND_ZERO),
	FIELD(dmanic_sqe, local, KIND_SEGMENT),
	FIELD(dmanic_sqe, remote, KIND_HANDLE),
	FIELD(dmanic_sqe, notify, KIND_HANDLE),
	FIELD(dmanic_sqe, local_offset, KIND_OFFSET),
	FIELD(dmanic_sqe, remote_offset, KIND_OFFSET),
	FIELD(dmanic_sqe, block, KIND_LENGTH),
	FIELD(dmanic_sqe, count, KIND_COUNT),
	FIELD(dmanic_sqe, local_stride, KIND_STRIDE),
	FIELD(dmanic_sqe, remote_stride, KIND_STRIDE),
	FIELD(dmanic_sqe, payload, KIND_ZERO),
};

#define WORD(name, kind)	{ name, 0, 8, kind }

static const struct field opens[] = { WORD("flags", KIND_FLAGS) };
static const struct field anys[] = { WORD("number", KIND_COUNT), WORD("seed", KIND_VALUE) };
static const struct field mmaps[] = {
	WORD("offset", KIND_PLACE), WORD("length", KIND_LENGTH), WORD("prot", KIND_SMALL),
	WORD("shared", KIND_SMALL),
};
static const struct field parts[] = { WORD("offset", KIND_OFFSET), WORD("length", KIND_LENGTH) };
static const struct field madvises[] = {
	WORD("offset", KIND_OFFSET), WORD("length", KIND_LENGTH), WORD("advice", KIND_COUNT),
};
static const struct field touches[] = {
	WORD("offset", KIND_OFFSET), WORD("value", KIND_VALUE), WORD("write", KIND_SMALL),
};
static const struct field pokes[] = { WORD("which", KIND_SMALL), WORD("value", KIND_COUNT) };
static const struct field counts[] = { WORD("count", KIND_COUNT) };
static const struct field times[] = { WORD("ns", KIND_TIME) };
/* Behind what a command says, its argument: what ENTER and waits take */
static const struct field urings[] = {
	WORD("command", KIND_SMALL), WORD("a", KIND_COUNT), WORD("b", KIND_COUNT),
	WORD("time", KIND_TIME), WORD("wait", KIND_SMALL),
};
static const struct field netlinks[] = {
	WORD("command", KIND_SMALL), WORD("odd", KIND_SMALL), WORD("choices", KIND_VALUE),
	WORD("seed", KIND_VALUE), WORD("device", KIND_SMALL),
};

static void made_segment(struct state *state, int fd, const void *argument)
{
	const struct dmanic_segment_create *create = argument;

	(void)fd;
	run_put(&state->pool[KIND_SEGMENT], create->id);
	run_put(&state->pool[KIND_PLACE], create->mmap_offset ? create->mmap_offset : NOTHING);
}

static uint32_t node_of(int fd)
{
	struct dmanic_query is = { .size = sizeof(is) };

	return special_query(fd, &is) ? 0 : is.node;
}

static void made_export(struct state *state, int fd, const void *argument)
{
	const struct dmanic_segment_export *export = argument;
	uint32_t at = run_add(&state->pool[KIND_EXPORT]);

	state->export[at] = (struct export){ node_of(fd), export->id, export->key, false };
}

static void made_handle(struct state *state, int fd, const void *argument)
{
	const struct dmanic_connect *connect_done = argument;

	(void)fd;
	run_put(&state->pool[KIND_HANDLE], connect_done->handle);
	run_put(&state->pool[KIND_PLACE],
		connect_done->mmap_offset ? connect_done->mmap_offset : NOTHING);
}

static void made_queue(struct state *state, int fd, const void *argument)
{
	const struct dmanic_queue_create *create = argument;

	(void)fd;
	special_ring(state, KIND_QUEUE, create->fd, create->mmap_bytes, create->sq_offset,
		     create->sq_entries);
}

static void made_irq(struct state *state, int fd, const void *argument)
{
	const struct dmanic_irq_create *create = argument;
	uint32_t at = run_add(&state->pool[KIND_EXPORT]);

	state->export[at] = (struct export){ node_of(fd), create->id, create->key, true };
	special_ring(state, KIND_IRQ, create->fd, create->mmap_bytes, 0, 0);
}

#define IOCTL(call, what, cmd, type)					\
	.name = #call, .on = KIND_##what, .number = DMANIC_IOC_##cmd,	\
	ARGUMENT(type)
#define SPECIAL(call, what)	.name = #call, .on = KIND_##what, .run = special_##call
#define KIND(what)		(1U << KIND_##what)
#define AGREES(call)		.agree = agree_##call

const struct description calls[] = {
	{ IOCTL(query, CONTEXT, QUERY, dmanic_query), FIELDS(query) },
	{ IOCTL(segment_create, CONTEXT, SEGMENT_CREATE, dmanic_segment_create),
	  FIELDS(segment_create), .made = made_segment, .makes = KIND(SEGMENT) | KIND(PLACE),
	  .flags = DMANIC_SEGMENT_USER_MEMORY, AGREES(segment_create) },
	{ IOCTL(segment_destroy, CONTEXT, SEGMENT_DESTROY, dmanic_segment_id),
	  FIELDS(segment_id), .ends = KIND(SEGMENT) },
	{ IOCTL(segment_export, CONTEXT, SEGMENT_EXPORT, dmanic_segment_export),
	  FIELDS(segment_export), .made = made_export, .makes = KIND(EXPORT), .gives = true,
	  AGREES(segment_export) },
	{ IOCTL(segment_revoke, CONTEXT, SEGMENT_REVOKE, dmanic_segment_id),
	  FIELDS(segment_id), .takes_back = true },
	{ IOCTL(connect, CONTEXT, CONNECT, dmanic_connect), FIELDS(connect),
	  .made = made_handle, .makes = KIND(HANDLE) | KIND(PLACE),
	  .flags = DMANIC_CONNECT_BY_NAME | DMANIC_CONNECT_IRQ, AGREES(connect) },
	{ IOCTL(disconnect, CONTEXT, DISCONNECT, dmanic_disconnect), FIELDS(disconnect),
	  .ends = KIND(HANDLE) },
	{ IOCTL(queue_create, CONTEXT, QUEUE_CREATE, dmanic_queue_create),
	  FIELDS(queue_create), .made = made_queue, .makes = KIND(QUEUE) | KIND(MAP),
	  .flags = DMANIC_QUEUE_POLL_THREAD, AGREES(queue_create) },
	{ IOCTL(irq_create, CONTEXT, IRQ_CREATE, dmanic_irq_create), FIELDS(irq_create),
	  .made = made_irq, .makes = KIND(IRQ) | KIND(MAP) | KIND(EXPORT),
	  .flags = DMANIC_IRQ_STRICT, AGREES(irq_create) },
	{ IOCTL(news_eventfd, CONTEXT, NEWS_EVENTFD, dmanic_news_eventfd),
	  FIELDS(news_eventfd) },
	{ IOCTL(enter, QUEUE, ENTER, dmanic_enter), FIELDS(enter), AGREES(enter) },
	{ IOCTL(irq_wait, IRQ, IRQ_WAIT, dmanic_irq_wait), FIELDS(irq_wait),
	  AGREES(irq_wait) },
	{ IOCTL(queue_stop, QUEUE, QUEUE_STOP, dmanic_stop), FIELDS(stop),
	  .ends = KIND(QUEUE) },
	{ IOCTL(irq_stop, IRQ, IRQ_STOP, dmanic_stop), FIELDS(stop), .ends = KIND(IRQ) },
	{ SPECIAL(post, QUEUE), ARGUMENT(dmanic_sqe), FIELDS(sqe), .inside = true,
	  .flags = DMANIC_SQE_FENCE | DMANIC_SQE_NOTIFY | DMANIC_SQE_SILENT, AGREES(post) },
	{ SPECIAL(poke, FD), FIELDS(pokes), .inside = true },
	{ SPECIAL(reap, QUEUE), .inside = true },
	{ SPECIAL(open, SMALL), FIELDS(opens), .makes = KIND(CONTEXT), .flags = UINT32_MAX },
	{ SPECIAL(close, FD), .ends = KIND(FD) },
	{ SPECIAL(dup, FD), .inside = true, .makes = KIND(CONTEXT), AGREES(dup) },
	{ SPECIAL(any, FD), FIELDS(anys) },
	{ SPECIAL(mmap, FD), FIELDS(mmaps), .makes = KIND(MAP), AGREES(mmap) },
	{ SPECIAL(munmap, MAP), FIELDS(parts), .ends = KIND(MAP) },
	{ SPECIAL(mremap, MAP), FIELDS(parts), .makes = KIND(MAP), AGREES(mremap) },
	{ SPECIAL(madvise, MAP), FIELDS(madvises) },
	{ SPECIAL(touch, MAP), FIELDS(touches), .inside = true },
	{ SPECIAL(read, FD), FIELDS(counts), AGREES(read) },
	{ SPECIAL(poll, FD), FIELDS(times) },
	{ SPECIAL(pause, VALUE), FIELDS(times), .inside = true },
	{ SPECIAL(fork, FD), FIELDS(counts), .inside = true },
	{ SPECIAL(uring, FD), FIELDS(urings), AGREES(uring) },
	{ SPECIAL(uring_post, QUEUE), ARGUMENT(dmanic_sqe), FIELDS(sqe),
	  .flags = DMANIC_SQE_FENCE | DMANIC_SQE_NOTIFY | 128, AGREES(post) },
	{ SPECIAL(netlink, VALUE), FIELDS(netlinks) },
};

const uint32_t nr_calls = sizeof(calls) / sizeof(*calls);

uint32_t call_args(const struct description *is)
{
	return 1 + is->nr;
}

enum kind call_kind(const struct description *is, uint32_t arg)
{
	return arg ? is->field[arg - 1].kind : is->on;
}

const struct description *call_find(const char *name, uint32_t *which)
{
	for (*which = 0; *which < nr_calls; (*which)++)
		if (!strcmp(calls[*which].name, name))
			return &calls[*which];
	return NULL;
}
