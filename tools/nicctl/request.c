// SPDX-License-Identifier: GPL-2.0-only
/*
 * request.c - what "nicctl dev add" and its sisters are asked to do
 */
#include <linux/dmanic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "tools/common/size.h"

static const char *parse_nodes(const char *text, uint64_t *value)
{
	return count_parse(text, UINT32_MAX, value);
}

static const char *parse_seed(const char *text, uint64_t *value)
{
	return count_parse(text, UINT64_MAX, value);
}

/*
 * Of a model: seconds would be the wrong guess for a bare number, and the
 * device would seem to hang.
 */
static const char *parse_time(const char *text, uint64_t *value)
{
	const char *reason = time_parse(text, value);

	if (!reason && *value && !text[strspn(text, ".0123456789")])
		return "has no unit: give ns, us, ms or s";
	return reason;
}

static const char *parse_switch(const char *text, uint64_t *value)
{
	if (!strcmp(text, "on"))
		*value = 1;
	else if (!strcmp(text, "off"))
		*value = 0;
	else
		return "is neither on nor off";
	return NULL;
}

static const char *parse_node(const char *text, uint64_t *value)
{
	const char *reason = count_parse(text, UINT32_MAX - 1, value);

	/* of all reasons the only one that leaves open what would do */
	if (reason && text[strspn(text, "0123456789")] == '\0' && *text)
		return "is too large: a node id is 0 to 4294967294";
	return reason;
}

/* As in the driver */
static const char *const crc_names[] = { "auto", "off", "on" };

static const char *parse_crc(const char *text, uint64_t *value)
{
	for (*value = 0; *value < 3; ++*value)
		if (!strcmp(text, crc_names[*value]))
			return NULL;
	return "is neither auto, on nor off";
}

/* "0x88b5" */
static const char *parse_ethertype(const char *text, uint64_t *value)
{
	char *end;

	*value = strtoul(text, &end, 16);
	if (strncmp(text, "0x", 2) != 0 || *end || strlen(text) > 6)
		return "is no hexadecimal number of 16 bits: 0x88b5";
	return NULL;
}

/* Of faults: "none", or what the same faults are made from again */
static const char *parse_fault(const char *text, uint64_t *value)
{
	*value = 0;
	return strcmp(text, "none") ? parse_seed(text, value) : NULL;
}

static const char *parse_key_id(const char *text, uint64_t *value)
{
	const char *reason = count_parse(text, UINT32_MAX, value);

	return reason || *value ? reason : "means no key: give 1 or more";
}

/* @parse: how the value is read; else it is a word, or there is none */
static const struct {
	const char *name;
	const char *(*parse)(const char *text, uint64_t *value);
} keywords[KEYWORDS] = {
	[KEYWORD_TYPE] = { "type", NULL },
	[KEYWORD_NODES] = { "nodes", parse_nodes },
	[KEYWORD_MODEL] = { "model", NULL },
	[KEYWORD_START] = { "start", parse_time },
	[KEYWORD_INTERRUPT] = { "interrupt", parse_time },
	[KEYWORD_LATENCY] = { "latency", parse_time },
	[KEYWORD_BANDWIDTH] = { "bandwidth", size_parse },
	[KEYWORD_SCALE] = { "scale", scale_parse },
	[KEYWORD_JITTER] = { "jitter", parse_time },
	[KEYWORD_SEED] = { "seed", parse_seed },
	[KEYWORD_FAILED] = { "failed", parse_switch },
	[KEYWORD_FORCE] = { "force", NULL },
	[KEYWORD_NETDEV] = { "netdev", NULL },
	[KEYWORD_NODE] = { "node", parse_node },
	[KEYWORD_CRC] = { "crc", parse_crc },
	[KEYWORD_ETHERTYPE] = { "ethertype", parse_ethertype },
	[KEYWORD_DEAD] = { "dead", parse_time },
	[KEYWORD_FAULT] = { "fault", parse_fault },
	[KEYWORD_DROP] = { "drop", share_parse },
	[KEYWORD_DUPLICATE] = { "duplicate", share_parse },
	[KEYWORD_CORRUPT] = { "corrupt", share_parse },
	[KEYWORD_REORDER] = { "reorder", share_parse },
	[KEYWORD_DELAY] = { "delay", parse_time },
	[KEYWORD_KEY] = { "key", NULL },
	[KEYWORD_KEY_ID] = { "key-id", parse_key_id },
};

const char *request_keyword_name(enum keyword keyword)
{
	return keywords[keyword].name;
}

/* The next word as a name; the driver would not say which was too long */
static const char *take_name(struct args *args, const char *what)
{
	const char *name = args_take(args, what);

	if (!name || strlen(name) < DMANIC_NAME_MAX)
		return name;
	args_fail(args, "%s is longer than %d characters", what,
		  DMANIC_NAME_MAX - 1);
	return NULL;
}

int request_devices(struct request *request, struct args *args)
{
	if (!args_peek(args))
		return 0;
	if (args_take_exactly(args, "fabric")) {
		request->fabric = take_name(args, "the prefix of the fabric");
		return request->fabric ? 0 : -1;
	}
	request->name = take_name(args, "the name of the device");
	return request->name ? 0 : -1;
}

int request_prefix(struct request *request, struct args *args)
{
	request->name = take_name(args, "the prefix of the device names");
	return request->name ? 0 : -1;
}

