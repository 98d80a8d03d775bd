// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim.c - scenarios of the simulator
 *
 * usage: sim [SCENARIO] [--seed N] [--seeds N] [--OPTION VALUE]...
 * Without a scenario: "faults". Prints what happened; KTAP with "check". A run that
 * violates something says how to replay it, and ends with 1.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

/* Long enough for every operation to end, whoever died */
#define SIM_PATIENCE	(600000 * SIM_MS)

static const struct sim_config base = {
	.seed = 1,
	.nodes = 4,
	.peers = 2,
	.flows = 3,
	.depth = 4,
	.operations = 20000,
	.bytes = 20000,
	.mtu = 1500,
	.super = 65535,
	.latency_ns = 10000,
	.loss_operations = 2000,
	.incast_ms = 200,
};

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* A whole run, with all its checks; seconds of virtual time */
static double run(const struct sim_config *config)
{
	double seconds;

	sim_world_begin(config);
	sim_world_run(SIM_PATIENCE, sim_load_done);
	SIM_CHECK(sim_load_done(), "%llu of %llu operations ended", sim.ended, sim.posted);
	seconds = (sim.last_end - SIM_MS) / 1e9;
	/* Nothing was owed for ever */
	sim_world_run(sim.now + 10000 * SIM_MS, NULL);
	sim_load_check_end();
	return seconds;
}

static void print_run(const char *name, double seconds, double cpu)
{
	printf("# %s: seed %llu, %u nodes, %llu operations (%llu failed), %llu frames (%llu lost), %.1f MB, %.3f s simulated, %.1f s CPU, digest %016llx\n",
	       name, sim.config.seed, sim.config.nodes, sim.ended, sim.failed, sim.frames,
	       sim.dropped + sim.queue_drops, sim.bytes_ok / 1e6, seconds, cpu, sim.digest);
}

static u64 one(const char *name, const struct sim_config *config)
{
	double cpu = cpu_seconds(), seconds;
	u64 digest;

	sim_replay_is(NULL, name, config);
	seconds = run(config);
	digest = sim.digest;
	print_run(name, seconds, cpu_seconds() - cpu);
	sim_world_end();
	return digest;
}

/* ---- scenarios ---- */

static struct sim_config faults(struct sim_config config)
{
	config.jitter_ns = 30000;
	config.drop = 20000;
	config.duplicate = 10000;
	config.corrupt = 5000;
	config.late = 2000;
	config.bad = 20;
	config.cancel = 20;
	config.change = 5;
	config.crc = true;
	config.unsent = 2000;
	config.bursts = 6;
	config.resizes = 6;
	return config;
}

/* Of what takes many frames, in sizes that change, the memory changes, too */
static struct sim_config changes(struct sim_config config)
{
	config = faults(config);
	config.bytes = 100000;
	config.operations /= 10;
	config.bursts = 0;
	config.change = 20;
	return config;
}

static struct sim_config deaths(struct sim_config config)
{
	config = faults(config);
	config.deaths = 6;
	return config;
}

/* A node that had no CPU thinks nobody dead who was not, though others wait for longer */
static struct sim_config away(struct sim_config config)
{
	config = faults(config);
	config.nodes = 2;
	config.peers = 1;
	config.resizes = 0;
	config.bursts = 0;
	config.every_ns = SIM_MS;
	config.absences = ~0U;
	config.short_ns = 300 * SIM_MS;
	return config;
}

/* What is damaged or changed is found by the key; a frame that comes twice counts once */
static struct sim_config keyed(struct sim_config config)
{
	config = deaths(config);
	config.crc = false;
	config.key = true;
	return config;
}

static struct sim_config tiny(struct sim_config config)
{
	config = faults(config);
	config.small = true;
	config.bytes = 4000;
	return config;
}

static struct sim_config over(struct sim_config config)
{
	config = faults(config);
	config.bad = 0;
	config.cancel = 0;
	config.change = 0;
	config.bytes = 8000;
	config.over = true;
	config.small = config.seed % 2;
	return config;
}

static struct sim_config clean(struct sim_config config)
{
	return config;
}

static struct sim_config thousand(struct sim_config config)
{
	config.nodes = 1000;
	config.peers = 3;
	config.flows = 2;
	config.depth = 4;
	config.bytes = 2000;
	config.operations = 1000000;
	config.small = true;
	config.jitter_ns = 20000;
	config.drop = 10000;
	config.duplicate = 5000;
	config.late = 1000;
	config.bad = 5;
	config.deaths = 20;
	return config;
}

