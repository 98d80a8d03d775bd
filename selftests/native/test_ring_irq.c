// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rings of interrupts, against a driver in memory: events come in order,
 * those lost are counted, also where counters wrap; events overwritten while
 * they are read are never believed.
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
static struct nic_irq *irq;

static void start(const char *spin_ns)
{
	fake_reset();
	setenv("NIC_SPIN_NS", spin_ns, 1);
	if (nic_open("nic0", &ctx))
		abort();
}

static void start_irq(unsigned int depth, unsigned int flags, uint64_t first)
{
	start("0");
	fake.first_raised = first;
	if (nic_irq_create(ctx, depth, flags, NULL, NULL, &irq))
		abort();
}

static void stop(void)
{
	nic_irq_destroy(irq);
	nic_close(ctx);
	irq = NULL;
}

static void raise_irq(uint64_t payload)
{
	fake_raise_fd(nic_irq_fd(irq), payload, (uint32_t)payload + 1);
}

TEST(irq__depths)
{
	static const struct {
		unsigned int depth, flags, places;
	} depths[] = {
		{ 0, 0, 2 }, { 1, 0, 2 }, { 3, 0, 8 }, { 512, 0, 1024 },
		{ 1024, 0, 1024 }, { 0, NIC_IRQ_STRICT, 1 },
		{ 5, NIC_IRQ_STRICT, 8 }, { 1024, NIC_IRQ_STRICT, 1024 },
	};

	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		start_irq(depths[i].depth, depths[i].flags, 0);
		EXPECT_EQ(fake.irq_create.depth, depths[i].places);
		EXPECT_EQ(fake.irq_create.flags, depths[i].flags);
		stop();
	}
	start("0");
	EXPECT_EQ(nic_irq_create(ctx, 1, 2, NULL, NULL, &irq), -EINVAL);
	EXPECT_EQ(nic_irq_create(ctx, UINT32_MAX, 0, NULL, NULL, &irq),
		  -EINVAL);
	stop();
}

static void check_events(uint64_t first)
{
	struct dmanic_irq_ring *ring;
	struct nic_event events[8];
	uint64_t lost = 9;

	start_irq(4, 0, first);
	EXPECT_EQ(nic_irq_poll(irq, events, 8, &lost), 0);
	EXPECT_EQ(lost, 0);
	for (uint64_t i = 0; i < 3; i++)
		raise_irq(i);
	EXPECT_EQ(nic_irq_count(irq) - first, 3);
	EXPECT_EQ(nic_irq_poll(irq, events, 2, &lost), 2);
	EXPECT_EQ(events[1].payload, 1);
	EXPECT_EQ(events[1].node, 2);
	/* 4 are kept: of 2 to 8 the first three are lost. */
	for (uint64_t i = 3; i < 9; i++)
		raise_irq(i);
	EXPECT_EQ(nic_irq_poll(irq, events, 8, &lost), 4);
	EXPECT_EQ(lost, 3);
	for (uint64_t i = 0; i < 4; i++)
		EXPECT_EQ(events[i].payload, 5 + i);
	EXPECT_EQ(nic_irq_poll(irq, events, 8, NULL), 0);
	raise_irq(1);
	raise_irq(2);
	EXPECT_EQ(nic_irq_poll(irq, NULL, 8, &lost), 2);
	EXPECT_EQ(lost, 0);
	ring = fake.object[nic_irq_fd(irq)]->map;
	EXPECT_EQ(ring->seen - first, 11);
	stop();
}

TEST(irq__events)
{
	check_events(0);
}

TEST(irq__counters_wrap)
{
	for (uint64_t back = 0; back < 12; back++)
		check_events(-back);
}

TEST(irq__at_the_device_limit_one_fewer_is_kept)
{
	static struct nic_event events[2000];
	uint64_t lost;

	start_irq(1024, 0, 0);
	for (uint64_t i = 0; i < 1024; i++)
		raise_irq(i);
	EXPECT_EQ(nic_irq_poll(irq, events, 2000, &lost), 1023);
	EXPECT_EQ(lost, 1);
	EXPECT_EQ(events[0].payload, 1);
	stop();
}

TEST(irq__strict)
{
	struct nic_event events[8];
	uint64_t lost;

	start_irq(2, NIC_IRQ_STRICT, 0);
	for (uint64_t i = 0; i < 5; i++)
		raise_irq(i);
	EXPECT_EQ(nic_irq_count(irq), 2);
	EXPECT_EQ(nic_irq_poll(irq, events, 1, NULL), 1);
	raise_irq(7);
	EXPECT_EQ(nic_irq_poll(irq, events, 8, &lost), 2);
	EXPECT_EQ(lost, 0);
	EXPECT_EQ(events[0].payload, 1);
	EXPECT_EQ(events[1].payload, 7);
	stop();
}

