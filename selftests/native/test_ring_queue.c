// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rings of queues, against a driver in memory: what is posted arrives once
 * and unchanged, also where indices wrap; full rings say so; SILENT operations
 * are known to be done.
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

static void start_queue(unsigned int entries, uint32_t first_index)
{
	fake_reset();
	fake.first_index = first_index;
	setenv("NIC_SPIN_NS", "0", 1);
	if (nic_open("nic0", &ctx) || nic_queue_create(ctx, entries, &queue))
		abort();
}

static void stop(void)
{
	nic_queue_destroy(queue);
	nic_close(ctx);
	queue = NULL;
}

static struct fake_object *fake_queue(void)
{
	return fake.object[nic_queue_fd(queue)];
}

TEST(queue__sizes)
{
	static const struct {
		unsigned int entries, sq, cq;
	} sizes[] = {
		{ 0, 64, 128 }, { 1, 1, 2 }, { 3, 4, 8 }, { 64, 64, 128 },
		{ 65, 128, 256 }, { 512, 512, 1024 }, { 1024, 1024, 1024 },
	};
	struct nic_queue *other;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		start_queue(sizes[i].entries, 0);
		EXPECT_EQ(fake.queue_create.sq_entries, sizes[i].sq);
		EXPECT_EQ(fake.queue_create.cq_entries, sizes[i].cq);
		EXPECT_EQ(fake.queue_create.eventfd, -1);
		stop();
	}
	start_queue(1, 0);
	EXPECT_EQ(nic_queue_create(ctx, UINT32_MAX, &other), -EINVAL);
	stop();
}

TEST(queue__entries_say_what_was_posted)
{
	const struct nic_stride stride = { 10, 20, 30, 40 };
	struct nic_remote *remote, *target;
	const struct dmanic_sqe *sqe;
	struct nic_segment *seg;

	start_queue(8, 0);
	fake.hold = true;
	ASSERT(!nic_segment_alloc(ctx, 100, &seg));
	ASSERT(!nic_connect(ctx, 1, 9, 77, &remote));
	ASSERT(!nic_connect(ctx, 1, 9, 77, &target));
	ASSERT_EQ(nic_post_nop(queue, NIC_FENCE, 1), 0);
	ASSERT_EQ(nic_post_put(queue, seg, 3, remote, 4, 5, 0, 2), 0);
	ASSERT_EQ(nic_post_get(queue, seg, 3, remote, 4, 5, NIC_SILENT, 3), 0);
	ASSERT_EQ(nic_post_put_notify(queue, seg, 3, remote, 4, 5, target, 6, 0,
				      4), 0);
	ASSERT_EQ(nic_post_put_strided(queue, seg, 3, remote, 4, &stride, 0,
				       5), 0);
	ASSERT_EQ(nic_post_get_strided(queue, seg, 3, remote, 4, &stride, 0,
				       6), 0);
	ASSERT_EQ(nic_post_notify(queue, target, 8, NIC_FENCE | NIC_SILENT,
				  7), 0);
	ASSERT_EQ(nic_post_put_strided_notify(queue, seg, 3, remote, 4, &stride,
					      target, 9, NIC_FENCE, 8), 0);
	ASSERT_EQ(nic_queue_submit(queue), 8);

	sqe = fake_queue()->held;
	for (unsigned int i = 0; i < 7; i++) {
		EXPECT_EQ(sqe[i].cookie, i + 1);
		EXPECT_EQ(sqe[i].opcode, i < 3 ? i : i == 3 ? 1 : i - 1);
		EXPECT_EQ(sqe[i].reserved, 0);
		if (i && i < 6) {
			EXPECT_EQ(sqe[i].local, nic_segment_id(seg));
			EXPECT_EQ(sqe[i].remote, 1);
			EXPECT_EQ(sqe[i].local_offset, 3);
			EXPECT_EQ(sqe[i].remote_offset, 4);
		}
	}
	EXPECT_EQ(sqe[0].flags, DMANIC_SQE_FENCE);
	EXPECT_EQ(sqe[1].flags, 0);
	EXPECT_EQ(sqe[1].length, 5);
	EXPECT_EQ(sqe[2].flags, DMANIC_SQE_SILENT);
	EXPECT_EQ(sqe[3].flags, DMANIC_SQE_NOTIFY);
	EXPECT_EQ(sqe[3].notify, 2);
	EXPECT_EQ(sqe[3].payload, 6);
	EXPECT_EQ(sqe[5].block, 10);
	EXPECT_EQ(sqe[5].count, 20);
	EXPECT_EQ(sqe[5].local_stride, 30);
	EXPECT_EQ(sqe[5].remote_stride, 40);
	EXPECT_EQ(sqe[5].payload, 0);
	EXPECT_EQ(sqe[6].flags, DMANIC_SQE_FENCE | DMANIC_SQE_SILENT);
	EXPECT_EQ(sqe[6].notify, 2);
	EXPECT_EQ(sqe[6].payload, 8);
	EXPECT_EQ(sqe[6].length, 0);
	EXPECT_EQ(sqe[7].opcode, DMANIC_OP_WRITE_STRIDED);
	EXPECT_EQ(sqe[7].flags, DMANIC_SQE_FENCE | DMANIC_SQE_NOTIFY);
	EXPECT_EQ(sqe[7].cookie, 8);
	EXPECT_EQ(sqe[7].local, nic_segment_id(seg));
	EXPECT_EQ(sqe[7].remote, 1);
	EXPECT_EQ(sqe[7].block, 10);
	EXPECT_EQ(sqe[7].remote_stride, 40);
	EXPECT_EQ(sqe[7].notify, 2);
	EXPECT_EQ(sqe[7].payload, 9);

	nic_disconnect(remote);
	nic_disconnect(target);
	nic_segment_free(seg);
	stop();
}

