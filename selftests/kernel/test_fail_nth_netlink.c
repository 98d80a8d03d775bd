// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fail_nth_netlink.c - making and removing devices with every allocation
 *	and copy failing in turn
 *
 * Owns: the sweep of test_fail_nth.c for netlink, where the answer may be lost
 * as well, but the work may not be half done.
 */
#include "engine.h"
#include "injection.h"
#include "listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void request_new(struct request *request, const char *prefix)
{
	const struct model model = { .name = "sci-d330", .latency_ns = 4321 };

	request_begin(request, DMANIC_GENL_CMD_DEV_NEW, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_TYPE, "loop");
	mnl_attr_put_strz(request->header, DMANIC_A_NAME, prefix);
	mnl_attr_put_u32(request->header, DMANIC_A_NODES, 2);
	request_model(request, &model);
}

static void request_delete(struct request *request, const char *prefix)
{
	request_begin(request, DMANIC_GENL_CMD_DEV_DEL, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_FABRIC, prefix);
}

TEST_TIMEOUT(fail_nth_netlink, new_is_all_or_nothing, 120)
{
	int control = injection_open(), ret = 0;
	char prefix[DMANIC_NAME_MAX];
	struct request request;
	bool injected = true;
	unsigned int nth, nodes;

	snprintf(prefix, sizeof(prefix), "t%da_", getpid());
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		request_new(&request, prefix);
		ret = request_send_armed(control, nth, &request, &injected);
		nodes = device_dump(prefix, NULL, 0);
		if (!injected)
			break;
		EXPECT_TRUE(nodes == 0 || nodes == 2);
		if (ret <= 0)
			EXPECT_EQ(nodes, ret ? 0 : 2);
		if (nodes)
			ASSERT_EQ(fabric_delete(prefix, true), 0);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(nodes, 2);
	EXPECT_GT(nth, 10);
}

/* With a listener: a message that could not be made is one he knows he lost */
static struct listener listener;

TEST_TIMEOUT(fail_nth_netlink, delete_is_all_or_nothing, 120)
{
	int control = injection_open(), ret = 0;
	struct request request;
	bool injected = true;
	unsigned int nth, nodes;
	struct fabric own;
	struct heard heard;

	listener_open(&listener, 0);
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		fabric_make(&own, "a", 2, NULL);
		request_delete(&request, own.prefix);
		ret = request_send_armed(control, nth, &request, &injected);
		nodes = device_dump(own.prefix, NULL, 0);
		heard = listener_hear(&listener);
		EXPECT_TRUE(heard_told(&heard, DMANIC_EVENT_REMOVED, 2 - nodes));
		if (!injected)
			break;
		EXPECT_TRUE(nodes == 0 || nodes == 2);
		if (ret <= 0)
			EXPECT_EQ(nodes, ret ? 2 : 0);
		if (nodes)
			ASSERT_EQ(fabric_delete(own.prefix, true), 0);
		listener_hear(&listener);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(nodes, 0);
	EXPECT_GT(nth, 1);
	listener_close(&listener);
}

/*
 * A program has things of one of them, and cannot keep it: it goes on as before, or both
 * devices are gone, and it is told so
 */
