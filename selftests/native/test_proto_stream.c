// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams between two connected nodes: what is lost, late, doubled or refused, who
 * waits for whom, and that every operation ends once.
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

static u8 source[PAIR_MEMORY], sink[PAIR_MEMORY];
static struct dmanic_xfer xfer[64];

static void fill(void)
{
	u32 i;

	for (i = 0; i < sizeof(source); i++)
		source[i] = i * 7 + i / 256;
	memset(sink, 0, sizeof(sink));
}

static void begin(void)
{
	fill();
	pair_begin();
	pair_connect();
}

static struct dmanic_xfer *put(u32 i, u64 length, u64 offset)
{
	xfer[i] = pair_write(source + offset, length, offset);
	pair_submit(0, &xfer[i]);
	return &xfer[i];
}

/* Any other kind */
static struct dmanic_xfer *ask(u32 i, u8 kind, u64 length)
{
	xfer[i] = pair_write(sink, length, 0);
	xfer[i].kind = kind;
	xfer[i].opcode = DMANIC_OP_FETCH_ADD;
	xfer[i].payload = i + 1;
	pair_submit(0, &xfer[i]);
	return &xfer[i];
}

static u32 count(u32 side, u8 type)
{
	u32 i, nr = 0;

	for (i = 0; i < pair[side].nr_sent; i++)
		nr += pair_type(side, i) == type;
	return nr;
}

static void drop_all(u32 side)
{
	while (pair[side].nr_sent)
		pair_drop(side, 0);
}

TEST(stream__put)
{
	begin();
	put(0, 40000, 100);
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT_EQ(xfer[0].result, 40000);
	EXPECT_EQ(pair[1].placed, 40000);
	EXPECT(!memcmp(pair[1].memory + 100, source + 100, 40000));
	EXPECT_EQ(pair[0].host.stats.data_again, 0);
	EXPECT_EQ(pair[0].peer->nr_free, pair[0].peer->operations);
	pair_end();
}

TEST(stream__nothing_but_lost_frames_again)
{
	u64 again;

	begin();
	put(0, 14000, 0);
	pair_pump(0);
	ASSERT(count(0, DMANIC_WIRE_DATA) >= 9);
	pair_drop(0, 3);
	pair_run(20 * PAIR_MS);
	again = pair[0].host.stats.data_again;
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(again, 1);
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	EXPECT_EQ(pair[1].placed, 14000);
	pair_end();
}

/*
 * Frames behind the first were sent before it, the last time: the other side may have
 * no room for them, and waits for the first alone.
 */