TEST(queue__entries_of_lists_and_atomics)
{
	struct nic_segment *seg, *apart;
	struct nic_remote *remote;
	const struct dmanic_sqe *sqe;
	struct nic_list list = { NULL, 8, 3 };

	start_queue(8, 0);
	fake.hold = true;
	ASSERT(!nic_segment_alloc(ctx, 100, &seg));
	ASSERT(!nic_segment_alloc(ctx, 100, &apart));
	ASSERT(!nic_connect(ctx, 1, 9, 77, &remote));
	ASSERT_EQ(nic_post_put_list(queue, seg, 3, remote, 4, &list, 0, 0), 0);
	list = (struct nic_list){ apart, 8ULL * UINT32_MAX, UINT32_MAX };
	ASSERT_EQ(nic_post_get_list(queue, seg, 3, remote, 4, &list, NIC_SILENT,
				    1), 0);
	ASSERT_EQ(nic_post_fetch_add(queue, remote, 16, UINT64_MAX, NIC_FENCE,
				     2), 0);
	ASSERT_EQ(nic_post_compare_swap(queue, remote, 16, 5, 6, 0, 3), 0);
	ASSERT_EQ(nic_post_swap(queue, remote, 16, 7, 0, 4), 0);
	ASSERT_EQ(nic_queue_submit(queue), 5);

	sqe = fake_queue()->held;
	for (unsigned int i = 0; i < 5; i++) {
		EXPECT_EQ(sqe[i].cookie, i);
		EXPECT_EQ(sqe[i].reserved, 0);
		EXPECT_EQ(sqe[i].notify, 0);
		EXPECT_EQ(sqe[i].remote, 3);
		EXPECT_EQ(sqe[i].local, i < 2 ? nic_segment_id(seg) : 0);
		EXPECT_EQ(sqe[i].local_offset, i < 2 ? 3 : 0);
		EXPECT_EQ(sqe[i].remote_offset, i < 2 ? 4 : 16);
	}
	EXPECT_EQ(sqe[0].opcode, DMANIC_OP_LIST);
	EXPECT_EQ(sqe[0].flags, 0);
	EXPECT_EQ(sqe[0].block, 0);
	EXPECT_EQ(sqe[0].count, 3);
	EXPECT_EQ(sqe[0].list, 0);
	EXPECT_EQ(sqe[0].list_offset, 1);
	EXPECT_EQ(sqe[0].payload, 0);
	EXPECT_EQ(sqe[1].opcode, DMANIC_OP_LIST);
	EXPECT_EQ(sqe[1].flags, DMANIC_SQE_SILENT);
	EXPECT_EQ(sqe[1].block, DMANIC_LIST_READ);
	EXPECT_EQ(sqe[1].count, UINT32_MAX);
	EXPECT_EQ(sqe[1].list, nic_segment_id(apart));
	EXPECT_EQ(sqe[1].list_offset, UINT32_MAX);
	EXPECT_EQ(sqe[2].opcode, DMANIC_OP_FETCH_ADD);
	EXPECT_EQ(sqe[2].flags, DMANIC_SQE_FENCE);
	EXPECT_EQ(sqe[2].payload, UINT64_MAX);
	EXPECT_EQ(sqe[2].compare, 0);
	EXPECT_EQ(sqe[3].opcode, DMANIC_OP_COMPARE_SWAP);
	EXPECT_EQ(sqe[3].compare, 5);
	EXPECT_EQ(sqe[3].payload, 6);
	EXPECT_EQ(sqe[4].opcode, DMANIC_OP_SWAP);
	EXPECT_EQ(sqe[4].payload, 7);
	EXPECT_EQ(sqe[4].compare, 0);
	EXPECT_EQ(sqe[4].length, 0);

	/* Where the ring's entry could not say it begins */
	list.offset = 4;
	EXPECT_EQ(nic_post_put_list(queue, seg, 0, remote, 0, &list, 0, 0),
		  -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "multiple of 8");
	list.offset = 8ULL << 32;
	EXPECT_EQ(nic_post_get_list(queue, seg, 0, remote, 0, &list, 0, 0),
		  -EINVAL);
	EXPECT_EQ(nic_queue_submit(queue), 0);

	nic_disconnect(remote);
	nic_segment_free(apart);
	nic_segment_free(seg);
	stop();
}

