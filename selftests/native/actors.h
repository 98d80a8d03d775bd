/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * actors.h - all ranks of a tile schedule and their DMA transfers, acted out
 *
 * One phase of one rank at a time, with counting interrupts and two buffers as
 * in libnic/tile/run.c. Fails on a face that is overwritten, read too early, or
 * used other than once; check_end() also on a deadlock and on a number of steps
 * that is not P or P'. In which order ranks and transfers move is the test's.
 *
 * A test that includes this is linked with
 *	libnic/tile/sequence.c libnic/tile/grid.c libnic/tile/schedule.c
 */
#ifndef ACTORS_H
#define ACTORS_H

#include <nic_tile.h>

#include "unit.h"

#define RANKS	16
#define DIMS	4
#define NONE	(-1)

/**
 * struct face - a buffer
 * @tile: whose face it holds, or NONE
 * @busy: a compute reads or writes it right now
 * @used: a compute has read it
 */
struct face {
	int64_t tile;
	bool busy;
	bool used;
};

struct actor {
	struct nic_tile_sequence sequence;
	struct nic_tile_move move;
	int prev[DIMS], next[DIMS];
	unsigned int phase;		/* index into the order */
	bool computing;			/* between its begin and its end */
	bool done;
	uint64_t ready[DIMS], ready_seen[DIMS];	/* raised by the next */
	uint64_t full[DIMS], full_seen[DIMS];	/* raised by the previous */
	struct face in[DIMS][2], out[DIMS][2];
	int64_t dma[DIMS];		/* tile on its way, or NONE */
	uint64_t computed, received[DIMS];
};

static struct nic_tile_grid grid;
static struct actor actors[RANKS];
static enum nic_tile_schedule kind;
static uint64_t last_step;

static void plan(unsigned int ndims, const uint32_t *ranks, uint64_t ntiles)
{
	struct nic_grid_options options = {
		.size = sizeof(options), .flags = NIC_GRID_PIPE,
		.ndims = ndims, .pipe = ndims - 1, .element = 4, .height = 5,
	};
	unsigned int d;

	for (d = 0; d + 1 < ndims; d++) {
		options.dims[d] = 2 * ranks[d] + 1;
		options.ranks[d] = ranks[d];
	}
	/* The last tile of several has 3 points. */
	options.dims[ndims - 1] = ntiles * 5 - (ntiles > 1 ? 2 : 0);
	options.ranks[ndims - 1] = 1;
	grid.size = sizeof(grid);
	ASSERT_EQ(nic_grid_init(&grid, &options), 0);
	ASSERT(grid.nranks <= RANKS);
	EXPECT_EQ(grid.ntiles, ntiles);
}

static void actor_init(unsigned int rank)
{
	struct actor *actor = &actors[rank];
	unsigned int d, i;

	memset(actor, 0, sizeof(*actor));
	EXPECT_EQ(nic_tile_sequence_init(&actor->sequence, &grid, kind, rank),
		  0);
	for (d = 0; d < grid.ndims; d++) {
		EXPECT_EQ(nic_grid_get_neighbors(&grid, rank, d,
						 &actor->prev[d],
						 &actor->next[d]), 0);
		actor->dma[d] = NONE;
		for (i = 0; i < 2; i++)
			actor->in[d][i].tile = actor->out[d][i].tile = NONE;
	}
	actor->done = !nic_tile_sequence_next(&actor->sequence, &actor->move);
}

static void actors_init(void)
{
	unsigned int rank;

	last_step = 0;
	for (rank = 0; rank < grid.nranks; rank++)
		actor_init(rank);
}

/* ---- one phase of one rank; false: it has to wait ---- */

static void trigger(const int *whom, uint64_t (*raise)(struct actor *a,
						       unsigned int d))
{
	unsigned int d;

	for (d = 0; d < grid.ndims; d++)
		if (whom[d] >= 0)
			raise(&actors[whom[d]], d);
}

static uint64_t raise_ready(struct actor *actor, unsigned int d)
{
	return ++actor->ready[d];
}

static uint64_t raise_full(struct actor *actor, unsigned int d)
{
	return ++actor->full[d];
}

/* A count more than one ahead would be a lost hand-shake. */
static bool heard(const int *whom, const uint64_t *raised, uint64_t *seen)
{
	unsigned int d;

	for (d = 0; d < grid.ndims; d++)
		if (whom[d] >= 0 && raised[d] == seen[d])
			return false;
	for (d = 0; d < grid.ndims; d++) {
		if (whom[d] < 0)
			continue;
		seen[d]++;
		EXPECT(raised[d] <= seen[d] + 1);
	}
	return true;
}

static void start_dma(struct actor *actor, int64_t k)
{
	unsigned int d;

	for (d = 0; d < grid.ndims; d++) {
		if (actor->next[d] < 0)
			continue;
		EXPECT_EQ(actor->dma[d], NONE);
		EXPECT_EQ(actor->out[d][k % 2].tile, k);
		actor->dma[d] = k;
	}
}

