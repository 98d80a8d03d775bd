// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - nicrun: start ranks of a program on the devices of this machine
 *
 * Ranks stay in the process group of nicrun, so that Ctrl-C and Ctrl-Z reach
 * them from the terminal itself, and rank 0 may read from it. What the
 * terminal sent is therefore not forwarded again; what others send to nicrun
 * is. nicrun is a subreaper: children that ranks leave behind become its own
 * and are ended with the ranks. Should nicrun itself be killed, the kernel
 * kills the ranks (PR_SET_PDEATHSIG).
 *
 * One thread; everything happens in run(), which waits for signals, for output
 * and for the next deadline.
 */
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "nicrun.h"

struct rank *ranks;

static struct pollfd *polled;
static int signal_fd;

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	output_say("nicrun", format, args, "");
	va_end(args);
}

static void poll_once(void)
{
	unsigned int count = 0;

	polled[count++] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
	for (unsigned int i = 0; i < 2 * opt.n; i++)
		polled[count++] = (struct pollfd){
			.fd = ranks[i / 2].stream[i % 2].fd,
			.events = POLLIN,
		};
	if (poll(polled, count, end_poll_timeout()) < 0)
		return;
	if (polled[0].revents)
		end_take_signal();
	for (unsigned int i = 0; i < 2 * opt.n; i++)
		if (polled[i + 1].revents)
			label_read(i / 2, &ranks[i / 2].stream[i % 2]);
}

static void run(void)
{
	while (end_reap()) {
		end_check_deadlines();
		poll_once();
	}
	for (unsigned int i = 0; i < 2 * opt.n; i++) {
		struct stream *stream = &ranks[i / 2].stream[i % 2];

		while (label_read(i / 2, stream))
			;
		label_close(i / 2, stream);
	}
}

static bool prepare(void)
{
	ranks = calloc(opt.n, sizeof(*ranks));
	polled = calloc(2 * opt.n + 1, sizeof(*polled));
	if (!ranks || !polled) {
		say("out of memory");
		return false;
	}
	for (unsigned int i = 0; i < opt.n; i++)
		for (int s = 0; s < 2; s++)
			ranks[i].stream[s].fd = -1;
	options_number_ranks();
	if (!devices_find() || !ranks_set_environment())
		return false;
	signal_fd = end_watch_signals();
	return signal_fd >= 0;
}

static void start(char **program)
{
	int status = 0;

	for (unsigned int i = 0; i < opt.n && !status; i++)
		if (ranks[i].here)
			status = rank_start(i, program);
	if (status)
		end_with(status);
	if (opt.timeout_ns)
		end_after(opt.timeout_ns);
}

int main(int argc, char **argv)
{
	char **program = options_parse(argc, argv);
	int status;

	if (!prepare())
		return 1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	start(program);
	run();
	free(polled);
	free(ranks);
	status = end_status();
	/* what --label printed */
	return output_finish("nicrun") && !status ? EXIT_FAILURE : status;
}
