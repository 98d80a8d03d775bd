// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_queue_share.c - queues of one node share its engine
 *
 * Owns: who posts much does not hold up who posts little; what is interrupted
 * for others is moved whole, and can be given up in between.
 */
#include "dmanic_test.h"

#include <pthread.h>

#define MIB	(1UL << 20)
#define BIG	(16 * MIB)
/* Above what the poster does itself */
#define SMALL	16384UL

FIXTURE(share) {
	struct node node;
	struct node other;	/* the same device, another context */
	struct node peer;
	struct segment local;
	struct segment remote;
	struct queue queue;
	__u32 handle;
	struct segment small;
	struct queue small_queue;
	__u32 small_handle;
	bool stop;
};

FIXTURE_SETUP(share)
{
	self->node = node_open(&fabric, 0);
	self->other = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, BIG);
	self->remote = segment_make(&self->peer, BIG + SMALL);
	segment_export(&self->remote, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->remote);
	self->queue = queue_make(&self->node, 64, 64);
	self->small = segment_make(&self->other, SMALL);
	self->small_handle = segment_connect(&self->other, &self->remote);
	self->small_queue = queue_make(&self->other, 2, 2);
}

FIXTURE_TEARDOWN(share)
{
}

static void put_small(struct share_self *self)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->small.id, 0,
					 self->small_handle, BIG, SMALL);

	ASSERT_EQ(queue_run(&self->small_queue, &sqe).status, DMANIC_STATUS_OK);
}

static unsigned int completed(const struct queue *queue)
{
	return load32(&queue->ring->cq_tail) - queue->head;
}

/* A strided operation of all of BIG that takes long: @block is small */
static struct dmanic_sqe sqe_strided(struct share_self *self, __u8 opcode,
				     __u32 block, __u64 stride)
{
	struct dmanic_sqe sqe = sqe_move(opcode, self->local.id, 0,
					 self->handle, 0, 0);

	sqe.block = block;
	sqe.count = BIG / stride;
	sqe.local_stride = stride;
	sqe.remote_stride = stride;
	return sqe;
}

TEST_F_TIMEOUT(share, many_big_ones_do_not_hold_up_a_small_one, 60)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_WRITE,
			self->local.id, 0, self->handle, 0, BIG);
	queue_submit(&self->queue);
	put_small(self);
	EXPECT_LT(completed(&self->queue), 32);
	for (i = 0; i < 64; i++)
		ASSERT_EQ(queue_wait(&self->queue).status, DMANIC_STATUS_OK);
}

TEST_F_TIMEOUT(share, a_long_one_does_not_hold_up_a_small_one, 60)
{
	struct dmanic_cqe cqe;

	*queue_sqe(&self->queue) = sqe_strided(self, DMANIC_OP_WRITE_STRIDED,
					       4, 4);
	queue_submit(&self->queue);
	put_small(self);
	EXPECT_EQ(completed(&self->queue), 0);
	cqe = queue_wait(&self->queue);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, BIG);
}

static void *keep_putting(void *data)
{
	struct share_self *self = data;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED))
		put_small(self);
	return NULL;
}

static void interrupted(struct share_self *self, __u8 opcode, __u32 block,
			__u64 stride)
{
	struct dmanic_sqe sqe = sqe_strided(self, opcode, block, stride);
	bool write = opcode == DMANIC_OP_WRITE_STRIDED;
	__u8 *from = write ? self->local.data : self->remote.data;
	__u8 *to = write ? self->remote.data : self->local.data;
	struct dmanic_cqe cqe;
	__u64 i, at;

	fill(from, BIG, block);
	memset(to, 0xee, BIG);
	cqe = queue_run(&self->queue, &sqe);
	ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
	ASSERT_EQ(cqe.result, (__u64)block * sqe.count);
	for (i = 0; i < sqe.count; i++) {
		ASSERT_EQ(memcmp(to + i * stride, from + i * stride, block), 0);
		for (at = i * stride + block; at < (i + 1) * stride; at++)
			ASSERT_EQ(to[at], 0xee);
	}
}

TEST_F_TIMEOUT(share, what_is_interrupted_is_moved_exactly, 60)
{
	/* Around what the engine copies at a stretch, and far from it */
	static const __u32 blocks[] = {
		60, 4093, 262143, 262144, 262145, 786433, BIG - 1,
	};
	pthread_t thread;
	unsigned int i;

	self->stop = false;
	ASSERT_EQ(pthread_create(&thread, NULL, keep_putting, self), 0);
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		interrupted(self, DMANIC_OP_WRITE_STRIDED, blocks[i],
			    blocks[i] + 1);
		interrupted(self, DMANIC_OP_READ_STRIDED, blocks[i],
			    blocks[i] + 1);
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

TEST_F_TIMEOUT(share, what_is_interrupted_can_be_given_up, 60)
{
	pthread_t thread;
	unsigned int i, n;

	self->stop = false;
	ASSERT_EQ(pthread_create(&thread, NULL, keep_putting, self), 0);
	for (n = 0; n < 10; n++) {
		for (i = 0; i < 8; i++)
			*queue_sqe(&self->queue) = sqe_strided(self,
				DMANIC_OP_WRITE_STRIDED, 4, 4);
		queue_submit(&self->queue);
		breathe();
		queue_close(&self->queue);
		self->queue = queue_make(&self->node, 64, 64);
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

FABRIC_TEST_MAIN()
