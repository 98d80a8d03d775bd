// SPDX-License-Identifier: GPL-2.0-only
/*
 * What lies between two nodes: frames that are too long for it, ends that change
 * their MTU, and peers that answer without taking anything.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/range.c
 * Sources: driver/proto/host.c driver/proto/auth.c driver/proto/mac.c
 * Sources: driver/proto/handshake.c driver/proto/peer.c
 * Sources: driver/proto/share.c driver/proto/xfer.c driver/proto/tx.c driver/proto/next.c
 * Sources: driver/proto/receive.c driver/proto/later.c driver/proto/reply.c driver/proto/ack.c
 * Sources: driver/proto/loss.c driver/proto/path.c driver/proto/rate.c
 */
#include "driver/proto/internal.h"

#include "proto_pair.h"
#include "unit.h"

static u8 source[PAIR_MEMORY];
static struct dmanic_xfer xfer[64];

static void begin_with(u32 mtu, u32 super)
{
	struct dmanic_proto_config config = { .mtu = mtu, .super = super };
	u32 i;

	for (i = 0; i < sizeof(source); i++)
		source[i] = i * 7 + i / 256;
	pair_begin_with(config);
	pair_connect();
}

static void begin(u32 mtu)
{
	begin_with(mtu, mtu);
}

static void put(u32 i, u64 length, u64 offset)
{
	xfer[i] = pair_write(source + offset, length, offset);
	pair_submit(0, &xfer[i]);
}

/* Time goes on; frames up to @longest arrive, of DATA only if @data */
static void pass(u64 ns, u32 longest, bool data)
{
	u64 until = pair_now + ns;
	u32 i;

	do {
		pair_pump(0);
		pair_pump(1);
		for (i = 0; pair[0].nr_sent || pair[1].nr_sent; i = !i) {
			while (pair[i].nr_sent) {
				if (pair[i].sent[0].length <= longest &&
				    (data || pair_type(i, 0) != DMANIC_WIRE_DATA))
					pair_deliver(i, 0);
				pair_drop(i, 0);
			}
		}
	} while (pair_tick(until));
	pair_now = until;
}

/* A switch between takes less than both ends, and tells nobody */
TEST(path__large_frames_get_lost)
{
	begin(9000);
	put(0, 60000, 0);
	pass(1500 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT(!memcmp(pair[1].memory, source, 60000));
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	EXPECT(pair[0].peer->mtu <= 1500 && pair[0].peer->mtu > 700);
	/* And it is known from then on */
	put(1, 60000, 0);
	pass(10 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].completed, 2);
	pair_end();
}

/* Something on the way takes frames of the path's size, and none that is to be cut */
static void cut_frames_get_lost(bool notifies)
{
	u32 i;

	begin_with(1500, 65535);
	pair_uncut = true;
	for (i = 0; i < 10; i++) {
		xfer[i] = pair_write(source, 60000, 0);
		xfer[i].notifies = notifies;
		pair_submit(0, &xfer[i]);
		pass(200 * PAIR_MS, 1500, true);
		EXPECT_EQ(pair[0].completed, i + 1);
		EXPECT_EQ(xfer[i].status, 0);
		EXPECT_EQ(pair[1].notified, (i + 1) * notifies);
	}
	EXPECT(!memcmp(pair[1].memory, source, 60000));
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	EXPECT_EQ(pair[0].peer->super, 1500);
	EXPECT_EQ(pair[0].peer->mtu, 1500);
	pair_uncut = false;
	pair_end();
}

TEST(path__cut_frames_get_lost)
{
	cut_frames_get_lost(false);
	cut_frames_get_lost(true);
}

