// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_netlink.c - the control plane: making, showing, changing, removing
 *
 * Owns: every command of the generic netlink family with what it needs, with
 * too little, too much and nonsense; who may; and what another network
 * namespace sees.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY_BYTES	16U

FIXTURE(netlink) {
	char prefix[DMANIC_NAME_MAX];
	struct request request;
};

FIXTURE_SETUP(netlink)
{
	snprintf(self->prefix, sizeof(self->prefix), "t%da_", getpid());
}

FIXTURE_TEARDOWN(netlink)
{
}

static struct nlmsghdr *begin(struct netlink_self *self, int command)
{
	request_begin(&self->request, command, 0);
	return self->request.header;
}

static int submit(struct netlink_self *self)
{
	return request_send(&self->request, NULL, NULL);
}

/* An error, and words that help */
static void expect_error(struct netlink_self *self, int error)
{
	EXPECT_EQ(submit(self), error);
	EXPECT_GT(strlen(self->request.message), 0);
}

/* DEV_NEW with what is not NULL and not ~0 */
static struct nlmsghdr *new_with(struct netlink_self *self, const char *type,
				 const char *name, __u32 nodes)
{
	struct nlmsghdr *header = begin(self, DMANIC_GENL_CMD_DEV_NEW);

	if (type)
		mnl_attr_put_strz(header, DMANIC_A_TYPE, type);
	if (name)
		mnl_attr_put_strz(header, DMANIC_A_NAME, name);
	if (nodes != ~0U)
		mnl_attr_put_u32(header, DMANIC_A_NODES, nodes);
	return header;
}

static void expect_none(struct netlink_self *self)
{
	EXPECT_EQ(device_dump(self->prefix, NULL, 0), 0);
}

TEST_F(netlink, new_needs_its_attributes)
{
	new_with(self, NULL, self->prefix, 2);
	expect_error(self, -EINVAL);
	new_with(self, "loop", NULL, 2);
	expect_error(self, -EINVAL);
	new_with(self, "loop", self->prefix, ~0U);
	expect_error(self, -EINVAL);
	new_with(self, "token-ring", self->prefix, 2);
	expect_error(self, -EOPNOTSUPP);
	expect_none(self);
}

TEST_F(netlink, new_refuses_bad_counts)
{
	static const __u32 bad[] = { 0, 257, 65536, 0x80000000, ~1U };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		new_with(self, "loop", self->prefix, bad[i]);
		expect_error(self, -EINVAL);
	}
	expect_none(self);
}

TEST_F(netlink, new_refuses_bad_names)
{
	static const char * const bad[] = {
		"", "/", "a/b", "..", ".a", "-a", "a b", "a\n", "\xc3\xa9",
		"a*", "%s%n", "abcdefghijklmnopqrstuvwxyzabcde",
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		new_with(self, "loop", bad[i], 1);
		EXPECT_LT(submit(self), 0);
	}
}

TEST_F(netlink, malformed_attributes_are_refused)
{
	struct nlmsghdr *header;

	/* A name without its end */
	header = begin(self, DMANIC_GENL_CMD_DEV_GET);
	mnl_attr_put(header, DMANIC_A_NAME, 3, "abc");
	EXPECT_LT(submit(self), 0);
	/* Numbers of the wrong size */
	header = new_with(self, "loop", self->prefix, ~0U);
	mnl_attr_put_u16(header, DMANIC_A_NODES, 2);
	EXPECT_LT(submit(self), 0);
	header = new_with(self, "loop", self->prefix, ~0U);
	mnl_attr_put_u64(header, DMANIC_A_NODES, 2);
	EXPECT_LT(submit(self), 0);
	/* What the command does not take, and what nobody knows */
	header = new_with(self, "loop", self->prefix, 2);
	mnl_attr_put_u32(header, DMANIC_A_CONTEXTS, 2);
	EXPECT_LT(submit(self), 0);
	header = new_with(self, "loop", self->prefix, 2);
	mnl_attr_put_u32(header, DMANIC_A_MAX + 1, 2);
	EXPECT_LT(submit(self), 0);
	header = new_with(self, "loop", self->prefix, 2);
	mnl_attr_put_u32(header, 0x3fff, 2);
	EXPECT_LT(submit(self), 0);
	/* A model that is not nested */
	header = new_with(self, "loop", self->prefix, 2);
	mnl_attr_put_u32(header, DMANIC_A_MODEL, 2);
	EXPECT_LT(submit(self), 0);
	/* An attribute longer than the message */
	header = new_with(self, "loop", self->prefix, 2);
	((struct nlattr *)mnl_nlmsg_get_payload_offset(header,
		sizeof(struct genlmsghdr)))->nla_len = 4000;
	EXPECT_LT(submit(self), 0);
	expect_none(self);
	/* A command nobody knows */
	begin(self, DMANIC_GENL_CMD_MAX + 1);
	EXPECT_EQ(submit(self), -EOPNOTSUPP);
	begin(self, DMANIC_GENL_CMD_UNSPEC);
	EXPECT_EQ(submit(self), -EOPNOTSUPP);
}

