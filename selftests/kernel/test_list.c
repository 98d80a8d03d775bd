// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_list.c - the blocks that a LIST moves, and no others
 *
 * Owns: random lists compared byte for byte with what they should have moved,
 * wherever the list is; what is refused, as an entry of the ring and as an entry
 * of the list; and lists that change while they are carried out.
 *
 * Flags: -luring
 */
#include "dmanic_test.h"

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SIDE	(4UL << 20)	/* bytes that blocks are in */
#define ENTRIES	400U		/* of a list, at most */
#define LIST	(ENTRIES * sizeof(struct dmanic_list_entry))
#define COLOUR	0xee

enum place { OWN_SEGMENT, LOCAL_SEGMENT, USER_MEMORY };

FIXTURE(list) {
	struct node node;
	struct node peer;
	struct segment local;	/* SIDE bytes, then room for a list */
	struct segment remote;
	struct segment apart;	/* the list, unless it is in local */
	struct queue queue;
	__u32 handle;
	__u32 list;		/* segment that has it, and where */
	__u64 at;
	struct dmanic_list_entry *entries;	/* it, mapped */
	bool stop;
};

FIXTURE_VARIANT(list) {
	__u32 direction;
	enum place place;
};

FIXTURE_VARIANT_ADD(list, write) { .direction = 0 };
FIXTURE_VARIANT_ADD(list, write_with_list_beside) { .place = LOCAL_SEGMENT };
FIXTURE_VARIANT_ADD(list, write_with_list_in_user_memory) {
	.place = USER_MEMORY,
};
FIXTURE_VARIANT_ADD(list, read) { .direction = DMANIC_LIST_READ };
FIXTURE_VARIANT_ADD(list, read_with_list_beside) {
	.direction = DMANIC_LIST_READ, .place = LOCAL_SEGMENT,
};

/* Where entries are neither aligned nor within a page */
static struct segment odd_memory(const struct node *node)
{
	__u8 *map = mmap(NULL, 2 * page_round(LIST) + page_bytes(),
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	ASSERT_TRUE(map != MAP_FAILED);
	return segment_register(node, map + 4093, LIST + 16);
}

FIXTURE_SETUP(list)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, SIDE + LIST);
	self->remote = segment_make(&self->peer, SIDE);
	segment_export(&self->remote, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->remote);
	self->queue = queue_make(&self->node, 8, 8);
	self->stop = false;
	self->at = variant->place == LOCAL_SEGMENT ? SIDE : 16;
	if (variant->place == LOCAL_SEGMENT) {
		self->list = 0;
		self->entries = (void *)(self->local.data + self->at);
		return;
	}
	self->apart = variant->place == USER_MEMORY ?
		      odd_memory(&self->node) :
		      segment_make(&self->node, LIST + 16);
	self->list = self->apart.id;
	self->entries = (void *)(self->apart.data + self->at);
}

FIXTURE_TEARDOWN(list)
{
}

static bool all_colour(const __u8 *data, size_t length)
{
	return all_bytes(data, length, COLOUR);
}

/* ---- lists ---- */

static struct dmanic_sqe sqe_of(struct list_self *self, __u32 direction,
				__u32 count)
{
	return sqe_list(direction, self->local.id, self->handle, self->list,
			self->at, count);
}

static __u8 *source(struct list_self *self, __u32 direction)
{
	return direction ? self->remote.data : self->local.data;
}

static __u8 *target(struct list_self *self, __u32 direction)
{
	return direction ? self->local.data : self->remote.data;
}

static void entry_write(struct list_self *self, unsigned int i,
			const struct dmanic_list_entry *entry)
{
	memcpy((__u8 *)self->entries + i * sizeof(*entry), entry,
	       sizeof(*entry));
}

/* Mostly small, now and then what takes several chunks */
static __u64 random_length(__u64 *state)
{
	static const unsigned int bits[] = { 0, 1, 3, 6, 8, 11, 13, 20 };

	return random_next(state) & ((1ULL << bits[random_next(state) % 8]) - 1);
}

/*
 * A list of blocks that do not overlap where they go to, in no order. Done to
 * @expected, too. Return: entries.
 */
