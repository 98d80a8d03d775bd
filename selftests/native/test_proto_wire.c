// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every frame and record: each field comes back as it went in, at the offset that
 * Documentation/protocol.rst says; whatever is short, long, unknown or reserved is
 * refused. Nothing was released yet: the format may change, and these tests with it.
 *
 * Sources: driver/proto/wire.c driver/proto/wire_data.c driver/proto/mac.c
 */
#include "driver/proto/crc.h"
#include "driver/proto/wire.h"

#include <linux/dmanic_ring.h>

#include "unit.h"

static u8 frame[2048];
static struct dmanic_head head;

static enum dmanic_drop decode(u32 length)
{
	return dmanic_head_decode(frame, length, length, &head);
}

/* After a change of a byte, with the checksum made right again */
static enum dmanic_drop changed(u32 at, u8 value, u32 length)
{
	frame[at] = value;
	dmanic_head_seal(frame, dmanic_wire_pull(frame, length));
	return decode(length);
}

static u64 field(u32 at, u32 bytes)
{
	u64 value = 0;

	while (bytes--)
		value = value << 8 | frame[at++];
	return value;
}

static const struct dmanic_key key = { { 0x0123456789abcdef, 0xfedcba9876543210 } };
static const struct dmanic_proof proof = {
	.from = 0x0200c0ffee01,
	.key_id = 4,
	.counter = 0x123456789abcdef0ULL,
	.payload_mac = 6,
};

static const struct dmanic_hello sample = {
	.node = 0x01020304, .to = 0x05060708, .incarnation = 0x1112131415161718,
	.tag = 0x2122232425262728, .mtu = 0x5dc, .features = 1, .operations = 0x100,
	.version_min = 1, .version_max = 3, .window = 0x40000,
};

TEST(wire__common_header)
{
	u32 length = dmanic_probe_encode(frame, 0xa1a2a3a4a5a6a7a8), i;

	ASSERT_EQ(length, 24);
	EXPECT_EQ(frame[0], 1);
	EXPECT_EQ(frame[1], DMANIC_WIRE_PROBE);
	EXPECT_EQ(field(2, 2), 0);
	EXPECT_EQ(field(4, 2), 24);
	EXPECT_EQ(field(6, 2), 0);
	EXPECT_EQ(field(12, 4), 0);
	EXPECT(field(16, 8) == 0xa1a2a3a4a5a6a7a8);
	EXPECT_EQ(decode(length), 0);
	EXPECT_EQ(decode(60), 0);	/* padding */
	for (i = 0; i < length; i++)
		EXPECT_EQ(decode(i), DMANIC_DROP_SHORT);
	EXPECT_EQ(dmanic_wire_pull(frame, 23), 0);
	EXPECT_EQ(dmanic_wire_pull(frame, 24), 24);
	/* The head must be contiguous, the payload need not be */
	EXPECT_EQ(dmanic_head_decode(frame, 20, 60, &head), DMANIC_DROP_SHORT);
	EXPECT_EQ(dmanic_head_decode(frame, 60, 24, &head), DMANIC_DROP_SHORT);
}

TEST(wire__every_bit_of_a_head_counts)
{
	u32 length = dmanic_hello_encode(frame, DMANIC_WIRE_ANSWER, 0, 9, &sample), i;

	for (i = 0; i < 8 * length; i++) {
		frame[i / 8] ^= 1U << i % 8;
		EXPECT(decode(length) != 0);
		frame[i / 8] ^= 1U << i % 8;
	}
	EXPECT_EQ(decode(length), 0);
}

TEST(wire__unknown_is_refused)
{
	u32 length = dmanic_probe_encode(frame, 1), i;

	for (i = 0; i < 256; i++) {
		EXPECT_EQ(changed(0, i, length), i == 1 ? 0 : DMANIC_DROP_VERSION);
		frame[0] = 1;
	}
	for (i = DMANIC_WIRE_TYPES; i < 256; i++)
		EXPECT_EQ(changed(1, i, length), DMANIC_DROP_TYPE);
	EXPECT_EQ(changed(1, 0, length), DMANIC_DROP_TYPE);
	frame[1] = DMANIC_WIRE_PROBE;
	for (i = 0; i < 8; i++)
		EXPECT_EQ(changed(2, 1 << i, length), i ? DMANIC_DROP_TYPE :
							  DMANIC_DROP_SHORT);
	frame[2] = 0;
	EXPECT_EQ(changed(3, 1, length), DMANIC_DROP_TYPE);
	frame[3] = 0;
	EXPECT_EQ(changed(13, 1, length), DMANIC_DROP_TYPE);	/* a crc of nothing */
	frame[13] = 0;
	EXPECT_EQ(changed(7, 1, length + 1), DMANIC_DROP_BAD);	/* a payload */
	EXPECT_EQ(changed(7, 1, length), DMANIC_DROP_SHORT);
}

