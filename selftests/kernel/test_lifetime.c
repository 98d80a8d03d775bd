// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_lifetime.c - what lives how long, and that nothing is left
 *
 * Owns: ends of every kind: killed, exited, forked, passed on, closed in any
 * order. The counts that netlink tells must come back to zero by themselves.
 * Removing the device below its users is in test_removal.c.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	(1UL << 20)

/* Everything a program can have, with operations in flight */
struct estate {
	struct node node;
	struct node peer;
	struct segment local;
	struct segment user;
	struct segment target;
	struct queue queue;
	struct irq irq;
};

/* What is in flight would stay so for a minute */
#define IN_FLIGHT_NS	slow_ns(60000)

/* @late: nobody else uses these nodes; else what is in flight may be done soon */
static struct estate acquire(const struct fabric *of, bool late)
{
	struct estate estate;
	unsigned int i;
	__u32 handle;
	__u8 *data;

	if (late)
		fabric_late(of, 0);
	estate.node = node_open(of, 0);
	estate.peer = node_open(of, 1);
	estate.local = segment_make(&estate.node, BYTES);
	data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(data != MAP_FAILED);
	estate.user = segment_register(&estate.node, data, BYTES);
	estate.target = segment_make(&estate.peer, BYTES);
	segment_export(&estate.target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	handle = segment_connect(&estate.node, &estate.target);
	estate.irq = irq_make(&estate.peer, 8);
	irq_connect(&estate.node, &estate.irq);
	estate.queue = queue_make(&estate.node, 16, 16);
	for (i = 0; i < 8; i++)
		*queue_sqe(&estate.queue) =
			sqe_move(i & 1 ? DMANIC_OP_WRITE : DMANIC_OP_READ,
				 i & 2 ? estate.user.id : estate.local.id, 0,
				 handle, 0, BYTES);
	if (late)
		fabric_late(of, IN_FLIGHT_NS);
	queue_submit(&estate.queue);
	return estate;
}

enum end { KILLED, EXITED, KILLED_WAITING };

/* A process acquires all of it and ends in its way. */
static void end_process(const struct fabric *own, enum end end)
{
	int ready[2], status;
	pid_t child;
	char byte;

	ASSERT_EQ(pipe(ready), 0);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		struct estate estate = acquire(own, true);

		if (write(ready[1], "x", 1) != 1 || end == EXITED)
			_exit(0);
		if (end == KILLED_WAITING)
			queue_enter(&estate.queue, 0, 16, DMANIC_TIMEOUT_NEVER);
		pause();
		_exit(0);
	}
	close(ready[1]);
	ASSERT_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	if (end != EXITED)
		ASSERT_EQ(kill(child, SIGKILL), 0);
	ASSERT_TRUE(WAIT_FOR(waitpid(child, &status, WNOHANG) == child));
}

FIXTURE(lifetime) {
	struct fabric slow;	/* what is posted stays in flight */
};

FIXTURE_SETUP(lifetime)
{
	fabric_make(&self->slow, "a", 2, NULL);
}

FIXTURE_TEARDOWN(lifetime)
{
}

static void expect_idle(const struct fabric *of)
{
	char what[200];

	if (!WAIT_FOR(fabric_idle(of, what, sizeof(what))))
		FAIL("left behind: %s", what);
}

TEST_F(lifetime, killed_process_leaves_nothing)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		end_process(&self->slow, KILLED);
		expect_idle(&self->slow);
		end_process(&self->slow, KILLED_WAITING);
		expect_idle(&self->slow);
	}
	EXPECT_EQ(fabric_delete(self->slow.prefix, false), 0);
}

TEST_F(lifetime, exited_process_leaves_nothing)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		end_process(&self->slow, EXITED);
		expect_idle(&self->slow);
	}
}

TEST_F(lifetime, killed_processes_at_once_leave_nothing)
{
	pid_t children[8];
	unsigned int i;
	int status;

	/* Frames between nodes are needed to connect, too */
	if (!fabric_on_netdevs())
		fabric_late(&self->slow, IN_FLIGHT_NS);
	for (i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		ASSERT_GE(children[i], 0);
		if (!children[i]) {
			for (;;) {
				struct estate estate = acquire(&self->slow, false);

				queue_close(&estate.queue);
				segment_unmap(&estate.local);
				segment_unmap(&estate.target);
				irq_close(&estate.irq);
				node_close(&estate.node);
				node_close(&estate.peer);
				munmap(estate.user.data, BYTES);
			}
		}
	}
	for (i = 0; i < 50; i++)
		breathe();
	for (i = 0; i < ARRAY_SIZE(children); i++) {
		ASSERT_EQ(kill(children[i], SIGKILL), 0);
		breathe();
	}
	for (i = 0; i < ARRAY_SIZE(children); i++)
		ASSERT_TRUE(WAIT_FOR(waitpid(children[i], &status, WNOHANG) ==
				     children[i]));
	expect_idle(&self->slow);
}

