// SPDX-License-Identifier: GPL-2.0-only
/*
 * harness.c - runs the tests of a program one after the other
 *
 * Owns: the list of tests, the verdict of the one that runs (in memory shared
 * with it), the time limit. A test's whole process group is killed when it
 * ends, so nothing of it runs beside the next one.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Verdict of the running test, shared between it and the parent */
struct verdict {
	unsigned int failures;
	bool skipped;
	char reason[256];
};

struct count {
	unsigned int all;
	unsigned int passed;
	unsigned int failed;
	unsigned int skipped;
};

sigjmp_buf harness_leave;

static struct harness_fixture *fixtures;
static struct verdict *verdict;
static pid_t test_pid;
static pthread_t test_thread;
static bool in_teardown;
static __thread const char *caller_file;
static __thread int caller_line;

void harness_add_fixture(struct harness_fixture *fixture)
{
	struct harness_fixture **end = &fixtures;

	while (*end)
		end = &(*end)->next;
	*end = fixture;
}

void harness_add_variant(struct harness_fixture *fixture,
			 struct harness_variant *variant)
{
	struct harness_variant **end = &fixture->variants;

	while (*end)
		end = &(*end)->next;
	*end = variant;
}

void harness_add_test(struct harness_fixture *fixture,
		      struct harness_test *test)
{
	struct harness_test **end = &fixture->tests;

	while (*end)
		end = &(*end)->next;
	*end = test;
	test->fixture = fixture;
}

static unsigned int number_of(const char *text, unsigned int usual)
{
	long number = text ? strtol(text, NULL, 10) : usual;

	return number > 0 && number < 10000 ? (unsigned int)number : usual;
}

unsigned int harness_slow(void)
{
	/* SCALE is what run-all multiplies its limit with. */
	return number_of(getenv("DMANIC_TEST_SLOW") ?: getenv("SCALE"), 1);
}

unsigned int harness_load(unsigned int full)
{
	unsigned int percent = number_of(getenv("DMANIC_TEST_LOAD") ?:
					 getenv("LOAD"), 100);
	__u64 rounds = (__u64)full * percent / 100;

	return rounds ? (unsigned int)rounds : 1;
}

/* The test's thread is here: failures may now leave by harness_leave. */
void harness_begin(void)
{
	test_pid = getpid();
	test_thread = pthread_self();
}

/* An ASSERT in a teardown has nowhere to go but out. */
void harness_teardown(void)
{
	in_teardown = true;
}

bool harness_failed(void)
{
	return __atomic_load_n(&verdict->failures, __ATOMIC_RELAXED);
}

/* Remember where a helper was called from, for its failures. */
bool harness_caller(const char *file, int line)
{
	caller_file = file;
	caller_line = line;
	return true;
}

static void put_line(const char *text)
{
	char line[700];
	int length = snprintf(line, sizeof(line), "# %s\n", text);

	if (length >= (int)sizeof(line))
		length = sizeof(line) - 1;
	/* One call a line, so that processes do not mix theirs. */
	if (write(STDOUT_FILENO, line, length) < 0)
		_exit(1);
}

void harness_note(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	put_line(text);
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void harness_fail(const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list arguments;
	int at;

	at = snprintf(text, sizeof(text), "%s:%d: ", base(file), line);
	va_start(arguments, format);
	at += vsnprintf(text + at, sizeof(text) - at, format, arguments);
	va_end(arguments);
	if (caller_file && caller_file != file && at < (int)sizeof(text))
		snprintf(text + at, sizeof(text) - at, " (last call at %s:%d)",
			 base(caller_file), caller_line);
	put_line(text);
	__atomic_fetch_add(&verdict->failures, 1, __ATOMIC_RELAXED);
}

void harness_compare(const char *file, int line, const char *left,
		     const char *operator, const char *right, long long a,
		     long long b)
{
	harness_fail(file, line,
		     "expected %s %s %s: %lld (%#llx) and %lld (%#llx)", left,
		     operator, right, a, a, b, b);
}

void harness_abort(void)
{
	if (getpid() != test_pid || in_teardown)
		_exit(1);
	if (!pthread_equal(pthread_self(), test_thread))
		pthread_exit(NULL);
	siglongjmp(harness_leave, 1);
}

void harness_skip(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, arguments);
	va_end(arguments);
	verdict->skipped = true;
	harness_abort();
}

static void run_child(const struct harness_test *test, const void *variant)
{
	setpgid(0, 0);
	/* A program that is ended leaves no case that keeps the module busy */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	test->run(variant);
	fflush(NULL);
	_exit(harness_failed() ? 1 : 0);
}

/* Where the threads of a test that hangs are, as the kernel sees it */
static void show_stacks(pid_t child)
{
	char pattern[64], line[256];
	glob_t found;
	size_t i;
	FILE *file;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/stack", child);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		harness_note("%s", found.gl_pathv[i]);
		file = fopen(found.gl_pathv[i], "re");
		if (!file)
			continue;
		while (fgets(line, sizeof(line), file)) {
			line[strcspn(line, "\n")] = 0;
			harness_note("  %s", line);
		}
		fclose(file);
	}
	globfree(&found);
}

static bool wait_child(pid_t child, int *status, unsigned int seconds)
{
	struct timespec tick = { .tv_nsec = 100000000 };
	struct timespec start, now;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		if (waitpid(child, status, WNOHANG) == child)
			return true;
		sigtimedwait(&chld, NULL, &tick);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - start.tv_sec > (time_t)seconds)
			return false;
	}
}

