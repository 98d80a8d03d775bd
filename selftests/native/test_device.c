// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnic says when something fails: the sentence names what was tried,
 * why it failed and what to do. And that failures leave nothing behind.
 *
 * Sources: libnic/core/queue.c libnic/core/post.c libnic/core/interrupt.c
 * Sources: libnic/core/device.c
 * Sources: libnic/core/segment.c libnic/core/error.c
 * Flags: -Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap
 * Flags: -Wl,--wrap=access,--wrap=scandir -lpthread
 */
#include <dirent.h>
#include <nic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fake_driver.h"
#include "libnic/core/internal.h"
#include "unit.h"

static struct nic_ctx *ctx;
static struct nic_segment *seg;
static struct nic_remote *remote;
static struct nic_queue *queue;
static struct nic_irq *irq;

/* What access() says of a device: these are the fake driver's */
static int no_access;

/* What stands for /dev/dmanic while @devices_are_there */
static char devices[] = "/tmp/dmanic-test-XXXXXX";
static bool devices_are_there;

typedef int (*filter_fn)(const struct dirent *entry);
typedef int (*compare_fn)(const struct dirent **a, const struct dirent **b);
int __real_scandir(const char *path, struct dirent ***list, filter_fn filter,
		   compare_fn compare);
int __wrap_scandir(const char *path, struct dirent ***list, filter_fn filter,
		   compare_fn compare);
int __wrap_scandir(const char *path, struct dirent ***list, filter_fn filter,
		   compare_fn compare)
{
	return __real_scandir(devices_are_there ? devices : path, list, filter,
			      compare);
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	if (strncmp(path, "/dev/dmanic/", 12))
		return __real_access(path, mode);
	errno = no_access;
	return no_access ? -1 : 0;
}

static void start(void)
{
	fake_reset();
	if (nic_open("nic3", &ctx))
		abort();
}

static void refuse(int err, uint32_t limit, uint64_t asked, uint64_t allowed)
{
	fake.fail_with = err;
	fake.refusal = (struct dmanic_refusal){
		.limit = limit,
		.asked = asked,
		.allowed = allowed,
	};
}

#define EXPECT_DETAIL(of, text)						\
	do {								\
		const char *says = nic_error_detail(of);		\
									\
		if (strcmp(says, text))					\
			UNIT_FAIL("it says \"%s\"", says);		\
	} while (0)

TEST(device__query)
{
	struct nic_info info = { .size = sizeof(info) };
	struct {
		struct nic_info info;
		uint32_t newer[8];
	} longer;

	start();
	ASSERT_EQ(nic_query(ctx, &info), 0);
	EXPECT_EQ(info.size, sizeof(info));
	EXPECT_EQ(info.node, 3);
	EXPECT_EQ(info.nodes, 16);
	EXPECT(!strcmp(info.name, "nic0"));
	EXPECT(!strcmp(info.link, "fake"));
	EXPECT_EQ(info.max_segments, 11);
	EXPECT_EQ(info.max_queues, 12);
	EXPECT_EQ(info.max_irqs, 13);
	EXPECT_EQ(info.max_connections, 14);
	EXPECT_EQ(info.max_contexts, 15);
	EXPECT_EQ(info.max_poll_threads, 16);
	EXPECT_EQ(nic_version(), 1);

	/* A newer program is told of nothing that is not known here */
	memset(&longer, 0xff, sizeof(longer));
	longer.info.size = sizeof(longer);
	ASSERT_EQ(nic_query(ctx, &longer.info), 0);
	EXPECT_EQ(longer.info.size, sizeof(longer));
	EXPECT_EQ(longer.info.node, 3);
	for (size_t i = 0; i < 8; i++)
		EXPECT_EQ(longer.newer[i], 0);
	info.size--;
	EXPECT_EQ(nic_query(ctx, &info), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "the size in the info is wrong");
	nic_close(ctx);
	nic_close(NULL);
}

