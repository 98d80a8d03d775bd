// SPDX-License-Identifier: GPL-2.0-only
/*
 * doctor_device.c - the devices there are
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "tools/common/size.h"

/* In percent: what is fuller than this will soon be full */
#define FULL	75

static bool have_devices(struct doctor *doctor, const char *name)
{
	if (doctor->devices.n)
		return true;
	doctor_say(doctor, name, DOCTOR_UNKNOWN, "not checked: %s",
		   doctor->connected ?
		   "there is no device in this network namespace" :
		   "no answer from the module");
	return false;
}

/* Of an ether device the network device copies, and there is nothing to model */
static bool is_ether(const struct device *device)
{
	return !strcmp(device->type, "ether");
}

static size_t count_loop(const struct doctor *doctor)
{
	size_t i, n = 0;

	for (i = 0; i < doctor->devices.n; i++)
		n += !is_ether(&doctor->devices.device[i]);
	return n;
}

static void no_devices(struct doctor *doctor)
{
	size_t elsewhere = doctor_count_files(doctor);

	if (!elsewhere) {
		doctor_say(doctor, "devices", DOCTOR_WARNING,
			   "there is none in this network namespace");
		doctor_remedy(doctor, doctor_exists(doctor, "/etc/dmanic.conf") ?
			      "as root: nicctl restore /etc/dmanic.conf; why not at boot: systemctl status dmanic" :
			      "as root: nicctl dev add nic type loop nodes 2; or, on a cluster: nicctl dev add nic0 type ether netdev IF node 0");
		return;
	}
	doctor_say(doctor, "devices", DOCTOR_WARNING,
		   "there is none in this network namespace; %zu %s in other network namespaces",
		   elsewhere, elsewhere == 1 ? "device is" : "devices are");
	doctor_remedy(doctor, "look there, as root: ip netns exec NAME nicctl doctor (names: ip netns); a device to be made here needs a name that is not in /dev/dmanic");
}

void doctor_devices(struct doctor *doctor)
{
	const struct device *device, *bad = NULL;
	size_t i, n = 0;
	struct device_trouble trouble;

	if (!doctor->connected) {
		have_devices(doctor, "devices");
		return;
	}
	for (i = 0; i < doctor->devices.n; i++) {
		device = &doctor->devices.device[i];
		if (device->number[DMANIC_A_STATE] == DMANIC_DEV_UP)
			continue;
		bad = bad ? bad : device;
		n++;
	}
	if (!doctor->devices.n) {
		no_devices(doctor);
	} else if (!bad) {
		doctor_say(doctor, "devices", DOCTOR_OK, "%zu, all up",
			   doctor->devices.n);
	} else if (bad->number[DMANIC_A_STATE] == DMANIC_DEV_FAILED) {
		doctor_say(doctor, "devices", DOCTOR_PROBLEM,
			   "%s was told to fail and does not answer (%zu of %zu devices are not up)",
			   bad->name, n, doctor->devices.n);
		doctor_remedy(doctor, "as root: nicctl dev set %s failed off",
			      bad->name);
	} else if (bad->number[DMANIC_A_STATE] == DMANIC_DEV_LINK_DOWN) {
		trouble = device_trouble(bad, doctor->root);
		doctor_say(doctor, "devices", DOCTOR_PROBLEM,
			   "%s is link-down: %s %s (%zu of %zu devices are not up)",
			   bad->name, bad->netdev, trouble.cause, n, doctor->devices.n);
		doctor_remedy(doctor, "as root: %s%s", trouble.remedy, bad->netdev);
	} else {
		doctor_say(doctor, "devices", DOCTOR_PROBLEM,
			   "%s is %s (%zu of %zu devices are not up)",
			   bad->name, device_state(bad), n, doctor->devices.n);
		doctor_remedy(doctor, "as root: nicctl dev del %s force, then make it again",
			      bad->name);
	}
}

