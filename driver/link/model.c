// SPDX-License-Identifier: GPL-2.0-only
/*
 * model.c - what a loop link pretends to cost
 *
 * Pure arithmetic; the caller (loop.c) holds the lock of the state.
 *
 * A doorbell with data costs its poster start_ns. Then every transfer goes
 * through the node's one engine, one after the other, at the bandwidth, and
 * arrives latency_ns later. A doorbell with notifies only costs its poster
 * interrupt_ns; a notify is raised interrupt_ns after its turn. Nothing is
 * delivered before what was posted before it.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "model.h"

static const struct dmanic_model model_presets[] = {
	/* Memory speed */
	{ .name = "none", .scale = DMANIC_MODEL_SCALE_ONE },
	/*
	 * Dolphin D330, PCI-SCI: start and interrupt cost as measured in the
	 * paper (Documentation/tile.rst, References); the bandwidth, which it
	 * does not print, is what such a card reached on 32-bit, 33-MHz PCI.
	 */
	{ .name = "sci-d330", .start_ns = 49200, .interrupt_ns = 18800,
	  .latency_ns = 2000, .bandwidth = 85000000,
	  .scale = DMANIC_MODEL_SCALE_ONE },
	/* A 25 Gbit/s Ethernet card with kernel bypass */
	{ .name = "eth-25g", .start_ns = 500, .interrupt_ns = 3000,
	  .latency_ns = 1500, .bandwidth = 3000000000ULL,
	  .scale = DMANIC_MODEL_SCALE_ONE },
};

/**
 * dmanic_model_preset() - parameters by name
 * @model: out
 * @name: "none", "sci-d330", "eth-25g"
 *
 * Return: 0; -ENOENT.
 */
int dmanic_model_preset(struct dmanic_model *model, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(model_presets); i++) {
		if (!strcmp(model_presets[i].name, name)) {
			*model = model_presets[i];
			return 0;
		}
	}
	return -ENOENT;
}

/**
 * dmanic_model_check() - are the parameters within bounds
 * @model: from a user
 * @why: out, on failure: which is not
 *
 * Return: 0; -ERANGE.
 */
int dmanic_model_check(const struct dmanic_model *model, const char **why)
{
	*why = NULL;
	if (model->start_ns > DMANIC_MODEL_MAX_NS)
		*why = "start is longer than an hour";
	else if (model->interrupt_ns > DMANIC_MODEL_MAX_NS)
		*why = "interrupt is longer than an hour";
	else if (model->latency_ns > DMANIC_MODEL_MAX_NS)
		*why = "latency is longer than an hour";
	else if (model->jitter_ns > DMANIC_MODEL_MAX_NS)
		*why = "jitter is longer than an hour";
	else if (model->bandwidth && model->bandwidth < 1000)
		*why = "bandwidth is below 1000 bytes a second";
	else if (!model->scale || model->scale > DMANIC_MODEL_MAX_SCALE)
		*why = "scale is not within 0.001 and 1000";
	return *why ? -ERANGE : 0;
}

/**
 * dmanic_model_free() - does it cost nothing
 * @model: the parameters
 *
 * Return: true when data move at memory speed.
 */
bool dmanic_model_free(const struct dmanic_model *model)
{
	return !model->start_ns && !model->interrupt_ns && !model->latency_ns &&
	       !model->bandwidth && !model->jitter_ns;
}

/**
 * dmanic_model_reset() - begin anew
 * @model: the parameters
 * @state: out
 */
void dmanic_model_reset(const struct dmanic_model *model,
			struct dmanic_model_state *state)
{
	u64 x = model->seed + 0x9e3779b97f4a7c15ULL;

	/* Mixed (splitmix64), or seeds that are alike would begin alike */
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	memset(state, 0, sizeof(*state));
	/* xorshift must not begin with zero */
	state->random = x ? x : 1;
}

static u64 model_scaled(const struct dmanic_model *model, u64 ns)
{
	return mul_u64_u32_div(ns, model->scale, DMANIC_MODEL_SCALE_ONE);
}

static u64 model_transfer(const struct dmanic_model *model, u64 bytes)
{
	u64 seconds, rest, ns;

	if (!model->bandwidth)
		return 0;
	seconds = div64_u64_rem(bytes, model->bandwidth, &rest);
	if (seconds >= DMANIC_MODEL_MAX_NS / NSEC_PER_SEC)
		return model_scaled(model, DMANIC_MODEL_MAX_NS);
	/* rest < bandwidth, so the quotient is below 10^9 */
	ns = seconds * NSEC_PER_SEC +
	     mul_u64_u64_div_u64(rest, NSEC_PER_SEC, model->bandwidth);
	return model_scaled(model, ns);
}

static u64 model_jitter(const struct dmanic_model *model,
			struct dmanic_model_state *state)
{
	u64 x = state->random;

	if (!model->jitter_ns)
		return 0;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	state->random = x;
	div64_u64_rem(x, model->jitter_ns + 1, &x);
	return model_scaled(model, x);
}

/**
 * dmanic_model_poster() - what a doorbell costs its poster
 * @model: the parameters
 * @data: it has data operations
 * @notify: it has notifies
 *
 * Return: nanoseconds.
 */
u64 dmanic_model_poster(const struct dmanic_model *model, bool data, bool notify)
{
	if (data)
		return model_scaled(model, model->start_ns);
	return notify ? model_scaled(model, model->interrupt_ns) : 0;
}

/**
 * dmanic_model_due() - when an operation is delivered
 * @model: the parameters
 * @state: of the initiator's engine
 * @start: when the poster has paid, CLOCK_MONOTONIC
 * @data: it moves data
 * @read: towards the initiator: the request travels first
 * @notify: it raises an interrupt
 * @bytes: how many it moves
 *
 * Return: CLOCK_MONOTONIC nanoseconds.
 */
u64 dmanic_model_due(const struct dmanic_model *model,
		     struct dmanic_model_state *state, u64 start, bool data,
		     bool read, bool notify, u64 bytes)
{
	u64 due = start;

	if (data) {
		due = max(due, state->engine_free) + model_transfer(model, bytes);
		state->engine_free = due;
		due += model_scaled(model, model->latency_ns) << read;
	}
	if (notify)
		due += model_scaled(model, model->interrupt_ns);
	due += model_jitter(model, state);
	/* A hostile backlog must not wrap into the past */
	due = min_t(u64, due, KTIME_MAX / 2);
	state->engine_free = min_t(u64, state->engine_free, KTIME_MAX / 2);
	state->last_due = max(due, state->last_due);
	return state->last_due;
}
