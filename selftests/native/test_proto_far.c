// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes that are far from each other: what takes long is not taken for lost, too long or
 * dead.
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

#define FAR_FRAMES	8192U	/* power of two */

/**
 * struct far_frame - a frame on its way
 * @at: when it arrives
 * @side: where
 * @frame: it
 */
struct far_frame {
	u64 at;
	u32 side;
	struct pair_frame frame;
};

static struct far_frame far[FAR_FRAMES];
static u32 far_head, far_tail;
static u64 far_delay;
static bool far_cable;	/* is in */
static bool far_degraded, far_lost;
static u32 far_tests;	/* long ones, of side 0 */
static u32 far_drop;	/* so many of these get lost yet */
static bool far_damages;	/* DATA of side 0 that are long */

static u8 source[PAIR_MEMORY];
static struct dmanic_xfer xfer[2];

static bool far_loses(u32 side, const struct pair_frame *frame)
{
	if (side || frame->bytes[1] != DMANIC_WIRE_TEST || frame->length < 1000)
		return false;
	far_tests++;
	return far_drop && far_drop--;
}

/* What was sent is on its way */
static void far_take(u32 side)
{
	struct pair_frame *frame;

	for (; pair[side].nr_sent; pair_drop(side, 0)) {
		frame = &pair[side].sent[0];
		if (!far_cable || far_loses(side, frame))
			continue;
		if (far_damages && !side && frame->length > 600)
			frame->bytes[frame->length - 1] ^= 1;
		far[far_tail % FAR_FRAMES] = (struct far_frame) {
			.at = pair_now + far_delay, .side = !side, .frame = *frame,
		};
		/* Not freed with the one that is dropped */
		frame->bytes = NULL;
		if (++far_tail - far_head == FAR_FRAMES)
			abort();
	}
}

static void far_look(u32 side)
{
	far_degraded |= pair[side].event == DMANIC_PEER_DEGRADED;
	far_lost |= pair[side].event == DMANIC_PEER_LOST;
	pair[side].event = 0;
}

static void far_arrive(void)
{
	struct far_frame *frame = &far[far_head++ % FAR_FRAMES];

	pair_feed(frame->side, frame->frame.from, frame->frame.bytes, frame->frame.length);
	free(frame->frame.bytes);
}

static void far_pass(u64 ns)
{
	u64 until = pair_now + ns, at;
	u32 i;

	for (;;) {
		for (i = 0; i < 2; i++) {
			pair_pump(i);
			far_take(i);
		}
		at = min(dmanic_peer_deadline(pair[0].peer), dmanic_peer_deadline(pair[1].peer));
		if (far_head != far_tail)
			at = min(at, far[far_head % FAR_FRAMES].at);
		if (at > until)
			break;
		pair_now = max(at, pair_now + 1);
		while (far_head != far_tail && far[far_head % FAR_FRAMES].at <= pair_now)
			far_arrive();
		for (i = 0; i < 2; i++) {
			dmanic_peer_timer(pair[i].peer, pair_now);
			far_look(i);
		}
	}
	pair_now = until;
}

static void far_begin(struct dmanic_proto_config config, u64 round_trip)
{
	far_delay = round_trip / 2;
	far_cable = true;
	pair_begin_with(config);
	xfer[0] = pair_write(source, 1, 0);
	pair_submit(0, &xfer[0]);
}

static void far_end(void)
{
	for (; far_head != far_tail; far_head++)
		free(far[far_head % FAR_FRAMES].frame.bytes);
	pair_end();
}

/* The side that was asked sends its first data when nobody knows yet how long it takes */
TEST(far__first_data_do_not_degrade)
{
	static const u64 trips[] = { 20, 50, 150, 250, 400, 600 };
	u64 offset;
	u32 i;

	for (i = 0; i < sizeof(trips) / sizeof(*trips); i++) {
		for (offset = 0; offset < trips[i] + 20; offset += 4) {
			struct dmanic_proto_config config = {
				.mtu = 1500, .super = 65535, .rto_ns = 4 * PAIR_MS,
			};

			far_degraded = false;
			far_begin(config, trips[i] * PAIR_MS);
			while (pair[1].peer->state != DMANIC_PEER_OPEN)
				far_pass(PAIR_MS / 4);
			far_pass(offset * PAIR_MS);
			xfer[1] = pair_write(source, 5000, 0);
			pair_submit(1, &xfer[1]);
			far_pass(4 * trips[i] * PAIR_MS);
			EXPECT_EQ(xfer[1].result, 5000);
			EXPECT(!far_degraded);
			far_end();
		}
	}
}

/* One after the other. Return: what of side 0's was sent again */
static u64 far_writes(u32 nr)
{
	u64 before = pair[0].host.stats.data_again;
	u64 end;

	/* The first is on its way since the beginning */
	while (!xfer[0].result)
		far_pass(PAIR_MS);
	while (nr--) {
		xfer[0] = pair_write(source, 5000, 0);
		pair_submit(0, &xfer[0]);
		end = pair_now + 20000 * PAIR_MS;
		while (xfer[0].result != 5000 && pair_now < end)
			far_pass(PAIR_MS);
		EXPECT_EQ(xfer[0].result, 5000);
	}
	return pair[0].host.stats.data_again - before;
}

