// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_export.c - exporting segments, names, connecting
 *
 * Owns: who gets to which export with which key, secret, name and rights. That
 * an access is refused after it was taken back is in test_revoke.c.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static const __u64 secret[2] = { 0x1234567890abcdefULL, 42 };

FIXTURE(export) {
	struct node owner;
	struct node user;
	struct segment segment;
	struct segment local;
	struct queue queue;
};

FIXTURE_SETUP(export)
{
	self->owner = node_open(&fabric, 0);
	self->user = node_open(&fabric, 1);
	self->segment = segment_make(&self->owner, 5000);
	self->local = segment_make(&self->user, 5000);
	self->queue = queue_make(&self->user, 2, 2);
}

FIXTURE_TEARDOWN(export)
{
}

static int export_with(const struct segment *segment, __u32 rights,
		       const char *name, const __u64 *with)
{
	struct dmanic_segment_export arg = {
		.size = sizeof(arg), .id = segment->id, .rights = rights,
	};

	if (name)
		snprintf(arg.name, sizeof(arg.name), "%s", name);
	if (with)
		memcpy(arg.secret, with, sizeof(arg.secret));
	return dmanic_call(segment->fd, DMANIC_IOC_SEGMENT_EXPORT, &arg);
}

static __u32 try(struct export_self *self, __u8 opcode, __u32 handle)
{
	struct dmanic_sqe sqe = sqe_move(opcode, self->local.id, 0, handle, 0,
					 8);

	return queue_run(&self->queue, &sqe).status;
}

TEST_F(export, no_right_is_EINVAL)
{
	EXPECT_EQ(export_with(&self->segment, 0, NULL, NULL), -EINVAL);
}

/* A secret that protects nothing was meant for a name. */
TEST_F(export, secret_without_a_name_is_EINVAL)
{
	struct dmanic_irq_create irq = {
		.size = sizeof(irq), .depth = 1, .eventfd = -1,
		.secret = { 0, 1 },
	};

	EXPECT_EQ(export_with(&self->segment, DMANIC_RIGHT_READ, NULL, secret),
		  -EINVAL);
	EXPECT_EQ(dmanic_call(self->owner.fd, DMANIC_IOC_IRQ_CREATE, &irq),
		  -EINVAL);
}

TEST_F(export, unknown_right_is_EOPNOTSUPP)
{
	unsigned int bit;

	for (bit = 3; bit < 32; bit++)
		EXPECT_EQ(export_with(&self->segment, (1U << bit) |
				      DMANIC_RIGHT_READ, NULL, NULL),
			  -EOPNOTSUPP);
}

TEST_F(export, unknown_segment_is_ENOENT)
{
	struct node again = node_open(&fabric, 0);
	struct segment wrong = self->segment;

	wrong.id += 1000;
	EXPECT_EQ(export_with(&wrong, DMANIC_RIGHT_READ, NULL, NULL), -ENOENT);
	wrong = self->segment;
	wrong.fd = again.fd;
	EXPECT_EQ(export_with(&wrong, DMANIC_RIGHT_READ, NULL, NULL), -ENOENT);
}

TEST_F(export, only_once)
{
	ASSERT_EQ(export_with(&self->segment, DMANIC_RIGHT_READ, NULL, NULL),
		  0);
	EXPECT_EQ(export_with(&self->segment, DMANIC_RIGHT_WRITE, NULL, NULL),
		  -EEXIST);
}

