// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_poll_end.c - how a polling thread ends
 *
 * Owns: that it ends with its queue and with the device, whatever it is doing
 * then, and with nothing else; and what it does on a link that makes it pay.
 */
#include "dmanic_test.h"
#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	4096U

FIXTURE(poll_end) {
	struct poller_pair pair;
};

FIXTURE_SETUP(poll_end)
{
	self->pair = poller_pair_make(BYTES);
}

FIXTURE_TEARDOWN(poll_end)
{
}

/* ---- with its queue ---- */

/* Now asleep, now at work, now with entries left */
TEST_F_TIMEOUT(poll_end, thousands_of_queues, 120)
{
	unsigned int i, nr = harness_load(2000);
	struct queue queue;

	for (i = 0; i < nr; i++) {
		queue = poller_make(&self->pair.node, 8, 8, i & 1 ? 1 : 0);
		poller_put_some(&self->pair, &queue, i, i % 8);
		poller_publish(&queue);
		if (i & 8)
			sched_yield();
		queue_close(&queue);
	}
	EXPECT_TRUE(WAIT_FOR(poller_count(NULL) == 0));
}

TEST_F(poll_end, lives_as_long_as_its_file)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 0);
	int status, hold[2];
	pid_t child;
	char byte;

	ASSERT_EQ(pipe2(hold, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		close(hold[1]);
		_exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
	}
	ASSERT_GT(child, 0);
	close(hold[0]);
	poller_put(&self->pair, &queue, 1);
	poller_publish(&queue);
	poller_reap_some(&queue, 1, 1);
	queue_close(&queue);
	EXPECT_EQ(poller_count(NULL), 1);
	close(hold[1]);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(WAIT_FOR(poller_count(NULL) == 0));
}

/* For ever, without looking at what comes of it */
static void post_for_ever(const struct poll_end_self *self)
{
	struct queue queue = poller_make(&self->pair.node, 64, 64, 0);

	for (;;) {
		if (queue.tail - load32(&queue.ring->sq_head) < queue.sq_entries)
			poller_put(&self->pair, &queue, 0);
		poller_publish(&queue);
		store32(&queue.ring->cq_head, load32(&queue.ring->cq_tail));
	}
}

static bool has_thread(pid_t tgid)
{
	char command[96];

	snprintf(command, sizeof(command),
		 "grep -qsx dmanic-poll/%d /proc/[0-9]*/comm", tgid);
	return system(command) == 0;
}

TEST_F_TIMEOUT(poll_end, kill_9, 60)
{
	unsigned int i, rounds = harness_load(20);
	pid_t child;
	int status;

	for (i = 0; i < rounds; i++) {
		child = fork();
		if (!child)
			post_for_ever(self);
		ASSERT_GT(child, 0);
		ASSERT_TRUE(WAIT_FOR(has_thread(child)));
		usleep(10000);
		ASSERT_EQ(kill(child, SIGKILL), 0);
		ASSERT_EQ(waitpid(child, &status, 0), child);
		EXPECT_TRUE(WIFSIGNALED(status));
		ASSERT_TRUE(!has_thread(child));
	}
}

/* Signals of whoever it is are nothing to it */
TEST_F(poll_end, cannot_be_killed)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 0);
	pid_t tid = 0;

	ASSERT_EQ(poller_count(&tid), 1);
	kill(tid, SIGKILL);
	kill(tid, SIGSTOP);
	poller_put(&self->pair, &queue, 1);
	poller_publish(&queue);
	poller_reap_some(&queue, 1, 1);
	EXPECT_EQ(poller_count(NULL), 1);
}

struct helper {
	struct queue *queue;
	bool stop;
	pthread_t thread;
};

static void *keep_posting(void *arg)
{
	struct dmanic_enter enter = { .size = sizeof(enter) };
	struct helper *helper = arg;
	struct queue *queue = helper->queue;

	while (!__atomic_load_n(&helper->stop, __ATOMIC_RELAXED)) {
		if (queue->tail - load32(&queue->ring->sq_head) <
		    queue->sq_entries)
			queue_sqe(queue);
		queue_publish(queue);
		store32(&queue->ring->cq_head, load32(&queue->ring->cq_tail));
		/* Also when it is gone */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (poller_asleep(queue))
			dmanic_call(queue->fd, DMANIC_IOC_ENTER, &enter);
	}
	return NULL;
}

