// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_wire.c - every decoder, over any bytes
 *
 * The input is a frame. It is decoded as it is, and again with a checksum that is
 * right, so that what is behind the checksum is reached. What was decoded and
 * encoded again must be the same bytes.
 */
#include "selftests/fuzz/fuzz.h"

/* What there is of it: memory ends where that does, so that what is read behind it is found */
static const u8 *frame;
static u8 copy[DMANIC_WIRE_HEAD_MAX];

static void decode_data(const struct dmanic_head *head)
{
	bool told = head->flags & DMANIC_WIRE_TOLD;
	struct dmanic_record record;
	struct dmanic_data data;
	struct dmanic_ack ack;
	u32 i, at, from, to;

	if (dmanic_data_decode(frame, head, &data))
		return;
	to = dmanic_data_begin(copy, told);
	demand(data.first == to);
	if (told && !dmanic_told_decode(frame, &ack)) {
		dmanic_told_encode(copy, &ack);
		demand(!memcmp(copy + 40, frame + 40, to - 40));
	}
	for (at = to, i = 0; i < data.records; i++) {
		from = at;
		if (dmanic_record_decode(frame, head, &at, &record))
			return;
		demand(at <= head->head_length &&
		       (dmanic_record_units(&record) || record.type == DMANIC_RECORD_PAD));
		to = dmanic_record_encode(copy, to, &record);
		demand(to == at && !memcmp(copy + from, frame + from, at - from));
	}
}

/* Units of a piece of DATA */
static u32 cut_data(const struct dmanic_head *head)
{
	struct dmanic_record record;
	struct dmanic_data data;
	u32 at, i, units = 0;

	demand(!dmanic_data_decode(copy, head, &data));
	for (at = data.first, i = 0; i < data.records; i++) {
		demand(!dmanic_record_decode(copy, head, &at, &record));
		units += dmanic_record_units(&record);
	}
	demand(at == head->head_length);
	return units;
}

/* Bytes of a piece of a TEST */
static u32 cut_test(const struct dmanic_head *head)
{
	struct dmanic_test test;

	demand(!dmanic_test_decode(copy, head, &test));
	return head->payload_length;
}

/* Pieces of what may be cut are frames, too, and together as long */
static void cut(const struct dmanic_head *whole)
{
	u32 from, length, half = whole->payload_length / 2, units = 0;
	struct dmanic_head head;

	if (!dmanic_frame_cuttable(frame, whole) || !half)
		return;
	demand(whole->head_length <= DMANIC_WIRE_CUT_HEAD);
	for (from = 0; from < whole->payload_length; from += length) {
		length = from ? whole->payload_length - from : half;
		demand(dmanic_frame_cut(frame, from, length, copy) == whole->head_length);
		dmanic_data_seal(copy, NULL);
		demand(!dmanic_head_decode(copy, whole->head_length,
					   whole->head_length + length, &head));
		units += head.type == DMANIC_WIRE_DATA ? cut_data(&head) : cut_test(&head);
	}
	demand(units == whole->payload_length || units == whole->payload_length + 1U);
}

static void decode_type(const struct dmanic_head *head)
{
	struct dmanic_refuse refuse;
	struct dmanic_tested tested;
	struct dmanic_hello hello;
	struct dmanic_test test;
	struct dmanic_ack ack;
	u64 incarnation;
	u32 node;

	switch (head->type) {
	case DMANIC_WIRE_HELLO:
	case DMANIC_WIRE_INIT:
	case DMANIC_WIRE_ANSWER:
		if (dmanic_hello_decode(frame, head, &hello))
			return;
		dmanic_hello_encode(copy, head->type, head->flags, head->tag, &hello);
		demand(!memcmp(copy + 24, frame + 24, 40));
		break;
	case DMANIC_WIRE_REFUSE:
		dmanic_refuse_decode(frame, head, &refuse);
		break;
	case DMANIC_WIRE_RESET:
		dmanic_reset_decode(frame, head, &node, &incarnation);
		break;
	case DMANIC_WIRE_ACK:
		if (dmanic_ack_decode(frame, head, &ack))
			return;
		demand(dmanic_ack_encode(copy, head->tag, &ack) == head->head_length);
		demand(!memcmp(copy, frame, head->head_length));
		break;
	case DMANIC_WIRE_DATA:
		decode_data(head);
		cut(head);
		break;
	case DMANIC_WIRE_TEST:
		if (dmanic_test_decode(frame, head, &test))
			return;
		demand(test.from + head->payload_length <= test.total);
		dmanic_test_encode(copy, head->tag, &test);
		demand(!memcmp(copy + 24, frame + 24, 8));
		cut(head);
		break;
	case DMANIC_WIRE_TESTED:
		if (dmanic_tested_decode(frame, head, &tested))
			return;
		dmanic_tested_encode(copy, head->tag, &tested);
		demand(!memcmp(copy + 24, frame + 24, 8));
		break;
	}
}

/* The head alone, as long as a link makes contiguous, and then as long as it says it is */
static void decode(const u8 *bytes, u32 length)
{
	u32 linear = dmanic_wire_pull(bytes, length);
	struct dmanic_head head;
	u8 *memory;

	if (!linear || linear > length)
		linear = length;
	memory = malloc(linear);
	memcpy(memory, bytes, linear);
	frame = memory;
	if (!dmanic_head_decode(frame, linear, length, &head)) {
		demand(head.head_length <= linear && head.head_length + head.payload_length <= length);
		memory = realloc(memory, head.head_length);
		frame = memory;
		decode_type(&head);
	}
	free(memory);
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t length)
{
	static u8 sealed[DMANIC_WIRE_FRAME_MAX];

	if (length > sizeof(sealed))
		return 0;
	decode(bytes, length);
	memcpy(sealed, bytes, length);
	if (fuzz_seal(sealed, length))
		decode(sealed, length);
	return 0;
}
