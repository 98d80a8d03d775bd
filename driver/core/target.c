// SPDX-License-Identifier: GPL-2.0-only
/*
 * target.c - the receiving side: the one place where an access from another
 * node is checked
 *
 * Links call these from process context or softirq, under RCU for the node.
 * An access holds export->active from get to put; revoke waits for it, so a
 * link keeps that short (at most a few hundred KiB of copying).
 */
#include <crypto/algapi.h>
#include <linux/nospec.h>

#include "dmanic.h"
#include "trace.h"

/* Take @active and check the key: what every access begins with */
static u32 target_find(struct dmanic_node *node, const struct dmanic_target *target,
		       enum dmanic_export_kind kind, struct dmanic_export **export)
{
	struct dmanic_export *found;

	rcu_read_lock();
	found = xa_load(&node->exports, target->id);
	if (found && !refcount_inc_not_zero(&found->active))
		found = NULL;
	rcu_read_unlock();
	if (!found)
		return DMANIC_STATUS_NO_SEGMENT;
	*export = found;
	if (crypto_memneq(&found->key, &target->key, sizeof(found->key)))
		return DMANIC_STATUS_ACCESS;
	return found->kind == kind ? DMANIC_STATUS_OK : DMANIC_STATUS_INVALID;
}

/* Count a refusal and let go of what was found */
static u32 target_refuse(struct dmanic_node *node, struct dmanic_export *export,
			 u32 status)
{
	if (export)
		dmanic_target_put(export);
	dmanic_stat_add(node, DMANIC_STATS_A_TARGET_REFUSED, 1);
	return status;
}

/**
 * dmanic_target_open() - begin looking at an export (connect, notify)
 * @node: whose export
 * @target: id and key as the initiator named them
 * @kind: what it has to be
 * @export: out, for dmanic_target_put()
 *
 * Return: enum dmanic_status.
 */
u32 dmanic_target_open(struct dmanic_node *node, const struct dmanic_target *target,
		       enum dmanic_export_kind kind, struct dmanic_export **export)
{
	struct dmanic_export *found = NULL;
	u32 status;

	status = target_find(node, target, kind, &found);
	if (status)
		return target_refuse(node, found, status);
	*export = found;
	return DMANIC_STATUS_OK;
}

/**
 * dmanic_target_get() - begin an access to a segment
 * @node: whose export
 * @target: id and key as the initiator named them
 * @right: DMANIC_RIGHT_* needed
 * @offset: into the segment
 * @span: bytes from the first to the last touched
 * @export: out, for dmanic_target_put()
 *
 * Return: enum dmanic_status.
 */
u32 dmanic_target_get(struct dmanic_node *node, const struct dmanic_target *target,
		      u32 right, u64 offset, u64 span,
		      struct dmanic_export **export)
{
	struct dmanic_export *found = NULL;
	u32 status;

	status = target_find(node, target, DMANIC_EXPORT_SEGMENT, &found);
	if (!status && (found->rights & right) != right)
		status = DMANIC_STATUS_ACCESS;
	if (!status && !dmanic_range_ok(found->length, offset, span))
		status = DMANIC_STATUS_BOUNDS;
	if (status)
		return target_refuse(node, found, status);
	*export = found;
	return DMANIC_STATUS_OK;
}

/**
 * dmanic_target_put() - end an access
 * @export: from dmanic_target_get()
 */
void dmanic_target_put(struct dmanic_export *export)
{
	if (refcount_dec_and_test(&export->active))
		complete(&export->idle);
}

/**
 * dmanic_target_notify() - raise an interrupt
 * @node: whose
 * @target: id and key as the initiator named them
 * @payload: for the waiter
 * @from: node id of the initiator
 *
 * Return: enum dmanic_status; DMANIC_STATUS_LIMIT a strict one is full.
 */
u32 dmanic_target_notify(struct dmanic_node *node, const struct dmanic_target *target,
			 u64 payload, u32 from)
{
	struct dmanic_export *export;
	u32 status;

	status = dmanic_target_open(node, target, DMANIC_EXPORT_IRQ, &export);
	if (status)
		return status;
	status = dmanic_irq_raise(export->irq, payload, from);
	if (!status)
		dmanic_stat_add(node, DMANIC_STATS_A_NOTIFIES_RAISED, 1);
	trace_dmanic_notify(node, target->id, payload, from, status);
	dmanic_target_put(export);
	return status;
}
