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

/* ---- what there is ---- */

#define NOBODY	0xffU

/**
 * struct there - objects before a call of a program, if all calls succeed
 * @nr: of each kind, by now; the newest of these are there
 * @of: number of the context it belongs to, or NOBODY
 * @gone: it was ended
 * @given: to others, and not taken back
 * @last: the one that was made or used last
 */
struct there {
	uint32_t nr[KINDS];
	uint8_t of[KINDS][POOL];
	bool gone[KINDS][POOL];
	bool given[KINDS][POOL];
	uint8_t last[KINDS];
};

static bool is_object(enum kind kind)
{
	return kind >= KIND_CONTEXT && kind != KIND_EVENTFD;
}

/* Another context does not know it by its number */
static bool is_of_context(enum kind kind)
{
	return kind == KIND_SEGMENT || kind == KIND_HANDLE || kind == KIND_PLACE;
}

static uint32_t there_nr(const struct there *there, enum kind kind)
{
	if (kind == KIND_FD)
		kind = KIND_CONTEXT;
	return there->nr[kind] < POOL ? there->nr[kind] : POOL;
}

/* One that was not ended */
static bool there_is(const struct there *there, enum kind kind)
{
	uint32_t i;

	if (kind == KIND_FD)
		kind = KIND_CONTEXT;
	for (i = 0; i < there_nr(there, kind); i++)
		if (!there->gone[kind][i])
			return true;
	return false;
}

/* Number of the context of what has this number */
static uint8_t there_context(const struct there *there, enum kind kind, uint64_t number)
{
	if (!is_object(kind) || (number & AS_IT_IS))
		return NOBODY;
	if (kind == KIND_FD)
		kind = run_file_kind(&number);
	return there_nr(there, kind) ? there->of[kind][number % there_nr(there, kind)] : NOBODY;
}

static void there_used(struct there *there, const struct description *is, uint32_t kind,
		       uint64_t number)
{
	bool ends = is->ends >> kind & 1;

	if (kind == KIND_FD)
		kind = run_file_kind(&number);
	if (!there_nr(there, kind))
		return;
	number %= there_nr(there, kind);
	there->last[kind] = (uint8_t)number;
	there->gone[kind][number] |= ends;
	if (is_of_context(kind) && (is->gives || is->takes_back))
		there->given[kind][number] = is->gives;
}

/* A context that is none's copy is its own */
static void there_made(struct there *there, enum kind kind, uint8_t context)
{
	uint8_t at = (uint8_t)(there->nr[kind]++ % POOL);

	there->of[kind][at] = kind == KIND_CONTEXT && context == NOBODY ? at : context;
	there->gone[kind][at] = false;
	there->given[kind][at] = false;
	there->last[kind] = at;
}

/* What there is behind a call */
static void there_after(struct there *there, const struct call *call)
{
	const struct description *is = &calls[call->which];
	uint8_t context = there_context(there, is->on, call->arg[0]);
	uint32_t i, kind;

	for (i = 0; i < call_args(is); i++) {
		kind = call_kind(is, i);
		if (is_object(kind) && !(call->arg[i] & AS_IT_IS))
			there_used(there, is, kind, call->arg[i]);
	}
	for (kind = KIND_CONTEXT; kind < KINDS; kind++)
		if (is->makes >> kind & 1)
			there_made(there, kind, context);
}

static void there_before(struct there *there, const struct program *program, uint32_t at)
{
	uint32_t i;

	memset(there, 0, sizeof(*there));
	for (i = 0; i < at; i++)
		there_after(there, &program->call[i]);
}

/* ---- which of it ---- */

/* From where on an object is what a call is about */
enum fits {
	FITS_NOT,
	FITS_KIND,
	FITS_CONTEXT,	/* which knows it */
	FITS,		/* it was not ended; what is given was not, what is taken back was */
};

