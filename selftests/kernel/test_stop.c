// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_stop.c - queues and interrupts that are stopped while somebody else has the file
 *
 * Owns: QUEUE_STOP and IRQ_STOP: what was under way, who waits, what comes afterwards; and
 * how it is told that entries left for want of room can be taken. Others have the file by
 * dup(), as a forked child or a command of an io_uring has it.
 */
#include "poller.h"
#include "uring_test.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

FIXTURE(stop) {
	struct apart pair;
	struct queue queue;
	int eventfd;
	int other;		/* keeps the file */
};

FIXTURE_SETUP(stop)
{
	/* What is posted is not done for an hour */
	self->pair = apart_make(HOUR_NS, 4096);
	self->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ASSERT_GE(self->eventfd, 0);
	self->queue = queue_make_eventfd(&self->pair.node, 8, 8, self->eventfd);
	self->other = dup(self->queue.fd);
	ASSERT_GE(self->other, 0);
}

FIXTURE_TEARDOWN(stop)
{
}

static struct dmanic_sqe put(const struct stop_self *self)
{
	return sqe_move(DMANIC_OP_WRITE, self->pair.local.id, 0, self->pair.handle, 0, 8);
}

static void post(struct stop_self *self, unsigned int count, __u8 flags)
{
	while (count--) {
		struct dmanic_sqe sqe = put(self);

		sqe.flags = flags;
		*queue_sqe(&self->queue) = sqe;
	}
	queue_publish(&self->queue);
}

static short poll_now(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	poll(&poll_fd, 1, 0);
	return poll_fd.revents;
}

static __u64 signals(const struct stop_self *self)
{
	__u64 count = 0;

	return read(self->eventfd, &count, sizeof(count)) < 0 ? 0 : count;
}

TEST_F(stop, what_is_under_way_is_cancelled)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	post(self, 3, 0);
	post(self, 1, DMANIC_SQE_FENCE);
	ASSERT_EQ(queue_enter(&self->queue, 4, 0, 0), 0);
	ASSERT_EQ(self->queue.submitted, 4);
	/* Not submitted, and so no operation */
	post(self, 1, 0);
	ASSERT_EQ(stop_call(self->queue.fd, DMANIC_IOC_QUEUE_STOP), 0);
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(queue_reap(&self->queue, &cqe));
		EXPECT_EQ(cqe.status, DMANIC_STATUS_CANCELLED);
	}
	EXPECT_TRUE(!queue_reap(&self->queue, &cqe));
	/* Nothing is, and nothing will be */
	EXPECT_EQ(segment_destroy(&self->pair.local), 0);
	EXPECT_EQ(queue_enter(&self->queue, 1, 0, 0), -ESHUTDOWN);
	EXPECT_EQ(queue_enter(&self->queue, 0, 1, HOUR_NS), -ESHUTDOWN);
	EXPECT_EQ(self->queue.submitted, 0);
	EXPECT_TRUE(queue_flags(&self->queue) & DMANIC_RING_DEAD);
	EXPECT_EQ(poll_now(self->other) & (POLLERR | POLLHUP), POLLERR | POLLHUP);
	EXPECT_EQ(signals(self) > 0, 1);
	EXPECT_EQ(stop_call(self->other, DMANIC_IOC_QUEUE_STOP), 0);
	queue_close(&self->queue);
	close(self->other);
}

struct waiter {
	int fd;
	int ret;
};

static void *wait_for_queue(void *data)
{
	struct dmanic_enter enter = {
		.size = sizeof(enter), .min_complete = 1, .timeout_ns = DMANIC_TIMEOUT_NEVER,
	};
	struct waiter *waiter = data;

	waiter->ret = dmanic_call(waiter->fd, DMANIC_IOC_ENTER, &enter);
	return NULL;
}

TEST_F(stop, who_waits_for_the_queue_is_told)
{
	struct waiter waiter = { .fd = self->other };
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, wait_for_queue, &waiter), 0);
	usleep(50000);
	ASSERT_EQ(stop_call(self->queue.fd, DMANIC_IOC_QUEUE_STOP), 0);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(waiter.ret, -ESHUTDOWN);
}

