// SPDX-License-Identifier: GPL-2.0-only
/*
 * tx.c - the sending end of a stream: what has a place, and what went out when
 *
 * The ring of extents says what a unit is, from end back to una; the ring of sents
 * which frame it went out in, from next back to una. Both are ordered by position.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"

/**
 * dmanic_tx_reset() - an empty stream
 * @tx: with its buffers
 */
void dmanic_tx_reset(struct dmanic_tx *tx)
{
	tx->una = 0;
	tx->reject = 0;
	tx->next = 0;
	tx->end = 0;
	tx->extent_head = 0;
	tx->extent_tail = 0;
	tx->reserved = 0;
	tx->results = 0;
	tx->sent_head = 0;
	tx->sent_tail = 0;
	tx->flying.first = DMANIC_NONE;
	tx->flying.last = DMANIC_NONE;
	tx->lost = tx->flying;
	tx->flight = 0;
	INIT_LIST_HEAD(&tx->late);
	tx->late_since = DMANIC_NEVER;
}

/**
 * dmanic_tx_room() - are there places for anything but a RESULT
 * @peer: whose
 * @tx: the stream
 *
 * Of two, as what begins may keep one for its NOTIFY: nobody takes the first of them while
 * another waits for both.
 *
 * Return: true when they leave room for what others may need.
 */
bool dmanic_tx_room(const struct dmanic_peer *peer, const struct dmanic_tx *tx)
{
	u32 used = tx->extent_tail - tx->extent_head;
	u32 kept = peer->their_operations - min(tx->results, peer->their_operations);

	return used + kept + tx->reserved + 2 <= tx->extent_mask + 1;
}

/**
 * dmanic_tx_add() - give a part of a transfer its place
 * @tx: the stream; it has room
 * @type: enum dmanic_record_type
 * @units: how many
 * @xfer: whose, or NULL
 * @id: of the operation
 *
 * Return: the extent, for the caller to fill in what else it needs.
 */
struct dmanic_extent *dmanic_tx_add(struct dmanic_tx *tx, u8 type, u32 units,
				    struct dmanic_xfer *xfer, u32 id)
{
	struct dmanic_extent *extent = &tx->extent[tx->extent_tail++ & tx->extent_mask];

	*extent = (struct dmanic_extent) {
		.seq = tx->end,
		.units = units,
		.type = type,
		.id = id,
		.xfer = xfer,
	};
	tx->end += units;
	if (dmanic_record_result(type))
		tx->results++;
	if (xfer)
		xfer->extents++;
	return extent;
}

/**
 * dmanic_tx_find() - what a unit is
 * @tx: the stream
 * @seq: from una to end
 *
 * Return: its extent.
 */
struct dmanic_extent *dmanic_tx_find(struct dmanic_tx *tx, u64 seq)
{
	u32 low = tx->extent_head, high = tx->extent_tail - 1, middle;
	struct dmanic_extent *extent;

	while (low != high) {
		middle = low + (high - low + 1) / 2;
		extent = &tx->extent[middle & tx->extent_mask];
		if (extent->seq <= seq)
			low = middle;
		else
			high = middle - 1;
	}
	return &tx->extent[low & tx->extent_mask];
}

/**
 * dmanic_tx_record() - a part of an extent as it stands in a frame
 * @extent: it
 * @skip: units before the part
 * @units: of the part
 * @record: out
 */
void dmanic_tx_record(const struct dmanic_extent *extent, u32 skip, u32 units,
		      struct dmanic_record *record)
{
	const struct dmanic_xfer *xfer = extent->xfer;

	memset(record, 0, sizeof(*record));
	record->type = extent->type;
	record->flags = extent->flags;
	record->op = extent->id;
	switch (extent->type) {
	case DMANIC_RECORD_WRITE:
	case DMANIC_RECORD_STRIDED:
		record->length = xfer->length ? units : 0;
		record->segment = xfer->segment;
		record->key = xfer->key;
		if (extent->type == DMANIC_RECORD_WRITE) {
			record->offset = extent->offset + skip;
			break;
		}
		record->offset = xfer->offset;
		record->position = extent->position + skip;
		record->block = xfer->block;
		record->stride = xfer->stride;
		break;
	case DMANIC_RECORD_NOTIFY:
		record->segment = xfer->irq;
		record->key = xfer->irq_key;
		record->value = xfer->payload;
		break;
	case DMANIC_RECORD_READ:
		record->segment = xfer->segment;
		record->key = xfer->key;
		record->offset = xfer->offset;
		record->value = xfer->length;
		record->block = xfer->block;
		record->stride = xfer->stride;
		break;
	case DMANIC_RECORD_ATOMIC:
		record->opcode = xfer->opcode;
		record->segment = xfer->segment;
		record->key = xfer->key;
		record->offset = xfer->offset;
		record->value = xfer->payload;
		record->compare = xfer->compare;
		break;
	case DMANIC_RECORD_DATA:
		record->length = units;
		record->position = extent->position + skip;
		break;
	case DMANIC_RECORD_RESULT:
		record->status = xfer->status;
		record->value = xfer->result;
		break;
	case DMANIC_RECORD_SKIP:
		record->length = units;
		break;
	case DMANIC_RECORD_LOOKUP:
		record->opcode = xfer->lookup->kind;
		record->segment = xfer->lookup->id;
		record->key = xfer->lookup->key;
		record->value = xfer->lookup->secret[0];
		record->compare = xfer->lookup->secret[1];
		record->name = xfer->lookup->name;
		break;
	case DMANIC_RECORD_FOUND:
		record->block = xfer->block;
		record->segment = xfer->segment;
		record->key = xfer->key;
		record->value = xfer->result;
		break;
	}
}

