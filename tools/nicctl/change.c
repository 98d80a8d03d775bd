// SPDX-License-Identifier: GPL-2.0-only
/*
 * change.c - asking the driver for what "nicctl dev add" and its sisters say
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "key.h"
#include "nicctl.h"

static const struct {
	enum keyword keyword;
	uint16_t attr;
} model_attrs[] = {
	{ KEYWORD_START, DMANIC_MODEL_A_START_NS },
	{ KEYWORD_INTERRUPT, DMANIC_MODEL_A_INTERRUPT_NS },
	{ KEYWORD_LATENCY, DMANIC_MODEL_A_LATENCY_NS },
	{ KEYWORD_BANDWIDTH, DMANIC_MODEL_A_BANDWIDTH },
	{ KEYWORD_JITTER, DMANIC_MODEL_A_JITTER_NS },
	{ KEYWORD_SEED, DMANIC_MODEL_A_SEED },
};

static void put_model(struct nlmsghdr *message, const struct request *request)
{
	enum keyword keyword;
	struct nlattr *nest;
	size_t i;

	if (!(request->given & KEYWORDS_MODEL))
		return;
	nest = mnl_attr_nest_start(message, DMANIC_A_MODEL);
	if (request->model)
		mnl_attr_put_strz(message, DMANIC_MODEL_A_NAME, request->model);
	if (request_has(request, KEYWORD_SCALE))
		mnl_attr_put_u32(message, DMANIC_MODEL_A_SCALE,
				 (uint32_t)request->number[KEYWORD_SCALE]);
	for (i = 0; i < ARRAY_SIZE(model_attrs); i++) {
		keyword = model_attrs[i].keyword;
		if (request_has(request, keyword))
			mnl_attr_put_u64(message, model_attrs[i].attr,
					 request->number[keyword]);
	}
	mnl_attr_nest_end(message, nest);
}

static void put_ether(struct nlmsghdr *message, const struct request *request)
{
	const uint64_t *number = request->number;

	if (request->netdev)
		mnl_attr_put_strz(message, DMANIC_A_NETDEV, request->netdev);
	if (request_has(request, KEYWORD_NODE))
		mnl_attr_put_u32(message, DMANIC_A_NODE,
				 (uint32_t)number[KEYWORD_NODE]);
	if (request_has(request, KEYWORD_CRC))
		mnl_attr_put_u32(message, DMANIC_A_CRC,
				 (uint32_t)number[KEYWORD_CRC]);
	if (request_has(request, KEYWORD_ETHERTYPE))
		mnl_attr_put_u16(message, DMANIC_A_ETHERTYPE,
				 (uint16_t)number[KEYWORD_ETHERTYPE]);
	if (request_has(request, KEYWORD_DEAD))
		mnl_attr_put_u64(message, DMANIC_A_DEAD_NS, number[KEYWORD_DEAD]);
}

static void put_fault(struct nlmsghdr *message, const struct request *request)
{
	static const struct {
		enum keyword keyword;
		uint16_t attr;
	} shares[] = {
		{ KEYWORD_DROP, DMANIC_FAULT_A_DROP },
		{ KEYWORD_DUPLICATE, DMANIC_FAULT_A_DUPLICATE },
		{ KEYWORD_CORRUPT, DMANIC_FAULT_A_CORRUPT },
		{ KEYWORD_REORDER, DMANIC_FAULT_A_REORDER },
	};
	const uint64_t *number = request->number;
	struct nlattr *nest;
	size_t i;

	if (!request_has(request, KEYWORD_FAULT))
		return;
	nest = mnl_attr_nest_start(message, DMANIC_A_FAULT);
	mnl_attr_put_u64(message, DMANIC_FAULT_A_SEED, number[KEYWORD_FAULT]);
	for (i = 0; i < ARRAY_SIZE(shares); i++)
		mnl_attr_put_u32(message, shares[i].attr,
				 (uint32_t)number[shares[i].keyword]);
	mnl_attr_put_u64(message, DMANIC_FAULT_A_DELAY_NS, number[KEYWORD_DELAY]);
	mnl_attr_nest_end(message, nest);
}

/* 0, or -EINVAL and nl->error says why the key cannot be read */
static int put_key(struct nl *nl, struct nlmsghdr *message, const struct request *request)
{
	uint8_t key[KEY_BYTES];
	char why[256];

	if (!request->key)
		return 0;
	if (!strcmp(request->key, "none")) {
		mnl_attr_put(message, DMANIC_A_KEY, 0, NULL);
		return 0;
	}
	if (key_load(request->key, key, why, sizeof(why))) {
		snprintf(nl->error, sizeof(nl->error), "key %s: %s", request->key, why);
		return -EINVAL;
	}
	mnl_attr_put(message, DMANIC_A_KEY, sizeof(key), key);
	explicit_bzero(key, sizeof(key));
	if (request_has(request, KEYWORD_KEY_ID))
		mnl_attr_put_u32(message, DMANIC_A_KEY_ID,
				 (uint32_t)request->number[KEYWORD_KEY_ID]);
	return 0;
}

int devices_change(struct nl *nl, uint8_t command,
		   const struct request *request)
{
	struct nlmsghdr *message = nl_request(nl, command, false);
	int ret;

	ret = put_key(nl, message, request);
	if (ret)
		return ret;
	if (request->name)
		mnl_attr_put_strz(message, DMANIC_A_NAME, request->name);
	if (request->fabric)
		mnl_attr_put_strz(message, DMANIC_A_FABRIC, request->fabric);
	if (request->type)
		mnl_attr_put_strz(message, DMANIC_A_TYPE, request->type);
	if (request_has(request, KEYWORD_NODES))
		mnl_attr_put_u32(message, DMANIC_A_NODES,
				 (uint32_t)request->number[KEYWORD_NODES]);
	if (request_has(request, KEYWORD_FAILED))
		mnl_attr_put_u8(message, DMANIC_A_FAILED,
				(uint8_t)request->number[KEYWORD_FAILED]);
	if (request_has(request, KEYWORD_FORCE))
		mnl_attr_put(message, DMANIC_A_FORCE, 0, NULL);
	put_model(message, request);
	put_ether(message, request);
	put_fault(message, request);
	return nl_talk(nl, message, NULL, NULL);
}
