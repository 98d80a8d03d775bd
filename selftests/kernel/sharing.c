// SPDX-License-Identifier: GPL-2.0-only
/*
 * sharing.c - a queue with much to do, and another one of the same device that
 *	puts little
 */
#include "sharing.h"

void sharing_come(struct sharing *sharing)
{
	sharing->other = node_open(&fabric, 0);
	sharing->small = segment_make(&sharing->other, SMALL);
	sharing->small_handle = segment_connect(&sharing->other, &sharing->remote);
	sharing->small_queue = queue_make(&sharing->other, 2, 2);
}

struct sharing sharing_make(void)
{
	struct sharing made = { .stop = false };

	made.node = node_open(&fabric, 0);
	made.peer = node_open(&fabric, 1);
	made.local = segment_make(&made.node, BIG);
	made.remote = segment_make(&made.peer, BIG + SMALL);
	segment_export(&made.remote, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	made.handle = segment_connect(&made.node, &made.remote);
	made.queue = queue_make(&made.node, 64, 64);
	sharing_come(&made);
	return made;
}

void sharing_put(struct sharing *sharing)
{
	struct dmanic_sqe sqe = sqe_move(DMANIC_OP_WRITE, sharing->small.id, 0,
					 sharing->small_handle, BIG, SMALL);

	ASSERT_EQ(queue_run(&sharing->small_queue, &sqe).status,
		  DMANIC_STATUS_OK);
}

static void *keep_putting(void *data)
{
	struct sharing *sharing = data;

	while (!__atomic_load_n(&sharing->stop, __ATOMIC_RELAXED))
		sharing_put(sharing);
	return NULL;
}

void sharing_begin(struct sharing *sharing)
{
	sharing->stop = false;
	ASSERT_EQ(pthread_create(&sharing->thread, NULL, keep_putting, sharing),
		  0);
}

void sharing_end(struct sharing *sharing)
{
	__atomic_store_n(&sharing->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(sharing->thread, NULL), 0);
}

unsigned int sharing_completed(const struct queue *queue)
{
	return load32(&queue->ring->cq_tail) - queue->head;
}
