// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_host.c - a node that has just begun, and what anybody on its segment can do
 *
 * The input is a list of steps, each a byte that says what and then what that needs:
 * a frame of any node from any address, as the encoder builds it or with some bytes
 * replaced, also of the connections there are; any bytes; frames that were sent
 * before, also the node's own; INITs of many nodes; what an honest node and this one
 * have to say to each other; time; operations; giving up, the device going down,
 * either node starting anew. Zeros are what the other side would say next.
 *
 * After each step host_node.h looks. A frame of a stranger, which proves nothing by its
 * tag, changes no connection, ends no operation, touches no memory, and causes no more
 * than twice its length. In the end everything is closed, or nothing arrives any more:
 * then all operations have ended, once, and nothing is held.
 *
 * Or the two honest nodes are connected first, hear all that they say, and nobody else
 * knows their tags: whatever is sent in their names, or by others that are connected as
 * well, they stay so, and their operations end.
 *
 * Or both have a key (16 in the first byte), which members of the fabric know and others nearly
 * do: what is not proven is not answered, and changes nothing at all.
 */
#define PAIR_FRAMES	512	/* less to clear for each input */
#include "selftests/fuzz/host_frames.h"

#define TICKS		20000U	/* timers of one step; each has something to do */
#define SILENCE_NS	(16000 * PAIR_MS)	/* longer than anybody is waited for */
#define HONEST_OPS	16U

static struct dmanic_xfer honest_ops[HONEST_OPS];
static struct dmanic_lookup honest_lookups[HONEST_OPS];
static u32 nr_honest;
static u64 incarnation;

/* ---- time, and the honest node ---- */

static bool for_honest(const struct pair_frame *sent)
{
	return sent->to == DMANIC_EVERYBODY || sent->to == pair[1].address;
}

static void trim_honest(void)
{
	while (pair[1].nr_sent > 64)
		pair_drop(1, 0);
}

/* Everything either says reaches the other, up to so many frames */
static void talk(u32 most)
{
	struct pair_frame sent;

	pair_pump(1);
	while (most-- && (pair[0].nr_sent || pair[1].nr_sent)) {
		if (pair[1].nr_sent) {
			sent = pair[1].sent[0];
			pair[1].sent[0].bytes = NULL;
			pair_drop(1, 0);
			if (sent.to == DMANIC_EVERYBODY || sent.to == pair[0].address)
				feed(sent.from, sent.bytes, sent.length);
		} else {
			sent = pair[0].sent[0];
			pair[0].sent[0].bytes = NULL;
			pair_drop(0, 0);
			host_seen--;
			if (for_honest(&sent))
				pair_feed(1, sent.from, sent.bytes, sent.length);
			pair_pump(1);
		}
		free(sent.bytes);
	}
	trim_honest();
}

static u64 deadline(void)
{
	u64 at = dmanic_peer_deadline(pair[1].peer);
	u32 i;

	for (i = 0; i < host_nr; i++)
		at = min(at, dmanic_peer_deadline(&host_peers[i]->peer));
	return at;
}

static void tick(void)
{
	u32 i;

	for (i = 0; i < host_nr; i++)
		dmanic_peer_timer(&host_peers[i]->peer, pair_now);
	dmanic_peer_timer(pair[1].peer, pair_now);
	host_pump_all();
	if (host_secret)
		talk(TICKS);
	pair_pump(1);
	trim_honest();
}

/* Nothing arrives from strangers. Timers go off when they are to, and not for nothing. */
static void wait(u64 ns)
{
	u64 until = pair_now + ns, at;
	u32 ticks = 0;

	for (at = deadline(); at <= until; at = deadline()) {
		demand(ticks++ < TICKS);
		pair_now = max(at, pair_now + 1);
		tick();
	}
	pair_now = max(until, pair_now);
	tick();
}

static void step_honest(struct input *input)
{
	u8 how = take(input);
	struct dmanic_xfer *xfer;

	switch (how % 4) {
	case 0:
		talk(200);
		break;
	case 1:
		talk(how / 4);
		break;
	case 2:
		if (nr_honest == HONEST_OPS)
			return;
		xfer = &honest_ops[nr_honest++];
		*xfer = pair_write(pair[1].memory, take(input) * 20, take(input) * 100);
		fuzz_kind(input, xfer, &honest_lookups[nr_honest - 1]);
		pair_submit(1, xfer);
		break;
	case 3:
		if (host_secret)
			return;
		pair_start(1, 2000 + how, host_config);
		nr_honest = 0;
		break;
	}
}

/* ---- this side ---- */

static void step_submit(struct input *input)
{
	struct speaker who = take_speaker(input);
	u8 how = take(input);
	struct dmanic_lookup lookup = { .kind = how % 2 };
	struct dmanic_xfer xfer = pair_write(NULL, take(input) * 20, take(input) * 100);
	struct host_peer *hp;

	fuzz_kind(input, &xfer, NULL);
	if (how & 2)
		xfer.incarnation = 500 + (how >> 2) % 2;
	if (how & 8 && xfer.length) {
		xfer.block = 1 + take(input);
		xfer.stride = xfer.block + take(input);
	}
	xfer.blocks = how & 16 && xfer.kind == DMANIC_XFER_WRITE && !xfer.block;
	if (!who.node || host_nr_ops == HOST_OPS)
		return;
	hp = host_make(who.node);
	if (!hp)
		return;
	host_submit(hp, &xfer, &lookup);
	host_pump(&hp->peer);
}

