// SPDX-License-Identifier: GPL-2.0-only
/*
 * reply.c - what is done for the other side, in order, and what it is owed
 *
 * The other side names its operations by a bounded number of ids; each has a slot
 * here, taken as long as something is owed for it: the RESULT until it is
 * acknowledged, the data of a READ until they are, and that an operation was
 * refused until its NOTIFY has been passed over. What would need a slot that is
 * taken by an older operation is not accepted: it comes again.
 */
#include <linux/container_of.h>
#include <linux/string.h>

#include "internal.h"

static struct dmanic_reply *reply_of(struct dmanic_xfer *xfer)
{
	return container_of(xfer, struct dmanic_reply, xfer);
}

/**
 * dmanic_reply_find() - what is owed for an operation of the other side
 * @peer: the other side
 * @id: of its operation; its number was checked
 *
 * Return: its slot, or NULL when nothing is.
 */
struct dmanic_reply *dmanic_reply_find(struct dmanic_peer *peer, u32 id)
{
	struct dmanic_reply *reply = &peer->reply[id & 0xffff];

	return reply->used && reply->id == id ? reply : NULL;
}

/**
 * dmanic_reply_busy() - is the place of an operation taken by an earlier one
 * @peer: the other side
 * @id: of the operation
 *
 * Return: true while that is owed something: nothing can be noted of this one.
 */
bool dmanic_reply_busy(const struct dmanic_peer *peer, u32 id)
{
	const struct dmanic_reply *reply = &peer->reply[id & 0xffff];

	return reply->used && reply->id != id;
}

static struct dmanic_reply *reply_take(struct dmanic_peer *peer, u8 class, u32 id)
{
	struct dmanic_reply *reply = &peer->reply[id & 0xffff];

	if (reply->used)
		return reply;
	*reply = (struct dmanic_reply) {
		.id = id,
		.class = class,
		.used = true,
		.xfer = {
			.kind = DMANIC_XFER_REPLY,
			.class = class,
			.id = id,
		},
	};
	INIT_LIST_HEAD(&reply->xfer.entry);
	peer->nr_replies++;
	return reply;
}

static void reply_release(struct dmanic_peer *peer, struct dmanic_reply *reply)
{
	if (reply->ending || reply->xfer.extents || reply->xfer.flow)
		return;
	if (reply->reading)
		dmanic_peer_env(peer)->read_end(peer, &reply->xfer);
	reply->used = false;
	peer->nr_replies--;
}

static void reply_result(struct dmanic_peer *peer, struct dmanic_reply *reply, u32 status,
			 u64 value)
{
	reply->answered = true;
	reply->xfer.status = status;
	reply->xfer.result = value;
	dmanic_tx_add(&peer->tx[reply->class], DMANIC_RECORD_RESULT, 1, &reply->xfer,
		      reply->id);
	if (!status)
		return;
	reply->refused = true;
	peer->rx[reply->class].reject = peer->tx[reply->class].end;
	dmanic_peer_stats(peer)->refused++;
}

/*
 * What is to be done has the id of something that is owed a RESULT yet: it knows what became of
 * that, or it would not have used the id again. It may be that it cannot take the RESULT
 * before we do this. Return: false while something else is owed, or there is no room.
 */
static bool reply_let_go(struct dmanic_peer *peer, u32 id)
{
	struct dmanic_reply *reply = &peer->reply[id & 0xffff];
	struct dmanic_tx *tx = &peer->tx[reply->class];

	if (!dmanic_reply_busy(peer, id))
		return true;
	if (!reply->answered || reply->reading || reply->ending || reply->xfer.flow ||
	    !dmanic_tx_room(peer, tx))
		return false;
	dmanic_tx_disown(tx, &reply->xfer);
	reply_release(peer, reply);
	return !reply->used;
}

/**
 * dmanic_reply_refuse() - an operation of the other side fails
 * @peer: the other side
 * @class: of the stream
 * @id: of the operation
 * @status: why; DMANIC_STATUS_OK: it knows, but its NOTIFY is not to be raised
 * @ending: a NOTIFY of it is to come
 *
 * Return: false when this cannot be noted now.
 */
bool dmanic_reply_refuse(struct dmanic_peer *peer, u8 class, u32 id, u32 status,
			 bool ending)
{
	struct dmanic_reply *reply;

	if (dmanic_reply_busy(peer, id))
		return false;
	reply = reply_take(peer, class, id);
	/*
	 * Who reuses an id that something is owed for harms only himself: there is
	 * room for one RESULT of it.
	 */
	if (reply->class != class || reply->reading ||
	    (reply->answered && !reply->refused))
		return true;
	reply->ending |= ending;
	if (!reply->refused && status)
		reply_result(peer, reply, status, 0);
	reply->refused = true;
	reply_release(peer, reply);
	return true;
}

static void reply_end(struct dmanic_peer *peer, struct dmanic_reply *reply)
{
	reply->ending = false;
	reply_release(peer, reply);
}

static bool reply_notify(struct dmanic_peer *peer, u8 class,
			 const struct dmanic_record *record)
{
	struct dmanic_reply *reply = dmanic_reply_find(peer, record->op);
	u32 status;

	if (reply && reply->refused) {
		reply_end(peer, reply);
		return true;
	}
	if (dmanic_reply_busy(peer, record->op))
		return false;
	status = dmanic_peer_env(peer)->notify(peer, record);
	return !status || dmanic_reply_refuse(peer, class, record->op, status, false);
}

