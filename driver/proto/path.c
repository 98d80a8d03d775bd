// SPDX-License-Identifier: GPL-2.0-only
/*
 * path.c - what the way to a peer carries: found out by TESTs, and by what gets lost
 *
 * Each side of a connection sends a TEST of the path's length, once it is open, and whenever
 * that changes, and then one that the link is to cut, if it does; nobody waits for the answer,
 * which tells how it came: whole, or cut. What is lost again and again, while short ones
 * arrive, is too long: the next is shorter, and so are all frames of data. From time to
 * time a longer one is tried again. loss.c finds the same out by data that get lost. One that
 * the device drops counts, too: it may never take any of that length.
 *
 * Where there is a key nobody on the way can cut a frame. Whether longer ones arrive whole a
 * TEST is to show, before any of data is sent; when it does not, that is no trouble of the way.
 *
 * No timer of the connection, and nothing that judges data, knows of TESTs.
 */
#include <linux/limits.h>
#include <linux/minmax.h>

#include "internal.h"

/* So often a TEST is lost in vain, while short frames arrive */
#define PATH_TRIES	10U
/* This part of the time after which a peer is dead is waited for the answer, */
#define PATH_WAIT	64U
/*
 * or so many round trips; twice as long, three times, when nothing comes at all, or nobody
 * knows how long a round trip is
 */
#define PATH_ROUNDS	4ULL
#define PATH_WAIT_MAX	3U
/* and still longer when that was so for so many TESTs: nobody may be there that knows them */
#define PATH_UNHEARD	8U
#define PATH_MUTE_MAX	8U
/* So many times the time after which a peer is dead until more is tried again, */
#define PATH_RAISE	8U
/* doubled each time that was in vain, so often */
#define PATH_RAISE_MAX	6U
/* Payload of what tells whether short frames arrive */
#define PATH_SHORT	1U

/* Without what is known to get lost */
static u32 path_mtu(const struct dmanic_peer *peer)
{
	return min(dmanic_peer_config(peer)->mtu, peer->their_mtu);
}

/* What the link cuts to frames of a length; a link that cuts none of its own cuts none */
static u32 path_link_super(const struct dmanic_peer *peer, u32 mtu)
{
	const struct dmanic_proto_config *config = dmanic_peer_config(peer);

	return config->super > config->mtu && config->super >= 2 * mtu ? config->super : mtu;
}

/* It is yet to be seen whether what the link sends arrives whole */
static bool path_unproven(const struct dmanic_peer *peer)
{
	return peer->host->auth.on && !peer->path.proven &&
	       path_link_super(peer, peer->mtu) > peer->mtu;
}

static u32 path_super(const struct dmanic_peer *peer, u32 mtu)
{
	return path_unproven(peer) ? mtu : path_link_super(peer, mtu);
}

/**
 * dmanic_peer_degraded() - does the path carry less than both ends do
 * @peer: to whom
 *
 * Return: true while it is known to.
 */
bool dmanic_peer_degraded(const struct dmanic_peer *peer)
{
	u32 mtu = path_mtu(peer);

	return peer->path.most < mtu ||
	       (peer->path.single && path_super(peer, mtu) > mtu);
}

static void path_test(struct dmanic_peer *peer, u32 mtu, bool cuts)
{
	struct dmanic_peer_path *path = &peer->path;

	path->number++;
	path->mtu = mtu;
	path->cuts = cuts;
	path->tried = 0;
	path->unheard = 0;
	path->sent = 0;
	path->asks = false;
	path->due = true;
	path->paced = false;
	path->put_off = false;
	path->later = DMANIC_NEVER;
}

/**
 * dmanic_path_reset() - nothing is known
 * @peer: of the way to it
 */
void dmanic_path_reset(struct dmanic_peer *peer)
{
	peer->path = (struct dmanic_peer_path) {
		.most = DMANIC_WIRE_FRAME_MAX,
		.number = peer->path.number,
		.at = DMANIC_NEVER,
		.later = DMANIC_NEVER,
	};
}

/**
 * dmanic_path_begin() - the way as it is now is to be tested
 * @peer: to whom; open
 */
void dmanic_path_begin(struct dmanic_peer *peer)
{
	peer->path.carried = 0;
	path_test(peer, peer->mtu, false);
}

