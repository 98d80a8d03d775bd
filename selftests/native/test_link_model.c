// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a loop link pretends to cost: exact times, their order, their bounds,
 * and the jitter of a seed. The driver's own file, over shim/.
 *
 * Sources: driver/link/model.c
 */
#include <errno.h>
#include <stdlib.h>

#include "driver/link/model.h"
#include "unit.h"

#define HOUR		DMANIC_MODEL_MAX_NS
#define LAST		(UINT64_MAX / 4)	/* KTIME_MAX / 2 */
#define START		1000000ULL

static struct dmanic_model model;
static struct dmanic_model_state state;

static void begin(const char *preset)
{
	if (dmanic_model_preset(&model, preset))
		abort();
	dmanic_model_reset(&model, &state);
}

static u64 put(u64 start, u64 bytes)
{
	return dmanic_model_due(&model, &state, start, true, false, false,
				bytes);
}

static u64 get(u64 start, u64 bytes)
{
	return dmanic_model_due(&model, &state, start, true, true, false,
				bytes);
}

static u64 notify(u64 start)
{
	return dmanic_model_due(&model, &state, start, false, false, true, 0);
}

static u64 nop(u64 start)
{
	return dmanic_model_due(&model, &state, start, false, false, false, 0);
}

/* ---- parameters ---- */

TEST(link_model__presets)
{
	begin("none");
	EXPECT(dmanic_model_free(&model));
	EXPECT_EQ(model.scale, 1000);
	begin("sci-d330");
	EXPECT(!strcmp(model.name, "sci-d330"));
	EXPECT_EQ(model.start_ns, 49200);
	EXPECT_EQ(model.interrupt_ns, 18800);
	EXPECT_EQ(model.latency_ns, 2000);
	EXPECT_EQ(model.bandwidth, 85000000);
	EXPECT_EQ(model.scale, 1000);
	begin("eth-25g");
	EXPECT_EQ(model.start_ns, 500);
	EXPECT_EQ(model.interrupt_ns, 3000);
	EXPECT_EQ(model.latency_ns, 1500);
	EXPECT_EQ(model.bandwidth, 3000000000);
	EXPECT_EQ(dmanic_model_preset(&model, "sci"), -ENOENT);
	EXPECT(!strcmp(model.name, "eth-25g"));
}

/* The bound itself is allowed, one more is not, and the reason names it. */
static void bound(u64 *field, u64 most, const char *word)
{
	const char *why = "unset";
	u64 was = *field;

	*field = most;
	EXPECT_EQ(dmanic_model_check(&model, &why), 0);
	EXPECT(!why);
	*field = most + 1;
	EXPECT_EQ(dmanic_model_check(&model, &why), -ERANGE);
	EXPECT_CONTAINS(why ? why : "", word);
	*field = was;
}

TEST(link_model__check_bounds_every_parameter)
{
	const u32 scales[] = { 0, DMANIC_MODEL_MAX_SCALE + 1, UINT32_MAX };
	const u64 bandwidths[] = { 1, 999 };
	const char *why;
	unsigned int i;

	begin("sci-d330");
	bound(&model.start_ns, HOUR, "start");
	bound(&model.interrupt_ns, HOUR, "interrupt");
	bound(&model.latency_ns, HOUR, "latency");
	bound(&model.jitter_ns, HOUR, "jitter");
	for (i = 0; i < 2; i++) {
		model.bandwidth = bandwidths[i];
		EXPECT_EQ(dmanic_model_check(&model, &why), -ERANGE);
		EXPECT_CONTAINS(why, "bandwidth");
	}
	model.bandwidth = 1000;
	EXPECT_EQ(dmanic_model_check(&model, &why), 0);
	model.bandwidth = UINT64_MAX;
	EXPECT_EQ(dmanic_model_check(&model, &why), 0);
	for (i = 0; i < 3; i++) {
		model.scale = scales[i];
		EXPECT_EQ(dmanic_model_check(&model, &why), -ERANGE);
		EXPECT_CONTAINS(why, "scale");
	}
	model.scale = DMANIC_MODEL_MAX_SCALE;
	EXPECT_EQ(dmanic_model_check(&model, &why), 0);
}

TEST(link_model__any_cost_is_not_free)
{
	u64 *costs[] = {
		&model.start_ns, &model.interrupt_ns, &model.latency_ns,
		&model.bandwidth, &model.jitter_ns,
	};
	unsigned int i;

	begin("none");
	for (i = 0; i < 5; i++) {
		*costs[i] = 1;
		EXPECT(!dmanic_model_free(&model));
		*costs[i] = 0;
		EXPECT(dmanic_model_free(&model));
	}
	/* Neither makes anything cost something */
	model.seed = 1;
	model.scale = 1;
	EXPECT(dmanic_model_free(&model));
}

