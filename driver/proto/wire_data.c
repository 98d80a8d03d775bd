// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire_data.c - DATA frames: their records, and cutting one into many
 *
 * A frame is made by dmanic_data_begin(), dmanic_record_encode() for each record,
 * dmanic_data_end(), and dmanic_data_seal() when the payload's checksum is
 * known.
 */
#include <asm/byteorder.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include <linux/dmanic.h>
#include <linux/dmanic_ring.h>

#include "wire_format.h"

static const u8 record_size[DMANIC_RECORD_TYPES] = {
	[DMANIC_RECORD_WRITE] = sizeof(struct wire_write),
	[DMANIC_RECORD_STRIDED] = sizeof(struct wire_strided),
	[DMANIC_RECORD_NOTIFY] = sizeof(struct wire_notify),
	[DMANIC_RECORD_READ] = sizeof(struct wire_read),
	[DMANIC_RECORD_ATOMIC] = sizeof(struct wire_atomic),
	[DMANIC_RECORD_DATA] = sizeof(struct wire_read_data),
	[DMANIC_RECORD_RESULT] = sizeof(struct wire_result),
	[DMANIC_RECORD_SKIP] = sizeof(struct wire_skip),
	[DMANIC_RECORD_LOOKUP] = sizeof(struct wire_lookup),
	[DMANIC_RECORD_FOUND] = sizeof(struct wire_found),
	[DMANIC_RECORD_PAD] = sizeof(struct wire_notify),
};

static const u8 record_flags[DMANIC_RECORD_TYPES] = {
	[DMANIC_RECORD_WRITE] = DMANIC_RECORD_NOTIFIES,
	[DMANIC_RECORD_STRIDED] = DMANIC_RECORD_NOTIFIES,
	[DMANIC_RECORD_SKIP] = DMANIC_RECORD_NOTIFIES | DMANIC_RECORD_END |
			       DMANIC_RECORD_ANSWER,
};

/**
 * dmanic_record_size() - bytes of a record's header
 * @type: enum dmanic_record_type
 *
 * Return: bytes.
 */
u32 dmanic_record_size(u8 type)
{
	return record_size[type];
}

/**
 * dmanic_data_begin() - begin a DATA frame
 * @frame: out
 * @told: it gets dmanic_told_encode() and the flag DMANIC_WIRE_TOLD
 *
 * Return: where the first record goes.
 */
u32 dmanic_data_begin(void *frame, bool told)
{
	memset(frame, 0, sizeof(struct wire_data));
	return sizeof(struct wire_data) + (told ? sizeof(struct wire_told) : 0);
}

/**
 * dmanic_told_encode() - what was received, within a DATA frame
 * @frame: of dmanic_data_begin(), with @told
 * @ack: without ranges, and nothing corrupt
 */
void dmanic_told_encode(void *frame, const struct dmanic_ack *ack)
{
	struct wire_told *wire = frame + sizeof(struct wire_data);
	u32 i;

	wire->number = cpu_to_be32(ack->number);
	wire->echo = cpu_to_be32(ack->echo);
	wire->held = cpu_to_be32(ack->held);
	wire->window = cpu_to_be32(ack->window);
	wire->duplicates = cpu_to_be32(ack->duplicates);
	wire->mtu = cpu_to_be16(ack->mtu);
	wire->reserved = 0;
	for (i = 0; i < DMANIC_CLASSES; i++) {
		wire->stream[i].next = cpu_to_be64(ack->stream[i].next);
		wire->stream[i].reject = cpu_to_be64(ack->stream[i].reject);
	}
}

/**
 * dmanic_told_decode() - the same, back
 * @frame: the frame; dmanic_data_decode() said 0, and it has DMANIC_WIRE_TOLD
 * @ack: out
 *
 * As dmanic_ack_decode(). Return: 0, or why to drop the frame.
 */
enum dmanic_drop dmanic_told_decode(const void *frame, struct dmanic_ack *ack)
{
	const struct wire_told *wire = frame + sizeof(struct wire_data);
	u32 i;

	ack->number = be32_to_cpu(wire->number);
	ack->echo = be32_to_cpu(wire->echo);
	ack->held = be32_to_cpu(wire->held);
	ack->window = be32_to_cpu(wire->window);
	ack->duplicates = be32_to_cpu(wire->duplicates);
	ack->mtu = be16_to_cpu(wire->mtu);
	for (i = 0; i < DMANIC_CLASSES; i++)
		ack->stream[i] = (struct dmanic_ack_stream) {
			.next = be64_to_cpu(wire->stream[i].next),
			.reject = be64_to_cpu(wire->stream[i].reject),
		};
	if (wire->reserved)
		return DMANIC_DROP_TYPE;
	return ack->mtu < DMANIC_WIRE_MTU_MIN ? DMANIC_DROP_BAD : DMANIC_DROP_NONE;
}