/* The same after so much that arrived that a large frame is noted as one */
TEST(path__cut_frames_get_lost_where_none_did)
{
	u32 i, rounds = 200;

	begin_with(1500, 65535);
	for (i = 0; i < rounds; i++) {
		pair_uncut = i >= rounds - 10;
		xfer[0] = pair_write(source, 60000, 0);
		xfer[0].notifies = true;
		pair_submit(0, &xfer[0]);
		pass(pair_uncut ? 400 * PAIR_MS : PAIR_MS, 1500, true);
		ASSERT_EQ(pair[0].completed, i + 1);
		ASSERT_EQ(xfer[0].status, 0);
	}
	pair_uncut = false;
	EXPECT_EQ(pair[1].notified, rounds);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	EXPECT_EQ(pair[0].peer->mtu, 1500);
	pair_end();
}

/* Nor do they when all get lost for a while, or some of them always */
TEST(path__loss_of_cut_frames_does_not_degrade)
{
	u32 i;

	begin_with(1500, 65535);
	for (i = 0; i < 60; i++) {
		pair_uncut = i % 7 != 6;
		xfer[i] = pair_write(source, 20000, 0);
		pair_submit(0, &xfer[i]);
		pass(50 * PAIR_MS, 1500, true);
		EXPECT_EQ(pair[0].completed, i + 1);
	}
	pair_uncut = false;
	EXPECT_EQ(pair[0].event, 0);
	EXPECT_EQ(pair[0].peer->super, 65535);
	pair_end();
}

/* Both: what is cut gets lost, and what is longer than 800 bytes */
TEST(path__degrades_twice)
{
	begin_with(1500, 65535);
	pair_uncut = true;
	put(0, 60000, 0);
	pass(1800 * PAIR_MS, 800, true);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT(pair[0].peer->mtu <= 800);
	pair_uncut = false;
	pair_end();
}

/* Small ones arrive all the time: there is no time-out */
TEST(path__large_frames_get_lost_among_small_ones)
{
	u32 i, small = 0;
	bool idle = true;

	begin(9000);
	put(0, 40000, 0);
	for (i = 0; i < 3000 && xfer[0].result != 40000; i++) {
		idle |= pair[0].last == &xfer[1];
		if (idle) {
			xfer[1] = pair_write(source, 8, 50000);
			xfer[1].class = DMANIC_URGENT;
			pair[0].last = NULL;
			pair_submit(0, &xfer[1]);
			idle = false;
			small++;
		}
		pass(PAIR_MS / 2, 1500, true);
	}
	EXPECT_EQ(xfer[0].result, 40000);
	EXPECT(small > 10);
	EXPECT(!memcmp(pair[1].memory + 8, source + 8, 40000 - 8));
	pair_end();
}

/* Loss that has nothing to do with length is not mistaken for it */
TEST(path__loss_does_not_degrade)
{
	u32 i, k, lost = 0;

	begin(9000);
	for (i = 0; i < 50; i++) {
		put(0, 60000, 0);
		while (!xfer[0].result) {
			pair_pump(0);
			for (k = 0; k < pair[0].nr_sent; k++)
				if (pair_random(NULL) >> 60 < 3)
					pair_drop(0, k), lost++;
			pair_settle();
			pair_tick(pair_now + 1000 * PAIR_MS);
		}
	}
	EXPECT(lost > 30);
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	/* Nor is a cable that was out for a while */
	put(0, 60000, 0);
	pass(1000 * PAIR_MS, 0, true);
	pass(500 * PAIR_MS, 9000, true);
	EXPECT_EQ(xfer[0].result, 60000);
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	pair_end();
}

/* Nothing gets there for a while, of whatever length, but everything comes back */
static void silence(u64 ns)
{
	u64 until = pair_now + ns, next = pair_now;

	while (pair_now < until) {
		if (pair_now >= next) {
			xfer[2] = pair_write(source, 8, 0);
			pair_submit(1, &xfer[2]);
			next += PAIR_MS;
		}
		pair_pump(0);
		pair_pump(1);
		while (pair[0].nr_sent)
			pair_drop(0, 0);
		while (pair[1].nr_sent) {
			pair_deliver(1, 0);
			pair_drop(1, 0);
		}
		if (!pair_tick(min(until, next)))
			pair_now = min(until, next);
	}
}

