// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_tools.c - the tools and the examples on the real driver
 *
 * Owns: that a person gets what the help texts promise: devices made, changed,
 * shown, counted and removed, measurements and runs with their reports as JSON,
 * and the exit statuses. What is measured is not judged here, but for results
 * that must be the same on every machine.
 */
#include "command.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static cJSON *report;		/* of the last ask() */
static bool nic_was_there;	/* devices "nic0", ... are not ours */

static void ask(const char *tool, const char *words)
{
	cJSON_Delete(report);
	report = NULL;
	RUN(0, "%s --json %s", tool, words);
	report = report_of(tool);
}

static int results(void)
{
	return cJSON_GetArraySize(cJSON_GetObjectItem(report, "results"));
}

static bool check_is_ok(const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItem(check_named(report, name), "ok"));
}

/* A fabric for those that do not ask how one is made */
static void nodes(unsigned int n)
{
	struct fabric own;

	fabric_make(&own, "a", n, NULL);
}

/* ---- nicctl ---- */

static const cJSON *device(unsigned int node)
{
	char name[DMANIC_NAME_MAX];

	snprintf(name, sizeof(name), "%.20s%u", prefix(), node);
	return result_named(report, name);
}

static bool text_is(const cJSON *object, const char *path, const char *wanted)
{
	return !strcmp(text_of(object, path), wanted);
}

TEST(tools, nicctl_shows_what_it_added)
{
	char path[64];
	unsigned int i;

	RUN(0, "nicctl dev add @ type loop nodes 3 model sci-d330 scale 20");
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/dev/dmanic/%s%u", prefix(), i);
		ASSERT_TRUE(WAIT_FOR(!access(path, R_OK | W_OK)));
	}
	ask("nicctl", "dev show fabric @");
	EXPECT_TRUE(text_is(report, "link", "loop"));
	EXPECT_EQ(results(), 3);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(number_of(device(i), "node"), i);
		EXPECT_EQ(number_of(device(i), "nodes"), 3);
		EXPECT_EQ(number_of(device(i), "contexts"), 0);
		EXPECT_EQ(number_of(device(i), "pinned_bytes"), 0);
		EXPECT_TRUE(text_is(device(i), "type", "loop"));
		EXPECT_TRUE(text_is(device(i), "state", "up"));
		EXPECT_TRUE(text_is(device(i), "fabric", prefix()));
		EXPECT_TRUE(text_is(device(i), "model.name", "sci-d330"));
		EXPECT_EQ(number_of(device(i), "model.scale"), 20);
		EXPECT_EQ(number_of(device(i), "model.start_ns"), 49200);
		EXPECT_EQ(number_of(device(i), "model.bandwidth_bytes_per_s"),
			  85000000);
	}
	RUN(0, "nicctl dev show fabric @");
	EXPECT_HAS(output.out, "NAME");
	EXPECT_HAS(output.out, "sci-d330");
	RUN(0, "nicctl de sh @2");
	EXPECT_HAS(output.out, "2: up\n");
	EXPECT_HAS(output.out, "loop, node 2 of 3 in fabric");
}

TEST(tools, nicctl_changes_one_or_all)
{
	RUN(0, "nicctl dev add @ type loop nodes 2 model sci-d330");
	RUN(0, "nicctl dev set @1 latency 5us scale 2.5 jitter 1us seed 7");
	ask("nicctl", "dev show fabric @");
	EXPECT_TRUE(text_is(device(1), "model.name", "custom"));
	EXPECT_EQ(number_of(device(1), "model.latency_ns"), 5000);
	EXPECT_EQ(number_of(device(1), "model.scale") * 10, 25);
	EXPECT_EQ(number_of(device(1), "model.jitter_ns"), 1000);
	EXPECT_EQ(number_of(device(1), "model.seed"), 7);
	EXPECT_EQ(number_of(device(1), "model.interrupt_ns"), 18800);
	EXPECT_EQ(number_of(device(0), "model.latency_ns"), 2000);
	RUN(0, "nicctl dev set fabric @ model none failed on");
	ask("nicctl", "dev show fabric @");
	EXPECT_EQ(number_of(device(1), "model.latency_ns"), 0);
	EXPECT_TRUE(text_is(device(0), "state", "failed"));
	RUN(0, "nicctl dev set @0 failed off");
	ask("nicctl", "dev show fabric @");
	EXPECT_TRUE(text_is(device(0), "state", "up"));
	EXPECT_TRUE(text_is(device(1), "state", "failed"));
}