static unsigned int list_make(struct list_self *self, __u32 direction,
			      __u64 *state, const struct dmanic_sqe *sqe,
			      struct dmanic_list_entry *made, __u8 *expected)
{
	__u64 base[2] = { sqe->local_offset, sqe->remote_offset };
	__u64 to = base[!direction], from, length;
	struct dmanic_list_entry swap;
	unsigned int n, i;

	for (n = 0; n < ENTRIES; n++) {
		to += random_next(state) % 300;
		length = random_length(state);
		if (to + length > SIDE)
			break;
		from = base[!!direction] + random_next(state) %
		       (SIDE - length - base[!!direction] + 1);
		memcpy(expected + to, source(self, direction) + from, length);
		made[n].local_offset = (direction ? to : from) - base[0];
		made[n].remote_offset = (direction ? from : to) - base[1];
		made[n].length = length;
		to += length;
	}
	for (i = 0; i < n; i++) {
		unsigned int other = random_next(state) % n;

		swap = made[i];
		made[i] = made[other];
		made[other] = swap;
	}
	for (i = 0; i < n; i++)
		entry_write(self, i, &made[i]);
	return n;
}

static __u64 list_bytes(const struct dmanic_list_entry *entries, unsigned int n)
{
	__u64 sum = 0;

	while (n)
		sum += entries[--n].length;
	return sum;
}

TEST_F_TIMEOUT(list, moves_exactly, 60)
{
	struct dmanic_list_entry made[ENTRIES];
	unsigned int turns = harness_load(20), turn;
	__u8 *to = target(self, variant->direction);
	__u8 *expected = malloc(SIDE);
	__u64 state = 11 + variant->place;
	struct dmanic_sqe sqe;
	struct dmanic_cqe cqe;

	ASSERT_TRUE(expected);
	fill(source(self, variant->direction), SIDE, 5);
	for (turn = 0; turn < turns; turn++) {
		memset(to, COLOUR, SIDE);
		memset(expected, COLOUR, SIDE);
		sqe = sqe_of(self, variant->direction, 0);
		sqe.local_offset = random_next(&state) % 5000;
		sqe.remote_offset = random_next(&state) % 5000;
		sqe.count = list_make(self, variant->direction, &state, &sqe,
				      made, expected);
		cqe = queue_run(&self->queue, &sqe);
		ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
		ASSERT_EQ(cqe.result, list_bytes(made, sqe.count));
		ASSERT_EQ(memcmp(to, expected, SIDE), 0);
	}
	free(expected);
}

/* What was posted before it ends while it runs; what was posted behind it waits */
TEST_F_TIMEOUT(list, among_others_of_its_queue, 60)
{
	__u8 opcode = variant->direction ? DMANIC_OP_READ : DMANIC_OP_WRITE;
	unsigned int turns = harness_load(20), turn, i, times[5];
	struct dmanic_list_entry entry = { .length = 20000 };
	__u8 *to = target(self, variant->direction);
	struct dmanic_cqe cqe;

	fill(source(self, variant->direction), SIDE, 7);
	/* All of them write the first bytes of the target */
	for (i = 0; i < 100; i++) {
		entry.local_offset = i * entry.length + (variant->direction ? 0 : 64);
		entry.remote_offset = i * entry.length + (variant->direction ? 64 : 0);
		entry_write(self, i, &entry);
	}
	for (turn = 0; turn < turns; turn++) {
		memset(to, COLOUR, SIDE);
		memset(times, 0, sizeof(times));
		for (i = 0; i < 5; i++) {
			struct dmanic_sqe sqe = sqe_move(opcode, self->local.id, 0,
							 self->handle, 0, 1000 + i);

			if (i == 2)
				sqe = sqe_of(self, variant->direction, 100);
			if (i != 2)
				*(variant->direction ? &sqe.remote_offset :
						       &sqe.local_offset) = i * 10000;
			/* Behind a READ to the same bytes, and no LIST between them */
			if (i == 4 && variant->direction)
				sqe.flags = DMANIC_SQE_FENCE;
			sqe.cookie = i;
			*queue_sqe(&self->queue) = sqe;
			queue_submit(&self->queue);
		}
		for (i = 0; i < 5; i++) {
			cqe = queue_wait(&self->queue);
			ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
			ASSERT_LT(cqe.cookie, 5);
			EXPECT_EQ(cqe.result,
				  cqe.cookie == 2 ? 2000000 : 1000 + cqe.cookie);
			times[cqe.cookie]++;
		}
		for (i = 0; i < 5; i++)
			EXPECT_EQ(times[i], 1);
		ASSERT_EQ(memcmp(to, source(self, variant->direction) + 40000, 1004), 0);
		ASSERT_EQ(memcmp(to + 1004, source(self, variant->direction) + 64 + 1004,
				 1998996), 0);
	}
}

