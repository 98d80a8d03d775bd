// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_removal.c - the device, or the module, goes while it is used
 *
 * Owns: what users of a device get when it is removed by force, that a busy
 * one is not removed without, and that the module stays while it is needed.
 *
 * Flags: -luring
 */
#include "poller.h"
#include "remote_map.h"
#include "uring_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES	(1UL << 20)

FIXTURE(removal) {
	struct fabric own;
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	struct queue queue;
	struct irq irq;
	__u32 handle;
	__u32 notify;
	int eventfd;
};

FIXTURE_SETUP(removal)
{
	fabric_make(&self->own, "a", 2, NULL);
	self->node = node_open(&self->own, 0);
	self->peer = node_open(&self->own, 1);
	self->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	self->local = segment_make(&self->node, BYTES);
	self->target = segment_make(&self->peer, BYTES);
	segment_export(&self->target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	self->handle = segment_connect(&self->node, &self->target);
	self->irq = irq_make(&self->node, 8);
	self->notify = irq_connect(&self->node, &self->irq);
	self->queue = queue_make_eventfd(&self->node, 16, 16, self->eventfd);
}

FIXTURE_TEARDOWN(removal)
{
}

TEST_F(removal, busy_device_is_EBUSY)
{
	struct device device;

	EXPECT_EQ(fabric_delete(self->own.prefix, false), -EBUSY);
	EXPECT_EQ(device_delete(self->node.name, false), -EBUSY);
	EXPECT_EQ(device_get(self->node.name, &device), 0);
	EXPECT_EQ(device_get(self->peer.name, &device), 0);
	EXPECT_EQ(device.state, DMANIC_DEV_UP);
}

struct waiter {
	struct removal_self *self;
	int (*call)(struct removal_self *self);
	int ret;
	pthread_t thread;
};

static int wait_completion(struct removal_self *self)
{
	struct dmanic_enter arg = {
		.size = sizeof(arg), .min_complete = 1,
		.timeout_ns = DMANIC_TIMEOUT_NEVER,
	};

	return dmanic_call(self->queue.fd, DMANIC_IOC_ENTER, &arg);
}

static int wait_interrupt(struct removal_self *self)
{
	return irq_wait(&self->irq, 1, DMANIC_TIMEOUT_NEVER, NULL);
}

static int wait_name(struct removal_self *self)
{
	static const __u64 secret[2] = { 1, 2 };
	__u32 handle;

	return connect_name(&self->peer, 0, self->node.id, "never", secret,
			    DMANIC_TIMEOUT_NEVER, &handle);
}

/* A name on the peer, asked for by the node that goes */
static int wait_name_here(struct removal_self *self)
{
	static const __u64 secret[2] = { 1, 2 };
	__u32 handle;

	return connect_name(&self->node, 0, self->peer.id, "never", secret,
			    DMANIC_TIMEOUT_NEVER, &handle);
}

static int wait_poll(struct removal_self *self)
{
	struct pollfd fds[] = {
		{ .fd = self->queue.fd, .events = POLLIN },
		{ .fd = self->irq.fd, .events = POLLIN },
	};

	return poll(fds, 2, -1) > 0 ? fds[0].revents | fds[1].revents : 0;
}

static void *wait_thread(void *data)
{
	struct waiter *waiter = data;

	waiter->ret = waiter->call(waiter->self);
	return NULL;
}

/* Everybody who sleeps in a call wakes up and is told. */
TEST_F(removal, waiters_get_ENODEV)
{
	struct waiter waiters[] = {
		{ .call = wait_completion }, { .call = wait_interrupt },
		{ .call = wait_name }, { .call = wait_poll },
		{ .call = wait_name_here },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(waiters); i++) {
		waiters[i].self = self;
		ASSERT_EQ(pthread_create(&waiters[i].thread, NULL, wait_thread,
					 &waiters[i]), 0);
	}
	/* Asleep or not yet: both must end. */
	for (i = 0; i < 20; i++)
		breathe();
	ASSERT_EQ(device_delete(self->node.name, true), 0);
	for (i = 0; i < ARRAY_SIZE(waiters); i++)
		ASSERT_EQ(pthread_join(waiters[i].thread, NULL), 0);
	EXPECT_EQ(waiters[0].ret, -ENODEV);
	EXPECT_EQ(waiters[1].ret, -ENODEV);
	/* The peer is there; the node it asks for is not. */
	EXPECT_EQ(waiters[2].ret, -EHOSTUNREACH);
	EXPECT_NE(waiters[3].ret & (POLLERR | POLLHUP), 0);
	EXPECT_EQ(waiters[4].ret, -ENODEV);
}

TEST_F(removal, calls_get_ENODEV_and_rings_tell)
{
	struct dmanic_query query = { .size = sizeof(query) };
	struct segment segment;
	struct device device;
	__u64 count = 0;

	memset(self->local.data, 1, BYTES);
	ASSERT_EQ(device_delete(self->node.name, true), 0);
	EXPECT_EQ(device_get(self->node.name, &device), -ENODEV);
	EXPECT_EQ(node_path_open(self->node.name, O_RDWR), -ENOENT);
	EXPECT_EQ(dmanic_call(self->node.fd, DMANIC_IOC_QUERY, &query),
		  -ENODEV);
	EXPECT_EQ(segment_create(&self->node, 1, &segment), -ENODEV);
	EXPECT_EQ(queue_enter(&self->queue, 1, 0, 0), -ENODEV);
	EXPECT_EQ(irq_wait(&self->irq, 0, 0, NULL), -ENODEV);
	/* Who is done with them may say so all the same */
	EXPECT_EQ(stop_call(self->queue.fd, DMANIC_IOC_QUEUE_STOP), 0);
	EXPECT_EQ(stop_call(self->irq.fd, DMANIC_IOC_IRQ_STOP), 0);
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->node.fd,
			 self->local.mmap_offset) == MAP_FAILED);
	EXPECT_NE(queue_flags(&self->queue) & DMANIC_RING_DEAD, 0);
	EXPECT_EQ(read(self->eventfd, &count, sizeof(count)), sizeof(count));
	/* Memory that is mapped stays. */
	EXPECT_EQ(self->local.data[BYTES - 1], 1);
	memset(self->local.data, 2, BYTES);
}

