/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device.h - devices as the driver describes them
 */
#ifndef TOOLS_DEVICE_H
#define TOOLS_DEVICE_H

#include <linux/dmanic.h>
#include <linux/dmanic_netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nl.h"

struct cJSON;

/**
 * struct device - one of them
 * @name: "nic0"
 * @type: "loop", "ether"
 * @fabric: prefix it was made with
 * @dma_engine: channel of a DMA engine that it has, had or was offered; empty:
 *	there never was one
 * @number: DMANIC_A_*, those that are numbers
 * @model_name: preset, "custom"; empty: it has no model
 * @model: DMANIC_MODEL_A_*
 * @stats: DMANIC_STATS_A_*
 * @netdev: network device of an ether device; else empty
 * @proto: DMANIC_PROTO_A_*
 * @fault: DMANIC_FAULT_A_*; all zero: frames fare well
 * @peer: DMANIC_PEER_A_*, those that are numbers
 * @address: of the peer, "02:00:00:00:00:01"; empty: not known
 */
struct device {
	char name[DMANIC_NAME_MAX];
	char type[DMANIC_NAME_MAX];
	char fabric[DMANIC_NAME_MAX];
	char dma_engine[DMANIC_NAME_MAX];
	uint64_t number[DMANIC_A_MAX + 1];
	char model_name[DMANIC_NAME_MAX];
	uint64_t model[DMANIC_MODEL_A_MAX + 1];
	uint64_t stats[DMANIC_STATS_A_MAX + 1];
	char netdev[DMANIC_NAME_MAX];
	uint64_t proto[DMANIC_PROTO_A_MAX + 1];
	uint64_t fault[DMANIC_FAULT_A_MAX + 1];
	uint64_t peer[DMANIC_PEER_A_MAX + 1];
	char address[18];
};

struct devices {
	struct device *device;
	size_t n;
	size_t room;
};

/*
 * Ask for the device @name, for those of @fabric, or, when both are NULL, for
 * all. @command: DEV_GET, STATS_GET, or PEER_GET: one for each peer. 0 or a negative errno and nl->error.
 * devices_free() in both cases.
 */
int devices_get(struct nl *nl, uint8_t command, const char *name,
		const char *fabric, struct devices *devices);
void devices_free(struct devices *devices);

/* Fill @device with what an answer or an event says */
void device_read(struct device *device, const struct nlmsghdr *message);

/* What an event says that happened: "added"; "present": it is an answer */
const char *device_event(const struct device *device);

const char *device_state(const struct device *device);

/**
 * struct device_trouble - why the network device of one that is link-down carries nothing
 * @cause: what it is: "is down"
 * @remedy: a command, but for the network device's name at the end
 */
struct device_trouble {
	const char *cause;
	const char *remedy;
};

/* From files below @root, which is "" but for tests */
struct device_trouble device_trouble(const struct device *device, const char *root);

/* Something happens to its frames on purpose */
bool device_has_fault(const struct device *device);

/*
 * Of peers those that not all frames reach, of the device @name or all (NULL). Return: the
 * one that gets the shortest; NULL: none. @n: how many there are.
 */
const struct device *devices_degraded(const struct devices *peers, const char *name,
				      size_t *n);

/* What becomes of its large frames; what is with a peer */
const char *device_path(const struct device *device);
const char *device_peer_state(const struct device *device);
/* NULL: it does not refuse this node */
const char *device_peer_refused(const struct device *device);

/* What became of its DMA engine, for people */
const char *device_dma_state(const struct device *device);

/* Of the model: thousandths as a number */
double device_scale(const struct device *device);

#define DEVICE_MODEL_TEXT	160

/*
 * What makes it slow, as it takes effect: "model sci-d330, start 49.2us,
 * interrupt 18.8us, latency 2us". Empty: nothing does. Returns @text.
 */
char *device_model_text(const struct device *device,
			char text[DEVICE_MODEL_TEXT]);

/* The same of the device @name; empty also when the driver does not tell */
char *device_ask_model(const char *name, char text[DEVICE_MODEL_TEXT]);

/* For programs: the member "model" of @object, unless there is none */
void device_report_model(const struct device *device, struct cJSON *object);

#endif /* TOOLS_DEVICE_H */
