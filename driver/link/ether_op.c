// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_op.c - operations of this node, from submission to their end
 *
 * An operation is one transfer of the protocol, which is in op->link, so that
 * taking one cannot fail. Its queue's transfers to a peer are one flow, which
 * keeps them in order (ether_share.c).
 *
 * A LIST is many transfers, one after the other: it is read a part at a time, for it
 * may have a million entries. Until it has ended it stays at the head of
 * queue->pending, and what is posted behind it waits there.
 *
 * What changes memory waits there, too, while something of the queue that reads it is
 * under way: data of a READ are sent when there is room for them, and a WRITE is
 * placed when it comes, so it could come first. Hence in queue->turn everything
 * behind a READ or an atomic is such itself, and its last entry tells.
 *
 * And so does what is too many (ether_share.c), until some of its queue's have ended.
 */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "ether.h"
#include "trace.h"

/* Entries of a LIST in one transfer that writes, and looked at under one hold */
#define OP_LIST_PART	1024U
/* Empty ones in a row between others of it: they are looked at again when it is sent */
#define OP_LIST_EMPTY	32U
/* Operations taken under one hold of the lock */
#define OP_CHUNK	64U

static bool op_notifies(const struct dmanic_op *op)
{
	return op->opcode == DMANIC_OP_NOTIFY || (op->flags & DMANIC_SQE_NOTIFY);
}

static const struct dmanic_target *op_target(const struct dmanic_op *op)
{
	return op->opcode == DMANIC_OP_NOTIFY ? &op->notify : &op->target;
}

/* ---- the end of an operation ---- */

/* It is in no list of ours; cq.c does the rest once the lock is dropped */
void dmanic_ether_end(struct ether_node *en, struct dmanic_op *op, u32 status)
{
	lockdep_assert_held(&en->lock);
	op->pending = false;
	op->status = status;
	list_add_tail(&op->entry, &en->done);
}

/* The device may be what does not answer */
static u32 op_status(const struct ether_node *en, u32 status)
{
	if (status == DMANIC_STATUS_PEER_DEAD && en->port && READ_ONCE(en->port->down))
		return DMANIC_STATUS_LINK_DOWN;
	return status;
}

/* Something waits for ops of the queue that are under way */
static bool op_behind(const struct dmanic_queue *queue)
{
	return !list_empty(&queue->pending);
}

static void op_complete_lookup(struct dmanic_xfer *xfer)
{
	struct completion *ended = xfer->source;

	complete(ended);
}

/*
 * All that was counted was moved, and told of if that was the end: neither what is empty
 * behind it is a part of its own, nor what a program added meanwhile.
 */
static void op_list_passed(struct ether_op *eop)
{
	eop->op->list.next = eop->list_reach;
	eop->op->list.rest.bytes = 0;
}

/* A transfer ended; the protocol calls, so nothing new begins here */
void dmanic_ether_complete(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	struct ether_node *en = to_ether_peer(peer)->en;
	struct dmanic_op *op;
	struct ether_op *eop;

	if (xfer->kind == DMANIC_XFER_LOOKUP) {
		op_complete_lookup(xfer);
		return;
	}
	eop = to_eop(xfer);
	op = eop->op;
	list_del(&eop->of_queue);
	to_ether_queue(op->queue)->nr_ops--;
	list_del(&eop->of_peer);
	if (!eop->uses)
		dmanic_ether_share_put(eop->ep, op->queue->ctx->account);
	eop->ep = NULL;
	if (ether_is_list(op)) {
		if (!xfer->status)
			op->moved += xfer->length;
		if (!xfer->status && xfer->blocks)
			op_list_passed(eop);
		list_add_tail(&eop->resume, &en->resumed);
		return;
	}
	op->result = xfer->result;
	dmanic_ether_end(en, op, op_status(en, xfer->status));
	if (op_behind(op->queue))
		list_add_tail(&eop->resume, &en->resumed);
}

/* ---- the beginning ---- */

