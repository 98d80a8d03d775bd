// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_ioctl.c - what every ioctl promises about its argument
 *
 * Owns: the table of all ioctls, each with a request that works. Every rule
 * about sizes, tails, flags, reserved fields and pointers is tried on each.
 */
#include "dmanic_test.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum place { ON_CONTEXT, ON_QUEUE, ON_IRQ, PLACES };

FIXTURE(ioctl) {
	struct node node;
	struct node other;
	struct segment remote;
	struct queue queue;
	struct irq irq;
	int fd[PLACES];
};

FIXTURE_VARIANT(ioctl) {
	unsigned long number;
	size_t bytes;
	enum place place;
	__u32 flags;			/* known ones */
	bool out;			/* tells something in its argument */
	void (*prepare)(struct ioctl_self *self, void *argument);
};

FIXTURE_SETUP(ioctl)
{
	self->node = node_open(&fabric, 0);
	self->other = node_open(&fabric, 1);
	self->remote = segment_make(&self->other, 100);
	segment_export(&self->remote, DMANIC_RIGHT_READ);
	self->queue = queue_make(&self->node, 2, 2);
	self->irq = irq_make(&self->node, 2);
	self->fd[ON_CONTEXT] = self->node.fd;
	self->fd[ON_QUEUE] = self->queue.fd;
	self->fd[ON_IRQ] = self->irq.fd;
}

FIXTURE_TEARDOWN(ioctl)
{
}

static __u32 new_segment(struct ioctl_self *self)
{
	struct segment segment;

	ASSERT_EQ(segment_create(&self->node, 1, &segment), 0);
	return segment.id;
}

static void prepare_nothing(struct ioctl_self *self, void *argument)
{
	(void)self;
	(void)argument;
}

static void prepare_segment_create(struct ioctl_self *self, void *argument)
{
	struct dmanic_segment_create *create = argument;

	(void)self;
	create->length = 1;
}

static void prepare_segment_id(struct ioctl_self *self, void *argument)
{
	struct dmanic_segment_id *id = argument;

	id->id = new_segment(self);
}

static void prepare_segment_export(struct ioctl_self *self, void *argument)
{
	struct dmanic_segment_export *export = argument;

	export->id = new_segment(self);
	export->rights = DMANIC_RIGHT_READ;
}

static void prepare_segment_revoke(struct ioctl_self *self, void *argument)
{
	struct dmanic_segment_id *id = argument;
	struct segment segment;

	ASSERT_EQ(segment_create(&self->node, 1, &segment), 0);
	segment_export(&segment, DMANIC_RIGHT_READ);
	id->id = segment.id;
}

static void prepare_connect(struct ioctl_self *self, void *argument)
{
	struct dmanic_connect *connect = argument;

	connect->node = self->remote.node;
	connect->id = self->remote.id;
	connect->key = self->remote.key;
}

static void prepare_disconnect(struct ioctl_self *self, void *argument)
{
	struct dmanic_disconnect *arg = argument;

	arg->handle = segment_connect(&self->node, &self->remote);
}

static void prepare_news_eventfd(struct ioctl_self *self, void *argument)
{
	struct dmanic_news_eventfd *arg = argument;

	(void)self;
	arg->eventfd = -1;
}

static void prepare_queue_create(struct ioctl_self *self, void *argument)
{
	struct dmanic_queue_create *create = argument;

	(void)self;
	create->sq_entries = 1;
	create->cq_entries = 1;
	create->eventfd = -1;
}

static void prepare_irq_create(struct ioctl_self *self, void *argument)
{
	struct dmanic_irq_create *create = argument;

	(void)self;
	create->depth = 1;
	create->eventfd = -1;
}

FIXTURE_VARIANT_ADD(ioctl, query) {
	.number = DMANIC_IOC_QUERY,
	.bytes = sizeof(struct dmanic_query),
	.out = true,
	.prepare = prepare_nothing,
};

FIXTURE_VARIANT_ADD(ioctl, segment_create) {
	.number = DMANIC_IOC_SEGMENT_CREATE,
	.bytes = sizeof(struct dmanic_segment_create),
	.flags = DMANIC_SEGMENT_USER_MEMORY,
	.out = true,
	.prepare = prepare_segment_create,
};