/**
 * dmanic_path_doubt() - a frame of data was dropped before it left, not for the first time
 * @peer: to whom it was
 *
 * The device had no room for it, and may never have for one of its length.
 */
void dmanic_path_doubt(struct dmanic_peer *peer)
{
	u64 at = peer->path.at;

	if (peer->path.due || peer->path.sent || peer->path.put_off)
		return;
	path_test(peer, peer->mtu, false);
	/* What is due then is not put off by that */
	peer->path.later = at;
}

/* It is known to carry less, and nobody was told: the ends changed meanwhile */
static void path_tell(struct dmanic_peer *peer)
{
	if (peer->path.told || !dmanic_peer_degraded(peer))
		return;
	peer->path.told = true;
	dmanic_peer_env(peer)->event(peer, DMANIC_PEER_DEGRADED);
}

static void path_restored(struct dmanic_peer *peer)
{
	if (!peer->path.told || dmanic_peer_degraded(peer))
		return;
	peer->path.told = false;
	dmanic_peer_env(peer)->event(peer, DMANIC_PEER_RESTORED);
}

/**
 * dmanic_peer_set_mtu() - the path changed: dmanic_host_set_mtu() was called
 * @peer: to whom
 *
 * What is under way is cut anew when it has to be sent again.
 */
void dmanic_peer_set_mtu(struct dmanic_peer *peer)
{
	const struct dmanic_proto_config *config = dmanic_peer_config(peer);
	u32 mtu = peer->mtu, super = peer->super, ends = path_mtu(peer);
	struct dmanic_peer_path *path = &peer->path;
	bool anew = ends != path->ends || path_link_super(peer, ends) != path->ends_super;

	/* It cannot know otherwise before it has lost some */
	if (config->mtu < peer->own_mtu && peer->state >= DMANIC_PEER_PAIRED)
		peer->ack_now = true;
	peer->own_mtu = config->mtu;
	peer->mtu = min(ends, path->most);
	if (anew)
		path->proven = false;
	peer->super = path->single ? peer->mtu : path_super(peer, peer->mtu);
	path->ends = ends;
	path->ends_super = path_link_super(peer, ends);
	if (peer->state != DMANIC_PEER_OPEN)
		return;
	/* The remedy for what was in vain before, perhaps */
	if (anew) {
		path->hope = true;
		path->vain = 0;
		path->cuts_lost = 0;
		path_restored(peer);
	}
	if (!anew && mtu == peer->mtu && super == peer->super)
		return;
	dmanic_path_begin(peer);
	/* The other end may say so again and again */
	path->paced = anew;
}

static u64 path_wait(const struct dmanic_peer *peer)
{
	return dmanic_peer_config(peer)->dead_ns * PATH_RAISE <<
	       min(peer->path.vain, PATH_RAISE_MAX);
}

/* Frames that are to be cut do not arrive, or those of the path's length */
static void path_degrade(struct dmanic_peer *peer, bool cuts, u64 now)
{
	u32 most = max(peer->mtu / 2, DMANIC_WIRE_MTU_MIN);
	struct dmanic_peer_path *path = &peer->path;

	path->cuts_lost = 0;
	if (cuts)
		path->single = true;
	else if (most < peer->mtu)
		path->most = most;
	else
		return;
	/* What was longer did not arrive for long */
	if (path->hope)
		path->vain = now - path->since < path_wait(peer) ? path->vain + 1 : 0;
	path->hope = false;
	path->since = now;
	dmanic_peer_set_mtu(peer);
	path->told = true;
	dmanic_peer_env(peer)->event(peer, DMANIC_PEER_DEGRADED);
}

/**
 * dmanic_peer_degrade() - large frames do not arrive where small ones do
 * @peer: to whom
 * @now: time
 *
 * Something on the way has a smaller MTU than both ends have, and tells nobody; or it loses
 * what is to be cut, and carries what is not.
 */
void dmanic_peer_degrade(struct dmanic_peer *peer, u64 now)
{
	path_degrade(peer, peer->super > peer->mtu, now);
}

/* Less is sent than both ends take */
static bool path_may_improve(const struct dmanic_peer *peer)
{
	return dmanic_peer_degraded(peer) || path_unproven(peer);
}

