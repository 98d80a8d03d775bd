// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink.c - control plane: generic netlink family "dmanic"
 *
 * Owns the family, its policies and its error texts; those of the nested model
 * are in netlink_model.c, events in netlink_event.c. Objects are made and
 * removed by the links and node.c; all of it happens under dmanic_nodes_lock,
 * so the family runs its commands in parallel to other families.
 *
 * A request sees the devices of its own network namespace only. What a command
 * does not use is refused by its policy. The texts of the extended
 * acknowledgments are never freed or changed while the module is loaded, for
 * the kernel reads them after the command has returned.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "dmanic.h"
#include "link.h"
#include "netlink.h"

/* Counts of open contexts that have a text of their own */
#define DMANIC_BUSY_TEXTS	256

/* Made when first needed, then never changed; under dmanic_nodes_lock */
static char *dmanic_busy_texts[DMANIC_BUSY_TEXTS];

/* ---- showing devices ---- */

static enum dmanic_dev_state dmanic_node_state(struct dmanic_node *node)
{
	struct dmanic_ether_info info;

	if (dmanic_node_dead(node))
		return DMANIC_DEV_REMOVED;
	if (node->link->failed && node->link->failed(node))
		return DMANIC_DEV_FAILED;
	if (node->link->tell_ether) {
		node->link->tell_ether(node, &info);
		if (info.down)
			return DMANIC_DEV_LINK_DOWN;
	}
	return DMANIC_DEV_UP;
}

static int dmanic_dma_put_attrs(struct sk_buff *skb, struct dmanic_node *node)
{
	struct dmanic_dma_info info;

	if (!node->link->tell_dma)
		return 0;
	node->link->tell_dma(node, &info);
	if (nla_put_u32(skb, DMANIC_A_DMA_STATE, info.state))
		return -EMSGSIZE;
	if (*info.name && nla_put_string(skb, DMANIC_A_DMA_ENGINE, info.name))
		return -EMSGSIZE;
	if (info.threshold &&
	    nla_put_u32(skb, DMANIC_A_DMA_THRESHOLD, info.threshold))
		return -EMSGSIZE;
	return 0;
}

int dmanic_netlink_dev_put(struct sk_buff *skb, struct dmanic_node *node)
{
	u64 pinned = atomic64_read(&node->pinned);

	if (nla_put_string(skb, DMANIC_A_NAME, node->name) ||
	    nla_put_string(skb, DMANIC_A_TYPE, node->link->type) ||
	    nla_put_u32(skb, DMANIC_A_NODE, node->id) ||
	    nla_put_u32(skb, DMANIC_A_NODES, node->link->nr_nodes(node)) ||
	    nla_put_string(skb, DMANIC_A_FABRIC, node->fabric) ||
	    nla_put_u32(skb, DMANIC_A_STATE, dmanic_node_state(node)) ||
	    nla_put_u64_64bit(skb, DMANIC_A_INCARNATION,
			      READ_ONCE(node->incarnation), DMANIC_A_PAD) ||
	    nla_put_u32(skb, DMANIC_A_CONTEXTS,
			atomic_read(&node->nr[DMANIC_KIND_CONTEXT])) ||
	    nla_put_u32(skb, DMANIC_A_SEGMENTS,
			atomic_read(&node->nr[DMANIC_KIND_SEGMENT])) ||
	    nla_put_u32(skb, DMANIC_A_QUEUES,
			atomic_read(&node->nr[DMANIC_KIND_QUEUE])) ||
	    nla_put_u32(skb, DMANIC_A_IRQS,
			atomic_read(&node->nr[DMANIC_KIND_IRQ])) ||
	    nla_put_u64_64bit(skb, DMANIC_A_PINNED, pinned, DMANIC_A_PAD) ||
	    dmanic_dma_put_attrs(skb, node) || dmanic_netlink_ether_put(skb, node))
		return -EMSGSIZE;
	return dmanic_netlink_model_put(skb, node) ?: dmanic_netlink_fault_put(skb, node);
}

