// SPDX-License-Identifier: GPL-2.0-only
/*
 * How two nodes find and lose each other: every order in which frames of the
 * handshake can arrive, get lost or come twice; restarts; versions; and what
 * frames of strangers cannot do.
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
static struct dmanic_xfer xfer[8];

static void put(u32 side, struct dmanic_xfer *which)
{
	*which = pair_write(source, 8, 0);
	pair_submit(side, which);
}

/* Both are open with each other's tags, or neither is open */
static void consistent(void)
{
	struct dmanic_peer *a = pair[0].peer, *b = pair[1].peer;

	if (!pair_open())
		return;
	EXPECT(a->remote_tag == b->local_tag);
	EXPECT(b->remote_tag == a->local_tag);
	EXPECT_EQ(a->mtu, b->mtu);
	EXPECT_EQ(a->operations, b->operations);
}

/* Each side knows where the other is */
static void know(void)
{
	pair[0].peer->address = pair[1].address;
	pair[1].peer->address = pair[0].address;
}

static void restart(u32 i, u64 incarnation)
{
	struct dmanic_proto_config config = { .mtu = 1500, .super = 9000 };

	pair_start(i, incarnation, config);
}

TEST(handshake__three_frames)
{
	pair_begin();
	know();
	put(0, &xfer[0]);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_OPENING);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_INIT);
	pair_deliver(0, 0);
	ASSERT_EQ(pair[1].nr_sent, 1);
	EXPECT_EQ(pair_type(1, 0), DMANIC_WIRE_ANSWER);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPENING);
	pair_deliver(1, 0);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_PAIRED);
	ASSERT_EQ(pair[0].nr_sent, 2);
	EXPECT_EQ(pair_type(0, 1), DMANIC_WIRE_ANSWER);
	pair_deliver(0, 1);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPEN);
	ASSERT_EQ(pair[1].nr_sent, 3);
	EXPECT_EQ(pair_type(1, 1), DMANIC_WIRE_ACK);
	EXPECT_EQ(pair_type(1, 2), DMANIC_WIRE_TEST);
	pair_deliver(1, 1);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_OPEN);
	consistent();
	ASSERT_EQ(pair[0].nr_sent, 4);
	EXPECT_EQ(pair_type(0, 2), DMANIC_WIRE_DATA);
	EXPECT_EQ(pair_type(0, 3), DMANIC_WIRE_TEST);
	pair_end();
}

/*
 * Every sequence of choices for the first STEPS events: deliver the oldest or the
 * newest frame of a side (this one will arrive again), let time pass, drop one. Then the network is
 * good, and the operation must end.
 */
#define STEPS	6
#define CHOICES	6

static void choose(u32 choice)
{
	u32 side = choice & 1;

	if (choice >= 4) {
		pair_wait(15 * PAIR_MS);
		if (choice == 5 && pair[0].nr_sent)
			pair_drop(0, 0);
		return;
	}
	if (!pair[side].nr_sent)
		return;
	if (choice & 2) {
		/* It arrives, and will arrive once more some time */
		pair_deliver(side, pair[side].nr_sent - 1);
	} else {
		pair_deliver(side, 0);
		pair_drop(side, 0);
	}
}

static void interleaving(u32 sequence, bool both, bool known)
{
	/* Little memory, for this is done often */
	struct dmanic_proto_config config = { .operations = 4, .extents = 16, .sent = 16,
					      .ranges = 4, .early = 2 };
	u32 i;

	pair_begin_with(config);
	if (known)
		know();
	put(0, &xfer[0]);
	if (both)
		put(1, &xfer[1]);
	pair_pump(0);
	pair_pump(1);
	for (i = 0; i < STEPS; i++, sequence /= CHOICES) {
		choose(sequence % CHOICES);
		consistent();
	}
	pair_run(600 * PAIR_MS);
	EXPECT(pair_open());
	consistent();
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_OK);
	EXPECT_EQ(pair[1].placed, 8);
	EXPECT_EQ(pair[1].completed, both);
	EXPECT_EQ(pair[0].tags_told + pair[1].tags_told, 0);
	pair_end();
}

TEST(handshake__all_interleavings)
{
	u32 i, end = 1;

	for (i = 0; i < STEPS; i++)
		end *= CHOICES;
	for (i = 0; i < end && !unit_failed; i++) {
		interleaving(i, i / 7 % 2, false);
		interleaving(i, false, true);
		interleaving(i, true, true);
		if (unit_failed)
			printf("# sequence %u\n", i);
	}
}

