// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_operations.c - every operation of libnic on the real driver, posted on
 *	the queue's own ring and prepared for an io_uring
 *
 * Flags: -luring
 *
 * Owns: that both ways move the same bytes and bring back the same results, that
 * an entry is right whatever was in its memory before, and that libnic's waits
 * and its ENTER work as commands. Through libnic only; what the driver makes of
 * commands is test_uring's.
 */
#include "ranks.h"

#include <liburing.h>
#include <nic_uring.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	(256U << 10)
#define COOKIE	0xc00c1e5c00c1e5ULL

FIXTURE(operation) {
	struct nic_ctx *near, *far;
	struct nic_segment *from, *to, *list;
	struct nic_remote *inbox, *bell;
	struct nic_queue *queue;
	struct nic_irq *irq;
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	unsigned char *here, *there, *wanted;
	bool waits;
};

FIXTURE_VARIANT(operation) {
	bool uring;
};

FIXTURE_VARIANT_ADD(operation, queue) { .uring = false };
FIXTURE_VARIANT_ADD(operation, uring) { .uring = true };

FIXTURE_SETUP(operation)
{
	char name[DMANIC_NAME_MAX];
	struct fabric own;
	uint64_t key;

	fabric_make(&own, "a", 2, NULL);
	fabric_name(&own, 0, name);
	NIC_OK_OR_FAIL(NULL, nic_open(name, &self->near));
	fabric_name(&own, 1, name);
	NIC_OK_OR_FAIL(NULL, nic_open(name, &self->far));
	NIC_OK_OR_FAIL(NULL, nic_segment_alloc(self->near, BYTES, &self->from));
	NIC_OK_OR_FAIL(NULL, nic_segment_alloc(self->near, 4096, &self->list));
	NIC_OK_OR_FAIL(NULL, nic_segment_alloc(self->far, BYTES, &self->to));
	NIC_OK_OR_FAIL(NULL, nic_segment_export(self->to, NIC_READ | NIC_WRITE |
						NIC_ATOMIC, NULL, NULL, &key));
	NIC_OK_OR_FAIL(NULL, nic_connect(self->near, 1,
					 nic_segment_id(self->to), key,
					 &self->inbox));
	NIC_OK_OR_FAIL(NULL, nic_irq_create(self->far, 8, 0, NULL, NULL,
					    &self->irq));
	NIC_OK_OR_FAIL(NULL, nic_connect_irq(self->near, 1,
					     nic_irq_id(self->irq),
					     nic_irq_key(self->irq),
					     &self->bell));
	NIC_OK_OR_FAIL(NULL, nic_queue_create(self->near, 8, &self->queue));
	self->waits = nic_uring_features(self->near) & NIC_URING_WAIT;
	ASSERT_TRUE(nic_uring_features(self->near) & NIC_URING_POST);
	ASSERT_EQ(io_uring_queue_init(8, &self->ring, IORING_SETUP_SQE128 |
				      IORING_SETUP_CQE32), 0);
	self->here = nic_segment_addr(self->from);
	self->there = nic_segment_addr(self->to);
	self->wanted = malloc(BYTES);
	ASSERT_TRUE(self->wanted);
	fill(self->here, BYTES, 1);
	fill(self->there, BYTES, 2);
}

FIXTURE_TEARDOWN(operation)
{
}

/* An entry of the io_uring, with whatever the last one left there, and worse */
static void *entry(struct operation_self *self)
{
	self->sqe = io_uring_get_sqe(&self->ring);
	ASSERT_TRUE(self->sqe);
	return memset(self->sqe, 0xee, 128);
}

struct outcome {
	unsigned int status;
	int res;
	uint64_t result;
};

static struct outcome reap_ring(struct operation_self *self)
{
	struct __kernel_timespec limit = {
		.tv_sec = slow_ns(20000) / SECOND_NS,
	};
	struct outcome outcome;
	struct io_uring_cqe *cqe;

