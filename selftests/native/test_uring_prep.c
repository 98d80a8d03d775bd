// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries for an io_uring: what is asked for stands where the kernel and the
 * driver look for it, nothing else does, and results tell the right outcome.
 *
 * Sources: libnic/core/queue.c libnic/core/post.c libnic/core/interrupt.c
 * Sources: libnic/core/device.c
 * Sources: libnic/core/segment.c libnic/core/error.c libnic/core/uring.c
 * Flags: -Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap
 * Flags: -lpthread
 */
#include <linux/io_uring.h>
#include <stddef.h>
#include <nic_uring.h>

#include "fake_driver.h"
#include "unit.h"

/* An entry of IORING_SETUP_SQE128 and what may not be touched behind it */
struct place {
	union {
		struct io_uring_sqe sqe;
		unsigned char bytes[128];
	};
	unsigned char behind[16];
};

static struct nic_ctx *ctx;
static struct nic_queue *queue;
static struct nic_segment *seg;
static struct nic_remote *remote, *bell;
static struct nic_irq *irq;
static struct place place;

static void start(void)
{
	fake_reset();
	if (nic_open("nic0", &ctx) || nic_queue_create(ctx, 4, &queue) ||
	    nic_segment_alloc(ctx, 4096, &seg) ||
	    nic_connect(ctx, 1, 1, 1, &remote) ||
	    nic_connect_irq(ctx, 1, 2, 1, &bell) ||
	    nic_irq_create(ctx, 4, 0, NULL, NULL, &irq))
		abort();
	memset(&place, 0xee, sizeof(place));
}

static void stop(void)
{
	nic_irq_destroy(irq);
	nic_disconnect(bell);
	nic_disconnect(remote);
	nic_segment_free(seg);
	nic_queue_destroy(queue);
	nic_close(ctx);
}

/* What stands in front of the command; the rest is 0xee behind @bytes */
static void expect_entry(int fd, unsigned int command, size_t bytes)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_URING_CMD, .fd = fd, .cmd_op = command,
	};
	size_t i;

	EXPECT_EQ(memcmp(&place.sqe, &sqe, offsetof(struct io_uring_sqe, cmd)), 0);
	for (i = bytes; i < sizeof(place); i++)
		if (((unsigned char *)&place)[i] != 0xee)
			break;
	EXPECT_EQ(i, sizeof(place));
}

static void expect_post(int ret, const struct dmanic_sqe *op)
{
	static const unsigned char zero[16];

	EXPECT_EQ(ret, 0);
	expect_entry(nic_queue_fd(queue), DMANIC_URING_POST, 128);
	EXPECT_EQ(memcmp(place.bytes + 48, op, sizeof(*op)), 0);
	EXPECT_EQ(memcmp(place.bytes + 112, zero, sizeof(zero)), 0);
	memset(&place, 0xee, sizeof(place));
}

/* As the same call on the queue's own ring posts it */
static const struct dmanic_sqe *posted(int ret)
{
	const struct fake_object *object = fake.object[nic_queue_fd(queue)];
	const struct dmanic_queue_ring *ring = object->map;
	const struct dmanic_sqe *sqe;

	EXPECT_EQ(ret, 0);
	sqe = &object->sqe[ring->sq_tail & (object->sq_entries - 1)];
	EXPECT_EQ(nic_queue_submit(queue), 1);
	nic_queue_drain(queue, 1000000);
	return sqe;
}

TEST(uring__posts_are_what_the_queue_posts)
{
	const struct nic_stride stride = { 10, 20, 30, 40 };

	start();
	expect_post(nic_uring_prep_nop(&place, queue, NIC_FENCE),
		    posted(nic_post_nop(queue, NIC_FENCE, 0)));
	expect_post(nic_uring_prep_put(&place, queue, seg, 1, remote, 2, 3, 0),
		    posted(nic_post_put(queue, seg, 1, remote, 2, 3, 0, 0)));
	expect_post(nic_uring_prep_get(&place, queue, seg, 1, remote, 2, 3,
				       NIC_FENCE),
		    posted(nic_post_get(queue, seg, 1, remote, 2, 3, NIC_FENCE,
					0)));
	expect_post(nic_uring_prep_put_notify(&place, queue, seg, 1, remote, 2,
					      3, bell, 99, 0),
		    posted(nic_post_put_notify(queue, seg, 1, remote, 2, 3, bell,
					       99, 0, 0)));
	expect_post(nic_uring_prep_put_strided(&place, queue, seg, 1, remote, 2,
					       &stride, 0),
		    posted(nic_post_put_strided(queue, seg, 1, remote, 2, &stride,
						0, 0)));
	expect_post(nic_uring_prep_get_strided(&place, queue, seg, 1, remote, 2,
					       &stride, 0),
		    posted(nic_post_get_strided(queue, seg, 1, remote, 2, &stride,
						0, 0)));
	expect_post(nic_uring_prep_put_strided_notify(&place, queue, seg, 1,
						      remote, 2, &stride, bell,
						      99, 0),
		    posted(nic_post_put_strided_notify(queue, seg, 1, remote, 2,
						       &stride, bell, 99, 0,
						       0)));
	expect_post(nic_uring_prep_notify(&place, queue, bell, 7, 0),
		    posted(nic_post_notify(queue, bell, 7, 0, 0)));
	stop();
}

