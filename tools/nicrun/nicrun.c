// SPDX-License-Identifier: GPL-2.0-only
/*
 * nicrun.c - start N ranks of a program on the devices of this machine
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
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nic.h>

#include "libnic/comm/nodes.h"
#include "tools/common/output.h"
#include "tools/common/size.h"

#define RANKS_MAX	4096
#define DEVICE_MAX	99999U
#define GRACE_NS	3000000000ULL	/* from SIGTERM to SIGKILL */
#define AGAIN_NS	50000000ULL	/* from SIGKILL to SIGKILL */
#define LINE_MAX_BYTES	4096
#define EXIT_TIMEOUT	124		/* as timeout(1) */
#define EXIT_NOT_RUN	126		/* as the shell */
#define EXIT_NOT_FOUND	127

/* One of the outputs of a rank, with --label */
struct stream {
	int fd;			/* -1: closed */
	FILE *to;
	size_t used;
	char line[LINE_MAX_BYTES];
};

struct rank {
	pid_t pid;		/* 0: not running */
	uint32_t number;	/* of the device */
	uint32_t node;
	struct stream stream[2];
};

static struct {
	unsigned int n;
	const char *prefix;
	const char *nodes;
	uint64_t timeout_ns;
	bool label;
	bool bind;
} opt = { .prefix = "nic" };

static struct rank *ranks;
static struct pollfd *polled;
static unsigned int running;
static int signal_fd = -1;
static sigset_t old_signals;
static int result;		/* exit status, once it is known */
static int stopped_by;		/* signal that nicrun got */
static bool ending;
static uint64_t kill_at = UINT64_MAX;
static uint64_t timeout_at = UINT64_MAX;

