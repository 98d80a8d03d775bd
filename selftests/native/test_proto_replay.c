// SPDX-License-Identifier: GPL-2.0-only
/*
 * With a key: frames that somebody heard and sends again, there or elsewhere, at once or
 * later, and nodes whose clocks go wrong.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/range.c
 * Sources: driver/proto/host.c driver/proto/auth.c driver/proto/mac.c
 * Sources: driver/proto/handshake.c driver/proto/peer.c
 * Sources: driver/proto/share.c driver/proto/xfer.c driver/proto/tx.c driver/proto/next.c
 * Sources: driver/proto/receive.c driver/proto/later.c driver/proto/reply.c
 * Sources: driver/proto/ack.c driver/proto/loss.c driver/proto/path.c driver/proto/rate.c
 */
#include "proto_keyed.h"

/* Each frame counts once, in whatever order they come */
TEST(replay__frames_do_nothing)
{
	u32 i, k, heard;
	u64 received;

	begin(true);
	pair_connect();
	for (i = 0; i < 6; i++) {
		put(i, 700, i * 700);
		pair_pump(0);
	}
	heard = pair[0].nr_sent;
	ASSERT(heard > 3);
	for (k = heard; k--;)
		pair_deliver(0, k);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), 0);
	EXPECT_EQ(pair[1].placed, 4200);
	received = pair[1].peer->heard;
	pair_now += PAIR_MS;
	for (k = 0; k < heard; k++)
		pair_deliver(0, k);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), heard);
	/* Nor is the peer alive for that */
	EXPECT_EQ(pair[1].peer->heard, received);
	EXPECT_EQ(pair[1].host.stats.duplicates, 0);
	pair_end();
}

static void feed_probe_to(u64 tag, u64 from, u64 counter)
{
	struct dmanic_out out = { .counter = counter };
	u8 bytes[DMANIC_WIRE_PULL_MAX];
	u32 length;

	out.head_length = dmanic_probe_encode(bytes, tag);
	length = dmanic_auth_seal(&pair[0].host, &out, from, bytes, NULL);
	pair_feed(1, from, bytes, length);
}

static void feed_probe(u64 counter)
{
	feed_probe_to(pair[1].peer->local_tag, pair[0].address, counter);
}

/* As far back as it can be known, and not a frame more or less */
TEST(replay__window_of_counters)
{
	const u64 reach = 64 * (DMANIC_REPLAY_WORDS - 1);
	u64 base, seen = 0, i;

	begin(true);
	pair_connect();
	base = pair[0].peer->counter + 10000;
	base -= base % 64;
	feed_probe(base + 63);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), seen);
	/* New ones, each once */
	for (i = 0; i < 3; i++) {
		feed_probe(base - reach + i * 64);
		EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), seen);
		feed_probe(base - reach + i * 64);
		EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), ++seen);
	}
	/* One more that is too old, and one that was there */
	feed_probe(base - reach - 1);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), ++seen);
	feed_probe(base + 63);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), ++seen);
	/* Far ahead: all before is over, what is near is new */
	base += 1ULL << 40;
	feed_probe(base);
	feed_probe(base - 1);
	feed_probe(base + 1);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), seen);
	feed_probe(base - 1);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), ++seen);
	pair_end();
}

/* What was heard of a connection is of no use in the next one */
TEST(replay__frames_of_an_old_connection_do_nothing)
{
	struct pair_frame old;
	u64 strangers;

	begin(true);
	pair_connect();
	put(0, 100, 0);
	pair_pump(0);
	old = pair[0].sent[0];
	old.bytes = malloc(old.length);
	memcpy(old.bytes, pair[0].sent[0].bytes, old.length);
	pair_settle();
	EXPECT_EQ(pair[1].placed, 100);
	pair_keyed = true;
	pair_start(1, 3000, (struct dmanic_proto_config) { .mtu = MTU });
	pair_keyed = false;
	put(1, 100, 200);
	pair_run(100 * PAIR_MS);
	put(1, 100, 200);
	pair_run(5000 * PAIR_MS);
	EXPECT_EQ(xfer[1].status, 0);
	strangers = dropped(1, DMANIC_DROP_STRANGER);
	pair_feed(1, old.from, old.bytes, old.length);
	EXPECT_EQ(dropped(1, DMANIC_DROP_STRANGER), strangers + 1);
	EXPECT(!memcmp(pair[1].memory + 200, source + 200, 100));
	EXPECT_EQ(pair[1].memory[1], 0);
	free(old.bytes);
	pair_end();
}

