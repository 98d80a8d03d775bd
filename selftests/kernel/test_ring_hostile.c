// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_ring_hostile.c - programs that write what they like into their rings
 *
 * Owns: the promise that a ring is the program's own problem. Whatever stands
 * in it, the driver takes no more entries than there are, touches no memory
 * the program has no right to, keeps its own indices, and works again when the
 * program does.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENTRIES	16U
#define BYTES	8192U
#define LOOP_MS	400		/* how long each attack lasts */

FIXTURE(hostile) {
	struct node node;
	struct node peer;
	struct segment local;	/* as target, it ends before its last page does */
	struct segment below;	/* neighbours nobody exported */
	struct segment target;
	struct segment above;
	struct queue queue;
	__u32 handle;
	__u32 taken;		/* entries, as the driver said */
	bool stop;
};

FIXTURE_SETUP(hostile)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->local = segment_make(&self->node, BYTES - 100);
	self->below = segment_make(&self->peer, BYTES);
	self->target = segment_make(&self->peer, BYTES - 100);
	self->above = segment_make(&self->peer, BYTES);
	fill(self->local.data, BYTES - 100, 1);
	memset(self->local.data + BYTES - 100, 0x44, 100);
	memset(self->below.data, 0x11, BYTES);
	memset(self->above.data, 0x22, BYTES);
	memset(self->target.data, 0x33, BYTES);
	segment_export(&self->target, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ |
		       DMANIC_RIGHT_ATOMIC);
	self->handle = segment_connect(&self->node, &self->target);
	self->queue = queue_make(&self->node, ENTRIES, ENTRIES);
}

FIXTURE_TEARDOWN(hostile)
{
}

static bool written(struct hostile_self *self, struct queue *queue)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->local.id, 0,
					 self->handle, 0, 4096);

	EXPECT_EQ(queue_run(queue, &sqe).status, DMANIC_STATUS_OK);
	return !memcmp(self->target.data, self->local.data, 4096);
}

/* Nothing but the exported bytes changed, and the device still works. */
static void expect_sane(struct hostile_self *self)
{
	struct queue queue = queue_make(&self->node, 2, 2);

	/* On a wire some of the attack is still under way */
	EXPECT_TRUE(fabric_on_netdevs() ? WAIT_FOR(written(self, &queue)) : written(self, &queue));
	EXPECT_TRUE(all_bytes(self->local.data + BYTES - 100, 100, 0x44));
	EXPECT_TRUE(all_bytes(self->below.data, BYTES, 0x11));
	EXPECT_TRUE(all_bytes(self->above.data, BYTES, 0x22));
	EXPECT_TRUE(all_bytes(self->target.data + BYTES - 100, 100, 0x33));
	queue_close(&queue);
}

/* Not queue_enter(): that would publish a sane tail. */
static int enter(const struct queue *queue, __u32 to_submit, __u32 *submitted)
{
	struct dmanic_enter arg = {
		.size = sizeof(arg), .to_submit = to_submit,
	};
	int ret = dmanic_call(queue->fd, DMANIC_IOC_ENTER, &arg);

	*submitted = arg.submitted;
	return ret;
}

static void drain(struct queue *queue)
{
	struct dmanic_cqe cqe;

	while (queue_reap(queue, &cqe))
		;
}

/* The queue's own state after an attack: bring the indices back in step. */
static void expect_queue_works(struct hostile_self *self)
{
	struct queue *queue = &self->queue;
	struct dmanic_sqe nop = { .opcode = DMANIC_OP_NOP, .cookie = 4711 };
	struct dmanic_cqe cqe;
	__u32 submitted;

	queue->head = load32(&queue->ring->cq_tail);
	store32(&queue->ring->cq_head, queue->head);
	queue->tail = load32(&queue->ring->sq_head);
	nop.flags = DMANIC_SQE_FENCE;
	*queue_sqe(queue) = nop;
	queue_publish(queue);
	/* What is in flight may still need all the room. */
	ASSERT_TRUE(WAIT_FOR((drain(queue), !enter(queue, 1, &submitted)) &&
			     submitted == 1));
	EXPECT_EQ(queue_flags(queue) & DMANIC_RING_BAD_INDEX, 0);
	do {
		cqe = queue_wait(queue);
	} while (cqe.cookie != 4711);
	EXPECT_EQ(cqe.status, DMANIC_STATUS_OK);
}

