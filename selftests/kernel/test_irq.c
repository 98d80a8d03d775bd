// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_irq.c - interrupts one node raises at another
 *
 * Owns: counting, payloads, overwriting or refusing, waiting in every way, and
 * hostile words in the ring. That a notify is never seen before its data is
 * in test_irq_order.c.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH	8

FIXTURE(irq) {
	struct node node;	/* waits */
	struct node peer;	/* raises */
	struct irq irq;
	struct queue queue;	/* of the peer */
	__u32 handle;
	int eventfd;
};

FIXTURE_SETUP(irq)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ASSERT_GE(self->eventfd, 0);
	self->irq = irq_make_with(&self->node, DEPTH, 0, self->eventfd, NULL,
				  NULL);
	self->queue = queue_make(&self->peer, 16, 16);
	self->handle = irq_connect(&self->peer, &self->irq);
}

FIXTURE_TEARDOWN(irq)
{
}

static __u32 raise_one(struct irq_self *self, __u32 handle, __u64 payload)
{
	struct dmanic_sqe sqe = sqe_notify(handle, payload);

	return queue_run(&self->queue, &sqe).status;
}

static void raise_ok(struct irq_self *self, __u64 payload)
{
	ASSERT_EQ(raise_one(self, self->handle, payload), DMANIC_STATUS_OK);
}

TEST_F(irq, parameters_must_make_sense)
{
	static const __u32 bad[] = { 0, 3, 5, 7, 12, 0x7fffffff, ~0U };
	struct dmanic_irq_create arg;
	struct dmanic_query query;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		arg = (struct dmanic_irq_create) {
			.size = sizeof(arg), .depth = bad[i], .eventfd = -1,
		};
		EXPECT_EQ(dmanic_call(self->node.fd, DMANIC_IOC_IRQ_CREATE,
				      &arg), -EINVAL);
	}
	node_query(&self->node, &query);
	arg = (struct dmanic_irq_create) {
		.size = sizeof(arg), .depth = query.max_irq_depth * 2,
		.eventfd = -1,
	};
	ASSERT_EQ(dmanic_call(self->node.fd, DMANIC_IOC_IRQ_CREATE, &arg),
		  -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_IRQ_DEPTH);
	EXPECT_EQ(arg.refusal.asked, query.max_irq_depth * 2ULL);
	EXPECT_EQ(arg.refusal.allowed, query.max_irq_depth);
	arg.depth = 1;
	arg.eventfd = self->node.fd;
	EXPECT_EQ(dmanic_call(self->node.fd, DMANIC_IOC_IRQ_CREATE, &arg),
		  -EINVAL);
	arg.eventfd = 9999;
	EXPECT_EQ(dmanic_call(self->node.fd, DMANIC_IOC_IRQ_CREATE, &arg),
		  -EBADF);
}

TEST_F(irq, ring_is_zero_and_events_are_written_whole)
{
	const struct dmanic_irq_event whole = { .payload = 7, .node = self->peer.id };
	struct irq irq;
	__u32 depth;

	for (depth = 1; depth <= 1024; depth *= 32) {
		free_memory_dirty(&self->node);
		irq = irq_make(&self->node, depth);
		ASSERT_TRUE(all_bytes(irq.ring, irq.map_bytes, 0));
	}
	memset(self->irq.ring->event, 0xff, DEPTH * sizeof(whole));
	raise_ok(self, 7);
	EXPECT_EQ(memcmp(&self->irq.ring->event[0], &whole, sizeof(whole)), 0);
}

TEST_F(irq, counts_and_hands_over_payloads)
{
	struct dmanic_irq_event *event;
	__u64 i, raised;

	EXPECT_EQ(irq_raised(&self->irq), 0);
	for (i = 0; i < 100; i++) {
		raise_ok(self, i * i + 7);
		ASSERT_EQ(irq_raised(&self->irq), i + 1);
		event = &self->irq.ring->event[i & (DEPTH - 1)];
		ASSERT_EQ(event->payload, i * i + 7);
		ASSERT_EQ(event->node, self->peer.id);
		ASSERT_EQ(event->reserved, 0);
		ASSERT_EQ(irq_wait(&self->irq, i + 1, 0, &raised), 0);
		ASSERT_EQ(raised, i + 1);
	}
}

/* The ring keeps the last events; older ones are overwritten, not refused. */
TEST_F(irq, overwrites_what_was_not_seen)
{
	__u64 i;

	for (i = 0; i < 3 * DEPTH; i++)
		raise_ok(self, i);
	EXPECT_EQ(irq_raised(&self->irq), 3 * DEPTH);
	for (i = 2 * DEPTH; i < 3 * DEPTH; i++)
		EXPECT_EQ(self->irq.ring->event[i & (DEPTH - 1)].payload, i);
}