FIXTURE_VARIANT_ADD(ioctl, segment_destroy) {
	.number = DMANIC_IOC_SEGMENT_DESTROY,
	.bytes = sizeof(struct dmanic_segment_id),
	.prepare = prepare_segment_id,
};

FIXTURE_VARIANT_ADD(ioctl, segment_export) {
	.number = DMANIC_IOC_SEGMENT_EXPORT,
	.bytes = sizeof(struct dmanic_segment_export),
	.out = true,
	.prepare = prepare_segment_export,
};

FIXTURE_VARIANT_ADD(ioctl, segment_revoke) {
	.number = DMANIC_IOC_SEGMENT_REVOKE,
	.bytes = sizeof(struct dmanic_segment_id),
	.prepare = prepare_segment_revoke,
};

FIXTURE_VARIANT_ADD(ioctl, connect) {
	.number = DMANIC_IOC_CONNECT,
	.bytes = sizeof(struct dmanic_connect),
	.flags = DMANIC_CONNECT_BY_NAME | DMANIC_CONNECT_IRQ,
	.out = true,
	.prepare = prepare_connect,
};

FIXTURE_VARIANT_ADD(ioctl, disconnect) {
	.number = DMANIC_IOC_DISCONNECT,
	.bytes = sizeof(struct dmanic_disconnect),
	.prepare = prepare_disconnect,
};

FIXTURE_VARIANT_ADD(ioctl, news_eventfd) {
	.number = DMANIC_IOC_NEWS_EVENTFD,
	.bytes = sizeof(struct dmanic_news_eventfd),
	.prepare = prepare_news_eventfd,
};

FIXTURE_VARIANT_ADD(ioctl, queue_create) {
	.number = DMANIC_IOC_QUEUE_CREATE,
	.bytes = sizeof(struct dmanic_queue_create),
	.out = true,
	.prepare = prepare_queue_create,
	.flags = DMANIC_QUEUE_POLL_THREAD,
};

FIXTURE_VARIANT_ADD(ioctl, irq_create) {
	.number = DMANIC_IOC_IRQ_CREATE,
	.bytes = sizeof(struct dmanic_irq_create),
	.flags = DMANIC_IRQ_STRICT,
	.out = true,
	.prepare = prepare_irq_create,
};

FIXTURE_VARIANT_ADD(ioctl, enter) {
	.number = DMANIC_IOC_ENTER,
	.bytes = sizeof(struct dmanic_enter),
	.place = ON_QUEUE,
	.out = true,
	.prepare = prepare_nothing,
};

FIXTURE_VARIANT_ADD(ioctl, irq_wait) {
	.number = DMANIC_IOC_IRQ_WAIT,
	.bytes = sizeof(struct dmanic_irq_wait),
	.place = ON_IRQ,
	.out = true,
	.prepare = prepare_nothing,
};

FIXTURE_VARIANT_ADD(ioctl, queue_stop) {
	.number = DMANIC_IOC_QUEUE_STOP,
	.bytes = sizeof(struct dmanic_stop),
	.place = ON_QUEUE,
	.prepare = prepare_nothing,
};

FIXTURE_VARIANT_ADD(ioctl, irq_stop) {
	.number = DMANIC_IOC_IRQ_STOP,
	.bytes = sizeof(struct dmanic_stop),
	.place = ON_IRQ,
	.prepare = prepare_nothing,
};

/* A request that works, with its size; @argument has room for a page. */
static void prepare(struct ioctl_self *self,
		    const struct ioctl_variant *variant, void *argument)
{
	memset(argument, 0, page_bytes());
	*(__u32 *)argument = variant->bytes;
	variant->prepare(self, argument);
}

static int call(struct ioctl_self *self, const struct ioctl_variant *variant,
		void *argument)
{
	return dmanic_call(self->fd[variant->place], variant->number, argument);
}

/* What a refused call must leave as it was */
struct state {
	struct device device;
	unsigned int fds;
	__u32 handle;			/* connections have lower ones */
	__u32 dead;			/* who stopped it */
};

