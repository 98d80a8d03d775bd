// SPDX-License-Identifier: GPL-2.0-only
/*
 * peer.c - another node: its memory, its clock, its end
 *
 * A peer is made closed and never destroyed by the protocol: who made it frees
 * it once it is idle.
 */
#include <linux/align.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"

/* How often, within the time after which it is dead, a peer is asked */
#define PEER_PROBES	8U
/* And at least so often */
#define PEER_ASKED	4U
/* Of that time: twice as long as anybody waits before something is sent again */
#define PEER_SILENT	4U
/* Who answers, but takes nothing, is given up after so many times that time */
#define PEER_STUCK	4U

/**
 * struct peer_layout - where a peer's buffers are
 * @extent: of one stream, bytes
 * @sent: the same
 * @range: the same
 * @early: the same
 * @later: the same
 * @slot: of the peer, bytes
 * @reply: the same
 * @free: the same
 */
struct peer_layout {
	size_t extent;
	size_t sent;
	size_t range;
	size_t early;
	size_t later;
	size_t slot;
	size_t reply;
	size_t free;
};

static struct peer_layout peer_layout(const struct dmanic_proto_config *config)
{
	return (struct peer_layout) {
		.extent = sizeof(struct dmanic_extent) * config->extents,
		.sent = sizeof(struct dmanic_sent) * config->sent,
		.range = sizeof(struct dmanic_range) * config->ranges,
		.early = sizeof(struct dmanic_early) * config->early,
		.later = sizeof(struct dmanic_later) * config->later,
		.slot = sizeof(struct dmanic_slot) * config->operations,
		.reply = sizeof(struct dmanic_reply) * config->operations,
		.free = ALIGN(sizeof(u16) * config->operations, sizeof(u64)),
	};
}

/**
 * dmanic_peer_bytes() - size of a peer
 * @host: whose
 *
 * Return: bytes that dmanic_peer_init() wants.
 */
size_t dmanic_peer_bytes(const struct dmanic_host *host)
{
	struct peer_layout layout = peer_layout(&host->config);

	return sizeof(struct dmanic_peer) + layout.slot + layout.reply + layout.free +
	       DMANIC_CLASSES * (layout.extent + layout.sent + layout.range +
				 layout.early + layout.later);
}

static void *peer_carve(u8 **at, size_t bytes)
{
	void *buffer = *at;

	*at += bytes;
	return buffer;
}

/**
 * dmanic_peer_init() - a node nothing is known of
 * @peer: dmanic_peer_bytes() bytes
 * @host: this node
 * @node: its id
 */
void dmanic_peer_init(struct dmanic_peer *peer, struct dmanic_host *host, u32 node)
{
	const struct dmanic_proto_config *config = &host->config;
	struct peer_layout layout = peer_layout(config);
	u8 *at = (u8 *)peer->first;
	u32 i;

	/* Rings hold nothing beyond what their counters say, and are most of it */
	memset(peer, 0, sizeof(*peer) + layout.slot + layout.reply);
	peer->host = host;
	peer->node = node;
	peer->address = DMANIC_EVERYBODY;
	peer->slot = peer_carve(&at, layout.slot);
	peer->reply = peer_carve(&at, layout.reply);
	for (i = 0; i < DMANIC_CLASSES; i++) {
		peer->tx[i].extent = peer_carve(&at, layout.extent);
		peer->tx[i].extent_mask = config->extents - 1;
		peer->tx[i].sent = peer_carve(&at, layout.sent);
		peer->tx[i].sent_mask = config->sent - 1;
		peer->rx[i].got.range = peer_carve(&at, layout.range);
		peer->rx[i].got.max = config->ranges;
		peer->rx[i].early = peer_carve(&at, layout.early);
		peer->rx[i].max_early = config->early;
		peer->rx[i].later = peer_carve(&at, layout.later);
		peer->rx[i].max_later = config->later;
		INIT_LIST_HEAD(&peer->tx[i].turns);
		dmanic_share_init(&peer->tx[i].owed);
		dmanic_flow_init(&peer->tx[i].replies, &peer->tx[i].owed);
	}
	peer->free_slot = peer_carve(&at, layout.free);
	dmanic_peer_reset(peer);
}

