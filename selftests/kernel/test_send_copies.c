// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_send_copies.c - with checksums off, no CPU touches what an ether device sends
 *
 * Owns: that claim. Words of what is sent are watched (watchpoint.h), one after the
 * other, while it goes from one end of a veth pair to the other. There the receiver reads
 * it from the very page it was sent from, which is seen, so the watch works; nobody else
 * may. Where the sender has to touch it, for a checksum, or to gather blocks too small to be sent from
 * where they are, that is seen, too.
 *
 *	cp0 (node 0)  <---- veth pair ---->  cp1 (node 1)
 */
#include "dmanic_test.h"
#include "watchpoint.h"

#include <stdlib.h>

#define BYTES		(1UL << 20)
#define WATCHED		(5 * 65536UL + 4096 * 3 + 64)	/* in the middle of a frame */
#define PUTS		16U

FIXTURE(send) {
	struct fabric own;
	struct node node[2];
	struct segment local;
	struct segment target;
	struct queue queue;
	__u32 handle;
};

FIXTURE_VARIANT(send) {
	const char *setup;	/* of cp0; NULL: as it is */
};

FIXTURE_VARIANT_ADD(send, whole) {
	.setup = NULL,
};

FIXTURE_VARIANT_ADD(send, cut) {
	.setup = "ethtool -K cp0 tx-sctp-segmentation off",
};

FIXTURE_VARIANT_ADD(send, single) {
	.setup = "ethtool -K cp0 gso off",
};

static void run(const char *command)
{
	if (system(command))
		FAIL("failed: %s", command);
}

static void begin(struct send_self *self, const char *crc)
{
	setenv("DMANIC_NETDEVS", "cp0 cp1", 1);
	setenv("DMANIC_CRC", crc, 1);
	fabric_make(&self->own, "a", 2, NULL);
	self->node[0] = node_open(&self->own, 0);
	self->node[1] = node_open(&self->own, 1);
	self->local = segment_make(&self->node[0], BYTES);
	self->target = segment_make(&self->node[1], BYTES);
	segment_export(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	self->queue = queue_make(&self->node[0], 16, 16);
	self->handle = segment_connect(&self->node[0], &self->target);
}

FIXTURE_SETUP(send)
{
	if (system("command -v ethtool >/dev/null"))
		SKIP("needs ethtool");
	run("ip link add cp0 type veth peer name cp1");
	run("ip link set cp0 up && ip link set cp1 up");
	if (variant->setup)
		run(variant->setup);
}

FIXTURE_TEARDOWN(send)
{
	if (system("ip link del cp0 2>/dev/null"))
		harness_note("cp0 is gone");
}

/* Does it often, while the word at @word is watched */
static void watch(struct send_self *self, const struct dmanic_sqe *sqe, const void *word,
		  struct watchpoint *seen)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	watchpoint_open(seen, word, "dmanic_ether_receive");
	for (i = 0; i < PUTS; i++) {
		cqe = queue_run(&self->queue, sqe);
		ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
	}
	watchpoint_close(seen);
}

static void expect_untouched(const struct watchpoint *seen)
{
	char who[256];

	/* The receiver has read it each time, or the watch is blind */
	EXPECT_GE(seen->inside, PUTS);
	if (!seen->outside)
		return;
	watchpoint_culprit(seen, who, sizeof(who));
	FAIL("%u of %u accesses were the sender's: %s", seen->outside,
	     seen->inside + seen->outside, who);
}

static void expect_touched(const struct watchpoint *seen)
{
	EXPECT_GE(seen->inside, PUTS);
	EXPECT_GE(seen->outside, PUTS);
}

static struct dmanic_sqe sqe_write(const struct send_self *self)
{
	return sqe_move(DMANIC_OP_WRITE, self->local.id, 0, self->handle, 0, BYTES);
}

