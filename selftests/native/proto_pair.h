/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two nodes with the driver's protocol, and every frame between them in the hands
 * of the test: it delivers, drops, repeats, or keeps them. Used by tests and by
 * the fuzzers.
 */
#ifndef PROTO_PAIR_H
#define PROTO_PAIR_H

#include <stdlib.h>
#include <string.h>

#include "driver/proto/proto.h"

#include <linux/crc32.h>
#include <linux/minmax.h>

#define PAIR_KEY	77
#define PAIR_MEMORY	65536
#define PAIR_MS		1000000ULL
#ifndef PAIR_FRAMES
#define PAIR_FRAMES	4096
#endif

struct pair_frame {
	u64 from;
	u64 to;
	u32 length;
	u8 *bytes;
};

struct pair_side {
	struct dmanic_host host;
	struct dmanic_peer *peer;
	struct dmanic_share share[DMANIC_CLASSES];
	struct dmanic_flow flow[DMANIC_CLASSES];
	u64 address;
	u64 clock;		/* ahead of the other side's */
	u8 memory[PAIR_MEMORY];
	u64 placed;		/* bytes */
	u32 notified;
	u64 payload[64];	/* of the last notifies */
	u32 atomics;
	u32 places;
	u64 word;
	u32 reads;		/* held */
	u32 completed;
	struct dmanic_xfer *last;
	enum dmanic_peer_event event;
	u32 events;
	u32 refuse;		/* status of every access */
	u32 tags_told;		/* frames to everybody that had a tag */
	struct pair_frame sent[PAIR_FRAMES];
	u32 nr_sent;
};

static struct pair_side pair[2];
static u64 pair_now;
static bool pair_uncut;	/* what is to be cut gets lost */
static bool pair_whole;	/* it is carried whole */
static u32 pair_takes;	/* no frame that is longer leaves side 0; 0: all do */
static u64 pair_seed;
static u32 pair_blocks;	/* so many are in a list, less one; 0: all that are asked for */
static bool pair_keyed;	/* both have the same key, from their start */

static inline struct pair_side *pair_of(struct dmanic_host *host)
{
	return container_of(host, struct pair_side, host);
}

