/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nic_uring.h - libnic in an io_uring: operations and waits beside disk I/O
 *
 * For programs that wait in an io_uring. The functions fill submission entries
 * that the program got from liburing (io_uring_get_sqe()) or made itself; libnic
 * neither includes nor links liburing, and never submits. An entry is filled
 * whole: set user_data and IOSQE_* flags afterwards, as after io_uring_prep_*().
 *
 * What cqe->res says: zero or more, it succeeded; else nic_uring_status() tells
 * the outcome. A failure ends a chain of linked entries (IOSQE_IO_LINK).
 *
 * Operations need a ring with IORING_SETUP_SQE128, atomics one that has
 * IORING_SETUP_CQE32, too (nic_uring_result()). They complete in the io_uring
 * only: nic_queue_poll() and nic_queue_drain() know nothing of them. Order holds
 * between all operations of a queue, as io_uring carries them out: one that finds
 * another thread, or a polling thread, at work on the queue is left to a worker, and
 * others may pass it. There link them (IOSQE_IO_LINK), or put data and interrupt in
 * one operation. Local memory belongs to the device until the completion.
 *
 * Any thread may prepare an operation or a wait for an interrupt on any ring.
 * nic_uring_prep_enter() is for the queue's owner. Nothing blocks.
 */
#ifndef NIC_URING_H
#define NIC_URING_H

#include <nic.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel's: <linux/io_uring.h>, <liburing.h> */
struct io_uring_cqe;

/* What there is (nic_uring_features()) */
#define NIC_URING_POST	1U	/* operations, nic_uring_prep_enter() */
#define NIC_URING_WAIT	2U	/* nic_uring_prep_wait(), _irq_wait(), lists */

/**
 * nic_uring_features() - which io_uring commands the driver has
 * @ctx: the context
 *
 * Without NIC_URING_WAIT the kernel cannot cancel commands. Then wait with
 * IORING_OP_POLL_ADD for POLLIN on nic_queue_fd() or nic_irq_fd(). And operations
 * that might take long are refused (NIC_UNSUPPORTED): every list; what has more
 * than 64 MiB less 4096 bytes, each block of a strided one counting 64 bytes
 * more; and all on a link with a cost model, or on an ether link whose peers are dead
 * only after more than 5 s. At most 64 MiB of a user, and 256 of all, are in flight on the
 * device, each operation counting 4096 bytes more (else NIC_LIMIT). What is not done after
 * 5 to 10 s, and five more for each 16 MiB that were in flight on the device when it was
 * posted, or before it in its queue, ends with NIC_CANCELLED.
 *
 * Return: NIC_URING_* or 0. Thread-safe.
 */
unsigned int nic_uring_features(const struct nic_ctx *ctx);

/**
 * nic_uring_status() - the outcome of a command
 * @res: of its completion entry (cqe->res)
 *
 * Return: enum nic_status: NIC_OK for zero and above. NIC_LIMIT also for -EBUSY:
 * as many operations are in flight as the queue has completions, or as much as
 * nic_uring_features() tells; take completions and post again. NIC_TIMED_OUT
 * also for a wait's time-out, NIC_LINK_DOWN also when the device was removed, NIC_CANCELLED
 * also when the queue or the interrupt was destroyed (-ESHUTDOWN).
 * Thread-safe.
 */
enum nic_status nic_uring_status(int res);

/**
 * nic_uring_result() - the second result of a completion entry
 * @cqe: of 32 bytes: of a ring with IORING_SETUP_CQE32, before
 *	io_uring_cqe_seen(). With entries of 16 bytes it is not there to be read.
 *
 * Return: of an atomic, the word before; of any other operation, bytes moved,
 * also where cqe->res cannot tell as many. As nic_completion.result it is not to
 * be relied on after a failure, except that a list which ended with NIC_BOUNDS
 * tells the bytes of the entries before. Thread-safe.
 */
uint64_t nic_uring_result(const struct io_uring_cqe *cqe);

/* ---- operations ---- */

/**
 * nic_uring_prep_nop() - completes, moves nothing
 * @sqe: entry of 128 bytes
 * @queue: the queue
 * @flags: NIC_FENCE: start after everything posted before on @queue
 *
 * Return (all of these): 0; -EINVAL unknown flags, or a segment or connection of another
 * context than the queue's, see nic_error_detail(). Then the entry is left as it was, and the
 * ring submits it all the same, with what was there before: fill it with io_uring_prep_nop().
 */
