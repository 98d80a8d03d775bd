// SPDX-License-Identifier: GPL-2.0-only
/*
 * auth.c - frames of who knows the fabric's key, and of nobody else
 *
 * With a key every frame is made with it, and no other is looked at further. Head and
 * payload have a sum each: who made a head is known before its payload is read, so that
 * one that changed while it was sent, which the sender is to be told, is not taken for
 * a forged one. Within a connection each frame has another counter, and counts once.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"

/* Wrong frames that are looked at, of those who are not connected; and in what time one more */
#define AUTH_GUESSES		1024U
#define AUTH_GUESS_NS		10000ULL

/**
 * dmanic_host_set_key() - what all nodes of the fabric know
 * @host: this node
 * @key: it, or NULL: frames are not authenticated
 * @id: of the key
 *
 * Then connections are to be closed, and dmanic_host_set_mtu() is to be called.
 */
void dmanic_host_set_key(struct dmanic_host *host, const struct dmanic_key *key, u32 id)
{
	host->auth.on = key;
	host->auth.id = key ? id : 0;
	host->auth.key = key ? *key : (struct dmanic_key) {};
	host->auth.guesses.left = AUTH_GUESSES;
}

/**
 * dmanic_auth_seal() - the proof that a frame is of this node
 * @host: it
 * @out: the frame
 * @head: its head, all else is there; dmanic_auth_bytes() follow it
 * @payload_mac: of the payload
 *
 * Return: length of the head.
 */
u32 dmanic_auth_seal(const struct dmanic_host *host, const struct dmanic_out *out, void *head,
		     u64 payload_mac)
{
	if (!host->auth.on)
		return out->head_length;
	return dmanic_auth_encode(head, out->head_length, &host->auth.key, host->auth.id,
				  out->counter, payload_mac);
}

/* Of who is not connected so many are looked at; wrong ones of others show who they are of */
static bool auth_may_look(struct dmanic_auth *auth, u64 now)
{
	u64 more = (now - auth->guesses.at) / AUTH_GUESS_NS;

	if (more) {
		auth->guesses.left = min_t(u64, auth->guesses.left + more, AUTH_GUESSES);
		auth->guesses.at = now;
	}
	return auth->guesses.left;
}

/**
 * dmanic_auth_check_head() - is a frame of who knows the key
 * @host: this node, which has one
 * @frame: it
 * @head: of it
 * @now: time
 *
 * Its payload is to be checked yet, see dmanic_auth_check_payload().
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_auth_check_head(struct dmanic_host *host,
					const struct dmanic_frame *frame,
					const struct dmanic_head *head, u64 now)
{
	bool known;

	if (!(head->flags & DMANIC_WIRE_AUTH) || head->key_id != host->auth.id)
		return DMANIC_DROP_AUTH;
	known = head->tag && host->env->find_tag(host, head->tag);
	if (!known && !auth_may_look(&host->auth, now))
		return DMANIC_DROP_RATE;
	if (dmanic_auth_check(frame->head, head, &host->auth.key))
		return DMANIC_DROP_NONE;
	if (!known)
		host->auth.guesses.left--;
	return DMANIC_DROP_AUTH;
}

/**
 * dmanic_auth_check_payload() - is the payload what its head says
 * @host: this node, which has a key
 * @frame: its head was checked
 * @head: of it
 *
 * Return: false when it is not.
 */
bool dmanic_auth_check_payload(struct dmanic_host *host, const struct dmanic_frame *frame,
			       const struct dmanic_head *head)
{
	return host->env->payload_mac(host, frame, head->payload, head->payload_length) ==
	       head->payload_mac;
}

/**
 * dmanic_auth_check_counter() - was there no frame with that counter
 * @peer: of its connection
 * @counter: of a frame that is the peer's
 *
 * What is much older than the newest counts as if it had been there. It is noted.
 *
 * Return: false when there was one.
 */
bool dmanic_auth_check_counter(struct dmanic_peer *peer, u64 counter)
{
	struct dmanic_replay *replay = &peer->replay;
	u64 word = counter / 64, newest = replay->newest / 64, i;
	u64 *seen = &replay->seen[word % DMANIC_REPLAY_WORDS];
	u64 bit = 1ULL << counter % 64;

	if (word + DMANIC_REPLAY_WORDS <= newest)
		return false;
	for (i = newest + 1; i <= word && i <= newest + DMANIC_REPLAY_WORDS; i++)
		replay->seen[i % DMANIC_REPLAY_WORDS] = 0;
	replay->newest = max(replay->newest, counter);
	if (*seen & bit)
		return false;
	*seen |= bit;
	return true;
}
