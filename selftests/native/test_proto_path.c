// SPDX-License-Identifier: GPL-2.0-only
/*
 * What lies between two nodes: frames that are too long for it, ends that change
 * their MTU, and peers that answer without taking anything.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/range.c
 * Sources: driver/proto/host.c driver/proto/handshake.c driver/proto/peer.c
 * Sources: driver/proto/xfer.c driver/proto/tx.c driver/proto/next.c
 * Sources: driver/proto/receive.c driver/proto/later.c driver/proto/reply.c driver/proto/ack.c
 * Sources: driver/proto/loss.c driver/proto/rate.c
 */
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
