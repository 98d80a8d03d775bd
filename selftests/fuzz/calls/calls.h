/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * calls.h - calls of the driver that no program would make, in every order
 *
 * A program is a list of calls with numbers as arguments. What the numbers mean is said
 * by a table (table.c), so that the same number is an object that an earlier call made,
 * or anything. Programs are made up or changed (grow.c), carried out, by two threads at
 * once if they say so (run.c), and kept when they reach code that none before reached
 * (cover.c), which the kernel tells by KCOV. Each is a process of its own; main.c
 * starts them, and looks whether the kernel bears it.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CALL_ARGS	16U
#define PROGRAM_CALLS	64U
#define POOL		16U
#define DEVICES		8U

/* What a number is */
enum kind {
	KIND_VALUE,	/* anything */
	KIND_SIZE,	/* of the struct it is in */
	KIND_FLAGS,
	KIND_SMALL,	/* opcode, right, node */
	KIND_COUNT,
	KIND_LENGTH,
	KIND_OFFSET,
	KIND_STRIDE,	/* or, of a LIST, the segment that has it */
	KIND_TIME,	/* nanoseconds */
	KIND_ZERO,	/* reserved */
	KIND_NAME,	/* up to the field's end */
	KIND_MEMORY,	/* address of the program's own */
	/* One that there is, mostly */
	KIND_CONTEXT,
	KIND_QUEUE,
	KIND_IRQ,
	KIND_FD,	/* any of these */
	KIND_EVENTFD,
	KIND_SEGMENT,
	KIND_HANDLE,
	KIND_EXPORT,
	KIND_MAP,
	KIND_PLACE,	/* offset for mmap */
	KINDS
};

/**
 * struct field - of an argument struct
 * @name: for who reads a program
 * @at: offset
 * @bytes: of it
 * @kind: what it is
 */
struct field {
	const char *name;
	uint16_t at;
	uint16_t bytes;
	enum kind kind;
};

struct state;
struct call;

/**
 * struct description - a call
 * @name: for who reads a program
 * @on: what its first number is
 * @number: ioctl
 * @bytes: of its struct
 * @field: of that; the other numbers, in turn
 * @nr: of them
 * @run: what is done; NULL: the ioctl
 * @made: after success: what there is now
 * @makes: a bit for each kind that there is one more of then
 * @ends: a bit for each kind: the one that it is about is no more
 * @gives: others may reach what it is about, from then on
 * @takes_back: until this
 * @flags: those that there are
 * @agree: change numbers that do not agree with each other; NULL: all do
 * @inside: the program's own doing: the driver is not called, and it does not count
 */
struct description {
	const char *name;
	enum kind on;
	unsigned long number;
	size_t bytes;
	const struct field *field;
	uint32_t nr;
	long (*run)(struct state *state, const struct description *is,
		    const uint64_t *arg);
	void (*made)(struct state *state, int fd, const void *argument);
	uint32_t makes;
	uint32_t ends;
	bool gives;
	bool takes_back;
	uint32_t flags;
	void (*agree)(const struct description *is, uint64_t *arg);
	bool inside;
};

/**
 * struct call - one of them
 * @which: of the table
 * @arg: its numbers
 */
struct call {
	uint32_t which;
	uint64_t arg[CALL_ARGS];
};

/**
 * struct program - calls in turn
 * @nr: of them
 * @alone: the first ones; those behind are done by two threads, in turn
 * @call: them
 */
struct program {
	uint32_t nr;
	uint32_t alone;
	struct call call[PROGRAM_CALLS];
};

/* A segment or interrupt that others may reach */
struct export {
	uint32_t node;
	uint32_t id;
	uint64_t key;
	bool irq;
};

struct map {
	uint8_t *at;
	size_t bytes;
};

/* A queue or interrupt, with its memory */
struct ring {
	int fd;
	uint8_t *at;
	uint32_t sq;		/* where entries begin */
	uint32_t entries;
};

#define NOTHING	UINT64_MAX

/* The newest of a kind; an older one goes when there is no room. NOTHING: it was not made */
struct pool {
	uint32_t nr;
	uint64_t item[POOL];
};

/**
 * struct state - what there is while a program runs
 * @pool: numbers of each kind
 * @queue: as pool[KIND_QUEUE] has them
 * @irq: as pool[KIND_IRQ] has them
 * @export: as pool[KIND_EXPORT] has them
 * @map: as pool[KIND_MAP] has them
 * @device: names of device files
 * @nr_devices: of these
 * @memory: of the program's own, 1 MiB
 * @first_fd: this and higher ones are the program's
 * @called: how many calls the kernel was asked for, in all processes
 * @tells: what becomes of each call
 */
