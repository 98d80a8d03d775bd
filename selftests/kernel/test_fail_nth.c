// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fail_nth.c - every call with every allocation and copy failing in turn
 *
 * Owns: a sweep over the driver's error paths by /proc/thread-self/fail-nth
 * (Documentation/fault-injection in the kernel): the first fault in the call
 * is injected, then the second, until the call meets none. A call that failed
 * must have left every count as it was, and no connection, and the same call
 * must work then. Commands of an io_uring: test_fail_nth_uring.c; netlink:
 * test_fail_nth_netlink.c.
 */
#include "injection.h"
#include "poller.h"
#include "remote_map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE		(3UL << 20)

static const __u64 secret[2] = { 3, 4 };

FIXTURE(fail_nth) {
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	struct irq irq;
	struct queue queue;
	__u32 handle;
	__u32 notify;
	__u8 *user;
	int control;		/* fail-nth */
	struct segment made;	/* what the call made, and what it needs */
	struct fabric own;
	__u64 offset;
	int pipe[2];
	int eventfd;
	int fd;
	__u32 made_handle;
	__u64 raised;		/* of irq, before the call */
	void *map;
	size_t map_bytes;
};

FIXTURE_VARIANT(fail_nth) {
	void (*prepare)(struct fail_nth_self *self);
	int (*call)(struct fail_nth_self *self);
	void (*undo)(struct fail_nth_self *self);
};

/* ---- the calls ---- */

FIXTURE_SETUP(fail_nth)
{
	self->control = injection_open();
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, 4096);
	self->target = segment_make(&self->peer, 4096);
	segment_publish(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE |
			DMANIC_RIGHT_ATOMIC, "target", secret);
	self->irq = irq_make_with(&self->peer, 8, 0, -1, "irq", secret);
	self->queue = queue_make(&self->node, 8, 8);
	self->handle = segment_connect(&self->node, &self->target);
	self->notify = irq_connect(&self->node, &self->irq);
	self->user = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(self->user != MAP_FAILED);
	memset(self->user, 1, LARGE);
}

FIXTURE_TEARDOWN(fail_nth)
{
}

static void nothing(struct fail_nth_self *self)
{
	(void)self;
}

static int call_query(struct fail_nth_self *self)
{
	struct dmanic_query query = { .size = sizeof(query) };

	return dmanic_call(self->node.fd, DMANIC_IOC_QUERY, &query);
}

FIXTURE_VARIANT_ADD(fail_nth, query) { nothing, call_query, nothing };

static int call_create_small(struct fail_nth_self *self)
{
	return segment_create(&self->node, 5000, &self->made);
}

static int call_create_large(struct fail_nth_self *self)
{
	return segment_create(&self->node, LARGE, &self->made);
}

static int call_create_user(struct fail_nth_self *self)
{
	struct dmanic_segment_create create = {
		.size = sizeof(create), .flags = DMANIC_SEGMENT_USER_MEMORY,
		.length = LARGE - 100, .address = (uintptr_t)self->user + 50,
	};
	int ret = dmanic_call(self->node.fd, DMANIC_IOC_SEGMENT_CREATE,
			      &create);

	self->made = (struct segment) { .fd = self->node.fd, .id = create.id };
	return ret;
}

static void destroy_made(struct fail_nth_self *self)
{
	ASSERT_EQ(segment_destroy(&self->made), 0);
}

FIXTURE_VARIANT_ADD(fail_nth, create_small) {
	nothing, call_create_small, destroy_made,
};
FIXTURE_VARIANT_ADD(fail_nth, create_large) {
	nothing, call_create_large, destroy_made,
};
FIXTURE_VARIANT_ADD(fail_nth, create_user) {
	nothing, call_create_user, destroy_made,
};

static void make_one(struct fail_nth_self *self)
{
	ASSERT_EQ(segment_create(&self->node, 5000, &self->made), 0);
}

static void make_exported(struct fail_nth_self *self)
{
	make_one(self);
	segment_publish(&self->made, DMANIC_RIGHT_READ, "made", secret);
}

static int call_destroy(struct fail_nth_self *self)
{
	return segment_destroy(&self->made);
}