TEST(stream__first_of_what_is_missing_goes_first)
{
	struct dmanic_ranges *got;
	u64 before;
	u32 i;

	begin();
	got = &pair[1].peer->rx[DMANIC_BULK].got;
	before = got->next;
	put(0, 14000, 0);
	pair_pump(0);
	ASSERT(count(0, DMANIC_WIRE_DATA) >= 9);
	pair_deliver(0, 5);
	for (i = 0; i < pair[1].nr_sent; i++)
		pair_deliver(1, i);
	drop_all(0);
	drop_all(1);
	EXPECT_EQ(got->nr, 1);
	/* Those before it are sent again, those behind it not yet */
	while (pair[0].host.stats.data_again < 5 && pair[0].host.stats.timeouts < 1)
		pair_wait(PAIR_MS / 10);
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	while (!pair[0].host.stats.timeouts) {
		drop_all(0);
		pair_wait(PAIR_MS / 10);
	}
	for (i = 0; i < pair[0].nr_sent && pair_type(0, i) != DMANIC_WIRE_DATA; i++)
		;
	ASSERT(i < pair[0].nr_sent);
	EXPECT_EQ(got->next, before);
	pair_deliver(0, i);
	EXPECT(got->next > before);
	pair_run(1000 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT(!memcmp(pair[1].memory, source, 14000));
	pair_end();
}

/* The last frame is lost: nothing comes that could tell */
TEST(stream__tail_is_probed_before_the_timeout)
{
	u64 before;

	begin();
	put(0, 1000, 0);
	pair_pump(0);
	drop_all(0);
	before = pair_now;
	while (!pair[0].completed)
		pair_run(PAIR_MS / 10);
	EXPECT(pair_now - before < 2 * PAIR_MS);
	EXPECT_EQ(pair[0].host.stats.tail_probes, 1);
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	pair_end();
}

/* Both machines had no time for each other: nothing is lost, so nothing changes */
TEST(stream__what_was_only_late_slows_nothing)
{
	u64 window, again;
	u32 frames, i;

	begin();
	/* So that round trips are known, and how much may be under way */
	put(0, 40000, 0);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	window = pair[0].peer->rate.window;
	put(1, 60000, 0);
	pair_pump(0);
	frames = count(0, DMANIC_WIRE_DATA);
	ASSERT(frames > 20);
	while (!pair[0].host.stats.timeouts)
		pair_wait(PAIR_MS / 10);
	/* A few are sent again, to learn what became of the rest */
	pair_pump(0);
	again = pair[0].host.stats.data_again;
	EXPECT(again >= 1 && again <= 12);
	for (i = 0; i < frames; i++)
		pair_deliver(0, i);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT(pair[0].host.stats.data_again <= again + 1);
	EXPECT(pair[0].peer->rate.window >= window);
	pair_end();
}

TEST(stream__timeouts_back_off_until_death)
{
	u64 begin_at, last, gap, sent_at[64];
	u32 i, nr = 0;

	begin();
	put(0, 1000, 0);
	begin_at = pair_now;
	pair_pump(0);
	drop_all(0);
	while (!pair[0].completed && nr < 64) {
		pair_wait(PAIR_MS / 2);
		if (count(0, DMANIC_WIRE_DATA))
			sent_at[nr++] = pair_now;
		drop_all(0);
	}
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT(pair_now - begin_at >= 2000 * PAIR_MS);
	EXPECT(pair_now - begin_at < 2010 * PAIR_MS);
	EXPECT(nr >= 8 && nr < 30);
	for (i = 3, last = 0; i < nr; i++, last = gap) {
		gap = sent_at[i] - sent_at[i - 1];
		EXPECT(gap + PAIR_MS >= last);
		EXPECT(gap <= 251 * PAIR_MS);
	}
	EXPECT_EQ(pair[0].event, DMANIC_PEER_LOST);
	EXPECT_EQ(pair[0].host.stats.deaths, 1);
	pair_end();
}

TEST(stream__idle_peer_is_asked_and_found_dead)
{
	begin();
	drop_all(0);
	pair_wait(900 * PAIR_MS);
	EXPECT_EQ(count(0, DMANIC_WIRE_PROBE), 0);
	pair_wait(200 * PAIR_MS);
	EXPECT(count(0, DMANIC_WIRE_PROBE) >= 1);
	pair_wait(2000 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_CLOSED);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_LOST);
	pair_end();
}

/* Backwards, and every frame three times */
TEST(stream__order_does_not_matter)
{
	u32 i, k, nr;

	begin();
	put(0, 14000, 0);
	put(1, 8, 20000);
	ask(2, DMANIC_XFER_NOTIFY, 0);
	ask(3, DMANIC_XFER_ATOMIC, 0);
	pair_pump(0);
	nr = pair[0].nr_sent;
	for (k = 0; k < 3; k++) {
		for (i = nr; i--;)
			pair_deliver(0, i);
		EXPECT_EQ(pair[1].notified, 1);
		EXPECT_EQ(pair[1].atomics, 1);
		EXPECT_EQ(pair[1].placed, 14008);
	}
	pair_run(10 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 4);
	EXPECT_EQ(pair[1].placed, 14008);
	EXPECT(pair[1].host.stats.duplicates > nr);
	EXPECT(!memcmp(pair[1].memory, source, 14000));
	pair_end();
}

/* A frame that comes after the end finds memory that is somebody else's */
TEST(stream__late_duplicate_is_not_placed)
{
	begin();
	put(0, 1000, 0);
	pair_pump(0);
	pair_deliver(0, 0);
	while (pair[1].nr_sent) {
		pair_deliver(1, 0);
		pair_drop(1, 0);
	}
	EXPECT_EQ(pair[0].completed, 1);
	memset(pair[1].memory, 9, 1000);
	pair_deliver(0, 0);
	EXPECT_EQ(pair[1].memory[0], 9);
	EXPECT_EQ(pair[1].placed, 1000);
	pair_end();
}

TEST(stream__notify_waits_for_everything_before)
{
	begin();
	put(0, 5000, 0);
	xfer[1] = pair_write(source, 100, 6000);
	xfer[1].notifies = true;
	xfer[1].payload = 42;
	pair_submit(0, &xfer[1]);
	pair_pump(0);
	pair_drop(0, 0);
	while (pair[0].nr_sent) {
		pair_deliver(0, 0);
		pair_drop(0, 0);
	}
	EXPECT_EQ(pair[1].notified, 0);
	EXPECT(pair[1].placed > 3000);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(pair[1].notified, 1);
	EXPECT_EQ(pair[1].payload[0], 42);
	EXPECT_EQ(pair[0].completed, 2);
	pair_end();
}

