// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * post.c - filling submission entries, one function for each operation
 */
#include "queue.h"

#define CANNOT_POST	"cannot post: "
#define AHEAD		16U	/* entries, see will_write() */

static int fail_flags(const struct nic_queue *queue)
{
	return nic_fail_text(queue->ctx, -EINVAL,
			     CANNOT_POST "flags are NIC_FENCE and NIC_SILENT");
}

static int fail_context(const struct nic_queue *queue)
{
	return nic_fail_text(queue->ctx, -EINVAL, CANNOT_POST NIC_OTHER_CONTEXT);
}

/*
 * Entries that a thread on another processor took last are in its cache: have
 * them back before they are filled, and all of them at once.
 */
static inline void will_write(const struct dmanic_sqe *sqe)
{
#if defined(__x86_64__)
	/* Without -mprfchw the builtin would ask for a copy to read */
	__asm__ __volatile__("prefetchw %0" : : "m"(*sqe));
#else
	__builtin_prefetch(sqe, 1);
#endif
}

/*
 * Fill an entry where it is. Always inline: the entry's fields are constants
 * and arguments, so that it is built of stores and nothing is copied. Fields that
 * are neighbours go in one store; layout.h says which are.
 */
static inline __attribute__((always_inline)) int
post_op(struct nic_queue *queue, const struct dmanic_sqe *sqe, unsigned int flags,
	uint64_t cookie)
{
	nic_word *word;

	if (__builtin_expect(flags & ~(NIC_FENCE | NIC_SILENT), 0))
		return fail_flags(queue);
	word = (nic_word *)nic_queue_slot(queue);
	if (__builtin_expect(!word, 0))
		return nic_queue_fail_full(queue);
	will_write(&queue->sqe[(queue->sq_tail + AHEAD) & queue->sq_mask]);
	word[0] = nic_pair(nic_bytes(sqe->opcode, (__u8)(sqe->flags | flags)),
			   sqe->local);
	word[1] = cookie;
	word[2] = nic_pair(sqe->remote, sqe->notify);
	word[3] = sqe->local_offset;
	word[4] = sqe->remote_offset;
	word[5] = sqe->length;
	word[6] = sqe->compare;
	word[7] = sqe->payload;
	queue->sq_tail++;
	if (__builtin_expect(flags & NIC_SILENT, 0)) {
		queue->silent = queue->any_silent = true;
		queue->uncounted++;
	}
	return 0;
}

int nic_post_nop(struct nic_queue *queue, unsigned int flags, uint64_t cookie)
{
	const struct dmanic_sqe sqe = { .opcode = DMANIC_OP_NOP };

	return post_op(queue, &sqe, flags, cookie);
}

static inline __attribute__((always_inline)) int
post_move(struct nic_queue *queue, uint8_t opcode, const struct nic_segment *seg,
	  uint64_t offset, const struct nic_remote *remote,
	  uint64_t remote_offset, uint64_t bytes, unsigned int flags,
	  uint64_t cookie)
{
	const struct dmanic_sqe sqe = {
		.opcode = opcode,
		.local = seg->part.number,
		.remote = remote->part.number,
		.local_offset = offset,
		.remote_offset = remote_offset,
		.length = bytes,
	};

	if (!nic_queue_has(queue, seg, remote, NULL))
		return fail_context(queue);
	return post_op(queue, &sqe, flags, cookie);
}

int nic_post_put(struct nic_queue *queue, const struct nic_segment *seg,
		 uint64_t offset, const struct nic_remote *remote,
		 uint64_t remote_offset, uint64_t bytes, unsigned int flags,
		 uint64_t cookie)
{
	return post_move(queue, DMANIC_OP_WRITE, seg, offset, remote, remote_offset,
			 bytes, flags, cookie);
}

int nic_post_get(struct nic_queue *queue, const struct nic_segment *seg,
		 uint64_t offset, const struct nic_remote *remote,
		 uint64_t remote_offset, uint64_t bytes, unsigned int flags,
		 uint64_t cookie)
{
	return post_move(queue, DMANIC_OP_READ, seg, offset, remote, remote_offset,
			 bytes, flags, cookie);
}

int nic_post_put_notify(struct nic_queue *queue, const struct nic_segment *seg,
			uint64_t offset, const struct nic_remote *remote,
			uint64_t remote_offset, uint64_t bytes,
			const struct nic_remote *irq, uint64_t payload,
			unsigned int flags, uint64_t cookie)
{
	const struct dmanic_sqe sqe = {
		.opcode = DMANIC_OP_WRITE,
		.flags = DMANIC_SQE_NOTIFY,
		.local = seg->part.number,
		.remote = remote->part.number,
		.notify = irq->part.number,
		.local_offset = offset,
		.remote_offset = remote_offset,
		.length = bytes,
		.payload = payload,
	};

	if (!nic_queue_has(queue, seg, remote, irq))
		return fail_context(queue);
	return post_op(queue, &sqe, flags, cookie);
}

/* @irq: raised with @payload when all is placed; NULL: none */
static int post_strided(struct nic_queue *queue, uint8_t opcode,
			const struct nic_segment *seg, uint64_t offset,
			const struct nic_remote *remote, uint64_t remote_offset,
			const struct nic_stride *stride,
			const struct nic_remote *irq, uint64_t payload,
			unsigned int flags, uint64_t cookie)
{
	const struct dmanic_sqe sqe = {
		.opcode = opcode,
		.flags = irq ? DMANIC_SQE_NOTIFY : 0,
		.local = seg->part.number,
		.remote = remote->part.number,
		.notify = irq ? irq->part.number : 0,
		.local_offset = offset,
		.remote_offset = remote_offset,
		.block = stride->block,
		.count = stride->count,
		.local_stride = stride->local_stride,
		.remote_stride = stride->remote_stride,
		.payload = payload,
	};

	if (!nic_queue_has(queue, seg, remote, irq))
		return fail_context(queue);
	return post_op(queue, &sqe, flags, cookie);
}

