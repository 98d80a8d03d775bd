/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring.h - io_uring commands, as queues and interrupts use them (uring.c)
 */
#ifndef DMANIC_URING_H
#define DMANIC_URING_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/dmanic.h>

#include "compat.h"

#if IS_ENABLED(CONFIG_IO_URING)
#define DMANIC_URING_FEATURES \
	(DMANIC_FEATURE_URING_CMD | \
	 (DMANIC_URING_CANCEL ? DMANIC_FEATURE_URING_CANCEL : 0))
#else
#define DMANIC_URING_FEATURES	0
#endif

struct dmanic_irq;
struct dmanic_op;
struct dmanic_queue;
struct io_uring_cmd;

/**
 * struct dmanic_uring_waits - commands that wait for a queue or an interrupt
 * @lock: outside of queue->lock; irqs off
 * @list: of them
 * @nr: how many
 */
struct dmanic_uring_waits {
	spinlock_t lock; /* protects list, nr */
	struct list_head list;
	u32 nr;
};

static inline void dmanic_uring_waits_init(struct dmanic_uring_waits *waits)
{
	spin_lock_init(&waits->lock);
	INIT_LIST_HEAD(&waits->list);
}

void __dmanic_uring_wake(struct dmanic_uring_waits *waits);

/* After a full barrier behind what the commands wait for (E) */
static inline void dmanic_uring_wake(struct dmanic_uring_waits *waits)
{
	if (!list_empty_careful(&waits->list))
		__dmanic_uring_wake(waits);
}

u64 __dmanic_uring_taken(const struct dmanic_op *op);

/* What @op, which was taken from the ring, adds to queue->taken */
static inline u64 dmanic_uring_taken(const struct dmanic_op *op)
{
	return DMANIC_URING_CANCEL ? 0 : __dmanic_uring_taken(op);
}

void dmanic_uring_queue_init(struct dmanic_queue *queue);
void dmanic_uring_queue_exit(struct dmanic_queue *queue);
void dmanic_uring_op_done(struct dmanic_op *op, struct io_uring_cmd **done);
void dmanic_uring_complete(struct io_uring_cmd *done);
int dmanic_uring_queue_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
int dmanic_uring_irq_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif /* DMANIC_URING_H */