/* A million operations, of whose frames 5 % get lost */
static struct sim_config million(struct sim_config config)
{
	config.operations = 1000000;
	config.bytes = 8000;
	config.drop = 50000;
	return config;
}

/* Bytes a second each way, of WRITEs that ended */
static double goodput(struct sim_config config, u32 drop)
{
	double seconds;

	config.nodes = 2;
	config.peers = 1;
	config.flows = 1;
	config.depth = 8;
	config.fixed = true;
	config.bytes = 262144;
	config.operations = config.loss_operations;
	config.rate = 1250000000ULL;
	config.queue = config.queue ? config.queue : 262144;
	config.drop = drop;
	seconds = run(&config);
	seconds = (double)sim.bytes_ok / 2 / seconds;
	sim_world_end();
	return seconds;
}

static int loss(struct sim_config config)
{
	static const struct {
		const char *name;
		u32 drop;
		double least;
	} step[] = {
		{ "0.1 %", 1000, 0.85 }, { "1 %", 10000, 0.4 }, { "5 %", 50000, 0.1 },
	};
	double whole = goodput(config, 0), part;
	int bad = 0;
	u32 i;

	printf("# loss: none: %.3f of the link, each way\n", whole / 1250e6);
	bad |= whole < 0.7 * 1250e6;
	for (i = 0; i < 3; i++) {
		part = goodput(config, step[i].drop) / whole;
		printf("# loss: %s: %.3f of loss-free (at least %.2f)\n", step[i].name, part,
		       step[i].least);
		bad |= part < step[i].least;
	}
	return bad;
}

static struct sim_config eight_to_one(struct sim_config config)
{
	config.nodes = 9;
	config.peers = 1;
	config.flows = 1;
	config.depth = 8;
	config.fixed = true;
	config.to_one = true;
	config.bytes = 65536;
	config.operations = ~0ULL;
	config.rate = 1250000000ULL;
	config.queue = config.queue ? config.queue : 262144;
	return config;
}

/* Eight to one: what the one's cable carries, and how fairly */
static int incast(struct sim_config config)
{
	double sum = 0, squares = 0, share, total, fair;
	struct sim_peer *peer;
	struct sim_op *op;
	u64 until = config.incast_ms * SIM_MS, bytes[9] = { 0 };
	u32 i, k;

	config = eight_to_one(config);
	sim_world_begin(&config);
	sim_world_run(until, NULL);
	for (i = 1; i < 9; i++) {
		peer = sim.node[i].peers;
		bytes[i] = peer->flow->order * 65536;
		for (k = 0; k < config.depth; k++) {
			op = &peer->flow->op[k];
			bytes[i] -= 65536 - op->placed;
		}
		share = bytes[i];
		sum += share;
		squares += share * share;
	}
	total = sum / ((until - SIM_MS) / 1e9) / 1250e6;
	fair = sum * sum / (8 * squares);
	printf("# incast 8:1: %.3f of the link (at least 0.70), fairness %.4f (at least 0.90), %llu frames lost in the queue of %llu\n",
	       total, fair, sim.queue_drops, sim.frames);
	sim_world_end();
	return total < 0.7 || fair < 0.9;
}

/* The same, but they all begin again every 20 ms: nobody's grant is of that time */
static int bursts(struct sim_config config)
{
	double lost;
	u64 ended;

	config = eight_to_one(config);
	config.every_ns = 20 * SIM_MS;
	sim_world_begin(&config);
	sim_world_run(8 * config.incast_ms * SIM_MS, NULL);
	lost = (double)sim.queue_drops / sim.frames;
	ended = sim.ended;
	printf("# bursts: incast, every 20 ms: %llu operations, %.4f of frames lost in the queue (at most 0.02)\n",
	       ended, lost);
	sim_world_end();
	/* Each 20 ms all that was posted ends */
	return lost > 0.02 || ended < 64 * (8 * config.incast_ms / 20 - 1);
}

/*
 * A queue that overflows before it delays by anything that is minded, as on the way out
 * of a machine: what is lost is all there is to see.
 */
