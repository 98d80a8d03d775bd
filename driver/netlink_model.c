// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink_model.c - control plane: the model of a link, nested in a request or
 * an answer
 *
 * Owns the policy of these attributes and which of them is which value. Takes
 * no lock: a model is the caller's, and who changes that of a node holds
 * dmanic_nodes_lock. Error texts live as long as the module (see netlink.c).
 */
#include <net/netlink.h>

#include "dmanic.h"
#include "link.h"
#include "netlink.h"

const struct nla_policy dmanic_netlink_model_policy[DMANIC_MODEL_A_MAX + 1] = {
	[DMANIC_MODEL_A_NAME] = DMANIC_NAME_POLICY,
	[DMANIC_MODEL_A_START_NS] = { .type = NLA_U64 },
	[DMANIC_MODEL_A_INTERRUPT_NS] = { .type = NLA_U64 },
	[DMANIC_MODEL_A_LATENCY_NS] = { .type = NLA_U64 },
	[DMANIC_MODEL_A_BANDWIDTH] = { .type = NLA_U64 },
	[DMANIC_MODEL_A_SCALE] = { .type = NLA_U32 },
	[DMANIC_MODEL_A_JITTER_NS] = { .type = NLA_U64 },
	[DMANIC_MODEL_A_SEED] = { .type = NLA_U64 },
};

/* Where the 64-bit values are; @cost: changed, it is another card */
static const struct {
	int attr;
	size_t offset;
	bool cost;
} dmanic_model_values[] = {
	{ DMANIC_MODEL_A_START_NS,
	  offsetof(struct dmanic_model, start_ns), true },
	{ DMANIC_MODEL_A_INTERRUPT_NS,
	  offsetof(struct dmanic_model, interrupt_ns), true },
	{ DMANIC_MODEL_A_LATENCY_NS,
	  offsetof(struct dmanic_model, latency_ns), true },
	{ DMANIC_MODEL_A_BANDWIDTH,
	  offsetof(struct dmanic_model, bandwidth), true },
	{ DMANIC_MODEL_A_JITTER_NS,
	  offsetof(struct dmanic_model, jitter_ns), true },
	{ DMANIC_MODEL_A_SEED,
	  offsetof(struct dmanic_model, seed), false },
};

int dmanic_netlink_model_put(struct sk_buff *skb, struct dmanic_node *node)
{
	struct dmanic_model model = { };
	struct nlattr *nest;
	const u64 *value;
	size_t i;

	if (!node->link->get_model)
		return 0;
	node->link->get_model(node, &model);

	nest = nla_nest_start(skb, DMANIC_A_MODEL);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_string(skb, DMANIC_MODEL_A_NAME, model.name) ||
	    nla_put_u32(skb, DMANIC_MODEL_A_SCALE, model.scale))
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(dmanic_model_values); i++) {
		value = (void *)&model + dmanic_model_values[i].offset;
		if (nla_put_u64_64bit(skb, dmanic_model_values[i].attr, *value,
				      DMANIC_MODEL_A_PAD))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/*
 * Change @model as the request asks. Scale and seed say how a card is played,
 * not which card it is, so they leave it its name.
 */
int dmanic_netlink_model_change(struct dmanic_model *model,
				const struct nlattr *nest,
				struct netlink_ext_ack *extack)
{
	struct nlattr *attrs[DMANIC_MODEL_A_MAX + 1];
	const char *why = "the model makes no sense";
	const struct nlattr *attr;
	size_t i;
	int ret;

	ret = nla_parse_nested(attrs, DMANIC_MODEL_A_MAX, nest,
			       dmanic_netlink_model_policy, extack);
	if (ret)
		return ret;

	attr = attrs[DMANIC_MODEL_A_NAME];
	if (attr) {
		ret = dmanic_model_preset(model, nla_data(attr));
		if (ret) {
			NL_SET_ERR_MSG_ATTR(extack, attr,
					    "no such model preset; presets: none, sci-d330, eth-25g");
			return ret;
		}
	}
	for (i = 0; i < ARRAY_SIZE(dmanic_model_values); i++) {
		attr = attrs[dmanic_model_values[i].attr];
		if (!attr)
			continue;
		*(u64 *)((void *)model + dmanic_model_values[i].offset) =
			nla_get_u64(attr);
		if (dmanic_model_values[i].cost)
			strscpy(model->name, "custom", sizeof(model->name));
	}
	if (attrs[DMANIC_MODEL_A_SCALE])
		model->scale = nla_get_u32(attrs[DMANIC_MODEL_A_SCALE]);

	ret = dmanic_model_check(model, &why);
	if (ret) {
		extack->_msg = why;
		NL_SET_BAD_ATTR(extack, nest);
	}
	return ret;
}
