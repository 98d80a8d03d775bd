// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_queue_data.c - the bytes an operation moves, and no others
 *
 * Owns: WRITE and READ, contiguous and strided, between every kind of memory,
 * compared byte for byte with what they should have moved. The destination is
 * one colour everywhere else, so a byte written astray is found.
 */
#include "dmanic_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MIB	(1UL << 20)
#define SIDE	(9 * MIB)	/* more than two blocks */
#define GUARD	64
#define COLOUR	0xee

FIXTURE(data) {
	struct node node;
	struct node peer;
	struct segment local;
	struct segment remote;
	struct queue queue;
	__u32 handle;
};

FIXTURE_VARIANT(data) {
	bool local_user;
	bool remote_user;
	unsigned int peer;
};

FIXTURE_VARIANT_ADD(data, driver_to_driver) { .peer = 1 };
FIXTURE_VARIANT_ADD(data, user_to_driver) { .local_user = true, .peer = 1 };
FIXTURE_VARIANT_ADD(data, driver_to_user) { .remote_user = true, .peer = 1 };
FIXTURE_VARIANT_ADD(data, user_to_user) {
	.local_user = true, .remote_user = true, .peer = 1,
};
FIXTURE_VARIANT_ADD(data, own_node) { .peer = 0 };

/* Memory whose pages are anywhere, beginning in the middle of one */
static __u8 *scattered(size_t length)
{
	size_t bytes = page_round(length) + page_bytes(), pages, i;
	__u8 *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(map != MAP_FAILED);
	madvise(map, bytes, MADV_NOHUGEPAGE);
	pages = bytes / page_bytes();
	/* 7919 is a prime, so every page is touched once. */
	for (i = 0; i < pages; i++)
		map[i * 7919 % pages * page_bytes()] = 1;
	return map + 77;
}

static struct segment side(const struct node *node, bool user)
{
	if (user)
		return segment_register(node, scattered(SIDE), SIDE);
	return segment_make(node, SIDE);
}

FIXTURE_SETUP(data)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, variant->peer);
	self->local = side(&self->node, variant->local_user);
	self->remote = side(&self->peer, variant->remote_user);
	segment_export(&self->remote, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->remote);
	self->queue = queue_make(&self->node, 4, 4);
}

FIXTURE_TEARDOWN(data)
{
}

static bool is_colour(const __u8 *data, size_t length)
{
	return !length || (data[0] == COLOUR &&
			   !memcmp(data, data + 1, length - 1));
}

static size_t before(__u64 offset)
{
	return offset < GUARD ? offset : GUARD;
}

static size_t behind(__u64 end)
{
	return SIDE - end < GUARD ? SIDE - end : GUARD;
}

/* Move @length bytes and look at them and around them. */
static void move(struct data_self *self, __u8 opcode, __u64 local_offset,
		 __u64 remote_offset, __u64 length)
{
	struct dmanic_sqe sqe = sqe_move(opcode, self->local.id, local_offset,
					 self->handle, remote_offset, length);
	bool write = opcode == DMANIC_OP_WRITE;
	const __u8 *from = write ? self->local.data + local_offset :
				   self->remote.data + remote_offset;
	__u8 *to = write ? self->remote.data + remote_offset :
			   self->local.data + local_offset;
	__u64 at = write ? remote_offset : local_offset;
	struct dmanic_cqe cqe = queue_run(&self->queue, &sqe);

	ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
	ASSERT_EQ(cqe.result, length);
	ASSERT_EQ(cqe.opcode, opcode);
	ASSERT_EQ(memcmp(to, from, length), 0);
	ASSERT_TRUE(is_colour(to - before(at), before(at)));
	ASSERT_TRUE(is_colour(to + length, behind(at + length)));
	memset(to, COLOUR, length);
}

static void move_all(struct data_self *self, __u8 opcode)
{
	static const size_t sizes[] = {
		0, 1, 7, 8, 63, 64, 4095, 4096, 4097, 65536, MIB, 4 * MIB + 3,
	};
	static const __u64 offsets[] = {
		0, 1, 8, 63, 4095, 4096, 4 * MIB - 5,
	};
	bool write = opcode == DMANIC_OP_WRITE;
	__u8 *source = write ? self->local.data : self->remote.data;
	__u8 *destination = write ? self->remote.data : self->local.data;
	unsigned int s, l, r;

	fill(source, SIDE, 1);
	memset(destination, COLOUR, SIDE);
	for (s = 0; s < ARRAY_SIZE(sizes); s++)
	for (l = 0; l < ARRAY_SIZE(offsets); l++)
	for (r = 0; r < ARRAY_SIZE(offsets); r++) {
		/* Large ones are slow and have only so many corners. */
		if (sizes[s] >= MIB && (l % 3 || r % 3 != 1))
			continue;
		move(self, opcode, offsets[l], offsets[r], sizes[s]);
	}
	/* The very end */
	move(self, opcode, SIDE - 65537, SIDE - 65537, 65537);
	move(self, opcode, SIDE, SIDE, 0);
	EXPECT_TRUE(is_colour(destination, SIDE));
}

