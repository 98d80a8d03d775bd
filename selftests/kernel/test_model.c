// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_model.c - what a loop link pretends: costs, failures, restarts
 *
 * Owns: that modelled times are never shorter than the model says (longer they
 * may be on any machine), that a failed or restarted node is told as such, and
 * that the seeded jitter comes again.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCALE	20		/* how much slower than the real card */
#define BYTES	(128UL * 1024)

FIXTURE(model) {
	struct fabric own;
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	struct queue queue;
	struct irq irq;
	struct device device;	/* as it was made */
	__u32 handle;
	__u32 notify;
};

FIXTURE_SETUP(model)
{
	struct model preset = { .name = "sci-d330", .scale = SCALE * 1000 };

	fabric_make(&self->own, "a", 2, &preset);
	self->node = node_open(&self->own, 0);
	self->peer = node_open(&self->own, 1);
	ASSERT_EQ(device_get(self->node.name, &self->device), 0);
	self->local = segment_make(&self->node, BYTES);
	self->target = segment_make(&self->peer, BYTES);
	segment_export(&self->target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	self->handle = segment_connect(&self->node, &self->target);
	self->irq = irq_make(&self->peer, 8);
	self->notify = irq_connect(&self->node, &self->irq);
	self->queue = queue_make(&self->node, 16, 16);
}

FIXTURE_TEARDOWN(model)
{
}

static struct dmanic_sqe move(struct model_self *self, __u8 opcode,
			      __u64 length)
{
	return sqe_move(opcode, self->local.id, 0, self->handle, 0, length);
}

static __u64 transfer_ns(const struct model *model, __u64 bytes)
{
	return bytes * SECOND_NS / model->bandwidth * SCALE;
}

TEST_F(model, preset_is_told)
{
	struct model *told = &self->device.model;

	ASSERT_TRUE(self->device.has_model);
	EXPECT_EQ(strcmp(self->device.model_name, "sci-d330"), 0);
	EXPECT_EQ(told->start_ns, 49200);
	EXPECT_EQ(told->interrupt_ns, 18800);
	EXPECT_EQ(told->scale, SCALE * 1000);
	EXPECT_GT(told->bandwidth, 0);
}

TEST_F(model, scaled_preset_keeps_its_name)
{
	struct model change = { .scale = 7000, .seed = 7 };
	struct device device;

	ASSERT_EQ(device_set_model(self->node.name, &change), 0);
	ASSERT_EQ(device_get(self->node.name, &device), 0);
	EXPECT_EQ(strcmp(device.model_name, "sci-d330"), 0);
	EXPECT_EQ(device.model.scale, 7000);
	EXPECT_EQ(device.model.seed, 7);
	EXPECT_EQ(device.model.start_ns, self->device.model.start_ns);
}

TEST_F(model, changed_preset_is_custom)
{
	struct model change = { .start_ns = 1000 };
	struct device device;

	ASSERT_EQ(device_set_model(self->node.name, &change), 0);
	ASSERT_EQ(device_get(self->node.name, &device), 0);
	EXPECT_EQ(strcmp(device.model_name, "custom"), 0);
	EXPECT_EQ(device.model.start_ns, 1000);
	EXPECT_EQ(device.model.bandwidth, self->device.model.bandwidth);
	/* The other node of the fabric is as it was. */
	ASSERT_EQ(device_get(self->peer.name, &device), 0);
	EXPECT_EQ(strcmp(device.model_name, "sci-d330"), 0);
}

/* Who posts for hours and closes the queue keeps nobody waiting. */
TEST_F(model, cancelled_work_costs_nothing)
{
	/* 4 KiB take longer than the longest wait of these tests */
	struct model slow = {
		.name = "none", .bandwidth = 1000, .scale = 100000,
	};
	struct dmanic_sqe write = move(self, DMANIC_OP_WRITE, 0);
	struct queue queue;
	unsigned int i, k;

	ASSERT_EQ(device_set_model(self->node.name, &slow), 0);
	for (k = 0; k < 3; k++) {
		queue = queue_make(&self->node, 16, 16);
		for (i = 0; i < 16; i++)
			*queue_sqe(&queue) = move(self, DMANIC_OP_WRITE, 4096);
		queue_submit(&queue);
		queue_close(&queue);
	}
	EXPECT_EQ(queue_run(&self->queue, &write).status, DMANIC_STATUS_OK);
}

TEST_F(model, post_of_data_costs_the_start)
{
	__u64 least = self->device.model.start_ns * SCALE, start;
	unsigned int i, k;

	for (i = 0; i < 10; i++) {
		for (k = 0; k <= i % 3; k++)
			*queue_sqe(&self->queue) = move(self, DMANIC_OP_WRITE,
							8);
		start = now_ns();
		queue_submit(&self->queue);
		EXPECT_GE(now_ns() - start, least);
		for (k = 0; k <= i % 3; k++)
			EXPECT_EQ(queue_wait(&self->queue).status,
				  DMANIC_STATUS_OK);
	}
}

TEST_F(model, post_of_a_notify_costs_the_interrupt)
{
	__u64 least = self->device.model.interrupt_ns * SCALE, start;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		*queue_sqe(&self->queue) = sqe_notify(self->notify, i);
		start = now_ns();
		queue_submit(&self->queue);
		EXPECT_GE(now_ns() - start, least);
		ASSERT_EQ(irq_wait(&self->irq, i + 1, slow_ns(20000), NULL), 0);
		/* And as much again until it is raised */
		EXPECT_GE(now_ns() - start, 2 * least);
		EXPECT_EQ(queue_wait(&self->queue).status, DMANIC_STATUS_OK);
	}
}