/* How long an answer takes is learned, so that what takes long is not sent again */
TEST(far__time_out_becomes_longer_than_a_round_trip)
{
	static const u64 trips[] = { 20, 100, 300 };
	struct dmanic_proto_config config = { .mtu = 1500, .super = 1500, .rto_ns = 4 * PAIR_MS };
	u64 timeouts;
	u32 i;

	for (i = 0; i < sizeof(trips) / sizeof(*trips); i++) {
		far_begin(config, trips[i] * PAIR_MS);
		far_writes(10);
		timeouts = pair[0].host.stats.timeouts;
		EXPECT_EQ(far_writes(20), 0);
		EXPECT_EQ(pair[0].host.stats.timeouts, timeouts);
		far_end();
	}
}

/* What arrives damaged is answered, and sent again for that, not because it was late */
TEST(far__damage_is_no_silence)
{
	struct dmanic_proto_config config = {
		.mtu = 1500, .super = 1500, .rto_ns = 50 * PAIR_MS,
		.features = DMANIC_WIRE_PAYLOAD_CRC,
	};
	u64 window;
	u32 i;

	far_begin(config, 20 * PAIR_MS);
	far_writes(10);
	window = pair[0].peer->rate.window;
	far_damages = true;
	/* Of one something is always on its way */
	for (i = 0; i < 2; i++) {
		xfer[i] = pair_write(source, 5000, 0);
		pair_submit(0, &xfer[i]);
		far_pass(10 * PAIR_MS);
	}
	far_pass(110 * PAIR_MS);
	far_damages = false;
	EXPECT_EQ(pair[0].completed, 11);
	far_pass(40 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 13);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT(pair[1].host.stats.dropped[DMANIC_DROP_CORRUPT] > 20);
	EXPECT_EQ(pair[0].host.stats.timeouts, 0);
	EXPECT_EQ(pair[0].host.stats.tail_probes, 0);
	EXPECT(pair[0].peer->rate.window >= window);
	far_end();
}

/* And what has become short again: what is lost then does not wait as long as before */
TEST(far__time_out_becomes_shorter_with_the_round_trip)
{
	struct dmanic_proto_config config = { .mtu = 1500, .super = 1500, .rto_ns = 4 * PAIR_MS };
	u64 begin;

	far_begin(config, 300 * PAIR_MS);
	far_writes(10);
	far_delay = PAIR_MS / 2;
	far_writes(100);
	begin = pair_now;
	far_cable = false;
	xfer[0] = pair_write(source, 8, 0);
	pair_submit(0, &xfer[0]);
	far_pass(PAIR_MS);
	far_cable = true;
	while (xfer[0].result != 8 && pair_now < begin + 1000 * PAIR_MS)
		far_pass(PAIR_MS);
	EXPECT(pair_now > begin + 2 * PAIR_MS);
	EXPECT(pair_now < begin + 20 * PAIR_MS);
	far_end();
}

/* Nobody wants anything of an idle peer: it may be away until it is asked, and again for @dead_ns */
TEST(far__idle_peer_may_be_away_when_its_mtu_changes)
{
	struct dmanic_proto_config config = {
		.mtu = 9000, .super = 65535, .dead_ns = 200 * PAIR_MS,
	};

	far_begin(config, PAIR_MS / 10);
	far_pass(5010 * PAIR_MS);
	far_lost = false;
	far_cable = false;
	dmanic_host_set_mtu(&pair[0].host, 4000, 65535);
	dmanic_peer_set_mtu(pair[0].peer);
	far_pass(900 * PAIR_MS);
	far_cable = true;
	far_pass(3000 * PAIR_MS);
	EXPECT(!far_lost);
	EXPECT_EQ(pair[0].peer->path.carried, 4000);
	EXPECT_EQ(pair[1].peer->mtu, 4000);
	far_end();
}

/* Some get lost; that others are not answered at once tells nothing, and few are sent */
static void few_tests(bool measured)
{
	struct dmanic_proto_config config = { .mtu = 1500, .super = 1500, .rto_ns = 4 * PAIR_MS };
	u32 i, side = measured ? 0 : 1;

	far_begin(config, 400 * PAIR_MS);
	far_drop = 3;
	far_tests = 0;
	far_degraded = false;
	while (pair[side].peer->state != DMANIC_PEER_OPEN)
		far_pass(PAIR_MS);
	/* The other side's data are answered all the time */
	for (i = 0; i < 100; i++) {
		xfer[1] = pair_write(source, 8, 0);
		pair_submit(1, &xfer[1]);
		far_pass(100 * PAIR_MS);
		if (!xfer[1].result)
			far_pass(1000 * PAIR_MS);
	}
	EXPECT(!far_degraded);
	EXPECT_EQ(pair[0].peer->path.carried, 1500);
	EXPECT(far_tests > 3 && far_tests < 10);
	far_end();
}

TEST(far__lost_tests_do_not_degrade)
{
	few_tests(true);
	few_tests(false);
}
