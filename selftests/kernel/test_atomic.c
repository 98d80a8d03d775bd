// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_atomic.c - FETCH_ADD, COMPARE_SWAP and SWAP, one at a time
 *
 * Owns: what each does to the word and what it brings back, what is refused,
 * and what it costs with a model. Everything both ways: done by the poster at once, and (with a FENCE)
 * by the engine.
 *
 * Flags: -luring
 */
#include "dmanic_test.h"

#include <errno.h>
#include <liburing.h>
#include <sys/mman.h>

#define WORDS	512UL		/* of the target: a page */
#define BYTES	(WORDS * 8)

FIXTURE(atomic) {
	struct node node;
	struct node peer;
	struct segment target;
	__u32 handle;
	struct queue queue;
	__u64 *word;		/* in the target's mapping */
};

FIXTURE_VARIANT(atomic) {
	__u8 flags;
};

FIXTURE_VARIANT_ADD(atomic, poster) { .flags = 0 };
FIXTURE_VARIANT_ADD(atomic, engine) { .flags = DMANIC_SQE_FENCE };

FIXTURE_SETUP(atomic)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->target = segment_make(&self->peer, BYTES);
	segment_export(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE |
		       DMANIC_RIGHT_ATOMIC);
	self->handle = segment_connect(&self->node, &self->target);
	self->queue = queue_make(&self->node, 16, 16);
	self->word = (__u64 *)self->target.data;
}

FIXTURE_TEARDOWN(atomic)
{
}

static __u64 word_read(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* ---- one at a time ---- */

/* On word 1 of the target: it becomes @after, and nothing else changes */
static void once(struct atomic_self *self, const struct dmanic_sqe *sqe,
		 __u64 before, __u64 after)
{
	struct dmanic_cqe cqe;

	self->word[0] = ~before;
	self->word[1] = before;
	self->word[2] = ~after;
	cqe = queue_run(&self->queue, sqe);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.opcode, sqe->opcode);
	EXPECT_EQ(cqe.result, before);
	EXPECT_EQ(word_read(&self->word[1]), after);
	EXPECT_EQ(self->word[0], ~before);
	EXPECT_EQ(self->word[2], ~after);
}

static const __u64 values[] = {
	0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	0x0123456789abcdef, 0x7fffffffffffffff, 0x8000000000000000, ~0ULL,
};

TEST_F(atomic, values)
{
	struct dmanic_sqe sqe;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(values); i++)
	for (j = 0; j < ARRAY_SIZE(values); j++) {
		sqe = sqe_atomic(DMANIC_OP_FETCH_ADD, self->handle, 8,
				 values[j], 0);
		sqe.flags = variant->flags;
		once(self, &sqe, values[i], values[i] + values[j]);
		sqe.opcode = DMANIC_OP_SWAP;
		once(self, &sqe, values[i], values[j]);
		/* Is what is expected, and is not */
		sqe.opcode = DMANIC_OP_COMPARE_SWAP;
		sqe.compare = values[i];
		once(self, &sqe, values[i], values[j]);
		sqe.compare = values[i] ^ 1ULL << j * 5;
		once(self, &sqe, values[i], values[i]);
	}
}

TEST_F(atomic, every_place)
{
	struct dmanic_sqe sqe;
	unsigned int i;

	for (i = 0; i < WORDS; i++) {
		sqe = sqe_atomic(DMANIC_OP_FETCH_ADD, self->handle, i * 8,
				 i + 1, 0);
		sqe.flags = variant->flags;
		EXPECT_EQ(queue_run(&self->queue, &sqe).result, 0);
	}
	for (i = 0; i < WORDS; i++)
		ASSERT_EQ(self->word[i], i + 1);
}

/* A chain of them in one batch: each finds what the one before left. */
TEST_F(atomic, keep_their_order)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		*queue_sqe(&self->queue) = sqe_atomic(DMANIC_OP_COMPARE_SWAP,
			self->handle, 0, i + 1, i);
		self->queue.sq[i].flags = variant->flags;
	}
	queue_submit(&self->queue);
	for (i = 0; i < 16; i++) {
		cqe = queue_wait(&self->queue);
		EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
		EXPECT_EQ(cqe.result, i);
	}
	EXPECT_EQ(self->word[0], 16);
}

