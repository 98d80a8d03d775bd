// SPDX-License-Identifier: GPL-2.0-only
/*
 * xfer.c - operations of ours, from submission to completion
 *
 * An operation is in its flow until all of it has a place in the stream. From its
 * first extent on it has an id, which stays taken until its last extent is retired and
 * everything the other side owes for it was received, also when the operation itself
 * was completed or given up before.
 */
#include <linux/minmax.h>

#include "internal.h"

/* Ids that bulk operations leave to urgent ones */
#define XFER_URGENT_IDS		8U
/* Of all ids, one share's questions have this part at most */
#define XFER_SHARE_PART		4U
/* With less than this part of the ids free, the other side is told at once of those */
#define XFER_SCARCE		8U
/* So many may end in a row before they had a place: each may have looked at a list */
#define XFER_ENDED		64U

/* At least one unit, so that an empty one has a place, too */
static u64 xfer_units(const struct dmanic_xfer *xfer)
{
	return xfer->length ? xfer->length : 1;
}

static bool xfer_has_data(const struct dmanic_xfer *xfer)
{
	return xfer->kind == DMANIC_XFER_WRITE || xfer->kind == DMANIC_XFER_REPLY;
}

/**
 * dmanic_peer_submit() - an operation for another node
 * @peer: the other node
 * @flow: whose operations these are
 * @xfer: all up to @source is filled in; belongs to the protocol until completed
 * @now: time
 */
void dmanic_peer_submit(struct dmanic_peer *peer, struct dmanic_flow *flow,
			struct dmanic_xfer *xfer, u64 now)
{
	xfer->status = DMANIC_STATUS_OK;
	xfer->result = 0;
	xfer->begun = false;
	xfer->whole = false;
	xfer->entered = 0;
	xfer->extents = 0;
	dmanic_flow_add(&peer->tx[xfer->class], flow, xfer);
	dmanic_peer_wait(peer, now);
	if (peer->state < DMANIC_PEER_PAIRED)
		dmanic_handshake_begin(peer, now);
}

/**
 * dmanic_xfer_ids() - all ids are free
 * @peer: whose; peer->operations is how many
 */
void dmanic_xfer_ids(struct dmanic_peer *peer)
{
	peer->first_free = 0;
	for (peer->nr_free = 0; peer->nr_free < peer->operations; peer->nr_free++)
		peer->free_slot[peer->nr_free] = peer->nr_free;
}

static struct dmanic_slot *xfer_slot(struct dmanic_peer *peer, u32 id)
{
	return &peer->slot[id & 0xffff];
}

/*
 * A question has its id until all of the answer is there, and who sends much until all of it
 * was sent. One user must not have all of them for that: as many as are left for others, so
 * that there always are some; nor bulk operations what urgent ones need.
 */
static bool xfer_may_begin(const struct dmanic_peer *peer, const struct dmanic_xfer *xfer)
{
	u32 part = peer->operations / XFER_SHARE_PART, kept = 0;
	const struct dmanic_share *share = xfer->flow->share;

	if (xfer->class == DMANIC_BULK)
		kept = min(XFER_URGENT_IDS, part);
	return peer->nr_free > kept + share->asking + share->sending &&
	       (!dmanic_xfer_asks(xfer) || share->asking < max(part, 1U));
}

static bool xfer_begin(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	struct dmanic_slot *slot;
	u16 number;

	if (!xfer_may_begin(peer, xfer))
		return false;
	number = peer->free_slot[peer->first_free];
	peer->first_free = (peer->first_free + 1) % peer->operations;
	peer->nr_free--;
	slot = &peer->slot[number];
	slot->id = ((slot->id >> 16) + 1) << 16 | number;
	slot->used = true;
	slot->xfer = xfer;
	slot->extents = 0;
	slot->until = 0;
	slot->class = xfer->class;
	slot->asks = dmanic_xfer_asks(xfer);
	/* All others outlive their share */
	slot->share = slot->asks ? xfer->flow->share : NULL;
	slot->owner = 0;
	if (slot->share)
		slot->share->asking++;
	slot->answered = false;
	slot->left = xfer->length;
	INIT_LIST_HEAD(&slot->late);
	if (!slot->asks)
		xfer->flow->share->sending++;
	xfer->id = slot->id;
	xfer->begun = true;
	return true;
}

