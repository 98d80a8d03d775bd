// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire.c - the common header, the frames of the handshake, ACK, TEST; how frames are cut
 *
 * Pure functions of bytes. Encoders are given room for DMANIC_WIRE_HEAD_MAX
 * bytes and return how many they used.
 */
#include <asm/byteorder.h>
#include <linux/build_bug.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "crc.h"
#include "wire_format.h"

static u32 wire_crc(const void *frame, u32 head_length)
{
	static const u8 none[sizeof(__be32)];
	const u8 *bytes = frame;
	u32 at = offsetof(struct wire_common, head_crc);
	u32 crc;

	crc = dmanic_crc32c(~0U, bytes, at);
	crc = dmanic_crc32c(crc, none, sizeof(none));
	at += sizeof(none);
	return ~dmanic_crc32c(crc, bytes + at, head_length - at);
}

/**
 * dmanic_head_seal() - set the checksum of a head, when all else is there
 * @frame: the head
 * @head_length: of it
 */
void dmanic_head_seal(void *frame, u32 head_length)
{
	struct wire_common *common = frame;

	common->head_crc = cpu_to_be32(wire_crc(frame, head_length));
}

/**
 * dmanic_wire_pull() - how much of a frame has to be contiguous
 * @frame: its first bytes
 * @linear: how many there are
 *
 * Return: bytes that dmanic_head_decode() wants to see, as the frame says; 0:
 * it is none.
 */
u32 dmanic_wire_pull(const void *frame, u32 linear)
{
	const struct wire_common *common = frame;

	return linear < sizeof(*common) ? 0 : be16_to_cpu(common->head_length);
}

/**
 * dmanic_frame_type() - what a frame of ours is
 * @frame: its head
 *
 * Return: enum dmanic_wire_type.
 */
u8 dmanic_frame_type(const void *frame)
{
	const struct wire_common *common = frame;

	return common->type;
}

/* What proves who made a frame; @head_length has it. Return: 0, or why to drop the frame */
static enum dmanic_drop wire_auth_decode(const void *frame, struct dmanic_head *head)
{
	const struct wire_auth *auth;

	if (head->head_length < sizeof(struct wire_common) + sizeof(*auth))
		return DMANIC_DROP_SHORT;
	head->head_length -= sizeof(*auth);
	auth = frame + head->head_length;
	head->key_id = be32_to_cpu(auth->key_id);
	head->counter = be64_to_cpu(auth->counter);
	head->payload_mac = be64_to_cpu(auth->payload_mac);
	head->head_mac = be64_to_cpu(auth->head_mac);
	return auth->reserved ? DMANIC_DROP_TYPE : DMANIC_DROP_NONE;
}

static u64 wire_head_mac(const void *frame, u32 length, const struct dmanic_key *key, u64 from)
{
	static const u8 none[sizeof(__be32)];
	u32 at = offsetof(struct wire_common, head_crc);
	struct dmanic_mac mac;

	dmanic_mac_begin(&mac, key, DMANIC_MAC_HEAD);
	dmanic_mac_add_word(&mac, from);
	dmanic_mac_add(&mac, frame, at);
	dmanic_mac_add(&mac, none, sizeof(none));
	at += sizeof(none);
	dmanic_mac_add(&mac, frame + at, length - at);
	return dmanic_mac_end(&mac);
}

/**
 * dmanic_auth_encode() - the proof of who made a frame
 * @frame: the head, when all else is there; DMANIC_WIRE_AUTH_BYTES follow it
 * @head_length: of it
 * @key: of the fabric
 * @proof: what it says
 *
 * Return: length of the head with it. Its checksum is right again.
 */
