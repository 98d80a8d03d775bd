/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nic_tile.h - run the tiles of a loop nest on a grid of ranks, pipelined
 *
 * One rank computes all tiles along the longest dimension. It receives one
 * face a tile from its previous neighbour along each other dimension and sends
 * one to each next neighbour. Faces are put by the NIC straight from a send
 * buffer into a receive buffer of the neighbour; there are two of each, used
 * in turn. Neighbours tell each other by remote interrupts when a buffer is
 * free and when it is full.
 *
 * One step of the overlapping schedule, in this order:
 *
 *	trigger prev	"I am ready to accept data" (one doorbell for all)
 *	wait next	until the next ranks are ready
 *	start DMA	faces of tile k - 1 leave (one doorbell for all)
 *	compute		tile k, from the faces that came in the step before
 *	wait DMA
 *	trigger next	"your data have arrived"
 *	wait prev	until the previous ranks have sent those of tile k + 1
 *
 * The non-overlapping schedule swaps compute and start DMA: the faces of tile
 * k leave in the step that computed it. So a neighbour begins two steps later
 * with overlap, and one without.
 *
 * Source: "[P]" is the paper on overlapped tile execution over PCI-SCI DMA
 * (Documentation/tile.rst, References), sections 3 to 5, table 1.
 */
#ifndef NIC_TILE_H
#define NIC_TILE_H

#include <nic.h>
#include <nic_team.h>
#include <nic_tile_grid.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the sequence: pure, needs no driver ---- */

/**
 * enum nic_tile_phase - what a rank does in a step
 * @NIC_TILE_TRIGGER_PREV: tell the previous ranks that a buffer is free
 * @NIC_TILE_WAIT_NEXT: wait until the next ranks told so
 * @NIC_TILE_START_DMA: post the faces
 * @NIC_TILE_COMPUTE: run the callback
 * @NIC_TILE_WAIT_DMA: wait until the faces are placed at the next ranks
 * @NIC_TILE_TRIGGER_NEXT: tell the next ranks so
 * @NIC_TILE_WAIT_PREV: wait until the previous ranks told so
 * @NIC_TILE_PHASES: how many there are
 */
enum nic_tile_phase {
	NIC_TILE_TRIGGER_PREV = 0,
	NIC_TILE_WAIT_NEXT = 1,
	NIC_TILE_START_DMA = 2,
	NIC_TILE_COMPUTE = 3,
	NIC_TILE_WAIT_DMA = 4,
	NIC_TILE_TRIGGER_NEXT = 5,
	NIC_TILE_WAIT_PREV = 6,
	NIC_TILE_PHASES = 7,
};

/**
 * nic_tile_phase_name() - short English name of a phase
 * @phase: enum nic_tile_phase
 *
 * Return: static string. Thread-safe.
 */
const char *nic_tile_phase_name(unsigned int phase);

/**
 * nic_tile_order() - the phases of a step in the order of a schedule
 * @schedule: which schedule
 *
 * Return: NIC_TILE_PHASES phases, static; NULL: no such schedule.
 * Thread-safe. Source: [P] table 1.
 */
const enum nic_tile_phase *nic_tile_order(enum nic_tile_schedule schedule);

/**
 * struct nic_tile_sequence - the steps one rank takes part in
 * @schedule: which schedule
 * @ntiles: tiles the rank computes
 * @first: step of the whole run in which it computes tile 0
 * @receives: it has a previous rank
 * @sends: it has a next rank
 * @next: the coming step, relative to @first
 *
 * To be used through its functions only. One owner at a time.
 */
struct nic_tile_sequence {
	enum nic_tile_schedule schedule;
	int64_t ntiles;
	uint64_t first;
	bool receives;
	bool sends;
	int64_t next;
};

/**
 * struct nic_tile_move - what a rank does in one step
 * @step: step of the whole run, from 0
 * @receive: tile whose faces arrive, or -1
 * @compute: tile that is computed, or -1
 * @send: tile whose faces leave, or -1
 *
 * A step without @receive leaves out trigger prev and wait prev; one without
 * @send leaves out all phases with the next ranks. The neighbours leave out
 * theirs in the same step.
 */
struct nic_tile_move {
	uint64_t step;
	int64_t receive;
	int64_t compute;
	int64_t send;
};

/**
 * nic_tile_sequence_init() - before the first step
 * @sequence: result
 * @grid: plan from nic_grid_init()
 * @schedule: which schedule
 * @rank: whose steps
 *
 * Return: 0; -EINVAL; -ERANGE: @rank. Thread-safe.
 */
int nic_tile_sequence_init(struct nic_tile_sequence *sequence,
			   const struct nic_tile_grid *grid,
			   enum nic_tile_schedule schedule, uint32_t rank);

/**
 * nic_tile_sequence_next() - the next step of the rank
 * @sequence: the sequence
 * @move: result
 *
 * Over all ranks @step runs from 0 to P(g) - 1 or P'(g) - 1.
 *
 * Return: false when there are no more. Source: [P] sections 3 and 4.
 */
bool nic_tile_sequence_next(struct nic_tile_sequence *sequence,
			    struct nic_tile_move *move);

/* ---- the runtime ---- */

#define NIC_TILE_TAG_MAX	16
#define NIC_TILE_DETAIL		200
#define NIC_TILE_TIMEOUT	30000000000ULL	/* 30 s */

struct nic_tile;

/**
 * struct nic_tile_options - what nic_tile_create() needs to know
 * @size: sizeof(struct nic_tile_options)
 * @flags: zero
 * @reserved: zero
 * @grid: the loop nest and the ranks; its height is the largest tile height
 *	that will be run. Copied.
 * @extra: elements that a face carries besides its plane, a unit of tile
 *	height, one for each dimension (corners of diagonal dependences); the
 *	same on all ranks
 * @tag: short word, unique among the live tile objects of the team; NULL:
 *	"tile"
 * @timeout_ns: longest time that one wait for a neighbour may take; 0:
 *	NIC_TILE_TIMEOUT
 */
