// SPDX-License-Identifier: GPL-2.0-only
/*
 * fabric.c - loop fabrics of a test, made and asked about by generic netlink
 *
 * Owns: requests to the family "dmanic", and the promise that a test leaves
 * nothing: after each test every count of the program's nodes must come back
 * to zero by itself, and fabrics with the test's pid in their names go.
 */
#include "fabric.h"
#include "dmanic_test.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct fabric fabric;
int netlink_family;

static void begin_of(struct request *request, int family, int command,
		     int flags)
{
	struct genlmsghdr *generic;

	request->message[0] = 0;
	request->header = mnl_nlmsg_put_header(request->buffer);
	request->header->nlmsg_type = family;
	request->header->nlmsg_flags = NLM_F_REQUEST | flags;
	generic = mnl_nlmsg_put_extra_header(request->header, sizeof(*generic));
	generic->cmd = command;
	generic->version = DMANIC_GENL_VERSION;
}

/* @flags: NLM_F_DUMP for a dump; a single request is always acknowledged. */
void request_begin(struct request *request, int command, int flags)
{
	begin_of(request, netlink_family, command, flags ?: NLM_F_ACK);
}

void request_model(struct request *request, const struct model *model)
{
	struct nlmsghdr *header = request->header;
	struct nlattr *nest = mnl_attr_nest_start(header, DMANIC_A_MODEL);

	if (model->name)
		mnl_attr_put_strz(header, DMANIC_MODEL_A_NAME, model->name);
	if (model->start_ns)
		mnl_attr_put_u64(header, DMANIC_MODEL_A_START_NS,
				 model->start_ns);
	if (model->interrupt_ns)
		mnl_attr_put_u64(header, DMANIC_MODEL_A_INTERRUPT_NS,
				 model->interrupt_ns);
	if (model->latency_ns)
		mnl_attr_put_u64(header, DMANIC_MODEL_A_LATENCY_NS,
				 model->latency_ns);
	if (model->bandwidth)
		mnl_attr_put_u64(header, DMANIC_MODEL_A_BANDWIDTH,
				 model->bandwidth);
	if (model->scale)
		mnl_attr_put_u32(header, DMANIC_MODEL_A_SCALE, model->scale);
	if (model->jitter_ns)
		mnl_attr_put_u64(header, DMANIC_MODEL_A_JITTER_NS,
				 model->jitter_ns);
	if (model->seed)
		mnl_attr_put_u64(header, DMANIC_MODEL_A_SEED, model->seed);
	mnl_attr_nest_end(header, nest);
}

/* What the extended acknowledgement says */
static void read_message(const struct nlmsghdr *header, char *message,
			 size_t bytes)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(header);
	size_t skip = sizeof(*error);
	const struct nlattr *attr;

	if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		skip += mnl_nlmsg_get_payload_len(&error->msg);
	mnl_attr_for_each(attr, header, skip)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			snprintf(message, bytes, "%s", mnl_attr_get_str(attr));
}

/* Answers until the acknowledgement or the end of the dump: 0 or -errno */
static int receive(struct mnl_socket *socket, struct request *request,
		   mnl_cb_t callback, void *data)
{
	unsigned int port = mnl_socket_get_portid(socket);
	char buffer[16384] __attribute__((aligned(8)));
	struct nlmsghdr *header;
	ssize_t length;
	int ret;

	do {
		length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		if (length < 0)
			return -errno;
		header = (struct nlmsghdr *)buffer;
		if (mnl_nlmsg_ok(header, length) &&
		    header->nlmsg_type == NLMSG_ERROR)
			read_message(header, request->message,
				     sizeof(request->message));
		ret = mnl_cb_run(buffer, length, 0, port, callback, data);
	} while (ret > 0);
	return ret < 0 ? -errno : 0;
}

/* A socket for each request: tests fork, change user and namespace. */
int request_send(struct request *request, mnl_cb_t callback, void *data)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_GENERIC,
						     SOCK_CLOEXEC);
	int one = 1;
	int ret;

	if (!socket)
		return -errno;
	mnl_socket_setsockopt(socket, NETLINK_EXT_ACK, &one, sizeof(one));
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(socket, request->header,
			      request->header->nlmsg_len) < 0)
		ret = -errno;
	else
		ret = receive(socket, request, callback, data);
	mnl_socket_close(socket);
	return ret;
}

static int read_family(const struct nlmsghdr *header, void *data)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			*(int *)data = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

/* Whether tests are to run with nodes on network devices, DMANIC_NETDEVS */
bool fabric_on_netdevs(void)
{
	const char *words = getenv("DMANIC_NETDEVS");

	return words && *words;
}

