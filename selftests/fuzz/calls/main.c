// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - fuzz-calls: how long, from what seed, with which devices
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define KEPT_MAX	4096U
#define HANGS_MS	120000	/* no program takes so long, even on a slow machine */
#define LOOK_EVERY	32U	/* programs */
#define TELL_EVERY	300	/* seconds */
#define PINNED_MAX	(64UL << 20)
#define CORPORA		8U

static const char usage[] =
"usage: fuzz-calls --device NAME... [OPTION...]\n"
"Calls the driver in ways that no program would, guided by what code that reaches.\n"
"On a machine where nothing else matters; as root.\n"
"\n"
"  --device NAME    of the devices, which are in use then (repeat it)\n"
"  --setup COMMAND  makes them; called when one is missing\n"
"  --calls N        how many; 0: no end (100000)\n"
"  --time SECONDS   at most so long; 0: no end (0)\n"
"  --seed N         what follows from it are the programs, as far as they do not depend\n"
"                   on what was reached (1)\n"
"  --user N         every other program is that user's, without rights (65534)\n"
"  --corpus FOLDER  programs to begin with, the short ones first (repeat it)\n"
"  --keep FOLDER    where programs go that reach something new, but for those of the first\n"
"                   corpus; named by how many places they were the first to reach\n"
"  --replay FILE    only that program, --calls times\n"
"  --tell           what becomes of each call\n"
"  --cursor FILE    the program at hand, and how many calls went\n"
"                   before it, for who finds the machine dead\n";

/**
 * struct fuzz - all of it
 * @state: what a program begins with
 * @kept: programs that reached something new
 * @nr_kept: of them
 * @nr_first: of them, those of the corpora
 * @reached: places, see cover_bytes()
 * @covers: this kernel tells
 * @setup: command that makes devices
 * @corpus: folders
 * @nr_corpora: of them
 * @keep: folder for new programs, or NULL
 * @cursor: file, or NULL
 * @user: every other program's
 * @replay: file of the only program, or NULL
 * @wanted: calls; 0: no end
 * @seconds: at most; 0: no end
 * @seed: of the programs
 * @calls: done
 * @programs: done
 */
struct fuzz {
	struct state state;
	struct program *kept;
	uint32_t nr_kept;
	uint32_t nr_first;
	void *reached;
	bool covers;
	const char *setup;
	const char *corpus[CORPORA];
	uint32_t nr_corpora;
	const char *keep;
	const char *cursor;
	uid_t user;
	const char *replay;
	uint64_t wanted;
	double seconds;
	uint64_t seed;
	uint64_t calls;
	uint64_t programs;
};

static struct fuzz fuzz = { .user = 65534, .wanted = 100000, .seed = 1 };

