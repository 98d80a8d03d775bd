// SPDX-License-Identifier: GPL-2.0-only
/*
 * options.c - the command line of nictile
 *
 * All ranks parse the same words. Only rank 0 complains, or prints the help.
 * The others end in silence and with success: nicrun would stop rank 0 before
 * it has spoken.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nictile.h"
#include "tools/common/option.h"
#include "tools/common/output.h"
#include "tools/common/size.h"

#define SCALE_MAX	1000000U	/* thousandths, as the driver has it */

static const char usage_text[] =
"Usage: nicrun -n RANKS nictile [OPTION]...\n"
"Run the test loop of the paper (see Documentation/tile.rst) on overlapped tile\n"
"execution,\n"
"  A[i][j][k] = func(A[i-1][j][k], A[i][j-1][k], A[i][j][k-1])   (floats)\n"
"on a grid of ranks with both schedules, and compare the times with what the\n"
"paper's formulas predict from costs measured before the run. Every value of\n"
"every run is compared with a sequential run.\n"
"\n"
"      --size IxJxK      computed points; K must be the largest (12x12x32k)\n"
"      --grid RxC        ranks along I and J (as square as can be)\n"
"      --height H        tile heights: a list \"128,256,1k\"; auto: the\n"
"                        predicted best; sweep: nine around it (sweep)\n"
"      --model PRESET    set the link's model before: none, sci-d330, eth-25g; at\n"
"                        --scale, for all devices of the fabric; it stays so.\n"
"                        Needs root (CAP_NET_ADMIN)\n"
"      --schedule S      overlap, nonoverlap or both (both)\n"
"      --compute C       real: as long as it takes (default);\n"
"                        modelled: compute, then sleep until --t1 a point\n"
"                        has passed: as if each rank had a processor\n"
"      --t1 TIME         time a point of modelled computing (46ns)\n"
"      --scale N         stretch t1 of modelled computing, and the link's --model,\n"
"                        by N (1)\n"
"      --repeat N        runs of each kind (5)\n"
"      --no-comm         also run with all communication left out\n"
"      --expect WHAT     check that it wins: overlap (and that the prediction\n"
"                        holds: 5 % at its height, 10 % over the sweep, and\n"
"                        3 % from the best) or nonoverlap\n"
"      --timeout TIME    longest wait for a neighbour (30s)\n"
"      --json[=FILE]     one JSON object on stdout and no table; or in FILE\n"
"      --data FILE       columns for a plot\n"
"  -v, --verbose         a line a run on stderr\n"
"  -h, --help            this text\n"
"  -V, --version         version\n"
"\n"
"Exit status: 0 when all checks are ok, 1 when not, 2 for wrong usage.\n"
"\n"
"Example, the paper's card a hundred times slower:\n"
"  nicctl dev add nic type loop nodes 9\n"
"  nicrun -n 9 nictile --size 12x12x8k --model sci-d330 --compute modelled \\\n"
"    --scale 100\n";

enum {
	OPT_SIZE = 256, OPT_GRID, OPT_HEIGHT, OPT_MODEL, OPT_SCHEDULE, OPT_COMPUTE, OPT_T1,
	OPT_SCALE, OPT_REPEAT, OPT_NO_COMM, OPT_EXPECT, OPT_TIMEOUT, OPT_JSON,
	OPT_DATA,
};

static const char shorts[] = ":vhV";

static const struct option longs[] = {
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "grid", required_argument, NULL, OPT_GRID },
	{ "height", required_argument, NULL, OPT_HEIGHT },
	{ "model", required_argument, NULL, OPT_MODEL },
	{ "schedule", required_argument, NULL, OPT_SCHEDULE },
	{ "compute", required_argument, NULL, OPT_COMPUTE },
	{ "t1", required_argument, NULL, OPT_T1 },
	{ "scale", required_argument, NULL, OPT_SCALE },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "no-comm", no_argument, NULL, OPT_NO_COMM },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "json", optional_argument, NULL, OPT_JSON },
	{ "data", required_argument, NULL, OPT_DATA },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

