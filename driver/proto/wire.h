/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire.h - what frames look like, and the one encoder and decoder of each
 *
 * A frame is a head and a payload. The head is the common header, what its type
 * adds, and for DATA the headers of its records; the payload is the bytes of
 * those records, one behind the other. A checksum always covers the head. A link
 * carries frames as they are, behind whatever header it has itself; bytes
 * behind the payload are padding.
 *
 * Decoders trust nothing: they return why a frame is to be dropped, or 0, and
 * touch no byte that the caller did not say is there. What was decoded is in
 * the machine's byte order. Documentation/protocol.rst has the offsets.
 */
#ifndef DMANIC_WIRE_H
#define DMANIC_WIRE_H

#include <linux/types.h>

#include "mac.h"

#define DMANIC_WIRE_ETHERTYPE	0x88B5
/* Range of versions spoken */
#define DMANIC_WIRE_MIN		1
#define DMANIC_WIRE_MAX		1

#define DMANIC_WIRE_COMMON	24U	/* bytes every frame begins with */
#define DMANIC_WIRE_DATA_HEAD	40U	/* bytes before the first record */
#define DMANIC_WIRE_HEAD_MAX	1024U	/* no head is longer, but for what follows */
#define DMANIC_WIRE_AUTH_BYTES	32U	/* at its end, where there is a key */
#define DMANIC_WIRE_PULL_MAX	(DMANIC_WIRE_HEAD_MAX + DMANIC_WIRE_AUTH_BYTES)
#define DMANIC_WIRE_CUT_HEAD	176U	/* nor one of a frame that can be cut */
#define DMANIC_WIRE_TEST_HEAD	32U	/* of a TEST */
#define DMANIC_WIRE_FRAME_MAX	65535U	/* no frame is longer */
#define DMANIC_WIRE_MTU_MIN	512U	/* less is no path for us */
#define DMANIC_WIRE_RECORDS	30U	/* in one frame */
#define DMANIC_WIRE_RANGES	48U	/* in one ACK, both streams */
#define DMANIC_WIRE_NAME	64U	/* longest name asked for, with its zero */
#define DMANIC_WIRE_NOBODY	0xffffffffU /* node id that nobody has */

/* Two transmit classes: two independent streams of a peer and direction */
enum dmanic_class {
	DMANIC_URGENT,
	DMANIC_BULK,
	DMANIC_CLASSES
};

/**
 * enum dmanic_wire_type - types of frames
 * @DMANIC_WIRE_HELLO: who is there: to all, or the answer to one
 * @DMANIC_WIRE_INIT: asks for a connection
 * @DMANIC_WIRE_ANSWER: second and third part of the handshake
 * @DMANIC_WIRE_REFUSE: why there will be none
 * @DMANIC_WIRE_RESET: the connection of that tag is gone
 * @DMANIC_WIRE_PROBE: wants an ACK
 * @DMANIC_WIRE_ACK: what was received
 * @DMANIC_WIRE_DATA: records of one stream
 * @DMANIC_WIRE_TEST: as long as frames may get, to see whether it arrives
 * @DMANIC_WIRE_TESTED: it did
 * @DMANIC_WIRE_TYPES: end of types
 */
enum dmanic_wire_type {
	DMANIC_WIRE_HELLO = 1,
	DMANIC_WIRE_INIT = 2,
	DMANIC_WIRE_ANSWER = 3,
	DMANIC_WIRE_REFUSE = 4,
	DMANIC_WIRE_RESET = 5,
	DMANIC_WIRE_PROBE = 6,
	DMANIC_WIRE_ACK = 7,
	DMANIC_WIRE_DATA = 8,
	DMANIC_WIRE_TEST = 9,
	DMANIC_WIRE_TESTED = 10,
	DMANIC_WIRE_TYPES
};

