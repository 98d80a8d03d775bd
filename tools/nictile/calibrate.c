// SPDX-License-Identifier: GPL-2.0-only
/*
 * calibrate.c - what the link and this machine cost, before the runs
 *
 * Measured with the calls of the runtime's loop between rank 0 and 1, while
 * the others wait in a barrier: nothing here knows what a link model was told,
 * and nothing is fitted to a run. A cost is a median.
 */
#include <errno.h>
#include <string.h>

#include "nictile.h"
#include "tools/common/clock.h"

#define ROUNDS		40	/* of hand-shakes */
#define DOORBELLS	12	/* of each size */
#define COPIES		16	/* of two faces, timed together */
#define TILES		15
#define WARM_UP		3	/* more of each, not counted */

enum { READY, FULL };		/* as a previous and a next rank would say */

/**
 * struct end - one of the two ranks
 * @of: what is calibrated
 * @rank: 0 or 1
 * @queue: to the other
 * @segment: two faces to receive, then two to send, of @face bytes each
 * @face: bytes of the larger face
 * @theirs: the other's segment
 * @heard: interrupts the other raises
 * @count: how often each was waited for
 * @raise: the other's interrupts
 * @why: how an operation failed; NULL: none did
 */
struct end {
	const struct job *of;
	unsigned int rank;
	struct nic_queue *queue;
	struct nic_segment *segment;
	uint64_t face;
	struct nic_remote *theirs;
	struct nic_irq *heard[2];
	uint64_t count[2];
	struct nic_remote *raise[2];
	const char *why;
};

static double median(double *samples, size_t n)
{
	struct stats stats;

	stats_summarize(samples, n, &stats);
	return stats.median;
}

/* ---- this machine ---- */

static struct nic_tile_step first_tile(const struct job *of)
{
	struct nic_tile_step step = { .count = of->grid->height };

	return step;
}

static double time_real(const struct job *of)
{
	struct nic_tile_step step = first_tile(of);
	double samples[TILES];
	uint64_t before;
	unsigned int i;

	space_wipe(of->space, UINT64_MAX);
	space_compute(of->space, &step);
	for (i = 0; i < TILES; i++) {
		before = now_ns();
		space_compute(of->space, &step);
		samples[i] = (double)(now_ns() - before);
	}
	return median(samples, TILES) /
	       (double)space_points(of->space, step.count);
}

/* How late a tile of modelled computing ends */
static double time_wake(const struct job *of)
{
	struct pace pace = {
		.space = of->space, .t1_ns = of->options->t1_ns,
	};
	struct nic_tile_step step = first_tile(of);
	double samples[TILES], wanted;
	uint64_t before;
	unsigned int i;

	wanted = pace.t1_ns * (double)space_points(of->space, step.count);
	for (i = 0; i < TILES; i++) {
		before = now_ns();
		pace_compute(&pace, &step);
		samples[i] = (double)(now_ns() - before) - wanted;
	}
	wanted = median(samples, TILES);
	return wanted > 0 ? wanted : 0;
}

/* ---- the link ---- */

static int raise(struct end *end, int which)
{
	int ret;

	ret = nic_post_notify(end->queue, end->raise[which], 0, NIC_SILENT, 0);
	if (!ret)
		ret = nic_queue_submit(end->queue);
	return ret == 1 ? 0 : ret < 0 ? ret : -EIO;
}

static int hear(struct end *end, int which)
{
	return nic_irq_wait_count(end->heard[which], ++end->count[which],
				  end->of->options->timeout_ns);
}

static int end_find(struct end *end, unsigned int other)
{
	struct nic_team *team = end->of->team;
	uint64_t timeout_ns = end->of->options->timeout_ns;
	int ret;

	ret = nic_team_find(team, other, "cal", timeout_ns, &end->theirs);
	if (!ret)
		ret = nic_team_irq_find(team, other, "cal.ready", timeout_ns,
					&end->raise[READY]);
	if (!ret)
		ret = nic_team_irq_find(team, other, "cal.full", timeout_ns,
					&end->raise[FULL]);
	return ret;
}

static int end_open(struct end *end)
{
	const struct job *of = end->of;
	int ret;

	ret = nic_segment_alloc(of->ctx, 4 * end->face, &end->segment);
	if (!ret)
		ret = nic_team_irq_create(of->team, "cal.ready", 4, 0,
					  &end->heard[READY]);
	if (!ret)
		ret = nic_team_irq_create(of->team, "cal.full", 4, 0,
					  &end->heard[FULL]);
	if (!ret)
		ret = nic_queue_create(of->ctx, 0, &end->queue);
	if (!ret)
		ret = nic_team_share(of->team, end->segment, NIC_WRITE, "cal");
	return ret ? ret : end_find(end, 1 - end->rank);
}

static void end_close(struct end *end)
{
	unsigned int which;

	nic_queue_destroy(end->queue);
	for (which = READY; which <= FULL; which++) {
		nic_disconnect(end->raise[which]);
		nic_irq_destroy(end->heard[which]);
	}
	nic_disconnect(end->theirs);
	nic_segment_free(end->segment);
}

/* There and back again: a trigger and a wait on each side */
static int time_interrupt(struct end *end, struct costs *costs)
{
	double samples[ROUNDS];
	uint64_t before;
	int i, ret = 0;

	for (i = -WARM_UP; !ret && i < ROUNDS; i++) {
		before = now_ns();
		ret = end->rank ? hear(end, READY) : raise(end, READY);
		if (!ret)
			ret = end->rank ? raise(end, READY) : hear(end, READY);
		if (i >= 0)
			samples[i] = (double)(now_ns() - before);
	}
	if (!ret)
		costs->interrupt = median(samples, ROUNDS) / 4;
	return ret;
}