/* What is asked of the other side */
static void record_encode_request(void *to, const struct dmanic_record *record)
{
	struct wire_strided *strided = to;
	struct wire_atomic *atomic = to;
	struct wire_notify *notify = to;
	struct wire_write *write = to;
	struct wire_read *read = to;

	switch (record->type) {
	case DMANIC_RECORD_STRIDED:
		strided->position = cpu_to_be64(record->position);
		strided->block = cpu_to_be32(record->block);
		strided->stride = cpu_to_be32(record->stride);
		fallthrough;
	case DMANIC_RECORD_WRITE:
		write->length = cpu_to_be32(record->length);
		write->segment = cpu_to_be32(record->segment);
		write->key = cpu_to_be64(record->key);
		write->offset = cpu_to_be64(record->offset);
		break;
	case DMANIC_RECORD_NOTIFY:
		notify->irq = cpu_to_be32(record->segment);
		notify->key = cpu_to_be64(record->key);
		notify->payload = cpu_to_be64(record->value);
		break;
	case DMANIC_RECORD_READ:
		read->segment = cpu_to_be32(record->segment);
		read->key = cpu_to_be64(record->key);
		read->offset = cpu_to_be64(record->offset);
		read->bytes = cpu_to_be64(record->value);
		read->block = cpu_to_be32(record->block);
		read->stride = cpu_to_be32(record->stride);
		break;
	case DMANIC_RECORD_ATOMIC:
		atomic->segment = cpu_to_be32(record->segment);
		atomic->key = cpu_to_be64(record->key);
		atomic->offset = cpu_to_be64(record->offset);
		atomic->operand = cpu_to_be64(record->value);
		atomic->compare = cpu_to_be64(record->compare);
		break;
	}
}

/* What it is owed, what is nothing, and the question where an export is */
static void record_encode_answer(void *to, const struct dmanic_record *record)
{
	struct wire_read_data *data = to;
	struct wire_result *result = to;
	struct wire_lookup *lookup = to;
	struct wire_found *found = to;
	struct wire_skip *skip = to;

	switch (record->type) {
	case DMANIC_RECORD_DATA:
		data->length = cpu_to_be32(record->length);
		data->position = cpu_to_be64(record->position);
		break;
	case DMANIC_RECORD_RESULT:
		result->status = cpu_to_be32(record->status);
		result->value = cpu_to_be64(record->value);
		break;
	case DMANIC_RECORD_SKIP:
		skip->length = cpu_to_be32(record->length);
		break;
	case DMANIC_RECORD_LOOKUP:
		lookup->segment = cpu_to_be32(record->segment);
		lookup->key = cpu_to_be64(record->key);
		lookup->secret[0] = cpu_to_be64(record->value);
		lookup->secret[1] = cpu_to_be64(record->compare);
		memcpy(lookup->name, record->name, sizeof(lookup->name));
		break;
	case DMANIC_RECORD_FOUND:
		found->rights = cpu_to_be32(record->block);
		found->segment = cpu_to_be32(record->segment);
		found->key = cpu_to_be64(record->key);
		found->length = cpu_to_be64(record->value);
		break;
	}
}

/**
 * dmanic_record_encode() - add a record
 * @frame: of dmanic_data_begin()
 * @at: where it goes; there is room for dmanic_record_size()
 * @record: it
 *
 * Return: where the next one goes.
 */
u32 dmanic_record_encode(void *frame, u32 at, const struct dmanic_record *record)
{
	void *to = (u8 *)frame + at;
	struct wire_record *wire = to;

	memset(to, 0, record_size[record->type]);
	wire->type = record->type;
	wire->flags = record->flags;
	wire->opcode = record->opcode;
	wire->op = cpu_to_be32(record->op);
	if (record->type <= DMANIC_RECORD_ATOMIC)
		record_encode_request(to, record);
	else
		record_encode_answer(to, record);
	return at + record_size[record->type];
}

/**
 * dmanic_data_end() - the frame's own header, when all records are in
 * @frame: of dmanic_data_begin()
 * @head_length: of the head
 * @flags: DMANIC_WIRE_*
 * @tag: the receiver's
 * @data: the rest
 * @payload_length: bytes of all records
 *
 * The frame wants dmanic_data_seal() yet.
 */