static int dmanic_stats_put(struct sk_buff *skb, struct dmanic_node *node)
{
	struct nlattr *nest;
	int i;

	if (nla_put_string(skb, DMANIC_A_NAME, node->name) ||
	    nla_put_string(skb, DMANIC_A_TYPE, node->link->type) ||
	    nla_put_u32(skb, DMANIC_A_NODE, node->id) ||
	    nla_put_string(skb, DMANIC_A_FABRIC, node->fabric))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, DMANIC_A_STATS);
	if (!nest)
		return -EMSGSIZE;
	for (i = DMANIC_STATS_A_PAD + 1; i <= DMANIC_STATS_A_MAX; i++) {
		if (nla_put_u64_64bit(skb, i, dmanic_stat_sum(node, i),
				      DMANIC_STATS_A_PAD))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return dmanic_netlink_proto_put(skb, node);
}

/* @cb: of a dump, else NULL */
static int dmanic_node_fill(struct sk_buff *skb, struct dmanic_node *node,
			    u32 portid, u32 seq, u8 cmd,
			    struct netlink_callback *cb)
{
	void *head;
	int ret;

	lockdep_assert_held(&dmanic_nodes_lock);

	head = genlmsg_put(skb, portid, seq, &dmanic_genl_family,
			   cb ? NLM_F_MULTI : 0, cmd);
	if (!head)
		return -EMSGSIZE;
	if (cb)
		genl_dump_check_consistent(cb, head);
	if (cmd == DMANIC_GENL_CMD_STATS_GET)
		ret = dmanic_stats_put(skb, node);
	else
		ret = dmanic_netlink_dev_put(skb, node);
	if (ret) {
		genlmsg_cancel(skb, head);
		return ret;
	}
	genlmsg_end(skb, head);
	return 0;
}

static int dmanic_no_such_device(struct genl_info *info,
				 const struct nlattr *attr)
{
	NL_SET_ERR_MSG_ATTR(info->extack, attr,
			    "no such device in this network namespace: see nicctl dev show");
	return -ENODEV;
}

/* DEV_GET and STATS_GET of one device */
static int dmanic_get_doit(struct sk_buff *request, struct genl_info *info)
{
	struct nlattr *name = info->attrs[DMANIC_A_NAME];
	struct dmanic_node *node;
	struct sk_buff *skb;
	int ret;

	if (!name) {
		NL_SET_ERR_MSG(info->extack,
			       "NAME is missing: give one, or ask for a dump");
		return -EINVAL;
	}
	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;

	ret = mutex_lock_killable(&dmanic_nodes_lock);
	if (ret)
		goto err_free_skb;
	node = dmanic_node_find(genl_info_net(info), nla_data(name));
	if (node)
		ret = dmanic_node_fill(skb, node, info->snd_portid,
				       info->snd_seq, info->genlhdr->cmd, NULL);
	else
		ret = dmanic_no_such_device(info, name);
	mutex_unlock(&dmanic_nodes_lock);
	if (ret)
		goto err_free_skb;
	return genlmsg_reply(skb, info);

err_free_skb:
	nlmsg_free(skb);
	return ret;
}

/* Resumes at the node cb->args[0]; a list that changed is marked as such */
static int dmanic_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genlmsghdr *request = nlmsg_data(cb->nlh);
	struct net *net = sock_net(cb->skb->sk);
	struct dmanic_node *node;
	long index = 0;
	int ret;

	ret = mutex_lock_killable(&dmanic_nodes_lock);
	if (ret)
		return ret;
	cb->seq = dmanic_nodes_generation;
	list_for_each_entry(node, &dmanic_nodes, entry) {
		if (!net_eq(node->net, net))
			continue;
		if (index >= cb->args[0]) {
			ret = dmanic_node_fill(skb, node,
					       NETLINK_CB(cb->skb).portid,
					       cb->nlh->nlmsg_seq,
					       request->cmd, cb);
			if (ret)
				break;
		}
		index++;
	}
	mutex_unlock(&dmanic_nodes_lock);

	cb->args[0] = index;
	return skb->len ?: ret;
}

static int dmanic_get_start(struct netlink_callback *cb)
{
	if (!nlmsg_attrlen(cb->nlh, GENL_HDRLEN))
		return 0;
	NL_SET_ERR_MSG(cb->extack,
		       "a dump takes no attributes: to get one device, leave NLM_F_DUMP out");
	return -EINVAL;
}

