/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.h - every difference between the kernels we build on
 *
 * Debian 6.1 and 6.12. No other file but kasan.h asks for a kernel version.
 */
#ifndef DMANIC_COMPAT_H
#define DMANIC_COMPAT_H

#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/netdevice.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

#ifndef MAX_PAGE_ORDER
#define MAX_PAGE_ORDER	(MAX_ORDER - 1)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define DMANIC_DEVNODE_CONST
#else
#define DMANIC_DEVNODE_CONST	const
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define dmanic_eventfd_signal(ctx)	eventfd_signal(ctx, 1)
#else
#define dmanic_eventfd_signal(ctx)	eventfd_signal(ctx)
#endif

/* ---- network devices ---- */

/* What cuts large frames; before it is in netdevice.h */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

/* The longest frame for later cutting; since 6.3 what is not IPv6 has its own */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline u32 dmanic_gso_max_size(const struct net_device *dev)
{
	return READ_ONCE(dev->gso_max_size);
}
#else
static inline u32 dmanic_gso_max_size(const struct net_device *dev)
{
	return min(READ_ONCE(dev->gso_max_size), READ_ONCE(dev->gso_ipv4_max_size));
}
#endif

/* Since 6.12 a frame may be in memory of a device, where the CPU does not reach */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

/* ---- io_uring commands ---- */

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#include <linux/io_uring.h>

#define io_uring_cmd_to_pdu(cmd, type) ({				\
	BUILD_BUG_ON(sizeof(type) > sizeof((cmd)->pdu));		\
	(type *)&(cmd)->pdu;						\
})

static inline const void *dmanic_uring_arg(const struct io_uring_cmd *cmd)
{
	return cmd->cmd;
}
#else
#include <linux/io_uring/cmd.h>

static inline const void *dmanic_uring_arg(const struct io_uring_cmd *cmd)
{
	return io_uring_sqe_cmd(cmd->sqe);
}
#endif

/*
 * May a command return what it did? On 6.1 a result above zero counts as a
 * failure when it is returned: it cuts a chain, and comes back from a worker
 * of io_uring as no completion at all.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define DMANIC_URING_RETURNS		0
#define dmanic_uring_complete_lazy	io_uring_cmd_complete_in_task
#else
#define DMANIC_URING_RETURNS		1
#define dmanic_uring_complete_lazy	io_uring_cmd_do_in_task_lazy
#endif

/*
 * A dying ring cancels its commands: else it waits for them for ever. Built with
 * DMANIC_NO_CANCEL, the driver is on each kernel as it is on those that cannot.
 */
#if defined(IORING_URING_CMD_CANCELABLE) && !defined(DMANIC_NO_CANCEL)
#define DMANIC_URING_CANCEL		1
#define DMANIC_URING_F_CANCEL		IO_URING_F_CANCEL
#define dmanic_uring_mark_cancelable	io_uring_cmd_mark_cancelable
#else
#define DMANIC_URING_CANCEL		0
#define DMANIC_URING_F_CANCEL		0
static inline void dmanic_uring_mark_cancelable(struct io_uring_cmd *cmd,
						unsigned int issue_flags)
{
}
#endif

#endif /* DMANIC_COMPAT_H */
