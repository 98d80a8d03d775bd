// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_list_share.c - long lists and everybody else
 *
 * Owns: a LIST of any length and shape holds up neither other queues nor who
 * closes, kills, revokes or destroys; interrupted for others it is moved whole;
 * and with a model it costs its bytes.
 */
#include "dmanic_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB	(1UL << 20)
#define BIG	(16 * MIB)
#define ENTRIES	(MIB / 2)
#define LIST	(ENTRIES * sizeof(struct dmanic_list_entry))
/* Above what the poster does itself */
#define SMALL	16384UL

FIXTURE(share) {
	struct node node;
	struct node other;	/* the same device, another context */
	struct node peer;
	struct segment local;
	struct segment remote;
	struct segment list;
	struct dmanic_list_entry *entries;
	struct queue queue;
	__u32 handle;
	struct segment small;
	struct queue small_queue;
	__u32 small_handle;
	bool stop;
};

enum shape { EMPTY, TINY, HUGE_BLOCKS };

FIXTURE_VARIANT(share) {
	__u32 direction;
	enum shape shape;
};

FIXTURE_VARIANT_ADD(share, empty) { .shape = EMPTY };
FIXTURE_VARIANT_ADD(share, tiny) { .shape = TINY };
FIXTURE_VARIANT_ADD(share, tiny_read) {
	.direction = DMANIC_LIST_READ, .shape = TINY,
};
FIXTURE_VARIANT_ADD(share, huge) { .shape = HUGE_BLOCKS };

/* Half a million empty or small blocks, or more bytes than anybody waits for */
static void list_write(struct share_self *self, enum shape shape)
{
	__u64 i;

	for (i = 0; i < ENTRIES; i++) {
		struct dmanic_list_entry *entry = &self->entries[i];

		entry->length = shape == EMPTY ? 0 : shape == TINY ? 5 : BIG;
		entry->local_offset = shape == HUGE_BLOCKS ? 0 : i * 31;
		entry->remote_offset = shape == HUGE_BLOCKS ? 0 :
				       (ENTRIES - 1 - i) * 32;
	}
}

FIXTURE_SETUP(share)
{
	self->node = node_open(&fabric, 0);
	self->other = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, BIG);
	self->remote = segment_make(&self->peer, BIG + SMALL);
	self->list = segment_make(&self->node, LIST);
	self->entries = (void *)self->list.data;
	segment_export(&self->remote, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->remote);
	self->queue = queue_make(&self->node, 64, 64);
	self->small = segment_make(&self->other, SMALL);
	self->small_handle = segment_connect(&self->other, &self->remote);
	self->small_queue = queue_make(&self->other, 2, 2);
	self->stop = false;
	list_write(self, variant->shape);
}

FIXTURE_TEARDOWN(share)
{
}

static struct dmanic_sqe sqe_all(struct share_self *self, __u32 direction)
{
	return sqe_list(direction, self->local.id, self->handle, self->list.id,
			0, ENTRIES);
}

static void post_many(struct share_self *self, __u32 direction)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		*queue_sqe(&self->queue) = sqe_all(self, direction);
	queue_submit(&self->queue);
}

static void put_small(struct share_self *self)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->small.id, 0,
					 self->small_handle, BIG, SMALL);

	ASSERT_EQ(queue_run(&self->small_queue, &sqe).status, DMANIC_STATUS_OK);
}

static unsigned int completed(const struct queue *queue)
{
	return load32(&queue->ring->cq_tail) - queue->head;
}

/* 64 of them are seconds of work; a put takes its turn between two slices. */
TEST_F_TIMEOUT(share, does_not_hold_up_others, 60)
{
	__u64 begun;
	unsigned int i;

	post_many(self, variant->direction);
	begun = now_ns();
	for (i = 0; i < 20; i++)
		put_small(self);
	EXPECT_LT(now_ns() - begun, slow_ns(2000));
	EXPECT_LT(completed(&self->queue), 64);
	queue_close(&self->queue);
}

