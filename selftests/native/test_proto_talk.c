// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two nodes that answer each other: what was received is told along with the answer,
 * and who sends without an answer does not wait for one.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/range.c
 * Sources: driver/proto/host.c driver/proto/auth.c driver/proto/mac.c
 * Sources: driver/proto/handshake.c driver/proto/peer.c
 * Sources: driver/proto/share.c driver/proto/xfer.c driver/proto/tx.c driver/proto/next.c
 * Sources: driver/proto/receive.c driver/proto/later.c driver/proto/reply.c driver/proto/ack.c
 * Sources: driver/proto/loss.c driver/proto/path.c driver/proto/rate.c
 */
#include "proto_pair.h"
#include "unit.h"

#define TALK_US		1000ULL
#define TALK_WAY	(20 * TALK_US)	/* of a frame */
#define TALK_ROUNDS	32U

static u8 source[PAIR_MEMORY];
static struct dmanic_xfer xfer[2][TALK_ROUNDS];
static u32 nr_xfers[2], acks[2];

static void begin_with(u32 super)
{
	pair_begin_with((struct dmanic_proto_config) { .mtu = 1500, .super = super });
	pair_connect();
	memset(nr_xfers, 0, sizeof(nr_xfers));
	memset(acks, 0, sizeof(acks));
}

static void begin(void)
{
	begin_with(9000);
}

static void say(u32 side, u64 length)
{
	struct dmanic_xfer *one = &xfer[side][nr_xfers[side]++ % TALK_ROUNDS];

	*one = pair_write(source, length, 0);
	one->notifies = true;
	pair_submit(side, one);
	pair_pump(side);
}

/* What @side sent arrives a way later, in order; timers go off before that */
static void arrive(u32 side)
{
	u32 nr = pair[side].nr_sent;

	pair_wait(TALK_WAY);
	while (nr--) {
		acks[side] += pair_type(side, 0) == DMANIC_WIRE_ACK;
		pair_deliver(side, 0);
		pair_drop(side, 0);
	}
}

/* @side says something, and the other answers */
static void talk(u32 side)
{
	say(side, 8);
	arrive(side);
	say(!side, 8);
	arrive(!side);
}

/* Until both know that they do */
static void talk_for_long(void)
{
	u32 i;

	for (i = 0; i < 10; i++)
		talk(0);
	pair_run(PAIR_MS / 10);
	memset(acks, 0, sizeof(acks));
}

TEST(talk__answers_tell_what_was_received)
{
	u32 i, before;

	begin();
	for (i = 0; i < 10; i++)
		talk(0);
	before = pair[0].completed;
	memset(acks, 0, sizeof(acks));
	for (i = 0; i < 10; i++)
		talk(0);
	EXPECT_EQ(acks[0], 0);
	EXPECT_EQ(acks[1], 0);
	/* Each answer completes what was answered */
	EXPECT_EQ(pair[0].completed, before + 10);
	EXPECT_EQ(pair[1].notified, 20);
	pair_run(2 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 20);
	EXPECT_EQ(pair[1].completed, 20);
	EXPECT_EQ(pair[0].host.stats.data_again + pair[1].host.stats.data_again, 0);
	EXPECT_EQ(pair[0].peer->nr_free, pair[0].peer->operations);
	pair_end();
}

/* It is told late once, and then at once again */
TEST(talk__who_is_not_answered_waits_once)
{
	u32 i, before;
	u64 start;

	begin();
	talk_for_long();
	before = pair[0].completed;
	start = pair_now;
	say(0, 8);
	arrive(0);
	EXPECT_EQ(pair[1].nr_sent, 0);
	while (pair[0].completed == before && pair_now < start + 2 * PAIR_MS) {
		pair_wait(TALK_US);
		while (pair[1].nr_sent) {
			pair_deliver(1, 0);
			pair_drop(1, 0);
		}
	}
	EXPECT_EQ(pair[0].completed, before + 1);
	EXPECT(pair_now - start < 3 * PAIR_MS / 2);
	EXPECT_EQ(pair[0].host.stats.data_again, 0);
	for (i = 0; i < 10; i++) {
		say(0, 8);
		arrive(0);
		EXPECT_EQ(pair[1].nr_sent, 1);
		arrive(1);
		EXPECT_EQ(pair[0].completed, before + 2 + i);
	}
	pair_end();
}

/* Both put and wait for the end of that, at the same time: nobody answers */
TEST(talk__two_that_do_not_listen_do_not_wait_for_each_other)
{
	u64 start;
	u32 late = 0;
	u32 i, k, before[2];

	begin();
	for (i = 0; i < 1000; i++) {
		start = pair_now;
		for (k = 0; k < 2; k++) {
			before[k] = pair[k].completed;
			say(k, 8);
		}
		while (pair[0].completed == before[0] || pair[1].completed == before[1]) {
			ASSERT(pair_now - start < 2 * PAIR_MS);
			for (k = 0; k < 2; k++)
				arrive(k);
		}
		late += pair_now - start > 6 * TALK_WAY;
	}
	if (!late || late > 20)
		UNIT_FAIL("%u of 1000 were late", late);
	pair_end();
}

/* What came out of order needs ranges, which an ACK has */
TEST(talk__what_is_missing_is_told_alone)
{
	u32 i;

	begin();
	talk_for_long();
	for (i = 0; i < 3; i++)
		say(0, 8);
	ASSERT_EQ(pair[0].nr_sent, 3);
	pair_drop(0, 1);
	arrive(0);
	say(1, 8);
	for (i = 0; i < pair[1].nr_sent; i++)
		EXPECT(!(pair[1].sent[i].bytes[2] & DMANIC_WIRE_TOLD));
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[1].notified, 13);
	EXPECT_EQ(pair[0].completed, 13);
	pair_end();
}

