// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_news.c - read() and poll() of a device: what happens to nodes
 *
 * Owns: who is told of what, in which order; that nothing told is lost without a
 * gap in the numbers, that read() never waits, and what it refuses.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

FIXTURE(news) {
	struct fabric own;
	struct node node;	/* reads */
	char other[DMANIC_NAME_MAX];
};

FIXTURE_SETUP(news)
{
	if (fabric_on_netdevs())
		SKIP("only nodes of a loop link fail when they are told to");
	fabric_make(&self->own, "a", 3, NULL);
	self->node = node_open(&self->own, 0);
	fabric_name(&self->own, 1, self->other);
}

FIXTURE_TEARDOWN(news)
{
}

/* How many were read, or -errno */
static int take(int fd, struct dmanic_news *news, unsigned int most)
{
	ssize_t got = read(fd, news, most * sizeof(*news));

	return got < 0 ? -errno : (int)(got / (ssize_t)sizeof(*news));
}

static short look(int fd, int timeout_ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, timeout_ms) < 0 ? -1 : wait.revents;
}

static void fail_and_restart(struct news_self *self, unsigned int times)
{
	while (times--) {
		ASSERT_EQ(device_set_failed(self->other, true), 0);
		ASSERT_EQ(device_set_failed(self->other, false), 0);
	}
}

TEST_F(news, a_neighbour_fails_and_restarts)
{
	struct dmanic_news news[4];

	EXPECT_EQ(look(self->node.fd, 0), 0);
	EXPECT_EQ(take(self->node.fd, news, 4), -EAGAIN);
	fail_and_restart(self, 1);
	EXPECT_EQ(look(self->node.fd, 0), POLLIN);
	ASSERT_EQ(take(self->node.fd, news, 4), 2);
	EXPECT_EQ(news[0].event, DMANIC_EVENT_PEER_DOWN);
	EXPECT_EQ(news[0].node, 1);
	EXPECT_EQ(news[0].number, 0);
	EXPECT_EQ(news[1].event, DMANIC_EVENT_PEER_RESTARTED);
	EXPECT_EQ(news[1].node, 1);
	EXPECT_EQ(news[1].number, 1);
	EXPECT_EQ(look(self->node.fd, 0), 0);
	EXPECT_EQ(take(self->node.fd, news, 4), -EAGAIN);
}

TEST_F(news, the_node_itself_is_told)
{
	struct node other = node_open(&self->own, 1);
	struct dmanic_news news[4];

	fail_and_restart(self, 1);
	ASSERT_EQ(take(other.fd, news, 4), 2);
	EXPECT_EQ(news[0].event, DMANIC_EVENT_FAILED);
	EXPECT_EQ(news[0].node, 1);
	EXPECT_EQ(news[1].event, DMANIC_EVENT_RESTARTED);
}

TEST_F(news, nothing_is_told_twice_or_when_nothing_changes)
{
	struct dmanic_news news[4];

	ASSERT_EQ(device_set_failed(self->other, false), 0);
	EXPECT_EQ(take(self->node.fd, news, 4), -EAGAIN);
	ASSERT_EQ(device_set_failed(self->other, true), 0);
	ASSERT_EQ(device_set_failed(self->other, true), 0);
	EXPECT_EQ(take(self->node.fd, news, 4), 1);
}

TEST_F(news, other_fabrics_are_not_told)
{
	struct dmanic_news news;
	struct fabric apart;
	struct node node;

	fabric_make(&apart, "b", 2, NULL);
	node = node_open(&apart, 0);
	fail_and_restart(self, 1);
	EXPECT_EQ(take(node.fd, &news, 1), -EAGAIN);
}

TEST_F(news, each_context_is_told)
{
	struct node again = node_open(&self->own, 0);
	struct dmanic_news news[4];

	fail_and_restart(self, 1);
	EXPECT_EQ(take(self->node.fd, news, 4), 2);
	EXPECT_EQ(take(again.fd, news, 1), 1);
	EXPECT_EQ(take(again.fd, news, 1), 1);
	EXPECT_EQ(take(again.fd, news, 1), -EAGAIN);
}

TEST_F(news, who_comes_later_is_not_told_of_before)
{
	struct dmanic_news news;
	struct node late;

	fail_and_restart(self, 1);
	late = node_open(&self->own, 0);
	EXPECT_EQ(take(late.fd, &news, 1), -EAGAIN);
}