TEST(queue__unknown_flags)
{
	start_queue(4, 0);
	EXPECT_EQ(nic_post_nop(queue, 2, 0), -EINVAL);
	EXPECT_EQ(nic_post_nop(queue, 8, 0), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "NIC_FENCE");
	EXPECT_EQ(nic_queue_in_flight(queue), 0);
	EXPECT_EQ(nic_queue_submit(queue), 0);
	EXPECT_EQ(fake.enters, 0);
	stop();
}

TEST(queue__posted_is_not_seen_before_submit)
{
	struct nic_completion done[8];

	start_queue(4, 0);
	for (unsigned int i = 0; i < 4; i++)
		ASSERT_EQ(nic_post_nop(queue, 0, i), 0);
	EXPECT_EQ(((struct dmanic_queue_ring *)fake_queue()->map)->sq_tail, 0);
	EXPECT_EQ(nic_post_nop(queue, 0, 4), -EAGAIN);
	EXPECT_CONTAINS(nic_error_detail(ctx), "nic_queue_submit");
	EXPECT_EQ(nic_queue_in_flight(queue), 4);
	EXPECT_EQ(nic_queue_poll(queue, done, 8), 0);
	EXPECT_EQ(nic_queue_submit(queue), 4);
	EXPECT_EQ(nic_queue_in_flight(queue), 4);
	EXPECT_EQ(nic_queue_poll(queue, done, 3), 3);
	EXPECT_EQ(nic_queue_in_flight(queue), 1);
	EXPECT_EQ(nic_queue_poll(queue, done, 0), 0);
	EXPECT_EQ(nic_queue_poll(queue, done, 8), 1);
	EXPECT_EQ(done[0].cookie, 3);
	EXPECT_EQ(nic_queue_in_flight(queue), 0);
	stop();
}

TEST(queue__no_room_for_completions)
{
	struct nic_completion done[8];

	/* Entries 4, completions 8: two rings full are taken, not three. */
	start_queue(4, 0);
	for (unsigned int i = 0; i < 12; i++) {
		ASSERT_EQ(nic_post_nop(queue, 0, i), 0);
		if (i % 4 == 3)
			EXPECT_EQ(nic_queue_submit(queue), i < 8 ? 4 : 0);
	}
	EXPECT_EQ(nic_post_nop(queue, 0, 12), -EAGAIN);
	EXPECT_CONTAINS(nic_error_detail(ctx), "completion ring is full");
	EXPECT_EQ(nic_queue_poll(queue, done, 2), 2);
	EXPECT_EQ(nic_queue_submit(queue), 2);
	EXPECT_EQ(nic_queue_drain(queue, SECOND), 0);
	EXPECT_EQ(nic_queue_in_flight(queue), 0);
	stop();
}

