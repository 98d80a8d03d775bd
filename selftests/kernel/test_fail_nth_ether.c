// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fail_nth_ether.c - attaching to a network device, and letting go of it, with every
 *	allocation and copy failing in turn
 *
 * Owns: the sweep of test_fail_nth.c for the ether link's control plane: DEV_NEW, DEV_SET and
 * DEV_DEL of such a device, and the network device going down, being changed, put into a
 * bridge and removed with the node on it. What has a peer, and is in use: test_fail_nth_pair.c. test_operations of
 * selftests/net runs the others of these programs over the link.
 */
#include "injection.h"
#include "listener.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NODES	2U
#define BYTES	10000U

/* Names of this process: of the network device, and of the nodes on it */
static char netdev[IFNAMSIZ], device_name[DMANIC_NAME_MAX];
static struct fabric own = { .nodes = NODES };

static void netdev_make(void)
{
	char command[128];

	snprintf(netdev, sizeof(netdev), "t%d", getpid());
	snprintf(own.prefix, sizeof(own.prefix), "t%da_", getpid());
	fabric_name(&own, 0, device_name);
	snprintf(command, sizeof(command), "ip link add %s type dummy && ip link set %s up",
		 netdev, netdev);
	ASSERT_EQ(system(command), 0);
}

static void netdev_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "ip link del %s", netdev);
	ASSERT_EQ(system(command), 0);
}

static bool there(void)
{
	struct device device;

	return !device_get(device_name, &device);
}

static const __u8 key[16] = { 1, 2, 3 };

static void request_new(struct request *request, unsigned int node, bool by_index)
{
	/* On a slow machine it may be down for long: no node is taken for dead meanwhile */
	request_ether(request, &own, node, slow_ns(30000));
	if (by_index)
		mnl_attr_put_u32(request->header, DMANIC_A_IFINDEX, if_nametoindex(netdev));
	else
		mnl_attr_put_strz(request->header, DMANIC_A_NETDEV, netdev);
	mnl_attr_put(request->header, DMANIC_A_KEY, sizeof(key), key);
}

static void make(unsigned int node)
{
	struct request request;

	request_new(&request, node, false);
	ASSERT_EQ(request_send(&request, NULL, NULL), 0);
}

static void sweep_new(bool by_index)
{
	int control = injection_open(), ret = 0;
	struct request request;
	bool injected = true;
	unsigned int nth;

	netdev_make();
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		request_new(&request, 0, by_index);
		ret = request_send_armed(control, nth, &request, &injected);
		if (!injected)
			break;
		if (ret <= 0)
			EXPECT_EQ(there(), !ret);
		if (there())
			ASSERT_EQ(device_delete(device_name, false), 0);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_GT(nth, 10);
	ASSERT_EQ(device_delete(device_name, false), 0);
	netdev_remove();
}

TEST_TIMEOUT(fail_nth_ether, new_is_all_or_nothing, 120)
{
	sweep_new(false);
}

TEST_TIMEOUT(fail_nth_ether, new_by_index_is_all_or_nothing, 120)
{
	sweep_new(true);
}

TEST_TIMEOUT(fail_nth_ether, delete_is_all_or_nothing, 120)
{
	int control = injection_open(), ret = 0;
	struct request request;
	bool injected = true;
	unsigned int nth;

	netdev_make();
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		make(0);
		request_begin(&request, DMANIC_GENL_CMD_DEV_DEL, 0);
		mnl_attr_put_strz(request.header, DMANIC_A_NAME, device_name);
		ret = request_send_armed(control, nth, &request, &injected);
		if (!injected)
			break;
		if (ret <= 0)
			EXPECT_EQ(there(), !!ret);
		if (there())
			ASSERT_EQ(device_delete(device_name, false), 0);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_TRUE(!there());
	netdev_remove();
}

static void request_set(struct request *request,
			void (*put)(struct nlmsghdr *header, unsigned int nth),
			unsigned int nth)
{
	request_begin(request, DMANIC_GENL_CMD_DEV_SET, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_NAME, device_name);
	put(request->header, nth);
}

/* What a device is given is there, or what was before: what @first gives it, unless NULL */
static void sweep_set(void (*first)(struct nlmsghdr *header, unsigned int nth),
		      void (*put)(struct nlmsghdr *header, unsigned int nth),
		      bool (*has)(const struct device *device, unsigned int nth))
{
	int control = injection_open(), ret = 0;
	struct request request;
	struct device device;
	bool injected = true;
	unsigned int nth;

	netdev_make();
	make(0);
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		if (first) {
			request_set(&request, first, nth);
			ASSERT_EQ(request_send(&request, NULL, NULL), 0);
		}
		request_set(&request, put, nth);
		ret = request_send_armed(control, nth, &request, &injected);
		ASSERT_EQ(device_get(device_name, &device), 0);
		if (ret <= 0)
			EXPECT_EQ(has(&device, nth), !ret);
		if (!injected)
			break;
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_GT(nth, 1);
	ASSERT_EQ(device_delete(device_name, false), 0);
	netdev_remove();
}

