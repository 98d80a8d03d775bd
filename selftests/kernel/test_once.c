// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_once.c - a million operations: each is done once, and in its place
 *
 * Owns: that nothing is lost, doubled or passed by what was posted later, however
 * bad the way is (DMANIC_FAULT, see fabric.c). Every group of operations writes
 * a block and notifies, counts at the other node, reads the block back and
 * notifies again. A count tells which number it was, a word of a block which group
 * wrote it and which word it is, a notify which group it is of.
 */
#include "dmanic_test.h"

#include <pthread.h>

#define OPERATIONS	1000000U
#define PER_GROUP	4U
#define GROUPS		64U		/* under way at a time */
#define BLOCK		2048UL
#define NOTIFIES	2U		/* of a group */
#define DEPTH		1024U

enum what { WRITE, COUNT, READ, NOTIFY };

FIXTURE(once) {
	struct node node;	/* target */
	struct node peer;	/* posts */
	struct segment target;
	struct segment written;
	struct segment read;
	struct irq irq;
	struct queue queue;
	__u32 handle;
	__u32 notify;
	__u64 groups;
	__u64 posted;		/* groups */
	__u64 done;		/* operations */
	unsigned int left[GROUPS]; /* operations under way, by block */
	__u64 seen;		/* notifies, by the reader */
};

FIXTURE_SETUP(once)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	/* The count is behind the blocks */
	self->target = segment_make(&self->node, (GROUPS + 1) * BLOCK);
	segment_export(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE |
		       DMANIC_RIGHT_ATOMIC);
	self->written = segment_make(&self->peer, GROUPS * BLOCK);
	self->read = segment_make(&self->peer, GROUPS * BLOCK);
	self->irq = irq_make(&self->node, DEPTH);
	self->queue = queue_make(&self->peer, PER_GROUP * GROUPS,
				 PER_GROUP * GROUPS);
	self->handle = segment_connect(&self->peer, &self->target);
	self->notify = irq_connect(&self->peer, &self->irq);
	self->groups = harness_load(OPERATIONS) / PER_GROUP;
}

FIXTURE_TEARDOWN(once)
{
}

/* 8 to BLOCK bytes, in words */
static size_t length_of(__u64 group)
{
	return 8 * (1 + group * 2654435761U % (BLOCK / 8));
}

/* No other has it, whenever and wherever it is written */
static __u64 word_of(__u64 group, size_t i)
{
	return group * (BLOCK / 8) + i + 1;
}

/* A block after @group: the first word that is not as the groups left it, one after the other */
static size_t block_differs(const __u64 *block, __u64 group)
{
	size_t i;

	for (i = 0; i < BLOCK / 8; i++) {
		/* Behind its end are words of the one before that was longer */
		while (length_of(group) / 8 <= i && group >= GROUPS)
			group -= GROUPS;
		if (block[i] != (length_of(group) / 8 > i ? word_of(group, i) : 0))
			return i;
	}
	return i;
}

static void *read_notifies(void *data)
{
	struct once_self *self = data;
	__u64 raised, k, end = NOTIFIES * self->groups;

	for (k = 0; k < end; k++) {
		while (irq_raised(&self->irq) <= k)
			ASSERT_EQ(irq_wait(&self->irq, k + 1, slow_ns(30000),
					   &raised), 0);
		ASSERT_EQ(self->irq.ring->event[k % DEPTH].payload, k / NOTIFIES);
		__atomic_store_n(&self->seen, k + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void post(struct once_self *self, enum what what, __u64 group)
{
	struct dmanic_sqe *sqe = queue_sqe(&self->queue);
	__u64 at = group % GROUPS * BLOCK;

	switch (what) {
	case WRITE:
		*sqe = sqe_move(DMANIC_OP_WRITE, self->written.id, at,
				self->handle, at, length_of(group));
		sqe->flags = DMANIC_SQE_NOTIFY;
		sqe->notify = self->notify;
		sqe->payload = group;
		break;
	case COUNT:
		*sqe = sqe_atomic(DMANIC_OP_FETCH_ADD, self->handle,
				  GROUPS * BLOCK, 1, 0);
		break;
	case READ:
		*sqe = sqe_move(DMANIC_OP_READ, self->read.id, at, self->handle,
				at, length_of(group));
		break;
	case NOTIFY:
		*sqe = sqe_notify(self->notify, group);
		break;
	}
	sqe->cookie = group * PER_GROUP + what;
}

static void post_group(struct once_self *self, __u64 group)
{
	__u64 *block = (__u64 *)(self->written.data + group % GROUPS * BLOCK);
	size_t i;

	for (i = 0; i < length_of(group) / 8; i++)
		block[i] = word_of(group, i);
	for (i = 0; i < PER_GROUP; i++)
		post(self, i, group);
	self->left[group % GROUPS] = PER_GROUP;
}

static void check_block(struct once_self *self, __u64 group)
{
	const __u64 *block = (const __u64 *)(self->read.data + group % GROUPS * BLOCK);
	size_t i;

	for (i = 0; i < length_of(group) / 8; i++)
		ASSERT_EQ(block[i], word_of(group, i));
}

static void check(struct once_self *self, const struct dmanic_cqe *cqe)
{
	__u64 group = cqe->cookie / PER_GROUP;

	ASSERT_EQ(cqe->status, DMANIC_STATUS_OK);
	ASSERT_EQ(group < self->posted && group + GROUPS >= self->posted, true);
	ASSERT_EQ(self->left[group % GROUPS] > 0, true);
	if (cqe->cookie % PER_GROUP == COUNT)
		ASSERT_EQ(cqe->result, group);
	if (cqe->cookie % PER_GROUP == READ)
		check_block(self, group);
	self->left[group % GROUPS]--;
	self->done++;
}

/* No more than the reader can keep up with, and never a block that is in use */
static bool may_post(struct once_self *self)
{
	__u64 seen = __atomic_load_n(&self->seen, __ATOMIC_ACQUIRE);

	return self->posted < self->groups && !self->left[self->posted % GROUPS] &&
	       seen + DEPTH >= NOTIFIES * (self->posted + 1);
}

TEST_F_TIMEOUT(once, a_million_operations_are_done_once_and_in_order, 1800)
{
	struct dmanic_cqe cqe;
	pthread_t reader;
	__u64 group;

	ASSERT_EQ(pthread_create(&reader, NULL, read_notifies, self), 0);
	while (self->done < PER_GROUP * self->groups) {
		while (may_post(self))
			post_group(self, self->posted++);
		if (self->done == PER_GROUP * self->posted) {
			breathe();	/* until the reader has seen more */
			continue;
		}
		ASSERT_EQ(queue_enter(&self->queue, PER_GROUP * GROUPS, 1,
				      slow_ns(30000)), 0);
		while (queue_reap(&self->queue, &cqe))
			check(self, &cqe);
	}
	ASSERT_EQ(pthread_join(reader, NULL), 0);
	EXPECT_EQ(*(__u64 *)(self->target.data + GROUPS * BLOCK), self->groups);
	EXPECT_EQ(irq_raised(&self->irq), NOTIFIES * self->groups);
	/* Nothing was written where it does not belong, nor by what came late */
	group = self->groups > GROUPS ? self->groups - GROUPS : 0;
	for (; group < self->groups; group++)
		EXPECT_EQ(block_differs((__u64 *)(self->target.data +
						  group % GROUPS * BLOCK), group),
			  BLOCK / 8);
}

FABRIC_TEST_MAIN()