u32 dmanic_auth_encode(void *frame, u32 head_length, const struct dmanic_key *key,
		       const struct dmanic_proof *proof)
{
	struct wire_auth *auth = frame + head_length;
	struct wire_common *common = frame;

	common->flags |= DMANIC_WIRE_AUTH;
	head_length += sizeof(*auth);
	common->head_length = cpu_to_be16(head_length);
	auth->key_id = cpu_to_be32(proof->key_id);
	auth->reserved = 0;
	auth->counter = cpu_to_be64(proof->counter);
	auth->payload_mac = cpu_to_be64(proof->payload_mac);
	auth->head_mac = cpu_to_be64(wire_head_mac(frame, head_length - sizeof(auth->head_mac),
						   key, proof->from));
	dmanic_head_seal(frame, head_length);
	return head_length;
}

/**
 * dmanic_auth_check() - was a head made with a key
 * @frame: the frame
 * @head: of it, with DMANIC_WIRE_AUTH
 * @key: the key
 * @from: address that the frame came from
 *
 * Return: true when it was, there. Whether the payload was is to be seen yet.
 */
bool dmanic_auth_check(const void *frame, const struct dmanic_head *head,
		       const struct dmanic_key *key, u64 from)
{
	/* One comparison of a word: how long it takes tells nothing */
	return wire_head_mac(frame, head->payload - sizeof(head->head_mac), key, from) ==
	       head->head_mac;
}

/**
 * dmanic_auth_begin_payload() - the keyed hash of a payload, of which nothing was added yet
 * @mac: out
 * @key: the key
 * @frame: of this frame's payload: its head
 * @counter: of the frame
 *
 * The same bytes have another hash in each frame, and to each node.
 */
void dmanic_auth_begin_payload(struct dmanic_mac *mac, const struct dmanic_key *key,
			       const void *frame, u64 counter)
{
	const struct wire_common *common = frame;

	dmanic_mac_begin(mac, key, DMANIC_MAC_PAYLOAD);
	dmanic_mac_add_word(mac, be64_to_cpu(common->tag));
	dmanic_mac_add_word(mac, counter);
}

/* Which flags a type may have */
static const u8 wire_flags[DMANIC_WIRE_TYPES] = {
	[DMANIC_WIRE_HELLO] = DMANIC_WIRE_REPLY,
	[DMANIC_WIRE_ANSWER] = DMANIC_WIRE_DONE,
	[DMANIC_WIRE_DATA] = DMANIC_WIRE_CRC | DMANIC_WIRE_URGENT | DMANIC_WIRE_NOW |
			     DMANIC_WIRE_TOLD | DMANIC_WIRE_LAST,
};

/**
 * dmanic_head_decode() - the common header
 * @frame: the frame's first bytes
 * @linear: how many are contiguous
 * @length: of the frame
 * @head: out
 *
 * By which versions are agreed on is the same in all of them: who sends a HELLO, INIT,
 * ANSWER or REFUSE of another one may speak this one, too.
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_head_decode(const void *frame, u32 linear, u32 length,
				    struct dmanic_head *head)
{
	const struct wire_common *common = frame;

	if (linear < sizeof(*common) || length < linear)
		return DMANIC_DROP_SHORT;
	head->type = common->type;
	head->flags = common->flags;
	head->head_length = be16_to_cpu(common->head_length);
	head->payload = head->head_length;
	head->payload_length = be16_to_cpu(common->payload_length);
	head->payload_crc = be32_to_cpu(common->payload_crc);
	head->tag = be64_to_cpu(common->tag);
	if (head->head_length < sizeof(*common) || head->head_length > linear ||
	    head->head_length > DMANIC_WIRE_HEAD_MAX +
				(head->flags & DMANIC_WIRE_AUTH ? DMANIC_WIRE_AUTH_BYTES : 0) ||
	    head->payload_length > length - head->head_length)
		return DMANIC_DROP_SHORT;
	if (be32_to_cpu(common->head_crc) != wire_crc(frame, head->head_length))
		return DMANIC_DROP_CHECKSUM;
	if (common->version < DMANIC_WIRE_MIN || common->version > DMANIC_WIRE_MAX) {
		if (!head->type || head->type > DMANIC_WIRE_REFUSE)
			return DMANIC_DROP_VERSION;
		head->type = array_index_nospec(head->type, DMANIC_WIRE_TYPES);
		/* What a later version adds is nothing to us */
		head->flags &= wire_flags[head->type] | DMANIC_WIRE_AUTH;
		return head->flags & DMANIC_WIRE_AUTH ? wire_auth_decode(frame, head) :
							DMANIC_DROP_NONE;
	}
	if (!head->type || head->type >= DMANIC_WIRE_TYPES || common->reserved)
		return DMANIC_DROP_TYPE;
	head->type = array_index_nospec(head->type, DMANIC_WIRE_TYPES);
	if (head->flags & ~(wire_flags[head->type] | DMANIC_WIRE_AUTH))
		return DMANIC_DROP_TYPE;
	if (head->type != DMANIC_WIRE_DATA && head->type != DMANIC_WIRE_TEST &&
	    head->payload_length)
		return DMANIC_DROP_BAD;
	if (!(head->flags & DMANIC_WIRE_CRC) && head->payload_crc)
		return DMANIC_DROP_TYPE;
	return head->flags & DMANIC_WIRE_AUTH ? wire_auth_decode(frame, head) :
						DMANIC_DROP_NONE;
}