static enum fits fits(const struct there *there, const struct description *is, enum kind kind,
		      uint32_t at, uint8_t context)
{
	if (is_of_context(kind) && there->of[kind][at] != context)
		return FITS_KIND;
	if (there->gone[kind][at])
		return FITS_CONTEXT;
	if (is_of_context(kind) && (is->gives || is->takes_back) &&
	    there->given[kind][at] != is->takes_back)
		return FITS_CONTEXT;
	return FITS;
}

/*
 * One of those that fit best, mostly. The one that was used last is as likely as all others
 * together: so what was done to it is done to it again, or meets something else.
 */
static uint64_t choose(const struct there *there, const struct description *is, enum kind kind,
		       uint8_t context)
{
	enum fits best = grow_below(6) ? FITS : FITS_CONTEXT;
	uint32_t i, nr = there_nr(there, kind), all = 0, weight;
	uint64_t found = 0;

	for (; !all && best > FITS_NOT; best--)
		for (i = 0; i < nr; i++) {
			if (fits(there, is, kind, i, context) < best)
				continue;
			weight = i == there->last[kind] ? nr : 1;
			all += weight;
			if (grow_below(all) < weight)
				found = i;
		}
	return found;
}

static uint64_t choose_file(const struct there *there, const struct description *is)
{
	uint32_t which = grow_below(FILE_KINDS);

	if (!there_nr(there, file_kinds[which]))
		which = 0;
	return choose(there, is, file_kinds[which], NOBODY) * FILE_KINDS + which;
}

/* What a number of a call may be */
static uint64_t number_of(const struct there *there, const struct description *is, uint32_t arg,
			  uint8_t context)
{
	enum kind kind = call_kind(is, arg);

	if (!is_object(kind) || !there_nr(there, kind) || !grow_below(16))
		return number(kind);
	return kind == KIND_FD ? choose_file(there, is) : choose(there, is, kind, context);
}

/* The context has one of each kind that the call takes from it */
static bool has_all(const struct there *there, const struct description *is, uint8_t context)
{
	enum kind kind;
	uint32_t i, k;

	for (i = 1; i < call_args(is); i++) {
		kind = call_kind(is, i);
		if (!is_of_context(kind))
			continue;
		for (k = 0; k < there_nr(there, kind); k++)
			if (fits(there, is, kind, k, context) == FITS)
				break;
		if (k == there_nr(there, kind))
			return false;
	}
	return true;
}

static void make_numbers(const struct there *there, struct call *call)
{
	const struct description *is = &calls[call->which];
	uint8_t context = NOBODY;
	uint32_t i, tries = 8;

	memset(call->arg, 0, sizeof(call->arg));
	do {
		call->arg[0] = number_of(there, is, 0, NOBODY);
		context = there_context(there, is->on, call->arg[0]);
	} while (--tries && !has_all(there, is, context));
	for (i = 1; i < call_args(is); i++)
		call->arg[i] = number_of(there, is, i, context);
	if (!grow_below(8))
		return;
	for (i = 1; i < call_args(is); i++) {
		if (call_kind(is, i) == KIND_SIZE || call_kind(is, i) == KIND_ZERO)
			call->arg[i] = 0;
		else if (call_kind(is, i) == KIND_FLAGS)
			call->arg[i] &= is->flags;
	}
	if (is->agree)
		is->agree(is, call->arg);
}

/* ---- calls ---- */

static bool is_given(const struct there *there)
{
	return memchr(there->given, 1, sizeof(there->given));
}

/* A kind that the call takes and there is none of, or KINDS */
static enum kind misses(const struct there *there, const struct description *is)
{
	uint32_t i;

	for (i = 0; i < call_args(is); i++)
		if (is_object(call_kind(is, i)) && !there_is(there, call_kind(is, i)))
			return call_kind(is, i);
	return is->takes_back && !is_given(there) ? KIND_EXPORT : KINDS;
}

static uint32_t any_that_makes(enum kind kind)
{
	uint32_t i, found = 0, nr = 0;

	if (kind == KIND_FD)
		kind = KIND_CONTEXT;
	for (i = 0; i < nr_calls; i++)
		if (calls[i].makes >> kind & 1 && !grow_below(++nr))
			found = i;
	return found;
}

