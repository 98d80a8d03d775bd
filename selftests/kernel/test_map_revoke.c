// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_map_revoke.c - remote memory that goes while it is mapped
 *
 * Owns: that whatever takes an export away takes it from mappings too, before
 * it returns: the memory is its owner's again, and who looks there gets SIGBUS,
 * not stale data. Also in the middle of stores, faults, mmap() and mremap().
 */
#include "remote_map.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	(1UL << 20)
#define ALL	(DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE)

/* ---- each way to lose it ---- */

FIXTURE(lost) {
	struct fabric own;
	struct node node;
	struct node owner;
	struct segment target;
	__u64 offset;
	__u8 *map;
};

FIXTURE_VARIANT(lost) {
	void (*lose)(struct lost_self *self);
	int again;		/* what mmap() says then */
};

static void lose_revoke(struct lost_self *self)
{
	ASSERT_EQ(segment_revoke(&self->target), 0);
}

static void lose_destroy(struct lost_self *self)
{
	ASSERT_EQ(segment_destroy(&self->target), 0);
}

static void lose_export_again(struct lost_self *self)
{
	ASSERT_EQ(segment_revoke(&self->target), 0);
	segment_export(&self->target, ALL);
}

static void lose_close(struct lost_self *self)
{
	struct device device;

	segment_unmap(&self->target);
	node_close(&self->owner);
	ASSERT_EQ(device_get(self->owner.name, &device), 0);
	ASSERT_EQ(device.segments, 0);
}

static void lose_owner_failed(struct lost_self *self)
{
	ASSERT_EQ(device_set_failed(self->owner.name, true), 0);
}

static void lose_owner_restarted(struct lost_self *self)
{
	ASSERT_EQ(device_set_failed(self->owner.name, true), 0);
	ASSERT_EQ(device_set_failed(self->owner.name, false), 0);
}

static void lose_owner_removed(struct lost_self *self)
{
	ASSERT_EQ(device_delete(self->owner.name, true), 0);
}

static void lose_node_failed(struct lost_self *self)
{
	ASSERT_EQ(device_set_failed(self->node.name, true), 0);
}

static void lose_node_removed(struct lost_self *self)
{
	ASSERT_EQ(device_delete(self->node.name, true), 0);
}

static void lose_fabric(struct lost_self *self)
{
	ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
}

FIXTURE_VARIANT_ADD(lost, revoked) { lose_revoke, -ENOENT };
FIXTURE_VARIANT_ADD(lost, destroyed) { lose_destroy, -ENOENT };
FIXTURE_VARIANT_ADD(lost, exported_again) { lose_export_again, -ENOENT };
FIXTURE_VARIANT_ADD(lost, owner_closed) { lose_close, -ENOENT };
FIXTURE_VARIANT_ADD(lost, owner_failed) { lose_owner_failed, -EHOSTUNREACH };
FIXTURE_VARIANT_ADD(lost, owner_restarted) {
	lose_owner_restarted, -EHOSTUNREACH,
};
FIXTURE_VARIANT_ADD(lost, owner_removed) { lose_owner_removed, -EHOSTUNREACH };
FIXTURE_VARIANT_ADD(lost, node_failed) { lose_node_failed, -EHOSTUNREACH };
FIXTURE_VARIANT_ADD(lost, node_removed) { lose_node_removed, -ENODEV };
FIXTURE_VARIANT_ADD(lost, fabric_removed) { lose_fabric, -ENODEV };

FIXTURE_SETUP(lost)
{
	bus_catch();
	fabric_make(&self->own, "a", 2, NULL);
	self->node = node_open(&self->own, 0);
	self->owner = node_open(&self->own, 1);
	self->target = segment_make(&self->owner, BYTES);
	segment_export(&self->target, ALL);
	self->offset = segment_connect_map(&self->node, &self->target, NULL);
	self->map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
}

FIXTURE_TEARDOWN(lost)
{
}

/* Pages that were touched, and one that never was */
TEST_F(lost, memory_is_SIGBUS)
{
	__u64 value;
	void *map;

	memset(self->map, 1, BYTES / 2);
	variant->lose(self);
	EXPECT_EQ(bus_load(self->map, &value), SIGBUS);
	EXPECT_EQ(bus_store(self->map + BYTES / 2 - 8, 2), SIGBUS);
	EXPECT_EQ(bus_load(self->map + BYTES - 8, &value), SIGBUS);
	if (self->target.data)
		EXPECT_EQ(*(__u64 *)(self->target.data + BYTES / 2 - 8),
			  0x0101010101010101ULL);
	EXPECT_EQ(remote_mmap(&self->node, self->offset, BYTES, PROT_READ,
			      &map), variant->again);
	EXPECT_EQ(mprotect(self->map, BYTES, PROT_READ), 0);
	EXPECT_EQ(bus_load(self->map, &value), SIGBUS);
	ASSERT_EQ(munmap(self->map, BYTES), 0);
}

