// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_netlink.c - requests that make or change a device, of any attributes
 *
 * The first byte says which request, the others are its attributes. What the driver takes
 * from them is whole, and within what it says that it is.
 */
#include <stdio.h>
#include <stdlib.h>

#include <net/genetlink.h>

#include "driver/netlink.h"
#include "link.h"

#include "../../driver/link/model.c"
#include "../../driver/netlink_config.c"
#include "../../driver/netlink_model.c"
#include "../../driver/netlink_fault.c"

#define demand(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
			abort();					\
		}							\
	} while (0)

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t length);

/* Return: what a number's length must be; 0: it is none */
static u32 number_bytes(u8 type)
{
	return type >= NLA_U8 && type <= NLA_U64 ? 1U << (type - NLA_U8) : 0;
}

static bool attribute_fits(const struct nlattr *attr, const struct nla_policy *policy)
{
	u32 length = nla_len(attr), number = number_bytes(policy->type);
	u64 value = 0;

	if (number) {
		if (length != number)
			return false;
		memcpy(&value, nla_data(attr), number);
		return !policy->limited || value <= policy->max;
	}
	switch (policy->type) {
	case NLA_FLAG:
		return !length;
	case NLA_NUL_STRING:
		return length && memchr(nla_data(attr), 0, length) &&
		       length <= policy->len + 1U;
	case NLA_BINARY:
		return length <= policy->len;
	case NLA_NESTED:
		return attr->nla_type & NLA_F_NESTED;
	default:
		return false;
	}
}

int nla_parse(struct nlattr **attrs, int most, const void *bytes, int length,
	      const struct nla_policy *policy, struct netlink_ext_ack *extack)
{
	const struct nlattr *attr;
	struct nlattr *inner[64];
	int type;

	memset(attrs, 0, (most + 1) * sizeof(*attrs));
	while (length >= (int)NLA_HDRLEN) {
		attr = bytes;
		type = attr->nla_type & NLA_TYPE_MASK;
		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > length || !type ||
		    type > most || !attribute_fits(attr, &policy[type]))
			return -EINVAL;
		if (policy[type].type == NLA_NESTED &&
		    nla_parse(inner, policy[type].len, nla_data(attr), nla_len(attr),
			      policy[type].nested, extack))
			return -EINVAL;
		attrs[type] = (struct nlattr *)attr;
		bytes += NLA_ALIGN(attr->nla_len);
		length -= NLA_ALIGN(attr->nla_len);
	}
	return length > 0 ? -EINVAL : 0;
}

/* ---- what came of it ---- */

/* It becomes a file */
static void name_check(const char *name)
{
	demand(*name && strlen(name) <= DMANIC_NAME_MAX - 4 && !strpbrk(name, "/ \t\n\\%$'\"") &&
	       isalnum((unsigned char)*name));
}

static void loop_check(struct genl_info *info)
{
	struct dmanic_loop_config config = { };
	const char *why;

	if (dmanic_netlink_loop_read(&config, info)) {
		demand(info->extack->_msg);
		return;
	}
	name_check(config.name);
	demand(config.nodes && config.nodes <= DMANIC_LOOP_MAX_NODES);
	demand(!dmanic_model_check(&config.model, &why));
	demand(!info->attrs[DMANIC_A_KEY] && !info->attrs[DMANIC_A_IFINDEX]);
}

static void config_check(struct genl_info *info)
{
	struct ether_config config = { };

	if (dmanic_netlink_config_read(&config, info)) {
		demand(info->extack->_msg);
		return;
	}
	name_check(config.name);
	name_check(config.fabric);
	demand(!info->attrs[DMANIC_A_NODES]);
	demand(config.id != DMANIC_NO_NODE && config.crc <= DMANIC_CRC_ON);
	demand(config.ethertype >= ETH_P_802_3_MIN && config.ethertype != ETH_P_IP);
	demand(!config.dead_ns || (config.dead_ns >= 10 * NSEC_PER_MSEC &&
				   config.dead_ns <= 3600 * NSEC_PER_SEC));
}

static void key_check(struct genl_info *info)
{
	struct dmanic_link_key key;
	u32 i, sum = 0;

	if (dmanic_netlink_key_read(&key, info)) {
		demand(info->extack->_msg);
		return;
	}
	demand(key.id);
	for (i = 0; key.bytes && i < DMANIC_KEY_BYTES; i++)
		sum += key.bytes[i];
	dmanic_netlink_key_forget(info);
	for (i = 0; key.bytes && i < DMANIC_KEY_BYTES; i++)
		demand(!key.bytes[i]);
	demand(sum <= 255 * DMANIC_KEY_BYTES);
}

static void model_check(const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct dmanic_model model = { };
	const char *why;

	if (dmanic_model_preset(&model, "none"))
		abort();
	if (dmanic_netlink_model_change(&model, nest, extack))
		demand(extack->_msg);
	else
		demand(!dmanic_model_check(&model, &why) &&
		       strlen(model.name) < sizeof(model.name));
}

static void fault_check(const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct dmanic_fault fault;

	if (dmanic_netlink_fault_read(&fault, nest, extack))
		demand(extack->_msg);
	else
		demand(fault.drop <= 1000000 && fault.duplicate <= 1000000 &&
		       fault.corrupt <= 1000000 && fault.reorder <= 1000000 &&
		       fault.delay_ns <= 10 * NSEC_PER_SEC &&
		       (!fault.reorder || fault.delay_ns));
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t length)
{
	struct nlattr *attrs[DMANIC_A_MAX + 1];
	struct netlink_ext_ack extack = { };
	struct genl_info info = { attrs, &extack };
	u8 *copy;
	bool new;

	if (!length)
		return 0;
	new = *bytes % 2;
	/* As long as they are, so that what is read behind them is found */
	copy = malloc(length - 1);
	memcpy(copy, bytes + 1, length - 1);
	if (!nla_parse(attrs, DMANIC_A_MAX, copy, (int)length - 1,
		       new ? dmanic_netlink_new_policy : dmanic_netlink_set_policy, &extack)) {
		if (new) {
			loop_check(&info);
			config_check(&info);
		}
		if (attrs[DMANIC_A_MODEL])
			model_check(attrs[DMANIC_A_MODEL], &extack);
		if (attrs[DMANIC_A_FAULT])
			fault_check(attrs[DMANIC_A_FAULT], &extack);
		key_check(&info);
	}
	free(copy);
	return 0;
}
