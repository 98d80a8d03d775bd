// SPDX-License-Identifier: GPL-2.0-only
/*
 * load.c - operations, and what is checked when they end
 */
#include <linux/minmax.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* Frames of an operation that failed are gone from the network after this time */
#define LOAD_REST_NS	(20 * SIM_MS)
/* Whatever happens, an operation ends after this time, without what it waits for before */
#define LOAD_END_NS	(4 * SIM_DEAD)
/* A node is not thought dead unless something was wrong with it that lately */
#define LOAD_TROUBLE_NS	(3 * SIM_DEAD)

u64 sim_area_bytes(void)
{
	/* Room for strides of twice a block, and a word that is not touched */
	return (2ULL * sim.config.bytes + 64 + 7) & ~7ULL;
}

/* The operation of the other node that owns this part of our memory */
struct sim_op *sim_op_at(struct sim_peer *from, u64 area)
{
	struct sim_peer *theirs = sim_peer_get(from->other, from->node);
	struct sim_op *op;
	u32 i, k;

	for (i = 0; theirs->flow && i < sim.config.flows; i++) {
		for (k = 0; k < sim.config.depth; k++) {
			op = &theirs->flow[i].op[k];
			if (area >= op->area && area < op->area + sim_area_bytes())
				return op;
		}
	}
	return NULL;
}

/* @at: zero at first. Flows of a node to another, one after the other; NULL: no more */
struct sim_flow *sim_flow_next(struct sim_peer *peer, u32 *at)
{
	return peer->flow && *at < sim.config.flows ? &peer->flow[(*at)++] : NULL;
}

bool sim_ended_ok(u64 serial)
{
	return serial < sim.serials && sim.serial[serial];
}

static void load_flows(struct sim_node *node, struct sim_node *other)
{
	struct sim_peer *peer = sim_peer_get(node, other);
	struct sim_flow *flow;
	u32 i, k;

	if (peer->flow)
		return;
	peer->flow = calloc(sim.config.flows, sizeof(*peer->flow));
	for (i = 0; i < sim.config.flows; i++) {
		flow = &peer->flow[i];
		flow->node = node;
		flow->peer = peer;
		flow->class = i ? DMANIC_BULK : DMANIC_URGENT;
		if (sim.config.flows == 1)
			flow->class = DMANIC_BULK;
		flow->word = other->memory_bytes;
		other->memory_bytes += 8;
		for (k = 0; k < sim.config.depth; k++) {
			flow->op[k].flow = flow;
			flow->op[k].area = other->memory_bytes;
			other->memory_bytes += sim_area_bytes();
		}
		if (sim.config.over)
			sim_over_setup(flow);
	}
}

/* Who sends to whom, and memory for all of it */
void sim_load_setup(void)
{
	u32 i, k, to;

	for (i = 0; i < sim.config.nodes; i++) {
		for (k = 0; k < sim.config.peers; k++) {
			to = sim.config.to_one ? 0 : (i + 1 + k * k) % sim.config.nodes;
			if (to != i)
				load_flows(&sim.node[i], &sim.node[to]);
		}
	}
	for (i = 0; i < sim.config.nodes; i++)
		sim.node[i].memory = calloc(1, sim.node[i].memory_bytes + 8);
	/* Some runs end after a time */
	sim.serials = sim.config.operations < 1 << 24 ? sim.config.operations + 1 : 0;
	sim.serial = calloc(1, sim.serials + 1);
}

/* ---- posting ---- */

static u32 load_length(void)
{
	u32 most = sim.config.bytes;

	if (sim.config.fixed)
		return most;
	switch (sim_random() % 4) {
	case 0:
		return sim_random() % (most + 1);
	case 1:
		return 8;
	default:
		return sim_random() % (most / 8 + 1);
	}
}

