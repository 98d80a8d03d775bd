// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_restore.c - nicctl save and restore on the real driver
 *
 * Owns: that what was saved can be made again, that a file which cannot be had
 * and a restore that does not get to its end change nothing, that two do not get
 * in each other's way, and that saving replaces nothing but regular files.
 */
#include "command.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- restore ---- */

TEST(restore, saved_comes_back)
{
	char *before;

	RUN(0, "nicctl dev add @ type loop nodes 5 model sci-d330 scale 2.5 seed 7");
	RUN(0, "nicctl dev set @1 latency 123456789ns jitter 7ns");
	RUN(0, "nicctl dev set @2 model eth-25g");
	RUN(0, "nicctl dev del @3");
	RUN(0, "nicctl dev set @4 failed on");
	RUN(0, "nicctl save");
	EXPECT_HAS(output.out, "nodes 5 model sci-d330 scale 2.500 seed 7\n");
	before = strdup(output.out);
	ASSERT_TRUE(before);
	RUN(0, "nicctl save %s", file());
	EXPECT_EQ(output.out[0], 0);
	/* There already: nothing changes, not even what failed */
	RUN(0, "nicctl restore %s", file());
	EXPECT_HAS(output.out, ": left as it is\n");
	RUN(0, "nicctl dev show @4");
	EXPECT_HAS(output.out, "4: failed\n");
	RUN(0, "nicctl dev del fabric @");
	RUN(0, "nicctl restore - <%s", file());
	EXPECT_HAS(output.out, ": made\n");
	RUN(0, "nicctl save");
	EXPECT_EQ(strcmp(output.out, before), 0);
	/* Models that were changed since are changed back */
	RUN(0, "nicctl dev set @2 scale 3");
	RUN(0, "nicctl restore %s", file());
	EXPECT_HAS(output.out, ": models changed: 1\n");
	RUN(0, "nicctl save");
	EXPECT_EQ(strcmp(output.out, before), 0);
	RUN(0, "nicctl --json restore %s", file());
	cJSON_Delete(report_of("nicctl"));
	RUN(0, "nicctl --json save");
	cJSON_Delete(report_of("nicctl"));
	RUN(0, "rm %s", file());
	free(before);
}

TEST(restore, names_the_line)
{
	RUN(1, "printf '# x\ndev add @ type loop nodes 2\ndev set @5 scale 2\n' | nicctl restore -");
	EXPECT_HAS(output.err, "-:3: no line above adds a device ");
	EXPECT_HAS(output.err, "nothing was changed");
	RUN(1, "nicctl dev show @0");
	RUN(1, "nicctl restore /nowhere/at/all");
	EXPECT_HAS(output.err, "cannot read /nowhere/at/all: No such file");
}

TEST(restore, refuses_other_nodes)
{
	RUN(0, "nicctl dev add @ type loop nodes 2");
	RUN(1, "printf 'dev add @z type loop nodes 1\ndev add @ type loop nodes 3\n' | nicctl restore -");
	EXPECT_HAS(output.err, "-:2: fabric ");
	EXPECT_HAS(output.err, " is there with another set of nodes; ");
	EXPECT_HAS(output.err, "delete it first (nicctl dev del fabric ");
	/* Nothing of it was done */
	RUN(1, "nicctl dev show @z0");
}

/* What only the driver refuses undoes what was done before. */
TEST(restore, is_undone)
{
	RUN(0, "nicctl dev add @ type loop nodes 2 model sci-d330");
	RUN(1, "printf 'dev add @ type loop nodes 2 model eth-25g\ndev add @x type loop nodes 2\ndev set @x1 seed 2\ndev add @y type loop nodes 1 model fast\n' | nicctl restore -");
	EXPECT_HAS(output.err, "-:4: ");
	EXPECT_HAS(output.err, "no such model preset");
	EXPECT_HAS(output.err, "; what was done before is undone\n");
	RUN(1, "nicctl dev show fabric @x");
	RUN(0, "nicctl dev show @1");
	EXPECT_HAS(output.out, "model       sci-d330, scale 1\n");
}

/*
 * A restore that takes a while, in the background as $p, of MANY fabrics; from
 * here on some of them are there. %s: file(), and words before nicctl
 */
#define MANY	50U
#define LONG_RESTORE							\
	"for i in $(seq 50); do echo dev add @$i- type loop nodes 2; done >%s; " \
	"%s nicctl restore %s & p=$!; "					\
	"until [ -e /dev/dmanic/@3-1 ]; do :; done; "

static unsigned int fabrics_there(void)
{
	RUN(0, "nicctl dev show | grep -c '^@[0-9]*-0 ' || :");
	return (unsigned int)strtoul(output.out, NULL, 10);
}

/* As many as no test leaves behind: one by one they would take long */
static void remove_all(void)
{
	RUN(0, "rmmod dmanic");
	RUN(0, "modprobe dmanic");
}

/* Ended in the middle of the changes, it undoes them, and says so. */
TEST_TIMEOUT(restore, undoes_when_ended, 120)
{
	RUN(143, LONG_RESTORE "kill -TERM $p; wait $p", file(), "", file());
	EXPECT_HAS(output.err, "ended by a signal (Terminated); what was done before is undone");
	EXPECT_EQ(output.out[0], 0);
	EXPECT_EQ(fabrics_there(), 0);
	/* A shell lets its background jobs ignore SIGINT: env takes that back */
	RUN(130, LONG_RESTORE "kill -INT $p; wait $p", file(),
	    "env --default-signal=INT", file());
	EXPECT_HAS(output.err, "ended by a signal (Interrupt); what was done before is undone");
	EXPECT_EQ(fabrics_there(), 0);
	RUN(0, "rm %s", file());
}