/* 0, or -ENOENT when the module is not loaded */
int netlink_find_family(void)
{
	struct request request;
	int family = 0;
	int ret;

	begin_of(&request, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	mnl_attr_put_strz(request.header, CTRL_ATTR_FAMILY_NAME,
			  DMANIC_GENL_NAME);
	ret = request_send(&request, read_family, &family);
	if (!ret)
		netlink_family = family;
	return ret;
}

static void copy_name(char *name, const struct nlattr *attr)
{
	snprintf(name, DMANIC_NAME_MAX, "%.*s",
		 (int)mnl_attr_get_payload_len(attr),
		 (const char *)mnl_attr_get_payload(attr));
}

static void read_model(const struct nlattr *nest, struct device *device)
{
	struct model *model = &device->model;
	const struct nlattr *attr;

	device->has_model = true;
	mnl_attr_for_each_nested(attr, nest)
		switch (mnl_attr_get_type(attr)) {
		case DMANIC_MODEL_A_NAME:
			copy_name(device->model_name, attr);
			break;
		case DMANIC_MODEL_A_START_NS:
			model->start_ns = mnl_attr_get_u64(attr);
			break;
		case DMANIC_MODEL_A_INTERRUPT_NS:
			model->interrupt_ns = mnl_attr_get_u64(attr);
			break;
		case DMANIC_MODEL_A_LATENCY_NS:
			model->latency_ns = mnl_attr_get_u64(attr);
			break;
		case DMANIC_MODEL_A_BANDWIDTH:
			model->bandwidth = mnl_attr_get_u64(attr);
			break;
		case DMANIC_MODEL_A_SCALE:
			model->scale = mnl_attr_get_u32(attr);
			break;
		case DMANIC_MODEL_A_JITTER_NS:
			model->jitter_ns = mnl_attr_get_u64(attr);
			break;
		case DMANIC_MODEL_A_SEED:
			model->seed = mnl_attr_get_u64(attr);
			break;
		}
}

static void read_stats(const struct nlattr *nest, struct device *device)
{
	const struct nlattr *attr;

	device->has_stats = true;
	mnl_attr_for_each_nested(attr, nest)
		if (mnl_attr_get_type(attr) > DMANIC_STATS_A_PAD &&
		    mnl_attr_get_type(attr) <= DMANIC_STATS_A_MAX)
			device->stats[mnl_attr_get_type(attr)] =
				mnl_attr_get_u64(attr);
}

static void read_peer(const struct nlattr *nest, struct device *device)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
		switch (mnl_attr_get_type(attr)) {
		case DMANIC_PEER_A_NODE:
			device->peer = mnl_attr_get_u32(attr);
			break;
		case DMANIC_PEER_A_STATE:
			device->peer_link = mnl_attr_get_u32(attr);
			break;
		}
}

static void read_attr(const struct nlattr *attr, struct device *device)
{
	const struct nlattr *within;

	switch (mnl_attr_get_type(attr)) {
	case DMANIC_A_NAME:
		copy_name(device->name, attr);
		break;
	case DMANIC_A_TYPE:
		copy_name(device->type, attr);
		break;
	case DMANIC_A_FABRIC:
		copy_name(device->fabric, attr);
		break;
	case DMANIC_A_NODE:
		device->node = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_NODES:
		device->nodes = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_STATE:
		device->state = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_FAULT:
		mnl_attr_for_each_nested(within, attr)
			if (mnl_attr_get_type(within) == DMANIC_FAULT_A_DROP)
				device->fault_drop = mnl_attr_get_u32(within);
		break;
	case DMANIC_A_KEY_ID:
		device->key_id = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_INCARNATION:
		device->incarnation = mnl_attr_get_u64(attr);
		break;
	case DMANIC_A_CONTEXTS:
		device->contexts = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_SEGMENTS:
		device->segments = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_QUEUES:
		device->queues = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_IRQS:
		device->irqs = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_PINNED:
		device->pinned = mnl_attr_get_u64(attr);
		break;
	case DMANIC_A_DMA_STATE:
		device->dma_state = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_DMA_THRESHOLD:
		device->dma_threshold = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_DMA_ENGINE:
		copy_name(device->dma_engine, attr);
		break;
	case DMANIC_A_NETDEV:
		copy_name(device->netdev, attr);
		break;
	case DMANIC_A_IFINDEX:
		device->ifindex = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_MTU:
		device->mtu = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_PATH:
		device->path = mnl_attr_get_u32(attr);
		break;
	case DMANIC_A_PEER:
		read_peer(attr, device);
		break;
	case DMANIC_A_MODEL:
		read_model(attr, device);
		break;
	case DMANIC_A_STATS:
		read_stats(attr, device);
		break;
	case DMANIC_A_EVENT:
		device->event = mnl_attr_get_u32(attr);
		break;
	}
}

