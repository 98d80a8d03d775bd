// SPDX-License-Identifier: GPL-2.0-only
/*
 * plan.c - devices as a file of nicctl save and restore wants them
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "key.h"
#include "plan.h"
#include "tools/common/output.h"
#include "tools/common/size.h"

/* More words than any command has */
#define WORDS		64

#define SCALE_ONE	1000	/* thousandths */

#define BLANK		" \t\r\n"

/* What a model costs, as opposed to how it is played */
#define COSTS	(KEYWORDS_MODEL & ~(KEYWORD_BIT(KEYWORD_MODEL) | \
				    KEYWORD_BIT(KEYWORD_SCALE) | \
				    KEYWORD_BIT(KEYWORD_SEED)))

static const struct {
	enum keyword keyword;
	unsigned int attr;
	const char *unit;
} costs[] = {
	{ KEYWORD_START, DMANIC_MODEL_A_START_NS, "ns" },
	{ KEYWORD_INTERRUPT, DMANIC_MODEL_A_INTERRUPT_NS, "ns" },
	{ KEYWORD_LATENCY, DMANIC_MODEL_A_LATENCY_NS, "ns" },
	{ KEYWORD_BANDWIDTH, DMANIC_MODEL_A_BANDWIDTH, "" },
	{ KEYWORD_JITTER, DMANIC_MODEL_A_JITTER_NS, "ns" },
};

static int plan_fail(struct plan *plan, const char *format, ...)
	OUTPUT_PRINTF(2, 3);

static int plan_fail(struct plan *plan, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(plan->error, sizeof(plan->error), format, list);
	va_end(list);
	return -1;
}

/* ---- models ---- */

static void model_put(struct request *model, enum keyword keyword,
		      uint64_t value)
{
	model->given |= KEYWORD_BIT(keyword);
	model->number[keyword] = value;
}

struct request plan_model_of(const struct device *device)
{
	bool custom = !strcmp(device->model_name, "custom");
	struct request model = { .model = custom ? "none" :
						   device->model_name };
	size_t i;

	model.given = KEYWORD_BIT(KEYWORD_MODEL);
	for (i = 0; custom && i < ARRAY_SIZE(costs); i++)
		if (device->model[costs[i].attr])
			model_put(&model, costs[i].keyword,
				  device->model[costs[i].attr]);
	/* without a cost it would be called "none" and differ for ever */
	if (custom && !(model.given & COSTS))
		model_put(&model, KEYWORD_LATENCY, 0);
	if (device->model[DMANIC_MODEL_A_SCALE] != SCALE_ONE)
		model_put(&model, KEYWORD_SCALE,
			  device->model[DMANIC_MODEL_A_SCALE]);
	if (device->model[DMANIC_MODEL_A_SEED])
		model_put(&model, KEYWORD_SEED,
			  device->model[DMANIC_MODEL_A_SEED]);
	return model;
}

static uint64_t wanted(const struct request *model, enum keyword keyword,
		       uint64_t otherwise)
{
	return request_has(model, keyword) ? model->number[keyword] : otherwise;
}

bool plan_model_is(const struct request *model, const struct device *device)
{
	bool custom = model->given & COSTS;
	size_t i;

	if (strcmp(device->model_name, custom ? "custom" : model->model) != 0)
		return false;
	if (wanted(model, KEYWORD_SCALE, SCALE_ONE) !=
	    device->model[DMANIC_MODEL_A_SCALE] ||
	    wanted(model, KEYWORD_SEED, 0) !=
	    device->model[DMANIC_MODEL_A_SEED])
		return false;
	if (!custom)
		return true;
	/* only the driver knows what the other presets cost */
	if (strcmp(model->model, "none") != 0)
		return false;
	for (i = 0; i < ARRAY_SIZE(costs); i++)
		if (wanted(model, costs[i].keyword, 0) !=
		    device->model[costs[i].attr])
			return false;
	return true;
}

/* As the driver does: a preset replaces all, else what is given changes */
static void model_change(struct request *model, const struct request *change)
{
	int keyword;

	if (request_has(change, KEYWORD_MODEL)) {
		*model = *change;
		return;
	}
	for (keyword = 0; keyword < KEYWORDS; keyword++)
		if (request_has(change, (enum keyword)keyword))
			model_put(model, (enum keyword)keyword,
				  change->number[keyword]);
}