TEST(handshake__simultaneous)
{
	pair_begin();
	know();
	put(0, &xfer[0]);
	put(1, &xfer[1]);
	pair_pump(0);
	pair_pump(1);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_INIT);
	EXPECT_EQ(pair_type(1, 0), DMANIC_WIRE_INIT);
	pair_settle();
	EXPECT(pair_open());
	consistent();
	EXPECT_EQ(pair[0].host.stats.connections, 1);
	pair_end();
}

/* Who only listens must not learn a tag: he could speak for the other side */
TEST(handshake__asks_where_before_it_tells_a_tag)
{
	pair_begin();
	put(0, &xfer[0]);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_HELLO);
	EXPECT(pair[0].sent[0].to == DMANIC_EVERYBODY);
	pair_deliver(0, 0);
	ASSERT_EQ(pair[1].nr_sent, 1);
	EXPECT_EQ(pair_type(1, 0), DMANIC_WIRE_HELLO);
	pair_deliver(1, 0);
	ASSERT_EQ(pair[0].nr_sent, 2);
	EXPECT_EQ(pair_type(0, 1), DMANIC_WIRE_INIT);
	EXPECT(pair[0].sent[1].to == pair[1].address);
	/* All of it is lost, for as long as it takes */
	pair_wait(1900 * PAIR_MS);
	EXPECT_EQ(pair[0].tags_told, 0);
	EXPECT_EQ(pair[0].completed, 0);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 1);
	pair_end();
}

/* It is elsewhere than it was: what goes there is not what was told before */
TEST(handshake__moved_peer_gets_another_tag)
{
	u64 tag;

	pair_begin();
	pair[0].peer->address = 555;
	put(0, &xfer[0]);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_INIT);
	tag = pair[0].peer->local_tag;
	pair_run(30 * PAIR_MS);
	EXPECT(pair_open());
	EXPECT(pair[0].peer->local_tag != tag);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(pair[0].tags_told, 0);
	pair_end();
}

/* He says where a node is who was not asked, or says it twice */
TEST(handshake__unasked_hello_moves_nobody)
{
	struct dmanic_hello hello = {
		.node = 1, .to = 0, .incarnation = 1, .mtu = 1500, .operations = 1,
		.version_min = 1, .version_max = 1, .window = 1000,
	};
	u8 bytes[1024];
	u32 length;
	u64 tag;

	pair_begin();
	know();
	put(0, &xfer[0]);
	pair_pump(0);
	tag = pair[0].peer->local_tag;
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_HELLO, DMANIC_WIRE_REPLY, 0, &hello);
	pair_feed(0, 666, bytes, length);
	EXPECT_EQ(pair[0].peer->address, 101);
	pair_wait(15 * PAIR_MS);
	pair_feed(0, 666, bytes, length);
	EXPECT_EQ(pair[0].peer->address, 666);
	EXPECT(pair[0].peer->local_tag != tag);
	tag = pair[0].peer->local_tag;
	pair_feed(0, 667, bytes, length);
	EXPECT_EQ(pair[0].peer->address, 666);
	EXPECT(pair[0].peer->local_tag == tag);
	/* The right one is found in the end */
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	pair_end();
}

TEST(handshake__nobody_there)
{
	pair_begin();
	put(0, &xfer[0]);
	pair_pump(0);
	pair_wait(1900 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 0);
	EXPECT(pair[0].nr_sent >= 5);
	EXPECT(pair[0].nr_sent < 50);
	pair_wait(200 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_LOST);
	EXPECT(dmanic_peer_idle(pair[0].peer));
	pair_end();
}

