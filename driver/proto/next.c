// SPDX-License-Identifier: GPL-2.0-only
/*
 * next.c - the next frame to send to a peer
 *
 * First what keeps the connection, then acknowledgments, along with data where that is
 * possible, then of the urgent and of the bulk stream: what was lost, and what is new; at
 * last a TEST of the path. A frame has many small records, or one with data that may be
 * larger than the path's frames; then the link cuts it.
 */
#include <linux/math.h>
#include <linux/minmax.h>

#include "internal.h"

/* Largest header of a frame with one record of data alone */
#define NEXT_HEAD	96U
/* The pause after a frame that the link could not send is doubled so often */
#define NEXT_UNSENT_MAX	6U

/**
 * struct next - a frame that is being built
 * @peer: to whom
 * @class: of the stream
 * @out: the frame
 * @seq: first unit
 * @end: behind the last so far
 * @limit: do not go beyond; DMANIC_NEVER: new units may be given a place
 * @room: units that may go out
 * @at: length of the head so far
 * @records: so far
 * @told: what was received goes along
 * @unfit: a record did not fit behind that: it goes first, alone
 * @alone: one is enough: it is to be seen whose payload arrives changed
 */
struct next {
	struct dmanic_peer *peer;
	u8 class;
	struct dmanic_out *out;
	u64 seq;
	u64 end;
	u64 limit;
	u64 room;
	u32 at;
	u16 records;
	bool told;
	bool unfit;
	bool alone;
};

/* The link takes longer frames than the path */
static bool next_cuts(const struct dmanic_peer *peer)
{
	return peer->super > peer->mtu;
}

/* Bytes of the largest extent: what goes into one frame of the link's size */
static u32 next_most(const struct dmanic_peer *peer)
{
	return next_cuts(peer) ? peer->super - DMANIC_WIRE_CUT_HEAD : peer->mtu - NEXT_HEAD;
}

static void next_source(struct next *next, const struct dmanic_extent *extent, u32 skip,
			u32 length)
{
	struct dmanic_out *out = next->out;

	if (!length)
		return;
	out->source[out->nr_sources++] = (struct dmanic_source) {
		.xfer = extent->xfer,
		.at = extent->at + skip,
		.length = length,
	};
	out->payload_length += length;
}

static void next_record(struct next *next, const struct dmanic_extent *extent, u32 skip,
			const struct dmanic_record *record)
{
	next->at = dmanic_record_encode(next->out->head, next->at, record);
	next_source(next, extent, skip, dmanic_record_payload(record));
	next->end += dmanic_record_units(record);
	next->records++;
}

static bool next_unit(struct next *next)
{
	struct dmanic_peer *peer = next->peer;
	struct dmanic_tx *tx = &peer->tx[next->class];

	if (next->end == next->limit)
		return false;
	if (next->end < tx->end)
		return true;
	if (next->limit != DMANIC_NEVER)
		return false;
	/* Or what is told of one that ended has a place now */
	return dmanic_xfer_enter(peer, next->class, next_most(peer)) || next->end < tx->end;
}

/* The NOTIFY behind data goes along with the last of them */
static void next_behind(struct next *next)
{
	struct dmanic_tx *tx = &next->peer->tx[next->class];
	u32 size = dmanic_record_size(DMANIC_RECORD_NOTIFY);
	const struct dmanic_extent *extent;
	struct dmanic_record record;

	if (next->alone || !next_cuts(next->peer) || !next_unit(next))
		return;
	extent = dmanic_tx_find(tx, next->end);
	if (extent->type != DMANIC_RECORD_NOTIFY)
		return;
	dmanic_tx_record(extent, 0, 1, &record);
	next->out->piece -= size;
	next_record(next, extent, 0, &record);
}

