// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink_fault.c - control plane: a bad wire, nested in a request or an answer
 *
 * Owns the policy of these attributes and which of them is which value. Takes no
 * lock. Error texts live as long as the module (see netlink.c).
 */
#include <net/netlink.h>

#include "dmanic.h"
#include "link.h"
#include "netlink.h"

#define FAULT_WHOLE		1000000U
/* Longer than any peer is waited for by default */
#define FAULT_DELAY_MAX		(10ULL * NSEC_PER_SEC)

const struct nla_policy dmanic_netlink_fault_policy[DMANIC_FAULT_A_MAX + 1] = {
	[DMANIC_FAULT_A_SEED] = { .type = NLA_U64 },
	[DMANIC_FAULT_A_DROP] = { .type = NLA_U32 },
	[DMANIC_FAULT_A_DUPLICATE] = { .type = NLA_U32 },
	[DMANIC_FAULT_A_CORRUPT] = { .type = NLA_U32 },
	[DMANIC_FAULT_A_REORDER] = { .type = NLA_U32 },
	[DMANIC_FAULT_A_DELAY_NS] = { .type = NLA_U64 },
};

/* Where the shares are */
static const struct {
	int attr;
	size_t offset;
} fault_shares[] = {
	{ DMANIC_FAULT_A_DROP, offsetof(struct dmanic_fault, drop) },
	{ DMANIC_FAULT_A_DUPLICATE, offsetof(struct dmanic_fault, duplicate) },
	{ DMANIC_FAULT_A_CORRUPT, offsetof(struct dmanic_fault, corrupt) },
	{ DMANIC_FAULT_A_REORDER, offsetof(struct dmanic_fault, reorder) },
};

/* Append how bad the way to @node is, if it is; -EMSGSIZE: no room */
int dmanic_netlink_fault_put(struct sk_buff *skb, struct dmanic_node *node)
{
	struct dmanic_fault fault = {};
	struct nlattr *nest;
	const u32 *share;
	size_t i;

	if (!node->link->get_fault)
		return 0;
	node->link->get_fault(node, &fault);
	if (!dmanic_fault_any(&fault))
		return 0;
	nest = nla_nest_start(skb, DMANIC_A_FAULT);
	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(fault_shares); i++) {
		share = (void *)&fault + fault_shares[i].offset;
		if (nla_put_u32(skb, fault_shares[i].attr, *share))
			return -EMSGSIZE;
	}
	if (nla_put_u64_64bit(skb, DMANIC_FAULT_A_SEED, fault.seed, DMANIC_FAULT_A_PAD) ||
	    nla_put_u64_64bit(skb, DMANIC_FAULT_A_DELAY_NS, fault.delay_ns,
			      DMANIC_FAULT_A_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* What a request wants, checked; @extack tells what is wrong */
int dmanic_netlink_fault_read(struct dmanic_fault *fault, const struct nlattr *nest,
			      struct netlink_ext_ack *extack)
{
	struct nlattr *attrs[DMANIC_FAULT_A_MAX + 1];
	struct nlattr *attr;
	u32 *share;
	size_t i;
	int ret;

	ret = nla_parse_nested(attrs, DMANIC_FAULT_A_MAX, nest,
			       dmanic_netlink_fault_policy, extack);
	if (ret)
		return ret;
	*fault = (struct dmanic_fault) {};
	for (i = 0; i < ARRAY_SIZE(fault_shares); i++) {
		attr = attrs[fault_shares[i].attr];
		share = (void *)fault + fault_shares[i].offset;
		*share = attr ? nla_get_u32(attr) : 0;
		if (*share > FAULT_WHOLE) {
			NL_SET_ERR_MSG_ATTR(extack, attr,
					    "a share of frames is more than all: at most 1000000 parts per million");
			return -EINVAL;
		}
	}
	attr = attrs[DMANIC_FAULT_A_SEED];
	fault->seed = attr ? nla_get_u64(attr) : 0;
	attr = attrs[DMANIC_FAULT_A_DELAY_NS];
	fault->delay_ns = attr ? nla_get_u64(attr) : 0;
	if (fault->delay_ns > FAULT_DELAY_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "DELAY_NS must be at most 10 s");
		return -EINVAL;
	}
	if (fault->reorder && !fault->delay_ns) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[DMANIC_FAULT_A_REORDER],
				    "frames that REORDER pass others, which DELAY_NS holds up: give it, too");
		return -EINVAL;
	}
	return 0;
}
