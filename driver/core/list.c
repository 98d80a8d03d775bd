// SPDX-License-Identifier: GPL-2.0-only
/*
 * list.c - the blocks that a LIST names
 *
 * The list is memory of a program that may write to it at any time. Each entry
 * is copied once, and it is this copy that is checked and carried out, also when
 * the engine puts the operation back in the middle of an entry.
 */
#include <linux/overflow.h>

#include "dmanic.h"

/* The next entry becomes list->rest, its offsets those in the segments */
static u32 list_read(struct dmanic_op *op)
{
	struct dmanic_op_list *list = &op->list;
	struct dmanic_list_entry entry;

	dmanic_mem_read(list->mem, list->offset + list->next * sizeof(entry), &entry,
			sizeof(entry));
	if (check_add_overflow((u64)op->local_offset, (u64)entry.local_offset,
			       &list->rest.local) ||
	    check_add_overflow((u64)op->remote_offset, (u64)entry.remote_offset,
			       &list->rest.remote))
		return DMANIC_STATUS_BOUNDS;
	list->rest.bytes = entry.length;
	list->next++;
	return DMANIC_STATUS_OK;
}

/**
 * dmanic_list_next() - what to move next
 * @op: a LIST that is not done (dmanic_list_done())
 * @remote_length: bytes of the target
 * @most: bytes to move at once
 * @block: out: checked against both sides; no bytes for an empty entry
 *
 * An entry is refused as a whole, before a byte of it is moved. Return: enum
 * dmanic_status.
 */
u32 dmanic_list_next(struct dmanic_op *op, u64 remote_length, u64 most,
		     struct dmanic_list_block *block)
{
	struct dmanic_list_block *rest = &op->list.rest;
	u32 status;

	if (!rest->bytes) {
		status = list_read(op);
		if (status)
			return status;
	}
	if (!dmanic_range_ok(op->mem->length, rest->local, rest->bytes) ||
	    !dmanic_range_ok(remote_length, rest->remote, rest->bytes))
		return DMANIC_STATUS_BOUNDS;
	*block = *rest;
	block->bytes = min(block->bytes, most);
	rest->local += block->bytes;
	rest->remote += block->bytes;
	rest->bytes -= block->bytes;
	return DMANIC_STATUS_OK;
}
