// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues and interrupts made with options, and programs that sleep on their
 * eventfd: it is signalled once after each arming, and no wake-up is lost
 * between arming and sleeping.
 *
 * Sources: libnic/core/queue.c libnic/core/post.c libnic/core/interrupt.c
 * Sources: libnic/core/device.c
 * Sources: libnic/core/segment.c libnic/core/error.c
 * Flags: -Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap
 * Flags: -lpthread
 */
#include <nic.h>

#include <poll.h>
#include <sys/eventfd.h>

#include "fake_driver.h"
#include "unit.h"

#define TURNS	20000U

static struct nic_ctx *ctx;
static struct nic_queue *queue;
static struct nic_irq *irq;
static int event_fd;

static void start(void)
{
	fake_reset();
	event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (event_fd < 0 || nic_open("nic0", &ctx))
		abort();
}

static void stop(void)
{
	nic_queue_destroy(queue);
	nic_irq_destroy(irq);
	nic_close(ctx);
	close(event_fd);
	queue = NULL;
	irq = NULL;
}

static void start_queue(void)
{
	struct nic_queue_options options = {
		.size = sizeof(options), .flags = NIC_EVENTFD, .entries = 8,
	};

	start();
	options.eventfd = event_fd;
	if (nic_queue_create_with(ctx, &options, &queue))
		abort();
}

static void start_irq(void)
{
	struct nic_irq_options options = {
		.size = sizeof(options), .flags = NIC_EVENTFD, .depth = 8,
	};

	start();
	options.eventfd = event_fd;
	if (nic_irq_create_with(ctx, &options, &irq))
		abort();
}

static uint64_t signals(void)
{
	uint64_t count = 0;

	return read(event_fd, &count, sizeof(count)) < 0 ? 0 : count;
}

/* False: nothing came for long */
static bool sleep_on_eventfd(void)
{
	struct pollfd in = { .fd = event_fd, .events = POLLIN };

	return poll(&in, 1, 20000) == 1 && signals();
}

/* ---- options ---- */

TEST(eventfd__is_passed_on)
{
	start_queue();
	EXPECT_EQ(fake.queue_create.eventfd, event_fd);
	EXPECT_EQ(fake.queue_create.sq_entries, 8);
	EXPECT_EQ(fake.queue_create.flags, 0);
	stop();
	start_irq();
	EXPECT_EQ(fake.irq_create.eventfd, event_fd);
	EXPECT_EQ(fake.irq_create.depth, 16);
	EXPECT_EQ(fake.irq_create.flags, 0);
	stop();
}

TEST(eventfd__none_unless_asked_for)
{
	start();
	ASSERT_EQ(nic_queue_create(ctx, 1, &queue), 0);
	ASSERT_EQ(nic_irq_create(ctx, 1, 0, NULL, NULL, &irq), 0);
	EXPECT_EQ(fake.queue_create.eventfd, -1);
	EXPECT_EQ(fake.irq_create.eventfd, -1);
	EXPECT_EQ(nic_queue_arm(queue), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "nic_queue_create_with()");
	EXPECT_EQ(nic_irq_arm(irq), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "nic_irq_create_with()");
	stop();
}

TEST(options__of_a_queue)
{
	struct {
		struct nic_queue_options known;
		uint64_t newer;
	} longer = { .known = { .size = sizeof(longer) } };
	struct nic_queue_options options = { .size = sizeof(options) };

	start();
	ASSERT_EQ(nic_queue_create_with(ctx, &longer.known, &queue), 0);
	EXPECT_EQ(fake.queue_create.sq_entries, 64);
	nic_queue_destroy(queue);
	queue = NULL;
	longer.newer = 1;
	EXPECT_EQ(nic_queue_create_with(ctx, &longer.known, &queue), -E2BIG);
	EXPECT_CONTAINS(nic_error_detail(ctx), "newer");
	options.size--;
	EXPECT_EQ(nic_queue_create_with(ctx, &options, &queue), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx),
			"cannot make a queue: the size in the options");
	options.size = 5000;
	EXPECT_EQ(nic_queue_create_with(ctx, &options, &queue), -EINVAL);
	options.size = sizeof(options);
	options.flags = NIC_IRQ_STRICT;
	EXPECT_EQ(nic_queue_create_with(ctx, &options, &queue), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "flags are NIC_EVENTFD");
	options.flags = 0;
	options.eventfd = 3;
	EXPECT_EQ(nic_queue_create_with(ctx, &options, &queue), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "without the flag NIC_EVENTFD");
	stop();
}