/* Commands hold the file themselves: close() would wait for them, and they for nobody */
TEST_F(stop, commands_of_an_io_uring_end)
{
	const struct dmanic_sqe op = put(self);
	struct io_uring ring;

	if (!ring_cancels(&self->pair.node))
		SKIP("posts that may take long are refused on this kernel");
	ring_make(&ring, 8, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	prep_post(&ring, &self->queue, &op)->user_data = 1;
	prep_wait(&ring, &self->queue, 1, DMANIC_TIMEOUT_NEVER)->user_data = 2;
	ring_submit(&ring, 2);
	ASSERT_EQ(stop_call(self->queue.fd, DMANIC_IOC_QUEUE_STOP), 0);
	for (unsigned int i = 0; i < 2; i++) {
		__u64 data;
		int res = ring_reap(&ring, &data, NULL);

		EXPECT_EQ(res, data == 1 ? -ECANCELED : -ESHUTDOWN);
	}
	prep_wait(&ring, &self->queue, 1, DMANIC_TIMEOUT_NEVER);
	ring_submit(&ring, 1);
	EXPECT_EQ(ring_reap(&ring, NULL, NULL), -ESHUTDOWN);
	io_uring_queue_exit(&ring);
}

TEST_F(stop, later_commands_of_an_io_uring_are_refused)
{
	const struct dmanic_sqe op = put(self);
	struct io_uring ring;

	/* Else it is refused by kernels that cannot cancel */
	fabric_late(&self->pair.own, 0);
	ring_make(&ring, 8, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	prep_post(&ring, &self->queue, &op);
	ring_submit(&ring, 1);
	EXPECT_EQ(ring_reap(&ring, NULL, NULL), 8);
	ASSERT_EQ(stop_call(self->queue.fd, DMANIC_IOC_QUEUE_STOP), 0);
	prep_post(&ring, &self->queue, &op);
	prep_enter(&ring, &self->queue, 1);
	prep_enter(&ring, &self->queue, 0);
	ring_submit(&ring, 3);
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(ring_reap(&ring, NULL, NULL), -ESHUTDOWN);
	io_uring_queue_exit(&ring);
}

TEST_F(stop, io_uring_does_not_wait_for_a_stopped_interrupt)
{
	struct irq irq = irq_make(&self->pair.peer, 4);
	struct io_uring ring;

	if (!ring_cancels(&self->pair.node))
		SKIP("no waits by io_uring on this kernel");
	ring_make(&ring, 8, 0);
	prep_irq_wait(&ring, &irq, 1, DMANIC_TIMEOUT_NEVER);
	ring_submit(&ring, 1);
	ASSERT_EQ(stop_call(irq.fd, DMANIC_IOC_IRQ_STOP), 0);
	EXPECT_EQ(ring_reap(&ring, NULL, NULL), -ESHUTDOWN);
	prep_irq_wait(&ring, &irq, 1, DMANIC_TIMEOUT_NEVER);
	ring_submit(&ring, 1);
	EXPECT_EQ(ring_reap(&ring, NULL, NULL), -ESHUTDOWN);
	io_uring_queue_exit(&ring);
	irq_close(&irq);
}

/* Another queue for the next round */
static void renew(struct stop_self *self)
{
	queue_close(&self->queue);
	close(self->other);
	self->queue = queue_make(&self->pair.node, 8, 8);
	self->other = dup(self->queue.fd);
}

/* Many who submit, and one who stops: all ends, and nothing is taken afterwards */
struct crowd {
	struct stop_self *self;
	bool over;
};

static void *submit_for_ever(void *data)
{
	struct dmanic_enter enter = { .size = sizeof(enter) };
	struct crowd *crowd = data;
	int ret;

	do {
		enter.to_submit = 8;
		ret = dmanic_call(crowd->self->other, DMANIC_IOC_ENTER, &enter);
	} while (!ret);
	EXPECT_EQ(ret, -ESHUTDOWN);
	return NULL;
}

TEST_F(stop, while_others_submit)
{
	struct crowd crowd = { .self = self };
	unsigned int i, round, rounds = harness_load(50);
	pthread_t thread[3];
	__u32 head;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < ARRAY_SIZE(thread); i++)
			ASSERT_EQ(pthread_create(&thread[i], NULL, submit_for_ever, &crowd), 0);
		post(self, 8, 0);
		usleep(random() % 500);
		ASSERT_EQ(stop_call(self->queue.fd, DMANIC_IOC_QUEUE_STOP), 0);
		head = load32(&self->queue.ring->sq_head);
		for (i = 0; i < ARRAY_SIZE(thread); i++)
			ASSERT_EQ(pthread_join(thread[i], NULL), 0);
		EXPECT_EQ(load32(&self->queue.ring->sq_head), head);
		EXPECT_EQ(load32(&self->queue.ring->cq_tail), head);
		renew(self);
	}
}