int read_device(const struct nlmsghdr *header, void *data)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		read_attr(attr, data);
	return MNL_CB_OK;
}

static int get(int command, const char *name, struct device *device)
{
	struct request request;

	memset(device, 0, sizeof(*device));
	device->model.name = device->model_name;
	request_begin(&request, command, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, name);
	return request_send(&request, read_device, device);
}

int device_get(const char *name, struct device *device)
{
	return get(DMANIC_GENL_CMD_DEV_GET, name, device);
}

int device_stats(const char *name, struct device *device)
{
	return get(DMANIC_GENL_CMD_STATS_GET, name, device);
}

struct dump {
	const char *prefix;
	struct device *devices;
	unsigned int room;
	unsigned int count;
};

static int dump_device(const struct nlmsghdr *header, void *data)
{
	struct device device = { .name = "" };
	struct dump *dump = data;

	read_device(header, &device);
	if (strncmp(device.name, dump->prefix, strlen(dump->prefix)) != 0)
		return MNL_CB_OK;
	if (dump->count < dump->room)
		dump->devices[dump->count] = device;
	dump->count++;
	return MNL_CB_OK;
}

/* How many devices of this namespace have names that begin with @prefix */
unsigned int device_dump(const char *prefix, struct device *devices,
			 unsigned int room)
{
	struct dump dump = { prefix, devices, room, 0 };
	struct request request;
	int ret;

	do {
		dump.count = 0;
		request_begin(&request, DMANIC_GENL_CMD_DEV_GET, NLM_F_DUMP);
		ret = request_send(&request, dump_device, &dump);
		/* Others came or went meanwhile */
	} while (ret == -EINTR);
	ASSERT_EQ(ret, 0);
	return dump.count;
}

/* Nodes on network devices do not fail when they are told to */
int device_set_failed(const char *name, bool failed)
{
	struct request request;

	if (fabric_on_netdevs())
		SKIP("only nodes of a loop link fail when they are told to");

	request_begin(&request, DMANIC_GENL_CMD_DEV_SET, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, name);
	mnl_attr_put_u8(request.header, DMANIC_A_FAILED, failed);
	return request_send(&request, NULL, NULL);
}

int device_set_model(const char *name, const struct model *model)
{
	struct request request;

	request_begin(&request, DMANIC_GENL_CMD_DEV_SET, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, name);
	request_model(&request, model);
	return request_send(&request, NULL, NULL);
}

/*
 * The network device of a node, when tests are to run over such: of the words of
 * DMANIC_NETDEVS the node-th, counted in circles. NULL: nodes are of type loop.
 */
static const char *netdev_of(unsigned int node, char *name, size_t bytes)
{
	const char *words = getenv("DMANIC_NETDEVS"), *word;
	unsigned int count = 0, pass;

	if (!words || !*words)
		return NULL;
	for (pass = 0; pass < 2; pass++) {
		unsigned int i = 0;

		for (word = words; *word; word += strspn(word, " "), i++) {
			size_t length = strcspn(word, " ");

			if (pass && i == node % count) {
				snprintf(name, bytes, "%.*s", (int)length, word);
				return name;
			}
			word += length;
		}
		count = i;
	}
	return NULL;
}

/*
 * DMANIC_FAULT="DROP DUPLICATE CORRUPT REORDER DELAY": what frames to each node meet,
 * parts per million, and nanoseconds. With CORRUPT payloads have checksums.
 */
struct fault {
	unsigned int share[4];
	unsigned long long delay_ns;
};

static bool fault_wanted(struct fault *fault)
{
	const char *words = getenv("DMANIC_FAULT");
	unsigned int *share = fault->share;

	memset(fault, 0, sizeof(*fault));
	return words && sscanf(words, "%u %u %u %u %llu", &share[0], &share[1],
			       &share[2], &share[3], &fault->delay_ns) == 5;
}

static int fault_set(const char *name, unsigned int seed, const struct fault *fault)
{
	struct request request;
	struct nlattr *nest;
	unsigned int i;

	request_begin(&request, DMANIC_GENL_CMD_DEV_SET, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, name);
	nest = mnl_attr_nest_start(request.header, DMANIC_A_FAULT);
	mnl_attr_put_u64(request.header, DMANIC_FAULT_A_SEED, seed);
	for (i = 0; i < ARRAY_SIZE(fault->share); i++)
		mnl_attr_put_u32(request.header, DMANIC_FAULT_A_DROP + i,
				 fault->share[i]);
	mnl_attr_put_u64(request.header, DMANIC_FAULT_A_DELAY_NS, fault->delay_ns);
	mnl_attr_nest_end(request.header, nest);
	return request_send(&request, NULL, NULL);
}