TEST_F(hostile, impossible_sq_tail_takes_nothing)
{
	struct queue *queue = &self->queue;
	__u64 state = 1;
	__u32 wild, submitted;
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		wild = random_next(&state) >> (32 + i % 27);
		if (wild <= ENTRIES)
			wild = ENTRIES + 1;
		store32(&queue->ring->sq_tail, wild);
		EXPECT_EQ(enter(queue, ~0U, &submitted), -EINVAL);
		EXPECT_EQ(submitted, 0);
		EXPECT_NE(queue_flags(queue) & DMANIC_RING_BAD_INDEX, 0);
		EXPECT_EQ(load32(&queue->ring->sq_head), 0);
	}
	expect_queue_works(self);
	/* Backwards */
	store32(&queue->ring->sq_tail, 0);
	EXPECT_EQ(enter(queue, ~0U, &submitted), -EINVAL);
	EXPECT_NE(queue_flags(queue) & DMANIC_RING_BAD_INDEX, 0);
	expect_queue_works(self);
	expect_sane(self);
}

TEST_F(hostile, impossible_cq_head_is_no_room)
{
	struct queue *queue = &self->queue;
	__u64 state = 2;
	__u32 wild, submitted;
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		wild = random_next(&state) >> (32 + i % 27);
		if (!wild || -wild <= ENTRIES)
			wild = 1;
		store32(&queue->ring->cq_head, wild);
		store32(&queue->ring->sq_tail, 1);
		EXPECT_EQ(enter(queue, 1, &submitted), -EINVAL);
		EXPECT_EQ(submitted, 0);
		EXPECT_NE(queue_flags(queue) & DMANIC_RING_BAD_INDEX, 0);
	}
	expect_queue_works(self);
	expect_sane(self);
}

/* A head that lies about what was consumed costs completions, no more. */
TEST_F(hostile, lying_cq_head_only_loses_completions)
{
	struct queue *queue = &self->queue;
	__u32 submitted, total = 0;
	__u64 state = 3;
	unsigned int i;

	memset(queue->sq, 0, ENTRIES * sizeof(*queue->sq));
	for (i = 0; i < 5000; i++) {
		store32(&queue->ring->cq_head, load32(&queue->ring->cq_tail) -
			random_next(&state) % (ENTRIES + 1));
		store32(&queue->ring->sq_tail,
			load32(&queue->ring->sq_head) +
			random_next(&state) % (ENTRIES + 1));
		EXPECT_EQ(enter(queue, ~0U, &submitted), 0);
		EXPECT_LE(submitted, ENTRIES);
		total += submitted;
	}
	EXPECT_EQ(load32(&queue->ring->sq_head), total);
	expect_queue_works(self);
	expect_sane(self);
}

/* What the driver wrote it never reads back. */
TEST_F(hostile, overwritten_driver_indices_do_not_matter)
{
	struct queue *queue = &self->queue;
	__u32 done, submitted;
	struct dmanic_sqe *sqe;
	__u64 state = 4;

	for (done = 0; done < 1000; done++) {
		store32(&queue->ring->sq_head, random_next(&state));
		store32(&queue->ring->cq_tail, random_next(&state));
		store32(&queue->ring->flags, random_next(&state));
		sqe = &queue->sq[done & (ENTRIES - 1)];
		*sqe = (struct dmanic_sqe) { .cookie = done };
		store32(&queue->ring->sq_tail, done + 1);
		ASSERT_EQ(enter(queue, ~0U, &submitted), 0);
		ASSERT_EQ(submitted, 1);
		ASSERT_EQ(load32(&queue->ring->sq_head), done + 1);
		ASSERT_TRUE(WAIT_FOR(load32(&queue->ring->cq_tail) ==
				     done + 1));
		ASSERT_EQ(queue->cq[done & (ENTRIES - 1)].cookie, done);
		store32(&queue->ring->cq_head, done + 1);
	}
	expect_sane(self);
}

