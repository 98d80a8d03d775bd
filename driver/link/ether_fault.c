// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_fault.c - what a bad wire does to frames, on purpose: to test programs,
 * and this driver
 *
 * Frames are lost, doubled, damaged or late between the network device and the
 * node they are for. Which ones follows from the seed and from how many came
 * before, so the same frames meet the same faults. Frames that are late are in
 * @held, and refer to the memory of who sent them as in any other queue.
 */
#include <linux/ktime.h>
#include <linux/skbuff.h>

#include "ether.h"

/* Frames that are late at a time, and bytes of them; more are lost, as in a full queue */
#define FAULT_HELD_MAX	4096U
#define FAULT_HELD_BYTES	(32U << 20)

#define FAULT_WHOLE	1000000U	/* parts per million */

/* Late frames taken at a time, and until the next */
#define FAULT_BATCH	16U
#define FAULT_PAUSE_NS	(10 * NSEC_PER_USEC)

/**
 * struct fault_cb - in skb->cb of a frame that is late
 * @due: when it arrives, ns
 */
struct fault_cb {
	u64 due;
};

static struct fault_cb *fault_cb(struct sk_buff *skb)
{
	return (struct fault_cb *)skb->cb;
}

/* Always takes a number, so that one share does not change whom others hit */
static bool fault_hits(struct ether_fault *fault, u32 share)
{
	return prandom_u32_state(&fault->random) % FAULT_WHOLE < share;
}

/**
 * struct fault_fate - what becomes of a frame
 * @drop: it is lost
 * @twice: it comes twice
 * @damage: a bit of it is wrong
 * @bit: which, modulo its length
 * @late: it has to wait
 */
struct fault_fate {
	bool drop;
	bool twice;
	bool damage;
	u32 bit;
	bool late;
};

static void fault_decide(struct ether_fault *fault, struct fault_fate *fate)
{
	const struct dmanic_fault *rule = &fault->rule;

	fate->drop = fault_hits(fault, rule->drop);
	fate->twice = fault_hits(fault, rule->duplicate);
	fate->damage = fault_hits(fault, rule->corrupt);
	fate->bit = prandom_u32_state(&fault->random);
	fate->late = !fault_hits(fault, rule->reorder) && rule->delay_ns;
	fault->hit += fate->drop || fate->twice || fate->damage || fate->late;
}

/* A copy, for what it refers to is the sender's memory; NULL: lost after all */
static struct sk_buff *fault_damaged(const struct sk_buff *skb, u32 bit)
{
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);

	if (!copy)
		return NULL;
	/* A head that must be contiguous still is: all of a copy is */
	bit %= copy->len * 8;
	copy->data[bit / 8] ^= 1U << bit % 8;
	return copy;
}

static void fault_hold(struct ether_node *en, struct sk_buff *skb)
{
	struct ether_fault *fault = &en->fault;
	struct sk_buff *clone = NULL;

	spin_lock_bh(&en->lock);
	if (!en->stopped && skb_queue_len(&fault->held) < FAULT_HELD_MAX &&
	    fault->held_bytes + skb->truesize <= FAULT_HELD_BYTES)
		clone = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (clone) {
		fault_cb(clone)->due = ktime_get_ns() + fault->rule.delay_ns;
		if (skb_queue_empty(&fault->held))
			hrtimer_start(&fault->timer, ns_to_ktime(fault_cb(clone)->due),
				      HRTIMER_MODE_ABS_SOFT);
		__skb_queue_tail(&fault->held, clone);
		fault->held_bytes += clone->truesize;
	}
	spin_unlock_bh(&en->lock);
}

/**
 * dmanic_ether_fault() - a frame came, over a bad wire
 * @en: for this node; softirqs are off
 * @skb: the frame, as for dmanic_ether_receive(); stays the caller's
 */
