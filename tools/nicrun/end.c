// SPDX-License-Identifier: GPL-2.0-only
/*
 * end.c - how the ranks end, and with which status
 *
 * Owns the signals, the deadlines and the exit status. Whatever goes wrong
 * first decides: it is told, its status becomes that of nicrun, and the others
 * are asked to end, then made to. What a rank has is gone a moment before its parent
 * hears that it was killed: another one may have failed for that, and be heard of first.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/clock.h"

#include "nicrun.h"

#define GRACE_NS	3000000000ULL	/* from SIGTERM to SIGKILL */
#define AGAIN_NS	50000000ULL	/* from SIGKILL to SIGKILL */
#define EXIT_TIMEOUT	124		/* as timeout(1) */

static int signal_fd = -1;
static sigset_t old_signals;
static int result;		/* exit status, once it is known */
static int stopped_by;		/* signal that nicrun got */
static bool ending;
static bool failed;		/* a rank did, by itself */
static bool killing;		/* whoever does not end is killed */
static uint64_t kill_at = UINT64_MAX;
static uint64_t timeout_at = UINT64_MAX;

/* A signal that is ignored, as SIGHUP below nohup, stays so. */
int end_watch_signals(void)
{
	static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		if (!sigaction(watched[i], NULL, &action) &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&signals, watched[i]);
	sigprocmask(SIG_BLOCK, &signals, &old_signals);
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		say("cannot watch signals: %s", strerror(errno));
	return signal_fd;
}

void end_restore_signals(void)
{
	sigprocmask(SIG_SETMASK, &old_signals, NULL);
}

/* All children: ranks, and what ranks have left behind */
static void signal_children(int number)
{
	char path[64];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	if (file) {
		while (fscanf(file, "%d", &pid) == 1)
			kill(pid, number);
		fclose(file);
		return;
	}
	for (unsigned int i = 0; i < opt.n; i++)
		if (ranks[i].pid)
			kill(ranks[i].pid, number);
}

static void end_soon(int number)
{
	if (number)
		signal_children(number);
	if (!ending)
		kill_at = now_ns() + GRACE_NS;
	ending = true;
}

void end_with(int status)
{
	if (!result)
		result = status;
	end_soon(SIGTERM);
}

static bool any_runs(void)
{
	for (unsigned int i = 0; i < opt.n; i++)
		if (ranks[i].pid)
			return true;
	return false;
}

static void rank_ended(unsigned int i, int status)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
					 WEXITSTATUS(status);
	const char *others;

	ranks[i].pid = 0;
	if (!code)
		return;
	if (ending) {
		if (failed && !killing && WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM) {
			say("rank %u was killed by signal %d (%s), which may be the reason", i,
			    WTERMSIG(status), strsignal(WTERMSIG(status)));
			failed = false;
			result = code;
		}
		if (!result)
			result = code;
		return;
	}
	others = any_runs() ? ", stopping the others" : "";
	if (WIFSIGNALED(status)) {
		say("rank %u was killed by signal %d (%s)%s", i,
		    WTERMSIG(status), strsignal(WTERMSIG(status)), others);
	} else {
		say("rank %u failed with status %d%s", i, code, others);
		failed = true;
	}
	end_with(code);
}

bool end_reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (unsigned int i = 0; i < opt.n; i++)
			if (ranks[i].pid == pid)
				rank_ended(i, status);
	}
	return !pid;
}

void end_take_signal(void)
{
	struct signalfd_siginfo info;
	bool terminal;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info) ||
	    info.ssi_signo == SIGCHLD)
		return;
	terminal = info.ssi_code == SI_KERNEL;
	if (stopped_by) {
		kill_at = 0;	/* twice: they mean it */
		return;
	}
	stopped_by = (int)info.ssi_signo;
	end_soon(terminal ? 0 : stopped_by);
}

void end_after(uint64_t timeout_ns)
{
	timeout_at = now_ns() + timeout_ns;
}

void end_check_deadlines(void)
{
	uint64_t now = now_ns();

	if (now >= timeout_at) {
		timeout_at = UINT64_MAX;
		if (!ending) {
			say("time is up, stopping the ranks");
			end_with(EXIT_TIMEOUT);
		}
	}
	if (now >= kill_at) {
		killing = true;
		signal_children(SIGKILL);
		kill_at = now + AGAIN_NS;
	}
	/* What the ranks left behind */
	if (!ending && !any_runs())
		end_soon(SIGTERM);
}

int end_poll_timeout(void)
{
	uint64_t first = kill_at < timeout_at ? kill_at : timeout_at;
	uint64_t now = now_ns();

	if (first == UINT64_MAX)
		return -1;
	if (first <= now)
		return 0;
	if (first - now > NS_PER_S)
		return 1000;
	return (int)((first - now) / 1000000) + 1;
}

int end_status(void)
{
	return result || !stopped_by ? result : 128 + stopped_by;
}
