// SPDX-License-Identifier: GPL-2.0-only
/*
 * host.c - frames as they come: whose they are, and answers to strangers
 *
 * Nothing that a stranger sends changes anything but counters, why a node that does
 * not answer is said not to and, for an INIT, a peer that was closed. What answers it
 * gets are limited in number, never longer than what it sent, and go to where it came
 * from.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"

/* Answers to strangers, of each kind: at once, and every millisecond one more */
#define HOST_ANSWERS	64U
#define HOST_ANSWER_NS	1000000ULL

static u32 host_or(u32 value, u32 otherwise)
{
	return value ? value : otherwise;
}

static u64 host_time_or(u64 value, u64 otherwise)
{
	return value ? value : otherwise;
}

/**
 * dmanic_host_set_mtu() - what the device takes; then dmanic_peer_set_mtu() for peers
 * @host: this node
 * @mtu: longest frame of the path
 * @super: longest frame the link takes and cuts; less than @mtu: it cuts none
 *
 * With a key a part of each frame is its proof; then the link cuts none.
 */
void dmanic_host_set_mtu(struct dmanic_host *host, u32 mtu, u32 super)
{
	struct dmanic_proto_config *own = &host->config;

	mtu -= min(mtu, dmanic_auth_bytes(host));
	super -= min(super, dmanic_auth_bytes(host));
	own->mtu = clamp(mtu, DMANIC_WIRE_MTU_MIN, DMANIC_WIRE_FRAME_MAX);
	own->super = clamp(super, own->mtu, DMANIC_WIRE_FRAME_MAX);
}

/**
 * dmanic_host_init() - this node
 * @host: out
 * @env: its surroundings
 * @config: what is zero gets its default
 */
void dmanic_host_init(struct dmanic_host *host, const struct dmanic_env *env,
		      const struct dmanic_proto_config *config)
{
	struct dmanic_proto_config *own = &host->config;
	u32 i;

	memset(host, 0, sizeof(*host));
	host->env = env;
	*own = *config;
	dmanic_host_set_mtu(host, host_or(own->mtu, 1500), own->super);
	own->operations = host_or(own->operations, 256);
	own->extents = host_or(own->extents, max(1024U, 4 * own->operations));
	own->sent = host_or(own->sent, 4096);
	own->ranges = host_or(own->ranges, 256);
	own->early = host_or(own->early, 256);
	own->later = host_or(own->later, 256);
	own->budget = host_or(own->budget, 1U << 18);
	own->dead_ns = host_time_or(own->dead_ns, 2000000000ULL);
	own->idle_ns = host_time_or(own->idle_ns, 1000000000ULL);
	own->ack_ns = host_time_or(own->ack_ns, 100000ULL);
	own->rto_ns = host_time_or(own->rto_ns, 2000000ULL);
	own->target_ns = host_time_or(own->target_ns, 200000ULL);
	for (i = 0; i < DMANIC_STRANGERS; i++) {
		host->hellos[i].left = HOST_ANSWERS;
		host->inits[i].left = HOST_ANSWERS;
		host->resets[i].left = HOST_ANSWERS;
	}
	host->seeks.left = HOST_ANSWERS;
}

static void host_answer_begin(struct dmanic_out *out, u64 to)
{
	out->head_length = 0;
	out->to = to;
	out->piece = 0;
	out->seal = false;
	out->crc = false;
	out->payload_length = 0;
	out->nr_sources = 0;
	out->units = 0;
	out->counter = 0;
}

static bool host_may(struct dmanic_allowance *allowance, u64 now)
{
	u64 more = (now - allowance->at) / HOST_ANSWER_NS;

	if (more) {
		allowance->left = min_t(u64, allowance->left + more, HOST_ANSWERS);
		allowance->at = now;
	}
	if (!allowance->left)
		return false;
	allowance->left--;
	return true;
}

/* Who is welcome, whatever strangers send, has an allowance of his own */
static bool host_may_welcome(struct dmanic_allowance *others, u64 *told, u64 now)
{
	if (now - *told < HOST_ANSWER_NS)
		return host_may(others, now);
	*told = now;
	return true;
}

/* With a key a new HELLO of a node that is known is surely its own */
static bool host_may_hello(struct dmanic_host *host, struct dmanic_peer *peer, u64 from, u64 now)
{
	struct dmanic_allowance *others = &host->hellos[dmanic_auth_stranger(host, from)];

	if (peer && host->auth.on)
		return host_may_welcome(others, &peer->hello_told, now);
	return host_may(others, now);
}