static const char usage_text[] =
"Usage: nicrun -n RANKS [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
"Start PROGRAM RANKS times, each on a device of its own on this machine.\n"
"\n"
"  -n, --ranks RANKS    how many\n"
"      --device PREFIX  rank i uses device PREFIX<i> (default: nic)\n"
"      --nodes LIST     or PREFIX<the i-th number of LIST>: 0,2,4-7\n"
"      --timeout TIME   stop the ranks after TIME (10, 500ms); status 124\n"
"      --label          begin every line of output with the rank\n"
"      --bind           rank i runs on the i-th CPU only (modulo their number)\n"
"  -h, --help           this text\n"
"      --version        version\n"
"\n"
"Ranks see NIC_RANK, NIC_SIZE, NIC_NODES, NIC_DEVICE, NIC_SECRET and NIC_JOB.\n"
"Standard input goes to rank 0. When a rank fails the others get SIGTERM, and\n"
"SIGKILL after 3 s. Exit status: that of the first rank that failed (128 and\n"
"the signal, when one killed it), 0 when none did, 1 when the ranks could not\n"
"be started, 2 for wrong usage.\n"
"\n"
"Example: nicctl dev add nic type loop nodes 9 && nicrun -n 9 nictile\n";

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static void say(const char *format, ...) OUTPUT_PRINTF(1, 2);
static void say(const char *format, ...)
{
	va_list ap;

	fputs("nicrun: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void wrong_usage(const char *format, ...) OUTPUT_PRINTF(1, 2)
	__attribute__((noreturn));
static void wrong_usage(const char *format, ...)
{
	va_list ap;

	fputs("nicrun: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputs("; try nicrun --help\n", stderr);
	exit(EXIT_USAGE);
}

/* ---- arguments ---- */

static void parse_ranks(const char *text)
{
	uint64_t count;
	const char *why;

	why = count_parse(text, RANKS_MAX, &count);
	if (why)
		wrong_usage("-n %s %s", text, why);
	if (!count)
		wrong_usage("-n 0: at least one rank");
	opt.n = (unsigned int)count;
}

static void parse_timeout(const char *text)
{
	const char *why;

	why = time_parse(text, &opt.timeout_ns);
	if (why)
		wrong_usage("--timeout %s %s", text, why);
	if (!opt.timeout_ns)
		wrong_usage("--timeout 0: leave it out to wait for ever");
}

/* Device numbers of the ranks, from --nodes or one after the other */
static void parse_nodes(void)
{
	uint32_t number[RANKS_MAX];
	int count;

	for (unsigned int i = 0; i < opt.n; i++)
		ranks[i].number = i;
	if (!opt.nodes)
		return;
	count = nic_nodes_parse(opt.nodes, number, opt.n);
	if (count == -EINVAL)
		wrong_usage("--nodes %s is no list like 0,2,4-7", opt.nodes);
	if (count < 0 || (unsigned int)count != opt.n)
		wrong_usage("--nodes %s must have one number a rank, %u",
			    opt.nodes, opt.n);
	for (unsigned int i = 0; i < opt.n; i++) {
		if (number[i] > DEVICE_MAX)
			wrong_usage("--nodes: %" PRIu32 " is too large",
				    number[i]);
		ranks[i].number = number[i];
	}
}

static char **parse(int argc, char **argv)
{
	enum { DEVICE = 256, NODES, TIMEOUT, LABEL, BIND, VERSION };
	static const struct option options[] = {
		{ "ranks", required_argument, NULL, 'n' },
		{ "device", required_argument, NULL, DEVICE },
		{ "nodes", required_argument, NULL, NODES },
		{ "timeout", required_argument, NULL, TIMEOUT },
		{ "label", no_argument, NULL, LABEL },
		{ "bind", no_argument, NULL, BIND },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, VERSION },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	/* "+": the options of PROGRAM are its own. */
	while ((c = getopt_long(argc, argv, "+n:h", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			parse_ranks(optarg);
			break;
		case DEVICE:
			opt.prefix = optarg;
			break;
		case NODES:
			opt.nodes = optarg;
			break;
		case TIMEOUT:
			parse_timeout(optarg);
			break;
		case LABEL:
			opt.label = true;
			break;
		case BIND:
			opt.bind = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case VERSION:
			puts("nicrun " TOOL_VERSION);
			exit(0);
		default:
			fputs("Try nicrun --help.\n", stderr);
			exit(EXIT_USAGE);
		}
	}
	if (!opt.n)
		wrong_usage("-n RANKS is missing");
	if (!argv[optind])
		wrong_usage("PROGRAM is missing");
	return argv + optind;
}

/* ---- devices and environment ---- */

static void device_name(const struct rank *rank, char name[NIC_NAME_MAX])
{
	int length;

	length = snprintf(name, NIC_NAME_MAX, "%s%" PRIu32, opt.prefix,
			  rank->number);
	if (length >= NIC_NAME_MAX || strchr(name, '/'))
		wrong_usage("--device %s: give the name without its number",
			    opt.prefix);
}

static int ask_device(struct rank *rank)
{
	char name[NIC_NAME_MAX];
	struct nic_info info;
	struct nic_ctx *ctx;
	int ret;

	device_name(rank, name);
	ret = nic_open(name, &ctx);
	if (ret)
		return ret;
	ret = nic_query(ctx, &info);
	rank->node = info.node;
	nic_close(ctx);
	return ret;
}

static void say_missing(unsigned int missing, const char *names)
{
	uint32_t last = 0;

	for (unsigned int i = 0; i < opt.n; i++)
		if (ranks[i].number > last)
			last = ranks[i].number;
	say("%s missing: %s", missing == 1 ? "a device is" : "devices are",
	    names);
	if (access("/sys/module/dmanic", F_OK))
		say("the driver is not loaded: modprobe dmanic");
	if (missing < opt.n)
		say("remove the others first: nicctl dev del fabric %s",
		    opt.prefix);
	say("make them: nicctl dev add %s type loop nodes %" PRIu32,
	    opt.prefix, last + 1);
}

/* Find out the node of every rank; tell all that is missing at once. */
static bool find_devices(void)
{
	unsigned int missing = 0;
	char name[NIC_NAME_MAX];
	char names[200] = "";
	size_t at = 0;
	int ret;

	for (unsigned int i = 0; i < opt.n; i++) {
		ret = ask_device(&ranks[i]);
		if (!ret)
			continue;
		if (ret != -ENOENT) {
			say("%s", nic_error_detail(NULL));
			return false;
		}
		device_name(&ranks[i], name);
		if (at + strlen(name) + 8 < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       "%s%s", missing ? ", " : "", name);
		else if (names[at - 1] != '.')
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       ", ...");
		missing++;
	}
	if (missing)
		say_missing(missing, names);
	return !missing;
}

/* What all ranks see alike */
static bool set_environment(void)
{
	char text[40], *list, *at;
	uint64_t random[3];

	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		say("cannot make a secret: %s", strerror(errno));
		return false;
	}
	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, random[0],
		 random[1]);
	setenv("NIC_SECRET", text, 1);
	snprintf(text, sizeof(text), "%08" PRIx32, (uint32_t)random[2]);
	setenv("NIC_JOB", text, 1);
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

/* ---- a rank is born ---- */

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

/* In the child. What goes wrong is told through @report. */
static void become_rank(unsigned int i, pid_t parent, const int out[2],
			int report, char **argv)
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
	sigprocmask(SIG_SETMASK, &old_signals, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) != sizeof(err))
		_exit(1);
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

static int open_streams(struct rank *rank, int out[2])
{
	for (int s = 0; opt.label && s < 2; s++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC))
			return -errno;
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		rank->stream[s].fd = ends[0];
		rank->stream[s].to = s ? stderr : stdout;
		out[s] = ends[1];
	}
	return 0;
}

