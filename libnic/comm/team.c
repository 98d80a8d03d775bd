// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * team.c - ranks: how they join, who they are, what they share
 *
 * A rank publishes what it has under "<job>/<rank>/...", on its own node, and
 * looks up what others have; the launcher only tells ranks, nodes and secret.
 */
#include <stdio.h>
#include <stdlib.h>
#include "team.h"

/* ---- join and leave ---- */

int nic_team_init(struct nic_ctx *ctx, uint64_t timeout_ns,
		  struct nic_team **team)
{
	static unsigned int joined;
	unsigned int number = __atomic_load_n(&joined, __ATOMIC_RELAXED);
	uint64_t deadline = nic_deadline(timeout_ns);
	struct nic_team *new;
	int ret;

	new = calloc(1, sizeof(*new));
	if (!new)
		return nic_fail(ctx, -ENOMEM, NULL, "join the team");
	new->ctx = ctx;
	ret = nic_launcher_read(new, number);
	if (ret)
		goto err_finalize;
	ret = nic_barrier_join(new, deadline);
	if (ret)
		goto err_finalize;
	__atomic_add_fetch(&joined, 1, __ATOMIC_RELAXED);
	*team = new;
	return 0;

err_finalize:
	new->broken = true;	/* nobody waits for it */
	nic_team_finalize(new);
	return ret;
}

void nic_team_finalize(struct nic_team *team)
{
	if (!team)
		return;
	nic_barrier_leave(team);
	free(team->nodes);
	free(team);
}

/* ---- who and where ---- */

unsigned int nic_team_rank(const struct nic_team *team)
{
	return team->rank;
}

unsigned int nic_team_size(const struct nic_team *team)
{
	return team->size;
}

uint32_t nic_team_node(const struct nic_team *team, unsigned int rank)
{
	return rank < team->size ? team->nodes[rank] : UINT32_MAX;
}

const uint64_t *nic_team_secret(const struct nic_team *team)
{
	return team->secret;
}

/* ---- what ranks share ---- */

/* Segments and interrupts share the names of a node. */
#define SEGMENT	's'
#define IRQ	'i'

static void name_tag(const struct nic_team *team, unsigned int rank, char kind,
		     const char *tag, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "%s/%u/%c/%s", team->job, rank, kind, tag);
}

static int find(struct nic_team *team, unsigned int rank, char kind,
		const char *tag, uint64_t timeout_ns,
		struct nic_remote **remote)
{
	char name[NAME_ROOM];

	if (rank >= team->size)
		return nic_fail(team->ctx, -EINVAL, "there is no such rank",
				"look at rank %u of %u", rank, team->size);
	name_tag(team, rank, kind, tag, name);
	return (kind == SEGMENT ? nic_connect_name : nic_connect_irq_name)
		(team->ctx, team->nodes[rank], name, team->secret, timeout_ns,
		 remote);
}

int nic_team_share(struct nic_team *team, struct nic_segment *seg,
		   unsigned int rights, const char *tag)
{
	char name[NAME_ROOM];

	name_tag(team, team->rank, SEGMENT, tag, name);
	return nic_segment_export(seg, rights, name, team->secret, NULL);
}

int nic_team_find(struct nic_team *team, unsigned int rank, const char *tag,
		  uint64_t timeout_ns, struct nic_remote **remote)
{
	return find(team, rank, SEGMENT, tag, timeout_ns, remote);
}

int nic_team_irq_create(struct nic_team *team, const char *tag,
			unsigned int depth, unsigned int flags,
			struct nic_irq **irq)
{
	char name[NAME_ROOM];

	name_tag(team, team->rank, IRQ, tag, name);
	return nic_irq_create(team->ctx, depth, flags, name, team->secret, irq);
}

int nic_team_irq_find(struct nic_team *team, unsigned int rank, const char *tag,
		      uint64_t timeout_ns, struct nic_remote **remote)
{
	return find(team, rank, IRQ, tag, timeout_ns, remote);
}
