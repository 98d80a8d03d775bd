// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_peer.c - other nodes: finding, making, telling of them
 *
 * A peer needs half a megabyte, which softirq cannot have. Who connects from here
 * allocates; for who connects to us a spare one is kept and made anew by a worker.
 *
 * Anybody can send an INIT in the name of any node, so peers are used again for other
 * nodes: those that came to nothing always, others when there are too many, and even
 * those that are connected when nothing is under way: they connect anew when there is.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/random.h>

#include "ether.h"

/* What is told of peers under one hold of the mutex */
#define PEER_NEWS	64U

/* What is lost with a place, the least first */
enum peer_rank {
	PEER_UNUSED,	/* a connection */
	PEER_OVERSTAYS,	/* what a guest asked for and does not fetch */
	PEER_LAPSED,	/* what a node does that a user asked for who had more than his part */
	PEER_CROWDS,	/* what a guest does, of too many */
	PEER_KEEPS,	/* it is in use */
};

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

static void peer_wakeup(struct ether_node *en)
{
	lockdep_assert_held(&en->lock);
	if (en->stopped)
		return;
	get_device(&en->node.dev);
	if (!queue_work(dmanic_ether_wq, &en->wakeups))
		put_device(&en->node.dev);
}

static struct ether_peer *peer_alloc(struct ether_node *en)
{
	size_t bytes = offsetof(struct ether_peer, peer) + dmanic_peer_bytes(&en->host);

	return kvzalloc(bytes, GFP_KERNEL_ACCOUNT);
}

/* Nobody's, as far as places are counted */
static void peer_uncount(struct ether_peer *ep)
{
	if (ep->user)
		ep->user->nr_places--;
	else
		ep->en->nr_guests--;
	ep->user = NULL;
}

/* Of who asked for it first, or later, while that one has more than his part */
static void peer_set_user(struct ether_peer *ep, const struct dmanic_account *account)
{
	struct ether_user *user = account->link;

	if (ep->user == user || (ep->user && ep->user->nr_places <= ETHER_USER_PEERS_MAX))
		return;
	peer_uncount(ep);
	ep->user = user;
	user->nr_places++;
}

static void peer_set_came(struct ether_peer *ep, bool came)
{
	ep->en->nr_came += came - ep->came;
	ep->came = came;
}

/**
 * dmanic_ether_peer_disown() - who asked for it is gone: it is a guest like others
 * @ep: a peer with a user, under its node's lock
 */
void dmanic_ether_peer_disown(struct ether_peer *ep)
{
	lockdep_assert_held(&ep->en->lock);
	peer_uncount(ep);
	ep->en->nr_guests++;
	peer_set_came(ep, true);
}

/* It becomes the peer of that id, for @account; NULL: it is a guest */
static void peer_name(struct ether_node *en, struct ether_peer *ep, u32 id,
		      const struct dmanic_account *account)
{
	lockdep_assert_held(&en->lock);
	ep->check = false;
	ep->died = 0;
	ep->rival_at = 0;
	ep->user = NULL;
	en->nr_guests++;
	peer_set_came(ep, !account);
	if (account)
		peer_set_user(ep, account);
	dmanic_peer_init(&ep->peer, &en->host, id);
	hash_add(en->peers, &ep->entry, id);
	/* Guests come and go as strangers like: nobody's dump begins anew for that */
	if (account)
		atomic_inc(&dmanic_peers_generation);
}