/**
 * dmanic_peer_reset() - closed, with empty streams
 * @peer: nothing is in its streams or flows
 */
void dmanic_peer_reset(struct dmanic_peer *peer)
{
	const struct dmanic_proto_config *config = dmanic_peer_config(peer);
	u64 old = peer->local_tag;
	struct dmanic_rx *rx;
	u32 i;

	peer->state = DMANIC_PEER_CLOSED;
	peer->local_tag = 0;
	peer->remote_tag = 0;
	if (old)
		dmanic_peer_env(peer)->tag_changed(peer, old);
	for (i = 0; i < DMANIC_CLASSES; i++) {
		dmanic_tx_reset(&peer->tx[i]);
		peer->newest[i] = (struct dmanic_newest) {};
		rx = &peer->rx[i];
		rx->got.next = 0;
		rx->got.nr = 0;
		rx->first_early = 0;
		rx->nr_early = 0;
		rx->nr_later = 0;
		rx->reject = 0;
		rx->corrupt_units = 0;
		rx->sack_turn = 0;
	}
	peer->operations = config->operations;
	peer->their_operations = config->operations;
	dmanic_xfer_ids(peer);
	peer->their_mtu = DMANIC_WIRE_FRAME_MAX;
	dmanic_path_reset(peer);
	dmanic_peer_set_mtu(peer);
	peer->hello_now = false;
	peer->hello_at = DMANIC_NEVER;
	peer->init_now = false;
	peer->sought = false;
	peer->doubted = 0;
	peer->waiting = DMANIC_NEVER;
	peer->probed = 0;
	peer->heard = 0;
	peer->looked = 0;
	peer->asked_at = 0;
	dmanic_peer_ask_anew(peer);
	peer->probe_now = false;
	peer->ack_now = false;
	peer->ack_at = DMANIC_NEVER;
	peer->ack_units = 0;
	peer->wanted_at = 0;
	peer->told_at = 0;
	peer->talk = 0;
	peer->vain = 0;
	peer->ack_number = 0;
	peer->ack_seen = 0;
	peer->unasked = 0;
	peer->ack_duplicates = 0;
	peer->echo = 0;
	peer->echo_at = 0;
	if (peer->sender_until)
		peer->host->senders--;
	peer->sender_until = 0;
	if (peer->heavy_until)
		peer->host->heavy--;
	peer->heavy_until = 0;
	peer->brought = 0;
	peer->brought_at = 0;
	peer->unsent = 0;
	peer->unsent_until = 0;
	peer->calm = 0;
	peer->backoff = 0;
	peer->progress = 0;
	peer->moved = 0;
	peer->reached = false;
	peer->unreached = 0;
	peer->tail_probed = false;
	peer->reorder = 1;
	peer->duplicates = 0;
	peer->loss_at = DMANIC_NEVER;
	dmanic_rate_reset(peer);
	peer->replay = (struct dmanic_replay) {};
}

/**
 * dmanic_peer_end() - the connection is gone: everything pending ends
 * @peer: whose
 * @status: with this status
 * @question: but LOOKUPs with this one
 */
void dmanic_peer_end(struct dmanic_peer *peer, u32 status, u32 question)
{
	peer->ended_as = status;
	dmanic_xfer_end_all(peer, status, question);
	dmanic_reply_drop_all(peer);
	dmanic_peer_reset(peer);
}

/**
 * dmanic_peer_wants() - is anything awaited from the other side
 * @peer: it
 *
 * Return: true when it must answer in time.
 */
bool dmanic_peer_wants(const struct dmanic_peer *peer)
{
	return dmanic_xfer_any(peer) || peer->probed > peer->heard ||
	       peer->tx[DMANIC_BULK].una != peer->tx[DMANIC_BULK].end ||
	       peer->tx[DMANIC_URGENT].una != peer->tx[DMANIC_URGENT].end;
}

/**
 * dmanic_peer_wait() - something is awaited from now on
 * @peer: from whom
 * @now: time
 */
