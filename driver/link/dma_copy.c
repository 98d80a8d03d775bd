// SPDX-License-Identifier: GPL-2.0-only
/*
 * dma_copy.c - copying with the channel of a fabric, and whether it is worth it
 *
 * The workers of a fabric's nodes take turns, but nobody waits for his turn:
 * who finds the channel in use copies with his CPU, as who has no channel does.
 * dma->lock is held from the submission of a copy to its end, so whoever holds
 * it knows that nothing is in flight.
 *
 * The bytes are always right: what the engine could not take, failed or lost is
 * copied by the CPU before dmanic_dma_run() returns. A lost descriptor is
 * terminated first, or the channel is released, which stops it: a late write
 * must not find the memory in other hands. The channel of an engine that lost a
 * descriptor, or fails often, is given up for good.
 */
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sort.h>

#include "dma.h"
#include "dma_internal.h"
#include "dmanic.h"
#include "link.h"

/* How often each size is measured; odd, for the median */
#define DMA_REPEATS	5
/* The measurement begins no further copy after so long */
#define DMA_MEASURE_NS	(10 * NSEC_PER_MSEC)
/* Then a descriptor is lost: 1 MB/s is slower than any engine worth its name */
#define DMA_TIMEOUT	msecs_to_jiffies(250)
/* Polled at most, before sleeping */
#define DMA_POLL_MAX_NS	(50 * NSEC_PER_USEC)
/*
 * A batch with a failure weighs as much as so many without, and the most that
 * is borne: four in a row, or more than one in nine for long.
 */
#define DMA_ERROR	8
#define DMA_ERRORS_MAX	(4 * DMA_ERROR)

/* ---- a batch of descriptors ---- */

static void dma_called_back(void *data, const struct dmaengine_result *result)
{
	struct dma_piece *piece = data;
	struct dmanic_dma *dma = piece->dma;

	piece->ok = !result || result->result == DMA_TRANS_NOERROR;
	/* Orders @ok before @left, for who sees that it is zero */
	if (atomic_dec_and_test(&dma->left))
		complete(&dma->done);
}

static void dma_unmap(struct dmanic_dma *dma, struct dma_piece *piece)
{
	dma_unmap_single(dma->dev, piece->dst, piece->bytes, DMA_FROM_DEVICE);
	dma_unmap_single(dma->dev, piece->src, piece->bytes, DMA_TO_DEVICE);
}

static bool dma_map(struct dmanic_dma *dma, struct dma_piece *piece)
{
	struct device *dev = dma->dev;

	piece->dst = dma_map_single(dev, piece->to, piece->bytes, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, piece->dst))
		return false;
	piece->src = dma_map_single(dev, piece->from, piece->bytes, DMA_TO_DEVICE);
	if (!dma_mapping_error(dev, piece->src))
		return true;
	dma_unmap_single(dev, piece->dst, piece->bytes, DMA_FROM_DEVICE);
	return false;
}

/* Providers may hold a lock from preparing to submitting: nothing in between */
static bool dma_submit(struct dmanic_dma *dma, struct dma_piece *piece)
{
	struct dma_async_tx_descriptor *tx;

	if (!dma_map(dma, piece))
		return false;
	tx = dmaengine_prep_dma_memcpy(dma->chan, piece->dst, piece->src, piece->bytes,
				       DMA_PREP_INTERRUPT | DMA_CTRL_ACK);
	if (!tx)
		goto err_unmap;
	tx->callback_result = dma_called_back;
	tx->callback_param = piece;
	atomic_inc(&dma->left);
	if (!dma_submit_error(dmaengine_submit(tx)))
		return true;
	atomic_dec(&dma->left);
err_unmap:
	dma_unmap(dma, piece);
	return false;
}

static void dma_begin(struct dmanic_dma *dma)
{
	lockdep_assert_held(&dma->lock);

	dma->nr_pieces = 0;
	reinit_completion(&dma->done);
	atomic_set(&dma->left, 1);
}

/* False: the engine did not take it */
static bool dma_add(struct dmanic_dma *dma, void *to, void *from, size_t bytes)
{
	struct dma_piece *piece = &dma->pieces[dma->nr_pieces];

	if (dma->nr_pieces == DMA_BATCH)
		return false;
	*piece = (struct dma_piece) {
		.dma = dma, .to = to, .from = from, .bytes = bytes,
	};
	if (!dma_submit(dma, piece))
		return false;
	dma->nr_pieces++;
	return true;
}

/*
 * Wait for what was submitted: polling for as long as sleeping would cost, so
 * that at worst it costs twice. Return: it came to an end.
 */
