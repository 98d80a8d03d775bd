/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dmanic_test.h - the objects of the driver as tests use them
 *
 * Straight over the ioctls and rings, without libnic: a test must be able to
 * do what no library would. Functions named *_make, *_connect and the like
 * fail the test when the driver refuses; dmanic_call() and what returns int
 * give back 0 or -errno instead.
 */
#ifndef DMANIC_TEST_H
#define DMANIC_TEST_H

#include "harness.h"
#include "fabric.h"

#include <linux/dmanic.h>
#include <linux/types.h>
#include <sys/types.h>
#include <time.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define SECOND_NS	1000000000ULL
#define HOUR_NS		(3600 * SECOND_NS)
#define MS_NS		1000000ULL

/* An open node */
struct node {
	int fd;
	__u32 id;
	char name[DMANIC_NAME_MAX];
};

struct segment {
	int fd;			/* of its context */
	__u32 node;
	__u32 id;
	__u64 key;
	__u64 length;
	__u64 mmap_offset;
	__u32 block_order;
	__u8 *data;
	size_t map_bytes;	/* 0: user memory, not mapped by us */
};

/* A node in a fabric of its own, and what it needs to write to itself */
struct alone {
	struct node node;
	struct segment local;
	struct segment target;
	__u32 handle;		/* to the target */
};

/* Two nodes in a fabric of their own, and what the first one needs to write to the other */
struct apart {
	struct fabric own;
	struct node node;
	struct node peer;
	struct segment local;
	struct segment target;
	__u32 handle;		/* to the target */
};

struct queue {
	int fd;
	__u32 sq_entries;
	__u32 cq_entries;
	size_t map_bytes;
	struct dmanic_queue_ring *ring;
	struct dmanic_sqe *sq;
	struct dmanic_cqe *cq;
	__u32 tail;		/* next submission entry to fill */
	__u32 head;		/* next completion entry to read */
	__u32 submitted;	/* of the last queue_enter() */
	__u32 available;
};

struct irq {
	int fd;
	__u32 node;
	__u32 id;
	__u64 key;
	__u32 depth;
	size_t map_bytes;
	struct dmanic_irq_ring *ring;
};

__u64 now_ns(void);
__u64 slow_ns(__u64 ms);
void breathe(void);
__u64 random_next(__u64 *state);
void fill(void *data, size_t length, __u64 seed);
size_t page_bytes(void);
size_t page_round(size_t length);
unsigned int count_fds(void);
/* Writes @text into a file that there is; 0 or -errno */
int put_text(const char *path, const char *text);
int put_file(const char *folder, const char *name, const char *text);
bool all_bytes(const void *data, size_t length, __u8 value);
/* What is allocated next, by anybody, had other than zeros in it, mostly */
void free_memory_dirty(const struct node *node);

/* Very many who are woken with @fd, and are interested in nothing that it tells */
void crowd_make(int fd);

/* Poll @condition for 20 s (longer on a slow machine); its last value */
#define WAIT_FOR(condition) ({						\
	__u64 end_ = now_ns() + slow_ns(20000);				\
	bool met_;							\
									\
	while (!(met_ = (condition)) && now_ns() < end_)		\
		breathe();						\
	met_;								\
})

int dmanic_call(int fd, unsigned long number, void *argument);
/* @number: DMANIC_IOC_QUEUE_STOP or _IRQ_STOP */
int stop_call(int fd, unsigned long number);

int node_path_open(const char *name, int flags);
bool node_path_gone(const char *name);
struct node node_open(const struct fabric *of, unsigned int number);
/* Everybody may open it */
void node_allow(const struct fabric *of, unsigned int number);
/*
 * Another user, and none of his capabilities; with zero root again. The saved user is
 * root, so that one process can be all of them in turn.
 */
void user_become(uid_t uid);
void node_query(const struct node *node, struct dmanic_query *query);
void node_close(struct node *node);

int segment_create(const struct node *node, __u64 length, struct segment *made);
struct segment segment_make(const struct node *node, __u64 length);
struct segment segment_register(const struct node *node, void *data,
				__u64 length);
void segment_export(struct segment *segment, __u32 rights);
void segment_publish(struct segment *segment, __u32 rights, const char *name,
		     const __u64 *secret);
int segment_revoke(const struct segment *segment);
int segment_destroy(const struct segment *segment);
void segment_unmap(struct segment *segment);

int connect_call(const struct node *node, __u32 flags, __u32 to, __u32 id,
		 __u64 key, __u32 *handle);
int connect_name(const struct node *node, __u32 flags, __u32 to,
		 const char *name, const __u64 *secret, __u64 timeout_ns,
		 __u32 *handle);
__u32 segment_connect(const struct node *node, const struct segment *segment);
struct alone alone_make(const struct model *model, __u64 length);
/* @latency_ns: as for fabric_late(), which it is called with last */
struct apart apart_make(__u64 latency_ns, __u64 length);
__u32 irq_connect(const struct node *node, const struct irq *irq);
int disconnect(const struct node *node, __u32 handle);
__u32 handle_next(const struct node *node, const struct segment *segment);
unsigned int handles_left(const struct node *node, __u32 before, __u32 after);