void doctor_models(struct doctor *doctor)
{
	const struct device *device, *first = NULL;
	size_t i, n = 0;

	if (!have_devices(doctor, "model"))
		return;
	for (i = 0; i < doctor->devices.n; i++) {
		device = &doctor->devices.device[i];
		if (!*device->model_name ||
		    !strcmp(device->model_name, "none"))
			continue;
		first = first ? first : device;
		n++;
	}
	if (!count_loop(doctor)) {
		doctor_say(doctor, "model", DOCTOR_OK,
			   "ether devices have none: they are as fast as their networks");
		return;
	}
	if (!first) {
		doctor_say(doctor, "model", DOCTOR_OK,
			   "none: data move as fast as they can");
		return;
	}
	doctor_say(doctor, "model", DOCTOR_WARNING,
		   "%s pretends to be %s, scale %.7g: what is measured is that, not this machine (%zu of %zu devices)",
		   first->name, first->model_name, device_scale(first), n,
		   count_loop(doctor));
	doctor_remedy(doctor, "unless that is meant, as root: nicctl dev set fabric %s model none",
		      first->fabric);
}

void doctor_faults(struct doctor *doctor)
{
	const struct device *device;
	size_t i;

	for (i = 0; i < doctor->devices.n; i++) {
		device = &doctor->devices.device[i];
		if (!device_has_fault(device))
			continue;
		doctor_say(doctor, "fault", DOCTOR_WARNING,
			   "frames to %s are lost, late or damaged on purpose",
			   device->name);
		doctor_remedy(doctor, "unless that is meant, as root: nicctl dev set %s fault none",
			      device->name);
	}
}

/* A network may double a frame, or have two overtake each other */
#define REPLAYED_ODD	16U

/* The first device with so many frames of a kind; NULL: there is none */
static const struct device *doctor_counted(const struct doctor *doctor, unsigned int counter,
					   uint64_t least)
{
	size_t i;

	for (i = 0; i < doctor->stats.n; i++)
		if (doctor->stats.device[i].proto[counter] >= least)
			return &doctor->stats.device[i];
	return NULL;
}

/* Frames that are as old as if somebody repeated them */
static void doctor_replayed(struct doctor *doctor)
{
	const struct device *device = doctor_counted(doctor, DMANIC_PROTO_A_REPLAYED,
						     REPLAYED_ODD);

	if (!device)
		return;
	doctor_say(doctor, "replayed", DOCTOR_WARNING,
		   "%" PRIu64 " frames to %s came once more, or are older than others of their node, and were dropped",
		   device->proto[DMANIC_PROTO_A_REPLAYED], device->name);
	doctor_remedy(doctor, "if a node does not connect, set its clock right (timedatectl), load its module anew, and set the key of %s anew; else somebody repeats frames",
		      device->name);
}

/* Frames that were not made with the key of who got them */
static void doctor_forged(struct doctor *doctor)
{
	const struct device *device = doctor_counted(doctor, DMANIC_PROTO_A_FORGED, 1);

	if (!device)
		return;
	doctor_say(doctor, "key", DOCTOR_WARNING,
		   "%" PRIu64 " frames to %s were made with no key or another one, and dropped, since it was made",
		   device->proto[DMANIC_PROTO_A_FORGED], device->name);
	doctor_remedy(doctor, "if nodes do not connect, give all the same key and key-id, as root: nicctl dev set %s key FILE; else somebody tries to",
		      device->name);
}

void doctor_keys(struct doctor *doctor)
{
	const struct device *device, *open = NULL;
	size_t i, n = 0;

	for (i = 0; i < doctor->devices.n; i++) {
		device = &doctor->devices.device[i];
		if (!is_ether(device) || device->number[DMANIC_A_KEY_ID])
			continue;
		open = open ? open : device;
		n++;
	}
	if (open) {
		doctor_say(doctor, "key", DOCTOR_WARNING,
			   "%s has no key: who is on its network can send frames in a node's name (%zu of %zu ether devices)",
			   open->name, n, doctor->devices.n - count_loop(doctor));
		doctor_remedy(doctor, "unless all there are trusted, as root, once: (umask 077; mkdir -p /etc/dmanic; nicctl genkey >/etc/dmanic/%s.key); copy that file to every node, for its own device; then, on each, nicctl dev set %s key /etc/dmanic/%s.key",
			      open->name, open->name, open->name);
	}
	doctor_forged(doctor);
	doctor_replayed(doctor);
}

