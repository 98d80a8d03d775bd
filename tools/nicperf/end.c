// SPDX-License-Identifier: GPL-2.0-only
/*
 * end.c - one end of a link: its objects
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <linux/dmanic.h>

#include "end.h"

#define END_ENTRIES	1024
#define END_IRQ_DEPTH	64

int end_fail(struct end *end, int ret, const char *what)
{
	const char *detail = nic_error_detail(end->ctx);

	if (*detail)
		snprintf(end->error, sizeof(end->error), "%s: %s", end->device,
			 detail);
	else
		snprintf(end->error, sizeof(end->error), "%s: cannot %s: %s",
			 end->device, what, strerror(-ret));
	return ret;
}

int end_fault(struct end *end, int ret, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(end->error, sizeof(end->error), "%s: %s", end->device, what);
	return ret;
}

const char *wait_name(enum wait wait)
{
	return wait == WAIT_POLL ? "poll" : "sleep";
}

static void end_name(char name[NIC_PUBLISH_MAX], const struct job *job,
		     const char *role, const char *object)
{
	snprintf(name, NIC_PUBLISH_MAX, "nicperf.%s.%s.%s", job->tag, role,
		 object);
}

/*
 * Segments are aligned to blocks of megabytes. Without this, the source and the
 * target of a copy would share the sets of caches and of a software TLB, and
 * whether they do would decide the figures.
 */
#define END_SKEW	(37 * 4096)

static int end_open_segment(struct end *end, const struct job *job,
			    const char *role, uint64_t half)
{
	char name[NIC_PUBLISH_MAX];
	int ret;

	half += END_SKEW;
	ret = nic_segment_alloc(end->ctx, 2 * half, &end->segment);
	if (ret)
		return end_fail(end, ret, "make a segment");
	end->half = half;
	end->memory = nic_segment_addr(end->segment);
	end_name(name, job, role, "memory");
	ret = nic_segment_export(end->segment,
				 NIC_READ | NIC_WRITE | NIC_ATOMIC, name,
				 job->secret, NULL);
	if (ret)
		return end_fail(end, ret, "publish a segment");
	return 0;
}

static int end_open_queue(struct end *end)
{
	int ret;

	end->entries = END_ENTRIES;
	if (end->entries > end->info.max_queue_entries)
		end->entries = end->info.max_queue_entries;
	ret = nic_queue_create(end->ctx, end->entries, &end->queue);
	if (ret)
		return end_fail(end, ret, "make a queue");
	return 0;
}

static int end_open_irq(struct end *end, const struct job *job,
			const char *role)
{
	unsigned int depth = END_IRQ_DEPTH;
	char name[NIC_PUBLISH_MAX];
	int ret;

	if (depth > end->info.max_irq_depth)
		depth = end->info.max_irq_depth;
	end_name(name, job, role, "bell");
	ret = nic_irq_create(end->ctx, depth, 0, name, job->secret, &end->irq);
	if (ret)
		return end_fail(end, ret, "make an interrupt");
	return 0;
}

int end_open(struct end *end, const char *device, const struct job *job,
	     const char *role, uint64_t half)
{
	int ret;

	memset(end, 0, sizeof(*end));
	end->device = device;
	ret = nic_open(device, &end->ctx);
	if (ret) {
		end->ctx = NULL;
		return end_fail(end, ret, "open the device");
	}
	end->info.size = sizeof(end->info);
	ret = nic_query(end->ctx, &end->info);
	if (ret) {
		end_fail(end, ret, "ask the device what it can do");
		goto err_close;
	}
	ret = end_open_segment(end, job, role, half);
	if (!ret)
		ret = end_open_queue(end);
	if (!ret)
		ret = end_open_irq(end, job, role);
	if (ret)
		goto err_close;
	return 0;

err_close:
	end_close(end);
	return ret;
}

/* Where the link has it */
static int end_map(struct end *end)
{
	void *map;
	int ret;

	if (!(end->info.features & DMANIC_FEATURE_MAP_REMOTE))
		return 0;
	ret = nic_map_remote(end->remote, 0, nic_remote_bytes(end->remote),
			     &map);
	if (ret)
		return end_fail(end, ret, "map the other end's segment");
	end->map = map;
	return 0;
}

int end_connect(struct end *end, const struct job *job, uint32_t node,
		const char *role, uint64_t timeout_ns)
{
	char name[NIC_PUBLISH_MAX];
	int ret;

	end->job = *job;
	end->there = role;
	end_name(name, job, role, "memory");
	ret = nic_connect_name(end->ctx, node, name, job->secret, timeout_ns,
			       &end->remote);
	if (ret)
		return end_fail(end, ret, "connect to the other end");
	end->remote_half = nic_remote_bytes(end->remote) / 2;
	ret = end_map(end);
	if (ret)
		return ret;
	end_name(name, job, role, "bell");
	ret = nic_connect_irq_name(end->ctx, node, name, job->secret,
				   timeout_ns, &end->bell);
	if (ret)
		return end_fail(end, ret, "connect to the other end");
	return 0;
}

int end_look_there(struct end *end)
{
	char name[NIC_PUBLISH_MAX];
	struct nic_remote *bell;
	int ret;

	end_name(name, &end->job, end->there, "bell");
	ret = nic_connect_irq_name(end->ctx, nic_remote_node(end->bell), name,
				   end->job.secret, 0, &bell);
	if (ret)
		return end_fail(end, ret, "find the other end any more");
	nic_disconnect(bell);
	return 0;
}

/* Also for an end that is open in part, or not at all; keeps @error */
void end_close(struct end *end)
{
	nic_queue_destroy(end->queue);
	nic_disconnect(end->bell);
	if (end->map)
		nic_unmap_remote(end->map, nic_remote_bytes(end->remote));
	nic_disconnect(end->remote);
	nic_irq_destroy(end->irq);
	nic_segment_free(end->segment);
	nic_close(end->ctx);
	end->queue = NULL;
	end->bell = NULL;
	end->map = NULL;
	end->remote = NULL;
	end->irq = NULL;
	end->segment = NULL;
	end->ctx = NULL;
}
