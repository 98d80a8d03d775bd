// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_revoke.c - taking memory back while others use it
 *
 * Owns: what revoke and destroy promise their caller. When they return, nobody
 * changes or reads the memory any more, whatever was under way; and an old
 * handle never reaches anything new.
 *
 * Flags: -luring
 */
#include "poller.h"
#include "uring_test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES	(1UL << 20)
#define WRITERS	2U

enum way { REVOKE, DESTROY };

/* How writers post */
enum post { ENTER, THREAD, URING };

struct writer {
	struct revoke_self *self;
	enum post post;
	struct queue queue;
	struct io_uring ring;
	struct segment source;
	__u32 handle;
	__u64 length;
	__u64 done;		/* operations completed */
	__u64 refused;
	__u32 odd;		/* a status nobody expected, or 0 */
};

FIXTURE(revoke) {
	struct node owner;
	struct node peer;
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	bool stop;
};

FIXTURE_VARIANT(revoke) {
	enum way way;
	__u64 lengths[WRITERS];
	enum post post;
};

FIXTURE_VARIANT_ADD(revoke, revoked_small) {
	.way = REVOKE, .lengths = { 64, 4096 },
};
FIXTURE_VARIANT_ADD(revoke, revoked_small_by_a_thread) {
	.way = REVOKE, .lengths = { 64, 4096 }, .post = THREAD,
};
FIXTURE_VARIANT_ADD(revoke, revoked_small_by_an_io_uring) {
	.way = REVOKE, .lengths = { 64, 4096 }, .post = URING,
};
FIXTURE_VARIANT_ADD(revoke, revoked_large) {
	.way = REVOKE, .lengths = { BYTES, BYTES - 1 },
};
FIXTURE_VARIANT_ADD(revoke, revoked_large_by_a_thread) {
	.way = REVOKE, .lengths = { BYTES, BYTES - 1 }, .post = THREAD,
};
FIXTURE_VARIANT_ADD(revoke, revoked_large_by_an_io_uring) {
	.way = REVOKE, .lengths = { BYTES, BYTES - 1 }, .post = URING,
};
FIXTURE_VARIANT_ADD(revoke, destroyed_small) {
	.way = DESTROY, .lengths = { 64, 4096 },
};
FIXTURE_VARIANT_ADD(revoke, destroyed_small_by_a_thread) {
	.way = DESTROY, .lengths = { 64, 4096 }, .post = THREAD,
};
FIXTURE_VARIANT_ADD(revoke, destroyed_small_by_an_io_uring) {
	.way = DESTROY, .lengths = { 64, 4096 }, .post = URING,
};
FIXTURE_VARIANT_ADD(revoke, destroyed_large) {
	.way = DESTROY, .lengths = { BYTES, BYTES - 1 },
};
FIXTURE_VARIANT_ADD(revoke, destroyed_large_by_a_thread) {
	.way = DESTROY, .lengths = { BYTES, BYTES - 1 }, .post = THREAD,
};
FIXTURE_VARIANT_ADD(revoke, destroyed_large_by_an_io_uring) {
	.way = DESTROY, .lengths = { BYTES, BYTES - 1 }, .post = URING,
};

static void writer_make(struct revoke_self *self, unsigned int number,
			const struct revoke_variant *variant)
{
	struct writer *writer = &self->writers[number];

	writer->self = self;
	writer->post = variant->post;
	if (variant->post == THREAD)
		writer->queue = poller_make(&self->peer, 8, 8, 0);
	else
		writer->queue = queue_make(&self->peer, 8, 8);
	if (variant->post == URING)
		ring_make(&writer->ring, 8, IORING_SETUP_SQE128);
	writer->source = segment_make(&self->peer, BYTES);
	writer->length = variant->lengths[number];
	memset(writer->source.data, 0x40 + number, BYTES);
}

FIXTURE_SETUP(revoke)
{
	unsigned int i;

	self->owner = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	for (i = 0; i < WRITERS; i++)
		writer_make(self, i, variant);
}

FIXTURE_TEARDOWN(revoke)
{
}

