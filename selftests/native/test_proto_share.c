// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations share - ids, places, grants, turns - and that none is held up by
 * another without need.
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

static u8 source[PAIR_MEMORY], sink[PAIR_MEMORY];
static struct dmanic_xfer xfer[400];
static struct dmanic_share other_share;
static struct dmanic_flow other, sibling;

static void begin_with(struct dmanic_proto_config config)
{
	u32 i;

	for (i = 0; i < sizeof(source); i++)
		source[i] = i * 7 + i / 256;
	pair_begin_with(config);
	pair_connect();
	dmanic_share_init(&other_share);
	dmanic_flow_init(&other, &other_share);
	dmanic_flow_init(&sibling, &pair[0].share[DMANIC_BULK]);
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

static void get_by(struct dmanic_flow *flow, u32 i, u64 length)
{
	xfer[i] = pair_write(sink, length, 0);
	xfer[i].kind = DMANIC_XFER_READ;
	dmanic_peer_submit(pair[0].peer, flow, &xfer[i], pair_now);
}

static void get(u32 i, u64 length)
{
	get_by(&pair[0].flow[DMANIC_BULK], i, length);
}

/* One user's READs do not take every id, from however many queues */
TEST(share__questions_leave_ids)
{
	u32 i;

	begin();
	for (i = 0; i < 300; i++)
		get_by(i % 2 ? &sibling : &pair[0].flow[DMANIC_BULK], i, 100);
	xfer[300] = pair_write(source, 8, 0);
	dmanic_peer_submit(pair[0].peer, &other, &xfer[300], pair_now);
	xfer[301] = pair_write(source, 8, 100);
	xfer[301].class = DMANIC_URGENT;
	pair_submit(0, &xfer[301]);
	pair_pump(0);
	EXPECT(xfer[300].begun);
	EXPECT(xfer[301].begun);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].asking, 64);
	pair_run(50 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 302);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].asking, 0);
	EXPECT_EQ(pair[0].peer->nr_free, 256);
	pair_end();
}

/* Nor do long operations of one user, however many queues he has */
TEST(share__long_ones_leave_ids)
{
	static struct dmanic_flow flow[300];
	u32 i, begun = 0;

	begin();
	for (i = 0; i < ARRAY_SIZE(flow); i++) {
		dmanic_flow_init(&flow[i], &pair[0].share[DMANIC_BULK]);
		xfer[i] = pair_write(source, 2000, 0);
		xfer[i].blocks = true;
		dmanic_peer_submit(pair[0].peer, &flow[i], &xfer[i], pair_now);
	}
	pair_pump(0);
	for (i = 0; i < ARRAY_SIZE(flow); i++)
		begun += xfer[i].begun && !xfer[i].whole;
	EXPECT(begun > 64 && begun <= 128);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].sending, begun);
	xfer[300] = pair_write(source, 8, 0);
	dmanic_peer_submit(pair[0].peer, &other, &xfer[300], pair_now);
	get_by(&other, 301, 100);
	/* There and back: now there is room in the stream */
	pair_round();
	EXPECT(xfer[300].begun);
	pair_run(500 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 302);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].sending, 0);
	/* When a connection ends with some under way, they count no more */
	xfer[0] = pair_write(source, 60000, 0);
	dmanic_peer_submit(pair[0].peer, &flow[0], &xfer[0], pair_now);
	pair[0].peer->granted = 10000;
	pair_pump(0);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].sending, 1);
	pair_wait(2100 * PAIR_MS);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].sending, 0);
	pair_end();
}

static u32 flows_of(const struct list_head *list)
{
	struct list_head *at;
	u32 nr = 0;

	list_for_each(at, list)
		nr++;
	return nr;
}

