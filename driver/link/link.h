/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * link.h - ways to other nodes
 *
 * A link takes validated operations and completes each exactly once through
 * dmanic_queue_complete(), from any context, with op->status and op->result
 * set. On the receiving side it reaches memory through target.c only. One
 * link knows nothing of another.
 */
#ifndef DMANIC_LINK_H
#define DMANIC_LINK_H

#include "dmanic.h"
#include "model.h"

/**
 * struct dmanic_dma_info - a DMA engine that copies for a node
 * @state: enum dmanic_dma_state
 * @threshold: contiguous bytes from which on it is used; 0: it is not
 * @name: of its channel, valid as long as the node; empty: there never was one
 */
struct dmanic_dma_info {
	u32 state;
	u32 threshold;
	const char *name;
};

/**
 * struct dmanic_link_ops - what a link can do
 * @type: "loop"
 * @features: DMANIC_FEATURE_* it has
 * @op_bytes: of op->link, zeroed when the queue is made; may be 0
 * @connect: find an export on @target->node. By name when @name is not NULL
 *	(waiting at most @timeout_ns), else by target->id and key. Fills
 *	@target, @rights and @length. May sleep. 0 or -errno.
 * @reach: under RCU: the node of @target, when its memory is this machine's and
 *	the poster may use it at once; else NULL. @target NULL: this node, when
 *	operations cost nothing. dmanic_forget() when the answers change. May be
 *	NULL.
 * @map: under RCU: the node of @target, when a program may map its memory; else
 *	NULL, also when it does not answer or restarted. May be NULL. After a
 *	change to NULL dmanic_map_zap_all() is called.
 * @submit: must not sleep; take all @ops (of one queue, in order). Returns how many
 *	nanoseconds the poster has to spend, for a link that models a card.
 * @cancel: @op of @queue is given up (dmanic_op_given_up()), or all of @queue if
 *	that is NULL: complete what is not yet under way as CANCELLED, stop what
 *	is at the next block; returns at once. @op may be done already, and be
 *	another operation that was not given up.
 * @slow: operations may take as long as somebody asked for; NULL: they end
 *	soon. Nor is anything slow as long as dmanic_node_hurried().
 * @nr_nodes: nodes known
 * @stop: the node goes: complete all its ops as LINK_DOWN and take no more
 * @set_model: change the cost model; -EOPNOTSUPP when NULL
 * @get_model: tell the cost model
 * @set_failed: let the node stop answering, or restart
 * @failed: is it set
 * @tell_dma: what DMA engine of the machine it copies with; NULL: it copies
 *	with none. Under dmanic_nodes_lock.
 * @release: give back the struct that embeds @node
 */
struct dmanic_link_ops {
	const char *type;
	u64 features;
	size_t op_bytes;
	int (*connect)(struct dmanic_node *node, struct dmanic_target *target,
		       enum dmanic_export_kind kind, const char *name,
		       const u64 *secret, u64 timeout_ns, u32 *rights, u64 *length);
	struct dmanic_node *(*reach)(struct dmanic_node *node,
				     const struct dmanic_target *target);
	struct dmanic_node *(*map)(struct dmanic_node *node,
				   const struct dmanic_target *target);
	u64 (*submit)(struct dmanic_node *node, struct list_head *ops);
	void (*cancel)(struct dmanic_node *node, struct dmanic_queue *queue,
		       struct dmanic_op *op);
	bool (*slow)(struct dmanic_node *node);
	u32 (*nr_nodes)(struct dmanic_node *node);
	void (*stop)(struct dmanic_node *node);
	void (*set_model)(struct dmanic_node *node, const struct dmanic_model *model);
	void (*get_model)(struct dmanic_node *node, struct dmanic_model *model);
	void (*set_failed)(struct dmanic_node *node, bool failed);
	bool (*failed)(struct dmanic_node *node);
	void (*tell_dma)(struct dmanic_node *node, struct dmanic_dma_info *info);
	void (*release)(struct dmanic_node *node);
};

static inline bool dmanic_link_slow(struct dmanic_node *node)
{
	return node->link->slow && node->link->slow(node);
}

#define DMANIC_LOOP_MAX_NODES	256U

/*
 * Make nodes prefix0 .. prefix<n-1> of one fabric. Called with
 * dmanic_nodes_lock held.
 */
int dmanic_loop_create(struct net *net, const char *prefix, u32 nodes,
		       const struct dmanic_model *model);

#endif /* DMANIC_LINK_H */
