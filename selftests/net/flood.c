// SPDX-License-Identifier: GPL-2.0-only
/*
 * flood.c - all ranks write to rank 0 for a time; how fast each is
 *
 * Each keeps some operations under way, each in a slot of its own, and each with other
 * data than the one before. What completes in the last four fifths of the time counts: at
 * first windows grow. Rank 0 prints bytes a second of each rank and of all, in MB/s, and
 * how fair that is (Jain: 1 when all are alike, 1/n when one has all), and compares what
 * is in the slots with what was written there last. With --read-back each operation is read
 * again by who wrote it, and compared, before the next one of its slot.
 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/clock.h"

/**
 * struct flood - what the rank has for it
 * @x: the rank
 * @from: what is written: the next operation begins STEP behind where the last began
 * @back: slots for what is read back, or NULL
 * @to: slots of all ranks, then their results, at rank 0
 * @results: where these are in it
 * @turns: how many operations each slot had
 */
struct flood {
	struct exchange *x;
	struct nic_segment *from;
	struct nic_segment *back;
	struct nic_remote *to;
	uint64_t results;
	uint64_t *turns;
};

/* No word of the pattern comes twice */
#define STEP	8U
#define TURNS	4096U

/* In a cookie beside the slot: it is read back */
#define BACK	(UINT64_C(1) << 32)

static uint64_t slots_of(const struct exchange *x, unsigned int rank)
{
	return rank * x->depth * x->bytes;
}

/* Of a rank: its rate, and of each slot how many operations it had */
static uint64_t result_bytes(const struct exchange *x)
{
	return sizeof(double) + x->depth * sizeof(uint64_t);
}

/* What is written in a turn of a slot begins here */
static uint64_t begin_of(const struct exchange *x, unsigned int slot, uint64_t turn)
{
	return slot * x->bytes + turn % TURNS * STEP;
}

static void post(struct flood *f, unsigned int slot)
{
	struct exchange *x = f->x;

	must(x, nic_post_put(x->queue, f->from, begin_of(x, slot, f->turns[slot]++), f->to,
			     slots_of(x, x->rank) + slot * x->bytes, x->bytes, 0, slot),
	     "put");
}

static void read_back(struct flood *f, unsigned int slot)
{
	struct exchange *x = f->x;

	must(x, nic_post_get(x->queue, f->back, slot * x->bytes, f->to,
			     slots_of(x, x->rank) + slot * x->bytes, x->bytes, 0, slot | BACK),
	     "get");
}

static void must_be_same(const struct flood *f, unsigned int slot, const char *got,
			 const char *expected, unsigned int rank)
{
	uint64_t at;

	if (!memcmp(got, expected, f->x->bytes))
		return;
	for (at = 0; got[at] == expected[at]; at++)
		;
	die(f->x, "byte %llu of what rank %u has written to slot %u is wrong",
	    (unsigned long long)at, rank, slot);
}

/* What was posted for a slot is done. True: nothing has to be read back before the next */
static bool slot_done(struct flood *f, uint64_t cookie)
{
	unsigned int slot = (uint32_t)cookie;
	const char *from, *back;

	if (f->back && !(cookie & BACK)) {
		read_back(f, slot);
		return false;
	}
	if (f->back) {
		from = nic_segment_addr(f->from);
		back = nic_segment_addr(f->back);
		must_be_same(f, slot, back + slot * f->x->bytes,
			     from + begin_of(f->x, slot, f->turns[slot] - 1), f->x->rank);
	}
	return true;
}

/* Of so many operations at most; returns how many completed */
static unsigned int reap(struct exchange *x, struct nic_completion *done, unsigned int most)
{
	int got = nic_queue_wait(x->queue, done, most, x->wait_ns), i;

	must(x, got, "wait for operations");
	for (i = 0; i < got; i++)
		if (done[i].status != NIC_OK)
			die(x, "a %s: %s", done[i].cookie & BACK ? "get" : "put",
			    nic_status_name(done[i].status));
	return (unsigned int)got;
}

