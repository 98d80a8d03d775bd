// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_uring_wait.c - io_uring commands that do not end at once
 *
 * Flags: -luring
 *
 * Owns: that waits end by what they wait for, by time, by the removal of the
 * node and with their ring; and that no ring takes long to die, whatever the
 * link's model says: by closing it, by a killed process, with the queue closed
 * before. Kernels that cannot cancel commands refuse what might take long.
 */
#include "uring_test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB	(1UL << 20)

FIXTURE(uring_wait) {
	struct alone alone;
	struct queue queue;
	struct irq irq;
	struct io_uring ring;
	bool cancels;
};

FIXTURE_VARIANT(uring_wait) {
	unsigned int flags;
	__u8 entry_flags;
};

FIXTURE_VARIANT_ADD(uring_wait, simple) { .flags = IORING_SETUP_SQE128 };

FIXTURE_VARIANT_ADD(uring_wait, deferred) {
	.flags = IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER |
		 IORING_SETUP_DEFER_TASKRUN,
};

FIXTURE_VARIANT_ADD(uring_wait, polled) {
	.flags = IORING_SETUP_SQE128 | IORING_SETUP_SQPOLL,
};

FIXTURE_VARIANT_ADD(uring_wait, worker) {
	.flags = IORING_SETUP_SQE128,
	.entry_flags = IOSQE_ASYNC,
};

FIXTURE_SETUP(uring_wait)
{
	self->alone = alone_make(NULL, MIB);
	self->queue = queue_make(&self->alone.node, 64, 64);
	self->irq = irq_make(&self->alone.node, 64);
	self->cancels = ring_cancels(&self->alone.node);
}

FIXTURE_TEARDOWN(uring_wait)
{
}

/* The ring belongs to who submits, which is not always the parent */
static void make_ring(struct uring_wait_self *self,
		      const struct uring_wait_variant *variant)
{
	ring_make(&self->ring, 256, variant->flags);
}

static struct dmanic_sqe put(struct uring_wait_self *self, __u64 bytes)
{
	return sqe_move(DMANIC_OP_WRITE, self->alone.local.id, 0,
			self->alone.handle, 0, bytes);
}

static void set_latency(struct uring_wait_self *self, __u64 latency_ns)
{
	struct model model = { .name = "none", .latency_ns = latency_ns };

	ASSERT_EQ(device_set_model(self->alone.node.name, &model), 0);
}

static unsigned int queues(struct uring_wait_self *self)
{
	struct device device;

	ASSERT_EQ(device_get(self->alone.node.name, &device), 0);
	return device.queues;
}

/* Soon, beside the hour that it would have waited; a busy machine is not slow */
#define SOON_MS	10000

/* The last reference to the queue is gone soon */
static void expect_queue_dies(struct uring_wait_self *self, __u64 since)
{
	ASSERT_TRUE(WAIT_FOR(queues(self) == 0));
	EXPECT_LT(now_ns() - since, slow_ns(SOON_MS));
}

static void submit(struct uring_wait_self *self, int entries)
{
	ring_submit(&self->ring, entries);
}

/* ---- waits ---- */

TEST_F(uring_wait, refused_where_nobody_can_cancel)
{
	if (self->cancels)
		SKIP("this kernel can cancel");
	make_ring(self, variant);
	prep_wait(&self->ring, &self->queue, 1, SECOND_NS);
	EXPECT_EQ(ring_run(&self->ring), -EOPNOTSUPP);
	prep_irq_wait(&self->ring, &self->irq, 1, SECOND_NS);
	EXPECT_EQ(ring_run(&self->ring), -EOPNOTSUPP);
}