TEST(stream__refused_before_acknowledged)
{
	begin();
	xfer[0] = pair_write(source, 1000, 0);
	xfer[0].key = 1;
	xfer[0].notifies = true;
	pair_submit(0, &xfer[0]);
	pair_pump(0);
	/* The ACK arrives, the RESULT may not go out yet */
	pair[1].peer->unsent_until = pair_now + PAIR_MS;
	pair_deliver(0, 0);
	ASSERT_EQ(pair[1].nr_sent, 1);
	ASSERT_EQ(pair_type(1, 0), DMANIC_WIRE_ACK);
	pair_deliver(1, 0);
	EXPECT_EQ(pair[0].peer->tx[DMANIC_BULK].una, pair[0].peer->tx[DMANIC_BULK].end);
	EXPECT_EQ(pair[0].completed, 0);
	drop_all(1);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_ACCESS);
	EXPECT_EQ(pair[1].notified, 0);
	EXPECT_EQ(pair[1].peer->nr_replies, 0);
	pair_end();
}

/* It goes along with the last piece of the data, whichever of them is lost */
TEST(stream__notify_in_the_last_piece)
{
	u32 i, lost;

	for (lost = 0; lost < 3; lost++) {
		begin();
		xfer[0] = pair_write(source, 4000, 0);
		xfer[0].notifies = true;
		pair_submit(0, &xfer[0]);
		pair_pump(0);
		ASSERT_EQ(pair[0].nr_sent, 3);
		for (i = 0; i < 3; i++) {
			if (i != lost)
				pair_deliver(0, 0);
			EXPECT_EQ(pair[1].notified, 0);
			pair_drop(0, 0);
		}
		pair_run(20 * PAIR_MS);
		EXPECT_EQ(pair[1].notified, 1);
		EXPECT_EQ(pair[1].placed, 4000);
		EXPECT_EQ(pair[0].completed, 1);
		EXPECT_EQ(xfer[0].status, 0);
		pair_end();
	}
}

/*
 * What the pace held back is due at its time, and stays due until it went out: a link
 * that asks late must not take that for nothing to do.
 */
TEST(stream__paced_until_sent)
{
	struct dmanic_peer *peer;

	begin();
	peer = pair[0].peer;
	peer->rate.srtt = PAIR_MS;
	peer->rate.pace = pair_now + 1400 * PAIR_MS / 1000;
	xfer[0] = pair_write(source, 1000, 0);
	pair_submit(0, &xfer[0]);
	pair_pump(0);
	EXPECT_EQ(pair[0].nr_sent, 0);
	EXPECT(dmanic_peer_deadline(peer) > pair_now + PAIR_MS / 5);
	EXPECT(dmanic_peer_deadline(peer) < peer->rate.pace);
	pair_now += 2 * PAIR_MS;
	EXPECT(dmanic_peer_deadline(peer) < pair_now);
	pair_pump(0);
	EXPECT_EQ(pair[0].nr_sent, 1);
	EXPECT(dmanic_peer_deadline(peer) > pair_now);
	pair_end();
}