static void state_read(struct ioctl_self *self, struct state *state)
{
	ASSERT_EQ(device_get(self->node.name, &state->device), 0);
	state->fds = count_fds();
	state->handle = handle_next(&self->node, &self->remote);
	state->dead = (queue_flags(&self->queue) | load32(&self->irq.ring->flags)) &
		      DMANIC_RING_DEAD;
}

static void state_same(struct ioctl_self *self, const struct state *before)
{
	struct state after;

	state_read(self, &after);
	EXPECT_EQ(after.device.contexts, before->device.contexts);
	EXPECT_EQ(after.device.segments, before->device.segments);
	EXPECT_EQ(after.device.queues, before->device.queues);
	EXPECT_EQ(after.device.irqs, before->device.irqs);
	EXPECT_EQ(after.device.pinned, before->device.pinned);
	EXPECT_EQ(after.fds, before->fds);
	EXPECT_EQ(after.dead, before->dead);
	EXPECT_EQ(handles_left(&self->node, before->handle, after.handle), 0);
}

TEST_F(ioctl, exact_size_works)
{
	__u8 argument[4096];

	prepare(self, variant, argument);
	ASSERT_EQ(call(self, variant, argument), 0);
}

TEST_F(ioctl, shorter_than_first_version_is_EINVAL)
{
	__u8 argument[4096];
	struct state before;
	__u32 size;

	prepare(self, variant, argument);
	state_read(self, &before);
	for (size = 0; size < variant->bytes; size++) {
		memcpy(argument, &size, sizeof(size));
		EXPECT_EQ(call(self, variant, argument), -EINVAL);
	}
	state_same(self, &before);
}

TEST_F(ioctl, longer_with_zero_tail_works)
{
	__u32 sizes[] = {
		variant->bytes + 1, variant->bytes + 8, 512, 4096,
	};
	__u8 argument[4096];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		prepare(self, variant, argument);
		memcpy(argument, &sizes[i], sizeof(sizes[i]));
		EXPECT_EQ(call(self, variant, argument), 0);
	}
}

TEST_F(ioctl, longer_with_nonzero_tail_is_E2BIG)
{
	__u32 size = variant->bytes + 64;
	__u8 argument[4096];
	struct state before;
	size_t at;

	prepare(self, variant, argument);
	state_read(self, &before);
	memcpy(argument, &size, sizeof(size));
	for (at = variant->bytes; at < size; at++) {
		argument[at] = 1;
		EXPECT_EQ(call(self, variant, argument), -E2BIG);
		argument[at] = 0;
	}
	state_same(self, &before);
}

TEST_F(ioctl, absurd_size_is_refused)
{
	static const __u32 sizes[] = {
		0x7fffffff, 0x80000000, 0xffffffff - 63, 0xffffffff,
	};
	__u8 argument[4096];
	struct state before;
	unsigned int i;

	prepare(self, variant, argument);
	state_read(self, &before);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memcpy(argument, &sizes[i], sizeof(sizes[i]));
		EXPECT_LT(call(self, variant, argument), 0);
	}
	state_same(self, &before);
}

TEST_F(ioctl, unknown_flag_is_EOPNOTSUPP)
{
	__u8 argument[4096];
	struct state before;
	unsigned int bit;
	__u32 flags;

	prepare(self, variant, argument);
	state_read(self, &before);
	for (bit = 0; bit < 32; bit++) {
		flags = 1U << bit;
		if (flags & variant->flags)
			continue;
		memcpy(argument + sizeof(__u32), &flags, sizeof(flags));
		EXPECT_EQ(call(self, variant, argument), -EOPNOTSUPP);
	}
	state_same(self, &before);
}

TEST_F(ioctl, bad_pointer_is_EFAULT)
{
	void * const bad[] = {
		NULL, (void *)8, (void *)(1UL << 47), (void *)(~0UL << 47),
		(void *)~7UL, (void *)~0UL,
	};
	struct state before;
	unsigned int i;

	state_read(self, &before);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(call(self, variant, bad[i]), -EFAULT);
	state_same(self, &before);
}