/**
 * dmanic_tx_forget() - nothing of a transfer is to be sent any more
 * @tx: the stream
 * @xfer: it; its memory may go. What is owed to the other side keeps its xfer.
 *
 * Its extents become SKIPs.
 */
void dmanic_tx_forget(struct dmanic_tx *tx, const struct dmanic_xfer *xfer)
{
	u32 left = xfer->extents, i;
	struct dmanic_extent *extent;

	for (i = tx->extent_head; left && i != tx->extent_tail; i++) {
		extent = &tx->extent[i & tx->extent_mask];
		if (extent->xfer != xfer)
			continue;
		left--;
		if (dmanic_record_result(extent->type))
			continue;
		if (extent->type == DMANIC_RECORD_NOTIFY)
			extent->flags = DMANIC_RECORD_END;
		else if (extent->type == DMANIC_RECORD_READ ||
			 extent->type == DMANIC_RECORD_ATOMIC ||
			 extent->type == DMANIC_RECORD_LOOKUP)
			extent->flags = DMANIC_RECORD_ANSWER;
		extent->type = DMANIC_RECORD_SKIP;
		if (xfer->kind != DMANIC_XFER_REPLY)
			extent->xfer = NULL;
	}
}

/**
 * dmanic_tx_disown() - what has a place is of nobody any more
 * @tx: the stream; room for one more RESULT beside those that are kept for
 * @xfer: whose it was
 *
 * Its extents become SKIPs, also what is owed to the other side.
 */
void dmanic_tx_disown(struct dmanic_tx *tx, struct dmanic_xfer *xfer)
{
	struct dmanic_extent *extent;
	u32 i;

	for (i = tx->extent_head; xfer->extents && i != tx->extent_tail; i++) {
		extent = &tx->extent[i & tx->extent_mask];
		if (extent->xfer != xfer)
			continue;
		if (dmanic_record_result(extent->type))
			tx->results--;
		extent->type = DMANIC_RECORD_SKIP;
		extent->xfer = NULL;
		extent->position = DMANIC_NEVER;
		xfer->extents--;
	}
}

/**
 * dmanic_tx_retire() - transfers are told what was acknowledged
 * @peer: whose
 * @class: of the stream
 */
void dmanic_tx_retire(struct dmanic_peer *peer, u8 class)
{
	struct dmanic_tx *tx = &peer->tx[class];
	struct dmanic_extent *extent;

	while (tx->extent_head != tx->extent_tail) {
		extent = &tx->extent[tx->extent_head & tx->extent_mask];
		if (extent->seq + extent->units > tx->una)
			break;
		tx->extent_head++;
		if (dmanic_record_result(extent->type))
			tx->results--;
		if (extent->xfer)
			extent->xfer->extents--;
		dmanic_xfer_retired(peer, class, extent);
	}
}

/* ---- what went out ---- */

static struct dmanic_sent_list *sent_list(struct dmanic_tx *tx, u8 state)
{
	switch (state) {
	case DMANIC_SENT_FLYING:
		return &tx->flying;
	case DMANIC_SENT_LOST:
		return &tx->lost;
	default:
		return NULL;
	}
}

static void sent_append(struct dmanic_tx *tx, u32 index, u8 state)
{
	struct dmanic_sent_list *list = sent_list(tx, state);
	struct dmanic_sent *sent = &tx->sent[index];

	sent->state = state;
	if (state == DMANIC_SENT_FLYING)
		tx->flight += sent->units;
	if (!list)
		return;
	sent->next = DMANIC_NONE;
	sent->prev = list->last;
	if (list->last == DMANIC_NONE)
		list->first = index;
	else
		tx->sent[list->last].next = index;
	list->last = index;
}

/**
 * dmanic_sent_add() - units go out for the first time
 * @tx: the stream; there is room in its ring
 * @seq: first
 * @units: how many
 * @cut: in a frame that is to be cut
 * @now: when
 */
void dmanic_sent_add(struct dmanic_tx *tx, u64 seq, u32 units, bool cut, u64 now)
{
	u32 index = tx->sent_tail++ & tx->sent_mask;

	tx->sent[index] = (struct dmanic_sent) {
		.seq = seq,
		.time = now,
		.units = units,
		.cut = cut,
	};
	sent_append(tx, index, DMANIC_SENT_FLYING);
}

/**
 * dmanic_sent_move() - a sent is in another state now, the newest there
 * @tx: the stream
 * @index: of the sent
 * @state: enum dmanic_sent_state
 */
void dmanic_sent_move(struct dmanic_tx *tx, u32 index, u8 state)
{
	struct dmanic_sent_list *list;
	struct dmanic_sent *sent;

	index &= tx->sent_mask;
	sent = &tx->sent[index];
	list = sent_list(tx, sent->state);
	if (sent->state == DMANIC_SENT_FLYING)
		tx->flight -= sent->units;
	if (list) {
		if (sent->prev == DMANIC_NONE)
			list->first = sent->next;
		else
			tx->sent[sent->prev].next = sent->next;
		if (sent->next == DMANIC_NONE)
			list->last = sent->prev;
		else
			tx->sent[sent->next].prev = sent->prev;
	}
	sent_append(tx, index, state);
}

/**
 * dmanic_sent_find() - the first frame that ends behind a position
 * @tx: the stream
 * @seq: the position
 *
 * Return: its index, tx->sent_tail if there is none.
 */
u32 dmanic_sent_find(const struct dmanic_tx *tx, u64 seq)
{
	u32 low = tx->sent_head, high = tx->sent_tail, middle;
	const struct dmanic_sent *sent;

	while (low != high) {
		middle = low + (high - low) / 2;
		sent = dmanic_sent_at(tx, middle);
		if (sent->seq + sent->units <= seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