/* However many queues find no id: what can go on is not looked for among them */
TEST(share__who_waits_for_an_id_is_not_looked_at)
{
	enum { MANY = 960 };
	struct dmanic_share *share = &pair[0].share[DMANIC_BULK];
	static struct dmanic_flow flow[MANY];
	static struct dmanic_xfer wants[MANY];
	u32 i, frames;

	begin();
	for (i = 0; i < MANY; i++) {
		dmanic_flow_init(&flow[i], share);
		wants[i] = pair_write(sink, 100, 0);
		if (i % 4)
			wants[i].kind = DMANIC_XFER_READ;
		dmanic_peer_submit(pair[0].peer, &flow[i], &wants[i], pair_now);
	}
	pair_pump(0);
	EXPECT_EQ(share->asking, 64);
	EXPECT(flows_of(&share->waiting[true]) > MANY / 2);
	EXPECT(flows_of(&share->flows) <= 256);
	/* Nor when ids are free again: each is for one of them */
	for (frames = 0; pair[0].completed < MANY && frames < 1000; frames++) {
		pair_round();
		EXPECT(flows_of(&share->flows) <= 256);
	}
	EXPECT_EQ(pair[0].completed, MANY);
	EXPECT(list_empty(&share->turn));
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(wants[i].status, 0);
	EXPECT_EQ(pair[0].peer->nr_free, 256);
	pair_end();
}

static bool in_slot(const struct dmanic_xfer *one)
{
	const struct dmanic_slot *slot = pair[0].peer->slot;
	u32 i;

	for (i = 0; i < pair[0].peer->operations; i++)
		if (slot[i].used && slot[i].xfer == one)
			return true;
	return false;
}

/* What is known of each share is what its flows, its transfers and their ids say */
static void expect_share(const struct dmanic_share *share, const struct list_head *turns)
{
	const struct dmanic_peer *peer = pair[0].peer;
	struct dmanic_flow *flow;
	struct dmanic_xfer *first;
	u32 i, asking = 0, sending = 0;

	EXPECT_EQ(list_empty(&share->turn),
		  list_empty(&share->flows) && list_empty(&share->waiting[0]) &&
		  list_empty(&share->waiting[1]));
	EXPECT(list_empty(&share->turn) || !list_empty(turns));
	for (i = 0; i < 2; i++) {
		list_for_each_entry(flow, &share->waiting[i], turn) {
			ASSERT(!list_empty(&flow->xfers));
			first = list_first_entry(&flow->xfers, struct dmanic_xfer, entry);
			EXPECT(!first->begun);
			EXPECT_EQ(first->kind == DMANIC_XFER_READ ||
				  first->kind == DMANIC_XFER_ATOMIC, i);
		}
	}
	for (i = 0; i < pair[0].peer->operations; i++) {
		asking += peer->slot[i].used && peer->slot[i].share == share;
		first = peer->slot[i].used ? peer->slot[i].xfer : NULL;
		sending += first && first->flow && first->flow->share == share &&
			   !peer->slot[i].asks;
	}
	EXPECT_EQ(share->asking, asking);
	EXPECT_EQ(share->sending, sending);
}

/* For a RESULT of each operation of the other node, and each NOTIFY that is yet to follow */
static void expect_places(const struct dmanic_tx *tx)
{
	u32 used = tx->extent_tail - tx->extent_head;

	EXPECT(tx->results <= pair[0].peer->their_operations);
	EXPECT(used + pair[0].peer->their_operations - tx->results + tx->reserved <=
	       tx->extent_mask + 1);
}

static void random_kind(struct dmanic_xfer *one, u64 random)
{
	switch (random % 4) {
	case 0:
		one->kind = DMANIC_XFER_READ;
		break;
	case 1:
		one->kind = DMANIC_XFER_ATOMIC;
		one->opcode = DMANIC_OP_FETCH_ADD;
		one->length = 0;
		break;
	default:
		one->notifies = random & 4;
		one->blocks = random & 8;
		break;
	}
}

/*
 * Two users, many queues, all kinds; some are given up, some frames are lost. With few
 * @extents these are scarce, too.
 */
