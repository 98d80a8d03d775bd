// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_file_io.c - disk I/O straight into and out of segments
 *
 * Flags: -luring
 *
 * Owns: that a mapped segment is memory like any other for O_DIRECT and
 * io_uring, with no copy in between, and that a put of what came from disk
 * arrives. The disk is /dev/ram0 (module brd), opened exclusively.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB	(1UL << 20)
#define MOST	(6 * MIB)	/* more than one block */
#define LEAST	(MIB)

FIXTURE(file_io) {
	struct node node;
	struct node peer;
	struct segment segment;
	struct segment target;
	struct queue queue;
	__u32 handle;
	__u8 *expected;
	size_t bytes;		/* as many as the disk has twice */
	int disk;
};

FIXTURE_SETUP(file_io)
{
	if (access("/dev/ram0", F_OK) &&
	    (system("modprobe -q brd rd_nr=1 rd_size=65536") ||
	     access("/dev/ram0", F_OK)))
		SKIP("no /dev/ram0: this kernel has no brd");
	self->disk = open("/dev/ram0", O_RDWR | O_DIRECT | O_EXCL | O_CLOEXEC);
	if (self->disk < 0)
		SKIP("cannot have /dev/ram0 for O_DIRECT: %s",
		     strerror(errno));
	self->bytes = lseek(self->disk, 0, SEEK_END) / 2 & ~(MIB - 1);
	if (self->bytes < LEAST)
		SKIP("/dev/ram0 is too small");
	if (self->bytes > MOST)
		self->bytes = MOST;
	self->node = node_open(&fabric, 0);
	self->peer = node_open(&fabric, 1);
	self->segment = segment_make(&self->node, self->bytes);
	self->target = segment_make(&self->peer, self->bytes);
	segment_export(&self->target, DMANIC_RIGHT_WRITE);
	self->handle = segment_connect(&self->node, &self->target);
	self->queue = queue_make(&self->node, 4, 4);
	self->expected = aligned_alloc(4096, self->bytes);
	ASSERT_TRUE(self->expected);
	fill(self->expected, self->bytes, 2024);
}

FIXTURE_TEARDOWN(file_io)
{
}

static void put_and_compare(struct file_io_self *self, size_t length)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->segment.id, 0,
					 self->handle, 0, length);

	ASSERT_EQ(memcmp(self->segment.data, self->expected, length), 0);
	ASSERT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	ASSERT_EQ(memcmp(self->target.data, self->expected, length), 0);
	memset(self->target.data, 0, length);
}

TEST_F(file_io, direct_read_into_a_segment)
{
	const size_t bytes = self->bytes;
	const size_t lengths[] = { 4096, 65536, MIB, bytes };
	unsigned int i;

	ASSERT_EQ(pwrite(self->disk, self->expected, bytes, 0), bytes);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(self->segment.data, 0, bytes);
		ASSERT_EQ(pread(self->disk, self->segment.data, lengths[i], 0),
			  lengths[i]);
		put_and_compare(self, lengths[i]);
	}
}

TEST_F(file_io, direct_write_from_a_segment)
{
	const size_t bytes = self->bytes;
	__u8 *back = aligned_alloc(4096, bytes);

	ASSERT_TRUE(back);
	memcpy(self->segment.data, self->expected, bytes);
	ASSERT_EQ(pwrite(self->disk, self->segment.data, bytes, bytes), bytes);
	ASSERT_EQ(pread(self->disk, back, bytes, bytes), bytes);
	EXPECT_EQ(memcmp(back, self->expected, bytes), 0);
	free(back);
}

/* What the other node wrote here goes to disk. */
TEST_F(file_io, direct_write_of_what_a_peer_put)
{
	const size_t bytes = self->bytes;
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, self->segment.id, 0,
					 self->handle, 0, bytes);
	__u8 *back = aligned_alloc(4096, bytes);

	ASSERT_TRUE(back);
	memcpy(self->segment.data, self->expected, bytes);
	ASSERT_EQ(queue_run(&self->queue, &sqe).status, DMANIC_STATUS_OK);
	ASSERT_EQ(pwrite(self->disk, self->target.data, bytes, 0), bytes);
	ASSERT_EQ(pread(self->disk, back, bytes, 0), bytes);
	EXPECT_EQ(memcmp(back, self->expected, bytes), 0);
	free(back);
}

static void ring_setup(struct io_uring *ring)
{
	int ret = io_uring_queue_init(16, ring, 0);

	if (ret)
		SKIP("no io_uring in this kernel: %s", strerror(-ret));
}

