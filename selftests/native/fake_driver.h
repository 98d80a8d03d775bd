/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fake_driver.h - the driver as libnic sees it, in memory
 *
 * A test that includes this is linked with
 *	-Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap
 * so that what libnic calls ends up here. Nodes are opened by a number at the
 * end of their name; any number exists. Operations complete inside ENTER, or
 * when the test calls fake_complete(), with fake.hold. What a waiter sleeps
 * for is brought about by another thread, or by fake.while_asleep, which is
 * called once instead of a sleep.
 *
 * One lock for all. Rings are accessed with the driver's barriers. The knobs
 * stay as they are from test to test; fake_reset() sets all of them back.
 */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/dmanic.h>

#define FAKE_FDS	4096
#define FAKE_HANDLES	4096
#define FAKE_PAGE	4096
#define FAKE_ENTRIES_MAX 1024

enum fake_kind { FAKE_NONE, FAKE_CONTEXT, FAKE_QUEUE, FAKE_IRQ };

struct fake_object {
	enum fake_kind kind;
	int fd;
	uint32_t node;
	void *map;
	size_t map_bytes;

	int eventfd;			/* of the test, not owned; or -1 */

	/* queue */
	uint32_t sq_entries, cq_entries;
	uint32_t sq_head, cq_tail;
	struct dmanic_sqe *sqe, *held;	/* held: taken, not completed */
	struct dmanic_cqe *cqe;
	uint32_t held_count;

	/* interrupt */
	uint32_t depth;
	bool strict;
	uint64_t raised;
	uint64_t secret[2];
	char name[DMANIC_PUBLISH_MAX];
};

static struct {
	/* knobs, as in fake_reset() */
	uint32_t first_index;		/* of the rings of a new queue */
	uint64_t first_raised;		/* of a new interrupt */
	uint32_t max_queue_entries;
	uint32_t max_irq_depth;
	bool hold;
	void (*while_asleep)(void);
	uint32_t (*outcome)(const struct dmanic_sqe *sqe);
	int fail_with;			/* errno of the next that creates */
	struct dmanic_refusal refusal;
	int fail_open;			/* errno of open() */
	int fail_enter;			/* errno of ENTER */
	int fail_map;			/* errno of mmap() of a context */
	uint32_t no_rights;		/* not granted by CONNECT */
	bool no_map;			/* remote segments cannot be mapped */
	uint32_t abi;
	uint64_t features;

	/* what was done */
	unsigned int enters, sleeps;
	uint64_t longest_timeout;	/* of an ENTER */
	struct dmanic_queue_create queue_create;
	struct dmanic_irq_create irq_create;
	struct dmanic_segment_create segment_create;
	struct dmanic_segment_export export;
	struct dmanic_connect connect;
	unsigned int destroyed;
	unsigned int stops;
	struct {			/* of a context, the last */
		uint64_t offset;
		size_t bytes;
		int prot;
	} mapped;
	size_t unmapped;		/* bytes, of the last */

