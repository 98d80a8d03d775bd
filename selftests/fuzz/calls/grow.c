// SPDX-License-Identifier: GPL-2.0-only
/*
 * grow.c - programs: made up, changed, printed and read
 */
#include <inttypes.h>
#include <string.h>

#include "calls.h"


static uint64_t state;

void grow_seed(uint64_t seed)
{
	state = seed;
}

/* splitmix64 */
uint64_t grow_random(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint32_t grow_below(uint32_t end)
{
	return (uint32_t)(grow_random() % end);
}

/* At, or next to, where something ends */
static uint64_t edge(void)
{
	static const uint64_t ends[] = {
		0, 8, 64, 4096, 8192, 65536, 1ULL << 20, 1ULL << 21, 1ULL << 31, 1ULL << 32,
		1ULL << 48, UINT64_MAX >> 1,
	};

	return ends[grow_below(sizeof(ends) / sizeof(*ends))] + grow_below(3) - 1;
}

static uint64_t number(enum kind kind)
{
	switch (kind) {
	case KIND_SIZE:
		return grow_below(24) ? 0 : AS_IT_IS | (grow_below(2) ? grow_below(300) : edge());
	case KIND_ZERO:
		return grow_below(24) ? 0 : grow_random();
	case KIND_FLAGS:
		return grow_below(3) ? 0 : grow_below(4) ? grow_below(8) : grow_random();
	case KIND_SMALL:
		return grow_below(32) ? grow_below(12) : grow_random();
	case KIND_COUNT:
		return grow_below(4) ? 1ULL << grow_below(8) :
		       grow_below(2) ? grow_below(100) : edge();
	case KIND_LENGTH:
		return grow_below(3) ? 4096ULL << grow_below(4) :
		       grow_below(3) ? grow_below(70000) : edge();
	case KIND_OFFSET:
		return grow_below(3) ? 8ULL * grow_below(600) :
		       grow_below(2) ? 0 : edge();
	case KIND_STRIDE:
		return grow_below(2) ? grow_below(8) : grow_below(3) ? 64ULL << grow_below(6) : edge();
	case KIND_TIME:
		return grow_below(3) ? 0 : grow_below(8) ? grow_below(3000000) : AS_IT_IS;
	case KIND_NAME:
	case KIND_MEMORY:
		return grow_below(16) ? grow_below(8) * 4095ULL * grow_below(2) : AS_IT_IS | grow_random();
	default:
		return grow_below(32) ? grow_below(64) :
		       AS_IT_IS | (grow_below(2) ? edge() : grow_random());
	}
}

/* What makes objects, more often than others, or there are none */
static void make_call(struct call *call)
{
	const struct description *is;
	uint32_t i;

	call->which = grow_below(nr_calls);
	is = &calls[call->which];
	if (!is->made && !grow_below(4)) {
		do {
			call->which = grow_below(nr_calls);
			is = &calls[call->which];
		} while (!is->made);
	}
	memset(call->arg, 0, sizeof(call->arg));
	for (i = 0; i < call_args(is); i++)
		call->arg[i] = number(call_kind(is, i));
}

void grow_make(struct program *program)
{
	uint32_t i;

	memset(program, 0, sizeof(*program));
	program->nr = 2 + grow_below(PROGRAM_CALLS - 1);
	program->alone = grow_below(2) ? program->nr : grow_below(program->nr);
	for (i = 0; i < program->nr; i++)
		make_call(&program->call[i]);
	call_find("open", &program->call[0].which);
}

static void insert(struct program *program, uint32_t at, const struct call *call)
{
	if (program->nr == PROGRAM_CALLS)
		program->nr--;
	memmove(&program->call[at + 1], &program->call[at],
		(program->nr - at) * sizeof(*call));
	program->call[at] = *call;
	program->nr++;
}

/* One of the numbers of a call that are of a kind, or 0: there is none */
static uint32_t any_of_kind(const struct description *is, enum kind kind)
{
	uint32_t i, found = 0, nr = 0;

	for (i = 1; i < call_args(is); i++)
		if (call_kind(is, i) == kind && !grow_below(++nr))
			found = i;
	return found;
}

/* All of what has strides ends near where a number or a segment may end */
static bool end_at_edge(struct call *call, const struct description *is)
{
	static const uint64_t ends[] = { 65536, 1ULL << 20, 1ULL << 32, 1ULL << 32 };
	uint32_t count = any_of_kind(is, KIND_COUNT), stride = any_of_kind(is, KIND_STRIDE);
	uint64_t end = ends[grow_below(sizeof(ends) / sizeof(*ends))];

	if (!count || !stride)
		return false;
	if (call->arg[count] < 2)
		call->arg[count] = 2 + grow_below(62);
	call->arg[stride] = end / (call->arg[count] - 1);
	return true;
}

/* Each number of a program as often as any other: those of a call that has many, together, too */
static void change_number(struct program *program)
{
	const struct description *is;
	struct call *call;
	uint32_t at = 0, i;

	for (i = 0; i < program->nr; i++)
		at += call_args(&calls[program->call[i].which]);
	at = grow_below(at);
	for (i = 0; at >= call_args(&calls[program->call[i].which]); i++)
		at -= call_args(&calls[program->call[i].which]);
	call = &program->call[i];
	is = &calls[call->which];

	if (grow_below(2) && end_at_edge(call, is))
		return;
	switch (grow_below(6)) {
	case 0:
		call->arg[at] ^= 1ULL << grow_below(64);
		break;
	case 1:
		call->arg[at] += grow_below(17) - 8ULL;
		break;
	case 2:
		/* Both sides of something are often equal */
		call->arg[at] = call->arg[grow_below(call_args(is))];
		if (call_kind(is, at) >= KIND_CONTEXT && grow_below(2))
			call->arg[at] |= AS_IT_IS;
		break;
	default:
		call->arg[at] = number(call_kind(is, at));
	}
}

/**
 * grow_change() - a program becomes another one that is like it
 * @program: it
 * @other: some of it may come from this
 */
void grow_change(struct program *program, const struct program *other)
{
	uint32_t times = 1 + grow_below(4), at, from;
	struct call call;

	while (times--) {
		at = grow_below(program->nr);
		switch (grow_below(8)) {
		case 0:
			make_call(&call);
			insert(program, at < PROGRAM_CALLS - 1 ? at : at - 1, &call);
			break;
		case 1:
			if (program->nr > 2) {
				memmove(&program->call[at], &program->call[at + 1],
					(program->nr - at - 1) * sizeof(call));
				program->nr--;
			}
			break;
		case 2:
			call = program->call[grow_below(program->nr)];
			insert(program, at < PROGRAM_CALLS - 1 ? at : at - 1, &call);
			break;
		case 3:
			/* In place of some of it, or behind it */
			from = grow_below(other->nr);
			at = grow_below(2) ? at : program->nr;
			while (from < other->nr && at < PROGRAM_CALLS)
				program->call[at++] = other->call[from++];
			program->nr = at > program->nr ? at : program->nr;
			break;
		case 4:
			program->alone = grow_below(2) ? PROGRAM_CALLS : grow_below(program->nr);
			break;
		default:
			change_number(program);
		}
	}
}

/* ---- as text ---- */

void program_print(const struct program *program, FILE *file)
{
	const struct description *is;
	uint32_t i, k;

	for (i = 0; i < program->nr; i++) {
		if (i == program->alone)
			fputs("both\n", file);
		is = &calls[program->call[i].which];
		fputs(is->name, file);
		for (k = 0; k < call_args(is); k++)
			fprintf(file, " %" PRIx64, program->call[i].arg[k]);
		fputc('\n', file);
	}
}

static bool read_call(struct program *program, char *line)
{
	struct call *call = &program->call[program->nr];
	char *rest, *word = strtok_r(line, " \n", &rest);
	const struct description *is = word ? call_find(word, &call->which) : NULL;
	uint32_t i;

	if (!is)
		return false;
	for (i = 0; i < call_args(is); i++) {
		word = strtok_r(NULL, " \n", &rest);
		if (word && sscanf(word, "%" SCNx64, &call->arg[i]) != 1)
			return false;
	}
	program->nr++;
	return true;
}

/* A line each; # begins a comment; behind "both" two threads take turns */
bool program_read(struct program *program, FILE *file)
{
	char line[CALL_ARGS * 20];

	memset(program, 0, sizeof(*program));
	program->alone = PROGRAM_CALLS;
	while (fgets(line, sizeof(line), file)) {
		if (*line == '#' || *line == '\n')
			continue;
		if (!strcmp(line, "both\n"))
			program->alone = program->nr;
		else if (program->nr == PROGRAM_CALLS || !read_call(program, line))
			return false;
	}
	return program->nr;
}