struct state {
	struct pool pool[KINDS];
	struct ring queue[POOL];
	struct ring irq[POOL];
	struct export export[POOL];
	struct map map[POOL];
	const char *device[DEVICES];
	uint32_t nr_devices;
	uint8_t *memory;
	int first_fd;
	uint64_t *called;
	bool tells;
};

/* This bit of a number: it is taken as it is, and names nothing that there is */
#define AS_IT_IS	(1ULL << 63)

#define MEMORY_BYTES	(1UL << 20)

/* table.c */
extern const struct description calls[];
extern const uint32_t nr_calls;
uint32_t call_args(const struct description *is);
enum kind call_kind(const struct description *is, uint32_t arg);
const struct description *call_find(const char *name, uint32_t *which);

/* agree.c */
void agree_segment_create(const struct description *is, uint64_t *arg);
void agree_segment_export(const struct description *is, uint64_t *arg);
void agree_connect(const struct description *is, uint64_t *arg);
void agree_queue_create(const struct description *is, uint64_t *arg);
void agree_irq_create(const struct description *is, uint64_t *arg);
void agree_enter(const struct description *is, uint64_t *arg);
void agree_irq_wait(const struct description *is, uint64_t *arg);
void agree_post(const struct description *is, uint64_t *arg);
void agree_dup(const struct description *is, uint64_t *arg);
void agree_read(const struct description *is, uint64_t *arg);
void agree_mmap(const struct description *is, uint64_t *arg);
void agree_mremap(const struct description *is, uint64_t *arg);
void agree_uring(const struct description *is, uint64_t *arg);

/* run.c */
#define FILE_KINDS	3U
extern const enum kind file_kinds[FILE_KINDS];	/* one of these has a KIND_FD */
enum kind run_file_kind(uint64_t *number);
uint32_t run_place(const struct pool *pool, uint64_t arg);
uint64_t run_pick(struct state *state, enum kind kind, uint64_t arg);
void run_put(struct pool *pool, uint64_t item);
uint32_t run_add(struct pool *pool);
void run_fill(struct state *state, const struct description *is,
	      const uint64_t *arg, uint8_t *bytes);
bool run_copy(void *to, const void *from, size_t bytes);
long run_one(struct state *state, const struct description *is, const uint64_t *arg);
void run_program(struct state *state, const struct program *program);

/* special.c */
int special_query(int fd, void *query);
void special_ring(struct state *state, enum kind kind, int fd, uint64_t bytes, uint32_t sq,
		  uint32_t entries);
long special_open(struct state *, const struct description *, const uint64_t *);
long special_close(struct state *, const struct description *, const uint64_t *);
long special_dup(struct state *, const struct description *, const uint64_t *);
long special_any(struct state *, const struct description *, const uint64_t *);
long special_mmap(struct state *, const struct description *, const uint64_t *);
long special_munmap(struct state *, const struct description *, const uint64_t *);
long special_mremap(struct state *, const struct description *, const uint64_t *);
long special_madvise(struct state *, const struct description *, const uint64_t *);
long special_touch(struct state *, const struct description *, const uint64_t *);
long special_post(struct state *, const struct description *, const uint64_t *);
long special_poke(struct state *, const struct description *, const uint64_t *);
long special_reap(struct state *, const struct description *, const uint64_t *);
long special_read(struct state *, const struct description *, const uint64_t *);
long special_poll(struct state *, const struct description *, const uint64_t *);
long special_pause(struct state *, const struct description *, const uint64_t *);
long special_fork(struct state *, const struct description *, const uint64_t *);
long special_uring(struct state *, const struct description *, const uint64_t *);
long special_uring_post(struct state *, const struct description *, const uint64_t *);
long special_netlink(struct state *, const struct description *, const uint64_t *);
void special_end(struct state *state);
void special_thread_end(void);

/* netlink.c */
bool special_netlink_begin(void);
void special_netlink_restore(void);

/* request.c */
struct nlmsghdr;
struct nlmsghdr *request_make(void *buffer, uint16_t family, const uint64_t *arg);
struct nlmsghdr *request_restore(void *buffer, uint16_t family, uint32_t turn);
struct nlmsghdr *request_begin(void *buffer, uint16_t type, uint16_t flags, uint8_t command);
const char *request_made(uint64_t which);	/* a device of a program, or NULL */

/* cover.c */
bool cover_open(void);		/* false: this kernel has no KCOV */
void cover_start(void);
uint32_t cover_stop(void *reached);	/* how many places none reached before */
size_t cover_bytes(void);
uint32_t cover_count(const void *reached);

/* grow.c */
uint64_t grow_random(void);
uint32_t grow_below(uint32_t end);
void grow_seed(uint64_t seed);
void grow_make(struct program *program);
void grow_change(struct program *program, const struct program *other);
void program_print(const struct program *program, FILE *file);
bool program_read(struct program *program, FILE *file);	/* false: it is none */

#endif /* CALLS_H */
