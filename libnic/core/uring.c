// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * uring.c - filling submission entries of an io_uring
 *
 * The entry's layout is the kernel's ABI and written down here, so that nothing
 * depends on how old the headers of liburing or the kernel are. Entries are built
 * on the stack and copied: the program has its own type for that memory.
 */
#include <string.h>
#include <nic_uring.h>
#include "queue.h"

#define URING_CMD	46	/* IORING_OP_URING_CMD */

/* struct io_uring_sqe up to its command */
struct entry {
	uint8_t opcode;
	uint8_t flags;
	uint16_t ioprio;
	int32_t fd;
	uint32_t command;
	uint32_t reserved;
	uint64_t addr;
	uint32_t len;
	uint32_t command_flags;
	uint64_t user_data;
	uint16_t buffer;
	uint16_t personality;
	uint32_t file_index;
};

/* An entry of 128 bytes */
struct entry_large {
	struct entry entry;
	struct dmanic_sqe op;
	uint64_t tail[2];
};

_Static_assert(sizeof(struct entry) == 48, "where the command begins");
_Static_assert(sizeof(struct entry_large) == 128, "IORING_SETUP_SQE128");
_Static_assert(sizeof(struct dmanic_uring_enter) == 16, "fits 64 bytes");
_Static_assert(sizeof(struct dmanic_uring_irq_wait) == 16, "fits 64 bytes");

unsigned int nic_uring_features(const struct nic_ctx *ctx)
{
	uint64_t features = ctx->info.features;

	return (features & DMANIC_FEATURE_URING_CMD ? NIC_URING_POST : 0) |
	       (features & DMANIC_FEATURE_URING_CANCEL ? NIC_URING_WAIT : 0);
}

enum nic_status nic_uring_status(int res)
{
	if (res >= 0)
		return NIC_OK;
	switch (res) {
	case -ENXIO:
		return NIC_NO_SEGMENT;
	case -ENOENT:
		return NIC_NO_HANDLE;
	case -ERANGE:
		return NIC_BOUNDS;
	case -EACCES:
		return NIC_ACCESS;
	case -EHOSTUNREACH:
		return NIC_PEER_DEAD;
	case -ECONNRESET:
		return NIC_PEER_RESTARTED;
	case -ENETDOWN:
	case -ENODEV:
		return NIC_LINK_DOWN;
	case -ETIMEDOUT:
	case -ETIME:
		return NIC_TIMED_OUT;
	case -ECANCELED:
	case -ESHUTDOWN:
	case -EINTR:
		return NIC_CANCELLED;
	case -ENOBUFS:
	case -EBUSY:
	case -ENOMEM:
		return NIC_LIMIT;
	case -EILSEQ:
		return NIC_SOURCE_CHANGED;
	case -EOPNOTSUPP:
	case -ENOTTY:
		return NIC_UNSUPPORTED;
	default:
		return NIC_INVALID;
	}
}

uint64_t nic_uring_result(const struct io_uring_cqe *cqe)
{
	uint64_t result;

	/* Behind user_data, res and flags */
	memcpy(&result, (const char *)cqe + 16, sizeof(result));
	return result;
}

/* ---- operations ---- */

#define CANNOT_PREPARE	"cannot prepare an entry: "

static int fail_flags(const struct nic_queue *queue)
{
	return nic_fail_text(queue->ctx, -EINVAL, CANNOT_PREPARE "the only flag is NIC_FENCE");
}

static int fail_context(const struct nic_queue *queue)
{
	return nic_fail_text(queue->ctx, -EINVAL, CANNOT_PREPARE NIC_OTHER_CONTEXT);
}

static inline __attribute__((always_inline)) int
prep_post(void *sqe, const struct nic_queue *queue, const struct dmanic_sqe *op,
	  unsigned int flags)
{
	struct entry_large large = {
		.entry = {
			.opcode = URING_CMD,
			.fd = nic_queue_fd(queue),
			.command = DMANIC_URING_POST,
		},
		.op = *op,
	};

	if (__builtin_expect(flags & ~NIC_FENCE, 0))
		return fail_flags(queue);
	large.op.flags |= (__u8)flags;
	memcpy(sqe, &large, sizeof(large));
	return 0;
}

int nic_uring_prep_nop(void *sqe, const struct nic_queue *queue, unsigned int flags)
{
	const struct dmanic_sqe op = { .opcode = DMANIC_OP_NOP };

	return prep_post(sqe, queue, &op, flags);
}

static inline __attribute__((always_inline)) struct dmanic_sqe
op_move(uint8_t opcode, const struct nic_segment *seg, uint64_t offset,
	const struct nic_remote *remote, uint64_t remote_offset)
{
	return (struct dmanic_sqe) {
		.opcode = opcode,
		.local = seg->part.number,
		.remote = remote->part.number,
		.local_offset = offset,
		.remote_offset = remote_offset,
	};
}

