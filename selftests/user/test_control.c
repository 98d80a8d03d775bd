// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_control.c - nicctl monitor, stats and doctor on the real driver
 *
 * Owns: that a line is printed for what happens and for nothing else, and that
 * the doctor sees this machine's driver and devices.
 */
#include "command.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Changes a device until the monitor has seen enough and ends */
#define CHANGE_UNTIL_END \
	" & p=$!; while kill -0 $p 2>/dev/null; do nicctl dev set @0 seed 3; done; wait $p"

/* Behind a monitor: from here on it listens, and has the signals blocked */
#define LISTENING \
	" & p=$!; until grep -q SigBlk:.*4002 /proc/$p/status; do :; done; "

/* ---- monitor ---- */

TEST(control, monitor_prints_events)
{
	RUN(0, "nicctl dev add @ type loop nodes 2 model sci-d330");
	RUN(0, "nicctl monitor fabric @ count 3 timeout 20" CHANGE_UNTIL_END);
	EXPECT_EQ(count(output.out, "\n"), 3);
	EXPECT_EQ(count(output.out, "0: model, state up, loop node 0 of 2"), 3);
	EXPECT_EQ(count(output.out, "incarnation 1, model sci-d330, scale 1\n"),
		  3);
	/* 2026-01-31T23:59:59.123Z and a blank */
	EXPECT_EQ(output.out[10], 'T');
	EXPECT_EQ(output.out[19], '.');
	EXPECT_EQ(strncmp(output.out + 23, "Z ", 2), 0);
	EXPECT_EQ(output.err[0], 0);
}

TEST(control, monitor_prints_objects)
{
	char *line, *rest = output.out;
	unsigned int n = 0;
	cJSON *event;

	RUN(0, "nicctl dev add @ type loop nodes 1");
	RUN(0, "nicctl --json monitor dev @0 count 2 timeout 20"
	    CHANGE_UNTIL_END);
	while ((line = strsep(&rest, "\n")) && *line) {
		event = cJSON_Parse(line);
		ASSERT_TRUE(event);
		EXPECT_EQ(strcmp(text_of(event, "event"), "model"), 0);
		EXPECT_EQ(strcmp(text_of(event, "fabric"), prefix()), 0);
		EXPECT_EQ(strlen(text_of(event, "time")), 24);
		EXPECT_EQ(number_of(event, "model.seed"), 3);
		cJSON_Delete(event);
		n++;
	}
	EXPECT_EQ(n, 2);
}

/* Of other devices nothing, and when the time is over that is told. */
TEST(control, monitor_is_for_those_named)
{
	RUN(0, "nicctl dev add @ type loop nodes 2");
	RUN(1, "nicctl monitor dev @1 count 1 timeout 1"
	    " & p=$!; while kill -0 $p 2>/dev/null; do nicctl dev set @0 seed 3; done; wait $p");
	EXPECT_EQ(output.out[0], 0);
	EXPECT_HAS(output.err, "0 of 1 events came");
	RUN(0, "nicctl monitor dev @1 timeout 0.001");
	EXPECT_EQ(output.out[0], 0);
	EXPECT_EQ(output.err[0], 0);
	/* What is not there may come */
	RUN(0, "nicctl monitor dev @7 timeout 0.001");
	EXPECT_HAS(output.err, "7 in this network namespace yet: waiting for it");
	RUN(0, "nicctl monitor dev @1 timeout 1000us");
	EXPECT_EQ(output.out[0], 0);
}

TEST(control, monitor_ends_by_signals)
{
	RUN(0, "nicctl monitor" LISTENING "kill -TERM $p; wait $p");
	EXPECT_EQ(output.out[0], 0);
	RUN(0, "nicctl monitor" LISTENING "kill -INT $p; wait $p");
	EXPECT_EQ(output.out[0], 0);
	/* And not by a time that is longer than the clock goes */
	RUN(0, "nicctl monitor count 1 timeout 18446744073s" LISTENING
	    "kill -TERM $p; wait $p");
	EXPECT_EQ(output.out[0], 0);
}

