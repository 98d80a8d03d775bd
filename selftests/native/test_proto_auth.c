// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of who has the key, of who has not, and of who repeats what he heard.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/range.c
 * Sources: driver/proto/host.c driver/proto/auth.c driver/proto/mac.c
 * Sources: driver/proto/handshake.c driver/proto/peer.c
 * Sources: driver/proto/xfer.c driver/proto/tx.c driver/proto/next.c
 * Sources: driver/proto/receive.c driver/proto/later.c driver/proto/reply.c
 * Sources: driver/proto/ack.c driver/proto/loss.c driver/proto/path.c driver/proto/rate.c
 */
#include "proto_pair.h"
#include "unit.h"

#define MTU	1500

static u8 source[PAIR_MEMORY];
static struct dmanic_xfer xfer[64];

static void begin(bool keyed)
{
	struct dmanic_proto_config config = { .mtu = MTU };
	u32 i;

	for (i = 0; i < sizeof(source); i++)
		source[i] = i * 7 + i / 256;
	pair_keyed = keyed;
	pair_begin_with(config);
	pair_keyed = false;
}

static void put(u32 i, u32 length, u64 offset)
{
	xfer[i] = pair_write(source + offset, length, offset);
	pair_submit(0, &xfer[i]);
}

static u64 dropped(u32 i, enum dmanic_drop why)
{
	return pair[i].host.stats.dropped[why];
}

/* ---- the sum ---- */

/* Those of the paper: the key is 0 to 15, the message 0, 1, 2... */
TEST(mac__is_siphash)
{
	static const struct {
		u32 length;
		u64 sum;
	} known[] = {
		{ 8, 0x93f5f5799a932462ULL }, { 15, 0xa129ca6149be45e5ULL },
		{ 16, 0x3f2acc7f57c29bdbULL }, { 63, 0x958a324ceb064572ULL },
	};
	struct dmanic_mac mac;
	struct dmanic_key key;
	u8 bytes[64];
	u32 i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (u8)i;
	dmanic_key_set(&key, bytes);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		dmanic_mac_begin(&mac, &key, 0x0706050403020100ULL);
		dmanic_mac_add(&mac, bytes + 8, known[i].length - 8);
		EXPECT_EQ(dmanic_mac_end(&mac), known[i].sum);
	}
}

/* However it is cut into pieces */
TEST(mac__of_pieces_is_that_of_the_whole)
{
	struct dmanic_key key = { { 1, 2 } };
	struct dmanic_mac mac;
	u32 first, second;
	u8 bytes[40];
	u64 whole;

	for (first = 0; first < sizeof(bytes); first++)
		bytes[first] = (u8)(first * 31 + 1);
	dmanic_mac_begin(&mac, &key, DMANIC_MAC_HEAD);
	dmanic_mac_add(&mac, bytes, sizeof(bytes));
	whole = dmanic_mac_end(&mac);
	for (first = 0; first <= sizeof(bytes); first++) {
		for (second = first; second <= sizeof(bytes); second++) {
			dmanic_mac_begin(&mac, &key, DMANIC_MAC_HEAD);
			dmanic_mac_add(&mac, bytes, first);
			dmanic_mac_add(&mac, bytes + first, second - first);
			dmanic_mac_add(&mac, bytes + second, sizeof(bytes) - second);
			EXPECT_EQ(dmanic_mac_end(&mac), whole);
		}
	}
}

/* ---- who has the key ---- */

TEST(auth__nodes_with_the_key_do_what_others_do)
{
	u32 i;

	begin(true);
	for (i = 0; i < 8; i++) {
		put(i, 6000, i * 6000);
		xfer[i].notifies = true;
	}
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 8);
	EXPECT_EQ(pair[1].notified, 8);
	EXPECT(!memcmp(pair[1].memory, source, 48000));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(dropped(i, DMANIC_DROP_AUTH), 0);
		EXPECT_EQ(dropped(i, DMANIC_DROP_REPLAY), 0);
	}
	pair_end();
}

