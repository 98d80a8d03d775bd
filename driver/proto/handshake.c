// SPDX-License-Identifier: GPL-2.0-only
/*
 * handshake.c - two nodes learn each other's tags
 *
 * Each side has one tag, made when its attempt begins. INIT carries the sender's;
 * an ANSWER is sent to a tag and carries the sender's; an ANSWER with DONE says
 * that its sender knows both. So both sides may begin at once, any frame may be
 * lost, come twice or late: two nodes that know both tags know the same two.
 *
 * Who knows a tag can speak for its owner's peer. So it is told to one address
 * alone, never to everybody: where a node is, a HELLO asks, which has none; and who
 * turns out to be elsewhere is told another one.
 */
#include <linux/minmax.h>

#include "internal.h"

#define HANDSHAKE_FIRST_NS	10000000ULL
/* A live connection is not asked more often because of INITs */
#define HANDSHAKE_PROBE_NS	10000000ULL

/**
 * dmanic_hello_fill() - what this node says of itself
 * @host: it
 * @hello: out
 */
void dmanic_hello_fill(const struct dmanic_host *host, struct dmanic_hello *hello)
{
	const struct dmanic_proto_config *config = &host->config;

	*hello = (struct dmanic_hello) {
		.node = config->node,
		.to = DMANIC_WIRE_NOBODY,
		.incarnation = config->incarnation,
		.mtu = config->mtu,
		.features = config->features,
		.operations = config->operations,
		.version_min = DMANIC_WIRE_MIN,
		.version_max = DMANIC_WIRE_MAX,
		.window = config->budget / (host->senders + 1),
	};
	hello->window = max(hello->window, config->mtu);
}

static u32 handshake_encode(struct dmanic_peer *peer, void *frame, u8 type, u8 flags,
			    u64 tag)
{
	struct dmanic_hello hello;

	dmanic_hello_fill(peer->host, &hello);
	hello.to = peer->node;
	hello.tag = peer->local_tag;
	return dmanic_hello_encode(frame, type, flags, tag, &hello);
}

/* One that nobody was told */
static void handshake_tag(struct dmanic_peer *peer)
{
	u64 old = peer->local_tag;

	do {
		peer->local_tag = dmanic_peer_env(peer)->random(peer->host);
	} while (!peer->local_tag);
	dmanic_peer_env(peer)->tag_changed(peer, old);
}

static void handshake_opening(struct dmanic_peer *peer, u64 now)
{
	peer->state = DMANIC_PEER_OPENING;
	peer->since = now;
	peer->hello_now = false;
	peer->hello_at = DMANIC_NEVER;
	peer->hello_wait = HANDSHAKE_FIRST_NS;
	peer->init_now = false;
	peer->sought = false;
	handshake_tag(peer);
}

/* The attempt goes on with an address that was not told the tag */
static void handshake_move(struct dmanic_peer *peer, u64 address)
{
	if (peer->local_tag && peer->address != DMANIC_EVERYBODY)
		handshake_tag(peer);
	peer->address = address;
}

/**
 * dmanic_handshake_asks() - do we want the connection, too
 * @peer: with whom
 *
 * Return: true while it is asked for one.
 */
bool dmanic_handshake_asks(const struct dmanic_peer *peer)
{
	return peer->state == DMANIC_PEER_OPENING &&
	       (peer->hello_now || peer->hello_at != DMANIC_NEVER);
}

/**
 * dmanic_handshake_hello() - a HELLO says where a node is
 * @peer: it
 * @from: there
 * @again: it just came up: what was asked before did not reach it
 *
 * Anybody may say so. Hence only one is believed for each time that everybody was
 * asked, and only while there is no connection.
 */
void dmanic_handshake_hello(struct dmanic_peer *peer, u64 from, bool again)
{
	bool asks = dmanic_handshake_asks(peer);

	if (peer->address != from) {
		if (peer->address != DMANIC_EVERYBODY && !(asks && peer->sought))
			return;
		handshake_move(peer, from);
	} else if (!again) {
		return;
	}
	peer->sought = false;
	peer->init_now = asks;
}

/**
 * dmanic_handshake_begin() - there is something to send
 * @peer: to whom; no connection yet
 * @now: time
 */
void dmanic_handshake_begin(struct dmanic_peer *peer, u64 now)
{
	if (peer->state == DMANIC_PEER_CLOSED)
		handshake_opening(peer, now);
	else if (dmanic_handshake_asks(peer))
		return;
	/* Also when the other side has begun: then its time counts from now on */
	peer->since = now;
	dmanic_peer_ask_anew(peer);
	peer->refused = 0;
	peer->hello_now = true;
}

/* Again later, and later again; not all nodes at the same time */
static void handshake_again(struct dmanic_peer *peer, u64 now)
{
	u64 wait = peer->hello_wait;

	dmanic_peer_asked(peer, now);
	peer->hello_now = false;
	peer->hello_at = now + wait + dmanic_peer_env(peer)->random(peer->host) % (wait / 4);
	peer->hello_wait = min(2 * wait, max(dmanic_peer_config(peer)->dead_ns / 8,
					     HANDSHAKE_FIRST_NS));
}

