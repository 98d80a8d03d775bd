// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fail_nth_ether.c - attaching to a network device, and letting go of it, with every
 *	allocation and copy failing in turn
 *
 * Owns: the sweep of test_fail_nth.c for the ether link's control plane: DEV_NEW, DEV_SET and
 * DEV_DEL of such a device, and the network device going down, being changed and removed
 * with the node on it. test_operations of selftests/net runs the others of these programs
 * over the link.
 */
#include "engine.h"
#include "injection.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Names of this process */
static char netdev[IFNAMSIZ], device_name[DMANIC_NAME_MAX];

static void netdev_make(void)
{
	char command[128];

	snprintf(netdev, sizeof(netdev), "t%d", getpid());
	snprintf(device_name, sizeof(device_name), "t%d_e", getpid());
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

static void request_new(struct request *request)
{
	request_begin(request, DMANIC_GENL_CMD_DEV_NEW, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_TYPE, "ether");
	mnl_attr_put_strz(request->header, DMANIC_A_NAME, device_name);
	mnl_attr_put_strz(request->header, DMANIC_A_NETDEV, netdev);
	mnl_attr_put_u32(request->header, DMANIC_A_NODE, 0);
	mnl_attr_put(request->header, DMANIC_A_KEY, sizeof(key), key);
}

static void make(void)
{
	struct request request;

	request_new(&request);
	ASSERT_EQ(request_send(&request, NULL, NULL), 0);
}

TEST_TIMEOUT(fail_nth_ether, new_is_all_or_nothing, 120)
{
	int control = injection_open(), ret = 0;
	struct request request;
	bool injected = true;
	unsigned int nth;

	netdev_make();
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		request_new(&request);
		ret = request_send_armed(control, nth, &request, &injected);
		if (!injected)
			break;
		if (ret <= 0)
			EXPECT_EQ(there(), !ret);
		if (there())
			ASSERT_EQ(device_delete(device_name, false), 0);
		ASSERT_TRUE(!harness_failed());
	}
	harness_note("%u faults", nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_GT(nth, 10);
	ASSERT_EQ(device_delete(device_name, false), 0);
	netdev_remove();
}

TEST_TIMEOUT(fail_nth_ether, delete_is_all_or_nothing, 120)
{
	int control = injection_open(), ret = 0;
	struct request request;
	bool injected = true;
	unsigned int nth;

	netdev_make();
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		make();
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
	harness_note("%u faults", nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_TRUE(!there());
	netdev_remove();
}

/* What a device is given is there, or what was before */
static void sweep_set(void (*put)(struct nlmsghdr *header, unsigned int nth),
		      bool (*has)(const struct device *device, unsigned int nth))
{
	int control = injection_open(), ret = 0;
	struct request request;
	struct device device;
	bool injected = true;
	unsigned int nth;

	netdev_make();
	make();
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		request_begin(&request, DMANIC_GENL_CMD_DEV_SET, 0);
		mnl_attr_put_strz(request.header, DMANIC_A_NAME, device_name);
		put(request.header, nth);
		ret = request_send_armed(control, nth, &request, &injected);
		ASSERT_EQ(device_get(device_name, &device), 0);
		if (ret <= 0)
			EXPECT_EQ(has(&device, nth), !ret);
		if (!injected)
			break;
		ASSERT_TRUE(!harness_failed());
	}
	harness_note("%u faults", nth - 1);
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
	sweep_set(put_key, has_key);
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
	sweep_set(put_fault, has_fault);
}

/* ---- the network device ---- */

/* Of rtnetlink. 0 or -errno as told; @injected: there was such a fault */
static int link_armed(int control, unsigned int nth, uint16_t type, unsigned int flags,
		      unsigned int mtu, bool *injected)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	char buffer[4096] __attribute__((aligned(8)));
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *info;
	ssize_t length;
	int ret;

	ASSERT_TRUE(socket);
	ASSERT_EQ(mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID), 0);
	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	info = mnl_nlmsg_put_extra_header(header, sizeof(*info));
	info->ifi_index = (int)if_nametoindex(netdev);
	info->ifi_change = type == RTM_NEWLINK ? IFF_UP : 0;
	info->ifi_flags = flags;
	if (mtu)
		mnl_attr_put_u32(header, IFLA_MTU, mtu);
	injection_arm(control, nth);
	ret = mnl_socket_sendto(socket, header, header->nlmsg_len) < 0 ? -errno : 1;
	*injected = injection_disarm(control);
	while (ret == 1) {
		length = recv(mnl_socket_get_fd(socket), buffer, sizeof(buffer), MSG_DONTWAIT);
		if (length <= 0)
			break;
		ret = mnl_cb_run(buffer, (size_t)length, 0, mnl_socket_get_portid(socket), NULL,
				 NULL);
		ret = ret < 0 ? -errno : ret;
	}
	mnl_socket_close(socket);
	return ret;
}

/* Down, another MTU, up: whatever fails, the node is there, and goes with its device */
TEST_TIMEOUT(fail_nth_ether, device_that_changes, 120)
{
	int control = injection_open();
	bool injected = true, any = true;
	struct device device;
	unsigned int nth;

	netdev_make();
	make();
	for (nth = 1; nth < FAULTS_MAX && any; nth++) {
		link_armed(control, nth, RTM_NEWLINK, 0, 0, &injected);
		any = injected;
		link_armed(control, nth, RTM_NEWLINK, 0, nth % 2 ? 1000 : 1500, &injected);
		any |= injected;
		link_armed(control, nth, RTM_NEWLINK, IFF_UP, 0, &injected);
		any |= injected;
		ASSERT_EQ(device_get(device_name, &device), 0);
		ASSERT_TRUE(!harness_failed());
	}
	harness_note("%u faults", nth - 2);
	EXPECT_EQ(device.state, DMANIC_DEV_UP);
	EXPECT_GT(nth, 3);
	netdev_remove();
	EXPECT_TRUE(!there());
}

TEST_TIMEOUT(fail_nth_ether, device_that_goes, 120)
{
	int control = injection_open();
	bool injected = true;
	unsigned int nth;

	for (nth = 1; nth < FAULTS_MAX && injected; nth++) {
		netdev_make();
		make();
		link_armed(control, nth, RTM_DELLINK, 0, 0, &injected);
		EXPECT_EQ(there(), !!if_nametoindex(netdev));
		if (if_nametoindex(netdev))
			netdev_remove();
		EXPECT_TRUE(!there());
		ASSERT_TRUE(!harness_failed());
	}
	harness_note("%u faults", nth - 2);
	EXPECT_GT(nth, 2);
}

FABRIC_TEST_MAIN_NONE()
