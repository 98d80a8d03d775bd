// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Buffers, interrupts and connections of the pipelined runtime.
 *
 * Every rank lays its buffers out in the same way, with a place for a face of
 * every dimension whether or not it has a neighbour there: so a sender knows
 * where the buffers of its neighbour are. run.c owns what happens with them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libnic/core/internal.h"
#include "tile.h"

#define TILE_ALIGN	4096	/* buffers do not share a page */
#define TILE_QUEUE	32	/* up to seven a doorbell, and room */
#define WORD_MAX	(NIC_TILE_TAG_MAX + 12)	/* ".r" and any number behind it */

static const char making[] = "make a pipeline of tiles";

/* A face of dimension @d with all that it carries, rounded up to pages */
static int slot_size(const struct nic_tile *tile, unsigned int d,
		     uint64_t *size)
{
	const struct nic_tile_grid *grid = &tile->grid;
	uint64_t bytes;

	if (!grid->face_bytes[d]) {
		*size = 0;
		return 0;
	}
	if (__builtin_mul_overflow((uint64_t)tile->extra[d] * grid->element,
				   grid->height, &bytes) ||
	    __builtin_add_overflow(bytes, grid->face_bytes[d], &bytes) ||
	    __builtin_add_overflow(bytes, TILE_ALIGN - 1, &bytes))
		return -EOVERFLOW;
	*size = bytes / TILE_ALIGN * TILE_ALIGN;
	return 0;
}

static int lay_out(struct nic_tile *tile)
{
	uint64_t offset = 0, both;
	unsigned int d;
	int ret;

	for (d = 0; d < tile->grid.ndims; d++) {
		ret = slot_size(tile, d, &tile->slot_bytes[d]);
		if (ret)
			return ret;
		tile->slot_offset[d] = offset;
		if (__builtin_mul_overflow(tile->slot_bytes[d], TILE_SLOTS,
					   &both) ||
		    __builtin_add_overflow(offset, both, &offset))
			return -EOVERFLOW;
	}
	tile->total_bytes = offset;
	return 0;
}

static int find_neighbours(struct nic_tile *tile)
{
	unsigned int d;
	int ret;

	for (d = 0; d < NIC_PLAN_MAX_DIM; d++) {
		tile->prev[d].rank = -1;
		tile->next[d].rank = -1;
	}
	for (d = 0; d < tile->grid.ndims; d++) {
		ret = nic_grid_get_neighbors(&tile->grid, tile->rank, d,
					     &tile->prev[d].rank,
					     &tile->next[d].rank);
		if (ret)
			return ret;
	}
	return 0;
}

static bool has_any(const struct tile_link *link)
{
	unsigned int d;

	for (d = 0; d < NIC_PLAN_MAX_DIM; d++)
		if (link[d].rank >= 0)
			return true;
	return false;
}

/* "tile.r0": @what of dimension @d */
static const char *word(const struct nic_tile *tile, char what, unsigned int d,
			char text[WORD_MAX])
{
	snprintf(text, WORD_MAX, "%s.%c%u", tile->tag, what, d);
	return text;
}

/* What the neighbours will look for: 'f'aces, 'r'eady, 'd'one */
static int publish(struct nic_tile *tile)
{
	unsigned int d;
	char text[WORD_MAX];
	int ret = 0;

	if (has_any(tile->prev)) {
		ret = nic_segment_alloc(tile->ctx, tile->total_bytes,
					&tile->in);
		if (!ret)
			ret = nic_team_share(tile->team, tile->in, NIC_WRITE,
					     word(tile, 'f', 0, text));
	}
	if (!ret && has_any(tile->next))
		ret = nic_segment_alloc(tile->ctx, tile->total_bytes,
					&tile->out);
	for (d = 0; !ret && d < tile->grid.ndims; d++) {
		if (tile->prev[d].rank >= 0)
			ret = nic_team_irq_create(tile->team,
						  word(tile, 'd', d, text), 2,
						  0, &tile->prev[d].heard);
		if (!ret && tile->next[d].rank >= 0)
			ret = nic_team_irq_create(tile->team,
						  word(tile, 'r', d, text), 2,
						  0, &tile->next[d].heard);
	}
	if (!ret)
		ret = nic_queue_create(tile->ctx, TILE_QUEUE, &tile->queue);
	return ret;
}

