/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The time model of the tile schedules: how long a run takes at tile height z,
 * which z is best, and when overlapping pays.
 *
 * Everything here is pure: no file descriptor, no I/O, no allocation, no
 * global. Every function is thread-safe, none blocks. Times are seconds,
 * sizes are points or bytes.
 *
 * One step of the model, with a = t_start_dma + t_sync:
 *
 *	non-overlapping: t_startup + (A t1 + c) z,	 F + ceil(DIMZ/z) steps
 *	overlapping:	 a + max(t_compute + A t1 z, t_transfer + c z),
 *							2F + ceil(DIMZ/z) steps
 *
 * The paper has no t_compute and no t_transfer: they are what computing a tile
 * and transferring its faces take however small they are. On a wire with a
 * latency the latter is what a small tile waits for.
 * F = sum (ranks - 1) over the processor grid (4 on 3 x 3). A last tile that is
 * shorter than z is charged as a whole one; ceil is the only rounding.
 *
 * Source: "[P]" is the paper on overlapped tile execution over PCI-SCI DMA
 * (Documentation/tile.rst, References); equations are its own. Where it always
 * takes t_comp in (3), this takes the maximum of its (2).
 *
 * Every function returns 0 or a negative errno:
 *   -EINVAL	a NULL, or a parameter nic_model_check() refuses
 *   -ERANGE	z is not in 1 to DIMZ; or there is no crossover
 *   -EDOM	there is nothing to compare (one rank does not communicate)
 *   -EOVERFLOW	the result is not finite
 *   -E2BIG	a longer struct of a newer library whose tail is not zero
 */
#ifndef NIC_TILE_MODEL_H
#define NIC_TILE_MODEL_H

#include <nic_tile_grid.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The paper's card, Dolphin D330 on 2.4 kernels ([P] section 5.2), seconds */
#define NIC_MODEL_SCI_START_DMA	49.2e-6
#define NIC_MODEL_SCI_INTERRUPT	18.8e-6
/*
 * Time a point of the paper's 800 MHz nodes, seconds. Fitted from its plots,
 * not printed in it.
 */
#define NIC_MODEL_SCI_T1	46e-9

/* Largest DIMZ and A: integers up to here are exact as doubles. */
#define NIC_MODEL_MAX_SIZE	(UINT64_C(1) << 53)

/**
 * struct nic_tile_model - everything the model depends on
 * @size: sizeof(struct nic_tile_model); nic_model_init() sets it
 * @flags: 0
 * @ngrid: entries of @grid, 1 to NIC_PLAN_MAX_DIM - 1
 * @grid: ranks along each dimension that is not pipelined, each at least 1
 * @reserved: 0
 * @dimz: points of the pipelined dimension, 1 to NIC_MODEL_MAX_SIZE
 * @area: A, points per unit of height that a rank computes (the largest
 *	block), 1 to NIC_MODEL_MAX_SIZE
 * @t1: seconds a point, positive
 * @t_start_dma: seconds of CPU to post the DMA of a step (one post for all
 *	faces), 0 or more
 * @t_interrupt: seconds of one remote interrupt, 0 or more
 * @t_sync: seconds of synchronisation a step; 0 stands for 4 @t_interrupt (for
 *	none at all set both to 0)
 * @t_startup: seconds a step of the non-overlapping schedule spends besides
 *	computing and transferring; 0 stands for t_start_dma + t_sync +
 *	t_compute + t_transfer
 * @c: seconds of transfer per unit of height, all faces of a step through one
 *	engine, 0 or more
 * @t_compute: seconds that computing a tile takes besides A t1 a unit of
 *	height, 0 or more
 * @t_transfer: seconds that the transfer of a step takes besides @c a unit of
 *	height (latency, acknowledgment), 0 or more
 */
struct nic_tile_model {
	size_t size;
	uint32_t flags;
	uint32_t ngrid;
	uint32_t grid[NIC_PLAN_MAX_DIM - 1];
	uint32_t reserved;
	uint64_t dimz;
	uint64_t area;
	double t1;
	double t_start_dma;
	double t_interrupt;
	double t_sync;
	double t_startup;
	double c;
	double t_compute;
	double t_transfer;
};

/**
 * nic_model_init - zero a model, and fill in its size and the paper's card
 * @model: the model
 * @size: sizeof(struct nic_tile_model) as the caller knows it
 *
 * Sets @t_start_dma and @t_interrupt. The caller still sets @dimz, @area,
 * @grid (or calls nic_model_set_grid()) and @t1.
 *
 * Return: 0, -EINVAL. Source: [P] section 5.2, a = 124.4 us.
 */
int nic_model_init(struct nic_tile_model *model, size_t size);

/**
 * nic_model_check - are the parameters usable
 * @model: the model
 * @why: if not NULL, set to a sentence (static storage), or to "" if usable
 *
 * Every other function checks as well.
 *
 * Return: 0; -EINVAL: NaN, infinite, negative, zero where a positive number is
 * needed, an unknown flag, a size; -E2BIG.
 */
int nic_model_check(const struct nic_tile_model *model, const char **why);