static void end_dma(struct actor *actor, unsigned int d)
{
	int64_t k = actor->dma[d];
	struct face *from = &actor->out[d][k % 2];
	struct actor *target = &actors[actor->next[d]];
	struct face *to = &target->in[d][k % 2];

	EXPECT_EQ(from->tile, k);
	EXPECT(!from->busy);
	EXPECT(!to->busy);
	EXPECT(to->tile == NONE || to->used);
	to->tile = k;
	to->used = false;
	target->received[d]++;
	actor->dma[d] = NONE;
}

static void compute_begin(struct actor *actor, int64_t k)
{
	unsigned int d;

	for (d = 0; d < grid.ndims; d++) {
		if (actor->prev[d] >= 0) {
			struct face *in = &actor->in[d][k % 2];

			EXPECT_EQ(in->tile, k);
			EXPECT(!in->used);
			in->busy = in->used = true;
		}
		if (actor->next[d] >= 0) {
			actor->out[d][k % 2].busy = true;
			actor->out[d][k % 2].tile = NONE;
		}
	}
}

static void compute_end(struct actor *actor, int64_t k)
{
	unsigned int d;

	for (d = 0; d < grid.ndims; d++) {
		actor->in[d][k % 2].busy = false;
		if (actor->next[d] >= 0) {
			actor->out[d][k % 2].busy = false;
			actor->out[d][k % 2].tile = k;
		}
	}
	EXPECT_EQ(actor->computed, k);
	actor->computed++;
}

static bool compute(struct actor *actor, int64_t k)
{
	actor->computing = !actor->computing;
	if (actor->computing)
		compute_begin(actor, k);
	else
		compute_end(actor, k);
	return !actor->computing;
}

static bool sent(const struct actor *actor)
{
	unsigned int d;

	for (d = 0; d < grid.ndims; d++)
		if (actor->dma[d] != NONE)
			return false;
	return true;
}

/* True: the phase is over */
static bool act(struct actor *actor, enum nic_tile_phase phase)
{
	const struct nic_tile_move *move = &actor->move;

	switch (phase) {
	case NIC_TILE_TRIGGER_PREV:
		if (move->receive >= 0)
			trigger(actor->prev, raise_ready);
		return true;
	case NIC_TILE_WAIT_NEXT:
		return move->send < 0 || heard(actor->next, actor->ready,
					       actor->ready_seen);
	case NIC_TILE_START_DMA:
		if (move->send >= 0)
			start_dma(actor, move->send);
		return true;
	case NIC_TILE_COMPUTE:
		return move->compute < 0 || compute(actor, move->compute);
	case NIC_TILE_WAIT_DMA:
		return move->send < 0 || sent(actor);
	case NIC_TILE_TRIGGER_NEXT:
		if (move->send >= 0)
			trigger(actor->next, raise_full);
		return true;
	case NIC_TILE_WAIT_PREV:
		return move->receive < 0 || heard(actor->prev, actor->full,
						  actor->full_seen);
	default:
		return false;
	}
}

/* True: the actor moved */
static bool turn(unsigned int rank)
{
	struct actor *actor = &actors[rank];
	bool computing = actor->computing;
	uint64_t step;

	if (actor->done)
		return false;
	if (!act(actor, nic_tile_order(kind)[actor->phase]))
		return actor->computing != computing;
	if (++actor->phase < NIC_TILE_PHASES)
		return true;
	if (actor->move.compute >= 0) {
		EXPECT_EQ(nic_grid_get_step(&grid, kind, rank,
					    (uint64_t)actor->move.compute,
					    &step), 0);
		EXPECT_EQ(step, actor->move.step);
	}
	if (last_step < actor->move.step)
		last_step = actor->move.step;
	actor->phase = 0;
	actor->done = !nic_tile_sequence_next(&actor->sequence, &actor->move);
	return true;
}

static bool transfer(struct actor *actor)
{
	unsigned int d;

	for (d = 0; d < grid.ndims; d++) {
		if (actor->dma[d] == NONE)
			continue;
		end_dma(actor, d);
		return true;
	}
	return false;
}

static void check_end(void)
{
	uint64_t steps = 0;
	unsigned int r, d;

	for (r = 0; r < grid.nranks; r++) {
		EXPECT(actors[r].done);
		EXPECT_EQ(actors[r].computed, grid.ntiles);
		EXPECT(sent(&actors[r]));
		for (d = 0; d < grid.ndims; d++) {
			EXPECT_EQ(actors[r].received[d],
				  actors[r].prev[d] < 0 ? 0 : grid.ntiles);
			EXPECT_EQ(actors[r].ready[d], actors[r].ready_seen[d]);
			EXPECT_EQ(actors[r].full[d], actors[r].full_seen[d]);
		}
	}
	EXPECT_EQ(nic_grid_count_steps(&grid, kind, &steps), 0);
	EXPECT_EQ(last_step + 1, steps);
}

#endif /* ACTORS_H */
