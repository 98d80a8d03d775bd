// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_uring.c - operations as io_uring commands
 *
 * Flags: -luring
 *
 * Owns: that POST and ENTER do in every kind of ring what the queue's own ring
 * does, tell failures in res, refuse what makes no sense, and stand a program
 * that writes to entries while they are read. test_uring_wait.c has the waits
 * and rings that die, test_uring_chain.c links.
 */
#include "poller.h"
#include "uring_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB		(1UL << 20)
#define UNUSED_ID	4000000

FIXTURE(uring) {
	struct node node;
	struct node peer;
	struct segment segment;
	struct segment target;
	struct queue queue;
	struct irq irq;
	__u32 handle;
	__u32 bell;
	struct io_uring ring;
};

FIXTURE_VARIANT(uring) {
	unsigned int flags;
	__u8 entry_flags;
};

FIXTURE_VARIANT_ADD(uring, simple) { .flags = IORING_SETUP_SQE128 };

FIXTURE_VARIANT_ADD(uring, large_completions) {
	.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
};

FIXTURE_VARIANT_ADD(uring, deferred) {
	.flags = IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER |
		 IORING_SETUP_DEFER_TASKRUN,
};

FIXTURE_VARIANT_ADD(uring, polled) {
	.flags = IORING_SETUP_SQE128 | IORING_SETUP_SQPOLL,
};

/* A worker of io_uring issues the command, and may sleep */
FIXTURE_VARIANT_ADD(uring, worker) {
	.flags = IORING_SETUP_SQE128,
	.entry_flags = IOSQE_ASYNC,
};

static void uring_objects(struct uring_self *self)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->segment = segment_make(&self->node, MIB);
	self->target = segment_make(&self->peer, MIB);
	segment_export(&self->target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	self->handle = segment_connect(&self->node, &self->target);
	self->irq = irq_make(&self->peer, 64);
	self->bell = irq_connect(&self->node, &self->irq);
	self->queue = queue_make(&self->node, 64, 64);
}

FIXTURE_SETUP(uring)
{
	uring_objects(self);
	ring_make(&self->ring, 64, variant->flags);
}

FIXTURE_TEARDOWN(uring)
{
}

static struct dmanic_sqe put(struct uring_self *self, __u64 bytes)
{
	return sqe_move(DMANIC_OP_WRITE, self->segment.id, 0, self->handle, 0,
			bytes);
}

static int run(struct uring_self *self, const struct uring_variant *variant,
	       const struct dmanic_sqe *op)
{
	prep_post(&self->ring, &self->queue, op)->flags |= variant->entry_flags;
	return ring_run(&self->ring);
}

TEST_F(uring, put_moves_bytes)
{
	static const size_t sizes[] = { 0, 8, 8192, 8193, MIB };
	struct dmanic_sqe op;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(self->segment.data, sizes[i], i + 1);
		op = put(self, sizes[i]);
		ASSERT_EQ(run(self, variant, &op), sizes[i]);
		ASSERT_EQ(memcmp(self->target.data, self->segment.data,
				 sizes[i]), 0);
	}
}

TEST_F(uring, get_nop_and_notify)
{
	struct dmanic_sqe op = sqe_move(DMANIC_OP_READ, self->segment.id, 0,
					self->handle, 0, MIB);

	fill(self->target.data, MIB, 7);
	ASSERT_EQ(run(self, variant, &op), MIB);
	EXPECT_EQ(memcmp(self->target.data, self->segment.data, MIB), 0);
	op = (struct dmanic_sqe) {};
	EXPECT_EQ(run(self, variant, &op), 0);
	op = sqe_notify(self->bell, 42);
	EXPECT_EQ(run(self, variant, &op), 0);
	EXPECT_EQ(irq_raised(&self->irq), 1);
	op = put(self, 64);
	op.flags = DMANIC_SQE_NOTIFY;
	op.notify = self->bell;
	EXPECT_EQ(run(self, variant, &op), 64);
	EXPECT_EQ(irq_raised(&self->irq), 2);
}

/*
 * What is posted while the engine is about to sleep, or behind what wakes it, is not left until
 * somebody looks what takes too long
 */