/* ---- making devices ---- */

static int dmanic_loop_new(struct genl_info *info)
{
	struct dmanic_loop_config config = {};
	int ret;

	ret = dmanic_netlink_loop_read(&config, info);
	if (ret)
		return ret;
	ret = mutex_lock_killable(&dmanic_nodes_lock);
	if (ret)
		return ret;
	ret = dmanic_loop_create(genl_info_net(info), config.name, config.nodes,
				 &config.model);
	mutex_unlock(&dmanic_nodes_lock);
	if (ret == -EEXIST)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DMANIC_A_NAME],
				    "a device of that name exists, here or in another network namespace, or a part of that fabric does: choose another prefix, or delete it first");
	return ret;
}

static int dmanic_new_typed(struct genl_info *info)
{
	struct nlattr *type = info->attrs[DMANIC_A_TYPE];

	if (!type) {
		NL_SET_ERR_MSG(info->extack, "TYPE is missing; types: loop, ether");
		return -EINVAL;
	}
	if (!nla_strcmp(type, "loop"))
		return dmanic_loop_new(info);
	if (!nla_strcmp(type, "ether"))
		return dmanic_netlink_ether_new(info);
	NL_SET_ERR_MSG_ATTR(info->extack, type,
			    "no such link type in this version of the driver; types: loop, ether");
	return -EOPNOTSUPP;
}

static int dmanic_dev_new(struct sk_buff *skb, struct genl_info *info)
{
	int ret = dmanic_new_typed(info);

	dmanic_netlink_key_forget(info);
	return ret;
}

/* ---- changing and removing devices ---- */

/* The attribute that says which devices are meant, NAME or FABRIC */
static const struct nlattr *dmanic_selector(struct genl_info *info)
{
	struct nlattr *name = info->attrs[DMANIC_A_NAME];
	struct nlattr *fabric = info->attrs[DMANIC_A_FABRIC];

	if (!name == !fabric) {
		NL_SET_ERR_MSG(info->extack,
			       "give either NAME, for one device, or FABRIC, for all made with that prefix");
		return NULL;
	}
	return name ?: fabric;
}

static bool dmanic_node_selected(const struct dmanic_node *node,
				 const struct net *net,
				 const struct nlattr *selector)
{
	if (!net_eq(node->net, net))
		return false;
	if (nla_type(selector) == DMANIC_A_FABRIC)
		return !strcmp(node->fabric, nla_data(selector));
	return !strcmp(node->name, nla_data(selector));
}

static const char *dmanic_busy_text(unsigned int contexts)
{
	lockdep_assert_held(&dmanic_nodes_lock);

	if (contexts < DMANIC_BUSY_TEXTS && !dmanic_busy_texts[contexts])
		dmanic_busy_texts[contexts] =
			kasprintf(GFP_KERNEL,
				  "in use, open contexts: %u; end the programs that use it, or force the removal",
				  contexts);
	if (contexts < DMANIC_BUSY_TEXTS && dmanic_busy_texts[contexts])
		return dmanic_busy_texts[contexts];
	return "in use, open contexts: many; end the programs that use it, or force the removal";
}

/*
 * Who opens a device between the check and its removal gets ENODEV, as from a
 * removal by force.
 */
static int dmanic_del_check(struct genl_info *info,
			    const struct nlattr *selector)
{
	struct net *net = genl_info_net(info);
	struct dmanic_node *node;
	unsigned int contexts = 0;
	bool found = false;
	bool busy = false;

	list_for_each_entry(node, &dmanic_nodes, entry) {
		if (!dmanic_node_selected(node, net, selector))
			continue;
		found = true;
		busy |= dmanic_node_busy(node);
		contexts += atomic_read(&node->nr[DMANIC_KIND_CONTEXT]);
	}
	if (!found)
		return dmanic_no_such_device(info, selector);
	if (!busy || info->attrs[DMANIC_A_FORCE])
		return 0;
	info->extack->_msg = dmanic_busy_text(contexts);
	NL_SET_BAD_ATTR(info->extack, selector);
	return -EBUSY;
}

