/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ranks.h - the two ends are the two ranks of a job
 *
 * What these do when both ends are in this process is said in brackets. A failure is
 * run_fail()'s.
 */
#ifndef NICPERF_RANKS_H
#define NICPERF_RANKS_H

#include <stdint.h>

struct run;

/* Join the job; rank 0 has run->near then, rank 1 run->far and run->serves */
int ranks_open(struct run *run, uint64_t bytes);

/* Rank 1: answer until rank 0 is done */
int ranks_serve(struct run *run);

void ranks_close(struct run *run);

/* Have @bytes from @at on, in run->far's memory, at the other end [they are] */
int far_push(struct run *run, const char *at, uint64_t bytes);

/* See there what the other end has [it is seen] */
int far_pull(struct run *run, const char *at, uint64_t bytes);

/*
 * How often the other end's interrupt was raised; between ranks each call raises it
 * once more, after it was counted
 */
int far_raised(struct run *run, uint64_t *raised);

#endif /* NICPERF_RANKS_H */
