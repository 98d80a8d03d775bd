// SPDX-License-Identifier: GPL-2.0-only
/*
 * share.c - whose turn it is to have the next place in a stream
 *
 * Shares take turns, and within one of them its flows; within a flow its transfers come
 * one after the other. Ids are few, and flows may be many: those whose first finds none wait
 * aside, by what they need, so that whether one of many can begin is seen by the first of
 * them.
 */
#include "internal.h"

/**
 * dmanic_share_init() - a share without flows
 * @share: it; of one peer and one class
 */
void dmanic_share_init(struct dmanic_share *share)
{
	INIT_LIST_HEAD(&share->flows);
	INIT_LIST_HEAD(&share->waiting[false]);
	INIT_LIST_HEAD(&share->waiting[true]);
	share->aside = false;
	share->asks = false;
	INIT_LIST_HEAD(&share->turn);
	share->asking = 0;
	share->sending = 0;
	share->owner = 0;
}

/**
 * dmanic_share_adopt() - it is of somebody who may have been here before
 * @peer: whose
 * @share: it; new
 * @owner: who; not 0
 *
 * Ids of what he gave up count as his: else who leaves and comes again would get all of
 * them, one part after the other, until the last answer to what he gave up is there.
 */
void dmanic_share_adopt(struct dmanic_peer *peer, struct dmanic_share *share, u64 owner)
{
	struct dmanic_slot *slot;
	u32 i;

	share->owner = owner;
	for (i = 0; i < dmanic_peer_config(peer)->operations; i++) {
		slot = &peer->slot[i];
		if (!slot->used || slot->share || slot->owner != owner)
			continue;
		slot->share = share;
		share->asking++;
	}
}

/**
 * dmanic_share_end() - its memory is to go
 * @peer: whose
 * @share: it; no transfer of it is with the protocol
 */
void dmanic_share_end(struct dmanic_peer *peer, struct dmanic_share *share)
{
	u32 i;

	for (i = 0; share->asking && i < dmanic_peer_config(peer)->operations; i++) {
		if (!peer->slot[i].used || peer->slot[i].share != share)
			continue;
		peer->slot[i].share = NULL;
		peer->slot[i].owner = share->owner;
		share->asking--;
	}
}

/**
 * dmanic_flow_init() - an empty flow
 * @flow: it
 * @share: whose
 */
void dmanic_flow_init(struct dmanic_flow *flow, struct dmanic_share *share)
{
	INIT_LIST_HEAD(&flow->xfers);
	INIT_LIST_HEAD(&flow->turn);
	flow->share = share;
}

static struct dmanic_xfer *flow_first(struct dmanic_flow *flow)
{
	return list_first_entry(&flow->xfers, struct dmanic_xfer, entry);
}

static bool share_empty(const struct dmanic_share *share)
{
	return list_empty(&share->flows) && list_empty(&share->waiting[false]) &&
	       list_empty(&share->waiting[true]);
}

/**
 * dmanic_flow_add() - a transfer wants places in the stream
 * @tx: the stream
 * @flow: behind the others of this
 * @xfer: it
 */
void dmanic_flow_add(struct dmanic_tx *tx, struct dmanic_flow *flow,
		     struct dmanic_xfer *xfer)
{
	struct dmanic_share *share = flow->share;

	xfer->flow = flow;
	list_add_tail(&xfer->entry, &flow->xfers);
	if (list_empty(&flow->turn))
		list_add_tail(&flow->turn, &share->flows);
	if (list_empty(&share->turn))
		list_add_tail(&share->turn, &tx->turns);
}

/**
 * dmanic_flow_remove() - a transfer wants no more places
 * @xfer: it
 */
