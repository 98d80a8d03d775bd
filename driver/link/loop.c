// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop.c - N nodes in one machine
 *
 * Every node has a worker, its DMA engine, that does the node's operations in
 * the order they were posted. Data are copied once, from the pages of the
 * initiator's segment to those of the target's. Without a model, reach() lets
 * the poster do small operations itself: waking the worker would cost more.
 *
 * With a model (model.h) the worker copies when an operation's turn comes and
 * sleeps until the modelled end before it raises and completes.
 *
 * The worker is a real-time task, for an engine does not queue for the CPU behind
 * a program that polls or computes. Once it ran LOOP_BUSY_NS longer than it slept
 * it goes on as a normal task, of the priority that high-priority workqueues
 * have, until it has slept enough: who posts gigabytes does not get a CPU of its
 * own.
 *
 * A fabric is the set of nodes made together. fabric->nodes is read under RCU
 * and emptied by stop(); a node's struct lives on until its last user is gone.
 */
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat.h"
#include "dmanic.h"
#include "link.h"
#include "trace.h"

/* Real-time until it ran so much longer than it slept; forgotten above the most */
#define LOOP_BUSY_NS	(2 * NSEC_PER_MSEC)
#define LOOP_DEBT_NS	(50 * NSEC_PER_MSEC)
/* Copied between two looks around */
#define LOOP_CHUNK	SZ_256K

/**
 * struct loop_fabric - nodes made together
 * @ref: one for each node's struct
 * @nr_nodes: length of @nodes
 * @nodes: by node id; NULL once removed
 */
struct loop_fabric {
	struct kref ref;
	u32 nr_nodes;
	struct loop_node __rcu *nodes[];
};

/**
 * struct loop_node - a node
 * @node: what the core sees
 * @fabric: the others
 * @worker: does the operations; NULL once stopped
 * @failed: does not answer
 * @free: the model costs nothing
 * @since: the worker's: when it last began to run or to sleep
 * @debt: the worker's: how much longer it ran than it slept, ns
 * @normal: the worker's: it is not a real-time task now
 * @lock: protects what follows
 * @stopped: takes no more
 * @pending: operations in order
 * @model: what things pretend to cost
 * @state: of the modelled engine
 */
struct loop_node {
	struct dmanic_node node;
	struct loop_fabric *fabric;
	struct task_struct *worker;
	bool failed;
	bool free;
	u64 since;
	u64 debt;
	bool normal;

	spinlock_t lock; /* protects what follows */
	bool stopped;
	struct list_head pending;
	struct dmanic_model model;
	struct dmanic_model_state state;
};

static struct loop_node *to_loop(struct dmanic_node *node)
{
	return container_of(node, struct loop_node, node);
}

/* ---- reaching the target ---- */

/* Under RCU. Status, and the node when it is OK. */
static u32 loop_peer(struct loop_node *ln, const struct dmanic_target *target,
		     struct loop_node **peer)
{
	struct loop_fabric *fabric = ln->fabric;
	u32 id = target->node;

	if (READ_ONCE(ln->failed))
		return DMANIC_STATUS_LINK_DOWN;
	if (id >= fabric->nr_nodes)
		return DMANIC_STATUS_PEER_DEAD;
	*peer = rcu_dereference(fabric->nodes[array_index_nospec(id, fabric->nr_nodes)]);
	if (!*peer || READ_ONCE((*peer)->failed))
		return DMANIC_STATUS_PEER_DEAD;
	if (READ_ONCE((*peer)->node.incarnation) != target->incarnation)
		return DMANIC_STATUS_PEER_RESTARTED;
	return DMANIC_STATUS_OK;
}

static bool loop_is_read(const struct dmanic_op *op)
{
	return op->opcode == DMANIC_OP_READ || op->opcode == DMANIC_OP_READ_STRIDED;
}

static bool loop_has_notify(const struct dmanic_op *op)
{
	return op->opcode == DMANIC_OP_NOTIFY || (op->flags & DMANIC_SQE_NOTIFY);
}

