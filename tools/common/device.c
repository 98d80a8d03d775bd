// SPDX-License-Identifier: GPL-2.0-only
/*
 * device.c - devices as the driver describes them
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/device.h"
#include "tools/common/output.h"
#include "tools/common/size.h"

/* A list that changes more often than this is not worth waiting for */
#define DUMPS	16

/* ---- asking ---- */

static void copy(char *text, size_t size, const struct nlattr *attr)
{
	snprintf(text, size, "%s", nl_text(attr));
}

static void copy_address(char text[18], const struct nlattr *attr)
{
	const unsigned char *byte;

	*text = '\0';
	if (!attr || mnl_attr_get_payload_len(attr) != 6)
		return;
	byte = mnl_attr_get_payload(attr);
	snprintf(text, 18, "%02x:%02x:%02x:%02x:%02x:%02x", byte[0], byte[1], byte[2],
		 byte[3], byte[4], byte[5]);
}

void device_read(struct device *device, const struct nlmsghdr *message)
{
	const struct nlattr *attr[DMANIC_A_MAX + 1];
	const struct nlattr *model[DMANIC_MODEL_A_MAX + 1];
	const struct nlattr *stats[DMANIC_STATS_A_MAX + 1];
	const struct nlattr *proto[DMANIC_PROTO_A_MAX + 1];
	const struct nlattr *fault[DMANIC_FAULT_A_MAX + 1];
	const struct nlattr *peer[DMANIC_PEER_A_MAX + 1];
	size_t i;

	nl_message_attrs(message, (struct nl_attrs){ attr, DMANIC_A_MAX });
	nl_nested_attrs(attr[DMANIC_A_MODEL],
			(struct nl_attrs){ model, DMANIC_MODEL_A_MAX });
	nl_nested_attrs(attr[DMANIC_A_STATS],
			(struct nl_attrs){ stats, DMANIC_STATS_A_MAX });
	nl_nested_attrs(attr[DMANIC_A_PROTO],
			(struct nl_attrs){ proto, DMANIC_PROTO_A_MAX });
	nl_nested_attrs(attr[DMANIC_A_FAULT],
			(struct nl_attrs){ fault, DMANIC_FAULT_A_MAX });
	nl_nested_attrs(attr[DMANIC_A_PEER],
			(struct nl_attrs){ peer, DMANIC_PEER_A_MAX });
	copy(device->netdev, sizeof(device->netdev), attr[DMANIC_A_NETDEV]);
	copy_address(device->address, peer[DMANIC_PEER_A_ADDRESS]);
	copy(device->name, sizeof(device->name), attr[DMANIC_A_NAME]);
	copy(device->type, sizeof(device->type), attr[DMANIC_A_TYPE]);
	copy(device->fabric, sizeof(device->fabric), attr[DMANIC_A_FABRIC]);
	copy(device->dma_engine, sizeof(device->dma_engine),
	     attr[DMANIC_A_DMA_ENGINE]);
	copy(device->model_name, sizeof(device->model_name),
	     model[DMANIC_MODEL_A_NAME]);
	for (i = 0; i <= DMANIC_A_MAX; i++)
		device->number[i] = nl_number(attr[i]);
	for (i = 0; i <= DMANIC_MODEL_A_MAX; i++)
		device->model[i] = nl_number(model[i]);
	for (i = 0; i <= DMANIC_STATS_A_MAX; i++)
		device->stats[i] = nl_number(stats[i]);
	for (i = 0; i <= DMANIC_PROTO_A_MAX; i++)
		device->proto[i] = nl_number(proto[i]);
	for (i = 0; i <= DMANIC_FAULT_A_MAX; i++)
		device->fault[i] = nl_number(fault[i]);
	for (i = 0; i <= DMANIC_PEER_A_MAX; i++)
		device->peer[i] = nl_number(peer[i]);
}

static int devices_add(const struct nlmsghdr *message, void *data)
{
	struct devices *devices = data;

	if (devices->n == devices->room) {
		size_t room = devices->room ? 2 * devices->room : 16;
		struct device *device;

		device = reallocarray(devices->device, room, sizeof(*device));
		if (!device)
			return -ENOMEM;
		devices->device = device;
		devices->room = room;
	}
	device_read(&devices->device[devices->n++], message);
	return 0;
}

/* Forget those of other fabrics */
static void devices_filter(struct devices *devices, const char *fabric)
{
	size_t i, n = 0;

	for (i = 0; i < devices->n; i++)
		if (!strcmp(devices->device[i].fabric, fabric))
			devices->device[n++] = devices->device[i];
	devices->n = n;
}

