// SPDX-License-Identifier: GPL-2.0-only
/*
 * options.c - the command line of nicrun
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libnic/comm/nodes.h"
#include "tools/common/option.h"
#include "tools/common/size.h"

#include "nicrun.h"

#define DEVICE_MAX	99999U
#define SECRET_DIGITS	32

struct options opt = { .prefix = "nic" };

static const char usage_text[] =
"Usage: nicrun -n RANKS [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
"Start PROGRAM RANKS times, each on a device of its own, on this machine or a\n"
"part of them on each of several.\n"
"\n"
"  -n, --ranks RANKS    how many: 1 to 4096\n"
"      --device PREFIX  rank i uses device PREFIX<i> (default: nic)\n"
"      --nodes LIST     or PREFIX<the i-th number of LIST>: 0,2,4-7\n"
"      --here LIST      start only these ranks of the RANKS: 0,2,4-7. The others\n"
"                       are started elsewhere, with the same NIC_SECRET and\n"
"                       NIC_JOB, and have nodes as their devices are numbered\n"
"      --timeout TIME   stop the ranks after TIME (10, 500ms); status 124\n"
"      --label          begin every line of output with the rank\n"
"      --bind           rank i runs on the i-th CPU only (modulo their number)\n"
"  -h, --help           this text\n"
"  -V, --version        version\n"
"\n"
"Ranks see NIC_RANK, NIC_SIZE, NIC_NODES, NIC_DEVICE, NIC_SECRET and NIC_JOB.\n"
"Standard input goes to rank 0. When a rank fails the others get SIGTERM, and\n"
"SIGKILL after 3 s.\n"
"\n"
"Exit status: 0 when all ranks succeeded, else that of the first that failed:\n"
"its own, 128 and the signal when one killed it, 126 when PROGRAM could not be\n"
"run, 127 when there is none; 124 after --timeout; 128 and the signal when one\n"
"stopped nicrun; 1 when the ranks could not be started, 2 for wrong usage.\n"
"\n"
"Example: nicctl dev add nic type loop nodes 9 && nicrun -n 9 nictile\n"
"\n"
"On two machines with a node each, nic0 on the one and nic1 on the other:\n"
"  export NIC_JOB=a NIC_SECRET=$(od -An -tx8 -N16 /dev/urandom | tr -d ' ')\n"
"  nicrun -n 2 --here 0 ./program      # and on the other, with both the same:\n"
"  nicrun -n 2 --here 1 ./program\n";

void wrong_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	output_say("nicrun", format, args, "; try nicrun --help");
	va_end(args);
	exit(EXIT_USAGE);
}

static void print_and_exit(const char *text)
{
	fputs(text, stdout);
	exit(output_finish("nicrun") ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void parse_ranks(const char *text)
{
	uint64_t count;
	const char *why;

	why = count_parse(text, RANKS_MAX, &count);
	if (!why && !count)
		why = "is zero";
	if (why)
		wrong_usage("-n %s %s: give a whole number from 1 to %d", text,
			    why, RANKS_MAX);
	opt.n = (unsigned int)count;
}

static void parse_timeout(const char *text)
{
	const char *why;

	why = time_parse(text, &opt.timeout_ns);
	if (why)
		wrong_usage("--timeout %s %s", text, why);
	if (!opt.timeout_ns)
		wrong_usage("--timeout 0: leave it out to wait for ever");
}

char **options_parse(int argc, char **argv)
{
	enum { DEVICE = 256, NODES, HERE, TIMEOUT, LABEL, BIND };
	static const char shorts[] = "+:n:hV";
	static const struct option options[] = {
		{ "ranks", required_argument, NULL, 'n' },
		{ "device", required_argument, NULL, DEVICE },
		{ "nodes", required_argument, NULL, NODES },
		{ "here", required_argument, NULL, HERE },
		{ "timeout", required_argument, NULL, TIMEOUT },
		{ "label", no_argument, NULL, LABEL },
		{ "bind", no_argument, NULL, BIND },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	char wrong[OPTION_TEXT];
	int c;

	/* "+": the options of PROGRAM are its own. */
	while ((c = getopt_long(argc, argv, shorts, options, NULL)) != -1) {
		switch (c) {
		case 'n':
			parse_ranks(optarg);
			break;
		case DEVICE:
			opt.prefix = optarg;
			break;
		case NODES:
			opt.nodes = optarg;
			break;
		case HERE:
			opt.here = optarg;
			break;
		case TIMEOUT:
			parse_timeout(optarg);
			break;
		case LABEL:
			opt.label = true;
			break;
		case BIND:
			opt.bind = true;
			break;
		case 'h':
			print_and_exit(usage_text);
			break;
		case 'V':
			print_and_exit("nicrun " TOOL_VERSION "\n");
			break;
		default:
			wrong_usage("%s", option_refused(c, argv, shorts,
							 options, wrong));
		}
	}
	if (!opt.n)
		wrong_usage("-n RANKS is missing");
	if (!argv[optind])
		wrong_usage("PROGRAM is missing");
	return argv + optind;
}

/* What all parts of the job must have alike, and nobody makes for them */
static const char *need_variable(const char *name)
{
	const char *text = getenv(name);

	if (text && *text)
		return text;
	wrong_usage("--here: set %s, to the same for all ranks of the job", name);
	return "";
}

static void need_job(void)
{
	const char *secret;

	need_variable("NIC_JOB");
	secret = need_variable("NIC_SECRET");
	if (strlen(secret) != SECRET_DIGITS ||
	    secret[strspn(secret, "0123456789abcdefABCDEF")])
		wrong_usage("--here: NIC_SECRET must have %d hexadecimal digits",
			    SECRET_DIGITS);
}

static void parse_here(void)
{
	uint32_t rank[RANKS_MAX];
	int count;

	count = nic_nodes_parse(opt.here, rank, opt.n);
	if (count < 0)
		wrong_usage("--here %s is no list like 0,2,4-7, or has more than %u",
			    opt.here, opt.n);
	for (int i = 0; i < count; i++) {
		if (rank[i] >= opt.n)
			wrong_usage("--here: there is no rank %" PRIu32 " of %u",
				    rank[i], opt.n);
		ranks[rank[i]].here = true;
	}
	need_job();
}

void options_number_ranks(void)
{
	uint32_t number[RANKS_MAX];
	int count;

	for (unsigned int i = 0; i < opt.n; i++) {
		ranks[i].number = i;
		ranks[i].here = !opt.here;
	}
	if (opt.here)
		parse_here();
	if (!opt.nodes)
		return;
	count = nic_nodes_parse(opt.nodes, number, opt.n);
	if (count == -EINVAL)
		wrong_usage("--nodes %s is no list like 0,2,4-7", opt.nodes);
	if (count < 0 || (unsigned int)count != opt.n)
		wrong_usage("--nodes %s must have one number a rank, %u",
			    opt.nodes, opt.n);
	for (unsigned int i = 0; i < opt.n; i++) {
		if (number[i] > DEVICE_MAX)
			wrong_usage("--nodes: %" PRIu32 " is too large",
				    number[i]);
		ranks[i].number = number[i];
	}
}