/* And an INIT of one that we ask ourselves is welcome in any case */
static bool host_may_init(struct dmanic_host *host, struct dmanic_peer *peer, u64 from, u64 now)
{
	struct dmanic_allowance *others = &host->inits[dmanic_auth_stranger(host, from)];

	if (peer && (host->auth.on || dmanic_handshake_asks(peer)))
		return host_may_welcome(others, &peer->init_told, now);
	return host_may(others, now);
}

static void host_refuse(struct dmanic_host *host, u64 tag, u8 reason,
			struct dmanic_out *answer)
{
	struct dmanic_refuse refuse = {
		.node = host->config.node,
		.reason = reason,
		.version_min = DMANIC_WIRE_MIN,
		.version_max = DMANIC_WIRE_MAX,
	};

	answer->head_length = dmanic_refuse_encode(answer->head, tag, &refuse);
}

static bool host_speaks(const struct dmanic_hello *hello)
{
	return hello->version_min <= DMANIC_WIRE_MAX &&
	       hello->version_max >= DMANIC_WIRE_MIN;
}

/**
 * dmanic_host_may_seek() - may everybody be asked where a node is
 * @host: by whom
 * @now: time
 *
 * Whoever asks for nodes that are not there has no more of the network than that.
 *
 * Return: false: later.
 */
bool dmanic_host_may_seek(struct dmanic_host *host, u64 now)
{
	return host_may(&host->seeks, now);
}

/**
 * dmanic_host_hello() - tell everybody that this node is there
 * @host: it
 * @out: the frame; @out->head is the caller's
 *
 * Who has the same id refuses; others answer with a HELLO of theirs.
 */
void dmanic_host_hello(struct dmanic_host *host, struct dmanic_out *out)
{
	struct dmanic_hello hello;

	host_answer_begin(out, DMANIC_EVERYBODY);
	dmanic_hello_fill(host, &hello);
	out->head_length = dmanic_hello_encode(out->head, DMANIC_WIRE_HELLO, 0, 0, &hello);
	dmanic_auth_count(host, NULL, out);
	host->stats.frames_sent++;
}

static enum dmanic_drop host_hello(struct dmanic_host *host,
				   const struct dmanic_frame *frame,
				   const struct dmanic_head *head, u64 now,
				   struct dmanic_out *answer, struct dmanic_peer **found)
{
	bool reply = head->flags & DMANIC_WIRE_REPLY;
	struct dmanic_hello hello, own;
	struct dmanic_peer *peer;
	enum dmanic_drop drop;

	drop = dmanic_hello_decode(frame->head, head, &hello);
	if (drop)
		return drop;
	if (hello.to != host->config.node && hello.to != DMANIC_WIRE_NOBODY)
		return DMANIC_DROP_STRANGER;
	if (hello.node == host->config.node &&
	    hello.incarnation == host->config.incarnation)
		return DMANIC_DROP_STATE; /* our own, from a loop */
	if (!dmanic_auth_newer(host, hello.node, head))
		return DMANIC_DROP_REPLAY;
	if (hello.node == host->config.node) {
		host->env->event(NULL, DMANIC_PEER_RIVAL);
		if (!reply && host_may_hello(host, NULL, frame->from, now))
			host_refuse(host, 0, DMANIC_REFUSE_IN_USE, answer);
		return DMANIC_DROP_STATE;
	}
	peer = host->env->find_node(host, hello.node, false);
	if (!reply && !host_may_hello(host, peer, frame->from, now))
		return DMANIC_DROP_RATE;
	if (!host_speaks(&hello)) {
		/* Who looks for nobody asks for nothing */
		if (!reply && hello.to != DMANIC_WIRE_NOBODY)
			host_refuse(host, 0, DMANIC_REFUSE_VERSION, answer);
		return DMANIC_DROP_VERSION;
	}
	*found = peer;
	if (peer)
		dmanic_handshake_hello(peer, frame->from, !reply);
	if (reply)
		return DMANIC_DROP_NONE;
	dmanic_hello_fill(host, &own);
	own.to = hello.node;
	answer->head_length = dmanic_hello_encode(answer->head, DMANIC_WIRE_HELLO,
						  DMANIC_WIRE_REPLY, 0, &own);
	return DMANIC_DROP_NONE;
}

static enum dmanic_drop host_init(struct dmanic_host *host, const struct dmanic_frame *frame,
				  const struct dmanic_head *head, u64 now,
				  struct dmanic_out *answer, struct dmanic_peer **found)
{
	struct dmanic_hello hello;
	enum dmanic_drop drop;

