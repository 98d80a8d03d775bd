// SPDX-License-Identifier: GPL-2.0-only
/*
 * neighbor_member.c - a node of the fabric that is hostile
 *
 * It connects as any node does, so that its frames are looked at to the end: operations of
 * all kinds on what the victim published, answers to what the victim asks for, and what it
 * received; much of it right, some of it not, in and out of order. Whenever the victim ends
 * the connection it makes a new one.
 */
#include <linux/crc32.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "selftests/fuzz/neighbor.h"

#define OPERATIONS	256U	/* ids that the victim may use */
#define WINDOW		(1U << 20)
#define LENGTH		(1U << 20)	/* of what it pretends to have */
#define ASKED		64U
#define SILENT		512U	/* frames with no answer to any */
#define STUCK		128U	/* ACKs that tell nothing new: what it said cannot be done */
#define RECORDS		4U

/**
 * struct asked - what the victim wants to know
 * @record: as it came
 * @told: bytes of a READ
 * @done: it was
 */
struct asked {
	struct dmanic_record record;
	u64 told;
	bool done;
};

/**
 * struct member - a connection
 * @node: id
 * @incarnation: goes up with each
 * @tag: its own
 * @to: the victim's; 0: there is no connection
 * @features: of both
 * @operations: ids that it may use
 * @op: next of them
 * @ack: number of the last ACK
 * @stamp: of the last DATA that came
 * @counter: of frames with a proof
 * @next: of its streams
 * @end: of the victim's, as far as they came
 * @place: export of the victim's, segment and interrupt; type 0: not known
 * @asked: a ring
 * @nr_asked: so far
 * @acked: of its streams
 * @stuck: ACKs since that changed
 * @silent: frames since one came
 * @connections: made
 * @wild: the frame that is being made may have what no node says
 */
struct member {
	u32 node;
	u64 incarnation;
	u64 tag;
	u64 to;
	u32 features;
	u32 operations;
	u32 op;
	u32 ack;
	u32 stamp;
	u64 counter;
	u64 next[DMANIC_CLASSES];
	u64 end[DMANIC_CLASSES];
	struct dmanic_record place[2];
	struct asked asked[ASKED];
	u32 nr_asked;
	u64 acked[DMANIC_CLASSES];
	u32 stuck;
	u32 silent;
	u32 connections;
	bool wild;
};

/* One time out of so many, in frames that may be wrong: others are to be carried out */
static bool odd(struct neighbor *n, const struct member *m, u32 of)
{
	return m->wild && !below(n, of);
}

