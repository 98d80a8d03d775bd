// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_run.c - sending and completing, one at a time for a node
 *
 * Whoever changed something - a submission, a frame, the time - runs the node. Frames
 * of all peers that have some are built under the lock, a batch at a time, in turns;
 * then without it the batch is sent and what was done is completed. One at a time does
 * the one, and one the other; who finds somebody at it leaves it to him, who looks
 * again when he has the lock back.
 */
#include <linux/ktime.h>

#include "ether.h"

/* Operations completed behind one hold of the lock */
#define RUN_DONE	256U
/* Batches, and time, until others have the CPU */
#define RUN_ROUNDS	64U
#define RUN_NS		NSEC_PER_MSEC
/* One batch's time; blocks of a few bytes take long to gather */
#define RUN_BATCH_NS	(100 * NSEC_PER_USEC)
/* When it goes on, at least; what could not be sent may be by then */
#define RUN_PAUSE_NS	(20 * NSEC_PER_USEC)
/* A time that is over already is told so much later: others have the CPU */
#define RUN_SLACK_NS	1000U
/* What is held for READs is looked at so often */
#define RUN_READS_NS	(100 * NSEC_PER_MSEC)

/**
 * struct run - one batch
 * @sends: we are who sends
 * @completes: we are who completes
 * @nr: of en->batch
 * @done: operations to complete
 * @wakes: interrupts whose waiters are to be told
 */
struct run {
	bool sends;
	bool completes;
	unsigned int nr;
	struct list_head done;
	struct dmanic_wakes wakes;
};

/**
 * dmanic_ether_wake() - a peer may have something to send
 * @ep: the peer; under en->lock
 */
void dmanic_ether_wake(struct ether_peer *ep)
{
	lockdep_assert_held(&ep->en->lock);
	if (list_empty(&ep->active))
		list_add_tail(&ep->active, &ep->en->active);
}

/*
 * When the protocol is to be told the time, or what is held for READs is looked at. An
 * earlier call does no harm.
 */
static u64 run_deadline(const struct ether_peer *ep, u64 now)
{
	u64 at = dmanic_peer_deadline(&ep->peer);

	return ep->peer.nr_replies ? min(at, now + RUN_READS_NS) : at;
}

static void run_arm(struct ether_peer *ep, u64 now)
{
	u64 at = run_deadline(ep, now);

	if (at >= ep->armed)
		return;
	ep->armed = max(at, now + RUN_SLACK_NS);
	hrtimer_start(&ep->timer, ns_to_ktime(ep->armed), HRTIMER_MODE_ABS_SOFT);
}

static void run_unsent(struct ether_node *en, struct ether_batch *frame, u64 now)
{
	struct dmanic_out out = {
		.class = frame->class,
		.seq = frame->seq,
		.units = frame->units,
	};

	en->unsent++;
	if (!frame->ep)
		return;
	dmanic_peer_unsent(&frame->ep->peer, &out, now);
	dmanic_ether_wake(frame->ep);
}

/* What READs of another node asked for may have been taken back: those end, all of them */
static bool run_end_reads(struct ether_peer *ep)
{
	struct dmanic_xfer *xfer;
	bool some = false;
	u32 at = 0;

	while ((xfer = dmanic_peer_reading(&ep->peer, &at))) {
		if (dmanic_ether_read_allowed(ep->en, xfer))
			continue;
		dmanic_peer_cancel(&ep->peer, xfer, DMANIC_STATUS_NO_SEGMENT);
		some = true;
	}
	return some;
}

static bool run_may_send(const struct ether_peer *ep, const struct dmanic_out *out)
{
	const struct dmanic_xfer *xfer;
	u32 i;

	for (i = 0; i < out->nr_sources; i++) {
		xfer = out->source[i].xfer;
		if (xfer->kind == DMANIC_XFER_REPLY && !dmanic_ether_read_allowed(ep->en, xfer))
			return false;
	}
	return true;
}

/* The next frame of a peer; false: there is none now */
static bool run_build(struct ether_peer *ep, struct run *run, u64 now)
{
	struct ether_node *en = ep->en;
	struct ether_batch *frame = &en->batch[run->nr];
	struct dmanic_out *out = &en->out;

	if (!dmanic_peer_next(&ep->peer, now, out))
		return false;
	*frame = (struct ether_batch) {
		.ep = ep, .seq = out->seq, .units = out->units, .class = out->class,
	};
	if (!run_may_send(ep, out)) {
		run_end_reads(ep);
		dmanic_peer_withdrawn(&ep->peer, out, now);
		return true;
	}
	frame->skb = dmanic_ether_frame_build(en, out);
	if (frame->skb) {
		/* RPS, and devices that ask for it, keep those of a connection together */
		skb_set_hash(frame->skb, ep->hash, PKT_HASH_TYPE_L4);
		run->nr++;
	} else {
		run_unsent(ep->en, frame, now);
	}
	/* Without memory the protocol's pace says when to try again */
	return true;
}

