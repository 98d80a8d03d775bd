// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_team.c - ranks that find each other over real devices
 *
 * Owns: that every rank reaches the memory of every other, that nobody leaves
 * a barrier before all have come, and that a death is told and not waited for.
 */
#include "ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define RANKS	5	/* no power of two: the last round wraps */
#define WORDS	512
#define ROUNDS	20

/* What @from puts into @to's memory in a round */
static __u64 word_of(unsigned int from, unsigned int to, unsigned int round,
		     unsigned int i)
{
	__u64 state = ((__u64)from << 40 | to << 20 | round) * 4096 + i;

	return random_next(&state);
}

struct exchange {
	struct rank *self;
	struct nic_segment *mine;	/* a slot for each other rank */
	struct nic_segment *out;
	struct nic_remote *theirs[RANKS];
	struct nic_queue *queue;
};

static void exchange_open(struct exchange *x)
{
	struct rank *self = x->self;
	unsigned int to;

	NIC_OK_OR_FAIL(self->ctx, nic_segment_alloc(self->ctx,
			RANKS * WORDS * sizeof(__u64), &x->mine));
	NIC_OK_OR_FAIL(self->ctx, nic_segment_alloc(self->ctx,
			RANKS * WORDS * sizeof(__u64), &x->out));
	NIC_OK_OR_FAIL(self->ctx, nic_queue_create(self->ctx, 16, &x->queue));
	NIC_OK_OR_FAIL(self->ctx, nic_team_share(self->team, x->mine,
						 NIC_WRITE, "mine"));
	for (to = 0; to < RANKS; to++)
		NIC_OK_OR_FAIL(self->ctx, nic_team_find(self->team, to, "mine",
							WAIT_NS,
							&x->theirs[to]));
}

static void exchange_put(struct exchange *x, unsigned int round)
{
	const size_t slot = WORDS * sizeof(__u64);
	__u64 *out = nic_segment_addr(x->out);
	struct rank *self = x->self;
	unsigned int to, i;

	for (to = 0; to < RANKS; to++) {
		for (i = 0; i < WORDS; i++)
			out[to * WORDS + i] = word_of(self->rank, to, round,
						      i);
		NIC_OK_OR_FAIL(self->ctx, nic_post_put(x->queue, x->out,
				to * slot, x->theirs[to], self->rank * slot,
				slot, 0, to));
	}
	ASSERT_GE(nic_queue_enter(x->queue, RANKS, WAIT_NS), 0);
}

static void exchange_check(struct exchange *x, unsigned int round)
{
	const __u64 *mine = nic_segment_addr(x->mine);
	unsigned int from, i;

	for (from = 0; from < RANKS; from++)
		for (i = 0; i < WORDS; i++)
			ASSERT_EQ(mine[from * WORDS + i],
				  word_of(from, x->self->rank, round, i));
}

static void exchange_rank(struct rank *self)
{
	struct exchange x = { .self = self };
	struct nic_completion done[RANKS];
	unsigned int round, i;

	exchange_open(&x);
	for (round = 0; round < ROUNDS; round++) {
		exchange_put(&x, round);
		EXPECT_EQ(nic_queue_poll(x.queue, done, RANKS), RANKS);
		for (i = 0; i < RANKS; i++)
			EXPECT_EQ(done[i].status, NIC_OK);
		/* All have put; then all have looked. */
		NIC_OK_OR_FAIL(self->ctx, nic_team_barrier(self->team,
							   WAIT_NS));
		exchange_check(&x, round);
		NIC_OK_OR_FAIL(self->ctx, nic_team_barrier(self->team,
							   WAIT_NS));
	}
	nic_queue_destroy(x.queue);
	for (i = 0; i < RANKS; i++)
		nic_disconnect(x.theirs[i]);
	nic_segment_free(x.out);
	nic_segment_free(x.mine);
}

TEST(team, all_to_all_round_after_round)
{
	ranks_run(RANKS, exchange_rank);
}

/* Ranks come at different times; each counts itself before it waits. */
static void barrier_rank(struct rank *self)
{
	__u32 *came = self->shared;
	__u64 state = self->rank + 1;
	unsigned int round;

	for (round = 0; round < 100; round++) {
		if (random_next(&state) % RANKS == 0)
			usleep(300);
		__atomic_fetch_add(&came[round], 1, __ATOMIC_RELAXED);
		NIC_OK_OR_FAIL(self->ctx, nic_team_barrier(self->team,
							   WAIT_NS));
		ASSERT_EQ(load32(&came[round]), RANKS);
	}
}

TEST(team, nobody_leaves_a_barrier_before_all_have_come)
{
	ranks_run(RANKS, barrier_rank);
}

static void dying_rank(struct rank *self)
{
	__u64 start = now_ns();

	NIC_OK_OR_FAIL(self->ctx, nic_team_barrier(self->team, WAIT_NS));
	if (self->rank == 2)
		_exit(0);
	EXPECT_EQ(nic_team_barrier(self->team, 100 * WAIT_NS), -EREMOTEIO);
	EXPECT_LT(now_ns() - start, WAIT_NS);
	EXPECT_TRUE(strstr(nic_error_detail(self->ctx), "rank "));
	EXPECT_EQ(nic_team_barrier(self->team, WAIT_NS), -EREMOTEIO);
}

TEST(team, death_of_a_rank_is_told_to_all)
{
	ranks_run(RANKS, dying_rank);
}

static void find_rank(struct rank *self)
{
	struct nic_segment *segment;
	struct nic_remote *remote;

	/* Nobody ever shares it: told in time, and by name */
	EXPECT_EQ(nic_team_find(self->team, 1 - self->rank, "never",
				slow_ns(50), &remote), -ETIME);
	EXPECT_TRUE(strstr(nic_error_detail(self->ctx), "never"));
	NIC_OK_OR_FAIL(self->ctx, nic_segment_alloc(self->ctx, 4096,
						    &segment));
	/* Shared late: waited for */
	if (self->rank)
		usleep(50000);
	NIC_OK_OR_FAIL(self->ctx, nic_team_share(self->team, segment, NIC_READ,
						 "late"));
	NIC_OK_OR_FAIL(self->ctx, nic_team_find(self->team, 1 - self->rank,
						"late", WAIT_NS, &remote));
	nic_disconnect(remote);
	NIC_OK_OR_FAIL(self->ctx, nic_team_barrier(self->team, WAIT_NS));
	nic_segment_free(segment);
}

TEST(team, what_is_shared_late_is_waited_for)
{
	ranks_run(2, find_rank);
}

FABRIC_TEST_MAIN_NONE()
