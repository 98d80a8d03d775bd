// SPDX-License-Identifier: GPL-2.0-only
/*
 * fake_dma - a DMA engine for memory copies that is made of software
 *
 * Owns a platform device, its driver and one channel. Descriptors complete in
 * softirq, from a timer, as those of an engine do from its interrupt. The
 * parameters make it slow, faulty or limited. Never loaded outside a test VM.
 *
 * No engine that copies with the CPU is faster than the CPU. So this one
 * looks first whether the bytes are there already, by samples: then there is
 * nothing to copy. That is so when a copy is repeated, as in a measurement, and
 * not when the bytes are others and random, as in tests.
 */
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>

#define SAMPLE_EVERY	SZ_4K
#define SAMPLE		16

static uint delay_us;
module_param(delay_us, uint, 0644);
MODULE_PARM_DESC(delay_us, "each descriptor takes so long");

static uint fail_nth;
module_param(fail_nth, uint, 0644);
MODULE_PARM_DESC(fail_nth, "every n-th descriptor fails, with rubbish written");

static uint lose_nth;
module_param(lose_nth, uint, 0644);
MODULE_PARM_DESC(lose_nth, "every n-th descriptor never ends");

static uint refuse_nth;
module_param(refuse_nth, uint, 0644);
MODULE_PARM_DESC(refuse_nth, "every n-th descriptor is not made");

static bool lie;
module_param(lie, bool, 0644);
MODULE_PARM_DESC(lie, "report success and copy nothing");

static uint align;
module_param(align, uint, 0644);
MODULE_PARM_DESC(align, "addresses and lengths are multiples of 1 << align; seen when bound");

static uint mask_bits = 64;
module_param(mask_bits, uint, 0644);
MODULE_PARM_DESC(mask_bits, "reaches memory below 1 << mask_bits; seen when bound");

static bool terminate = true;
module_param(terminate, bool, 0644);
MODULE_PARM_DESC(terminate, "descriptors can be terminated; seen when bound");

static bool finish;
module_param(finish, bool, 0644);
MODULE_PARM_DESC(finish, "descriptors that never end are done, and end when the channel is released");

static ulong taken;
module_param(taken, ulong, 0444);
MODULE_PARM_DESC(taken, "descriptors that were submitted");

static ulong copied;
module_param(copied, ulong, 0444);
MODULE_PARM_DESC(copied, "descriptors that ended well");

struct fake_desc {
	struct dma_async_tx_descriptor tx;
	struct list_head entry;
	dma_addr_t dst;
	dma_addr_t src;
	size_t bytes;
};

/**
 * struct fake - the engine
 * @device: what dmaengine sees
 * @chan: its only channel
 * @timer: ends descriptors
 * @lock: protects what follows
 * @busy: @timer runs or is going to
 * @prepared: how many were asked for
 * @ended: how many the timer came to
 * @submitted: not issued yet
 * @issued: being worked on, in order
 * @lost: never end
 */
struct fake {
	struct dma_device device;
	struct dma_chan chan;
	struct hrtimer timer;

	spinlock_t lock; /* protects what follows */
	bool busy;
	uint prepared;
	uint ended;
	struct list_head submitted;
	struct list_head issued;
	struct list_head lost;
};

static struct fake *to_fake(struct dma_chan *chan)
{
	return container_of(chan, struct fake, chan);
}

static ktime_t fake_delay(void)
{
	return ns_to_ktime((u64)delay_us * NSEC_PER_USEC);
}

static bool is_nth(uint count, uint nth)
{
	return nth && count % nth == 0;
}

/* ---- the engine ---- */

static bool there_already(const void *to, const void *from, size_t bytes)
{
	size_t i;

	if (bytes < SAMPLE)
		return false;
	for (i = 0; i + SAMPLE <= bytes; i += SAMPLE_EVERY)
		if (memcmp(to + i, from + i, SAMPLE) != 0)
			return false;
	return !memcmp(to + bytes - SAMPLE, from + bytes - SAMPLE, SAMPLE);
}

static enum dmaengine_tx_result fake_copy(const struct fake_desc *desc, bool fail)
{
	void *to = phys_to_virt(desc->dst), *from = phys_to_virt(desc->src);