static int call_revoke(struct fail_nth_self *self)
{
	return segment_revoke(&self->made);
}

static int call_export(struct fail_nth_self *self)
{
	struct dmanic_segment_export arg = {
		.size = sizeof(arg), .id = self->made.id,
		.rights = DMANIC_RIGHT_READ, .name = "made",
	};

	return dmanic_call(self->node.fd, DMANIC_IOC_SEGMENT_EXPORT, &arg);
}

FIXTURE_VARIANT_ADD(fail_nth, destroy) {
	make_exported, call_destroy, nothing,
};
FIXTURE_VARIANT_ADD(fail_nth, revoke) {
	make_exported, call_revoke, destroy_made,
};
FIXTURE_VARIANT_ADD(fail_nth, export) {
	make_one, call_export, destroy_made,
};

static int call_connect(struct fail_nth_self *self)
{
	return connect_call(&self->node, 0, self->peer.id, self->target.id,
			    self->target.key, &self->made_handle);
}

static int call_connect_name(struct fail_nth_self *self)
{
	return connect_name(&self->node, 0, self->peer.id, "target", secret, 0,
			    &self->made_handle);
}

static int call_connect_irq(struct fail_nth_self *self)
{
	return connect_call(&self->node, DMANIC_CONNECT_IRQ, self->peer.id, self->irq.id,
			    self->irq.key, &self->made_handle);
}

static int call_connect_irq_name(struct fail_nth_self *self)
{
	return connect_name(&self->node, DMANIC_CONNECT_IRQ, self->peer.id, "irq", secret, 0,
			    &self->made_handle);
}

static void make_connection(struct fail_nth_self *self)
{
	self->made_handle = segment_connect(&self->node, &self->target);
}

static int call_disconnect(struct fail_nth_self *self)
{
	return disconnect(&self->node, self->made_handle);
}

static void disconnect_made(struct fail_nth_self *self)
{
	ASSERT_EQ(call_disconnect(self), 0);
}

FIXTURE_VARIANT_ADD(fail_nth, connect) {
	nothing, call_connect, disconnect_made,
};
FIXTURE_VARIANT_ADD(fail_nth, connect_name) {
	nothing, call_connect_name, disconnect_made,
};
FIXTURE_VARIANT_ADD(fail_nth, connect_irq) {
	nothing, call_connect_irq, disconnect_made,
};
FIXTURE_VARIANT_ADD(fail_nth, connect_irq_name) {
	nothing, call_connect_irq_name, disconnect_made,
};
FIXTURE_VARIANT_ADD(fail_nth, disconnect) {
	make_connection, call_disconnect, nothing,
};

static int call_queue(struct fail_nth_self *self)
{
	struct dmanic_queue_create create = {
		.size = sizeof(create), .sq_entries = 256, .cq_entries = 256,
		.eventfd = -1,
	};
	int ret = dmanic_call(self->node.fd, DMANIC_IOC_QUEUE_CREATE, &create);

	self->fd = create.fd;
	return ret;
}

static int call_poll_thread(struct fail_nth_self *self)
{
	struct dmanic_queue_create create = {
		.size = sizeof(create), .flags = DMANIC_QUEUE_POLL_THREAD,
		.sq_entries = 8, .cq_entries = 8, .eventfd = -1,
	};
	int ret = dmanic_call(self->node.fd, DMANIC_IOC_QUEUE_CREATE, &create);

	self->fd = create.fd;
	return ret;
}

static int call_irq(struct fail_nth_self *self)
{
	struct dmanic_irq_create create = {
		.size = sizeof(create), .depth = 512, .eventfd = -1,
		.name = "made",
	};
	int ret = dmanic_call(self->node.fd, DMANIC_IOC_IRQ_CREATE, &create);

	self->fd = create.fd;
	return ret;
}

static void make_eventfd(struct fail_nth_self *self)
{
	self->eventfd = eventfd(0, EFD_CLOEXEC);
	ASSERT_TRUE(self->eventfd >= 0);
}

static int call_queue_eventfd(struct fail_nth_self *self)
{
	struct dmanic_queue_create create = {
		.size = sizeof(create), .sq_entries = 8, .cq_entries = 8,
		.eventfd = self->eventfd,
	};
	int ret = dmanic_call(self->node.fd, DMANIC_IOC_QUEUE_CREATE, &create);

	self->fd = create.fd;
	return ret;
}

