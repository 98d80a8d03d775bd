// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_fail_nth.c - every call with every allocation and copy failing in turn
 *
 * Owns: a sweep over the driver's error paths by /proc/thread-self/fail-nth
 * (Documentation/fault-injection in the kernel): the first fault in the call
 * is injected, then the second, until the call meets none. A call that failed
 * must have left every count as it was, and no connection, and the same call
 * must work then. Needs a kernel with fault injection.
 *
 * Flags: -luring
 */
#include "listener.h"
#include "remote_map.h"
#include "uring_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAULTS_MAX	3000	/* a call that meets more is not believed */
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
	int fd;
	__u32 made_handle;
	__u64 raised;		/* of irq, before the call */
	void *map;
	size_t map_bytes;
	struct io_uring ring;
};

FIXTURE_VARIANT(fail_nth) {
	void (*prepare)(struct fail_nth_self *self);
	int (*call)(struct fail_nth_self *self);
	void (*undo)(struct fail_nth_self *self);
};

/* ---- the injection ---- */

static void put_setting(const char *file, const char *value)
{
	char path[96];
	FILE *stream;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", file);
	stream = fopen(path, "we");
	if (!stream)
		return;
	fputs(value, stream);
	fclose(stream);
}

/* All kinds of allocation, at any size, without a word in the kernel log */
static int injection_open(void)
{
	int control = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);

	if (control < 0)
		SKIP("this kernel has no fault injection (fail-nth)");
	put_setting("failslab/ignore-gfp-wait", "N");
	put_setting("failslab/cache-filter", "N");
	put_setting("failslab/task-filter", "Y");
	put_setting("failslab/verbose", "0");
	put_setting("fail_page_alloc/ignore-gfp-wait", "N");
	put_setting("fail_page_alloc/ignore-gfp-highmem", "N");
	put_setting("fail_page_alloc/min-order", "0");
	put_setting("fail_page_alloc/task-filter", "Y");
	put_setting("fail_page_alloc/verbose", "0");
	put_setting("fail_usercopy/task-filter", "Y");
	put_setting("fail_usercopy/verbose", "0");
	return control;
}

static void injection_arm(int control, unsigned int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", nth);

	ASSERT_EQ(pwrite(control, text, length, 0), length);
}

/*
 * Whether the fault was injected. Reading and writing the file copy from and
 * to the user too, so they may be what meets it: then it was not the call.
 */
static bool injection_disarm(int control)
{
	char text[16] = "";
	bool injected = false;

	if (pread(control, text, sizeof(text) - 1, 0) > 0)
		injected = !atoi(text);
	while (pwrite(control, "0", 1, 0) != 1)
		;
	return injected;
}

/* ---- the calls ---- */

FIXTURE_SETUP(fail_nth)
{
	self->control = injection_open();
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, 4096);
	self->target = segment_make(&self->peer, 4096);
	segment_publish(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE,
			"target", secret);
	self->irq = irq_make(&self->peer, 8);
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

static void post_two(struct fail_nth_self *self)
{
	self->raised = irq_raised(&self->irq);
	*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_WRITE, self->local.id, 0,
					    self->handle, 0, 4096);
	*queue_sqe(&self->queue) = sqe_notify(self->notify, 1);
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
FIXTURE_VARIANT_ADD(fail_nth, irq_wait) {
	nothing, call_irq_wait, nothing,
};

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

static void prepare_uring(struct fail_nth_self *self)
{
	ring_make(&self->ring, 4, IORING_SETUP_SQE128);
}

/* A wait that times out, and an operation of the worker; or what is left of them */
static int call_uring(struct fail_nth_self *self)
{
	struct dmanic_sqe op = { .flags = DMANIC_SQE_FENCE };
	int ready = (int)io_uring_sq_ready(&self->ring), taken, i, failed = 0;
	struct io_uring_cqe *cqe;

	if (!ready) {
		prep_wait(&self->ring, &self->queue, 1, 0)->user_data = 1;
		prep_post(&self->ring, &self->queue, &op);
		ready = 2;
	}
	taken = io_uring_submit(&self->ring);
	for (i = 0; i < taken; i++) {
		while (io_uring_peek_cqe(&self->ring, &cqe))
			breathe();
		if (cqe->res < 0 && !(cqe->user_data && cqe->res == -ETIME))
			failed = cqe->res;
		io_uring_cqe_seen(&self->ring, cqe);
	}
	/* io_uring may have no memory either */
	return taken < ready ? -ENOMEM : failed;
}

static void undo_uring(struct fail_nth_self *self)
{
	io_uring_queue_exit(&self->ring);
}

FIXTURE_VARIANT_ADD(fail_nth, uring) {
	prepare_uring, call_uring, undo_uring,
};

/* ---- the sweep ---- */

/* What a call that failed must leave as it was */
struct state {
	struct device device;
	unsigned int fds;
	__u32 handle;		/* connections have lower ones */
};

static void state_read(struct fail_nth_self *self, struct state *state)
{
	ASSERT_EQ(device_get(self->node.name, &state->device), 0);
	state->fds = count_fds();
	state->handle = handle_next(&self->node, &self->target);
}

static bool same(struct fail_nth_self *self, const struct device *before)
{
	struct device after;

	return !device_get(self->node.name, &after) &&
	       after.contexts == before->contexts &&
	       after.segments == before->segments &&
	       after.queues == before->queues && after.irqs == before->irqs &&
	       after.pinned == before->pinned;
}