static void crowd(u64 seed, u32 extents)
{
	enum { MANY = 300, STEPS = 400 };
	static struct dmanic_flow flow[MANY];
	static struct dmanic_xfer wants[MANY], asked[16];
	struct list_head *turns;
	struct dmanic_xfer *one;
	u32 i, k, step, ended = 0, began = 0, asks = 0, waited[2] = { 0 };
	u64 random;

	begin_with((struct dmanic_proto_config){ .mtu = 1500, .super = 9000, .operations = 16,
						 .extents = extents });
	pair_seed = seed;
	turns = &pair[0].peer->tx[DMANIC_BULK].turns;
	memset(wants, 0, sizeof(wants));
	for (i = 0; i < MANY; i++)
		dmanic_flow_init(&flow[i], i % 3 ? &pair[0].share[DMANIC_BULK] : &other_share);
	for (step = 0; step < STEPS; step++) {
		for (k = 0; k < 20; k++) {
			random = pair_random(&pair[0].host);
			one = &wants[random % MANY];
			if (one->flow && random >> 60 == 0) {
				dmanic_peer_cancel(pair[0].peer, one,
						   DMANIC_STATUS_CANCELLED);
			} else if (!one->segment) {
				*one = pair_write(sink, random >> 32 & 2047, 0);
				random_kind(one, random >> 16);
				/* Several of them may be of one flow */
				dmanic_peer_submit(pair[0].peer,
						   &flow[(random >> 24) % MANY], one,
						   pair_now);
				began++;
			}
		}
		/* The other node asks, too, whenever what it asked has an answer */
		if (pair[1].completed == asks) {
			for (i = 0; i < ARRAY_SIZE(asked); i++, asks++) {
				asked[i] = pair_write(sink, 0, 0);
				asked[i].kind = DMANIC_XFER_ATOMIC;
				asked[i].opcode = DMANIC_OP_FETCH_ADD;
				pair_submit(1, &asked[i]);
			}
		}
		pair_pump(0);
		expect_places(&pair[0].peer->tx[DMANIC_BULK]);
		expect_share(&pair[0].share[DMANIC_BULK], turns);
		expect_share(&other_share, turns);
		for (i = 0; i < 2; i++)
			waited[i] += !list_empty(&pair[0].share[DMANIC_BULK].waiting[i]);
		if (pair_random(&pair[0].host) % 16 == 0 && pair[0].nr_sent)
			pair_drop(0, 0);
		pair_round();
		expect_places(&pair[0].peer->tx[DMANIC_BULK]);
		pair_tick(pair_now + PAIR_MS);
		for (i = 0; i < MANY; i++)
			if (wants[i].segment && !wants[i].flow && !in_slot(&wants[i]))
				wants[i].segment = 0, ended++;
	}
	pair_run(1000 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, began);
	EXPECT_EQ(pair[1].completed, asks);
	EXPECT(ended > MANY);
	EXPECT(waited[0] > STEPS / 20 && waited[1] > STEPS / 20);
	EXPECT_EQ(pair[0].peer->nr_free, 16);
	expect_share(&pair[0].share[DMANIC_BULK], turns);
	expect_share(&other_share, turns);
	EXPECT(list_empty(turns));
	pair_end();
}

TEST(share__crowds_are_counted)
{
	u64 seed;

	for (seed = 1; seed <= 20; seed++)
		crowd(seed, seed % 2 ? 64 : 1024);
}

/* A queue that always has another one to begin does not keep those waiting who found no id */
TEST(share__who_waits_for_an_id_has_his_turn)
{
	enum { MANY = 300 };
	static struct dmanic_flow flow[MANY];
	static struct dmanic_xfer small[MANY];
	u32 i;

	begin_with((struct dmanic_proto_config){ .mtu = 1500, .super = 1500, .operations = 32 });
	for (i = 0; i < MANY; i++) {
		dmanic_flow_init(&flow[i], &pair[0].share[DMANIC_BULK]);
		get_by(&flow[i], i, 8);
		small[i] = pair_write(source, 8, 0);
	}
	for (i = 0; i < MANY; i++)
		pair_submit(0, &small[i]);
	pair_pump(0);
	for (i = 0; i < 1000 && !small[MANY - 1].whole; i++)
		pair_round();
	EXPECT(pair[0].completed - MANY > MANY / 8);
	pair_run(500 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 2 * MANY);
	pair_end();
}