/* Begins a frame without payload; the caller fills the rest and seals it */
void wire_begin(void *frame, u8 type, u8 flags, u64 tag, u32 head_length)
{
	struct wire_common *common = frame;

	*common = (struct wire_common) {
		.version = DMANIC_WIRE_MAX,
		.type = type,
		.flags = flags,
		.head_length = cpu_to_be16(head_length),
		.tag = cpu_to_be64(tag),
	};
}

/**
 * dmanic_hello_encode() - HELLO, INIT or ANSWER
 * @frame: out
 * @type: which of them
 * @flags: DMANIC_WIRE_REPLY, DMANIC_WIRE_DONE
 * @tag: the receiver's, zero when it has none yet
 * @hello: the rest
 *
 * Return: length of the frame.
 */
u32 dmanic_hello_encode(void *frame, u8 type, u8 flags, u64 tag,
			const struct dmanic_hello *hello)
{
	struct wire_hello *wire = frame;

	wire_begin(frame, type, flags, tag, sizeof(*wire));
	wire->node = cpu_to_be32(hello->node);
	wire->to = cpu_to_be32(hello->to);
	wire->incarnation = cpu_to_be64(hello->incarnation);
	wire->tag = cpu_to_be64(hello->tag);
	wire->mtu = cpu_to_be32(hello->mtu);
	wire->features = cpu_to_be32(hello->features);
	wire->operations = cpu_to_be16(hello->operations);
	wire->version_min = hello->version_min;
	wire->version_max = hello->version_max;
	wire->window = cpu_to_be32(hello->window);
	dmanic_head_seal(frame, sizeof(*wire));
	return sizeof(*wire);
}

/**
 * dmanic_hello_decode() - HELLO, INIT or ANSWER
 * @frame: the frame
 * @head: of it
 * @hello: out
 *
 * Values are within bounds afterwards, and make sense. A frame may be longer:
 * what a later version adds is ignored.
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_hello_decode(const void *frame, const struct dmanic_head *head,
				     struct dmanic_hello *hello)
{
	const struct wire_hello *wire = frame;

	if (head->head_length < sizeof(*wire))
		return DMANIC_DROP_SHORT;
	hello->node = be32_to_cpu(wire->node);
	hello->to = be32_to_cpu(wire->to);
	hello->incarnation = be64_to_cpu(wire->incarnation);
	hello->tag = be64_to_cpu(wire->tag);
	hello->mtu = be32_to_cpu(wire->mtu);
	hello->features = be32_to_cpu(wire->features);
	hello->operations = be16_to_cpu(wire->operations);
	hello->version_min = wire->version_min;
	hello->version_max = wire->version_max;
	hello->window = be32_to_cpu(wire->window);
	if (hello->node == DMANIC_WIRE_NOBODY || hello->mtu < DMANIC_WIRE_MTU_MIN ||
	    !hello->operations || hello->version_min > hello->version_max ||
	    !hello->window)
		return DMANIC_DROP_BAD;
	if (head->type == DMANIC_WIRE_HELLO ? hello->tag : !hello->tag)
		return DMANIC_DROP_BAD;
	if (head->type != DMANIC_WIRE_HELLO && hello->to == DMANIC_WIRE_NOBODY)
		return DMANIC_DROP_BAD;
	return DMANIC_DROP_NONE;
}

/**
 * dmanic_refuse_encode() - REFUSE
 * @frame: out
 * @tag: of who is refused
 * @refuse: the rest
 *
 * Return: length of the frame.
 */
