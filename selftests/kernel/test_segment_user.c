// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_segment_user.c - segments made of the program's own memory
 *
 * Owns: which memory is taken and which is refused, and that what is taken
 * really is that memory: every accepted kind is written to by another node.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	(256UL * 1024)

FIXTURE(user) {
	struct node node;
	struct node peer;
	struct segment source;
	struct queue queue;	/* of the peer */
};

FIXTURE_SETUP(user)
{
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->source = segment_make(&self->peer, BYTES);
	fill(self->source.data, BYTES, 99);
	self->queue = queue_make(&self->peer, 4, 4);
}

FIXTURE_TEARDOWN(user)
{
}

static int register_at(struct user_self *self, const void *data, __u64 length,
		       __u32 *id)
{
	struct dmanic_segment_create create = {
		.size = sizeof(create), .flags = DMANIC_SEGMENT_USER_MEMORY,
		.length = length, .address = (uintptr_t)data,
	};
	int ret = dmanic_call(self->node.fd, DMANIC_IOC_SEGMENT_CREATE,
			      &create);

	if (id)
		*id = create.id;
	return ret;
}

/* Refused, and nothing stays pinned */
static void expect_refused(struct user_self *self, const void *data,
			   __u64 length, int error)
{
	struct device device;

	EXPECT_EQ(register_at(self, data, length, NULL), error);
	EXPECT_TRUE(WAIT_FOR(!device_get(self->node.name, &device) &&
			     !device.segments && !device.pinned));
}

/* What the peer writes to the segment is what @data then holds. */
static void expect_written(struct user_self *self, __u8 *data, size_t length)
{
	struct segment segment = segment_register(&self->node, data, length);
	struct dmanic_sqe sqe;
	__u32 handle;

	segment_export(&segment, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	handle = segment_connect(&self->peer, &segment);
	sqe = sqe_move(DMANIC_OP_WRITE, self->source.id, 0, handle, 0, length);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(data, self->source.data, length), 0);
	EXPECT_EQ(segment_destroy(&segment), 0);
}

static __u8 *anonymous(size_t length, int flags)
{
	__u8 *data = mmap(NULL, length, PROT_READ | PROT_WRITE,
			  MAP_ANONYMOUS | flags, -1, 0);

	ASSERT_TRUE(data != MAP_FAILED);
	return data;
}

TEST_F(user, anonymous_is_written)
{
	expect_written(self, anonymous(BYTES, MAP_PRIVATE), BYTES);
}

TEST_F(user, shared_anonymous_is_written)
{
	expect_written(self, anonymous(BYTES, MAP_SHARED), BYTES);
}

TEST_F(user, heap_and_stack_are_written)
{
	__u8 *heap = malloc(3 * BYTES / 4);
	__u8 stack[10000];

	ASSERT_TRUE(heap);
	expect_written(self, heap, 3 * BYTES / 4);
	expect_written(self, stack, sizeof(stack));
	free(heap);
}

TEST_F(user, unaligned_is_written_and_nothing_else)
{
	static const size_t firsts[] = { 1, 7, 63, 4095 };
	static const size_t lengths[] = { 1, 3, 4096, 4097, 65537 };
	__u8 *data = anonymous(BYTES, MAP_PRIVATE);
	unsigned int i, k;
	size_t at;

	for (i = 0; i < ARRAY_SIZE(firsts); i++)
	for (k = 0; k < ARRAY_SIZE(lengths); k++) {
		memset(data, 0x77, BYTES);
		expect_written(self, data + firsts[i], lengths[k]);
		for (at = 0; at < firsts[i]; at++)
			ASSERT_EQ(data[at], 0x77);
		for (at = firsts[i] + lengths[k]; at < BYTES; at++)
			ASSERT_EQ(data[at], 0x77);
	}
}

TEST_F(user, memfd_is_written)
{
	int fd = memfd_create("dmanic", MFD_CLOEXEC);
	__u8 *data, *other;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(ftruncate(fd, BYTES), 0);
	data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_TRUE(data != MAP_FAILED && other != MAP_FAILED);
	expect_written(self, data, BYTES);
	EXPECT_EQ(memcmp(other, self->source.data, BYTES), 0);
}