	ASSERT_EQ(io_uring_wait_cqe_timeout(&self->ring, &cqe, &limit), 0);
	EXPECT_EQ(cqe->user_data, COOKIE);
	outcome.status = nic_uring_status(cqe->res);
	outcome.res = cqe->res;
	outcome.result = nic_uring_result(cqe);
	io_uring_cqe_seen(&self->ring, cqe);
	return outcome;
}

static struct outcome run_ring(struct operation_self *self)
{
	self->sqe->user_data = COOKIE;
	ASSERT_EQ(io_uring_submit(&self->ring), 1);
	return reap_ring(self);
}

static struct outcome run_queue(struct operation_self *self)
{
	struct nic_completion done;

	ASSERT_EQ(nic_queue_wait(self->queue, &done, 1, slow_ns(20000)), 1);
	EXPECT_EQ(done.cookie, COOKIE);
	return (struct outcome) { .status = done.status, .result = done.result };
}

static struct outcome run_it(struct operation_self *self, bool uring, int ret)
{
	if (ret)
		FAIL("%d: %s", ret, nic_error_detail(NULL));
	return uring ? run_ring(self) : run_queue(self);
}

/* An operation by its name and what nic_post_...() has between queue and cookie */
#define RUN_OP(name, ...)						\
	run_it(self, variant->uring, variant->uring ?			\
	       nic_uring_prep_##name(entry(self), self->queue,		\
				     __VA_ARGS__) :			\
	       nic_post_##name(self->queue, __VA_ARGS__, COOKIE))

#define EXPECT_MOVED(op, bytes) do {					\
	struct outcome of_ = (op);					\
									\
	EXPECT_EQ(of_.status, NIC_OK);					\
	EXPECT_EQ(of_.result, (bytes));					\
	if (variant->uring)						\
		EXPECT_EQ(of_.res, (bytes));				\
} while (0)

#define EXPECT_WORD(op, before) do {					\
	struct outcome of_ = (op);					\
									\
	EXPECT_EQ(of_.status, NIC_OK);					\
	EXPECT_EQ(of_.result, (before));				\
	EXPECT_EQ(of_.res, 0);						\
} while (0)

/* From here on @wanted is what @memory is to become */
static void expect(struct operation_self *self, const unsigned char *memory)
{
	memcpy(self->wanted, memory, BYTES);
}

static void expect_same(struct operation_self *self, const unsigned char *memory)
{
	EXPECT_EQ(memcmp(self->wanted, memory, BYTES), 0);
}

static void expect_event(struct operation_self *self, uint64_t payload)
{
	struct nic_event event;

	NIC_OK_OR_FAIL(self->far, nic_irq_wait(self->irq, &event,
					       slow_ns(20000)));
	EXPECT_EQ(event.payload, payload);
	EXPECT_EQ(nic_irq_poll(self->irq, &event, 1, NULL), 0);
}

/* ---- operations ---- */

TEST_F(operation, nop)
{
	EXPECT_MOVED(RUN_OP(nop, 0), 0);
	EXPECT_MOVED(RUN_OP(nop, NIC_FENCE), 0);
}

/* Done by the poster, and by the worker */
TEST_F(operation, put)
{
	expect(self, self->there);
	memcpy(self->wanted + 70, self->here + 7, 100);
	EXPECT_MOVED(RUN_OP(put, self->from, 7, self->inbox, 70, 100, 0), 100);
	expect_same(self, self->there);
	memcpy(self->wanted + 1, self->here + 3, BYTES - 9);
	EXPECT_MOVED(RUN_OP(put, self->from, 3, self->inbox, 1, BYTES - 9,
			    NIC_FENCE), BYTES - 9);
	expect_same(self, self->there);
}

TEST_F(operation, get)
{
	expect(self, self->here);
	memcpy(self->wanted + 7, self->there + 70, 100);
	EXPECT_MOVED(RUN_OP(get, self->from, 7, self->inbox, 70, 100, 0), 100);
	expect_same(self, self->here);
	memcpy(self->wanted + 3, self->there + 1, BYTES - 9);
	EXPECT_MOVED(RUN_OP(get, self->from, 3, self->inbox, 1, BYTES - 9, 0),
		     BYTES - 9);
	expect_same(self, self->here);
}