static void xfer_complete(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	if (!xfer->status && xfer->kind != DMANIC_XFER_ATOMIC)
		xfer->result = xfer->length;
	if (xfer->begun)
		xfer_slot(peer, xfer->id)->xfer = NULL;
	dmanic_peer_env(peer)->complete(peer, xfer);
}

/* Everything of ours is with the other side */
static bool slot_sent(const struct dmanic_slot *slot)
{
	return !slot->extents && (!slot->xfer || slot->xfer->whole);
}

static void slot_stop_asking(struct dmanic_slot *slot)
{
	if (slot->share)
		slot->share->asking--;
	slot->share = NULL;
}

/* What became possible: the operation ends, the id is free again */
static void slot_check(struct dmanic_peer *peer, struct dmanic_slot *slot)
{
	bool reached = peer->rx[slot->class].got.next >= slot->until;
	struct dmanic_xfer *xfer = slot->xfer;

	if (xfer && slot->asks && slot->answered) {
		/* The request may be under way yet; nobody needs it */
		dmanic_tx_forget(&peer->tx[slot->class], xfer);
		xfer_complete(peer, xfer);
	}
	if (!slot_sent(slot) || (slot->asks && !slot->answered))
		return;
	if (!reached) {
		if (list_empty(&slot->late))
			list_add_tail(&slot->late, &peer->tx[slot->class].late);
		return;
	}
	if (slot->xfer)
		xfer_complete(peer, slot->xfer);
	list_del_init(&slot->late);
	slot->used = false;
	slot_stop_asking(slot);
	/* It will be used again soon: the other side is to let go of it before */
	if (slot->asks && peer->ack_units && peer->nr_free < peer->operations / XFER_SCARCE)
		peer->ack_now = true;
	/* The one that is free for longest is used next: the other side has let go of it */
	peer->free_slot[(peer->first_free + peer->nr_free++) % peer->operations] =
		slot->id & 0xffff;
}

/**
 * dmanic_xfer_reached() - our receiving end went on: who waited for that
 * @peer: whose
 * @class: of the stream
 */
void dmanic_xfer_reached(struct dmanic_peer *peer, u8 class)
{
	struct dmanic_slot *slot, *next;

	list_for_each_entry_safe(slot, next, &peer->tx[class].late, late)
		if (slot->until <= peer->rx[class].got.next)
			slot_check(peer, slot);
}

/**
 * dmanic_xfer_late() - is something of the other side waited for
 * @peer: whose
 * @class: of the stream
 * @moved: some of it came
 * @now: time
 *
 * It told how far what we wait for reaches, and may have lied.
 */
void dmanic_xfer_late(struct dmanic_peer *peer, u8 class, bool moved, u64 now)
{
	struct dmanic_tx *tx = &peer->tx[class];

	if (list_empty(&tx->late))
		tx->late_since = DMANIC_NEVER;
	else if (moved || tx->late_since == DMANIC_NEVER)
		tx->late_since = now;
}

/* ---- into the stream ---- */

static struct dmanic_extent *xfer_add(struct dmanic_peer *peer, struct dmanic_xfer *xfer,
				      u8 type, u32 units)
{
	if (xfer->kind != DMANIC_XFER_REPLY)
		xfer_slot(peer, xfer->id)->extents++;
	return dmanic_tx_add(&peer->tx[xfer->class], type, units, xfer, xfer->id);
}

static void xfer_whole(struct dmanic_xfer *xfer)
{
	xfer->whole = true;
	dmanic_flow_remove(xfer);
}

/* What is left of it will not be sent; the place of its NOTIFY is a SKIP */
static void xfer_stop(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	struct dmanic_extent *extent;

	if (xfer->whole)
		return;
	if (xfer->notifies && xfer->entered) {
		peer->tx[xfer->class].reserved--;
		extent = xfer_add(peer, xfer, DMANIC_RECORD_SKIP, 1);
		extent->flags = DMANIC_RECORD_END;
	}
	xfer_whole(xfer);
}

static void xfer_fail(struct dmanic_peer *peer, struct dmanic_xfer *xfer, u32 status)
{
	if (!xfer->status)
		xfer->status = status;
	xfer_stop(peer, xfer);
}