u32 dmanic_refuse_encode(void *frame, u64 tag, const struct dmanic_refuse *refuse)
{
	struct wire_refuse *wire = frame;

	wire_begin(frame, DMANIC_WIRE_REFUSE, 0, tag, sizeof(*wire));
	wire->node = cpu_to_be32(refuse->node);
	wire->reason = refuse->reason;
	wire->version_min = refuse->version_min;
	wire->version_max = refuse->version_max;
	wire->reserved = 0;
	dmanic_head_seal(frame, sizeof(*wire));
	return sizeof(*wire);
}

/**
 * dmanic_refuse_decode() - REFUSE
 * @frame: the frame
 * @head: of it
 * @refuse: out
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_refuse_decode(const void *frame, const struct dmanic_head *head,
				      struct dmanic_refuse *refuse)
{
	const struct wire_refuse *wire = frame;

	if (head->head_length < sizeof(*wire))
		return DMANIC_DROP_SHORT;
	refuse->node = be32_to_cpu(wire->node);
	refuse->reason = wire->reason;
	refuse->version_min = wire->version_min;
	refuse->version_max = wire->version_max;
	if (!refuse->reason || refuse->version_min > refuse->version_max)
		return DMANIC_DROP_BAD;
	return DMANIC_DROP_NONE;
}

/**
 * dmanic_reset_encode() - RESET
 * @frame: out
 * @tag: that is not known here
 * @node: id of this node
 * @incarnation: of this node
 *
 * Return: length of the frame.
 */
u32 dmanic_reset_encode(void *frame, u64 tag, u32 node, u64 incarnation)
{
	struct wire_reset *wire = frame;

	wire_begin(frame, DMANIC_WIRE_RESET, 0, tag, sizeof(*wire));
	wire->node = cpu_to_be32(node);
	wire->reserved = 0;
	wire->incarnation = cpu_to_be64(incarnation);
	dmanic_head_seal(frame, sizeof(*wire));
	return sizeof(*wire);
}

/**
 * dmanic_reset_decode() - RESET
 * @frame: the frame
 * @head: of it
 * @node: out: who sent it
 * @incarnation: out: of it
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_reset_decode(const void *frame, const struct dmanic_head *head,
				     u32 *node, u64 *incarnation)
{
	const struct wire_reset *wire = frame;

	if (head->head_length < sizeof(*wire))
		return DMANIC_DROP_SHORT;
	*node = be32_to_cpu(wire->node);
	*incarnation = be64_to_cpu(wire->incarnation);
	return DMANIC_DROP_NONE;
}

/**
 * dmanic_probe_encode() - PROBE
 * @frame: out
 * @tag: of the receiver
 *
 * Return: length of the frame.
 */
u32 dmanic_probe_encode(void *frame, u64 tag)
{
	wire_begin(frame, DMANIC_WIRE_PROBE, 0, tag, DMANIC_WIRE_COMMON);
	dmanic_head_seal(frame, DMANIC_WIRE_COMMON);
	return DMANIC_WIRE_COMMON;
}

