// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_event.c - what listeners hear of devices that come, change and go
 *
 * Owns: the multicast group "events": an event for each change and none for
 * what was no change; only in the device's network namespace; and that a
 * listener who does not listen holds nobody up, but is told that he lost some.
 */
#include "listener.h"
#include "dmanic_test.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

FIXTURE(event) {
	struct listener listener;
};

FIXTURE_SETUP(event)
{
	listener_open(&self->listener, 0);
}

FIXTURE_TEARDOWN(event)
{
}

/* The next event, which must be this one */
static struct device expect_event(struct event_self *self, __u32 kind,
				  const struct fabric *of, unsigned int node)
{
	char name[DMANIC_NAME_MAX];
	struct device event;

	ASSERT_EQ(listener_next(&self->listener, &event), 0);
	fabric_name(of, node, name);
	EXPECT_EQ(event.event, kind);
	EXPECT_EQ(strcmp(event.name, name), 0);
	EXPECT_EQ(strcmp(event.fabric, of->prefix), 0);
	EXPECT_EQ(strcmp(event.type, "loop"), 0);
	EXPECT_EQ(event.node, node);
	EXPECT_TRUE(event.has_model);
	return event;
}

static void expect_silence(struct event_self *self)
{
	struct device event;

	EXPECT_EQ(listener_next(&self->listener, &event), -EAGAIN);
}

TEST_F(event, added_when_all_are_there)
{
	struct device event;
	struct fabric own;
	unsigned int i;

	fabric_make(&own, "a", 3, &(struct model){ .name = "sci-d330" });
	for (i = 0; i < 3; i++) {
		event = expect_event(self, DMANIC_EVENT_ADDED, &own, i);
		EXPECT_EQ(event.nodes, 3);
		EXPECT_EQ(event.state, DMANIC_DEV_UP);
		EXPECT_EQ(event.incarnation, 1);
		EXPECT_EQ(strcmp(event.model_name, "sci-d330"), 0);
	}
	expect_silence(self);
}

/* What was refused did not happen, not even for a moment. */
TEST_F(event, none_for_what_is_refused)
{
	char name[DMANIC_NAME_MAX];
	struct fabric own, longer;
	struct request request;

	fabric_make(&own, "a", 1, NULL);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 0);
	/* ta_1 makes ta_10, on which ta_ fails after it has made some */
	snprintf(longer.prefix, sizeof(longer.prefix), "%.20s1", own.prefix);
	request_begin(&request, DMANIC_GENL_CMD_DEV_NEW, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_TYPE, "loop");
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, longer.prefix);
	mnl_attr_put_u32(request.header, DMANIC_A_NODES, 1);
	ASSERT_EQ(request_send(&request, NULL, NULL), 0);
	expect_event(self, DMANIC_EVENT_ADDED, &longer, 0);
	ASSERT_EQ(fabric_delete(own.prefix, false), 0);
	expect_event(self, DMANIC_EVENT_REMOVED, &own, 0);
	request_begin(&request, DMANIC_GENL_CMD_DEV_NEW, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_TYPE, "loop");
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, own.prefix);
	mnl_attr_put_u32(request.header, DMANIC_A_NODES, 11);
	EXPECT_EQ(request_send(&request, NULL, NULL), -EEXIST);
	fabric_name(&longer, 0, name);
	EXPECT_EQ(device_set_model(name, &(struct model){ .name = "x" }),
		  -ENOENT);
	EXPECT_EQ(device_set_failed("nobody", true), -ENODEV);
	EXPECT_EQ(fabric_delete("nobody", true), -ENODEV);
	expect_silence(self);
	EXPECT_EQ(fabric_delete(longer.prefix, false), 0);
	expect_event(self, DMANIC_EVENT_REMOVED, &longer, 0);
}