/*
 * In the same hold of the lock as dmanic_ether_resume(), which looks at operations
 * that have ended. Others come in the next batch: a peer that dies may end very many.
 */
static void run_take_done(struct ether_node *en, struct run *run)
{
	struct list_head *last = &en->done;
	unsigned int nr;

	for (nr = 0; nr < RUN_DONE && !list_is_last(last, &en->done); nr++)
		last = last->next;
	if (nr)
		list_cut_position(&run->done, &en->done, last);
}

static bool run_nothing(const struct ether_node *en)
{
	return list_empty(&en->active) && skb_queue_empty(&en->answers) &&
	       list_empty(&en->done) && list_empty(&en->resumed) &&
	       list_empty(&en->behind) && !en->wakes.first;
}

/**
 * dmanic_ether_idle() - is nothing left to do, and nobody at it
 * @en: the node; under its lock
 *
 * Return: yes.
 */
bool dmanic_ether_idle(const struct ether_node *en)
{
	lockdep_assert_held(&en->lock);
	return run_nothing(en) && list_empty(&en->selves) && !en->sending && !en->completer;
}

static void run_frames(struct ether_node *en, struct run *run, u64 now)
{
	struct ether_peer *ep;
	struct sk_buff *skb;
	unsigned int tries, most = list_empty(&en->active) ? ETHER_BATCH : ETHER_BATCH / 2;

	/* Whoever gets answers does not keep others from sending */
	while (run->nr < most && (skb = __skb_dequeue(&en->answers)))
		en->batch[run->nr++] = (struct ether_batch) { .skb = skb };
	for (tries = 0; tries < 2 * ETHER_BATCH && run->nr < ETHER_BATCH; tries++) {
		ep = list_first_entry_or_null(&en->active, struct ether_peer, active);
		if (!ep)
			break;
		if (ep->check)
			dmanic_ether_check(ep);
		if (run_build(ep, run, now)) {
			list_move_tail(&ep->active, &en->active);
			if (en->out.nr_sources && ktime_get_ns() - now > RUN_BATCH_NS)
				break;
			continue;
		}
		list_del_init(&ep->active);
		run_arm(ep, now);
	}
}

/* Under the lock; @now: out; false: there is nothing for us to do */
static bool run_collect(struct ether_node *en, struct run *run, u64 *now)
{
	bool may_send = !en->sending && !en->silent;

	run->nr = 0;
	if (run_nothing(en))
		return false;
	*now = ktime_get_ns();
	/* First, and while others may send and complete: who waits may be very many */
	if (en->wakes.first) {
		swap(run->wakes, en->wakes);
		run->sends = false;
		run->completes = false;
		return true;
	}
	dmanic_ether_resume(en);
	if (may_send) {
		run_frames(en, run, *now);
		dmanic_ether_resume(en);
	}
	if (!en->completer)
		run_take_done(en, run);
	run->sends = run->nr;
	run->completes = !list_empty(&run->done);
	en->sending |= run->sends;
	if (run->completes)
		en->completer = current;
	return run->sends || run->completes || (may_send && !list_empty(&en->active)) ||
	       !list_empty(&en->resumed) || !list_empty(&en->behind) || en->wakes.first;
}

/* Others may send; under the lock */
static void run_sent(struct ether_node *en, struct run *run)
{
	u64 now = run->nr ? ktime_get_ns() : 0;
	unsigned int i;

	if (!run->sends)
		return;
	for (i = 0; i < run->nr; i++)
		run_unsent(en, &en->batch[i], now);
	run->sends = false;
	en->sending = false;
}

/* Without the lock, in order; what could not be sent is left */
static void run_send(struct ether_node *en, struct run *run)
{
	unsigned int i, failed = 0;

	for (i = 0; i < run->nr; i++) {
		if (!dmanic_ether_frame_send(en->port, en->batch[i].skb))
			en->batch[failed++] = en->batch[i];
	}
	run->nr = failed;
}

