// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * launcher.c - what the launcher says: rank, size, nodes, secret, job
 *
 * All of it is in the environment, which is read here and nowhere else. What
 * contradicts itself is refused, and the refusal quotes the variable.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nodes.h"
#include "team.h"

/*
 * Slurm comes last: its variables are also there in a batch script that starts
 * its ranks with mpirun.
 */
static const struct launcher {
	const char *rank, *size, *job, *step;
} launchers[] = {
	{ "NIC_RANK", "NIC_SIZE", NULL, NULL },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	  "OMPI_MCA_ess_base_jobid", NULL },
	{ "PMI_RANK", "PMI_SIZE", "PMI_JOBID", NULL },
	{ "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID" },
};

static const char *variable(const char *name)
{
	const char *text = name ? getenv(name) : NULL;

	return text && *text ? text : NULL;
}

static int fail_env(struct nic_team *team, const char *name, const char *text,
		    const char *cause)
{
	nic_fail(team->ctx, -EINVAL, cause, "join the team, %s is \"%.60s\"",
		 name, text);
	return -EINVAL;
}

/* A number that must be there and below @limit */
static int read_number(struct nic_team *team, const char *name, uint32_t limit,
		       unsigned int *number)
{
	const char *text = variable(name), *end;
	uint32_t value;

	if (!text)
		return fail_env(team, name, "",
				"the launcher set only one of rank and size");
	end = nic_nodes_number(text, &value);
	if (!end || *end || value >= limit)
		return fail_env(team, name, text,
				"that is no number, or too large");
	*number = value;
	return 0;
}

static int read_ranks(struct nic_team *team, const struct launcher **launcher)
{
	const struct launcher *l;
	int ret;

	team->size = 1;
	*launcher = NULL;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		l = &launchers[i];
		if (!variable(l->rank) && !variable(l->size))
			continue;
		*launcher = l;
		ret = read_number(team, l->size, RANKS_MAX + 1, &team->size);
		if (ret)
			return ret;
		if (!team->size)
			return fail_env(team, l->size, "0",
					"a team has 1 rank at least");
		ret = read_number(team, l->rank, RANKS_MAX, &team->rank);
		if (ret)
			return ret;
		if (team->rank < team->size)
			return 0;
		return fail_env(team, l->rank, variable(l->rank),
				"the rank must be less than the size");
	}
	return 0;
}

static int read_nodes(struct nic_team *team, bool launched)
{
	uint32_t own = team->ctx->info.node;
	const char *text = variable("NIC_NODES");
	char cause[120];
	int count;

	team->nodes = calloc(team->size, sizeof(*team->nodes));
	if (!team->nodes)
		return nic_fail(team->ctx, -ENOMEM, NULL, "join the team");
	if (!launched) {
		team->nodes[0] = own;
		return 0;
	}
	for (unsigned int i = 0; i < team->size; i++)
		team->nodes[i] = i;
	if (text) {
		count = nic_nodes_parse(text, team->nodes, team->size);
		if (count == -EINVAL)
			return fail_env(team, "NIC_NODES", text,
					"that is no list like \"0,1,2\" or \"0-8\"");
		snprintf(cause, sizeof(cause),
			 "it must name as many nodes as there are ranks, %u",
			 team->size);
		if (count < 0 || (unsigned int)count != team->size)
			return fail_env(team, "NIC_NODES", text, cause);
	}
	if (team->nodes[team->rank] == own)
		return 0;
	snprintf(cause, sizeof(cause),
		 "rank %u is on node %u, but %s is node %u; set NIC_DEVICE or NIC_NODES right",
		 team->rank, team->nodes[team->rank], team->ctx->info.name,
		 own);
	return fail_env(team, "NIC_NODES", text ? text : "", cause);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_secret(struct nic_team *team)
{
	const char *text = variable("NIC_SECRET");
	uint64_t *word;
	size_t i;

	if (!text)
		return 0;
	for (i = 0; i < 32 && hex_digit(text[i]) >= 0; i++) {
		word = &team->secret[i / 16];
		*word = *word << 4 | (uint64_t)hex_digit(text[i]);
	}
	if (i == 32 && !text[i])
		return 0;
	/* The value does not belong into a message. */
	return fail_env(team, "NIC_SECRET", "...",
			"it must have 32 hexadecimal digits");
}

/* Ids too long for a name are told apart by their hash (FNV-1a). */
static void shorten(char job[JOB_MAX], const char *id)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	if (snprintf(job, JOB_MAX, "%s", id) < JOB_MAX)
		return;
	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
	snprintf(job, JOB_MAX, "%016" PRIx64, hash);
}

/*
 * The prefix of all names. A second team of the same processes must not find
 * what is left of the first in ranks that are slower, so it has a number.
 */
static void read_job(struct nic_team *team, const struct launcher *launcher,
		     unsigned int number)
{
	const char *job = variable("NIC_JOB"), *step = NULL;
	char id[256];
	size_t len;

	if (!job && launcher) {
		job = variable(launcher->job);
		step = variable(launcher->step);
	}
	if (job)
		snprintf(id, sizeof(id), "%s%s%s", job, step ? "." : "",
			 step ? step : "");
	else if (launcher)
		snprintf(id, sizeof(id), "job");
	else
		snprintf(id, sizeof(id), "pid%ld", (long)getpid());
	shorten(team->job, id);
	len = strlen(team->job);
	if (number)
		snprintf(team->job + len, sizeof(team->job) - len, ".%u",
			 number % 1000000);
}

int nic_launcher_read(struct nic_team *team, unsigned int number)
{
	const struct launcher *launcher;
	int ret;

	ret = read_ranks(team, &launcher);
	if (ret)
		return ret;
	ret = read_nodes(team, launcher);
	if (ret)
		return ret;
	read_job(team, launcher, number);
	return read_secret(team);
}
