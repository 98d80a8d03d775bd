// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_uring_chain.c - disk, DMA and interrupts in one chain of one io_uring
 *
 * Flags: -luring
 *
 * Owns: that linked entries (IOSQE_IO_LINK) of files, operations and waits run
 * one after the other, each once the one before succeeded: a file is read into
 * a segment, put, the other node's interrupt raised and waited for, and what
 * arrived there is written to another file. And that a failure ends it.
 */
#include "uring_test.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES	65536U

enum { READ, PUT, RAISE, WAIT, WRITE, STEPS };

FIXTURE(uring_chain) {
	struct node node;
	struct node peer;
	struct segment segment;
	struct segment target;
	struct queue queue;
	struct irq irq;
	__u32 handle;
	__u32 bell;
	struct io_uring ring;
	__u8 expected[BYTES];
	int from;
	int to;
	int res[STEPS];
};

FIXTURE_VARIANT(uring_chain) {
	bool command;		/* waits by IRQ_WAIT, else by POLL_ADD */
	size_t bytes;
};

FIXTURE_VARIANT_ADD(uring_chain, poll) { .bytes = BYTES };
FIXTURE_VARIANT_ADD(uring_chain, poll_small) { .bytes = 4096 };
FIXTURE_VARIANT_ADD(uring_chain, command) { .bytes = BYTES, .command = true };
FIXTURE_VARIANT_ADD(uring_chain, command_small) {
	.bytes = 4096, .command = true,
};

FIXTURE_SETUP(uring_chain)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	if (variant->command && !ring_cancels(&self->node))
		SKIP("no waits by commands here");
	self->segment = segment_make(&self->node, BYTES);
	self->target = segment_make(&self->peer, BYTES);
	segment_export(&self->target, DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->target);
	self->queue = queue_make(&self->node, 16, 16);
	self->irq = irq_make(&self->peer, 16);
	self->bell = irq_connect(&self->node, &self->irq);
	ring_make(&self->ring, 16, IORING_SETUP_SQE128);
	self->from = memfd_create("from", MFD_CLOEXEC);
	self->to = memfd_create("to", MFD_CLOEXEC);
	ASSERT_GE(self->from, 0);
	ASSERT_GE(self->to, 0);
	fill(self->expected, BYTES, 11);
	ASSERT_EQ(write(self->from, self->expected, BYTES), BYTES);
}

FIXTURE_TEARDOWN(uring_chain)
{
}

static void link_step(struct io_uring_sqe *sqe, unsigned int step)
{
	sqe->user_data = step;
	sqe->flags |= step < STEPS - 1 ? IOSQE_IO_LINK : 0;
}

static void prepare(struct uring_chain_self *self,
		    const struct uring_chain_variant *variant, __u32 handle)
{
	struct dmanic_sqe put = sqe_move(DMANIC_OP_WRITE, self->segment.id, 0,
					 handle, 0, variant->bytes);
	struct dmanic_sqe raise = sqe_notify(self->bell, 7);
	struct io_uring_sqe *sqe;

	sqe = ring_entry(&self->ring);
	io_uring_prep_read(sqe, self->from, self->segment.data, variant->bytes, 0);
	link_step(sqe, READ);
	link_step(prep_post(&self->ring, &self->queue, &put), PUT);
	link_step(prep_post(&self->ring, &self->queue, &raise), RAISE);
	if (variant->command) {
		sqe = prep_irq_wait(&self->ring, &self->irq, 1,
				    DMANIC_TIMEOUT_NEVER);
	} else {
		sqe = ring_entry(&self->ring);
		io_uring_prep_poll_add(sqe, self->irq.fd, POLLIN);
	}
	link_step(sqe, WAIT);
	sqe = ring_entry(&self->ring);
	io_uring_prep_write(sqe, self->to, self->target.data, variant->bytes, 0);
	link_step(sqe, WRITE);
}

static void run_chain(struct uring_chain_self *self)
{
	unsigned int i, seen = 0;
	__u64 step;
	int res;

	ASSERT_EQ(io_uring_submit(&self->ring), STEPS);
	for (i = 0; i < STEPS; i++) {
		res = ring_reap(&self->ring, &step, NULL);
		ASSERT_LT(step, STEPS);
		self->res[step] = res;
		seen |= 1U << step;
	}
	ASSERT_EQ(seen, (1U << STEPS) - 1);
}

TEST_F(uring_chain, from_file_to_file)
{
	const size_t bytes = variant->bytes;
	__u8 back[BYTES];

	prepare(self, variant, self->handle);
	run_chain(self);
	EXPECT_EQ(self->res[READ], bytes);
	EXPECT_EQ(self->res[PUT], bytes);
	EXPECT_EQ(self->res[RAISE], 0);
	if (variant->command)
		EXPECT_EQ(self->res[WAIT], 0);
	else
		EXPECT_TRUE(self->res[WAIT] & POLLIN);
	EXPECT_EQ(self->res[WRITE], bytes);
	ASSERT_EQ(pread(self->to, back, BYTES, 0), bytes);
	EXPECT_EQ(memcmp(back, self->expected, bytes), 0);
	EXPECT_EQ(irq_raised(&self->irq), 1);
}

TEST_F(uring_chain, ends_at_a_put_that_fails)
{
	__u8 byte;

	prepare(self, variant, self->handle + 1000);
	run_chain(self);
	EXPECT_EQ(self->res[READ], variant->bytes);
	EXPECT_EQ(self->res[PUT], -ENOENT);
	EXPECT_EQ(self->res[RAISE], -ECANCELED);
	EXPECT_EQ(self->res[WAIT], -ECANCELED);
	EXPECT_EQ(self->res[WRITE], -ECANCELED);
	EXPECT_EQ(irq_raised(&self->irq), 0);
	EXPECT_EQ(pread(self->to, &byte, 1, 0), 0);
}

/* A short read of the file ends it, too: nothing is put. */
TEST_F(uring_chain, ends_at_a_read_that_fails)
{
	ASSERT_EQ(ftruncate(self->from, 1), 0);
	prepare(self, variant, self->handle);
	run_chain(self);
	EXPECT_EQ(self->res[READ], 1);
	EXPECT_EQ(self->res[PUT], -ECANCELED);
	EXPECT_EQ(self->res[WRITE], -ECANCELED);
	EXPECT_EQ(irq_raised(&self->irq), 0);
}

/* The interrupt comes later, from outside of the chain. */
TEST_F(uring_chain, waits_for_another_node)
{
	struct dmanic_sqe raise = sqe_notify(self->bell, 7);
	struct io_uring_sqe *sqe;
	__u64 step;

	if (variant->command) {
		sqe = prep_irq_wait(&self->ring, &self->irq, 1,
				    DMANIC_TIMEOUT_NEVER);
	} else {
		sqe = ring_entry(&self->ring);
		io_uring_prep_poll_add(sqe, self->irq.fd, POLLIN);
	}
	link_step(sqe, WAIT);
	sqe = ring_entry(&self->ring);
	io_uring_prep_nop(sqe);
	link_step(sqe, WRITE);
	ASSERT_EQ(io_uring_submit(&self->ring), 2);
	EXPECT_EQ(io_uring_cq_ready(&self->ring), 0);
	EXPECT_EQ(queue_run(&self->queue, &raise).status, DMANIC_STATUS_OK);
	EXPECT_GE(ring_reap(&self->ring, &step, NULL), 0);
	EXPECT_EQ(step, WAIT);
	EXPECT_EQ(ring_reap(&self->ring, &step, NULL), 0);
	EXPECT_EQ(step, WRITE);
}

FABRIC_TEST_MAIN()
