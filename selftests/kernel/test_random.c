// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_random.c - a hundred thousand calls that nobody would make
 *
 * Owns: a random walk over every ioctl, io_uring command, mmap, poll and ring
 * word, with values that are nearly right. The seed is printed;
 * DMANIC_TEST_SEED repeats a walk. In the end the device must work, and the
 * harness finds nothing left behind.
 *
 * Flags: -luring
 */
#include "remote_map.h"
#include "uring_test.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLS		100000
#define SEED		0xd330ULL
#define FDS		48
#define PLAYGROUND	(1UL << 20)
#define POOL		64
#define EXPORTS		8

struct walk {
	__u64 state;
	int fds[FDS];		/* contexts, queues, interrupts, whatever */
	unsigned int nr_fds;
	__u64 pool[POOL];	/* ids, keys, handles, offsets that were real */
	unsigned int nr_pool;
	struct { __u64 node, id, key; } exports[EXPORTS]; /* real, once */
	unsigned int nr_exports;
	__u8 *playground;
	__u8 *map;		/* of one of them */
	size_t map_bytes;
	bool map_remote;	/* and its pages may go at any time */
	struct io_uring ring;
	bool has_ring;
	__u64 counts[2];	/* calls that worked, that did not */
	__u64 special[3];	/* threads, remote mappings, commands that worked */
};

static __u64 next(struct walk *walk)
{
	return random_next(&walk->state);
}

static void remember(struct walk *walk, __u64 value)
{
	walk->pool[walk->nr_pool++ % POOL] = value;
}

/* Small, real, huge, or anything */
static __u64 value(struct walk *walk)
{
	switch (next(walk) % 8) {
	case 0:
		return 0;
	case 1:
		return next(walk) % 4;
	case 2:
		return 1ULL << (next(walk) % 64);
	case 3:
		return -(next(walk) % 5000);
	case 4:
		return next(walk) >> (next(walk) % 64);
	default:
		return walk->pool[next(walk) % POOL];
	}
}

/* Bytes that a walk can afford, or that nobody can */
static __u64 length(struct walk *walk)
{
	if (!(next(walk) % 16))
		return next(walk) | 1ULL << 50;
	return next(walk) >> (44 + next(walk) % 20);
}

static void add_fd(struct walk *walk, int fd)
{
	unsigned int place = next(walk) % FDS;

	if (walk->nr_fds < FDS) {
		walk->fds[walk->nr_fds++] = fd;
		return;
	}
	close(walk->fds[place]);
	walk->fds[place] = fd;
}

static int any_fd(struct walk *walk)
{
	return walk->fds[next(walk) % walk->nr_fds];
}

static void count(struct walk *walk, int ret)
{
	walk->counts[ret < 0]++;
}

enum special { THREADS, MAPPINGS, COMMANDS };

static void count_special(struct walk *walk, enum special what, int ret)
{
	count(walk, ret);
	walk->special[what] += ret >= 0;
}

static __u32 flags(struct walk *walk)
{
	return next(walk) % 16 ? next(walk) % 2 : next(walk);
}

static void random_name(struct walk *walk, char *name)
{
	if (next(walk) % 4)
		return;
	name[0] = 'a' + next(walk) % 4;
	if (!(next(walk) % 8))
		memset(name, 'x', DMANIC_PUBLISH_MAX);
}

static void export_at(struct walk *walk, int fd, __u64 id)
{
	struct dmanic_segment_export arg = {
		.size = sizeof(arg), .id = id,
		.rights = next(walk) % 16 ? next(walk) % 8 : next(walk),
	};
	struct dmanic_query query = { .size = sizeof(query) };
	unsigned int which;
	int ret;

	random_name(walk, arg.name);
	ret = dmanic_call(fd, DMANIC_IOC_SEGMENT_EXPORT, &arg);
	count(walk, ret);
	if (ret)
		return;
	remember(walk, arg.key);
	if (dmanic_call(fd, DMANIC_IOC_QUERY, &query))
		return;
	which = walk->nr_exports++ % EXPORTS;
	walk->exports[which].node = query.node;
	walk->exports[which].id = arg.id;
	walk->exports[which].key = arg.key;
}

static void call_segment_export(struct walk *walk)
{
	export_at(walk, any_fd(walk), value(walk));
}

static void call_segment_create(struct walk *walk)
{
	struct dmanic_segment_create arg = {
		.size = sizeof(arg), .flags = flags(walk),
		.length = length(walk),
	};
	int fd = any_fd(walk), ret;

	if (arg.flags & 1 && arg.length <= PLAYGROUND)
		arg.address = (uintptr_t)walk->playground +
			      next(walk) % PLAYGROUND;
	ret = dmanic_call(fd, DMANIC_IOC_SEGMENT_CREATE, &arg);
	count(walk, ret);
	if (ret)
		return;
	remember(walk, arg.id);
	remember(walk, arg.mmap_offset);
	/* No other descriptor knows it */
	if (next(walk) & 1)
		export_at(walk, fd, arg.id);
}

