/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host_node.h - the node that fuzz_host attacks: side 0 of the pair, with room for a
 * few peers, used again as the ether link does (ether_peer.c), and what must always be
 * so, whatever it is sent
 *
 * Operations and frames are memory of their own, exactly as long as they are, and
 * operations go when they have ended: the sanitizer sees who looks further, or later.
 */
#ifndef HOST_NODE_H
#define HOST_NODE_H

#include "selftests/fuzz/fuzz.h"
#include "selftests/native/proto_pair.h"

#define HOST_PEERS	4U
#define HOST_OPS	64U
#define HOST_TOLD	256U
#define HOST_NODES	8U	/* ids that are spoken of: 0 is the node, 1 is honest */
#define HOST_ANSWERS	64U	/* at once, of each kind; then one each millisecond */
#define HOST_KINDS	3U

struct host_peer {
	struct dmanic_share share[DMANIC_CLASSES];
	struct dmanic_flow flow[DMANIC_CLASSES];
	u64 tagged;	/* the protocol said that this is its tag */
	u32 ops;	/* that have not ended */
	bool kept;	/* somebody needs it: its place is not given away */
	struct dmanic_peer peer;
};

struct host_op {
	struct dmanic_xfer xfer;
	struct dmanic_lookup lookup;
	struct host_peer *of;
	bool ended;
	u8 memory[];
};

/* A tag, and the one address it was told to; DMANIC_EVERYBODY: any by now */
struct host_told {
	u64 tag;
	u64 to;
};

static struct dmanic_proto_config host_config;
static u64 host_secret;	/* tag of the honest node's connection, known to no other; or 0 */
static struct host_peer *host_peers[HOST_PEERS];
static u32 host_nr;
static struct host_op *host_ops[HOST_OPS];
static u32 host_nr_ops, host_pending;
static struct host_told host_told[HOST_TOLD];
static u32 host_nr_told;
static u32 host_seen;	/* frames in its list that were looked at */
static u32 host_frames;	/* how many these were */
static u64 host_sent;	/* and their bytes */
static u32 host_unsent;	/* the next frames cannot be sent */
static bool host_withdrawn;	/* or are not to be */
static u64 host_answers, host_began;

/* ---- peers ---- */

static inline struct host_peer *host_peer_of(struct dmanic_peer *peer)
{
	return container_of(peer, struct host_peer, peer);
}

static inline struct host_peer *host_find(u32 node)
{
	u32 i;

	for (i = 0; i < host_nr; i++)
		if (host_peers[i]->peer.node == node)
			return host_peers[i];
	return NULL;
}

static inline struct host_told *host_told_find(u64 tag)
{
	u32 i;

	for (i = 0; i < host_nr_told; i++)
		if (host_told[i].tag == tag)
			return &host_told[i];
	return NULL;
}

/* A tag is told: to nobody else than before */
static inline void host_tell(u64 tag, u64 to)
{
	struct host_told *told = host_told_find(tag);

	if (told)
		demand(told->to == to || told->to == DMANIC_EVERYBODY);
	else if (host_nr_told < HOST_TOLD)
		host_told[host_nr_told++] = (struct host_told) { tag, to };
}

/* Somebody knows a tag: from now on he may be told it wherever he is */
static inline void host_known(u64 tag)
{
	struct host_told *told = host_told_find(tag);

	if (told)
		told->to = DMANIC_EVERYBODY;
}

/* What the node sent since then: once each frame */
static inline void host_look(void)
{
	struct pair_side *side = &pair[0];
	const struct pair_frame *frame;
	struct dmanic_head head;

	for (; host_seen < side->nr_sent; host_seen++) {
		frame = &side->sent[host_seen];
		host_frames++;
		host_sent += frame->length;
		demand(frame->length <= side->host.config.mtu + dmanic_auth_bytes(&side->host));
		demand(!dmanic_head_decode(frame->bytes, frame->length, frame->length,
					   &head));
		if (head.type == DMANIC_WIRE_INIT || head.type == DMANIC_WIRE_ANSWER)
			host_tell(fuzz_u64(frame->bytes + 40), frame->to);
	}
	demand(!side->tags_told);
	while (side->nr_sent > 64) {
		pair_drop(0, 0);
		host_seen--;
	}
}

