// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The processor grid: who computes which block, when, and with whom it
 * exchanges which bytes.
 *
 * Owns nothing: every function works on its arguments alone. Invariant of a
 * usable grid (nranks != 0): no size, step or number of a tile overflows, so
 * that only nic_grid_init() has to look.
 */
#include <errno.h>
#include <string.h>

#include <nic_tile_grid.h>

#include "plan_internal.h"

static bool grid_usable(const struct nic_tile_grid *grid)
{
	return grid && grid->size >= sizeof(*grid) && grid->nranks;
}

/*
 * A longer struct of a newer caller is fine while it says nothing new. A size
 * beyond a page was never set.
 */
static int check_tail(const void *options, size_t size, size_t known)
{
	const unsigned char *byte = options;

	if (size < known || size > 4096)
		return -EINVAL;
	for (; known < size; known++)
		if (byte[known])
			return -E2BIG;
	return 0;
}

/* Points of the largest block; the first N mod p ranks have it */
static uint64_t largest_block(const struct nic_tile_grid *grid, unsigned int d)
{
	return (grid->dims[d] - 1) / grid->ranks[d] + 1;
}

static int grid_set_pipe(struct nic_tile_grid *grid,
			 const struct nic_grid_options *options)
{
	unsigned int d;

	if (options->flags & NIC_GRID_PIPE) {
		if (options->pipe >= options->ndims)
			return refuse(grid->detail, -EINVAL,
				      "pipelined dimension %u of only %u",
				      options->pipe, options->ndims);
		grid->pipe = options->pipe;
		return 0;
	}
	if (options->pipe)
		return refuse(grid->detail, -EINVAL,
			      "pipe is set without the flag NIC_GRID_PIPE");
	for (d = 1; d < options->ndims; d++)
		if (options->dims[d] >= options->dims[grid->pipe])
			grid->pipe = d;
	return 0;
}

static int grid_set_dims(struct nic_tile_grid *grid,
			 const struct nic_grid_options *options)
{
	uint32_t ranks, nranks = 1;
	unsigned int d;

	for (d = 0; d < options->ndims; d++) {
		ranks = options->ranks[d];
		if (d == grid->pipe && ranks > 1)
			return refuse(grid->detail, -EINVAL,
				      "%u ranks along the pipelined dimension",
				      ranks);
		if (d == grid->pipe)
			ranks = 1;
		if (!ranks || ranks > options->dims[d])
			return refuse(grid->detail, -EINVAL,
				      "%u ranks for %ju points of dimension %u",
				      ranks, (uintmax_t)options->dims[d], d);
		grid->dims[d] = options->dims[d];
		grid->ranks[d] = ranks;
		if (__builtin_mul_overflow(nranks, ranks, &nranks) ||
		    nranks > INT32_MAX)
			return refuse(grid->detail, -EOVERFLOW,
				      "more than 2^31 ranks");
	}
	grid->nranks = nranks;
	return 0;
}

/* Sizes of the largest blocks. No smaller block can overflow afterwards. */
static int grid_set_sizes(struct nic_tile_grid *grid)
{
	uint64_t unit, points;
	unsigned int d, other;
	bool bad = false;

	grid->area = 1;
	for (d = 0; d < grid->ndims; d++) {
		if (d == grid->pipe)
			continue;
		bad |= __builtin_mul_overflow(grid->area,
					      largest_block(grid, d),
					      &grid->area);
		unit = grid->element;
		for (other = 0; other < grid->ndims; other++) {
			if (other == grid->pipe || other == d)
				continue;
			points = largest_block(grid, other);
			bad |= __builtin_mul_overflow(unit, points, &unit);
		}
		bad |= __builtin_mul_overflow(unit, grid->height, &points);
		if (grid->ranks[d] == 1)
			continue;
		grid->face_bytes[d] = points;
		bad |= __builtin_add_overflow(grid->unit_bytes, unit,
					      &grid->unit_bytes);
	}
	return bad ? -EOVERFLOW : 0;
}

