// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_self.c - operations of a node with itself
 *
 * No frame: a worker copies, for that may take long. The same checks as for others.
 * Queues take turns, so that nobody waits for all that another user has posted.
 */
#include <linux/math64.h>
#include <linux/sched.h>

#include "ether.h"

/* Copied between two looks around, and in a turn */
#define SELF_CHUNK	SZ_256K
#define SELF_TURN	(16 * SELF_CHUNK)
/* Most that end in one hold of the lock */
#define SELF_ENDS	1024

void dmanic_ether_self_submit(struct ether_node *en, struct dmanic_op *op)
{
	struct dmanic_queue *queue = op->queue;

	lockdep_assert_held(&en->lock);
	op->pending = true;
	list_add_tail(&op->entry, &queue->self);
	if (list_empty(&queue->self_turn))
		list_add_tail(&queue->self_turn, &en->selves);
	get_device(&en->node.dev);
	if (!queue_work(dmanic_ether_wq, &en->self_work))
		put_device(&en->node.dev);
}

/* It was the first of its queue, or has not begun; the queue's turn goes with its last */
static void self_end(struct ether_node *en, struct dmanic_op *op, u32 status)
{
	struct dmanic_queue *queue = op->queue;

	list_del(&op->entry);
	if (list_empty(&queue->self))
		list_del_init(&queue->self_turn);
	dmanic_ether_end(en, op, status);
}

/* What was given up, as far as it has not begun */
void dmanic_ether_self_cancel(struct ether_node *en, struct dmanic_queue *queue)
{
	struct dmanic_op *op, *next;

	lockdep_assert_held(&en->lock);
	list_for_each_entry_safe(op, next, &queue->self, entry)
		if (op->pending && dmanic_op_given_up(op))
			self_end(en, op, DMANIC_STATUS_CANCELLED);
}

/**
 * dmanic_ether_self_cancel_some() - the node stops: end what has not begun
 * @en: the node; under its lock. What has begun sees that it stops
 * @status: enum dmanic_status, what of
 *
 * Return: true: there is more.
 */
bool dmanic_ether_self_cancel_some(struct ether_node *en, u32 status)
{
	struct dmanic_queue *queue, *other;
	struct dmanic_op *op, *next;
	unsigned int nr = 0;

	lockdep_assert_held(&en->lock);
	list_for_each_entry_safe(queue, other, &en->selves, self_turn) {
		list_for_each_entry_safe(op, next, &queue->self, entry) {
			if (!op->pending)
				continue;
			if (nr++ == SELF_ENDS)
				return true;
			self_end(en, op, status);
		}
	}
	return false;
}

static void self_copy(struct dmanic_op *op, struct dmanic_export *export, u64 local,
		      u64 remote, u64 bytes)
{
	if (op->read)
		dmanic_mem_copy(op->mem, local, export->mem, remote, bytes);
	else
		dmanic_mem_copy(export->mem, remote, op->mem, local, bytes);
	op->moved += bytes;
}

static u64 self_span(const struct dmanic_op *op)
{
	return op->count ? (op->count - 1) * op->remote_stride + op->block : 0;
}

/* The next chunk; out: @done it was the last */
static u32 self_chunk(struct dmanic_op *op, struct dmanic_export *export, bool *done)
{
	struct dmanic_list_block block;
	u64 since = 0, within, nr, bytes;
	u32 status;

	while (since < SELF_CHUNK) {
		if (ether_is_list(op)) {
			*done = dmanic_list_done(op);
			if (*done)
				break;
			status = dmanic_list_next(op, export->length, SELF_CHUNK, &block);
			if (status)
				return status;
			self_copy(op, export, block.local, block.remote, block.bytes);
			since += block.bytes + SZ_128;
			continue;
		}
		*done = op->moved == dmanic_op_bytes(op);
		if (*done)
			break;
		nr = div64_u64_rem(op->moved, op->block, &within);
		bytes = min_t(u64, op->block - within, SELF_CHUNK);
		self_copy(op, export, op->local_offset + nr * op->local_stride + within,
			  op->remote_offset + nr * op->remote_stride + within, bytes);
		since += bytes + SZ_64;
	}
	return DMANIC_STATUS_OK;
}

/* Until it is done, or its turn is over: out @done */
static u32 self_data(struct ether_node *en, struct dmanic_op *op, bool *done)
{
	u32 right = op->read ? DMANIC_RIGHT_READ : DMANIC_RIGHT_WRITE;
	struct dmanic_export *export;
	u32 status, since;

	*done = false;
	for (since = 0; !*done && since < SELF_TURN; since += SELF_CHUNK) {
		if (dmanic_op_given_up(op))
			return DMANIC_STATUS_CANCELLED;
		if (READ_ONCE(en->stopped))
			return DMANIC_STATUS_LINK_DOWN;
		status = dmanic_target_get(&en->node, &op->target, right, op->remote_offset,
					   self_span(op), &export);
		if (status)
			return status;
		status = self_chunk(op, export, done);
		dmanic_target_put(export);
		op->result = op->moved;
		if (status)
			return status;
		cond_resched();
	}
	return DMANIC_STATUS_OK;
}

static const struct dmanic_target *self_target(const struct dmanic_op *op)
{
	return op->opcode == DMANIC_OP_NOTIFY ? &op->notify : &op->target;
}

/* A turn of it; out: @done, with its status, or there is more */
static u32 self_do(struct ether_node *en, struct dmanic_op *op, bool *done)
{
	bool notify = op->opcode == DMANIC_OP_NOTIFY;
	u32 status = DMANIC_STATUS_OK;

	*done = true;
	if (READ_ONCE(en->stopped))
		return DMANIC_STATUS_LINK_DOWN;
	if (self_target(op)->incarnation != en->node.incarnation)
		return DMANIC_STATUS_PEER_RESTARTED;
	if (dmanic_opcode_atomic(op->opcode))
		return dmanic_target_atomic(&en->node, &op->target, op->remote_offset,
					    op->opcode, op->payload, op->compare,
					    &op->result);
	if (!notify)
		status = self_data(en, op, done);
	if (!status && *done && (notify || (op->flags & DMANIC_SQE_NOTIFY)))
		status = dmanic_target_notify(&en->node, &op->notify, op->payload,
					      en->node.id, NULL);
	return status;
}

static struct dmanic_op *self_first(struct ether_node *en)
{
	struct dmanic_queue *queue;

	queue = list_first_entry_or_null(&en->selves, struct dmanic_queue, self_turn);
	return queue ? list_first_entry(&queue->self, struct dmanic_op, entry) : NULL;
}

/**
 * dmanic_ether_self_work() - do them
 * @work: of the node, which it holds
 */
void dmanic_ether_self_work(struct work_struct *work)
{
	struct ether_node *en = container_of(work, struct ether_node, self_work);
	struct dmanic_op *op;
	bool done;
	u32 status;

	spin_lock_bh(&en->lock);
	while ((op = self_first(en))) {
		/* It stays where it is: what is posted behind it waits */
		op->pending = false;
		list_move_tail(&op->queue->self_turn, &en->selves);
		spin_unlock_bh(&en->lock);
		status = self_do(en, op, &done);
		spin_lock_bh(&en->lock);
		if (!done && !status)
			continue;
		self_end(en, op, status);
		spin_unlock_bh(&en->lock);
		dmanic_ether_run(en);
		/* Others may post as fast as this is done */
		cond_resched();
		spin_lock_bh(&en->lock);
	}
	spin_unlock_bh(&en->lock);
	dmanic_node_put(&en->node);
}
