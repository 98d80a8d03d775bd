// SPDX-License-Identifier: GPL-2.0-only
/*
 * What strangers, rivals, and nodes that moved or forgot can do: frames of no
 * connection, and what they are answered.
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

static u8 source[PAIR_MEMORY], bytes[1024];
static struct dmanic_xfer xfer[8];

static void put(u32 side, struct dmanic_xfer *which)
{
	*which = pair_write(source, 8, 0);
	pair_submit(side, which);
}

/* The frame in @bytes, as who speaks a later version begins it */
static void make_later(u32 length)
{
	bytes[0] = 2;
	dmanic_head_seal(bytes, length);
}

/* Of a node, as side 1 gets it from @from */
static void feed_init(u32 node, u64 from, u8 type)
{
	struct dmanic_hello hello = {
		.node = node, .to = 1, .incarnation = 1, .mtu = 1500, .operations = 1,
		.version_min = 1, .version_max = 1, .window = 1000,
	};

	hello.tag = type == DMANIC_WIRE_INIT ? 99 : 0;
	pair_feed(1, from, bytes, dmanic_hello_encode(bytes, type, 0, 0, &hello));
}

/* Its MAC was changed: it says farewell, from the new one */
TEST(strangers__reset_counts_from_a_new_address)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	pair_begin();
	pair_connect();
	dmanic_peer_close(pair[0].peer, DMANIC_STATUS_LINK_DOWN, &out);
	pair[0].address = 555;
	pair_feed(1, 555, head, out.head_length);
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_CLOSED);
	put(0, &xfer[0]);
	pair_run(5 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT_EQ(pair[1].peer->address, 555);
	pair_end();
}

/* The same, and the farewell is lost */
TEST(strangers__who_moved_is_no_rival)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	pair_begin();
	pair_connect();
	dmanic_peer_close(pair[0].peer, DMANIC_STATUS_LINK_DOWN, &out);
	pair[0].address = 555;
	pair_run(100 * PAIR_MS);
	put(0, &xfer[0]);
	pair[0].event = DMANIC_PEER_FOUND;
	pair_run(1900 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_FOUND);	/* not refused */
	EXPECT_EQ(pair[1].event, DMANIC_PEER_FOUND);	/* lost, and found */
	EXPECT_EQ(pair[1].host.stats.deaths, 1);
	pair_end();
}

TEST(strangers__rival_is_refused_when_the_peer_still_answers)
{
	u32 i, refused = 0;

	pair_begin();
	pair_connect();
	pair_run(100 * PAIR_MS);
	feed_init(0, 666, DMANIC_WIRE_INIT);
	EXPECT_EQ(pair[1].nr_sent, 0);
	EXPECT_EQ(pair[1].event, DMANIC_PEER_FOUND);
	pair_run(20 * PAIR_MS);
	feed_init(0, 666, DMANIC_WIRE_INIT);
	for (i = 0; i < pair[1].nr_sent; i++)
		refused += pair_type(1, i) == DMANIC_WIRE_REFUSE;
	EXPECT_EQ(refused, 1);
	EXPECT_EQ(pair[1].event, DMANIC_PEER_RIVAL);
	pair_run(2000 * PAIR_MS);
	EXPECT(pair_open());
	EXPECT_EQ(pair[1].peer->address, 100);
	pair_end();
}

/* It answered, and forgot that, before it heard the third part */
TEST(strangers__paired_with_a_tag_that_is_gone)
{
	struct dmanic_proto_config config = { .mtu = 1500, .super = 9000 };

	pair_begin();
	put(0, &xfer[0]);
	pair_pump(0);
	pair_deliver(0, 0);	/* HELLO */
	pair_deliver(1, 0);
	pair_deliver(0, 1);	/* INIT */
	pair_deliver(1, 1);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_PAIRED);
	pair_start(1, 2001, config);
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, 0);
	EXPECT_EQ(pair[0].peer->incarnation, 2001);
	pair_end();
}

#define SOUGHT	500U

