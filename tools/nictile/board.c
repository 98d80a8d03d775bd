// SPDX-License-Identifier: GPL-2.0-only
/*
 * board.c - what ranks tell each other, over the NIC alone
 *
 * Rank 0 shares one segment: its decision, then a record of each rank. Who
 * writes there and who reads is kept apart by barriers.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "nictile.h"

/**
 * struct board - rank 0's segment, and a way to it
 * @ctx: borrowed
 * @team: borrowed
 * @timeout_ns: of each wait
 * @rank: of this process
 * @queue: to rank 0; NULL at rank 0
 * @segment: rank 0: the board; others: their record and the decision
 * @remote: the board; NULL at rank 0
 */
struct board {
	struct nic_ctx *ctx;
	struct nic_team *team;
	uint64_t timeout_ns;
	unsigned int rank;
	struct nic_queue *queue;
	struct nic_segment *segment;
	struct nic_remote *remote;
};

static int tell(const struct board *board, int ret, const char *what)
{
	struct failure failure = {
		.rank = board->rank, .ret = ret, .what = what,
		.timeout_ns = board->timeout_ns,
	};

	return ret ? failure_tell(board->ctx, &failure) : 0;
}

int board_barrier(struct board *board)
{
	return tell(board, nic_team_barrier(board->team, board->timeout_ns),
		    "barrier");
}

static int board_open(struct board *board)
{
	unsigned int size = nic_team_size(board->team);
	uint64_t bytes = sizeof(struct decision) + sizeof(struct record);
	int ret;

	if (!board->rank)
		bytes += (size - 1) * sizeof(struct record);
	ret = nic_segment_alloc(board->ctx, bytes, &board->segment);
	if (ret)
		return ret;
	if (!board->rank)
		return nic_team_share(board->team, board->segment,
				      NIC_READ | NIC_WRITE, "board");
	ret = nic_queue_create(board->ctx, 0, &board->queue);
	if (ret)
		return ret;
	return nic_team_find(board->team, 0, "board", board->timeout_ns,
			     &board->remote);
}

int board_create(struct nic_ctx *ctx, struct nic_team *team,
		 uint64_t timeout_ns, struct board **out)
{
	struct board *board = calloc(1, sizeof(*board));
	int ret;

	if (!board) {
		fputs("nictile: out of memory\n", stderr);
		return -ENOMEM;
	}
	board->ctx = ctx;
	board->team = team;
	board->timeout_ns = timeout_ns;
	board->rank = nic_team_rank(team);
	ret = tell(board, board_open(board), "cannot share results");
	if (!ret)
		ret = board_barrier(board);
	if (ret) {
		board_destroy(board);
		return ret;
	}
	*out = board;
	return 0;
}

void board_destroy(struct board *board)
{
	if (!board)
		return;
	nic_queue_destroy(board->queue);
	nic_disconnect(board->remote);
	nic_segment_free(board->segment);
	free(board);
}

int board_decide(struct board *board, struct decision *decision)
{
	void *mine = nic_segment_addr(board->segment);
	int ret = 0;

	if (!board->rank)
		memcpy(mine, decision, sizeof(*decision));
	ret = board_barrier(board);
	if (!ret && board->rank) {
		ret = nic_post_get(board->queue, board->segment, 0,
				   board->remote, 0, sizeof(*decision), 0, 0);
		if (!ret)
			ret = nic_queue_drain(board->queue, board->timeout_ns);
		tell(board, ret, "cannot learn what to run");
	}
	if (!ret)
		memcpy(decision, mine, sizeof(*decision));
	/* Should rank 0 end now, the others have it */
	return ret ? ret : board_barrier(board);
}

int board_collect(struct board *board, const struct record *mine,
		  const struct record **all)
{
	const uint64_t records = sizeof(struct decision);
	char *memory = nic_segment_addr(board->segment);
	int ret = 0;

	memcpy(memory + records, mine, sizeof(*mine));
	if (board->rank) {
		ret = nic_post_put(board->queue, board->segment, records,
				   board->remote,
				   records + board->rank * sizeof(*mine),
				   sizeof(*mine), 0, 0);
		if (!ret)
			ret = nic_queue_drain(board->queue, board->timeout_ns);
		tell(board, ret, "cannot report to rank 0");
	}
	if (!ret)
		ret = board_barrier(board);
	*all = board->rank || ret ? NULL : (void *)(memory + records);
	return ret;
}

void record_init(struct record *record)
{
	char id[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	cpu_set_t set;
	char *c;

	memset(record, 0, sizeof(*record));
	if (file) {
		if (!fgets(id, sizeof(id), file))
			*id = '\0';
		fclose(file);
	}
	record->host = 14695981039346656037ULL;	/* FNV-1a */
	for (c = id; *c; c++)
		record->host = (record->host ^ (unsigned char)*c) *
			       1099511628211ULL;
	record->cpus = 1;
	if (!sched_getaffinity(0, sizeof(set), &set))
		record->cpus = (uint64_t)CPU_COUNT(&set);
}
