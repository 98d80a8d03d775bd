// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether.c - nodes on a network device: made, shown, stopped
 */
#include <linux/ktime.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "compat.h"
#include "ether.h"

static_assert(DMANIC_WIRE_NAME == DMANIC_PUBLISH_MAX);
static_assert(DMANIC_WIRE_NOBODY == DMANIC_NO_NODE);
static_assert(DMANIC_REFUSED_VERSION == (int)DMANIC_REFUSE_VERSION &&
	      DMANIC_REFUSED_ID == (int)DMANIC_REFUSE_IN_USE &&
	      DMANIC_REFUSED_ROOM == (int)DMANIC_REFUSE_BUSY);
static_assert(DMANIC_EXPORT_SEGMENT == 0 && DMANIC_EXPORT_IRQ == 1);

struct workqueue_struct *dmanic_ether_wq;

/* A peer that is dead for this long does not hold up a dying program much */
#define ETHER_SOON_NS	(5 * NSEC_PER_SEC)

/* ---- telling ---- */

static u32 ether_nr_nodes(struct dmanic_node *node)
{
	struct ether_node *en = to_ether(node);
	struct ether_peer *ep;
	u32 nr = 1;
	int i;

	spin_lock_bh(&en->lock);
	hash_for_each(en->peers, i, ep, entry)
		nr += ep->peer.state == DMANIC_PEER_OPEN;
	spin_unlock_bh(&en->lock);
	return nr;
}

/* @at: when it was, or zero: never */
static u64 ether_age(u64 at)
{
	return at ? max(ktime_get_ns() - at, 1ULL) : 0;
}

static void ether_tell(struct dmanic_node *node, struct dmanic_ether_info *info)
{
	struct ether_node *en = to_ether(node);
	const struct ether_port *port = en->port;

	lockdep_assert_held(&dmanic_nodes_lock);
	/* Once stopped it is as it was last */
	if (port) {
		strscpy(en->info.netdev, port->dev->name, sizeof(en->info.netdev));
		en->info.ifindex = port->dev->ifindex;
		en->info.mtu = READ_ONCE(port->dev->mtu);
		en->info.down = port->down;
		/* They change under both locks */
		en->info.keyed = en->host.auth.on;
		en->info.key_id = en->host.auth.id;
	}
	*info = en->info;
	spin_lock_bh(&en->lock);
	info->rival_ns = ether_age(en->rival_at);
	/* See dmanic_ether_set_mtu() */
	if (info->keyed && info->path != DMANIC_PATH_WHOLE)
		info->path = DMANIC_PATH_NONE;
	spin_unlock_bh(&en->lock);
}

static void ether_tell_counters(struct dmanic_node *node, u64 *counter)
{
	struct ether_node *en = to_ether(node);
	const struct dmanic_proto_stats *stats = &en->host.stats;
	u32 i;

	spin_lock_bh(&en->lock);
	counter[DMANIC_PROTO_A_FRAMES_SENT] = stats->frames_sent;
	counter[DMANIC_PROTO_A_FRAMES_RECEIVED] = stats->frames_received;
	counter[DMANIC_PROTO_A_DATA_SENT] = stats->data_sent;
	counter[DMANIC_PROTO_A_DATA_AGAIN] = stats->data_again;
	counter[DMANIC_PROTO_A_ACKS_SENT] = stats->acks_sent;
	counter[DMANIC_PROTO_A_ACKS_RECEIVED] = stats->acks_received;
	counter[DMANIC_PROTO_A_LOST] = stats->lost;
	counter[DMANIC_PROTO_A_TIMEOUTS] = stats->timeouts;
	counter[DMANIC_PROTO_A_TAIL_PROBES] = stats->tail_probes;
	counter[DMANIC_PROTO_A_DUPLICATES] = stats->duplicates;
	counter[DMANIC_PROTO_A_REFUSED] = stats->refused;
	counter[DMANIC_PROTO_A_CONNECTIONS] = stats->connections;
	counter[DMANIC_PROTO_A_RESTARTS] = stats->restarts;
	counter[DMANIC_PROTO_A_DEATHS] = stats->deaths;
	counter[DMANIC_PROTO_A_CORRUPT] = stats->dropped[DMANIC_DROP_CORRUPT];
	counter[DMANIC_PROTO_A_DROPPED] = 0;
	for (i = DMANIC_DROP_NONE + 1; i < DMANIC_DROPS; i++)
		counter[DMANIC_PROTO_A_DROPPED] += stats->dropped[i];
	counter[DMANIC_PROTO_A_UNSENT] = en->unsent;
	counter[DMANIC_PROTO_A_FAULTS] = en->fault.hit;
	counter[DMANIC_PROTO_A_FORGED] = stats->dropped[DMANIC_DROP_AUTH];
	counter[DMANIC_PROTO_A_REPLAYED] = stats->dropped[DMANIC_DROP_REPLAY];
	spin_unlock_bh(&en->lock);
}

