// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_list_peer.c - a node goes in the middle of a long LIST
 *
 * Owns: a LIST of hours ends at once, and with what is documented, when the
 * other node or its own one fails, restarts or is removed; what waits behind it
 * does, too; and when it ended nothing is written any more, nor ever to a node
 * that has the name of the old one.
 */
#include "dmanic_test.h"

#include <errno.h>

#define MIB	(1UL << 20)
#define ENTRIES	(1U << 16)		/* of a megabyte each */
#define LIST	(ENTRIES * sizeof(struct dmanic_list_entry))
#define LISTS	4U			/* one begins, the others wait for it */

#define NEW	0x11			/* what is moved */
#define STILL	0x99			/* what is not written over */

FIXTURE(list_peer) {
	struct fabric own;
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	struct segment list;
	struct queue queue;
	__u32 handle;
	__u8 *source;
	__u8 *destination;
};

FIXTURE_VARIANT(list_peer) {
	__u32 direction;
};

FIXTURE_VARIANT_ADD(list_peer, write) { .direction = 0 };
FIXTURE_VARIANT_ADD(list_peer, read) { .direction = DMANIC_LIST_READ };

static void post_lists(struct list_peer_self *self, __u32 direction)
{
	unsigned int i;

	for (i = 0; i < LISTS; i++)
		*queue_sqe(&self->queue) = sqe_list(direction, self->local.id,
						    self->handle, self->list.id,
						    0, ENTRIES);
	queue_submit(&self->queue);
}

/* Once all is moved, it is moved again and again */
static bool is_moved(const struct list_peer_self *self)
{
	return __atomic_load_n(&self->destination[MIB - 1],
			       __ATOMIC_RELAXED) == NEW;
}

FIXTURE_SETUP(list_peer)
{
	struct dmanic_list_entry *entries;
	unsigned int i;

	fabric_make(&self->own, "a", 2, NULL);
	self->node = node_open(&self->own, 0);
	self->peer = node_open(&self->own, 1);
	self->local = segment_make(&self->node, MIB);
	self->target = segment_make(&self->peer, MIB);
	self->list = segment_make(&self->node, LIST);
	segment_export(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->target);
	self->queue = queue_make(&self->node, 8, 8);
	entries = (void *)self->list.data;
	for (i = 0; i < ENTRIES; i++)
		entries[i] = (struct dmanic_list_entry) { .length = MIB };
	self->source = variant->direction ? self->target.data :
					    self->local.data;
	self->destination = variant->direction ? self->local.data :
						 self->target.data;
	memset(self->source, NEW, MIB);
	post_lists(self, variant->direction);
	ASSERT_TRUE(WAIT_FOR(is_moved(self)));
}

FIXTURE_TEARDOWN(list_peer)
{
}

static void expect_still(const __u8 *data)
{
	unsigned int i;

	for (i = 0; i < 10; i++)
		breathe();
	EXPECT_EQ(data[0], STILL);
	EXPECT_EQ(memcmp(data, data + 1, MIB - 1), 0);
}

/* All ended, as one of two; then the destination is its owner's */
static void expect_ended(struct list_peer_self *self, __u32 status, __u32 or)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	for (i = 0; i < LISTS; i++) {
		ASSERT_TRUE(WAIT_FOR(queue_reap(&self->queue, &cqe)));
		EXPECT_EQ(cqe.opcode, DMANIC_OP_LIST);
		if (cqe.status != or)
			EXPECT_EQ(cqe.status, status);
	}
	memset(self->destination, STILL, MIB);
	expect_still(self->destination);
}

/* Eight bytes, by the connection made before */
static __u32 put(struct list_peer_self *self)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, 0,
					 self->handle, 0, 8);

	return queue_run(&self->queue, &sqe).status;
}

static void connect_again(struct list_peer_self *self)
{
	self->handle = segment_connect(&self->node, &self->target);
	EXPECT_EQ(put(self), DMANIC_STATUS_OK);
}

TEST_F(list_peer, fails)
{
	ASSERT_EQ(device_set_failed(self->peer.name, true), 0);
	expect_ended(self, DMANIC_STATUS_PEER_DEAD, DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(put(self), DMANIC_STATUS_PEER_DEAD);
	ASSERT_EQ(device_set_failed(self->peer.name, false), 0);
	EXPECT_EQ(put(self), DMANIC_STATUS_PEER_RESTARTED);
	expect_still(self->destination);
	connect_again(self);
}

/* Between two looks at it, perhaps: then it is only another one */
TEST_F(list_peer, restarts)
{
	ASSERT_EQ(device_set_failed(self->peer.name, true), 0);
	ASSERT_EQ(device_set_failed(self->peer.name, false), 0);
	expect_ended(self, DMANIC_STATUS_PEER_RESTARTED,
		     DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(put(self), DMANIC_STATUS_PEER_RESTARTED);
	connect_again(self);
}

TEST_F(list_peer, is_removed)
{
	ASSERT_EQ(device_delete(self->peer.name, true), 0);
	expect_ended(self, DMANIC_STATUS_PEER_DEAD, DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(put(self), DMANIC_STATUS_PEER_DEAD);
}

TEST_F(list_peer, is_written_to_by_a_node_that_fails)
{
	ASSERT_EQ(device_set_failed(self->node.name, true), 0);
	expect_ended(self, DMANIC_STATUS_LINK_DOWN, DMANIC_STATUS_LINK_DOWN);
	ASSERT_EQ(device_set_failed(self->node.name, false), 0);
	/* It has its connections again, but not what it was doing */
	EXPECT_EQ(put(self), DMANIC_STATUS_OK);
}

/* When the call returned all ended: nobody waits for a worker that is gone. */
TEST_F(list_peer, is_written_to_by_a_node_that_is_removed)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	ASSERT_EQ(device_delete(self->node.name, true), 0);
	memset(self->destination, STILL, MIB);
	for (i = 0; i < LISTS; i++) {
		ASSERT_TRUE(queue_reap(&self->queue, &cqe));
		EXPECT_EQ(cqe.status, DMANIC_STATUS_LINK_DOWN);
	}
	expect_still(self->destination);
	EXPECT_EQ(queue_enter(&self->queue, 0, 0, 0), -ENODEV);
}

/* Both are there again, by name and number, and are strangers. */
TEST_F(list_peer, is_made_again)
{
	struct segment target, local;
	struct node node, peer;
	struct dmanic_sqe sqe;
	struct queue queue;

	ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
	fabric_make(&self->own, "a", 2, NULL);
	node = node_open(&self->own, 0);
	peer = node_open(&self->own, 1);
	ASSERT_EQ(strcmp(peer.name, self->peer.name), 0);
	target = segment_make(&peer, MIB);
	local = segment_make(&node, MIB);
	segment_export(&target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	memset(target.data, STILL, MIB);
	memset(local.data, STILL, MIB);
	expect_ended(self, DMANIC_STATUS_LINK_DOWN, DMANIC_STATUS_PEER_DEAD);
	expect_still(target.data);
	expect_still(local.data);
	EXPECT_EQ(queue_enter(&self->queue, 0, 0, 0), -ENODEV);
	queue = queue_make(&node, 2, 2);
	sqe = sqe_move(DMANIC_OP_WRITE, local.id, 0,
		       segment_connect(&node, &target), 0, 8);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_OK);
}

FABRIC_TEST_MAIN_NONE()
