/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dma.h - a DMA engine of the machine that copies memory for a fabric
 */
#ifndef DMANIC_DMA_H
#define DMANIC_DMA_H

#include <linux/compiler.h>
#include <linux/types.h>

struct dmanic_dma;
struct dmanic_dma_info;
struct dmanic_mem;

/* Copied at once at most; also the largest copy that is measured */
#define DMANIC_DMA_MAX		262144U

/* No copy is long enough */
#define DMANIC_DMA_NEVER	(~0U)

/**
 * struct dmanic_dma_copy - what to copy, and what became of it
 * @dst: where to
 * @dst_offset: into @dst
 * @src: where from
 * @src_offset: into @src
 * @bytes: at most DMANIC_DMA_MAX; both ranges were checked
 * @moved: out: bytes that the engine copied
 * @fallbacks: out: pieces that it should have copied and did not
 * @slept_ns: out: of the caller's time
 */
struct dmanic_dma_copy {
	struct dmanic_mem *dst;
	u64 dst_offset;
	struct dmanic_mem *src;
	u64 src_offset;
	u64 bytes;
	u64 moved;
	u32 fallbacks;
	u64 slept_ns;
};

struct dmanic_dma *dmanic_dma_create(void);
struct dmanic_dma *dmanic_dma_get(struct dmanic_dma *dma);
void dmanic_dma_put(struct dmanic_dma *dma);
void dmanic_dma_measure(struct dmanic_dma *dma);
u32 dmanic_dma_threshold(const struct dmanic_dma *dma);
bool dmanic_dma_run(struct dmanic_dma *dma, struct dmanic_dma_copy *copy);
void dmanic_dma_tell(const struct dmanic_dma *dma, struct dmanic_dma_info *info);

#endif /* DMANIC_DMA_H */