static int call_irq_eventfd(struct fail_nth_self *self)
{
	struct dmanic_irq_create create = {
		.size = sizeof(create), .depth = 8, .eventfd = self->eventfd,
	};
	int ret = dmanic_call(self->node.fd, DMANIC_IOC_IRQ_CREATE, &create);

	self->fd = create.fd;
	return ret;
}

static void close_both(struct fail_nth_self *self)
{
	ASSERT_EQ(close(self->fd), 0);
	ASSERT_EQ(close(self->eventfd), 0);
}

static int news_eventfd(struct fail_nth_self *self, int fd)
{
	struct dmanic_news_eventfd arg = { .size = sizeof(arg), .eventfd = fd };

	return dmanic_call(self->node.fd, DMANIC_IOC_NEWS_EVENTFD, &arg);
}

static int call_news_eventfd(struct fail_nth_self *self)
{
	return news_eventfd(self, self->eventfd);
}

static void undo_news_eventfd(struct fail_nth_self *self)
{
	ASSERT_EQ(news_eventfd(self, -1), 0);
	ASSERT_EQ(close(self->eventfd), 0);
}

FIXTURE_VARIANT_ADD(fail_nth, queue_eventfd) {
	make_eventfd, call_queue_eventfd, close_both,
};
FIXTURE_VARIANT_ADD(fail_nth, irq_eventfd) {
	make_eventfd, call_irq_eventfd, close_both,
};
FIXTURE_VARIANT_ADD(fail_nth, news_eventfd) {
	make_eventfd, call_news_eventfd, undo_news_eventfd,
};

static int call_open(struct fail_nth_self *self)
{
	self->fd = node_path_open(self->node.name, O_RDWR);
	return self->fd < 0 ? self->fd : 0;
}

static void close_made(struct fail_nth_self *self)
{
	ASSERT_EQ(close(self->fd), 0);
}

FIXTURE_VARIANT_ADD(fail_nth, queue) {
	nothing, call_queue, close_made,
};
FIXTURE_VARIANT_ADD(fail_nth, poll_thread) {
	nothing, call_poll_thread, close_made,
};
FIXTURE_VARIANT_ADD(fail_nth, irq) { nothing, call_irq, close_made };
FIXTURE_VARIANT_ADD(fail_nth, open) { nothing, call_open, close_made };

static void post_with_notify(struct fail_nth_self *self, struct dmanic_sqe sqe)
{
	self->raised = irq_raised(&self->irq);
	*queue_sqe(&self->queue) = sqe;
	*queue_sqe(&self->queue) = sqe_notify(self->notify, 1);
}

static void post_two(struct fail_nth_self *self)
{
	post_with_notify(self, sqe_move(DMANIC_OP_WRITE, self->local.id, 0, self->handle, 0, 4096));
}

/* What the poster does not do itself */
static void post_behind_fence(struct fail_nth_self *self)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, 0, self->handle, 0, 4096);

	sqe.flags = DMANIC_SQE_FENCE;
	post_with_notify(self, sqe);
}

static void post_list(struct fail_nth_self *self)
{
	struct dmanic_list_entry entry = { .local_offset = 1024, .length = 64 };

	memcpy(self->local.data, &entry, sizeof(entry));
	post_with_notify(self, sqe_list(0, self->local.id, self->handle, self->local.id, 0, 1));
}

static void post_atomic(struct fail_nth_self *self)
{
	post_with_notify(self, sqe_atomic(DMANIC_OP_FETCH_ADD, self->handle, 8, 1, 0));
}

static void post_read(struct fail_nth_self *self)
{
	post_with_notify(self, sqe_move(DMANIC_OP_READ, self->local.id, 0, self->handle, 0, 4096));
}

static void post_strided(struct fail_nth_self *self, __u8 opcode)
{
	struct dmanic_sqe sqe = sqe_move(opcode, self->local.id, 0, self->handle, 0, 0);

	sqe.block = 100;
	sqe.count = 8;
	sqe.local_stride = 200;
	sqe.remote_stride = 300;
	post_with_notify(self, sqe);
}