TEST(device__named_by_environment)
{
	struct nic_info info = { .size = sizeof(info) };

	fake.fail_open = 0;
	setenv("NIC_DEVICE", "nic7", 1);
	ASSERT_EQ(nic_open(NULL, &ctx), 0);
	ASSERT_EQ(nic_query(ctx, &info), 0);
	EXPECT_EQ(info.node, 7);
	nic_close(ctx);
	ASSERT_EQ(nic_open("/dev/dmanic/nic8", &ctx), 0);
	ASSERT_EQ(nic_query(ctx, &info), 0);
	EXPECT_EQ(info.node, 8);
	nic_close(ctx);
	unsetenv("NIC_DEVICE");
}

TEST(device__names_are_in_order)
{
	/* as no folder has them by itself, and no alphabet */
	static const char *const names[] = {
		"nic10", "nic1", "b0", "nic2", "nic0",
	};
	char path[64];

	ASSERT(mkdtemp(devices));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", devices, names[i]);
		ASSERT(!close(creat(path, 0600)));
	}
	devices_are_there = true;
	unsetenv("NIC_DEVICE");
	EXPECT_EQ(nic_open(NULL, &ctx), -ENOTUNIQ);
	EXPECT_CONTAINS(nic_error_detail(NULL),
			"there are b0, nic0, nic1, nic2, nic10; name one");
	devices_are_there = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", devices, names[i]);
		unlink(path);
	}
	rmdir(devices);
}

TEST(device__cannot_open)
{
	fake.fail_open = EACCES;
	no_access = EACCES;
	EXPECT_EQ(nic_open("nic0", &ctx), -EACCES);
	EXPECT_CONTAINS(nic_error_detail(NULL),
			"cannot open /dev/dmanic/nic0: permission denied");
	EXPECT_CONTAINS(nic_error_detail(NULL), "group dmanic");
	/* The file may be opened: then it is not its mode */
	no_access = 0;
	EXPECT_EQ(nic_open("nic0", &ctx), -EACCES);
	EXPECT_CONTAINS(nic_error_detail(NULL), "another network namespace");
	EXPECT(!strstr(nic_error_detail(NULL), "group dmanic"));
	fake.fail_open = ENXIO;
	EXPECT_EQ(nic_open("nic0", &ctx), -ENODEV);
	EXPECT_CONTAINS(nic_error_detail(NULL), "removed");
	fake.fail_open = EDQUOT;
	EXPECT_EQ(nic_open("nic0", &ctx), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(NULL), "open too often, by this user");
	fake.fail_open = ENOENT;
	EXPECT_EQ(nic_open("no such", &ctx), -ENOENT);
	EXPECT_CONTAINS(nic_error_detail(NULL),
			"cannot open /dev/dmanic/no such: ");
	if (access("/dev/dmanic", F_OK))
		EXPECT_CONTAINS(nic_error_detail(NULL), "nicctl dev add nic type loop");
	fake.fail_open = 0;
}

TEST(device__other_version)
{
	fake.abi = DMANIC_ABI_VERSION + 1;
	EXPECT_EQ(nic_open("nic0", &ctx), -EPROTO);
	EXPECT_CONTAINS(nic_error_detail(NULL), "ABI 2");
	for (int fd = 0; fd < FAKE_FDS; fd++)
		EXPECT(!fake.object[fd]);
	fake.abi = DMANIC_ABI_VERSION;
}

TEST(error__statuses_have_names)
{
	EXPECT(!strcmp(nic_status_name(NIC_OK), "ok"));
	EXPECT(!strcmp(nic_status_name(NIC_BOUNDS), "out of bounds"));
	for (unsigned int i = 0; i <= NIC_UNSUPPORTED; i++)
		EXPECT(nic_status_name(i) && *nic_status_name(i));
	EXPECT(!strcmp(nic_status_name(NIC_UNSUPPORTED + 1), "unknown status"));
	EXPECT(!strcmp(nic_status_name(UINT32_MAX), "unknown status"));
}