static inline u64 pair_random(struct dmanic_host *host)
{
	u64 z = pair_seed += 0x9e3779b97f4a7c15ULL;

	/* splitmix64 */
	(void)host;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline struct dmanic_peer *pair_find_tag(struct dmanic_host *host, u64 tag)
{
	struct pair_side *side = pair_of(host);

	return side->peer && tag && side->peer->local_tag == tag ? side->peer : NULL;
}

static inline struct dmanic_peer *pair_find_node(struct dmanic_host *host, u32 node,
						 bool make)
{
	struct pair_side *side = pair_of(host);

	(void)make;
	return side->peer && side->peer->node == node ? side->peer : NULL;
}

static inline void pair_tag_changed(struct dmanic_peer *peer, u64 old)
{
	(void)peer;
	(void)old;
}

static inline u32 pair_access(struct pair_side *side, const struct dmanic_record *record,
			      u64 span)
{
	if (side->refuse)
		return side->refuse;
	if (record->key != PAIR_KEY)
		return DMANIC_STATUS_ACCESS;
	if (record->offset > PAIR_MEMORY || span > PAIR_MEMORY - record->offset)
		return DMANIC_STATUS_BOUNDS;
	return DMANIC_STATUS_OK;
}

static inline u32 pair_place(struct dmanic_peer *peer, const struct dmanic_record *record,
			     u32 skip, const struct dmanic_frame *frame, u32 at, u32 length)
{
	struct pair_side *side = pair_of(peer->host);
	const u8 *bytes = frame->link;
	u64 position, to, span = (u64)skip + length;
	u32 i, status;

	/* What is placed now has to be within, as the driver sees it */
	if (record->type == DMANIC_RECORD_STRIDED)
		span = record->length;
	status = pair_access(side, record, span);
	if (status)
		return status;
	side->placed += length;
	side->places++;
	for (i = 0; i < length; i++) {
		position = skip + i;
		to = record->offset + position;
		if (record->type == DMANIC_RECORD_STRIDED) {
			position += record->position;
			to = record->offset + position / record->block * record->stride +
			     position % record->block;
		}
		if (to >= PAIR_MEMORY)
			return DMANIC_STATUS_BOUNDS;
		side->memory[to] = bytes[at + i];
	}
	return DMANIC_STATUS_OK;
}

static inline u32 pair_notify(struct dmanic_peer *peer, const struct dmanic_record *record)
{
	struct pair_side *side = pair_of(peer->host);

	side->payload[side->notified++ % 64] = record->value;
	return side->refuse;
}

static inline u32 pair_atomic(struct dmanic_peer *peer, const struct dmanic_record *record,
			      u64 *old)
{
	struct pair_side *side = pair_of(peer->host);
	u32 status = pair_access(side, record, 8);

	if (status)
		return status;
	side->atomics++;
	*old = side->word;
	side->word += record->value;
	return DMANIC_STATUS_OK;
}

/* Each side has one export, and tells what was asked */
static inline u32 pair_lookup(struct dmanic_peer *peer, struct dmanic_lookup *lookup)
{
	(void)peer;
	if (lookup->kind || *lookup->name)
		return DMANIC_STATUS_NO_SEGMENT;
	lookup->rights = 1;
	lookup->length = 2;
	return DMANIC_STATUS_OK;
}

static inline u32 pair_read_begin(struct dmanic_peer *peer,
				  const struct dmanic_record *record,
				  struct dmanic_xfer *xfer)
{
	struct pair_side *side = pair_of(peer->host);
	u32 status = pair_access(side, record, record->value);

	if (status)
		return status;
	side->reads++;
	xfer->source = side->memory + record->offset;
	return DMANIC_STATUS_OK;
}

static inline void pair_read_end(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	struct pair_side *side = pair_of(peer->host);

	if (!side->reads || !xfer->source)
		abort();
	side->reads--;
	xfer->source = NULL;
}

static inline void pair_place_read(struct dmanic_peer *peer, struct dmanic_xfer *xfer,
				   u64 position, const struct dmanic_frame *frame, u32 at,
				   u32 length)
{
	const u8 *bytes = frame->link;

	(void)peer;
	if (position + length > xfer->length)
		abort();
	memcpy((u8 *)xfer->source + position, bytes + at, length);
}

static inline void pair_complete(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	struct pair_side *side = pair_of(peer->host);

	side->completed++;
	side->last = xfer;
}

static inline u32 pair_cut(struct dmanic_xfer *xfer, u64 position, u32 most, u64 *offset,
			   u64 *at)
{
	*offset = xfer->offset + position;
	*at = position;
	if (pair_blocks == 1)
		return 0;
	pair_blocks -= pair_blocks != 0;
	return min_t(u32, most, 50);
}

static inline u32 pair_payload_crc(const struct dmanic_frame *frame, u32 at, u32 length)
{
	return ~__crc32c_le(~0U, (const u8 *)frame->link + at, length);
}

static inline bool pair_payload_mac(const struct dmanic_frame *frame, u32 at, u32 length,
				    struct dmanic_mac *mac)
{
	dmanic_mac_add(mac, (const u8 *)frame->link + at, length);
	return true;
}

static inline u64 pair_time_of_day(struct dmanic_host *host)
{
	return pair_now + pair_of(host)->clock;
}

static inline void pair_event(struct dmanic_peer *peer, enum dmanic_peer_event event)
{
	struct pair_side *side = peer ? pair_of(peer->host) : &pair[0];

	side->event = event;
	side->events++;
}

static const struct dmanic_env pair_env = {
	.random = pair_random,
	.find_tag = pair_find_tag,
	.find_node = pair_find_node,
	.tag_changed = pair_tag_changed,
	.place = pair_place,
	.notify = pair_notify,
	.atomic = pair_atomic,
	.lookup = pair_lookup,
	.read_begin = pair_read_begin,
	.read_end = pair_read_end,
	.place_read = pair_place_read,
	.complete = pair_complete,
	.cut = pair_cut,
	.payload_crc = pair_payload_crc,
	.payload_mac = pair_payload_mac,
	.time_of_day = pair_time_of_day,
	.event = pair_event,
};

/* Side @i has a key; connections would have to be made anew */
static inline void pair_set_key(u32 i, u64 word, u32 id, u32 mtu, u32 super)
{
	struct dmanic_key key = { { word, ~word } };

	dmanic_host_set_key(&pair[i].host, word ? &key : NULL, id);
	dmanic_host_set_mtu(&pair[i].host, mtu, super);
}

/* Side @i anew, as after a start of its machine */
static inline void pair_start(u32 i, u64 incarnation, struct dmanic_proto_config config)
{
	struct pair_side *side = &pair[i];
	u32 k;

	for (k = 0; k < side->nr_sent; k++)
		free(side->sent[k].bytes);
	free(side->peer);
	memset(side, 0, sizeof(*side));
	side->address = 100 + i;
	config.node = i;
	config.incarnation = incarnation;
	dmanic_host_init(&side->host, &pair_env, &config);
	if (pair_keyed)
		pair_set_key(i, 0x5eed, 7, config.mtu, 0);
	side->peer = malloc(dmanic_peer_bytes(&side->host));
	dmanic_peer_init(side->peer, &side->host, !i);
	for (k = 0; k < DMANIC_CLASSES; k++) {
		dmanic_share_init(&side->share[k]);
		dmanic_flow_init(&side->flow[k], &side->share[k]);
	}
}

static inline void pair_begin_with(struct dmanic_proto_config config)
{
	pair_now = 1000 * PAIR_MS;
	pair_seed = 1;
	pair_start(0, 1000, config);
	pair_start(1, 2000, config);
}

static inline void pair_begin(void)
{
	struct dmanic_proto_config config = { .mtu = 1500, .super = 9000 };

	pair_begin_with(config);
}

static inline void pair_end(void)
{
	u32 i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < pair[i].nr_sent; k++)
			free(pair[i].sent[k].bytes);
		pair[i].nr_sent = 0;
		free(pair[i].peer);
		pair[i].peer = NULL;
	}
}