static void random_sqe(struct hostile_self *self, __u64 *state,
		       struct dmanic_sqe *sqe)
{
	static const __u32 strides[] = { 0, 1, 8, 64, 4096, ~0U };

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = random_next(state) % (DMANIC_OP_BROADCAST + 2);
	sqe->flags = random_next(state) & random_next(state) &
		     random_next(state);
	sqe->cookie = random_next(state);
	sqe->local = self->local.id;
	sqe->remote = self->handle;
	if (!(random_next(state) % 8))
		sqe->local = random_next(state);
	if (!(random_next(state) % 8))
		sqe->remote = random_next(state);
	sqe->local_offset = random_next(state) % BYTES;
	sqe->remote_offset = random_next(state) % BYTES;
	if (sqe->opcode == DMANIC_OP_WRITE_STRIDED ||
	    sqe->opcode == DMANIC_OP_READ_STRIDED) {
		sqe->block = random_next(state) % 100;
		sqe->count = random_next(state) % 100;
		sqe->local_stride = strides[random_next(state) % 6];
		sqe->remote_stride = strides[random_next(state) % 6];
	} else if (sqe->opcode == DMANIC_OP_LIST) {
		/* What is in the segment makes a list as good as any */
		sqe->block = random_next(state) % 3;
		sqe->count = random_next(state) % 200;
		sqe->list = random_next(state) % 2 ? self->local.id : 0;
		sqe->list_offset = random_next(state) % (BYTES / 8);
	} else if (sqe->opcode >= DMANIC_OP_FETCH_ADD &&
		   sqe->opcode <= DMANIC_OP_SWAP) {
		sqe->local = random_next(state) % 8 ? 0 : sqe->local;
		sqe->local_offset = 0;
		sqe->remote_offset &= random_next(state) % 8 ? ~7ULL : ~0ULL;
		sqe->payload = random_next(state);
		if (sqe->opcode == DMANIC_OP_COMPARE_SWAP)
			sqe->compare = random_next(state) & 1;
	} else {
		sqe->length = random_next(state) >> (random_next(state) % 64);
	}
	/* What is nearly right gets further, also behind what the poster does by himself */
	if (random_next(state) % 2) {
		sqe->opcode = random_next(state) % 2 ? DMANIC_OP_READ : DMANIC_OP_WRITE;
		sqe->flags = random_next(state) % 2 ? DMANIC_SQE_FENCE : 0;
		sqe->length = random_next(state) % BYTES;
		sqe->compare = 0;
		sqe->payload = 0;
		sqe->notify = 0;
	}
}

/* Rewrites entries, so that they change between check and use. */
static void *rewrite(void *data)
{
	struct hostile_self *self = data;
	struct dmanic_sqe sqe;
	__u64 state = 5;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		random_sqe(self, &state, &sqe);
		memcpy(&self->queue.sq[random_next(&state) % ENTRIES], &sqe,
		       sizeof(sqe));
	}
	return NULL;
}

/* Random words all over the header, and often indices that are nearly right */
static void *scribble(void *data)
{
	struct hostile_self *self = data;
	struct dmanic_queue_ring *ring = self->queue.ring;
	__u32 taken, number, *word = (__u32 *)ring;
	__u64 state = 6;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		taken = __atomic_load_n(&self->taken, __ATOMIC_RELAXED);
		number = random_next(&state) % (sizeof(*ring) / 4);
		switch (random_next(&state) % 8) {
		case 0:
			store32(&ring->sq_tail, taken + number % (ENTRIES + 2));
			break;
		case 1:
			store32(&ring->cq_head, taken - number % (ENTRIES + 2));
			break;
		case 2:
			store32(&word[number], random_next(&state) >>
				(32 + random_next(&state) % 32));
			break;
		}
	}
	return NULL;
}

static void attack(struct hostile_self *self, void *(*thread)(void *),
		   bool sane_indices)
{
	struct queue *queue = &self->queue;
	__u64 end = now_ns() + slow_ns(LOOP_MS);
	__u64 calls = 0;
	pthread_t other;
	__u32 submitted;

	memset(queue->sq, 0, ENTRIES * sizeof(*queue->sq));
	ASSERT_EQ(pthread_create(&other, NULL, thread, self), 0);
	while (now_ns() < end) {
		if (sane_indices) {
			store32(&queue->ring->cq_head,
				load32(&queue->ring->cq_tail));
			store32(&queue->ring->sq_tail,
				load32(&queue->ring->sq_head) + ENTRIES);
		}
		enter(queue, ENTRIES, &submitted);
		ASSERT_LE(submitted, ENTRIES);
		__atomic_fetch_add(&self->taken, submitted, __ATOMIC_RELAXED);
		calls++;
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(other, NULL), 0);
	/* Otherwise the attack did not happen. */
	EXPECT_GT(calls, 10);
	EXPECT_GT(self->taken, 10);
	expect_sane(self);
}

TEST_F(hostile, entries_rewritten_while_taken)
{
	attack(self, rewrite, true);
	expect_queue_works(self);
}

TEST_F(hostile, header_overwritten_in_a_loop)
{
	attack(self, scribble, false);
}

static void *map_and_unmap(void *data)
{
	struct hostile_self *self = data;
	__u8 *map;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		map = mmap(NULL, self->queue.map_bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED, self->queue.fd, 0);
		if (map != MAP_FAILED)
			munmap(map, self->queue.map_bytes);
	}
	return NULL;
}