/* What went out when a round trip took long does not hold up what follows */
TEST(stream__pace_of_long_ago)
{
	begin();
	pair[0].peer->rate.srtt = PAIR_MS / 10;
	pair[0].peer->rate.pace = pair_now + 1000 * PAIR_MS;
	xfer[0] = pair_write(source, 1000, 0);
	pair_submit(0, &xfer[0]);
	pair_run(PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	pair_end();
}

/* More is to be sent than there are ids for: who waits for them asks, and is not told late */
TEST(stream__who_has_no_ids_asks)
{
	u32 i, nr;

	pair_begin_with((struct dmanic_proto_config) { .mtu = 1500, .super = 9000,
						       .operations = 16 });
	pair_connect();
	for (i = 0; i < 32; i++) {
		xfer[i] = pair_write(source, 8, 8 * i);
		pair_submit(0, &xfer[i]);
	}
	pair_pump(0);
	nr = pair[0].nr_sent;
	ASSERT(nr);
	EXPECT_EQ(pair[0].sent[nr - 1].bytes[2] & (DMANIC_WIRE_NOW | DMANIC_WIRE_LAST),
		  DMANIC_WIRE_NOW);
	pair_run(0);
	EXPECT_EQ(pair[0].completed, 32);
	pair_end();
}

/* Nothing follows, but nothing could: that is not the last */
TEST(stream__last_has_room_behind_it)
{
	static const u64 granted[] = { 1000, 100000 };
	u32 i, nr;

	for (i = 0; i < 2; i++) {
		begin();
		pair[0].peer->granted = granted[i];
		xfer[0] = pair_write(source, 1000, 0);
		pair_submit(0, &xfer[0]);
		pair_pump(0);
		nr = pair[0].nr_sent;
		ASSERT(nr);
		EXPECT_EQ(pair[0].sent[nr - 1].bytes[2] & (DMANIC_WIRE_NOW | DMANIC_WIRE_LAST),
			  i ? DMANIC_WIRE_NOW | DMANIC_WIRE_LAST : DMANIC_WIRE_NOW);
		pair_end();
	}
}

/* The first piece is refused while the rest is not sent yet: one refusal */
TEST(stream__refused_in_the_middle)
{
	begin();
	pair[0].peer->granted = 3000;
	xfer[0] = pair_write(source, 60000, 10000);	/* beyond the end */
	xfer[0].notifies = true;
	pair_submit(0, &xfer[0]);
	put(1, 8, 0);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_BOUNDS);
	EXPECT_EQ(xfer[1].status, 0);
	EXPECT_EQ(pair[1].host.stats.refused, 1);
	EXPECT_EQ(pair[1].notified, 0);
	EXPECT_EQ(pair[1].peer->nr_replies, 0);
	pair_end();
}

TEST(stream__atomic_exactly_once)
{
	u32 i, k;

	begin();
	for (i = 0; i < 8; i++)
		ask(i, DMANIC_XFER_ATOMIC, 0);
	for (k = 0; k < 6; k++) {
		pair_pump(0);
		for (i = 0; i < pair[0].nr_sent; i++)
			pair_deliver(0, i);
		drop_all(0);
		drop_all(1);	/* every answer is lost */
		pair_wait(20 * PAIR_MS);
	}
	EXPECT_EQ(pair[1].atomics, 8);
	pair_run(600 * PAIR_MS);
	EXPECT_EQ(pair[1].atomics, 8);
	EXPECT_EQ(pair[0].completed, 8);
	EXPECT_EQ(xfer[0].result, 0);
	EXPECT_EQ(xfer[1].result, 1);
	EXPECT_EQ(xfer[7].result, 1 + 2 + 3 + 4 + 5 + 6 + 7);
	pair_end();
}

