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
 */
#define PAIR_FRAMES	512	/* less to clear for each input */
#include "selftests/fuzz/fuzz.h"
#include "selftests/native/proto_pair.h"

#define FUZZ_XFERS	64

static u8 memory[PAIR_MEMORY];
static struct dmanic_xfer xfers[FUZZ_XFERS];
static struct dmanic_lookup lookups[FUZZ_XFERS];
static u32 nr_xfers;

static void step_frame(struct input *input, bool right)
{
	static u8 frame[DMANIC_WIRE_FRAME_MAX];
	u32 length = take_bytes(input, frame, take_u16(input));

	if (right && length >= DMANIC_WIRE_COMMON) {
		frame[0] = 1;
		fuzz_tag(frame, frame[1] == DMANIC_WIRE_RESET ? pair[0].peer->remote_tag :
								pair[0].peer->local_tag);
		fuzz_seal(frame, length);
	}
	pair_feed(0, right ? pair[1].address : 5, frame, length);
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

	pair_begin_with(config);
	pair_connect();
	env = pair_env;
	env.complete = fuzz_complete;
	pair[0].host.env = &env;
	nr_xfers = 0;
	while (input.left) {
		switch (take(&input) % 10) {
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
			pair_settle();
			break;
		case 8:
			step_mtu(&input);
			break;
		case 9:
			step_unsent();
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
