// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmanic_test.c - the objects of the driver as tests use them
 *
 * Owns: the thin way from a test to an ioctl or a ring entry. The barriers
 * are those of dmanic_ring.h and carry its letters.
 */
#define DMANIC_TEST_NO_CALLER
#include "dmanic_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

__u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

__u64 slow_ns(__u64 ms)
{
	return ms * MS_NS * harness_slow();
}

/* Between two looks at something that will change by itself */
void breathe(void)
{
	struct timespec little = { .tv_nsec = 500000 };

	nanosleep(&little, NULL);
}

/* xorshift64*: @state must not be zero */
__u64 random_next(__u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1DULL;
}

void fill(void *data, size_t length, __u64 seed)
{
	__u64 state = seed * 2 + 1;
	__u8 *byte = data;
	__u64 word;

	for (; length >= sizeof(word); length -= sizeof(word)) {
		word = random_next(&state);
		memcpy(byte, &word, sizeof(word));
		byte += sizeof(word);
	}
	word = random_next(&state);
	memcpy(byte, &word, length);
}

bool all_bytes(const void *data, size_t length, __u8 value)
{
	const __u8 *bytes = data;

	return !length || (bytes[0] == value && !memcmp(bytes, bytes + 1, length - 1));
}

void free_memory_dirty(const struct node *node)
{
	const size_t bytes = 16 << 20;
	struct segment segment;
	void *pages;

	/* Single pages, and blocks of many */
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(pages != MAP_FAILED);
	segment = segment_make(node, bytes);
	memset(segment.data, 0xa5, bytes);
	memset(pages, 0xa5, bytes);
	segment_unmap(&segment);
	ASSERT_EQ(segment_destroy(&segment), 0);
	ASSERT_EQ(munmap(pages, bytes), 0);
}

size_t page_bytes(void)
{
	return sysconf(_SC_PAGESIZE);
}

size_t page_round(size_t length)
{
	return (length + page_bytes() - 1) & ~(page_bytes() - 1);
}

/* Open descriptors of this process */
unsigned int count_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int count = 0;

	ASSERT_TRUE(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

int put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int put_file(const char *folder, const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return put_text(path, text);
}

void crowd_make(int fd)
{
	enum { SETS = 40, FDS = 500 };
	struct epoll_event event = { .events = EPOLLPRI };
	int fds[FDS];
	unsigned int i, n;

	for (i = 0; i < FDS; i++) {
		fds[i] = dup(fd);
		ASSERT_GE(fds[i], 0);
	}
	for (n = 0; n < SETS; n++) {
		int set = epoll_create1(EPOLL_CLOEXEC);

		ASSERT_GE(set, 0);
		for (i = 0; i < FDS; i++)
			ASSERT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &event), 0);
	}
}

int dmanic_call(int fd, unsigned long number, void *argument)
{
	return ioctl(fd, number, argument) < 0 ? -errno : 0;
}

int stop_call(int fd, unsigned long number)
{
	struct dmanic_stop arg = { .size = sizeof(arg) };

	return dmanic_call(fd, number, &arg);
}

static void node_path(char path[64], const char *name)
{
	snprintf(path, 64, "/dev/dmanic/%s", name);
}