/* DEV_NEW of an ether device that lacks its id */
static struct nlmsghdr *new_nobody(struct netlink_self *self)
{
	struct nlmsghdr *header = new_with(self, "ether", self->prefix, ~0U);

	mnl_attr_put_strz(header, DMANIC_A_NETDEV, "nosuchdevice");
	return header;
}

/* The same, to which nothing is missing */
static struct nlmsghdr *new_ether(struct netlink_self *self)
{
	struct nlmsghdr *header = new_nobody(self);

	mnl_attr_put_u32(header, DMANIC_A_NODE, 0);
	return header;
}

TEST_F(netlink, new_ether_needs_id_and_one_network_device)
{
	struct nlmsghdr *header;

	new_nobody(self);
	expect_error(self, -EINVAL);
	header = new_with(self, "ether", self->prefix, ~0U);
	mnl_attr_put_u32(header, DMANIC_A_NODE, 0);
	expect_error(self, -EINVAL);
	header = new_ether(self);
	mnl_attr_put_u32(header, DMANIC_A_IFINDEX, 1);
	expect_error(self, -EINVAL);
	header = new_nobody(self);
	mnl_attr_put_u32(header, DMANIC_A_NODE, ~0U);
	expect_error(self, -EINVAL);
	new_ether(self);
	expect_error(self, -ENODEV);
	expect_none(self);
}

TEST_F(netlink, new_ether_refuses_what_others_use_or_nobody_bears)
{
	static const __u16 types[] = {
		0, 1, 0x05ff, 0x0800, 0x0806, 0x86dd, 0x8100, 0x88a8, 0x8847, 0x8848,
		0x894f, 0x6558,
	};
	static const __u64 dead[] = { 0, 1, 9999999, 3600 * SECOND_NS + 1, ~0ULL };
	struct nlmsghdr *header;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		header = new_ether(self);
		mnl_attr_put_u16(header, DMANIC_A_ETHERTYPE, types[i]);
		expect_error(self, -EINVAL);
	}
	for (i = 0; i < ARRAY_SIZE(dead); i++) {
		header = new_ether(self);
		mnl_attr_put_u64(header, DMANIC_A_DEAD_NS, dead[i]);
		expect_error(self, -EINVAL);
	}
	header = new_ether(self);
	mnl_attr_put_u32(header, DMANIC_A_CRC, DMANIC_CRC_ON + 1);
	EXPECT_LT(submit(self), 0);
	expect_none(self);
}

TEST_F(netlink, new_ether_refuses_half_a_key)
{
	static const __u8 key[KEY_BYTES + 1] = { 1, 2, 3 };
	struct nlmsghdr *header;
	unsigned int bytes;

	for (bytes = 1; bytes <= sizeof(key); bytes++) {
		if (bytes == KEY_BYTES)
			continue;
		header = new_ether(self);
		mnl_attr_put(header, DMANIC_A_KEY, bytes, key);
		EXPECT_LT(submit(self), 0);
	}
	/* A number without a key, or of none */
	header = new_ether(self);
	mnl_attr_put_u32(header, DMANIC_A_KEY_ID, 1);
	expect_error(self, -EINVAL);
	header = new_ether(self);
	mnl_attr_put(header, DMANIC_A_KEY, 0, key);
	mnl_attr_put_u32(header, DMANIC_A_KEY_ID, 1);
	expect_error(self, -EINVAL);
	header = new_ether(self);
	mnl_attr_put(header, DMANIC_A_KEY, KEY_BYTES, key);
	mnl_attr_put_u32(header, DMANIC_A_KEY_ID, 0);
	expect_error(self, -EINVAL);
	expect_none(self);
}

