// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * queue.c - submitting what was posted (post.c), and taking completions
 *
 * The owner fills entries at sq_tail, which only submitting shows to the
 * device, and takes completions at cq_head; both are kept here and never read
 * back. The device puts aside
 * room for the completion of whatever it takes, so none is ever lost; entries
 * it has no room for stay in the submission ring.
 *
 * SILENT operations have no completion to count. To know that they are done,
 * a NOP is fenced behind them ("marker"). Markers are told by their cookie,
 * an address in struct nic_queue, and no caller ever sees one.
 *
 * Where a thread of the driver takes entries, submitting is to show them. Whoever
 * gives it something to do, by sq_tail or by cq_head, then looks whether it
 * sleeps and wakes it with ENTER: wake_thread().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"
#include "queue.h"

#define ENTRIES_DEFAULT	64U
#define ENTRIES_MAX	(1U << 30)	/* where doubling would overflow */
#define BATCH		16U
#define OFFER_NS	1000000U /* between offers of entries not taken */

/* ---- make and destroy ---- */

static int fail_create(struct nic_ctx *ctx, int ret,
		       const struct dmanic_queue_create *arg)
{
	char cause[NIC_CAUSE_MAX];
	const char *why;

	why = nic_refusal_cause(cause, ret, &arg->refusal, 0);
	if (!why)
		why = nic_eventfd_cause(ret, arg->eventfd);
	return nic_fail(ctx, ret, why, "make a queue of %u entries", arg->sq_entries);
}

/*
 * Twice as many completions as entries: a full ring can be posted while the
 * one before it is in flight. Fewer where the device's limit says so.
 */
static void choose_sizes(const struct nic_ctx *ctx, unsigned int entries,
			 struct dmanic_queue_create *arg)
{
	uint32_t limit = ctx->info.max_queue_entries;

	arg->sq_entries = 1;
	while (arg->sq_entries < entries)
		arg->sq_entries *= 2;
	arg->cq_entries = arg->sq_entries * 2;
	if (arg->cq_entries > limit)
		arg->cq_entries = arg->sq_entries;
}

static int queue_map(struct nic_queue *queue,
		     const struct dmanic_queue_create *arg)
{
	void *map;

	queue->map_bytes = arg->mmap_bytes;
	map = mmap(NULL, queue->map_bytes, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, queue->fd, 0);
	if (map == MAP_FAILED)
		return nic_fail(queue->ctx, -errno, NULL, "map a queue");
	queue->ring = map;
	queue->sqe = (void *)((char *)map + arg->sq_offset);
	queue->cqe = (void *)((char *)map + arg->cq_offset);
	queue->sq_tail = queue->ring->sq_tail;
	queue->sq_end = queue->ring->sq_head + queue->sq_entries;
	queue->sq_shown = queue->uncounted = queue->sq_tail;
	queue->cq_head = queue->ring->cq_head;
	return 0;
}

/* What concerns the polling thread */
static int read_thread(struct nic_ctx *ctx,
		       const struct nic_queue_options *options,
		       struct dmanic_queue_create *arg)
{
	const bool thread = options->flags & NIC_POLL_THREAD;

	if (!thread && options->poll_idle_us)
		return nic_fail(ctx, -EINVAL,
				"poll_idle_us is for queues with NIC_POLL_THREAD",
				"make a queue");
	if (options->poll_idle_us > DMANIC_POLL_IDLE_MAX_US)
		return nic_fail(ctx, -EINVAL, "the most is 1000",
				"make a queue whose thread polls for %u us",
				options->poll_idle_us);
	if (thread && !(ctx->info.features & DMANIC_FEATURE_POLL_THREAD))
		return nic_fail(ctx, -EOPNOTSUPP,
				"this driver has none; make it without NIC_POLL_THREAD",
				"make a queue with a polling thread");
	arg->flags = thread ? DMANIC_QUEUE_POLL_THREAD : 0;
	arg->poll_idle_us = options->poll_idle_us;
	return 0;
}