TEST_F(uring_wait, ends_with_what_it_waits_for)
{
	struct dmanic_sqe op = sqe_notify(irq_connect(&self->alone.node,
						      &self->irq), 5);
	unsigned int i;
	__u64 data;

	if (!self->cancels)
		SKIP("no waits here");
	make_ring(self, variant);
	prep_wait(&self->ring, &self->queue, 2, DMANIC_TIMEOUT_NEVER)->flags =
		variant->entry_flags;
	submit(self, 1);
	for (i = 0; i < 2; i++) {
		*queue_sqe(&self->queue) = put(self, i ? 65536 : 8);
		queue_submit(&self->queue);
	}
	EXPECT_EQ(ring_reap(&self->ring, NULL, NULL), 2);
	/* Over already */
	prep_wait(&self->ring, &self->queue, 1, 0)->flags = variant->entry_flags;
	EXPECT_EQ(ring_run(&self->ring), 2);

	prep_irq_wait(&self->ring, &self->irq, 2, DMANIC_TIMEOUT_NEVER)->user_data = 2;
	prep_irq_wait(&self->ring, &self->irq, 1, DMANIC_TIMEOUT_NEVER)->user_data = 1;
	submit(self, 2);
	for (i = 1; i <= 2; i++) {
		*queue_sqe(&self->queue) = op;
		queue_submit(&self->queue);
		EXPECT_EQ(ring_reap(&self->ring, &data, NULL), 0);
		EXPECT_EQ(data, i);
	}
}

TEST_F(uring_wait, ends_with_time)
{
	__u64 start = now_ns();

	if (!self->cancels)
		SKIP("no waits here");
	make_ring(self, variant);
	prep_wait(&self->ring, &self->queue, 1, 30 * MS_NS)->flags =
		variant->entry_flags;
	prep_irq_wait(&self->ring, &self->irq, 1, 30 * MS_NS)->flags =
		variant->entry_flags;
	submit(self, 2);
	EXPECT_EQ(ring_reap(&self->ring, NULL, NULL), -ETIME);
	EXPECT_EQ(ring_reap(&self->ring, NULL, NULL), -ETIME);
	EXPECT_GE(now_ns() - start, 30 * MS_NS);
	prep_wait(&self->ring, &self->queue, 1, 0);
	EXPECT_EQ(ring_run(&self->ring), -ETIME);
}

/*
 * Neither a cancel nor a linked time-out reaches a command that was begun; that
 * it was is sure only when its submitter began it, so not with IOSQE_ASYNC.
 */
TEST_F(uring_wait, only_its_own_time_out_ends_it)
{
	enum { WAIT, IRQ_WAIT, LIMIT, CANCEL };
	struct __kernel_timespec limit = { .tv_nsec = MS_NS };
	__u64 start = now_ns(), data, wait_ns = slow_ns(1000);
	struct io_uring_sqe *sqe;
	unsigned int i;
	int res;

	if (!self->cancels)
		SKIP("no waits here");
	make_ring(self, variant);
	prep_wait(&self->ring, &self->queue, 1, wait_ns)->user_data = WAIT;
	sqe = prep_irq_wait(&self->ring, &self->irq, 1, wait_ns);
	sqe->user_data = IRQ_WAIT;
	sqe->flags = IOSQE_IO_LINK;
	sqe = ring_entry(&self->ring);
	io_uring_prep_link_timeout(sqe, &limit, 0);
	sqe->user_data = LIMIT;
	sqe = ring_entry(&self->ring);
	io_uring_prep_cancel64(sqe, WAIT, 0);
	sqe->user_data = CANCEL;
	submit(self, 4);
	for (i = 0; i < 4; i++) {
		res = ring_reap(&self->ring, &data, NULL);
		EXPECT_EQ(res, i < 2 ? -ENOENT : -ETIME);
		EXPECT_EQ(data == CANCEL || data == LIMIT, i < 2);
	}
	EXPECT_GE(now_ns() - start, wait_ns);
}

TEST_F(uring_wait, makes_sense_or_is_refused)
{
	struct dmanic_uring_enter arg = { .to_submit = 1, .min_complete = 1 };

	if (!self->cancels)
		SKIP("no waits here");
	make_ring(self, variant);
	prep_command(&self->ring, self->queue.fd, DMANIC_URING_WAIT, &arg,
		     sizeof(arg));
	EXPECT_EQ(ring_run(&self->ring), -EINVAL);
	prep_wait(&self->ring, &self->queue, 65, 0);
	EXPECT_EQ(ring_run(&self->ring), -EINVAL);
}