/* Two pages, the second one with @protection; the struct ends the first. */
static __u8 *at_page_end(struct ioctl_self *self,
			 const struct ioctl_variant *variant, int protection)
{
	__u8 argument[4096];
	size_t page = page_bytes();
	__u8 *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(map != MAP_FAILED);
	prepare(self, variant, argument);
	memcpy(map + page - variant->bytes, argument, variant->bytes);
	ASSERT_EQ(mprotect(map + page, page, protection), 0);
	return map + page - variant->bytes;
}

TEST_F(ioctl, nothing_behind_the_struct_is_touched)
{
	__u8 *argument = at_page_end(self, variant, PROT_NONE);

	EXPECT_EQ(call(self, variant, argument), 0);
}

TEST_F(ioctl, struct_into_unmapped_page_is_EFAULT)
{
	__u8 *argument = at_page_end(self, variant, PROT_NONE);
	__u32 size = variant->bytes + 8;
	struct state before;

	state_read(self, &before);
	memcpy(argument, &size, sizeof(size));
	EXPECT_EQ(call(self, variant, argument), -EFAULT);
	memmove(argument + 4, argument, variant->bytes - 4);
	size = variant->bytes;
	memcpy(argument + 4, &size, sizeof(size));
	EXPECT_EQ(call(self, variant, argument + 4), -EFAULT);
	state_same(self, &before);
}

/* What tells nothing needs not be written to; all else is as if not done. */
TEST_F(ioctl, read_only_argument_leaks_nothing)
{
	__u8 *argument = at_page_end(self, variant, PROT_NONE);
	void *page = (void *)((uintptr_t)argument & ~(page_bytes() - 1));
	struct state before;

	ASSERT_EQ(mprotect(page, page_bytes(), PROT_READ), 0);
	state_read(self, &before);
	if (!variant->out) {
		EXPECT_EQ(call(self, variant, argument), 0);
		return;
	}
	EXPECT_EQ(call(self, variant, argument), -EFAULT);
	state_same(self, &before);
	/* Of exports there is no count: one that was left is in the way. */
	ASSERT_EQ(mprotect(page, page_bytes(), PROT_READ | PROT_WRITE), 0);
	EXPECT_EQ(call(self, variant, argument), 0);
}

TEST_F(ioctl, other_descriptors_are_ENOTTY)
{
	__u8 argument[4096];
	struct state before;
	enum place place;

	prepare(self, variant, argument);
	state_read(self, &before);
	for (place = ON_CONTEXT; place < PLACES; place++) {
		if (place == variant->place)
			continue;
		EXPECT_EQ(dmanic_call(self->fd[place], variant->number,
				      argument), -ENOTTY);
	}
	state_same(self, &before);
}

/* The number carries neither size nor direction; with them it is another. */
TEST_F(ioctl, encoded_size_is_ENOTTY)
{
	unsigned int nr = _IOC_NR(variant->number);
	__u8 argument[4096];

	prepare(self, variant, argument);
	EXPECT_EQ(dmanic_call(self->fd[variant->place],
			      _IOC(_IOC_READ | _IOC_WRITE, DMANIC_TYPE, nr,
				   variant->bytes), argument), -ENOTTY);
	EXPECT_EQ(dmanic_call(self->fd[variant->place],
			      _IO(DMANIC_TYPE ^ 1, nr), argument), -ENOTTY);
}

FIXTURE(ioctl_reserved) {
	struct ioctl_self objects;
};

FIXTURE_VARIANT(ioctl_reserved) {
	const struct ioctl_variant *ioctl;
	unsigned int offset;		/* of a 32-bit field */
};

FIXTURE_VARIANT_ADD(ioctl_reserved, segment_destroy) {
	&ioctl_variant_segment_destroy,
	offsetof(struct dmanic_segment_id, reserved),
};

FIXTURE_VARIANT_ADD(ioctl_reserved, segment_revoke) {
	&ioctl_variant_segment_revoke,
	offsetof(struct dmanic_segment_id, reserved),
};

FIXTURE_VARIANT_ADD(ioctl_reserved, disconnect) {
	&ioctl_variant_disconnect,
	offsetof(struct dmanic_disconnect, reserved),
};

FIXTURE_VARIANT_ADD(ioctl_reserved, news_eventfd) {
	&ioctl_variant_news_eventfd,
	offsetof(struct dmanic_news_eventfd, reserved),
};