TEST(path__silence_one_way_does_not_degrade)
{
	begin(9000);
	put(0, 60000, 0);
	silence(150 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	EXPECT(pair[0].host.stats.timeouts > 2);
	pass(500 * PAIR_MS, 9000, true);
	EXPECT_EQ(xfer[0].result, 60000);
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	EXPECT_EQ(pair[1].peer->mtu, 9000);
	pair_end();
}

/* The other end's MTU falls, and rises, while connected */
TEST(path__other_end_takes_less)
{
	begin(9000);
	dmanic_host_set_mtu(&pair[1].host, 1500, 1500);
	dmanic_peer_set_mtu(pair[1].peer);
	pair_settle();
	EXPECT_EQ(pair[0].peer->mtu, 1500);
	put(0, 60000, 0);
	pass(20 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].completed, 1);
	dmanic_host_set_mtu(&pair[1].host, 4000, 4000);
	dmanic_peer_set_mtu(pair[1].peer);
	put(0, 60000, 0);
	pass(20 * PAIR_MS, 4000, true);
	EXPECT_EQ(pair[0].peer->mtu, 4000);
	/* It says so, and that is lost: frames are, until it is asked */
	dmanic_host_set_mtu(&pair[1].host, 1500, 1500);
	dmanic_peer_set_mtu(pair[1].peer);
	put(0, 60000, 0);
	pair_pump(1);
	while (pair[1].nr_sent)
		pair_drop(1, 0);
	pass(600 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->mtu, 1500);
	EXPECT_EQ(pair[0].completed, 3);
	pair_end();
}

/* It answers, and nothing of what is sent is ever acknowledged */
TEST(path__nothing_is_taken)
{
	u64 before;

	begin(1500);
	put(0, 1000, 0);
	before = pair_now;
	pass(7900 * PAIR_MS, 9000, false);
	EXPECT_EQ(pair[0].completed, 0);
	pass(200 * PAIR_MS, 9000, false);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT(pair_now - before >= 8000 * PAIR_MS);
	pair_end();
}

/* ---- TEST ---- */

TEST(path__test_tells_how_frames_arrive)
{
	/* Uncut, cut, whole */
	begin(9000);
	EXPECT_EQ(pair[0].peer->path.carried, 9000);
	EXPECT_EQ(pair[1].peer->path.carried, 9000);
	EXPECT_EQ(pair[0].peer->largest, 9000);
	pair_end();
	begin_with(1500, 65535);
	EXPECT_EQ(pair[0].peer->path.carried, 1500);
	EXPECT_EQ(pair[0].peer->largest, 1500);
	pair_end();
	pair_whole = true;
	begin_with(1500, 65535);
	EXPECT_EQ(pair[0].peer->path.carried, 32 + 2 * (1500 - 32));
	EXPECT_EQ(pair[1].peer->path.carried, 32 + 2 * (1500 - 32));
	EXPECT_EQ(pair[1].peer->largest, 32 + 2 * (1500 - 32));
	pair_whole = false;
	/* Nobody goes on asking */
	pair_run(2000 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->path.at, DMANIC_NEVER);
	pair_end();
}

