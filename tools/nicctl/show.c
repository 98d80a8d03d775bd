// SPDX-License-Identifier: GPL-2.0-only
/*
 * show.c - devices and their counters, for people and for programs
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "nicctl.h"
#include "tools/common/size.h"

/* Thousandths as a number */
static double thousandths(uint64_t value)
{
	return (double)value / 1000;
}

/* ---- for programs ---- */

/* A number of an object, and where it comes from */
struct member {
	const char *name;
	unsigned int attr;
};

static const struct member device_members[] = {
	{ "node", DMANIC_A_NODE },
	{ "nodes", DMANIC_A_NODES },
	{ "incarnation", DMANIC_A_INCARNATION },
	{ "contexts", DMANIC_A_CONTEXTS },
	{ "segments", DMANIC_A_SEGMENTS },
	{ "queues", DMANIC_A_QUEUES },
	{ "interrupts", DMANIC_A_IRQS },
	{ "pinned_bytes", DMANIC_A_PINNED },
};

static const struct member model_members[] = {
	{ "start_ns", DMANIC_MODEL_A_START_NS },
	{ "interrupt_ns", DMANIC_MODEL_A_INTERRUPT_NS },
	{ "latency_ns", DMANIC_MODEL_A_LATENCY_NS },
	{ "bandwidth_bytes_per_s", DMANIC_MODEL_A_BANDWIDTH },
	{ "jitter_ns", DMANIC_MODEL_A_JITTER_NS },
	{ "seed", DMANIC_MODEL_A_SEED },
};

static const struct member stats_members[] = {
	{ "posted", DMANIC_STATS_A_POSTED },
	{ "completed", DMANIC_STATS_A_COMPLETED },
	{ "failed", DMANIC_STATS_A_FAILED },
	{ "write_bytes", DMANIC_STATS_A_WRITE_BYTES },
	{ "read_bytes", DMANIC_STATS_A_READ_BYTES },
	{ "notifies_sent", DMANIC_STATS_A_NOTIFIES_SENT },
	{ "notifies_raised", DMANIC_STATS_A_NOTIFIES_RAISED },
	{ "target_refused", DMANIC_STATS_A_TARGET_REFUSED },
	{ "doorbells", DMANIC_STATS_A_DOORBELLS },
	{ "dma_bytes", DMANIC_STATS_A_DMA_BYTES },
	{ "dma_fallbacks", DMANIC_STATS_A_DMA_FALLBACKS },
};