/* Flags of the common header */
#define DMANIC_WIRE_AUTH	0x01U	/* the head ends with proof of who made it */
#define DMANIC_WIRE_CRC		0x02U	/* DATA: payload_crc is set */
#define DMANIC_WIRE_URGENT	0x04U	/* DATA: of the urgent stream */
#define DMANIC_WIRE_NOW		0x08U	/* DATA: acknowledge at once */
#define DMANIC_WIRE_DONE	0x10U	/* ANSWER: knows both tags */
#define DMANIC_WIRE_REPLY	0x20U	/* HELLO: an answer, not to be answered */
#define DMANIC_WIRE_TOLD	0x40U	/* DATA: what was received stands before the records */
#define DMANIC_WIRE_LAST	0x80U	/* DATA: NOW, and nothing follows */

/* Features, both must have what is used */
#define DMANIC_WIRE_PAYLOAD_CRC	0x00000001U

/**
 * enum dmanic_refusal_reason - of a REFUSE
 * @DMANIC_REFUSE_VERSION: no version in common
 * @DMANIC_REFUSE_IN_USE: the node id belongs to another address
 * @DMANIC_REFUSE_BUSY: no room for another peer
 */
enum dmanic_refusal_reason {
	DMANIC_REFUSE_VERSION = 1,
	DMANIC_REFUSE_IN_USE = 2,
	DMANIC_REFUSE_BUSY = 3,
};

/**
 * enum dmanic_record_type - what a stream consists of
 * @DMANIC_RECORD_WRITE: bytes for a segment, contiguous there
 * @DMANIC_RECORD_STRIDED: bytes for a segment, in blocks
 * @DMANIC_RECORD_NOTIFY: raise an interrupt
 * @DMANIC_RECORD_READ: ask for bytes of a segment
 * @DMANIC_RECORD_ATOMIC: do it, and tell the old value
 * @DMANIC_RECORD_DATA: bytes a READ asked for
 * @DMANIC_RECORD_RESULT: how an operation went: refused, or an old value
 * @DMANIC_RECORD_SKIP: nothing, in the place of what was to be here
 * @DMANIC_RECORD_LOOKUP: ask where an export is
 * @DMANIC_RECORD_FOUND: there
 * @DMANIC_RECORD_PAD: nothing, where a piece has not what the whole frame has
 * @DMANIC_RECORD_TYPES: end of types
 */
enum dmanic_record_type {
	DMANIC_RECORD_WRITE = 1,
	DMANIC_RECORD_STRIDED = 2,
	DMANIC_RECORD_NOTIFY = 3,
	DMANIC_RECORD_READ = 4,
	DMANIC_RECORD_ATOMIC = 5,
	DMANIC_RECORD_DATA = 6,
	DMANIC_RECORD_RESULT = 7,
	DMANIC_RECORD_SKIP = 8,
	DMANIC_RECORD_LOOKUP = 9,
	DMANIC_RECORD_FOUND = 10,
	DMANIC_RECORD_PAD = 11,
	DMANIC_RECORD_TYPES
};

/* Flags of a record */
#define DMANIC_RECORD_NOTIFIES	0x01U	/* WRITE, STRIDED, SKIP of them: a NOTIFY follows */
#define DMANIC_RECORD_END	0x02U	/* SKIP: in the place of that NOTIFY */
#define DMANIC_RECORD_ANSWER	0x04U	/* SKIP: of a READ, ATOMIC or LOOKUP: to be answered */

/**
 * enum dmanic_drop - why a frame, or a part of it, was dropped
 * @DMANIC_DROP_NONE: it was not
 * @DMANIC_DROP_SHORT: shorter than it says, or than it must be
 * @DMANIC_DROP_VERSION: of a version not spoken
 * @DMANIC_DROP_CHECKSUM: the head's checksum
 * @DMANIC_DROP_TYPE: unknown type, flag or record, or a reserved field set
 * @DMANIC_DROP_AUTH: not made with the key that there is here; or there is none
 * @DMANIC_DROP_BAD: a value that makes no sense
 * @DMANIC_DROP_STRANGER: of no connection, or not from where its peer is
 * @DMANIC_DROP_STATE: not now
 * @DMANIC_DROP_WINDOW: beyond what was granted
 * @DMANIC_DROP_ROOM: no room to note it; comes again
 * @DMANIC_DROP_CORRUPT: the payload's checksum
 * @DMANIC_DROP_DUPLICATE: was there before
 * @DMANIC_DROP_UNKNOWN_OP: for an operation that there is not (any more)
 * @DMANIC_DROP_RATE: too many that want an answer, or to guess the key
 * @DMANIC_DROP_REPLAY: was there before, or is as old as if it had been
 * @DMANIC_DROPS: end of reasons
 */