static void load_kind(struct sim_op *op)
{
	struct dmanic_xfer *xfer = &op->xfer;
	u32 kind = sim.config.fixed ? 0 : sim_random() % 16;

	if (sim.config.over)
		kind = kind % 3 ? 0 : 8 + kind / 3 % 2;

	xfer->kind = DMANIC_XFER_WRITE;
	xfer->length = load_length();
	if (kind == 1) {
		xfer->kind = DMANIC_XFER_NOTIFY;
		xfer->length = 0;
	} else if (kind == 2 || kind == 3) {
		xfer->kind = DMANIC_XFER_ATOMIC;
		xfer->opcode = DMANIC_OP_FETCH_ADD;
		xfer->offset = op->flow->word;
		xfer->length = 0;
		xfer->payload = 1;
		xfer->compare = op->serial;
	} else if (kind == 10) {
		xfer->kind = DMANIC_XFER_LOOKUP;
		xfer->length = 0;
		xfer->lookup = &op->lookup;
		op->lookup = (struct dmanic_lookup) { .secret = { SIM_KEY } };
		snprintf(op->lookup.name, sizeof(op->lookup.name), "%llu", op->serial);
	} else if (kind < 7 && kind > 3) {
		xfer->kind = DMANIC_XFER_READ;
		xfer->segment = 2;
		xfer->offset = sim_random() % 1000000;
	}
	if (xfer->kind == DMANIC_XFER_WRITE) {
		xfer->notifies = sim_random() % 2;
		xfer->blocks = kind == 8;
	}
	if (kind == 9 || kind == 4) {
		xfer->block = 1 + sim_random() % 300;
		xfer->stride = xfer->block + sim_random() % xfer->block;
		/* It ends within a block: its area has room for whole ones */
		xfer->length -= xfer->length % xfer->block;
	}
	op->changing = sim.config.crc && xfer->kind == DMANIC_XFER_WRITE &&
		       xfer->length && sim_chance(sim.config.change, 1000);
}

static void load_bad(struct sim_op *op)
{
	if (!sim_chance(sim.config.bad, 1000) || op->xfer.kind == DMANIC_XFER_NOTIFY)
		return;
	if (op->xfer.kind == DMANIC_XFER_LOOKUP) {
		op->lookup.secret[0] = 1;
		op->want = DMANIC_STATUS_ACCESS;
		return;
	}
	if (sim_random() % 2) {
		op->xfer.key = 1;
		op->want = DMANIC_STATUS_ACCESS;
	} else {
		op->xfer.offset = 1ULL << 40;
		op->want = DMANIC_STATUS_BOUNDS;
	}
	op->changing = false;
}

static void load_cancel(void *arg)
{
	struct sim_op *op = arg;

	if (sim_away(op->flow->node, load_cancel, op))
		return;
	/* Perhaps another by now: that is given up as well */
	if (!op->busy || op->flow->node->silent)
		return;
	op->cancelled = true;
	dmanic_peer_cancel(op->flow->peer->peer, &op->xfer, DMANIC_STATUS_CANCELLED);
	sim_load_ended(op->flow->node);
	sim_pump(op->flow->peer);
}

static void load_post(struct sim_op *op)
{
	struct sim_flow *flow = op->flow;
	struct dmanic_xfer *xfer = &op->xfer;

	memset(xfer, 0, sizeof(*xfer));
	op->serial = ++sim.posted;
	op->order = flow->order++;
	op->posted = sim.now;
	op->absent = sim.absent;
	op->placed = 0;
	op->arrived = 0;
	op->raised = 0;
	op->done = 0;
	op->want = 0;
	op->busy = true;
	op->changing = false;
	op->cancelled = false;
	xfer->class = flow->class;
	xfer->segment = 1;
	xfer->key = SIM_KEY;
	xfer->offset = op->area;
	xfer->irq = 3;
	xfer->irq_key = SIM_KEY;
	xfer->payload = op->serial;
	if (sim_random() % 2)
		xfer->incarnation = flow->peer->incarnation;
	load_kind(op);
	load_bad(op);
	free(op->came);
	op->came = xfer->kind == DMANIC_XFER_READ ? calloc(1, xfer->length / 8 + 1) : NULL;
	if (sim.config.over)
		sim_over_post(op);
	dmanic_peer_submit(flow->peer->peer, &flow->flow, xfer, sim.now);
	if (sim_chance(sim.config.cancel, 1000))
		sim_timer(sim.now + sim_random() % (SIM_MS / 2), load_cancel, op);
}

static void load_rested(void *arg)
{
	struct sim_op *op = arg;

	if (sim_away(op->flow->node, load_rested, op))
		return;
	if (op->busy || op->flow->node->silent || sim.posted >= sim.config.operations ||
	    sim.stop)
		return;
	if (op->rest_until > sim.now) {
		sim_timer(op->rest_until, load_rested, op);
		return;
	}
	load_post(op);
	sim_pump(op->flow->peer);
}

