// SPDX-License-Identifier: GPL-2.0-only
/*
 * cdev.c - /dev/dmanic/<node>: open, ioctl, mmap, read, poll
 *
 * One table of ioctls a kind of descriptor; dmanic_ioctl_run() copies the
 * argument in and out for all of them and is the only place that touches user
 * memory here.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "compat.h"
#include "dmanic.h"

#define CDEV_MINORS	65536
#define IOCTL_MAX_SIZE	256

static dev_t cdev_base;
static DEFINE_IDA(cdev_minors);

/**
 * dmanic_late_open() - make a file that is installed when the ioctl succeeds
 * @late: out
 * @name: of the anonymous inode
 * @fops: its operations
 * @object: its private data
 *
 * Return: 0; -EMFILE, -ENFILE, -ENOMEM.
 */
int dmanic_late_open(struct dmanic_late *late, const char *name,
		     const struct file_operations *fops, void *object)
{
	struct file *file;
	int fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = anon_inode_getfile(name, fops, object, O_RDWR);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	late->fd = fd;
	late->file = file;
	return 0;
}

static const struct dmanic_ioctl *ioctl_find(const struct dmanic_ioctl *table,
					     size_t entries, unsigned int cmd)
{
	size_t i;

	for (i = 0; i < entries; i++)
		if (table[i].ioctl == cmd)
			return &table[i];
	return NULL;
}

/**
 * dmanic_ioctl_run() - run one ioctl
 * @table: of this kind of descriptor
 * @entries: of @table
 * @object: first argument of the functions
 * @cmd: from the user
 * @uarg: from the user: address of a struct that begins with its size
 *
 * Return: 0 or -errno as in linux/dmanic.h.
 */
long dmanic_ioctl_run(const struct dmanic_ioctl *table, size_t entries, void *object,
		      unsigned int cmd, unsigned long uarg)
{
	void __user *user = (void __user *)uarg;
	const struct dmanic_ioctl *ioctl;
	struct dmanic_late late = {};
	u64 arg[IOCTL_MAX_SIZE / sizeof(u64)];
	u32 size;
	int ret;

	ioctl = ioctl_find(table, entries, cmd);
	if (!ioctl)
		return -ENOTTY;
	if (WARN_ON_ONCE(ioctl->size > sizeof(arg)))
		return -EINVAL;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size < ioctl->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(arg, ioctl->size, user, size);
	if (ret)
		return ret;

	ret = ioctl->fn(object, arg, &late);
	/* What is done for good must not fail for an answer that says nothing */
	if (ioctl->in_only)
		return ret;
	if (copy_to_user(user, arg, min_t(u32, size, ioctl->size))) {
		if (late.file) {
			put_unused_fd(late.fd);
			fput(late.file);
		} else if (!ret && ioctl->undo) {
			ioctl->undo(object, arg);
		}
		return -EFAULT;
	}
	if (late.file)
		fd_install(late.fd, late.file);
	return ret;
}

/* ---- ioctls of a context ---- */

static int ctx_query(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_ctx_query(object, arg);
}

static int ctx_segment_create(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_segment_create(object, arg);
}

static void ctx_segment_create_undo(void *object, void *arg)
{
	struct dmanic_segment_create *create = arg;
	struct dmanic_segment_id id = { .id = create->id };

	dmanic_segment_destroy(object, &id);
}

static int ctx_segment_destroy(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_segment_destroy(object, arg);
}

static int ctx_segment_export(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_segment_export(object, arg);
}

static void ctx_segment_export_undo(void *object, void *arg)
{
	dmanic_segment_export_undo(object, arg);
}

static int ctx_segment_revoke(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_segment_revoke(object, arg);
}

static int ctx_connect(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_remote_connect(object, arg);
}

static void ctx_connect_undo(void *object, void *arg)
{
	struct dmanic_connect *connect = arg;
	struct dmanic_disconnect disconnect = { .handle = connect->handle };

	dmanic_remote_disconnect(object, &disconnect);
}

static int ctx_disconnect(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_remote_disconnect(object, arg);
}

static int ctx_queue_create(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_queue_create(object, arg, late);
}

static int ctx_irq_create(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_irq_create(object, arg, late);
}

static int ctx_news_eventfd(void *object, void *arg, struct dmanic_late *late)
{
	return dmanic_news_eventfd(object, arg);
}

#define CTX_IOCTL(_ioctl, _struct, _fn, _undo) \
	{ _ioctl, sizeof(struct _struct), sizeof(struct _struct), _fn, _undo, false }
#define CTX_IOCTL_IN(_ioctl, _struct, _fn) \
	{ _ioctl, sizeof(struct _struct), sizeof(struct _struct), _fn, NULL, true }

