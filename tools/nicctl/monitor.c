// SPDX-License-Identifier: GPL-2.0-only
/*
 * monitor.c - nicctl monitor: a line for each event, until a signal
 *
 * Two connections: one hears events, the other asks for all devices when some
 * were lost. The signals that end it are blocked and read from a descriptor,
 * so none comes between looking and sleeping.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "nicctl.h"
#include "tools/common/clock.h"
#include "tools/common/size.h"

#define TIMEOUT_NONE	UINT64_MAX
#define STAMP_TEXT	40

/**
 * struct monitor - one run of it
 * @ctl: asks for devices
 * @json: an object a line
 * @events: hears
 * @wanted: which devices
 * @count: end after so many events, 0: never
 * @seen: so many there were
 * @lost: events were, and those before them are still to be read
 * @end_ns: of the clock, or TIMEOUT_NONE
 * @signals: says that we are to end
 */
struct monitor {
	struct nicctl *ctl;
	bool json;
	struct nl events;
	struct request wanted;
	uint64_t count;
	uint64_t seen;
	bool lost;
	uint64_t end_ns;
	int signals;
};

/* ---- lines ---- */

/* "2026-01-31T23:59:59.123Z"; returns @text[STAMP_TEXT] */
static char *stamp(char *text)
{
	struct timespec now;
	char seconds[24];
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, STAMP_TEXT, "%s.%03uZ", seconds,
		 (unsigned int)(now.tv_nsec / 1000000) % 1000);
	return text;
}

static void print_device(const struct monitor *monitor,
			 const struct device *device)
{
	const uint64_t *number = device->number;
	const char *event = device_event(device);
	char time[STAMP_TEXT];
	struct cJSON *line;

	if (monitor->json) {
		line = line_create();
		report_add_text(line, "time", stamp(time));
		report_add_text(line, "event", event);
		show_members(line, device);
		if (!strncmp(event, "peer-", 5))
			report_add_count(line, "peer",
					 device->peer[DMANIC_PEER_A_NODE]);
		line_print(line, stdout);
		return;
	}
	printf("%s %s: %s, state %s, %s node %" PRIu64 " of %" PRIu64
	       " in fabric %s, incarnation %" PRIu64, stamp(time),
	       device->name, event, device_state(device), device->type,
	       number[DMANIC_A_NODE], number[DMANIC_A_NODES], device->fabric,
	       number[DMANIC_A_INCARNATION]);
	if (device->peer[DMANIC_PEER_A_NODE] || !strncmp(event, "peer-", 5))
		printf(", peer %" PRIu64, device->peer[DMANIC_PEER_A_NODE]);
	if (*device->model_name)
		printf(", model %s, scale %.7g", device->model_name,
		       device_scale(device));
	putchar('\n');
}

static void print_lost(const struct monitor *monitor)
{
	char time[STAMP_TEXT];
	struct cJSON *line;

	if (!monitor->json) {
		printf("%s events were lost; the devices there are now:\n",
		       stamp(time));
		return;
	}
	line = line_create();
	report_add_text(line, "time", stamp(time));
	report_add_text(line, "event", "lost");
	line_print(line, stdout);
}

/* ---- events ---- */

static bool is_wanted(const struct monitor *monitor,
		      const struct device *device)
{
	const struct request *wanted = &monitor->wanted;

	if (wanted->name)
		return !strcmp(device->name, wanted->name);
	return !wanted->fabric || !strcmp(device->fabric, wanted->fabric);
}

static bool is_enough(const struct monitor *monitor)
{
	return monitor->count && monitor->seen >= monitor->count;
}

static int take_event(const struct nlmsghdr *message, void *data)
{
	struct monitor *monitor = data;
	struct device device;

	device_read(&device, message);
	if (!is_wanted(monitor, &device) || is_enough(monitor))
		return 0;
	monitor->seen++;
	print_device(monitor, &device);
	return 0;
}

/*
 * What was lost is how things came to be as they are: tell how they are. The
 * kernel drops events until those before are read, so only then.
 */
static int tell_all(struct monitor *monitor)
{
	struct devices devices = { 0 };
	size_t i;
	int ret;

	monitor->lost = false;
	print_lost(monitor);
	ret = devices_get(&monitor->ctl->nl, DMANIC_GENL_CMD_DEV_GET, NULL,
			  NULL, &devices);
	for (i = 0; !ret && i < devices.n; i++)
		if (is_wanted(monitor, &devices.device[i]))
			print_device(monitor, &devices.device[i]);
	devices_free(&devices);
	if (!ret)
		return EXIT_SUCCESS;
	return nicctl_fail(monitor->ctl, "monitor", "%s",
			   monitor->ctl->nl.error);
}

static int take_events(struct monitor *monitor)
{
	int ret = nl_events_take(&monitor->events, take_event, monitor);

	if (ret == -ENOBUFS)
		monitor->lost = true;
	else if (ret)
		return nicctl_fail(monitor->ctl, "driver dmanic", "%s",
				   monitor->events.error);
	return EXIT_SUCCESS;
}

/* ---- until the end ---- */

