// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * segment.c - memory that the device may touch, and connections to that of
 * other nodes
 *
 * Both are written when they are made, but for what links them to others of their context,
 * under its lock. The driver keeps what matters (pages, rights, keys); here is only how to
 * name it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

/* ---- segments ---- */

static int segment_ioctl(struct nic_ctx *ctx, unsigned long number, uint32_t id)
{
	struct dmanic_segment_id arg = { .size = sizeof(arg), .id = id };

	return nic_ioctl(ctx->fd, number, &arg);
}

static int fail_create(struct nic_ctx *ctx, int ret,
		       const struct dmanic_segment_create *arg)
{
	bool user = arg->flags & DMANIC_SEGMENT_USER_MEMORY;
	char cause[NIC_CAUSE_MAX], size[NIC_SIZE_MAX];
	const char *why;

	why = nic_refusal_cause(cause, ret, &arg->refusal, arg->length);
	if (!why && ret == -EINVAL && !arg->length)
		why = "a segment has at least 1 byte";
	if (!why && ret == -EINVAL && user)
		why = "only anonymous, shmem and hugetlb memory can be; copy a file there";
	if (!why && ret == -EFAULT)
		why = "it is not all mapped writable";
	nic_size_text(size, arg->length);
	if (user)
		return nic_fail(ctx, ret, why, "pin %s of the program's memory",
				size);
	return nic_fail(ctx, ret, why, "pin %s", size);
}

static void segment_end(struct nic_part *part)
{
	nic_segment_free((struct nic_segment *)part);
}

static int segment_create(struct nic_ctx *ctx,
			  struct dmanic_segment_create *arg,
			  struct nic_segment **seg)
{
	struct nic_segment *new;
	int ret;

	new = calloc(1, sizeof(*new));
	if (!new) {
		nic_fail(ctx, -ENOMEM, NULL, "make a segment");
		return -ENOMEM;
	}
	ret = nic_ioctl(ctx->fd, DMANIC_IOC_SEGMENT_CREATE, arg);
	if (ret) {
		fail_create(ctx, ret, arg);
		goto err_free;
	}
	new->bytes = arg->length;
	nic_part_add(ctx, &new->part, arg->id, segment_end);
	*seg = new;
	return 0;

err_free:
	free(new);
	return ret;
}

int nic_segment_alloc(struct nic_ctx *ctx, uint64_t bytes,
		      struct nic_segment **seg)
{
	struct dmanic_segment_create arg = {
		.size = sizeof(arg),
		.length = bytes,
	};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char size[NIC_SIZE_MAX];
	uint64_t mapped = (bytes + page - 1) / page * page;
	struct nic_segment *new;
	void *start;
	int ret;

	ret = segment_create(ctx, &arg, &new);
	if (ret)
		return ret;
	start = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ctx->fd, (off_t)arg.mmap_offset);
	if (start == MAP_FAILED) {
		ret = nic_fail(ctx, -errno, NULL, "map a segment of %s",
			       nic_size_text(size, bytes));
		nic_segment_free(new);
		return ret;
	}
	new->mapped = mapped;
	new->addr = start;
	*seg = new;
	return 0;
}

int nic_segment_register(struct nic_ctx *ctx, void *addr, uint64_t bytes,
			 struct nic_segment **seg)
{
	struct dmanic_segment_create arg = {
		.size = sizeof(arg),
		.flags = DMANIC_SEGMENT_USER_MEMORY,
		.length = bytes,
		.address = (uintptr_t)addr,
	};
	int ret;

	ret = segment_create(ctx, &arg, seg);
	if (!ret)
		(*seg)->addr = addr;
	return ret;
}

void nic_segment_free(struct nic_segment *seg)
{
	if (!seg)
		return;
	if (!nic_inherited(seg->part.ctx->owner)) {
		/* A mapping keeps its pages, so the order does not matter to others. */
		segment_ioctl(seg->part.ctx, DMANIC_IOC_SEGMENT_DESTROY, seg->part.number);
		if (seg->mapped)
			munmap(seg->addr, seg->mapped);
	}
	nic_part_remove(&seg->part);
	free(seg);
}