/* A wire is late by so much at most, or nodes take each other for dead; else it is cut */
#define LATE_MAX_NS	(500 * MS_NS)
#define LATE_CUT_NS	(5000 * MS_NS)

static int wire_late(const char *name, unsigned int seed, __u64 ns)
{
	struct fault fault = { .delay_ns = ns < LATE_MAX_NS ? ns : LATE_MAX_NS };

	if (ns >= LATE_CUT_NS)
		fault = (struct fault) { .share = { 1000000 } };
	return fault_set(name, seed, &fault);
}

void fabric_late(const struct fabric *of, __u64 ns)
{
	const struct model model = { .name = "none", .latency_ns = ns };
	char name[DMANIC_NAME_MAX];
	unsigned int i;

	for (i = 0; i < of->nodes; i++) {
		fabric_name(of, i, name);
		if (fabric_on_netdevs())
			ASSERT_EQ(wire_late(name, i + 1, ns), 0);
		else
			ASSERT_EQ(device_set_model(name, &model), 0);
	}
}

/* DMANIC_CRC=on or off: checksums of payloads; else as the driver would have them */
static void put_crc(struct request *request, const struct fault *fault)
{
	const char *word = getenv("DMANIC_CRC");

	if (fault->share[DMANIC_FAULT_A_CORRUPT - DMANIC_FAULT_A_DROP])
		word = "on";
	if (word && *word)
		mnl_attr_put_u32(request->header, DMANIC_A_CRC,
				 strcmp(word, "on") ? DMANIC_CRC_OFF : DMANIC_CRC_ON);
}

void request_ether(struct request *request, const struct fabric *of, unsigned int node,
		   __u64 dead_ns)
{
	char name[DMANIC_NAME_MAX];

	fabric_name(of, node, name);
	request_begin(request, DMANIC_GENL_CMD_DEV_NEW, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_TYPE, "ether");
	mnl_attr_put_strz(request->header, DMANIC_A_NAME, name);
	mnl_attr_put_strz(request->header, DMANIC_A_FABRIC, of->prefix);
	mnl_attr_put_u32(request->header, DMANIC_A_NODE, node);
	mnl_attr_put_u64(request->header, DMANIC_A_DEAD_NS, dead_ns);
}

void veth_make(char *one, char *other)
{
	char command[160];

	snprintf(one, IFNAMSIZ, "t%dx", getpid());
	snprintf(other, IFNAMSIZ, "t%dy", getpid());
	snprintf(command, sizeof(command),
		 "ip link add %s type veth peer name %s && ip link set %s up && ip link set %s up",
		 one, other, one, other);
	ASSERT_EQ(system(command), 0);
}

/* Fabrics do not see each other: each has an EtherType of its own */
static int fabric_add_ether(const struct fabric *added, const char *letter, __u64 dead_ns)
{
	uint16_t type = 0xa000 + getpid() % 2000 * 4 + (*letter ? *letter - 'a' + 1 : 0);
	char name[DMANIC_NAME_MAX], netdev[DMANIC_NAME_MAX];
	struct request request;
	struct fault fault;
	bool faulty = fault_wanted(&fault);
	unsigned int i;
	int ret = 0;

	for (i = 0; i < added->nodes && !ret; i++) {
		fabric_name(added, i, name);
		request_ether(&request, added, i, dead_ns);
		mnl_attr_put_u16(request.header, DMANIC_A_ETHERTYPE, type);
		mnl_attr_put_strz(request.header, DMANIC_A_NETDEV,
				  netdev_of(i, netdev, sizeof(netdev)));
		put_crc(&request, &fault);
		ret = request_send(&request, NULL, NULL);
		if (!ret && faulty)
			ret = fault_set(name, i + 1, &fault);
	}
	if (ret)
		harness_note("node %s: %s %s", name, strerror(-ret), request.message);
	return ret;
}

static void fabric_called(struct fabric *added, const char *letter, unsigned int nodes)
{
	snprintf(added->prefix, sizeof(added->prefix), "t%d%s_", getpid(),
		 letter);
	added->nodes = nodes;
}

