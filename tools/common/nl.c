// SPDX-License-Identifier: GPL-2.0-only
/*
 * nl.c - talking to the driver over generic netlink
 */
#include <errno.h>
#include <linux/dmanic_netlink.h>
#include <linux/genetlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/common/nl.h"
#include "tools/common/output.h"

static int nl_fail(struct nl *nl, int error, const char *format, ...)
	OUTPUT_PRINTF(3, 4);

static int nl_fail(struct nl *nl, int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(nl->error, sizeof(nl->error), format, list);
	va_end(list);
	return -error;
}

/* ---- attributes ---- */

static int collect(const struct nlattr *attr, void *data)
{
	const struct nl_attrs *attrs = data;

	if (mnl_attr_get_type(attr) <= attrs->max)
		attrs->attr[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static void clear(const struct nl_attrs *attrs)
{
	unsigned int i;

	for (i = 0; i <= attrs->max; i++)
		attrs->attr[i] = NULL;
}

void nl_message_attrs(const struct nlmsghdr *message, struct nl_attrs attrs)
{
	clear(&attrs);
	mnl_attr_parse(message, sizeof(struct genlmsghdr), collect, &attrs);
}

void nl_nested_attrs(const struct nlattr *nest, struct nl_attrs attrs)
{
	clear(&attrs);
	if (nest)
		mnl_attr_parse_nested(nest, collect, &attrs);
}

uint64_t nl_number(const struct nlattr *attr)
{
	if (!attr)
		return 0;
	switch (mnl_attr_get_payload_len(attr)) {
	case sizeof(uint8_t):
		return mnl_attr_get_u8(attr);
	case sizeof(uint16_t):
		return mnl_attr_get_u16(attr);
	case sizeof(uint32_t):
		return mnl_attr_get_u32(attr);
	case sizeof(uint64_t):
		return mnl_attr_get_u64(attr);
	default:
		return 0;
	}
}

const char *nl_text(const struct nlattr *attr)
{
	if (!attr || mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0)
		return "";
	return mnl_attr_get_str(attr);
}

/* ---- answers ---- */

/* The driver's own words, in attributes that begin at @offset; or NULL */
static const char *answer_words(const struct nlmsghdr *message, size_t offset)
{
	const struct nlattr *attr[NLMSGERR_ATTR_MSG + 1];
	struct nl_attrs attrs = { attr, NLMSGERR_ATTR_MSG };

	if (!(message->nlmsg_flags & NLM_F_ACK_TLVS) ||
	    mnl_nlmsg_get_payload_len(message) < offset)
		return NULL;
	clear(&attrs);
	mnl_attr_parse(message, (unsigned int)offset, collect, &attrs);
	if (!*nl_text(attr[NLMSGERR_ATTR_MSG]))
		return NULL;
	return nl_text(attr[NLMSGERR_ATTR_MSG]);
}

static const char needs_root[] =
	"only root may do that: device names are shared by the whole machine, so "
	"it needs CAP_NET_ADMIN in the initial user namespace";

static int answer_fail(struct nl *nl, int error, const char *words)
{
	if (error == EPERM)
		return nl_fail(nl, error, "%s", needs_root);
	if (words)
		return nl_fail(nl, error, "%s", words);
	return nl_fail(nl, error, "the kernel says: %s", strerror(error));
}

/* How a request went; the end of the answers unless it was a dump */
static int answer_error(struct nl *nl, const struct nlmsghdr *message)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);
	size_t offset = sizeof(*error);

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*error))
		return nl_fail(nl, EBADMSG, "the kernel sent a short error");
	if (!error->error)
		return 0;
	if (!(message->nlmsg_flags & NLM_F_CAPPED))
		offset += mnl_nlmsg_get_payload_len(&error->msg);
	return answer_fail(nl, -error->error, answer_words(message, offset));
}

/* The end of a dump */
static int answer_done(struct nl *nl, const struct nlmsghdr *message)
{
	int error;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(error))
		return 0;
	memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
	if (error >= 0)
		return 0;
	return answer_fail(nl, -error, answer_words(message, sizeof(error)));
}

struct talk {
	struct nl *nl;
	nl_fn fn;
	void *data;
	bool interrupted;
};