static void die(const char *what)
{
	fprintf(stderr, "fuzz-calls: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void bad(const char *what, const struct program *program)
{
	printf("# %s; the program, for --replay:\n", what);
	program_print(program, stdout);
	fflush(stdout);
	exit(1);
}

/* ---- the machine ---- */

/* Of what the kernel does after it found something wrong */
static bool tainted(void)
{
	static long before = -1;
	FILE *file = fopen("/proc/sys/kernel/tainted", "re");
	long now = 0;

	if (!file || fscanf(file, "%ld", &now) != 1)
		now = 0;
	if (file)
		fclose(file);
	if (before < 0)
		before = now;
	return now != before;
}

static void devices_there(void)
{
	char path[64];
	uint32_t i;

	for (i = 0; i < fuzz.state.nr_devices; i++) {
		snprintf(path, sizeof(path), "/dev/dmanic/%s", fuzz.state.device[i]);
		if (!access(path, F_OK) && !chmod(path, 0666))
			continue;
		if (fuzz.setup && system(fuzz.setup) < 0)
			die("system");
		chmod(path, 0666);
	}
}

/* What a program asked of the control plane is undone, for the next one is to find devices */
static void restore(const struct program *program)
{
	uint32_t asks, i;

	call_find("netlink", &asks);
	for (i = 0; i < program->nr; i++) {
		if (program->call[i].which == asks) {
			special_netlink_restore();
			devices_there();
			return;
		}
	}
}

/* ---- one program ---- */

static void child(const struct program *program)
{
	struct rlimit pinned = { PINNED_MAX, PINNED_MAX };

	if (fuzz.programs % 2) {
		setrlimit(RLIMIT_MEMLOCK, &pinned);
		if (setgid(fuzz.user) || setuid(fuzz.user))
			_exit(2);
	}
	fuzz.state.first_fd = dup(STDIN_FILENO);
	close(fuzz.state.first_fd);
	cover_start();
	run_program(&fuzz.state, program);
	fflush(stdout);
	_exit(0);
}

/* Return: what new places it reached */
static uint32_t run(const struct program *program)
{
	struct pollfd ended = { .events = POLLIN };
	uint32_t fresh;
	int status;
	pid_t pid;

	if (fuzz.cursor) {
		FILE *file = fopen(fuzz.cursor, "we");

		if (file) {
			fprintf(file, "# after %llu calls\n", (unsigned long long)fuzz.calls);
			program_print(program, file);
			fclose(file);
		}
	}
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		child(program);
	ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (poll(&ended, 1, HANGS_MS) != 1) {
		kill(pid, SIGKILL);
		bad(poll(&ended, 1, HANGS_MS) == 1 ? "it took too long" :
						    "it hangs, and cannot be killed", program);
	}
	close(ended.fd);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	fresh = cover_stop(fuzz.reached);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		bad(strsignal(WTERMSIG(status)), program);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		bad("it could not become the user of --user", program);
	fuzz.calls = __atomic_load_n(fuzz.state.called, __ATOMIC_RELAXED);
	if (fuzz.programs % 2 == 0)
		restore(program);
	fuzz.programs++;
	if (!(fuzz.programs % LOOK_EVERY)) {
		if (tainted())
			bad("the kernel complained: dmesg tells; it was this program or one shortly before",
			    program);
		devices_there();
	}
	return fresh;
}

/* ---- those that are kept ---- */

static void keep_file(const struct program *program, uint32_t fresh)
{
	static uint32_t nr;
	char path[512];
	FILE *file;

	if (!fuzz.keep)
		return;
	/* Those of an earlier run stay */
	do {
		snprintf(path, sizeof(path), "%s/%05u-%05u", fuzz.keep, fresh, nr++);
		file = fopen(path, "wxe");
	} while (!file && errno == EEXIST);
	if (!file)
		die(path);
	program_print(program, file);
	fclose(file);
}

static void keep(const struct program *program, uint32_t fresh)
{
	if (fuzz.nr_kept == KEPT_MAX)
		fuzz.kept[grow_below(KEPT_MAX)] = *program;
	else
		fuzz.kept[fuzz.nr_kept++] = *program;
	keep_file(program, fresh);
}

static void load(const char *path, struct program *program)
{
	FILE *file = fopen(path, "re");
	bool ok;

	if (!file)
		die(path);
	ok = program_read(program, file);
	fclose(file);
	if (!ok) {
		fprintf(stderr, "fuzz-calls: %s: is no program\n", path);
		exit(1);
	}
}

static int shorter_first(const void *one, const void *other)
{
	const struct program *a = one, *b = other;

	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

static void load_folder(const char *folder)
{
	struct program *first = &fuzz.kept[fuzz.nr_kept];
	struct dirent **entries;
	char path[512];
	int i, nr = scandir(folder, &entries, NULL, alphasort);

	if (nr < 0)
		die(folder);
	for (i = 0; i < nr; i++) {
		if (*entries[i]->d_name != '.' && fuzz.nr_kept < KEPT_MAX) {
			snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
			load(path, &fuzz.kept[fuzz.nr_kept++]);
		}
		free(entries[i]);
	}
	free(entries);
	qsort(first, &fuzz.kept[fuzz.nr_kept] - first, sizeof(*first), shorter_first);
}

static void load_all(void)
{
	uint32_t i, fresh, known = 0;

	for (i = 0; i < fuzz.nr_corpora; i++) {
		load_folder(fuzz.corpus[i]);
		if (!i)
			known = fuzz.nr_kept;
	}
	fuzz.nr_first = fuzz.nr_kept;
	for (i = 0; i < fuzz.nr_first; i++) {
		fresh = run(&fuzz.kept[i]);
		if (fresh && i >= known)
			keep_file(&fuzz.kept[i], fresh);
	}
}

/* Short ones are done sooner, and those we began with are there for a reason */
static const struct program *any_kept(void)
{
	const struct program *one = &fuzz.kept[grow_below(fuzz.nr_kept)], *other;

	if (fuzz.nr_first && !grow_below(4))
		return &fuzz.kept[grow_below(fuzz.nr_first)];
	other = &fuzz.kept[grow_below(fuzz.nr_kept)];
	return other->nr < one->nr ? other : one;
}

static void next(struct program *program)
{
	if (!fuzz.nr_kept || !grow_below(4)) {
		grow_make(program);
		return;
	}
	*program = *any_kept();
	grow_change(program, any_kept());
}

/* ---- the whole ---- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void begin(void)
{
	fuzz.covers = cover_open();
	if (!fuzz.covers)
		puts("# this kernel tells no coverage: the programs are blind");
	if (!special_netlink_begin())
		die("no answer from the driver; modprobe dmanic");
	fuzz.kept = calloc(KEPT_MAX, sizeof(*fuzz.kept));
	fuzz.reached = calloc(1, cover_bytes());
	fuzz.state.memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fuzz.state.called = mmap(NULL, sizeof(*fuzz.state.called), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!fuzz.kept || !fuzz.reached || fuzz.state.memory == MAP_FAILED ||
	    fuzz.state.called == MAP_FAILED)
		die("memory");
	devices_there();
	tainted();
}

static void wrong_usage(void)
{
	fputs(usage, stderr);
	exit(2);
}

static void options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "setup", required_argument, NULL, 's' },
		{ "calls", required_argument, NULL, 'n' },
		{ "time", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 'e' },
		{ "user", required_argument, NULL, 'u' },
		{ "corpus", required_argument, NULL, 'c' },
		{ "keep", required_argument, NULL, 'k' },
		{ "replay", required_argument, NULL, 'r' },
		{ "tell", no_argument, NULL, 'l' },
		{ "cursor", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (option) {
		case 'd':
			if (fuzz.state.nr_devices < DEVICES)
				fuzz.state.device[fuzz.state.nr_devices++] = optarg;
			break;
		case 's':
			fuzz.setup = optarg;
			break;
		case 'n':
			fuzz.wanted = strtoull(optarg, NULL, 0);
			break;
		case 't':
			fuzz.seconds = strtod(optarg, NULL);
			break;
		case 'e':
			fuzz.seed = strtoull(optarg, NULL, 0);
			break;
		case 'u':
			fuzz.user = (uid_t)strtoul(optarg, NULL, 0);
			break;
		case 'c':
			if (fuzz.nr_corpora == CORPORA)
				wrong_usage();
			fuzz.corpus[fuzz.nr_corpora++] = optarg;
			break;
		case 'k':
			fuzz.keep = optarg;
			break;
		case 'r':
			fuzz.replay = optarg;
			break;
		case 'l':
			fuzz.state.tells = true;
			break;
		case 'o':
			fuzz.cursor = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			wrong_usage();
		}
	}
	if (!fuzz.state.nr_devices || optind != argc)
		wrong_usage();
}

/* For who waits an hour; @at: when it is told */
static void progress(double *at)
{
	double now = seconds();

	if (now < *at)
		return;
	*at = now + TELL_EVERY;
	fprintf(stderr, "# so far %llu calls, %u places\n", (unsigned long long)fuzz.calls,
		cover_count(fuzz.reached));
}

int main(int argc, char **argv)
{
	static struct program program;
	uint64_t known;
	double began, tell;
	uint32_t fresh;

	options(argc, argv);
	setlinebuf(stdout);
	grow_seed(fuzz.seed);
	begin();
	if (fuzz.replay)
		load(fuzz.replay, &program);
	else
		load_all();
	known = fuzz.programs;
	/* What is known takes its time, whatever is left for what is new */
	began = seconds();
	tell = began + TELL_EVERY;
	while ((!fuzz.wanted || fuzz.calls < fuzz.wanted) &&
	       (fuzz.seconds <= 0 || seconds() - began < fuzz.seconds)) {
		if (!fuzz.replay)
			next(&program);
		fresh = run(&program);
		if (fresh && !fuzz.replay)
			keep(&program, fresh);
		progress(&tell);
	}
	if (tainted())
		bad("the kernel complained: dmesg tells; it was one of the last programs", &program);
	printf("%llu calls, %llu programs, %llu of them new, %u kept, %u places reached, %.0f s\n",
	       (unsigned long long)fuzz.calls, (unsigned long long)fuzz.programs,
	       (unsigned long long)(fuzz.programs - known), fuzz.nr_kept,
	       cover_count(fuzz.reached), seconds() - began);
	return 0;
}
