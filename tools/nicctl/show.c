// SPDX-License-Identifier: GPL-2.0-only
/*
 * show.c - devices and their counters, for people and for programs
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nicctl.h"
#include "tools/common/size.h"

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
	{ "atomics", DMANIC_STATS_A_ATOMICS },
	{ "dma_bytes", DMANIC_STATS_A_DMA_BYTES },
	{ "dma_fallbacks", DMANIC_STATS_A_DMA_FALLBACKS },
};

static void put_members(struct cJSON *object, const struct member *members, size_t n,
			const uint64_t *values)
{
	size_t i;

	for (i = 0; i < n; i++)
		report_add_count(object, members[i].name,
				 values[members[i].attr]);
}

static void put_names(struct cJSON *object, const struct device *device)
{
	report_add_text(object, "name", device->name);
	report_add_text(object, "fabric", device->fabric);
}

/* Where there is no engine, its name and threshold are left out */
static void put_dma(struct cJSON *result, const struct device *device)
{
	static const struct member threshold = {
		"threshold_bytes", DMANIC_A_DMA_THRESHOLD,
	};
	struct cJSON *dma = report_add_object(result, "dma");

	report_add_text(dma, "state", device_dma_state(device));
	if (*device->dma_engine)
		report_add_text(dma, "engine", device->dma_engine);
	if (device->number[DMANIC_A_DMA_THRESHOLD])
		put_members(dma, &threshold, 1, device->number);
}

static const struct member ether_members[] = {
	{ "ifindex", DMANIC_A_IFINDEX },
	{ "ethertype", DMANIC_A_ETHERTYPE },
	{ "mtu_bytes", DMANIC_A_MTU },
	{ "dead_ns", DMANIC_A_DEAD_NS },
};

static const struct member proto_members[] = {
	{ "frames_sent", DMANIC_PROTO_A_FRAMES_SENT },
	{ "frames_received", DMANIC_PROTO_A_FRAMES_RECEIVED },
	{ "data_sent", DMANIC_PROTO_A_DATA_SENT },
	{ "data_again", DMANIC_PROTO_A_DATA_AGAIN },
	{ "acks_sent", DMANIC_PROTO_A_ACKS_SENT },
	{ "acks_received", DMANIC_PROTO_A_ACKS_RECEIVED },
	{ "lost", DMANIC_PROTO_A_LOST },
	{ "timeouts", DMANIC_PROTO_A_TIMEOUTS },
	{ "tail_probes", DMANIC_PROTO_A_TAIL_PROBES },
	{ "duplicates", DMANIC_PROTO_A_DUPLICATES },
	{ "refused", DMANIC_PROTO_A_REFUSED },
	{ "connections", DMANIC_PROTO_A_CONNECTIONS },
	{ "restarts", DMANIC_PROTO_A_RESTARTS },
	{ "deaths", DMANIC_PROTO_A_DEATHS },
	{ "corrupt", DMANIC_PROTO_A_CORRUPT },
	{ "dropped", DMANIC_PROTO_A_DROPPED },
	{ "unsent", DMANIC_PROTO_A_UNSENT },
	{ "faults", DMANIC_PROTO_A_FAULTS },
	{ "forged", DMANIC_PROTO_A_FORGED },
	{ "replayed", DMANIC_PROTO_A_REPLAYED },
};

static const struct member fault_members[] = {
	{ "seed", DMANIC_FAULT_A_SEED },
	{ "drop_ppm", DMANIC_FAULT_A_DROP },
	{ "duplicate_ppm", DMANIC_FAULT_A_DUPLICATE },
	{ "corrupt_ppm", DMANIC_FAULT_A_CORRUPT },
	{ "reorder_ppm", DMANIC_FAULT_A_REORDER },
	{ "delay_ns", DMANIC_FAULT_A_DELAY_NS },
};

static const struct member peer_members[] = {
	{ "node", DMANIC_PEER_A_NODE },
	{ "incarnation", DMANIC_PEER_A_INCARNATION },
	{ "mtu_bytes", DMANIC_PEER_A_MTU },
	{ "rtt_ns", DMANIC_PEER_A_RTT_NS },
	{ "window_bytes", DMANIC_PEER_A_WINDOW },
	{ "frame_bytes", DMANIC_PEER_A_FRAME },
	{ "carried_bytes", DMANIC_PEER_A_CARRIED },
	{ "received_bytes", DMANIC_PEER_A_RECEIVED },
	{ "crc", DMANIC_PEER_A_CRC },
	{ "degraded", DMANIC_PEER_A_DEGRADED },
};