/* Only what goes into a model; "none" when no preset was named */
static struct request model_only(const struct request *request)
{
	struct request model = *request;

	model.name = NULL;
	model.fabric = NULL;
	model.type = NULL;
	model.given &= KEYWORDS_MODEL;
	if (!request_has(&model, KEYWORD_MODEL))
		model.model = "none";
	model.given |= KEYWORD_BIT(KEYWORD_MODEL);
	return model;
}

/* ---- commands ---- */

static struct plan_fabric *fabric_find(struct plan *plan, const char *prefix)
{
	size_t i;

	for (i = 0; i < plan->n; i++)
		if (!strcmp(plan->fabric[i].prefix, prefix))
			return &plan->fabric[i];
	return NULL;
}

static struct plan_node *node_find(struct plan *plan, const char *name)
{
	struct plan_fabric *fabric;
	size_t i, length;
	uint64_t id;

	for (i = 0; i < plan->n; i++) {
		fabric = &plan->fabric[i];
		length = strlen(fabric->prefix);
		if (strncmp(name, fabric->prefix, length) != 0 ||
		    strspn(name + length, "0123456789") != strlen(name + length) ||
		    count_parse(name + length, PLAN_NODES - 1, &id) ||
		    (name[length] == '0' && name[length + 1]))
			continue;
		if (id < fabric->nodes && fabric->node[id].there)
			return &fabric->node[id];
	}
	return NULL;
}

static bool is_ether(const struct request *request)
{
	return !strcmp(request->type, "ether");
}

static int take_add(struct plan *plan, struct args *args)
{
	struct request request = { 0 };
	struct plan_fabric *fabric;
	uint64_t nodes;
	size_t i;

	if (request_prefix(&request, args) ||
	    request_keywords(&request, args, KEYWORDS_ADD) ||
	    request_check_add(&request, args))
		return plan_fail(plan, "%s", args->error);
	nodes = request.number[KEYWORD_NODES];
	if (!is_ether(&request) && (!nodes || nodes > PLAN_NODES))
		return plan_fail(plan, "nodes must be 1 to %d", PLAN_NODES);
	fabric = fabric_find(plan, request.name);
	if (fabric)
		return plan_fail(plan, "fabric %s is there twice, first in line %u",
				 request.name, fabric->line);
	fabric = reallocarray(plan->fabric, plan->n + 1, sizeof(*fabric));
	if (!fabric)
		return plan_fail(plan, "out of memory");
	plan->fabric = fabric;
	fabric += plan->n++;
	*fabric = (struct plan_fabric){
		.line = plan->line, .prefix = request.name,
		.nodes = (unsigned int)nodes,
		.model = is_ether(&request) ? request : model_only(&request),
	};
	for (i = 0; i < fabric->nodes; i++) {
		fabric->node[i].there = true;
		fabric->node[i].model = fabric->model;
	}
	return 0;
}

/* What set and del are about: a device alone, or the fabric it returns */
static int take_which(struct plan *plan, struct args *args,
		      unsigned int keywords, struct request *request,
		      struct plan_node **node, struct plan_fabric **fabric)
{
	const char *name;

	*node = NULL;
	*fabric = NULL;
	if (request_devices(request, args) ||
	    request_keywords(request, args, keywords))
		return plan_fail(plan, "%s", args->error);
	name = request->name ? request->name : request->fabric;
	if (!name)
		return plan_fail(plan, "which device is missing: NAME or fabric PREFIX");
	if (request->name)
		*node = node_find(plan, name);
	else
		*fabric = fabric_find(plan, name);
	if (*node || *fabric)
		return 0;
	return plan_fail(plan, "no line above adds %s %s",
			 request->name ? "a device" : "a fabric", name);
}

static int take_set(struct plan *plan, struct args *args)
{
	struct request request = { 0 };
	struct plan_fabric *fabric;
	struct plan_node *node;
	unsigned int i;

	if (take_which(plan, args, KEYWORDS_MODEL, &request, &node, &fabric))
		return -1;
	if (!request.given)
		return plan_fail(plan, "nothing to change");
	if (node)
		model_change(&node->model, &request);
	for (i = 0; fabric && i < fabric->nodes; i++)
		model_change(&fabric->node[i].model, &request);
	return 0;
}