TEST_F_TIMEOUT(data, write_moves_exactly, 60)
{
	move_all(self, DMANIC_OP_WRITE);
}

TEST_F_TIMEOUT(data, read_moves_exactly, 60)
{
	move_all(self, DMANIC_OP_READ);
}

struct shape {
	__u32 block;
	__u32 count;
	__u32 local_stride;
	__u32 remote_stride;
	__u64 local_offset;
	__u64 remote_offset;
};

static const struct shape shapes[] = {
	{ 1, 1, 1, 1, 0, 0 },
	{ 1, 100, 2, 3, 1, 5 },
	{ 7, 13, 7, 64, 0, 4093 },
	{ 8, 64, 64, 8, 3, 0 },
	{ 8, 2000, 8, 4096, 0, 0 },
	{ 64, 100, 128, 65, 63, 1 },
	{ 4095, 5, 4097, 8192, 4096, 1 },
	{ 4096, 16, 4096, 8192, 0, 4 * MIB - 4096 },
	{ 4096, 16, 8192, 4096, 1, 1 },
	{ 65536, 3, 65537, 70000, 4 * MIB - 70000, 7 },
	{ 262145, 4, MIB, 262145, 0, 2 * MIB },
	{ 1, 65536, 1, 1, 0, 0 },
	{ 3, 1, 0, 0, 10, 10 },		/* one block needs no stride */
	{ 0, 1000, 0, 0, 5, 5 },
	{ 1000, 0, 1000, 1000, 5, 5 },
	{ 0, ~0U, ~0U, ~0U, 0, 0 },
	{ ~0U, 0, ~0U, ~0U, 0, 0 },
};

/* One side of an operation as it is described */
struct placed {
	__u8 *data;
	__u64 offset;
	__u32 stride;
};

/* As the driver should: block by block. Without @from: one colour */
static void copy_shape(const struct shape *shape, const struct placed *to,
		       const struct placed *from)
{
	__u8 *into = to->data + to->offset;
	__u64 i;

	for (i = 0; shape->block && i < shape->count; i++) {
		if (from)
			memcpy(into, from->data + from->offset +
			       i * from->stride, shape->block);
		else
			memset(into, COLOUR, shape->block);
		into += to->stride;
	}
}

/* @expected is the destination's twin, one colour like it */
static void move_shape(struct data_self *self, __u8 opcode,
		       const struct shape *shape, __u8 *expected)
{
	struct dmanic_sqe sqe = {
		.opcode = opcode, .local = self->local.id,
		.remote = self->handle, .local_offset = shape->local_offset,
		.remote_offset = shape->remote_offset, .block = shape->block,
		.count = shape->count, .local_stride = shape->local_stride,
		.remote_stride = shape->remote_stride,
	};
	struct placed local = {
		self->local.data, shape->local_offset, shape->local_stride,
	};
	struct placed remote = {
		self->remote.data, shape->remote_offset, shape->remote_stride,
	};
	bool write = opcode == DMANIC_OP_WRITE_STRIDED;
	struct placed to = write ? remote : local, twin = to;
	struct dmanic_cqe cqe;

	twin.data = expected;
	copy_shape(shape, &twin, write ? &local : &remote);
	cqe = queue_run(&self->queue, &sqe);
	ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
	ASSERT_EQ(cqe.result, (__u64)shape->block * shape->count);
	ASSERT_EQ(memcmp(to.data, expected, SIDE), 0);
	copy_shape(shape, &to, NULL);
	copy_shape(shape, &twin, NULL);
}

static void move_shapes(struct data_self *self, __u8 opcode)
{
	bool write = opcode == DMANIC_OP_WRITE_STRIDED;
	__u8 *expected = malloc(SIDE);
	unsigned int i;

	ASSERT_TRUE(expected);
	fill(write ? self->local.data : self->remote.data, SIDE, 3);
	memset(write ? self->remote.data : self->local.data, COLOUR, SIDE);
	memset(expected, COLOUR, SIDE);
	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		move_shape(self, opcode, &shapes[i], expected);
	free(expected);
}

TEST_F_TIMEOUT(data, strided_write_moves_exactly, 60)
{
	move_shapes(self, DMANIC_OP_WRITE_STRIDED);
}

TEST_F_TIMEOUT(data, strided_read_moves_exactly, 60)
{
	move_shapes(self, DMANIC_OP_READ_STRIDED);
}

