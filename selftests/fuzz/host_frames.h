/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host_frames.h - what fuzz_host sends to the node: any frame of anybody, and what a
 * stranger's must leave as it is
 *
 * Frames are built by the encoder, then changed as the input says; zeros change nothing
 * and are what the other side would say next. Who sends a frame of a connection knows its
 * tags, but for those of host_secret's; and the key, if there is one, if the frame is sealed.
 */
#ifndef HOST_FRAMES_H
#define HOST_FRAMES_H

#include "selftests/fuzz/host_node.h"
#include "selftests/fuzz/proof.h"

#include <linux/crc32.h>

static u8 frame[DMANIC_WIRE_FRAME_MAX];

/* ---- a frame arrives ---- */

/* Neither its tag nor the key proves anything, or only that it is of another node */
static inline bool stranger(u64 from, const u8 *bytes, u32 length)
{
	const struct dmanic_peer *peer;
	u64 tag;
	u32 i;

	if (length < DMANIC_WIRE_COMMON)
		return true;
	if (pair_keyed && !fuzz_proven(&pair[0].host, from, bytes, length))
		return true;
	tag = fuzz_u64(bytes + 16);
	for (i = 0; tag && i < host_nr; i++) {
		peer = &host_peers[i]->peer;
		if (bytes[1] == DMANIC_WIRE_RESET && peer->remote_tag == tag)
			return false;
		if (peer->local_tag == tag &&
		    (bytes[1] == DMANIC_WIRE_ANSWER || peer->address == from))
			return false;
	}
	return true;
}

static inline void feed_once(u64 from, const u8 *bytes, u32 length)
{
	u32 i, nr = host_nr, before = host_frames;
	struct dmanic_peer *peer;
	u64 at[HOST_PEERS];

	for (i = 0; i < nr; i++)
		at[i] = dmanic_peer_deadline(&host_peers[i]->peer);
	peer = pair_feed(0, from, bytes, length);
	host_look();
	host_answers += host_frames - before;
	/* Nobody sets timers of others anew */
	for (i = 0; i < nr; i++)
		if (&host_peers[i]->peer != peer)
			demand(dmanic_peer_deadline(&host_peers[i]->peer) >= at[i]);
	if (peer)
		host_pump(peer);
	host_look();
}

static inline void feed_stranger(u64 from, const u8 *bytes, u32 length)
{
	struct was was[HOST_PEERS], is;
	struct pair_side *side = &pair[0];
	u64 sent = host_sent, placed = side->placed;
	u32 i, nr = host_nr, completed = side->completed, atomics = side->atomics;
	u32 notified = side->notified, reads = side->reads;
	bool forged = pair_keyed && !fuzz_proven(&side->host, from, bytes, length);

	for (i = 0; i < nr; i++)
		was[i] = was_of(&host_peers[i]->peer);
	feed_once(from, bytes, length);
	demand(host_sent - sent <= (forged ? 0 : 2 * length));
	demand(side->placed == placed && side->completed == completed &&
	       side->atomics == atomics && side->notified == notified &&
	       side->reads == reads);
	for (i = 0; i < nr; i++) {
		is = was_of(&host_peers[i]->peer);
		/* Who knows the key may go on in the name of another */
		if (!forged)
			was[i].counter = is.counter;
		/* Its place was needed: nothing was under way */
		if (is.node != was[i].node)
			demand(!was[i].nr_replies && !forged);
		else if (was[i].state >= DMANIC_PEER_PAIRED || forged)
			demand(!memcmp(&is, &was[i], sizeof(is)));
	}
}

