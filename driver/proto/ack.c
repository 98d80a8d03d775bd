// SPDX-License-Identifier: GPL-2.0-only
/*
 * ack.c - what was received: telling it, and being told
 *
 * An ACK is about both streams. What it says was received stays so, whenever it comes;
 * window, echo and what was corrupt are taken from the newest alone.
 */
#include <linux/limits.h>
#include <linux/minmax.h>

#include "internal.h"

/* Who sent nothing for this long has no part of the budget */
#define ACK_SENDER_NS		2000000ULL
/* Who brought less than this part of the budget in that time needs no share of it */
#define ACK_HEAVY_PART		16U
/* And may have so much under way */
#define ACK_LIGHT		16384U
/* Those that sent much at once may do so again: half of them are forgotten after this */
#define ACK_CROWD_NS		25000000ULL
/* Who sends alone gets this many times the budget: nobody else is hurt */
#define ACK_ALONE		4U
/* The urgent stream's part of the ranges of an ACK */
#define ACK_URGENT_RANGES	16U
/* Failures of one frame of an extent, and of all in turn, until its operation is given up */
#define ACK_CORRUPT_MAX		8U
#define ACK_CORRUPT_ALL		32U
/* After so many answers in a row it waits for the next, but not longer than that */
#define ACK_TALK		4
#define ACK_HOLD_PART		8U	/* of the least time-out */
/* When that was in vain, after so many more; twice as many if it was before, mostly */
#define ACK_VAIN		16
#define ACK_VAIN_MAX		6U

/* ---- telling ---- */

/**
 * dmanic_ack_brought() - a DATA frame came
 * @peer: from whom
 * @bytes: of it
 * @now: time
 */
void dmanic_ack_brought(struct dmanic_peer *peer, u32 bytes, u64 now)
{
	if (now - peer->brought_at >= ACK_SENDER_NS) {
		peer->brought = 0;
		peer->brought_at = now;
	}
	peer->brought += bytes;
}

/* Who sends, and who sends much */
static void ack_count(struct dmanic_peer *peer, u64 now)
{
	struct dmanic_host *host = peer->host;

	if (peer->brought > host->config.budget / ACK_HEAVY_PART &&
	    now - peer->brought_at < ACK_SENDER_NS) {
		if (!peer->heavy_until)
			host->heavy++;
		peer->heavy_until = now + ACK_SENDER_NS;
	}
	if (peer->echo_at + ACK_SENDER_NS > now && peer->echo_at) {
		if (!peer->sender_until)
			host->senders++;
		peer->sender_until = peer->echo_at + ACK_SENDER_NS;
	} else if (peer->sender_until && peer->sender_until <= now) {
		peer->sender_until = 0;
		host->senders--;
	}
	if (peer->heavy_until && (peer->heavy_until <= now || !peer->sender_until)) {
		peer->heavy_until = 0;
		host->heavy--;
	}
}

/* How many there may be in a moment, that do not know of each other yet */
static u32 ack_crowd(struct dmanic_host *host, u64 now)
{
	while (host->crowd > host->heavy && now - host->crowd_at >= ACK_CROWD_NS) {
		host->crowd /= 2;
		host->crowd_at += ACK_CROWD_NS;
	}
	if (host->heavy >= host->crowd) {
		host->crowd = host->heavy;
		host->crowd_at = now;
	}
	return host->crowd;
}

/**
 * dmanic_ack_window() - how much a peer may have under way to us
 * @peer: it
 * @now: time
 *
 * All that send much share the budget of the host, equally: a few notifications of
 * others take nothing from them. It is chosen so that it fits
 * into the last queue on the way: then that neither overflows nor gets long enough
 * for senders to judge by delay, which those who came late misjudge.
 *
 * Return: bytes.
 */
u32 dmanic_ack_window(struct dmanic_peer *peer, u64 now)
{
	struct dmanic_host *host = peer->host;
	u32 budget = host->config.budget, crowd;

	ack_count(peer, now);
	crowd = max(ack_crowd(host, now), 1U);
	if (crowd == 1 && (host->senders <= 1 || peer->heavy_until))
		return ACK_ALONE * budget;
	if (peer->heavy_until)
		return max(budget / crowd, peer->mtu);
	return max(max(budget / max(crowd, host->senders), ACK_LIGHT), peer->mtu);
}