TEST_F(model, transfer_takes_bytes_over_bandwidth)
{
	const struct model *told = &self->device.model;
	__u64 each = transfer_ns(told, BYTES), start, least;
	unsigned int count, i;

	least = (told->start_ns + told->latency_ns) * SCALE;
	for (count = 1; count <= 3; count++) {
		for (i = 0; i < count; i++)
			*queue_sqe(&self->queue) = move(self, DMANIC_OP_WRITE,
							BYTES);
		start = now_ns();
		queue_submit(&self->queue);
		for (i = 0; i < count; i++) {
			ASSERT_EQ(queue_wait(&self->queue).status,
				  DMANIC_STATUS_OK);
			/* One engine: each waits for the one before. */
			EXPECT_GE(now_ns() - start, least + (i + 1) * each);
		}
	}
}

TEST_F(model, read_travels_twice)
{
	const struct model *told = &self->device.model;
	struct dmanic_sqe sqe = move(self, DMANIC_OP_READ, BYTES);
	__u64 start = now_ns();

	ASSERT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_GE(now_ns() - start,
		  (told->start_ns + 2 * told->latency_ns) * SCALE +
		  transfer_ns(told, BYTES));
}

TEST_F(model, notify_behind_data_waits_for_it)
{
	const struct model *told = &self->device.model;
	__u64 start;

	fill(self->local.data, BYTES, 5);
	*queue_sqe(&self->queue) = move(self, DMANIC_OP_WRITE, BYTES);
	*queue_sqe(&self->queue) = sqe_notify(self->notify, 1);
	start = now_ns();
	queue_submit(&self->queue);
	ASSERT_EQ(irq_wait(&self->irq, 1, slow_ns(20000), NULL), 0);
	EXPECT_GE(now_ns() - start, told->start_ns * SCALE +
		  transfer_ns(told, BYTES));
	EXPECT_EQ(memcmp(self->target.data, self->local.data, BYTES), 0);
}

/* The poster's time is the poster's alone: others do not pay. */
TEST_F(model, peer_without_a_model_is_free)
{
	struct model none = { .name = "none" };
	struct device device;

	ASSERT_EQ(device_set_model(self->node.name, &none), 0);
	ASSERT_EQ(device_get(self->node.name, &device), 0);
	EXPECT_EQ(device.model.start_ns, 0);
	EXPECT_EQ(device.model.bandwidth, 0);
	ASSERT_EQ(device_get(self->peer.name, &device), 0);
	EXPECT_EQ(device.model.start_ns, self->device.model.start_ns);
}

TEST_F(model, killed_while_paying_dies)
{
	struct model dear = { .start_ns = slow_ns(60000), .scale = 1000 };
	__u64 start;
	pid_t child;
	int status;

	ASSERT_EQ(device_set_model(self->node.name, &dear), 0);
	*queue_sqe(&self->queue) = move(self, DMANIC_OP_WRITE, 8);
	queue_publish(&self->queue);
	start = now_ns();
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		struct dmanic_enter arg = {
			.size = sizeof(arg), .to_submit = 1,
		};

		dmanic_call(self->queue.fd, DMANIC_IOC_ENTER, &arg);
		_exit(0);
	}
	ASSERT_TRUE(WAIT_FOR(load32(&self->queue.ring->sq_head) == 1));
	ASSERT_EQ(kill(child, SIGKILL), 0);
	ASSERT_TRUE(WAIT_FOR(waitpid(child, &status, WNOHANG) == child));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_LT(now_ns() - start, dear.start_ns);
}

