// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_queue_wait.c - waiting for completions
 *
 * Owns: ENTER with min_complete and time-outs, signals, poll, epoll, eventfd.
 * What is in flight is so by nodes that are late, so that it stays so.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

FIXTURE(wait) {
	struct fabric own;
	struct node node;
	struct node peer;
	struct segment local;
	struct segment remote;
	struct queue queue;
	__u32 handle;
	int eventfd;
};

FIXTURE_VARIANT(wait) {
	unsigned int latency_ms;	/* 0: work is done at once */
};

FIXTURE_VARIANT_ADD(wait, at_once) { .latency_ms = 0 };
FIXTURE_VARIANT_ADD(wait, in_flight) { .latency_ms = 20 };

FIXTURE_SETUP(wait)
{
	fabric_make(&self->own, "a", 2, NULL);
	self->node = node_open(&self->own, 0);
	self->peer = node_open(&self->own, 1);
	self->local = segment_make(&self->node, 4096);
	self->remote = segment_make(&self->peer, 4096);
	segment_export(&self->remote, DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->remote);
	self->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ASSERT_GE(self->eventfd, 0);
	self->queue = queue_make_eventfd(&self->node, 16, 16, self->eventfd);
	fabric_late(&self->own, variant->latency_ms * MS_NS);
}

FIXTURE_TEARDOWN(wait)
{
}

static void post(struct wait_self *self, unsigned int count)
{
	while (count--)
		*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_WRITE,
						    self->local.id, 0,
						    self->handle, 0, 8);
}

static unsigned int reap_all(struct wait_self *self)
{
	struct dmanic_cqe cqe;
	unsigned int count = 0;

	for (; queue_reap(&self->queue, &cqe); count++)
		EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	return count;
}

TEST_F(wait, enter_submits_and_waits)
{
	unsigned int i;

	for (i = 1; i <= 16; i++) {
		post(self, i);
		ASSERT_EQ(queue_enter(&self->queue, i, i, slow_ns(20000)), 0);
		EXPECT_EQ(self->queue.submitted, i);
		EXPECT_EQ(self->queue.available, i);
		EXPECT_EQ(reap_all(self), i);
	}
}

TEST_F(wait, timeout_is_ETIME_and_submits)
{
	__u64 start = now_ns();

	post(self, 2);
	ASSERT_EQ(queue_enter(&self->queue, 2, 3, slow_ns(60)), -ETIME);
	EXPECT_GE(now_ns() - start, slow_ns(60));
	EXPECT_EQ(self->queue.submitted, 2);
	ASSERT_EQ(queue_enter(&self->queue, 0, 2, slow_ns(20000)), 0);
	EXPECT_EQ(self->queue.submitted, 0);
	EXPECT_EQ(reap_all(self), 2);
}

TEST_F(wait, zero_timeout_does_not_wait)
{
	ASSERT_EQ(queue_enter(&self->queue, 0, 1, 0), -ETIME);
	post(self, 1);
	ASSERT_EQ(queue_enter(&self->queue, 1, 0, DMANIC_TIMEOUT_NEVER), 0);
	EXPECT_EQ(self->queue.submitted, 1);
	ASSERT_EQ(queue_enter(&self->queue, 0, 1, slow_ns(20000)), 0);
	EXPECT_EQ(queue_enter(&self->queue, 0, 1, 0), 0);
	EXPECT_EQ(self->queue.available, 1);
}

TEST_F(wait, more_than_the_ring_is_EINVAL)
{
	post(self, 1);
	EXPECT_EQ(queue_enter(&self->queue, 1, 17, 1000), -EINVAL);
	EXPECT_EQ(self->queue.submitted, 0);
	EXPECT_EQ(queue_enter(&self->queue, 1, ~0U, 1000), -EINVAL);
	EXPECT_EQ(load32(&self->queue.ring->sq_head), 0);
}