TEST_F(stop, ends_the_polling_thread)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 0);
	int other = dup(queue.fd);

	ASSERT_GE(other, 0);
	*queue_sqe(&queue) = put(self);
	queue_publish(&queue);
	ASSERT_TRUE(WAIT_FOR(load32(&queue.ring->sq_head) == 1 ||
			     (queue_flags(&queue) & DMANIC_RING_NEED_WAKEUP)));
	ASSERT_EQ(stop_call(queue.fd, DMANIC_IOC_QUEUE_STOP), 0);
	EXPECT_EQ(load32(&queue.ring->cq_tail), load32(&queue.ring->sq_head));
	EXPECT_TRUE(WAIT_FOR(poller_count(NULL) == 0));
	*queue_sqe(&queue) = put(self);
	queue_publish(&queue);
	EXPECT_EQ(queue_enter(&queue, 1, 0, 0), -ESHUTDOWN);
	EXPECT_EQ(load32(&queue.ring->cq_tail), load32(&queue.ring->sq_head));
	queue_close(&queue);
	close(other);
}

static void *wait_for_irq(void *data)
{
	struct dmanic_irq_wait wait = {
		.size = sizeof(wait), .target = 1, .timeout_ns = DMANIC_TIMEOUT_NEVER,
	};
	struct waiter *waiter = data;

	waiter->ret = dmanic_call(waiter->fd, DMANIC_IOC_IRQ_WAIT, &wait);
	return NULL;
}

TEST_F(stop, interrupt_is_found_no_more)
{
	const __u64 secret[2] = { 1, 2 };
	struct irq irq = irq_make_with(&self->pair.peer, 4, 0, self->eventfd, "again", secret);
	struct waiter waiter = { .fd = dup(irq.fd) };
	const __u32 flags = DMANIC_CONNECT_IRQ | DMANIC_CONNECT_BY_NAME;
	struct dmanic_sqe notify;
	pthread_t thread;
	struct irq next;
	__u32 handle;

	fabric_late(&self->pair.own, 0);
	ASSERT_EQ(pthread_create(&thread, NULL, wait_for_irq, &waiter), 0);
	usleep(50000);
	ASSERT_EQ(connect_name(&self->pair.node, flags, irq.node, "again", secret, 0,
			       &handle), 0);
	ASSERT_EQ(stop_call(irq.fd, DMANIC_IOC_IRQ_STOP), 0);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(waiter.ret, -ESHUTDOWN);
	EXPECT_EQ(irq_wait(&irq, 1, HOUR_NS, NULL), -ESHUTDOWN);
	EXPECT_EQ(poll_now(waiter.fd) & (POLLERR | POLLHUP), POLLERR | POLLHUP);
	EXPECT_EQ(load32(&irq.ring->flags), DMANIC_RING_DEAD);
	EXPECT_EQ(signals(self) > 0, 1);
	/* Neither who had found it before, nor by name, nor by id */
	notify = sqe_notify(handle, 1);
	EXPECT_EQ(queue_run(&self->queue, &notify).status, DMANIC_STATUS_NO_SEGMENT);
	EXPECT_EQ(irq_raised(&irq), 0);
	EXPECT_EQ(connect_name(&self->pair.node, flags, irq.node, "again", secret, 0,
			       &handle), -ENOENT);
	EXPECT_EQ(connect_call(&self->pair.node, DMANIC_CONNECT_IRQ, irq.node, irq.id, irq.key,
			       &handle), -ENOENT);
	EXPECT_EQ(stop_call(waiter.fd, DMANIC_IOC_IRQ_STOP), 0);
	/* The name is free, though the file is not closed */
	next = irq_make_with(&self->pair.peer, 4, 0, -1, "again", secret);
	EXPECT_NE(next.id, irq.id);
	irq_close(&irq);
	EXPECT_EQ(connect_name(&self->pair.node, flags, next.node, "again", secret, 0,
			       &handle), 0);
	close(waiter.fd);
	EXPECT_EQ(connect_name(&self->pair.node, flags, next.node, "again", secret, 0,
			       &handle), 0);
	irq_close(&next);
}

