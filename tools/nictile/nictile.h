/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nictile.h - what the parts of nictile share
 *
 *   options.c    the command line
 *   space.c      the test loop, its boundary and its sequential reference
 *   pace.c       computing that takes as long as it is told
 *   board.c      what ranks tell each other: over the NIC alone
 *   calibrate.c  what the link and this machine cost, measured
 *   fit.c        what transfers of two sizes say of the link
 *   predict.c    the paper's formulas with these costs, heights to try
 *   measure.c    the runs
 *   outcome.c    what they come to
 *   link.c       what the link pretends to cost
 *   failure.c    why a rank gives up
 *   story.c      what the next three ask of the results
 *   check.c      what must hold
 *   report.c     JSON, data for a plot
 *   show.c       tables
 *   main.c       in which order
 *
 * Every rank runs all of it; rank 0 decides and prints. Where a function says
 * nothing else it returns 0 or a negative errno, and has told why on stderr.
 */
#ifndef NICTILE_H
#define NICTILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <nic.h>
#include <nic_team.h>
#include <nic_tile.h>
#include <nic_tile_model.h>

#include "tools/common/device.h"
#include "tools/common/stats.h"

#define HEIGHTS_MAX	32
#define REPEATS_MAX	101
#define SCHEDULES	2	/* indexed by enum nic_tile_schedule */

/* ---- options.c ---- */

enum height_mode {
	HEIGHT_LIST,	/* those that were given */
	HEIGHT_AUTO,	/* the predicted optimum of each schedule */
	HEIGHT_SWEEP,	/* around it */
};

enum expectation {
	EXPECT_NOTHING,
	EXPECT_OVERLAP,		/* wins, and the prediction holds */
	EXPECT_NONOVERLAP,	/* wins */
};

/**
 * struct options - the command line
 * @dims: computed points; the last is the longest
 * @ranks: along the first two
 * @height_mode: where heights come from
 * @heights: how many were given
 * @height: those
 * @schedule: run it, by enum nic_tile_schedule
 * @model: preset to set the link to, at @scale; NULL: as it is
 * @modelled: computing takes @t1_ns a point
 * @t1_ns: nanoseconds a point, @scale times what was given
 * @scale: of @t1_ns and @model
 * @repeat: runs of each kind
 * @no_comm: also run without communication
 * @expect: what to check
 * @timeout_ns: of a wait
 * @json: print the report and no table
 * @json_path: write the report there, or NULL
 * @data_path: write columns for a plot there, or NULL
 * @verbose: a line a run on stderr
 */
struct options {
	uint64_t dims[3];
	uint32_t ranks[2];
	enum height_mode height_mode;
	unsigned int heights;
	uint64_t height[HEIGHTS_MAX];
	bool schedule[SCHEDULES];
	const char *model;
	bool modelled;
	double t1_ns;
	double scale;
	unsigned int repeat;
	bool no_comm;
	enum expectation expect;
	uint64_t timeout_ns;
	bool json;
	const char *json_path;
	const char *data_path;
	bool verbose;
};

/* Ends the program on --help and on a mistake */
void options_parse(struct options *options, int argc, char **argv);

const char *schedule_name(unsigned int schedule);

/* Who prints; without a launcher there is one rank, which is the first. */
bool first_rank(void);

/* ---- space.c ---- */

/**
 * struct space - the part of the loop's array that this rank computes
 * @first: of its points along each dimension, from 0
 * @count: its points along each dimension
 * @value: [i][j][k], as computed by the tiles
 * @reference: the same, as computed by a sequential run
 * @fixed: boundary along the first two dimensions where no rank is before us,
 *	[row][k]; else NULL
 * @ntiles: of this run: the faces of the last ones are wiped after use
 */
struct space {
	uint64_t first[3];
	uint64_t count[3];
	float *value;
	float *reference;
	float *fixed[2];
	uint64_t ntiles;
};

int space_create(struct space *space, const struct nic_tile_grid *grid,
		 uint32_t rank);
