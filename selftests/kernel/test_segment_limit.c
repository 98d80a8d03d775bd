// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_segment_limit.c - what stops a program from taking too much
 *
 * Owns: RLIMIT_MEMLOCK as an unprivileged user, the memory cgroup, and how
 * many objects a device or a context has. Each refusal must say which limit it was, and
 * what is given back must be there again.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB	1024UL
#define MIB	(1024 * KIB)

static int create(const struct node *node, __u32 flags, __u64 length,
		  const void *address, struct dmanic_segment_create *arg)
{
	*arg = (struct dmanic_segment_create) {
		.size = sizeof(*arg), .flags = flags, .length = length,
		.address = (uintptr_t)address,
	};
	return dmanic_call(node->fd, DMANIC_IOC_SEGMENT_CREATE, arg);
}

/* Open node 0 as a user who owns nothing yet and may lock @bytes */
static struct node open_unprivileged(unsigned long bytes)
{
	struct rlimit limit = { bytes, bytes };
	uid_t uid = 100000 + getpid();
	char name[DMANIC_NAME_MAX], path[64];

	fabric_name(&fabric, 0, name);
	snprintf(path, sizeof(path), "/dev/dmanic/%s", name);
	ASSERT_EQ(chmod(path, 0666), 0);
	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	ASSERT_EQ(setgroups(0, NULL), 0);
	ASSERT_EQ(setgid(uid), 0);
	ASSERT_EQ(setuid(uid), 0);
	return node_open(&fabric, 0);
}

TEST(memlock, refusal_tells_the_limit)
{
	struct node node = open_unprivileged(MIB);
	struct dmanic_segment_create arg;

	ASSERT_EQ(create(&node, 0, 2 * MIB, NULL, &arg), -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_MEMLOCK);
	EXPECT_EQ(arg.refusal.asked, 2 * MIB);
	EXPECT_EQ(arg.refusal.allowed, MIB);
	EXPECT_EQ(arg.refusal.reserved, 0);
	ASSERT_EQ(create(&node, 0, MIB, NULL, &arg), 0);
	ASSERT_EQ(create(&node, 0, 1, NULL, &arg), -EDQUOT);
	EXPECT_EQ(arg.refusal.asked, MIB + page_bytes());
}

TEST(memlock, charge_comes_back_after_destroy)
{
	struct node node = open_unprivileged(MIB);
	struct dmanic_segment_create arg;
	struct segment segment;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		segment = segment_make(&node, 768 * KIB);
		EXPECT_EQ(create(&node, 0, 512 * KIB, NULL, &arg), -EDQUOT);
		segment_unmap(&segment);
		ASSERT_EQ(segment_destroy(&segment), 0);
		ASSERT_TRUE(WAIT_FOR(!create(&node, 0, MIB, NULL, &arg)));
		segment.id = arg.id;
		ASSERT_EQ(segment_destroy(&segment), 0);
		ASSERT_TRUE(WAIT_FOR(!create(&node, 0, MIB, NULL, &arg)));
		segment.id = arg.id;
		ASSERT_EQ(segment_destroy(&segment), 0);
	}
}

TEST(memlock, mapping_keeps_the_charge)
{
	struct node node = open_unprivileged(MIB);
	struct dmanic_segment_create arg;
	struct segment segment;
	unsigned int i;

	segment = segment_make(&node, 768 * KIB);
	ASSERT_EQ(segment_destroy(&segment), 0);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(create(&node, 0, 512 * KIB, NULL, &arg), -EDQUOT);
		EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_MEMLOCK);
		breathe();
	}
	segment_unmap(&segment);
	EXPECT_TRUE(WAIT_FOR(!create(&node, 0, 512 * KIB, NULL, &arg)));
}

TEST(memlock, user_memory_is_charged)
{
	struct node node = open_unprivileged(MIB);
	struct dmanic_segment_create arg;
	struct segment segment;
	__u8 *data;

	data = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(data != MAP_FAILED);
	ASSERT_EQ(create(&node, DMANIC_SEGMENT_USER_MEMORY, MIB + 1, data,
			 &arg), -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_MEMLOCK);
	EXPECT_EQ(arg.refusal.allowed, MIB);
	segment = segment_register(&node, data, MIB);
	EXPECT_EQ(create(&node, 0, 1, NULL, &arg), -EDQUOT);
	ASSERT_EQ(segment_destroy(&segment), 0);
	EXPECT_TRUE(WAIT_FOR(!create(&node, 0, MIB, NULL, &arg)));
}

/* A registration that fails half-way takes nothing. */
TEST(memlock, failed_registration_is_not_charged)
{
	struct node node = open_unprivileged(MIB);
	struct dmanic_segment_create arg;
	unsigned int i;
	__u8 *data;

	data = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(data != MAP_FAILED);
	ASSERT_EQ(munmap(data + MIB - page_bytes(), page_bytes()), 0);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(create(&node, DMANIC_SEGMENT_USER_MEMORY, MIB, data,
				 &arg), -EFAULT);
	EXPECT_TRUE(WAIT_FOR(!create(&node, 0, MIB, NULL, &arg)));
}

