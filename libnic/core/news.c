// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * news.c - what the driver tells a context of nodes
 */
#include <unistd.h>
#include <linux/dmanic_netlink.h>
#include "internal.h"

_Static_assert(sizeof(struct nic_news) == sizeof(struct dmanic_news) &&
	       offsetof(struct nic_news, number) == offsetof(struct dmanic_news, number),
	       "read straight from the device");
#define SAME(name)	((int)NIC_NEWS_##name == (int)DMANIC_EVENT_##name)

_Static_assert(SAME(FAILED) && SAME(RESTARTED) && SAME(PEER_UP) && SAME(PEER_DOWN) &&
	       SAME(PEER_RESTARTED) && SAME(PEER_REFUSED) && SAME(PEER_RIVAL) &&
	       SAME(LINK_DOWN) && SAME(LINK_UP) && SAME(PEER_DEGRADED) &&
	       SAME(PEER_RESTORED), "the driver's numbers");

int nic_ctx_fd(const struct nic_ctx *ctx)
{
	return ctx->fd;
}

int nic_news_poll(struct nic_ctx *ctx, struct nic_news *news, unsigned int max)
{
	ssize_t got;

	if (!max)
		return 0;
	got = read(ctx->fd, news, max * sizeof(*news));
	if (got >= 0)
		return (int)((size_t)got / sizeof(*news));
	if (errno == EAGAIN)
		return 0;
	if (errno == EINVAL)
		return nic_fail(ctx, -EOPNOTSUPP, "the driver is older than the library; install a newer dmanic.ko",
				"ask %s for news", ctx->info.name);
	return nic_fail(ctx, -errno, NULL, "ask %s for news", ctx->info.name);
}

int nic_news_eventfd(struct nic_ctx *ctx, int eventfd)
{
	struct dmanic_news_eventfd arg = { .size = sizeof(arg), .eventfd = eventfd };
	int ret = nic_ioctl(ctx->fd, DMANIC_IOC_NEWS_EVENTFD, &arg);

	if (ret == -ENOTTY)
		return nic_fail(ctx, -EOPNOTSUPP, "the driver is older than the library; install a newer dmanic.ko",
				"have news of %s told to an eventfd", ctx->info.name);
	if (ret)
		return nic_fail(ctx, ret, ret == -EINVAL ? "it is no eventfd" : NULL,
				"have news of %s told to descriptor %d", ctx->info.name, eventfd);
	return 0;
}

const char *nic_news_name(unsigned int event)
{
	static const char * const names[] = {
		[NIC_NEWS_FAILED] = "this node stopped answering",
		[NIC_NEWS_RESTARTED] = "this node restarted",
		[NIC_NEWS_PEER_UP] = "node is reached",
		[NIC_NEWS_PEER_DOWN] = "node does not answer",
		[NIC_NEWS_PEER_RESTARTED] = "node was restarted",
		[NIC_NEWS_PEER_REFUSED] = "node refuses this one",
		[NIC_NEWS_PEER_RIVAL] = "two have this node id",
		[NIC_NEWS_LINK_DOWN] = "link is down",
		[NIC_NEWS_LINK_UP] = "link is up",
		[NIC_NEWS_PEER_DEGRADED] = "large frames do not reach node: smaller ones are sent",
		[NIC_NEWS_PEER_RESTORED] = "large frames reach node again",
	};

	if (event >= sizeof(names) / sizeof(*names) || !names[event])
		return "unknown news";
	return names[event];
}