int node_path_open(const char *name, int flags)
{
	char path[64];
	int fd;

	node_path(path, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* To wait for: opens nothing, which would keep what is to go busy */
bool node_path_gone(const char *name)
{
	char path[64];

	node_path(path, name);
	return access(path, F_OK) && errno == ENOENT;
}

void node_allow(const struct fabric *of, unsigned int number)
{
	char name[DMANIC_NAME_MAX], path[64];

	fabric_name(of, number, name);
	snprintf(path, sizeof(path), "/dev/dmanic/%s", name);
	ASSERT_EQ(chmod(path, 0666), 0);
}

void user_become(uid_t uid)
{
	ASSERT_EQ(setresuid(0, 0, 0), 0);
	ASSERT_EQ(setresuid(uid, uid, 0), 0);
}

struct node node_open(const struct fabric *of, unsigned int number)
{
	struct dmanic_query query;
	struct node node;

	/* What tests do between nodes the first one does with itself then */
	fabric_name(of, getenv("DMANIC_ALONE") ? 0 : number, node.name);
	node.fd = node_path_open(node.name, O_RDWR);
	if (node.fd < 0)
		FAIL("cannot open %s: %s", node.name, strerror(-node.fd));
	node_query(&node, &query);
	node.id = query.node;
	return node;
}

void node_query(const struct node *node, struct dmanic_query *query)
{
	*query = (struct dmanic_query) { .size = sizeof(*query) };
	ASSERT_EQ(dmanic_call(node->fd, DMANIC_IOC_QUERY, query), 0);
}

void node_close(struct node *node)
{
	ASSERT_EQ(close(node->fd), 0);
	node->fd = -1;
}

static void segment_take(const struct node *node, struct segment *made,
			 const struct dmanic_segment_create *create)
{
	*made = (struct segment) {
		.fd = node->fd, .node = node->id, .id = create->id,
		.length = create->length, .mmap_offset = create->mmap_offset,
		.block_order = create->block_order,
	};
}

/* Not mapped yet */
int segment_create(const struct node *node, __u64 length, struct segment *made)
{
	struct dmanic_segment_create create = {
		.size = sizeof(create), .length = length,
	};
	int ret = dmanic_call(node->fd, DMANIC_IOC_SEGMENT_CREATE, &create);

	if (!ret)
		segment_take(node, made, &create);
	return ret;
}

struct segment segment_make(const struct node *node, __u64 length)
{
	struct segment segment;

	ASSERT_EQ(segment_create(node, length, &segment), 0);
	segment.map_bytes = page_round(length);
	segment.data = mmap(NULL, segment.map_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED, node->fd, segment.mmap_offset);
	if (segment.data == MAP_FAILED)
		FAIL("cannot map a segment: %s", strerror(errno));
	return segment;
}

struct segment segment_register(const struct node *node, void *data,
				__u64 length)
{
	struct dmanic_segment_create create = {
		.size = sizeof(create), .flags = DMANIC_SEGMENT_USER_MEMORY,
		.length = length, .address = (uintptr_t)data,
	};
	struct segment segment;

	ASSERT_EQ(dmanic_call(node->fd, DMANIC_IOC_SEGMENT_CREATE, &create), 0);
	segment_take(node, &segment, &create);
	segment.data = data;
	return segment;
}

void segment_publish(struct segment *segment, __u32 rights, const char *name,
		     const __u64 *secret)
{
	struct dmanic_segment_export arg = {
		.size = sizeof(arg), .id = segment->id, .rights = rights,
	};

	if (name)
		snprintf(arg.name, sizeof(arg.name), "%s", name);
	if (secret)
		memcpy(arg.secret, secret, sizeof(arg.secret));
	ASSERT_EQ(dmanic_call(segment->fd, DMANIC_IOC_SEGMENT_EXPORT, &arg), 0);
	segment->key = arg.key;
}

void segment_export(struct segment *segment, __u32 rights)
{
	segment_publish(segment, rights, NULL, NULL);
}

int segment_revoke(const struct segment *segment)
{
	struct dmanic_segment_id arg = {
		.size = sizeof(arg), .id = segment->id,
	};

	return dmanic_call(segment->fd, DMANIC_IOC_SEGMENT_REVOKE, &arg);
}

int segment_destroy(const struct segment *segment)
{
	struct dmanic_segment_id arg = {
		.size = sizeof(arg), .id = segment->id,
	};

	return dmanic_call(segment->fd, DMANIC_IOC_SEGMENT_DESTROY, &arg);
}

void segment_unmap(struct segment *segment)
{
	ASSERT_EQ(munmap(segment->data, segment->map_bytes), 0);
	segment->data = NULL;
}

int connect_call(const struct node *node, __u32 flags, __u32 to, __u32 id,
		 __u64 key, __u32 *handle)
{
	struct dmanic_connect arg = {
		.size = sizeof(arg), .flags = flags, .node = to, .id = id,
		.key = key,
	};
	int ret = dmanic_call(node->fd, DMANIC_IOC_CONNECT, &arg);

	if (!ret)
		*handle = arg.handle;
	return ret;
}

int connect_name(const struct node *node, __u32 flags, __u32 to,
		 const char *name, const __u64 *secret, __u64 timeout_ns,
		 __u32 *handle)
{
	struct dmanic_connect arg = {
		.size = sizeof(arg), .flags = flags | DMANIC_CONNECT_BY_NAME,
		.node = to, .timeout_ns = timeout_ns,
		.secret = { secret[0], secret[1] },
	};
	int ret;

	snprintf(arg.name, sizeof(arg.name), "%s", name);
	ret = dmanic_call(node->fd, DMANIC_IOC_CONNECT, &arg);
	if (!ret)
		*handle = arg.handle;
	return ret;
}

__u32 segment_connect(const struct node *node, const struct segment *segment)
{
	__u32 handle = 0;

	ASSERT_EQ(connect_call(node, 0, segment->node, segment->id,
			       segment->key, &handle), 0);
	return handle;
}

struct apart apart_make(__u64 latency_ns, __u64 length)
{
	struct apart made;

	if (getenv("DMANIC_ALONE"))
		SKIP("what a node does with itself is never late");
	fabric_make(&made.own, "a", 2, NULL);
	made.node = node_open(&made.own, 0);
	made.peer = node_open(&made.own, 1);
	made.local = segment_make(&made.node, length);
	made.target = segment_make(&made.peer, length);
	segment_export(&made.target, DMANIC_RIGHT_WRITE);
	made.handle = segment_connect(&made.node, &made.target);
	fabric_late(&made.own, latency_ns);
	return made;
}

struct alone alone_make(const struct model *model, __u64 length)
{
	struct alone made;
	struct fabric own;

	fabric_make(&own, "a", 1, model);
	made.node = node_open(&own, 0);
	made.local = segment_make(&made.node, length);
	made.target = segment_make(&made.node, length);
	segment_export(&made.target, DMANIC_RIGHT_WRITE);
	made.handle = segment_connect(&made.node, &made.target);
	return made;
}

__u32 irq_connect(const struct node *node, const struct irq *irq)
{
	__u32 handle = 0;

	ASSERT_EQ(connect_call(node, DMANIC_CONNECT_IRQ, irq->node, irq->id,
			       irq->key, &handle), 0);
	return handle;
}

int disconnect(const struct node *node, __u32 handle)
{
	struct dmanic_disconnect arg = {
		.size = sizeof(arg), .handle = handle,
	};

	return dmanic_call(node->fd, DMANIC_IOC_DISCONNECT, &arg);
}

/*
 * Connections are in no count, but handles are given out upwards: those made
 * between two of these calls have a number between what they return.
 */
__u32 handle_next(const struct node *node, const struct segment *segment)
{
	__u32 handle = segment_connect(node, segment);

	ASSERT_EQ(disconnect(node, handle), 0);
	return handle;
}

/* How many of them are there still; afterwards none is */
unsigned int handles_left(const struct node *node, __u32 before, __u32 after)
{
	unsigned int left = 0;

	while (++before < after)
		left += !disconnect(node, before);
	return left;
}

/* Whatever can be asked for; @create's answers stay there */
struct queue queue_make_with(const struct node *node,
			     struct dmanic_queue_create *create)
{
	struct queue queue = {
		.sq_entries = create->sq_entries,
		.cq_entries = create->cq_entries,
	};
	__u8 *map;

	ASSERT_EQ(dmanic_call(node->fd, DMANIC_IOC_QUEUE_CREATE, create), 0);
	queue.fd = create->fd;
	queue.map_bytes = create->mmap_bytes;
	map = mmap(NULL, queue.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		   queue.fd, 0);
	if (map == MAP_FAILED)
		FAIL("cannot map a queue: %s", strerror(errno));
	queue.ring = (struct dmanic_queue_ring *)map;
	queue.sq = (struct dmanic_sqe *)(map + create->sq_offset);
	queue.cq = (struct dmanic_cqe *)(map + create->cq_offset);
	return queue;
}

struct queue queue_make_eventfd(const struct node *node, __u32 sq_entries,
				__u32 cq_entries, int eventfd)
{
	struct dmanic_queue_create create = {
		.size = sizeof(create), .sq_entries = sq_entries,
		.cq_entries = cq_entries, .eventfd = eventfd,
	};

	return queue_make_with(node, &create);
}

struct queue queue_make(const struct node *node, __u32 sq_entries,
			__u32 cq_entries)
{
	return queue_make_eventfd(node, sq_entries, cq_entries, -1);
}

/* The next free submission entry, zeroed; seen by the driver only later */
struct dmanic_sqe *queue_sqe(struct queue *queue)
{
	struct dmanic_sqe *sqe;

	/* Barrier B: sq_head, then the entry is ours again. */
	ASSERT_LT(queue->tail - load32(&queue->ring->sq_head),
		  queue->sq_entries);
	sqe = &queue->sq[queue->tail++ & (queue->sq_entries - 1)];
	memset(sqe, 0, sizeof(*sqe));
	return sqe;
}

void queue_publish(struct queue *queue)
{
	/* Barrier A: entries, then sq_tail. */
	store32(&queue->ring->sq_tail, queue->tail);
}

int queue_enter(struct queue *queue, __u32 to_submit, __u32 min_complete,
		__u64 timeout_ns)
{
	struct dmanic_enter arg = {
		.size = sizeof(arg), .to_submit = to_submit,
		.min_complete = min_complete, .timeout_ns = timeout_ns,
	};
	int ret;

	queue_publish(queue);
	ret = dmanic_call(queue->fd, DMANIC_IOC_ENTER, &arg);
	queue->submitted = arg.submitted;
	queue->available = arg.available;
	return ret;
}

bool queue_reap(struct queue *queue, struct dmanic_cqe *cqe)
{
	/* Barrier C: cq_tail, then the completion. */
	if (load32(&queue->ring->cq_tail) == queue->head)
		return false;
	*cqe = queue->cq[queue->head++ & (queue->cq_entries - 1)];
	/* Barrier D: the completion is read, then cq_head. */
	store32(&queue->ring->cq_head, queue->head);
	return true;
}

/* Hand over all entries; they must be accepted at once. */
void queue_submit(struct queue *queue)
{
	__u32 left = queue->tail - load32(&queue->ring->sq_head);

	ASSERT_EQ(queue_enter(queue, left, 0, 0), 0);
	ASSERT_EQ(queue->submitted, left);
}

struct dmanic_cqe queue_wait(struct queue *queue)
{
	struct dmanic_cqe cqe = { .cookie = 0 };
	int ret;

	if (!queue_reap(queue, &cqe)) {
		/* io_uring interrupts a thread for which it has work */
		do
			ret = queue_enter(queue, 0, 1, slow_ns(20000));
		while (ret == -EINTR);
		ASSERT_EQ(ret, 0);
		ASSERT_TRUE(queue_reap(queue, &cqe));
	}
	return cqe;
}

/* Post one entry on an idle queue and wait for it */
struct dmanic_cqe queue_run(struct queue *queue, const struct dmanic_sqe *sqe)
{
	struct dmanic_cqe cqe;

	*queue_sqe(queue) = *sqe;
	queue_submit(queue);
	cqe = queue_wait(queue);
	ASSERT_EQ(cqe.cookie, sqe->cookie);
	return cqe;
}

__u32 queue_flags(const struct queue *queue)
{
	return load32(&queue->ring->flags);
}

void queue_close(struct queue *queue)
{
	ASSERT_EQ(munmap(queue->ring, queue->map_bytes), 0);
	ASSERT_EQ(close(queue->fd), 0);
	queue->fd = -1;
}

struct irq irq_make_with(const struct node *node, __u32 depth, __u32 flags,
			 int eventfd, const char *name, const __u64 *secret)
{
	struct dmanic_irq_create create = {
		.size = sizeof(create), .flags = flags, .depth = depth,
		.eventfd = eventfd,
	};
	struct irq irq;

	if (name)
		snprintf(create.name, sizeof(create.name), "%s", name);
	if (secret)
		memcpy(create.secret, secret, sizeof(create.secret));
	ASSERT_EQ(dmanic_call(node->fd, DMANIC_IOC_IRQ_CREATE, &create), 0);
	irq = (struct irq) {
		.fd = create.fd, .node = node->id, .id = create.id,
		.key = create.key, .depth = depth,
		.map_bytes = create.mmap_bytes,
	};
	irq.ring = mmap(NULL, irq.map_bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED, irq.fd, 0);
	if (irq.ring == MAP_FAILED)
		FAIL("cannot map an interrupt: %s", strerror(errno));
	return irq;
}

struct irq irq_make(const struct node *node, __u32 depth)
{
	return irq_make_with(node, depth, 0, -1, NULL, NULL);
}

int irq_wait(const struct irq *irq, __u64 target, __u64 timeout_ns,
	     __u64 *raised)
{
	struct dmanic_irq_wait arg = {
		.size = sizeof(arg), .target = target,
		.timeout_ns = timeout_ns,
	};
	int ret = dmanic_call(irq->fd, DMANIC_IOC_IRQ_WAIT, &arg);

	if (raised)
		*raised = arg.raised;
	return ret;
}

__u64 irq_raised(const struct irq *irq)
{
	/* Barrier C: raised, then the events. */
	return __atomic_load_n(&irq->ring->raised, __ATOMIC_ACQUIRE);
}

void irq_seen(const struct irq *irq, __u64 seen)
{
	/* Barrier D: the events are read, then seen. */
	__atomic_store_n(&irq->ring->seen, seen, __ATOMIC_RELEASE);
}

void irq_close(struct irq *irq)
{
	ASSERT_EQ(munmap(irq->ring, irq->map_bytes), 0);
	ASSERT_EQ(close(irq->fd), 0);
	irq->fd = -1;
}