TEST_F(removal, peers_get_PEER_DEAD)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, 0,
					 self->handle, 0, 4096);
	__u32 handle;

	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	ASSERT_EQ(device_delete(self->peer.name, true), 0);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status,
		  DMANIC_STATUS_PEER_DEAD);
	EXPECT_EQ(connect_call(&self->node, 0, self->peer.id, self->target.id,
			       self->target.key, &handle), -EHOSTUNREACH);
}

/* Each operation in flight ends once, with a cause. */
TEST_F(removal, operations_in_flight_complete)
{
	struct model slow = { .latency_ns = slow_ns(60000) };
	struct dmanic_cqe cqe;
	unsigned int i, count = 0;

	if (fabric_on_netdevs())
		SKIP("only a loop link has a model");
	ASSERT_EQ(device_set_model(self->node.name, &slow), 0);
	for (i = 0; i < 12; i++) {
		struct dmanic_sqe *sqe = queue_sqe(&self->queue);

		*sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, 0,
				self->handle, 0, 4096);
		sqe->cookie = i;
		if (i % 4 == 3)
			sqe->flags = DMANIC_SQE_FENCE;
	}
	queue_submit(&self->queue);
	ASSERT_EQ(device_delete(self->node.name, true), 0);
	for (; queue_reap(&self->queue, &cqe); count |= 1U << cqe.cookie) {
		ASSERT_LT(cqe.cookie, 12);
		EXPECT_EQ(count & 1U << cqe.cookie, 0);
		EXPECT_TRUE(cqe.status == DMANIC_STATUS_OK ||
			    cqe.status == DMANIC_STATUS_LINK_DOWN);
	}
	EXPECT_EQ(count, (1U << 12) - 1);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_LINK_DOWN);
}