/*
 * Its user uses the peer, until it is completed: a LIST until its end, also while none of it
 * is with the protocol, or others would have his place and he one more.
 */
static void op_use(struct ether_op *eop, struct ether_peer *ep)
{
	if (eop->uses)
		return;
	dmanic_ether_share_get(ep, eop->op->queue->ctx->account);
	if (!ether_is_list(eop->op))
		return;
	eop->uses = ep;
	ep->users++;
}

static void op_unuse(struct ether_op *eop)
{
	if (!eop->uses)
		return;
	dmanic_ether_share_put(eop->uses, eop->op->queue->ctx->account);
	eop->uses->users--;
	eop->uses = NULL;
}

static void op_submit(struct ether_op *eop, struct ether_peer *ep)
{
	struct dmanic_queue *queue = eop->op->queue;

	eop->ep = ep;
	list_add_tail(&eop->of_queue, &queue->turn);
	to_ether_queue(queue)->nr_ops++;
	list_add_tail(&eop->of_peer, &ep->ops);
	op_use(eop, ep);
	dmanic_peer_submit(&ep->peer, dmanic_ether_share_flow(ep, queue), &eop->xfer,
			   ktime_get_ns());
	dmanic_ether_wake(ep);
}

static void op_fill_notify(struct dmanic_xfer *xfer, const struct dmanic_op *op)
{
	xfer->irq = op->notify.id;
	xfer->irq_key = op->notify.key;
	xfer->payload = op->payload;
}

/* All but a LIST's data */
static void op_fill(struct dmanic_xfer *xfer, const struct dmanic_op *op)
{
	memset(xfer, 0, sizeof(*xfer));
	INIT_LIST_HEAD(&xfer->entry);
	xfer->class = DMANIC_BULK;
	xfer->segment = op->target.id;
	xfer->key = op->target.key;
	xfer->offset = op->remote_offset;
	xfer->length = dmanic_op_bytes(op);
	if (op->count > 1) {
		xfer->block = op->block;
		xfer->stride = op->remote_stride;
	}
	if (dmanic_opcode_atomic(op->opcode)) {
		xfer->kind = DMANIC_XFER_ATOMIC;
		xfer->opcode = op->opcode;
		xfer->payload = op->payload;
		xfer->compare = op->compare;
		xfer->length = 0;
	} else if (op->opcode == DMANIC_OP_NOTIFY) {
		xfer->kind = DMANIC_XFER_NOTIFY;
		xfer->length = 0;
		op_fill_notify(xfer, op);
	} else if (op->read) {
		xfer->kind = DMANIC_XFER_READ;
	} else {
		xfer->kind = DMANIC_XFER_WRITE;
		xfer->notifies = op_notifies(op);
		if (xfer->notifies)
			op_fill_notify(xfer, op);
	}
}

/* Where it goes; else its end */
static struct ether_peer *op_peer(struct ether_node *en, const struct dmanic_op *op,
				  u32 *status)
{
	const struct dmanic_target *target = op_target(op);
	struct ether_peer *ep;

	*status = DMANIC_STATUS_LINK_DOWN;
	if (en->stopped)
		return NULL;
	*status = DMANIC_STATUS_CANCELLED;
	if (dmanic_op_given_up(op))
		return NULL;
	*status = DMANIC_STATUS_LIMIT;
	if (dmanic_ether_share_check(en, target->node, op->queue->ctx->account, NULL))
		return NULL;
	/* It was connected to once, but its peer may have become another's */
	ep = dmanic_ether_peer_take(en, target->node, op->queue->ctx->account);
	if (!ep)
		return NULL;
	*status = DMANIC_STATUS_PEER_RESTARTED;
	if (ep->peer.incarnation && ep->peer.incarnation != target->incarnation)
		return NULL;
	/* It was posted before, and ends as what was under way then */
	*status = op_status(en, ep->peer.ended_as);
	if (ep->died > op->deaths)
		return NULL;
	return ep;
}

/* ---- a LIST, part by part ---- */