TEST_F(uring_wait, not_more_than_a_wake_up_can_look_at)
{
	unsigned int i, busy = 0, gone = 0;

	if (!self->cancels)
		SKIP("no waits here");
	make_ring(self, variant);
	for (i = 0; i < 1100; i++) {
		prep_irq_wait(&self->ring, &self->irq, 1,
			      DMANIC_TIMEOUT_NEVER)->flags = variant->entry_flags;
		if (i % 100 == 99)
			submit(self, 100);
	}
	/* Those above what it can look at are refused, the others wait */
	for (i = 0; i < 76; i++)
		busy += ring_reap(&self->ring, NULL, NULL) == -EBUSY;
	EXPECT_EQ(busy, 76);
	ASSERT_EQ(device_delete(self->alone.node.name, true), 0);
	for (i = 0; i < 1024; i++)
		gone += ring_reap(&self->ring, NULL, NULL) == -ENODEV;
	EXPECT_EQ(gone, 1024);
}

TEST_F(uring_wait, ends_when_the_node_goes)
{
	struct dmanic_sqe op = put(self, 8);
	unsigned int i, down = 0, gone = 0;
	int res;

	if (!self->cancels)
		SKIP("no waits here");
	make_ring(self, variant);
	set_latency(self, HOUR_NS);
	prep_wait(&self->ring, &self->queue, 1, DMANIC_TIMEOUT_NEVER)->flags =
		variant->entry_flags;
	prep_irq_wait(&self->ring, &self->irq, 1, DMANIC_TIMEOUT_NEVER)->flags =
		variant->entry_flags;
	prep_post(&self->ring, &self->queue, &op)->flags = variant->entry_flags;
	prep_post(&self->ring, &self->queue, &op)->flags = variant->entry_flags;
	submit(self, 4);
	ASSERT_EQ(device_delete(self->alone.node.name, true), 0);
	for (i = 0; i < 4; i++) {
		res = ring_reap(&self->ring, NULL, NULL);
		EXPECT_TRUE(res == -ENETDOWN || res == -ENODEV);
		down += res == -ENETDOWN;
		gone += res == -ENODEV;
	}
	EXPECT_EQ(down + gone, 4);
	EXPECT_GE(gone, 2);
	EXPECT_EQ(run_post(&self->ring, &self->queue, &op), -ENODEV);
}

/* ---- rings that die ---- */

/* Everything that may still be waiting in a ring */
static void leave_behind(struct uring_wait_self *self,
			 const struct uring_wait_variant *variant)
{
	struct dmanic_sqe op = put(self, MIB);
	unsigned int i, entries = 0;

	for (i = 0; i < 40; i++, entries++) {
		op.flags = i % 8 == 7 ? DMANIC_SQE_FENCE : 0;
		prep_post(&self->ring, &self->queue, &op)->flags =
			variant->entry_flags;
	}
	for (i = 0; i < 8 && self->cancels; i++, entries += 2) {
		prep_wait(&self->ring, &self->queue, 64,
			  DMANIC_TIMEOUT_NEVER)->flags = variant->entry_flags;
		prep_irq_wait(&self->ring, &self->irq, 1000,
			      i % 2 ? HOUR_NS : DMANIC_TIMEOUT_NEVER)->flags =
			variant->entry_flags;
	}
	submit(self, entries);
}

static void set_hour(struct uring_wait_self *self, bool before)
{
	/* Where nobody can cancel, posts on a slow link are refused */
	if (before == self->cancels)
		set_latency(self, HOUR_NS);
}

TEST_F(uring_wait, ring_closed)
{
	__u64 start;

	make_ring(self, variant);
	set_hour(self, true);
	leave_behind(self, variant);
	set_hour(self, false);
	start = now_ns();
	io_uring_queue_exit(&self->ring);
	queue_close(&self->queue);
	expect_queue_dies(self, start);
}

TEST_F(uring_wait, queue_closed_before_the_ring)
{
	__u64 start;

	make_ring(self, variant);
	set_hour(self, true);
	leave_behind(self, variant);
	queue_close(&self->queue);
	if (self->cancels)
		EXPECT_EQ(queues(self), 1);
	set_hour(self, false);
	start = now_ns();
	io_uring_queue_exit(&self->ring);
	expect_queue_dies(self, start);
}

