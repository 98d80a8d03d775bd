// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_peer.c - other nodes: finding, making, telling of them
 *
 * A peer needs half a megabyte, which softirq cannot have. Who connects from here
 * allocates; for who connects to us a spare one is kept and made anew by a worker.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/random.h>

#include "ether.h"

/**
 * dmanic_ether_peer_find() - a peer by node id
 * @en: of this node; under its lock
 * @id: of the other
 *
 * Return: it or NULL.
 */
struct ether_peer *dmanic_ether_peer_find(struct ether_node *en, u32 id)
{
	struct ether_peer *ep;

	lockdep_assert_held(&en->lock);
	hash_for_each_possible(en->peers, ep, entry, id)
		if (ep->peer.node == id)
			return ep;
	return NULL;
}

static struct ether_peer *peer_alloc(struct ether_node *en)
{
	size_t bytes = offsetof(struct ether_peer, peer) + dmanic_peer_bytes(&en->host);

	return kvzalloc(bytes, GFP_KERNEL);
}

/* It becomes the peer of that id */
static void peer_add(struct ether_node *en, struct ether_peer *ep, u32 id)
{
	unsigned int i;

	lockdep_assert_held(&en->lock);
	ep->en = en;
	INIT_HLIST_NODE(&ep->tagged);
	INIT_LIST_HEAD(&ep->active);
	INIT_LIST_HEAD(&ep->ops);
	hrtimer_init(&ep->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	ep->timer.function = dmanic_ether_timer;
	ep->armed = DMANIC_NEVER;
	for (i = 0; i < ETHER_FLOWS; i++)
		dmanic_flow_init(&ep->flow[i]);
	dmanic_flow_init(&ep->asking);
	dmanic_peer_init(&ep->peer, &en->host, id);
	hash_add(en->peers, &ep->entry, id);
	en->nr_peers++;
}

/**
 * dmanic_ether_peer_make() - a peer by node id, new if need be
 * @en: of this node; without its lock
 * @id: of the other
 *
 * May sleep. Return: it, or NULL: no memory, or too many.
 */
struct ether_peer *dmanic_ether_peer_make(struct ether_node *en, u32 id)
{
	struct ether_peer *ep, *new = NULL;

	spin_lock_bh(&en->lock);
	ep = dmanic_ether_peer_find(en, id);
	spin_unlock_bh(&en->lock);
	if (ep)
		return ep;
	new = peer_alloc(en);
	if (!new)
		return NULL;
	spin_lock_bh(&en->lock);
	ep = dmanic_ether_peer_find(en, id);
	if (!ep && en->nr_peers < ETHER_PEERS_MAX && !en->stopped) {
		ep = new;
		new = NULL;
		peer_add(en, ep, id);
	}
	spin_unlock_bh(&en->lock);
	kvfree(new);
	return ep;
}

/**
 * dmanic_ether_peer_refill() - have a spare peer
 * @en: the node; without its lock
 */
void dmanic_ether_peer_refill(struct ether_node *en)
{
	struct ether_peer *new;

	if (READ_ONCE(en->spare))
		return;
	new = peer_alloc(en);
	if (!new)
		return;
	spin_lock_bh(&en->lock);
	if (!en->spare && !en->stopped)
		swap(en->spare, new);
	spin_unlock_bh(&en->lock);
	kvfree(new);
}

/**
 * dmanic_ether_peer_close_all() - this node gives all connections up
 * @en: the node; under its lock
 *
 * What is pending ends as LINK_DOWN. The others are told, if the frames arrive.
 */
void dmanic_ether_peer_close_all(struct ether_node *en)
{
	struct ether_peer *ep;
	struct sk_buff *skb;
	int i;

	lockdep_assert_held(&en->lock);
	hash_for_each(en->peers, i, ep, entry) {
		dmanic_peer_close(&ep->peer, DMANIC_STATUS_LINK_DOWN, &en->out);
		if (!en->out.head_length)
			continue;
		skb = dmanic_ether_frame_build(en, &en->out);
		if (skb)
			__skb_queue_tail(&en->answers, skb);
	}
}

/**
 * dmanic_ether_peer_free_all() - the node goes
 * @en: the node; stopped, nobody runs it, and no timer does
 */
void dmanic_ether_peer_free_all(struct ether_node *en)
{
	struct hlist_node *next;
	struct ether_peer *ep;
	int i;

	hash_for_each_safe(en->peers, i, next, ep, entry) {
		hash_del(&ep->entry);
		kvfree(ep);
	}
	kvfree(en->spare);
	en->spare = NULL;
}

/* ---- telling ---- */

static enum dmanic_event peer_event(enum dmanic_peer_event event)
{
	switch (event) {
	case DMANIC_PEER_FOUND:
		return DMANIC_EVENT_PEER_UP;
	case DMANIC_PEER_RESTARTED:
		return DMANIC_EVENT_PEER_RESTARTED;
	case DMANIC_PEER_REFUSED:
		return DMANIC_EVENT_PEER_REFUSED;
	case DMANIC_PEER_RIVAL:
		return DMANIC_EVENT_PEER_RIVAL;
	default:
		return DMANIC_EVENT_PEER_DOWN;
	}
}

/**
 * dmanic_ether_wakeups() - tell listeners of peers, make a spare one
 * @work: of the node, which it holds
 */
void dmanic_ether_wakeups(struct work_struct *work)
{
	struct ether_node *en = container_of(work, struct ether_node, wakeups);
	struct ether_event events[ETHER_EVENTS];
	unsigned int nr, i;

	dmanic_ether_peer_refill(en);
	spin_lock_bh(&en->lock);
	nr = en->nr_events;
	en->nr_events = 0;
	memcpy(events, en->events, sizeof(events));
	spin_unlock_bh(&en->lock);

	mutex_lock(&dmanic_nodes_lock);
	for (i = 0; i < nr && en->node.announced && !dmanic_node_dead(&en->node); i++)
		dmanic_netlink_peer_event(&en->node, peer_event(events[i].event),
					  events[i].node);
	mutex_unlock(&dmanic_nodes_lock);
	dmanic_node_put(&en->node);
}

static void peer_wakeup(struct ether_node *en)
{
	lockdep_assert_held(&en->lock);
	if (en->stopped)
		return;
	get_device(&en->node.dev);
	if (!queue_work(dmanic_ether_wq, &en->wakeups))
		put_device(&en->node.dev);
}

/* ---- what the protocol asks for ---- */

static struct ether_node *host_node(struct dmanic_host *host)
{
	return container_of(host, struct ether_node, host);
}

static u64 env_random(struct dmanic_host *host)
{
	return get_random_u64();
}

static struct dmanic_peer *env_find_tag(struct dmanic_host *host, u64 tag)
{
	struct ether_node *en = host_node(host);
	struct ether_peer *ep;

	hash_for_each_possible(en->tags, ep, tagged, tag)
		if (ep->peer.local_tag == tag)
			return &ep->peer;
	return NULL;
}

static struct dmanic_peer *env_find_node(struct dmanic_host *host, u32 node, bool make)
{
	struct ether_node *en = host_node(host);
	struct ether_peer *ep;

	ep = dmanic_ether_peer_find(en, node);
	if (!ep && make && en->nr_peers < ETHER_PEERS_MAX) {
		ep = en->spare;
		en->spare = NULL;
		if (ep)
			peer_add(en, ep, node);
		peer_wakeup(en);
	}
	return ep ? &ep->peer : NULL;
}

static void env_tag_changed(struct dmanic_peer *peer, u64 old)
{
	struct ether_peer *ep = to_ether_peer(peer);

	if (old)
		hash_del_rcu(&ep->tagged);
	if (peer->local_tag)
		hash_add_rcu(ep->en->tags, &ep->tagged, peer->local_tag);
}

static void env_event(struct dmanic_peer *peer, enum dmanic_peer_event event)
{
	/* Without a peer: somebody has this node's own id */
	struct ether_node *en = peer ? to_ether_peer(peer)->en :
				       this_cpu_read(dmanic_ether_receiving);

	if (event == DMANIC_PEER_FOUND)
		to_ether_peer(peer)->check = true;
	if (en->nr_events < ETHER_EVENTS)
		en->events[en->nr_events++] = (struct ether_event) {
			.node = peer ? peer->node : en->node.id,
			.event = event,
		};
	peer_wakeup(en);
}

static u32 env_payload_crc(const struct dmanic_frame *frame, u32 at, u32 length)
{
	return dmanic_ether_frame_crc(frame->link, at, length);
}

const struct dmanic_env dmanic_ether_env = {
	.random = env_random,
	.find_tag = env_find_tag,
	.find_node = env_find_node,
	.tag_changed = env_tag_changed,
	.place = dmanic_ether_place,
	.notify = dmanic_ether_notify,
	.atomic = dmanic_ether_atomic,
	.lookup = dmanic_ether_lookup,
	.read_begin = dmanic_ether_read_begin,
	.read_end = dmanic_ether_read_end,
	.place_read = dmanic_ether_place_read,
	.complete = dmanic_ether_complete,
	.cut = dmanic_ether_cut,
	.payload_crc = env_payload_crc,
	.event = env_event,
};
