/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * model.h - what a loop link pretends to cost
 *
 * The model spends time, not CPU: the poster sleeps for the start cost, the
 * worker sleeps until the modelled transfer would have ended. All times are
 * multiplied by scale / 1000.
 */
#ifndef DMANIC_MODEL_H
#define DMANIC_MODEL_H

#include <linux/types.h>

#define DMANIC_MODEL_NAME_MAX	16

/**
 * struct dmanic_model - parameters
 * @name: preset, or "custom"
 * @start_ns: poster's time, once a doorbell that has data operations
 * @interrupt_ns: poster's time, once a doorbell that has notifies only; and
 *	again from there until the notify is raised
 * @latency_ns: from the engine to the target
 * @bandwidth: bytes a second through the node's one engine; 0: memory speed
 * @scale: thousandths
 * @jitter_ns: extra delay, uniform from 0 to this
 * @seed: of the jitter
 */
struct dmanic_model {
	char name[DMANIC_MODEL_NAME_MAX];
	u64 start_ns;
	u64 interrupt_ns;
	u64 latency_ns;
	u64 bandwidth;
	u32 scale;
	u64 jitter_ns;
	u64 seed;
};

/**
 * struct dmanic_model_state - the engine of one node
 * @engine_free: when its last transfer leaves the engine
 * @last_due: nothing is delivered before this (order)
 * @random: state of the jitter
 */
struct dmanic_model_state {
	u64 engine_free;
	u64 last_due;
	u64 random;
};

/* Bounds a user may set: one hour, and times stay far from overflow */
#define DMANIC_MODEL_MAX_NS	3600000000000ULL
#define DMANIC_MODEL_MAX_SCALE	1000000U
#define DMANIC_MODEL_SCALE_ONE	1000U

int dmanic_model_preset(struct dmanic_model *model, const char *name);
int dmanic_model_check(const struct dmanic_model *model, const char **why);
bool dmanic_model_free(const struct dmanic_model *model);
void dmanic_model_reset(const struct dmanic_model *model,
			struct dmanic_model_state *state);
u64 dmanic_model_poster(const struct dmanic_model *model, bool data, bool notify);
u64 dmanic_model_due(const struct dmanic_model *model,
		     struct dmanic_model_state *state, u64 start, bool data,
		     bool read, bool notify, u64 bytes);

#endif /* DMANIC_MODEL_H */