void dmanic_peer_wait(struct dmanic_peer *peer, u64 now)
{
	if (peer->waiting == DMANIC_NEVER)
		peer->waiting = now;
}

/**
 * dmanic_peer_idle() - may its memory go, or be another's
 * @peer: it
 *
 * Also when a connection is asked for, by somebody in its name, or by us for who does not
 * want it any more: that has cost nobody anything yet.
 *
 * Return: true when there is no connection and nothing to send.
 */
bool dmanic_peer_idle(const struct dmanic_peer *peer)
{
	return (peer->state == DMANIC_PEER_CLOSED || peer->state == DMANIC_PEER_OPENING) &&
	       !dmanic_xfer_any(peer);
}

/**
 * dmanic_peer_active_at() - when it was of use last
 * @peer: it
 *
 * Return: when it connected, or sent data; before it is open, when that was asked for.
 */
u64 dmanic_peer_active_at(const struct dmanic_peer *peer)
{
	return max(peer->since, peer->echo_at);
}

/**
 * dmanic_peer_silent() - does it send us nothing
 * @peer: it
 * @now: time
 *
 * Whoever waits for something sends again, before this is over. So does who has just
 * connected: it wanted something.
 *
 * Return: true when it is open, has been for long, and has sent no data for as long.
 */
bool dmanic_peer_silent(const struct dmanic_peer *peer, u64 now)
{
	return peer->state == DMANIC_PEER_OPEN &&
	       now - dmanic_peer_active_at(peer) >=
		       dmanic_peer_config(peer)->dead_ns / PEER_SILENT;
}

/**
 * dmanic_peer_quiet() - would nothing be lost but the connection
 * @peer: it
 * @now: time
 *
 * Return: true when neither side waits for anything, or it has not said yet that it knows
 * of the connection, and nobody here wants that.
 */
bool dmanic_peer_quiet(const struct dmanic_peer *peer, u64 now)
{
	return (peer->state == DMANIC_PEER_PAIRED || dmanic_peer_silent(peer, now)) &&
	       !peer->nr_replies && !dmanic_xfer_any(peer);
}

/**
 * dmanic_peer_forget() - its memory is to go, or to be another's
 * @peer: it; dmanic_peer_idle()
 *
 * Nobody is told: nobody believes to be connected.
 */
void dmanic_peer_forget(struct dmanic_peer *peer)
{
	dmanic_peer_reset(peer);
}

/**
 * dmanic_peer_rekeyed() - the host was given a key
 * @peer: closed
 *
 * What it counted before says nothing of frames that are made with this one.
 */
void dmanic_peer_rekeyed(struct dmanic_peer *peer)
{
	peer->newest_counter = 0;
}

/* ---- time ---- */

/* When it is dead, unless it is heard of before */
static u64 peer_dead_at(const struct dmanic_peer *peer)
{
	u64 limit = dmanic_peer_config(peer)->dead_ns, stuck = DMANIC_NEVER;
	u32 class;

	if (peer->state == DMANIC_PEER_CLOSED)
		return DMANIC_NEVER;
	if (peer->state != DMANIC_PEER_OPEN)
		return peer->since + limit;
	if (peer->tx[DMANIC_BULK].una != peer->tx[DMANIC_BULK].next ||
	    peer->tx[DMANIC_URGENT].una != peer->tx[DMANIC_URGENT].next)
		stuck = peer->moved + PEER_STUCK * limit;
	for (class = 0; class < DMANIC_CLASSES; class++)
		if (peer->tx[class].late_since != DMANIC_NEVER)
			stuck = min(stuck, peer->tx[class].late_since + PEER_STUCK * limit);
	/* Somebody says to be it, elsewhere: it has half the time to say no */
	if (peer->doubted && peer->heard < peer->doubted)
		stuck = min(stuck, peer->doubted + limit / 2);
	if (peer->waiting == DMANIC_NEVER)
		return stuck;
	return min(stuck, max(peer->heard, peer->waiting) + limit);
}

