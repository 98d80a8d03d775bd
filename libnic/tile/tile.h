/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tile.h - what a rank of the pipelined runtime holds (private to libnic/tile)
 *
 * For each dimension there is at most one previous and one next neighbour. An
 * interrupt hears one neighbour for one purpose, so that its count alone tells
 * how far that neighbour is.
 */
#ifndef NIC_TILE_PRIVATE_H
#define NIC_TILE_PRIVATE_H

#include <nic_tile.h>

/* Receive buffers of a face at the receiver, and send buffers at the sender */
#define TILE_SLOTS	2

/**
 * struct tile_link - what joins us to one neighbour
 * @rank: the neighbour, or -1: none
 * @heard: a previous rank raises it when its face has arrived, a next rank
 *	when it is ready for one
 * @counted: how often @heard was raised when all of it had been waited for
 * @raise: the neighbour's interrupt for us
 * @faces: the neighbour's receive buffers (next ranks only)
 */
struct tile_link {
	int rank;
	struct nic_irq *heard;
	uint64_t counted;
	struct nic_remote *raise;
	struct nic_remote *faces;
};

/**
 * struct nic_tile - the pipelined runtime of one rank
 * @ctx: borrowed
 * @team: borrowed
 * @grid: with the largest height
 * @rank: of this process
 * @extra: as in the options
 * @timeout_ns: of each wait
 * @tag: as in the options
 * @broken: a run failed, so that counts and buffers are in no known state
 * @queue: for faces and triggers
 * @in: receive buffers, shared with the previous ranks; NULL: none
 * @out: send buffers; NULL: none
 * @slot_offset: first buffer of each dimension, the same in all ranks' @in and
 *	@out
 * @slot_bytes: distance to its second buffer
 * @total_bytes: of @in and of @out
 * @prev: neighbours that send to us, by dimension
 * @next: neighbours we send to, by dimension
 */
struct nic_tile {
	struct nic_ctx *ctx;
	struct nic_team *team;
	struct nic_tile_grid grid;
	uint32_t rank;
	uint32_t extra[NIC_PLAN_MAX_DIM];
	uint64_t timeout_ns;
	char tag[NIC_TILE_TAG_MAX];
	bool broken;
	struct nic_queue *queue;
	struct nic_segment *in;
	struct nic_segment *out;
	uint64_t slot_offset[NIC_PLAN_MAX_DIM];
	uint64_t slot_bytes[NIC_PLAN_MAX_DIM];
	uint64_t total_bytes;
	struct tile_link prev[NIC_PLAN_MAX_DIM];
	struct tile_link next[NIC_PLAN_MAX_DIM];
};

/* Offset of the buffer of tile @k of dimension @d in any @in or @out */
static inline uint64_t tile_slot(const struct nic_tile *tile, unsigned int d,
				 int64_t k)
{
	return tile->slot_offset[d] +
	       (uint64_t)k % TILE_SLOTS * tile->slot_bytes[d];
}

#endif /* NIC_TILE_PRIVATE_H */
