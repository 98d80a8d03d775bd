// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fail_nth_pair.c - two ether devices that are connected and in use, with every
 *	allocation and copy failing in turn while they are looked at, or one of them is taken away
 *
 * Owns: the sweep of test_fail_nth.c for DEV_GET, STATS_GET and PEER_GET where there are peers,
 * for DEV_DEL by force, for DEV_SET of a key, and for a move of the network device to another
 * namespace. Each device has a context, a segment, an interrupt, a queue, and connections to
 * the other; operations of each kind are under way both ways, and do not end, as all frames to
 * the first one are lost on purpose. Whatever fails: the first one stays, as it was, and they
 * end well once frames arrive again; or it is gone, or has another key, and each has ended
 * once, for that reason.
 */
#include "injection.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of a segment: what it is written from and read from, and what the other one changes */
#define PART	4096U
#define SOURCE	0U
#define WRITTEN	PART		/* by the other one */
#define READ_TO	(2 * PART)	/* from the other one's source */
#define COUNT	(3 * PART)
#define BYTES	(4 * PART)

#define OPS	4U

/**
 * struct side - one of the devices, and who uses it
 * @netdev: the network device that it is on, an end of a veth pair
 * @node: it
 * @segment: of BYTES, where the other one writes to and reads from
 * @irq: what the other one notifies
 * @queue: of the operations with the other one
 * @handle: to the other one's segment
 * @notify: to the other one's interrupt
 */
struct side {
	char netdev[IFNAMSIZ];
	struct node node;
	struct segment segment;
	struct irq irq;
	struct queue queue;
	__u32 handle;
	__u32 notify;
};

static struct side sides[2];
static struct fabric own = { .nodes = ARRAY_SIZE(sides) };
static unsigned int fds;	/* before there was any of this */

/* ---- the two ---- */

/* No node is taken for dead meanwhile */
static void device_make(unsigned int node)
{
	struct request request;

	request_ether(&request, &own, node, slow_ns(30000));
	mnl_attr_put_strz(request.header, DMANIC_A_NETDEV, sides[node].netdev);
	ASSERT_EQ(request_send(&request, NULL, NULL), 0);
}

static void side_open(unsigned int node)
{
	struct side *side = &sides[node];

	side->node = node_open(&own, node);
	side->segment = segment_make(&side->node, BYTES);
	segment_export(&side->segment, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE |
		       DMANIC_RIGHT_ATOMIC);
	side->irq = irq_make(&side->node, 8);
	side->queue = queue_make(&side->node, 8, 8);
}

/* Its device may be gone: everything else is its users' */
static void side_close(struct side *side)
{
	queue_close(&side->queue);
	irq_close(&side->irq);
	segment_unmap(&side->segment);
	node_close(&side->node);
}

static void side_connect(struct side *side, const struct side *other)
{
	side->handle = segment_connect(&side->node, &other->segment);
	side->notify = irq_connect(&side->node, &other->irq);
}

static void pair_connect(void)
{
	side_connect(&sides[0], &sides[1]);
	side_connect(&sides[1], &sides[0]);
}

static void pair_make(void)
{
	unsigned int i;

	fds = count_fds();
	snprintf(own.prefix, sizeof(own.prefix), "t%da_", getpid());
	veth_make(sides[0].netdev, sides[1].netdev);
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		device_make(i);
		side_open(i);
	}
	pair_connect();
}

/* Nobody has it open any more, whatever became of it; and it lets go of its network device */
static void pair_end(void)
{
	char command[64], name[DMANIC_NAME_MAX];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		side_close(&sides[i]);
		fabric_name(&own, i, name);
		EXPECT_TRUE(WAIT_FOR(!device_delete(name, false)));
	}
	EXPECT_EQ(count_fds(), fds);
	snprintf(command, sizeof(command), "ip link del %s", sides[0].netdev);
	EXPECT_EQ(system(command), 0);
}

/* Each writes to the other */
static void expect_moves(unsigned int nth)
{
	struct side *side, *other;
	struct dmanic_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		side = &sides[i];
		other = &sides[!i];
		fill(side->segment.data + SOURCE, PART, 2 * nth + i);
		sqe = sqe_move(DMANIC_OP_WRITE, side->segment.id, SOURCE, side->handle, WRITTEN,
			       PART);
		EXPECT_EQ(queue_run(&side->queue, &sqe).status, DMANIC_STATUS_OK);
		EXPECT_EQ(memcmp(side->segment.data + SOURCE, other->segment.data + WRITTEN,
				 PART), 0);
	}
}