TEST_F(operation, put_notify)
{
	expect(self, self->there);
	memcpy(self->wanted + 70, self->here + 7, 100);
	EXPECT_MOVED(RUN_OP(put_notify, self->from, 7, self->inbox, 70, 100,
			    self->bell, 31, 0), 100);
	expect_event(self, 31);
	expect_same(self, self->there);
}

TEST_F(operation, notify)
{
	EXPECT_MOVED(RUN_OP(notify, self->bell, UINT64_MAX, 0), 0);
	expect_event(self, UINT64_MAX);
}

static const struct nic_stride stride = { 100, 50, 120, 300 };

TEST_F(operation, put_strided)
{
	unsigned int i;

	expect(self, self->there);
	for (i = 0; i < 50; i++)
		memcpy(self->wanted + 10 + i * 300, self->here + 20 + i * 120,
		       100);
	EXPECT_MOVED(RUN_OP(put_strided, self->from, 20, self->inbox, 10,
			    &stride, 0), 5000);
	expect_same(self, self->there);
}

TEST_F(operation, put_strided_notify)
{
	unsigned int i;

	expect(self, self->there);
	for (i = 0; i < 50; i++)
		memcpy(self->wanted + 10 + i * 300, self->here + 20 + i * 120,
		       100);
	EXPECT_MOVED(RUN_OP(put_strided_notify, self->from, 20, self->inbox, 10,
			    &stride, self->bell, 47, 0), 5000);
	expect_event(self, 47);
	expect_same(self, self->there);
}

TEST_F(operation, get_strided)
{
	unsigned int i;

	expect(self, self->here);
	for (i = 0; i < 50; i++)
		memcpy(self->wanted + 20 + i * 120, self->there + 10 + i * 300,
		       100);
	EXPECT_MOVED(RUN_OP(get_strided, self->from, 20, self->inbox, 10,
			    &stride, 0), 5000);
	expect_same(self, self->here);
}

/* Blocks 24 bytes into a segment of their own; one more is out of bounds */
static struct nic_list blocks(struct operation_self *self)
{
	static const struct nic_list_entry entries[] = {
		{ 1000, 0, 10 }, { 0, 5000, 300 }, { 0, 0, 0 },
		{ 9999, 777, 70000 }, { BYTES, 0, 1 },
	};

	memcpy((char *)nic_segment_addr(self->list) + 24, entries,
	       sizeof(entries));
	return (struct nic_list) {
		.seg = self->list, .offset = 24, .count = ARRAY_SIZE(entries) - 1,
	};
}

static void move_blocks(unsigned char *to, const unsigned char *from, bool get)
{
	memcpy(to + (get ? 1005 : 3), from + (get ? 3 : 1005), 10);
	memcpy(to + (get ? 5 : 5003), from + (get ? 5003 : 5), 300);
	memcpy(to + (get ? 10004 : 780), from + (get ? 780 : 10004), 70000);
}

/* Where a ring that dies could not be rid of it, it is refused */
static bool list_is_refused(struct operation_self *self,
			    const struct operation_variant *variant,
			    struct outcome of)
{
	if (!variant->uring || self->waits)
		return false;
	EXPECT_EQ(of.status, NIC_UNSUPPORTED);
	return true;
}

TEST_F(operation, put_list)
{
	struct nic_list list = blocks(self);
	struct outcome of;

	expect(self, self->there);
	of = RUN_OP(put_list, self->from, 5, self->inbox, 3, &list, 0);
	if (!list_is_refused(self, variant, of)) {
		EXPECT_MOVED(of, 70310);
		move_blocks(self->wanted, self->here, false);
	}
	expect_same(self, self->there);
}