/* Frames of a connection that is gone */
TEST(handshake__old_frames_change_nothing)
{
	struct pair_frame old[64];
	u32 i, nr;
	u64 tag;

	pair_begin();
	know();
	put(0, &xfer[0]);
	pair_pump(0);
	pair_deliver(0, 0);
	pair_deliver(1, 0);
	pair_deliver(0, 1);
	pair_deliver(1, 1);
	nr = pair[0].nr_sent;
	for (i = 0; i < nr; i++) {
		old[i] = pair[0].sent[i];
		old[i].bytes = malloc(old[i].length);
		memcpy(old[i].bytes, pair[0].sent[i].bytes, old[i].length);
	}
	pair_run(10 * PAIR_MS);
	tag = pair[1].peer->remote_tag;
	for (i = 0; i < nr; i++)
		pair_feed(1, old[i].from, old[i].bytes, old[i].length);
	EXPECT(pair[1].peer->remote_tag == tag);
	EXPECT(pair_open());
	EXPECT_EQ(pair[1].placed, 8);
	/* After a restart of the target they mean nothing at all */
	restart(1, 2001);
	for (i = 0; i < nr; i++)
		pair_feed(1, old[i].from, old[i].bytes, old[i].length);
	EXPECT_EQ(pair[1].placed, 0);
	EXPECT(pair[1].peer->state < DMANIC_PEER_PAIRED);
	for (i = 0; i < nr; i++)
		free(old[i].bytes);
	pair_end();
}

TEST(handshake__restart_is_told_from_reconnect)
{
	pair_begin();
	pair_connect();
	restart(1, 2001);
	put(0, &xfer[0]);
	put(0, &xfer[1]);
	pair_settle();
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_RESTARTED);
	EXPECT_EQ(xfer[1].status, DMANIC_STATUS_PEER_RESTARTED);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RESTARTED);
	put(0, &xfer[2]);
	/* One that was meant for the node as it was is not sent to the new one */
	xfer[3] = pair_write(source, 8, 0);
	xfer[3].incarnation = 2000;
	pair_submit(0, &xfer[3]);
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(xfer[2].status, DMANIC_STATUS_OK);
	EXPECT_EQ(xfer[3].status, DMANIC_STATUS_PEER_RESTARTED);
	EXPECT_EQ(pair[1].placed, 8);
	/* The same machine, which only forgot */
	restart(1, 2001);
	put(0, &xfer[4]);
	pair_settle();
	EXPECT_EQ(xfer[4].status, DMANIC_STATUS_PEER_DEAD);
	pair_end();
}

/* Who restarted is answered as soon as it asks, though we think it lives */
TEST(handshake__restarted_peer_asks)
{
	pair_begin();
	pair_connect();
	restart(0, 1001);
	pair_now += 100 * PAIR_MS;
	put(0, &xfer[0]);
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_OK);
	EXPECT_EQ(pair[1].host.stats.restarts, 1);
	pair_end();
}

static struct dmanic_hello forged(void)
{
	return (struct dmanic_hello) {
		.node = 0, .to = 1, .incarnation = 1, .tag = 99, .mtu = 1500,
		.operations = 1, .version_min = 1, .version_max = 1, .window = 1000,
	};
}

TEST(handshake__forged_frames_end_nothing)
{
	struct dmanic_hello hello = forged();
	struct dmanic_ack ack = { .number = 1000, .window = 1, .mtu = 1500 };
	u64 local, remote;
	u8 bytes[1024];
	u32 i, length;

	pair_begin();
	pair_connect();
	local = pair[1].peer->local_tag;
	remote = pair[1].peer->remote_tag;
	for (i = 0; i < 100; i++) {
		length = dmanic_hello_encode(bytes, DMANIC_WIRE_INIT, 0, 0, &hello);
		pair_feed(1, i % 2 ? 100 : 666, bytes, length);
		length = dmanic_hello_encode(bytes, DMANIC_WIRE_ANSWER, i % 2, local, &hello);
		pair_feed(1, 666, bytes, length);
		length = dmanic_reset_encode(bytes, local + i, 0, 5);
		pair_feed(1, 100, bytes, length);
		length = dmanic_reset_encode(bytes, remote + 1 + i, 0, 5);
		pair_feed(1, 666, bytes, length);
		length = dmanic_ack_encode(bytes, local, &ack);
		pair_feed(1, 666, bytes, length);
		length = dmanic_ack_encode(bytes, local + 1, &ack);
		pair_feed(1, 100, bytes, length);
	}
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPEN);
	EXPECT(pair[1].peer->local_tag == local);
	EXPECT(pair[1].peer->remote_tag == remote);
	EXPECT(pair[1].host.stats.dropped[DMANIC_DROP_STRANGER] >= 300);
	/* Strangers get few answers; the one in doubt says that it lives */
	EXPECT(pair[1].nr_sent <= 2 * 64);
	pair_run(3000 * PAIR_MS);
	EXPECT(pair[1].peer->local_tag == local);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPEN);
	pair_end();
}