static u64 next_counter(struct member *m, const u8 *frame)
{
	struct timespec now;

	if (dmanic_frame_type(frame) > DMANIC_WIRE_RESET)
		return ++m->counter;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* The body, with a proof where there is a key. Return: whether the device took it */
static bool say(struct neighbor *n, struct member *m, u32 length)
{
	struct gso_header header = { };

	neighbor_address(n);
	if (n->key_id)
		length = neighbor_prove(n, length, next_counter(m, body(n)));
	/* What is wrong with its proof, too */
	if (odd(n, m, 16))
		length = neighbor_spoil(n, length);
	n->out.length = ETHERNET + (length < n->mtu ? length : n->mtu);
	header.linear = (u16)(below(n, 2) ? n->out.length : ETHERNET + below(n, 64));
	return neighbor_send(n, &header);
}

/* ---- what it hears ---- */

static void hear_ack(struct neighbor *n, struct member *m, const struct dmanic_ack *ack)
{
	u32 class;

	m->stuck++;
	/* What is missing once more, and else what was not acknowledged yet, now and then */
	for (class = 0; class < DMANIC_CLASSES; class++) {
		if (ack->stream[class].next != m->acked[class])
			m->stuck = 0;
		m->acked[class] = ack->stream[class].next;
		if (ack->stream[class].nr || !below(n, 8))
			m->next[class] = ack->stream[class].next;
	}
}

static void hear_record(struct member *m, const struct dmanic_record *record)
{
	switch (record->type) {
	case DMANIC_RECORD_READ:
	case DMANIC_RECORD_ATOMIC:
	case DMANIC_RECORD_LOOKUP:
	case DMANIC_RECORD_WRITE:
	case DMANIC_RECORD_STRIDED:
		m->asked[m->nr_asked++ % ASKED] = (struct asked) { .record = *record };
		break;
	case DMANIC_RECORD_FOUND:
		/* Of what was asked for under that number, see some_lookup() */
		m->place[record->op % 2] = *record;
		break;
	}
}

static void hear_data(struct neighbor *n, struct member *m, const u8 *frame,
		      const struct dmanic_head *head)
{
	u8 class = head->flags & DMANIC_WIRE_URGENT ? DMANIC_URGENT : DMANIC_BULK;
	struct dmanic_record record;
	struct dmanic_data data;
	struct dmanic_ack ack;
	u32 i, at;
	u64 end;

	if (dmanic_data_decode(frame, head, &data))
		return;
	if (head->flags & DMANIC_WIRE_TOLD && !dmanic_told_decode(frame, &ack))
		hear_ack(n, m, &ack);
	m->stamp = data.stamp;
	for (i = 0, at = data.first, end = data.seq; i < data.records; i++) {
		if (dmanic_record_decode(frame, head, &at, &record))
			return;
		/* What came twice is answered once */
		if (end >= m->end[class])
			hear_record(m, &record);
		end += dmanic_record_units(&record);
	}
	if (end > m->end[class])
		m->end[class] = end;
}

/* Return: length of an answer that is made at once, or 0 */
static u32 hear(struct neighbor *n, struct member *m, const struct frame *heard)
{
	const u8 *frame = heard->bytes + ETHERNET;
	u32 length = heard->length - ETHERNET;
	struct dmanic_tested tested = { };
	struct dmanic_test test;
	struct dmanic_head head;
	struct dmanic_ack ack;

	if (memcmp(heard->bytes, n->own, 6) || dmanic_head_decode(frame, length, length, &head))
		return 0;
	if (head.type == DMANIC_WIRE_RESET && head.tag == m->to)
		m->to = 0;
	if (head.tag != m->tag)
		return 0;
	m->silent = 0;
	switch (head.type) {
	case DMANIC_WIRE_ACK:
		if (!dmanic_ack_decode(frame, &head, &ack))
			hear_ack(n, m, &ack);
		return 0;
	case DMANIC_WIRE_DATA:
		hear_data(n, m, frame, &head);
		return 0;
	case DMANIC_WIRE_TEST:
		if (dmanic_test_decode(frame, &head, &test))
			return 0;
		tested.number = test.number;
		tested.length = length;
		return dmanic_tested_encode(body(n), m->to, &tested);
	}
	return 0;
}

/* ---- a connection ---- */

static void connect_anew(struct neighbor *n, struct member *m)
{
	struct member fresh = {
		.node = m->node,
		.incarnation = m->incarnation + 1,
		.connections = m->connections,
		.tag = 1 + neighbor_random(n) / 2,
	};
	struct dmanic_hello own = {
		.node = m->node, .to = 0, .incarnation = fresh.incarnation,
		.tag = fresh.tag, .mtu = n->mtu, .operations = OPERATIONS,
		.features = below(n, 4) ? 0 : DMANIC_WIRE_PAYLOAD_CRC,
		.version_min = 1, .version_max = 1, .window = WINDOW,
	}, other;

	*m = fresh;
	n->tag = 0;
	say(n, m, dmanic_hello_encode(body(n), DMANIC_WIRE_INIT, 0, 0, &own));
	if (!neighbor_answered(n, m->tag, &other))
		return;
	m->to = n->tag = other.tag;
	m->features = own.features & other.features;
	m->operations = other.operations < OPERATIONS ? other.operations : OPERATIONS;
	if (!m->operations)
		m->operations = 1;
	m->connections++;
	say(n, m, dmanic_hello_encode(body(n), DMANIC_WIRE_ANSWER, DMANIC_WIRE_DONE, m->to, &own));
}

/* ---- what it says ---- */

/* Mostly a new one, and of those that there may be */
static u32 some_op(struct neighbor *n, struct member *m)
{
	u32 op = m->op - (below(n, 8) ? 0 : below(n, 4));

	if (odd(n, m, 8))
		return (u32)neighbor_number(n);
	if (op == m->op)
		m->op++;
	return op / m->operations << 16 | op % m->operations;
}

/* Within what the victim has, mostly */
static u64 some_offset(struct neighbor *n, const struct member *m, u64 length)
{
	if (odd(n, m, 4))
		return neighbor_number(n);
	return length ? neighbor_random(n) % length & ~(below(n, 2) ? 7ULL : 0ULL) : 0;
}

static u32 add(struct neighbor *n, u32 at, const struct dmanic_record *record, u32 *payload,
	       u64 *units)
{
	*payload += dmanic_record_payload(record);
	*units += dmanic_record_units(record);
	return dmanic_record_encode(body(n), at, record);
}

/* Where are the segment and the interrupt: the number tells the answer to which */
static void some_lookup(struct neighbor *n, struct member *m, struct dmanic_record *record)
{
	static const char names[][DMANIC_WIRE_NAME] = { "trust", "trust-irq", "nobody", "" };
	u32 kind;

	*record = (struct dmanic_record) {
		.type = DMANIC_RECORD_LOOKUP, .op = some_op(n, m),
	};
	kind = record->op % 2;
	record->opcode = (u8)kind;
	record->name = names[below(n, 16) ? kind : 2];
	if (m->place[kind].type && !below(n, 4)) {
		record->name = names[3];
		record->segment = m->place[kind].segment;
		record->key = m->place[kind].key;
	}
}

/* Of which operation, and where */
static void some_access(struct neighbor *n, struct member *m, struct dmanic_record *record)
{
	static const u8 types[] = {
		DMANIC_RECORD_WRITE, DMANIC_RECORD_WRITE, DMANIC_RECORD_STRIDED,
		DMANIC_RECORD_NOTIFY, DMANIC_RECORD_READ, DMANIC_RECORD_ATOMIC,
		DMANIC_RECORD_SKIP, DMANIC_RECORD_LOOKUP,
	};
	u8 type = types[below(n, sizeof(types))];
	const struct dmanic_record *place = &m->place[type == DMANIC_RECORD_NOTIFY];

	if (type == DMANIC_RECORD_LOOKUP && below(n, 4))
		type = DMANIC_RECORD_WRITE;
	if (type == DMANIC_RECORD_LOOKUP || !m->place[0].type || !m->place[1].type) {
		some_lookup(n, m, record);
		return;
	}
	*record = (struct dmanic_record) {
		.type = type,
		.op = some_op(n, m),
		.segment = !odd(n, m, 8) ? place->segment : (u32)neighbor_number(n),
		.key = !odd(n, m, 8) ? place->key : neighbor_random(n),
		.offset = some_offset(n, m, place->value),
		.value = neighbor_number(n),
	};
	switch (type) {
	case DMANIC_RECORD_STRIDED:
		record->block = !odd(n, m, 4) ? 1 + below(n, 256) : (u32)neighbor_number(n);
		record->stride = record->block + below(n, 64);
		record->position = below(n, 2) ? 0 : below(n, 4096);
		/* fallthrough */
	case DMANIC_RECORD_WRITE:
		record->length = below(n, n->mtu / 8);
		record->flags = below(n, 4) ? 0 : DMANIC_RECORD_NOTIFIES;
		break;
	case DMANIC_RECORD_READ:
		record->value = !odd(n, m, 4) ? below(n, below(n, 16) ? 2048 : 65536) : neighbor_number(n);
		record->block = below(n, 4) ? 0 : 1 + below(n, 4096);
		record->stride = record->block ? record->block + below(n, 64) : 0;
		break;
	case DMANIC_RECORD_ATOMIC:
		record->opcode = (u8)(!odd(n, m, 4) ? DMANIC_OP_FETCH_ADD + below(n, 3) :
						     neighbor_number(n));
		break;
	case DMANIC_RECORD_SKIP:
		record->length = below(n, 2) ? 1 : below(n, 65536);
		record->flags = (u8)(odd(n, m, 4) ? neighbor_random(n) : 1U << below(n, 4) & 7);
		break;
	}
}

/* To what the victim asked for. Return: whether there is something */
static bool some_answer(struct neighbor *n, struct member *m, struct dmanic_record *record)
{
	struct asked *asked;
	u64 left;

	if (!m->nr_asked)
		return false;
	asked = &m->asked[below(n, m->nr_asked < ASKED ? m->nr_asked : ASKED)];
	if (asked->done && !odd(n, m, 4))
		return false;
	asked->done = true;
	*record = (struct dmanic_record) { .op = asked->record.op };
	switch (asked->record.type) {
	case DMANIC_RECORD_LOOKUP:
		record->type = DMANIC_RECORD_FOUND;
		record->segment = 1;
		record->key = 1;
		record->block = !odd(n, m, 4) ? 7 : (u32)neighbor_number(n);
		record->value = !odd(n, m, 4) ? LENGTH : neighbor_number(n);
		break;
	case DMANIC_RECORD_READ:
		record->type = DMANIC_RECORD_DATA;
		record->position = asked->told;
		record->length = 1 + below(n, n->mtu / 4);
		left = asked->record.value - asked->told;
		if (record->length > left && !odd(n, m, 4))
			record->length = (u32)left;
		asked->told += record->length;
		asked->done = asked->told >= asked->record.value;
		break;
	default:
		/* To a WRITE only that it was refused, which is seldom */
		if (asked->record.type != DMANIC_RECORD_ATOMIC && below(n, 8))
			return false;
		record->type = DMANIC_RECORD_RESULT;
		record->status = asked->record.type == DMANIC_RECORD_ATOMIC && below(n, 4) ? 0 :
											      below(n, 16);
		record->value = neighbor_number(n);
		break;
	}
	if (odd(n, m, 4))
		record->op = (u32)neighbor_number(n);
	if (odd(n, m, 4))
		record->position = neighbor_number(n);
	if (odd(n, m, 4))
		record->type = (u8)(below(n, 2) ? DMANIC_RECORD_RESULT : DMANIC_RECORD_FOUND);
	return true;
}

/* The notify that a write of the same operation has behind it */
static void its_notify(struct neighbor *n, const struct member *m, struct dmanic_record *record)
{
	*record = (struct dmanic_record) {
		.type = DMANIC_RECORD_NOTIFY, .op = record->op, .segment = m->place[1].segment,
		.key = m->place[1].key, .value = neighbor_random(n),
	};
}

static void some_ack(struct neighbor *n, struct member *m, struct dmanic_ack *ack)
{
	u32 class;

	memset(ack, 0, sizeof(*ack));
	ack->number = ++m->ack;
	ack->echo = m->stamp;
	ack->held = below(n, 4) ? 0 : ~0U;
	ack->window = !odd(n, m, 4) ? WINDOW : (u32)neighbor_number(n);
	ack->mtu = (u16)n->mtu;
	for (class = 0; class < DMANIC_CLASSES; class++) {
		ack->stream[class].next = m->end[class];
		if (odd(n, m, 8))
			ack->stream[class].next = neighbor_number(n);
		if (odd(n, m, 8))
			ack->stream[class].reject = below(n, 2) ? m->next[class] : neighbor_number(n);
	}
}

static u32 make_ack(struct neighbor *n, struct member *m)
{
	struct dmanic_ack ack;
	u32 i;

	some_ack(n, m, &ack);
	/* As if some had been lost */
	if (odd(n, m, 4)) {
		i = below(n, DMANIC_CLASSES);
		ack.stream[i].next -= ack.stream[i].next ? below(n, 4096) % ack.stream[i].next : 0;
		ack.stream[i].nr = (u16)(1 + below(n, 4));
		for (i = 0; i < 4; i++) {
			ack.range[i].after = 1 + below(n, 512) + (i ? ack.range[i - 1].after + ack.range[i - 1].length : 0);
			ack.range[i].length = 1 + below(n, 512);
		}
	}
	if (odd(n, m, 8)) {
		i = below(n, DMANIC_CLASSES);
		ack.stream[i].corrupt = m->end[i] - below(n, 4096);
		ack.stream[i].corrupt_units = below(n, 4096);
	}
	return dmanic_ack_encode(body(n), m->to, &ack);
}

static u32 make_data(struct neighbor *n, struct member *m)
{
	u8 class = (u8)below(n, DMANIC_CLASSES);
	u8 flags = class == DMANIC_URGENT ? DMANIC_WIRE_URGENT : 0;
	struct dmanic_data data = { .seq = m->next[class], .stamp = (u32)neighbor_random(n) };
	bool told = !below(n, 4), in_turn = !odd(n, m, 4);
	u32 at, payload = 0, wanted = 1 + below(n, RECORDS), crc;
	struct dmanic_record record;
	struct dmanic_ack ack;
	u64 units = 0;

	at = dmanic_data_begin(body(n), told);
	if (told) {
		some_ack(n, m, &ack);
		dmanic_told_encode(body(n), &ack);
		flags |= DMANIC_WIRE_TOLD;
	}
	while (data.records < wanted) {
		if (below(n, 2) || !some_answer(n, m, &record))
			some_access(n, m, &record);
		at = add(n, at, &record, &payload, &units);
		data.records++;
		if (record.flags & DMANIC_RECORD_NOTIFIES && dmanic_record_data(record.type) &&
		    below(n, 8)) {
			its_notify(n, m, &record);
			at = add(n, at, &record, &payload, &units);
			data.records++;
		}
	}
	if (!in_turn)
		data.seq += below(n, 2) ? below(n, 4096) : neighbor_number(n);
	else
		m->next[class] += units;
	neighbor_fill(n, body(n) + at, payload);
	if (m->features & DMANIC_WIRE_PAYLOAD_CRC)
		flags |= DMANIC_WIRE_CRC;
	if (!below(n, 4))
		flags |= DMANIC_WIRE_NOW;
	dmanic_data_end(body(n), at, flags, m->to, &data, payload);
	crc = ~__crc32c_le(~0U, body(n) + at, payload);
	if (odd(n, m, 8))
		crc++;
	dmanic_data_seal(body(n), flags & DMANIC_WIRE_CRC ? &crc : NULL);
	return at + payload;
}

static u32 make(struct neighbor *n, struct member *m)
{
	u32 length;

	m->wild = !below(n, 4);
	switch (below(n, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		length = make_ack(n, m);
		break;
	case 4:
		length = dmanic_probe_encode(body(n), m->to);
		break;
	case 5:
		/* Of what no node says, mostly with the tag of this connection */
		if (m->wild)
			return neighbor_kind(n);
		/* fallthrough */
	default:
		length = make_data(n, m);
	}
	return odd(n, m, 4) ? neighbor_spoil(n, length) : length;
}

/**
 * neighbor_member() - be a node; the victim is node 0
 * @n: the device
 * @node: its id
 * @frames: at most so many; 0: no end
 * @seconds: at most so long; 0: no end
 */
void neighbor_member(struct neighbor *n, u32 node, unsigned long frames, long seconds)
{
	const time_t end = time(NULL) + seconds;
	struct member m = { .node = node };
	unsigned long i, sent = 0;
	struct frame *heard;
	u32 answer;

	/* Its older ones are forgotten */
	m.incarnation = (u64)time(NULL) << 20;
	for (i = 0; (!frames || i < frames) && (!seconds || time(NULL) < end); i++) {
		if (!m.to || m.silent++ == SILENT || m.stuck >= STUCK)
			connect_anew(n, &m);
		heard = &n->heard[n->nr_heard % HEARD];
		/* The victim has its turn, too */
		while (neighbor_hear(n, i % 16 ? 0 : 1, heard)) {
			answer = hear(n, &m, heard);
			if (answer)
				say(n, &m, answer);
			heard = &n->heard[++n->nr_heard % HEARD];
		}
		if (m.to)
			sent += say(n, &m, make(n, &m));
	}
	printf("%lu frames sent, %u heard, %u connections\n", sent, n->nr_heard, m.connections);
}