/* Wait for @child; what stopped it goes to the verdict. */
static void judge_child(pid_t child, unsigned int seconds)
{
	int status = 0;

	if (!wait_child(child, &status, seconds * harness_slow())) {
		harness_note("time limit of %u s", seconds * harness_slow());
		show_stacks(child);
		verdict->failures++;
		verdict->skipped = false;
		kill(-child, SIGKILL);
		if (!wait_child(child, &status, 20 * harness_slow())) {
			harness_note("cannot be killed");
			show_stacks(child);
			printf("Bail out! a test cannot be killed\n");
			exit(1);
		}
	} else if (WIFSIGNALED(status)) {
		harness_note("died of signal %d (%s)", WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
		verdict->failures++;
	} else if (WEXITSTATUS(status) && !verdict->skipped &&
		   !verdict->failures) {
		harness_note("exit status %d", WEXITSTATUS(status));
		verdict->failures++;
	}
	kill(-child, SIGKILL);
}

static void run_test(const struct harness_test *test,
		     const struct harness_variant *variant, const char *name,
		     const struct harness_program *program,
		     struct count *count)
{
	sigset_t chld, old;
	const char *left;
	pid_t child;

	memset(verdict, 0, sizeof(*verdict));
	in_teardown = false;
	fflush(NULL);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	child = fork();
	if (child < 0) {
		printf("Bail out! fork: %s\n", strerror(errno));
		exit(1);
	}
	if (!child) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		run_child(test, variant ? variant->data : NULL);
	}
	setpgid(child, child);
	judge_child(child, test->seconds);
	sigprocmask(SIG_SETMASK, &old, NULL);

	left = program->after ? program->after(child) : NULL;
	if (left) {
		harness_note("left behind: %s", left);
		verdict->failures++;
	}
	count->all++;
	if (verdict->failures) {
		printf("not ok %u %s\n", count->all, name);
		count->failed++;
	} else if (verdict->skipped) {
		printf("ok %u %s # SKIP %s\n", count->all, name,
		       verdict->reason);
		count->skipped++;
	} else {
		printf("ok %u %s\n", count->all, name);
		count->passed++;
	}
	fflush(NULL);
}

/* Call @f for every test and variant that one of the patterns fits. */
static void for_each_test(char **patterns, void *data,
			  void (*f)(const struct harness_test *test,
				    const struct harness_variant *variant,
				    const char *name, void *data))
{
	struct harness_variant plain = { .name = NULL };
	const struct harness_fixture *fixture;
	const struct harness_variant *variant;
	const struct harness_test *test;
	char name[160], **pattern;

	for (fixture = fixtures; fixture; fixture = fixture->next)
	for (test = fixture->tests; test; test = test->next)
	for (variant = fixture->variants ?: &plain; variant;
	     variant = variant->next) {
		snprintf(name, sizeof(name), "%s__%s%s%s", fixture->name,
			 test->name, variant->name ? "." : "",
			 variant->name ?: "");
		for (pattern = patterns; *pattern; pattern++)
			if (!fnmatch(*pattern, name, 0))
				break;
		if (patterns[0] && !*pattern)
			continue;
		f(test, variant->data ? variant : NULL, name, data);
	}
}

static void count_one(const struct harness_test *test,
		      const struct harness_variant *variant, const char *name,
		      void *data)
{
	(void)test;
	(void)variant;
	(void)name;
	++*(unsigned int *)data;
}

static void list_one(const struct harness_test *test,
		     const struct harness_variant *variant, const char *name,
		     void *data)
{
	(void)test;
	(void)variant;
	(void)data;
	puts(name);
}

/* The first pattern that fits no test; NULL: there is none */
static const char *wrong_pattern(char **patterns)
{
	char *one[2] = { NULL, NULL };
	unsigned int tests;

	for (; *patterns; patterns++) {
		one[0] = *patterns;
		tests = 0;
		for_each_test(one, &tests, count_one);
		if (!tests)
			return *patterns;
	}
	return NULL;
}

struct run {
	const struct harness_program *program;
	struct count count;
};

static void run_one(const struct harness_test *test,
		    const struct harness_variant *variant, const char *name,
		    void *data)
{
	struct run *run = data;

	run_test(test, variant, name, run->program, &run->count);
}

int harness_main(int argc, char **argv, const struct harness_program *program)
{
	struct run run = { .program = program };
	unsigned int tests = 0;
	const char *reason;

	if (argc > 1 && argv[1][0] == '-') {
		if (strcmp(argv[1], "-l") != 0) {
			fprintf(stderr, "usage: %s [-l] [PATTERN...]\n",
				argv[0]);
			return 2;
		}
		for_each_test(argv + 2, NULL, list_one);
		return 0;
	}
	/* Also where the tests cannot run and would be skipped */
	reason = wrong_pattern(argv + 1);
	if (reason) {
		fprintf(stderr, "%s: no test matches \"%s\"; %s -l lists them\n",
			base(argv[0]), reason, argv[0]);
		return 2;
	}
	verdict = mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (verdict == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	printf("KTAP version 1\n");
	reason = program->start ? program->start() : NULL;
	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return 4;
	}
	for_each_test(argv + 1, &tests, count_one);
	printf("1..%u\n", tests);
	for_each_test(argv + 1, &run, run_one);
	if (program->stop)
		program->stop();
	printf("# Totals: pass:%u fail:%u skip:%u\n", run.count.passed,
	       run.count.failed, run.count.skipped);
	if (run.count.failed)
		return 1;
	return run.count.passed || !run.count.skipped ? 0 : 4;
}