TEST_F_TIMEOUT(share, can_be_closed, 60)
{
	__u64 begun;
	unsigned int n;

	for (n = 0; n < 5; n++) {
		post_many(self, variant->direction);
		breathe();
		begun = now_ns();
		queue_close(&self->queue);
		EXPECT_LT(now_ns() - begun, slow_ns(500));
		self->queue = queue_make(&self->node, 64, 64);
	}
}

TEST_F_TIMEOUT(share, can_be_killed, 60)
{
	__u64 begun;
	pid_t child;
	int status;

	child = fork();
	if (!child) {
		/* Of its own: mappings are not inherited */
		struct node node = node_open(&fabric, 0);
		struct segment local = segment_make(&node, BIG);
		struct segment list = segment_make(&node, LIST);
		struct queue queue = queue_make(&node, 64, 64);

		self->node = node;
		self->local = local;
		self->list = list;
		self->entries = (void *)list.data;
		self->queue = queue;
		self->handle = segment_connect(&node, &self->remote);
		list_write(self, variant->shape);
		post_many(self, variant->direction);
		raise(SIGKILL);
	}
	ASSERT_GT(child, 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFSIGNALED(status));
	begun = now_ns();
	put_small(self);
	EXPECT_LT(now_ns() - begun, slow_ns(500));
}

/* Between two chunks of copying */
TEST_F_TIMEOUT(share, target_can_be_revoked, 60)
{
	struct dmanic_cqe cqe;
	unsigned int i, refused = 0;
	__u64 begun;

	post_many(self, variant->direction);
	breathe();
	begun = now_ns();
	ASSERT_EQ(segment_revoke(&self->remote), 0);
	EXPECT_LT(now_ns() - begun, slow_ns(500));
	for (i = 0; i < 64; i++) {
		cqe = queue_wait(&self->queue);
		if (cqe.status)
			ASSERT_EQ(cqe.status, DMANIC_STATUS_NO_SEGMENT);
		refused += !!cqe.status;
	}
	EXPECT_GT(refused, 0);
}

static void *keep_putting(void *data)
{
	struct share_self *self = data;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED))
		put_small(self);
	return NULL;
}

static void expect_moved(struct share_self *self, __u32 direction)
{
	const __u8 *from = direction ? self->remote.data : self->local.data;
	const __u8 *to = direction ? self->local.data : self->remote.data;
	__u64 i;

	for (i = 0; i < ENTRIES; i++) {
		struct dmanic_list_entry *entry = &self->entries[i];
		__u64 at[2] = { entry->local_offset, entry->remote_offset };

		ASSERT_EQ(memcmp(to + at[!direction], from + at[!!direction],
				 5), 0);
	}
}

/* And list and local memory are held while it is carried out. */
TEST_F_TIMEOUT(share, interrupted_and_destroyed_it_is_moved_exactly, 60)
{
	struct dmanic_sqe sqe = sqe_all(self, variant->direction);
	struct dmanic_cqe cqe;
	pthread_t thread;

	if (variant->shape != TINY)
		SKIP("there is nothing to look at, or too much");
	fill(self->local.data, BIG, 1);
	fill(self->remote.data, BIG, 2);
	ASSERT_EQ(pthread_create(&thread, NULL, keep_putting, self), 0);
	*queue_sqe(&self->queue) = sqe;
	queue_submit(&self->queue);
	EXPECT_EQ(segment_destroy(&self->list), 0);
	EXPECT_EQ(segment_destroy(&self->local), 0);
	cqe = queue_wait(&self->queue);
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, 5 * ENTRIES);
	expect_moved(self, variant->direction);
	/* Both are gone for the next one */
	*queue_sqe(&self->queue) = sqe;
	queue_submit(&self->queue);
	EXPECT_EQ(queue_wait(&self->queue).status, DMANIC_STATUS_NO_SEGMENT);
}

/* ---- with a model ---- */

#define SLOW_BANDWIDTH	(10 * MIB)	/* a second */

