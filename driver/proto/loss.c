// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss.c - what did not arrive
 *
 * By time, as RACK does (RFC 8985): a frame is lost when one that was sent after
 * it has arrived, and a round trip and some allowance for reordering have passed
 * since it was sent. Streams may overtake each other: one tells of the other only
 * after the time of a time-out. When nothing comes back at all the newest frame is sent
 * again once (a tail-loss probe), and after a time-out everything.
 */
#include <linux/minmax.h>

#include "internal.h"

#define LOSS_BACKOFF_MAX	6U
/*
 * Time-outs in a row that it answered, while nothing sent has reached it; half as much
 * when something did, which may be the short end of a frame that was cut.
 */
#define LOSS_UNREACHED		4U
/* The end is not sent again before this part of the least time-out */
#define LOSS_TAIL_PART		4U
/* Lost so often while others arrived, a frame is too long */
#define LOSS_TIMES		10U
/* So often nothing came of frames that are to be cut, while others arrived */
#define LOSS_CUTS		8U

/* Something arrived: what does it say about frames that are to be cut */
static void loss_cut(struct dmanic_peer *peer, const struct dmanic_sent *sent, u64 now)
{
	if (sent->cut)
		peer->path.cuts_lost = 0;
	else if (peer->path.cut_lost && ++peer->path.cuts_lost >= LOSS_CUTS)
		dmanic_peer_degrade(peer, now);
	peer->path.cut_lost = false;
}

/* What was sent before it, and did not arrive, is late. Return: whether it can tell */
static bool loss_newest(struct dmanic_peer *peer, u8 class, const struct dmanic_sent *sent,
			u64 now)
{
	struct dmanic_newest *newest = &peer->newest[class];
	u64 rtt = now - sent->time;

	/* Sooner than possible: it was the frame before that arrived */
	if (sent->again && rtt < peer->rate.rtt_min)
		return false;
	if (sent->time < newest->time ||
	    (sent->time == newest->time && sent->seq <= newest->seq))
		return true;
	newest->time = sent->time;
	newest->seq = sent->seq;
	newest->rtt = rtt;
	return true;
}

/**
 * dmanic_loss_acked() - a frame arrived
 * @peer: at whom
 * @class: of its stream
 * @sent: it, before it changes its state
 * @now: time
 */
void dmanic_loss_acked(struct dmanic_peer *peer, u8 class, const struct dmanic_sent *sent,
		       u64 now)
{
	loss_cut(peer, sent, now);
	loss_newest(peer, class, sent, now);
}

/*
 * Only what is long can be too long: data, and perhaps a NOTIFY behind them. Of several
 * records some may have had no room.
 */
static bool loss_long(struct dmanic_tx *tx, const struct dmanic_sent *sent)
{
	u64 first = max(sent->seq, tx->una), end = sent->seq + sent->units;
	const struct dmanic_extent *extent;

	if (end <= first + DMANIC_WIRE_MTU_MIN)
		return false;
	extent = dmanic_tx_find(tx, first);
	return dmanic_record_data(extent->type) && extent->seq + extent->units + 1 >= end;
}

/* It was lost once more: perhaps because of its length */
static void loss_count(struct dmanic_peer *peer, struct dmanic_tx *tx,
		       struct dmanic_sent *sent, u64 now)
{
	/* Since it was cut anew it has not been lost */
	if (sent->time <= peer->path.since)
		sent->times = 0;
	if (sent->excused || !loss_long(tx, sent) || ++sent->times < LOSS_TIMES)
		return;
	sent->times = 0;
	dmanic_peer_degrade(peer, now);
}

/* For a time-out, or what came damaged: it goes once more */
static void loss_again(struct dmanic_peer *peer, u8 class, u32 index, u64 now)
{
	struct dmanic_tx *tx = &peer->tx[class];
	struct dmanic_sent *sent = dmanic_sent_at(tx, index);

	loss_count(peer, tx, sent, now);
	sent->resent = 0;
	sent->counted = true;
	dmanic_sent_move(tx, index, DMANIC_SENT_LOST);
	dmanic_rate_lost(peer, sent->units);
	dmanic_peer_stats(peer)->lost++;
}

/**
 * dmanic_loss_damaged() - a frame came, and is to be sent again
 * @peer: to whom
 * @class: of its stream
 * @index: of the sent; flying
 * @now: time
 *
 * Return: whether that told of what was sent before it. Else a time-out has to.
 */
bool dmanic_loss_damaged(struct dmanic_peer *peer, u8 class, u32 index, u64 now)
{
	const struct dmanic_sent *sent = dmanic_sent_at(&peer->tx[class], index);
	bool told = loss_newest(peer, class, sent, now);

	if (sent->cut)
		peer->path.cuts_lost = 0;
	loss_again(peer, class, index, now);
	return told;
}

/**
 * dmanic_loss_mark() - a frame is taken for lost
 * @peer: to whom
 * @class: of its stream
 * @index: of the sent; flying
 * @now: time
 */
void dmanic_loss_mark(struct dmanic_peer *peer, u8 class, u32 index, u64 now)
{
	const struct dmanic_sent *sent = dmanic_sent_at(&peer->tx[class], index);

	peer->path.cut_lost |= sent->cut && sent->time > peer->path.since;
	loss_again(peer, class, index, now);
}

/* How much later than it should a frame may come */
static u64 loss_allowance(const struct dmanic_peer *peer)
{
	return peer->rate.srtt / 4 * peer->reorder;
}

