// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_user_limit.c - one user never takes all of a device
 *
 * Owns: the share of a user of the device's limits, that CAP_SYS_RESOURCE goes
 * past it, and that what a user gives back he may take again.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define MANY_FILES	(1 << 17)

/* Users who own nothing yet */
static uid_t someone(void)
{
	return 100000 + 2 * getpid();
}

static uid_t another(void)
{
	return someone() + 1;
}

/* ---- one object of a kind: its descriptor or id, or -errno ---- */

static int make_queue(const struct node *node, int eventfd,
		      struct dmanic_refusal *refusal)
{
	struct dmanic_queue_create arg = {
		.size = sizeof(arg), .sq_entries = 1, .cq_entries = 1,
		.eventfd = eventfd,
	};
	int ret = dmanic_call(node->fd, DMANIC_IOC_QUEUE_CREATE, &arg);

	*refusal = arg.refusal;
	return ret ?: arg.fd;
}

static int make_irq(const struct node *node, int eventfd,
		    struct dmanic_refusal *refusal)
{
	struct dmanic_irq_create arg = {
		.size = sizeof(arg), .depth = 1, .eventfd = eventfd,
	};
	int ret = dmanic_call(node->fd, DMANIC_IOC_IRQ_CREATE, &arg);

	*refusal = arg.refusal;
	return ret ?: arg.fd;
}

static int make_segment(const struct node *node, int eventfd,
			struct dmanic_refusal *refusal)
{
	struct dmanic_segment_create arg = {
		.size = sizeof(arg), .length = 1,
	};
	int ret = dmanic_call(node->fd, DMANIC_IOC_SEGMENT_CREATE, &arg);

	(void)eventfd;
	*refusal = arg.refusal;
	return ret ?: (int)arg.id;
}

static void give_file(const struct node *node, int made)
{
	(void)node;
	ASSERT_EQ(close(made), 0);
}

static void give_segment(const struct node *node, int made)
{
	struct segment segment = { .fd = node->fd, .id = made };

	ASSERT_EQ(segment_destroy(&segment), 0);
}

static void allow(const struct fabric *of)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct rlimit files = { MANY_FILES, MANY_FILES };

	node_allow(of, 0);
	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &all), 0);
	if (setrlimit(RLIMIT_NOFILE, &files))
		SKIP("cannot have %u open files", MANY_FILES);
}

/* ---- each kind that a context makes ---- */

FIXTURE(user_limit) {
	struct dmanic_query query;
	__u32 share;
};

FIXTURE_VARIANT(user_limit) {
	int (*make)(const struct node *node, int eventfd,
		    struct dmanic_refusal *refusal);
	void (*give)(const struct node *node, int made);
	size_t max;			/* its place in struct dmanic_query */
	__u32 limit;
};

FIXTURE_VARIANT_ADD(user_limit, queues) {
	make_queue, give_file, offsetof(struct dmanic_query, max_queues),
	DMANIC_LIMIT_USER_QUEUES,
};
FIXTURE_VARIANT_ADD(user_limit, irqs) {
	make_irq, give_file, offsetof(struct dmanic_query, max_irqs),
	DMANIC_LIMIT_USER_IRQS,
};
FIXTURE_VARIANT_ADD(user_limit, segments) {
	make_segment, give_segment, offsetof(struct dmanic_query, max_segments),
	DMANIC_LIMIT_USER_SEGMENTS,
};

FIXTURE_SETUP(user_limit)
{
	struct node node;
	__u32 max;

	if (harness_slow() > 4)
		SKIP("too many objects for a slow machine");
	allow(&fabric);
	node = node_open(&fabric, 0);
	node_query(&node, &self->query);
	node_close(&node);
	memcpy(&max, (char *)&self->query + variant->max, sizeof(max));
	self->share = max / self->query.user_share;
}

FIXTURE_TEARDOWN(user_limit)
{
}

