// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * device.c - finding, opening and asking a device
 *
 * A context is a file descriptor and what the device said about itself when
 * it was opened, which is never written afterwards, so threads may share it; and a
 * list of what goes with it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "internal.h"

#define DEVICES		"/dev/dmanic"
#define SPIN_NS		20000U	/* about a sleep and its wake-up */
#define SPIN_NS_MAX	1000000000UL
#define LIST_MAX	200
#define INFO_MAX	4096		/* a larger size was never set */

unsigned int nic_version(void)
{
	return NIC_VERSION_MAJOR << 16 | NIC_VERSION_MINOR;
}

static uint32_t spin_ns(void)
{
	const char *text = getenv("NIC_SPIN_NS");
	unsigned long ns = SPIN_NS;
	char *end;

	if (text && *text) {
		ns = strtoul(text, &end, 10);
		if (*end || ns > SPIN_NS_MAX)
			ns = SPIN_NS;
	}
	/* With one processor, who polls keeps the other side from running. */
	return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? (uint32_t)ns : 0;
}

static int is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strlen(entry->d_name) < NIC_NAME_MAX;
}

/*
 * Names of the devices there are, in their order: "nic0, nic1, nic10". Return:
 * how many; @first is the first.
 */
static unsigned int list_devices(char list[LIST_MAX], char first[NIC_NAME_MAX])
{
	struct dirent **entries;
	size_t at = 0;
	int count, i;

	list[0] = 0;
	first[0] = 0;
	count = scandir(DEVICES, &entries, is_name, versionsort);
	if (count < 0)
		return 0;
	for (i = 0; i < count; i++) {
		if (!i)
			snprintf(first, NIC_NAME_MAX, "%.*s", NIC_NAME_MAX - 1,
				 entries[i]->d_name);
		/* enough to see what is meant */
		if (at < LIST_MAX - NIC_NAME_MAX - 6)
			at += (size_t)snprintf(list + at, LIST_MAX - at, "%s%s",
					       at ? ", " : "",
					       entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return (unsigned int)count;
}

static int fail_missing(const char *path)
{
	char list[LIST_MAX], first[NIC_NAME_MAX], cause[LIST_MAX + 80];

	if (list_devices(list, first)) {
		snprintf(cause, sizeof(cause), "no such device; there are %s", list);
		return nic_fail(NULL, -ENOENT, cause, "open %s", path);
	}
	if (access("/sys/module/dmanic", F_OK))
		return nic_fail(NULL, -ENOENT,
				"the driver is not loaded; \"modprobe dmanic\", then \"nicctl dev add nic type loop nodes 2\"",
				"open %s", path);
	return nic_fail(NULL, -ENOENT,
			"there is no device yet; \"nicctl dev add nic type loop nodes 2\" makes nic0 and nic1",
			"open %s", path);
}

static int fail_open(int err, const char *path)
{
	switch (err) {
	case ENOENT:
	case EISDIR:
	case ENOTDIR:
		return fail_missing(path);
	case EACCES:
	case EPERM:
		/* The file may be opened, so it is the device that refuses */
		if (!access(path, R_OK | W_OK))
			return nic_fail(NULL, -EACCES,
					"the device belongs to another network namespace; run there (\"ip netns exec\", \"nsenter -n\"), or with CAP_SYS_ADMIN",
					"open %s", path);
		return nic_fail(NULL, -EACCES,
				"permission denied; join the group dmanic (\"usermod -aG dmanic $USER\", log in again), or install the udev rule 60-dmanic.rules",
				"open %s", path);
	case EDQUOT:
		return nic_fail(NULL, -EDQUOT,
				"it is open too often, by this user or by all; close some, or run with CAP_SYS_RESOURCE if it is this user",
				"open %s", path);
	case ENXIO:
		err = ENODEV;
		break;
	}
	return nic_fail(NULL, -err, NULL, "open %s", path);
}

/* The path of @name, or of the device that is meant when there is none */
static int find_path(const char *name, char *path, size_t size)
{
	char list[LIST_MAX], first[NIC_NAME_MAX], cause[LIST_MAX + 80];
	unsigned int count;

	if (!name) {
		name = getenv("NIC_DEVICE");
		if (name && !*name)
			name = NULL;
	}
	if (!name) {
		count = list_devices(list, first);
		if (!count)
			return fail_missing(DEVICES "/*");
		if (count > 1) {
			snprintf(cause, sizeof(cause),
				 "there are %s; name one, or set NIC_DEVICE", list);
			return nic_fail(NULL, -ENOTUNIQ, cause, "choose a device");
		}
		name = first;
	}
	if ((size_t)snprintf(path, size, "%s%s", strchr(name, '/') ? "" :
			     DEVICES "/", name) >= size)
		return nic_fail(NULL, -ENOENT, "the path is too long", "open %.80s",
				name);
	return 0;
}

static int query(int fd, struct dmanic_query *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	return nic_ioctl(fd, DMANIC_IOC_QUERY, arg);
}

static void fill_info(struct nic_info *info, const struct dmanic_query *arg)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	memcpy(info->name, arg->name, NIC_NAME_MAX - 1);
	memcpy(info->link, arg->link, NIC_NAME_MAX - 1);
	info->node = arg->node;
	info->nodes = arg->nodes;
	info->features = arg->features;
	info->incarnation = arg->incarnation;
	info->max_segment_bytes = arg->max_segment_bytes;
	info->max_queue_entries = arg->max_queue_entries;
	info->max_irq_depth = arg->max_irq_depth;
	info->max_segments = arg->max_segments;
	info->max_queues = arg->max_queues;
	info->max_irqs = arg->max_irqs;
	info->max_connections = arg->max_connections;
	info->max_contexts = arg->max_contexts;
	info->max_poll_threads = arg->max_poll_threads;
	info->user_share = arg->user_share;
}

int nic_open(const char *name, struct nic_ctx **ctx)
{
	static uint64_t serial;
	struct dmanic_query arg;
	struct nic_ctx *new;
	char path[256];
	int ret;

	ret = find_path(name, path, sizeof(path));
	if (ret)
		return ret;
	new = calloc(1, sizeof(*new));
	if (!new)
		return nic_fail(NULL, -ENOMEM, NULL, "open %s", path);
	new->fd = open(path, O_RDWR | O_CLOEXEC);
	if (new->fd < 0) {
		ret = fail_open(errno, path);
		goto err_free;
	}
	ret = query(new->fd, &arg);
	if (ret) {
		nic_fail(NULL, ret, NULL, "ask %s what it can do", path);
		goto err_close;
	}
	if (arg.abi != DMANIC_ABI_VERSION ||
	    arg.sqe_size != sizeof(struct dmanic_sqe) ||
	    arg.cqe_size != sizeof(struct dmanic_cqe)) {
		ret = nic_fail(NULL, -EPROTO,
			       "library and driver do not fit; install both from one version",
			       "use %s (ABI %u)", path, arg.abi);
		goto err_close;
	}
	fill_info(&new->info, &arg);
	pthread_mutex_init(&new->lock, NULL);
	new->owner = getpid();
	new->spin_ns = spin_ns();
	new->serial = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
	*ctx = new;
	return 0;

err_close:
	close(new->fd);
err_free:
	free(new);
	return ret;
}

void nic_part_add(struct nic_ctx *ctx, struct nic_part *part, uint32_t number,
		  void (*end)(struct nic_part *part))
{
	part->ctx = ctx;
	part->number = number;
	part->end = end;
	pthread_mutex_lock(&ctx->lock);
	part->next = ctx->parts;
	part->link = &ctx->parts;
	if (part->next)
		part->next->link = &part->next;
	ctx->parts = part;
	pthread_mutex_unlock(&ctx->lock);
}

void nic_part_remove(struct nic_part *part)
{
	pthread_mutex_t *lock = &part->ctx->lock;

	pthread_mutex_lock(lock);
	*part->link = part->next;
	if (part->next)
		part->next->link = part->link;
	pthread_mutex_unlock(lock);
}

bool nic_inherited(pid_t owner)
{
	return owner != getpid();
}

/* A thread that is not here may hold the lock, but the way along @next is always whole */
static void forget_parts(struct nic_ctx *ctx)
{
	struct nic_part *part, *next;

	for (part = ctx->parts; part; part = next) {
		next = part->next;
		free(part);
	}
}

/*
 * The driver would end all of it with the last reference to the file, but somebody else may
 * have one: a forked child, or a command of an io_uring.
 */
void nic_close(struct nic_ctx *ctx)
{
	if (!ctx)
		return;
	if (nic_inherited(ctx->owner)) {
		forget_parts(ctx);
	} else {
		while (ctx->parts)
			ctx->parts->end(ctx->parts);
		pthread_mutex_destroy(&ctx->lock);
	}
	close(ctx->fd);
	free(ctx);
}

int nic_query(struct nic_ctx *ctx, struct nic_info *info)
{
	size_t size = info->size;
	struct dmanic_query arg;
	struct nic_info known;
	int ret;

	if (size < sizeof(known) || size > INFO_MAX)
		return nic_fail(ctx, -EINVAL,
				"the size in the info is wrong; set it to the sizeof() of the struct",
				"ask %s what it can do", ctx->info.name);
	ret = query(ctx->fd, &arg);
	if (ret)
		return nic_fail(ctx, ret, NULL, "ask %s what it can do",
				ctx->info.name);
	fill_info(&known, &arg);
	memset(info, 0, size);
	memcpy(info, &known, sizeof(known));
	info->size = size;
	return 0;
}
