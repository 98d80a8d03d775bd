// SPDX-License-Identifier: GPL-2.0-only
/*
 * special.c - calls that are not an ioctl with a struct
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/dmanic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define PAGE	4096UL
/* Far from where the kernel puts mappings of its own accord */
#define MAPS_FIRST	0x100000000000ULL

/* There is nothing that it could be on; the kernel does not say so of each call */
static long on_nothing(void)
{
	errno = EBADF;
	return -1;
}

/* The first number of a call, as what it is on */
static int on_fd(struct state *state, const struct description *is, const uint64_t *arg)
{
	return (int)run_pick(state, is->on, arg[0]);
}

static uint64_t page_down(uint64_t value)
{
	return value & ~(PAGE - 1);
}

int special_query(int fd, void *query)
{
	return ioctl(fd, DMANIC_IOC_QUERY, query);
}

/* ---- descriptors ---- */

/* Every other number is a device that a program made, if there is one */
long special_open(struct state *state, const struct description *is, const uint64_t *arg)
{
	const char *name;
	char path[64];
	int fd;

	(void)is;
	if (!state->nr_devices)
		return -1;
	name = arg[0] / state->nr_devices % 2 ? request_made(arg[0]) : NULL;
	errno = 0;
	snprintf(path, sizeof(path), "/dev/dmanic/%s",
		 name ? name : state->device[arg[0] % state->nr_devices]);
	fd = open(path, O_CLOEXEC | (arg[1] % 8 == 7 ? O_RDONLY : O_RDWR));
	if (fd >= 0)
		run_put(&state->pool[KIND_CONTEXT], (uint64_t)fd);
	else if (errno == ENOENT)
		on_nothing();
	if (!(arg[1] % 4))
		run_put(&state->pool[KIND_EVENTFD], (uint64_t)eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	return fd;
}

/* Of all of these kinds: who has the number may have another object soon */
long special_close(struct state *state, const struct description *is, const uint64_t *arg)
{
	uint64_t number = arg[0], fd;
	struct pool *pool = &state->pool[run_file_kind(&number)];
	uint32_t at = run_place(pool, number);

	(void)is;
	if (at == POOL)
		return -1;
	/* Once: it may be somebody else's by then */
	fd = __atomic_exchange_n(&pool->item[at], NOTHING, __ATOMIC_RELAXED);
	return fd == NOTHING ? -1 : close((int)fd);
}

long special_dup(struct state *state, const struct description *is, const uint64_t *arg)
{
	int fd = fcntl(on_fd(state, is, arg), F_DUPFD_CLOEXEC, 3);
	uint64_t number = arg[0];

	if (fd >= 0)
		run_put(&state->pool[KIND_CONTEXT],
			run_file_kind(&number) == KIND_CONTEXT ? (uint64_t)fd : NOTHING);
	return fd;
}

/* Any number of ours, with any bytes, on any descriptor */
long special_any(struct state *state, const struct description *is, const uint64_t *arg)
{
	uint8_t bytes[256];
	uint64_t seed = arg[2];
	uint32_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(seed >> 8 * (i % 8)) & (uint8_t)(i % 3 ? 0 : 255);
	bytes[0] = (uint8_t)(8 * (arg[2] % 24));
	return ioctl(on_fd(state, is, arg), _IOC(arg[1] >> 8 & 3, DMANIC_TYPE, arg[1] & 31,
						  arg[1] >> 10 & 0xff), bytes);
}

long special_read(struct state *state, const struct description *is, const uint64_t *arg)
{
	int fd = on_fd(state, is, arg);

	/* What is not ours might wait */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return read(fd, state->memory, arg[1] % MEMORY_BYTES);
}

long special_poll(struct state *state, const struct description *is, const uint64_t *arg)
{
	struct pollfd wait = {
		.fd = on_fd(state, is, arg), .events = POLLIN | POLLOUT | POLLPRI,
	};

	/* The kernel leaves it out, and says nothing */
	if (wait.fd < 0)
		return on_nothing();
	return poll(&wait, 1, (int)(arg[1] % 4));
}

/* The driver's threads go on meanwhile */
long special_pause(struct state *state, const struct description *is, const uint64_t *arg)
{
	struct timespec time = { .tv_nsec = (long)(arg[1] % 3000000) };

	(void)state;
	(void)is;
	return nanosleep(&time, NULL);
}

/* ---- memory ---- */

/*
 * Where nothing is, and never was: a range that was unmapped may be unmapped again, and is
 * not to be the stack of a thread, or a ring of the library, by then.
 */
static void *map_place(uint64_t bytes)
{
	static uint64_t next = MAPS_FIRST;
	uint64_t with_gap = page_down(bytes + 2 * PAGE - 1) + PAGE;

	return (void *)(uintptr_t)__atomic_fetch_add(&next, with_gap, __ATOMIC_RELAXED);
}

long special_mmap(struct state *state, const struct description *is, const uint64_t *arg)
{
	int fd = on_fd(state, is, arg), prot = (int)(arg[3] % 8);
	uint64_t bytes = arg[2] % (64UL << 20);
	uint32_t at;
	void *got;

	got = mmap(map_place(bytes), bytes, prot & 4 ? PROT_READ | PROT_WRITE : prot,
		   arg[4] % 8 == 7 ? MAP_PRIVATE : MAP_SHARED, fd,
		   (off_t)page_down(arg[4] & 8 ? 0 : run_pick(state, KIND_PLACE, arg[1])));
	if (got == MAP_FAILED)
		return -1;
	at = run_add(&state->pool[KIND_MAP]);
	state->map[at] = (struct map){ got, bytes };
	return 0;
}

/* A part of a mapping; some are gone, and other ones there */
static bool part(struct state *state, const struct description *is, const uint64_t *arg,
		 struct map *part)
{
	uint64_t at = run_pick(state, is->on, arg[0]), from;

	if (at >= POOL || !state->map[at].bytes)
		return false;
	*part = state->map[at];
	from = page_down(arg[1]) % part->bytes;
	from = page_down(from);
	part->at += from;
	part->bytes -= from;
	if (page_down(arg[2] % part->bytes))
		part->bytes = page_down(arg[2] % part->bytes);
	return true;
}

long special_munmap(struct state *state, const struct description *is, const uint64_t *arg)
{
	struct map map;

	return part(state, is, arg, &map) ? munmap(map.at, map.bytes) : -1;
}

long special_mremap(struct state *state, const struct description *is, const uint64_t *arg)
{
	struct map map;
	uint64_t bytes;
	uint32_t at;
	void *got;

	if (!part(state, is, arg, &map))
		return -1;
	bytes = arg[2] % 4 ? map.bytes : map.bytes + PAGE;
	got = mremap(map.at, map.bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, map_place(bytes));
	if (got == MAP_FAILED)
		return -1;
	at = run_add(&state->pool[KIND_MAP]);
	state->map[at] = (struct map){ got, map.bytes };
	return 0;
}

long special_madvise(struct state *state, const struct description *is, const uint64_t *arg)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_REMOVE, MADV_HUGEPAGE,
		MADV_DODUMP, MADV_DONTDUMP, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_WRITE,
	};
	struct map map;

	return part(state, is, arg, &map) ?
	       madvise(map.at, map.bytes, advice[arg[3] % (sizeof(advice) / sizeof(*advice))]) : -1;
}

