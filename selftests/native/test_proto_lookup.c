// SPDX-License-Identifier: GPL-2.0-only
/*
 * LOOKUP and FOUND: their bytes, and a question between two nodes. The driver's
 * own files, over shim/.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/range.c
 * Sources: driver/proto/host.c driver/proto/auth.c driver/proto/mac.c
 * Sources: driver/proto/handshake.c driver/proto/peer.c
 * Sources: driver/proto/share.c driver/proto/xfer.c driver/proto/tx.c driver/proto/next.c
 * Sources: driver/proto/receive.c driver/proto/later.c driver/proto/reply.c driver/proto/ack.c
 * Sources: driver/proto/loss.c driver/proto/path.c driver/proto/rate.c
 */
#include <stdlib.h>

#include "driver/proto/proto.h"
#include "unit.h"

/* ---- bytes ---- */

static u8 frame[DMANIC_WIRE_HEAD_MAX];
static char name[DMANIC_WIRE_NAME];

/* Encode one record, decode it again */
static enum dmanic_drop through(const struct dmanic_record *in, struct dmanic_record *out)
{
	struct dmanic_data data = { .seq = 7, .records = 1 };
	struct dmanic_head head;
	u32 at = dmanic_data_begin(frame, false), first = at, end;

	end = dmanic_record_encode(frame, at, in);
	dmanic_data_end(frame, end, 0, 1, &data, 0);
	dmanic_data_seal(frame, NULL);
	if (dmanic_head_decode(frame, end, end, &head))
		return DMANIC_DROPS;
	return dmanic_record_decode(frame, &head, &first, out);
}

TEST(lookup__by_name)
{
	struct dmanic_record in = {
		.type = DMANIC_RECORD_LOOKUP, .opcode = 1, .op = 0x10002, .value = 3,
		.compare = ~4ULL, .name = name,
	};
	struct dmanic_record out;

	memset(name, 0, sizeof(name));
	memset(name, 'x', sizeof(name) - 1);
	ASSERT_EQ(through(&in, &out), DMANIC_DROP_NONE);
	EXPECT_EQ(out.type, DMANIC_RECORD_LOOKUP);
	EXPECT_EQ(out.opcode, 1);
	EXPECT_EQ(out.op, 0x10002);
	EXPECT_EQ(out.value, 3);
	EXPECT_EQ(out.compare, ~4ULL);
	EXPECT_EQ(memcmp(out.name, name, sizeof(name)), 0);
	EXPECT_EQ(dmanic_record_units(&out), 1);
	EXPECT_EQ(dmanic_record_payload(&out), 0);
}

TEST(lookup__by_id)
{
	struct dmanic_record in = {
		.type = DMANIC_RECORD_LOOKUP, .segment = 5, .key = ~6ULL, .name = name,
	};
	struct dmanic_record out;

	memset(name, 0, sizeof(name));
	ASSERT_EQ(through(&in, &out), DMANIC_DROP_NONE);
	EXPECT_EQ(out.segment, 5);
	EXPECT_EQ(out.key, ~6ULL);
}

TEST(lookup__name_and_id)
{
	struct dmanic_record in = {
		.type = DMANIC_RECORD_LOOKUP, .segment = 5, .name = name,
	};
	struct dmanic_record out;

	memset(name, 0, sizeof(name));
	name[0] = 'x';
	EXPECT_EQ(through(&in, &out), DMANIC_DROP_BAD);
	name[0] = 0;
	in.value = 1;
	EXPECT_EQ(through(&in, &out), DMANIC_DROP_BAD);
}

TEST(lookup__name_not_ended)
{
	struct dmanic_record in = { .type = DMANIC_RECORD_LOOKUP, .name = name };
	struct dmanic_record out;

	memset(name, 'x', sizeof(name));
	EXPECT_EQ(through(&in, &out), DMANIC_DROP_BAD);
	memset(name, 0, sizeof(name));
	name[0] = 'x';
	name[2] = 'y';
	EXPECT_EQ(through(&in, &out), DMANIC_DROP_BAD);
}

TEST(lookup__unknown_kind)
{
	struct dmanic_record in = {
		.type = DMANIC_RECORD_LOOKUP, .opcode = 2, .name = name,
	};
	struct dmanic_record out;

	memset(name, 0, sizeof(name));
	EXPECT_EQ(through(&in, &out), DMANIC_DROP_BAD);
}

TEST(found__all_fields)
{
	struct dmanic_record in = {
		.type = DMANIC_RECORD_FOUND, .op = 0x30004, .block = 7, .segment = 9,
		.key = ~1ULL, .value = 1ULL << 39,
	};
	struct dmanic_record out;

	ASSERT_EQ(through(&in, &out), DMANIC_DROP_NONE);
	EXPECT_EQ(out.op, 0x30004);
	EXPECT_EQ(out.block, 7);
	EXPECT_EQ(out.segment, 9);
	EXPECT_EQ(out.key, ~1ULL);
	EXPECT_EQ(out.value, 1ULL << 39);
}

/* ---- two nodes ---- */

/* Node i has the address i */
static struct dmanic_host host[2];
static struct dmanic_peer *peer[2];
static u32 answer_status;
static int asked, completed;
static u64 now = 1000000000;

static u64 env_random(struct dmanic_host *of)
{
	static u64 last = 1;

	return ++last + 0 * of->config.node;
}

static struct dmanic_peer *env_find_tag(struct dmanic_host *of, u64 tag)
{
	struct dmanic_peer *found = peer[of->config.node];

	return found->local_tag == tag ? found : NULL;
}