static int join(struct nic_tile *tile, struct tile_link *link, char raise,
		unsigned int d, bool faces)
{
	char text[WORD_MAX];
	int ret;

	if (link->rank < 0)
		return 0;
	ret = nic_team_irq_find(tile->team, (unsigned int)link->rank,
				word(tile, raise, d, text), tile->timeout_ns,
				&link->raise);
	if (ret || !faces)
		return ret;
	return nic_team_find(tile->team, (unsigned int)link->rank,
			     word(tile, 'f', 0, text), tile->timeout_ns,
			     &link->faces);
}

/*
 * The first barrier: all have destroyed an earlier object of the same tag, so
 * nobody connects to that. The second: nobody raises an interrupt before its
 * owner is connected as well, and can send.
 */
static int connect_all(struct nic_tile *tile)
{
	unsigned int d;
	int ret;

	ret = nic_team_barrier(tile->team, tile->timeout_ns);
	if (!ret)
		ret = publish(tile);
	for (d = 0; !ret && d < tile->grid.ndims; d++) {
		ret = join(tile, &tile->prev[d], 'r', d, false);
		if (!ret)
			ret = join(tile, &tile->next[d], 'd', d, true);
	}
	if (!ret)
		ret = nic_team_barrier(tile->team, tile->timeout_ns);
	return ret;
}

/* NULL, or why the options cannot be used */
static const char *refuse(const struct nic_tile *tile,
			  const struct nic_tile_options *options)
{
	const struct nic_tile_grid *grid = options->grid;

	if (options->flags || options->reserved)
		return "an unknown flag is set";
	if (!grid || grid->size != sizeof(*grid) || !grid->nranks)
		return "there is no usable grid; make it with nic_grid_init()";
	if (grid->nranks != nic_team_size(tile->team))
		return "the grid has not as many ranks as the team";
	if (options->tag && (!*options->tag ||
			     strlen(options->tag) >= NIC_TILE_TAG_MAX))
		return "tags have 1 to 15 bytes";
	return NULL;
}

static int set_up(struct nic_tile *tile, const struct nic_tile_options *options)
{
	const char *tag = options->tag ? options->tag : "tile";
	const char *cause = refuse(tile, options);
	int ret;

	if (cause)
		return nic_fail(tile->ctx, -EINVAL, cause, "%s", making);
	tile->grid = *options->grid;
	tile->rank = nic_team_rank(tile->team);
	tile->timeout_ns = options->timeout_ns ? options->timeout_ns :
						 NIC_TILE_TIMEOUT;
	memcpy(tile->tag, tag, strlen(tag) + 1);
	memcpy(tile->extra, options->extra, sizeof(tile->extra));
	ret = find_neighbours(tile);
	if (!ret)
		ret = lay_out(tile);
	if (ret)
		return nic_fail(tile->ctx, ret, "its buffers are too large",
				"%s", making);
	return 0;
}

int nic_tile_create(struct nic_ctx *ctx, struct nic_team *team,
		    const struct nic_tile_options *options,
		    struct nic_tile **out)
{
	struct nic_tile_options known;
	struct nic_tile *tile;
	int ret;

	if (!ctx || !team || !options || !out)
		return nic_fail(ctx, -EINVAL,
				"context, team, options and a place for the result are needed",
				"%s", making);
	ret = nic_options_copy(ctx, &known, sizeof(known), options,
			       options->size, sizeof(known), making);
	if (ret)
		return ret;
	tile = calloc(1, sizeof(*tile));
	if (!tile)
		return nic_fail(ctx, -ENOMEM, NULL, "%s", making);
	tile->ctx = ctx;
	tile->team = team;
	ret = set_up(tile, &known);
	if (!ret)
		ret = connect_all(tile);
	if (ret) {
		nic_tile_destroy(tile);
		return ret;
	}
	*out = tile;
	return 0;
}

static void part(struct tile_link *link)
{
	nic_disconnect(link->faces);
	nic_disconnect(link->raise);
	nic_irq_destroy(link->heard);
}

void nic_tile_destroy(struct nic_tile *tile)
{
	unsigned int d;

	if (!tile)
		return;
	/* First what still reads our buffers, then the buffers */
	nic_queue_destroy(tile->queue);
	for (d = 0; d < NIC_PLAN_MAX_DIM; d++) {
		part(&tile->prev[d]);
		part(&tile->next[d]);
	}
	nic_segment_free(tile->out);
	nic_segment_free(tile->in);
	free(tile);
}