TEST_F(irq, strict_refuses_what_was_not_seen)
{
	struct irq irq = irq_make_with(&self->node, DEPTH, DMANIC_IRQ_STRICT,
				       -1, NULL, NULL);
	__u32 handle = irq_connect(&self->peer, &irq);
	__u64 i;

	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(raise_one(self, handle, i), DMANIC_STATUS_OK);
	EXPECT_EQ(raise_one(self, handle, 99), DMANIC_STATUS_LIMIT);
	EXPECT_EQ(irq_raised(&irq), DEPTH);
	for (i = 0; i < DEPTH; i++)
		EXPECT_EQ(irq.ring->event[i].payload, i);
	irq_seen(&irq, 2);
	EXPECT_EQ(raise_one(self, handle, DEPTH), DMANIC_STATUS_OK);
	EXPECT_EQ(raise_one(self, handle, DEPTH + 1), DMANIC_STATUS_OK);
	EXPECT_EQ(raise_one(self, handle, 99), DMANIC_STATUS_LIMIT);
	EXPECT_EQ(irq.ring->event[0].payload, DEPTH);
	EXPECT_EQ(irq.ring->event[1].payload, DEPTH + 1);
	EXPECT_EQ(irq.ring->event[2].payload, 2);
}

/* A WRITE whose notify is refused says so. */
TEST_F(irq, strict_refuses_the_notify_of_a_write)
{
	struct irq irq = irq_make_with(&self->node, 1, DMANIC_IRQ_STRICT, -1,
				       NULL, NULL);
	struct segment remote = segment_make(&self->node, 64);
	struct segment local = segment_make(&self->peer, 64);
	struct dmanic_sqe sqe;

	segment_export(&remote, DMANIC_RIGHT_WRITE);
	sqe = sqe_move(DMANIC_OP_WRITE, local.id, 0,
		       segment_connect(&self->peer, &remote), 0, 64);
	sqe.flags = DMANIC_SQE_NOTIFY;
	sqe.notify = irq_connect(&self->peer, &irq);
	sqe.payload = 11;
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(irq.ring->event[0].payload, 11);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_LIMIT);
	EXPECT_EQ(irq_raised(&irq), 1);
}

TEST_F(irq, hostile_seen_hurts_only_its_owner)
{
	struct irq irq = irq_make_with(&self->node, DEPTH, DMANIC_IRQ_STRICT,
				       -1, NULL, NULL);
	__u32 handle = irq_connect(&self->peer, &irq), status;
	__u64 state = 9, raised = 0, i;

	for (i = 0; i < 2000; i++) {
		irq_seen(&irq, random_next(&state) >> (random_next(&state) %
						       64));
		status = raise_one(self, handle, i);
		ASSERT_TRUE(status == DMANIC_STATUS_OK ||
			    status == DMANIC_STATUS_LIMIT);
		raised += status == DMANIC_STATUS_OK;
		ASSERT_EQ(irq_raised(&irq), raised);
	}
	irq_seen(&irq, raised);
	EXPECT_EQ(raise_one(self, handle, 1), DMANIC_STATUS_OK);
	raise_ok(self, 1);
}

/* Its own count, like a queue's own indices */
TEST_F(irq, overwritten_count_does_not_matter)
{
	__u64 state = 10, i, raised;

	for (i = 0; i < 100; i++) {
		memset(self->irq.ring->event, 0xff,
		       DEPTH * sizeof(struct dmanic_irq_event));
		self->irq.ring->raised = random_next(&state);
		raise_ok(self, i);
		ASSERT_EQ(irq_raised(&self->irq), i + 1);
		ASSERT_EQ(self->irq.ring->event[i & (DEPTH - 1)].payload, i);
		self->irq.ring->raised = random_next(&state);
		ASSERT_EQ(irq_wait(&self->irq, i + 1, 0, &raised), 0);
		ASSERT_EQ(raised, i + 1);
	}
}

TEST_F(irq, wait_compares_as_signed)
{
	__u64 raised;

	raise_ok(self, 0);
	EXPECT_EQ(irq_wait(&self->irq, 0, 0, &raised), 0);
	EXPECT_EQ(irq_wait(&self->irq, 1, DMANIC_TIMEOUT_NEVER, &raised), 0);
	EXPECT_EQ(raised, 1);
	EXPECT_EQ(irq_wait(&self->irq, -1ULL, 0, &raised), 0);
	EXPECT_EQ(irq_wait(&self->irq, 1ULL << 63 | 2, 0, &raised), 0);
	EXPECT_EQ(irq_wait(&self->irq, 2, 0, &raised), -ETIME);
	EXPECT_EQ(irq_wait(&self->irq, 1ULL << 62, 0, &raised), -ETIME);
}

