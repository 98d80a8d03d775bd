// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which handshakes, sends and tiles a rank has in which step.
 *
 * Pure. Step s is relative to the step that computes tile 0. A rank with
 * previous ranks receives for tile s + 1 in step s; so it begins at s = -1.
 * It sends tile s without overlap and tile s - 1 with it, then it ends one
 * step later. The next rank begins 1 or 2 steps later, so that it receives in
 * the very step in which we send: whatever one side waits for the other side
 * does in the same step, and in the phase before.
 */
#include <errno.h>

#include <nic_tile.h>

static const enum nic_tile_phase orders[][NIC_TILE_PHASES] = {
	[NIC_TILE_NONOVERLAP] = {
		NIC_TILE_TRIGGER_PREV,
		NIC_TILE_WAIT_NEXT,
		NIC_TILE_COMPUTE,
		NIC_TILE_START_DMA,
		NIC_TILE_WAIT_DMA,
		NIC_TILE_TRIGGER_NEXT,
		NIC_TILE_WAIT_PREV,
	},
	[NIC_TILE_OVERLAP] = {
		NIC_TILE_TRIGGER_PREV,
		NIC_TILE_WAIT_NEXT,
		NIC_TILE_START_DMA,
		NIC_TILE_COMPUTE,
		NIC_TILE_WAIT_DMA,
		NIC_TILE_TRIGGER_NEXT,
		NIC_TILE_WAIT_PREV,
	},
};

static bool schedule_known(enum nic_tile_schedule schedule)
{
	return schedule == NIC_TILE_NONOVERLAP || schedule == NIC_TILE_OVERLAP;
}

const char *nic_tile_phase_name(unsigned int phase)
{
	static const char *const names[] = {
		[NIC_TILE_TRIGGER_PREV] = "trigger prev",
		[NIC_TILE_WAIT_NEXT] = "wait next",
		[NIC_TILE_START_DMA] = "start dma",
		[NIC_TILE_COMPUTE] = "compute",
		[NIC_TILE_WAIT_DMA] = "wait dma",
		[NIC_TILE_TRIGGER_NEXT] = "trigger next",
		[NIC_TILE_WAIT_PREV] = "wait prev",
	};

	return phase < NIC_TILE_PHASES ? names[phase] : "unknown phase";
}

const enum nic_tile_phase *nic_tile_order(enum nic_tile_schedule schedule)
{
	return schedule_known(schedule) ? orders[schedule] : NULL;
}

int nic_tile_sequence_init(struct nic_tile_sequence *sequence,
			   const struct nic_tile_grid *grid,
			   enum nic_tile_schedule schedule, uint32_t rank)
{
	bool receives = false, sends = false;
	int prev, next, ret;
	uint64_t first;
	unsigned int d;

	if (!sequence || !grid || !schedule_known(schedule))
		return -EINVAL;
	ret = nic_grid_get_step(grid, schedule, rank, 0, &first);
	if (ret)
		return ret;
	for (d = 0; d < grid->ndims; d++) {
		ret = nic_grid_get_neighbors(grid, rank, d, &prev, &next);
		if (ret)
			return ret;
		receives |= prev >= 0;
		sends |= next >= 0;
	}
	sequence->schedule = schedule;
	sequence->ntiles = (int64_t)grid->ntiles;
	sequence->first = first;
	sequence->receives = receives;
	sequence->sends = sends;
	sequence->next = receives ? -1 : 0;
	return 0;
}

bool nic_tile_sequence_next(struct nic_tile_sequence *sequence,
			    struct nic_tile_move *move)
{
	int64_t n = sequence->ntiles, s = sequence->next, sent = s;
	bool late = sequence->schedule == NIC_TILE_OVERLAP;

	if (s >= n + (late && sequence->sends))
		return false;
	if (late)
		sent--;
	move->step = sequence->first + (uint64_t)s;
	move->receive = sequence->receives && s + 1 < n ? s + 1 : -1;
	move->compute = s >= 0 && s < n ? s : -1;
	move->send = sequence->sends && sent >= 0 ? sent : -1;
	sequence->next = s + 1;
	return true;
}