bool first_rank(void)
{
	const char *rank = getenv("NIC_RANK");

	return !rank || !strcmp(rank, "0");
}

static void wrong_usage(const char *format, ...) OUTPUT_PRINTF(1, 2);
static void wrong_usage(const char *format, ...)
{
	va_list args;

	if (!first_rank())
		exit(EXIT_SUCCESS);
	va_start(args, format);
	output_say("nictile", format, args, "; try nictile --help");
	va_end(args);
	exit(EXIT_USAGE);
}

static void print_and_exit(const char *text)
{
	if (first_rank())
		fputs(text, stdout);
	exit(output_finish("nictile") ? EXIT_FAILURE : EXIT_SUCCESS);
}

const char *schedule_name(unsigned int schedule)
{
	return schedule == NIC_TILE_OVERLAP ? "overlap" : "nonoverlap";
}

/* "12x12x512k": exactly @n numbers, none of them zero */
static void parse_product(const char *option, const char *text, unsigned int n,
			  uint64_t *out)
{
	char *copy = strdup(text), *rest = copy, *word;
	const char *reason = NULL;
	unsigned int i;

	for (i = 0; i < n && !reason; i++) {
		word = rest ? strsep(&rest, "x") : NULL;
		if (!word)
			wrong_usage("--%s: \"%s\" has not %u numbers", option,
				    text, n);
		reason = size_parse(word, &out[i]);
		if (!reason && !out[i])
			reason = "has a zero";
	}
	if (!reason && rest)
		reason = "has too many numbers";
	if (reason)
		wrong_usage("--%s: \"%s\" %s", option, text, reason);
	free(copy);
}

static void parse_size(struct options *options, const char *text)
{
	parse_product("size", text, 3, options->dims);
	if (options->dims[2] < options->dims[0] ||
	    options->dims[2] < options->dims[1])
		wrong_usage("--size: the last of \"%s\" must be the largest",
			    text);
}

static void parse_grid(struct options *options, const char *text)
{
	uint64_t ranks[2];
	unsigned int i;

	parse_product("grid", text, 2, ranks);
	for (i = 0; i < 2; i++) {
		if (ranks[i] > UINT16_MAX)
			wrong_usage("--grid: \"%s\" is too large", text);
		options->ranks[i] = (uint32_t)ranks[i];
	}
}

static void parse_height(struct options *options, const char *text)
{
	struct size_list list = { 0 };
	const char *reason;
	unsigned int i;

	options->heights = 0;
	if (!strcmp(text, "auto") || !strcmp(text, "sweep")) {
		options->height_mode = *text == 'a' ? HEIGHT_AUTO :
						      HEIGHT_SWEEP;
		return;
	}
	options->height_mode = HEIGHT_LIST;
	reason = size_list_parse(text, &list);
	if (!reason && list.n > HEIGHTS_MAX)
		reason = "has too many heights";
	for (i = 0; !reason && i < list.n; i++) {
		options->height[i] = list.value[i];
		if (!list.value[i])
			reason = "has a zero";
	}
	if (reason)
		wrong_usage("--height: \"%s\" %s", text, reason);
	options->heights = list.n;
}

/* Which of @words is @text? */
static unsigned int parse_word(const char *option, const char *text,
			       const char *const *words, unsigned int n)
{
	char list[128] = "";
	size_t at = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!strcmp(text, words[i]))
			return i;
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
				       i ? ", " : "", words[i]);
	}
	wrong_usage("--%s: \"%s\" is none of its words: %s", option, text,
		    list);
	return 0;
}

static void parse_schedule(struct options *options, const char *text)
{
	static const char *const words[] = { "nonoverlap", "overlap", "both" };
	unsigned int word = parse_word("schedule", text, words, 3);

	options->schedule[NIC_TILE_NONOVERLAP] = word != 1;
	options->schedule[NIC_TILE_OVERLAP] = word != 0;
}

static void parse_time(const char *option, const char *text, uint64_t *ns)
{
	const char *reason = time_parse(text, ns);

	if (!reason && !*ns)
		reason = "is zero";
	if (reason)
		wrong_usage("--%s: \"%s\" %s", option, text, reason);
}