/* Bytes a second */
static double pour(struct flood *f)
{
	uint64_t begin = now_ns(), count = begin + f->x->time_ns / 5, first = 0, now;
	uint64_t end = begin + f->x->time_ns, counted = 0;
	struct nic_completion done[64];
	struct exchange *x = f->x;
	unsigned int i, got, puts, left = x->depth;

	for (i = 0; i < x->depth; i++)
		post(f, i);
	while ((now = now_ns()) < end) {
		got = reap(x, done, ARRAY_SIZE(done));
		for (i = puts = 0; i < got; i++) {
			if (!slot_done(f, done[i].cookie))
				continue;
			post(f, (uint32_t)done[i].cookie);
			puts++;
		}
		if (first)
			counted += puts;
		else if (now >= count)
			first = now;
	}
	while (left) {
		got = reap(x, done, left < ARRAY_SIZE(done) ? left : ARRAY_SIZE(done));
		for (i = 0; i < got; i++)
			left -= slot_done(f, done[i].cookie);
	}
	return first ? (double)(counted * x->bytes) * 1e9 / (double)(now - first) : 0;
}

static void tell(struct flood *f, double rate)
{
	struct exchange *x = f->x;
	char *memory = nic_segment_addr(f->from);

	memcpy(memory, &rate, sizeof(rate));
	memcpy(memory + sizeof(rate), f->turns, x->depth * sizeof(*f->turns));
	must(x, nic_post_put(x->queue, f->from, 0, f->to,
			     f->results + x->rank * result_bytes(x), result_bytes(x), 0,
			     0), "tell a result");
	must(x, nic_queue_drain(x->queue, x->wait_ns), "tell a result");
}

static double rate_of(const struct flood *f, const char *memory, unsigned int rank)
{
	double rate;

	memcpy(&rate, memory + f->results + rank * result_bytes(f->x), sizeof(rate));
	return rate;
}

static void print(const struct flood *f, const char *memory)
{
	const struct exchange *x = f->x;
	double sum = 0, squares = 0, rate;
	unsigned int i;

	printf("{\"mbps\": [");
	for (i = 1; i < x->size; i++) {
		rate = rate_of(f, memory, i);
		sum += rate;
		squares += rate * rate;
		printf("%s%.3f", i > 1 ? ", " : "", rate / 1e6);
	}
	printf("], \"sum\": %.3f, \"jain\": %.4f}\n", sum / 1e6,
	       squares > 0 ? sum * sum / ((x->size - 1) * squares) : 0);
}

/* @expected: as large as what a rank sends of */
static void check_rank(const struct flood *f, const char *memory, unsigned int rank,
		       const char *expected)
{
	const char *turns = memory + f->results + rank * result_bytes(f->x) + sizeof(double);
	const struct exchange *x = f->x;
	unsigned int i;
	uint64_t turn;

	for (i = 0; i < x->depth; i++) {
		memcpy(&turn, turns + i * sizeof(turn), sizeof(turn));
		if (turn)
			must_be_same(f, i, memory + slots_of(x, rank) + i * x->bytes,
				     expected + begin_of(x, i, turn - 1), rank);
	}
}

static uint64_t source_bytes(const struct exchange *x)
{
	uint64_t bytes = x->depth * x->bytes + TURNS * STEP;

	return bytes < result_bytes(x) ? result_bytes(x) : bytes;
}

static void check(const struct flood *f, const char *memory)
{
	const struct exchange *x = f->x;
	char *expected = malloc(source_bytes(x));
	unsigned int i;

	if (!expected)
		die(x, "out of memory");
	for (i = 1; i < x->size; i++) {
		pattern(expected, source_bytes(x), i, 0);
		check_rank(f, memory, i, expected);
	}
	free(expected);
}

void flood_run(struct exchange *x)
{
	struct flood f = { .x = x, .results = slots_of(x, x->size) };
	struct nic_segment *segment;
	const bool target = !x->rank;
	char *memory = NULL;

	f.turns = calloc(x->depth, sizeof(*f.turns));
	if (!f.turns)
		die(x, "out of memory");
	if (target) {
		memory = share(x, f.results + x->size * result_bytes(x),
			       NIC_WRITE | (x->read_back ? NIC_READ : 0), "flood", &segment);
	} else {
		must(x, nic_segment_alloc(x->ctx, source_bytes(x), &f.from),
		     "make a segment");
		pattern(nic_segment_addr(f.from), source_bytes(x), x->rank, 0);
		if (x->read_back)
			must(x, nic_segment_alloc(x->ctx, x->depth * x->bytes, &f.back),
			     "make a segment");
		must(x, nic_team_find(x->team, 0, "flood", x->wait_ns, &f.to),
		     "find rank 0");
	}
	meet(x);
	if (!target) {
		double rate = pour(&f);

		meet(x);
		tell(&f, rate);
	} else {
		meet(x);
	}
	meet(x);
	if (target) {
		check(&f, memory);
		print(&f, memory);
	}
	free(f.turns);
}
