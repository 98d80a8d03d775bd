// SPDX-License-Identifier: GPL-2.0-only
/*
 * receive.c - DATA frames: into memory, and noted
 *
 * A frame is first read through: if any record of it is not what it should be,
 * nothing of it counts. Then each record is dropped when it was there before, or
 * when there is no room to note it; else placed, or kept until everything before
 * it was done, and noted.
 */
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/string.h>

#include "internal.h"

/* Ids of which operations a record names: the other side's, or ours */
static bool receive_id_ok(const struct dmanic_peer *peer, struct dmanic_record *record)
{
	u32 number = record->op & 0xffff, nr = peer->their_operations;

	if (record->type == DMANIC_RECORD_DATA || dmanic_record_result(record->type))
		nr = dmanic_peer_config(peer)->operations;
	if (number >= nr)
		return false;
	/* It is an index from here on; in speculation, too */
	record->op ^= number ^ array_index_nospec(number, nr);
	return true;
}

/* The whole frame makes sense, and is in host->record; @end: behind its last unit */
static enum dmanic_drop receive_check(const struct dmanic_peer *peer,
				      const struct dmanic_frame *frame,
				      const struct dmanic_head *head,
				      const struct dmanic_data *data, u64 *end)
{
	struct dmanic_record *record = peer->host->record;
	u32 i, at = data->first, payload = 0;
	enum dmanic_drop drop;
	u64 seq = data->seq;

	for (i = 0; i < data->records; i++, record++) {
		drop = dmanic_record_decode(frame->head, head, &at, record);
		if (drop)
			return drop;
		if (!receive_id_ok(peer, record) ||
		    dmanic_record_payload(record) > head->payload_length - payload)
			return DMANIC_DROP_BAD;
		payload += dmanic_record_payload(record);
		seq += dmanic_record_units(record);
	}
	if (payload != head->payload_length || at != head->head_length)
		return DMANIC_DROP_BAD;
	*end = seq;
	return DMANIC_DROP_NONE;
}

static struct dmanic_early *receive_early(const struct dmanic_rx *rx, u32 i)
{
	return &rx->early[(rx->first_early + i) & (rx->max_early - 1)];
}

/* In order now: what waited for it, too */
static void receive_advance(struct dmanic_peer *peer, u8 class, u64 now)
{
	struct dmanic_rx *rx = &peer->rx[class];
	const struct dmanic_early *first;
	u64 reach;

	for (;;) {
		reach = dmanic_ranges_reach(&rx->got);
		first = receive_early(rx, 0);
		if (!rx->nr_early || first->seq >= reach)
			break;
		dmanic_ranges_advance(&rx->got, first->seq);
		if (!dmanic_reply_do(peer, class, &first->record, now))
			return;
		dmanic_ranges_advance(&rx->got, first->seq + 1);
		rx->first_early++;
		rx->nr_early--;
	}
	dmanic_ranges_advance(&rx->got, reach);
}

/**
 * dmanic_receive_retry() - what could not be done may be possible now
 * @peer: whose
 * @class: of the stream
 * @now: time
 */
void dmanic_receive_retry(struct dmanic_peer *peer, u8 class, u64 now)
{
	struct dmanic_rx *rx = &peer->rx[class];
	u64 before = rx->got.next;

	if (!rx->nr_early)
		return;
	receive_advance(peer, class, now);
	if (rx->got.next == before)
		return;
	peer->ack_now = true;
	dmanic_xfer_reached(peer, class);
}

static bool receive_in_order(const struct dmanic_record *record)
{
	switch (record->type) {
	case DMANIC_RECORD_NOTIFY:
	case DMANIC_RECORD_READ:
	case DMANIC_RECORD_ATOMIC:
	case DMANIC_RECORD_LOOKUP:
		return true;
	case DMANIC_RECORD_SKIP:
		return record->flags & (DMANIC_RECORD_END | DMANIC_RECORD_ANSWER);
	default:
		return false;
	}
}

/* A NOTIFY, READ or ATOMIC: at once if it is its turn, else kept; a LOOKUP comes again */
static enum dmanic_drop receive_act(struct dmanic_peer *peer, u8 class, u64 seq,
				    const struct dmanic_record *record, u64 now)
{
	struct dmanic_rx *rx = &peer->rx[class];
	u32 i;

	/* What stands before it in its frame is noted, and next not yet behind it */
	receive_advance(peer, class, now);
	if (seq == rx->got.next) {
		if (!dmanic_reply_do(peer, class, record, now))
			return DMANIC_DROP_ROOM;
		return DMANIC_DROP_NONE;
	}
	if (rx->nr_early == rx->max_early || record->type == DMANIC_RECORD_LOOKUP)
		return DMANIC_DROP_ROOM;
	/* Mostly the last; else others make room, which is work, too */
	for (i = rx->nr_early; i && receive_early(rx, i - 1)->seq > seq; i--)
		*receive_early(rx, i) = *receive_early(rx, i - 1);
	dmanic_rx_work(rx, rx->nr_early - i);
	*receive_early(rx, i) = (struct dmanic_early) { .seq = seq, .record = *record };
	rx->nr_early++;
	return DMANIC_DROP_NONE;
}