enum dmanic_drop {
	DMANIC_DROP_NONE,
	DMANIC_DROP_SHORT,
	DMANIC_DROP_VERSION,
	DMANIC_DROP_CHECKSUM,
	DMANIC_DROP_TYPE,
	DMANIC_DROP_AUTH,
	DMANIC_DROP_BAD,
	DMANIC_DROP_STRANGER,
	DMANIC_DROP_STATE,
	DMANIC_DROP_WINDOW,
	DMANIC_DROP_ROOM,
	DMANIC_DROP_CORRUPT,
	DMANIC_DROP_DUPLICATE,
	DMANIC_DROP_UNKNOWN_OP,
	DMANIC_DROP_RATE,
	DMANIC_DROP_REPLAY,
	DMANIC_DROPS
};

/**
 * struct dmanic_head - the common header, decoded
 * @type: enum dmanic_wire_type
 * @flags: DMANIC_WIRE_*
 * @head_length: bytes of it, but for what proves who made it
 * @payload: where the payload begins
 * @payload_length: bytes behind the head
 * @payload_crc: CRC32C of the payload, with DMANIC_WIRE_CRC
 * @tag: the receiver's; RESET: the one that is not known
 * @key_id: with DMANIC_WIRE_AUTH: of the key
 * @counter: the same: greater in each frame of its sender to the same connection, or
 *	before there is one
 * @payload_mac: the same: the payload's keyed hash
 * @head_mac: the same: the head's, in which that one stands
 */
struct dmanic_head {
	u8 type;
	u8 flags;
	u16 head_length;
	u16 payload;
	u16 payload_length;
	u32 payload_crc;
	u64 tag;
	u32 key_id;
	u64 counter;
	u64 payload_mac;
	u64 head_mac;
};

/**
 * struct dmanic_proof - what proves who made a frame
 * @from: address that it is sent from, below 16 bits that tell the network; is not in the
 *	frame
 * @key_id: of the key
 * @counter: greater in each frame of its sender to the same connection, or before there is
 *	one
 * @payload_mac: see dmanic_auth_begin_payload(); zero when there is no payload
 */
struct dmanic_proof {
	u64 from;
	u32 key_id;
	u64 counter;
	u64 payload_mac;
};

/**
 * struct dmanic_hello - what a node says of itself: HELLO, INIT, ANSWER
 * @node: its id
 * @to: id of who is meant; HELLO: DMANIC_WIRE_NOBODY means everybody
 * @incarnation: changes when the node restarts
 * @tag: for frames to it; zero in HELLO
 * @mtu: longest frame it takes
 * @features: DMANIC_WIRE_PAYLOAD_CRC...
 * @operations: ids that the other may use for operations at once
 * @version_min: lowest version spoken
 * @version_max: highest
 * @window: bytes that may be under way to it, until it says otherwise
 */
struct dmanic_hello {
	u32 node;
	u32 to;
	u64 incarnation;
	u64 tag;
	u32 mtu;
	u32 features;
	u16 operations;
	u8 version_min;
	u8 version_max;
	u32 window;
};

/**
 * struct dmanic_refuse - a REFUSE
 * @node: who refuses
 * @reason: enum dmanic_refusal_reason
 * @version_min: lowest version it speaks
 * @version_max: highest
 */
struct dmanic_refuse {
	u32 node;
	u8 reason;
	u8 version_min;
	u8 version_max;
};

