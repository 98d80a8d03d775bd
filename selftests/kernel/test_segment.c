// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_segment.c - segments of driver memory and their mappings
 *
 * Owns: sizes, zeroing, who may map what and for how long. User memory, limits
 * and exports have programs of their own.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB	(1UL << 20)

FIXTURE(segment) {
	struct node node;
	struct node again;	/* another context of the same device */
	struct node other;	/* another device */
};

FIXTURE_SETUP(segment)
{
	self->node = node_open(&fabric, 0);
	self->again = node_open(&fabric, 0);
	self->other = node_open(&fabric, 1);
}

FIXTURE_TEARDOWN(segment)
{
}

static void *map(int fd, size_t length, __u64 offset)
{
	return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    offset);
}

static int create_with(int fd, __u32 flags, __u64 length, __u64 address,
		       struct dmanic_refusal *refusal)
{
	struct dmanic_segment_create create = {
		.size = sizeof(create), .flags = flags, .length = length,
		.address = address,
	};
	int ret = dmanic_call(fd, DMANIC_IOC_SEGMENT_CREATE, &create);

	if (refusal)
		*refusal = create.refusal;
	return ret;
}

TEST_F(segment, sizes_are_zeroed_and_hold_data)
{
	static const size_t sizes[] = {
		1, 7, 4095, 4096, 4097, 65536, 65537, MIB + 1, 4 * MIB,
		4 * MIB + 1, 9 * MIB + 4097,
	};
	struct segment segment;
	unsigned int i;
	__u8 *copy;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		segment = segment_make(&self->node, sizes[i]);
		EXPECT_TRUE(all_bytes(segment.data, segment.map_bytes, 0));
		copy = malloc(segment.map_bytes);
		ASSERT_TRUE(copy);
		fill(copy, segment.map_bytes, i);
		memcpy(segment.data, copy, segment.map_bytes);
		EXPECT_EQ(memcmp(segment.data, copy, segment.map_bytes), 0);
		free(copy);
		segment_unmap(&segment);
		EXPECT_EQ(segment_destroy(&segment), 0);
	}
}

/* Memory that was used before comes back without its old content. */
TEST_F(segment, memory_is_zeroed_again)
{
	struct segment segment;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		free_memory_dirty(&self->node);
		segment = segment_make(&self->node, i % 2 ? 2 * MIB : page_bytes());
		ASSERT_TRUE(all_bytes(segment.data, segment.map_bytes, 0));
		memset(segment.data, 0xaa, segment.map_bytes);
		segment_unmap(&segment);
		ASSERT_EQ(segment_destroy(&segment), 0);
	}
}

TEST_F(segment, block_order_is_a_block)
{
	struct segment segment;

	ASSERT_EQ(segment_create(&self->node, 1, &segment), 0);
	EXPECT_EQ(segment.block_order, 0);
	ASSERT_EQ(segment_create(&self->node, 8 * MIB, &segment), 0);
	EXPECT_LE(page_bytes() << segment.block_order, 4 * MIB);
}

TEST_F(segment, zero_length_is_EINVAL)
{
	EXPECT_EQ(create_with(self->node.fd, 0, 0, 0, NULL), -EINVAL);
	EXPECT_EQ(create_with(self->node.fd, DMANIC_SEGMENT_USER_MEMORY, 0,
			      4096, NULL), -EINVAL);
}

TEST_F(segment, address_without_user_memory_is_EOPNOTSUPP)
{
	__u8 data[64];

	EXPECT_EQ(create_with(self->node.fd, 0, sizeof(data),
			      (uintptr_t)data, NULL), -EOPNOTSUPP);
}

TEST_F(segment, too_large_is_EDQUOT_and_tells_the_limit)
{
	struct dmanic_refusal refusal;
	struct dmanic_query query;

	node_query(&self->node, &query);
	ASSERT_EQ(create_with(self->node.fd, 0, query.max_segment_bytes + 1, 0,
			      &refusal), -EDQUOT);
	EXPECT_EQ(refusal.limit, DMANIC_LIMIT_SEGMENT_SIZE);
	EXPECT_EQ(refusal.asked, query.max_segment_bytes + 1);
	EXPECT_EQ(refusal.allowed, query.max_segment_bytes);
	EXPECT_EQ(refusal.reserved, 0);
	EXPECT_EQ(create_with(self->node.fd, 0, ~0ULL, 0, &refusal), -EDQUOT);
	EXPECT_EQ(refusal.limit, DMANIC_LIMIT_SEGMENT_SIZE);
}