/*
 * The next entries that write: how many bytes they are. What is found wrong ends the
 * operation after them.
 */
static u64 op_list_measure(struct ether_node *en, struct ether_op *eop)
{
	struct dmanic_op *op = eop->op;
	struct dmanic_op_list before = op->list;
	struct dmanic_list_block block;
	u32 nr, empty = 0;
	u64 bytes = 0;

	for (nr = 0; nr < OP_LIST_PART && empty < OP_LIST_EMPTY && !dmanic_list_done(op); nr++) {
		eop->list_status = dmanic_list_next(op, op->list.reach, U64_MAX, &block);
		if (eop->list_status)
			break;
		bytes += block.bytes;
		/* Those before the first bytes are not looked at again */
		if (!bytes)
			before = op->list;
		else
			empty = block.bytes ? 0 : empty + 1;
	}
	en->looks += nr;
	eop->list_reach = op->list.next;
	eop->xfer.notifies = op_notifies(op) && !eop->list_status && dmanic_list_done(op);
	/* The protocol asks for them once more, one by one */
	if (bytes)
		op->list = before;
	return bytes;
}

enum op_part {
	OP_PART,	/* to be submitted */
	OP_PART_NONE,	/* the list ended, or is wrong */
	OP_PART_LATER,	/* nothing but empty entries so far */
};

static enum op_part op_part_empty(const struct ether_op *eop)
{
	return eop->list_status || dmanic_list_done(eop->op) ? OP_PART_NONE :
							       OP_PART_LATER;
}

static enum op_part op_list_part_read(struct ether_node *en, struct ether_op *eop)
{
	struct dmanic_op *op = eop->op;
	struct dmanic_xfer *xfer = &eop->xfer;
	struct dmanic_list_block block = {};
	u32 nr;

	for (nr = 0; nr < OP_LIST_PART; nr++) {
		if (block.bytes || eop->list_status || dmanic_list_done(op))
			break;
		eop->list_status = dmanic_list_next(op, op->list.reach, U64_MAX, &block);
	}
	en->looks += nr;
	eop->local = block.local;
	xfer->offset = block.remote;
	xfer->length = eop->list_status ? 0 : block.bytes;
	return xfer->length ? OP_PART : op_part_empty(eop);
}

/* The next part */
static enum op_part op_list_part(struct ether_node *en, struct ether_op *eop)
{
	struct dmanic_op *op = eop->op;
	struct dmanic_xfer *xfer = &eop->xfer;

	op_fill(xfer, op);
	if (op->read)
		return op_list_part_read(en, eop);
	xfer->blocks = true;
	xfer->length = op_list_measure(en, eop);
	if (xfer->length)
		return OP_PART;
	if (!xfer->notifies)
		return op_part_empty(eop);
	/* Nothing to write, but somebody is to be woken */
	xfer->blocks = false;
	xfer->kind = DMANIC_XFER_NOTIFY;
	return OP_PART;
}

u32 dmanic_ether_cut(struct dmanic_xfer *xfer, u64 position, u32 most, u64 *offset,
		     u64 *at)
{
	struct dmanic_op *op = to_eop(xfer)->op;
	struct dmanic_list_block block = {};
	u32 nr;

	/*
	 * A program may have changed the list since it was measured. None is looked at that was
	 * not then, nor more of them than can be empty: nobody counts what is done here.
	 */
	for (nr = 0; !block.bytes; nr++) {
		if (nr == OP_LIST_EMPTY ||
		    (!op->list.rest.bytes && op->list.next >= to_eop(xfer)->list_reach) ||
		    dmanic_list_next(op, op->list.reach, most, &block))
			return 0;
	}
	*offset = block.remote;
	*at = block.local;
	return block.bytes;
}

/*
 * @op leaves queue->pending. A queue of which none waits is on none of our lists: nothing
 * keeps it.
 */
static void op_leave(struct dmanic_op *op)
{
	struct dmanic_queue *queue = op->queue;

	list_del(&op->entry);
	if (!op_behind(queue))
		list_del_init(&queue->behind);
}

