// SPDX-License-Identifier: GPL-2.0-only
/*
 * Teams whose ranks are threads, each with an environment and a node of its
 * own: who joins, who is missing, who died, and that nobody leaves a barrier
 * before all have come, though some are fast and some are slow.
 *
 * Sources: libnic/core/queue.c libnic/core/post.c libnic/core/interrupt.c
 * Sources: libnic/core/device.c
 * Sources: libnic/core/segment.c libnic/core/error.c libnic/comm/team.c
 * Sources: libnic/comm/barrier.c libnic/comm/launcher.c
 * Flags: -Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap
 * Flags: -Wl,--wrap=getenv -lpthread
 */
#include <nic_team.h>

#include "fake_driver.h"
#include "unit.h"

#define SECOND	1000000000ULL
#define MS	1000000ULL
#define RANKS	9

/* ---- an environment for each thread ---- */

/* name, value, name, value, NULL */
static __thread struct {
	const char *word[16];
} env;

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);
char *__wrap_getenv(const char *name)
{
	if (strncmp(name, "NIC_", 4) && strncmp(name, "SLURM", 5) &&
	    strncmp(name, "OMPI", 4) && strncmp(name, "PMI", 3))
		return __real_getenv(name);
	for (int i = 0; env.word[i]; i += 2)
		if (!strcmp(env.word[i], name))
			return (char *)env.word[i + 1];
	return NULL;
}

#define ENV(...) do {							\
	static const char *const words[] = { __VA_ARGS__, NULL };	\
									\
	memset(&env, 0, sizeof(env));					\
	memcpy(env.word, words, sizeof(words));				\
} while (0)

/* Join with the environment given; a team of one, or an error. */
static int join_alone(uint32_t node, struct nic_team **team,
		      struct nic_ctx **ctx)
{
	char name[32];

	snprintf(name, sizeof(name), "nic%" PRIu32, node);
	if (nic_open(name, ctx))
		abort();
	return nic_team_init(*ctx, 20 * MS, team);
}

static void check_refused(const char *part)
{
	struct nic_team *team;
	struct nic_ctx *ctx;

	EXPECT_EQ(join_alone(0, &team, &ctx), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), part);
	nic_close(ctx);
}

TEST(team__of_one)
{
	struct nic_segment *seg;
	struct nic_team *team;
	struct nic_ctx *ctx;
	struct nic_irq *irq;

	memset(&env, 0, sizeof(env));
	ASSERT_EQ(join_alone(5, &team, &ctx), 0);
	EXPECT_EQ(nic_team_rank(team), 0);
	EXPECT_EQ(nic_team_size(team), 1);
	EXPECT_EQ(nic_team_node(team, 0), 5);
	EXPECT_EQ(nic_team_node(team, 1), UINT32_MAX);
	EXPECT_EQ(nic_team_barrier(team, 0), 0);
	ASSERT_EQ(nic_segment_alloc(ctx, 1, &seg), 0);
	EXPECT_EQ(nic_team_share(team, seg, NIC_READ, "tag"), 0);
	EXPECT_CONTAINS(fake.export.name, "/0/s/tag");
	EXPECT_EQ(nic_team_irq_create(team, "tag", 1, 0, &irq), 0);
	EXPECT_CONTAINS(fake.irq_create.name, "/0/i/tag");
	nic_irq_destroy(irq);
	nic_segment_free(seg);
	nic_team_finalize(team);
	nic_team_finalize(NULL);
	nic_close(ctx);
}

TEST(team__bad_environment)
{
	ENV("NIC_RANK", "0");
	check_refused("only one of rank and size");
	ENV("NIC_SIZE", "2");
	check_refused("only one of rank and size");
	ENV("NIC_RANK", "2", "NIC_SIZE", "2");
	check_refused("NIC_RANK is \"2\": the rank must be less");
	ENV("NIC_RANK", "0", "NIC_SIZE", "0");
	check_refused("1 rank at least");
	ENV("NIC_RANK", "x", "NIC_SIZE", "2");
	check_refused("no number");
	ENV("NIC_RANK", "0", "NIC_SIZE", "99999999");
	check_refused("too large");
	ENV("NIC_RANK", "0", "NIC_SIZE", "2", "NIC_NODES", "0,");
	check_refused("no list");
	ENV("NIC_RANK", "0", "NIC_SIZE", "2", "NIC_NODES", "0");
	check_refused("as many nodes as there are ranks, 2");
	ENV("NIC_RANK", "0", "NIC_SIZE", "2", "NIC_NODES", "0-2");
	check_refused("as many nodes as there are ranks, 2");
	ENV("NIC_RANK", "1", "NIC_SIZE", "2");
	check_refused("rank 1 is on node 1, but nic0 is node 0");
	ENV("NIC_RANK", "0", "NIC_SIZE", "1", "NIC_SECRET", "123");
	check_refused("32 hexadecimal digits");
	ENV("NIC_RANK", "0", "NIC_SIZE", "1", "NIC_SECRET",
	    "0123456789abcdefg123456789abcdef");
	check_refused("32 hexadecimal digits");
	ENV("NIC_RANK", "0", "NIC_SIZE", "1", "NIC_SECRET",
	    "0123456789abcdef0123456789abcdef0");
	check_refused("32 hexadecimal digits");
}