TEST_F(atomic, silent_ones_are_done)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	for (i = 0; i < 15; i++) {
		struct dmanic_sqe *sqe = queue_sqe(&self->queue);

		*sqe = sqe_atomic(DMANIC_OP_FETCH_ADD, self->handle, 0, 3,
				  0);
		sqe->flags = DMANIC_SQE_SILENT | variant->flags;
	}
	*queue_sqe(&self->queue) = (struct dmanic_sqe) {
		.opcode = DMANIC_OP_NOP, .flags = DMANIC_SQE_FENCE,
		.cookie = 99,
	};
	queue_submit(&self->queue);
	cqe = queue_wait(&self->queue);
	EXPECT_EQ(cqe.cookie, 99);
	EXPECT_TRUE(!queue_reap(&self->queue, &cqe));
	EXPECT_EQ(word_read(self->word), 45);
}

TEST_F(atomic, are_counted)
{
	struct dmanic_sqe sqe = sqe_atomic(DMANIC_OP_SWAP, self->handle, 0,
					   1ULL << 60, 0);
	struct device before, after;
	unsigned int i;

	sqe.flags = variant->flags;
	ASSERT_EQ(device_stats(self->node.name, &before), 0);
	for (i = 0; i < 3; i++)
		queue_run(&self->queue, &sqe);
	sqe.remote_offset = BYTES;
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_BOUNDS);
	ASSERT_EQ(device_stats(self->node.name, &after), 0);
#define GREW(which, by) \
	EXPECT_EQ(after.stats[DMANIC_STATS_A_##which] - \
		  before.stats[DMANIC_STATS_A_##which], by)
	GREW(ATOMICS, 3);
	GREW(COMPLETED, 3);
	GREW(FAILED, 1);
	/* The old value is no number of bytes */
	GREW(WRITE_BYTES, 0);
	GREW(READ_BYTES, 0);
}

/* ---- what is refused ---- */

static void refused(struct atomic_self *self, struct dmanic_sqe sqe,
		    __u8 flags, __u32 status)
{
	static const __u8 opcodes[] = {
		DMANIC_OP_FETCH_ADD, DMANIC_OP_SWAP, DMANIC_OP_COMPARE_SWAP,
	};
	__u64 seen[WORDS];
	unsigned int i;

	fill(self->target.data, BYTES, sqe.remote_offset);
	memcpy(seen, self->target.data, BYTES);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		sqe.opcode = opcodes[i];
		sqe.flags = flags;
		EXPECT_EQ(queue_run(&self->queue, &sqe).status, status);
		EXPECT_EQ(memcmp(seen, self->target.data, BYTES), 0);
	}
}

TEST_F(atomic, unaligned_is_INVALID)
{
	struct dmanic_sqe sqe = sqe_atomic(0, self->handle, 0, 1, 0);
	unsigned int i;

	for (i = 1; i < 8; i++) {
		sqe.remote_offset = 64 + i;
		refused(self, sqe, variant->flags, DMANIC_STATUS_INVALID);
		sqe.remote_offset = BYTES - i;
		refused(self, sqe, variant->flags, DMANIC_STATUS_INVALID);
	}
}

TEST_F(atomic, outside_is_BOUNDS)
{
	static const __u64 bad[] = {
		BYTES, BYTES + 8, 1ULL << 32, 1ULL << 63, ~7ULL,
	};
	struct segment odd = segment_make(&self->peer, 20);
	struct dmanic_sqe sqe = sqe_atomic(0, self->handle, 0, 1, 0);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		sqe.remote_offset = bad[i];
		refused(self, sqe, variant->flags, DMANIC_STATUS_BOUNDS);
	}
	/* The last word is not a whole one */
	segment_export(&odd, DMANIC_RIGHT_ATOMIC);
	sqe = sqe_atomic(DMANIC_OP_SWAP, segment_connect(&self->node, &odd),
			 8, 5, 0);
	sqe.flags = variant->flags;
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	sqe.remote_offset = 16;
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_BOUNDS);
	EXPECT_EQ(((__u64 *)odd.data)[1], 5);
	EXPECT_EQ(((__u64 *)odd.data)[2], 0);
}

