// SPDX-License-Identifier: GPL-2.0-only
/*
 * engine.c - a DMA engine made of software, and traffic that it may carry
 */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- the engine ---- */

long get_number(const char *path)
{
	FILE *file = fopen(path, "re");
	long number = -1;

	if (!file)
		return -errno;
	if (fscanf(file, "%ld", &number) != 1)
		number = -EIO;
	fclose(file);
	return number;
}

void engine_set(const char *parameter, unsigned int value)
{
	char path[96], text[16];

	snprintf(path, sizeof(path), "/sys/module/fake_dma/parameters/%s",
		 parameter);
	snprintf(text, sizeof(text), "%u", value);
	ASSERT_EQ(put_text(path, text), 0);
}

unsigned long engine_copied(void)
{
	return get_number("/sys/module/fake_dma/parameters/copied");
}

unsigned long engine_taken(void)
{
	return get_number("/sys/module/fake_dma/parameters/taken");
}

static bool engine_loaded(void)
{
	return !access("/sys/module/fake_dma", F_OK);
}

/* 0 or -errno, as the next: no program is started, for that takes longer here */
int engine_unload(void)
{
	return syscall(SYS_delete_module, "fake_dma", O_NONBLOCK) ? -errno : 0;
}

static int engine_insert(const char *parameters)
{
	struct utsname kernel;
	char path[256];
	int fd, ret;

	uname(&kernel);
	snprintf(path, sizeof(path), "/lib/modules/%s/updates/fake_dma.ko",
		 kernel.release);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return ret;
}

void engine_load(const char *parameters)
{
	int ret;

	/* Of a test that failed; its fabric is going */
	WAIT_FOR(!engine_loaded() || !engine_unload());
	ret = engine_insert(parameters);
	if (ret == -ENOENT)
		SKIP("the module fake_dma was not built for this kernel");
	ASSERT_EQ(ret, 0);
}

/* Whether somebody has the engine's channel; -errno: there is none */
long engine_in_use(void)
{
	long number = -ENOENT;
	glob_t found;

	if (!glob("/sys/devices/platform/fake_dma/dma/*/in_use", 0, NULL,
		  &found))
		number = get_number(found.gl_pathv[0]);
	globfree(&found);
	return number;
}

/* ---- fabrics ---- */

void engine_device(const struct fabric *of, struct device *device)
{
	char name[DMANIC_NAME_MAX];

	fabric_name(of, 0, name);
	ASSERT_EQ(device_get(name, device), 0);
}

__u32 engine_measured(const struct fabric *of, struct device *device)
{
	WAIT_FOR((engine_device(of, device),
		  device->dma_state != DMANIC_DMA_MEASURING));
	return device->dma_state;
}

/*
 * A fabric that uses its engine: it was found to be faster than the CPU. What else
 * runs on the machine may make it look slow once in a while, or for long. A kernel that
 * checks every access does so always, for it checks the engine's driver and not the
 * CPU's copy. Then the driver is told to use it all the same.
 */
struct fabric fabric_engined(const char *letter, struct device *device)
{
	struct fabric made;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		if (harness_slow() > 4 || i == 10)
			ASSERT_EQ(put_text(ENGINE_MODE, "always"), 0);
		fabric_make(&made, letter, 2, NULL);
		if (engine_measured(&made, device) == DMANIC_DMA_USED)
			break;
		ASSERT_EQ(device->dma_state, DMANIC_DMA_SLOW);
		ASSERT_EQ(fabric_delete(made.prefix, false), 0);
	}
	ASSERT_EQ(put_text(ENGINE_MODE, "auto"), 0);
	ASSERT_EQ(device->dma_state, DMANIC_DMA_USED);
	ASSERT_GE(device->dma_threshold, 4096);
	ASSERT_LE(device->dma_threshold, COPY);
	ASSERT_EQ(engine_in_use(), 1);
	return made;
}

__u64 node_stat(const struct node *node, enum dmanic_stats_attr which)
{
	struct device device;

	ASSERT_EQ(device_stats(node->name, &device), 0);
	return device.stats[which];
}

/* ---- traffic ---- */

void pair_connect(struct pair *pair)
{
	segment_export(&pair->remote, DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE);
	pair->handle = segment_connect(&pair->node, &pair->remote);
	pair->queue = queue_make(&pair->node, 4, 4);
}

struct pair pair_make(const struct fabric *of, unsigned int from)
{
	struct pair pair = { .seed = 1 };

	pair.node = node_open(of, from);
	pair.peer = node_open(of, !from);
	pair.local = segment_make(&pair.node, PAIR_BYTES);
	pair.remote = segment_make(&pair.peer, PAIR_BYTES);
	pair_connect(&pair);
	return pair;
}

void pair_close(struct pair *pair)
{
	queue_close(&pair->queue);
	segment_unmap(&pair->local);
	segment_unmap(&pair->remote);
	node_close(&pair->node);
	node_close(&pair->peer);
}

bool is_colour(const __u8 *data, size_t length)
{
	return !length || (data[0] == COLOUR &&
			   !memcmp(data, data + 1, length - 1));
}

/* New bytes each time: the engine leaves out what is there already */
void pair_move(struct pair *pair, __u8 opcode, __u64 local_offset,
	       __u64 remote_offset, __u64 length)
{
	struct dmanic_sqe sqe = sqe_move(opcode, pair->local.id, local_offset,
					 pair->handle, remote_offset, length);
	__u8 *local = pair->local.data + local_offset;
	__u8 *remote = pair->remote.data + remote_offset;
	bool write = opcode == DMANIC_OP_WRITE;
	__u8 *to = write ? remote : local, *from = write ? local : remote;
	__u64 at = write ? remote_offset : local_offset;
	struct dmanic_cqe cqe;

	memset(to - at, COLOUR, PAIR_BYTES);
	fill(from, length, ++pair->seed);
	cqe = queue_run(&pair->queue, &sqe);
	ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
	ASSERT_EQ(cqe.result, length);
	ASSERT_EQ(memcmp(to, from, length), 0);
	ASSERT_TRUE(is_colour(to - at, at));
	ASSERT_TRUE(is_colour(to + length, PAIR_BYTES - at - length));
}

void pair_write(struct pair *pair)
{
	pair_move(pair, DMANIC_OP_WRITE, 0, 0, COPY);
}
