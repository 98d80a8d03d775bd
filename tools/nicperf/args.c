// SPDX-License-Identifier: GPL-2.0-only
/*
 * args.c - command line of nicperf
 *
 * An option that the subcommand would ignore is refused: it was meant to do
 * something.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/option.h"

#include "nicperf.h"
#include "pong.h"
#include "post.h"
#include "sample.h"

#define DEFAULT_DEVICE	"nic0"
#define ITERATIONS_MAX	(1ULL << 24)
#define TIME_MAX_NS	3600000000000ULL
#define DEPTH_MAX	65536
#define BLOCK_MAX	(1ULL << 30)
#define MTU_MIN		576	/* of IPv4; the link takes less */
#define MTU_MAX		65535
#define COMPARE_TIME_NS	500000000

static const struct command {
	const char *name;
	unsigned int commands;
} commands[] = {
	{ "latency", COMMAND_LATENCY },
	{ "bandwidth", COMMAND_BANDWIDTH },
	{ "rate", COMMAND_RATE },
	{ "post", COMMAND_POST },
	{ "cost", COMMAND_COST },
	{ "compare", COMMAND_COMPARE },
	{ "all", COMMAND_ALL },
};

#define COMMANDS	ARRAY_SIZE(commands)

static const char help[] =
"Usage: nicperf COMMAND [OPTION]...\n"
"Measure a dmanic device. Both ends run here: one on --device, one on\n"
"--peer-device, which must be nodes of one link. (compare makes its own; --ranks:\n"
"the ranks of a job.)\n"
"\n"
"Commands\n"
"  latency    half a round trip of put and notify between two threads, and of\n"
"             stores through a mapping (pio) and notify; an atomic from post to\n"
"             completion\n"
"  bandwidth  put, get, strided put and pio, beside memcpy between the same\n"
"             segments by the same CPU, measured in turn; with --op also\n"
"             list and blocks: what strided moves, by a list of its blocks,\n"
"             and with a put for each\n"
"  rate       puts of 8 bytes and notifies a second\n"
"  post       cost of a post, beside an empty system call, measured in turn\n"
"  cost       instructions of a post, of puts of 8 B, 64 KiB and 1 MiB, beside\n"
"             an empty ioctl, memcpy and a NOP of io_uring; only where the clock\n"
"             counts instructions: in selftests/vm --icount\n"
"  compare    puts over an ether link beside memcpy, TCP, UDP and Soft RoCE\n"
"             over the same kind of devices, measured in turn. Makes two network\n"
"             namespaces and what is in them, and removes it in the end; as root\n"
"  all        all of these but cost and compare\n"
"\n"
"Options\n"
"  -d, --device NAME       measuring end (default: $NIC_DEVICE, else nic0)\n"
"  -p, --peer-device NAME  other end (default: the nic0 of the same prefix;\n"
"                          nic1 when that is the measuring end); may be the\n"
"                          measuring end itself\n"
"  -s, --size LIST         bytes: 8,64k,1M or 8-4M for all doublings\n"
"                          (latency, bandwidth; default: 8-4M)\n"
"      --depth LIST        operations in flight (bandwidth; default: 1,4,16)\n"
"  -o, --op LIST           put,get,strided,pio,list,blocks (bandwidth; latency:\n"
"                          put,pio, and atomics always; default: the first four)\n"
"  -w, --wait HOW          poll, sleep or both (latency, bandwidth; default:\n"
"                          both for latency, poll for bandwidth)\n"
"      --way LIST          enter, a system call for each batch; eventfd, the same,\n"
"                          and an eventfd tells of completions; thread, a thread\n"
"                          of the driver takes entries; uring, an io_uring\n"
"                          command for each batch; uring-post, one for each\n"
"                          operation (post; default: what the device has)\n"
"      --block BYTES       block of strided, list, blocks (default: 256)\n"
"      --stride BYTES      from block to block (default: twice the block)\n"
"      --mtu LIST          of the network devices (compare; default: 1500)\n"
"  -t, --time TIME         time for one line (not cost; default: 100ms; compare:\n"
"                          500ms; of Soft RoCE as long as it takes)\n"
"  -n, --iterations COUNT  operations in a sample, instead of a time (not cost,\n"
"                          compare); latency: round trips, each a sample\n"
"      --samples COUNT     samples of a line (not latency, cost; default: 11)\n"
"      --ranks             the ends are the two ranks of a job, on one machine or\n"
"                          two, started with the same options: rank 0 measures\n"
"                          (all; nicrun -n 2 nicperf latency --ranks). Without\n"
"                          --peer-device and --check. Under another launcher than\n"
"                          nicrun set NIC_DEVICE for each rank, or each opens nic0\n"
"      --cpu LIST          CPUs of the measuring and of the answering thread\n"
"                          (default: the first two allowed)\n"
"      --check             hold the results against the project's bounds\n"
"                          (bandwidth, post, compare): exit with 1 when one is\n"
"                          missed\n"
"  -j, --json[=FILE]       print one JSON object, nothing else; or tables, and the\n"
"                          object in FILE\n"
"  -h, --help              print this\n"
"  -V, --version           print the version\n"
"\n"
"Sizes take k, M, G (1024 each); times are seconds or take ns, us, ms.\n"
"Exit status: 0 all is well, 1 a check or a measurement failed, 2 usage.\n";