/* Nor do they keep one waiting that asks, when ids become free one by one */
TEST(share__who_asks_has_his_turn_among_who_writes)
{
	enum { MANY = 30, STEPS = 20000 };
	static struct dmanic_flow flow[MANY];
	u32 i, step, before = 0;

	begin_with((struct dmanic_proto_config){ .mtu = 1500, .super = 1500, .operations = 32 });
	for (i = 0; i < MANY; i++)
		dmanic_flow_init(&flow[i], &pair[0].share[DMANIC_BULK]);
	memset(xfer, 0, sizeof(xfer));
	for (step = 0; step < STEPS && (step <= 200 || !xfer[MANY].begun); step++) {
		for (i = 0; i < MANY; i++) {
			if (xfer[i].segment && (xfer[i].flow || in_slot(&xfer[i])))
				continue;
			xfer[i] = pair_write(source, 4000 + 1300 * ((step + i) % 7), 0);
			dmanic_peer_submit(pair[0].peer, &flow[i], &xfer[i], pair_now);
		}
		if (step == 200) {
			get_by(&sibling, MANY, 8);
			before = pair[0].completed;
		}
		/* One place after the other */
		pair[0].peer->rate.window = 1500;
		pair_pump(0);
		pair_round();
		if (step % 16 == 0)
			pair_tick(pair_now + PAIR_MS / 100);
	}
	EXPECT(xfer[MANY].begun);
	EXPECT(pair[0].completed - before < MANY);
	pair_run(500 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->nr_free, 32);
	pair_end();
}

/* One that waits for an id is given up: what is behind it goes its own way */
TEST(share__who_waits_for_an_id_may_end)
{
	struct dmanic_share *share = &pair[0].share[DMANIC_BULK];
	u32 i;

	begin();
	for (i = 0; i < 100; i++)
		get_by(&pair[0].flow[DMANIC_BULK], i, 100);
	pair_pump(0);
	for (i = 0; i < 2; i++)
		get_by(&sibling, 100 + i, 100);
	xfer[102] = pair_write(source, 8, 0);
	dmanic_peer_submit(pair[0].peer, &sibling, &xfer[102], pair_now);
	pair_pump(0);
	EXPECT_EQ(share->asking, 64);
	EXPECT_EQ(flows_of(&share->waiting[true]), 2);
	dmanic_peer_cancel(pair[0].peer, &xfer[101], DMANIC_STATUS_CANCELLED);
	EXPECT(!xfer[102].begun);
	dmanic_peer_cancel(pair[0].peer, &xfer[100], DMANIC_STATUS_CANCELLED);
	pair_pump(0);
	EXPECT(xfer[102].begun);
	EXPECT_EQ(flows_of(&share->waiting[true]), 1);
	/* And when all end */
	pair_wait(2100 * PAIR_MS);
	EXPECT_EQ(xfer[99].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(pair[0].completed, 103);
	EXPECT(list_empty(&share->turn));
	EXPECT(list_empty(&share->waiting[true]));
	pair_end();
}

/* Nor do bulk operations take those of urgent ones */
TEST(share__bulk_leaves_ids_to_urgent)
{
	u32 i;

	begin();
	for (i = 0; i < 300; i++)
		put(i, 8, 8 * i);
	pair_pump(0);
	EXPECT_EQ(pair[0].peer->nr_free, 8);
	pair_run(50 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 300);
	/* When a connection ends with questions under way, they count no more */
	get(0, 100);
	pair_pump(0);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].asking, 1);
	pair_wait(2100 * PAIR_MS);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].asking, 0);
	pair_end();
}