static __always_inline void
loop_copy_piece(const struct dmanic_op *op, struct dmanic_export *export,
		u64 local, u64 remote, u64 bytes)
{
	struct dmanic_mem *dst = export->mem, *src = op->mem;

	if (loop_is_read(op)) {
		swap(dst, src);
		swap(local, remote);
	}
	if (!dmanic_mem_copy_small(dst, remote, src, local, bytes))
		dmanic_mem_copy(dst, remote, src, local, bytes);
}

static __always_inline u64 loop_span(const struct dmanic_op *op)
{
	if (likely(op->count == 1))
		return op->block;
	return op->count ? (op->count - 1) * op->remote_stride + op->block : 0;
}

/* The target's export for the whole of @op, for dmanic_target_put() */
static u32 loop_target_get(struct loop_node *ln, const struct dmanic_op *op,
			   struct dmanic_export **export)
{
	u32 right = loop_is_read(op) ? DMANIC_RIGHT_READ : DMANIC_RIGHT_WRITE;
	struct loop_node *peer;
	u32 status;

	rcu_read_lock();
	status = loop_peer(ln, &op->target, &peer);
	if (!status)
		status = dmanic_target_get(&peer->node, &op->target, right,
					   op->remote_offset, loop_span(op), export);
	rcu_read_unlock();
	return status;
}

/* The worker ran until now */
static void loop_worked(struct loop_node *ln)
{
	u64 now = ktime_get_ns();

	ln->debt = min_t(u64, ln->debt + now - ln->since, LOOP_DEBT_NS);
	ln->since = now;
	if (!ln->normal && ln->debt > LOOP_BUSY_NS) {
		sched_set_normal(current, MIN_NICE);
		ln->normal = true;
	}
}

/* The worker slept until now */
static void loop_rested(struct loop_node *ln)
{
	u64 now = ktime_get_ns();

	ln->debt -= min(ln->debt, now - ln->since);
	ln->since = now;
	if (ln->normal && ln->debt < LOOP_BUSY_NS) {
		sched_set_fifo_low(current);
		ln->normal = false;
	}
}

/*
 * After LOOP_CHUNK bytes: who closes the queue, stops the node or revokes the
 * segment must not wait for gigabytes.
 */
static u32 loop_look_around(struct loop_node *ln, const struct dmanic_op *op,
			    struct dmanic_export **export)
{
	dmanic_target_put(*export);
	*export = NULL;
	loop_worked(ln);
	cond_resched();
	if (dmanic_queue_dying(op->queue))
		return DMANIC_STATUS_CANCELLED;
	if (kthread_should_stop())
		return DMANIC_STATUS_LINK_DOWN;
	return loop_target_get(ln, op, export);
}

/* Copy all blocks */
static u32 loop_copy(struct loop_node *ln, struct dmanic_op *op,
		     struct dmanic_export **export)
{
	u64 local = op->local_offset, remote = op->remote_offset;
	u64 since = 0, done, piece;
	u32 i, status;

	for (i = 0; i < op->count; i++) {
		for (done = 0; done < op->block; done += piece) {
			if (since >= LOOP_CHUNK) {
				since = 0;
				status = loop_look_around(ln, op, export);
				if (status)
					return status;
			}
			piece = min_t(u64, op->block - done, LOOP_CHUNK);
			loop_copy_piece(op, *export, local + done, remote + done,
					piece);
			since += piece + SZ_64;
		}
		local += op->local_stride;
		remote += op->remote_stride;
	}
	op->result = dmanic_op_bytes(op);
	return DMANIC_STATUS_OK;
}

static u32 loop_data(struct loop_node *ln, struct dmanic_op *op)
{
	struct dmanic_export *export = NULL;
	u32 status;

	trace_dmanic_start(op);
	if (!op->mem)
		return DMANIC_STATUS_OK;
	status = loop_target_get(ln, op, &export);
	if (!status)
		status = loop_copy(ln, op, &export);
	if (export)
		dmanic_target_put(export);
	return status;
}

static u32 loop_notify(struct loop_node *ln, struct dmanic_op *op)
{
	struct loop_node *peer;
	u32 status;

	rcu_read_lock();
	status = loop_peer(ln, &op->notify, &peer);
	if (!status)
		status = dmanic_target_notify(&peer->node, &op->notify, op->payload,
					      ln->node.id);
	rcu_read_unlock();
	return status;
}

