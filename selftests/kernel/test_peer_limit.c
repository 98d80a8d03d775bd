// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_peer_limit.c - how many other nodes are in use at once, over network devices
 *
 * Owns: neither one user nor all users together need more places than there are, a
 * refusal names the limit, and who is refused does not stop others.
 */
#include "sharing.h"

#include <errno.h>
#include <pthread.h>

#define PEERS		320U	/* of a device */
#define USER_PEERS	192U	/* of one user */
#define STRANGER	1000000U /* node ids from here on are nobody's */
#define MOST		(PEERS + 8)
#define QUEUES		8U
#define LISTS		4U	/* of each queue */
#define ENTRIES		131072U	/* of each LIST */

/* A user who asks for a node that is not there */
struct seeker {
	const struct node *node;
	__u32 id;
	int ret;
	struct dmanic_refusal refusal;
	pthread_t thread;
};

static struct seeker seekers[MOST];
static pthread_barrier_t all;

static void *seek(void *data)
{
	struct seeker *seeker = data;
	struct dmanic_connect arg = {
		.size = sizeof(arg), .node = seeker->id, .id = 1, .key = 1,
	};

	pthread_barrier_wait(&all);
	seeker->ret = dmanic_call(seeker->node->fd, DMANIC_IOC_CONNECT, &arg);
	seeker->refusal = arg.refusal;
	return NULL;
}

/* All at once, each for another node, in turn of one user and the other */
static void seek_begin(const struct node *node, const struct node *other, unsigned int nr)
{
	unsigned int i;

	ASSERT_EQ(pthread_barrier_init(&all, NULL, nr), 0);
	for (i = 0; i < nr; i++) {
		seekers[i].node = i % 2 ? other : node;
		seekers[i].id = STRANGER + i;
		ASSERT_EQ(pthread_create(&seekers[i].thread, NULL, seek, &seekers[i]), 0);
	}
}

static void seek_end(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		ASSERT_EQ(pthread_join(seekers[i].thread, NULL), 0);
	pthread_barrier_destroy(&all);
}

/* Of the first @nr: refused for that reason; the others found nobody */
static unsigned int refused(unsigned int nr, __u32 limit, __u64 allowed)
{
	unsigned int i, count = 0;

	for (i = 0; i < nr; i++) {
		if (seekers[i].ret == -EHOSTUNREACH)
			continue;
		ASSERT_EQ(seekers[i].ret, -EDQUOT);
		ASSERT_EQ(seekers[i].refusal.limit, limit);
		ASSERT_EQ(seekers[i].refusal.allowed, allowed);
		ASSERT_EQ(seekers[i].refusal.asked, allowed + 1);
		count++;
	}
	return count;
}

FIXTURE(peers) {
	struct node mine;	/* of one user */
	struct node other;	/* of another */
	struct node real;	/* what they may connect to */
	struct segment target;
	struct node last;	/* and one more */
	struct segment further;
};

FIXTURE_SETUP(peers)
{
	if (!fabric_on_netdevs())
		SKIP("only links over network devices have to find nodes");
	node_allow(&fabric, 0);
	self->real = node_open(&fabric, 1);
	self->target = segment_make(&self->real, 4096);
	segment_export(&self->target, DMANIC_RIGHT_WRITE);
	self->last = node_open(&fabric, 2);
	self->further = segment_make(&self->last, 4096);
	segment_export(&self->further, DMANIC_RIGHT_WRITE);
	user_become(100000);
	self->mine = node_open(&fabric, 0);
	user_become(100001);
	self->other = node_open(&fabric, 0);
}

FIXTURE_TEARDOWN(peers)
{
}

TEST_F_TIMEOUT(peers, one_user_does_not_need_them_all, 60)
{
	unsigned int nr;

	seek_begin(&self->mine, &self->mine, USER_PEERS + 8);
	/* Meanwhile there is room for others */
	segment_connect(&self->other, &self->target);
	seek_end(USER_PEERS + 8);
	nr = refused(USER_PEERS + 8, DMANIC_LIMIT_USER_PEERS, USER_PEERS);
	EXPECT_GE(nr, 1);
	EXPECT_LE(nr, 8);
	/* And afterwards for him */
	segment_connect(&self->mine, &self->target);
	user_become(0);
}

TEST_F_TIMEOUT(peers, all_users_do_not_need_more, 60)
{
	unsigned int nr;

	seek_begin(&self->mine, &self->other, MOST);
	seek_end(MOST);
	nr = refused(MOST, DMANIC_LIMIT_PEERS, PEERS);
	EXPECT_GE(nr, 1);
	/* One more: the real one, from before */
	EXPECT_LE(nr, MOST - PEERS + 1);
	segment_connect(&self->mine, &self->target);
	segment_connect(&self->other, &self->target);
	user_become(0);
}

/* Each of them is eight bytes, so that the node is in use, and very many empty entries */
static void lists_begin(struct peers_self *self, __u32 handle, struct queue *queues)
{
	struct segment local = segment_make(&self->mine, 4096), list;
	struct dmanic_list_entry *entries;
	unsigned int i, n;

	list = segment_make(&self->mine, ENTRIES * sizeof(*entries));
	entries = (void *)list.data;
	entries[0].length = 8;
	for (i = 0; i < QUEUES; i++) {
		queues[i] = queue_make(&self->mine, LISTS, LISTS);
		for (n = 0; n < LISTS; n++)
			*queue_sqe(&queues[i]) = sqe_list(0, local.id, handle, list.id, 0,
							  ENTRIES);
	}
}

static int one_more(struct peers_self *self)
{
	__u32 handle;
	int ret;

	ret = connect_call(&self->mine, 0, self->further.node, self->further.id,
			   self->further.key, &handle);
	return ret ?: disconnect(&self->mine, handle);
}

/* Also while nothing of it is on the wire, or he had more than his part in the end */
TEST_F_TIMEOUT(peers, list_that_goes_on_uses_its_node, 60)
{
	const unsigned int others = USER_PEERS - 1;
	__u32 handle = segment_connect(&self->mine, &self->target);
	struct queue queues[QUEUES];
	unsigned int i;

	lists_begin(self, handle, queues);
	/* The first time they need memory, the second time they are in use all at once */
	seek_begin(&self->mine, &self->mine, others);
	seek_end(others);
	seek_begin(&self->mine, &self->mine, others);
	for (i = 0; i < QUEUES; i++)
		queue_submit(&queues[i]);
	EXPECT_TRUE(WAIT_FOR(one_more(self) == -EDQUOT));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(one_more(self), -EDQUOT);
	/* Or the test is too short */
	EXPECT_LT(sharing_completed(&queues[QUEUES - 1]), LISTS);
	seek_end(others);
	EXPECT_EQ(refused(others, DMANIC_LIMIT_USER_PEERS, USER_PEERS), 0);
	for (i = 0; i < QUEUES; i++)
		queue_close(&queues[i]);
	EXPECT_EQ(one_more(self), 0);
	user_become(0);
}

FABRIC_TEST_MAIN()