/* What one program has asked everybody for in a second, for nodes that are not there */
static u32 seek(struct dmanic_peer *peer[SOUGHT], u64 until)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u32 i, everybody = 0;

	for (; pair_now < until; pair_now += PAIR_MS) {
		for (i = 0; i < SOUGHT; i++) {
			if (dmanic_peer_deadline(peer[i]) <= pair_now)
				dmanic_peer_timer(peer[i], pair_now);
			while (dmanic_peer_next(peer[i], pair_now, &out))
				everybody += out.to == DMANIC_EVERYBODY;
		}
	}
	return everybody;
}

/* Who is where he was is found, however many others are looked for */
TEST(strangers__who_is_known_is_asked_while_many_are_sought)
{
	u32 i, k;

	pair_begin();
	pair[0].peer->address = pair[1].address;
	put(0, &xfer[0]);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	pair_drop(0, 0);
	for (i = 0; i < 100; i++) {
		for (k = 0; dmanic_host_may_seek(&pair[0].host, pair_now); k++)
			ASSERT(k < 1000);
		pair_now += PAIR_MS / 4;
		dmanic_peer_timer(pair[0].peer, pair_now);
		pair_pump(0);
	}
	for (i = 0; i < pair[0].nr_sent; i++)
		EXPECT_EQ(pair_type(0, i), DMANIC_WIRE_INIT);
	EXPECT(pair[0].nr_sent >= 1);
	pair_end();
}

/* Some hold on to what they have begun: where others want their places they are the first */
TEST(strangers__who_does_not_open_a_connection_keeps_no_place)
{
	struct dmanic_hello hello = {
		.node = 0, .to = 1, .incarnation = 1, .tag = 99, .mtu = 1500,
		.operations = 1, .version_min = 1, .version_max = 1, .window = 1000,
	};
	u32 length;

	pair_begin();
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_INIT, 0, 0, &hello);
	pair_feed(1, 666, bytes, length);
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_ANSWER, 0, pair[1].peer->local_tag,
				     &hello);
	pair_feed(1, 666, bytes, length);
	ASSERT_EQ(pair[1].peer->state, DMANIC_PEER_PAIRED);
	EXPECT(dmanic_peer_quiet(pair[1].peer, pair_now));
	put(1, &xfer[0]);
	EXPECT(!dmanic_peer_quiet(pair[1].peer, pair_now));
	pair_end();
}

/* Whatever differs between two addresses: whether they share their answers nobody knows */
TEST(strangers__groups_are_of_whole_addresses)
{
	u32 bit, salt, same;

	pair_keyed = true;
	pair_begin();
	pair_keyed = false;
	for (bit = 0; bit < 48; bit++) {
		for (salt = same = 0; salt < 1000; salt++) {
			pair[0].host.auth.salt.word[0] = pair_random(&pair[0].host);
			same += dmanic_auth_stranger(&pair[0].host, 0x123456789abcULL) ==
				dmanic_auth_stranger(&pair[0].host,
						     0x123456789abcULL ^ 1ULL << bit);
		}
		EXPECT(same > 0 && same < 100);
	}
	pair_end();
}

/* They are all asked for, one after the other, and no more than the network should bear */
TEST(strangers__who_seeks_many_does_not_flood)
{
	static struct dmanic_xfer asks[SOUGHT];
	struct dmanic_peer *peer[SOUGHT];
	static struct dmanic_share share[SOUGHT];
	static struct dmanic_flow flow[SOUGHT];
	u32 i, dead = 0;

	pair_begin();
	for (i = 0; i < SOUGHT; i++) {
		peer[i] = malloc(dmanic_peer_bytes(&pair[0].host));
		dmanic_peer_init(peer[i], &pair[0].host, 1000 + i);
		asks[i] = pair_write(source, 8, 0);
		dmanic_share_init(&share[i]);
		dmanic_flow_init(&flow[i], &share[i]);
		dmanic_peer_submit(peer[i], &flow[i], &asks[i], pair_now);
	}
	EXPECT(seek(peer, pair_now + 1000 * PAIR_MS) <= 64 + 1000);
	EXPECT_EQ(pair[0].completed, 0);
	/* And nobody is waited for much longer */
	seek(peer, pair_now + 3000 * PAIR_MS);
	for (i = 0; i < SOUGHT; i++) {
		dead += asks[i].status == DMANIC_STATUS_PEER_DEAD;
		free(peer[i]);
	}
	EXPECT_EQ(dead, SOUGHT);
	pair_end();
}

