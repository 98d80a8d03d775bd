// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_uring.c - operations and waits as io_uring commands
 *
 * Flags: -luring
 */
#include "dmanic_test.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

FIXTURE(uring) {
	struct node node;
	struct node peer;
	struct segment segment;
	struct segment target;
	struct queue queue;
	__u32 handle;
	struct io_uring ring;
};

FIXTURE_SETUP(uring)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->segment = segment_make(&self->node, 1 << 20);
	self->target = segment_make(&self->peer, 1 << 20);
	segment_export(&self->target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	self->handle = segment_connect(&self->node, &self->target);
	self->queue = queue_make(&self->node, 64, 64);
	ASSERT_EQ(io_uring_queue_init(64, &self->ring, IORING_SETUP_SQE128), 0);
}

FIXTURE_TEARDOWN(uring)
{
	io_uring_queue_exit(&self->ring);
}

static struct io_uring_sqe *get(struct io_uring *ring)
{
	/* liburing 2.3 knows 128-byte entries */
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	ASSERT_TRUE(sqe);
	return sqe;
}

static void prep_post(struct io_uring_sqe *sqe, int fd, const struct dmanic_sqe *op)
{
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = DMANIC_URING_POST;
	memcpy(sqe->cmd, op, sizeof(*op));
}

static int run(struct uring_self *self, const struct dmanic_sqe *op)
{
	struct io_uring_cqe *cqe;
	int res;

	prep_post(get(&self->ring), self->queue.fd, op);
	ASSERT_EQ(io_uring_submit(&self->ring), 1);
	ASSERT_EQ(io_uring_wait_cqe(&self->ring, &cqe), 0);
	res = cqe->res;
	io_uring_cqe_seen(&self->ring, cqe);
	return res;
}

TEST_F(uring, put_moves_bytes)
{
	static const size_t sizes[] = { 0, 8, 8192, 8193, 1 << 20 };
	struct dmanic_sqe op;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(self->segment.data, sizes[i], i + 1);
		op = sqe_move(DMANIC_OP_WRITE, self->segment.id, 0, self->handle,
			      0, sizes[i]);
		ASSERT_EQ(run(self, &op), sizes[i]);
		ASSERT_EQ(memcmp(self->target.data, self->segment.data, sizes[i]), 0);
	}
}

static __u64 batch_nop(struct uring_self *self)
{
	__u64 begun = now_ns();
	struct io_uring_cqe *cqes[32];
	int i;

	for (i = 0; i < 32; i++)
		io_uring_prep_nop(get(&self->ring));
	ASSERT_EQ(io_uring_submit(&self->ring), 32);
	ASSERT_EQ(io_uring_peek_batch_cqe(&self->ring, cqes, 32), 32);
	io_uring_cq_advance(&self->ring, 32);
	return now_ns() - begun;
}

static __u64 batch_put(struct uring_self *self, int fixed, int opcode)
{
	struct dmanic_sqe op = sqe_move(opcode, self->segment.id, 0, self->handle, 0, 8);
	struct io_uring_sqe *sqe;
	__u64 begun = now_ns();
	struct io_uring_cqe *cqes[32];
	int i;

	if (opcode == DMANIC_OP_NOP)
		op = (struct dmanic_sqe) {};
	for (i = 0; i < 32; i++) {
		sqe = get(&self->ring);
		prep_post(sqe, fixed ? 0 : self->queue.fd, &op);
		if (fixed)
			sqe->flags |= IOSQE_FIXED_FILE;
	}
	ASSERT_EQ(io_uring_submit(&self->ring), 32);
	ASSERT_EQ(io_uring_peek_batch_cqe(&self->ring, cqes, 32), 32);
	io_uring_cq_advance(&self->ring, 32);
	return now_ns() - begun;
}

TEST_F(uring, bench)
{
	__u64 best[5] = { -1ULL, -1ULL, -1ULL, -1ULL, -1ULL }, t;
	int i, j;

	ASSERT_EQ(io_uring_register_files(&self->ring, &self->queue.fd, 1), 0);
	for (i = 0; i < 3000; i++) {
		for (j = 0; j < 5; j++) {
			if (j == 0) t = batch_nop(self);
			else if (j == 1) t = batch_put(self, 0, DMANIC_OP_WRITE);
			else if (j == 2) t = batch_put(self, 1, DMANIC_OP_WRITE);
			else if (j == 3) t = batch_put(self, 1, DMANIC_OP_NOP);
			else { t = now_ns(); for (int k = 0; k < 32; k++) getppid(); t = now_ns() - t; }
			if (t < best[j]) best[j] = t;
		}
	}
	fprintf(stderr, "# nop %llu put %llu put fixed %llu dnop %llu syscall %llu\n", best[0], best[1], best[2], best[3], best[4]);
}

FABRIC_TEST_MAIN()