/* 1: the last message of the talk */
static int answer_one(struct talk *talk, const struct nlmsghdr *message)
{
	int ret;

	if (message->nlmsg_flags & NLM_F_DUMP_INTR)
		talk->interrupted = true;
	switch (message->nlmsg_type) {
	case NLMSG_NOOP:
		return 0;
	case NLMSG_ERROR:
		ret = answer_error(talk->nl, message);
		return ret ? ret : 1;
	case NLMSG_DONE:
		ret = answer_done(talk->nl, message);
		return ret ? ret : 1;
	default:
		if (mnl_nlmsg_get_payload_len(message) <
		    sizeof(struct genlmsghdr))
			return 0;
		return talk->fn ? talk->fn(message, talk->data) : 0;
	}
}

/* What was read at once; 1 when the talk is over */
static int answer_all(struct talk *talk, int length)
{
	const struct nlmsghdr *message = (void *)talk->nl->buffer;
	struct nl *nl = talk->nl;
	int ret;

	while (mnl_nlmsg_ok(message, length)) {
		/* not ours: an answer to an earlier request that failed */
		if (mnl_nlmsg_seq_ok(message, nl->seq) &&
		    mnl_nlmsg_portid_ok(message, nl->port)) {
			ret = answer_one(talk, message);
			if (ret)
				return ret;
		}
		message = mnl_nlmsg_next(message, &length);
	}
	return 0;
}

int nl_talk(struct nl *nl, struct nlmsghdr *request, nl_fn fn, void *data)
{
	struct talk talk = { .nl = nl, .fn = fn, .data = data };
	ssize_t length;
	int ret = 0;

	*nl->error = '\0';
	if (mnl_socket_sendto(nl->socket, request, request->nlmsg_len) < 0)
		return nl_fail(nl, errno, "cannot send to the driver: %s",
			       strerror(errno));
	while (!ret) {
		length = mnl_socket_recvfrom(nl->socket, nl->buffer,
					     sizeof(nl->buffer));
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return nl_fail(nl, errno, "no answer from the driver: %s",
				       strerror(errno));
		ret = answer_all(&talk, (int)length);
	}
	if (ret < 0 && !*nl->error)
		return nl_fail(nl, -ret, "%s", strerror(-ret));
	if (ret < 0)
		return ret;
	if (talk.interrupted)
		return nl_fail(nl, EINTR, "devices come and go while they are listed: try again");
	return 0;
}

/* ---- requests ---- */

static struct nlmsghdr *request_begin(struct nl *nl, uint16_t type,
				      uint8_t command, uint8_t version,
				      bool dump)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(nl->buffer);
	struct genlmsghdr *head;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST;
	request->nlmsg_flags |= dump ? NLM_F_DUMP : NLM_F_ACK;
	request->nlmsg_seq = ++nl->seq;
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->cmd = command;
	head->version = version;
	return request;
}

struct nlmsghdr *nl_request(struct nl *nl, uint8_t command, bool dump)
{
	return request_begin(nl, nl->family, command, DMANIC_GENL_VERSION,
			     dump);
}

static int take_group(const struct nlattr *nest, void *data)
{
	const struct nlattr *attr[CTRL_ATTR_MCAST_GRP_MAX + 1];
	struct nl *nl = data;

	nl_nested_attrs(nest,
			(struct nl_attrs){ attr, CTRL_ATTR_MCAST_GRP_MAX });
	if (!strcmp(nl_text(attr[CTRL_ATTR_MCAST_GRP_NAME]),
		    DMANIC_GENL_GROUP_EVENTS))
		nl->events = (uint32_t)nl_number(attr[CTRL_ATTR_MCAST_GRP_ID]);
	return MNL_CB_OK;
}

static int take_family(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *attr[CTRL_ATTR_MCAST_GROUPS + 1];
	struct nl *nl = data;

	nl_message_attrs(message,
			 (struct nl_attrs){ attr, CTRL_ATTR_MCAST_GROUPS });
	nl->family = (uint16_t)nl_number(attr[CTRL_ATTR_FAMILY_ID]);
	nl->version = (uint32_t)nl_number(attr[CTRL_ATTR_VERSION]);
	if (attr[CTRL_ATTR_MCAST_GROUPS])
		mnl_attr_parse_nested(attr[CTRL_ATTR_MCAST_GROUPS], take_group,
				      nl);
	return 0;
}