static u32 xfer_enter_data(struct dmanic_peer *peer, struct dmanic_xfer *xfer, u32 most)
{
	struct dmanic_tx *tx = &peer->tx[xfer->class];
	u64 left = xfer_units(xfer) - xfer->entered;
	u64 at = xfer->entered, offset = xfer->offset + xfer->entered;
	struct dmanic_extent *extent;
	u8 type = DMANIC_RECORD_WRITE;
	u32 units;

	if (xfer->kind == DMANIC_XFER_REPLY)
		type = DMANIC_RECORD_DATA;
	else if (xfer->block)
		type = DMANIC_RECORD_STRIDED;
	if (xfer->block)
		left = min(left, (u64)xfer->block * DMANIC_BLOCKS);
	units = min_t(u64, left, most);
	if (xfer->blocks && xfer->length) {
		units = dmanic_peer_env(peer)->cut(xfer, xfer->entered, units, &offset,
						   &at);
		if (!units) {
			xfer_fail(peer, xfer, DMANIC_STATUS_BOUNDS);
			return 0;
		}
	}
	if (xfer->notifies && !xfer->entered)
		tx->reserved++;
	extent = xfer_add(peer, xfer, type, units);
	extent->position = xfer->entered;
	extent->at = at;
	extent->offset = offset;
	if (xfer->notifies)
		extent->flags = DMANIC_RECORD_NOTIFIES;
	xfer->entered += units;
	return units;
}

/* It failed, perhaps before it had a place */
static void xfer_check(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	slot_check(peer, xfer_slot(peer, xfer->id));
}

static u32 xfer_enter_one(struct dmanic_peer *peer, struct dmanic_xfer *xfer, u32 most)
{
	struct dmanic_tx *tx = &peer->tx[xfer->class];
	u32 units = 1;

	if (xfer_has_data(xfer)) {
		units = xfer_enter_data(peer, xfer, most);
		if (xfer->entered < xfer_units(xfer))
			return units;
		/* Right behind the last of its data, so that both may go in one frame */
		if (xfer->notifies) {
			tx->reserved--;
			xfer_add(peer, xfer, DMANIC_RECORD_NOTIFY, 1);
			units++;
		}
	} else if (xfer->kind == DMANIC_XFER_READ) {
		xfer_add(peer, xfer, DMANIC_RECORD_READ, 1);
	} else if (xfer->kind == DMANIC_XFER_ATOMIC) {
		xfer_add(peer, xfer, DMANIC_RECORD_ATOMIC, 1);
	} else if (xfer->kind == DMANIC_XFER_LOOKUP) {
		xfer_add(peer, xfer, DMANIC_RECORD_LOOKUP, 1);
	} else {
		xfer_add(peer, xfer, DMANIC_RECORD_NOTIFY, 1);
	}
	xfer_whole(xfer);
	return units;
}

/* It was meant for the node as it was before it restarted */
static bool xfer_outdated(const struct dmanic_peer *peer, const struct dmanic_xfer *xfer)
{
	return !xfer->begun && xfer->incarnation && xfer->incarnation != peer->incarnation;
}

/**
 * dmanic_xfer_ready() - can the first of a flow go on, or end
 * @peer: whose
 * @xfer: it
 *
 * What begins is given its id at once: its place is to follow.
 */
bool dmanic_xfer_ready(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	return xfer->begun || xfer->kind == DMANIC_XFER_REPLY || xfer_outdated(peer, xfer) ||
	       xfer_begin(peer, xfer);
}

/**
 * dmanic_xfer_enter() - give the next part of the next flow its place
 * @peer: whose
 * @class: of the stream
 * @most: bytes in one extent
 *
 * Return: units; 0: there is nothing, no room, or too many ended; then it is to go on at
 * once, as rate.due says.
 */
u32 dmanic_xfer_enter(struct dmanic_peer *peer, u8 class, u32 most)
{
	struct dmanic_tx *tx = &peer->tx[class];
	struct dmanic_xfer *xfer;
	struct dmanic_flow *flow;
	u32 units, ended;

	for (ended = 0; ended < XFER_ENDED; ended++) {
		xfer = dmanic_flow_next(peer, tx);
		if (!xfer)
			return 0;
		if (xfer_outdated(peer, xfer)) {
			dmanic_peer_cancel(peer, xfer, DMANIC_STATUS_PEER_RESTARTED);
			continue;
		}
		flow = xfer->flow;
		units = xfer_enter_one(peer, xfer, most);
		dmanic_flow_pass(tx, flow);
		/* So do those who are owed data */
		if (xfer->kind == DMANIC_XFER_REPLY && !xfer->whole)
			list_move_tail(&xfer->entry, &flow->xfers);
		if (units)
			return units;
		xfer_check(peer, xfer);
	}
	/* Others have the CPU, and then it goes on */
	peer->rate.due = 0;
	return 0;
}

