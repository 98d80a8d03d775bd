// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fail_nth_uring.c - io_uring commands with every allocation and copy
 *	failing in turn
 *
 * Owns: the sweep of test_fail_nth.c for what is submitted to an io_uring, which
 * has allocations of its own. An operation that was accepted is done once and
 * told once, and what failed works when it is submitted again.
 *
 * Flags: -luring
 */
#include "injection.h"
#include "uring_test.h"

#include <errno.h>

#define PUT	64U		/* bytes of a put, or of a LIST's only block */
#define BLOCK	1024U		/* where that begins in local memory */

FIXTURE(fail_nth_uring) {
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	struct irq irq;
	struct queue queue;
	__u32 handle;
	__u32 notify;
	int control;
	struct io_uring ring;
	__u64 raised;		/* of irq, as far as these posted */
};

FIXTURE_VARIANT(fail_nth_uring) {
	void (*prepare)(struct fail_nth_uring_self *self);
	unsigned int flags;
};

/* ---- what is submitted: its user data are the result that is right ---- */

static void expect(struct io_uring_sqe *sqe, int res)
{
	sqe->user_data = (__u64)(__s64)res;
}

/* A wait that times out, and an operation of the worker */
static void prepare_wait(struct fail_nth_uring_self *self)
{
	struct dmanic_sqe op = { .flags = DMANIC_SQE_FENCE };

	expect(prep_wait(&self->ring, &self->queue, 1, 0), -ETIME);
	expect(prep_post(&self->ring, &self->queue, &op), 0);
}

/* By the poster, then by the worker; each raises the interrupt */
static void prepare_write(struct fail_nth_uring_self *self)
{
	struct dmanic_sqe op = sqe_move(DMANIC_OP_WRITE, self->local.id, BLOCK,
					self->handle, 0, PUT);

	op.notify = self->notify;
	op.flags = DMANIC_SQE_NOTIFY;
	expect(prep_post(&self->ring, &self->queue, &op), PUT);
	op.flags |= DMANIC_SQE_FENCE;
	expect(prep_post(&self->ring, &self->queue, &op), PUT);
	self->raised += 2;
}

static void prepare_list(struct fail_nth_uring_self *self)
{
	struct dmanic_sqe op = sqe_list(0, self->local.id, self->handle, 0, 0,
					1);

	expect(prep_post(&self->ring, &self->queue, &op), PUT);
}

/* An entry that does nothing: one that was not taken is there still */
static void prepare_enter(struct fail_nth_uring_self *self)
{
	struct dmanic_cqe cqe;

	while (queue_reap(&self->queue, &cqe))
		EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	if (self->queue.tail == load32(&self->queue.ring->sq_head))
		*queue_sqe(&self->queue) = (struct dmanic_sqe) { .opcode = DMANIC_OP_NOP };
	queue_publish(&self->queue);
	expect(prep_enter(&self->ring, &self->queue, 1), 1);
}

/* One that is over, and one whose time is */
static void prepare_irq_wait(struct fail_nth_uring_self *self)
{
	__u64 raised = irq_raised(&self->irq);

	expect(prep_irq_wait(&self->ring, &self->irq, raised, 0), 0);
	expect(prep_irq_wait(&self->ring, &self->irq, raised + 1, 0), -ETIME);
}

#define LARGE	(IORING_SETUP_SQE128 | IORING_SETUP_CQE32)

FIXTURE_VARIANT_ADD(fail_nth_uring, wait) { prepare_wait, IORING_SETUP_SQE128 };
FIXTURE_VARIANT_ADD(fail_nth_uring, enter) { prepare_enter, IORING_SETUP_SQE128 };
FIXTURE_VARIANT_ADD(fail_nth_uring, write) { prepare_write, LARGE };
FIXTURE_VARIANT_ADD(fail_nth_uring, list) { prepare_list, LARGE };
FIXTURE_VARIANT_ADD(fail_nth_uring, irq_wait) { prepare_irq_wait, LARGE };

FIXTURE_SETUP(fail_nth_uring)
{
	struct dmanic_list_entry entry = {
		.local_offset = BLOCK, .length = PUT,
	};

	self->control = injection_open();
	self->node = node_open(&fabric, 0);
	if (variant->prepare != prepare_write && !ring_cancels(&self->node))
		SKIP("this kernel cannot cancel io_uring commands");
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, 4096);
	self->target = segment_make(&self->peer, 4096);
	segment_export(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->irq = irq_make(&self->peer, 8);
	self->queue = queue_make(&self->node, 8, 8);
	self->handle = segment_connect(&self->node, &self->target);
	self->notify = irq_connect(&self->node, &self->irq);
	memcpy(self->local.data, &entry, sizeof(entry));
	fill(self->local.data + BLOCK, PUT, 1);
	ring_make(&self->ring, 4, variant->flags);
}

FIXTURE_TEARDOWN(fail_nth_uring)
{
}

/* ---- the sweep ---- */

/* Submit what is left, or something new. 0, or what one that failed was told */
static int submit(struct fail_nth_uring_self *self,
		  const struct fail_nth_uring_variant *variant)
{
	int ready = (int)io_uring_sq_ready(&self->ring), taken, i, failed = 0;
	struct io_uring_cqe *cqe;

	if (!ready) {
		variant->prepare(self);
		ready = (int)io_uring_sq_ready(&self->ring);
	}
	taken = io_uring_submit(&self->ring);
	for (i = 0; i < taken; i++) {
		while (io_uring_peek_cqe(&self->ring, &cqe))
			breathe();
		if (cqe->res != (int)cqe->user_data) {
			failed = cqe->res;
			/* A put that was refused raised nothing */
			if (variant->prepare == prepare_write)
				self->raised--;
		}
		io_uring_cqe_seen(&self->ring, cqe);
	}
	EXPECT_EQ(io_uring_cq_ready(&self->ring), 0);
	/* io_uring may have no memory either */
	return taken < ready ? -ENOMEM : failed;
}

TEST_F_TIMEOUT(fail_nth_uring, each_failure_leaves_nothing, 60)
{
	struct counts before;
	unsigned int nth;
	bool injected;
	int ret;

	for (nth = 1; nth < FAULTS_MAX; nth++) {
		memset(self->target.data, 0, PUT);
		counts_read(&self->node, &self->target, &before);
		injection_arm(self->control, nth);
		ret = submit(self, variant);
		injected = injection_disarm(self->control);
		if (!injected)
			break;
		if (ret) {
			counts_expect(&self->node, &self->target, nth, ret,
				      &before);
			ASSERT_EQ(submit(self, variant), 0);
		}
		ASSERT_EQ(irq_raised(&self->irq), self->raised);
		ASSERT_TRUE(!harness_failed());
	}
	harness_note("%u faults", nth - 1);
	ASSERT_EQ(ret, 0);
	EXPECT_EQ(io_uring_sq_ready(&self->ring), 0);
	EXPECT_GT(nth, 1);
	ASSERT_LT(nth, FAULTS_MAX);
	if (variant->prepare == prepare_write ||
	    variant->prepare == prepare_list)
		EXPECT_EQ(memcmp(self->target.data, self->local.data + BLOCK,
				 PUT), 0);
}

FABRIC_TEST_MAIN()