/* For poll(): rounded up; -1: for ever */
static int milliseconds_left(const struct monitor *monitor)
{
	uint64_t now = now_ns();

	if (monitor->end_ns == TIMEOUT_NONE)
		return -1;
	if (now >= monitor->end_ns)
		return 0;
	now = (monitor->end_ns - now + 999999) / 1000000;
	return now < 1000000 ? (int)now : 1000000;
}

static int ran_out(const struct monitor *monitor)
{
	if (!monitor->count)
		return EXIT_SUCCESS;
	return nicctl_fail(monitor->ctl, "monitor",
			   "%" PRIu64 " of %" PRIu64
			   " events came before the time was over",
			   monitor->seen, monitor->count);
}

static int listen_until_end(struct monitor *monitor)
{
	struct pollfd fds[] = {
		{ mnl_socket_get_fd(monitor->events.socket), POLLIN, 0 },
		{ monitor->signals, POLLIN, 0 },
	};
	int left, ready, status;

	while (!is_enough(monitor)) {
		left = monitor->lost ? 0 : milliseconds_left(monitor);
		ready = poll(fds, ARRAY_SIZE(fds), left);
		if (ready < 0 && errno != EINTR)
			return nicctl_fail(monitor->ctl, "monitor", "poll: %s",
					   strerror(errno));
		if (fds[1].revents)
			return EXIT_SUCCESS;
		if (ready < 0 || (!ready && left))
			continue;
		if (!ready && !monitor->lost)
			return ran_out(monitor);
		status = ready ? take_events(monitor) : tell_all(monitor);
		if (status)
			return status;
		/* Who reads our lines reads them now, or is gone */
		if (fflush(stdout))
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* It may be made later, or its name be wrong: who waits in vain is to know */
static void tell_missing(const struct monitor *monitor)
{
	const char *fabric = monitor->wanted.fabric;
	const char *name = fabric ? fabric : monitor->wanted.name;

	if (name && !nicctl_is_there(&monitor->ctl->nl, name, fabric))
		fprintf(stderr, "nicctl: monitor: there is no %s %s in this network namespace yet: waiting for it\n",
			fabric ? "fabric" : "device", name);
}

static int monitor_open(struct monitor *monitor)
{
	int status = nicctl_connect(monitor->ctl);

	if (status)
		return status;
	if (nl_open(&monitor->events) || nl_events_join(&monitor->events))
		return nicctl_fail(monitor->ctl, "driver dmanic", "%s",
				   monitor->events.error);
	tell_missing(monitor);
	/* last, so that who sees them blocked knows that we listen */
	monitor->signals = signals_open();
	if (monitor->signals < 0)
		return nicctl_fail(monitor->ctl, "monitor", "signalfd: %s",
				   strerror(errno));
	return EXIT_SUCCESS;
}

/* ---- words ---- */

static int take_limit(struct monitor *monitor, const char *name,
		      const char *(*parse)(const char *text, uint64_t *value),
		      uint64_t *value)
{
	struct args *args = &monitor->ctl->args;
	const char *text = args_take(args, name);
	const char *reason;

	if (!text)
		return -1;
	reason = parse(text, value);
	if (!reason && !*value)
		reason = "is zero";
	return reason ? args_fail(args, "%s \"%s\" %s", name, text, reason) :
			0;
}

/* What is too long for the clock is for ever */
static uint64_t end_after(uint64_t timeout_ns)
{
	uint64_t now = now_ns();

	return timeout_ns < TIMEOUT_NONE - now ? now + timeout_ns : TIMEOUT_NONE;
}

static const char *parse_count(const char *text, uint64_t *value)
{
	return count_parse(text, UINT32_MAX, value);
}

static int take_words(struct monitor *monitor)
{
	static const char *const names[] = {
		"dev", "fabric", "count", "timeout", NULL
	};
	struct args *args = &monitor->ctl->args;
	struct request *wanted = &monitor->wanted;
	uint64_t timeout;

	while (args_peek(args)) {
		switch (args_choose(args, "keyword", names)) {
		case 0:
			wanted->name = args_take(args, "the name of the device");
			if (!wanted->name)
				return -1;
			break;
		case 1:
			wanted->fabric = args_take(args, "the prefix of the fabric");
			if (!wanted->fabric)
				return -1;
			break;
		case 2:
			if (take_limit(monitor, "count", parse_count,
				       &monitor->count))
				return -1;
			break;
		case 3:
			if (take_limit(monitor, "timeout", time_parse, &timeout))
				return -1;
			monitor->end_ns = end_after(timeout);
			break;
		default:
			return -1;
		}
	}
	if (wanted->name && wanted->fabric)
		return args_fail(args, "dev and fabric exclude each other");
	return 0;
}

int monitor_run(struct nicctl *ctl)
{
	static struct monitor monitor;
	int status;

	if (args_take_exactly(&ctl->args, "help"))
		return help_topic(ctl, "monitor");
	monitor.ctl = ctl;
	monitor.json = ctl->json;
	monitor.end_ns = TIMEOUT_NONE;
	monitor.signals = -1;
	if (take_words(&monitor))
		return nicctl_usage(ctl, "monitor");
	/* lines instead of a report */
	ctl->json = false;
	status = monitor_open(&monitor);
	if (!status)
		status = listen_until_end(&monitor);
	nl_close(&monitor.events);
	if (monitor.signals >= 0)
		close(monitor.signals);
	return status;
}
