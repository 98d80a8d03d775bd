// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_map_traffic.c - remote memory that goes while it is being used
 *
 * Owns: that in the middle of stores, faults, mmap() and mremap() of others the
 * memory of an export is its owner's alone once revoke, destroy or the failure
 * of a node returned. Every round waits for traffic, takes the memory away,
 * writes to it, and finds only that.
 */
#include "remote_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES	(256UL << 10)
#define ALL	(DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE)

#define WRITERS	3U

FIXTURE(traffic) {
	struct node owner;
	struct node peer;
	struct segment target;
	__u64 offset;		/* of the present export; atomic */
	bool stop;
	__u64 stores[WRITERS];
	__u64 lost[WRITERS];
	pthread_t threads[WRITERS];
	struct writer {
		struct traffic_self *self;
		unsigned int index;
	} writers[WRITERS];
};

FIXTURE_VARIANT(traffic) {
	bool user;
	void *(*writers[WRITERS])(void *data);
};

static bool stopped(const struct traffic_self *self)
{
	return __atomic_load_n(&self->stop, __ATOMIC_RELAXED);
}

static void add(__u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static __u64 get(const __u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* One store somewhere in @map */
static bool scribble(struct writer *writer, __u8 *map, __u64 *state)
{
	__u8 *place = map + (random_next(state) % BYTES & ~7ULL);

	if (bus_store(place, ~0ULL)) {
		add(&writer->self->lost[writer->index]);
		return false;
	}
	add(&writer->self->stores[writer->index]);
	return true;
}

static __u8 *map_now(struct traffic_self *self)
{
	void *map;
	int ret;

	ret = remote_mmap(&self->peer, get(&self->offset), BYTES, MAP_RW, &map);
	/* Revoked, or the node does not answer now */
	if (ret && ret != -ENOENT && ret != -EHOSTUNREACH)
		FAIL("mmap: %s", strerror(-ret));
	return ret ? NULL : map;
}

/* Maps anew whenever it was lost */
static void *store_on(void *data)
{
	struct writer *writer = data;
	__u64 state = writer->index + 1;
	__u8 *map = NULL;

	while (!stopped(writer->self)) {
		if (!map)
			map = map_now(writer->self);
		if (!map)
			breathe();
		if (!map || scribble(writer, map, &state))
			continue;
		ASSERT_EQ(munmap(map, BYTES), 0);
		map = NULL;
	}
	return NULL;
}

/* A mapping for every few stores */
static void *map_on(void *data)
{
	struct writer *writer = data;
	__u64 state = writer->index + 1;
	unsigned int i;
	__u8 *map;

	while (!stopped(writer->self)) {
		map = map_now(writer->self);
		if (!map) {
			breathe();
			continue;
		}
		for (i = 0; i < 4; i++)
			scribble(writer, map, &state);
		ASSERT_EQ(munmap(map, BYTES), 0);
	}
	return NULL;
}

/* A place of our own; what is moved there leaves a hole that is anybody's */
static __u8 *reserve(void)
{
	void *place = mmap(NULL, BYTES, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT_TRUE(place != MAP_FAILED);
	return place;
}

/* Moves it about while others may be taking it away */
static void *move_on(void *data)
{
	struct writer *writer = data;
	__u64 state = writer->index + 1;
	__u8 *map, *next;
	bool there;

	while (!stopped(writer->self)) {
		map = map_now(writer->self);
		if (!map) {
			breathe();
			continue;
		}
		for (there = true; there; map = next) {
			next = reserve();
			ASSERT_TRUE(mremap(map, BYTES, BYTES,
					   MREMAP_MAYMOVE | MREMAP_FIXED,
					   next) == next);
			there = scribble(writer, next, &state) &&
				!stopped(writer->self);
		}
		ASSERT_EQ(munmap(map, BYTES), 0);
	}
	return NULL;
}

FIXTURE_VARIANT_ADD(traffic, stores) {
	false, { store_on, store_on, store_on },
};
FIXTURE_VARIANT_ADD(traffic, mappings) { false, { map_on, map_on, store_on } };
FIXTURE_VARIANT_ADD(traffic, moves) { false, { move_on, move_on, store_on } };
FIXTURE_VARIANT_ADD(traffic, user_memory) {
	true, { store_on, map_on, move_on },
};

FIXTURE_SETUP(traffic)
{
	bus_catch();
	self->owner = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
}

FIXTURE_TEARDOWN(traffic)
{
}

static void target_new(struct traffic_self *self, bool user)
{
	void *data;

	if (user) {
		data = mmap(NULL, BYTES, MAP_RW, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		ASSERT_TRUE(data != MAP_FAILED);
		self->target = segment_register(&self->owner, data, BYTES);
		self->target.map_bytes = BYTES;
	} else {
		self->target = segment_make(&self->owner, BYTES);
	}
}

static void target_export(struct traffic_self *self)
{
	__u64 offset;

	segment_export(&self->target, ALL);
	offset = segment_connect_map(&self->peer, &self->target, NULL);
	__atomic_store_n(&self->offset, offset, __ATOMIC_RELAXED);
}

/* It stays as its owner writes it, in time for thousands of stores of each */
static void expect_still(struct traffic_self *self, __u8 value)
{
	unsigned int i;

	memset(self->target.data, value, BYTES);
	for (i = 0; i < 10; i++)
		breathe();
	ASSERT_TRUE(all_bytes(self->target.data, BYTES, value));
}

static void wait_stores(struct traffic_self *self, unsigned int more)
{
	unsigned int i;
	__u64 before;

	for (i = 0; i < WRITERS; i++) {
		before = get(&self->stores[i]);
		ASSERT_TRUE(WAIT_FOR(get(&self->stores[i]) > before + more));
	}
}

/* A new target, and stores into it */
static void traffic_start(struct traffic_self *self,
			  const struct traffic_variant *variant)
{
	unsigned int i;

	target_new(self, variant->user);
	target_export(self);
	for (i = 0; i < WRITERS; i++) {
		self->writers[i] = (struct writer) { self, i };
		ASSERT_EQ(pthread_create(&self->threads[i], NULL,
					 variant->writers[i],
					 &self->writers[i]), 0);
	}
}

static void traffic_stop(struct traffic_self *self)
{
	unsigned int i;
	__u64 lost = 0;

	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < WRITERS; i++) {
		ASSERT_EQ(pthread_join(self->threads[i], NULL), 0);
		lost += self->lost[i];
	}
	/* Else it was never in the middle of it */
	EXPECT_GT(lost, 0);
}

/* Revoked, it is the owner's: whatever he puts there stays. */
TEST_F_TIMEOUT(traffic, revoked_memory_is_still, 60)
{
	unsigned int rounds = harness_load(20), round;

	traffic_start(self, variant);
	for (round = 0; round < rounds; round++) {
		wait_stores(self, 20);
		ASSERT_EQ(segment_revoke(&self->target), 0);
		expect_still(self, round);
		target_export(self);
	}
	traffic_stop(self);
}

/* Destroyed, it is somebody else's. */
TEST_F_TIMEOUT(traffic, destroyed_memory_is_still, 60)
{
	unsigned int rounds = harness_load(20), round;

	traffic_start(self, variant);
	for (round = 0; round < rounds; round++) {
		wait_stores(self, 20);
		ASSERT_EQ(segment_destroy(&self->target), 0);
		expect_still(self, round);
		segment_unmap(&self->target);
		target_new(self, variant->user);
		target_export(self);
	}
	traffic_stop(self);
}

/* A node that failed is left alone at once, too. */
TEST_F_TIMEOUT(traffic, failed_node_is_still, 60)
{
	struct fabric own;
	unsigned int rounds = harness_load(20), round;
	const char *name;

	fabric_make(&own, "a", 2, NULL);
	self->owner = node_open(&own, 0);
	self->peer = node_open(&own, 1);
	traffic_start(self, variant);
	for (round = 0; round < rounds; round++) {
		name = round & 1 ? self->peer.name : self->owner.name;
		wait_stores(self, 20);
		ASSERT_EQ(device_set_failed(name, true), 0);
		expect_still(self, round);
		ASSERT_EQ(device_set_failed(name, false), 0);
		/* Restarted, nobody is connected any more */
		ASSERT_EQ(segment_revoke(&self->target), 0);
		target_export(self);
	}
	traffic_stop(self);
}

FABRIC_TEST_MAIN()