TEST_F(uring_wait, process_killed)
{
	int status, told[2];
	__u64 start;
	pid_t child;
	char byte;

	ASSERT_EQ(pipe(told), 0);
	set_hour(self, true);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		make_ring(self, variant);
		leave_behind(self, variant);
		ASSERT_EQ(write(told[1], "", 1), 1);
		ring_reap(&self->ring, NULL, NULL);
		for (;;)
			pause();
	}
	ASSERT_EQ(read(told[0], &byte, 1), 1);
	set_hour(self, false);
	start = now_ns();
	ASSERT_EQ(kill(child, SIGKILL), 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_LT(now_ns() - start, slow_ns(SOON_MS));
	queue_close(&self->queue);
	expect_queue_dies(self, start);
}

TEST_F(uring_wait, slow_links_refuse_posts_nobody_can_cancel)
{
	struct dmanic_sqe op = put(self, 8);

	if (self->cancels)
		SKIP("this kernel can cancel");
	make_ring(self, variant);
	set_latency(self, HOUR_NS);
	EXPECT_EQ(run_post(&self->ring, &self->queue, &op), -EOPNOTSUPP);
	set_latency(self, 0);
	EXPECT_EQ(run_post(&self->ring, &self->queue, &op), 8);
}

/* Operations an hour long stand before it: then it is refused, or cancelled. */
TEST_F(uring_wait, behind_the_queues_own)
{
	struct dmanic_sqe op = put(self, MIB);
	__u64 start;

	make_ring(self, variant);
	set_latency(self, HOUR_NS);
	*queue_sqe(&self->queue) = put(self, 8);
	queue_submit(&self->queue);
	/* With the model gone, nothing waits for it any longer */
	if (!self->cancels)
		set_latency(self, 0);
	op.flags = DMANIC_SQE_FENCE;
	prep_post(&self->ring, &self->queue, &op)->flags = variant->entry_flags;
	submit(self, 1);
	start = now_ns();
	if (!self->cancels)
		EXPECT_EQ(ring_reap(&self->ring, NULL, NULL), MIB);
	io_uring_queue_exit(&self->ring);
	queue_close(&self->queue);
	expect_queue_dies(self, start);
}

/* Hundreds of gigabytes in one entry */
#define LIST_ENTRIES	(1U << 18)

/* @list: as segment_make() made it for the node */
static struct dmanic_sqe long_list(struct uring_wait_self *self,
				   const struct segment *list)
{
	struct dmanic_list_entry *entries = (void *)list->data;
	unsigned int i;

	for (i = 0; i < LIST_ENTRIES; i++)
		entries[i] = (struct dmanic_list_entry) { .length = MIB };
	return sqe_list(0, self->alone.local.id, self->alone.handle, list->id, 0,
			LIST_ENTRIES);
}

static struct segment list_make(struct uring_wait_self *self)
{
	return segment_make(&self->alone.node,
			    LIST_ENTRIES * sizeof(struct dmanic_list_entry));
}

/* What the queue itself has to do does not hold the ring, either. */
TEST_F(uring_wait, behind_a_long_list)
{
	struct segment list = list_make(self);
	struct dmanic_sqe op = put(self, MIB);
	unsigned int i;
	__u64 start;

	make_ring(self, variant);
	*queue_sqe(&self->queue) = long_list(self, &list);
	queue_submit(&self->queue);
	for (i = 0; i < 4; i++) {
		op.flags = i % 2 ? DMANIC_SQE_FENCE : 0;
		prep_post(&self->ring, &self->queue, &op)->flags =
			variant->entry_flags;
	}
	submit(self, 4);
	for (i = 0; i < 4 && !self->cancels; i++)
		EXPECT_EQ(ring_reap(&self->ring, NULL, NULL), -EBUSY);
	start = now_ns();
	io_uring_queue_exit(&self->ring);
	queue_close(&self->queue);
	expect_queue_dies(self, start);
}

#define BUSY_QUEUES	32U

static void post_some(struct uring_wait_self *self, __u8 entry_flags)
{
	struct dmanic_sqe op = put(self, MIB);
	unsigned int i;

	for (i = 0; i < 60; i++)
		prep_post(&self->ring, &self->queue, &op)->flags = entry_flags;
	submit(self, 60);
}