/* Each user has as much of the stream as any other, however many queues he has */
TEST(share__many_flows_of_one_user_have_one_turn)
{
	enum { MANY = 4, EXTENT = 9000 };
	struct dmanic_flow flow[MANY];
	u64 much = 0;
	u32 i;

	begin();
	for (i = 0; i < MANY; i++) {
		dmanic_flow_init(&flow[i], &pair[0].share[DMANIC_BULK]);
		xfer[i] = pair_write(source, 60000, 0);
		dmanic_peer_submit(pair[0].peer, &flow[i], &xfer[i], pair_now);
	}
	xfer[MANY] = pair_write(source, 60000, 0);
	dmanic_peer_submit(pair[0].peer, &other, &xfer[MANY], pair_now);
	pair[0].peer->granted = 50000;
	pair_settle();
	for (i = 0; i < MANY; i++)
		much += xfer[i].entered;
	EXPECT(much >= 2 * EXTENT);
	EXPECT(xfer[MANY].entered + EXTENT >= much && xfer[MANY].entered <= much + EXTENT);
	/* And so have his queues of what he has */
	for (i = 1; i < MANY; i++)
		EXPECT(xfer[i].entered + EXTENT >= xfer[0].entered &&
		       xfer[i].entered <= xfer[0].entered + EXTENT);
	pair_run(200 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, MANY + 1);
	pair_end();
}

/* A user goes, with all of his queues, before his questions are answered */
TEST(share__ids_outlive_it)
{
	begin();
	xfer[0] = pair_write(sink, 100, 0);
	xfer[0].kind = DMANIC_XFER_READ;
	dmanic_peer_submit(pair[0].peer, &other, &xfer[0], pair_now);
	get(1, 100);
	pair_pump(0);
	dmanic_peer_cancel(pair[0].peer, &xfer[0], DMANIC_STATUS_CANCELLED);
	EXPECT_EQ(other_share.asking, 1);
	dmanic_share_end(pair[0].peer, &other_share);
	EXPECT_EQ(other_share.asking, 0);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].asking, 1);
	memset(&other_share, 0xaa, sizeof(other_share));
	memset(&other, 0xaa, sizeof(other));
	pair_run(50 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->nr_free, 256);
	EXPECT_EQ(pair[0].share[DMANIC_BULK].asking, 0);
	pair_end();
}

/* Nor does who leaves and comes again, and gives up what it asked for, get one part after the other */
TEST(share__ids_of_who_comes_again_are_its_own)
{
	u32 round, i;

	begin();
	pair[1].peer->granted = 1500;
	for (round = 0; round < 7; round++) {
		dmanic_share_init(&other_share);
		dmanic_share_adopt(pair[0].peer, &other_share, 5);
		dmanic_flow_init(&other, &other_share);
		for (i = 0; i < 64; i++)
			get_by(&other, i, 60000);
		pair_pump(0);
		while (pair[0].nr_sent) {
			pair_deliver(0, 0);
			pair_drop(0, 0);
		}
		EXPECT_EQ(other_share.asking, 64);
		for (i = 0; i < 64; i++)
			if (!xfer[i].status)
				dmanic_peer_cancel(pair[0].peer, &xfer[i],
						   DMANIC_STATUS_CANCELLED);
		dmanic_share_end(pair[0].peer, &other_share);
	}
	EXPECT_EQ(pair[0].peer->nr_free, 256 - 64);
	/* Of others nobody notices */
	dmanic_share_init(&other_share);
	dmanic_share_adopt(pair[0].peer, &other_share, 6);
	EXPECT_EQ(other_share.asking, 0);
	dmanic_flow_init(&other, &other_share);
	put(300, 8, 0);
	EXPECT(xfer[300].begun || (pair_pump(0), xfer[300].begun));
	pair_run(2000 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->nr_free, 256);
	pair_end();
}

/* So do those of what asks for nothing; the share's memory is another's then */
TEST(share__ids_of_writes_outlive_it)
{
	struct dmanic_share *share = malloc(sizeof(*share));
	struct dmanic_flow *flow = malloc(sizeof(*flow));

	begin();
	dmanic_share_init(share);
	dmanic_flow_init(flow, share);
	xfer[0] = pair_write(source, 5000, 0);
	dmanic_peer_submit(pair[0].peer, flow, &xfer[0], pair_now);
	pair_pump(0);
	EXPECT(pair[0].nr_sent);
	dmanic_peer_cancel(pair[0].peer, &xfer[0], DMANIC_STATUS_CANCELLED);
	EXPECT_EQ(pair[0].completed, 1);
	dmanic_share_end(pair[0].peer, share);
	free(flow);
	free(share);
	pair_run(50 * PAIR_MS);
	EXPECT_EQ(pair[0].peer->nr_free, 256);
	pair_end();
}