static void post_write_strided(struct fail_nth_self *self)
{
	post_strided(self, DMANIC_OP_WRITE_STRIDED);
}

static void post_read_strided(struct fail_nth_self *self)
{
	post_strided(self, DMANIC_OP_READ_STRIDED);
}

static void post_swap(struct fail_nth_self *self)
{
	post_with_notify(self, sqe_atomic(DMANIC_OP_SWAP, self->handle, 8, 1, 0));
}

static void post_compare_swap(struct fail_nth_self *self)
{
	post_with_notify(self, sqe_atomic(DMANIC_OP_COMPARE_SWAP, self->handle, 8, 1, 0));
}

/* The second of the two raises nothing */
static void post_write_notify(struct fail_nth_self *self)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, 0, self->handle, 0, 4096);

	sqe.flags = DMANIC_SQE_NOTIFY;
	sqe.notify = self->notify;
	self->raised = irq_raised(&self->irq);
	*queue_sqe(&self->queue) = sqe;
	*queue_sqe(&self->queue) = (struct dmanic_sqe) { .opcode = DMANIC_OP_NOP };
}

/* Each was done once, whether the first call submitted it or the second. */
static void reap_two(struct fail_nth_self *self)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(queue_reap(&self->queue, &cqe));
		EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
	}
	EXPECT_TRUE(!queue_reap(&self->queue, &cqe));
	EXPECT_EQ(self->queue.tail, load32(&self->queue.ring->sq_head));
	EXPECT_EQ(irq_raised(&self->irq), self->raised + 1);
}

static int call_enter(struct fail_nth_self *self)
{
	return queue_enter(&self->queue, 2, 2, slow_ns(1000));
}

static int call_irq_wait(struct fail_nth_self *self)
{
	return irq_wait(&self->irq, 0, 0, NULL);
}

FIXTURE_VARIANT_ADD(fail_nth, enter) {
	post_two, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_behind_fence) {
	post_behind_fence, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_list) {
	post_list, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_atomic) {
	post_atomic, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_read) {
	post_read, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_write_strided) {
	post_write_strided, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_read_strided) {
	post_read_strided, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_swap) {
	post_swap, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_compare_swap) {
	post_compare_swap, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, enter_write_notify) {
	post_write_notify, call_enter, reap_two,
};
FIXTURE_VARIANT_ADD(fail_nth, irq_wait) {
	nothing, call_irq_wait, nothing,
};

static int call_queue_stop(struct fail_nth_self *self)
{
	return stop_call(self->queue.fd, DMANIC_IOC_QUEUE_STOP);
}

static void undo_queue_stop(struct fail_nth_self *self)
{
	EXPECT_TRUE(queue_flags(&self->queue) & DMANIC_RING_DEAD);
	queue_close(&self->queue);
	self->queue = queue_make(&self->node, 8, 8);
}

FIXTURE_VARIANT_ADD(fail_nth, queue_stop) {
	nothing, call_queue_stop, undo_queue_stop,
};

static void prepare_stop_busy(struct fail_nth_self *self)
{
	post_behind_fence(self);
	ASSERT_EQ(queue_enter(&self->queue, 2, 0, 0), 0);
}

/* Each has ended, one way or the other */
static void undo_stop_busy(struct fail_nth_self *self)
{
	struct dmanic_cqe cqe;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(queue_reap(&self->queue, &cqe));
		EXPECT_TRUE(cqe.status == DMANIC_STATUS_OK ||
			    cqe.status == DMANIC_STATUS_CANCELLED);
	}
	EXPECT_TRUE(!queue_reap(&self->queue, &cqe));
	undo_queue_stop(self);
}

FIXTURE_VARIANT_ADD(fail_nth, queue_stop_busy) {
	prepare_stop_busy, call_queue_stop, undo_stop_busy,
};

static void prepare_stop_polled(struct fail_nth_self *self)
{
	queue_close(&self->queue);
	self->queue = poller_make(&self->node, 8, 8, 0);
}

FIXTURE_VARIANT_ADD(fail_nth, queue_stop_polled) {
	prepare_stop_polled, call_queue_stop, undo_queue_stop,
};

