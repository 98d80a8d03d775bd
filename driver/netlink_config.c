// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink_config.c - control plane: what requests that make and change devices may say,
 * and what they say of those of type ether
 *
 * Takes no lock and finds no device. With netlink_model.c and netlink_fault.c it is what
 * looks at the bytes of a request; selftests/fuzz/fuzz_netlink.c has all three.
 */
#include <linux/build_bug.h>
#include <linux/ctype.h>
#include <linux/if_ether.h>
#include <linux/string.h>
#include <net/netlink.h>

#include "dmanic.h"
#include "link.h"
#include "netlink.h"

/* A prefix leaves room for the three digits of the largest node number */
#define DMANIC_PREFIX_MAX	(DMANIC_NAME_MAX - 1 - 3)

#define ETHERTYPE_DEFAULT	0x88B5
/* Less than the protocol needs to ask a few times */
#define DEAD_NS_MIN		(10 * NSEC_PER_MSEC)
#define DEAD_NS_MAX		(3600ULL * NSEC_PER_SEC)

/* What the texts tell */
static_assert(DMANIC_PREFIX_MAX == 28);
static_assert(DMANIC_LOOP_MAX_NODES == 256);

const struct nla_policy dmanic_netlink_new_policy[DMANIC_A_MAX + 1] = {
	[DMANIC_A_NAME] = DMANIC_NAME_POLICY,
	[DMANIC_A_TYPE] = DMANIC_NAME_POLICY,
	[DMANIC_A_NODES] = { .type = NLA_U32 },
	[DMANIC_A_MODEL] = NLA_POLICY_NESTED(dmanic_netlink_model_policy),
	[DMANIC_A_FABRIC] = DMANIC_NAME_POLICY,
	[DMANIC_A_NODE] = { .type = NLA_U32 },
	[DMANIC_A_NETDEV] = DMANIC_NAME_POLICY,
	[DMANIC_A_IFINDEX] = { .type = NLA_U32 },
	[DMANIC_A_ETHERTYPE] = { .type = NLA_U16 },
	[DMANIC_A_CRC] = NLA_POLICY_MAX(NLA_U32, DMANIC_CRC_ON),
	[DMANIC_A_DEAD_NS] = { .type = NLA_U64 },
	[DMANIC_A_KEY] = { .type = NLA_BINARY, .len = DMANIC_KEY_BYTES },
	[DMANIC_A_KEY_ID] = { .type = NLA_U32 },
};

const struct nla_policy dmanic_netlink_set_policy[DMANIC_A_MAX + 1] = {
	[DMANIC_A_NAME] = DMANIC_NAME_POLICY,
	[DMANIC_A_FABRIC] = DMANIC_NAME_POLICY,
	[DMANIC_A_FAILED] = NLA_POLICY_MAX(NLA_U8, 1),
	[DMANIC_A_MODEL] = NLA_POLICY_NESTED(dmanic_netlink_model_policy),
	[DMANIC_A_FAULT] = NLA_POLICY_NESTED(dmanic_netlink_fault_policy),
	[DMANIC_A_KEY] = { .type = NLA_BINARY, .len = DMANIC_KEY_BYTES },
	[DMANIC_A_KEY_ID] = { .type = NLA_U32 },
};

/*
 * A prefix becomes the name of a file in /dev and in sysfs: no path, nothing
 * hidden, nothing that looks like an option.
 */
static int prefix_check(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	const char *prefix = nla_data(attr);
	size_t length = strlen(prefix);
	size_t i;

	if (!length || length > DMANIC_PREFIX_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "NAME has 1 to 28 characters (loop: a prefix, node numbers are appended)");
		return -EINVAL;
	}
	for (i = 0; i < length; i++) {
		if (isascii(prefix[i]) && isalnum(prefix[i]))
			continue;
		if (i && strchr("-_.", prefix[i]))
			continue;
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "NAME may have letters and digits, and after the first character '-', '_' and '.'");
		return -EINVAL;
	}
	return 0;
}

/* What only a device of the other type has */
static int foreign_check(struct genl_info *info, const int *attrs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!info->attrs[attrs[i]])
			continue;
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[attrs[i]],
				    "devices of this TYPE do not have that");
		return -EINVAL;
	}
	return 0;
}

/**
 * dmanic_netlink_loop_read() - the fabric that DEV_NEW of type loop asks for
 * @config: out; its name is that of the request
 * @info: the request
 *
 * Return: 0 or -errno, and the extack says why.
 */
int dmanic_netlink_loop_read(struct dmanic_loop_config *config, struct genl_info *info)
{
	static const int foreign[] = {
		DMANIC_A_FABRIC, DMANIC_A_NODE, DMANIC_A_NETDEV, DMANIC_A_IFINDEX,
		DMANIC_A_ETHERTYPE, DMANIC_A_CRC, DMANIC_A_DEAD_NS, DMANIC_A_KEY,
		DMANIC_A_KEY_ID,
	};
	struct nlattr *name = info->attrs[DMANIC_A_NAME];
	struct nlattr *nodes = info->attrs[DMANIC_A_NODES];
	struct nlattr *nest = info->attrs[DMANIC_A_MODEL];
	int ret;

	if (!name || !nodes) {
		NL_SET_ERR_MSG(info->extack,
			       "a loop fabric needs NAME, the prefix of its devices, and NODES, how many");
		return -EINVAL;
	}
	ret = foreign_check(info, foreign, ARRAY_SIZE(foreign));
	if (!ret)
		ret = prefix_check(name, info->extack);
	if (ret)
		return ret;
	config->name = nla_data(name);
	config->nodes = nla_get_u32(nodes);
	if (!config->nodes || config->nodes > DMANIC_LOOP_MAX_NODES) {
		NL_SET_ERR_MSG_ATTR(info->extack, nodes,
				    "a loop fabric has 1 to 256 nodes (NODES)");
		return -EINVAL;
	}
	ret = dmanic_model_preset(&config->model, "none");
	if (!ret && nest)
		ret = dmanic_netlink_model_change(&config->model, nest, info->extack);
	return ret;
}

