// SPDX-License-Identifier: GPL-2.0-only
/*
 * change.c - rank 1 writes memory to rank 0 that it changes at the same time
 *
 * With checksums such a put may end as SOURCE_CHANGED, and nothing else may suffer: puts
 * of memory that nobody changes go on beside it, in another queue. Rank 0 compares the
 * last of each slot. Prints how many ended either way, and how fast the others were
 * beside it, as a part of how fast they are alone.
 */
#include "exchange.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/common/clock.h"

/**
 * struct change - what rank 1 has for it
 * @x: the rank
 * @queue: of puts that may fail
 * @from: a slot that nobody changes, then one that is changed
 * @to: the same at rank 0, and a word: the round of what was put last
 * @rounds: puts of the first that ended
 * @changed: of the second, as SOURCE_CHANGED
 * @well: of the second, well
 * @stop: ends the thread; atomic
 */
struct change {
	struct exchange *x;
	struct nic_queue *queue;
	struct nic_segment *from;
	struct nic_remote *to;
	unsigned int rounds;
	unsigned int changed;
	unsigned int well;
	int stop;
};

static void *keep_changing(void *data)
{
	struct change *c = data;
	volatile uint64_t *word = (void *)((char *)nic_segment_addr(c->from) + c->x->bytes);
	const struct timespec pause = { .tv_nsec = 200000 };
	uint64_t at;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		for (at = 0; at < c->x->bytes / sizeof(*word); at++)
			word[at]++;
		/* More often than frames arrive; the CPU is for others */
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void put_changing(struct change *c)
{
	struct exchange *x = c->x;

	must(x, nic_post_put(c->queue, c->from, x->bytes, c->to, x->bytes, x->bytes, 0, 0),
	     "put what changes");
	must(x, nic_queue_submit(c->queue), "put what changes");
}

static void put_steady(struct change *c)
{
	struct nic_completion done;
	struct exchange *x = c->x;

	pattern(nic_segment_addr(c->from), x->bytes, 1, c->rounds);
	must(x, nic_post_put(x->queue, c->from, 0, c->to, 0, x->bytes, 0, 0), "put");
	must(x, nic_queue_wait(x->queue, &done, 1, x->wait_ns), "wait for a put");
	if (done.status != NIC_OK)
		die(x, "a put of what nobody changes: %s", nic_status_name(done.status));
	c->rounds++;
}

/* One that may fail has ended: it is posted again, unless @last */
static void end_changing(struct change *c, uint64_t wait_ns, int last)
{
	struct nic_completion done;
	struct exchange *x = c->x;
	int got = nic_queue_wait(c->queue, &done, 1, wait_ns);

	if (got == -ETIME && !last)
		return;
	must(x, got, "wait for a put of what changes");
	if (done.status == NIC_SOURCE_CHANGED)
		c->changed++;
	else if (done.status == NIC_OK)
		c->well++;
	else
		die(x, "a put of what changes: %s", nic_status_name(done.status));
	if (!last)
		put_changing(c);
}

/* Puts a second of what nobody changes */
static double steady(struct change *c, int beside)
{
	uint64_t begin = now_ns(), end = begin + c->x->time_ns / 2, now;
	unsigned int first = c->rounds;

	do {
		put_steady(c);
		if (beside)
			end_changing(c, 0, 0);
	} while ((now = now_ns()) < end);
	return (double)(c->rounds - first) * 1e9 / (double)(now - begin);
}

static void change(struct change *c)
{
	struct exchange *x = c->x;
	double alone, beside;
	pthread_t thread;
	uint64_t round;

	alone = steady(c, 0);
	if (pthread_create(&thread, NULL, keep_changing, c))
		die(x, "cannot make a thread");
	put_changing(c);
	beside = steady(c, 1);
	end_changing(c, x->wait_ns, 1);
	__atomic_store_n(&c->stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("{\"changed\": %u, \"well\": %u, \"others\": %.3f}\n", c->changed, c->well,
	       beside / alone);
	round = c->rounds - 1;
	memcpy(nic_segment_addr(c->from), &round, sizeof(round));
	must(x, nic_post_put(x->queue, c->from, 0, c->to, 2 * x->bytes, sizeof(round), 0, 0),
	     "tell the round");
	must(x, nic_queue_drain(x->queue, x->wait_ns), "tell the round");
}

static void check(const struct exchange *x, const char *memory)
{
	uint64_t round, at;

	memcpy(&round, memory + 2 * x->bytes, sizeof(round));
	at = pattern_differs(memory, x->bytes, 1, (unsigned int)round);
	if (at < x->bytes)
		die(x, "byte %llu of what nobody changed is wrong", (unsigned long long)at);
}

void change_run(struct exchange *x)
{
	struct change c = { .x = x };
	struct nic_segment *segment;
	const bool target = !x->rank;
	char *memory = NULL;

	x->bytes = (x->bytes + 7) / 8 * 8;
	if (target) {
		memory = share(x, 2 * x->bytes + 8, NIC_WRITE, "change", &segment);
	} else if (x->rank == 1) {
		must(x, nic_segment_alloc(x->ctx, 2 * x->bytes, &c.from), "make a segment");
		must(x, nic_team_find(x->team, 0, "change", x->wait_ns, &c.to),
		     "find rank 0");
		must(x, nic_queue_create(x->ctx, 4, &c.queue), "make a queue");
	}
	meet(x);
	if (x->rank == 1)
		change(&c);
	meet(x);
	if (target)
		check(x, memory);
	nic_queue_destroy(c.queue);
}