static int find_family(struct nl *nl)
{
	struct nlmsghdr *request;
	int ret;

	request = request_begin(nl, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, false);
	mnl_attr_put_strz(request, CTRL_ATTR_FAMILY_NAME, DMANIC_GENL_NAME);
	ret = nl_talk(nl, request, take_family, nl);
	if (ret == -ENOENT || (!ret && !nl->family))
		return nl_fail(nl, ENOENT, "not loaded; as root: modprobe dmanic; where that fails: nicctl doctor");
	return ret;
}

static int open_bus(struct nl *nl, int bus)
{
	int on = 1;
	int ret;

	nl->seq = (unsigned int)time(NULL);
	nl->socket = mnl_socket_open(bus);
	if (!nl->socket)
		return nl_fail(nl, errno, "no netlink socket: %s",
			       strerror(errno));
	/* without these there are only numbers for errors */
	mnl_socket_setsockopt(nl->socket, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(nl->socket, NETLINK_CAP_ACK, &on, sizeof(on));
	if (mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID) < 0) {
		ret = nl_fail(nl, errno, "cannot bind the netlink socket: %s",
			      strerror(errno));
		nl_close(nl);
		return ret;
	}
	nl->port = mnl_socket_get_portid(nl->socket);
	return 0;
}

int nl_open(struct nl *nl)
{
	int ret;

	ret = open_bus(nl, NETLINK_GENERIC);
	if (ret)
		return ret;
	ret = find_family(nl);
	if (ret)
		nl_close(nl);
	return ret;
}

int nl_open_route(struct nl *nl)
{
	return open_bus(nl, NETLINK_ROUTE);
}

struct nlmsghdr *nl_route_request(struct nl *nl, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(nl->buffer);

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	request->nlmsg_seq = ++nl->seq;
	return request;
}

void nl_close(struct nl *nl)
{
	if (nl->socket)
		mnl_socket_close(nl->socket);
	nl->socket = NULL;
}

/* ---- events ---- */

/* Of the family "nlctrl": families that come and go; its id is also its group */
static const unsigned int families = GENL_ID_CTRL;

int nl_events_join(struct nl *nl)
{
	if (!nl->events)
		return nl_fail(nl, EOPNOTSUPP, "this dmanic has no events: load the module that belongs to this program");
	if (mnl_socket_setsockopt(nl->socket, NETLINK_ADD_MEMBERSHIP,
				  &nl->events, sizeof(nl->events)) < 0 ||
	    mnl_socket_setsockopt(nl->socket, NETLINK_ADD_MEMBERSHIP,
				  (void *)&families, sizeof(families)) < 0)
		return nl_fail(nl, errno, "cannot listen to events: %s",
			       strerror(errno));
	return 0;
}

/* The driver's family is no more */
static bool event_is_end(const struct nlmsghdr *message)
{
	const struct genlmsghdr *head = mnl_nlmsg_get_payload(message);
	const struct nlattr *attr[CTRL_ATTR_FAMILY_NAME + 1];

	if (message->nlmsg_type != GENL_ID_CTRL ||
	    head->cmd != CTRL_CMD_DELFAMILY)
		return false;
	nl_message_attrs(message,
			 (struct nl_attrs){ attr, CTRL_ATTR_FAMILY_NAME });
	return !strcmp(nl_text(attr[CTRL_ATTR_FAMILY_NAME]), DMANIC_GENL_NAME);
}

static int event_take(struct nl *nl, const struct nlmsghdr *message, nl_fn fn,
		      void *data)
{
	const struct genlmsghdr *head = mnl_nlmsg_get_payload(message);

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*head))
		return 0;
	if (event_is_end(message))
		return nl_fail(nl, ENODEV, "it was unloaded");
	if (message->nlmsg_type == nl->family &&
	    head->cmd == DMANIC_GENL_CMD_EVENT)
		return fn(message, data);
	return 0;
}

int nl_events_take(struct nl *nl, nl_fn fn, void *data)
{
	const struct nlmsghdr *message = (void *)nl->buffer;
	ssize_t received;
	int length, ret;

	received = mnl_socket_recvfrom(nl->socket, nl->buffer,
				       sizeof(nl->buffer));
	if (received < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (received < 0)
		return nl_fail(nl, errno, "cannot receive events: %s",
			       strerror(errno));
	length = (int)received;
	while (mnl_nlmsg_ok(message, length)) {
		ret = event_take(nl, message, fn, data);
		if (ret)
			return ret;
		message = mnl_nlmsg_next(message, &length);
	}
	return 0;
}