static void op_list_end(struct ether_node *en, struct ether_op *eop, u32 status)
{
	struct dmanic_op *op = eop->op;

	op->result = op->moved;
	op_unuse(eop);
	op_leave(op);
	dmanic_ether_end(en, op, op_status(en, status));
}

/* ---- taking ---- */

/* A LIST goes on, or ends; false: it ended */
static bool op_list_go(struct ether_node *en, struct ether_op *eop)
{
	enum op_part part = OP_PART_NONE;
	struct ether_peer *ep;
	u32 status;

	ep = op_peer(en, eop->op, &status);
	if (ep)
		part = op_list_part(en, eop);
	switch (part) {
	case OP_PART:
		op_submit(eop, ep);
		return true;
	case OP_PART_LATER:
		list_add_tail(&eop->resume, &en->resumed);
		return true;
	case OP_PART_NONE:
		break;
	}
	op_list_end(en, eop, ep ? eop->list_status : status);
	return false;
}

/* @op is in no list; it may wait in queue->pending afterwards */
static void op_take(struct ether_node *en, struct dmanic_op *op)
{
	struct ether_op *eop = op->link;
	struct ether_peer *ep;
	u32 status;

	eop->op = op;
	eop->ep = NULL;
	eop->list_status = DMANIC_STATUS_OK;
	eop->uses = NULL;
	trace_dmanic_start(op);
	if (op->opcode == DMANIC_OP_NOP) {
		dmanic_ether_end(en, op, en->stopped ? DMANIC_STATUS_LINK_DOWN :
						       DMANIC_STATUS_OK);
		return;
	}
	if (op_target(op)->node == en->node.id && !en->stopped) {
		dmanic_ether_self_submit(en, op);
		return;
	}
	if (ether_is_list(op)) {
		list_add(&op->entry, &op->queue->pending);
		op_list_go(en, eop);
		return;
	}
	ep = op_peer(en, op, &status);
	if (!ep) {
		dmanic_ether_end(en, op, status);
		return;
	}
	op_fill(&eop->xfer, op);
	op_submit(eop, ep);
}

/* His user has much under way with that node, and some of it is this queue's */
static bool op_is_too_many(struct ether_node *en, const struct dmanic_op *op)
{
	const struct ether_user *user = op->queue->ctx->account->link;
	const struct ether_peer *ep;

	if (op->opcode == DMANIC_OP_NOP || user->nr_uses < ETHER_SHARE_OPS)
		return false;
	ep = dmanic_ether_peer_find(en, op_target(op)->node);
	return ep && dmanic_ether_share_full(ep, op->queue);
}

/* What is under way comes first */
static bool op_must_wait(struct ether_node *en, const struct dmanic_op *op)
{
	struct dmanic_queue *queue = op->queue;
	const struct dmanic_op *last;

	if (op_behind(queue) || op_is_too_many(en, op))
		return true;
	if (list_empty(&queue->turn) || (op->read && !ether_is_list(op)))
		return false;
	last = list_last_entry(&queue->turn, struct ether_op, of_queue)->op;
	return last->read ||
	       (dmanic_opcode_atomic(last->opcode) && !dmanic_opcode_atomic(op->opcode));
}

/* Those that waited, no more than @left; the rest under another hold of the lock */
static void op_take_behind(struct ether_node *en, struct dmanic_queue *queue,
			   unsigned int *left)
{
	struct dmanic_op *op;
	LIST_HEAD(ops);

	op = list_first_entry_or_null(&queue->pending, struct dmanic_op, entry);
	/* A LIST that goes on stays at the head */
	if (!op || !op->pending)
		return;
	list_splice_init(&queue->pending, &ops);
	while (!list_empty(&ops) && *left && en->looks < ETHER_LOOKS) {
		op = list_first_entry(&ops, struct dmanic_op, entry);
		if (op_must_wait(en, op))
			break;
		list_del(&op->entry);
		op->pending = false;
		op_take(en, op);
		--*left;
	}
	/* There is more, and nothing that it waits for */
	if (!list_empty(&ops) && !op_must_wait(en, list_first_entry(&ops, typeof(*op), entry)))
		list_add_tail(&queue->behind, &en->behind);
	list_splice_tail(&ops, &queue->pending);
}