/* Each order of closing; the last one gives everything back. */
TEST_F(lifetime, any_order_of_closing)
{
	struct estate estate;
	unsigned int order;

	for (order = 0; order < 4; order++) {
		estate = acquire(&self->slow, true);
		ASSERT_EQ(munmap(estate.user.data, BYTES), 0);
		if (order & 1) {
			node_close(&estate.node);
			node_close(&estate.peer);
		}
		if (order < 2)
			queue_close(&estate.queue);
		segment_unmap(&estate.local);
		segment_unmap(&estate.target);
		irq_close(&estate.irq);
		if (!(order & 1)) {
			node_close(&estate.node);
			node_close(&estate.peer);
		}
		if (order >= 2)
			queue_close(&estate.queue);
		expect_idle(&self->slow);
	}
}

/* A queue keeps its context: everything of it still works. */
TEST(context, lives_as_long_as_its_queue)
{
	struct node node = node_open(&fabric, 0);
	struct segment local = segment_make(&node, 4096);
	struct segment target = segment_make(&node, 4096);
	struct queue queue = queue_make(&node, 2, 2);
	struct dmanic_sqe sqe;

	segment_export(&target, DMANIC_RIGHT_WRITE);
	sqe = sqe_move(DMANIC_OP_WRITE, local.id, 0,
		       segment_connect(&node, &target), 0, 4096);
	node_close(&node);
	fill(local.data, 4096, 8);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(target.data, local.data, 4096), 0);
	segment_unmap(&local);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_OK);
}

static void touch_in_child(const void *address)
{
	int status;
	pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child) {
		*(const volatile __u8 *)address;
		_exit(0);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* A child gets descriptors, not mappings: two owners of a ring break it. */
TEST(fork, child_has_no_mapping)
{
	struct rlimit none = { 0, 0 };
	struct node node = node_open(&fabric, 0);
	struct segment local = segment_make(&node, 4096);
	struct queue queue = queue_make(&node, 2, 2);
	struct irq irq = irq_make(&node, 2);
	struct dmanic_sqe nop = { .cookie = 3 };

	setrlimit(RLIMIT_CORE, &none);
	touch_in_child(local.data);
	touch_in_child(queue.ring);
	touch_in_child(irq.ring);
	/* The parent goes on. */
	local.data[5] = 5;
	EXPECT_EQ(queue_run(&queue, &nop).status, DMANIC_STATUS_OK);
	EXPECT_EQ(irq_raised(&irq), 0);
}

TEST(fork, child_may_map_what_it_inherited)
{
	struct node node = node_open(&fabric, 0);
	struct segment local = segment_make(&node, 4096);
	pid_t child;
	int status;

	fill(local.data, 4096, 9);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		__u8 expected[4096], *data;

		fill(expected, 4096, 9);
		data = mmap(NULL, 4096, PROT_READ, MAP_SHARED, node.fd,
			    local.mmap_offset);
		_exit(data == MAP_FAILED || memcmp(data, expected, 4096) != 0);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
}

struct message {
	struct segment segment;
	struct queue queue;
	__u32 handle;
};

static void send_fds(int socket, const struct message *message, int first,
		     int second)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = "";
	struct iovec iovec = { (void *)message, sizeof(*message) };
	struct msghdr header = {
		.msg_iov = &iovec, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
	int fds[2] = { first, second };

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(cmsg), fds, sizeof(fds));
	ASSERT_EQ(sendmsg(socket, &header, 0), sizeof(*message));
}