static void expect_model_error(struct netlink_self *self,
			       const struct model *model, int error)
{
	new_with(self, "loop", self->prefix, 1);
	request_model(&self->request, model);
	expect_error(self, error);
}

TEST_F(netlink, new_refuses_bad_models)
{
	const __u64 hour = 3600 * SECOND_NS;
	struct nlattr *nest;

	expect_model_error(self, &(struct model){ .name = "fast" }, -ENOENT);
	expect_model_error(self, &(struct model){ .start_ns = hour + 1 },
			   -ERANGE);
	expect_model_error(self, &(struct model){ .interrupt_ns = ~0ULL },
			   -ERANGE);
	expect_model_error(self, &(struct model){ .latency_ns = hour + 1 },
			   -ERANGE);
	expect_model_error(self, &(struct model){ .jitter_ns = hour + 1 },
			   -ERANGE);
	expect_model_error(self, &(struct model){ .bandwidth = 1 }, -ERANGE);
	expect_model_error(self, &(struct model){ .scale = ~0U }, -ERANGE);
	new_with(self, "loop", self->prefix, 1);
	nest = mnl_attr_nest_start(self->request.header, DMANIC_A_MODEL);
	mnl_attr_put_u32(self->request.header, DMANIC_MODEL_A_SCALE, 0);
	mnl_attr_nest_end(self->request.header, nest);
	expect_error(self, -ERANGE);
	new_with(self, "loop", self->prefix, 1);
	nest = mnl_attr_nest_start(self->request.header, DMANIC_A_MODEL);
	mnl_attr_put_u32(self->request.header, DMANIC_MODEL_A_START_NS, 0);
	mnl_attr_nest_end(self->request.header, nest);
	EXPECT_LT(submit(self), 0);
	expect_none(self);
}

/* The largest times and the largest scale together must not wrap around. */
TEST_F(netlink, extreme_model_does_not_overflow)
{
	const __u64 hour = 3600 * SECOND_NS;
	struct model extreme = {
		.latency_ns = hour, .jitter_ns = hour, .bandwidth = 1000,
		.scale = 1000000, .seed = ~0ULL,
	};
	struct segment local, target;
	struct dmanic_cqe cqe;
	struct queue queue;
	struct fabric own;
	struct node node;
	__u32 handle;

	fabric_make(&own, "a", 1, &extreme);
	node = node_open(&own, 0);
	local = segment_make(&node, 1 << 20);
	target = segment_make(&node, 1 << 20);
	segment_export(&target, DMANIC_RIGHT_WRITE);
	handle = segment_connect(&node, &target);
	queue = queue_make(&node, 4, 4);
	*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, local.id, 0, handle, 0,
				      1 << 20);
	queue_submit(&queue);
	EXPECT_EQ(queue_enter(&queue, 0, 1, slow_ns(30)), -ETIME);
	EXPECT_TRUE(!queue_reap(&queue, &cqe));
}

TEST_F(netlink, new_makes_what_was_asked_for)
{
	struct device devices[5];
	struct fabric own;
	char name[DMANIC_NAME_MAX];
	unsigned int i;

	fabric_make(&own, "a", 5, NULL);
	ASSERT_EQ(device_dump(own.prefix, devices, 5), 5);
	for (i = 0; i < 5; i++) {
		fabric_name(&own, i, name);
		EXPECT_EQ(strcmp(devices[i].name, name), 0);
		EXPECT_EQ(strcmp(devices[i].type, "loop"), 0);
		EXPECT_EQ(strcmp(devices[i].fabric, own.prefix), 0);
		EXPECT_EQ(devices[i].node, i);
		EXPECT_EQ(devices[i].nodes, 5);
		EXPECT_EQ(devices[i].state, DMANIC_DEV_UP);
		EXPECT_NE(devices[i].incarnation, 0);
		EXPECT_TRUE(devices[i].has_model);
		EXPECT_EQ(node_open(&own, i).id, i);
	}
}

