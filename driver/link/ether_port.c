// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_port.c - network devices that nodes are on, and what happens to them
 *
 * One port takes the frames of an EtherType from a device, for all nodes there.
 * A node goes with its device, and when that moves to another namespace. While a
 * device is down, or another one's port, frames are lost; operations go on when
 * it comes back before their time is over.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "compat.h"
#include "ether.h"

/* Of a large frame, for its Ethernet header and tags */
#define PORT_HEADROOM	64U

/* Under dmanic_nodes_lock; readers use RCU */
static LIST_HEAD(ether_ports);

/* ---- what a device is like ---- */

/*
 * Another device gets its frames before we do. Flags that tell of bridges and bonds
 * change before or behind the notification; who is above is right by then.
 */
static bool port_enslaved(struct net_device *dev)
{
	struct net_device *master = netdev_master_upper_dev_get(dev);

	return master && !netif_is_l3_master(master);
}

static bool port_is_down(struct net_device *dev)
{
	return !(dev->flags & IFF_UP) || !netif_carrier_ok(dev) ||
	       port_enslaved(dev) || dev->mtu < ETHER_MTU_MIN;
}

/**
 * dmanic_ether_port_check() - can nodes be on a device
 * @dev: the device; under rtnl_lock
 * @extack: tells why not, and what to do
 *
 * Return: 0, -EOPNOTSUPP, -EBUSY or -EINVAL.
 */
int dmanic_ether_port_check(struct net_device *dev, struct netlink_ext_ack *extack)
{
	if (dev->flags & IFF_LOOPBACK) {
		NL_SET_ERR_MSG(extack,
			       "NETDEV is the loopback device: for nodes on one machine make devices of type loop");
		return -EOPNOTSUPP;
	}
	if (dev->type != ARPHRD_ETHER) {
		NL_SET_ERR_MSG(extack,
			       "NETDEV is no Ethernet device: choose one that has a MAC address (ip link)");
		return -EOPNOTSUPP;
	}
	if (port_enslaved(dev)) {
		NL_SET_ERR_MSG(extack,
			       "NETDEV is a port of a bridge, bond or team, which gets all its frames: use that device instead, or take NETDEV out of it (ip link set nomaster)");
		return -EBUSY;
	}
	if (dev->mtu < ETHER_MTU_MIN) {
		NL_SET_ERR_MSG(extack,
			       "the MTU of NETDEV is below 544: raise it (ip link set mtu 1500)");
		return -EINVAL;
	}
	return 0;
}

/**
 * dmanic_ether_mtu() - the longest frame of a device
 * @dev: it
 *
 * Return: bytes behind the Ethernet header.
 */
u32 dmanic_ether_mtu(const struct net_device *dev)
{
	return clamp_t(u32, READ_ONCE(dev->mtu), ETHER_MTU_MIN, DMANIC_WIRE_FRAME_MAX);
}

/* The longest frame to hand to a device: bytes behind the Ethernet header; at least the MTU */
static u32 port_super(const struct net_device *dev)
{
	u32 mtu = dmanic_ether_mtu(dev), bytes = dmanic_gso_max_size(dev);
	u32 segs = READ_ONCE(dev->gso_max_segs);
	netdev_features_t features = READ_ONCE(dev->features);

	/* Who turns GSO off (ethtool -K) wants each frame as it is on the wire */
	if (!(READ_ONCE(dev->wanted_features) & NETIF_F_GSO))
		return mtu;
	/*
	 * For a device that cannot gather the kernel copies what it cuts, and hands all of
	 * it over at once: one by one is dearer. What it does not cut it would copy into
	 * one piece of memory, for which there may be none.
	 */
	if (!(features & NETIF_F_SG) && (features & ETHER_GSO_FEATURE))
		return mtu;
	bytes = min(bytes, DMANIC_WIRE_FRAME_MAX);
	bytes = bytes > PORT_HEADROOM ? bytes - PORT_HEADROOM : 0;
	return max(mtu, min_t(u64, bytes, (u64)segs * (mtu - DMANIC_WIRE_CUT_HEAD -
							DMANIC_WIRE_AUTH_BYTES)));
}

/**
 * dmanic_ether_path() - what becomes of large frames on a device
 * @dev: it
 * @ethertype: of the frames
 *
 * As the kernel decides it when one is sent. Return: enum dmanic_path.
 */