static bool dma_wait(struct dmanic_dma *dma, u64 *slept_ns)
{
	u64 begin = ktime_get_ns();
	bool ret;

	dma_async_issue_pending(dma->chan);
	if (atomic_dec_and_test(&dma->left))
		return true;
	do {
		if (completion_done(&dma->done))
			return true;
		cpu_relax();
	} while (ktime_get_ns() - begin < dma->poll_ns);
	begin = ktime_get_ns();
	ret = wait_for_completion_timeout(&dma->done, DMA_TIMEOUT);
	*slept_ns += ktime_get_ns() - begin;
	return ret;
}

/*
 * End a batch. What the engine did not do is copied here, and counted as a
 * fallback. An engine that took some pieces and then no more is not faulty: it
 * has so many descriptors. @copy: counts in moved, fallbacks and slept_ns.
 */
static void dma_end(struct dmanic_dma *dma, struct dmanic_dma_copy *copy)
{
	bool failed = copy->fallbacks && !dma->nr_pieces;
	struct dma_piece *piece;
	bool lost;
	u32 i;

	lost = !dma_wait(dma, &copy->slept_ns);
	if (lost) {
		dmaengine_terminate_sync(dma->chan);
		/* Without a way to terminate, this stops the engine */
		dmanic_dma_lose(dma, DMANIC_DMA_FAILED);
	}
	for (i = 0; i < dma->nr_pieces; i++)
		dma_unmap(dma, &dma->pieces[i]);
	for (i = 0; i < dma->nr_pieces; i++) {
		piece = &dma->pieces[i];
		if (piece->ok) {
			copy->moved += piece->bytes;
			continue;
		}
		memmove(piece->to, piece->from, piece->bytes);
		copy->fallbacks++;
		failed = true;
	}
	if (failed)
		dma->errors += DMA_ERROR;
	else if (dma->errors)
		dma->errors--;
	if (dma->errors >= DMA_ERRORS_MAX)
		dmanic_dma_lose(dma, DMANIC_DMA_FAILED);
}

/* ---- copying ---- */

/*
 * Where the engine writes, whole cache lines are its: what is beside it could be
 * lost where DMA is not coherent.
 */
static bool dma_aligned(struct dmanic_dma *dma, void *to, void *from, size_t bytes)
{
	return IS_ALIGNED((size_t)to | bytes, dma_get_cache_alignment()) &&
	       is_dma_copy_aligned(dma->chan->device, (size_t)to, (size_t)from, bytes);
}

/* Contiguous pieces of the threshold or more go to the engine, others are copied */
static void dma_copy(struct dmanic_dma *dma, struct dmanic_dma_copy *copy)
{
	u64 done, run;
	void *to, *from;

	dma_begin(dma);
	for (done = 0; done < copy->bytes; done += run) {
		run = dmanic_mem_run(copy->dst, copy->dst_offset + done,
				     copy->bytes - done, &to);
		run = dmanic_mem_run(copy->src, copy->src_offset + done, run, &from);
		if (run >= dma->threshold && dma_aligned(dma, to, from, run)) {
			if (dma_add(dma, to, from, run))
				continue;
			copy->fallbacks++;
		}
		memmove(to, from, run);
	}
	dma_end(dma, copy);
}

/**
 * dmanic_dma_run() - copy with the engine; sleeps until it is done
 * @dma: from dmanic_dma_create()
 * @copy: what, its counts zero
 *
 * Return: true, all is copied, whoever did it; false, there is no engine or it
 * is in use, and nothing is copied.
 */
bool dmanic_dma_run(struct dmanic_dma *dma, struct dmanic_dma_copy *copy)
{
	bool ret;

	if (copy->bytes > DMANIC_DMA_MAX || !mutex_trylock(&dma->lock))
		return false;
	ret = dma->threshold != DMANIC_DMA_NEVER;
	if (ret)
		dma_copy(dma, copy);
	mutex_unlock(&dma->lock);
	return ret;
}

/* ---- measuring ---- */

/* The same bytes copied by the CPU or by the engine */
struct dma_trial {
	struct dmanic_dma *dma;
	void *to;
	void *from;
	u64 begin;
};

