/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * queue.h - what queue.c (the file), submit.c and poller.c (in) and cq.c (out)
 *	share
 */
#ifndef DMANIC_QUEUE_H
#define DMANIC_QUEUE_H

#include "dmanic.h"

/* cq.c; set_flags, publish and promote under queue->lock */
void dmanic_cq_set_flags(struct dmanic_queue *queue, u32 set, u32 clear);
u32 dmanic_cq_unconsumed(const struct dmanic_queue *queue);
bool dmanic_cq_publish(struct dmanic_queue *queue);
void dmanic_cq_wake(struct dmanic_queue *queue, bool signal);
void dmanic_queue_drop(struct dmanic_queue *queue, struct dmanic_op *op,
		       struct list_head *ops);
void dmanic_queue_promote(struct dmanic_queue *queue, struct list_head *ready,
			  struct list_head *ops);

/* queue.c */
u32 dmanic_queue_unconsumed(struct dmanic_queue *queue);
bool dmanic_queue_has_room(struct dmanic_queue *queue);
bool dmanic_queue_wants(struct dmanic_queue *queue);
void dmanic_queue_spend(struct dmanic_queue *queue, u64 ns);

/* submit.c; under queue->submit_lock */
int dmanic_queue_submit(struct dmanic_queue *queue, u32 to_submit, u64 *spend);
struct dmanic_op *dmanic_queue_post_begin(struct dmanic_queue *queue, bool *behind);
void dmanic_queue_post(struct dmanic_queue *queue, struct dmanic_op *op,
		       const struct dmanic_sqe *sqe, bool behind);

/* poller.c */
int dmanic_poller_start(struct dmanic_queue *queue, u64 idle_ns,
			struct dmanic_refusal *refusal);
void dmanic_poller_wake(struct dmanic_queue *queue);
void dmanic_poller_stop(struct dmanic_queue *queue);

#endif /* DMANIC_QUEUE_H */
