// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of the pipelined tile schedules, with all ranks and DMA transfers
 * moving in random order.
 *
 * Sources: libnic/tile/sequence.c libnic/tile/grid.c libnic/tile/schedule.c
 */
#include <errno.h>

#include <nic_tile.h>

#include "actors.h"
#include "unit.h"

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

static void play(uint64_t *state)
{
	actors_init();
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