int devices_get(struct nl *nl, uint8_t command, const char *name,
		const char *fabric, struct devices *devices)
{
	struct nlmsghdr *message;
	int ret, tries = 0;

	do {
		devices->n = 0;
		message = nl_request(nl, command, !name);
		if (name)
			mnl_attr_put_strz(message, DMANIC_A_NAME, name);
		ret = nl_talk(nl, message, devices_add, devices);
	} while (ret == -EINTR && ++tries < DUMPS);
	if (ret)
		return ret;
	if (fabric)
		devices_filter(devices, fabric);
	if (fabric && !devices->n) {
		snprintf(nl->error, sizeof(nl->error),
			 "no such fabric in this network namespace: see nicctl dev show");
		return -ENODEV;
	}
	return 0;
}

void devices_free(struct devices *devices)
{
	free(devices->device);
	devices->device = NULL;
	devices->n = 0;
	devices->room = 0;
}

bool device_has_fault(const struct device *device)
{
	const uint64_t *fault = device->fault;

	return fault[DMANIC_FAULT_A_DROP] || fault[DMANIC_FAULT_A_DUPLICATE] ||
	       fault[DMANIC_FAULT_A_CORRUPT] || fault[DMANIC_FAULT_A_DELAY_NS];
}

const char *device_state(const struct device *device)
{
	switch (device->number[DMANIC_A_STATE]) {
	case DMANIC_DEV_UP:
		return "up";
	case DMANIC_DEV_FAILED:
		return "failed";
	case DMANIC_DEV_REMOVED:
		return "removed";
	case DMANIC_DEV_LINK_DOWN:
		return "link-down";
	default:
		return "unknown";
	}
}

/* A number of the network device; -1: it cannot be read */
static long netdev_number(const struct device *device, const char *root, const char *name)
{
	long value = -1;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/%s", root, device->netdev, name);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%li", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* Whether the text there has a line */
static bool netdev_has(const struct device *device, const char *root, const char *name,
		       const char *wanted)
{
	bool found = false;
	char path[256], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/%s", root, device->netdev, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strcmp(line, wanted);
	}
	fclose(file);
	return found;
}

struct device_trouble device_trouble(const struct device *device, const char *root)
{
	long flags = netdev_number(device, root, "flags");
	long mtu = netdev_number(device, root, "mtu");

	if (flags < 0)
		return (struct device_trouble){ "carries nothing", "ip link show " };
	if (!(flags & 1))
		return (struct device_trouble){ "is down", "ip link set up dev " };
	/* Ports of bridges, bonds and teams have a link to it; those of a VRF keep frames */
	if (netdev_number(device, root, "master/ifindex") >= 0 &&
	    !netdev_has(device, root, "master/uevent", "DEVTYPE=vrf"))
		return (struct device_trouble){
			"is a port of another device, which gets all its frames",
			"ip link set nomaster dev "
		};
	if (mtu >= 0 && mtu < 544)
		return (struct device_trouble){ "has an MTU below 544",
						"ip link set mtu 1500 dev " };
	return (struct device_trouble){ "has no carrier: is the other end up?",
					"ip link show dev " };
}

static const char *name_of(const char *const *names, size_t n, uint64_t which)
{
	return which < n && names[which] ? names[which] : "unknown";
}

const char *device_path(const struct device *device)
{
	static const char *const names[] = {
		[DMANIC_PATH_WHOLE] = "whole",
		[DMANIC_PATH_CUT] = "cut",
		[DMANIC_PATH_COPIED] = "copied",
		[DMANIC_PATH_NONE] = "none",
	};

	return name_of(names, ARRAY_SIZE(names), device->number[DMANIC_A_PATH]);
}

const struct device *devices_degraded(const struct devices *peers, const char *name,
				      size_t *n)
{
	const struct device *peer, *worst = NULL;
	size_t i;

	*n = 0;
	for (i = 0; i < peers->n; i++) {
		peer = &peers->device[i];
		if ((name && strcmp(peer->name, name) != 0) ||
		    !peer->peer[DMANIC_PEER_A_DEGRADED])
			continue;
		++*n;
		if (!worst || peer->peer[DMANIC_PEER_A_MTU] < worst->peer[DMANIC_PEER_A_MTU])
			worst = peer;
	}
	return worst;
}

const char *device_peer_state(const struct device *device)
{
	static const char *const names[] = {
		[DMANIC_PEER_LINK_CLOSED] = "closed",
		[DMANIC_PEER_LINK_OPENING] = "opening",
		[DMANIC_PEER_LINK_PAIRED] = "paired",
		[DMANIC_PEER_LINK_OPEN] = "open",
	};

	return name_of(names, ARRAY_SIZE(names), device->peer[DMANIC_PEER_A_STATE]);
}