static __u64 get(const __u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void add(__u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
}

static void post_some(struct writer *writer, const struct dmanic_sqe *sqe,
		      unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (writer->post == URING)
			prep_post(&writer->ring, &writer->queue, sqe);
		else
			*queue_sqe(&writer->queue) = *sqe;
	}
	if (writer->post == URING)
		ring_submit(&writer->ring, nr);
	else if (writer->post == THREAD)
		poller_publish(&writer->queue);
	else
		queue_submit(&writer->queue);
}

/* The status of the next one, or -errno for one that nobody expects */
static int reap_one(struct writer *writer)
{
	struct dmanic_cqe cqe;
	int ret;

	if (writer->post == URING) {
		ret = ring_reap(&writer->ring, NULL, NULL);
		return ret == -ENXIO ? DMANIC_STATUS_NO_SEGMENT :
		       ret == -EACCES ? DMANIC_STATUS_ACCESS :
		       ret < 0 ? ret : DMANIC_STATUS_OK;
	}
	/* Without ENTER, which would wake the thread */
	while (writer->post == THREAD) {
		if (queue_reap(&writer->queue, &cqe))
			return (int)cqe.status;
		sched_yield();
	}
	return (int)queue_wait(&writer->queue).status;
}

/* Keeps several operations in flight until told to stop */
static void *write_on(void *data)
{
	struct writer *writer = data;
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, writer->source.id, 0,
					 writer->handle, 0, writer->length);
	unsigned int in_flight = 0;
	int status;

	for (;;) {
		if (!__atomic_load_n(&writer->self->stop, __ATOMIC_RELAXED)) {
			post_some(writer, &sqe, 4 - in_flight);
			in_flight = 4;
		}
		if (!in_flight)
			return NULL;
		status = reap_one(writer);
		in_flight--;
		if (status == DMANIC_STATUS_NO_SEGMENT)
			add(&writer->refused);
		else if (status)
			writer->odd = (__u32)status;
		add(&writer->done);
	}
}

static void start(struct revoke_self *self, struct segment *target)
{
	unsigned int i;

	self->stop = false;
	for (i = 0; i < WRITERS; i++) {
		self->writers[i].handle = segment_connect(&self->peer, target);
		self->writers[i].refused = 0;
		ASSERT_EQ(pthread_create(&self->threads[i], NULL, write_on,
					 &self->writers[i]), 0);
	}
	for (i = 0; i < WRITERS; i++) {
		__u64 done = get(&self->writers[i].done);

		ASSERT_TRUE(WAIT_FOR(get(&self->writers[i].done) > done + 5));
	}
}

static void stop(struct revoke_self *self)
{
	unsigned int i;

	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < WRITERS; i++) {
		ASSERT_EQ(pthread_join(self->threads[i], NULL), 0);
		EXPECT_EQ(self->writers[i].odd, 0);
	}
}

TEST_F(revoke, memory_is_still_once_it_returned)
{
	unsigned int rounds = harness_load(30), round, i;
	struct segment target;
	__u64 refused;

	for (round = 0; round < rounds; round++) {
		target = segment_make(&self->owner, BYTES);
		segment_export(&target, DMANIC_RIGHT_WRITE);
		start(self, &target);
		if (variant->way == REVOKE)
			ASSERT_EQ(segment_revoke(&target), 0);
		else
			ASSERT_EQ(segment_destroy(&target), 0);
		memset(target.data, 0x99, BYTES);
		for (i = 0; i < WRITERS; i++) {
			refused = get(&self->writers[i].refused);
			ASSERT_TRUE(WAIT_FOR(get(&self->writers[i].refused) >
					     refused + 20));
		}
		EXPECT_TRUE(all_bytes(target.data, BYTES, 0x99));
		stop(self);
		EXPECT_TRUE(all_bytes(target.data, BYTES, 0x99));
		if (variant->way == REVOKE)
			ASSERT_EQ(segment_destroy(&target), 0);
		segment_unmap(&target);
	}
}