static const struct dmanic_ioctl ctx_ioctls[] = {
	CTX_IOCTL_IN(DMANIC_IOC_NEWS_EVENTFD, dmanic_news_eventfd, ctx_news_eventfd),
	CTX_IOCTL(DMANIC_IOC_QUERY, dmanic_query, ctx_query, NULL),
	CTX_IOCTL(DMANIC_IOC_SEGMENT_CREATE, dmanic_segment_create,
		  ctx_segment_create, ctx_segment_create_undo),
	CTX_IOCTL_IN(DMANIC_IOC_SEGMENT_DESTROY, dmanic_segment_id,
		     ctx_segment_destroy),
	CTX_IOCTL(DMANIC_IOC_SEGMENT_EXPORT, dmanic_segment_export,
		  ctx_segment_export, ctx_segment_export_undo),
	CTX_IOCTL_IN(DMANIC_IOC_SEGMENT_REVOKE, dmanic_segment_id, ctx_segment_revoke),
	CTX_IOCTL(DMANIC_IOC_CONNECT, dmanic_connect, ctx_connect, ctx_connect_undo),
	CTX_IOCTL_IN(DMANIC_IOC_DISCONNECT, dmanic_disconnect, ctx_disconnect),
	CTX_IOCTL(DMANIC_IOC_QUEUE_CREATE, dmanic_queue_create,
		  ctx_queue_create, NULL),
	CTX_IOCTL(DMANIC_IOC_IRQ_CREATE, dmanic_irq_create, ctx_irq_create, NULL),
};

static long ctx_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dmanic_ctx *ctx = file->private_data;

	if (dmanic_node_dead(ctx->node))
		return -ENODEV;
	return dmanic_ioctl_run(ctx_ioctls, ARRAY_SIZE(ctx_ioctls), ctx, cmd, arg);
}

/* ---- the file ---- */

/* A device belongs to a network namespace; /dev is the same in all of them */
static bool cdev_may_open(const struct dmanic_node *node)
{
	return net_eq(node->net, current->nsproxy->net_ns) ||
	       capable(CAP_SYS_ADMIN);
}

static int cdev_open(struct inode *inode, struct file *file)
{
	struct dmanic_node *node = container_of(inode->i_cdev, struct dmanic_node,
						cdev);
	struct dmanic_ctx *ctx;

	if (!cdev_may_open(node))
		return -EACCES;
	ctx = dmanic_ctx_create(node, file);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	file->private_data = ctx;
	return nonseekable_open(inode, file);
}

static int cdev_release(struct inode *inode, struct file *file)
{
	dmanic_ctx_destroy(file->private_data);
	return 0;
}

static int cdev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dmanic_ctx *ctx = file->private_data;

	if (dmanic_node_dead(ctx->node))
		return -ENODEV;
	if (((u64)vma->vm_pgoff << PAGE_SHIFT) & DMANIC_MMAP_REMOTE)
		return dmanic_map_mmap(ctx, vma);
	return dmanic_segment_mmap(ctx, vma);
}

static ssize_t cdev_read(struct file *file, char __user *to, size_t bytes, loff_t *pos)
{
	return dmanic_news_read(file->private_data, to, bytes);
}

static __poll_t cdev_poll(struct file *file, poll_table *table)
{
	return dmanic_news_poll(file->private_data, file, table);
}

static const struct file_operations cdev_fops = {
	.owner = THIS_MODULE,
	.open = cdev_open,
	.release = cdev_release,
	.read = cdev_read,
	.poll = cdev_poll,
	.unlocked_ioctl = ctx_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = cdev_mmap,
};

/* ---- device nodes ---- */

static char *cdev_devnode(DMANIC_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return kasprintf(GFP_KERNEL, "dmanic/%s", dev_name(dev));
}

static struct class cdev_class = {
	.name = "dmanic",
	.devnode = cdev_devnode,
};

/**
 * dmanic_cdev_add() - make the device node
 * @node: initialised
 *
 * Return: 0 or -errno.
 */
int dmanic_cdev_add(struct dmanic_node *node)
{
	int minor, ret;

	minor = ida_alloc_max(&cdev_minors, CDEV_MINORS - 1, GFP_KERNEL);
	if (minor < 0)
		return minor;
	node->dev.class = &cdev_class;
	node->dev.devt = cdev_base + minor;
	cdev_init(&node->cdev, &cdev_fops);
	node->cdev.owner = THIS_MODULE;
	ret = cdev_device_add(&node->cdev, &node->dev);
	if (ret)
		ida_free(&cdev_minors, minor);
	return ret;
}

/**
 * dmanic_cdev_remove() - take the device node away; open files stay
 * @node: added
 */
void dmanic_cdev_remove(struct dmanic_node *node)
{
	cdev_device_del(&node->cdev, &node->dev);
	ida_free(&cdev_minors, node->dev.devt - cdev_base);
}

int dmanic_cdev_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&cdev_base, 0, CDEV_MINORS, "dmanic");
	if (ret)
		return ret;
	ret = class_register(&cdev_class);
	if (ret)
		unregister_chrdev_region(cdev_base, CDEV_MINORS);
	return ret;
}

void dmanic_cdev_exit(void)
{
	class_unregister(&cdev_class);
	unregister_chrdev_region(cdev_base, CDEV_MINORS);
}
