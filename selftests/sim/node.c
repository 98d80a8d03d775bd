// SPDX-License-Identifier: GPL-2.0-only
/*
 * node.c - a node's surroundings, and what is checked when they are touched
 *
 * Segment 1 is the node's memory: an area for each operation others may have,
 * and a word for each flow. Segment 2 is read only: its bytes follow from the
 * node. Interrupt 3 takes the serial number of the operation as its payload.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/crc32.h>
#include <linux/minmax.h>

#include "sim.h"

static u64 word_of(u64 serial, u64 position)
{
	u64 x = serial * 0x9e3779b97f4a7c15ULL + (position >> 3);

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 32;
}

u8 sim_byte(u64 serial, u64 position)
{
	return word_of(serial, position) >> 8 * (position & 7);
}

/* The bytes of an operation from @position on */
void sim_fill(u64 serial, u64 position, u8 *to, u32 length)
{
	u32 i = 0;
	u64 word;

	for (; i < length && (position + i) & 7; i++)
		to[i] = sim_byte(serial, position + i);
	for (; i + 8 <= length; i += 8) {
		word = word_of(serial, position + i);
		memcpy(to + i, &word, 8);
	}
	for (; i < length; i++)
		to[i] = sim_byte(serial, position + i);
}

/* What a node's read-only segment holds: as if it were an operation */
static u64 read_serial(u32 node)
{
	return 1ULL << 62 | node;
}

static struct sim_node *node_of(struct dmanic_host *host)
{
	return container_of(host, struct sim_node, host);
}

static struct sim_peer *peer_of(struct dmanic_peer *peer)
{
	struct sim_node *node = node_of(peer->host);
	struct sim_peer *known;

	for (known = node->peers; known->peer != peer; known = known->next)
		;
	return known;
}

/* Bytes that the link takes from a transfer */
void sim_source(const struct dmanic_source *source, struct sim_peer *peer, u8 *to)
{
	struct dmanic_xfer *xfer = source->xfer;
	struct sim_op *op;
	u64 position;
	u32 i;

	if (xfer->kind != DMANIC_XFER_REPLY) {
		op = container_of(xfer, struct sim_op, xfer);
		SIM_CHECK(op->busy, "bytes of operation %llu after its end", op->serial);
		sim_fill(op->serial, source->at, to, source->length);
		return;
	}
	position = xfer->offset + source->at;
	if (!xfer->block) {
		sim_fill(read_serial(peer->node->id), position, to, source->length);
		return;
	}
	for (i = 0; i < source->length; i++) {
		position = source->at + i;
		position = xfer->offset + position / xfer->block * xfer->stride +
			   position % xfer->block;
		to[i] = sim_byte(read_serial(peer->node->id), position);
	}
}

/* ---- finding ---- */

static u64 node_random(struct dmanic_host *host)
{
	(void)host;
	return sim_random();
}

static struct dmanic_peer *node_find_tag(struct dmanic_host *host, u64 tag)
{
	struct sim_peer *peer;

	for (peer = node_of(host)->peers; tag && peer; peer = peer->next)
		if (peer->peer->local_tag == tag)
			return peer->peer;
	return NULL;
}

struct sim_peer *sim_peer_get(struct sim_node *node, struct sim_node *other)
{
	struct sim_peer *peer;

	for (peer = node->peers; peer; peer = peer->next)
		if (peer->other == other)
			return peer;
	peer = calloc(1, sizeof(*peer));
	peer->node = node;
	peer->other = other;
	peer->armed = DMANIC_NEVER;
	peer->peer = malloc(dmanic_peer_bytes(&node->host));
	dmanic_peer_init(peer->peer, &node->host, other->id);
	peer->next = node->peers;
	node->peers = peer;
	return peer;
}

static struct dmanic_peer *node_find_node(struct dmanic_host *host, u32 id, bool make)
{
	struct sim_peer *peer;

	for (peer = node_of(host)->peers; peer; peer = peer->next)
		if (peer->other->id == id)
			return peer->peer;
	if (!make || id >= sim.config.nodes)
		return NULL;
	return sim_peer_get(node_of(host), &sim.node[id])->peer;
}

static void node_tag_changed(struct dmanic_peer *peer, u64 old)
{
	(void)peer;
	(void)old;
}