/* More than the machine has is refused, and does not wake the OOM killer. */
TEST_F(segment, more_than_memory_is_ENOMEM)
{
	__u64 memory = (__u64)sysconf(_SC_PHYS_PAGES) * page_bytes();
	struct dmanic_refusal refusal;
	struct dmanic_query query;

	node_query(&self->node, &query);
	if (memory * 2 > query.max_segment_bytes)
		SKIP("the machine is larger than a segment can be");
	ASSERT_EQ(create_with(self->node.fd, 0, memory * 2, 0, &refusal),
		  -ENOMEM);
	EXPECT_EQ(refusal.limit, DMANIC_LIMIT_MEMORY);
	EXPECT_EQ(refusal.asked, memory * 2);
	EXPECT_GT(refusal.allowed, 0);
	EXPECT_LE(refusal.allowed, memory);
	ASSERT_EQ(create_with(self->node.fd, 0, query.max_segment_bytes, 0,
			      &refusal), -ENOMEM);
}

TEST_F(segment, ids_are_unique_on_the_node)
{
	struct segment segments[64];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(segments); i++) {
		ASSERT_EQ(segment_create(i & 1 ? &self->node : &self->again, 1,
					 &segments[i]), 0);
		for (k = 0; k < i; k++)
			ASSERT_NE(segments[i].id, segments[k].id);
	}
}

TEST_F(segment, unknown_id_is_ENOENT)
{
	static const __u32 ids[] = { 0, 1, 0x7fffffff, 0x80000000, ~0U };
	struct segment segment, wrong;
	unsigned int i;

	ASSERT_EQ(segment_create(&self->node, 1, &segment), 0);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		if (ids[i] == segment.id)
			continue;
		wrong = segment;
		wrong.id = ids[i];
		EXPECT_EQ(segment_destroy(&wrong), -ENOENT);
		EXPECT_EQ(segment_revoke(&wrong), -ENOENT);
	}
	EXPECT_EQ(segment_destroy(&segment), 0);
	EXPECT_EQ(segment_destroy(&segment), -ENOENT);
}

TEST_F(segment, other_context_cannot_destroy)
{
	struct segment segment, stolen;

	ASSERT_EQ(segment_create(&self->node, 1, &segment), 0);
	stolen = segment;
	stolen.fd = self->again.fd;
	EXPECT_EQ(segment_destroy(&stolen), -ENOENT);
	EXPECT_EQ(segment_revoke(&stolen), -ENOENT);
	EXPECT_EQ(segment_destroy(&segment), 0);
}

TEST_F(segment, private_mapping_is_refused)
{
	struct segment segment;

	ASSERT_EQ(segment_create(&self->node, 4096, &segment), 0);
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			 self->node.fd, segment.mmap_offset) == MAP_FAILED);
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, self->node.fd,
			 segment.mmap_offset) == MAP_FAILED);
}

TEST_F(segment, mapping_beyond_the_end_is_refused)
{
	size_t page = page_bytes();
	struct segment segment;

	ASSERT_EQ(segment_create(&self->node, 2 * page + 1, &segment), 0);
	EXPECT_TRUE(map(self->node.fd, 4 * page, segment.mmap_offset) ==
		    MAP_FAILED);
	EXPECT_TRUE(map(self->node.fd, 1UL << 30, segment.mmap_offset) ==
		    MAP_FAILED);
	EXPECT_TRUE(map(self->node.fd, page, segment.mmap_offset + 3 * page) ==
		    MAP_FAILED);
	EXPECT_TRUE(map(self->node.fd, 3 * page, segment.mmap_offset + page) ==
		    MAP_FAILED);
	EXPECT_TRUE(map(self->node.fd, 3 * page, segment.mmap_offset) !=
		    MAP_FAILED);
}

TEST_F(segment, wrong_offset_is_refused)
{
	__u64 page = page_bytes(), state = 4711, offset;
	struct segment segment;
	unsigned int i;

	ASSERT_EQ(segment_create(&self->node, page, &segment), 0);
	for (i = 0; i < 1000; i++) {
		offset = random_next(&state) >> (1 + i % 40);
		offset &= ~(page - 1);
		if (offset == segment.mmap_offset)
			continue;
		EXPECT_TRUE(map(self->node.fd, page, offset) == MAP_FAILED);
	}
	EXPECT_TRUE(map(self->node.fd, page, 1ULL << 63) == MAP_FAILED);
	EXPECT_TRUE(map(self->node.fd, page, ~(page - 1)) == MAP_FAILED);
}

/* What a part of a mapping shows is that part of the segment. */
TEST_F(segment, partial_mapping_shows_the_right_page)
{
	size_t page = page_bytes();
	struct segment segment;
	__u8 *part;

	segment = segment_make(&self->node, 4 * page);
	fill(segment.data, segment.map_bytes, 1);
	part = map(self->node.fd, page, segment.mmap_offset);
	if (part != MAP_FAILED)
		EXPECT_EQ(memcmp(part, segment.data, page), 0);
	part = map(self->node.fd, page, segment.mmap_offset + 2 * page);
	if (part != MAP_FAILED)
		EXPECT_EQ(memcmp(part, segment.data + 2 * page, page), 0);
}

TEST_F(segment, other_contexts_cannot_map_it)
{
	struct segment segment;

	ASSERT_EQ(segment_create(&self->node, 4096, &segment), 0);
	EXPECT_TRUE(map(self->again.fd, 4096, segment.mmap_offset) ==
		    MAP_FAILED);
	EXPECT_TRUE(map(self->other.fd, 4096, segment.mmap_offset) ==
		    MAP_FAILED);
}