FIXTURE_SETUP(ioctl_reserved)
{
	ioctl_setup(&self->objects, variant->ioctl);
}

FIXTURE_TEARDOWN(ioctl_reserved)
{
}

TEST_F(ioctl_reserved, field_is_EOPNOTSUPP)
{
	__u8 argument[4096];
	struct state before;
	unsigned int bit;
	__u32 value;

	prepare(&self->objects, variant->ioctl, argument);
	state_read(&self->objects, &before);
	for (bit = 0; bit < 32; bit++) {
		value = 1U << bit;
		memcpy(argument + variant->offset, &value, sizeof(value));
		EXPECT_EQ(call(&self->objects, variant->ioctl, argument),
			  -EOPNOTSUPP);
	}
	state_same(&self->objects, &before);
}

static bool number_known(unsigned int nr)
{
	return nr <= DMANIC_CMD_NEWS_EVENTFD || nr == DMANIC_CMD_ENTER ||
	       nr == DMANIC_CMD_QUEUE_STOP || nr == DMANIC_CMD_IRQ_WAIT ||
	       nr == DMANIC_CMD_IRQ_STOP;
}

FIXTURE(ioctl_number) {
	struct ioctl_self objects;
};

FIXTURE_SETUP(ioctl_number)
{
	ioctl_setup(&self->objects, NULL);
}

FIXTURE_TEARDOWN(ioctl_number)
{
}

TEST_F(ioctl_number, unknown_is_ENOTTY)
{
	__u8 argument[4096] = { 255 };
	enum place place;
	unsigned int nr;

	for (place = ON_CONTEXT; place < PLACES; place++)
		for (nr = 0; nr < 256; nr++)
			if (!number_known(nr))
				EXPECT_EQ(dmanic_call(self->objects.fd[place],
						      _IO(DMANIC_TYPE, nr),
						      argument), -ENOTTY);
}

TEST_F(ioctl_number, query_tells_the_device)
{
	struct dmanic_query query;
	struct device device;

	memset(&query, 0xff, sizeof(query));
	query.size = sizeof(query);
	query.flags = 0;
	ASSERT_EQ(dmanic_call(self->objects.node.fd, DMANIC_IOC_QUERY, &query),
		  0);
	EXPECT_EQ(device_get(self->objects.node.name, &device), 0);
	EXPECT_EQ(query.abi, DMANIC_ABI_VERSION);
	EXPECT_EQ(query.node, device.node);
	EXPECT_EQ(query.incarnation, device.incarnation);
	EXPECT_EQ(query.nodes, FABRIC_NODES);
	EXPECT_EQ(query.sqe_size, 64);
	EXPECT_EQ(query.cqe_size, 32);
	EXPECT_EQ(query.sqe_size, sizeof(struct dmanic_sqe));
	EXPECT_EQ(query.cqe_size, sizeof(struct dmanic_cqe));
	EXPECT_EQ(query.features & ~(DMANIC_FEATURE_STRIDED |
				     DMANIC_FEATURE_NOTIFY |
				     DMANIC_FEATURE_USER_MEMORY |
				     DMANIC_FEATURE_ATOMIC |
				     DMANIC_FEATURE_LIST |
				     DMANIC_FEATURE_MAP_REMOTE |
				     DMANIC_FEATURE_POLL_THREAD |
				     DMANIC_FEATURE_URING_CMD |
				     DMANIC_FEATURE_URING_CANCEL), 0);
	EXPECT_GT(query.max_segment_bytes, 4 << 20);
	EXPECT_GT(query.max_segments, 0);
	EXPECT_GT(query.max_queues, 0);
	EXPECT_GT(query.max_queue_entries, 0);
	EXPECT_GT(query.max_irqs, 0);
	EXPECT_GT(query.max_irq_depth, 0);
	EXPECT_GT(query.max_connections, 0);
	EXPECT_GT(query.max_contexts, 0);
	EXPECT_GT(query.max_poll_threads, 0);
	EXPECT_GT(query.user_share, 1);
	EXPECT_EQ(strcmp(query.name, self->objects.node.name), 0);
	EXPECT_EQ(strcmp(query.link, "loop"), 0);
}

FABRIC_TEST_MAIN()
