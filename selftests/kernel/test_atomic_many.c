// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_atomic_many.c - several nodes and CPUs at one word
 *
 * Owns: that no atomic is lost or done twice, and none is half done, whoever
 * else is at the word: threads of three nodes, posters and engines mixed, a CPU
 * of the target on its mapping, CPUs of other nodes on theirs, and a revoke in
 * between.
 */
#include "remote_map.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define NODES	3U		/* beside the target's */
#define THREADS	4U		/* on each of them */
#define ALL	(NODES * THREADS)
#define ENTRIES	16U
#define BYTES	4096UL

/* One thread of one node */
struct worker {
	struct many_self *self;
	struct queue queue;
	struct segment local;
	__u32 handle;
	__u8 flags;
	unsigned int number;
	__u64 done;
	__u64 sum;
};

FIXTURE(many) {
	struct node nodes[NODES];
	struct node peer;
	struct segment target;
	struct worker workers[ALL];
	__u64 *word;		/* in the target's mapping */
	__u64 *cpus;		/* where this CPU reaches it; not always the same */
	__u64 token;		/* what it has got there in the end */
	unsigned int rounds;	/* of each worker */
	__u8 *taken;
};

enum way { POSTER, ENGINE, MIXED };

FIXTURE_VARIANT(many) {
	enum way way;
};

FIXTURE_VARIANT_ADD(many, posters) { .way = POSTER };
FIXTURE_VARIANT_ADD(many, engines) { .way = ENGINE };
FIXTURE_VARIANT_ADD(many, mixed) { .way = MIXED };

/* An engine does what is behind a FENCE */
static __u8 way_flags(enum way way, unsigned int thread)
{
	return way == ENGINE || (way == MIXED && thread % 2) ?
	       DMANIC_SQE_FENCE : 0;
}

FIXTURE_SETUP(many)
{
	__u32 handles[NODES];
	unsigned int i;

	self->peer = node_open(&fabric, NODES);
	self->target = segment_make(&self->peer, BYTES);
	segment_export(&self->target, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE |
		       DMANIC_RIGHT_ATOMIC);
	self->word = (__u64 *)self->target.data;
	self->cpus = self->word;
	for (i = 0; i < NODES; i++) {
		self->nodes[i] = node_open(&fabric, i);
		handles[i] = segment_connect(&self->nodes[i], &self->target);
	}
	for (i = 0; i < ALL; i++) {
		struct node *node = &self->nodes[i % NODES];

		self->workers[i] = (struct worker) {
			.self = self, .handle = handles[i % NODES],
			.queue = queue_make(node, ENTRIES, ENTRIES),
			.local = segment_make(node, 64),
			.flags = way_flags(variant->way, i / NODES),
			.number = i,
		};
	}
}

FIXTURE_TEARDOWN(many)
{
}

static void everybody(struct many_self *self, void *(*body)(void *worker),
		      void (*meanwhile)(struct many_self *self))
{
	pthread_t threads[ALL];
	unsigned int i;

	for (i = 0; i < ALL; i++)
		ASSERT_EQ(pthread_create(&threads[i], NULL, body,
					 &self->workers[i]), 0);
	if (meanwhile)
		meanwhile(self);
	for (i = 0; i < ALL; i++)
		ASSERT_EQ(pthread_join(threads[i], NULL), 0);
}

static struct dmanic_cqe try(struct worker *worker, struct dmanic_sqe sqe)
{
	sqe.flags = worker->flags;
	return queue_run(&worker->queue, &sqe);
}

static __u64 atomic(struct worker *worker, __u8 opcode, __u64 offset,
		    __u64 operand, __u64 compare)
{
	struct dmanic_cqe cqe = try(worker, sqe_atomic(opcode, worker->handle,
						       offset, operand,
						       compare));

	ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
	return cqe.result;
}

static unsigned int rounds(unsigned int usual)
{
	return (harness_load(usual) + ENTRIES) / ENTRIES * ENTRIES;
}

/* This CPU is that of a node which has mapped what it is connected to */
static void map_remotely(struct many_self *self)
{
	__u64 offset = segment_connect_map(&self->nodes[0], &self->target, NULL);

	self->cpus = (__u64 *)remote_map(&self->nodes[0], offset, BYTES, MAP_RW);
	ASSERT_TRUE(self->cpus != self->word);
}

/* ---- numbers ---- */

static void take(struct many_self *self, __u64 number)
{
	ASSERT_LT(number, (ALL + 1) * self->rounds);
	ASSERT_EQ(__atomic_fetch_add(&self->taken[number], 1,
				     __ATOMIC_RELAXED), 0);
}

static void *take_numbers(void *data)
{
	struct worker *worker = data;
	struct dmanic_sqe *sqe;
	struct dmanic_cqe cqe;
	unsigned int i, j;

	for (i = 0; i < worker->self->rounds; i += ENTRIES) {
		for (j = 0; j < ENTRIES; j++) {
			sqe = queue_sqe(&worker->queue);
			*sqe = sqe_atomic(DMANIC_OP_FETCH_ADD, worker->handle,
					  0, 1, 0);
			sqe->flags = worker->flags;
		}
		queue_submit(&worker->queue);
		for (j = 0; j < ENTRIES; j++) {
			cqe = queue_wait(&worker->queue);
			ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
			take(worker->self, cqe.result);
		}
	}
	return NULL;
}

/* A CPU does the same on a mapping */
static void take_here(struct many_self *self)
{
	unsigned int i;

	for (i = 0; i < self->rounds; i++) {
		take(self, __atomic_fetch_add(self->cpus, 1,
					      __ATOMIC_SEQ_CST));
		if (!(i % 64))
			sched_yield();
	}
}

