/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * netlink.h - what netlink.c and its parts share
 */
#ifndef DMANIC_NETLINK_H
#define DMANIC_NETLINK_H

#include <net/genetlink.h>
#include <net/netlink.h>

#include "dmanic.h"
#include "model.h"

#define DMANIC_NAME_POLICY	{ .type = NLA_NUL_STRING, \
				  .len = DMANIC_NAME_MAX - 1 }

extern struct genl_family dmanic_genl_family;

/* The family's multicast groups */
#define DMANIC_NETLINK_GROUPS	1
extern const struct genl_multicast_group
dmanic_netlink_groups[DMANIC_NETLINK_GROUPS];

/* Append what DEV_GET answers; -EMSGSIZE: no room */
int dmanic_netlink_dev_put(struct sk_buff *skb, struct dmanic_node *node);

/* What a request may say about a model */
extern const struct nla_policy
dmanic_netlink_model_policy[DMANIC_MODEL_A_MAX + 1];

/* Append the model of @node, if its link has one; -EMSGSIZE: no room */
int dmanic_netlink_model_put(struct sk_buff *skb, struct dmanic_node *node);

/*
 * Change @model as the attributes in @nest ask, and check it; @extack tells
 * what is wrong. After an error @model is not to be used.
 */
int dmanic_netlink_model_change(struct dmanic_model *model,
				const struct nlattr *nest,
				struct netlink_ext_ack *extack);

/* netlink_fault.c */
extern const struct nla_policy
dmanic_netlink_fault_policy[DMANIC_FAULT_A_MAX + 1];
struct dmanic_fault;
int dmanic_netlink_fault_put(struct sk_buff *skb, struct dmanic_node *node);
int dmanic_netlink_fault_read(struct dmanic_fault *fault, const struct nlattr *nest,
			      struct netlink_ext_ack *extack);

/**
 * struct dmanic_loop_config - a fabric to be made
 * @name: prefix of its devices
 * @nodes: how many
 * @model: of its link
 */
struct dmanic_loop_config {
	const char *name;
	u32 nodes;
	struct dmanic_model model;
};

/* netlink_config.c */
extern const struct nla_policy dmanic_netlink_new_policy[DMANIC_A_MAX + 1];
extern const struct nla_policy dmanic_netlink_set_policy[DMANIC_A_MAX + 1];
struct dmanic_link_key;
struct ether_config;
int dmanic_netlink_loop_read(struct dmanic_loop_config *config, struct genl_info *info);
int dmanic_netlink_config_read(struct ether_config *config, struct genl_info *info);
int dmanic_netlink_key_read(struct dmanic_link_key *key, struct genl_info *info);
void dmanic_netlink_key_forget(struct genl_info *info);

/* netlink_ether.c */
int dmanic_netlink_ether_new(struct genl_info *info);
int dmanic_netlink_ether_put(struct sk_buff *skb, struct dmanic_node *node);
int dmanic_netlink_proto_put(struct sk_buff *skb, struct dmanic_node *node);
int dmanic_netlink_peer_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* DMANIC_NETLINK_H */