/* ---- the target ---- */

static u32 node_access(const struct dmanic_record *record, u32 segment, u64 size, u64 span)
{
	if (record->key != SIM_KEY)
		return DMANIC_STATUS_ACCESS;
	if (record->segment != segment)
		return DMANIC_STATUS_NO_SEGMENT;
	if (record->offset > size || span > size - record->offset)
		return DMANIC_STATUS_BOUNDS;
	return DMANIC_STATUS_OK;
}

/* The bytes of an operation, in its area, one block behind the other or not */
static void node_place_at(struct sim_node *node, const struct dmanic_record *record,
			  u64 position, const u8 *bytes, u32 length)
{
	u64 at = record->offset + position;
	u32 i;

	if (record->type == DMANIC_RECORD_WRITE) {
		memcpy(node->memory + at, bytes, length);
		return;
	}
	for (i = 0; i < length; i++, position++) {
		at = record->offset + position / record->block * record->stride +
		     position % record->block;
		node->memory[at] = bytes[i];
	}
}

static u32 node_place(struct dmanic_peer *peer, const struct dmanic_record *record,
		      u32 skip, const struct dmanic_frame *frame, u32 at, u32 length)
{
	u64 span = record->length, position = skip, from = 0;
	struct sim_node *node = node_of(peer->host);
	const struct sim_payload *payload = frame->link;
	u8 wanted[DMANIC_WIRE_FRAME_MAX];
	struct sim_op *op;
	u32 status;

	if (record->type == DMANIC_RECORD_STRIDED) {
		position += record->position;
		from = record->position;
		span = (from + record->length + record->block - 1) / record->block *
		       record->stride;
	}
	status = node_access(record, 1, node->memory_bytes, span);
	if (status)
		return status;
	if (sim.config.over) {
		node_place_at(node, record, position, payload->bytes + at, length);
		return DMANIC_STATUS_OK;
	}
	op = sim_op_at(peer_of(peer), record->offset);
	SIM_CHECK(op, "node %u writes where it has nothing", peer->node);
	SIM_CHECK(op->busy || op->rest_until > sim.now,
		  "placed after the end of operation %llu", op->serial);
	if (!op->busy)
		return DMANIC_STATUS_OK;
	SIM_CHECK(!op->want, "operation %llu is not refused", op->serial);
	if (record->type == DMANIC_RECORD_WRITE)
		from = record->offset - op->area;
	sim_fill(op->serial, from + skip, wanted, length);
	SIM_CHECK(!memcmp(wanted, payload->bytes + at, length),
		  "operation %llu: wrong bytes at %llu", op->serial, from + skip);
	op->placed += length;
	SIM_CHECK(op->placed <= op->xfer.length, "operation %llu: placed twice",
		  op->serial);
	node->received += length;
	node_place_at(node, record, position, payload->bytes + at, length);
	return DMANIC_STATUS_OK;
}

/* The operations of the flow that were posted before are at the target */
static void notify_in_order(const struct sim_flow *flow, const struct sim_op *op)
{
	const struct sim_op *before;
	u32 i;

	for (i = 0; i < sim.config.depth; i++) {
		before = &flow->op[i];
		if (!before->busy || before->order >= op->order || before->want ||
		    before->xfer.kind != DMANIC_XFER_WRITE || before->changing)
			continue;
		SIM_CHECK(before->placed == before->xfer.length,
			  "notify %llu before the data of %llu", op->serial,
			  before->serial);
	}
}

static struct sim_op *op_by_serial(struct sim_peer *from, u64 serial)
{
	struct sim_peer *theirs = sim_peer_get(from->other, from->node);
	u32 i, k;

	for (i = 0; theirs->flow && i < sim.config.flows; i++)
		for (k = 0; k < sim.config.depth; k++)
			if (theirs->flow[i].op[k].serial == serial)
				return &theirs->flow[i].op[k];
	return NULL;
}

