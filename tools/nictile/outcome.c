// SPDX-License-Identifier: GPL-2.0-only
/*
 * outcome.c - what the runs come to
 */
#include "nictile.h"

const char *kind_name(unsigned int kind)
{
	static const char *const names[KINDS] = {
		[NIC_TILE_NONOVERLAP] = "non-overlapping",
		[NIC_TILE_OVERLAP] = "overlapping",
		[KIND_NO_COMM] = "no communication",
	};

	return names[kind];
}

static bool is_worse(const struct overruns *a, const struct overruns *b)
{
	return !b->tiles || (double)a->overruns * (double)b->tiles >
			    (double)b->overruns * (double)a->tiles;
}

void measurement_add(struct measurement *measurement, struct outcome *outcome,
		     const struct record *all, unsigned int ranks,
		     uint64_t height, unsigned int kind)
{
	struct overruns run = { .height = height, .kind = kind };
	uint64_t start = UINT64_MAX, end = 0, longest = 0, compute = 0;
	unsigned int r;

	measurement->one_clock = true;
	for (r = 0; r < ranks; r++) {
		const struct record *record = &all[r];
		uint64_t took = record->end_ns - record->start_ns;

		if (record->host != all[0].host)
			measurement->one_clock = false;
		if (start > record->start_ns)
			start = record->start_ns;
		if (end < record->end_ns)
			end = record->end_ns;
		if (longest < took)
			longest = took;
		if (compute < record->phase_ns[NIC_TILE_COMPUTE])
			compute = record->phase_ns[NIC_TILE_COMPUTE];
		run.tiles += record->tiles;
		run.overruns += record->overruns;
		measurement->wrong += record->wrong;
	}
	if (is_worse(&run, &measurement->worst))
		measurement->worst = run;
	if (measurement->one_clock)
		longest = end - start;
	outcome->seconds[outcome->n] = (double)longest / 1e9;
	outcome->compute[outcome->n] = (double)compute / 1e9;
	outcome->n++;
}

void measurement_finish(struct measurement *measurement, unsigned int heights)
{
	struct outcome *outcome;
	unsigned int h, kind;

	for (h = 0; h < heights; h++) {
		for (kind = 0; kind < KINDS; kind++) {
			outcome = &measurement->outcome[h][kind];
			stats_summarize(outcome->seconds, outcome->n,
					&outcome->time);
			stats_summarize(outcome->compute, outcome->n,
					&outcome->computing);
		}
	}
}