/* All of the segment but for gaps as long as the blocks */
static struct dmanic_sqe sqe_blocks(const struct send_self *self, __u32 block)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE_STRIDED, self->local.id, 0,
					 self->handle, 0, 0);

	sqe.block = block;
	sqe.count = BYTES / 2 / block;
	sqe.local_stride = 2 * block;
	sqe.remote_stride = 2 * block;
	return sqe;
}

/* Where frames, pages and the segment begin and end, and in the middle of them */
TEST_F(send, a_segment_is_not_touched)
{
	static const unsigned long words[] = {
		0, 1424, 4088, 4096, 65528, 65536, WATCHED, BYTES / 2 + 3016, BYTES - 8,
	};
	struct watchpoint seen;
	struct dmanic_sqe sqe;
	unsigned int i;

	begin(self, "off");
	fill(self->local.data, BYTES, 1);
	sqe = sqe_write(self);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		watch(self, &sqe, self->local.data + words[i], &seen);
		expect_untouched(&seen);
	}
	EXPECT_EQ(memcmp(self->local.data, self->target.data, BYTES), 0);
}

TEST_F(send, a_few_bytes_are_not_touched)
{
	struct watchpoint seen;
	struct dmanic_sqe sqe;

	begin(self, "off");
	sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, WATCHED, self->handle, 0, 8);
	fill(self->local.data, BYTES, 2);
	watch(self, &sqe, self->local.data + WATCHED, &seen);
	expect_untouched(&seen);
	EXPECT_EQ(memcmp(self->local.data + WATCHED, self->target.data, 8), 0);
}

TEST_F(send, memory_of_the_program_is_not_touched)
{
	struct watchpoint seen;
	struct segment user;
	struct dmanic_sqe sqe;
	__u8 *memory;

	begin(self, "off");
	memory = aligned_alloc(page_bytes(), BYTES);
	ASSERT_NE(memory, NULL);
	fill(memory, BYTES, 3);
	user = segment_register(&self->node[0], memory, BYTES);
	sqe = sqe_write(self);
	sqe.local = user.id;
	watch(self, &sqe, memory + WATCHED, &seen);
	expect_untouched(&seen);
	EXPECT_EQ(memcmp(memory, self->target.data, BYTES), 0);
}

TEST_F(send, large_blocks_are_not_touched)
{
	struct watchpoint seen;
	struct dmanic_sqe sqe;

	begin(self, "off");
	sqe = sqe_blocks(self, 8192);
	fill(self->local.data, BYTES, 4);
	watch(self, &sqe, self->local.data + WATCHED / 16384 * 16384 + 64, &seen);
	expect_untouched(&seen);
}

TEST_F(send, what_is_read_is_not_touched)
{
	struct watchpoint seen;
	struct dmanic_sqe sqe;

	begin(self, "off");
	fill(self->target.data, BYTES, 5);
	sqe = sqe_write(self);
	sqe.opcode = DMANIC_OP_READ;
	watch(self, &sqe, self->target.data + WATCHED, &seen);
	expect_untouched(&seen);
	EXPECT_EQ(memcmp(self->local.data, self->target.data, BYTES), 0);
}

TEST_F(send, a_checksum_touches)
{
	struct watchpoint seen;
	struct dmanic_sqe sqe;

	begin(self, "on");
	fill(self->local.data, BYTES, 6);
	sqe = sqe_write(self);
	watch(self, &sqe, self->local.data + WATCHED, &seen);
	expect_touched(&seen);
}

/* More of them in a frame than it can have pieces */
TEST_F(send, small_blocks_are_gathered)
{
	struct watchpoint seen;
	struct dmanic_sqe sqe;

	begin(self, "off");
	sqe = sqe_blocks(self, 32);
	fill(self->local.data, BYTES, 7);
	watch(self, &sqe, self->local.data + WATCHED / 64 * 64, &seen);
	/* The receiver reads the copy */
	EXPECT_GE(seen.outside, PUTS);
	EXPECT_EQ(seen.inside, 0);
}

FABRIC_TEST_MAIN_NONE()