/* Every second turn is its own: that is twice as long as alone, not 33 times */
TEST_F_TIMEOUT(uring_wait, beside_busy_queues, 120)
{
	struct segment list = list_make(self);
	struct dmanic_sqe work = long_list(self, &list);
	struct queue busy[BUSY_QUEUES];
	__u64 start, alone;
	unsigned int i;

	make_ring(self, variant);
	start = now_ns();
	post_some(self, variant->entry_flags);
	for (i = 0; i < 60; i++)
		ASSERT_EQ(ring_reap(&self->ring, NULL, NULL), MIB);
	alone = now_ns() - start;
	for (i = 0; i < BUSY_QUEUES; i++) {
		busy[i] = queue_make(&self->alone.node, 2, 2);
		*queue_sqe(&busy[i]) = work;
		queue_submit(&busy[i]);
	}
	post_some(self, variant->entry_flags);
	start = now_ns();
	io_uring_queue_exit(&self->ring);
	queue_close(&self->queue);
	ASSERT_TRUE(WAIT_FOR(queues(self) == BUSY_QUEUES));
	EXPECT_LT(now_ns() - start, 12 * alone + slow_ns(200));
	for (i = 0; i < BUSY_QUEUES; i++)
		queue_close(&busy[i]);
	expect_queue_dies(self, now_ns());
}

/* Given up while its bytes are on their way: at the next 256 KiB */
TEST_F(uring_wait, closed_in_the_middle_of_a_copy)
{
	struct segment list = list_make(self);
	struct dmanic_sqe work = long_list(self, &list);
	__u8 *target = self->alone.target.data;
	__u64 start;

	if (!self->cancels)
		SKIP("no lists here");
	memset(self->alone.local.data, 0x11, MIB);
	make_ring(self, variant);
	prep_post(&self->ring, &self->queue, &work)->flags = variant->entry_flags;
	submit(self, 1);
	ASSERT_TRUE(WAIT_FOR(*(volatile __u8 *)target == 0x11));
	start = now_ns();
	io_uring_queue_exit(&self->ring);
	queue_close(&self->queue);
	expect_queue_dies(self, start);
	memset(target, 0x99, MIB);
	breathe();
	EXPECT_EQ(target[0], 0x99);
	EXPECT_EQ(memcmp(target, target + 1, MIB - 1), 0);
}

/* An op that was given up is as good as new for the next. */
TEST_F(uring_wait, ops_are_used_again)
{
	struct dmanic_sqe op = put(self, MIB);
	unsigned int round, i;

	for (round = 0; round < 4; round++) {
		make_ring(self, variant);
		set_hour(self, true);
		leave_behind(self, variant);
		io_uring_queue_exit(&self->ring);
		ASSERT_TRUE(WAIT_FOR(load32(&self->queue.ring->cq_tail) ==
				     self->queue.head));
		set_latency(self, 0);
		ring_make(&self->ring, 256, variant->flags);
		/* As many as the queue has, once the others are gone */
		ASSERT_TRUE(WAIT_FOR(run_post(&self->ring, &self->queue,
					      &op) == MIB));
		for (i = 0; i < 64; i++)
			EXPECT_TRUE(WAIT_FOR(run_post(&self->ring, &self->queue,
						      &op) == MIB));
		io_uring_queue_exit(&self->ring);
	}
}

/* As many as it has completions; then the queue is busy. */
TEST_F(uring_wait, more_than_the_queue_has)
{
	struct dmanic_sqe op = put(self, 8);
	unsigned int i;
	__u64 data;

	if (!self->cancels)
		SKIP("nothing stays in flight here");
	make_ring(self, variant);
	set_latency(self, HOUR_NS);
	for (i = 0; i < 64; i++) {
		prep_post(&self->ring, &self->queue, &op)->user_data = i;
		submit(self, 1);
	}
	prep_post(&self->ring, &self->queue, &op)->user_data = 64;
	submit(self, 1);
	EXPECT_EQ(ring_reap(&self->ring, &data, NULL), -EBUSY);
	EXPECT_EQ(data, 64);
	/* Nor is there room for the queue's own */
	*queue_sqe(&self->queue) = op;
	queue_publish(&self->queue);
	EXPECT_EQ(queue_enter(&self->queue, 1, 0, 0), 0);
	EXPECT_EQ(self->queue.submitted, 0);
}

FABRIC_TEST_MAIN_NONE()