struct nic_tile_options {
	size_t size;
	uint32_t flags;
	uint32_t reserved;
	const struct nic_tile_grid *grid;
	uint32_t extra[NIC_PLAN_MAX_DIM];
	const char *tag;
	uint64_t timeout_ns;
};

/**
 * nic_tile_create() - buffers, interrupts and connections of a rank
 *	(collective)
 * @ctx: the context @team was made with; must outlive the result
 * @team: the team, of as many ranks as the grid; must outlive the result
 * @options: the same on all ranks
 * @tile: out
 *
 * Blocks until all ranks are connected. An object serves any number of runs.
 *
 * Return: 0; -EINVAL: an option, or the team and the grid differ in size;
 * -E2BIG: options of a newer library, not zero in what is new; -ETIME;
 * -ENOMEM, -EDQUOT as nic_segment_alloc(); others as nic_team_barrier() and
 * nic_team_find(). One owner at a time.
 */
int nic_tile_create(struct nic_ctx *ctx, struct nic_team *team,
		    const struct nic_tile_options *options,
		    struct nic_tile **tile);

/**
 * nic_tile_destroy() - disconnect and free; NULL is fine
 * @tile: the object
 *
 * Does not wait for others: after a run that succeeded no rank has anything
 * left to send to us. After one that failed their sends fail.
 */
void nic_tile_destroy(struct nic_tile *tile);

/**
 * struct nic_tile_step - what a callback computes
 * @k: tile, from 0
 * @first: its first point along the pipelined dimension, from 0
 * @count: its points along the pipelined dimension (the last may be shorter)
 * @receive: for each dimension the face that came from the previous rank; NULL
 *	where there is none: fixed boundary. Laid out as the sender wrote it;
 *	may be written over.
 * @send: for each dimension where to write the face for the next rank; NULL
 *	where there is none
 * @bytes: for each dimension the size of a face of this tile
 *
 * Both faces are valid during the call only. Along the pipelined dimension the
 * rank has the points of the tile before itself.
 */
struct nic_tile_step {
	uint64_t k;
	uint64_t first;
	uint64_t count;
	void *receive[NIC_PLAN_MAX_DIM];
	void *send[NIC_PLAN_MAX_DIM];
	uint64_t bytes[NIC_PLAN_MAX_DIM];
};

/* nic_tile_run_options.flags: leave out all communication ([P] figure 7) */
#define NIC_TILE_NO_COMM	(1U << 0)

/**
 * struct nic_tile_run_options - one run
 * @size: sizeof(struct nic_tile_run_options)
 * @flags: NIC_TILE_NO_COMM or 0
 * @schedule: which schedule
 * @height: tile height, at most that of the object's grid; 0: that one
 * @compute: computes one tile; anything but 0 ends the run with -ECANCELED
 * @arg: its first argument
 *
 * With NIC_TILE_NO_COMM the faces received hold whatever was there before, so
 * that computing takes as long as ever but gives no result.
 */
struct nic_tile_run_options {
	size_t size;
	uint32_t flags;
	enum nic_tile_schedule schedule;
	uint64_t height;
	int (*compute)(void *arg, const struct nic_tile_step *step);
	void *arg;
};

/**
 * struct nic_tile_phase_time - time a rank spent in one phase
 * @count: steps that had the phase
 * @sum_ns: all of them
 * @max_ns: the longest
 */
struct nic_tile_phase_time {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t max_ns;
};

/**
 * struct nic_tile_result - what a run was like on this rank
 * @size: sizeof(struct nic_tile_result), set by the caller
 * @ntiles: tiles computed
 * @steps: steps the rank took part in
 * @start_ns: CLOCK_MONOTONIC before its first step
 * @end_ns: CLOCK_MONOTONIC after its last step
 * @phase: time in each phase, by enum nic_tile_phase
 * @failed_rank: on failure the neighbour concerned, or -1
 * @failed_tile: on failure the tile concerned, or -1
 * @failed_status: on failure enum nic_status of the operation, 0: none
 * @detail: on failure a sentence; else empty
 */
struct nic_tile_result {
	size_t size;
	uint64_t ntiles;
	uint64_t steps;
	uint64_t start_ns;
	uint64_t end_ns;
	struct nic_tile_phase_time phase[NIC_TILE_PHASES];
	int32_t failed_rank;
	uint32_t failed_status;
	int64_t failed_tile;
	char detail[NIC_TILE_DETAIL];
};

/**
 * nic_tile_run() - compute all tiles of this rank (collective)
 * @tile: the object
 * @options: the same on all ranks, but for @compute and @arg
 * @result: out; may be NULL
 *
 * Blocks until this rank has nothing more to compute, to send or to tell; the
 * last waiting for its own triggers is not in @result. Ranks keep in step with
 * their neighbours only: call nic_team_barrier() before, where @start_ns shall
 * mean something.
 *
 * Return: 0; -EINVAL, -E2BIG as nic_tile_create(); -ETIME: a neighbour did not
 * answer in time; -EREMOTEIO: an operation failed; -ECANCELED: the callback;
 * -ENODEV; -EIO: an earlier run failed. When a step has failed the
 * object can only be destroyed. Signals do not end it. One owner at a time.
 * Source: [P] table 1, figures 4 to 6.
 */
int nic_tile_run(struct nic_tile *tile,
		 const struct nic_tile_run_options *options,
		 struct nic_tile_result *result);

#ifdef __cplusplus
}
#endif

#endif /* NIC_TILE_H */