TEST_F(atomic, unused_field_is_INVALID)
{
	struct dmanic_sqe good = sqe_atomic(0, self->handle, 0, 1, 0);
	struct segment local = segment_make(&self->node, 8);
	struct irq irq = irq_make(&self->peer, 2);
	struct dmanic_sqe sqe;

	sqe = good;
	sqe.local = local.id;
	refused(self, sqe, variant->flags, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.local_offset = 8;
	refused(self, sqe, variant->flags, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.length = 8;
	refused(self, sqe, variant->flags, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.reserved = 1;
	refused(self, sqe, variant->flags, DMANIC_STATUS_INVALID);
	sqe = good;
	sqe.notify = irq_connect(&self->node, &irq);
	refused(self, sqe, variant->flags, DMANIC_STATUS_INVALID);
	refused(self, sqe, variant->flags | DMANIC_SQE_NOTIFY,
		DMANIC_STATUS_INVALID);
	EXPECT_EQ(irq_raised(&irq), 0);
	/* Only a COMPARE_SWAP compares */
	self->word[0] = 0;
	sqe = sqe_atomic(DMANIC_OP_SWAP, self->handle, 0, 1, 1);
	sqe.flags = variant->flags;
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_INVALID);
	sqe.opcode = DMANIC_OP_FETCH_ADD;
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_INVALID);
	EXPECT_EQ(self->word[0], 0);
}

TEST_F(atomic, handles_are_checked)
{
	struct irq irq = irq_make(&self->peer, 2);
	struct dmanic_sqe sqe = sqe_atomic(0, 0, 0, 1, 0);

	refused(self, sqe, variant->flags, DMANIC_STATUS_NO_HANDLE);
	sqe.remote = self->handle + 1000;
	refused(self, sqe, variant->flags, DMANIC_STATUS_NO_HANDLE);
	sqe.remote = irq_connect(&self->node, &irq);
	refused(self, sqe, variant->flags, DMANIC_STATUS_NO_HANDLE);
}

/* The right is one of its own: neither needs nor gives another. */
TEST_F(atomic, rights)
{
	struct segment segment = segment_make(&self->peer, BYTES);
	struct segment local = segment_make(&self->node, 8);
	struct dmanic_sqe sqe;
	__u32 rights, handle;

	for (rights = 1; rights < 8; rights++) {
		segment_export(&segment, rights);
		handle = segment_connect(&self->node, &segment);
		sqe = sqe_atomic(DMANIC_OP_FETCH_ADD, handle, 0, 1, 0);
		sqe.flags = variant->flags;
		*(__u64 *)segment.data = 7;
		EXPECT_EQ(queue_run(&self->queue, &sqe).status,
			  rights & DMANIC_RIGHT_ATOMIC ? DMANIC_STATUS_OK :
							 DMANIC_STATUS_ACCESS);
		EXPECT_EQ(*(__u64 *)segment.data,
			  rights & DMANIC_RIGHT_ATOMIC ? 8 : 7);
		sqe = sqe_move(DMANIC_OP_READ, local.id, 0, handle, 0, 8);
		sqe.flags = variant->flags;
		EXPECT_EQ(queue_run(&self->queue, &sqe).status,
			  rights & DMANIC_RIGHT_READ ? DMANIC_STATUS_OK :
						       DMANIC_STATUS_ACCESS);
		ASSERT_EQ(segment_revoke(&segment), 0);
	}
	/* An old handle */
	segment_export(&segment, DMANIC_RIGHT_ATOMIC);
	sqe = sqe_atomic(DMANIC_OP_SWAP, handle, 0, 1, 0);
	sqe.flags = variant->flags;
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_ACCESS);
	ASSERT_EQ(segment_revoke(&segment), 0);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status,
		  DMANIC_STATUS_NO_SEGMENT);
}

