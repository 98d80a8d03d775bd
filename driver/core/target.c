// SPDX-License-Identifier: GPL-2.0-only
/*
 * target.c - the receiving side: the one place where an access from another
 * node is checked
 *
 * Links call these from process context or softirq. A short access to memory
 * (one page or two, an atomic) is made under RCU alone: find, allow, touch. A
 * longer one, and raising an interrupt, holds export->active. Who takes the
 * export back waits, so a link that copies much looks around now and then.
 */
#include <crypto/algapi.h>

#include "dmanic.h"
#include "trace.h"

/**
 * dmanic_target_find() - find an export and check the key
 * @node: whose export
 * @target: id and key as the initiator named them
 * @kind: what it has to be
 * @export: out; valid under RCU, which the caller holds
 *
 * Return: enum dmanic_status.
 */
u32 dmanic_target_find(struct dmanic_node *node, const struct dmanic_target *target,
		       enum dmanic_export_kind kind, struct dmanic_export **export)
{
	struct dmanic_export *found;
	u32 status;

	found = xa_load(&node->exports, target->id);
	if (!found)
		status = DMANIC_STATUS_NO_SEGMENT;
	else if (crypto_memneq(&found->key, &target->key, sizeof(found->key)))
		status = DMANIC_STATUS_ACCESS;
	else
		status = found->kind == kind ? DMANIC_STATUS_OK :
					       DMANIC_STATUS_INVALID;
	if (!status)
		*export = found;
	return status;
}

/**
 * dmanic_target_refused() - count a refusal, once an access
 * @node: whose export
 * @status: of the access, found out on the general way
 *
 * Return: @status.
 */
u32 dmanic_target_refused(struct dmanic_node *node, u32 status)
{
	if (status)
		dmanic_stat_add(node, DMANIC_STATS_A_TARGET_REFUSED, 1);
	return status;
}

/**
 * dmanic_target_get() - begin an access to a segment that outlives RCU
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
	struct dmanic_export *found;
	u32 status;

	rcu_read_lock();
	status = dmanic_target_find(node, target, DMANIC_EXPORT_SEGMENT, &found);
	if (!status)
		status = dmanic_target_allow(found, right, offset, span);
	if (!status) {
		/* Not freed before a grace period, so the owner's one is in it */
		refcount_inc(&found->active);
		*export = found;
	}
	rcu_read_unlock();
	return dmanic_target_refused(node, status);
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
 * dmanic_target_raise() - raise an interrupt that was found
 * @export: of an interrupt, found under RCU, which the caller still holds
 * @payload: for the waiter
 * @from: node id of the initiator
 * @wakes: as for dmanic_irq_raise()
 *
 * Closing an interrupt waits for those who raise it, not for a grace period: a
 * process that ends may close thousands.
 *
 * Return: enum dmanic_status; DMANIC_STATUS_LIMIT a strict one is full.
 */
u32 dmanic_target_raise(struct dmanic_export *export, u64 payload, u32 from,
			struct dmanic_wakes *wakes)
{
	u32 status;

	if (!refcount_inc_not_zero(&export->active))
		return DMANIC_STATUS_NO_SEGMENT;
	status = dmanic_irq_raise(export->irq, payload, from, wakes);
	if (!status)
		dmanic_stat_add(export->node, DMANIC_STATS_A_NOTIFIES_RAISED, 1);
	dmanic_target_put(export);
	return status;
}

/**
 * dmanic_target_notify() - raise an interrupt
 * @node: whose
 * @target: id and key as the initiator named them
 * @payload: for the waiter
 * @from: node id of the initiator
 * @wakes: as for dmanic_irq_raise()
 *
 * Return: enum dmanic_status; DMANIC_STATUS_LIMIT a strict one is full.
 */
u32 dmanic_target_notify(struct dmanic_node *node, const struct dmanic_target *target,
			 u64 payload, u32 from, struct dmanic_wakes *wakes)
{
	struct dmanic_export *export;
	u32 status;

	rcu_read_lock();
	status = dmanic_target_find(node, target, DMANIC_EXPORT_IRQ, &export);
	if (!status)
		status = dmanic_target_raise(export, payload, from, wakes);
	rcu_read_unlock();
	trace_dmanic_notify(node, target->id, payload, from, status);
	return dmanic_target_refused(node, status);
}