static void parse_scale(struct options *options, const char *text)
{
	uint64_t thousandths = 0;
	const char *reason = scale_parse(text, &thousandths);

	if (!reason && (!thousandths || thousandths > SCALE_MAX))
		reason = "is not within 0.001 and 1000";
	if (reason)
		wrong_usage("--scale: \"%s\" %s", text, reason);
	options->scale = (double)thousandths / 1000;
}

static void parse_repeat(struct options *options, const char *text)
{
	uint64_t count = 0;
	const char *reason = count_parse(text, REPEATS_MAX, &count);

	if (!reason && !count)
		reason = "is zero";
	if (reason)
		wrong_usage("--repeat: \"%s\" %s", text, reason);
	options->repeat = (unsigned int)count;
}

static const char *parse_path(const char *option, const char *text)
{
	if (text && !*text)
		wrong_usage("--%s= needs the name of a file", option);
	return text;
}

static void parse_one(struct options *options, int option, const char *text)
{
	static const char *const computes[] = { "real", "modelled" };
	static const char *const winners[] = { "overlap", "nonoverlap" };
	uint64_t ns;

	switch (option) {
	case OPT_SIZE:
		parse_size(options, text);
		break;
	case OPT_GRID:
		parse_grid(options, text);
		break;
	case OPT_HEIGHT:
		parse_height(options, text);
		break;
	case OPT_MODEL:
		options->model = text;
		break;
	case OPT_SCHEDULE:
		parse_schedule(options, text);
		break;
	case OPT_COMPUTE:
		options->modelled = parse_word("compute", text, computes, 2);
		break;
	case OPT_T1:
		parse_time("t1", text, &ns);
		options->t1_ns = (double)ns;
		break;
	case OPT_SCALE:
		parse_scale(options, text);
		break;
	case OPT_REPEAT:
		parse_repeat(options, text);
		break;
	case OPT_NO_COMM:
		options->no_comm = true;
		break;
	case OPT_EXPECT:
		options->expect = EXPECT_OVERLAP +
				  parse_word("expect", text, winners, 2);
		break;
	case OPT_TIMEOUT:
		parse_time("timeout", text, &options->timeout_ns);
		break;
	case OPT_JSON:
		options->json = !text;
		options->json_path = parse_path("json", text);
		break;
	case OPT_DATA:
		options->data_path = parse_path("data", text);
		break;
	case 'v':
		options->verbose = true;
		break;
	case 'h':
		print_and_exit(usage_text);
		break;
	case 'V':
		print_and_exit("nictile " TOOL_VERSION "\n");
		break;
	}
}

/* What makes no sense together; and what was not given */
static void options_finish(struct options *options)
{
	unsigned int i;

	if (options->t1_ns > 0 && !options->modelled)
		wrong_usage("--t1 is of --compute modelled only");
	if (options->scale > 0 && !options->modelled && !options->model)
		wrong_usage("--scale is of --compute modelled and --model only");
	if (!(options->t1_ns > 0))
		options->t1_ns = 46;
	if (!(options->scale > 0))
		options->scale = 1;
	options->t1_ns *= options->scale;
	for (i = 0; i < options->heights; i++)
		if (options->height[i] > options->dims[2])
			wrong_usage("--height: there are only %llu points",
				    (unsigned long long)options->dims[2]);
	if (options->expect && !(options->schedule[0] && options->schedule[1]))
		wrong_usage("--expect needs both schedules");
}

void options_parse(struct options *options, int argc, char **argv)
{
	char wrong[OPTION_TEXT];
	int option;

	*options = (struct options) {
		.dims = { 12, 12, 32 << 10 },
		.height_mode = HEIGHT_SWEEP,
		.schedule = { true, true },
		.repeat = 5,
		.timeout_ns = NIC_TILE_TIMEOUT,
	};
	while ((option = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (option == ':' || option == '?')
			wrong_usage("%s", option_refused(option, argv, shorts,
							 longs, wrong));
		parse_one(options, option, optarg);
	}
	if (optind < argc)
		wrong_usage("\"%s\": there are no arguments but options",
			    argv[optind]);
	options_finish(options);
}