static u32 ack_ranges(struct dmanic_rx *rx, struct dmanic_ack *ack, u32 first, u32 most)
{
	u32 i, nr = min(rx->got.nr, most);
	const struct dmanic_range *range;

	/* What does not fit this time has its turn the next */
	if (rx->sack_turn >= rx->got.nr || rx->got.nr <= most)
		rx->sack_turn = 0;
	for (i = 0; i < nr; i++) {
		range = &rx->got.range[(rx->sack_turn + i) % rx->got.nr];
		ack->range[first + i].after = range->from - rx->got.next;
		ack->range[first + i].length = range->to - range->from;
	}
	rx->sack_turn += nr;
	return nr;
}

/**
 * dmanic_ack_hold() - how long an acknowledgment waits for data to go along with
 * @peer: it
 *
 * So soon has that to follow what came. It comes before the other side sends the end
 * of what it sent again, whatever that holds back itself.
 *
 * Return: nanoseconds.
 */
u64 dmanic_ack_hold(const struct dmanic_peer *peer)
{
	const struct dmanic_proto_config *config = dmanic_peer_config(peer);

	return clamp(config->rto_ns / ACK_HOLD_PART, config->ack_ns, DMANIC_ACK_HOLD_NS);
}

/* Nothing is missing and nothing was corrupt: it may go along with data */
static bool ack_plain(const struct dmanic_peer *peer)
{
	const struct dmanic_rx *bulk = &peer->rx[DMANIC_BULK];
	const struct dmanic_rx *urgent = &peer->rx[DMANIC_URGENT];

	return !bulk->got.nr && !urgent->got.nr && !bulk->corrupt_units &&
	       !urgent->corrupt_units;
}

/**
 * dmanic_ack_wanted() - the other side waits for an acknowledgment
 * @peer: it
 * @last: it has nothing to send
 * @now: time
 *
 * It has that at once, unless nothing more is to come and data of ours keeps following:
 * then the two go in one frame.
 */
void dmanic_ack_wanted(struct dmanic_peer *peer, bool last, u64 now)
{
	if (peer->told_at)
		peer->talk = min(peer->talk, 0);
	peer->told_at = 0;
	if (!peer->wanted_at)
		peer->wanted_at = now;
	if (peer->talk < ACK_TALK || !last || !ack_plain(peer))
		peer->ack_now = true;
	else
		peer->ack_at = min(peer->ack_at, now + dmanic_ack_hold(peer));
}

/* Once more data of ours followed soon */
static void ack_talks(struct dmanic_peer *peer)
{
	if (peer->talk < ACK_TALK)
		peer->talk++;
	else if (peer->vain)
		peer->vain--;
}

/**
 * dmanic_ack_late() - what was to be told by now was not
 * @peer: to whom
 * @now: time
 */
void dmanic_ack_late(struct dmanic_peer *peer, u64 now)
{
	peer->ack_now = true;
	/* It may be what came before that waited */
	if (!peer->wanted_at || now - peer->wanted_at < dmanic_ack_hold(peer))
		return;
	peer->talk = -(ACK_VAIN << peer->vain);
	peer->vain = min(peer->vain + 1, ACK_VAIN_MAX);
}

/**
 * dmanic_ack_along() - may data that goes out tell what was received
 * @peer: to whom
 * @class: of the data
 *
 * Not with bulk data that is on its way in a row: it is in queues.
 *
 * Return: true when there is something to tell, and nothing odd.
 */
bool dmanic_ack_along(const struct dmanic_peer *peer, u8 class)
{
	return (peer->ack_now || peer->ack_at != DMANIC_NEVER) && peer->ack_units &&
	       ack_plain(peer) &&
	       (class == DMANIC_URGENT || peer->tx[class].flight <= peer->mtu);
}

/**
 * dmanic_ack_fill() - what to tell now
 * @peer: whom
 * @along: data goes along
 * @now: time
 * @ack: out
 */