TEST_F(hostile, unmapped_while_entering)
{
	struct dmanic_sqe *sqe;
	pthread_t other;
	__u32 submitted;
	unsigned int i;

	attack(self, map_and_unmap, true);
	self->stop = false;
	/* Gone altogether: the driver has a mapping of its own. */
	expect_queue_works(self);
	for (i = 0; i < ENTRIES; i++) {
		sqe = queue_sqe(&self->queue);
		sqe->cookie = i;
	}
	queue_publish(&self->queue);
	ASSERT_EQ(munmap(self->queue.ring, self->queue.map_bytes), 0);
	ASSERT_EQ(pthread_create(&other, NULL, map_and_unmap, self), 0);
	EXPECT_EQ(enter(&self->queue, ENTRIES, &submitted), 0);
	EXPECT_EQ(submitted, ENTRIES);
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(other, NULL), 0);
	expect_sane(self);
}

struct sleeper {
	int fd;
	bool done;
};

static void *sleep_in_enter(void *data)
{
	struct sleeper *sleeper = data;
	struct dmanic_enter arg = {
		.size = sizeof(arg), .min_complete = 1,
		.timeout_ns = slow_ns(100),
	};

	dmanic_call(sleeper->fd, DMANIC_IOC_ENTER, &arg);
	__atomic_store_n(&sleeper->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The call in progress keeps the queue; it goes with the call. */
TEST_F(hostile, closed_by_another_thread_while_waiting)
{
	struct device device;
	struct sleeper sleeper;
	struct queue queue;
	unsigned int i;
	pthread_t thread;

	for (i = 0; i < 5; i++) {
		queue = queue_make(&self->node, 2, 2);
		sleeper = (struct sleeper) { .fd = queue.fd };
		ASSERT_EQ(pthread_create(&thread, NULL, sleep_in_enter,
					 &sleeper), 0);
		breathe();
		queue_close(&queue);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		ASSERT_TRUE(sleeper.done);
	}
	EXPECT_TRUE(WAIT_FOR(!device_get(self->node.name, &device) &&
			     device.queues == 1));
	expect_sane(self);
}

TEST_F(hostile, wrong_mappings_are_refused)
{
	struct irq irq = irq_make(&self->node, 4);
	size_t page = page_bytes();
	int prot = PROT_READ | PROT_WRITE;
	int fds[] = { self->queue.fd, irq.fd };
	size_t bytes[] = { self->queue.map_bytes, irq.map_bytes };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		EXPECT_TRUE(mmap(NULL, bytes[i], prot, MAP_PRIVATE, fds[i],
				 0) == MAP_FAILED);
		EXPECT_TRUE(mmap(NULL, page_round(bytes[i]) + page, prot,
				 MAP_SHARED, fds[i], 0) == MAP_FAILED);
		EXPECT_TRUE(mmap(NULL, bytes[i], prot, MAP_SHARED, fds[i],
				 page) == MAP_FAILED);
		EXPECT_TRUE(mmap(NULL, page, prot, MAP_SHARED, fds[i],
				 page_round(bytes[i])) == MAP_FAILED);
		EXPECT_TRUE(mmap(NULL, page, prot, MAP_SHARED, fds[i],
				 1L << 40) == MAP_FAILED);
		EXPECT_TRUE(mmap(NULL, bytes[i], prot, MAP_SHARED, fds[i],
				 0) != MAP_FAILED);
	}
	EXPECT_TRUE(mremap(self->queue.ring, self->queue.map_bytes,
			   self->queue.map_bytes + page, MREMAP_MAYMOVE) ==
		    MAP_FAILED);
	EXPECT_TRUE(mmap(NULL, page, prot, MAP_SHARED, self->node.fd, 0) ==
		    MAP_FAILED);
}

/* Completions go to the ring although the program is gone from it. */
TEST_F(hostile, closed_with_operations_in_flight)
{
	struct apart apart = apart_make(slow_ns(10000), BYTES);
	__u64 start = now_ns();
	struct device device;
	struct queue queue;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		queue = queue_make(&apart.node, 2, 2);
		*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, apart.local.id,
					      0, apart.handle, 0, BYTES);
		queue_submit(&queue);
		queue_close(&queue);
	}
	ASSERT_EQ(device_get(apart.node.name, &device), 0);
	EXPECT_EQ(device.queues, 0);
	/* Cancelled, not waited for */
	EXPECT_LT(now_ns() - start, slow_ns(10000));
}

FABRIC_TEST_MAIN()
