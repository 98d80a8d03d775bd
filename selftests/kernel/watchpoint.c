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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_PAGES	64	/* a power of two */
#define CHAIN_MAX	127
#define SYMBOL_ROOM	64
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

/* dmanic.ko as a file, for /proc/kallsyms takes long to be read as a whole */
static const Elf64_Ehdr *module_file(void)
{
	FILE *said = popen("modinfo -n dmanic", "re");
	struct stat stat;
	char path[512] = "";
	void *file;
	int fd;

	if (!said || !fgets(path, sizeof(path), said))
		SKIP("modinfo does not know dmanic");
	pclose(said);
	path[strcspn(path, "\n")] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat))
		SKIP("cannot read %s: %s", path, strerror(errno));
	file = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED || memcmp(file, ELFMAG, SELFMAG) != 0)
		SKIP("%s is no ELF file (compressed?)", path);
	return file;
}

/* Where the kernel has put a section */
static __u64 section_address(const char *section)
{
	unsigned long long address = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/dmanic/sections/%s", section);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%llx", &address) != 1)
		SKIP("cannot read %s", path);
	fclose(file);
	return address;
}

static void function_find(const char *function, __u64 *from, __u64 *end)
{
	const Elf64_Ehdr *head = module_file();
	const char *file = (const char *)head;
	const Elf64_Shdr *section = (const void *)(file + head->e_shoff);
	const char *sections = file + section[head->e_shstrndx].sh_offset;
	const Elf64_Sym *symbol;
	const char *names;
	__u64 i;
	int k;

	for (k = 0; k < head->e_shnum && section[k].sh_type != SHT_SYMTAB; k++)
		;
	ASSERT_LT(k, head->e_shnum);
	symbol = (const void *)(file + section[k].sh_offset);
	names = file + section[section[k].sh_link].sh_offset;
	for (i = 0; i < section[k].sh_size / sizeof(*symbol); i++)
		if (!strcmp(names + symbol[i].st_name, function))
			break;
	ASSERT_LT(i, section[k].sh_size / sizeof(*symbol));
	*from = section_address(sections + section[symbol[i].st_shndx].sh_name) +
		symbol[i].st_value;
	*end = *from + symbol[i].st_size;
}

/* "address type name" */
static bool symbol_next(FILE *file, __u64 *at, char name[SYMBOL_ROOM])
{
	char line[512], *end;

	if (!file || !fgets(line, sizeof(line), file))
		return false;
	*at = strtoull(line, &end, 16);
	snprintf(name, SYMBOL_ROOM, "%.*s", (int)strcspn(end + 3, "\t\n"), end + 3);
	return true;
}

void watchpoint_culprit(const struct watchpoint *watch, char *text, size_t bytes)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char name[SYMBOL_ROOM], best[CULPRITS][SYMBOL_ROOM] = { "" };
	__u64 at, where[CULPRITS] = { 0 };
	size_t used = 0;
	unsigned int i;

	while (symbol_next(file, &at, name)) {
		for (i = 0; i < watch->culprits; i++) {
			if (at > watch->culprit[i] || at < where[i])
				continue;
			where[i] = at;
			memcpy(best[i], name, sizeof(name));
		}
	}
	if (file)
		fclose(file);
	*text = '\0';
	for (i = 0; i < watch->culprits && used < bytes; i++)
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
			watch->culprit[watch->culprits++] = chain[i];
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
	function_find(function, &watch->from, &watch->end);
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