/**
 * dmanic_test_encode() - TEST, whole
 * @frame: out
 * @tag: of the receiver
 * @test: the rest; @test->total bytes are to follow
 *
 * Return: length of the head.
 */
u32 dmanic_test_encode(void *frame, u64 tag, const struct dmanic_test *test)
{
	struct wire_test *wire = frame;

	wire_begin(frame, DMANIC_WIRE_TEST, 0, tag, sizeof(*wire));
	wire->common.payload_length = cpu_to_be16(test->total);
	wire->number = cpu_to_be32(test->number);
	wire->from = cpu_to_be16(test->from);
	wire->total = cpu_to_be16(test->total);
	dmanic_head_seal(frame, sizeof(*wire));
	return sizeof(*wire);
}

/**
 * dmanic_test_decode() - TEST, or a piece of it
 * @frame: the frame
 * @head: of it
 * @test: out
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_test_decode(const void *frame, const struct dmanic_head *head,
				    struct dmanic_test *test)
{
	const struct wire_test *wire = frame;

	if (head->head_length < sizeof(*wire))
		return DMANIC_DROP_SHORT;
	test->number = be32_to_cpu(wire->number);
	test->from = be16_to_cpu(wire->from);
	test->total = be16_to_cpu(wire->total);
	if (!head->payload_length || test->from + head->payload_length > test->total)
		return DMANIC_DROP_BAD;
	return DMANIC_DROP_NONE;
}

/**
 * dmanic_tested_encode() - TESTED
 * @frame: out
 * @tag: of the receiver
 * @tested: the rest
 *
 * Return: length of the frame.
 */
u32 dmanic_tested_encode(void *frame, u64 tag, const struct dmanic_tested *tested)
{
	struct wire_tested *wire = frame;

	wire_begin(frame, DMANIC_WIRE_TESTED, 0, tag, sizeof(*wire));
	wire->number = cpu_to_be32(tested->number);
	wire->length = cpu_to_be32(tested->length);
	dmanic_head_seal(frame, sizeof(*wire));
	return sizeof(*wire);
}

/**
 * dmanic_tested_decode() - TESTED
 * @frame: the frame
 * @head: of it
 * @tested: out
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_tested_decode(const void *frame, const struct dmanic_head *head,
				      struct dmanic_tested *tested)
{
	const struct wire_tested *wire = frame;

	if (head->head_length < sizeof(*wire))
		return DMANIC_DROP_SHORT;
	tested->number = be32_to_cpu(wire->number);
	tested->length = be32_to_cpu(wire->length);
	return tested->length ? DMANIC_DROP_NONE : DMANIC_DROP_BAD;
}

/**
 * dmanic_frame_cuttable() - may a frame be cut
 * @frame: the frame
 * @head: of it
 *
 * Return: true when dmanic_frame_cut() may be called.
 */
bool dmanic_frame_cuttable(const void *frame, const struct dmanic_head *head)
{
	struct dmanic_test test;

	if (head->type == DMANIC_WIRE_DATA)
		return dmanic_data_cuttable(frame, head);
	return head->type == DMANIC_WIRE_TEST &&
	       head->head_length == sizeof(struct wire_test) &&
	       !dmanic_test_decode(frame, head, &test);
}

/**
 * dmanic_frame_cut() - the head of a piece of a frame
 * @frame: head of the whole frame, which is dmanic_frame_cuttable()
 * @from: where the piece begins in the payload
 * @length: of the piece
 * @piece: out; wants dmanic_data_seal() yet
 *
 * How a link makes frames of a path's size out of a large one.
 *
 * Return: length of the head, the same as @frame's.
 */
u32 dmanic_frame_cut(const void *frame, u32 from, u32 length, void *piece)
{
	const struct wire_common *common = frame;
	struct wire_test *test = piece;

	if (common->type == DMANIC_WIRE_DATA)
		return dmanic_data_cut(frame, from, length, piece);
	memcpy(test, frame, sizeof(*test));
	test->common.payload_length = cpu_to_be16(length);
	test->from = cpu_to_be16(be16_to_cpu(test->from) + from);
	return sizeof(*test);
}