static inline void feed(u64 from, const u8 *bytes, u32 length)
{
	u64 ms, limit;
	u32 i;

	if (stranger(from, bytes, length)) {
		feed_stranger(from, bytes, length);
	} else {
		host_known(fuzz_u64(bytes + 16));
		feed_once(from, bytes, length);
	}
	/* Who makes room for another is told, too; and who is asked himself is answered */
	ms = (pair_now - host_began) / PAIR_MS + 1;
	limit = (HOST_KINDS + 1) * (HOST_ANSWERS + ms) * (pair_keyed ? DMANIC_STRANGERS : 1) +
		HOST_PEERS * ms;
	demand(host_answers <= limit);
	/* What a frame leads to concerns the peer that was returned */
	for (i = 0; i < host_nr; i++) {
		u64 sent = host_sent;

		host_pump(&host_peers[i]->peer);
		demand(host_sent == sent);
	}
}

/* ---- frames ---- */

/* Who is spoken for, and from where */
struct speaker {
	u32 node;
	u64 from;
	struct host_peer *hp;	/* what the node has of it, or NULL */
	u64 tag;		/* frames to the node have */
};

static inline struct speaker take_speaker(struct input *input)
{
	u8 how = take(input);
	struct speaker who = { .node = (how + 1) % HOST_NODES };

	who.from = 100 + who.node;
	if ((how >> 3) % 4 == 2)
		who.from = 666;
	else if ((how >> 3) % 4 == 3)
		who.from = 100 + take(input) % 16;
	who.hp = host_find(who.node);
	who.tag = who.hp ? who.hp->peer.local_tag : 0;
	switch (how >> 5) {
	case 4:
		who.tag = 0;
		break;
	case 5:
		who.tag = who.hp ? who.hp->peer.remote_tag : 5;
		break;
	case 6:
		who.tag = host_nr_told ? host_told[take(input) % host_nr_told].tag : 6;
		break;
	case 7:
		who.tag = pair[1].peer->local_tag;
		break;
	}
	if (host_secret && (who.tag == host_secret || who.tag == pair[1].peer->local_tag))
		who.tag = 7;
	return who;
}

/* Some bytes are others, it is of another version or length, or comes often */
static inline void deliver(struct input *input, const struct speaker *who, u32 length)
{
	static const u8 times[] = { 1, 1, 2, 100 };
	u8 how = take(input), proof;
	u32 i, at;

	for (i = 0; i < how % 4; i++) {
		at = take_u16(input);
		if (length)
			frame[at % length] = take(input);
	}
	if (how & 4)
		frame[0] = take(input) % 4;
	if (how & 8)
		length = min_t(u32, length + (signed char)take(input), sizeof(frame));
	if (!(how & 16))
		fuzz_seal(frame, length);
	if (pair_keyed && !(how & 16)) {
		proof = take(input);
		length = fuzz_prove(&pair[0].host, who->hp ? &who->hp->peer : NULL, who->from, frame,
				    length, proof % 8 < WRONGS ? proof % 8 : WRONG_NOTHING,
				    proof / 8);
	}
	for (i = 0; i < times[how >> 6]; i++)
		feed(who->from, frame, length);
	if (how & 32)
		pair_feed(1, who->from, frame, length);
}

static inline void step_bytes(struct input *input)
{
	struct speaker who = take_speaker(input);
	u32 length = take_bytes(input, frame, take_u16(input));

	deliver(input, &who, length);
}

static inline void step_hello(struct input *input)
{
	static const u8 types[] = {
		DMANIC_WIRE_INIT, DMANIC_WIRE_ANSWER, DMANIC_WIRE_ANSWER, DMANIC_WIRE_HELLO,
	};
	struct speaker who = take_speaker(input);
	u8 how = take(input), type = types[how % 4], flags = 0;
	struct dmanic_hello hello = {
		.node = who.node, .incarnation = 500 + (how >> 4) % 2, .mtu = 600,
		.tag = 1000 + who.node + 8 * ((how >> 5) % 2),
		.features = host_config.features, .operations = 8, .version_min = 1,
		.version_max = 1, .window = 60000,
	};

	if (how % 4 == 2)
		flags = DMANIC_WIRE_DONE;
	if (type == DMANIC_WIRE_HELLO) {
		flags = how & 4 ? DMANIC_WIRE_REPLY : 0;
		hello.tag = 0;
	}
	if (how & 8)
		hello.to = type == DMANIC_WIRE_HELLO ? DMANIC_WIRE_NOBODY : take(input) % 4;
	if (how & 64)
		hello.features = take(input) % 2;
	if (how & 128) {
		hello.mtu = take(input) * 256;
		hello.operations = take(input);
		hello.window = take(input) * 100;
		hello.version_min = take(input) % 4;
		hello.version_max = take(input) % 4;
	}
	if (type != DMANIC_WIRE_ANSWER)
		who.tag = 0;
	deliver(input, &who, dmanic_hello_encode(frame, type, flags, who.tag, &hello));
}

