// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_peer_share.c - how much of a user is under way with another node at once, over
 * network devices
 *
 * Owns: of what he posts to a node that does not answer only so much is with the link
 * that its end takes no time worth speaking of; the rest waits in its queues, which are
 * not in each other's way, goes on when there is room, and ends as the rest does.
 */
#include "sharing.h"
#include "tracing.h"

#define SHARE		4096U	/* of a user with a node */
#define OF_EACH		16U	/* of a queue in any case */
#define DEPTH		8192U
#define NEVER_NS	10000000000ULL

FIXTURE(share) {
	char instance[TRACING_PATH];
	struct fabric own;
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	struct queue first;
	struct queue second;
	__u32 handle;
};

FIXTURE_VARIANT(share) {
	__u64 dead_ms;	/* not heard so long the other node is dead */
	__u32 status;	/* how all end */
	bool closed;	/* nobody waits for the end */
	bool removed;	/* the device goes */
};

FIXTURE_VARIANT_ADD(share, goes_on) {
	.dead_ms = 60000, .status = DMANIC_STATUS_OK,
};

FIXTURE_VARIANT_ADD(share, ends) {
	.dead_ms = 2000, .status = DMANIC_STATUS_PEER_DEAD,
};

FIXTURE_VARIANT_ADD(share, goes_with_the_device) {
	.dead_ms = 60000, .status = DMANIC_STATUS_LINK_DOWN, .removed = true,
};

FIXTURE_VARIANT_ADD(share, is_given_up) {
	.dead_ms = 60000, .closed = true,
};

FIXTURE_SETUP(share)
{
	self->instance[0] = 0;
	if (!fabric_on_netdevs())
		SKIP("on a loop nobody waits for an answer");
	tracing_make(self->instance);
	fabric_make_patient(&self->own, "a", 2, slow_ns(variant->dead_ms));
	self->node = node_open(&self->own, 0);
	self->peer = node_open(&self->own, 1);
	self->local = segment_make(&self->node, 4096);
	self->target = segment_make(&self->peer, DEPTH * 8);
	segment_export(&self->target, DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->target);
	self->first = queue_make(&self->node, DEPTH, DEPTH);
	self->second = queue_make(&self->node, DEPTH, DEPTH);
	fill(self->local.data, 4096, 1);
}

FIXTURE_TEARDOWN(share)
{
	tracing_remove(self->instance);
}

static void post(struct share_self *self, struct queue *queue, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		*queue_sqe(queue) = sqe_move(DMANIC_OP_WRITE, self->local.id, i * 8 % 4096,
					     self->handle, i * 8, 8);
	}
	queue_submit(queue);
}

/* All of them */
static void expect_ends(struct queue *queue, unsigned int nr, __u32 status)
{
	unsigned int wrong = 0;
	struct dmanic_cqe cqe;

	ASSERT_TRUE(WAIT_FOR(sharing_completed(queue) == nr));
	while (queue_reap(queue, &cqe))
		wrong += cqe.status != status;
	EXPECT_EQ(wrong, 0);
}

TEST_F_TIMEOUT(share, of_a_silent_node_waits, 120)
{
	struct queue third = queue_make(&self->node, 1, 1);
	char name[DMANIC_NAME_MAX];
	unsigned int i;

	fabric_late(&self->own, NEVER_NS);
	tracing_enable(self->instance, "dmanic_start");
	post(self, &self->first, DEPTH);
	EXPECT_EQ(tracing_count(self->instance), SHARE);
	post(self, &self->second, DEPTH);
	EXPECT_EQ(tracing_count(self->instance), SHARE + OF_EACH);
	/* It has a flow of its own */
	post(self, &third, 1);
	EXPECT_EQ(tracing_count(self->instance), SHARE + OF_EACH + 1);
	if (variant->status == DMANIC_STATUS_OK && !variant->closed)
		fabric_late(&self->own, 0);
	if (variant->closed) {
		queue_close(&self->first);
		queue_close(&self->second);
		queue_close(&third);
		fabric_late(&self->own, 0);
		return;
	}
	fabric_name(&self->own, 0, name);
	if (variant->removed)
		ASSERT_EQ(device_delete(name, true), 0);
	expect_ends(&self->first, DEPTH, variant->status);
	expect_ends(&self->second, DEPTH, variant->status);
	expect_ends(&third, 1, variant->status);
	for (i = 0; !variant->status && i < DEPTH * 8; i += 4096)
		EXPECT_EQ(memcmp(self->target.data + i, self->local.data, 4096), 0);
}

FABRIC_TEST_MAIN_NONE()