/* Whatever happens in between, each cookie comes back once. */
static void random_use(uint32_t first_index)
{
	static uint8_t seen[40000];
	struct nic_completion done[7];
	uint64_t posted = 0, state = first_index + 1;
	unsigned int n, i;

	memset(seen, 0, sizeof(seen));
	start_queue(8, first_index);
	while (posted < sizeof(seen)) {
		fake.hold = unit_between(&state, 0, 3);
		for (i = 0; i < unit_random(&state) % 12; i++)
			if (posted < sizeof(seen) &&
			    !nic_post_nop(queue, 0, posted))
				posted++;
		if (unit_between(&state, 0, 3))
			ASSERT(nic_queue_submit(queue) >= 0);
		n = (unsigned int)unit_between(&state, 0,
					       fake_queue()->held_count);
		pthread_mutex_lock(&fake.lock);
		fake_complete(fake_queue(), n);
		pthread_mutex_unlock(&fake.lock);
		n = nic_queue_poll(queue, done,
				   (unsigned int)unit_between(&state, 0, 7));
		for (i = 0; i < n; i++)
			seen[done[i].cookie]++;
	}
	fake.hold = false;
	pthread_mutex_lock(&fake.lock);
	fake_complete(fake_queue(), fake_queue()->held_count);
	pthread_mutex_unlock(&fake.lock);
	while (nic_queue_in_flight(queue)) {
		ASSERT_EQ(nic_queue_wait(queue, done, 1, SECOND), 1);
		seen[done[0].cookie]++;
	}
	for (i = 0; i < sizeof(seen); i++)
		if (seen[i] != 1)
			UNIT_FAIL("cookie %u came %u times", i, seen[i]);
	stop();
}

TEST(queue__random_use)
{
	random_use(0);
	random_use(12345);
}

TEST(queue__indices_wrap)
{
	random_use(UINT32_MAX - 20000);
	random_use(UINT32_MAX);
}

TEST(queue__wait_takes_what_is_there)
{
	struct nic_completion done[4];

	start_queue(4, 0);
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	ASSERT_EQ(nic_post_nop(queue, 0, 2), 0);
	EXPECT_EQ(nic_queue_wait(queue, done, 4, 0), 2);
	EXPECT_EQ(fake.enters, 1);
	EXPECT_EQ(nic_queue_wait(queue, done, 0, 0), -EINVAL);
	EXPECT_EQ(nic_queue_wait(queue, done, 4, 0), -ETIME);
	EXPECT_EQ(fake.enters, 1);
	EXPECT_EQ(nic_queue_wait(queue, done, 4, 1000000), -ETIME);
	EXPECT_EQ(fake.enters, 2);
	EXPECT(fake.longest_timeout <= 1000000);
	EXPECT_CONTAINS(nic_error_detail(ctx), "time-out");
	stop();
}

static void complete_all(void)
{
	fake_complete(fake_queue(), fake_queue()->held_count);
}

TEST(queue__wait_sleeps)
{
	struct nic_completion done[4];

	start_queue(4, 0);
	fake.hold = true;
	fake.while_asleep = complete_all;
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	EXPECT_EQ(nic_queue_wait(queue, done, 4, NIC_TIMEOUT_NEVER), 1);
	EXPECT_EQ(fake.sleeps, 1);
	EXPECT_EQ(fake.longest_timeout, NIC_TIMEOUT_NEVER);
	stop();
}

TEST(queue__enter)
{
	struct nic_completion done[4];

	start_queue(4, 0);
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	EXPECT_EQ(nic_queue_enter(queue, 1, SECOND), 1);
	EXPECT_EQ(nic_queue_enter(queue, 2, 1000), -ETIME);
	/* Then nothing is submitted either */
	ASSERT_EQ(nic_post_nop(queue, 0, 2), 0);
	EXPECT_EQ(nic_queue_enter(queue, 9, SECOND), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "not room for so many");
	EXPECT_EQ(fake_queue()->sq_head, 1);
	EXPECT_EQ(((struct dmanic_queue_ring *)fake_queue()->map)->sq_tail, 1);
	EXPECT_EQ(nic_queue_poll(queue, done, 4), 1);
	stop();
}

