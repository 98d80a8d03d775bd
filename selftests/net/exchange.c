// SPDX-License-Identifier: GPL-2.0-only
/*
 * exchange.c - the command line of a job of ranks; what a rank has
 */
#include "exchange.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/clock.h"
#include "tools/common/size.h"

static const char usage[] =
"usage: nicrun -n RANKS exchange every|flood|watch|change|overtake|reach|trust [OPTION...]\n"
"every: each rank writes to, reads from and counts at each other one; all bytes\n"
"are compared. flood: all ranks write to rank 0. watch: rank 0 writes to the\n"
"others until an operation fails. change: rank 1 writes to rank 0 what it changes.\n"
"overtake: rank 1 writes to rank 0 and asks it for something, which has to be faster.\n"
"reach: one rank, alone, connects to --nodes nodes at once, the first of which is --to,\n"
"and prints why it could not. trust: one rank, alone, asks the node --to for operations\n"
"of all kinds, however it answers.\n"
"\n"
"  --bytes SIZE   of an operation (64k)\n"
"  --depth N      operations under way (16)\n"
"  --poll-thread  moves what is posted, without a call of the driver, if there may be one more\n"
"  --read-back    flood compares all that it writes, before it writes there again\n"
"  --rounds N     of every (4)\n"
"  --time TIME    of flood, change and trust (1s)\n"
"  --to NODE      of reach and trust (1)\n"
"  --nodes N      of reach (1)\n"
"  --wait TIME    longest wait for other ranks (60s)\n";

void die(const struct exchange *x, const char *format, ...)
{
	va_list args;

	fputs("exchange: ", stderr);
	if (x->team)
		fprintf(stderr, "rank %u: ", x->rank);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void must(const struct exchange *x, int ret, const char *what)
{
	if (ret < 0)
		die(x, "%s: %s", what, nic_error_detail(x->ctx));
}

void meet(const struct exchange *x)
{
	must(x, nic_team_barrier(x->team, x->wait_ns), "meet");
}

char *share(const struct exchange *x, uint64_t bytes, unsigned int rights,
	    const char *tag, struct nic_segment **segment)
{
	must(x, nic_segment_alloc(x->ctx, bytes, segment), "make a segment");
	must(x, nic_team_share(x->team, *segment, rights, tag), "share a segment");
	return nic_segment_addr(*segment);
}

/* splitmix64: no word comes twice, wherever it stands */
static uint64_t pattern_word(uint64_t at, unsigned int rank, unsigned int round)
{
	uint64_t z = at + ((uint64_t)rank << 40) + ((uint64_t)round << 50) + 1;

	z *= UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void pattern(void *memory, uint64_t bytes, unsigned int rank, unsigned int round)
{
	uint64_t at, word;

	for (at = 0; at < bytes; at += sizeof(word)) {
		word = pattern_word(at, rank, round);
		memcpy((char *)memory + at, &word,
		       bytes - at < sizeof(word) ? bytes - at : sizeof(word));
	}
}

uint64_t pattern_differs(const void *memory, uint64_t bytes, unsigned int rank,
			 unsigned int round)
{
	const char *byte = memory;
	uint64_t at, word, i;

	for (at = 0; at < bytes; at += sizeof(word)) {
		word = pattern_word(at, rank, round);
		for (i = at; i < bytes && i < at + sizeof(word); i++)
			if (byte[i] != ((char *)&word)[i - at])
				return i;
	}
	return bytes;
}

static void wrong_usage(const char *why)
{
	fprintf(stderr, "exchange: %s\n%s", why, usage);
	exit(2);
}

static uint64_t number(const char *option, const char *why, uint64_t value)
{
	if (why || !value) {
		fprintf(stderr, "exchange: --%s %s\n%s", option,
			why ? why : "0 is too little", usage);
		exit(2);
	}
	return value;
}

static void options(struct exchange *x, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "bytes", required_argument, NULL, 'b' },
		{ "depth", required_argument, NULL, 'd' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "time", required_argument, NULL, 't' },
		{ "to", required_argument, NULL, 'n' },
		{ "nodes", required_argument, NULL, 'm' },
		{ "wait", required_argument, NULL, 'w' },
		{ "poll-thread", no_argument, NULL, 'p' },
		{ "read-back", no_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 }
	};
	uint64_t value = 0;
	int c, at;

	while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
		const char *why;

		if (c == '?')
			exit(2);
		if (c == 'p') {
			x->poll_thread = true;
			continue;
		}
		if (c == 'c') {
			x->read_back = true;
			continue;
		}
		why = c == 'b' ? size_parse(optarg, &value) :
		      c == 'd' || c == 'r' || c == 'n' || c == 'm' ?
			count_parse(optarg, 1000000, &value) :
			time_parse(optarg, &value);
		value = number(longs[at].name, why, value);
		if (c == 'b')
			x->bytes = value;
		else if (c == 'd')
			x->depth = (unsigned int)value;
		else if (c == 'r')
			x->rounds = (unsigned int)value;
		else if (c == 'n')
			x->to = (uint32_t)value;
		else if (c == 'm')
			x->nodes = (unsigned int)value;
		else if (c == 't')
			x->time_ns = value;
		else
			x->wait_ns = value;
	}
	if (argc - optind != 1)
		wrong_usage("say what to do, in one word");
}

void exchange_queue(struct exchange *x)
{
	struct nic_queue_options options = {
		.size = sizeof(options), .entries = 1024,
		.flags = x->poll_thread ? NIC_POLL_THREAD : 0,
	};
	int ret = nic_queue_create_with(x->ctx, &options, &x->queue);

	/* Others may have all threads that there may be */
	if (ret == -EDQUOT) {
		options.flags = 0;
		ret = nic_queue_create_with(x->ctx, &options, &x->queue);
	}
	must(x, ret, "make a queue");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct exchange *x);
	} jobs[] = {
		{ "every", every_run }, { "flood", flood_run }, { "watch", watch_run },
		{ "change", change_run }, { "overtake", overtake_run },
		{ "reach", reach_run }, { "trust", trust_run },
	};
	struct exchange x = {
		.to = 1, .nodes = 1, .bytes = 65536, .depth = 16, .rounds = 4,
		.time_ns = NS_PER_S, .wait_ns = 60 * NS_PER_S,
	};
	size_t i;

	options(&x, argc, argv);
	for (i = 0; i < ARRAY_SIZE(jobs) && strcmp(jobs[i].name, argv[optind]); i++)
		;
	if (i == ARRAY_SIZE(jobs))
		wrong_usage("there is no such job");
	must(&x, nic_open(NULL, &x.ctx), "open");
	must(&x, nic_team_init(x.ctx, x.wait_ns, &x.team), "join");
	x.rank = nic_team_rank(x.team);
	x.size = nic_team_size(x.team);
	if (x.size < 2 && jobs[i].run != reach_run && jobs[i].run != trust_run)
		die(&x, "needs two ranks at least: nicrun -n 2 …");
	exchange_queue(&x);
	jobs[i].run(&x);
	nic_queue_destroy(x.queue);
	nic_team_finalize(x.team);
	nic_close(x.ctx);
	return 0;
}
