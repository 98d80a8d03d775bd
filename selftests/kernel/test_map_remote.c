// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_map_remote.c - segments of other nodes as memory of this program
 *
 * Owns: that a mapping shows the memory it names, whole and in parts; that it
 * gives no more than the rights that were granted; that no offset, length or
 * call on it reaches anything else; and what it keeps and does not keep.
 * test_map_revoke.c and test_map_traffic.c take the memory away.
 */
#include "remote_map.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define PAGES	5UL
#define BYTES	(PAGES * 4096)
#define ALL	(DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE | DMANIC_RIGHT_ATOMIC)

FIXTURE(map) {
	struct node node;
	struct node owner;
	struct segment target;
	__u32 handle;
	__u64 offset;
};

FIXTURE_VARIANT(map) {
	bool user;		/* the target is memory of the program */
};

FIXTURE_VARIANT_ADD(map, driver_memory) { false };
FIXTURE_VARIANT_ADD(map, user_memory) { true };

FIXTURE_SETUP(map)
{
	void *data;

	bus_catch();
	self->node = node_open(&fabric, 0);
	self->owner = node_open(&fabric, 1);
	if (variant->user) {
		data = mmap(NULL, BYTES, MAP_RW, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		ASSERT_TRUE(data != MAP_FAILED);
		self->target = segment_register(&self->owner, data, BYTES);
	} else {
		self->target = segment_make(&self->owner, BYTES);
	}
	segment_export(&self->target, ALL);
	self->offset = segment_connect_map(&self->node, &self->target,
					   &self->handle);
}

FIXTURE_TEARDOWN(map)
{
}

TEST_F(map, feature_is_told)
{
	struct dmanic_query query;

	node_query(&self->node, &query);
	EXPECT_TRUE(query.features & DMANIC_FEATURE_MAP_REMOTE);
	EXPECT_EQ(self->offset, MAP_OFFSET(self->handle));
}

TEST_F(map, data_go_both_ways)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	__u8 *expected = malloc(BYTES);

	ASSERT_TRUE(expected);
	fill(expected, BYTES, 1);
	memcpy(map, expected, BYTES);
	EXPECT_EQ(memcmp(self->target.data, expected, BYTES), 0);
	fill(expected, BYTES, 2);
	memcpy(self->target.data, expected, BYTES);
	EXPECT_EQ(memcmp(map, expected, BYTES), 0);
	free(expected);
}

/* Stores and operations of a queue meet in the same memory. */
TEST_F(map, shows_what_was_put)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	struct segment local = segment_make(&self->node, BYTES);
	struct queue queue = queue_make(&self->node, 4, 4);
	struct dmanic_sqe put = sqe_move(DMANIC_OP_WRITE, local.id, 0,
					 self->handle, 0, BYTES);
	struct dmanic_sqe get = sqe_move(DMANIC_OP_READ, local.id, 0,
					 self->handle, 0, BYTES);

	fill(local.data, BYTES, 3);
	ASSERT_EQ(queue_run(&queue, &put).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(map, local.data, BYTES), 0);
	memset(map, 0x5a, BYTES);
	ASSERT_EQ(queue_run(&queue, &get).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(map, local.data, BYTES), 0);
}

TEST_F(map, parts_are_what_their_offset_says)
{
	unsigned long first, pages;
	__u8 *map;

	fill(self->target.data, BYTES, 4);
	for (first = 0; first < PAGES; first++) {
		for (pages = 1; first + pages <= PAGES; pages++) {
			map = remote_map(&self->node,
					 self->offset + first * 4096,
					 pages * 4096, PROT_READ);
			EXPECT_EQ(memcmp(map, self->target.data + first * 4096,
					 pages * 4096), 0);
			ASSERT_EQ(munmap(map, pages * 4096), 0);
		}
	}
}

TEST_F(map, beyond_the_end_is_EINVAL)
{
	static const struct {
		__u64 offset, bytes;
	} cases[] = {
		{ 0, BYTES + 4096 }, { 4096, BYTES }, { BYTES, 4096 },
		{ BYTES - 4096, 8192 }, { 1ULL << 39, 4096 },
		{ (1ULL << 40) - 4096, 4096 }, { (1ULL << 40) - 4096, 8192 },
		{ 0, 1ULL << 40 }, { 0, 1ULL << 45 },
	};
	unsigned int i;
	void *map;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		EXPECT_EQ(remote_mmap(&self->node,
				      self->offset + cases[i].offset,
				      cases[i].bytes, PROT_READ, &map),
			  -EINVAL);
}

