/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * team.h - a team, and what its parts do for each other
 *
 *   launcher.c  what the launcher says
 *   barrier.c   all ranks meet, and who does not come is found out
 *   team.c      join and leave, who and where, what ranks share
 */
#ifndef LIBNIC_TEAM_H
#define LIBNIC_TEAM_H

#include <nic_team.h>
#include "../core/internal.h"

#define JOB_MAX		25		/* job id in names, with the final 0 */
#define ROUNDS_MAX	20
#define RANKS_MAX	(1U << ROUNDS_MAX)
#define NAME_ROOM	160		/* longer than what may be published */

struct nic_team {
	struct nic_ctx *ctx;
	unsigned int rank;
	unsigned int size;
	uint32_t *nodes;
	uint64_t secret[2];
	char job[JOB_MAX + 8];

	/* Barrier; without others all of it is zero. */
	struct nic_queue *queue;
	struct nic_irq *irq[ROUNDS_MAX];
	struct nic_remote *peer[ROUNDS_MAX];
	unsigned int rounds;
	unsigned int round;	/* where the barrier under way is */
	bool notified;		/* the rank of this round */
	bool joined;		/* all ranks have been seen */
	bool broken;		/* a rank died: no barrier can end any more */
	uint64_t barrier;	/* number of the barrier under way, from 1 */
};

/*
 * Fill in what the environment says, or a team of one; @number: how many teams
 * this process had before. Return: 0, -EINVAL, -ENOMEM.
 */
int nic_launcher_read(struct nic_team *team, unsigned int number);

/* Publish and find what barriers need, and wait in the first one for all. */
int nic_barrier_join(struct nic_team *team, uint64_t deadline);

/* Also of a team that only began to join */
void nic_barrier_leave(struct nic_team *team);

#endif /* LIBNIC_TEAM_H */