static void op_resume_queue(struct ether_node *en, struct dmanic_queue *queue)
{
	if (op_behind(queue) && list_empty(&queue->behind))
		list_add_tail(&queue->behind, &en->behind);
}

/* It waited, here or for this node: ether_self.c has a list of queues, too */
static void op_unpend(struct ether_node *en, struct dmanic_op *op, u32 status)
{
	struct dmanic_queue *queue = op->queue;

	op_leave(op);
	if (list_empty(&queue->self))
		list_del_init(&queue->self_turn);
	dmanic_ether_end(en, op, status);
}

/* LISTs whose last part ended */
static void op_resume_lists(struct ether_node *en)
{
	struct dmanic_queue *queue;
	struct ether_op *eop;
	LIST_HEAD(resumed);
	LIST_HEAD(later);

	list_splice_init(&en->resumed, &resumed);
	while (!list_empty(&resumed)) {
		eop = list_first_entry(&resumed, struct ether_op, resume);
		list_del(&eop->resume);
		queue = eop->op->queue;
		if (!ether_is_list(eop->op)) {
			/* It ended, and others waited for that */
		} else if (en->looks >= ETHER_LOOKS) {
			/* Another time, before those that had theirs */
			list_add_tail(&eop->resume, &later);
			continue;
		} else if (eop->xfer.status) {
			op_list_end(en, eop, eop->xfer.status);
		} else if (eop->list_status) {
			op_list_end(en, eop, eop->list_status);
		} else if (dmanic_list_done(eop->op)) {
			op_list_end(en, eop, DMANIC_STATUS_OK);
		} else if (op_list_go(en, eop)) {
			continue;
		}
		/* What ended is in en->done until the lock is given up, and keeps it so long */
		op_resume_queue(en, queue);
	}
	list_splice(&later, &en->resumed);
}

/* Who waited, of all queues so many; who has no turn, or no looks are left for, keeps his place */
static void op_resume_behind(struct ether_node *en)
{
	unsigned int left = OP_CHUNK;
	struct dmanic_queue *queue;
	LIST_HEAD(behind);

	list_splice_init(&en->behind, &behind);
	while (!list_empty(&behind) && left && en->looks < ETHER_LOOKS) {
		queue = list_first_entry(&behind, struct dmanic_queue, behind);
		list_del_init(&queue->behind);
		op_take_behind(en, queue, &left);
	}
	list_splice(&behind, &en->behind);
}

/**
 * dmanic_ether_resume() - LISTs whose last part ended go on, and who waited
 * @en: the node; under its lock, held until en->done is taken
 *
 * By turns these and those have the first looks, as either could take all of them.
 */
void dmanic_ether_resume(struct ether_node *en)
{
	lockdep_assert_held(&en->lock);
	if (list_empty(&en->resumed) && list_empty(&en->behind))
		return;
	en->looks = 0;
	en->behind_first = !en->behind_first && !list_empty(&en->behind);
	if (en->behind_first)
		op_resume_behind(en);
	op_resume_lists(en);
	if (!en->behind_first)
		op_resume_behind(en);
}

/* As link.h says of submit() */
u64 dmanic_ether_submit(struct dmanic_node *node, struct list_head *ops)
{
	struct ether_node *en = to_ether(node);
	struct dmanic_op *op;
	u32 nr = 0;

	spin_lock_bh(&en->lock);
	en->looks = 0;
	while (!list_empty(ops)) {
		op = list_first_entry(ops, struct dmanic_op, entry);
		list_del(&op->entry);
		op->moved = 0;
		if (en->stopped) {
			op_take(en, op);
		} else if (dmanic_op_given_up(op)) {
			/* Before it was here to be found */
			dmanic_ether_end(en, op, DMANIC_STATUS_CANCELLED);
		} else if (op_must_wait(en, op)) {
			op->pending = true;
			list_add_tail(&op->entry, &op->queue->pending);
		} else {
			op_take(en, op);
		}
		if (++nr == OP_CHUNK || en->looks >= ETHER_LOOKS) {
			spin_unlock_bh(&en->lock);
			dmanic_ether_run(en);
			spin_lock_bh(&en->lock);
			en->looks = 0;
			nr = 0;
		}
	}
	spin_unlock_bh(&en->lock);
	dmanic_ether_run(en);
	return 0;
}