static int dmanic_dev_del(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *selector = dmanic_selector(info);
	struct net *net = genl_info_net(info);
	struct dmanic_node *node, *next;
	int ret;

	if (!selector)
		return -EINVAL;
	ret = mutex_lock_killable(&dmanic_nodes_lock);
	if (ret)
		return ret;
	ret = dmanic_del_check(info, selector);
	if (!ret) {
		list_for_each_entry_safe(node, next, &dmanic_nodes, entry)
			if (dmanic_node_selected(node, net, selector))
				dmanic_node_remove(node);
	}
	mutex_unlock(&dmanic_nodes_lock);
	return ret;
}

/* Those who have others of the fabric open: listeners see the event of @node */
static void dmanic_tell_fabric(struct dmanic_node *node, enum dmanic_event event)
{
	struct dmanic_node *other;

	list_for_each_entry(other, &dmanic_nodes, entry)
		if (other != node && other->link == node->link &&
		    net_eq(other->net, node->net) &&
		    !strcmp(other->fabric, node->fabric))
			dmanic_news_tell(other, event, node->id);
}

static void dmanic_set_failed(struct dmanic_node *node, bool failed)
{
	bool before = node->link->failed && node->link->failed(node);

	dmanic_node_set_failed(node, failed);
	if (before == failed)
		return;
	dmanic_netlink_event(node, failed ? DMANIC_EVENT_FAILED : DMANIC_EVENT_RESTARTED);
	dmanic_tell_fabric(node, failed ? DMANIC_EVENT_PEER_DOWN :
					  DMANIC_EVENT_PEER_RESTARTED);
}

/* Change one node; with @check only find out whether that would work */
static int dmanic_set_node(struct dmanic_node *node, struct genl_info *info,
			   bool check)
{
	const struct dmanic_link_ops *link = node->link;
	struct nlattr *nest = info->attrs[DMANIC_A_MODEL];
	struct nlattr *failed = info->attrs[DMANIC_A_FAILED];
	struct nlattr *faults = info->attrs[DMANIC_A_FAULT];
	struct dmanic_fault fault = {};
	struct dmanic_link_key key;
	struct dmanic_model model;
	int ret;

	if ((nest && (!link->set_model || !link->get_model)) ||
	    (failed && !link->set_failed)) {
		NL_SET_ERR_MSG_ATTR(info->extack, nest ?: failed,
				    "only devices of type loop have a model and can be made to fail");
		return -EOPNOTSUPP;
	}
	if (faults && !link->set_fault) {
		NL_SET_ERR_MSG_ATTR(info->extack, faults,
				    "only devices of type ether have a wire that can be bad");
		return -EOPNOTSUPP;
	}
	if (info->attrs[DMANIC_A_KEY] && !link->set_key) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DMANIC_A_KEY],
				    "only devices of type ether send frames that a KEY is for");
		return -EOPNOTSUPP;
	}
	ret = dmanic_netlink_key_read(&key, info);
	if (ret)
		return ret;
	if (info->attrs[DMANIC_A_KEY] && !check)
		link->set_key(node, &key);
	if (faults) {
		ret = dmanic_netlink_fault_read(&fault, faults, info->extack);
		if (ret)
			return ret;
		if (!check)
			link->set_fault(node, &fault);
	}
	if (nest) {
		link->get_model(node, &model);
		ret = dmanic_netlink_model_change(&model, nest, info->extack);
		if (ret)
			return ret;
		if (!check) {
			link->set_model(node, &model);
			dmanic_netlink_event(node, DMANIC_EVENT_MODEL);
		}
	}
	if (failed && !check)
		dmanic_set_failed(node, nla_get_u8(failed));
	return 0;
}

static int dmanic_set_selected(struct genl_info *info,
			       const struct nlattr *selector, bool check)
{
	struct net *net = genl_info_net(info);
	struct dmanic_node *node;
	bool found = false;
	int ret;

	lockdep_assert_held(&dmanic_nodes_lock);

	list_for_each_entry(node, &dmanic_nodes, entry) {
		if (!dmanic_node_selected(node, net, selector))
			continue;
		found = true;
		ret = dmanic_set_node(node, info, check);
		if (ret)
			return ret;
	}
	return found ? 0 : dmanic_no_such_device(info, selector);
}