/* Who has just connected has not had the time to send something: it keeps its place */
TEST(strangers__new_one_is_not_silent)
{
	const u64 enough = 2000 * PAIR_MS / 4;
	u64 opened;

	pair_begin();
	/* Nobody is new because time began */
	pair_now += 60 * 1000 * PAIR_MS;
	pair_connect();
	opened = pair_now;
	EXPECT_EQ(pair[1].peer->state, DMANIC_PEER_OPEN);
	EXPECT(!dmanic_peer_silent(pair[1].peer, opened + enough / 2));
	EXPECT(!dmanic_peer_quiet(pair[1].peer, opened + enough / 2));
	EXPECT(dmanic_peer_silent(pair[1].peer, opened + enough + PAIR_MS));
	EXPECT(dmanic_peer_quiet(pair[1].peer, opened + enough + PAIR_MS));
	pair_end();
}

/* One kind of frame cannot use up what another is answered with */
TEST(strangers__floods_do_not_keep_from_connecting)
{
	u64 *dropped = pair[1].host.stats.dropped;
	u32 i;

	pair_begin();
	for (i = 0; i < 1000; i++)
		feed_init(7, 666, DMANIC_WIRE_HELLO);
	EXPECT_EQ(pair[1].nr_sent, 64);
	for (i = 0; i < 1000; i++)
		feed_init(7, 666, DMANIC_WIRE_INIT);
	EXPECT_EQ(pair[1].nr_sent, 128);
	EXPECT(dropped[DMANIC_DROP_RATE] >= 1800);
	for (i = 0; i < 1000; i++)
		pair_feed(1, 666, bytes, dmanic_probe_encode(bytes, 1234));
	EXPECT_EQ(pair[1].nr_sent, 192);
	/* Who is asked as well gets an answer */
	pair[0].peer->address = 101;
	pair[1].peer->address = 100;
	put(1, &xfer[1]);
	pair_pump(1);
	put(0, &xfer[0]);
	pair_pump(0);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_INIT);
	pair_deliver(0, 0);
	EXPECT_EQ(pair_type(1, pair[1].nr_sent - 1), DMANIC_WIRE_ANSWER);
	pair_end();
}

/* The range counts, not with which version a frame begins */
TEST(strangers__are_found_in_another_version)
{
	struct dmanic_hello hello = {
		.node = 7, .to = 1, .incarnation = 1, .mtu = 1500, .operations = 1,
		.version_min = 1, .version_max = 2, .window = 1000,
	};
	struct dmanic_refuse refuse;
	struct dmanic_head head;
	u32 length;

	pair_begin();
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_HELLO, 0, 0, &hello);
	make_later(length);
	pair_feed(1, 100, bytes, length);
	ASSERT_EQ(pair[1].nr_sent, 1);
	EXPECT_EQ(pair_type(1, 0), DMANIC_WIRE_HELLO);
	/* Nothing in common: it is told so, but not who asks for nobody */
	hello.version_min = 2;
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_HELLO, 0, 0, &hello);
	make_later(length);
	pair_feed(1, 100, bytes, length);
	ASSERT_EQ(pair[1].nr_sent, 2);
	ASSERT_EQ(dmanic_head_decode(pair[1].sent[1].bytes, 32, 32, &head), 0);
	ASSERT_EQ(dmanic_refuse_decode(pair[1].sent[1].bytes, &head, &refuse), 0);
	EXPECT_EQ(refuse.reason, DMANIC_REFUSE_VERSION);
	EXPECT_EQ(refuse.node, 1);
	EXPECT_EQ(head.tag, 0);
	hello.to = DMANIC_WIRE_NOBODY;
	length = dmanic_hello_encode(bytes, DMANIC_WIRE_HELLO, 0, 0, &hello);
	pair_feed(1, 100, bytes, length);
	EXPECT_EQ(pair[1].nr_sent, 2);
	pair_end();
}