static inline void host_pump(struct dmanic_peer *peer)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	while (dmanic_peer_next(peer, pair_now, &out)) {
		demand(out.head_length);
		if (host_unsent) {
			host_unsent--;
			if (host_withdrawn)
				dmanic_peer_withdrawn(peer, &out, pair_now);
			else
				dmanic_peer_unsent(peer, &out, pair_now);
			continue;
		}
		pair_send(&pair[0], &out);
		host_look();
	}
}

static inline void host_pump_all(void)
{
	u32 i;

	for (i = 0; i < host_nr; i++)
		host_pump(&host_peers[i]->peer);
}

static inline void host_close(struct host_peer *hp, u32 status)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	dmanic_peer_close(&hp->peer, status, &out);
	demand(!hp->ops && !hp->peer.nr_replies && !hp->tagged);
	if (out.head_length)
		pair_send(&pair[0], &out);
	host_look();
}

static inline void host_name(struct host_peer *hp, u32 node)
{
	u32 i;

	for (i = 0; i < DMANIC_CLASSES; i++) {
		dmanic_share_init(&hp->share[i]);
		dmanic_flow_init(&hp->flow[i], &hp->share[i]);
	}
	hp->tagged = 0;
	hp->kept = false;
	dmanic_peer_init(&hp->peer, &pair[0].host, node);
}

/* Of the peers that nobody needs the one with least to lose; NULL: there is none */
static inline struct host_peer *host_reuse(u32 node)
{
	struct host_peer *hp, *best = NULL;
	u32 i;

	for (i = 0; i < host_nr; i++) {
		hp = host_peers[i];
		if (hp->ops || hp->kept ||
		    !(dmanic_peer_idle(&hp->peer) || dmanic_peer_quiet(&hp->peer, pair_now)))
			continue;
		if (!best || hp->peer.state < best->peer.state)
			best = hp;
	}
	if (!best)
		return NULL;
	if (best->peer.state == DMANIC_PEER_OPEN)
		host_close(best, DMANIC_STATUS_PEER_DEAD);
	dmanic_peer_forget(&best->peer);
	demand(!best->tagged);
	host_name(best, node);
	return best;
}

static inline struct host_peer *host_make(u32 node)
{
	struct host_peer *hp = host_find(node);

	if (hp || host_nr == HOST_PEERS)
		return hp ? hp : host_reuse(node);
	hp = calloc(1, offsetof(struct host_peer, peer) + dmanic_peer_bytes(&pair[0].host));
	host_peers[host_nr++] = hp;
	host_name(hp, node);
	return hp;
}

/* ---- its surroundings ---- */

static inline struct dmanic_peer *host_find_tag(struct dmanic_host *host, u64 tag)
{
	u32 i;

	(void)host;
	for (i = 0; i < host_nr; i++)
		if (tag && host_peers[i]->tagged == tag)
			return &host_peers[i]->peer;
	return NULL;
}

static inline struct dmanic_peer *host_find_node(struct dmanic_host *host, u32 node, bool make)
{
	struct host_peer *hp = make ? host_make(node) : host_find(node);

	demand(!make || node != host->config.node);
	return hp ? &hp->peer : NULL;
}

static inline void host_tag_changed(struct dmanic_peer *peer, u64 old)
{
	struct host_peer *hp = host_peer_of(peer);

	demand(hp->tagged == old);
	hp->tagged = peer->local_tag;
}

static inline struct host_op *host_op_of(struct dmanic_xfer *xfer)
{
	u32 i;

	for (i = 0; i < host_nr_ops && &host_ops[i]->xfer != xfer; i++)
		;
	demand(i < host_nr_ops);
	return host_ops[i];
}

static inline bool host_is_end(u32 status)
{
	return status == DMANIC_STATUS_PEER_DEAD || status == DMANIC_STATUS_PEER_RESTARTED;
}

/* Exactly once, for a reason there is; with OK only of a node that is there */
static inline void host_complete(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	struct host_op *op = host_op_of(xfer);

	demand(!op->ended && &op->of->peer == peer);
	demand(xfer->status < DMANIC_STATUS_COUNT);
	demand(xfer->status || peer->state == DMANIC_PEER_OPEN);
	demand(xfer->status || !xfer->incarnation || xfer->incarnation == peer->incarnation);
	demand(!op->of->kept || !host_is_end(xfer->status) ||
	       (xfer->incarnation && xfer->incarnation != peer->incarnation));
	op->ended = true;
	op->of->ops--;
	host_pending--;
	pair[0].completed++;
}