/* Without the lock, which is taken */
static void run_do(struct ether_node *en, struct run *run)
	__acquires(&en->lock)
{
	dmanic_irq_wake_all(&run->wakes);
	run_send(en, run);
	if (run->completes) {
		if (run->sends) {
			spin_lock(&en->lock);
			run_sent(en, run);
			spin_unlock(&en->lock);
		}
		dmanic_queue_complete(&run->done);
	}
	spin_lock(&en->lock);
	run_sent(en, run);
	if (run->completes)
		en->completer = NULL;
}

/**
 * dmanic_ether_run_some() - send what there is to send, complete what is done, for a while
 * @en: the node; without its lock
 *
 * Return: true: there is more, and no timer comes for it, as the node stops.
 */
bool dmanic_ether_run_some(struct ether_node *en)
{
	bool more = false, stopped = false;
	unsigned int rounds;
	struct run run = {};
	u64 begin = 0, now, pause = RUN_PAUSE_NS;

	INIT_LIST_HEAD(&run.done);
	local_bh_disable();
	spin_lock(&en->lock);
	/* Whom completing led back here looks again behind that */
	if (en->completer == current)
		goto out_unlock;
	for (rounds = 0; run_collect(en, &run, &now); rounds++) {
		if (!rounds)
			begin = now;
		spin_unlock(&en->lock);
		run_do(en, &run);
		more = rounds == RUN_ROUNDS || now - begin > RUN_NS;
		if (more)
			break;
	}
	stopped = en->stopped;
	/* If all it has to do is lists that move nothing, others have the CPU for as long */
	if (more && list_empty(&en->active) && list_empty(&en->done) &&
	    skb_queue_empty(&en->answers) &&
	    (!list_empty(&en->resumed) || en->looks >= ETHER_LOOKS))
		pause = max_t(u64, pause, ktime_get_ns() - begin);
	if (more && !stopped)
		hrtimer_start(&en->kick, pause, HRTIMER_MODE_REL_SOFT);
out_unlock:
	spin_unlock(&en->lock);
	local_bh_enable();
	return more && stopped;
}

/**
 * dmanic_ether_run() - send what there is to send, complete what is done, or see to it
 * @en: the node; without its lock
 */
void dmanic_ether_run(struct ether_node *en)
{
	/* Who stops the node does what is left, until he has gone */
	while (dmanic_ether_run_some(en) && READ_ONCE(en->silent))
		;
}

/* en->kick: go on */
enum hrtimer_restart dmanic_ether_kick(struct hrtimer *timer)
{
	dmanic_ether_run(container_of(timer, struct ether_node, kick));
	return HRTIMER_NORESTART;
}

/*
 * Who asked for bytes and acknowledges none keeps their memory: also when the segment
 * was taken back meanwhile, as no frame is built for him then.
 */
static bool run_check_reads(struct ether_peer *ep, u64 now)
{
	if (now - ep->reads_at < RUN_READS_NS)
		return false;
	ep->reads_at = now;
	return run_end_reads(ep);
}

/* What the timer was for has happened meanwhile, mostly: then it waits for what is next */
static bool run_again_later(struct ether_peer *ep, u64 now)
{
	u64 at = run_deadline(ep, now);

	/* Somebody started it meanwhile: it has its place in a tree, by its time */
	if (at <= now || at == DMANIC_NEVER || hrtimer_is_queued(&ep->timer))
		return false;
	ep->armed = max(at, now + RUN_SLACK_NS);
	hrtimer_set_expires(&ep->timer, ns_to_ktime(ep->armed));
	return true;
}

/* ep->timer: the protocol wants to know the time */
enum hrtimer_restart dmanic_ether_timer(struct hrtimer *timer)
{
	struct ether_peer *ep = container_of(timer, struct ether_peer, timer);
	struct ether_node *en = ep->en;
	u64 now;

	spin_lock_bh(&en->lock);
	ep->armed = DMANIC_NEVER;
	if (!en->stopped) {
		now = ktime_get_ns();
		if (!run_check_reads(ep, now) && run_again_later(ep, now)) {
			spin_unlock_bh(&en->lock);
			/* Who starts it meanwhile queues it, and it is not queued twice */
			return HRTIMER_RESTART;
		}
		dmanic_peer_timer(&ep->peer, now);
		dmanic_ether_wake(ep);
	}
	spin_unlock_bh(&en->lock);
	dmanic_ether_run(en);
	return HRTIMER_NORESTART;
}