TEST_F(irq, wait_times_out)
{
	__u64 start = now_ns(), raised = 77;

	EXPECT_EQ(irq_wait(&self->irq, 1, slow_ns(30), &raised), -ETIME);
	EXPECT_GE(now_ns() - start, slow_ns(30));
	EXPECT_EQ(raised, 0);
}

struct waiter {
	const struct irq *irq;
	__u64 target;
	__u64 timeout_ns;
	__u64 raised;
	int ret;
	bool done;
};

static void *wait_thread(void *data)
{
	struct waiter *waiter = data;

	waiter->ret = irq_wait(waiter->irq, waiter->target, waiter->timeout_ns,
			       &waiter->raised);
	__atomic_store_n(&waiter->done, true, __ATOMIC_RELEASE);
	return NULL;
}

TEST_F(irq, wait_wakes_at_the_target)
{
	struct waiter waiter = {
		.irq = &self->irq, .target = 20, .timeout_ns = slow_ns(20000),
	};
	pthread_t thread;
	unsigned int i;

	ASSERT_EQ(pthread_create(&thread, NULL, wait_thread, &waiter), 0);
	for (i = 0; i < 19; i++) {
		raise_ok(self, i);
		breathe();
	}
	EXPECT_TRUE(!__atomic_load_n(&waiter.done, __ATOMIC_ACQUIRE));
	raise_ok(self, i);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(waiter.ret, 0);
	EXPECT_EQ(waiter.raised, 20);
}

static void on_signal(int number)
{
	(void)number;
}

TEST_F(irq, signal_is_EINTR)
{
	struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = SA_RESTART,
	};
	struct waiter waiter = {
		.irq = &self->irq, .target = 2,
		.timeout_ns = DMANIC_TIMEOUT_NEVER,
	};
	pthread_t thread;

	raise_ok(self, 0);
	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, wait_thread, &waiter), 0);
	ASSERT_TRUE(WAIT_FOR((pthread_kill(thread, SIGUSR1),
			      __atomic_load_n(&waiter.done,
					      __ATOMIC_ACQUIRE))));
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(waiter.ret, -EINTR);
	EXPECT_EQ(waiter.raised, 1);
}

