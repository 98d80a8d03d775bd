// SPDX-License-Identifier: GPL-2.0-only
/*
 * every.c - every rank with every other, all contents compared
 *
 * In a round each rank writes its block into its slot at each other rank and
 * notifies it, reads the block of each other, counts there, and changes a word of its
 * own there. Then each compares
 * what was written here, with the bytes around it, and what it has read; looks
 * whether each other one notified it once; and whether the count is that of all.
 * Blocks begin at odd places, other ones each round, and are moved in one piece, by two
 * strided operations, or by a list.
 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN		64U	/* around a block, never written */
#define EMPTY		0x5a
#define COUNT_AT	0U	/* in the inbox; behind it a word for each rank */
#define BLOCKS		16U	/* of each of two strided operations */
#define PIECES		4U	/* of a list */

/* How a block is moved */
enum way { IN_ONE, STRIDED, LISTED, WAYS };

/* What a cookie says besides the rank */
enum what { MOVED, COUNTED, COMPARED, SWAPPED };

/**
 * struct every - what the rank has for it
 * @x: the rank
 * @slot: bytes of a block with its margins
 * @slots_at: where slots begin in an inbox
 * @inbox: count, words and slots, one for each rank
 * @outbox: the block
 * @got: slots for what is read
 * @got_segment: of it
 * @out_segment: of @outbox
 * @pieces: list of the pieces of a block
 * @irq: told of what is written here
 * @posted: operations under way
 * @to_inbox: of each other
 * @to_outbox: of each other
 * @to_irq: of each other
 */