TEST_F(export, again_after_revoke_with_a_new_key)
{
	__u32 old, new;
	__u64 key;

	EXPECT_EQ(segment_revoke(&self->segment), -ENOENT);
	segment_export(&self->segment, DMANIC_RIGHT_READ);
	key = self->segment.key;
	old = segment_connect(&self->user, &self->segment);
	EXPECT_EQ(try(self, DMANIC_OP_READ, old), DMANIC_STATUS_OK);
	ASSERT_EQ(segment_revoke(&self->segment), 0);
	EXPECT_EQ(try(self, DMANIC_OP_READ, old), DMANIC_STATUS_NO_SEGMENT);
	EXPECT_EQ(segment_revoke(&self->segment), -ENOENT);
	EXPECT_EQ(connect_call(&self->user, 0, self->owner.id, self->segment.id,
			       key, &new), -ENOENT);

	segment_export(&self->segment, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	EXPECT_NE(self->segment.key, key);
	EXPECT_EQ(try(self, DMANIC_OP_READ, old), DMANIC_STATUS_ACCESS);
	new = segment_connect(&self->user, &self->segment);
	EXPECT_EQ(try(self, DMANIC_OP_WRITE, new), DMANIC_STATUS_OK);
	EXPECT_EQ(try(self, DMANIC_OP_READ, old), DMANIC_STATUS_ACCESS);
}

TEST_F(export, keys_differ)
{
	struct segment segments[16];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(segments); i++) {
		ASSERT_EQ(segment_create(&self->owner, 1, &segments[i]), 0);
		segment_export(&segments[i], DMANIC_RIGHT_READ);
		for (k = 0; k < i; k++)
			EXPECT_NE(segments[i].key, segments[k].key);
	}
}

TEST_F(export, connect_tells_rights_and_length)
{
	struct dmanic_connect arg = {
		.size = sizeof(arg), .node = self->owner.id,
		.id = self->segment.id,
	};

	segment_export(&self->segment, DMANIC_RIGHT_WRITE);
	arg.key = self->segment.key;
	ASSERT_EQ(dmanic_call(self->user.fd, DMANIC_IOC_CONNECT, &arg), 0);
	EXPECT_EQ(arg.rights, DMANIC_RIGHT_WRITE);
	EXPECT_EQ(arg.length, 5000);
	EXPECT_NE(arg.handle, 0);
}

TEST_F(export, wrong_key_is_EACCES)
{
	unsigned int bit;
	__u32 handle;

	segment_export(&self->segment, DMANIC_RIGHT_READ);
	for (bit = 0; bit < 64; bit++)
		EXPECT_EQ(connect_call(&self->user, 0, self->owner.id,
				       self->segment.id,
				       self->segment.key ^ (1ULL << bit),
				       &handle), -EACCES);
}

TEST_F(export, what_is_not_there_is_ENOENT)
{
	__u32 handle;

	EXPECT_EQ(connect_call(&self->user, 0, self->owner.id, 0, 1, &handle),
		  -ENOENT);
	EXPECT_EQ(connect_call(&self->user, 0, self->owner.id, ~0U, 1, &handle),
		  -ENOENT);
	/* Not exported */
	EXPECT_EQ(connect_call(&self->user, 0, self->owner.id,
			       self->segment.id, 0, &handle), -ENOENT);
}

/*
 * Over a network this takes as long as a peer has to answer; the time a name
 * is waited for is longer, so that it cannot be what ends the call.
 */
TEST_F(export, unknown_node_is_EHOSTUNREACH)
{
	const __u64 minute = 60ULL * 1000 * 1000 * 1000;
	__u32 nodes[] = { FABRIC_NODES, 255, 256, 1U << 31, ~0U }, handle;
	unsigned int i;

	segment_export(&self->segment, DMANIC_RIGHT_READ);
	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		EXPECT_EQ(connect_call(&self->user, 0, nodes[i],
				       self->segment.id, self->segment.key,
				       &handle), -EHOSTUNREACH);
		EXPECT_EQ(connect_name(&self->user, 0, nodes[i], "x", secret,
				       minute, &handle), -EHOSTUNREACH);
	}
}

/* A segment is no interrupt, and the other way round. */
TEST_F(export, kind_must_fit)
{
	struct irq irq = irq_make_with(&self->owner, 4, 0, -1, "kind-irq",
				       secret);
	__u32 handle;

	segment_publish(&self->segment, DMANIC_RIGHT_READ, "kind-seg", secret);
	EXPECT_LT(connect_call(&self->user, DMANIC_CONNECT_IRQ, self->owner.id,
			       self->segment.id, self->segment.key, &handle),
		  0);
	EXPECT_LT(connect_call(&self->user, 0, self->owner.id, irq.id, irq.key,
			       &handle), 0);
	EXPECT_LT(connect_name(&self->user, DMANIC_CONNECT_IRQ, self->owner.id,
			       "kind-seg", secret, 0, &handle), 0);
	EXPECT_LT(connect_name(&self->user, 0, self->owner.id, "kind-irq",
			       secret, 0, &handle), 0);
	EXPECT_EQ(connect_name(&self->user, DMANIC_CONNECT_IRQ, self->owner.id,
			       "kind-irq", secret, 0, &handle), 0);
	EXPECT_EQ(connect_name(&self->user, 0, self->owner.id, "kind-seg",
			       secret, 0, &handle), 0);
	EXPECT_EQ(try(self, DMANIC_OP_READ, handle), DMANIC_STATUS_OK);
}