TEST_TIMEOUT(engine, does_not_sleep_while_there_are_posts, 90)
{
	const unsigned int rounds = harness_load(100000), batch = 3;
	struct uring_self self = {};
	__u64 longest = 0, start;
	struct dmanic_sqe op;
	unsigned int i, n;

	uring_objects(&self);
	ring_make(&self.ring, 64, IORING_SETUP_SQE128);
	op = put(&self, 8193);
	for (i = 0; i < rounds; i++) {
		start = now_ns();
		for (n = 0; n < batch; n++)
			prep_post(&self.ring, &self.queue, &op);
		ring_submit(&self.ring, batch);
		for (n = 0; n < batch; n++)
			ASSERT_EQ(ring_reap(&self.ring, NULL, NULL), 8193);
		if (now_ns() - start > longest)
			longest = now_ns() - start;
	}
	harness_note("%u times, at most %llu us", rounds, longest / 1000);
	EXPECT_LT(longest, slow_ns(4000));
}

/* Completions come in any order, but each command has one. */
TEST_F(uring, many_at_once)
{
	struct dmanic_sqe op;
	__u64 seen = 0, data;
	unsigned int i;
	int res;

	for (i = 0; i < 48; i++) {
		op = put(self, i % 3 ? 8 : 65536);
		prep_post(&self->ring, &self->queue, &op)->user_data = i;
	}
	ring_submit(&self->ring, 48);
	for (i = 0; i < 48; i++) {
		res = ring_reap(&self->ring, &data, NULL);
		ASSERT_LT(data, 48);
		EXPECT_EQ(res, data % 3 ? 8 : 65536);
		EXPECT_EQ(seen & 1ULL << data, 0);
		seen |= 1ULL << data;
	}
	EXPECT_EQ(seen, (1ULL << 48) - 1);
}

TEST_F(uring, second_result_is_the_bytes)
{
	struct dmanic_sqe op = put(self, 8);
	__u64 second;

	if (!(variant->flags & IORING_SETUP_CQE32))
		SKIP("not with small completions");
	prep_post(&self->ring, &self->queue, &op);
	ring_submit(&self->ring, 1);
	ASSERT_EQ(ring_reap(&self->ring, NULL, &second), 8);
	EXPECT_EQ(second, 8);
	op = put(self, MIB);
	prep_post(&self->ring, &self->queue, &op);
	ring_submit(&self->ring, 1);
	ASSERT_EQ(ring_reap(&self->ring, NULL, &second), MIB);
	EXPECT_EQ(second, MIB);
}

TEST_F(uring, failures_are_in_res)
{
	struct dmanic_sqe op = put(self, MIB + 1);
	struct segment closed = segment_make(&self->peer, 4096);

	EXPECT_EQ(run(self, variant, &op), -ERANGE);
	op = put(self, 8);
	op.local = UNUSED_ID;
	EXPECT_EQ(run(self, variant, &op), -ENXIO);
	op = put(self, 8);
	op.remote = UNUSED_ID;
	EXPECT_EQ(run(self, variant, &op), -ENOENT);
	op = put(self, 8);
	op.opcode = 77;
	EXPECT_EQ(run(self, variant, &op), -EINVAL);
	op = (struct dmanic_sqe) { .opcode = DMANIC_OP_BROADCAST };
	EXPECT_EQ(run(self, variant, &op), -EOPNOTSUPP);
	op = put(self, 8);
	op.reserved = 1;
	EXPECT_EQ(run(self, variant, &op), -EINVAL);
	segment_export(&closed, DMANIC_RIGHT_READ);
	op = put(self, 8);
	op.remote = segment_connect(&self->node, &closed);
	EXPECT_EQ(run(self, variant, &op), -EACCES);
	/* Nothing of it stuck */
	op = put(self, 8);
	EXPECT_EQ(run(self, variant, &op), 8);
}

TEST_F(uring, enter_takes_entries)
{
	struct dmanic_cqe cqe;
	unsigned int i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < 32; i++) {
			struct dmanic_sqe *sqe = queue_sqe(&self->queue);

			*sqe = put(self, round == 2 ? 65536 : 8);
			sqe->cookie = i;
		}
		queue_publish(&self->queue);
		prep_enter(&self->ring, &self->queue, 64)->flags |=
			variant->entry_flags;
		ASSERT_EQ(ring_run(&self->ring), 32);
		for (i = 0; i < 32; i++) {
			cqe = queue_wait(&self->queue);
			EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
			EXPECT_EQ(cqe.cookie, i);
		}
	}
	prep_enter(&self->ring, &self->queue, 64);
	EXPECT_EQ(ring_run(&self->ring), 0);
	store32(&self->queue.ring->sq_tail, self->queue.tail + 1000);
	prep_enter(&self->ring, &self->queue, 64);
	EXPECT_EQ(ring_run(&self->ring), -EINVAL);
}

