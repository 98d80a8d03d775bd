// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare_rdma.c - Soft RoCE beside our link: the programs of perftest
 *
 * Two devices of rxe on a veth pair in the first network namespace, and between
 * them ib_write_bw and ib_write_lat, which are what people measure it with. A
 * program of each side, on the CPUs of our two threads; their figures are read from
 * what they print. They poll.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"

#define PORT_FIRST	20000
#define PORTS		10000
#define PROGRAM_NS	30000000000ULL	/* then it is not going to end */
#define LOOK_MS		10
#define ARGS_MAX	20
#define TEXT_MAX	8192

/* ---- programs ---- */

/**
 * struct program - one that runs, or has run
 * @pid: 0: it does not
 * @fd: what it prints
 * @n: bytes of @text
 * @text: what it has printed
 */
struct program {
	pid_t pid;
	int fd;
	size_t n;
	char text[TEXT_MAX];
};

static bool program_there(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t length;

	for (; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, name);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* In the child; ends with us, whatever ends us */
static void program_exec(char *const *argv, int cpu, int out)
{
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cpu_bind(cpu);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], argv);
	dprintf(out, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int program_start(struct program *program, char *const *argv, int cpu)
{
	int ends[2];

	memset(program, 0, sizeof(*program));
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	program->pid = fork();
	if (!program->pid)
		program_exec(argv, cpu, ends[1]);
	close(ends[1]);
	program->fd = ends[0];
	if (program->pid > 0)
		return 0;
	program->pid = 0;
	close(ends[0]);
	return -errno;
}

static void program_kill(struct program *program)
{
	if (!program->pid)
		return;
	kill(program->pid, SIGKILL);
	while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(program->fd);
	program->pid = 0;
}

/* Read what it prints until it has ended: its status, or a negative errno */
static int program_end(struct program *program)
{
	uint64_t start = now_ns();
	int status;

	for (;;) {
		struct pollfd poll_fd = { .fd = program->fd, .events = POLLIN };
		size_t room = TEXT_MAX - 1 - program->n;
		char rest[256];
		ssize_t got;

		if (run_stopped() || now_ns() - start > PROGRAM_NS) {
			program_kill(program);
			return run_stopped() ? -EINTR : -ETIME;
		}
		if (poll(&poll_fd, 1, LOOK_MS) <= 0)
			continue;
		got = read(program->fd, room ? program->text + program->n : rest,
			   room ? room : sizeof(rest));
		if (!got)
			break;
		if (room && got > 0)
			program->n += (size_t)got;
	}
	while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(program->fd);
	program->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The last line with a letter: programs say there what was wrong */
static const char *program_said(struct program *program)
{
	char *line, *rest = program->text, *last = "it said nothing";

	for (line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
		if (strpbrk(line, "abcdefghijklmnopqrstuvwxyz"))
			last = line;
	return last + strspn(last, " \t");
}

/* ---- devices ---- */

static int rdma_command(struct rdma *rdma, char *const *argv)
{
	struct program program;
	int ret = program_start(&program, argv, rdma->run->cpu[0]);

	if (!ret)
		ret = program_end(&program);
	if (ret)
		snprintf(rdma->error, sizeof(rdma->error), "rdma link %s: %s", argv[2],
			 ret < 0 ? strerror(-ret) : program_said(&program));
	return ret;
}

/* Frames come from an address that is this machine's, too */
static int accept_local(struct rdma *rdma, const char *name)
{
	char file[128];
	int fd, ret = 0;

	snprintf(file, sizeof(file), "/proc/sys/net/ipv4/conf/%s/accept_local", name);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (ret)
		snprintf(rdma->error, sizeof(rdma->error), "cannot write to %s: %s", file,
			 strerror(-ret));
	return ret;
}

static int device_create(struct rdma *rdma, enum side side)
{
	char name[IFNAMSIZ];
	char *argv[] = { "rdma", "link", "add", name, "type", "rxe", "netdev", name,
			 NULL };
	int ret;

	net_wire_name(WIRE_RDMA, side, name);
	ret = accept_local(rdma, name);
	if (!ret)
		ret = rdma_command(rdma, argv);
	rdma->made[side] = !ret;
	return ret;
}

bool rdma_create(struct rdma *rdma, struct run *run, struct net *net)
{
	static const struct {
		const char *name;
		const char *package;
	} programs[] = {
		{ "rdma", "iproute2" },
		{ "ib_write_bw", "perftest" },
		{ "ib_write_lat", "perftest" },
	};
	size_t i;

	memset(rdma, 0, sizeof(*rdma));
	rdma->run = run;
	rdma->port = (uint16_t)(PORT_FIRST + getpid() % PORTS);
	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		if (program_there(programs[i].name))
			continue;
		snprintf(rdma->error, sizeof(rdma->error),
			 "%s is not installed (Debian: iproute2, perftest, ibverbs-providers)",
			 programs[i].name);
		return false;
	}
	if (net_wire_create(net, WIRE_RDMA)) {
		snprintf(rdma->error, sizeof(rdma->error), "%s", net->error);
		return false;
	}
	return !device_create(rdma, SIDE_NEAR) && !device_create(rdma, SIDE_FAR);
}

void rdma_remove(struct rdma *rdma)
{
	char name[IFNAMSIZ];
	char *argv[] = { "rdma", "link", "delete", name, NULL };
	struct program program;
	enum side side;

	/* also when a signal ended us: that is not asked here */
	for (side = 0; side < SIDES; side++) {
		if (!rdma->made[side])
			continue;
		net_wire_name(WIRE_RDMA, side, name);
		if (!program_start(&program, argv, rdma->run->cpu[0])) {
			while (waitpid(program.pid, NULL, 0) < 0 && errno == EINTR)
				;
			close(program.fd);
		}
		rdma->made[side] = false;
	}
}

/* ---- measuring ---- */

/* Does somebody listen there? Its line has the port, no partner, and state 0A. */
static bool port_listens(const char *file, uint16_t port)
{
	char line[512], wanted[16];
	bool found = false;
	FILE *table;

	snprintf(wanted, sizeof(wanted), ":%04X ", port);
	table = fopen(file, "re");
	while (table && !found && fgets(line, sizeof(line), table)) {
		char *at = strstr(line, wanted);

		found = at && strstr(at, ":0000 0A ");
	}
	if (table)
		fclose(table);
	return found;
}

static int server_await(struct rdma *rdma, struct program *server)
{
	uint64_t start = now_ns();

	while (!port_listens("/proc/net/tcp", rdma->port) &&
	       !port_listens("/proc/net/tcp6", rdma->port)) {
		if (run_stopped())
			return -EINTR;
		if (now_ns() - start > PROGRAM_NS || waitpid(server->pid, NULL,
							     WNOHANG | WNOWAIT) > 0)
			return -ETIME;
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

/* What a perftest program is told; @to: the server's address, NULL: it is that one */
static void program_args(const struct rdma *rdma, char words[ARGS_MAX][IFNAMSIZ * 2],
			 char **argv, enum side side, uint64_t count)
{
	struct sockaddr_in to = net_address(WIRE_RDMA, SIDE_FAR, 0);
	const unsigned char *byte = (void *)&to.sin_addr;
	int n = 0, i;

#define WORD(...) snprintf(words[n++], sizeof(words[0]), __VA_ARGS__)
	WORD(rdma->latency ? "ib_write_lat" : "ib_write_bw");
	WORD("-d");
	net_wire_name(WIRE_RDMA, side, words[n++]);
	WORD("-s");
	WORD("%llu", (unsigned long long)rdma->bytes);
	WORD("-n");
	WORD("%llu", (unsigned long long)count);
	WORD("-p");
	WORD("%u", rdma->port);
	WORD("-F");
	if (!rdma->latency) {
		WORD("-t");
		WORD("16");
		WORD("--report_gbits");
	}
	if (side == SIDE_NEAR)
		WORD("%u.%u.%u.%u", byte[0], byte[1], byte[2], byte[3]);
#undef WORD
	for (i = 0; i < n; i++)
		argv[i] = words[i];
	argv[n] = NULL;
}

/* The line of figures, which begins with the size and how many there were */
static int figures_read(const struct rdma *rdma, const char *text, uint64_t count,
			uint64_t *ns)
{
	unsigned long long bytes, n;
	double a, b, c;
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, " %llu %llu %lf %lf %lf", &bytes, &n, &a, &b, &c) != 5 ||
		    bytes != rdma->bytes)
			continue;
		/* smallest, largest, typical [us]; or peak, average [Gbit/s] */
		if (rdma->latency)
			*ns = (uint64_t)(c * 1000 * (double)count);
		else if (b > 0)
			*ns = (uint64_t)((double)bytes * 8 / b * (double)count);
		else
			return -ENODATA;
		return 0;
	}
	return -ENODATA;
}

static int client_run(struct rdma *rdma, uint64_t count, uint64_t *ns)
{
	char words[ARGS_MAX][IFNAMSIZ * 2], *argv[ARGS_MAX];
	struct program client;
	int ret;

	program_args(rdma, words, argv, SIDE_NEAR, count);
	ret = program_start(&client, argv, rdma->run->cpu[0]);
	if (!ret)
		ret = program_end(&client);
	if (ret < 0) {
		snprintf(rdma->error, sizeof(rdma->error), "%s: %s", argv[0],
			 ret == -ETIME ? "it did not end" : strerror(-ret));
		return ret;
	}
	if (ret || figures_read(rdma, client.text, count, ns)) {
		snprintf(rdma->error, sizeof(rdma->error), "%s: %s (status %d)", argv[0],
			 program_said(&client), ret);
		return -EIO;
	}
	return 0;
}

int rdma_run(void *arg, uint64_t count, uint64_t *ns)
{
	char words[ARGS_MAX][IFNAMSIZ * 2], *argv[ARGS_MAX];
	struct rdma *rdma = arg;
	struct program server;
	int ret;

	/* a port that was used lately is not free at once */
	if (++rdma->port >= PORT_FIRST + PORTS)
		rdma->port = PORT_FIRST;
	program_args(rdma, words, argv, SIDE_FAR, count);
	ret = program_start(&server, argv, rdma->run->cpu[1]);
	if (!ret)
		ret = server_await(rdma, &server);
	if (ret)
		snprintf(rdma->error, sizeof(rdma->error), "%s: nobody listens at port %u",
			 argv[0], rdma->port);
	else
		ret = client_run(rdma, count, ns);
	if (!ret)
		program_end(&server);
	program_kill(&server);
	return ret;
}