/* Exporting again does not let those in who were connected before. */
static void export_again(struct revoke_self *self)
{
	struct segment target = segment_make(&self->owner, BYTES);
	unsigned int rounds = harness_load(40), round, i;
	__u32 status;

	segment_export(&target, DMANIC_RIGHT_WRITE);
	start(self, &target);
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(segment_revoke(&target), 0);
		memset(target.data, round, BYTES);
		segment_export(&target, DMANIC_RIGHT_WRITE);
		for (i = 0; i < WRITERS; i++) {
			__u64 done = get(&self->writers[i].done);

			ASSERT_TRUE(WAIT_FOR(get(&self->writers[i].done) >
					     done + 20));
		}
		ASSERT_TRUE(all_bytes(target.data, BYTES, round));
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < WRITERS; i++) {
		ASSERT_EQ(pthread_join(self->threads[i], NULL), 0);
		/* The id is there again, the key is not. */
		status = self->writers[i].odd;
		EXPECT_EQ(status, DMANIC_STATUS_ACCESS);
	}
}

FIXTURE(export) {
	struct revoke_self traffic;
};

FIXTURE_VARIANT(export) {
	const struct revoke_variant *traffic;
};

FIXTURE_VARIANT_ADD(export, small) { &revoke_variant_revoked_small };
FIXTURE_VARIANT_ADD(export, large) { &revoke_variant_revoked_large };

FIXTURE_SETUP(export)
{
	revoke_setup(&self->traffic, variant->traffic);
}

FIXTURE_TEARDOWN(export)
{
}

TEST_F(export, again_during_traffic)
{
	export_again(&self->traffic);
}

FIXTURE(handle) {
	struct node owner;
	struct node peer;
	struct segment source;
	struct queue queue;
};

FIXTURE_SETUP(handle)
{
	self->owner = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->source = segment_make(&self->peer, 4096);
	memset(self->source.data, 0x55, 4096);
	self->queue = queue_make(&self->peer, 4, 4);
}

FIXTURE_TEARDOWN(handle)
{
}

static __u32 write_to(struct handle_self *self, __u32 handle)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->source.id, 0,
					 handle, 0, 4096);

	return queue_run(&self->queue, &sqe).status;
}

/* Segments come and go; the id may come back, the old handle must not work. */
TEST_F(handle, old_one_never_reaches_a_new_segment)
{
	struct segment first = segment_make(&self->owner, 4096);
	struct segment segments[64];
	unsigned int i, round;
	__u32 old, status;

	segment_export(&first, DMANIC_RIGHT_WRITE);
	old = segment_connect(&self->peer, &first);
	ASSERT_EQ(write_to(self, old), DMANIC_STATUS_OK);
	segment_unmap(&first);
	ASSERT_EQ(segment_destroy(&first), 0);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < ARRAY_SIZE(segments); i++) {
			segments[i] = segment_make(&self->owner, 4096);
			segment_export(&segments[i], DMANIC_RIGHT_WRITE);
		}
		status = write_to(self, old);
		EXPECT_TRUE(status == DMANIC_STATUS_NO_SEGMENT ||
			    status == DMANIC_STATUS_ACCESS);
		for (i = 0; i < ARRAY_SIZE(segments); i++) {
			EXPECT_TRUE(all_bytes(segments[i].data, 4096, 0));
			segment_unmap(&segments[i]);
			ASSERT_EQ(segment_destroy(&segments[i]), 0);
		}
	}
}

TEST_F(handle, old_number_never_names_a_new_connection)
{
	struct segment first = segment_make(&self->owner, 4096);
	struct segment second = segment_make(&self->owner, 4096);
	__u32 old, new;
	unsigned int i;

	segment_export(&first, DMANIC_RIGHT_WRITE);
	segment_export(&second, DMANIC_RIGHT_WRITE);
	old = segment_connect(&self->peer, &first);
	ASSERT_EQ(disconnect(&self->peer, old), 0);
	for (i = 0; i < 1000; i++) {
		new = segment_connect(&self->peer, &second);
		ASSERT_NE(new, old);
		ASSERT_EQ(disconnect(&self->peer, new), 0);
	}
	EXPECT_EQ(write_to(self, old), DMANIC_STATUS_NO_HANDLE);
	EXPECT_TRUE(all_bytes(first.data, 4096, 0));
}