/* Two who stop the same, while it is used: who returns finds it stopped, be he the second */
struct stopper {
	const struct stop_self *self;
	const struct irq *irq;
	int connected;
	__u32 taken, ended;
};

static void *stop_both(void *data)
{
	struct stopper *stopper = data;
	const struct stop_self *self = stopper->self;
	const struct irq *irq = stopper->irq;
	__u32 handle;

	EXPECT_EQ(stop_call(irq->fd, DMANIC_IOC_IRQ_STOP), 0);
	stopper->connected = connect_call(&self->pair.node, DMANIC_CONNECT_IRQ, irq->node,
					  irq->id, irq->key, &handle);
	EXPECT_EQ(stop_call(self->other, DMANIC_IOC_QUEUE_STOP), 0);
	stopper->taken = load32(&self->queue.ring->sq_head);
	stopper->ended = load32(&self->queue.ring->cq_tail);
	return NULL;
}

TEST_F_TIMEOUT(stop, two_at_once, 60)
{
	unsigned int i, round, rounds = harness_load(100);
	struct dmanic_sqe notify;
	struct stopper stopper[2];
	pthread_t thread[2];

	fabric_late(&self->pair.own, 0);
	for (round = 0; round < rounds; round++) {
		struct irq irq = irq_make(&self->pair.peer, 64);
		__u32 handle = irq_connect(&self->pair.node, &irq);

		notify = sqe_notify(handle, 1);
		for (i = 0; i < 8; i++)
			*queue_sqe(&self->queue) = notify;
		queue_publish(&self->queue);
		ASSERT_EQ(queue_enter(&self->queue, 8, 0, 0), 0);
		for (i = 0; i < ARRAY_SIZE(thread); i++) {
			stopper[i] = (struct stopper) { .self = self, .irq = &irq };
			ASSERT_EQ(pthread_create(&thread[i], NULL, stop_both, &stopper[i]), 0);
		}
		for (i = 0; i < ARRAY_SIZE(thread); i++) {
			ASSERT_EQ(pthread_join(thread[i], NULL), 0);
			EXPECT_EQ(stopper[i].connected, -ENOENT);
			EXPECT_EQ(stopper[i].ended, stopper[i].taken);
		}
		EXPECT_LE(irq_raised(&irq), 8);
		irq_close(&irq);
		ASSERT_EQ(disconnect(&self->pair.node, handle), 0);
		renew(self);
	}
}

/* Each has the file of the other's kind, or unknown flags: nothing happens */
TEST_F(stop, nonsense_is_refused)
{
	struct dmanic_stop odd = { .size = sizeof(odd), .flags = 1 };
	struct irq irq = irq_make(&self->pair.peer, 1);

	EXPECT_EQ(dmanic_call(self->queue.fd, DMANIC_IOC_QUEUE_STOP, &odd), -EOPNOTSUPP);
	EXPECT_EQ(dmanic_call(irq.fd, DMANIC_IOC_IRQ_STOP, &odd), -EOPNOTSUPP);
	EXPECT_EQ(stop_call(self->queue.fd, DMANIC_IOC_IRQ_STOP), -ENOTTY);
	EXPECT_EQ(stop_call(irq.fd, DMANIC_IOC_QUEUE_STOP), -ENOTTY);
	EXPECT_EQ(stop_call(self->pair.node.fd, DMANIC_IOC_QUEUE_STOP), -ENOTTY);
	EXPECT_EQ(poll_now(self->queue.fd), 0);
	EXPECT_EQ(irq_wait(&irq, 1, 0, NULL), -ETIME);
	irq_close(&irq);
}