TEST(memlock, rings_are_charged)
{
	struct node node = open_unprivileged(64 * KIB);
	struct dmanic_queue_create queue = {
		.size = sizeof(queue), .sq_entries = 4096, .cq_entries = 4096,
		.eventfd = -1,
	};
	struct dmanic_irq_create irq = {
		.size = sizeof(irq), .depth = 16384, .eventfd = -1,
	};

	ASSERT_EQ(dmanic_call(node.fd, DMANIC_IOC_QUEUE_CREATE, &queue),
		  -EDQUOT);
	EXPECT_EQ(queue.refusal.limit, DMANIC_LIMIT_MEMLOCK);
	EXPECT_EQ(queue.refusal.allowed, 64 * KIB);
	ASSERT_EQ(dmanic_call(node.fd, DMANIC_IOC_IRQ_CREATE, &irq), -EDQUOT);
	EXPECT_EQ(irq.refusal.limit, DMANIC_LIMIT_MEMLOCK);
}

/* A process in the group that does nothing wrong */
static pid_t start_bystander(const char *group)
{
	pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child) {
		if (put_file(group, "cgroup.procs", "0"))
			_exit(1);
		pause();
		_exit(0);
	}
	return child;
}

/* In the group, which has less than what the machine has free */
static void ask_too_much(const char *group)
{
	__u64 machine = (__u64)sysconf(_SC_PHYS_PAGES) * page_bytes();
	struct dmanic_segment_create arg;
	struct node node;

	ASSERT_EQ(put_file(group, "cgroup.procs", "0"), 0);
	node = node_open(&fabric, 0);
	ASSERT_EQ(create(&node, 0, 128 * MIB, NULL, &arg), -ENOMEM);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_CGROUP);
	EXPECT_EQ(arg.refusal.asked, 128 * MIB);
	EXPECT_EQ(arg.refusal.allowed, 0);
	/* What neither has is refused by the machine. */
	ASSERT_EQ(create(&node, 0, 2 * machine, NULL, &arg), -ENOMEM);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_MEMORY);
	EXPECT_EQ(arg.refusal.asked, 2 * machine);
	EXPECT_GT(arg.refusal.allowed, 32 * MIB);
	EXPECT_LE(arg.refusal.allowed, machine);
	/* And a little still works. */
	EXPECT_EQ(create(&node, 0, MIB, NULL, &arg), 0);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_NONE);
}

static void in_group(const char *group)
{
	pid_t bystander, child;
	int status;

	ASSERT_EQ(put_file(group, "memory.max", "33554432"), 0);
	put_file(group, "memory.swap.max", "0");
	bystander = start_bystander(group);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		ask_too_much(group);
		_exit(0);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
	EXPECT_EQ(waitpid(bystander, &status, WNOHANG), 0);
	kill(bystander, SIGKILL);
	ASSERT_EQ(waitpid(bystander, &status, 0), bystander);
}

/* The cgroup's limit is a refusal; nobody is killed for it. */
TEST_TIMEOUT(memcg, limit_is_a_refusal, 60)
{
	char root[] = "/tmp/dmanic.XXXXXX", group[64];

	ASSERT_EQ(unshare(CLONE_NEWNS), 0);
	ASSERT_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ASSERT_TRUE(mkdtemp(root));
	if (mount("cgroup2", root, "cgroup2", 0, NULL)) {
		rmdir(root);
		SKIP("no cgroup2 in this kernel");
	}
	snprintf(group, sizeof(group), "%s/dmanic%d", root, getpid());
	if (put_file(root, "cgroup.subtree_control", "+memory")) {
		umount2(root, MNT_DETACH);
		rmdir(root);
		SKIP("cgroup2 has no memory controller here");
	}
	ASSERT_EQ(mkdir(group, 0700), 0);
	in_group(group);
	EXPECT_TRUE(WAIT_FOR(!rmdir(group)));
	umount2(root, MNT_DETACH);
	rmdir(root);
}

static void many_files(void)
{
	struct rlimit limit = { 1 << 17, 1 << 17 };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		SKIP("cannot have %lu open files",
		     (unsigned long)limit.rlim_cur);
}

FIXTURE(device_limit) {
	struct node node;
	struct dmanic_query query;
};

FIXTURE_SETUP(device_limit)
{
	if (harness_slow() > 4)
		SKIP("too many objects for a slow machine");
	many_files();
	self->node = node_open(&fabric, 0);
	node_query(&self->node, &self->query);
}

FIXTURE_TEARDOWN(device_limit)
{
}

/* For a million objects: a quick run is without */
static void need_long_run(void)
{
	if (harness_load(100) < 100)
		SKIP("makes every object there can be; runs with LOAD=100");
}