TEST(uring__atomics_and_lists_are_what_the_queue_posts)
{
	struct nic_list list = { NULL, 24, 5 };

	start();
	expect_post(nic_uring_prep_put_list(&place, queue, seg, 1, remote, 2,
					    &list, 0),
		    posted(nic_post_put_list(queue, seg, 1, remote, 2, &list, 0,
					     0)));
	list = (struct nic_list) { seg, 8ULL * UINT32_MAX, UINT32_MAX };
	expect_post(nic_uring_prep_get_list(&place, queue, seg, 1, remote, 2,
					    &list, NIC_FENCE),
		    posted(nic_post_get_list(queue, seg, 1, remote, 2, &list,
					     NIC_FENCE, 0)));
	expect_post(nic_uring_prep_fetch_add(&place, queue, remote, 16, 3, 0),
		    posted(nic_post_fetch_add(queue, remote, 16, 3, 0, 0)));
	expect_post(nic_uring_prep_compare_swap(&place, queue, remote, 24, 4, 5,
						NIC_FENCE),
		    posted(nic_post_compare_swap(queue, remote, 24, 4, 5,
						 NIC_FENCE, 0)));
	expect_post(nic_uring_prep_swap(&place, queue, remote, 32, 6, 0),
		    posted(nic_post_swap(queue, remote, 32, 6, 0, 0)));
	stop();
}

/* Refused, nothing is written, and the sentence is there for @of */
static void expect_refused_for(int ret, const struct nic_ctx *of, const char *why)
{
	EXPECT_EQ(ret, -EINVAL);
	for (size_t i = 0; i < sizeof(place); i++)
		EXPECT_EQ(((unsigned char *)&place)[i], 0xee);
	EXPECT_CONTAINS(nic_error_detail(NULL), why);
	EXPECT(!strcmp(nic_error_detail(of), nic_error_detail(NULL)));
	/* The next one says it anew */
	EXPECT_EQ(nic_queue_wait(queue, NULL, 0, 0), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(NULL), "cannot wait");
}

static void expect_refused(int ret, const struct nic_ctx *of)
{
	expect_refused_for(ret, of, "the only flag is NIC_FENCE");
}

TEST(uring__unknown_flags_touch_nothing)
{
	const struct nic_stride stride = { 10, 20, 30, 40 };
	const struct nic_list list = { NULL, 0, 1 };

	start();
	expect_refused(nic_uring_prep_nop(&place, queue, NIC_SILENT), NULL);
	expect_refused(nic_uring_prep_put(&place, queue, seg, 0, remote, 0, 8, 2),
		       ctx);
	expect_refused(nic_uring_prep_get(&place, queue, seg, 0, remote, 0, 8,
					  NIC_FENCE | NIC_SILENT), ctx);
	expect_refused(nic_uring_prep_put_notify(&place, queue, seg, 0, remote, 0,
						 8, bell, 1, NIC_SILENT), ctx);
	expect_refused(nic_uring_prep_put_strided(&place, queue, seg, 0, remote,
						  0, &stride, 4), ctx);
	expect_refused(nic_uring_prep_get_strided(&place, queue, seg, 0, remote,
						  0, &stride, 1U << 30), ctx);
	expect_refused(nic_uring_prep_notify(&place, queue, bell, 7, 1U << 31),
		       ctx);
	expect_refused(nic_uring_prep_put_strided_notify(&place, queue, seg, 0,
							 remote, 0, &stride, bell,
							 1, NIC_SILENT), ctx);
	expect_refused(nic_uring_prep_put_list(&place, queue, seg, 0, remote, 0,
					       &list, NIC_SILENT), ctx);
	expect_refused(nic_uring_prep_get_list(&place, queue, seg, 0, remote, 0,
					       &list, 4), ctx);
	expect_refused(nic_uring_prep_fetch_add(&place, queue, remote, 0, 1,
						NIC_SILENT), ctx);
	expect_refused(nic_uring_prep_compare_swap(&place, queue, remote, 0, 1, 2,
						   NIC_SILENT), ctx);
	expect_refused(nic_uring_prep_swap(&place, queue, remote, 0, 1, 8), ctx);
	stop();
}

