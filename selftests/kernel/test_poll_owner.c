// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_poll_owner.c - whose a polling thread is: cgroups, CPUs, priority, limits
 *
 * Owns: that the CPU time of a polling thread is charged to who made the queue
 * and limited as his, whoever he is, and that nobody has all of the threads. The
 * cgroup is the second version's; the tests skip without its controllers.
 */
#include "injection.h"
#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT	"/sys/fs/cgroup"
#define THREADS	64U		/* on a device */
#define SHARE	16U		/* of a user */

FIXTURE(poll_owner) {
	struct node node;
	pid_t tid;
};

FIXTURE_SETUP(poll_owner)
{
	self->node = node_open(&fabric, 0);
	node_allow(&fabric, 0);
}

FIXTURE_TEARDOWN(poll_owner)
{
}

static pid_t make(struct poll_owner_self *self, struct queue *queue)
{
	struct queue made = poller_make(&self->node, 8, 8, 0);
	pid_t tid;

	ASSERT_EQ(poller_count(&tid), 1);
	if (queue)
		*queue = made;
	return tid;
}

/* A descriptor, or -errno */
static int try_make(const struct node *node, struct dmanic_refusal *refusal)
{
	struct dmanic_queue_create create = {
		.size = sizeof(create), .flags = DMANIC_QUEUE_POLL_THREAD,
		.sq_entries = 1, .cq_entries = 1, .eventfd = -1,
		.poll_idle_us = 1,
	};
	int ret = dmanic_call(node->fd, DMANIC_IOC_QUEUE_CREATE, &create);

	*refusal = create.refusal;
	return ret ?: create.fd;
}

/* The value of a line of /proc/<tid>/<file> that begins with @name */
static void proc_value(pid_t tid, const char *file, const char *name,
		       char *value, int bytes)
{
	char path[64], line[256];
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, file);
	stream = fopen(path, "re");
	ASSERT_TRUE(stream);
	value[0] = '\0';
	while (fgets(line, sizeof(line), stream)) {
		if (strncmp(line, name, strlen(name)))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(value, bytes, "%s", line + strlen(name));
	}
	fclose(stream);
}

/* ---- cgroups ---- */

static __u64 cpu_stat(const char *folder, const char *name)
{
	unsigned long long value = 0, found = ~0ULL;
	char path[128], word[64];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/cpu.stat", folder);
	stream = fopen(path, "re");
	ASSERT_TRUE(stream);
	while (fscanf(stream, "%63s %llu", word, &value) == 2)
		if (!strcmp(word, name))
			found = value;
	fclose(stream);
	ASSERT_NE(found, ~0ULL);
	return found;
}

FIXTURE(poll_cgroup) {
	struct poll_owner_self owner;
	char folder[64];
};

FIXTURE_SETUP(poll_cgroup)
{
	poll_owner_setup(&self->owner, NULL);
	snprintf(self->folder, sizeof(self->folder), ROOT "/dmanic-%d", getpid());
	if (put_file(ROOT, "cgroup.subtree_control", "+cpu +cpuset"))
		SKIP("no cgroups (version 2) with the controllers cpu and cpuset");
	ASSERT_EQ(mkdir(self->folder, 0755), 0);
}

/* The processes of the test go first: the harness ends them later */
FIXTURE_TEARDOWN(poll_cgroup)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	put_file(ROOT, "cgroup.procs", pid);
	if (self->owner.tid) {
		snprintf(pid, sizeof(pid), "%d", self->owner.tid);
		put_file(ROOT, "cgroup.procs", pid);
	}
	if (self->folder[0])
		rmdir(self->folder);
}

static void move_here(const struct poll_cgroup_self *self)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	ASSERT_EQ(put_file(self->folder, "cgroup.procs", pid), 0);
}

TEST_F(poll_cgroup, is_the_owners)
{
	char wanted[96], value[96];

	move_here(self);
	self->owner.tid = make(&self->owner, NULL);
	proc_value(self->owner.tid, "cgroup", "0::", value, sizeof(value));
	snprintf(wanted, sizeof(wanted), "/dmanic-%d", getpid());
	EXPECT_TRUE(!strcmp(value, wanted));
}

/* Rights over kernel threads are not what an owner needs */
TEST_F(poll_cgroup, of_an_ordinary_user)
{
	char wanted[96], value[96];

	ASSERT_EQ(put_file(self->folder, "cpuset.cpus", "1"), 0);
	move_here(self);
	ASSERT_EQ(setresuid(100000, 100000, 0), 0);
	self->owner.node = node_open(&fabric, 0);
	self->owner.tid = make(&self->owner, NULL);
	ASSERT_EQ(setresuid(0, 0, 0), 0);
	proc_value(self->owner.tid, "cgroup", "0::", value, sizeof(value));
	snprintf(wanted, sizeof(wanted), "/dmanic-%d", getpid());
	EXPECT_TRUE(!strcmp(value, wanted));
	proc_value(self->owner.tid, "status", "Cpus_allowed_list:\t", value,
		   sizeof(value));
	EXPECT_TRUE(!strcmp(value, "1"));
}

