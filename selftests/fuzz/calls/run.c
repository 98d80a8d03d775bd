// SPDX-License-Identifier: GPL-2.0-only
/*
 * run.c - carries a program out
 */
#include <errno.h>
#include <linux/dmanic.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "calls.h"

#define TICK_US		20000
/* Bytes that structs of later drivers may have more */
#define LONGER		64U

static const char *const names[] = { "", "a", "b", "longer.than.most/of/them" };

/* ---- what may fault ---- */

static __thread sigjmp_buf fault_jump;
static __thread volatile sig_atomic_t fault_awaited;

static void on_fault(int number)
{
	if (fault_awaited)
		siglongjmp(fault_jump, 1);
	signal(number, SIG_DFL);
}

static void on_tick(int number)
{
	(void)number;
}

/* Return: false when there was nothing, or nothing any more */
bool run_copy(void *to, const void *from, size_t bytes)
{
	if (sigsetjmp(fault_jump, 1)) {
		fault_awaited = 0;
		return false;
	}
	fault_awaited = 1;
	memcpy(to, from, bytes);
	fault_awaited = 0;
	return true;
}

static void run_begin(void)
{
	struct sigaction fault = { .sa_handler = on_fault };
	struct sigaction tick = { .sa_handler = on_tick };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGALRM, &tick, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- objects ---- */

/* Its place. Two threads may be given the same, and lose one: nobody minds */
uint32_t run_add(struct pool *pool)
{
	uint32_t at = __atomic_fetch_add(&pool->nr, 1, __ATOMIC_RELAXED) % POOL;

	pool->item[at] = at;
	return at;
}

void run_put(struct pool *pool, uint64_t item)
{
	pool->item[run_add(pool)] = item;
}

const enum kind file_kinds[FILE_KINDS] = { KIND_CONTEXT, KIND_QUEUE, KIND_IRQ };

/* Of a KIND_FD: what it is; @number becomes that of one of these */
enum kind run_file_kind(uint64_t *number)
{
	enum kind kind = file_kinds[*number % FILE_KINDS];

	*number /= FILE_KINDS;
	return kind;
}

/* Place of the number @arg, or of the next one that was made and is there; POOL: none is */
uint32_t run_place(const struct pool *pool, uint64_t arg)
{
	uint32_t nr = __atomic_load_n(&pool->nr, __ATOMIC_RELAXED), i, at;

	nr = nr < POOL ? nr : POOL;
	for (i = 0; i < nr; i++) {
		at = (uint32_t)((arg % nr + i) % nr);
		if (__atomic_load_n(&pool->item[at], __ATOMIC_RELAXED) != NOTHING)
			return at;
	}
	return POOL;
}

uint64_t run_pick(struct state *state, enum kind kind, uint64_t arg)
{
	const struct pool *pool;
	uint32_t at;

	if (arg & AS_IT_IS)
		return arg & ~AS_IT_IS;
	pool = &state->pool[kind == KIND_FD ? run_file_kind(&arg) : kind];
	at = run_place(pool, arg);
	return at < POOL ? pool->item[at] : NOTHING;
}

/* ---- arguments ---- */

static void fill_name(uint8_t *to, uint32_t bytes, uint64_t arg)
{
	if (arg & AS_IT_IS)
		memset(to, (int)arg, bytes);
	else
		strncpy((char *)to, names[arg % (sizeof(names) / sizeof(*names))], bytes);
}

static uint64_t fill_number(struct state *state, const struct description *is,
			    enum kind kind, uint64_t arg)
{
	switch (kind) {
	case KIND_SIZE:
		return arg & AS_IT_IS ? arg & ~AS_IT_IS : is->bytes;
	case KIND_MEMORY:
		return arg & AS_IT_IS ? arg & ~AS_IT_IS :
		       arg ? (uintptr_t)state->memory + arg % MEMORY_BYTES : 0;
	case KIND_EVENTFD:
		return arg % 4 ? UINT64_MAX : run_pick(state, kind, arg / 4);
	case KIND_TIME:
		return arg & AS_IT_IS ? UINT64_MAX : arg;
	case KIND_STRIDE:
		return arg & ~AS_IT_IS;
	default:
		return kind >= KIND_CONTEXT ? run_pick(state, kind, arg) : arg;
	}
}

/* A connection to what there is needs node, id and key of the same */
static void fill_export(struct state *state, uint64_t arg, struct dmanic_connect *to)
{
	const struct export *export;
	uint64_t at = run_pick(state, KIND_EXPORT, arg);

	if ((arg & AS_IT_IS) || at >= POOL) {
		to->key = arg & ~AS_IT_IS;
		return;
	}
	export = &state->export[at];
	to->node = export->node;
	to->id = export->id;
	to->key = export->key;
	if (!(arg >> 32 & 1))
		to->flags = export->irq ? DMANIC_CONNECT_IRQ : 0;
}

/**
 * run_fill() - the struct that a call has as its argument
 * @state: what there is
 * @is: the call
 * @arg: its numbers, without the first
 * @bytes: out
 */
void run_fill(struct state *state, const struct description *is, const uint64_t *arg,
	      uint8_t *bytes)
{
	const struct field *field;
	uint64_t value;
	uint32_t i;

	memset(bytes, 0, is->bytes);
	for (i = 0; i < is->nr; i++) {
		field = &is->field[i];
		if (field->kind == KIND_NAME) {
			fill_name(bytes + field->at, field->bytes, arg[i]);
		} else if (field->kind == KIND_EXPORT) {
			fill_export(state, arg[i], (struct dmanic_connect *)bytes);
		} else {
			value = fill_number(state, is, field->kind, arg[i]);
			memcpy(bytes + field->at, &value, field->bytes);
		}
	}
}

/* ---- calls ---- */

/* At the end of a page, behind which there is none: who reads too much gets EFAULT */
static uint8_t *argument_end(void)
{
	static __thread uint8_t *end;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at;

	if (end)
		return end;
	at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		abort();
	munmap(at + page, page);
	end = at + page;
	return end;
}

/*
 * Of a program that was built for a later driver the struct is longer; what is behind the known
 * is zero, or it uses that: sizes that are odd
 */
static uint8_t *argument_longer(const struct description *is, uint8_t *argument)
{
	uint8_t *end = argument_end(), *to;
	uint32_t size;

	if (!is->nr || is->field[0].kind != KIND_SIZE)
		return argument;
	memcpy(&size, argument + is->field[0].at, sizeof(size));
	if (size <= is->bytes || size > is->bytes + LONGER)
		return argument;
	to = end - size;
	memmove(to, argument, is->bytes);
	memset(to + is->bytes, 0, size - is->bytes);
	end[-1] = size & 1;
	return to;
}

static long run_ioctl(struct state *state, const struct description *is, const uint64_t *arg)
{
	uint8_t *argument = argument_end() - is->bytes;
	int fd = (int)run_pick(state, is->on, arg[0]);
	long ret;

	run_fill(state, is, arg + 1, argument);
	argument = argument_longer(is, argument);
	ret = ioctl(fd, is->number, argument);
	if (ret >= 0 && is->made)
		is->made(state, fd, argument);
	return ret;
}

/* So that the numbers of others do not depend on what fails */
static void made_nothing(struct state *state, const struct description *is)
{
	uint32_t kind;

	for (kind = KIND_CONTEXT; kind < KINDS; kind++)
		if (is->makes >> kind & 1)
			run_put(&state->pool[kind], NOTHING);
}

/**
 * run_one() - one call
 * @state: what there is
 * @is: which
 * @arg: its numbers
 *
 * Return: what it returned; -1 and no errno: there was nothing to call it on.
 */
long run_one(struct state *state, const struct description *is, const uint64_t *arg)
{
	long ret;

	errno = 0;
	ret = is->run ? is->run(state, is, arg) : run_ioctl(state, is, arg);
	if (ret < 0)
		made_nothing(state, is);
	/* It reached nobody */
	if (!is->inside && (ret >= 0 || (errno && errno != EBADF)))
		__atomic_fetch_add(state->called, 1, __ATOMIC_RELAXED);
	return ret;
}

static void run_call(struct state *state, const struct call *call)
{
	const struct description *is = &calls[call->which];
	long ret = run_one(state, is, call->arg);

	if (state->tells)
		printf("# %s: %ld%s%s\n", is->name, ret, errno ? ", " : "",
		       errno ? strerror(errno) : "");
}

/* ---- programs ---- */

struct racer {
	struct state *state;
	const struct program *program;
	uint32_t first;
	uint32_t done;
};

static void *race(void *arg)
{
	struct racer *racer = arg;
	uint32_t i;

	for (i = racer->first; i < racer->program->nr; i += 2)
		run_call(racer->state, &racer->program->call[i]);
	special_thread_end();
	__atomic_store_n(&racer->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Nothing waits for longer than a tick */
static void ticking(bool on)
{
	struct itimerval every = {
		.it_interval.tv_usec = on ? TICK_US : 0, .it_value.tv_usec = on ? TICK_US : 0,
	};

	setitimer(ITIMER_REAL, &every, NULL);
}

/**
 * run_program() - carry it out
 * @state: what there is, nothing at first
 * @program: it
 *
 * In a process of its own, that ends then: so all that was made goes, in an order that
 * the program decides, or the kernel.
 */
void run_program(struct state *state, const struct program *program)
{
	uint32_t i, alone = program->alone < program->nr ? program->alone : program->nr;
	struct racer other = {
		.state = state, .program = program, .first = alone + 1,
	};
	bool races = alone + 1 < program->nr;
	pthread_t thread;

	run_begin();
	ticking(true);
	for (i = 0; i < alone; i++)
		run_call(state, &program->call[i]);
	if (races && pthread_create(&thread, NULL, race, &other))
		races = false;
	for (; i < program->nr; i += 2)
		run_call(state, &program->call[i]);
	while (races && !__atomic_load_n(&other.done, __ATOMIC_ACQUIRE)) {
		pthread_kill(thread, SIGALRM);
		usleep(1000);
	}
	if (races)
		pthread_join(thread, NULL);
	if (program->nr % 2) {
		special_thread_end();
		special_end(state);
	}
	ticking(false);
}
