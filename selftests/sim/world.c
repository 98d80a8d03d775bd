// SPDX-License-Identifier: GPL-2.0-only
/*
 * world.c - the clock, the network and its faults
 *
 * Events are a heap by time, then by number: so the same seed gives the same run.
 */
#include <linux/minmax.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#include <linux/crc32.h>

struct sim_world sim;

struct event {
	u64 time;
	u64 number;
	void (*call)(void *arg);
	void *arg;
};

static struct event *heap;
static u32 heap_nr, heap_max;
static u64 heap_number;

void sim_fail(const char *file, int line, const char *what, const char *format, ...)
{
	va_list args;

	printf("# %s:%d: at %llu ns: not true: %s: ", file, line, sim.now, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	sim_replay_print();
	exit(1);
}

u64 sim_random(void)
{
	u64 x = sim.random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

bool sim_chance(u32 of, u32 most)
{
	return of && sim_random() % most < of;
}

/* ---- events ---- */

static bool event_before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->number < b->number;
}

void sim_timer(u64 when, void (*call)(void *), void *arg)
{
	struct event event = { when, heap_number++, call, arg };
	struct event *more;
	u32 i, up;

	if (heap_nr == heap_max) {
		heap_max = heap_max ? 2 * heap_max : 1024;
		more = realloc(heap, heap_max * sizeof(*heap));
		if (!more)
			abort();
		heap = more;
	}
	for (i = heap_nr++; i; i = up) {
		up = (i - 1) / 2;
		if (!event_before(&event, &heap[up]))
			break;
		heap[i] = heap[up];
	}
	heap[i] = event;
}

static struct event event_take(void)
{
	struct event first = heap[0], last = heap[--heap_nr];
	u32 i = 0, down;

	while ((down = 2 * i + 1) < heap_nr) {
		if (down + 1 < heap_nr && event_before(&heap[down + 1], &heap[down]))
			down++;
		if (!event_before(&heap[down], &last))
			break;
		heap[i] = heap[down];
		i = down;
	}
	heap[i] = last;
	return first;
}

/* ---- the network ---- */

struct flight {
	struct sim_node *to;
	u64 from;
	u32 length;
	u32 head_length;
	u8 bytes[];
};

static void frame_answer(struct sim_node *node, const struct dmanic_out *out);

/*
 * What is to be done on a node that has no CPU is done as soon as it has one. Return: true
 * when it is done then
 */
bool sim_away(struct sim_node *node, void (*call)(void *), void *arg)
{
	if (node->away <= sim.now)
		return false;
	sim_timer(node->away + 500, call, arg);
	return true;
}

static void frame_arrive(void *arg)
{
	static u8 head[DMANIC_WIRE_HEAD_MAX];
	struct flight *flight = arg;
	struct sim_node *node = flight->to;
	struct dmanic_out answer = { .head = head };
	struct sim_payload payload = { flight->bytes };
	struct dmanic_frame frame = {
		.from = flight->from,
		.head = flight->bytes,
		.linear = flight->length,
		.length = flight->length,
		.link = &payload,
	};
	struct dmanic_peer *peer;
	struct sim_peer *known;

	if (node->away > sim.now) {
		/* In their order, before all else or behind it */
		sim_timer(node->away + (node->looks ? 0 : 1000), frame_arrive, flight);
		return;
	}
	if (!node->silent &&
	    flight->length <= node->host.config.mtu + dmanic_auth_bytes(&node->host)) {
		sim.digest = (sim.digest ^ __crc32c_le(~0U, flight->bytes, flight->length)) *
			     0x100000001b3ULL;
		if (sim.config.trace)
			printf("%llu %llu>%u type %u head %u length %u\n", sim.now,
			       flight->from, node->id, flight->bytes[1],
			       flight->head_length, flight->length);
		peer = dmanic_host_receive(&node->host, &frame, sim.now, &answer);
		if (answer.head_length)
			frame_answer(node, &answer);
		sim_load_ended(node);
		for (known = peer ? node->peers : NULL; known; known = known->next)
			if (known->peer == peer)
				sim_pump(known);
	}
	free(flight);
}

static void frame_corrupt(struct flight *flight)
{
	u64 bit = sim_random() % (8 * flight->length);

	flight->bytes[bit / 8] ^= 1U << bit % 8;
}

/* One frame of the wire's size onto the cable, once, however many it is for */
static void frame_leave(struct sim_node *from, u32 length)
{
	u64 rate = sim.config.cable ? sim.config.cable : sim.config.rate;

	from->cable_free = from->cable_free > sim.now ? from->cable_free : sim.now;
	if (sim.config.rate)
		from->cable_free += (u64)(length + 38) * 1000000000ULL / rate;
}

/* And through the network to one of them */
static void frame_travel(struct sim_node *from, u32 to, const u8 *bytes, u32 head_length,
			 u32 length, bool change)
{
	u64 rate = sim.config.rate, time, copies = 1 + sim_chance(sim.config.duplicate, 1000000);
	struct sim_node *node = &sim.node[to];
	struct flight *flight;

	sim.frames++;
	if (from->silent || sim.now < from->burst ||
	    sim_chance(sim.config.drop, 1000000)) {
		sim.dropped++;
		return;
	}
	time = from->cable_free + sim.config.latency_ns;
	if (rate) {
		if (node->queue_free > time &&
		    (node->queue_free - time) * rate / 1000000000ULL > sim.config.queue) {
			sim.queue_drops++;
			return;
		}
		node->queue_free = node->queue_free > time ? node->queue_free : time;
		node->queue_free += (u64)(length + 38) * 1000000000ULL / rate;
		time = node->queue_free;
	}
	for (; copies; copies--) {
		flight = malloc(sizeof(*flight) + length);
		flight->to = node;
		flight->from = from->id;
		flight->length = length;
		flight->head_length = head_length;
		memcpy(flight->bytes, bytes, length);
		/* One of them: the second might undo the first */
		if (change && length > head_length)
			flight->bytes[head_length] ^= 1;
		else if (sim_chance(sim.config.corrupt, 1000000))
			frame_corrupt(flight);
		if (sim.config.jitter_ns)
			time += sim_random() % sim.config.jitter_ns;
		if (sim_chance(sim.config.late, 1000000))
			time += sim_random() % (5 * SIM_MS);
		sim_timer(time, frame_arrive, flight);
	}
}

static void frame_route(struct sim_node *from, const struct dmanic_out *out,
			const u8 *bytes, u32 head_length, u32 length, bool change)
{
	u32 i;

	frame_leave(from, length);
	if (out->to != DMANIC_EVERYBODY) {
		frame_travel(from, out->to, bytes, head_length, length, change);
		return;
	}
	for (i = 0; i < 8; i++)
		SIM_CHECK(bytes[1] == DMANIC_WIRE_HELLO && !bytes[16 + i] && !bytes[40 + i],
			  "node %u tells everybody a tag, type %u", from->id, bytes[1]);
	for (i = 0; i < sim.config.nodes; i++)
		if (i != from->id)
			frame_travel(from, i, bytes, head_length, length, change);
}

static void frame_answer(struct sim_node *node, const struct dmanic_out *out)
{
	static u8 frame[DMANIC_WIRE_PULL_MAX];
	u32 length;

	memcpy(frame, out->head, out->head_length);
	length = dmanic_auth_seal(&node->host, out, node->id, frame, NULL);
	frame_route(node, out, frame, length, length, false);
}

/* As the link does: the payload behind the head, cut to the path's size */
static void frame_send(struct sim_peer *peer, const struct dmanic_out *out)
{
	static u8 payload[DMANIC_WIRE_FRAME_MAX], frame[DMANIC_WIRE_FRAME_MAX];
	u32 i, at = 0, from = 0, length, head = out->head_length, crc;
	struct dmanic_host *host = &peer->node->host;
	struct dmanic_mac mac;
	bool change = false;

	for (i = 0; i < out->nr_sources; i++) {
		sim_source(&out->source[i], peer, payload + at);
		at += out->source[i].length;
		if (out->source[i].xfer->kind != DMANIC_XFER_REPLY)
			change |= ((struct sim_op *)out->source[i].xfer)->changing;
	}
	if (!out->nr_sources) {
		memset(payload, 0, out->payload_length);
		at = out->payload_length;
	}
	SIM_CHECK(at == out->payload_length, "sources have %u bytes of %u", at,
		  out->payload_length);
	do {
		length = out->payload_length - from;
		if (out->piece && length > out->piece)
			length = out->piece;
		if (length != out->payload_length)
			dmanic_frame_cut(out->head, from, length, frame);
		else
			memcpy(frame, out->head, head);
		crc = ~__crc32c_le(~0U, payload + from, length);
		if (out->seal)
			dmanic_data_seal(frame, out->crc ? &crc : NULL);
		if (dmanic_auth_bytes(host)) {
			dmanic_auth_begin(host, out, &mac);
			dmanic_mac_add(&mac, payload + from, length);
			head = dmanic_auth_seal(host, out, peer->node->id, frame,
						length ? &mac : NULL);
		}
		memcpy(frame + head, payload + from, length);
		SIM_CHECK(head + length <= sim.config.mtu, "a frame has %u bytes",
			  head + length);
		frame_route(peer->node, out, frame, head, head + length, change);
		from += length;
	} while (from < out->payload_length);
}

/* ---- a peer's turn ---- */

static void pump_timer(void *arg)
{
	struct sim_peer *peer = arg;

	if (peer->armed > sim.now || sim_away(peer->node, pump_timer, peer))
		return;
	peer->armed = DMANIC_NEVER;
	dmanic_peer_timer(peer->peer, sim.now);
	sim_load_ended(peer->node);
	sim_pump(peer);
}

static void pump_cable(void *arg)
{
	struct sim_node *node = arg;
	struct sim_peer *peer;

	if (sim_away(node, pump_cable, node))
		return;
	node->pump_armed = false;
	for (peer = node->peers; peer; peer = peer->next)
		sim_pump(peer);
}

/* The cable is not given more than it carries in 50 us */
static bool pump_full(struct sim_node *node)
{
	if (!sim.config.rate || node->cable_free < sim.now + 50000)
		return false;
	if (!node->pump_armed)
		sim_timer(node->cable_free - 25000, pump_cable, node);
	node->pump_armed = true;
	return true;
}

/* Sends what there is, and sets the timer */
void sim_pump(struct sim_peer *peer)
{
	static u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out out = { .head = head };
	u64 deadline;

	while (!pump_full(peer->node) && dmanic_peer_next(peer->peer, sim.now, &out)) {
		if (sim_chance(sim.config.unsent, 1000000))
			dmanic_peer_unsent(peer->peer, &out, sim.now);
		else
			frame_send(peer, &out);
	}
	if (peer->node->nr_ended)
		sim_load_ended(peer->node);
	deadline = dmanic_peer_deadline(peer->peer);
	if (deadline >= peer->armed)
		return;
	/* What is due may wait for the cable */
	if (deadline <= sim.now && pump_full(peer->node))
		deadline = peer->node->cable_free - 25000;
	else if (deadline <= sim.now)
		deadline = sim.now + 1;
	peer->armed = deadline;
	sim_timer(deadline, pump_timer, peer);
}

/* ---- from beginning to end ---- */

static void world_restart(struct sim_node *node)
{
	node->trouble = sim.now;
	sim_node_stop(node);
	sim_node_start(node);
	sim_load_start(node);
}

static void world_death(void *arg)
{
	struct sim_node *node = arg;

	if (!node->silent && sim_random() % 4 == 0) {
		/* So quickly that nobody misses it */
		world_restart(node);
		return;
	}
	node->trouble = sim.now;
	if (node->silent) {
		node->silent = false;
		/* Half of them come back as they were, half without a memory */
		if (sim_random() % 2)
			world_restart(node);
		else
			sim_load_start(node);
		return;
	}
	node->silent = true;
	sim_timer(sim.now + SIM_MS + sim_random() % (4000 * SIM_MS), world_death, node);
}

static void world_absence(void *arg)
{
	struct sim_node *node = arg;
	u64 least = sim.config.short_ns / 20, most = 5 * sim.config.short_ns;

	node->away = sim.now + least + sim_random() % (most - least + 1);
	sim.absent += node->away - sim.now;
	node->looks = sim_random() % 2;
	sim_load_absent(node);
	if (--node->absences)
		sim_timer(node->away + SIM_MS + sim_random() % (5 * SIM_MS), world_absence, node);
}

static void world_burst(void *arg)
{
	struct sim_node *node = arg;

	node->burst = sim.now + sim_random() % (3 * SIM_MS);
}

static void world_resize(void *arg)
{
	struct sim_node *node = arg;
	struct sim_peer *peer;
	u32 low = min(600U, sim.config.mtu);
	u32 mtu = low + sim_random() % (sim.config.mtu - low + 1);

	if (sim_away(node, world_resize, node))
		return;
	dmanic_host_set_mtu(&node->host, mtu, sim.config.key ? 0 : sim.config.super);
	for (peer = node->peers; peer; peer = peer->next) {
		dmanic_peer_set_mtu(peer->peer);
		sim_pump(peer);
	}
}

/* To some node, some time within 20 ms, so often */
static void world_plan(u32 times, void (*call)(void *))
{
	while (times--)
		sim_timer(SIM_MS + sim_random() % (20 * SIM_MS), call,
			  &sim.node[sim_random() % sim.config.nodes]);
}

void sim_world_begin(const struct sim_config *config)
{
	u32 i;

	memset(&sim, 0, sizeof(sim));
	sim.config = *config;
	sim.random = config->seed;
	sim.now = SIM_MS;
	sim.node = calloc(config->nodes, sizeof(*sim.node));
	for (i = 0; i < config->nodes; i++) {
		sim.node[i].id = i;
		sim_node_start(&sim.node[i]);
	}
	sim_load_setup();
	for (i = 0; i < config->nodes; i++)
		sim_load_start(&sim.node[i]);
	world_plan(config->deaths, world_death);
	world_plan(config->bursts, world_burst);
	world_plan(config->resizes, world_resize);
	sim.node[0].absences = config->absences;
	if (config->absences)
		sim_timer(SIM_MS + sim_random() % (5 * SIM_MS), world_absence, &sim.node[0]);
}

void sim_world_run(u64 until, bool (*done)(void))
{
	struct event event;

	while (heap_nr && !(done && done())) {
		if (heap[0].time > until) {
			sim.now = until;
			return;
		}
		event = event_take();
		sim.now = event.time;
		event.call(event.arg);
	}
}

void sim_world_end(void)
{
	struct sim_peer *peer;
	struct event event;
	u32 i, k, op;

	while (heap_nr) {
		event = event_take();
		/* Each frame is in one event: the analyzer does not know a heap */
		if (event.call == frame_arrive)
			free(event.arg); /* NOLINT(clang-analyzer-unix.Malloc) */
	}
	for (i = 0; i < sim.config.nodes; i++) {
		while ((peer = sim.node[i].peers)) {
			sim.node[i].peers = peer->next;
			for (k = 0; peer->flow && k < sim.config.flows; k++) {
				free(peer->flow[k].wanted);
				free(peer->flow[k].owner);
				for (op = 0; op < SIM_DEPTH; op++)
					free(peer->flow[k].op[op].came);
			}
			free(peer->flow);
			free(peer->peer);
			free(peer);
		}
		free(sim.node[i].memory);
	}
	free(sim.node);
	free(sim.serial);
	free(heap);
	heap = NULL;
	heap_max = 0;
}