static enum dmanic_degraded ether_degraded(const struct dmanic_peer *peer)
{
	if (!dmanic_peer_degraded(peer))
		return DMANIC_DEGRADED_NONE;
	return peer->path.most < min(peer->own_mtu, peer->their_mtu) ?
		       DMANIC_DEGRADED_SHORT : DMANIC_DEGRADED_UNCUT;
}

static bool ether_peer_info(struct dmanic_node *node, u32 which,
			    struct dmanic_peer_info *info)
{
	struct ether_node *en = to_ether(node);
	struct ether_peer *ep;
	bool found = false;
	int i;

	spin_lock_bh(&en->lock);
	hash_for_each(en->peers, i, ep, entry) {
		/* Its place stays, whoever comes or goes meanwhile */
		if (ep->index != which)
			continue;
		*info = (struct dmanic_peer_info) {
			.node = ep->peer.node,
			.state = ep->peer.state,
			.address = ep->peer.address,
			.incarnation = ep->peer.incarnation,
			.mtu = ep->peer.mtu,
			.frame = ep->peer.super,
			.received = ep->peer.largest,
			.carried = ep->peer.path.carried,
			.refused = min_t(u32, ep->peer.refused, DMANIC_REFUSED_OTHER),
			.crc = ep->peer.features & DMANIC_WIRE_PAYLOAD_CRC,
			.rtt_ns = ep->peer.rate.srtt,
			.window = ep->peer.rate.window,
			.degraded = ether_degraded(&ep->peer),
			.rival_ns = ether_age(ep->rival_at),
		};
		found = true;
		break;
	}
	spin_unlock_bh(&en->lock);
	return found;
}

/* ---- the end ---- */

/* Longest that others, who keep posting, let it wait for its end */
#define ETHER_STOP_TIME		HZ

/* With softirqs, and others who have this CPU, between: operations may be very many */
static void ether_drain(struct ether_node *en)
{
	while (dmanic_ether_run_some(en))
		cond_resched();
}

/* All operations end */
static void ether_end_all(struct ether_node *en)
{
	bool more;

	spin_lock_bh(&en->lock);
	WRITE_ONCE(en->stopped, true);
	dmanic_ether_peer_close_all(en);
	spin_unlock_bh(&en->lock);
	do {
		spin_lock_bh(&en->lock);
		more = dmanic_ether_self_cancel_some(en, DMANIC_STATUS_LINK_DOWN);
		spin_unlock_bh(&en->lock);
		ether_drain(en);
	} while (more);
}

/* Those that ended are completed, and what there was to send is sent */
static void ether_finish(struct ether_node *en)
{
	unsigned long end;
	bool idle;

	ether_drain(en);
	end = jiffies + ETHER_STOP_TIME;
	do {
		ether_drain(en);
		/* Who runs it leaves in a while, and the rest to us */
		synchronize_rcu_expedited();
		spin_lock_bh(&en->lock);
		idle = dmanic_ether_idle(en) || time_after(jiffies, end);
		WRITE_ONCE(en->silent, idle);
		spin_unlock_bh(&en->lock);
	} while (!idle);
	/* If that took too long: what was left to us before */
	ether_drain(en);
}