TEST_F(map, wrong_offset_is_EINVAL)
{
	struct irq irq = irq_make(&self->owner, 8);
	const __u64 offsets[] = {
		MAP_OFFSET(0), MAP_OFFSET(self->handle + 1),
		MAP_OFFSET((1 << 22) - 1), self->offset | 1ULL << 63,
		MAP_OFFSET(irq_connect(&self->node, &irq)),
		self->offset & ~(1ULL << 62),
	};
	unsigned int i;
	void *map;

	for (i = 0; i < ARRAY_SIZE(offsets); i++)
		EXPECT_EQ(remote_mmap(&self->node, offsets[i], 4096, PROT_READ,
				      &map), -EINVAL);
	ASSERT_EQ(disconnect(&self->node, self->handle), 0);
	EXPECT_EQ(remote_mmap(&self->node, self->offset, 4096, PROT_READ, &map),
		  -EINVAL);
}

TEST_F(map, handle_is_the_contexts_own)
{
	struct node other = node_open(&fabric, 0);
	void *map;

	EXPECT_EQ(remote_mmap(&other, self->offset, 4096, PROT_READ, &map),
		  -EINVAL);
}

TEST_F(map, private_is_EINVAL)
{
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, self->node.fd,
			 self->offset) == MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
}

TEST_F(map, data_are_not_code)
{
	void *map;

	EXPECT_EQ(remote_mmap(&self->node, self->offset, 4096,
			      PROT_READ | PROT_EXEC, &map), -EACCES);
	map = remote_map(&self->node, self->offset, 4096, MAP_RW);
	EXPECT_EQ(mprotect(map, 4096, PROT_READ | PROT_EXEC), -1);
	EXPECT_EQ(errno, EACCES);
}

TEST_F(map, cannot_grow)
{
	__u8 *map = remote_map(&self->node, self->offset, 4096, MAP_RW);

	EXPECT_TRUE(mremap(map, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT_TRUE(mremap(map, 0, 8192, MREMAP_MAYMOVE) == MAP_FAILED);
}

TEST_F(map, moves_and_shrinks)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	__u8 *room = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	__u64 value;

	ASSERT_TRUE(room != MAP_FAILED);
	fill(self->target.data, BYTES, 5);
	ASSERT_EQ(memcmp(map, self->target.data, BYTES), 0);
	ASSERT_TRUE(mremap(map, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
			   room) == room);
	EXPECT_EQ(memcmp(room, self->target.data, BYTES), 0);
	/* A hole in the middle, then each rest for itself */
	ASSERT_EQ(munmap(room + 4096, 4096), 0);
	ASSERT_TRUE(mremap(room + 8192, BYTES - 8192, 4096, 0) != MAP_FAILED);
	room[8192] ^= 1;
	EXPECT_EQ(room[8192], self->target.data[8192]);
	ASSERT_EQ(segment_revoke(&self->target), 0);
	EXPECT_EQ(bus_load(room, &value), SIGBUS);
	EXPECT_EQ(bus_load(room + 8192, &value), SIGBUS);
	EXPECT_EQ(bus_load(room + 4096, &value), SIGSEGV);
}

TEST_F(map, advice_and_locks_do_no_harm)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_WILLNEED, MADV_SEQUENTIAL, MADV_REMOVE,
		MADV_DOFORK, MADV_DODUMP, MADV_HUGEPAGE, MADV_MERGEABLE,
		MADV_FREE, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ,
		MADV_POPULATE_WRITE, MADV_COLLAPSE,
	};
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	unsigned char resident[PAGES];
	unsigned int i;
	__u64 value;

	fill(self->target.data, BYTES, 6);
	for (i = 0; i < ARRAY_SIZE(advices); i++) {
		madvise(map, BYTES, advices[i]);
		EXPECT_EQ(memcmp(map, self->target.data, BYTES), 0);
	}
	mlock(map, BYTES);
	mincore(map, BYTES, resident);
	msync(map, BYTES, MS_SYNC | MS_INVALIDATE);
	munlock(map, BYTES);
	EXPECT_EQ(memcmp(map, self->target.data, BYTES), 0);
	ASSERT_EQ(segment_revoke(&self->target), 0);
	EXPECT_EQ(bus_load(map, &value), SIGBUS);
}