/* The caller's options as what the driver is asked for */
static int read_options(struct nic_ctx *ctx,
			const struct nic_queue_options *options,
			struct dmanic_queue_create *arg)
{
	struct nic_queue_options known;
	int ret;

	ret = nic_options_copy(ctx, &known, sizeof(known), options,
			       options->size, sizeof(known), "make a queue");
	if (ret)
		return ret;
	if (known.flags & ~(NIC_EVENTFD | NIC_POLL_THREAD))
		return nic_fail(ctx, -EINVAL,
				"flags are NIC_EVENTFD, NIC_POLL_THREAD or 0",
				"make a queue with flags %#x", known.flags);
	ret = read_thread(ctx, &known, arg);
	if (ret)
		return ret;
	if (known.entries > ENTRIES_MAX)
		return nic_fail(ctx, -EINVAL, "that is too many",
				"make a queue of %u entries", known.entries);
	choose_sizes(ctx, known.entries ? known.entries : ENTRIES_DEFAULT, arg);
	return nic_eventfd_check(ctx, known.flags, known.eventfd,
				 "make a queue", &arg->eventfd);
}

int nic_queue_create_with(struct nic_ctx *ctx,
			  const struct nic_queue_options *options,
			  struct nic_queue **queue)
{
	struct dmanic_queue_create arg = { .size = sizeof(arg) };
	struct nic_queue *new;
	int ret;

	ret = read_options(ctx, options, &arg);
	if (ret)
		return ret;
	new = calloc(1, sizeof(*new));
	if (!new)
		return nic_fail(ctx, -ENOMEM, NULL, "make a queue");
	ret = nic_ioctl(ctx->fd, DMANIC_IOC_QUEUE_CREATE, &arg);
	if (ret) {
		fail_create(ctx, ret, &arg);
		goto err_free;
	}
	new->ctx = ctx;
	new->fd = arg.fd;
	new->owner = ctx->owner;
	new->sq_entries = arg.sq_entries;
	new->cq_entries = arg.cq_entries;
	new->sq_mask = arg.sq_entries - 1;
	new->has_eventfd = arg.eventfd >= 0;
	new->has_thread = arg.flags & DMANIC_QUEUE_POLL_THREAD;
	new->spin.ns = ctx->spin_ns;
	ret = queue_map(new, &arg);
	if (ret)
		goto err_close;
	*queue = new;
	return 0;

err_close:
	close(new->fd);
err_free:
	free(new);
	return ret;
}

int nic_queue_create(struct nic_ctx *ctx, unsigned int entries,
		     struct nic_queue **queue)
{
	const struct nic_queue_options options = {
		.size = sizeof(options),
		.entries = entries,
	};

	return nic_queue_create_with(ctx, &options, queue);
}

void nic_queue_destroy(struct nic_queue *queue)
{
	if (!queue)
		return;
	/* Another process goes on with it, and a child has no mapping */
	if (!nic_inherited(queue->owner)) {
		nic_stop(queue->fd, DMANIC_IOC_QUEUE_STOP);
		munmap(queue->ring, queue->map_bytes);
	}
	close(queue->fd);
	free(queue);
}

int nic_queue_fd(const struct nic_queue *queue)
{
	return queue->fd;
}

unsigned int nic_queue_in_flight(const struct nic_queue *queue)
{
	return queue->sq_tail - queue->uncounted;
}

/* ---- submitting ---- */

int nic_queue_fail_full(const struct nic_queue *queue)
{
	uint32_t flags = __atomic_load_n(&queue->ring->flags, __ATOMIC_RELAXED);

	if (flags & DMANIC_RING_CQ_FULL)
		return nic_fail_text(queue->ctx, -EAGAIN,
				     "cannot post: the completion ring is full; take completions with nic_queue_poll() or nic_queue_wait(), then submit");
	return nic_fail_text(queue->ctx, -EAGAIN,
			     "cannot post: the submission ring is full; call nic_queue_submit()");
}