	drop = dmanic_hello_decode(frame->head, head, &hello);
	if (drop)
		return drop;
	if (hello.to != host->config.node || hello.node == host->config.node)
		return DMANIC_DROP_STRANGER;
	if (!dmanic_auth_newer(host, hello.node, head))
		return DMANIC_DROP_REPLAY;
	*found = host->env->find_node(host, hello.node, false);
	if (!host_may_init(host, *found, frame->from, now))
		return DMANIC_DROP_RATE;
	if (!host_speaks(&hello)) {
		host_refuse(host, hello.tag, DMANIC_REFUSE_VERSION, answer);
		return DMANIC_DROP_VERSION;
	}
	if (!*found) {
		*found = host->env->find_node(host, hello.node, true);
		dmanic_auth_newer(host, hello.node, head);
	}
	if (*found)
		return dmanic_handshake_init(*found, frame, &hello, now, answer);
	host_refuse(host, hello.tag, DMANIC_REFUSE_BUSY, answer);
	return DMANIC_DROP_ROOM;
}

/* Nobody here has the tag (any more) */
static void host_reset_stranger(struct dmanic_host *host, u64 from,
				const struct dmanic_head *head, u64 now,
				struct dmanic_out *answer)
{
	const struct dmanic_proto_config *config = &host->config;

	if (head->tag && host_may(&host->resets[dmanic_auth_stranger(host, from)], now))
		answer->head_length = dmanic_reset_encode(answer->head, head->tag,
							  config->node,
							  config->incarnation);
}

static enum dmanic_drop host_answer(struct dmanic_host *host,
				    const struct dmanic_frame *frame,
				    const struct dmanic_head *head, u64 now,
				    struct dmanic_out *answer,
				    struct dmanic_peer **found)
{
	struct dmanic_peer *peer = host->env->find_tag(host, head->tag);
	struct dmanic_hello hello;
	enum dmanic_drop drop;

	drop = dmanic_hello_decode(frame->head, head, &hello);
	if (drop)
		return drop;
	if (hello.to != host->config.node)
		return DMANIC_DROP_STRANGER;
	if (!dmanic_auth_newer(host, hello.node, head))
		return DMANIC_DROP_REPLAY;
	/* It believes to know both tags: it would wait for the one that is gone */
	if (!peer && head->flags & DMANIC_WIRE_DONE)
		host_reset_stranger(host, frame->from, head, now, answer);
	if (!peer || hello.node != peer->node)
		return DMANIC_DROP_STRANGER;
	if (!host_speaks(&hello))
		return DMANIC_DROP_VERSION;
	*found = peer;
	return dmanic_handshake_answer(peer, frame, head->flags & DMANIC_WIRE_DONE, &hello,
				       now);
}

/*
 * Who refuses: the owner of the tag, or who was looked for, which has none yet. That
 * anybody can pretend to be: he is believed of a node that never answered.
 */
static struct dmanic_peer *host_refuser(struct dmanic_host *host, u64 tag,
					const struct dmanic_refuse *refuse)
{
	struct dmanic_peer *peer;

	if (tag) {
		peer = host->env->find_tag(host, tag);
		return peer && peer->node == refuse->node ? peer : NULL;
	}
	if (refuse->reason != DMANIC_REFUSE_VERSION)
		return NULL;
	peer = host->env->find_node(host, refuse->node, false);
	return peer && peer->sought && !peer->incarnation ? peer : NULL;
}

/* Somebody may have a reason, or pretend to: it is noted, and asking goes on */
static enum dmanic_drop host_refused(struct dmanic_host *host,
				     const struct dmanic_frame *frame,
				     const struct dmanic_head *head)
{
	struct dmanic_refuse refuse;
	struct dmanic_peer *peer;
	enum dmanic_drop drop;

	drop = dmanic_refuse_decode(frame->head, head, &refuse);
	if (drop)
		return drop;
	if (!dmanic_auth_newer(host, refuse.node, head))
		return DMANIC_DROP_REPLAY;
	if (!head->tag && refuse.node == host->config.node) {
		host->env->event(NULL, DMANIC_PEER_RIVAL);
		return DMANIC_DROP_NONE;
	}
	peer = host_refuser(host, head->tag, &refuse);
	if (!peer)
		return DMANIC_DROP_STRANGER;
	if (peer->state != DMANIC_PEER_OPENING)
		return DMANIC_DROP_STATE;
	/* Told once for each attempt */
	if (!peer->refused)
		host->env->event(peer, DMANIC_PEER_REFUSED);
	peer->refused = refuse.reason;
	return DMANIC_DROP_NONE;
}