/* A payload that was sent once is of no use in another frame, whatever its sum is */
TEST(replay__payload_is_of_one_frame)
{
	struct dmanic_head first, second;
	u32 length;

	begin(true);
	pair_connect();
	put(0, 100, 0);
	pair_pump(0);
	put(1, 100, 0);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 2);
	length = pair[0].sent[0].length;
	ASSERT(!dmanic_head_decode(pair[0].sent[0].bytes, length, length, &first));
	ASSERT(!dmanic_head_decode(pair[0].sent[1].bytes, pair[0].sent[1].length,
				   pair[0].sent[1].length, &second));
	EXPECT(!memcmp(pair[0].sent[0].bytes + first.payload,
		       pair[0].sent[1].bytes + second.payload, 100));
	EXPECT(first.payload_mac != second.payload_mac);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 2);
	pair_end();
}

/* The first frame of a type that side @i sends, out of its list; its bytes are the caller's */
static struct pair_frame take(u32 i, u8 type)
{
	struct pair_frame frame = {};
	u32 k;

	for (k = 0; k < pair[i].nr_sent && pair_type(i, k) != type; k++)
		;
	if (k == pair[i].nr_sent)
		return frame;
	frame = pair[i].sent[k];
	frame.bytes = malloc(frame.length);
	memcpy(frame.bytes, pair[i].sent[k].bytes, frame.length);
	return frame;
}

/* As pair_run(), but what side @i says first of a type is heard by the caller, too */
static struct pair_frame overhear(u32 i, u8 type)
{
	u64 until = pair_now + 100 * PAIR_MS;
	struct pair_frame frame = {};

	do {
		u32 k;

		pair_pump(0);
		pair_pump(1);
		while (pair[0].nr_sent || pair[1].nr_sent) {
			if (!frame.bytes)
				frame = take(i, type);
			for (k = 0; k < 2; k++) {
				if (!pair[k].nr_sent)
					continue;
				pair_deliver(k, 0);
				pair_drop(k, 0);
			}
		}
	} while (pair_tick(until));
	return frame;
}

static void restart(u32 i, u64 incarnation)
{
	pair_keyed = true;
	pair_start(i, incarnation, (struct dmanic_proto_config) { .mtu = MTU });
	pair_keyed = false;
}

/* Each frame of the handshake, sent on by somebody else: he learns and moves nothing */
TEST(replay__handshake_from_elsewhere_is_nobodys)
{
	static const u8 types[] = { DMANIC_WIRE_HELLO, DMANIC_WIRE_INIT, DMANIC_WIRE_ANSWER };
	struct pair_frame heard;
	u32 i, to;
	u64 wrong;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		to = types[i] != DMANIC_WIRE_ANSWER;
		begin(true);
		put(0, 100, 0);
		/* It gets there from nowhere else */
		pair_pump(0);
		if (types[i] != DMANIC_WIRE_HELLO)
			pair_deliver(0, 0);
		while (!(heard = take(!to, types[i])).bytes) {
			ASSERT(pair[0].nr_sent + pair[1].nr_sent);
			if (pair[1].nr_sent) {
				pair_deliver(1, 0);
				pair_drop(1, 0);
			} else {
				pair_deliver(0, 0);
				pair_drop(0, 0);
			}
		}
		wrong = dropped(to, DMANIC_DROP_AUTH);
		pair_feed(to, 666, heard.bytes, heard.length);
		EXPECT_EQ(dropped(to, DMANIC_DROP_AUTH), wrong + 1);
		EXPECT(pair[to].peer->address != 666);
		pair_settle();
		EXPECT_EQ(pair[0].completed, 1);
		free(heard.bytes);
		pair_end();
	}
}

