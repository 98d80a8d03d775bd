// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much may be under way, when it goes, and what a device does not take.
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
static struct dmanic_xfer xfer[4];

static void begin_with(struct dmanic_proto_config config)
{
	pair_begin_with(config);
	pair_connect();
}

static void begin(void)
{
	begin_with((struct dmanic_proto_config){ .mtu = 1500, .super = 9000 });
}

static void put(u32 i, u64 length, u64 offset)
{
	xfer[i] = pair_write(source + offset, length, offset);
	pair_submit(0, &xfer[i]);
}

/* Few notifications a second take nothing from who sends much */
TEST(pace__light_senders_do_not_count)
{
	u32 i;

	begin();
	for (i = 0; i < 100; i++) {
		put(0, 8, 0);
		pair_run(PAIR_MS / 2);
		EXPECT_EQ(pair[1].host.senders, 1);
		EXPECT_EQ(pair[1].host.heavy, 0);
	}
	/* Another one, that sends much: it has all, and these have enough */
	pair[1].host.senders++;
	pair[1].host.heavy++;
	put(0, 8, 0);
	pair_settle();
	EXPECT_EQ(pair[0].peer->granted, (1 << 18) / 2);
	for (i = 0; i < 4; i++)
		put(i, 60000, 0);
	pair_run(PAIR_MS / 10);
	EXPECT_EQ(pair[1].host.heavy, 2);
	EXPECT_EQ(pair[0].peer->granted, (1 << 18) / 2);
	pair[1].host.senders--;
	pair[1].host.heavy--;
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[1].host.heavy, 0);
	EXPECT_EQ(pair[1].host.senders, 0);
	pair_end();
}

/* One class may overtake the other: that is no loss */
TEST(pace__urgent_overtakes_bulk)
{
	u32 i, nr;

	begin();
	/* It takes a while each way: so there is a round trip */
	for (i = 0; i < 20; i++) {
		put(0, 100, 0);
		pair_pump(0);
		pair_now += PAIR_MS / 4;
		pair_run(0);
	}
	put(0, 14000, 0);
	pair_pump(0);
	nr = pair[0].nr_sent;
	pair_now += PAIR_MS / 10;
	xfer[1] = pair_write(source, 8, 100);
	xfer[1].class = DMANIC_URGENT;
	pair_submit(0, &xfer[1]);
	pair_pump(0);
	ASSERT(pair[0].nr_sent > nr);
	EXPECT(pair[0].sent[nr].bytes[2] & DMANIC_WIRE_URGENT);
	pair_now += PAIR_MS / 4;
	pair_deliver(0, nr);
	for (i = 0; i < pair[1].nr_sent; i++)
		pair_deliver(1, i);
	EXPECT_EQ(xfer[1].result, 8);
	pair_wait(PAIR_MS / 4);
	EXPECT_EQ(pair[0].host.stats.lost, 0);
	pair_run(10 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 22);
	pair_end();
}

/* A device that takes nothing, before a round trip is known */
TEST(pace__device_that_takes_nothing)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u64 until;
	u32 tries = 0;

	begin();
	pair[0].peer->rate.srtt = 0;
	put(0, 1000, 0);
	until = pair_now + 100 * PAIR_MS;
	while (pair_now < until) {
		while (dmanic_peer_next(pair[0].peer, pair_now, &out)) {
			if (!out.units)
				continue;
			tries++;
			dmanic_peer_unsent(pair[0].peer, &out, pair_now);
		}
		pair_now = max(dmanic_peer_deadline(pair[0].peer), pair_now + 1000);
		dmanic_peer_timer(pair[0].peer, pair_now);
	}
	EXPECT(tries > 5 && tries < 50);
	pair_run(50 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	pair_end();
}