/* One record of data, larger than a frame of the path or the rest of one */
static void next_large(struct next *next, const struct dmanic_extent *extent, u32 skip,
		       struct dmanic_record *record)
{
	struct dmanic_peer *peer = next->peer;
	const struct dmanic_tx *tx = &peer->tx[next->class];
	u32 piece = peer->mtu - next->at - dmanic_record_size(record->type);
	u32 places = tx->sent_mask + 1 - (tx->sent_tail - tx->sent_head);
	u64 most = piece;

	/* What arrived changed goes in the path's frames: the link may not cut as it should */
	if (next_cuts(peer) && !next->alone)
		most = peer->super - DMANIC_WIRE_CUT_HEAD;
	if (next->limit == DMANIC_NEVER) {
		most = min(most, max(next->room / piece, 1ULL) * piece);
		/* Each piece may be noted, and they may get shorter yet */
		most = min(most, (u64)max(places / 2, 1U) * piece);
	}
	record->length = min_t(u64, record->length, most);
	next->out->piece = piece;
	next_record(next, extent, skip, record);
	next_behind(next);
}

/* The frame is empty; what was received goes along or not */
static void next_told(struct next *next, bool told)
{
	next->told = told;
	next->at = dmanic_data_begin(next->out->head, told);
}

/* Puts records into the frame until it is full; false: none fit */
static bool next_fill(struct next *next)
{
	struct dmanic_peer *peer = next->peer;
	struct dmanic_tx *tx = &peer->tx[next->class];
	struct dmanic_extent *extent;
	struct dmanic_record record;
	u32 skip, units, size, nr, blocks = 0;

	while (next->records < DMANIC_WIRE_RECORDS && next_unit(next)) {
		if (next->records &&
		    (next->alone || next->end - next->seq >= next->room))
			break;
		extent = dmanic_tx_find(tx, next->end);
		skip = next->end - extent->seq;
		units = min_t(u64, extent->units - skip, next->limit - next->end);
		dmanic_tx_record(extent, skip, units, &record);
		/* More than that the other side may not place of one frame */
		nr = record.type == DMANIC_RECORD_STRIDED ? record.length / record.block : 0;
		if (nr && next->records && blocks + nr > DMANIC_BLOCKS)
			break;
		size = dmanic_record_size(record.type);
		if (next->at + size > DMANIC_WIRE_HEAD_MAX)
			break;
		size += next->at + next->out->payload_length;
		if (size + dmanic_record_payload(&record) <= peer->mtu) {
			next_record(next, extent, skip, &record);
			blocks += nr;
			continue;
		}
		if (next->records)
			break;
		if (next->told && !next_cuts(peer)) {
			if (peer->ack_now) {
				next->unfit = true;
				break;
			}
			next_told(next, false);
			continue;
		}
		next_large(next, extent, skip, &record);
		break;
	}
	return next->records;
}

/* Nothing of the stream can go out behind this before the other side tells something */
static bool next_stuck(struct next *next, u32 pieces)
{
	const struct dmanic_tx *tx = &next->peer->tx[next->class];

	if (next->limit != DMANIC_NEVER)
		return !dmanic_tx_more(tx);
	return !next_unit(next) || tx->sent_tail - tx->sent_head + pieces > tx->sent_mask;
}

/*
 * Whether it waits for the answer: when nothing more can go out, be it for room, or after a
 * part of what may be under way. LAST: nothing of it is to go out.
 */
static u8 next_asks(struct next *next, u32 pieces)
{
	struct dmanic_peer *peer = next->peer;
	u64 units = next->end - next->seq;
	bool room = units + peer->mtu <= next->room;

	if (next->class == DMANIC_BULK)
		peer->unasked += units;
	if (!next_stuck(next, pieces) && room && peer->unasked < dmanic_rate_ask(peer))
		return 0;
	if (next->class == DMANIC_BULK)
		peer->unasked = 0;
	if (room && !dmanic_tx_any(&peer->tx[DMANIC_URGENT]) &&
	    !dmanic_tx_any(&peer->tx[DMANIC_BULK]))
		return DMANIC_WIRE_NOW | DMANIC_WIRE_LAST;
	return DMANIC_WIRE_NOW;
}