long special_touch(struct state *state, const struct description *is, const uint64_t *arg)
{
	uint64_t at = run_pick(state, is->on, arg[0]), word;
	const struct map *map;

	if (at >= POOL || state->map[at].bytes < sizeof(word))
		return -1;
	map = &state->map[at];
	at = arg[1] % (map->bytes - sizeof(word) + 1);
	if (arg[3] % 2)
		return run_copy(map->at + at, &arg[2], sizeof(word));
	return run_copy(&word, map->at + at, sizeof(word));
}

/* ---- rings ---- */

void special_ring(struct state *state, enum kind kind, int fd, uint64_t bytes, uint32_t sq,
		  uint32_t entries)
{
	struct ring *rings = kind == KIND_QUEUE ? state->queue : state->irq;
	struct pool *pool = &state->pool[kind];
	uint32_t at;
	void *got;

	got = mmap(map_place(bytes), bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	at = run_add(&state->pool[KIND_MAP]);
	state->map[at] = (struct map){ got == MAP_FAILED ? NULL : got,
				       got == MAP_FAILED ? 0 : bytes };
	at = run_add(pool);
	rings[at] = (struct ring){ fd, state->map[at].at, sq, entries };
	rings[at].at = got == MAP_FAILED ? NULL : got;
	pool->item[at] = (uint64_t)fd;
}

static const struct ring *ring_of(struct state *state, enum kind kind, uint64_t arg)
{
	const struct ring *rings = kind == KIND_IRQ ? state->irq : state->queue;
	uint32_t at = run_place(&state->pool[kind], arg);

	return at < POOL ? &rings[at] : NULL;
}

static bool put_u32(uint8_t *to, uint32_t value)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return run_copy(to, &value, sizeof(value));
}

