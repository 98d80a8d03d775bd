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
#include <signal.h>
#include <unistd.h>

#define PEERS		320U	/* of a device */
#define USER_PEERS	192U	/* of one user */
#define STRANGER	1000000U /* node ids from here on are nobody's */
#define MOST		(PEERS + 8)
#define QUEUES		2U
#define LISTS		1U	/* of each queue: few, so that at times none is on the wire */
#define ENTRIES		131072U	/* of each LIST */
#define TRIES		500U	/* to use a node more */

/* A user who asks for a node that is not there, until he is interrupted or refused */
struct seeker {
	const struct node *node;
	__u32 id;
	bool patient;	/* tries again when refused */
	bool ended;	/* atomic */
	int ret;
	struct dmanic_refusal refusal;
	pthread_t thread;
};

static struct seeker seekers[MOST];
static bool enough;	/* atomic: nobody tries again */
static pthread_barrier_t all;

static void on_signal(int number)
{
	(void)number;
}

static void *seek(void *data)
{
	struct seeker *seeker = data;
	struct dmanic_connect arg;

	pthread_barrier_wait(&all);
	do {
		arg = (struct dmanic_connect) {
			.size = sizeof(arg), .node = seeker->id, .id = 1, .key = 1,
		};
		seeker->ret = dmanic_call(seeker->node->fd, DMANIC_IOC_CONNECT, &arg);
		if (seeker->ret == -EDQUOT && seeker->patient)
			breathe();
	} while (seeker->ret == -EDQUOT && seeker->patient &&
		 !__atomic_load_n(&enough, __ATOMIC_RELAXED));
	seeker->refusal = arg.refusal;
	__atomic_store_n(&seeker->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* All at once, each for another node, in turn of one user and the other */
static void seek_begin(const struct node *node, const struct node *other, unsigned int nr,
		       bool patient)
{
	struct sigaction action = { .sa_handler = on_signal };
	unsigned int i;

	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_EQ(pthread_barrier_init(&all, NULL, nr), 0);
	for (i = 0; i < nr; i++) {
		seekers[i] = (struct seeker) {
			.node = i % 2 ? other : node, .id = STRANGER + i, .patient = patient,
		};
		ASSERT_EQ(pthread_create(&seekers[i].thread, NULL, seek, &seekers[i]), 0);
	}
}

/* Of the first @nr */
static unsigned int ended(unsigned int nr)
{
	unsigned int i, count = 0;

	for (i = 0; i < nr; i++)
		count += __atomic_load_n(&seekers[i].ended, __ATOMIC_ACQUIRE);
	return count;
}

static bool interrupted(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!__atomic_load_n(&seekers[i].ended, __ATOMIC_ACQUIRE))
			pthread_kill(seekers[i].thread, SIGUSR1);
	}
	return ended(nr) == nr;
}

static void seek_end(unsigned int nr)
{
	unsigned int i;

	__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
	ASSERT_TRUE(WAIT_FOR(interrupted(nr)));
	for (i = 0; i < nr; i++)
		ASSERT_EQ(pthread_join(seekers[i].thread, NULL), 0);
	pthread_barrier_destroy(&all);
}