enum {
	OPT_DEVICE = 'd',
	OPT_PEER = 'p',
	OPT_SIZE = 's',
	OPT_OP = 'o',
	OPT_WAIT = 'w',
	OPT_TIME = 't',
	OPT_ITERATIONS = 'n',
	OPT_JSON = 'j',
	OPT_HELP = 'h',
	OPT_VERSION = 'V',
	OPT_DEPTH = 256,
	OPT_BLOCK,
	OPT_STRIDE,
	OPT_SAMPLES,
	OPT_CPU,
	OPT_CHECK,
	OPT_WAY,
	OPT_MTU,
	OPT_RANKS,
};

static const char short_options[] = ":d:p:s:o:w:t:n:jhV";

static const struct option long_options[] = {
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "peer-device", required_argument, NULL, OPT_PEER },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "op", required_argument, NULL, OPT_OP },
	{ "wait", required_argument, NULL, OPT_WAIT },
	{ "way", required_argument, NULL, OPT_WAY },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "block", required_argument, NULL, OPT_BLOCK },
	{ "stride", required_argument, NULL, OPT_STRIDE },
	{ "time", required_argument, NULL, OPT_TIME },
	{ "iterations", required_argument, NULL, OPT_ITERATIONS },
	{ "samples", required_argument, NULL, OPT_SAMPLES },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "ranks", no_argument, NULL, OPT_RANKS },
	{ "json", optional_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 }
};

/* Options that only some commands look at */
static const struct {
	int option;
	unsigned int commands;
} meant_for[] = {
	{ OPT_DEVICE, COMMAND_ALL | COMMAND_COST },
	{ OPT_PEER, COMMAND_ALL | COMMAND_COST },
	{ OPT_RANKS, COMMAND_ALL },
	{ OPT_SIZE, COMMAND_LATENCY | COMMAND_BANDWIDTH },
	{ OPT_DEPTH, COMMAND_BANDWIDTH },
	{ OPT_OP, COMMAND_LATENCY | COMMAND_BANDWIDTH },
	{ OPT_WAIT, COMMAND_LATENCY | COMMAND_BANDWIDTH },
	{ OPT_WAY, COMMAND_POST },
	{ OPT_BLOCK, COMMAND_BANDWIDTH },
	{ OPT_STRIDE, COMMAND_BANDWIDTH },
	{ OPT_MTU, COMMAND_COMPARE },
	{ OPT_TIME, COMMAND_ALL | COMMAND_COMPARE },
	{ OPT_ITERATIONS, COMMAND_ALL },
	{ OPT_SAMPLES, (COMMAND_ALL & ~COMMAND_LATENCY) | COMMAND_COMPARE },
	{ OPT_CHECK, COMMAND_BANDWIDTH | COMMAND_POST | COMMAND_COMPARE },
};