static int dmanic_dev_set(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *selector = dmanic_selector(info);
	int ret;

	ret = -EINVAL;
	if (!selector)
		goto out_forget;
	if (!info->attrs[DMANIC_A_MODEL] && !info->attrs[DMANIC_A_FAILED] &&
	    !info->attrs[DMANIC_A_FAULT] && !info->attrs[DMANIC_A_KEY]) {
		NL_SET_ERR_MSG(info->extack,
			       "nothing to change: give MODEL, FAILED, FAULT or KEY");
		goto out_forget;
	}
	ret = mutex_lock_killable(&dmanic_nodes_lock);
	if (ret)
		goto out_forget;
	/* All or nothing: every node is checked before the first is changed */
	ret = dmanic_set_selected(info, selector, true);
	if (!ret)
		ret = dmanic_set_selected(info, selector, false);
	mutex_unlock(&dmanic_nodes_lock);
out_forget:
	dmanic_netlink_key_forget(info);
	return ret;
}

/* ---- the family ---- */

static const struct nla_policy dmanic_get_policy[DMANIC_A_MAX + 1] = {
	[DMANIC_A_NAME] = DMANIC_NAME_POLICY,
};

static const struct nla_policy dmanic_del_policy[DMANIC_A_MAX + 1] = {
	[DMANIC_A_NAME] = DMANIC_NAME_POLICY,
	[DMANIC_A_FABRIC] = DMANIC_NAME_POLICY,
	[DMANIC_A_FORCE] = { .type = NLA_FLAG },
};

#define DMANIC_OP_GET(_cmd) {				\
	.cmd = _cmd,					\
	.doit = dmanic_get_doit,			\
	.start = dmanic_get_start,			\
	.dumpit = dmanic_get_dumpit,			\
	.policy = dmanic_get_policy,			\
	.maxattr = DMANIC_A_MAX,			\
}

#define DMANIC_OP_CHANGE(_cmd, _doit, _policy) {	\
	.cmd = _cmd,					\
	.doit = _doit,					\
	.policy = _policy,				\
	.maxattr = DMANIC_A_MAX,			\
	.flags = GENL_ADMIN_PERM,			\
}

static const struct genl_ops dmanic_genl_ops[] = {
	DMANIC_OP_GET(DMANIC_GENL_CMD_DEV_GET),
	DMANIC_OP_CHANGE(DMANIC_GENL_CMD_DEV_NEW, dmanic_dev_new,
			 dmanic_netlink_new_policy),
	DMANIC_OP_CHANGE(DMANIC_GENL_CMD_DEV_DEL, dmanic_dev_del,
			 dmanic_del_policy),
	DMANIC_OP_CHANGE(DMANIC_GENL_CMD_DEV_SET, dmanic_dev_set,
			 dmanic_netlink_set_policy),
	DMANIC_OP_GET(DMANIC_GENL_CMD_STATS_GET),
	{
		.cmd = DMANIC_GENL_CMD_PEER_GET,
		.start = dmanic_get_start,
		.dumpit = dmanic_netlink_peer_dumpit,
		.policy = dmanic_get_policy,
		.maxattr = DMANIC_A_MAX,
	},
};

struct genl_family dmanic_genl_family __ro_after_init = {
	.name = DMANIC_GENL_NAME,
	.version = DMANIC_GENL_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.ops = dmanic_genl_ops,
	.n_ops = ARRAY_SIZE(dmanic_genl_ops),
	.mcgrps = dmanic_netlink_groups,
	.n_mcgrps = DMANIC_NETLINK_GROUPS,
	.module = THIS_MODULE,
};

int dmanic_netlink_init(void)
{
	return genl_register_family(&dmanic_genl_family);
}

void dmanic_netlink_exit(void)
{
	int i;

	genl_unregister_family(&dmanic_genl_family);
	for (i = 0; i < DMANIC_BUSY_TEXTS; i++)
		kfree(dmanic_busy_texts[i]);
}
