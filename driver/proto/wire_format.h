/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire_format.h - the bytes themselves; for wire.c and wire_data.c alone
 *
 * Big endian, no holes. Frames may stand at any address, hence packed.
 */
#ifndef DMANIC_WIRE_FORMAT_H
#define DMANIC_WIRE_FORMAT_H

#include "wire.h"

/* Every frame. A later version may change what stands between tag and end only */
struct wire_common {
	__u8 version;
	__u8 type;
	__u8 flags;
	__u8 reserved;
	__be16 head_length;
	__be16 payload_length;
	__be32 head_crc;
	__be32 payload_crc;
	__be64 tag;
} __packed;

/*
 * With DMANIC_WIRE_AUTH the head ends with this. The head's hash is of its sender's address
 * and of all of the head before it, with zero for head_crc, which is computed of all of it
 * in the end.
 */
struct wire_auth {
	__be32 key_id;
	__be32 reserved;
	__be64 counter;
	__be64 payload_mac;
	__be64 head_mac;
} __packed;

struct wire_hello {
	struct wire_common common;
	__be32 node;
	__be32 to;
	__be64 incarnation;
	__be64 tag;
	__be32 mtu;
	__be32 features;
	__be16 operations;
	__u8 version_min;
	__u8 version_max;
	__be32 window;
} __packed;

struct wire_refuse {
	struct wire_common common;
	__be32 node;
	__u8 reason;
	__u8 version_min;
	__u8 version_max;
	__u8 reserved;
} __packed;

struct wire_reset {
	struct wire_common common;
	__be32 node;
	__be32 reserved;
	__be64 incarnation;
} __packed;

struct wire_test {
	struct wire_common common;
	__be32 number;
	__be16 from;
	__be16 total;
} __packed;

struct wire_tested {
	struct wire_common common;
	__be32 number;
	__be32 length;
} __packed;

struct wire_ack {
	struct wire_common common;
	__be32 number;
	__be32 echo;
	__be32 held;
	__be32 window;
	__be32 duplicates;
	__u8 nr[DMANIC_CLASSES];
	__be16 mtu;
	struct {
		__be64 next;
		__be64 reject;
		__be64 corrupt;
		__be32 corrupt_units;
		__be32 reserved;
	} __packed stream[DMANIC_CLASSES];
	struct {
		__be32 after;
		__be32 length;
	} __packed range[];
} __packed;

struct wire_data {
	struct wire_common common;
	__be64 seq;
	__be32 stamp;
	__be16 records;
	__be16 reserved;
} __packed;

/* Behind that, with DMANIC_WIRE_TOLD: an ACK in which nothing is missing or corrupt */
struct wire_told {
	__be32 number;
	__be32 echo;
	__be32 held;
	__be32 window;
	__be32 duplicates;
	__be16 mtu;
	__be16 reserved;
	struct {
		__be64 next;
		__be64 reject;
	} __packed stream[DMANIC_CLASSES];
} __packed;

/* Every record begins so; the rest depends on its type */
struct wire_record {
	__u8 type;
	__u8 flags;
	__u8 opcode;
	__u8 reserved;
	__be32 op;
} __packed;

struct wire_write {
	struct wire_record record;
	__be32 length;
	__be32 segment;
	__be64 key;
	__be64 offset;
} __packed;

struct wire_strided {
	struct wire_write write;
	__be64 position;
	__be32 block;
	__be32 stride;
} __packed;

struct wire_notify {
	struct wire_record record;
	__be32 reserved;
	__be32 irq;
	__be64 key;
	__be64 payload;
} __packed;

struct wire_read {
	struct wire_record record;
	__be32 reserved;
	__be32 segment;
	__be64 key;
	__be64 offset;
	__be64 bytes;
	__be32 block;
	__be32 stride;
} __packed;

struct wire_atomic {
	struct wire_record record;
	__be32 reserved;
	__be32 segment;
	__be64 key;
	__be64 offset;
	__be64 operand;
	__be64 compare;
} __packed;

struct wire_read_data {
	struct wire_record record;
	__be32 length;
	__be32 reserved;
	__be64 position;
} __packed;

struct wire_result {
	struct wire_record record;
	__be32 status;
	__be32 reserved;
	__be64 value;
} __packed;

struct wire_skip {
	struct wire_record record;
	__be32 length;
	__be32 reserved;
} __packed;

struct wire_lookup {
	struct wire_record record;
	__be32 reserved;
	__be32 segment;
	__be64 key;
	__be64 secret[2];
	__u8 name[DMANIC_WIRE_NAME];
} __packed;

struct wire_found {
	struct wire_record record;
	__be32 rights;
	__be32 segment;
	__be64 key;
	__be64 length;
} __packed;

static_assert(sizeof(struct wire_common) == DMANIC_WIRE_COMMON);
static_assert(sizeof(struct wire_auth) == DMANIC_WIRE_AUTH_BYTES);
static_assert(sizeof(struct wire_hello) == 64);
static_assert(sizeof(struct wire_refuse) == 32);
static_assert(sizeof(struct wire_reset) == 40);
static_assert(sizeof(struct wire_ack) == 112);
static_assert(sizeof(struct wire_data) == DMANIC_WIRE_DATA_HEAD);
static_assert(sizeof(struct wire_told) == 56);
static_assert(sizeof(struct wire_write) == 32);
static_assert(sizeof(struct wire_strided) == 48);
static_assert(sizeof(struct wire_notify) == 32);
static_assert(sizeof(struct wire_read) == 48);
static_assert(sizeof(struct wire_atomic) == 48);
static_assert(sizeof(struct wire_read_data) == 24);
static_assert(sizeof(struct wire_result) == 24);
static_assert(sizeof(struct wire_skip) == 16);
static_assert(sizeof(struct wire_lookup) == 104);
static_assert(sizeof(struct wire_found) == 32);
static_assert(sizeof(struct wire_data) + sizeof(struct wire_told) +
	      sizeof(struct wire_strided) + sizeof(struct wire_notify) ==
	      DMANIC_WIRE_CUT_HEAD);
static_assert(sizeof(struct wire_test) == DMANIC_WIRE_TEST_HEAD);
static_assert(sizeof(struct wire_ack) + DMANIC_WIRE_RANGES * 8 <= DMANIC_WIRE_HEAD_MAX);
/* One head never has more records than fit */
static_assert(sizeof(struct wire_data) + sizeof(struct wire_told) +
	      sizeof(struct wire_lookup) <= DMANIC_WIRE_MTU_MIN);

/* wire.c */
void wire_begin(void *frame, u8 type, u8 flags, u64 tag, u32 head_length);

/* wire_data.c */
bool dmanic_data_cuttable(const void *frame, const struct dmanic_head *head);
u32 dmanic_data_cut(const void *frame, u32 from, u32 length, void *piece);

#endif /* DMANIC_WIRE_FORMAT_H */