/* Something of what there is none of, sooner or later */
static uint32_t any_that_is_missed(const struct there *there)
{
	uint32_t kind, found = KINDS, nr = 0;

	for (kind = KIND_CONTEXT; kind < KINDS; kind++)
		if (kind != KIND_FD && is_object(kind) && !there_is(there, kind) &&
		    !grow_below(++nr))
			found = kind;
	return found == KINDS ? grow_below(nr_calls) : any_that_makes(found);
}

/* What has nothing to be about makes place for what makes that, mostly */
static void make_call(const struct there *there, struct call *call)
{
	enum kind missed;

	call->which = grow_below(3) ? grow_below(nr_calls) : any_that_is_missed(there);
	while (grow_below(16)) {
		missed = misses(there, &calls[call->which]);
		if (missed == KINDS)
			break;
		call->which = any_that_makes(missed);
	}
	make_numbers(there, call);
}

/* Once more what was done a moment ago, with the same numbers */
static void make_again(const struct program *program, uint32_t at, struct call *call)
{
	*call = program->call[at - 1 - grow_below(at < 4 ? at : 4)];
}

void grow_make(struct program *program)
{
	struct there there = { };
	struct call *call;
	uint32_t i;

	memset(program, 0, sizeof(*program));
	program->nr = 2 + grow_below(PROGRAM_CALLS - 1);
	program->alone = program->nr / 2 + grow_below(program->nr);
	for (i = 0; i < program->nr; i++) {
		call = &program->call[i];
		if (i && !grow_below(8)) {
			make_again(program, i, call);
		} else if (i) {
			make_call(&there, call);
		} else {
			call_find("open", &call->which);
			make_numbers(&there, call);
		}
		there_after(&there, call);
	}
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
	static const uint64_t ends[] = { 65536, 1ULL << 20, 1ULL << 31, 1ULL << 32 };
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
	struct there there;
	struct call *call;
	uint32_t at = 0, i;

	for (i = 0; i < program->nr; i++)
		at += call_args(&calls[program->call[i].which]);
	if (!at)
		return;
	at = grow_below(at);
	for (i = 0; at >= call_args(&calls[program->call[i].which]); i++)
		at -= call_args(&calls[program->call[i].which]);
	call = &program->call[i];
	is = &calls[call->which];
	there_before(&there, program, i);

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
		call->arg[at] = number_of(&there, is, at,
					  there_context(&there, is->on, call->arg[0]));
	}
}

static uint32_t any_that_ends(void)
{
	uint32_t i, found = 0, nr = 0;

	for (i = 0; i < nr_calls; i++)
		if ((calls[i].ends || calls[i].takes_back) && !grow_below(++nr))
			found = i;
	return found;
}

/* A call that ends an object, or takes it back if it was given; nr_calls: none does */
static uint32_t any_that_ends_a(enum kind kind, bool given)
{
	uint32_t i, found = nr_calls, nr = 0;

	for (i = 0; i < nr_calls; i++)
		if ((calls[i].ends >> kind & 1 || (calls[i].takes_back && given)) &&
		    !grow_below(++nr))
			found = i;
	return found;
}

/* As a KIND_FD, if it is a file */
static enum kind kind_that_ends(enum kind kind, uint64_t *number)
{
	uint32_t which;

	for (which = 0; which < FILE_KINDS; which++) {
		if (file_kinds[which] == kind) {
			*number = *number * FILE_KINDS + which;
			return KIND_FD;
		}
	}
	return kind;
}

/* Number of an argument that is an object, or CALL_ARGS: there is none */
static uint32_t any_object(const struct call *call)
{
	const struct description *is = &calls[call->which];
	uint32_t i, found = CALL_ARGS, nr = 0;

	for (i = 0; i < call_args(is); i++)
		if (is_object(call_kind(is, i)) && !(call->arg[i] & AS_IT_IS) && !grow_below(++nr))
			found = i;
	return found;
}