TEST(options__of_an_interrupt)
{
	struct {
		struct nic_irq_options known;
		uint64_t newer;
	} longer = { .known = { .size = sizeof(longer), .name = "bell",
				.secret = { 5, 6 }, .depth = 3,
				.flags = NIC_IRQ_STRICT } };
	struct nic_irq_options options = { .size = sizeof(options) };

	start();
	ASSERT_EQ(nic_irq_create_with(ctx, &longer.known, &irq), 0);
	EXPECT_EQ(fake.irq_create.depth, 4);
	EXPECT_EQ(fake.irq_create.flags, DMANIC_IRQ_STRICT);
	EXPECT_EQ(fake.irq_create.secret[1], 6);
	EXPECT(!strcmp(fake.irq_create.name, "bell"));
	nic_irq_destroy(irq);
	irq = NULL;
	longer.newer = 1;
	EXPECT_EQ(nic_irq_create_with(ctx, &longer.known, &irq), -E2BIG);
	options.size--;
	EXPECT_EQ(nic_irq_create_with(ctx, &options, &irq), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "cannot make an interrupt: the size");
	options.size = sizeof(options);
	options.flags = 2;
	EXPECT_EQ(nic_irq_create_with(ctx, &options, &irq), -EINVAL);
	options.flags = 0;
	options.eventfd = 3;
	EXPECT_EQ(nic_irq_create_with(ctx, &options, &irq), -EINVAL);
	/* What has no way to give one must not take descriptor 0 for it */
	EXPECT_EQ(nic_irq_create(ctx, 1, NIC_EVENTFD, NULL, NULL, &irq), -EINVAL);
	stop();
}

TEST(options__bad_eventfd)
{
	struct nic_queue_options options = {
		.size = sizeof(options), .flags = NIC_EVENTFD, .eventfd = -1,
	};

	start();
	EXPECT_EQ(nic_queue_create_with(ctx, &options, &queue), -EBADF);
	EXPECT_CONTAINS(nic_error_detail(ctx), "the eventfd is not open");
	options.eventfd = 0;
	fake.fail_with = EINVAL;
	EXPECT_EQ(nic_queue_create_with(ctx, &options, &queue), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "no eventfd; make one");
	fake.fail_with = EBADF;
	EXPECT_EQ(nic_queue_create_with(ctx, &options, &queue), -EBADF);
	EXPECT_CONTAINS(nic_error_detail(ctx), "the eventfd is not open");
	stop();
}

/* ---- arming ---- */

TEST(eventfd__queue_signals_once_when_armed)
{
	struct dmanic_queue_ring *ring;
	struct nic_completion done[8];

	start_queue();
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	ASSERT_EQ(nic_queue_submit(queue), 1);
	EXPECT_EQ(signals(), 0);
	/* What is there already is told instead */
	EXPECT_EQ(nic_queue_arm(queue), 1);
	EXPECT_EQ(nic_queue_poll(queue, done, 8), 1);
	EXPECT_EQ(nic_queue_arm(queue), 0);
	EXPECT_EQ(signals(), 0);
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(nic_post_nop(queue, 0, i), 0);
	ASSERT_EQ(nic_queue_submit(queue), 3);
	EXPECT_EQ(signals(), 1);
	EXPECT_EQ(nic_queue_arm(queue), 3);
	EXPECT_EQ(nic_queue_poll(queue, done, 8), 3);
	ring = fake.object[nic_queue_fd(queue)]->map;
	ring->flags = DMANIC_RING_DEAD;
	EXPECT_EQ(nic_queue_arm(queue), -ENODEV);
	EXPECT_CONTAINS(nic_error_detail(ctx), "removed");
	stop();
}

static struct fake_object *fake_queue(void)
{
	return fake.object[nic_queue_fd(queue)];
}

static void complete(uint32_t n)
{
	pthread_mutex_lock(&fake.lock);
	fake_complete(fake_queue(), n);
	pthread_mutex_unlock(&fake.lock);
}