TEST_F(user, hugetlb_is_written)
{
	size_t huge = 2UL << 20;
	__u8 *data = mmap(NULL, huge, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	FILE *file;

	if (data == MAP_FAILED) {
		file = fopen("/proc/sys/vm/nr_hugepages", "we");
		if (!file)
			SKIP("no hugetlb in this kernel");
		fputs("2\n", file);
		fclose(file);
		data = mmap(NULL, huge, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	}
	if (data == MAP_FAILED)
		SKIP("no huge page to be had");
	expect_written(self, data + 4096, BYTES);
	expect_written(self, data + huge - BYTES, BYTES);
}

TEST_F(user, transparent_huge_page_is_written)
{
	size_t huge = 2UL << 20;
	__u8 *data = anonymous(2 * huge, MAP_PRIVATE);

	data = (__u8 *)(((uintptr_t)data + huge - 1) & ~(huge - 1));
	if (madvise(data, huge, MADV_HUGEPAGE))
		SKIP("no transparent huge pages in this kernel");
	memset(data, 1, huge);
	expect_written(self, data + 12345, BYTES);
}

/* Both contexts pin the same pages; the last one to let go frees them. */
TEST_F(user, same_memory_twice)
{
	__u8 *data = anonymous(BYTES, MAP_PRIVATE);
	struct segment first = segment_register(&self->node, data, BYTES);

	expect_written(self, data + 1, BYTES - 1);
	EXPECT_EQ(segment_destroy(&first), 0);
	expect_written(self, data, BYTES);
}

/* A fork while pages are pinned must not take them away from the parent. */
TEST_F(user, fork_leaves_the_pages_with_the_parent)
{
	__u8 *data = anonymous(BYTES, MAP_PRIVATE);
	struct segment segment = segment_register(&self->node, data, BYTES);
	struct dmanic_sqe sqe;
	__u32 handle;
	pid_t child;

	memset(data, 1, BYTES);
	segment_export(&segment, DMANIC_RIGHT_WRITE);
	handle = segment_connect(&self->peer, &segment);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		pause();
		_exit(0);
	}
	memset(data, 2, BYTES);
	sqe = sqe_move(DMANIC_OP_WRITE, self->source.id, 0, handle, 0, BYTES);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(data, self->source.data, BYTES), 0);
	kill(child, SIGKILL);
	ASSERT_EQ(waitpid(child, NULL, 0), child);
}

/* Pinned pages stay although the program has unmapped them. */
TEST_F(user, unmapped_memory_stays_pinned)
{
	__u8 *data = anonymous(BYTES, MAP_PRIVATE);
	struct segment back = segment_make(&self->peer, BYTES);
	struct segment segment = segment_register(&self->node, data, BYTES);
	struct dmanic_sqe sqe;
	__u32 handle;

	segment_export(&segment, DMANIC_RIGHT_WRITE | DMANIC_RIGHT_READ);
	handle = segment_connect(&self->peer, &segment);
	ASSERT_EQ(munmap(data, BYTES), 0);
	sqe = sqe_move(DMANIC_OP_WRITE, self->source.id, 0, handle, 0, BYTES);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	sqe = sqe_move(DMANIC_OP_READ, back.id, 0, handle, 0, BYTES);
	EXPECT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(back.data, self->source.data, BYTES), 0);
}

TEST_F(user, unmapped_address_is_EFAULT)
{
	size_t page = page_bytes();
	__u8 *data = anonymous(4 * page, MAP_PRIVATE);

	ASSERT_EQ(munmap(data + 2 * page, page), 0);
	expect_refused(self, data + 2 * page, 1, -EFAULT);
	expect_refused(self, data, 4 * page, -EFAULT);
	expect_refused(self, data + page, page + 1, -EFAULT);
	expect_refused(self, NULL, page, -EFAULT);
	expect_refused(self, (void *)~(page - 1), page, -EFAULT);
	expect_refused(self, (void *)~0UL, 1, -EFAULT);
	expect_refused(self, (void *)(1UL << 63), page, -EFAULT);
	expect_refused(self, (void *)(1UL << 47), page, -EFAULT);
}