static void call_segment_id(struct walk *walk)
{
	struct dmanic_segment_id arg = {
		.size = sizeof(arg), .id = value(walk),
	};

	count(walk, dmanic_call(any_fd(walk), next(walk) & 1 ?
				DMANIC_IOC_SEGMENT_DESTROY :
				DMANIC_IOC_SEGMENT_REVOKE, &arg));
}

static void map_at(struct walk *walk, int fd, __u64 offset, size_t bytes)
{
	void *map;

	if (walk->map)
		munmap(walk->map, walk->map_bytes);
	walk->map = NULL;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   next(walk) % 8 ? MAP_SHARED : MAP_PRIVATE, fd,
		   (off_t)offset);
	count(walk, map == MAP_FAILED ? -1 : 0);
	if (map == MAP_FAILED)
		return;
	walk->map = map;
	walk->map_bytes = bytes;
	walk->map_remote = offset & 1ULL << 62;
	walk->special[MAPPINGS] += walk->map_remote;
}

static void call_mmap(struct walk *walk)
{
	map_at(walk, any_fd(walk), next(walk) & 1 ? 0 :
	       value(walk) & ~(page_bytes() - 1),
	       page_round(1 + (next(walk) >> 48)));
}

static void call_connect(struct walk *walk)
{
	struct dmanic_connect arg = {
		.size = sizeof(arg), .flags = next(walk) % 4,
		.node = next(walk) % 5, .id = value(walk), .key = value(walk),
	};
	int fd = any_fd(walk), ret;

	if (next(walk) & 1) {
		unsigned int which = next(walk) % EXPORTS;

		arg.flags = 0;
		arg.node = walk->exports[which].node;
		arg.id = walk->exports[which].id;
		arg.key = walk->exports[which].key;
	} else {
		random_name(walk, arg.name);
	}
	if (arg.flags & DMANIC_CONNECT_BY_NAME) {
		arg.id = 0;
		arg.key = 0;
		arg.timeout_ns = next(walk) % 20000;
	}
	ret = dmanic_call(fd, DMANIC_IOC_CONNECT, &arg);
	count(walk, ret);
	if (ret)
		return;
	remember(walk, arg.handle);
	if (!arg.mmap_offset)
		return;
	remember(walk, arg.mmap_offset);
	/* For no other descriptor, either */
	if (next(walk) & 1)
		map_at(walk, fd, arg.mmap_offset,
		       page_round(1 + next(walk) % arg.length));
}

static void call_disconnect(struct walk *walk)
{
	struct dmanic_disconnect arg = {
		.size = sizeof(arg), .handle = value(walk),
	};

	count(walk, dmanic_call(any_fd(walk), DMANIC_IOC_DISCONNECT, &arg));
}

static void call_news_eventfd(struct walk *walk)
{
	struct dmanic_news_eventfd arg = {
		.size = sizeof(arg), .eventfd = (int)value(walk),
	};

	count(walk, dmanic_call(any_fd(walk), DMANIC_IOC_NEWS_EVENTFD, &arg));
}

static void call_queue_create(struct walk *walk)
{
	struct dmanic_queue_create arg = {
		.size = sizeof(arg), .sq_entries = 1U << next(walk) % 10,
		.cq_entries = 1U << next(walk) % 11,
		.eventfd = next(walk) & 1 ? -1 : any_fd(walk),
	};
	int ret;

	if (!(next(walk) % 16))
		arg.sq_entries = value(walk);
	if (!(next(walk) % 4)) {
		arg.flags = flags(walk);
		arg.poll_idle_us = next(walk) % 4 ? 0 : next(walk) % 1100;
	}
	ret = dmanic_call(any_fd(walk), DMANIC_IOC_QUEUE_CREATE, &arg);
	if (arg.flags)
		count_special(walk, THREADS, ret);
	else
		count(walk, ret);
	if (!ret)
		add_fd(walk, arg.fd);
}

static void call_irq_create(struct walk *walk)
{
	struct dmanic_irq_create arg = {
		.size = sizeof(arg), .flags = flags(walk),
		.depth = 1U << next(walk) % 12,
		.eventfd = next(walk) & 1 ? -1 : any_fd(walk),
	};
	int ret;

	random_name(walk, arg.name);
	ret = dmanic_call(any_fd(walk), DMANIC_IOC_IRQ_CREATE, &arg);
	count(walk, ret);
	if (!ret) {
		remember(walk, arg.id);
		remember(walk, arg.key);
		add_fd(walk, arg.fd);
	}
}