int nic_uring_prep_nop(void *sqe, const struct nic_queue *queue, unsigned int flags);

/**
 * nic_uring_prep_put() - local to remote, contiguous; res: bytes moved
 * @sqe: entry of 128 bytes
 * @queue: the queue
 * @seg: local segment of the queue's context
 * @offset: bytes into @seg
 * @remote: connected segment
 * @remote_offset: bytes into @remote
 * @bytes: how many, zero is legal
 * @flags: NIC_FENCE
 */
int nic_uring_prep_put(void *sqe, const struct nic_queue *queue,
		       const struct nic_segment *seg, uint64_t offset,
		       const struct nic_remote *remote, uint64_t remote_offset,
		       uint64_t bytes, unsigned int flags);

/** nic_uring_prep_get() - as nic_uring_prep_put(), remote to local */
int nic_uring_prep_get(void *sqe, const struct nic_queue *queue,
		       const struct nic_segment *seg, uint64_t offset,
		       const struct nic_remote *remote, uint64_t remote_offset,
		       uint64_t bytes, unsigned int flags);

/**
 * nic_uring_prep_put_notify() - a put that raises an interrupt once it is placed
 * @sqe: entry of 128 bytes
 * @queue: the queue
 * @seg: local segment of the queue's context
 * @offset: bytes into @seg
 * @remote: connected segment
 * @remote_offset: bytes into @remote
 * @bytes: how many, zero is legal
 * @irq: connected interrupt on the same node as @remote
 * @payload: handed to the waiter
 * @flags: NIC_FENCE
 */
int nic_uring_prep_put_notify(void *sqe, const struct nic_queue *queue,
			      const struct nic_segment *seg, uint64_t offset,
			      const struct nic_remote *remote,
			      uint64_t remote_offset, uint64_t bytes,
			      const struct nic_remote *irq, uint64_t payload,
			      unsigned int flags);

/** nic_uring_prep_put_strided() - as nic_uring_prep_put(), blocks with strides */
int nic_uring_prep_put_strided(void *sqe, const struct nic_queue *queue,
			       const struct nic_segment *seg, uint64_t offset,
			       const struct nic_remote *remote,
			       uint64_t remote_offset,
			       const struct nic_stride *stride,
			       unsigned int flags);

/** nic_uring_prep_put_strided_notify() - blocks with strides, then an interrupt */
int nic_uring_prep_put_strided_notify(void *sqe, const struct nic_queue *queue,
				      const struct nic_segment *seg,
				      uint64_t offset,
				      const struct nic_remote *remote,
				      uint64_t remote_offset,
				      const struct nic_stride *stride,
				      const struct nic_remote *irq,
				      uint64_t payload, unsigned int flags);

/** nic_uring_prep_get_strided() - as nic_uring_prep_get(), blocks with strides */
int nic_uring_prep_get_strided(void *sqe, const struct nic_queue *queue,
			       const struct nic_segment *seg, uint64_t offset,
			       const struct nic_remote *remote,
			       uint64_t remote_offset,
			       const struct nic_stride *stride,
			       unsigned int flags);

/**
 * nic_uring_prep_put_list() - local to remote, blocks of a list, in its order
 * @sqe: entry of 128 bytes
 * @queue: the queue
 * @seg: local segment of the queue's context
 * @offset: bytes, added to every entry's local offset
 * @remote: connected segment
 * @remote_offset: bytes, added to every entry's remote offset
 * @list: the blocks; the struct is not needed any more after the call
 * @flags: NIC_FENCE
 *
 * Only with NIC_URING_WAIT, else it ends with NIC_UNSUPPORTED. The entries are
 * read when the operation is carried out: leave them alone until its completion.
 * res: bytes moved. NIC_BOUNDS when an entry is outside of a segment; those
 * before it were moved, and nic_uring_result() tells how much.
 *
 * Return: 0; -EINVAL also when the list cannot begin there.
 */
int nic_uring_prep_put_list(void *sqe, const struct nic_queue *queue,
			    const struct nic_segment *seg, uint64_t offset,
			    const struct nic_remote *remote, uint64_t remote_offset,
			    const struct nic_list *list, unsigned int flags);

/** nic_uring_prep_get_list() - as nic_uring_prep_put_list(), remote to local */
int nic_uring_prep_get_list(void *sqe, const struct nic_queue *queue,
			    const struct nic_segment *seg, uint64_t offset,
			    const struct nic_remote *remote, uint64_t remote_offset,
			    const struct nic_list *list, unsigned int flags);

