// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_queue_bounds.c - nothing outside a segment is ever read or written
 *
 * Owns: offsets, lengths, blocks and strides at and beyond the ends of either
 * side, up to the ones that wrap. Refused operations must move nothing.
 */
#include "dmanic_test.h"

#include <stdlib.h>

#define LENGTH	10000ULL
#define LARGER	(3 * LENGTH)

enum side { LOCAL, REMOTE };

FIXTURE(bounds) {
	struct node node;
	struct node peer;
	struct segment local;
	struct segment remote;
	struct queue queue;
	__u32 handle;
	__u8 *local_copy;
	__u8 *remote_copy;
};

FIXTURE_VARIANT(bounds) {
	enum side side;		/* the one tried */
	bool read;
};

FIXTURE_VARIANT_ADD(bounds, write_local) { .side = LOCAL };
FIXTURE_VARIANT_ADD(bounds, write_remote) { .side = REMOTE };
FIXTURE_VARIANT_ADD(bounds, read_local) { .side = LOCAL, .read = true };
FIXTURE_VARIANT_ADD(bounds, read_remote) { .side = REMOTE, .read = true };

static __u8 *copy_of(const struct segment *segment)
{
	__u8 *copy = malloc(segment->map_bytes);

	ASSERT_TRUE(copy);
	memcpy(copy, segment->data, segment->map_bytes);
	return copy;
}

FIXTURE_SETUP(bounds)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, variant->side == LOCAL ?
				   LENGTH : LARGER);
	self->remote = segment_make(&self->peer, variant->side == REMOTE ?
				    LENGTH : LARGER);
	segment_export(&self->remote, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->remote);
	self->queue = queue_make(&self->node, 4, 4);
	fill(self->local.data, self->local.map_bytes, 1);
	fill(self->remote.data, self->remote.map_bytes, 2);
	self->local_copy = copy_of(&self->local);
	self->remote_copy = copy_of(&self->remote);
}

FIXTURE_TEARDOWN(bounds)
{
}

static void expect_untouched(struct bounds_self *self)
{
	ASSERT_EQ(memcmp(self->local.data, self->local_copy,
			 self->local.map_bytes), 0);
	ASSERT_EQ(memcmp(self->remote.data, self->remote_copy,
			 self->remote.map_bytes), 0);
}

/* @offset is of the side tried, the other one begins at its start. */
static struct dmanic_sqe base(struct bounds_self *self,
			      const struct bounds_variant *variant,
			      __u64 offset, bool strided)
{
	struct dmanic_sqe sqe = {
		.local = self->local.id, .remote = self->handle,
	};

	if (strided)
		sqe.opcode = variant->read ? DMANIC_OP_READ_STRIDED :
					     DMANIC_OP_WRITE_STRIDED;
	else
		sqe.opcode = variant->read ? DMANIC_OP_READ : DMANIC_OP_WRITE;
	if (variant->side == LOCAL)
		sqe.local_offset = offset;
	else
		sqe.remote_offset = offset;
	return sqe;
}

TEST_F(bounds, contiguous_beyond_the_end)
{
	static const __u64 bad[][2] = {
		{ 0, LENGTH + 1 }, { LENGTH, 1 }, { LENGTH - 1, 2 },
		{ 1, LENGTH }, { LENGTH + 1, 0 }, { LENGTH + 1, 1 },
		{ 0, 1ULL << 32 }, { 1ULL << 32, 1 }, { 1ULL << 32, 0 },
		{ 0, ~0ULL }, { ~0ULL, 0 }, { ~0ULL, 1 }, { ~0ULL, ~0ULL },
		{ 1, ~0ULL }, { 8, ~0ULL - 7 }, { ~0ULL - 7, 8 },
		{ ~0ULL - 7, 16 }, { 1ULL << 63, 1ULL << 63 },
		{ 1ULL << 63, 0 }, { 0, 1ULL << 63 }, { 12288, 1 },
		{ LENGTH, ~0ULL - LENGTH + 1 }, { 0, 12288 },
	};
	struct dmanic_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		sqe = base(self, variant, bad[i][0], false);
		sqe.length = bad[i][1];
		EXPECT_EQ(queue_run(&self->queue, &sqe).status,
			  DMANIC_STATUS_BOUNDS);
		expect_untouched(self);
	}
}

