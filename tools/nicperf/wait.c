// SPDX-License-Identifier: GPL-2.0-only
/*
 * wait.c - one end of a link: how it waits
 *
 * Polling looks at shared memory and makes no system call; sleeping makes one
 * at once. (The library's own waits do first the one, then the other: good for
 * programs, not for telling the two apart.) Every wait ends.
 */
#include <errno.h>
#include <linux/dmanic.h>
#include <string.h>
#include <sys/ioctl.h>

#include "tools/common/device.h"

#include "end.h"

#define SPINS_A_LOOK	4096	/* between looks at the clock */
#define REAP_AT_ONCE	64
#define SLICE_NS	100000000ULL	/* of a sleep, between looks at abort */

/* The other side is gone, or the link pretends to be slow */
static int end_timed_out(struct end *end, const char *what)
{
	char model[DEVICE_MODEL_TEXT];

	device_ask_model(end->info.name, model);
	return end_fault(end, -ETIME, "no %s for %llu s; %s%s%s", what,
			 END_TIMEOUT_NS / 1000000000ULL,
			 *model ? "the link is slow: " : "see nicctl dev show",
			 model, *model ? " (nicctl dev show)" : "");
}

int end_submit(struct end *end, unsigned int n)
{
	uint64_t start = 0;

	while (n) {
		int taken = nic_queue_submit(end->queue);

		if (taken < 0)
			return end_fail(end, taken, "submit");
		if (taken > (int)n)
			taken = (int)n;
		n -= (unsigned int)taken;
		if (!n)
			break;
		/* no room for completions: the device will make some */
		if (!start)
			start = now_ns();
		if (now_ns() - start > END_TIMEOUT_NS)
			return end_timed_out(end, "room in the queue");
	}
	return 0;
}

int end_collect(struct end *end, unsigned int *taken)
{
	struct nic_completion done[REAP_AT_ONCE];
	unsigned int i, n;

	n = nic_queue_poll(end->queue, done, REAP_AT_ONCE);
	for (i = 0; i < n; i++)
		if (done[i].status != NIC_OK)
			return end_fault(end, -EREMOTEIO,
					 "operation %u failed: %s",
					 done[i].opcode,
					 nic_status_name(done[i].status));
	*taken = n;
	return 0;
}

static int end_wait_poll(struct end *end, unsigned int n, unsigned int *taken)
{
	unsigned int spins;
	uint64_t start;
	int ret;

	ret = end_submit(end, n);
	if (ret)
		return ret;
	ret = end_collect(end, taken);
	if (ret || *taken)
		return ret;
	start = now_ns();
	for (spins = 1;; spins++) {
		cpu_relax();
		ret = end_collect(end, taken);
		if (ret || *taken)
			return ret;
		if (spins % SPINS_A_LOOK == 0 &&
		    now_ns() - start > END_TIMEOUT_NS)
			return end_timed_out(end, "completion");
	}
}

static int end_wait_sleep(struct end *end, unsigned int *taken)
{
	int ret;

	do {
		ret = nic_queue_enter(end->queue, 1, END_TIMEOUT_NS);
		if (ret == -ETIME)
			return end_timed_out(end, "completion");
		if (ret < 0 && ret != -EINTR)
			return end_fail(end, ret, "wait");
		ret = end_collect(end, taken);
		if (ret)
			return ret;
	} while (!*taken);
	return 0;
}

int end_wait(struct end *end, unsigned int n, enum wait wait,
	     unsigned int *taken)
{
	if (wait == WAIT_POLL)
		return end_wait_poll(end, n, taken);
	return end_wait_sleep(end, taken);
}

/* Now and then while waiting for an event: is there a reason not to go on? */
static int end_event_look(struct end *end, uint64_t *start)
{
	unsigned int taken;
	int ret;

	if (end->abort && atomic_load(end->abort))
		return -ECANCELED;
	/* a SILENT operation completes only when it failed */
	ret = end_collect(end, &taken);
	if (ret)
		return ret;
	if (now_ns() - *start <= END_TIMEOUT_NS)
		return 0;
	if (!end->patient)
		return end_timed_out(end, "interrupt");
	*start = now_ns();
	return end_look_there(end);
}

/* Sleep until an event is there; 0 also when only a slice of time passed */
static int end_event_sleep(struct end *end)
{
	struct dmanic_irq_wait wait = {
		.size = sizeof(wait),
		.target = end->seen + 1,
		.timeout_ns = SLICE_NS,
	};

	if (!ioctl(nic_irq_fd(end->irq), DMANIC_IOC_IRQ_WAIT, &wait))
		return 0;
	if (errno == ETIME || errno == EINTR)
		return 0;
	return end_fault(end, -errno, "cannot wait for an interrupt: %s",
			 strerror(errno));
}

int end_event(struct end *end, enum wait wait, struct nic_event *event)
{
	unsigned int spins = 0;
	uint64_t start = 0;
	uint64_t lost = 0;
	int ret;

	for (;;) {
		if (wait == WAIT_SLEEP) {
			ret = end_event_sleep(end);
			if (ret)
				return ret;
		}
		if (nic_irq_poll(end->irq, event, 1, &lost))
			break;
		if (wait == WAIT_SLEEP || ++spins % SPINS_A_LOOK == 0) {
			if (!start)
				start = now_ns();
			ret = end_event_look(end, &start);
			if (ret)
				return ret;
		}
		if (wait == WAIT_POLL)
			cpu_relax();
	}
	end->seen += 1 + lost;
	return 0;
}

void end_forget_events(struct end *end)
{
	struct nic_event event;

	while (nic_irq_poll(end->irq, &event, 1, NULL))
		;
	end->seen = nic_irq_count(end->irq);
}
