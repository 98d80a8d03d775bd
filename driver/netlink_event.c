// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink_event.c - control plane: telling listeners what happens to devices
 *
 * Owns the multicast group "events". A listener hears of the devices of its own
 * network namespace. An event is sent under dmanic_nodes_lock and no spinlock,
 * after the change it is about, so events come in the order of the changes and
 * a dump made after one shows it or something later.
 *
 * Events never make a change fail or wait: a listener that is too slow loses
 * some and gets ENOBUFS from its socket, and so does every listener when there
 * is no memory for a message. It then asks for all devices again.
 *
 * A network namespace takes its devices along before it closes its sockets
 * (pre_exit), and while a node is in the list its namespace is there.
 */
#include <net/genetlink.h>
#include <net/sock.h>

#include "dmanic.h"
#include "netlink.h"

/* The group's number within the family */
#define DMANIC_GROUP_EVENTS	0

const struct genl_multicast_group
dmanic_netlink_groups[DMANIC_NETLINK_GROUPS] = {
	[DMANIC_GROUP_EVENTS] = { .name = DMANIC_GENL_GROUP_EVENTS },
};

static int event_fill_peer(struct sk_buff *skb, u32 peer)
{
	struct nlattr *nest = nla_nest_start(skb, DMANIC_A_PEER);

	if (!nest || nla_put_u32(skb, DMANIC_PEER_A_NODE, peer))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int event_fill(struct sk_buff *skb, struct dmanic_node *node,
		      enum dmanic_event event, u32 peer)
{
	void *head;
	int ret;

	head = genlmsg_put(skb, 0, 0, &dmanic_genl_family, 0,
			   DMANIC_GENL_CMD_EVENT);
	if (!head)
		return -EMSGSIZE;
	ret = nla_put_u32(skb, DMANIC_A_EVENT, event);
	if (ret)
		return ret;
	ret = dmanic_netlink_dev_put(skb, node);
	if (!ret && peer != DMANIC_NO_NODE)
		ret = event_fill_peer(skb, peer);
	if (ret)
		return ret;
	genlmsg_end(skb, head);
	return 0;
}

/**
 * dmanic_netlink_event() - tell listeners, and who has it open, that something
 *	happened to a node
 * @node: added; its struct and its namespace are there
 * @event: what happened, already done
 */
void dmanic_netlink_event(struct dmanic_node *node, enum dmanic_event event)
{
	dmanic_netlink_peer_event(node, event, DMANIC_NO_NODE);
}

/**
 * dmanic_netlink_peer_event() - the same, about another node that it knows
 * @node: as above
 * @event: as above
 * @peer: id of the other node; DMANIC_NO_NODE: it is about @node itself
 */
void dmanic_netlink_peer_event(struct dmanic_node *node, enum dmanic_event event, u32 peer)
{
	struct sk_buff *skb;

	lockdep_assert_held(&dmanic_nodes_lock);

	dmanic_news_tell(node, event, peer == DMANIC_NO_NODE ? node->id : peer);
	if (!genl_has_listeners(&dmanic_genl_family, node->net,
				DMANIC_GROUP_EVENTS))
		return;
	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		goto err_lost;
	if (WARN_ON_ONCE(event_fill(skb, node, event, peer)))
		goto err_free_skb;
	/* -ESRCH: none in this namespace; -ENOBUFS: its listener was told */
	genlmsg_multicast_netns(&dmanic_genl_family, node->net, skb, 0,
				DMANIC_GROUP_EVENTS, GFP_KERNEL);
	return;

err_free_skb:
	nlmsg_free(skb);
err_lost:
	genl_set_err(&dmanic_genl_family, node->net, 0, DMANIC_GROUP_EVENTS,
		     -ENOBUFS);
}