/* Others of this host ask just now: soon, and not all of these at once */
static void handshake_wait(struct dmanic_peer *peer, u64 now)
{
	peer->hello_now = false;
	peer->hello_at = now + HANDSHAKE_FIRST_NS +
			 dmanic_peer_env(peer)->random(peer->host) % HANDSHAKE_FIRST_NS;
}

/* Where is it? Whoever hears that learns no more than that it is looked for */
static void handshake_seek(struct dmanic_peer *peer, struct dmanic_out *out)
{
	struct dmanic_hello hello;

	dmanic_hello_fill(peer->host, &hello);
	hello.to = peer->node;
	peer->sought = true;
	out->to = DMANIC_EVERYBODY;
	out->head_length = dmanic_hello_encode(out->head, DMANIC_WIRE_HELLO, 0, 0, &hello);
}

/**
 * dmanic_handshake_next() - HELLO, INIT, or the third part
 * @peer: to whom; OPENING or PAIRED
 * @now: time
 * @out: out
 *
 * Return: false when there is none now.
 */
bool dmanic_handshake_next(struct dmanic_peer *peer, u64 now, struct dmanic_out *out)
{
	/* Not only where it was, but for the first time: it may have moved */
	bool seeks = peer->address == DMANIC_EVERYBODY ||
		     peer->hello_wait != HANDSHAKE_FIRST_NS;

	if (peer->state == DMANIC_PEER_PAIRED) {
		if (!peer->hello_now)
			return false;
		handshake_again(peer, now);
		out->head_length = handshake_encode(peer, out->head, DMANIC_WIRE_ANSWER,
						    DMANIC_WIRE_DONE, peer->remote_tag);
		return true;
	}
	if (peer->hello_now && seeks && !dmanic_host_may_seek(peer->host, now)) {
		/* Where it was it may be asked, however many others are looked for */
		seeks = false;
		if (peer->address == DMANIC_EVERYBODY)
			handshake_wait(peer, now);
	}
	if (peer->hello_now) {
		handshake_again(peer, now);
		peer->init_now = peer->address != DMANIC_EVERYBODY;
		if (seeks) {
			handshake_seek(peer, out);
			return true;
		}
	}
	if (!peer->init_now)
		return false;
	peer->init_now = false;
	out->head_length = handshake_encode(peer, out->head, DMANIC_WIRE_INIT, 0, 0);
	return true;
}

/* The live connection of a node that somebody calls himself */
static void handshake_doubt(struct dmanic_peer *peer, u64 now)
{
	if (now - max(peer->heard, peer->probed) >= HANDSHAKE_PROBE_NS)
		peer->probe_now = true;
}

/*
 * Another address claims the id of a live connection. Either is the peer: it may have
 * another address by now. If it still answers at the old one, the other is a rival.
 */
static bool handshake_rival(struct dmanic_peer *peer, u64 now)
{
	u64 limit = dmanic_peer_config(peer)->dead_ns / 2;

	if (!peer->doubted || (peer->heard >= peer->doubted && now - peer->doubted > limit)) {
		peer->doubted = now;
		peer->probe_now = true;
	}
	return peer->heard >= peer->doubted;
}

/**
 * dmanic_handshake_init() - an INIT came
 * @peer: who it says it is from
 * @frame: it
 * @hello: what it says
 * @now: time
 * @answer: out: to be sent at once, if its head has a length
 *
 * Return: 0, or why it was dropped.
 */
enum dmanic_drop dmanic_handshake_init(struct dmanic_peer *peer,
				       const struct dmanic_frame *frame,
				       const struct dmanic_hello *hello, u64 now,
				       struct dmanic_out *answer)
{
	struct dmanic_refuse refuse = {
		.node = dmanic_peer_config(peer)->node,
		.reason = DMANIC_REFUSE_IN_USE,
		.version_min = DMANIC_WIRE_MIN,
		.version_max = DMANIC_WIRE_MAX,
	};

	if (peer->state == DMANIC_PEER_OPEN ||
	    (peer->state == DMANIC_PEER_PAIRED && frame->from != peer->address)) {
		if (hello->tag == peer->remote_tag)
			return DMANIC_DROP_STATE;
		handshake_doubt(peer, now);
		if (frame->from == peer->address || !handshake_rival(peer, now))
			return DMANIC_DROP_STATE;
		dmanic_peer_env(peer)->event(peer, DMANIC_PEER_RIVAL);
		answer->head_length = dmanic_refuse_encode(answer->head, hello->tag,
							   &refuse);
		return DMANIC_DROP_STATE;
	}
	/* A new tag there: what we answer ours with is for one that is gone, and it says so */
	if (peer->state == DMANIC_PEER_PAIRED && hello->tag != peer->remote_tag) {
		peer->hello_now = true;
		return DMANIC_DROP_STATE;
	}
	if (peer->state == DMANIC_PEER_CLOSED) {
		handshake_opening(peer, now);
		peer->address = frame->from;
	} else if (peer->address != frame->from) {
		handshake_move(peer, frame->from);
	}
	answer->head_length = handshake_encode(peer, answer->head, DMANIC_WIRE_ANSWER, 0,
					       hello->tag);
	return DMANIC_DROP_NONE;
}

