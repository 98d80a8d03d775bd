/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ranks.h - a job of ranks on a loop fabric, as nicrun would start it
 *
 * Each rank is a child with a context and a team; what fails in it fails the
 * test.
 */
#ifndef RANKS_H
#define RANKS_H

#include "selftests/kernel/dmanic_test.h"

#include <nic.h>
#include <nic_team.h>

/* Longest wait for another rank: longer than anything but a hang */
#define WAIT_NS		slow_ns(10000)

/**
 * struct rank - what a rank knows
 * @rank: 0 to @size - 1
 * @size: how many there are
 * @ctx: its node
 * @team: all of them
 * @shared: zeroed memory that all ranks of the job see, RANKS_SHARED long
 */
struct rank {
	unsigned int rank;
	unsigned int size;
	struct nic_ctx *ctx;
	struct nic_team *team;
	void *shared;
};

#define RANKS_SHARED	65536UL

/* A fabric of @size nodes, a rank on each; returns when all have ended well. */
void ranks_run(unsigned int size, void (*main_of)(struct rank *rank));

/* A call of libnic has to give 0. */
#define NIC_OK_OR_FAIL(context, call) do {				\
	int ret_ = (call);						\
									\
	if (ret_)							\
		FAIL("%s: %d: %s", #call, ret_,				\
		     nic_error_detail(context));			\
} while (0)

#endif /* RANKS_H */
