// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink.c - asks the control plane, undoes what that changed, and hears of it
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/dmanic_netlink.h>
#include <linux/genetlink.h>
#include <sys/socket.h>

#include "calls.h"

#define MESSAGE	8192U

static uint16_t family;
static uint32_t group;
/* For whom events are told; it hears them in special_netlink_restore() */
static struct mnl_socket *listener;

/* The only group that there is */
static int on_group(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
		*(uint32_t *)data = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int on_groups(const struct nlattr *attr, void *data)
{
	return mnl_attr_parse_nested(attr, on_group, data);
}

static int on_family(const struct nlattr *attr, void *data)
{
	(void)data;
	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
		family = mnl_attr_get_u16(attr);
	if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GROUPS)
		return mnl_attr_parse_nested(attr, on_groups, &group);
	return MNL_CB_OK;
}

static int on_answer(const struct nlmsghdr *header, void *data)
{
	return mnl_attr_parse(header, sizeof(struct genlmsghdr), on_family, data);
}

static void listen_to_events(void)
{
	listener = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (listener && !mnl_socket_bind(listener, 0, MNL_SOCKET_AUTOPID))
		mnl_socket_setsockopt(listener, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
}

/* Return: false when there is no driver */
bool special_netlink_begin(void)
{
	struct mnl_socket *socket = mnl_socket_open(NETLINK_GENERIC);
	char buffer[MESSAGE] __attribute__((aligned(8)));
	struct nlmsghdr *header = request_begin(buffer, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	ssize_t length;

	mnl_attr_put_strz(header, CTRL_ATTR_FAMILY_NAME, DMANIC_GENL_NAME);
	if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_sendto(socket, header, header->nlmsg_len) < 0)
		return false;
	length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
	if (length > 0)
		mnl_cb_run(buffer, (size_t)length, 0, mnl_socket_get_portid(socket), on_answer, NULL);
	mnl_socket_close(socket);
	listen_to_events();
	return family;
}

/* Answers are read until there are none. Return: 0, or the errno of a refusal */
static int answer(struct mnl_socket *socket)
{
	const struct nlmsgerr *error;
	char buffer[MESSAGE] __attribute__((aligned(8)));
	const struct nlmsghdr *header = (const struct nlmsghdr *)buffer;
	ssize_t length;

	do {
		length = recv(mnl_socket_get_fd(socket), buffer, sizeof(buffer), MSG_DONTWAIT);
	} while (length > 0 && header->nlmsg_type != NLMSG_DONE &&
		 header->nlmsg_type != NLMSG_ERROR);
	if (length <= 0 || header->nlmsg_type != NLMSG_ERROR)
		return 0;
	error = mnl_nlmsg_get_payload(header);
	return -error->error;
}

/* Return: 0, or an errno */
static int ask(struct mnl_socket *socket, const struct nlmsghdr *header)
{
	if (mnl_socket_sendto(socket, header, header->nlmsg_len) < 0)
		return EIO;
	return answer(socket);
}

long special_netlink(struct state *state, const struct description *is, const uint64_t *arg)
{
	char buffer[MESSAGE] __attribute__((aligned(8)));
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	int ret = EIO;

	(void)state;
	(void)is;
	if (!socket)
		return -1;
	if (!mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID))
		ret = ask(socket, request_make(buffer, family, arg + 1));
	mnl_socket_close(socket);
	errno = ret;
	return ret ? -1 : 0;
}

/* What programs changed: the next one is to find devices as they were */
void special_netlink_restore(void)
{
	char buffer[MESSAGE] __attribute__((aligned(8)));
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	const struct nlmsghdr *header;
	uint32_t turn = 0;

	if (!socket)
		return;
	if (!mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID))
		while ((header = request_restore(buffer, family, turn++)))
			ask(socket, header);
	mnl_socket_close(socket);
	/* There may have been too many */
	while (listener && (mnl_socket_recvfrom(listener, buffer, sizeof(buffer)) > 0 ||
			    errno == ENOBUFS))
		;
}