/* Exactly @expected of them; the last */
static int make_all(const struct user_limit_variant *variant,
		    const struct node *node, __u32 expected)
{
	struct dmanic_refusal refusal;
	int made = -1;
	__u32 i;

	for (i = 0; i < expected; i++) {
		made = variant->make(node, -1, &refusal);
		ASSERT_GE(made, 0);
	}
	return made;
}

/* With one more there would be @asked. */
static void check_refused(const struct user_limit_variant *variant,
			  const struct node *node, __u32 asked, __u32 share)
{
	struct dmanic_refusal refusal;

	ASSERT_EQ(variant->make(node, -1, &refusal), -EDQUOT);
	EXPECT_EQ(refusal.limit, variant->limit);
	EXPECT_EQ(refusal.asked, asked);
	EXPECT_EQ(refusal.allowed, share);
}

TEST_F_TIMEOUT(user_limit, others_have_their_share, 60)
{
	struct node mine, more, other;
	struct dmanic_refusal refusal;
	int last;

	user_become(someone());
	mine = node_open(&fabric, 0);
	more = node_open(&fabric, 0);
	last = make_all(variant, &mine, self->share);
	check_refused(variant, &mine, self->share + 1, self->share);
	check_refused(variant, &more, self->share + 1, self->share);

	user_become(another());
	other = node_open(&fabric, 0);
	EXPECT_GE(variant->make(&other, -1, &refusal), 0);
	EXPECT_EQ(refusal.limit, DMANIC_LIMIT_NONE);

	user_become(someone());
	variant->give(&mine, last);
	EXPECT_GE(variant->make(&more, -1, &refusal), 0);
	check_refused(variant, &mine, self->share + 1, self->share);
}

/* As many as one context may have are all that a user may, in whichever contexts */
TEST_TIMEOUT(user_limit, connections_of_all_contexts, 240)
{
	struct node mine, more, other;
	struct dmanic_connect arg;
	struct dmanic_query query;
	struct segment target;
	__u32 i, few = 10;

	if (harness_load(100) < 100)
		SKIP("makes a million connections; runs with LOAD=100");
	allow(&fabric);
	user_become(someone());
	mine = node_open(&fabric, 0);
	more = node_open(&fabric, 0);
	node_query(&mine, &query);
	target = segment_make(&mine, 1);
	segment_export(&target, DMANIC_RIGHT_READ);
	arg = (struct dmanic_connect) {
		.size = sizeof(arg), .node = mine.id, .id = target.id, .key = target.key,
	};
	for (i = 0; i < query.max_connections - few; i++)
		ASSERT_EQ(dmanic_call(mine.fd, DMANIC_IOC_CONNECT, &arg), 0);
	for (i = 0; i < few; i++)
		ASSERT_EQ(dmanic_call(more.fd, DMANIC_IOC_CONNECT, &arg), 0);
	ASSERT_EQ(dmanic_call(more.fd, DMANIC_IOC_CONNECT, &arg), -EDQUOT);
	EXPECT_EQ(arg.refusal.limit, DMANIC_LIMIT_USER_CONNECTIONS);
	EXPECT_EQ(arg.refusal.asked, query.max_connections + 1ULL);
	EXPECT_EQ(arg.refusal.allowed, query.max_connections);

	user_become(another());
	other = node_open(&fabric, 0);
	EXPECT_EQ(dmanic_call(other.fd, DMANIC_IOC_CONNECT, &arg), 0);

	user_become(someone());
	ASSERT_EQ(disconnect(&mine, 1), 0);
	EXPECT_EQ(dmanic_call(more.fd, DMANIC_IOC_CONNECT, &arg), 0);
	EXPECT_EQ(dmanic_call(more.fd, DMANIC_IOC_CONNECT, &arg), -EDQUOT);
	/* What goes with its context is given back, too */
	node_close(&more);
	EXPECT_EQ(dmanic_call(mine.fd, DMANIC_IOC_CONNECT, &arg), 0);
}

/* ---- with the kind of which there are fewest ---- */

