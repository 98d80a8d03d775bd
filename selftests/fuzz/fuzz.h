/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz.h - what the fuzzers share: an input that is taken apart byte by byte, frames
 * whose checksum is right, and what must be so
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/proto/proto.h"

#define demand(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "%s: line %d: not so: %s\n", __FILE__,	\
				__LINE__, #condition);			\
			abort();					\
		}							\
	} while (0)

/* What is left of it. Behind its end there are zeros. */
struct input {
	const u8 *bytes;
	size_t left;
};

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t length);

static inline u8 take(struct input *input)
{
	if (!input->left)
		return 0;
	input->left--;
	return *input->bytes++;
}

static inline u16 take_u16(struct input *input)
{
	u8 low = take(input);

	return low | take(input) << 8;
}

/* Return: how many there were, at most @length */
static inline u32 take_bytes(struct input *input, u8 *to, u32 length)
{
	if (length > input->left)
		length = input->left;
	memcpy(to, input->bytes, length);
	input->bytes += length;
	input->left -= length;
	return length;
}

static inline u64 fuzz_u64(const u8 *bytes)
{
	u64 value = 0;
	u32 i;

	for (i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static inline void fuzz_tag(u8 *frame, u64 tag)
{
	u32 i;

	for (i = 0; i < 8; i++)
		frame[16 + i] = tag >> (56 - 8 * i);
}

/* The checksum of the head is right. Return: false when there is none. */
static inline bool fuzz_seal(u8 *frame, u32 length)
{
	u32 head = dmanic_wire_pull(frame, length);

	if (head < DMANIC_WIRE_COMMON || head > length)
		return false;
	dmanic_head_seal(frame, head);
	return true;
}

/* What a frame leaves as it is that proves nothing */
struct was {
	u32 node, state, nr_free, nr_replies;
	u64 incarnation, address, local_tag, remote_tag, heard, newest, counter;
	u64 got[DMANIC_CLASSES], una[DMANIC_CLASSES];
};

static inline struct was was_of(const struct dmanic_peer *peer)
{
	struct was was;
	u32 i;

	/* To be compared as bytes */
	memset(&was, 0, sizeof(was));
	was.node = peer->node;
	was.state = peer->state;
	was.nr_free = peer->nr_free;
	was.nr_replies = peer->nr_replies;
	was.incarnation = peer->incarnation;
	was.address = peer->address;
	was.local_tag = peer->local_tag;
	was.remote_tag = peer->remote_tag;
	was.heard = peer->heard;
	was.newest = peer->replay.newest;
	was.counter = peer->newest_counter;
	for (i = 0; i < DMANIC_CLASSES; i++) {
		was.got[i] = peer->rx[i].got.next;
		was.una[i] = peer->tx[i].una;
	}
	return was;
}

/* Of a WRITE, any operation */
static inline void fuzz_kind(struct input *input, struct dmanic_xfer *xfer,
			     struct dmanic_lookup *lookup)
{
	u8 kind = take(input) % 8;

	xfer->kind = kind == DMANIC_XFER_LOOKUP ? kind : kind % 4;
	xfer->lookup = lookup;
	xfer->class = take(input) % 2;
	xfer->notifies = xfer->kind == DMANIC_XFER_WRITE && take(input) % 2;
	xfer->opcode = DMANIC_OP_FETCH_ADD;
	if (xfer->kind != DMANIC_XFER_WRITE && xfer->kind != DMANIC_XFER_READ)
		xfer->length = 0;
}

#endif /* FUZZ_H */