int nic_post_put_strided(struct nic_queue *queue, const struct nic_segment *seg,
			 uint64_t offset, const struct nic_remote *remote,
			 uint64_t remote_offset, const struct nic_stride *stride,
			 unsigned int flags, uint64_t cookie)
{
	return post_strided(queue, DMANIC_OP_WRITE_STRIDED, seg, offset, remote,
			    remote_offset, stride, NULL, 0, flags, cookie);
}

int nic_post_put_strided_notify(struct nic_queue *queue,
				const struct nic_segment *seg, uint64_t offset,
				const struct nic_remote *remote,
				uint64_t remote_offset,
				const struct nic_stride *stride,
				const struct nic_remote *irq, uint64_t payload,
				unsigned int flags, uint64_t cookie)
{
	return post_strided(queue, DMANIC_OP_WRITE_STRIDED, seg, offset, remote,
			    remote_offset, stride, irq, payload, flags, cookie);
}

int nic_post_get_strided(struct nic_queue *queue, const struct nic_segment *seg,
			 uint64_t offset, const struct nic_remote *remote,
			 uint64_t remote_offset, const struct nic_stride *stride,
			 unsigned int flags, uint64_t cookie)
{
	return post_strided(queue, DMANIC_OP_READ_STRIDED, seg, offset, remote,
			    remote_offset, stride, NULL, 0, flags, cookie);
}

static int fail_list(const struct nic_queue *queue)
{
	return nic_fail_text(queue->ctx, -EINVAL,
			     CANNOT_POST NIC_LIST_BEGINS);
}

static int post_list(struct nic_queue *queue, uint32_t direction,
		     const struct nic_segment *seg, uint64_t offset,
		     const struct nic_remote *remote, uint64_t remote_offset,
		     const struct nic_list *list, unsigned int flags, uint64_t cookie)
{
	const struct dmanic_sqe sqe = {
		.opcode = DMANIC_OP_LIST,
		.local = seg->part.number,
		.remote = remote->part.number,
		.local_offset = offset,
		.remote_offset = remote_offset,
		.block = direction,
		.count = list->count,
		.list = list->seg ? list->seg->part.number : 0,
		.list_offset = (uint32_t)(list->offset / NIC_LIST_UNIT),
	};

	if (!nic_list_fits(list))
		return fail_list(queue);
	if (!nic_queue_has(queue, seg, remote, NULL) ||
	    !nic_queue_has(queue, list->seg, NULL, NULL))
		return fail_context(queue);
	return post_op(queue, &sqe, flags, cookie);
}

int nic_post_put_list(struct nic_queue *queue, const struct nic_segment *seg,
		      uint64_t offset, const struct nic_remote *remote,
		      uint64_t remote_offset, const struct nic_list *list,
		      unsigned int flags, uint64_t cookie)
{
	return post_list(queue, 0, seg, offset, remote, remote_offset, list, flags,
			 cookie);
}

int nic_post_get_list(struct nic_queue *queue, const struct nic_segment *seg,
		      uint64_t offset, const struct nic_remote *remote,
		      uint64_t remote_offset, const struct nic_list *list,
		      unsigned int flags, uint64_t cookie)
{
	return post_list(queue, DMANIC_LIST_READ, seg, offset, remote, remote_offset,
			 list, flags, cookie);
}

static inline __attribute__((always_inline)) int
post_atomic(struct nic_queue *queue, uint8_t opcode, const struct nic_remote *remote,
	    uint64_t remote_offset, uint64_t compare, uint64_t operand,
	    unsigned int flags, uint64_t cookie)
{
	const struct dmanic_sqe sqe = {
		.opcode = opcode,
		.remote = remote->part.number,
		.remote_offset = remote_offset,
		.compare = compare,
		.payload = operand,
	};

	if (!nic_queue_has(queue, NULL, remote, NULL))
		return fail_context(queue);
	return post_op(queue, &sqe, flags, cookie);
}

int nic_post_fetch_add(struct nic_queue *queue, const struct nic_remote *remote,
		       uint64_t remote_offset, uint64_t add, unsigned int flags,
		       uint64_t cookie)
{
	return post_atomic(queue, DMANIC_OP_FETCH_ADD, remote, remote_offset, 0, add,
			   flags, cookie);
}

int nic_post_compare_swap(struct nic_queue *queue, const struct nic_remote *remote,
			  uint64_t remote_offset, uint64_t expected,
			  uint64_t desired, unsigned int flags, uint64_t cookie)
{
	return post_atomic(queue, DMANIC_OP_COMPARE_SWAP, remote, remote_offset,
			   expected, desired, flags, cookie);
}

int nic_post_swap(struct nic_queue *queue, const struct nic_remote *remote,
		  uint64_t remote_offset, uint64_t value, unsigned int flags,
		  uint64_t cookie)
{
	return post_atomic(queue, DMANIC_OP_SWAP, remote, remote_offset, 0, value, flags,
			   cookie);
}

int nic_post_notify(struct nic_queue *queue, const struct nic_remote *irq,
		    uint64_t payload, unsigned int flags, uint64_t cookie)
{
	const struct dmanic_sqe sqe = {
		.opcode = DMANIC_OP_NOTIFY,
		.notify = irq->part.number,
		.payload = payload,
	};

	if (!nic_queue_has(queue, NULL, NULL, irq))
		return fail_context(queue);
	return post_op(queue, &sqe, flags, cookie);
}