/* Nobody gets frames for it, or sends, afterwards */
static void ether_quit(struct ether_node *en)
{
	struct dmanic_ether_info info;
	struct ether_port *port = en->port;
	struct ether_peer *ep;
	int i;

	ether_tell(&en->node, &info);
	ether_end_all(en);
	dmanic_ether_port_leave(en);
	/* For who takes a frame, and who runs the node: others wait for dmanic_nodes_lock */
	synchronize_rcu_expedited();
	hrtimer_cancel(&en->kick);
	dmanic_ether_fault_exit(en);
	hash_for_each(en->peers, i, ep, entry)
		hrtimer_cancel(&ep->timer);
	ether_finish(en);
	/* For who sends yet */
	synchronize_rcu_expedited();
	/* A program may keep the node for long */
	spin_lock_bh(&en->lock);
	dmanic_host_set_key(&en->host, NULL, 0);
	en->port = NULL;
	spin_unlock_bh(&en->lock);
	dmanic_ether_port_put(port);
}

static void ether_stop(struct dmanic_node *node)
{
	ether_quit(to_ether(node));
}

static void ether_release(struct dmanic_node *node)
{
	struct ether_node *en = to_ether(node);

	dmanic_ether_peer_free_all(en);
	__skb_queue_purge(&en->answers);
	/* It has the key */
	kvfree_sensitive(en, sizeof(*en));
}

/* Whoever says nothing is waited for so long; then operations end */
static bool ether_slow(struct dmanic_node *node)
{
	return to_ether(node)->info.dead_ns > ETHER_SOON_NS;
}

/* ---- the beginning ---- */

/* Bytes may be damaged only where there is hardware below */
static int ether_has_hardware(struct net_device *dev, struct netdev_nested_priv *priv)
{
	return !!dev->dev.parent;
}

static bool ether_on_hardware(struct net_device *dev)
{
	struct netdev_nested_priv priv = {};
	bool hardware;

	rcu_read_lock();
	hardware = ether_has_hardware(dev, &priv) ||
		   netdev_walk_all_lower_dev_rcu(dev, ether_has_hardware, &priv);
	rcu_read_unlock();
	return hardware;
}

/* The other end of a veth may be the port of a bridge, and so may be hardware */
static bool ether_leads_out(struct net_device *dev)
{
	const struct net_device_ops *ops = dev->netdev_ops;
	struct net_device *other = NULL, *master = NULL;
	struct netdev_nested_priv priv = {};
	bool out;

	rcu_read_lock();
	if (ops->ndo_get_peer_dev)
		other = ops->ndo_get_peer_dev(dev);
	if (other)
		master = netdev_master_upper_dev_get_rcu(other);
	out = master && netdev_walk_all_lower_dev_rcu(master, ether_has_hardware, &priv);
	rcu_read_unlock();
	return out;
}

/*
 * Where frames stay in this machine, they wait for a CPU rather than for a wire: that
 * is no queue that sending less would shorten, and no sign of loss.
 */
#define ETHER_TARGET_NS		(200 * NSEC_PER_USEC)
#define ETHER_TARGET_HERE_NS	(20 * NSEC_PER_MSEC)
#define ETHER_RTO_NS		(4 * NSEC_PER_MSEC)
#define ETHER_RTO_HERE_NS	(50 * NSEC_PER_MSEC)

static void ether_set_below(struct ether_node *en, struct dmanic_proto_config *proto,
			    bool hardware)
{
	/* With a key what is damaged is found, too */
	en->info.crc_on = en->info.crc == DMANIC_CRC_AUTO ? hardware && !en->host.auth.on :
							    en->info.crc == DMANIC_CRC_ON;
	proto->features = en->info.crc_on ? DMANIC_WIRE_PAYLOAD_CRC : 0;
	proto->target_ns = hardware ? ETHER_TARGET_NS : ETHER_TARGET_HERE_NS;
	proto->rto_ns = hardware ? ETHER_RTO_NS : ETHER_RTO_HERE_NS;
}