TEST_F(operation, get_list)
{
	struct nic_list list = blocks(self);
	struct outcome of;

	expect(self, self->here);
	of = RUN_OP(get_list, self->from, 5, self->inbox, 3, &list, 0);
	if (!list_is_refused(self, variant, of)) {
		EXPECT_MOVED(of, 70310);
		move_blocks(self->wanted, self->there, true);
	}
	expect_same(self, self->here);
}

TEST_F(operation, list_tells_what_it_moved)
{
	struct nic_list list = blocks(self);
	struct outcome of;

	list.count++;
	expect(self, self->there);
	of = RUN_OP(put_list, self->from, 5, self->inbox, 3, &list, 0);
	if (!list_is_refused(self, variant, of)) {
		EXPECT_EQ(of.status, NIC_BOUNDS);
		EXPECT_EQ(of.result, 70310);
		move_blocks(self->wanted, self->here, false);
	}
	expect_same(self, self->there);
}

TEST_F(operation, atomics)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(self->there + 64);

	atomic_store(word, UINT64_MAX - 1);
	expect(self, self->there);
	EXPECT_WORD(RUN_OP(fetch_add, self->inbox, 64, 5, 0), UINT64_MAX - 1);
	EXPECT_EQ(atomic_load(word), 3);
	/* Not what is expected: nothing is written, and that is no failure */
	EXPECT_WORD(RUN_OP(compare_swap, self->inbox, 64, 4, 99, 0), 3);
	EXPECT_EQ(atomic_load(word), 3);
	EXPECT_WORD(RUN_OP(compare_swap, self->inbox, 64, 3, 99, NIC_FENCE), 3);
	EXPECT_EQ(atomic_load(word), 99);
	EXPECT_WORD(RUN_OP(swap, self->inbox, 64, 1ULL << 63, 0), 99);
	EXPECT_EQ(atomic_load(word), 1ULL << 63);
	EXPECT_WORD(RUN_OP(swap, self->inbox, 64, UINT64_MAX - 1, 0), 1ULL << 63);
	expect_same(self, self->there);
	EXPECT_EQ(RUN_OP(swap, self->inbox, 65, 0, 0).status, NIC_INVALID);
	EXPECT_EQ(RUN_OP(fetch_add, self->inbox, BYTES, 0, 0).status, NIC_BOUNDS);
	expect_same(self, self->there);
}

/* What nobody was granted has the same outcome in both ways. */
TEST_F(operation, fails_alike)
{
	EXPECT_EQ(RUN_OP(put, self->from, 0, self->inbox, BYTES - 7, 8, 0).status,
		  NIC_BOUNDS);
	EXPECT_EQ(RUN_OP(put, self->from, 0, self->bell, 0, 8, 0).status,
		  NIC_NO_HANDLE);
	NIC_OK_OR_FAIL(self->far, nic_segment_revoke(self->to));
	EXPECT_EQ(RUN_OP(get, self->from, 0, self->inbox, 0, 8, 0).status,
		  NIC_NO_SEGMENT);
}

