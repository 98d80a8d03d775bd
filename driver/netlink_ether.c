// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink_ether.c - control plane: devices on a network device, and other nodes
 *
 * How they are made, and what they are shown as. Making one needs rtnl_lock, which is
 * outside of dmanic_nodes_lock.
 */
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "dmanic.h"
#include "link.h"
#include "netlink.h"

/* ---- making one ---- */

static struct net_device *ether_netdev(struct genl_info *info)
{
	struct nlattr *name = info->attrs[DMANIC_A_NETDEV];
	struct nlattr *index = info->attrs[DMANIC_A_IFINDEX];
	struct net *net = genl_info_net(info);
	struct net_device *dev;

	ASSERT_RTNL();
	dev = name ? __dev_get_by_name(net, nla_data(name)) :
		     __dev_get_by_index(net, nla_get_u32(index));
	if (!dev)
		NL_SET_ERR_MSG_ATTR(info->extack, name ?: index,
				    "no such network device in this network namespace: see ip link");
	return dev;
}

/**
 * dmanic_netlink_ether_new() - DEV_NEW of type ether
 * @info: the request
 *
 * Return: 0 or -errno, and the extack says why.
 */
int dmanic_netlink_ether_new(struct genl_info *info)
{
	struct ether_config config = {};
	int ret;

	ret = dmanic_netlink_config_read(&config, info);
	if (ret)
		return ret;
	rtnl_lock();
	config.dev = ether_netdev(info);
	ret = config.dev ? dmanic_ether_port_check(config.dev, info->extack) : -ENODEV;
	if (!ret) {
		mutex_lock(&dmanic_nodes_lock);
		ret = dmanic_ether_create(genl_info_net(info), &config, info->extack);
		mutex_unlock(&dmanic_nodes_lock);
	}
	rtnl_unlock();
	return ret;
}

/* ---- showing ---- */

/* Append what an ether device has beside others; -EMSGSIZE: no room */
int dmanic_netlink_ether_put(struct sk_buff *skb, struct dmanic_node *node)
{
	struct dmanic_ether_info info;

	if (!node->link->tell_ether)
		return 0;
	node->link->tell_ether(node, &info);
	if (nla_put_string(skb, DMANIC_A_NETDEV, info.netdev) ||
	    nla_put_u32(skb, DMANIC_A_IFINDEX, info.ifindex) ||
	    nla_put_u16(skb, DMANIC_A_ETHERTYPE, info.ethertype) ||
	    nla_put_u32(skb, DMANIC_A_CRC, info.crc) ||
	    nla_put_u8(skb, DMANIC_A_CRC_ON, info.crc_on) ||
	    nla_put_u64_64bit(skb, DMANIC_A_DEAD_NS, info.dead_ns, DMANIC_A_PAD) ||
	    nla_put_u32(skb, DMANIC_A_MTU, info.mtu) ||
	    nla_put_u32(skb, DMANIC_A_PATH, info.path) ||
	    (info.rival_ns && nla_put_u64_64bit(skb, DMANIC_A_RIVAL_NS, info.rival_ns,
						DMANIC_A_PAD)) ||
	    (info.keyed && nla_put_u32(skb, DMANIC_A_KEY_ID, info.key_id)))
		return -EMSGSIZE;
	return 0;
}

/* Append the counters of its protocol; -EMSGSIZE: no room */
int dmanic_netlink_proto_put(struct sk_buff *skb, struct dmanic_node *node)
{
	u64 counter[DMANIC_PROTO_A_MAX + 1] = {};
	struct nlattr *nest;
	int i;

	if (!node->link->tell_counters)
		return 0;
	node->link->tell_counters(node, counter);
	nest = nla_nest_start(skb, DMANIC_A_PROTO);
	if (!nest)
		return -EMSGSIZE;
	for (i = DMANIC_PROTO_A_PAD + 1; i <= DMANIC_PROTO_A_MAX; i++)
		if (nla_put_u64_64bit(skb, i, counter[i], DMANIC_PROTO_A_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int peer_put(struct sk_buff *skb, const struct dmanic_peer_info *info)
{
	struct nlattr *nest = nla_nest_start(skb, DMANIC_A_PEER);
	u8 address[ETH_ALEN];

	u64_to_ether_addr(info->address, address);
	if (!nest || nla_put_u32(skb, DMANIC_PEER_A_NODE, info->node) ||
	    nla_put_u32(skb, DMANIC_PEER_A_STATE, info->state) ||
	    (info->address != U64_MAX &&
	     nla_put(skb, DMANIC_PEER_A_ADDRESS, ETH_ALEN, address)) ||
	    nla_put_u64_64bit(skb, DMANIC_PEER_A_INCARNATION, info->incarnation,
			      DMANIC_PEER_A_PAD) ||
	    nla_put_u32(skb, DMANIC_PEER_A_MTU, info->mtu) ||
	    nla_put_u64_64bit(skb, DMANIC_PEER_A_RTT_NS, info->rtt_ns, DMANIC_PEER_A_PAD) ||
	    nla_put_u64_64bit(skb, DMANIC_PEER_A_WINDOW, info->window,
			      DMANIC_PEER_A_PAD) ||
	    nla_put_u32(skb, DMANIC_PEER_A_FRAME, info->frame) ||
	    nla_put_u32(skb, DMANIC_PEER_A_CRC, info->crc) ||
	    nla_put_u32(skb, DMANIC_PEER_A_DEGRADED, info->degraded) ||
	    nla_put_u32(skb, DMANIC_PEER_A_RECEIVED, info->received) ||
	    nla_put_u32(skb, DMANIC_PEER_A_CARRIED, info->carried) ||
	    nla_put_u32(skb, DMANIC_PEER_A_REFUSED, info->refused) ||
	    (info->rival_ns && nla_put_u64_64bit(skb, DMANIC_PEER_A_RIVAL_NS,
						 info->rival_ns, DMANIC_PEER_A_PAD)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int peer_fill(struct sk_buff *skb, struct dmanic_node *node,
		     struct netlink_callback *cb, const struct dmanic_peer_info *info)
{
	void *head;

	head = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   &dmanic_genl_family, NLM_F_MULTI, DMANIC_GENL_CMD_PEER_GET);
	if (!head)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, head);
	if (nla_put_string(skb, DMANIC_A_NAME, node->name) || peer_put(skb, info)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

/* Resumes at the peer cb->args[1] of the node cb->args[0] */
int dmanic_netlink_peer_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(cb->skb->sk);
	struct dmanic_peer_info info;
	struct dmanic_node *node;
	long index = 0;
	int ret;

	ret = mutex_lock_killable(&dmanic_nodes_lock);
	if (ret)
		return ret;
	/* Zero says nothing */
	cb->seq = (dmanic_nodes_generation + atomic_read(&dmanic_peers_generation)) ?: 1;
	list_for_each_entry(node, &dmanic_nodes, entry) {
		if (!net_eq(node->net, net) || !node->link->peer || index++ < cb->args[0])
			continue;
		while (!ret && node->link->peer(node, cb->args[1], &info)) {
			ret = peer_fill(skb, node, cb, &info);
			if (!ret)
				cb->args[1]++;
		}
		if (ret)
			break;
		cb->args[0]++;
		cb->args[1] = 0;
	}
	mutex_unlock(&dmanic_nodes_lock);
	return skb->len ?: ret;
}