#define MEANT_FOR	ARRAY_SIZE(meant_for)

static const char *option_name(int option)
{
	const struct option *o;

	for (o = long_options; o->name; o++)
		if (o->val == option)
			return o->name;
	return "?";
}

/* ---- values ---- */

static const char *parse_ops(const char *text, unsigned int *ops)
{
	static const enum op known[] = {
		OP_PUT, OP_GET, OP_STRIDED, OP_PIO, OP_LIST, OP_BLOCKS,
	};
	size_t length, i;

	for (*ops = 0;; text += length + 1) {
		unsigned int bit = 0;

		length = strcspn(text, ",");
		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (strlen(op_name(known[i])) == length &&
			    !strncmp(text, op_name(known[i]), length))
				bit = 1U << known[i];
		if (!bit)
			return "has an unknown operation: use put, get, "
				"strided, pio, list, blocks";
		*ops |= bit;
		if (!text[length])
			return NULL;
	}
}

static const char *parse_waits(const char *text, unsigned int *waits)
{
	if (!strcmp(text, "poll"))
		*waits = 1U << WAIT_POLL;
	else if (!strcmp(text, "sleep"))
		*waits = 1U << WAIT_SLEEP;
	else if (!strcmp(text, "both"))
		*waits = 1U << WAIT_POLL | 1U << WAIT_SLEEP;
	else
		return "is not poll, sleep or both";
	return NULL;
}

static const char *parse_ways(const char *text, unsigned int *ways)
{
	size_t length;
	enum way way;

	for (*ways = 0;; text += length + 1) {
		unsigned int bit = 0;

		length = strcspn(text, ",");
		for (way = 0; way < WAY_COUNT; way++)
			if (strlen(way_name(way)) == length &&
			    !strncmp(text, way_name(way), length))
				bit = 1U << way;
		if (!bit)
			return "has an unknown way: use enter, eventfd, "
				"thread, uring, uring-post";
		*ways |= bit;
		if (!text[length])
			return NULL;
	}
}

static const char *parse_block(const char *text, uint32_t *block)
{
	const char *reason;
	uint64_t bytes;

	reason = size_parse(text, &bytes);
	if (reason)
		return reason;
	if (!bytes)
		return "is zero";
	if (bytes > BLOCK_MAX)
		return "is more than 1G";
	*block = (uint32_t)bytes;
	return NULL;
}

static const char *parse_sizes(const char *text, struct size_list *sizes)
{
	const char *reason;
	unsigned int i;

	reason = size_list_parse(text, sizes);
	for (i = 0; !reason && i < sizes->n; i++)
		if (sizes->value[i] > PONG_BYTES_MAX)
			reason = "is not below 4G";
	return reason;
}

static const char *parse_depths(const char *text, struct size_list *depths)
{
	const char *reason;
	unsigned int i;

	reason = count_list_parse(text, DEPTH_MAX, depths);
	for (i = 0; !reason && i < depths->n; i++)
		if (!depths->value[i])
			reason = "has a depth of zero";
	return reason;
}

/* Whole number of at least 1 */
static const char *parse_count(const char *text, uint64_t max, uint64_t *count)
{
	const char *reason;

	reason = count_parse(text, max, count);
	if (!reason && !*count)
		reason = "is zero";
	return reason;
}

static const char *parse_samples(const char *text, unsigned int *samples)
{
	const char *reason;
	uint64_t count;

	reason = parse_count(text, SAMPLES_MAX, &count);
	if (!reason)
		*samples = (unsigned int)count;
	return reason;
}