static inline void step_control(struct input *input)
{
	struct speaker who = take_speaker(input);
	struct dmanic_refuse refuse = { who.node, 1, 1, 1 };
	u8 how = take(input);
	struct dmanic_tested tested = { how >> 4, how >> 4 << 6 };
	struct dmanic_test test = { how >> 4, 0, how >> 4 << 6 };
	u32 length;

	switch (how % 4) {
	case 0:
		length = dmanic_probe_encode(frame, who.tag);
		break;
	case 1:
		if (who.hp)
			tested.number = who.hp->peer.path.number - (how >> 4) % 2;
		if (how & 4)
			length = dmanic_tested_encode(frame, who.tag, &tested);
		else
			length = dmanic_test_encode(frame, who.tag, &test) + test.total;
		break;
	case 2:
		refuse.reason = how >> 4;
		length = dmanic_refuse_encode(frame, who.tag, &refuse);
		break;
	default:
		if (who.hp && !who.hp->kept && !(how & 16))
			who.tag = who.hp->peer.remote_tag;
		length = dmanic_reset_encode(frame, who.tag, who.node,
					     500 + (how >> 5) % 2);
		break;
	}
	deliver(input, &who, length);
}

static inline void fill_ack(struct input *input, const struct host_peer *hp, struct dmanic_ack *ack)
{
	const struct dmanic_peer *peer;
	u8 how = take(input);
	u32 i, nr = how % 4;

	*ack = (struct dmanic_ack) { .window = 60000, .mtu = 600 };
	if (!hp)
		return;
	peer = &hp->peer;
	ack->number = peer->ack_seen + 1 - (how & 4);
	ack->echo = (pair_now >> DMANIC_STAMP_SHIFT) - take(input);
	if (how & 8) {
		ack->window = take(input) * 64;
		ack->mtu = take(input) * 128;
		ack->duplicates = take(input);
		ack->held = take(input) ? 1 : U32_MAX;
	}
	for (i = 0; i < DMANIC_CLASSES; i++) {
		ack->stream[i].next = peer->tx[i].next - (how & 16 ? take(input) : 0);
		ack->stream[i].reject = peer->rx[i].got.next + (how & 32 ? take(input) : 0);
		if (how & 64) {
			ack->stream[i].corrupt = peer->tx[i].una + take(input);
			ack->stream[i].corrupt_units = take(input);
		}
	}
	ack->stream[how >> 7].nr = nr;
	for (i = 0; i < nr; i++) {
		ack->range[i].after = take_u16(input);
		ack->range[i].length = take_u16(input);
	}
}

static inline void step_ack(struct input *input)
{
	struct speaker who = take_speaker(input);
	struct dmanic_ack ack;

	fill_ack(input, who.hp, &ack);
	deliver(input, &who, dmanic_ack_encode(frame, who.tag, &ack));
}

static inline void fill_record(struct input *input, const struct host_peer *hp,
			struct dmanic_record *record)
{
	static const char names[2][DMANIC_WIRE_NAME] = { "", "name" };
	u8 how = take(input), op = take(input);

