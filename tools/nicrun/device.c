// SPDX-License-Identifier: GPL-2.0-only
/*
 * device.c - the device of every rank
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nicrun.h"

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

static void say_missing(unsigned int missing, const char *names)
{
	uint32_t last = 0;

	for (unsigned int i = 0; i < opt.n; i++)
		if (ranks[i].number > last)
			last = ranks[i].number;
	say("%s missing: %s", missing == 1 ? "a device is" : "devices are",
	    names);
	if (access("/sys/module/dmanic", F_OK))
		say("the driver is not loaded: modprobe dmanic");
	if (opt.here) {
		say("make each: nicctl dev add %s<number> type ether netdev eth0 node <number>",
		    opt.prefix);
		return;
	}
	if (missing < opt.n)
		say("remove the others first: nicctl dev del fabric %s",
		    opt.prefix);
	say("make them: nicctl dev add %s type loop nodes %" PRIu32,
	    opt.prefix, last + 1);
}

bool devices_find(void)
{
	unsigned int missing = 0;
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
					       "%s%s", missing ? ", " : "", name);
		else if (names[at - 1] != '.')
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       ", ...");
		missing++;
	}
	if (missing)
		say_missing(missing, names);
	return !missing && !are_twins();
}
