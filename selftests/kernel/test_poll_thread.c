// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_poll_thread.c - queues whose entries a thread of the driver takes
 *
 * Owns: that posting needs no system call, when the thread sleeps and what wakes
 * it, what it makes of full rings and nonsense. How it ends: test_poll_end.c;
 * whose it is: test_poll_owner.c.
 */
#include "dmanic_test.h"
#include "poller.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES	(1UL << 20)
#define BATCH	32U

FIXTURE(poll_thread) {
	struct poller_pair pair;
};

FIXTURE_SETUP(poll_thread)
{
	self->pair = poller_pair_make(BYTES);
}

FIXTURE_TEARDOWN(poll_thread)
{
}

/* Fill a queue of two and see both completions; the index of the next entry */
static __u32 publish_and_wait(const struct poll_thread_self *self,
			      struct queue *queue, __u64 cookie)
{
	__u32 tail = load32(&queue->ring->cq_tail) + 2;
	__u64 end = now_ns() + slow_ns(20000);

	poller_put_some(&self->pair, queue, cookie, 2);
	poller_publish(queue);
	while (load32(&queue->ring->cq_tail) != tail)
		ASSERT_LT(now_ns(), end);
	return load32(&queue->ring->sq_tail);
}

/* ---- making one ---- */

TEST_F(poll_thread, creation)
{
	struct dmanic_queue_create good = {
		.size = sizeof(good), .flags = DMANIC_QUEUE_POLL_THREAD,
		.sq_entries = 8, .cq_entries = 8, .eventfd = -1,
		.poll_idle_us = DMANIC_POLL_IDLE_MAX_US,
	}, create;
	const struct node *node = &self->pair.node;
	struct dmanic_query query;
	struct queue queue;

	node_query(node, &query);
	EXPECT_TRUE(query.features & DMANIC_FEATURE_POLL_THREAD);

	create = good;
	create.poll_idle_us++;
	EXPECT_EQ(dmanic_call(node->fd, DMANIC_IOC_QUEUE_CREATE, &create),
		  -EINVAL);
	create = good;
	create.flags = 0;
	EXPECT_EQ(dmanic_call(node->fd, DMANIC_IOC_QUEUE_CREATE, &create),
		  -EOPNOTSUPP);
	create = good;
	create.flags |= 2;
	EXPECT_EQ(dmanic_call(node->fd, DMANIC_IOC_QUEUE_CREATE, &create),
		  -EOPNOTSUPP);
	create = good;
	create.reserved = 1;
	EXPECT_EQ(dmanic_call(node->fd, DMANIC_IOC_QUEUE_CREATE, &create),
		  -EOPNOTSUPP);
	EXPECT_EQ(poller_count(NULL), 0);

	queue = queue_make_with(node, &good);
	EXPECT_EQ(poller_count(NULL), 1);
	queue_close(&queue);
	EXPECT_TRUE(WAIT_FOR(poller_count(NULL) == 0));
}

/* ---- posting ---- */

TEST_F(poll_thread, data_arrive)
{
	const struct poller_pair *pair = &self->pair;
	struct queue queue = poller_make(&pair->node, 8, 8, 0);
	struct dmanic_cqe cqe;
	unsigned int i;

	/* By the thread alone, and by the engine, and refused */
	for (i = 0; i < 3; i++) {
		size_t bytes = i ? BYTES : 8;

		fill(pair->local.data, bytes, i + 1);
		*queue_sqe(&queue) = sqe_move(DMANIC_OP_WRITE, pair->local.id, 0,
					      pair->handle, i > 1, bytes);
		poller_publish(&queue);
		ASSERT_TRUE(WAIT_FOR(queue_reap(&queue, &cqe)));
		ASSERT_EQ(cqe.status, i > 1 ? DMANIC_STATUS_BOUNDS :
					      DMANIC_STATUS_OK);
		if (i <= 1)
			ASSERT_EQ(memcmp(pair->local.data, pair->target.data,
					 bytes), 0);
	}
}

TEST_F(poll_thread, armed_eventfd_signals)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	struct dmanic_queue_create create = {
		.size = sizeof(create), .flags = DMANIC_QUEUE_POLL_THREAD,
		.sq_entries = 8, .cq_entries = 8, .eventfd = fd,
	};
	struct queue queue = queue_make_with(&self->pair.node, &create);
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	store32(&queue.ring->arm, 1);
	poller_put(&self->pair, &queue, 1);
	poller_publish(&queue);
	ASSERT_EQ(poll(&wait, 1, slow_ns(20000) / MS_NS), 1);
	poller_reap_some(&queue, 1, 1);
}

/* How many system calls this thread made so far, the one that asks included */
static __u64 system_calls(int counter)
{
	__u64 nr;

	ASSERT_EQ(read(counter, &nr, sizeof(nr)), (ssize_t)sizeof(nr));
	return nr;
}