/* Bytes for a segment: those of them that were not there before; @length: out, too */
static enum dmanic_drop receive_write(struct dmanic_peer *peer, u8 class,
				      const struct dmanic_record *record, u64 seq, u32 skip,
				      const struct dmanic_frame *frame, u32 at, u32 *length)
{
	struct dmanic_reply *reply = dmanic_reply_find(peer, record->op);
	u32 status;

	if (reply && reply->refused)
		return DMANIC_DROP_NONE;
	/* Of several pieces some may be placed before one is refused, which has to be told */
	if ((record->type == DMANIC_RECORD_STRIDED || dmanic_later_any(&peer->rx[class])) &&
	    dmanic_reply_busy(peer, record->op))
		return DMANIC_DROP_ROOM;
	if (!dmanic_later_place(peer, class, record, seq, skip, frame, at, length, &status))
		return DMANIC_DROP_ROOM;
	if (!status)
		return DMANIC_DROP_NONE;
	if (dmanic_reply_refuse(peer, class, record->op, status,
				record->flags & DMANIC_RECORD_NOTIFIES))
		return DMANIC_DROP_NONE;
	return DMANIC_DROP_ROOM;
}

/* Units that are new; @units: out: how many are to be noted, unless it is ROOM: none */
static enum dmanic_drop receive_units(struct dmanic_peer *peer, u8 class,
				      const struct dmanic_record *record, u64 seq, u64 *units,
				      u32 skip, const struct dmanic_frame *frame, u32 at,
				      u64 now)
{
	u32 length = record->length ? *units : 0;
	enum dmanic_drop drop;

	switch (record->type) {
	case DMANIC_RECORD_WRITE:
	case DMANIC_RECORD_STRIDED:
		drop = receive_write(peer, class, record, seq, skip, frame, at + skip,
				     &length);
		*units = max(length, 1U);
		return drop;
	case DMANIC_RECORD_DATA:
		drop = dmanic_xfer_data(peer, class, record, seq, skip, frame, at + skip,
					&length);
		*units = max(length, 1U);
		break;
	case DMANIC_RECORD_RESULT:
		drop = dmanic_xfer_result(peer, class, record, seq);
		break;
	case DMANIC_RECORD_FOUND:
		drop = dmanic_xfer_found(peer, class, record, seq);
		break;
	case DMANIC_RECORD_SKIP:
		if (!receive_in_order(record)) {
			if (!(record->flags & DMANIC_RECORD_NOTIFIES) ||
			    dmanic_reply_refuse(peer, class, record->op, 0, true))
				return DMANIC_DROP_NONE;
			return DMANIC_DROP_ROOM;
		}
		fallthrough;
	default:
		return receive_act(peer, class, seq, record, now);
	}
	/* What was for nobody counts as received */
	if (drop)
		dmanic_peer_stats(peer)->dropped[drop]++;
	return DMANIC_DROP_NONE;
}

/* One record; @fresh: it brought something. Return: false when there is no room for it. */
static bool receive_record(struct dmanic_peer *peer, u8 class,
			   const struct dmanic_record *record, u64 seq,
			   const struct dmanic_frame *frame, u32 at, bool *fresh,
			   u64 now)
{
	u64 from = seq, end = seq + dmanic_record_units(record), length;
	struct dmanic_rx *rx = &peer->rx[class];
	enum dmanic_drop drop;

	while ((length = dmanic_ranges_missing(&rx->got, &from, end))) {
		drop = DMANIC_DROP_ROOM;
		/* How much of it will be noted is not known yet: perhaps one unit */
		if (rx->work && dmanic_ranges_room(&rx->got, from, from + 1))
			drop = receive_units(peer, class, record, from, &length,
					     from - seq, frame, at, now);
		if (drop) {
			dmanic_peer_stats(peer)->dropped[drop]++;
			return false;
		}
		dmanic_ranges_add(&rx->got, from, from + length);
		/* What was done at its turn is not to be done again */
		if (receive_in_order(record) && from == rx->got.next)
			dmanic_ranges_advance(&rx->got, from + 1);
		from += length;
		*fresh = true;
	}
	return true;
}

/* Whether to acknowledge now, soon, or not yet */
static void receive_ack(struct dmanic_peer *peer, const struct dmanic_head *head,
			bool odd, u64 now)
{
	u32 most = dmanic_peer_config(peer)->budget;

	if (peer->rx[DMANIC_BULK].got.nr || peer->rx[DMANIC_URGENT].got.nr)
		most = 4 * peer->mtu;
	peer->ack_units += head->payload_length + head->head_length;
	dmanic_ack_brought(peer, head->payload_length + head->head_length, now);
	if (odd || peer->ack_units >= most)
		peer->ack_now = true;
	else if (head->flags & DMANIC_WIRE_NOW)
		dmanic_ack_wanted(peer, head->flags & DMANIC_WIRE_LAST, now);
	else if (peer->ack_at == DMANIC_NEVER)
		peer->ack_at = now + dmanic_ack_hold(peer);
}

