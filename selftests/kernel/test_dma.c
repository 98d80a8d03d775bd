// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_dma.c - copying with a DMA engine of the machine
 *
 * Owns: that a loop fabric uses an engine which is faster than the CPU and no
 * other, and that the bytes are right whatever the engine does.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>


/* ---- the bytes ---- */

FIXTURE(bytes) {
	struct fabric own;
	struct pair pair;
};

enum kind {
	DRIVER,
	SCATTERED,	/* single pages, beginning in the middle of one */
	HUGE,		/* a page of 2 MiB */
};

FIXTURE_VARIANT(bytes) {
	enum kind local;
	enum kind remote;
};

FIXTURE_VARIANT_ADD(bytes, driver_to_driver) { .local = DRIVER };
FIXTURE_VARIANT_ADD(bytes, huge_to_driver) { .local = HUGE };
FIXTURE_VARIANT_ADD(bytes, driver_to_scattered) { .remote = SCATTERED };
FIXTURE_VARIANT_ADD(bytes, scattered_to_scattered) {
	.local = SCATTERED, .remote = SCATTERED,
};

static __u8 *scattered(void)
{
	size_t bytes = PAIR_BYTES + page_bytes(), pages = bytes / page_bytes(), i;
	__u8 *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(map != MAP_FAILED);
	madvise(map, bytes, MADV_NOHUGEPAGE);
	/* 7919 is a prime, so every page is touched once. */
	for (i = 0; i < pages; i++)
		map[i * 7919 % pages * page_bytes()] = 1;
	return map + 77;
}