static int call_irq_stop(struct fail_nth_self *self)
{
	return stop_call(self->irq.fd, DMANIC_IOC_IRQ_STOP);
}

static void undo_irq_stop(struct fail_nth_self *self)
{
	EXPECT_EQ(load32(&self->irq.ring->flags), DMANIC_RING_DEAD);
	EXPECT_EQ(disconnect(&self->node, self->notify), 0);
	irq_close(&self->irq);
	self->irq = irq_make_with(&self->peer, 8, 0, -1, "irq", secret);
	self->notify = irq_connect(&self->node, &self->irq);
}

FIXTURE_VARIANT_ADD(fail_nth, irq_stop) { nothing, call_irq_stop, undo_irq_stop };

static int map_fd(struct fail_nth_self *self, int fd, size_t bytes,
		  off_t offset)
{
	self->map_bytes = bytes;
	self->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 offset);
	return self->map == MAP_FAILED ? -errno : 0;
}

static int call_map_segment(struct fail_nth_self *self)
{
	return map_fd(self, self->node.fd, 4096, self->local.mmap_offset);
}

static int call_map_queue(struct fail_nth_self *self)
{
	return map_fd(self, self->queue.fd, self->queue.map_bytes, 0);
}

static int call_map_irq(struct fail_nth_self *self)
{
	return map_fd(self, self->irq.fd, self->irq.map_bytes, 0);
}

static void unmap_made(struct fail_nth_self *self)
{
	ASSERT_EQ(munmap(self->map, self->map_bytes), 0);
}

FIXTURE_VARIANT_ADD(fail_nth, map_segment) {
	nothing, call_map_segment, unmap_made,
};
FIXTURE_VARIANT_ADD(fail_nth, map_queue) {
	nothing, call_map_queue, unmap_made,
};

FIXTURE_VARIANT_ADD(fail_nth, map_irq) {
	nothing, call_map_irq, unmap_made,
};

static int call_map_remote(struct fail_nth_self *self)
{
	return map_fd(self, self->node.fd, 4096, MAP_OFFSET(self->handle));
}

/* Nobody has mapped anything of this node before */
static void prepare_map_first(struct fail_nth_self *self)
{
	struct fabric own = { .nodes = 0 };
	struct segment target;
	struct node node;

	fabric_make(&own, "m", 1, NULL);
	node = node_open(&own, 0);
	target = segment_make(&node, 4096);
	segment_export(&target, DMANIC_RIGHT_READ);
	self->offset = segment_connect_map(&node, &target, NULL);
	self->fd = node.fd;
	self->own = own;
	self->made = target;
}

static int call_map_first(struct fail_nth_self *self)
{
	self->map_bytes = 4096;
	self->map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd,
			 self->offset);
	return self->map == MAP_FAILED ? -errno : 0;
}

static void undo_map_first(struct fail_nth_self *self)
{
	if (self->map != MAP_FAILED)
		ASSERT_EQ(munmap(self->map, self->map_bytes), 0);
	segment_unmap(&self->made);
	ASSERT_EQ(close(self->fd), 0);
	ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
}

/* A fault inside of a system call: it cannot be tried again, and is EFAULT */
static void prepare_fault(struct fail_nth_self *self)
{
	ASSERT_EQ(pipe2(self->pipe, O_CLOEXEC), 0);
	ASSERT_EQ(call_map_remote(self), 0);
}

static int call_fault(struct fail_nth_self *self)
{
	return write(self->pipe[1], self->map, 1) == 1 ? 0 : -errno;
}

static void undo_fault(struct fail_nth_self *self)
{
	ASSERT_EQ(munmap(self->map, self->map_bytes), 0);
	ASSERT_EQ(close(self->pipe[0]), 0);
	ASSERT_EQ(close(self->pipe[1]), 0);
}

FIXTURE_VARIANT_ADD(fail_nth, map_remote) {
	nothing, call_map_remote, unmap_made,
};
FIXTURE_VARIANT_ADD(fail_nth, map_remote_first) {
	prepare_map_first, call_map_first, undo_map_first,
};
FIXTURE_VARIANT_ADD(fail_nth, fault_remote) {
	prepare_fault, call_fault, undo_fault,
};