/* What whoever started it wants to be ignored does not end it. */
TEST_TIMEOUT(restore, goes_on_when_signals_are_ignored, 120)
{
	RUN(0, LONG_RESTORE "kill -INT $p; wait $p", file(), "", file());
	EXPECT_EQ(output.err[0], 0);
	EXPECT_EQ(count(output.out, ": made\n"), MANY);
	EXPECT_EQ(fabrics_there(), MANY);
	RUN(0, "rm %s", file());
	remove_all();
}

TEST_TIMEOUT(restore, runs_alone, 120)
{
	RUN(0, LONG_RESTORE "kill -STOP $p; "
	    "nicctl restore %s >%s.said 2>&1; echo status $?; "
	    "kill -CONT $p; wait $p", file(), "", file(), file(), file());
	EXPECT_HAS(output.out, "status 1\n");
	EXPECT_EQ(count(output.out, ": made\n"), MANY);
	RUN(0, "cat %s.said", file());
	EXPECT_HAS(output.out, "another nicctl restore is at work");
	EXPECT_EQ(count(output.out, "\n"), 1);
	EXPECT_EQ(fabrics_there(), MANY);
	/* Alone it has nothing left to do */
	RUN(0, "nicctl restore %s", file());
	EXPECT_EQ(count(output.out, ": left as it is\n"), MANY);
	RUN(0, "rm %s %s.said", file(), file());
	remove_all();
}

/* In words, and not by a file that nobody may make */
TEST(restore, is_not_for_a_plain_user)
{
	RUN(0, "nicctl dev add @ type loop nodes 2");
	RUN(0, "printf 'dev add @ type loop nodes 2\ndev add @x type loop nodes 2\n' >%s",
	    file());
	RUN(1, "setpriv --reuid 65534 --regid 65534 --clear-groups nicctl restore %s",
	    file());
	EXPECT_HAS(output.err, ":2: ");
	EXPECT_HAS(output.err, "only root may do that");
	EXPECT_HAS(output.err, "; nothing was changed\n");
	EXPECT_EQ(count(output.err, "\n"), 1);
	RUN(1, "nicctl dev show @x0");
	RUN(0, "rm %s", file());
}

/* ---- save ---- */

TEST(save, replaces_or_leaves_a_file)
{
	RUN(1, "nicctl save /nowhere/at/all");
	EXPECT_HAS(output.err, "cannot write /nowhere/at/all");
	RUN(0, "echo old >%s", file());
	RUN(0, "nicctl save %s", file());
	RUN(1, "grep old %s", file());
	RUN(0, "[ ! -e %s.?????? ]", file());
	RUN(0, "rm %s", file());
}

/* A device stays one: as root, "nicctl save /dev/null" must not replace it. */
TEST(save, writes_into_devices)
{
	RUN(0, "mknod %s c 1 3", file());
	RUN(0, "nicctl dev add @ type loop nodes 1");
	RUN(0, "nicctl save %s", file());
	RUN(0, "test -c %s", file());
	RUN(0, "[ ! -e %s.?????? ]", file());
	/* Where nothing can be written, that is told */
	RUN(0, "rm %s", file());
	RUN(0, "mknod %s c 1 7", file());
	RUN(1, "nicctl save %s", file());
	EXPECT_HAS(output.err, "No space left on device");
	RUN(0, "rm %s", file());
	RUN(1, "nicctl save /tmp");
	EXPECT_HAS(output.err, "cannot write /tmp: Is a directory");
}

TEST(save, writes_into_pipes)
{
	RUN(0, "nicctl dev add @ type loop nodes 3");
	RUN(0, "mkfifo %s", file());
	RUN(0, "timeout 20 cat %s & timeout 20 nicctl save %s; s=$?; wait; exit $s",
	    file(), file());
	EXPECT_HAS(output.out, "_ type loop nodes 3");
	RUN(0, "test -p %s", file());
	RUN(0, "rm %s", file());
	RUN(0, "nicctl save /dev/fd/1 | cat");
	EXPECT_HAS(output.out, "_ type loop nodes 3");
}

TEST(save, follows_links)
{
	RUN(0, "nicctl dev add @ type loop nodes 3");
	RUN(0, "mkdir /tmp/@d");
	RUN(0, "echo old >/tmp/@d/real");
	RUN(0, "ln -s @d/real %s", file());
	RUN(0, "nicctl save %s", file());
	RUN(0, "test -L %s", file());
	RUN(0, "cat /tmp/@d/real");
	EXPECT_HAS(output.out, "_ type loop nodes 3");
	RUN(1, "grep old /tmp/@d/real");
	/* A file beside that was renamed: nothing else is left */
	RUN(0, "ls /tmp/@d");
	EXPECT_EQ(strcmp(output.out, "real\n"), 0);
	RUN(0, "rm /tmp/@d/real");
	RUN(0, "nicctl save %s", file());
	RUN(0, "test -L %s", file());
	RUN(0, "grep nodes.3 /tmp/@d/real");
	RUN(0, "rm -r /tmp/@d %s", file());
}

FABRIC_TEST_MAIN_NONE()