u32 dmanic_ether_path(struct net_device *dev, u16 ethertype)
{
	u32 path = DMANIC_PATH_COPIED;
	netdev_features_t features;
	struct sk_buff *skb;

	if (port_super(dev) < 2 * dmanic_ether_mtu(dev))
		return DMANIC_PATH_NONE;
	skb = alloc_skb(LL_RESERVED_SPACE(dev) + DMANIC_WIRE_COMMON, GFP_KERNEL);
	if (!skb)
		return path;
	skb_reserve(skb, LL_RESERVED_SPACE(dev));
	skb_put_zero(skb, DMANIC_WIRE_COMMON);
	skb_reset_network_header(skb);
	skb_reset_mac_header(skb);
	skb->dev = dev;
	skb->protocol = htons(ethertype);
	dmanic_ether_frame_set_gso(skb, dmanic_ether_mtu(dev) / 2, 2);
	features = netif_skb_features(skb);
	if (!netif_needs_gso(skb, features))
		path = DMANIC_PATH_WHOLE;
	else if (features & NETIF_F_SG)
		path = DMANIC_PATH_CUT;
	kfree_skb(skb);
	return path;
}

/* ---- frames ---- */

/* The frame's head contiguous: all of it that the frame says there is */
static bool port_pull(struct sk_buff *skb)
{
	struct dmanic_head head;
	u32 pull;

	if (skb->pkt_type != PACKET_HOST && skb->pkt_type != PACKET_BROADCAST)
		return false;
	if (!skb_frags_readable(skb))
		return false;
	/* An answer to that would be a broadcast */
	if (!is_valid_ether_addr(eth_hdr(skb)->h_source) ||
	    !pskb_may_pull(skb, DMANIC_WIRE_COMMON))
		return false;
	pull = dmanic_wire_pull(skb->data, skb_headlen(skb));
	if (pull > DMANIC_WIRE_PULL_MAX || !pskb_may_pull(skb, pull))
		return false;
	/* Of what everybody gets only a HELLO asks everybody for an answer */
	return skb->pkt_type == PACKET_HOST ||
	       (!dmanic_head_decode(skb->data, skb_headlen(skb), skb->len, &head) &&
		head.type == DMANIC_WIRE_HELLO);
}

/* Which of several nodes a frame is for; out: @all of them; NULL: none */
static struct ether_node *port_choose(struct ether_port *port, struct sk_buff *skb,
				      bool *all)
{
	struct ether_node *en;
	struct dmanic_hello hello;
	struct dmanic_head head;

	*all = false;
	if (dmanic_head_decode(skb->data, skb_headlen(skb), skb->len, &head))
		goto out_any;
	if (head.type == DMANIC_WIRE_HELLO || head.type == DMANIC_WIRE_INIT) {
		if (dmanic_hello_decode(skb->data, &head, &hello))
			goto out_any;
		*all = hello.to == DMANIC_WIRE_NOBODY;
		list_for_each_entry_rcu(en, &port->nodes, entry)
			if (*all || en->node.id == hello.to)
				return en;
		return NULL;
	}
	/*
	 * A RESET has the tag that its sender does not know: it is a peer's. Any other
	 * tag that nobody has here was one of theirs: each says so in its own name, and
	 * the sender knows whose it was.
	 */
	list_for_each_entry_rcu(en, &port->nodes, entry)
		if (head.tag && head.type != DMANIC_WIRE_RESET &&
		    dmanic_ether_wants(en, head.tag))
			return en;
	*all = true;
out_any:
	/* It counts the frame, and answers if that is to be */
	return list_first_or_null_rcu(&port->nodes, struct ether_node, entry);
}

/* Under RCU; the frame is taken */
static void port_take(struct ether_port *port, struct sk_buff *skb, bool run)
{
	struct ether_node *en, *chosen = NULL;
	bool all = true;

	/* It came in here, but for a VLAN or a bond on top */
	if (skb->dev != port->dev) {
		kfree_skb(skb);
		return;
	}
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return;
	if (!port_pull(skb)) {
		kfree_skb(skb);
		return;
	}
	if (READ_ONCE(port->nr_nodes) > 1)
		chosen = port_choose(port, skb, &all);
	list_for_each_entry_rcu(en, &port->nodes, entry) {
		if (!all && en != chosen)
			continue;
		if (unlikely(READ_ONCE(en->fault.on)))
			dmanic_ether_fault(en, skb);
		else
			dmanic_ether_receive(en, skb);
		if (run)
			dmanic_ether_run(en);
	}
	consume_skb(skb);
}

static int port_take_one(struct sk_buff *skb, struct net_device *dev,
			 struct packet_type *taker, struct net_device *orig)
{
	port_take(container_of(taker, struct ether_port, taker), skb, true);
	return NET_RX_SUCCESS;
}

