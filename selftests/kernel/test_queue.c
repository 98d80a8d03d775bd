// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_queue.c - queues: making them, what an entry may hold, room
 *
 * Owns: everything about a submission entry but the bytes it moves (that is
 * test_queue_data.c) and everything about ENTER but waiting
 * (test_queue_wait.c).
 */
#include "dmanic_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

FIXTURE(queue) {
	struct node node;
	struct node peer;
	struct segment local;
	struct segment remote;
	struct irq irq;
	struct queue queue;
	__u32 handle;
	__u32 notify;
};

FIXTURE_SETUP(queue)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, 4096);
	self->remote = segment_make(&self->peer, 4096);
	segment_export(&self->remote, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->remote);
	self->irq = irq_make(&self->peer, 16);
	self->notify = irq_connect(&self->node, &self->irq);
	self->queue = queue_make(&self->node, 8, 8);
	fill(self->local.data, 4096, 1);
	fill(self->remote.data, 4096, 2);
}

FIXTURE_TEARDOWN(queue)
{
}

static int create(const struct node *node, __u32 sq, __u32 cq, int eventfd,
		  struct dmanic_queue_create *arg)
{
	*arg = (struct dmanic_queue_create) {
		.size = sizeof(*arg), .sq_entries = sq, .cq_entries = cq,
		.eventfd = eventfd,
	};
	return dmanic_call(node->fd, DMANIC_IOC_QUEUE_CREATE, arg);
}

static struct dmanic_sqe write8(struct queue_self *self)
{
	return sqe_move(DMANIC_OP_WRITE, self->local.id, 0, self->handle, 0,
			8);
}

static __u32 status_of(struct queue_self *self, const struct dmanic_sqe *sqe)
{
	return queue_run(&self->queue, sqe).status;
}

static void post_nops(struct queue *queue, unsigned int count, __u64 cookie)
{
	struct dmanic_sqe *sqe;

	while (count--) {
		sqe = queue_sqe(queue);
		sqe->opcode = DMANIC_OP_NOP;
		sqe->cookie = cookie++;
	}
}

TEST_F(queue, entries_must_make_sense)
{
	static const __u32 bad[][2] = {
		{ 0, 0 }, { 0, 8 }, { 8, 0 }, { 3, 4 }, { 4, 6 }, { 8, 4 },
		{ 1U << 31, 1U << 30 }, { 5, 5 }, { 2, 1 }, { ~0U, ~0U },
	};
	struct dmanic_queue_create arg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(create(&self->node, bad[i][0], bad[i][1], -1, &arg),
			  -EINVAL);
}

TEST_F(queue, too_many_entries_is_EDQUOT)
{
	struct dmanic_queue_create arg;
	struct dmanic_query query;
	__u32 most;

	node_query(&self->node, &query);
	most = query.max_queue_entries;
	ASSERT_EQ(create(&self->node, 1, most * 2, -1, &arg), -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_QUEUE_ENTRIES);
	EXPECT_EQ(arg.refusal.asked, most * 2ULL);
	EXPECT_EQ(arg.refusal.allowed, most);
	ASSERT_EQ(create(&self->node, 1U << 31, 1U << 31, -1, &arg), -EDQUOT);
	EXPECT_EQ(arg.refusal.asked, 1ULL << 31);
	EXPECT_EQ(create(&self->node, most, most, -1, &arg), 0);
}

TEST_F(queue, eventfd_must_be_one)
{
	struct dmanic_queue_create arg;
	unsigned int before = count_fds();

	EXPECT_EQ(create(&self->node, 1, 1, -2, &arg), -EINVAL);
	EXPECT_EQ(create(&self->node, 1, 1, 9999, &arg), -EBADF);
	EXPECT_EQ(create(&self->node, 1, 1, self->node.fd, &arg), -EINVAL);
	EXPECT_EQ(create(&self->node, 1, 1, self->queue.fd, &arg), -EINVAL);
	EXPECT_EQ(count_fds(), before);
}