/* A rival of long ago may have been given another id */
#define RIVAL_NS	3600e9

void doctor_rivals(struct doctor *doctor)
{
	const struct device *device;
	char age[SIZE_TEXT];
	size_t i;

	for (i = 0; i < doctor->devices.n; i++) {
		device = &doctor->devices.device[i];
		if (!device->number[DMANIC_A_RIVAL_NS] ||
		    (double)device->number[DMANIC_A_RIVAL_NS] > RIVAL_NS)
			continue;
		doctor_say(doctor, "node id", DOCTOR_PROBLEM,
			   "%s is node %" PRIu64 ", and so said another address, %s ago",
			   device->name, device->number[DMANIC_A_NODE],
			   time_print((double)device->number[DMANIC_A_RIVAL_NS], age));
		doctor_remedy(doctor, "on one of the two, as root: nicctl dev del %s, then nicctl dev add with another node; where that was done this is told for an hour yet",
			      device->name);
	}
}

static const struct device *device_find(const struct doctor *doctor, const char *name)
{
	size_t i;

	for (i = 0; i < doctor->devices.n; i++)
		if (!strcmp(doctor->devices.device[i].name, name))
			return &doctor->devices.device[i];
	return NULL;
}

/* Data arrive, but in more frames than they need */
void doctor_degraded(struct doctor *doctor)
{
	const struct device *device, *worst;
	size_t n;

	worst = devices_degraded(&doctor->peers, NULL, &n);
	if (!worst)
		return;
	device = device_find(doctor, worst->name);
	if (worst->peer[DMANIC_PEER_A_DEGRADED] == DMANIC_DEGRADED_UNCUT) {
		doctor_say(doctor, "degraded", DOCTOR_WARNING,
			   "large frames of %s are lost on the way to node %" PRIu64 ": small ones are sent (%zu of %zu peers)",
			   worst->name, worst->peer[DMANIC_PEER_A_NODE], n,
			   doctor->peers.n);
		doctor_remedy(doctor, "look for a faulty offload on both sides: ethtool -K %s gso off tso off gro off, one after the other",
			      device ? device->netdev : "NETDEV");
		return;
	}
	doctor_say(doctor, "degraded", DOCTOR_WARNING,
		   "frames of %s longer than %" PRIu64 " bytes are lost on the way to node %" PRIu64 ": shorter ones are sent (%zu of %zu peers)",
		   worst->name, worst->peer[DMANIC_PEER_A_MTU],
		   worst->peer[DMANIC_PEER_A_NODE], n, doctor->peers.n);
	doctor_remedy(doctor, "look for a switch or tunnel with a smaller MTU than %s's on the way, and raise it; or lower those of the network devices",
		      device ? device->netdev : "the network device");
}

/* Copies are right without it: the CPU does them. */
void doctor_engines(struct doctor *doctor)
{
	const struct device *device, *first = NULL;
	size_t i, used = 0, lost = 0;

	if (!have_devices(doctor, "DMA engine"))
		return;
	for (i = 0; i < doctor->devices.n; i++) {
		device = &doctor->devices.device[i];
		used += device->number[DMANIC_A_DMA_STATE] == DMANIC_DMA_USED;
		if (device->number[DMANIC_A_DMA_STATE] != DMANIC_DMA_FAILED &&
		    device->number[DMANIC_A_DMA_STATE] != DMANIC_DMA_REMOVED)
			continue;
		first = first ? first : device;
		lost++;
	}
	if (!count_loop(doctor)) {
		doctor_say(doctor, "DMA engine", DOCTOR_OK,
			   "not used: the CPU copies what comes to ether devices");
		return;
	}
	if (!first) {
		doctor_say(doctor, "DMA engine", DOCTOR_OK,
			   "copies for %zu of %zu loop devices, the CPU for the others",
			   used, count_loop(doctor));
		return;
	}
	doctor_say(doctor, "DMA engine", DOCTOR_WARNING,
		   "that of %s was given back because %s; the CPU copies instead (%zu of %zu devices)",
		   first->name,
		   first->number[DMANIC_A_DMA_STATE] == DMANIC_DMA_FAILED ?
		   "it lost copies or failed often" : "its driver was removed",
		   lost, count_loop(doctor));
	doctor_remedy(doctor, "look for its driver in dmesg; then, as root, make the device again: nicctl dev del %s, or reload dmanic",
		      first->name);
}

