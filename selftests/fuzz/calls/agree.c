// SPDX-License-Identifier: GPL-2.0-only
/*
 * agree.c - numbers of a call that agree with each other
 *
 * Each number was chosen for itself. A driver that refuses a call for one that does not
 * fit the others does not come far: so most calls are changed to what it would take. What
 * they are about stays, but for what they do not use.
 */
#include <linux/dmanic.h>
#include <string.h>

#include "calls.h"

#define SEGMENT_MOST	(1ULL << 20)

/* One of them, by its name */
static uint64_t *the(const struct description *is, uint64_t *arg, const char *name)
{
	uint32_t i;

	for (i = 0; i < is->nr; i++)
		if (!strcmp(is->field[i].name, name))
			return &arg[1 + i];
	/* None is called so: it changes nothing */
	return &arg[CALL_ARGS - 1];
}

/* A power of two, up to 128 */
static uint64_t power(uint64_t number)
{
	return 1ULL << number % 8;
}

/* Not filled up to its end */
static void name_ends(const struct description *is, uint64_t *arg)
{
	*the(is, arg, "name") &= ~AS_IT_IS;
}

void agree_segment_create(const struct description *is, uint64_t *arg)
{
	uint64_t *address = the(is, arg, "address");
	uint64_t *length = the(is, arg, "length");
	bool user = *the(is, arg, "flags") & DMANIC_SEGMENT_USER_MEMORY;

	*address = user ? (*address % 65536) | 8 : 0;
	if (!*length || *length > SEGMENT_MOST)
		*length = 8;
}

void agree_segment_export(const struct description *is, uint64_t *arg)
{
	uint64_t *rights = the(is, arg, "rights");

	*rights = 1 + *rights % 7;
	name_ends(is, arg);
}

/* By name, or else what the key is of (fill_export()) */
void agree_connect(const struct description *is, uint64_t *arg)
{
	bool by_name = *the(is, arg, "flags") & DMANIC_CONNECT_BY_NAME;
	uint64_t *name = the(is, arg, "name");

	name_ends(is, arg);
	*the(is, arg, "id") = 0;
	*the(is, arg, "node") %= 3;
	if (by_name) {
		*name = 1 + *name % 3;
		*the(is, arg, "key") = AS_IT_IS;
	} else {
		*name = 0;
		*the(is, arg, "timeout_ns") = 0;
		*the(is, arg, "key") &= UINT32_MAX;
	}
}

void agree_queue_create(const struct description *is, uint64_t *arg)
{
	bool thread = *the(is, arg, "flags") & DMANIC_QUEUE_POLL_THREAD;
	uint64_t *sq = the(is, arg, "sq_entries"), *cq = the(is, arg, "cq_entries");
	uint64_t *idle = the(is, arg, "poll_idle_us");

	*sq = power(*sq);
	*cq = *sq << *cq % 3;
	*idle = thread ? *idle % (DMANIC_POLL_IDLE_MAX_US + 1) : 0;
}

void agree_irq_create(const struct description *is, uint64_t *arg)
{
	uint64_t *depth = the(is, arg, "depth");

	*depth = power(*depth);
	name_ends(is, arg);
}

void agree_enter(const struct description *is, uint64_t *arg)
{
	*the(is, arg, "min_complete") %= 4;
}

void agree_irq_wait(const struct description *is, uint64_t *arg)
{
	*the(is, arg, "target") %= 4;
}

/* Blocks of up to 512 bytes, which do not lie on each other */
static void agree_strided(const struct description *is, uint64_t *arg)
{
	uint64_t *local = the(is, arg, "local_stride"), *remote = the(is, arg, "remote_stride");
	uint64_t *block = the(is, arg, "block"), *count = the(is, arg, "count");

	*block %= 513;
	*count = 1 + *count % 8;
	*local = *block + 8 * (*local % 16);
	*remote = *block + 8 * (*remote % 16);
}