static void peer_add(struct ether_node *en, struct ether_peer *ep, u32 id,
		     const struct dmanic_account *account)
{
	ep->en = en;
	ep->index = en->nr_peers++;
	INIT_HLIST_NODE(&ep->tagged);
	INIT_LIST_HEAD(&ep->active);
	ep->hash = get_random_u32();
	INIT_LIST_HEAD(&ep->ops);
	INIT_LIST_HEAD(&ep->news);
	hrtimer_init(&ep->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	ep->timer.function = dmanic_ether_timer;
	ep->armed = DMANIC_NEVER;
	peer_name(en, ep, id, account);
}

static bool peer_unwanted(const struct ether_peer *ep)
{
	return !ep->users && !ep->events && list_empty(&ep->ops);
}

/*
 * How well may its place be had, the least first, where somebody wants it: @here, and there
 * is no other, or a stranger.
 *
 * A user who tries one node after the other, and a neighbour who is all of them and keeps
 * talking, do not leave others without a place: for who is here, also those are to be had of
 * which nothing speaks but more than the part of the user, or of guests.
 */
static enum peer_rank peer_rank(const struct ether_peer *ep, bool here, u64 now)
{
	const struct ether_node *en = ep->en;

	if (!peer_unwanted(ep))
		return PEER_KEEPS;
	/* Nothing that anybody wants, but for a connection */
	if (dmanic_peer_idle(&ep->peer) || dmanic_peer_quiet(&ep->peer, now))
		return PEER_UNUSED;
	if (!here)
		return PEER_KEEPS;
	/* What it has asked for and does not fetch is no reason to stay */
	if (!ep->user && dmanic_peer_silent(&ep->peer, now))
		return PEER_OVERSTAYS;
	if (ep->user && ep->user->nr_places > ETHER_USER_PEERS_MAX &&
	    (!ep->came || en->nr_came > ETHER_GUESTS_KEPT))
		return PEER_LAPSED;
	if (!ep->user && en->nr_guests > ETHER_GUESTS_KEPT)
		return PEER_CROWDS;
	return PEER_KEEPS;
}

/*
 * How little is lost with it: who never connected, who is not and is not about to be,
 * who has been waiting, or has sent nothing, for longest.
 */
static bool peer_before(const struct ether_peer *a, const struct ether_peer *b)
{
	if (!a->peer.incarnation != !b->peer.incarnation)
		return !a->peer.incarnation;
	if (a->peer.state != b->peer.state)
		return a->peer.state < b->peer.state;
	return dmanic_peer_active_at(&a->peer) < dmanic_peer_active_at(&b->peer);
}

/* It is told that it is not connected any more, if there is memory for that */
static void peer_part(struct ether_node *en, struct ether_peer *ep, u32 status)
{
	struct dmanic_out *out = &en->farewell;
	struct sk_buff *skb;

	dmanic_peer_close(&ep->peer, status, out);
	if (!out->head_length)
		return;
	skb = dmanic_ether_frame_build(en, out);
	if (skb)
		__skb_queue_tail(&en->answers, skb);
	else
		en->unsent++;
}

/* Whose place can be had, with the least loss; NULL: nobody's */
static struct ether_peer *peer_least(struct ether_node *en, bool own)
{
	bool crowded = !own && en->nr_guests >= ETHER_GUESTS_MAX;
	bool all = en->nr_peers >= ETHER_PEERS_MAX, full = crowded || all;
	enum peer_rank rank, least = PEER_KEEPS;
	struct ether_peer *ep, *best = NULL;
	u64 now = ktime_get_ns();
	int i;

	hash_for_each(en->peers, i, ep, entry) {
		rank = peer_rank(ep, own && all, now);
		if (rank == PEER_KEEPS || rank > least || (crowded && ep->user))
			continue;
		if (!full && (ep->peer.incarnation || ep->peer.state != DMANIC_PEER_CLOSED))
			continue;
		if (rank < least || peer_before(ep, best))
			best = ep;
		least = rank;
	}
	return best;
}

/*
 * A peer of another node becomes that of @id; NULL: none can. Unless there are too
 * many already only one that never connected, and has had its time to. Guests have
 * places of guests only, once they have most.
 */
static struct ether_peer *peer_reuse(struct ether_node *en, u32 id,
				     const struct dmanic_account *account)
{
	struct ether_peer *best;

	lockdep_assert_held(&en->lock);
	best = peer_least(en, account);
	if (!best)
		return NULL;
	if (best->peer.state >= DMANIC_PEER_PAIRED)
		peer_part(en, best, DMANIC_STATUS_PEER_DEAD);
	/* Its timer may go off yet, for nothing */
	dmanic_peer_forget(&best->peer);
	list_del_init(&best->active);
	hash_del(&best->entry);
	peer_uncount(best);
	peer_name(en, best, id, account);
	return best;
}

/**
 * dmanic_ether_peer_take() - a peer by node id, new if need be, without sleeping
 * @en: of this node; under its lock
 * @id: of the other
 * @account: of who wants it; NULL: nobody here does
 *
 * Return: it, or NULL: there are too many, or no spare one.
 */
struct ether_peer *dmanic_ether_peer_take(struct ether_node *en, u32 id,
					  const struct dmanic_account *account)
{
	struct ether_peer *ep = dmanic_ether_peer_find(en, id);

	if (ep && account)
		peer_set_user(ep, account);
	if (!ep)
		ep = peer_reuse(en, id, account);
	if (ep || en->nr_peers >= ETHER_PEERS_MAX ||
	    (!account && en->nr_guests >= ETHER_GUESTS_MAX))
		return ep;
	ep = en->spare;
	en->spare = NULL;
	if (ep)
		peer_add(en, ep, id, account);
	peer_wakeup(en);
	return ep;
}

/* For who makes it; @new is NULL once it is used */
static struct ether_peer *peer_get(struct ether_node *en, u32 id,
				   const struct dmanic_account *account,
				   struct ether_peer **new, struct dmanic_refusal *refusal)
{
	struct ether_peer *ep;
	int ret;

	lockdep_assert_held(&en->lock);
	if (en->stopped)
		return ERR_PTR(-ENODEV);
	ret = dmanic_ether_share_check(en, id, account, refusal);
	if (ret)
		return ERR_PTR(ret);
	ep = dmanic_ether_peer_take(en, id, account);
	if (!ep && en->nr_peers >= ETHER_PEERS_MAX)
		return ERR_PTR(dmanic_limit_refuse(en->nr_peers, ETHER_PEERS_MAX,
						   DMANIC_LIMIT_PEERS, refusal));
	if (!ep && *new) {
		ep = *new;
		*new = NULL;
		peer_add(en, ep, id, account);
	}
	if (!ep)
		return ERR_PTR(-ENOMEM);
	dmanic_ether_share_get(ep, account);
	ep->users++;
	return ep;
}

/**
 * dmanic_ether_peer_make() - a peer by node id, new if need be
 * @en: of this node; without its lock
 * @id: of the other
 * @account: of who wants it
 * @refusal: filled on failure
 *
 * May sleep. Return: it, until dmanic_ether_peer_put(); ERR_PTR: -ENODEV the node goes;
 * -EDQUOT; -ENOMEM.
 */
struct ether_peer *dmanic_ether_peer_make(struct ether_node *en, u32 id,
					  const struct dmanic_account *account,
					  struct dmanic_refusal *refusal)
{
	struct ether_peer *ep, *new = NULL;

	spin_lock_bh(&en->lock);
	ep = peer_get(en, id, account, &new, refusal);
	spin_unlock_bh(&en->lock);
	if (ep != ERR_PTR(-ENOMEM))
		return ep;
	new = peer_alloc(en);
	if (!new)
		return ep;
	spin_lock_bh(&en->lock);
	ep = peer_get(en, id, account, &new, refusal);
	spin_unlock_bh(&en->lock);
	kvfree(new);
	return ep;
}

/**
 * dmanic_ether_peer_put() - who made it needs it no more
 * @ep: the peer; without its node's lock
 * @account: as it was made for
 */
void dmanic_ether_peer_put(struct ether_peer *ep, const struct dmanic_account *account)
{
	spin_lock_bh(&ep->en->lock);
	dmanic_ether_share_put(ep, account);
	ep->users--;
	spin_unlock_bh(&ep->en->lock);
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
	int i;

	lockdep_assert_held(&en->lock);
	hash_for_each(en->peers, i, ep, entry)
		peer_part(en, ep, DMANIC_STATUS_LINK_DOWN);
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
	case DMANIC_PEER_DEGRADED:
		return DMANIC_EVENT_PEER_DEGRADED;
	case DMANIC_PEER_RESTORED:
		return DMANIC_EVENT_PEER_RESTORED;
	default:
		return DMANIC_EVENT_PEER_DOWN;
	}
}