TEST_F(poll_cgroup, follows_the_cpuset)
{
	char value[64];

	ASSERT_EQ(put_file(self->folder, "cpuset.cpus", "1"), 0);
	move_here(self);
	self->owner.tid = make(&self->owner, NULL);
	proc_value(self->owner.tid, "status", "Cpus_allowed_list:\t", value,
		   sizeof(value));
	EXPECT_TRUE(!strcmp(value, "1"));
	ASSERT_EQ(put_file(self->folder, "cpuset.cpus", "0"), 0);
	proc_value(self->owner.tid, "status", "Cpus_allowed_list:\t", value,
		   sizeof(value));
	EXPECT_TRUE(!strcmp(value, "0"));
}

/* Let it look for work for @ns; its process is idle but for that */
static void keep_awake(const struct queue *queue, __u64 ns)
{
	__u64 end = now_ns() + ns;

	while (now_ns() < end) {
		poller_wake(queue);
		usleep(500);
	}
}

TEST_F(poll_cgroup, time_is_charged)
{
	__u64 before, charged, start, ns;
	struct queue queue;
	char pid[16];

	move_here(self);
	self->owner.tid = make(&self->owner, &queue);
	/* Only the thread stays: what is charged is its time alone */
	snprintf(pid, sizeof(pid), "%d", getpid());
	ASSERT_EQ(put_file(ROOT, "cgroup.procs", pid), 0);
	before = cpu_stat(self->folder, "usage_usec");
	ns = poller_cpu_ns(self->owner.tid);
	start = now_ns();
	do {
		keep_awake(&queue, SECOND_NS);
		charged = cpu_stat(self->folder, "usage_usec") - before;
	} while (charged < 100000 && now_ns() - start < slow_ns(20000));
	ns = poller_cpu_ns(self->owner.tid) - ns;
	harness_note("%llu us charged of %llu us", charged, ns / 1000);
	EXPECT_GE(charged, 100000);
	EXPECT_GE(charged * 1000, ns / 10 * 9);
}

TEST_F(poll_cgroup, time_is_limited)
{
	struct queue queue;
	__u64 used, start;
	char pid[16];

	ASSERT_EQ(put_file(self->folder, "cpu.max", "10000 100000"), 0);
	move_here(self);
	self->owner.tid = make(&self->owner, &queue);
	snprintf(pid, sizeof(pid), "%d", getpid());
	ASSERT_EQ(put_file(ROOT, "cgroup.procs", pid), 0);
	used = cpu_stat(self->folder, "usage_usec");
	start = now_ns();
	do {
		keep_awake(&queue, 2 * SECOND_NS);
	} while (!cpu_stat(self->folder, "nr_throttled") &&
		 now_ns() - start < slow_ns(20000));
	used = cpu_stat(self->folder, "usage_usec") - used;
	start = now_ns() - start;
	harness_note("%llu us of %llu us, limit a tenth", used, start / 1000);
	EXPECT_LE(used, start / 1000 / 5);
	EXPECT_GT(cpu_stat(self->folder, "nr_throttled"), 0);
	/* Closing waits for a thread that may not run: not for long */
	start = now_ns();
	queue_close(&queue);
	EXPECT_LT(now_ns() - start, slow_ns(2000));
}

/*
 * The kernel has to note whom it finds in one group of the one hierarchy and another of the
 * other, and has no memory for that: a thread that is nobody's would be free of all limits
 */
TEST_F(poll_cgroup, that_cannot_be_joined_is_left_by_no_thread)
{
	char top[64], below[80], named[64], pid[16];
	struct dmanic_refusal refusal;
	struct segment target;
	struct counts before;
	int ret;

	injection_open();
	snprintf(pid, sizeof(pid), "%d", getpid());
	snprintf(top, sizeof(top), "/tmp/dmanic-%d", getpid());
	snprintf(below, sizeof(below), "%s/below", top);
	snprintf(named, sizeof(named), "none,name=dmanic-%d", getpid());
	ASSERT_EQ(mkdir(top, 0700), 0);
	if (mount("none", top, "cgroup", 0, named)) {
		ret = errno;
		rmdir(top);
		SKIP("this kernel has no cgroups of the first version: %s", strerror(ret));
	}
	ASSERT_EQ(mkdir(below, 0700), 0);
	ASSERT_EQ(put_file(below, "cgroup.procs", pid), 0);
	move_here(self);

	target = segment_make(&self->owner.node, 4096);
	segment_export(&target, DMANIC_RIGHT_READ);
	counts_read(&self->owner.node, &target, &before);
	injection_of_kernel_threads(true);
	ret = try_make(&self->owner.node, &refusal);
	injection_of_kernel_threads(false);
	EXPECT_EQ(ret, -ENOMEM);
	EXPECT_TRUE(WAIT_FOR(poller_count(NULL) == 0));
	counts_expect(&self->owner.node, &target, 1, ret, &before);
	self->owner.tid = make(&self->owner, NULL);

	ASSERT_EQ(put_file(top, "cgroup.procs", pid), 0);
	snprintf(pid, sizeof(pid), "%d", self->owner.tid);
	ASSERT_EQ(put_file(top, "cgroup.procs", pid), 0);
	EXPECT_EQ(rmdir(below), 0);
	EXPECT_EQ(umount(top), 0);
	EXPECT_EQ(rmdir(top), 0);
}