static void step_cancel(struct input *input)
{
	struct host_op *op;

	if (!host_nr_ops)
		return;
	op = host_ops[take(input) % host_nr_ops];
	dmanic_peer_cancel(&op->of->peer, &op->xfer, DMANIC_STATUS_CANCELLED);
	demand(op->ended && op->xfer.status);
	host_pump(&op->of->peer);
}

/* What READs of others hold is taken back; from then on they are refused, or not */
static void step_revoke(struct input *input)
{
	struct dmanic_xfer *xfer;
	u32 i, at;

	pair[0].refuse = take(input) % 2 ? DMANIC_STATUS_ACCESS : DMANIC_STATUS_OK;
	for (i = 0; i < host_nr; i++) {
		for (at = 0; (xfer = dmanic_peer_reading(&host_peers[i]->peer, &at));)
			dmanic_peer_cancel(&host_peers[i]->peer, xfer,
					   DMANIC_STATUS_NO_SEGMENT);
		host_pump(&host_peers[i]->peer);
	}
	demand(!pair[0].reads);
}

static void step_mtu(struct input *input)
{
	u32 i, mtu = DMANIC_WIRE_MTU_MIN + take(input) * 2;

	dmanic_host_set_mtu(&pair[0].host, mtu, take(input) * 40);
	for (i = 0; i < host_nr; i++)
		dmanic_peer_set_mtu(&host_peers[i]->peer);
	host_pump_all();
}

/* The link cannot send the next frames, or will not */
static void step_unsent(struct input *input)
{
	u8 how = host_secret ? 0 : take(input);

	host_unsent = how % 8;
	host_withdrawn = how & 8;
}

/* The device goes down: everything has ended when that returns */
static void close_all(void)
{
	u32 i;

	for (i = 0; i < host_nr; i++)
		host_close(host_peers[i], DMANIC_STATUS_LINK_DOWN);
	demand(!host_pending && !pair[0].reads);
	host_reap();
}

static void announce(void)
{
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };

	dmanic_host_hello(&pair[0].host, &out);
	pair_send(&pair[0], &out);
}

static void step_down(struct input *input)
{
	u8 how = take(input);
	struct host_peer *hp = host_find(how / 4 % HOST_NODES);

	if (how % 4 == 3)
		announce();
	if (host_secret)
		return;
	if (how % 4 == 0 && hp) {
		host_close(hp, DMANIC_STATUS_LINK_DOWN);
	} else if (how % 4 == 1) {
		close_all();
	} else if (how % 4 == 2) {
		close_all();
		host_start(++incarnation);
	}
}

/* ---- all of it ---- */

/* The two are connected as they were, and what they want is done */
static void guard(void)
{
	const struct host_peer *hp = host_find(1);

	talk(TICKS);
	demand(hp->peer.state == DMANIC_PEER_OPEN && hp->peer.address == pair[1].address);
	demand(pair[1].peer->state == DMANIC_PEER_OPEN);
	demand(hp->peer.local_tag == host_secret);
	demand(pair[1].peer->remote_tag == host_secret);
	demand(hp->peer.remote_tag == pair[1].peer->local_tag);
}

static void guard_begin(void)
{
	struct dmanic_xfer xfer = pair_write(NULL, 8, 0);
	struct host_peer *hp = host_make(1);

	host_submit(hp, &xfer, &(struct dmanic_lookup) {});
	host_pump(&hp->peer);
	talk(TICKS);
	hp->kept = true;
	host_secret = hp->peer.local_tag;
	guard();
	host_check();
}

static void guard_end(void)
{
	u32 i;

	wait(SILENCE_NS);
	guard();
	demand(!host_find(1)->ops && pair[1].completed == nr_honest);
	for (i = 0; i < nr_honest; i++)
		demand(!host_is_end(honest_ops[i].status));
	host_secret = 0;
}

static void step(struct input *input)
{
	static void (*const steps[])(struct input *) = {
		step_hello, step_hello, step_hello, step_control, step_ack, step_data,
		step_data, step_bytes, step_again, step_flood, step_honest, step_honest,
		step_submit, step_cancel, step_revoke, step_mtu, step_unsent, step_down,
	};
	u8 what = take(input);

	if (what & 128)
		wait(1ULL << what % 36);
	else
		steps[what % (sizeof(steps) / sizeof(steps[0]))](input);
	if (host_secret)
		guard();
	host_check();
}

static void begin(u8 how)
{
	host_config = (struct dmanic_proto_config) {
		.mtu = 600, .super = how & 2 ? 2000 : 600, .operations = 8, .extents = 32,
		.sent = 32, .ranges = 4, .early = 4, .later = 4,
		.features = how & 4 ? DMANIC_WIRE_PAYLOAD_CRC : 0,
	};
	incarnation = 1000;
	pair_keyed = how & 16;
	pair_begin_with(host_config);
	host_start(incarnation);
	host_nr_told = 0;
	host_sent = 0;
	host_unsent = 0;
	nr_honest = 0;
}

/* Nobody is heard of any more: it gives everything up by itself */
static void silence(void)
{
	u32 i;

	wait(SILENCE_NS);
	host_check();
	demand(!host_pending && !pair[0].reads);
	demand(pair[1].completed == nr_honest);
	for (i = 0; i < host_nr; i++)
		demand(host_peers[i]->peer.state == DMANIC_PEER_CLOSED);
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t length)
{
	struct input input = { bytes, length };
	u8 how = take(&input);

	begin(how);
	if (how & 8)
		guard_begin();
	while (input.left)
		step(&input);
	if (host_secret)
		guard_end();
	if (how & 1)
		silence();
	close_all();
	host_stop();
	pair_end();
	return 0;
}
