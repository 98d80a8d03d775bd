// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_list_share.c - long lists and everybody else
 *
 * Owns: a LIST of any length and shape holds up neither other queues nor who
 * closes, kills, revokes or destroys; interrupted for others it is moved whole;
 * and with a model it costs its bytes.
 */
#include "sharing.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRIES	(MIB / 2)
#define PART	1024U	/* entries of a list that are counted at once */
#define LIST	(ENTRIES * sizeof(struct dmanic_list_entry))

FIXTURE(share) {
	struct sharing sharing;
	struct segment list;
	struct dmanic_list_entry *entries;
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
	self->sharing = sharing_make();
	self->list = segment_make(&self->sharing.node, LIST);
	self->entries = (void *)self->list.data;
	list_write(self, variant->shape);
}

FIXTURE_TEARDOWN(share)
{
}

static struct dmanic_sqe sqe_some(struct share_self *self, __u32 direction, __u32 entries)
{
	const struct sharing *sharing = &self->sharing;

	return sqe_list(direction, sharing->local.id, sharing->handle,
			self->list.id, 0, entries);
}

static struct dmanic_sqe sqe_all(struct share_self *self, __u32 direction)
{
	return sqe_some(self, direction, ENTRIES);
}

/* Over a network each entry that reads is a round trip; and a debug kernel is slow */
static __u32 entries_in_time(__u32 direction)
{
	if (!fabric_on_netdevs())
		return ENTRIES;
	if (direction)
		return ENTRIES / 64;
	return harness_slow() > 4 ? ENTRIES / 8 : ENTRIES;
}

static void post_many(struct share_self *self, __u32 direction)
{
	struct sharing *sharing = &self->sharing;
	unsigned int i;

	for (i = 0; i < 64; i++)
		*queue_sqe(&sharing->queue) = sqe_all(self, direction);
	queue_submit(&sharing->queue);
}

/* 64 of them are seconds of work; a put takes its turn between two slices. */
TEST_F_TIMEOUT(share, does_not_hold_up_others, 60)
{
	struct sharing *sharing = &self->sharing;
	__u64 begun;
	unsigned int i;

	post_many(self, variant->direction);
	begun = now_ns();
	for (i = 0; i < 20; i++)
		sharing_put(sharing);
	EXPECT_LT(now_ns() - begun, slow_ns(2000));
	EXPECT_LT(sharing_completed(&sharing->queue), 64);
	queue_close(&sharing->queue);
}

/*
 * What is posted behind a READ waits for that, over a network, and so does what is behind a
 * short list, which goes on with long ones all around it
 */
TEST_F_TIMEOUT(share, does_not_hold_up_who_waits, 60)
{
	struct sharing *sharing = &self->sharing;
	struct queue busy[8], other = queue_make(&sharing->node, 4, 4);
	struct segment list = segment_make(&sharing->node, 4096);
	struct dmanic_list_entry *entries = (void *)list.data;
	struct dmanic_sqe ops[] = {
		sqe_move(DMANIC_OP_READ, sharing->local.id, 0, sharing->handle, 0, 8),
		sqe_move(DMANIC_OP_WRITE, sharing->local.id, 0, sharing->handle, 8, 8),
		sqe_list(DMANIC_LIST_READ, sharing->local.id, sharing->handle, list.id, 0, 2),
		sqe_move(DMANIC_OP_WRITE, sharing->local.id, 0, sharing->handle, 8, 8),
	};
	unsigned int i, n;
	__u64 begun;

	if (variant->shape != EMPTY)
		SKIP("lists that move something take their turns on the wire");
	for (i = 0; i < 2; i++)
		entries[i] = (struct dmanic_list_entry) { i * 16, i * 16, 8 };
	for (i = 0; i < ARRAY_SIZE(busy); i++) {
		busy[i] = queue_make(&sharing->node, 64, 64);
		for (n = 0; n < 64; n++)
			*queue_sqe(&busy[i]) = sqe_all(self, variant->direction);
		queue_submit(&busy[i]);
	}
	begun = now_ns();
	for (n = 0; n < 20; n++) {
		for (i = 0; i < ARRAY_SIZE(ops); i++)
			*queue_sqe(&other) = ops[i];
		queue_submit(&other);
		for (i = 0; i < ARRAY_SIZE(ops); i++)
			ASSERT_EQ(queue_wait(&other).status, DMANIC_STATUS_OK);
	}
	EXPECT_LT(now_ns() - begun, slow_ns(2000));
	for (i = 0; i < ARRAY_SIZE(busy); i++) {
		EXPECT_LT(sharing_completed(&busy[i]), 64);
		queue_close(&busy[i]);
	}
}

