// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues whose entries a thread of the driver takes: no system call as long as
 * it is awake, one when it sleeps and there is something for it to do. The
 * test is the thread.
 *
 * Sources: libnic/core/queue.c libnic/core/post.c libnic/core/interrupt.c
 * Sources: libnic/core/device.c
 * Sources: libnic/core/segment.c libnic/core/error.c
 * Flags: -Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap
 * Flags: -lpthread
 */
#include <nic.h>

#include "fake_driver.h"
#include "unit.h"

#define SECOND	1000000000ULL

static struct nic_ctx *ctx;
static struct nic_queue *queue;
static struct fake_object *driver;
static struct dmanic_queue_ring *ring;

static int make(uint32_t flags, uint32_t idle_us)
{
	const struct nic_queue_options options = {
		.size = sizeof(options), .flags = flags, .entries = 4,
		.poll_idle_us = idle_us,
	};

	return nic_queue_create_with(ctx, &options, &queue);
}

static void start_with(uint64_t features)
{
	fake_reset();
	fake.first_index = UINT32_MAX - 2;
	fake.features = features;
	setenv("NIC_SPIN_NS", "0", 1);
	if (nic_open("nic0", &ctx))
		abort();
}

static void start(void)
{
	start_with(DMANIC_FEATURE_POLL_THREAD);
	if (make(NIC_POLL_THREAD, 0))
		abort();
	driver = fake.object[nic_queue_fd(queue)];
	ring = driver->map;
}

static void stop(void)
{
	nic_queue_destroy(queue);
	nic_close(ctx);
	queue = NULL;
}

/* What the thread does when it is awake */
static void thread_takes(void)
{
	pthread_mutex_lock(&fake.lock);
	fake_take(driver, UINT32_MAX);
	pthread_mutex_unlock(&fake.lock);
}

static void thread_sleeps(bool sleeps)
{
	if (sleeps)
		ring->flags |= DMANIC_RING_NEED_WAKEUP;
	else
		ring->flags &= ~DMANIC_RING_NEED_WAKEUP;
}

TEST(poll_thread__options)
{
	start_with(DMANIC_FEATURE_POLL_THREAD);
	ASSERT_EQ(make(NIC_POLL_THREAD, 7), 0);
	EXPECT_EQ(fake.queue_create.flags, DMANIC_QUEUE_POLL_THREAD);
	EXPECT_EQ(fake.queue_create.poll_idle_us, 7);
	nic_queue_destroy(queue);
	ASSERT_EQ(make(0, 0), 0);
	EXPECT_EQ(fake.queue_create.flags, 0);
	nic_queue_destroy(queue);
	queue = NULL;
	EXPECT_EQ(make(NIC_POLL_THREAD, 1001), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "1000");
	EXPECT_EQ(make(0, 1), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "NIC_POLL_THREAD");
	stop();
	start_with(0);
	EXPECT_EQ(make(NIC_POLL_THREAD, 0), -EOPNOTSUPP);
	EXPECT_CONTAINS(nic_error_detail(ctx), "without NIC_POLL_THREAD");
	stop();
}

TEST(poll_thread__awake_costs_no_call)
{
	struct nic_completion done[8];

	start();
	for (unsigned int turn = 0; turn < 100; turn++) {
		ASSERT_EQ(nic_post_nop(queue, 0, turn), 0);
		ASSERT_EQ(nic_post_nop(queue, 0, turn), 0);
		ASSERT_EQ(nic_queue_submit(queue), 2);
		ASSERT_EQ(nic_queue_submit(queue), 0);
		EXPECT_EQ(nic_queue_ready(queue), 0);
		thread_takes();
		EXPECT_EQ(nic_queue_submit(queue), 0);
		EXPECT_EQ(nic_queue_ready(queue), 2);
		ASSERT_EQ(nic_queue_poll(queue, done, 8), 2);
		EXPECT_EQ(done[1].cookie, turn);
	}
	EXPECT_EQ(fake.enters, 0);
	stop();
}

TEST(poll_thread__asleep_is_woken_once)
{
	struct nic_completion done[8];

	start();
	thread_sleeps(true);
	/* There is nothing for it to do */
	ASSERT_EQ(nic_queue_submit(queue), 0);
	EXPECT_EQ(fake.enters, 0);
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	ASSERT_EQ(nic_queue_submit(queue), 1);
	EXPECT_EQ(fake.enters, 1);
	/* Nor is there now: completions alone are nothing to it */
	ASSERT_EQ(nic_queue_poll(queue, done, 8), 1);
	EXPECT_EQ(fake.enters, 1);
	stop();
}

/* Who takes completions makes room for what it had to leave */
TEST(poll_thread__room_wakes_it)
{
	struct nic_completion done[8];

	start();
	for (unsigned int i = 0; i < 12; i++) {
		if (i == 4 || i == 8)
			thread_takes();
		ASSERT_EQ(nic_post_nop(queue, 0, i), 0);
		ASSERT_EQ(nic_queue_submit(queue), 1);
	}
	thread_takes();
	EXPECT_EQ(nic_queue_ready(queue), 8);
	EXPECT_EQ(ring->flags, DMANIC_RING_CQ_FULL);
	thread_sleeps(true);
	ASSERT_EQ(nic_queue_poll(queue, done, 3), 3);
	EXPECT_EQ(fake.enters, 1);
	/* Awake: it sees the room itself */
	thread_sleeps(false);
	ASSERT_EQ(nic_queue_poll(queue, done, 3), 3);
	EXPECT_EQ(fake.enters, 1);
	thread_takes();
	EXPECT_EQ(nic_queue_ready(queue), 6);
	stop();
}

/* Taking completions does not submit what was only posted */
TEST(poll_thread__poll_submits_nothing)
{
	struct nic_completion done[8];

	start();
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	ASSERT_EQ(nic_queue_submit(queue), 1);
	thread_takes();
	ASSERT_EQ(nic_post_nop(queue, 0, 2), 0);
	thread_sleeps(true);
	ASSERT_EQ(nic_queue_poll(queue, done, 8), 1);
	thread_takes();
	EXPECT_EQ(nic_queue_ready(queue), 0);
	EXPECT_EQ(fake.enters, 0);
	ASSERT_EQ(nic_queue_submit(queue), 1);
	EXPECT_EQ(fake.enters, 1);
	stop();
}

TEST(poll_thread__wait_and_drain)
{
	struct nic_completion done;

	start();
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	ASSERT_EQ(nic_queue_wait(queue, &done, 1, SECOND), 1);
	EXPECT_EQ(done.cookie, 1);
	thread_sleeps(true);
	ASSERT_EQ(nic_post_nop(queue, 0, 2), 0);
	ASSERT_EQ(nic_queue_wait(queue, &done, 1, SECOND), 1);
	for (unsigned int i = 0; i < 4; i++)
		ASSERT_EQ(nic_post_nop(queue, i & 1 ? NIC_SILENT : 0, i), 0);
	ASSERT_EQ(nic_queue_drain(queue, SECOND), 0);
	stop();
}

/* The device is gone, and the thread with it */
TEST(poll_thread__failed_wake_is_told)
{
	start();
	thread_sleeps(true);
	fake.fail_enter = ENODEV;
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	EXPECT_EQ(nic_queue_submit(queue), -ENODEV);
	stop();
}
