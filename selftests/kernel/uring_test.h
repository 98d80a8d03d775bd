/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring_test.h - the driver's io_uring commands as tests use them
 *
 * Over liburing 2.3, which has nothing for commands: entries are filled here.
 */
#ifndef URING_TEST_H
#define URING_TEST_H

#include "dmanic_test.h"

#include <errno.h>
#include <liburing.h>

/* Where a ring cannot be had */
static inline void ring_make(struct io_uring *ring, unsigned int entries,
			     unsigned int flags)
{
	/* Its polling thread shall leave the CPU to the test soon: in ms */
	struct io_uring_params params = { .flags = flags, .sq_thread_idle = 1 };
	int ret = io_uring_queue_init_params(entries, ring, &params);

	if (ret)
		SKIP("no io_uring with flags %#x here: %s", flags,
		     strerror(-ret));
}

static inline bool ring_cancels(const struct node *node)
{
	struct dmanic_query query;

	node_query(node, &query);
	return query.features & DMANIC_FEATURE_URING_CANCEL;
}

static inline struct io_uring_sqe *ring_entry(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	ASSERT_TRUE(sqe);
	memset(sqe, 0, ring->flags & IORING_SETUP_SQE128 ? 128 : 64);
	return sqe;
}

static inline struct io_uring_sqe *prep_command(struct io_uring *ring, int fd,
						__u32 command,
						const void *argument,
						size_t bytes)
{
	struct io_uring_sqe *sqe = ring_entry(ring);

	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = command;
	memcpy(sqe->cmd, argument, bytes);
	return sqe;
}

static inline struct io_uring_sqe *prep_post(struct io_uring *ring,
					     const struct queue *queue,
					     const struct dmanic_sqe *op)
{
	return prep_command(ring, queue->fd, DMANIC_URING_POST, op, sizeof(*op));
}

static inline struct io_uring_sqe *prep_enter(struct io_uring *ring,
					      const struct queue *queue,
					      __u32 to_submit)
{
	struct dmanic_uring_enter arg = { .to_submit = to_submit };

	return prep_command(ring, queue->fd, DMANIC_URING_ENTER, &arg,
			    sizeof(arg));
}

static inline struct io_uring_sqe *prep_wait(struct io_uring *ring,
					     const struct queue *queue,
					     __u32 min_complete,
					     __u64 timeout_ns)
{
	struct dmanic_uring_enter arg = {
		.min_complete = min_complete, .timeout_ns = timeout_ns,
	};

	return prep_command(ring, queue->fd, DMANIC_URING_WAIT, &arg,
			    sizeof(arg));
}

static inline struct io_uring_sqe *prep_irq_wait(struct io_uring *ring,
						 const struct irq *irq,
						 __u64 target, __u64 timeout_ns)
{
	struct dmanic_uring_irq_wait arg = {
		.target = target, .timeout_ns = timeout_ns,
	};

	return prep_command(ring, irq->fd, DMANIC_URING_IRQ_WAIT, &arg,
			    sizeof(arg));
}

/* The next completion, waiting for it; its second result, if there is one */
static inline int ring_reap(struct io_uring *ring, __u64 *data, __u64 *second)
{
	struct __kernel_timespec limit = {
		.tv_sec = slow_ns(20000) / SECOND_NS,
	};
	struct io_uring_cqe *cqe;
	int res;

	ASSERT_EQ(io_uring_wait_cqe_timeout(ring, &cqe, &limit), 0);
	res = cqe->res;
	if (data)
		*data = cqe->user_data;
	if (second)
		*second = ring->flags & IORING_SETUP_CQE32 ? cqe->big_cqe[0] : 0;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

/* A ring's thread takes entries when it likes: until then they count again */
static inline void ring_submit(struct io_uring *ring, int entries)
{
	if (!(ring->flags & IORING_SETUP_SQPOLL)) {
		ASSERT_EQ(io_uring_submit(ring), entries);
		return;
	}
	ASSERT_GE(io_uring_submit(ring), entries);
	ASSERT_TRUE(WAIT_FOR(!io_uring_sq_ready(ring)));
}

/* Submit what was prepared, one entry, and its result */
static inline int ring_run(struct io_uring *ring)
{
	ring_submit(ring, 1);
	return ring_reap(ring, NULL, NULL);
}

static inline int run_post(struct io_uring *ring, const struct queue *queue,
			   const struct dmanic_sqe *op)
{
	prep_post(ring, queue, op);
	return ring_run(ring);
}

#endif /* URING_TEST_H */
