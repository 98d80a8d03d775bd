/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * proof.h - frames of who knows a node's key, and of who nearly does
 */
#ifndef FUZZ_PROOF_H
#define FUZZ_PROOF_H

#include "selftests/fuzz/fuzz.h"

/* What of a proof is not right */
enum { WRONG_NOTHING, WRONG_KEY, WRONG_ID, WRONG_ADDRESS, WRONG_PAYLOAD, WRONGS };

/*
 * A frame has the proof that it is of the fabric. Whoever finds out what a sum has to be may
 * make one, as the fuzzer does when it sees them compared.
 */
static inline bool fuzz_proven(const struct dmanic_host *host, u64 from, const u8 *bytes,
			       u32 length)
{
	struct dmanic_head head;

	return !dmanic_head_decode(bytes, length, length, &head) &&
	       head.flags & DMANIC_WIRE_AUTH && head.key_id == host->auth.id &&
	       dmanic_auth_check(bytes, &head, &host->auth.key, from);
}

/*
 * The proof that a frame to @host is of @peer (NULL: of one it does not know), but for what is
 * @wrong; its counter is the next one, or so much less. @bytes have room for it. Return: length
 * of the frame then, the same when it has no head.
 */
static inline u32 fuzz_prove(const struct dmanic_host *host, const struct dmanic_peer *peer,
			     u64 from, u8 *bytes, u32 length, u8 wrong, u8 back)
{
	u32 head = dmanic_wire_pull(bytes, length), payload = length - head;
	struct dmanic_proof proof = { .from = from, .key_id = host->auth.id };
	struct dmanic_key key = host->auth.key;
	struct dmanic_mac mac;

	if (head < DMANIC_WIRE_COMMON || head > length ||
	    length > DMANIC_WIRE_FRAME_MAX - DMANIC_WIRE_AUTH_BYTES)
		return length;
	if (peer)
		proof.counter = dmanic_frame_type(bytes) > DMANIC_WIRE_RESET ?
				peer->replay.newest : peer->newest_counter;
	proof.counter += 1 - back;
	memmove(bytes + head + DMANIC_WIRE_AUTH_BYTES, bytes + head, payload);
	if (payload) {
		dmanic_auth_begin_payload(&mac, &key, bytes, proof.counter);
		dmanic_mac_add(&mac, bytes + head + DMANIC_WIRE_AUTH_BYTES, payload);
		proof.payload_mac = dmanic_mac_end(&mac);
	}
	proof.payload_mac += payload && wrong == WRONG_PAYLOAD;
	proof.from += wrong == WRONG_ADDRESS;
	proof.key_id += wrong == WRONG_ID;
	key.word[1] += wrong == WRONG_KEY;
	dmanic_auth_encode(bytes, head, &key, &proof);
	return length + DMANIC_WIRE_AUTH_BYTES;
}

#endif /* FUZZ_PROOF_H */