static void put_key(struct nlmsghdr *header, unsigned int nth)
{
	mnl_attr_put(header, DMANIC_A_KEY, sizeof(key), key);
	mnl_attr_put_u32(header, DMANIC_A_KEY_ID, 1 + nth);
}

static bool has_key(const struct device *device, unsigned int nth)
{
	return device->key_id == 1 + nth;
}

TEST_TIMEOUT(fail_nth_ether, key_is_all_or_nothing, 120)
{
	sweep_set(NULL, put_key, has_key);
}

static void put_no_key(struct nlmsghdr *header, unsigned int nth)
{
	(void)nth;
	mnl_attr_put(header, DMANIC_A_KEY, 0, NULL);
}

static bool has_no_key(const struct device *device, unsigned int nth)
{
	/* If any, that of before */
	EXPECT_TRUE(!device->key_id || has_key(device, nth));
	return !device->key_id;
}

TEST_TIMEOUT(fail_nth_ether, key_is_removed_or_stays, 120)
{
	sweep_set(put_key, put_no_key, has_no_key);
}

static void put_fault(struct nlmsghdr *header, unsigned int nth)
{
	struct nlattr *nest = mnl_attr_nest_start(header, DMANIC_A_FAULT);

	mnl_attr_put_u32(header, DMANIC_FAULT_A_DROP, nth);
	mnl_attr_nest_end(header, nest);
}

static bool has_fault(const struct device *device, unsigned int nth)
{
	return device->fault_drop == nth;
}

TEST_TIMEOUT(fail_nth_ether, fault_is_all_or_nothing, 120)
{
	sweep_set(NULL, put_fault, has_fault);
}

/* With one no large frames are cut */
static void take_keys(void)
{
	char name[DMANIC_NAME_MAX];
	struct request request;
	unsigned int i;

	for (i = 0; i < NODES; i++) {
		fabric_name(&own, i, name);
		request_begin(&request, DMANIC_GENL_CMD_DEV_SET, 0);
		mnl_attr_put_strz(request.header, DMANIC_A_NAME, name);
		put_no_key(request.header, 0);
		ASSERT_EQ(request_send(&request, NULL, NULL), 0);
	}
}

/* ---- the network device ---- */

static struct listener listener;

static int netdev_ask(unsigned long number, struct ifreq *ask)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	memset(ask, 0, sizeof(*ask));
	snprintf(ask->ifr_name, sizeof(ask->ifr_name), "%s", netdev);
	ret = ioctl(fd, number, ask);
	close(fd);
	return ret;
}

static bool netdev_is_up(void)
{
	struct ifreq ask;

	ASSERT_EQ(netdev_ask(SIOCGIFFLAGS, &ask), 0);
	return ask.ifr_flags & IFF_UP;
}

/* Of a bridge's port the bridge has all frames */
static bool netdev_has_master(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%s/master", netdev);
	return !access(path, F_OK);
}

static bool netdev_is_of_use(void)
{
	return netdev_is_up() && !netdev_has_master();
}

static __u32 netdev_mtu(void)
{
	struct ifreq ask;

	ASSERT_EQ(netdev_ask(SIOCGIFMTU, &ask), 0);
	return (__u32)ask.ifr_mtu;
}

/* What is told of each node is how the network device is now */
static void expect_shown(void)
{
	__u32 state = netdev_is_of_use() ? DMANIC_DEV_UP : DMANIC_DEV_LINK_DOWN;
	char name[DMANIC_NAME_MAX];
	struct device device;
	unsigned int i;

	for (i = 0; i < NODES; i++) {
		fabric_name(&own, i, name);
		ASSERT_EQ(device_get(name, &device), 0);
		EXPECT_EQ(device.state, state);
		EXPECT_EQ(device.mtu, netdev_mtu());
		EXPECT_EQ(device.ifindex, if_nametoindex(netdev));
		EXPECT_TRUE(!strcmp(device.netdev, netdev));
	}
}

/* Who listens has heard of what became of it, or that something was lost */
static void expect_heard(bool before)
{
	struct heard heard = listener_hear(&listener);
	bool up = netdev_is_of_use();

	EXPECT_TRUE(heard_told(&heard, DMANIC_EVENT_LINK_DOWN, before && !up ? NODES : 0));
	EXPECT_TRUE(heard_told(&heard, DMANIC_EVENT_LINK_UP, !before && up ? NODES : 0));
}

