/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * remote_map.h - mappings of remote segments, and memory that may be gone
 */
#ifndef REMOTE_MAP_H
#define REMOTE_MAP_H

#include "dmanic_test.h"

#include <sys/mman.h>

/* Where the driver is told by its documentation to put them */
#define MAP_OFFSET(handle)	(1ULL << 62 | (__u64)(handle) << 40)

#define MAP_RW	(PROT_READ | PROT_WRITE)

/* A connection; its mmap_offset, zero when it cannot be mapped */
__u64 segment_connect_map(const struct node *node, const struct segment *segment,
			  __u32 *handle);

/* mmap(), shared: 0 or -errno */
int remote_mmap(const struct node *node, __u64 offset, size_t bytes, int prot,
		void **map);
/* The same, which must work */
__u8 *remote_map(const struct node *node, __u64 offset, size_t bytes, int prot);

/* Once in a test that uses the following: SIGBUS and SIGSEGV are caught */
void bus_catch(void);

/* One access of eight bytes, by this thread: 0, or the signal it ended with */
int bus_load(const void *place, __u64 *value);
int bus_store(void *place, __u64 value);

#define remote_map(...)	(CALLER, remote_map(__VA_ARGS__))
#define segment_connect_map(...) (CALLER, segment_connect_map(__VA_ARGS__))

#endif /* REMOTE_MAP_H */
