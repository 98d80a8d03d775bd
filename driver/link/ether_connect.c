// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_connect.c - where an export of another node is: asking, and answering
 *
 * A name that is not published yet is asked for again, later and later: the other
 * side remembers nobody who waits.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "ether.h"

/* A name is asked for again after this time at first, and after that at last */
#define CONNECT_FIRST_NS	(500 * NSEC_PER_USEC)
#define CONNECT_LAST_NS		(50 * NSEC_PER_MSEC)
/* Who is alive answers within so many times the time after which who is silent is dead */
#define CONNECT_DEAD		4U

static int connect_errno(u32 status)
{
	switch (status) {
	case DMANIC_STATUS_OK:
		return 0;
	case DMANIC_STATUS_ACCESS:
		return -EACCES;
	case DMANIC_STATUS_INVALID:
		return -EINVAL;
	case DMANIC_STATUS_NO_SEGMENT:
		return -ENOENT;
	case DMANIC_STATUS_CANCELLED:
		return -EINTR;
	case DMANIC_STATUS_UNSUPPORTED:
		return -EOPNOTSUPP;
	case DMANIC_STATUS_TIMED_OUT:
		return -ETIME;
	default:
		return -EHOSTUNREACH;
	}
}

static u32 connect_status(int ret)
{
	switch (ret) {
	case 0:
		return DMANIC_STATUS_OK;
	case -EACCES:
		return DMANIC_STATUS_ACCESS;
	case -EINVAL:
		return DMANIC_STATUS_INVALID;
	default:
		return DMANIC_STATUS_NO_SEGMENT;
	}
}

static bool connect_by_name(const struct dmanic_lookup *lookup)
{
	return *lookup->name;
}

/* Find it here; enum dmanic_status */
static u32 connect_find(struct dmanic_node *node, struct dmanic_lookup *lookup)
{
	struct dmanic_target target = { .id = lookup->id, .key = lookup->key };
	struct dmanic_export *export;
	u32 status;

	rcu_read_lock();
	if (connect_by_name(lookup))
		status = connect_status(dmanic_export_lookup(node, lookup->kind, lookup->name,
							     lookup->secret, &export));
	else
		status = dmanic_target_find(node, &target, lookup->kind, &export);
	if (!status) {
		lookup->id = export->id;
		lookup->key = export->key;
		lookup->rights = export->rights;
		lookup->length = export->length;
		lookup->incarnation = node->incarnation;
	}
	rcu_read_unlock();
	return status;
}

/* The protocol's, as env.h says of it: another node asks */
u32 dmanic_ether_lookup(struct dmanic_peer *peer, struct dmanic_lookup *lookup)
{
	return connect_find(&to_ether_peer(peer)->en->node, lookup);
}

/**
 * struct connect_ask - a question under way
 * @xfer: the protocol's
 * @lookup: what is asked, and the answer
 * @ended: there is one
 * @flow: of its user
 */
struct connect_ask {
	struct dmanic_xfer xfer;
	struct dmanic_lookup lookup;
	struct completion ended;
	struct dmanic_flow *flow;
};

/* No answer is wanted any more */
static void connect_cancel(struct ether_node *en, struct ether_peer *ep,
			   struct connect_ask *ask)
{
	spin_lock_bh(&en->lock);
	if (!completion_done(&ask->ended))
		dmanic_peer_cancel(&ep->peer, &ask->xfer, DMANIC_STATUS_CANCELLED);
	dmanic_ether_wake(ep);
	spin_unlock_bh(&en->lock);
	dmanic_ether_run(en);
}

/*
 * Ask once; enum dmanic_status. The protocol ends it when nobody answers; who says that he is
 * there, and no more, has CONNECT_DEAD times that. Nor is it longer than @left_ns (zero: is none).
 */
static u32 connect_ask(struct ether_node *en, struct ether_peer *ep,
		       struct connect_ask *ask, u64 left_ns)
{
	u64 most_ns = CONNECT_DEAD * en->info.dead_ns;
	bool timed = left_ns && left_ns < most_ns;
	long left;

	left = nsecs_to_jiffies64(timed ? left_ns : most_ns) + 1;
	init_completion(&ask->ended);
	memset(&ask->xfer, 0, sizeof(ask->xfer));
	INIT_LIST_HEAD(&ask->xfer.entry);
	ask->xfer.kind = DMANIC_XFER_LOOKUP;
	ask->xfer.class = DMANIC_URGENT;
	ask->xfer.lookup = &ask->lookup;
	ask->xfer.source = &ask->ended;
	spin_lock_bh(&en->lock);
	if (en->stopped) {
		spin_unlock_bh(&en->lock);
		return DMANIC_STATUS_LINK_DOWN;
	}
	dmanic_peer_submit(&ep->peer, ask->flow, &ask->xfer, ktime_get_ns());
	dmanic_ether_wake(ep);
	spin_unlock_bh(&en->lock);
	dmanic_ether_run(en);