/* What was found out may change: a switch is configured, a route moves */
static void path_rest(struct dmanic_peer *peer, u64 now)
{
	struct dmanic_peer_path *path = &peer->path;

	path->sent = 0;
	path->at = path->later;
	path->later = DMANIC_NEVER;
	if (!path_may_improve(peer))
		path->at = DMANIC_NEVER;
	else if (path->hope)
		path->at = now;
	else if (path->at == DMANIC_NEVER)
		path->at = now + path_wait(peer);
}

static void path_longer(struct dmanic_peer *peer)
{
	path_test(peer, min(2 * peer->mtu, path_mtu(peer)), false);
}

/* As long frames arrive: those that are to be cut. What is due then is not put off */
static void path_cuts(struct dmanic_peer *peer)
{
	u64 later = peer->path.later;

	path_test(peer, peer->mtu, true);
	peer->path.later = later;
}

/* It is time for one that is to be cut, or for a longer one */
static void path_raise(struct dmanic_peer *peer)
{
	peer->path.at = DMANIC_NEVER;
	if (!path_may_improve(peer))
		return;
	if ((peer->path.single || path_unproven(peer)) &&
	    path_link_super(peer, peer->mtu) > peer->mtu)
		path_test(peer, peer->mtu, true);
	else
		path_longer(peer);
}

static bool path_raises(const struct dmanic_peer *peer)
{
	const struct dmanic_peer_path *path = &peer->path;

	return path->mtu > peer->mtu ||
	       (path->cuts && (path->single || path_unproven(peer)));
}

static void path_raised(struct dmanic_peer *peer, u64 now)
{
	struct dmanic_peer_path *path = &peer->path;

	if (path->mtu > peer->mtu)
		path->most = path->mtu < path_mtu(peer) ? path->mtu : DMANIC_WIRE_FRAME_MAX;
	else
		path->single = false;
	path->proven |= path->cuts;
	/* What was lost before was of another length */
	path->since = now;
	path->hope = true;
	dmanic_peer_set_mtu(peer);
	path_restored(peer);
}

/* None of so many has arrived: that cannot be chance */
static void path_lost(struct dmanic_peer *peer, u64 now)
{
	struct dmanic_peer_path *path = &peer->path;
	u32 number = path->number;

	if (!path_raises(peer)) {
		path_degrade(peer, path->cuts, now);
	} else if (path->cuts && peer->mtu < path_mtu(peer)) {
		path_longer(peer);
	} else {
		path->hope = false;
		path->vain++;
		path_tell(peer);
	}
	/* The longer one was too long, or there is no shorter one */
	if (number == path->number)
		path_rest(peer, now);
}

/**
 * dmanic_path_timer() - time has passed
 * @peer: to whom the way is; open
 * @now: time
 */
void dmanic_path_timer(struct dmanic_peer *peer, u64 now)
{
	struct dmanic_peer_path *path = &peer->path;

	if (path->due || path->at > now)
		return;
	if (path->put_off) {
		path->put_off = false;
		path->due = true;
		path->at = DMANIC_NEVER;
		return;
	}
	if (!path->sent) {
		path_raise(peer);
		return;
	}
	/* It may have got nothing at all, or said nothing that arrived */
	if (path->heard < path->sent) {
		path->unheard++;
	} else {
		path->unheard = 0;
		if (++path->tried >= PATH_TRIES) {
			path_lost(peer, now);
			return;
		}
	}
	path->due = true;
	path->asks = true;
}

/**
 * dmanic_path_answer() - TESTED
 * @peer: to whom; open
 * @out: out
 *
 * Return: false when there is none to be sent.
 */
bool dmanic_path_answer(struct dmanic_peer *peer, struct dmanic_out *out)
{
	if (!peer->path.answers)
		return false;
	peer->path.answers = false;
	out->head_length = dmanic_tested_encode(out->head, peer->remote_tag,
						&peer->path.answer);
	return true;
}

static void path_build(struct dmanic_peer *peer, u32 length, struct dmanic_out *out)
{
	struct dmanic_test test = { .number = peer->path.number, .total = length };

	out->payload_length = length;
	out->head_length = dmanic_test_encode(out->head, peer->remote_tag, &test);
	out->seal = true;
}

static u64 path_gap(const struct dmanic_peer *peer)
{
	return dmanic_peer_config(peer)->dead_ns / PATH_WAIT;
}

