// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes to the same bytes, whose frames are lost and pass each other: in the end
 * memory is what it is when they are done one after the other.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/range.c
 * Sources: driver/proto/host.c driver/proto/auth.c driver/proto/mac.c
 * Sources: driver/proto/handshake.c driver/proto/peer.c
 * Sources: driver/proto/share.c driver/proto/xfer.c driver/proto/tx.c driver/proto/next.c
 * Sources: driver/proto/receive.c driver/proto/later.c driver/proto/reply.c
 * Sources: driver/proto/ack.c driver/proto/loss.c driver/proto/path.c driver/proto/rate.c
 */
#include "driver/proto/internal.h"
#include "proto_pair.h"
#include "unit.h"

#define WRITES	48
#define LONGEST	6000
#define ROUNDS	300
#define STEPS	200000

static u8 source[WRITES][LONGEST];
static struct dmanic_xfer xfer[WRITES];
static u8 model[PAIR_MEMORY];
static u64 state;

static u32 below(u32 limit)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(state >> 33) % limit;
}

static void put(u32 i, u32 length, u32 offset, u32 block, u32 stride)
{
	u32 k;

	for (k = 0; k < length; k++) {
		source[i][k] = (u8)(i + 1);
		if (block)
			model[offset + k / block * stride + k % block] = (u8)(i + 1);
		else
			model[offset + k] = (u8)(i + 1);
	}
	xfer[i] = pair_write(source[i], length, offset);
	xfer[i].block = block;
	xfer[i].stride = stride;
	pair_submit(0, &xfer[i]);
}

static void begin(struct dmanic_proto_config config)
{
	memset(model, 0, sizeof(model));
	pair_begin_with(config);
	pair_connect();
}

/* One frame arrives, or is lost, or time goes on */
static void step(u32 lost)
{
	u32 k;

	pair_pump(0);
	pair_pump(1);
	while (pair[1].nr_sent) {
		pair_deliver(1, 0);
		pair_drop(1, 0);
	}
	if (!pair[0].nr_sent) {
		pair_tick(DMANIC_NEVER - 1);
		return;
	}
	k = below(pair[0].nr_sent);
	if (below(100) >= lost)
		pair_deliver(0, k);
	pair_drop(0, k);
}

static void check(u32 writes)
{
	u32 i, steps = 0;

	while (pair[0].completed < writes && steps++ < STEPS)
		step(20);
	ASSERT_EQ(pair[0].completed, writes);
	for (i = 0; i < writes; i++)
		EXPECT_EQ(xfer[i].status, 0);
	EXPECT(!memcmp(pair[1].memory, model, sizeof(model)));
}

/* The smallest case: the first of two is lost, and comes after the second */
TEST(later__the_last_one_posted_stays)
{
	begin((struct dmanic_proto_config) { .mtu = 1500 });
	put(0, 1400, 0, 0, 0);
	pair_pump(0);
	while (pair[0].nr_sent)
		pair_drop(0, 0);
	put(1, 100, 200, 0, 0);
	put(2, 8, 1396, 0, 0);
	check(3);
	EXPECT_EQ(pair[1].memory[199], 1);
	EXPECT_EQ(pair[1].memory[200], 2);
	EXPECT_EQ(pair[1].memory[300], 1);
	EXPECT_EQ(pair[1].memory[1396], 3);
	pair_end();
}

TEST(later__random_writes_over_each_other)
{
	u32 round, i, length;

	for (round = 0; round < ROUNDS; round++) {
		state = round + 1;
		begin((struct dmanic_proto_config) { .mtu = 1500, .super = below(2) ? 9000 : 0 });
		for (i = 0; i < WRITES; i++) {
			length = 1 + below(below(4) ? 200 : LONGEST);
			put(i, length, below(8192), 0, 0);
		}
		check(WRITES);
		pair_end();
	}
}

TEST(later__random_blocks_over_each_other)
{
	u32 round, i, length, block;

	for (round = 0; round < ROUNDS; round++) {
		state = round + 1;
		begin((struct dmanic_proto_config) { .mtu = 1500 });
		for (i = 0; i < WRITES; i++) {
			length = 1 + below(below(4) ? 200 : LONGEST / 4);
			block = below(3) ? 8 + below(100) : 0;
			put(i, length, below(4096), block, block ? block + below(64) : 0);
		}
		check(WRITES);
		pair_end();
	}
}