static bool ether_looks_hard(struct net_device *dev)
{
	return ether_on_hardware(dev) || ether_leads_out(dev);
}

/**
 * dmanic_ether_look_below() - there may be hardware now, or none any more
 * @en: the node; without its lock
 *
 * Both ends of a connection know whether there are checksums: where that changes they
 * are to connect anew.
 */
void dmanic_ether_look_below(struct ether_node *en)
{
	struct dmanic_proto_config *config = &en->host.config;
	bool hardware = ether_looks_hard(en->port->dev);
	u32 before;

	lockdep_assert_held(&dmanic_nodes_lock);
	spin_lock_bh(&en->lock);
	before = config->features;
	ether_set_below(en, config, hardware);
	if (config->features != before)
		dmanic_ether_peer_close_all(en);
	spin_unlock_bh(&en->lock);
	dmanic_ether_run(en);
}

/* Under en->lock; connections are to be made anew */
static void ether_take_key(struct ether_node *en, const struct dmanic_link_key *key)
{
	struct dmanic_key words;

	if (key->bytes)
		dmanic_key_set(&words, key->bytes);
	dmanic_host_set_key(&en->host, key->bytes ? &words : NULL, key->id);
	memzero_explicit(&words, sizeof(words));
}

static void ether_set_key(struct dmanic_node *node, const struct dmanic_link_key *key)
{
	struct ether_node *en = to_ether(node);
	struct ether_peer *ep;
	bool hardware;
	int i;

	lockdep_assert_held(&dmanic_nodes_lock);
	/* It is stopped already */
	if (!en->port)
		return;
	hardware = ether_looks_hard(en->port->dev);
	spin_lock_bh(&en->lock);
	/* Others are told in frames as they know them */
	dmanic_ether_peer_close_all(en);
	ether_take_key(en, key);
	hash_for_each(en->peers, i, ep, entry)
		dmanic_peer_rekeyed(&ep->peer);
	ether_set_below(en, &en->host.config, hardware);
	dmanic_ether_set_mtu(en, en->port->dev);
	spin_unlock_bh(&en->lock);
	dmanic_ether_run(en);
}

static const struct dmanic_link_ops ether_ops = {
	.type = "ether",
	.features = DMANIC_FEATURE_STRIDED | DMANIC_FEATURE_NOTIFY |
		    DMANIC_FEATURE_USER_MEMORY | DMANIC_FEATURE_ATOMIC |
		    DMANIC_FEATURE_LIST,
	.op_bytes = sizeof(struct ether_op),
	.queue_bytes = sizeof(struct ether_queue),
	.account_bytes = sizeof(struct ether_user),
	.account_gone = dmanic_ether_account_gone,
	.connect = dmanic_ether_connect,
	.submit = dmanic_ether_submit,
	.cancel = dmanic_ether_cancel,
	.slow = ether_slow,
	.nr_nodes = ether_nr_nodes,
	.stop = ether_stop,
	.tell_ether = ether_tell,
	.tell_counters = ether_tell_counters,
	.peer = ether_peer_info,
	.set_fault = dmanic_ether_set_fault,
	.get_fault = dmanic_ether_get_fault,
	.set_key = ether_set_key,
	.release = ether_release,
};

