/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The block plan of a processor grid: who computes which block, when, and with
 * whom it exchanges which bytes.
 *
 * Pure and exact, as nic_tile_plan.h, whose rules and errors hold here too:
 * thread-safe as long as the callers do not write to the same object, never
 * blocking.
 *
 * Source: "[P]" is the paper on overlapped tile execution over PCI-SCI DMA
 * (Dolphin D330, 3 x 3 nodes; Documentation/tile.rst, References); sections and
 * equations are its own.
 */
#ifndef NIC_TILE_GRID_H
#define NIC_TILE_GRID_H

#include <nic_tile_plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* nic_grid_options.flags: @pipe is given (else it is the longest dimension) */
#define NIC_GRID_PIPE		(1U << 0)

/**
 * struct nic_grid_options - a loop nest, a processor grid and a tile height
 * @size: sizeof(struct nic_grid_options)
 * @flags: NIC_GRID_PIPE or 0
 * @ndims: loop dimensions, 2 to NIC_PLAN_MAX_DIM
 * @dims: computed points of each dimension (index 0 of the paper's loop is a
 *	fixed boundary and does not count), at least 1
 * @ranks: processors along each dimension, at least 1 and at most dims[];
 *	along the pipelined dimension 0 or 1
 * @pipe: the pipelined dimension, with NIC_GRID_PIPE; else 0
 * @element: bytes of one array element, e.g. sizeof(float)
 * @height: tile height z along the pipelined dimension, 1 to its points
 */
struct nic_grid_options {
	size_t size;
	uint32_t flags;
	uint32_t ndims;
	uint64_t dims[NIC_PLAN_MAX_DIM];
	uint32_t ranks[NIC_PLAN_MAX_DIM];
	uint32_t pipe;
	uint32_t element;
	uint64_t height;
};

/**
 * struct nic_tile_grid - who computes which block, and when
 * @size: sizeof(struct nic_tile_grid), set by the caller before
 *	nic_grid_init(); all else is set by it and only to be read
 * @ndims: loop dimensions
 * @pipe: the pipelined dimension
 * @dims: points of each dimension
 * @ranks: processors along each dimension; 1 along @pipe
 * @nranks: product of @ranks
 * @element: bytes of one array element
 * @height: tile height z, points
 * @ntiles: tiles a rank computes, ceil(dims[pipe] / height); the last may be
 *	shorter
 * @area: points per unit of height of the largest block (the model's A)
 * @unit_bytes: bytes per unit of height that a rank with all its next
 *	neighbours sends a step (the largest blocks)
 * @face_bytes: bytes of the largest message of each dimension, for buffers;
 *	0 along @pipe, and where there is one rank
 * @detail: after a refusal: what was refused and what to do; else empty
 *
 * Split: dimension of N points over p ranks: the first N mod p ranks have
 * ceil(N/p) points, the others floor(N/p), in order, none empty.
 *
 * Ranks: row-major over the dimensions, the last one that is not pipelined
 * runs fastest. Coordinates are arrays of @ndims elements; the pipelined one
 * is 0.
 *
 * Faces: a message of dimension d carries the last plane (one point deep) of
 * the tile along d to the next rank along d. A diagonal dependence such as
 * (1,1,0) is served without a diagonal message: exchange dimension by
 * dimension, and extend the message of each by the edge that came from the
 * dimensions before it. That is always in time: a corner makes two hops, and
 * Pi . (1,1,0) is 2 without and 4 with overlap, one hop needing 1 and 2 steps.
 * (1,0,1) needs the last plane of the message before this one: keep it.
 */
struct nic_tile_grid {
	size_t size;
	uint32_t ndims;
	uint32_t pipe;
	uint64_t dims[NIC_PLAN_MAX_DIM];
	uint32_t ranks[NIC_PLAN_MAX_DIM];
	uint32_t nranks;
	uint32_t element;
	uint64_t height;
	uint64_t ntiles;
	uint64_t area;
	uint64_t unit_bytes;
	uint64_t face_bytes[NIC_PLAN_MAX_DIM];
	char detail[NIC_PLAN_DETAIL];
};

/**
 * nic_grid_init - plan a processor grid
 * @grid: result; @grid->size is set by the caller
 * @options: the loop nest, the grid and the tile height
 *
 * Return: 0; -EINVAL: a size, an unknown flag, a count, more ranks than
 * points, a height outside 1 to the points of the pipelined dimension;
 * -EOVERFLOW: blocks, bytes, ranks or steps do not fit; -E2BIG: @options is
 * longer than known and its tail is not zero. On failure @grid->detail
 * explains. Source: [P] section 5.2.
 */
int nic_grid_init(struct nic_tile_grid *grid,
		  const struct nic_grid_options *options);

/**
 * nic_grid_get_coords - coordinates of a rank
 * @grid: the plan
 * @rank: 0 to nranks - 1
 * @coords: result, ndims elements; 0 along the pipelined dimension
 *
 * Return: 0; -EINVAL; -ERANGE: @rank.
 */
int nic_grid_get_coords(const struct nic_tile_grid *grid, uint32_t rank,
			uint32_t *coords);