/* Stopped, it loses events; then it tells so and what there is. */
TEST(control, monitor_survives_loss)
{
	RUN(0, "nicctl dev add @ type loop nodes 256");
	RUN(0, "nicctl monitor fabric @ >%s" LISTENING "kill -STOP $p; "
	    "for i in 1 2 3 4; do nicctl dev set fabric @ seed $i; done; "
	    "nicctl dev set @7 failed on; kill -CONT $p; "
	    "until [ $(grep -c present, %s) = 256 ]; do :; done; "
	    "kill -TERM $p; wait $p; s=$?; cat %s; rm %s; exit $s",
	    file(), file(), file(), file());
	EXPECT_EQ(count(output.out, "events were lost"), 1);
	EXPECT_EQ(count(output.out, ": present, "), 256);
	EXPECT_EQ(count(output.out, "7: present, state failed"), 1);
	/* What was before the loss is told before it */
	EXPECT_EQ(count(strstr(output.out, "events were lost") ?: "",
			": model, "), 0);
	EXPECT_GT(count(output.out, ": model, "), 0);
}

TEST(control, monitor_sees_the_driver_go)
{
	RUN(1, "nicctl monitor" LISTENING "rmmod dmanic; wait $p");
	EXPECT_HAS(output.err, "it was unloaded");
	RUN(0, "modprobe dmanic");
}

/* ---- stats ---- */

TEST(control, stats_name_the_link)
{
	static const char * const which[] = { "", " @1", " fabric @" };
	unsigned int i;
	cJSON *report;

	RUN(0, "nicctl dev add @ type loop nodes 2");
	for (i = 0; i < ARRAY_SIZE(which); i++) {
		RUN(0, "nicctl --json stats%s", which[i]);
		report = report_of("nicctl");
		EXPECT_EQ(strcmp(text_of(report, "link"), "loop"), 0);
		cJSON_Delete(report);
	}
}

/* ---- doctor ---- */

static void expect_level(const cJSON *report, const char *name,
			 const char *level)
{
	const cJSON *check = check_named(report, name);

	if (strcmp(text_of(check, "level"), level) != 0)
		harness_fail(__FILE__, __LINE__, "%s is %s, not %s: %s", name,
			     text_of(check, "level"), level,
			     text_of(check, "detail"));
}

TEST(control, doctor_sees_devices)
{
	cJSON *report;

	RUN(0, "nicctl dev add @ type loop nodes 2");
	run("nicctl --json doctor");
	report = report_of("nicctl");
	expect_level(report, "kernel", "ok");
	expect_level(report, "module", "ok");
	expect_level(report, "versions", "ok");
	expect_level(report, "permission", "ok");
	expect_level(report, "devices", "ok");
	expect_level(report, "model", "ok");
	expect_level(report, "limits", "ok");
	expect_level(report, "kernel log", "ok");
	cJSON_Delete(report);
	RUN(0, "nicctl dev set @1 failed on model sci-d330");
	RUN(1, "nicctl --json doctor");
	report = report_of("nicctl");
	expect_level(report, "devices", "problem");
	expect_level(report, "model", "warning");
	cJSON_Delete(report);
	run("nicctl doctor");
	EXPECT_HAS(output.out, "PROBLEM  devices ");
	EXPECT_HAS(output.out, "-> as root: nicctl dev set ");
}

/* What needs root is not checked, and all else is. */
TEST(control, doctor_serves_a_plain_user)
{
	cJSON *report;

	RUN(0, "nicctl dev add @ type loop nodes 2");
	run("setpriv --reuid 65534 --regid 65534 --clear-groups nicctl --json doctor");
	EXPECT_EQ(output.status, 1);
	EXPECT_EQ(output.err[0], 0);
	report = report_of("nicctl");
	expect_level(report, "module", "ok");
	expect_level(report, "devices", "ok");
	expect_level(report, "permission", "problem");
	expect_level(report, "limits", "unknown");
	cJSON_Delete(report);
}

TEST(control, doctor_without_the_module)
{
	cJSON *report;

	RUN(0, "rmmod dmanic");
	RUN(1, "nicctl --json doctor");
	RUN(0, "modprobe dmanic");
	run("rmmod dmanic; nicctl --json doctor; modprobe dmanic");
	report = report_of("nicctl");
	expect_level(report, "module", "problem");
	EXPECT_HAS(text_of(check_named(report, "module"), "remedy"),
		   "modprobe dmanic");
	cJSON_Delete(report);
}

FABRIC_TEST_MAIN_NONE()
