/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * watchpoint.h - who in the kernel reads or writes a word of memory
 *
 * A debug register of each CPU holds the word's address as the kernel sees memory
 * (its direct map); every access is a sample of perf with its call chain. What a
 * program does through its own mapping is not seen.
 */
#ifndef WATCHPOINT_H
#define WATCHPOINT_H

#include <linux/types.h>
#include <stddef.h>

#define WATCHPOINT_CPUS		64
#define WATCHPOINT_CULPRITS	5

/**
 * struct watchpoint - a word that is watched
 * @cpus: how many
 * @fd: an event for each
 * @ring: its samples
 * @from: first address of the function that @inside counts
 * @end: behind its last one
 * @inside: accesses by it, or by what it calls
 * @outside: all others
 * @culprits: how many places of the call chain of the first of these
 * @culprit: these
 */
struct watchpoint {
	unsigned int cpus;
	int fd[WATCHPOINT_CPUS];
	void *ring[WATCHPOINT_CPUS];
	__u64 from;
	__u64 end;
	unsigned int inside;
	unsigned int outside;
	unsigned int culprits;
	__u64 culprit[WATCHPOINT_CULPRITS];
};

/*
 * Watch the 8 bytes that this program has mapped at @word, aligned, and in memory.
 * @function: of dmanic, what to tell apart. Skips the test where that cannot be done.
 */
void watchpoint_open(struct watchpoint *watch, const void *word, const char *function);
/* Counts what came since it was opened; then it is as before that */
void watchpoint_close(struct watchpoint *watch);
/* "who < who called him < …", of the first access outside; takes long */
void watchpoint_culprit(const struct watchpoint *watch, char *text, size_t bytes);

#endif /* WATCHPOINT_H */