/* Who sees that an operation behind a fence ended may take it that all before it did. */
TEST_F(removal, what_is_fenced_ends_last)
{
	struct model slow = { .latency_ns = slow_ns(60000) };
	struct queue queue = queue_make(&self->node, 4096, 4096);
	unsigned int i, count = 0;
	struct dmanic_cqe cqe;

	if (!fabric_on_netdevs())
		ASSERT_EQ(device_set_model(self->node.name, &slow), 0);
	for (i = 0; i < 3000; i++) {
		struct dmanic_sqe *sqe = queue_sqe(&queue);

		*sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, 0, self->handle, 0, 4096);
		sqe->cookie = i;
		if (i >= 2990)
			sqe->flags = DMANIC_SQE_FENCE;
	}
	queue_submit(&queue);
	ASSERT_EQ(device_delete(self->node.name, true), 0);
	for (; queue_reap(&queue, &cqe); count++)
		if (count >= 2990)
			EXPECT_EQ(cqe.cookie, count);
	EXPECT_EQ(count, 3000);
	/* Without a model all may be done before */
	EXPECT_TRUE(cqe.status == DMANIC_STATUS_LINK_DOWN || fabric_on_netdevs());
	queue_close(&queue);
}

struct traffic {
	struct removal_self *self;
	bool stop;
	unsigned int rounds;
};

