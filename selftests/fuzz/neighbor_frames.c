// SPDX-License-Identifier: GPL-2.0-only
/*
 * neighbor_frames.c - frames that no node would send
 *
 * Of each the seed decides what it is: any bytes; a head as the encoder makes it, of any
 * node, with any tag; what was heard, once more or with some bytes replaced. Most
 * checksums of heads are right, so that what is behind them is looked at; with a key most
 * proofs are, too.
 */
#include <string.h>
#include <time.h>

#include "selftests/fuzz/neighbor.h"

#define NODES		8U

/* splitmix64 */
u64 neighbor_random(struct neighbor *n)
{
	u64 z = n->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

void neighbor_fill(struct neighbor *n, u8 *bytes, u32 length)
{
	while (length--)
		*bytes++ = neighbor_random(n);
}

/* Tags are in the heads of what was heard */
static u64 some_tag(struct neighbor *n)
{
	const struct frame *heard;
	u64 tag = 0;
	u32 i;

	if (n->tag && below(n, 8))
		return n->tag;
	if (!n->nr_heard || !below(n, 4))
		return below(n, 3) ? neighbor_random(n) : 0;
	heard = &n->heard[below(n, n->nr_heard < HEARD ? n->nr_heard : HEARD)];
	if (heard->length < ETHERNET + DMANIC_WIRE_COMMON)
		return 0;
	for (i = 0; i < 8; i++)
		tag = tag << 8 | heard->bytes[ETHERNET + 16 + i];
	return tag;
}

/* Small, or next to where something ends */
u64 neighbor_number(struct neighbor *n)
{
	static const u64 ends[] = {
		0, 1, 1500, 4096, 65535, 65536, 0x7fffffff, 0xffffffff, 1ULL << 48,
		1ULL << 63, U64_MAX,
	};

	return below(n, 2) ? below(n, 256) :
			     ends[below(n, sizeof(ends) / sizeof(*ends))] - below(n, 3);
}

static u32 make_bytes(struct neighbor *n)
{
	u32 length = below(n, 4) ? below(n, 200) : below(n, n->mtu);

	neighbor_fill(n, body(n), length);
	if (length > 1 && below(n, 4)) {
		body(n)[0] = DMANIC_WIRE_MAX;
		body(n)[1] = (u8)below(n, DMANIC_WIRE_TYPES + 1);
	}
	return length;
}

static u32 make_hello(struct neighbor *n)
{
	static const u8 types[] = {
		DMANIC_WIRE_HELLO, DMANIC_WIRE_INIT, DMANIC_WIRE_INIT, DMANIC_WIRE_ANSWER,
	};
	u8 type = types[below(n, 4)];
	struct dmanic_hello hello = {
		.node = below(n, 4) ? below(n, NODES) : (u32)neighbor_number(n),
		.to = below(n, 8) ? below(n, 2) : DMANIC_WIRE_NOBODY,
		.incarnation = below(n, 4),
		.tag = type == DMANIC_WIRE_HELLO ? 0 : some_tag(n),
		.mtu = below(n, 4) ? n->mtu : (u32)neighbor_number(n),
		.features = below(n, 4) ? 1 : (u32)neighbor_random(n),
		.operations = (u16)(below(n, 4) ? 64 : neighbor_number(n)),
		.version_min = (u8)(below(n, 8) ? 1 : neighbor_random(n)),
		.version_max = (u8)(below(n, 8) ? 1 : neighbor_random(n)),
		.window = below(n, 4) ? 65536 : (u32)neighbor_number(n),
	};

	return dmanic_hello_encode(body(n), type, below(n, 8) ? 0 : (u8)neighbor_random(n),
				   type == DMANIC_WIRE_ANSWER ? some_tag(n) : 0, &hello);
}

static u32 make_control(struct neighbor *n)
{
	struct dmanic_refuse refuse = {
		.node = below(n, NODES), .reason = (u8)neighbor_number(n),
		.version_min = 1, .version_max = 1,
	};

	switch (below(n, 3)) {
	case 0:
		return dmanic_probe_encode(body(n), some_tag(n));
	case 1:
		return dmanic_refuse_encode(body(n), some_tag(n), &refuse);
	default:
		return dmanic_reset_encode(body(n), some_tag(n), below(n, NODES),
					   below(n, 4));
	}
}

static void some_ack(struct neighbor *n, struct dmanic_ack *ack)
{
	u32 class, i, nr = below(n, 8);

	memset(ack, 0, sizeof(*ack));
	ack->number = (u32)neighbor_number(n);
	ack->echo = (u32)neighbor_random(n);
	ack->held = (u32)neighbor_number(n);
	ack->window = (u32)neighbor_number(n);
	ack->duplicates = (u32)neighbor_number(n);
	ack->mtu = n->mtu;
	for (class = 0; class < DMANIC_CLASSES; class++) {
		ack->stream[class].next = neighbor_number(n);
		ack->stream[class].reject = neighbor_number(n);
		ack->stream[class].corrupt = neighbor_number(n);
		ack->stream[class].corrupt_units = below(n, 2) ? 0 : (u32)neighbor_number(n);
	}
	ack->stream[below(n, DMANIC_CLASSES)].nr = nr;
	for (i = 0; i < nr; i++) {
		ack->range[i].after = (u32)neighbor_number(n);
		ack->range[i].length = (u32)neighbor_number(n);
	}
}

static u32 make_ack(struct neighbor *n)
{
	struct dmanic_ack ack;

	some_ack(n, &ack);
	return dmanic_ack_encode(body(n), some_tag(n), &ack);
}

static u32 make_test(struct neighbor *n)
{
	struct dmanic_tested tested = { (u32)neighbor_number(n), (u32)neighbor_number(n) };
	struct dmanic_test test = {
		.number = (u32)neighbor_number(n), .total = below(n, n->mtu - 64),
	};
	u32 length;

	if (!below(n, 2))
		return dmanic_tested_encode(body(n), some_tag(n), &tested);
	length = dmanic_test_encode(body(n), some_tag(n), &test);
	neighbor_fill(n, body(n) + length, test.total);
	return length + test.total;
}

static u32 make_data(struct neighbor *n)
{
	struct dmanic_data data = {
		.seq = neighbor_number(n), .stamp = (u32)neighbor_random(n), .records = 1 + below(n, 4),
	};
	static const char name[DMANIC_WIRE_NAME] = "name";
	bool told = !below(n, 4);
	u32 i, at, payload = 0;
	struct dmanic_ack ack;

	at = dmanic_data_begin(body(n), told);
	if (told) {
		some_ack(n, &ack);
		dmanic_told_encode(body(n), &ack);
	}
	for (i = 0; i < data.records; i++) {
		struct dmanic_record record = {
			.type = (u8)(1 + below(n, DMANIC_RECORD_TYPES - 1)),
			.flags = below(n, 4) ? 0 : (u8)neighbor_random(n),
			.op = (u32)neighbor_number(n),
			.segment = (u32)neighbor_number(n),
			.key = neighbor_random(n),
			.offset = neighbor_number(n),
			.position = neighbor_number(n),
			.block = (u32)neighbor_number(n),
			.stride = neighbor_number(n),
			.value = neighbor_number(n),
			.opcode = (u8)neighbor_number(n),
			.name = name,
		};

		record.length = below(n, n->mtu / 8);
		at = dmanic_record_encode(body(n), at, &record);
		payload += dmanic_record_payload(&record);
	}
	neighbor_fill(n, body(n) + at, payload);
	dmanic_data_end(body(n), at, (u8)(neighbor_random(n) | (told ? DMANIC_WIRE_TOLD : 0)),
			some_tag(n), &data, payload);
	dmanic_data_seal(body(n), NULL);
	return at + payload;
}

/* What was heard, from there on as it is */
static u32 make_again(struct neighbor *n)
{
	const struct frame *heard;

	if (!n->nr_heard)
		return make_hello(n);
	heard = &n->heard[below(n, n->nr_heard < HEARD ? n->nr_heard : HEARD)];
	memcpy(n->out.bytes, heard->bytes, heard->length);
	return heard->length - ETHERNET;
}

/* Some bytes are others, or it is of another length */
u32 neighbor_spoil(struct neighbor *n, u32 length)
{
	u32 i, head, nr = below(n, 4);

	for (i = 0; i < nr && length; i++)
		body(n)[below(n, below(n, 2) && length > 64 ? 64 : length)] = (u8)neighbor_random(n);
	if (!below(n, 4))
		length = below(n, length + 1);
	else if (!below(n, 8) && length + 32 < n->mtu)
		length += below(n, 32);
	head = dmanic_wire_pull(body(n), length);
	if (below(n, 8) && head >= DMANIC_WIRE_COMMON && head <= length)
		dmanic_head_seal(body(n), head);
	return length;
}

static u64 source_of(const struct neighbor *n)
{
	u64 address = 0;
	u32 i;

	for (i = 6; i < 12; i++)
		address = address << 8 | n->out.bytes[i];
	return address;
}

/* As a connection has them, as those have that are of none, or any */
static u64 some_counter(struct neighbor *n)
{
	struct timespec now;

	switch (below(n, 3)) {
	case 0:
		return below(n, 1U << 20);
	case 1:
		clock_gettime(CLOCK_REALTIME, &now);
		return now.tv_sec * 1000000000ULL + now.tv_nsec;
	default:
		return neighbor_number(n);
	}
}

/* Return: length of the frame of @length bytes with a proof, or @length: it has no room */
u32 neighbor_prove(struct neighbor *n, u32 length, u64 counter)
{
	u32 head = dmanic_wire_pull(body(n), length), payload;
	struct dmanic_proof proof = {
		.from = source_of(n) | (u64)ETHERTYPE << 48, .key_id = n->key_id,
		.counter = counter,
	};
	struct dmanic_mac mac;

	if (head < DMANIC_WIRE_COMMON || head > length)
		return length;
	if ((body(n)[2] & DMANIC_WIRE_AUTH) && head >= DMANIC_WIRE_COMMON + DMANIC_WIRE_AUTH_BYTES) {
		head -= DMANIC_WIRE_AUTH_BYTES;
		length -= DMANIC_WIRE_AUTH_BYTES;
	} else if (length + DMANIC_WIRE_AUTH_BYTES > n->mtu) {
		return length;
	} else {
		memmove(body(n) + head + DMANIC_WIRE_AUTH_BYTES, body(n) + head, length - head);
	}
	payload = (u32)body(n)[6] << 8 | body(n)[7];
	if (payload > length - head)
		payload = length - head;
	if (payload) {
		dmanic_auth_begin_payload(&mac, &n->key, body(n), proof.counter);
		dmanic_mac_add(&mac, body(n) + head + DMANIC_WIRE_AUTH_BYTES, payload);
		proof.payload_mac = dmanic_mac_end(&mac);
	}
	dmanic_auth_encode(body(n), head, &n->key, &proof);
	return length + DMANIC_WIRE_AUTH_BYTES;
}

/* From this neighbour, to its victim */
void neighbor_address(struct neighbor *n)
{
	memcpy(n->out.bytes, n->to, 6);
	memcpy(n->out.bytes + 6, n->own, 6);
	n->out.bytes[12] = ETHERTYPE >> 8;
	n->out.bytes[13] = ETHERTYPE & 0xff;
}

/* A body of any kind. Return: its length */
u32 neighbor_kind(struct neighbor *n)
{
	static u32 (*const kinds[])(struct neighbor *n) = {
		make_bytes, make_hello, make_control, make_ack, make_test, make_data,
		make_again, make_again, make_again,
	};

	return kinds[below(n, sizeof(kinds) / sizeof(*kinds))](n);
}

/* The next one, in n->out */
void neighbor_make(struct neighbor *n)
{
	u32 length;

	memset(n->out.bytes, 0, ETHERNET);
	length = neighbor_kind(n);
	/*
	 * Where a heard one was from is kept, sometimes; the node's own address seldom, for
	 * a bridge that learns it takes all to that node away from it for a while.
	 */
	if (!n->out.bytes[12] || below(n, memcmp(n->out.bytes + 6, n->to, 6) ? 2 : 64))
		neighbor_address(n);
	if (!below(n, 16))
		memset(n->out.bytes, 0xff, 6);
	if (!below(n, 32))
		neighbor_fill(n, n->out.bytes + 6, 6);
	n->out.bytes[12] = ETHERTYPE >> 8;
	n->out.bytes[13] = ETHERTYPE & 0xff;
	if (below(n, 4))
		length = neighbor_spoil(n, length);
	/* What was heard is proven already */
	if (n->key_id && below(n, 4))
		length = neighbor_prove(n, length, some_counter(n));
	n->out.length = ETHERNET + (length < n->mtu ? length : n->mtu);
}

/* What was made becomes long, and says so, mostly */
static void enlarge_any(struct neighbor *n, u32 more)
{
	u32 length = n->out.length - ETHERNET, head;

	neighbor_fill(n, body(n) + length, more);
	length += more;
	n->out.length = ETHERNET + length;
	head = dmanic_wire_pull(body(n), length);
	if (below(n, 4) && head >= DMANIC_WIRE_COMMON && head <= length) {
		body(n)[6] = (u8)((length - head) >> 8);
		body(n)[7] = (u8)(length - head);
		dmanic_head_seal(body(n), head);
	}
}

/* A frame in the form of those that a driver has cut, in place of what was made */
static void make_large_test(struct neighbor *n, u32 length)
{
	const struct dmanic_test test = { .number = 1, .total = (u16)(length - DMANIC_WIRE_CUT_HEAD) };
	u32 head = dmanic_test_encode(body(n), n->tag, &test);

	neighbor_fill(n, body(n) + head, test.total);
	n->out.length = ETHERNET + head + test.total;
}

/* It says to be of another transport, and is to be cut */
void neighbor_enlarge(struct neighbor *n, struct gso_header *header)
{
	static const u8 types[] = {
		GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, GSO_UDP, GSO_TCPV4 | GSO_ECN,
	};
	u32 more = below(n, DMANIC_WIRE_FRAME_MAX - n->mtu);

	if (below(n, 2))
		make_large_test(n, n->mtu + more);
	else
		enlarge_any(n, more);
	header->type = types[below(n, sizeof(types))];
	header->flags = GSO_CHECKSUM;
	header->size = (u16)(below(n, 8) ? 500 + below(n, 1000) : neighbor_number(n));
	/* Where theirs are, else the kernel takes none: behind a head of IP */
	header->checksum[0] = (u16)(ETHERNET + 40 + below(n, 32));
	header->checksum[1] = header->type == GSO_UDP_L4 || header->type == GSO_UDP ? 6 : 16;
	if (header->linear < header->checksum[0] + 64 && n->out.length > 200)
		header->linear = 200;
}
