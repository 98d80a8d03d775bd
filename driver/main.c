// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - the module
 */
#include <linux/module.h>
#include <net/net_namespace.h>

#include "dmanic.h"
#include "link.h"

/* Both sides assert the layout they share; libnic has the same list */
static_assert(sizeof(struct dmanic_sqe) == 64);
static_assert(sizeof(struct dmanic_cqe) == 32);
static_assert(sizeof(struct dmanic_queue_ring) == 384);
static_assert(sizeof(struct dmanic_irq_event) == 16);
static_assert(sizeof(struct dmanic_irq_ring) == 192);
static_assert(sizeof(struct dmanic_refusal) == 24);
static_assert(sizeof(struct dmanic_query) == 152);
static_assert(sizeof(struct dmanic_segment_create) == 64);
static_assert(sizeof(struct dmanic_segment_id) == 16);
static_assert(sizeof(struct dmanic_segment_export) == 104);
static_assert(sizeof(struct dmanic_connect) == 160);
static_assert(sizeof(struct dmanic_disconnect) == 16);
static_assert(sizeof(struct dmanic_queue_create) == 72);
static_assert(sizeof(struct dmanic_irq_create) == 144);
static_assert(sizeof(struct dmanic_news_eventfd) == 16);
static_assert(sizeof(struct dmanic_enter) == 32);
static_assert(sizeof(struct dmanic_irq_wait) == 32);
static_assert(sizeof(struct dmanic_stop) == 8);
static_assert(sizeof(struct dmanic_list_entry) == 24);
static_assert(sizeof(struct dmanic_uring_enter) == 16);
static_assert(sizeof(struct dmanic_uring_irq_wait) == 16);

static void __net_exit dmanic_net_pre_exit(struct net *net)
{
	dmanic_node_remove_all(net);
}

static struct pernet_operations dmanic_net_ops = {
	.pre_exit = dmanic_net_pre_exit,
};

static int __init dmanic_init(void)
{
	int ret;

	ret = dmanic_mem_init();
	if (ret)
		return ret;
	ret = dmanic_cdev_init();
	if (ret)
		goto err_mem;
	ret = register_pernet_subsys(&dmanic_net_ops);
	if (ret)
		goto err_cdev;
	ret = dmanic_ether_init();
	if (ret)
		goto err_net;
	ret = dmanic_netlink_init();
	if (ret)
		goto err_ether;
	return 0;

err_ether:
	dmanic_ether_exit();
err_net:
	unregister_pernet_subsys(&dmanic_net_ops);
err_cdev:
	dmanic_cdev_exit();
err_mem:
	dmanic_mem_exit();
	return ret;
}

static void __exit dmanic_exit(void)
{
	/* Listeners are told of it, so the family goes afterwards */
	dmanic_node_remove_all(NULL);
	dmanic_netlink_exit();
	dmanic_ether_exit();
	unregister_pernet_subsys(&dmanic_net_ops);
	dmanic_cdev_exit();
	dmanic_mem_exit();
}

module_init(dmanic_init);
module_exit(dmanic_exit);

MODULE_DESCRIPTION("DMA NICs made of software, on one machine and over Ethernet");
MODULE_AUTHOR("The dmanic authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