/* By them it is agreed on a version, so they are the same in all */
TEST(wire__first_four_types_are_of_all_versions)
{
	u32 length = dmanic_hello_encode(frame, DMANIC_WIRE_HELLO, DMANIC_WIRE_REPLY, 0,
					 &sample);
	u32 type;

	frame[2] |= 0x80;	/* a flag that is not known here */
	frame[3] = 1;
	frame[7] = 1;		/* a payload */
	for (type = 0; type < 256; type++) {
		frame[0] = 9;
		EXPECT_EQ(changed(1, type, length + 1),
			  type >= 1 && type <= 4 ? 0 : DMANIC_DROP_VERSION);
		if (type == DMANIC_WIRE_HELLO)
			EXPECT_EQ(head.flags, DMANIC_WIRE_REPLY);
	}
	/* In our own they would be wrong */
	frame[0] = 1;
	EXPECT_EQ(changed(1, DMANIC_WIRE_HELLO, length + 1), DMANIC_DROP_TYPE);
	/* Who made them is proven in all */
	frame[0] = 9;
	length = dmanic_auth_encode(frame, length, &key, &proof);
	EXPECT_EQ(changed(0, 9, length + 1), DMANIC_DROP_NONE);
	EXPECT_EQ(head.flags, DMANIC_WIRE_REPLY | DMANIC_WIRE_AUTH);
	EXPECT_EQ(head.head_length, 64);
	EXPECT(dmanic_auth_check(frame, &head, &key, proof.from));
}

/* The same bytes: in another frame, or to another node, their hash is another */
TEST(wire__payload_proof_is_of_tag_and_counter)
{
	struct dmanic_mac mac;
	u64 sum[3];
	u32 i;

	for (i = 0; i < 3; i++) {
		dmanic_probe_encode(frame, i == 1 ? 8 : 7);
		dmanic_auth_begin_payload(&mac, &key, frame, i == 2 ? 6 : 5);
		dmanic_mac_add(&mac, "payload", 7);
		sum[i] = dmanic_mac_end(&mac);
	}
	EXPECT(sum[0] != sum[1]);
	EXPECT(sum[0] != sum[2]);
}

TEST(wire__auth)
{
	u32 length = dmanic_probe_encode(frame, 7), i;

	length = dmanic_auth_encode(frame, length, &key, &proof);
	ASSERT_EQ(length, 56);
	ASSERT_EQ(decode(length), 0);
	EXPECT_EQ(head.flags, DMANIC_WIRE_AUTH);
	EXPECT_EQ(head.head_length, 24);
	EXPECT_EQ(head.payload, 56);
	EXPECT_EQ(head.tag, 7);
	EXPECT_EQ(field(24, 4), 4);
	EXPECT_EQ(head.key_id, 4);
	EXPECT(field(32, 8) == 0x123456789abcdef0ULL);
	EXPECT(head.counter == 0x123456789abcdef0ULL);
	EXPECT_EQ(field(40, 8), 6);
	EXPECT_EQ(head.payload_mac, 6);
	EXPECT(field(48, 8) == head.head_mac);
	EXPECT(dmanic_auth_check(frame, &head, &key, proof.from));
	for (i = 0; i < 128; i++) {
		struct dmanic_key other = key;

		other.word[i / 64] ^= 1ULL << i % 64;
		EXPECT(!dmanic_auth_check(frame, &head, &other, proof.from));
	}
	for (i = 0; i < 48; i++)
		EXPECT(!dmanic_auth_check(frame, &head, &key, proof.from ^ 1ULL << i));
	EXPECT_EQ(changed(31, 1, length), DMANIC_DROP_TYPE);
	frame[31] = 0;
	for (i = 24; i < 56; i++)
		EXPECT_EQ(changed(5, (u8)i, length), DMANIC_DROP_SHORT);
}