/* Later operations of a queue build on what earlier ones left. */
TEST_F(data, operations_of_a_batch_keep_their_order)
{
	__u32 sizes[] = { 100, 65536, 8, MIB };
	unsigned int i, round;

	for (round = 0; round < 20; round++) {
		fill(self->local.data, 4 * MIB, round + 1);
		/* There and back through the same remote bytes */
		*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_WRITE,
			self->local.id, 0, self->handle, 0, sizes[round % 4]);
		*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_READ,
			self->local.id, 4 * MIB, self->handle, 0,
			sizes[round % 4]);
		*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_WRITE,
			self->local.id, MIB, self->handle, 0, MIB);
		*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_READ,
			self->local.id, 6 * MIB, self->handle, 0, MIB);
		queue_submit(&self->queue);
		for (i = 0; i < 4; i++)
			ASSERT_EQ(queue_wait(&self->queue).status,
				  DMANIC_STATUS_OK);
		ASSERT_EQ(memcmp(self->local.data + 4 * MIB, self->local.data,
				 sizes[round % 4]), 0);
		ASSERT_EQ(memcmp(self->local.data + 6 * MIB,
				 self->local.data + MIB, MIB), 0);
	}
}

#define SMALL_BATCH	32U
#define SMALL_BYTES	8192U	/* and a little more: not all are done by the poster */

/* What both sides should hold, and what was posted */
struct twins {
	__u8 *local;
	__u8 *remote;
	struct dmanic_sqe posted[SMALL_BATCH];
	__u32 status[SMALL_BATCH];
	__u64 state;
};

/* Near the one before, mostly; else anywhere */
static __u64 small_offset(__u64 *state, __u64 last)
{
	__u64 dice = random_next(state);

	if (dice % 16)
		last += (dice >> 8) % 65;
	else
		last = dice >> 8;
	return last % (SIDE - SMALL_BYTES - 64);
}

/* As the one before, but for offsets and length; or different */
static struct dmanic_sqe small_next(const struct data_self *self, __u64 *state,
				    const struct dmanic_sqe *last)
{
	__u64 dice = random_next(state);
	struct dmanic_sqe sqe = *last;

	if (dice % 8 == 0) {
		sqe = sqe_move(dice & 64 ? DMANIC_OP_READ : DMANIC_OP_WRITE,
			       self->local.id, last->local_offset, self->handle,
			       last->remote_offset, 0);
		sqe.flags = dice & 128 ? DMANIC_SQE_SILENT : 0;
	}
	dice >>= 16;
	sqe.local_offset = small_offset(state, sqe.local_offset);
	sqe.remote_offset = small_offset(state, sqe.remote_offset);
	sqe.length = dice % 4 ? 8 : (dice >> 8) % (SMALL_BYTES + 64);
	return sqe;
}

/* Make it one that is refused; the status it has to get */
static __u32 small_spoil(struct dmanic_sqe *sqe, __u64 dice)
{
	switch (dice % 64) {
	case 0:
		sqe->remote_offset = SIDE - sqe->length + 1;
		return DMANIC_STATUS_BOUNDS;
	case 1:
		sqe->local_offset = SIDE - sqe->length + 1;
		return DMANIC_STATUS_BOUNDS;
	case 2:
		sqe->remote_offset = -(__u64)1;
		return DMANIC_STATUS_BOUNDS;
	case 3:
		sqe->payload = 1;
		return DMANIC_STATUS_INVALID;
	case 4:
		sqe->compare = 1;
		return DMANIC_STATUS_INVALID;
	default:
		return DMANIC_STATUS_OK;
	}
}

/* Whether one of the READs from @first to @end has a byte of the one at @end */
static bool small_reads_again(const struct twins *twins, unsigned int first, unsigned int end)
{
	const struct dmanic_sqe *last = &twins->posted[end], *sqe;

	for (sqe = &twins->posted[first]; sqe < last; sqe++)
		if (sqe->opcode == DMANIC_OP_READ && !twins->status[sqe->cookie] &&
		    sqe->local_offset < last->local_offset + last->length &&
		    last->local_offset < sqe->local_offset + sqe->length)
			return true;
	return false;
}

/* Over network devices a READ to the same bytes as one before is fenced, and no other */
static void small_post(struct data_self *self, struct queue *queue,
		       struct twins *twins, struct dmanic_sqe *last)
{
	unsigned int i, fenced = 0;

	for (i = 0; i < SMALL_BATCH; i++) {
		struct dmanic_sqe sqe = small_next(self, &twins->state, last);
		__u8 *local = twins->local + sqe.local_offset;
		__u8 *remote = twins->remote + sqe.remote_offset;

		*last = sqe;
		twins->status[i] = small_spoil(&sqe, random_next(&twins->state));
		sqe.cookie = i;
		twins->posted[i] = sqe;
		if (fabric_on_netdevs() && sqe.opcode == DMANIC_OP_READ &&
		    !twins->status[i] && small_reads_again(twins, fenced, i)) {
			twins->posted[i].flags |= DMANIC_SQE_FENCE;
			fenced = i;
		}
		*queue_sqe(queue) = twins->posted[i];
		if (twins->status[i])
			continue;
		if (sqe.opcode == DMANIC_OP_WRITE)
			memmove(remote, local, sqe.length);
		else
			memmove(local, remote, sqe.length);
	}
}