static struct dmanic_peer *env_find_node(struct dmanic_host *of, u32 node, bool make)
{
	(void)make;
	return node == !of->config.node ? peer[of->config.node] : NULL;
}

static void env_tag_changed(struct dmanic_peer *of, u64 old)
{
	(void)of, (void)old;
}

static void env_event(struct dmanic_peer *of, enum dmanic_peer_event event)
{
	(void)of, (void)event;
}

static void env_complete(struct dmanic_peer *of, struct dmanic_xfer *xfer)
{
	(void)of, (void)xfer;
	completed++;
}

static u32 env_lookup(struct dmanic_peer *of, struct dmanic_lookup *lookup)
{
	(void)of;
	asked++;
	EXPECT_EQ(lookup->kind, 1);
	EXPECT_EQ(strcmp(lookup->name, "bell"), 0);
	EXPECT_EQ(lookup->secret[0], 11);
	EXPECT_EQ(lookup->secret[1], 12);
	lookup->id = 21;
	lookup->key = 22;
	lookup->rights = 3;
	lookup->length = 24;
	return answer_status;
}

static const struct dmanic_env env = {
	.random = env_random,
	.find_tag = env_find_tag,
	.find_node = env_find_node,
	.tag_changed = env_tag_changed,
	.event = env_event,
	.complete = env_complete,
	.lookup = env_lookup,
};

static void begin(u32 status)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct dmanic_proto_config config = { .node = i, .incarnation = i + 1 };

		dmanic_host_init(&host[i], &env, &config);
		peer[i] = malloc(dmanic_peer_bytes(&host[i]));
		if (!peer[i])
			abort();
		dmanic_peer_init(peer[i], &host[i], !i);
	}
	answer_status = status;
	asked = 0;
	completed = 0;
}

static void end(void)
{
	free(peer[0]);
	free(peer[1]);
}

static void deliver(u32 from, const struct dmanic_out *out)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out answer = { .head = head };
	struct dmanic_frame in = {
		.from = from, .head = out->head, .linear = out->head_length,
		.length = out->head_length,
	};

	dmanic_host_receive(&host[!from], &in, now, &answer);
	if (answer.head_length)
		deliver(!from, &answer);
}

/* Of a hundred frames @drop are lost */
static void run(u32 drop)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u32 i, turns, chance = 1;

	for (turns = 0; turns < 100000 && !completed; turns++) {
		for (i = 0; i < 2; i++) {
			now += 10000;
			dmanic_peer_timer(peer[i], now);
			while (dmanic_peer_next(peer[i], now, &out)) {
				chance = chance * 1664525 + 1013904223;
				if ((chance >> 16) % 100 >= drop)
					deliver(i, &out);
			}
		}
	}
}

static void ask(struct dmanic_xfer *xfer, struct dmanic_lookup *lookup, u32 drop)
{
	static struct dmanic_share share;
	static struct dmanic_flow flow;

	*lookup = (struct dmanic_lookup) { .kind = 1, .name = "bell", .secret = { 11, 12 } };
	*xfer = (struct dmanic_xfer) {
		.kind = DMANIC_XFER_LOOKUP, .class = DMANIC_URGENT, .lookup = lookup,
	};
	dmanic_share_init(&share);
	dmanic_flow_init(&flow, &share);
	dmanic_peer_submit(peer[0], &flow, xfer, now);
	run(drop);
}

static void expect_found(u32 drop)
{
	struct dmanic_lookup lookup;
	struct dmanic_xfer xfer;

	begin(DMANIC_STATUS_OK);
	ask(&xfer, &lookup, drop);
	EXPECT_EQ(completed, 1);
	EXPECT_EQ(asked, 1);
	EXPECT_EQ(xfer.status, DMANIC_STATUS_OK);
	EXPECT_EQ(lookup.id, 21);
	EXPECT_EQ(lookup.key, 22);
	EXPECT_EQ(lookup.rights, 3);
	EXPECT_EQ(lookup.length, 24);
	EXPECT_EQ(lookup.incarnation, host[1].config.incarnation);
	end();
}

TEST(lookup__is_answered)
{
	expect_found(0);
}

TEST(lookup__is_answered_once_though_frames_are_lost)
{
	expect_found(10);
	expect_found(50);
}

TEST(lookup__is_refused)
{
	struct dmanic_lookup lookup;
	struct dmanic_xfer xfer;

	begin(DMANIC_STATUS_ACCESS);
	ask(&xfer, &lookup, 0);
	EXPECT_EQ(completed, 1);
	EXPECT_EQ(xfer.status, DMANIC_STATUS_ACCESS);
	EXPECT_EQ(lookup.id, 0);
	end();
}

/* So the caller knows that it may ask again, and does */
TEST(lookup__over_a_connection_given_up_unheard_is_told_from_silence)
{
	struct dmanic_lookup lookup;
	struct dmanic_xfer xfer;
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out unheard = { .head = head };

	begin(DMANIC_STATUS_OK);
	ask(&xfer, &lookup, 0);
	EXPECT_EQ(xfer.status, DMANIC_STATUS_OK);
	dmanic_peer_close(peer[1], DMANIC_STATUS_PEER_DEAD, &unheard);
	completed = 0;
	ask(&xfer, &lookup, 0);
	EXPECT_EQ(completed, 1);
	EXPECT_EQ(xfer.status, DMANIC_STATUS_PEER_RESTARTED);
	EXPECT_EQ(lookup.id, 0);
	completed = 0;
	ask(&xfer, &lookup, 0);
	EXPECT_EQ(completed, 1);
	EXPECT_EQ(xfer.status, DMANIC_STATUS_OK);
	EXPECT_EQ(lookup.id, 21);
	end();
}