/* Shorter frames are sent before any data got lost, both ways */
TEST(path__test_finds_what_gets_lost)
{
	struct dmanic_proto_config config = { .mtu = 9000, .super = 9000 };

	pair_begin_with(config);
	put(0, 8, 0);
	pass(2 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	pass(9000 * PAIR_MS, 1500, true);
	EXPECT(pair[0].peer->mtu <= 1500 && pair[0].peer->mtu > 700);
	EXPECT_EQ(pair[0].peer->path.carried, pair[0].peer->mtu);
	EXPECT_EQ(pair[0].peer->super, pair[0].peer->mtu);
	EXPECT_EQ(pair[1].peer->mtu, pair[0].peer->mtu);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	EXPECT_EQ(pair[0].host.stats.lost, 0);
	put(0, 60000, 0);
	pass(5 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(pair[0].host.stats.lost, 0);
	pair_end();
}

TEST(path__test_finds_that_what_is_cut_gets_lost)
{
	pair_uncut = true;
	begin_with(1500, 65535);
	pass(700 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->super, 1500);
	EXPECT_EQ(pair[0].peer->mtu, 1500);
	EXPECT_EQ(pair[0].peer->path.carried, 1500);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	pair_uncut = false;
	pair_end();
}

/* Nothing arrives but what is shorter than the least there is: it stays at that, and lives */
TEST(path__test_ends_at_the_least)
{
	begin(1500);
	dmanic_host_set_mtu(&pair[0].host, 2000, 2000);
	dmanic_peer_set_mtu(pair[0].peer);
	dmanic_host_set_mtu(&pair[1].host, 2000, 2000);
	dmanic_peer_set_mtu(pair[1].peer);
	pass(3000 * PAIR_MS, 500, true);
	EXPECT_EQ(pair[0].peer->mtu, 512);
	EXPECT_EQ(pair[0].peer->path.carried, 0);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_OPEN);
	pair_end();
}

/* The device itself takes no longer ones: from the beginning, or since its MTU fell */
TEST(path__device_drops_what_is_long)
{
	struct dmanic_proto_config config = { .mtu = 9000, .super = 9000 };
	u32 late;

	for (late = 0; late < 2; late++) {
		pair_begin_with(config);
		pair_takes = late ? 0 : 1500;
		put(0, 8, 0);
		pass(20 * PAIR_MS, 9000, true);
		EXPECT_EQ(pair[0].peer->path.carried, late ? 9000 : 0);
		pair_takes = 1500;
		put(1, 60000, 0);
		pass(4000 * PAIR_MS, 9000, true);
		EXPECT_EQ(pair[0].completed, 2);
		EXPECT_EQ(xfer[1].status, 0);
		EXPECT(pair[0].peer->mtu <= 1500 && pair[0].peer->mtu > 700);
		EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
		pair_end();
	}
	pair_takes = 0;
}

/* It drops what there is no room for, of whatever length: that is over at some time */
TEST(path__device_without_room_does_not_degrade)
{
	u32 i;

	begin(9000);
	for (i = 0; i < 40; i++) {
		put(i, 60000, 0);
		pair_takes = 1;
		pass(PAIR_MS, 9000, true);
		pair_takes = 0;
		pass(20 * PAIR_MS, 9000, true);
		ASSERT_EQ(pair[0].completed, i + 1);
	}
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	EXPECT_EQ(pair[0].event, 0);
	pair_end();
}

/* Every other frame is lost, of whatever length; one way nothing comes for a while */
TEST(path__lost_tests_do_not_degrade)
{
	u32 i, k;

	begin_with(1500, 65535);
	for (i = 0; i < 200; i++) {
		dmanic_path_begin(pair[0].peer);
		while (!pair[0].peer->path.carried) {
			pair_pump(0);
			for (k = pair[0].nr_sent; k; k--)
				if (pair_random(NULL) >> 63)
					pair_drop(0, k - 1);
			pair_settle();
			pair_tick(pair_now + 300 * PAIR_MS);
		}
		EXPECT_EQ(pair[0].peer->super, 65535);
	}
	dmanic_path_begin(pair[0].peer);
	silence(1500 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->super, 65535);
	EXPECT_EQ(pair[0].peer->mtu, 1500);
	pass(500 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->path.carried, 1500);
	EXPECT_EQ(pair[0].event, 0);
	pair_end();
}

/* A switch between is made to take more, and what cuts is mended */
TEST(path__restored)
{
	u64 before;

	begin_with(1500, 65535);
	dmanic_host_set_mtu(&pair[0].host, 9000, 65535);
	dmanic_peer_set_mtu(pair[0].peer);
	dmanic_host_set_mtu(&pair[1].host, 9000, 65535);
	dmanic_peer_set_mtu(pair[1].peer);
	pair_uncut = true;
	pass(5000 * PAIR_MS, 1500, true);
	EXPECT(pair[0].peer->mtu <= 1500);
	EXPECT_EQ(pair[0].peer->super, pair[0].peer->mtu);
	/* In vain, and later each time, but no shorter for that */
	pass(600000 * PAIR_MS, 1500, true);
	EXPECT(pair[0].peer->mtu <= 1500 && pair[0].peer->mtu > 700);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	before = pair[0].host.stats.frames_sent;
	pair_uncut = false;
	pass(1100000 * PAIR_MS, 9000, true);
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	EXPECT_EQ(pair[0].peer->super, 65535);
	EXPECT_EQ(pair[0].peer->path.carried, 9000);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RESTORED);
	EXPECT_EQ(pair[0].peer->path.at, DMANIC_NEVER);
	/* Little more than what keeps the connection */
	EXPECT(pair[0].host.stats.frames_sent - before < 2 * 1200);
	pair_end();
}