/* ---- what it costs ---- */

TEST(link_model__poster_pays_once)
{
	begin("sci-d330");
	EXPECT_EQ(dmanic_model_poster(&model, true, false), 49200);
	EXPECT_EQ(dmanic_model_poster(&model, true, true), 49200);
	EXPECT_EQ(dmanic_model_poster(&model, false, true), 18800);
	EXPECT_EQ(dmanic_model_poster(&model, false, false), 0);
	model.scale = 1;
	EXPECT_EQ(dmanic_model_poster(&model, true, false), 49);
	model.scale = DMANIC_MODEL_MAX_SCALE;
	EXPECT_EQ(dmanic_model_poster(&model, false, true), 18800000);
	model.start_ns = HOUR;
	EXPECT_EQ(dmanic_model_poster(&model, true, false), 1000 * HOUR);
}

TEST(link_model__no_model_takes_no_time)
{
	begin("none");
	EXPECT_EQ(put(START, UINT64_MAX), START);
	EXPECT_EQ(get(START + 1, UINT64_MAX), START + 1);
	EXPECT_EQ(notify(START + 2), START + 2);
	EXPECT_EQ(nop(START + 3), START + 3);
}

/* 85 bytes a microsecond; what is left of a nanosecond is dropped. */
TEST(link_model__transfer_takes_bytes_over_bandwidth)
{
	begin("sci-d330");
	EXPECT_EQ(put(START, 85), START + 1000 + 2000);
	begin("sci-d330");
	EXPECT_EQ(put(START, 131072), START + 1542023 + 2000);
	begin("sci-d330");
	EXPECT_EQ(put(START, 0), START + 2000);
	begin("sci-d330");
	/* More than a second: 85 MB and 17 bytes */
	EXPECT_EQ(put(START, 85000017), START + 1000000200 + 2000);
}

TEST(link_model__scale_stretches_every_time)
{
	begin("sci-d330");
	model.scale = 20000;
	EXPECT_EQ(put(START, 85), START + 20 * (1000 + 2000));
	EXPECT_EQ(notify(10 * START), 10 * START + 20 * 18800);
	begin("sci-d330");
	model.scale = 500;
	EXPECT_EQ(put(START, 131072), START + 771011 + 1000);
	begin("sci-d330");
	model.scale = 1;
	EXPECT_EQ(get(START, 131072), START + 1542 + 2 * 2);
}

/* The request travels first. */
TEST(link_model__read_pays_the_latency_twice)
{
	begin("sci-d330");
	EXPECT_EQ(get(START, 850), START + 10000 + 2 * 2000);
	/* The engine is free when the data have left it. */
	EXPECT_EQ(state.engine_free, START + 10000);
}

/* Latency is under way beside the next transfer; the engine is not. */
TEST(link_model__one_engine_one_after_the_other)
{
	begin("sci-d330");
	EXPECT_EQ(put(START, 850), START + 10000 + 2000);
	EXPECT_EQ(put(START, 850), START + 20000 + 2000);
	EXPECT_EQ(put(START + 5000, 85), START + 21000 + 2000);
	/* Idle meanwhile: begins at once */
	EXPECT_EQ(put(START + 50000, 85), START + 51000 + 2000);
}

/* ---- order ---- */

TEST(link_model__nothing_overtakes)
{
	u64 due;

	begin("sci-d330");
	due = put(START, 131072);
	EXPECT_EQ(notify(START), due);
	EXPECT_EQ(nop(START), due);
	EXPECT_EQ(nop(due + 7), due + 7);
	/* The double latency of a get keeps a put behind it. */
	begin("sci-d330");
	model.latency_ns = 100000;
	due = get(START, 85);
	EXPECT_EQ(due, START + 1000 + 200000);
	EXPECT_EQ(put(START, 85), due);
	EXPECT_EQ(state.engine_free, START + 2000);
	EXPECT_EQ(state.last_due, due);
}

TEST(link_model__notify_of_data_comes_after_them)
{
	begin("sci-d330");
	EXPECT_EQ(dmanic_model_due(&model, &state, START, true, false, true,
				   85), START + 1000 + 2000 + 18800);
	EXPECT_EQ(state.engine_free, START + 1000);
}

/* ---- extremes ---- */