/*
 * The list ends while more queues than are looked at behind one another have many waiting
 * lists: over a network, where these began behind a READ
 */
TEST_F_TIMEOUT(share, whose_list_ended_in_a_crowd_can_be_closed, 60)
{
	struct sharing *sharing = &self->sharing;
	struct queue crowd[32], queue;
	const unsigned int deep = 512;
	struct dmanic_sqe list = sqe_some(self, 0, 2048);
	unsigned int i, n, waiting = 0;

	if (variant->shape != EMPTY)
		SKIP("lists that move something take their turns on the wire");
	for (i = 0; i < ARRAY_SIZE(crowd); i++) {
		crowd[i] = queue_make(&sharing->node, deep, deep);
		*queue_sqe(&crowd[i]) = sqe_move(DMANIC_OP_READ, sharing->local.id, 0,
						 sharing->handle, 0, 8);
		for (n = 1; n < deep; n++)
			*queue_sqe(&crowd[i]) = sqe_some(self, 0, 1024);
	}
	for (i = 0; i < ARRAY_SIZE(crowd); i++)
		queue_submit(&crowd[i]);
	for (n = 0; n < 8; n++) {
		queue = queue_make(&sharing->node, 4, 4);
		EXPECT_EQ(queue_run(&queue, &list).status, DMANIC_STATUS_OK);
		queue_close(&queue);
	}
	for (i = 0; i < ARRAY_SIZE(crowd); i++) {
		waiting += deep - sharing_completed(&crowd[i]);
		queue_close(&crowd[i]);
	}
	/* Else there was none */
	if (fabric_on_netdevs())
		EXPECT_GT(waiting, 0);
}

static void empty(struct share_self *self, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		__atomic_store_n(&self->entries[from].length, 0, __ATOMIC_RELAXED);
}

/*
 * The entries from 1 to 30, which take a while, are emptied while the first is moved, and so
 * are some of those behind them: what @marker has is not moved, as it is not looked at.
 */
static void empty_meanwhile(struct share_self *self, unsigned int from, unsigned int to,
			    unsigned int marker)
{
	struct sharing *sharing = &self->sharing;
	unsigned int i;

	if (!fabric_on_netdevs())
		SKIP("entries are read when their bytes are moved");
	for (i = 0; i < 2 * PART; i++)
		self->entries[i].length = i < 31 ? BIG / 2 : 8;
	self->entries[marker].remote_offset = BIG - 8;
	memset(sharing->local.data, 0x11, MIB);
	*queue_sqe(&sharing->queue) = sqe_some(self, 0, 2 * PART);
	queue_submit(&sharing->queue);
	ASSERT_TRUE(WAIT_FOR(__atomic_load_n(&sharing->remote.data[MIB - 1],
					     __ATOMIC_RELAXED) == 0x11));
	ASSERT_EQ(sharing_completed(&sharing->queue), 0);
	empty(self, from, to);
	empty(self, 1, 31);
	EXPECT_EQ(queue_wait(&sharing->queue).status, DMANIC_STATUS_BOUNDS);
	EXPECT_EQ(sharing->remote.data[BIG - 8], 0);
}

/*
 * Over a network the entries of a part are counted before it begins, and those alone are looked
 * at: who empties them meanwhile makes nobody look for their bytes behind them
 */
TEST_F_TIMEOUT(share, whose_list_was_emptied_is_BOUNDS, 60)
{
	if (variant->shape != HUGE_BLOCKS)
		SKIP("what is emptied has to be under way for a while");
	empty_meanwhile(self, PART - 20, PART, PART);
}

/* Nor does it look behind so many empty ones as a part has nowhere */
TEST_F_TIMEOUT(share, whose_list_became_sparse_is_BOUNDS, 60)
{
	if (variant->shape != HUGE_BLOCKS)
		SKIP("what is emptied has to be under way for a while");
	empty_meanwhile(self, 31, PART - 1, PART - 1);
}

TEST_F_TIMEOUT(share, can_be_closed, 60)
{
	struct sharing *sharing = &self->sharing;
	__u64 begun;
	unsigned int n;

	for (n = 0; n < 5; n++) {
		post_many(self, variant->direction);
		breathe();
		begun = now_ns();
		queue_close(&sharing->queue);
		EXPECT_LT(now_ns() - begun, slow_ns(500));
		sharing->queue = queue_make(&sharing->node, 64, 64);
	}
}