static void load_next(struct sim_op *op)
{
	u64 every = sim.config.every_ns;

	if (sim.posted >= sim.config.operations || sim.stop || op->busy)
		return;
	if (every && op->serial)
		sim_timer((sim.now / every + 1) * every, load_rested, op);
	else if (op->rest_until > sim.now)
		sim_timer(op->rest_until, load_rested, op);
	else
		load_post(op);
}

static void load_rest(struct sim_op *op)
{
	op->rest_until = max(sim.now, op->flow->peer->other->away) + LOAD_REST_NS;
}

/* The node has no CPU now: frames of what failed lately are with it as long as that */
void sim_load_absent(struct sim_node *node)
{
	struct sim_peer *peer;
	struct sim_flow *flow;
	u32 i, k, at;

	for (i = 0; i < sim.config.nodes; i++)
		for (peer = sim.node[i].peers; peer; peer = peer->next)
			for (at = 0; peer->other == node && (flow = sim_flow_next(peer, &at));)
				for (k = 0; k < sim.config.depth; k++)
					if (flow->op[k].rest_until > sim.now)
						load_rest(&flow->op[k]);
}

static void load_late(void *arg)
{
	sim_load_start(arg);
}

static void load_init_flows(struct sim_peer *peer)
{
	struct sim_flow *flow;
	u32 i;

	for (i = 0; i < SIM_SHARES; i++)
		dmanic_share_init(&peer->share[i]);
	for (i = 0; i < sim.config.flows; i++) {
		flow = &peer->flow[i];
		dmanic_flow_init(&flow->flow, &peer->share[flow->class == DMANIC_URGENT ? 0 :
							   1 + i % (SIM_SHARES - 1)]);
	}
}

/* Also after a restart: then all of it begins anew */
void sim_load_start(struct sim_node *node)
{
	struct sim_peer *peer;
	u32 i, k;

	if (node->id == sim.config.nodes - 1 && sim.now < sim.config.late_ns) {
		sim_timer(sim.config.late_ns, load_late, node);
		return;
	}
	for (peer = node->peers; peer; peer = peer->next) {
		if (peer->flow && !peer->share[0].turn.next)
			load_init_flows(peer);
		for (i = 0; peer->flow && i < sim.config.flows; i++)
			for (k = 0; k < sim.config.depth; k++)
				load_next(&peer->flow[i].op[k]);
		sim_pump(peer);
	}
}

/* The node lost its memory: nobody hears of its operations any more */
void sim_load_lost(struct sim_node *node)
{
	struct sim_peer *peer;
	struct sim_op *op;
	u32 i, k;

	for (peer = node->peers; peer; peer = peer->next) {
		peer->incarnation = 0;
		if (peer->flow)
			load_init_flows(peer);
		for (i = 0; peer->flow && i < sim.config.flows; i++) {
			for (k = 0; k < sim.config.depth; k++) {
				op = &peer->flow[i].op[k];
				if (op->busy) {
					sim.ended++;
					sim.failed++;
				}
				op->busy = false;
				load_rest(op);
			}
		}
	}
}

/* ---- ends ---- */

static void end_ok(struct sim_op *op)
{
	const struct dmanic_xfer *xfer = &op->xfer;

	SIM_CHECK(!op->want, "operation %llu was not refused", op->serial);
	SIM_CHECK(!op->changing, "operation %llu: changed and not noticed", op->serial);
	switch (xfer->kind) {
	case DMANIC_XFER_WRITE:
		SIM_CHECK(op->placed == xfer->length || sim.config.over, "operation %llu: %llu of %llu bytes",
			  op->serial, op->placed, xfer->length);
		SIM_CHECK(op->raised == xfer->notifies, "operation %llu: notified %u times",
			  op->serial, op->raised);
		break;
	case DMANIC_XFER_NOTIFY:
		SIM_CHECK(op->raised == 1, "notify %llu raised %u times", op->serial,
			  op->raised);
		break;
	case DMANIC_XFER_READ:
		SIM_CHECK(op->arrived == xfer->length, "read %llu: %llu of %llu bytes",
			  op->serial, op->arrived, xfer->length);
		break;
	case DMANIC_XFER_LOOKUP:
		SIM_CHECK(op->lookup.key == op->serial &&
			  op->lookup.length == op->flow->peer->other->id,
			  "lookup %llu found %llu", op->serial, op->lookup.key);
		break;
	default:
		SIM_CHECK(op->done == 1, "atomic %llu done %u times", op->serial, op->done);
		SIM_CHECK(xfer->result == op->found, "atomic %llu told %llu, not %llu",
			  op->serial, xfer->result, op->found);
	}
	if (op->serial < sim.serials)
		sim.serial[op->serial] = true;
	sim.ok++;
	sim.bytes_ok += xfer->length;
}