struct queue queue_make_eventfd(const struct node *node, __u32 sq_entries,
				__u32 cq_entries, int eventfd);
struct queue queue_make(const struct node *node, __u32 sq_entries,
			__u32 cq_entries);
struct queue queue_make_with(const struct node *node,
			     struct dmanic_queue_create *create);
struct dmanic_sqe *queue_sqe(struct queue *queue);
void queue_publish(struct queue *queue);
int queue_enter(struct queue *queue, __u32 to_submit, __u32 min_complete,
		__u64 timeout_ns);
bool queue_reap(struct queue *queue, struct dmanic_cqe *cqe);
void queue_submit(struct queue *queue);
struct dmanic_cqe queue_wait(struct queue *queue);
struct dmanic_cqe queue_run(struct queue *queue, const struct dmanic_sqe *sqe);
__u32 queue_flags(const struct queue *queue);
void queue_close(struct queue *queue);

struct irq irq_make_with(const struct node *node, __u32 depth, __u32 flags,
			 int eventfd, const char *name, const __u64 *secret);
struct irq irq_make(const struct node *node, __u32 depth);
int irq_wait(const struct irq *irq, __u64 target, __u64 timeout_ns,
	     __u64 *raised);
__u64 irq_raised(const struct irq *irq);
void irq_seen(const struct irq *irq, __u64 seen);
void irq_close(struct irq *irq);

static inline struct dmanic_sqe sqe_move(__u8 opcode, __u32 local,
					 __u64 local_offset, __u32 remote,
					 __u64 remote_offset, __u64 length)
{
	return (struct dmanic_sqe) {
		.opcode = opcode, .local = local, .remote = remote,
		.local_offset = local_offset, .remote_offset = remote_offset,
		.length = length,
	};
}

static inline struct dmanic_sqe sqe_atomic(__u8 opcode, __u32 remote,
					   __u64 remote_offset, __u64 operand,
					   __u64 compare)
{
	return (struct dmanic_sqe) {
		.opcode = opcode, .remote = remote,
		.remote_offset = remote_offset, .payload = operand,
		.compare = compare,
	};
}

/* @direction: 0 or DMANIC_LIST_READ; @offset: of the list, bytes */
static inline struct dmanic_sqe sqe_list(__u32 direction, __u32 local,
					 __u32 remote, __u32 list, __u64 offset,
					 __u32 count)
{
	return (struct dmanic_sqe) {
		.opcode = DMANIC_OP_LIST, .local = local, .remote = remote,
		.block = direction, .count = count, .list = list,
		.list_offset = offset / 8,
	};
}

static inline struct dmanic_sqe sqe_notify(__u32 handle, __u64 payload)
{
	return (struct dmanic_sqe) {
		.opcode = DMANIC_OP_NOTIFY, .notify = handle,
		.payload = payload,
	};
}

static inline __u32 load32(const __u32 *place)
{
	return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

static inline void store32(__u32 *place, __u32 value)
{
	__atomic_store_n(place, value, __ATOMIC_RELEASE);
}

/* Failures inside these tell where they were called from. */
#ifndef DMANIC_TEST_NO_CALLER
#define CALLER harness_caller(__FILE__, __LINE__)
#define node_open(...)		(CALLER, node_open(__VA_ARGS__))
#define node_allow(...)		(CALLER, node_allow(__VA_ARGS__))
#define user_become(...)	(CALLER, user_become(__VA_ARGS__))
#define node_query(...)		(CALLER, node_query(__VA_ARGS__))
#define segment_make(...)	(CALLER, segment_make(__VA_ARGS__))
#define segment_register(...)	(CALLER, segment_register(__VA_ARGS__))
#define segment_export(...)	(CALLER, segment_export(__VA_ARGS__))
#define segment_publish(...)	(CALLER, segment_publish(__VA_ARGS__))
#define segment_connect(...)	(CALLER, segment_connect(__VA_ARGS__))
#define alone_make(...)		(CALLER, alone_make(__VA_ARGS__))
#define apart_make(...)		(CALLER, apart_make(__VA_ARGS__))
#define irq_connect(...)	(CALLER, irq_connect(__VA_ARGS__))
#define handle_next(...)	(CALLER, handle_next(__VA_ARGS__))
#define queue_make(...)		(CALLER, queue_make(__VA_ARGS__))
#define queue_make_with(...)	(CALLER, queue_make_with(__VA_ARGS__))
#define queue_sqe(...)		(CALLER, queue_sqe(__VA_ARGS__))
#define queue_submit(...)	(CALLER, queue_submit(__VA_ARGS__))
#define queue_wait(...)		(CALLER, queue_wait(__VA_ARGS__))
#define queue_run(...)		(CALLER, queue_run(__VA_ARGS__))
#define irq_make(...)		(CALLER, irq_make(__VA_ARGS__))
#define irq_make_with(...)	(CALLER, irq_make_with(__VA_ARGS__))
#endif

#endif /* DMANIC_TEST_H */