static int post_marker(struct nic_queue *queue)
{
	struct dmanic_sqe *slot = nic_queue_slot(queue);

	if (!slot)
		return nic_queue_fail_full(queue);
	*slot = (struct dmanic_sqe) {
		.opcode = DMANIC_OP_NOP,
		.flags = DMANIC_SQE_FENCE,
		.cookie = (uintptr_t)&queue->markers,
	};
	queue->sq_tail++;
	queue->uncounted++;
	queue->silent = false;
	queue->markers++;
	return 0;
}

static uint32_t sq_head(const struct nic_queue *queue)
{
	/* B: pairs with the driver's sq_head after reading entries */
	return __atomic_load_n(&queue->ring->sq_head, __ATOMIC_ACQUIRE);
}

static uint32_t not_submitted(const struct nic_queue *queue)
{
	return queue->sq_tail - sq_head(queue);
}

uint32_t nic_queue_publish(struct nic_queue *queue)
{
	/* A: entries before the index that shows them to the driver */
	__atomic_store_n(&queue->ring->sq_tail, queue->sq_tail,
			 __ATOMIC_RELEASE);
	queue->sq_shown = queue->sq_tail;
	return not_submitted(queue);
}

static int fail_enter(const struct nic_queue *queue, int ret)
{
	uint32_t flags = __atomic_load_n(&queue->ring->flags, __ATOMIC_RELAXED);

	if (flags & DMANIC_RING_BAD_INDEX)
		return nic_fail(queue->ctx, ret,
				"the ring's indices are impossible; something wrote into the queue's mapping",
				"use a queue");
	return nic_fail(queue->ctx, ret, NULL, "submit and wait on a queue");
}

int nic_queue_enter(struct nic_queue *queue, unsigned int min_complete,
		    uint64_t timeout_ns)
{
	struct dmanic_enter arg = {
		.size = sizeof(arg),
		.min_complete = min_complete,
		.timeout_ns = timeout_ns,
	};
	int ret;

	/* The driver refuses it, too, but then entries are shown */
	if (min_complete > queue->cq_entries)
		return nic_fail(queue->ctx, -EINVAL, "there is not room for so many",
				"wait for %u completions", min_complete);
	arg.to_submit = nic_queue_publish(queue);
	ret = nic_ioctl(queue->fd, DMANIC_IOC_ENTER, &arg);
	if (!ret && arg.available < min_complete)
		ret = -ETIME;
	if (ret)
		return fail_enter(queue, ret);
	return (int)arg.submitted;
}

/* What was shown, @count entries of it, and what was not is not shown either */
static int enter_shown(struct nic_queue *queue, uint32_t count)
{
	struct dmanic_enter arg = { .size = sizeof(arg), .to_submit = count };
	int ret = nic_ioctl(queue->fd, DMANIC_IOC_ENTER, &arg);

	return ret ? fail_enter(queue, ret) : 0;
}

/*
 * The thread may have something to do: 0, or -errno of the call that woke it. @submit: that
 * call takes entries itself, which may take time
 */
static int wake_thread(struct nic_queue *queue, bool submit)
{
	uint32_t left;

	/* G: pairs with the driver's between NEED_WAKEUP and its last look */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(!(__atomic_load_n(&queue->ring->flags, __ATOMIC_RELAXED) &
			       DMANIC_RING_NEED_WAKEUP), 1))
		return 0;
	/* It sleeps, but there may be nothing left for it; what is shown alone */
	left = queue->sq_shown - sq_head(queue);
	return left ? enter_shown(queue, submit ? left : 0) : 0;
}

static int submit_to_thread(struct nic_queue *queue)
{
	uint32_t count = queue->sq_tail - queue->sq_shown;
	int ret;

	if (!count && !not_submitted(queue))
		return 0;
	nic_queue_publish(queue);
	ret = wake_thread(queue, true);
	return ret ? ret : (int)count;
}

int nic_queue_submit(struct nic_queue *queue)
{
	if (queue->has_thread)
		return submit_to_thread(queue);
	return not_submitted(queue) ? nic_queue_enter(queue, 0, 0) : 0;
}

/* ---- completions ---- */

