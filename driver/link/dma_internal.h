/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dma_internal.h - a channel, as dma.c keeps it and dma_copy.c uses it
 */
#ifndef DMANIC_DMA_INTERNAL_H
#define DMANIC_DMA_INTERNAL_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include <linux/dmanic.h>
#include <linux/dmanic_netlink.h>

#include "dma.h"

/* Smallest copy that is measured, and so that an engine may get */
#define DMA_MIN		SZ_4K
#define DMA_BATCH	(DMANIC_DMA_MAX / DMA_MIN)

struct device;
struct dma_chan;

/**
 * struct dma_piece - a contiguous part of a copy
 * @dma: whose
 * @to: kernel address
 * @from: kernel address
 * @bytes: of it
 * @dst: @to, mapped
 * @src: @from, mapped
 * @ok: the engine says that it is done
 */
struct dma_piece {
	struct dmanic_dma *dma;
	void *to;
	void *from;
	size_t bytes;
	dma_addr_t dst;
	dma_addr_t src;
	bool ok;
};

/**
 * struct dmanic_dma - the channel of a fabric
 * @ref: nodes whose worker has not ended, and who makes the fabric
 * @state: enum dmanic_dma_state; written under @lock
 * @threshold: contiguous bytes from which on it is used; written under @lock
 * @name: of the channel; empty: there never was one
 * @always: use it from DMA_MIN bytes on, however fast it is
 * @provider: the device whose driver it is, referenced; NULL: there never was one
 * @dev: the device that does it, referenced: memory is mapped for it
 * @removal: tells that @provider loses its driver
 * @lock: protects what follows; held during a copy
 * @chan: NULL when there is none (any more)
 * @poll_ns: what sleeping costs more than polling
 * @errors: weighed, see DMA_ERROR in dma_copy.c
 * @left: descriptors in flight, and one while they are being submitted
 * @done: @left became zero
 * @nr_pieces: submitted
 * @pieces: of the copy under way
 */
struct dmanic_dma {
	refcount_t ref;
	u32 state;
	u32 threshold;
	char name[DMANIC_NAME_MAX];
	bool always;
	struct device *provider;
	struct device *dev;
	struct notifier_block removal;

	struct mutex lock; /* protects what follows; held during a copy */
	struct dma_chan *chan;
	u64 poll_ns;
	u32 errors;
	atomic_t left;
	struct completion done;
	u32 nr_pieces;
	struct dma_piece pieces[DMA_BATCH];
};

void dmanic_dma_lose(struct dmanic_dma *dma, enum dmanic_dma_state state);

#endif /* DMANIC_DMA_INTERNAL_H */