/* Times that overflow when added to now */
TEST_F(wait, huge_timeout_waits)
{
	static const __u64 huge[] = {
		DMANIC_TIMEOUT_NEVER, DMANIC_TIMEOUT_NEVER - 1, 1ULL << 63,
		(1ULL << 63) - 1, 1ULL << 62,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(huge); i++) {
		post(self, 1);
		ASSERT_EQ(queue_enter(&self->queue, 1, 1, huge[i]), 0);
		EXPECT_EQ(reap_all(self), 1);
	}
}

static void on_signal(int number)
{
	(void)number;
}

struct waiter {
	struct wait_self *self;
	__u32 submit;
	__u32 submitted;
	int ret;
	bool done;
};

/* Not queue_enter(): the other thread owns struct queue. */
static void *wait_long(void *data)
{
	struct waiter *waiter = data;
	struct dmanic_enter enter = {
		.size = sizeof(enter), .to_submit = waiter->submit,
		.min_complete = 3, .timeout_ns = DMANIC_TIMEOUT_NEVER,
	};

	waiter->ret = dmanic_call(waiter->self->queue.fd, DMANIC_IOC_ENTER,
				  &enter);
	waiter->submitted = enter.submitted;
	__atomic_store_n(&waiter->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* SA_RESTART or not: what was submitted must not be submitted again. */
static void interrupt(struct wait_self *self, int flags)
{
	struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = flags,
	};
	struct waiter waiter = { .self = self, .submit = 2 };
	pthread_t thread;

	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	post(self, 2);
	queue_publish(&self->queue);
	ASSERT_EQ(pthread_create(&thread, NULL, wait_long, &waiter), 0);
	ASSERT_TRUE(WAIT_FOR(load32(&self->queue.ring->cq_tail) -
			     self->queue.head == 2));
	ASSERT_TRUE(WAIT_FOR((pthread_kill(thread, SIGUSR1),
			      __atomic_load_n(&waiter.done,
					      __ATOMIC_ACQUIRE))));
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(waiter.ret, -EINTR);
	EXPECT_EQ(waiter.submitted, 2);
	EXPECT_EQ(reap_all(self), 2);
}

TEST_F(wait, signal_is_EINTR_and_submits)
{
	interrupt(self, 0);
	interrupt(self, SA_RESTART);
}

/* A second thread posts, the first one wakes. */
TEST_F(wait, posting_thread_wakes_the_waiting_one)
{
	struct waiter waiter = { .self = self };
	struct dmanic_enter enter = { .size = sizeof(enter), .to_submit = 3 };
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, wait_long, &waiter), 0);
	post(self, 3);
	queue_publish(&self->queue);
	ASSERT_EQ(dmanic_call(self->queue.fd, DMANIC_IOC_ENTER, &enter), 0);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(waiter.ret, 0);
	EXPECT_EQ(reap_all(self), 3);
}

TEST_F(wait, killed_while_waiting_dies)
{
	pid_t child = fork();
	int status;

	ASSERT_GE(child, 0);
	if (!child) {
		struct dmanic_enter enter = {
			.size = sizeof(enter), .min_complete = 1,
			.timeout_ns = DMANIC_TIMEOUT_NEVER,
		};

		dmanic_call(self->queue.fd, DMANIC_IOC_ENTER, &enter);
		_exit(0);
	}
	breathe();
	ASSERT_EQ(kill(child, SIGKILL), 0);
	ASSERT_TRUE(WAIT_FOR(waitpid(child, &status, WNOHANG) == child));
	EXPECT_TRUE(WIFSIGNALED(status));
}

static short poll_now(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN | POLLOUT };

	ASSERT_GE(poll(&poll_fd, 1, timeout_ms), 0);
	return poll_fd.revents;
}