TEST(stream__read)
{
	begin();
	memcpy(pair[1].memory, source, PAIR_MEMORY);
	ask(0, DMANIC_XFER_READ, 50000);
	ask(1, DMANIC_XFER_READ, 0);
	pair_run(10 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(xfer[0].result, 50000);
	EXPECT(!memcmp(sink, source, 50000));
	EXPECT_EQ(pair[1].reads, 0);
	EXPECT_EQ(pair[1].peer->nr_replies, 0);
	pair_end();
}

TEST(stream__read_is_revoked)
{
	begin();
	pair[1].peer->granted = 1500;
	ask(0, DMANIC_XFER_READ, 50000);
	pair_pump(0);
	pair_deliver(0, 0);
	EXPECT_EQ(pair[1].reads, 1);
	dmanic_peer_cancel(pair[1].peer, &pair[1].peer->reply[xfer[0].id & 0xffff].xfer,
			   DMANIC_STATUS_NO_SEGMENT);
	EXPECT_EQ(pair[1].reads, 0);
	pair_run(10 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_NO_SEGMENT);
	EXPECT_EQ(pair[1].peer->nr_replies, 0);
	pair_end();
}

/* Given up: its memory is not read again, and others go on */
TEST(stream__cancel)
{
	u32 i;

	begin();
	put(0, 30000, 0)->notifies = true;
	put(1, 1000, 40000);
	ask(2, DMANIC_XFER_READ, 1000);
	ask(3, DMANIC_XFER_ATOMIC, 0);
	pair_pump(0);
	drop_all(0);
	for (i = 0; i < 4; i++) {
		if (i == 1)
			continue;
		dmanic_peer_cancel(pair[0].peer, &xfer[i], DMANIC_STATUS_CANCELLED);
		EXPECT_EQ(xfer[i].status, DMANIC_STATUS_CANCELLED);
		xfer[i].source = NULL;	/* a fault, if it is read */
	}
	EXPECT_EQ(pair[0].completed, 3);
	pair_run(50 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 4);
	EXPECT_EQ(xfer[1].status, 0);
	EXPECT_EQ(pair[1].placed, 1000);
	EXPECT_EQ(pair[1].notified, 0);
	EXPECT_EQ(pair[1].atomics, 0);
	EXPECT_EQ(pair[0].peer->nr_free, pair[0].peer->operations);
	EXPECT_EQ(pair[1].peer->nr_replies, 0);
	pair_end();
}

TEST(stream__urgent_goes_first)
{
	begin();
	put(0, 60000, 0);
	xfer[1] = pair_write(source, 8, 100);
	xfer[1].class = DMANIC_URGENT;
	pair_submit(0, &xfer[1]);
	pair_pump(0);
	ASSERT(pair[0].nr_sent > 1);
	EXPECT(pair[0].sent[0].bytes[2] & DMANIC_WIRE_URGENT);
	EXPECT(!(pair[0].sent[1].bytes[2] & DMANIC_WIRE_URGENT));
	pair_end();
}

/* Somebody's long put does not hold up another's short one */
TEST(stream__flows_take_turns)
{
	struct dmanic_flow other;

	begin();
	dmanic_flow_init(&other, &pair[0].share[DMANIC_BULK]);
	put(0, 60000, 0);
	xfer[1] = pair_write(source, 8, 100);
	dmanic_peer_submit(pair[0].peer, &other, &xfer[1], pair_now);
	pair[0].peer->granted = 20000;
	pair_pump(0);
	while (pair[0].nr_sent) {
		pair_deliver(0, 0);
		pair_drop(0, 0);
	}
	while (pair[1].nr_sent) {
		pair_deliver(1, 0);
		pair_drop(1, 0);
	}
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT(pair[0].last == &xfer[1]);
	pair_end();
}

TEST(stream__grant_is_respected)
{
	begin();
	pair[0].peer->granted = 5000;
	put(0, 60000, 0);
	pair_pump(0);
	EXPECT(pair[0].peer->tx[DMANIC_BULK].flight <= 5000 + 1500);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	pair_end();
}

TEST(stream__many_small_ones_share_a_frame)
{
	u32 i;

	begin();
	for (i = 0; i < 20; i++)
		put(i, 8, i * 100);
	pair_pump(0);
	EXPECT_EQ(pair[0].nr_sent, 1);
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 20);
	EXPECT_EQ(pair[1].placed, 160);
	pair_end();
}

/* More operations than ids: they wait, and all end */
TEST(stream__ids_run_out)
{
	struct dmanic_proto_config config = { .operations = 4, .extents = 16, .sent = 16,
					      .ranges = 4, .early = 2 };
	u32 i;

	fill();
	pair_begin_with(config);
	for (i = 0; i < 60; i++) {
		if (i % 3 == 2) {
			ask(i, DMANIC_XFER_ATOMIC, 0);
		} else {
			put(i, 100, i * 100)->notifies = true;
			if (i % 5 == 0)
				xfer[i].key = 3;
		}
	}
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 60);
	EXPECT_EQ(pair[1].atomics, 20);
	EXPECT_EQ(pair[1].notified, 32);
	EXPECT_EQ(pair[0].peer->nr_free, 4);
	EXPECT_EQ(pair[1].peer->nr_replies, 0);
	pair_end();
}