	left = wait_for_completion_interruptible_timeout(&ask->ended, left);
	if (left <= 0) {
		connect_cancel(en, ep, ask);
		if (left)
			return DMANIC_STATUS_CANCELLED;
		return timed ? DMANIC_STATUS_TIMED_OUT : DMANIC_STATUS_PEER_DEAD;
	}
	/* @ask is its user's again when who completed it has left the lock */
	spin_lock_bh(&en->lock);
	spin_unlock_bh(&en->lock);
	return ask->xfer.status;
}

static u32 connect_once(struct ether_node *en, struct ether_peer *ep,
			struct connect_ask *ask, u64 left_ns)
{
	u64 began = ktime_get_ns(), gone;
	u32 status;

	if (ep) {
		status = connect_ask(en, ep, ask, left_ns);
		if (status != DMANIC_STATUS_PEER_RESTARTED)
			return status;
		/* The other side had given the connection up unheard: a new one is made */
		gone = ktime_get_ns() - began;
		if (left_ns)
			left_ns = left_ns > gone ? left_ns - gone : 1;
		return connect_ask(en, ep, ask, left_ns);
	}
	return connect_find(&en->node, &ask->lookup);
}

/* Sleep for @ns; -EINTR: a signal came */
static int connect_pause(u64 ns)
{
	ktime_t until = ktime_add_ns(ktime_get(), ns);

	while (ktime_before(ktime_get(), until)) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (signal_pending(current)) {
			__set_current_state(TASK_RUNNING);
			return -EINTR;
		}
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	}
	return 0;
}

/* Until there is an answer that will not change, or the time is over */
static int connect_until(struct ether_node *en, struct ether_peer *ep,
			 struct connect_ask *ask, u64 timeout_ns)
{
	const struct dmanic_lookup question = ask->lookup;
	u64 began = ktime_get_ns(), pause = CONNECT_FIRST_NS, gone = 0;
	int ret;

	for (;;) {
		ret = connect_errno(connect_once(en, ep, ask, timeout_ns - gone));
		if (ret != -ENOENT || !connect_by_name(&question) || !timeout_ns)
			return ret;
		if (dmanic_node_dead(&en->node))
			return -ENODEV;
		gone = ktime_get_ns() - began;
		if (gone >= timeout_ns)
			return -ETIME;
		ret = connect_pause(min(pause, timeout_ns - gone));
		if (ret)
			return ret;
		pause = min_t(u64, 2 * pause, CONNECT_LAST_NS);
		ask->lookup = question;
	}
}

/* Nobody answered: the device may be the reason, or that there is none any more */
static int connect_unanswered(struct ether_node *en, int ret)
{
	spin_lock_bh(&en->lock);
	if (en->stopped)
		ret = -ENODEV;
	else if (READ_ONCE(en->port->down))
		ret = -ENETDOWN;
	spin_unlock_bh(&en->lock);
	return ret;
}

/* As link.h says of connect() */
int dmanic_ether_connect(struct dmanic_ctx *ctx, struct dmanic_connect *arg,
			 struct dmanic_remote *remote)
{
	struct dmanic_target *target = &remote->target;
	struct ether_node *en = to_ether(ctx->node);
	struct ether_peer *ep = NULL;
	struct connect_ask *ask;
	int ret;

	if (target->node == DMANIC_WIRE_NOBODY)
		return -EHOSTUNREACH;
	if (target->node != en->node.id) {
		ep = dmanic_ether_peer_make(en, target->node, ctx->account, &arg->refusal);
		if (IS_ERR(ep))
			return PTR_ERR(ep);
	}
	ask = kzalloc(sizeof(*ask), GFP_KERNEL);
	ret = -ENOMEM;
	if (!ask)
		goto out_put;
	if (ep)
		ask->flow = dmanic_ether_share_asking(ep, ctx->account);
	ask->lookup.kind = remote->kind;
	ask->lookup.id = target->id;
	ask->lookup.key = target->key;
	if (arg->flags & DMANIC_CONNECT_BY_NAME) {
		strscpy(ask->lookup.name, arg->name, sizeof(ask->lookup.name));
		memcpy(ask->lookup.secret, arg->secret, sizeof(ask->lookup.secret));
	}
	ret = connect_until(en, ep, ask, arg->timeout_ns);
	if (!ret) {
		target->incarnation = ask->lookup.incarnation;
		target->id = ask->lookup.id;
		target->key = ask->lookup.key;
		remote->rights = ask->lookup.rights;
		remote->length = ask->lookup.length;
	}
	if (ep && (ret == -EHOSTUNREACH || ret == -ETIME))
		ret = connect_unanswered(en, ret);
	kfree(ask);
out_put:
	if (ep)
		dmanic_ether_peer_put(ep, ctx->account);
	return ret;
}