void space_destroy(struct space *space);

/* Sets @reference. Takes as long as the whole loop up to our last point. */
int space_reference(struct space *space);

/* Before each run: no value of an earlier one may be taken for ours */
void space_wipe(struct space *space, uint64_t ntiles);

/* For nic_tile_run(); @arg is a struct space. */
int space_compute(void *arg, const struct nic_tile_step *step);

/* Values that differ from the reference in any bit */
uint64_t space_compare(const struct space *space);

/* Points of a tile of @height */
uint64_t space_points(const struct space *space, uint64_t height);

/* ---- pace.c ---- */

/**
 * struct pace - computing that takes t1 a point
 * @space: whose values are really computed, before the rest of the time is
 *	slept
 * @t1_ns: nanoseconds a point; 0: as long as it takes
 * @tiles: computed so far
 * @overruns: of these, how many took longer than they should
 */
struct pace {
	struct space *space;
	double t1_ns;
	uint64_t tiles;
	uint64_t overruns;
};

/* For nic_tile_run(); @arg is a struct pace. */
int pace_compute(void *arg, const struct nic_tile_step *step);

/* Sleeps end as early as the timers can. Once a process. */
void pace_init(void);

/* ---- board.c ---- */

/* Of the time of a transfer with its size */
enum growth {
	GROWTH_MEASURED,
	GROWTH_NONE,		/* less than the times differ anyway */
	GROWTH_TOO_FAST,	/* data cannot be copied that fast */
};

/**
 * struct costs - what was measured before the runs, nanoseconds
 * @real_point: really computing one point
 * @wake: a sleep of the modelled computing ends so much late
 * @start_dma: a doorbell with two faces
 * @interrupt: from a trigger to the waiter, and back, by 4
 * @sync: the four handshakes of a step
 * @transfer: part of a transfer after the doorbell that does not grow with
 *	its size; may be negative
 * @transfer_byte: growth a byte; 0: see @growth
 * @growth: enum growth
 */
struct costs {
	double real_point;
	double wake;
	double start_dma;
	double interrupt;
	double sync;
	double transfer;
	double transfer_byte;
	uint64_t growth;
};

/**
 * struct decision - what rank 0 tells the others
 * @costs: as rank 0 and 1 measured them
 * @crowd: most ranks that share one processor, at least 1
 * @heights: how many
 * @height: in ascending order
 */
struct decision {
	struct costs costs;
	double crowd;
	uint64_t heights;
	uint64_t height[HEIGHTS_MAX];
};

/**
 * struct record - what a rank tells rank 0
 * @host: the same on ranks of the same machine
 * @cpus: that this rank may run on
 * @start_ns: CLOCK_MONOTONIC
 * @end_ns: CLOCK_MONOTONIC
 * @steps: it took part in
 * @tiles: it computed
 * @overruns: see struct pace
 * @wrong: values that differ
 * @phase_ns: sum by enum nic_tile_phase
 */
struct record {
	uint64_t host;
	uint64_t cpus;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t steps;
	uint64_t tiles;
	uint64_t overruns;
	uint64_t wrong;
	uint64_t phase_ns[NIC_TILE_PHASES];
};

struct board;

/* Collective */
int board_create(struct nic_ctx *ctx, struct nic_team *team,
		 uint64_t timeout_ns, struct board **board);
void board_destroy(struct board *board);

int board_barrier(struct board *board);

/* Collective: rank 0's @decision becomes everybody's. */
int board_decide(struct board *board, struct decision *decision);

/*
 * Collective: rank 0 has all records afterwards, in @all; it is NULL elsewhere.
 * They stay valid until the next barrier that rank 0 enters.
 */
int board_collect(struct board *board, const struct record *mine,
		  const struct record **all);

/* What this rank knows of its machine; the rest is zero */
void record_init(struct record *record);

/* ---- main.c ---- */