TEST(tools, nicctl_counts_what_was_done)
{
	nodes(2);
	ask("nicctl", "stats @0");
	EXPECT_EQ(results(), 1);
	EXPECT_EQ(number_of(device(0), "posted"), 0);
	EXPECT_EQ(number_of(device(0), "write_bytes"), 0);
	RUN(0, "nicperf latency -d @0 -s 64 -n 25");
	ask("nicctl", "stats show fabric @");
	EXPECT_GE(number_of(device(0), "posted"), 25);
	EXPECT_EQ(number_of(device(0), "posted"),
		  number_of(device(0), "completed"));
	EXPECT_EQ(number_of(device(0), "failed"), 0);
	EXPECT_GE(number_of(device(0), "write_bytes"), 25 * 64);
	EXPECT_EQ(number_of(device(0), "notifies_sent"),
		  number_of(device(1), "notifies_raised"));
	RUN(0, "nicctl stats fabric @");
	EXPECT_HAS(output.out, "NOTIFIES SENT");
}

TEST(tools, nicctl_removes)
{
	RUN(0, "nicctl dev add @ type loop nodes 2");
	/* In use: refused, and taken away only by force */
	RUN(1, "exec 3<>/dev/dmanic/@1; nicctl dev del fabric @");
	EXPECT_HAS(output.err, "nicctl: dev del: ");
	RUN(0, "nicctl dev show @0");
	/* A fabric is no device, and it is said how each is written */
	RUN(1, "nicctl dev del @");
	EXPECT_HAS(output.err, " is a fabric, not a device: nicctl dev del fabric ");
	RUN(1, "nicctl stats @");
	EXPECT_HAS(output.err, " is a fabric, not a device: nicctl stats fabric ");
	RUN(1, "nicctl dev set fabric @1 failed on");
	EXPECT_HAS(output.err, " is a device, not a fabric: nicctl dev set ");
	RUN(0, "nicctl dev show @0");
	RUN(0, "exec 3<>/dev/dmanic/@1; nicctl dev del fabric @ force");
	RUN(1, "nicctl dev show @0");
	EXPECT_EQ(output.out[0], 0);
	RUN(1, "nicctl dev del fabric @");
	EXPECT_HAS(output.err, "no such fabric in this network namespace");
	RUN(1, "test -e /dev/dmanic/@0");
}

/* A failure is in the report, too. */
TEST(tools, nicctl_tells_programs_of_a_failure)
{
	const cJSON *check;

	RUN(1, "nicctl --json dev show @0");
	report = report_of("nicctl");
	check = cJSON_GetArrayItem(cJSON_GetObjectItem(report, "checks"), 0);
	ASSERT_TRUE(check);
	EXPECT_TRUE(cJSON_IsFalse(cJSON_GetObjectItem(check, "ok")));
	EXPECT_TRUE(*text_of(check, "detail"));
	RUN(2, "nicctl dev add @ type nonsense nodes 2");
	EXPECT_HAS(output.err, "types: loop");
}

/* ---- README ---- */

