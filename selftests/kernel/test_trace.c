// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_trace.c - the tracepoints
 *
 * Owns: what dmanic_post, dmanic_start, dmanic_notify and dmanic_done say, in
 * which order, and that operations are done as ever while somebody looks. Small
 * operations between these nodes are the poster's own without tracing, so a
 * line of theirs also tells that they took the general way. In a tracing
 * instance of its own; its clock is a counter, so order holds across CPUs.
 */
#include "dmanic_test.h"
#include "tracing.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define LINES		16
#define NO_NODE		-1

static const char * const events[] = {
	"dmanic_post", "dmanic_start", "dmanic_notify", "dmanic_done",
};

enum event { POST, START, NOTIFY, DONE, EVENTS };

/* A line of the trace: of an operation, or of an interrupt (NOTIFY) */
struct line {
	enum event event;
	__u32 node;
	int target;
	__u32 opcode;
	__u32 flags;
	__u64 cookie;
	__u64 bytes;
	__u32 status;
	__u32 irq;
	__u64 payload;
	__u32 from;
};

FIXTURE(trace) {
	char instance[TRACING_PATH];
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	struct queue queue;	/* of one op, so that it is used again */
	struct irq irq;
	__u32 handle;
	__u32 notify;
	struct line lines[LINES];
	unsigned int nr_lines;
};

static void enable(struct trace_self *self, const char *event)
{
	tracing_enable(self->instance, event);
}

static void enable_all(struct trace_self *self)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++)
		enable(self, events[i]);
}

/* ---- lines ---- */

static bool line_parse(struct line *line, const char *text)
{
	const char *at = NULL;
	unsigned int i;
	int fields;

	for (i = 0; i < EVENTS && !at; i++) {
		at = strstr(text, events[i]);
		line->event = i;
	}
	if (!at)
		return false;
	at = strchr(at, ' ');
	ASSERT_TRUE(at);
	if (line->event == NOTIFY) {
		fields = sscanf(at, " node=%u irq=%u payload=%llx from=%u status=%u",
				&line->node, &line->irq, &line->payload,
				&line->from, &line->status);
		ASSERT_EQ(fields, 5);
	} else {
		fields = sscanf(at, " node=%u target=%d opcode=%u flags=%x cookie=%llx bytes=%llu status=%u",
				&line->node, &line->target, &line->opcode,
				&line->flags, &line->cookie, &line->bytes,
				&line->status);
		ASSERT_EQ(fields, 7);
	}
	return true;
}

/* What was traced since the last call */
static void lines_read(struct trace_self *self)
{
	char path[96], text[512];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/trace", self->instance);
	stream = fopen(path, "re");
	ASSERT_TRUE(stream);
	self->nr_lines = 0;
	while (fgets(text, sizeof(text), stream)) {
		ASSERT_LT(self->nr_lines, LINES);
		self->nr_lines += line_parse(&self->lines[self->nr_lines], text);
	}
	fclose(stream);
	ASSERT_EQ(put_file(self->instance, "trace", ""), 0);
}

/* ---- the fixture ---- */

FIXTURE_SETUP(trace)
{
	tracing_make(self->instance);
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, 4096);
	self->target = segment_make(&self->peer, 4096);
	segment_export(&self->target, DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->target);
	self->irq = irq_make(&self->peer, 8);
	self->notify = irq_connect(&self->node, &self->irq);
	self->queue = queue_make(&self->node, 1, 1);
}

FIXTURE_TEARDOWN(trace)
{
	tracing_remove(self->instance);
}

static struct dmanic_sqe write_notify(struct trace_self *self)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, 0,
					 self->handle, 8, 64);

	sqe.flags = DMANIC_SQE_NOTIFY;
	sqe.notify = self->notify;
	sqe.payload = 0xabcdef0123456789ULL;
	sqe.cookie = 0x1122334455667788ULL;
	return sqe;
}

/* Post it, and look what it did */
static void run_write_notify(struct trace_self *self, __u64 seed)
{
	struct dmanic_sqe sqe = write_notify(self);
	__u64 raised = irq_raised(&self->irq);

	fill(self->local.data, 4096, seed);
	ASSERT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(self->target.data + 8, self->local.data, 64), 0);
	ASSERT_EQ(irq_raised(&self->irq), raised + 1);
	EXPECT_EQ(self->irq.ring->event[raised % 8].payload, sqe.payload);
	EXPECT_EQ(self->irq.ring->event[raised % 8].node, self->node.id);
}