TEST_F(queue, descriptor_is_close_on_exec)
{
	EXPECT_EQ(fcntl(self->queue.fd, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(fcntl(self->irq.fd, F_GETFD), FD_CLOEXEC);
}

TEST_F(queue, rings_do_not_overlap_and_are_zero)
{
	static const __u32 sizes[][2] = { { 1, 1 }, { 1, 64 }, { 256, 256 } };
	struct dmanic_queue_create arg;
	unsigned int i;
	__u8 *map;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		free_memory_dirty(&self->node);
		ASSERT_EQ(create(&self->node, sizes[i][0], sizes[i][1], -1,
				 &arg), 0);
		EXPECT_GE(arg.sq_offset, sizeof(struct dmanic_queue_ring));
		EXPECT_EQ(arg.sq_offset % DMANIC_CACHE_LINE, 0);
		EXPECT_EQ(arg.cq_offset % sizeof(struct dmanic_cqe), 0);
		EXPECT_GE(arg.cq_offset, arg.sq_offset + sizes[i][0] * 64);
		EXPECT_GE(arg.mmap_bytes, arg.cq_offset + sizes[i][1] * 32);
		map = mmap(NULL, arg.mmap_bytes, PROT_READ, MAP_SHARED, arg.fd,
			   0);
		ASSERT_TRUE(map != MAP_FAILED);
		ASSERT_TRUE(all_bytes(map, arg.mmap_bytes, 0));
	}
}

TEST_F(queue, nop_completes_with_its_cookie)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	memset(self->queue.cq, 0xff, 8 * sizeof(*self->queue.cq));
	for (i = 0; i < 100; i++) {
		post_nops(&self->queue, 3, i * 1000ULL);
		queue_submit(&self->queue);
		cqe = queue_wait(&self->queue);
		EXPECT_EQ(cqe.cookie, i * 1000);
		EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
		EXPECT_EQ(cqe.opcode, DMANIC_OP_NOP);
		EXPECT_EQ(cqe.flags, 0);
		EXPECT_EQ(cqe.result, 0);
		EXPECT_EQ(cqe.reserved, 0);
		EXPECT_EQ(queue_wait(&self->queue).cookie, i * 1000 + 1);
		EXPECT_EQ(queue_wait(&self->queue).cookie, i * 1000 + 2);
	}
}

/* Invalid is said of the entry alone: the ones behind it still run. */
static void expect_bad(struct queue_self *self, const struct dmanic_sqe *bad,
		       __u32 status)
{
	__u8 before[8], after[8];
	struct dmanic_cqe cqe;
	bool seen = false;
	unsigned int i;

	memcpy(before, self->remote.data + 8, 8);
	memset(self->remote.data, 0, 8);
	*queue_sqe(&self->queue) = *bad;
	self->queue.sq[(self->queue.tail - 1) & 7].cookie = 77;
	*queue_sqe(&self->queue) = write8(self);
	queue_submit(&self->queue);
	for (i = 0; i < 2; i++) {
		cqe = queue_wait(&self->queue);
		if (cqe.cookie == 77) {
			seen = true;
			EXPECT_EQ(cqe.status, status);
			EXPECT_EQ(cqe.opcode, bad->opcode);
			EXPECT_EQ(cqe.flags, bad->flags);
		} else {
			EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
		}
	}
	EXPECT_TRUE(seen);
	EXPECT_EQ(memcmp(self->remote.data, self->local.data, 8), 0);
	memcpy(after, self->remote.data + 8, 8);
	EXPECT_EQ(memcmp(before, after, 8), 0);
	EXPECT_EQ(irq_raised(&self->irq), 0);
}

TEST_F(queue, unknown_opcode_is_INVALID)
{
	struct dmanic_sqe sqe;
	unsigned int opcode;

	for (opcode = DMANIC_OP_BROADCAST + 1; opcode < 256; opcode++) {
		sqe = write8(self);
		sqe.remote_offset = 8;
		sqe.opcode = opcode;
		expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	}
}

TEST_F(queue, reserved_opcode_is_UNSUPPORTED)
{
	struct dmanic_sqe sqe = write8(self);

	sqe.remote_offset = 8;
	sqe.opcode = DMANIC_OP_BROADCAST;
	expect_bad(self, &sqe, DMANIC_STATUS_UNSUPPORTED);
}