void dmanic_flow_remove(struct dmanic_xfer *xfer)
{
	struct dmanic_flow *flow = xfer->flow;
	bool first;

	if (!flow)
		return;
	first = flow_first(flow) == xfer;
	xfer->flow = NULL;
	list_del_init(&xfer->entry);
	if (xfer->begun && !dmanic_xfer_asks(xfer))
		flow->share->sending--;
	if (!list_empty(&flow->xfers)) {
		/* If it waited aside: what the next one needs may be another thing */
		if (first && !xfer->begun)
			list_move_tail(&flow->turn, &flow->share->flows);
		return;
	}
	list_del_init(&flow->turn);
	if (share_empty(flow->share))
		list_del_init(&flow->share->turn);
}

/**
 * dmanic_flow_pass() - it had a place: now the others
 * @tx: the stream
 * @flow: it
 */
void dmanic_flow_pass(struct dmanic_tx *tx, struct dmanic_flow *flow)
{
	if (!list_empty(&flow->turn))
		list_move_tail(&flow->turn, &flow->share->flows);
	if (!list_empty(&flow->share->turn))
		list_move_tail(&flow->share->turn, &tx->turns);
}

/* Of those that are not aside; who has to wait is from now on */
static struct dmanic_flow *share_going(struct dmanic_peer *peer, struct dmanic_share *share)
{
	struct dmanic_flow *flow, *next;

	list_for_each_entry_safe(flow, next, &share->flows, turn) {
		if (dmanic_xfer_ready(peer, flow_first(flow)))
			return flow;
		list_move_tail(&flow->turn, &share->waiting[dmanic_xfer_asks(flow_first(flow))]);
	}
	return NULL;
}

/* Of the two kinds of those that are, the one of which none was served last comes first */
static struct dmanic_flow *share_aside(struct dmanic_peer *peer, struct dmanic_share *share)
{
	struct dmanic_flow *flow;
	bool asks = share->asks;
	u32 i;

	for (i = 0; i < 2; i++, asks = !asks) {
		flow = list_first_entry_or_null(&share->waiting[asks], struct dmanic_flow,
						turn);
		if (!flow || !dmanic_xfer_ready(peer, flow_first(flow)))
			continue;
		share->asks = !asks;
		return flow;
	}
	return NULL;
}

/* Those that go on and those that wait alternate */
static struct dmanic_flow *share_next(struct dmanic_peer *peer, struct dmanic_share *share)
{
	struct dmanic_flow *flow;
	bool aside = share->aside;
	u32 i;

	for (i = 0; i < 2; i++, aside = !aside) {
		flow = aside ? share_aside(peer, share) : share_going(peer, share);
		if (!flow)
			continue;
		share->aside = !aside;
		return flow;
	}
	return NULL;
}

/**
 * dmanic_flow_next() - whose turn it is
 * @peer: whose
 * @tx: the stream
 *
 * Return: the transfer that can go on, or end; or NULL.
 */
struct dmanic_xfer *dmanic_flow_next(struct dmanic_peer *peer, struct dmanic_tx *tx)
{
	struct dmanic_share *share;
	struct dmanic_flow *flow;

	/* Nobody can: none of them is looked at */
	if (!dmanic_tx_room(peer, tx))
		return NULL;
	list_for_each_entry(share, &tx->turns, turn) {
		flow = share_next(peer, share);
		if (flow)
			return flow_first(flow);
	}
	return NULL;
}

/**
 * dmanic_flow_any() - a transfer that wants places, whether it can have them or not
 * @tx: the stream; who waited aside in the share is among the others again
 *
 * Return: it, or NULL.
 */
struct dmanic_xfer *dmanic_flow_any(struct dmanic_tx *tx)
{
	struct dmanic_share *share;

	share = list_first_entry_or_null(&tx->turns, struct dmanic_share, turn);
	if (!share)
		return NULL;
	list_splice_tail_init(&share->waiting[false], &share->flows);
	list_splice_tail_init(&share->waiting[true], &share->flows);
	return flow_first(list_first_entry(&share->flows, struct dmanic_flow, turn));
}
