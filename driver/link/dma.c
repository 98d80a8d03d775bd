// SPDX-License-Identifier: GPL-2.0-only
/*
 * dma.c - a channel of a DMA engine of the machine (dmaengine, DMA_MEMCPY)
 *
 * A fabric asks for one channel when it is made and gives it back with its last
 * node. One for the fabric, not one a node: channels are few and exclusive,
 * and its nodes share the bandwidth of one memory anyway. One for the fabric,
 * not one for the module: fabrics come and go, and so do engines, which are
 * looked for when a fabric is made. What is done with it: dma_copy.c.
 *
 * Before a driver lets go of the engine, the bus tells
 * (BUS_NOTIFY_UNBIND_DRIVER) and the channel is given back under dma->lock; no
 * descriptor is ever under way then.
 */
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/slab.h>

#include "dma.h"
#include "dma_internal.h"
#include "dmanic.h"
#include "link.h"

/* ---- the parameter ---- */

enum dma_mode { DMA_OFF, DMA_AUTO, DMA_ALWAYS };

static const char * const dma_modes[] = { "off", "auto", "always" };
static int dma_mode = DMA_AUTO;

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
MODULE_PARM_DESC(dma, "auto: loop fabrics that are made from now on copy with a DMA engine where it is faster than the CPU; always: also where it is slower; off: never");

/* ---- the channel ---- */

/**
 * dmanic_dma_lose() - give the channel back, if there is one
 * @dma: whose; its lock is held
 * @state: what it has become
 *
 * Nothing is in flight, or releasing the channel has to stop it.
 */
void dmanic_dma_lose(struct dmanic_dma *dma, enum dmanic_dma_state state)
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
	dmanic_dma_lose(dma, DMANIC_DMA_REMOVED);
	mutex_unlock(&dma->lock);
	return NOTIFY_OK;
}

/*
 * An engine that cannot reach all memory would need to know which it can; and
 * one whose driver may leave without a word is not safe. Those that complete out
 * of order (idxd) are both: they take single channels away, and cannot be stopped
 * when a copy is lost.
 */
static bool dma_suits(struct dma_chan *chan)
{
	return !dma_addressing_limited(dmaengine_get_dma_device(chan)) &&
	       !dma_has_cap(DMA_COMPLETION_NO_ORDER, chan->device->cap_mask) &&
	       chan->device->dev->bus;
}

/* Of so many providers an engine is asked for, when those before have none to give */
#define DMA_TRIES	4

/**
 * struct dma_search - providers of engines
 * @nr: so many were tried
 * @tried: they, referenced
 * @found: another one that has a free one that suits, referenced, or NULL
 */
struct dma_search {
	u32 nr;
	struct device *tried[DMA_TRIES];
	struct device *found;
};

/* Takes none, but remembers who has it */
static bool dma_find(struct dma_chan *chan, void *arg)
{
	struct device *provider = chan->device->dev;
	struct dma_search *search = arg;
	u32 i;

	for (i = 0; i < search->nr; i++)
		if (search->tried[i] == provider)
			return false;
	if (!search->found && dma_suits(chan))
		search->found = get_device(provider);
	return false;
}

static bool dma_is_of(struct dma_chan *chan, void *provider)
{
	return chan->device->dev == provider && dma_suits(chan);
}

/* The provider's device is locked, and bound */
static bool dma_take(struct dmanic_dma *dma, const dma_cap_mask_t *mask)
{
	struct dma_chan *chan;

	dma->removal.notifier_call = dma_notified;
	if (bus_register_notifier(dma->provider->bus, &dma->removal))
		return false;
	chan = dma_request_channel(*mask, dma_is_of, dma->provider);
	if (!chan) {
		bus_unregister_notifier(dma->provider->bus, &dma->removal);
		return false;
	}
	dma->dev = get_device(dmaengine_get_dma_device(chan));
	strscpy(dma->name, dma_chan_name(chan), sizeof(dma->name));
	dma->chan = chan;
	dma->state = DMANIC_DMA_MEASURING;
	return true;
}

/*
 * A driver is unbound with its device locked: so the channel of one that is bound stays as
 * long as the lock is held, and after that the notifier misses nothing.
 */
static void dma_acquire(struct dmanic_dma *dma)
{
	struct dma_search search = {};
	struct device *provider;
	dma_cap_mask_t mask;
	bool taken = false;

	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	while (!taken && search.nr < DMA_TRIES) {
		search.found = NULL;
		dma_request_channel(mask, dma_find, &search);
		provider = search.found;
		if (!provider)
			break;
		dma->provider = provider;
		device_lock(provider);
		taken = provider->driver && dma_take(dma, &mask);
		device_unlock(provider);
		if (!taken)
			search.tried[search.nr++] = provider;
	}
	if (!taken)
		dma->provider = NULL;
	while (search.nr)
		put_device(search.tried[--search.nr]);
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
	int mode;

	if (!dma)
		return NULL;
	refcount_set(&dma->ref, 1);
	mutex_init(&dma->lock);
	init_completion(&dma->done);
	dma->threshold = DMANIC_DMA_NEVER;
	mode = READ_ONCE(dma_mode);
	dma->always = mode == DMA_ALWAYS;
	dma->state = mode == DMA_OFF ? DMANIC_DMA_DISABLED : DMANIC_DMA_NONE;
	if (mode != DMA_OFF)
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
		/* Whose driver may be unbound now: to be heard of until there is no channel */
		mutex_lock(&dma->lock);
		dmanic_dma_lose(dma, DMANIC_DMA_REMOVED);
		mutex_unlock(&dma->lock);
		/* Without the lock, which the notifier takes */
		bus_unregister_notifier(dma->provider->bus, &dma->removal);
		put_device(dma->dev);
		put_device(dma->provider);
	}
	kfree(dma);
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
