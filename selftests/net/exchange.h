/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exchange.h - a job of ranks that move bytes and say what became of them
 *
 *	exchange.c  the command line; what a rank has
 *	every.c     every rank with every other, all contents compared
 *	flood.c     all ranks to rank 0, for a time; how fast each is
 *	watch.c     rank 0 to the others until an operation fails; how, and after what
 *		    time
 *	change.c    rank 1 to rank 0, of memory that it changes meanwhile
 *	overtake.c  rank 1 to rank 0, and asks it for something before that is there
 *	reach.c     one rank to nodes that are none; how that ends
 *
 * nicrun starts the ranks, on one machine or on several. What goes wrong ends the
 * program with a sentence (die(), must()).
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include <nic_team.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/**
 * struct exchange - a rank
 * @ctx: its device
 * @team: all ranks
 * @rank: which it is
 * @size: how many there are
 * @queue: to all others
 * @to: node, for trust.c, or for reach.c the first of them
 * @nodes: how many, for reach.c
 * @bytes: of an operation
 * @depth: operations under way
 * @rounds: how often, for every.c
 * @time_ns: how long, for flood.c, change.c and trust.c
 * @wait_ns: longest wait for others
 * @poll_thread: moves what is posted
 * @read_back: by flood.c, each operation
 */
struct exchange {
	struct nic_ctx *ctx;
	struct nic_team *team;
	unsigned int rank;
	unsigned int size;
	struct nic_queue *queue;
	uint32_t to;
	unsigned int nodes;
	uint64_t bytes;
	unsigned int depth;
	unsigned int rounds;
	uint64_t time_ns;
	uint64_t wait_ns;
	bool poll_thread;
	bool read_back;
};

/* A line on stderr, then the end */
void die(const struct exchange *x, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Unless a call of libnic went well */
void must(const struct exchange *x, int ret, const char *what);

/* All ranks are there */
void meet(const struct exchange *x);

/* A queue anew, in x->queue */
void exchange_queue(struct exchange *x);

/* Memory that the others find by @tag */
char *share(const struct exchange *x, uint64_t bytes, unsigned int rights,
	    const char *tag, struct nic_segment **segment);

/* What @rank sends in @round: never the same twice */
void pattern(void *memory, uint64_t bytes, unsigned int rank, unsigned int round);
/* The first byte that is not so, or @bytes */
uint64_t pattern_differs(const void *memory, uint64_t bytes, unsigned int rank,
			 unsigned int round);

void every_run(struct exchange *x);
void flood_run(struct exchange *x);
void watch_run(struct exchange *x);
void change_run(struct exchange *x);
void overtake_run(struct exchange *x);
void reach_run(struct exchange *x);
void trust_run(struct exchange *x);

#endif /* EXCHANGE_H */