TEST(wire__hello)
{
	u32 length = dmanic_hello_encode(frame, DMANIC_WIRE_ANSWER, DMANIC_WIRE_DONE, 7,
					 &sample), i;
	struct dmanic_hello hello;

	ASSERT_EQ(length, 64);
	ASSERT_EQ(decode(length), 0);
	EXPECT_EQ(head.flags, DMANIC_WIRE_DONE);
	EXPECT_EQ(head.tag, 7);
	EXPECT_EQ(field(24, 4), sample.node);
	EXPECT_EQ(field(28, 4), sample.to);
	EXPECT(field(32, 8) == sample.incarnation);
	EXPECT(field(40, 8) == sample.tag);
	EXPECT_EQ(field(48, 4), sample.mtu);
	EXPECT_EQ(field(52, 4), sample.features);
	EXPECT_EQ(field(56, 2), sample.operations);
	EXPECT_EQ(field(58, 1), sample.version_min);
	EXPECT_EQ(field(59, 1), sample.version_max);
	EXPECT_EQ(field(60, 4), sample.window);
	EXPECT_EQ(dmanic_hello_decode(frame, &head, &hello), 0);
	EXPECT(!memcmp(&hello, &sample, sizeof(hello)));
	for (i = 24; i < 64; i++) {
		head.head_length = i;
		EXPECT_EQ(dmanic_hello_decode(frame, &head, &hello), DMANIC_DROP_SHORT);
	}
}

static enum dmanic_drop hello_with(u8 type, struct dmanic_hello hello)
{
	u32 length = dmanic_hello_encode(frame, type, 0, 0, &hello);

	if (decode(length))
		return DMANIC_DROPS;
	return dmanic_hello_decode(frame, &head, &hello);
}

TEST(wire__hello_values)
{
	struct dmanic_hello hello = sample;

	EXPECT_EQ(hello_with(DMANIC_WIRE_INIT, hello), 0);
	EXPECT_EQ(hello_with(DMANIC_WIRE_HELLO, hello), DMANIC_DROP_BAD); /* a tag */
	hello.tag = 0;
	EXPECT_EQ(hello_with(DMANIC_WIRE_HELLO, hello), 0);
	EXPECT_EQ(hello_with(DMANIC_WIRE_INIT, hello), DMANIC_DROP_BAD);
	hello.to = DMANIC_WIRE_NOBODY;
	EXPECT_EQ(hello_with(DMANIC_WIRE_HELLO, hello), 0);
	hello.tag = 1;
	EXPECT_EQ(hello_with(DMANIC_WIRE_INIT, hello), DMANIC_DROP_BAD);
	hello = sample;
	hello.node = DMANIC_WIRE_NOBODY;
	EXPECT_EQ(hello_with(DMANIC_WIRE_INIT, hello), DMANIC_DROP_BAD);
	hello = sample;
	hello.mtu = DMANIC_WIRE_MTU_MIN - 1;
	EXPECT_EQ(hello_with(DMANIC_WIRE_INIT, hello), DMANIC_DROP_BAD);
	hello = sample;
	hello.operations = 0;
	EXPECT_EQ(hello_with(DMANIC_WIRE_INIT, hello), DMANIC_DROP_BAD);
	hello = sample;
	hello.version_min = 4;
	EXPECT_EQ(hello_with(DMANIC_WIRE_INIT, hello), DMANIC_DROP_BAD);
	hello = sample;
	hello.window = 0;
	EXPECT_EQ(hello_with(DMANIC_WIRE_INIT, hello), DMANIC_DROP_BAD);
}

TEST(wire__refuse_and_reset)
{
	struct dmanic_refuse refuse = { 5, DMANIC_REFUSE_BUSY, 1, 2 }, got;
	u32 length = dmanic_refuse_encode(frame, 8, &refuse), node;
	u64 incarnation;

	ASSERT_EQ(length, 32);
	ASSERT_EQ(decode(length), 0);
	EXPECT_EQ(dmanic_refuse_decode(frame, &head, &got), 0);
	EXPECT_EQ(got.node, 5);
	EXPECT_EQ(got.reason, DMANIC_REFUSE_BUSY);
	EXPECT_EQ(got.version_min, 1);
	EXPECT_EQ(got.version_max, 2);
	EXPECT_EQ(field(28, 1), DMANIC_REFUSE_BUSY);
	head.head_length = 31;
	EXPECT_EQ(dmanic_refuse_decode(frame, &head, &got), DMANIC_DROP_SHORT);
	length = dmanic_reset_encode(frame, 9, 3, 0x1234567890);
	ASSERT_EQ(length, 40);
	ASSERT_EQ(decode(length), 0);
	EXPECT_EQ(dmanic_reset_decode(frame, &head, &node, &incarnation), 0);
	EXPECT_EQ(node, 3);
	EXPECT_EQ(incarnation, 0x1234567890);
	EXPECT_EQ(field(32, 8), 0x1234567890);
	head.head_length = 39;
	EXPECT_EQ(dmanic_reset_decode(frame, &head, &node, &incarnation),
		  DMANIC_DROP_SHORT);
}