static int system_call_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr),
	};
	FILE *file;
	int fd, nr;

	file = fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "re");
	if (!file)
		SKIP("this kernel has no tracepoint of system calls");
	nr = fscanf(file, "%llu", &attr.config);
	fclose(file);
	ASSERT_EQ(nr, 1);
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		SKIP("cannot count system calls: %s", strerror(errno));
	return fd;
}

/* Who has seen all completions may fill the ring again */
TEST_F_TIMEOUT(poll_thread, room_is_seen_before_completions, 120)
{
	struct queue queue = poller_make(&self->pair.node, 2, 2, 0);
	__u64 cookie, end = now_ns() + slow_ns(2000);

	for (cookie = 0; now_ns() < end; cookie += 2) {
		__u32 tail = publish_and_wait(self, &queue, cookie);

		ASSERT_EQ(load32(&queue.ring->sq_head), tail);
		poller_reap_some(&queue, cookie, 2);
	}
}

/*
 * The thread may fall asleep whenever this one does not get a CPU for long, so
 * a machine with other work needs some attempts, short ones.
 */
#define BATCHES	20U

TEST_F_TIMEOUT(poll_thread, no_system_call, 120)
{
	struct queue queue = poller_make(&self->pair.node, 64, 64, 0);
	__u64 end = now_ns() + slow_ns(60000), before, calls, cookie = 0;
	unsigned int batch, tries = 0;
	int counter = system_call_counter();

	/* It does count them */
	before = system_calls(counter);
	syscall(SYS_getppid);
	ASSERT_EQ(system_calls(counter) - before, 2);
	do {
		ASSERT_LT(now_ns(), end);
		before = system_calls(counter);
		for (batch = 0; batch < BATCHES; batch++) {
			poller_put_some(&self->pair, &queue, cookie, BATCH);
			poller_publish(&queue);
			poller_reap_some(&queue, cookie, BATCH);
			cookie += BATCH;
		}
		/* This one is the next after that one, but for ENTERs */
		calls = system_calls(counter) - before - 1;
		tries++;
	} while (calls);
	harness_note("%u posts without a system call, at attempt %u",
		     BATCHES * BATCH, tries);
}

struct helper {
	struct queue *queue;
	bool stop;
	pthread_t thread;
};

static void *enter_always(void *arg)
{
	struct helper *helper = arg;

	while (!__atomic_load_n(&helper->stop, __ATOMIC_RELAXED)) {
		struct dmanic_enter enter = {
			.size = sizeof(enter), .to_submit = 3,
		};

		EXPECT_EQ(dmanic_call(helper->queue->fd, DMANIC_IOC_ENTER, &enter),
			  0);
	}
	return NULL;
}

TEST_F(poll_thread, takes_turns_with_enter)
{
	struct queue queue = poller_make(&self->pair.node, 64, 64, 1);
	struct helper helper = { .queue = &queue };
	unsigned int batch, batches = harness_load(2000);

	ASSERT_EQ(pthread_create(&helper.thread, NULL, enter_always, &helper), 0);
	for (batch = 0; batch < batches; batch++) {
		poller_put_some(&self->pair, &queue, batch * BATCH, BATCH);
		poller_publish(&queue);
		poller_reap_some(&queue, batch * BATCH, BATCH);
	}
	__atomic_store_n(&helper.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(helper.thread, NULL), 0);
}

/* ---- sleeping and waking ---- */

FIXTURE(poll_idle) {
	struct node node;
};

FIXTURE_VARIANT(poll_idle) {
	__u32 asked_us;
	__u32 idle_us;
};

FIXTURE_VARIANT_ADD(poll_idle, shortest) { 1, 1 };
FIXTURE_VARIANT_ADD(poll_idle, half) { 500, 500 };
FIXTURE_VARIANT_ADD(poll_idle, most) { 0, DMANIC_POLL_IDLE_MAX_US };

FIXTURE_SETUP(poll_idle)
{
	self->node = node_open(&fabric, 0);
}

FIXTURE_TEARDOWN(poll_idle)
{
}

static bool rests(pid_t tid)
{
	__u64 ns = poller_cpu_ns(tid);

	usleep(300000);
	return poller_cpu_ns(tid) == ns;
}

/* Once it is off its CPU, which may be some time after it says so */
static void check_costs_nothing(const struct queue *queue, pid_t tid)
{
	EXPECT_TRUE(WAIT_FOR(rests(tid)));
	EXPECT_TRUE(poller_asleep(queue));
}

/* How long it runs after ENTER woke it, without work, until it sleeps again */
static __u64 time_awake(struct queue *queue, pid_t tid)
{
	__u64 before = poller_cpu_ns(tid);

	poller_wake(queue);
	ASSERT_TRUE(WAIT_FOR(poller_cpu_ns(tid) != before &&
			     poller_asleep(queue)));
	return poller_cpu_ns(tid) - before;
}

