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
	length = dmanic_auth_seal(&pair[0].host, &out, bytes, 0);
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

/* ---- who guesses ---- */

static void feed_guess(u64 tag)
{
	struct dmanic_key key = { { pair_now, 3 } };
	u8 bytes[DMANIC_WIRE_PULL_MAX];
	u32 length;

	length = dmanic_probe_encode(bytes, tag);
	length = dmanic_auth_encode(bytes, length, &key, 7, 1, 0);
	pair_feed(1, 555, bytes, length);
}

/* A thousand at once and a hundred in each ms; nobody who is connected waits for that */
TEST(auth__guesses_are_limited)
{
	u64 wrong;
	u32 i;

	begin(true);
	pair_connect();
	wrong = dropped(1, DMANIC_DROP_AUTH);
	for (i = 0; i < 5000; i++)
		feed_guess(9);
	EXPECT_EQ(dropped(1, DMANIC_DROP_AUTH), wrong + 1024);
	EXPECT_EQ(dropped(1, DMANIC_DROP_RATE), 5000 - 1024);
	put(0, 5000, 0);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 1);
	wrong = dropped(1, DMANIC_DROP_AUTH);
	pair_now += PAIR_MS;
	for (i = 0; i < 1000; i++)
		feed_guess(9);
	EXPECT_EQ(dropped(1, DMANIC_DROP_AUTH), wrong + 100);
	pair_end();
}

/* Who has the right one is looked at, as long as others do not guess faster than that */
TEST(auth__guesses_do_not_keep_others_from_connecting)
{
	u32 i;

	begin(true);
	put(0, 100, 0);
	for (i = 0; i < 100 && pair[0].completed < 1; i++) {
		feed_guess(i);
		feed_guess(i);
		pair_run(PAIR_MS);
	}
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	pair_end();
}