/* SILENT ones that succeed have none */
static void small_reap(struct queue *queue, const struct twins *twins)
{
	bool done[SMALL_BATCH] = { false };
	unsigned int i, left = 0;
	struct dmanic_cqe cqe;

	for (i = 0; i < SMALL_BATCH; i++)
		left += twins->status[i] ||
			!(twins->posted[i].flags & DMANIC_SQE_SILENT);
	for (; left; left--) {
		cqe = queue_wait(queue);
		ASSERT_LT(cqe.cookie, (__u64)SMALL_BATCH);
		ASSERT_TRUE(!done[cqe.cookie]);
		done[cqe.cookie] = true;
		ASSERT_EQ(cqe.status, twins->status[cqe.cookie]);
		ASSERT_EQ(cqe.opcode, twins->posted[cqe.cookie].opcode);
		ASSERT_EQ(cqe.flags, twins->posted[cqe.cookie].flags);
		if (!cqe.status)
			ASSERT_EQ(cqe.result, twins->posted[cqe.cookie].length);
	}
	/* Behind the SILENT ones, too */
	cqe = queue_run(queue, &(struct dmanic_sqe) { .flags = DMANIC_SQE_FENCE });
	ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
}

/* What one entry was allowed is remembered for the next one, as far as it holds. */
TEST_F_TIMEOUT(data, batches_of_small_ones_move_exactly, 120)
{
	/* SILENT ones may be under way when what ended was reaped */
	struct queue queue = queue_make(&self->node, SMALL_BATCH, 2 * SMALL_BATCH);
	struct twins twins = {
		.local = malloc(SIDE), .remote = malloc(SIDE), .state = 5,
	};
	unsigned int round, rounds = harness_load(400);
	struct dmanic_sqe last = sqe_move(DMANIC_OP_WRITE, self->local.id, 0,
					  self->handle, 0, 0);

	ASSERT_TRUE(twins.local && twins.remote);
	fill(self->local.data, SIDE, 1);
	fill(self->remote.data, SIDE, 2);
	memcpy(twins.local, self->local.data, SIDE);
	memcpy(twins.remote, self->remote.data, SIDE);
	for (round = 1; round <= rounds; round++) {
		small_post(self, &queue, &twins, &last);
		queue_submit(&queue);
		small_reap(&queue, &twins);
		if (round % 20)
			continue;
		ASSERT_EQ(memcmp(self->remote.data, twins.remote, SIDE), 0);
		ASSERT_EQ(memcmp(self->local.data, twins.local, SIDE), 0);
	}
	free(twins.local);
	free(twins.remote);
}

#define THREADS	4
#define SLICE	(2 * MIB)

struct mover {
	struct data_self *self;
	struct segment local;
	struct queue queue;
	__u64 base;
	unsigned int rounds;
};

static void *move_slice(void *data)
{
	struct mover *mover = data;
	__u64 state = 77 + mover->base, length, from, to;
	struct dmanic_sqe sqe;
	unsigned int i;

	for (i = 0; i < mover->rounds; i++) {
		length = random_next(&state) >> (40 + i % 16);
		length %= SLICE / 2;
		from = random_next(&state) % (SLICE / 2);
		to = random_next(&state) % (SLICE / 2);
		fill(mover->local.data + from, length, i);
		sqe = sqe_move(DMANIC_OP_WRITE, mover->local.id, from,
			       mover->self->handle, mover->base + to, length);
		ASSERT_EQ(queue_run(&mover->queue, &sqe).status,
			  DMANIC_STATUS_OK);
		ASSERT_EQ(memcmp(mover->self->remote.data + mover->base + to,
				 mover->local.data + from, length), 0);
	}
	return NULL;
}

/* Queues side by side do not disturb one another. */
TEST_F_TIMEOUT(data, queues_side_by_side, 60)
{
	struct mover movers[THREADS];
	pthread_t threads[THREADS];
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		movers[i].self = self;
		movers[i].local = segment_make(&self->node, SLICE);
		movers[i].queue = queue_make(&self->node, 2, 2);
		movers[i].base = i * SLICE;
		movers[i].rounds = harness_load(500);
		ASSERT_EQ(pthread_create(&threads[i], NULL, move_slice,
					 &movers[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(pthread_join(threads[i], NULL), 0);
}

FABRIC_TEST_MAIN()