void dmanic_data_end(void *frame, u32 head_length, u8 flags, u64 tag,
		     const struct dmanic_data *data, u32 payload_length)
{
	struct wire_data *wire = frame;

	wire_begin(frame, DMANIC_WIRE_DATA, flags, tag, head_length);
	wire->common.payload_length = cpu_to_be16(payload_length);
	wire->seq = cpu_to_be64(data->seq);
	wire->stamp = cpu_to_be32(data->stamp);
	wire->records = cpu_to_be16(data->records);
}

/**
 * dmanic_data_seal() - the checksums
 * @frame: the head
 * @payload_crc: CRC32C of the payload, or NULL
 */
void dmanic_data_seal(void *frame, const u32 *payload_crc)
{
	struct wire_common *common = frame;

	common->flags &= ~DMANIC_WIRE_CRC;
	common->payload_crc = 0;
	if (payload_crc) {
		common->flags |= DMANIC_WIRE_CRC;
		common->payload_crc = cpu_to_be32(*payload_crc);
	}
	dmanic_head_seal(frame, be16_to_cpu(common->head_length));
}

/**
 * dmanic_data_decode() - a DATA frame's own header
 * @frame: the frame
 * @head: of it
 * @data: out
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_data_decode(const void *frame, const struct dmanic_head *head,
				    struct dmanic_data *data)
{
	const struct wire_data *wire = frame;

	if (head->head_length < sizeof(*wire))
		return DMANIC_DROP_SHORT;
	data->seq = be64_to_cpu(wire->seq);
	data->stamp = be32_to_cpu(wire->stamp);
	data->records = be16_to_cpu(wire->records);
	data->first = sizeof(*wire);
	if (head->flags & DMANIC_WIRE_TOLD)
		data->first += sizeof(struct wire_told);
	if (wire->reserved)
		return DMANIC_DROP_TYPE;
	if (data->first > head->head_length)
		return DMANIC_DROP_SHORT;
	if (!data->records || data->records > DMANIC_WIRE_RECORDS)
		return DMANIC_DROP_BAD;
	return DMANIC_DROP_NONE;
}

/* Terminated, and nothing behind that; by id and key, or by name and secret */
static bool record_name_ok(const struct dmanic_record *record)
{
	const char *name = record->name;
	u32 i;

	for (i = 0; i < DMANIC_WIRE_NAME && name[i]; i++)
		;
	if (i == DMANIC_WIRE_NAME ||
	    (i ? record->segment || record->key : record->value || record->compare))
		return false;
	while (i < DMANIC_WIRE_NAME)
		if (name[i++])
			return false;
	return true;
}

/* protocol.rst has these values: another machine's driver may be of another release */
static_assert(DMANIC_OP_FETCH_ADD == 6 && DMANIC_OP_COMPARE_SWAP == 7 && DMANIC_OP_SWAP == 8);
static_assert(DMANIC_STATUS_OK == 0 && DMANIC_STATUS_INVALID == 1 &&
	      DMANIC_STATUS_NO_SEGMENT == 2 && DMANIC_STATUS_BOUNDS == 4 &&
	      DMANIC_STATUS_ACCESS == 5 && DMANIC_STATUS_CANCELLED == 10 &&
	      DMANIC_STATUS_LIMIT == 11 && DMANIC_STATUS_SOURCE_CHANGED == 12 &&
	      DMANIC_STATUS_UNSUPPORTED == 13 &&
	      DMANIC_STATUS_COUNT == 14);
static_assert(DMANIC_RIGHT_READ == 1 && DMANIC_RIGHT_WRITE == 2 && DMANIC_RIGHT_ATOMIC == 4);