static void call_enter(struct walk *walk)
{
	struct dmanic_enter arg = {
		.size = sizeof(arg), .to_submit = value(walk),
		.min_complete = next(walk) % 8 ? 0 : value(walk),
		.timeout_ns = next(walk) % 20000,
	};

	count(walk, dmanic_call(any_fd(walk), DMANIC_IOC_ENTER, &arg));
}

static void call_irq_wait(struct walk *walk)
{
	struct dmanic_irq_wait arg = {
		.size = sizeof(arg), .target = value(walk),
		.timeout_ns = next(walk) % 20000,
	};

	count(walk, dmanic_call(any_fd(walk), DMANIC_IOC_IRQ_WAIT, &arg));
}

/* Most live on, or little would be left that works */
static void call_stop(struct walk *walk)
{
	struct dmanic_stop arg = { .size = sizeof(arg) };

	if (next(walk) % 8)
		arg.flags = flags(walk) | 1;
	count(walk, dmanic_call(any_fd(walk), next(walk) & 1 ? DMANIC_IOC_QUEUE_STOP :
				DMANIC_IOC_IRQ_STOP, &arg));
}

/* Any number, any bytes; what waits, makes or stops objects has a step of its own */
static void call_anything(struct walk *walk)
{
	__u64 arg[32];
	unsigned int i, nr = next(walk) % 26;

	for (i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = next(walk) % 4 ? 0 : value(walk);
	arg[0] = next(walk) % 200;
	if (nr == DMANIC_CMD_SEGMENT_CREATE || nr == DMANIC_CMD_ENTER ||
	    nr == DMANIC_CMD_IRQ_WAIT || nr == DMANIC_CMD_CONNECT ||
	    nr == DMANIC_CMD_QUEUE_STOP || nr == DMANIC_CMD_IRQ_STOP ||
	    nr == DMANIC_CMD_QUEUE_CREATE || nr == DMANIC_CMD_IRQ_CREATE)
		nr = DMANIC_CMD_SEGMENT_REVOKE;
	count(walk, dmanic_call(any_fd(walk), _IO(DMANIC_TYPE, nr), arg));
}

/* Somewhere in what its owner may have taken back: SIGBUS, no more */
static void store_remote(struct walk *walk)
{
	__u64 offset = next(walk) % walk->map_bytes & ~7ULL, value;

	if (next(walk) & 1)
		count(walk, -bus_store(walk->map + offset, next(walk)));
	else
		count(walk, -bus_load(walk->map + offset, &value));
}

static struct dmanic_sqe any_entry(struct walk *walk)
{
	struct dmanic_sqe sqe = {
		.opcode = next(walk) % 12, .flags = next(walk) % 8,
		.local = value(walk), .remote = value(walk),
		.notify = value(walk), .local_offset = next(walk) % 8192,
		.remote_offset = next(walk) % 8192,
		.length = next(walk) % 8192,
	};

	return sqe;
}

/* Words of a header, or an entry that could be one */
static void call_scribble(struct walk *walk)
{
	struct dmanic_sqe sqe = any_entry(walk);
	__u32 *word = (__u32 *)walk->map;
	unsigned int i;

	if (!walk->map)
		return;
	if (walk->map_remote) {
		store_remote(walk);
		return;
	}
	for (i = 0; i < 4; i++) {
		memcpy(walk->map + sizeof(struct dmanic_queue_ring) +
		       next(walk) % 32 * sizeof(sqe), &sqe, sizeof(sqe));
		word[next(walk) % 6 * 16] = next(walk) % 40;
	}
}

static void call_poll(struct walk *walk)
{
	struct pollfd fds[4];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = (struct pollfd) {
			.fd = any_fd(walk), .events = POLLIN | POLLOUT,
		};
	count(walk, poll(fds, ARRAY_SIZE(fds), 0));
}

static void call_open_close(struct walk *walk)
{
	char name[DMANIC_NAME_MAX];
	int fd;

	if (next(walk) % 8)
		return;
	fabric_name(&fabric, next(walk) % FABRIC_NODES, name);
	fd = next(walk) % 4 ? node_path_open(name, 2) :
			      eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fd >= 0)
		add_fd(walk, fd);
	count(walk, fd);
}

/* ---- commands of an io_uring ---- */

/* Waits are short, and so is what nobody could cancel */
static void any_argument(struct walk *walk, __u32 command, void *argument)
{
	struct dmanic_uring_irq_wait irq_wait = {
		.target = value(walk), .timeout_ns = next(walk) % 20000,
	};
	struct dmanic_uring_enter enter = {
		.to_submit = next(walk) % 3 ? value(walk) : 0,
		.min_complete = next(walk) % 3 ? next(walk) % 8 : 0,
		.timeout_ns = next(walk) % 3 ? next(walk) % 20000 : 0,
	};
	struct dmanic_sqe sqe = any_entry(walk);

	if (command == DMANIC_URING_IRQ_WAIT)
		memcpy(argument, &irq_wait, sizeof(irq_wait));
	else if (command != DMANIC_URING_POST)
		memcpy(argument, &enter, sizeof(enter));
	else
		memcpy(argument, &sqe, sizeof(sqe));
}