/* And no frame is longer for it than the device takes */
TEST(auth__frames_are_no_longer_than_others)
{
	u32 k;

	begin(true);
	put(0, 20000, 0);
	while (pair[0].completed < 1) {
		pair_pump(0);
		pair_pump(1);
		for (k = 0; k < pair[0].nr_sent; k++)
			ASSERT(pair[0].sent[k].length <= MTU);
		pair_run(PAIR_MS / 10);
	}
	EXPECT(!memcmp(pair[1].memory, source, 20000));
	pair_end();
}

/* ---- who has not ---- */

static void none_connects(enum dmanic_drop why)
{
	put(0, 100, 0);
	pair_run(4000 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(pair[1].placed, 0);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_CLOSED);
	EXPECT(dropped(1, why) > 2);
	pair_end();
}

TEST(auth__without_a_key_nobody_is_heard_where_there_is_one)
{
	begin(false);
	pair_set_key(1, 0x5eed, 7, MTU, 0);
	none_connects(DMANIC_DROP_AUTH);
}

TEST(auth__with_a_key_nobody_is_heard_where_there_is_none)
{
	begin(false);
	pair_set_key(0, 0x5eed, 7, MTU, 0);
	none_connects(DMANIC_DROP_AUTH);
}

TEST(auth__with_another_key_nobody_is_heard)
{
	begin(true);
	pair_set_key(0, 0x5eee, 7, MTU, 0);
	none_connects(DMANIC_DROP_AUTH);
}

TEST(auth__with_another_key_id_nobody_is_heard)
{
	begin(true);
	pair_set_key(0, 0x5eed, 8, MTU, 0);
	none_connects(DMANIC_DROP_AUTH);
}

/* Whatever is changed of a frame that was heard, and its checksum made right again */
TEST(auth__every_bit_of_a_head_is_proven)
{
	struct dmanic_head head;
	static u8 bytes[MTU];
	u64 placed;
	u32 length, bit, wrong;

	begin(true);
	pair_connect();
	put(0, 100, 0);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	length = pair[0].sent[0].length;
	memcpy(bytes, pair[0].sent[0].bytes, length);
	ASSERT(!dmanic_head_decode(bytes, length, length, &head));
	placed = pair[1].placed;
	for (bit = 0; bit < 8U * head.payload; bit++) {
		/* The checksum, which is made right */
		if (bit / 8 >= 8 && bit / 8 < 12)
			continue;
		bytes[bit / 8] ^= 1U << bit % 8;
		/* What says how long it is is looked at first */
		if (bit / 8 < 4 || bit / 8 > 7)
			dmanic_head_seal(bytes, head.payload);
		pair_feed(1, pair[0].address, bytes, length);
		bytes[bit / 8] ^= 1U << bit % 8;
		EXPECT_EQ(pair[1].placed, placed);
	}
	wrong = dropped(1, DMANIC_DROP_AUTH);
	/* But for its version, type, flags, lengths, checksum, key's id and zeros */
	EXPECT(wrong >= 8U * (head.payload - 24));
	/* It itself counts yet */
	pair_deliver(0, 0);
	EXPECT_EQ(pair[1].placed, placed + 100);
	pair_end();
}

/* Of the payload, too; as it may be the sender's program that changed it, that is told */
TEST(auth__payload_is_proven_and_told)
{
	u32 length;

	begin(true);
	pair_connect();
	put(0, 100, 0);
	pair_pump(0);
	length = pair[0].sent[0].length;
	pair[0].sent[0].bytes[length - 1] ^= 1;
	pair_deliver(0, 0);
	pair_drop(0, 0);
	EXPECT_EQ(pair[1].placed, 0);
	EXPECT_EQ(dropped(1, DMANIC_DROP_CORRUPT), 1);
	EXPECT_EQ(dropped(1, DMANIC_DROP_AUTH), 0);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT(!memcmp(pair[1].memory, source, 100));
	pair_end();
}

