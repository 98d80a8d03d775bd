// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fail_nth_connect.c - connecting to nodes that are not known yet, while there is no
 *	memory to have a peer ready for them
 *
 * Owns: the sweep of test_fail_nth.c for CONNECT over the ether link, where it makes the
 * memory of another peer itself. A node has one to spare, and a worker of the kernel makes the
 * next; here it never succeeds. Nodes are on the ends of a veth pair: one that connects, on the
 * other end those to which it does, each once.
 */
#include "injection.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OTHERS		40U
#define BYTES		4096U

static char netdevs[2][IFNAMSIZ];
static struct fabric own = { .nodes = 1 + OTHERS };

/**
 * struct crowd - one who connects, and the others
 * @node: of the one
 * @local: of it
 * @self: of it, too, for counts_expect()
 * @queue: of it
 * @others: their nodes
 * @targets: of each of them, where it writes to
 * @next: of them, the first one that it does not know
 * @control: fail-nth
 */
struct crowd {
	struct node node;
	struct segment local;
	struct segment self;
	struct queue queue;
	struct node others[OTHERS];
	struct segment targets[OTHERS];
	unsigned int next;
	int control;
};

/* No node is taken for dead meanwhile */
static void device_make(unsigned int node)
{
	struct request request;

	request_ether(&request, &own, node, slow_ns(30000));
	mnl_attr_put_strz(request.header, DMANIC_A_NETDEV, netdevs[!!node]);
	ASSERT_EQ(request_send(&request, NULL, NULL), 0);
}

static void nodes_make(struct crowd *crowd)
{
	unsigned int i;

	*crowd = (struct crowd) { .control = injection_open() };
	snprintf(own.prefix, sizeof(own.prefix), "t%da_", getpid());
	veth_make(netdevs[0], netdevs[1]);
	for (i = 0; i < own.nodes; i++)
		device_make(i);
	crowd->node = node_open(&own, 0);
	crowd->local = segment_make(&crowd->node, BYTES);
	crowd->self = segment_make(&crowd->node, BYTES);
	segment_export(&crowd->self, DMANIC_RIGHT_READ);
	crowd->queue = queue_make(&crowd->node, 8, 8);
	for (i = 0; i < OTHERS; i++) {
		crowd->others[i] = node_open(&own, 1 + i);
		crowd->targets[i] = segment_make(&crowd->others[i], BYTES);
		segment_export(&crowd->targets[i], DMANIC_RIGHT_WRITE);
	}
}

static void nodes_end(struct crowd *crowd)
{
	char command[64];
	unsigned int i;

	queue_close(&crowd->queue);
	segment_unmap(&crowd->local);
	segment_unmap(&crowd->self);
	node_close(&crowd->node);
	for (i = 0; i < OTHERS; i++) {
		segment_unmap(&crowd->targets[i]);
		node_close(&crowd->others[i]);
	}
	ASSERT_EQ(fabric_delete(own.prefix, false), 0);
	snprintf(command, sizeof(command), "ip link del %s", netdevs[0]);
	EXPECT_EQ(system(command), 0);
}

static int try_connect(struct crowd *crowd, unsigned int other, __u32 *handle)
{
	const struct segment *target = &crowd->targets[other];

	return connect_call(&crowd->node, 0, target->node, target->id, target->key, handle);
}