TEST_F(queue, unknown_flag_is_INVALID)
{
	struct dmanic_sqe sqe = write8(self);

	sqe.remote_offset = 8;
	for (sqe.flags = 1 << 5; sqe.flags; sqe.flags <<= 1)
		expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe.flags = DMANIC_SQE_URGENT;
	expect_bad(self, &sqe, DMANIC_STATUS_UNSUPPORTED);
	sqe.flags = DMANIC_SQE_ORDERED;
	expect_bad(self, &sqe, DMANIC_STATUS_UNSUPPORTED);
}

/* What an opcode does not use must be zero. */
TEST_F(queue, unused_field_is_INVALID)
{
	struct dmanic_sqe good = write8(self), sqe;

	good.remote_offset = 8;
	sqe = good;
	sqe.reserved = 1;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe.reserved = 0x8000;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.compare = 1ULL << 63;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.payload = 1;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.notify = self->notify;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe.opcode = DMANIC_OP_READ;
	sqe.flags = DMANIC_SQE_NOTIFY;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe = sqe_notify(self->notify, 1);
	sqe.length = 1;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe = sqe_notify(self->notify, 1);
	sqe.local = self->local.id;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	sqe = sqe_notify(self->notify, 1);
	sqe.flags = DMANIC_SQE_NOTIFY;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
}

TEST_F(queue, unknown_objects_have_their_status)
{
	struct dmanic_sqe sqe = write8(self);
	struct segment secret = segment_make(&self->peer, 64);
	__u32 read_only;

	sqe.remote_offset = 8;
	sqe.local = self->local.id + 1000;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_SEGMENT);
	sqe.local = 0;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_SEGMENT);
	sqe.local = ~0U;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_SEGMENT);
	sqe = write8(self);
	sqe.remote = self->handle + 1000;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_HANDLE);
	sqe.remote = 0;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_HANDLE);
	sqe.remote = ~0U;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_HANDLE);
	sqe.remote = self->notify;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_HANDLE);
	sqe = sqe_notify(self->handle, 1);
	expect_bad(self, &sqe, DMANIC_STATUS_NO_HANDLE);
	sqe.notify = 0;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_HANDLE);
	sqe.notify = ~0U;
	expect_bad(self, &sqe, DMANIC_STATUS_NO_HANDLE);

	segment_export(&secret, DMANIC_RIGHT_READ);
	read_only = segment_connect(&self->node, &secret);
	sqe = write8(self);
	sqe.remote = read_only;
	expect_bad(self, &sqe, DMANIC_STATUS_ACCESS);
}

TEST_F(queue, notify_of_another_node_is_INVALID)
{
	struct node third = node_open(&fabric, 2);
	struct irq irq = irq_make(&third, 4);
	__u32 elsewhere = irq_connect(&self->node, &irq);
	struct dmanic_sqe sqe = write8(self);

	sqe.remote_offset = 8;
	sqe.flags = DMANIC_SQE_NOTIFY;
	sqe.notify = elsewhere;
	expect_bad(self, &sqe, DMANIC_STATUS_INVALID);
	EXPECT_EQ(irq_raised(&irq), 0);
	sqe = sqe_notify(elsewhere, 5);
	EXPECT_EQ(status_of(self, &sqe), DMANIC_STATUS_OK);
	EXPECT_EQ(irq_raised(&irq), 1);
}

/* The driver's own segment of the same node is a peer like any other. */
TEST_F(queue, own_node_can_be_reached)
{
	struct segment own = segment_make(&self->node, 64);
	struct dmanic_sqe sqe = write8(self);

	segment_export(&own, DMANIC_RIGHT_WRITE);
	sqe.remote = segment_connect(&self->node, &own);
	EXPECT_EQ(status_of(self, &sqe), DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(own.data, self->local.data, 8), 0);
}

TEST_F(queue, silent_success_says_nothing)
{
	struct dmanic_sqe sqe = write8(self);
	struct dmanic_cqe cqe;
	unsigned int i;

	sqe.flags = DMANIC_SQE_SILENT;
	for (i = 0; i < 50; i++) {
		/* More of them than there are completion entries */
		*queue_sqe(&self->queue) = sqe;
		*queue_sqe(&self->queue) = sqe;
		ASSERT_TRUE(WAIT_FOR(!queue_enter(&self->queue, 2, 0, 0) &&
				     load32(&self->queue.ring->sq_head) ==
				     self->queue.tail));
	}
	post_nops(&self->queue, 1, 99);
	self->queue.sq[(self->queue.tail - 1) & 7].flags = DMANIC_SQE_FENCE;
	queue_submit(&self->queue);
	EXPECT_EQ(queue_wait(&self->queue).cookie, 99);
	EXPECT_TRUE(!queue_reap(&self->queue, &cqe));
	EXPECT_EQ(memcmp(self->remote.data, self->local.data, 8), 0);
}

