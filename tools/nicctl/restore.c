// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore.c - nicctl restore: make the devices that a file asks for
 *
 * What is there already as wanted is left alone. The whole file is read and
 * compared before anything changes; when the driver then refuses something, or a
 * signal is to end it, what was made goes again and models that were changed come
 * back. One runs at a time: else each would undo what the other relies on.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "nicctl.h"
#include "plan.h"

/* No list of devices is longer */
#define FILE_MAX	(1U << 20)

/* Of root alone, so that nobody else can keep it */
#define LOCK		"/run/dmanic-restore.lock"

/**
 * struct restore - one run of it
 * @ctl: asks the driver
 * @path: of the file, for messages
 * @plan: what there is to be
 * @before: what there was
 * @changed: of @before, models that were changed
 * @made: of @plan->fabric, those that were made
 * @signals: that end it, and wait until it can be ended
 */
struct restore {
	struct nicctl *ctl;
	const char *path;
	struct plan plan;
	struct devices before;
	bool *changed;
	bool *made;
	sigset_t signals;
};

/* ---- the file ---- */

static char *read_stream(FILE *file)
{
	char *text = calloc(1, FILE_MAX + 1);
	size_t length;

	if (!text)
		return NULL;
	length = fread(text, 1, FILE_MAX + 1, file);
	if (ferror(file) || length > FILE_MAX || strlen(text) != length) {
		if (!ferror(file))
			errno = length > FILE_MAX ? EFBIG : EINVAL;
		free(text);
		return NULL;
	}
	return text;
}

static char *read_file(const char *path)
{
	FILE *file;
	char *text;

	if (!strcmp(path, "-"))
		return read_stream(stdin);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	text = read_stream(file);
	fclose(file);
	return text;
}

static int read_plan(struct restore *restore)
{
	struct plan *plan = &restore->plan;
	char *text = read_file(restore->path);
	int ret;

	if (!text)
		return nicctl_fail(restore->ctl, "restore",
				   "cannot read %s: %s", restore->path,
				   errno == EINVAL ? "it is no text" :
						     strerror(errno));
	ret = plan_parse(plan, text);
	free(text);
	if (ret)
		return nicctl_fail(restore->ctl, "restore",
				   "%s:%u: %s; nothing was changed",
				   restore->path, plan->line, plan->error);
	return EXIT_SUCCESS;
}

/* ---- what there is ---- */

static bool is_of(const struct device *device, const struct plan_fabric *fabric)
{
	return !strcmp(device->fabric, fabric->prefix);
}

static size_t count_of(const struct restore *restore,
		       const struct plan_fabric *fabric)
{
	size_t i, n = 0;

	for (i = 0; i < restore->before.n; i++)
		n += is_of(&restore->before.device[i], fabric);
	return n;
}

/* Every difference that only the user can settle is told */
static int check(struct restore *restore)
{
	const struct plan_fabric *fabric = restore->plan.fabric;
	const struct plan_fabric *end = fabric + restore->plan.n;
	int status = EXIT_SUCCESS;
	const char *differs, *kind;

	for (; fabric < end; fabric++) {
		if (!count_of(restore, fabric))
			continue;
		differs = plan_fabric_differs(fabric, &restore->before);
		if (!differs)
			continue;
		kind = fabric->nodes ? "fabric " : "";
		status = nicctl_fail(restore->ctl, "restore",
				     "%s:%u: %s%s is there with another %s; delete it first (nicctl dev del %s%s), or save what there is; nothing was changed",
				     restore->path, fabric->line, kind, fabric->prefix,
				     differs, kind, fabric->prefix);
	}
	return status;
}

/* ---- nobody in between ---- */

/* What the caller ignores or blocks (nohup, a job of a shell) ends nothing here */
static void signals_hold(struct restore *restore)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction action;
	sigset_t blocked;
	size_t i;

	sigemptyset(&restore->signals);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (!sigismember(&blocked, ends[i]) &&
		    !sigaction(ends[i], NULL, &action) &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&restore->signals, ends[i]);
	sigprocmask(SIG_BLOCK, &restore->signals, NULL);
}

/* One that came ends it here */
static void signals_let_go(const struct restore *restore)
{
	sigprocmask(SIG_UNBLOCK, &restore->signals, NULL);
}