/* Who has heard a tag says so from elsewhere: an ACK of that may not take the window */
TEST(handshake__tag_is_good_for_one_address)
{
	struct dmanic_ack ack = { .number = 1000, .window = 1, .mtu = 1500 };
	u64 *dropped = &pair[1].host.stats.dropped[DMANIC_DROP_STRANGER], before;
	u8 bytes[1024];
	u32 length;

	pair_begin();
	pair_connect();
	before = *dropped;
	length = dmanic_ack_encode(bytes, pair[1].peer->local_tag, &ack);
	pair_feed(1, 666, bytes, length);
	EXPECT_EQ(*dropped, before + 1);
	EXPECT(pair[1].peer->granted > 1);
	pair_feed(1, 100, bytes, length);
	EXPECT_EQ(*dropped, before + 1);
	EXPECT_EQ(pair[1].peer->granted, 1);
	pair_end();
}

/* Who was told the tag of an attempt has it answered in the name of another: that is not his */
TEST(handshake__answer_from_where_nobody_was_asked_is_a_strangers)
{
	u64 *dropped = &pair[0].host.stats.dropped[DMANIC_DROP_STRANGER], told;

	pair_begin();
	pair[0].peer->address = 666;
	put(0, &xfer[0]);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	told = pair[0].peer->local_tag;
	pair_feed(1, 100, pair[0].sent[0].bytes, pair[0].sent[0].length);
	ASSERT_EQ(pair_type(1, 0), DMANIC_WIRE_ANSWER);
	pair_deliver(1, 0);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_OPENING);
	EXPECT_EQ(*dropped, 1);
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_OK);
	EXPECT(pair[0].peer->local_tag != told);
	pair_end();
}

/* One frame, or time goes on; side 0 gets all before side 1 gets anything */
static void step(void)
{
	u32 i = pair[1].nr_sent ? 1 : 0;

	if (pair[i].nr_sent) {
		pair_deliver(i, 0);
		pair_drop(i, 0);
	} else {
		pair_tick(DMANIC_NEVER - 1);
	}
}

/*
 * Side 1 is connected, sends, and starts again before any of that has arrived: of its new
 * connection those are no frames
 */
TEST(handshake__frames_to_an_attempt_that_went_on_are_lost)
{
	struct pair_frame old = { .bytes = NULL };
	u32 i;

	pair_begin();
	know();
	memset(source, 1, sizeof(source));
	memset(source + 64, 2, 64);
	put(0, &xfer[0]);
	pair_pump(0);
	pair_deliver(0, 0);
	pair_deliver(1, 0);
	ASSERT_EQ(pair[0].peer->state, DMANIC_PEER_PAIRED);
	xfer[1] = pair_write(source, 64, 1000);
	pair_submit(1, &xfer[1]);
	pair_deliver(0, 1);
	ASSERT_EQ(pair[1].peer->state, DMANIC_PEER_OPEN);
	for (i = 0; i < pair[1].nr_sent; i++) {
		if (pair_type(1, i) != DMANIC_WIRE_DATA)
			continue;
		free(old.bytes);
		old = pair[1].sent[i];
		old.bytes = malloc(old.length);
		memcpy(old.bytes, pair[1].sent[i].bytes, old.length);
	}
	ASSERT(old.bytes);
	while (pair[0].nr_sent)
		pair_drop(0, 0);
	restart(1, 2001);
	pair[1].peer->address = pair[0].address;
	xfer[2] = pair_write(source + 64, 64, 2000);
	pair_submit(1, &xfer[2]);
	pair_pump(1);
	for (i = 0; i < 1000 && pair[0].peer->state != DMANIC_PEER_OPEN; i++)
		step();
	ASSERT_EQ(pair[0].peer->state, DMANIC_PEER_OPEN);
	pair_feed(0, old.from, old.bytes, old.length);
	EXPECT_EQ(pair[0].memory[1000], 0);
	pair_run(3000 * PAIR_MS);
	EXPECT_EQ(pair[1].completed, 1);
	EXPECT_EQ(xfer[2].status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(pair[0].memory + 2000, source + 64, 64), 0);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_OK);
	free(old.bytes);
	pair_end();
}