static uint32_t ready(const struct nic_queue *queue)
{
	/* C: pairs with the driver's cq_tail after writing completions */
	return __atomic_load_n(&queue->ring->cq_tail, __ATOMIC_ACQUIRE) -
	       queue->cq_head;
}

unsigned int nic_queue_ready(const struct nic_queue *queue)
{
	return ready(queue);
}

int nic_queue_arm(struct nic_queue *queue)
{
	uint32_t count, left;
	int ret;

	if (!queue->has_eventfd)
		return nic_fail(queue->ctx, -EINVAL,
				"it was made without; see nic_queue_create_with()",
				"arm a queue's eventfd");
	__atomic_store_n(&queue->ring->arm, 1, __ATOMIC_RELAXED);
	/* E: pairs with the driver's between cq_tail and its look at arm */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	count = ready(queue);
	if (count)
		return (int)count;
	if (__atomic_load_n(&queue->ring->flags, __ATOMIC_RELAXED) &
	    DMANIC_RING_DEAD)
		return nic_fail(queue->ctx, -ENODEV, NIC_RING_OVER,
				"arm a queue's eventfd");
	/*
	 * Entries that were left for want of room: SILENT operations that are done by now told
	 * nobody. Those that are still under way will, once the driver has seen that it is short.
	 */
	left = queue->has_thread ? 0 : queue->sq_shown - sq_head(queue);
	if (!left)
		return 0;
	ret = enter_shown(queue, left);
	return ret ? ret : (int)ready(queue);
}

/* It was a marker, and is not the caller's */
static bool is_marker(const struct nic_queue *queue, const struct dmanic_cqe *cqe)
{
	return cqe->opcode == DMANIC_OP_NOP &&
	       cqe->cookie == (uintptr_t)&queue->markers;
}

/* Room for @used completions was given back: may entries have waited for it? */
static bool room_was_short(const struct nic_queue *queue, uint32_t used)
{
	/* Else whatever was shown had room: nobody has to look at the flag */
	return queue->any_silent || used > queue->cq_entries;
}

/* Of the completions from @head on those that were not counted: they are here as they failed */
static unsigned int silent_ones(const struct nic_queue *queue, uint32_t head, uint32_t end)
{
	unsigned int count = 0;

	for (; head != end; head++)
		count += !!(queue->cqe[head & (queue->cq_entries - 1)].flags & DMANIC_SQE_SILENT);
	return count;
}

unsigned int nic_queue_poll(struct nic_queue *queue, struct nic_completion *out,
			    unsigned int max)
{
	uint32_t left = ready(queue), mask = queue->cq_entries - 1;
	uint32_t head = queue->cq_head, used = nic_queue_in_flight(queue);
	const struct nic_completion *end = out + (max < left ? max : left);
	const uint32_t first = head, tail = head + left;
	struct nic_completion *done = out;
	uint32_t failed = 0, status;
	unsigned int taken;

	for (; head != tail && done != end; head++) {
		const struct dmanic_cqe *cqe = &queue->cqe[head & mask];

		if (__builtin_expect(is_marker(queue, cqe), 0)) {
			queue->markers--;
			continue;
		}
		done->cookie = cqe->cookie;
		/* Alone the two would be gathered in a vector register */
		status = cqe->status;
		failed |= status;
		__atomic_store_n(&done->status, status, __ATOMIC_RELAXED);
		done->opcode = cqe->opcode;
		done->result = cqe->result;
		done++;
	}
	if (head == first)
		return 0;
	taken = (unsigned int)(done - out);
	queue->uncounted += taken;
	if (__builtin_expect(failed, 0))
		queue->uncounted -= silent_ones(queue, first, head);
	queue->cq_head = head;
	/* D: completions are read before their places are given back */
	__atomic_store_n(&queue->ring->cq_head, head, __ATOMIC_RELEASE);
	/* Whatever fails here fails again when something is submitted */
	if (queue->has_thread && room_was_short(queue, used))
		wake_thread(queue, false);
	return taken;
}

static bool spin_until_ready(struct nic_queue *queue)
{
	bool helped = false;

	nic_spin_begin(&queue->spin);
	while (!helped && nic_spin_again(&queue->spin))
		helped = ready(queue);
	nic_spin_learn(&queue->spin, queue->ctx->spin_ns, helped);
	return helped;
}

