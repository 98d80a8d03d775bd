// SPDX-License-Identifier: GPL-2.0-only
/*
 * trust.c - one rank that trusts a node which lies
 *
 * It publishes a segment, "trust", and an interrupt, "trust-irq", for all to use, and asks the
 * other node for operations of all kinds, whatever becomes of them; it connects anew when
 * that node does not know it any more. Prints how many went well.
 */
#include "exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/common/clock.h"

#define BYTES		(1U << 20)	/* of the segments */
#define ENTRIES		64U		/* of the list */
#define WAIT_NS		(NS_PER_S / 2)

/**
 * struct trust - what the rank has for it
 * @x: the rank
 * @own: published, and what is moved
 * @list: blocks
 * @remote: of the other node, segment and interrupt
 * @posted: operations
 * @well: of them
 * @connected: times
 */
struct trust {
	struct exchange *x;
	struct nic_segment *own;
	struct nic_segment *list;
	struct nic_remote *remote[2];
	unsigned long posted;
	unsigned long well;
	unsigned long connected;
};

static void make_list(struct nic_segment *list)
{
	struct nic_list_entry *entry = nic_segment_addr(list);
	unsigned int i;

	for (i = 0; i < ENTRIES; i++)
		entry[i] = (struct nic_list_entry) {
			.local_offset = i * 1000, .remote_offset = i * 2000, .bytes = i * 13,
		};
}

static bool connect_both(struct trust *t)
{
	const struct exchange *x = t->x;

	if (nic_connect_name(x->ctx, x->to, "trust", NULL, WAIT_NS, &t->remote[0]))
		return false;
	if (nic_connect_irq_name(x->ctx, x->to, "trust-irq", NULL, WAIT_NS, &t->remote[1])) {
		nic_disconnect(t->remote[0]);
		return false;
	}
	t->connected++;
	return true;
}

/* Return: 0, or -EAGAIN: there is no room */
static int post(struct trust *t)
{
	const struct nic_stride stride = { 100, 10, 150, 200 };
	const struct nic_list list = { t->list, 0, ENTRIES };
	unsigned int at = (unsigned int)(rand() % (BYTES / 4)) & ~7U;
	unsigned int bytes = (unsigned int)rand() % (rand() % 4 ? 2000 : BYTES / 4);
	unsigned int flags = rand() % 8 ? 0 : NIC_FENCE;
	const struct nic_remote *to = t->remote[0];
	struct nic_queue *queue = t->x->queue;

	switch (rand() % 10) {
	case 0:
		return nic_post_put(queue, t->own, at, to, at, bytes, flags, 0);
	case 1:
		return nic_post_put_notify(queue, t->own, at, to, at, bytes, t->remote[1], 1,
					   flags, 0);
	case 2:
		return nic_post_put_strided(queue, t->own, at, to, at, &stride, flags, 0);
	case 3:
		return nic_post_get_strided(queue, t->own, at, to, at, &stride, flags, 0);
	case 4:
		return nic_post_put_list(queue, t->own, at, to, at, &list, flags, 0);
	case 5:
		return nic_post_get_list(queue, t->own, at, to, at, &list, flags, 0);
	case 6:
		return nic_post_fetch_add(queue, to, at, 1, flags, 0);
	case 7:
		return nic_post_notify(queue, t->remote[1], 1, flags, 0);
	default:
		return nic_post_get(queue, t->own, at, to, at, bytes, flags, 0);
	}
}

/* Until one fails, or the time has come; what is pending then ends, or is given up with its queue */
static void ask(struct trust *t, uint64_t end)
{
	struct nic_completion done[32];
	struct exchange *x = t->x;
	unsigned int i, pending = 0;
	bool wrong = false;
	int ret;

	while (now_ns() < end && (!wrong || pending)) {
		for (; !wrong && pending < x->depth && !post(t); pending++)
			t->posted++;
		ret = nic_queue_wait(x->queue, done, 32, WAIT_NS);
		if (ret == -ETIME)
			return;
		must(x, ret, "wait");
		pending -= (unsigned int)ret;
		for (i = 0; i < (unsigned int)ret; i++) {
			t->well += done[i].status == NIC_OK;
			wrong |= done[i].status == NIC_PEER_RESTARTED ||
				 done[i].status == NIC_PEER_DEAD || done[i].status == NIC_LINK_DOWN;
		}
	}
}

void trust_run(struct exchange *x)
{
	const uint64_t end = now_ns() + x->time_ns;
	struct trust t = { .x = x };
	struct nic_irq *irq;

	must(x, nic_segment_alloc(x->ctx, BYTES, &t.own), "make a segment");
	must(x, nic_segment_alloc(x->ctx, ENTRIES * sizeof(struct nic_list_entry), &t.list),
	     "make a list");
	make_list(t.list);
	must(x, nic_segment_export(t.own, NIC_READ | NIC_WRITE | NIC_ATOMIC, "trust", NULL, NULL),
	     "publish a segment");
	must(x, nic_irq_create(x->ctx, 16, 0, "trust-irq", NULL, &irq), "publish an interrupt");
	while (now_ns() < end) {
		if (!connect_both(&t))
			continue;
		ask(&t, end);
		nic_queue_destroy(x->queue);
		nic_disconnect(t.remote[0]);
		nic_disconnect(t.remote[1]);
		exchange_queue(x);
	}
	printf("connected %lu times, %lu of %lu operations went well\n", t.connected, t.well,
	       t.posted);
	nic_irq_destroy(irq);
	nic_segment_free(t.list);
	nic_segment_free(t.own);
}