static void next_finish(struct next *next, u64 now)
{
	struct dmanic_peer *peer = next->peer;
	struct dmanic_out *out = next->out;
	u32 pieces = out->piece ? DIV_ROUND_UP(out->payload_length, out->piece) : 1;
	struct dmanic_data data = {
		.seq = next->seq,
		.stamp = dmanic_stamp(now),
		.records = next->records,
	};
	u8 flags = next->class == DMANIC_URGENT ? DMANIC_WIRE_URGENT : 0;
	struct dmanic_ack *ack = &peer->host->ack;

	flags |= next_asks(next, pieces);
	dmanic_ack_answered(peer, now);
	if (next->told) {
		flags |= DMANIC_WIRE_TOLD;
		dmanic_ack_fill(peer, true, now, ack);
		dmanic_told_encode(out->head, ack);
	} else if (peer->wanted_at) {
		/* What it waited for to go along with has gone without it */
		peer->ack_now = true;
	}
	dmanic_data_end(out->head, next->at, flags, peer->remote_tag, &data,
			out->payload_length);
	out->head_length = next->at;
	out->seal = true;
	out->crc = out->payload_length && (peer->features & DMANIC_WIRE_PAYLOAD_CRC);
	out->class = next->class;
	out->seq = next->seq;
	out->units = next->end - next->seq;
	if (!out->crc)
		dmanic_data_seal(out->head, NULL);
	dmanic_peer_stats(peer)->data_sent += pieces;
	if (next->limit != DMANIC_NEVER)
		dmanic_peer_stats(peer)->data_again += pieces;
	dmanic_rate_sent(peer, pieces * out->head_length + out->payload_length, now);
}

static bool next_is_cut(const struct next *next)
{
	return next->out->piece && next->out->payload_length > next->out->piece;
}

static void next_begin(struct next *next, u64 seq, u64 limit)
{
	next->seq = seq;
	next->end = seq;
	next->limit = limit;
	next_told(next, dmanic_ack_along(next->peer, next->class));
}

/*
 * What the other side waits for: it may have no room for anything else. Else the oldest
 * loss.
 */
static u32 next_lost(const struct dmanic_tx *tx)
{
	u32 head = tx->sent_head & tx->sent_mask;

	if (tx->lost.first != DMANIC_NONE && tx->sent[head].state == DMANIC_SENT_LOST)
		return head;
	return tx->lost.first;
}

/* What was lost goes first */
static bool next_again(struct next *next, u64 now)
{
	struct dmanic_tx *tx = &next->peer->tx[next->class];
	u32 index = next_lost(tx);
	struct dmanic_sent *sent;
	u64 seq, end;

	if (index == DMANIC_NONE)
		return false;
	sent = &tx->sent[index];
	/* Some of it may have arrived: what is before, and behind, the first that did not */
	seq = max(sent->seq + sent->resent, tx->una);
	end = sent->seq + sent->until;
	if (end <= seq)
		end = sent->seq + sent->units;
	next_begin(next, seq, end);
	next->alone = sent->alone;
	if (!next_fill(next))
		return false;
	sent->resent = next->end - sent->seq;
	sent->cut = next_is_cut(next);
	next_finish(next, now);
	if (next->end < end)
		return true;
	sent->again = true;
	sent->excused = false;
	sent->time = now;
	dmanic_sent_move(tx, index, DMANIC_SENT_FLYING);
	return true;
}

/*
 * What was cut may be lost in pieces: each is noted. Where nothing was lost for long that
 * is work for nothing, and a large frame is noted as one. When it has one gap, that comes
 * again; else all from the first.
 */
static u32 next_piece(const struct next *next)
{
	return dmanic_rate_clean(next->peer) ? 0 : next->out->piece;
}