/* Who asks for little gets it before who asked for much is done */
TEST(share__answers_take_turns)
{
	begin();
	pair[1].peer->granted = 12000;
	get(0, 60000);
	get(1, 100);
	pair_pump(0);
	pair_deliver(0, 0);
	while (pair[1].nr_sent) {
		pair_deliver(1, 0);
		pair_drop(1, 0);
	}
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT(pair[0].last == &xfer[1]);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 2);
	pair_end();
}

/* Nothing is acknowledged: what it reads can be found, and taken back */
TEST(share__what_is_read_can_be_found)
{
	struct dmanic_xfer *held;
	u32 at = 0;

	begin();
	pair[1].peer->granted = 12000;
	get(0, 60000);
	get(1, 100);
	pair_pump(0);
	pair_deliver(0, 0);
	EXPECT_EQ(pair[1].reads, 2);
	held = dmanic_peer_reading(pair[1].peer, &at);
	ASSERT(held);
	dmanic_peer_cancel(pair[1].peer, held, DMANIC_STATUS_NO_SEGMENT);
	EXPECT(dmanic_peer_reading(pair[1].peer, &at));
	EXPECT(!dmanic_peer_reading(pair[1].peer, &at));
	EXPECT_EQ(pair[1].reads, 1);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_NO_SEGMENT);
	EXPECT_EQ(xfer[1].status, 0);
	pair_end();
}

/* It is seen when the first frame of it is there: that is no loss, and nobody waits for it */
TEST(share__frame_of_what_was_taken_back)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	struct dmanic_xfer *held;
	u32 at = 0;

	begin();
	get(0, 60000);
	get(1, 100);
	pair_pump(0);
	pair_feed(1, pair[0].address, pair[0].sent[0].bytes, pair[0].sent[0].length);
	pair_drop(0, 0);
	EXPECT_EQ(pair[1].reads, 2);
	do {
		ASSERT(dmanic_peer_next(pair[1].peer, pair_now, &out));
	} while (!out.nr_sources);
	held = dmanic_peer_reading(pair[1].peer, &at);
	ASSERT(held && held == out.source[0].xfer);
	dmanic_peer_cancel(pair[1].peer, held, DMANIC_STATUS_NO_SEGMENT);
	dmanic_peer_withdrawn(pair[1].peer, &out, pair_now);
	EXPECT_EQ(pair[1].peer->tx[DMANIC_BULK].flight, 0);
	EXPECT_EQ(pair[1].host.stats.lost, 0);
	/* No time passes */
	pair_settle();
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(xfer[0].status, DMANIC_STATUS_NO_SEGMENT);
	EXPECT_EQ(xfer[1].status, 0);
	EXPECT_EQ(pair[1].reads, 0);
	pair_run(20 * PAIR_MS);
	EXPECT_EQ(pair[1].peer->nr_replies, 0);
	pair_end();
}

/*
 * Both ask for what both take back, and for more with the same ids: each one's answer stands
 * behind a question that the other cannot do before it has that answer
 */
TEST(share__answers_that_nobody_wants_hold_nobody_up)
{
	struct dmanic_xfer *held;
	u32 i, at;

	begin_with((struct dmanic_proto_config){ .mtu = 1500, .super = 1500,
						 .operations = 1 });
	for (i = 0; i < 4; i++) {
		xfer[i] = pair_write(sink, 1000, 0);
		xfer[i].kind = DMANIC_XFER_READ;
		pair_submit(i % 2, &xfer[i]);
	}
	/* Both have the questions, and then the answers; each asks again at once */
	pair_pump(0);
	pair_pump(1);
	for (i = 0; i < 2; i++) {
		pair_feed(!i, pair[i].address, pair[i].sent[0].bytes, pair[i].sent[0].length);
		pair_drop(i, 0);
	}
	pair_pump(0);
	pair_pump(1);
	for (i = 0; i < 2; i++) {
		ASSERT(pair[i].nr_sent > 0);
		pair_feed(!i, pair[i].address, pair[i].sent[0].bytes, pair[i].sent[0].length);
		pair_drop(i, 0);
	}
	EXPECT_EQ(pair[0].completed, 1);
	EXPECT_EQ(pair[1].completed, 1);
	pair_pump(0);
	pair_pump(1);
	for (i = 0; i < 2; i++) {
		at = 0;
		held = dmanic_peer_reading(pair[i].peer, &at);
		ASSERT(held);
		dmanic_peer_cancel(pair[i].peer, held, DMANIC_STATUS_NO_SEGMENT);
	}
	pair_run(10000 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 2);
	EXPECT_EQ(pair[1].completed, 2);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(xfer[i].status, 0);
	pair_end();
}