/* ---- the worker ---- */

static bool loop_give_up(const struct dmanic_op *op)
{
	return dmanic_queue_dying(op->queue) || kthread_should_stop();
}

static void loop_sleep_until(struct loop_node *ln, const struct dmanic_op *op)
{
	ktime_t due = ns_to_ktime(op->due);

	loop_worked(ln);
	while (ktime_before(ktime_get(), due)) {
		set_current_state(TASK_IDLE);
		if (loop_give_up(op))
			break;
		schedule_hrtimeout(&due, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
	loop_rested(ln);
}

static void loop_sleep(struct loop_node *ln)
{
	loop_worked(ln);
	set_current_state(TASK_IDLE);
	if (list_empty_careful(&ln->pending) && !kthread_should_stop())
		schedule();
	__set_current_state(TASK_RUNNING);
	loop_rested(ln);
}

static void loop_complete_one(struct dmanic_op *op, u32 status)
{
	LIST_HEAD(done);

	op->status = status;
	list_add(&op->entry, &done);
	dmanic_queue_complete(&done);
}

/* What it was doing was given up: the modelled engine is free at once */
static void loop_engine_stop(struct loop_node *ln)
{
	u64 now = ktime_get_ns();

	spin_lock(&ln->lock);
	ln->state.engine_free = min(ln->state.engine_free, now);
	ln->state.last_due = min(ln->state.last_due, now);
	spin_unlock(&ln->lock);
}

static void loop_run(struct loop_node *ln, struct dmanic_op *op)
{
	u32 status;

	status = loop_data(ln, op);
	if (op->due)
		loop_sleep_until(ln, op);
	if (loop_give_up(op))
		loop_engine_stop(ln);
	if (!status && loop_give_up(op))
		status = dmanic_queue_dying(op->queue) ? DMANIC_STATUS_CANCELLED :
							 DMANIC_STATUS_LINK_DOWN;
	if (!status && loop_has_notify(op))
		status = loop_notify(ln, op);
	loop_complete_one(op, status);
}

/*
 * The next operation. Only now it gets its place in the modelled engine: those
 * that are cancelled before cost nothing.
 */
static struct dmanic_op *loop_next(struct loop_node *ln)
{
	struct dmanic_op *op;

	spin_lock(&ln->lock);
	op = list_first_entry_or_null(&ln->pending, struct dmanic_op, entry);
	if (op)
		list_del(&op->entry);
	if (op && !ln->free)
		op->due = dmanic_model_due(&ln->model, &ln->state, op->due, op->mem,
					   loop_is_read(op), loop_has_notify(op),
					   dmanic_op_bytes(op));
	else if (op)
		op->due = 0;
	spin_unlock(&ln->lock);
	return op;
}

static int loop_worker(void *data)
{
	struct loop_node *ln = data;
	struct dmanic_op *op;

	ln->since = ktime_get_ns();
	sched_set_fifo_low(current);
	/* What is pending when it has to stop is taken by loop_stop() */
	while (!kthread_should_stop()) {
		op = loop_next(ln);
		if (op) {
			loop_run(ln, op);
			loop_worked(ln);
			cond_resched();
		} else {
			loop_sleep(ln);
		}
	}
	return 0;
}

/* ---- submission ---- */

static struct dmanic_node *loop_reach(struct dmanic_node *node,
				      const struct dmanic_target *target)
{
	struct loop_node *ln = to_loop(node);
	struct loop_node *peer;

	if (!READ_ONCE(ln->free))
		return NULL;
	if (!target)
		return node;
	if (loop_peer(ln, target, &peer))
		return NULL;
	return &peer->node;
}

/* Nothing of it begins before the poster has paid */
static u64 loop_doorbell(struct loop_node *ln, struct list_head *ops)
{
	bool data = false, notify = false;
	struct dmanic_op *op;
	u64 start, poster;

	lockdep_assert_held(&ln->lock);
	list_for_each_entry(op, ops, entry) {
		data |= !!op->mem;
		notify |= loop_has_notify(op);
	}
	poster = dmanic_model_poster(&ln->model, data, notify);
	start = ktime_get_ns() + poster;
	list_for_each_entry(op, ops, entry)
		op->due = start;
	return poster;
}

static u64 loop_submit(struct dmanic_node *node, struct list_head *ops)
{
	struct loop_node *ln = to_loop(node);
	struct dmanic_op *op;
	u64 poster = 0;
	bool dying, idle;

	op = list_first_entry(ops, struct dmanic_op, entry);
	spin_lock(&ln->lock);
	/* Set before cancel() takes the lock: one of the two sees these ops */
	dying = dmanic_queue_dying(op->queue);
	if (ln->stopped || dying) {
		spin_unlock(&ln->lock);
		list_for_each_entry(op, ops, entry)
			op->status = dying ? DMANIC_STATUS_CANCELLED :
					     DMANIC_STATUS_LINK_DOWN;
		dmanic_queue_complete(ops);
		return 0;
	}
	list_for_each_entry(op, ops, entry)
		op->due = 0;
	if (!ln->free)
		poster = loop_doorbell(ln, ops);
	idle = list_empty(&ln->pending);
	list_splice_tail_init(ops, &ln->pending);
	/* Under the lock: once stopped, the worker may be gone */
	if (idle)
		wake_up_process(ln->worker);
	spin_unlock(&ln->lock);
	return poster;
}

/* Take ops of @queue (or all) off the list; the caller completes them */
static void loop_take(struct loop_node *ln, struct dmanic_queue *queue,
		      struct list_head *ops)
{
	struct dmanic_op *op, *next;

	lockdep_assert_held(&ln->lock);
	list_for_each_entry_safe(op, next, &ln->pending, entry) {
		if (queue && op->queue != queue)
			continue;
		op->status = queue ? DMANIC_STATUS_CANCELLED : DMANIC_STATUS_LINK_DOWN;
		list_move_tail(&op->entry, ops);
	}
}

static void loop_cancel(struct dmanic_node *node, struct dmanic_queue *queue)
{
	struct loop_node *ln = to_loop(node);
	LIST_HEAD(ops);

	spin_lock(&ln->lock);
	loop_take(ln, queue, &ops);
	/* It may be sleeping until the due time of an op of this queue */
	if (!ln->stopped)
		wake_up_process(ln->worker);
	spin_unlock(&ln->lock);
	dmanic_queue_complete(&ops);
}

/* ---- connecting ---- */

/* A peer with a reference to its device, or ERR_PTR(-EHOSTUNREACH) */
static struct loop_node *loop_peer_get(struct loop_node *ln, u32 id)
{
	struct loop_fabric *fabric = ln->fabric;
	struct loop_node *peer = NULL;

	rcu_read_lock();
	if (id < fabric->nr_nodes) {
		id = array_index_nospec(id, fabric->nr_nodes);
		peer = rcu_dereference(fabric->nodes[id]);
	}
	if (peer && (READ_ONCE(peer->failed) || READ_ONCE(ln->failed)))
		peer = NULL;
	if (peer)
		get_device(&peer->node.dev);
	rcu_read_unlock();
	return peer ? peer : ERR_PTR(-EHOSTUNREACH);
}

/* Something was published since @seq was read, or the node went */
static bool loop_changed(const struct loop_node *ln, const struct dmanic_node *node,
			 unsigned int seq)
{
	return seq != READ_ONCE(node->publish_seq) || dmanic_node_dead(node) ||
	       dmanic_node_dead(&ln->node);
}

/* Wait until @name is published on @peer */
static int loop_lookup(struct loop_node *ln, struct loop_node *peer,
		       enum dmanic_export_kind kind, const char *name,
		       const u64 *secret, u64 timeout_ns,
		       struct dmanic_target *target)
{
	ktime_t now = ktime_get(), until = KTIME_MAX;
	struct dmanic_node *node = &peer->node;
	ktime_t left = KTIME_MAX;
	unsigned int seq;
	int ret;

	if (timeout_ns < (u64)(KTIME_MAX - now))
		until = ktime_add_ns(now, timeout_ns);
	for (;;) {
		/* Before looking, so that a later change ends the wait */
		seq = READ_ONCE(node->publish_seq);
		ret = dmanic_export_lookup(node, kind, name, secret, &target->id,
					   &target->key);
		if (ret != -ENOENT || !timeout_ns)
			return ret;
		if (until != KTIME_MAX) {
			left = ktime_sub(until, ktime_get());
			if (left <= 0)
				return -ETIME;
		}
		ret = wait_event_interruptible_hrtimeout(node->published,
							 loop_changed(ln, node, seq),
							 left);
		if (dmanic_node_dead(&ln->node))
			return -ENODEV;
		if (dmanic_node_dead(node))
			return -EHOSTUNREACH;
		if (ret)
			return ret == -ERESTARTSYS ? -EINTR : ret;
	}
}

static int loop_errno(u32 status)
{
	switch (status) {
	case DMANIC_STATUS_OK:
		return 0;
	case DMANIC_STATUS_ACCESS:
		return -EACCES;
	case DMANIC_STATUS_INVALID:
		return -EINVAL;
	default:
		return -ENOENT;
	}
}

static int loop_connect(struct dmanic_node *node, struct dmanic_target *target,
			enum dmanic_export_kind kind, const char *name,
			const u64 *secret, u64 timeout_ns, u32 *rights, u64 *length)
{
	struct dmanic_export *export;
	struct loop_node *peer;
	int ret;

	peer = loop_peer_get(to_loop(node), target->node);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	target->incarnation = READ_ONCE(peer->node.incarnation);
	if (name) {
		ret = loop_lookup(to_loop(node), peer, kind, name, secret, timeout_ns, target);
		if (ret)
			goto out_put;
	}
	rcu_read_lock();
	ret = loop_errno(dmanic_target_find(&peer->node, target, kind, &export));
	if (!ret) {
		*rights = export->rights;
		*length = export->length;
	}
	rcu_read_unlock();
out_put:
	dmanic_node_put(&peer->node);
	return ret;
}

/* ---- control ---- */

static u32 loop_nr_nodes(struct dmanic_node *node)
{
	struct loop_fabric *fabric = to_loop(node)->fabric;
	u32 i, nr = 0;

	rcu_read_lock();
	for (i = 0; i < fabric->nr_nodes; i++)
		nr += !!rcu_dereference(fabric->nodes[i]);
	rcu_read_unlock();
	return nr;
}

static void loop_set_model(struct dmanic_node *node, const struct dmanic_model *model)
{
	struct loop_node *ln = to_loop(node);

	spin_lock(&ln->lock);
	ln->model = *model;
	dmanic_model_reset(model, &ln->state);
	WRITE_ONCE(ln->free, dmanic_model_free(model));
	spin_unlock(&ln->lock);
}

static void loop_get_model(struct dmanic_node *node, struct dmanic_model *model)
{
	struct loop_node *ln = to_loop(node);

	spin_lock(&ln->lock);
	*model = ln->model;
	spin_unlock(&ln->lock);
}

static void loop_set_failed(struct dmanic_node *node, bool failed)
{
	struct loop_node *ln = to_loop(node);

	/* Who connected before the failure must notice that it restarted */
	if (ln->failed && !failed)
		WRITE_ONCE(node->incarnation, node->incarnation + 1);
	WRITE_ONCE(ln->failed, failed);
}

static bool loop_failed(struct dmanic_node *node)
{
	return READ_ONCE(to_loop(node)->failed);
}

/* Who waits for a name on another node sleeps there */
static void loop_wake_all(struct loop_fabric *fabric)
{
	struct loop_node *peer;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < fabric->nr_nodes; i++) {
		peer = rcu_dereference(fabric->nodes[i]);
		if (peer)
			wake_up_all(&peer->node.published);
	}
	rcu_read_unlock();
}

static void loop_stop(struct dmanic_node *node)
{
	struct loop_node *ln = to_loop(node);
	LIST_HEAD(ops);

	RCU_INIT_POINTER(ln->fabric->nodes[node->id], NULL);
	loop_wake_all(ln->fabric);
	spin_lock(&ln->lock);
	ln->stopped = true;
	spin_unlock(&ln->lock);
	/* Nobody wakes the worker or reaches this node from here on */
	synchronize_rcu();
	kthread_stop(ln->worker);
	spin_lock(&ln->lock);
	loop_take(ln, NULL, &ops);
	spin_unlock(&ln->lock);
	dmanic_queue_complete(&ops);
}

static void loop_fabric_free(struct kref *ref)
{
	kfree(container_of(ref, struct loop_fabric, ref));
}

static void loop_release(struct dmanic_node *node)
{
	struct loop_node *ln = to_loop(node);

	kref_put(&ln->fabric->ref, loop_fabric_free);
	kfree(ln);
}

static const struct dmanic_link_ops loop_ops = {
	.type = "loop",
	.features = DMANIC_FEATURE_STRIDED | DMANIC_FEATURE_NOTIFY |
		    DMANIC_FEATURE_USER_MEMORY,
	.connect = loop_connect,
	.reach = loop_reach,
	.submit = loop_submit,
	.cancel = loop_cancel,
	.nr_nodes = loop_nr_nodes,
	.stop = loop_stop,
	.set_model = loop_set_model,
	.get_model = loop_get_model,
	.set_failed = loop_set_failed,
	.failed = loop_failed,
	.release = loop_release,
};

static struct loop_node *loop_node_new(struct net *net, struct loop_fabric *fabric,
				       const char *prefix, u32 id)
{
	char name[DMANIC_NAME_MAX];
	struct loop_node *ln;
	int ret;

	ret = snprintf(name, sizeof(name), "%s%u", prefix, id);
	if (ret >= sizeof(name))
		return ERR_PTR(-ENAMETOOLONG);
	ln = kzalloc(sizeof(*ln), GFP_KERNEL);
	if (!ln)
		return ERR_PTR(-ENOMEM);
	ln->fabric = fabric;
	spin_lock_init(&ln->lock);
	INIT_LIST_HEAD(&ln->pending);
	ln->worker = kthread_create(loop_worker, ln, "dmanic/%s", name);
	if (IS_ERR(ln->worker)) {
		ret = PTR_ERR(ln->worker);
		goto err_free;
	}
	ret = dmanic_node_init(&ln->node, net, &loop_ops, name, prefix, id);
	if (ret)
		goto err_worker;
	kref_get(&fabric->ref);
	wake_up_process(ln->worker);
	return ln;

err_worker:
	kthread_stop(ln->worker);
err_free:
	kfree(ln);
	return ERR_PTR(ret);
}

static int loop_node_create(struct net *net, struct loop_fabric *fabric,
			    const char *prefix, u32 id,
			    const struct dmanic_model *model)
{
	struct loop_node *ln;
	int ret;

	ln = loop_node_new(net, fabric, prefix, id);
	if (IS_ERR(ln))
		return PTR_ERR(ln);
	loop_set_model(&ln->node, model);
	ret = dmanic_node_add(&ln->node);
	if (ret) {
		kthread_stop(ln->worker);
		dmanic_node_put(&ln->node);
		return ret;
	}
	rcu_assign_pointer(fabric->nodes[id], ln);
	return 0;
}

/**
 * dmanic_loop_create() - make a fabric
 * @net: network namespace of the nodes
 * @prefix: nodes are called prefix0, prefix1, ...
 * @nodes: how many, at most DMANIC_LOOP_MAX_NODES
 * @model: checked
 *
 * Return: 0, or -errno and no node was made: -EEXIST a name is taken,
 * -ENAMETOOLONG, -ENOMEM.
 */
int dmanic_loop_create(struct net *net, const char *prefix, u32 nodes,
		       const struct dmanic_model *model)
{
	struct loop_fabric *fabric;
	struct loop_node *ln;
	int ret = 0;
	u32 id;

	lockdep_assert_held(&dmanic_nodes_lock);
	fabric = kzalloc(struct_size(fabric, nodes, nodes), GFP_KERNEL);
	if (!fabric)
		return -ENOMEM;
	kref_init(&fabric->ref);
	fabric->nr_nodes = nodes;
	for (id = 0; id < nodes && !ret; id++)
		ret = loop_node_create(net, fabric, prefix, id, model);
	for (id = 0; id < nodes && ret; id++) {
		ln = rcu_dereference_protected(fabric->nodes[id],
					       lockdep_is_held(&dmanic_nodes_lock));
		if (ln)
			dmanic_node_remove(&ln->node);
	}
	kref_put(&fabric->ref, loop_fabric_free);
	return ret;
}