/* Nor is who was doubted, and asked once or not even that, before this node had no CPU */
static void doubt_while_nobody_looks(bool asked)
{
	struct dmanic_hello hello = forged();
	u8 bytes[1024];
	u32 length;

	pair_begin();
	pair_connect();
	pair_run(100 * PAIR_MS);
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_INIT, 0, 0, &hello);
	pair_feed(1, 666, bytes, length);
	if (asked)
		pair_pump(1);
	pair_now += 1100 * PAIR_MS;
	dmanic_peer_timer(pair[1].peer, pair_now);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPEN);
	pair_run(3000 * PAIR_MS);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPEN);
	/* It does when nobody answers */
	pair_now += 20 * PAIR_MS;
	pair_feed(1, 666, bytes, length);
	pair_pump(1);
	pair_wait(1500 * PAIR_MS);
	EXPECT(pair[1].peer->state != DMANIC_PEER_OPEN);
	pair_end();
}

TEST(handshake__doubt_does_not_end_while_nobody_looks)
{
	doubt_while_nobody_looks(true);
	doubt_while_nobody_looks(false);
}

/* Nobody looks at the time of side 0 for @ns, and then it gives nobody up */
static void away(u64 ns)
{
	pair_now += ns;
	dmanic_peer_timer(pair[0].peer, pair_now);
	EXPECT_EQ(pair[0].completed, 0);
}

/* Side 0 hears something that tells no more than that the other is there */
static void heard(void)
{
	u8 bytes[DMANIC_WIRE_HEAD_MAX];

	pair_feed(0, pair[1].address, bytes,
		  dmanic_probe_encode(bytes, pair[0].peer->local_tag));
}

/* Within @ns the other side answers, and what was asked of it is done */
static void lives(u64 ns)
{
	pair_run(ns);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_OK);
}

/* However long: what has arrived meanwhile is looked at before anybody is given up */
TEST(handshake__nobody_is_dead_who_could_not_be_heard)
{
	pair_begin();
	pair_connect();
	put(0, &xfer[0]);
	pair_pump(0);
	away(9000 * PAIR_MS);
	pair_pump(0);
	away(PAIR_MS);
	lives(0);
	pair_end();
}

/* Nor if that is looked at first, and tells nothing of what was lost */
TEST(handshake__nobody_is_dead_who_is_heard_before_time_is_looked_at)
{
	pair_begin();
	pair_connect();
	put(0, &xfer[0]);
	pair_pump(0);
	while (pair[0].nr_sent)
		pair_drop(0, 0);
	pair_now += 9000 * PAIR_MS;
	heard();
	away(0);
	lives(PAIR_MS);
	pair_end();
}

/* Nor who was asked often, when something was lost, and answered while nobody looked */
TEST(handshake__nobody_is_dead_whose_answers_nobody_looked_at)
{
	pair_begin();
	pair_connect();
	put(0, &xfer[0]);
	pair_wait(400 * PAIR_MS);
	EXPECT(pair[0].peer->asked >= 4);
	while (pair[0].nr_sent) {
		pair_deliver(0, 0);
		pair_drop(0, 0);
	}
	away(2100 * PAIR_MS);
	lives(0);
	pair_end();
}

/* But that is no reason to wait for ever: it is asked anew, and then it is dead */
TEST(handshake__who_is_dead_while_nobody_looks_is_given_up)
{
	u64 begin;

	pair_begin();
	pair_connect();
	put(0, &xfer[0]);
	pair_wait(400 * PAIR_MS);
	away(2100 * PAIR_MS);
	begin = pair_now;
	/* Always late */
	while (!pair[0].completed && pair_now - begin < 20000 * PAIR_MS) {
		pair_now += 600 * PAIR_MS;
		dmanic_peer_timer(pair[0].peer, pair_now);
		pair_pump(0);
	}
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT(pair_now - begin <= 3000 * PAIR_MS);
	pair_end();
}

/* What was awaited has come: it is asked again as soon as who is idle is */
TEST(handshake__who_waits_no_more_is_idle)
{
	struct dmanic_proto_config config = {
		.mtu = 1500, .super = 9000, .dead_ns = 60000 * PAIR_MS,
	};
	u64 begin;

	pair_begin_with(config);
	pair_connect();
	pair_run(3000 * PAIR_MS);
	put(0, &xfer[0]);
	pair_settle();
	ASSERT_EQ(pair[0].completed, 1);
	begin = pair_now;
	while (!pair[0].nr_sent && pair_now - begin < 30000 * PAIR_MS) {
		pair_now = max(dmanic_peer_deadline(pair[0].peer), pair_now + 1);
		dmanic_peer_timer(pair[0].peer, pair_now);
		pair_pump(0);
	}
	ASSERT_EQ(pair[0].nr_sent, 1);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_PROBE);
	EXPECT(pair_now - begin <= 1000 * PAIR_MS);
	pair_end();
}

