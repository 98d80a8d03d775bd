// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of who has the key, of who has not, and of who guesses.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/range.c
 * Sources: driver/proto/host.c driver/proto/auth.c driver/proto/mac.c
 * Sources: driver/proto/handshake.c driver/proto/peer.c
 * Sources: driver/proto/share.c driver/proto/xfer.c driver/proto/tx.c driver/proto/next.c
 * Sources: driver/proto/receive.c driver/proto/later.c driver/proto/reply.c
 * Sources: driver/proto/ack.c driver/proto/loss.c driver/proto/path.c driver/proto/rate.c
 */
#include "proto_keyed.h"

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

/* What was said on one network is repeated on another, where there is a node of that id, too */
TEST(auth__on_another_network_nobody_is_heard)
{
	begin(true);
	pair[0].host.config.network = 0x88b6;
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