TEST(tools, example_prints_what_the_readme_says)
{
	if (nic_was_there)
		SKIP("there is a device nic0 already");
	RUN(0, "nicctl dev add nic type loop nodes 2");
	RUN(0, "$LD_LIBRARY_PATH/selftests/user/example");
	EXPECT_EQ(strcmp(output.out, "hello from nic0\n"), 0);
	EXPECT_EQ(output.err[0], 0);
	RUN(0, "nicctl dev del fabric nic");
	/* Without devices it says what to do. */
	RUN(1, "$LD_LIBRARY_PATH/selftests/user/example");
	EXPECT_HAS(output.err, "nic1");
}

static bool can_cancel(void)
{
	struct dmanic_query query;
	struct fabric own;
	struct node node;

	fabric_make(&own, "a", 1, NULL);
	node = node_open(&own, 0);
	node_query(&node, &query);
	return query.features & DMANIC_FEATURE_URING_CANCEL;
}

/*
 * From file to file in one chain. Kernels that can cancel commands wait for the
 * interrupt by a command, the others by POLL_ADD, whose result is POLLIN.
 */
TEST(tools, example_chain_goes_from_file_to_file)
{
	const char *wait = can_cancel() ? "wait  0\n" : "wait  1\n";

	if (nic_was_there)
		SKIP("there is a device nic0 already");
	RUN(0, "nicctl dev add nic type loop nodes 2");
	RUN(0, "head -c 65536 /dev/urandom >/tmp/@from");
	RUN(0, "$LD_LIBRARY_PATH/selftests/user/uring-chain /tmp/@from /tmp/@to");
	EXPECT_HAS(output.out, "read  65536\nput   65536\nraise 0\n");
	EXPECT_HAS(output.out, wait);
	EXPECT_HAS(output.out, "write 65536\n");
	EXPECT_EQ(output.err[0], 0);
	RUN(0, "cmp /tmp/@from /tmp/@to");
	/* A file that is too short ends the chain: nothing is written */
	RUN(0, "truncate -s 1000 /tmp/@from");
	RUN(1, "$LD_LIBRARY_PATH/selftests/user/uring-chain /tmp/@from /tmp/@to");
	EXPECT_HAS(output.out, "read  1000\n");
	EXPECT_HAS(output.out, "write -125\n");
	EXPECT_HAS(output.err, "has less than 64 KiB, which ends the chain");
	RUN(0, "test ! -s /tmp/@to");
	RUN(0, "rm /tmp/@from /tmp/@to");
	RUN(0, "nicctl dev del fabric nic");
}

/* ---- nicperf ---- */

TEST(tools, nicperf_latency)
{
	const cJSON *poll, *sleep;

	nodes(2);
	ask("nicperf", "latency -d @0 -s 8 -n 50");
	EXPECT_TRUE(text_is(report, "link", "loop"));
	poll = result_named(report, "latency poll");
	sleep = result_named(report, "latency sleep");
	EXPECT_EQ(number_of(poll, "size_bytes"), 8);
	EXPECT_EQ(number_of(poll, "samples"), 50);
	EXPECT_EQ(number_of(sleep, "samples"), 50);
	EXPECT_TRUE(text_is(poll, "unit", "us"));
	EXPECT_TRUE(text_is(sleep, "params.wait", "sleep"));
	EXPECT_TRUE(number_of(poll, "min") > 0);
	EXPECT_TRUE(number_of(sleep, "min") > 0);
}

/* What was not asked for is not measured; atomics are, unasked. */
TEST(tools, nicperf_latency_of_chosen_operations)
{
	const cJSON *result;

	nodes(2);
	ask("nicperf", "latency -d @0 -s 8 -n 50 -w sleep -o pio");
	result = result_named(report, "latency pio sleep");
	EXPECT_TRUE(text_is(result, "params.operation", "pio"));
	EXPECT_EQ(number_of(result, "samples"), 50);
	result_named(report, "latency atomic sleep");
	EXPECT_EQ(results(), 2);
	ask("nicperf", "latency -d @0 -s 8,64 -n 50 -w sleep -o put,pio");
	EXPECT_EQ(results(), 5);
	ask("nicperf", "all -d @0 -s 8 --depth 1 -t 1ms --samples 2 -w sleep -o list");
	result_named(report, "bandwidth list depth 1 sleep");
	result = result_named(report, "latency atomic sleep");
	EXPECT_GT(number_of(result, "samples"), 0);
	cJSON_ArrayForEach(result, cJSON_GetObjectItem(report, "results"))
		EXPECT_TRUE(!text_is(result, "name", "latency sleep"));
}