TEST_F(map, is_not_inherited)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	unsigned char resident[PAGES];
	int status;
	pid_t pid;

	map[0] = 1;
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(mincore(map, BYTES, resident) && errno == ENOMEM ? 0 : 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* A program can ask for it; the child's is taken back like the parent's. */
TEST_F(map, is_revoked_in_a_child_too)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	int down[2], up[2], status;
	__u64 value;
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe(down), 0);
	ASSERT_EQ(pipe(up), 0);
	ASSERT_EQ(bus_store(map, 1), 0);
	ASSERT_EQ(madvise(map, BYTES, MADV_DOFORK), 0);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (bus_store(map, 2) || bus_store(map + 4096, 2))
			_exit(1);
		if (write(up[1], "", 1) != 1 || read(down[0], &byte, 1) != 1)
			_exit(2);
		_exit(bus_load(map, &value) == SIGBUS ? 0 : 3);
	}
	ASSERT_EQ(read(up[0], &byte, 1), 1);
	EXPECT_EQ(*(__u64 *)self->target.data, 2);
	ASSERT_EQ(segment_revoke(&self->target), 0);
	ASSERT_EQ(write(down[1], "", 1), 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* Or the owner could not take its memory back */
TEST_F(map, cannot_be_pinned_as_a_segment)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	struct dmanic_segment_create create = {
		.size = sizeof(create), .flags = DMANIC_SEGMENT_USER_MEMORY,
		.length = BYTES, .address = (uintptr_t)map,
	};
	int ret = dmanic_call(self->node.fd, DMANIC_IOC_SEGMENT_CREATE,
			      &create);

	EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT);
}

/* It needs neither the connection nor the descriptor it was made with. */
TEST_F(map, outlives_handle_and_descriptor)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	struct device device;

	ASSERT_EQ(disconnect(&self->node, self->handle), 0);
	node_close(&self->node);
	map[100] = 42;
	EXPECT_EQ(self->target.data[100], 42);
	ASSERT_EQ(device_get(self->node.name, &device), 0);
	EXPECT_EQ(device.contexts, 1);
	ASSERT_EQ(munmap(map, BYTES), 0);
	EXPECT_TRUE(WAIT_FOR(!device_get(self->node.name, &device) &&
			     !device.contexts));
}

/* The memory is the owner's: a mapping does not keep it, or its charge. */
TEST_F(map, holds_no_memory)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	struct device device;

	memset(map, 1, BYTES);
	ASSERT_EQ(device_get(self->owner.name, &device), 0);
	EXPECT_EQ(device.pinned, BYTES);
	if (!variant->user)
		segment_unmap(&self->target);
	ASSERT_EQ(segment_destroy(&self->target), 0);
	ASSERT_EQ(device_get(self->owner.name, &device), 0);
	EXPECT_EQ(device.pinned, 0);
	ASSERT_EQ(munmap(map, BYTES), 0);
}

