// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare_net.c - two namespaces, pairs of network devices, and nodes on them
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dmanic_netlink.h>
#include <linux/ethtool.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compare_net.h"
#include "tools/common/nl.h"
#include "tools/common/output.h"

#define NETWORK		0xc6120000U	/* 198.18.0.0/15: for measuring, RFC 2544 */
#define PREFIX		24

int net_fail(struct net *net, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(net->error, sizeof(net->error), format, args);
	va_end(args);
	return ret;
}

/* ---- namespaces ---- */

static int space_open(void)
{
	return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static int space_of(const struct net *net, enum wire wire, enum side side)
{
	return wire == WIRE_RDMA ? net->home : net->space[side];
}

static int space_enter(struct net *net, int space)
{
	if (!setns(space, CLONE_NEWNET))
		return 0;
	return net_fail(net, -errno, "cannot enter a network namespace: %s",
			strerror(errno));
}

static void space_leave(struct net *net)
{
	if (setns(net->home, CLONE_NEWNET))
		net_fail(net, -errno, "cannot come back from a network namespace: %s",
			 strerror(errno));
}

static int spaces_create(struct net *net)
{
	enum side side;
	int ret = 0;

	net->home = space_open();
	if (net->home < 0)
		return net_fail(net, -errno, "cannot open /proc/thread-self/ns/net: %s",
				strerror(errno));
	for (side = 0; side < SIDES && !ret; side++) {
		if (unshare(CLONE_NEWNET)) {
			ret = net_fail(net, -errno, "cannot make a network namespace: %s%s",
				       strerror(errno),
				       errno == EPERM ? "; run it as root" : "");
			/* Who may not make one is still where he was */
			if (!side)
				return ret;
			break;
		}
		net->space[side] = space_open();
		if (net->space[side] < 0)
			ret = net_fail(net, -errno, "cannot open /proc/thread-self/ns/net: %s",
				       strerror(errno));
	}
	space_leave(net);
	return ret;
}

/* ---- pairs ---- */

char *net_wire_name(enum wire wire, enum side side, char name[IFNAMSIZ])
{
	if (wire == WIRE_RDMA)
		snprintf(name, IFNAMSIZ, "nicperf%d%c", (int)getpid() % 1000000,
			 side ? 'b' : 'a');
	else
		snprintf(name, IFNAMSIZ, "%s", wire == WIRE_FULL ? "full" : "plain");
	return name;
}

struct sockaddr_in net_address(enum wire wire, enum side side, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(NETWORK | wire << 8 | (side + 1)),
	};
}

static int talk(struct net *net, struct nl *nl, struct nlmsghdr *request,
		const char *what, const char *name)
{
	int ret = nl_talk(nl, request, NULL, NULL);

	return ret ? net_fail(net, ret, "cannot %s %s: %s", what, name, nl->error) : 0;
}