void dmanic_ack_fill(struct dmanic_peer *peer, bool along, u64 now, struct dmanic_ack *ack)
{
	bool fresh = peer->ack_units;
	struct dmanic_rx *rx;
	u32 i, nr = 0;

	for (i = 0; i < DMANIC_CLASSES; i++) {
		rx = &peer->rx[i];
		ack->stream[i] = (struct dmanic_ack_stream) {
			.next = rx->got.next,
			.reject = rx->reject,
			.corrupt = rx->corrupt,
			.corrupt_units = rx->corrupt_units,
			.nr = ack_ranges(rx, ack, nr, i == DMANIC_URGENT ?
					 ACK_URGENT_RANGES : DMANIC_WIRE_RANGES - nr),
		};
		rx->corrupt_units = 0;
		nr += ack->stream[i].nr;
	}
	ack->number = ++peer->ack_number;
	ack->echo = fresh ? peer->echo : 0;
	ack->held = fresh ? dmanic_stamp(now - peer->echo_at) : U32_MAX;
	ack->window = dmanic_ack_window(peer, now);
	ack->duplicates = peer->ack_duplicates;
	ack->mtu = dmanic_peer_config(peer)->mtu;
	if (peer->wanted_at && !along)
		peer->told_at = now;
	else if (peer->wanted_at)
		ack_talks(peer);
	peer->wanted_at = 0;
	peer->ack_now = false;
	peer->ack_at = DMANIC_NEVER;
	peer->ack_units = 0;
	dmanic_peer_stats(peer)->acks_sent++;
}

/**
 * dmanic_ack_answered() - data goes out that may tell what was received
 * @peer: to whom
 * @now: time
 */
void dmanic_ack_answered(struct dmanic_peer *peer, u64 now)
{
	if (!peer->told_at)
		return;
	if (now - peer->told_at <= dmanic_ack_hold(peer))
		ack_talks(peer);
	else
		peer->talk = min(peer->talk, 0);
	peer->told_at = 0;
}

/* ---- being told ---- */

/* What it says was received was sent */
static bool ack_possible(const struct dmanic_peer *peer, const struct dmanic_ack *ack)
{
	const struct dmanic_tx *tx;
	u32 i, k, at = 0;
	u64 next, sum;

	for (i = 0; i < DMANIC_CLASSES; i++) {
		tx = &peer->tx[i];
		next = ack->stream[i].next;
		if (next > tx->next ||
		    ack->stream[i].reject > peer->rx[i].got.next + DMANIC_REACH)
			return false;
		/* Ranges do not overlap: each of them is walked through */
		for (k = 0, sum = 0; k < ack->stream[i].nr; k++, at++) {
			sum += ack->range[at].length;
			if (sum > tx->next - next ||
			    next + ack->range[at].after + ack->range[at].length >
			    tx->next)
				return false;
		}
	}
	return true;
}

/* It answers, and took something: no time-out is due, nor is a frame too long */
static void ack_progress(struct dmanic_peer *peer, u64 now)
{
	peer->progress = now;
	peer->backoff = 0;
	peer->unreached = 0;
	peer->unsent = 0;
	peer->tail_probed = false;
}

static u32 ack_sent(struct dmanic_peer *peer, u8 class, u32 index, u64 now)
{
	struct dmanic_tx *tx = &peer->tx[class];
	struct dmanic_sent *sent = dmanic_sent_at(tx, index);

	if (sent->state == DMANIC_SENT_ACKED)
		return 0;
	/* None of it was sent again: it was late */
	if (sent->state == DMANIC_SENT_LOST && sent->counted && !sent->resent)
		dmanic_rate_found(peer, sent->units);
	dmanic_loss_acked(peer, class, sent, now);
	dmanic_sent_move(tx, index, DMANIC_SENT_ACKED);
	sent->next = index + 1;
	return sent->units;
}

/*
 * Frames from @index on, up to unit @to, arrived. The same is told again and again while
 * something before is missing: the first of a run says where that ends.
 */
static u32 ack_run(struct dmanic_peer *peer, u8 class, u32 index, u64 to, u64 now)
{
	struct dmanic_tx *tx = &peer->tx[class];
	struct dmanic_sent *sent, *first = NULL;
	u32 units = 0;

	while (index != tx->sent_tail) {
		sent = dmanic_sent_at(tx, index);
		if (sent->seq + sent->units > to)
			break;
		units += ack_sent(peer, class, index, now);
		if (!first)
			first = sent;
		index = sent->next;
	}
	if (first)
		first->next = index;
	return units;
}

