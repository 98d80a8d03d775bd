// SPDX-License-Identifier: GPL-2.0-only
/*
 * rank.c - what a rank gets, and how it starts
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "nicrun.h"

#define EXIT_NOT_RUN	126		/* as the shell */
#define EXIT_NOT_FOUND	127

/* A job of its own; of parts on several machines it is given */
static bool set_job(void)
{
	uint64_t random[3];
	char text[40];

	if (opt.here)
		return true;
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		say("cannot make a secret: %s", strerror(errno));
		return false;
	}
	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, random[0],
		 random[1]);
	setenv("NIC_SECRET", text, 1);
	snprintf(text, sizeof(text), "%08" PRIx32, (uint32_t)random[2]);
	setenv("NIC_JOB", text, 1);
	return true;
}

bool ranks_set_environment(void)
{
	char text[40], *list, *at;

	if (!set_job())
		return false;
	snprintf(text, sizeof(text), "%u", opt.n);
	setenv("NIC_SIZE", text, 1);

	list = malloc(opt.n * sizeof("4294967295,"));
	if (!list) {
		say("out of memory");
		return false;
	}
	at = list;
	for (unsigned int i = 0; i < opt.n; i++)
		at += sprintf(at, "%s%" PRIu32, i ? "," : "", ranks[i].node);
	setenv("NIC_NODES", list, 1);
	free(list);
	return true;
}

static void bind_rank(unsigned int i)
{
	cpu_set_t allowed, one;
	unsigned int skip;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	skip = i % (unsigned int)CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || skip--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static int exit_status(int err)
{
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/* In the child. What goes wrong is told through @report. */
static void become_rank(unsigned int i, pid_t parent, const int out[2],
			int report, char **program)
{
	char text[NIC_NAME_MAX];
	int err, fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);	/* it died before that */
	if (i) {
		fd = open("/dev/null", O_RDONLY);
		dup2(fd, STDIN_FILENO);
		close(fd);
	}
	if (opt.label) {
		dup2(out[0], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
	}
	if (opt.bind)
		bind_rank(i);
	device_name(&ranks[i], text);
	setenv("NIC_DEVICE", text, 1);
	snprintf(text, sizeof(text), "%u", i);
	setenv("NIC_RANK", text, 1);
	end_restore_signals();
	execvp(program[0], program);
	err = errno;
	if (write(report, &err, sizeof(err)) != sizeof(err))
		_exit(1);
	_exit(exit_status(err));
}

static void close_ends(const int out[2])
{
	for (int s = 0; s < 2; s++)
		if (out[s] >= 0)
			close(out[s]);
}

int rank_start(unsigned int i, char **program)
{
	int out[2] = { -1, -1 }, report[2], err, status = 0;
	pid_t parent = getpid(), pid;

	if (label_open(&ranks[i], out) || pipe2(report, O_CLOEXEC)) {
		say("cannot start rank %u: %s", i, strerror(errno));
		close_ends(out);
		return 1;
	}
	pid = fork();
	if (!pid)
		become_rank(i, parent, out, report[1], program);
	if (pid < 0) {
		say("cannot start rank %u: %s", i, strerror(errno));
		status = 1;
	}
	close_ends(out);
	close(report[1]);
	if (pid > 0) {
		ranks[i].pid = pid;
		if (read(report[0], &err, sizeof(err)) == sizeof(err)) {
			say("cannot run %s: %s", program[0], strerror(err));
			status = exit_status(err);
		}
	}
	close(report[0]);
	return status;
}