/* What is told of one node at a time */
struct peer_news {
	u32 node;
	bool open;
	unsigned long events;
};

static bool peer_take_news(struct ether_node *en, struct peer_news *news)
{
	struct ether_peer *ep;

	spin_lock_bh(&en->lock);
	ep = list_first_entry_or_null(&en->news, struct ether_peer, news);
	*news = (struct peer_news) { .node = en->node.id, .events = en->events };
	if (ep) {
		*news = (struct peer_news) {
			.node = ep->peer.node,
			.open = ep->peer.state == DMANIC_PEER_OPEN,
			.events = ep->events,
		};
		list_del_init(&ep->news);
		ep->events = 0;
	} else {
		en->events = 0;
	}
	spin_unlock_bh(&en->lock);
	return news->events;
}

/* What happened often is told once; who listens is left with how it is now */
static void peer_tell(struct ether_node *en, struct peer_news *news)
{
	unsigned int event;

	if (!news->open && __test_and_clear_bit(DMANIC_PEER_FOUND, &news->events))
		dmanic_netlink_peer_event(&en->node, DMANIC_EVENT_PEER_UP, news->node);
	for (event = DMANIC_PEER_FOUND + 1; event < DMANIC_PEER_EVENTS; event++)
		if (test_bit(event, &news->events))
			dmanic_netlink_peer_event(&en->node, peer_event(event),
						  news->node);
	if (test_bit(DMANIC_PEER_FOUND, &news->events))
		dmanic_netlink_peer_event(&en->node, DMANIC_EVENT_PEER_UP, news->node);
}