/*
 * Of a frame that was cut @from to @to arrived, and not what is before. If nothing else of it
 * is missing, that alone is sent again.
 * @again: there is such a part before that one
 */
static void ack_part(struct dmanic_peer *peer, u8 class, u32 index, u64 from, u64 to,
		     bool again, u64 now)
{
	struct dmanic_sent *sent = dmanic_sent_at(&peer->tx[class], index), part;

	if (sent->state == DMANIC_SENT_ACKED)
		return;
	sent->until = again || to < sent->seq + sent->units ? 0 : from - sent->seq;
	/* The same is told again and again, also of when it went out before */
	if (again || sent->parted == from - sent->seq)
		return;
	sent->parted = from - sent->seq;
	part = *sent;
	part.seq = from;
	dmanic_loss_acked(peer, class, &part, now);
}

static u32 ack_stream(struct dmanic_peer *peer, u8 class,
		      const struct dmanic_ack *ack, u32 first, u64 now)
{
	const struct dmanic_ack_stream *stream = &ack->stream[class];
	struct dmanic_tx *tx = &peer->tx[class];
	u32 i, index, units = 0, parted = DMANIC_NONE;
	const struct dmanic_sent *sent;
	u64 from, to;

	while (tx->sent_head != tx->sent_tail) {
		sent = dmanic_sent_at(tx, tx->sent_head);
		if (sent->seq + sent->units > stream->next)
			break;
		units += ack_sent(peer, class, tx->sent_head++, now);
	}
	if (stream->next >= tx->una) {
		/* Part of a frame is something, too, when nothing else gets there */
		if (stream->next > tx->una) {
			peer->moved = now;
			ack_progress(peer, now);
			if (tx->sent_head != tx->sent_tail &&
			    dmanic_sent_at(tx, tx->sent_head)->seq < stream->next)
				dmanic_sent_at(tx, tx->sent_head)->times = 0;
		}
		tx->una = stream->next;
		tx->reject = max(tx->reject, stream->reject);
	}
	for (i = first; i < first + stream->nr; i++) {
		from = stream->next + ack->range[i].after;
		to = from + ack->range[i].length;
		index = dmanic_sent_find(tx, from);
		if (!ack->range[i].after) {
			/* Done up to the middle of a frame that is all there */
			from = 0;
			index = tx->sent_head;
		}
		if (index != tx->sent_tail && dmanic_sent_at(tx, index)->seq < from) {
			ack_part(peer, class, index, from, to, index == parted, now);
			parted = index++;
		}
		units += ack_run(peer, class, index, to, now);
	}
	return units;
}

/*
 * A frame with one record alone: is its memory changed, or does the wire damage it? Each
 * frame of an extent may be damaged now and then: what counts is how often it was the
 * first that is missing. That one holds up all behind it, so it stays the first. Who changes
 * several may let one after the other through: hence those that were the first count, too.
 */
static void ack_changed(struct dmanic_peer *peer, u8 class, u64 seq)
{
	struct dmanic_tx *tx = &peer->tx[class];
	struct dmanic_extent *extent = dmanic_tx_find(tx, seq);
	u32 at = seq - extent->seq;

	if (extent->seq + extent->corrupt_at < tx->una || at < extent->corrupt_at)
		extent->corrupt = 0;
	if (!extent->corrupt)
		extent->corrupt_at = at;
	if (at != extent->corrupt_at)
		return;
	if (++extent->corrupt < ACK_CORRUPT_MAX && ++extent->corrupt_all < ACK_CORRUPT_ALL)
		return;
	extent->corrupt = 0;
	extent->corrupt_all = 0;
	if (extent->xfer && dmanic_record_data(extent->type))
		dmanic_xfer_changed(peer, extent->xfer);
}

/*
 * Its payload is not what it was when it was sent; @seq: from where on, of that. Return:
 * as dmanic_loss_damaged()
 */
