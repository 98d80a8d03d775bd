// SPDX-License-Identifier: GPL-2.0-only
/*
 * dma.c - copying with a DMA engine of the machine (dmaengine, DMA_MEMCPY)
 *
 * A fabric asks for one channel when it is made and gives it back with its last
 * node. One for the fabric, not one a node: channels are few and exclusive,
 * and its nodes share the bandwidth of one memory anyway. One for the fabric,
 * not one for the module: fabrics come and go, and so do engines, which are
 * looked for when a fabric is made. The workers of a fabric's nodes take turns,
 * but nobody waits for his turn: who finds the channel in use copies with his
 * CPU, as who has no channel does.
 *
 * dma->lock is held from the submission of a copy to its end, so whoever holds
 * it knows that nothing is in flight. Before a driver lets go of the engine, the
 * bus tells (BUS_NOTIFY_UNBIND_DRIVER) and the channel is given back under the
 * lock; no descriptor is ever under way then.
 *
 * The bytes are always right: what the engine could not take, failed or lost is
 * copied by the CPU before dmanic_dma_run() returns. A lost descriptor is
 * terminated first, or the channel is released, which stops it: a late write
 * must not find the memory in other hands. The channel of an engine that lost a
 * descriptor, or fails often, is given up for good.
 */
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "dma.h"
#include "dmanic.h"
#include "link.h"

/* Smallest copy that is measured, and so that an engine may get */
#define DMA_MIN		SZ_4K
#define DMA_BATCH	(DMANIC_DMA_MAX / DMA_MIN)
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
 * @provider: the device whose driver it is, referenced; NULL: there never was one
 * @dev: the device that does it, referenced: memory is mapped for it
 * @removal: tells that @provider loses its driver
 * @lock: protects what follows; held during a copy
 * @chan: NULL when there is none (any more)
 * @poll_ns: what sleeping costs more than polling
 * @errors: weighed, see DMA_ERROR
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

/* ---- the parameter ---- */

static const char * const dma_modes[] = { "off", "auto" };
static int dma_mode = 1;

static int dma_mode_set(const char *value, const struct kernel_param *param)
{
	int mode = sysfs_match_string(dma_modes, value);

	if (mode < 0)
		return mode;
	WRITE_ONCE(dma_mode, mode);
	return 0;
}

static int dma_mode_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", dma_modes[READ_ONCE(dma_mode)]);
}

static const struct kernel_param_ops dma_mode_ops = {
	.set = dma_mode_set,
	.get = dma_mode_get,
};
module_param_cb(dma, &dma_mode_ops, NULL, 0644);
MODULE_PARM_DESC(dma, "auto: loop fabrics that are made from now on copy with a DMA engine where it is faster than the CPU; off: never");

/* ---- the channel ---- */

/* Give the channel back; nothing is in flight, or releasing it has to stop it */
static void dma_lose(struct dmanic_dma *dma, enum dmanic_dma_state state)
{
	lockdep_assert_held(&dma->lock);

	if (!dma->chan)
		return;
	WRITE_ONCE(dma->threshold, DMANIC_DMA_NEVER);
	WRITE_ONCE(dma->state, state);
	dma_release_channel(dma->chan);
	dma->chan = NULL;
	if (state == DMANIC_DMA_FAILED)
		pr_warn("dmanic: %s failed and is not used any more by this fabric\n",
			dma->name);
}

static int dma_notified(struct notifier_block *block, unsigned long action,
			void *device)
{
	struct dmanic_dma *dma = container_of(block, struct dmanic_dma, removal);

	if (action != BUS_NOTIFY_UNBIND_DRIVER || device != dma->provider)
		return NOTIFY_DONE;
	mutex_lock(&dma->lock);
	dma_lose(dma, DMANIC_DMA_REMOVED);
	mutex_unlock(&dma->lock);
	return NOTIFY_OK;
}

/*
 * An engine that cannot reach all memory would need to know which it can; and
 * one whose driver may leave without a word is not safe.
 */
static bool dma_suits(struct dma_chan *chan, void *unused)
{
	return !dma_addressing_limited(dmaengine_get_dma_device(chan)) &&
	       chan->device->dev->bus;
}

