// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_dma_revoke.c - memory is taken back while a DMA engine copies
 *
 * Owns: that neither the engine nor the CPU, which does what the engine lost,
 * writes after a call returned that promises it: revoke and destroy, the close
 * of a queue, the end of a process. Copies take long here, so that the call
 * comes in the middle of one.
 *
 * Flags: -luring
 */
#include "engine.h"
#include "uring_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

FIXTURE(dma_revoke) {
	struct fabric own;
	struct device device;
	struct pair pair;
	unsigned int delay_ms;
};

FIXTURE_SETUP(dma_revoke)
{
}

FIXTURE_TEARDOWN(dma_revoke)
{
}

static void dma_start(struct dma_revoke_self *self, const char *parameters,
		      unsigned int delay_ms)
{
	engine_load(parameters);
	self->own = fabric_engined("a", &self->device);
	self->pair = pair_make(&self->own, 0);
	self->delay_ms = delay_ms;
	engine_set("delay_us", delay_ms * 1000);
}

/* New bytes to be moved, all of a segment in several copies */
static struct dmanic_sqe pair_colour(struct pair *pair, __u8 opcode)
{
	bool write = opcode == DMANIC_OP_WRITE;

	fill(write ? pair->local.data : pair->remote.data, PAIR_BYTES,
	     ++pair->seed);
	memset(write ? pair->remote.data : pair->local.data, COLOUR,
	       PAIR_BYTES);
	return sqe_move(opcode, pair->local.id, 0, pair->handle, 0, PAIR_BYTES);
}

/* The engine has something to do that it had not @before */
static void wait_taken(unsigned long before)
{
	ASSERT_TRUE(WAIT_FOR(engine_taken() > before));
}

static void begin(struct pair *pair, __u8 opcode)
{
	struct dmanic_sqe sqe = pair_colour(pair, opcode);
	unsigned long before = engine_taken();

	*queue_sqe(&pair->queue) = sqe;
	queue_submit(&pair->queue);
	wait_taken(before);
}

/* Whatever the engine was given it would have done by now */
static void wait_late(const struct dma_revoke_self *self)
{
	__u64 end = now_ns() + 2 * self->delay_ms * MS_NS;

	while (now_ns() < end)
		breathe();
}

/* In use before; nobody writes to it once it is coloured */
static void expect_still(const struct dma_revoke_self *self)
{
	ASSERT_TRUE(is_colour(self->pair.remote.data, PAIR_BYTES));
	wait_late(self);
	EXPECT_TRUE(is_colour(self->pair.remote.data, PAIR_BYTES));
}

/* ---- revoke ---- */

FIXTURE(dma_lost) {
	struct dma_revoke_self with;
};

FIXTURE_VARIANT(dma_lost) {
	const char *parameters;
	unsigned int delay_ms;	/* of each copy; the driver waits for 250 */
	bool lose;
	bool destroy;		/* instead of revoking */
};

FIXTURE_VARIANT_ADD(dma_lost, nothing) { "", 50, false, false };
FIXTURE_VARIANT_ADD(dma_lost, copy) { "", 20, true, false };
FIXTURE_VARIANT_ADD(dma_lost, copy_for_good) { "terminate=0", 20, true, false };
FIXTURE_VARIANT_ADD(dma_lost, patience) { "", 400, false, false };
FIXTURE_VARIANT_ADD(dma_lost, patience_for_good) {
	"terminate=0", 400, false, false,
};
FIXTURE_VARIANT_ADD(dma_lost, nothing_destroyed) { "", 50, false, true };
FIXTURE_VARIANT_ADD(dma_lost, copy_for_good_destroyed) {
	"terminate=0", 20, true, true,
};

FIXTURE_SETUP(dma_lost)
{
	dma_start(&self->with, variant->parameters, variant->delay_ms);
	engine_set("lose_nth", variant->lose);
}

FIXTURE_TEARDOWN(dma_lost)
{
}

/* Both wait for the engine, and for who does the rest of its work */
TEST_F(dma_lost, memory_taken_back_is_still)
{
	struct pair *pair = &self->with.pair;
	struct dmanic_cqe cqe;
	__u64 fallbacks;

	begin(pair, DMANIC_OP_WRITE);
	ASSERT_EQ(variant->destroy ? segment_destroy(&pair->remote) :
				     segment_revoke(&pair->remote), 0);
	memset(pair->remote.data, COLOUR, PAIR_BYTES);
	/* What is done for it is done before */
	cqe = queue_wait(&pair->queue);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_NO_SEGMENT);
	expect_still(&self->with);
	fallbacks = node_stat(&pair->node, DMANIC_STATS_A_DMA_FALLBACKS);
	engine_device(&self->with.own, &self->with.device);
	if (variant->delay_ms < 250 && !variant->lose) {
		EXPECT_EQ(fallbacks, 0);
		EXPECT_EQ(self->with.device.dma_state, DMANIC_DMA_USED);
		EXPECT_GE(node_stat(&pair->node, DMANIC_STATS_A_DMA_BYTES),
			  self->with.device.dma_threshold);
	} else {
		EXPECT_GT(fallbacks, 0);
		EXPECT_EQ(self->with.device.dma_state, DMANIC_DMA_FAILED);
		EXPECT_EQ(engine_in_use(), 0);
	}
}