/* Who says that something arrived which was not sent is not believed */
TEST(path__answers_are_checked)
{
	struct dmanic_tested said = { .number = 99, .length = 1500 };
	u64 tag, dropped[DMANIC_DROPS];
	u8 bytes[64];

	begin(1500);
	tag = pair[0].peer->local_tag;
	memcpy(dropped, pair[0].host.stats.dropped, sizeof(dropped));
	dmanic_path_begin(pair[0].peer);
	pair_pump(0);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_TEST);
	said.number = pair[0].peer->path.number - 1;
	pair_keep(&pair[1], pair[0].address, bytes, dmanic_tested_encode(bytes, tag, &said));
	said.number++;
	said.length = 65535;
	pair_keep(&pair[1], pair[0].address, bytes, dmanic_tested_encode(bytes, tag, &said));
	pair_deliver(1, 0);
	pair_deliver(1, 1);
	EXPECT_EQ(pair[0].host.stats.dropped[DMANIC_DROP_BAD], dropped[DMANIC_DROP_BAD] + 1);
	EXPECT_EQ(pair[0].peer->path.carried, 0);
	pair_drop(1, 0);
	pair_drop(1, 0);
	pair_settle();
	EXPECT_EQ(pair[0].peer->path.carried, 1500);
	/* Twice, or before it went out */
	said.length = 1500;
	pair_keep(&pair[1], pair[0].address, bytes, dmanic_tested_encode(bytes, tag, &said));
	pair_settle();
	dmanic_path_begin(pair[0].peer);
	said.number = pair[0].peer->path.number;
	pair_keep(&pair[1], pair[0].address, bytes, dmanic_tested_encode(bytes, tag, &said));
	pair_deliver(1, 0);
	EXPECT_EQ(pair[0].peer->path.carried, 0);
	pair_drop(1, 0);
	pair_settle();
	EXPECT_EQ(pair[0].peer->path.carried, 1500);
	pair_end();
}

/* What gets lost is found by a TEST, or by data; not by both one after the other */
TEST(path__test_and_data_find_it_once)
{
	u64 offset;

	for (offset = 0; offset < 1250; offset += 20) {
		struct dmanic_proto_config config = {
			.mtu = 9000, .super = 9000, .rto_ns = 50 * PAIR_MS,
		};

		pair_begin_with(config);
		put(0, 8, 0);
		pass((2 + offset) * PAIR_MS, 1500, true);
		put(1, 9000, 0);
		pass(8000 * PAIR_MS, 1500, true);
		EXPECT_EQ(pair[0].completed, 2);
		EXPECT_EQ(xfer[1].status, 0);
		EXPECT_EQ(pair[0].peer->mtu, 1125);
		pair_end();
	}
}

static void ends(u32 mtu, u32 super)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		dmanic_host_set_mtu(&pair[i].host, mtu, super);
		dmanic_peer_set_mtu(pair[i].peer);
	}
}