/* Every right is needed for its operation and does not give another. */
TEST_F(export, rights_are_kept)
{
	__u32 rights, handle;

	for (rights = DMANIC_RIGHT_READ;
	     rights <= (DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE); rights++) {
		segment_export(&self->segment, rights);
		handle = segment_connect(&self->user, &self->segment);
		EXPECT_EQ(try(self, DMANIC_OP_READ, handle),
			  rights & DMANIC_RIGHT_READ ? DMANIC_STATUS_OK :
			  DMANIC_STATUS_ACCESS);
		EXPECT_EQ(try(self, DMANIC_OP_WRITE, handle),
			  rights & DMANIC_RIGHT_WRITE ? DMANIC_STATUS_OK :
			  DMANIC_STATUS_ACCESS);
		ASSERT_EQ(segment_revoke(&self->segment), 0);
	}
}

TEST_F(export, name_needs_the_secret)
{
	__u64 wrong[2];
	unsigned int bit;
	__u32 handle;

	segment_publish(&self->segment, DMANIC_RIGHT_READ, "secret", secret);
	for (bit = 0; bit < 128; bit++) {
		memcpy(wrong, secret, sizeof(wrong));
		wrong[bit / 64] ^= 1ULL << (bit % 64);
		EXPECT_EQ(connect_name(&self->user, 0, self->owner.id, "secret",
				       wrong, 0, &handle), -EACCES);
	}
	ASSERT_EQ(connect_name(&self->user, 0, self->owner.id, "secret",
			       secret, 0, &handle), 0);
	EXPECT_EQ(try(self, DMANIC_OP_READ, handle), DMANIC_STATUS_OK);
}

TEST_F(export, name_is_unique_on_the_node)
{
	struct segment second = segment_make(&self->owner, 1);
	struct node again = node_open(&fabric, 0);
	struct segment third = segment_make(&again, 1);
	struct segment there = segment_make(&self->user, 1);
	__u64 other[2] = { 1, 2 };
	struct dmanic_irq_create irq = {
		.size = sizeof(irq), .depth = 1, .eventfd = -1,
		.name = "unique",
	};

	ASSERT_EQ(export_with(&self->segment, 1, "unique", secret), 0);
	EXPECT_EQ(export_with(&second, 1, "unique", secret), -EEXIST);
	EXPECT_EQ(export_with(&third, 1, "unique", other), -EEXIST);
	EXPECT_EQ(dmanic_call(self->owner.fd, DMANIC_IOC_IRQ_CREATE, &irq),
		  -EEXIST);
	EXPECT_EQ(export_with(&there, 1, "unique", secret), 0);
	/* Free again after revoke, and after destroy */
	ASSERT_EQ(segment_revoke(&self->segment), 0);
	EXPECT_EQ(export_with(&second, 1, "unique", secret), 0);
	ASSERT_EQ(segment_destroy(&second), 0);
	EXPECT_EQ(export_with(&third, 1, "unique", other), 0);
}

