// SPDX-License-Identifier: GPL-2.0-only
/*
 * link.c - what the link pretends to cost
 *
 * A model that was set stays, as one set by nicctl does: what is measured is
 * what the next program finds, also when this one is killed.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "nictile.h"
#include "tools/common/nl.h"

static int ask(struct nl *nl, const char *name, struct device *device)
{
	struct devices devices = { 0 };
	int ret;

	ret = devices_get(nl, DMANIC_GENL_CMD_DEV_GET, name, NULL, &devices);
	if (!ret)
		*device = devices.device[0];
	devices_free(&devices);
	return ret;
}

static int set(struct nl *nl, const char *fabric, const struct options *options)
{
	struct nlmsghdr *message = nl_request(nl, DMANIC_GENL_CMD_DEV_SET,
					      false);
	struct nlattr *nest;

	mnl_attr_put_strz(message, DMANIC_A_FABRIC, fabric);
	nest = mnl_attr_nest_start(message, DMANIC_A_MODEL);
	mnl_attr_put_strz(message, DMANIC_MODEL_A_NAME, options->model);
	mnl_attr_put_u32(message, DMANIC_MODEL_A_SCALE,
			 (uint32_t)lround(options->scale * 1000));
	mnl_attr_nest_end(message, nest);
	return nl_talk(nl, message, NULL, NULL);
}

int card_prepare(struct card *card, const char *device,
		 const struct options *options)
{
	struct nl nl = { 0 };
	int ret;

	ret = nl_open(&nl);
	if (!ret)
		ret = ask(&nl, device, &card->device);
	if (!ret && options->model) {
		ret = set(&nl, card->device.fabric, options);
		if (!ret)
			ret = ask(&nl, device, &card->device);
	}
	card->known = !ret;
	memcpy(card->why, nl.error, sizeof(card->why));
	nl_close(&nl);
	if (!ret || !options->model)
		return 0;
	if (ret != -EPERM && ret != -EACCES) {
		fprintf(stderr, "nictile: cannot set the link to model %s: %s\n",
			options->model, card->why);
		return ret;
	}
	fprintf(stderr,
		"nictile: cannot set the link to model %s: %s; or let root do it before: nicctl dev set fabric %s model %s scale %g\n",
		options->model, card->why,
		*card->device.fabric ? card->device.fabric : "PREFIX",
		options->model, options->scale);
	return ret;
}