	if (fail) {
		memset(to, 0x5a, desc->bytes);
		return DMA_TRANS_WRITE_FAILED;
	}
	if (!lie && !there_already(to, from, desc->bytes))
		memcpy(to, from, desc->bytes);
	return DMA_TRANS_NOERROR;
}

/* Softirq */
static void fake_end(struct fake *fake, struct fake_desc *desc, bool fail)
{
	struct dmaengine_result result = { .result = fake_copy(desc, fail) };

	spin_lock(&fake->lock);
	fake->chan.completed_cookie = desc->tx.cookie;
	spin_unlock(&fake->lock);
	copied += !fail;
	if (desc->tx.callback_result)
		desc->tx.callback_result(desc->tx.callback_param, &result);
	else if (desc->tx.callback)
		desc->tx.callback(desc->tx.callback_param);
	kfree(desc);
}

static enum hrtimer_restart fake_fire(struct hrtimer *timer)
{
	struct fake *fake = container_of(timer, struct fake, timer);
	struct fake_desc *desc;
	uint ended = 0;

	for (;;) {
		spin_lock(&fake->lock);
		desc = list_first_entry_or_null(&fake->issued, struct fake_desc, entry);
		fake->busy = !!desc;
		if (desc) {
			list_del(&desc->entry);
			ended = ++fake->ended;
		}
		if (desc && is_nth(ended, lose_nth)) {
			list_add_tail(&desc->entry, &fake->lost);
			spin_unlock(&fake->lock);
			continue;
		}
		spin_unlock(&fake->lock);
		if (!desc)
			return HRTIMER_NORESTART;
		fake_end(fake, desc, is_nth(ended, fail_nth));
		if (delay_us) {
			hrtimer_forward_now(timer, fake_delay());
			return HRTIMER_RESTART;
		}
	}
}

/* ---- what a client calls ---- */

static dma_cookie_t fake_submit(struct dma_async_tx_descriptor *tx)
{
	struct fake_desc *desc = container_of(tx, struct fake_desc, tx);
	struct fake *fake = to_fake(tx->chan);
	dma_cookie_t cookie;

	spin_lock_bh(&fake->lock);
	cookie = tx->chan->cookie + 1;
	if (cookie < DMA_MIN_COOKIE)
		cookie = DMA_MIN_COOKIE;
	tx->cookie = cookie;
	tx->chan->cookie = cookie;
	list_add_tail(&desc->entry, &fake->submitted);
	taken++;
	spin_unlock_bh(&fake->lock);
	return cookie;
}

static struct dma_async_tx_descriptor *
fake_prepare(struct dma_chan *chan, dma_addr_t dst, dma_addr_t src, size_t bytes,
	     unsigned long flags)
{
	size_t mask = (1UL << chan->device->copy_align) - 1;
	struct fake *fake = to_fake(chan);
	struct fake_desc *desc;
	uint prepared;

	spin_lock_bh(&fake->lock);
	prepared = ++fake->prepared;
	spin_unlock_bh(&fake->lock);
	if (is_nth(prepared, refuse_nth) || WARN_ON((dst | src | bytes) & mask))
		return NULL;
	desc = kzalloc(sizeof(*desc), GFP_NOWAIT);
	if (!desc)
		return NULL;
	dma_async_tx_descriptor_init(&desc->tx, chan);
	desc->tx.flags = flags;
	desc->tx.tx_submit = fake_submit;
	desc->dst = dst;
	desc->src = src;
	desc->bytes = bytes;
	return &desc->tx;
}

static void fake_issue(struct dma_chan *chan)
{
	struct fake *fake = to_fake(chan);

	spin_lock_bh(&fake->lock);
	list_splice_tail_init(&fake->submitted, &fake->issued);
	if (!fake->busy && !list_empty(&fake->issued)) {
		fake->busy = true;
		hrtimer_start(&fake->timer, fake_delay(), HRTIMER_MODE_REL_SOFT);
	}
	spin_unlock_bh(&fake->lock);
}

static enum dma_status fake_status(struct dma_chan *chan, dma_cookie_t cookie,
				   struct dma_tx_state *state)
{
	dma_set_tx_state(state, chan->completed_cookie, chan->cookie, 0);
	return dma_async_is_complete(cookie, chan->completed_cookie, chan->cookie);
}