/* Who was looked for speaks later versions alone: so it is not dead */
TEST(strangers__search_is_refused_in_another_version)
{
	struct dmanic_refuse refuse = { 1, DMANIC_REFUSE_VERSION, 2, 3 };
	u32 length;

	pair_begin();
	length = dmanic_refuse_encode(bytes, 0, &refuse);
	make_later(length);
	/* Nobody was looked for */
	pair_feed(0, 101, bytes, length);
	EXPECT_EQ(pair[0].events, 0);
	put(0, &xfer[0]);
	pair_pump(0);
	EXPECT_EQ(pair_type(0, 0), DMANIC_WIRE_HELLO);
	pair_feed(0, 101, bytes, length);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_REFUSED);
	EXPECT_EQ(pair[0].completed, 0);
	/* Told once, whatever comes; another reason needs the tag */
	pair_feed(0, 101, bytes, length);
	refuse.reason = DMANIC_REFUSE_IN_USE;
	length = dmanic_refuse_encode(bytes, 0, &refuse);
	pair_feed(0, 101, bytes, length);
	EXPECT_EQ(pair[0].events, 1);
	pair_wait(2100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_UNSUPPORTED);
	pair_end();
}

/* Anybody can say so: not of a node that was connected, which just does not answer */
TEST(strangers__known_node_is_not_of_another_version)
{
	struct dmanic_refuse refuse = { 1, DMANIC_REFUSE_VERSION, 2, 3 };
	u32 length;

	pair_begin();
	pair_connect();
	put(0, &xfer[0]);
	pair_wait(2100 * PAIR_MS);
	ASSERT_EQ(pair[0].completed, 1);
	ASSERT_EQ(pair[0].peer->state, DMANIC_PEER_CLOSED);
	/* It is asked where it was, then everybody where it is */
	put(0, &xfer[1]);
	pair_pump(0);
	pair_wait(100 * PAIR_MS);
	EXPECT(pair[0].peer->sought);
	length = dmanic_refuse_encode(bytes, 0, &refuse);
	pair_feed(0, 101, bytes, length);
	pair_wait(2100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(xfer[1].status, DMANIC_STATUS_PEER_DEAD);
	pair_end();
}

/* A node that speaks later versions alone says so in a later frame */
TEST(strangers__refused_in_another_version)
{
	struct dmanic_refuse refuse = { 1, DMANIC_REFUSE_VERSION, 2, 3 };
	u32 length;

	pair_begin();
	pair[0].peer->address = 101;
	put(0, &xfer[0]);
	pair_pump(0);
	length = dmanic_refuse_encode(bytes, pair[0].peer->local_tag, &refuse);
	bytes[0] = 2;
	bytes[2] = 0x80;	/* and has flags that are not known here */
	dmanic_head_seal(bytes, length);
	pair_feed(0, 101, bytes, length);
	EXPECT_EQ(pair[0].event, DMANIC_PEER_REFUSED);
	pair_wait(2100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_UNSUPPORTED);
	pair_end();
}

/* Each part of connecting has its time; all of them together have little more */
TEST(strangers__connecting_has_one_time)
{
	u64 before;
	u32 i;

	pair_begin();
	pair[0].peer->address = 101;
	pair[1].peer->address = 100;
	put(0, &xfer[0]);
	before = pair_now;
	pair_wait(1900 * PAIR_MS);
	pair_pump(0);
	for (i = 0; i < pair[0].nr_sent; i++)
		if (pair_type(0, i) == DMANIC_WIRE_INIT)
			pair_deliver(0, i);
	pair_deliver(1, 0);
	EXPECT_EQ(pair[0].peer->state, DMANIC_PEER_PAIRED);
	while (!pair[0].completed && pair_now - before < 9000 * PAIR_MS)
		pair_wait(PAIR_MS);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT(pair_now - before <= 2001 * PAIR_MS);
	pair_end();
}
