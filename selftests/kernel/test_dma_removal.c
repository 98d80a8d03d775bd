// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_dma_removal.c - a DMA engine goes while it is used
 *
 * Owns: that the driver of an engine can be unbound at any time, and unloaded
 * when no fabric has the channel; that fabrics give it back.
 */
#include "engine.h"

#include <pthread.h>
#include <stdlib.h>

FIXTURE(dma_removal) {
	struct fabric own;
	struct device device;
	struct pair pair;
};

FIXTURE_SETUP(dma_removal)
{
}

FIXTURE_TEARDOWN(dma_removal)
{
	put_text(ENGINE_MODE, "auto");
}

static void dma_start(struct dma_removal_self *self)
{
	engine_load("");
	self->own = fabric_engined("a", &self->device);
	self->pair = pair_make(&self->own, 0);
	pair_write(&self->pair);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES), COPY);
}

TEST_F(dma_removal, driver_in_use_is_not_unloaded)
{
	dma_start(self);
	EXPECT_NE(engine_unload(), 0);
	pair_write(&self->pair);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES), 2 * COPY);
	/* The husk of a node has no channel */
	ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
	EXPECT_EQ(engine_in_use(), 0);
	EXPECT_EQ(engine_unload(), 0);
}

TEST_F(dma_removal, channel_goes_back_when_dmanic_is_unloaded)
{
	engine_load("");
	self->own = fabric_engined("a", &self->device);
	ASSERT_EQ(system("rmmod dmanic"), 0);
	EXPECT_EQ(engine_in_use(), 0);
	EXPECT_EQ(engine_unload(), 0);
	ASSERT_EQ(system("modprobe dmanic"), 0);
	ASSERT_EQ(netlink_find_family(), 0);
}

/* Idle: nobody would notice if nobody were told. */
TEST_F(dma_removal, idle_engine_can_be_unbound)
{
	dma_start(self);
	ASSERT_EQ(put_text(ENGINE_DRIVER "unbind", "fake_dma"), 0);
	engine_device(&self->own, &self->device);
	EXPECT_EQ(self->device.dma_state, DMANIC_DMA_REMOVED);
	EXPECT_EQ(engine_unload(), 0);
	pair_write(&self->pair);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_FALLBACKS), 0);
}

struct writer {
	struct pair pair;
	pthread_t thread;
	bool *stop;
	unsigned long rounds;
};