/* However long a round trip takes: it is asked before it is dead */
TEST(pace__device_that_takes_nothing_is_soon_asked_again)
{
	const u64 trip = 150 * PAIR_MS, most = 250 * PAIR_MS;
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u32 tries = 0;

	begin();
	pair[0].peer->rate.srtt = trip;
	put(0, 1000, 0);
	while (tries < 12) {
		while (dmanic_peer_next(pair[0].peer, pair_now, &out)) {
			if (!out.units)
				continue;
			tries++;
			dmanic_peer_unsent(pair[0].peer, &out, pair_now);
			EXPECT(pair[0].peer->unsent_until - pair_now >= trip);
			EXPECT(pair[0].peer->unsent_until - pair_now <= most);
		}
		pair_now = max(pair[0].peer->unsent_until, pair_now + 1000);
	}
	pair_end();
}

/* A frame is late from when it left, not from when the device did not take it */
TEST(pace__device_that_takes_something_again)
{
	u64 until, timeouts;
	u32 sent;

	begin();
	put(0, 1000, 0);
	until = pair_now + 6 * PAIR_MS;
	pair_takes = 100;
	do {
		pair_pump(0);
		pair_now = max(dmanic_peer_deadline(pair[0].peer), pair_now + 1000);
		dmanic_peer_timer(pair[0].peer, pair_now);
	} while (pair_now < until);
	pair_takes = 0;
	pair_pump(0);
	sent = pair[0].nr_sent;
	timeouts = pair[0].host.stats.timeouts + pair[0].host.stats.tail_probes;
	pair_now += 1000;
	dmanic_peer_timer(pair[0].peer, pair_now);
	pair_pump(0);
	EXPECT_EQ(pair[0].host.stats.timeouts + pair[0].host.stats.tail_probes, timeouts);
	EXPECT_EQ(pair[0].nr_sent, sent);
	pair_run(50 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	pair_end();
}

/* The next frame of data that goes out, which nobody takes */
static void next_data_of(struct dmanic_out *out)
{
	u32 i;

	for (i = 0; i < 100; i++) {
		while (dmanic_peer_next(pair[0].peer, pair_now, out))
			if (out->units)
				return;
		pair_now = max(dmanic_peer_deadline(pair[0].peer), pair_now + 1000);
		dmanic_peer_timer(pair[0].peer, pair_now);
	}
	ASSERT(!"data");
}

/* Also of a large frame that goes again in several: from there on */
TEST(pace__part_of_a_frame_that_goes_again_comes_back)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u64 lost, seq;
	u32 i;

	begin_with((struct dmanic_proto_config){ .mtu = 1500, .super = 65535 });
	pair[0].peer->rate.clean = 1ULL << 30;
	put(0, 20000, 0);
	next_data_of(&out);
	EXPECT(out.units > 10000);
	for (i = 0; i < 2; i++) {
		dmanic_host_set_mtu(&pair[i].host, 1500, 1500);
		dmanic_peer_set_mtu(pair[i].peer);
	}
	dmanic_peer_unsent(pair[0].peer, &out, pair_now);
	next_data_of(&out);
	EXPECT(out.units < 1500);
	lost = pair[0].host.stats.lost;
	seq = out.seq;
	dmanic_peer_withdrawn(pair[0].peer, &out, pair_now);
	next_data_of(&out);
	EXPECT_EQ(out.seq, seq);
	EXPECT_EQ(pair[0].host.stats.lost, lost);
	pair_end();
}

/* What nobody sent, nobody lost */
TEST(pace__round_of_nothing_shrinks_no_window)
{
	struct dmanic_ack ack = { .number = 1000, .window = 1000000, .mtu = 1500 };
	struct dmanic_rate *rate;
	u8 bytes[1024];
	u32 length;

	begin();
	rate = &pair[0].peer->rate;
	rate->loss = 1000;
	rate->start = false;
	rate->srtt = 1000;
	rate->round = 0;
	rate->round_acked = 0;
	rate->round_lost = 0;
	rate->window = 100000;
	ack.held = U32_MAX;
	ack.stream[DMANIC_BULK].next = pair[0].peer->tx[DMANIC_BULK].una;
	ack.stream[DMANIC_URGENT].next = pair[0].peer->tx[DMANIC_URGENT].una;
	length = dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack);
	pair_feed(0, pair[1].address, bytes, length);
	EXPECT(rate->round > 0);
	EXPECT_EQ(rate->window, 100000);
	pair_end();
}