TEST_F(irq, killed_while_waiting_dies)
{
	pid_t child = fork();
	int status;

	ASSERT_GE(child, 0);
	if (!child) {
		irq_wait(&self->irq, 1, DMANIC_TIMEOUT_NEVER, NULL);
		_exit(0);
	}
	breathe();
	ASSERT_EQ(kill(child, SIGKILL), 0);
	ASSERT_TRUE(WAIT_FOR(waitpid(child, &status, WNOHANG) == child));
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(irq, poll_tells_until_seen)
{
	struct pollfd in = { .fd = self->irq.fd, .events = POLLIN };

	EXPECT_EQ(poll(&in, 1, 0), 0);
	raise_ok(self, 0);
	raise_ok(self, 1);
	ASSERT_EQ(poll(&in, 1, 20000 * harness_slow()), 1);
	EXPECT_EQ(in.revents & (POLLIN | POLLERR | POLLHUP), POLLIN);
	irq_seen(&self->irq, 1);
	EXPECT_EQ(poll(&in, 1, 0), 1);
	irq_seen(&self->irq, 2);
	EXPECT_EQ(poll(&in, 1, 0), 0);
}

static __u64 eventfd_count(struct irq_self *self)
{
	__u64 count = 0;

	if (read(self->eventfd, &count, sizeof(count)) < 0)
		return 0;
	return count;
}

TEST_F(irq, eventfd_signals_once_when_armed)
{
	unsigned int i;

	raise_ok(self, 0);
	EXPECT_EQ(eventfd_count(self), 0);
	for (i = 0; i < 10; i++) {
		/* Barrier E: arm, then look at raised. */
		__atomic_store_n(&self->irq.ring->arm, 1, __ATOMIC_SEQ_CST);
		raise_ok(self, i);
		EXPECT_EQ(eventfd_count(self), 1);
		EXPECT_EQ(self->irq.ring->arm, 0);
		raise_ok(self, i);
		EXPECT_EQ(eventfd_count(self), 0);
	}
}

TEST_F(irq, closed_one_is_NO_SEGMENT)
{
	struct irq other;
	__u32 handle;

	raise_ok(self, 1);
	/* The mapping keeps the descriptor's file. */
	ASSERT_EQ(munmap(self->irq.ring, self->irq.map_bytes), 0);
	ASSERT_EQ(close(self->irq.fd), 0);
	ASSERT_EQ(raise_one(self, self->handle, 2), DMANIC_STATUS_NO_SEGMENT);
	/* A new one does not answer to the old handle. */
	other = irq_make(&self->node, DEPTH);
	handle = irq_connect(&self->peer, &other);
	EXPECT_NE(raise_one(self, self->handle, 3), DMANIC_STATUS_OK);
	EXPECT_EQ(irq_raised(&other), 0);
	EXPECT_EQ(raise_one(self, handle, 4), DMANIC_STATUS_OK);
}

TEST_F(irq, wrong_key_is_EACCES)
{
	__u32 handle;

	EXPECT_EQ(connect_call(&self->peer, DMANIC_CONNECT_IRQ, self->node.id,
			       self->irq.id, self->irq.key ^ 1, &handle),
		  -EACCES);
}

TEST_F(irq, connect_tells_the_depth)
{
	struct dmanic_connect arg = {
		.size = sizeof(arg), .flags = DMANIC_CONNECT_IRQ,
		.node = self->node.id, .id = self->irq.id,
		.key = self->irq.key,
	};

	ASSERT_EQ(dmanic_call(self->peer.fd, DMANIC_IOC_CONNECT, &arg), 0);
	EXPECT_EQ(arg.length, DEPTH);
}

struct raiser {
	struct irq_self *self;
	struct queue queue;
	unsigned int rounds;
};

static void *raise_many(void *data)
{
	struct raiser *raiser = data;
	struct dmanic_sqe sqe = sqe_notify(raiser->self->handle, 1);
	unsigned int i;

	for (i = 0; i < raiser->rounds; i++)
		ASSERT_EQ(queue_run(&raiser->queue, &sqe).status,
			  DMANIC_STATUS_OK);
	return NULL;
}

/* From several queues at once every raise is counted. */
TEST_F(irq, none_is_lost_under_load)
{
	struct raiser raisers[3];
	pthread_t threads[3];
	unsigned int i, rounds = harness_load(2000);

	for (i = 0; i < ARRAY_SIZE(raisers); i++) {
		raisers[i] = (struct raiser) {
			self, queue_make(&self->peer, 2, 2), rounds,
		};
		ASSERT_EQ(pthread_create(&threads[i], NULL, raise_many,
					 &raisers[i]), 0);
	}
	EXPECT_EQ(irq_wait(&self->irq, 3ULL * rounds, slow_ns(20000), NULL), 0);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		ASSERT_EQ(pthread_join(threads[i], NULL), 0);
	EXPECT_EQ(irq_raised(&self->irq), 3ULL * rounds);
}

/*
 * A process that ends closes all it has, one after the other: with a grace
 * period for each it could not be killed for minutes. Three times, for what else
 * runs on the machine.
 */
TEST_F_TIMEOUT(irq, many_close_as_fast_as_they_are_made, 120)
{
	enum { MANY = 500, TRIES = 3 };
	__u64 start, making, closing;
	unsigned int i, try;
	int fds[MANY];

	for (try = 0; try < TRIES; try++) {
		start = now_ns();
		for (i = 0; i < MANY; i++) {
			struct dmanic_irq_create arg = {
				.size = sizeof(arg), .depth = 1, .eventfd = -1,
			};

			ASSERT_EQ(dmanic_call(self->node.fd,
					      DMANIC_IOC_IRQ_CREATE, &arg), 0);
			fds[i] = arg.fd;
		}
		making = now_ns() - start;
		start = now_ns();
		for (i = 0; i < MANY; i++)
			close(fds[i]);
		closing = now_ns() - start;
		if (closing < 2 * making)
			return;
	}
	FAIL("closing took %llu us, making %llu us", closing / 1000,
	     making / 1000);
}

static __u64 raise_some(struct irq_self *self, struct queue *queue, unsigned int nr)
{
	__u64 begun = now_ns();
	unsigned int i;

	for (i = 0; i < nr; i++)
		*queue_sqe(queue) = sqe_notify(self->handle, i);
	queue_submit(queue);
	for (i = 0; i < nr; i++)
		ASSERT_EQ(queue_wait(queue).status, DMANIC_STATUS_OK);
	return now_ns() - begun;
}

/*
 * Those of a frame wake once: who has very many waiters could hold up the node for thirty
 * times as long with a frame, and with all others
 */
TEST_F(irq, many_at_once_wake_as_few_times_as_frames)
{
	enum { MANY = 60, TRIES = 5 };
	struct queue queue = queue_make(&self->peer, 64, 64);
	__u64 one = 0, many = 0;
	unsigned int try;

	/* A node raises its own ones with no lock held */
	if (!fabric_on_netdevs() || getenv("DMANIC_ALONE"))
		SKIP("without frames each wakes who waits for it");
	crowd_make(self->irq.fd);
	for (try = 0; try < TRIES; try++) {
		one += raise_some(self, &queue, 1);
		many += raise_some(self, &queue, MANY);
		if (try >= TRIES / 2 && many < 16 * one)
			return;
	}
	FAIL("%u of them took %llu us, one %llu us", MANY, many / TRIES / 1000,
	     one / TRIES / 1000);
}

FABRIC_TEST_MAIN()