/* Behind a gap nothing goes along: who waits is told at once, each time */
TEST(talk__gap_does_not_wait_for_data)
{
	u32 i;

	begin();
	talk_for_long();
	for (i = 0; i < 4; i++)
		say(0, 8);
	pair_drop(0, 1);
	for (i = 0; i < 3; i++) {
		pair_deliver(0, 0);
		pair_drop(0, 0);
		EXPECT_EQ(pair[1].nr_sent, i);
	}
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 14);
	pair_end();
}

/* Answers that are too long to go along do not make anybody wait */
TEST(talk__large_answers_make_nobody_wait)
{
	u32 i, before;
	u64 start;

	begin();
	for (i = 0; i < 40; i++) {
		before = pair[0].completed;
		start = pair_now;
		say(0, 8);
		arrive(0);
		xfer[1][i % TALK_ROUNDS] = pair_write(source, 4000, 0);
		pair_submit(1, &xfer[1][i % TALK_ROUNDS]);
		pair_pump(1);
		arrive(1);
		EXPECT_EQ(pair[0].completed, before + 1);
		EXPECT(pair_now - start <= 3 * TALK_WAY);
		arrive(0);
	}
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[1].completed, 40);
	pair_end();
}

/* The device drops the answer, and what it told: that is told anew, alone */
TEST(talk__answer_that_cannot_be_sent)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u32 before;

	begin();
	talk_for_long();
	before = pair[0].completed;
	say(0, 8);
	arrive(0);
	EXPECT_EQ(pair[1].nr_sent, 0);
	xfer[1][0] = pair_write(source, 8, 0);
	pair_submit(1, &xfer[1][0]);
	ASSERT(dmanic_peer_next(pair[1].peer, pair_now, &out));
	ASSERT(out.head[2] & DMANIC_WIRE_TOLD);
	dmanic_peer_unsent(pair[1].peer, &out, pair_now);
	pair_pump(1);
	ASSERT_EQ(pair[1].nr_sent, 1);
	EXPECT_EQ(pair_type(1, 0), DMANIC_WIRE_ACK);
	arrive(1);
	EXPECT_EQ(pair[0].completed, before + 1);
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[1].completed, 11);
	pair_end();
}

/* @told: frames that tell, of a large answer */
static void large_answer(u32 super, bool alone, u32 told)
{
	u32 i, nr = 0;

	begin_with(super);
	say(0, 8);
	pair_wait(TALK_WAY);
	xfer[1][0] = pair_write(source, 40000, 0);
	pair_submit(1, &xfer[1][0]);
	pair_deliver(0, 0);
	pair_drop(0, 0);
	ASSERT(pair[1].nr_sent > 2);
	EXPECT_EQ(pair_type(1, 0), alone ? DMANIC_WIRE_ACK : DMANIC_WIRE_DATA);
	for (i = alone; i < pair[1].nr_sent; i++) {
		EXPECT_EQ(pair_type(1, i), DMANIC_WIRE_DATA);
		nr += !!(pair[1].sent[i].bytes[2] & DMANIC_WIRE_TOLD);
	}
	EXPECT_EQ(nr, told);
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[0].placed, 40000);
	EXPECT_EQ(pair[0].completed + pair[1].completed, 2);
	pair_end();
}

/* Without cutting such a frame has no room to tell; who waits is told before it */
TEST(talk__large_answer_comes_behind_the_ack)
{
	large_answer(0, true, 0);
}

/* What is cut has: each of the six pieces of the first frame tells it */
TEST(talk__large_answer_tells)
{
	large_answer(9000, false, 7);
}

/*
 * Messages of many frames each way: who has nothing more to send is not told at once,
 * as the answer tells; nor does its sender wait.
 */
TEST(talk__large_messages)
{
	u32 i, k;

	begin();
	for (i = 0; i < 20; i++) {
		if (i == 10)
			memset(acks, 0, sizeof(acks));
		say(i % 2, 40000);
		for (k = 0; k < 100 && pair[0].notified + pair[1].notified == i; k++) {
			arrive(i % 2);
			arrive(!(i % 2));
		}
	}
	EXPECT_EQ(pair[0].notified + pair[1].notified, 20);
	EXPECT_EQ(acks[0] + acks[1], 0);
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[0].completed + pair[1].completed, 20);
	pair_end();
}

/* A lie in what came along: nothing of the frame counts */
TEST(talk__told_of_what_was_not_sent)
{
	struct pair_frame *frame;
	u64 before;

	begin();
	talk_for_long();
	say(0, 8);
	arrive(0);
	before = pair[1].completed;
	say(1, 8);
	ASSERT_EQ(pair[1].nr_sent, 1);
	frame = &pair[1].sent[0];
	ASSERT(frame->bytes[2] & DMANIC_WIRE_TOLD);
	/* next of the bulk stream */
	frame->bytes[40 + 24 + 16 + 2] = 1;
	dmanic_head_seal(frame->bytes, dmanic_wire_pull(frame->bytes, frame->length));
	pair_deliver(1, 0);
	EXPECT_EQ(pair[0].host.stats.dropped[DMANIC_DROP_BAD], 1);
	EXPECT_EQ(pair[0].notified, 10);
	EXPECT_EQ(pair[1].completed, before);
	pair_drop(1, 0);
	pair_run(10 * PAIR_MS);
	EXPECT_EQ(pair[0].notified, 11);
	pair_end();
}