TEST_F(model, failed_peer_is_PEER_DEAD)
{
	struct dmanic_sqe write = move(self, DMANIC_OP_WRITE, 64);
	struct dmanic_sqe read = move(self, DMANIC_OP_READ, 64);
	struct dmanic_sqe notify = sqe_notify(self->notify, 1);
	struct device device;
	__u32 handle;

	EXPECT_EQ(queue_run(&self->queue, &write).status, DMANIC_STATUS_OK);
	ASSERT_EQ(device_set_failed(self->peer.name, true), 0);
	ASSERT_EQ(device_get(self->peer.name, &device), 0);
	EXPECT_EQ(device.state, DMANIC_DEV_FAILED);
	EXPECT_EQ(queue_run(&self->queue, &write).status,
		  DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(queue_run(&self->queue, &read).status,
		  DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(queue_run(&self->queue, &notify).status,
		  DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(irq_raised(&self->irq), 0);
	EXPECT_EQ(connect_call(&self->node, 0, self->peer.id, self->target.id,
			       self->target.key, &handle), -EHOSTUNREACH);
}

TEST_F(model, restarted_peer_wants_a_new_connection)
{
	struct dmanic_sqe write = move(self, DMANIC_OP_WRITE, 64);
	struct dmanic_sqe notify = sqe_notify(self->notify, 1);
	struct device before, after;
	struct dmanic_query query;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(device_get(self->peer.name, &before), 0);
		ASSERT_EQ(device_set_failed(self->peer.name, true), 0);
		ASSERT_EQ(device_set_failed(self->peer.name, false), 0);
		ASSERT_EQ(device_get(self->peer.name, &after), 0);
		EXPECT_EQ(after.state, DMANIC_DEV_UP);
		EXPECT_NE(after.incarnation, before.incarnation);
		node_query(&self->peer, &query);
		EXPECT_EQ(query.incarnation, after.incarnation);
		EXPECT_EQ(queue_run(&self->queue, &write).status,
			  DMANIC_STATUS_PEER_RESTARTED);
		EXPECT_EQ(queue_run(&self->queue, &notify).status,
			  DMANIC_STATUS_PEER_RESTARTED);
		write.remote = segment_connect(&self->node, &self->target);
		notify.notify = irq_connect(&self->node, &self->irq);
		EXPECT_EQ(queue_run(&self->queue, &write).status,
			  DMANIC_STATUS_OK);
		EXPECT_EQ(queue_run(&self->queue, &notify).status,
			  DMANIC_STATUS_OK);
	}
	EXPECT_EQ(irq_raised(&self->irq), 3);
}

/* A node that is set to what it is has not restarted. */
TEST_F(model, restart_needs_a_failure)
{
	struct dmanic_sqe write = move(self, DMANIC_OP_WRITE, 64);

	ASSERT_EQ(device_set_failed(self->peer.name, false), 0);
	EXPECT_EQ(queue_run(&self->queue, &write).status, DMANIC_STATUS_OK);
}

TEST_F(model, failed_node_itself_is_LINK_DOWN)
{
	struct dmanic_sqe write = move(self, DMANIC_OP_WRITE, 64);
	struct dmanic_sqe nop = { .opcode = DMANIC_OP_NOP };

	ASSERT_EQ(device_set_failed(self->node.name, true), 0);
	EXPECT_EQ(queue_run(&self->queue, &write).status,
		  DMANIC_STATUS_LINK_DOWN);
	EXPECT_EQ(queue_run(&self->queue, &nop).status, DMANIC_STATUS_OK);
	ASSERT_EQ(device_set_failed(self->node.name, false), 0);
	EXPECT_EQ(queue_run(&self->queue, &write).status, DMANIC_STATUS_OK);
}

#define DRAWS	10
#define PAIRS	(DRAWS * (DRAWS - 1) / 2)

/* How long each of some operations took, one after the other */
static void draw(struct model_self *self, __u64 seed, __u64 *delays)
{
	struct model jitter = {
		.name = "none", .jitter_ns = slow_ns(100), .seed = seed,
	};
	struct dmanic_sqe nop = { .opcode = DMANIC_OP_NOP };
	unsigned int i;
	__u64 start;

	ASSERT_EQ(device_set_model(self->node.name, &jitter), 0);
	for (i = 0; i < DRAWS; i++) {
		start = now_ns();
		ASSERT_EQ(queue_run(&self->queue, &nop).status,
			  DMANIC_STATUS_OK);
		delays[i] = now_ns() - start;
	}
}

/* Pairs that are in the same order in both */
static unsigned int agreement(const __u64 *a, const __u64 *b)
{
	unsigned int i, k, same = 0;

	for (i = 0; i < DRAWS; i++)
		for (k = 0; k < i; k++)
			same += (a[i] < a[k]) == (b[i] < b[k]);
	return same;
}

/* Which are slow and which are fast depends on the seed alone. */
TEST_F_TIMEOUT(model, jitter_comes_again_with_its_seed, 60)
{
	__u64 first[DRAWS], again[DRAWS], other[DRAWS];
	unsigned int same, tries = 0;

	/* What else runs on the machine delays, too, but not twice alike */
	do {
		draw(self, 11, first);
		draw(self, 11, again);
		draw(self, 5, other);
		same = agreement(first, again);
	} while (same < PAIRS * 8 / 10 && ++tries < 10);
	EXPECT_GE(same, PAIRS * 8 / 10);
	EXPECT_LT(agreement(first, other), PAIRS * 7 / 10);
}

FABRIC_TEST_MAIN_NONE()