TEST_F(wait, poll_tells_of_completions)
{
	struct pollfd in = { .fd = self->queue.fd, .events = POLLIN };

	EXPECT_EQ(poll_now(self->queue.fd, 0) & POLLIN, 0);
	post(self, 2);
	queue_submit(&self->queue);
	ASSERT_EQ(poll(&in, 1, 20000 * harness_slow()), 1);
	EXPECT_EQ(in.revents & (POLLIN | POLLERR | POLLHUP), POLLIN);
	ASSERT_TRUE(WAIT_FOR(load32(&self->queue.ring->cq_tail) == 2));
	EXPECT_EQ(poll_now(self->queue.fd, 0) & POLLIN, POLLIN);
	EXPECT_EQ(reap_all(self), 2);
	EXPECT_EQ(poll_now(self->queue.fd, 0) & POLLIN, 0);
}

TEST_F(wait, poll_tells_of_room)
{
	EXPECT_EQ(poll_now(self->queue.fd, 0) & POLLOUT, POLLOUT);
	post(self, 16);
	queue_publish(&self->queue);
	EXPECT_EQ(poll_now(self->queue.fd, 0) & POLLOUT, 0);
	queue_submit(&self->queue);
	EXPECT_EQ(poll_now(self->queue.fd, 0) & POLLOUT, POLLOUT);
}

static void *poll_for_room(void *arg)
{
	const struct queue *queue = arg;
	struct pollfd wait = { .fd = queue->fd, .events = POLLOUT };

	EXPECT_EQ(poll(&wait, 1, 20000 * harness_slow()), 1);
	EXPECT_EQ(wait.revents, POLLOUT);
	return NULL;
}

TEST_F(wait, room_wakes_who_polls_for_it)
{
	unsigned int round;
	pthread_t thread;

	for (round = 0; round < 5; round++) {
		post(self, 16);
		queue_publish(&self->queue);
		ASSERT_EQ(pthread_create(&thread, NULL, poll_for_room,
					 &self->queue), 0);
		breathe();
		ASSERT_EQ(queue_enter(&self->queue, 1, 0, 0), 0);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		queue_submit(&self->queue);
		ASSERT_EQ(queue_enter(&self->queue, 0, 16, slow_ns(20000)), 0);
		EXPECT_EQ(reap_all(self), 16);
	}
}

/* Edge-triggered: nobody asks again when the ring is full */
TEST_F(wait, room_wakes_who_waits_for_its_edge)
{
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	unsigned int round;

	ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, self->queue.fd, &event), 0);
	EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 1);
	for (round = 0; round < 3; round++) {
		post(self, 16);
		queue_publish(&self->queue);
		EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
		ASSERT_EQ(queue_enter(&self->queue, 1, 0, 0), 0);
		EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 1);
		queue_submit(&self->queue);
		ASSERT_EQ(queue_enter(&self->queue, 0, 16, slow_ns(20000)), 0);
		EXPECT_EQ(reap_all(self), 16);
		while (epoll_wait(epoll, &event, 1, 0))
			;
	}
	ASSERT_EQ(close(epoll), 0);
}

/* Edge-triggered, so each batch must wake anew. */
TEST_F(wait, epoll_wakes_for_each_batch)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLET, .data.u64 = 5,
	};
	unsigned int i, got;

	ASSERT_GE(epoll, 0);
	ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, self->queue.fd, &event), 0);
	EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	for (i = 0; i < 20; i++) {
		post(self, 4);
		queue_submit(&self->queue);
		for (got = 0; got < 4; got += reap_all(self)) {
			ASSERT_EQ(epoll_wait(epoll, &event, 1,
					     20000 * harness_slow()), 1);
			EXPECT_EQ(event.data.u64, 5);
		}
	}
}

static __u64 eventfd_count(struct wait_self *self)
{
	__u64 count = 0;

	if (read(self->eventfd, &count, sizeof(count)) < 0)
		return 0;
	return count;
}

TEST_F(wait, eventfd_is_silent_unless_armed)
{
	post(self, 8);
	ASSERT_EQ(queue_enter(&self->queue, 8, 8, slow_ns(20000)), 0);
	EXPECT_EQ(eventfd_count(self), 0);
	EXPECT_EQ(reap_all(self), 8);
}