/* All hand-shakes of a step; each is prev and next to the other */
static int time_sync(struct end *end, struct costs *costs)
{
	double samples[ROUNDS];
	uint64_t before;
	int i, ret = 0;

	for (i = -WARM_UP; !ret && i < ROUNDS; i++) {
		before = now_ns();
		ret = raise(end, READY);
		if (!ret)
			ret = hear(end, READY);
		if (!ret)
			ret = raise(end, FULL);
		if (!ret)
			ret = hear(end, FULL);
		if (i >= 0)
			samples[i] = (double)(now_ns() - before);
	}
	if (!ret)
		costs->sync = median(samples, ROUNDS);
	return ret;
}

static int await_two(struct end *end)
{
	struct nic_completion done[2];
	unsigned int i, n, left = 2;
	int ret;

	while (left) {
		ret = nic_queue_enter(end->queue, left,
				      end->of->options->timeout_ns);
		if (ret < 0)
			return ret;
		n = nic_queue_poll(end->queue, done, left);
		for (i = 0; i < n; i++)
			if (done[i].status != NIC_OK) {
				end->why = nic_status_name(done[i].status);
				return -EREMOTEIO;
			}
		left -= n;
	}
	return 0;
}

/* Two faces of @bytes in one doorbell: the doorbell, and the rest */
static int time_doorbell(struct end *end, uint64_t bytes, double *post,
			 double *transfer)
{
	uint64_t before, posted;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < 2; i++)
		ret = nic_post_put(end->queue, end->segment,
				   (2 + i) * end->face, end->theirs,
				   i * end->face, bytes, 0, i);
	if (ret)
		return ret;
	before = now_ns();
	ret = nic_queue_submit(end->queue);
	if (ret < 0)
		return ret;
	posted = now_ns();
	ret = await_two(end);
	*post = (double)(posted - before);
	*transfer = (double)(now_ns() - posted);
	return ret;
}

/*
 * Nanoseconds to copy a byte of two faces: no link whose data the CPU places is
 * faster. Loop's may be placed by a DMA engine, for which this says nothing: 0.
 */
static double time_copy(const struct end *end)
{
	char *faces = nic_segment_addr(end->segment);
	struct nic_info info = { .size = sizeof(info) };
	double samples[DOORBELLS];
	uint64_t before;
	unsigned int i, k;

	if (nic_query(end->of->ctx, &info) || !strcmp(info.link, "loop"))
		return 0;
	for (i = 0; i < DOORBELLS; i++) {
		before = now_ns();
		for (k = 0; k < COPIES; k++) {
			memcpy(faces, faces + 2 * end->face, 2 * end->face);
			/* or all but one of them is left out */
			__asm__ volatile("" : : "r"(faces) : "memory");
		}
		samples[i] = (double)(now_ns() - before);
	}
	return median(samples, DOORBELLS) / (double)(COPIES * 2 * end->face);
}

/* Two faces at once, of each of two sizes */
static int time_transfer(struct end *end, struct costs *costs)
{
	const uint64_t bytes[2] = { end->face / 4, end->face };
	double post[2 * DOORBELLS], transfer[2][DOORBELLS], ignored;
	struct transfers transfers = {
		.n = DOORBELLS, .small = transfer[0], .large = transfer[1],
		.small_bytes = 2 * bytes[0], .large_bytes = 2 * bytes[1],
	};
	int size, i, ret = 0;

	if (end->rank)
		return hear(end, FULL);
	for (size = 0; size < 2; size++) {
		for (i = -WARM_UP; !ret && i < DOORBELLS; i++)
			ret = time_doorbell(end, bytes[size], i < 0 ? &ignored :
					    &post[size * DOORBELLS + i],
					    i < 0 ? &ignored :
					    &transfer[size][i]);
		if (ret)
			return ret;
	}
	costs->start_dma = median(post, 2 * DOORBELLS);
	transfers.copy_byte = time_copy(end);
	fit_transfer(&transfers, costs);
	return raise(end, FULL);
}

static void end_tell(const struct end *end, int ret)
{
	struct failure failure = {
		.rank = end->rank, .ret = ret, .what = "calibration",
		.detail = end->why,
		.timeout_ns = end->of->options->timeout_ns,
	};

	failure_tell(end->of->ctx, &failure);
}

static int calibrate_link(const struct job *of, struct costs *costs)
{
	struct end end = { .of = of, .rank = nic_team_rank(of->team) };
	unsigned int d;
	int ret;

	for (d = 0; d < 2; d++)
		if (end.face < of->grid->face_bytes[d])
			end.face = of->grid->face_bytes[d];
	ret = end_open(&end);
	if (!ret)
		ret = time_interrupt(&end, costs);
	if (!ret)
		ret = time_sync(&end, costs);
	if (!ret)
		ret = time_transfer(&end, costs);
	/* The last trigger is on its way: closing the queue would cancel it */
	if (!ret)
		ret = nic_queue_drain(end.queue, of->options->timeout_ns);
	if (ret)
		end_tell(&end, ret);
	end_close(&end);
	return ret;
}

int calibrate(const struct job *of, struct costs *costs)
{
	unsigned int rank = nic_team_rank(of->team);
	int ret;

	memset(costs, 0, sizeof(*costs));
	ret = board_barrier(of->board);
	if (ret)
		return ret;
	if (!rank) {
		costs->real_point = time_real(of);
		if (of->options->modelled)
			costs->wake = time_wake(of);
	}
	ret = board_barrier(of->board);
	if (!ret && rank < 2 && nic_team_size(of->team) > 1)
		ret = calibrate_link(of, costs);
	return ret ? ret : board_barrier(of->board);
}