TEST_F(event, changes)
{
	char name[DMANIC_NAME_MAX];
	struct device event;
	struct fabric own;

	fabric_make(&own, "a", 2, NULL);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 0);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 1);
	fabric_name(&own, 1, name);
	ASSERT_EQ(device_set_model(name, &(struct model){ .start_ns = 7 }), 0);
	event = expect_event(self, DMANIC_EVENT_MODEL, &own, 1);
	EXPECT_EQ(event.model.start_ns, 7);
	EXPECT_EQ(strcmp(event.model_name, "custom"), 0);
	ASSERT_EQ(device_set_failed(name, true), 0);
	event = expect_event(self, DMANIC_EVENT_FAILED, &own, 1);
	EXPECT_EQ(event.state, DMANIC_DEV_FAILED);
	EXPECT_EQ(event.incarnation, 1);
	/* Again is no change */
	ASSERT_EQ(device_set_failed(name, true), 0);
	expect_silence(self);
	ASSERT_EQ(device_set_failed(name, false), 0);
	event = expect_event(self, DMANIC_EVENT_RESTARTED, &own, 1);
	EXPECT_EQ(event.state, DMANIC_DEV_UP);
	EXPECT_EQ(event.incarnation, 2);
	ASSERT_EQ(device_set_failed(name, false), 0);
	expect_silence(self);
}

/* Both of one request, and the whole fabric by another */
TEST_F(event, changes_of_one_request)
{
	struct request request;
	struct fabric own;
	unsigned int i;

	fabric_make(&own, "a", 2, NULL);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 0);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 1);
	request_begin(&request, DMANIC_GENL_CMD_DEV_SET, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_FABRIC, own.prefix);
	mnl_attr_put_u8(request.header, DMANIC_A_FAILED, 1);
	request_model(&request, &(struct model){ .name = "eth-25g" });
	ASSERT_EQ(request_send(&request, NULL, NULL), 0);
	for (i = 0; i < 2; i++) {
		expect_event(self, DMANIC_EVENT_MODEL, &own, i);
		expect_event(self, DMANIC_EVENT_FAILED, &own, i);
	}
	expect_silence(self);
}

TEST_F(event, removed_though_in_use)
{
	char name[DMANIC_NAME_MAX];
	struct device event;
	struct fabric own;
	struct node node;

	fabric_make(&own, "a", 3, NULL);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 0);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 1);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 2);
	fabric_name(&own, 1, name);
	ASSERT_EQ(device_delete(name, false), 0);
	event = expect_event(self, DMANIC_EVENT_REMOVED, &own, 1);
	EXPECT_EQ(event.state, DMANIC_DEV_REMOVED);
	EXPECT_EQ(event.nodes, 2);
	node = node_open(&own, 0);
	segment_make(&node, 5000);
	EXPECT_EQ(fabric_delete(own.prefix, false), -EBUSY);
	expect_silence(self);
	ASSERT_EQ(fabric_delete(own.prefix, true), 0);
	event = expect_event(self, DMANIC_EVENT_REMOVED, &own, 0);
	EXPECT_EQ(event.contexts, 1);
	expect_event(self, DMANIC_EVENT_REMOVED, &own, 2);
	expect_silence(self);
}

/* Whoever may look may listen. */
TEST_F(event, unprivileged_may_listen)
{
	struct listener listener;
	struct device event;
	struct fabric own;
	int to[2], from[2], status;
	char byte = 0;
	pid_t child;

	ASSERT_EQ(pipe(to), 0);
	ASSERT_EQ(pipe(from), 0);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			_exit(2);
		listener_open(&listener, 0);
		if (write(from[1], &byte, 1) != 1 || read(to[0], &byte, 1) != 1)
			_exit(3);
		_exit(listener_next(&listener, &event) ||
		      event.event != DMANIC_EVENT_ADDED);
	}
	ASSERT_EQ(read(from[0], &byte, 1), 1);
	fabric_make(&own, "a", 1, NULL);
	ASSERT_EQ(write(to[1], &byte, 1), 1);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
}

