// SPDX-License-Identifier: GPL-2.0-only
/*
 * every.c - every rank with every other, all contents compared
 *
 * In a round each rank writes its block into its slot at each other rank and
 * notifies it, reads the block of each other, and counts there. Then each compares
 * what was written here, with the bytes around it, and what it has read; looks
 * whether each other one notified it once; and whether the count is that of all.
 * Blocks begin at odd places, other ones each round.
 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN		64U	/* around a block, never written */
#define EMPTY		0x5a
#define COUNT_AT	0U	/* in the inbox */
#define SLOTS_AT	64U

/**
 * struct every - what the rank has for it
 * @x: the rank
 * @slot: bytes of a block with its margins
 * @inbox: count and slots, one for each rank
 * @outbox: the block
 * @got: slots for what is read
 * @got_segment: of it
 * @out_segment: of @outbox
 * @irq: told of what is written here
 * @to_inbox: of each other
 * @to_outbox: of each other
 * @to_irq: of each other
 */
struct every {
	struct exchange *x;
	uint64_t slot;
	char *inbox;
	char *outbox;
	char *got;
	struct nic_segment *got_segment;
	struct nic_segment *out_segment;
	struct nic_irq *irq;
	struct nic_remote **to_inbox;
	struct nic_remote **to_outbox;
	struct nic_remote **to_irq;
};

static struct nic_remote **remotes(struct exchange *x)
{
	struct nic_remote **list = calloc(x->size, sizeof(struct nic_remote *));

	if (!list)
		die(x, "out of memory");
	return list;
}

static void connect_all(struct every *e)
{
	struct exchange *x = e->x;
	unsigned int i;

	e->to_inbox = remotes(x);
	e->to_outbox = remotes(x);
	e->to_irq = remotes(x);
	for (i = 0; i < x->size; i++) {
		if (i == x->rank)
			continue;
		must(x, nic_team_find(x->team, i, "in", x->wait_ns, &e->to_inbox[i]),
		     "find an inbox");
		must(x, nic_team_find(x->team, i, "out", x->wait_ns, &e->to_outbox[i]),
		     "find an outbox");
		must(x, nic_team_irq_find(x->team, i, "bell", x->wait_ns,
					  &e->to_irq[i]), "find an interrupt");
	}
}

static void prepare(struct every *e)
{
	struct exchange *x = e->x;
	struct nic_segment *in;

	e->slot = (x->bytes + 2 * MARGIN + 63) / 64 * 64;
	e->inbox = share(x, SLOTS_AT + x->size * e->slot,
			 NIC_READ | NIC_WRITE | NIC_ATOMIC, "in", &in);
	e->outbox = share(x, e->slot, NIC_READ, "out", &e->out_segment);
	must(x, nic_segment_alloc(x->ctx, x->size * e->slot, &e->got_segment),
	     "make a segment");
	e->got = nic_segment_addr(e->got_segment);
	must(x, nic_team_irq_create(x->team, "bell", 1024, 0, &e->irq),
	     "make an interrupt");
	connect_all(e);
}

/* Where the block stands in its slot: at an odd place */
static uint64_t place(unsigned int round)
{
	return MARGIN - 1 - round * 2 % (MARGIN / 2);
}

static void post_all(struct every *e, unsigned int round)
{
	struct exchange *x = e->x;
	uint64_t at = place(round);
	unsigned int i, k;

	for (k = 1; k < x->size; k++) {
		i = (x->rank + k) % x->size;
		must(x, nic_post_put_notify(x->queue, e->out_segment, at,
					    e->to_inbox[i],
					    SLOTS_AT + x->rank * e->slot + at, x->bytes,
					    e->to_irq[i], (uint64_t)round << 32 | x->rank,
					    0, i), "put");
		must(x, nic_post_get(x->queue, e->got_segment, i * e->slot + at,
				     e->to_outbox[i], at, x->bytes, 0, i), "get");
		must(x, nic_post_fetch_add(x->queue, e->to_inbox[i], COUNT_AT,
					   x->rank + 1, 0, i), "count");
	}
}

static void reap_all(struct every *e)
{
	unsigned int left = 3 * (e->x->size - 1);
	struct exchange *x = e->x;
	struct nic_completion done[16];
	int got, i;

	while (left) {
		got = nic_queue_wait(x->queue, done, ARRAY_SIZE(done), x->wait_ns);
		must(x, got, "wait for operations");
		for (i = 0; i < got; i++)
			if (done[i].status != NIC_OK)
				die(x, "an operation with rank %u: %s",
				    (unsigned int)done[i].cookie,
				    nic_status_name(done[i].status));
		left -= (unsigned int)got;
	}
}

/* Each other one once */
static void take_notifies(struct every *e, unsigned int round)
{
	struct exchange *x = e->x;
	struct nic_event event;
	unsigned int k, from;
	bool *seen = calloc(x->size, sizeof(*seen));

	for (k = 1; seen && k < x->size; k++) {
		must(x, nic_irq_wait(e->irq, &event, x->wait_ns), "wait for a notify");
		from = (unsigned int)event.payload;
		if (event.payload >> 32 != round || from >= x->size ||
		    from == x->rank || seen[from] ||
		    event.node != nic_team_node(x->team, from))
			die(x, "round %u: a notify %llx of node %u", round,
			    (unsigned long long)event.payload, event.node);
		seen[from] = true;
	}
	free(seen);
}

static void compare(struct every *e, const char *what, const char *slot,
		    unsigned int from, unsigned int round)
{
	uint64_t at = place(round), bytes = e->x->bytes, i;

	i = pattern_differs(slot + at, bytes, from, round);
	if (i != bytes)
		die(e->x, "round %u: byte %llu of %llu %s rank %u is wrong", round,
		    (unsigned long long)i, (unsigned long long)bytes, what, from);
	for (i = 0; i < e->slot; i++)
		if ((i < at || i >= at + bytes) && slot[i] != EMPTY)
			die(e->x, "round %u: byte %lld beside what was %s rank %u was written",
			    round, (long long)(i - at), what, from);
}

static void compare_all(struct every *e, unsigned int round)
{
	struct exchange *x = e->x;
	uint64_t each = (uint64_t)x->size * (x->size + 1) / 2 - (x->rank + 1), count;
	unsigned int i;

	for (i = 0; i < x->size; i++) {
		if (i == x->rank)
			continue;
		compare(e, "written by", e->inbox + SLOTS_AT + i * e->slot, i, round);
		compare(e, "read from", e->got + i * e->slot, i, round);
	}
	memcpy(&count, e->inbox + COUNT_AT, sizeof(count));
	if (count != each * (round + 1))
		die(x, "round %u: the count is %llu, not %llu", round,
		    (unsigned long long)count,
		    (unsigned long long)(each * (round + 1)));
}

void every_run(struct exchange *x)
{
	struct every e = { .x = x };
	unsigned int round;

	prepare(&e);
	for (round = 0; round < x->rounds; round++) {
		memset(e.inbox + SLOTS_AT, EMPTY, x->size * e.slot);
		memset(e.got, EMPTY, x->size * e.slot);
		pattern(e.outbox + place(round), x->bytes, x->rank, round);
		meet(x);
		post_all(&e, round);
		reap_all(&e);
		take_notifies(&e, round);
		/* Others may still count here, and read what is to be changed */
		meet(x);
		compare_all(&e, round);
		meet(x);
	}
	if (!x->rank)
		printf("%u ranks, %u rounds of %llu bytes: all as it should be\n", x->size,
		       x->rounds, (unsigned long long)x->bytes);
}