static void loss_detect_class(struct dmanic_peer *peer, u8 class, u64 now)
{
	const struct dmanic_newest *newest = &peer->newest[class];
	const struct dmanic_newest *other = &peer->newest[!class];
	struct dmanic_tx *tx = &peer->tx[class];
	const struct dmanic_sent *sent;
	u32 index;
	u64 due;

	while ((index = tx->flying.first) != DMANIC_NONE) {
		sent = &tx->sent[index];
		if (sent->time < newest->time ||
		    (sent->time == newest->time && sent->seq < newest->seq))
			due = sent->time + newest->rtt + loss_allowance(peer);
		else if (sent->time < other->time)
			/* No time-out comes while the other stream goes on */
			due = sent->time + dmanic_rate_rto(peer);
		else
			return;
		if (due > now) {
			peer->loss_at = min(peer->loss_at, due);
			return;
		}
		dmanic_loss_mark(peer, class, index, now);
	}
}

/**
 * dmanic_loss_detect() - look for what is lost
 * @peer: to whom
 * @now: time
 */
void dmanic_loss_detect(struct dmanic_peer *peer, u64 now)
{
	u32 class;

	peer->loss_at = DMANIC_NEVER;
	for (class = 0; class < DMANIC_CLASSES; class++)
		loss_detect_class(peer, class, now);
}

/* Not so soon that a timer is set for each of many short round trips */
static u64 loss_tail_at(const struct dmanic_peer *peer)
{
	u64 least = dmanic_peer_config(peer)->rto_ns / LOSS_TAIL_PART;

	if (peer->tail_probed || !peer->rate.srtt)
		return DMANIC_NEVER;
	return peer->progress +
	       max(2 * peer->rate.srtt + DMANIC_ACK_HOLD_NS, least);
}

static u64 loss_timeout_at(const struct dmanic_peer *peer)
{
	return peer->progress +
	       dmanic_peer_backoff(peer, dmanic_rate_rto(peer), peer->backoff);
}

static bool loss_flying(const struct dmanic_peer *peer)
{
	return peer->tx[DMANIC_BULK].flying.first != DMANIC_NONE ||
	       peer->tx[DMANIC_URGENT].flying.first != DMANIC_NONE;
}

/**
 * dmanic_loss_deadline() - when dmanic_loss_timer() has something to do
 * @peer: to whom
 *
 * Return: time.
 */
u64 dmanic_loss_deadline(const struct dmanic_peer *peer)
{
	if (!loss_flying(peer))
		return DMANIC_NEVER;
	return min(peer->loss_at, min(loss_tail_at(peer), loss_timeout_at(peer)));
}

/* Send the end again: what comes back tells what of it was lost */
static void loss_probe_tail(struct dmanic_peer *peer)
{
	struct dmanic_tx *tx = &peer->tx[DMANIC_BULK];
	struct dmanic_sent *sent;

	if (tx->flying.first == DMANIC_NONE)
		tx = &peer->tx[DMANIC_URGENT];
	peer->tail_probed = true;
	dmanic_peer_stats(peer)->tail_probes++;
	sent = &tx->sent[tx->flying.last];
	/* Of a large one its end; all of it if that told nothing */
	sent->resent = 0;
	sent->counted = false;
	if (sent->units > peer->mtu && !sent->again)
		sent->resent = sent->units - peer->mtu / 2;
	dmanic_sent_move(tx, tx->flying.last, DMANIC_SENT_LOST);
}

/*
 * It answers a PROBE, which is short, and not what is sent, some of which is long. That
 * it sends something of its own tells nothing of the way there.
 */
static void loss_reach(struct dmanic_peer *peer, bool some_long, u64 now)
{
	/* What was found out meanwhile is not found out again by what was sent before */
	if (peer->progress < peer->path.since)
		peer->unreached = 0;
	else if (peer->granted_at >= peer->progress && some_long)
		peer->unreached += peer->reached ? 1 : 2;
	else
		peer->unreached = 0;
	peer->reached = false;
	if (peer->unreached >= LOSS_UNREACHED) {
		dmanic_peer_degrade(peer, now);
		peer->unreached -= 2;
	}
	peer->probe_now = true;
}

static bool loss_any_long(struct dmanic_peer *peer)
{
	struct dmanic_tx *tx;
	u32 class, index;

	for (class = 0; class < DMANIC_CLASSES; class++) {
		tx = &peer->tx[class];
		for (index = tx->flying.first; index != DMANIC_NONE;
		     index = tx->sent[index].next)
			if (loss_long(tx, &tx->sent[index]))
				return true;
	}
	return false;
}

static void loss_timeout(struct dmanic_peer *peer, u64 now)
{
	bool reached = peer->reached;
	struct dmanic_sent *sent;
	struct dmanic_tx *tx;
	u32 class;

	loss_reach(peer, loss_any_long(peer), now);
	for (class = 0; class < DMANIC_CLASSES; class++) {
		tx = &peer->tx[class];
		while (tx->flying.first != DMANIC_NONE) {
			sent = &tx->sent[tx->flying.first];
			/* Perhaps nothing arrives: loss_reach() knows */
			sent->excused = !reached;
			dmanic_loss_mark(peer, class, tx->flying.first, now);
		}
	}
	peer->backoff = min(peer->backoff + 1, LOSS_BACKOFF_MAX);
	peer->progress = now;
	dmanic_peer_stats(peer)->timeouts++;
}

/**
 * dmanic_loss_timer() - time has passed
 * @peer: to whom
 * @now: time
 */
void dmanic_loss_timer(struct dmanic_peer *peer, u64 now)
{
	if (!loss_flying(peer))
		return;
	if (loss_timeout_at(peer) <= now)
		loss_timeout(peer, now);
	else if (peer->loss_at <= now)
		dmanic_loss_detect(peer, now);
	else if (loss_tail_at(peer) <= now)
		loss_probe_tail(peer);
}
