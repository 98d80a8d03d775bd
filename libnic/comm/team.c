// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * team.c - ranks: who they are, how they find each other, barrier
 *
 * A rank publishes what it has under "<job>/<rank>/...", on its own node, and
 * looks up what others have; the launcher only tells ranks, nodes and secret.
 *
 * Barrier: in round k rank r notifies rank r + 2^k and waits for rank r - 2^k
 * (modulo the size); after ceil(log2(size)) rounds it has heard, through
 * others, from everyone (Hensgen, Finkel, Manber 1988). There is an interrupt
 * for each round, so each is raised by one rank only, once a barrier. Its
 * number of times raised is the number of barriers that rank has come to. A
 * fast rank may be one barrier ahead, and by one only: it cannot leave the
 * next one before this rank has come there. So "raised at least n times" is
 * exactly "has come to barrier n", nothing is reset and nothing is lost,
 * though only the last event is kept.
 *
 * A barrier that was interrupted or timed out keeps its place and goes on with
 * the next call.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <nic_team.h>
#include "../core/internal.h"
#include "nodes.h"

#define JOB_MAX		25		/* job id in names, with the final 0 */
#define ROUNDS_MAX	20
#define RANKS_MAX	(1U << ROUNDS_MAX)
#define NAME_ROOM	160		/* longer than what may be published */
#define QUEUE_ENTRIES	64U
#define PROBE_NS	200000000ULL	/* between looks whether a rank lives */

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

/* ---- what the launcher says ---- */

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

static int read_env(struct nic_team *team, unsigned int number)
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

/* ---- names ---- */

static void name_barrier(const struct nic_team *team, unsigned int rank,
			 unsigned int round, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "%s/%u/barrier.%u", team->job, rank, round);
}

/* @kind: segments and interrupts share the names of a node. */
static void name_tag(const struct nic_team *team, unsigned int rank, char kind,
		     const char *tag, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "%s/%u/%c/%s", team->job, rank, kind, tag);
}

/* ---- barrier ---- */

static int fail_rank(struct nic_team *team, int ret, unsigned int rank,
		     const char *cause)
{
	if (ret == -EREMOTEIO)
		team->broken = true;
	return nic_fail(team->ctx, ret, cause,
			"pass barrier %" PRIu64 ", rank %u waits for rank %u on node %u",
			team->barrier, team->rank, rank, team->nodes[rank]);
}

static int check_sent(struct nic_team *team,
		      const struct nic_completion *sent)
{
	if (sent->status == NIC_OK)
		return 0;
	return fail_rank(team, -EREMOTEIO, (unsigned int)sent->cookie,
			 nic_status_name(sent->status));
}

static int reap_sent(struct nic_team *team)
{
	struct nic_completion sent;
	int ret;

	while (nic_queue_poll(team->queue, &sent, 1)) {
		ret = check_sent(team, &sent);
		if (ret)
			return ret;
	}
	return 0;
}

static int notify_next(struct nic_team *team, uint64_t deadline)
{
	unsigned int to = (team->rank + (1U << team->round)) % team->size;
	struct nic_completion sent;
	int ret;

	ret = reap_sent(team);
	if (ret)
		return ret;
	/* With few in flight there is always room for one more. */
	while (nic_queue_in_flight(team->queue) >= QUEUE_ENTRIES / 2) {
		ret = nic_queue_wait(team->queue, &sent, 1, nic_left(deadline));
		if (ret < 0)
			return ret;
		ret = check_sent(team, &sent);
		if (ret)
			return ret;
	}
	ret = nic_post_notify(team->queue, team->peer[team->round],
			      team->barrier, 0, to);
	if (ret)
		return ret;
	team->notified = true;
	ret = nic_queue_submit(team->queue);
	return ret < 0 ? ret : 0;
}

static bool has_come(const struct nic_team *team)
{
	return nic_irq_count(team->irq[team->round]) >= team->barrier;
}

/* A rank that is gone has published nothing, or its node does not answer. */
static int look_for(struct nic_team *team, unsigned int rank,
		    unsigned int round)
{
	struct nic_remote *remote;
	char name[NAME_ROOM];
	int ret;

	name_barrier(team, rank, round, name);
	ret = nic_connect_irq_name(team->ctx, team->nodes[rank], name,
				   team->secret, 0, &remote);
	if (!ret)
		nic_disconnect(remote);
	return ret;
}

static int wait_previous(struct nic_team *team, uint64_t deadline)
{
	unsigned int from = (team->rank + team->size - (1U << team->round)) %
			    team->size;
	uint64_t left;
	int ret;

	for (;;) {
		left = nic_left(deadline);
		ret = nic_irq_wait_count(team->irq[team->round], team->barrier,
					 left < PROBE_NS ? left : PROBE_NS);
		if (ret != -ETIME)
			return ret;
		ret = reap_sent(team);
		if (ret)
			return ret;
		if (team->joined) {
			ret = look_for(team, from, team->round);
			/* It may have come, and left, meanwhile. */
			if ((ret == -ENOENT || ret == -EHOSTUNREACH) &&
			    !has_come(team))
				return fail_rank(team, -EREMOTEIO, from,
						 "that rank or its node died");
		}
		if (!has_come(team) && !nic_left(deadline))
			return fail_rank(team, -ETIME, from,
					 "it did not come in time; call again to go on waiting");
	}
}