struct every {
	struct exchange *x;
	uint64_t slot;
	uint64_t slots_at;
	char *inbox;
	char *outbox;
	char *got;
	struct nic_segment *got_segment;
	struct nic_segment *out_segment;
	struct nic_segment *pieces;
	struct nic_irq *irq;
	unsigned int posted;
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

/* Not in the order in which they lie */
static void prepare_pieces(struct every *e)
{
	static const unsigned int order[PIECES] = { 2, 0, 3, 1 };
	uint64_t piece = e->x->bytes / PIECES;
	struct nic_list_entry *entry;
	unsigned int k;

	must(e->x, nic_segment_alloc(e->x->ctx, PIECES * sizeof(*entry), &e->pieces),
	     "make a list");
	entry = nic_segment_addr(e->pieces);
	for (k = 0; k < PIECES; k++) {
		entry[k] = (struct nic_list_entry) {
			.local_offset = order[k] * piece,
			.remote_offset = order[k] * piece,
			.bytes = piece,
		};
		if (order[k] == PIECES - 1)
			entry[k].bytes += e->x->bytes % PIECES;
	}
}

static void prepare(struct every *e)
{
	struct exchange *x = e->x;
	struct nic_segment *in;

	e->slot = (x->bytes + 2 * MARGIN + 63) / 64 * 64;
	e->slots_at = (sizeof(uint64_t) * (1 + x->size) + 63) / 64 * 64;
	e->inbox = share(x, e->slots_at + x->size * e->slot,
			 NIC_READ | NIC_WRITE | NIC_ATOMIC, "in", &in);
	e->outbox = share(x, e->slot, NIC_READ, "out", &e->out_segment);
	must(x, nic_segment_alloc(x->ctx, x->size * e->slot, &e->got_segment),
	     "make a segment");
	e->got = nic_segment_addr(e->got_segment);
	prepare_pieces(e);
	must(x, nic_team_irq_create(x->team, "bell", 1024, 0, &e->irq),
	     "make an interrupt");
	connect_all(e);
}

/* Where the block stands in its slot: at an odd place */
static uint64_t place(unsigned int round)
{
	return MARGIN - 1 - round * 2 % (MARGIN / 2);
}

static uint64_t cookie_of(enum what what, unsigned int rank)
{
	return (uint64_t)what << 32 | rank;
}

static void posted(struct every *e, int ret, const char *what)
{
	must(e->x, ret, what);
	e->posted++;
}

/*
 * One has the blocks with even numbers, the other those with odd ones. Return: how
 * many bytes of a block that is; the rest is less than both have in one of theirs.
 */
static uint64_t strides(const struct every *e, struct nic_stride *stride)
{
	uint64_t block = e->x->bytes / (2 * BLOCKS);

	*stride = (struct nic_stride) {
		.block = (uint32_t)block, .count = BLOCKS,
		.local_stride = (uint32_t)(2 * block), .remote_stride = (uint32_t)(2 * block),
	};
	return 2 * BLOCKS * block;
}

static void post_put(struct every *e, unsigned int i, unsigned int round)
{
	uint64_t from = place(round), to = e->slots_at + e->x->rank * e->slot + from;
	uint64_t payload = (uint64_t)round << 32 | e->x->rank, done = 0;
	const struct nic_segment *out = e->out_segment;
	const struct nic_list list = { .seg = e->pieces, .count = PIECES };
	const uint64_t cookie = cookie_of(MOVED, i);
	struct nic_queue *queue = e->x->queue;
	struct nic_remote *in = e->to_inbox[i];
	struct nic_stride stride;
	unsigned int k;

	switch ((enum way)(round % WAYS)) {
	case LISTED:
		posted(e, nic_post_put_list(queue, out, from, in, to, &list, 0, cookie),
		       "put a list");
		posted(e, nic_post_notify(queue, e->to_irq[i], payload, 0, cookie), "notify");
		return;
	case STRIDED:
		done = strides(e, &stride);
		for (k = 0; done && k < 2; k++)
			posted(e, nic_post_put_strided(queue, out, from + k * stride.block, in,
						       to + k * stride.block, &stride, 0,
						       cookie), "put blocks");
		break;
	default:
		break;
	}
	posted(e, nic_post_put_notify(queue, out, from + done, in, to + done,
				      e->x->bytes - done, e->to_irq[i], payload, 0, cookie),
	       "put");
}

static void post_get(struct every *e, unsigned int i, unsigned int round)
{
	uint64_t from = place(round), to = i * e->slot + from, done = 0;
	const struct nic_list list = { .seg = e->pieces, .count = PIECES };
	const uint64_t cookie = cookie_of(MOVED, i);
	struct nic_remote *out = e->to_outbox[i];
	struct nic_queue *queue = e->x->queue;
	struct nic_stride stride;
	unsigned int k;

	switch ((enum way)((round + 1) % WAYS)) {
	case LISTED:
		posted(e, nic_post_get_list(queue, e->got_segment, to, out, from, &list, 0,
					    cookie), "get a list");
		return;
	case STRIDED:
		done = strides(e, &stride);
		for (k = 0; done && k < 2; k++)
			posted(e, nic_post_get_strided(queue, e->got_segment,
						       to + k * stride.block, out,
						       from + k * stride.block, &stride, 0,
						       cookie), "get blocks");
		break;
	default:
		break;
	}
	posted(e, nic_post_get(queue, e->got_segment, to + done, out, from + done,
			       e->x->bytes - done, 0, cookie), "get");
}

/* What a rank's own word is at each other, from round to round, and meanwhile */
static uint64_t word(unsigned int round) { return round * 3ULL; }
static uint64_t word_between(unsigned int round) { return ~word(round); }

static void post_atomics(struct every *e, unsigned int i, unsigned int round)
{
	uint64_t own = COUNT_AT + sizeof(uint64_t) * (1 + e->x->rank);
	struct nic_remote *in = e->to_inbox[i];
	struct nic_queue *queue = e->x->queue;

	posted(e, nic_post_fetch_add(queue, in, COUNT_AT, e->x->rank + 1, 0,
				     cookie_of(COUNTED, i)), "count");
	posted(e, nic_post_compare_swap(queue, in, own, word(round), word_between(round), 0,
					cookie_of(COMPARED, i)), "compare and swap");
	posted(e, nic_post_swap(queue, in, own, word(round + 1), 0, cookie_of(SWAPPED, i)),
	       "swap");
}

static void post_all(struct every *e, unsigned int round)
{
	struct exchange *x = e->x;
	unsigned int i, k;

	for (k = 1; k < x->size; k++) {
		i = (x->rank + k) % x->size;
		post_put(e, i, round);
		post_get(e, i, round);
		post_atomics(e, i, round);
	}
}

static void reaped(const struct every *e, const struct nic_completion *done, unsigned int round)
{
	unsigned int rank = (unsigned int)done->cookie;
	enum what what = (enum what)(done->cookie >> 32);

	if (done->status != NIC_OK)
		die(e->x, "an operation with rank %u: %s", rank, nic_status_name(done->status));
	if ((what == COMPARED && done->result != word(round)) ||
	    (what == SWAPPED && done->result != word_between(round)))
		die(e->x, "round %u: the word at rank %u is wrong: %#llx", round, rank,
		    (unsigned long long)done->result);
}

static void reap_all(struct every *e, unsigned int round)
{
	struct exchange *x = e->x;
	struct nic_completion done[16];
	int got, i;

	while (e->posted) {
		got = nic_queue_wait(x->queue, done, ARRAY_SIZE(done), x->wait_ns);
		must(x, got, "wait for operations");
		for (i = 0; i < got; i++)
			reaped(e, &done[i], round);
		e->posted -= (unsigned int)got;
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
	uint64_t each = (uint64_t)x->size * (x->size + 1) / 2 - (x->rank + 1);
	uint64_t count, wanted = each * (round + 1);
	unsigned int i;

	for (i = 0; i < x->size; i++) {
		if (i == x->rank)
			continue;
		compare(e, "written by", e->inbox + e->slots_at + i * e->slot, i, round);
		compare(e, "read from", e->got + i * e->slot, i, round);
	}
	memcpy(&count, e->inbox + COUNT_AT, sizeof(count));
	if (count != wanted)
		die(x, "round %u: the count is %llu, not %llu", round,
		    (unsigned long long)count, (unsigned long long)wanted);
}

void every_run(struct exchange *x)
{
	struct every e = { .x = x };
	unsigned int round;

	prepare(&e);
	for (round = 0; round < x->rounds; round++) {
		memset(e.inbox + e.slots_at, EMPTY, x->size * e.slot);
		memset(e.got, EMPTY, x->size * e.slot);
		pattern(e.outbox + place(round), x->bytes, x->rank, round);
		meet(x);
		post_all(&e, round);
		reap_all(&e, round);
		take_notifies(&e, round);
		/* Others may still count here, and read what is to be changed */
		meet(x);
		compare_all(&e, round);
		meet(x);
	}
	free(e.to_inbox);
	free(e.to_outbox);
	free(e.to_irq);
	if (!x->rank)
		printf("%u ranks, %u rounds of %llu bytes: all as it should be\n", x->size,
		       x->rounds, (unsigned long long)x->bytes);
}