static void expect_unchanged(struct fail_nth_self *self, unsigned int nth,
			     int ret, const struct state *before)
{
	__u32 handle;

	if (ret != -ENOMEM && ret != -EFAULT && ret != -ENFILE)
		harness_fail(__FILE__, __LINE__, "fault %u: %s", nth,
			     strerror(-ret));
	if (!WAIT_FOR(same(self, &before->device)))
		harness_fail(__FILE__, __LINE__,
			     "fault %u (%s): the counts changed", nth,
			     strerror(-ret));
	if (count_fds() != before->fds)
		harness_fail(__FILE__, __LINE__,
			     "fault %u (%s): a descriptor was left", nth,
			     strerror(-ret));
	handle = handle_next(&self->node, &self->target);
	if (handles_left(&self->node, before->handle, handle))
		harness_fail(__FILE__, __LINE__,
			     "fault %u (%s): a connection was left", nth,
			     strerror(-ret));
}

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

TEST_F_TIMEOUT(fail_nth, each_failure_leaves_nothing, 60)
{
	struct state before;
	unsigned int nth;
	bool injected;
	int ret;

	for (nth = 1; nth < FAULTS_MAX; nth++) {
		variant->prepare(self);
		state_read(self, &before);
		injection_arm(self->control, nth);
		ret = variant->call(self);
		injected = injection_disarm(self->control);
		if (!injected)
			break;
		if (ret) {
			expect_unchanged(self, nth, ret, &before);
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

/* ---- netlink: the answer may be lost, the work may not be half done ---- */

static int no_errors(const struct nlmsghdr *header, void *data)
{
	(void)header;
	(void)data;
	return MNL_CB_OK;
}

/* Send under injection. 0 or -errno as told, 1 when nothing was told */
static int send_armed(int control, unsigned int nth, struct request *request,
		      bool *injected)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_GENERIC,
						     SOCK_CLOEXEC |
						     SOCK_NONBLOCK);
	char buffer[8192] __attribute__((aligned(8)));
	ssize_t length;
	int ret;

	ASSERT_TRUE(socket);
	ASSERT_EQ(mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID), 0);
	injection_arm(control, nth);
	ret = mnl_socket_sendto(socket, request->header,
				request->header->nlmsg_len) < 0 ? -errno : 1;
	*injected = injection_disarm(control);
	while (ret == 1) {
		length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		if (length <= 0)
			break;
		ret = mnl_cb_run(buffer, length, 0,
				 mnl_socket_get_portid(socket), no_errors,
				 NULL);
		if (ret < 0)
			ret = -errno;
	}
	mnl_socket_close(socket);
	return ret;
}

static void request_new(struct request *request, const char *prefix)
{
	request_begin(request, DMANIC_GENL_CMD_DEV_NEW, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_TYPE, "loop");
	mnl_attr_put_strz(request->header, DMANIC_A_NAME, prefix);
	mnl_attr_put_u32(request->header, DMANIC_A_NODES, 2);
}

static void request_delete(struct request *request, const char *prefix)
{
	request_begin(request, DMANIC_GENL_CMD_DEV_DEL, 0);
	mnl_attr_put_strz(request->header, DMANIC_A_FABRIC, prefix);
}

TEST_TIMEOUT(fail_nth, netlink_new_is_all_or_nothing, 120)
{
	int control = injection_open(), ret;
	char prefix[DMANIC_NAME_MAX];
	struct request request;
	bool injected = true;
	unsigned int nth, nodes;

	snprintf(prefix, sizeof(prefix), "t%da_", getpid());
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		request_new(&request, prefix);
		ret = send_armed(control, nth, &request, &injected);
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
	harness_note("%u faults", nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(nodes, 2);
	EXPECT_GT(nth, 10);
}

/* With a listener; a message that could not be made is one he knows he lost */
static struct listener listener;

static bool heard(__u32 kind, unsigned int wanted)
{
	struct device event;
	unsigned int n = 0;
	bool lost = false;
	int ret;

	do {
		ret = listener_next(&listener, &event);
		n += !ret && event.event == kind;
		lost |= ret == -ENOBUFS;
	} while (!ret || ret == -ENOBUFS);
	return ret == -EAGAIN && (lost || n == wanted);
}

TEST_TIMEOUT(fail_nth, netlink_delete_is_all_or_nothing, 120)
{
	int control = injection_open(), ret;
	struct request request;
	bool injected = true;
	unsigned int nth, nodes;
	struct fabric own;

	listener_open(&listener, 0);
	for (nth = 1; nth < FAULTS_MAX; nth++) {
		fabric_make(&own, "a", 2, NULL);
		request_delete(&request, own.prefix);
		ret = send_armed(control, nth, &request, &injected);
		nodes = device_dump(own.prefix, NULL, 0);
		EXPECT_TRUE(heard(DMANIC_EVENT_REMOVED, 2 - nodes));
		if (!injected)
			break;
		EXPECT_TRUE(nodes == 0 || nodes == 2);
		if (ret <= 0)
			EXPECT_EQ(nodes, ret ? 2 : 0);
		if (nodes)
			ASSERT_EQ(fabric_delete(own.prefix, true), 0);
		heard(DMANIC_EVENT_REMOVED, 2);
		ASSERT_TRUE(!harness_failed());
	}
	harness_note("%u faults", nth - 1);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(nodes, 0);
	EXPECT_GT(nth, 1);
	listener_close(&listener);
}

FABRIC_TEST_MAIN()
