// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * barrier.c - all ranks meet, and who does not come is found out
 *
 * In round k rank r notifies rank r + 2^k and waits for rank r - 2^k
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
#include "team.h"

#define QUEUE_ENTRIES	64U
#define PROBE_NS	200000000ULL	/* between looks whether a rank lives */
#define LOOKS		100U		/* for one that is missing, where signals come */

static void name_barrier(const struct nic_team *team, unsigned int rank,
			 unsigned int round, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "%s/%u/barrier.%u", team->job, rank, round);
}

/* ---- one round ---- */

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

/*
 * What look_for() says of a rank that does not come any more. While the own network
 * device is down (ENETDOWN) nothing is known of others: that may end.
 */
static bool is_gone(int ret)
{
	return ret == -ENOENT || ret == -EHOSTUNREACH || ret == -EOPNOTSUPP;
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
			if (ret == -EINTR)
				return ret;
			/* It may have come, and left, meanwhile. */
			if (is_gone(ret) && !has_come(team))
				return fail_rank(team, -EREMOTEIO, from,
						 "that rank or its node died");
		}
		if (!has_come(team) && !nic_left(deadline))
			return fail_rank(team, -ETIME, from,
					 "it did not come in time; call again to go on waiting");
	}
}

/* ---- all rounds ---- */

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
		/* Whoever has found our interrupts must not have to find others */
		do {
			ret = nic_connect_irq_name(team->ctx, team->nodes[to], name,
						   team->secret, nic_left(deadline),
						   &team->peer[k]);
		} while (ret == -EINTR && nic_left(deadline));
		/* With no time left "not published" is "not in time". */
		if (ret)
			return ret == -ENOENT || ret == -EINTR ? -ETIME : ret;
	}
	return 0;
}

static int fail_missing(struct nic_team *team)
{
	unsigned int tries;
	int ret;

	for (unsigned int i = 0; i < team->size; i++) {
		if (i == team->rank)
			continue;
		/* Signals may come more often than answers */
		for (tries = 0; tries < LOOKS; tries++) {
			ret = look_for(team, i, 0);
			if (ret != -EINTR)
				break;
		}
		if (ret == -ENETDOWN)
			return ret;
		if (is_gone(ret))
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

int nic_barrier_join(struct nic_team *team, uint64_t deadline)
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
	if (!ret) {
		do {
			ret = nic_team_barrier(team, nic_left(deadline));
		} while (ret == -EINTR && nic_left(deadline));
	}
	if (ret == -ETIME || ret == -EINTR)
		return fail_missing(team);
	team->joined = !ret;
	return ret;
}

void nic_barrier_leave(struct nic_team *team)
{
	uint64_t deadline = nic_deadline(NIC_SECOND);

	/* Others may still wait for our last notify. */
	if (team->queue && !team->broken)
		while (nic_queue_drain(team->queue, nic_left(deadline)) == -EINTR)
			;
	for (unsigned int k = 0; k < team->rounds; k++) {
		nic_disconnect(team->peer[k]);
		nic_irq_destroy(team->irq[k]);
	}
	nic_queue_destroy(team->queue);
}