/* ---- the local side ---- */

/* It is held until the operation ends, and that is moved whole */
static void destroy_local(struct dma_revoke_self *self, __u8 opcode)
{
	struct pair *pair = &self->pair;
	struct dmanic_cqe cqe;

	dma_start(self, "", 50);
	begin(pair, opcode);
	ASSERT_EQ(segment_destroy(&pair->local), 0);
	cqe = queue_wait(&pair->queue);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, PAIR_BYTES);
	EXPECT_EQ(memcmp(pair->local.data, pair->remote.data, PAIR_BYTES), 0);
	EXPECT_EQ(node_stat(&pair->node, DMANIC_STATS_A_DMA_FALLBACKS), 0);
}

TEST_F(dma_revoke, source_is_destroyed_in_the_middle_of_a_copy)
{
	destroy_local(self, DMANIC_OP_WRITE);
}

TEST_F(dma_revoke, destination_is_destroyed_in_the_middle_of_a_copy)
{
	destroy_local(self, DMANIC_OP_READ);
}

/* Nor does it outlive its mapping for anybody else's harm */
TEST_F(dma_revoke, destroyed_destination_is_unmapped_in_the_middle)
{
	struct pair *pair = &self->pair;
	struct segment others[8];
	struct dmanic_cqe cqe;
	unsigned int i;

	dma_start(self, "", 50);
	begin(pair, DMANIC_OP_READ);
	ASSERT_EQ(segment_destroy(&pair->local), 0);
	segment_unmap(&pair->local);
	/* If its pages were free by now, these would get them */
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = segment_make(&pair->node, PAIR_BYTES);
		memset(others[i].data, COLOUR, PAIR_BYTES);
	}
	cqe = queue_wait(&pair->queue);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		EXPECT_TRUE(is_colour(others[i].data, PAIR_BYTES));
}

/* ---- who posted it goes ---- */

static bool queues_gone(const struct node *node)
{
	struct device device;

	ASSERT_EQ(device_get(node->name, &device), 0);
	return !device.queues;
}

TEST_F(dma_revoke, queue_is_closed_in_the_middle_of_a_copy)
{
	struct pair *pair = &self->pair;

	dma_start(self, "", 50);
	begin(pair, DMANIC_OP_WRITE);
	queue_close(&pair->queue);
	memset(pair->remote.data, COLOUR, PAIR_BYTES);
	expect_still(self);
	EXPECT_EQ(engine_in_use(), 1);
}

TEST_F(dma_revoke, process_is_killed_in_the_middle_of_a_copy)
{
	struct pair *pair = &self->pair;
	unsigned long before;
	pid_t child;
	int status;

	dma_start(self, "", 50);
	queue_close(&pair->queue);
	before = engine_taken();
	child = fork();
	if (!child) {
		/* Of its own: mappings are not inherited */
		pair->node = node_open(&self->own, 0);
		pair->local = segment_make(&pair->node, PAIR_BYTES);
		pair->queue = queue_make(&pair->node, 4, 4);
		pair->handle = segment_connect(&pair->node, &pair->remote);
		*queue_sqe(&pair->queue) = sqe_move(DMANIC_OP_WRITE,
			pair->local.id, 0, pair->handle, 0, PAIR_BYTES);
		fill(pair->local.data, PAIR_BYTES, 99);
		queue_submit(&pair->queue);
		for (;;)
			pause();
	}
	ASSERT_GT(child, 0);
	wait_taken(before);
	ASSERT_EQ(kill(child, SIGKILL), 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFSIGNALED(status));
	EXPECT_TRUE(WAIT_FOR(queues_gone(&pair->node)));
	memset(pair->remote.data, COLOUR, PAIR_BYTES);
	expect_still(self);
}

/* A ring dies in its own time, but nothing of it is left after a revoke */
TEST_F(dma_revoke, uring_is_closed_in_the_middle_of_a_copy)
{
	struct pair *pair = &self->pair;
	struct io_uring ring;
	struct dmanic_sqe op;
	unsigned long before;

	dma_start(self, "", 50);
	ring_make(&ring, 4, IORING_SETUP_SQE128);
	op = pair_colour(pair, DMANIC_OP_WRITE);
	before = engine_taken();
	prep_post(&ring, &pair->queue, &op);
	ring_submit(&ring, 1);
	wait_taken(before);
	io_uring_queue_exit(&ring);
	queue_close(&pair->queue);
	ASSERT_EQ(segment_revoke(&pair->remote), 0);
	memset(pair->remote.data, COLOUR, PAIR_BYTES);
	EXPECT_TRUE(WAIT_FOR(queues_gone(&pair->node)));
	expect_still(self);
}

FABRIC_TEST_MAIN_NONE()