static const struct user_limit_variant queues = {
	make_queue, give_file, offsetof(struct dmanic_query, max_queues),
	DMANIC_LIMIT_USER_QUEUES,
};

FIXTURE(user_share) {
	struct node node;		/* root's */
	__u32 contexts;
	__u32 queues;
};

FIXTURE_SETUP(user_share)
{
	struct dmanic_query query;

	allow(&fabric);
	self->node = node_open(&fabric, 0);
	node_query(&self->node, &query);
	self->contexts = query.max_contexts / query.user_share;
	self->queues = query.max_queues / query.user_share;
}

FIXTURE_TEARDOWN(user_share)
{
}

TEST_F_TIMEOUT(user_share, contexts, 60)
{
	int fd = -1, last = -1;
	__u32 i;

	user_become(someone());
	for (i = 0; i <= self->contexts; i++) {
		fd = node_path_open(self->node.name, O_RDWR);
		if (fd < 0)
			break;
		last = fd;
	}
	EXPECT_EQ(i, self->contexts);
	ASSERT_EQ(fd, -EDQUOT);
	user_become(another());
	EXPECT_GE(node_path_open(self->node.name, O_RDWR), 0);
	user_become(someone());
	ASSERT_EQ(close(last), 0);
	EXPECT_GE(node_path_open(self->node.name, O_RDWR), 0);
	EXPECT_EQ(node_path_open(self->node.name, O_RDWR), -EDQUOT);
	user_become(0);
	EXPECT_GE(node_path_open(self->node.name, O_RDWR), 0);
}

TEST_F_TIMEOUT(user_share, root_goes_past_it, 60)
{
	struct node other;

	make_all(&queues, &self->node, self->queues + 10);
	/* Whom root lets use its context uses up root's, without privilege. */
	user_become(someone());
	check_refused(&queues, &self->node, self->queues + 11, self->queues);
	/* His own share is whole. */
	other = node_open(&fabric, 0);
	make_all(&queues, &other, self->queues);
	check_refused(&queues, &other, self->queues + 1, self->queues);
}

/* Charged is who opened the device; asked for the capability who calls. */
TEST_F_TIMEOUT(user_share, privilege_is_the_callers, 60)
{
	struct dmanic_refusal refusal;
	struct node mine;
	int first, second;

	user_become(someone());
	mine = node_open(&fabric, 0);
	make_all(&queues, &mine, self->queues);
	user_become(0);
	first = make_queue(&mine, -1, &refusal);
	ASSERT_GE(first, 0);
	EXPECT_EQ(refusal.limit, DMANIC_LIMIT_NONE);
	second = make_queue(&mine, -1, &refusal);
	ASSERT_GE(second, 0);

	user_become(someone());
	check_refused(&queues, &mine, self->queues + 3, self->queues);
	ASSERT_EQ(close(first), 0);
	check_refused(&queues, &mine, self->queues + 2, self->queues);
	ASSERT_EQ(close(second), 0);
	check_refused(&queues, &mine, self->queues + 1, self->queues);
}

/* More often than there may be at once, also when it fails half-way */
TEST_F_TIMEOUT(user_share, what_is_given_back_is_there_again, 60)
{
	struct dmanic_refusal refusal;
	struct node mine, more;
	__u32 i;
	int fd;

	user_become(someone());
	mine = node_open(&fabric, 0);
	for (i = 0; i < self->queues + 10; i++) {
		more = node_open(&fabric, 0);
		fd = make_queue(&more, -1, &refusal);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(make_queue(&more, MANY_FILES, &refusal), -EBADF);
		/* Now the context is closed first, now the queue */
		ASSERT_EQ(close(i & 1 ? fd : more.fd), 0);
		ASSERT_EQ(close(i & 1 ? more.fd : fd), 0);
	}
	make_all(&queues, &mine, self->queues);
	check_refused(&queues, &mine, self->queues + 1, self->queues);
}

FABRIC_TEST_MAIN()