/* A system call finds it like other memory; what is read or written is I/O. */
TEST_F(map, works_in_system_calls)
{
	__u8 *map = remote_map(&self->node, self->offset, BYTES, MAP_RW);
	int fds[2];

	ASSERT_EQ(pipe(fds), 0);
	ASSERT_EQ(write(fds[1], "dmanic", 7), 7);
	ASSERT_EQ(read(fds[0], map + 4090, 7), 7);
	EXPECT_EQ(memcmp(self->target.data + 4090, "dmanic", 7), 0);
	ASSERT_EQ(write(fds[1], map + 4090, 7), 7);
	ASSERT_EQ(segment_revoke(&self->target), 0);
	EXPECT_EQ(write(fds[1], map + 4090, 7), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(read(fds[0], map, 7), -1);
	EXPECT_EQ(errno, EFAULT);
}

/* ---- rights ---- */

FIXTURE(right) {
	struct node node;
	struct node owner;
	struct segment target;
	__u32 handle;
	__u64 offset;
};

FIXTURE_VARIANT(right) {
	__u32 rights;
	int read;		/* of mmap() to read, and to write */
	int write;
};

FIXTURE_VARIANT_ADD(right, read) { DMANIC_RIGHT_READ, 0, -EACCES };
FIXTURE_VARIANT_ADD(right, write) { DMANIC_RIGHT_WRITE, -EACCES, -EACCES };
FIXTURE_VARIANT_ADD(right, atomic) { DMANIC_RIGHT_ATOMIC, -EACCES, -EACCES };
FIXTURE_VARIANT_ADD(right, read_atomic) {
	DMANIC_RIGHT_READ | DMANIC_RIGHT_ATOMIC, 0, -EACCES,
};
FIXTURE_VARIANT_ADD(right, read_write) {
	DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE, 0, 0,
};

FIXTURE_SETUP(right)
{
	bus_catch();
	self->node = node_open(&fabric, 0);
	self->owner = node_open(&fabric, 1);
	self->target = segment_make(&self->owner, BYTES);
	segment_export(&self->target, variant->rights);
	self->offset = segment_connect_map(&self->node, &self->target,
					   &self->handle);
}

FIXTURE_TEARDOWN(right)
{
}

TEST_F(right, mapping_gives_what_was_granted)
{
	__u64 offset = MAP_OFFSET(self->handle), value;
	void *map;

	EXPECT_EQ(self->offset, variant->read ? 0 : offset);
	EXPECT_EQ(remote_mmap(&self->node, offset, BYTES, PROT_READ, &map),
		  variant->read);
	if (!variant->read) {
		EXPECT_EQ(bus_load(map, &value), 0);
		EXPECT_EQ(bus_store(map, 1), SIGSEGV);
	}
	EXPECT_EQ(remote_mmap(&self->node, offset, BYTES, PROT_WRITE, &map),
		  variant->write);
	EXPECT_EQ(remote_mmap(&self->node, offset, BYTES, MAP_RW, &map),
		  variant->write);
	if (!variant->write)
		EXPECT_EQ(bus_store(map, 1), 0);
	EXPECT_EQ(*(__u64 *)self->target.data, variant->write ? 0 : 1);
}

TEST_F(right, mprotect_gives_no_more)
{
	static const int prots[] = { PROT_NONE, PROT_READ };
	unsigned int i;
	void *map;
	int ret;

	if (variant->read)
		return;
	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		ASSERT_EQ(remote_mmap(&self->node, self->offset, BYTES,
				      prots[i], &map), 0);
		EXPECT_EQ(mprotect(map, BYTES, PROT_READ), 0);
		EXPECT_EQ(*(volatile __u64 *)map, i && !variant->write);
		ret = mprotect(map, BYTES, MAP_RW) ? -errno : 0;
		EXPECT_EQ(ret, variant->write);
		if (ret)
			continue;
		EXPECT_EQ(bus_store(map, 1), 0);
		EXPECT_EQ(*(__u64 *)self->target.data, 1);
	}
}

/* A context that may only read has no mapping that may be written. */
TEST_F(right, descriptor_to_read_maps_nothing_to_write)
{
	struct node reader = self->node;
	__u64 offset;
	void *map;

	reader.fd = node_path_open(self->node.name, O_RDONLY);
	ASSERT_GE(reader.fd, 0);
	segment_connect_map(&reader, &self->target, &self->handle);
	offset = MAP_OFFSET(self->handle);
	EXPECT_EQ(remote_mmap(&reader, offset, BYTES, MAP_RW, &map), -EACCES);
	if (!remote_mmap(&reader, offset, BYTES, PROT_READ, &map))
		EXPECT_EQ(mprotect(map, BYTES, MAP_RW), -1);
}

/* ---- memory that cannot be mapped, and much of it ---- */