static void put_link(struct nlmsghdr *request, const struct net *net, const char *name)
{
	mnl_nlmsg_put_extra_header(request, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(request, IFLA_IFNAME, name);
	mnl_attr_put_u32(request, IFLA_MTU, net->mtu);
}

/* From within the near namespace */
static int pair_add(struct net *net, struct nl *nl, enum wire wire)
{
	struct nlattr *info, *data, *peer;
	struct nlmsghdr *request;
	char name[IFNAMSIZ];

	request = nl_route_request(nl, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	put_link(request, net, net_wire_name(wire, SIDE_NEAR, name));
	info = mnl_attr_nest_start(request, IFLA_LINKINFO);
	mnl_attr_put_strz(request, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(request, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(request, VETH_INFO_PEER);
	put_link(request, net, net_wire_name(wire, SIDE_FAR, name));
	mnl_attr_put_u32(request, IFLA_NET_NS_FD,
			 (uint32_t)space_of(net, wire, SIDE_FAR));
	mnl_attr_nest_end(request, peer);
	mnl_attr_nest_end(request, data);
	mnl_attr_nest_end(request, info);
	return talk(net, nl, request, "make the veth pair of", name);
}

static int end_set_up(struct net *net, struct nl *nl, enum wire wire, enum side side)
{
	struct sockaddr_in address = net_address(wire, side, 0);
	struct nlmsghdr *request;
	struct ifaddrmsg *addr;
	struct ifinfomsg *link;
	char name[IFNAMSIZ];
	int ret;

	net_wire_name(wire, side, name);
	request = nl_route_request(nl, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	addr = mnl_nlmsg_put_extra_header(request, sizeof(*addr));
	addr->ifa_family = AF_INET;
	addr->ifa_prefixlen = PREFIX;
	addr->ifa_index = if_nametoindex(name);
	mnl_attr_put_u32(request, IFA_LOCAL, address.sin_addr.s_addr);
	mnl_attr_put_u32(request, IFA_ADDRESS, address.sin_addr.s_addr);
	ret = talk(net, nl, request, "give an address to", name);
	if (ret)
		return ret;
	request = nl_route_request(nl, RTM_NEWLINK, 0);
	link = mnl_nlmsg_put_extra_header(request, sizeof(*link));
	link->ifi_index = (int)if_nametoindex(name);
	link->ifi_flags = IFF_UP;
	link->ifi_change = IFF_UP;
	return talk(net, nl, request, "set up", name);
}

/* Frames of the wire's size, whose checksums the CPU makes and looks at */
static int offloads_off(struct net *net, enum wire wire, enum side side)
{
	static const uint32_t commands[] = {
		ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_SSG,
		ETHTOOL_STXCSUM, ETHTOOL_SRXCSUM,
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { };
	size_t i;
	int ret = 0;

	if (fd < 0)
		return net_fail(net, -errno, "cannot make a socket: %s", strerror(errno));
	net_wire_name(wire, side, request.ifr_name);
	for (i = 0; i < ARRAY_SIZE(commands) && !ret; i++) {
		struct ethtool_value value = { .cmd = commands[i] };

		request.ifr_data = (char *)&value;
		if (ioctl(fd, SIOCETHTOOL, &request))
			ret = net_fail(net, -errno,
				       "cannot switch offloads of %s off (ethtool command %#x): %s",
				       request.ifr_name, commands[i], strerror(errno));
	}
	close(fd);
	return ret;
}

static int side_create(struct net *net, enum wire wire, enum side side)
{
	struct nl nl = { };
	int ret;

	ret = space_enter(net, space_of(net, wire, side));
	if (ret)
		return ret;
	ret = nl_open_route(&nl);
	if (ret)
		ret = net_fail(net, ret, "%s", nl.error);
	if (!ret && side == SIDE_NEAR) {
		ret = pair_add(net, &nl, wire);
		net->made[wire] = !ret;
	}
	if (!ret)
		ret = end_set_up(net, &nl, wire, side);
	if (!ret && wire == WIRE_PLAIN)
		ret = offloads_off(net, wire, side);
	nl_close(&nl);
	space_leave(net);
	return ret;
}

int net_wire_create(struct net *net, enum wire wire)
{
	int ret = side_create(net, wire, SIDE_NEAR);

	return ret ? ret : side_create(net, wire, SIDE_FAR);
}

/* The other end goes along */
static void wire_remove(struct net *net, enum wire wire)
{
	struct nlmsghdr *request;
	char name[IFNAMSIZ];
	struct nl nl = { };

	if (!net->made[wire] || space_enter(net, space_of(net, wire, SIDE_NEAR)))
		return;
	net_wire_name(wire, SIDE_NEAR, name);
	if (!nl_open_route(&nl)) {
		request = nl_route_request(&nl, RTM_DELLINK, 0);
		mnl_nlmsg_put_extra_header(request, sizeof(struct ifinfomsg));
		mnl_attr_put_strz(request, IFLA_IFNAME, name);
		talk(net, &nl, request, "remove", name);
	}
	nl_close(&nl);
	net->made[wire] = false;
	space_leave(net);
}

/* ---- nodes ---- */

static int node_request(struct net *net, unsigned int node, bool create)
{
	char name[IFNAMSIZ], device[DMANIC_NAME_MAX];
	struct nlmsghdr *request;
	struct nl nl = { };
	int ret;

	snprintf(device, sizeof(device), "nicperf%d-%u", (int)getpid(), node);
	ret = space_enter(net, net->space[node % SIDES]);
	if (ret)
		return ret;
	ret = nl_open(&nl);
	if (ret) {
		ret = net_fail(net, ret, "dmanic: %s", nl.error);
		goto leave;
	}
	request = nl_request(&nl, create ? DMANIC_GENL_CMD_DEV_NEW :
					   DMANIC_GENL_CMD_DEV_DEL, false);
	mnl_attr_put_strz(request, DMANIC_A_NAME, device);
	if (create) {
		mnl_attr_put_strz(request, DMANIC_A_TYPE, "ether");
		mnl_attr_put_strz(request, DMANIC_A_NETDEV,
				  net_wire_name(WIRE_FULL, node % SIDES, name));
		mnl_attr_put_u32(request, DMANIC_A_NODE, node);
		mnl_attr_put_u32(request, DMANIC_A_CRC,
				 node < SIDES ? DMANIC_CRC_OFF : DMANIC_CRC_ON);
	}
	ret = talk(net, &nl, request, create ? "make the ether device" : "remove", device);
	if (!ret)
		snprintf(net->device[node], sizeof(net->device[node]), "%s",
			 create ? device : "");
	nl_close(&nl);
leave:
	space_leave(net);
	return ret;
}

/* ---- all ---- */

int net_create(struct net *net, unsigned int mtu)
{
	unsigned int node;
	int ret;

	memset(net, 0, sizeof(*net));
	net->space[SIDE_NEAR] = -1;
	net->space[SIDE_FAR] = -1;
	net->mtu = mtu;
	ret = spaces_create(net);
	if (!ret)
		ret = net_wire_create(net, WIRE_FULL);
	if (!ret)
		ret = net_wire_create(net, WIRE_PLAIN);
	for (node = 0; node < NET_NODES && !ret; node++)
		ret = node_request(net, node, true);
	return ret;
}

/* Also of what was made in part; at once, not when the kernel comes to it */
void net_remove(struct net *net)
{
	unsigned int node;
	enum wire wire;
	enum side side;

	for (node = 0; node < NET_NODES; node++)
		if (*net->device[node])
			node_request(net, node, false);
	for (wire = 0; wire < WIRES; wire++)
		wire_remove(net, wire);
	for (side = 0; side < SIDES; side++)
		if (net->space[side] >= 0)
			close(net->space[side]);
	if (net->home >= 0)
		close(net->home);
	net->space[SIDE_NEAR] = -1;
	net->space[SIDE_FAR] = -1;
	net->home = -1;
}

int net_socket(struct net *net, enum side side, int type)
{
	int fd, ret;

	ret = space_enter(net, net->space[side]);
	if (ret)
		return ret;
	fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fd = net_fail(net, -errno, "cannot make a socket: %s", strerror(errno));
	space_leave(net);
	return fd;
}