/* What a call is about is ended, or one of the others that it names; false: nothing ends that */
static bool make_end_of(const struct there *there, const struct call *used, struct call *end)
{
	uint32_t arg = any_object(used), i;
	enum kind kind;
	uint64_t number;
	uint8_t context;
	bool given = false;

	if (arg == CALL_ARGS)
		return false;
	kind = call_kind(&calls[used->which], arg);
	number = used->arg[arg];
	context = there_context(there, kind, number);
	if (kind != KIND_FD) {
		number %= there_nr(there, kind) ? there_nr(there, kind) : 1;
		given = there->given[kind][number];
		/* By a call of its own, if it has one, or as a file */
		if (any_that_ends_a(kind, given) == nr_calls || grow_below(2))
			kind = kind_that_ends(kind, &number);
	}
	end->which = any_that_ends_a(kind, given);
	if (end->which == nr_calls)
		return false;
	make_numbers(there, end);
	if (is_of_context(kind) && context != NOBODY)
		end->arg[0] = context;
	for (i = 0; i < call_args(&calls[end->which]); i++)
		if (call_kind(&calls[end->which], i) == kind)
			end->arg[i] = number;
	return true;
}

/* Behind this nothing that was prepared is left to do */
static uint32_t behind_what_is_done(const struct program *program, uint32_t at)
{
	while (at < program->nr && calls[program->call[at - 1].which].inside)
		at++;
	return at;
}

/*
 * Something is ended, or taken back, mostly what was just used; and what was done just before is
 * done once more, or twice: what was found of it earlier would be used without it
 */
static void end_and_again(struct program *program)
{
	uint32_t at = behind_what_is_done(program, 1 + grow_below(program->nr));
	uint32_t nr = 1 + grow_below(at < 4 ? at : 4), times = 1 + grow_below(2), i;
	struct there there;
	struct call run[4], end;

	if (at + times * nr >= PROGRAM_CALLS)
		return;
	memcpy(run, &program->call[at - nr], nr * sizeof(*run));
	there_before(&there, program, at);
	if (!grow_below(4) || !make_end_of(&there, &run[grow_below(nr)], &end)) {
		end.which = any_that_ends();
		make_numbers(&there, &end);
	}
	while (times--)
		for (i = nr; i; i--)
			insert(program, at, &run[i - 1]);
	insert(program, at, &end);
}

/**
 * grow_change() - a program becomes another one that is like it
 * @program: it
 * @other: some of it may come from this
 */
void grow_change(struct program *program, const struct program *other)
{
	uint32_t times = 1 + grow_below(4), at, from;
	struct there there;
	struct call call;

	while (times--) {
		at = grow_below(program->nr);
		switch (grow_below(13)) {
		case 0:
		case 1:
			there_before(&there, program, at);
			make_call(&there, &call);
			insert(program, at < PROGRAM_CALLS - 1 ? at : at - 1, &call);
			break;
		case 2:
			if (program->nr > 2) {
				memmove(&program->call[at], &program->call[at + 1],
					(program->nr - at - 1) * sizeof(call));
				program->nr--;
			}
			break;
		case 3:
			/* Anywhere, or at once again */
			from = grow_below(2) ? at : grow_below(program->nr);
			call = program->call[from];
			insert(program, at < PROGRAM_CALLS - 1 ? at : at - 1, &call);
			break;
		case 4:
			/* In place of some of it, or behind it */
			from = grow_below(other->nr);
			at = grow_below(2) ? at : program->nr;
			while (from < other->nr && at < PROGRAM_CALLS)
				program->call[at++] = other->call[from++];
			program->nr = at > program->nr ? at : program->nr;
			break;
		case 5:
			program->alone = grow_below(2) ? PROGRAM_CALLS : grow_below(program->nr);
			break;
		case 6:
		case 7:
		case 8:
			end_and_again(program);
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
