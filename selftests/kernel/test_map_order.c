// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_map_order.c - stores through a mapping, and the NOTIFY behind them
 *
 * Owns: who saw that an interrupt was raised sees all stores through a mapping
 * of a remote segment that were flushed before the NOTIFY was posted, whoever
 * carries it out: the poster, an engine, a polling thread, for an io_uring.
 *
 * Flags: -luring
 */
#include "poller.h"
#include "remote_map.h"
#include "uring_test.h"

#include <pthread.h>
#include <sched.h>

#define ROUNDS	1500U
#define WORDS	64U
#define STRIDE	(4096U + 64U)	/* each word in a page and cache line of its own */
#define BYTES	((__u64)WORDS * STRIDE)
#define BURST	4U		/* rounds before the reader has to have looked */

enum way { POSTER, ENGINE, THREAD, URING };

FIXTURE(map_order) {
	struct node node;
	struct node owner;
	struct segment target;
	struct irq irq;
	struct queue queue;
	struct io_uring ring;
	__u32 notify;
	__u8 *map;
	__u64 looks;		/* of the reader that found news; atomic */
	unsigned int rounds;
};

FIXTURE_VARIANT(map_order) {
	enum way way;
};

FIXTURE_VARIANT_ADD(map_order, poster) { .way = POSTER };
FIXTURE_VARIANT_ADD(map_order, engine) { .way = ENGINE };
FIXTURE_VARIANT_ADD(map_order, polling_thread) { .way = THREAD };
FIXTURE_VARIANT_ADD(map_order, uring) { .way = URING };

FIXTURE_SETUP(map_order)
{
	self->node = node_open(&fabric, 0);
	self->owner = node_open(&fabric, 1);
	self->target = segment_make(&self->owner, BYTES);
	segment_export(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->irq = irq_make(&self->owner, 64);
	self->notify = irq_connect(&self->node, &self->irq);
	self->map = remote_map(&self->node,
			       segment_connect_map(&self->node, &self->target,
						   NULL),
			       page_round(BYTES), MAP_RW);
	if (variant->way == THREAD)
		self->queue = poller_make(&self->node, 8, 8, 0);
	else
		self->queue = queue_make(&self->node, 8, 8);
	if (variant->way == URING)
		ring_make(&self->ring, 8, IORING_SETUP_SQE128);
	self->rounds = harness_load(ROUNDS);
}

FIXTURE_TEARDOWN(map_order)
{
}

static __u64 *word(__u8 *memory, unsigned int which)
{
	return (__u64 *)(memory + which * STRIDE);
}

/* The owner, at any news: no word is older than the interrupt */
static void *read_on(void *data)
{
	struct map_order_self *self = data;
	__u64 seen = 0, raised;
	unsigned int i;

	while (seen < self->rounds) {
		raised = irq_raised(&self->irq);
		if (raised == seen) {
			sched_yield();
			continue;
		}
		for (i = 0; i < WORDS; i++)
			ASSERT_GE(__atomic_load_n(word(self->target.data, i),
						  __ATOMIC_RELAXED), raised);
		seen = raised;
		self->looks++;
		irq_seen(&self->irq, seen);
	}
	return NULL;
}

static void post(struct map_order_self *self, enum way way, __u64 round)
{
	struct dmanic_sqe op = sqe_notify(self->notify, round);

	/* An engine does what is behind a FENCE */
	if (way == ENGINE)
		op.flags = DMANIC_SQE_FENCE;
	if (way == URING) {
		prep_post(&self->ring, &self->queue, &op);
		ring_submit(&self->ring, 1);
		return;
	}
	*queue_sqe(&self->queue) = op;
	if (way == THREAD)
		poller_publish(&self->queue);
	else
		ASSERT_EQ(queue_enter(&self->queue, 1, 0, 0), 0);
}

static void reap(struct map_order_self *self, enum way way)
{
	struct dmanic_cqe cqe;

	if (way == URING) {
		ASSERT_EQ(ring_reap(&self->ring, NULL, NULL), 0);
		return;
	}
	ASSERT_TRUE(WAIT_FOR(queue_reap(&self->queue, &cqe)));
	ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
}

static __u64 seen(const struct irq *irq)
{
	return __atomic_load_n(&irq->ring->seen, __ATOMIC_RELAXED);
}

/* The last word of a round is stored just before the flush */
TEST_F_TIMEOUT(map_order, notify_is_after_flushed_stores, 60)
{
	pthread_t reader;
	unsigned int i, j;

	ASSERT_EQ(pthread_create(&reader, NULL, read_on, self), 0);
	for (i = 1; i <= self->rounds && !harness_failed(); i++) {
		for (j = 0; j < WORDS; j++)
			__atomic_store_n(word(self->map, j), i,
					 __ATOMIC_RELAXED);
		/* The flush of this link */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		post(self, variant->way, i);
		reap(self, variant->way);
		/* Else it might sleep through all of them */
		while (i - seen(&self->irq) > BURST && !harness_failed())
			sched_yield();
	}
	ASSERT_EQ(pthread_join(reader, NULL), 0);
	EXPECT_EQ(irq_raised(&self->irq), self->rounds);
	EXPECT_GE(self->looks, self->rounds / (BURST + 1));
}

FABRIC_TEST_MAIN()
