// SPDX-License-Identifier: GPL-2.0-only
/*
 * cover.c - what code of the driver a program reached, by KCOV
 *
 * Of its first thread, until it ends. What the other one and those of the driver reach is
 * not seen.
 */
#include <fcntl.h>
#include <linux/kcov.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"

#define COVER_WORDS	(1UL << 16)
#define COVER_EDGES	(1U << 16)

static unsigned long *reached_now;
static int cover_fd = -1;

bool cover_open(void)
{
	cover_fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (cover_fd < 0)
		return false;
	if (ioctl(cover_fd, KCOV_INIT_TRACE, COVER_WORDS))
		return false;
	reached_now = mmap(NULL, COVER_WORDS * sizeof(*reached_now), PROT_READ | PROT_WRITE,
			   MAP_SHARED, cover_fd, 0);
	return reached_now != MAP_FAILED;
}

/* By the process of the program */
void cover_start(void)
{
	if (!reached_now)
		return;
	ioctl(cover_fd, KCOV_ENABLE, KCOV_TRACE_PC);
	__atomic_store_n(&reached_now[0], 0, __ATOMIC_RELAXED);
}

size_t cover_bytes(void)
{
	return COVER_EDGES / 8;
}

/* When that has ended. A place is a way from one to the next */
uint32_t cover_stop(void *reached)
{
	unsigned long i, nr, before = 0;
	uint8_t *bits = reached, bit;
	uint32_t fresh = 0, edge;

	if (!reached_now)
		return 0;
	nr = __atomic_load_n(&reached_now[0], __ATOMIC_RELAXED);
	if (nr >= COVER_WORDS)
		nr = COVER_WORDS - 1;
	for (i = 1; i <= nr; i++) {
		edge = (uint32_t)((reached_now[i] ^ before) * 0x9e3779b97f4a7c15ULL >> 48) %
		       COVER_EDGES;
		before = reached_now[i] >> 1;
		bit = (uint8_t)(1U << edge % 8);
		fresh += !(bits[edge / 8] & bit);
		bits[edge / 8] |= bit;
	}
	return fresh;
}

uint32_t cover_count(const void *reached)
{
	const uint8_t *bits = reached;
	uint32_t i, count = 0;

	for (i = 0; i < COVER_EDGES / 8; i++)
		count += (uint32_t)__builtin_popcount(bits[i]);
	return count;
}