/**
 * nic_grid_get_rank - rank at given coordinates
 * @grid: the plan
 * @coords: ndims elements; 0 along the pipelined dimension
 * @rank: result
 *
 * Return: 0; -EINVAL; -ERANGE: a coordinate outside the grid.
 */
int nic_grid_get_rank(const struct nic_tile_grid *grid, const uint32_t *coords,
		      uint32_t *rank);

/**
 * nic_grid_get_neighbors - whom to receive from and send to
 * @grid: the plan
 * @rank: 0 to nranks - 1
 * @dim: dimension; along the pipelined one there are no neighbours
 * @prev: result: rank that sends to us, or -1
 * @next: result: rank we send to, or -1
 *
 * Return: 0; -EINVAL; -ERANGE: @rank or @dim. Source: [P] section 5.2.
 */
int nic_grid_get_neighbors(const struct nic_tile_grid *grid, uint32_t rank,
			   unsigned int dim, int *prev, int *next);

/**
 * nic_grid_get_block - the points a rank computes along one dimension
 * @grid: the plan
 * @rank: 0 to nranks - 1
 * @dim: dimension; the pipelined one is whole
 * @first: result: first point, from 0, not counting the fixed boundary
 * @count: result: points, at least 1
 *
 * Return: 0; -EINVAL; -ERANGE: @rank or @dim.
 */
int nic_grid_get_block(const struct nic_tile_grid *grid, uint32_t rank,
		       unsigned int dim, uint64_t *first, uint64_t *count);

/**
 * nic_grid_get_tile - the points of tile k along the pipelined dimension
 * @grid: the plan
 * @k: tile, 0 to ntiles - 1
 * @first: result: first point, from 0
 * @count: result: points; height, or less for the last tile
 *
 * Return: 0; -EINVAL; -ERANGE: @k.
 */
int nic_grid_get_tile(const struct nic_tile_grid *grid, uint64_t k,
		      uint64_t *first, uint64_t *count);

/**
 * nic_grid_get_face - size of one message
 * @grid: the plan
 * @rank: the sender, 0 to nranks - 1
 * @dim: dimension the message crosses, not the pipelined one
 * @k: tile, 0 to ntiles - 1
 * @bytes: result: element * points of the other dimensions * height of tile k,
 *	whether or not there is a next rank. Sender and receiver have the same
 *	blocks in the other dimensions, so both see the same size.
 *
 * Return: 0; -EINVAL; -ERANGE: @rank, @dim or @k.
 * Source: [P] section 5.2, sizeof(float) * (DIM/3) * z.
 */
int nic_grid_get_face(const struct nic_tile_grid *grid, uint32_t rank,
		      unsigned int dim, uint64_t k, uint64_t *bytes);

/**
 * nic_grid_get_step - the step at which a rank computes tile k
 * @grid: the plan
 * @schedule: which schedule
 * @rank: 0 to nranks - 1
 * @k: tile, 0 to ntiles - 1
 * @step: result, from 0: sum x + k, or 2 sum x + k with overlap, x being the
 *	coordinates of the rank
 *
 * With overlap the data for tile k arrive in step - 1 and leave in step + 1,
 * so a rank takes part from get_step(0) - 1 (if it has a prev) to
 * get_step(ntiles - 1) + 1 (if it has a next).
 *
 * Return: 0; -EINVAL; -ERANGE: @rank or @k. Source: [P] sections 3, 4, 5.2.
 */
int nic_grid_get_step(const struct nic_tile_grid *grid,
		      enum nic_tile_schedule schedule, uint32_t rank,
		      uint64_t k, uint64_t *step);

/**
 * nic_grid_get_last - the step at which a rank computes its last tile
 * @grid: the plan
 * @schedule: which schedule
 * @rank: 0 to nranks - 1
 * @step: result, from 0
 *
 * Return: 0; -EINVAL; -ERANGE: @rank.
 */
int nic_grid_get_last(const struct nic_tile_grid *grid,
		      enum nic_tile_schedule schedule, uint32_t rank,
		      uint64_t *step);

/**
 * nic_grid_find_tile - the tile a rank computes at a step
 * @grid: the plan
 * @schedule: which schedule
 * @rank: 0 to nranks - 1
 * @step: any step, from 0
 * @k: result: tile, or -1 while the rank has not begun or has ended
 *
 * Return: 0; -EINVAL; -ERANGE: @rank.
 */
int nic_grid_find_tile(const struct nic_tile_grid *grid,
		       enum nic_tile_schedule schedule, uint32_t rank,
		       uint64_t step, int64_t *k);

/**
 * nic_grid_count_steps - steps of the whole run, P(g) or P'(g)
 * @grid: the plan
 * @schedule: which schedule
 * @steps: result: sum (ranks - 1) + ntiles, the sum twice with overlap
 *
 * Return: 0, -EINVAL. Source: [P] (1), (2), (3).
 */
int nic_grid_count_steps(const struct nic_tile_grid *grid,
			 enum nic_tile_schedule schedule, uint64_t *steps);

#ifdef __cplusplus
}
#endif

#endif /* NIC_TILE_GRID_H */