static u32 node_notify(struct dmanic_peer *peer, const struct dmanic_record *record)
{
	struct sim_op *op = op_by_serial(peer_of(peer), record->value);

	if (record->key != SIM_KEY)
		return DMANIC_STATUS_ACCESS;
	SIM_CHECK(!sim_ended_ok(record->value), "notify %llu raised after its end",
		  record->value);
	if (!op || !op->busy)
		return DMANIC_STATUS_OK; /* it was given up */
	SIM_CHECK(!op->want, "notify of operation %llu that was refused", op->serial);
	SIM_CHECK(!op->raised++, "notify %llu raised twice", op->serial);
	SIM_CHECK(op->order >= op->flow->notified, "notify %llu is late", op->serial);
	op->flow->notified = op->order + 1;
	if (sim.config.over) {
		sim_over_check(op->flow, 1, op->serial);
		return DMANIC_STATUS_OK;
	}
	if (op->xfer.kind == DMANIC_XFER_WRITE)
		SIM_CHECK(op->placed == op->xfer.length, "notify %llu before its data",
			  op->serial);
	notify_in_order(op->flow, op);
	return DMANIC_STATUS_OK;
}

static struct sim_flow *flow_by_word(struct sim_peer *from, u64 word)
{
	struct sim_peer *theirs = sim_peer_get(from->other, from->node);
	struct sim_flow *flow;
	u32 at = 0;

	while ((flow = sim_flow_next(theirs, &at)) && flow->word != word)
		;
	return flow;
}

static u32 node_atomic(struct dmanic_peer *peer, const struct dmanic_record *record, u64 *old)
{
	struct sim_node *node = node_of(peer->host);
	struct sim_op *op = op_by_serial(peer_of(peer), record->compare);
	u32 status = node_access(record, 1, node->memory_bytes, sizeof(u64));
	struct sim_flow *flow;
	u64 value;

	if (status)
		return status;
	SIM_CHECK(!sim_ended_ok(record->compare), "atomic %llu done after its end",
		  record->compare);
	flow = flow_by_word(peer_of(peer), record->offset);
	SIM_CHECK(flow, "atomic %llu is nowhere", record->compare);
	flow->did++;
	memcpy(old, node->memory + record->offset, sizeof(*old));
	if (op && op->busy) {
		SIM_CHECK(!op->done++, "atomic %llu done twice", op->serial);
		SIM_CHECK(op->order >= op->flow->counted, "atomic %llu is late",
			  op->serial);
		op->flow->counted = op->order + 1;
		op->found = *old;
	}
	value = *old + record->value;
	memcpy(node->memory + record->offset, &value, sizeof(value));
	return DMANIC_STATUS_OK;
}

/* What is asked here is the serial number, by its name; the length says whose node */
static u32 node_lookup(struct dmanic_peer *peer, struct dmanic_lookup *lookup)
{
	if (lookup->secret[0] != SIM_KEY)
		return DMANIC_STATUS_ACCESS;
	lookup->key = strtoull(lookup->name, NULL, 10);
	lookup->length = node_of(peer->host)->id;
	return DMANIC_STATUS_OK;
}

static u32 node_read_begin(struct dmanic_peer *peer, const struct dmanic_record *record,
			   struct dmanic_xfer *xfer)
{
	u64 blocks, span = record->value;
	u32 status;

	if (record->block) {
		blocks = (record->value + record->block - 1) / record->block;
		span = blocks * record->stride;
	}
	status = node_access(record, 2, 1ULL << 30, span);
	if (status)
		return status;
	xfer->source = xfer;
	node_of(peer->host)->reads++;
	return DMANIC_STATUS_OK;
}

static void node_read_end(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	SIM_CHECK(xfer->source == xfer, "READ %x let go twice", xfer->id);
	xfer->source = NULL;
	node_of(peer->host)->reads--;
}

/* ---- the initiator ---- */

static void node_place_read(struct dmanic_peer *peer, struct dmanic_xfer *xfer,
			    u64 position, const struct dmanic_frame *frame, u32 at,
			    u32 length)
{
	struct sim_op *op = container_of(xfer, struct sim_op, xfer);
	const struct sim_payload *payload = frame->link;
	u64 from, serial = read_serial(peer->node);
	u32 i;

	SIM_CHECK(position + length <= xfer->length && length <= xfer->length,
		  "operation %llu: read beyond its end", op->serial);
	SIM_CHECK(op->busy, "read after the end of operation %llu", op->serial);
	for (i = 0; i < length; i++, position++) {
		from = position;
		if (xfer->block)
			from = position / xfer->block * xfer->stride +
			       position % xfer->block;
		SIM_CHECK(payload->bytes[at + i] == sim_byte(serial, xfer->offset + from),
			  "operation %llu: read wrong byte %llu", op->serial, position);
		SIM_CHECK(!(op->came[position / 8] & 1 << position % 8),
			  "operation %llu: read byte %llu twice", op->serial, position);
		op->came[position / 8] |= 1 << position % 8;
	}
	op->arrived += length;
}

