// SPDX-License-Identifier: GPL-2.0-only
/*
 * watchpoint.c - who in the kernel reads or writes a word of memory
 */
#include "watchpoint.h"
#include "dmanic_test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_PAGES	64	/* a power of two */
#define CHAIN_MAX	127
#define SYMBOL_ROOM	64
#define SYMBOLS_MAX	8192	/* of the module */
#define CULPRITS	WATCHPOINT_CULPRITS

/* ---- where it is ---- */

static __u64 physical_address(const void *word)
{
	__u64 page = (uintptr_t)word / page_bytes(), entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		SKIP("this kernel has no /proc/self/pagemap");
	if (pread(fd, &entry, sizeof(entry), page * sizeof(entry)) != sizeof(entry))
		entry = 0;
	close(fd);
	ASSERT_EQ(entry >> 63, 1);	/* present */
	return (entry & ((1ULL << 55) - 1)) * page_bytes() +
	       (uintptr_t)word % page_bytes();
}

/* In the kernel's direct map, which /proc/kcore tells the places of */
static __u64 kernel_address(__u64 physical)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;
	__u64 found = 0;
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC), i;

	if (fd < 0 || read(fd, &head, sizeof(head)) != sizeof(head))
		SKIP("this kernel has no /proc/kcore");
	for (i = 0; i < head.e_phnum; i++) {
		if (pread(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)) !=
		    sizeof(part))
			break;
		/* Its text is there a second time, higher */
		if (part.p_type == PT_LOAD && part.p_paddr <= physical &&
		    physical - part.p_paddr < part.p_memsz &&
		    (!found || part.p_vaddr < found))
			found = part.p_vaddr + (physical - part.p_paddr);
	}
	close(fd);
	if (!found)
		SKIP("/proc/kcore does not tell where memory is mapped");
	return found;
}

/* ---- whose code it is ---- */

/* "address type name" and perhaps a module, or false: the end */
static bool symbol_next(FILE *file, __u64 *at, char name[SYMBOL_ROOM], bool *ours)
{
	char line[512], *end;

	if (!file || !fgets(line, sizeof(line), file))
		return false;
	*at = strtoull(line, &end, 16);
	snprintf(name, SYMBOL_ROOM, "%.*s", (int)strcspn(end + 3, "\t\n"), end + 3);
	*ours = strstr(end, "\t[dmanic]");
	return true;
}

/* Where a function of the module is: from its place to that of what comes next */
static void symbol_find(const char *function, __u64 *from, __u64 *end)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	__u64 at, places[SYMBOLS_MAX];
	char name[SYMBOL_ROOM];
	unsigned int n = 0, i;
	bool ours;

	*from = 0;
	*end = ~0ULL;
	while (symbol_next(file, &at, name, &ours)) {
		if (!ours)
			continue;
		if (n < SYMBOLS_MAX)
			places[n++] = at;
		if (!strcmp(name, function))
			*from = at;
	}
	if (file)
		fclose(file);
	if (!*from)
		SKIP("/proc/kallsyms does not have %s", function);
	for (i = 0; i < n; i++)
		if (places[i] > *from && places[i] < *end)
			*end = places[i];
}

/* "who < who called him < ...", in one walk through all symbols */
static void symbol_names(const __u64 *chain, unsigned int length, char *text, size_t bytes)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char name[SYMBOL_ROOM], best[CULPRITS][SYMBOL_ROOM] = { "" };
	__u64 at, where[CULPRITS] = { 0 };
	unsigned int i;
	size_t used = 0;
	bool ours;

	while (symbol_next(file, &at, name, &ours)) {
		for (i = 0; i < length; i++) {
			if (at > chain[i] || at < where[i])
				continue;
			where[i] = at;
			memcpy(best[i], name, sizeof(name));
		}
	}
	if (file)
		fclose(file);
	for (i = 0; i < length && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? " < " : "",
					 best[i]);
}

/* ---- samples ---- */

static void count(struct watchpoint *watch, const __u64 *chain, __u64 length)
{
	__u64 i;

	for (i = 0; i < length; i++) {
		if (chain[i] >= watch->from && chain[i] < watch->end) {
			watch->inside++;
			return;
		}
	}
	/* The first: who, and who called him */
	for (i = 0; !watch->outside && i < length; i++)
		if (chain[i] < (__u64)PERF_CONTEXT_MAX && watch->culprits < CULPRITS)
			watch->culprit_at[watch->culprits++] = chain[i];
	watch->outside++;
}

static void copy_out(void *to, const char *data, __u64 at, size_t bytes)
{
	size_t ring = RING_PAGES * page_bytes(), i;

	for (i = 0; i < bytes; i++)
		((char *)to)[i] = data[(at + i) % ring];
}

static void read_ring(struct watchpoint *watch, struct perf_event_mmap_page *page)
{
	const char *data = (const char *)page + page_bytes();
	__u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at;
	struct {
		struct perf_event_header head;
		__u64 address;
		__u64 length;
		__u64 chain[CHAIN_MAX + 8];
	} sample;
	size_t bytes;

	for (at = page->data_tail; at < head; at += sample.head.size) {
		copy_out(&sample.head, data, at, sizeof(sample.head));
		ASSERT_EQ(sample.head.type == PERF_RECORD_LOST, false);
		if (sample.head.type != PERF_RECORD_SAMPLE)
			continue;
		bytes = sample.head.size < sizeof(sample) ? sample.head.size :
							    sizeof(sample);
		copy_out(&sample, data, at, bytes);
		count(watch, sample.chain, sample.length < ARRAY_SIZE(sample.chain) ?
				sample.length : ARRAY_SIZE(sample.chain));
	}
	page->data_tail = head;
}

static int event_open(__u64 address, unsigned int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_RW,
		.bp_addr = address,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.pinned = 1,
		.disabled = 1,
		.exclude_callchain_user = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

void watchpoint_open(struct watchpoint *watch, const void *word, const char *function)
{
	__u64 address = kernel_address(physical_address(word));
	unsigned int i;

	memset(watch, 0, sizeof(*watch));
	symbol_find(function, &watch->from, &watch->end);
	watch->cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	ASSERT_EQ(watch->cpus <= WATCHPOINT_CPUS, true);
	for (i = 0; i < watch->cpus; i++) {
		watch->fd[i] = event_open(address, i);
		if (watch->fd[i] < 0)
			SKIP("no watchpoint: %s", strerror(errno));
		watch->ring[i] = mmap(NULL, (RING_PAGES + 1) * page_bytes(),
				      PROT_READ | PROT_WRITE, MAP_SHARED, watch->fd[i], 0);
		ASSERT_NE(watch->ring[i], MAP_FAILED);
	}
	for (i = 0; i < watch->cpus; i++)
		ASSERT_EQ(ioctl(watch->fd[i], PERF_EVENT_IOC_ENABLE, 0), 0);
}

void watchpoint_close(struct watchpoint *watch)
{
	unsigned int i;

	for (i = 0; i < watch->cpus; i++)
		ASSERT_EQ(ioctl(watch->fd[i], PERF_EVENT_IOC_DISABLE, 0), 0);
	for (i = 0; i < watch->cpus; i++) {
		read_ring(watch, watch->ring[i]);
		munmap(watch->ring[i], (RING_PAGES + 1) * page_bytes());
		close(watch->fd[i]);
	}
	watch->cpus = 0;
	if (watch->culprits)
		symbol_names(watch->culprit_at, watch->culprits, watch->culprit,
			     sizeof(watch->culprit));
}