/* What the other end says of itself makes no more TESTs than what gets lost does */
static bool path_put_off(struct dmanic_peer *peer, u64 now)
{
	struct dmanic_peer_path *path = &peer->path;

	if (!path->paced || now - path->last >= path_gap(peer))
		return false;
	path->paced = false;
	path->put_off = true;
	path->due = false;
	path->at = path->last + path_gap(peer);
	return true;
}

/**
 * dmanic_path_next() - TEST
 * @peer: to whom; open
 * @now: time
 * @out: out
 *
 * Return: false when there is none now.
 */
bool dmanic_path_next(struct dmanic_peer *peer, u64 now, struct dmanic_out *out)
{
	u64 wait = max(path_gap(peer), PATH_ROUNDS * peer->rate.srtt);
	struct dmanic_peer_path *path = &peer->path;
	u32 longer = path->unheard, pieces = 1;

	if (!path->due || path_put_off(peer, now))
		return false;
	if (path->asks) {
		path->asks = false;
		path_build(peer, PATH_SHORT, out);
		return true;
	}
	/* What comes may tell of what was sent before */
	if (!peer->rate.srtt)
		longer = max(path->tried, path->unheard);
	path->due = false;
	path->sent = now;
	path->last = now;
	longer = min(longer, path->unheard > PATH_UNHEARD ? PATH_MUTE_MAX : PATH_WAIT_MAX);
	path->at = now + (wait << longer);
	if (path->cuts && path_link_super(peer, path->mtu) > path->mtu)
		pieces = 2;
	out->mtu = path->mtu;
	out->piece = path->mtu - DMANIC_WIRE_TEST_HEAD;
	path_build(peer, pieces * out->piece, out);
	return true;
}

/**
 * dmanic_path_test() - a TEST came
 * @peer: from whom
 * @frame: it
 * @head: of it
 *
 * Of one that was cut the last piece is answered.
 *
 * Return: 0, or why it was dropped.
 */
enum dmanic_drop dmanic_path_test(struct dmanic_peer *peer, const struct dmanic_frame *frame,
				  const struct dmanic_head *head)
{
	u32 length = head->head_length + head->payload_length;
	struct dmanic_peer_path *path = &peer->path;
	struct dmanic_test test;
	enum dmanic_drop drop = dmanic_test_decode(frame->head, head, &test);

	if (!drop)
		drop = dmanic_auth_receive_payload(peer->host, frame, head);
	if (drop || test.from + head->payload_length != test.total)
		return drop;
	/* Of a short one and a long one the longer is worth an answer */
	if (path->answers && path->answer.number == test.number)
		length = max(length, path->answer.length);
	path->answers = true;
	path->answer.number = test.number;
	path->answer.length = length;
	return DMANIC_DROP_NONE;
}

/**
 * dmanic_path_tested() - a TEST of ours arrived
 * @peer: at whom
 * @frame: what says so
 * @head: of it
 * @now: time
 *
 * Return: 0, or why it was dropped.
 */
enum dmanic_drop dmanic_path_tested(struct dmanic_peer *peer,
				    const struct dmanic_frame *frame,
				    const struct dmanic_head *head, u64 now)
{
	struct dmanic_peer_path *path = &peer->path;
	struct dmanic_tested tested;
	enum dmanic_drop drop = dmanic_tested_decode(frame->head, head, &tested);
	u32 number = path->number;

	if (drop)
		return drop;
	/* Of one before, or one that was sent twice */
	if (tested.number != number || !path->sent)
		return DMANIC_DROP_NONE;
	if (tested.length > DMANIC_WIRE_TEST_HEAD + 2 * (path->mtu - DMANIC_WIRE_TEST_HEAD))
		return DMANIC_DROP_BAD;
	if (tested.length < path->mtu) {
		path->heard = now;
		return DMANIC_DROP_NONE;
	}
	path->due = false;
	/* As long as they are not proven nothing longer than that is sent */
	if (!path->cuts && path_unproven(peer))
		path->carried = tested.length;
	if (path_raises(peer))
		path_raised(peer, now);
	else if (!path->cuts && (peer->super > peer->mtu || path_unproven(peer)))
		path_cuts(peer);
	else
		path->carried = tested.length;
	if (number == path->number)
		path_rest(peer, now);
	return DMANIC_DROP_NONE;
}