static void side_ask(const struct side *side, struct device *device)
{
	ASSERT_EQ(device_get(side->node.name, device), 0);
}

static bool side_is_up(const struct side *side)
{
	struct device now;

	side_ask(side, &now);
	return now.state == DMANIC_DEV_UP;
}

/* Up, though it may have been told of its carrier a bit later than frames went through */
static void expect_same(const struct side *side, const struct device *before)
{
	struct device now;

	EXPECT_TRUE(WAIT_FOR(side_is_up(side)));
	side_ask(side, &now);
	EXPECT_EQ(now.incarnation, before->incarnation);
	EXPECT_EQ(now.contexts, before->contexts);
	EXPECT_EQ(now.segments, before->segments);
	EXPECT_EQ(now.queues, before->queues);
	EXPECT_EQ(now.irqs, before->irqs);
	EXPECT_EQ(now.pinned, before->pinned);
}

/* ---- who looks ---- */

/* Of these two: devices, or what each knows of the other, with a connection */
static int count_row(const struct nlmsghdr *header, void *data)
{
	const struct genlmsghdr *generic = mnl_nlmsg_get_payload(header);
	struct device device = { .name = "" };
	unsigned int *rows = data;

	read_device(header, &device);
	if (strncmp(device.name, own.prefix, strlen(own.prefix)) != 0)
		return MNL_CB_OK;
	if (generic->cmd != DMANIC_GENL_CMD_PEER_GET)
		++*rows;
	else if (device.peer_link == DMANIC_PEER_LINK_OPEN && device.peer < own.nodes)
		++*rows;
	return MNL_CB_OK;
}

/* Until it meets no fault: how many there were. Who is told that it was all was told all */
static unsigned int looks(int control, __u8 command, const char *name)
{
	unsigned int nth, rows, all = name ? 1 : own.nodes;
	struct request request;
	bool injected = true;
	int ret = -1;

	for (nth = 1; nth < FAULTS_MAX && injected; nth++) {
		rows = 0;
		request_look(&request, command, name);
		ret = request_ask_armed(control, nth, &request, count_row, &rows, &injected);
		if (!ret && rows != all)
			FAIL("command %u, fault %u: %u of %u are told, as if there were no more",
			     command, nth, rows, all);
		ASSERT_TRUE(!harness_failed());
	}
	EXPECT_EQ(ret, 0);
	EXPECT_LT(nth, FAULTS_MAX);
	return nth - 2;
}

TEST_TIMEOUT(fail_nth_pair, who_looks_is_told_all_or_an_error, 120)
{
	static const __u8 commands[] = {
		DMANIC_GENL_CMD_DEV_GET, DMANIC_GENL_CMD_STATS_GET, DMANIC_GENL_CMD_PEER_GET,
	};
	unsigned int i, faults = 0, some;
	int control = injection_open();
	struct device before[2];

	pair_make();
	side_ask(&sides[0], &before[0]);
	side_ask(&sides[1], &before[1]);
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		some = looks(control, commands[i], NULL);
		EXPECT_GT(some, 0);
		faults += some;
		/* Peers are only listed */
		if (commands[i] != DMANIC_GENL_CMD_PEER_GET)
			faults += looks(control, commands[i], sides[0].node.name);
	}
	faults_told(faults);
	expect_same(&sides[0], &before[0]);
	expect_same(&sides[1], &before[1]);
	expect_moves(0);
	pair_end();
}

/* ---- one of them goes ---- */

/* Frames to the first one, parts per million */
static void lose(__u32 share)
{
	struct request request;
	struct nlattr *nest;

	request_begin(&request, DMANIC_GENL_CMD_DEV_SET, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, sides[0].node.name);
	nest = mnl_attr_nest_start(request.header, DMANIC_A_FAULT);
	mnl_attr_put_u32(request.header, DMANIC_FAULT_A_DROP, share);
	mnl_attr_nest_end(request.header, nest);
	ASSERT_EQ(request_send(&request, NULL, NULL), 0);
}