/**
 * nic_model_set_grid - take sizes and transfer time from a grid plan
 * @model: initialised model; @ngrid, @grid, @dimz, @area and @c are set
 * @grid: plan from nic_grid_init()
 * @bandwidth: bytes per second of the NIC's engine, positive; INFINITY gives
 *	c = 0. (The paper does not print its card's: state the one chosen.)
 *
 * Return: 0, -EINVAL.
 */
int nic_model_set_grid(struct nic_tile_model *model,
		       const struct nic_tile_grid *grid, double bandwidth);

/**
 * nic_model_get_overhead - the part of a step that does not grow with z
 * @model: the model
 * @schedule: which schedule
 * @seconds: result: a = t_start_dma + t_sync with overlap, and the greater of
 *	t_compute and t_transfer; t_startup without
 *
 * Return: 0, -EINVAL, -EOVERFLOW. Source: [P] (1), (2), section 5.2.
 */
int nic_model_get_overhead(const struct nic_tile_model *model,
			   enum nic_tile_schedule schedule, double *seconds);

/**
 * nic_model_count_steps - P(z) = F + ceil(DIMZ/z), P'(z) = 2F + ceil(DIMZ/z)
 * @model: the model
 * @schedule: which schedule
 * @z: tile height, 1 to DIMZ
 * @steps: result. On 3 x 3: 4 + DIMZ/z and 8 + DIMZ/z.
 *
 * Return: 0; -EINVAL; -ERANGE: @z. Source: [P] (1), (2), (3).
 */
int nic_model_count_steps(const struct nic_tile_model *model,
			  enum nic_tile_schedule schedule, uint64_t z,
			  uint64_t *steps);

/**
 * nic_model_predict - time of a whole run
 * @model: the model
 * @schedule: which schedule
 * @z: tile height, 1 to DIMZ
 * @seconds: result: P(z) (t_comp + t_startup + t_transmit), or
 *	P'(z) (t_start_dma + max(t_comp, t_comm_dma) + t_sync)
 *
 * Return: 0; -EINVAL; -ERANGE: @z; -EOVERFLOW. Source: [P] (1), (2).
 */
int nic_model_predict(const struct nic_tile_model *model,
		      enum nic_tile_schedule schedule, uint64_t z,
		      double *seconds);

/**
 * nic_model_optimize - the best tile height in closed form
 * @model: the model
 * @schedule: which schedule
 * @z: result: z* = sqrt(DIMZ b / (K w)), kept within 1 to DIMZ
 * @seconds: result: T* = (sqrt(K b) + sqrt(DIMZ w))^2, or T at the end that z*
 *	was kept to; may be NULL
 *
 * K = F, b = t_startup, w = A t1 + c without overlap. With it K = 2F, and
 * b = a + t_compute, w = A t1 where computing is the longer at the z* of that, or
 * b = a + t_transfer, w = c where transferring is, or else z* is where both take
 * as long. Continuous: DIMZ/z is not rounded up, so T* is a lower bound of every
 * nic_model_predict(). With one rank (K = 0) z* is DIMZ.
 *
 * Return: 0, -EINVAL, -EOVERFLOW. Source: [P] (1), (2), (3), dT/dz = 0.
 */
int nic_model_optimize(const struct nic_tile_model *model,
		       enum nic_tile_schedule schedule, double *z,
		       double *seconds);

/**
 * nic_model_best - the best whole tile height
 * @model: the model
 * @schedule: which schedule
 * @z: result: the z in 1 to DIMZ with the least nic_model_predict(), the
 *	smallest one if several
 * @seconds: result: its time; may be NULL
 *
 * The exact minimum, found by searching outward from z* until the continuous
 * bound exceeds the best seen. Takes O(sqrt(DIMZ)) time at worst. With one rank
 * it is DIMZ, even if nothing is gained by few tiles (a = 0).
 *
 * Return: 0, -EINVAL, -EOVERFLOW.
 */
int nic_model_best(const struct nic_tile_model *model,
		   enum nic_tile_schedule schedule, uint64_t *z,
		   double *seconds);

/**
 * nic_model_crossover - the transfer times at which overlapping pays
 * @model: the model; @c is not read
 * @lower: result: overlap wins above this c / (A t1) (best z against best z,
 *	closed form, by bisection); 0 if it wins without any transfer time
 * @upper: result: and below this one, where the transfer alone dominates and
 *	the longer fill is not paid back; INFINITY if there is none up to
 *	2^40; may be NULL
 *
 * Return: 0; -EINVAL; -EOVERFLOW; -EDOM: one rank; -ERANGE: overlap does not
 * even win at c = A t1 (with t_startup = a: F a is not less than DIMZ A t1),
 * so never. With t_compute or t_transfer: nor at a power of two of that.
 * Source: [P] (1) against (2); its three spaces give 3.00, 2.11 and 0.75 %.
 */
int nic_model_crossover(const struct nic_tile_model *model, double *lower,
			double *upper);

#ifdef __cplusplus
}
#endif

#endif /* NIC_TILE_MODEL_H */