TEST(tools, nicperf_bandwidth)
{
	static const char * const names[] = {
		"bandwidth put depth 1 poll", "bandwidth put depth 4 poll",
		"bandwidth get depth 1 poll", "bandwidth get depth 4 poll",
		"bandwidth strided depth 1 poll",
		"bandwidth strided depth 4 poll",
	};
	const cJSON *result;
	unsigned int i;

	nodes(2);
	ask("nicperf",
	    "bandwidth -d @0 -s 16k --depth 1,4 -t 2ms --samples 3");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		result = result_named(report, names[i]);
		EXPECT_EQ(number_of(result, "samples"), 3);
		EXPECT_EQ(number_of(result, "size_bytes"), 16384);
		EXPECT_TRUE(number_of(result, "value") > 0);
		EXPECT_TRUE(number_of(result, "ratio") > 0);
		EXPECT_TRUE(number_of(result, "reference.value") > 0);
	}
	EXPECT_TRUE(check_is_ok("bandwidth data"));
}

TEST(tools, nicperf_rate)
{
	const cJSON *result;

	nodes(2);
	ask("nicperf", "rate -d @0 -t 2ms --samples 3");
	EXPECT_EQ(results(), 4);
	cJSON_ArrayForEach(result, cJSON_GetObjectItem(report, "results")) {
		EXPECT_EQ(strncmp(text_of(result, "name"), "rate ", 5), 0);
		EXPECT_EQ(number_of(result, "samples"), 3);
		EXPECT_TRUE(number_of(result, "value") > 0);
		EXPECT_TRUE(number_of(result, "params.batch") >= 1);
		EXPECT_EQ(strcmp(text_of(result, "reference.name"),
				 "empty system calls"), 0);
		EXPECT_TRUE(number_of(result, "ratio") > 0);
	}
}

TEST(tools, nicperf_post)
{
	static const char * const names[] = {
		"post put batch 1", "post put batch 8", "post put batch 32",
		"post nop batch 1", "post nop batch 8", "post nop batch 32",
		"post put batch 32 eventfd", "post nop batch 1 eventfd",
		"post put batch 32 uring", "post nop batch 1 uring beside NOP",
		"post put batch 8 uring-post",
		"post put batch 32 uring-post beside NOP",
	};
	const cJSON *result;
	unsigned int i;

	nodes(2);
	ask("nicperf", "post -d @0 -t 2ms --samples 3");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		result = result_named(report, names[i]);
		EXPECT_EQ(number_of(result, "samples"), 3);
		EXPECT_TRUE(number_of(result, "value") > 0);
		EXPECT_TRUE(number_of(result, "reference.value") > 0);
	}
	ask("nicperf", "post -d @0 -t 2ms --samples 3 --way uring,enter");
	result_named(report, "post put batch 1");
	result_named(report, "post put batch 1 uring");
	EXPECT_EQ(results(), 6 + 2 * 6);
}

/* A card that moves 20 MiB/s is slower than any memcpy() */
TEST(tools, nicperf_check_fails_what_misses_its_bound)
{
	RUN(0, "nicctl dev add @ type loop nodes 2 bandwidth 20M");
	RUN(1, "nicperf bandwidth --check --json -d @0 -o put -s 1M --depth 1,4 -t 2ms --samples 3");
	cJSON_Delete(report);
	report = report_of("nicperf");
	EXPECT_TRUE(check_is_ok("bandwidth data"));
	EXPECT_TRUE(!check_is_ok("put 1M depth 1 poll"));
	EXPECT_TRUE(!check_is_ok("put 1M depth 4 poll"));
	EXPECT_HAS(text_of(check_named(report, "put 1M depth 1 poll"), "detail"), " of memcpy ");
	EXPECT_HAS(text_of(check_named(report, "put 1M depth 1 poll"), "detail"), ", bound 0.75");
}

