/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sharing.h - a queue with much to do, and another one of the same device that
 *	puts little
 */
#ifndef SHARING_H
#define SHARING_H

#include "dmanic_test.h"

#include <pthread.h>

#define MIB	(1UL << 20)
#define BIG	(16 * MIB)
/* Above what the poster does itself */
#define SMALL	16384UL

/**
 * struct sharing - two contexts of a node that write to another
 * @node: has much to do
 * @other: the same device, another context
 * @peer: the node that is written to
 * @local: BIG, of @node
 * @remote: BIG for @node, then SMALL for @other
 * @queue: of @node
 * @handle: of @node, to @remote
 * @small: SMALL, of @other
 * @small_queue: of @other
 * @small_handle: of @other, to @remote
 * @stop: ends @thread; atomic
 * @thread: between sharing_begin() and sharing_end()
 */
struct sharing {
	struct node node;
	struct node other;
	struct node peer;
	struct segment local;
	struct segment remote;
	struct queue queue;
	__u32 handle;
	struct segment small;
	struct queue small_queue;
	__u32 small_handle;
	bool stop;
	pthread_t thread;
};

struct sharing sharing_make(void);

/* @other anew, of who calls */
void sharing_come(struct sharing *sharing);

/* One put of @other, waited for */
void sharing_put(struct sharing *sharing);

/* A thread that goes on doing so */
void sharing_begin(struct sharing *sharing);
void sharing_end(struct sharing *sharing);

/* Completions that are there and not taken */
unsigned int sharing_completed(const struct queue *queue);

#endif /* SHARING_H */