TEST_F(news, the_last_are_kept_and_a_gap_tells)
{
	struct dmanic_news news[DMANIC_NEWS_KEPT + 1];
	unsigned int i;

	ASSERT_EQ(take(self->node.fd, news, 1), -EAGAIN);
	fail_and_restart(self, DMANIC_NEWS_KEPT);
	ASSERT_EQ(take(self->node.fd, news, DMANIC_NEWS_KEPT + 1), DMANIC_NEWS_KEPT);
	for (i = 0; i < DMANIC_NEWS_KEPT; i++)
		ASSERT_EQ(news[i].number, DMANIC_NEWS_KEPT + i);
	EXPECT_EQ(take(self->node.fd, news, 1), -EAGAIN);
}

TEST_F(news, read_takes_whole_ones)
{
	char bytes[2 * sizeof(struct dmanic_news)];

	fail_and_restart(self, 1);
	EXPECT_EQ(read(self->node.fd, bytes, sizeof(struct dmanic_news) - 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(read(self->node.fd, bytes, sizeof(bytes) - 1),
		  sizeof(struct dmanic_news));
	EXPECT_EQ(read(self->node.fd, bytes, sizeof(bytes)), sizeof(struct dmanic_news));
}

TEST_F(news, a_bad_address_loses_none)
{
	void *nothing = mmap(NULL, page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	struct dmanic_news news[4];

	ASSERT_NE(nothing, MAP_FAILED);
	fail_and_restart(self, 1);
	EXPECT_EQ(take(self->node.fd, nothing, 2), -EFAULT);
	EXPECT_EQ(take(self->node.fd, news, 4), 2);
	EXPECT_EQ(news[0].number, 0);
}

static void *fail_soon(void *data)
{
	struct news_self *self = data;

	usleep(100000);
	device_set_failed(self->other, true);
	return NULL;
}

TEST_F(news, who_polls_is_woken)
{
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, fail_soon, self), 0);
	EXPECT_EQ(look(self->node.fd, (int)(slow_ns(20000) / MS_NS)), POLLIN);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

TEST_F(news, a_removed_device_tells_what_it_has)
{
	struct dmanic_news news[4];

	fail_and_restart(self, 1);
	ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
	EXPECT_EQ(look(self->node.fd, 0), POLLIN | POLLERR | POLLHUP);
	EXPECT_EQ(take(self->node.fd, news, 4), 2);
	EXPECT_EQ(take(self->node.fd, news, 4), -ENODEV);
	EXPECT_EQ(look(self->node.fd, 0), POLLERR | POLLHUP);
}

/* What it costs who tells, not who looks meanwhile */
static __u64 cost_of(struct news_self *self, unsigned int times)
{
	struct timespec begun, ended;

	ASSERT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun), 0);
	fail_and_restart(self, times);
	ASSERT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended), 0);
	return (ended.tv_sec - begun.tv_sec) * SECOND_NS + ended.tv_nsec - begun.tv_nsec;
}

/* Else who changes a device, or any network device, waited until all had looked */
TEST_F_TIMEOUT(news, many_who_watch_do_not_hold_up_who_tells, 120)
{
	enum { TIMES = 5, TRIES = 10 };
	__u64 without = 0, with = 0;
	unsigned int try;

	for (try = 0; try < TRIES; try++)
		without += cost_of(self, TIMES);
	crowd_make(self->node.fd);
	for (try = 0; try < TRIES; try++) {
		with = cost_of(self, TIMES);
		if (with * TRIES < 8 * without)
			return;
	}
	FAIL("%u times cost %llu us, without them %llu us", TIMES, with / 1000,
	     without / TRIES / 1000);
}

/* ---- eventfd ---- */

static int tell(int fd, int eventfd)
{
	struct dmanic_news_eventfd arg = { .size = sizeof(arg), .eventfd = eventfd };

	return ioctl(fd, DMANIC_IOC_NEWS_EVENTFD, &arg) ? -errno : 0;
}