/*
 * CPU time, for the thread may run on this CPU, too. Not all of the time it was
 * awake when something else ran there; hence the longest, and the shortest.
 */
TEST_F(poll_idle, sleeps_when_it_should)
{
	struct queue queue = poller_make(&self->node, 8, 8, variant->asked_us);
	__u64 shortest = ~0ULL, longest = 0, t;
	unsigned int i;
	pid_t tid;

	ASSERT_EQ(poller_count(&tid), 1);
	ASSERT_TRUE(WAIT_FOR(poller_asleep(&queue)));
	for (i = 0; i < 50; i++) {
		t = time_awake(&queue, tid);
		if (t < shortest)
			shortest = t;
		if (t > longest)
			longest = t;
	}
	harness_note("asleep after %llu to %llu us", shortest / 1000,
		     longest / 1000);
	EXPECT_GE(longest, variant->idle_us * 900);
	EXPECT_LE(shortest, variant->idle_us * 1250 + harness_slow() * MS_NS / 5);

	/* Then it costs nothing */
	check_costs_nothing(&queue, tid);
}

TEST_F(poll_thread, enter_wakes)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 1);
	struct dmanic_cqe cqe;
	unsigned int i, woken = 0;

	for (i = 0; i < 200 && woken < 20; i++) {
		ASSERT_TRUE(WAIT_FOR(poller_asleep(&queue)));
		poller_put(&self->pair, &queue, i);
		queue_publish(&queue);
		/* It does not know of it, and ENTER is not asked to take it */
		usleep(2000);
		/* Unless it was about to sleep, and looked once more */
		if (queue_reap(&queue, &cqe)) {
			ASSERT_EQ(cqe.cookie, i);
			continue;
		}
		poller_wake(&queue);
		poller_reap_some(&queue, i, 1);
		woken++;
	}
	EXPECT_EQ(woken, 20);
}

TEST_F(poll_thread, enter_submits_and_waits)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 1);
	unsigned int i;

	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(WAIT_FOR(poller_asleep(&queue)));
		poller_put_some(&self->pair, &queue, 2 * i, 2);
		ASSERT_EQ(queue_enter(&queue, 1, 2, slow_ns(20000)), 0);
		ASSERT_EQ(queue.available, 2);
		poller_reap_some(&queue, 2 * i, 2);
	}
}

/* ---- no room ---- */

TEST_F(poll_thread, sleeps_when_completions_have_no_room)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 0);
	pid_t tid;

	poller_put_some(&self->pair, &queue, 0, 8);
	poller_publish(&queue);
	ASSERT_TRUE(WAIT_FOR(load32(&queue.ring->sq_head) == 8));
	poller_put_some(&self->pair, &queue, 8, 8);
	poller_publish(&queue);
	/* It may have slept before, too */
	ASSERT_TRUE(WAIT_FOR(queue_flags(&queue) ==
			     (DMANIC_RING_CQ_FULL | DMANIC_RING_NEED_WAKEUP)));
	EXPECT_EQ(load32(&queue.ring->sq_head), 8);
	ASSERT_EQ(poller_count(&tid), 1);
	check_costs_nothing(&queue, tid);

	/* Some room: as many are taken as there is room for */
	poller_reap_some(&queue, 0, 3);
	poller_publish(&queue);
	ASSERT_TRUE(WAIT_FOR(load32(&queue.ring->sq_head) == 11));
	ASSERT_TRUE(WAIT_FOR(poller_asleep(&queue)));
	poller_reap_some(&queue, 3, 8);
	poller_publish(&queue);
	poller_reap_some(&queue, 11, 5);
	EXPECT_EQ(queue_flags(&queue) & DMANIC_RING_CQ_FULL, 0);
}

/* As long as it looks for work it finds room, too */
TEST_F(poll_thread, sees_room)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 0);
	__u64 end = now_ns() + slow_ns(20000), next = 0;
	unsigned int awake = 0;

	do {
		bool asleep = false;

		ASSERT_LT(now_ns(), end);
		poller_put_some(&self->pair, &queue, next, 8);
		asleep |= poller_publish(&queue);
		while (load32(&queue.ring->sq_head) != queue.tail)
			asleep |= poller_publish(&queue);
		poller_put_some(&self->pair, &queue, next + 8, 8);
		asleep |= poller_publish(&queue);
		poller_reap_some(&queue, next, 8);
		while (load32(&queue.ring->sq_head) != queue.tail)
			asleep |= poller_publish(&queue);
		poller_reap_some(&queue, next + 8, 8);
		awake += !asleep;
		next += 16;
	} while (awake < 20);
}