static void must(const void *memory)
{
	if (memory)
		return;
	fputs("nicctl: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

/* Written out: a double would round large ones */
static void put_members(cJSON *object, const struct member *members, size_t n,
			const uint64_t *values)
{
	char text[32];
	size_t i;

	for (i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%" PRIu64,
			 values[members[i].attr]);
		must(cJSON_AddRawToObject(object, members[i].name, text));
	}
}

static cJSON *put_result(struct nicctl *ctl, const struct device *device)
{
	cJSON *result = cJSON_CreateObject();

	must(result);
	cJSON_AddItemToArray(report_results(ctl->report), result);
	must(cJSON_AddStringToObject(result, "name", device->name));
	must(cJSON_AddStringToObject(result, "fabric", device->fabric));
	return result;
}

/* Where there is no engine, its name and threshold are left out */
static void put_dma(cJSON *result, const struct device *device)
{
	static const struct member threshold = {
		"threshold_bytes", DMANIC_A_DMA_THRESHOLD,
	};
	cJSON *dma = cJSON_AddObjectToObject(result, "dma");

	must(dma);
	must(cJSON_AddStringToObject(dma, "state", device_dma_state(device)));
	if (*device->dma_engine)
		must(cJSON_AddStringToObject(dma, "engine",
					     device->dma_engine));
	if (device->number[DMANIC_A_DMA_THRESHOLD])
		put_members(dma, &threshold, 1, device->number);
}

static void report_device(struct nicctl *ctl, const struct device *device)
{
	cJSON *result = put_result(ctl, device);
	cJSON *model;
	double scale;

	report_link(ctl->report, device->type);
	must(cJSON_AddStringToObject(result, "type", device->type));
	must(cJSON_AddStringToObject(result, "state", device_state(device)));
	put_members(result, device_members, ARRAY_SIZE(device_members),
		    device->number);
	put_dma(result, device);
	if (!*device->model_name)
		return;
	model = cJSON_AddObjectToObject(result, "model");
	must(model);
	must(cJSON_AddStringToObject(model, "name", device->model_name));
	scale = thousandths(device->model[DMANIC_MODEL_A_SCALE]);
	must(cJSON_AddNumberToObject(model, "scale", scale));
	put_members(model, model_members, ARRAY_SIZE(model_members),
		    device->model);
}

static void report_stats(struct nicctl *ctl, const struct device *device)
{
	cJSON *result = put_result(ctl, device);
	const struct member node = { "node", DMANIC_A_NODE };

	put_members(result, &node, 1, device->number);
	put_members(result, stats_members, ARRAY_SIZE(stats_members),
		    device->stats);
}

/* ---- for people ---- */

static void cell_number(struct table *table, uint64_t number)
{
	table_cell(table, "%" PRIu64, number);
}

static void cell_model(struct table *table, const struct device *device)
{
	if (!*device->model_name) {
		table_cell(table, "-");
		table_cell(table, "-");
		return;
	}
	table_cell(table, "%s", device->model_name);
	table_cell(table, "%.7g",
		   thousandths(device->model[DMANIC_MODEL_A_SCALE]));
}

static void devices_table(const struct devices *devices)
{
	static const struct column columns[] = {
		{ "NAME", true }, { "TYPE", true }, { "FABRIC", true },
		{ "NODE", false }, { "STATE", true }, { "CONTEXTS", false },
		{ "SEGMENTS", false }, { "QUEUES", false },
		{ "INTERRUPTS", false }, { "PINNED [B]", false },
		{ "MODEL", true }, { "SCALE", false },
	};
	struct table *table = table_create(columns, ARRAY_SIZE(columns));
	const struct device *device = devices->device;
	const struct device *end = device + devices->n;
	char size[SIZE_TEXT];

	for (; device < end; device++) {
		table_cell(table, "%s", device->name);
		table_cell(table, "%s", device->type);
		table_cell(table, "%s", device->fabric);
		cell_number(table, device->number[DMANIC_A_NODE]);
		table_cell(table, "%s", device_state(device));
		cell_number(table, device->number[DMANIC_A_CONTEXTS]);
		cell_number(table, device->number[DMANIC_A_SEGMENTS]);
		cell_number(table, device->number[DMANIC_A_QUEUES]);
		cell_number(table, device->number[DMANIC_A_IRQS]);
		table_cell(table, "%s",
			   size_print(device->number[DMANIC_A_PINNED], size));
		cell_model(table, device);
	}
	table_print(table, stdout);
	table_free(table);
}

void show_devices(struct nicctl *ctl, const struct devices *devices)
{
	size_t i;

	for (i = 0; i < devices->n; i++)
		report_device(ctl, &devices->device[i]);
	if (!ctl->json)
		devices_table(devices);
}

static void model_lines(const struct device *device)
{
	const uint64_t *model = device->model;
	char text[SIZE_TEXT];

	printf("    model       %s, scale %.7g\n", device->model_name,
	       thousandths(model[DMANIC_MODEL_A_SCALE]));
	printf("    start       %s\n",
	       time_print((double)model[DMANIC_MODEL_A_START_NS], text));
	printf("    interrupt   %s\n",
	       time_print((double)model[DMANIC_MODEL_A_INTERRUPT_NS], text));
	printf("    latency     %s\n",
	       time_print((double)model[DMANIC_MODEL_A_LATENCY_NS], text));
	if (model[DMANIC_MODEL_A_BANDWIDTH])
		printf("    bandwidth   %s B/s\n",
		       size_print(model[DMANIC_MODEL_A_BANDWIDTH], text));
	else
		printf("    bandwidth   0 (that of memory)\n");
	printf("    jitter      %s, seed %" PRIu64 "\n",
	       time_print((double)model[DMANIC_MODEL_A_JITTER_NS], text),
	       model[DMANIC_MODEL_A_SEED]);
}

/* "dma0chan0, used from 64K bytes on", "dma0chan0, slow", "none" */
static void dma_line(const struct device *device)
{
	uint64_t threshold = device->number[DMANIC_A_DMA_THRESHOLD];
	char size[SIZE_TEXT];

	printf("    dma engine  %s%s%s", device->dma_engine,
	       *device->dma_engine ? ", " : "", device_dma_state(device));
	if (threshold)
		printf(" from %s bytes on", size_print(threshold, size));
	putchar('\n');
}

void show_device(struct nicctl *ctl, const struct device *device)
{
	const uint64_t *number = device->number;
	char size[SIZE_TEXT];

	report_device(ctl, device);
	if (ctl->json)
		return;
	printf("%s: %s\n", device->name, device_state(device));
	printf("    link        %s, node %" PRIu64 " of %" PRIu64
	       " in fabric %s, incarnation %" PRIu64 "\n", device->type,
	       number[DMANIC_A_NODE], number[DMANIC_A_NODES], device->fabric,
	       number[DMANIC_A_INCARNATION]);
	printf("    contexts    %" PRIu64 "\n", number[DMANIC_A_CONTEXTS]);
	printf("    segments    %" PRIu64 "\n", number[DMANIC_A_SEGMENTS]);
	printf("    queues      %" PRIu64 "\n", number[DMANIC_A_QUEUES]);
	printf("    interrupts  %" PRIu64 "\n", number[DMANIC_A_IRQS]);
	printf("    pinned      %s bytes\n",
	       size_print(number[DMANIC_A_PINNED], size));
	dma_line(device);
	if (*device->model_name)
		model_lines(device);
}

static void stats_table(const struct devices *devices)
{
	static const struct column columns[] = {
		{ "NAME", true }, { "POSTED", false }, { "COMPLETED", false },
		{ "FAILED", false }, { "WRITTEN [B]", false },
		{ "READ [B]", false }, { "NOTIFIES SENT", false },
		{ "RAISED", false }, { "REFUSED", false },
		{ "DOORBELLS", false }, { "BY DMA [B]", false },
		{ "FALLBACKS", false },
	};
	struct table *table = table_create(columns, ARRAY_SIZE(columns));
	const struct device *device = devices->device;
	const struct device *end = device + devices->n;
	size_t i;

	/* the members stand in the order of the columns */
	for (; device < end; device++) {
		table_cell(table, "%s", device->name);
		for (i = 0; i < ARRAY_SIZE(stats_members); i++)
			cell_number(table,
				    device->stats[stats_members[i].attr]);
	}
	table_print(table, stdout);
	table_free(table);
}

void show_stats(struct nicctl *ctl, const struct devices *devices)
{
	size_t i;

	for (i = 0; i < devices->n; i++)
		report_stats(ctl, &devices->device[i]);
	if (!ctl->json)
		stats_table(devices);
}