/* An INIT, a thousand times: no answer, no doubt, and others connect at once */
TEST(replay__inits_keep_nobody_from_connecting)
{
	struct pair_frame heard;
	u32 i, sent;

	begin(true);
	put(0, 100, 0);
	heard = overhear(0, DMANIC_WIRE_INIT);
	ASSERT(heard.bytes);
	EXPECT_EQ(pair[0].completed, 1);
	/* Also when the connection is over */
	pair_run(20000 * PAIR_MS);
	dmanic_peer_forget(pair[1].peer);
	sent = pair[1].nr_sent;
	for (i = 0; i < 1000; i++)
		pair_feed(1, heard.from, heard.bytes, heard.length);
	EXPECT_EQ(pair[1].nr_sent, sent);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), 1000);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_CLOSED);
	restart(0, pair_now);
	put(1, 100, 200);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[1].status, 0);
	free(heard.bytes);
	pair_end();
}

/* What is said with DONE is answered: once */
TEST(replay__answers_are_not_answered)
{
	struct pair_frame heard;
	u32 i;

	begin(true);
	put(0, 100, 0);
	heard = overhear(0, DMANIC_WIRE_ANSWER);
	ASSERT(heard.bytes);
	ASSERT_EQ(pair[1].nr_sent, 0);
	for (i = 0; i < 100; i++) {
		pair_feed(1, heard.from, heard.bytes, heard.length);
		pair_pump(1);
	}
	EXPECT_EQ(pair[1].nr_sent, 0);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), 100);
	free(heard.bytes);
	pair_end();
}

/* What a node said before it started again is not taken for a rival's */
TEST(replay__own_frames_of_before_are_no_rivals)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	struct pair_frame heard;
	u32 events;

	begin(true);
	dmanic_host_hello(&pair[0].host, &out);
	pair_send(&pair[0], &out);
	heard = take(0, DMANIC_WIRE_HELLO);
	ASSERT(heard.bytes);
	pair_run(10 * PAIR_MS);
	restart(0, pair_now);
	events = pair[0].events;
	pair_feed(0, heard.from, heard.bytes, heard.length);
	EXPECT_EQ(pair[0].events, events);
	EXPECT_EQ(pair[0].nr_sent, 0);
	EXPECT_EQ(dropped(0, DMANIC_DROP_REPLAY), 1);
	free(heard.bytes);
	pair_end();
}

/* One whose clock was put back is heard when it is right again, or when the key is set anew */
TEST(replay__node_whose_clock_was_put_back)
{
	begin(true);
	pair[0].clock = 3600ULL * 1000 * PAIR_MS;
	put(0, 100, 0);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 1);
	restart(0, pair_now);
	put(1, 100, 0);
	pair_run(4000 * PAIR_MS);
	EXPECT_EQ(xfer[1].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT(dropped(1, DMANIC_DROP_REPLAY) > 2);
	pair[0].clock = 7200ULL * 1000 * PAIR_MS;
	put(2, 100, 0);
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(xfer[2].status, 0);
	restart(0, pair_now);
	dmanic_peer_forget(pair[1].peer);
	pair_set_key(1, 0x5eed, 7, MTU, 0);
	dmanic_peer_rekeyed(pair[1].peer);
	put(3, 100, 0);
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[3].status, 0);
	pair_end();
}

/* HELLO or INIT of a node, made with the key */
static void feed_asking(u8 type, u32 node, u64 from, u64 counter)
{
	struct dmanic_hello hello = {
		.node = node, .to = 1, .incarnation = 5, .mtu = MTU, .operations = 16,
		.version_min = DMANIC_WIRE_MIN, .version_max = DMANIC_WIRE_MAX,
		.tag = type == DMANIC_WIRE_INIT ? 77 : 0, .window = 65536,
	};
	struct dmanic_out out = { .counter = counter };
	u8 bytes[DMANIC_WIRE_PULL_MAX];
	u32 length;

	out.head_length = dmanic_hello_encode(bytes, type, 0, 0, &hello);
	length = dmanic_auth_seal(&pair[0].host, &out, from, bytes, NULL);
	pair_feed(1, from, bytes, length);
}