static int take_del(struct plan *plan, struct args *args)
{
	struct request request = { 0 };
	struct plan_fabric *fabric;
	struct plan_node *node;

	if (take_which(plan, args, 0, &request, &node, &fabric))
		return -1;
	if (!node)
		return plan_fail(plan, "the line that adds fabric %s can go instead",
				 request.fabric);
	node->there = false;
	return 0;
}

static int take_line(struct plan *plan, char *line)
{
	static const char *const names[] = { "add", "set", "del", NULL };
	static int (*const takes[])(struct plan *plan, struct args *args) = {
		take_add, take_set, take_del
	};
	char *words[WORDS + 1];
	struct args args = { .word = words };
	char *rest = NULL;
	int command, n = 0;

	line[strcspn(line, "#")] = '\0';
	words[0] = strtok_r(line, BLANK, &rest);
	while (n < WORDS && words[n])
		words[++n] = strtok_r(NULL, BLANK, &rest);
	if (!n)
		return 0;
	if (words[n])
		return plan_fail(plan, "more than %d words", WORDS - 1);
	if (!args_take_keyword(&args, "dev"))
		return plan_fail(plan, "\"%s\" is no command of this file: use dev add, dev set, dev del",
				 words[0]);
	command = args_choose(&args, "command", names);
	if (command < 0)
		return plan_fail(plan, "%s", args.error);
	return takes[command](plan, &args);
}

int plan_parse(struct plan *plan, const char *text)
{
	char *line, *next;

	*plan = (struct plan){ .text = strdup(text) };
	if (!plan->text)
		return plan_fail(plan, "out of memory");
	next = plan->text;
	while ((line = strsep(&next, "\n"))) {
		plan->line++;
		if (take_line(plan, line))
			return -1;
	}
	return 0;
}

void plan_free(struct plan *plan)
{
	free(plan->fabric);
	free(plan->text);
	plan->fabric = NULL;
	plan->text = NULL;
	plan->n = 0;
}

/* ---- what there is ---- */

/* As the driver numbers keys: 0 is none */
static uint64_t request_key_id(const struct request *request)
{
	if (!strcmp(request->key, "none"))
		return 0;
	return request_has(request, KEYWORD_KEY_ID) ? request->number[KEYWORD_KEY_ID] : 1;
}

/* What was not asked for is as the driver has it */
static const char *ether_differs(const struct request *request, const struct device *device)
{
	static const struct {
		enum keyword keyword;
		unsigned int attr;
	} members[] = {
		{ KEYWORD_NODE, DMANIC_A_NODE },
		{ KEYWORD_CRC, DMANIC_A_CRC },
		{ KEYWORD_ETHERTYPE, DMANIC_A_ETHERTYPE },
		{ KEYWORD_DEAD, DMANIC_A_DEAD_NS },
	};
	size_t i;

	if (strcmp(device->type, "ether") != 0)
		return "type";
	if (strcmp(device->netdev, request->netdev) != 0)
		return "netdev";
	if (request->key && device->number[DMANIC_A_KEY_ID] != request_key_id(request))
		return "key-id";
	for (i = 0; i < ARRAY_SIZE(members); i++)
		if (request_has(request, members[i].keyword) &&
		    request->number[members[i].keyword] != device->number[members[i].attr])
			return request_keyword_name(members[i].keyword);
	return NULL;
}

const char *plan_fabric_differs(const struct plan_fabric *fabric,
				const struct devices *devices)
{
	bool there[PLAN_NODES] = { false };
	uint64_t id;
	size_t i;

	for (i = 0; i < devices->n; i++) {
		id = devices->device[i].number[DMANIC_A_NODE];
		if (strcmp(devices->device[i].fabric, fabric->prefix) != 0)
			continue;
		if (!fabric->nodes)
			return ether_differs(&fabric->model, &devices->device[i]);
		if (*devices->device[i].netdev)
			return "type";
		if (id >= PLAN_NODES)
			return "set of nodes";
		there[id] = true;
	}
	for (i = 0; i < PLAN_NODES; i++)
		if (there[i] != fabric->node[i].there)
			return "set of nodes";
	return NULL;
}