TEST_F_TIMEOUT(share, can_be_killed, 60)
{
	struct sharing *sharing = &self->sharing;
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

		sharing->node = node;
		sharing->local = local;
		self->list = list;
		self->entries = (void *)list.data;
		sharing->queue = queue;
		sharing->handle = segment_connect(&node, &sharing->remote);
		list_write(self, variant->shape);
		post_many(self, variant->direction);
		raise(SIGKILL);
	}
	ASSERT_GT(child, 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFSIGNALED(status));
	begun = now_ns();
	sharing_put(sharing);
	EXPECT_LT(now_ns() - begun, slow_ns(500));
}

/* Between two chunks of copying */
TEST_F_TIMEOUT(share, target_can_be_revoked, 60)
{
	struct sharing *sharing = &self->sharing;
	struct dmanic_cqe cqe;
	unsigned int i, refused = 0;
	__u64 begun;

	post_many(self, variant->direction);
	breathe();
	begun = now_ns();
	ASSERT_EQ(segment_revoke(&sharing->remote), 0);
	EXPECT_LT(now_ns() - begun, slow_ns(500));
	for (i = 0; i < 64; i++) {
		cqe = queue_wait(&sharing->queue);
		if (cqe.status)
			ASSERT_EQ(cqe.status, DMANIC_STATUS_NO_SEGMENT);
		refused += !!cqe.status;
	}
	/* What moves nothing asks nobody, over a network */
	if (variant->shape != EMPTY || !fabric_on_netdevs())
		EXPECT_GT(refused, 0);
}

static void expect_moved(struct share_self *self, __u32 direction, __u32 entries)
{
	const struct sharing *sharing = &self->sharing;
	const __u8 *local = sharing->local.data, *remote = sharing->remote.data;
	const __u8 *from = direction ? remote : local;
	const __u8 *to = direction ? local : remote;
	__u64 i;

	for (i = 0; i < entries; i++) {
		struct dmanic_list_entry *entry = &self->entries[i];
		__u64 at[2] = { entry->local_offset, entry->remote_offset };

		ASSERT_EQ(memcmp(to + at[!direction], from + at[!!direction],
				 5), 0);
	}
}

/* And list and local memory are held while it is carried out. */
TEST_F_TIMEOUT(share, interrupted_and_destroyed_it_is_moved_exactly, 60)
{
	struct sharing *sharing = &self->sharing;
	__u32 entries = entries_in_time(variant->direction);
	struct dmanic_sqe sqe = sqe_some(self, variant->direction, entries);
	struct dmanic_cqe cqe;

	if (variant->shape != TINY)
		SKIP("there is nothing to look at, or too much");
	fill(sharing->local.data, BIG, 1);
	fill(sharing->remote.data, BIG, 2);
	sharing_begin(sharing);
	*queue_sqe(&sharing->queue) = sqe;
	queue_submit(&sharing->queue);
	EXPECT_EQ(segment_destroy(&self->list), 0);
	EXPECT_EQ(segment_destroy(&sharing->local), 0);
	cqe = queue_wait(&sharing->queue);
	sharing_end(sharing);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, 5 * entries);
	expect_moved(self, variant->direction, entries);
	/* Both are gone for the next one */
	*queue_sqe(&sharing->queue) = sqe;
	queue_submit(&sharing->queue);
	EXPECT_EQ(queue_wait(&sharing->queue).status, DMANIC_STATUS_NO_SEGMENT);
}

/* ---- with a model ---- */

#define SLOW_BANDWIDTH	(10 * MIB)	/* a second */

static struct alone loop_make(const struct model *model, __u64 length)
{
	if (fabric_on_netdevs())
		SKIP("only a loop link has a model");
	return alone_make(model, length);
}

TEST_TIMEOUT(list_model, costs_its_bytes, 60)
{
	const struct model model = { .bandwidth = SLOW_BANDWIDTH };
	struct alone alone = loop_make(&model, 2 * MIB);
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
	struct alone alone = loop_make(&model, 2 * MIB);
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
	EXPECT_EQ(sharing_completed(&queue), 0);
	queue_close(&queue);
}

/* Given up in the middle of its time, or of its copying */
TEST_TIMEOUT(list_model, can_be_closed, 60)
{
	const struct model model = { .bandwidth = SLOW_BANDWIDTH };
	struct alone alone = loop_make(&model, 2 * MIB);
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