static const struct member rival = { "rival_ns", DMANIC_A_RIVAL_NS };
static const struct member peer_rival = { "rival_ns", DMANIC_PEER_A_RIVAL_NS };

static const char *crc_name(const struct device *device)
{
	static const char *const names[] = { "auto", "off", "on" };
	uint64_t crc = device->number[DMANIC_A_CRC];

	return crc < ARRAY_SIZE(names) ? names[crc] : "unknown";
}

static void put_ether(struct cJSON *result, const struct device *device)
{
	struct cJSON *ether;

	if (!*device->netdev)
		return;
	ether = report_add_object(result, "ether");
	report_add_text(ether, "netdev", device->netdev);
	put_members(ether, ether_members, ARRAY_SIZE(ether_members), device->number);
	report_add_text(ether, "path", device_path(device));
	report_add_text(ether, "crc", crc_name(device));
	report_add_count(ether, "key_id", device->number[DMANIC_A_KEY_ID]);
	report_add_text(ether, "crc_now",
			device->number[DMANIC_A_CRC_ON] ? "on" : "off");
	if (device->number[rival.attr])
		put_members(ether, &rival, 1, device->number);
	if (device_has_fault(device))
		put_members(report_add_object(ether, "fault"), fault_members,
			    ARRAY_SIZE(fault_members), device->fault);
}

void show_members(struct cJSON *object, const struct device *device)
{
	put_names(object, device);
	report_add_text(object, "type", device->type);
	report_add_text(object, "state", device_state(device));
	put_members(object, device_members, ARRAY_SIZE(device_members),
		    device->number);
	put_dma(object, device);
	put_ether(object, device);
	device_report_model(device, object);
}

static void report_device(struct nicctl *ctl, const struct device *device)
{
	report_link(ctl->report, device->type);
	show_members(report_add_result(ctl->report), device);
}

static void report_stats(struct nicctl *ctl, const struct device *device)
{
	struct cJSON *result = report_add_result(ctl->report);
	const struct member node = { "node", DMANIC_A_NODE };

	/* A driver that is older than this does not tell */
	if (*device->type)
		report_link(ctl->report, device->type);
	put_names(result, device);
	put_members(result, &node, 1, device->number);
	put_members(result, stats_members, ARRAY_SIZE(stats_members),
		    device->stats);
	if (!strcmp(device->type, "ether"))
		put_members(report_add_object(result, "protocol"), proto_members,
			    ARRAY_SIZE(proto_members), device->proto);
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
		   device_scale(device));
}