/* ---- giving up ---- */

/* What waits behind a LIST and was given up */
static void op_cancel_pending(struct ether_node *en, struct dmanic_queue *queue)
{
	struct dmanic_op *op, *next;

	list_for_each_entry_safe(op, next, &queue->pending, entry) {
		if (!op->pending || !dmanic_op_given_up(op))
			continue;
		op_unpend(en, op, DMANIC_STATUS_CANCELLED);
	}
}

static void op_cancel_xfer(struct ether_op *eop)
{
	dmanic_ether_wake(eop->ep);
	dmanic_peer_cancel(&eop->ep->peer, &eop->xfer, DMANIC_STATUS_CANCELLED);
}

/* One that was given up: it waits, here or for this node, or is under way */
static void op_cancel(struct ether_node *en, struct dmanic_op *op)
{
	struct ether_op *eop = op->link;

	if (op->pending)
		op_unpend(en, op, DMANIC_STATUS_CANCELLED);
	else if (eop->ep)
		op_cancel_xfer(eop);
}

/* All of a queue that were given up */
static void op_cancel_queue(struct ether_node *en, struct dmanic_queue *queue)
{
	struct ether_op *eop, *next;

	op_cancel_pending(en, queue);
	list_for_each_entry_safe(eop, next, &queue->turn, of_queue)
		if (dmanic_op_given_up(eop->op))
			op_cancel(en, eop->op);
	dmanic_ether_self_cancel(en, queue);
}

/* As link.h says of cancel() */
void dmanic_ether_cancel(struct dmanic_node *node, struct dmanic_queue *queue,
			 struct dmanic_op *only)
{
	struct ether_node *en = to_ether(node);

	spin_lock_bh(&en->lock);
	if (!only)
		op_cancel_queue(en, queue);
	else if (dmanic_op_given_up(only))
		op_cancel(en, only);
	spin_unlock_bh(&en->lock);
	dmanic_ether_run(en);
}

/**
 * dmanic_ether_check() - a peer connected: end what was for the one before
 * @ep: the peer; under en->lock
 */
void dmanic_ether_check(struct ether_peer *ep)
{
	struct ether_op *eop, *next;

	ep->check = false;
	list_for_each_entry_safe(eop, next, &ep->ops, of_peer) {
		if (op_target(eop->op)->incarnation == ep->peer.incarnation)
			continue;
		dmanic_peer_cancel(&ep->peer, &eop->xfer, DMANIC_STATUS_PEER_RESTARTED);
	}
}

void dmanic_ether_place_read(struct dmanic_peer *peer, struct dmanic_xfer *xfer,
			     u64 position, const struct dmanic_frame *frame, u32 at,
			     u32 length)
{
	struct ether_op *eop = to_eop(xfer);
	struct dmanic_op *op = eop->op;
	u64 within, nr;
	u32 some;

	if (!xfer->block) {
		position += ether_is_list(op) ? eop->local : op->local_offset;
		dmanic_ether_copy(op->mem, position, dmanic_ether_bytes(frame), at,
				  length);
		return;
	}
	for (; length; length -= some) {
		nr = div64_u64_rem(position, op->block, &within);
		some = min_t(u64, length, op->block - within);
		dmanic_ether_copy(op->mem, op->local_offset + nr * op->local_stride + within,
				  dmanic_ether_bytes(frame), at, some);
		position += some;
		at += some;
	}
}