/*
 * Nobody but the other side may learn a tag: of a frame to everybody, in its head
 * or where a HELLO has its sender's
 */
static inline bool pair_has_tag(const u8 *bytes)
{
	u32 i;

	for (i = 0; i < 8; i++)
		if (bytes[16 + i] || bytes[40 + i])
			return true;
	return bytes[1] != DMANIC_WIRE_HELLO;
}

static inline void pair_keep(struct pair_side *side, u64 to, const u8 *bytes, u32 length)
{
	struct pair_frame *frame = &side->sent[side->nr_sent];

	if (side->nr_sent == PAIR_FRAMES)
		abort();
	frame->from = side->address;
	frame->to = to;
	side->tags_told += to == DMANIC_EVERYBODY && pair_has_tag(bytes);
	frame->length = length;
	frame->bytes = malloc(length);
	memcpy(frame->bytes, bytes, length);
	side->nr_sent++;
}

static inline void pair_send(struct pair_side *side, const struct dmanic_out *out)
{
	static u8 payload[DMANIC_WIRE_FRAME_MAX], bytes[DMANIC_WIRE_FRAME_MAX + 1024];
	u32 i, at = 0, from = 0, length, crc, head = out->head_length;
	struct dmanic_mac mac;

	for (i = 0; i < out->nr_sources; i++) {
		memcpy(payload + at, (u8 *)out->source[i].xfer->source + out->source[i].at,
		       out->source[i].length);
		at += out->source[i].length;
	}
	if (!out->nr_sources) {
		memset(payload, 0, out->payload_length);
		at = out->payload_length;
	}
	if (at != out->payload_length)
		abort();
	if (pair_uncut && out->piece && out->payload_length > out->piece)
		return;
	do {
		length = out->payload_length - from;
		if (!pair_whole && out->piece && length > out->piece)
			length = out->piece;
		if (length != out->payload_length)
			dmanic_frame_cut(out->head, from, length, bytes);
		else
			memcpy(bytes, out->head, out->head_length);
		crc = ~__crc32c_le(~0U, payload + from, length);
		if (out->seal)
			dmanic_data_seal(bytes, out->crc ? &crc : NULL);
		if (dmanic_auth_bytes(&side->host)) {
			dmanic_auth_begin(&side->host, out, &mac);
			dmanic_mac_add(&mac, payload + from, length);
			head = dmanic_auth_seal(&side->host, out, side->address, bytes,
						length ? &mac : NULL);
		}
		memcpy(bytes + head, payload + from, length);
		pair_keep(side, out->to, bytes, head + length);
		from += length;
	} while (from < out->payload_length);
}

/* What side @i wants to send goes to its list */
static inline void pair_pump(u32 i)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	while (dmanic_peer_next(pair[i].peer, pair_now, &out)) {
		if (!i && pair_takes && out.head_length + out.payload_length > pair_takes)
			dmanic_peer_unsent(pair[i].peer, &out, pair_now);
		else
			pair_send(&pair[i], &out);
	}
}

/* Side @i gets a frame; its answer goes to its list. Return: the peer it concerned. */
static inline struct dmanic_peer *pair_receive(u32 i, const struct dmanic_frame *frame)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out answer = { .head = head };
	struct dmanic_peer *peer;

	peer = dmanic_host_receive(&pair[i].host, frame, pair_now, &answer);
	if (answer.head_length)
		pair_send(&pair[i], &answer);
	return peer;
}