/* When to ask whether it is still there */
static u64 peer_probe_at(const struct dmanic_peer *peer)
{
	const struct dmanic_proto_config *config = dmanic_peer_config(peer);
	u64 last = max(peer->heard, peer->probed);

	if (peer->state != DMANIC_PEER_OPEN)
		return DMANIC_NEVER;
	if (peer->waiting != DMANIC_NEVER)
		return max(last, peer->waiting) + config->dead_ns / PEER_PROBES;
	return config->idle_ns == DMANIC_NEVER ? DMANIC_NEVER : last + config->idle_ns;
}

/**
 * dmanic_peer_deadline() - when dmanic_peer_timer() is to be called
 * @peer: it
 *
 * To be asked after dmanic_peer_next() had nothing more.
 *
 * Return: time, perhaps in the past; DMANIC_NEVER.
 */
u64 dmanic_peer_deadline(const struct dmanic_peer *peer)
{
	u64 at = min(peer_dead_at(peer), peer_probe_at(peer));

	if (peer->state == DMANIC_PEER_OPENING || peer->state == DMANIC_PEER_PAIRED)
		return min(at, peer->hello_at);
	if (peer->state != DMANIC_PEER_OPEN)
		return at;
	at = min(at, peer->rate.due);
	at = min3(at, peer->ack_at, dmanic_loss_deadline(peer));
	at = min(at, peer->path.at);
	if (peer->sender_until)
		at = min(at, peer->sender_until);
	return at;
}

static void peer_died(struct dmanic_peer *peer)
{
	bool open = peer->state == DMANIC_PEER_OPEN, wants = dmanic_xfer_any(peer);
	u32 status = DMANIC_STATUS_PEER_DEAD;

	if (!open && peer->refused == DMANIC_REFUSE_VERSION)
		status = DMANIC_STATUS_UNSUPPORTED;
	dmanic_peer_end(peer, status, status);
	if (!open && !wants)
		return;
	dmanic_peer_stats(peer)->deaths++;
	dmanic_peer_env(peer)->event(peer, DMANIC_PEER_LOST);
}

/**
 * dmanic_peer_backoff() - for how long to let a peer be, when that was in vain some times
 * @peer: it
 * @time: the first time, in nanoseconds
 * @times: how often since
 *
 * Return: nanoseconds; it is asked some times before it is dead, unless a round trip takes
 * so long.
 */
u64 dmanic_peer_backoff(const struct dmanic_peer *peer, u64 time, u32 times)
{
	u64 dead = dmanic_peer_config(peer)->dead_ns;

	return min(time << times, max(min(time, dead / 2), dead / PEER_PROBES));
}

/*
 * Who is waited for is looked at now and then. Where it was not, this node had no CPU, and
 * nothing could go on: hardly any of that time counts.
 */
static void peer_was_away(struct dmanic_peer *peer, u64 now)
{
	u64 often = dmanic_peer_config(peer)->dead_ns / PEER_PROBES, gone;
	u32 class;

	if (peer->waiting == DMANIC_NEVER)
		return;
	gone = now - max(max(peer->heard, peer->looked), peer->waiting);
	if (gone <= 2 * often)
		return;
	gone -= often;
	peer->moved = min(peer->moved + gone, now);
	for (class = 0; class < DMANIC_CLASSES; class++)
		if (peer->tx[class].late_since != DMANIC_NEVER)
			peer->tx[class].late_since = min(peer->tx[class].late_since + gone, now);
}

/* It waits, and has heard nothing for as long as nobody is silent who lives */
static bool peer_silence(const struct dmanic_peer *peer, u64 now)
{
	return peer->waiting != DMANIC_NEVER &&
	       max(peer->heard, peer->waiting) + dmanic_peer_config(peer)->dead_ns <= now;
}

/**
 * dmanic_peer_asked() - it is asked whether it is there, or for a connection
 * @peer: it
 * @now: time
 */
void dmanic_peer_asked(struct dmanic_peer *peer, u64 now)
{
	peer->asked++;
	peer->asked_at = now;
}

/**
 * dmanic_peer_ask_anew() - it is there, or is sought from now on: what it was asked before
 * does not count
 * @peer: it
 */
