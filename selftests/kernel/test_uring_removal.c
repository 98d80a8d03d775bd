// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_uring_removal.c - a node goes, and at the same moment who posted by io_uring
 *
 * Flags: -luring
 *
 * Owns: that operations behind a FENCE end once, be they ended for the node or given up
 * with their ring. What goes wrong here is found by the debug kernel: lists of two owners.
 */
#include "uring_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	1000U
#define POSTS	600U
#define OTHERS	64U	/* queues */
#define DEPTH	64U	/* operations of each */

struct going {
	struct apart apart;
	struct queue queue;		/* of the child's posts */
	struct queue others[OTHERS];
	char name[DMANIC_NAME_MAX];
	pid_t child;
	pthread_t thread;		/* removes the node */
};

static struct dmanic_sqe put_of(const struct going *going)
{
	return sqe_move(DMANIC_OP_WRITE, going->apart.local.id, 0, going->apart.handle, 0, 8);
}

/* One that does not end, and very many that wait for it */
static void child_run(const struct going *going, int ready)
{
	struct dmanic_sqe op = put_of(going);
	struct io_uring ring;
	unsigned int i;

	ring_make(&ring, POSTS + 8, IORING_SETUP_SQE128);
	prep_post(&ring, &going->queue, &op);
	op.flags = DMANIC_SQE_FENCE;
	for (i = 0; i < POSTS; i++)
		prep_post(&ring, &going->queue, &op);
	ASSERT_EQ(io_uring_submit(&ring), POSTS + 1);
	ASSERT_EQ(io_uring_cq_ready(&ring), 0);
	ASSERT_EQ(write(ready, "", 1), 1);
	for (;;)
		pause();
}

static void child_begin(struct going *going)
{
	int ready[2];
	char byte;

	ASSERT_EQ(pipe(ready), 0);
	going->child = fork();
	ASSERT_GE(going->child, 0);
	if (!going->child) {
		child_run(going, ready[1]);
		_exit(1);
	}
	close(ready[1]);
	ASSERT_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

static void others_begin(struct going *going)
{
	struct dmanic_sqe op = put_of(going);
	unsigned int i, n;

	for (i = 0; i < OTHERS; i++) {
		going->others[i] = queue_make(&going->apart.node, DEPTH, DEPTH);
		for (n = 0; n < DEPTH; n++)
			*queue_sqe(&going->others[i]) = op;
		queue_submit(&going->others[i]);
	}
}

static void *removal(void *data)
{
	struct going *going = data;

	EXPECT_EQ(device_delete(going->name, true), 0);
	return NULL;
}

static void spin_until(__u64 end)
{
	while (now_ns() < end)
		;
}

/* All of a queue have ended, each once */
static void others_end(struct going *going)
{
	unsigned int i, n;

	for (i = 0; i < OTHERS; i++) {
		for (n = 0; n < DEPTH; n++)
			ASSERT_EQ(queue_wait(&going->others[i]).status,
				  DMANIC_STATUS_LINK_DOWN);
		queue_close(&going->others[i]);
	}
}

TEST_TIMEOUT(uring_removal, posts_behind_a_fence_end_once, 300)
{
	unsigned int round, rounds = harness_load(ROUNDS);
	struct going going = {};
	const __u32 *tail;
	__u64 begun, took = MS_NS, state = 1;

	for (round = 0; round < rounds; round++) {
		going.apart = apart_make(HOUR_NS, 4096);
		if (!ring_cancels(&going.apart.node))
			SKIP("rings that die cannot give up what they posted here");
		fabric_name(&going.apart.own, 0, going.name);
		going.queue = queue_make(&going.apart.node, 1024, 1024);
		/* Before them, or behind */
		if (round % 2)
			others_begin(&going);
		child_begin(&going);
		if (!(round % 2))
			others_begin(&going);
		tail = &going.others[0].ring->cq_tail;
		begun = now_ns();
		ASSERT_EQ(pthread_create(&going.thread, NULL, removal, &going), 0);
		/* The child needs some time to end, too: about when the first ones ended last time */
		spin_until(begun + took - took * (random_next(&state) % 64) / 64);
		ASSERT_EQ(kill(going.child, SIGKILL), 0);
		while (!load32(tail) && now_ns() < begun + slow_ns(20000))
			;
		took = now_ns() - begun;
		ASSERT_EQ(waitpid(going.child, NULL, 0), going.child);
		ASSERT_EQ(pthread_join(going.thread, NULL), 0);
		others_end(&going);
		queue_close(&going.queue);
		node_close(&going.apart.node);
		node_close(&going.apart.peer);
		ASSERT_EQ(fabric_delete(going.apart.own.prefix, true), 0);
	}
}

FABRIC_TEST_MAIN_NONE()
