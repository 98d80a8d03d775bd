// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * map.c - remote segments as memory of this program (PIO)
 *
 * The driver maps whole pages; what is not, is rounded here, the same way when
 * mapping and when unmapping, so that an address is all a program has to keep.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

static const char *map_cause(const struct nic_remote *remote, int ret)
{
	switch (ret) {
	case -EOPNOTSUPP:
		if (!(remote->rights & NIC_READ))
			return "a mapping needs NIC_READ, and that was not granted; export it with it, or put";
		return "it cannot be mapped: the link is no memory, it is an interrupt, or program memory that is not whole pages; put and get instead";
	case -EINVAL:
		return "that is not within the segment";
	case -ENOENT:
		return "it was revoked; connect again when it is exported again";
	case -EHOSTUNREACH:
		return "the node does not answer, or restarted; connect again";
	default:
		return NULL;
	}
}

static int fail_map(const struct nic_remote *remote, int ret, uint64_t offset,
		    uint64_t bytes)
{
	char size[NIC_SIZE_MAX];

	return nic_fail(remote->part.ctx, ret, map_cause(remote, ret),
			"map %s at %llu of a segment of node %u",
			nic_size_text(size, bytes), (unsigned long long)offset,
			remote->node);
}

int nic_map_remote(const struct nic_remote *remote, uint64_t offset,
		   uint64_t bytes, void **addr)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = offset % page;
	int prot = PROT_READ;
	char *start;

	if (!remote->mmap_offset)
		return fail_map(remote, -EOPNOTSUPP, offset, bytes);
	if (!bytes || offset > remote->bytes || bytes > remote->bytes - offset)
		return fail_map(remote, -EINVAL, offset, bytes);
	if (remote->rights & NIC_WRITE)
		prot |= PROT_WRITE;
	start = mmap(NULL, skip + bytes, prot, MAP_SHARED | MAP_POPULATE,
		     remote->part.ctx->fd,
		     (off_t)(remote->mmap_offset + offset - skip));
	if (start == MAP_FAILED)
		return fail_map(remote, -errno, offset, bytes);
	*addr = start + skip;
	return 0;
}

void nic_unmap_remote(void *addr, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t skip = (uintptr_t)addr % page;

	if (addr)
		munmap((char *)addr - skip, skip + bytes);
}

void nic_pio_flush(const void *addr)
{
	/* A link that posts stores elsewhere will have to read back from there */
	(void)addr;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
