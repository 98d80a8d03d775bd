// SPDX-License-Identifier: GPL-2.0-only
/*
 * sample.c - interleaved samples of two things
 */
#include <errno.h>

#include "beside.h"
#include "nicperf.h"
#include "sample.h"

#define GROWTH_MAX	16	/* from one trial to the next */
#define COUNT_MAX	(1ULL << 32)

static uint64_t round_up(uint64_t count, uint64_t least)
{
	return (count + least - 1) / least * least;
}

/* How many fill @target nanoseconds? Tries more and more of them. */
static int sample_calibrate(struct sampled *thing, uint64_t target)
{
	uint64_t ns;
	int ret;

	thing->count = thing->least;
	for (;;) {
		uint64_t growth;

		ret = thing->run(thing->arg, thing->count, &ns);
		if (ret)
			return ret;
		/* from a half on the estimate is good enough */
		if (ns >= target / 2 || thing->count >= COUNT_MAX)
			break;
		growth = target / (ns + 1) + 1;
		if (growth > GROWTH_MAX)
			growth = GROWTH_MAX;
		thing->count *= growth;
	}
	if (ns > target)
		thing->count = (uint64_t)((double)thing->count *
					  (double)target / (double)ns);
	if (thing->count < thing->least)
		thing->count = thing->least;
	thing->count = round_up(thing->count, thing->least);
	return 0;
}

static int sample_choose(struct sampled *thing, unsigned int n,
			 const struct options *opt)
{
	if (!opt->iterations)
		return sample_calibrate(thing, opt->time_ns /
						       opt->samples / n);
	thing->count = round_up(opt->iterations, thing->least);
	return 0;
}

static int sample_take(struct sampled *thing, unsigned int sample)
{
	uint64_t ns;
	int ret = 0;

	if (run_stopped())
		return -EINTR;
	beside_set_busy(thing->beside, true);
	if (!thing->cold)
		ret = thing->run(thing->arg, thing->least, &ns);
	if (!ret)
		ret = thing->run(thing->arg, thing->count, &ns);
	beside_set_busy(thing->beside, false);
	if (!ret)
		thing->ns[sample] = (double)ns / (double)thing->count;
	return ret;
}

int sample_alternate(struct sampled *things, unsigned int n,
		     const struct options *opt)
{
	unsigned int i, sample;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = sample_choose(&things[i], n, opt);
	for (sample = 0; sample < opt->samples && !ret; sample++)
		for (i = 0; i < n && !ret; i++)
			ret = sample_take(&things[i], sample);
	return ret;
}

double sample_ratio(const struct sampled *thing, const struct sampled *reference,
		    const struct options *opt)
{
	return stats_paired(thing->ns, reference->ns, opt->samples);
}

void sample_rates(struct sampled *thing, uint64_t bytes, const struct options *opt,
		  struct stats *stats)
{
	unsigned int i;

	for (i = 0; i < opt->samples; i++)
		thing->ns[i] = stats_ratio((double)bytes * 1000, thing->ns[i]);
	stats_summarize(thing->ns, opt->samples, stats);
}