static bool next_new(struct next *next, u64 now)
{
	struct dmanic_tx *tx = &next->peer->tx[next->class];
	u32 piece, most;
	u64 seq;

	if (tx->sent_tail - tx->sent_head > tx->sent_mask)
		return false;
	next_begin(next, tx->next, DMANIC_NEVER);
	next->alone = false;
	if (!next_fill(next))
		return false;
	tx->next = next->end;
	next_finish(next, now);
	most = next_piece(next);
	for (seq = next->seq; seq != next->end; seq += piece) {
		piece = next->end - seq;
		if (most)
			piece = min(piece, most);
		dmanic_sent_add(tx, seq, piece, next_is_cut(next), now);
	}
	return true;
}

/* It waits for its time; what is urgent does not wait for the pace of what is not */
static bool next_held(struct dmanic_peer *peer, u8 class, u64 now)
{
	u64 due = class == DMANIC_URGENT ? peer->unsent_until : dmanic_rate_due(peer, now);

	if (due <= now)
		return false;
	peer->rate.due = min(peer->rate.due, due);
	return true;
}

static bool next_some(struct dmanic_peer *peer, u64 now, struct dmanic_out *out)
{
	bool first = peer->tx[0].una == peer->tx[0].next &&
		     peer->tx[1].una == peer->tx[1].next;
	bool silent = !peer->tx[0].flight && !peer->tx[1].flight;
	struct next next = { .peer = peer, .out = out };

	for (next.class = 0; next.class < DMANIC_CLASSES; next.class++) {
		if (!dmanic_tx_any(&peer->tx[next.class]) || next_held(peer, next.class, now))
			continue;
		next.room = dmanic_rate_room(peer, next.class, now);
		if (!next.room)
			continue;
		/* What is to be told now goes along, or first */
		if (peer->ack_now && !dmanic_ack_along(peer, next.class))
			return false;
		if (next_again(&next, now) || (!next.unfit && next_new(&next, now)))
			break;
		if (next.unfit)
			return false;
	}
	if (next.class == DMANIC_CLASSES)
		return false;
	if (silent)
		peer->progress = now;
	if (first)
		peer->moved = now;
	dmanic_peer_wait(peer, now);
	return true;
}

static bool next_data(struct dmanic_peer *peer, u64 now, struct dmanic_out *out)
{
	peer->rate.due = DMANIC_NEVER;
	return (dmanic_tx_any(&peer->tx[DMANIC_URGENT]) ||
		dmanic_tx_any(&peer->tx[DMANIC_BULK])) && next_some(peer, now, out);
}

/**
 * dmanic_next_ack() - an ACK of what was received
 * @peer: to whom
 * @now: time
 * @out: the frame
 */
void dmanic_next_ack(struct dmanic_peer *peer, u64 now, struct dmanic_out *out)
{
	struct dmanic_ack *ack = &peer->host->ack;

	dmanic_ack_fill(peer, false, now, ack);
	out->head_length = dmanic_ack_encode(out->head, peer->remote_tag, ack);
}

static bool next_open(struct dmanic_peer *peer, u64 now, struct dmanic_out *out)
{
	/* Along with data that goes out now, or in a frame of its own */
	if (peer->ack_now && next_data(peer, now, out))
		return true;
	if (peer->ack_now) {
		dmanic_next_ack(peer, now, out);
		return true;
	}
	if (peer->probe_now) {
		peer->probe_now = false;
		peer->probed = now;
		dmanic_peer_asked(peer, now);
		dmanic_peer_wait(peer, now);
		out->head_length = dmanic_probe_encode(out->head, peer->remote_tag);
		return true;
	}
	return dmanic_path_answer(peer, out) || next_data(peer, now, out) ||
	       dmanic_path_next(peer, now, out);
}

/* What ended by itself may be owed something, and no frame that comes may tell */
static void next_late(struct dmanic_peer *peer, u64 now)
{
	u32 class;

	if (peer->state != DMANIC_PEER_OPEN)
		return;
	for (class = 0; class < DMANIC_CLASSES; class++)
		dmanic_xfer_late(peer, class, false, now);
	/* All that was awaited came: what is asked for later has its own time */
	if (!dmanic_peer_wants(peer))
		peer->waiting = DMANIC_NEVER;
}