TEST_F(export, name_must_end)
{
	struct dmanic_segment_export export = {
		.size = sizeof(export), .id = self->segment.id, .rights = 1,
	};
	struct dmanic_connect connect = {
		.size = sizeof(connect), .flags = DMANIC_CONNECT_BY_NAME,
		.node = self->owner.id,
	};
	struct dmanic_irq_create irq = {
		.size = sizeof(irq), .depth = 1, .eventfd = -1,
	};

	memset(export.name, 'x', sizeof(export.name));
	memset(connect.name, 'x', sizeof(connect.name));
	memset(irq.name, 'x', sizeof(irq.name));
	EXPECT_EQ(dmanic_call(self->owner.fd, DMANIC_IOC_SEGMENT_EXPORT,
			      &export), -EINVAL);
	EXPECT_EQ(dmanic_call(self->user.fd, DMANIC_IOC_CONNECT, &connect),
		  -EINVAL);
	EXPECT_EQ(dmanic_call(self->owner.fd, DMANIC_IOC_IRQ_CREATE, &irq),
		  -EINVAL);
	/* The longest one that ends */
	export.name[sizeof(export.name) - 1] = 0;
	connect.name[sizeof(connect.name) - 1] = 0;
	EXPECT_EQ(dmanic_call(self->owner.fd, DMANIC_IOC_SEGMENT_EXPORT,
			      &export), 0);
	EXPECT_EQ(dmanic_call(self->user.fd, DMANIC_IOC_CONNECT, &connect), 0);
}

TEST_F(export, bytes_behind_the_name_are_EINVAL)
{
	struct dmanic_segment_export export = {
		.size = sizeof(export), .id = self->segment.id, .rights = 1,
		.name = "short\0rest",
	};

	EXPECT_EQ(dmanic_call(self->owner.fd, DMANIC_IOC_SEGMENT_EXPORT,
			      &export), -EINVAL);
}

/* Both ways to say what is wanted at once */
TEST_F(export, mixed_connect_is_EINVAL)
{
	struct dmanic_connect good, arg;

	segment_publish(&self->segment, DMANIC_RIGHT_READ, "mixed", secret);
	good = (struct dmanic_connect) {
		.size = sizeof(good), .node = self->owner.id,
		.id = self->segment.id, .key = self->segment.key,
	};
	arg = good;
	arg.name[0] = 'm';
	EXPECT_EQ(dmanic_call(self->user.fd, DMANIC_IOC_CONNECT, &arg),
		  -EINVAL);
	arg = good;
	arg.timeout_ns = 1;
	EXPECT_EQ(dmanic_call(self->user.fd, DMANIC_IOC_CONNECT, &arg),
		  -EINVAL);
	arg = good;
	arg.flags = DMANIC_CONNECT_BY_NAME;
	EXPECT_EQ(dmanic_call(self->user.fd, DMANIC_IOC_CONNECT, &arg),
		  -EINVAL);
	EXPECT_EQ(dmanic_call(self->user.fd, DMANIC_IOC_CONNECT, &good), 0);
}

TEST_F(export, unpublished_name_is_ENOENT_or_ETIME)
{
	__u64 start = now_ns();
	__u32 handle;

	EXPECT_EQ(connect_name(&self->user, 0, self->owner.id, "nobody", secret,
			       0, &handle), -ENOENT);
	EXPECT_EQ(connect_name(&self->user, 0, self->owner.id, "nobody", secret,
			       20 * MS_NS, &handle), -ETIME);
	EXPECT_GE(now_ns() - start, 20 * MS_NS);
}

struct waiter {
	struct node *node;
	__u32 owner;
	__u64 timeout_ns;
	__u32 handle;
	int ret;
	__u32 thread;		/* its number */
};

static void *wait_for_name(void *data)
{
	struct waiter *waiter = data;

	store32(&waiter->thread, gettid());
	waiter->ret = connect_name(waiter->node, 0, waiter->owner, "later",
				   secret, waiter->timeout_ns, &waiter->handle);
	return NULL;
}

TEST_F(export, connect_waits_for_the_name)
{
	struct segment other = segment_make(&self->owner, 1);
	struct waiter waiter = {
		&self->user, self->owner.id, slow_ns(20000), 0, -1, 0,
	};
	pthread_t thread;
	unsigned int i;

	ASSERT_EQ(pthread_create(&thread, NULL, wait_for_name, &waiter), 0);
	/* Names nobody waits for come and go meanwhile. */
	for (i = 0; i < 50; i++) {
		segment_publish(&other, DMANIC_RIGHT_READ, "other", secret);
		ASSERT_EQ(segment_revoke(&other), 0);
		breathe();
	}
	segment_publish(&self->segment, DMANIC_RIGHT_READ, "later", secret);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	ASSERT_EQ(waiter.ret, 0);
	EXPECT_EQ(try(self, DMANIC_OP_READ, waiter.handle), DMANIC_STATUS_OK);
}