TEST_F(poll_end, ends_with_the_device)
{
	struct dmanic_enter enter = { .size = sizeof(enter) };
	struct helper helper = { .stop = false };
	struct queue busy, asleep;
	struct fabric own;
	struct node node;

	fabric_make(&own, "a", 1, NULL);
	node = node_open(&own, 0);
	busy = poller_make(&node, 8, 8, 0);
	asleep = poller_make(&node, 8, 8, 1);
	ASSERT_TRUE(WAIT_FOR(poller_asleep(&asleep)));
	helper.queue = &busy;
	ASSERT_EQ(pthread_create(&helper.thread, NULL, keep_posting, &helper), 0);
	ASSERT_TRUE(WAIT_FOR(load32(&busy.ring->sq_head) > 100));
	EXPECT_EQ(poller_count(NULL), 2);

	ASSERT_EQ(fabric_delete(own.prefix, true), 0);
	EXPECT_TRUE(WAIT_FOR(poller_count(NULL) == 0));
	__atomic_store_n(&helper.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(helper.thread, NULL), 0);
	/* Who posts is told to ENTER, and that tells the rest */
	EXPECT_TRUE(queue_flags(&busy) & DMANIC_RING_DEAD);
	EXPECT_TRUE(poller_asleep(&busy));
	EXPECT_TRUE(poller_asleep(&asleep));
	EXPECT_EQ(dmanic_call(busy.fd, DMANIC_IOC_ENTER, &enter), -ENODEV);
	EXPECT_EQ(dmanic_call(asleep.fd, DMANIC_IOC_ENTER, &enter), -ENODEV);
	queue_close(&busy);
	queue_close(&asleep);
}

/* ---- a card that is not for nothing ---- */

static void put_alone(struct alone *alone, struct queue *queue)
{
	*queue_sqe(queue) = sqe_move(DMANIC_OP_WRITE, alone->local.id, 0,
				     alone->handle, 0, 8);
	poller_publish(queue);
}

/* It is the thread that pays for a doorbell, and it does so asleep */
TEST_F(poll_end, pays_for_doorbells)
{
	const struct model model = {
		.start_ns = 50 * MS_NS, .bandwidth = 1ULL << 40,
	};
	struct alone alone = alone_make(&model, 4096);
	struct queue queue = poller_make(&alone.node, 8, 8, 1);
	struct dmanic_cqe cqe;
	__u64 start, ns;
	unsigned int i;
	pid_t tid;

	ASSERT_EQ(poller_count(&tid), 1);
	ns = poller_cpu_ns(tid);
	start = now_ns();
	for (i = 0; i < 4; i++) {
		put_alone(&alone, &queue);
		ASSERT_TRUE(WAIT_FOR(queue_reap(&queue, &cqe)));
		EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	}
	EXPECT_GE(now_ns() - start, 4 * model.start_ns);
	ASSERT_TRUE(WAIT_FOR(poller_asleep(&queue)));
	usleep(20000);
	EXPECT_LT(poller_cpu_ns(tid) - ns, 2 * model.start_ns);
}

/* ... and does not finish paying when the queue is closed, or the device goes */
TEST_F(poll_end, stops_paying)
{
	const struct model model = {
		.start_ns = slow_ns(9000), .bandwidth = 1ULL << 40,
	};
	struct alone alone = alone_make(&model, 4096);
	struct queue queue = poller_make(&alone.node, 8, 8, 0);
	__u64 start = now_ns();

	put_alone(&alone, &queue);
	ASSERT_TRUE(WAIT_FOR(load32(&queue.ring->sq_head) == 1));
	queue_close(&queue);
	EXPECT_LT(now_ns() - start, model.start_ns / 2);

	queue = poller_make(&alone.node, 8, 8, 0);
	start = now_ns();
	put_alone(&alone, &queue);
	ASSERT_TRUE(WAIT_FOR(load32(&queue.ring->sq_head) == 1));
	ASSERT_EQ(device_delete(alone.node.name, true), 0);
	EXPECT_TRUE(WAIT_FOR(poller_count(NULL) == 0));
	EXPECT_LT(now_ns() - start, model.start_ns / 2);
}

FABRIC_TEST_MAIN()
