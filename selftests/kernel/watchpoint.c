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

/* The symbol that @address is in, or by name: its place and the next one's */
static void symbol_find(const char *name, __u64 *from, __u64 *end)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], symbol[256];
	unsigned long long at;

	*from = 0;
	*end = ~0ULL;
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %*c %255s", &at, symbol) == 2 &&
		    !strcmp(symbol, name))
			*from = at;
	if (file)
		rewind(file);
	while (*from && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx", &at) == 1 && at > *from && at < *end)
			*end = at;
	if (file)
		fclose(file);
	if (!*from)
		SKIP("/proc/kallsyms does not have %s", name);
}

static void symbol_name(__u64 address, char *name, size_t bytes)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], symbol[256];
	unsigned long long at, best = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %*c %255s", &at, symbol) != 2 ||
		    at > address || at < best)
			continue;
		best = at;
		snprintf(name, bytes, "%.60s", symbol);
	}
	if (file)
		fclose(file);
}

/* ---- samples ---- */

static void count(struct watchpoint *watch, const __u64 *chain, __u64 length)
{
	size_t used = strlen(watch->culprit);
	char name[64] = "?";
	__u64 i;

	for (i = 0; i < length; i++) {
		if (chain[i] >= watch->from && chain[i] < watch->end) {
			watch->inside++;
			return;
		}
	}
	/* The first: who, and who called him */
	for (i = 0; !watch->outside && i < length && i < 6; i++) {
		if (chain[i] >= (__u64)PERF_CONTEXT_MAX)
			continue;
		symbol_name(chain[i], name, sizeof(name));
		snprintf(watch->culprit + used, sizeof(watch->culprit) - used, "%s%s",
			 used ? " < " : "", name);
		used = strlen(watch->culprit);
	}
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
}