static void expect_operation(const struct trace_self *self,
			     const struct line *line)
{
	EXPECT_EQ(line->node, self->node.id);
	EXPECT_EQ(line->target, self->peer.id);
	EXPECT_EQ(line->opcode, DMANIC_OP_WRITE);
	EXPECT_EQ(line->flags, DMANIC_SQE_NOTIFY);
	EXPECT_EQ(line->cookie, 0x1122334455667788ULL);
	EXPECT_EQ(line->bytes, 64);
	EXPECT_EQ(line->status, DMANIC_STATUS_OK);
}

static void expect_notify(const struct trace_self *self,
			  const struct line *line)
{
	EXPECT_EQ(line->node, self->peer.id);
	EXPECT_EQ(line->irq, self->irq.id);
	EXPECT_EQ(line->payload, 0xabcdef0123456789ULL);
	EXPECT_EQ(line->from, self->node.id);
	EXPECT_EQ(line->status, DMANIC_STATUS_OK);
}

TEST_F(trace, write_with_notify_tells_all_four_in_order)
{
	unsigned int i;

	enable_all(self);
	run_write_notify(self, 1);
	lines_read(self);
	ASSERT_EQ(self->nr_lines, EVENTS);
	for (i = 0; i < EVENTS; i++) {
		EXPECT_EQ(self->lines[i].event, i);
		if (self->lines[i].event == NOTIFY)
			expect_notify(self, &self->lines[i]);
		else
			expect_operation(self, &self->lines[i]);
	}
}

/* On and off and on, between operations */
TEST_F(trace, data_are_right_with_and_without)
{
	unsigned int i;

	enable_all(self);
	for (i = 1; i <= 20; i++) {
		ASSERT_EQ(put_file(self->instance, "events/dmanic/enable",
				   i & 1 ? "1" : "0"), 0);
		run_write_notify(self, i);
		lines_read(self);
		EXPECT_EQ(self->nr_lines, i & 1 ? EVENTS : 0);
	}
}

/* A NOP names no node; nor does what is refused before its connection is */
TEST_F(trace, no_target_of_an_operation_before)
{
	struct dmanic_sqe nop = { .opcode = DMANIC_OP_NOP };
	struct dmanic_sqe refused = write_notify(self);
	struct dmanic_sqe unknown = { .opcode = 0xff };
	struct line *lines = self->lines;
	unsigned int i;

	refused.remote += 1000;
	enable_all(self);
	run_write_notify(self, 3);
	lines_read(self);
	EXPECT_EQ(lines[0].target, self->peer.id);

	EXPECT_EQ(queue_run(&self->queue, &nop).status, DMANIC_STATUS_OK);
	lines_read(self);
	ASSERT_EQ(self->nr_lines, 3);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(lines[i].opcode, DMANIC_OP_NOP);
		EXPECT_EQ(lines[i].target, NO_NODE);
	}

	run_write_notify(self, 4);
	EXPECT_EQ(queue_run(&self->queue, &refused).status,
		  DMANIC_STATUS_NO_HANDLE);
	EXPECT_EQ(queue_run(&self->queue, &unknown).status,
		  DMANIC_STATUS_INVALID);
	lines_read(self);
	ASSERT_EQ(self->nr_lines, EVENTS + 2 + 2);
	for (i = EVENTS; i < self->nr_lines; i++) {
		EXPECT_EQ(lines[i].event, i & 1 ? DONE : POST);
		EXPECT_EQ(lines[i].target, NO_NODE);
		EXPECT_EQ(lines[i].status, i < EVENTS + 2 ?
			  DMANIC_STATUS_NO_HANDLE : DMANIC_STATUS_INVALID);
	}
}

/* Any of them, alone, keeps operations from the way that tells nothing. */
TEST_F(trace, each_event_alone)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++) {
		enable(self, events[i]);
		run_write_notify(self, i);
		lines_read(self);
		ASSERT_EQ(self->nr_lines, 1);
		EXPECT_EQ(self->lines[0].event, i);
		ASSERT_EQ(put_file(self->instance, "events/dmanic/enable", "0"), 0);
	}
}

FABRIC_TEST_MAIN()