static void post_all(struct side *side)
{
	const struct dmanic_sqe ops[OPS] = {
		sqe_move(DMANIC_OP_WRITE, side->segment.id, SOURCE, side->handle, WRITTEN, PART),
		sqe_move(DMANIC_OP_READ, side->segment.id, READ_TO, side->handle, SOURCE, PART),
		sqe_atomic(DMANIC_OP_FETCH_ADD, side->handle, COUNT, 1, 0),
		sqe_notify(side->notify, 1),
	};
	struct dmanic_sqe *sqe;
	unsigned int i;

	for (i = 0; i < OPS; i++) {
		sqe = queue_sqe(&side->queue);
		*sqe = ops[i];
		sqe->cookie = i;
	}
	queue_submit(&side->queue);
}

#define STATUS(name)	(1U << DMANIC_STATUS_##name)

/* Each of them once, as one of these */
static void expect_ended(struct side *side, __u32 statuses)
{
	unsigned int i, ended = 0;
	struct dmanic_cqe cqe;

	for (i = 0; i < OPS && WAIT_FOR(queue_reap(&side->queue, &cqe)); i++) {
		EXPECT_LT(cqe.cookie, OPS);
		EXPECT_EQ(ended & 1U << cqe.cookie % OPS, 0);
		ended |= 1U << cqe.cookie % OPS;
		if (!(1U << cqe.status & statuses))
			FAIL("operation %llu ended with status %u", cqe.cookie, cqe.status);
	}
	EXPECT_EQ(ended, (1U << OPS) - 1);
	EXPECT_TRUE(!queue_reap(&side->queue, &cqe));
}

static void expect_pending(struct side *side)
{
	EXPECT_EQ(load32(&side->queue.ring->cq_tail), side->queue.head);
	EXPECT_EQ(queue_flags(&side->queue) & DMANIC_RING_DEAD, 0);
}

/**
 * struct under_way - what is pending while the first device goes, or does not
 * @before: of each device
 * @counted: at each, by the other one
 * @raised: at each, by the other one
 */
struct under_way {
	struct device before[2];
	__u64 counted[2];
	__u64 raised[2];
};

static __u64 *count_of(const struct side *side)
{
	return (__u64 *)(side->segment.data + COUNT);
}

static void begin(struct under_way *way, unsigned int nth)
{
	unsigned int i;

	lose(1000000);
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		side_ask(&sides[i], &way->before[i]);
		way->counted[i] = *count_of(&sides[i]);
		way->raised[i] = irq_raised(&sides[i].irq);
		fill(sides[i].segment.data + SOURCE, PART, 2 * nth + i);
	}
	for (i = 0; i < ARRAY_SIZE(sides); i++)
		post_all(&sides[i]);
	for (i = 0; i < ARRAY_SIZE(sides); i++)
		expect_pending(&sides[i]);
}

/* What is done once, however often it was sent */
static void expect_done(const struct under_way *way, unsigned int i)
{
	const __u8 *mine = sides[i].segment.data, *theirs = sides[!i].segment.data;

	EXPECT_EQ(memcmp(mine + SOURCE, theirs + WRITTEN, PART), 0);
	EXPECT_EQ(memcmp(theirs + SOURCE, mine + READ_TO, PART), 0);
	EXPECT_EQ(*count_of(&sides[!i]), way->counted[!i] + 1);
	EXPECT_EQ(irq_raised(&sides[!i].irq), way->raised[!i] + 1);
}

/* It stays: nothing is different, and what is under way goes on */
static void expect_stays(const struct under_way *way)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		expect_same(&sides[i], &way->before[i]);
		expect_pending(&sides[i]);
	}
	EXPECT_NE(if_nametoindex(sides[0].netdev), 0);
	lose(0);
	for (i = 0; i < ARRAY_SIZE(sides); i++)
		expect_ended(&sides[i], STATUS(OK));
	for (i = 0; i < ARRAY_SIZE(sides); i++)
		expect_done(way, i);
}

/* It is gone, for its users too; of its file the kernel may have lost the name */
static void expect_gone(void)
{
	struct side *side = &sides[0];
	struct segment segment;

	EXPECT_LT(node_path_open(side->node.name, O_RDWR), 0);
	EXPECT_NE(queue_flags(&side->queue) & DMANIC_RING_DEAD, 0);
	expect_ended(side, STATUS(LINK_DOWN));
	EXPECT_EQ(queue_enter(&side->queue, 1, 0, 0), -ENODEV);
	EXPECT_EQ(irq_wait(&side->irq, 0, 0, NULL), -ENODEV);
	EXPECT_EQ(segment_create(&side->node, PART, &segment), -ENODEV);
}