/* Their numbers may be those of something else in this context */
TEST_F(operation, refuses_what_another_context_has)
{
	const struct nic_stride two = { 8, 2, 8, 8 };
	struct nic_list list = { .seg = self->list, .count = 1 };
	struct nic_segment *mine = self->from, *others = self->to;
	struct nic_remote *far, *bell = self->bell;
	unsigned char place[128];
	uint64_t key;

	NIC_OK_OR_FAIL(NULL, nic_segment_export(mine, NIC_READ | NIC_WRITE | NIC_ATOMIC, NULL,
						NULL, &key));
	NIC_OK_OR_FAIL(NULL, nic_connect(self->far, 0, nic_segment_id(mine), key, &far));
#define REFUSED(name, ...) do {							\
	EXPECT_EQ(variant->uring ? nic_uring_prep_##name(place, self->queue, __VA_ARGS__) : \
		  nic_post_##name(self->queue, __VA_ARGS__, COOKIE), -EINVAL);		\
	EXPECT_TRUE(strstr(nic_error_detail(self->near), "another context than the queue"));	\
} while (0)
	REFUSED(put, others, 0, self->inbox, 0, 8, 0);
	REFUSED(put, mine, 0, far, 0, 8, 0);
	REFUSED(get, others, 0, self->inbox, 0, 8, 0);
	REFUSED(get, mine, 0, far, 0, 8, 0);
	REFUSED(put_notify, others, 0, self->inbox, 0, 8, bell, 0, 0);
	REFUSED(put_notify, mine, 0, far, 0, 8, bell, 0, 0);
	REFUSED(put_notify, mine, 0, self->inbox, 0, 8, far, 0, 0);
	REFUSED(put_strided, others, 0, self->inbox, 0, &two, 0);
	REFUSED(put_strided, mine, 0, far, 0, &two, 0);
	REFUSED(put_strided_notify, mine, 0, self->inbox, 0, &two, far, 0, 0);
	REFUSED(get_strided, others, 0, self->inbox, 0, &two, 0);
	REFUSED(put_list, others, 0, self->inbox, 0, &list, 0);
	REFUSED(get_list, mine, 0, far, 0, &list, 0);
	list.seg = others;
	REFUSED(put_list, mine, 0, self->inbox, 0, &list, 0);
	REFUSED(fetch_add, far, 0, 1, 0);
	REFUSED(compare_swap, far, 0, 1, 2, 0);
	REFUSED(swap, far, 0, 1, 0);
	REFUSED(notify, far, 0, 0);
#undef REFUSED
	EXPECT_EQ(nic_queue_in_flight(self->queue), 0);
}

TEST_F(operation, of_a_closed_context_reach_nothing)
{
	struct outcome of;

	of = RUN_OP(put, self->from, 0, self->inbox, 0, 8, 0);
	EXPECT_EQ(of.status, NIC_OK);
	/* Neither the segment nor a connection is freed before */
	nic_irq_destroy(self->irq);
	nic_close(self->far);
	of = RUN_OP(put, self->from, 0, self->inbox, 0, 8, 0);
	EXPECT_EQ(of.status, NIC_NO_SEGMENT);
}

/* Nor while somebody else has the device open by what he got from the one who closed it */
TEST_F(operation, of_a_context_that_a_child_inherited_reach_nothing)
{
	pid_t child = fork();
	struct outcome of;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	ASSERT_GT(child, 0);
	nic_irq_destroy(self->irq);
	nic_close(self->far);
	of = RUN_OP(put, self->from, 0, self->inbox, 0, 8, 0);
	EXPECT_EQ(of.status, NIC_NO_SEGMENT);
	ASSERT_EQ(kill(child, SIGKILL), 0);
	ASSERT_EQ(waitpid(child, NULL, 0), child);
}

/* Nor is anything waited for on what was destroyed, whoever has the file; @fd: of it */
static void expect_over(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	EXPECT_EQ(poll(&poll_fd, 1, 0), 1);
	EXPECT_EQ(poll_fd.revents & (POLLERR | POLLHUP), POLLERR | POLLHUP);
	ASSERT_EQ(close(fd), 0);
}

TEST_F(operation, destroyed_objects_are_over_for_who_inherited_them)
{
	int queue = dup(nic_queue_fd(self->queue)), irq = dup(nic_irq_fd(self->irq));

	ASSERT_TRUE(queue >= 0 && irq >= 0);
	nic_queue_destroy(self->queue);
	expect_over(queue);
	nic_irq_destroy(self->irq);
	expect_over(irq);
}

TEST_F(operation, go_on_when_a_child_closes_what_it_inherited)
{
	pid_t child = fork();
	struct outcome of;
	int status;

	if (!child) {
		nic_close(self->far);
		nic_close(self->near);
		_exit(0);
	}
	ASSERT_GT(child, 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFEXITED(status));
	of = RUN_OP(put, self->from, 0, self->inbox, 0, 8, 0);
	EXPECT_EQ(of.status, NIC_OK);
}

/* ---- commands that are no operations ---- */