/* A segment of user memory begins anywhere; a word does not. */
TEST_F(atomic, user_memory_has_aligned_words_only)
{
	__u8 *map = mmap(NULL, 3 * page_bytes(), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dmanic_sqe sqe;
	struct segment segment;
	unsigned int first;

	ASSERT_TRUE(map != MAP_FAILED);
	for (first = 0; first <= 16; first++) {
		segment = segment_register(&self->peer, map + first,
					   2 * page_bytes());
		segment_export(&segment, DMANIC_RIGHT_ATOMIC);
		memset(map, 0, 3 * page_bytes());
		/* Its last bytes may be on the next page */
		sqe = sqe_atomic(DMANIC_OP_SWAP,
				 segment_connect(&self->node, &segment),
				 page_bytes() - 8, ~0ULL, 0);
		sqe.flags = variant->flags;
		EXPECT_EQ(queue_run(&self->queue, &sqe).status,
			  first % 8 ? DMANIC_STATUS_INVALID : DMANIC_STATUS_OK);
		EXPECT_EQ(map[page_bytes() - 8 + first],
			  first % 8 ? 0 : 0xff);
		EXPECT_EQ(map[page_bytes() - 1 + first],
			  first % 8 ? 0 : 0xff);
		EXPECT_EQ(map[page_bytes() + first], 0);
		ASSERT_EQ(segment_destroy(&segment), 0);
	}
}

TEST_F(atomic, dead_peer_is_PEER_DEAD)
{
	struct fabric own;
	struct node node, peer;
	struct segment segment;
	struct queue queue;
	struct dmanic_sqe sqe;

	fabric_make(&own, "a", 2, NULL);
	node = node_open(&own, 0);
	peer = node_open(&own, 1);
	segment = segment_make(&peer, 8);
	segment_export(&segment, DMANIC_RIGHT_ATOMIC);
	queue = queue_make(&node, 1, 1);
	sqe = sqe_atomic(DMANIC_OP_FETCH_ADD, segment_connect(&node, &segment),
			 0, 1, 0);
	sqe.flags = variant->flags;
	ASSERT_EQ(device_set_failed(peer.name, true), 0);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_PEER_DEAD);
	ASSERT_EQ(device_set_failed(peer.name, false), 0);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_PEER_RESTARTED);
	EXPECT_EQ(*(__u64 *)segment.data, 0);
}

/* ---- other ways there ---- */

/* There and back, as a READ of the word */
TEST_F(atomic, model_counts_the_way_back)
{
	const struct model model = { .latency_ns = 20 * MS_NS };
	struct node node;
	struct segment segment;
	struct fabric own;
	struct queue queue;
	struct dmanic_sqe sqe;
	struct dmanic_cqe cqe;
	__u64 begun;

	fabric_make(&own, "a", 1, &model);
	node = node_open(&own, 0);
	segment = segment_make(&node, 8);
	segment_export(&segment, DMANIC_RIGHT_ATOMIC);
	queue = queue_make(&node, 1, 1);
	sqe = sqe_atomic(DMANIC_OP_FETCH_ADD, segment_connect(&node, &segment),
			 0, 5, 0);
	sqe.flags = variant->flags;
	begun = now_ns();
	cqe = queue_run(&queue, &sqe);
	EXPECT_GE(now_ns() - begun, 2 * model.latency_ns);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	EXPECT_EQ(cqe.result, 0);
	EXPECT_EQ(*(__u64 *)segment.data, 5);
}

static void uring_post(struct io_uring *ring, int fd,
		       const struct dmanic_sqe *op)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	ASSERT_TRUE(sqe);
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = DMANIC_URING_POST;
	memcpy(sqe->cmd, op, sizeof(*op));
	ASSERT_EQ(io_uring_submit(ring), 1);
}

/* The old value is the second result of a 32-byte completion. */
TEST_F(atomic, posted_to_io_uring)
{
	struct dmanic_sqe op = sqe_atomic(DMANIC_OP_FETCH_ADD, self->handle, 0,
					  1, 0);
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	unsigned int i;

	ASSERT_EQ(io_uring_queue_init(4, &ring, IORING_SETUP_SQE128 |
				      IORING_SETUP_CQE32), 0);
	op.flags = variant->flags;
	self->word[0] = 1ULL << 63;
	for (i = 0; i < 10; i++) {
		uring_post(&ring, self->queue.fd, &op);
		ASSERT_EQ(io_uring_wait_cqe(&ring, &cqe), 0);
		EXPECT_EQ(cqe->res, 0);
		EXPECT_EQ(cqe->big_cqe[0], (1ULL << 63) + i);
		io_uring_cqe_seen(&ring, cqe);
	}
	EXPECT_EQ(word_read(self->word), (1ULL << 63) + 10);
	op.remote_offset = 4;
	uring_post(&ring, self->queue.fd, &op);
	ASSERT_EQ(io_uring_wait_cqe(&ring, &cqe), 0);
	EXPECT_EQ(cqe->res, -EINVAL);
	io_uring_cqe_seen(&ring, cqe);
	io_uring_queue_exit(&ring);
	EXPECT_EQ(word_read(self->word), (1ULL << 63) + 10);
}

FABRIC_TEST_MAIN()
