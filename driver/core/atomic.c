// SPDX-License-Identifier: GPL-2.0-only
/*
 * atomic.c - atomic operations on a 64-bit word of a segment
 *
 * Done where the word is, by this machine's CPU on the page of the target. So
 * they are atomic among each other, from whatever node and link they come, and
 * with a program of the target that uses the CPU's atomic instructions on its
 * mapping. A word is aligned in memory, not only in its segment (one of user
 * memory may begin anywhere): it is within a page, and no CPU has to lock its
 * bus.
 */
#include "dmanic.h"

/**
 * dmanic_export_atomic() - do an atomic operation on a word of an export
 * @export: of a segment; its key was checked; under RCU
 * @offset: of the word
 * @opcode: DMANIC_OP_FETCH_ADD, _COMPARE_SWAP or _SWAP
 * @operand: to add, or to put there
 * @compare: COMPARE_SWAP: the value expected
 * @old: out, with DMANIC_STATUS_OK: the word before
 *
 * A full barrier on both sides. Return: enum dmanic_status; nothing was done
 * unless it is OK.
 */
u32 dmanic_export_atomic(const struct dmanic_export *export, u64 offset, u8 opcode,
			 u64 operand, u64 compare, u64 *old)
{
	u32 status;
	u64 *word;

	status = dmanic_target_allow(export, DMANIC_RIGHT_ATOMIC, offset, sizeof(*word));
	if (unlikely(status))
		return status;
	word = dmanic_mem_addr(export->mem, offset);
	if (unlikely(!IS_ALIGNED((unsigned long)word, sizeof(*word))))
		return DMANIC_STATUS_INVALID;
	switch (opcode) {
	case DMANIC_OP_FETCH_ADD:
		*old = atomic64_fetch_add(operand, (atomic64_t *)word);
		return DMANIC_STATUS_OK;
	case DMANIC_OP_COMPARE_SWAP:
		*old = cmpxchg(word, compare, operand);
		return DMANIC_STATUS_OK;
	case DMANIC_OP_SWAP:
		*old = xchg(word, operand);
		return DMANIC_STATUS_OK;
	default:
		return DMANIC_STATUS_INVALID;
	}
}

/**
 * dmanic_target_atomic() - an atomic operation from another node
 * @node: whose word
 * @target: id and key as the initiator named them
 * @offset: of the word in the segment
 * @opcode: DMANIC_OP_FETCH_ADD, _COMPARE_SWAP or _SWAP
 * @operand: to add, or to put there
 * @compare: COMPARE_SWAP: the value expected
 * @old: out, with DMANIC_STATUS_OK: the word before
 *
 * Called by links, from any context. Return: enum dmanic_status.
 */
u32 dmanic_target_atomic(struct dmanic_node *node, const struct dmanic_target *target,
			 u64 offset, u8 opcode, u64 operand, u64 compare, u64 *old)
{
	struct dmanic_export *export;
	u32 status;

	rcu_read_lock();
	status = dmanic_target_find(node, target, DMANIC_EXPORT_SEGMENT, &export);
	if (!status)
		status = dmanic_export_atomic(export, offset, opcode, operand, compare,
					      old);
	rcu_read_unlock();
	return dmanic_target_refused(node, status);
}
