// SPDX-License-Identifier: GPL-2.0-only
/*
 * rate.c - how much may be under way to a peer, and how fast it goes out
 *
 * Three limits. The receiver's grant shares out its own link, so that many
 * senders do not meet there. The window follows delay, as Swift's does: queues
 * on the way up to the target are no reason to slow down, longer ones are. And
 * loss: below 2 % it says nothing about queues and changes nothing; above, the
 * window does not grow, and what arrived in a round trip is what the path carries:
 * for who sees a queue, and above 5 % for everybody, as a queue may be too short to
 * be seen.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"

#define RATE_FLOOR_FRAMES	8U
#define RATE_INITIAL		65536U
#define RATE_CEILING		(8U << 20)
#define RATE_PERIOD_NS		10000000000ULL
#define RATE_LOSS_SHIFT		4
#define RATE_LOSS_MAX		(20U << RATE_LOSS_SHIFT)	/* 20 of 1000 */
#define RATE_LOSS_BAD		(50U << RATE_LOSS_SHIFT)
#define RATE_GRANT_NS		2000000ULL
#define RATE_GRANT_OLD		8U	/* part of a budget that may always come */
#define RATE_CALM_ROUNDS	16U
#define RATE_ASK_PART		4U
#define RATE_ASK_LEAST		65536U
#define RATE_CLEAN		(4U << 20)
#define RATE_BURST		(128U << 10)
#define RATE_URGENT_FRAMES	4U

static u64 rate_floor(const struct dmanic_peer *peer)
{
	return RATE_FLOOR_FRAMES * peer->mtu;
}

/**
 * dmanic_rate_reset() - nothing is known
 * @peer: it
 */
void dmanic_rate_reset(struct dmanic_peer *peer)
{
	struct dmanic_rate *rate = &peer->rate;

	memset(rate, 0, sizeof(*rate));
	rate->window = RATE_INITIAL;
	rate->ceiling = RATE_CEILING;
	rate->start = true;
	rate->rtt_min = DMANIC_NEVER;
	rate->rtt_next = DMANIC_NEVER;
	rate->round_delay = DMANIC_NEVER;
	rate->due = DMANIC_NEVER;
}

/**
 * dmanic_rate_rtt() - a round trip was measured
 * @peer: with whom
 * @rtt: nanoseconds, not zero
 * @now: time
 */
void dmanic_rate_rtt(struct dmanic_peer *peer, u64 rtt, u64 now)
{
	struct dmanic_rate *rate = &peer->rate;
	u64 distance;

	if (rate->srtt) {
		distance = rtt > rate->srtt ? rtt - rate->srtt : rate->srtt - rtt;
		rate->rttvar = (3 * rate->rttvar + distance) / 4;
		rate->srtt = (7 * rate->srtt + rtt) / 8;
	} else {
		rate->srtt = rtt;
		rate->rttvar = rtt / 2;
		rate->rtt_period = now + RATE_PERIOD_NS;
	}
	if (now >= rate->rtt_period) {
		rate->rtt_min = rate->rtt_next;
		rate->rtt_next = DMANIC_NEVER;
		rate->rtt_period = now + RATE_PERIOD_NS;
	}
	rate->rtt_next = min(rate->rtt_next, rtt);
	rate->rtt_min = min(rate->rtt_min, rtt);
	rate->round_delay = min(rate->round_delay, rtt);
}

/**
 * dmanic_rate_rto() - how long to wait for any answer
 * @peer: it
 *
 * Return: nanoseconds, without backoff.
 */
u64 dmanic_rate_rto(const struct dmanic_peer *peer)
{
	const struct dmanic_rate *rate = &peer->rate;
	u64 least = dmanic_peer_config(peer)->rto_ns;

	if (!rate->srtt)
		return 4 * least;
	return max(rate->srtt + 4 * rate->rttvar + DMANIC_ACK_HOLD_NS, least);
}

/* Of the round so far, as rate->loss */
static u32 rate_loss(const struct dmanic_rate *rate)
{
	u64 total = rate->round_acked + rate->round_lost;

	return total ? (rate->round_lost * 1000 << RATE_LOSS_SHIFT) / total : 0;
}

/* A round trip's worth has been acknowledged: what does it say */
static void rate_judge(struct dmanic_peer *peer)
{
	u64 target = dmanic_peer_config(peer)->target_ns;
	struct dmanic_rate *rate = &peer->rate;
	u64 delay = rate->round_delay, queue;
	bool any = rate->round_acked + rate->round_lost;
	u32 sample = rate_loss(rate);

	if (any)
		rate->loss = (15 * rate->loss + sample) / 16;
	/* What was the shortest may have been of a period that is over */
	queue = delay == DMANIC_NEVER || delay < rate->rtt_min ? 0 : delay - rate->rtt_min;
	/* So little may stand there however long it takes: it is what one frame may be */
	if (delay != DMANIC_NEVER)
		target = max(target, dmanic_peer_config(peer)->budget * delay / rate->window);
	if (queue > target) {
		/* Never to less than half in a round */
		rate->window -= rate->window * min((queue - target) * 100 / delay, 50ULL) /
				100;
		rate->start = false;
	} else if (any && (rate->loss > RATE_LOSS_BAD ||
			   (rate->loss > RATE_LOSS_MAX && queue > target / 4))) {
		rate->window = min(rate->window,
				   rate->round_acked + rate_floor(peer));
		rate->start = false;
	} else if (sample > RATE_LOSS_MAX) {
		/* Once is no reason to shrink, nor is it the time to grow */
	} else if (any && rate->full && !rate->start) {
		rate->window += 2 * peer->mtu;
		if (queue < target / 4)
			rate->window += rate->window / 16;
	} else if (rate->loss > RATE_LOSS_MAX) {
		rate->start = false;
	}
	/* What came twice was late, not lost; it was so long ago that it may be over */
	if (++peer->calm >= RATE_CALM_ROUNDS) {
		peer->reorder = max(peer->reorder - 1, 1U);
		peer->calm = 0;
	}
	if (rate->start && queue > target / 2)
		rate->start = false;
	rate->window = clamp(rate->window, rate_floor(peer), rate->ceiling);
}