void *nic_segment_addr(const struct nic_segment *seg)
{
	return seg->addr;
}

uint64_t nic_segment_bytes(const struct nic_segment *seg)
{
	return seg->bytes;
}

uint32_t nic_segment_id(const struct nic_segment *seg)
{
	return seg->part.number;
}

int nic_segment_export(struct nic_segment *seg, unsigned int rights,
		       const char *name, const uint64_t secret[2],
		       uint64_t *key)
{
	struct dmanic_segment_export arg = {
		.size = sizeof(arg),
		.id = seg->part.number,
		.rights = rights,
	};
	const char *cause = NULL;
	int ret;

	if (!rights || rights & ~(NIC_READ | NIC_WRITE | NIC_ATOMIC))
		return nic_fail(seg->part.ctx, -EINVAL,
				"rights are NIC_READ, NIC_WRITE, NIC_ATOMIC, at least one",
				"export segment %u with rights %#x", seg->part.number,
				rights);
	if (name) {
		ret = nic_name_copy(seg->part.ctx, arg.name, name);
		if (ret)
			return ret;
	}
	if (name && secret)
		memcpy(arg.secret, secret, sizeof(arg.secret));
	ret = nic_ioctl(seg->part.ctx->fd, DMANIC_IOC_SEGMENT_EXPORT, &arg);
	if (ret == -EEXIST)
		cause = "it is exported already; revoke it first";
	if (ret == -EEXIST && name)
		cause = "it is exported already (revoke it), or the name is taken (choose another)";
	if (ret)
		return nic_fail(seg->part.ctx, ret, cause, "export segment %u as \"%s\"",
				seg->part.number, name ? name : "");
	if (key)
		*key = arg.key;
	return 0;
}

int nic_segment_revoke(struct nic_segment *seg)
{
	int ret;

	ret = segment_ioctl(seg->part.ctx, DMANIC_IOC_SEGMENT_REVOKE, seg->part.number);
	if (ret)
		return nic_fail(seg->part.ctx, ret,
				ret == -ENOENT ? "it is not exported" : NULL,
				"revoke segment %u", seg->part.number);
	return 0;
}

/* ---- connections ---- */

/* The other kind of export has the id or the name */
static const char *kind_cause(bool irq, bool by_name)
{
	if (irq)
		return by_name ?
		       "that name is published for a segment; use nic_connect_name()" :
		       "that is the id of a segment; use nic_connect()";
	return by_name ?
	       "that name is published for an interrupt; use nic_connect_irq_name()" :
	       "that is the id of an interrupt; use nic_connect_irq()";
}

static const char *connect_cause(int ret, bool irq, bool by_name)
{
	static const struct {
		int ret;
		const char *by_id, *by_name;
	} causes[] = {
		{ -ENOENT, "it does not exist there, or is not exported",
		  "nothing is published by that name now; give a time-out to wait for it" },
		{ -ETIME, NULL,
		  "nothing was published by that name in time; does the other side run?" },
		{ -EOPNOTSUPP,
		  "the node there speaks other versions of the protocol; install the same dmanic.ko on both",
		  "the node there speaks other versions of the protocol; install the same dmanic.ko on both" },
		{ -EACCES, "the key is wrong",
		  "it was published with another secret; do both sides have the same NIC_SECRET?" },
	};

	if (ret == -EINVAL)
		return kind_cause(irq, by_name);
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (causes[i].ret == ret)
			return by_name ? causes[i].by_name : causes[i].by_id;
	return NULL;
}

static int fail_connect(struct nic_ctx *ctx, int ret,
			const struct dmanic_connect *arg)
{
	bool irq = arg->flags & DMANIC_CONNECT_IRQ;
	const char *noun = irq ? "interrupt" : "segment";
	bool by_name = arg->flags & DMANIC_CONNECT_BY_NAME;
	char cause[NIC_CAUSE_MAX];
	const char *why;

	why = nic_refusal_cause(cause, ret, &arg->refusal, 0);
	if (!why)
		why = connect_cause(ret, irq, by_name);
	if (by_name)
		return nic_fail(ctx, ret, why, "connect to %s \"%s\" of node %u",
				noun, arg->name, arg->node);
	return nic_fail(ctx, ret, why, "connect to %s %u of node %u", noun,
			arg->id, arg->node);
}