/* ---- what comes back ---- */

/**
 * dmanic_xfer_retired() - an extent was acknowledged
 * @peer: whose
 * @class: of the stream
 * @extent: it; xfer->extents is without it
 */
void dmanic_xfer_retired(struct dmanic_peer *peer, u8 class,
			 const struct dmanic_extent *extent)
{
	struct dmanic_xfer *xfer = extent->xfer;
	struct dmanic_slot *slot;

	if (xfer && xfer->kind == DMANIC_XFER_REPLY) {
		dmanic_reply_retired(peer, xfer);
		return;
	}
	if (extent->position == DMANIC_NEVER)
		return;
	slot = xfer_slot(peer, extent->id);
	slot->extents--;
	slot->until = max(slot->until, peer->tx[class].reject);
	slot_check(peer, slot);
}

/* An id of ours by what the other side calls it */
static struct dmanic_slot *slot_find(struct dmanic_peer *peer, u8 class, u32 id)
{
	struct dmanic_slot *slot;

	if ((id & 0xffff) >= peer->operations)
		return NULL;
	slot = xfer_slot(peer, id);
	return slot->used && slot->id == id && slot->class == class ? slot : NULL;
}

/**
 * dmanic_xfer_result() - a RESULT came
 * @peer: from whom
 * @class: of the stream
 * @record: it
 * @seq: its place
 *
 * Return: 0, or why it was ignored; it counts as received anyway.
 */
enum dmanic_drop dmanic_xfer_result(struct dmanic_peer *peer, u8 class,
				    const struct dmanic_record *record, u64 seq)
{
	struct dmanic_slot *slot = slot_find(peer, class, record->op);
	struct dmanic_xfer *xfer = slot ? slot->xfer : NULL;

	if (!slot || (!record->status && (!slot->asks || slot->left ||
					  (xfer && xfer->kind == DMANIC_XFER_LOOKUP))))
		return DMANIC_DROP_UNKNOWN_OP;
	slot->until = max(slot->until, seq + 1);
	if (xfer && record->status)
		xfer_fail(peer, xfer, record->status);
	else if (xfer)
		xfer->result = record->value;
	if (slot->asks)
		slot->answered = true;
	slot_check(peer, slot);
	return DMANIC_DROP_NONE;
}

/**
 * dmanic_xfer_found() - a FOUND came
 * @peer: from whom
 * @class: of the stream
 * @record: it
 * @seq: its place
 *
 * Return: 0, or why it was ignored; it counts as received anyway.
 */
enum dmanic_drop dmanic_xfer_found(struct dmanic_peer *peer, u8 class,
				   const struct dmanic_record *record, u64 seq)
{
	struct dmanic_slot *slot = slot_find(peer, class, record->op);
	struct dmanic_xfer *xfer = slot ? slot->xfer : NULL;

	if (!slot || !slot->asks || slot->answered ||
	    (xfer && xfer->kind != DMANIC_XFER_LOOKUP))
		return DMANIC_DROP_UNKNOWN_OP;
	if (xfer) {
		xfer->lookup->id = record->segment;
		xfer->lookup->key = record->key;
		xfer->lookup->rights = record->block;
		xfer->lookup->length = record->value;
		xfer->lookup->incarnation = peer->incarnation;
	}
	slot->until = max(slot->until, seq + 1);
	slot->answered = true;
	slot_check(peer, slot);
	return DMANIC_DROP_NONE;
}

/* Of @length bytes for blocks as many as are not too much work; a frame of ours is not */
static u32 xfer_data_blocks(const struct dmanic_xfer *xfer, struct dmanic_rx *rx, u32 length)
{
	u64 most = (u64)xfer->block * max(rx->work, 1U);

	length = min_t(u64, length, most);
	dmanic_rx_work(rx, length / xfer->block + 1);
	return length;
}

/**
 * dmanic_xfer_data() - bytes came that a READ asked for
 * @peer: from whom
 * @class: of the stream
 * @record: which
 * @seq: place of the first that is taken
 * @skip: of the record were there before
 * @frame: the frame
 * @at: where they are in it
 * @length: how many to take; out: fewer, where more blocks are too much work
 *
 * Return: 0, or why they were ignored; they count as received anyway.
 */