static void take_all(struct many_self *self)
{
	unsigned int total, i;

	self->rounds = rounds(2500);
	total = (ALL + 1) * self->rounds;
	self->taken = calloc(total, 1);
	ASSERT_TRUE(self->taken);
	everybody(self, take_numbers, take_here);
	EXPECT_EQ(self->word[0], total);
	for (i = 0; i < total; i++)
		ASSERT_EQ(self->taken[i], 1);
	EXPECT_EQ(self->word[1], 0);
	free(self->taken);
}

TEST_F_TIMEOUT(many, each_number_is_taken_once, 60)
{
	take_all(self);
}

TEST_F_TIMEOUT(many, each_number_is_taken_once_through_a_mapping, 60)
{
	map_remotely(self);
	take_all(self);
}

/* ---- a lock made of COMPARE_SWAP ---- */

#define LOCK	0
#define COUNT	8		/* guarded by it; no atomics there */

static void *count_locked(void *data)
{
	struct worker *worker = data;
	const __u64 me = worker->number + 1;
	__u64 *copy = (__u64 *)worker->local.data;
	unsigned int i;

	for (i = 0; i < worker->self->rounds; i++) {
		while (atomic(worker, DMANIC_OP_COMPARE_SWAP, LOCK, me, 0))
			sched_yield();
		ASSERT_EQ(try(worker, sqe_move(DMANIC_OP_READ, worker->local.id,
					       0, worker->handle, COUNT, 8))
			  .status, DMANIC_STATUS_OK);
		++*copy;
		ASSERT_EQ(try(worker, sqe_move(DMANIC_OP_WRITE,
					       worker->local.id, 0,
					       worker->handle, COUNT, 8))
			  .status, DMANIC_STATUS_OK);
		ASSERT_EQ(atomic(worker, DMANIC_OP_SWAP, LOCK, 0, 0), me);
	}
	return NULL;
}

TEST_F_TIMEOUT(many, compare_swap_is_a_lock, 60)
{
	self->rounds = rounds(300);
	everybody(self, count_locked, NULL);
	EXPECT_EQ(self->word[0], 0);
	EXPECT_EQ(self->word[1], (__u64)ALL * self->rounds);
}

/* ---- tokens ---- */

/* Each puts its own in and gets somebody's out; none comes twice or is lost */
static void *swap_tokens(void *data)
{
	struct worker *worker = data;
	__u64 token = worker->number + 1;
	unsigned int i;

	for (i = 0; i < worker->self->rounds; i++)
		token = atomic(worker, DMANIC_OP_SWAP, 0, token, 0);
	worker->sum = token;
	return NULL;
}

static void swap_here(struct many_self *self)
{
	__u64 token = ALL + 1;
	unsigned int i;

	for (i = 0; i < self->rounds; i++) {
		token = __atomic_exchange_n(self->cpus, token, __ATOMIC_SEQ_CST);
		if (!(i % 64))
			sched_yield();
	}
	self->token = token;
}

static void swap_all(struct many_self *self)
{
	unsigned int seen[ALL + 2] = {}, i;

	self->rounds = rounds(2000);
	everybody(self, swap_tokens, swap_here);
	ASSERT_LE(self->word[0], ALL + 1);
	seen[self->word[0]]++;
	ASSERT_LE(self->token, ALL + 1);
	seen[self->token]++;
	for (i = 0; i < ALL; i++) {
		ASSERT_LE(self->workers[i].sum, ALL + 1);
		seen[self->workers[i].sum]++;
	}
	for (i = 0; i <= ALL + 1; i++)
		EXPECT_EQ(seen[i], 1);
}

TEST_F_TIMEOUT(many, swap_keeps_every_token, 60)
{
	swap_all(self);
}

TEST_F_TIMEOUT(many, swap_keeps_every_token_through_a_mapping, 60)
{
	map_remotely(self);
	swap_all(self);
}

/* ---- taken back meanwhile ---- */

static void *add_until_revoked(void *data)
{
	struct worker *worker = data;
	struct dmanic_cqe cqe;

	for (;;) {
		cqe = try(worker, sqe_atomic(DMANIC_OP_FETCH_ADD,
					     worker->handle, 0, 1, 0));
		if (cqe.status)
			break;
		__atomic_fetch_add(&worker->done, 1, __ATOMIC_RELAXED);
	}
	ASSERT_EQ(cqe.status, DMANIC_STATUS_NO_SEGMENT);
	return NULL;
}

static bool all_began(struct many_self *self)
{
	unsigned int i;

	for (i = 0; i < ALL; i++)
		if (__atomic_load_n(&self->workers[i].done,
				    __ATOMIC_RELAXED) < 10)
			return false;
	return true;
}

static void take_back(struct many_self *self)
{
	__u64 then;

	ASSERT_TRUE(WAIT_FOR(all_began(self)));
	ASSERT_EQ(segment_revoke(&self->target), 0);
	then = __atomic_load_n(self->word, __ATOMIC_SEQ_CST);
	breathe();
	EXPECT_EQ(__atomic_load_n(self->word, __ATOMIC_SEQ_CST), then);
}

/* Each that was told to be done was, and no other */
TEST_F_TIMEOUT(many, revoke_is_between_two, 60)
{
	__u64 sum = 0;
	unsigned int i;

	everybody(self, add_until_revoked, take_back);
	for (i = 0; i < ALL; i++)
		sum += self->workers[i].done;
	EXPECT_EQ(self->word[0], sum);
}

FABRIC_TEST_MAIN()