static void *write_on(void *data)
{
	struct traffic *traffic = data;
	struct removal_self *self = traffic->self;
	struct dmanic_cqe cqe;

	while (!__atomic_load_n(&traffic->stop, __ATOMIC_RELAXED)) {
		while (self->queue.tail -
		       load32(&self->queue.ring->sq_head) < 8)
			*queue_sqe(&self->queue) =
				sqe_move(DMANIC_OP_WRITE, self->local.id, 0,
					 self->handle, 0,
					 traffic->rounds % 3 ? 512 : 60000);
		if (queue_enter(&self->queue, 16, 0, 0))
			return NULL;
		while (queue_reap(&self->queue, &cqe))
			;
		__atomic_fetch_add(&traffic->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Either end of busy traffic goes. */
TEST_F(removal, during_traffic)
{
	struct traffic traffic;
	struct device device;
	unsigned int i;
	pthread_t thread;

	for (i = 0; i < 6; i++) {
		traffic = (struct traffic) { .self = self };
		ASSERT_EQ(pthread_create(&thread, NULL, write_on, &traffic), 0);
		ASSERT_TRUE(WAIT_FOR(__atomic_load_n(&traffic.rounds,
						     __ATOMIC_RELAXED) > 20));
		if (i & 1)
			ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
		else
			ASSERT_EQ(device_delete(i & 2 ? self->node.name :
						self->peer.name, true), 0);
		__atomic_store_n(&traffic.stop, true, __ATOMIC_RELAXED);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		fabric_delete(self->own.prefix, true);
		EXPECT_EQ(device_get(self->node.name, &device), -ENODEV);
		EXPECT_EQ(device_get(self->peer.name, &device), -ENODEV);
		/* Old descriptors stay open beside new nodes of that name. */
		removal_setup(self, NULL);
	}
}

static int unload(void)
{
	return syscall(SYS_delete_module, "dmanic", O_NONBLOCK) ? -errno : 0;
}

static bool can_load(void)
{
	return !system("modprobe -qn dmanic");
}

/* Gone as it came; then it is there for the next test again */
static void expect_unloads(void)
{
	EXPECT_TRUE(WAIT_FOR(!unload()));
	EXPECT_EQ(netlink_find_family(), -ENOENT);
	ASSERT_EQ(system("modprobe dmanic"), 0);
	ASSERT_EQ(netlink_find_family(), 0);
}

/* What keeps the module; without any of it, it goes and comes back. */
TEST(module, stays_while_anything_is_open)
{
	struct segment segment;
	struct fabric own;
	struct queue queue;
	struct node node;
	struct irq irq;

	if (!can_load())
		SKIP("modprobe would not find dmanic again");
	fabric_make(&own, "a", 1, NULL);
	node = node_open(&own, 0);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	segment = segment_make(&node, 4096);
	queue = queue_make(&node, 2, 2);
	irq = irq_make(&node, 2);
	node_close(&node);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	queue_close(&queue);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	irq_close(&irq);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	segment.data[0] = 1;
	segment_unmap(&segment);
	expect_unloads();
}

/* A mapping of what is another's, and gone, is still handled by the module. */
TEST(module, stays_while_a_remote_segment_is_mapped)
{
	struct segment segment;
	struct node node, owner;
	struct fabric own;
	__u64 value;
	__u8 *map;

	if (!can_load())
		SKIP("modprobe would not find dmanic again");
	bus_catch();
	fabric_make(&own, "a", 2, NULL);
	node = node_open(&own, 0);
	owner = node_open(&own, 1);
	segment = segment_make(&owner, 4096);
	segment_export(&segment, DMANIC_RIGHT_READ);
	map = remote_map(&node, segment_connect_map(&node, &segment, NULL),
			 4096, PROT_READ);
	segment_unmap(&segment);
	node_close(&node);
	node_close(&owner);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	EXPECT_EQ(bus_load(map, &value), SIGBUS);
	EXPECT_EQ(fabric_delete(own.prefix, false), -EBUSY);
	ASSERT_EQ(fabric_delete(own.prefix, true), 0);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	EXPECT_EQ(bus_load(map, &value), SIGBUS);
	ASSERT_EQ(munmap(map, 4096), 0);
	expect_unloads();
}

/* A ring has a reference to what was registered, closed or not. */
TEST(module, stays_while_descriptors_are_registered_with_an_io_uring)
{
	struct io_uring ring;
	struct fabric own;
	struct queue queue;
	struct node node;
	struct irq irq;
	int fds[3], i;

	if (!can_load())
		SKIP("modprobe would not find dmanic again");
	ring_make(&ring, 4, IORING_SETUP_SQE128);
	fabric_make(&own, "a", 1, NULL);
	node = node_open(&own, 0);
	queue = queue_make(&node, 2, 2);
	irq = irq_make(&node, 2);
	fds[0] = node.fd;
	fds[1] = queue.fd;
	fds[2] = irq.fd;
	ASSERT_EQ(io_uring_register_files(&ring, fds, 3), 0);
	irq_close(&irq);
	queue_close(&queue);
	node_close(&node);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	/* One after the other goes, the device's own last */
	fds[0] = -1;
	for (i = 2; i; i--) {
		ASSERT_EQ(io_uring_register_files_update(&ring, i, fds, 1), 1);
		EXPECT_EQ(unload(), -EWOULDBLOCK);
	}
	ASSERT_EQ(fabric_delete(own.prefix, true), 0);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	ASSERT_EQ(io_uring_unregister_files(&ring), 0);
	expect_unloads();
	io_uring_queue_exit(&ring);
}

/* Nor does the thread of a queue, which is the kernel's, outlive the queue. */
TEST(module, stays_while_a_polling_queue_is_open)
{
	struct fabric own;
	struct queue queue;
	struct node node;

	if (!can_load())
		SKIP("modprobe would not find dmanic again");
	fabric_make(&own, "a", 1, NULL);
	node = node_open(&own, 0);
	queue = poller_make(&node, 2, 2, 0);
	node_close(&node);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	EXPECT_EQ(poller_count(NULL), 1);
	ASSERT_EQ(fabric_delete(own.prefix, true), 0);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	queue_close(&queue);
	EXPECT_TRUE(WAIT_FOR(poller_count(NULL) == 0));
	expect_unloads();
}

/* Nodes nobody uses do not hold the module: they go with it. */
TEST(module, takes_its_nodes_along)
{
	struct device device;
	struct fabric own;
	struct node node;

	if (!can_load())
		SKIP("modprobe would not find dmanic again");
	fabric_make(&own, "a", 3, NULL);
	node = node_open(&own, 2);
	node_close(&node);
	ASSERT_TRUE(WAIT_FOR(!unload()));
	EXPECT_EQ(node_path_open(node.name, O_RDWR), -ENOENT);
	ASSERT_EQ(system("modprobe dmanic"), 0);
	ASSERT_EQ(netlink_find_family(), 0);
	EXPECT_EQ(device_get(node.name, &device), -ENODEV);
}

/* Removed by force, but still open: the code must stay. */
TEST(module, stays_for_removed_devices)
{
	struct fabric own;
	struct queue queue;
	struct node node;

	if (!can_load())
		SKIP("modprobe would not find dmanic again");
	fabric_make(&own, "a", 1, NULL);
	node = node_open(&own, 0);
	queue = queue_make(&node, 2, 2);
	ASSERT_EQ(fabric_delete(own.prefix, true), 0);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	node_close(&node);
	EXPECT_EQ(unload(), -EWOULDBLOCK);
	queue_close(&queue);
	EXPECT_TRUE(WAIT_FOR(!unload()));
	ASSERT_EQ(system("modprobe dmanic"), 0);
}

FABRIC_TEST_MAIN_NONE()