TEST_F(netlink, most_nodes_and_back)
{
	struct fabric own;

	fabric_make(&own, "a", 256, NULL);
	EXPECT_EQ(device_dump(own.prefix, NULL, 0), 256);
	EXPECT_EQ(node_open(&own, 255).id, 255);
	EXPECT_EQ(fabric_delete(own.prefix, true), 0);
	EXPECT_EQ(device_dump(own.prefix, NULL, 0), 0);
}

/* All or nothing: one name that is taken, and none is made. */
TEST_F(netlink, taken_name_makes_nothing)
{
	struct fabric own, longer;

	fabric_make(&own, "a", 2, NULL);
	new_with(self, "loop", own.prefix, 2);
	expect_error(self, -EEXIST);
	EXPECT_EQ(device_dump(own.prefix, NULL, 0), 2);
	/* ta_1 and its 0 make ta_10, which the fabric ta_ has too at last */
	snprintf(longer.prefix, sizeof(longer.prefix), "%.20s1", own.prefix);
	new_with(self, "loop", longer.prefix, 1);
	ASSERT_EQ(submit(self), 0);
	ASSERT_EQ(fabric_delete(own.prefix, false), 0);
	EXPECT_EQ(device_dump(own.prefix, NULL, 0), 1);
	new_with(self, "loop", own.prefix, 11);
	expect_error(self, -EEXIST);
	EXPECT_EQ(device_dump(own.prefix, NULL, 0), 1);
	EXPECT_EQ(fabric_delete(longer.prefix, false), 0);
}

TEST_F(netlink, get_needs_a_known_name)
{
	struct device device;

	begin(self, DMANIC_GENL_CMD_DEV_GET);
	expect_error(self, -EINVAL);
	begin(self, DMANIC_GENL_CMD_STATS_GET);
	expect_error(self, -EINVAL);
	EXPECT_EQ(device_get("nobody", &device), -ENODEV);
	EXPECT_EQ(device_stats("nobody", &device), -ENODEV);
	EXPECT_EQ(device_get("", &device), -ENODEV);
}

TEST_F(netlink, del_needs_one_known_selector)
{
	struct nlmsghdr *header;

	begin(self, DMANIC_GENL_CMD_DEV_DEL);
	expect_error(self, -EINVAL);
	header = begin(self, DMANIC_GENL_CMD_DEV_DEL);
	mnl_attr_put_strz(header, DMANIC_A_NAME, "x");
	mnl_attr_put_strz(header, DMANIC_A_FABRIC, "x");
	expect_error(self, -EINVAL);
	header = begin(self, DMANIC_GENL_CMD_DEV_DEL);
	mnl_attr_put_strz(header, DMANIC_A_NAME, "nobody");
	expect_error(self, -ENODEV);
	EXPECT_EQ(fabric_delete("nobody", true), -ENODEV);
	EXPECT_EQ(fabric_delete("", true), -ENODEV);
}

TEST_F(netlink, del_of_one_leaves_the_others)
{
	struct fabric own;
	struct nlmsghdr *header;
	struct device device;
	char name[DMANIC_NAME_MAX];

	fabric_make(&own, "a", 3, NULL);
	fabric_name(&own, 1, name);
	header = begin(self, DMANIC_GENL_CMD_DEV_DEL);
	mnl_attr_put_strz(header, DMANIC_A_NAME, name);
	ASSERT_EQ(submit(self), 0);
	EXPECT_EQ(device_get(name, &device), -ENODEV);
	fabric_name(&own, 2, name);
	ASSERT_EQ(device_get(name, &device), 0);
	EXPECT_EQ(device.nodes, 2);
	EXPECT_EQ(fabric_delete(own.prefix, false), 0);
}

