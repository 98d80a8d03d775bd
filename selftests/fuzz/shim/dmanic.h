/* SPDX-License-Identifier: GPL-2.0-only */
/* What the driver's netlink files that read requests need of its objects */
#ifndef SHIM_DMANIC_H
#define SHIM_DMANIC_H

#include <linux/time64.h>
#include <linux/types.h>
#include <linux/dmanic.h>
#include <linux/dmanic_netlink.h>

#define DMANIC_NO_NODE		0xffffffffU
#define NSEC_PER_MSEC		1000000ULL
#define memzero_explicit	explicit_bzero

/* Of what fits */
#define strscpy(to, from, size)	((void)snprintf(to, size, "%s", from))

struct dmanic_node {
	const struct dmanic_link_ops *link;
};

#endif /* SHIM_DMANIC_H */