static inline void host_place_read(struct dmanic_peer *peer, struct dmanic_xfer *xfer,
				   u64 position, const struct dmanic_frame *frame, u32 at,
				   u32 length)
{
	demand(!host_op_of(xfer)->ended && xfer->kind == DMANIC_XFER_READ);
	pair_place_read(peer, xfer, position, frame, at, length);
}

/* ---- its life ---- */

static inline void host_stop(void)
{
	while (host_nr)
		free(host_peers[--host_nr]);
	free(pair[0].peer);
	pair[0].peer = NULL;
}

static inline void host_start(u64 incarnation)
{
	static struct dmanic_env env;

	env = pair_env;
	env.find_tag = host_find_tag;
	env.find_node = host_find_node;
	env.tag_changed = host_tag_changed;
	env.complete = host_complete;
	env.place_read = host_place_read;
	host_stop();
	pair_start(0, incarnation, host_config);
	/* It knows nobody */
	host_stop();
	pair[0].host.env = &env;
	host_seen = 0;
	host_answers = 0;
	host_began = pair_now;
}

/* What has ended goes, and was not written */
static inline void host_reap(void)
{
	u32 i, k, kept = 0;

	for (i = 0; i < host_nr_ops; i++) {
		if (!host_ops[i]->ended) {
			host_ops[kept++] = host_ops[i];
			continue;
		}
		if (host_ops[i]->xfer.kind == DMANIC_XFER_WRITE)
			for (k = 0; k < host_ops[i]->xfer.length; k++)
				demand(host_ops[i]->memory[k] == (u8)k);
		free(host_ops[i]);
	}
	host_nr_ops = kept;
}

static inline void host_submit(struct host_peer *hp, const struct dmanic_xfer *xfer,
			       const struct dmanic_lookup *lookup)
{
	struct host_op *op = calloc(1, sizeof(*op) + xfer->length);
	u32 i;

	op->xfer = *xfer;
	op->lookup = *lookup;
	op->of = hp;
	op->xfer.lookup = &op->lookup;
	op->xfer.source = op->memory;
	for (i = 0; i < xfer->length; i++)
		op->memory[i] = i;
	host_ops[host_nr_ops++] = op;
	host_pending++;
	hp->ops++;
	dmanic_peer_submit(&hp->peer, &hp->flow[xfer->class], &op->xfer, pair_now);
}

/* ---- what must be so ---- */

static inline void host_check_peer(const struct host_peer *hp)
{
	const struct dmanic_peer *peer = &hp->peer;
	u32 i, used = 0, replies = 0;
	const struct dmanic_tx *tx;
	const struct dmanic_rx *rx;

	demand(hp->tagged == peer->local_tag);
	demand(!peer->local_tag == (peer->state == DMANIC_PEER_CLOSED));
	demand(!hp->ops || !dmanic_peer_idle(peer));
	for (i = 0; i < peer->host->config.operations; i++) {
		used += peer->slot[i].used;
		replies += peer->reply[i].used;
	}
	demand(used + peer->nr_free == peer->operations && replies == peer->nr_replies);
	for (i = 0; i < DMANIC_CLASSES; i++) {
		tx = &peer->tx[i];
		rx = &peer->rx[i];
		demand(tx->una <= tx->next && tx->next <= tx->end);
		demand(tx->extent_tail - tx->extent_head <= tx->extent_mask + 1);
		demand(tx->sent_tail - tx->sent_head <= tx->sent_mask + 1);
		demand(rx->got.nr <= rx->got.max && rx->nr_early <= rx->max_early &&
		       rx->nr_later <= rx->max_later);
	}
}

static inline void host_check(void)
{
	const struct dmanic_host *host = &pair[0].host;
	u32 i, k, senders = 0, heavy = 0, reading = 0;
	const struct dmanic_peer *peer;

	host_look();
	host_reap();
	for (i = 0; i < host_nr; i++) {
		peer = &host_peers[i]->peer;
		host_check_peer(host_peers[i]);
		senders += !!peer->sender_until;
		heavy += !!peer->heavy_until;
		for (k = 0; k < host->config.operations; k++)
			reading += peer->reply[k].used && peer->reply[k].reading;
	}
	demand(host->senders == senders && host->heavy == heavy);
	demand(pair[0].reads == reading);
	demand(host_pending == host_nr_ops);
}

#endif /* HOST_NODE_H */