TEST(wire__ack)
{
	struct dmanic_ack ack = {
		.number = 1, .echo = 2, .held = 3, .window = 4, .duplicates = 5,
		.mtu = 1500,
		.stream = { { 10, 11, 12, 13, 1 }, { 20, 21, 22, 23, 2 } },
		.range = { { 0, 7 }, { 5, 6 }, { 100, 200 } },
	}, got = { 0 };
	u32 length = dmanic_ack_encode(frame, 6, &ack), i;

	ASSERT_EQ(length, 112 + 24);
	ASSERT_EQ(decode(length), 0);
	ASSERT_EQ(dmanic_ack_decode(frame, &head, &got), 0);
	EXPECT(!memcmp(&got, &ack, sizeof(got)));
	EXPECT_EQ(field(24, 4), 1);
	EXPECT_EQ(field(44, 1), 1);
	EXPECT_EQ(field(45, 1), 2);
	EXPECT_EQ(field(46, 2), 1500);
	EXPECT_EQ(field(48, 8), 10);
	EXPECT_EQ(field(64, 8), 12);
	EXPECT_EQ(field(72, 4), 13);
	EXPECT_EQ(field(76, 4), 0);
	EXPECT_EQ(field(80, 8), 20);
	EXPECT_EQ(field(112, 4), 0);
	EXPECT_EQ(field(116, 4), 7);
	for (i = 24; i < length; i++) {
		head.head_length = i;
		EXPECT_EQ(dmanic_ack_decode(frame, &head, &got), DMANIC_DROP_SHORT);
	}
	head.head_length = length + 8;
	EXPECT_EQ(dmanic_ack_decode(frame, &head, &got), DMANIC_DROP_SHORT);
	head.head_length = length;
	frame[119] = 0;		/* an empty range */
	EXPECT_EQ(dmanic_ack_decode(frame, &head, &got), DMANIC_DROP_BAD);
	frame[119] = 7;
	EXPECT_EQ(dmanic_ack_decode(frame, &head, &got), 0);
	frame[79] = 1;		/* reserved */
	EXPECT_EQ(dmanic_ack_decode(frame, &head, &got), DMANIC_DROP_TYPE);
	frame[79] = 0;
	frame[46] = 1;		/* an MTU below the least */
	EXPECT_EQ(dmanic_ack_decode(frame, &head, &got), DMANIC_DROP_BAD);
	frame[46] = 5;
	frame[45] = DMANIC_WIRE_RANGES;
	EXPECT_EQ(dmanic_ack_decode(frame, &head, &got), DMANIC_DROP_BAD);
}

/* ---- records ---- */

static const struct dmanic_record samples[] = {
	{ .type = DMANIC_RECORD_WRITE, .flags = 1, .op = 1, .length = 100, .segment = 3,
	  .key = 4, .offset = 5 },
	{ .type = DMANIC_RECORD_STRIDED, .op = 1, .length = 60, .segment = 3, .key = 4,
	  .offset = 5, .position = 6, .block = 7, .stride = 8 },
	{ .type = DMANIC_RECORD_NOTIFY, .op = 2, .segment = 3, .key = 4, .value = 5 },
	{ .type = DMANIC_RECORD_READ, .op = 2, .segment = 3, .key = 4, .offset = 5,
	  .value = 6, .block = 7, .stride = 8 },
	{ .type = DMANIC_RECORD_ATOMIC, .opcode = DMANIC_OP_SWAP, .op = 2, .segment = 3,
	  .key = 4, .offset = 5, .value = 6, .compare = 7 },
	{ .type = DMANIC_RECORD_DATA, .op = 2, .length = 40, .position = 9 },
	{ .type = DMANIC_RECORD_RESULT, .op = 2, .status = 5, .value = 1ULL << 60 },
	{ .type = DMANIC_RECORD_SKIP, .flags = 2, .op = 2, .length = 1 },
	{ .type = DMANIC_RECORD_FOUND, .op = 2, .segment = 3, .key = 4, .block = 5,
	  .value = 1ULL << 60 },
};

static const u32 sizes[] = { 32, 48, 32, 48, 48, 24, 24, 16, 32 };

/* A frame with one record; its head is decoded */
static u32 frame_of(const struct dmanic_record *record)
{
	struct dmanic_data data = { .seq = 1000, .stamp = 7, .records = 1 };
	u32 at = dmanic_record_encode(frame, dmanic_data_begin(frame, false), record);

	dmanic_data_end(frame, at, DMANIC_WIRE_URGENT, 3, &data,
			dmanic_record_payload(record));
	dmanic_data_seal(frame, NULL);
	if (dmanic_head_decode(frame, at + dmanic_record_payload(record),
			       at + dmanic_record_payload(record), &head))
		UNIT_FAIL("type %u", record->type);
	return at;
}