static const char *parse_time(const char *text, uint64_t *ns)
{
	const char *reason;

	reason = time_parse(text, ns);
	if (!reason && !*ns)
		reason = "is zero";
	if (!reason && *ns > TIME_MAX_NS)
		reason = "is more than an hour";
	return reason;
}

static const char *parse_cpus(const char *text, struct size_list *cpus)
{
	const char *reason;

	reason = count_list_parse(text, CPU_SETSIZE - 1, cpus);
	if (!reason && cpus->n > 2)
		reason = "has more than two CPUs";
	return reason;
}

static const char *parse_mtus(const char *text, struct size_list *mtus)
{
	const char *reason;
	unsigned int i;

	reason = count_list_parse(text, MTU_MAX, mtus);
	for (i = 0; !reason && i < mtus->n; i++)
		if (mtus->value[i] < MTU_MIN)
			reason = "has an MTU below 576";
	return reason;
}

/* NULL, or why @value is refused */
static const char *option_take(struct options *opt, int option,
			       const char *value)
{
	switch (option) {
	case OPT_DEVICE:
		opt->device = value;
		return *value ? NULL : "is empty";
	case OPT_PEER:
		opt->peer_device = value;
		return *value ? NULL : "is empty";
	case OPT_SIZE:
		return parse_sizes(value, &opt->sizes);
	case OPT_DEPTH:
		return parse_depths(value, &opt->depths);
	case OPT_OP:
		return parse_ops(value, &opt->ops);
	case OPT_WAIT:
		return parse_waits(value, &opt->waits);
	case OPT_WAY:
		return parse_ways(value, &opt->ways);
	case OPT_MTU:
		return parse_mtus(value, &opt->mtus);
	case OPT_BLOCK:
		return parse_block(value, &opt->block);
	case OPT_STRIDE:
		return parse_block(value, &opt->stride);
	case OPT_TIME:
		return parse_time(value, &opt->time_ns);
	case OPT_ITERATIONS:
		return parse_count(value, ITERATIONS_MAX, &opt->iterations);
	case OPT_SAMPLES:
		return parse_samples(value, &opt->samples);
	case OPT_CPU:
		return parse_cpus(value, &opt->cpus);
	case OPT_CHECK:
		opt->check = true;
		return NULL;
	case OPT_RANKS:
		opt->ranks = true;
		return NULL;
	default:
		opt->json = !value;
		opt->json_path = value;
		return value && !*value ? "is no name of a file" : NULL;
	}
}

/* ---- the whole line ---- */

static int usage(int *status, const char *format, ...) OUTPUT_PRINTF(2, 3);
static int usage(int *status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	output_say("nicperf", format, args, "; try nicperf --help");
	va_end(args);
	*status = EXIT_USAGE;
	return -1;
}

static void options_defaults(struct options *opt)
{
	memset(opt, 0, sizeof(*opt));
	opt->device = getenv("NIC_DEVICE");
	if (!opt->device || !*opt->device)
		opt->device = DEFAULT_DEVICE;
	size_list_parse("8-4M", &opt->sizes);
	count_list_parse("1,4,16", DEPTH_MAX, &opt->depths);
	opt->ops = 1U << OP_PUT | 1U << OP_GET | 1U << OP_STRIDED |
		   1U << OP_PIO;
	count_list_parse("1500", MTU_MAX, &opt->mtus);
	opt->block = 256;
	opt->time_ns = 100000000;
	opt->samples = 11;
}

/* PREFIX0, or PREFIX1 for PREFIX0 itself; allocated */
static char *peer_of(const char *device)
{
	size_t prefix = strlen(device);
	char *peer;

	while (prefix && device[prefix - 1] >= '0' && device[prefix - 1] <= '9')
		prefix--;
	if (asprintf(&peer, "%.*s%d", (int)prefix, device,
		     !strcmp(device + prefix, "0")) < 0)
		return NULL;
	return peer;
}