	struct fake_object *object[FAKE_FDS];
	struct fake_object *handle[FAKE_HANDLES];
	uint32_t handles;
	/* any segment's memory */
	_Alignas(FAKE_PAGE) uint8_t segment[4 * FAKE_PAGE];
	pthread_mutex_t lock;
	pthread_cond_t changed;
} fake = {
	.max_queue_entries = FAKE_ENTRIES_MAX,
	.max_irq_depth = FAKE_ENTRIES_MAX,
	.abi = DMANIC_ABI_VERSION,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* For the next test: knobs, and what ENTER and waits counted */
static inline void fake_reset(void)
{
	fake.first_index = 0;
	fake.first_raised = 0;
	fake.max_queue_entries = FAKE_ENTRIES_MAX;
	fake.max_irq_depth = FAKE_ENTRIES_MAX;
	fake.hold = false;
	fake.while_asleep = NULL;
	fake.outcome = NULL;
	fake.fail_with = 0;
	fake.fail_open = 0;
	fake.fail_enter = 0;
	fake.fail_map = 0;
	fake.no_rights = 0;
	fake.no_map = false;
	fake.abi = DMANIC_ABI_VERSION;
	fake.features = 0;
	fake.enters = 0;
	fake.sleeps = 0;
	fake.longest_timeout = 0;
}

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
void *__real_mmap(void *addr, size_t bytes, int prot, int flags, int fd,
		  off_t offset);
int __real_munmap(void *addr, size_t bytes);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_ioctl(int fd, unsigned long number, ...);
void *__wrap_mmap(void *addr, size_t bytes, int prot, int flags, int fd,
		  off_t offset);
int __wrap_munmap(void *addr, size_t bytes);

/* ---- objects ---- */

static struct fake_object *fake_new(enum fake_kind kind, uint32_t node)
{
	struct fake_object *object = calloc(1, sizeof(*object));

	object->kind = kind;
	object->node = node;
	object->eventfd = -1;
	object->fd = __real_open("/dev/null", O_RDWR | O_CLOEXEC);
	if (object->fd < 0 || object->fd >= FAKE_FDS)
		abort();
	fake.object[object->fd] = object;
	return object;
}

static void *fake_map(struct fake_object *object, size_t bytes)
{
	object->map_bytes = (bytes + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE;
	object->map = aligned_alloc(FAKE_PAGE, object->map_bytes);
	memset(object->map, 0, object->map_bytes);
	return object->map;
}

static struct fake_object *fake_find(const char *name, uint32_t node)
{
	for (int fd = 0; fd < FAKE_FDS; fd++)
		if (fake.object[fd] && fake.object[fd]->kind == FAKE_IRQ &&
		    fake.object[fd]->node == node &&
		    !strcmp(fake.object[fd]->name, name))
			return fake.object[fd];
	return NULL;
}

int __wrap_open(const char *path, int flags, ...)
{
	const char *digits = path + strlen(path);
	int fd;

	if (strncmp(path, "/dev/dmanic/", 12))
		return __real_open(path, flags);
	if (fake.fail_open) {
		errno = fake.fail_open;
		return -1;
	}
	while (digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	pthread_mutex_lock(&fake.lock);
	fd = fake_new(FAKE_CONTEXT, (uint32_t)atoi(digits))->fd;
	pthread_mutex_unlock(&fake.lock);
	return fd;
}

int __wrap_close(int fd)
{
	struct fake_object *object;

	pthread_mutex_lock(&fake.lock);
	object = fake.object[fd];
	if (object) {
		fake.object[fd] = NULL;
		for (uint32_t i = 1; i <= fake.handles; i++)
			if (fake.handle[i] == object)
				fake.handle[i] = NULL;
		free(object->map);
		free(object->held);
		free(object);
	}
	pthread_mutex_unlock(&fake.lock);
	return __real_close(fd);
}

void *__wrap_mmap(void *addr, size_t bytes, int prot, int flags, int fd,
		  off_t offset)
{
	struct fake_object *object = NULL;

	if (fd >= 0) {
		pthread_mutex_lock(&fake.lock);
		object = fake.object[fd];
		pthread_mutex_unlock(&fake.lock);
	}
	if (!object)
		return __real_mmap(addr, bytes, prot, flags, fd, offset);
	if (object->kind == FAKE_CONTEXT && fake.fail_map) {
		errno = fake.fail_map;
		return MAP_FAILED;
	}
	if (object->kind == FAKE_CONTEXT) {
		fake.mapped.offset = (uint64_t)offset;
		fake.mapped.bytes = bytes;
		fake.mapped.prot = prot;
		return fake.segment;
	}
	if (bytes != object->map_bytes || offset)
		abort();
	return object->map;
}

int __wrap_munmap(void *addr, size_t bytes)
{
	bool ours = addr == fake.segment;

	if (ours)
		fake.unmapped = bytes;
	pthread_mutex_lock(&fake.lock);
	for (int fd = 0; fd < FAKE_FDS; fd++)
		ours |= fake.object[fd] && fake.object[fd]->map == addr;
	pthread_mutex_unlock(&fake.lock);
	return ours ? 0 : __real_munmap(addr, bytes);
}

/* ---- operations ---- */

/* E: called after the barrier behind the count */
static void fake_signal(struct fake_object *object, uint32_t *arm)
{
	uint64_t one = 1;

	if (object->eventfd < 0 || !__atomic_load_n(arm, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(arm, 0, __ATOMIC_RELAXED);
	if (write(object->eventfd, &one, sizeof(one)) != sizeof(one))
		abort();
}

/* Under fake.lock. Return: enum dmanic_status. */
static uint32_t fake_raise(struct fake_object *irq, uint64_t payload,
			   uint32_t from)
{
	struct dmanic_irq_ring *ring;
	struct dmanic_irq_event *event;
	uint64_t seen;

	if (!irq)
		return DMANIC_STATUS_NO_SEGMENT;
	ring = irq->map;
	/* D */
	seen = __atomic_load_n(&ring->seen, __ATOMIC_ACQUIRE);
	if (irq->strict && irq->raised - seen >= irq->depth)
		return DMANIC_STATUS_LIMIT;
	event = &ring->event[irq->raised & (irq->depth - 1)];
	__atomic_store_n(&event->payload, payload, __ATOMIC_RELAXED);
	__atomic_store_n(&event->node, from, __ATOMIC_RELAXED);
	/* C, and E: nothing of the next event is seen before this count */
	__atomic_store_n(&ring->raised, ++irq->raised, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	fake_signal(irq, &ring->arm);
	pthread_cond_broadcast(&fake.changed);
	return DMANIC_STATUS_OK;
}

static inline void fake_raise_fd(int fd, uint64_t payload, uint32_t from)
{
	pthread_mutex_lock(&fake.lock);
	fake_raise(fake.object[fd], payload, from);
	pthread_mutex_unlock(&fake.lock);
}

static void fake_finish(struct fake_object *queue, const struct dmanic_sqe *sqe)
{
	struct dmanic_queue_ring *ring = queue->map;
	uint32_t status = fake.outcome ? fake.outcome(sqe) : DMANIC_STATUS_OK;
	struct dmanic_cqe *cqe;

	if (!status && sqe->notify)
		status = fake_raise(fake.handle[sqe->notify], sqe->payload,
				    queue->node);
	if (!status && sqe->flags & DMANIC_SQE_SILENT) {
		if (ring->flags & DMANIC_RING_CQ_FULL)
			fake_signal(queue, &ring->arm);
		return;
	}
	cqe = &queue->cqe[queue->cq_tail++ & (queue->cq_entries - 1)];
	cqe->cookie = sqe->cookie;
	cqe->status = status;
	cqe->opcode = sqe->opcode;
	cqe->flags = sqe->flags;
	cqe->result = status ? 0 : sqe->length;
	/* C */
	__atomic_store_n(&ring->cq_tail, queue->cq_tail, __ATOMIC_RELEASE);
	/* E */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	fake_signal(queue, &ring->arm);
	pthread_cond_broadcast(&fake.changed);
}

/* Under fake.lock: complete the @n oldest operations held. */
static void fake_complete(struct fake_object *queue, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fake_finish(queue, &queue->held[i]);
	queue->held_count -= n;
	memmove(queue->held, queue->held + n,
		queue->held_count * sizeof(*queue->held));
}

static uint32_t fake_available(const struct fake_object *queue)
{
	const struct dmanic_queue_ring *ring = queue->map;

	/* D */
	return queue->cq_tail - __atomic_load_n(&ring->cq_head,
						__ATOMIC_ACQUIRE);
}

static uint32_t fake_take(struct fake_object *queue, uint32_t most)
{
	struct dmanic_queue_ring *ring = queue->map;
	/* A */
	uint32_t tail = __atomic_load_n(&ring->sq_tail, __ATOMIC_ACQUIRE);
	uint32_t taken = 0, used;

	if (tail - queue->sq_head > queue->sq_entries)
		abort();
	for (; taken < most && queue->sq_head != tail; taken++) {
		used = fake_available(queue) + queue->held_count;
		if (used > queue->cq_entries)
			abort();
		ring->flags &= ~DMANIC_RING_CQ_FULL;
		if (used == queue->cq_entries)
			ring->flags |= DMANIC_RING_CQ_FULL;
		if (ring->flags & DMANIC_RING_CQ_FULL)
			break;
		queue->held[queue->held_count++] =
			queue->sqe[queue->sq_head++ & (queue->sq_entries - 1)];
		if (!fake.hold)
			fake_complete(queue, queue->held_count);
	}
	/* B */
	__atomic_store_n(&ring->sq_head, queue->sq_head, __ATOMIC_RELEASE);
	return taken;
}

/* ---- waiting ---- */

static void fake_deadline(struct timespec *end, uint64_t timeout_ns)
{
	uint64_t most = 100000000000ULL;

	if (timeout_ns > most)
		timeout_ns = most;
	clock_gettime(CLOCK_REALTIME, end);
	timeout_ns += (uint64_t)end->tv_nsec;
	end->tv_sec += (time_t)(timeout_ns / 1000000000ULL);
	end->tv_nsec = (long)(timeout_ns % 1000000000ULL);
}

/* Under fake.lock. Return: 0 something happened; -ETIME. */
static int fake_sleep(const struct timespec *end)
{
	void (*hook)(void) = fake.while_asleep;

	fake.sleeps++;
	if (!hook)
		return -pthread_cond_timedwait(&fake.changed, &fake.lock, end) ?
		       -ETIME : 0;
	fake.while_asleep = NULL;
	hook();
	return 0;
}

static int fake_enter(struct fake_object *queue, struct dmanic_enter *arg)
{
	struct timespec end;
	int ret = 0;

	fake.enters++;
	if (arg->timeout_ns > fake.longest_timeout)
		fake.longest_timeout = arg->timeout_ns;
	if (fake.fail_enter)
		return -fake.fail_enter;
	if (arg->min_complete > queue->cq_entries)
		return -EINVAL;
	arg->submitted = fake_take(queue, arg->to_submit);
	fake_deadline(&end, arg->timeout_ns);
	while (!ret && fake_available(queue) < arg->min_complete)
		ret = arg->timeout_ns ? fake_sleep(&end) : -ETIME;
	arg->available = fake_available(queue);
	return ret;
}

static int fake_irq_wait(struct fake_object *irq, struct dmanic_irq_wait *arg)
{
	struct timespec end;
	int ret = 0;

	fake_deadline(&end, arg->timeout_ns);
	while (!ret && (int64_t)(irq->raised - arg->target) < 0)
		ret = arg->timeout_ns ? fake_sleep(&end) : -ETIME;
	arg->raised = irq->raised;
	return ret;
}

/* ---- the other calls ---- */

static int fake_query(struct fake_object *ctx, struct dmanic_query *arg)
{
	arg->abi = fake.abi;
	arg->node = ctx->node;
	arg->nodes = 16;
	arg->sqe_size = sizeof(struct dmanic_sqe);
	arg->cqe_size = sizeof(struct dmanic_cqe);
	arg->max_segment_bytes = sizeof(fake.segment);
	arg->max_queue_entries = fake.max_queue_entries;
	arg->max_irq_depth = fake.max_irq_depth;
	arg->max_segments = 11;
	arg->max_queues = 12;
	arg->max_irqs = 13;
	arg->max_connections = 14;
	arg->max_contexts = 15;
	arg->max_poll_threads = 16;
	arg->features = fake.features;
	strcpy(arg->name, "nic0");
	strcpy(arg->link, "fake");
	return 0;
}

static int fake_queue_create(struct fake_object *ctx,
			     struct dmanic_queue_create *arg)
{
	struct dmanic_queue_ring *ring;
	struct fake_object *queue;

	fake.queue_create = *arg;
	queue = fake_new(FAKE_QUEUE, ctx->node);
	queue->eventfd = arg->eventfd;
	queue->sq_entries = arg->sq_entries;
	queue->cq_entries = arg->cq_entries;
	arg->sq_offset = FAKE_PAGE;
	arg->cq_offset = arg->sq_offset +
			 arg->sq_entries * (uint32_t)sizeof(*queue->sqe);
	ring = fake_map(queue, arg->cq_offset +
			arg->cq_entries * sizeof(*queue->cqe));
	queue->sqe = (void *)((char *)queue->map + arg->sq_offset);
	queue->cqe = (void *)((char *)queue->map + arg->cq_offset);
	queue->held = calloc(arg->cq_entries, sizeof(*queue->held));
	queue->sq_head = fake.first_index;
	queue->cq_tail = fake.first_index;
	ring->sq_tail = fake.first_index;
	ring->sq_head = fake.first_index;
	ring->cq_tail = fake.first_index;
	ring->cq_head = fake.first_index;
	arg->mmap_bytes = queue->map_bytes;
	arg->fd = queue->fd;
	return 0;
}

static int fake_irq_create(struct fake_object *ctx,
			   struct dmanic_irq_create *arg)
{
	struct dmanic_irq_ring *ring;
	struct fake_object *irq;

	fake.irq_create = *arg;
	if (arg->name[0] && fake_find(arg->name, ctx->node))
		return -EEXIST;
	irq = fake_new(FAKE_IRQ, ctx->node);
	irq->eventfd = arg->eventfd;
	irq->depth = arg->depth;
	irq->strict = arg->flags & DMANIC_IRQ_STRICT;
	ring = fake_map(irq, sizeof(*ring) + arg->depth * sizeof(*ring->event));
	irq->raised = fake.first_raised;
	ring->raised = fake.first_raised;
	ring->seen = fake.first_raised;
	memcpy(irq->name, arg->name, sizeof(irq->name));
	memcpy(irq->secret, arg->secret, sizeof(irq->secret));
	arg->mmap_bytes = irq->map_bytes;
	arg->fd = irq->fd;
	arg->id = (uint32_t)irq->fd;
	pthread_cond_broadcast(&fake.changed);
	return 0;
}

static int fake_connect(struct dmanic_connect *arg)
{
	struct fake_object *irq = NULL;
	struct timespec end;

	fake.connect = *arg;
	fake_deadline(&end, arg->timeout_ns);
	if (arg->flags & DMANIC_CONNECT_BY_NAME) {
		while (!(irq = fake_find(arg->name, arg->node))) {
			if (!arg->timeout_ns)
				return -ENOENT;
			if (fake_sleep(&end))
				return -ETIME;
		}
		if (memcmp(irq->secret, arg->secret, sizeof(irq->secret)))
			return -EACCES;
	} else if (arg->flags & DMANIC_CONNECT_IRQ) {
		irq = fake.object[arg->id];
	}
	if (fake.handles + 1 >= FAKE_HANDLES)
		abort();
	arg->handle = ++fake.handles;
	fake.handle[arg->handle] = irq;
	arg->length = irq ? irq->depth : sizeof(fake.segment);
	arg->rights = (DMANIC_RIGHT_READ | DMANIC_RIGHT_WRITE) &
		      ~fake.no_rights;
	if (!irq && !fake.no_map && arg->rights & DMANIC_RIGHT_READ)
		arg->mmap_offset = 1ULL << 62 | (uint64_t)arg->handle << 40;
	return 0;
}

static int fake_create_fails(void *arg, size_t refusal)
{
	int err = fake.fail_with;

	fake.fail_with = 0;
	if (err)
		memcpy((char *)arg + refusal, &fake.refusal,
		       sizeof(fake.refusal));
	return -err;
}

#define FAKE_FAILS(type)						\
	fake_create_fails(arg, offsetof(struct type, refusal))

static int fake_ioctl(struct fake_object *object, unsigned long number,
		      void *arg)
{
	int ret;

	switch (number) {
	case DMANIC_IOC_QUERY:
		return fake_query(object, arg);
	case DMANIC_IOC_SEGMENT_CREATE:
		fake.segment_create = *(struct dmanic_segment_create *)arg;
		((struct dmanic_segment_create *)arg)->id = 5;
		return FAKE_FAILS(dmanic_segment_create);
	case DMANIC_IOC_SEGMENT_EXPORT:
		fake.export = *(struct dmanic_segment_export *)arg;
		return 0;
	case DMANIC_IOC_SEGMENT_DESTROY:
		fake.destroyed++;
		return 0;
	case DMANIC_IOC_DISCONNECT:
		return 0;
	case DMANIC_IOC_CONNECT:
		ret = FAKE_FAILS(dmanic_connect);
		return ret ? ret : fake_connect(arg);
	case DMANIC_IOC_QUEUE_CREATE:
		ret = FAKE_FAILS(dmanic_queue_create);
		return ret ? ret : fake_queue_create(object, arg);
	case DMANIC_IOC_IRQ_CREATE:
		ret = FAKE_FAILS(dmanic_irq_create);
		return ret ? ret : fake_irq_create(object, arg);
	case DMANIC_IOC_ENTER:
		return fake_enter(object, arg);
	case DMANIC_IOC_IRQ_WAIT:
		return fake_irq_wait(object, arg);
	case DMANIC_IOC_QUEUE_STOP:
	case DMANIC_IOC_IRQ_STOP:
		fake.stops++;
		return 0;
	}
	return -ENOTTY;
}

int __wrap_ioctl(int fd, unsigned long number, ...)
{
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, number);
	arg = va_arg(ap, void *);
	va_end(ap);
	pthread_mutex_lock(&fake.lock);
	ret = fake.object[fd] ? fake_ioctl(fake.object[fd], number, arg) :
				-EBADF;
	pthread_mutex_unlock(&fake.lock);
	if (!ret)
		return 0;
	errno = -ret;
	return -1;
}

#endif /* FAKE_DRIVER_H */