const char *device_peer_refused(const struct device *device)
{
	static const char *const names[] = {
		[DMANIC_REFUSED_VERSION] = "no version in common",
		[DMANIC_REFUSED_ID] = "id is another's",
		[DMANIC_REFUSED_ROOM] = "no room",
		[DMANIC_REFUSED_OTHER] = "for another reason",
	};
	uint64_t refused = device->peer[DMANIC_PEER_A_REFUSED];

	return refused ? name_of(names, ARRAY_SIZE(names), refused) : NULL;
}

const char *device_dma_state(const struct device *device)
{
	static const char * const states[] = {
		[DMANIC_DMA_DISABLED] = "disabled",
		[DMANIC_DMA_NONE] = "none",
		[DMANIC_DMA_MEASURING] = "measuring",
		[DMANIC_DMA_USED] = "used",
		[DMANIC_DMA_SLOW] = "slow",
		[DMANIC_DMA_FAILED] = "failed",
		[DMANIC_DMA_REMOVED] = "removed",
	};
	uint64_t state = device->number[DMANIC_A_DMA_STATE];

	return state < ARRAY_SIZE(states) ? states[state] : "unknown";
}

const char *device_event(const struct device *device)
{
	static const char *const names[] = {
		[DMANIC_EVENT_ADDED] = "added",
		[DMANIC_EVENT_REMOVED] = "removed",
		[DMANIC_EVENT_MODEL] = "model",
		[DMANIC_EVENT_FAILED] = "failed",
		[DMANIC_EVENT_RESTARTED] = "restarted",
		[DMANIC_EVENT_PEER_UP] = "peer-up",
		[DMANIC_EVENT_PEER_DOWN] = "peer-down",
		[DMANIC_EVENT_PEER_RESTARTED] = "peer-restarted",
		[DMANIC_EVENT_PEER_REFUSED] = "peer-refused",
		[DMANIC_EVENT_PEER_RIVAL] = "peer-rival",
		[DMANIC_EVENT_LINK_DOWN] = "link-down",
		[DMANIC_EVENT_LINK_UP] = "link-up",
		[DMANIC_EVENT_PEER_DEGRADED] = "peer-degraded",
		[DMANIC_EVENT_PEER_RESTORED] = "peer-restored",
	};
	uint64_t event = device->number[DMANIC_A_EVENT];

	if (!event)
		return "present";
	return event < ARRAY_SIZE(names) ? names[event] : "unknown";
}

/* ---- for people ---- */

char *device_model_text(const struct device *device,
			char text[DEVICE_MODEL_TEXT])
{
	const uint64_t *model = device->model;
	double scale = device_scale(device);
	char start[SIZE_TEXT], interrupt[SIZE_TEXT], latency[SIZE_TEXT];

	*text = '\0';
	if (*device->model_name && strcmp(device->model_name, "none") != 0)
		snprintf(text, DEVICE_MODEL_TEXT,
			 "model %s, start %s, interrupt %s, latency %s",
			 device->model_name,
			 time_print(scale *
				    (double)model[DMANIC_MODEL_A_START_NS],
				    start),
			 time_print(scale *
				    (double)model[DMANIC_MODEL_A_INTERRUPT_NS],
				    interrupt),
			 time_print(scale *
				    (double)model[DMANIC_MODEL_A_LATENCY_NS],
				    latency));
	return text;
}

char *device_ask_model(const char *name, char text[DEVICE_MODEL_TEXT])
{
	struct devices devices = { 0 };
	struct nl nl = { 0 };

	*text = '\0';
	if (!nl_open(&nl) &&
	    !devices_get(&nl, DMANIC_GENL_CMD_DEV_GET, name, NULL, &devices) &&
	    devices.n)
		device_model_text(&devices.device[0], text);
	devices_free(&devices);
	nl_close(&nl);
	return text;
}

/* ---- for programs ---- */

double device_scale(const struct device *device)
{
	return (double)device->model[DMANIC_MODEL_A_SCALE] / 1000;
}

void device_report_model(const struct device *device, struct cJSON *object)
{
	static const struct {
		const char *name;
		unsigned int attr;
	} members[] = {
		{ "start_ns", DMANIC_MODEL_A_START_NS },
		{ "interrupt_ns", DMANIC_MODEL_A_INTERRUPT_NS },
		{ "latency_ns", DMANIC_MODEL_A_LATENCY_NS },
		{ "bandwidth_bytes_per_s", DMANIC_MODEL_A_BANDWIDTH },
		{ "jitter_ns", DMANIC_MODEL_A_JITTER_NS },
		{ "seed", DMANIC_MODEL_A_SEED },
	};
	struct cJSON *model;
	size_t i;

	if (!*device->model_name)
		return;
	model = report_add_object(object, "model");
	report_add_text(model, "name", device->model_name);
	report_add_number(model, "scale", device_scale(device));
	for (i = 0; i < ARRAY_SIZE(members); i++)
		report_add_count(model, members[i].name,
				 device->model[members[i].attr]);
}
