// SPDX-License-Identifier: GPL-2.0-only
/*
 * ranks.c - the two ends are the two ranks of a job, on one machine or two
 *
 * Rank 0 measures, rank 1 answers (pong.c) and is written to. Rank 0 has a mirror of
 * the segment of rank 1, a segment of its own of the same shape, which stands for
 * run->far: what is to be there is put there from the mirror, and what is there is
 * got into it. It is also what memcpy copies to and from.
 */
#include <string.h>

#include "nicperf.h"
#include "pong.h"
#include "ranks.h"

#define RANKS_NS	60000000000ULL	/* until the other one has started */

static const char * const roles[] = { "near", "far" };

static int ranks_fail(struct run *run, const char *what)
{
	return run_fail(run, "%s: cannot %s: %s", run->opt.device, what,
			nic_error_detail(run->team_ctx));
}

static int ranks_join(struct run *run, struct job *job)
{
	unsigned int size;

	if (nic_open(run->opt.device, &run->team_ctx)) {
		run->team_ctx = NULL;
		return ranks_fail(run, "open the device");
	}
	if (nic_team_init(run->team_ctx, RANKS_NS, &run->team)) {
		run->team = NULL;
		return ranks_fail(run, "join the other rank");
	}
	size = nic_team_size(run->team);
	if (size != 2)
		return run_fail(run, "--ranks is for a job of two ranks, and this one has %u: nicrun -n 2 nicperf ...",
				size);
	snprintf(job->tag, sizeof(job->tag), "ranks");
	memcpy(job->secret, nic_team_secret(run->team), sizeof(job->secret));
	return 0;
}

/* Of what rank 1 has */
static int mirror_open(struct run *run)
{
	struct end *near = &run->near, *far = &run->far;

	if (near->remote_half != near->half)
		return run_fail(run, "the ranks were started with different options");
	far->device = "rank 1";
	far->info = near->info;
	snprintf(far->info.name, sizeof(far->info.name), "rank 1, node %u",
		 nic_remote_node(near->remote));
	far->half = near->half;
	if (nic_segment_alloc(near->ctx, 2 * far->half, &far->segment)) {
		far->segment = NULL;
		end_fail(near, -1, "make a segment");
		return run_end_fail(run, near);
	}
	far->memory = nic_segment_addr(far->segment);
	return 0;
}

int ranks_open(struct run *run, uint64_t bytes)
{
	struct job job = { };
	unsigned int rank;
	struct end *end;

	if (ranks_join(run, &job))
		return -1;
	rank = nic_team_rank(run->team);
	end = rank ? &run->far : &run->near;
	if (end_open(end, run->opt.device, &job, roles[rank], bytes))
		return run_end_fail(run, end);
	report_link(run->report, end->info.link);
	if (end_connect(end, &job, nic_team_node(run->team, !rank), roles[!rank],
			RANKS_NS))
		return run_end_fail(run, end);
	run->serves = rank;
	return rank ? 0 : mirror_open(run);
}

int ranks_serve(struct run *run)
{
	/* The other one may be on this machine, and is on the first CPU then */
	cpu_bind(run->cpu[1]);
	run->far.patient = true;
	return pong_serve(&run->far, WAIT_SLEEP) ? run_end_fail(run, &run->far) : 0;
}

static int mirror_move(struct run *run, const char *at, uint64_t bytes, bool push)
{
	uint64_t offset = (uint64_t)(at - run->far.memory);
	struct nic_segment *mirror = run->far.segment;
	struct end *near = &run->near;
	unsigned int taken;
	int ret;

	if (!run->team)
		return 0;
	ret = push ? nic_post_put(near->queue, mirror, offset, near->remote, offset,
				  bytes, 0, 0) :
		     nic_post_get(near->queue, mirror, offset, near->remote, offset,
				  bytes, 0, 0);
	ret = ret ? end_fail(near, ret, "post") :
		    end_wait(near, 1, WAIT_SLEEP, &taken);
	return ret ? run_end_fail(run, near) : 0;
}

int far_push(struct run *run, const char *at, uint64_t bytes)
{
	return mirror_move(run, at, bytes, true);
}

int far_pull(struct run *run, const char *at, uint64_t bytes)
{
	return mirror_move(run, at, bytes, false);
}

int far_raised(struct run *run, uint64_t *raised)
{
	struct nic_event event;
	int ret;

	if (!run->team) {
		*raised = nic_irq_count(run->far.irq);
		return 0;
	}
	ret = pong_send(&run->near, PONG_QUIET | PONG_VERIFY);
	if (!ret)
		ret = end_event(&run->near, WAIT_SLEEP, &event);
	if (ret)
		return run_end_fail(run, &run->near);
	/* That was one, too, and is asked for once more later */
	*raised = event.payload;
	return 0;
}

void ranks_close(struct run *run)
{
	if (run->near.bell)
		pong_send(&run->near, PONG_STOP);
	if (!run->serves) {
		nic_segment_free(run->far.segment);
		run->far.segment = NULL;
	}
	nic_team_finalize(run->team);
	nic_close(run->team_ctx);
}