static inline __attribute__((always_inline)) int
prep_move(void *sqe, const struct nic_queue *queue, uint8_t opcode,
	  const struct nic_segment *seg, uint64_t offset,
	  const struct nic_remote *remote, uint64_t remote_offset, uint64_t bytes,
	  unsigned int flags)
{
	struct dmanic_sqe op = op_move(opcode, seg, offset, remote, remote_offset);

	op.length = bytes;
	if (!nic_queue_has(queue, seg, remote, NULL))
		return fail_context(queue);
	return prep_post(sqe, queue, &op, flags);
}

int nic_uring_prep_put(void *sqe, const struct nic_queue *queue,
		       const struct nic_segment *seg, uint64_t offset,
		       const struct nic_remote *remote, uint64_t remote_offset,
		       uint64_t bytes, unsigned int flags)
{
	return prep_move(sqe, queue, DMANIC_OP_WRITE, seg, offset, remote,
			 remote_offset, bytes, flags);
}

int nic_uring_prep_get(void *sqe, const struct nic_queue *queue,
		       const struct nic_segment *seg, uint64_t offset,
		       const struct nic_remote *remote, uint64_t remote_offset,
		       uint64_t bytes, unsigned int flags)
{
	return prep_move(sqe, queue, DMANIC_OP_READ, seg, offset, remote,
			 remote_offset, bytes, flags);
}

int nic_uring_prep_put_notify(void *sqe, const struct nic_queue *queue,
			      const struct nic_segment *seg, uint64_t offset,
			      const struct nic_remote *remote,
			      uint64_t remote_offset, uint64_t bytes,
			      const struct nic_remote *irq, uint64_t payload,
			      unsigned int flags)
{
	struct dmanic_sqe op = op_move(DMANIC_OP_WRITE, seg, offset, remote,
				       remote_offset);

	op.flags = DMANIC_SQE_NOTIFY;
	op.length = bytes;
	op.notify = irq->part.number;
	op.payload = payload;
	if (!nic_queue_has(queue, seg, remote, irq))
		return fail_context(queue);
	return prep_post(sqe, queue, &op, flags);
}

/* @irq: raised with @payload when all is placed; NULL: none */
static int prep_strided(void *sqe, const struct nic_queue *queue, uint8_t opcode,
			const struct nic_segment *seg, uint64_t offset,
			const struct nic_remote *remote, uint64_t remote_offset,
			const struct nic_stride *stride,
			const struct nic_remote *irq, uint64_t payload,
			unsigned int flags)
{
	struct dmanic_sqe op = op_move(opcode, seg, offset, remote, remote_offset);

	op.flags = irq ? DMANIC_SQE_NOTIFY : 0;
	op.notify = irq ? irq->part.number : 0;
	op.payload = payload;
	op.block = stride->block;
	op.count = stride->count;
	op.local_stride = stride->local_stride;
	op.remote_stride = stride->remote_stride;
	if (!nic_queue_has(queue, seg, remote, irq))
		return fail_context(queue);
	return prep_post(sqe, queue, &op, flags);
}

int nic_uring_prep_put_strided(void *sqe, const struct nic_queue *queue,
			       const struct nic_segment *seg, uint64_t offset,
			       const struct nic_remote *remote,
			       uint64_t remote_offset,
			       const struct nic_stride *stride,
			       unsigned int flags)
{
	return prep_strided(sqe, queue, DMANIC_OP_WRITE_STRIDED, seg, offset, remote,
			    remote_offset, stride, NULL, 0, flags);
}

int nic_uring_prep_put_strided_notify(void *sqe, const struct nic_queue *queue,
				      const struct nic_segment *seg,
				      uint64_t offset,
				      const struct nic_remote *remote,
				      uint64_t remote_offset,
				      const struct nic_stride *stride,
				      const struct nic_remote *irq,
				      uint64_t payload, unsigned int flags)
{
	return prep_strided(sqe, queue, DMANIC_OP_WRITE_STRIDED, seg, offset, remote,
			    remote_offset, stride, irq, payload, flags);
}

int nic_uring_prep_get_strided(void *sqe, const struct nic_queue *queue,
			       const struct nic_segment *seg, uint64_t offset,
			       const struct nic_remote *remote,
			       uint64_t remote_offset,
			       const struct nic_stride *stride,
			       unsigned int flags)
{
	return prep_strided(sqe, queue, DMANIC_OP_READ_STRIDED, seg, offset, remote,
			    remote_offset, stride, NULL, 0, flags);
}