/* In the first 4 KiB, which most segments have; the list of a LIST is there, too */
static void agree_data(const struct description *is, uint64_t *arg, uint64_t opcode)
{
	uint64_t *block = the(is, arg, "block"), *count = the(is, arg, "count");

	*the(is, arg, "local_offset") %= 2048;
	*the(is, arg, "remote_offset") %= 2048;
	if (opcode == DMANIC_OP_WRITE_STRIDED || opcode == DMANIC_OP_READ_STRIDED) {
		agree_strided(is, arg);
	} else if (opcode == DMANIC_OP_LIST) {
		*block %= 2;
		*count %= 5;
		*the(is, arg, "local_stride") = 0;
		*the(is, arg, "remote_stride") %= 256;
	} else {
		*block %= 2049;
	}
}

/* NOP, NOTIFY and atomics: nothing is moved */
static void agree_word(const struct description *is, uint64_t *arg, uint64_t opcode)
{
	*the(is, arg, "local") = AS_IT_IS;
	*the(is, arg, "local_offset") = 0;
	*the(is, arg, "block") = 0;
	*the(is, arg, "local_stride") = 0;
	*the(is, arg, "remote_stride") = 0;
	if (opcode > DMANIC_OP_NOTIFY) {
		*the(is, arg, "remote_offset") = *the(is, arg, "remote_offset") % 4096 & ~7ULL;
	} else {
		*the(is, arg, "remote") = AS_IT_IS;
		*the(is, arg, "remote_offset") = 0;
	}
}

/* What an opcode does not use is zero; what else it does not use special_post() knows */
void agree_post(const struct description *is, uint64_t *arg)
{
	uint64_t *opcode = the(is, arg, "opcode"), *flags = the(is, arg, "flags");

	*opcode %= DMANIC_OP_BROADCAST;
	if (*opcode != DMANIC_OP_WRITE && *opcode != DMANIC_OP_WRITE_STRIDED)
		*flags &= ~(uint64_t)DMANIC_SQE_NOTIFY;
	if (*opcode == DMANIC_OP_NOP ||
	    (*opcode >= DMANIC_OP_NOTIFY && *opcode <= DMANIC_OP_SWAP))
		agree_word(is, arg, *opcode);
	else
		agree_data(is, arg, *opcode);
	if (*opcode < DMANIC_OP_NOTIFY && !(*flags & DMANIC_SQE_NOTIFY))
		*the(is, arg, "payload") = 0;
}

/* Of a context */
void agree_dup(const struct description *is, uint64_t *arg)
{
	(void)is;
	arg[0] -= arg[0] % FILE_KINDS;
}

/* Room for some news, of a context */
void agree_read(const struct description *is, uint64_t *arg)
{
	*the(is, arg, "count") |= 64;
	arg[0] -= arg[0] % FILE_KINDS;
}

/* A ring has one place, a context those that its calls told */
void agree_mmap(const struct description *is, uint64_t *arg)
{
	uint64_t *length = the(is, arg, "length"), *shared = the(is, arg, "shared");
	uint64_t number = arg[0];

	*length = *length / 4096 % 8 ? 4096 : 8192;
	*shared = run_file_kind(&number) == KIND_CONTEXT ? 0 : 8;
}

/* It is moved, and as long as before */
void agree_mremap(const struct description *is, uint64_t *arg)
{
	*the(is, arg, "length") |= 1;
}

/* Each command on what has it, with the argument that it takes; POST is uring_post's */
void agree_uring(const struct description *is, uint64_t *arg)
{
	uint64_t *command = the(is, arg, "command");
	uint64_t number = arg[0], does;

	does = DMANIC_URING_ENTER + *command % 3;
	*command = (*command & 64) | does;
	run_file_kind(&number);
	arg[0] = number % POOL * FILE_KINDS + (does == DMANIC_URING_IRQ_WAIT ? 2 : 1);
	*the(is, arg, "a") %= does == DMANIC_URING_WAIT ? 1 : 4;
	*the(is, arg, "b") %= does == DMANIC_URING_WAIT ? 4 : 1;
	if (does == DMANIC_URING_ENTER)
		*the(is, arg, "time") = 0;
}