TEST(error__memlock)
{
	start();
	refuse(EDQUOT, DMANIC_LIMIT_MEMLOCK, (64 + 8) << 20, 8 << 20);
	EXPECT_EQ(nic_segment_alloc(ctx, 64 << 20, &seg), -EDQUOT);
	EXPECT_DETAIL(ctx,
		      "cannot pin 64M: RLIMIT_MEMLOCK is 8M and 0 B are left; raise it (\"ulimit -l\", LimitMEMLOCK=; \"nicctl doctor\" tells how for good), or run as root");
	refuse(EDQUOT, DMANIC_LIMIT_MEMLOCK, (64 << 20) + 4096, 8 << 20);
	EXPECT_EQ(nic_segment_register(ctx, NULL, (64 << 20) - 1, &seg),
		  -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx),
			"cannot pin 63.9M of the program's memory: RLIMIT_MEMLOCK is 8M and 7.9M are left");
	refuse(EDQUOT, DMANIC_LIMIT_MEMLOCK, 9 << 20, 8 << 20);
	EXPECT_EQ(nic_queue_create(ctx, 64, &queue), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx),
			"cannot make a queue of 64 entries: RLIMIT_MEMLOCK is 8M and this makes 9M");
	nic_close(ctx);
}

TEST(error__limits)
{
	start();
	refuse(ENOMEM, DMANIC_LIMIT_MEMORY, 4ULL << 30, 2ULL << 30);
	EXPECT_EQ(nic_segment_alloc(ctx, 4ULL << 30, &seg), -ENOMEM);
	EXPECT_DETAIL(ctx,
		      "cannot pin 4G: 4G are needed, 2G are free on this machine; ask for less, or end other programs");
	refuse(ENOMEM, DMANIC_LIMIT_CGROUP, 128ULL << 20, 0);
	EXPECT_EQ(nic_segment_alloc(ctx, 128ULL << 20, &seg), -ENOMEM);
	EXPECT_DETAIL(ctx,
		      "cannot pin 128M: 128M are needed and the cgroup does not have them; raise memory.max of it and of those above (MemoryMax= of the unit), or ask for less");
	refuse(EDQUOT, DMANIC_LIMIT_SEGMENT_SIZE, 1ULL << 40, 1ULL << 39);
	EXPECT_EQ(nic_segment_alloc(ctx, 1ULL << 40, &seg), -EDQUOT);
	EXPECT_DETAIL(ctx,
		      "cannot pin 1T: the limit of the largest segment is 512G and this makes 1T; use several");
	refuse(EDQUOT, DMANIC_LIMIT_QUEUES, 4097, 4096);
	EXPECT_EQ(nic_queue_create(ctx, 64, &queue), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx),
			"the limit of queues on the device is 4096 and this makes 4097; destroy some");
	refuse(EDQUOT, DMANIC_LIMIT_USER_QUEUES, 1025, 1024);
	EXPECT_EQ(nic_queue_create(ctx, 64, &queue), -EDQUOT);
	EXPECT_DETAIL(ctx,
		      "cannot make a queue of 64 entries: the limit of queues of one user on the device is 1024 and this makes 1025; destroy some, also in other programs of the user, or run with CAP_SYS_RESOURCE");
	refuse(EDQUOT, DMANIC_LIMIT_USER_IRQS, 16385, 16384);
	EXPECT_EQ(nic_irq_create(ctx, 2, 0, "n", NULL, &irq), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx), "interrupts of one user");
	refuse(EDQUOT, DMANIC_LIMIT_USER_SEGMENTS, 16385, 16384);
	EXPECT_EQ(nic_segment_alloc(ctx, 1, &seg), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx), "segments of one user");
	refuse(EDQUOT, DMANIC_LIMIT_USER_PEERS, 193, 192);
	EXPECT_EQ(nic_connect(ctx, 1, 2, 3, &remote), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx),
			"the limit of other nodes in use at once by one user on the device is 192 and this makes 193; wait until");
	refuse(EDQUOT, DMANIC_LIMIT_IRQ_DEPTH, 2, 1);
	EXPECT_EQ(nic_irq_create(ctx, 2, NIC_IRQ_STRICT, "n", NULL, &irq), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx),
			"cannot make an interrupt \"n\" of depth 2: the limit of events");
	refuse(EDQUOT, DMANIC_LIMIT_CONNECTIONS, 2, 1);
	EXPECT_EQ(nic_connect(ctx, 1, 2, 3, &remote), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx), "connections of a context");
	refuse(EDQUOT, DMANIC_LIMIT_USER_CONNECTIONS, 2, 1);
	EXPECT_EQ(nic_connect(ctx, 1, 2, 3, &remote), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx), "connections of one user on the device");
	refuse(EDQUOT, 9999, 2, 1);
	EXPECT_EQ(nic_queue_create(ctx, 64, &queue), -EDQUOT);
	EXPECT_CONTAINS(nic_error_detail(ctx), "a limit of the device");
	nic_close(ctx);
}