/**
 * dmanic_ack_encode() - ACK
 * @frame: out
 * @tag: of the receiver
 * @ack: the rest
 *
 * Return: length of the frame.
 */
u32 dmanic_ack_encode(void *frame, u64 tag, const struct dmanic_ack *ack)
{
	u32 i, nr = ack->stream[0].nr + ack->stream[1].nr;
	struct wire_ack *wire = frame;
	u32 length = sizeof(*wire) + nr * sizeof(wire->range[0]);

	wire_begin(frame, DMANIC_WIRE_ACK, 0, tag, length);
	wire->number = cpu_to_be32(ack->number);
	wire->echo = cpu_to_be32(ack->echo);
	wire->held = cpu_to_be32(ack->held);
	wire->window = cpu_to_be32(ack->window);
	wire->duplicates = cpu_to_be32(ack->duplicates);
	wire->mtu = cpu_to_be16(ack->mtu);
	for (i = 0; i < DMANIC_CLASSES; i++) {
		wire->nr[i] = ack->stream[i].nr;
		wire->stream[i].next = cpu_to_be64(ack->stream[i].next);
		wire->stream[i].reject = cpu_to_be64(ack->stream[i].reject);
		wire->stream[i].corrupt = cpu_to_be64(ack->stream[i].corrupt);
		wire->stream[i].corrupt_units = cpu_to_be32(ack->stream[i].corrupt_units);
		wire->stream[i].reserved = 0;
	}
	for (i = 0; i < nr; i++) {
		wire->range[i].after = cpu_to_be32(ack->range[i].after);
		wire->range[i].length = cpu_to_be32(ack->range[i].length);
	}
	dmanic_head_seal(frame, length);
	return length;
}

/**
 * dmanic_ack_decode() - ACK
 * @frame: the frame
 * @head: of it
 * @ack: out
 *
 * Whether positions were ever sent is for the caller to see.
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_ack_decode(const void *frame, const struct dmanic_head *head,
				   struct dmanic_ack *ack)
{
	const struct wire_ack *wire = frame;
	__be32 reserved = 0;
	u32 i, nr = 0;

	if (head->head_length < sizeof(*wire))
		return DMANIC_DROP_SHORT;
	ack->number = be32_to_cpu(wire->number);
	ack->echo = be32_to_cpu(wire->echo);
	ack->held = be32_to_cpu(wire->held);
	ack->window = be32_to_cpu(wire->window);
	ack->duplicates = be32_to_cpu(wire->duplicates);
	ack->mtu = be16_to_cpu(wire->mtu);
	for (i = 0; i < DMANIC_CLASSES; i++) {
		ack->stream[i].nr = wire->nr[i];
		ack->stream[i].next = be64_to_cpu(wire->stream[i].next);
		ack->stream[i].reject = be64_to_cpu(wire->stream[i].reject);
		ack->stream[i].corrupt = be64_to_cpu(wire->stream[i].corrupt);
		ack->stream[i].corrupt_units = be32_to_cpu(wire->stream[i].corrupt_units);
		reserved |= wire->stream[i].reserved;
		nr += ack->stream[i].nr;
	}
	if (reserved)
		return DMANIC_DROP_TYPE;
	if (nr > DMANIC_WIRE_RANGES || ack->mtu < DMANIC_WIRE_MTU_MIN)
		return DMANIC_DROP_BAD;
	if (head->head_length != sizeof(*wire) + nr * sizeof(wire->range[0]))
		return DMANIC_DROP_SHORT;
	for (i = 0; i < nr; i++) {
		ack->range[i].after = be32_to_cpu(wire->range[i].after);
		ack->range[i].length = be32_to_cpu(wire->range[i].length);
		if (!ack->range[i].length)
			return DMANIC_DROP_BAD;
	}
	return DMANIC_DROP_NONE;
}