/*
 * Up or down, and with another MTU unless that is zero, at whose @nth fault something fails:
 * it need not be done, but whatever is done is known. True: there was such a fault.
 */
static bool change(int control, unsigned int nth, bool up, __u32 mtu)
{
	bool before = netdev_is_up(), injected;
	struct request request;
	struct ifinfomsg *info;
	int ret;

	info = link_begin(&request, RTM_NEWLINK, netdev);
	info->ifi_change = IFF_UP;
	info->ifi_flags = up ? IFF_UP : 0;
	if (mtu)
		mnl_attr_put_u32(request.header, IFLA_MTU, mtu);
	ret = link_send_armed(control, nth, &request, &injected);
	if (!injected) {
		EXPECT_EQ(ret, 0);
		EXPECT_EQ(netdev_is_up(), up);
		if (mtu)
			EXPECT_EQ(netdev_mtu(), mtu);
	}
	expect_shown();
	expect_heard(before);
	if (harness_failed())
		FAIL("fault %u of: %s, MTU %u; answered %d", nth, up ? "up" : "down", mtu, ret);
	return injected;
}

/* Another MAC address: connections are made anew, with the one it has then */
static bool readdress(int control, unsigned int nth)
{
	__u8 address[6] = { 2, 0, 0, 0, 1, (__u8)nth };
	struct request request;
	bool injected;
	int ret;

	link_begin(&request, RTM_NEWLINK, netdev);
	mnl_attr_put(request.header, IFLA_ADDRESS, sizeof(address), address);
	ret = link_send_armed(control, nth, &request, &injected);
	if (!injected)
		EXPECT_EQ(ret, 0);
	expect_shown();
	if (harness_failed())
		FAIL("fault %u of: another address; answered %d", nth, ret);
	return injected;
}

/* What becomes of large frames while it has what cuts them */
static __u32 path_on;

/* What it cuts frames with is switched on or off: how large ours are may change */
static int netdev_offload(int control, unsigned int nth, bool on, bool *injected)
{
	struct ethtool_value value = { .cmd = ETHTOOL_SGSO, .data = on };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;
	struct ifreq ask = { .ifr_data = (void *)&value };

	snprintf(ask.ifr_name, sizeof(ask.ifr_name), "%s", netdev);
	injection_arm(control, nth);
	ret = ioctl(fd, SIOCETHTOOL, &ask) ? -errno : 0;
	*injected = injection_disarm(control);
	close(fd);
	return ret;
}

static bool reoffload(int control, unsigned int nth)
{
	bool injected, on = !(nth % 2);
	int ret = netdev_offload(control, nth, on, &injected);
	struct device device;

	ASSERT_EQ(device_get(device_name, &device), 0);
	if (!injected) {
		EXPECT_EQ(ret, 0);
		EXPECT_EQ(device.path, on ? path_on : DMANIC_PATH_NONE);
	}
	expect_shown();
	if (harness_failed())
		FAIL("fault %u of: other offloads; returned %d", nth, ret);
	return injected;
}

/* Into a bridge, or out of it: NULL */
static bool enslave(int control, unsigned int nth, const char *bridge)
{
	bool before = netdev_is_of_use(), injected;
	struct request request;
	struct heard heard;
	int ret;

	link_begin(&request, RTM_NEWLINK, netdev);
	mnl_attr_put_u32(request.header, IFLA_MASTER, bridge ? if_nametoindex(bridge) : 0);
	ret = link_send_armed(control, nth, &request, &injected);
	if (!injected) {
		EXPECT_EQ(ret, 0);
		EXPECT_EQ(netdev_has_master(), !!bridge);
	}
	expect_shown();
	/* It may have been in it for a moment */
	heard = listener_hear(&listener);
	EXPECT_TRUE(heard.lost || heard.events[DMANIC_EVENT_LINK_UP] + NODES * before ==
		    heard.events[DMANIC_EVENT_LINK_DOWN] + NODES * netdev_is_of_use());
	if (harness_failed())
		FAIL("fault %u of: %s a bridge; answered %d", nth, bridge ? "into" : "out of", ret);
	return injected;
}

/* The kernel has nothing that fails in it which is ours */
static void rename_netdev(unsigned int nth)
{
	char command[128], name[IFNAMSIZ];

	snprintf(name, sizeof(name), "t%d%s", getpid(), nth % 2 ? "x" : "");
	snprintf(command, sizeof(command), "ip link set %s name %s", netdev, name);
	ASSERT_EQ(system(command), 0);
	memcpy(netdev, name, sizeof(netdev));
	expect_shown();
}

/**
 * struct user - somebody who writes from one node to the other
 * @node: from this one
 * @other: to this one
 * @local: of @node
 * @target: of @other
 * @queue: of @node
 * @handle: to @target
 */
