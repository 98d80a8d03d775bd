// SPDX-License-Identifier: GPL-2.0-only
/*
 * listener.c - a socket that hears events of devices
 */
#include "listener.h"
#include "dmanic_test.h"

#include <errno.h>
#include <unistd.h>

struct group {
	const char *name;
	unsigned int id;
};

static void read_group(const struct nlattr *nest, struct group *wanted)
{
	const struct nlattr *attr;
	const char *name = "";
	unsigned int id = 0;

	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
			name = mnl_attr_get_str(attr);
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
			id = mnl_attr_get_u32(attr);
	}
	if (!strcmp(name, wanted->name))
		wanted->id = id;
}

static int read_groups(const struct nlmsghdr *header, void *data)
{
	const struct nlattr *attr, *nest;

	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) != CTRL_ATTR_MCAST_GROUPS)
			continue;
		mnl_attr_for_each_nested(nest, attr)
			read_group(nest, data);
	}
	return MNL_CB_OK;
}

unsigned int listener_group(const char *name)
{
	struct group wanted = { .name = name };
	struct genlmsghdr *generic;
	struct request request;

	request_begin(&request, CTRL_CMD_GETFAMILY, 0);
	request.header->nlmsg_type = GENL_ID_CTRL;
	generic = mnl_nlmsg_get_payload(request.header);
	generic->version = 1;
	mnl_attr_put_strz(request.header, CTRL_ATTR_FAMILY_NAME,
			  DMANIC_GENL_NAME);
	ASSERT_EQ(request_send(&request, read_groups, &wanted), 0);
	return wanted.id;
}

void listener_open(struct listener *listener, int receive_bytes)
{
	unsigned int group = listener_group(DMANIC_GENL_GROUP_EVENTS);

	ASSERT_NE(group, 0);
	listener->queued = 0;
	listener->socket = mnl_socket_open2(NETLINK_GENERIC,
					    SOCK_CLOEXEC | SOCK_NONBLOCK);
	ASSERT_TRUE(listener->socket);
	ASSERT_EQ(mnl_socket_bind(listener->socket, 0, MNL_SOCKET_AUTOPID), 0);
	if (receive_bytes)
		ASSERT_EQ(setsockopt(mnl_socket_get_fd(listener->socket),
				     SOL_SOCKET, SO_RCVBUF, &receive_bytes,
				     sizeof(receive_bytes)), 0);
	ASSERT_EQ(mnl_socket_setsockopt(listener->socket,
					NETLINK_ADD_MEMBERSHIP, &group,
					sizeof(group)), 0);
}

void listener_close(struct listener *listener)
{
	mnl_socket_close(listener->socket);
}

static const struct nlmsghdr *take_queued(struct listener *listener)
{
	const struct nlmsghdr *header = (void *)listener->buffer + listener->at;
	int left = listener->queued;

	if (!mnl_nlmsg_ok(header, left))
		return NULL;
	mnl_nlmsg_next(header, &left);
	listener->at += listener->queued - left;
	listener->queued = left;
	return header;
}

int listener_next(struct listener *listener, struct device *event)
{
	const struct genlmsghdr *generic;
	const struct nlmsghdr *header;
	ssize_t length;

	header = take_queued(listener);
	if (!header) {
		length = mnl_socket_recvfrom(listener->socket, listener->buffer,
					     sizeof(listener->buffer));
		if (length < 0)
			return -errno;
		listener->at = 0;
		listener->queued = (int)length;
		header = take_queued(listener);
	}
	ASSERT_TRUE(header);
	ASSERT_EQ(header->nlmsg_type, netlink_family);
	generic = mnl_nlmsg_get_payload(header);
	ASSERT_EQ(generic->cmd, DMANIC_GENL_CMD_EVENT);
	ASSERT_EQ(generic->version, DMANIC_GENL_VERSION);
	memset(event, 0, sizeof(*event));
	event->model.name = event->model_name;
	read_device(header, event);
	return 0;
}

struct heard listener_hear(struct listener *listener)
{
	struct heard heard = { .lost = false };
	struct device event = {};
	int ret;

	do {
		ret = listener_next(listener, &event);
		if (!ret && event.event < ARRAY_SIZE(heard.events))
			heard.events[event.event]++;
		heard.lost |= ret == -ENOBUFS;
	} while (!ret || ret == -ENOBUFS);
	ASSERT_EQ(ret, -EAGAIN);
	return heard;
}

bool heard_told(const struct heard *heard, __u32 event, unsigned int wanted)
{
	return heard->lost || heard->events[event] == wanted;
}