static void raise_twice(void)
{
	struct fake_object *object = fake.object[nic_irq_fd(irq)];

	fake_raise(object, 1, 1);
	fake_raise(object, 2, 1);
}

TEST(irq__wait)
{
	struct nic_event event;

	start_irq(4, 0, 0);
	EXPECT_EQ(nic_irq_wait(irq, &event, 0), -ETIME);
	EXPECT_EQ(nic_irq_wait(irq, &event, 1000000), -ETIME);
	EXPECT_EQ(fake.sleeps, 1);
	fake.while_asleep = raise_twice;
	EXPECT_EQ(nic_irq_wait(irq, &event, NIC_TIMEOUT_NEVER), 0);
	EXPECT_EQ(event.payload, 1);
	EXPECT_EQ(nic_irq_wait(irq, NULL, 0), 0);
	EXPECT_EQ(nic_irq_wait(irq, &event, 0), -ETIME);
	stop();
}

TEST(irq__wait_count)
{
	struct nic_event event;

	start_irq(1, 0, 0);
	EXPECT_EQ(nic_irq_wait_count(irq, 0, 0), 0);
	for (uint64_t i = 0; i < 5; i++)
		raise_irq(i);
	EXPECT_EQ(nic_irq_wait_count(irq, 3, 0), 0);
	EXPECT_EQ(nic_irq_wait_count(irq, 2, 0), 0);
	EXPECT_EQ(nic_irq_wait_count(irq, 6, 0), -ETIME);
	fake.while_asleep = raise_twice;
	EXPECT_EQ(nic_irq_wait_count(irq, 7, SECOND), 0);
	EXPECT_EQ(nic_irq_wait(irq, &event, 0), -ETIME);
	stop();
}

/* ---- both sides at once ---- */

#define RACE_EVENTS	300000

static void *race_raise(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < RACE_EVENTS; i++)
		raise_irq(i);
	return NULL;
}

/* Every event read is whole, is the next one, or comes after those lost. */
static void race(unsigned int depth)
{
	uint64_t next = 0, lost, missed = 0, taken = 0;
	struct nic_event events[3];
	pthread_t thread;
	unsigned int n, i;

	start_irq(depth, 0, 0);
	if (pthread_create(&thread, NULL, race_raise, NULL))
		abort();
	while (next < RACE_EVENTS) {
		n = nic_irq_poll(irq, events, 3, &lost);
		missed += lost;
		taken += n;
		for (i = 0; i < n; i++) {
			if (events[i].payload < next ||
			    events[i].node != (uint32_t)events[i].payload + 1) {
				UNIT_FAIL("event %ju from %u after %ju",
					  (uintmax_t)events[i].payload,
					  events[i].node, (uintmax_t)next);
				next = RACE_EVENTS;
				break;
			}
			next = events[i].payload + 1;
		}
	}
	pthread_join(thread, NULL);
	if (!unit_failed)
		EXPECT_EQ(missed + taken, RACE_EVENTS);
	stop();
}

TEST(irq__read_while_overwritten)
{
	race(1);
	race(2);
	race(64);
}

static void *race_wait(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < 20000; i++) {
		raise_irq(i);
		if (i % 64 == 63)
			usleep(1);
	}
	return NULL;
}

TEST(irq__no_wake_up_is_lost)
{
	pthread_t thread;

	start_irq(1, 0, 0);
	ASSERT(!pthread_create(&thread, NULL, race_wait, NULL));
	for (uint64_t i = 1; i <= 20000; i++)
		ASSERT_EQ(nic_irq_wait_count(irq, i, 20 * SECOND), 0);
	pthread_join(thread, NULL);
	EXPECT_EQ(nic_irq_count(irq), 20000);
	stop();
}

TEST(irq__polling_before_the_sleep)
{
	pthread_t thread;

	start("50000");
	ASSERT(!nic_irq_create(ctx, 1, 0, NULL, NULL, &irq));
	ASSERT(!pthread_create(&thread, NULL, race_wait, NULL));
	for (uint64_t i = 1; i <= 20000; i++)
		ASSERT_EQ(nic_irq_wait_count(irq, i, 20 * SECOND), 0);
	EXPECT_EQ(nic_irq_wait_count(irq, 20001, 1000000), -ETIME);
	pthread_join(thread, NULL);
	stop();
}