/* It connects, whatever failed before, and data get there */
static void expect_connects(struct crowd *crowd, unsigned int other)
{
	const __u8 *arrived = crowd->targets[other].data;
	struct dmanic_sqe sqe;
	__u32 handle = 0;

	ASSERT_LT(other, OTHERS);
	ASSERT_EQ(try_connect(crowd, other, &handle), 0);
	fill(crowd->local.data, BYTES, other);
	sqe = sqe_move(DMANIC_OP_WRITE, crowd->local.id, 0, handle, 0, BYTES);
	EXPECT_EQ(queue_run(&crowd->queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(crowd->local.data, arrived, BYTES), 0);
	EXPECT_EQ(disconnect(&crowd->node, handle), 0);
}

/* Of the first device, as PEER_GET lists them */
static int count_peer(const struct nlmsghdr *header, void *data)
{
	struct device device = { .name = "" };
	unsigned int *peers = data;
	char name[DMANIC_NAME_MAX];

	read_device(header, &device);
	fabric_name(&own, 0, name);
	*peers += !strcmp(device.name, name);
	return MNL_CB_OK;
}

static unsigned int count_peers(void)
{
	struct request request;
	unsigned int peers = 0;

	request_look(&request, DMANIC_GENL_CMD_PEER_GET, NULL);
	ASSERT_EQ(request_send(&request, count_peer, &peers), 0);
	return peers;
}

/*
 * Until it meets no fault: how many there were. To one that is known, always the same, or each
 * time to one that is not
 */
static unsigned int sweep(struct crowd *crowd, bool known)
{
	unsigned int nth, other = known ? 0 : crowd->next;
	struct counts before;
	bool injected = true;
	__u32 handle;
	int ret = 0;

	for (nth = 1; nth < FAULTS_MAX && injected; nth++) {
		ASSERT_LT(other, OTHERS);
		counts_read(&crowd->node, &crowd->self, &before);
		injection_arm(crowd->control, nth);
		ret = try_connect(crowd, other, &handle);
		injected = injection_disarm(crowd->control);
		if (ret)
			counts_expect(&crowd->node, &crowd->self, nth, ret, &before);
		else
			EXPECT_EQ(disconnect(&crowd->node, handle), 0);
		expect_connects(crowd, other);
		ASSERT_TRUE(!harness_failed());
		other += !known;
	}
	EXPECT_EQ(ret, 0);
	if (!known)
		crowd->next = other;
	return nth - 2;
}

TEST_TIMEOUT(fail_nth_connect, without_a_spare_peer_is_all_or_nothing, 240)
{
	unsigned int known, unknown;
	struct crowd crowd;

	nodes_make(&crowd);
	injection_of_kernel_threads(true);
	/* It takes the spare one, and no worker can make another, as the next case shows */
	expect_connects(&crowd, crowd.next++);
	known = sweep(&crowd, true);
	EXPECT_GT(known, 0);
	unknown = sweep(&crowd, false);
	EXPECT_GT(unknown, 0);
	injection_of_kernel_threads(false);
	faults_told(known + unknown);
	expect_connects(&crowd, crowd.next);
	nodes_end(&crowd);
}

/* To one that is known: for what is small there is mostly memory without another page */
static bool connects(struct crowd *crowd)
{
	__u32 handle;

	if (try_connect(crowd, 0, &handle))
		return false;
	EXPECT_EQ(disconnect(&crowd->node, handle), 0);
	return true;
}

/* One fault is not enough for it: memory that large is tried for in two ways */
TEST_TIMEOUT(fail_nth_connect, without_memory_for_a_peer_makes_none, 120)
{
	struct counts before;
	struct crowd crowd;
	unsigned int peers;
	__u32 handle;
	int ret;

	nodes_make(&crowd);
	injection_of_kernel_threads(true);
	expect_connects(&crowd, crowd.next++);
	peers = count_peers();
	counts_read(&crowd.node, &crowd.self, &before);
	injection_of_pages(true);
	EXPECT_TRUE(WAIT_FOR(connects(&crowd)));
	ret = try_connect(&crowd, crowd.next, &handle);
	injection_of_pages(false);
	EXPECT_EQ(ret, -ENOMEM);
	counts_expect(&crowd.node, &crowd.self, 1, ret, &before);
	EXPECT_EQ(count_peers(), peers);
	injection_of_kernel_threads(false);
	expect_connects(&crowd, crowd.next);
	EXPECT_EQ(count_peers(), peers + 1);
	nodes_end(&crowd);
}

INJECTION_TEST_MAIN(fabric_start_none, NULL)