/* An operator's remedy helps at once; and nothing longer than a device takes is sent */
TEST(path__ends_change_while_degraded)
{
	u32 i, longest = 0;

	begin(1500);
	ends(9000, 9000);
	pass(3600000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->mtu, 1125);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	ends(1500, 1500);
	pair_pump(0);
	for (i = 0; i < pair[0].nr_sent; i++)
		longest = max(longest, pair[0].sent[i].length);
	EXPECT_EQ(longest, 1125);
	pass(1000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->mtu, 1500);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RESTORED);
	/* To less than it carries, while a longer one is on its way */
	ends(9000, 9000);
	pass(20000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	while (pair[0].peer->path.mtu <= pair[0].peer->mtu)
		pass(PAIR_MS, 1500, true);
	ends(1000, 1000);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RESTORED);
	EXPECT_EQ(pair[0].peer->path.mtu, 1000);
	pass(100 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->path.carried, 1000);
	EXPECT_EQ(pair[0].peer->path.at, DMANIC_NEVER);
	pair_end();
}

/* One that answers some TESTs only, and then takes less, gets none that is no frame */
TEST(path__test_fits_into_a_frame)
{
	begin(65535);
	dmanic_path_begin(pair[0].peer);
	pass(5000 * PAIR_MS, 40000, true);
	EXPECT_EQ(pair[0].peer->mtu, 32767);
	while (pair[0].peer->path.most != 65534)
		pass(100 * PAIR_MS, 65534, true);
	pass(3000 * PAIR_MS, 65534, true);
	dmanic_host_set_mtu(&pair[1].host, 65534, 65534);
	dmanic_peer_set_mtu(pair[1].peer);
	/* A longer payload would not fit into what a frame is built in */
	pass(100000 * PAIR_MS, 65534, true);
	EXPECT_EQ(pair[0].peer->mtu, 65534);
	pair_end();
}

/* Each time in vain it takes twice as long until it is tried again, and that ends */
TEST(path__longer_ones_are_tried_later_each_time)
{
	u64 last = 0, wait = 0, before;
	u32 i, number;

	begin(1500);
	ends(9000, 9000);
	pass(10000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->mtu, 1125);
	for (i = 0; i < 10; i++) {
		number = pair[0].peer->path.number;
		while (pair[0].peer->path.number == number)
			pass(10 * PAIR_MS, 1500, true);
		before = wait;
		wait = pair_now - last;
		last = pair_now;
		if (i > 1 && i < 6)
			EXPECT(wait > before + before / 2 && wait < 2 * before + 3000 * PAIR_MS);
		if (i > 5)
			EXPECT(wait < before + 3000 * PAIR_MS);
	}
	EXPECT(wait > 1000 * 1000 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->mtu, 1125);
	pair_end();
}

/* Longer ends than the path has, and cutting begins to work: it does not wait for that */
TEST(path__cutting_is_tried_while_frames_are_short)
{
	pair_uncut = true;
	begin_with(1500, 65535);
	ends(9000, 65535);
	pass(20000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->super, 1125);
	pair_uncut = false;
	pass(300000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->mtu, 1125);
	EXPECT_EQ(pair[0].peer->super, 65535);
	pair_end();
}