static enum dmanic_drop record_check(const struct dmanic_record *record)
{
	switch (record->type) {
	case DMANIC_RECORD_STRIDED:
		/* Blocks do not overlap, and where one is can be computed */
		if (!record->block || record->stride < record->block ||
		    record->position + record->length < record->position)
			return DMANIC_DROP_BAD;
		break;
	case DMANIC_RECORD_READ:
		if (record->block && record->stride < record->block)
			return DMANIC_DROP_BAD;
		if (!record->block && record->stride)
			return DMANIC_DROP_BAD;
		break;
	case DMANIC_RECORD_ATOMIC:
		if (record->opcode < DMANIC_OP_FETCH_ADD ||
		    record->opcode > DMANIC_OP_SWAP)
			return DMANIC_DROP_BAD;
		break;
	case DMANIC_RECORD_DATA:
		if (!record->length ||
		    record->position + record->length < record->position)
			return DMANIC_DROP_BAD;
		break;
	case DMANIC_RECORD_RESULT:
		if (record->status >= DMANIC_STATUS_COUNT)
			return DMANIC_DROP_BAD;
		break;
	case DMANIC_RECORD_SKIP:
		if (!record->length || record->length > DMANIC_WIRE_FRAME_MAX)
			return DMANIC_DROP_BAD;
		break;
	case DMANIC_RECORD_LOOKUP:
		if (record->opcode > 1 || !record_name_ok(record))
			return DMANIC_DROP_BAD;
		break;
	case DMANIC_RECORD_PAD:
		/* A NOTIFY without anything in it */
		if (record->op || record->segment || record->key || record->value)
			return DMANIC_DROP_TYPE;
		break;
	}
	return DMANIC_DROP_NONE;
}

/* Both return what must be zero */
static __be32 record_decode_request(const void *from, struct dmanic_record *record)
{
	const struct wire_strided *strided = from;
	const struct wire_atomic *atomic = from;
	const struct wire_notify *notify = from;
	const struct wire_write *write = from;
	const struct wire_read *read = from;

	switch (record->type) {
	case DMANIC_RECORD_STRIDED:
		record->position = be64_to_cpu(strided->position);
		record->block = be32_to_cpu(strided->block);
		record->stride = be32_to_cpu(strided->stride);
		fallthrough;
	case DMANIC_RECORD_WRITE:
		record->length = be32_to_cpu(write->length);
		record->segment = be32_to_cpu(write->segment);
		record->key = be64_to_cpu(write->key);
		record->offset = be64_to_cpu(write->offset);
		return 0;
	case DMANIC_RECORD_NOTIFY:
		record->segment = be32_to_cpu(notify->irq);
		record->key = be64_to_cpu(notify->key);
		record->value = be64_to_cpu(notify->payload);
		return notify->reserved;
	case DMANIC_RECORD_READ:
		record->segment = be32_to_cpu(read->segment);
		record->key = be64_to_cpu(read->key);
		record->offset = be64_to_cpu(read->offset);
		record->value = be64_to_cpu(read->bytes);
		record->block = be32_to_cpu(read->block);
		record->stride = be32_to_cpu(read->stride);
		return read->reserved;
	default:
		record->segment = be32_to_cpu(atomic->segment);
		record->key = be64_to_cpu(atomic->key);
		record->offset = be64_to_cpu(atomic->offset);
		record->value = be64_to_cpu(atomic->operand);
		record->compare = be64_to_cpu(atomic->compare);
		return atomic->reserved;
	}
}

static __be32 record_decode_answer(const void *from, struct dmanic_record *record)
{
	const struct wire_read_data *data = from;
	const struct wire_result *result = from;
	const struct wire_lookup *lookup = from;
	const struct wire_notify *notify = from;
	const struct wire_found *found = from;
	const struct wire_skip *skip = from;

	switch (record->type) {
	case DMANIC_RECORD_DATA:
		record->length = be32_to_cpu(data->length);
		record->position = be64_to_cpu(data->position);
		return data->reserved;
	case DMANIC_RECORD_RESULT:
		record->status = be32_to_cpu(result->status);
		record->value = be64_to_cpu(result->value);
		return result->reserved;
	case DMANIC_RECORD_LOOKUP:
		record->segment = be32_to_cpu(lookup->segment);
		record->key = be64_to_cpu(lookup->key);
		record->value = be64_to_cpu(lookup->secret[0]);
		record->compare = be64_to_cpu(lookup->secret[1]);
		record->name = (const char *)lookup->name;
		return lookup->reserved;
	case DMANIC_RECORD_FOUND:
		record->block = be32_to_cpu(found->rights);
		record->segment = be32_to_cpu(found->segment);
		record->key = be64_to_cpu(found->key);
		record->value = be64_to_cpu(found->length);
		return 0;
	case DMANIC_RECORD_PAD:
		record->segment = be32_to_cpu(notify->irq);
		record->key = be64_to_cpu(notify->key);
		record->value = be64_to_cpu(notify->payload);
		return notify->reserved;
	default:
		record->length = be32_to_cpu(skip->length);
		return skip->reserved;
	}
}

/**
 * dmanic_record_decode() - the next record
 * @frame: the frame
 * @head: of it
 * @at: where the record is; then where the next one is
 * @record: out
 *
 * Whether lengths agree with the payload is for the caller to see.
 *
 * Return: 0, or why to drop the frame.
 */