static void *write_thread(void *data)
{
	struct writer *writer = data;

	while (!__atomic_load_n(writer->stop, __ATOMIC_ACQUIRE)) {
		pair_move(&writer->pair, writer->rounds & 1 ? DMANIC_OP_READ :
			  DMANIC_OP_WRITE, 0, 0, MIB);
		__atomic_fetch_add(&writer->rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

#define WRITERS	4

static void writers_start(struct writer *writers, const struct fabric *of,
			  bool *stop)
{
	unsigned int i;

	*stop = false;
	for (i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer) { .stop = stop };
		writers[i].pair = pair_make(of, i & 1);
		writers[i].pair.seed = i * 1000000 + 1;
		ASSERT_EQ(pthread_create(&writers[i].thread, NULL, write_thread,
					 &writers[i]), 0);
	}
}

static void writers_end(struct writer *writers, bool *stop)
{
	unsigned int i;

	__atomic_store_n(stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		pair_close(&writers[i].pair);
	}
}

/* How far the engine has come for both nodes */
static __u64 moved(const struct writer *writers)
{
	return node_stat(&writers[0].pair.node, DMANIC_STATS_A_DMA_BYTES) +
	       node_stat(&writers[1].pair.node, DMANIC_STATS_A_DMA_BYTES);
}

/* Every one has moved something, and the engine has its part in it. */
static bool all_move(const struct writer *writers)
{
	unsigned int i;

	for (i = 0; i < WRITERS; i++) {
		if (!__atomic_load_n(&writers[i].rounds, __ATOMIC_ACQUIRE))
			return false;
	}
	return moved(writers) > 4 * COPY;
}

/* Two queues on each of two nodes; copies are in flight most of the time. */
TEST_F_TIMEOUT(dma_removal, engine_is_unbound_in_the_middle_of_traffic, 60)
{
	struct writer writers[WRITERS];
	unsigned int round;
	bool stop;

	engine_load("");
	for (round = 0; round < 5; round++) {
		engine_set("delay_us", 0);
		self->own = fabric_engined("a", &self->device);
		engine_set("delay_us", round * 500);
		writers_start(writers, &self->own, &stop);
		EXPECT_TRUE(WAIT_FOR(all_move(writers)));
		ASSERT_EQ(put_text(ENGINE_DRIVER "unbind", "fake_dma"), 0);
		engine_device(&self->own, &self->device);
		EXPECT_EQ(self->device.dma_state, DMANIC_DMA_REMOVED);
		writers_end(writers, &stop);
		EXPECT_EQ(fabric_delete(self->own.prefix, false), 0);
		ASSERT_EQ(put_text(ENGINE_DRIVER "bind", "fake_dma"), 0);
	}
	EXPECT_EQ(engine_unload(), 0);
}

/* The same with an engine that has just lost a copy: who waits for whom? */
TEST_F_TIMEOUT(dma_removal, engine_is_unbound_while_it_loses_copies, 60)
{
	struct writer writers[WRITERS];
	bool stop;

	engine_load("");
	self->own = fabric_engined("a", &self->device);
	engine_set("delay_us", 500);
	writers_start(writers, &self->own, &stop);
	EXPECT_TRUE(WAIT_FOR(all_move(writers)));
	engine_set("lose_nth", 1);
	ASSERT_EQ(put_text(ENGINE_DRIVER "unbind", "fake_dma"), 0);
	writers_end(writers, &stop);
	engine_device(&self->own, &self->device);
	EXPECT_TRUE(self->device.dma_state == DMANIC_DMA_FAILED ||
		    self->device.dma_state == DMANIC_DMA_REMOVED);
	EXPECT_EQ(engine_unload(), 0);
}

/* What both do at once, one of them a while later */
struct leave {
	pthread_barrier_t both;
	unsigned int after_us;
	int ret;
};

static void *unbind_thread(void *data)
{
	struct leave *leave = data;

	pthread_barrier_wait(&leave->both);
	usleep(leave->after_us);
	leave->ret = put_text(ENGINE_DRIVER "unbind", "fake_dma");
	return NULL;
}

/*
 * A driver may go only when nobody has its channel, whoever is giving it back: the
 * kernel complains otherwise.
 */
TEST_F_TIMEOUT(dma_removal, engine_is_unbound_while_its_fabric_is_deleted, 120)
{
	struct leave leave;
	unsigned int round;
	pthread_t thread;

	engine_load("");
	ASSERT_EQ(pthread_barrier_init(&leave.both, NULL, 2), 0);
	ASSERT_EQ(put_text(ENGINE_MODE, "always"), 0);
	for (round = 0; round < 20; round++) {
		fabric_make(&self->own, "a", 2, NULL);
		ASSERT_EQ(engine_in_use(), 1);
		leave.after_us = round * 200;
		ASSERT_EQ(pthread_create(&thread, NULL, unbind_thread, &leave), 0);
		pthread_barrier_wait(&leave.both);
		EXPECT_EQ(fabric_delete(self->own.prefix, false), 0);
		pthread_join(thread, NULL);
		ASSERT_EQ(leave.ret, 0);
		ASSERT_EQ(put_text(ENGINE_DRIVER "bind", "fake_dma"), 0);
	}
	pthread_barrier_destroy(&leave.both);
	EXPECT_EQ(engine_in_use(), 0);
	EXPECT_EQ(engine_unload(), 0);
}

/* Nodes are removed by force while the engine copies for them. */
TEST_F(dma_removal, nodes_go_in_the_middle_of_a_copy)
{
	struct dmanic_sqe sqe;

	dma_start(self);
	engine_set("delay_us", 50000);
	sqe = sqe_move(DMANIC_OP_WRITE, self->pair.local.id, 0,
		       self->pair.handle, 0, MIB);
	*queue_sqe(&self->pair.queue) = sqe;
	queue_submit(&self->pair.queue);
	ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
	EXPECT_EQ(engine_in_use(), 0);
	EXPECT_EQ(engine_unload(), 0);
}

FABRIC_TEST_MAIN_NONE()
