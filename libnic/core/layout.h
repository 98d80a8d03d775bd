/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * layout.h - what the library was written against: the size of every struct
 * it shares with the driver and the place of every field. A change of the
 * headers that would break a program in use stops the build here.
 */
#ifndef LIBNIC_LAYOUT_H
#define LIBNIC_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <linux/dmanic.h>

#define NIC_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), #type)
#define NIC_AT(type, field, bytes) \
	_Static_assert(offsetof(struct type, field) == (bytes), #type "." #field)

/* ---- linux/dmanic_ring.h ---- */

NIC_SIZE(dmanic_sqe, 64);
NIC_AT(dmanic_sqe, opcode, 0);
NIC_AT(dmanic_sqe, flags, 1);
NIC_AT(dmanic_sqe, reserved, 2);
NIC_AT(dmanic_sqe, local, 4);
NIC_AT(dmanic_sqe, cookie, 8);
NIC_AT(dmanic_sqe, remote, 16);
NIC_AT(dmanic_sqe, notify, 20);
NIC_AT(dmanic_sqe, local_offset, 24);
NIC_AT(dmanic_sqe, remote_offset, 32);
NIC_AT(dmanic_sqe, length, 40);
NIC_AT(dmanic_sqe, block, 40);
NIC_AT(dmanic_sqe, count, 44);
NIC_AT(dmanic_sqe, compare, 48);
NIC_AT(dmanic_sqe, local_stride, 48);
NIC_AT(dmanic_sqe, remote_stride, 52);
NIC_AT(dmanic_sqe, list, 48);
NIC_AT(dmanic_sqe, list_offset, 52);
NIC_AT(dmanic_sqe, payload, 56);

NIC_SIZE(dmanic_list_entry, 24);
NIC_AT(dmanic_list_entry, local_offset, 0);
NIC_AT(dmanic_list_entry, remote_offset, 8);
NIC_AT(dmanic_list_entry, length, 16);

NIC_SIZE(dmanic_cqe, 32);
NIC_AT(dmanic_cqe, cookie, 0);
NIC_AT(dmanic_cqe, status, 8);
NIC_AT(dmanic_cqe, opcode, 12);
NIC_AT(dmanic_cqe, result, 16);
NIC_AT(dmanic_cqe, reserved, 24);

NIC_SIZE(dmanic_queue_ring, 6 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_queue_ring, sq_tail, 0 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_queue_ring, sq_head, 1 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_queue_ring, cq_tail, 2 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_queue_ring, cq_head, 3 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_queue_ring, flags, 4 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_queue_ring, arm, 5 * DMANIC_CACHE_LINE);

NIC_SIZE(dmanic_irq_event, 16);
NIC_AT(dmanic_irq_event, payload, 0);
NIC_AT(dmanic_irq_event, node, 8);
NIC_AT(dmanic_irq_event, reserved, 12);

NIC_SIZE(dmanic_irq_ring, 3 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_irq_ring, raised, 0 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_irq_ring, flags, 8);
NIC_AT(dmanic_irq_ring, seen, 1 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_irq_ring, arm, 2 * DMANIC_CACHE_LINE);
NIC_AT(dmanic_irq_ring, event, 3 * DMANIC_CACHE_LINE);

/* ---- linux/dmanic.h ---- */

NIC_SIZE(dmanic_refusal, 24);
NIC_AT(dmanic_refusal, limit, 0);
NIC_AT(dmanic_refusal, reserved, 4);
NIC_AT(dmanic_refusal, asked, 8);
NIC_AT(dmanic_refusal, allowed, 16);

NIC_SIZE(dmanic_query, 152);
NIC_AT(dmanic_query, size, 0);
NIC_AT(dmanic_query, flags, 4);
NIC_AT(dmanic_query, abi, 8);
NIC_AT(dmanic_query, node, 12);
NIC_AT(dmanic_query, nodes, 16);
NIC_AT(dmanic_query, sqe_size, 20);
NIC_AT(dmanic_query, cqe_size, 24);
NIC_AT(dmanic_query, max_poll_threads, 28);
NIC_AT(dmanic_query, features, 32);
NIC_AT(dmanic_query, incarnation, 40);
NIC_AT(dmanic_query, max_segment_bytes, 48);
NIC_AT(dmanic_query, max_segments, 56);
NIC_AT(dmanic_query, max_queues, 60);
NIC_AT(dmanic_query, max_queue_entries, 64);
NIC_AT(dmanic_query, max_irqs, 68);
NIC_AT(dmanic_query, max_irq_depth, 72);
NIC_AT(dmanic_query, max_connections, 76);
NIC_AT(dmanic_query, max_contexts, 80);
NIC_AT(dmanic_query, user_share, 84);
NIC_AT(dmanic_query, name, 88);
NIC_AT(dmanic_query, link, 120);

NIC_SIZE(dmanic_segment_create, 64);
NIC_AT(dmanic_segment_create, size, 0);
NIC_AT(dmanic_segment_create, flags, 4);
NIC_AT(dmanic_segment_create, length, 8);
NIC_AT(dmanic_segment_create, address, 16);
NIC_AT(dmanic_segment_create, id, 24);
NIC_AT(dmanic_segment_create, block_order, 28);
NIC_AT(dmanic_segment_create, mmap_offset, 32);
NIC_AT(dmanic_segment_create, refusal, 40);

NIC_SIZE(dmanic_segment_id, 16);
NIC_AT(dmanic_segment_id, size, 0);
NIC_AT(dmanic_segment_id, flags, 4);
NIC_AT(dmanic_segment_id, id, 8);
NIC_AT(dmanic_segment_id, reserved, 12);

NIC_SIZE(dmanic_segment_export, 104);
NIC_AT(dmanic_segment_export, size, 0);
NIC_AT(dmanic_segment_export, flags, 4);
NIC_AT(dmanic_segment_export, id, 8);
NIC_AT(dmanic_segment_export, rights, 12);
NIC_AT(dmanic_segment_export, key, 16);
NIC_AT(dmanic_segment_export, secret, 24);
NIC_AT(dmanic_segment_export, name, 40);

NIC_SIZE(dmanic_connect, 160);
NIC_AT(dmanic_connect, mmap_offset, 152);
NIC_AT(dmanic_connect, size, 0);
NIC_AT(dmanic_connect, flags, 4);
NIC_AT(dmanic_connect, node, 8);
NIC_AT(dmanic_connect, id, 12);
NIC_AT(dmanic_connect, key, 16);
NIC_AT(dmanic_connect, secret, 24);
NIC_AT(dmanic_connect, timeout_ns, 40);
NIC_AT(dmanic_connect, name, 48);
NIC_AT(dmanic_connect, handle, 112);
NIC_AT(dmanic_connect, rights, 116);
NIC_AT(dmanic_connect, length, 120);
NIC_AT(dmanic_connect, refusal, 128);

NIC_SIZE(dmanic_news_eventfd, 16);
NIC_AT(dmanic_news_eventfd, size, 0);
NIC_AT(dmanic_news_eventfd, flags, 4);
NIC_AT(dmanic_news_eventfd, eventfd, 8);
NIC_AT(dmanic_news_eventfd, reserved, 12);

NIC_SIZE(dmanic_disconnect, 16);
NIC_AT(dmanic_disconnect, size, 0);
NIC_AT(dmanic_disconnect, flags, 4);
NIC_AT(dmanic_disconnect, handle, 8);
NIC_AT(dmanic_disconnect, reserved, 12);

NIC_SIZE(dmanic_queue_create, 72);
NIC_AT(dmanic_queue_create, poll_idle_us, 64);
NIC_AT(dmanic_queue_create, reserved, 68);
NIC_AT(dmanic_queue_create, size, 0);
NIC_AT(dmanic_queue_create, flags, 4);
NIC_AT(dmanic_queue_create, sq_entries, 8);
NIC_AT(dmanic_queue_create, cq_entries, 12);
NIC_AT(dmanic_queue_create, eventfd, 16);
NIC_AT(dmanic_queue_create, fd, 20);
NIC_AT(dmanic_queue_create, mmap_bytes, 24);
NIC_AT(dmanic_queue_create, sq_offset, 32);
NIC_AT(dmanic_queue_create, cq_offset, 36);
NIC_AT(dmanic_queue_create, refusal, 40);

NIC_SIZE(dmanic_irq_create, 144);
NIC_AT(dmanic_irq_create, size, 0);
NIC_AT(dmanic_irq_create, flags, 4);
NIC_AT(dmanic_irq_create, depth, 8);
NIC_AT(dmanic_irq_create, eventfd, 12);
NIC_AT(dmanic_irq_create, fd, 16);
NIC_AT(dmanic_irq_create, id, 20);
NIC_AT(dmanic_irq_create, key, 24);
NIC_AT(dmanic_irq_create, mmap_bytes, 32);
NIC_AT(dmanic_irq_create, secret, 40);
NIC_AT(dmanic_irq_create, name, 56);
NIC_AT(dmanic_irq_create, refusal, 120);

NIC_SIZE(dmanic_enter, 32);
NIC_AT(dmanic_enter, size, 0);
NIC_AT(dmanic_enter, flags, 4);
NIC_AT(dmanic_enter, to_submit, 8);
NIC_AT(dmanic_enter, min_complete, 12);
NIC_AT(dmanic_enter, timeout_ns, 16);
NIC_AT(dmanic_enter, submitted, 24);
NIC_AT(dmanic_enter, available, 28);

NIC_SIZE(dmanic_uring_enter, 16);
NIC_AT(dmanic_uring_enter, to_submit, 0);
NIC_AT(dmanic_uring_enter, min_complete, 4);
NIC_AT(dmanic_uring_enter, timeout_ns, 8);

NIC_SIZE(dmanic_uring_irq_wait, 16);
NIC_AT(dmanic_uring_irq_wait, target, 0);
NIC_AT(dmanic_uring_irq_wait, timeout_ns, 8);

NIC_SIZE(dmanic_irq_wait, 32);
NIC_AT(dmanic_irq_wait, size, 0);
NIC_AT(dmanic_irq_wait, flags, 4);
NIC_AT(dmanic_irq_wait, target, 8);
NIC_AT(dmanic_irq_wait, timeout_ns, 16);
NIC_AT(dmanic_irq_wait, raised, 24);

NIC_SIZE(dmanic_stop, 8);
NIC_AT(dmanic_stop, size, 0);
NIC_AT(dmanic_stop, flags, 4);

/* ---- what nic.h has of its own, read by the driver ---- */

_Static_assert(sizeof(struct nic_list_entry) == sizeof(struct dmanic_list_entry),
	       "nic_list_entry");
_Static_assert(offsetof(struct nic_list_entry, remote_offset) ==
	       offsetof(struct dmanic_list_entry, remote_offset), "nic_list_entry");
_Static_assert(offsetof(struct nic_list_entry, bytes) ==
	       offsetof(struct dmanic_list_entry, length), "nic_list_entry");

/* ---- values that nic.h repeats for programs that do not see these ---- */

_Static_assert(DMANIC_STATUS_COUNT == (int)NIC_UNSUPPORTED + 1, "status");
_Static_assert((int)NIC_BOUNDS == DMANIC_STATUS_BOUNDS, "status");
_Static_assert((int)NIC_CANCELLED == DMANIC_STATUS_CANCELLED, "status");
_Static_assert(NIC_FENCE == DMANIC_SQE_FENCE, "flag");
_Static_assert(NIC_SILENT == DMANIC_SQE_SILENT, "flag");
_Static_assert(NIC_READ == DMANIC_RIGHT_READ, "right");
_Static_assert(NIC_WRITE == DMANIC_RIGHT_WRITE, "right");
_Static_assert(NIC_ATOMIC == DMANIC_RIGHT_ATOMIC, "right");
_Static_assert(NIC_IRQ_STRICT == DMANIC_IRQ_STRICT, "flag");
_Static_assert(!(NIC_EVENTFD & DMANIC_IRQ_STRICT), "flag");
_Static_assert(NIC_NAME_MAX == DMANIC_NAME_MAX, "name");
_Static_assert(NIC_PUBLISH_MAX == DMANIC_PUBLISH_MAX, "name");
_Static_assert(NIC_TIMEOUT_NEVER == DMANIC_TIMEOUT_NEVER, "timeout");

/*
 * Fields that are neighbours, as one word in memory's order: an entry is written
 * on another processor's cache line, and stores are what that costs.
 */
typedef uint64_t __attribute__((may_alias)) nic_word;

static inline uint32_t nic_bytes(uint8_t first, uint8_t second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (uint32_t)second << 8;
#else
	return (uint32_t)first << 24 | (uint32_t)second << 16;
#endif
}

static inline uint64_t nic_pair(uint32_t first, uint32_t second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (uint64_t)second << 32;
#else
	return (uint64_t)first << 32 | second;
#endif
}

#endif /* LIBNIC_LAYOUT_H */