TEST_F(queue, silent_failure_speaks)
{
	struct dmanic_sqe sqe = write8(self);

	sqe.flags = DMANIC_SQE_SILENT;
	sqe.cookie = 5;
	sqe.remote_offset = 4096;
	EXPECT_EQ(status_of(self, &sqe), DMANIC_STATUS_BOUNDS);
	sqe.remote_offset = 0;
	sqe.local = 0;
	EXPECT_EQ(status_of(self, &sqe), DMANIC_STATUS_NO_SEGMENT);
	/* One that only the target can refuse */
	sqe.local = self->local.id;
	ASSERT_EQ(segment_revoke(&self->remote), 0);
	EXPECT_EQ(status_of(self, &sqe), DMANIC_STATUS_NO_SEGMENT);
}

TEST_F(queue, only_what_is_asked_for_is_taken)
{
	struct dmanic_cqe cqe;

	post_nops(&self->queue, 5, 0);
	ASSERT_EQ(queue_enter(&self->queue, 2, 2, slow_ns(20000)), 0);
	EXPECT_EQ(self->queue.submitted, 2);
	EXPECT_EQ(self->queue.available, 2);
	ASSERT_EQ(queue_enter(&self->queue, 0, 0, 0), 0);
	EXPECT_EQ(self->queue.submitted, 0);
	ASSERT_EQ(queue_enter(&self->queue, 100, 5, slow_ns(20000)), 0);
	EXPECT_EQ(self->queue.submitted, 3);
	EXPECT_EQ(self->queue.available, 5);
	ASSERT_EQ(queue_enter(&self->queue, ~0U, 0, 0), 0);
	EXPECT_EQ(self->queue.submitted, 0);
	while (queue_reap(&self->queue, &cqe))
		;
	ASSERT_EQ(queue_enter(&self->queue, 0, 0, 0), 0);
	EXPECT_EQ(self->queue.available, 0);
}

/* No completion is lost, none overwritten: what has no room is not taken. */
TEST_F(queue, full_completion_ring_leaves_entries)
{
	struct queue queue = queue_make(&self->node, 4, 4);
	struct dmanic_cqe cqe;
	unsigned int i;

	post_nops(&queue, 4, 0);
	ASSERT_EQ(queue_enter(&queue, 4, 4, slow_ns(20000)), 0);
	ASSERT_EQ(queue.submitted, 4);
	EXPECT_EQ(queue_flags(&queue) & DMANIC_RING_CQ_FULL, 0);
	post_nops(&queue, 4, 4);
	ASSERT_EQ(queue_enter(&queue, 4, 0, 0), 0);
	EXPECT_EQ(queue.submitted, 0);
	EXPECT_EQ(queue.available, 4);
	EXPECT_NE(queue_flags(&queue) & DMANIC_RING_CQ_FULL, 0);
	EXPECT_EQ(load32(&queue.ring->sq_head), 4);

	ASSERT_TRUE(queue_reap(&queue, &cqe));
	EXPECT_EQ(cqe.cookie, 0);
	ASSERT_TRUE(queue_reap(&queue, &cqe));
	ASSERT_EQ(queue_enter(&queue, 4, 4, slow_ns(20000)), 0);
	EXPECT_EQ(queue.submitted, 2);
	EXPECT_NE(queue_flags(&queue) & DMANIC_RING_CQ_FULL, 0);
	for (i = 2; i < 6; i++) {
		ASSERT_TRUE(queue_reap(&queue, &cqe));
		EXPECT_EQ(cqe.cookie, i);
	}
	EXPECT_TRUE(!queue_reap(&queue, &cqe));
	ASSERT_EQ(queue_enter(&queue, 4, 2, slow_ns(20000)), 0);
	EXPECT_EQ(queue.submitted, 2);
	EXPECT_EQ(queue_flags(&queue) & DMANIC_RING_CQ_FULL, 0);
	ASSERT_TRUE(queue_reap(&queue, &cqe));
	EXPECT_EQ(cqe.cookie, 6);
	ASSERT_TRUE(queue_reap(&queue, &cqe));
	EXPECT_EQ(cqe.cookie, 7);
}