TEST_F(wait, eventfd_signals_once_and_disarms)
{
	struct pollfd in = { .fd = self->eventfd, .events = POLLIN };
	unsigned int i;

	for (i = 0; i < 10; i++) {
		/* Barrier E: arm, then look at cq_tail, then sleep. */
		__atomic_store_n(&self->queue.ring->arm, 1, __ATOMIC_SEQ_CST);
		post(self, 8);
		queue_submit(&self->queue);
		ASSERT_EQ(poll(&in, 1, 20000 * harness_slow()), 1);
		ASSERT_EQ(queue_enter(&self->queue, 0, 8, slow_ns(20000)), 0);
		EXPECT_EQ(load32(&self->queue.ring->arm), 0);
		EXPECT_EQ(eventfd_count(self), 1);
		EXPECT_EQ(reap_all(self), 8);
		post(self, 8);
		ASSERT_EQ(queue_enter(&self->queue, 8, 8, slow_ns(20000)), 0);
		EXPECT_EQ(eventfd_count(self), 0);
		EXPECT_EQ(reap_all(self), 8);
	}
}

/* Arm, look, sleep: no wake-up is lost however the two sides interleave. */
TEST_F_TIMEOUT(wait, armed_sleeper_misses_nothing, 60)
{
	struct pollfd in = { .fd = self->eventfd, .events = POLLIN };
	unsigned int i, rounds = harness_load(variant->latency_ms ? 30 : 2000);

	for (i = 0; i < rounds; i++) {
		post(self, 1);
		queue_submit(&self->queue);
		/* Barrier E: arm, full barrier, cq_tail again. */
		__atomic_store_n(&self->queue.ring->arm, 1, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (load32(&self->queue.ring->cq_tail) == self->queue.head)
			ASSERT_EQ(poll(&in, 1, 20000 * harness_slow()), 1);
		ASSERT_EQ(reap_all(self), 1);
		__atomic_store_n(&self->queue.ring->arm, 0, __ATOMIC_SEQ_CST);
		eventfd_count(self);
	}
}

struct taker {
	struct queue *queue;
	struct dmanic_enter enter;
	int ret;
};

static void *take_and_wait(void *data)
{
	struct taker *taker = data;

	taker->ret = dmanic_call(taker->queue->fd, DMANIC_IOC_ENTER,
				 &taker->enter);
	return NULL;
}

/*
 * Four in flight, four left behind for lack of room, two consumed: there can
 * only be four completions again when the waiting call takes entries itself.
 */
TEST(room, waiting_enter_takes_what_was_left)
{
	struct model slow = { .bandwidth = 1000000 };
	struct alone alone = alone_make(&slow, 65536);
	struct queue queue = queue_make(&alone.node, 4, 4);
	struct taker taker;
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, alone.local.id,
					      0, alone.handle, 0, 40000);
		if (i == 3)
			queue_submit(&queue);
	}
	queue_publish(&queue);
	taker = (struct taker) {
		.queue = &queue,
		.enter = {
			.size = sizeof(taker.enter), .to_submit = 4,
			.min_complete = 4, .timeout_ns = slow_ns(20000),
		},
	};
	ASSERT_EQ(pthread_create(&thread, NULL, take_and_wait, &taker), 0);
	for (i = 0; i < 2; i++) {
		struct dmanic_cqe cqe;

		ASSERT_TRUE(WAIT_FOR(queue_reap(&queue, &cqe)));
	}
	if (load32(&queue.ring->cq_tail) == 4)
		SKIP("this machine is too slow to see them in flight");
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(taker.ret, 0);
	EXPECT_GE(taker.enter.submitted, 2);
	EXPECT_GE(taker.enter.available, 4);
}

FABRIC_TEST_MAIN_NONE()