static void write_model(const struct device *device, FILE *file)
{
	struct request model = plan_model_of(device);
	uint64_t scale = model.number[KEYWORD_SCALE];
	enum keyword keyword;
	size_t i;

	fprintf(file, " model %s", model.model);
	for (i = 0; i < ARRAY_SIZE(costs); i++) {
		keyword = costs[i].keyword;
		if (request_has(&model, keyword))
			fprintf(file, " %s %" PRIu64 "%s",
				request_keyword_name(keyword),
				model.number[keyword], costs[i].unit);
	}
	if (request_has(&model, KEYWORD_SCALE))
		fprintf(file, " scale %" PRIu64 ".%03" PRIu64, scale / SCALE_ONE,
			scale % SCALE_ONE);
	if (request_has(&model, KEYWORD_SEED))
		fprintf(file, " seed %" PRIu64, model.number[KEYWORD_SEED]);
	fputc('\n', file);
}

static bool same_model(const struct device *a, const struct device *b)
{
	return !strcmp(a->model_name, b->model_name) &&
	       !memcmp(a->model + 1, b->model + 1,
		       sizeof(a->model) - sizeof(*a->model));
}

/* The device of a fabric with this id, or NULL */
static const struct device *device_at(const struct devices *devices,
				      const char *fabric, uint64_t id)
{
	size_t i;

	for (i = 0; i < devices->n; i++)
		if (!strcmp(devices->device[i].fabric, fabric) &&
		    devices->device[i].number[DMANIC_A_NODE] == id)
			return &devices->device[i];
	return NULL;
}

static void write_ether(const struct device *device, FILE *file)
{
	const uint64_t *number = device->number;

	fprintf(file, "dev add %s type ether netdev %s node %" PRIu64, device->name,
		device->netdev, number[DMANIC_A_NODE]);
	/* Nobody can read it back; without the file nothing is made */
	if (number[DMANIC_A_KEY_ID])
		fprintf(file, " key " KEY_FOLDER "/%s.key key-id %" PRIu64, device->name,
			number[DMANIC_A_KEY_ID]);
	if (number[DMANIC_A_CRC])
		fprintf(file, " crc %s", number[DMANIC_A_CRC] == DMANIC_CRC_ON ? "on" : "off");
	fprintf(file, " ethertype 0x%04" PRIx64 " dead %" PRIu64 "ns\n",
		number[DMANIC_A_ETHERTYPE], number[DMANIC_A_DEAD_NS]);
}

/* Nodes up to the last that is there are made, then what is not there goes */
static void write_fabric(const struct devices *devices,
			 const struct device *first, FILE *file)
{
	const struct device *device;
	uint64_t id, nodes = 0;
	size_t i;

	for (i = 0; i < devices->n; i++) {
		device = &devices->device[i];
		if (!strcmp(device->fabric, first->fabric) &&
		    device->number[DMANIC_A_NODE] >= nodes)
			nodes = device->number[DMANIC_A_NODE] + 1;
	}
	fprintf(file, "dev add %s type %s nodes %" PRIu64, first->fabric,
		first->type, nodes);
	write_model(first, file);
	for (id = 0; id < nodes; id++) {
		device = device_at(devices, first->fabric, id);
		if (!device) {
			fprintf(file, "dev del %s%" PRIu64 "\n", first->fabric,
				id);
		} else if (!same_model(device, first)) {
			fprintf(file, "dev set %s", device->name);
			write_model(device, file);
		}
	}
}

void plan_write(const struct devices *devices, FILE *file)
{
	const struct device *device;
	size_t i, before;

	fputs("# dmanic devices, for nicctl restore; see nicctl(8)\n", file);
	for (i = 0; i < devices->n; i++) {
		device = &devices->device[i];
		for (before = 0; before < i; before++)
			if (!strcmp(devices->device[before].fabric,
				    device->fabric))
				break;
		if (*device->netdev)
			write_ether(device, file);
		else if (before == i)
			write_fabric(devices, device, file);
	}
}