/* @letter tells fabrics of one process apart. */
int fabric_add(struct fabric *added, const char *letter, unsigned int nodes,
	       const struct model *model)
{
	struct request request;
	int ret;

	if (model && fabric_on_netdevs())
		SKIP("only a loop link has a model");
	fabric_called(added, letter, nodes);
	if (fabric_on_netdevs())
		return fabric_add_ether(added, letter, slow_ns(2000));
	request_begin(&request, DMANIC_GENL_CMD_DEV_NEW, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_TYPE, "loop");
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, added->prefix);
	mnl_attr_put_u32(request.header, DMANIC_A_NODES, nodes);
	if (model)
		request_model(&request, model);
	ret = request_send(&request, NULL, NULL);
	if (ret)
		harness_note("fabric %s: %s %s", added->prefix, strerror(-ret),
			     request.message);
	return ret;
}

static int delete(enum dmanic_attr by, const char *name, bool force)
{
	struct request request;

	request_begin(&request, DMANIC_GENL_CMD_DEV_DEL, 0);
	mnl_attr_put_strz(request.header, by, name);
	if (force)
		mnl_attr_put(request.header, DMANIC_A_FORCE, 0, NULL);
	return request_send(&request, NULL, NULL);
}

int fabric_delete(const char *prefix, bool force)
{
	return delete(DMANIC_A_FABRIC, prefix, force);
}

int device_delete(const char *name, bool force)
{
	return delete(DMANIC_A_NAME, name, force);
}

void fabric_make(struct fabric *made, const char *letter, unsigned int nodes,
		 const struct model *model)
{
	int ret = fabric_add(made, letter, nodes, model);

	if (ret)
		FAIL("cannot make a loop fabric: %s", strerror(-ret));
}

void fabric_make_patient(struct fabric *made, const char *letter, unsigned int nodes,
			 __u64 dead_ns)
{
	int ret;

	fabric_called(made, letter, nodes);
	ret = fabric_add_ether(made, letter, dead_ns);
	if (ret)
		FAIL("cannot make a fabric on network devices: %s", strerror(-ret));
}

/* @name has room for DMANIC_NAME_MAX */
void fabric_name(const struct fabric *of, unsigned int node, char *name)
{
	char number[12];

	snprintf(number, sizeof(number), "%u", node);
	snprintf(name, DMANIC_NAME_MAX, "%.20s%.11s", of->prefix, number);
}

/* Whether nothing is in use; @what gets the first thing that is. */
bool fabric_idle(const struct fabric *of, char *what, size_t bytes)
{
	char name[DMANIC_NAME_MAX];
	struct device device;
	unsigned int i;
	int ret;

	for (i = 0; i < of->nodes; i++) {
		fabric_name(of, i, name);
		ret = device_get(name, &device);
		if (!ret && !device.contexts && !device.segments &&
		    !device.queues && !device.irqs && !device.pinned)
			continue;
		snprintf(what, bytes,
			 "%s: error %d, contexts %u, segments %u, queues %u, interrupts %u, %llu bytes",
			 name, ret, device.contexts, device.segments,
			 device.queues, device.irqs,
			 (unsigned long long)device.pinned);
		return false;
	}
	return true;
}

const char *fabric_start_none(void)
{
	if (geteuid())
		return "needs root";
	if (netlink_find_family() &&
	    (system("modprobe -q dmanic") || netlink_find_family()))
		return "the dmanic module is not loaded";
	return NULL;
}

const char *fabric_start(void)
{
	const char *reason = fabric_start_none();

	if (reason)
		return reason;
	if (fabric_add(&fabric, "", FABRIC_NODES, NULL)) {
		printf("Bail out! cannot make a loop fabric\n");
		exit(1);
	}
	return NULL;
}

const char *fabric_after(pid_t child)
{
	static const char * const letters[] = { "", "a", "b", "c" };
	char prefix[DMANIC_NAME_MAX];
	static char what[200];
	unsigned int i;

	if (netlink_find_family())
		return "the module is gone";
	for (i = 0; i < ARRAY_SIZE(letters); i++) {
		snprintf(prefix, sizeof(prefix), "t%d%s_", child, letters[i]);
		fabric_delete(prefix, true);
	}
	if (fabric.nodes && !WAIT_FOR(fabric_idle(&fabric, what, sizeof(what))))
		return what;
	return NULL;
}

void fabric_stop(void)
{
	if (fabric.nodes && fabric_delete(fabric.prefix, false)) {
		printf("Bail out! cannot remove fabric %s\n", fabric.prefix);
		fabric_delete(fabric.prefix, true);
		exit(1);
	}
}

const struct harness_program fabric_program = {
	.start = fabric_start,
	.after = fabric_after,
	.stop = fabric_stop,
};

const struct harness_program fabric_program_none = {
	.start = fabric_start_none,
	.after = fabric_after,
};