/* Without room to note more, what comes too early has to come again */
TEST(later__no_room_is_no_harm)
{
	u32 round, i;

	for (round = 0; round < ROUNDS / 4; round++) {
		state = round + 1;
		begin((struct dmanic_proto_config) { .mtu = 1500, .later = 2 });
		for (i = 0; i < WRITES; i++)
			put(i, 1 + below(300), below(2048), 0, 0);
		check(WRITES);
		pair_end();
	}
}

/* Many small things behind a hole, and a long one that fills it */
TEST(later__work_of_a_frame_is_bounded)
{
	static u8 bytes[16000];
	static struct dmanic_xfer small[200];
	struct dmanic_rx *rx;
	u32 i, kept;

	begin((struct dmanic_proto_config) { .mtu = 9000 });
	memset(bytes, 7, sizeof(bytes));
	memset(model, 7, 8000);
	xfer[0] = pair_write(bytes, 8000, 0);
	pair_submit(0, &xfer[0]);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	for (i = 0; i < 200; i++) {
		small[i] = pair_write(source[1], 1, i * 40);
		model[i * 40] = source[1][0];
		pair_submit(0, &small[i]);
	}
	pair_pump(0);
	kept = pair[0].nr_sent;
	for (i = 1; i < kept; i++)
		pair_deliver(0, i);
	rx = &pair[1].peer->rx[DMANIC_BULK];
	EXPECT_EQ(rx->nr_later, 200);
	pair[1].places = 0;
	pair_deliver(0, 0);
	EXPECT_EQ(rx->work, 0);
	EXPECT(pair[1].places > 10 && pair[1].places < 180);
	/* The same frame again brings what was left of it, at last */
	pair_deliver(0, 0);
	pair_deliver(0, 0);
	EXPECT_EQ(rx->got.nr, 0);
	EXPECT(!memcmp(pair[1].memory, model, sizeof(model)));
	while (pair[0].nr_sent)
		pair_drop(0, 0);
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 201);
	EXPECT(!memcmp(pair[1].memory, model, sizeof(model)));
	pair_end();
}

/* Who takes a frame in many parts has answered each time: it is neither dead nor too long */
TEST(later__what_is_taken_in_parts_needs_no_time_out)
{
	static u8 bytes[8192];
	static struct dmanic_xfer small[200];
	u32 i;

	begin((struct dmanic_proto_config) { .mtu = 9000 });
	xfer[0] = pair_write(bytes, sizeof(bytes), 0);
	xfer[0].block = 8;
	xfer[0].stride = 16;
	pair_submit(0, &xfer[0]);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	for (i = 0; i < 200; i++) {
		small[i] = pair_write(source[1], 1, 20000 + i * 8);
		pair_submit(0, &small[i]);
	}
	pair_pump(0);
	pair_drop(0, 0);
	while (pair[0].nr_sent) {
		pair_deliver(0, 0);
		pair_drop(0, 0);
	}
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 201);
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	EXPECT(!dmanic_peer_degraded(pair[0].peer));
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	pair_end();
}

