// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_peer.c - a connected peer, fed with anything
 *
 * The input is a list of steps, each a byte that says what and then what that
 * needs: a frame as it is, or with the right tag and checksums (what a hostile
 * neighbour with a connection can send); time; operations of ours; giving them
 * up; letting the other side answer as it should; another MTU; a frame that the link
 * cannot send. In the end every operation has
 * been completed once and no READ is held.
 *
 * An input that begins with FUZZ_KEYED is of two nodes with a key. A frame with the right tag
 * is then one of who knows it, or nearly: of another key, id, address or payload, or of a counter
 * that was there. What is not proven, and what comes again, changes nothing.
 */
#define PAIR_FRAMES	512	/* less to clear for each input */
#include "selftests/fuzz/proof.h"
#include "selftests/native/proto_pair.h"

#define FUZZ_XFERS	64
#define FUZZ_KEYED	0xff
#define FUZZ_TAKEN	8

static u8 memory[PAIR_MEMORY];
static struct dmanic_xfer xfers[FUZZ_XFERS];
static struct dmanic_lookup lookups[FUZZ_XFERS];
static u32 nr_xfers;

/* Proven frames that were taken: each counts once */
static struct {
	u64 from;
	u32 length;
	u8 bytes[DMANIC_WIRE_FRAME_MAX];
} taken[FUZZ_TAKEN];
static u32 nr_taken;

/* All that a frame may change of side 0 */
struct seen {
	struct was peer;
	u64 placed, completed, notified, atomics, reads;
};

static struct seen seen_now(void)
{
	const struct pair_side *side = &pair[0];

	return (struct seen) {
		was_of(side->peer), side->placed, side->completed, side->notified,
		side->atomics, side->reads,
	};
}

static u64 drops(void)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < DMANIC_DROPS; i++)
		nr += pair[0].host.stats.dropped[i];
	return nr;
}

/* Return: whether it was taken; if not, and it is nobody's, then it is as if it had not come */
static bool feed(u64 from, u8 *bytes, u32 length, bool nobodys)
{
	struct seen was = seen_now(), is;
	u64 dropped = drops();
	bool took;

	pair_feed(0, from, bytes, length);
	is = seen_now();
	took = drops() == dropped;
	demand(!nobodys || (!took && !memcmp(&is, &was, sizeof(is))));
	return took;
}

static void feed_keyed(u64 from, u8 *bytes, u32 length, u8 wrong)
{
	bool known = fuzz_proven(&pair[0].host, from, bytes, length);
	/* The first ones began the connection */
	u32 at = nr_taken < FUZZ_TAKEN ? nr_taken : FUZZ_TAKEN / 2 + nr_taken % (FUZZ_TAKEN / 2);
	struct seen was = seen_now(), is;
	bool took;

	demand(!known || !wrong || wrong == WRONG_PAYLOAD);
	took = feed(from, bytes, length, !known);
	is = seen_now();
	if (wrong)
		demand(is.placed == was.placed &&
		       !memcmp(is.peer.got, was.peer.got, sizeof(is.peer.got)));
	if (!took)
		return;
	taken[at].from = from;
	taken[at].length = length;
	memcpy(taken[at].bytes, bytes, length);
	nr_taken++;
}

/* As pair_settle(), and what the other side said may come again */
static void settle(void)
{
	struct pair_frame *sent;

	if (!pair_keyed) {
		pair_settle();
		return;
	}
	pair_pump(0);
	pair_pump(1);
	while (pair[0].nr_sent || pair[1].nr_sent) {
		for (; pair[0].nr_sent; pair_drop(0, 0))
			pair_deliver(0, 0);
		for (; pair[1].nr_sent; pair_drop(1, 0)) {
			sent = &pair[1].sent[0];
			feed_keyed(sent->from, sent->bytes, sent->length, WRONG_NOTHING);
			pair_pump(0);
		}
	}
}

static void connect_keyed(void)
{
	struct dmanic_xfer *xfer = &xfers[nr_xfers++];
	u64 until = pair_now + 2 * PAIR_MS;

	*xfer = pair_write(memory, 1, 0);
	pair_submit(0, xfer);
	do {
		settle();
	} while (pair_tick(until));
	demand(pair_open());
}

static void step_again(struct input *input)
{
	u32 which = take(input);

	if (!nr_taken)
		return;
	which %= min_t(u32, nr_taken, FUZZ_TAKEN);
	feed(taken[which].from, taken[which].bytes, taken[which].length, true);
	pair_pump(0);
}