static void remote_end(struct nic_part *part)
{
	nic_disconnect((struct nic_remote *)part);
}

static int connect_to(struct nic_ctx *ctx, struct dmanic_connect *arg,
		      struct nic_remote **remote)
{
	struct nic_remote *new;
	int ret;

	new = calloc(1, sizeof(*new));
	if (!new)
		return nic_fail(ctx, -ENOMEM, NULL, "make a connection");
	arg->size = sizeof(*arg);
	ret = nic_ioctl(ctx->fd, DMANIC_IOC_CONNECT, arg);
	if (ret) {
		fail_connect(ctx, ret, arg);
		goto err_free;
	}
	new->bytes = arg->length;
	new->mmap_offset = arg->mmap_offset;
	new->node = arg->node;
	new->rights = arg->rights;
	nic_part_add(ctx, &new->part, arg->handle, remote_end);
	*remote = new;
	return 0;

err_free:
	free(new);
	return ret;
}

static int connect_id(struct nic_ctx *ctx, uint32_t flags, uint32_t node,
		      uint32_t id, uint64_t key, struct nic_remote **remote)
{
	struct dmanic_connect arg = {
		.flags = flags,
		.node = node,
		.id = id,
		.key = key,
	};

	return connect_to(ctx, &arg, remote);
}

static int connect_name(struct nic_ctx *ctx, uint32_t flags, uint32_t node,
			const char *name, const uint64_t secret[2],
			uint64_t timeout_ns, struct nic_remote **remote)
{
	struct dmanic_connect arg = {
		.flags = flags | DMANIC_CONNECT_BY_NAME,
		.node = node,
		.timeout_ns = timeout_ns,
	};
	int ret;

	ret = nic_name_copy(ctx, arg.name, name);
	if (ret)
		return ret;
	if (secret)
		memcpy(arg.secret, secret, sizeof(arg.secret));
	return connect_to(ctx, &arg, remote);
}

int nic_connect(struct nic_ctx *ctx, uint32_t node, uint32_t id, uint64_t key,
		struct nic_remote **remote)
{
	return connect_id(ctx, 0, node, id, key, remote);
}

int nic_connect_name(struct nic_ctx *ctx, uint32_t node, const char *name,
		     const uint64_t secret[2], uint64_t timeout_ns,
		     struct nic_remote **remote)
{
	return connect_name(ctx, 0, node, name, secret, timeout_ns, remote);
}

int nic_connect_irq(struct nic_ctx *ctx, uint32_t node, uint32_t id,
		    uint64_t key, struct nic_remote **remote)
{
	return connect_id(ctx, DMANIC_CONNECT_IRQ, node, id, key, remote);
}

int nic_connect_irq_name(struct nic_ctx *ctx, uint32_t node, const char *name,
			 const uint64_t secret[2], uint64_t timeout_ns,
			 struct nic_remote **remote)
{
	return connect_name(ctx, DMANIC_CONNECT_IRQ, node, name, secret,
			    timeout_ns, remote);
}

void nic_disconnect(struct nic_remote *remote)
{
	struct dmanic_disconnect arg = { .size = sizeof(arg) };

	if (!remote)
		return;
	arg.handle = remote->part.number;
	if (!nic_inherited(remote->part.ctx->owner))
		nic_ioctl(remote->part.ctx->fd, DMANIC_IOC_DISCONNECT, &arg);
	nic_part_remove(&remote->part);
	free(remote);
}

uint64_t nic_remote_bytes(const struct nic_remote *remote)
{
	return remote->bytes;
}

uint32_t nic_remote_node(const struct nic_remote *remote)
{
	return remote->node;
}

unsigned int nic_remote_rights(const struct nic_remote *remote)
{
	return remote->rights;
}
