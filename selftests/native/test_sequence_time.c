// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of the pipelined tile schedules, with a time for every phase: a run
 * takes what the formulas say.
 *
 * Sources: libnic/tile/sequence.c libnic/tile/grid.c libnic/tile/schedule.c
 */
#include <nic_tile.h>

#include "actors.h"
#include "unit.h"

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
	memset(times, 0, sizeof(times));
	actors_init();
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
