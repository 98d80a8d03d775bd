/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mac.h - a keyed hash of a frame: who has the key made it
 *
 * SipHash-2-4 (Aumasson and Bernstein, 2012), as the kernel uses it against those who
 * choose what is hashed. It takes bytes as they come, piece by piece: a payload is spread
 * over pages, and lib/siphash.c wants all of it in one. Why SipHash: it is a keyed hash
 * and needs no number used once, so that a node that starts anew, or sends a frame twice,
 * gives nothing away; it is short, needs no unit of the processor that a softirq would have
 * to save, and to guess the sum of a head is to send the other side a frame each time.
 */
#ifndef DMANIC_PROTO_MAC_H
#define DMANIC_PROTO_MAC_H

#include <linux/types.h>

/**
 * struct dmanic_key - what all nodes of a fabric know, and nobody else
 * @word: 128 bits, as SipHash has them
 */
struct dmanic_key {
	u64 word[2];
};

/* What is hashed, its first word: the same bytes of another kind have another sum */
#define DMANIC_MAC_HEAD		1ULL
#define DMANIC_MAC_PAYLOAD	2ULL
#define DMANIC_MAC_STRANGER	3ULL

/**
 * struct dmanic_mac_state - four words that are mixed with each eight bytes
 * @a: the first; SipHash calls them v0 to v3
 * @b: the second
 * @c: the third
 * @d: the fourth
 */
struct dmanic_mac_state {
	u64 a;
	u64 b;
	u64 c;
	u64 d;
};

/**
 * struct dmanic_mac - a sum that is being made
 * @v: the state
 * @rest: bytes that do not make a word yet, from the lowest on
 * @length: bytes so far
 */
struct dmanic_mac {
	struct dmanic_mac_state v;
	u64 rest;
	u32 length;
};

void dmanic_key_set(struct dmanic_key *key, const u8 bytes[16]);
void dmanic_mac_begin(struct dmanic_mac *mac, const struct dmanic_key *key, u64 kind);
void dmanic_mac_add(struct dmanic_mac *mac, const void *bytes, u32 length);
void dmanic_mac_add_word(struct dmanic_mac *mac, u64 word);
u64 dmanic_mac_end(struct dmanic_mac *mac);

#endif /* DMANIC_PROTO_MAC_H */