/**
 * struct dmanic_test - a TEST
 * @number: of the test; the sender's
 * @from: where the payload of this piece begins in that of the whole
 * @total: payload of the whole
 */
struct dmanic_test {
	u32 number;
	u32 from;
	u32 total;
};

/**
 * struct dmanic_tested - a TESTED
 * @number: of the test
 * @length: of the frame in which its end arrived
 */
struct dmanic_tested {
	u32 number;
	u32 length;
};

/**
 * struct dmanic_ack_stream - an ACK, of one stream
 * @next: everything before was received and done
 * @reject: position in the other direction's stream behind the last refusal of
 *	something before @next
 * @corrupt: where a frame began whose payload's checksum was wrong
 * @corrupt_units: how much of the stream it had; zero: there was none
 * @nr: ranges
 */
struct dmanic_ack_stream {
	u64 next;
	u64 reject;
	u64 corrupt;
	u32 corrupt_units;
	u16 nr;
};

/**
 * struct dmanic_ack - an ACK
 * @number: later ones have greater numbers
 * @echo: stamp of the DATA frame that came last
 * @held: how long ago that was, in units of stamps; U32_MAX: none came since the
 *	last ACK
 * @window: bytes of both streams that may be under way
 * @duplicates: frames that brought nothing new, since the connection was made
 * @mtu: longest frame that its sender takes now
 * @stream: of each class
 * @range: received beyond next: first those of class 0, then of class 1;
 *	relative to the stream's next
 */
struct dmanic_ack {
	u32 number;
	u32 echo;
	u32 held;
	u32 window;
	u32 duplicates;
	u16 mtu;
	struct dmanic_ack_stream stream[DMANIC_CLASSES];
	struct {
		u32 after;
		u32 length;
	} range[DMANIC_WIRE_RANGES];
};

/**
 * struct dmanic_data - a DATA frame, without its records
 * @seq: position of the first record in the stream
 * @stamp: when it was sent
 * @records: how many
 * @first: where the first begins (out)
 */
struct dmanic_data {
	u64 seq;
	u32 stamp;
	u16 records;
	u32 first;
};

/**
 * struct dmanic_record - a record; what its type does not have is zero
 * @type: enum dmanic_record_type
 * @flags: DMANIC_RECORD_NOTIFIES, _END
 * @opcode: ATOMIC: enum dmanic_opcode; LOOKUP: 0: a segment, 1: an interrupt
 * @op: id of the operation; RESULT, DATA, FOUND: of the receiver's operation
 * @length: WRITE, STRIDED, DATA: bytes in the payload; SKIP: units
 * @segment: export id; NOTIFY: of the interrupt; LOOKUP: zero with a name
 * @key: of the export
 * @offset: into the segment
 * @position: STRIDED, DATA: which bytes of the operation these are
 * @block: STRIDED, READ: bytes of a block; zero: contiguous; FOUND: rights
 * @stride: STRIDED, READ: from block to block
 * @value: NOTIFY: payload; ATOMIC: operand; RESULT: old value; READ: bytes; FOUND:
 *	length; LOOKUP: first word of the secret
 * @compare: ATOMIC; LOOKUP: second word of the secret
 * @status: RESULT: enum dmanic_status
 * @name: LOOKUP: DMANIC_WIRE_NAME bytes, terminated; decoded: in the frame
 */
struct dmanic_record {
	u8 type;
	u8 flags;
	u8 opcode;
	u32 op;
	u32 length;
	u32 segment;
	u64 key;
	u64 offset;
	u64 position;
	u32 block;
	u32 stride;
	u64 value;
	u64 compare;
	u32 status;
	const char *name;
};

/* How much of the stream a record takes: its bytes, or one */
static inline u32 dmanic_record_units(const struct dmanic_record *record)
{
	if (record->type == DMANIC_RECORD_PAD)
		return 0;
	return record->length ? record->length : 1;
}