TEST_TIMEOUT(fail_nth_netlink, forced_delete_in_use_is_all_or_nothing, 240)
{
	const struct dmanic_sqe nop = { .opcode = DMANIC_OP_NOP };
	int control = injection_open(), ret = 0;
	struct request request;
	bool injected = true;
	unsigned int nth, nodes = 0;
	struct segment segment;
	struct queue queue;
	struct fabric own;
	struct node node;

	for (nth = 1; nth < FAULTS_MAX && injected; nth++) {
		fabric_make(&own, "a", 2, NULL);
		node = node_open(&own, 0);
		segment = segment_make(&node, 65536);
		queue = queue_make(&node, 4, 4);
		request_delete(&request, own.prefix);
		mnl_attr_put(request.header, DMANIC_A_FORCE, 0, NULL);
		ret = request_send_armed(control, nth, &request, &injected);
		nodes = device_dump(own.prefix, NULL, 0);
		EXPECT_TRUE(nodes == 0 || nodes == 2);
		if (ret <= 0)
			EXPECT_EQ(nodes, ret ? 2 : 0);
		if (nodes)
			EXPECT_EQ(queue_run(&queue, &nop).status, DMANIC_STATUS_OK);
		else
			EXPECT_EQ(queue_enter(&queue, 0, 0, 0), -ENODEV);
		segment_unmap(&segment);
		queue_close(&queue);
		node_close(&node);
		if (nodes)
			ASSERT_EQ(fabric_delete(own.prefix, false), 0);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 2);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(nodes, 0);
	EXPECT_GT(nth, 2);
}

/*
 * One more program has it open each time than ever before, so that the text which says how
 * many has to be made
 */
#define PROGRAMS_MAX	64U

TEST_TIMEOUT(fail_nth_netlink, refused_delete_changes_nothing, 120)
{
	int control = injection_open(), ret = 0;
	struct node nodes[PROGRAMS_MAX];
	char count[16];
	struct request request;
	unsigned int nth, i;
	bool injected = true;
	struct fabric own;

	fabric_make(&own, "a", 2, NULL);
	for (nth = 1; nth <= PROGRAMS_MAX && injected; nth++) {
		nodes[nth - 1] = node_open(&own, nth % 2);
		request_delete(&request, own.prefix);
		ret = request_refused_armed(control, nth, &request, -EBUSY, &injected);
		EXPECT_NE(ret, 0);
		ASSERT_EQ(device_dump(own.prefix, NULL, 0), 2);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 2);
	EXPECT_TRUE(!injected);
	EXPECT_EQ(ret, -EBUSY);
	EXPECT_GT(nth, 2);
	request_delete(&request, own.prefix);
	EXPECT_EQ(request_send(&request, NULL, NULL), -EBUSY);
	snprintf(count, sizeof(count), ": %u;", nth - 1);
	EXPECT_TRUE(strstr(request.message, count));
	for (i = 0; i < nth - 1; i++)
		node_close(&nodes[i]);
	ASSERT_EQ(fabric_delete(own.prefix, false), 0);
}

/* Changes of both kinds, in one request for both nodes of a fabric */
#define LATENCY_NS	4321

static void request_set(struct request *request, const char *prefix, bool failed)
{
	const struct model model = { .latency_ns = LATENCY_NS };
	const struct model none = { .name = "none" };

	request_begin(request, DMANIC_GENL_CMD_DEV_SET, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_FABRIC, prefix);
	mnl_attr_put_u8(request->header, DMANIC_A_FAILED, failed);
	request_model(request, failed ? &model : &none);
}

/* How many of the changes that request_set() asks for were made */
static unsigned int changes(const struct fabric *of)
{
	char name[DMANIC_NAME_MAX];
	unsigned int i, made = 0;
	struct device device;

	for (i = 0; i < of->nodes; i++) {
		fabric_name(of, i, name);
		ASSERT_EQ(device_get(name, &device), 0);
		made += device.state == DMANIC_DEV_FAILED;
		made += device.model.latency_ns == LATENCY_NS;
	}
	return made;
}

