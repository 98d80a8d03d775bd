// SPDX-License-Identifier: GPL-2.0-only
/*
 * pace.c - computing that takes as long as it is told
 *
 * With more ranks than processors nothing could be learned about overlap from
 * really computing. So the values are computed, and then the rank sleeps until
 * the time has passed that a processor of its own would have taken. A tile
 * that is late already is counted.
 */
#include <sys/prctl.h>
#include <time.h>

#include "nictile.h"
#include "tools/common/clock.h"

void pace_init(void)
{
	prctl(PR_SET_TIMERSLACK, 1);
}

int pace_compute(void *arg, const struct nic_tile_step *step)
{
	struct pace *pace = arg;
	uint64_t until = now_ns();
	struct timespec t;
	int ret;

	ret = space_compute(pace->space, step);
	pace->tiles++;
	if (ret || !(pace->t1_ns > 0))
		return ret;
	until += (uint64_t)(pace->t1_ns * (double)space_points(pace->space,
							       step->count));
	if (now_ns() >= until) {
		pace->overruns++;
		return 0;
	}
	t.tv_sec = (time_t)(until / NS_PER_S);
	t.tv_nsec = (long)(until % NS_PER_S);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
	return 0;
}