/* What both can do. Each side computes the same from the same values. */
static void handshake_pair(struct dmanic_peer *peer, const struct dmanic_hello *hello)
{
	const struct dmanic_proto_config *config = dmanic_peer_config(peer);

	peer->refused = 0;
	peer->remote_tag = hello->tag;
	peer->incarnation = hello->incarnation;
	peer->largest = 0;
	peer->their_mtu = hello->mtu;
	dmanic_peer_set_mtu(peer);
	peer->features = config->features & hello->features;
	peer->operations = min_t(u32, config->operations, hello->operations);
	peer->their_operations = peer->operations;
	peer->granted = hello->window;
	dmanic_xfer_ids(peer);
}

/**
 * dmanic_handshake_open() - the other side knows both tags, as we do
 * @peer: it
 * @now: time
 */
void dmanic_handshake_open(struct dmanic_peer *peer, u64 now)
{
	peer->state = DMANIC_PEER_OPEN;
	peer->since = now;
	dmanic_peer_ask_anew(peer);
	peer->hello_now = false;
	peer->init_now = false;
	peer->hello_at = DMANIC_NEVER;
	peer->refused = 0;
	peer->doubted = 0;
	peer->heard = now;
	peer->granted_at = now;
	peer->waiting = DMANIC_NEVER;
	if (dmanic_peer_wants(peer))
		peer->waiting = now;
	dmanic_path_begin(peer);
	dmanic_peer_stats(peer)->connections++;
	dmanic_peer_env(peer)->event(peer, DMANIC_PEER_FOUND);
}

/**
 * dmanic_handshake_answer() - an ANSWER to our tag came
 * @peer: whose tag it is
 * @frame: the frame
 * @done: its sender knows both tags
 * @hello: what it says
 * @now: time
 *
 * Return: 0, or why it was dropped.
 */
enum dmanic_drop dmanic_handshake_answer(struct dmanic_peer *peer,
					 const struct dmanic_frame *frame, bool done,
					 const struct dmanic_hello *hello, u64 now)
{
	bool same = hello->tag == peer->remote_tag && frame->from == peer->address;

	if (peer->state == DMANIC_PEER_OPEN) {
		/* It does not know yet that we know */
		if (same && done)
			peer->ack_now = true;
		return same ? DMANIC_DROP_NONE : DMANIC_DROP_STATE;
	}
	/* The tag was told to one address: who knows it elsewhere is not whom it was told */
	if (frame->from != peer->address)
		return DMANIC_DROP_STRANGER;
	/*
	 * Not with the tag that was told to another attempt: what is under way of that
	 * would be taken for this one's.
	 */
	if (peer->state == DMANIC_PEER_PAIRED && !same) {
		peer->hello_now = true;
		return DMANIC_DROP_STATE;
	}
	if (peer->state == DMANIC_PEER_OPENING) {
		handshake_pair(peer, hello);
		peer->state = DMANIC_PEER_PAIRED;
		peer->hello_wait = HANDSHAKE_FIRST_NS;
		peer->hello_now = true;
	}
	if (!done) {
		peer->hello_now = true;
		return DMANIC_DROP_NONE;
	}
	dmanic_handshake_open(peer, now);
	peer->ack_now = true;
	return DMANIC_DROP_NONE;
}

/**
 * dmanic_handshake_reset() - the other side does not know the tag we use
 * @peer: it
 * @incarnation: of it, now
 * @now: time
 */
void dmanic_handshake_reset(struct dmanic_peer *peer, u64 incarnation, u64 now)
{
	bool restarted = incarnation != peer->incarnation;
	u64 since;

	if (peer->state == DMANIC_PEER_PAIRED) {
		/* Nothing was sent yet, so nothing is lost: from the beginning */
		if (!dmanic_xfer_any(peer)) {
			dmanic_peer_reset(peer);
			return;
		}
		since = peer->since;
		handshake_opening(peer, now);
		peer->since = since;
		peer->hello_at = now + HANDSHAKE_FIRST_NS;
		return;
	}
	/* It did answer: a question, which changes nothing, may be asked again at once */
	dmanic_peer_end(peer, restarted ? DMANIC_STATUS_PEER_RESTARTED : DMANIC_STATUS_PEER_DEAD,
			DMANIC_STATUS_PEER_RESTARTED);
	if (restarted)
		dmanic_peer_stats(peer)->restarts++;
	else
		dmanic_peer_stats(peer)->deaths++;
	dmanic_peer_env(peer)->event(peer, restarted ? DMANIC_PEER_RESTARTED :
						       DMANIC_PEER_LOST);
}