/* ---- CPUs and priority ---- */

TEST_F(poll_owner, runs_on_the_owners_cpus)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		SKIP("there is no second CPU");
	self->tid = make(self, NULL);
	ASSERT_EQ(sched_getaffinity(self->tid, sizeof(cpus), &cpus), 0);
	EXPECT_EQ(CPU_COUNT(&cpus), 1);
	EXPECT_TRUE(CPU_ISSET(1, &cpus));
}

TEST_F(poll_owner, has_the_owners_priority)
{
	ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 7), 0);
	self->tid = make(self, NULL);
	EXPECT_EQ(getpriority(PRIO_PROCESS, self->tid), 7);
	EXPECT_EQ(sched_getscheduler(self->tid), SCHED_OTHER);
}

FIXTURE(poll_policy) {
	struct poll_owner_self owner;
};

FIXTURE_VARIANT(poll_policy) {
	int policy;
	int priority;
	int expected;
};

FIXTURE_VARIANT_ADD(poll_policy, idle) { SCHED_IDLE, 0, SCHED_IDLE };
FIXTURE_VARIANT_ADD(poll_policy, batch) { SCHED_BATCH, 0, SCHED_BATCH };
/* Nobody would get that CPU */
FIXTURE_VARIANT_ADD(poll_policy, fifo) { SCHED_FIFO, 1, SCHED_OTHER };

FIXTURE_SETUP(poll_policy)
{
	poll_owner_setup(&self->owner, NULL);
}

FIXTURE_TEARDOWN(poll_policy)
{
}

TEST_F(poll_policy, is_the_owners_but_for_real_time)
{
	const struct sched_param param = { .sched_priority = variant->priority };

	ASSERT_EQ(sched_setscheduler(0, variant->policy, &param), 0);
	self->owner.tid = make(&self->owner, NULL);
	EXPECT_EQ(sched_getscheduler(self->owner.tid), variant->expected);
}

/* ---- limits ---- */

static int make_all(const struct node *node, __u32 expected)
{
	struct dmanic_refusal refusal;
	int fd = -1;
	__u32 i;

	for (i = 0; i < expected; i++) {
		fd = try_make(node, &refusal);
		ASSERT_GE(fd, 0);
	}
	return fd;
}

static void check_refused(const struct node *node, __u32 limit, __u32 allowed)
{
	struct dmanic_refusal refusal;

	ASSERT_EQ(try_make(node, &refusal), -EDQUOT);
	EXPECT_EQ(refusal.limit, limit);
	EXPECT_EQ(refusal.asked, allowed + 1);
	EXPECT_EQ(refusal.allowed, allowed);
}

static struct node open_as(uid_t uid)
{
	user_become(uid);
	return node_open(&fabric, 0);
}

TEST_F_TIMEOUT(poll_owner, users_have_their_share, 60)
{
	struct dmanic_refusal refusal;
	struct queue plain;
	struct node mine;
	int last;

	mine = open_as(100000);
	last = make_all(&mine, SHARE);
	check_refused(&mine, DMANIC_LIMIT_USER_POLL_THREADS, SHARE);
	/* Other queues are another matter */
	plain = queue_make(&mine, 1, 1);
	queue_close(&plain);
	/* What he gives back he may take again */
	ASSERT_EQ(close(last), 0);
	EXPECT_GE(try_make(&mine, &refusal), 0);
	check_refused(&mine, DMANIC_LIMIT_USER_POLL_THREADS, SHARE);

	mine = open_as(100001);
	make_all(&mine, SHARE);
	check_refused(&mine, DMANIC_LIMIT_USER_POLL_THREADS, SHARE);
	/* Root goes past his share, but nobody past the device's */
	mine = open_as(0);
	make_all(&mine, THREADS - 2 * SHARE);
	check_refused(&mine, DMANIC_LIMIT_POLL_THREADS, THREADS);
	EXPECT_EQ(poller_count(NULL), THREADS);
}

INJECTION_TEST_MAIN(fabric_start, fabric_stop)