static bool ack_corrupt_sent(struct dmanic_peer *peer, u8 class, u32 index, u64 seq, u64 now)
{
	struct dmanic_sent *sent = dmanic_sent_at(&peer->tx[class], index);
	bool told;

	sent->excused = true;
	told = dmanic_loss_damaged(peer, class, index, now);
	/* It did come: there is no queue too long, and others on the way have no part in it */
	dmanic_rate_found(peer, sent->units);
	sent->counted = false;
	if (!sent->alone)
		sent->alone = true;
	else
		ack_changed(peer, class, seq);
	return told;
}

/*
 * A frame arrived, and was dropped: all that it had is sent again. Return: whether any was
 * on its way, and told what was lost before it.
 */
static bool ack_corrupt(struct dmanic_peer *peer, u8 class,
			const struct dmanic_ack_stream *stream, u64 now)
{
	u64 first = stream->corrupt, end = first + stream->corrupt_units;
	struct dmanic_tx *tx = &peer->tx[class];
	const struct dmanic_sent *sent;
	bool some = false;
	u32 index;

	if (end < first || end > tx->next)
		return false;
	first = max(first, tx->una);
	if (first >= end)
		return false;
	/* What was sent does not change here, only how it stands */
	for (index = dmanic_sent_find(tx, first); index != tx->sent_tail; index++) {
		sent = dmanic_sent_at(tx, index);
		if (sent->seq >= end)
			break;
		if (sent->state != DMANIC_SENT_FLYING)
			continue;
		some |= ack_corrupt_sent(peer, class, index, max(first, sent->seq), now);
	}
	return some;
}

static void ack_newest(struct dmanic_peer *peer, const struct dmanic_ack *ack, u64 now)
{
	u32 rtt = dmanic_stamp(now) - ack->echo - ack->held;

	peer->ack_seen = ack->number;
	peer->granted = max(ack->window, 1U);
	peer->granted_at = now;
	if (ack->mtu != peer->their_mtu) {
		peer->their_mtu = ack->mtu;
		dmanic_peer_set_mtu(peer);
	}
	if (ack->held != U32_MAX)
		peer->reached = true;
	/* Half of all values are in the past: an echo of the future is a lie */
	if (ack->held != U32_MAX && (s32)rtt >= 0 &&
	    (u64)rtt << DMANIC_STAMP_SHIFT < dmanic_peer_config(peer)->dead_ns)
		dmanic_rate_rtt(peer, max((u64)rtt, 1ULL) << DMANIC_STAMP_SHIFT, now);
	if (ack->duplicates != peer->duplicates) {
		peer->reorder = min(peer->reorder + 1, 8U);
		peer->calm = 0;
	}
	peer->duplicates = ack->duplicates;
}

/**
 * dmanic_ack_receive() - an ACK came
 * @peer: from whom
 * @ack: it
 * @now: time
 *
 * Return: 0, or why to drop it.
 */
enum dmanic_drop dmanic_ack_receive(struct dmanic_peer *peer, const struct dmanic_ack *ack,
				    u64 now)
{
	bool newest = (s32)(ack->number - peer->ack_seen) > 0;
	u32 class, units = 0, first = 0;
	bool corrupt = false;
	u64 next;

	if (!ack_possible(peer, ack))
		return DMANIC_DROP_BAD;
	dmanic_peer_stats(peer)->acks_received++;
	if (newest)
		ack_newest(peer, ack, now);
	for (class = 0; class < DMANIC_CLASSES; class++) {
		units += ack_stream(peer, class, ack, first, now);
		first += ack->stream[class].nr;
		if (newest && ack->stream[class].corrupt_units)
			corrupt |= ack_corrupt(peer, class, &ack->stream[class], now);
		dmanic_tx_retire(peer, class);
	}
	/* What is owed in one class may be what the other waits for: when both are told */
	for (class = 0; class < DMANIC_CLASSES; class++) {
		next = peer->rx[class].got.next;
		dmanic_receive_retry(peer, class, now);
		dmanic_xfer_late(peer, class, peer->rx[class].got.next != next, now);
	}
	/* What is damaged did arrive, and is sent again at once: nobody waits in vain */
	if (units || corrupt)
		ack_progress(peer, now);
	if (units)
		peer->moved = now;
	dmanic_rate_round(peer, units, now);
	dmanic_loss_detect(peer, now);
	return DMANIC_DROP_NONE;
}