static void port_take_list(struct list_head *list, struct packet_type *taker,
			   struct net_device *orig)
{
	struct ether_port *port = container_of(taker, struct ether_port, taker);
	struct sk_buff *skb, *next;
	struct ether_node *en;

	list_for_each_entry_safe(skb, next, list, list) {
		skb_list_del_init(skb);
		port_take(port, skb, false);
	}
	list_for_each_entry_rcu(en, &port->nodes, entry)
		dmanic_ether_run(en);
}

/* ---- ports ---- */

static struct ether_port *port_find(const struct net_device *dev, u16 ethertype)
{
	struct ether_port *port;

	lockdep_assert_held(&dmanic_nodes_lock);
	list_for_each_entry(port, &ether_ports, entry)
		if (port->dev == dev && port->taker.type == htons(ethertype))
			return port;
	return NULL;
}

/**
 * dmanic_ether_port_get() - the port of a device and an EtherType
 * @dev: the device; under rtnl_lock
 * @ethertype: of the frames
 *
 * Return: it, without nodes if it is new, or ERR_PTR(-ENOMEM).
 */
struct ether_port *dmanic_ether_port_get(struct net_device *dev, u16 ethertype)
{
	struct ether_port *port = port_find(dev, ethertype);

	ASSERT_RTNL();
	if (port)
		return port;
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	if (dmanic_ether_cutter_get(ethertype)) {
		kfree(port);
		return ERR_PTR(-ENOMEM);
	}
	INIT_LIST_HEAD(&port->nodes);
	port->dev = dev;
	port->address = ether_addr_to_u64(dev->dev_addr);
	port->down = port_is_down(dev);
	port->taker.type = htons(ethertype);
	port->taker.dev = dev;
	port->taker.func = port_take_one;
	port->taker.list_func = port_take_list;
	netdev_hold(dev, &port->tracker, GFP_KERNEL);
	dev_add_pack(&port->taker);
	list_add_tail_rcu(&port->entry, &ether_ports);
	return port;
}

/**
 * dmanic_ether_port_put() - give a port back if no node is on it
 * @port: the port
 */
void dmanic_ether_port_put(struct ether_port *port)
{
	lockdep_assert_held(&dmanic_nodes_lock);
	if (port->nr_nodes)
		return;
	list_del_rcu(&port->entry);
	/* Waits until nobody takes a frame any more, or looks at the list */
	dev_remove_pack(&port->taker);
	dmanic_ether_cutter_put(ntohs(port->taker.type));
	netdev_put(port->dev, &port->tracker);
	kfree(port);
}

/**
 * dmanic_ether_port_join() - a node gets frames
 * @port: from here
 * @en: the node
 *
 * Return: 0; -EEXIST another one has its id.
 */
int dmanic_ether_port_join(struct ether_port *port, struct ether_node *en)
{
	struct ether_node *other;

	lockdep_assert_held(&dmanic_nodes_lock);
	list_for_each_entry(other, &port->nodes, entry)
		if (other->node.id == en->node.id)
			return -EEXIST;
	en->port = port;
	list_add_tail_rcu(&en->entry, &port->nodes);
	WRITE_ONCE(port->nr_nodes, port->nr_nodes + 1);
	return 0;
}

/**
 * dmanic_ether_port_leave() - a node gets no more frames
 * @en: the node; its port stays until dmanic_ether_port_put()
 *
 * Who takes one now is done after a grace period.
 */
void dmanic_ether_port_leave(struct ether_node *en)
{
	lockdep_assert_held(&dmanic_nodes_lock);
	list_del_rcu(&en->entry);
	WRITE_ONCE(en->port->nr_nodes, en->port->nr_nodes - 1);
}

/* ---- what happens to devices ---- */

static void port_remove_nodes(struct ether_port *port)
{
	struct ether_node *en, *next;
	unsigned int left = port->nr_nodes;

	/* The last one takes the port along */
	list_for_each_entry_safe(en, next, &port->nodes, entry) {
		left--;
		dmanic_node_remove(&en->node);
		if (!left)
			return;
	}
}

/**
 * dmanic_ether_set_mtu() - how long frames are, as the device and the key want it
 * @en: the node; under its lock; en->info.path is right
 * @dev: the device
 */