static void check_rank(unsigned int rank, const char *job)
{
	struct nic_team *team;
	struct nic_ctx *ctx;

	/* It waits for the others, in vain. */
	EXPECT_EQ(join_alone(rank, &team, &ctx), -ETIME);
	EXPECT_CONTAINS(nic_error_detail(ctx), "join the team of 3");
	EXPECT(!strncmp(fake.irq_create.name, job, strlen(job)));
	EXPECT(strchr("/.", fake.irq_create.name[strlen(job)]));
	nic_close(ctx);
}

/* Behind the job id comes the rank, or a number if it is not the first team. */
TEST(team__launchers)
{
	ENV("NIC_RANK", "2", "NIC_SIZE", "3", "NIC_JOB", "jab", "PMI_RANK", "1",
	    "PMI_SIZE", "2");
	check_rank(2, "jab");
	ENV("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "3",
	    "SLURM_PROCID", "0", "SLURM_NTASKS", "9");
	check_rank(1, "job");
	ENV("PMI_RANK", "0", "PMI_SIZE", "3");
	check_rank(0, "job");
	ENV("SLURM_PROCID", "2", "SLURM_NTASKS", "3", "SLURM_JOB_ID", "1234567",
	    "SLURM_STEP_ID", "12");
	check_rank(2, "1234567.12");
	ENV("PMI_RANK", "0", "PMI_SIZE", "3", "PMI_JOBID",
	    "prterun-a-very-long-host-name-4711@1");
	check_rank(0, "684af04015961f63");
}

/* ---- ranks as threads ---- */

struct member {
	unsigned int rank;
	int (*work)(struct member *member);
	int ret;
	char detail[300];
	struct nic_ctx *ctx;
	struct nic_team *team;
	uint64_t random;
};

static unsigned int size;
static bool two_on_a_node;
static uint64_t join_timeout;
static unsigned int late_secret;	/* rank that has another one */
static unsigned int came[400];

static void member_env(const struct member *member, char words[6][64])
{
	snprintf(words[0], 64, "%u", member->rank);
	snprintf(words[1], 64, "%u", size);
	for (unsigned int i = 0; i < size; i++)
		sprintf(words[2] + strlen(words[2]), "%s%u", i ? "," : "",
			two_on_a_node ? i / 2 : 2 * i);
	snprintf(words[3], 64, "00000000000000aa00000000000000b%d",
		 member->rank == late_secret);
	memcpy(env.word, (const char *[]){
		"NIC_RANK", words[0], "NIC_SIZE", words[1], "NIC_NODES",
		words[2], "NIC_SECRET", words[3], "NIC_JOB", "j",
		"NIC_SPIN_NS", "2000", NULL }, 13 * sizeof(*env.word));
}

static void *member_run(void *arg)
{
	char words[6][64] = { 0 }, name[32];
	struct member *member = arg;

	member_env(member, words);
	snprintf(name, sizeof(name), "nic%u",
		 two_on_a_node ? member->rank / 2 : 2 * member->rank);
	if (nic_open(name, &member->ctx))
		abort();
	member->ret = nic_team_init(member->ctx, join_timeout, &member->team);
	if (!member->ret) {
		EXPECT_EQ(nic_team_rank(member->team), member->rank);
		EXPECT_EQ(nic_team_secret(member->team)[0], 0xaa);
		member->ret = member->work(member);
	} else {
		member->team = NULL;
	}
	snprintf(member->detail, sizeof(member->detail), "%s",
		 nic_error_detail(member->ctx));
	nic_team_finalize(member->team);
	nic_close(member->ctx);
	memset(&env, 0, sizeof(env));
	return NULL;
}

/* Ranks @first to size - 1 */
static void run_team(struct member *member, unsigned int first,
		     int (*work)(struct member *member))
{
	pthread_t thread[RANKS];

	memset(came, 0, sizeof(came));
	for (unsigned int i = first; i < size; i++) {
		member[i] = (struct member){
			.rank = i,
			.work = work,
			.random = i,
		};
		if (pthread_create(&thread[i], NULL, member_run, &member[i]))
			abort();
	}
	for (unsigned int i = first; i < size; i++)
		pthread_join(thread[i], NULL);
	for (int fd = 0; fd < FAKE_FDS; fd++)
		EXPECT(!fake.object[fd]);
	fake.handles = 0;
}

static void reset(unsigned int ranks)
{
	size = ranks;
	two_on_a_node = false;
	join_timeout = 20 * SECOND;
	late_secret = RANKS;
}