static void close_ends(const int out[2])
{
	for (int s = 0; s < 2; s++)
		if (out[s] >= 0)
			close(out[s]);
}

/* Returns once the rank runs PROGRAM, or cannot. */
static bool start_rank(unsigned int i, char **argv)
{
	int out[2] = { -1, -1 }, report[2], err = 0;
	pid_t parent = getpid(), pid;

	if (open_streams(&ranks[i], out) || pipe2(report, O_CLOEXEC)) {
		say("cannot start rank %u: %s", i, strerror(errno));
		close_ends(out);
		return false;
	}
	pid = fork();
	if (!pid)
		become_rank(i, parent, out, report[1], argv);
	if (pid < 0)
		say("cannot start rank %u: %s", i, strerror(errno));
	close_ends(out);
	close(report[1]);
	if (pid > 0) {
		ranks[i].pid = pid;
		running++;
		if (read(report[0], &err, sizeof(err)) == sizeof(err)) {
			say("cannot run %s: %s", argv[0], strerror(err));
			result = err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
		} else {
			err = 0;
		}
	}
	close(report[0]);
	return pid > 0 && !err;
}

/* ---- output with --label ---- */

static void print_line(unsigned int rank, const struct stream *stream,
		       size_t length, bool whole)
{
	fprintf(stream->to, "[%u] ", rank);
	fwrite(stream->line, 1, length, stream->to);
	if (!whole)
		fputc('\n', stream->to);
}

static void print_lines(unsigned int rank, struct stream *stream)
{
	char *end;
	size_t length;

	while ((end = memchr(stream->line, '\n', stream->used))) {
		length = (size_t)(end - stream->line) + 1;
		print_line(rank, stream, length, true);
		stream->used -= length;
		memmove(stream->line, end + 1, stream->used);
	}
	if (stream->used == sizeof(stream->line)) {
		print_line(rank, stream, stream->used, false);
		stream->used = 0;
	}
}

static void close_stream(unsigned int rank, struct stream *stream)
{
	if (stream->fd < 0)
		return;
	if (stream->used)
		print_line(rank, stream, stream->used, false);
	fflush(stream->to);
	close(stream->fd);
	stream->fd = -1;
}