/**
 * struct job - what the ranks do together: calibrate() and measure() need it
 * @ctx: the context
 * @team: the ranks
 * @board: of theirs
 * @space: of this rank; to measure, with its reference
 * @grid: with a height that will be run; to measure, with the largest
 * @options: of the run
 * @decision: heights; made after the calibration
 */
struct job {
	struct nic_ctx *ctx;
	struct nic_team *team;
	struct board *board;
	struct space *space;
	const struct nic_tile_grid *grid;
	const struct options *options;
	const struct decision *decision;
};

/* ---- calibrate.c ---- */

/* Collective; at most two ranks are active at a time. Rank 0 has @costs. */
int calibrate(const struct job *job, struct costs *costs);

/* ---- fit.c ---- */

#define TRANSFERS_MAX	64

/**
 * struct transfers - how long transfers of two sizes took, nanoseconds
 * @n: of each size, at most TRANSFERS_MAX
 * @small_bytes: the smaller size
 * @large_bytes: the larger one
 * @small: transfers of it, in any order; they are sorted
 * @large: the same
 * @copy_byte: nanoseconds a byte takes to copy here; 0: the CPU need not copy
 */
struct transfers {
	unsigned int n;
	uint64_t small_bytes;
	uint64_t large_bytes;
	double *small;
	double *large;
	double copy_byte;
};

/* Sets the transfer of @costs: transfer, transfer_byte, growth */
void fit_transfer(struct transfers *of, struct costs *costs);

/* ---- predict.c ---- */

/**
 * struct prediction - the paper's formulas with measured costs
 * @model: by schedule
 * @best: the best whole height by schedule
 * @best_s: time at it
 * @optimum: z* of the closed form by schedule
 * @optimum_s: T* of the closed form by schedule
 */
struct prediction {
	struct nic_tile_model model[SCHEDULES];
	uint64_t best[SCHEDULES];
	double best_s[SCHEDULES];
	double optimum[SCHEDULES];
	double optimum_s[SCHEDULES];
};

int predict(struct prediction *prediction, const struct options *options,
	    const struct nic_tile_grid *grid, const struct costs *costs);

/* Seconds; 0 for what cannot be */
double predict_time(const struct prediction *prediction, unsigned int schedule,
		    uint64_t height);

/* The heights to run, in ascending order */
void predict_heights(const struct prediction *prediction,
		     const struct options *options,
		     const struct nic_tile_grid *grid,
		     struct decision *decision);

/* ---- outcome.c ---- */

/* Runs of one kind: both schedules, and without communication */
#define KINDS		3
#define KIND_NO_COMM	2

/**
 * struct outcome - all runs of one kind at one height
 * @n: how many
 * @seconds: from the first start to the last end
 * @compute: seconds a rank computed, the longest of all ranks
 * @time: summary of @seconds
 * @computing: summary of @compute
 */
struct outcome {
	unsigned int n;
	double seconds[REPEATS_MAX];
	double compute[REPEATS_MAX];
	struct stats time;
	struct stats computing;
};

/**
 * struct overruns - tiles of one run that took longer than they should
 * @overruns: how many, see struct pace
 * @tiles: of so many, on all ranks
 * @height: of the run
 * @kind: of the run
 */
struct overruns {
	uint64_t overruns;
	uint64_t tiles;
	uint64_t height;
	unsigned int kind;
};

/**
 * struct measurement - everything measured; of use on rank 0 only
 * @outcome: by height and kind
 * @one_clock: all ranks are on one machine, so that times can be compared
 * @runs: with results that were compared
 * @wrong: values that differ, in all of these
 * @worst: the run with the largest part of its tiles overrun
 */
struct measurement {
	struct outcome outcome[HEIGHTS_MAX][KINDS];
	bool one_clock;
	uint64_t runs;
	uint64_t wrong;
	struct overruns worst;
};

/* "overlapping" */
const char *kind_name(unsigned int kind);

