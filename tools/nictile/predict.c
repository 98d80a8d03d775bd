// SPDX-License-Identifier: GPL-2.0-only
/*
 * predict.c - the paper's formulas with measured costs
 *
 * What a step costs besides t1 and t_transfer a unit of height is the late end
 * of a sleep that stands for computing, and what a transfer takes however small
 * it is. The latter is negative where a transfer begins before its poster is
 * back; then it is part of the doorbell, and never more than it, whatever the
 * noise of a small measurement says.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "nictile.h"

#define NS	1e-9

static int predict_one(struct prediction *prediction, unsigned int schedule)
{
	const struct nic_tile_model *model = &prediction->model[schedule];
	const char *why;
	int ret;

	ret = nic_model_check(model, &why);
	if (!ret)
		ret = nic_model_optimize(model, schedule,
					 &prediction->optimum[schedule],
					 &prediction->optimum_s[schedule]);
	if (!ret)
		ret = nic_model_best(model, schedule,
				     &prediction->best[schedule],
				     &prediction->best_s[schedule]);
	if (ret)
		fprintf(stderr, "nictile: no prediction: %s\n",
			*why ? why : strerror(-ret));
	return ret;
}

int predict(struct prediction *prediction, const struct options *options,
	    const struct nic_tile_grid *grid, const struct costs *costs)
{
	struct nic_tile_model model;
	double bandwidth = INFINITY, transfer, early;
	int ret;

	if (costs->transfer_byte > 0)
		bandwidth = 1 / (costs->transfer_byte * NS);
	memset(prediction, 0, sizeof(*prediction));
	ret = nic_model_init(&model, sizeof(model));
	if (!ret)
		ret = nic_model_set_grid(&model, grid, bandwidth);
	if (ret) {
		fprintf(stderr, "nictile: no prediction: %s\n",
			strerror(-ret));
		return ret;
	}
	transfer = fmax(costs->transfer, -costs->start_dma);
	model.t1 = options->modelled ? options->t1_ns : costs->real_point;
	model.t1 *= NS;
	model.t_start_dma = costs->start_dma * NS;
	model.t_interrupt = costs->interrupt * NS;
	model.t_sync = costs->sync * NS;
	model.t_startup = model.t_start_dma + model.t_sync +
			  (costs->wake + transfer) * NS;
	prediction->model[NIC_TILE_NONOVERLAP] = model;
	early = fmin(transfer, 0);
	model.t_start_dma += early * NS;
	model.t_compute = (costs->wake - early) * NS;
	model.t_transfer = (transfer - early) * NS;
	prediction->model[NIC_TILE_OVERLAP] = model;
	ret = predict_one(prediction, NIC_TILE_NONOVERLAP);
	return ret ? ret : predict_one(prediction, NIC_TILE_OVERLAP);
}

double predict_time(const struct prediction *prediction, unsigned int schedule,
		    uint64_t height)
{
	double seconds;

	return nic_model_predict(&prediction->model[schedule], schedule, height,
				 &seconds) ? 0 : seconds;
}

/* Sorted, each once */
static void height_add(struct decision *decision, uint64_t height)
{
	uint64_t i, n = decision->heights;

	for (i = 0; i < n && decision->height[i] < height; i++)
		;
	if ((i < n && decision->height[i] == height) || n == HEIGHTS_MAX)
		return;
	memmove(&decision->height[i + 1], &decision->height[i],
		(n - i) * sizeof(*decision->height));
	decision->height[i] = height;
	decision->heights++;
}

/* The height that cuts @dimz into as many tiles as @height nearly does */
static uint64_t height_even(uint64_t dimz, double height)
{
	double tiles = round((double)dimz / height);

	if (tiles < 1)
		tiles = 1;
	if (tiles > (double)dimz)
		return 1;
	return (dimz + (uint64_t)tiles - 1) / (uint64_t)tiles;
}

void predict_heights(const struct prediction *prediction,
		     const struct options *options,
		     const struct nic_tile_grid *grid,
		     struct decision *decision)
{
	/* The paper's plots reach from about a third of z* to five times it. */
	static const double factors[] = {
		0.3, 0.4, 0.55, 0.75, 1, 1.4, 2, 2.8, 4,
	};
	uint64_t dimz = grid->dims[grid->pipe];
	unsigned int i;

	decision->heights = 0;
	for (i = 0; i < options->heights; i++)
		height_add(decision, options->height[i]);
	/* What is checked at a height must be run there */
	if (options->expect == EXPECT_OVERLAP)
		height_add(decision, prediction->best[NIC_TILE_OVERLAP]);
	if (options->height_mode == HEIGHT_LIST)
		return;
	for (i = 0; i < SCHEDULES; i++)
		if (options->schedule[i])
			height_add(decision, prediction->best[i]);
	if (options->height_mode != HEIGHT_SWEEP)
		return;
	for (i = 0; i < sizeof(factors) / sizeof(*factors); i++)
		height_add(decision, height_even(dimz, factors[i] *
				(double)prediction->best[NIC_TILE_OVERLAP]));
}
