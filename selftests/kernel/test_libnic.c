// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_libnic.c - libnic and nictile on the real driver
 *
 * Owns: what no driver in memory can show: that eventfds wake a program that
 * armed them through libnic, that a strided put notifies, which refusals of the
 * kernel get which sentence, and that nictile sets and names the link's model.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <nic.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES	(1U << 20)

FIXTURE(libnic) {
	struct nic_ctx *near, *far;
	struct nic_segment *from, *to;
	struct nic_remote *inbox, *bell;
	struct nic_queue *queue;
	struct nic_irq *irq;
	int queue_fd, irq_fd;
	uint64_t key;
	struct fabric own;
};

FIXTURE_SETUP(libnic)
{
	struct nic_queue_options queue = {
		.size = sizeof(queue), .flags = NIC_EVENTFD, .entries = 8,
	};
	struct nic_irq_options irq = {
		.size = sizeof(irq), .flags = NIC_EVENTFD, .depth = 8,
	};
	char name[DMANIC_NAME_MAX];

	self->queue_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	self->irq_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	queue.eventfd = self->queue_fd;
	irq.eventfd = self->irq_fd;
	fabric_make(&self->own, "l", 2, NULL);
	fabric_name(&self->own, 0, name);
	ASSERT_EQ(nic_open(name, &self->near), 0);
	fabric_name(&self->own, 1, name);
	ASSERT_EQ(nic_open(name, &self->far), 0);
	ASSERT_EQ(nic_segment_alloc(self->near, BYTES, &self->from), 0);
	ASSERT_EQ(nic_segment_alloc(self->far, BYTES, &self->to), 0);
	ASSERT_EQ(nic_segment_export(self->to, NIC_WRITE, NULL, NULL,
				     &self->key), 0);
	ASSERT_EQ(nic_irq_create_with(self->far, &irq, &self->irq), 0);
	ASSERT_EQ(nic_connect(self->near, 1, nic_segment_id(self->to), self->key,
			      &self->inbox), 0);
	ASSERT_EQ(nic_connect_irq(self->near, 1, nic_irq_id(self->irq),
				  nic_irq_key(self->irq), &self->bell), 0);
	ASSERT_EQ(nic_queue_create_with(self->near, &queue, &self->queue), 0);
}

FIXTURE_TEARDOWN(libnic)
{
}

/* Sleep until @fd is signalled. Its count; 0: it never was. */
static __u64 sleep_on(int fd)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };
	__u64 count = 0;

	poll(&in, 1, 20000 * harness_slow());
	return read(fd, &count, sizeof(count)) < 0 ? 0 : count;
}

static bool says(const struct nic_ctx *ctx, const char *part)
{
	return strstr(nic_error_detail(ctx), part);
}

TEST_F(libnic, eventfds_wake_who_armed_them)
{
	struct nic_completion done;
	struct nic_event event;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(nic_queue_arm(self->queue), 0);
		ASSERT_EQ(nic_irq_arm(self->irq), 0);
		/* Too long to be done at once, by the program itself */
		ASSERT_EQ(nic_post_put_notify(self->queue, self->from, 0,
					      self->inbox, 0, BYTES, self->bell,
					      i, 0, i), 0);
		ASSERT_EQ(nic_queue_submit(self->queue), 1);
		ASSERT_EQ(sleep_on(self->irq_fd), 1);
		ASSERT_EQ(nic_irq_poll(self->irq, &event, 1, NULL), 1);
		ASSERT_EQ(event.payload, i);
		ASSERT_EQ(sleep_on(self->queue_fd), 1);
		ASSERT_EQ(nic_queue_poll(self->queue, &done, 1), 1);
		ASSERT_EQ(done.cookie, i);
	}
}

TEST_F(libnic, end_of_the_device_wakes)
{
	char name[DMANIC_NAME_MAX];

	ASSERT_EQ(nic_queue_arm(self->queue), 0);
	fabric_name(&self->own, 0, name);
	ASSERT_EQ(device_delete(name, true), 0);
	EXPECT_EQ(sleep_on(self->queue_fd), 1);
	EXPECT_EQ(nic_queue_arm(self->queue), -ENODEV);
	EXPECT_TRUE(says(self->near, "the device was removed"));
}

TEST_F(libnic, strided_put_notifies)
{
	const struct nic_stride stride = { 100, 50, 100, 300 };
	unsigned char *to = nic_segment_addr(self->to);
	struct nic_event event;
	unsigned int i;

	fill(nic_segment_addr(self->from), 5000, 7);
	ASSERT_EQ(nic_post_put_strided_notify(self->queue, self->from, 0,
					      self->inbox, 10, &stride,
					      self->bell, 99, 0, 0), 0);
	ASSERT_EQ(nic_queue_drain(self->queue, slow_ns(20000)), 0);
	ASSERT_EQ(nic_irq_wait(self->irq, &event, slow_ns(20000)), 0);
	EXPECT_EQ(event.payload, 99);
	for (i = 0; i < 50; i++)
		EXPECT_EQ(memcmp(to + 10 + i * 300,
				 (char *)nic_segment_addr(self->from) + i * 100,
				 100), 0);
	EXPECT_EQ(to[9], 0);
	EXPECT_EQ(to[110], 0);
}

