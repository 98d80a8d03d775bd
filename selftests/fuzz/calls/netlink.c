// SPDX-License-Identifier: GPL-2.0-only
/*
 * netlink.c - requests of the control plane, with any attributes
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/dmanic_netlink.h>
#include <linux/genetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "calls.h"

#define MESSAGE	8192U

static uint16_t family;

static int on_family(const struct nlattr *attr, void *data)
{
	(void)data;
	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
		family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int on_answer(const struct nlmsghdr *header, void *data)
{
	return mnl_attr_parse(header, sizeof(struct genlmsghdr), on_family, data);
}

static struct nlmsghdr *begin(void *buffer, uint16_t type, uint16_t flags, uint8_t command)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *genl;

	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	genl = mnl_nlmsg_put_extra_header(header, sizeof(*genl));
	genl->cmd = command;
	genl->version = DMANIC_GENL_VERSION;
	return header;
}

/* Return: false when there is no driver */
bool special_netlink_begin(void)
{
	struct mnl_socket *socket = mnl_socket_open(NETLINK_GENERIC);
	char buffer[MESSAGE] __attribute__((aligned(8)));
	struct nlmsghdr *header = begin(buffer, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	ssize_t length;

	mnl_attr_put_strz(header, CTRL_ATTR_FAMILY_NAME, DMANIC_GENL_NAME);
	if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_sendto(socket, header, header->nlmsg_len) < 0)
		return false;
	length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
	if (length > 0)
		mnl_cb_run(buffer, (size_t)length, 0, mnl_socket_get_portid(socket), on_answer, NULL);
	mnl_socket_close(socket);
	return family;
}

/* splitmix64: the same seed, the same request */
static uint64_t next(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t some(uint64_t *seed)
{
	uint64_t what = next(seed);

	return what % 4 ? what >> 8 & 3 : what % 8 ? what >> 48 : next(seed);
}

/* What nests may have: all have their attributes from 1 on */
static void put_nest(struct nlmsghdr *header, uint16_t type, uint64_t *seed)
{
	struct nlattr *nest = mnl_attr_nest_start(header, type);
	uint64_t nr = next(seed) % 6, bytes;

	while (nr--) {
		bytes = next(seed);
		if (bytes % 4 == 3)
			mnl_attr_put_strz(header, 1, bytes % 8 == 3 ? "sci-d330" : "custom");
		else if (bytes % 4 == 2)
			mnl_attr_put_u32(header, 1 + (uint16_t)(next(seed) % 12), (uint32_t)some(seed));
		else
			mnl_attr_put_u64(header, 1 + (uint16_t)(next(seed) % 12),
					 some(seed) % 2000000);
	}
	mnl_attr_nest_end(header, nest);
}

/* Devices that tests of this machine have made, and others */
static void put_name(struct nlmsghdr *header, uint16_t type, uint64_t which)
{
	static const char *const names[] = {
		"fz0", "fz1", "fz", "fe0", "fe1", "fy", "fy0", "", "fv0", "fv1", "lo", "none",
		"a-name-that-is-much-too-long-for-a-device-of-any-kind", "f/y", "..",
	};

	mnl_attr_put_strz(header, type, names[which % (sizeof(names) / sizeof(*names))]);
}

static void put_attribute(struct nlmsghdr *header, uint16_t type, uint64_t name, uint64_t *seed)
{
	static const uint8_t key[16];
	uint64_t value = some(seed);

	/* Now and then of another length */
	if (!(next(seed) % 16)) {
		mnl_attr_put(header, type, next(seed) % 40, &header[1]);
		return;
	}
	switch (type) {
	case DMANIC_A_NAME:
	case DMANIC_A_FABRIC:
		put_name(header, type, name);
		break;
	case DMANIC_A_NETDEV:
		put_name(header, type, 8 + value % 4);
		break;
	case DMANIC_A_TYPE:
		mnl_attr_put_strz(header, type, value % 2 ? "ether" : value % 8 ? "loop" : "x");
		break;
	case DMANIC_A_MODEL:
	case DMANIC_A_FAULT:
		put_nest(header, type, seed);
		break;
	case DMANIC_A_FORCE:
		mnl_attr_put(header, type, 0, NULL);
		break;
	case DMANIC_A_FAILED:
	case DMANIC_A_CRC_ON:
		mnl_attr_put_u8(header, type, (uint8_t)value);
		break;
	case DMANIC_A_ETHERTYPE:
		mnl_attr_put_u16(header, type, value % 4 ? 0x88b5 : (uint16_t)value);
		break;
	case DMANIC_A_NODES:
		/* Few, for they take long */
		mnl_attr_put_u32(header, type, next(seed) % 64 ? (uint32_t)value % 5 : (uint32_t)value);
		break;
	case DMANIC_A_KEY:
		mnl_attr_put(header, type, value % 2 ? sizeof(key) : value % 17, key);
		break;
	case DMANIC_A_DEAD_NS:
	case DMANIC_A_INCARNATION:
		mnl_attr_put_u64(header, type, value % 3 ? 20000000 : value);
		break;
	default:
		mnl_attr_put_u32(header, type, (uint32_t)value);
	}
}

/* What belongs to a command; @which: a bit for each attribute that there is, too */
static uint64_t wanted(uint8_t command, uint64_t which)
{
	uint64_t name = 1ULL << DMANIC_A_NAME;

	switch (command) {
	case DMANIC_GENL_CMD_DEV_NEW:
		return name | 1ULL << DMANIC_A_TYPE |
		       (which & 1 ? 1ULL << DMANIC_A_NODES :
				    1ULL << DMANIC_A_NODE | 1ULL << DMANIC_A_NETDEV) |
		       (which & 6 ? 0 : 1ULL << DMANIC_A_MODEL | 1ULL << DMANIC_A_KEY);
	case DMANIC_GENL_CMD_DEV_SET:
		return (which & 8 ? 1ULL << DMANIC_A_FABRIC : name) |
		       (which & 1 ? 1ULL << DMANIC_A_MODEL :
			which & 2 ? 1ULL << DMANIC_A_FAULT :
			which & 4 ? 1ULL << DMANIC_A_KEY : 1ULL << DMANIC_A_FAILED);
	case DMANIC_GENL_CMD_DEV_DEL:
		return (which & 1 ? 1ULL << DMANIC_A_FABRIC : name) |
		       (which & 2 ? 1ULL << DMANIC_A_FORCE : 0);
	default:
		return which & 1 ? name : 0;
	}
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

long special_netlink(struct state *state, const struct description *is, const uint64_t *arg)
{
	char buffer[MESSAGE] __attribute__((aligned(8)));
	uint8_t command = (uint8_t)(arg[1] % (DMANIC_GENL_CMD_MAX + 2));
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	uint64_t seed = arg[4], which, type;
	struct nlmsghdr *header;
	int ret = EIO;

	(void)state;
	(void)is;
	if (!socket)
		return -1;
	header = begin(buffer, family, (uint16_t)(NLM_F_ACK | (arg[2] % 4 ? 0 : NLM_F_DUMP)), command);
	which = arg[3] & AS_IT_IS ? arg[3] : wanted(command, arg[3]);
	for (type = 0; type <= DMANIC_A_MAX + 1; type++)
		if (which >> type & 1)
			put_attribute(header, (uint16_t)type, arg[5], &seed);
	if (!mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) &&
	    mnl_socket_sendto(socket, header, header->nlmsg_len) >= 0)
		ret = answer(socket);
	mnl_socket_close(socket);
	errno = ret;
	return ret ? -1 : 0;
}