static int take_value(struct request *request, struct args *args,
		      enum keyword keyword)
{
	const char *name = keywords[keyword].name;
	const char *reason, *text;
	char what[64];

	if (keyword == KEYWORD_FORCE)
		return 0;
	if (keyword == KEYWORD_KEY) {
		/* Of any length */
		request->key = args_take(args, "the file of the key");
		return request->key ? 0 : -1;
	}
	snprintf(what, sizeof(what), "the value of %s", name);
	text = take_name(args, what);
	if (!text)
		return -1;
	if (keyword == KEYWORD_TYPE) {
		request->type = text;
		return 0;
	}
	if (keyword == KEYWORD_MODEL) {
		request->model = text;
		return 0;
	}
	if (keyword == KEYWORD_NETDEV) {
		request->netdev = text;
		return 0;
	}
	request->no_fault |= keyword == KEYWORD_FAULT && !strcmp(text, "none");
	reason = keywords[keyword].parse(text, &request->number[keyword]);
	if (reason)
		return args_fail(args, "%s \"%s\" %s", name, text, reason);
	return 0;
}

/* Told, rather than which other words there are: a word of dev add in dev set */
static bool is_made_with(const char *word, unsigned int allowed)
{
	int i;

	if (!word || !(allowed & KEYWORD_BIT(KEYWORD_FAULT)))
		return false;
	for (i = 0; i < KEYWORDS; i++)
		if ((KEYWORDS_ETHER & KEYWORD_BIT(i)) && !strcmp(keywords[i].name, word))
			return true;
	return false;
}

/* The next word as one of those allowed */
static int take_keyword(struct args *args, unsigned int allowed)
{
	const char *names[KEYWORDS + 1];
	int index[KEYWORDS];
	int chosen, i, n = 0;

	if (is_made_with(args_peek(args), allowed))
		return args_fail(args, "%s of an ether device is set when it is made: nicctl dev del NAME, then nicctl dev add NAME type ether ... %s ...",
				 args_peek(args), args_peek(args));
	for (i = 0; i < KEYWORDS; i++) {
		if (!(allowed & KEYWORD_BIT(i)))
			continue;
		names[n] = keywords[i].name;
		index[n++] = i;
	}
	names[n] = NULL;
	chosen = args_choose(args, "keyword", names);
	return chosen < 0 ? -1 : index[chosen];
}

int request_keywords(struct request *request, struct args *args,
		     unsigned int allowed)
{
	int keyword;

	while (args_peek(args)) {
		keyword = take_keyword(args, allowed);
		if (keyword < 0)
			return -1;
		if (request_has(request, (enum keyword)keyword))
			return args_fail(args, "%s is there twice",
					 keywords[keyword].name);
		request->given |= KEYWORD_BIT(keyword);
		if (take_value(request, args, (enum keyword)keyword))
			return -1;
	}
	return 0;
}

static int check_loop(const struct request *request, struct args *args)
{
	if (request->given & (KEYWORDS_ETHER | KEYWORDS_KEY))
		return args_fail(args, "a device of type loop has no netdev, node, crc, ethertype, dead or key");
	if (!request_has(request, KEYWORD_NODES))
		return args_fail(args, "nodes is missing: dev add PREFIX type loop nodes N");
	return 0;
}

static int check_key(const struct request *request, struct args *args)
{
	if (request_has(request, KEYWORD_KEY_ID) &&
	    (!request->key || !strcmp(request->key, "none")))
		return args_fail(args, "key is missing: key FILE key-id N");
	return 0;
}

/* The number that the name ends with, as that of the node by which nicrun finds it */
static void node_of_name(struct request *request)
{
	const char *name = request->name ?: "";
	size_t at = strlen(name);

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (!parse_node(name + at, &request->number[KEYWORD_NODE]))
		request->given |= KEYWORD_BIT(KEYWORD_NODE);
}

static int check_ether(struct request *request, struct args *args)
{
	if (request->given & KEYWORDS_LOOP)
		return args_fail(args, "a device of type ether has no nodes or model");
	if (!request->netdev)
		return args_fail(args, "netdev is missing: dev add NAME type ether netdev IF [node N]");
	if (!request_has(request, KEYWORD_NODE))
		node_of_name(request);
	if (!request_has(request, KEYWORD_NODE))
		return args_fail(args, "node is missing, and the name does not end with its number: dev add NAME type ether netdev IF node N");
	return check_key(request, args);
}

int request_check_set(const struct request *request, struct args *args)
{
	if ((request->given & KEYWORDS_FAULT) && !request_has(request, KEYWORD_FAULT))
		return args_fail(args, "fault is missing: fault SEED drop 1%%, fault none");
	if (request->no_fault && (request->given & KEYWORDS_FAULT_KINDS))
		return args_fail(args, "fault none ends all faults, and has no drop, duplicate, corrupt, reorder or delay: give a seed, fault 1 drop 1%%, or leave them out");
	return check_key(request, args);
}

int request_check_add(struct request *request, struct args *args)
{
	if (!request->type)
		return args_fail(args, "type is missing: dev add PREFIX type loop nodes N, dev add NAME type ether netdev IF [node N]");
	if (!strcmp(request->type, "loop"))
		return check_loop(request, args);
	if (!strcmp(request->type, "ether"))
		return check_ether(request, args);
	return args_fail(args, "link type \"%s\" is not in this version of the driver; types: loop, ether",
			 request->type);
}