/* The id that was just let go of may be taken at the other side yet */
TEST(share__ids_go_round)
{
	u32 i, first = 0;

	begin();
	for (i = 0; i < 10; i++) {
		put(0, 8, 0);
		pair_run(PAIR_MS);
		if (!i)
			first = xfer[0].id & 0xffff;
		EXPECT_EQ(xfer[0].id & 0xffff, first + i);
	}
	pair_end();
}

/* Whoever waits for ids asks for the ACK that frees them */
TEST(share__no_ids_no_waiting)
{
	u64 before;
	u32 i;

	begin();
	for (i = 0; i < 400; i++) {
		xfer[i] = pair_write(source, 0, 0);
		xfer[i].kind = DMANIC_XFER_NOTIFY;
		xfer[i].class = DMANIC_URGENT;
		pair_submit(0, &xfer[i]);
	}
	before = pair_now;
	pair_settle();
	EXPECT_EQ(pair[1].notified, 400);
	EXPECT(pair_now == before);
	pair_end();
}

/* What there was no room for did not come twice */
TEST(share__room_is_no_duplicate)
{
	struct dmanic_proto_config config = { .mtu = 600, .super = 600, .ranges = 2 };
	u32 i;

	pair_begin_with(config);
	pair_connect();
	put(0, 20000, 0);
	pair_pump(0);
	for (i = 1; i < pair[0].nr_sent; i += 2)
		pair_deliver(0, i);
	EXPECT(pair[1].host.stats.dropped[DMANIC_DROP_ROOM] > 0);
	EXPECT_EQ(pair[1].host.stats.duplicates, 0);
	pair_run(100 * PAIR_MS);
	EXPECT_EQ(pair[0].completed, 1);
	pair_end();
}

/* What stands behind its data in one frame is done with it, and kept by nobody */
TEST(share__in_order_needs_no_place)
{
	begin();
	pair[1].peer->rx[DMANIC_BULK].max_early = 0;
	put(0, 100, 0);
	xfer[1] = pair_write(source, 100, 200);
	xfer[1].notifies = true;
	pair_submit(0, &xfer[1]);
	pair_pump(0);
	ASSERT_EQ(pair[0].nr_sent, 1);
	pair_deliver(0, 0);
	EXPECT_EQ(pair[1].notified, 1);
	EXPECT_EQ(pair[1].host.stats.dropped[DMANIC_DROP_ROOM], 0);
	pair_end();
}

/* The first extent under way is acknowledged, and no more */
static void acknowledge_one(u32 number)
{
	struct dmanic_tx *tx = &pair[0].peer->tx[DMANIC_BULK];
	const struct dmanic_extent *first = &tx->extent[tx->extent_head & tx->extent_mask];
	struct dmanic_ack ack = { .number = number, .window = 100000, .mtu = 1500 };
	u8 bytes[1024];

	while (pair[0].nr_sent)
		pair_drop(0, 0);
	ack.held = U32_MAX;
	ack.stream[DMANIC_BULK].next = first->seq + first->units;
	ack.stream[DMANIC_BULK].reject = pair[0].peer->rx[DMANIC_BULK].got.next;
	pair_feed(0, pair[1].address, bytes,
		  dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack));
}

