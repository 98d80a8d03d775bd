// SPDX-License-Identifier: GPL-2.0-only
/*
 * account.c - how many objects there are, of a device and of each of its users
 *
 * Whoever opens a device is a user of it and has an account as long as one of
 * the contexts is open. What contexts have counts twice: for the device, whose
 * limits keep the driver's tables small, and for the account, whose limits are
 * a share of those, so that no user alone shuts all others out.
 *
 * Charged is who opened the device, as for memory, whoever calls. But it is
 * the caller whom CAP_SYS_RESOURCE lets go past the share.
 *
 * The counts are atomic; node->lock is for the list and the references.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "dmanic.h"
#include "link.h"

/**
 * struct account_limit - of one kind of object
 * @max: on a device
 * @device: DMANIC_LIMIT_* of the refusal when the device has @max
 * @user: the same when the user has his share of @max
 */
struct account_limit {
	u32 max;
	u32 device;
	u32 user;
};

static const struct account_limit account_limits[] = {
	[DMANIC_KIND_CONTEXT] = { DMANIC_MAX_CONTEXTS, DMANIC_LIMIT_CONTEXTS,
				  DMANIC_LIMIT_USER_CONTEXTS },
	[DMANIC_KIND_SEGMENT] = { DMANIC_MAX_SEGMENTS, DMANIC_LIMIT_SEGMENTS,
				  DMANIC_LIMIT_USER_SEGMENTS },
	[DMANIC_KIND_QUEUE] = { DMANIC_MAX_QUEUES, DMANIC_LIMIT_QUEUES,
				DMANIC_LIMIT_USER_QUEUES },
	[DMANIC_KIND_IRQ] = { DMANIC_MAX_IRQS, DMANIC_LIMIT_IRQS,
			      DMANIC_LIMIT_USER_IRQS },
	[DMANIC_KIND_POLL_THREAD] = { DMANIC_MAX_POLL_THREADS,
				      DMANIC_LIMIT_POLL_THREADS,
				      DMANIC_LIMIT_USER_POLL_THREADS },
	[DMANIC_KIND_CONNECTION] = { DMANIC_MAX_CONNECTIONS * DMANIC_USER_SHARE,
				     DMANIC_LIMIT_DEVICE_CONNECTIONS,
				     DMANIC_LIMIT_USER_CONNECTIONS },
};

static_assert(ARRAY_SIZE(account_limits) == DMANIC_KINDS);

/* The privileged may have gone past @max already, so not just another number */
static bool limit_inc_below(atomic_t *count, u32 max)
{
	int old = atomic_read(count);

	do {
		if ((u32)old >= max)
			return false;
	} while (!atomic_try_cmpxchg(count, &old, old + 1));
	return true;
}

/**
 * dmanic_limit_refuse() - tell that there may not be one more
 * @count: how many there are
 * @max: how many there may be
 * @limit: DMANIC_LIMIT_* for the refusal
 * @refusal: filled; may be NULL
 *
 * Return: -EDQUOT.
 */
int dmanic_limit_refuse(u32 count, u32 max, u32 limit, struct dmanic_refusal *refusal)
{
	if (refusal) {
		refusal->limit = limit;
		/* Somebody may have given one back since */
		refusal->asked = max_t(u64, count, max) + 1;
		refusal->allowed = max;
	}
	return -EDQUOT;
}

/**
 * dmanic_limit_take() - count one more of something that is limited
 * @count: how many there are
 * @max: how many there may be
 * @limit: DMANIC_LIMIT_* for the refusal
 * @refusal: filled on failure; may be NULL
 *
 * Return: 0, then atomic_dec(@count) gives it back; -EDQUOT.
 */
int dmanic_limit_take(atomic_t *count, u32 max, u32 limit,
		      struct dmanic_refusal *refusal)
{
	if (limit_inc_below(count, max))
		return 0;
	return dmanic_limit_refuse(atomic_read(count), max, limit, refusal);
}