/*
 * Atomics are those of nic_post_fetch_add() and so on. res: 0; the word before is
 * nic_uring_result(), so a ring without IORING_SETUP_CQE32 gets NIC_INVALID, and
 * nothing was done.
 */

/**
 * nic_uring_prep_fetch_add() - add to a remote word
 * @sqe: entry of 128 bytes
 * @queue: the queue
 * @remote: connected segment
 * @remote_offset: of the word, in bytes, a multiple of 8
 * @add: what to add, modulo 2^64
 * @flags: NIC_FENCE
 */
int nic_uring_prep_fetch_add(void *sqe, const struct nic_queue *queue,
			     const struct nic_remote *remote,
			     uint64_t remote_offset, uint64_t add,
			     unsigned int flags);

/**
 * nic_uring_prep_compare_swap() - write a remote word if it is what is expected
 * @sqe: entry of 128 bytes
 * @queue: the queue
 * @remote: connected segment
 * @remote_offset: of the word, in bytes, a multiple of 8
 * @expected: it was written when nic_uring_result() is this
 * @desired: what to write
 * @flags: NIC_FENCE
 *
 * Not being what is expected is no failure: a chain goes on.
 */
int nic_uring_prep_compare_swap(void *sqe, const struct nic_queue *queue,
				const struct nic_remote *remote,
				uint64_t remote_offset, uint64_t expected,
				uint64_t desired, unsigned int flags);

/**
 * nic_uring_prep_swap() - write a remote word and get what was there
 * @sqe: entry of 128 bytes
 * @queue: the queue
 * @remote: connected segment
 * @remote_offset: of the word, in bytes, a multiple of 8
 * @value: what to write
 * @flags: NIC_FENCE
 */
int nic_uring_prep_swap(void *sqe, const struct nic_queue *queue,
			const struct nic_remote *remote, uint64_t remote_offset,
			uint64_t value, unsigned int flags);

/**
 * nic_uring_prep_notify() - raise a remote interrupt
 * @sqe: entry of 128 bytes
 * @queue: the queue
 * @irq: connected interrupt
 * @payload: handed to the waiter
 * @flags: NIC_FENCE
 */
int nic_uring_prep_notify(void *sqe, const struct nic_queue *queue,
			  const struct nic_remote *irq, uint64_t payload,
			  unsigned int flags);

/* ---- the queue's own ring ---- */

/**
 * nic_uring_prep_enter() - as nic_queue_submit(), by a command
 * @sqe: entry of 64 or 128 bytes
 * @queue: the queue, by its owner
 *
 * What was posted on @queue until now is taken when the command runs; completions
 * are @queue's. One command for many operations costs least. res: how many were
 * taken (fewer than posted: reap completions, submit again). A link model delays
 * the operations, but not the poster.
 */
void nic_uring_prep_enter(void *sqe, struct nic_queue *queue);

/* ---- waits; only with NIC_URING_WAIT ---- */

/**
 * nic_uring_prep_wait() - wait for completions of the queue's own ring
 * @sqe: entry of 64 or 128 bytes
 * @queue: the queue
 * @min_complete: how many unreaped completions, at most those it has room for
 * @timeout_ns: longest wait; NIC_TIMEOUT_NEVER
 *
 * Only closing the ring ends it sooner, and nic_queue_destroy(): IORING_OP_ASYNC_CANCEL and
 * IORING_OP_LINK_TIMEOUT do not find a command that was begun (-ENOENT).
 *
 * res: how many there are, fewer than @min_complete when entries that were left for want of
 * room can be taken now: submit again; -ETIME; -ENODEV the device was removed; -ESHUTDOWN
 * the queue, or the interrupt, was destroyed; -ECANCELED with the ring; -EBUSY more than a
 * thousand wait already.
 */
void nic_uring_prep_wait(void *sqe, const struct nic_queue *queue,
			 unsigned int min_complete, uint64_t timeout_ns);

/**
 * nic_uring_prep_irq_wait() - wait until it was raised @count times in all
 * @sqe: entry of 64 or 128 bytes
 * @irq: the interrupt
 * @count: since creation: nic_irq_count() + 1 for the next one
 * @timeout_ns: longest wait; NIC_TIMEOUT_NEVER
 *
 * Takes no event: nic_irq_poll() does. res: 0; else as nic_uring_prep_wait().
 */
void nic_uring_prep_irq_wait(void *sqe, const struct nic_irq *irq, uint64_t count,
			     uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif /* NIC_URING_H */