/* SILENT operations have all the room, and tell nobody when they are done */
TEST(eventfd__entries_left_behind_silent_ones_are_not_forgotten)
{
	uint32_t room, i;

	start_queue();
	fake.hold = true;
	room = fake_queue()->cq_entries;
	for (i = 0; i < room; i++) {
		ASSERT_EQ(nic_post_nop(queue, NIC_SILENT, i), 0);
		ASSERT_EQ(nic_queue_submit(queue), 1);
	}
	ASSERT_EQ(nic_post_nop(queue, 0, i), 0);
	ASSERT_EQ(nic_queue_submit(queue), 0);
	/* What is posted and not submitted is not submitted by that */
	ASSERT_EQ(nic_post_nop(queue, 0, i), 0);
	EXPECT_EQ(nic_queue_arm(queue), 0);
	EXPECT_EQ(signals(), 0);
	complete(1);
	EXPECT_EQ(signals(), 1);
	EXPECT_EQ(nic_queue_ready(queue), 0);
	EXPECT_EQ(nic_queue_arm(queue), 0);
	ASSERT_EQ(fake_queue()->held_count, room);
	complete(room);
	EXPECT_EQ(signals(), 1);
	EXPECT_EQ(nic_queue_ready(queue), 1);
	/* They are all done before it is armed */
	EXPECT_EQ(nic_queue_in_flight(queue), 2);
	stop();
}

/* It would be the last sleep: no other signal comes */
TEST(eventfd__interrupt_of_a_removed_device_is_not_armed)
{
	struct dmanic_irq_ring *ring;

	start_irq();
	fake_raise_fd(nic_irq_fd(irq), 1, 0);
	ring = fake.object[nic_irq_fd(irq)]->map;
	ring->flags = DMANIC_RING_DEAD;
	EXPECT_EQ(nic_irq_arm(irq), 1);
	EXPECT_EQ(nic_irq_poll(irq, NULL, 1, NULL), 1);
	EXPECT_EQ(nic_irq_arm(irq), -ENODEV);
	EXPECT_CONTAINS(nic_error_detail(ctx), "removed");
	stop();
}

TEST(eventfd__interrupt_signals_once_when_armed)
{
	struct nic_event event;

	start_irq();
	fake_raise_fd(nic_irq_fd(irq), 1, 0);
	EXPECT_EQ(signals(), 0);
	EXPECT_EQ(nic_irq_arm(irq), 1);
	EXPECT_EQ(nic_irq_poll(irq, &event, 1, NULL), 1);
	EXPECT_EQ(nic_irq_arm(irq), 0);
	fake_raise_fd(nic_irq_fd(irq), 2, 0);
	fake_raise_fd(nic_irq_fd(irq), 3, 0);
	EXPECT_EQ(signals(), 1);
	EXPECT_EQ(nic_irq_arm(irq), 2);
	stop();
}

/* Raises the next event as soon as the one before was taken */
static void *raise_when_seen(void *arg)
{
	struct dmanic_irq_ring *ring = fake.object[nic_irq_fd(irq)]->map;

	(void)arg;
	for (uint64_t i = 0; i < TURNS; i++) {
		while (__atomic_load_n(&ring->seen, __ATOMIC_ACQUIRE) < i)
			;
		fake_raise_fd(nic_irq_fd(irq), i, 0);
	}
	return NULL;
}

TEST(eventfd__interrupt_loses_no_wake_up)
{
	struct nic_event event;
	pthread_t thread;

	start_irq();
	ASSERT(!pthread_create(&thread, NULL, raise_when_seen, NULL));
	for (uint64_t i = 0; i < TURNS; i++) {
		while (!nic_irq_poll(irq, &event, 1, NULL))
			if (!nic_irq_arm(irq))
				ASSERT(sleep_on_eventfd());
		ASSERT_EQ(event.payload, i);
	}
	pthread_join(thread, NULL);
	stop();
}

static void *complete_what_is_held(void *arg)
{
	struct fake_object *object = fake.object[nic_queue_fd(queue)];
	uint32_t n = 0;

	(void)arg;
	while (n < TURNS) {
		pthread_mutex_lock(&fake.lock);
		n += object->held_count;
		fake_complete(object, object->held_count);
		pthread_mutex_unlock(&fake.lock);
	}
	return NULL;
}

TEST(eventfd__queue_loses_no_wake_up)
{
	struct nic_completion done;
	pthread_t thread;

	start_queue();
	fake.hold = true;
	ASSERT(!pthread_create(&thread, NULL, complete_what_is_held, NULL));
	for (unsigned int i = 0; i < TURNS; i++) {
		ASSERT_EQ(nic_post_nop(queue, 0, i), 0);
		ASSERT_EQ(nic_queue_submit(queue), 1);
		while (!nic_queue_poll(queue, &done, 1))
			if (!nic_queue_arm(queue))
				ASSERT(sleep_on_eventfd());
		ASSERT_EQ(done.cookie, i);
	}
	pthread_join(thread, NULL);
	stop();
}