void dmanic_ether_fault(struct ether_node *en, struct sk_buff *skb)
{
	struct sk_buff *damaged = NULL;
	struct fault_fate fate;
	int times;

	spin_lock_bh(&en->lock);
	fault_decide(&en->fault, &fate);
	spin_unlock_bh(&en->lock);
	if (fate.drop)
		return;
	if (fate.damage) {
		damaged = fault_damaged(skb, fate.bit);
		if (!damaged)
			return;
		skb = damaged;
	}
	for (times = 0; times <= fate.twice; times++) {
		if (fate.late)
			fault_hold(en, skb);
		else
			dmanic_ether_receive(en, skb);
	}
	consume_skb(damaged);
}

/* The first frame, if it is due; else the timer is set for it */
static struct sk_buff *fault_next(struct ether_node *en)
{
	struct ether_fault *fault = &en->fault;
	struct sk_buff *skb;

	spin_lock_bh(&en->lock);
	skb = skb_peek(&fault->held);
	if (skb && !en->stopped && fault_cb(skb)->due > ktime_get_ns()) {
		hrtimer_start(&fault->timer, ns_to_ktime(fault_cb(skb)->due),
			      HRTIMER_MODE_ABS_SOFT);
		skb = NULL;
	}
	if (skb) {
		__skb_unlink(skb, &fault->held);
		fault->held_bytes -= skb->truesize;
	}
	spin_unlock_bh(&en->lock);
	return skb;
}

/* Late frames arrive */
static enum hrtimer_restart fault_timer(struct hrtimer *timer)
{
	struct ether_node *en = container_of(timer, struct ether_node, fault.timer);
	struct sk_buff *skb;
	unsigned int nr;

	for (nr = 0; nr < FAULT_BATCH && (skb = fault_next(en)); nr++) {
		dmanic_ether_receive(en, skb);
		consume_skb(skb);
	}
	dmanic_ether_run(en);
	if (nr == FAULT_BATCH)
		hrtimer_start(timer, FAULT_PAUSE_NS, HRTIMER_MODE_REL_SOFT);
	return HRTIMER_NORESTART;
}

void dmanic_ether_fault_init(struct ether_node *en)
{
	__skb_queue_head_init(&en->fault.held);
	hrtimer_init(&en->fault.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	en->fault.timer.function = fault_timer;
}

/* None is later than one that comes now would be: their order is that of their times */
static void fault_hurry(struct ether_fault *fault)
{
	u64 latest = ktime_get_ns() + fault->rule.delay_ns;
	struct sk_buff *skb;

	skb_queue_walk(&fault->held, skb)
		fault_cb(skb)->due = min(fault_cb(skb)->due, latest);
	skb = skb_peek(&fault->held);
	if (skb)
		hrtimer_start(&fault->timer, ns_to_ktime(fault_cb(skb)->due),
			      HRTIMER_MODE_ABS_SOFT);
}

/* No frame comes any more, and none is to be late */
void dmanic_ether_fault_exit(struct ether_node *en)
{
	hrtimer_cancel(&en->fault.timer);
	__skb_queue_purge(&en->fault.held);
}

/**
 * dmanic_ether_set_fault() - make the wire bad, or good again
 * @node: of this node
 * @rule: how bad; all zero: not at all. Frames that are late come when they should
 *	have, or sooner if it has become less.
 */
void dmanic_ether_set_fault(struct dmanic_node *node, const struct dmanic_fault *rule)
{
	struct ether_node *en = to_ether(node);
	struct ether_fault *fault = &en->fault;

	spin_lock_bh(&en->lock);
	fault->rule = *rule;
	prandom_seed_state(&fault->random, rule->seed);
	WRITE_ONCE(fault->on, dmanic_fault_any(rule));
	fault_hurry(fault);
	spin_unlock_bh(&en->lock);
}

/**
 * dmanic_ether_get_fault() - how bad the wire is
 * @node: of this node
 * @rule: tells it
 */
void dmanic_ether_get_fault(struct dmanic_node *node, struct dmanic_fault *rule)
{
	struct ether_node *en = to_ether(node);

	spin_lock_bh(&en->lock);
	*rule = en->fault.rule;
	spin_unlock_bh(&en->lock);
}