TEST(wire__data_header)
{
	u32 length = frame_of(&samples[2]);
	struct dmanic_data data;

	EXPECT_EQ(length, 72);
	EXPECT_EQ(field(24, 8), 1000);
	EXPECT_EQ(field(32, 4), 7);
	EXPECT_EQ(field(36, 2), 1);
	EXPECT_EQ(dmanic_data_decode(frame, &head, &data), 0);
	EXPECT_EQ(data.seq, 1000);
	frame[39] = 1;
	EXPECT_EQ(dmanic_data_decode(frame, &head, &data), DMANIC_DROP_TYPE);
	frame[39] = 0;
	frame[37] = 0;
	EXPECT_EQ(dmanic_data_decode(frame, &head, &data), DMANIC_DROP_BAD);
	frame[37] = DMANIC_WIRE_RECORDS + 1;
	EXPECT_EQ(dmanic_data_decode(frame, &head, &data), DMANIC_DROP_BAD);
	head.head_length = 39;
	EXPECT_EQ(dmanic_data_decode(frame, &head, &data), DMANIC_DROP_SHORT);
}

TEST(wire__every_record)
{
	struct dmanic_record got;
	u32 i, k, at, length;

	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		EXPECT_EQ(dmanic_record_size(samples[i].type), sizes[i]);
		length = frame_of(&samples[i]);
		EXPECT_EQ(length, 40 + sizes[i]);
		at = 40;
		EXPECT_EQ(dmanic_record_decode(frame, &head, &at, &got), 0);
		EXPECT_EQ(at, length);
		EXPECT(!memcmp(&got, &samples[i], sizeof(got)));
		for (k = 40; k < length; k++) {
			head.head_length = k;
			at = 40;
			EXPECT_EQ(dmanic_record_decode(frame, &head, &at, &got),
				  DMANIC_DROP_SHORT);
		}
		head.head_length = length;
		frame[43] = 1;	/* reserved */
		at = 40;
		EXPECT_EQ(dmanic_record_decode(frame, &head, &at, &got),
			  DMANIC_DROP_TYPE);
		frame[43] = 0;
		frame[41] = 0x80;	/* no such flag */
		at = 40;
		EXPECT_EQ(dmanic_record_decode(frame, &head, &at, &got),
			  DMANIC_DROP_TYPE);
	}
	frame[41] = 0;
	for (i = 0; i < 256; i++) {
		if (i && i < DMANIC_RECORD_TYPES)
			continue;
		frame[40] = i;
		at = 40;
		EXPECT_EQ(dmanic_record_decode(frame, &head, &at, &got),
			  DMANIC_DROP_TYPE);
	}
}

static enum dmanic_drop record_with(struct dmanic_record record)
{
	struct dmanic_record got;
	u32 at = 40;

	frame_of(&record);
	return dmanic_record_decode(frame, &head, &at, &got);
}

TEST(wire__record_values)
{
	struct dmanic_record record = samples[1];

	record.block = 0;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record = samples[1];
	record.stride = 6;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record = samples[1];
	record.position = U64_MAX;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record = samples[3];
	record.stride = 6;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record.block = 0;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record = samples[4];
	record.opcode = DMANIC_OP_LIST;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record = samples[5];
	record.length = 0;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record = samples[6];
	record.status = DMANIC_STATUS_COUNT;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record = samples[7];
	record.length = 0;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
	record.length = DMANIC_WIRE_FRAME_MAX + 1;
	EXPECT_EQ(record_with(record), DMANIC_DROP_BAD);
}

/* By the processor's instruction, where it has one, as without */
TEST(wire__crc32c)
{
	u8 bytes[64];
	u32 i, at, length;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 37 + 11;
	EXPECT_EQ((u32)~dmanic_crc32c(~0U, (const u8 *)"123456789", 9), 0xe3069283);
	for (at = 0; at < 8; at++)
		for (length = 0; length <= 40; length++)
			ASSERT_EQ(dmanic_crc32c(length, bytes + at, length),
				  __crc32c_le(length, bytes + at, length));
}