/**
 * dmanic_ether_wakeups() - tell listeners of peers, make a spare one
 * @work: of the node, which it holds
 */
void dmanic_ether_wakeups(struct work_struct *work)
{
	struct ether_node *en = container_of(work, struct ether_node, wakeups);
	unsigned int left = PEER_NEWS;
	struct peer_news news;

	dmanic_ether_peer_refill(en);
	mutex_lock(&dmanic_nodes_lock);
	/* Who listens hears of the node first */
	while (left && en->node.announced && !dmanic_node_dead(&en->node) &&
	       peer_take_news(en, &news)) {
		peer_tell(en, &news);
		left--;
	}
	mutex_unlock(&dmanic_nodes_lock);
	/* Others want the mutex, too */
	if (!left) {
		spin_lock_bh(&en->lock);
		peer_wakeup(en);
		spin_unlock_bh(&en->lock);
	}
	dmanic_node_put(&en->node);
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

	ep = make ? dmanic_ether_peer_take(en, node, NULL) : dmanic_ether_peer_find(en, node);
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

/* A rival sends again and again, and anybody can pretend to be one */
static bool peer_rival_again(u64 *at)
{
	u64 now = ktime_get_ns();

	if (*at && now - *at < NSEC_PER_SEC)
		return true;
	*at = now;
	return false;
}

/* What was posted before, and waits for something else yet, is not to ask anew */
static void peer_died(struct ether_peer *ep)
{
	struct dmanic_node *node = &ep->en->node;

	lockdep_assert_held(&ep->en->lock);
	WRITE_ONCE(node->deaths, node->deaths + 1);
	ep->died = node->deaths;
}

static void env_event(struct dmanic_peer *peer, enum dmanic_peer_event event)
{
	/* Without a peer: somebody has this node's own id */
	struct ether_node *en = peer ? to_ether_peer(peer)->en :
				       this_cpu_read(dmanic_ether_receiving);
	struct ether_peer *ep = peer ? to_ether_peer(peer) : NULL;

	if (event == DMANIC_PEER_RIVAL &&
	    peer_rival_again(ep ? &ep->rival_at : &en->rival_at))
		return;
	if (!ep) {
		__set_bit(event, &en->events);
	} else {
		if (event == DMANIC_PEER_FOUND)
			ep->check = true;
		else if (event == DMANIC_PEER_LOST || event == DMANIC_PEER_RESTARTED)
			peer_died(ep);
		/* Of two that undo each other the last one is told */
		if (event == DMANIC_PEER_DEGRADED)
			__clear_bit(DMANIC_PEER_RESTORED, &ep->events);
		else if (event == DMANIC_PEER_RESTORED)
			__clear_bit(DMANIC_PEER_DEGRADED, &ep->events);
		__set_bit(event, &ep->events);
		if (list_empty(&ep->news))
			list_add_tail(&ep->news, &en->news);
	}
	peer_wakeup(en);
}

static u32 env_payload_crc(const struct dmanic_frame *frame, u32 at, u32 length)
{
	return dmanic_ether_frame_crc(dmanic_ether_bytes(frame), at, length);
}

static bool env_payload_mac(const struct dmanic_frame *frame, u32 at, u32 length,
			    struct dmanic_mac *mac)
{
	if (!dmanic_ether_frame_own(frame->link))
		return false;
	dmanic_ether_frame_mac(dmanic_ether_bytes(frame), at, length, mac);
	return true;
}

/* Of this machine, so that a node that is made anew goes on where it was when clocks go back */
static u64 env_time_of_day(struct dmanic_host *host)
{
	static atomic64_t newest = ATOMIC64_INIT(0);
	s64 old = atomic64_read(&newest), now;

	do {
		now = max_t(s64, ktime_get_real_ns(), old + 1);
	} while (!atomic64_try_cmpxchg(&newest, &old, now));
	return now;
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
	.payload_mac = env_payload_mac,
	.time_of_day = env_time_of_day,
	.event = env_event,
};
