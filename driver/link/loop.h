/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loop.h - what loop.c (nodes, connecting, control), loop_engine.c (the worker:
 * turns, waiting) and loop_move.c (copying, raising) share
 */
#ifndef DMANIC_LOOP_H
#define DMANIC_LOOP_H

#include <linux/kref.h>

#include "dmanic.h"
#include "model.h"

/**
 * struct loop_fabric - nodes made together
 * @ref: one for each node's struct
 * @dma: the nodes' engine, while they are made
 * @nr_nodes: length of @nodes
 * @nodes: by node id; NULL once removed
 */
struct loop_fabric {
	struct kref ref;
	struct dmanic_dma *dma;
	u32 nr_nodes;
	struct loop_node __rcu *nodes[];
};

/**
 * struct loop_node - a node
 * @node: what the core sees
 * @fabric: the others
 * @worker: the engine's thread
 * @dma: a DMA engine of the machine; NULL once the worker has ended
 * @failed: does not answer
 * @free: the model costs nothing
 * @since: the worker's: when it last began to run or to sleep
 * @debt: the worker's: how much longer it ran than it slept, ns
 * @normal: the worker's: it is not a real-time task now
 * @lock: protects what follows, and pending and turn of the node's queues
 * @stopped: takes no more
 * @turns: queues that have pending operations, by dmanic_queue.turn; the first
 *	is served next
 * @hurried: likewise those with io_uring commands nobody can cancel; every
 *	second turn is theirs
 * @hurry: the last one was
 * @model: what things pretend to cost
 * @state: of the modelled engine
 */
struct loop_node {
	struct dmanic_node node;
	struct loop_fabric *fabric;
	struct task_struct *worker;
	struct dmanic_dma *dma;
	bool failed;
	bool free;
	u64 since;
	u64 debt;
	bool normal;

	spinlock_t lock; /* protects what follows */
	bool stopped;
	struct list_head turns;
	struct list_head hurried;
	bool hurry;
	struct dmanic_model model;
	struct dmanic_model_state state;
};

static inline struct loop_node *to_loop(struct dmanic_node *node)
{
	return container_of(node, struct loop_node, node);
}

static inline bool loop_is_list(const struct dmanic_op *op)
{
	return op->list.mem;
}

static inline bool loop_is_atomic(const struct dmanic_op *op)
{
	return dmanic_opcode_atomic(op->opcode);
}

static inline bool loop_done(const struct dmanic_op *op)
{
	if (loop_is_list(op))
		return dmanic_list_done(op);
	return op->moved == dmanic_op_bytes(op);
}

/* The worker slept for so long, somewhen since loop_worked() */
static inline void loop_slept(struct loop_node *ln, u64 ns)
{
	ln->debt -= min(ln->debt, ns);
	ln->since += ns;
}

/* loop.c */
u32 dmanic_loop_peer(struct loop_node *ln, const struct dmanic_target *target,
		     struct loop_node **peer);

/* loop_move.c */
u32 dmanic_loop_copy(struct loop_node *ln, struct dmanic_op *op);
u32 dmanic_loop_atomic(struct loop_node *ln, struct dmanic_op *op);
u32 dmanic_loop_notify(struct loop_node *ln, struct dmanic_op *op);

/* loop_engine.c */
int dmanic_loop_engine_init(struct loop_node *ln, const char *name);
void dmanic_loop_engine_end(struct loop_node *ln);
void dmanic_loop_engine_stop(struct loop_node *ln);
u64 dmanic_loop_submit(struct dmanic_node *node, struct list_head *ops);
void dmanic_loop_cancel(struct dmanic_node *node, struct dmanic_queue *queue,
			struct dmanic_op *op);

#endif /* DMANIC_LOOP_H */