/* However short blocks are: nothing of a frame is left when nothing was lost */
TEST(later__blocks_of_a_frame_are_placed_at_once)
{
	static u8 bytes[8192];
	u64 *next;
	u32 block;

	for (block = 1; block <= 16; block *= 2) {
		begin((struct dmanic_proto_config) { .mtu = 9000 });
		next = &pair[1].peer->rx[DMANIC_BULK].got.next;
		xfer[0] = pair_write(bytes, sizeof(bytes), 0);
		xfer[0].block = block;
		xfer[0].stride = 2 * block;
		pair_submit(0, &xfer[0]);
		pair_pump(0);
		while (pair[0].nr_sent) {
			pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		EXPECT_EQ(*next, pair[0].peer->tx[DMANIC_BULK].next);
		EXPECT_EQ(pair[1].host.stats.dropped[DMANIC_DROP_ROOM], 0);
		pair_run(PAIR_MS);
		EXPECT_EQ(pair[0].completed, 1);
		pair_end();
	}
}

/* What is behind as many blocks as there may be goes along with them */
TEST(later__notify_goes_along_with_blocks)
{
	static u8 bytes[1024];

	begin((struct dmanic_proto_config) { .mtu = 1500 });
	xfer[0] = pair_write(bytes, sizeof(bytes), 0);
	xfer[0].block = 1;
	xfer[0].stride = 2;
	xfer[0].notifies = true;
	pair_submit(0, &xfer[0]);
	pair_pump(0);
	EXPECT_EQ(pair[0].nr_sent, 1);
	pair_run(PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	pair_end();
}

/* Blocks that a READ asked for: of what comes only so many are placed as there is work left */
TEST(later__work_of_an_answer_is_bounded)
{
	static u8 bytes[1000], sink[1000];
	const struct dmanic_frame frame = { .link = bytes };
	struct dmanic_record record = { .type = DMANIC_RECORD_DATA, .length = sizeof(bytes) };
	struct dmanic_rx *rx;
	u32 length = sizeof(bytes);

	begin((struct dmanic_proto_config) { .mtu = 1500 });
	memset(bytes, 7, sizeof(bytes));
	xfer[0] = pair_write(sink, sizeof(sink), 0);
	xfer[0].kind = DMANIC_XFER_READ;
	xfer[0].block = 3;
	xfer[0].stride = 4;
	pair_submit(0, &xfer[0]);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	record.op = xfer[0].id;
	rx = &pair[0].peer->rx[DMANIC_BULK];
	rx->work = 100;
	EXPECT_EQ(dmanic_xfer_data(pair[0].peer, DMANIC_BULK, &record, 1, 0, &frame, 0,
				   &length), 0);
	EXPECT_EQ(length, 300);
	EXPECT_EQ(rx->work, 0);
	EXPECT_EQ(sink[299], 7);
	EXPECT_EQ(sink[300], 0);
	/* One is always done */
	length = sizeof(bytes) - 300;
	EXPECT_EQ(dmanic_xfer_data(pair[0].peer, DMANIC_BULK, &record, 301, 300, &frame, 300,
				   &length), 0);
	EXPECT_EQ(length, 3);
	EXPECT_EQ(sink[302], 7);
	EXPECT_EQ(pair[0].completed, 0);
	pair_end();
}

/* Of a frame only a part is placed, so that what was placed joins nothing */
TEST(later__parts_of_frames_are_noted_within_room)
{
	struct dmanic_rx *rx;
	u32 i, round;

	begin((struct dmanic_proto_config) { .mtu = 9000, .ranges = 4 });
	rx = &pair[1].peer->rx[DMANIC_BULK];
	for (i = 0; i < 36; i++) {
		if (i == 0 || i == 32)
			put(i, 1000, i, 1, 2);
		else
			put(i, 1, 20000 + i * 2, 0, 0);
		/* Frame 1 has 30, any other one */
		if (i < 1 || i >= 30)
			pair_pump(0);
	}
	ASSERT_EQ(pair[0].nr_sent, 7);
	pair_deliver(0, 1);
	pair_deliver(0, 4);
	pair_deliver(0, 6);
	ASSERT_EQ(rx->got.nr, 3);
	/* It ends where 4 begins, and where it begins nothing is */
	pair_deliver(0, 3);
	EXPECT_EQ(rx->got.nr, 3);
	/* The last place is for what is next, until that is done */
	pair_deliver(0, 0);
	EXPECT_EQ(rx->got.nr, 3);
	EXPECT(rx->got.next > 1 && rx->got.next < 1000);
	for (round = 0; round < 4; round++)
		for (i = 0; i < 7; i++)
			pair_deliver(0, i);
	EXPECT_EQ(rx->got.nr, 0);
	EXPECT(!memcmp(pair[1].memory, model, sizeof(model)));
	check(36);
	pair_end();
}

/* Who was refused wrote nothing: what is older is not to be left out for it */
TEST(later__a_refused_write_covers_nothing)
{
	begin((struct dmanic_proto_config) { .mtu = 1500 });
	put(0, 1000, 0, 0, 0);
	pair_pump(0);
	while (pair[0].nr_sent)
		pair_drop(0, 0);
	xfer[1] = pair_write(source[1], 100, 0);
	xfer[1].key = PAIR_KEY + 1;
	pair_submit(0, &xfer[1]);
	while (pair[0].completed < 2)
		step(0);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT_EQ(xfer[1].status, DMANIC_STATUS_ACCESS);
	EXPECT(!memcmp(pair[1].memory, model, sizeof(model)));
	pair_end();
}

/* Each time a part of each is placed: who sends again does not wait longer and longer for it */
TEST(later__parts_of_frames_go_on_at_once)
{
	u64 began;
	u32 i;

	begin((struct dmanic_proto_config) { .mtu = 65535 });
	for (i = 0; i < 8; i++)
		put(i, LONGEST, i, 1, 8);
	began = pair_now;
	while (pair[0].completed < 8 && pair_now - began < 1000 * PAIR_MS)
		pair_run(PAIR_MS);
	EXPECT_EQ(pair[0].completed, 8);
	EXPECT(pair_now - began < 50 * PAIR_MS);
	EXPECT(!memcmp(pair[1].memory, model, sizeof(model)));
	pair_end();
}
