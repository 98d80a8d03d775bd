// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_map_revoke.c - remote memory that goes while it is mapped
 *
 * Owns: that whatever takes an export away takes it from mappings too, before
 * it returns: the memory is its owner's again, and who looks there gets SIGBUS,
 * not stale data. test_map_traffic.c does it in the middle of accesses.
 */
#include "remote_map.h"

#include <errno.h>
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

FABRIC_TEST_MAIN()