/* What it could not tell it tells the next time: a neighbour failed, and restarted */
static void prepare_news(struct fail_nth_self *self)
{
	char name[DMANIC_NAME_MAX];
	struct fabric own = { .nodes = 0 };

	fabric_make(&own, "n", 2, NULL);
	self->fd = node_open(&own, 0).fd;
	self->own = own;
	fabric_name(&own, 1, name);
	ASSERT_EQ(device_set_failed(name, true), 0);
	ASSERT_EQ(device_set_failed(name, false), 0);
}

static int call_news(struct fail_nth_self *self)
{
	struct dmanic_news news[3];
	ssize_t got = read(self->fd, news, sizeof(news));

	if (got < 0)
		return -errno;
	EXPECT_EQ(got, 2 * sizeof(*news));
	EXPECT_EQ(news[0].number, 0);
	return 0;
}

static void undo_news(struct fail_nth_self *self)
{
	ASSERT_EQ(close(self->fd), 0);
	ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
}

FIXTURE_VARIANT_ADD(fail_nth, read_news) {
	prepare_news, call_news, undo_news,
};

/* ---- the sweep ---- */

/* What is in no count, an export or a name, would be in the way of this. */
static void call_again(struct fail_nth_self *self,
		       const struct fail_nth_variant *variant,
		       unsigned int nth, int ret)
{
	int again = variant->call(self);

	if (again)
		FAIL("fault %u (%s): called again: %s", nth, strerror(-ret),
		     strerror(-again));
}

static bool of_loop(const struct fail_nth_variant *variant)
{
	return variant->call == call_map_remote || variant->call == call_map_first ||
	       variant->call == call_fault || variant->call == call_news;
}

TEST_F_TIMEOUT(fail_nth, each_failure_leaves_nothing, 60)
{
	struct counts before;
	unsigned int nth;
	bool injected;
	int ret;

	if (of_loop(variant) && fabric_on_netdevs())
		SKIP("only nodes of a loop link map others, and fail when they are told to");
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		variant->prepare(self);
		counts_read(&self->node, &self->target, &before);
		injection_arm(self->control, nth);
		ret = variant->call(self);
		injected = injection_disarm(self->control);
		if (!injected)
			break;
		if (ret) {
			counts_expect(&self->node, &self->target, nth, ret,
				      &before);
			EXPECT_EQ(queue_flags(&self->queue) & DMANIC_RING_DEAD, 0);
			EXPECT_EQ(load32(&self->irq.ring->flags), 0);
			call_again(self, variant, nth, ret);
		}
		variant->undo(self);
		ASSERT_TRUE(!harness_failed());
	}
	harness_note("%u faults", nth - 1);
	ASSERT_EQ(ret, 0);
	/* At least the argument's way in and out, or an allocation */
	EXPECT_GT(nth, 1);
	ASSERT_LT(nth, FAULTS_MAX);
}

static void expect_unused(const struct fabric *own, unsigned int nth)
{
	char what[64] = "";

	if (!WAIT_FOR(fabric_idle(own, what, sizeof(what))))
		FAIL("fault %u: %s", nth, what);
}

/* Whom nobody has open: the first of a user is more than one more (core/account.c) */
TEST_TIMEOUT(first_open, each_failure_leaves_nothing, 60)
{
	struct fabric own = { .nodes = 0 };
	int control = injection_open();
	char name[DMANIC_NAME_MAX];
	unsigned int nth, fds;
	bool injected;
	int fd;

	fabric_make(&own, "o", 1, NULL);
	fabric_name(&own, 0, name);
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		fds = count_fds();
		injection_arm(control, nth);
		fd = node_path_open(name, O_RDWR);
		injected = injection_disarm(control);
		if (fd >= 0)
			ASSERT_EQ(close(fd), 0);
		else
			errno_expect(nth, fd);
		EXPECT_EQ(count_fds(), fds);
		expect_unused(&own, nth);
		if (!injected)
			break;
		ASSERT_TRUE(!harness_failed());
	}
	faults_told(nth - 1);
	ASSERT_GE(fd, 0);
	EXPECT_GT(nth, 1);
	ASSERT_EQ(fabric_delete(own.prefix, true), 0);
}

FABRIC_TEST_MAIN()