/* Its bytes are in the payload, and it may be cut anywhere */
static inline bool dmanic_record_data(u8 type)
{
	return type == DMANIC_RECORD_WRITE || type == DMANIC_RECORD_STRIDED ||
	       type == DMANIC_RECORD_DATA;
}

/* It ends an operation of the receiver */
static inline bool dmanic_record_result(u8 type)
{
	return type == DMANIC_RECORD_RESULT || type == DMANIC_RECORD_FOUND;
}

static inline u32 dmanic_record_payload(const struct dmanic_record *record)
{
	return dmanic_record_data(record->type) ? record->length : 0;
}

/* wire.c: the common header, the handshake, ACK */
u32 dmanic_wire_pull(const void *frame, u32 linear);
enum dmanic_drop dmanic_head_decode(const void *frame, u32 linear, u32 length,
				    struct dmanic_head *head);
u32 dmanic_hello_encode(void *frame, u8 type, u8 flags, u64 tag,
			const struct dmanic_hello *hello);
enum dmanic_drop dmanic_hello_decode(const void *frame, const struct dmanic_head *head,
				     struct dmanic_hello *hello);
u32 dmanic_refuse_encode(void *frame, u64 tag, const struct dmanic_refuse *refuse);
enum dmanic_drop dmanic_refuse_decode(const void *frame, const struct dmanic_head *head,
				      struct dmanic_refuse *refuse);
u32 dmanic_reset_encode(void *frame, u64 tag, u32 node, u64 incarnation);
enum dmanic_drop dmanic_reset_decode(const void *frame, const struct dmanic_head *head,
				     u32 *node, u64 *incarnation);
u32 dmanic_probe_encode(void *frame, u64 tag);
u8 dmanic_frame_type(const void *frame);
u32 dmanic_auth_encode(void *frame, u32 head_length, const struct dmanic_key *key,
		       const struct dmanic_proof *proof);
bool dmanic_auth_check(const void *frame, const struct dmanic_head *head,
		       const struct dmanic_key *key, u64 from);
void dmanic_auth_begin_payload(struct dmanic_mac *mac, const struct dmanic_key *key,
			       const void *frame, u64 counter);
u32 dmanic_test_encode(void *frame, u64 tag, const struct dmanic_test *test);
enum dmanic_drop dmanic_test_decode(const void *frame, const struct dmanic_head *head,
				    struct dmanic_test *test);
u32 dmanic_tested_encode(void *frame, u64 tag, const struct dmanic_tested *tested);
enum dmanic_drop dmanic_tested_decode(const void *frame, const struct dmanic_head *head,
				      struct dmanic_tested *tested);
bool dmanic_frame_cuttable(const void *frame, const struct dmanic_head *head);
u32 dmanic_frame_cut(const void *frame, u32 from, u32 length, void *piece);
u32 dmanic_ack_encode(void *frame, u64 tag, const struct dmanic_ack *ack);
enum dmanic_drop dmanic_ack_decode(const void *frame, const struct dmanic_head *head,
				   struct dmanic_ack *ack);
void dmanic_head_seal(void *frame, u32 head_length);

/* wire_data.c: DATA and its records */
u32 dmanic_record_size(u8 type);
u32 dmanic_data_begin(void *frame, bool told);
void dmanic_told_encode(void *frame, const struct dmanic_ack *ack);
enum dmanic_drop dmanic_told_decode(const void *frame, struct dmanic_ack *ack);
u32 dmanic_record_encode(void *frame, u32 at, const struct dmanic_record *record);
void dmanic_data_end(void *frame, u32 head_length, u8 flags, u64 tag,
		     const struct dmanic_data *data, u32 payload_length);
void dmanic_data_seal(void *frame, const u32 *payload_crc);
enum dmanic_drop dmanic_data_decode(const void *frame, const struct dmanic_head *head,
				    struct dmanic_data *data);
enum dmanic_drop dmanic_record_decode(const void *frame, const struct dmanic_head *head,
				      u32 *at, struct dmanic_record *record);

#endif /* DMANIC_WIRE_H */