/*
 * Another device on the same network device, and somebody who uses it. The other one was told
 * that the first is gone, unless that frame met the fault: then what it sends is answered by
 * who does not know it.
 */
static void come_back(const struct under_way *way)
{
	struct side *side = &sides[0], *other = &sides[1];

	side_close(side);
	device_make(0);
	expect_ended(other, STATUS(PEER_DEAD) | STATUS(PEER_RESTARTED));
	EXPECT_EQ(disconnect(&other->node, other->handle), 0);
	EXPECT_EQ(disconnect(&other->node, other->notify), 0);
	side_open(0);
	pair_connect();
	expect_same(other, &way->before[1]);
}

/**
 * struct way_to_go - what takes the first device away
 * @go: with a fault: 0 or -errno as told, 1 when nothing was told; out: @more there was such
 *	a fault
 * @restore: its network device is as it was; or NULL
 */
struct way_to_go {
	int (*go)(int control, unsigned int nth, bool *more);
	void (*restore)(void);
};

static bool is_gone(void)
{
	struct device device;
	int ret = device_get(sides[0].node.name, &device);

	ASSERT_TRUE(!ret || ret == -ENODEV);
	return ret < 0;
}

/* True: it went */
static bool try_once(const struct way_to_go *how, int control, unsigned int nth, bool *more)
{
	struct under_way way;
	bool gone;
	int ret;

	begin(&way, nth);
	ret = how->go(control, nth, more);
	gone = is_gone();
	if (ret < 0)
		errno_expect(nth, ret);
	if (ret <= 0)
		EXPECT_EQ(gone, !ret);
	if (gone) {
		expect_gone();
		if (how->restore)
			how->restore();
		come_back(&way);
	} else {
		expect_stays(&way);
	}
	expect_moves(nth);
	if (harness_failed())
		FAIL("fault %u, answered %d: the device %s", nth, ret, gone ? "went" : "stayed");
	return gone;
}

/**
 * struct outcome - of a sweep
 * @went: how often it went
 * @stayed: how often not
 */
struct outcome {
	unsigned int went;
	unsigned int stayed;
};

/* Until it meets no fault, or, if that is wanted, until it goes: how many there were */
static unsigned int sweep(const struct way_to_go *how, int control, bool until_it_goes,
			  struct outcome *outcome)
{
	bool more = true, went;
	unsigned int nth;

	for (nth = 1; nth < FAULTS_MAX && more; nth++) {
		went = try_once(how, control, nth, &more);
		if (went)
			outcome->went++;
		else
			outcome->stayed++;
		more &= !(went && until_it_goes);
	}
	return nth - 2;
}

static int delete_it(int control, unsigned int nth, bool *more)
{
	struct request request;

	request_begin(&request, DMANIC_GENL_CMD_DEV_DEL, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, sides[0].node.name);
	mnl_attr_put(request.header, DMANIC_A_FORCE, 0, NULL);
	return request_send_armed(control, nth, &request, more);
}

TEST_TIMEOUT(fail_nth_pair, forced_delete_in_use_is_all_or_nothing, 240)
{
	static const struct way_to_go deletion = { .go = delete_it };
	struct outcome outcome = { 0 };
	int control = injection_open();

	pair_make();
	faults_told(sweep(&deletion, control, false, &outcome));
	harness_note("it went in spite of %u of them", outcome.went - 1);
	/* Else there was no fault before it, or none at all */
	EXPECT_GT(outcome.stayed, 0);
	EXPECT_GT(outcome.went, 1);
	pair_end();
}

/* ---- it has another key ---- */

static void key_begin(struct request *request, unsigned int node, unsigned int nth)
{
	__u8 key[16];

	memset(key, (int)nth, sizeof(key));
	request_begin(request, DMANIC_GENL_CMD_DEV_SET, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_NAME, sides[node].node.name);
	mnl_attr_put(request->header, DMANIC_A_KEY, sizeof(key), key);
	mnl_attr_put_u32(request->header, DMANIC_A_KEY_ID, nth);
}

/*
 * The other one was told that connections end, unless that frame met the fault; then it
 * is its own key that ends them. Both have the same one then, and find each other; what
 * waited behind the READ begins only then.
 */