static enum dmanic_drop host_reset(struct dmanic_host *host, const struct dmanic_frame *frame,
				   const struct dmanic_head *head, u64 now,
				   struct dmanic_peer **found)
{
	struct dmanic_peer *peer;
	enum dmanic_drop drop;
	u64 incarnation;
	u32 node;

	drop = dmanic_reset_decode(frame->head, head, &node, &incarnation);
	if (drop)
		return drop;
	/* Our own came back */
	if (node == host->config.node)
		return DMANIC_DROP_STRANGER;
	if (!dmanic_auth_newer(host, node, head))
		return DMANIC_DROP_REPLAY;
	peer = host->env->find_node(host, node, false);
	/* The tag proves who it is: its address may be another by now */
	if (!peer || peer->state < DMANIC_PEER_PAIRED || peer->remote_tag != head->tag)
		return DMANIC_DROP_STRANGER;
	*found = peer;
	dmanic_handshake_reset(peer, incarnation, now);
	return DMANIC_DROP_NONE;
}

/* PROBE, ACK, DATA, TEST and TESTED: of a connection */
static enum dmanic_drop host_connected(struct dmanic_host *host,
				       const struct dmanic_frame *frame,
				       const struct dmanic_head *head, u64 now,
				       struct dmanic_out *answer,
				       struct dmanic_peer **found)
{
	struct dmanic_peer *peer = host->env->find_tag(host, head->tag);
	enum dmanic_drop drop;

	if (!peer) {
		host_reset_stranger(host, frame->from, head, now, answer);
		return DMANIC_DROP_STRANGER;
	}
	if (peer->state < DMANIC_PEER_PAIRED)
		return DMANIC_DROP_STATE;
	if (peer->address != frame->from)
		return DMANIC_DROP_STRANGER;
	if (!dmanic_auth_fresh(peer, head->counter))
		return DMANIC_DROP_REPLAY;
	*found = peer;
	if (peer->state == DMANIC_PEER_PAIRED)
		dmanic_handshake_open(peer, now);
	dmanic_peer_heard(peer, now);
	switch (head->type) {
	case DMANIC_WIRE_PROBE:
		peer->ack_now = true;
		return DMANIC_DROP_NONE;
	case DMANIC_WIRE_TEST:
		peer->largest = max(peer->largest, frame->length);
		return dmanic_path_test(peer, frame, head);
	case DMANIC_WIRE_TESTED:
		return dmanic_path_tested(peer, frame, head, now);
	case DMANIC_WIRE_DATA:
		peer->largest = max(peer->largest, frame->length);
		return dmanic_receive_data(peer, frame, head, now, answer);
	}
	drop = dmanic_ack_decode(frame->head, head, &host->ack);
	return drop ? drop : dmanic_ack_receive(peer, &host->ack, now);
}

static enum dmanic_drop host_receive(struct dmanic_host *host,
				     const struct dmanic_frame *frame,
				     const struct dmanic_head *head, u64 now,
				     struct dmanic_out *answer, struct dmanic_peer **found)
{
	switch (head->type) {
	case DMANIC_WIRE_HELLO:
		return host_hello(host, frame, head, now, answer, found);
	case DMANIC_WIRE_INIT:
		return host_init(host, frame, head, now, answer, found);
	case DMANIC_WIRE_ANSWER:
		return host_answer(host, frame, head, now, answer, found);
	case DMANIC_WIRE_REFUSE:
		return host_refused(host, frame, head);
	case DMANIC_WIRE_RESET:
		return host_reset(host, frame, head, now, found);
	default:
		return host_connected(host, frame, head, now, answer, found);
	}
}

/**
 * dmanic_host_receive() - a frame came
 * @host: to this node
 * @frame: it
 * @now: time
 * @answer: to be sent at once, if its head has a length; @answer->head is the
 *	caller's
 *
 * Return: the peer it concerned, for dmanic_peer_next(), or NULL.
 */
struct dmanic_peer *dmanic_host_receive(struct dmanic_host *host,
					const struct dmanic_frame *frame, u64 now,
					struct dmanic_out *answer)
{
	struct dmanic_peer *peer = NULL;
	struct dmanic_head head;
	enum dmanic_drop drop;

	host_answer_begin(answer, frame->from);
	host->stats.frames_received++;
	drop = dmanic_head_decode(frame->head, frame->linear, frame->length, &head);
	if (!drop)
		drop = dmanic_auth_receive(host, frame, &head, now);
	if (!drop)
		drop = host_receive(host, frame, &head, now, answer, &peer);
	if (drop)
		host->stats.dropped[drop]++;
	if (answer->head_length) {
		dmanic_auth_count(host, peer, answer);
		host->stats.frames_sent++;
	}
	return peer;
}
