// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - nictile: both tile schedules of the paper, measured and predicted
 *
 * All ranks: join, calibrate, learn from rank 0 what to run, run it. Rank 0
 * alone prints, and its exit status tells of the checks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nictile.h"
#include "tools/common/output.h"
#include "tools/common/size.h"

#define TILES_TO_CALIBRATE	16	/* heights are not known by then */

/**
 * struct session - everything a rank has
 * @options: the command line
 * @ctx: the device
 * @team: all ranks
 * @board: what they tell each other
 * @space: of this rank
 * @grid: all ranks, first as calibrated, then with the largest height
 * @decision: what to run
 * @info: of the device
 * @card: of rank 0
 * @files: of rank 0
 * @prediction: of rank 0
 * @measurement: of rank 0
 */
struct session {
	struct options options;
	struct nic_ctx *ctx;
	struct nic_team *team;
	struct board *board;
	struct space space;
	struct nic_tile_grid grid;
	struct decision decision;
	struct nic_info info;
	struct card card;
	struct files files;
	struct prediction prediction;
	struct measurement measurement;
};

/*
 * With more ranks than processors one that polls takes the time of the one it
 * waits for. The ranks of other machines count too: polling is no use to them
 * either while theirs are asleep.
 */
static void do_not_poll(void)
{
	const char *size = getenv("NIC_SIZE");
	struct record record;

	record_init(&record);
	if (size && strtoull(size, NULL, 10) > record.cpus)
		setenv("NIC_SPIN_NS", "0", 0);
}

static int join(struct session *session)
{
	int ret;

	do_not_poll();
	ret = nic_open(NULL, &session->ctx);
	if (ret) {
		fprintf(stderr, "nictile: no device: %s%s\n",
			nic_error_detail(NULL), getenv("NIC_SIZE") ? "" :
			"; ranks are started by: nicrun -n RANKS nictile");
		return ret;
	}
	ret = nic_team_init(session->ctx, session->options.timeout_ns,
			    &session->team);
	if (ret) {
		fprintf(stderr, "nictile: no team: %s\n",
			nic_error_detail(session->ctx));
		return ret;
	}
	return board_create(session->ctx, session->team,
			    session->options.timeout_ns, &session->board);
}

/* As many ranks as there are, as square as can be; or what was asked for */
static int choose_grid(struct session *session)
{
	struct options *options = &session->options;
	uint32_t size = nic_team_size(session->team), rows;

	if (!options->ranks[0]) {
		for (rows = 1; (rows + 1) * (rows + 1) <= size; rows++)
			;
		while (size % rows)
			rows--;
		options->ranks[0] = rows;
		options->ranks[1] = size / rows;
	}
	if ((uint64_t)options->ranks[0] * options->ranks[1] == size)
		return 0;
	if (!nic_team_rank(session->team))
		fprintf(stderr, "nictile: a grid of %" PRIu32 "x%" PRIu32
			" needs %" PRIu32 " ranks, and there are %" PRIu32 "\n",
			options->ranks[0], options->ranks[1],
			options->ranks[0] * options->ranks[1], size);
	/* The first rank to fail ends all: let rank 0 speak before. */
	board_barrier(session->board);
	return -EINVAL;
}

/* Most ranks that share one processor */
static double find_crowd(const struct record *all, unsigned int ranks)
{
	double most = 1;
	unsigned int r, other, here;

	for (r = 0; r < ranks; r++) {
		for (here = 0, other = 0; other < ranks; other++)
			here += all[other].host == all[r].host;
		if (most < (double)here / (double)all[r].cpus)
			most = (double)here / (double)all[r].cpus;
	}
	return most;
}

/* Can so many ranks compute in the time that is modelled, with room to wake? */
static int check_pace(const struct session *session)
{
	const struct options *options = &session->options;
	double share = session->decision.crowd;
	double least = 2 * share * session->decision.costs.real_point;
	char given[SIZE_TEXT], real[SIZE_TEXT], needed[SIZE_TEXT];

	if (!options->modelled || options->t1_ns >= least)
		return 0;
	fprintf(stderr,
		"nictile: t1 of %s is too short; it must be twice what a point really takes, %s,\n"
		"times %.3g ranks a processor: %s; set --scale (and the link's) to %.3g or more\n",
		time_print(options->t1_ns, given),
		time_print(session->decision.costs.real_point, real), share,
		time_print(least, needed),
		least / options->t1_ns * options->scale);
	return -EINVAL;
}

/* Rank 0: predict, and choose heights; none tells the others to end */
static int decide(struct session *session, const struct record *all)
{
	int ret;

	session->decision.heights = 0;
	session->decision.crowd = find_crowd(all, nic_team_size(session->team));
	ret = check_pace(session);
	if (!ret)
		ret = predict(&session->prediction, &session->options,
			      &session->grid, &session->decision.costs);
	if (!ret)
		predict_heights(&session->prediction, &session->options,
				&session->grid, &session->decision);
	return ret;
}

static int prepare(struct session *session, const struct job *job)
{
	struct options *options = &session->options;
	uint64_t height = options->heights ?
			  options->height[options->heights - 1] :
			  options->dims[2] / TILES_TO_CALIBRATE;
	const struct record *all = NULL;
	struct record mine;
	int ret, refused = 0;

	ret = grid_make(&session->grid, options, height ? height : 1);
	if (!ret)
		ret = space_create(&session->space, &session->grid,
				   nic_team_rank(session->team));
	if (!ret)
		ret = calibrate(job, &session->decision.costs);
	record_init(&mine);
	if (!ret)
		ret = board_collect(session->board, &mine, &all);
	if (ret)
		return ret;
	if (all)
		refused = decide(session, all);
	ret = board_decide(session->board, &session->decision);
	if (!ret && !session->decision.heights)
		ret = refused ? refused : -EINVAL;
	return ret;
}

static int run(struct session *session, const struct story *story)
{
	struct decision *decision = &session->decision;
	struct job job = {
		.ctx = session->ctx, .team = session->team,
		.board = session->board, .space = &session->space,
		.grid = &session->grid, .options = &session->options,
		.decision = decision,
	};
	bool talk = !nic_team_rank(session->team) && !session->options.json;
	int ret;

	ret = choose_grid(session);
	if (!ret && !nic_team_rank(session->team))
		ret = card_prepare(&session->card, session->info.name,
				   &session->options);
	if (!ret)
		ret = prepare(session, &job);
	if (ret)
		return ret;
	ret = grid_make(&session->grid, &session->options,
			decision->height[decision->heights - 1]);
	if (ret)
		return ret;
	if (talk)
		show_prediction(story, stdout);
	ret = space_reference(&session->space);
	if (!ret)
		ret = measure(&job, &session->measurement);
	if (ret)
		return ret;
	return nic_team_rank(session->team) ? 0 : show_results(story);
}

int main(int argc, char **argv)
{
	static struct session session;
	struct story story = {
		.options = &session.options, .grid = &session.grid,
		.decision = &session.decision,
		.prediction = &session.prediction,
		.measurement = &session.measurement, .info = &session.info,
		.card = &session.card, .files = &session.files,
		.argc = argc, .argv = argv,
	};
	int ret;

	options_parse(&session.options, argc, argv);
	if (first_rank() && files_open(&session.files, &session.options))
		return EXIT_FAILURE;
	pace_init();
	session.info.size = sizeof(session.info);
	ret = join(&session);
	if (!ret)
		ret = nic_query(session.ctx, &session.info);
	if (!ret)
		ret = run(&session, &story);
	space_destroy(&session.space);
	board_destroy(session.board);
	nic_team_finalize(session.team);
	nic_close(session.ctx);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