static void step_frame(struct input *input, bool right)
{
	static u8 frame[DMANIC_WIRE_FRAME_MAX];
	u32 length = take_bytes(input, frame, take_u16(input));
	u64 from = right ? pair[1].address : 5;
	u8 how, wrong = WRONG_NOTHING;

	if (right && length >= DMANIC_WIRE_COMMON) {
		frame[0] = 1;
		fuzz_tag(frame, frame[1] == DMANIC_WIRE_RESET ? pair[0].peer->remote_tag :
								pair[0].peer->local_tag);
		fuzz_seal(frame, length);
	}
	if (!pair_keyed) {
		pair_feed(0, from, frame, length);
	} else {
		if (right) {
			how = take(input);
			wrong = how % 8 < WRONGS ? how % 8 : WRONG_NOTHING;
			length = fuzz_prove(&pair[0].host, pair[0].peer, from, frame, length, wrong,
					    how & 8 ? take(input) : 0);
		}
		feed_keyed(from, frame, length, wrong);
	}
	pair_pump(0);
}

static void step_submit(struct input *input)
{
	struct dmanic_xfer *xfer;

	if (nr_xfers == FUZZ_XFERS)
		return;
	xfer = &xfers[nr_xfers++];
	*xfer = pair_write(memory, take(input) * 50, take(input) * 100);
	fuzz_kind(input, xfer, &lookups[nr_xfers - 1]);
	pair_submit(0, xfer);
	pair_pump(0);
}

static void step_cancel(struct input *input)
{
	struct dmanic_xfer *xfer = nr_xfers ? &xfers[take(input) % nr_xfers] : NULL;
	u32 before = pair[0].completed;

	/* Only one that is under way may be given up */
	if (!xfer || xfer->payload)
		return;
	dmanic_peer_cancel(pair[0].peer, xfer, DMANIC_STATUS_CANCELLED);
	if (pair[0].completed != before + 1)
		abort();
}

static void step_time(struct input *input)
{
	pair_now += 1ULL << take(input) % 32;
	dmanic_peer_timer(pair[0].peer, pair_now);
	pair_pump(0);
}

static void step_mtu(struct input *input)
{
	u32 mtu = DMANIC_WIRE_MTU_MIN + take(input) * 2;

	dmanic_host_set_mtu(&pair[0].host, mtu, take(input) * 40);
	dmanic_peer_set_mtu(pair[0].peer);
	pair_pump(0);
}

static void step_unsent(void)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	if (dmanic_peer_next(pair[0].peer, pair_now, &out))
		dmanic_peer_unsent(pair[0].peer, &out, pair_now);
	pair_pump(0);
}

/* The payload of an xfer says that it ended, and twice is once too often */
static void fuzz_complete(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	(void)peer;
	pair[0].completed++;
	if (xfer >= xfers && xfer < xfers + FUZZ_XFERS && xfer->payload++)
		abort();
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t length)
{
	static struct dmanic_env env;
	struct dmanic_proto_config config = {
		.mtu = 600, .super = 2000, .operations = 8, .extents = 32, .sent = 32,
		.ranges = 4, .early = 4,
	};
	struct input input = { bytes, length };
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	pair_keyed = input.left && *input.bytes == FUZZ_KEYED && take(&input);
	nr_taken = 0;
	pair_begin_with(config);
	if (!pair_keyed)
		pair_connect();
	env = pair_env;
	env.complete = fuzz_complete;
	pair[0].host.env = &env;
	nr_xfers = 0;
	if (pair_keyed)
		connect_keyed();
	while (input.left) {
		switch (take(&input) % (pair_keyed ? 11 : 10)) {
		case 0:
			step_frame(&input, false);
			break;
		case 1:
		case 2:
		case 3:
			step_frame(&input, true);
			break;
		case 4:
			step_time(&input);
			break;
		case 5:
			step_submit(&input);
			break;
		case 6:
			step_cancel(&input);
			break;
		case 7:
			settle();
			break;
		case 8:
			step_mtu(&input);
			break;
		case 9:
			step_unsent();
			break;
		case 10:
			step_again(&input);
			break;
		}
		while (pair[0].nr_sent > 64)
			pair_drop(0, 0);
	}
	dmanic_peer_close(pair[0].peer, DMANIC_STATUS_LINK_DOWN, &out);
	if (pair[0].completed != nr_xfers || pair[0].reads)
		abort();
	pair_end();
	return 0;
}
