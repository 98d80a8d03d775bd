// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop.c - N nodes in one machine
 *
 * Nodes, connecting and control; loop_engine.c moves the data. Without a model,
 * reach() lets the poster do small operations itself: waking the engine's worker
 * would cost more.
 *
 * A fabric is the set of nodes made together. fabric->nodes is read under RCU
 * and emptied by stop(); a node's struct lives on until its last user is gone.
 */
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "compat.h"
#include "dma.h"
#include "dmanic.h"
#include "link.h"
#include "loop.h"

/* ---- reaching the target ---- */

/* Under RCU; NULL: there is none, or it does not answer */
static struct loop_node *loop_find(struct loop_node *ln, u32 id)
{
	struct loop_fabric *fabric = ln->fabric;
	struct loop_node *peer;

	if (id >= fabric->nr_nodes)
		return NULL;
	peer = rcu_dereference(fabric->nodes[array_index_nospec(id, fabric->nr_nodes)]);
	return peer && !READ_ONCE(peer->failed) ? peer : NULL;
}

/* Under RCU: status, and the node when it is OK */
u32 dmanic_loop_peer(struct loop_node *ln, const struct dmanic_target *target,
		     struct loop_node **peer)
{
	if (READ_ONCE(ln->failed))
		return DMANIC_STATUS_LINK_DOWN;
	*peer = loop_find(ln, target->node);
	/* Who goes does not reach even itself: it is not a peer that is dead */
	if (!*peer)
		return target->node == ln->node.id ? DMANIC_STATUS_LINK_DOWN :
						     DMANIC_STATUS_PEER_DEAD;
	if (READ_ONCE((*peer)->node.incarnation) != target->incarnation)
		return DMANIC_STATUS_PEER_RESTARTED;
	return DMANIC_STATUS_OK;
}

/* With a model, too: what a processor does is not the engine's work */
static struct dmanic_node *loop_map(struct dmanic_node *node,
				    const struct dmanic_target *target)
{
	struct loop_node *peer;

	if (dmanic_loop_peer(to_loop(node), target, &peer))
		return NULL;
	return &peer->node;
}

static struct dmanic_node *loop_reach(struct dmanic_node *node,
				      const struct dmanic_target *target)
{
	if (!READ_ONCE(to_loop(node)->free))
		return NULL;
	return target ? loop_map(node, target) : node;
}

static bool loop_slow(struct dmanic_node *node)
{
	return !READ_ONCE(to_loop(node)->free);
}

/* ---- connecting ---- */

/* A peer with a reference to its device, or ERR_PTR(-EHOSTUNREACH) */
static struct loop_node *loop_peer_get(struct loop_node *ln, u32 id)
{
	struct loop_node *peer;

	rcu_read_lock();
	peer = READ_ONCE(ln->failed) ? NULL : loop_find(ln, id);
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

/* It is what @remote is connected to; under RCU */
static void loop_found(struct dmanic_remote *remote, const struct dmanic_export *export)
{
	remote->target.id = export->id;
	remote->target.key = export->key;
	remote->rights = export->rights;
	remote->length = export->length;
}

static int loop_find_name(struct dmanic_node *node, const struct dmanic_connect *arg,
			  struct dmanic_remote *remote)
{
	struct dmanic_export *export;
	int ret;