/* Nor is it dead sooner because something before had been awaited, and came */
TEST(handshake__who_is_asked_again_has_all_of_the_time)
{
	pair_begin();
	pair_connect();
	pair_run(3000 * PAIR_MS);
	put(0, &xfer[0]);
	pair_settle();
	ASSERT_EQ(pair[0].completed, 1);
	pair_now += 900 * PAIR_MS;
	put(0, &xfer[1]);
	pair_pump(0);
	EXPECT(dmanic_peer_deadline(pair[0].peer) > pair_now);
	pair_wait(1700 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_OPEN);
	pair_end();
}

/* All but data arrives, and what is said to that */
static void without_data(void)
{
	u32 side;

	pair_pump(0);
	while (pair[0].nr_sent || pair[1].nr_sent) {
		side = !pair[0].nr_sent;
		if (pair_type(side, 0) != DMANIC_WIRE_DATA)
			pair_deliver(side, 0);
		pair_drop(side, 0);
	}
}

/* Nothing can go on while this node has no CPU, be that often */
TEST(handshake__stream_stands_still_while_nobody_looks)
{
	pair_begin();
	pair_connect();
	put(0, &xfer[0]);
	without_data();
	away(7000 * PAIR_MS);
	without_data();
	pair_now += 20 * PAIR_MS;
	heard();
	away(1990 * PAIR_MS);
	without_data();
	/* Or it hears something before it looks at the time */
	heard();
	pair_now += 1990 * PAIR_MS;
	heard();
	away(0);
	lives(100 * PAIR_MS);
	pair_end();
}

/* But who only says that he is there is given up, however late that is looked at */
static void only_there(u64 late)
{
	u64 begin;

	pair_begin();
	pair_connect();
	put(0, &xfer[0]);
	for (begin = pair_now; !pair[0].completed && pair_now - begin < 60000 * PAIR_MS;) {
		without_data();
		pair_now = max(dmanic_peer_deadline(pair[0].peer), pair_now + 1) + late;
		dmanic_peer_timer(pair[0].peer, pair_now);
	}
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT(pair_now - begin >= 8000 * PAIR_MS);
	EXPECT(pair_now - begin <= 8000 * PAIR_MS + 32 * late);
	pair_end();
}

TEST(handshake__who_is_there_and_takes_nothing_is_given_up)
{
	only_there(0);
	only_there(300 * PAIR_MS);
	only_there(1000 * PAIR_MS);
}

/* This node had no CPU for long: time alone does not tell that nobody answers */
TEST(handshake__nobody_is_dead_who_was_not_asked)
{
	u64 begin;

	pair_begin();
	put(0, &xfer[0]);
	pair_pump(0);
	pair_drop(0, 0);
	begin = pair_now;
	away(60 * 1000 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_OPENING);
	lives(1000 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_OPEN);
	EXPECT(pair_now - begin < 62 * 1000 * PAIR_MS);
	pair_end();
}

/* And the answer was there, in a queue */
TEST(handshake__nobody_is_dead_who_just_answered)
{
	pair_begin();
	know();
	put(0, &xfer[0]);
	pair_pump(0);
	pair_deliver(0, 0);
	pair_now += 60 * 1000 * PAIR_MS;
	pair_deliver(1, 0);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_PAIRED);
	away(0);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_PAIRED);
	lives(1000 * PAIR_MS);
	pair_end();
}

/* A link that has no room for another peer may take one that only was asked */
TEST(handshake__who_only_was_asked_is_idle)
{
	struct dmanic_hello hello = forged();
	u8 bytes[1024];
	u32 length;

	pair_begin();
	EXPECT(dmanic_peer_idle(pair[1].peer));
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_INIT, 0, 0, &hello);
	pair_feed(1, 666, bytes, length);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPENING);
	EXPECT(dmanic_peer_idle(pair[1].peer));
	EXPECT(pair[1].peer->incarnation == 0);
	put(1, &xfer[0]);
	EXPECT(!dmanic_peer_idle(pair[1].peer));
	pair_run(100 * PAIR_MS);
	EXPECT(pair_open());
	EXPECT(!dmanic_peer_idle(pair[0].peer));
	/* A tag that was told is worth nothing any more */
	restart(1, 2001);
	pair_feed(1, 666, bytes, length);
	dmanic_peer_forget(pair[1].peer);
	EXPECT(pair[1].peer->local_tag == 0);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_CLOSED);
	pair_end();
}

