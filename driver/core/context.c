// SPDX-License-Identifier: GPL-2.0-only
/*
 * context.c - an open device
 *
 * Queues and interrupts hold the context's file, so they are gone when
 * dmanic_ctx_destroy() runs; what is left are segments and connections.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "dmanic.h"
#include "link.h"

/**
 * dmanic_ctx_create() - a context for a file being opened
 * @node: the device
 * @file: the file
 *
 * Return: the context, or ERR_PTR: -ENODEV, -EDQUOT, -ENOMEM.
 */
struct dmanic_ctx *dmanic_ctx_create(struct dmanic_node *node, struct file *file)
{
	struct dmanic_ctx *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx->node = node;
	ctx->file = file;
	mutex_init(&ctx->lock);
	xa_init_flags(&ctx->segments, 0);
	xa_init_flags(&ctx->remotes, XA_FLAGS_ALLOC1);
	dmanic_news_init(ctx);

	ctx->account = dmanic_account_get(node, current_user());
	if (IS_ERR(ctx->account)) {
		ret = PTR_ERR(ctx->account);
		goto err_free;
	}
	mutex_lock(&node->lock);
	ret = -ENODEV;
	if (node->dead)
		goto err_account;
	ret = dmanic_account_take(ctx, DMANIC_KIND_CONTEXT, NULL);
	if (ret)
		goto err_account;
	list_add_tail(&ctx->entry, &node->contexts);
	mutex_unlock(&node->lock);
	return ctx;

err_account:
	dmanic_account_put(node, ctx->account);
	mutex_unlock(&node->lock);
err_free:
	kfree(ctx);
	return ERR_PTR(ret);
}

/**
 * dmanic_ctx_destroy() - the file is closed
 * @ctx: the context
 */
void dmanic_ctx_destroy(struct dmanic_ctx *ctx)
{
	struct dmanic_node *node = ctx->node;

	dmanic_segment_destroy_all(ctx);
	dmanic_remote_destroy_all(ctx);

	mutex_lock(&node->lock);
	list_del(&ctx->entry);
	dmanic_account_give(ctx, DMANIC_KIND_CONTEXT);
	dmanic_account_put(node, ctx->account);
	mutex_unlock(&node->lock);
	dmanic_news_free(ctx);
	kfree(ctx);
}

/**
 * dmanic_ctx_query() - DMANIC_IOC_QUERY
 * @ctx: the context
 * @query: in and out
 *
 * Return: 0; -EOPNOTSUPP.
 */
int dmanic_ctx_query(struct dmanic_ctx *ctx, struct dmanic_query *query)
{
	struct dmanic_node *node = ctx->node;
	u32 size = query->size;

	if (query->flags)
		return -EOPNOTSUPP;
	*query = (struct dmanic_query) {
		.size = size,
		.abi = DMANIC_ABI_VERSION,
		.node = node->id,
		.nodes = node->link->nr_nodes(node),
		.sqe_size = sizeof(struct dmanic_sqe),
		.cqe_size = sizeof(struct dmanic_cqe),
		.max_poll_threads = DMANIC_MAX_POLL_THREADS,
		.features = node->link->features | DMANIC_URING_FEATURES |
			    DMANIC_FEATURE_POLL_THREAD,
		.incarnation = READ_ONCE(node->incarnation),
		.max_segment_bytes = DMANIC_MAX_SEGMENT_BYTES,
		.max_segments = DMANIC_MAX_SEGMENTS,
		.max_queues = DMANIC_MAX_QUEUES,
		.max_queue_entries = DMANIC_MAX_QUEUE_ENTRIES,
		.max_irqs = DMANIC_MAX_IRQS,
		.max_irq_depth = DMANIC_MAX_IRQ_DEPTH,
		.max_connections = DMANIC_MAX_CONNECTIONS,
		.max_contexts = DMANIC_MAX_CONTEXTS,
		.user_share = DMANIC_USER_SHARE,
	};
	strscpy(query->name, node->name, sizeof(query->name));
	strscpy(query->link, node->link->type, sizeof(query->link));
	return 0;
}