/* Told once that it carries less, and once that it does no more: whatever the ends do */
TEST(path__what_is_told_alternates)
{
	begin(1500);
	ends(9000, 9000);
	pass(2000 * PAIR_MS, 9000, true);
	EXPECT_EQ(pair[0].peer->path.carried, 9000);
	ends(1500, 1500);
	pass(10 * PAIR_MS, 9000, true);
	EXPECT_EQ(pair[0].event, 0);
	ends(9000, 9000);
	pass(10000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	ends(1000, 1000);
	pass(100 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RESTORED);
	/* It is as short as it was, and is told so */
	ends(9000, 9000);
	pass(100000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->mtu, 1125);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	pair_end();

	pair_uncut = true;
	begin_with(1500, 65535);
	pass(3000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	ends(1500, 1500);
	pass(100 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RESTORED);
	ends(1500, 65535);
	pass(100000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_DEGRADED);
	pair_uncut = false;
	ends(1500, 1500);
	ends(1500, 65535);
	pass(100 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RESTORED);
	EXPECT_EQ(pair[0].peer->super, 65535);
	pair_end();
}

/* The other end says that it takes less, and more, and less: a TEST is larger than that */
TEST(path__ends_that_alternate_get_few_tests)
{
	struct dmanic_ack ack = { .window = 10000, .held = U32_MAX };
	u8 bytes[1024];
	u32 i, length, tests = 0;

	begin(9000);
	pass(100 * PAIR_MS, 9000, true);
	EXPECT_EQ(pair[0].peer->path.carried, 9000);
	for (i = 0; i < 1000; i++) {
		ack.number = 1000 + i;
		ack.mtu = i % 2 ? 9000 : 1500;
		length = dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack);
		pair_feed(0, pair[1].address, bytes, length);
		pair_tick(pair_now + PAIR_MS / 10);
		pair_pump(0);
		for (; pair[0].nr_sent; pair_drop(0, 0))
			tests += pair_type(0, 0) == DMANIC_WIRE_TEST &&
				 pair[0].sent[0].length >= 1500;
		pair_now += PAIR_MS / 10;
	}
	/* 100 ms, and no more than one in 31 */
	EXPECT(tests >= 2 && tests <= 5);
	/* And that puts nothing off but the TEST of how it is then */
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	pass(100 * PAIR_MS, 9000, true);
	EXPECT_EQ(pair[0].peer->path.carried, 9000);
	pair_end();
}

/* A device that drops something now and then does not put off what is due */
static void doubts(u32 super)
{
	u32 i;

	begin_with(1500, max(super, 1500U));
	ends(9000, max(super, 9000U));
	pass(20000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].peer->mtu, 1125);
	for (i = 0; i < 12; i++) {
		dmanic_path_doubt(pair[0].peer);
		pass(5000 * PAIR_MS, 9000, true);
	}
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	pair_end();
}

TEST(path__doubts_put_nothing_off)
{
	doubts(0);
	doubts(65535);
}

/* Who hears of a connection last has been told what the first takes: not any more */
TEST(path__end_gets_shorter_before_it_is_open)
{
	struct dmanic_proto_config config = { .mtu = 9000, .super = 9000 };

	pair_begin_with(config);
	put(0, 1000, 0);
	pair_pump(0);
	while (pair[0].peer->state != DMANIC_PEER_PAIRED && pair[0].nr_sent) {
		pair_deliver(0, 0);
		pair_drop(0, 0);
		while (pair[1].nr_sent) {
			pair_deliver(1, 0);
			pair_drop(1, 0);
		}
	}
	ASSERT_EQ(pair[0].peer->state, DMANIC_PEER_PAIRED);
	dmanic_host_set_mtu(&pair[0].host, 1500, 1500);
	dmanic_peer_set_mtu(pair[0].peer);
	pass(10000 * PAIR_MS, 1500, true);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(pair[1].event, 0);
	EXPECT_EQ(pair[1].peer->mtu, 1500);
	pair_end();
}

/* A peer that no TEST reaches gets few; its connection lives */
TEST(path__nobody_who_knows_tests)
{
	u32 i, tests = 0;
	u64 until;

	begin(9000);
	dmanic_path_begin(pair[0].peer);
	until = pair_now + 60000 * PAIR_MS;
	do {
		pair_pump(0);
		pair_pump(1);
		for (i = 0; pair[0].nr_sent || pair[1].nr_sent; i = !i) {
			for (; pair[i].nr_sent; pair_drop(i, 0)) {
				if (pair_type(i, 0) != DMANIC_WIRE_TEST)
					pair_deliver(i, 0);
				else
					tests += !i;
			}
		}
	} while (pair_tick(until));
	EXPECT(tests < 80);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_OPEN);
	EXPECT_EQ(pair[0].peer->mtu, 9000);
	pair_end();
}