static int shallow(struct sim_config config)
{
	double lost, carried;

	config.target_ns = 20 * SIM_MS;
	config.rto_ns = 50 * SIM_MS;
	config.budget = 4 << 20;
	config.nodes = 2;
	config.peers = 1;
	config.flows = 1;
	config.depth = 8;
	config.fixed = true;
	config.bytes = 262144;
	config.operations = ~0ULL;
	config.latency_ns = 100000;
	config.cable = 1250000000ULL;
	config.rate = 125000000ULL;
	config.queue = 65536;
	sim_world_begin(&config);
	sim_world_run(10 * config.incast_ms * SIM_MS, NULL);
	lost = (double)sim.queue_drops / sim.frames;
	carried = (double)sim.bytes_ok / 2 / (sim.last_end / 1e9) / 125e6;
	printf("# shallow: %.4f of frames lost in the queue (at most 0.10), %.3f of the link (at least 0.70)\n",
	       lost, carried);
	sim_world_end();
	return lost > 0.1 || carried < 0.7;
}

/*
 * A link that a frame of 64 KiB keeps busy for longer than the delay that is minded, and
 * ends that are late now and then: neither is a queue that sending less would shorten.
 */
static int gigabit(struct sim_config config)
{
	double carried;

	config.nodes = 2;
	config.peers = 1;
	config.flows = 1;
	config.depth = 8;
	config.fixed = true;
	config.bytes = 1 << 20;
	config.operations = ~0ULL;
	config.latency_ns = 50000;
	config.jitter_ns = 400000;
	config.rate = 125000000ULL;
	config.queue = 1 << 20;
	sim_world_begin(&config);
	sim_world_run(10 * config.incast_ms * SIM_MS, NULL);
	carried = (double)sim.bytes_ok / 2 / (sim.last_end / 1e9) / 125e6;
	printf("# gigabit: %.3f of the link, each way (at least 0.80), %llu of %llu frames lost in the queue\n",
	       carried, sim.queue_drops, sim.frames);
	sim_world_end();
	return carried < 0.8;
}

/* Bytes a node has written since they were counted last */
static double late_share(u32 node)
{
	static u64 counted[3];
	struct sim_flow *flow = sim.node[node].peers->flow;
	u64 bytes = flow->order * sim.config.bytes, new = bytes - counted[node];

	counted[node] = bytes;
	return new;
}

/*
 * Two to one, of which the second begins when the first has filled the queue: it takes
 * that for the way's length, and must not for ever.
 */
static int late(struct sim_config config)
{
	double first, second, part;

	config.target_ns = 2 * SIM_MS;
	config.budget = 4 << 20;
	config.nodes = 3;
	config.peers = 1;
	config.flows = 1;
	config.depth = 8;
	config.fixed = true;
	config.to_one = true;
	config.bytes = 16384;
	config.operations = ~0ULL;
	config.latency_ns = 50000;
	config.late_ns = 5000 * SIM_MS;
	config.rate = 5000000ULL;
	config.queue = 1 << 20;
	sim_world_begin(&config);
	sim_world_run(40000 * SIM_MS, NULL);
	late_share(1);
	late_share(2);
	sim_world_run(60000 * SIM_MS, NULL);
	first = late_share(1);
	second = late_share(2);
	part = first / (first + second);
	printf("# late: after 40 s who came first has %.3f (0.30 to 0.70), of %.3f of the link\n",
	       part, (first + second) / 20 / 5e6);
	sim_world_end();
	return part < 0.3 || part > 0.7;
}

/* ---- main ---- */

static const struct {
	const char *name;
	struct sim_config (*make)(struct sim_config config);
	int (*measure)(struct sim_config config);
} scenarios[] = {
	{ "clean", clean, NULL }, { "faults", faults, NULL }, { "deaths", deaths, NULL },
	{ "changes", changes, NULL }, { "away", away, NULL }, { "keyed", keyed, NULL },
	{ "tiny", tiny, NULL }, { "over", over, NULL },
	{ "thousand", thousand, NULL }, { "million", million, NULL },
	{ "loss", clean, loss }, { "incast", clean, incast },
	{ "bursts", clean, bursts }, { "shallow", clean, shallow }, { "gigabit", clean, gigabit },
	{ "late", clean, late },
};

#define SCENARIOS	(sizeof(scenarios) / sizeof(scenarios[0]))

/* Which of them; SCENARIOS: none */
static u32 find(const char *name)
{
	u32 i;

	for (i = 0; i < SCENARIOS; i++)
		if (!strcmp(name, scenarios[i].name))
			break;
	return i;
}