static void ether_init(struct ether_node *en, const struct ether_config *config)
{
	struct dmanic_proto_config proto = {
		.node = config->id,
		.incarnation = en->node.incarnation,
		.network = config->ethertype,
		.dead_ns = config->dead_ns,
	};

	en->info.ethertype = config->ethertype;
	en->info.crc = config->crc;
	en->info.path = dmanic_ether_path(config->dev, config->ethertype);
	INIT_WORK(&en->wakeups, dmanic_ether_wakeups);
	INIT_WORK(&en->self_work, dmanic_ether_self_work);
	spin_lock_init(&en->lock);
	hash_init(en->peers);
	hash_init(en->tags);
	INIT_LIST_HEAD(&en->active);
	__skb_queue_head_init(&en->answers);
	INIT_LIST_HEAD(&en->done);
	INIT_LIST_HEAD(&en->resumed);
	INIT_LIST_HEAD(&en->behind);
	INIT_LIST_HEAD(&en->selves);
	INIT_LIST_HEAD(&en->news);
	hrtimer_init(&en->kick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	en->kick.function = dmanic_ether_kick;
	dmanic_ether_fault_init(en);
	en->out.head = en->head;
	en->farewell.head = en->farewell_head;
	dmanic_host_init(&en->host, &dmanic_ether_env, &proto);
	en->info.dead_ns = en->host.config.dead_ns;
	ether_take_key(en, &config->key);
	ether_set_below(en, &en->host.config, ether_looks_hard(config->dev));
	dmanic_ether_set_mtu(en, config->dev);
}

/**
 * dmanic_ether_hello() - tell everybody: who has the same id refuses
 * @en: the node; without its lock
 */
void dmanic_ether_hello(struct ether_node *en)
{
	struct sk_buff *skb;

	spin_lock_bh(&en->lock);
	dmanic_host_hello(&en->host, &en->out);
	skb = dmanic_ether_frame_build(en, &en->out);
	if (skb)
		__skb_queue_tail(&en->answers, skb);
	else
		en->unsent++;
	spin_unlock_bh(&en->lock);
	dmanic_ether_run(en);
}

static int ether_join(struct ether_node *en, const struct ether_config *config,
		      struct netlink_ext_ack *extack)
{
	struct ether_port *port;
	int ret;

	port = dmanic_ether_port_get(config->dev, config->ethertype);
	if (IS_ERR(port))
		return PTR_ERR(port);
	ret = dmanic_ether_port_join(port, en);
	if (ret) {
		NL_SET_ERR_MSG(extack,
			       "a device on this NETDEV has that node id: give another NODE");
		dmanic_ether_port_put(port);
	}
	return ret;
}

/**
 * dmanic_ether_create() - make a node
 * @net: network namespace of its network device
 * @config: what it is to be; the device was checked
 * @extack: tells what is wrong
 *
 * Under rtnl_lock and dmanic_nodes_lock. Return: 0; -EEXIST the name or the node
 * id is taken; -ENOMEM.
 */
int dmanic_ether_create(struct net *net, const struct ether_config *config,
			struct netlink_ext_ack *extack)
{
	struct ether_node *en;
	int ret;

	en = kvzalloc(sizeof(*en), GFP_KERNEL);
	if (!en)
		return -ENOMEM;
	ret = dmanic_node_init(&en->node, net, &ether_ops, config->name, config->fabric,
			       config->id);
	if (ret) {
		kvfree(en);
		return ret;
	}
	/* After a reboot it is another one, too */
	en->node.incarnation = ktime_get_real_ns();
	ether_init(en, config);
	dmanic_ether_peer_refill(en);
	ret = ether_join(en, config, extack);
	if (ret)
		goto err_put;
	ret = dmanic_node_add(&en->node);
	if (ret == -EEXIST)
		NL_SET_ERR_MSG(extack,
			       "a device of that name exists, here or in another network namespace: choose another name, or delete it first");
	if (ret)
		goto err_quit;
	dmanic_ether_hello(en);
	dmanic_node_announce(&en->node);
	return 0;

err_quit:
	ether_quit(en);
err_put:
	dmanic_node_put(&en->node);
	return ret;
}

int dmanic_ether_init(void)
{
	int ret;

	dmanic_ether_wq = alloc_workqueue("dmanic_ether", WQ_UNBOUND, 0);
	if (!dmanic_ether_wq)
		return -ENOMEM;
	ret = dmanic_ether_port_init();
	if (ret)
		destroy_workqueue(dmanic_ether_wq);
	return ret;
}

void dmanic_ether_exit(void)
{
	dmanic_ether_port_exit();
	destroy_workqueue(dmanic_ether_wq);
}