/* What rank 0 makes of the @ranks records of one run of @height and @kind */
void measurement_add(struct measurement *measurement, struct outcome *outcome,
		     const struct record *all, unsigned int ranks,
		     uint64_t height, unsigned int kind);

/* Once all runs are added */
void measurement_finish(struct measurement *measurement, unsigned int heights);

/* ---- measure.c ---- */

/* Collective */
int measure(const struct job *job, struct measurement *measurement);

/* A grid of @options with this height; tells on stderr why not */
int grid_make(struct nic_tile_grid *grid, const struct options *options,
	      uint64_t height);

/* ---- link.c ---- */

/**
 * struct card - what the link pretends to cost
 * @known: the driver told
 * @device: as it told, with the model
 * @why: not @known: a sentence
 */
struct card {
	bool known;
	struct device device;
	char why[NL_ERROR];
};

/*
 * Rank 0: set the model of all devices of the fabric of @device, if the options
 * say so, then ask for it. Fails only if it cannot be set.
 */
int card_prepare(struct card *card, const char *device,
		 const struct options *options);

/* ---- failure.c ---- */

#define FAILURE_TEXT	1024

/**
 * struct failure - why a rank gives up
 * @rank: its number
 * @ret: negative errno
 * @what: it was about: "calibration"
 * @detail: a sentence, perhaps empty; NULL: libnic's
 * @timeout_ns: of each wait
 * @model: of the link, as device_model_text(); for failure_text()
 */
struct failure {
	unsigned int rank;
	int ret;
	const char *what;
	const char *detail;
	uint64_t timeout_ns;
	const char *model;
};

/* How long to wait for SIGTERM before it is told */
unsigned int failure_delay_ms(const struct failure *failure);

/* The whole line. Returns @text. */
char *failure_text(const struct failure *failure, char text[FAILURE_TEXT]);

/* Tell it on stderr, unless SIGTERM comes before; returns its errno */
int failure_tell(struct nic_ctx *ctx, struct failure *failure);

/* ---- story.c ---- */

/**
 * struct files - where results go besides stdout
 * @json: the report, or NULL
 * @data: columns for a plot, or NULL
 */
struct files {
	FILE *json;
	FILE *data;
};

/**
 * struct story - everything there is to show
 * @options: of the run
 * @grid: with any height
 * @decision: heights and costs
 * @prediction: for these
 * @measurement: of these
 * @info: of the device
 * @card: what its link pretends to cost
 * @files: to be written
 * @argc: of the program
 * @argv: of the program
 */
struct story {
	const struct options *options;
	const struct nic_tile_grid *grid;
	const struct decision *decision;
	const struct prediction *prediction;
	const struct measurement *measurement;
	const struct nic_info *info;
	const struct card *card;
	struct files *files;
	int argc;
	char **argv;
};

/* "modelled" or "real" */
const char *story_compute(const struct story *story);

/* By how much @measured differs */
double story_percent(double measured, double predicted);

const struct outcome *story_outcome(const struct story *story, unsigned int h,
				    unsigned int kind);

/* Index of the height with the least time, or -1: not run */
int story_fastest(const struct story *story, unsigned int kind);

/* Index of @height, or -1: not run */
int story_index(const struct story *story, uint64_t height);

/* ---- check.c ---- */

struct report;

/* Adds all checks that the options ask for */
void check_all(struct report *report, const struct story *story);

/* ---- report.c ---- */

/* Everything but the checks */
void report_fill(struct report *report, const struct story *story);

/* Before the runs, so that nobody waits for what cannot be written */
int files_open(struct files *files, const struct options *options);

int files_write(struct files *files, const struct story *story,
		const struct report *report);

/* ---- show.c ---- */

/* What was run on what: two lines, with @newline between them */
void show_head(const struct story *story, FILE *file, const char *newline);

/* Before the runs: costs and what follows from them */
void show_prediction(const struct story *story, FILE *file);

/* After the runs; the exit status */
int show_results(const struct story *story);

#endif /* NICTILE_H */