	*record = (struct dmanic_record) {
		.type = how % DMANIC_RECORD_TYPES,
		.op = (op >> 3) << 16 | op % 8,
		.key = how & 128 ? 1 : PAIR_KEY,
		.name = names[how >> 7],
	};
	if (how & 16)
		record->flags = take(input);
	if (hp && (record->type == DMANIC_RECORD_DATA || dmanic_record_result(record->type)))
		record->op = hp->peer.slot[op % 8].id;
	switch (record->type) {
	case DMANIC_RECORD_STRIDED:
	case DMANIC_RECORD_READ:
		record->block = take(input);
		record->stride = record->block + take(input);
		fallthrough;
	case DMANIC_RECORD_WRITE:
	case DMANIC_RECORD_DATA:
		record->position = take(input);
		record->offset = take_u16(input);
		fallthrough;
	case DMANIC_RECORD_SKIP:
		record->length = take(input);
		break;
	case DMANIC_RECORD_RESULT:
		record->status = take(input);
		break;
	case DMANIC_RECORD_ATOMIC:
		record->opcode = DMANIC_OP_FETCH_ADD;
		break;
	}
	if (record->type == DMANIC_RECORD_READ) {
		record->value = record->length * 8;
		record->length = 0;
	}
	if (record->type == DMANIC_RECORD_WRITE || record->type == DMANIC_RECORD_STRIDED)
		record->segment = how & 32 ? 2 : 1;
	if (how & 64)
		record->length *= 8;
}

static inline void step_data(struct input *input)
{
	struct speaker who = take_speaker(input);
	u8 how = take(input), class = how % 2, flags = how & 2 ? DMANIC_WIRE_NOW : 0;
	struct dmanic_data data = { .records = 1 + (how >> 2) % 4 };
	bool told = how & 16;
	struct dmanic_record record;
	struct dmanic_ack ack;
	u32 i, at, payload = 0, crc;

	if (who.hp)
		data.seq = who.hp->peer.rx[class].got.next;
	if (how & 32)
		data.seq += (signed char)take(input) * 16;
	data.stamp = pair_now >> DMANIC_STAMP_SHIFT;
	at = dmanic_data_begin(frame, told);
	if (told) {
		fill_ack(input, who.hp, &ack);
		dmanic_told_encode(frame, &ack);
		flags |= DMANIC_WIRE_TOLD;
	}
	for (i = 0; i < data.records; i++) {
		fill_record(input, who.hp, &record);
		if (!record.type)
			record.type = DMANIC_RECORD_WRITE;
		at = dmanic_record_encode(frame, at, &record);
		payload += dmanic_record_payload(&record);
	}
	for (i = 0; i < payload; i++)
		frame[at + i] = i;
	if (class == DMANIC_URGENT)
		flags |= DMANIC_WIRE_URGENT;
	if (how & 64)
		flags |= DMANIC_WIRE_NOW | DMANIC_WIRE_LAST;
	if (host_config.features && !(how & 128))
		flags |= DMANIC_WIRE_CRC;
	dmanic_data_end(frame, at, flags, who.tag, &data, payload);
	crc = ~__crc32c_le(~0U, frame + at, payload);
	dmanic_data_seal(frame, flags & DMANIC_WIRE_CRC ? &crc : NULL);
	deliver(input, &who, at + payload);
}

/* One that was sent before, by either, whoever was meant, from anywhere */
static inline void step_again(struct input *input)
{
	struct speaker who = take_speaker(input);
	u8 which = take(input);
	const struct pair_side *side = &pair[which % 2];
	const struct pair_frame *old;

	if (!side->nr_sent || host_secret)
		return;
	old = &side->sent[which / 2 % side->nr_sent];
	memcpy(frame, old->bytes, old->length);
	if (!(which & 64))
		who.from = old->from;
	deliver(input, &who, old->length);
}

static inline void step_flood(struct input *input)
{
	struct dmanic_hello hello = {
		.incarnation = 500, .mtu = 600, .tag = 2000, .operations = 8,
		.version_min = 1, .version_max = 1, .window = 60000,
	};
	u32 i, nr = take(input), length;

	for (i = 1; i <= nr; i++) {
		hello.node = i;
		length = dmanic_hello_encode(frame, DMANIC_WIRE_INIT, 0, 0, &hello);
		feed(200 + i, frame, length);
	}
}

#endif /* HOST_FRAMES_H */