/*
 * Some of what is there; false when nothing is. Lines come out whole; those
 * longer than the buffer are cut.
 */
static bool read_stream(unsigned int rank, struct stream *stream)
{
	ssize_t got;

	if (stream->fd < 0)
		return false;
	got = read(stream->fd, stream->line + stream->used,
		   sizeof(stream->line) - stream->used);
	if (got > 0) {
		stream->used += (size_t)got;
		print_lines(rank, stream);
		fflush(stream->to);
	} else if (!got) {
		close_stream(rank, stream);
	}
	return got > 0;
}

/* ---- ends ---- */

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

static void rank_ended(unsigned int i, int status)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
					 WEXITSTATUS(status);

	ranks[i].pid = 0;
	running--;
	if (!code)
		return;
	if (!result)
		result = code;
	if (ending)
		return;
	if (WIFSIGNALED(status))
		say("rank %u was killed by signal %d (%s)%s", i,
		    WTERMSIG(status), strsignal(WTERMSIG(status)),
		    running ? ", stopping the others" : "");
	else
		say("rank %u failed with status %d%s", i, code,
		    running ? ", stopping the others" : "");
	end_soon(SIGTERM);
}

/* Returns false when no child is left. */
static bool reap(void)
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

static void take_signal(void)
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

static void check_deadlines(void)
{
	uint64_t now = now_ns();

	if (now >= timeout_at) {
		timeout_at = UINT64_MAX;
		if (!ending) {
			say("time is up, stopping the ranks");
			result = EXIT_TIMEOUT;
			end_soon(SIGTERM);
		}
	}
	if (now >= kill_at) {
		signal_children(SIGKILL);
		kill_at = now + AGAIN_NS;
	}
	/* What the ranks left behind */
	if (!running && !ending)
		end_soon(SIGTERM);
}

/* ---- the loop ---- */

static int poll_timeout(void)
{
	uint64_t first = kill_at < timeout_at ? kill_at : timeout_at;
	uint64_t now = now_ns();

	if (first == UINT64_MAX)
		return -1;
	if (first <= now)
		return 0;
	if (first - now > 1000000000ULL)
		return 1000;
	return (int)((first - now) / 1000000) + 1;
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
	if (poll(polled, count, poll_timeout()) < 0)
		return;
	if (polled[0].revents)
		take_signal();
	for (unsigned int i = 0; i < 2 * opt.n; i++)
		if (polled[i + 1].revents)
			read_stream(i / 2, &ranks[i / 2].stream[i % 2]);
}

static void run(void)
{
	while (reap()) {
		check_deadlines();
		poll_once();
	}
	for (unsigned int i = 0; i < 2 * opt.n; i++) {
		struct stream *stream = &ranks[i / 2].stream[i % 2];

		while (read_stream(i / 2, stream))
			;
		close_stream(i / 2, stream);
	}
}

/* A signal that is ignored, as SIGHUP below nohup, stays so. */
static bool watch_signals(void)
{
	static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		if (!sigaction(watched[i], NULL, &action) &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&signals, watched[i]);
	sigprocmask(SIG_BLOCK, &signals, &old_signals);
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		say("cannot watch signals: %s", strerror(errno));
	return signal_fd >= 0;
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
	parse_nodes();
	if (!find_devices() || !set_environment())
		return false;
	return watch_signals();
}

int main(int argc, char **argv)
{
	char **program = parse(argc, argv);

	if (!prepare())
		return 1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (unsigned int i = 0; i < opt.n; i++) {
		if (start_rank(i, program))
			continue;
		if (!result)
			result = 1;
		end_soon(SIGTERM);
		break;
	}
	if (opt.timeout_ns)
		timeout_at = now_ns() + opt.timeout_ns;
	run();
	free(polled);
	free(ranks);
	return result || !stopped_by ? result : 128 + stopped_by;
}