static __u8 *huge_page(void)
{
	__u8 *data;

	put_text("/proc/sys/vm/nr_hugepages", "2");
	data = mmap(NULL, PAIR_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (data == MAP_FAILED)
		SKIP("no huge page to be had");
	return data;
}

static struct segment side(const struct node *node, enum kind kind)
{
	if (kind == DRIVER)
		return segment_make(node, PAIR_BYTES);
	return segment_register(node, kind == HUGE ? huge_page() : scattered(),
				PAIR_BYTES);
}

FIXTURE_SETUP(bytes)
{
	struct pair *pair = &self->pair;
	struct device device;

	engine_load("");
	self->own = fabric_engined("a", &device);
	pair->node = node_open(&self->own, 0);
	pair->peer = node_open(&self->own, 1);
	pair->local = side(&pair->node, variant->local);
	pair->remote = side(&pair->peer, variant->remote);
	pair_connect(pair);
}

FIXTURE_TEARDOWN(bytes)
{
}

static void move_all(struct bytes_self *self, __u8 opcode)
{
	static const size_t sizes[] = {
		4096, 4097, 12288, 65536, 65537, COPY - 1, COPY, COPY + 1,
		MIB + 3,
	};
	static const __u64 offsets[] = { 0, 1, 4095, MIB - 5 };
	unsigned int s, l, r;

	for (s = 0; s < ARRAY_SIZE(sizes); s++)
	for (l = 0; l < ARRAY_SIZE(offsets); l++)
	for (r = 0; r < ARRAY_SIZE(offsets); r++) {
		if (offsets[l] + sizes[s] > PAIR_BYTES ||
		    offsets[r] + sizes[s] > PAIR_BYTES || (s + l + r) % 3)
			continue;
		pair_move(&self->pair, opcode, offsets[l], offsets[r], sizes[s]);
	}
}

/* The engine did what it should: all that is long and contiguous */
static void expect_used(struct bytes_self *self, unsigned long before,
			bool contiguous)
{
	const struct node *node = &self->pair.node;
	__u64 bytes = node_stat(node, DMANIC_STATS_A_DMA_BYTES);

	EXPECT_EQ(node_stat(node, DMANIC_STATS_A_DMA_FALLBACKS), 0);
	EXPECT_EQ(!bytes, engine_copied() == before);
	if (contiguous)
		EXPECT_GT(bytes, MIB);
}

TEST_F_TIMEOUT(bytes, are_exact, 60)
{
	unsigned long before = engine_copied();

	move_all(self, DMANIC_OP_WRITE);
	move_all(self, DMANIC_OP_READ);
	expect_used(self, before, variant->local != SCATTERED &&
				  variant->remote != SCATTERED);
}

/* Large blocks one by one, each above the threshold */
TEST_F(bytes, of_strided_operations_are_exact)
{
	struct pair *pair = &self->pair;
	struct dmanic_sqe sqe = {
		.opcode = DMANIC_OP_WRITE_STRIDED, .local = pair->local.id,
		.remote = pair->handle, .local_offset = 3, .remote_offset = 5,
		.block = COPY, .count = 3, .local_stride = COPY + 7,
		.remote_stride = COPY + 4096,
	};
	unsigned long before = engine_copied();
	__u64 i;

	fill(pair->local.data, PAIR_BYTES, 7);
	memset(pair->remote.data, COLOUR, PAIR_BYTES);
	ASSERT_EQ(queue_run(&pair->queue, &sqe).status, DMANIC_STATUS_OK);
	for (i = 0; i < 3; i++) {
		__u8 *to = pair->remote.data + 5 + i * (COPY + 4096);

		EXPECT_EQ(memcmp(to, pair->local.data + 3 + i * (COPY + 7),
				 COPY), 0);
		EXPECT_TRUE(is_colour(to + COPY, 4096));
	}
	EXPECT_TRUE(is_colour(pair->remote.data, 5));
	expect_used(self, before, false);
}

/* Large blocks for the engine and a small one, the last ones first */
static const struct dmanic_list_entry blocks[] = {
	{ 3, PAIR_BYTES - COPY - 9, COPY },
	{ COPY + 77, PAIR_BYTES - 2 * COPY - 4096, COPY + 11 },
	{ 2 * COPY + 4000, 500, 123 },
	{ 2 * COPY + 8192, 4096, 2 * COPY + 5 },
	{ PAIR_BYTES - COPY, 3 * COPY, COPY },
};

static void move_list(struct bytes_self *self, const struct segment *list,
		      __u32 direction)
{
	struct pair *pair = &self->pair;
	__u8 *from = direction ? pair->remote.data : pair->local.data;
	__u8 *to = direction ? pair->local.data : pair->remote.data;
	struct dmanic_sqe sqe = sqe_list(direction, pair->local.id, pair->handle,
					 list->id, 0, ARRAY_SIZE(blocks));
	__u8 *expected = malloc(PAIR_BYTES);
	struct dmanic_cqe cqe;
	__u64 bytes = 0;
	unsigned int i;

	ASSERT_TRUE(expected);
	fill(from, PAIR_BYTES, ++pair->seed);
	memset(to, COLOUR, PAIR_BYTES);
	memset(expected, COLOUR, PAIR_BYTES);
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		const struct dmanic_list_entry *block = &blocks[i];
		__u64 at[2] = { block->local_offset, block->remote_offset };

		memcpy(expected + at[!direction], from + at[!!direction],
		       block->length);
		bytes += block->length;
	}
	cqe = queue_run(&pair->queue, &sqe);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, bytes);
	EXPECT_EQ(memcmp(to, expected, PAIR_BYTES), 0);
	free(expected);
}

TEST_F(bytes, of_lists_are_exact)
{
	struct segment list = segment_make(&self->pair.node, sizeof(blocks));
	unsigned long before = engine_copied();

	memcpy(list.data, blocks, sizeof(blocks));
	move_list(self, &list, 0);
	move_list(self, &list, DMANIC_LIST_READ);
	expect_used(self, before, variant->local != SCATTERED &&
				  variant->remote != SCATTERED);
}

/* ---- an engine that is not used ---- */

FIXTURE(dma) {
	struct fabric own;
	struct device device;
	struct pair pair;
};

FIXTURE_SETUP(dma)
{
}

FIXTURE_TEARDOWN(dma)
{
	put_text(ENGINE_MODE, "auto");
}

