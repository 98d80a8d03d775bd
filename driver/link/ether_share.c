// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_share.c - users of a node share its peers
 *
 * To the protocol each user is one share, and each of his queues a flow of it, so that
 * neither another user nor another queue has to wait until all of one is sent.
 * Their memory comes with account and queue: one for each place of a peer.
 *
 * Places are few. One user may use most of them at once, not all. What he has used and
 * another node keeps alive counts as his, too, when there is no place left.
 */
#include <linux/sched/user.h>
#include <linux/uidgid.h>

#include "ether.h"

static struct ether_share *share_of(const struct ether_peer *ep,
				    const struct dmanic_account *account)
{
	struct ether_user *user = account->link;

	return &user->share[ep->index];
}

/* The same for who comes again; one for each share */
static u64 share_owner(const struct dmanic_account *account, unsigned int share)
{
	return (u64)__kuid_val(account->user->uid) << 8 | (share + 1);
}

/**
 * dmanic_ether_share_check() - may this user use another node
 * @en: this node, under its lock
 * @id: of the other
 * @account: of the user
 * @refusal: filled if not; may be NULL
 *
 * To be asked before a peer is taken: that may cost another one its place.
 *
 * Return: 0 when he does already, or uses not too many others; -EDQUOT.
 */
int dmanic_ether_share_check(struct ether_node *en, u32 id,
			     const struct dmanic_account *account,
			     struct dmanic_refusal *refusal)
{
	const struct ether_user *user = account->link;
	const struct ether_peer *ep;

	lockdep_assert_held(&en->lock);
	if (user->nr_peers < ETHER_USER_PEERS_MAX)
		return 0;
	ep = dmanic_ether_peer_find(en, id);
	if (ep && share_of(ep, account)->users)
		return 0;
	return dmanic_limit_refuse(user->nr_peers, ETHER_USER_PEERS_MAX, DMANIC_LIMIT_USER_PEERS,
				   refusal);
}

/**
 * dmanic_ether_share_get() - a user begins to use a peer, or does once more
 * @ep: the peer, under its node's lock
 * @account: of the user
 *
 * Until dmanic_ether_share_put().
 */
void dmanic_ether_share_get(struct ether_peer *ep, const struct dmanic_account *account)
{
	struct ether_share *share = share_of(ep, account);
	struct ether_user *user = account->link;
	unsigned int i;

	lockdep_assert_held(&ep->en->lock);
	if (!share->asking.share) {
		for (i = 0; i < DMANIC_CLASSES; i++) {
			dmanic_share_init(&share->of[i]);
			dmanic_share_adopt(&ep->peer, &share->of[i],
					   share_owner(account, i));
		}
		dmanic_flow_init(&share->asking, &share->of[DMANIC_URGENT]);
	}
	user->nr_uses++;
	if (!share->users++)
		user->nr_peers++;
}

/**
 * dmanic_ether_share_put() - that has ended
 * @ep: the peer, under its node's lock
 * @account: of the user
 */
void dmanic_ether_share_put(struct ether_peer *ep, const struct dmanic_account *account)
{
	struct ether_user *user = account->link;

	lockdep_assert_held(&ep->en->lock);
	user->nr_uses--;
	if (!--share_of(ep, account)->users)
		user->nr_peers--;
}

/**
 * dmanic_ether_share_full() - has a user so much under way with a peer that a queue's next waits
 * @ep: the peer, under its node's lock
 * @queue: the user's
 *
 * All that is under way with a peer ends under one hold of the lock when it dies. A queue that
 * has little is not held up by his others; one that waits has something, whose end it waits for.
 *
 * Return: true when it has to.
 */
bool dmanic_ether_share_full(const struct ether_peer *ep, const struct dmanic_queue *queue)
{
	lockdep_assert_held(&ep->en->lock);
	return to_ether_queue(queue)->nr_ops >= ETHER_QUEUE_OPS &&
	       share_of(ep, queue->ctx->account)->users >= ETHER_SHARE_OPS;
}

/**
 * dmanic_ether_share_asking() - where a user's lookups wait
 * @ep: the peer
 * @account: of the user, who uses it
 *
 * Return: the flow.
 */
struct dmanic_flow *dmanic_ether_share_asking(const struct ether_peer *ep,
					      const struct dmanic_account *account)
{
	return &share_of(ep, account)->asking;
}

/**
 * dmanic_ether_share_flow() - where a queue's transfers wait
 * @ep: the peer, which its user uses; under its node's lock
 * @queue: whose
 *
 * Return: the flow.
 */
struct dmanic_flow *dmanic_ether_share_flow(const struct ether_peer *ep,
					    const struct dmanic_queue *queue)
{
	struct dmanic_flow *flow = &to_ether_queue(queue)->flow[ep->index];

	if (!flow->share)
		dmanic_flow_init(flow, &share_of(ep, queue->ctx->account)->of[DMANIC_BULK]);
	return flow;
}

/* As link.h says of account_gone(); ids of what he gave up may be in use yet */
void dmanic_ether_account_gone(struct dmanic_node *node, struct dmanic_account *account)
{
	struct ether_node *en = to_ether(node);
	struct ether_share *share;
	struct ether_peer *ep;
	unsigned int k;
	int i;

	spin_lock_bh(&en->lock);
	hash_for_each(en->peers, i, ep, entry) {
		if (ep->user == account->link)
			dmanic_ether_peer_disown(ep);
		share = share_of(ep, account);
		for (k = 0; share->asking.share && k < DMANIC_CLASSES; k++)
			dmanic_share_end(&ep->peer, &share->of[k]);
	}
	spin_unlock_bh(&en->lock);
}