TEST_F(bounds, contiguous_up_to_the_end)
{
	static const __u64 good[][2] = {
		{ 0, LENGTH }, { LENGTH, 0 }, { LENGTH - 1, 1 }, { 0, 0 },
		{ 1, LENGTH - 1 },
	};
	struct dmanic_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		sqe = base(self, variant, good[i][0], false);
		sqe.length = good[i][1];
		EXPECT_EQ(queue_run(&self->queue, &sqe).status,
			  DMANIC_STATUS_OK);
	}
}

struct shape {
	__u64 offset;
	__u32 block;
	__u32 count;
	__u32 stride;
};

/* The other side's stride is the block, so that only one side is too long. */
static __u32 run_shape(struct bounds_self *self,
		       const struct bounds_variant *variant,
		       const struct shape *shape)
{
	struct dmanic_sqe sqe = base(self, variant, shape->offset, true);

	sqe.block = shape->block;
	sqe.count = shape->count;
	sqe.local_stride = variant->side == LOCAL ? shape->stride :
						    shape->block;
	sqe.remote_stride = variant->side == REMOTE ? shape->stride :
						      shape->block;
	return queue_run(&self->queue, &sqe).status;
}

TEST_F(bounds, strided_beyond_the_end)
{
	static const struct shape bad[] = {
		{ 0, 100, 100, 101 }, { 1, 100, 100, 100 },
		{ 0, LENGTH + 1, 1, LENGTH + 1 }, { LENGTH, 1, 1, 1 },
		{ 0, 1, 2, LENGTH }, { 0, 1, LENGTH + 1, 1 },
		{ 0, ~0U, ~0U, ~0U }, { 0, 1, ~0U, ~0U }, { 0, 1, ~0U, 1 },
		{ 0, 2, 1U << 31, 2 }, { 0, 1U << 31, 2, 1U << 31 },
		{ 0, 1U << 16, 1U << 16, 1U << 16 },
		{ ~0ULL, 1, 1, 1 }, { ~0ULL, 1, ~0U, ~0U },
		{ ~0ULL, 0, 1, 1 }, { LENGTH + 1, 0, 0, 0 },
		{ ~0ULL - 0xffffffffULL * 0xfffffffeULL, ~0U, ~0U, ~0U },
		{ 1ULL << 63, 1, 2, 1U << 31 },
		{ ~0ULL - 99, 100, 2, 100 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(run_shape(self, variant, &bad[i]),
			  DMANIC_STATUS_BOUNDS);
		expect_untouched(self);
	}
}

TEST_F(bounds, strided_up_to_the_end)
{
	static const struct shape good[] = {
		{ 0, 100, 100, 100 }, { 99, 1, 100, 100 },
		{ LENGTH - 1, 1, 1, ~0U }, { 0, LENGTH, 1, 1 },
		{ 0, 1, 2, LENGTH - 1 }, { LENGTH, 0, ~0U, ~0U },
		{ LENGTH, 100, 0, 100 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		EXPECT_EQ(run_shape(self, variant, &good[i]),
			  DMANIC_STATUS_OK);
}

TEST_F(bounds, stride_below_the_block_is_INVALID)
{
	static const struct shape bad[] = {
		{ 0, 100, 2, 99 }, { 0, 100, 2, 0 }, { 0, 2, ~0U, 1 },
		{ 0, ~0U, ~0U, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(run_shape(self, variant, &bad[i]),
			  DMANIC_STATUS_INVALID);
		expect_untouched(self);
	}
}

/* Random ones: whatever is accepted was within the segment. */
TEST_F(bounds, random_never_leaves_the_segment)
{
	__u64 state = 20240607, offset, length;
	unsigned int i, status;
	struct dmanic_sqe sqe;

	for (i = 0; i < 3000; i++) {
		offset = random_next(&state) >> (random_next(&state) % 64);
		length = random_next(&state) >> (random_next(&state) % 64);
		if (random_next(&state) & 1)
			length = -offset + length % LENGTH;
		sqe = base(self, variant, offset, false);
		sqe.length = length;
		status = queue_run(&self->queue, &sqe).status;
		EXPECT_EQ(status, offset <= LENGTH &&
			  length <= LENGTH - offset ? DMANIC_STATUS_OK :
			  DMANIC_STATUS_BOUNDS);
	}
	/* The pages' tails behind the segments' ends */
	EXPECT_EQ(memcmp(self->local.data + self->local.length,
			 self->local_copy + self->local.length,
			 self->local.map_bytes - self->local.length), 0);
	EXPECT_EQ(memcmp(self->remote.data + self->remote.length,
			 self->remote_copy + self->remote.length,
			 self->remote.map_bytes - self->remote.length), 0);
}

FABRIC_TEST_MAIN()