/*
 * SILENT operations have all the room, and nothing tells that they are done: who left an
 * entry behind them would wait for what nobody takes
 */
FIXTURE(left) {
	struct apart pair;
	struct queue queue;
	int eventfd;
};

FIXTURE_SETUP(left)
{
	self->pair = apart_make(200 * MS_NS, 4096);
	self->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ASSERT_GE(self->eventfd, 0);
	self->queue = queue_make_eventfd(&self->pair.node, 8, 8, self->eventfd);
}

FIXTURE_TEARDOWN(left)
{
}

/* Eight SILENT ones under way, and one more that is left */
static void leave_one(struct left_self *self)
{
	unsigned int i;

	for (i = 0; i < 9; i++) {
		struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->pair.local.id, 0,
						 self->pair.handle, 0, 8);

		sqe.flags = i < 8 ? DMANIC_SQE_SILENT : 0;
		*queue_sqe(&self->queue) = sqe;
		queue_publish(&self->queue);
		ASSERT_EQ(queue_enter(&self->queue, 1, 0, 0), 0);
	}
	ASSERT_EQ(self->queue.submitted, 0);
	ASSERT_TRUE(queue_flags(&self->queue) & DMANIC_RING_CQ_FULL);
}

static void take_it(struct left_self *self)
{
	ASSERT_EQ(queue_enter(&self->queue, 1, 1, slow_ns(20000)), 0);
	EXPECT_EQ(self->queue.submitted, 1);
	EXPECT_EQ(self->queue.available, 1);
	EXPECT_EQ(poll_now(self->queue.fd) & POLLIN, POLLIN);
}

TEST_F(left, eventfd_is_signalled_when_there_is_room)
{
	struct pollfd in = { .fd = self->eventfd, .events = POLLIN };

	leave_one(self);
	store32(&self->queue.ring->arm, 1);
	ASSERT_EQ(poll(&in, 1, slow_ns(20000) / MS_NS), 1);
	take_it(self);
}

TEST_F(left, poll_says_when_there_is_room)
{
	struct pollfd in = { .fd = self->queue.fd, .events = POLLIN };

	leave_one(self);
	ASSERT_EQ(poll(&in, 1, slow_ns(20000) / MS_NS), 1);
	EXPECT_EQ(in.revents, POLLIN);
	take_it(self);
}

/* Room that the program makes by taking completions is no news: it would poll for ever */
TEST_F(left, poll_does_not_tell_of_room_that_completions_left)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	fabric_late(&self->pair.own, HOUR_NS);
	for (i = 0; i < 9; i++) {
		/* The first one is done at once, as it is wrong */
		*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_WRITE, self->pair.local.id, 0,
						    self->pair.handle, i ? 0 : 1ULL << 40, 8);
		queue_publish(&self->queue);
		ASSERT_EQ(queue_enter(&self->queue, 1, 0, 0), 0);
	}
	ASSERT_TRUE(queue_flags(&self->queue) & DMANIC_RING_CQ_FULL);
	EXPECT_EQ(poll_now(self->queue.fd), POLLIN);
	ASSERT_TRUE(queue_reap(&self->queue, &cqe));
	EXPECT_EQ(cqe.status, DMANIC_STATUS_BOUNDS);
	EXPECT_EQ(poll_now(self->queue.fd), 0);
}

TEST_F(left, io_uring_is_told_when_there_is_room)
{
	struct io_uring ring;

	if (!ring_cancels(&self->pair.node))
		SKIP("no waits by io_uring on this kernel");
	ring_make(&ring, 8, 0);
	leave_one(self);
	prep_wait(&ring, &self->queue, 1, DMANIC_TIMEOUT_NEVER);
	ring_submit(&ring, 1);
	EXPECT_EQ(ring_reap(&ring, NULL, NULL), 0);
	take_it(self);
	io_uring_queue_exit(&ring);
}

FABRIC_TEST_MAIN_NONE()