static int many_barriers(struct member *member)
{
	int ret;

	for (unsigned int i = 0; i < 400; i++) {
		if (!unit_between(&member->random, 0, 15))
			usleep(unit_random(&member->random) % 300);
		__atomic_add_fetch(&came[i], 1, __ATOMIC_SEQ_CST);
		ret = nic_team_barrier(member->team, 20 * SECOND);
		if (ret)
			return ret;
		if (__atomic_load_n(&came[i], __ATOMIC_SEQ_CST) != size)
			return -EPROTO;
	}
	return 0;
}

static void check_barriers(unsigned int ranks, bool shared_nodes)
{
	struct member member[RANKS];

	reset(ranks);
	two_on_a_node = shared_nodes;
	run_team(member, 0, many_barriers);
	for (unsigned int i = 0; i < ranks; i++)
		if (member[i].ret)
			UNIT_FAIL("rank %u of %u: %d, %s", i, ranks,
				  member[i].ret, member[i].detail);
}

TEST(team__nobody_leaves_a_barrier_early)
{
	for (unsigned int ranks = 2; ranks <= RANKS; ranks++)
		check_barriers(ranks, false);
}

TEST(team__ranks_may_share_a_node)
{
	check_barriers(5, true);
}

/* Rank 0 is impatient; what it sent before counts when it calls again. */
static int impatient(struct member *member)
{
	int ret, late = 0;

	for (unsigned int i = 0; i < 60; i++) {
		if (member->rank == i % size)
			usleep(3000);
		__atomic_add_fetch(&came[i], 1, __ATOMIC_SEQ_CST);
		while ((ret = nic_team_barrier(member->team,
					       member->rank ? 20 * SECOND :
					       200000)) == -ETIME)
			late++;
		if (ret)
			return ret;
		if (__atomic_load_n(&came[i], __ATOMIC_SEQ_CST) != size)
			return -EPROTO;
	}
	return member->rank || late ? 0 : -ENODATA;
}

TEST(team__barrier_goes_on_after_a_timeout)
{
	struct member member[RANKS];

	reset(5);
	run_team(member, 0, impatient);
	for (unsigned int i = 0; i < size; i++)
		EXPECT_EQ(member[i].ret, 0);
}

static int nothing(struct member *member)
{
	(void)member;
	return 0;
}

TEST(team__missing_rank_is_named)
{
	struct member member[RANKS];

	reset(6);
	join_timeout = 2 * SECOND;
	run_team(member, 1, nothing);
	for (unsigned int i = 1; i < size; i++) {
		EXPECT_EQ(member[i].ret, -ETIME);
		EXPECT_CONTAINS(member[i].detail, "join the team of 6, rank");
	}
	/* Those who wait longest saw others leave; the last is sure of 0 */
	EXPECT_CONTAINS(member[5].detail, "for rank 0 on node 0");
}

TEST(team__other_secret)
{
	struct member member[RANKS];
	int refused = 0;

	reset(2);
	join_timeout = 3 * SECOND;
	late_secret = 1;
	run_team(member, 0, nothing);
	for (unsigned int i = 0; i < size; i++) {
		EXPECT(member[i].ret == -EACCES || member[i].ret == -ETIME);
		if (member[i].ret != -EACCES)
			continue;
		refused++;
		EXPECT_CONTAINS(member[i].detail, "another secret");
	}
	EXPECT(refused);
}

/* Rank 2 leaves; nobody may wait for ever. */
static int one_leaves(struct member *member)
{
	int ret;

	for (unsigned int i = 0; i < 5; i++) {
		ret = nic_team_barrier(member->team, 20 * SECOND);
		if (ret)
			return ret;
	}
	if (member->rank == 2)
		return 0;
	ret = nic_team_barrier(member->team, 20 * SECOND);
	EXPECT_EQ(nic_team_barrier(member->team, 20 * SECOND), -EREMOTEIO);
	return ret;
}

TEST(team__dead_rank_is_noticed)
{
	struct member member[RANKS];

	reset(5);
	run_team(member, 0, one_leaves);
	for (unsigned int i = 0; i < size; i++)
		EXPECT_EQ(member[i].ret, i == 2 ? 0 : -EREMOTEIO);
}

static int leave_at_once(struct member *member)
{
	return nic_team_barrier(member->team, 20 * SECOND);
}

/* Who is through may leave though others are still in the barrier. */
TEST(team__leaving_after_a_barrier_is_fine)
{
	struct member member[RANKS];

	for (int run = 0; run < 30; run++) {
		reset(7);
		run_team(member, 0, leave_at_once);
		for (unsigned int i = 0; i < size; i++)
			if (member[i].ret)
				UNIT_FAIL("rank %u: %d, %s", i, member[i].ret,
					  member[i].detail);
	}
}
