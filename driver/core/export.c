// SPDX-License-Identifier: GPL-2.0-only
/*
 * export.c - what other nodes may reach: ids, names, revoking
 *
 * An id is reserved first (a NULL slot in node->exports) and filled by
 * dmanic_export_publish(). Short accesses run under RCU alone, long ones take
 * @active under RCU. Revoking empties the slot, waits for RCU readers and then
 * until @active is zero, and takes the pages out of mappings (map.c): nobody
 * touches the memory afterwards. An export object is never reused: publishing
 * again makes a new one with a new key.
 *
 * The waits for RCU readers, here and in segment.c, are the caller's own and so
 * are not left to a callback: when he returns, memory and charge are given back
 * and may be asked for again. They are expedited, because programs free many
 * objects one by one. A user who does that in a loop makes every CPU that is
 * not idle take one short interrupt a call, no more than one grace period at a
 * time however many loops there are; only who may open the device can.
 */
#include <crypto/algapi.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dmanic.h"

/**
 * dmanic_export_reserve() - an id nobody used for long
 * @node: the device
 * @id: out, never 0
 *
 * Return: 0; -ENOMEM; -EBUSY no id is left.
 */
int dmanic_export_reserve(struct dmanic_node *node, u32 *id)
{
	int ret;

	ret = xa_alloc_cyclic(&node->exports, id, NULL, XA_LIMIT(1, DMANIC_ID_END - 1),
			      &node->next_id, GFP_KERNEL_ACCOUNT);
	return ret < 0 ? ret : 0;
}

/**
 * dmanic_export_unreserve() - the id may be used again
 * @node: the device
 * @id: reserved, not published
 */
void dmanic_export_unreserve(struct dmanic_node *node, u32 id)
{
	xa_erase(&node->exports, id);
}

/**
 * dmanic_name_valid() - is a name from a user terminated, and zero after that
 * @name: field
 * @size: of the field
 *
 * Return: true when it is (an empty one too).
 */
bool dmanic_name_valid(const char *name, size_t size)
{
	size_t len = strnlen(name, size);

	return len < size && !memchr_inv(name + len, 0, size - len);
}

/* Names come from users, and are looked up in softirq: nobody is to know who collides */
static u32 export_hash(const struct dmanic_node *node, const char *name)
{
	return siphash(name, strlen(name), &node->names_key);
}

static struct dmanic_export *export_find(struct dmanic_node *node, const char *name)
{
	struct dmanic_export *export;

	hash_for_each_possible_rcu(node->names, export, name_entry, export_hash(node, name),
				   lockdep_is_held(&node->lock))
		if (!strcmp(export->name, name))
			return export;
	return NULL;
}

/**
 * dmanic_export_publish() - let other nodes reach it
 * @export: node, id (reserved), kind, rights, length, mem or irq filled in
 * @name: publish under this name; empty: do not
 * @secret: who looks it up must know these two words
 *
 * Return: 0; -EEXIST the name is taken; -ENODEV.
 */
int dmanic_export_publish(struct dmanic_export *export, const char *name,
			  const u64 *secret)
{
	struct dmanic_node *node = export->node;
	int ret = 0;

	export->key = get_random_u64();
	memcpy(export->secret, secret, sizeof(export->secret));
	strscpy(export->name, name, sizeof(export->name));
	refcount_set(&export->active, 1);
	init_completion(&export->idle);
	INIT_HLIST_NODE(&export->name_entry);

	mutex_lock(&node->lock);
	if (node->dead)
		ret = -ENODEV;
	else if (*name && export_find(node, name))
		ret = -EEXIST;
	if (ret)
		goto out_unlock;
	/* The slot was reserved, so this does not allocate */
	xa_store(&node->exports, export->id, export, GFP_KERNEL);
	if (*name) {
		hash_add_rcu(node->names, &export->name_entry, export_hash(node, name));
		/* N: the name before the number */
		smp_store_release(&node->publish_seq, node->publish_seq + 1);
	}
out_unlock:
	mutex_unlock(&node->lock);
	if (!ret && *name)
		wake_up_all(dmanic_export_waits(node, name));
	return ret;
}

/**
 * dmanic_export_waits() - where to wait until a name is published
 * @node: by this device
 * @name: which
 *
 * Who publishes one wakes who waits there. Nobody knows which other names are waited for at
 * the same place: of those who wait for very many he wakes an equal part, and not all.
 *
 * Return: woken after node->publish_seq changed, or the device went.
 */
wait_queue_head_t *dmanic_export_waits(struct dmanic_node *node, const char *name)
{
	return &node->published[export_hash(node, name) % DMANIC_PUBLISHED];
}

/**
 * dmanic_export_wake_all() - all who wait for names look again
 * @node: of this device
 */
void dmanic_export_wake_all(struct dmanic_node *node)
{
	u32 i;

	for (i = 0; i < DMANIC_PUBLISHED; i++)
		if (wq_has_sleeper(&node->published[i]))
			wake_up_all(&node->published[i]);
}

/**
 * dmanic_export_hide() - nobody finds it any more; accesses may be under way
 * @export: published; its id stays reserved
 */
void dmanic_export_hide(struct dmanic_export *export)
{
	struct dmanic_node *node = export->node;

	mutex_lock(&node->lock);
	hash_del_rcu(&export->name_entry);
	/* In an allocating xarray NULL keeps the slot reserved */
	xa_store(&node->exports, export->id, NULL, GFP_KERNEL);
	dmanic_forget();
	mutex_unlock(&node->lock);
}

/**
 * dmanic_export_free() - wait for who holds it active, end mappings and free it
 * @export: hidden; when it is a segment's, an RCU grace period has passed since,
 *	for short accesses do not hold it
 */
void dmanic_export_free(struct dmanic_export *export)
{
	if (!refcount_dec_and_test(&export->active))
		wait_for_completion(&export->idle);
	if (export->mapped)
		dmanic_map_zap(export);
	kfree_rcu(export, rcu);
}

/**
 * dmanic_export_revoke() - take a segment back
 * @export: published; its id stays reserved; freed
 *
 * Waits for accesses in flight, which links keep short.
 */
void dmanic_export_revoke(struct dmanic_export *export)
{
	dmanic_export_hide(export);
	synchronize_rcu_expedited();
	dmanic_export_free(export);
}

/**
 * dmanic_export_lookup() - find a published export by name
 * @node: where
 * @kind: segment or interrupt
 * @name: as published
 * @secret: as published
 * @found: out: it, as long as the caller's RCU section lasts
 *
 * From any context: links ask for others.
 *
 * Return: 0; -ENOENT no such name; -EACCES wrong secret; -EINVAL wrong kind.
 */
int dmanic_export_lookup(struct dmanic_node *node, enum dmanic_export_kind kind,
			 const char *name, const u64 *secret,
			 struct dmanic_export **found)
{
	struct dmanic_export *export;

	export = export_find(node, name);
	if (!export)
		return -ENOENT;
	if (crypto_memneq(export->secret, secret, sizeof(export->secret)))
		return -EACCES;
	if (export->kind != kind)
		return -EINVAL;
	*found = export;
	return 0;
}
