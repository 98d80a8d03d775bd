// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of a connection that were damaged on the way, whose bytes changed while
 * they were sent, or that a hostile peer made up: nothing of them is believed.
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

static u8 source[PAIR_MEMORY];
static struct dmanic_xfer xfer[20];

static void begin_apart(u32 features)
{
	struct dmanic_proto_config config = {
		.features = features, .mtu = 1500, .super = 65535,
	};
	u32 i;

	for (i = 0; i < sizeof(source); i++)
		source[i] = i * 7 + i / 256;
	pair_begin_with(config);
}

static void begin_with(u32 features)
{
	begin_apart(features);
	pair_connect();
}

static struct dmanic_xfer *put(u32 i, u64 length, u64 offset)
{
	xfer[i] = pair_write(source + offset, length, offset);
	pair_submit(0, &xfer[i]);
	return &xfer[i];
}

/* ---- payload checksums ---- */

/* What the other side has to say arrives, and time passes */
static void answered_in(u64 ns)
{
	while (pair[1].nr_sent) {
		pair_deliver(1, 0);
		pair_drop(1, 0);
	}
	pair_wait(ns);
}

static void answered(void)
{
	answered_in(PAIR_MS);
}

TEST(damage__corrupt_payload_is_not_placed)
{
	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	put(0, 1000, 0);
	pair_pump(0);
	pair[0].sent[0].bytes[pair[0].sent[0].length - 1] ^= 1;
	pair_deliver(0, 0);
	EXPECT_EQ(pair[1].placed, 0);
	EXPECT_EQ(pair[1].host.stats.dropped[DMANIC_DROP_CORRUPT], 1);
	pair_drop(0, 0);
	pair_run(PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT(!memcmp(pair[1].memory, source, 1000));
	pair_end();
}

/*
 * A program that writes to what it sends, and a bad cable: others on the same way are
 * not to send less for that
 */
TEST(damage__corruption_is_no_sign_of_a_queue)
{
	u64 window;
	u32 i, k;

	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	window = pair[0].peer->rate.window;
	for (i = 0; i < 20; i++) {
		put(0, 1000, 0);
		pair_pump(0);
		for (k = 0; k < pair[0].nr_sent; k++)
			pair[0].sent[k].bytes[pair[0].sent[k].length - 1] ^= 1;
		pair_run(PAIR_MS);
	}
	EXPECT(pair[1].host.stats.dropped[DMANIC_DROP_CORRUPT] >= 20);
	EXPECT_EQ(pair[0].completed, 20);
	EXPECT_EQ(pair[0].peer->rate.loss, 0);
	EXPECT(pair[0].peer->rate.window >= window);
	pair_end();
}

/*
 * What is damaged is sent again and again. That it comes tells what was lost before it:
 * else nobody would look, for there is no time-out where something comes.
 */
static void lost_before_damaged(void)
{
	u32 firsts = 0, turn;
	bool first, data;

	put(0, 2600, 0);
	for (turn = 0; turn < 50 && !pair[0].completed; turn++) {
		pair_pump(0);
		while (pair[0].nr_sent) {
			data = pair_type(0, 0) == DMANIC_WIRE_DATA;
			first = data && pair[0].sent[0].length > 1400;
			firsts += first;
			/* The first three times the first, and until it came the second */
			if (data && firsts <= 4)
				pair[0].sent[0].bytes[pair[0].sent[0].length - 1] ^= 1;
			if (!first || firsts != 4)
				pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		answered_in(PAIR_MS / 20);
	}
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT(turn < 20);
	pair_end();
}

TEST(damage__keeps_no_lost_frame_from_being_sent_again)
{
	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	lost_before_damaged();
}

TEST(damage__keeps_none_before_anything_else_came)
{
	begin_apart(DMANIC_WIRE_PAYLOAD_CRC);
	lost_before_damaged();
}

TEST(damage__keeps_none_where_a_round_trip_took_longer_before)
{
	u32 turn;

	begin_apart(DMANIC_WIRE_PAYLOAD_CRC);
	put(1, 100, 0);
	for (turn = 0; turn < 20 && !pair[0].completed; turn++) {
		pair_pump(0);
		while (pair[0].nr_sent) {
			pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		pair_now += PAIR_MS;
		answered();
	}
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT(pair[0].peer->rate.rtt_min >= PAIR_MS);
	pair[0].completed = 0;
	lost_before_damaged();
}

/* Of what is sent again it may be the frame before that came: when, nobody knows */
TEST(damage__told_without_its_time_holds_off_no_time_out)
{
	struct dmanic_ack ack = { .window = 10000, .mtu = 1500 };
	struct dmanic_ack_stream *stream = &ack.stream[DMANIC_BULK];
	u8 bytes[1024];
	u32 length;

	begin_apart(DMANIC_WIRE_PAYLOAD_CRC);
	put(0, 2600, 0);
	for (ack.number = 1000; ack.number < 2000; ack.number++) {
		if (pair[0].host.stats.timeouts)
			break;
		pair_pump(0);
		while (pair[0].nr_sent) {
			if (pair_type(0, 0) != DMANIC_WIRE_DATA)
				pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		answered_in(PAIR_MS / 20);
		if (!pair[0].peer->tx[DMANIC_BULK].next)
			continue;
		ack.held = U32_MAX;
		stream->corrupt = 1500;
		stream->corrupt_units = 1000;
		length = dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack);
		pair_feed(0, pair[1].address, bytes, length);
	}
	EXPECT_EQ(pair[0].host.stats.dropped[DMANIC_DROP_BAD], 0);
	EXPECT(pair[0].host.stats.acks_received > 50);
	EXPECT_EQ(pair[0].host.stats.timeouts, 1);
	EXPECT(ack.number < 1300);
	pair_end();
}

/* Many frames in a row, of each of which something is wrong: all are told, at once */
TEST(damage__every_corrupt_frame_is_told)
{
	u64 begun;
	u32 i, k;

	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	for (i = 0; i < 8; i++) {
		begun = pair_now += PAIR_MS;
		put(0, 60000, 0);
		pair_pump(0);
		EXPECT(pair[0].nr_sent > 1);
		for (k = 0; k < pair[0].nr_sent; k++)
			pair[0].sent[k].bytes[pair[0].sent[k].length - 1] ^= 1;
		/* They come before this node sends anything */
		for (k = pair[0].nr_sent; k; k--) {
			pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		pair_settle();
		/* No time-out was needed, nor anything else that takes time */
		EXPECT_EQ(pair_now, begun);
		EXPECT_EQ(pair[0].completed, i + 1);
	}
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	EXPECT_EQ(pair[0].peer->rate.loss, 0);
	pair_end();
}

/* A bridge may loop an ACK: only the first time it tells something */
TEST(damage__old_ack_of_corruption_does_nothing)
{
	struct pair_frame ack;
	u64 lost;
	u32 i;

	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	put(0, 1000, 0);
	pair_pump(0);
	pair[0].sent[0].bytes[pair[0].sent[0].length - 1] ^= 1;
	pair_deliver(0, 0);
	pair_drop(0, 0);
	pair_pump(1);
	ASSERT_EQ(pair_type(1, 0), DMANIC_WIRE_ACK);
	ack = pair[1].sent[0];
	pair[1].nr_sent--;
	pair_feed(0, ack.from, ack.bytes, ack.length);
	lost = pair[0].host.stats.lost;
	EXPECT_EQ(lost, 1);
	for (i = 0; i < 20; i++) {
		pair_pump(0);
		pair_feed(0, ack.from, ack.bytes, ack.length);
	}
	EXPECT_EQ(pair[0].host.stats.lost, lost);
	free(ack.bytes);
	pair_run(PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	pair_end();
}

TEST(damage__source_that_changes_fails_alone)
{
	struct pair_frame *frame;
	u32 i;

	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	put(0, 300, 0);
	put(1, 300, 1000)->notifies = true;
	put(2, 300, 2000);
	for (i = 0; i < 100 && pair[0].completed < 3; i++) {
		pair_pump(0);
		while (pair[0].nr_sent) {
			frame = &pair[0].sent[0];
			/* The bytes of the second are wrong wherever they are */
			if (memmem(frame->bytes, frame->length, source + 1000, 300))
				frame->bytes[frame->length - 1] ^= 1;
			pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		answered();
	}
	EXPECT_EQ(pair[0].completed, 3);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT_EQ(xfer[1].status, DMANIC_STATUS_SOURCE_CHANGED);
	EXPECT_EQ(xfer[2].status, 0);
	EXPECT_EQ(pair[1].notified, 0);
	EXPECT_EQ(pair[1].placed, 600);
	pair_end();
}

/* What is in a frame with it, and arrives, is not blamed */
TEST(damage__source_that_changes_is_known)
{
	u32 i, late = 0;

	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	/* The first one keeps what is behind it from being done with */
	put(0, 300, 0);
	pair_pump(0);
	put(1, 300, 1000);
	put(2, 300, 2000);
	for (i = 0; i < 3000 && pair[0].completed < 3; i++) {
		pair_pump(0);
		while (pair[0].nr_sent) {
			struct pair_frame *frame = &pair[0].sent[0];

			if (memmem(frame->bytes, frame->length, source, 300) && late++ < 16)
				goto lost;
			if (memmem(frame->bytes, frame->length, source + 2000, 300))
				frame->bytes[frame->length - 1] ^= 1;
			pair_deliver(0, 0);
lost:
			pair_drop(0, 0);
		}
		answered();
	}
	EXPECT_EQ(pair[0].completed, 3);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT_EQ(xfer[1].status, 0);
	EXPECT_EQ(xfer[2].status, DMANIC_STATUS_SOURCE_CHANGED);
	pair_end();
}

/*
 * A write of 60 blocks, each of which is damaged until it was @times[] times; those behind
 * @in_turn for as long as it takes, and then as often. Return: how often any was.
 */
static u32 damage_blocks(const u16 *times, bool in_turn)
{
	u16 left[60];
	u32 i, at, damaged = 0, first = 0;

	memcpy(left, times, sizeof(left));
	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	put(0, 60000, 0);
	for (i = 0; i < 10000 && pair[0].completed < 1; i++) {
		pair_pump(0);
		while (pair[0].nr_sent) {
			struct pair_frame *frame = &pair[0].sent[0];

			for (at = 0; at < 60; at++)
				if (left[at] && memmem(frame->bytes, frame->length,
						       source + 1000 * at, 500))
					break;
			while (in_turn && first < 59 && !left[first])
				first++;
			if (at < 60) {
				left[at] -= !in_turn || at == first;
				damaged++;
				frame->bytes[frame->length - 1] ^= 1;
			}
			pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		answered();
	}
	EXPECT_EQ(pair[0].completed, 1);
	return damaged;
}

/* Each frame of a large write is damaged some times, none of them for ever */
TEST(damage__of_the_wire_is_no_change)
{
	u16 times[60];
	u32 at;

	for (at = 0; at < 60; at++)
		times[at] = 2 + at % 5;
	EXPECT(damage_blocks(times, false) > 100);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT(!memcmp(pair[1].memory, source, 60000));
	pair_end();
}

/* What came damaged did come: whoever cuts frames on the way does not lose them */
TEST(damage__of_cut_frames_does_not_degrade)
{
	u32 i, tries;

	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	for (i = 0; i < 20; i++) {
		put(0, 60000, 0);
		for (tries = 0; tries < 1000 && pair[0].completed == i; tries++) {
			for (pair_pump(0); pair[0].nr_sent; pair_drop(0, 0)) {
				if (!tries)
					pair[0].sent[0].bytes[pair[0].sent[0].length - 1] ^= 1;
				pair_deliver(0, 0);
			}
			answered();
		}
		EXPECT_EQ(pair[0].completed, i + 1);
		EXPECT_EQ(xfer[0].status, 0);
	}
	EXPECT(pair[1].host.stats.dropped[DMANIC_DROP_CORRUPT] > 20);
	EXPECT_EQ(pair[0].event, 0);
	EXPECT_EQ(pair[0].peer->super, 65535);
	pair_end();
}

/* Nor then when of each one piece is lost, and goes uncut the next time */
TEST(damage__of_cut_frames_outweighs_that_some_are_lost)
{
	u32 i, tries, piece;

	begin_with(DMANIC_WIRE_PAYLOAD_CRC);
	for (i = 0; i < 20; i++) {
		put(0, 20000, 0);
		for (tries = 0; tries < 1000 && pair[0].completed == i; tries++) {
			pair_pump(0);
			for (piece = 0; pair[0].nr_sent; piece++, pair_drop(0, 0)) {
				if (!tries && !piece)
					continue;
				if (!tries)
					pair[0].sent[0].bytes[pair[0].sent[0].length - 1] ^= 1;
				pair_deliver(0, 0);
			}
			answered_in(PAIR_MS / 50);
		}
		EXPECT_EQ(pair[0].completed, i + 1);
		EXPECT_EQ(xfer[0].status, 0);
	}
	EXPECT_EQ(pair[0].event, 0);
	EXPECT_EQ(pair[0].peer->super, 65535);
	pair_end();
}

/* He would hold up what is behind it for as long as he has frames */
TEST(damage__who_lets_one_frame_after_the_other_through_is_given_up)
{
	u16 times[60] = { 0 };
	u32 at;

	/* Those that are whole in a frame of 1428 bytes of it, which has no other */
	for (at = 0; at < 60; at += 2)
		times[at] = 1000 * at % 1428 + 500 <= 1428 ? 3 : 0;
	damage_blocks(times, true);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_SOURCE_CHANGED);
	pair_end();
}

/* ---- from a hostile peer ---- */

static void hostile_data(u64 seq, const struct dmanic_record *record, u32 payload)
{
	struct dmanic_data data = { .seq = seq, .records = 1 };
	u8 bytes[2048] = { 0 };
	u32 at = dmanic_record_encode(bytes, dmanic_data_begin(bytes, false), record);

	dmanic_data_end(bytes, at, 0, pair[0].peer->local_tag, &data, payload);
	dmanic_data_seal(bytes, NULL);
	pair_feed(0, pair[1].address, bytes, at + payload);
}

/*
 * An operation whose id is still owed something to: its refusal could not be noted, so it
 * comes again. Until then nothing of it is placed, that would be placed twice.
 */
TEST(damage__blocks_wait_until_their_refusal_can_be_noted)
{
	struct dmanic_record atomic = {
		.type = DMANIC_RECORD_ATOMIC, .opcode = DMANIC_OP_FETCH_ADD, .op = 3, .segment = 1,
		.key = PAIR_KEY,
	};
	struct dmanic_record blocks = {
		.type = DMANIC_RECORD_STRIDED, .op = 1 << 16 | 3, .length = 24, .segment = 1,
		.key = PAIR_KEY, .offset = PAIR_MEMORY - 100, .block = 8, .stride = 48,
	};
	u64 next;

	begin_with(0);
	next = pair[0].peer->rx[DMANIC_BULK].got.next;
	hostile_data(next, &atomic, 0);
	EXPECT_EQ(pair[0].atomics, 1);
	hostile_data(next + 1, &blocks, 24);
	hostile_data(next + 1, &blocks, 24);
	EXPECT_EQ(pair[0].placed, 0);
	EXPECT_EQ(pair[0].peer->rx[DMANIC_BULK].got.next, next + 1);
	pair_end();
}

/* The same of bytes in one piece, where others that follow them were placed before */
TEST(damage__bytes_around_later_ones_wait_until_their_refusal_can_be_noted)
{
	struct dmanic_record atomic = {
		.type = DMANIC_RECORD_ATOMIC, .opcode = DMANIC_OP_FETCH_ADD, .op = 3, .segment = 1,
		.key = PAIR_KEY,
	};
	struct dmanic_record later = {
		.type = DMANIC_RECORD_WRITE, .op = 4, .length = 8, .segment = 1, .key = PAIR_KEY,
		.offset = PAIR_MEMORY - 60,
	};
	struct dmanic_record around = {
		.type = DMANIC_RECORD_WRITE, .op = 1 << 16 | 3, .length = 116, .segment = 1,
		.key = PAIR_KEY, .offset = PAIR_MEMORY - 100,
	};
	u64 next, placed;

	begin_with(0);
	next = pair[0].peer->rx[DMANIC_BULK].got.next;
	hostile_data(next, &atomic, 0);
	EXPECT_EQ(pair[0].atomics, 1);
	hostile_data(next + 2, &later, 8);
	placed = pair[0].placed;
	EXPECT(placed > 0);
	hostile_data(next + 1, &around, 116);
	hostile_data(next + 1, &around, 116);
	EXPECT_EQ(pair[0].placed, placed);
	EXPECT_EQ(pair[0].peer->rx[DMANIC_BULK].got.next, next + 1);
	pair_end();
}

TEST(damage__hostile_records_are_counted)
{
	struct dmanic_record record = { .type = DMANIC_RECORD_WRITE, .length = 100,
					.segment = 1, .key = PAIR_KEY };
	u64 *dropped = pair[0].host.stats.dropped;
	u64 next;

	begin_with(0);
	next = pair[0].peer->rx[DMANIC_BULK].got.next;
	hostile_data(next + DMANIC_REACH, &record, 100);
	hostile_data(U64_MAX - 10, &record, 100);
	EXPECT_EQ(dropped[DMANIC_DROP_WINDOW], 2);
	hostile_data(next, &record, 99);
	hostile_data(next, &record, 101);
	record.op = 0xffff;
	hostile_data(next, &record, 100);
	EXPECT_EQ(dropped[DMANIC_DROP_BAD], 3);
	EXPECT_EQ(pair[0].peer->rx[DMANIC_BULK].got.next, next);
	/* For no operation of ours: received, and that is all */
	record = (struct dmanic_record) { .type = DMANIC_RECORD_RESULT, .op = 5 };
	hostile_data(next, &record, 0);
	EXPECT_EQ(dropped[DMANIC_DROP_UNKNOWN_OP], 1);
	EXPECT_EQ(pair[0].peer->rx[DMANIC_BULK].got.next, next + 1);
	EXPECT_EQ(pair[0].placed, 0);
	pair_end();
}

/* There is room for one RESULT of each id, whatever comes under it */
TEST(damage__hostile_id_is_answered_once)
{
	struct dmanic_record record = { .type = DMANIC_RECORD_ATOMIC,
					.opcode = DMANIC_OP_FETCH_ADD, .op = 3,
					.segment = 1, .key = PAIR_KEY };
	u64 next;

	begin_with(0);
	next = pair[0].peer->rx[DMANIC_BULK].got.next;
	hostile_data(next, &record, 0);
	EXPECT_EQ(pair[0].atomics, 1);
	EXPECT_EQ(pair[0].peer->tx[DMANIC_BULK].results, 1);
	record = (struct dmanic_record) { .type = DMANIC_RECORD_WRITE, .op = 3,
					  .segment = 1, .key = ~PAIR_KEY, .length = 8 };
	hostile_data(next + 1, &record, 8);
	EXPECT_EQ(pair[0].peer->rx[DMANIC_BULK].got.next, next + 9);
	EXPECT_EQ(pair[0].peer->tx[DMANIC_BULK].results, 1);
	/* Honest under another id: refused as ever */
	record.op = 4;
	hostile_data(next + 9, &record, 8);
	EXPECT_EQ(pair[0].peer->tx[DMANIC_BULK].results, 2);
	pair_end();
}

/* It got all that was sent, says the other side, and may yet refuse it */
static void claim(void)
{
	struct dmanic_ack ack = { .number = 1000, .window = 10000, .mtu = 1500 };
	u8 bytes[1024];
	u32 length;

	while (pair[0].nr_sent)
		pair_drop(0, 0);
	ack.held = U32_MAX;
	ack.stream[DMANIC_BULK].next = pair[0].peer->tx[DMANIC_BULK].next;
	ack.stream[DMANIC_BULK].reject = pair[0].peer->rx[DMANIC_BULK].got.next + 1000;
	length = dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack);
	pair_feed(0, pair[1].address, bytes, length);
	EXPECT_EQ(pair[0].peer->tx[DMANIC_BULK].una, pair[0].peer->tx[DMANIC_BULK].next);
}

static void owe(void)
{
	begin_with(0);
	put(0, 100, 0);
	pair_pump(0);
	claim();
}

/* That an operation may yet be refused is believed for a while */
TEST(damage__who_owes_forever_is_given_up)
{
	owe();
	pair_run(1000 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 0);
	pair_run(9000 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	pair_end();
}

/* For ten seconds, or until it is given up, it only asks whether we are there. Return: time */
static u64 probed(void)
{
	u64 begin = pair_now;
	u8 probe[64];
	u32 i;

	for (i = 0; i < 100 && pair[0].peer->state == DMANIC_PEER_OPEN; i++) {
		while (pair[0].nr_sent)
			pair_drop(0, 0);
		pair_feed(0, pair[1].address, probe,
			  dmanic_probe_encode(probe, pair[0].peer->local_tag));
		pair_pump(0);
		pair_now += 100 * PAIR_MS;
		if (dmanic_peer_deadline(pair[0].peer) <= pair_now)
			dmanic_peer_timer(pair[0].peer, pair_now);
		pair_pump(0);
	}
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_CLOSED);
	return pair_now - begin;
}

/* The same for a part of an operation, the rest of which has no place yet */
static void owe_part(void)
{
	struct dmanic_proto_config config = {
		.mtu = 1500, .super = 1500, .extents = 16, .operations = 4,
	};

	pair_begin_with(config);
	pair_connect();
	xfer[0] = pair_write(source, 2000, 0);
	xfer[0].blocks = true;
	pair_submit(0, &xfer[0]);
	pair_pump(0);
	claim();
	ASSERT(!xfer[0].whole);
}

/* Also when we gave it up: its id is taken. And with few words */
TEST(damage__who_owes_forever_for_what_was_given_up_is_given_up)
{
	owe_part();
	dmanic_peer_cancel(pair[0].peer, &xfer[0], DMANIC_STATUS_CANCELLED);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT(probed() > 1000 * PAIR_MS);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_LOST);
	pair_end();
}

/* Also when it is a list that ends by itself, behind what was sent of it */
TEST(damage__who_owes_forever_to_a_list_that_ended_is_given_up)
{
	owe_part();
	pair_blocks = 1;
	pair_pump(0);
	pair_blocks = 0;
	ASSERT(xfer[0].whole);
	EXPECT(probed() > 1000 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_BOUNDS);
	pair_end();
}

/* Also of who sends something else meanwhile */
TEST(damage__who_owes_forever_and_talks_is_given_up)
{
	u32 i;

	owe();
	for (i = 0; i < 100 && !pair[0].completed; i++) {
		xfer[1] = pair_write(source, 100, 0);
		xfer[1].class = DMANIC_URGENT;
		pair_submit(1, &xfer[1]);
		pair_run(100 * PAIR_MS);
	}
	EXPECT(i > 10);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	pair_end();
}

TEST(damage__ack_of_what_was_not_sent)
{
	struct dmanic_ack ack = { .number = 1000, .window = 1, .mtu = 1500 };
	struct dmanic_tx *tx;
	u8 bytes[1024];
	u32 length;

	begin_with(0);
	tx = &pair[0].peer->tx[DMANIC_BULK];
	ack.stream[DMANIC_BULK].next = tx->next + 1;
	length = dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack);
	pair_feed(0, pair[1].address, bytes, length);
	EXPECT_EQ(pair[0].host.stats.dropped[DMANIC_DROP_BAD], 1);
	EXPECT(pair[0].peer->granted > 1);
	ack.stream[DMANIC_BULK].next = tx->next;
	ack.stream[DMANIC_BULK].reject = U64_MAX;
	length = dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack);
	pair_feed(0, pair[1].address, bytes, length);
	EXPECT_EQ(pair[0].host.stats.dropped[DMANIC_DROP_BAD], 2);
	put(0, 100, 0);
	pair_run(PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	pair_end();
}
