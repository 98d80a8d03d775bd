// SPDX-License-Identifier: GPL-2.0-only
/*
 * space.c - the test loop of the paper
 *
 *	A[i][j][k] = func(A[i-1][j][k], A[i][j-1][k], A[i][j][k-1])
 *
 * on floats; index 0 of each dimension is a fixed boundary, and a dimension of
 * N points runs from 1 to N. func() is one expression, compiled once for the
 * tiles and once for the sequential run: both must be compiled without
 * contraction (-ffp-contract=off), or a machine with fused operations would
 * round them differently. The results are compared bit by bit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nictile.h"

/* Cheap, and stays near 1: the mean of the three, but for rounding */
static inline float func(float a, float b, float c)
{
	return (a + b + c) * 0.33333334f;
}

/* A value of its own for nearly every point of the boundary, exact */
static inline float boundary(uint64_t i, uint64_t j, uint64_t k)
{
	return 1.0f + (float)((7 * i + 13 * j + 29 * k) & 255) / 256.0f;
}

/* The boundary before dimension @d, in the layout of a whole column of faces */
static float *fixed_make(const struct space *space, unsigned int d)
{
	uint64_t rows = space->count[1 - d], n = space->count[2], row, k;
	float *fixed = malloc(rows * n * sizeof(*fixed));

	for (row = 0; fixed && row < rows; row++) {
		uint64_t at = space->first[1 - d] + row + 1;

		for (k = 0; k < n; k++)
			fixed[row * n + k] = d ? boundary(at, 0, k + 1) :
						 boundary(0, at, k + 1);
	}
	return fixed;
}

int space_create(struct space *space, const struct nic_tile_grid *grid,
		 uint32_t rank)
{
	uint64_t points = 1;
	unsigned int d;
	int ret;

	memset(space, 0, sizeof(*space));
	for (d = 0; d < 3; d++) {
		ret = nic_grid_get_block(grid, rank, d, &space->first[d],
					 &space->count[d]);
		if (ret)
			return ret;
		points *= space->count[d];
	}
	space->value = malloc(points * sizeof(float));
	space->reference = malloc(points * sizeof(float));
	for (d = 0; d < 2; d++)
		if (!space->first[d])
			space->fixed[d] = fixed_make(space, d);
	if (space->value && space->reference &&
	    (space->first[0] || space->fixed[0]) &&
	    (space->first[1] || space->fixed[1]))
		return 0;
	fprintf(stderr, "nictile: no memory for %.0f MiB of values\n",
		2.0 * (double)points * sizeof(float) / (1 << 20));
	space_destroy(space);
	return -ENOMEM;
}

void space_destroy(struct space *space)
{
	free(space->value);
	free(space->reference);
	free(space->fixed[0]);
	free(space->fixed[1]);
	memset(space, 0, sizeof(*space));
}

uint64_t space_points(const struct space *space, uint64_t height)
{
	return space->count[0] * space->count[1] * height;
}

/* One plane of the whole loop, from the plane before it, in place */
static void plane_next(float *plane, uint64_t rows, uint64_t columns,
		       uint64_t k)
{
	uint64_t i, j;
	float *row;

	for (j = 1; j <= columns; j++)
		plane[j] = boundary(0, j, k);
	for (i = 1; i <= rows; i++) {
		row = plane + i * (columns + 1);
		row[0] = boundary(i, 0, k);
		for (j = 1; j <= columns; j++)
			row[j] = func(row[j - columns - 1], row[j - 1], row[j]);
	}
}

/*
 * Plane by plane, so that a plane is all the memory it takes. Ours needs the
 * points before it only.
 */
int space_reference(struct space *space)
{
	uint64_t rows = space->first[0] + space->count[0];
	uint64_t columns = space->first[1] + space->count[1];
	uint64_t n = space->count[2], i, j, k;
	float *plane = malloc((rows + 1) * (columns + 1) * sizeof(*plane));
	float *out = space->reference;

	if (!plane) {
		fputs("nictile: out of memory\n", stderr);
		return -ENOMEM;
	}
	for (i = 1; i <= rows; i++)
		for (j = 1; j <= columns; j++)
			plane[i * (columns + 1) + j] = boundary(i, j, 0);
	for (k = 0; k < n; k++) {
		plane_next(plane, rows, columns, k + 1);
		for (i = 0; i < space->count[0]; i++)
			for (j = 0; j < space->count[1]; j++)
				out[(i * space->count[1] + j) * n + k] =
					plane[(space->first[0] + i + 1) *
					      (columns + 1) +
					      space->first[1] + j + 1];
	}
	free(plane);
	return 0;
}

void space_wipe(struct space *space, uint64_t ntiles)
{
	/* All bits set is a NaN, which is no result of the loop. */
	memset(space->value, 0xff,
	       space_points(space, space->count[2]) * sizeof(float));
	space->ntiles = ntiles;
}

static void row_compute(float *row, const float *up, const float *left,
			float back, uint64_t count)
{
	uint64_t k;

	for (k = 0; k < count; k++) {
		back = func(up[k], left[k], back);
		row[k] = back;
	}
}

int space_compute(void *arg, const struct nic_tile_step *step)
{
	const struct space *space = arg;
	uint64_t ni = space->count[0], nj = space->count[1];
	uint64_t n = space->count[2], z = step->count, i, j;
	const float *up, *left;
	float *row, back;

	for (i = 0; i < ni; i++) {
		for (j = 0; j < nj; j++) {
			row = space->value + (i * nj + j) * n + step->first;
			up = i ? row - nj * n : step->receive[0] ?
			     (const float *)step->receive[0] + j * z :
			     space->fixed[0] + j * n + step->first;
			left = j ? row - n : step->receive[1] ?
			       (const float *)step->receive[1] + i * z :
			       space->fixed[1] + i * n + step->first;
			back = step->first ? row[-1] :
			       boundary(space->first[0] + i + 1,
					space->first[1] + j + 1, 0);
			row_compute(row, up, left, back, z);
			if (i == ni - 1 && step->send[0])
				memcpy((float *)step->send[0] + j * z, row,
				       z * sizeof(*row));
			if (j == nj - 1 && step->send[1])
				memcpy((float *)step->send[1] + i * z, row,
				       z * sizeof(*row));
		}
	}
	/* A face of this run must not pass for one of the next. */
	for (i = 0; i < 2 && step->k + 2 >= space->ntiles; i++)
		if (step->receive[i])
			memset(step->receive[i], 0xff, step->bytes[i]);
	return 0;
}

static uint32_t bits(float value)
{
	union {
		float value;
		uint32_t bits;
	} both = { .value = value };

	return both.bits;
}

uint64_t space_compare(const struct space *space)
{
	uint64_t points = space_points(space, space->count[2]);
	uint64_t i, wrong = 0;

	for (i = 0; i < points; i++)
		wrong += bits(space->value[i]) != bits(space->reference[i]);
	return wrong;
}