TEST(error__connect)
{
	static const struct {
		int err;
		const char *by_id, *by_name;
	} causes[] = {
		{ ENOENT, "not exported", "published by that name" },
		{ EACCES, "the key is wrong", "NIC_SECRET" },
		{ EHOSTUNREACH, "no such node", "no such node" },
		{ EINTR, "a signal came first", "a signal came first" },
		{ ETIME, "time-out", "was published by that name in time" },
	};

	start();
	refuse(EINVAL, 0, 0, 0);
	EXPECT_EQ(nic_connect(ctx, 9, 7, 5, &remote), -EINVAL);
	EXPECT_DETAIL(ctx,
		      "cannot connect to segment 7 of node 9: that is the id of an interrupt; use nic_connect_irq()");
	refuse(EINVAL, 0, 0, 0);
	EXPECT_EQ(nic_connect_irq(ctx, 9, 7, 5, &remote), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "the id of a segment");
	refuse(EINVAL, 0, 0, 0);
	EXPECT_EQ(nic_connect_name(ctx, 9, "n", NULL, 5, &remote), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "published for an interrupt");
	refuse(EINVAL, 0, 0, 0);
	EXPECT_EQ(nic_connect_irq_name(ctx, 9, "n", NULL, 5, &remote), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "published for a segment");
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		refuse(causes[i].err, 0, 0, 0);
		EXPECT_EQ(nic_connect(ctx, 9, 7, 5, &remote), -causes[i].err);
		EXPECT_CONTAINS(nic_error_detail(ctx), "segment 7 of node 9: ");
		EXPECT_CONTAINS(nic_error_detail(ctx), causes[i].by_id);
		refuse(causes[i].err, 0, 0, 0);
		EXPECT_EQ(nic_connect_irq_name(ctx, 9, "door", NULL, 5, &remote),
			  -causes[i].err);
		EXPECT_CONTAINS(nic_error_detail(ctx), "interrupt \"door\" of node 9: ");
		EXPECT_CONTAINS(nic_error_detail(ctx), causes[i].by_name);
	}
	nic_close(ctx);
}

TEST(error__names)
{
	const uint64_t secret[2] = { 11, 12 };
	char name[NIC_PUBLISH_MAX + 1];

	start();
	memset(name, 'n', sizeof(name));
	name[NIC_PUBLISH_MAX] = 0;
	EXPECT_EQ(nic_connect_name(ctx, 0, name, NULL, 0, &remote), -EINVAL);
	EXPECT_EQ(nic_connect_name(ctx, 0, "", NULL, 0, &remote), -EINVAL);
	EXPECT_EQ(nic_irq_create(ctx, 1, 0, name, NULL, &irq), -EINVAL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "63 bytes");
	ASSERT_EQ(nic_segment_alloc(ctx, 1, &seg), 0);
	EXPECT_EQ(nic_segment_export(seg, NIC_READ, name, NULL, NULL), -EINVAL);
	EXPECT_EQ(nic_segment_export(seg, 0, "n", NULL, NULL), -EINVAL);
	EXPECT_EQ(nic_segment_export(seg, 8, "n", NULL, NULL), -EINVAL);
	name[NIC_PUBLISH_MAX - 1] = 0;
	EXPECT_EQ(nic_segment_export(seg, NIC_READ, name, secret, NULL), 0);
	EXPECT(!strcmp(fake.export.name, name));
	EXPECT_EQ(fake.export.secret[1], 12);
	/* A secret without a name is nothing to the driver. */
	EXPECT_EQ(nic_segment_export(seg, NIC_READ, NULL, secret, NULL), 0);
	EXPECT_EQ(fake.export.secret[0], 0);
	EXPECT_EQ(fake.export.name[0], 0);
	nic_segment_free(seg);
	nic_close(ctx);
}