/* What a device counts and how much there may be of it */
struct use {
	const char *name;
	unsigned int attr;
	uint32_t max;
};

static uint64_t percent(uint64_t used, uint32_t max)
{
	return max ? used * 100 / max : 0;
}

void doctor_limits(struct doctor *doctor)
{
	const struct dmanic_query *query = &doctor->query;
	const struct use uses[] = {
		{ "open contexts", DMANIC_A_CONTEXTS, query->max_contexts },
		{ "segments", DMANIC_A_SEGMENTS, query->max_segments },
		{ "queues", DMANIC_A_QUEUES, query->max_queues },
		{ "interrupts", DMANIC_A_IRQS, query->max_irqs },
	};
	const struct device *device, *fullest = NULL;
	uint64_t used, most = 0;
	const struct use *what = &uses[0];
	size_t i, u;

	if (!have_devices(doctor, "limits"))
		return;
	if (!doctor->queried) {
		doctor_say(doctor, "limits", DOCTOR_UNKNOWN,
			   "not checked: no device can be opened");
		return;
	}
	for (i = 0; i < doctor->devices.n; i++) {
		device = &doctor->devices.device[i];
		for (u = 0; u < ARRAY_SIZE(uses); u++) {
			used = percent(device->number[uses[u].attr],
				       uses[u].max);
			if (fullest && used <= most)
				continue;
			most = used;
			fullest = device;
			what = &uses[u];
		}
	}
	used = fullest->number[what->attr];
	doctor_say(doctor, "limits",
		   most >= 100 ? DOCTOR_PROBLEM :
		   most >= FULL ? DOCTOR_WARNING : DOCTOR_OK,
		   "fullest is %s with %" PRIu64 " of %u %s; one user may have 1/%u of each",
		   fullest->name, used, what->max, what->name,
		   query->user_share ? query->user_share : 1);
	if (most >= FULL)
		doctor_remedy(doctor, "end programs that use %s, or spread them over more devices (who: fuser -v /dev/dmanic/%s)",
			      fullest->name, fullest->name);
}

/* "0-3,6" has five */
static unsigned int count_list(const char *text)
{
	unsigned int first, last, n = 0;
	int used;

	while (*text) {
		if (sscanf(text, "%u-%u%n", &first, &last, &used) == 2 &&
		    last >= first)
			n += last - first + 1;
		else if (sscanf(text, "%u%n", &first, &used) == 1)
			n++;
		else
			return n;
		text += used;
		text += *text == ',';
	}
	return n;
}

void doctor_cpus(struct doctor *doctor)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	unsigned int cpus;
	char text[1024];
	int ret = doctor_read(doctor, path, text, sizeof(text));

	if (ret) {
		doctor_unknown(doctor, "CPUs", path, ret);
		return;
	}
	cpus = count_list(text);
	if (doctor->devices.n <= cpus) {
		doctor_say(doctor, "CPUs", DOCTOR_OK, "%u for %zu devices",
			   cpus, doctor->devices.n);
		return;
	}
	doctor_say(doctor, "CPUs", DOCTOR_WARNING,
		   "%u for %zu devices: ranks and the engines of their devices share them, so times measured on all at once say little",
		   cpus, doctor->devices.n);
	doctor_remedy(doctor, "use at most %u devices at a time, or model the costs with a scale that leaves time for all (nictile)",
		      cpus);
}