/*
 * Side @i gets these bytes, as a link has them: the head is contiguous, and memory ends
 * where the frame does. Return: the peer it concerned.
 */
static inline struct dmanic_peer *pair_feed(u32 i, u64 from, const u8 *bytes, u32 length)
{
	u32 linear = dmanic_wire_pull(bytes, length);
	struct dmanic_frame frame = { .from = from, .length = length };
	struct dmanic_peer *peer;
	u8 *head, *link;

	frame.linear = linear && linear <= length ? linear : length;
	/* An empty one has no byte that may be read: NOLINTBEGIN(*-optin.portability.UnixAPI) */
	frame.head = head = malloc(frame.linear);
	frame.link = link = malloc(length);
	/* NOLINTEND(*-optin.portability.UnixAPI) */
	memcpy(head, bytes, frame.linear);
	memcpy(link, bytes, length);
	peer = pair_receive(i, &frame);
	free(head);
	free(link);
	return peer;
}

/* Frame @k that side @i sent arrives, if it is for the other; it stays in the list */
static inline void pair_deliver(u32 i, u32 k)
{
	struct pair_frame *frame = &pair[i].sent[k];

	if (frame->to == DMANIC_EVERYBODY || frame->to == pair[!i].address)
		pair_feed(!i, frame->from, frame->bytes, frame->length);
	pair_pump(!i);
}

static inline void pair_drop(u32 i, u32 k)
{
	struct pair_side *side = &pair[i];

	free(side->sent[k].bytes);
	side->nr_sent--;
	memmove(&side->sent[k], &side->sent[k + 1],
		(side->nr_sent - k) * sizeof(side->sent[0]));
}

static inline u8 pair_type(u32 i, u32 k)
{
	return pair[i].sent[k].bytes[1];
}

/* What side 0 has sent, and then side 1, arrives */
static inline void pair_round(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		while (pair[i].nr_sent) {
			pair_deliver(i, 0);
			pair_drop(i, 0);
		}
	}
}

/* Everything arrives, in order, until nobody has anything more */
static inline void pair_settle(void)
{
	pair_pump(0);
	pair_pump(1);
	while (pair[0].nr_sent || pair[1].nr_sent)
		pair_round();
}

/* To the next deadline, unless it is behind @until; what timers make is in the lists */
static inline bool pair_tick(u64 until)
{
	u64 at = min(dmanic_peer_deadline(pair[0].peer),
		     dmanic_peer_deadline(pair[1].peer));
	u32 i;

	if (at > until)
		return false;
	pair_now = max(at, pair_now + 1);
	for (i = 0; i < 2; i++) {
		dmanic_peer_timer(pair[i].peer, pair_now);
		pair_pump(i);
	}
	return true;
}

/* Time goes on and nothing arrives */
static inline void pair_wait(u64 ns)
{
	u64 until = pair_now + ns;

	while (pair_tick(until))
		;
	pair_now = until;
}

/* Time goes on and everything arrives */
static inline void pair_run(u64 ns)
{
	u64 until = pair_now + ns;

	do {
		pair_settle();
	} while (pair_tick(until));
	pair_now = until;
}

static inline void pair_submit(u32 i, struct dmanic_xfer *xfer)
{
	dmanic_peer_submit(pair[i].peer, &pair[i].flow[xfer->class], xfer, pair_now);
}

static inline struct dmanic_xfer pair_write(void *source, u64 length, u64 offset)
{
	return (struct dmanic_xfer) {
		.kind = DMANIC_XFER_WRITE,
		.class = DMANIC_BULK,
		.segment = 1,
		.key = PAIR_KEY,
		.irq_key = PAIR_KEY,
		.offset = offset,
		.length = length,
		.source = source,
	};
}

static inline bool pair_open(void)
{
	return pair[0].peer->state == DMANIC_PEER_OPEN &&
	       pair[1].peer->state == DMANIC_PEER_OPEN;
}

/* Connected, with nothing under way */
static inline void pair_connect(void)
{
	static u8 byte;
	static struct dmanic_xfer xfer;

	xfer = pair_write(&byte, 1, 0);
	pair_submit(0, &xfer);
	pair_run(2 * PAIR_MS);
	pair[0].completed = 0;
	pair[1].placed = 0;
}

#endif /* PROTO_PAIR_H */