/* What else may use a type would get our frames */
static int ether_type_check(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	switch (nla_get_u16(attr)) {
	case 0 ... ETH_P_802_3_MIN - 1:
	case ETH_P_IP:
	case ETH_P_ARP:
	case ETH_P_IPV6:
	case ETH_P_8021Q:
	case ETH_P_8021AD:
	case ETH_P_MPLS_UC:
	case ETH_P_MPLS_MC:
	case ETH_P_NSH:
	case ETH_P_TEB:
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "ETHERTYPE is in use by others: take one for experiments, 0x88b5 (the default) or 0x88b6");
		return -EINVAL;
	}
	return 0;
}

/**
 * dmanic_netlink_key_read() - the key that a request has
 * @key: out; its bytes are those of the request; NULL: there is none, or it is to go
 * @info: the request
 *
 * Return: 0 or -errno, and the extack says why.
 */
int dmanic_netlink_key_read(struct dmanic_link_key *key, struct genl_info *info)
{
	struct nlattr *bytes = info->attrs[DMANIC_A_KEY], *id = info->attrs[DMANIC_A_KEY_ID];

	if (bytes && nla_len(bytes) && nla_len(bytes) != DMANIC_KEY_BYTES) {
		NL_SET_ERR_MSG_ATTR(info->extack, bytes, "KEY has 16 bytes, or none to remove it");
		return -EINVAL;
	}
	if (id && (!bytes || !nla_len(bytes))) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "KEY_ID is of a KEY: give it, too");
		return -EINVAL;
	}
	if (id && !nla_get_u32(id)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id,
				    "KEY_ID 0 means no key: give 1 (the default) or more");
		return -EINVAL;
	}
	key->bytes = bytes && nla_len(bytes) ? nla_data(bytes) : NULL;
	key->id = id ? nla_get_u32(id) : 1;
	return 0;
}

/**
 * dmanic_netlink_config_read() - the node that DEV_NEW of type ether asks for
 * @config: out, but for its network device
 * @info: the request, which has its names and its key
 *
 * Return: 0 or -errno, and the extack says why.
 */
int dmanic_netlink_config_read(struct ether_config *config, struct genl_info *info)
{
	static const int foreign[] = { DMANIC_A_NODES, DMANIC_A_MODEL };
	struct nlattr *ethertype = info->attrs[DMANIC_A_ETHERTYPE];
	struct nlattr *fabric = info->attrs[DMANIC_A_FABRIC];
	struct nlattr *name = info->attrs[DMANIC_A_NAME];
	struct nlattr *dead = info->attrs[DMANIC_A_DEAD_NS];
	struct nlattr *node = info->attrs[DMANIC_A_NODE];
	struct nlattr *crc = info->attrs[DMANIC_A_CRC];
	int ret;

	ret = foreign_check(info, foreign, ARRAY_SIZE(foreign));
	if (!ret && name)
		ret = prefix_check(name, info->extack);
	if (!ret && fabric)
		ret = prefix_check(fabric, info->extack);
	if (ret)
		return ret;
	if (!name || !node ||
	    !info->attrs[DMANIC_A_NETDEV] == !info->attrs[DMANIC_A_IFINDEX]) {
		NL_SET_ERR_MSG(info->extack,
			       "an ether device needs NAME, NODE (its id) and the network device, by NETDEV or IFINDEX");
		return -EINVAL;
	}
	config->name = nla_data(name);
	config->fabric = fabric ? nla_data(fabric) : config->name;
	config->id = nla_get_u32(node);
	config->ethertype = ethertype ? nla_get_u16(ethertype) : ETHERTYPE_DEFAULT;
	config->crc = crc ? nla_get_u32(crc) : DMANIC_CRC_AUTO;
	config->dead_ns = dead ? nla_get_u64(dead) : 0;
	ret = dmanic_netlink_key_read(&config->key, info);
	if (ret)
		return ret;
	if (config->id == DMANIC_NO_NODE) {
		NL_SET_ERR_MSG_ATTR(info->extack, node,
				    "NODE 4294967295 means nobody: give another");
		return -EINVAL;
	}
	if (dead && (config->dead_ns < DEAD_NS_MIN || config->dead_ns > DEAD_NS_MAX)) {
		NL_SET_ERR_MSG_ATTR(info->extack, dead,
				    "a silent node is dead after 10 ms to 1 h (DEAD_NS)");
		return -EINVAL;
	}
	return ethertype ? ether_type_check(ethertype, info->extack) : 0;
}

/* Once it was used: the request is not to keep it */
void dmanic_netlink_key_forget(struct genl_info *info)
{
	struct nlattr *bytes = info->attrs[DMANIC_A_KEY];

	if (bytes)
		memzero_explicit(nla_data(bytes), nla_len(bytes));
}
