/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * beside.h - a thread that keeps another CPU busy
 *
 * A program that polls, and the engine or the thread that works for it, run on two
 * CPUs. Where these share a core, each is slower while the other one runs; what
 * that is compared with, then, is measured while another CPU is busy, too.
 */
#ifndef NICPERF_BESIDE_H
#define NICPERF_BESIDE_H

#include <stdbool.h>

struct beside;
struct run;

/* On the second CPU, at rest; NULL: there is no second one, or no thread */
struct beside *beside_create(const struct run *run);
/* Returns when it is; @beside may be NULL */
void beside_set_busy(struct beside *beside, bool busy);
void beside_free(struct beside *beside);

#endif /* NICPERF_BESIDE_H */