void dmanic_ether_set_mtu(struct ether_node *en, const struct net_device *dev)
{
	u32 super = port_super(dev);

	/* Where it is cut nobody has the key */
	if (en->host.auth.on && en->info.path != DMANIC_PATH_WHOLE)
		super = 0;
	dmanic_host_set_mtu(&en->host, dmanic_ether_mtu(dev), super);
}

/* What is under way is cut anew when it is sent again */
static void port_set_mtu(struct ether_port *port)
{
	u32 path = dmanic_ether_path(port->dev, ntohs(port->taker.type));
	struct ether_node *en;
	struct ether_peer *ep;
	int i;

	list_for_each_entry(en, &port->nodes, entry) {
		spin_lock_bh(&en->lock);
		en->info.path = path;
		dmanic_ether_set_mtu(en, port->dev);
		hash_for_each(en->peers, i, ep, entry) {
			dmanic_peer_set_mtu(&ep->peer);
			dmanic_ether_wake(ep);
		}
		spin_unlock_bh(&en->lock);
		/* Others are told */
		dmanic_ether_run(en);
	}
}

/* Others know it by the old address: they are to connect anew */
static void port_set_address(struct ether_port *port)
{
	u64 address = ether_addr_to_u64(port->dev->dev_addr);
	struct ether_node *en;

	/* Some say so when it is set again, a bridge whenever a port joins */
	if (address == port->address)
		return;
	WRITE_ONCE(port->address, address);
	list_for_each_entry(en, &port->nodes, entry) {
		spin_lock_bh(&en->lock);
		dmanic_ether_peer_close_all(en);
		spin_unlock_bh(&en->lock);
		dmanic_ether_run(en);
	}
}

static void port_set_down(struct ether_port *port)
{
	bool down = port_is_down(port->dev);
	struct ether_node *en;

	if (down == port->down)
		return;
	WRITE_ONCE(port->down, down);
	list_for_each_entry(en, &port->nodes, entry) {
		dmanic_netlink_event(&en->node, down ? DMANIC_EVENT_LINK_DOWN :
						       DMANIC_EVENT_LINK_UP);
		if (!down)
			dmanic_ether_hello(en);
	}
}

static void port_look_below(struct ether_port *port)
{
	struct ether_node *en;

	list_for_each_entry(en, &port->nodes, entry)
		dmanic_ether_look_below(en);
}

static void port_event(struct ether_port *port, unsigned long event)
{
	switch (event) {
	case NETDEV_UNREGISTER:
		/* Also when it moves to another namespace */
		port_remove_nodes(port);
		break;
	case NETDEV_CHANGEMTU:
	case NETDEV_FEAT_CHANGE:
		port_set_mtu(port);
		port_set_down(port);
		break;
	case NETDEV_CHANGEADDR:
		port_set_address(port);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEUPPER:
		port_set_down(port);
		break;
	}
}

/* The others need no lock, which somebody may hold for long */
static bool port_event_matters(unsigned long event)
{
	switch (event) {
	case NETDEV_UNREGISTER:
	case NETDEV_CHANGEMTU:
	case NETDEV_FEAT_CHANGE:
	case NETDEV_CHANGEADDR:
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEUPPER:
		return true;
	default:
		return false;
	}
}

/* Ports are made under rtnl_lock only, which the caller has */
static bool port_any(const struct net_device *dev /* or NULL */)
{
	struct ether_port *port;
	bool any = false;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &ether_ports, entry)
		any |= !dev || port->dev == dev;
	rcu_read_unlock();
	return any;
}

/* UNREGISTER comes again until the last reference is gone: then there is no port */
static int port_notify(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	bool ours = port_any(dev), all = event == NETDEV_CHANGEUPPER;
	struct ether_port *port, *next;

	/* What comes and goes as Ethernet has no other kind of address */
	if (event == NETDEV_PRE_TYPE_CHANGE && ours)
		return NOTIFY_BAD;
	if (!port_event_matters(event) || (!ours && !(all && port_any(NULL))))
		return NOTIFY_DONE;
	mutex_lock(&dmanic_nodes_lock);
	list_for_each_entry_safe(port, next, &ether_ports, entry) {
		/* It may be below this one, however far */
		if (all)
			port_look_below(port);
		if (port->dev == dev)
			port_event(port, event);
	}
	mutex_unlock(&dmanic_nodes_lock);
	return NOTIFY_DONE;
}

static struct notifier_block port_notifier = {
	.notifier_call = port_notify,
};

int dmanic_ether_port_init(void)
{
	return register_netdevice_notifier(&port_notifier);
}

void dmanic_ether_port_exit(void)
{
	unregister_netdevice_notifier(&port_notifier);
}