/* Nothing at all, and nothing often */
TEST_F(list, empty)
{
	struct dmanic_sqe sqe = sqe_of(self, variant->direction, 0);
	struct dmanic_cqe cqe;

	cqe = queue_run(&self->queue, &sqe);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, 0);
	memset(self->entries, 0, LIST);
	sqe.count = ENTRIES;
	/* At the very end, nothing is still inside */
	sqe.local_offset = self->local.length;
	sqe.remote_offset = SIDE;
	cqe = queue_run(&self->queue, &sqe);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, 0);
}

TEST_F(list, is_counted)
{
	struct dmanic_list_entry entry = { 0, 0, 777 };
	struct dmanic_sqe sqe = sqe_of(self, variant->direction, 2);
	struct device before, after;

	entry_write(self, 0, &entry);
	entry_write(self, 1, &entry);
	ASSERT_EQ(device_stats(self->node.name, &before), 0);
	queue_run(&self->queue, &sqe);
	ASSERT_EQ(device_stats(self->node.name, &after), 0);
#define GREW(which, by) \
	EXPECT_EQ(after.stats[DMANIC_STATS_A_##which] - \
		  before.stats[DMANIC_STATS_A_##which], by)
	GREW(READ_BYTES, variant->direction ? 2 * 777 : 0);
	GREW(WRITE_BYTES, variant->direction ? 0 : 2 * 777);
}

/* A kernel that could not stop it does not begin it. */
TEST_F(list, posted_to_io_uring)
{
	struct dmanic_list_entry entry = { 0, 0, 3000 };
	struct dmanic_sqe op = sqe_of(self, variant->direction, 2);
	struct dmanic_query query;
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	bool can;

	node_query(&self->node, &query);
	can = query.features & DMANIC_FEATURE_URING_CANCEL;
	entry_write(self, 0, &entry);
	entry_write(self, 1, &entry);
	fill(source(self, variant->direction), 3000, 6);
	memset(target(self, variant->direction), COLOUR, 3000);
	ASSERT_EQ(io_uring_queue_init(4, &ring, IORING_SETUP_SQE128), 0);
	sqe = io_uring_get_sqe(&ring);
	ASSERT_TRUE(sqe);
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, self->queue.fd, NULL, 0, 0);
	sqe->cmd_op = DMANIC_URING_POST;
	memcpy(sqe->cmd, &op, sizeof(op));
	ASSERT_EQ(io_uring_submit(&ring), 1);
	ASSERT_EQ(io_uring_wait_cqe(&ring, &cqe), 0);
	EXPECT_EQ(cqe->res, can ? 6000 : -EOPNOTSUPP);
	io_uring_queue_exit(&ring);
	EXPECT_EQ(!memcmp(self->local.data, self->remote.data, 3000), can);
}

/* ---- notify ---- */

TEST_F_TIMEOUT(list, notify_is_after_the_last_byte, 60)
{
	struct irq irq = irq_make(&self->peer, 4);
	struct dmanic_sqe sqe = sqe_of(self, 0, 100);
	unsigned int turns = harness_load(100), i, turn;
	struct dmanic_list_entry entry;
	__u64 raised;

	sqe.flags = DMANIC_SQE_NOTIFY;
	sqe.notify = irq_connect(&self->node, &irq);
	for (i = 0; i < sqe.count; i++) {
		entry.local_offset = entry.remote_offset = i * 20000;
		entry.length = 5000;
		entry_write(self, i, &entry);
	}
	for (turn = 0; turn < turns; turn++) {
		memset(self->local.data, turn, SIDE);
		sqe.payload = turn;
		*queue_sqe(&self->queue) = sqe;
		queue_submit(&self->queue);
		ASSERT_EQ(irq_wait(&irq, turn + 1, slow_ns(10000), &raised), 0);
		for (i = 0; i < sqe.count; i++) {
			__u8 *last = self->remote.data + i * 20000 + 4999;

			ASSERT_EQ(__atomic_load_n(last, __ATOMIC_RELAXED),
				  turn & 0xff);
		}
		EXPECT_EQ(irq.ring->event[turn % 4].payload, turn);
		ASSERT_EQ(queue_wait(&self->queue).status, DMANIC_STATUS_OK);
	}
	/* One that does not get through raises nothing */
	entry.remote_offset = SIDE;
	entry_write(self, sqe.count - 1, &entry);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_BOUNDS);
	EXPECT_EQ(irq_raised(&irq), turns);
}

/* Also when nothing is behind its last bytes */
TEST_F(list, notifies_once)
{
	struct irq irq = irq_make(&self->peer, 4);
	struct dmanic_sqe sqe = sqe_of(self, 0, 0);
	struct dmanic_list_entry some = { 0, 0, 100 };
	struct dmanic_cqe cqe;
	unsigned int at, done = 0;

	sqe.flags = DMANIC_SQE_NOTIFY;
	sqe.notify = irq_connect(&self->node, &irq);
	for (sqe.count = 1; sqe.count < 4; sqe.count++) {
		for (at = 0; at < sqe.count; at++) {
			memset(self->entries, 0, LIST);
			entry_write(self, at, &some);
			cqe = queue_run(&self->queue, &sqe);
			EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
			EXPECT_EQ(cqe.result, 100);
			EXPECT_EQ(irq_raised(&irq), ++done);
		}
	}
}

/* However many are empty in a row, before, between and behind others */
TEST_F(list, sparse)
{
	static const unsigned int gaps[] = { 0, 1, 31, 32, 33, 64, 100 };
	struct irq irq = irq_make(&self->peer, 4);
	struct dmanic_sqe sqe = sqe_of(self, variant->direction, 0);
	struct dmanic_list_entry some = { 0, 0, 8 };
	struct dmanic_cqe cqe;
	unsigned int gap, nr, done = 0;

	if (!variant->direction) {
		sqe.flags = DMANIC_SQE_NOTIFY;
		sqe.notify = irq_connect(&self->node, &irq);
	}
	for (gap = 0; gap < ARRAY_SIZE(gaps); gap++) {
		memset(self->entries, 0, LIST);
		fill(self->local.data, 4096, 2 * gap + 1);
		fill(self->remote.data, 4096, 2 * gap + 2);
		sqe.count = gaps[gap];
		for (nr = 0; nr < 3; nr++) {
			some.local_offset = 24 * nr;
			some.remote_offset = 16 * nr;
			entry_write(self, sqe.count++, &some);
			sqe.count += gaps[gap];
		}
		ASSERT_LE(sqe.count, ENTRIES + 3);
		if (sqe.count > ENTRIES)
			sqe.count = ENTRIES;
		cqe = queue_run(&self->queue, &sqe);
		EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
		EXPECT_EQ(cqe.result, 24);
		for (nr = 0; nr < 3; nr++)
			EXPECT_EQ(memcmp(self->local.data + 24 * nr,
					 self->remote.data + 16 * nr, 8), 0);
		done++;
		if (sqe.notify)
			EXPECT_EQ(irq_raised(&irq), done);
	}
}

/* ---- what is refused ---- */

static void expect_status(struct list_self *self, const struct dmanic_sqe *sqe,
			  __u32 status)
{
	fill(self->remote.data, 4096, 1);
	fill(self->local.data, 4096, 2);
	EXPECT_EQ(queue_run(&self->queue, sqe).status, status);
	EXPECT_NE(memcmp(self->remote.data, self->local.data, 64), 0);
}

TEST_F(list, bad_fields)
{
	struct dmanic_list_entry entry = { 0, 0, 64 };
	struct irq irq = irq_make(&self->peer, 2);
	struct dmanic_sqe good = sqe_of(self, variant->direction, 1), sqe;
	__u32 direction;

	entry_write(self, 0, &entry);
	for (direction = 2; direction; direction <<= 1) {
		sqe = good;
		sqe.block = direction | variant->direction;
		expect_status(self, &sqe, DMANIC_STATUS_INVALID);
	}
	sqe = good;
	sqe.payload = 1;
	expect_status(self, &sqe, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.notify = irq_connect(&self->node, &irq);
	expect_status(self, &sqe, DMANIC_STATUS_INVALID);
	/* What is read notifies nobody */
	sqe.block = DMANIC_LIST_READ;
	sqe.flags = DMANIC_SQE_NOTIFY;
	expect_status(self, &sqe, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.list = ~0U;
	expect_status(self, &sqe, DMANIC_STATUS_NO_SEGMENT);
	sqe.list = self->remote.id + 1000;
	expect_status(self, &sqe, DMANIC_STATUS_NO_SEGMENT);
	sqe = good;
	sqe.local = 0;
	expect_status(self, &sqe, DMANIC_STATUS_NO_SEGMENT);
	sqe = good;
	sqe.remote = 0;
	expect_status(self, &sqe, DMANIC_STATUS_NO_HANDLE);
	EXPECT_EQ(irq_raised(&irq), 0);
	EXPECT_EQ(queue_run(&self->queue, &good).status, DMANIC_STATUS_OK);
}

TEST_F(list, beyond_the_end_of_its_segment_is_BOUNDS)
{
	__u32 last = (self->at + LIST) / 8 - 3;
	struct dmanic_sqe good = sqe_of(self, variant->direction, 1), sqe;
	struct dmanic_list_entry entry = { 0, 0, 64 };

	entry_write(self, ENTRIES - 1, &entry);
	sqe = good;
	sqe.list_offset = last;
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	sqe.count = 2;
	expect_status(self, &sqe, DMANIC_STATUS_BOUNDS);
	sqe.count = ~0U;
	expect_status(self, &sqe, DMANIC_STATUS_BOUNDS);
	sqe = good;
	sqe.list_offset = last + 1;
	expect_status(self, &sqe, DMANIC_STATUS_BOUNDS);
	sqe.list_offset = ~0U;
	expect_status(self, &sqe, DMANIC_STATUS_BOUNDS);
	sqe.count = 0;
	expect_status(self, &sqe, DMANIC_STATUS_BOUNDS);
	sqe.count = ~0U;
	expect_status(self, &sqe, DMANIC_STATUS_BOUNDS);
}

TEST_F(list, rights)
{
	struct segment segment = segment_make(&self->peer, 64);
	__u32 needed = variant->direction ? DMANIC_RIGHT_READ :
					    DMANIC_RIGHT_WRITE;
	struct dmanic_list_entry entry = { 0, 0, 64 };
	struct dmanic_sqe sqe;
	__u32 rights;

	entry_write(self, 0, &entry);
	for (rights = 1; rights < 8; rights++) {
		segment_export(&segment, rights);
		sqe = sqe_of(self, variant->direction, 1);
		sqe.remote = segment_connect(&self->node, &segment);
		EXPECT_EQ(queue_run(&self->queue, &sqe).status,
			  rights & needed ? DMANIC_STATUS_OK :
					    DMANIC_STATUS_ACCESS);
		ASSERT_EQ(segment_revoke(&segment), 0);
		EXPECT_NE(queue_run(&self->queue, &sqe).status,
			  DMANIC_STATUS_OK);
	}
}

/* Added to what the ring's entry says (100 on both sides) */
static const struct dmanic_list_entry bad_entries[] = {
	{ 0, SIDE - 100, 1 }, { 0, SIDE - 99, 0 }, { 0, SIDE - 101, 2 },
	{ SIDE + LIST - 100, 0, 1 }, { SIDE + LIST - 99, 0, 0 },
	{ 0, 0, SIDE }, { 0, 0, ~0ULL }, { 0, 0, ~0ULL - 99 },
	{ 0, 0, 1ULL << 63 }, { ~0ULL - 99, 0, 1 }, { 0, ~0ULL - 99, 1 },
	{ ~0ULL, 0, 0 }, { 0, ~0ULL, 0 }, { ~0ULL, ~0ULL, ~0ULL },
	{ 1ULL << 63, 0, 1ULL << 63 }, { 0, 1ULL << 63, 1ULL << 63 },
	{ 0, 1ULL << 32, 1 }, { 1ULL << 32, 0, 1 }, { 0, 5, ~0ULL - 4 },
};

/* Three good ones, the bad one, and a good one that is never reached */
TEST_F(list, bad_entry_ends_it)
{
	__u8 *from = source(self, variant->direction);
	__u8 *to = target(self, variant->direction);
	struct dmanic_list_entry good;
	struct dmanic_sqe sqe;
	struct dmanic_cqe cqe;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(bad_entries); i++) {
		fill(from, SIDE, i);
		memset(to, COLOUR, SIDE);
		sqe = sqe_of(self, variant->direction, 5);
		sqe.local_offset = sqe.remote_offset = 100;
		for (k = 0; k < 5; k++) {
			good.local_offset = good.remote_offset = k * 1000;
			good.length = 999;
			entry_write(self, k, &good);
		}
		entry_write(self, 3, &bad_entries[i]);
		cqe = queue_run(&self->queue, &sqe);
		EXPECT_EQ(cqe.status, DMANIC_STATUS_BOUNDS);
		EXPECT_EQ(cqe.result, 3 * 999);
		for (k = 0; k < 3; k++)
			EXPECT_EQ(memcmp(to + 100 + k * 1000,
					 from + 100 + k * 1000, 999), 0);
		ASSERT_TRUE(all_colour(to + 3099, SIDE - 3099));
	}
}

/* ---- lists that change ---- */

static void *scribble(void *data)
{
	struct list_self *self = data;
	struct dmanic_list_entry entry;
	__u64 state = 9;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		entry.local_offset = random_next(&state) % (SIDE / 2);
		entry.remote_offset = random_next(&state) % (SIDE / 2);
		/* Short ones: it is the entries that count */
		entry.length = random_next(&state) % 2048;
		if (!(random_next(&state) % 4096))
			entry.remote_offset = random_next(&state);
		if (!(random_next(&state) % 4096))
			entry.local_offset = random_next(&state);
		if (!(random_next(&state) % 4096))
			entry.length = random_next(&state);
		entry_write(self, random_next(&state) % ENTRIES, &entry);
	}
	return NULL;
}

/*
 * They move something within the two segments or are BOUNDS. Looked at is the
 * rest of the last pages; that nothing else was touched tells a kernel that
 * checks its accesses.
 */
TEST_F_TIMEOUT(list, rewritten_while_it_runs, 60)
{
	struct segment small = segment_make(&self->peer, SIDE - 1000);
	unsigned int turns = harness_load(300), i;
	unsigned int ok = 0, bounds = 0;
	struct dmanic_sqe sqe;
	pthread_t thread;
	__u32 status;

	segment_export(&small, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	memset(small.data, COLOUR, SIDE);
	memset(self->local.data, 0x55, SIDE);
	memset(self->entries, 0, LIST);
	sqe = sqe_of(self, variant->direction, ENTRIES);
	sqe.remote = segment_connect(&self->node, &small);
	ASSERT_EQ(pthread_create(&thread, NULL, scribble, self), 0);
	for (i = 0; i < turns || !bounds; i++) {
		status = queue_run(&self->queue, &sqe).status;
		ok += status == DMANIC_STATUS_OK;
		bounds += status == DMANIC_STATUS_BOUNDS;
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(ok + bounds, i);
	EXPECT_TRUE(all_colour(small.data + SIDE - 1000, 1000));
}

/* A READ that writes over its own list: entries are what they were when read */
TEST_F(list, writes_over_itself)
{
	struct dmanic_list_entry entry = { self->at, 0, LIST };
	struct dmanic_list_entry seen;
	struct dmanic_sqe sqe = sqe_of(self, DMANIC_LIST_READ, 3);

	if (variant->place != LOCAL_SEGMENT)
		SKIP("the list is not where it writes to");
	/* The first brings a second that is out of bounds */
	entry_write(self, 0, &entry);
	fill(self->remote.data, LIST, 3);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_BOUNDS);
	EXPECT_EQ(memcmp(self->entries, self->remote.data, LIST), 0);
	/* And one that is empty */
	memset(self->remote.data, 0, LIST);
	entry_write(self, 0, &entry);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	memcpy(&seen, self->entries, sizeof(seen));
	EXPECT_EQ(seen.length, 0);
}

FABRIC_TEST_MAIN()