enum dmanic_drop dmanic_record_decode(const void *frame, const struct dmanic_head *head,
				      u32 *at, struct dmanic_record *record)
{
	const void *from = (const u8 *)frame + *at;
	const struct wire_record *wire = from;
	__be32 reserved;
	u8 type;

	if (*at > head->head_length || head->head_length - *at < sizeof(*wire))
		return DMANIC_DROP_SHORT;
	type = wire->type;
	if (!type || type >= DMANIC_RECORD_TYPES)
		return DMANIC_DROP_TYPE;
	type = array_index_nospec(type, DMANIC_RECORD_TYPES);
	if (wire->reserved || wire->flags & ~record_flags[type] ||
	    (wire->opcode && type != DMANIC_RECORD_ATOMIC && type != DMANIC_RECORD_LOOKUP))
		return DMANIC_DROP_TYPE;
	if (head->head_length - *at < record_size[type])
		return DMANIC_DROP_SHORT;
	memset(record, 0, sizeof(*record));
	record->type = type;
	record->flags = wire->flags;
	record->opcode = wire->opcode;
	record->op = be32_to_cpu(wire->op);
	if (record->type <= DMANIC_RECORD_ATOMIC)
		reserved = record_decode_request(from, record);
	else
		reserved = record_decode_answer(from, record);
	*at += record_size[record->type];
	return reserved ? DMANIC_DROP_TYPE : record_check(record);
}

/**
 * dmanic_data_cuttable() - may a DATA frame be cut
 * @frame: the frame
 * @head: of it
 *
 * One record of data, and behind it perhaps a NOTIFY.
 *
 * Return: true when dmanic_data_cut() may be called.
 */
bool dmanic_data_cuttable(const void *frame, const struct dmanic_head *head)
{
	struct dmanic_record record;
	struct dmanic_data data;
	u32 at;

	if (dmanic_data_decode(frame, head, &data) || data.records > 2)
		return false;
	at = data.first;
	if (dmanic_record_decode(frame, head, &at, &record) ||
	    !dmanic_record_data(record.type) || record.length != head->payload_length)
		return false;
	if (data.records == 2 && (dmanic_record_decode(frame, head, &at, &record) ||
				  record.type != DMANIC_RECORD_NOTIFY))
		return false;
	return at == head->head_length;
}

/**
 * dmanic_data_cut() - the head of a piece of a frame
 * @frame: head of the whole frame, which is dmanic_data_cuttable()
 * @from: where the piece begins in the payload
 * @length: of the piece
 * @piece: out; wants dmanic_data_seal() yet
 *
 * Only the last piece asks for an acknowledgment, and has the NOTIFY.
 *
 * Return: length of the head, the same as @frame's.
 */
u32 dmanic_data_cut(const void *frame, u32 from, u32 length, void *piece)
{
	const struct wire_common *common = frame;
	u32 head_length = be16_to_cpu(common->head_length);
	u32 total = be16_to_cpu(common->payload_length), first;
	struct wire_data *data = piece;
	struct wire_read_data *read;
	struct wire_strided *strided;
	struct wire_write *write;

	memcpy(piece, frame, head_length);
	first = sizeof(*data);
	if (common->flags & DMANIC_WIRE_TOLD)
		first += sizeof(struct wire_told);
	write = piece + first;
	strided = piece + first;
	read = piece + first;
	data->common.payload_length = cpu_to_be16(length);
	data->seq = cpu_to_be64(be64_to_cpu(data->seq) + from);
	if (from + length < total) {
		data->common.flags &= ~(DMANIC_WIRE_NOW | DMANIC_WIRE_LAST);
		first += record_size[write->record.type];
		memset(piece + first, 0, head_length - first);
		if (first < head_length)
			*((u8 *)piece + first) = DMANIC_RECORD_PAD;
	}
	/* The length is at the same place in all of them */
	write->length = cpu_to_be32(length);
	switch (write->record.type) {
	case DMANIC_RECORD_WRITE:
		write->offset = cpu_to_be64(be64_to_cpu(write->offset) + from);
		break;
	case DMANIC_RECORD_STRIDED:
		strided->position = cpu_to_be64(be64_to_cpu(strided->position) + from);
		break;
	case DMANIC_RECORD_DATA:
		read->position = cpu_to_be64(be64_to_cpu(read->position) + from);
		break;
	}
	return head_length;
}