static int grid_fill(struct nic_tile_grid *grid,
		     const struct nic_grid_options *options)
{
	uint64_t whole;
	int ret;

	ret = grid_set_pipe(grid, options);
	if (!ret)
		ret = grid_set_dims(grid, options);
	if (ret)
		return ret;
	whole = grid->dims[grid->pipe];
	grid->height = options->height;
	if (!grid->height || grid->height > whole)
		return refuse(grid->detail, -EINVAL,
			      "tile height %ju: must be 1 to %ju",
			      (uintmax_t)grid->height, (uintmax_t)whole);
	/* Steps stay far below 2^63, as do tile numbers in nic_grid_find_tile(). */
	grid->ntiles = (whole - 1) / grid->height + 1;
	if (grid->ntiles > INT64_MAX / 2)
		return refuse(grid->detail, -EOVERFLOW,
			      "%ju tiles: use a greater tile height",
			      (uintmax_t)grid->ntiles);
	grid->element = options->element;
	ret = grid_set_sizes(grid);
	if (ret)
		refuse(grid->detail, ret,
		       "a block has more than 2^64 points, or a message bytes");
	return ret;
}

int nic_grid_init(struct nic_tile_grid *grid,
		  const struct nic_grid_options *options)
{
	size_t size;
	int ret;

	if (!grid || grid->size < sizeof(*grid))
		return -EINVAL;
	size = grid->size;
	memset(grid, 0, sizeof(*grid));
	grid->size = size;
	if (!options)
		return refuse(grid->detail, -EINVAL, "no options given");
	ret = check_tail(options, options->size, sizeof(*options));
	if (ret)
		return refuse(grid->detail, ret,
			      "options of %zu bytes: this library knows %zu",
			      options->size, sizeof(*options));
	if (options->flags & ~NIC_GRID_PIPE)
		return refuse(grid->detail, -EINVAL, "unknown flags 0x%x",
			      options->flags);
	if (options->ndims < 2 || options->ndims > N_MAX)
		return refuse(grid->detail, -EINVAL,
			      "%u dimensions: must be 2 to %d", options->ndims,
			      N_MAX);
	if (!options->element)
		return refuse(grid->detail, -EINVAL, "elements of 0 bytes");
	grid->ndims = options->ndims;
	ret = grid_fill(grid, options);
	if (ret)
		grid->nranks = 0;	/* not usable */
	return ret;
}

int nic_grid_get_coords(const struct nic_tile_grid *grid, uint32_t rank,
			uint32_t *coords)
{
	unsigned int d;

	if (!grid_usable(grid) || !coords)
		return -EINVAL;
	if (rank >= grid->nranks)
		return -ERANGE;
	for (d = grid->ndims; d--; rank /= grid->ranks[d])
		coords[d] = rank % grid->ranks[d];
	return 0;
}

int nic_grid_get_rank(const struct nic_tile_grid *grid, const uint32_t *coords,
		      uint32_t *rank)
{
	uint32_t number = 0;
	unsigned int d;

	if (!grid_usable(grid) || !coords || !rank)
		return -EINVAL;
	for (d = 0; d < grid->ndims; d++) {
		if (coords[d] >= grid->ranks[d])
			return -ERANGE;
		number = number * grid->ranks[d] + coords[d];
	}
	*rank = number;
	return 0;
}

static int get_coord(const struct nic_tile_grid *grid, uint32_t rank,
		     unsigned int dim, uint32_t *coord)
{
	uint32_t coords[N_MAX];
	int ret;

	ret = nic_grid_get_coords(grid, rank, coords);
	if (ret)
		return ret;
	if (dim >= grid->ndims)
		return -ERANGE;
	*coord = coords[dim];
	return 0;
}

int nic_grid_get_neighbors(const struct nic_tile_grid *grid, uint32_t rank,
			   unsigned int dim, int *prev, int *next)
{
	uint32_t coord, stride = 1;
	unsigned int d;
	int ret;

	if (!prev || !next)
		return -EINVAL;
	ret = get_coord(grid, rank, dim, &coord);
	if (ret)
		return ret;
	for (d = dim + 1; d < grid->ndims; d++)
		stride *= grid->ranks[d];
	*prev = coord ? (int)(rank - stride) : -1;
	*next = coord + 1 < grid->ranks[dim] ? (int)(rank + stride) : -1;
	return 0;
}

