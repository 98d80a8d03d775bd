/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * post.h - what the ways to post have in common
 */
#ifndef NICPERF_POST_H
#define NICPERF_POST_H

#include "nicperf.h"
#include "sample.h"

#define POST_BYTES	8

/* Operations and batches that have a line each; bounds are about the last */
#define POST_OPS	2
#define POST_BATCHES	3
#define POST_BATCH_BOUND	32
extern const enum op post_ops[POST_OPS];
extern const unsigned int post_batches[POST_BATCHES];

const char *way_name(enum way way);

/* A line of @way; @slots as work_slots() */
void post_prepare(struct work *work, struct end *end, enum op op,
		  unsigned int batch);

/* Fill in one batch of @work, as a program would write it */
int post_batch(const struct work *work, unsigned int *slot);

/* Give @end, a copy of the near one, a queue with a polling thread */
int post_thread_queue(struct run *run, struct end *end);

/* For sample_alternate(): @count empty system calls */
int post_system_call_time(void *arg, uint64_t count, uint64_t *ns);

/**
 * struct post_result - a thing that was measured
 * @work: of it
 * @way: how it got to the device
 * @what: added to the name, or ""
 * @post: it
 * @reference: what it is compared with
 * @reference_stats: summary of that
 * @ratio: of the two
 */
struct post_result {
	const struct work *work;
	enum way way;
	const char *what;
	const struct stats *post;
	const char *reference;
	const struct stats *reference_stats;
	double ratio;
};

/* For the report; and with --check hold it against @bound (0: there is none) */
void post_report(struct run *run, const struct post_result *result,
		 double bound);

/* Median and spread */
void post_cells(struct table *table, const struct stats *stats);

/* A table, and a line, of "a post beside an empty system call" */
struct table *post_table_create(void);
/* @flow: with a polling thread: with the waits; NULL: without one */
void post_line(struct run *run, struct table *table, const struct work *work,
	       enum way way, struct sampled *post, struct sampled *call,
	       struct sampled *flow);

/* post_event.c: 0, or -1 after run_fail() */
int post_event(struct run *run);

/* post_uring.c: 0, or -1 after run_fail(); leave out, or fail, what is not */
int post_uring(struct run *run, unsigned int ways);

#endif /* NICPERF_POST_H */