static void reap_commands(struct walk *walk)
{
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&walk->ring, &cqe)) {
		count_special(walk, COMMANDS, cqe->res);
		io_uring_cqe_seen(&walk->ring, cqe);
	}
}

/* A command on whatever descriptor, or what is no command at all */
static void call_uring(struct walk *walk)
{
	__u32 command = next(walk) % 8 ? 1 + next(walk) % 4 : next(walk);
	__u8 argument[80] = { 0 };
	struct io_uring_sqe *sqe;

	if (!walk->has_ring)
		return;
	reap_commands(walk);
	any_argument(walk, command, argument);
	if (!(next(walk) % 8))
		argument[next(walk) % sizeof(argument)] = next(walk);
	sqe = io_uring_get_sqe(&walk->ring);
	if (!sqe) {
		io_uring_submit(&walk->ring);
		return;
	}
	memset(sqe, 0, 128);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = any_fd(walk);
	sqe->cmd_op = command;
	sqe->flags = next(walk) % 8 ? 0 : IOSQE_ASYNC;
	if (!(next(walk) % 16))
		sqe->flags |= IOSQE_IO_LINK;
	if (!(next(walk) % 16))
		sqe->uring_cmd_flags = next(walk);
	memcpy(sqe->cmd, argument, sizeof(argument));
	if (next(walk) % 4)
		io_uring_submit(&walk->ring);
}

static void ring_start(struct walk *walk)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
	};

	walk->has_ring = !io_uring_queue_init_params(64, &walk->ring, &params);
}

static void (* const steps[])(struct walk *walk) = {
	call_segment_create, call_segment_create, call_segment_id,
	call_segment_export, call_connect, call_disconnect, call_news_eventfd,
	call_queue_create,
	call_irq_create, call_enter, call_enter, call_enter, call_irq_wait, call_stop,
	call_anything, call_mmap, call_scribble, call_scribble, call_poll,
	call_open_close, call_uring, call_uring,
};

TEST_TIMEOUT(random, calls_leave_the_device_working, 90)
{
	const char *text = getenv("DMANIC_TEST_SEED");
	unsigned int i, calls = harness_load(CALLS);
	struct walk walk = { .nr_fds = 0 };
	struct node node, peer;
	struct segment local, remote;
	struct queue queue;
	struct dmanic_sqe sqe;
	__u64 seed;

	seed = text ? strtoull(text, NULL, 0) : SEED;
	walk.state = seed ? seed : 1;
	harness_note("DMANIC_TEST_SEED=%#llx, %u calls",
		     (unsigned long long)seed, calls);
	walk.playground = mmap(NULL, 2 * PLAYGROUND, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(walk.playground != MAP_FAILED);
	bus_catch();
	ring_start(&walk);
	for (i = 0; i < FABRIC_NODES; i++)
		add_fd(&walk, node_open(&fabric, i).fd);
	for (i = 0; i < calls; i++)
		steps[next(&walk) % ARRAY_SIZE(steps)](&walk);
	harness_note("%llu calls worked, %llu were refused",
		     (unsigned long long)walk.counts[0],
		     (unsigned long long)walk.counts[1]);
	harness_note("%llu threads, %llu remote mappings, %llu commands",
		     (unsigned long long)walk.special[THREADS],
		     (unsigned long long)walk.special[MAPPINGS],
		     (unsigned long long)walk.special[COMMANDS]);
	/* A walk that is refused everywhere shows nothing. */
	EXPECT_GT(walk.counts[0], calls / 20);
	if (calls == CALLS) {
		EXPECT_GT(walk.special[THREADS], 0);
		EXPECT_GT(walk.special[MAPPINGS], 0);
		EXPECT_TRUE(!walk.has_ring || walk.special[COMMANDS]);
	}

	node = node_open(&fabric, 0);
	peer = node_open(&fabric, 1);
	local = segment_make(&node, 4096);
	remote = segment_make(&peer, 4096);
	fill(local.data, 4096, 1);
	segment_export(&remote, DMANIC_RIGHT_WRITE);
	queue = queue_make(&node, 2, 2);
	sqe = sqe_move(DMANIC_OP_WRITE, local.id, 0,
		       segment_connect(&node, &remote), 0, 4096);
	EXPECT_EQ(queue_run(&queue, &sqe).status, DMANIC_STATUS_OK);
	EXPECT_EQ(memcmp(local.data, remote.data, 4096), 0);
}

FABRIC_TEST_MAIN()