/* One place is free now and then: it is not taken by others for as long as they need some */
TEST(share__who_notifies_finds_two_places)
{
	u32 i;

	begin_with((struct dmanic_proto_config){ .mtu = 1500, .super = 1500, .extents = 16,
						 .operations = 4 });
	xfer[0] = pair_write(source, 4000, 0);
	xfer[0].blocks = true;
	dmanic_peer_submit(pair[0].peer, &other, &xfer[0], pair_now);
	pair_pump(0);
	ASSERT(!xfer[0].whole);
	xfer[1] = pair_write(source, 8, 0);
	xfer[1].notifies = true;
	pair_submit(0, &xfer[1]);
	for (i = 0; i < 5; i++) {
		pair_now += PAIR_MS;
		acknowledge_one(1000 + i);
		pair_pump(0);
	}
	EXPECT(!xfer[0].whole);
	EXPECT(xfer[1].whole);
	pair_end();
}

/* The end of a list that got shorter is told at once, also when nothing else is under way */
TEST(share__list_that_ends_early_is_told_of_at_once)
{
	struct dmanic_proto_config config = {
		.mtu = 1500, .super = 9000, .extents = 16, .operations = 4,
	};
	u64 began;
	u32 i;

	for (i = 1; i < 40; i++) {
		pair_begin_with(config);
		pair_connect();
		xfer[0] = pair_write(source, 5000, 0);
		xfer[0].blocks = true;
		xfer[0].notifies = true;
		pair_blocks = i;
		began = pair_now;
		pair_submit(0, &xfer[0]);
		pair_settle();
		EXPECT_EQ(pair_now, began);
		EXPECT_EQ(pair[0].completed, 1);
		EXPECT_EQ(xfer[0].status, DMANIC_STATUS_BOUNDS);
		EXPECT_EQ(pair[0].peer->tx[DMANIC_BULK].una, pair[0].peer->tx[DMANIC_BULK].end);
		pair_blocks = 0;
		pair_end();
	}
}

/* Lists of many queues, of which nothing is left: the others have the CPU now and then */
TEST(share__lists_that_end_do_so_a_few_at_a_time)
{
	enum { MANY = 200 };
	static struct dmanic_flow flow[MANY];
	static struct dmanic_xfer list[MANY];
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u32 i;

	begin();
	for (i = 0; i < MANY; i++) {
		dmanic_flow_init(&flow[i], &pair[0].share[DMANIC_BULK]);
		list[i] = pair_write(source, 5000, 0);
		list[i].blocks = true;
		dmanic_peer_submit(pair[0].peer, &flow[i], &list[i], pair_now);
	}
	pair_blocks = 1;
	for (i = 0; i < MANY && pair[0].completed < MANY; i++) {
		EXPECT(!dmanic_peer_next(pair[0].peer, pair_now, &out));
		EXPECT(pair[0].completed == MANY ||
		       dmanic_peer_deadline(pair[0].peer) <= pair_now);
		dmanic_peer_timer(pair[0].peer, pair_now);
	}
	pair_blocks = 0;
	EXPECT(i >= 3 && i < MANY / 10);
	EXPECT_EQ(pair[0].completed, MANY);
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(list[i].status, DMANIC_STATUS_BOUNDS);
	pair_end();
}

/* An ACK is walked through once at most */
TEST(share__ranges_that_overlap)
{
	struct dmanic_ack ack = { .number = 1000, .window = 1, .mtu = 1500 };
	u8 bytes[1024];
	u32 length, i;

	begin();
	put(0, 14000, 0);
	pair_pump(0);
	ack.stream[DMANIC_BULK].next = pair[0].peer->tx[DMANIC_BULK].una;
	ack.stream[DMANIC_BULK].nr = 3;
	for (i = 0; i < 3; i++) {
		ack.range[i].after = 2000 + i;
		ack.range[i].length = 6000;
	}
	length = dmanic_ack_encode(bytes, pair[0].peer->local_tag, &ack);
	pair_feed(0, pair[1].address, bytes, length);
	EXPECT_EQ(pair[0].host.stats.dropped[DMANIC_DROP_BAD], 1);
	EXPECT_EQ(pair[0].peer->tx[DMANIC_BULK].flight, 14000);
	pair_end();
}