/* What an opcode does not use is zero, unless it is to be refused */
static void fill_entry(struct state *state, const struct description *is, const uint64_t *arg,
		       struct dmanic_sqe *sqe)
{
	run_fill(state, is, arg + 1, (uint8_t *)sqe);
	if (sqe->opcode < DMANIC_OP_LIST && sqe->opcode != DMANIC_OP_WRITE_STRIDED &&
	    sqe->opcode != DMANIC_OP_READ_STRIDED)
		sqe->count = 0;
	if (arg[3] & 64)
		return;
	if (sqe->opcode != DMANIC_OP_NOTIFY && !(sqe->flags & DMANIC_SQE_NOTIFY))
		sqe->notify = 0;
	if (sqe->opcode <= DMANIC_OP_READ || sqe->opcode == DMANIC_OP_NOTIFY)
		sqe->compare = 0;
}

long special_post(struct state *state, const struct description *is, const uint64_t *arg)
{
	const struct ring *ring = ring_of(state, KIND_QUEUE, arg[0]);
	struct dmanic_sqe sqe;
	uint32_t tail;

	if (!ring || !ring->at || !ring->entries ||
	    !run_copy(&tail, ring->at + offsetof(struct dmanic_queue_ring, sq_tail), sizeof(tail)))
		return -1;
	fill_entry(state, is, arg, &sqe);
	run_copy(ring->at + ring->sq + sizeof(sqe) * (tail & (ring->entries - 1)), &sqe,
		 sizeof(sqe));
	return put_u32(ring->at + offsetof(struct dmanic_queue_ring, sq_tail), tail + 1);
}

long special_poke(struct state *state, const struct description *is, const uint64_t *arg)
{
	const struct ring *ring = ring_of(state, arg[0] % 2 ? KIND_IRQ : KIND_QUEUE, arg[0] / 2);

	(void)is;
	return ring && ring->at ? put_u32(ring->at + arg[1] % 6 * 64, (uint32_t)arg[2]) : -1;
}

long special_reap(struct state *state, const struct description *is, const uint64_t *arg)
{
	const struct ring *ring = ring_of(state, KIND_QUEUE, arg[0]);
	uint32_t tail;

	(void)is;
	return ring && ring->at &&
	       run_copy(&tail, ring->at + offsetof(struct dmanic_queue_ring, cq_tail),
			sizeof(tail)) &&
	       put_u32(ring->at + offsetof(struct dmanic_queue_ring, cq_head), tail) ? 0 : -1;
}

/* ---- processes ---- */