/* A mapping that is made just before, or was never touched, is no different. */
TEST_F(lost, untouched_is_SIGBUS)
{
	__u64 value;

	variant->lose(self);
	EXPECT_EQ(bus_load(self->map, &value), SIGBUS);
	EXPECT_EQ(bus_store(self->map + BYTES - 8, 2), SIGBUS);
}

/* What a node has mapped of others comes back with it, as its handles do. */
TEST(failed, node_gets_its_mappings_back)
{
	struct segment target;
	struct node node, owner;
	struct fabric own;
	__u64 value;
	__u8 *map;

	bus_catch();
	fabric_make(&own, "a", 2, NULL);
	node = node_open(&own, 0);
	owner = node_open(&own, 1);
	target = segment_make(&owner, BYTES);
	segment_export(&target, ALL);
	map = remote_map(&node, segment_connect_map(&node, &target, NULL),
			 BYTES, MAP_RW);
	ASSERT_EQ(bus_store(map, 7), 0);
	ASSERT_EQ(device_set_failed(node.name, true), 0);
	EXPECT_EQ(bus_load(map, &value), SIGBUS);
	ASSERT_EQ(device_set_failed(node.name, false), 0);
	ASSERT_EQ(bus_load(map, &value), 0);
	EXPECT_EQ(value, 7);
}

/* A third node's failure costs faults, not data. */
TEST(failed, others_keep_theirs)
{
	struct segment target;
	struct node node, owner;
	struct fabric own;
	__u8 *map;
	char name[DMANIC_NAME_MAX];

	fabric_make(&own, "a", 3, NULL);
	node = node_open(&own, 0);
	owner = node_open(&own, 1);
	target = segment_make(&owner, BYTES);
	segment_export(&target, ALL);
	map = remote_map(&node, segment_connect_map(&node, &target, NULL),
			 BYTES, MAP_RW);
	fill(map, BYTES, 3);
	fabric_name(&own, 2, name);
	ASSERT_EQ(device_set_failed(name, true), 0);
	EXPECT_EQ(memcmp(map, target.data, BYTES), 0);
	ASSERT_EQ(device_delete(name, true), 0);
	EXPECT_EQ(memcmp(map, target.data, BYTES), 0);
}

/* A model is about the engine; the memory of a modelled node can be mapped. */
TEST(model, is_not_in_the_way)
{
	struct model slow = { .latency_ns = MS_NS };
	struct alone alone = alone_make(&slow, 4096);
	struct segment target = segment_make(&alone.node, 4096);
	__u8 *map;

	segment_export(&target, ALL);
	map = remote_map(&alone.node,
			 segment_connect_map(&alone.node, &target, NULL), 4096,
			 MAP_RW);
	map[1] = 2;
	EXPECT_EQ(target.data[1], 2);
}