static void node_complete(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	struct sim_op *op = container_of(xfer, struct sim_op, xfer);
	struct sim_node *node = node_of(peer->host);

	SIM_CHECK(op->busy, "operation %llu ended twice", op->serial);
	SIM_CHECK(node->nr_ended < 4096, "node %u", node->id);
	op->busy = false;
	node->ended[node->nr_ended++] = op;
}

/* Of blocks of 100 bytes, contiguous at the target all the same */
static u32 node_cut(struct dmanic_xfer *xfer, u64 position, u32 most, u64 *offset, u64 *at)
{
	*offset = xfer->offset + position;
	*at = position;
	return min_t(u64, most, 100 - position % 100);
}

static u32 node_payload_crc(const struct dmanic_frame *frame, u32 at, u32 length)
{
	const struct sim_payload *payload = frame->link;

	return ~__crc32c_le(~0U, payload->bytes + at, length);
}

static bool node_payload_mac(const struct dmanic_frame *frame, u32 at, u32 length,
			     struct dmanic_mac *mac)
{
	const struct sim_payload *payload = frame->link;

	dmanic_mac_add(mac, payload->bytes + at, length);
	return true;
}

static u64 node_time_of_day(struct dmanic_host *host)
{
	(void)host;
	return sim.now;
}

static void node_event(struct dmanic_peer *peer, enum dmanic_peer_event event)
{
	if (peer && event == DMANIC_PEER_FOUND)
		peer_of(peer)->incarnation = peer->incarnation;
}

static const struct dmanic_key sim_key = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 } };

const struct dmanic_env sim_env = {
	.random = node_random,
	.find_tag = node_find_tag,
	.find_node = node_find_node,
	.tag_changed = node_tag_changed,
	.place = node_place,
	.notify = node_notify,
	.atomic = node_atomic,
	.lookup = node_lookup,
	.read_begin = node_read_begin,
	.read_end = node_read_end,
	.place_read = node_place_read,
	.complete = node_complete,
	.cut = node_cut,
	.payload_crc = node_payload_crc,
	.payload_mac = node_payload_mac,
	.time_of_day = node_time_of_day,
	.event = node_event,
};

/* ---- start and stop ---- */

void sim_node_start(struct sim_node *node)
{
	struct dmanic_proto_config config = {
		.node = node->id,
		.incarnation = ++node->incarnation,
		.mtu = sim.config.mtu,
		.super = sim.config.super,
		.features = sim.config.crc ? DMANIC_WIRE_PAYLOAD_CRC : 0,
		.budget = sim.config.budget,
		.target_ns = sim.config.target_ns,
		.rto_ns = sim.config.rto_ns,
		.dead_ns = node->id ? 0 : sim.config.short_ns,
	};
	struct sim_flow *flow;
	struct sim_peer *peer;
	u32 at;

	if (sim.config.small) {
		config.operations = 16;
		config.extents = 64;
		config.sent = 128;
		config.ranges = 16;
		config.early = 8;
	}
	dmanic_host_init(&node->host, &sim_env, &config);
	if (sim.config.key) {
		dmanic_host_set_key(&node->host, &sim_key, 1);
		dmanic_host_set_mtu(&node->host, sim.config.mtu, 0);
	}
	for (peer = node->peers; peer; peer = peer->next)
		dmanic_peer_init(peer->peer, &node->host, peer->other->id);
	if (!node->memory)
		return;
	memset(node->memory, 0, node->memory_bytes);
	for (peer = node->peers; peer; peer = peer->next)
		for (at = 0; (flow = sim_flow_next(sim_peer_get(peer->other, node), &at));)
			flow->did = 0;
}

/* Without a word to anybody: all it had is gone */
void sim_node_stop(struct sim_node *node)
{
	node->reads = 0;
	node->nr_ended = 0;
	sim_load_lost(node);
}