static void expect_unused(struct dma_self *self, __u32 state)
{
	fabric_make(&self->own, "a", 2, NULL);
	EXPECT_EQ(engine_measured(&self->own, &self->device), state);
	EXPECT_EQ(self->device.dma_threshold, 0);
	EXPECT_EQ(engine_in_use(), 0);
	self->pair = pair_make(&self->own, 0);
	pair_write(&self->pair);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES), 0);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_FALLBACKS), 0);
	/* Nobody needs it: its driver may go while the fabric is in use */
	EXPECT_EQ(engine_unload(), 0);
}

TEST_F(dma, slow_engine_is_given_back)
{
	engine_load("delay_us=20000");
	expect_unused(self, DMANIC_DMA_SLOW);
	EXPECT_NE(self->device.dma_engine[0], 0);
}

TEST_F(dma, slow_engine_is_used_when_told_to)
{
	engine_load("delay_us=1000");
	ASSERT_EQ(put_text(ENGINE_MODE, "always"), 0);
	fabric_make(&self->own, "a", 2, NULL);
	ASSERT_EQ(engine_measured(&self->own, &self->device), DMANIC_DMA_USED);
	EXPECT_EQ(self->device.dma_threshold, 4096);
	self->pair = pair_make(&self->own, 0);
	pair_write(&self->pair);
	EXPECT_GE(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES), COPY);
}

TEST_F(dma, engine_that_is_always_used_proves_itself_first)
{
	engine_load("lie=1");
	ASSERT_EQ(put_text(ENGINE_MODE, "always"), 0);
	expect_unused(self, DMANIC_DMA_FAILED);
}

TEST_F(dma, lying_engine_is_given_back)
{
	engine_load("lie=1");
	expect_unused(self, DMANIC_DMA_FAILED);
}

TEST_F(dma, failing_engine_is_given_back)
{
	engine_load("fail_nth=1");
	expect_unused(self, DMANIC_DMA_FAILED);
}

TEST_F(dma, engine_that_loses_is_given_back)
{
	engine_load("lose_nth=2 terminate=0");
	expect_unused(self, DMANIC_DMA_FAILED);
}

/* Too late: all of it was moved, but its channel is gone */
TEST_F(dma, engine_that_ends_when_it_is_given_back_is_not_used)
{
	engine_load("lose_nth=2 terminate=0 finish=1");
	ASSERT_EQ(put_text(ENGINE_MODE, "always"), 0);
	expect_unused(self, DMANIC_DMA_FAILED);
}

TEST_F(dma, engine_that_refuses_is_given_back)
{
	/* The first proves it, and a slow machine may not get much further */
	engine_load("refuse_nth=2");
	expect_unused(self, DMANIC_DMA_FAILED);
}

/* This machine has more memory than 1 GiB */
TEST_F(dma, engine_that_cannot_reach_all_memory_is_not_used)
{
	engine_load("mask_bits=30");
	if (engine_in_use() < 0)
		SKIP("no engine with a limited reach on this kernel");
	expect_unused(self, DMANIC_DMA_NONE);
	EXPECT_EQ(self->device.dma_engine[0], 0);
}

TEST_F(dma, off_means_off)
{
	engine_load("");
	EXPECT_EQ(put_text(ENGINE_MODE, "on"), -EINVAL);
	EXPECT_EQ(put_text(ENGINE_MODE, "autos"), -EINVAL);
	ASSERT_EQ(put_text(ENGINE_MODE, "off\n"), 0);
	expect_unused(self, DMANIC_DMA_DISABLED);
	EXPECT_EQ(self->device.dma_engine[0], 0);
}

/* One channel: the second fabric has none, and finds it when it is free */
TEST_F(dma, channel_is_for_one_fabric)
{
	struct fabric other;
	struct device device;

	engine_load("");
	self->own = fabric_engined("a", &self->device);
	fabric_make(&other, "b", 1, NULL);
	EXPECT_EQ(engine_measured(&other, &device), DMANIC_DMA_NONE);
	ASSERT_EQ(fabric_delete(other.prefix, false), 0);
	ASSERT_EQ(fabric_delete(self->own.prefix, false), 0);
	EXPECT_EQ(engine_in_use(), 0);
	self->own = fabric_engined("b", &self->device);
}