TEST_F(uring, fence_is_about_the_ring_too)
{
	struct dmanic_sqe op = sqe_move(DMANIC_OP_READ, self->segment.id, 4096,
					self->handle, 0, 8);
	unsigned int i;

	memset(self->segment.data, 0x5a, 4096);
	for (i = 0; i < 4; i++)
		*queue_sqe(&self->queue) = put(self, MIB / 2);
	*queue_sqe(&self->queue) = put(self, 8);
	queue_publish(&self->queue);
	prep_enter(&self->ring, &self->queue, 8);
	op.flags = DMANIC_SQE_FENCE;
	prep_post(&self->ring, &self->queue, &op);
	ring_submit(&self->ring, 2);
	ring_reap(&self->ring, NULL, NULL);
	ring_reap(&self->ring, NULL, NULL);
	EXPECT_EQ(self->queue.ring->cq_tail, 5);
	EXPECT_EQ(memcmp(self->segment.data + 4096, self->segment.data, 8), 0);
}

/*
 * What a FENCE waits for ends while the next command is on its way: nobody is
 * left behind.
 */
TEST_F_TIMEOUT(uring, nothing_is_left_behind_a_fence, 60)
{
	struct dmanic_sqe big = put(self, MIB / 4), fence = put(self, 8);
	unsigned int round, i, rounds = harness_load(500);

	fence.flags = DMANIC_SQE_FENCE;
	for (round = 0; round < rounds; round++) {
		big.length = (round % 64 + 1) * 4096;
		for (i = 0; i < 5; i++) {
			const struct dmanic_sqe *op = i == 1 ? &fence : &big;

			prep_post(&self->ring, &self->queue, op)->flags =
				variant->entry_flags;
		}
		/* Refused, behind a FENCE */
		big.length = MIB + 1;
		prep_post(&self->ring, &self->queue, &big)->flags =
			variant->entry_flags;
		ring_submit(&self->ring, 6);
		for (i = 0; i < 6; i++)
			EXPECT_NE(ring_reap(&self->ring, NULL, NULL), -EBUSY);
	}
}

static void *enter_always(void *arg)
{
	const struct queue *queue = arg;
	struct dmanic_enter enter;

	do
		enter = (struct dmanic_enter) {
			.size = sizeof(enter), .to_submit = 3,
		};
	while (!dmanic_call(queue->fd, DMANIC_IOC_ENTER, &enter) &&
	       !load32(&queue->ring->arm));
	return NULL;
}

#define WAYS_BATCH	16U

/* A thread of the driver, ENTER and commands: each notify is raised once. */
TEST_F_TIMEOUT(uring, three_ways_at_once, 60)
{
	struct queue queue = poller_make(&self->node, 64, 64, 0);
	struct dmanic_sqe op = sqe_notify(self->bell, 1);
	unsigned int round, i, rounds = harness_load(300);
	__u64 cookie = 0, reaped = 0;
	struct dmanic_cqe cqe;
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, enter_always, &queue), 0);
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < WAYS_BATCH; i++) {
			struct dmanic_sqe *sqe = queue_sqe(&queue);

			*sqe = op;
			sqe->cookie = cookie++;
			prep_post(&self->ring, &queue, &op)->flags =
				variant->entry_flags;
		}
		poller_publish(&queue);
		ring_submit(&self->ring, WAYS_BATCH);
		for (i = 0; i < WAYS_BATCH; i++)
			ASSERT_EQ(ring_reap(&self->ring, NULL, NULL), 0);
		for (i = 0; i < WAYS_BATCH; i++) {
			ASSERT_TRUE(WAIT_FOR(queue_reap(&queue, &cqe)));
			ASSERT_EQ(cqe.cookie, reaped++);
			ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
		}
	}
	EXPECT_EQ(irq_raised(&self->irq), 2 * cookie);
	/* Nobody else uses it here */
	store32(&queue.ring->arm, 1);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