/* Has one come? As devices_change(): 0, or -errno and why */
static int check_signals(struct restore *restore)
{
	struct nl *nl = &restore->ctl->nl;
	sigset_t waiting;
	int signal;

	sigpending(&waiting);
	for (signal = 1; signal < NSIG; signal++) {
		if (sigismember(&restore->signals, signal) != 1 ||
		    sigismember(&waiting, signal) != 1)
			continue;
		snprintf(nl->error, sizeof(nl->error), "ended by a signal (%s)",
			 strsignal(signal));
		return -EINTR;
	}
	return 0;
}

/* 0, or an exit status. The lock goes with the process. */
static int lock(struct restore *restore)
{
	int fd = open(LOCK, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int ret;

	/* Whom the driver does not obey anyway: it says so */
	if (fd < 0 && errno == EACCES && geteuid())
		return EXIT_SUCCESS;
	if (fd < 0)
		return nicctl_fail(restore->ctl, "restore",
				   "cannot open %s: %s; nothing was changed",
				   LOCK, strerror(errno));
	do
		ret = flock(fd, LOCK_EX | LOCK_NB);
	while (ret && errno == EINTR);
	if (!ret)
		return EXIT_SUCCESS;
	ret = errno;
	close(fd);
	if (ret != EWOULDBLOCK)
		return nicctl_fail(restore->ctl, "restore",
				   "cannot lock %s: %s; nothing was changed",
				   LOCK, strerror(ret));
	return nicctl_fail(restore->ctl, "restore",
			   "another nicctl restore is at work; try again when it has ended; nothing was changed");
}

/* ---- changing ---- */

/* As devices_change(), unless a signal is to end all this */
static int change(struct restore *restore, uint8_t command,
		  const struct request *request)
{
	int ret = check_signals(restore);

	return ret ? ret : devices_change(&restore->ctl->nl, command, request);
}

static int set_model(struct restore *restore, const char *name,
		     const struct request *model)
{
	struct request request = *model;

	request.name = name;
	request.fabric = NULL;
	return change(restore, DMANIC_GENL_CMD_DEV_SET, &request);
}

static bool same_request(const struct request *a, const struct request *b)
{
	return a->given == b->given && !strcmp(a->model, b->model) &&
	       !memcmp(a->number, b->number, sizeof(a->number));
}

/* What differs from how the node was made */
static int make_node(struct restore *restore, const struct plan_fabric *fabric,
		     unsigned int id)
{
	const struct plan_node *node = &fabric->node[id];
	char name[DMANIC_NAME_MAX + 12];
	struct request request = { .name = name };

	snprintf(name, sizeof(name), "%s%u", fabric->prefix, id);
	if (!node->there)
		return change(restore, DMANIC_GENL_CMD_DEV_DEL, &request);
	if (same_request(&node->model, &fabric->model))
		return 0;
	return set_model(restore, name, &node->model);
}

static int make_fabric(struct restore *restore, size_t index)
{
	const struct plan_fabric *fabric = &restore->plan.fabric[index];
	struct request request = fabric->model;
	unsigned int id;
	int ret;

	request.name = fabric->prefix;
	if (fabric->nodes) {
		request.type = "loop";
		request.given |= KEYWORD_BIT(KEYWORD_NODES);
		request.number[KEYWORD_NODES] = fabric->nodes;
	}
	ret = change(restore, DMANIC_GENL_CMD_DEV_NEW, &request);
	if (ret)
		return ret;
	restore->made[index] = true;
	for (id = 0; id < fabric->nodes && !ret; id++)
		ret = make_node(restore, fabric, id);
	return ret;
}

static int change_fabric(struct restore *restore,
			 const struct plan_fabric *fabric)
{
	const struct request *model;
	const struct device *device;
	size_t i;
	int ret;

	for (i = 0; i < restore->before.n; i++) {
		device = &restore->before.device[i];
		if (!is_of(device, fabric) || !fabric->nodes)
			continue;
		model = &fabric->node[device->number[DMANIC_A_NODE]].model;
		if (plan_model_is(model, device))
			continue;
		ret = set_model(restore, device->name, model);
		if (ret)
			return ret;
		restore->changed[i] = true;
	}
	return 0;
}

/* How many changes there were, or -1 when not all could be undone */
static int undo(struct restore *restore)
{
	struct request request = { .given = KEYWORD_BIT(KEYWORD_FORCE) };
	struct nl *nl = &restore->ctl->nl;
	const struct device *device;
	struct request model;
	int done = 0, ret = 0;
	size_t i;

	for (i = restore->plan.n; i-- > 0;) {
		if (!restore->made[i])
			continue;
		request.fabric = restore->plan.fabric[i].prefix;
		ret |= devices_change(nl, DMANIC_GENL_CMD_DEV_DEL, &request);
		done++;
	}
	for (i = 0; i < restore->before.n; i++) {
		if (!restore->changed[i])
			continue;
		device = &restore->before.device[i];
		model = plan_model_of(device);
		model.name = device->name;
		ret |= devices_change(nl, DMANIC_GENL_CMD_DEV_SET, &model);
		done++;
	}
	return ret ? -1 : done;
}

static int fail(struct restore *restore, const struct plan_fabric *fabric, int ret)
{
	const char *netdev = ret == -ENODEV ? fabric->model.netdev : NULL;
	char *why = strdup(restore->ctl->nl.error);
	int undone = undo(restore);

	nicctl_fail(restore->ctl, "restore", "%s:%u: %s: %s%s%s%s; %s", restore->path,
		    fabric->line, fabric->prefix, netdev ? "netdev " : "",
		    netdev ? netdev : "", netdev ? ": " : "", why ? why : "out of memory",
		    undone > 0 ? "what was done before is undone" :
		    !undone ? "nothing was changed" :
			      "what was done before could not be undone");
	if (undone < 0)
		nicctl_fail(restore->ctl, "restore", "undoing: %s",
			    restore->ctl->nl.error);
	free(why);
	return EXIT_FAILURE;
}

static int change_all(struct restore *restore)
{
	const struct plan_fabric *fabric;
	size_t i;
	int ret;

	for (i = 0; i < restore->plan.n; i++) {
		fabric = &restore->plan.fabric[i];
		if (count_of(restore, fabric))
			ret = change_fabric(restore, fabric);
		else
			ret = make_fabric(restore, i);
		/* Also after the last: who ends it has not seen it succeed */
		if (!ret)
			ret = check_signals(restore);
		if (ret)
			return fail(restore, fabric, ret);
	}
	return EXIT_SUCCESS;
}

/* ---- telling ---- */

static void tell_fabric(const struct restore *restore, size_t index)
{
	const struct plan_fabric *fabric = &restore->plan.fabric[index];
	size_t i, models = 0;
	char text[64];

	for (i = 0; i < restore->before.n; i++)
		models += is_of(&restore->before.device[i], fabric) &&
			  restore->changed[i];
	if (restore->made[index])
		snprintf(text, sizeof(text), "made");
	else if (models)
		snprintf(text, sizeof(text), "models changed: %zu", models);
	else
		snprintf(text, sizeof(text), "left as it is");
	report_check(restore->ctl->report, fabric->prefix, true, "%s", text);
	if (!restore->ctl->json)
		printf("fabric %s: %s\n", fabric->prefix, text);
}

static int restore_all(struct restore *restore)
{
	struct nicctl *ctl = restore->ctl;
	int status;
	size_t i;

	status = lock(restore);
	if (status)
		return status;
	if (devices_get(&ctl->nl, DMANIC_GENL_CMD_DEV_GET, NULL, NULL,
			&restore->before))
		return nicctl_fail(ctl, "restore", "%s", ctl->nl.error);
	restore->made = calloc(restore->plan.n + 1, sizeof(bool));
	restore->changed = calloc(restore->before.n + 1, sizeof(bool));
	if (!restore->made || !restore->changed)
		return nicctl_fail(ctl, "restore", "out of memory");
	status = check(restore);
	if (!status) {
		signals_hold(restore);
		status = change_all(restore);
		signals_let_go(restore);
	}
	for (i = 0; !status && i < restore->plan.n; i++)
		tell_fabric(restore, i);
	return status;
}

int restore_run(struct nicctl *ctl)
{
	struct restore restore = { .ctl = ctl };
	int status;

	if (args_take_exactly(&ctl->args, "help"))
		return help_topic(ctl, "restore");
	restore.path = args_take(&ctl->args, "the name of the file");
	if (!restore.path || args_end(&ctl->args))
		return nicctl_usage(ctl, "restore");
	status = read_plan(&restore);
	if (!status)
		status = nicctl_connect(ctl);
	if (!status)
		status = restore_all(&restore);
	plan_free(&restore.plan);
	devices_free(&restore.before);
	free(restore.made);
	free(restore.changed);
	return status;
}