/* Of the first @nr: refused for that reason; the others had a place until the end */
static unsigned int refused(unsigned int nr, __u32 limit, __u64 allowed)
{
	unsigned int i, count = 0;

	for (i = 0; i < nr; i++) {
		if (seekers[i].ret == -EINTR)
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
	struct fabric own;	/* where nobody is dead soon */
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
	fabric_make_patient(&self->own, "a", 3, slow_ns(60000));
	node_allow(&self->own, 0);
	self->real = node_open(&self->own, 1);
	self->target = segment_make(&self->real, 4096);
	segment_export(&self->target, DMANIC_RIGHT_WRITE);
	self->last = node_open(&self->own, 2);
	self->further = segment_make(&self->last, 4096);
	segment_export(&self->further, DMANIC_RIGHT_WRITE);
	user_become(100000);
	self->mine = node_open(&self->own, 0);
	user_become(100001);
	self->other = node_open(&self->own, 0);
}

FIXTURE_TEARDOWN(peers)
{
}

static int one_more(struct peers_self *self)
{
	__u32 handle;
	int ret;

	ret = connect_call(&self->mine, 0, self->further.node, self->further.id,
			   self->further.key, &handle);
	return ret ?: disconnect(&self->mine, handle);
}

TEST_F_TIMEOUT(peers, one_user_does_not_need_them_all, 90)
{
	const unsigned int nr = USER_PEERS + 8;

	seek_begin(&self->mine, &self->mine, nr, false);
	EXPECT_TRUE(WAIT_FOR(ended(nr) == nr - USER_PEERS));
	EXPECT_EQ(one_more(self), -EDQUOT);
	/* Meanwhile there is room for others */
	segment_connect(&self->other, &self->target);
	seek_end(nr);
	EXPECT_EQ(refused(nr, DMANIC_LIMIT_USER_PEERS, USER_PEERS), nr - USER_PEERS);
	/* And afterwards for him */
	segment_connect(&self->mine, &self->target);
	user_become(0);
}

TEST_F_TIMEOUT(peers, all_users_do_not_need_more, 90)
{
	seek_begin(&self->mine, &self->other, MOST, false);
	EXPECT_TRUE(WAIT_FOR(ended(MOST) == MOST - PEERS));
	seek_end(MOST);
	EXPECT_EQ(refused(MOST, DMANIC_LIMIT_PEERS, PEERS), MOST - PEERS);
	segment_connect(&self->mine, &self->target);
	segment_connect(&self->other, &self->target);
	user_become(0);
}

/* Queues of which each has LISTs at any time */
struct lists {
	struct queue queues[QUEUES];
	struct dmanic_sqe sqe;
};

/* Each is eight bytes, so that the node is in use, and very many empty entries */
static void lists_begin(struct peers_self *self, struct lists *lists)
{
	struct segment local = segment_make(&self->mine, 4096), list;
	__u32 handle = segment_connect(&self->mine, &self->target);
	struct dmanic_list_entry *entries;
	unsigned int i, n;

	list = segment_make(&self->mine, ENTRIES * sizeof(*entries));
	entries = (void *)list.data;
	entries[0].length = 8;
	lists->sqe = sqe_list(0, local.id, handle, list.id, 0, ENTRIES);
	for (i = 0; i < QUEUES; i++) {
		lists->queues[i] = queue_make(&self->mine, LISTS, LISTS);
		for (n = 0; n < LISTS; n++)
			*queue_sqe(&lists->queues[i]) = lists->sqe;
		queue_submit(&lists->queues[i]);
	}
}

static void lists_go_on(struct lists *lists)
{
	struct dmanic_cqe cqe;
	unsigned int i, n;

	for (i = 0; i < QUEUES; i++) {
		for (n = 0; queue_reap(&lists->queues[i], &cqe); n++) {
			ASSERT_EQ(cqe.status, DMANIC_STATUS_OK);
			*queue_sqe(&lists->queues[i]) = lists->sqe;
		}
		if (n)
			queue_submit(&lists->queues[i]);
	}
}

/* Whether there is a queue that still has some */
static bool lists_there(const struct lists *lists)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		if (sharing_completed(&lists->queues[i]) < LISTS)
			return true;
	}
	return false;
}

/*
 * While LISTs go on; on a machine that is too slow for it, at the next try. Those that are done
 * are not in the ring at once: where there was a place it takes a moment to know
 */
static int one_more_besides(struct peers_self *self, struct lists *lists)
{
	int ret;

	do {
		lists_go_on(lists);
		ret = one_more(self);
		if (!ret)
			usleep(slow_ns(2) / 1000);
	} while (!lists_there(lists));
	return ret;
}

/* Also while nothing of it is on the wire, or he had more than his part in the end */
TEST_F_TIMEOUT(peers, list_that_goes_on_uses_its_node, 90)
{
	const unsigned int others = USER_PEERS - 1;
	struct lists lists;
	unsigned int i;

	lists_begin(self, &lists);
	/* Patient: what is looked with needs a place at times */
	seek_begin(&self->mine, &self->mine, others, true);
	EXPECT_TRUE(WAIT_FOR(one_more_besides(self, &lists) == -EDQUOT));
	for (i = 0; i < TRIES; i++)
		EXPECT_EQ(one_more_besides(self, &lists), -EDQUOT);
	EXPECT_EQ(ended(others), 0);
	seek_end(others);
	EXPECT_EQ(refused(others, DMANIC_LIMIT_USER_PEERS, USER_PEERS), 0);
	for (i = 0; i < QUEUES; i++)
		queue_close(&lists.queues[i]);
	EXPECT_EQ(one_more(self), 0);
	user_become(0);
}

FABRIC_TEST_MAIN_NONE()
