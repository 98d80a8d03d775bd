// SPDX-License-Identifier: GPL-2.0-only
/*
 * remote_map.c - mappings of remote segments, and memory that may be gone
 *
 * Owns: the handler of SIGBUS and SIGSEGV. Each thread has a place of its own
 * to leave an access to; a signal that was not expected ends the test.
 */
#include "remote_map.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#undef remote_map
#undef segment_connect_map

static __thread sigjmp_buf bus_leave;
static __thread volatile sig_atomic_t bus_armed;

static void bus_handler(int number)
{
	if (!bus_armed) {
		signal(number, SIG_DFL);
		return;
	}
	siglongjmp(bus_leave, number);
}

void bus_catch(void)
{
	struct sigaction action = { .sa_handler = bus_handler };

	ASSERT_EQ(sigaction(SIGBUS, &action, NULL), 0);
	ASSERT_EQ(sigaction(SIGSEGV, &action, NULL), 0);
}

int bus_load(const void *place, __u64 *value)
{
	int number = sigsetjmp(bus_leave, 1);

	if (!number) {
		bus_armed = 1;
		*value = *(const volatile __u64 *)place;
	}
	bus_armed = 0;
	return number;
}

int bus_store(void *place, __u64 value)
{
	int number = sigsetjmp(bus_leave, 1);

	if (!number) {
		bus_armed = 1;
		*(volatile __u64 *)place = value;
	}
	bus_armed = 0;
	return number;
}

__u64 segment_connect_map(const struct node *node, const struct segment *segment,
			  __u32 *handle)
{
	struct dmanic_connect arg = {
		.size = sizeof(arg), .node = segment->node, .id = segment->id,
		.key = segment->key, .mmap_offset = 1,
	};

	ASSERT_EQ(dmanic_call(node->fd, DMANIC_IOC_CONNECT, &arg), 0);
	if (handle)
		*handle = arg.handle;
	ASSERT_TRUE(!arg.mmap_offset ||
		    arg.mmap_offset == MAP_OFFSET(arg.handle));
	return arg.mmap_offset;
}

int remote_mmap(const struct node *node, __u64 offset, size_t bytes, int prot,
		void **map)
{
	*map = mmap(NULL, bytes, prot, MAP_SHARED, node->fd, (off_t)offset);
	return *map == MAP_FAILED ? -errno : 0;
}

__u8 *remote_map(const struct node *node, __u64 offset, size_t bytes, int prot)
{
	void *map = NULL;

	if (fabric_on_netdevs())
		SKIP("a link over a network maps nothing");
	ASSERT_NE(offset, 0);
	ASSERT_EQ(remote_mmap(node, offset, bytes, prot, &map), 0);
	return map;
}