static int fake_terminate(struct dma_chan *chan)
{
	struct fake *fake = to_fake(chan);
	struct fake_desc *desc, *next;
	LIST_HEAD(gone);

	spin_lock_bh(&fake->lock);
	list_splice_init(&fake->submitted, &gone);
	list_splice_init(&fake->issued, &gone);
	list_splice_init(&fake->lost, &gone);
	spin_unlock_bh(&fake->lock);
	list_for_each_entry_safe(desc, next, &gone, entry)
		kfree(desc);
	return 0;
}

static void fake_synchronize(struct dma_chan *chan)
{
	struct fake *fake = to_fake(chan);

	hrtimer_cancel(&fake->timer);
	spin_lock_bh(&fake->lock);
	fake->busy = false;
	spin_unlock_bh(&fake->lock);
}

static int fake_open(struct dma_chan *chan)
{
	return 1;
}

/* As engines do whose interrupt was late */
static void fake_finish(struct fake *fake)
{
	struct fake_desc *desc, *next;
	LIST_HEAD(lost);

	local_bh_disable();
	spin_lock(&fake->lock);
	list_splice_init(&fake->lost, &lost);
	spin_unlock(&fake->lock);
	list_for_each_entry_safe(desc, next, &lost, entry)
		fake_end(fake, desc, false);
	local_bh_enable();
}

static void fake_close(struct dma_chan *chan)
{
	if (finish)
		fake_finish(to_fake(chan));
	fake_terminate(chan);
	fake_synchronize(chan);
}

/* ---- the device ---- */

static void fake_release(struct dma_device *device)
{
	kfree(container_of(device, struct fake, device));
}

/* A client that did not notice before is still there, and is going to crash */
static void fake_remove(void *data)
{
	struct fake *fake = data;

	WARN_ON(fake->chan.client_count);
	dma_async_device_unregister(&fake->device);
}

static void fake_describe(struct fake *fake, struct device *dev)
{
	struct dma_device *device = &fake->device;

	dma_cap_set(DMA_MEMCPY, device->cap_mask);
	device->dev = dev;
	device->copy_align = align;
	device->device_alloc_chan_resources = fake_open;
	device->device_free_chan_resources = fake_close;
	device->device_prep_dma_memcpy = fake_prepare;
	device->device_issue_pending = fake_issue;
	device->device_tx_status = fake_status;
	if (terminate)
		device->device_terminate_all = fake_terminate;
	device->device_synchronize = fake_synchronize;
	device->device_release = fake_release;
	INIT_LIST_HEAD(&device->channels);
	fake->chan.device = device;
	fake->chan.cookie = DMA_MIN_COOKIE;
	fake->chan.completed_cookie = DMA_MIN_COOKIE;
	list_add_tail(&fake->chan.device_node, &device->channels);
}

static int fake_probe(struct platform_device *pdev)
{
	struct fake *fake;
	int ret;

	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(mask_bits));
	if (ret)
		return ret;
	fake = kzalloc(sizeof(*fake), GFP_KERNEL);
	if (!fake)
		return -ENOMEM;
	spin_lock_init(&fake->lock);
	INIT_LIST_HEAD(&fake->submitted);
	INIT_LIST_HEAD(&fake->issued);
	INIT_LIST_HEAD(&fake->lost);
	hrtimer_init(&fake->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	fake->timer.function = fake_fire;
	fake_describe(fake, &pdev->dev);
	ret = dma_async_device_register(&fake->device);
	if (ret) {
		kfree(fake);
		return ret;
	}
	return devm_add_action_or_reset(&pdev->dev, fake_remove, fake);
}

static struct platform_driver fake_driver = {
	.probe = fake_probe,
	.driver = { .name = "fake_dma" },
};

static struct platform_device *fake_device;

static int __init fake_init(void)
{
	int ret = platform_driver_register(&fake_driver);

	if (ret)
		return ret;
	fake_device = platform_device_register_simple("fake_dma", PLATFORM_DEVID_NONE,
						      NULL, 0);
	if (IS_ERR(fake_device)) {
		platform_driver_unregister(&fake_driver);
		return PTR_ERR(fake_device);
	}
	return 0;
}

static void __exit fake_exit(void)
{
	platform_device_unregister(fake_device);
	platform_driver_unregister(&fake_driver);
}

module_init(fake_init);
module_exit(fake_exit);
MODULE_DESCRIPTION("A DMA engine made of software, for tests");
MODULE_LICENSE("GPL");