/* Whether a bound is held depends on the machine; that its verdict is right does not */
TEST(tools, nicperf_check_judges_by_its_bound)
{
	const char *bound, *name = "post put batch 32";
	bool held;

	nodes(2);
	run("nicperf post --check --json -d @0 --way enter -t 2ms --samples 3");
	cJSON_Delete(report);
	report = report_of("nicperf");
	bound = strstr(text_of(check_named(report, name), "detail"), ", bound ");
	ASSERT_TRUE(bound);
	held = number_of(result_named(report, name), "ratio") <=
	       strtod(bound + strlen(", bound "), NULL);
	EXPECT_EQ(check_is_ok(name), held);
	EXPECT_EQ(output.status, !held);
	ask("nicperf", "post -d @0 --way enter -t 2ms --samples 3");
	EXPECT_EQ(cJSON_GetArraySize(cJSON_GetObjectItem(report, "checks")), 0);
}

TEST(tools, nicperf_all)
{
	nodes(2);
	RUN(0, "nicperf all -d @0 -s 8 --depth 1 -t 1ms --samples 2");
	EXPECT_HAS(output.out, "latency");
	EXPECT_HAS(output.out, "bandwidth");
	EXPECT_HAS(output.out, "rate");
	EXPECT_HAS(output.out, "post");
	RUN(1, "nicperf all -d @0 -p @7");
	EXPECT_HAS(output.err, "7");
}

/* The other end is another process: what it has is put and got to be compared. */
TEST(tools, nicperf_between_two_ranks)
{
	nodes(2);
	RUN(0, "nicrun -n 2 --device @ nicperf all --ranks -s 8,64k --depth 1,4 -t 2ms --samples 3 --op put,get,strided,list,blocks");
	EXPECT_HAS(output.out, "0 -> rank 1, node 1 (loop)");
	EXPECT_HAS(output.out, "half a round trip");
	EXPECT_HAS(output.out, "an atomic");
	EXPECT_HAS(output.out, "strided");
	EXPECT_HAS(output.out, "notify");
	EXPECT_EQ(count(output.out, "bandwidth data"), 1);
	RUN(1, "nicperf latency -d @0 --ranks");
	EXPECT_HAS(output.err, "two ranks, and this one has 1");
	RUN(1, "nicrun -n 3 --device @ nicperf latency --ranks");
	/* Who measures goes away in the middle: the other one does not stay */
	RUN(137, "nicrun -n 2 --device @ sh -c '[ $NIC_RANK != 0 ] || (sleep 1; kill -9 $$) & exec nicperf latency --ranks -t 100s'");
	EXPECT_LT(output.took_ns, slow_ns(20000));
	RUN(0, "nicctl dev del fabric @");
}

/* ---- nicrun and nictile ---- */

/* The result of one schedule at one height */
static const cJSON *tile_result(const char *schedule, unsigned int height)
{
	const cJSON *result;

	cJSON_ArrayForEach(result, cJSON_GetObjectItem(report, "results"))
		if (text_is(result, "name", schedule) &&
		    number_of(result, "params.height") == height)
			return result;
	FAIL("no %s at height %u from: %s", schedule, height, run_words());
}