/* A thread of this process that sleeps in an ioctl */
static bool in_ioctl(pid_t thread)
{
	char path[48], line[16] = "";
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
	stream = fopen(path, "re");
	ASSERT_TRUE(stream);
	if (!fgets(line, sizeof(line), stream))
		line[0] = 0;
	fclose(stream);
	/* "running", or the number of the call it sleeps in */
	return line[0] && line[0] != 'r' && atoi(line) == SYS_ioctl;
}

/* How often a thread of this process went to sleep */
static unsigned long slept(pid_t thread)
{
	unsigned long nr = 0;
	char path[48], line[80];
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
	stream = fopen(path, "re");
	ASSERT_TRUE(stream);
	while (fgets(line, sizeof(line), stream))
		if (!strncmp(line, "voluntary_ctxt_switches:", 24))
			nr = strtoul(line + 24, NULL, 10);
	fclose(stream);
	return nr;
}

#define CROWD	32

struct crowd {
	struct export_self *self;
	struct {
		__u32 id;
		char name[16];
	} member[CROWD];
	int next;
};

static void *crowd_member(void *data)
{
	struct crowd *crowd = data;
	struct export_self *self = crowd->self;
	int i = __atomic_fetch_add(&crowd->next, 1, __ATOMIC_RELAXED);
	__u32 handle;

	store32(&crowd->member[i].id, gettid());
	snprintf(crowd->member[i].name, sizeof(crowd->member[i].name), "mine-%d", i);
	connect_name(&self->user, 0, self->owner.id, crowd->member[i].name, secret,
		     DMANIC_TIMEOUT_NEVER, &handle);
	return NULL;
}

/* Whoever publishes a name would wake all of them, and they look it up under the node's lock */
TEST_F(export, names_of_others_wake_few)
{
	enum { NAMES = 64 };
	struct crowd crowd = { .self = self };
	unsigned long before = 0, after = 0;
	struct segment own[CROWD];
	pthread_t thread[CROWD];
	char name[16];
	unsigned int i;

	if (fabric_on_netdevs())
		SKIP("nobody is woken over the wire: who waits asks again");
	for (i = 0; i < CROWD; i++)
		ASSERT_EQ(pthread_create(&thread[i], NULL, crowd_member, &crowd), 0);
	for (i = 0; i < CROWD; i++) {
		ASSERT_TRUE(WAIT_FOR(load32(&crowd.member[i].id) && in_ioctl(crowd.member[i].id)));
		before += slept(crowd.member[i].id);
	}
	for (i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "other-%u", i);
		segment_publish(&self->segment, DMANIC_RIGHT_READ, name, secret);
		ASSERT_EQ(segment_revoke(&self->segment), 0);
		breathe();
	}
	for (i = 0; i < CROWD; i++)
		after += slept(crowd.member[i].id);
	if (after - before > CROWD * NAMES / 8)
		FAIL("%u names woke %u who wait for others %lu times", NAMES, CROWD,
		     after - before);
	for (i = 0; i < CROWD; i++) {
		own[i] = segment_make(&self->owner, 1);
		segment_publish(&own[i], DMANIC_RIGHT_READ, crowd.member[i].name, secret);
	}
	for (i = 0; i < CROWD; i++)
		ASSERT_EQ(pthread_join(thread[i], NULL), 0);
}

struct restart {
	struct fabric own;
	struct node owner;
	struct node user;
	struct segment segment;
	struct waiter waiter;
	pthread_t thread;
};

/* Nodes of its own, and a thread that waits for a name on the first of them */
static void restart_begin(struct restart *it)
{
	fabric_make(&it->own, "a", 2, NULL);
	it->owner = node_open(&it->own, 0);
	it->user = node_open(&it->own, 1);
	it->segment = segment_make(&it->owner, 64);
	it->waiter = (struct waiter) {
		&it->user, it->owner.id, slow_ns(20000), 0, -1, 0,
	};
	ASSERT_EQ(pthread_create(&it->thread, NULL, wait_for_name,
				 &it->waiter), 0);
	ASSERT_TRUE(WAIT_FOR(load32(&it->waiter.thread) &&
			     in_ioctl(it->waiter.thread)));
}

