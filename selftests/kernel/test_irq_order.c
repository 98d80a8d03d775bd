// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_irq_order.c - a notify is never seen before the data posted before it
 *
 * Owns: the order that a queue promises a peer, under load and with sizes that
 * take different ways through the driver (in line, by the engine, behind a
 * fence). The reader looks at the data the moment it sees the notify.
 */
#include "dmanic_test.h"

#include <pthread.h>

#define ROUNDS	4000U
#define SLOT	(64UL * 1024)
#define SLOTS	8U		/* how far the writer may be ahead */

enum kind { FLAG, APART, FENCED, MIXED };

FIXTURE(order) {
	struct node node;	/* reads */
	struct node peer;	/* writes */
	struct segment target;
	struct segment source;
	struct irq irq;
	struct queue queue;
	__u32 handle;
	__u32 notify;
	__u64 seen;		/* by the reader */
	unsigned int rounds;
};

FIXTURE_VARIANT(order) {
	enum kind kind;
};

FIXTURE_VARIANT_ADD(order, write_with_notify) { .kind = FLAG };
FIXTURE_VARIANT_ADD(order, notify_behind_write) { .kind = APART };
FIXTURE_VARIANT_ADD(order, notify_behind_fenced_write) { .kind = FENCED };
FIXTURE_VARIANT_ADD(order, mixed) { .kind = MIXED };

FIXTURE_SETUP(order)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->target = segment_make(&self->node, SLOTS * SLOT);
	self->source = segment_make(&self->peer, SLOTS * SLOT);
	segment_export(&self->target, DMANIC_RIGHT_WRITE);
	self->irq = irq_make(&self->node, 64);
	self->queue = queue_make(&self->peer, 4 * SLOTS, 4 * SLOTS);
	self->handle = segment_connect(&self->peer, &self->target);
	self->notify = irq_connect(&self->peer, &self->irq);
	self->rounds = harness_load(ROUNDS);
}

FIXTURE_TEARDOWN(order)
{
}

/* Both sides know how long message @number is. */
static size_t length_of(__u64 number)
{
	static const size_t lengths[] = {
		8, 64, 4096, 16, 12000, 8, 200, SLOT, 8, 9000, 24, 8192,
	};

	return lengths[number % ARRAY_SIZE(lengths)];
}

/* The number at every place a late byte could be found at */
static void stamp(__u8 *data, __u64 number)
{
	size_t length = length_of(number), at;

	for (at = 0; at + 8 <= length; at += 512)
		memcpy(data + at, &number, 8);
	memcpy(data + length - 8, &number, 8);
}

static bool stamped(const __u8 *data, __u64 number)
{
	size_t length = length_of(number), at;
	__u64 found;

	for (at = 0; at + 8 <= length; at += 512) {
		memcpy(&found, data + at, 8);
		if (found != number)
			return false;
	}
	memcpy(&found, data + length - 8, 8);
	return found == number;
}

static void *read_all(void *data)
{
	struct order_self *self = data;
	unsigned int wrong = 0;
	__u64 number, raised;

	for (number = 0; number < self->rounds; number++) {
		/* Half of the time asleep, half of the time looking */
		while (irq_raised(&self->irq) <= number)
			if (number & 1)
				ASSERT_EQ(irq_wait(&self->irq, number + 1,
						   slow_ns(20000), &raised), 0);
		if (!stamped(self->target.data + number % SLOTS * SLOT,
			     number) && wrong++ < 5)
			harness_fail(__FILE__, __LINE__,
				     "message %llu: notified before its data",
				     (unsigned long long)number);
		EXPECT_EQ(self->irq.ring->event[number & 63].payload, number);
		__atomic_store_n(&self->seen, number + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void post_message(struct order_self *self, enum kind kind,
			 __u64 number)
{
	__u64 at = number % SLOTS * SLOT;
	struct dmanic_sqe *sqe = queue_sqe(&self->queue);

	if (kind == MIXED)
		kind = number * 7 % 5 % 3;
	*sqe = sqe_move(DMANIC_OP_WRITE, self->source.id, at, self->handle, at,
			length_of(number));
	sqe->cookie = number;
	if (kind == FLAG) {
		sqe->flags = DMANIC_SQE_NOTIFY;
		sqe->notify = self->notify;
		sqe->payload = number;
		return;
	}
	sqe->flags = DMANIC_SQE_SILENT;
	if (kind == FENCED)
		sqe->flags |= DMANIC_SQE_FENCE;
	sqe = queue_sqe(&self->queue);
	*sqe = sqe_notify(self->notify, number);
	sqe->cookie = number;
}

static __u64 reap_ok(struct order_self *self)
{
	struct dmanic_cqe cqe;
	__u64 count;

	for (count = 0; queue_reap(&self->queue, &cqe); count++)
		ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
	return count;
}

TEST_F_TIMEOUT(order, notify_is_never_before_its_data, 90)
{
	__u64 number, done = 0;
	pthread_t reader;

	ASSERT_EQ(pthread_create(&reader, NULL, read_all, self), 0);
	for (number = 0; number < self->rounds; number++) {
		/* A slot may be written again when it was sent and read. */
		ASSERT_TRUE(WAIT_FOR((done += reap_ok(self),
				      done + SLOTS > number &&
				      __atomic_load_n(&self->seen,
						      __ATOMIC_ACQUIRE) +
				      SLOTS > number)));
		stamp(self->source.data + number % SLOTS * SLOT, number);
		post_message(self, variant->kind, number);
		queue_submit(&self->queue);
	}
	EXPECT_TRUE(WAIT_FOR((done += reap_ok(self), done == self->rounds)));
	ASSERT_EQ(pthread_join(reader, NULL), 0);
}

/*
 * A large write, a fenced one behind it, then, at every moment up to the end of
 * the large one, a third to the same place as the second: it must win.
 */
TEST_TIMEOUT(order, nothing_overtakes_a_fenced_write, 60)
{
	unsigned int round, rounds = harness_load(3000);
	struct node node = node_open(&fabric, 0);
	struct node peer = node_open(&fabric, 1);
	struct segment target = segment_make(&node, 2 * SLOT);
	struct segment source = segment_make(&peer, 2 * SLOT);
	struct queue queue = queue_make(&peer, 4, 4);
	__u64 state = 3, until, found, wrong = 0;
	__u64 *value = (__u64 *)(source.data + SLOT);
	struct dmanic_sqe *sqe;
	__u32 handle;

	segment_export(&target, DMANIC_RIGHT_WRITE);
	handle = segment_connect(&peer, &target);
	for (round = 1; round <= rounds; round++) {
		value[0] = round;
		value[1] = -round;
		*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, source.id, 0,
					      handle, 0, SLOT);
		sqe = queue_sqe(&queue);
		*sqe = sqe_move(DMANIC_OP_WRITE, source.id, SLOT, handle, SLOT,
				8);
		sqe->flags = DMANIC_SQE_FENCE;
		queue_submit(&queue);
		until = now_ns() + random_next(&state) % 100000;
		while (now_ns() < until)
			;
		*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, source.id,
					      SLOT + 8, handle, SLOT, 8);
		queue_submit(&queue);
		queue_wait(&queue);
		queue_wait(&queue);
		queue_wait(&queue);
		memcpy(&found, target.data + SLOT, sizeof(found));
		wrong += found != value[1];
	}
	EXPECT_EQ(wrong, 0);
}

FABRIC_TEST_MAIN()