/**
 * dmanic_peer_next() - the next frame to send
 * @peer: to whom
 * @now: time
 * @out: @out->head is the caller's; all else is set
 *
 * To be called until it says no: after a submission, after frames came, after
 * dmanic_peer_timer().
 *
 * Return: false when there is none now; dmanic_peer_deadline() tells when.
 */
bool dmanic_peer_next(struct dmanic_peer *peer, u64 now, struct dmanic_out *out)
{
	bool some;

	out->head_length = 0;
	out->to = peer->address;
	out->mtu = peer->mtu;
	out->piece = 0;
	out->seal = false;
	out->crc = false;
	out->payload_length = 0;
	out->nr_sources = 0;
	out->units = 0;
	if (peer->state == DMANIC_PEER_OPEN)
		some = next_open(peer, now, out);
	else
		some = peer->state != DMANIC_PEER_CLOSED &&
		       dmanic_handshake_next(peer, now, out);
	if (!some) {
		next_late(peer, now);
		return false;
	}
	dmanic_peer_stats(peer)->frames_sent++;
	dmanic_auth_count(peer->host, peer, out);
	return true;
}

/* There may be no room just now, or never for so long a one */
static void next_dropped(struct dmanic_peer *peer, u8 class, u32 index, u64 now)
{
	struct dmanic_sent *sent = dmanic_sent_at(&peer->tx[class], index);

	if (sent->again)
		dmanic_path_doubt(peer);
	sent->excused = true;
	dmanic_loss_mark(peer, class, index, now);
}

/* What was in a frame goes again; @dropped: it was lost, else it is another frame then */
static bool next_back(struct dmanic_peer *peer, const struct dmanic_out *out, bool dropped,
		      u64 now)
{
	struct dmanic_tx *tx = &peer->tx[out->class];
	struct dmanic_sent *sent;
	u32 index;

	if (!out->units || peer->state != DMANIC_PEER_OPEN)
		return false;
	/* It may have told what was received */
	peer->ack_now = true;
	for (index = dmanic_sent_find(tx, out->seq); index != tx->sent_tail; index++) {
		sent = dmanic_sent_at(tx, index);
		if (sent->seq >= out->seq + out->units)
			break;
		/* Of one that is being sent again: from there on */
		if (sent->state == DMANIC_SENT_LOST)
			sent->resent = min_t(u64, sent->resent,
					     out->seq > sent->seq ? out->seq - sent->seq : 0);
		if (sent->state != DMANIC_SENT_FLYING)
			continue;
		if (dropped) {
			next_dropped(peer, out->class, index, now);
			continue;
		}
		sent->resent = 0;
		sent->counted = false;
		dmanic_sent_move(tx, index, DMANIC_SENT_LOST);
	}
	return true;
}

/**
 * dmanic_peer_withdrawn() - the link does not send a frame: the READ it is of was cancelled
 * @peer: to whom
 * @out: it, as dmanic_peer_next() left it
 * @now: time
 *
 * The next one says so, and has what else was in this one. Others are not held up.
 */
void dmanic_peer_withdrawn(struct dmanic_peer *peer, const struct dmanic_out *out, u64 now)
{
	next_back(peer, out, false, now);
}

/**
 * dmanic_peer_unsent() - the link could not send a frame
 * @peer: to whom
 * @out: it, as dmanic_peer_next() left it
 * @now: time
 *
 * It would be sent again anyway; this way it is so sooner, and nothing goes out for a
 * round trip, twice as long each time in a row.
 */
void dmanic_peer_unsent(struct dmanic_peer *peer, const struct dmanic_out *out, u64 now)
{
	u64 wait;

	if (!next_back(peer, out, true, now) || now < peer->unsent_until)
		return;
	wait = max(peer->rate.srtt, dmanic_peer_config(peer)->ack_ns);
	peer->unsent_until = now + dmanic_peer_backoff(peer, wait,
						       min(peer->unsent, NEXT_UNSENT_MAX));
	peer->unsent++;
}