static void devices_table(const struct devices *devices)
{
	static const struct column columns[] = {
		{ "NAME", true }, { "TYPE", true }, { "FABRIC", true },
		{ "NODE", false }, { "STATE", true }, { "CONTEXTS", false },
		{ "SEGMENTS", false }, { "QUEUES", false },
		{ "INTERRUPTS", false }, { "PINNED [B]", false },
		{ "MODEL", true }, { "SCALE", false }, { "NETDEV", true },
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
		table_cell(table, "%s", *device->netdev ? device->netdev : "-");
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
	       device_scale(device));
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

/* "drop 1%, corrupt 0.01%, delay 100us, seed 7" */
static void fault_line(const struct device *device)
{
	const uint64_t *fault = device->fault;
	char text[SIZE_TEXT];
	size_t i;

	static const struct member shares[] = {
		{ "drop", DMANIC_FAULT_A_DROP },
		{ "duplicate", DMANIC_FAULT_A_DUPLICATE },
		{ "corrupt", DMANIC_FAULT_A_CORRUPT },
		{ "reorder", DMANIC_FAULT_A_REORDER },
	};

	printf("    fault       ");
	for (i = 0; i < ARRAY_SIZE(shares); i++)
		if (fault[shares[i].attr])
			printf("%s %s, ", shares[i].name,
			       share_print(fault[shares[i].attr], text));
	if (fault[DMANIC_FAULT_A_DELAY_NS])
		printf("delay %s, ",
		       time_print((double)fault[DMANIC_FAULT_A_DELAY_NS], text));
	printf("seed %" PRIu64 "\n", fault[DMANIC_FAULT_A_SEED]);
}

/* "eth0, MTU 1500, large frames cut, crc on (auto), dead after 2s" */
static void ether_lines(const struct device *device)
{
	const uint64_t *number = device->number;
	char dead[SIZE_TEXT], rival_age[SIZE_TEXT];

	printf("    netdev      %s, MTU %" PRIu64 ", EtherType 0x%04" PRIx64 "\n",
	       device->netdev, number[DMANIC_A_MTU], number[DMANIC_A_ETHERTYPE]);
	printf("    path        %s\n",
	       number[DMANIC_A_PATH] == DMANIC_PATH_NONE && number[DMANIC_A_KEY_ID] ?
			"frames are no larger than the MTU: with a key nothing may cut them" :
	       number[DMANIC_A_PATH] == DMANIC_PATH_NONE ?
			"frames are no larger than the MTU" :
	       number[DMANIC_A_PATH] == DMANIC_PATH_WHOLE ?
			"large frames are carried whole" :
	       number[DMANIC_A_PATH] == DMANIC_PATH_CUT ?
			"large frames are cut" :
			"large frames are cut and copied");
	printf("    crc         %s (%s)\n", number[DMANIC_A_CRC_ON] ? "on" : "off",
	       crc_name(device));
	if (number[DMANIC_A_KEY_ID])
		printf("    key         number %" PRIu64 "\n", number[DMANIC_A_KEY_ID]);
	else
		printf("    key         none: anybody on the network can send frames in a node's name\n");
	printf("    dead        after %s\n",
	       time_print((double)number[DMANIC_A_DEAD_NS], dead));
	if (number[DMANIC_A_RIVAL_NS])
		printf("    rival       another address claimed node %" PRIu64
		       " %s ago: one of them needs another id\n", number[DMANIC_A_NODE],
		       time_print((double)number[DMANIC_A_RIVAL_NS], rival_age));
	if (device_has_fault(device))
		fault_line(device);
}

/* "large frames whole: 3 nodes, not known yet: 1 node" */
static void tested_line(const struct device *device, const struct devices *peers)
{
	static const char *const reach[] = {
		"large frames whole", "large frames cut", "frames of the MTU", "not known yet",
	};
	size_t i, n[ARRAY_SIZE(reach)] = { 0 };
	const char *between = "    tested      ";
	const uint64_t *peer;

	for (i = 0; i < peers->n; i++) {
		peer = peers->device[i].peer;
		if (strcmp(peers->device[i].name, device->name) != 0 ||
		    peer[DMANIC_PEER_A_STATE] != DMANIC_PEER_LINK_OPEN)
			continue;
		if (!peer[DMANIC_PEER_A_CARRIED])
			n[3]++;
		else if (peer[DMANIC_PEER_A_CARRIED] > peer[DMANIC_PEER_A_MTU])
			n[0]++;
		else if (peer[DMANIC_PEER_A_FRAME] > peer[DMANIC_PEER_A_MTU])
			n[1]++;
		else
			n[2]++;
	}
	for (i = 0; i < ARRAY_SIZE(reach); i++) {
		if (!n[i])
			continue;
		printf("%s%s: %zu node%s", between, reach[i], n[i], n[i] == 1 ? "" : "s");
		between = ", ";
	}
	if (*between == ',')
		putchar('\n');
}

/* "node 3 gets only frames of up to 750 bytes: …" */
static void degraded_line(const struct device *device, const struct devices *peers)
{
	const struct device *worst;
	size_t n;

	worst = devices_degraded(peers, device->name, &n);
	if (!worst)
		return;
	if (worst->peer[DMANIC_PEER_A_DEGRADED] == DMANIC_DEGRADED_UNCUT)
		printf("    degraded    node %" PRIu64
		       " gets no large frames: they are lost on the way, cut or not",
		       worst->peer[DMANIC_PEER_A_NODE]);
	else
		printf("    degraded    node %" PRIu64 " gets only frames of up to %" PRIu64
		       " bytes: longer ones are lost on the way",
		       worst->peer[DMANIC_PEER_A_NODE], worst->peer[DMANIC_PEER_A_MTU]);
	if (n > 1)
		printf(" (and %zu more nodes: nicctl peer show)", n - 1);
	putchar('\n');
}

void show_device(struct nicctl *ctl, const struct device *device,
		 const struct devices *peers)
{
	const uint64_t *number = device->number;
	struct device_trouble trouble;
	char size[SIZE_TEXT];

	report_device(ctl, device);
	if (ctl->json)
		return;
	printf("%s: %s", device->name, device_state(device));
	if (number[DMANIC_A_STATE] == DMANIC_DEV_LINK_DOWN) {
		trouble = device_trouble(device, "");
		printf(": %s %s", device->netdev, trouble.cause);
	}
	putchar('\n');
	printf("    link        %s, node %" PRIu64, device->type, number[DMANIC_A_NODE]);
	/* There it counts itself and who is connected */
	if (*device->netdev)
		printf(", connected to %" PRIu64, number[DMANIC_A_NODES] - 1);
	else
		printf(" of %" PRIu64 " in fabric %s", number[DMANIC_A_NODES], device->fabric);
	printf(", incarnation %" PRIu64 "\n", number[DMANIC_A_INCARNATION]);
	printf("    contexts    %" PRIu64 "\n", number[DMANIC_A_CONTEXTS]);
	printf("    segments    %" PRIu64 "\n", number[DMANIC_A_SEGMENTS]);
	printf("    queues      %" PRIu64 "\n", number[DMANIC_A_QUEUES]);
	printf("    interrupts  %" PRIu64 "\n", number[DMANIC_A_IRQS]);
	printf("    pinned      %s bytes\n",
	       size_print(number[DMANIC_A_PINNED], size));
	if (*device->netdev)
		ether_lines(device);
	else
		dma_line(device);
	tested_line(device, peers);
	degraded_line(device, peers);
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
		{ "DOORBELLS", false }, { "ATOMICS", false },
		{ "BY DMA [B]", false },
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

/* Of the protocol, a counter a line: there are too many for columns */
static void proto_lines(const struct device *device)
{
	size_t i;

	if (strcmp(device->type, "ether") != 0)
		return;
	printf("%s: protocol\n", device->name);
	for (i = 0; i < ARRAY_SIZE(proto_members); i++)
		printf("    %-16s %" PRIu64 "\n", proto_members[i].name,
		       device->proto[proto_members[i].attr]);
}

void show_stats(struct nicctl *ctl, const struct devices *devices)
{
	size_t i;

	for (i = 0; i < devices->n; i++)
		report_stats(ctl, &devices->device[i]);
	if (ctl->json)
		return;
	stats_table(devices);
	for (i = 0; i < devices->n; i++)
		proto_lines(&devices->device[i]);
}

static void peers_table(const struct devices *devices)
{
	static const struct column columns[] = {
		{ "NAME", true }, { "PEER", false }, { "STATE", true },
		{ "ADDRESS", true }, { "MTU [B]", false }, { "FRAME [B]", false },
		{ "CARRIED [B]", false }, { "CAME [B]", false }, { "CRC", true },
		{ "RTT", false }, { "WINDOW [B]", false },
		{ "INCARNATION", false },
	};
	struct table *table = table_create(columns, ARRAY_SIZE(columns));
	const struct device *device = devices->device;
	const struct device *end = device + devices->n;
	char text[SIZE_TEXT];
	const char *refused;

	for (; device < end; device++) {
		table_cell(table, "%s", device->name);
		cell_number(table, device->peer[DMANIC_PEER_A_NODE]);
		refused = device_peer_refused(device);
		table_cell(table, "%s%s%s%s", device_peer_state(device),
			   device->peer[DMANIC_PEER_A_DEGRADED] ? ", degraded" : "",
			   refused ? ", refuses: " : "", refused ? refused : "");
		table_cell(table, "%s", *device->address ? device->address : "-");
		cell_number(table, device->peer[DMANIC_PEER_A_MTU]);
		cell_number(table, device->peer[DMANIC_PEER_A_FRAME]);
		if (device->peer[DMANIC_PEER_A_CARRIED])
			cell_number(table, device->peer[DMANIC_PEER_A_CARRIED]);
		else
			table_cell(table, "-");
		cell_number(table, device->peer[DMANIC_PEER_A_RECEIVED]);
		table_cell(table, "%s", device->peer[DMANIC_PEER_A_CRC] ? "on" : "off");
		table_cell(table, "%s",
			   time_print((double)device->peer[DMANIC_PEER_A_RTT_NS], text));
		table_cell(table, "%s",
			   size_print(device->peer[DMANIC_PEER_A_WINDOW], text));
		cell_number(table, device->peer[DMANIC_PEER_A_INCARNATION]);
	}
	table_print(table, stdout);
	table_free(table);
}

void show_peers(struct nicctl *ctl, const struct devices *devices)
{
	struct cJSON *result;
	size_t i;

	for (i = 0; i < devices->n; i++) {
		result = report_add_result(ctl->report);
		report_add_text(result, "name", devices->device[i].name);
		report_add_text(result, "state", device_peer_state(&devices->device[i]));
		if (device_peer_refused(&devices->device[i]))
			report_add_text(result, "refuses",
					device_peer_refused(&devices->device[i]));
		report_add_text(result, "address", devices->device[i].address);
		put_members(result, peer_members, ARRAY_SIZE(peer_members),
			    devices->device[i].peer);
		if (devices->device[i].peer[peer_rival.attr])
			put_members(result, &peer_rival, 1, devices->device[i].peer);
	}
	if (!ctl->json)
		peers_table(devices);
}
