// SPDX-License-Identifier: GPL-2.0-only
/*
 * options.c - a run by its command line, and the command line of a run
 *
 * Every field of struct sim_config that makes a run another one is an option here, so
 * that what a failure prints is the same run again.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static const struct option {
	const char *name;
	size_t offset;
	size_t bytes;
	u64 least;
	u64 most;	/* 0: of its type */
} options[] = {
#define OPTION_RANGE(field, least, most)					\
	{ #field, offsetof(struct sim_config, field),				\
	  sizeof(((struct sim_config *)0)->field), least, most }
#define OPTION_FROM(field, least)	OPTION_RANGE(field, least, 0)
#define OPTION(field)			OPTION_RANGE(field, 0, 0)
	OPTION(seed), OPTION_FROM(nodes, 2), OPTION_FROM(peers, 1), OPTION_FROM(flows, 1),
	OPTION_RANGE(depth, 1, SIM_DEPTH), OPTION_FROM(operations, 1),
	OPTION_RANGE(bytes, 0, 1U << 20), OPTION(fixed),
	OPTION_FROM(mtu, DMANIC_WIRE_MTU_MIN + DMANIC_WIRE_AUTH_BYTES), OPTION(super),
	OPTION(crc), OPTION(key), OPTION(budget), OPTION(target_ns), OPTION(rto_ns),
	OPTION(latency_ns), OPTION(jitter_ns), OPTION(rate), OPTION(cable), OPTION(queue),
	OPTION(drop), OPTION(duplicate), OPTION(corrupt), OPTION(late), OPTION(unsent),
	OPTION(bursts), OPTION(resizes), OPTION(deaths), OPTION(absences),
	OPTION(short_ns), OPTION(bad), OPTION(cancel),
	OPTION(change), OPTION(to_one), OPTION(every_ns), OPTION(over), OPTION(small),
	OPTION(late_ns), OPTION(loss_operations), OPTION(incast_ms), OPTION(planted),
};

#define OPTIONS		(sizeof(options) / sizeof(options[0]))

static const char *replay_program, *replay_name;
static struct sim_config replay_config;

static void option_put(struct sim_config *config, const struct option *option, u64 value)
{
	void *field = (char *)config + option->offset;

	if (option->bytes == sizeof(u64))
		*(u64 *)field = value;
	else if (option->bytes == sizeof(u32))
		*(u32 *)field = value;
	else
		*(bool *)field = value;
}

static u64 option_get(const struct sim_config *config, const struct option *option)
{
	const void *field = (const char *)config + option->offset;

	if (option->bytes == sizeof(u64))
		return *(const u64 *)field;
	if (option->bytes == sizeof(u32))
		return *(const u32 *)field;
	return *(const bool *)field;
}

bool sim_number(const char *option, const char *text, u64 least, u64 most, u64 *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text ? text : "", &end, 0);
	if (!text || *text == '-' || end == text || *end) {
		fprintf(stderr, text ? "sim: %s: '%s' is no number\n" : "sim: %s needs a number\n",
			option, text);
		return false;
	}
	if (!errno && *value >= least && *value <= most)
		return true;
	fprintf(stderr, "sim: %s: %s is not from %llu to %llu\n", option, text, least, most);
	return false;
}

bool sim_option_set(struct sim_config *config, const char *option, const char *text)
{
	u64 value, most;
	u32 i;

	for (i = 0; i < OPTIONS; i++) {
		if (strncmp(option, "--", 2) != 0 || strcmp(options[i].name, option + 2) != 0)
			continue;
		most = options[i].most;
		if (!most)
			most = options[i].bytes == sizeof(bool) ? 1 :
			       ~0ULL >> (64 - 8 * options[i].bytes);
		if (!sim_number(option, text, options[i].least, most, &value))
			return false;
		option_put(config, &options[i], value);
		return true;
	}
	fprintf(stderr, "sim: no option '%s'; see --help\n", option);
	return false;
}

void sim_options_print(void)
{
	u32 i, column = 0;

	for (i = 0; i < OPTIONS; i++) {
		column += printf("%s--%s", column ? " " : "\t", options[i].name);
		if (column > 70) {
			printf("\n");
			column = 0;
		}
	}
	printf("\n");
}

/* What runs now: the scenario @name, as it is or with other options */
void sim_replay_is(const char *program, const char *name, const struct sim_config *config)
{
	replay_program = program ? program : replay_program;
	replay_name = name;
	replay_config = *config;
}

void sim_replay_print(void)
{
	struct sim_config plain = sim_scenario(replay_name, replay_config.seed);
	u64 value;
	u32 i;

	printf("# replay: %s %s --seed %llu", replay_program, replay_name,
	       replay_config.seed);
	for (i = 0; i < OPTIONS; i++) {
		value = option_get(&replay_config, &options[i]);
		if (value != option_get(&plain, &options[i]))
			printf(" --%s %llu", options[i].name, value);
	}
	printf("\n");
}