/* What is sent changes each time: that operation fails, and no other */
TEST(auth__source_that_changes_fails_alone)
{
	u32 k, rounds = 0;

	begin(true);
	pair_connect();
	put(0, 100, 0);
	put(1, 100, 200);
	while (pair[0].completed < 2 && rounds++ < 50) {
		pair_pump(0);
		for (k = 0; k < pair[0].nr_sent; k++)
			if (!xfer[0].result && pair[0].sent[k].length > 200)
				pair[0].sent[k].bytes[pair[0].sent[k].length - 101] ^= 1;
		pair_run(PAIR_MS);
	}
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(xfer[1].status, 0);
	EXPECT(!memcmp(pair[1].memory + 200, source + 200, 100));
	pair_end();
}

/* ---- who repeats ---- */

/* Each frame counts once, in whatever order they come */
TEST(auth__replayed_frames_do_nothing)
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

static void feed_probe(u64 counter)
{
	struct dmanic_out out = { .counter = counter };
	u8 bytes[DMANIC_WIRE_PULL_MAX];
	u32 length;

	out.head_length = dmanic_probe_encode(bytes, pair[1].peer->local_tag);
	length = dmanic_auth_seal(&pair[0].host, &out, pair[0].address, bytes, NULL);
	pair_feed(1, pair[0].address, bytes, length);
}

/* As far back as it can be known, and not a frame more or less */
TEST(auth__window_of_counters)
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
TEST(auth__frames_of_an_old_connection_do_nothing)
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
TEST(auth__payload_is_of_one_frame)
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
TEST(auth__handshake_from_elsewhere_is_nobodys)
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
TEST(auth__replayed_inits_keep_nobody_from_connecting)
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
TEST(auth__replayed_answers_are_not_answered)
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
TEST(auth__own_frames_of_before_are_no_rivals)
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
TEST(auth__node_whose_clock_was_put_back)
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

/* What is repeated of nodes that are not known here takes nothing from those that are */
TEST(auth__known_nodes_are_answered_whatever_others_ask)
{
	static const u8 types[] = { DMANIC_WIRE_HELLO, DMANIC_WIRE_INIT };
	u32 i, k, sent;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		begin(true);
		for (k = 0; k < 1000; k++)
			feed_asking(types[i], 9, 555, pair_now);
		EXPECT(dropped(1, DMANIC_DROP_RATE) > 900);
		sent = pair[1].nr_sent;
		feed_asking(types[i], 0, pair[0].address, pair_now);
		EXPECT_EQ(pair[1].nr_sent, sent + 1);
		pair_end();
	}
}

/* ---- what is longer than a frame of the wire ---- */

static void begin_large(void)
{
	u32 i;

	begin(false);
	for (i = 0; i < 2; i++)
		pair_set_key(i, 0x5eed, 7, MTU, 9000);
}

/* Nobody can cut it: one that arrives whole is to show that others do, too */
TEST(auth__large_frames_are_sent_when_one_was_seen_to_arrive)
{
	begin_large();
	pair_whole = true;
	put(0, 100, 0);
	pair_pump(0);
	EXPECT_EQ(pair[0].peer->super, pair[0].peer->mtu);
	pair_settle();
	EXPECT(pair[0].peer->super > 2 * MTU);
	put(1, 20000, 0);
	pair_pump(0);
	EXPECT(pair[0].sent[0].length > 2 * MTU);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT(!memcmp(pair[1].memory, source, 20000));
	EXPECT(!dmanic_peer_degraded(pair[0].peer));
	pair_whole = false;
	pair_end();
}

/* Where they are lost nothing is lost of data, and nobody is told of a bad way */
TEST(auth__large_frames_that_get_lost_cost_nothing)
{
	u32 i;

	begin_large();
	pair_uncut = true;
	for (i = 0; i < 20; i++) {
		put(i, 20000, 0);
		pair_run(PAIR_MS);
		EXPECT_EQ(pair[0].completed, i + 1);
	}
	pair_run(5000 * PAIR_MS);
	EXPECT_EQ(pair[0].host.stats.lost, 0);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_FOUND);
	EXPECT(!dmanic_peer_degraded(pair[0].peer));
	EXPECT_EQ(pair[0].peer->super, pair[0].peer->mtu);
	EXPECT_EQ(pair[0].peer->path.carried, pair[0].peer->mtu);
	pair_uncut = false;
	pair_end();
}