/* As it is without options; "check" itself has the options alone */
struct sim_config sim_scenario(const char *name, u64 seed)
{
	struct sim_config config = base;
	u32 i = find(name);

	config.seed = seed;
	return i < SCENARIOS ? scenarios[i].make(config) : config;
}

static int play(const char *name, const struct sim_config *config)
{
	u32 i = find(name);
	int bad;

	if (!scenarios[i].measure) {
		one(name, config);
		return 0;
	}
	sim_replay_is(NULL, name, config);
	bad = scenarios[i].measure(*config);
	if (bad)
		sim_replay_print();
	return bad;
}

/* One of "check": what has a measure as it is, others shorter, and with two seeds */
static int check_one(const char *name, struct sim_config config)
{
	u32 i = find(name), k;
	struct sim_config tried;

	if (scenarios[i].measure)
		return play(name, &config);
	for (k = 0; k < 2; k++, config.seed++) {
		tried = config;
		tried.operations = 4000;
		tried = scenarios[i].make(tried);
		one(name, &tried);
	}
	return 0;
}

/* The same run twice is the same */
static int check_replays(struct sim_config config)
{
	int bad;

	config = deaths(config);
	config.operations = 3000;
	bad = one("deaths", &config) != one("deaths", &config);
	if (bad)
		sim_replay_print();
	return bad;
}

/* A short run of everything */
static int check(struct sim_config config)
{
	static const char *const names[] = {
		"clean", "faults", "changes", "deaths", "away", "keyed", "tiny", "over", "replays", "loss", "incast",
		"bursts", "shallow", "gigabit",
	};
	int failed = 0, bad;
	u32 i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	config.loss_operations = 300;
	config.incast_ms = 30;
	printf("KTAP version 1\n1..%zu\n", ARRAY_SIZE(names));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		bad = !strcmp(names[i], "replays") ? check_replays(config) :
						    check_one(names[i], config);
		printf("%s %u - sim__%s\n", bad ? "not ok" : "ok", i + 1, names[i]);
		failed |= bad;
	}
	return failed;
}

/* Return: false when there is something that is not known */
static bool parse(char **argv, struct sim_config *config, u64 *seeds)
{
	for (; *argv; argv++) {
		if (!strcmp(*argv, "--trace")) {
			config->trace = true;
			continue;
		}
		if (!strcmp(*argv, "--seeds") ? !sim_number(argv[0], argv[1], 1, ~0ULL, seeds) :
						!sim_option_set(config, argv[0], argv[1]))
			return false;
		argv++;
	}
	return true;
}

static void print_scenarios(FILE *stream)
{
	u32 i;

	fprintf(stream, "check");
	for (i = 0; i < SCENARIOS; i++)
		fprintf(stream, ", %s", scenarios[i].name);
	fprintf(stream, "\n");
}

static int help(void)
{
	printf("usage: sim [SCENARIO] [--seed N] [--seeds N] [--trace] [--OPTION N]...\n\n"
	       "Runs nodes and their network, simulated, over the driver's protocol. A run that\n"
	       "violates something says how to replay it, and ends with 1. --seeds: so many seeds\n"
	       "one after the other; --trace: prints each frame.\nScenarios (faults):\n\t");
	print_scenarios(stdout);
	printf("Options, the fields of struct sim_config in selftests/sim/sim.h:\n");
	sim_options_print();
	if (!fflush(stdout))
		return 0;
	perror("sim: cannot print");
	return 1;
}

int main(int argc, char **argv)
{
	struct sim_config config = base;
	const char *name = "faults";
	u64 seed, end, seeds = 1;
	int bad = 0, i = 1;
	bool all;

	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return help();
	if (argc > 1 && argv[1][0] != '-')
		name = argv[i++];
	all = !strcmp(name, "check");
	if (!all && find(name) == SCENARIOS) {
		fprintf(stderr, "sim: no scenario '%s'; there are ", name);
		print_scenarios(stderr);
		return 2;
	}
	if (!parse(argv + i, &config, &seeds))
		return 2;
	sim_replay_is(argv[0], name, &config);
	if (all)
		return check(config);
	for (seed = config.seed, end = seed + seeds; seed != end && !bad; seed++) {
		config = sim_scenario(name, seed);
		parse(argv + i, &config, &seeds);
		config.seed = seed;
		bad = play(name, &config);
	}
	return bad;
}