/* What was received, in front of the records */
TEST(wire__data_tells_what_was_received)
{
	struct dmanic_ack ack = {
		.number = 1, .echo = 2, .held = 3, .window = 4, .duplicates = 5,
		.mtu = 1500,
		.stream = { { .next = 6, .reject = 7 }, { .next = 8, .reject = 9 } },
	}, got;
	struct dmanic_data data = { .seq = 1000, .stamp = 7, .records = 1 };
	struct dmanic_record record;
	u32 at;

	at = dmanic_record_encode(frame, dmanic_data_begin(frame, true), &samples[2]);
	dmanic_told_encode(frame, &ack);
	dmanic_data_end(frame, at, DMANIC_WIRE_TOLD, 3, &data, 0);
	dmanic_data_seal(frame, NULL);
	EXPECT_EQ(at, 128);
	EXPECT_EQ(field(40, 4), 1);
	EXPECT_EQ(field(44, 4), 2);
	EXPECT_EQ(field(48, 4), 3);
	EXPECT_EQ(field(52, 4), 4);
	EXPECT_EQ(field(56, 4), 5);
	EXPECT_EQ(field(60, 2), 1500);
	EXPECT_EQ(field(64, 8), 6);
	EXPECT_EQ(field(72, 8), 7);
	EXPECT_EQ(field(80, 8), 8);
	EXPECT_EQ(field(88, 8), 9);
	ASSERT_EQ(dmanic_head_decode(frame, at, at, &head), 0);
	ASSERT_EQ(dmanic_data_decode(frame, &head, &data), 0);
	EXPECT_EQ(data.first, 96);
	ASSERT_EQ(dmanic_told_decode(frame, &got), 0);
	EXPECT_EQ(got.number, 1);
	EXPECT_EQ(got.held, 3);
	EXPECT_EQ(got.mtu, 1500);
	EXPECT_EQ(got.stream[0].next, 6);
	EXPECT_EQ(got.stream[1].reject, 9);
	EXPECT_EQ(got.stream[1].corrupt_units, 0);
	EXPECT_EQ(got.stream[0].nr + got.stream[1].nr, 0);
	at = data.first;
	ASSERT_EQ(dmanic_record_decode(frame, &head, &at, &record), 0);
	EXPECT_EQ(record.value, samples[2].value);
	frame[63] = 1;
	EXPECT_EQ(dmanic_told_decode(frame, &got), DMANIC_DROP_TYPE);
	frame[63] = 0;
	frame[60] = 0;
	EXPECT_EQ(dmanic_told_decode(frame, &got), DMANIC_DROP_BAD);
	head.head_length = 95;
	EXPECT_EQ(dmanic_data_decode(frame, &head, &data), DMANIC_DROP_SHORT);
}

/* Every kind of frame in turn; 0: there are no more */
static u32 frame_of_kind(u32 kind)
{
	static const struct dmanic_refuse refuse = { .node = 1, .reason = 2 };
	static const struct dmanic_tested tested = { 1, 2 };
	static const struct dmanic_test test = { .number = 1, .total = 2 };
	static const struct dmanic_ack ack = {
		.number = 1, .mtu = 1500, .stream = { { .next = 6, .nr = 1 } },
		.range = { { 1, 2 } },
	};
	struct dmanic_data data = { .seq = 1000, .records = 1 };
	u32 at;

	switch (kind) {
	case 0:
		return dmanic_hello_encode(frame, DMANIC_WIRE_INIT, 0, 0, &sample);
	case 1:
		return dmanic_refuse_encode(frame, 3, &refuse);
	case 2:
		return dmanic_reset_encode(frame, 3, 4, 5);
	case 3:
		return dmanic_probe_encode(frame, 3);
	case 4:
		return dmanic_ack_encode(frame, 3, &ack);
	case 5:
		return dmanic_test_encode(frame, 3, &test);
	case 6:
		return dmanic_tested_encode(frame, 3, &tested);
	case 7:
		at = dmanic_probe_encode(frame, 7);
		return dmanic_auth_encode(frame, at, &key, &proof);
	case 8:
		at = dmanic_record_encode(frame, dmanic_data_begin(frame, true), &samples[0]);
		dmanic_told_encode(frame, &ack);
		dmanic_data_end(frame, at, DMANIC_WIRE_TOLD, 3, &data, 0);
		dmanic_data_seal(frame, NULL);
		return at;
	default:
		return kind - 9 < ARRAY_SIZE(samples) ? frame_of(&samples[kind - 9]) : 0;
	}
}

TEST(wire__nothing_of_before_is_sent)
{
	static u8 first[sizeof(frame)];
	u32 kind, length;

	for (kind = 0; ; kind++) {
		memset(frame, 0xa5, sizeof(frame));
		length = frame_of_kind(kind);
		if (!length)
			break;
		memcpy(first, frame, length);
		memset(frame, 0x5a, sizeof(frame));
		EXPECT_EQ(frame_of_kind(kind), length);
		EXPECT(!memcmp(first, frame, length));
	}
	EXPECT(kind > 9 + 5);
	memset(frame, 0, sizeof(frame));
}