TEST(uring__lists_begin_where_they_can)
{
	const struct nic_list odd = { NULL, 4, 1 };
	const struct nic_list far = { NULL, 8ULL << 32, 1 };

	start();
	expect_refused_for(nic_uring_prep_put_list(&place, queue, seg, 0, remote, 0,
						   &odd, 0), ctx,
			   "a list begins at a multiple of 8 bytes");
	expect_refused_for(nic_uring_prep_get_list(&place, queue, seg, 0, remote, 0,
						   &far, 0), ctx, "below 32 GiB");
	stop();
}

TEST(uring__short_entries_stay_short)
{
	struct dmanic_uring_irq_wait wait;
	struct dmanic_uring_enter enter;

	start();
	EXPECT_EQ(nic_post_nop(queue, 0, 1), 0);
	EXPECT_EQ(nic_post_nop(queue, 0, 2), 0);
	nic_uring_prep_enter(&place, queue);
	expect_entry(nic_queue_fd(queue), DMANIC_URING_ENTER, 64);
	memcpy(&enter, place.bytes + 48, sizeof(enter));
	EXPECT_EQ(enter.to_submit, 2);
	EXPECT_EQ(enter.min_complete, 0);
	EXPECT_EQ(enter.timeout_ns, 0);
	EXPECT_EQ(((struct dmanic_queue_ring *)
		   fake.object[nic_queue_fd(queue)]->map)->sq_tail, 2);

	nic_uring_prep_wait(&place, queue, 3, 55);
	expect_entry(nic_queue_fd(queue), DMANIC_URING_WAIT, 64);
	memcpy(&enter, place.bytes + 48, sizeof(enter));
	EXPECT_EQ(enter.to_submit, 0);
	EXPECT_EQ(enter.min_complete, 3);
	EXPECT_EQ(enter.timeout_ns, 55);

	nic_uring_prep_irq_wait(&place, irq, 9, NIC_TIMEOUT_NEVER);
	expect_entry(nic_irq_fd(irq), DMANIC_URING_IRQ_WAIT, 64);
	memcpy(&wait, place.bytes + 48, sizeof(wait));
	EXPECT_EQ(wait.target, 9);
	EXPECT_EQ(wait.timeout_ns, NIC_TIMEOUT_NEVER);
	stop();
}

TEST(uring__results_tell_the_outcome)
{
	static const struct { int res; unsigned int status; } table[] = {
		{ 0, NIC_OK }, { 4096, NIC_OK }, { INT32_MAX, NIC_OK },
		{ -EINVAL, NIC_INVALID }, { -ENXIO, NIC_NO_SEGMENT },
		{ -ENOENT, NIC_NO_HANDLE }, { -ERANGE, NIC_BOUNDS },
		{ -EACCES, NIC_ACCESS }, { -EHOSTUNREACH, NIC_PEER_DEAD },
		{ -ECONNRESET, NIC_PEER_RESTARTED },
		{ -ENETDOWN, NIC_LINK_DOWN }, { -ENODEV, NIC_LINK_DOWN },
		{ -ETIMEDOUT, NIC_TIMED_OUT }, { -ETIME, NIC_TIMED_OUT },
		{ -ECANCELED, NIC_CANCELLED }, { -ESHUTDOWN, NIC_CANCELLED },
		{ -EINTR, NIC_CANCELLED }, { -ENOBUFS, NIC_LIMIT },
		{ -EBUSY, NIC_LIMIT }, { -EILSEQ, NIC_SOURCE_CHANGED },
		{ -EOPNOTSUPP, NIC_UNSUPPORTED }, { INT32_MIN, NIC_INVALID },
		{ -9999, NIC_INVALID },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		EXPECT_EQ(nic_uring_status(table[i].res), table[i].status);
}

/* A completion as the kernel writes it into a ring with entries of 32 bytes */
TEST(uring__second_result_is_that_of_the_entry)
{
	union {
		struct io_uring_cqe cqe;
		unsigned char bytes[32];
	} big;

	memset(&big, 0xee, sizeof(big));
	big.cqe.user_data = 1;
	big.cqe.res = 2;
	big.cqe.flags = 3;
	big.cqe.big_cqe[0] = 0x0123456789abcdef;
	EXPECT_EQ(nic_uring_result(&big.cqe), 0x0123456789abcdef);
}