TEST_F(netlink, set_needs_something_to_change)
{
	struct nlmsghdr *header;
	struct fabric own;
	char name[DMANIC_NAME_MAX];

	fabric_make(&own, "a", 1, NULL);
	fabric_name(&own, 0, name);
	header = begin(self, DMANIC_GENL_CMD_DEV_SET);
	mnl_attr_put_strz(header, DMANIC_A_NAME, name);
	expect_error(self, -EINVAL);
	begin(self, DMANIC_GENL_CMD_DEV_SET);
	expect_error(self, -EINVAL);
	header = begin(self, DMANIC_GENL_CMD_DEV_SET);
	mnl_attr_put_strz(header, DMANIC_A_NAME, name);
	mnl_attr_put_u8(header, DMANIC_A_FAILED, 2);
	EXPECT_LT(submit(self), 0);
	EXPECT_EQ(device_set_failed("nobody", true), -ENODEV);
	EXPECT_EQ(device_set_model(name, &(struct model){ .name = "x" }),
		  -ENOENT);
	EXPECT_EQ(device_set_model(name, &(struct model){ .name = "eth-25g" }),
		  0);
}

/* Half of a refused change must not stay. */
TEST_F(netlink, refused_change_changes_nothing)
{
	struct device before, after;
	struct nlmsghdr *header;
	struct fabric own;
	char name[DMANIC_NAME_MAX];

	fabric_make(&own, "a", 1, &(struct model){ .start_ns = 5 });
	fabric_name(&own, 0, name);
	ASSERT_EQ(device_get(name, &before), 0);
	header = begin(self, DMANIC_GENL_CMD_DEV_SET);
	mnl_attr_put_strz(header, DMANIC_A_NAME, name);
	mnl_attr_put_u8(header, DMANIC_A_FAILED, 1);
	request_model(&self->request, &(struct model){
		.name = "sci-d330", .scale = ~0U,
	});
	expect_error(self, -ERANGE);
	ASSERT_EQ(device_get(name, &after), 0);
	EXPECT_EQ(after.state, before.state);
	EXPECT_EQ(after.model.start_ns, 5);
	EXPECT_EQ(after.model.bandwidth, before.model.bandwidth);
	EXPECT_EQ(after.model.scale, before.model.scale);
}

TEST_F(netlink, dump_takes_no_attributes)
{
	request_begin(&self->request, DMANIC_GENL_CMD_DEV_GET, NLM_F_DUMP);
	mnl_attr_put_strz(self->request.header, DMANIC_A_NAME, "x");
	EXPECT_EQ(submit(self), -EINVAL);
}