static int command_take(struct options *opt, int argc, char **argv, int *status)
{
	size_t i;

	if (optind == argc)
		return usage(status, "which command?");
	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[optind], commands[i].name))
			opt->commands = commands[i].commands;
	if (!opt->commands)
		return usage(status, "there is no command \"%s\"",
			     argv[optind]);
	if (optind + 1 < argc)
		return usage(status, "\"%s\" is one argument too many",
			     argv[optind + 1]);
	return 0;
}

/* Bit of an option in the set of those that were given */
static uint64_t option_bit(int option)
{
	unsigned int i;

	for (i = 0; i < MEANT_FOR; i++)
		if (meant_for[i].option == option)
			return 1ULL << i;
	return 0;
}

/* The name of a given option that the command would ignore, or NULL */
static const char *option_ignored(const struct options *opt, uint64_t given)
{
	unsigned int i;

	for (i = 0; i < MEANT_FOR; i++)
		if (given & 1ULL << i && !(meant_for[i].commands &
					   opt->commands))
			return option_name(meant_for[i].option);
	return NULL;
}

/* What follows from several options */
static int options_agree(struct options *opt, uint64_t given, int *status)
{
	unsigned int i;

	if (!opt->stride)
		opt->stride = opt->block > BLOCK_MAX / 2 ? opt->block :
							   2 * opt->block;
	if (opt->stride < opt->block)
		return usage(status, "--stride %u is less than --block %u",
			     opt->stride, opt->block);
	if (given & option_bit(OPT_OP) && opt->commands == COMMAND_LATENCY &&
	    opt->ops & ~LATENCY_OPS)
		return usage(status, "--op: latency is of put and pio");
	for (i = 0; i < opt->sizes.n; i++)
		if (opt->commands & COMMAND_BANDWIDTH && !opt->sizes.value[i])
			return usage(status, "--size 0 is for latency only");
	if (opt->ranks && given & (option_bit(OPT_PEER) | option_bit(OPT_CHECK)))
		return usage(status, "--ranks is without --peer-device and --check");
	if (opt->commands == COMMAND_COMPARE && !(given & option_bit(OPT_TIME)))
		opt->time_ns = COMPARE_TIME_NS;
	if (!opt->peer_device)
		opt->peer_device = peer_of(opt->device);
	if (!opt->peer_device) {
		fputs("nicperf: out of memory\n", stderr);
		*status = EXIT_FAILURE;
		return -1;
	}
	return 0;
}

static int print_only(const char *text, int *status)
{
	fputs(text, stdout);
	*status = output_finish("nicperf") ? EXIT_FAILURE : EXIT_SUCCESS;
	return -1;
}

/* An option without argument, or one getopt did not understand */
static int option_other(int option, char **argv, int *status)
{
	char wrong[OPTION_TEXT];

	switch (option) {
	case OPT_HELP:
		return print_only(help, status);
	case OPT_VERSION:
		return print_only("nicperf " TOOL_VERSION "\n", status);
	default:
		return usage(status, "%s",
			     option_refused(option, argv, short_options,
					    long_options, wrong));
	}
}

int args_parse(struct options *opt, int argc, char **argv, int *status)
{
	const char *reason;
	uint64_t given = 0;
	int option;

	options_defaults(opt);
	while ((option = getopt_long(argc, argv, short_options, long_options,
				     NULL)) != -1) {
		if (option == OPT_HELP || option == OPT_VERSION ||
		    option == ':' || option == '?')
			return option_other(option, argv, status);
		reason = option_take(opt, option, optarg);
		if (reason)
			return usage(status, "--%s: \"%s\" %s",
				     option_name(option), optarg, reason);
		given |= option_bit(option);
	}
	if (command_take(opt, argc, argv, status))
		return -1;
	reason = option_ignored(opt, given);
	if (reason)
		return usage(status, "--%s means nothing to %s", reason,
			     argv[optind]);
	return options_agree(opt, given, status);
}
