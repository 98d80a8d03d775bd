// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of the pipelined tile schedules, acted out for all ranks at once.
 *
 * The first half lets ranks and DMA transfers move in random order, one phase
 * at a time, with counting interrupts and two buffers as in libnic/tile/run.c.
 * It fails on a deadlock, on a face that is overwritten, read too early, or
 * used other than once, and on a number of steps that is not P or P'. The
 * second half gives every phase its time and compares with the formulas.
 *
 * Sources: libnic/tile/sequence.c libnic/tile/grid.c libnic/tile/schedule.c
 */
#include <errno.h>

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

/* Whoever can move does, in an order that chance begins; false: nobody can */
static bool any_moves(uint64_t *state)
{
	unsigned int n = 2 * grid.nranks;
	unsigned int first = (unsigned int)unit_between(state, 0, n - 1);
	unsigned int i, which;

	for (i = 0; i < n; i++) {
		which = (first + i) % n;
		if (which % 2 ? transfer(&actors[which / 2]) : turn(which / 2))
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

static void play(uint64_t *state)
{
	unsigned int r;

	last_step = 0;
	for (r = 0; r < grid.nranks; r++)
		actor_init(r);
	while (!unit_failed && any_moves(state))
		;
	check_end();
}

static void play_grids(enum nic_tile_schedule schedule)
{
	static const struct {
		unsigned int ndims;
		uint32_t ranks[DIMS];
	} grids[] = {
		{ 3, { 3, 3 } }, { 2, { 1 } }, { 2, { 4 } }, { 3, { 1, 5 } },
		{ 3, { 4, 2 } }, { 4, { 2, 3, 2 } },
	};
	static const uint64_t ntiles[] = { 1, 2, 3, 4, 17 };
	uint64_t state = 1;
	unsigned int g, n, again;

	kind = schedule;
	for (g = 0; g < sizeof(grids) / sizeof(*grids); g++) {
		for (n = 0; n < sizeof(ntiles) / sizeof(*ntiles); n++) {
			plan(grids[g].ndims, grids[g].ranks, ntiles[n]);
			for (again = 0; !unit_failed && again < 20; again++)
				play(&state);
		}
	}
}

TEST(sequence__overlap_uses_each_face_once)
{
	play_grids(NIC_TILE_OVERLAP);
}

TEST(sequence__nonoverlap_uses_each_face_once)
{
	play_grids(NIC_TILE_NONOVERLAP);
}

TEST(sequence__steps_of_the_paper)
{
	static const uint32_t ranks[] = { 3, 3 };
	uint64_t state = 2;

	plan(3, ranks, 40);
	kind = NIC_TILE_OVERLAP;
	play(&state);
	EXPECT_EQ(last_step + 1, 8 + 40);
	kind = NIC_TILE_NONOVERLAP;
	play(&state);
	EXPECT_EQ(last_step + 1, 4 + 40);
}

TEST(sequence__orders_differ_in_compute_and_start)
{
	const enum nic_tile_phase *with = nic_tile_order(NIC_TILE_OVERLAP);
	const enum nic_tile_phase *without =
		nic_tile_order(NIC_TILE_NONOVERLAP);
	unsigned int i;

	for (i = 0; i < NIC_TILE_PHASES; i++) {
		EXPECT_EQ(with[i], i);
		if (i != 2 && i != 3)
			EXPECT_EQ(without[i], i);
	}
	EXPECT_EQ(without[2], NIC_TILE_COMPUTE);
	EXPECT_EQ(without[3], NIC_TILE_START_DMA);
	EXPECT(!nic_tile_order((enum nic_tile_schedule)2));
	EXPECT_CONTAINS(nic_tile_phase_name(NIC_TILE_WAIT_DMA), "wait dma");
	EXPECT_CONTAINS(nic_tile_phase_name(NIC_TILE_PHASES), "unknown");
}

TEST(sequence__refuses)
{
	static const uint32_t ranks[] = { 3, 3 };
	struct nic_tile_sequence sequence;

	plan(3, ranks, 2);
	EXPECT_EQ(nic_tile_sequence_init(&sequence, &grid, NIC_TILE_OVERLAP, 9),
		  -ERANGE);
	EXPECT_EQ(nic_tile_sequence_init(&sequence, &grid,
					 (enum nic_tile_schedule)2, 0),
		  -EINVAL);
	EXPECT_EQ(nic_tile_sequence_init(&sequence, NULL, NIC_TILE_OVERLAP, 0),
		  -EINVAL);
}

/* ---- with times ---- */

/**
 * struct costs - of a card like the paper's, any unit
 * @start: the poster's, once a doorbell with faces
 * @interrupt: the poster's, and again until it is heard
 * @compute: of a tile
 * @transfer: of all faces of a step
 */
struct costs {
	uint64_t start;
	uint64_t interrupt;
	uint64_t compute;
	uint64_t transfer;
};

#define STEPS	128

static struct {
	uint64_t now, dma_end;
	uint64_t ready[DIMS][STEPS], full[DIMS][STEPS];	/* when heard */
} times[RANKS];

/* A rank triggers and the others hear it; the interrupts have been counted. */
static void time_trigger(unsigned int rank, const struct costs *costs,
			 bool next)
{
	struct actor *actor = &actors[rank], *to;
	unsigned int d;

	times[rank].now += costs->interrupt;
	for (d = 0; d < grid.ndims; d++) {
		int whom = next ? actor->next[d] : actor->prev[d];

		if (whom < 0)
			continue;
		to = &actors[whom];
		if (next)
			times[whom].full[d][to->full[d]] =
				times[rank].now + costs->interrupt;
		else
			times[whom].ready[d][to->ready[d]] =
				times[rank].now + costs->interrupt;
	}
}

static void time_wait(unsigned int rank, bool next)
{
	struct actor *actor = &actors[rank];
	unsigned int d;
	uint64_t at;

	for (d = 0; d < grid.ndims; d++) {
		if ((next ? actor->next[d] : actor->prev[d]) < 0)
			continue;
		at = next ? times[rank].ready[d][actor->ready_seen[d]] :
			    times[rank].full[d][actor->full_seen[d]];
		if (times[rank].now < at)
			times[rank].now = at;
	}
}

/* The time of the phase that is about to be acted */
static void time_phase(unsigned int rank, const struct costs *costs)
{
	enum nic_tile_phase phase = nic_tile_order(kind)[actors[rank].phase];
	const struct nic_tile_move *move = &actors[rank].move;
	bool next = phase == NIC_TILE_WAIT_NEXT ||
		    phase == NIC_TILE_TRIGGER_NEXT;

	if (phase == NIC_TILE_COMPUTE) {
		times[rank].now += move->compute < 0 ? 0 : costs->compute;
		return;
	}
	if ((phase == NIC_TILE_TRIGGER_PREV || phase == NIC_TILE_WAIT_PREV ?
	     move->receive : move->send) < 0)
		return;
	if (phase == NIC_TILE_START_DMA) {
		times[rank].now += costs->start;
		times[rank].dma_end = times[rank].now + costs->transfer;
	} else if (phase == NIC_TILE_WAIT_DMA) {
		if (times[rank].now < times[rank].dma_end)
			times[rank].now = times[rank].dma_end;
	} else if (phase == NIC_TILE_WAIT_NEXT || phase == NIC_TILE_WAIT_PREV) {
		time_wait(rank, next);
	} else {
		time_trigger(rank, costs, next);
	}
}

/* Can the next phase be acted now? Looks at counts, changes none. */
static bool time_ready(const struct actor *actor)
{
	enum nic_tile_phase phase = nic_tile_order(kind)[actor->phase];
	unsigned int d;

	for (d = 0; d < grid.ndims; d++) {
		if (phase == NIC_TILE_WAIT_NEXT && actor->move.send >= 0 &&
		    actor->next[d] >= 0 &&
		    actor->ready[d] == actor->ready_seen[d])
			return false;
		if (phase == NIC_TILE_WAIT_PREV && actor->move.receive >= 0 &&
		    actor->prev[d] >= 0 &&
		    actor->full[d] == actor->full_seen[d])
			return false;
	}
	return true;
}

static bool time_turn(unsigned int rank, const struct costs *costs)
{
	struct actor *actor = &actors[rank];

	if (actor->done || !time_ready(actor))
		return false;
	time_phase(rank, costs);
	turn(rank);
	if (actor->computing)
		turn(rank);
	while (transfer(actor))
		;
	return true;
}

/* Time of a whole run on 3 x 3 ranks with 30 tiles */
static uint64_t time_run(enum nic_tile_schedule schedule,
			 const struct costs *costs)
{
	static const uint32_t ranks[] = { 3, 3 };
	uint64_t end = 0;
	unsigned int r;
	bool moved = true;

	plan(3, ranks, 30);
	kind = schedule;
	last_step = 0;
	memset(times, 0, sizeof(times));
	for (r = 0; r < grid.nranks; r++)
		actor_init(r);
	while (moved && !unit_failed) {
		moved = false;
		for (r = 0; r < grid.nranks; r++)
			moved |= time_turn(r, costs);
	}
	check_end();
	for (r = 0; r < grid.nranks; r++)
		end = end < times[r].now ? times[r].now : end;
	return end;
}

/*
 * (1) and (2) with t_sync of four interrupts. They charge all steps alike. But
 * the first and the last step of overlapping, and the last one without, only
 * compute; and while the pipeline fills the next ranks are ready before they
 * are asked.
 */
static void check_time(const struct costs *costs)
{
	uint64_t a = costs->start + 4 * costs->interrupt;
	uint64_t more = costs->compute > costs->transfer ?
			costs->compute : costs->transfer;
	uint64_t with = time_run(NIC_TILE_OVERLAP, costs);
	uint64_t without = time_run(NIC_TILE_NONOVERLAP, costs);
	uint64_t full = a + more;

	EXPECT(with <= 38 * full);
	EXPECT(with + costs->start + 8 * costs->interrupt >=
	       36 * full + 2 * costs->compute);
	full = a + costs->compute + costs->transfer;
	EXPECT(without <= 34 * full);
	EXPECT(without + 4 * costs->interrupt >= 33 * full + costs->compute);
}

TEST(sequence__takes_the_time_of_the_formulas)
{
	static const struct costs costs[] = {
		{ 492, 188, 6000, 3000 }, { 492, 188, 3000, 6000 },
		{ 492, 188, 6000, 0 }, { 0, 0, 1000, 1000 },
		{ 100, 2000, 50, 50 }, { 0, 188, 1, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(costs) / sizeof(*costs); i++)
		check_time(&costs[i]);
}

TEST(sequence__overlap_pays_only_with_something_to_overlap)
{
	static const struct costs both = { 492, 188, 6000, 5000 };
	static const struct costs neither = { 492, 188, 6000, 0 };

	EXPECT(time_run(NIC_TILE_OVERLAP, &both) <
	       time_run(NIC_TILE_NONOVERLAP, &both));
	EXPECT(time_run(NIC_TILE_OVERLAP, &neither) >
	       time_run(NIC_TILE_NONOVERLAP, &neither));
}
