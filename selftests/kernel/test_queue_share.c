// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_queue_share.c - queues and users of one node share its engine, or its wire
 *
 * Owns: who posts much does not hold up who posts little; what is interrupted
 * for others is moved whole, and can be given up in between.
 */
#include "sharing.h"

FIXTURE(share) {
	struct sharing sharing;
};

FIXTURE_SETUP(share)
{
	self->sharing = sharing_make();
}

FIXTURE_TEARDOWN(share)
{
}

/* A strided operation of all of BIG that takes long: @block is small */
static struct dmanic_sqe sqe_strided(const struct sharing *sharing, __u8 opcode,
				     __u32 block, __u64 stride)
{
	struct dmanic_sqe sqe = sqe_move(opcode, sharing->local.id, 0,
					 sharing->handle, 0, 0);

	sqe.block = block;
	sqe.count = BIG / stride;
	sqe.local_stride = stride;
	sqe.remote_stride = stride;
	return sqe;
}

TEST_F_TIMEOUT(share, many_big_ones_do_not_hold_up_a_small_one, 60)
{
	struct sharing *sharing = &self->sharing;
	enum { MANY = 24 };
	unsigned int i;

	for (i = 0; i < MANY; i++)
		*queue_sqe(&sharing->queue) = sqe_move(DMANIC_OP_WRITE,
			sharing->local.id, 0, sharing->handle, 0, BIG);
	queue_submit(&sharing->queue);
	sharing_put(sharing);
	EXPECT_LT(sharing_completed(&sharing->queue), MANY / 2);
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(queue_wait(&sharing->queue).status, DMANIC_STATUS_OK);
}

/* However many they are: not even one of another user, who comes last */
TEST_F_TIMEOUT(share, many_queues_do_not_hold_up_another_user, 60)
{
	struct sharing *sharing = &self->sharing;
	enum { QUEUES = 40, MANY = 32, PUTS = 20, USER = 100000 };
	struct queue queues[QUEUES];
	unsigned int i, k, done = 0;

	node_allow(&fabric, 0);
	for (i = 0; i < QUEUES; i++) {
		queues[i] = queue_make(&sharing->node, MANY, MANY);
		for (k = 0; k < MANY; k++)
			*queue_sqe(&queues[i]) = sqe_move(DMANIC_OP_WRITE,
				sharing->local.id, 0, sharing->handle, 0, BIG);
		queue_submit(&queues[i]);
	}
	user_become(USER);
	sharing_come(sharing);
	for (i = 0; i < PUTS; i++)
		sharing_put(sharing);
	user_become(0);
	for (i = 0; i < QUEUES; i++)
		done += sharing_completed(&queues[i]);
	EXPECT_LT(done, QUEUES * MANY / 8);
	for (i = 0; i < QUEUES; i++)
		queue_close(&queues[i]);
}

TEST_F_TIMEOUT(share, a_long_one_does_not_hold_up_a_small_one, 60)
{
	struct sharing *sharing = &self->sharing;
	struct dmanic_cqe cqe;

	*queue_sqe(&sharing->queue) = sqe_strided(sharing,
						  DMANIC_OP_WRITE_STRIDED, 4, 4);
	queue_submit(&sharing->queue);
	sharing_put(sharing);
	EXPECT_EQ(sharing_completed(&sharing->queue), 0);
	cqe = queue_wait(&sharing->queue);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, BIG);
}

static void interrupted(struct sharing *sharing, __u8 opcode, __u32 block,
			__u64 stride)
{
	struct dmanic_sqe sqe = sqe_strided(sharing, opcode, block, stride);
	bool write = opcode == DMANIC_OP_WRITE_STRIDED;
	__u8 *from = write ? sharing->local.data : sharing->remote.data;
	__u8 *to = write ? sharing->remote.data : sharing->local.data;
	struct dmanic_cqe cqe;
	__u64 i, at;

	fill(from, BIG, block);
	memset(to, 0xee, BIG);
	cqe = queue_run(&sharing->queue, &sqe);
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
	struct sharing *sharing = &self->sharing;
	/* Around what the engine copies at a stretch, and far from it */
	static const __u32 blocks[] = {
		60, 4093, 262143, 262144, 262145, 786433, BIG - 1,
	};
	unsigned int i;

	sharing_begin(sharing);
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		interrupted(sharing, DMANIC_OP_WRITE_STRIDED, blocks[i],
			    blocks[i] + 1);
		interrupted(sharing, DMANIC_OP_READ_STRIDED, blocks[i],
			    blocks[i] + 1);
	}
	sharing_end(sharing);
}

TEST_F_TIMEOUT(share, what_is_interrupted_can_be_given_up, 60)
{
	struct sharing *sharing = &self->sharing;
	unsigned int i, n;

	sharing_begin(sharing);
	for (n = 0; n < 10; n++) {
		for (i = 0; i < 8; i++)
			*queue_sqe(&sharing->queue) = sqe_strided(sharing,
				DMANIC_OP_WRITE_STRIDED, 4, 4);
		queue_submit(&sharing->queue);
		breathe();
		queue_close(&sharing->queue);
		sharing->queue = queue_make(&sharing->node, 64, 64);
	}
	sharing_end(sharing);
}

FABRIC_TEST_MAIN()