struct user {
	struct node node;
	struct node other;
	struct segment local;
	struct segment target;
	struct queue queue;
	__u32 handle;
};

static struct user user_make(void)
{
	struct user user;

	user.node = node_open(&own, 0);
	user.other = node_open(&own, 1);
	user.local = segment_make(&user.node, BYTES);
	user.target = segment_make(&user.other, BYTES);
	segment_export(&user.target, DMANIC_RIGHT_WRITE);
	user.queue = queue_make(&user.node, 4, 4);
	user.handle = segment_connect(&user.node, &user.target);
	return user;
}

static void expect_put(struct user *user, unsigned int nth)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, user->local.id, 0, user->handle, 0,
					 BYTES);

	fill(user->local.data, BYTES, nth);
	EXPECT_EQ(queue_run(&user->queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(user->local.data, user->target.data, BYTES), 0);
}

/*
 * Another MTU, another address, down, another name, up: whatever fails, the nodes are told of as
 * their device is, operations go on where they can, and the nodes go with their device
 */
TEST_TIMEOUT(fail_nth_ether, device_that_changes, 120)
{
	int control = injection_open();
	struct device first, device;
	char command[128];
	struct user user;
	unsigned int nth;
	bool any = true;

	netdev_make();
	make(0);
	make(1);
	take_keys();
	ASSERT_EQ(device_get(device_name, &first), 0);
	path_on = first.path;
	user = user_make();
	listener_open(&listener, 0);
	for (nth = 1; nth < FAULTS_MAX && any; nth++) {
		any = change(control, nth, netdev_is_up(), nth % 2 ? 1000 : 1500);
		if (netdev_is_up())
			expect_put(&user, nth);
		any |= readdress(control, nth);
		if (netdev_is_up())
			expect_put(&user, nth + 2 * FAULTS_MAX);
		any |= reoffload(control, nth);
		if (netdev_is_up())
			expect_put(&user, nth + 3 * FAULTS_MAX);
		any |= change(control, nth, false, 0);
		rename_netdev(nth);
		any |= change(control, nth, true, 0);
		if (netdev_is_up())
			expect_put(&user, nth + FAULTS_MAX);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 2);
	EXPECT_GT(nth, 3);
	/* And when nothing fails any more, nothing that did has left a trace */
	snprintf(command, sizeof(command), "ip link set %s mtu 1400 && ip link set %s mtu 1500",
		 netdev, netdev);
	ASSERT_EQ(system(command), 0);
	ASSERT_EQ(netdev_offload(control, 0, true, &any), 0);
	ASSERT_EQ(device_get(device_name, &device), 0);
	EXPECT_EQ(device.state, DMANIC_DEV_UP);
	EXPECT_EQ(device.path, first.path);
	EXPECT_EQ(device.incarnation, first.incarnation);
	listener_close(&listener);
	netdev_remove();
	EXPECT_TRUE(!there());
}

/* As long as it is in a bridge the nodes are down, and told to be */
TEST_TIMEOUT(fail_nth_ether, device_that_joins_a_bridge, 120)
{
	int control = injection_open();
	char command[128], bridge[IFNAMSIZ];
	struct user user;
	unsigned int nth;
	bool any = true;

	netdev_make();
	make(0);
	make(1);
	user = user_make();
	snprintf(bridge, sizeof(bridge), "b%d", getpid());
	snprintf(command, sizeof(command), "ip link add %s type bridge", bridge);
	ASSERT_EQ(system(command), 0);
	listener_open(&listener, 0);
	for (nth = 1; nth < FAULTS_MAX && any; nth++) {
		any = enslave(control, nth, bridge);
		any |= enslave(control, nth, NULL);
		if (netdev_is_of_use())
			expect_put(&user, nth);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 2);
	EXPECT_GT(nth, 3);
	EXPECT_TRUE(netdev_is_of_use());
	listener_close(&listener);
	snprintf(command, sizeof(command), "ip link del %s", bridge);
	ASSERT_EQ(system(command), 0);
	netdev_remove();
	EXPECT_TRUE(!there());
}

TEST_TIMEOUT(fail_nth_ether, device_that_goes, 120)
{
	int control = injection_open();
	struct request request;
	bool injected = true;
	unsigned int nth;

	for (nth = 1; nth < FAULTS_MAX && injected; nth++) {
		netdev_make();
		make(0);
		link_begin(&request, RTM_DELLINK, netdev);
		link_send_armed(control, nth, &request, &injected);
		EXPECT_EQ(there(), !!if_nametoindex(netdev));
		if (if_nametoindex(netdev))
			netdev_remove();
		EXPECT_TRUE(!there());
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 2);
	EXPECT_GT(nth, 2);
}

FABRIC_TEST_MAIN_NONE()