TEST_F(user, wrapping_range_is_refused)
{
	__u8 *data = anonymous(4096, MAP_PRIVATE);
	int ret;

	ret = register_at(self, data, ~0ULL, NULL);
	EXPECT_TRUE(ret == -EFAULT || ret == -EDQUOT);
	ret = register_at(self, data, -(__u64)(uintptr_t)data, NULL);
	EXPECT_TRUE(ret == -EFAULT || ret == -EDQUOT);
	ret = register_at(self, data, 1ULL << 63, NULL);
	EXPECT_TRUE(ret == -EFAULT || ret == -EDQUOT);
}

TEST_F(user, memory_not_writable_is_EFAULT)
{
	size_t page = page_bytes();
	__u8 *data = anonymous(4 * page, MAP_PRIVATE);

	memset(data, 1, 4 * page);
	ASSERT_EQ(mprotect(data + page, page, PROT_READ), 0);
	expect_refused(self, data, 4 * page, -EFAULT);
	expect_refused(self, data + page, 1, -EFAULT);
	ASSERT_EQ(mprotect(data + page, page, PROT_NONE), 0);
	expect_refused(self, data + page, 1, -EFAULT);
	expect_written(self, data + 2 * page, page);
}

/* Memory of a file that is written back some time: other rules than DMA's */
TEST_F(user, file_mapping_is_refused)
{
	char directory[] = "/tmp/dmanic.XXXXXX", path[64];
	__u8 *data;
	int fd;

	ASSERT_EQ(unshare(CLONE_NEWNS), 0);
	ASSERT_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ASSERT_TRUE(mkdtemp(directory));
	ASSERT_EQ(mount("ramfs", directory, "ramfs", 0, NULL), 0);
	snprintf(path, sizeof(path), "%s/file", directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(ftruncate(fd, BYTES), 0);
	data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(data != MAP_FAILED);
	memset(data, 1, BYTES);
	expect_refused(self, data, BYTES, -EINVAL);
	umount2(directory, MNT_DETACH);
	rmdir(directory);
}

/* The good half does not help. */
TEST_F(user, half_a_file_mapping_is_refused)
{
	size_t page = page_bytes();
	__u8 *data = anonymous(4 * page, MAP_PRIVATE);
	__u8 *half;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ASSERT_GE(fd, 0);
	half = mmap(data + 2 * page, 2 * page, PROT_READ,
		    MAP_SHARED | MAP_FIXED, fd, 0);
	ASSERT_TRUE(half == data + 2 * page);
	EXPECT_LT(register_at(self, data, 4 * page, NULL), 0);
	EXPECT_EQ(register_at(self, data, 2 * page, NULL), 0);
}

TEST_F(user, driver_mapping_is_refused)
{
	int ret;

	ret = register_at(self, self->source.data, BYTES, NULL);
	EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT);
	ret = register_at(self, self->queue.ring, self->queue.map_bytes, NULL);
	EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT);
	ret = register_at(self, (__u8 *)self->source.data + 5, 1, NULL);
	EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT);
}

TEST_F(user, user_memory_cannot_be_mapped)
{
	struct dmanic_segment_create create = {
		.size = sizeof(create), .flags = DMANIC_SEGMENT_USER_MEMORY,
		.length = BYTES,
		.address = (uintptr_t)anonymous(BYTES, MAP_PRIVATE),
	};

	ASSERT_EQ(dmanic_call(self->node.fd, DMANIC_IOC_SEGMENT_CREATE,
			      &create), 0);
	EXPECT_EQ(create.mmap_offset, 0);
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->node.fd, 0) ==
		    MAP_FAILED);
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->node.fd,
			 (off_t)create.id << 40) == MAP_FAILED);
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->node.fd,
			 (off_t)create.id << 12) == MAP_FAILED);
}

FABRIC_TEST_MAIN()