static void expect_rekeyed(const struct under_way *way, unsigned int nth)
{
	struct request request;
	unsigned int i;

	key_begin(&request, 1, nth);
	ASSERT_EQ(request_send(&request, NULL, NULL), 0);
	lose(0);
	expect_ended(&sides[0], STATUS(LINK_DOWN) | STATUS(OK));
	expect_ended(&sides[1], STATUS(PEER_DEAD) | STATUS(LINK_DOWN) | STATUS(OK));
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		expect_same(&sides[i], &way->before[i]);
		EXPECT_EQ(disconnect(&sides[i].node, sides[i].handle), 0);
		EXPECT_EQ(disconnect(&sides[i].node, sides[i].notify), 0);
	}
	pair_connect();
}

/* True: it was set */
static bool try_key(int control, unsigned int nth, bool *more)
{
	struct under_way way;
	struct request request;
	struct device now;
	bool set;
	int ret;

	begin(&way, nth);
	key_begin(&request, 0, nth);
	ret = request_send_armed(control, nth, &request, more);
	side_ask(&sides[0], &now);
	set = now.key_id == nth;
	if (ret < 0)
		errno_expect(nth, ret);
	if (ret <= 0)
		EXPECT_EQ(set, !ret);
	if (set) {
		expect_rekeyed(&way, nth);
	} else {
		EXPECT_EQ(now.key_id, way.before[0].key_id);
		expect_stays(&way);
	}
	expect_moves(nth);
	if (harness_failed())
		FAIL("fault %u, answered %d: the key was %s", nth, ret, set ? "set" : "not set");
	return set;
}

TEST_TIMEOUT(fail_nth_pair, key_in_use_is_all_or_nothing, 240)
{
	unsigned int nth, set = 0;
	int control = injection_open();
	bool more = true;

	pair_make();
	for (nth = 1; nth < FAULTS_MAX && more; nth++)
		set += try_key(control, nth, &more);
	faults_told(nth - 2);
	harness_note("it was set in spite of %u of them", set - 1);
	/* Else there was no fault before it */
	EXPECT_GT(nth - 1, set);
	EXPECT_GT(set, 0);
	pair_end();
}

/* ---- its network device goes elsewhere ---- */

static char elsewhere[IFNAMSIZ];	/* a namespace */
static int elsewhere_fd;

static void move_prepare(void)
{
	char command[64], path[64];

	snprintf(elsewhere, sizeof(elsewhere), "t%d", getpid());
	snprintf(command, sizeof(command), "ip netns add %s", elsewhere);
	ASSERT_EQ(system(command), 0);
	snprintf(path, sizeof(path), "/run/netns/%s", elsewhere);
	elsewhere_fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_TRUE(elsewhere_fd >= 0);
}

static void move_end(void)
{
	char command[64];

	ASSERT_EQ(close(elsewhere_fd), 0);
	snprintf(command, sizeof(command), "ip netns del %s", elsewhere);
	ASSERT_EQ(system(command), 0);
}

static int move_it(int control, unsigned int nth, bool *more)
{
	struct request request;

	link_begin(&request, RTM_NEWLINK, sides[0].netdev);
	mnl_attr_put_u32(request.header, IFLA_NET_NS_FD, (__u32)elsewhere_fd);
	return link_send_armed(control, nth, &request, more);
}

static void move_back(void)
{
	char command[128];

	EXPECT_EQ(if_nametoindex(sides[0].netdev), 0);
	snprintf(command, sizeof(command), "ip -n %s link set %s netns %d && ip link set %s up",
		 elsewhere, sides[0].netdev, getpid(), sides[0].netdev);
	ASSERT_EQ(system(command), 0);
}

/*
 * First what fails before it goes; then what fails in the driver as it does. What the kernel
 * does for itself behind that is not tried: it has no way back then, and warns.
 */
TEST_TIMEOUT(fail_nth_pair, netdev_that_moves_in_use_is_all_or_nothing, 240)
{
	static const struct way_to_go move = { .go = move_it, .restore = move_back };
	struct outcome before = { 0 }, inside = { 0 };
	int control = injection_open();
	unsigned int faults;

	pair_make();
	move_prepare();
	faults = sweep(&move, control, true, &before) + 1;
	EXPECT_GT(before.stayed, 0);
	injection_of_driver();
	faults += sweep(&move, control, false, &inside);
	faults_told(faults);
	harness_note("it went in spite of %u of them", before.went + inside.went - 1);
	EXPECT_EQ(inside.stayed, 0);
	EXPECT_GT(inside.went, 1);
	move_end();
	pair_end();
}

FABRIC_TEST_MAIN_NONE()