static void restart_publish(struct restart *it)
{
	segment_publish(&it->segment, DMANIC_RIGHT_WRITE, "later", secret);
	ASSERT_EQ(pthread_join(it->thread, NULL), 0);
}

/* The connection is to the node as it is after the wait. */
TEST(export, name_of_a_node_that_restarted_meanwhile)
{
	struct dmanic_sqe sqe;
	struct segment local;
	struct queue queue;
	struct restart it;

	restart_begin(&it);
	ASSERT_EQ(device_set_failed(it.owner.name, true), 0);
	ASSERT_EQ(device_set_failed(it.owner.name, false), 0);
	restart_publish(&it);
	ASSERT_EQ(it.waiter.ret, 0);
	local = segment_make(&it.user, 64);
	queue = queue_make(&it.user, 2, 2);
	sqe = sqe_move(DMANIC_OP_WRITE, local.id, 0, it.waiter.handle, 0, 64);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_OK);
}

FIXTURE(export_wait) {
	struct restart it;
};

FIXTURE_VARIANT(export_wait) {
	bool user;		/* fails, not the owner */
};

FIXTURE_VARIANT_ADD(export_wait, owner) { false };
FIXTURE_VARIANT_ADD(export_wait, user) { true };

FIXTURE_SETUP(export_wait)
{
	restart_begin(&self->it);
}

FIXTURE_TEARDOWN(export_wait)
{
}

TEST_F(export_wait, failed_meanwhile_is_EHOSTUNREACH)
{
	struct node *failed = variant->user ? &self->it.user : &self->it.owner;

	ASSERT_EQ(device_set_failed(failed->name, true), 0);
	restart_publish(&self->it);
	EXPECT_EQ(self->it.waiter.ret, -EHOSTUNREACH);
}

static void on_signal(int number)
{
	(void)number;
}

TEST_F(export, signal_ends_the_wait_for_a_name)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct waiter waiter = {
		&self->user, self->owner.id, DMANIC_TIMEOUT_NEVER, 0, 1, 0,
	};
	pthread_t thread;

	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, wait_for_name, &waiter), 0);
	ASSERT_TRUE(WAIT_FOR((pthread_kill(thread, SIGUSR1),
			      __atomic_load_n(&waiter.ret, __ATOMIC_RELAXED) !=
			      1)));
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(waiter.ret, -EINTR);
}

TEST_F(export, disconnected_handle_is_gone)
{
	__u32 handle;

	segment_export(&self->segment, DMANIC_RIGHT_READ);
	handle = segment_connect(&self->user, &self->segment);
	EXPECT_EQ(try(self, DMANIC_OP_READ, handle), DMANIC_STATUS_OK);
	EXPECT_EQ(disconnect(&self->owner, handle), -ENOENT);
	ASSERT_EQ(disconnect(&self->user, handle), 0);
	EXPECT_EQ(disconnect(&self->user, handle), -ENOENT);
	EXPECT_EQ(disconnect(&self->user, 0), -ENOENT);
	EXPECT_EQ(disconnect(&self->user, ~0U), -ENOENT);
	EXPECT_EQ(try(self, DMANIC_OP_READ, handle), DMANIC_STATUS_NO_HANDLE);
}

/* Handles are a context's own. */
TEST_F(export, handle_of_another_context_does_not_work)
{
	struct node again = node_open(&fabric, 1);
	struct queue queue = queue_make(&again, 2, 2);
	struct segment local = segment_make(&again, 100);
	struct dmanic_sqe sqe;
	__u32 handle;

	segment_export(&self->segment, DMANIC_RIGHT_READ);
	handle = segment_connect(&self->user, &self->segment);
	sqe = sqe_move(DMANIC_OP_READ, local.id, 0, handle, 0, 8);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_NO_HANDLE);
	/* Nor does a local segment of another context */
	handle = segment_connect(&again, &self->segment);
	sqe = sqe_move(DMANIC_OP_READ, self->local.id, 0, handle, 0, 8);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_NO_SEGMENT);
	sqe = sqe_move(DMANIC_OP_READ, local.id, 0, handle, 0, 8);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_OK);
}

FABRIC_TEST_MAIN()