TEST_F(segment, destroyed_segment_cannot_be_mapped)
{
	struct segment segment;

	ASSERT_EQ(segment_create(&self->node, 4096, &segment), 0);
	ASSERT_EQ(segment_destroy(&segment), 0);
	EXPECT_TRUE(map(self->node.fd, 4096, segment.mmap_offset) ==
		    MAP_FAILED);
}

TEST_F(segment, mapping_cannot_grow)
{
	size_t page = page_bytes();
	struct segment segment;

	segment = segment_make(&self->node, 2 * page);
	EXPECT_TRUE(mremap(segment.data, 2 * page, 4 * page, MREMAP_MAYMOVE) ==
		    MAP_FAILED);
	EXPECT_TRUE(mremap(segment.data, page, 2 * page, MREMAP_MAYMOVE) ==
		    MAP_FAILED);
	segment.data[2 * page - 1] = 1;
}

TEST_F(segment, mapping_can_move_and_be_cut)
{
	size_t page = page_bytes();
	struct segment segment;
	__u8 *copy, *moved, *place;

	segment = segment_make(&self->node, 4 * page);
	copy = malloc(4 * page);
	place = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_TRUE(copy && place != MAP_FAILED);
	fill(segment.data, 4 * page, 3);
	memcpy(copy, segment.data, 4 * page);
	ASSERT_EQ(munmap(segment.data + page, page), 0);
	EXPECT_EQ(memcmp(segment.data, copy, page), 0);
	EXPECT_EQ(memcmp(segment.data + 2 * page, copy + 2 * page, 2 * page),
		  0);
	moved = mremap(segment.data + 2 * page, 2 * page, 2 * page,
		       MREMAP_MAYMOVE | MREMAP_FIXED, place);
	ASSERT_TRUE(moved == place);
	EXPECT_EQ(memcmp(moved, copy + 2 * page, 2 * page), 0);
	free(copy);
}

TEST_F(segment, mapping_survives_destroy)
{
	struct segment segment;
	__u8 *copy;

	segment = segment_make(&self->node, 4 * MIB + 1);
	copy = malloc(segment.map_bytes);
	ASSERT_TRUE(copy);
	fill(segment.data, segment.map_bytes, 5);
	memcpy(copy, segment.data, segment.map_bytes);
	ASSERT_EQ(segment_destroy(&segment), 0);
	EXPECT_EQ(memcmp(segment.data, copy, segment.map_bytes), 0);
	fill(segment.data, segment.map_bytes, 6);
	fill(copy, segment.map_bytes, 6);
	EXPECT_EQ(memcmp(segment.data, copy, segment.map_bytes), 0);
	free(copy);
}

TEST_F(segment, mapping_survives_close)
{
	struct segment segment;
	struct device device;

	segment = segment_make(&self->again, MIB);
	memset(segment.data, 0x5a, MIB);
	node_close(&self->again);
	EXPECT_TRUE(all_bytes(segment.data, MIB, 0x5a));
	memset(segment.data, 0xa5, MIB);
	EXPECT_TRUE(all_bytes(segment.data, MIB, 0xa5));
	segment_unmap(&segment);
	EXPECT_TRUE(WAIT_FOR(!device_get(self->node.name, &device) &&
			     device.contexts == 1 && !device.segments &&
			     !device.pinned));
}

TEST_F(segment, two_mappings_show_the_same)
{
	struct segment segment;
	__u8 *view;

	segment = segment_make(&self->node, 4096);
	segment.data[9] = 9;
	view = mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->node.fd,
		    segment.mmap_offset);
	ASSERT_TRUE(view != MAP_FAILED);
	EXPECT_EQ(view[9], 9);
	segment.data[9] = 10;
	EXPECT_EQ(view[9], 10);
}

TEST_F(segment, counts_follow)
{
	struct device before, device;
	struct segment segment;

	ASSERT_EQ(device_get(self->node.name, &before), 0);
	EXPECT_EQ(before.contexts, 2);
	EXPECT_EQ(before.segments, 0);
	EXPECT_EQ(before.pinned, 0);
	segment = segment_make(&self->node, MIB + 1);
	ASSERT_EQ(device_get(self->node.name, &device), 0);
	EXPECT_EQ(device.segments, 1);
	EXPECT_GE(device.pinned, MIB + 1);
	EXPECT_LE(device.pinned, 2 * MIB);
	ASSERT_EQ(segment_destroy(&segment), 0);
	ASSERT_EQ(device_get(self->node.name, &device), 0);
	EXPECT_EQ(device.segments, 0);
	EXPECT_GE(device.pinned, MIB + 1);
	segment_unmap(&segment);
	EXPECT_TRUE(WAIT_FOR(!device_get(self->node.name, &device) &&
			     !device.pinned));
}

FABRIC_TEST_MAIN()
