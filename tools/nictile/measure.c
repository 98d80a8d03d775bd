// SPDX-License-Identifier: GPL-2.0-only
/*
 * measure.c - the runs
 *
 * All kinds and heights are run once, then all again: what else the machine
 * does for a while then touches one sample of each. Every value of every run
 * is compared with the sequential run, outside the time taken.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nictile.h"
#include "tools/common/progress.h"

int grid_make(struct nic_tile_grid *grid, const struct options *options,
	      uint64_t height)
{
	struct nic_grid_options wanted = {
		.size = sizeof(wanted),
		.flags = NIC_GRID_PIPE,
		.ndims = 3,
		.ranks = { options->ranks[0], options->ranks[1], 1 },
		.pipe = 2,
		.element = sizeof(float),
		.height = height,
	};
	int ret;

	memcpy(wanted.dims, options->dims, sizeof(options->dims));
	grid->size = sizeof(*grid);
	ret = nic_grid_init(grid, &wanted);
	if (ret)
		fprintf(stderr, "nictile: %s\n", grid->detail);
	return ret;
}

static int tell(const struct job *job, int ret, const char *what,
		const char *detail)
{
	struct failure failure = {
		.rank = nic_team_rank(job->team), .ret = ret, .what = what,
		.detail = detail, .timeout_ns = job->options->timeout_ns,
	};

	return failure_tell(job->ctx, &failure);
}

static int run_one(const struct job *job, struct nic_tile *tile,
		   uint64_t height, unsigned int kind, struct record *record)
{
	struct pace pace = {
		.space = job->space,
		.t1_ns = job->options->modelled ? job->options->t1_ns : 0,
	};
	struct nic_tile_run_options run = {
		.size = sizeof(run),
		.flags = kind == KIND_NO_COMM ? NIC_TILE_NO_COMM : 0,
		.schedule = kind == KIND_NO_COMM ? NIC_TILE_OVERLAP : kind,
		.height = height,
		.compute = pace_compute,
		.arg = &pace,
	};
	struct nic_tile_result result = { .size = sizeof(result) };
	char what[64];
	unsigned int i;
	int ret;

	ret = nic_tile_run(tile, &run, &result);
	if (ret) {
		snprintf(what, sizeof(what), "height %" PRIu64 ", %s", height,
			 kind_name(kind));
		return tell(job, ret, what, result.detail);
	}
	record_init(record);
	record->start_ns = result.start_ns;
	record->end_ns = result.end_ns;
	record->steps = result.steps;
	record->tiles = pace.tiles;
	record->overruns = pace.overruns;
	for (i = 0; i < NIC_TILE_PHASES; i++)
		record->phase_ns[i] = result.phase[i].sum_ns;
	if (kind != KIND_NO_COMM)
		record->wrong = space_compare(job->space);
	return 0;
}

static int measure_one(const struct job *job, struct nic_tile *tile,
		       struct measurement *measurement, unsigned int h,
		       unsigned int kind)
{
	uint64_t height = job->decision->height[h];
	uint64_t dimz = job->grid->dims[job->grid->pipe];
	struct outcome *outcome = &measurement->outcome[h][kind];
	const struct record *all = NULL;
	struct record mine;
	int ret;

	space_wipe(job->space, (dimz + height - 1) / height);
	ret = board_barrier(job->board);
	if (!ret)
		ret = run_one(job, tile, height, kind, &mine);
	if (!ret)
		ret = board_collect(job->board, &mine, &all);
	if (ret || !all)
		return ret;
	measurement->runs += kind != KIND_NO_COMM;
	measurement_add(measurement, outcome, all, job->grid->nranks, height,
			kind);
	return 0;
}

/* Runs that are done, of how many; @shown by rank 0 */
struct progress {
	bool shown;
	uint64_t done;
	uint64_t total;
};

static bool wanted(const struct options *options, unsigned int kind)
{
	return kind == KIND_NO_COMM ? options->no_comm :
				      options->schedule[kind];
}

static int measure_heights(const struct job *job, struct nic_tile *tile,
			   struct measurement *measurement,
			   struct progress *progress)
{
	const struct options *options = job->options;
	const struct outcome *outcome;
	unsigned int h, kind;
	int ret = 0;

	for (h = 0; !ret && h < job->decision->heights; h++) {
		for (kind = 0; !ret && kind < KINDS; kind++) {
			if (!wanted(options, kind))
				continue;
			if (progress->shown)
				progress_show(progress->done, kind_name(kind));
			progress->done++;
			ret = measure_one(job, tile, measurement, h, kind);
			outcome = &measurement->outcome[h][kind];
			if (!ret && progress->shown && options->verbose)
				fprintf(stderr, "%" PRIu64 "/%" PRIu64
					" height %" PRIu64 ", %s%s: %.6f s\n",
					progress->done, progress->total,
					job->decision->height[h],
					kind_name(kind),
					options->modelled ? ", MODELLED" : "",
					outcome->seconds[outcome->n - 1]);
		}
	}
	return ret;
}

static int measure_all(const struct job *job, struct nic_tile *tile,
		       struct measurement *measurement)
{
	const struct options *options = job->options;
	struct progress progress = { .shown = !nic_team_rank(job->team) };
	unsigned int again, kind;
	int ret = 0;

	for (kind = 0; kind < KINDS; kind++)
		progress.total += wanted(options, kind);
	progress.total *= job->decision->heights * options->repeat;
	if (progress.shown)
		progress_start(progress.total);
	for (again = 0; !ret && again < options->repeat; again++)
		ret = measure_heights(job, tile, measurement, &progress);
	progress_clear();
	return ret;
}

int measure(const struct job *job, struct measurement *measurement)
{
	struct nic_tile_options options = {
		.size = sizeof(options),
		.grid = job->grid,
		.timeout_ns = job->options->timeout_ns,
	};
	struct nic_tile *tile;
	int ret;

	memset(measurement, 0, sizeof(*measurement));
	ret = nic_tile_create(job->ctx, job->team, &options, &tile);
	if (ret)
		return tell(job, ret, "no pipeline", NULL);
	ret = measure_all(job, tile, measurement);
	nic_tile_destroy(tile);
	measurement_finish(measurement, (unsigned int)job->decision->heights);
	return ret;
}