TEST(queue__completions_come_before_errors)
{
	struct nic_completion done;

	start_queue(4, 0);
	ASSERT_EQ(nic_post_nop(queue, 0, 1), 0);
	ASSERT_EQ(nic_queue_submit(queue), 1);
	ASSERT_EQ(nic_post_nop(queue, 0, 2), 0);
	fake.fail_enter = ENODEV;
	EXPECT_EQ(nic_queue_wait(queue, &done, 1, SECOND), 1);
	EXPECT_EQ(nic_queue_wait(queue, &done, 1, SECOND), -ENODEV);
	EXPECT_EQ(nic_queue_submit(queue), -ENODEV);
	EXPECT_EQ(nic_queue_drain(queue, SECOND), -ENODEV);
	EXPECT_CONTAINS(nic_error_detail(ctx), "removed");
	fake.fail_enter = EINTR;
	EXPECT_EQ(nic_queue_drain(queue, SECOND), -EINTR);
	fake.fail_enter = 0;
	EXPECT_EQ(nic_queue_drain(queue, SECOND), 0);
	stop();
}

static uint32_t odd_fail(const struct dmanic_sqe *sqe)
{
	return sqe->opcode == DMANIC_OP_NOP && sqe->cookie < 1000 &&
	       sqe->cookie % 2 ? DMANIC_STATUS_BOUNDS : DMANIC_STATUS_OK;
}

TEST(queue__drain_names_the_first_failure)
{
	start_queue(4, 0);
	fake.outcome = odd_fail;
	for (unsigned int i = 0; i < 4; i++)
		ASSERT_EQ(nic_post_nop(queue, 0, i + 16), 0);
	EXPECT_EQ(nic_queue_drain(queue, SECOND), -EREMOTEIO);
	EXPECT_CONTAINS(nic_error_detail(ctx), "2 operations failed");
	EXPECT_CONTAINS(nic_error_detail(ctx), "NOP with cookie 0x11: out of bounds");
	EXPECT_EQ(nic_queue_drain(queue, SECOND), 0);
	stop();
}

TEST(queue__drain_waits_for_silent)
{
	struct nic_completion done;

	start_queue(4, 0);
	fake.hold = true;
	/* More than the completion ring has room for: 8 */
	for (unsigned int i = 0; i < 12; i++) {
		ASSERT_EQ(nic_post_nop(queue, NIC_SILENT, i), 0);
		if (i % 4 == 3)
			ASSERT_EQ(nic_queue_submit(queue), i < 8 ? 4 : 0);
	}
	EXPECT_EQ(nic_queue_in_flight(queue), 0);
	EXPECT_EQ(nic_queue_drain(queue, 3000000), -ETIME);
	EXPECT_EQ(fake_queue()->held_count, 8);
	complete_all();
	EXPECT_EQ(nic_queue_drain(queue, 3000000), -ETIME);
	/* The other four, and a marker behind them */
	EXPECT_EQ(fake_queue()->held_count, 5);
	EXPECT_EQ(fake_queue()->held[4].flags, DMANIC_SQE_FENCE);
	complete_all();
	EXPECT_EQ(nic_queue_in_flight(queue), 0);
	EXPECT_EQ(nic_queue_poll(queue, &done, 1), 0);
	EXPECT_EQ(nic_queue_drain(queue, 0), 0);
	stop();
}

TEST(queue__silent_that_fails_is_told)
{
	struct nic_completion done[4];

	start_queue(4, 0);
	fake.outcome = odd_fail;
	ASSERT_EQ(nic_post_nop(queue, NIC_SILENT, 1), 0);
	ASSERT_EQ(nic_post_nop(queue, NIC_SILENT, 2), 0);
	ASSERT_EQ(nic_queue_submit(queue), 2);
	EXPECT_EQ(nic_queue_poll(queue, done, 4), 1);
	EXPECT_EQ(done[0].cookie, 1);
	EXPECT_EQ(done[0].status, NIC_BOUNDS);
	EXPECT_EQ(nic_queue_in_flight(queue), 0);
	ASSERT_EQ(nic_post_nop(queue, NIC_SILENT, 3), 0);
	ASSERT_EQ(nic_post_nop(queue, 0, 4), 0);
	EXPECT_EQ(nic_queue_drain(queue, SECOND), -EREMOTEIO);
	EXPECT_EQ(nic_queue_in_flight(queue), 0);
	stop();
}