/* The child has all of it, uses some, and goes: now, or when its parent may have ended */
long special_fork(struct state *state, const struct description *is, const uint64_t *arg)
{
	static const char *const names[] = { "touch", "enter", "post", "munmap", "close", "query" };
	const struct description *does;
	uint32_t i, which;
	pid_t child = fork();

	(void)is;
	if (child < 0)
		return -1;
	if (!child) {
		alarm(2);
		signal(SIGALRM, SIG_DFL);
		for (i = 0; i < arg[1] % 6; i++) {
			uint64_t numbers[CALL_ARGS] = { arg[0] / (i + 1), 8 * arg[1], arg[1] };

			does = call_find(names[(arg[0] + i) % 6], &which);
			if (does)
				run_one(state, does, numbers);
		}
		does = call_find("queue_stop", &which);
		if (arg[1] & 32 && does)
			run_one(state, does, (uint64_t[CALL_ARGS]){ arg[0] });
		_exit(0);
	}
	if (arg[1] & 64)
		return 0;
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* ---- io_uring ---- */

static __thread struct io_uring uring;
static __thread bool uring_made;

/* One command, on what it is on; NULL: there is no ring, or no room */
static struct io_uring_sqe *uring_command(int fd, uint32_t command)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
	};
	struct io_uring_sqe *sqe;

	if (!uring_made && io_uring_queue_init_params(8, &uring, &params))
		return NULL;
	uring_made = true;
	sqe = io_uring_get_sqe(&uring);
	if (!sqe)
		return NULL;
	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = command;
	return sqe;
}

/* What has ended by then is forgotten */
static void uring_go(void)
{
	struct io_uring_cqe *cqe;
	unsigned int head, seen = 0;

	io_uring_submit(&uring);
	io_uring_for_each_cqe(&uring, head, cqe)
		seen++;
	io_uring_cq_advance(&uring, seen);
}

long special_uring(struct state *state, const struct description *is, const uint64_t *arg)
{
	const struct dmanic_uring_enter enter = {
		.to_submit = (uint32_t)arg[2], .min_complete = (uint32_t)arg[3],
		.timeout_ns = arg[4] % 4000000,
	};
	int fd = on_fd(state, is, arg);
	struct io_uring_sqe *sqe;

	/* A completion would say so, which nobody reads */
	if (fd < 0)
		return on_nothing();
	sqe = uring_command(fd, (uint32_t)arg[1] % 8);
	if (!sqe)
		return -1;
	sqe->flags = arg[1] & 64 ? IOSQE_IO_LINK : 0;
	memcpy(sqe->cmd, &enter, sizeof(enter));
	uring_go();
	if (arg[5] % 4 == 1)
		special_pause(state, is, arg);
	return 0;
}

/*
 * Bits of the entry that have no meaning there say that the next command waits for this one, and
 * that it has a cookie
 */
long special_uring_post(struct state *state, const struct description *is, const uint64_t *arg)
{
	int fd = on_fd(state, is, arg);
	struct io_uring_sqe *sqe;
	struct dmanic_sqe post;

	if (fd < 0)
		return on_nothing();
	sqe = uring_command(fd, DMANIC_URING_POST);
	if (!sqe)
		return -1;
	fill_entry(state, is, arg, &post);
	sqe->flags = arg[2] & 128 ? IOSQE_IO_LINK : 0;
	post.cookie = arg[2] & 64;
	post.flags &= 63;
	memcpy(sqe->cmd, &post, sizeof(post));
	uring_go();
	return 0;
}

void special_thread_end(void)
{
	if (uring_made)
		io_uring_queue_exit(&uring);
	uring_made = false;
}

/* ---- the end of a program ---- */

/* In this order, or as the end of a process has it */
void special_end(struct state *state)
{
	uint32_t i;

	for (i = 0; i < POOL; i++)
		if (state->map[i].bytes)
			munmap(state->map[i].at, state->map[i].bytes);
	close_range((unsigned int)state->first_fd, ~0U, 0);
}