/* In flight counts as well: a slow operation holds its place. */
TEST_F(queue, operations_in_flight_hold_their_room)
{
	struct apart apart = apart_make(slow_ns(500), 64);
	struct queue queue = queue_make(&apart.node, 2, 2);
	struct dmanic_cqe cqe;

	*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, apart.local.id, 0,
				      apart.handle, 0, 8);
	*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, apart.local.id, 0,
				      apart.handle, 8, 8);
	ASSERT_EQ(queue_enter(&queue, 2, 0, 0), 0);
	ASSERT_EQ(queue.submitted, 2);
	post_nops(&queue, 2, 7);
	ASSERT_EQ(queue_enter(&queue, 2, 0, 0), 0);
	if (load32(&queue.ring->cq_tail))
		SKIP("this machine is too slow to see one in flight");
	EXPECT_EQ(queue.submitted, 0);
	EXPECT_NE(queue_flags(&queue) & DMANIC_RING_CQ_FULL, 0);
	queue_wait(&queue);
	queue_wait(&queue);
	ASSERT_EQ(queue_enter(&queue, 2, 2, slow_ns(20000)), 0);
	EXPECT_EQ(queue.submitted, 2);
	ASSERT_TRUE(queue_reap(&queue, &cqe));
	EXPECT_EQ(cqe.cookie, 7);
}

/* Indices run freely through 2^32 in the end; here through many rounds. */
TEST_F(queue, rings_wrap)
{
	struct queue queue = queue_make(&self->node, 4, 8);
	struct dmanic_cqe cqe;
	__u64 sent = 0, got = 0;
	unsigned int i;

	for (i = 0; i < 3000; i++) {
		post_nops(&queue, 1 + i % 4, sent);
		sent += 1 + i % 4;
		queue_submit(&queue);
		while (got < sent) {
			cqe = queue_wait(&queue);
			ASSERT_EQ(cqe.cookie, got);
			got++;
		}
	}
	EXPECT_EQ(load32(&queue.ring->sq_head), (__u32)sent);
	EXPECT_EQ(load32(&queue.ring->cq_tail), (__u32)sent);
}

/* Everything before a FENCE is acknowledged when it starts. */
TEST_F(queue, fence_waits_for_what_was_before)
{
	struct segment local, near, far;
	struct dmanic_sqe *sqe;
	struct node node, peer;
	struct fabric own;
	struct queue queue;
	struct irq irq;
	__u32 handle;

	fabric_make(&own, "a", 3, NULL);
	node = node_open(&own, 0);
	peer = node_open(&own, 1);
	local = segment_make(&node, 65536);
	near = segment_make(&node, 65536);
	far = segment_make(&peer, 65536);
	segment_export(&far, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	handle = segment_connect(&node, &far);
	irq = irq_make(&node, 4);
	queue = queue_make(&node, 8, 8);
	fabric_late(&own, slow_ns(30));
	fill(local.data, 65536, 3);

	*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, local.id, 0, handle, 0,
				      65536);
	sqe = queue_sqe(&queue);
	*sqe = sqe_move(DMANIC_OP_READ, near.id, 0, handle, 0, 65536);
	sqe->flags = DMANIC_SQE_FENCE;
	sqe->cookie = 1;
	sqe = queue_sqe(&queue);
	*sqe = sqe_notify(irq_connect(&node, &irq), 1);
	sqe->flags = DMANIC_SQE_FENCE;
	sqe->cookie = 2;
	queue_submit(&queue);
	ASSERT_EQ(irq_wait(&irq, 1, slow_ns(20000), NULL), 0);
	/* Both were acknowledged before the notify could start. */
	EXPECT_GE(load32(&queue.ring->cq_tail), 2);
	EXPECT_EQ(memcmp(near.data, local.data, 65536), 0);
	EXPECT_EQ(queue_wait(&queue).cookie, 0);
	EXPECT_EQ(queue_wait(&queue).cookie, 1);
	EXPECT_EQ(queue_wait(&queue).cookie, 2);
}

FABRIC_TEST_MAIN()