static void reply_read(struct dmanic_peer *peer, struct dmanic_reply *reply,
		       const struct dmanic_record *record)
{
	struct dmanic_tx *tx = &peer->tx[reply->class];
	struct dmanic_xfer *xfer = &reply->xfer;
	u32 status;

	xfer->segment = record->segment;
	xfer->offset = record->offset;
	xfer->length = record->value;
	xfer->block = record->block;
	xfer->stride = record->stride;
	status = dmanic_peer_env(peer)->read_begin(peer, record, xfer);
	if (status || !xfer->length) {
		if (!status)
			dmanic_peer_env(peer)->read_end(peer, xfer);
		reply_result(peer, reply, status, 0);
		return;
	}
	reply->reading = true;
	dmanic_flow_add(tx, &tx->replies, xfer);
}

/* @reply is new; a failure is a RESULT like any other */
static void reply_lookup(struct dmanic_peer *peer, struct dmanic_reply *reply,
			 const struct dmanic_record *record)
{
	struct dmanic_lookup lookup = {
		.kind = record->opcode,
		.secret = { record->value, record->compare },
		.id = record->segment,
		.key = record->key,
	};
	struct dmanic_xfer *xfer = &reply->xfer;
	u32 status;

	memcpy(lookup.name, record->name, sizeof(lookup.name));
	status = dmanic_peer_env(peer)->lookup(peer, &lookup);
	if (status) {
		reply_result(peer, reply, status, 0);
		return;
	}
	xfer->segment = lookup.id;
	xfer->key = lookup.key;
	xfer->block = lookup.rights;
	xfer->result = lookup.length;
	reply->answered = true;
	dmanic_tx_add(&peer->tx[reply->class], DMANIC_RECORD_FOUND, 1, xfer, reply->id);
}

/**
 * dmanic_reply_do() - do what has to be done in order
 * @peer: who asks
 * @class: of the stream
 * @record: NOTIFY, READ, ATOMIC, LOOKUP, or the SKIP of one; all before it was done
 * @now: time
 *
 * Return: false when it cannot be done now, and nothing was.
 */
bool dmanic_reply_do(struct dmanic_peer *peer, u8 class,
		     const struct dmanic_record *record, u64 now)
{
	struct dmanic_reply *reply = dmanic_reply_find(peer, record->op);
	u64 old = 0;
	u32 status;

	switch (record->type) {
	case DMANIC_RECORD_NOTIFY:
		return reply_notify(peer, class, record);
	case DMANIC_RECORD_SKIP:
		if (record->flags & DMANIC_RECORD_ANSWER)
			break;
		if (reply && reply->refused)
			reply_end(peer, reply);
		return true;
	}
	if (!reply_let_go(peer, record->op))
		return false;
	if (reply)
		return true; /* of a liar */
	reply = reply_take(peer, class, record->op);
	if (record->type == DMANIC_RECORD_READ) {
		reply_read(peer, reply, record);
	} else if (record->type == DMANIC_RECORD_LOOKUP) {
		reply_lookup(peer, reply, record);
	} else if (record->type == DMANIC_RECORD_SKIP) {
		reply_result(peer, reply, DMANIC_STATUS_CANCELLED, 0);
	} else {
		status = dmanic_peer_env(peer)->atomic(peer, record, &old);
		reply_result(peer, reply, status, old);
	}
	dmanic_peer_wait(peer, now);
	return true;
}

/**
 * dmanic_reply_retired() - something owed was acknowledged
 * @peer: by whom
 * @xfer: of what
 */
void dmanic_reply_retired(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	reply_release(peer, reply_of(xfer));
}

/**
 * dmanic_reply_cancel() - the data of a READ cannot be sent any more
 * @peer: who asked
 * @xfer: the READ
 * @status: why
 */
void dmanic_reply_cancel(struct dmanic_peer *peer, struct dmanic_xfer *xfer, u32 status)
{
	struct dmanic_tx *tx = &peer->tx[xfer->class];
	struct dmanic_reply *reply = reply_of(xfer);

	if (!reply->reading)
		return;
	dmanic_tx_forget(tx, xfer);
	reply->reading = false;
	dmanic_flow_remove(xfer);
	dmanic_peer_env(peer)->read_end(peer, xfer);
	reply_result(peer, reply, status, 0);
}

/**
 * dmanic_peer_reading() - what is held for READs of the other side
 * @peer: the other side
 * @at: zero at first; then where to go on
 *
 * So that a link can look whether it may be: dmanic_peer_cancel() lets go of it.
 *
 * Return: the next, as env->read_begin() was given; NULL: that is all.
 */
struct dmanic_xfer *dmanic_peer_reading(struct dmanic_peer *peer, u32 *at)
{
	struct dmanic_reply *reply;

	while (peer->nr_replies && *at < dmanic_peer_config(peer)->operations) {
		reply = &peer->reply[(*at)++];
		if (reply->used && reply->reading)
			return &reply->xfer;
	}
	return NULL;
}

/**
 * dmanic_reply_drop_all() - the connection is gone: nothing is owed
 * @peer: whose
 */
void dmanic_reply_drop_all(struct dmanic_peer *peer)
{
	u32 i, operations = dmanic_peer_config(peer)->operations;
	struct dmanic_reply *reply;

	for (i = 0; i < operations && peer->nr_replies; i++) {
		reply = &peer->reply[i];
		if (!reply->used)
			continue;
		if (reply->reading)
			dmanic_peer_env(peer)->read_end(peer, &reply->xfer);
		reply->used = false;
		peer->nr_replies--;
	}
}