int nic_grid_get_block(const struct nic_tile_grid *grid, uint32_t rank,
		       unsigned int dim, uint64_t *first, uint64_t *count)
{
	uint64_t base, longer;
	uint32_t x;
	int ret;

	if (!first || !count)
		return -EINVAL;
	ret = get_coord(grid, rank, dim, &x);
	if (ret)
		return ret;
	base = grid->dims[dim] / grid->ranks[dim];
	longer = grid->dims[dim] % grid->ranks[dim];
	*first = x * base + (x < longer ? x : longer);
	*count = base + (x < longer);
	return 0;
}

int nic_grid_get_tile(const struct nic_tile_grid *grid, uint64_t k,
		      uint64_t *first, uint64_t *count)
{
	uint64_t left;

	if (!grid_usable(grid) || !first || !count)
		return -EINVAL;
	if (k >= grid->ntiles)
		return -ERANGE;
	*first = k * grid->height;
	left = grid->dims[grid->pipe] - *first;
	*count = left < grid->height ? left : grid->height;
	return 0;
}

int nic_grid_get_face(const struct nic_tile_grid *grid, uint32_t rank,
		      unsigned int dim, uint64_t k, uint64_t *bytes)
{
	uint64_t first, count, size;
	unsigned int d;
	int ret;

	if (!bytes)
		return -EINVAL;
	ret = nic_grid_get_tile(grid, k, &first, &size);
	if (ret)
		return ret;
	if (dim >= grid->ndims || dim == grid->pipe)
		return -ERANGE;
	size *= grid->element;
	for (d = 0; d < grid->ndims; d++) {
		if (d == dim || d == grid->pipe)
			continue;
		ret = nic_grid_get_block(grid, rank, d, &first, &count);
		if (ret)
			return ret;
		size *= count;
	}
	/* In two dimensions no block was asked for above. */
	if (rank >= grid->nranks)
		return -ERANGE;
	*bytes = size;
	return 0;
}

int nic_grid_get_step(const struct nic_tile_grid *grid,
		      enum nic_tile_schedule schedule, uint32_t rank,
		      uint64_t k, uint64_t *step)
{
	uint32_t coords[N_MAX];
	uint64_t first = 0;
	unsigned int d;
	int ret;

	if (nic_schedule_latency(schedule) < 0 || !step)
		return -EINVAL;
	ret = nic_grid_get_coords(grid, rank, coords);
	if (ret)
		return ret;
	if (k >= grid->ntiles)
		return -ERANGE;
	for (d = 0; d < grid->ndims; d++)
		first += coords[d];
	*step = first * (unsigned int)nic_schedule_latency(schedule) + k;
	return 0;
}

int nic_grid_get_last(const struct nic_tile_grid *grid,
		      enum nic_tile_schedule schedule, uint32_t rank,
		      uint64_t *step)
{
	if (!grid_usable(grid))
		return -EINVAL;
	return nic_grid_get_step(grid, schedule, rank, grid->ntiles - 1, step);
}

int nic_grid_find_tile(const struct nic_tile_grid *grid,
		       enum nic_tile_schedule schedule, uint32_t rank,
		       uint64_t step, int64_t *k)
{
	uint64_t first;
	int ret;

	if (!k)
		return -EINVAL;
	ret = nic_grid_get_step(grid, schedule, rank, 0, &first);
	if (ret)
		return ret;
	*k = step < first || step - first >= grid->ntiles ?
	     -1 : (int64_t)(step - first);
	return 0;
}

int nic_grid_count_steps(const struct nic_tile_grid *grid,
			 enum nic_tile_schedule schedule, uint64_t *steps)
{
	uint64_t last;
	int ret;

	if (!grid_usable(grid) || !steps)
		return -EINVAL;
	ret = nic_grid_get_last(grid, schedule, grid->nranks - 1, &last);
	if (ret)
		return ret;
	*steps = last + 1;
	return 0;
}