TEST_F(uring, posts_are_counted)
{
	struct dmanic_sqe op = put(self, 64);
	struct device before, after;

	device_stats(self->node.name, &before);
	ASSERT_EQ(run(self, variant, &op), 64);
	op = put(self, 65536);
	ASSERT_EQ(run(self, variant, &op), 65536);
	op = put(self, MIB + 1);
	ASSERT_EQ(run(self, variant, &op), -ERANGE);
	device_stats(self->node.name, &after);
	EXPECT_EQ(after.stats[DMANIC_STATS_A_POSTED] -
		  before.stats[DMANIC_STATS_A_POSTED], 3);
	EXPECT_EQ(after.stats[DMANIC_STATS_A_COMPLETED] -
		  before.stats[DMANIC_STATS_A_COMPLETED], 2);
	EXPECT_EQ(after.stats[DMANIC_STATS_A_FAILED] -
		  before.stats[DMANIC_STATS_A_FAILED], 1);
	EXPECT_EQ(after.stats[DMANIC_STATS_A_WRITE_BYTES] -
		  before.stats[DMANIC_STATS_A_WRITE_BYTES], 64 + 65536);
}

/* What a queue remembers of its last entry does not outlive it. */
TEST_F(uring, what_was_found_is_forgotten)
{
	struct dmanic_sqe op = put(self, 8), other = op;
	struct segment local = segment_make(&self->node, 4096);

	ASSERT_EQ(run(self, variant, &op), 8);
	other.local = local.id;
	ASSERT_EQ(run(self, variant, &other), 8);
	ASSERT_EQ(segment_destroy(&local), 0);
	EXPECT_EQ(run(self, variant, &other), -ENXIO);

	ASSERT_EQ(run(self, variant, &op), 8);
	ASSERT_EQ(device_set_failed(self->peer.name, true), 0);
	EXPECT_EQ(run(self, variant, &op), -EHOSTUNREACH);
	ASSERT_EQ(device_set_failed(self->peer.name, false), 0);
	EXPECT_EQ(run(self, variant, &op), -ECONNRESET);
	ASSERT_EQ(disconnect(&self->node, self->handle), 0);
	op.remote = segment_connect(&self->node, &self->target);
	ASSERT_EQ(run(self, variant, &op), 8);
	ASSERT_EQ(segment_revoke(&self->target), 0);
	EXPECT_EQ(run(self, variant, &op), -ENXIO);
	ASSERT_EQ(disconnect(&self->node, op.remote), 0);
	EXPECT_EQ(run(self, variant, &op), -ENOENT);
}

/* ---- hostile ---- */

FIXTURE(hostile) {
	struct uring_self with;
};

FIXTURE_SETUP(hostile)
{
	uring_objects(&self->with);
	ring_make(&self->with.ring, 64, IORING_SETUP_SQE128);
}

FIXTURE_TEARDOWN(hostile)
{
}

static int run_simple(struct uring_self *with, const struct dmanic_sqe *op)
{
	return run_post(&with->ring, &with->queue, op);
}

TEST_F(hostile, entries_say_what_they_may)
{
	struct uring_self *with = &self->with;
	struct dmanic_sqe op = put(with, 8), good = op;
	static __u8 buffer[4096];
	struct iovec memory = { buffer, sizeof(buffer) };
	struct io_uring_sqe *sqe;

	op.flags = DMANIC_SQE_SILENT;
	EXPECT_EQ(run_simple(with, &op), -EINVAL);
	op = good;
	op.cookie = 1;
	EXPECT_EQ(run_simple(with, &op), -EINVAL);
	op = (struct dmanic_sqe) { .opcode = DMANIC_OP_FETCH_ADD,
				   .remote = with->handle, .payload = 1 };
	EXPECT_EQ(run_simple(with, &op), -EINVAL);
	sqe = prep_post(&with->ring, &with->queue, &good);
	sqe->cmd[79] = 1;
	EXPECT_EQ(ring_run(&with->ring), -EINVAL);
	sqe = prep_post(&with->ring, &with->queue, &good);
	sqe->cmd[64] = 1;
	EXPECT_EQ(ring_run(&with->ring), -EINVAL);
	ASSERT_EQ(io_uring_register_buffers(&with->ring, &memory, 1), 0);
	sqe = prep_post(&with->ring, &with->queue, &good);
	sqe->rw_flags = 1U << 0;	/* IORING_URING_CMD_FIXED */
	EXPECT_EQ(ring_run(&with->ring), -EINVAL);
	EXPECT_EQ(run_simple(with, &good), 8);
}

