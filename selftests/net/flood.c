// SPDX-License-Identifier: GPL-2.0-only
/*
 * flood.c - all ranks write to rank 0 for a time; how fast each is
 *
 * Each keeps some operations under way, each in a slot of its own. What completes in
 * the last four fifths of the time counts: at first windows grow. Rank 0 prints
 * bytes a second of each rank and of all, in MB/s, and how fair that is (Jain: 1 when
 * all are alike, 1/n when one has all), and compares what is in the slots.
 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/clock.h"

/**
 * struct flood - what the rank has for it
 * @x: the rank
 * @from: what is written, a slot for each operation under way
 * @to: slots of all ranks, then their results, at rank 0
 * @results: where these are in it
 */
struct flood {
	struct exchange *x;
	struct nic_segment *from;
	struct nic_remote *to;
	uint64_t results;
};

static uint64_t slots_of(const struct exchange *x, unsigned int rank)
{
	return rank * x->depth * x->bytes;
}

static void post(struct flood *f, unsigned int slot)
{
	struct exchange *x = f->x;

	must(x, nic_post_put(x->queue, f->from, slot * x->bytes, f->to,
			     slots_of(x, x->rank) + slot * x->bytes, x->bytes, 0, slot),
	     "put");
}

/* Of so many operations at most; returns how many completed */
static unsigned int reap(struct exchange *x, struct nic_completion *done, unsigned int most)
{
	int got = nic_queue_wait(x->queue, done, most, x->wait_ns), i;

	must(x, got, "wait for operations");
	for (i = 0; i < got; i++)
		if (done[i].status != NIC_OK)
			die(x, "a put: %s", nic_status_name(done[i].status));
	return (unsigned int)got;
}

/* Bytes a second */
static double pour(struct flood *f)
{
	uint64_t begin = now_ns(), count = begin + f->x->time_ns / 5, first = 0, now;
	uint64_t end = begin + f->x->time_ns, counted = 0;
	struct nic_completion done[64];
	struct exchange *x = f->x;
	unsigned int i, got;

	for (i = 0; i < x->depth; i++)
		post(f, i);
	while ((now = now_ns()) < end) {
		got = reap(x, done, ARRAY_SIZE(done));
		for (i = 0; i < got; i++)
			post(f, (unsigned int)done[i].cookie);
		if (first)
			counted += got;
		else if (now >= count)
			first = now;
	}
	for (i = x->depth; i; i -= got)
		got = reap(x, done, i < ARRAY_SIZE(done) ? i : ARRAY_SIZE(done));
	return first ? (double)(counted * x->bytes) * 1e9 / (double)(now - first) : 0;
}

static void tell(struct flood *f, double rate)
{
	struct exchange *x = f->x;
	char *memory = nic_segment_addr(f->from);

	memcpy(memory, &rate, sizeof(rate));
	must(x, nic_post_put(x->queue, f->from, 0, f->to,
			     f->results + x->rank * sizeof(rate), sizeof(rate), 0, 0),
	     "tell a result");
	must(x, nic_queue_drain(x->queue, x->wait_ns), "tell a result");
}

static void print(const struct exchange *x, const double *rate)
{
	double sum = 0, squares = 0;
	unsigned int i;

	printf("{\"mbps\": [");
	for (i = 1; i < x->size; i++) {
		sum += rate[i];
		squares += rate[i] * rate[i];
		printf("%s%.3f", i > 1 ? ", " : "", rate[i] / 1e6);
	}
	printf("], \"sum\": %.3f, \"jain\": %.4f}\n", sum / 1e6,
	       squares > 0 ? sum * sum / ((x->size - 1) * squares) : 0);
}

static void check(const struct exchange *x, const char *memory)
{
	uint64_t bytes = x->depth * x->bytes, at;
	unsigned int i;

	for (i = 1; i < x->size; i++) {
		at = pattern_differs(memory + slots_of(x, i), bytes, i, 0);
		if (at != bytes)
			die(x, "byte %llu of what rank %u has written is wrong",
			    (unsigned long long)at, i);
	}
}

void flood_run(struct exchange *x)
{
	struct flood f = { .x = x, .results = slots_of(x, x->size) };
	struct nic_segment *segment;
	char *memory = NULL;

	if (!x->rank) {
		memory = share(x, f.results + x->size * sizeof(double),
			       NIC_WRITE, "flood", &segment);
	} else {
		must(x, nic_segment_alloc(x->ctx, x->depth * x->bytes, &f.from),
		     "make a segment");
		pattern(nic_segment_addr(f.from), x->depth * x->bytes, x->rank, 0);
		must(x, nic_team_find(x->team, 0, "flood", x->wait_ns, &f.to),
		     "find rank 0");
	}
	meet(x);
	if (x->rank) {
		double rate = pour(&f);

		meet(x);
		tell(&f, rate);
	} else {
		meet(x);
	}
	meet(x);
	if (!x->rank) {
		check(x, memory);
		print(x, (const double *)(memory + f.results));
	}
}