/* The last piece has the NOTIFY, the others something as long; all tell what was received */
TEST(wire__cut_with_notify_and_told)
{
	static const struct dmanic_ack ack = { .number = 7, .mtu = 1500, .window = 1 };
	static u8 piece[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_data data = { .seq = 5000, .records = 2 };
	struct dmanic_record record = samples[0], got;
	u32 at, from, length, whole;
	struct dmanic_ack told;

	record.length = 1000;
	at = dmanic_data_begin(frame, true);
	dmanic_told_encode(frame, &ack);
	at = dmanic_record_encode(frame, at, &record);
	whole = dmanic_record_encode(frame, at, &samples[2]);
	dmanic_data_end(frame, whole, DMANIC_WIRE_TOLD | DMANIC_WIRE_NOW | DMANIC_WIRE_LAST, 3,
			&data, 1000);
	dmanic_data_seal(frame, NULL);
	ASSERT_EQ(dmanic_head_decode(frame, whole, whole + 1000, &head), 0);
	EXPECT(dmanic_frame_cuttable(frame, &head));
	for (from = 0; from < 1000; from += length) {
		length = 1000 - from > 300 ? 300 : 1000 - from;
		EXPECT_EQ(dmanic_frame_cut(frame, from, length, piece), whole);
		dmanic_data_seal(piece, NULL);
		ASSERT_EQ(dmanic_head_decode(piece, whole, whole + length, &head), 0);
		EXPECT_EQ(head.flags, from == 900 ? DMANIC_WIRE_TOLD | DMANIC_WIRE_NOW |
						    DMANIC_WIRE_LAST : DMANIC_WIRE_TOLD);
		ASSERT_EQ(dmanic_data_decode(piece, &head, &data), 0);
		ASSERT_EQ(dmanic_told_decode(piece, &told), 0);
		EXPECT_EQ(told.number, 7);
		EXPECT_EQ(data.records, 2);
		at = data.first;
		ASSERT_EQ(dmanic_record_decode(piece, &head, &at, &got), 0);
		EXPECT_EQ(got.length, length);
		EXPECT_EQ(got.offset, record.offset + from);
		ASSERT_EQ(dmanic_record_decode(piece, &head, &at, &got), 0);
		EXPECT_EQ(got.type, from == 900 ? DMANIC_RECORD_NOTIFY : DMANIC_RECORD_PAD);
		EXPECT_EQ(dmanic_record_units(&got), from == 900);
		EXPECT_EQ(got.value, from == 900 ? samples[2].value : 0);
		EXPECT_EQ(at, whole);
	}
	/* Nothing in it but its type */
	for (at = whole - 31; at < whole; at++) {
		from = whole - 32;
		memset(piece + from, 0, 32);
		piece[from] = DMANIC_RECORD_PAD;
		piece[at] = 1;
		EXPECT_EQ(dmanic_record_decode(piece, &head, &from, &got), DMANIC_DROP_TYPE);
	}
}

TEST(wire__test)
{
	static const struct dmanic_tested said = { .number = 0x01020304, .length = 0x3fee };
	struct dmanic_test test = { .number = 0x11121314, .total = 2936 }, got;
	struct dmanic_tested answer;
	u32 length;

	length = dmanic_test_encode(frame, 5, &test);
	ASSERT_EQ(length, 32);
	EXPECT_EQ(frame[1], 9);
	EXPECT_EQ(field(6, 2), 2936);
	EXPECT_EQ(field(24, 4), 0x11121314);
	EXPECT_EQ(field(28, 2), 0);
	EXPECT_EQ(field(30, 2), 2936);
	ASSERT_EQ(dmanic_head_decode(frame, 32, 2968, &head), 0);
	ASSERT_EQ(dmanic_test_decode(frame, &head, &got), 0);
	EXPECT(!memcmp(&got, &test, sizeof(got)));
	/* What it says is longer than itself, or shorter, or nothing */
	EXPECT_EQ(dmanic_head_decode(frame, 32, 2967, &head), DMANIC_DROP_SHORT);
	frame[29] = 1;
	EXPECT_EQ(dmanic_test_decode(frame, &head, &got), DMANIC_DROP_BAD);
	frame[29] = 0;
	head.payload_length = 0;
	EXPECT_EQ(dmanic_test_decode(frame, &head, &got), DMANIC_DROP_BAD);
	head.head_length = 31;
	EXPECT_EQ(dmanic_test_decode(frame, &head, &got), DMANIC_DROP_SHORT);

	length = dmanic_tested_encode(frame, 5, &said);
	ASSERT_EQ(length, 32);
	EXPECT_EQ(frame[1], 10);
	EXPECT_EQ(field(24, 4), 0x01020304);
	EXPECT_EQ(field(28, 4), 0x3fee);
	ASSERT_EQ(decode(32), 0);
	ASSERT_EQ(dmanic_tested_decode(frame, &head, &answer), 0);
	EXPECT(!memcmp(&answer, &said, sizeof(answer)));
	memset(frame + 28, 0, 4);
	EXPECT_EQ(dmanic_tested_decode(frame, &head, &answer), DMANIC_DROP_BAD);
	head.head_length = 31;
	EXPECT_EQ(dmanic_tested_decode(frame, &head, &answer), DMANIC_DROP_SHORT);
}

TEST(wire__cut_test)
{
	static u8 piece[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_test test = { .number = 7, .total = 1000 }, got;
	u32 from, length;

	dmanic_test_encode(frame, 5, &test);
	ASSERT_EQ(dmanic_head_decode(frame, 32, 1032, &head), 0);
	EXPECT(dmanic_frame_cuttable(frame, &head));
	for (from = 0; from < 1000; from += length) {
		length = 1000 - from > 300 ? 300 : 1000 - from;
		EXPECT_EQ(dmanic_frame_cut(frame, from, length, piece), 32);
		dmanic_data_seal(piece, NULL);
		ASSERT_EQ(dmanic_head_decode(piece, 32, 32 + length, &head), 0);
		EXPECT_EQ(head.payload_length, length);
		ASSERT_EQ(dmanic_test_decode(piece, &head, &got), 0);
		EXPECT_EQ(got.number, 7);
		EXPECT_EQ(got.from, from);
		EXPECT_EQ(got.total, 1000);
		/* And once more, by a device behind */
		if (length == 300) {
			static u8 again[DMANIC_WIRE_HEAD_MAX];

			EXPECT(dmanic_frame_cuttable(piece, &head));
			EXPECT_EQ(dmanic_frame_cut(piece, 200, 100, again), 32);
			dmanic_data_seal(again, NULL);
			ASSERT_EQ(dmanic_head_decode(again, 32, 132, &head), 0);
			ASSERT_EQ(dmanic_test_decode(again, &head, &got), 0);
			EXPECT_EQ(got.from, from + 200);
		}
	}
	/* Nothing else is to be cut */
	length = dmanic_probe_encode(frame, 5);
	ASSERT_EQ(decode(length), 0);
	EXPECT(!dmanic_frame_cuttable(frame, &head));
	dmanic_test_encode(frame, 5, &test);
	ASSERT_EQ(dmanic_head_decode(frame, 32, 1032, &head), 0);
	head.head_length = 40;
	EXPECT(!dmanic_frame_cuttable(frame, &head));
}

TEST(wire__cuttable)
{
	struct dmanic_data data = { .seq = 5000, .records = 2 };
	u32 at, i, length;

	for (i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		frame_of(&samples[i]);
		EXPECT_EQ(dmanic_frame_cuttable(frame, &head),
			  dmanic_record_data(samples[i].type));
		at = dmanic_record_encode(frame, dmanic_data_begin(frame, false), &samples[0]);
		at = dmanic_record_encode(frame, at, &samples[i]);
		length = samples[0].length + dmanic_record_payload(&samples[i]);
		dmanic_data_end(frame, at, 0, 3, &data, length);
		dmanic_data_seal(frame, NULL);
		ASSERT_EQ(dmanic_head_decode(frame, at, at + length, &head), 0);
		EXPECT_EQ(dmanic_frame_cuttable(frame, &head),
			  samples[i].type == DMANIC_RECORD_NOTIFY);
	}
}

/* What pieces say together is what the whole said */
TEST(wire__cut)
{
	static u8 piece[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_record record, got;
	struct dmanic_data data;
	u32 types[] = { 0, 1, 5 }, i, from, length, at;

	for (i = 0; i < 3; i++) {
		record = samples[types[i]];
		record.length = 1000;
		at = dmanic_record_encode(frame, dmanic_data_begin(frame, false), &record);
		data = (struct dmanic_data) { .seq = 5000, .stamp = 1, .records = 1 };
		dmanic_data_end(frame, at, DMANIC_WIRE_NOW, 3, &data, 1000);
		for (from = 0; from < 1000; from += length) {
			length = 1000 - from > 300 ? 300 : 1000 - from;
			EXPECT_EQ(dmanic_frame_cut(frame, from, length, piece), at);
			dmanic_data_seal(piece, NULL);
			ASSERT_EQ(dmanic_head_decode(piece, at, at + length, &head), 0);
			EXPECT_EQ(head.payload_length, length);
			EXPECT_EQ(head.flags, from == 900 ? DMANIC_WIRE_NOW : 0);
			ASSERT_EQ(dmanic_data_decode(piece, &head, &data), 0);
			EXPECT_EQ(data.seq, 5000 + from);
			at = 40;
			ASSERT_EQ(dmanic_record_decode(piece, &head, &at, &got), 0);
			EXPECT_EQ(got.length, length);
			EXPECT_EQ(got.offset, record.offset + (i ? 0 : from));
			EXPECT_EQ(got.position, record.position + (i ? from : 0));
		}
	}
}