/* The bytes at the target are those of the operation, to the last */
static void end_memory(const struct sim_op *op)
{
	const struct dmanic_xfer *xfer = &op->xfer;
	const u8 *memory = op->flow->peer->other->memory + op->area;
	static u8 wanted[1 << 20];
	u64 i, at;

	if (xfer->kind != DMANIC_XFER_WRITE || !xfer->length)
		return;
	if (sim.config.over) {
		sim_over_check(op->flow, op->serial, op->serial);
		return;
	}
	if (!xfer->block) {
		sim_fill(op->serial, 0, wanted, xfer->length);
		SIM_CHECK(!memcmp(wanted, memory, xfer->length),
			  "operation %llu: memory is wrong", op->serial);
		return;
	}
	for (i = 0; i < xfer->length; i++) {
		at = i / xfer->block * xfer->stride + i % xfer->block;
		SIM_CHECK(memory[at] == sim_byte(op->serial, i),
			  "operation %llu: byte %llu is wrong", op->serial, i);
	}
}

static bool end_troubled(const struct sim_node *node)
{
	return node->silent || (node->trouble && sim.now - node->trouble < LOAD_TROUBLE_NS);
}

static void end_failed(struct sim_op *op)
{
	u32 status = op->xfer.status;

	sim.failed++;
	load_rest(op);
	if (op->cancelled && status == DMANIC_STATUS_CANCELLED)
		return;
	if (op->want == status && status)
		return;
	if (op->changing && status == DMANIC_STATUS_SOURCE_CHANGED)
		return;
	SIM_CHECK((end_troubled(op->flow->node) || end_troubled(op->flow->peer->other)) &&
		  (status == DMANIC_STATUS_PEER_DEAD ||
		   status == DMANIC_STATUS_PEER_RESTARTED),
		  "operation %llu of kind %u ended with status %u", op->serial,
		  op->xfer.kind, status);
}

/* What the protocol completed: checked, then the next is posted */
void sim_load_ended(struct sim_node *node)
{
	struct sim_op *op;
	u32 i;

	for (i = 0; i < node->nr_ended; i++) {
		op = node->ended[i];
		sim.ended++;
		sim.last_end = sim.now;
		SIM_CHECK(sim.now - op->posted <= LOAD_END_NS + sim.absent - op->absent ||
			  op->flow->node->silent,
			  "operation %llu ended after %llu ms", op->serial,
			  (sim.now - op->posted) / SIM_MS);
		sim.digest = (sim.digest ^ op->serial ^ sim.now) * 0x100000001b3ULL;
		SIM_CHECK(!sim.config.planted || sim.ended < sim.config.planted,
			  "digest %016llx, as --planted says", sim.digest);
		if (op->xfer.status) {
			end_failed(op);
		} else {
			end_ok(op);
			/* A target that restarted since then has begun with zeros */
			if (op->flow->peer->other->trouble < op->posted)
				end_memory(op);
		}
	}
	while (node->nr_ended) {
		op = node->ended[--node->nr_ended];
		load_next(op);
	}
}

bool sim_load_done(void)
{
	return sim.ended == sim.posted &&
	       (sim.posted >= sim.config.operations || sim.stop);
}

/* Nothing is left anywhere */
void sim_load_check_end(void)
{
	struct sim_flow *flow;
	struct sim_peer *peer;
	u64 word;
	u32 i, at;

	for (i = 0; i < sim.config.nodes; i++) {
		SIM_CHECK(!sim.node[i].reads, "node %u holds %llu READs", i,
			  sim.node[i].reads);
		for (peer = sim.node[i].peers; peer; peer = peer->next) {
			SIM_CHECK(!peer->peer->nr_replies, "node %u owes %u of %u", i,
				  peer->peer->nr_replies, peer->other->id);
			for (at = 0; (flow = sim_flow_next(peer, &at));) {
				memcpy(&word, peer->other->memory + flow->word, 8);
				SIM_CHECK(word == flow->did, "word of node %u in %u", i,
					  peer->other->id);
				if (sim.config.over)
					sim_over_check(flow, 1, sim.posted);
			}
		}
	}
}