/*
 * Submit, then wait until there is a completion, be it a marker's; or, with
 * @room, until an entry can be posted. Entries that the device had no room to
 * take are offered again and again: SILENT operations that finish make room
 * without waking anybody.
 */
static int wait_ready(struct nic_queue *queue, uint64_t deadline, bool room)
{
	uint64_t left;
	uint32_t stuck;
	int ret;

	for (;;) {
		ret = nic_queue_submit(queue);
		stuck = not_submitted(queue);
		if (ready(queue) || (room && stuck < queue->sq_entries))
			return 0;
		if (ret < 0)
			return ret;
		left = nic_left(deadline);
		if (!left)
			return fail_enter(queue, -ETIME);
		if (left > queue->spin.ns && (!stuck || queue->has_thread) &&
		    spin_until_ready(queue))
			return 0;
		if (stuck && left > OFFER_NS)
			left = OFFER_NS;
		ret = nic_queue_enter(queue, 1, left);
		if (ready(queue))
			return 0;
		if (ret < 0 && !(stuck && ret == -ETIME))
			return ret;
	}
}

int nic_queue_wait(struct nic_queue *queue, struct nic_completion *out,
		   unsigned int max, uint64_t timeout_ns)
{
	uint64_t deadline = nic_deadline(timeout_ns);
	unsigned int taken;
	int ret;

	if (!max)
		return nic_fail_text(queue->ctx, -EINVAL,
				     "cannot wait on a queue: there is no room for a completion (max is 0)");
	do {
		ret = wait_ready(queue, deadline, false);
		if (ret)
			return ret;
		taken = nic_queue_poll(queue, out, max);
	} while (!taken);
	return (int)taken;
}

unsigned int nic_queue_dispatch(struct nic_queue *queue, unsigned int max,
				nic_callback callback, void *arg)
{
	struct nic_completion done;
	unsigned int count = 0;

	/* One at a time: the callback may post, poll and dispatch. */
	while (count < max && nic_queue_poll(queue, &done, 1)) {
		callback(arg, &done);
		count++;
	}
	return count;
}

/* ---- drain ---- */

static void reap(struct nic_queue *queue)
{
	struct nic_failures *failures = &queue->failures;
	struct nic_completion done[BATCH];
	unsigned int taken;

	while ((taken = nic_queue_poll(queue, done, BATCH))) {
		for (unsigned int i = 0; i < taken; i++) {
			if (done[i].status == NIC_OK)
				continue;
			if (!failures->count++)
				failures->first = done[i];
		}
	}
}

static int fail_drain(struct nic_queue *queue, const struct nic_failures *failures)
{
	static const char *const name[] = {
		"NOP", "WRITE", "READ", "WRITE_STRIDED", "READ_STRIDED", "NOTIFY",
		"FETCH_ADD", "COMPARE_SWAP", "SWAP", "LIST",
	};
	const struct nic_completion *first = &failures->first;
	bool known = first->opcode < sizeof(name) / sizeof(*name);

	return nic_fail(queue->ctx, -EREMOTEIO, nic_status_name(first->status),
			"drain a queue, %u operations failed, first %s with cookie %#" PRIx64,
			failures->count,
			known ? name[first->opcode] : "an operation",
			first->cookie);
}

int nic_queue_drain(struct nic_queue *queue, uint64_t timeout_ns)
{
	uint64_t deadline = nic_deadline(timeout_ns);
	struct nic_failures failures;
	int ret;

	reap(queue);
	while (nic_queue_in_flight(queue) || queue->markers || queue->silent) {
		if (queue->silent && !post_marker(queue))
			continue;
		ret = wait_ready(queue, deadline, queue->silent);
		reap(queue);
		/* What failed until now is told by the call that goes on */
		if (ret)
			return ret;
	}
	failures = queue->failures;
	queue->failures.count = 0;
	return failures.count ? fail_drain(queue, &failures) : 0;
}