/* SILENT operations make room, and nobody calls ENTER then */
TEST_F(poll_thread, silent_operations_make_room)
{
	struct apart apart = apart_make(20 * MS_NS, BYTES);
	struct queue queue = poller_make(&apart.node, 16, 8 * 2, 1);
	struct dmanic_sqe *sqe;
	unsigned int i;

	for (i = 0; i < 32; i++) {
		if (i == 16) {
			ASSERT_TRUE(WAIT_FOR(load32(&queue.ring->sq_head) == 16));
			EXPECT_EQ(load32(&queue.ring->cq_tail), 0);
		}
		sqe = queue_sqe(&queue);
		*sqe = sqe_move(DMANIC_OP_WRITE, apart.local.id, 0, apart.handle,
				0, 8);
		sqe->flags = DMANIC_SQE_SILENT;
		if (i == 15 || i == 31)
			poller_publish(&queue);
	}
	EXPECT_TRUE(WAIT_FOR(load32(&queue.ring->sq_head) == 32));
	EXPECT_EQ(load32(&queue.ring->cq_tail), 0);
}

/* ---- nonsense ---- */

TEST_F(poll_thread, impossible_indices)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 0);
	__u32 *const index[] = { &queue.ring->sq_tail, &queue.ring->cq_head };
	unsigned int i;
	pid_t tid;

	ASSERT_EQ(poller_count(&tid), 1);
	for (i = 0; i < ARRAY_SIZE(index); i++) {
		store32(index[i], load32(index[i]) + 0x80000000);
		if (i) {
			poller_put(&self->pair, &queue, i);
			queue_publish(&queue);
		}
		poller_wake(&queue);
		ASSERT_TRUE(WAIT_FOR(queue_flags(&queue) & DMANIC_RING_BAD_INDEX));
		ASSERT_TRUE(WAIT_FOR(poller_asleep(&queue)));
		check_costs_nothing(&queue, tid);

		store32(index[i], load32(index[i]) - 0x80000000);
		if (!i)
			poller_put(&self->pair, &queue, i);
		poller_publish(&queue);
		poller_reap_some(&queue, i, 1);
		EXPECT_EQ(queue_flags(&queue) & DMANIC_RING_BAD_INDEX, 0);
	}
}

/* What the program writes into the flags is for itself alone */
TEST_F(poll_thread, flags_are_not_read)
{
	struct queue queue = poller_make(&self->pair.node, 8, 8, 1);
	unsigned int i;

	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(WAIT_FOR(poller_asleep(&queue)));
		store32(&queue.ring->flags, i & 1 ? ~0U : 0);
		poller_put(&self->pair, &queue, i);
		queue_publish(&queue);
		poller_wake(&queue);
		poller_reap_some(&queue, i, 1);
		/* It says again what it has to say */
		ASSERT_TRUE(WAIT_FOR(queue_flags(&queue) ==
				     DMANIC_RING_NEED_WAKEUP));
	}
}

static void *scribble(void *arg)
{
	struct helper *helper = arg;
	__u32 *word = (__u32 *)helper->queue->ring;
	__u64 state = getpid();

	while (!__atomic_load_n(&helper->stop, __ATOMIC_RELAXED)) {
		__u64 r = random_next(&state);
		size_t words = helper->queue->map_bytes / sizeof(*word);

		/* Mostly the indices, which are the first words of their lines */
		if (r & 1)
			store32(word + (r >> 8) % 6 * 16, (r >> 32) & 0x3f);
		else
			store32(word + (r >> 8) % words, r >> 32);
	}
	return NULL;
}

TEST_F(poll_thread, scribbled_ring)
{
	__u64 end = now_ns() + 1 * SECOND_NS;
	struct queue queue, other;
	struct helper helper;

	other = poller_make(&self->pair.node, 8, 8, 0);
	while (now_ns() < end) {
		queue = poller_make(&self->pair.node, 64, 128, 0);
		helper = (struct helper) { .queue = &queue };
		ASSERT_EQ(pthread_create(&helper.thread, NULL, scribble, &helper),
			  0);
		for (unsigned int i = 0; i < 100; i++) {
			struct dmanic_enter enter = {
				.size = sizeof(enter), .to_submit = i & 7,
			};

			dmanic_call(queue.fd, DMANIC_IOC_ENTER, &enter);
		}
		/* Closed below the hands of both; the mapping stays */
		ASSERT_EQ(close(queue.fd), 0);
		__atomic_store_n(&helper.stop, true, __ATOMIC_RELAXED);
		ASSERT_EQ(pthread_join(helper.thread, NULL), 0);
		ASSERT_EQ(munmap(queue.ring, queue.map_bytes), 0);
	}
	poller_put(&self->pair, &other, 1);
	poller_publish(&other);
	poller_reap_some(&other, 1, 1);
}

FABRIC_TEST_MAIN()
