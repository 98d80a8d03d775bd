// SPDX-License-Identifier: GPL-2.0-only
/*
 * device.c - the device of every rank
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nicrun.h"
#include "tools/common/device.h"

void device_name(const struct rank *rank, char name[NIC_NAME_MAX])
{
	int length;

	length = snprintf(name, NIC_NAME_MAX, "%s%" PRIu32, opt.prefix,
			  rank->number);
	if (length >= NIC_NAME_MAX || strchr(name, '/'))
		wrong_usage("--device %s: give the name without its number",
			    opt.prefix);
}

static int ask_device(struct rank *rank)
{
	char name[NIC_NAME_MAX];
	struct nic_info info = { .size = sizeof(info) };
	struct nic_ctx *ctx;
	int ret;

	device_name(rank, name);
	if (!rank->here) {
		rank->node = rank->number;
		return 0;
	}
	ret = nic_open(name, &ctx);
	if (ret)
		return ret;
	ret = nic_query(ctx, &info);
	rank->node = info.node;
	nic_close(ctx);
	return ret;
}

/* Two devices with the same id do not reach each other, nor will others know which */
static bool are_twins(void)
{
	char a[NIC_NAME_MAX], b[NIC_NAME_MAX];

	for (unsigned int i = 0; i < opt.n; i++)
		for (unsigned int j = 0; j < i; j++) {
			if (ranks[i].node != ranks[j].node ||
			    ranks[i].number == ranks[j].number)
				continue;
			device_name(&ranks[j], a);
			device_name(&ranks[i], b);
			say("%s and %s are both node %" PRIu32 ": remove one, and add it again with another \"node\"",
			    a, b, ranks[i].node);
			return true;
		}
	return false;
}

/* Those of this network namespace whose name is the prefix and a number */
static bool is_other(const struct device *device, uint32_t *number)
{
	size_t length = strlen(opt.prefix);
	const char *digits = device->name + length;

	if (strncmp(device->name, opt.prefix, length) != 0 || !*digits ||
	    digits[strspn(digits, "0123456789")])
		return false;
	*number = (uint32_t)strtoul(digits, NULL, 10);
	return true;
}

static bool is_here(const struct devices *devices, const char *name)
{
	for (size_t i = 0; i < devices->n; i++)
		if (!strcmp(devices->device[i].name, name))
			return true;
	return false;
}

/* What there is that the missing ones could be made beside, or not */
static void find_others(struct missing *missing, const bool *lacks)
{
	struct devices devices = { 0 };
	char name[NIC_NAME_MAX];
	struct nl nl = { 0 };
	uint32_t number;
	bool loop;

	if (nl_open(&nl) ||
	    devices_get(&nl, DMANIC_GENL_CMD_DEV_GET, NULL, NULL, &devices))
		goto out;
	for (size_t i = 0; i < devices.n; i++) {
		loop = !strcmp(devices.device[i].type, "loop");
		if (!is_other(&devices.device[i], &number) ||
		    missing->others == OTHERS_ETHER)
			continue;
		/* "nic10" may be of a fabric "nic1" */
		if (loop && strcmp(devices.device[i].fabric, opt.prefix) != 0)
			continue;
		missing->others = loop ? OTHERS_LOOP : OTHERS_ETHER;
		missing->there = number;
	}
	/* Who may open any device may open those of other namespaces, too */
	for (unsigned int i = 0; i < opt.n && missing->others == OTHERS_NONE; i++) {
		device_name(&ranks[i], name);
		if (lacks[i] || is_here(&devices, name))
			continue;
		missing->others = OTHERS_ELSEWHERE;
		missing->there = ranks[i].number;
	}
out:
	devices_free(&devices);
	nl_close(&nl);
}

static void say_missing(struct missing *missing, const bool *lacks, const char *names)
{
	missing->prefix = opt.prefix;
	missing->here = opt.here;
	for (unsigned int i = 0; i < opt.n; i++)
		if (ranks[i].number > missing->last)
			missing->last = ranks[i].number;
	say("%s missing: %s", missing->count == 1 ? "a device is" : "devices are",
	    names);
	if (access("/sys/module/dmanic", F_OK))
		say("the driver is not loaded: modprobe dmanic");
	find_others(missing, lacks);
	advice_missing(missing);
}

bool devices_find(void)
{
	static bool lacks[RANKS_MAX];
	struct missing missing = { 0 };
	char name[NIC_NAME_MAX];
	char names[200] = "";
	size_t at = 0;
	int ret;

	for (unsigned int i = 0; i < opt.n; i++) {
		ret = ask_device(&ranks[i]);
		if (!ret)
			continue;
		if (ret != -ENOENT) {
			say("%s", nic_error_detail(NULL));
			return false;
		}
		device_name(&ranks[i], name);
		if (at + strlen(name) + 8 < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       "%s%s", missing.count ? ", " : "", name);
		else if (names[at - 1] != '.')
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       ", ...");
		if (!missing.count++)
			missing.first = ranks[i].number;
		lacks[i] = true;
	}
	if (missing.count)
		say_missing(&missing, lacks, names);
	return !missing.count && !are_twins();
}