static int dma_compare_ns(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* How long the engine takes, from submission to completion; 0: it failed */
static u64 dma_try(struct dma_trial *trial, size_t bytes)
{
	struct dmanic_dma_copy copy = { };
	u64 begin = ktime_get_ns();

	dma_begin(trial->dma);
	if (!dma_add(trial->dma, trial->to, trial->from, bytes))
		return 0;
	dma_end(trial->dma, &copy);
	/* One that was too late for us may have ended well when its channel was given back */
	return copy.fallbacks || !trial->dma->chan ? 0 : ktime_get_ns() - begin;
}

/*
 * Median of DMA_REPEATS copies, by the engine or the CPU; of fewer when the time
 * is up, ~0 when it was up before. 0: the engine failed.
 */
static u64 dma_median(struct dma_trial *trial, size_t bytes, bool engine)
{
	u64 ns[DMA_REPEATS], begin;
	int i;

	for (i = 0; i < DMA_REPEATS; i++) {
		begin = ktime_get_ns();
		if (begin - trial->begin > DMA_MEASURE_NS)
			break;
		if (engine) {
			ns[i] = dma_try(trial, bytes);
			if (!ns[i])
				return 0;
		} else {
			memcpy(trial->to, trial->from, bytes);
			ns[i] = ktime_get_ns() - begin;
		}
	}
	if (!i)
		return ~0ULL;
	sort(ns, i, sizeof(*ns), dma_compare_ns, NULL);
	return ns[i / 2];
}

/* One large copy, looked at: an engine that says it is done must have done it */
static bool dma_proves_itself(struct dma_trial *trial)
{
	u32 *word = trial->from, i;

	for (i = 0; i < DMANIC_DMA_MAX / sizeof(*word); i++)
		word[i] = (i + 1) * 0x9e3779b1;
	memset(trial->to, 0, DMANIC_DMA_MAX);
	return dma_try(trial, DMANIC_DMA_MAX) &&
	       !memcmp(trial->to, trial->from, DMANIC_DMA_MAX);
}

/*
 * From the largest size downwards, for as long as the engine is faster: what is
 * slow is found out at once, and what was not measured is not used. The CPU
 * has the advantage that the bytes are in its caches.
 */
static enum dmanic_dma_state dma_find_threshold(struct dma_trial *trial, u32 *threshold)
{
	struct dmanic_dma *dma = trial->dma;
	u64 polling, sleeping, engine, cpu;
	u32 bytes;

	if (!dma_proves_itself(trial))
		return DMANIC_DMA_FAILED;
	trial->begin = ktime_get_ns();
	sleeping = dma_median(trial, DMA_MIN, true);
	dma->poll_ns = DMA_POLL_MAX_NS;
	polling = dma_median(trial, DMA_MIN, true);
	if (!sleeping || !polling)
		return DMANIC_DMA_FAILED;
	dma->poll_ns = sleeping > polling ?
		       min_t(u64, sleeping - polling, DMA_POLL_MAX_NS) : 0;
	if (dma->always) {
		*threshold = DMA_MIN;
		return DMANIC_DMA_USED;
	}
	for (bytes = DMANIC_DMA_MAX; bytes >= DMA_MIN; bytes /= 2) {
		engine = dma_median(trial, bytes, true);
		if (!engine)
			return DMANIC_DMA_FAILED;
		cpu = dma_median(trial, bytes, false);
		if (engine >= cpu || cpu == ~0ULL)
			break;
		*threshold = bytes;
	}
	return *threshold == DMANIC_DMA_NEVER ? DMANIC_DMA_SLOW : DMANIC_DMA_USED;
}

/**
 * dmanic_dma_measure() - find out from how many bytes on the engine is faster
 * @dma: from dmanic_dma_create()
 *
 * Called by each worker before its first operation; the first one measures, in
 * the context that copies later. It takes milliseconds. What is no faster is
 * given back at once.
 */
void dmanic_dma_measure(struct dmanic_dma *dma)
{
	gfp_t gfp = GFP_KERNEL | __GFP_COMP | __GFP_NOWARN;
	unsigned int order = get_order(DMANIC_DMA_MAX);
	struct dma_trial trial = { .dma = dma };
	u32 threshold = DMANIC_DMA_NEVER, state;

	if (!mutex_trylock(&dma->lock))
		return;
	if (!dma->chan || dma->state != DMANIC_DMA_MEASURING)
		goto out_unlock;
	trial.to = (void *)__get_free_pages(gfp, order);
	trial.from = (void *)__get_free_pages(gfp, order);
	state = DMANIC_DMA_FAILED;
	if (trial.to && trial.from)
		state = dma_find_threshold(&trial, &threshold);
	free_pages((unsigned long)trial.to, order);
	free_pages((unsigned long)trial.from, order);
	dma->errors = 0;
	if (state == DMANIC_DMA_USED) {
		WRITE_ONCE(dma->threshold, threshold);
		WRITE_ONCE(dma->state, state);
	} else {
		dmanic_dma_lose(dma, state);
	}
out_unlock:
	mutex_unlock(&dma->lock);
}