void dmanic_peer_ask_anew(struct dmanic_peer *peer)
{
	peer->asked = 0;
	peer->spared = false;
}

/*
 * It was asked often enough, and somebody looked for its answers: if not since it was asked
 * last, it is asked anew, once
 */
static bool peer_was_asked(struct dmanic_peer *peer, u64 now)
{
	u64 often = max(peer->hello_wait, dmanic_peer_config(peer)->dead_ns / PEER_PROBES);

	if (peer->asked < PEER_ASKED)
		return false;
	if (peer->spared || now - peer->asked_at <= 2 * often)
		return true;
	peer->spared = true;
	peer->asked = 0;
	return false;
}

/**
 * dmanic_peer_heard() - a frame of the connection came
 * @peer: from whom
 * @now: time
 */
void dmanic_peer_heard(struct dmanic_peer *peer, u64 now)
{
	peer_was_away(peer, now);
	peer->heard = now;
	dmanic_peer_ask_anew(peer);
	peer->waiting = dmanic_peer_wants(peer) ? now : DMANIC_NEVER;
}

/*
 * Time alone proves nothing: this node may have had no CPU, and the answers are in a
 * queue. Whoever is dead was asked some times.
 */
static bool peer_is_dead(struct dmanic_peer *peer, u64 now)
{
	u64 limit = dmanic_peer_config(peer)->dead_ns;
	u64 left = limit / PEER_PROBES, again = now - limit + left;

	if (peer_dead_at(peer) > now)
		return false;
	if (peer_was_asked(peer, now))
		return true;
	if (dmanic_handshake_asks(peer) || peer->state == DMANIC_PEER_PAIRED) {
		peer->since = again;
		peer->hello_now = true;
		return false;
	}
	if (peer->state != DMANIC_PEER_OPEN)
		return true;
	if (peer->doubted && peer->heard < peer->doubted && peer->doubted + limit / 2 <= now)
		peer->doubted = now + left - limit / 2;
	else if (peer_silence(peer, now))
		peer->waiting = again;
	else
		return true;
	peer->probe_now = true;
	return false;
}

/**
 * dmanic_peer_timer() - time has passed
 * @peer: it
 * @now: time
 */
void dmanic_peer_timer(struct dmanic_peer *peer, u64 now)
{
	if (!dmanic_peer_wants(peer))
		peer->waiting = DMANIC_NEVER;
	peer_was_away(peer, now);
	peer->looked = now;
	if (peer_is_dead(peer, now)) {
		peer_died(peer);
		return;
	}
	if (peer->hello_at <= now) {
		peer->hello_now = true;
		peer->hello_at = DMANIC_NEVER;
	}
	if (peer->state != DMANIC_PEER_OPEN)
		return;
	if (peer_probe_at(peer) <= now)
		peer->probe_now = true;
	if (peer->ack_at <= now)
		dmanic_ack_late(peer, now);
	if (peer->sender_until && peer->sender_until <= now)
		dmanic_ack_window(peer, now);
	dmanic_path_timer(peer, now);
	dmanic_loss_timer(peer, now);
}

/**
 * dmanic_peer_close() - this node gives the connection up
 * @peer: to whom
 * @status: for what is pending
 * @out: a frame to send if @out->head_length is not zero: so the other side knows
 */
void dmanic_peer_close(struct dmanic_peer *peer, u32 status, struct dmanic_out *out)
{
	const struct dmanic_proto_config *config = dmanic_peer_config(peer);

	out->head_length = 0;
	out->to = peer->address;
	out->payload_length = 0;
	out->nr_sources = 0;
	out->piece = 0;
	out->seal = false;
	out->crc = false;
	out->units = 0;
	out->counter = 0;
	if (peer->state >= DMANIC_PEER_PAIRED)
		out->head_length = dmanic_reset_encode(out->head, peer->local_tag,
						       config->node,
						       config->incarnation);
	if (out->head_length)
		dmanic_auth_count(peer->host, peer, out);
	dmanic_peer_end(peer, status, status);
}