static int prep_list(void *sqe, const struct nic_queue *queue, uint32_t direction,
		     const struct nic_segment *seg, uint64_t offset,
		     const struct nic_remote *remote, uint64_t remote_offset,
		     const struct nic_list *list, unsigned int flags)
{
	struct dmanic_sqe op = op_move(DMANIC_OP_LIST, seg, offset, remote,
				       remote_offset);

	if (!nic_list_fits(list))
		return nic_fail_text(queue->ctx, -EINVAL, CANNOT_PREPARE NIC_LIST_BEGINS);
	if (!nic_queue_has(queue, seg, remote, NULL) ||
	    !nic_queue_has(queue, list->seg, NULL, NULL))
		return fail_context(queue);
	op.block = direction;
	op.count = list->count;
	op.list = list->seg ? list->seg->part.number : 0;
	op.list_offset = (uint32_t)(list->offset / NIC_LIST_UNIT);
	return prep_post(sqe, queue, &op, flags);
}

int nic_uring_prep_put_list(void *sqe, const struct nic_queue *queue,
			    const struct nic_segment *seg, uint64_t offset,
			    const struct nic_remote *remote, uint64_t remote_offset,
			    const struct nic_list *list, unsigned int flags)
{
	return prep_list(sqe, queue, 0, seg, offset, remote, remote_offset, list,
			 flags);
}

int nic_uring_prep_get_list(void *sqe, const struct nic_queue *queue,
			    const struct nic_segment *seg, uint64_t offset,
			    const struct nic_remote *remote, uint64_t remote_offset,
			    const struct nic_list *list, unsigned int flags)
{
	return prep_list(sqe, queue, DMANIC_LIST_READ, seg, offset, remote,
			 remote_offset, list, flags);
}

static int prep_atomic(void *sqe, const struct nic_queue *queue, uint8_t opcode,
		       const struct nic_remote *remote, uint64_t remote_offset,
		       uint64_t compare, uint64_t operand, unsigned int flags)
{
	const struct dmanic_sqe op = {
		.opcode = opcode,
		.remote = remote->part.number,
		.remote_offset = remote_offset,
		.compare = compare,
		.payload = operand,
	};

	if (!nic_queue_has(queue, NULL, remote, NULL))
		return fail_context(queue);
	return prep_post(sqe, queue, &op, flags);
}

int nic_uring_prep_fetch_add(void *sqe, const struct nic_queue *queue,
			     const struct nic_remote *remote,
			     uint64_t remote_offset, uint64_t add,
			     unsigned int flags)
{
	return prep_atomic(sqe, queue, DMANIC_OP_FETCH_ADD, remote, remote_offset, 0,
			   add, flags);
}

int nic_uring_prep_compare_swap(void *sqe, const struct nic_queue *queue,
				const struct nic_remote *remote,
				uint64_t remote_offset, uint64_t expected,
				uint64_t desired, unsigned int flags)
{
	return prep_atomic(sqe, queue, DMANIC_OP_COMPARE_SWAP, remote, remote_offset,
			   expected, desired, flags);
}

int nic_uring_prep_swap(void *sqe, const struct nic_queue *queue,
			const struct nic_remote *remote, uint64_t remote_offset,
			uint64_t value, unsigned int flags)
{
	return prep_atomic(sqe, queue, DMANIC_OP_SWAP, remote, remote_offset, 0, value,
			   flags);
}

int nic_uring_prep_notify(void *sqe, const struct nic_queue *queue,
			  const struct nic_remote *irq, uint64_t payload,
			  unsigned int flags)
{
	const struct dmanic_sqe op = {
		.opcode = DMANIC_OP_NOTIFY,
		.notify = irq->part.number,
		.payload = payload,
	};

	if (!nic_queue_has(queue, NULL, NULL, irq))
		return fail_context(queue);
	return prep_post(sqe, queue, &op, flags);
}

/* ---- what fits entries of 64 bytes ---- */

static void prep_small(void *sqe, int fd, uint32_t command, const void *argument)
{
	const struct entry entry = {
		.opcode = URING_CMD,
		.fd = fd,
		.command = command,
	};

	memcpy(sqe, &entry, sizeof(entry));
	memcpy((char *)sqe + sizeof(entry), argument, 16);
}

void nic_uring_prep_enter(void *sqe, struct nic_queue *queue)
{
	const struct dmanic_uring_enter arg = {
		.to_submit = nic_queue_publish(queue),
	};

	prep_small(sqe, nic_queue_fd(queue), DMANIC_URING_ENTER, &arg);
}

void nic_uring_prep_wait(void *sqe, const struct nic_queue *queue,
			 unsigned int min_complete, uint64_t timeout_ns)
{
	const struct dmanic_uring_enter arg = {
		.min_complete = min_complete,
		.timeout_ns = timeout_ns,
	};

	prep_small(sqe, nic_queue_fd(queue), DMANIC_URING_WAIT, &arg);
}

void nic_uring_prep_irq_wait(void *sqe, const struct nic_irq *irq, uint64_t count,
			     uint64_t timeout_ns)
{
	const struct dmanic_uring_irq_wait arg = {
		.target = count,
		.timeout_ns = timeout_ns,
	};

	prep_small(sqe, nic_irq_fd(irq), DMANIC_URING_IRQ_WAIT, &arg);
}
