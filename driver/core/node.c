// SPDX-License-Identifier: GPL-2.0-only
/*
 * node.c - devices: the list of them, making and removing one
 *
 * A link embeds struct dmanic_node in its own, calls dmanic_node_init() and
 * dmanic_node_add(). The struct lives until the last open file, mapping and
 * mem let go of the device; then the link's release() frees it.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <net/net_namespace.h>

#include "dmanic.h"
#include "link.h"

LIST_HEAD(dmanic_nodes);
/* The list, making and removing nodes */
DEFINE_MUTEX(dmanic_nodes_lock);

u32 dmanic_nodes_generation = 1;
atomic_t dmanic_peers_generation = ATOMIC_INIT(0);

/* The module goes and takes no more nodes; under dmanic_nodes_lock */
static bool dmanic_nodes_closed;

static void node_release(struct device *dev)
{
	struct dmanic_node *node = container_of(dev, struct dmanic_node, dev);

	xa_destroy(&node->exports);
	iput(node->maps);
	free_percpu(node->stats);
	node->link->release(node);
}

/**
 * dmanic_node_init() - fill in a node
 * @node: zeroed, embedded in the link's struct
 * @net: network namespace it belongs to
 * @link: its link
 * @name: device name, shorter than DMANIC_NAME_MAX
 * @fabric: name it was made with
 * @id: node id on the link
 *
 * Return: 0, then dmanic_node_put() frees it; or -ENOMEM, then the caller
 * does.
 */
int dmanic_node_init(struct dmanic_node *node, struct net *net,
		     const struct dmanic_link_ops *link, const char *name,
		     const char *fabric, u32 id)
{
	int ret, i;

	node->stats = alloc_percpu(struct dmanic_stats);
	if (!node->stats)
		return -ENOMEM;
	node->link = link;
	node->net = net;
	node->id = id;
	node->incarnation = 1;
	strscpy(node->name, name, sizeof(node->name));
	strscpy(node->fabric, fabric, sizeof(node->fabric));
	mutex_init(&node->lock);
	INIT_LIST_HEAD(&node->entry);
	INIT_LIST_HEAD(&node->contexts);
	INIT_LIST_HEAD(&node->accounts);
	INIT_LIST_HEAD(&node->queues);
	INIT_LIST_HEAD(&node->irqs);
	xa_init_flags(&node->exports, XA_FLAGS_ALLOC1);
	get_random_bytes(&node->names_key, sizeof(node->names_key));
	hash_init(node->names);
	for (i = 0; i < DMANIC_PUBLISHED; i++)
		init_waitqueue_head(&node->published[i]);

	device_initialize(&node->dev);
	node->dev.release = node_release;
	ret = dev_set_name(&node->dev, "%s", name);
	if (ret) {
		/* release() would free the link's struct under the caller */
		free_percpu(node->stats);
		return ret;
	}
	return 0;
}

/**
 * dmanic_node_add() - make it visible
 * @node: initialised
 *
 * Return: 0; -EEXIST the name is taken; -ESHUTDOWN the module goes; -ENOMEM,
 * -ENOSPC.
 */
int dmanic_node_add(struct dmanic_node *node)
{
	struct dmanic_node *other;
	int ret;

	lockdep_assert_held(&dmanic_nodes_lock);

	if (dmanic_nodes_closed)
		return -ESHUTDOWN;
	/* /dev names are global, whatever namespace a node belongs to */
	list_for_each_entry(other, &dmanic_nodes, entry)
		if (!strcmp(other->name, node->name))
			return -EEXIST;
	ret = dmanic_cdev_add(node);
	if (ret)
		return ret;
	list_add_tail(&node->entry, &dmanic_nodes);
	dmanic_nodes_generation++;
	return 0;
}

/**
 * dmanic_node_announce() - tell listeners of a node
 * @node: added, and all that was made with it
 *
 * They will be told of its removal too; not of that of a node which they never
 * heard of, because what was to be made with it could not be.
 */
void dmanic_node_announce(struct dmanic_node *node)
{
	lockdep_assert_held(&dmanic_nodes_lock);

	node->announced = true;
	dmanic_netlink_event(node, DMANIC_EVENT_ADDED);
}

static void node_set_dead(struct dmanic_node *node)
{
	struct dmanic_queue *queue;
	struct dmanic_ctx *ctx;
	struct dmanic_irq *irq;

	mutex_lock(&node->lock);
	list_for_each_entry(ctx, &node->contexts, entry)
		dmanic_news_set_dead(ctx);
	list_for_each_entry(queue, &node->queues, entry)
		dmanic_queue_set_dead(queue);
	list_for_each_entry(irq, &node->irqs, entry)
		dmanic_irq_set_dead(irq);
	mutex_unlock(&node->lock);
	dmanic_export_wake_all(node);
}

/**
 * dmanic_node_remove() - take it away, in use or not
 * @node: added
 *
 * Its users get ENODEV; what they have in flight completes as LINK_DOWN. Drops
 * the reference that dmanic_node_init() took.
 */
void dmanic_node_remove(struct dmanic_node *node)
{
	lockdep_assert_held(&dmanic_nodes_lock);

	mutex_lock(&node->lock);
	WRITE_ONCE(node->dead, true);
	mutex_unlock(&node->lock);

	list_del(&node->entry);
	dmanic_nodes_generation++;
	dmanic_cdev_remove(node);
	node->link->stop(node);
	dmanic_map_zap_all(node);
	node_set_dead(node);
	if (node->announced)
		dmanic_netlink_event(node, DMANIC_EVENT_REMOVED);
	dmanic_node_put(node);
}

/**
 * dmanic_node_find() - node by device name
 * @net: only of this network namespace
 * @name: device name
 *
 * Return: the node, valid while dmanic_nodes_lock is held, or NULL.
 */
struct dmanic_node *dmanic_node_find(struct net *net, const char *name)
{
	struct dmanic_node *node;

	lockdep_assert_held(&dmanic_nodes_lock);

	list_for_each_entry(node, &dmanic_nodes, entry)
		if (net_eq(node->net, net) && !strcmp(node->name, name))
			return node;
	return NULL;
}

/**
 * dmanic_node_put() - drop a reference to a node
 * @node: the node
 */
void dmanic_node_put(struct dmanic_node *node)
{
	put_device(&node->dev);
}

/**
 * dmanic_node_busy() - has somebody opened it
 * @node: the node
 *
 * Return: true when a context is open.
 */
bool dmanic_node_busy(struct dmanic_node *node)
{
	return atomic_read(&node->nr[DMANIC_KIND_CONTEXT]);
}

/**
 * dmanic_node_set_failed() - let a node stop answering, or restart
 * @node: its link can do that
 * @failed: which
 *
 * Mappings of its memory, and those it has of others', end before it returns.
 */
void dmanic_node_set_failed(struct dmanic_node *node, bool failed)
{
	lockdep_assert_held(&dmanic_nodes_lock);

	node->link->set_failed(node, failed);
	dmanic_map_zap_all(node);
}

/**
 * dmanic_node_remove_all() - a network namespace or the module goes
 * @net: nodes of this namespace; NULL: all, and there will be no new ones
 */
void dmanic_node_remove_all(struct net *net)
{
	struct dmanic_node *node, *next;

	mutex_lock(&dmanic_nodes_lock);
	if (!net)
		dmanic_nodes_closed = true;
	list_for_each_entry_safe(node, next, &dmanic_nodes, entry)
		if (!net || net_eq(node->net, net))
			dmanic_node_remove(node);
	mutex_unlock(&dmanic_nodes_lock);
}