int nic_team_barrier(struct nic_team *team, uint64_t timeout_ns)
{
	uint64_t deadline = nic_deadline(timeout_ns);
	int ret;

	if (team->broken)
		return nic_fail(team->ctx, -EREMOTEIO,
				"a rank died before; start the job again",
				"pass barrier %" PRIu64, team->barrier);
	while (team->round < team->rounds) {
		if (!team->notified) {
			ret = notify_next(team, deadline);
			if (ret)
				return ret;
		}
		ret = wait_previous(team, deadline);
		if (ret)
			return ret;
		team->notified = false;
		team->round++;
	}
	team->round = 0;
	team->barrier++;
	return 0;
}

/* ---- join and leave ---- */

static int publish_irqs(struct nic_team *team)
{
	char name[NAME_ROOM];
	int ret;

	for (unsigned int k = 0; k < team->rounds; k++) {
		name_barrier(team, team->rank, k, name);
		ret = nic_irq_create(team->ctx, 1, 0, name, team->secret,
				     &team->irq[k]);
		if (ret)
			return ret;
	}
	return 0;
}

static int connect_peers(struct nic_team *team, uint64_t deadline)
{
	char name[NAME_ROOM];
	unsigned int to;
	int ret;

	for (unsigned int k = 0; k < team->rounds; k++) {
		to = (team->rank + (1U << k)) % team->size;
		name_barrier(team, to, k, name);
		ret = nic_connect_irq_name(team->ctx, team->nodes[to], name,
					   team->secret, nic_left(deadline),
					   &team->peer[k]);
		/* With no time left "not published" is "not in time". */
		if (ret)
			return ret == -ENOENT ? -ETIME : ret;
	}
	return 0;
}

static int fail_missing(struct nic_team *team)
{
	int ret;

	for (unsigned int i = 0; i < team->size; i++) {
		if (i == team->rank)
			continue;
		ret = look_for(team, i, 0);
		if (ret == -ENOENT || ret == -EHOSTUNREACH)
			return nic_fail(team->ctx, -ETIME,
					"that rank did not come in time; was it started, with the same NIC_JOB?",
					"join the team of %u, rank %u waits for rank %u on node %u",
					team->size, team->rank, i,
					team->nodes[i]);
	}
	return nic_fail(team->ctx, -ETIME,
			"all ranks are there, but not all joined in time",
			"join the team of %u", team->size);
}

static int join(struct nic_team *team, uint64_t deadline)
{
	int ret;

	team->barrier = 1;
	while (1U << team->rounds < team->size)
		team->rounds++;
	if (!team->rounds)
		return 0;
	ret = nic_queue_create(team->ctx, QUEUE_ENTRIES, &team->queue);
	if (ret)
		return ret;
	ret = publish_irqs(team);
	if (ret)
		return ret;
	ret = connect_peers(team, deadline);
	if (!ret)
		ret = nic_team_barrier(team, nic_left(deadline));
	if (ret == -ETIME)
		return fail_missing(team);
	team->joined = !ret;
	return ret;
}

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
	ret = read_env(new, number);
	if (ret)
		goto err_finalize;
	ret = join(new, deadline);
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
	/* Others may still wait for our last notify. */
	if (team->queue && !team->broken)
		nic_queue_drain(team->queue, NIC_SECOND);
	for (unsigned int k = 0; k < team->rounds; k++) {
		nic_disconnect(team->peer[k]);
		nic_irq_destroy(team->irq[k]);
	}
	nic_queue_destroy(team->queue);
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

static int check_rank(const struct nic_team *team, unsigned int rank)
{
	if (rank < team->size)
		return 0;
	return nic_fail(team->ctx, -EINVAL, "there is no such rank",
			"look at rank %u of %u", rank, team->size);
}

int nic_team_share(struct nic_team *team, struct nic_segment *seg,
		   unsigned int rights, const char *tag)
{
	char name[NAME_ROOM];

	name_tag(team, team->rank, 's', tag, name);
	return nic_segment_export(seg, rights, name, team->secret, NULL);
}

int nic_team_find(struct nic_team *team, unsigned int rank, const char *tag,
		  uint64_t timeout_ns, struct nic_remote **remote)
{
	char name[NAME_ROOM];
	int ret;

	ret = check_rank(team, rank);
	if (ret)
		return ret;
	name_tag(team, rank, 's', tag, name);
	return nic_connect_name(team->ctx, team->nodes[rank], name,
				team->secret, timeout_ns, remote);
}

int nic_team_irq_create(struct nic_team *team, const char *tag,
			unsigned int depth, unsigned int flags,
			struct nic_irq **irq)
{
	char name[NAME_ROOM];

	name_tag(team, team->rank, 'i', tag, name);
	return nic_irq_create(team->ctx, depth, flags, name, team->secret, irq);
}

int nic_team_irq_find(struct nic_team *team, unsigned int rank, const char *tag,
		      uint64_t timeout_ns, struct nic_remote **remote)
{
	char name[NAME_ROOM];
	int ret;

	ret = check_rank(team, rank);
	if (ret)
		return ret;
	name_tag(team, rank, 'i', tag, name);
	return nic_connect_irq_name(team->ctx, team->nodes[rank], name,
				    team->secret, timeout_ns, remote);
}