static void complete_first(void)
{
	pthread_mutex_lock(&fake.lock);
	fake_complete(fake_queue(), 1);
	pthread_mutex_unlock(&fake.lock);
}

/* Its completion was all there was to tell of it, and is taken */
TEST(queue__failure_before_a_time_out_is_told_by_the_next_drain)
{
	start_queue(4, 0);
	fake.hold = true;
	fake.outcome = odd_fail;
	ASSERT_EQ(nic_post_nop(queue, NIC_SILENT, 1), 0);
	ASSERT_EQ(nic_post_nop(queue, 0, 2), 0);
	ASSERT_EQ(nic_queue_submit(queue), 2);
	complete_first();
	EXPECT_EQ(nic_queue_drain(queue, 1000000), -ETIME);
	complete_all();
	EXPECT_EQ(nic_queue_drain(queue, SECOND), -EREMOTEIO);
	EXPECT_CONTAINS(nic_error_detail(ctx), "1 operations failed, first NOP with cookie 0x1");
	/* And by no other */
	EXPECT_EQ(nic_queue_drain(queue, SECOND), 0);
	stop();
}

/* A SILENT one that failed is not one of those that are counted */
TEST(queue__in_flight_is_right_when_silent_ones_fail)
{
	start_queue(4, 0);
	fake.hold = true;
	fake.outcome = odd_fail;
	ASSERT_EQ(nic_post_nop(queue, NIC_SILENT, 1), 0);
	EXPECT_EQ(nic_queue_drain(queue, 1000000), -ETIME);
	ASSERT_EQ(nic_post_nop(queue, 0, 2), 0);
	ASSERT_EQ(nic_queue_submit(queue), 1);
	EXPECT_EQ(nic_queue_in_flight(queue), 1);
	/* The one that fails, and the marker behind it */
	complete_first();
	complete_first();
	EXPECT_EQ(nic_queue_drain(queue, 1000000), -ETIME);
	EXPECT_EQ(nic_queue_in_flight(queue), 1);
	complete_all();
	EXPECT_EQ(nic_queue_drain(queue, SECOND), -EREMOTEIO);
	EXPECT_EQ(nic_queue_in_flight(queue), 0);
	stop();
}

static void complete_all_at_last(void)
{
	complete_all();
	fake.hold = false;
}

/* SILENT operations that hold all the room wake nobody when they are done. */
TEST(queue__wait_behind_silent)
{
	struct nic_completion done;

	start_queue(4, 0);
	fake.hold = true;
	for (unsigned int i = 0; i < 8; i++) {
		ASSERT_EQ(nic_post_nop(queue, NIC_SILENT, i), 0);
		if (i % 4 == 3)
			ASSERT_EQ(nic_queue_submit(queue), 4);
	}
	ASSERT_EQ(nic_post_nop(queue, 0, 99), 0);
	EXPECT_EQ(nic_queue_wait(queue, &done, 1, 5000000), -ETIME);
	fake.while_asleep = complete_all_at_last;
	EXPECT_EQ(nic_queue_wait(queue, &done, 1, 20 * SECOND), 1);
	EXPECT_EQ(done.cookie, 99);
	/* So it must not sleep for long. */
	EXPECT(fake.longest_timeout < SECOND);
	stop();
}

static void post_again(void *arg, const struct nic_completion *done)
{
	unsigned int *count = arg;

	EXPECT_EQ(done->cookie, *count);
	++*count;
	EXPECT_EQ(nic_post_nop(queue, 0, *count), 0);
	EXPECT_EQ(nic_queue_submit(queue), 1);
}

TEST(queue__callbacks_may_post)
{
	unsigned int count = 0;

	start_queue(1, 0);
	ASSERT_EQ(nic_post_nop(queue, 0, 0), 0);
	ASSERT_EQ(nic_queue_submit(queue), 1);
	EXPECT_EQ(nic_queue_dispatch(queue, 100, post_again, &count), 100);
	EXPECT_EQ(count, 100);
	EXPECT_EQ(nic_queue_in_flight(queue), 1);
	stop();
}