/* The rest of the first and last page is the program's own. */
TEST(user, neighbours_of_a_segment_are_not_shown)
{
	struct node node = node_open(&fabric, 0), owner = node_open(&fabric, 1);
	__u8 *data = aligned_alloc(4096, BYTES);
	static const struct {
		size_t first, length;
	} cases[] = { { 8, 4096 }, { 0, 4095 }, { 0, 100 }, { 1, 4095 } };
	struct segment target;
	unsigned int i;
	__u32 handle;
	void *map;

	ASSERT_TRUE(data);
	memset(data, 7, BYTES);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		target = segment_register(&owner, data + cases[i].first,
					  cases[i].length);
		segment_export(&target, ALL);
		EXPECT_EQ(segment_connect_map(&node, &target, &handle), 0);
		EXPECT_EQ(remote_mmap(&node, MAP_OFFSET(handle), 4096,
				      PROT_READ, &map), -EOPNOTSUPP);
		ASSERT_EQ(segment_destroy(&target), 0);
	}
	free(data);
}

TEST(large, every_page_is_the_right_one)
{
	const size_t bytes = (9UL << 20) + 3 * 4096;
	struct node node = node_open(&fabric, 0), owner = node_open(&fabric, 1);
	struct segment target = segment_make(&owner, bytes);
	size_t at, count = 0;
	__u8 *map;

	for (at = 0; at < bytes; at += 4096)
		*(__u64 *)(target.data + at) = at;
	segment_export(&target, ALL);
	map = remote_map(&node, segment_connect_map(&node, &target, NULL),
			 bytes, MAP_RW);
	/* In an order that meets pages mapped already, and some not */
	for (at = 0; count < bytes / 4096; count++) {
		ASSERT_EQ(*(__u64 *)(map + at), at);
		*(__u64 *)(map + at + 8) = ~at;
		at = (at + 1009 * 4096) % bytes;
	}
	for (at = 0; at < bytes; at += 4096)
		ASSERT_EQ(*(__u64 *)(target.data + at + 8), ~at);
}

/* A node may map its own exports, and several contexts the same one. */
TEST(several, mappings_are_one_memory)
{
	struct node owner = node_open(&fabric, 1);
	struct segment target = segment_make(&owner, BYTES);
	__u8 *maps[8];
	unsigned int i;
	__u64 value;

	bus_catch();
	segment_export(&target, ALL);
	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		struct node node = node_open(&fabric, i % FABRIC_NODES);

		maps[i] = remote_map(&node, segment_connect_map(&node, &target,
								NULL),
				     BYTES, MAP_RW);
		maps[i][i] = i + 1;
	}
	for (i = 0; i < ARRAY_SIZE(maps); i++)
		EXPECT_EQ(memcmp(maps[i], "\1\2\3\4\5\6\7\10", 8), 0);
	ASSERT_EQ(segment_revoke(&target), 0);
	for (i = 0; i < ARRAY_SIZE(maps); i++)
		EXPECT_EQ(bus_load(maps[i], &value), SIGBUS);
}

/* Disk I/O straight into the memory of another node, if it is the driver's */
TEST(disk, direct_io_into_a_mapping)
{
	struct node node = node_open(&fabric, 0), owner = node_open(&fabric, 1);
	struct segment target = segment_make(&owner, BYTES);
	__u8 *expected = aligned_alloc(4096, BYTES), *map;
	int disk;

	if (access("/dev/ram0", F_OK) &&
	    (system("modprobe -q brd rd_nr=1 rd_size=65536") ||
	     access("/dev/ram0", F_OK)))
		SKIP("no /dev/ram0: this kernel has no brd");
	disk = open("/dev/ram0", O_RDWR | O_DIRECT | O_EXCL | O_CLOEXEC);
	if (disk < 0)
		SKIP("cannot have /dev/ram0 for O_DIRECT: %s", strerror(errno));
	ASSERT_TRUE(expected);
	segment_export(&target, ALL);
	map = remote_map(&node, segment_connect_map(&node, &target, NULL),
			 BYTES, MAP_RW);
	fill(expected, BYTES, 8);
	ASSERT_EQ(pwrite(disk, expected, BYTES, 0), BYTES);
	ASSERT_EQ(pread(disk, map, BYTES, 0), BYTES);
	EXPECT_EQ(memcmp(target.data, expected, BYTES), 0);
	fill(target.data, BYTES, 9);
	ASSERT_EQ(pwrite(disk, map, BYTES, 0), BYTES);
	ASSERT_EQ(pread(disk, expected, BYTES, 0), BYTES);
	EXPECT_EQ(memcmp(target.data, expected, BYTES), 0);
	free(expected);
}

FABRIC_TEST_MAIN()