static void account_free(struct dmanic_account *account)
{
	kvfree(account->link);
	free_uid(account->user);
	kfree(account);
}

static struct dmanic_account *account_new(const struct dmanic_link_ops *link,
					  struct user_struct *user)
{
	struct dmanic_account *account;

	account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	if (!account)
		return NULL;
	refcount_set(&account->ref, 1);
	account->user = get_uid(user);
	if (link->account_bytes) {
		account->link = kvzalloc(link->account_bytes, GFP_KERNEL_ACCOUNT);
		if (!account->link) {
			account_free(account);
			return NULL;
		}
	}
	return account;
}

/* With a reference; NULL: the user has none */
static struct dmanic_account *account_find(struct dmanic_node *node,
					   const struct user_struct *user)
{
	struct dmanic_account *account;

	lockdep_assert_held(&node->lock);
	list_for_each_entry(account, &node->accounts, entry) {
		if (account->user == user) {
			refcount_inc(&account->ref);
			return account;
		}
	}
	return NULL;
}

/**
 * dmanic_account_get() - the account of a user, for a new context
 * @node: the device; takes node->lock, but not while there is memory to be found: that is the
 *	user's, who may make it wait for as long as he likes
 * @user: who opens it
 *
 * Return: the account, for dmanic_account_put(), or ERR_PTR: -ENOMEM.
 */
struct dmanic_account *dmanic_account_get(struct dmanic_node *node,
					  struct user_struct *user)
{
	struct dmanic_account *account, *new;

	mutex_lock(&node->lock);
	account = account_find(node, user);
	mutex_unlock(&node->lock);
	if (account)
		return account;

	new = account_new(node->link, user);
	if (!new)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&node->lock);
	account = account_find(node, user);
	if (!account)
		list_add(&new->entry, &node->accounts);
	mutex_unlock(&node->lock);
	if (!account)
		return new;
	account_free(new);
	return account;
}

/**
 * dmanic_account_put() - a context of the user goes
 * @node: the device, node->lock held
 * @account: from dmanic_account_get()
 */
void dmanic_account_put(struct dmanic_node *node, struct dmanic_account *account)
{
	lockdep_assert_held(&node->lock);

	if (!refcount_dec_and_test(&account->ref))
		return;
	list_del(&account->entry);
	if (node->link->account_gone)
		node->link->account_gone(node, account);
	account_free(account);
}

/**
 * dmanic_account_take() - count one more object of the device and of the user
 * @ctx: whose it will be
 * @kind: of object
 * @refusal: filled on failure; may be NULL
 *
 * Return: 0, then dmanic_account_give() gives it back; -EDQUOT.
 */
int dmanic_account_take(struct dmanic_ctx *ctx, enum dmanic_kind kind,
			struct dmanic_refusal *refusal)
{
	const struct account_limit *limit = &account_limits[kind];
	u32 share = DIV_ROUND_UP(limit->max, DMANIC_USER_SHARE);
	atomic_t *mine = &ctx->account->nr[kind];
	int ret;

	if (!limit_inc_below(mine, share)) {
		/* Asked only now: it marks the caller as one who used it */
		if (!capable(CAP_SYS_RESOURCE))
			return dmanic_limit_refuse(atomic_read(mine), share, limit->user,
						   refusal);
		atomic_inc(mine);
	}
	ret = dmanic_limit_take(&ctx->node->nr[kind], limit->max, limit->device,
				refusal);
	if (ret)
		atomic_dec(mine);
	return ret;
}

/**
 * dmanic_account_give() - an object is gone
 * @ctx: whose it was
 * @kind: of object
 */
void dmanic_account_give(struct dmanic_ctx *ctx, enum dmanic_kind kind)
{
	atomic_dec(&ctx->account->nr[kind]);
	atomic_dec(&ctx->node->nr[kind]);
}