TEST(handshake__versions)
{
	struct dmanic_hello hello = forged();
	struct dmanic_head head;
	struct dmanic_refuse refuse;
	u8 bytes[1024];
	u32 length;

	pair_begin();
	hello.version_min = 2;
	hello.version_max = 9;
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_INIT, 0, 0, &hello);
	pair_feed(1, 100, bytes, length);
	ASSERT_EQ(pair[1].nr_sent, 1);
	ASSERT_EQ(dmanic_head_decode(pair[1].sent[0].bytes, 32, 32, &head), 0);
	ASSERT_EQ(dmanic_refuse_decode(pair[1].sent[0].bytes, &head, &refuse), 0);
	EXPECT_EQ(refuse.reason, DMANIC_REFUSE_VERSION);
	EXPECT_EQ(refuse.version_max, DMANIC_WIRE_MAX);
	EXPECT_EQ(head.tag, 99);
	/* A later version may begin its frames with a later number */
	bytes[0] = 2;
	dmanic_head_seal(bytes, length);
	pair_feed(1, 100, bytes, length);
	EXPECT_EQ(pair[1].nr_sent, 2);
	EXPECT_EQ(pair_type(1, 1), DMANIC_WIRE_REFUSE);
	bytes[1] = 200;
	dmanic_head_seal(bytes, length);
	pair_feed(1, 100, bytes, length);
	EXPECT_EQ(pair[1].nr_sent, 2);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_CLOSED);
	pair_end();
}

TEST(handshake__refused)
{
	struct dmanic_refuse refuse = { 1, DMANIC_REFUSE_VERSION, 2, 2 };
	u8 bytes[1024];
	u32 length;

	pair_begin();
	know();
	put(0, &xfer[0]);
	pair_pump(0);
	length = dmanic_refuse_encode(bytes, pair[0].peer->local_tag, &refuse);
	pair_feed(0, 101, bytes, length);
	/* It may be a lie: the operation has its time */
	EXPECT_EQ(pair[0].completed, 0);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_REFUSED);
	pair_wait(2100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_UNSUPPORTED);
	pair_end();
}

TEST(handshake__hello)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u32 i;

	pair_begin();
	dmanic_host_hello(&pair[0].host, &out);
	EXPECT(out.to == DMANIC_EVERYBODY);
	pair_feed(1, 100, head, out.head_length);
	ASSERT_EQ(pair[1].nr_sent, 1);
	EXPECT_EQ(pair_type(1, 0), DMANIC_WIRE_HELLO);
	EXPECT_EQ(pair[1].peer->address, 100);
	/* An answer is not answered, nor is our own */
	pair_deliver(1, 0);
	EXPECT_EQ(pair[0].nr_sent, 0);
	pair_feed(0, 100, head, out.head_length);
	EXPECT_EQ(pair[0].nr_sent, 0);
	/* The same id elsewhere is refused */
	pair[0].host.config.incarnation++;
	pair_feed(0, 100, head, out.head_length);
	ASSERT_EQ(pair[0].nr_sent, 1);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_REFUSE);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_RIVAL);
	/* Not more than some at once */
	for (i = 0; i < 1000; i++)
		pair_feed(1, 100, head, out.head_length);
	EXPECT_EQ(pair[1].nr_sent, 64);
	EXPECT(pair[1].host.stats.dropped[DMANIC_DROP_RATE] >= 900);
	pair_end();
}

TEST(handshake__close_tells_the_other_side)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	pair_begin();
	pair_connect();
	put(1, &xfer[0]);
	put(0, &xfer[1]);
	dmanic_peer_close(pair[0].peer, DMANIC_STATUS_LINK_DOWN, &out);
	EXPECT_EQ(xfer[1].status, DMANIC_STATUS_LINK_DOWN);
	ASSERT(out.head_length);
	pair_feed(1, 100, head, out.head_length);
	EXPECT_EQ(pair[1].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT(dmanic_peer_idle(pair[0].peer) && dmanic_peer_idle(pair[1].peer));
	pair_end();
}