TEST(tools, nictile_computes_what_a_sequential_run_does)
{
	static const char * const schedules[] = { "nonoverlap", "overlap" };
	unsigned int i;

	nodes(4);
	RUN(0, "nicrun -n 4 --device @ nictile --size 9x8x500 --grid 2x2 --height 64,500 --repeat 2 --json");
	report = report_of("nictile");
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(number_of(tile_result(schedules[i], 64), "samples"),
			  2);
		EXPECT_TRUE(text_is(tile_result(schedules[i], 500),
				    "params.compute", "real"));
		EXPECT_TRUE(number_of(tile_result(schedules[i], 500),
				      "min") > 0);
	}
	EXPECT_TRUE(check_is_ok("results"));
	/* 9 * 8 * 500 points, two heights, two schedules, twice */
	EXPECT_HAS(output.out,
		   "0 of 288000 values differ from the sequential run's, in 8 runs");
}

TEST(tools, nictile_tells_people_and_files)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/%s.json", prefix());
	nodes(4);
	RUN(0, "nicrun -n 4 --device @ nictile --size 8x8x256 --height 32 --schedule overlap --repeat 1 --no-comm --json=%s --data %s.dat",
	    path, path);
	EXPECT_HAS(output.out, "8x8x256 points on 2x2 ranks, real computing");
	EXPECT_HAS(output.out, "t_start_dma");
	EXPECT_HAS(output.out, "overlap    best at height 32");
	EXPECT_HAS(output.out, "results: 0 of ");
	RUN(0, "cat %s.dat", path);
	EXPECT_HAS(output.out, "\n32 nan nan nan ");
	RUN(0, "cat %s && rm %s %s.dat", path, path, path);
	report = report_of("nictile");
	EXPECT_TRUE(check_is_ok("results"));
	result_named(report, "no communication");
}

/* As in the demo: computed, then slept until the modelled time is over */
TEST(tools, nictile_takes_the_modelled_time)
{
	const cJSON *result;

	nodes(2);
	RUN(1, "nicrun -n 2 --device @ nictile --size 8x8x64 --grid 2x1 --height 16 --repeat 1 --compute modelled --t1 1ns");
	EXPECT_HAS(output.err, "t1 of 1ns is too short; it must be twice what a point really takes");
	RUN(0, "nicrun -n 2 --device @ nictile --size 8x8x64 --grid 2x1 --height 16 --repeat 1 --compute modelled --t1 400us --schedule nonoverlap --json");
	report = report_of("nictile");
	result = tile_result("nonoverlap", 16);
	EXPECT_TRUE(text_is(result, "params.compute", "modelled"));
	/* Five steps one behind the other, of 4 * 8 * 16 points each: 1.02 s */
	EXPECT_TRUE(text_is(result, "unit", "s"));
	EXPECT_TRUE(number_of(result, "min") > 1.0);
	EXPECT_TRUE(check_is_ok("results"));
	EXPECT_HAS(output.out, "0 of 4096 values differ");
}

TEST(tools, nicrun_tells_ranks_who_they_are)
{
	nodes(3);
	RUN(0, "nicrun -n 2 --device @ --nodes 2,0 --label sh -c 'echo $NIC_RANK of $NIC_SIZE at $NIC_NODES by $NIC_DEVICE'");
	EXPECT_HAS(output.out, "[0] 0 of 2 at 2,0 by ");
	EXPECT_HAS(output.out, "2\n");
	EXPECT_HAS(output.out, "[1] 1 of 2 at 2,0 by ");
	RUN(1, "nicrun -n 4 --device @ true");
	EXPECT_HAS(output.err, "missing");
	EXPECT_HAS(output.err, "remove the others first: nicctl dev del fabric ");
}

TEST(tools, nicrun_starts_a_part_of_the_ranks)
{
	nodes(4);
	RUN(0, "export NIC_JOB=parts NIC_SECRET=00112233445566778899aabbccddeeff; nicrun -n 4 --device @ --here 1-2 nictile --size 8x8x256 --height 32 --repeat 1 & nicrun -n 4 --device @ --here 0,3 nictile --size 8x8x256 --height 32 --repeat 1 && wait $!");
	EXPECT_HAS(output.out, "results: 0 of ");
	RUN(0, "NIC_JOB=parts NIC_SECRET=00112233445566778899aabbccddeeff nicrun -n 40 --device @ --here 2 sh -c 'echo rank $NIC_RANK of $NIC_SIZE'");
	EXPECT_HAS(output.out, "rank 2 of 40\n");
}

