/* SPDX-License-Identifier: GPL-2.0-only */
/* See netlink.h */
#ifndef SHIM_GENETLINK_H
#define SHIM_GENETLINK_H

#include <net/netlink.h>

struct genl_info {
	struct nlattr **attrs;
	struct netlink_ext_ack *extack;
};

struct genl_multicast_group {
	char unused;
};

struct genl_family;
struct netlink_callback;

#endif /* SHIM_GENETLINK_H */