TEST_TIMEOUT(list_model, costs_its_bytes, 60)
{
	const struct model model = { .bandwidth = SLOW_BANDWIDTH };
	struct alone alone = alone_make(&model, 2 * MIB);
	struct queue queue = queue_make(&alone.node, 4, 4);
	struct segment list = segment_make(&alone.node, 4096);
	struct dmanic_list_entry *entries = (void *)list.data;
	struct dmanic_cqe cqe;
	__u64 begun;
	unsigned int i;

	/* A megabyte in 16 blocks: 100 ms; and a put behind it, 10 more */
	for (i = 0; i < 16; i++)
		entries[i] = (struct dmanic_list_entry) {
			i * MIB / 16, (15 - i) * MIB / 8, MIB / 16,
		};
	begun = now_ns();
	*queue_sqe(&queue) = sqe_list(0, alone.local.id, alone.handle, list.id,
				      0, 16);
	*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, alone.local.id, 0,
				      alone.handle, 0, MIB / 10);
	queue_submit(&queue);
	cqe = queue_wait(&queue);
	EXPECT_GE(now_ns() - begun, 100 * MS_NS);
	EXPECT_EQ(cqe.opcode, DMANIC_OP_LIST);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, MIB);
	cqe = queue_wait(&queue);
	EXPECT_GE(now_ns() - begun, 109 * MS_NS);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
}

/* A megabyte is 100 ms of the model, all of the list are hours */
TEST_TIMEOUT(list_model, does_not_hold_up_others, 60)
{
	const struct model model = { .bandwidth = SLOW_BANDWIDTH };
	struct alone alone = alone_make(&model, 2 * MIB);
	struct segment list = segment_make(&alone.node, LIST);
	struct dmanic_list_entry *entries = (void *)list.data;
	struct queue queue = queue_make(&alone.node, 1, 1);
	struct queue other = queue_make(&alone.node, 1, 1);
	struct dmanic_sqe put = sqe_move(DMANIC_OP_WRITE, alone.local.id, 0,
					 alone.handle, 0, 8);
	__u64 begun, n;

	for (n = 0; n < ENTRIES; n++)
		entries[n] = (struct dmanic_list_entry) { 0, 0, 2 * MIB };
	*queue_sqe(&queue) = sqe_list(0, alone.local.id, alone.handle, list.id,
				      0, ENTRIES);
	queue_submit(&queue);
	breathe();
	begun = now_ns();
	for (n = 0; n < 3; n++)
		EXPECT_EQ(queue_run(&other, &put).status, DMANIC_STATUS_OK);
	EXPECT_LT(now_ns() - begun, slow_ns(2000));
	EXPECT_EQ(completed(&queue), 0);
	queue_close(&queue);
}

/* Given up in the middle of its time, or of its copying */
TEST_TIMEOUT(list_model, can_be_closed, 60)
{
	const struct model model = { .bandwidth = SLOW_BANDWIDTH };
	struct alone alone = alone_make(&model, 2 * MIB);
	struct segment list = segment_make(&alone.node, LIST);
	struct dmanic_list_entry *entries = (void *)list.data;
	struct dmanic_sqe sqe;
	struct queue queue;
	__u64 begun, n;

	for (n = 0; n < ENTRIES; n++)
		entries[n] = (struct dmanic_list_entry) { 0, 0, 2 * MIB };
	/* 64 are ten seconds of the model; all are hours of copying */
	for (n = 64; n <= ENTRIES; n = n == 64 ? ENTRIES : n + 1) {
		queue = queue_make(&alone.node, 1, 1);
		sqe = sqe_list(0, alone.local.id, alone.handle, list.id, 0, n);
		*queue_sqe(&queue) = sqe;
		queue_submit(&queue);
		breathe();
		begun = now_ns();
		queue_close(&queue);
		EXPECT_LT(now_ns() - begun, slow_ns(500));
	}
}

FABRIC_TEST_MAIN()