/* Another context is on the same device: the limit is the device's. */
TEST_F_TIMEOUT(device_limit, segments, 120)
{
	struct node again = node_open(&fabric, 0);
	struct dmanic_segment_create arg;
	struct segment last;
	__u32 i;

	for (i = 0; i < self->query.max_segments; i++)
		ASSERT_EQ(segment_create(i & 1 ? &again : &self->node, 1,
					 &last), 0);
	ASSERT_EQ(create(&self->node, 0, 1, NULL, &arg), -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_SEGMENTS);
	EXPECT_EQ(arg.refusal.asked, self->query.max_segments + 1ULL);
	EXPECT_EQ(arg.refusal.allowed, self->query.max_segments);
	ASSERT_EQ(segment_destroy(&last), 0);
	EXPECT_EQ(create(&self->node, 0, 1, NULL, &arg), 0);
}

TEST_F_TIMEOUT(device_limit, queues, 120)
{
	struct dmanic_queue_create arg;
	int ret = 0, last = -1;
	__u32 i;

	for (i = 0; i <= self->query.max_queues; i++) {
		arg = (struct dmanic_queue_create) {
			.size = sizeof(arg), .sq_entries = 1, .cq_entries = 1,
			.eventfd = -1,
		};
		ret = dmanic_call(self->node.fd, DMANIC_IOC_QUEUE_CREATE, &arg);
		if (ret)
			break;
		last = arg.fd;
	}
	EXPECT_EQ(i, self->query.max_queues);
	ASSERT_EQ(ret, -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_QUEUES);
	EXPECT_EQ(arg.refusal.asked, self->query.max_queues + 1ULL);
	EXPECT_EQ(arg.refusal.allowed, self->query.max_queues);
	ASSERT_EQ(close(last), 0);
	EXPECT_TRUE(WAIT_FOR(!dmanic_call(self->node.fd,
					  DMANIC_IOC_QUEUE_CREATE, &arg)));
}

TEST_F_TIMEOUT(device_limit, irqs, 120)
{
	struct dmanic_irq_create arg;
	int ret = 0, last = -1;
	__u32 i;

	need_long_run();
	for (i = 0; i <= self->query.max_irqs; i++) {
		arg = (struct dmanic_irq_create) {
			.size = sizeof(arg), .depth = 1, .eventfd = -1,
		};
		ret = dmanic_call(self->node.fd, DMANIC_IOC_IRQ_CREATE, &arg);
		if (ret)
			break;
		last = arg.fd;
	}
	EXPECT_EQ(i, self->query.max_irqs);
	ASSERT_EQ(ret, -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_IRQS);
	EXPECT_EQ(arg.refusal.asked, self->query.max_irqs + 1ULL);
	EXPECT_EQ(arg.refusal.allowed, self->query.max_irqs);
	ASSERT_EQ(close(last), 0);
	EXPECT_TRUE(WAIT_FOR(!dmanic_call(self->node.fd, DMANIC_IOC_IRQ_CREATE,
					  &arg)));
}

/* These are counted for each context. */
TEST_F_TIMEOUT(device_limit, connections, 120)
{
	struct segment segment = segment_make(&self->node, 1);
	struct node again = node_open(&fabric, 0);
	struct dmanic_connect arg;
	int ret = 0;
	__u32 i;

	need_long_run();
	segment_export(&segment, DMANIC_RIGHT_READ);
	arg = (struct dmanic_connect) {
		.size = sizeof(arg), .node = self->node.id, .id = segment.id,
		.key = segment.key,
	};
	for (i = 0; i <= self->query.max_connections && !ret; i++)
		ret = dmanic_call(self->node.fd, DMANIC_IOC_CONNECT, &arg);
	EXPECT_EQ(i, self->query.max_connections + 1);
	ASSERT_EQ(ret, -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_CONNECTIONS);
	EXPECT_EQ(arg.refusal.asked, self->query.max_connections + 1ULL);
	EXPECT_EQ(arg.refusal.allowed, self->query.max_connections);
	EXPECT_EQ(arg.handle, 0);
	segment_connect(&again, &segment);
	ASSERT_EQ(disconnect(&self->node, 1), 0);
	EXPECT_EQ(dmanic_call(self->node.fd, DMANIC_IOC_CONNECT, &arg), 0);
}

TEST_F_TIMEOUT(device_limit, contexts, 120)
{
	int fd = -1, last = -1;
	__u32 i;

	for (i = 1; i <= self->query.max_contexts; i++) {
		fd = node_path_open(self->node.name, O_RDWR);
		if (fd < 0)
			break;
		last = fd;
	}
	EXPECT_EQ(i, self->query.max_contexts);
	EXPECT_EQ(fd, -EDQUOT);
	ASSERT_EQ(close(last), 0);
	EXPECT_TRUE(WAIT_FOR((fd = node_path_open(self->node.name,
						  O_RDWR)) >= 0));
}

FABRIC_TEST_MAIN()