/* Its owner is killed; nobody had the time to tell. */
TEST(killed, owner_is_SIGBUS)
{
	struct node node = node_open(&fabric, 0), owner;
	struct segment *shared = mmap(NULL, 4096, MAP_RW,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct device device;
	__u64 value;
	int status;
	pid_t pid;
	__u8 *map;

	bus_catch();
	ASSERT_TRUE(shared != MAP_FAILED);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		struct segment target;

		owner = node_open(&fabric, 1);
		target = segment_make(&owner, BYTES);
		segment_export(&target, ALL);
		*shared = target;
		__atomic_store_n(&shared->data, target.data, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	ASSERT_TRUE(WAIT_FOR(__atomic_load_n(&shared->data, __ATOMIC_ACQUIRE)));
	map = remote_map(&node, segment_connect_map(&node, shared, NULL), BYTES,
			 MAP_RW);
	ASSERT_EQ(bus_store(map, 1), 0);
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_TRUE(WAIT_FOR(bus_load(map, &value) == SIGBUS));
	fabric_name(&fabric, 1, owner.name);
	ASSERT_EQ(device_get(owner.name, &device), 0);
	EXPECT_EQ(device.pinned, 0);
}

/* ---- in the middle of traffic ---- */

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
};

FIXTURE_VARIANT(traffic) {
	bool user;
	void *(*writers[WRITERS])(void *data);
};

struct writer {
	struct traffic_self *self;
	unsigned int index;
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

/* Whoever maps something holds it: move_on() leaves holes for a moment */
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

static __u8 *map_now(struct traffic_self *self)
{
	void *map;
	int ret;

	pthread_mutex_lock(&places_lock);
	ret = remote_mmap(&self->peer, get(&self->offset), BYTES, MAP_RW, &map);
	pthread_mutex_unlock(&places_lock);
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
		if (!map)
			continue;
		for (i = 0; i < 4; i++)
			scribble(writer, map, &state);
		ASSERT_EQ(munmap(map, BYTES), 0);
	}
	return NULL;
}

/* Nothing there, but nobody else's either */
static void reserve(__u8 *place)
{
	ASSERT_TRUE(mmap(place, BYTES, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			 MAP_FIXED, -1, 0) == place);
}

/* Moves it about while others may be taking it away */
static void *move_on(void *data)
{
	struct writer *writer = data;
	__u64 state = writer->index + 1;
	__u8 *places, *map, *next;
	bool there;
	unsigned int turn;

	pthread_mutex_lock(&places_lock);
	places = mmap(NULL, 2 * BYTES, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_mutex_unlock(&places_lock);
	ASSERT_TRUE(places != MAP_FAILED);
	while (!stopped(writer->self)) {
		map = map_now(writer->self);
		if (!map)
			continue;
		for (turn = 0, there = true; there; turn++) {
			next = places + (turn & 1) * BYTES;
			pthread_mutex_lock(&places_lock);
			ASSERT_TRUE(mremap(map, BYTES, BYTES,
					   MREMAP_MAYMOVE | MREMAP_FIXED,
					   next) == next);
			if (turn)
				reserve(map);
			pthread_mutex_unlock(&places_lock);
			map = next;
			there = scribble(writer, map, &state) &&
				!stopped(writer->self);
		}
		reserve(map);
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

	pthread_mutex_lock(&places_lock);
	if (user) {
		data = mmap(NULL, BYTES, MAP_RW, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		ASSERT_TRUE(data != MAP_FAILED);
		self->target = segment_register(&self->owner, data, BYTES);
		self->target.map_bytes = BYTES;
	} else {
		self->target = segment_make(&self->owner, BYTES);
	}
	pthread_mutex_unlock(&places_lock);
}

static void target_export(struct traffic_self *self)
{
	__u64 offset;

	segment_export(&self->target, ALL);
	offset = segment_connect_map(&self->peer, &self->target, NULL);
	__atomic_store_n(&self->offset, offset, __ATOMIC_RELAXED);
}

static bool all_bytes(const __u8 *data, __u8 value)
{
	return data[0] == value && !memcmp(data, data + 1, BYTES - 1);
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

static void traffic_start(struct traffic_self *self, struct writer *writers,
			  const struct traffic_variant *variant)
{
	unsigned int i;

	for (i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer) { self, i };
		ASSERT_EQ(pthread_create(&self->threads[i], NULL,
					 variant->writers[i], &writers[i]), 0);
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
	struct writer writers[WRITERS];
	unsigned int round;

	target_new(self, variant->user);
	target_export(self);
	traffic_start(self, writers, variant);
	for (round = 0; round < 20; round++) {
		wait_stores(self, 20);
		ASSERT_EQ(segment_revoke(&self->target), 0);
		memset(self->target.data, round, BYTES);
		breathe();
		ASSERT_TRUE(all_bytes(self->target.data, round));
		target_export(self);
	}
	traffic_stop(self);
}

/* Destroyed, it is somebody else's. */
TEST_F_TIMEOUT(traffic, destroyed_memory_is_still, 60)
{
	struct writer writers[WRITERS];
	unsigned int round;

	target_new(self, variant->user);
	target_export(self);
	traffic_start(self, writers, variant);
	for (round = 0; round < 20; round++) {
		wait_stores(self, 20);
		ASSERT_EQ(segment_destroy(&self->target), 0);
		memset(self->target.data, round, BYTES);
		breathe();
		ASSERT_TRUE(all_bytes(self->target.data, round));
		segment_unmap(&self->target);
		target_new(self, variant->user);
		target_export(self);
	}
	traffic_stop(self);
}

/* A node that failed is left alone at once, too. */
TEST_F_TIMEOUT(traffic, failed_node_is_still, 60)
{
	struct writer writers[WRITERS];
	struct fabric own;
	unsigned int round;
	const char *name;

	fabric_make(&own, "a", 2, NULL);
	self->owner = node_open(&own, 0);
	self->peer = node_open(&own, 1);
	target_new(self, variant->user);
	target_export(self);
	traffic_start(self, writers, variant);
	for (round = 0; round < 20; round++) {
		name = round & 1 ? self->peer.name : self->owner.name;
		wait_stores(self, 20);
		ASSERT_EQ(device_set_failed(name, true), 0);
		memset(self->target.data, round, BYTES);
		breathe();
		ASSERT_TRUE(all_bytes(self->target.data, round));
		ASSERT_EQ(device_set_failed(name, false), 0);
		/* Restarted, nobody is connected any more */
		ASSERT_EQ(segment_revoke(&self->target), 0);
		target_export(self);
	}
	traffic_stop(self);
}

FABRIC_TEST_MAIN()