/* The others are stopped, and do not wait for it until their time is up. */
TEST(tools, nicrun_ends_when_a_rank_dies)
{
	nodes(4);
	RUN(7, "nicrun -n 4 --device @ sh -c '[ $NIC_RANK != 2 ] || exit 7; exec sleep 1000'");
	EXPECT_LT(output.took_ns, slow_ns(20000));
	EXPECT_HAS(output.err, "rank 2 failed with status 7");
	RUN(137, "nicrun -n 4 --device @ sh -c '[ $NIC_RANK != 1 ] || kill -9 $$; exec nictile --timeout 1000s'");
	EXPECT_LT(output.took_ns, slow_ns(20000));
	EXPECT_HAS(output.err, "rank 1 was killed by signal 9");
	/* One that failed as another was killed is heard of first */
	RUN(137, "nicrun -n 2 --device @ sh -c '[ $NIC_RANK != 0 ] || { sleep 1; exit 1; }; trap \"\" TERM; sleep 2; kill -9 $$'");
	EXPECT_HAS(output.err, "rank 0 failed with status 1");
	EXPECT_HAS(output.err, "rank 1 was killed by signal 9 (Killed), which may be the reason");
	/* But not one that nicrun kills itself */
	RUN(1, "nicrun -n 2 --device @ sh -c '[ $NIC_RANK != 0 ] || { sleep 1; exit 1; }; trap \"\" TERM; while :; do sleep 1; done'");
	EXPECT_EQ(count(output.err, "reason"), 0);
	RUN(124, "nicrun -n 2 --device @ --timeout 200ms sleep 1000");
	EXPECT_LT(output.took_ns, slow_ns(20000));
	RUN(0, "nicctl dev del fabric @");
}

/* ---- all of them ---- */

TEST(tools, wrong_usage_exits_with_2)
{
	static const char * const wrong[] = {
		"nicctl", "nicctl --nonsense", "nicctl dev add @",
		"nicctl dev set @0 latency fast",
		"nicperf", "nicperf --nonsense rate", "nicperf rate --size 8",
		"nicperf latency --time 0", "nicperf bandwidth --ranks --check",
		"nicperf cost --ranks", "nicperf rate --ranks -p @1",
		"nicperf post --way uring,slowly", "nicperf cost --time 1ms",
		"nicrun", "nicrun --nonsense", "nicrun -n 0 true",
		"nicrun -n 2 --nodes 1 true",
		"nictile extra", "nictile --nonsense", "nictile --size 4x4x2",
		"nicrun -n 2 --device @ nictile --repeat 0",
	};
	unsigned int i;

	nodes(2);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		run("%s", wrong[i]);
		if (output.status != 2 || *output.out || !*output.err)
			harness_fail(__FILE__, __LINE__,
				     "status %d of: %s: %.200s%.200s",
				     output.status, run_words(), output.out,
				     output.err);
	}
}

TEST(tools, help_exits_with_0)
{
	static const char * const tools[] = {
		"nicctl", "nicperf", "nicrun", "nictile",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tools); i++) {
		RUN(0, "%s --help", tools[i]);
		EXPECT_HAS(output.out, "Usage: nic");
		EXPECT_EQ(output.err[0], 0);
	}
}

/* ---- around the tests ---- */

static const char *tools_start(void)
{
	nic_was_there = !access("/dev/dmanic/nic0", F_OK);
	return fabric_start_none();
}

static const char *tools_after(pid_t child)
{
	if (!nic_was_there)
		fabric_delete("nic", true);
	return fabric_after(child);
}

int main(int argc, char **argv)
{
	static const struct harness_program program = {
		.start = tools_start, .after = tools_after,
	};

	return harness_main(argc, argv, &program);
}