TEST_F(hostile, enter_never_waits)
{
	struct dmanic_uring_enter arg = { .min_complete = 1 };
	struct uring_self *with = &self->with;

	prep_command(&with->ring, with->queue.fd, DMANIC_URING_ENTER, &arg,
		     sizeof(arg));
	EXPECT_EQ(ring_run(&with->ring), -EINVAL);
	arg = (struct dmanic_uring_enter) { .timeout_ns = 1 };
	prep_command(&with->ring, with->queue.fd, DMANIC_URING_ENTER, &arg,
		     sizeof(arg));
	EXPECT_EQ(ring_run(&with->ring), -EINVAL);
}

TEST_F(hostile, commands_fit_their_object)
{
	struct uring_self *with = &self->with;
	struct dmanic_sqe op = put(with, 8);
	int file = memfd_create("no commands", MFD_CLOEXEC);
	static const __u32 unknown[] = { 0, 5, 77, ~0U };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		prep_command(&with->ring, with->queue.fd, unknown[i], &op,
			     sizeof(op));
		EXPECT_EQ(ring_run(&with->ring), -ENOTTY);
		prep_command(&with->ring, with->irq.fd, unknown[i], &op,
			     sizeof(op));
		EXPECT_EQ(ring_run(&with->ring), -ENOTTY);
	}
	prep_command(&with->ring, with->queue.fd, DMANIC_URING_IRQ_WAIT, &op,
		     sizeof(op));
	EXPECT_EQ(ring_run(&with->ring), -ENOTTY);
	prep_command(&with->ring, with->irq.fd, DMANIC_URING_POST, &op,
		     sizeof(op));
	EXPECT_EQ(ring_run(&with->ring), -ENOTTY);
	prep_command(&with->ring, with->node.fd, DMANIC_URING_POST, &op,
		     sizeof(op));
	EXPECT_EQ(ring_run(&with->ring), -EOPNOTSUPP);
	prep_command(&with->ring, file, DMANIC_URING_POST, &op, sizeof(op));
	EXPECT_EQ(ring_run(&with->ring), -EOPNOTSUPP);
	prep_command(&with->ring, 999, DMANIC_URING_POST, &op, sizeof(op));
	EXPECT_EQ(ring_run(&with->ring), -EBADF);
	close(file);
}

/* 64-byte entries have no place for an operation; ENTER needs no more. */
TEST_F(hostile, short_entries)
{
	struct uring_self *with = &self->with;
	struct dmanic_sqe op = put(with, 8);
	struct io_uring ring;

	ring_make(&ring, 8, 0);
	prep_command(&ring, with->queue.fd, DMANIC_URING_POST, &op, 16);
	EXPECT_EQ(ring_run(&ring), -EINVAL);
	*queue_sqe(&with->queue) = op;
	queue_publish(&with->queue);
	prep_enter(&ring, &with->queue, 1);
	EXPECT_EQ(ring_run(&ring), 1);
	EXPECT_EQ(queue_wait(&with->queue).status, DMANIC_STATUS_OK);
}

TEST_F(hostile, rings_that_poll_for_completions)
{
	struct uring_self *with = &self->with;
	struct dmanic_sqe op = put(with, 8);
	struct io_uring ring;

	ring_make(&ring, 8, IORING_SETUP_SQE128 | IORING_SETUP_IOPOLL);
	EXPECT_EQ(run_post(&ring, &with->queue, &op), -EOPNOTSUPP);
}

struct scribble {
	struct io_uring_sqe *sqes;
	const struct dmanic_sqe *good;
	bool stop;
};

static void *scribble(void *data)
{
	struct scribble *scribble = data;
	struct dmanic_sqe *op;
	unsigned int i = 0;

	while (!__atomic_load_n(&scribble->stop, __ATOMIC_RELAXED)) {
		op = (void *)((char *)scribble->sqes + 128 * (i % 8) + 48);
		op->local = i & 8 ? scribble->good->local : UNUSED_ID;
		op->length = i & 16 ? 8 : 1ULL << 40;
		op->flags = i & 32 ? DMANIC_SQE_SILENT : 0;
		op->cookie = !(i & 960);
		i++;
	}
	return NULL;
}