TEST_F(handle, owner_that_closed_is_NO_SEGMENT)
{
	struct segment target = segment_make(&self->owner, 4096);
	__u32 handle, none;

	segment_export(&target, DMANIC_RIGHT_WRITE);
	handle = segment_connect(&self->peer, &target);
	ASSERT_EQ(write_to(self, handle), DMANIC_STATUS_OK);
	/* A mapping would keep the context's file. */
	segment_unmap(&target);
	node_close(&self->owner);
	EXPECT_EQ(write_to(self, handle), DMANIC_STATUS_NO_SEGMENT);
	EXPECT_EQ(connect_call(&self->peer, 0, target.node, target.id,
			       target.key, &none), -ENOENT);
}

/* ---- the local side goes while it is needed ---- */

static void churn(size_t bytes)
{
	__u8 *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	ASSERT_TRUE(data != MAP_FAILED);
	memset(data, 0x12, bytes);
	ASSERT_EQ(munmap(data, bytes), 0);
}

static __u64 pinned_by(const struct node *node)
{
	struct device device;

	ASSERT_EQ(device_get(node->name, &device), 0);
	return device.pinned;
}

FIXTURE(source) {
	struct apart apart;
	struct queue queue;
	struct segment segment;
	void *memory;		/* of the program, registered; or NULL */
};

FIXTURE_VARIANT(source) {
	bool user;
};

FIXTURE_VARIANT_ADD(source, of_the_driver) { .user = false };
FIXTURE_VARIANT_ADD(source, of_the_program) { .user = true };

FIXTURE_SETUP(source)
{
	self->apart = apart_make(0, BYTES);
	self->queue = queue_make(&self->apart.node, 4, 4);
	self->segment = self->apart.local;
	if (!variant->user)
		return;
	ASSERT_EQ(segment_destroy(&self->apart.local), 0);
	segment_unmap(&self->apart.local);
	self->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(self->memory != MAP_FAILED);
	self->segment = segment_register(&self->apart.node, self->memory, BYTES);
}

FIXTURE_TEARDOWN(source)
{
}

/* The program has it no more; somebody else would, if it were free */
static void source_go(struct source_self *self)
{
	ASSERT_EQ(segment_destroy(&self->segment), 0);
	ASSERT_EQ(disconnect(&self->apart.node, self->apart.handle), 0);
	if (self->memory)
		ASSERT_EQ(munmap(self->memory, BYTES), 0);
	else
		segment_unmap(&self->segment);
	churn(4 * BYTES);
}

static void source_post(struct source_self *self)
{
	unsigned int i;

	memset(self->memory ?: self->segment.data, 0x77, BYTES);
	for (i = 0; i < 2; i++)
		*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_WRITE, self->segment.id, 0,
						    self->apart.handle, 0, BYTES);
	queue_submit(&self->queue);
}

/* All of it arrived, and is let go of then */
static void source_ends(struct source_self *self)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		EXPECT_EQ(queue_wait(&self->queue).status, DMANIC_STATUS_OK);
	EXPECT_TRUE(all_bytes(self->apart.target.data, BYTES, 0x77));
	EXPECT_TRUE(WAIT_FOR(pinned_by(&self->apart.node) < BYTES));
}

/* Operations posted with the segment as their local side finish */
TEST_F(source, destroyed_in_flight_finishes)
{
	fabric_late(&self->apart.own, slow_ns(100));
	source_post(self);
	source_go(self);
	source_ends(self);
}

/* Frames are lost, so it is sent again, from the same memory, until it is acknowledged */
TEST_F(source, destroyed_is_sent_again)
{
	if (!fabric_on_netdevs())
		SKIP("no frames are lost on a loop link");
	fabric_late(&self->apart.own, DMANIC_TIMEOUT_NEVER);
	source_post(self);
	source_go(self);
	EXPECT_GE(pinned_by(&self->apart.node), BYTES);
	EXPECT_EQ(load32(&self->queue.ring->cq_tail), 0);
	fabric_late(&self->apart.own, 0);
	source_ends(self);
}

FABRIC_TEST_MAIN()