/**
 * dmanic_rate_round() - something was acknowledged
 * @peer: by whom
 * @acked: units
 * @now: time
 */
void dmanic_rate_round(struct dmanic_peer *peer, u64 acked, u64 now)
{
	struct dmanic_rate *rate = &peer->rate;

	rate->round_acked += acked;
	rate->clean += acked;
	if (rate->start && rate->full && rate_loss(rate) <= RATE_LOSS_MAX)
		rate->window = min(rate->window + acked, rate->ceiling);
	if (now < rate->round || !rate->srtt)
		return;
	rate_judge(peer);
	rate->round = now + rate->srtt;
	rate->round_acked = 0;
	rate->round_lost = 0;
	rate->round_delay = DMANIC_NEVER;
	rate->full = false;
}

/* It was given to those that sent at the time: who was silent begins small */
static u32 rate_granted(const struct dmanic_peer *peer, u64 now)
{
	if (now - peer->granted_at <= max(RATE_GRANT_NS, 4 * peer->rate.srtt))
		return peer->granted;
	return min(peer->granted, dmanic_peer_config(peer)->budget / RATE_GRANT_OLD);
}

/**
 * dmanic_rate_room() - how much may go out now
 * @peer: to whom
 * @class: of the stream
 * @now: time
 *
 * A few urgent frames always may, whatever else is under way.
 *
 * Return: units; 0: none.
 */
u64 dmanic_rate_room(struct dmanic_peer *peer, u8 class, u64 now)
{
	u64 flight = (u64)peer->tx[DMANIC_BULK].flight + peer->tx[DMANIC_URGENT].flight;
	struct dmanic_rate *rate = &peer->rate;
	u64 most = rate_granted(peer, now);

	/* Was it lost or is it late: a few frames tell as well as all of them */
	if (peer->backoff)
		most = min(most, rate_floor(peer));
	if (rate->window < most) {
		most = rate->window;
		if (flight + rate_floor(peer) / 2 >= most)
			rate->full = true;
	}
	if (class == DMANIC_URGENT)
		most = max_t(u64, most, peer->tx[DMANIC_BULK].flight +
				       RATE_URGENT_FRAMES * peer->mtu);
	/* A frame is always possible when nothing is under way */
	if (!flight)
		return max_t(u64, most, peer->mtu);
	return flight < most ? most - flight : 0;
}

/**
 * dmanic_rate_ask() - after how much an acknowledgment is wanted, though there is more
 * @peer: to whom
 *
 * So that sending does not stop where little may be under way, and no frame goes back
 * for each that comes where that is much.
 *
 * Return: units.
 */
u32 dmanic_rate_ask(const struct dmanic_peer *peer)
{
	u64 most = min_t(u64, peer->rate.window, peer->granted);

	return max_t(u64, most / RATE_ASK_PART, RATE_ASK_LEAST);
}

/**
 * dmanic_rate_clean() - was nothing lost for long
 * @peer: on the way to it
 *
 * Return: true when there is no need to be prepared for that.
 */
bool dmanic_rate_clean(const struct dmanic_peer *peer)
{
	return peer->rate.clean >= RATE_CLEAN;
}

/**
 * dmanic_rate_lost() - something was
 * @peer: on the way to it
 * @units: how much
 */
void dmanic_rate_lost(struct dmanic_peer *peer, u32 units)
{
	peer->rate.round_lost += units;
	peer->rate.clean = 0;
}

/**
 * dmanic_rate_found() - it was late
 * @peer: on the way to it
 * @units: how much
 */
void dmanic_rate_found(struct dmanic_peer *peer, u32 units)
{
	peer->rate.round_lost -= min_t(u64, peer->rate.round_lost, units);
}

/* Bytes in a round trip, at the pace at which they go out: faster than the window's */
static u64 rate_speed(const struct dmanic_rate *rate)
{
	return rate->window * (rate->start ? 8 : 5) / 4;
}

/**
 * dmanic_rate_due() - when something more may go out
 * @peer: to whom
 * @now: time
 *
 * What goes out in a quarter of a round trip may do so at once, and a few messages'
 * worth always: that fits into the queues on the way, and a timer costs more.
 *
 * Return: time.
 */
u64 dmanic_rate_due(struct dmanic_peer *peer, u64 now)
{
	struct dmanic_rate *rate = &peer->rate;
	u64 speed = rate_speed(rate), burst;

	burst = max(rate->srtt / 4, RATE_BURST * rate->srtt / speed);
	/* It went out when a round trip was longer: that is over */
	rate->pace = min(rate->pace, now + burst + DMANIC_WIRE_FRAME_MAX * rate->srtt / speed);
	return max(rate->pace - min(rate->pace, burst), peer->unsent_until);
}

/**
 * dmanic_rate_sent() - something goes out
 * @peer: to whom
 * @bytes: how much
 * @now: time
 */
void dmanic_rate_sent(struct dmanic_peer *peer, u32 bytes, u64 now)
{
	struct dmanic_rate *rate = &peer->rate;

	if (rate->srtt)
		rate->pace = max(rate->pace, now) + bytes * rate->srtt / rate_speed(rate);
}