/* ---- who guesses ---- */

static void feed_guess(u64 from, u64 tag)
{
	struct dmanic_proof proof = { .from = from, .key_id = 7, .counter = 1 };
	struct dmanic_key key = { { pair_now, 3 } };
	u8 bytes[DMANIC_WIRE_PULL_MAX];
	u32 length;

	length = dmanic_probe_encode(bytes, tag);
	length = dmanic_auth_encode(bytes, length, &key, &proof);
	pair_feed(1, from, bytes, length);
}

/* Four thousand at once and a thousand in each ms; nobody who is connected waits for that */
TEST(auth__guesses_are_limited)
{
	u64 wrong;
	u32 i;

	begin(true);
	pair_connect();
	wrong = dropped(1, DMANIC_DROP_AUTH);
	for (i = 0; i < 4096 + 1600; i++)
		feed_guess(555, 9);
	/* About one of 16 beyond is looked at, or who knows the key would never be */
	wrong = dropped(1, DMANIC_DROP_AUTH) - wrong - 4096;
	EXPECT(wrong > 50 && wrong < 200);
	EXPECT_EQ(dropped(1, DMANIC_DROP_RATE), 1600 - wrong);
	/* Who knows a tag is looked at each time, and takes nothing of others */
	wrong = dropped(1, DMANIC_DROP_AUTH);
	for (i = 0; i < 1000; i++)
		feed_guess(pair[0].address, pair[1].peer->local_tag);
	EXPECT_EQ(dropped(1, DMANIC_DROP_AUTH), wrong + 1000);
	put(0, 5000, 0);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 1);
	wrong = dropped(1, DMANIC_DROP_AUTH);
	pair_now += PAIR_MS;
	for (i = 0; i < 1000; i++)
		feed_guess(555, 9);
	EXPECT_EQ(dropped(1, DMANIC_DROP_AUTH), wrong + 1000);
	pair_end();
}

/* As many as a gigabit a second carries, under the other's own name: it is looked at */
TEST(auth__guesses_do_not_keep_others_from_connecting)
{
	u32 i, k;

	begin(true);
	for (i = 0; i < 5000; i++)
		feed_guess(pair[0].address, i);
	put(0, 100, 0);
	for (i = 0; i < 100000 && pair[0].completed < 1; i++) {
		for (k = 0; k < 3; k++)
			feed_guess(pair[0].address, i);
		pair_run(2000);
	}
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT(dropped(1, DMANIC_DROP_RATE) > 0);
	pair_end();
}

/* ---- what is repeated, and clocks ---- */

/* Frames of a node that nobody here knows, from where they came: others are answered */
TEST(auth__repeated_hellos_take_no_answers_of_others)
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

/* With another key nothing counts that was said with the one before */
TEST(auth__new_key_knows_no_rivals_of_before)
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
TEST(auth__resets_count_once)
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

/* ---- large frames, later ---- */

/* Also when the first one got lost, or the device learned it later */
TEST(auth__large_frames_are_tried_again)
{
	begin_large();
	pair_uncut = true;
	put(0, 100, 0);
	pair_run(5000 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->super, pair[0].peer->mtu);
	pair_uncut = false;
	pair_whole = true;
	pair_run(300000 * PAIR_MS);
	EXPECT(pair[0].peer->super > 2 * MTU);
	EXPECT_EQ(pair[0].host.stats.lost, 0);
	dmanic_host_set_mtu(&pair[0].host, MTU, MTU);
	dmanic_peer_set_mtu(pair[0].peer);
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->super, pair[0].peer->mtu);
	dmanic_host_set_mtu(&pair[0].host, MTU, 9000);
	dmanic_peer_set_mtu(pair[0].peer);
	/* Not before one arrived */
	EXPECT_EQ(pair[0].peer->super, pair[0].peer->mtu);
	pair_run(100 * PAIR_MS);
	EXPECT(pair[0].peer->super > 2 * MTU);
	pair_whole = false;
	pair_end();
}