/* Read once: an operation is as it was at one moment, or refused. */
TEST_F(hostile, entries_change_while_they_are_read)
{
	struct uring_self *with = &self->with;
	struct dmanic_sqe op = put(with, 8);
	struct scribble data = { .good = &op };
	unsigned int i, good = 0;
	struct io_uring ring;
	pthread_t thread;
	int res;

	ring_make(&ring, 8, IORING_SETUP_SQE128);
	data.sqes = ring.sq.sqes;
	ASSERT_EQ(pthread_create(&thread, NULL, scribble, &data), 0);
	for (i = 0; i < 4000; i++) {
		prep_post(&ring, &with->queue, &op)->flags =
			i % 4 ? 0 : IOSQE_ASYNC;
		res = ring_run(&ring);
		good += res == 8;
		if (res != 8 && res != -ENXIO && res != -ERANGE &&
		    res != -EINVAL && res != -EOPNOTSUPP)
			FAIL("round %u: %d", i, res);
	}
	__atomic_store_n(&data.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_GT(good, 0);
	EXPECT_EQ(run_simple(with, &op), 8);
}

/* A descriptor is what gives the right, as for ENTER. */
TEST_F(hostile, queue_of_another_process)
{
	struct uring_self *with = &self->with;
	struct dmanic_sqe op = put(with, 64);
	int status;
	pid_t child;

	fill(with->segment.data, 64, 3);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		struct io_uring ring;

		ring_make(&ring, 8, IORING_SETUP_SQE128);
		_exit(run_post(&ring, &with->queue, &op) == 64 ? 0 : 1);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(memcmp(with->target.data, with->segment.data, 64), 0);
}

/* Where posts cannot be cancelled, there is an end to how long they take. */
TEST_F(hostile, too_much_at_once)
{
	struct uring_self *with = &self->with;
	struct dmanic_sqe op = put(with, 65 * MIB);
	unsigned int i, good = 0;
	struct queue few;
	int res;

	EXPECT_EQ(run_simple(with, &op),
		  ring_cancels(&with->node) ? -ERANGE : -EOPNOTSUPP);
	few = queue_make(&with->node, 4, 4);
	op = put(with, MIB);
	for (i = 0; i < 64; i++)
		prep_post(&with->ring, &few, &op);
	ASSERT_EQ(io_uring_submit(&with->ring), 64);
	for (i = 0; i < 64; i++) {
		res = ring_reap(&with->ring, NULL, NULL);
		good += res == MIB;
		EXPECT_TRUE(res == MIB || res == -EBUSY);
	}
	EXPECT_GE(good, 4);
}

/* Of what may be in flight then a user has his part only, however much he posts at once */
TEST_F_TIMEOUT(hostile, others_have_their_part, 60)
{
	struct uring_self *with = &self->with;
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct segment source, target, others_source;
	struct dmanic_sqe op, others_op;
	unsigned int i, round, refused = 0;
	struct queue others_queue;
	struct node other;
	__u64 data;
	int res;

	if (ring_cancels(&with->node))
		SKIP("posts can be cancelled here: as many as queues have completions");
	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &all), 0);
	node_allow(&fabric, 0);
	source = segment_make(&with->node, 40 * MIB);
	target = segment_make(&with->peer, 40 * MIB);
	segment_export(&target, DMANIC_RIGHT_WRITE);
	op = sqe_move(DMANIC_OP_WRITE, source.id, 0, segment_connect(&with->node, &target), 0,
		      40 * MIB);
	user_become(100000 + getpid());
	other = node_open(&fabric, 0);
	others_source = segment_make(&other, 20 * MIB);
	others_queue = queue_make(&other, 4, 4);
	others_op = sqe_move(DMANIC_OP_WRITE, others_source.id, 0,
			     segment_connect(&other, &target), 0, 20 * MIB);
	user_become(0);

	/* The first may have ended already when the next come */
	for (round = 0; round < 10 && !refused; round++) {
		for (i = 0; i < 7; i++)
			prep_post(&with->ring, &with->queue, &op);
		prep_post(&with->ring, &others_queue, &others_op)->user_data = 1;
		ASSERT_EQ(io_uring_submit(&with->ring), 8);
		for (i = 0; i < 8; i++) {
			res = ring_reap(&with->ring, &data, NULL);
			if (data)
				EXPECT_EQ(res, 20 * MIB);
			else
				EXPECT_TRUE(res == 40 * MIB || res == -EBUSY);
			refused += res == -EBUSY;
		}
	}
	EXPECT_GT(refused, 0);
}

FABRIC_TEST_MAIN()