TEST_F(libnic, limits_are_those_of_query)
{
	struct nic_info info = { .size = sizeof(info) };
	struct node node = node_open(&self->own, 0);
	struct dmanic_query query;

	node_query(&node, &query);
	ASSERT_EQ(nic_query(self->near, &info), 0);
	EXPECT_EQ(info.max_segments, query.max_segments);
	EXPECT_EQ(info.max_queues, query.max_queues);
	EXPECT_EQ(info.max_irqs, query.max_irqs);
	EXPECT_EQ(info.max_connections, query.max_connections);
	EXPECT_EQ(info.max_poll_threads, query.max_poll_threads);
	EXPECT_EQ(info.max_contexts, query.max_contexts);
	EXPECT_GT(info.max_contexts, 0);
	EXPECT_EQ(info.user_share, query.user_share);
}

TEST_F(libnic, refusals_name_the_cause)
{
	struct nic_queue_options options = {
		.size = sizeof(options), .flags = NIC_EVENTFD,
	};
	struct nic_remote *remote;
	struct nic_queue *queue;

	EXPECT_EQ(nic_connect(self->near, 1, nic_irq_id(self->irq),
			      nic_irq_key(self->irq), &remote), -EINVAL);
	EXPECT_TRUE(says(self->near, "the id of an interrupt"));
	EXPECT_EQ(nic_connect_irq(self->near, 1, nic_segment_id(self->to),
				  self->key, &remote), -EINVAL);
	EXPECT_TRUE(says(self->near, "the id of a segment"));
	options.eventfd = open("/dev/null", O_RDWR | O_CLOEXEC);
	EXPECT_EQ(nic_queue_create_with(self->near, &options, &queue), -EINVAL);
	EXPECT_TRUE(says(self->near, "no eventfd"));
	close(options.eventfd);
	EXPECT_EQ(nic_queue_create_with(self->near, &options, &queue), -EBADF);
	EXPECT_TRUE(says(self->near, "the eventfd is not open"));
}

static void become_nobody(void)
{
	ASSERT_EQ(setgroups(0, NULL), 0);
	ASSERT_EQ(setgid(65534), 0);
	ASSERT_EQ(setuid(65534), 0);
}

/* Anybody may open the @nodes of @of then */
static void open_to_all(const struct fabric *of)
{
	char name[DMANIC_NAME_MAX], path[64];
	unsigned int i;

	for (i = 0; i < of->nodes; i++) {
		fabric_name(of, i, name);
		snprintf(path, sizeof(path), "/dev/dmanic/%s", name);
		ASSERT_EQ(chmod(path, 0666), 0);
	}
}

TEST(libnic, open_without_rights)
{
	char name[DMANIC_NAME_MAX];
	struct fabric own;
	struct nic_ctx *ctx;

	fabric_make(&own, "n", 2, NULL);
	fabric_name(&own, 0, name);
	become_nobody();
	EXPECT_EQ(nic_open(name, &ctx), -EACCES);
	EXPECT_TRUE(says(NULL, "group dmanic"));
}

TEST(libnic, open_in_another_namespace)
{
	char name[DMANIC_NAME_MAX];
	struct fabric own;
	struct nic_ctx *ctx;

	fabric_make(&own, "n", 2, NULL);
	fabric_name(&own, 0, name);
	open_to_all(&own);
	ASSERT_EQ(unshare(CLONE_NEWNET), 0);
	become_nobody();
	EXPECT_EQ(nic_open(name, &ctx), -EACCES);
	EXPECT_TRUE(says(NULL, "another network namespace"));
}

/* What a run of two ranks says on both outputs; its wait status */
static int run_nictile(const struct fabric *of, const char *options, char *text,
		       size_t bytes)
{
	char command[300];
	size_t length;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "nicrun -n 2 --device %s nictile --size 4x4x256 --height 64 --repeat 1 %s 2>&1",
		 of->prefix, options);
	pipe = popen(command, "r");
	ASSERT_TRUE(pipe);
	length = fread(text, 1, bytes - 1, pipe);
	text[length] = 0;
	return pclose(pipe);
}

static void expect_said(const char *text, const char *part)
{
	if (!strstr(text, part))
		FAIL("without \"%s\": %s", part, text);
}

TEST(nictile, sets_and_names_the_model)
{
	char text[8192], name[DMANIC_NAME_MAX];
	struct device device;
	struct fabric own;
	unsigned int i;

	fabric_make(&own, "m", 3, NULL);
	EXPECT_EQ(run_nictile(&own, "", text, sizeof(text)), 0);
	expect_said(text, "model none scale 1 (found)");
	EXPECT_EQ(run_nictile(&own, "--model sci-d330 --scale 2.5", text,
			      sizeof(text)), 0);
	expect_said(text, "model sci-d330 scale 2.5 (set): start 49.2us, interrupt 18.8us, bandwidth 85 MB/s");
	for (i = 0; i < 3; i++) {
		fabric_name(&own, i, name);
		ASSERT_EQ(device_get(name, &device), 0);
		EXPECT_EQ(strcmp(device.model_name, "sci-d330"), 0);
		EXPECT_EQ(device.model.scale, 2500);
	}
	/* It stays, and who may not change it may read it. */
	open_to_all(&own);
	become_nobody();
	EXPECT_EQ(run_nictile(&own, "--json", text, sizeof(text)), 0);
	expect_said(text, "\"model\":\t{");
	expect_said(text, "\"scale\":\t2.5");
	EXPECT_NE(run_nictile(&own, "--model none", text, sizeof(text)), 0);
	expect_said(text, "only root may do that");
	expect_said(text, "nicctl dev set fabric ");
}

TEST(nictile, unknown_model)
{
	char text[8192];
	struct fabric own;

	fabric_make(&own, "u", 2, NULL);
	EXPECT_NE(run_nictile(&own, "--model fast", text, sizeof(text)), 0);
	expect_said(text, "presets: none, sci-d330, eth-25g");
}

FABRIC_TEST_MAIN_NONE()