TEST(segment__addresses)
{
	char memory[100];

	start();
	ASSERT_EQ(nic_segment_alloc(ctx, 100, &seg), 0);
	EXPECT_EQ(fake.segment_create.flags, 0);
	EXPECT(nic_segment_addr(seg) == fake.segment);
	EXPECT_EQ(nic_segment_bytes(seg), 100);
	fake.destroyed = 0;
	nic_segment_free(seg);
	EXPECT_EQ(fake.destroyed, 1);
	ASSERT_EQ(nic_segment_register(ctx, memory + 1, 99, &seg), 0);
	EXPECT_EQ(fake.segment_create.flags, DMANIC_SEGMENT_USER_MEMORY);
	EXPECT(fake.segment_create.address == (uintptr_t)memory + 1);
	EXPECT(nic_segment_addr(seg) == memory + 1);
	nic_segment_free(seg);
	nic_segment_free(NULL);
	nic_close(ctx);
}

/* A thread that the child does not have is making a segment, say */
TEST(fork__child_closes_all_and_ends_nothing)
{
	int status = -1;
	pid_t child;

	start();
	ASSERT_EQ(nic_queue_create(ctx, 4, &queue), 0);
	ASSERT_EQ(nic_irq_create(ctx, 1, 0, NULL, NULL, &irq), 0);
	ASSERT_EQ(nic_segment_alloc(ctx, 100, &seg), 0);
	fake.stops = fake.destroyed = 0;
	pthread_mutex_lock(&ctx->lock);
	child = fork();
	ASSERT(child >= 0);
	if (!child) {
		alarm(20);
		nic_queue_destroy(queue);
		nic_irq_destroy(irq);
		nic_close(ctx);
		_exit(fake.stops || fake.destroyed);
	}
	pthread_mutex_unlock(&ctx->lock);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	/* Who made it ends it, though others may have the file */
	nic_queue_destroy(queue);
	EXPECT_EQ(fake.stops, 1);
	nic_irq_destroy(irq);
	EXPECT_EQ(fake.stops, 2);
	nic_close(ctx);
	EXPECT_EQ(fake.destroyed, 1);
}

TEST(error__belongs_to_its_context)
{
	struct nic_ctx *other;

	start();
	ASSERT_EQ(nic_open("nic4", &other), 0);
	refuse(EHOSTUNREACH, 0, 0, 0);
	EXPECT_EQ(nic_connect(ctx, 9, 7, 5, &remote), -EHOSTUNREACH);
	EXPECT_CONTAINS(nic_error_detail(ctx), "node 9");
	EXPECT_CONTAINS(nic_error_detail(NULL), "node 9");
	EXPECT(!strcmp(nic_error_detail(other), ""));
	nic_close(other);
	nic_close(ctx);
	/* Even where a new context has the address of the old one */
	start();
	EXPECT(!strcmp(nic_error_detail(ctx), ""));
	nic_close(ctx);
}

static void *fail_elsewhere(void *arg)
{
	EXPECT(!strcmp(nic_error_detail(ctx), ""));
	nic_connect_name(arg, 0, "", NULL, 0, &remote);
	EXPECT_CONTAINS(nic_error_detail(ctx), "63 bytes");
	return NULL;
}

TEST(error__belongs_to_its_thread)
{
	pthread_t thread;

	start();
	refuse(EHOSTUNREACH, 0, 0, 0);
	EXPECT_EQ(nic_connect(ctx, 9, 7, 5, &remote), -EHOSTUNREACH);
	ASSERT(!pthread_create(&thread, NULL, fail_elsewhere, ctx));
	pthread_join(thread, NULL);
	EXPECT_CONTAINS(nic_error_detail(ctx), "node 9");
	nic_close(ctx);
}