/* Without room for the word before, an atomic is not done. */
TEST(uring, atomics_need_large_completions)
{
	struct operation_self own = { 0 }, *self = &own;
	struct io_uring_cqe *cqe;

	operation_setup(self, NULL);
	io_uring_queue_exit(&self->ring);
	ASSERT_EQ(io_uring_queue_init(8, &self->ring, IORING_SETUP_SQE128), 0);
	expect(self, self->there);
	ASSERT_EQ(nic_uring_prep_fetch_add(entry(self), self->queue, self->inbox,
					   0, 1, 0), 0);
	ASSERT_EQ(io_uring_submit(&self->ring), 1);
	ASSERT_EQ(io_uring_wait_cqe(&self->ring, &cqe), 0);
	EXPECT_EQ(nic_uring_status(cqe->res), NIC_INVALID);
	expect_same(self, self->there);
}

/* What was posted on the queue is taken by a command, and completes there. */
TEST(uring, enter)
{
	struct operation_self own = { 0 }, *self = &own;
	struct nic_completion done[3];
	unsigned int i;

	operation_setup(self, NULL);
	expect(self, self->there);
	memcpy(self->wanted, self->here, 24);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(nic_post_put(self->queue, self->from, 8 * i,
				       self->inbox, 8 * i, 8, 0, i), 0);
	nic_uring_prep_enter(entry(self), self->queue);
	EXPECT_EQ(run_ring(self).res, 3);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(nic_queue_wait(self->queue, &done[i], 1,
					 slow_ns(20000)), 1);
		EXPECT_EQ(done[i].cookie, i);
		EXPECT_EQ(done[i].status, NIC_OK);
	}
	expect_same(self, self->there);
}

TEST(uring, waits)
{
	struct operation_self own = { 0 }, *self = &own;
	uint64_t count;

	operation_setup(self, NULL);
	if (!self->waits)
		SKIP("this kernel cannot cancel commands: no waits");
	count = nic_irq_count(self->irq);
	nic_uring_prep_irq_wait(entry(self), self->irq, count + 1,
				20 * MS_NS);
	EXPECT_EQ(run_ring(self).status, NIC_TIMED_OUT);
	nic_uring_prep_irq_wait(entry(self), self->irq, count + 2,
				NIC_TIMEOUT_NEVER);
	self->sqe->user_data = COOKIE;
	ASSERT_EQ(io_uring_submit(&self->ring), 1);
	ASSERT_EQ(nic_post_notify(self->queue, self->bell, 1, 0, 0), 0);
	ASSERT_EQ(nic_queue_submit(self->queue), 1);
	EXPECT_EQ(io_uring_cq_ready(&self->ring), 0);
	ASSERT_EQ(nic_post_notify(self->queue, self->bell, 2, 0, 0), 0);
	ASSERT_EQ(nic_queue_submit(self->queue), 1);
	EXPECT_EQ(reap_ring(self).res, 0);

	/* Two completions are there already */
	nic_uring_prep_wait(entry(self), self->queue, 2, NIC_TIMEOUT_NEVER);
	EXPECT_EQ(run_ring(self).res, 2);
	nic_uring_prep_wait(entry(self), self->queue, 3, 20 * MS_NS);
	EXPECT_EQ(run_ring(self).status, NIC_TIMED_OUT);
}

/* And where there are none, that is said in the same words. */
TEST(uring, waits_nobody_could_cancel)
{
	struct operation_self own = { 0 }, *self = &own;

	operation_setup(self, NULL);
	if (self->waits)
		SKIP("this kernel can cancel commands");
	nic_uring_prep_irq_wait(entry(self), self->irq, 1, MS_NS);
	EXPECT_EQ(run_ring(self).status, NIC_UNSUPPORTED);
	nic_uring_prep_wait(entry(self), self->queue, 1, MS_NS);
	EXPECT_EQ(run_ring(self).status, NIC_UNSUPPORTED);
}

FABRIC_TEST_MAIN_NONE()