static void receive_fds(int socket, struct message *message, int *fds)
{
	char control[CMSG_SPACE(2 * sizeof(int))];
	struct iovec iovec = { message, sizeof(*message) };
	struct msghdr header = {
		.msg_iov = &iovec, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;

	ASSERT_EQ(recvmsg(socket, &header, 0), sizeof(*message));
	cmsg = CMSG_FIRSTHDR(&header);
	ASSERT_TRUE(cmsg && cmsg->cmsg_len == CMSG_LEN(2 * sizeof(int)));
	memcpy(fds, CMSG_DATA(cmsg), 2 * sizeof(int));
}

static void give_away(int socket)
{
	struct node node = node_open(&fabric, 0);
	struct segment target = segment_make(&node, 4096);
	struct message message = { .handle = 0 };

	message.segment = segment_make(&node, 4096);
	message.queue = queue_make(&node, 2, 2);
	fill(message.segment.data, 4096, 12);
	segment_export(&target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	message.handle = segment_connect(&node, &target);
	send_fds(socket, &message, node.fd, message.queue.fd);
	_exit(0);
}

/* Passed on over a socket, a context outlives the one who made it. */
TEST(passing, context_and_queue_work_for_the_receiver)
{
	struct message message;
	struct dmanic_sqe sqe;
	struct queue queue;
	int sockets[2], fds[2], status;
	pid_t child;
	__u8 *data;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		give_away(sockets[1]);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_EQ(status, 0);
	receive_fds(sockets[0], &message, fds);

	data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0],
		    message.segment.mmap_offset);
	ASSERT_TRUE(data != MAP_FAILED);
	queue = message.queue;
	queue.fd = fds[1];
	queue.ring = mmap(NULL, queue.map_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fds[1], 0);
	ASSERT_TRUE(queue.ring != MAP_FAILED);
	queue.sq = (void *)((__u8 *)queue.ring +
			    ((__u8 *)message.queue.sq -
			     (__u8 *)message.queue.ring));
	queue.cq = (void *)((__u8 *)queue.ring +
			    ((__u8 *)message.queue.cq -
			     (__u8 *)message.queue.ring));
	sqe = sqe_move(DMANIC_OP_WRITE, message.segment.id, 0, message.handle,
		       0, 4096);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_OK);
	memset(data, 0, 4096);
	sqe.opcode = DMANIC_OP_READ;
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_OK);
	fill(queue.sq, 64, 12);
	EXPECT_EQ(memcmp(data, queue.sq, 64), 0);
}

/* A descriptor that is only in a socket's queue goes with the socket. */
TEST(passing, descriptor_lost_in_a_socket_leaves_nothing)
{
	struct message message = { .handle = 0 };
	struct node node = node_open(&fabric, 0);
	struct queue queue = queue_make(&node, 2, 2);
	int sockets[2];

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
	send_fds(sockets[1], &message, node.fd, queue.fd);
	queue_close(&queue);
	node_close(&node);
	close(sockets[0]);
	close(sockets[1]);
	expect_idle(&fabric);
}

#define RACERS	6
#define SHARED	8

/* What the racers take from one another without asking */
static struct {
	struct node nodes[2];
	struct segment segments[SHARED];
	__u32 handles[SHARED];
	bool stop;
} race;

static void race_step(struct queue *queue, unsigned int me, __u64 *state)
{
	struct node *node = &race.nodes[me & 1];
	unsigned int place = random_next(state) % SHARED;
	struct dmanic_segment_export export = { .size = sizeof(export) };
	struct segment segment = race.segments[place];
	struct dmanic_cqe cqe;

	switch (random_next(state) % 7) {
	case 0:
		segment_destroy(&segment);
		if (!segment_create(node, 1 + random_next(state) % 20000,
				    &segment))
			race.segments[place] = segment;
		break;
	case 1:
		segment_destroy(&segment);
		break;
	case 2:
		export.id = segment.id;
		export.rights = 3;
		if (!dmanic_call(segment.fd, DMANIC_IOC_SEGMENT_EXPORT,
				 &export))
			race.segments[place].key = export.key;
		break;
	case 3:
		segment_revoke(&segment);
		break;
	case 4:
		connect_call(node, 0, segment.node, segment.id, segment.key,
			     &race.handles[place]);
		break;
	case 5:
		disconnect(node, race.handles[place]);
		break;
	default:
		while (queue_reap(queue, &cqe))
			;
		if (queue->tail - load32(&queue->ring->sq_head) < 4)
			*queue_sqe(queue) = sqe_move(
				1 + (random_next(state) & 1),
				race.segments[place ^ 1].id, 0,
				race.handles[place], 0,
				random_next(state) % 20000);
		queue_enter(queue, 8, random_next(state) & 1, 10000);
	}
}

static void *race_run(void *data)
{
	unsigned int me = (uintptr_t)data;
	struct queue queue = queue_make(&race.nodes[me & 1], 8, 8);
	__u64 state = me + 1;

	while (!__atomic_load_n(&race.stop, __ATOMIC_RELAXED))
		race_step(&queue, me, &state);
	return NULL;
}

TEST(race, contexts_take_everything_from_each_other)
{
	__u64 end = now_ns() + 2 * SECOND_NS;
	pthread_t threads[RACERS];
	unsigned int i;

	race.nodes[0] = node_open(&fabric, 0);
	race.nodes[1] = node_open(&fabric, 1);
	for (i = 0; i < SHARED; i++)
		race.segments[i].fd = race.nodes[i & 1].fd;
	for (i = 0; i < RACERS; i++)
		ASSERT_EQ(pthread_create(&threads[i], NULL, race_run,
					 (void *)(uintptr_t)i), 0);
	while (now_ns() < end)
		breathe();
	__atomic_store_n(&race.stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < RACERS; i++)
		ASSERT_EQ(pthread_join(threads[i], NULL), 0);
}

FABRIC_TEST_MAIN()