enum dmanic_drop dmanic_xfer_data(struct dmanic_peer *peer, u8 class,
				  const struct dmanic_record *record, u64 seq, u32 skip,
				  const struct dmanic_frame *frame, u32 at, u32 *length)
{
	struct dmanic_slot *slot = slot_find(peer, class, record->op);
	u64 position = record->position + skip;
	struct dmanic_xfer *xfer;

	if (!slot || !slot->asks || slot->answered || *length > slot->left)
		return DMANIC_DROP_UNKNOWN_OP;
	xfer = slot->xfer;
	if (xfer && (position > xfer->length || *length > xfer->length - position))
		return DMANIC_DROP_BAD;
	if (xfer && xfer->block)
		*length = xfer_data_blocks(xfer, &peer->rx[class], *length);
	if (xfer)
		dmanic_peer_env(peer)->place_read(peer, xfer, position, frame, at, *length);
	slot->until = max(slot->until, seq + *length);
	slot->left -= *length;
	if (!slot->left)
		slot->answered = true;
	slot_check(peer, slot);
	return DMANIC_DROP_NONE;
}

/* ---- giving up ---- */

/**
 * dmanic_xfer_changed() - its memory is changed while it is sent: it fails alone
 * @peer: whose
 * @xfer: it
 */
void dmanic_xfer_changed(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	if (xfer->kind == DMANIC_XFER_REPLY)
		dmanic_reply_cancel(peer, xfer, DMANIC_STATUS_SOURCE_CHANGED);
	else
		dmanic_peer_cancel(peer, xfer, DMANIC_STATUS_SOURCE_CHANGED);
}

/**
 * dmanic_peer_cancel() - give an operation up, or what is owed for a READ
 * @peer: to whom
 * @xfer: submitted and not completed, or what env->read_begin() was given
 * @status: to complete it with
 *
 * When this returns its memory is not used any more, except by frames that are
 * with the link. What was sent may still arrive.
 */
void dmanic_peer_cancel(struct dmanic_peer *peer, struct dmanic_xfer *xfer, u32 status)
{
	bool begun = xfer->begun;
	u32 id = xfer->id;

	if (xfer->kind == DMANIC_XFER_REPLY) {
		dmanic_reply_cancel(peer, xfer, status);
		return;
	}
	xfer_fail(peer, xfer, status);
	dmanic_tx_forget(&peer->tx[xfer->class], xfer);
	xfer_complete(peer, xfer);
	/* The id may be free at once, if all that was sent has arrived */
	if (begun)
		slot_check(peer, xfer_slot(peer, id));
}

/* Those that have not begun; the others are found by their slots */
static void xfer_end_queued(struct dmanic_peer *peer, struct dmanic_tx *tx, u32 status,
			    u32 question)
{
	struct dmanic_xfer *xfer;

	while ((xfer = dmanic_flow_any(tx))) {
		dmanic_flow_remove(xfer);
		if (xfer->begun || xfer->kind == DMANIC_XFER_REPLY)
			continue;
		xfer->status = xfer->kind == DMANIC_XFER_LOOKUP ? question : status;
		dmanic_peer_env(peer)->complete(peer, xfer);
	}
}

/**
 * dmanic_xfer_end_all() - the connection is gone
 * @peer: whose
 * @status: to complete with what has no status of its own
 * @question: but LOOKUPs with this one
 */
void dmanic_xfer_end_all(struct dmanic_peer *peer, u32 status, u32 question)
{
	u32 i, class, operations = dmanic_peer_config(peer)->operations;
	struct dmanic_xfer *xfer;

	for (class = 0; class < DMANIC_CLASSES; class++)
		xfer_end_queued(peer, &peer->tx[class], status, question);
	for (i = 0; i < operations; i++) {
		xfer = peer->slot[i].xfer;
		if (peer->slot[i].used)
			slot_stop_asking(&peer->slot[i]);
		peer->slot[i].xfer = NULL;
		peer->slot[i].used = false;
		if (!xfer)
			continue;
		if (!xfer->status)
			xfer->status = xfer->kind == DMANIC_XFER_LOOKUP ? question : status;
		dmanic_peer_env(peer)->complete(peer, xfer);
	}
}

/**
 * dmanic_xfer_any() - are there operations of ours
 * @peer: to whom
 *
 * Return: true when one is queued or has an id.
 */
bool dmanic_xfer_any(const struct dmanic_peer *peer)
{
	return peer->nr_free < peer->operations ||
	       !list_empty(&peer->tx[DMANIC_URGENT].turns) ||
	       !list_empty(&peer->tx[DMANIC_BULK].turns);
}