/* What an engine with an alignment cannot take is no fault of it. */
TEST_F(dma, alignment_is_respected)
{
	struct pair *pair = &self->pair;
	__u64 bytes;

	engine_load("align=6");
	self->own = fabric_engined("a", &self->device);
	*pair = pair_make(&self->own, 0);
	pair_move(pair, DMANIC_OP_WRITE, 1, 0, COPY);
	pair_move(pair, DMANIC_OP_WRITE, 0, 63, COPY);
	pair_move(pair, DMANIC_OP_WRITE, 0, 0, COPY - 8);
	pair_move(pair, DMANIC_OP_READ, 32, 32, COPY);
	EXPECT_EQ(node_stat(&pair->node, DMANIC_STATS_A_DMA_BYTES), 0);
	pair_move(pair, DMANIC_OP_WRITE, 64, 128, COPY);
	bytes = node_stat(&pair->node, DMANIC_STATS_A_DMA_BYTES);
	EXPECT_EQ(bytes, COPY);
	EXPECT_EQ(node_stat(&pair->node, DMANIC_STATS_A_DMA_FALLBACKS), 0);
}

/* ---- an engine that turns bad while it is used ---- */

static void dma_start(struct dma_self *self, const char *parameters)
{
	engine_load(parameters);
	self->own = fabric_engined("a", &self->device);
	self->pair = pair_make(&self->own, 0);
	pair_write(&self->pair);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES), COPY);
}

static __u64 fallbacks(struct dma_self *self)
{
	return node_stat(&self->pair.node, DMANIC_STATS_A_DMA_FALLBACKS);
}

static void expect_given_up(struct dma_self *self, __u32 state)
{
	__u64 bytes = node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES);

	engine_device(&self->own, &self->device);
	EXPECT_EQ(self->device.dma_state, state);
	EXPECT_EQ(self->device.dma_threshold, 0);
	EXPECT_EQ(engine_in_use(), 0);
	pair_write(&self->pair);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES), bytes);
	EXPECT_EQ(engine_unload(), 0);
}

TEST_F(dma, long_copies_are_waited_for)
{
	dma_start(self, "");
	engine_set("delay_us", 20000);
	pair_move(&self->pair, DMANIC_OP_READ, 0, 0, MIB);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES),
		  COPY + MIB);
	EXPECT_EQ(fallbacks(self), 0);
}

TEST_F(dma, rare_failures_are_borne)
{
	unsigned int i;

	dma_start(self, "");
	engine_set("fail_nth", 20);
	for (i = 0; i < 100; i++)
		pair_write(&self->pair);
	engine_device(&self->own, &self->device);
	EXPECT_EQ(self->device.dma_state, DMANIC_DMA_USED);
	EXPECT_EQ(fallbacks(self), 5);
	EXPECT_EQ(node_stat(&self->pair.node, DMANIC_STATS_A_DMA_BYTES),
		  96 * COPY);
}

TEST_F(dma, frequent_failures_are_not)
{
	unsigned int i;

	dma_start(self, "");
	engine_set("fail_nth", 3);
	for (i = 0; i < 30; i++)
		pair_write(&self->pair);
	EXPECT_GE(fallbacks(self), 4);
	EXPECT_LT(fallbacks(self), 10);
	expect_given_up(self, DMANIC_DMA_FAILED);
}

TEST_F(dma, refusals_are_counted)
{
	unsigned int i;

	dma_start(self, "");
	engine_set("refuse_nth", 1);
	for (i = 0; i < 4; i++)
		pair_write(&self->pair);
	EXPECT_EQ(fallbacks(self), 4);
	expect_given_up(self, DMANIC_DMA_FAILED);
}

static void lose(struct dma_self *self, const char *parameters)
{
	dma_start(self, parameters);
	engine_set("lose_nth", 1);
	pair_write(&self->pair);
	EXPECT_EQ(fallbacks(self), 1);
	expect_given_up(self, DMANIC_DMA_FAILED);
}

TEST_F(dma, lost_copy_is_done_by_the_CPU)
{
	lose(self, "");
}

TEST_F(dma, lost_copy_that_cannot_be_terminated)
{
	lose(self, "terminate=0");
}

FABRIC_TEST_MAIN_NONE()