TEST_F(netlink, statistics_count)
{
	struct node node = node_open(&fabric, 0), peer = node_open(&fabric, 1);
	struct segment local = segment_make(&node, 5000);
	struct segment target = segment_make(&peer, 5000);
	struct irq irq = irq_make(&peer, 2);
	struct queue queue = queue_make(&node, 4, 4);
	struct device before[2], after[2];
	struct dmanic_sqe sqe;
	__u32 handle;

	segment_export(&target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	handle = segment_connect(&node, &target);
	ASSERT_EQ(device_stats(node.name, &before[0]), 0);
	ASSERT_EQ(device_stats(peer.name, &before[1]), 0);
	ASSERT_TRUE(before[0].has_stats);
	sqe = sqe_move(DMANIC_OP_WRITE, local.id, 0, handle, 0, 5000);
	queue_run(&queue, &sqe);
	sqe = sqe_move(DMANIC_OP_READ, local.id, 0, handle, 0, 300);
	queue_run(&queue, &sqe);
	sqe = sqe_notify(irq_connect(&node, &irq), 1);
	queue_run(&queue, &sqe);
	ASSERT_EQ(segment_revoke(&target), 0);
	sqe = sqe_move(DMANIC_OP_WRITE, local.id, 0, handle, 0, 5000);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_NO_SEGMENT);
	ASSERT_EQ(device_stats(node.name, &after[0]), 0);
	ASSERT_EQ(device_stats(peer.name, &after[1]), 0);
#define GREW(i, which, by) \
	EXPECT_EQ(after[i].stats[DMANIC_STATS_A_##which] - \
		  before[i].stats[DMANIC_STATS_A_##which], by)
	GREW(0, POSTED, 4);
	GREW(0, COMPLETED, 3);
	GREW(0, FAILED, 1);
	GREW(0, WRITE_BYTES, 5000);
	GREW(0, READ_BYTES, 300);
	GREW(0, NOTIFIES_SENT, 1);
	GREW(0, DOORBELLS, 4);
	GREW(1, NOTIFIES_RAISED, 1);
	GREW(1, TARGET_REFUSED, 1);
	GREW(1, POSTED, 0);
}

/* Looking is for all, changing for the administrator. */
TEST_F(netlink, unprivileged_may_only_look)
{
	struct device device;
	char name[DMANIC_NAME_MAX];

	fabric_name(&fabric, 0, name);
	ASSERT_EQ(setgroups(0, NULL), 0);
	ASSERT_EQ(setgid(65534), 0);
	ASSERT_EQ(setuid(65534), 0);
	EXPECT_EQ(device_get(name, &device), 0);
	EXPECT_EQ(device_stats(name, &device), 0);
	EXPECT_EQ(device_dump(fabric.prefix, NULL, 0), FABRIC_NODES);
	EXPECT_EQ(node_path_open(name, O_RDWR), -EACCES);
	new_with(self, "loop", self->prefix, 1);
	EXPECT_EQ(submit(self), -EPERM);
	EXPECT_EQ(device_set_failed(name, true), -EPERM);
	EXPECT_EQ(device_set_model(name, &(struct model){ .name = "none" }),
		  -EPERM);
	EXPECT_EQ(fabric_delete(fabric.prefix, true), -EPERM);
}

/* Root of a user namespace of one's own is no administrator here. */
TEST_F(netlink, user_namespace_gives_no_power)
{
	char name[DMANIC_NAME_MAX];
	int status;
	pid_t child;

	fabric_name(&fabric, 0, name);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		if (setgid(65534) || setuid(65534) ||
		    prctl(PR_SET_DUMPABLE, 1) ||
		    unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(4);
		new_with(self, "loop", self->prefix, 1);
		EXPECT_EQ(submit(self), -EPERM);
		EXPECT_LT(fabric_delete(fabric.prefix, true), 0);
		_exit(0);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status) == 4)
		SKIP("unprivileged user namespaces are not allowed here");
	EXPECT_EQ(status, 0);
}

/* In another network namespace the devices of this one do not exist. */
TEST_F(netlink, other_namespace_sees_nothing)
{
	char name[DMANIC_NAME_MAX], path[64];
	struct device device;

	fabric_name(&fabric, 0, name);
	snprintf(path, sizeof(path), "/dev/dmanic/%s", name);
	ASSERT_EQ(chmod(path, 0666), 0);
	ASSERT_EQ(unshare(CLONE_NEWNET), 0);
	EXPECT_EQ(device_dump("", NULL, 0), 0);
	EXPECT_EQ(device_get(name, &device), -ENODEV);
	EXPECT_EQ(device_stats(name, &device), -ENODEV);
	EXPECT_EQ(device_set_failed(name, true), -ENODEV);
	EXPECT_EQ(fabric_delete(fabric.prefix, true), -ENODEV);
	/* Names in /dev are everybody's. */
	new_with(self, "loop", fabric.prefix, 1);
	EXPECT_EQ(submit(self), -EEXIST);
	/* The administrator may open what he can name, others may not. */
	EXPECT_GE(node_path_open(name, O_RDWR), 0);
	ASSERT_EQ(setgroups(0, NULL), 0);
	ASSERT_EQ(setgid(65534), 0);
	ASSERT_EQ(setuid(65534), 0);
	EXPECT_EQ(node_path_open(name, O_RDWR), -EACCES);
}

/* Its devices go with the namespace, in use or not. */
TEST_F(netlink, namespace_takes_its_devices_along)
{
	char name[DMANIC_NAME_MAX];
	struct fabric own;
	int status;
	pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child) {
		struct node node;

		ASSERT_EQ(unshare(CLONE_NEWNET), 0);
		fabric_make(&own, "", 2, NULL);
		node = node_open(&own, 0);
		segment_make(&node, 5000);
		_exit(device_dump(own.prefix, NULL, 0) == 2 ? 0 : 1);
	}
	snprintf(own.prefix, sizeof(own.prefix), "t%d_", child);
	fabric_name(&own, 0, name);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(device_dump(own.prefix, NULL, 0), 0);
	EXPECT_TRUE(WAIT_FOR(node_path_gone(name)));
}

FABRIC_TEST_MAIN()
