// SPDX-License-Identifier: GPL-2.0-only
/*
 * mac.c - SipHash-2-4, piece by piece
 */
#include <asm/byteorder.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "mac.h"

static __always_inline u64 mac_turn(u64 word, u32 by)
{
	return word << by | word >> (64 - by);
}

/* The state is in registers while these work */
static __always_inline void mac_round(struct dmanic_mac_state *v)
{
	v->a += v->b;
	v->c += v->d;
	v->b = mac_turn(v->b, 13) ^ v->a;
	v->d = mac_turn(v->d, 16) ^ v->c;
	v->a = mac_turn(v->a, 32);
	v->c += v->b;
	v->a += v->d;
	v->b = mac_turn(v->b, 17) ^ v->c;
	v->d = mac_turn(v->d, 21) ^ v->a;
	v->c = mac_turn(v->c, 32);
}

static __always_inline void mac_word(struct dmanic_mac_state *v, u64 word)
{
	v->d ^= word;
	mac_round(v);
	mac_round(v);
	v->a ^= word;
}

static __always_inline u64 mac_load(const void *bytes)
{
	__le64 word;

	memcpy(&word, bytes, sizeof(word));
	return le64_to_cpu(word);
}

/* Fewer than eight; those that are missing are zero */
static u64 mac_load_some(const void *bytes, u32 length)
{
	__le64 word = 0;

	memcpy(&word, bytes, length);
	return le64_to_cpu(word);
}

/**
 * dmanic_key_set() - a key as it is written
 * @key: out
 * @bytes: it
 */
void dmanic_key_set(struct dmanic_key *key, const u8 bytes[16])
{
	key->word[0] = mac_load(bytes);
	key->word[1] = mac_load(bytes + 8);
}

/**
 * dmanic_mac_begin() - nothing was hashed so far
 * @mac: out
 * @key: with this
 * @kind: DMANIC_MAC_*: the first eight bytes that are hashed
 */
void dmanic_mac_begin(struct dmanic_mac *mac, const struct dmanic_key *key, u64 kind)
{
	mac->v.a = key->word[0] ^ 0x736f6d6570736575ULL;
	mac->v.b = key->word[1] ^ 0x646f72616e646f6dULL;
	mac->v.c = key->word[0] ^ 0x6c7967656e657261ULL;
	mac->v.d = key->word[1] ^ 0x7465646279746573ULL;
	mac_word(&mac->v, kind);
	mac->rest = 0;
	mac->length = sizeof(kind);
}

/**
 * dmanic_mac_add() - go on
 * @mac: so far
 * @bytes: what follows
 * @length: of it
 */
void dmanic_mac_add(struct dmanic_mac *mac, const void *bytes, u32 length)
{
	struct dmanic_mac_state v = mac->v;
	u32 have = mac->length % 8, some;
	const u8 *at = bytes;

	mac->length += length;
	if (have) {
		some = min(length, 8 - have);
		mac->rest |= mac_load_some(at, some) << 8 * have;
		if (have + some < 8)
			return;
		mac_word(&v, mac->rest);
		at += some;
		length -= some;
	}
	for (; length >= 8; length -= 8, at += 8)
		mac_word(&v, mac_load(at));
	mac->rest = mac_load_some(at, length);
	mac->v = v;
}

/**
 * dmanic_mac_add_word() - go on with a number
 * @mac: so far
 * @word: as eight bytes, the lowest first
 */
void dmanic_mac_add_word(struct dmanic_mac *mac, u64 word)
{
	__le64 bytes = cpu_to_le64(word);

	dmanic_mac_add(mac, &bytes, sizeof(bytes));
}

/**
 * dmanic_mac_end() - the sum
 * @mac: all was added
 *
 * Return: it.
 */
u64 dmanic_mac_end(struct dmanic_mac *mac)
{
	struct dmanic_mac_state v = mac->v;

	mac_word(&v, mac->rest | (u64)mac->length << 56);
	v.c ^= 0xff;
	mac_round(&v);
	mac_round(&v);
	mac_round(&v);
	mac_round(&v);
	return v.a ^ v.b ^ v.c ^ v.d;
}