/* From here on its removal is noticed. False: it is gone already */
static bool dma_watch(struct dmanic_dma *dma)
{
	struct device *provider = dma->provider;
	bool ret;

	/* Held while a driver is unbound: the notifier misses nothing */
	device_lock(provider);
	dma->removal.notifier_call = dma_notified;
	ret = provider->driver &&
	      !bus_register_notifier(provider->bus, &dma->removal);
	device_unlock(provider);
	return ret;
}

static void dma_acquire(struct dmanic_dma *dma)
{
	struct dma_chan *chan;
	dma_cap_mask_t mask;

	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	chan = dma_request_channel(mask, dma_suits, NULL);
	if (!chan)
		return;
	/* All before the notifier may come, which is from dma_watch() on */
	dma->provider = get_device(chan->device->dev);
	dma->dev = get_device(dmaengine_get_dma_device(chan));
	strscpy(dma->name, dma_chan_name(chan), sizeof(dma->name));
	dma->chan = chan;
	dma->state = DMANIC_DMA_MEASURING;
	if (dma_watch(dma))
		return;
	dma->state = DMANIC_DMA_NONE;
	dma->chan = NULL;
	dma->name[0] = '\0';
	dma_release_channel(chan);
	put_device(dma->dev);
	put_device(dma->provider);
	dma->provider = NULL;
}

/**
 * dmanic_dma_create() - look for an engine for a new fabric
 *
 * Return: an object with one reference, whether or not there is an engine; NULL
 * without memory.
 */
struct dmanic_dma *dmanic_dma_create(void)
{
	struct dmanic_dma *dma = kzalloc(sizeof(*dma), GFP_KERNEL);

	if (!dma)
		return NULL;
	refcount_set(&dma->ref, 1);
	mutex_init(&dma->lock);
	init_completion(&dma->done);
	dma->threshold = DMANIC_DMA_NEVER;
	dma->state = READ_ONCE(dma_mode) ? DMANIC_DMA_NONE : DMANIC_DMA_DISABLED;
	if (dma->state == DMANIC_DMA_NONE)
		dma_acquire(dma);
	return dma;
}

/**
 * dmanic_dma_get() - one more user
 * @dma: from dmanic_dma_create()
 *
 * Return: @dma.
 */
struct dmanic_dma *dmanic_dma_get(struct dmanic_dma *dma)
{
	refcount_inc(&dma->ref);
	return dma;
}

/**
 * dmanic_dma_put() - one user less; the last one gives the channel back
 * @dma: from dmanic_dma_create()
 */
void dmanic_dma_put(struct dmanic_dma *dma)
{
	if (!refcount_dec_and_test(&dma->ref))
		return;
	if (dma->provider) {
		/* Without the lock, which the notifier takes */
		bus_unregister_notifier(dma->provider->bus, &dma->removal);
		mutex_lock(&dma->lock);
		dma_lose(dma, DMANIC_DMA_REMOVED);
		mutex_unlock(&dma->lock);
		put_device(dma->dev);
		put_device(dma->provider);
	}
	kfree(dma);
}

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
		dma_lose(dma, DMANIC_DMA_FAILED);
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
		dma_lose(dma, DMANIC_DMA_FAILED);
}

/* ---- copying ---- */

static bool dma_aligned(struct dmanic_dma *dma, void *to, void *from, size_t bytes)
{
	return is_dma_copy_aligned(dma->chan->device, (size_t)to, (size_t)from, bytes);
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
 * dmanic_dma_threshold() - from how many bytes on dmanic_dma_run() is worth it
 * @dma: from dmanic_dma_create()
 *
 * Return: bytes, or DMANIC_DMA_NEVER.
 */
u32 dmanic_dma_threshold(const struct dmanic_dma *dma)
{
	return READ_ONCE(dma->threshold);
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

/**
 * dmanic_dma_tell() - what to show of it
 * @dma: from dmanic_dma_create()
 * @info: out
 */
void dmanic_dma_tell(const struct dmanic_dma *dma, struct dmanic_dma_info *info)
{
	info->state = READ_ONCE(dma->state);
	info->threshold = READ_ONCE(dma->threshold);
	if (info->threshold == DMANIC_DMA_NEVER)
		info->threshold = 0;
	info->name = dma->name;
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
	return copy.fallbacks ? 0 : ktime_get_ns() - begin;
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
		dma_lose(dma, state);
	}
out_unlock:
	mutex_unlock(&dma->lock);
}