/* Those of another network namespace are heard there alone. */
TEST_F(event, of_its_namespace_only)
{
	char name[DMANIC_NAME_MAX];
	struct listener there;
	struct device event;
	struct fabric own;
	int status;
	pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child) {
		ASSERT_EQ(unshare(CLONE_NEWNET), 0);
		listener_open(&there, 0);
		fabric_make(&own, "", 1, NULL);
		ASSERT_EQ(listener_next(&there, &event), 0);
		EXPECT_EQ(event.event, DMANIC_EVENT_ADDED);
		EXPECT_EQ(listener_next(&there, &event), -EAGAIN);
		/* The namespace goes with its devices and its listener */
		_exit(0);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	snprintf(own.prefix, sizeof(own.prefix), "t%d_", child);
	fabric_name(&own, 0, name);
	EXPECT_TRUE(WAIT_FOR(node_path_gone(name)));
	expect_silence(self);
}

/* A namespace that ends with listeners in others, and devices in use */
TEST_F(event, namespace_exit_is_quiet_elsewhere)
{
	char name[DMANIC_NAME_MAX];
	struct fabric own;
	int status, i;
	pid_t child;

	for (i = 0; i < 5; i++) {
		child = fork();
		ASSERT_GE(child, 0);
		if (!child) {
			struct node node;

			ASSERT_EQ(unshare(CLONE_NEWNET), 0);
			fabric_make(&own, "", 2, NULL);
			node = node_open(&own, 0);
			segment_make(&node, 5000);
			_exit(0);
		}
		ASSERT_EQ(waitpid(child, &status, 0), child);
		EXPECT_EQ(status, 0);
		snprintf(own.prefix, sizeof(own.prefix), "t%d_", child);
		fabric_name(&own, 1, name);
		EXPECT_TRUE(WAIT_FOR(node_path_gone(name)));
	}
	expect_silence(self);
}

/* Who does not listen loses events, learns that, and stops nobody. */
TEST_F(event, slow_listener_loses_and_knows)
{
	struct listener slow;
	char name[DMANIC_NAME_MAX];
	unsigned int heard = 0, all = 0, i;
	struct device event;
	struct fabric own;
	int ret;

	fabric_make(&own, "a", 1, NULL);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 0);
	fabric_name(&own, 0, name);
	listener_open(&slow, 4096);
	for (i = 1; i <= 300; i++) {
		ASSERT_EQ(device_set_model(name, &(struct model){
			.start_ns = i,
		}), 0);
		/* This one keeps up */
		while (!listener_next(&self->listener, &event))
			all++;
	}
	EXPECT_EQ(all, 300);
	EXPECT_EQ(listener_next(&slow, &event), -ENOBUFS);
	while (!(ret = listener_next(&slow, &event)))
		heard++;
	EXPECT_EQ(ret, -EAGAIN);
	EXPECT_GT(heard, 0);
	EXPECT_LT(heard, 300);
	/* It goes on with what happens next. */
	ASSERT_EQ(device_set_model(name, &(struct model){ .start_ns = 1 }), 0);
	EXPECT_EQ(listener_next(&slow, &event), 0);
	listener_close(&slow);
}

/* The module goes, in front of a listener who hears even that. */
TEST_F(event, module_unload_is_heard)
{
	struct fabric own;

	if (system("rmmod dmanic 2>/dev/null"))
		SKIP("the module cannot be removed here");
	ASSERT_EQ(system("modprobe dmanic"), 0);
	ASSERT_EQ(netlink_find_family(), 0);
	listener_close(&self->listener);
	listener_open(&self->listener, 0);
	fabric_make(&own, "a", 2, NULL);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 0);
	expect_event(self, DMANIC_EVENT_ADDED, &own, 1);
	ASSERT_EQ(system("rmmod dmanic"), 0);
	expect_event(self, DMANIC_EVENT_REMOVED, &own, 0);
	expect_event(self, DMANIC_EVENT_REMOVED, &own, 1);
	expect_silence(self);
	ASSERT_EQ(system("modprobe dmanic"), 0);
}

/* It is not a request. */
TEST_F(event, cannot_be_sent_by_others)
{
	struct request request;

	request_begin(&request, DMANIC_GENL_CMD_EVENT, 0);
	mnl_attr_put_strz(request.header, DMANIC_A_NAME, "x");
	EXPECT_EQ(request_send(&request, NULL, NULL), -EOPNOTSUPP);
	expect_silence(self);
}

FABRIC_TEST_MAIN_NONE()