/* What an eventfd counted, zero: nothing */
static uint64_t counted(int eventfd)
{
	uint64_t count = 0;

	if (read(eventfd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		count = UINT64_MAX;
	return count;
}

/* Soon: who waits is woken by somebody else than who tells */
#define signalled(eventfd)	WAIT_FOR(counted(eventfd))

TEST_F(news, an_eventfd_is_signalled)
{
	int first = eventfd(0, EFD_NONBLOCK), second = eventfd(0, EFD_NONBLOCK);

	ASSERT_EQ(tell(self->node.fd, first), 0);
	EXPECT_EQ(counted(first), 0);
	fail_and_restart(self, 1);
	EXPECT_TRUE(signalled(first));
	/* What was not read is told to the next one at once; then to that alone */
	ASSERT_EQ(tell(self->node.fd, second), 0);
	EXPECT_GE(counted(second), 1);
	counted(first);
	fail_and_restart(self, 1);
	EXPECT_TRUE(signalled(second));
	EXPECT_EQ(counted(first), 0);
	ASSERT_EQ(tell(self->node.fd, -1), 0);
	counted(second);
	fail_and_restart(self, 1);
	breathe();
	EXPECT_EQ(counted(second), 0);
	close(first);
	close(second);
}

TEST_F(news, an_eventfd_may_be_closed_meanwhile)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	struct dmanic_news news[4];

	ASSERT_EQ(tell(self->node.fd, fd), 0);
	close(fd);
	fail_and_restart(self, 1);
	EXPECT_EQ(take(self->node.fd, news, 4), 2);
}

TEST_F(news, what_is_no_eventfd_is_refused)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	ASSERT_EQ(tell(self->node.fd, fd), 0);
	EXPECT_EQ(tell(self->node.fd, -2), -EINVAL);
	EXPECT_EQ(tell(self->node.fd, 999), -EBADF);
	EXPECT_EQ(tell(self->node.fd, self->node.fd), -EINVAL);
	/* The one before stays */
	fail_and_restart(self, 1);
	EXPECT_TRUE(signalled(fd));
	close(fd);
}

TEST_F(news, removal_signals_the_eventfd)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	ASSERT_EQ(tell(self->node.fd, fd), 0);
	ASSERT_EQ(fabric_delete(self->own.prefix, true), 0);
	EXPECT_TRUE(signalled(fd));
	EXPECT_EQ(tell(self->node.fd, fd), -ENODEV);
	close(fd);
}

static void *remove_soon(void *data)
{
	struct news_self *self = data;

	usleep(100000);
	fabric_delete(self->own.prefix, true);
	return NULL;
}

TEST_F(news, removal_wakes_who_polls)
{
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, remove_soon, self), 0);
	EXPECT_EQ(look(self->node.fd, (int)(slow_ns(20000) / MS_NS)) & (POLLERR | POLLHUP),
		  POLLERR | POLLHUP);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

/* ---- peers of an ether device ---- */

FIXTURE(peers) {
	struct fabric own;
	struct node node;
	struct node other;
	int told;	/* eventfd of node */
};

FIXTURE_SETUP(peers)
{
	if (!fabric_on_netdevs())
		SKIP("nodes of a loop link need not find each other");
	fabric_make(&self->own, "a", 2, NULL);
	self->node = node_open(&self->own, 0);
	self->other = node_open(&self->own, 1);
	self->told = eventfd(0, EFD_NONBLOCK);
	ASSERT_EQ(tell(self->node.fd, self->told), 0);
}

FIXTURE_TEARDOWN(peers)
{
}

static void is_told(struct peers_self *self, __u32 event)
{
	struct dmanic_news news;

	ASSERT_EQ(look(self->node.fd, (int)(slow_ns(20000) / MS_NS)), POLLIN);
	EXPECT_TRUE(signalled(self->told));
	ASSERT_EQ(take(self->node.fd, &news, 1), 1);
	EXPECT_EQ(news.event, event);
	EXPECT_EQ(news.node, self->other.id);
}

TEST_F_TIMEOUT(peers, poll_and_an_eventfd_tell_of_them, 60)
{
	struct segment segment = segment_make(&self->other, 4096);
	char name[DMANIC_NAME_MAX];

	EXPECT_EQ(look(self->node.fd, 0), 0);
	segment_export(&segment, DMANIC_RIGHT_WRITE);
	segment_connect(&self->node, &segment);
	is_told(self, DMANIC_EVENT_PEER_UP);
	fabric_name(&self->own, 1, name);
	ASSERT_EQ(device_delete(name, true), 0);
	is_told(self, DMANIC_EVENT_PEER_DOWN);
	EXPECT_EQ(look(self->node.fd, 0), 0);
}

TEST_F_TIMEOUT(peers, the_end_of_the_own_device_wakes_who_polls, 60)
{
	char name[DMANIC_NAME_MAX];

	fabric_name(&self->own, 0, name);
	ASSERT_EQ(device_delete(name, true), 0);
	EXPECT_EQ(look(self->node.fd, (int)(slow_ns(20000) / MS_NS)) &
			  (POLLERR | POLLHUP), POLLERR | POLLHUP);
	EXPECT_TRUE(signalled(self->told));
}

FABRIC_TEST_MAIN_NONE()