TEST_TIMEOUT(fail_nth_netlink, set_is_all_or_nothing, 120)
{
	int control = injection_open(), ret = 0;
	struct request request;
	unsigned int nth, made;
	bool injected = true;
	struct fabric own;
	struct heard heard;

	fabric_make(&own, "a", 2, NULL);
	listener_open(&listener, 0);
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		request_set(&request, own.prefix, true);
		ret = request_send_armed(control, nth, &request, &injected);
		made = changes(&own);
		heard = listener_hear(&listener);
		EXPECT_TRUE(heard_told(&heard, DMANIC_EVENT_FAILED, made / 2));
		EXPECT_TRUE(heard_told(&heard, DMANIC_EVENT_MODEL, made / 2));
		if (!injected)
			break;
		EXPECT_TRUE(made == 0 || made == 4);
		if (ret <= 0)
			EXPECT_EQ(made, ret ? 0 : 4);
		request_set(&request, own.prefix, false);
		ASSERT_EQ(request_send(&request, NULL, NULL), 0);
		ASSERT_EQ(changes(&own), 0);
		listener_hear(&listener);
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(made, 4);
	EXPECT_GT(nth, 1);
	listener_close(&listener);
}

static int count_messages(const struct nlmsghdr *header, void *data)
{
	(void)header;
	++*(unsigned int *)data;
	return MNL_CB_OK;
}

/*
 * Until a call meets no fault: how many there were. What went well told all there is to tell,
 * as often as the last one
 */
static unsigned int looks(int control, __u8 command, const char *name)
{
	unsigned int nth, seen, all = 0;
	struct request request;
	bool injected = true;
	int ret = 0;

	for (nth = 1; nth < FAULTS_MAX; nth++) {
		request_look(&request, command, name);
		seen = 0;
		ret = request_ask_armed(control, nth, &request, count_messages, &seen, &injected);
		if (!ret && !all)
			all = seen;
		if (!ret)
			EXPECT_EQ(seen, all);
		if (!injected)
			break;
		ASSERT_TRUE(!harness_failed());
	}
	EXPECT_EQ(ret, 0);
	EXPECT_LT(nth, FAULTS_MAX);
	return nth - 1;
}

TEST_TIMEOUT(fail_nth_netlink, looking_changes_nothing, 120)
{
	static const __u8 commands[] = {
		DMANIC_GENL_CMD_DEV_GET, DMANIC_GENL_CMD_STATS_GET, DMANIC_GENL_CMD_PEER_GET,
	};
	unsigned int i, faults = 0, some;
	int control = injection_open();
	char name[DMANIC_NAME_MAX];
	struct fabric own;

	fabric_make(&own, "a", 2, NULL);
	fabric_name(&own, 0, name);
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		some = looks(control, commands[i], NULL);
		EXPECT_GT(some, 0);
		faults += some;
		/* Peers are only listed */
		if (commands[i] != DMANIC_GENL_CMD_PEER_GET)
			faults += looks(control, commands[i], name);
	}
	faults_told(faults);
	EXPECT_EQ(changes(&own), 0);
	EXPECT_EQ(device_dump(own.prefix, NULL, 0), 2);
}

/* With an engine for the fabric: whoever did not get it has not got it. */
TEST_TIMEOUT(fail_nth_netlink, new_leaks_no_engine, 120)
{
	int control = injection_open(), ret = 0;
	char prefix[DMANIC_NAME_MAX];
	struct request request;
	unsigned int nth, used = 0;
	bool injected = true;

	engine_load("");
	ASSERT_EQ(put_text(ENGINE_MODE, "always"), 0);
	snprintf(prefix, sizeof(prefix), "t%da_", getpid());
	for (nth = 1; nth < FAULTS_MAX && injected; nth++) {
		request_new(&request, prefix);
		ret = request_send_armed(control, nth, &request, &injected);
		used += engine_in_use() > 0;
		if (device_dump(prefix, NULL, 0))
			ASSERT_EQ(fabric_delete(prefix, true), 0);
		ASSERT_EQ(engine_in_use(), 0);
	}
	faults_told(nth - 2);
	EXPECT_EQ(ret, 0);
	EXPECT_GT(nth, 10);
	ASSERT_EQ(put_text(ENGINE_MODE, "auto"), 0);
	/* Else there was nothing to leak */
	EXPECT_GT(used, 0);
	EXPECT_EQ(engine_unload(), 0);
}

FABRIC_TEST_MAIN()