TEST(stream__cut_anew_when_the_path_shrinks)
{
	u32 i;

	begin();
	put(0, 20000, 0);
	for (i = 1; i < 10; i++)
		put(i, 100, 30000 + 100 * i);
	pair_pump(0);
	drop_all(0);
	dmanic_host_set_mtu(&pair[0].host, 600, 600);
	dmanic_peer_set_mtu(pair[0].peer);
	for (i = 0; i < 200 && pair[0].completed < 10; i++) {
		pair_wait(PAIR_MS);
		while (pair[0].nr_sent) {
			EXPECT(pair[0].sent[0].length <= 600);
			pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		pair_settle();
	}
	EXPECT_EQ(pair[0].completed, 10);
	EXPECT_EQ(pair[1].placed, 20900);
	EXPECT(!memcmp(pair[1].memory, source, 20000));
	pair_end();
}

TEST(stream__device_that_drops)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	begin();
	put(0, 1000, 0);
	ASSERT(dmanic_peer_next(pair[0].peer, pair_now, &out));
	dmanic_peer_unsent(pair[0].peer, &out, pair_now);
	EXPECT_EQ(pair[0].peer->tx[DMANIC_BULK].flight, 0);
	pair_run(PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	pair_end();
}

/* Noted as one, as nothing was lost for long: of that its end may be missing, too */
TEST(stream__large_frame_that_lost_its_end_goes_again)
{
	struct dmanic_proto_config config = { .mtu = 1500, .super = 65535 };
	u64 first, begun;
	u32 i;

	fill();
	pair_begin_with(config);
	pair_connect();
	for (i = 0; i < 100; i++) {
		put(0, 60000, 0);
		pair_run(PAIR_MS);
	}
	ASSERT_EQ(pair[0].completed, 100);
	ASSERT(dmanic_rate_clean(pair[0].peer));
	pair_run(10 * PAIR_MS);
	put(0, 30000, 0);
	pair_pump(0);
	ASSERT(pair[0].nr_sent > 10);
	first = pair[0].host.stats.lost;
	begun = pair_now;
	for (i = 0; pair[0].nr_sent; i++) {
		/* One in the middle, and the last */
		if (i != 3 && pair[0].nr_sent > 1)
			pair_deliver(0, 0);
		pair_drop(0, 0);
	}
	do {
		pair_settle();
	} while (pair[0].completed < 101 && pair_tick(begun + 100 * PAIR_MS));
	EXPECT_EQ(pair[0].completed, 101);
	EXPECT(pair[0].host.stats.lost > first);
	EXPECT_EQ(pair[0].host.stats.tail_probes, 0);
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	pair_end();
}

/* What had arrived of it is told again while the rest is on its way: that is no news of this */
TEST(stream__part_that_is_told_again_tells_nothing_new)
{
	struct dmanic_proto_config config = { .mtu = 1500, .super = 65535 };
	struct dmanic_ack ack = { .number = 100000, .window = 1 << 20, .mtu = 1500 };
	struct dmanic_tx *tx;
	u8 bytes[1024];
	u64 sent;
	u32 i;

	fill();
	pair_begin_with(config);
	pair_connect();
	pair[0].peer->rate.clean = 1ULL << 30;
	tx = &pair[0].peer->tx[DMANIC_BULK];
	put(0, 30000, 0);
	pair_pump(0);
	while (pair[0].nr_sent)
		pair_drop(0, 0);
	ack.held = U32_MAX;
	ack.stream[DMANIC_BULK].next = tx->una;
	ack.stream[DMANIC_BULK].nr = 1;
	ack.range[0].after = 1428;
	ack.range[0].length = tx->next - tx->una - 1428;
	for (i = 0; i < 100 && !pair[0].nr_sent; i++) {
		ack.number++;
		pair_feed(0, pair[1].address, bytes,
			  dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack));
		pair_tick(pair_now + PAIR_MS);
		pair_pump(0);
	}
	ASSERT(pair[0].nr_sent > 0);
	sent = pair_now;
	pair[0].peer->rate.rtt_min = PAIR_MS / 20;
	pair_now += PAIR_MS / 10;
	ack.number++;
	pair_feed(0, pair[1].address, bytes,
		  dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack));
	EXPECT(pair[0].peer->newest[DMANIC_BULK].time < sent);
	pair_run(10 * PAIR_MS);
	pair_end();
}

/* This node had no CPU for longer than a peer may be silent: its answer is there */
TEST(stream__late_timer_is_not_silence_of_the_peer)
{
	u32 i;

	begin();
	put(0, 1000, 0);
	pair_pump(0);
	pair_deliver(0, 0);
	pair_drop(0, 0);
	pair_pump(1);
	EXPECT(pair[1].nr_sent);
	pair_now += 5000 * PAIR_MS;
	dmanic_peer_timer(pair[0].peer, pair_now);
	EXPECT_EQ(pair[0].completed, 0);
	pair_run(PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	/* A peer that is really silent is given up all the same */
	put(1, 1000, 0);
	for (i = 0; i < 12 && pair[0].completed < 2; i++) {
		pair_now += 1000 * PAIR_MS;
		dmanic_peer_timer(pair[0].peer, pair_now);
		pair_pump(0);
		while (pair[0].nr_sent)
			pair_drop(0, 0);
	}
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(xfer[1].status, DMANIC_STATUS_PEER_DEAD);
	pair_end();
}