TEST(link_model__bandwidth_quotient_at_its_extremes)
{
	begin("none");
	model.bandwidth = 1000;
	EXPECT_EQ(put(0, 1), 1000000);
	begin("none");
	model.bandwidth = 1000;
	EXPECT_EQ(put(0, 3599999), HOUR - 1000000);
	/* From an hour on it takes an hour. */
	begin("none");
	model.bandwidth = 1000;
	EXPECT_EQ(put(0, 3600999), HOUR);
	begin("none");
	model.bandwidth = 1000;
	EXPECT_EQ(put(0, UINT64_MAX), HOUR);
	begin("none");
	model.bandwidth = 1000;
	model.scale = DMANIC_MODEL_MAX_SCALE;
	EXPECT_EQ(put(0, UINT64_MAX), 1000 * HOUR);
	/* The product of the remainder and 10^9 does not fit 64 bits. */
	begin("none");
	model.bandwidth = UINT64_MAX;
	EXPECT_EQ(put(0, UINT64_MAX - 1), 999999999);
	begin("none");
	model.bandwidth = UINT64_MAX;
	EXPECT_EQ(put(0, UINT64_MAX), 1000000000);
	begin("none");
	model.bandwidth = UINT64_MAX;
	EXPECT_EQ(put(0, 1), 0);
	begin("none");
	model.bandwidth = 10000000000000000000ULL;
	EXPECT_EQ(put(0, 15000000000000000000ULL), 1500000000);
}

/* A backlog of centuries stays in the future, in order, and below KTIME_MAX. */
TEST(link_model__hostile_backlog_does_not_wrap)
{
	u64 due, before = 0;
	unsigned int i;

	begin("none");
	model.bandwidth = 1000;
	model.latency_ns = HOUR;
	model.interrupt_ns = HOUR;
	model.jitter_ns = HOUR;
	model.scale = DMANIC_MODEL_MAX_SCALE;
	for (i = 0; i < 5000; i++) {
		due = dmanic_model_due(&model, &state, START, true, i & 1,
				       i & 2, UINT64_MAX);
		EXPECT(due >= before);
		EXPECT(due <= LAST);
		before = due;
		if (unit_failed)
			return;
	}
	EXPECT_EQ(before, LAST);
	EXPECT_EQ(state.engine_free, LAST);
	EXPECT_EQ(nop(START), LAST);
	EXPECT_EQ(put(LAST, UINT64_MAX), LAST);
}

/* ---- jitter ---- */

/* What splitmix64 and xorshift64 of the seed give, modulo 1001 */
TEST(link_model__jitter_of_a_seed)
{
	static const struct {
		u64 seed;
		u64 ns[5];
	} known[] = {
		{ 0, { 963, 227, 248, 813, 191 } },
		{ 1, { 335, 722, 669, 472, 519 } },
		{ 11, { 759, 870, 98, 483, 404 } },
		{ UINT64_MAX, { 561, 783, 501, 282, 118 } },
		/* Mixed to zero, with which xorshift would stand still */
		{ 0x61c8864680b583ebULL, { 573, 328, 812, 41, 704 } },
	};
	unsigned int i, k;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		begin("none");
		model.jitter_ns = 1000;
		model.seed = known[i].seed;
		dmanic_model_reset(&model, &state);
		for (k = 0; k < 5; k++)
			EXPECT_EQ(nop((k + 1) * START),
				  (k + 1) * START + known[i].ns[k]);
	}
}

TEST(link_model__jitter_is_scaled_and_keeps_order)
{
	begin("none");
	model.jitter_ns = 1000;
	model.scale = 3000;
	dmanic_model_reset(&model, &state);
	EXPECT_EQ(nop(START), START + 3 * 963);
	/* 3 * 227 would overtake. */
	EXPECT_EQ(nop(START), START + 3 * 963);
	EXPECT_EQ(state.engine_free, 0);
}

TEST(link_model__jitter_reaches_both_ends)
{
	bool seen[4] = { false };
	unsigned int i;
	u64 extra;

	begin("none");
	model.jitter_ns = 3;
	for (i = 1; i <= 200; i++) {
		extra = nop(i * START) - i * START;
		ASSERT(extra <= 3);
		seen[extra] = true;
	}
	EXPECT(seen[0] && seen[1] && seen[2] && seen[3]);
}

TEST(link_model__without_jitter_no_number_is_drawn)
{
	u64 random;

	begin("sci-d330");
	random = state.random;
	put(START, 85);
	notify(START);
	EXPECT_EQ(state.random, random);
}
