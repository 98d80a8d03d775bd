/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nicrun.h - a run of nicrun: its options and its ranks
 *
 *   main.c     prepares, starts the ranks, waits
 *   options.c  the command line
 *   device.c   the device of every rank
 *   advice.c   how those are made that are missing
 *   rank.c     what a rank gets, and how it starts
 *   label.c    output of the ranks with --label
 *   end.c      how they end: signals, deadlines, the exit status
 *
 * One thread and one job, which the parts share as opt and ranks. Where a
 * function says nothing else it returns false when it fails, and has told why
 * on stderr.
 */
#ifndef NICRUN_H
#define NICRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <nic.h>

#include "tools/common/output.h"

#define LINE_MAX_BYTES	4096
#define RANKS_MAX	4096

/**
 * struct options - the command line
 * @n: how many ranks
 * @prefix: of the names of their devices
 * @nodes: numbers of these as a list, NULL: one after the other
 * @here: which ranks to start as a list, NULL: all
 * @timeout_ns: end the ranks then; 0: never
 * @label: begin lines of output with the rank
 * @bind: each rank to one CPU
 */
struct options {
	unsigned int n;
	const char *prefix;
	const char *nodes;
	const char *here;
	uint64_t timeout_ns;
	bool label;
	bool bind;
};

/* One of the outputs of a rank, with --label */
struct stream {
	int fd;			/* -1: closed */
	FILE *to;
	size_t used;
	char line[LINE_MAX_BYTES];
};

struct rank {
	bool here;		/* on this machine */
	pid_t pid;		/* 0: not running */
	uint32_t number;	/* of the device */
	uint32_t node;
	struct stream stream[2];
};

extern struct options opt;
extern struct rank *ranks;	/* opt.n */

/* main.c: a line on stderr */
void say(const char *format, ...) OUTPUT_PRINTF(1, 2);

/* ---- options.c; what is wrong ends the program ---- */

/* Fill in opt. Return: the program and its arguments. */
char **options_parse(int argc, char **argv);

/* The device number of every rank, and whether it is on this machine */
void options_number_ranks(void);

void wrong_usage(const char *format, ...) OUTPUT_PRINTF(1, 2)
	__attribute__((noreturn));

/* ---- device.c ---- */

void device_name(const struct rank *rank, char name[NIC_NAME_MAX]);

/* Find out the node of every rank; tell all that is missing at once. */
bool devices_find(void);

/* ---- advice.c ---- */

/* What is there of the same prefix, besides the devices that are missing */
enum others {
	OTHERS_NONE,
	OTHERS_LOOP,		/* a fabric in this network namespace */
	OTHERS_ETHER,		/* nodes in this network namespace */
	OTHERS_ELSEWHERE,	/* in another network namespace, of whatever type */
};

/**
 * struct missing - devices that ranks have none of
 * @prefix: of their names
 * @here: the other ranks are on other machines
 * @count: how many are missing
 * @first: number of the first that is missing
 * @last: the largest number of all ranks
 * @others: what there is instead
 * @there: number of one of these
 */
struct missing {
	const char *prefix;
	bool here;
	unsigned int count;
	uint32_t first;
	uint32_t last;
	enum others others;
	uint32_t there;
};

void advice_missing(const struct missing *missing);

/* ---- rank.c ---- */

/* What all ranks see alike */
bool ranks_set_environment(void);

/*
 * Returns once the rank runs @program, or cannot. Return: 0, or the exit status
 * nicrun shall have.
 */
int rank_start(unsigned int i, char **program);

/* ---- label.c ---- */

/* Pipes for a rank about to start; @out: its ends. Return: 0 or -errno. */
int label_open(struct rank *rank, int out[2]);

/*
 * Some of what is there; false when nothing is. Lines come out whole; those
 * longer than the buffer are cut.
 */
bool label_read(unsigned int i, struct stream *stream);

/* All that is there still */
void label_close(unsigned int i, struct stream *stream);

/* ---- end.c ---- */

/* From now on signals wait for end_take_signal(), in the returned file; -1 */
int end_watch_signals(void);

/* In a child, which is to have them again */
void end_restore_signals(void);

void end_take_signal(void);

void end_after(uint64_t timeout_ns);

/* A deadline may have come. */
void end_check_deadlines(void);

/* Until the next deadline, for poll() */
int end_poll_timeout(void);

/* Something failed with this exit status: ask all ranks to end. */
void end_with(int status);

/* See who has ended; false when no child is left. */
bool end_reap(void);

/* Exit status of nicrun, when all have ended */
int end_status(void);

#endif /* NICRUN_H */
