// SPDX-License-Identifier: GPL-2.0-only
/*
 * auth.c - frames of who knows the fabric's key, and of nobody else
 *
 * With a key every frame is made with it, and no other is looked at further. Head and
 * payload have a sum each: who made a head is known before its payload is read, so that
 * one that changed while it was sent, which the sender is to be told, is not taken for
 * a forged one. The address that a frame is sent from is part of what is proven: who
 * repeats a frame elsewhere is nobody.
 *
 * Each frame counts once. Within a connection each has another counter. Those of no
 * connection (HELLO, INIT, ANSWER, REFUSE, RESET) are counted by the time of day, so that
 * a node that starts again goes on where it was, and one that is older than what was heard
 * of the same node last is a repeated one.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"

/*
 * Wrong frames that are looked at, of those who are not connected, and in what time one more:
 * a million a second, or one guess in 300,000 years. Their source address may be another's,
 * so that no address has a part of its own; who knows the key is not to notice.
 */
#define AUTH_GUESSES		4096U
#define AUTH_GUESS_NS		1000ULL
/* Of what is beyond that one of so many */
#define AUTH_BEYOND		16U

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
	struct dmanic_auth *auth = &host->auth;

	auth->on = key;
	auth->id = key ? id : 0;
	auth->key = key ? *key : (struct dmanic_key) {};
	auth->salt.word[0] = host->env->random(host);
	auth->salt.word[1] = host->env->random(host);
	auth->guesses.left = AUTH_GUESSES;
	/* What is older was of this node before it started */
	auth->rival = host->config.incarnation;
}

/**
 * dmanic_auth_stranger() - to which group of strangers does a node belong
 * @host: this node
 * @from: address of the other one
 *
 * With a key an address is of who made the frame. So those whose frames somebody repeats do
 * not take the answers of all others.
 *
 * Return: below DMANIC_STRANGERS; without a key 0.
 */
u32 dmanic_auth_stranger(const struct dmanic_host *host, u64 from)
{
	struct dmanic_mac mac;

	if (!host->auth.on)
		return 0;
	dmanic_mac_begin(&mac, &host->auth.salt, DMANIC_MAC_STRANGER);
	dmanic_mac_add_word(&mac, from);
	return dmanic_mac_end(&mac) % DMANIC_STRANGERS;
}

/**
 * dmanic_auth_count() - the counter of a frame
 * @host: of this node
 * @peer: to whom; may be NULL when the frame is of no connection
 * @out: the frame; its head is there
 */
void dmanic_auth_count(struct dmanic_host *host, struct dmanic_peer *peer,
		       struct dmanic_out *out)
{
	struct dmanic_auth *auth = &host->auth;

	if (!auth->on)
		return;
	if (dmanic_frame_type(out->head) > DMANIC_WIRE_RESET) {
		out->counter = ++peer->counter;
		return;
	}
	auth->counter = max(auth->counter + 1, host->env->time_of_day(host));
	out->counter = auth->counter;
}

/**
 * dmanic_auth_begin() - the hash of a payload
 * @host: of this node
 * @out: the frame
 * @mac: out: the payload is to be added, then dmanic_auth_seal() to be called
 */
void dmanic_auth_begin(const struct dmanic_host *host, const struct dmanic_out *out,
		       struct dmanic_mac *mac)
{
	dmanic_auth_begin_payload(mac, &host->auth.key, out->head, out->counter);
}

/* What is proven of where a frame comes from: what is of one network is nothing on another */
static u64 auth_from(const struct dmanic_host *host, u64 address)
{
	return address | (u64)host->config.network << 48;
}

/**
 * dmanic_auth_seal() - the proof that a frame is of this node
 * @host: it
 * @out: the frame
 * @from: address that it is sent from
 * @head: its head, all else is there; dmanic_auth_bytes() follow it
 * @mac: all of the payload was added; NULL: there is none
 *
 * Return: length of the head.
 */
u32 dmanic_auth_seal(const struct dmanic_host *host, const struct dmanic_out *out, u64 from,
		     void *head, struct dmanic_mac *mac)
{
	struct dmanic_proof proof = {
		.from = auth_from(host, from),
		.key_id = host->auth.id,
		.counter = out->counter,
	};

	if (!host->auth.on)
		return out->head_length;
	if (mac)
		proof.payload_mac = dmanic_mac_end(mac);
	return dmanic_auth_encode(head, out->head_length, &host->auth.key, &proof);
}

/* Of who is not connected so many are looked at; wrong ones of others show who they are of */
static bool auth_may_look(struct dmanic_host *host, u64 now)
{
	struct dmanic_allowance *guesses = &host->auth.guesses;
	u64 more = (now - guesses->at) / AUTH_GUESS_NS;

	if (more) {
		guesses->left = min_t(u64, guesses->left + more, AUTH_GUESSES);
		guesses->at = now;
	}
	return guesses->left || !(host->env->random(host) % AUTH_BEYOND);
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
	if (!known && !auth_may_look(host, now))
		return DMANIC_DROP_RATE;
	if (dmanic_auth_check(frame->head, head, &host->auth.key,
			      auth_from(host, frame->from)))
		return DMANIC_DROP_NONE;
	if (!known && host->auth.guesses.left)
		host->auth.guesses.left--;
	return DMANIC_DROP_AUTH;
}

/**
 * dmanic_auth_check_payload() - is the payload what its head says
 * @host: this node, which has a key
 * @frame: its head was checked
 * @head: of it
 *
 * Return: 0, or CORRUPT: it is not; ROOM: it cannot be looked at now.
 */
enum dmanic_drop dmanic_auth_check_payload(struct dmanic_host *host,
					   const struct dmanic_frame *frame,
					   const struct dmanic_head *head)
{
	struct dmanic_mac mac;

	if (!head->payload_length)
		return head->payload_mac ? DMANIC_DROP_CORRUPT : DMANIC_DROP_NONE;
	dmanic_auth_begin_payload(&mac, &host->auth.key, frame->head, head->counter);
	if (!host->env->payload_mac(frame, head->payload, head->payload_length, &mac))
		return DMANIC_DROP_ROOM;
	return dmanic_mac_end(&mac) == head->payload_mac ? DMANIC_DROP_NONE :
							   DMANIC_DROP_CORRUPT;
}

/**
 * dmanic_auth_newer() - is a frame of no connection newer than others of the same node
 * @host: this node
 * @node: id of who made it; it knows the key, if there is one
 * @head: of the frame
 *
 * It is noted, as long as anything is known of the node. Always without a key.
 *
 * Return: false when it was repeated, or is older than one that was.
 */
bool dmanic_auth_newer(struct dmanic_host *host, u32 node, const struct dmanic_head *head)
{
	u64 *newest = &host->auth.rival;
	struct dmanic_peer *peer;

	if (!host->auth.on)
		return true;
	if (node != host->config.node) {
		peer = host->env->find_node(host, node, false);
		if (!peer)
			return true;
		newest = &peer->newest_counter;
	}
	if (head->counter <= *newest)
		return false;
	*newest = head->counter;
	return true;
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
