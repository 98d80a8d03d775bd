/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * queue.h - a queue, for what posts to it and what submits and reaps
 */
#ifndef NIC_CORE_QUEUE_H
#define NIC_CORE_QUEUE_H

#include "internal.h"

/* What nic_queue_drain() has taken and not told of yet */
struct nic_failures {
	unsigned int count;
	struct nic_completion first;
};

/*
 * "sq_end" is where the ring is full according to the device's sq_head as last
 * read, so that posting touches its cache line only then.
 */
struct nic_queue {
	struct nic_ctx *ctx;
	struct dmanic_queue_ring *ring;
	struct dmanic_sqe *sqe;
	const struct dmanic_cqe *cqe;
	uint32_t sq_entries;
	uint32_t cq_entries;
	uint32_t sq_mask;
	uint32_t sq_tail;
	uint32_t sq_end;
	uint32_t sq_shown;	/* sq_tail as the device sees it */
	uint32_t cq_head;
	uint32_t uncounted;	/* of sq_tail: reaped, SILENT, or a marker */
	uint32_t markers;	/* posted, not reaped */
	bool silent;		/* SILENT posted since the last marker */
	bool any_silent;	/* SILENT posted ever */
	bool has_eventfd;
	bool has_thread;
	int fd;
	struct nic_spin spin;
	size_t map_bytes;
	pid_t owner;
	struct nic_failures failures;
};

/*
 * Numbers of one context mean something else, or nothing, in another one: are these of the
 * queue's? NULL: there is none.
 */
static inline bool nic_queue_has(const struct nic_queue *queue,
				 const struct nic_segment *seg,
				 const struct nic_remote *remote,
				 const struct nic_remote *irq)
{
	return __builtin_expect((!seg || seg->part.ctx == queue->ctx) &&
				(!remote || remote->part.ctx == queue->ctx) &&
				(!irq || irq->part.ctx == queue->ctx), 1);
}

/* What is wrong with an operation, behind what cannot be done */
#define NIC_OTHER_CONTEXT \
	"the segment or connection belongs to another context than the queue; each context makes its own"
#define NIC_LIST_BEGINS	"a list begins at a multiple of 8 bytes, below 32 GiB"

/* Why there is no entry to fill; -EAGAIN */
int nic_queue_fail_full(const struct nic_queue *queue);

/* The next entry to fill, or NULL: the ring is full */
static inline struct dmanic_sqe *nic_queue_slot(struct nic_queue *queue)
{
	if (__builtin_expect(queue->sq_tail == queue->sq_end, 0)) {
		/* B: pairs with the driver's sq_head after reading entries */
		queue->sq_end = __atomic_load_n(&queue->ring->sq_head,
						__ATOMIC_ACQUIRE) +
				queue->sq_entries;
		if (queue->sq_tail == queue->sq_end)
			return NULL;
	}
	return &queue->sqe[queue->sq_tail & queue->sq_mask];
}

#endif /* NIC_CORE_QUEUE_H */