	rcu_read_lock();
	ret = dmanic_export_lookup(node, remote->kind, arg->name, arg->secret, &export);
	if (!ret)
		loop_found(remote, export);
	rcu_read_unlock();
	return ret;
}

/* Wait until the name is published on @peer */
static int loop_lookup(struct loop_node *ln, struct loop_node *peer,
		       const struct dmanic_connect *arg, struct dmanic_remote *remote)
{
	u64 timeout_ns = arg->timeout_ns;
	ktime_t now = ktime_get(), until = KTIME_MAX;
	struct dmanic_node *node = &peer->node;
	wait_queue_head_t *waits = dmanic_export_waits(node, arg->name);
	ktime_t left = KTIME_MAX;
	unsigned int seq;
	int ret;

	if (timeout_ns < (u64)(KTIME_MAX - now))
		until = ktime_add_ns(now, timeout_ns);
	for (;;) {
		/* N: before looking, so that a later change ends the wait */
		seq = smp_load_acquire(&node->publish_seq);
		ret = loop_find_name(node, arg, remote);
		if (ret != -ENOENT || !timeout_ns)
			return ret;
		if (until != KTIME_MAX) {
			left = ktime_sub(until, ktime_get());
			if (left <= 0)
				return -ETIME;
		}
		ret = wait_event_interruptible_hrtimeout(*waits, loop_changed(ln, node, seq),
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

static int loop_find_id(struct dmanic_node *node, struct dmanic_remote *remote)
{
	struct dmanic_export *export;
	int ret;

	rcu_read_lock();
	ret = loop_errno(dmanic_target_find(node, &remote->target, remote->kind, &export));
	if (!ret)
		loop_found(remote, export);
	rcu_read_unlock();
	return ret;
}

static int loop_connect(struct dmanic_ctx *ctx, struct dmanic_connect *arg,
			struct dmanic_remote *remote)
{
	struct dmanic_target *target = &remote->target;
	struct loop_node *ln = to_loop(ctx->node);
	struct loop_node *peer;
	int ret;

	peer = loop_peer_get(ln, target->node);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	if (arg->flags & DMANIC_CONNECT_BY_NAME)
		ret = loop_lookup(ln, peer, arg, remote);
	else
		ret = loop_find_id(&peer->node, remote);
	/* Only now: one of the two may have failed, or restarted, while we waited */
	target->incarnation = READ_ONCE(peer->node.incarnation);
	if (!ret && (READ_ONCE(ln->failed) || READ_ONCE(peer->failed)))
		ret = -EHOSTUNREACH;
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
	/* What it is waiting for may cost nothing any more */
	if (!ln->stopped)
		wake_up_process(ln->worker);
	spin_unlock(&ln->lock);
	dmanic_forget();
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
	dmanic_forget();
}

static bool loop_failed(struct dmanic_node *node)
{
	return READ_ONCE(to_loop(node)->failed);
}

static void loop_tell_dma(struct dmanic_node *node, struct dmanic_dma_info *info)
{
	const struct dmanic_dma *dma = to_loop(node)->dma;

	lockdep_assert_held(&dmanic_nodes_lock);
	*info = (struct dmanic_dma_info) { .state = DMANIC_DMA_NONE, .name = "" };
	if (dma)
		dmanic_dma_tell(dma, info);
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
			dmanic_export_wake_all(&peer->node);
	}
	rcu_read_unlock();
}

static void loop_end(struct loop_node *ln)
{
	spin_lock(&ln->lock);
	ln->stopped = true;
	spin_unlock(&ln->lock);
	/*
	 * Nobody wakes the worker or reaches this node from here on. Expedited: a
	 * fabric has hundreds of nodes, and who removes it may do anything anyway.
	 */
	synchronize_rcu_expedited();
	dmanic_loop_engine_stop(ln);
}

static void loop_stop(struct dmanic_node *node)
{
	struct loop_node *ln = to_loop(node);

	RCU_INIT_POINTER(ln->fabric->nodes[node->id], NULL);
	dmanic_forget();
	loop_wake_all(ln->fabric);
	loop_end(ln);
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
		    DMANIC_FEATURE_USER_MEMORY | DMANIC_FEATURE_ATOMIC |
		    DMANIC_FEATURE_LIST | DMANIC_FEATURE_MAP_REMOTE,
	.connect = loop_connect,
	.reach = loop_reach,
	.map = loop_map,
	.submit = dmanic_loop_submit,
	.cancel = dmanic_loop_cancel,
	.slow = loop_slow,
	.nr_nodes = loop_nr_nodes,
	.stop = loop_stop,
	.set_model = loop_set_model,
	.get_model = loop_get_model,
	.set_failed = loop_set_failed,
	.failed = loop_failed,
	.tell_dma = loop_tell_dma,
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
	ret = dmanic_loop_engine_init(ln, name);
	if (ret)
		goto err_free;
	ret = dmanic_node_init(&ln->node, net, &loop_ops, name, prefix, id);
	if (ret)
		goto err_worker;
	kref_get(&fabric->ref);
	wake_up_process(ln->worker);
	return ln;

err_worker:
	dmanic_loop_engine_end(ln);
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
		/* Its file may have been opened for a moment */
		loop_end(ln);
		dmanic_node_put(&ln->node);
		return ret;
	}
	rcu_assign_pointer(fabric->nodes[id], ln);
	return 0;
}

/* Nodes of an earlier fabric would be taken for nodes of this one */
static bool loop_prefix_used(const struct net *net, const char *prefix)
{
	struct dmanic_node *node;

	lockdep_assert_held(&dmanic_nodes_lock);
	list_for_each_entry(node, &dmanic_nodes, entry)
		if (node->link == &loop_ops && net_eq(node->net, net) &&
		    !strcmp(node->fabric, prefix))
			return true;
	return false;
}

/**
 * dmanic_loop_create() - make a fabric
 * @net: network namespace of the nodes
 * @prefix: nodes are called prefix0, prefix1, ...
 * @nodes: how many, at most DMANIC_LOOP_MAX_NODES
 * @model: checked
 *
 * Return: 0, or -errno and no node was made: -EEXIST a name is taken, or some of an earlier
 * fabric of that name are still there, -ENAMETOOLONG, -ENOMEM.
 */
int dmanic_loop_create(struct net *net, const char *prefix, u32 nodes,
		       const struct dmanic_model *model)
{
	struct loop_fabric *fabric;
	struct loop_node *ln;
	int ret = 0;
	u32 id;

	if (loop_prefix_used(net, prefix))
		return -EEXIST;
	fabric = kzalloc(struct_size(fabric, nodes, nodes), GFP_KERNEL);
	if (!fabric)
		return -ENOMEM;
	fabric->dma = dmanic_dma_create();
	if (!fabric->dma) {
		kfree(fabric);
		return -ENOMEM;
	}
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
	for (id = 0; id < nodes && !ret; id++) {
		ln = rcu_dereference_protected(fabric->nodes[id],
					       lockdep_is_held(&dmanic_nodes_lock));
		dmanic_node_announce(&ln->node);
	}
	/* Each node has its own reference */
	dmanic_dma_put(fabric->dma);
	kref_put(&fabric->ref, loop_fabric_free);
	return ret;
}