/*
 * It is told with the next ACK, and so is what is behind it; but an ACK has room for one
 * place only, so the one before goes at once.
 */
static void receive_corrupt(struct dmanic_peer *peer, u8 class, u64 seq, u64 end, u64 now,
			    struct dmanic_out *answer)
{
	struct dmanic_rx *rx = &peer->rx[class];

	if (rx->corrupt_units && seq == rx->corrupt + rx->corrupt_units &&
	    end - rx->corrupt <= DMANIC_REACH) {
		rx->corrupt_units = end - rx->corrupt;
	} else {
		if (rx->corrupt_units)
			dmanic_next_ack(peer, now, answer);
		rx->corrupt = seq;
		rx->corrupt_units = end - seq;
	}
	peer->ack_now = true;
}

/* The frame's header is right and it is for us: its payload */
static enum dmanic_drop receive_payload(struct dmanic_peer *peer,
					const struct dmanic_frame *frame,
					const struct dmanic_head *head)
{
	enum dmanic_drop drop;

	if (!head->payload_length)
		return DMANIC_DROP_NONE;
	drop = dmanic_auth_receive_payload(peer->host, frame, head);
	if (drop)
		return drop;
	if (!(peer->features & DMANIC_WIRE_PAYLOAD_CRC))
		return DMANIC_DROP_NONE;
	if (!(head->flags & DMANIC_WIRE_CRC))
		return DMANIC_DROP_BAD;
	if (dmanic_peer_env(peer)->payload_crc(frame, head->payload, head->payload_length) ==
	    head->payload_crc)
		return DMANIC_DROP_NONE;
	return DMANIC_DROP_CORRUPT;
}

/* All records; as receive_record() */
static bool receive_records(struct dmanic_peer *peer, u8 class,
			    const struct dmanic_frame *frame,
			    const struct dmanic_head *head,
			    const struct dmanic_data *data, bool *fresh, u64 now)
{
	const struct dmanic_record *record = peer->host->record;
	u32 i, payload = head->payload;
	u64 seq = data->seq;
	bool room = true;

	for (i = 0; i < data->records; i++, record++) {
		room &= receive_record(peer, class, record, seq, frame, payload, fresh, now);
		seq += dmanic_record_units(record);
		payload += dmanic_record_payload(record);
	}
	return room;
}

/* What came along: the other side tells what it received */
static enum dmanic_drop receive_told(struct dmanic_peer *peer,
				     const struct dmanic_frame *frame, u64 now)
{
	struct dmanic_ack *ack = &peer->host->ack;
	enum dmanic_drop drop;

	drop = dmanic_told_decode(frame->head, ack);
	return drop ? drop : dmanic_ack_receive(peer, ack, now);
}

/**
 * dmanic_receive_data() - a DATA frame of an open connection
 * @peer: whose
 * @frame: it
 * @head: of it
 * @now: time
 * @answer: what goes at once, if anything: an ACK
 *
 * Return: 0, or why nothing of it counts.
 */
enum dmanic_drop dmanic_receive_data(struct dmanic_peer *peer,
				     const struct dmanic_frame *frame,
				     const struct dmanic_head *head, u64 now,
				     struct dmanic_out *answer)
{
	u8 class = head->flags & DMANIC_WIRE_URGENT ? DMANIC_URGENT : DMANIC_BULK;
	struct dmanic_rx *rx = &peer->rx[class];
	struct dmanic_data data;
	enum dmanic_drop drop;
	bool fresh = false, room;
	u32 ranges;
	u64 end, next;

	drop = dmanic_data_decode(frame->head, head, &data);
	if (!drop)
		drop = receive_check(peer, frame, head, &data, &end);
	if (!drop && head->flags & DMANIC_WIRE_TOLD)
		drop = receive_told(peer, frame, now);
	if (drop)
		return drop;
	/* Neither wraps: a frame has 64 KiB at most */
	if (end < data.seq ||
	    (end > rx->got.next && end - rx->got.next > DMANIC_REACH))
		return DMANIC_DROP_WINDOW;
	drop = receive_payload(peer, frame, head);
	if (drop && drop != DMANIC_DROP_CORRUPT)
		return drop;
	peer->echo = data.stamp;
	peer->echo_at = now;
	if (drop) {
		receive_corrupt(peer, class, data.seq, end, now, answer);
		/* It did come: who sent it is to know how long that takes */
		peer->ack_units += head->payload_length + head->head_length;
		return drop;
	}
	ranges = rx->got.nr;
	next = rx->got.next;
	rx->work = DMANIC_WORK;
	room = receive_records(peer, class, frame, head, &data, &fresh, now);
	receive_advance(peer, class, now);
	/* What there was no room for has to come again */
	if (!fresh && room) {
		peer->ack_duplicates++;
		dmanic_peer_stats(peer)->duplicates++;
	}
	if (rx->got.next != next)
		dmanic_xfer_reached(peer, class);
	dmanic_xfer_late(peer, class, rx->got.next != next, now);
	receive_ack(peer, head, !fresh || !room || rx->got.nr != ranges, now);
	return DMANIC_DROP_NONE;
}