static void ring_wait(struct io_uring *ring, unsigned int count, int result)
{
	struct io_uring_cqe *cqe;

	while (count--) {
		ASSERT_EQ(io_uring_wait_cqe(ring, &cqe), 0);
		EXPECT_EQ(cqe->res, result);
		io_uring_cqe_seen(ring, cqe);
	}
}

TEST_F(file_io, io_uring_read_into_a_segment)
{
	const size_t bytes = self->bytes;
	const unsigned int pieces = 8, piece = bytes / pieces;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	unsigned int i;

	ring_setup(&ring);
	ASSERT_EQ(pwrite(self->disk, self->expected, bytes, 0), bytes);
	for (i = 0; i < pieces; i++) {
		sqe = io_uring_get_sqe(&ring);
		ASSERT_TRUE(sqe);
		io_uring_prep_read(sqe, self->disk,
				   self->segment.data + i * piece, piece,
				   i * piece);
	}
	ASSERT_EQ(io_uring_submit(&ring), pieces);
	ring_wait(&ring, pieces, piece);
	put_and_compare(self, bytes);
	io_uring_queue_exit(&ring);
}

TEST_F(file_io, io_uring_write_from_a_segment)
{
	const size_t bytes = self->bytes;
	__u8 *back = aligned_alloc(4096, bytes);
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	ASSERT_TRUE(back);
	ring_setup(&ring);
	memcpy(self->segment.data, self->expected, bytes);
	sqe = io_uring_get_sqe(&ring);
	ASSERT_TRUE(sqe);
	io_uring_prep_write(sqe, self->disk, self->segment.data, bytes, 0);
	ASSERT_EQ(io_uring_submit(&ring), 1);
	ring_wait(&ring, 1, bytes);
	ASSERT_EQ(pread(self->disk, back, bytes, 0), bytes);
	EXPECT_EQ(memcmp(back, self->expected, bytes), 0);
	free(back);
	io_uring_queue_exit(&ring);
}

/* Registered once, as a program with many reads would; 6.1 cannot. */
TEST_F(file_io, io_uring_fixed_buffer)
{
	const size_t bytes = self->bytes;
	struct iovec iovec = { self->segment.data, bytes };
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	int ret;

	ring_setup(&ring);
	ret = io_uring_register_buffers(&ring, &iovec, 1);
	if (ret == -EOPNOTSUPP)
		SKIP("this kernel takes no fixed buffer that has a file");
	ASSERT_EQ(ret, 0);
	ASSERT_EQ(pwrite(self->disk, self->expected, bytes, 0), bytes);
	sqe = io_uring_get_sqe(&ring);
	ASSERT_TRUE(sqe);
	io_uring_prep_read_fixed(sqe, self->disk, self->segment.data, bytes, 0,
				 0);
	ASSERT_EQ(io_uring_submit(&ring), 1);
	ring_wait(&ring, 1, bytes);
	put_and_compare(self, bytes);
	io_uring_queue_exit(&ring);
}

/* One wait for disk and DMA: the queue's descriptor in the same io_uring */
TEST_F(file_io, io_uring_polls_a_queue)
{
	const size_t bytes = self->bytes;
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	ring_setup(&ring);
	memcpy(self->segment.data, self->expected, bytes);
	sqe = io_uring_get_sqe(&ring);
	ASSERT_TRUE(sqe);
	io_uring_prep_poll_add(sqe, self->queue.fd, POLLIN);
	ASSERT_EQ(io_uring_submit(&ring), 1);
	*queue_sqe(&self->queue) = sqe_move(DMANIC_OP_WRITE, self->segment.id,
					    0, self->handle, 0, bytes);
	queue_submit(&self->queue);
	ring_wait(&ring, 1, POLLIN);
	EXPECT_EQ(queue_wait(&self->queue).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(self->target.data, self->expected, bytes), 0);
	io_uring_queue_exit(&ring);
}

/* Pages that I/O holds outlive the segment and its mapping. */
TEST_F(file_io, segment_destroyed_during_io)
{
	const size_t bytes = self->bytes;
	struct io_uring_sqe *sqe;
	struct segment segment;
	struct io_uring ring;
	unsigned int i;

	ring_setup(&ring);
	for (i = 0; i < 20; i++) {
		segment = segment_make(&self->node, bytes);
		sqe = io_uring_get_sqe(&ring);
		ASSERT_TRUE(sqe);
		io_uring_prep_read(sqe, self->disk, segment.data, bytes, 0);
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
		ASSERT_EQ(io_uring_submit(&ring), 1);
		ASSERT_EQ(segment_destroy(&segment), 0);
		/* Only the mapping may still be needed to begin. */
		ring_wait(&ring, 1, bytes);
		segment_unmap(&segment);
	}
	io_uring_queue_exit(&ring);
}

FABRIC_TEST_MAIN()