/*
 * What is repeated of nodes that are not known here takes nothing from those that are, be
 * it of a node that was at the same address
 */
TEST(replay__known_nodes_are_answered_whatever_others_ask)
{
	static const u8 types[] = { DMANIC_WIRE_HELLO, DMANIC_WIRE_INIT };
	u32 i, k, sent;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		begin(true);
		for (k = 0; k < 1000; k++)
			feed_asking(types[i], 9, pair[0].address, pair_now);
		EXPECT(dropped(1, DMANIC_DROP_RATE) > 900);
		sent = pair[1].nr_sent;
		feed_asking(types[i], 0, pair[0].address, pair_now);
		EXPECT_EQ(pair[1].nr_sent, sent + 1);
		pair_end();
	}
}

/* Frames of a node that nobody here knows, from where they came: others are answered */
TEST(replay__repeated_hellos_take_no_answers_of_others)
{
	u32 i, k, answered = 0;

	begin(true);
	for (i = 0; i < 100; i++) {
		for (k = 0; k < 100; k++)
			feed_asking(DMANIC_WIRE_HELLO, 9, 555, 5);
		while (pair[1].nr_sent)
			pair_drop(1, 0);
		feed_asking(DMANIC_WIRE_HELLO, 1000 + i, 2000 + i, pair_now);
		answered += pair[1].nr_sent;
		while (pair[1].nr_sent)
			pair_drop(1, 0);
		pair_now += PAIR_MS;
	}
	/* But for those few who are in the same group */
	EXPECT(answered > 90);
	pair_end();
}

/* Frames of a connection that is over: who asks about another is told that it is, too */
TEST(replay__old_frames_take_no_resets_of_others)
{
	u32 i, k, told = 0;

	begin(true);
	for (i = 0; i < 100; i++) {
		for (k = 0; k < 100; k++)
			feed_probe_to(77, 555, 5);
		EXPECT(pair[1].nr_sent < 100);
		while (pair[1].nr_sent)
			pair_drop(1, 0);
		feed_probe_to(78, 2000 + i, 5);
		told += pair[1].nr_sent && pair_type(1, 0) == DMANIC_WIRE_RESET;
		while (pair[1].nr_sent)
			pair_drop(1, 0);
		pair_now += PAIR_MS;
	}
	/* But for those few who are in the same group */
	EXPECT(told > 90);
	pair_end();
}

/* With another key nothing counts that was said with the one before */
TEST(replay__new_key_knows_no_rivals_of_before)
{
	u32 events;

	begin(true);
	/* Events of no peer are noted there */
	events = pair[0].events;
	feed_asking(DMANIC_WIRE_HELLO, 1, 555, U64_MAX);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RIVAL);
	feed_asking(DMANIC_WIRE_HELLO, 1, 555, pair_now);
	EXPECT_EQ(pair[0].events, events + 1);
	pair_set_key(1, 0x5eed, 7, MTU, 0);
	feed_asking(DMANIC_WIRE_HELLO, 1, 555, pair_now);
	EXPECT_EQ(pair[0].events, events + 2);
	pair_end();
}

/* The own RESET that comes back, and one that comes twice */
TEST(replay__resets_count_once)
{
	u8 bytes[DMANIC_WIRE_PULL_MAX];
	struct dmanic_out out = { .counter = pair_now + PAIR_MS };
	u32 length, i;
	u64 rival;

	begin(true);
	pair_connect();
	out.counter = pair_now + PAIR_MS;
	out.head_length = dmanic_reset_encode(bytes, 77, 1, 5);
	length = dmanic_auth_seal(&pair[0].host, &out, 555, bytes, NULL);
	rival = pair[1].host.auth.rival;
	pair_feed(1, 555, bytes, length);
	EXPECT_EQ(pair[1].host.auth.rival, rival);
	out.head_length = dmanic_reset_encode(bytes, 77, 0, 5);
	length = dmanic_auth_seal(&pair[0].host, &out, 555, bytes, NULL);
	for (i = 0; i < 10; i++)
		pair_feed(1, 555, bytes, length);
	EXPECT_EQ(dropped(1, DMANIC_DROP_REPLAY), 9);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPEN);
	pair_end();
}
