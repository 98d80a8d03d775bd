/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * engine.h - a DMA engine made of software, and traffic that it may carry
 *
 * The engine is modules/fake_dma.c, which tells what its parameters do. Tests
 * load it afresh, for they leave it broken.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "dmanic_test.h"

#define MIB		(1UL << 20)
#define PAIR_BYTES	(2 * MIB)	/* of each of its segments */
#define COPY		(256UL << 10)	/* one descriptor */
#define COLOUR		0xee

/* The driver's parameter: off, auto or always */
#define ENGINE_MODE	"/sys/module/dmanic/parameters/dma"
#define ENGINE_DRIVER	"/sys/bus/platform/drivers/fake_dma/"

/* A node that writes to and reads from another */
struct pair {
	struct node node;
	struct node peer;
	struct segment local;
	struct segment remote;
	struct queue queue;
	__u32 handle;
	__u64 seed;
};

/* What stands in the file, or -errno */
long get_number(const char *path);

void engine_load(const char *parameters);
int engine_unload(void);
void engine_set(const char *parameter, unsigned int value);
unsigned long engine_taken(void);
unsigned long engine_copied(void);
long engine_in_use(void);

void engine_device(const struct fabric *of, struct device *device);
__u32 engine_measured(const struct fabric *of, struct device *device);
struct fabric fabric_engined(const char *letter, struct device *device);
__u64 node_stat(const struct node *node, enum dmanic_stats_attr which);

void pair_connect(struct pair *pair);
struct pair pair_make(const struct fabric *of, unsigned int from);
void pair_close(struct pair *pair);
bool is_colour(const __u8 *data, size_t length);
void pair_move(struct pair *pair, __u8 opcode, __u64 local_offset,
	       __u64 remote_offset, __u64 length);
void pair_write(struct pair *pair);

#endif /* ENGINE_H */
