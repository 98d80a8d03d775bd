// SPDX-License-Identifier: GPL-2.0-only
/*
 * detector - commits one deliberate fault, to prove that it is noticed.
 *
 * Owns nothing that lasts: each fault is committed while the module loads
 * (fault=NAME) or, for those that need the caller's own task, when the
 * parameter "allocate", "pages" or "usercopy" is written. Never loaded outside
 * a test VM.
 */
#include <linux/completion.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "one of the faults below");

static int seconds = 12;
module_param(seconds, int, 0444);
MODULE_PARM_DESC(seconds, "how long stall and hung_task last");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

static int fault_warn(void)
{
	WARN(1, "detector: deliberate warning\n");
	return 0;
}

/* Hides the pointer from the compiler, which would notice the fault first. */
static int fault_kasan(void)
{
	int *freed = kmalloc(64, GFP_KERNEL);

	if (!freed)
		return -ENOMEM;
	kfree(freed);
	OPTIMIZER_HIDE_VAR(freed);
	(void)READ_ONCE(*freed);
	return 0;
}

/* By a function, not by an instruction of these; of how many bytes the compiler does not know */
static char *kasan_freed(size_t *bytes)
{
	char *freed = kmalloc(64, GFP_KERNEL);

	kfree(freed);
	OPTIMIZER_HIDE_VAR(freed);
	OPTIMIZER_HIDE_VAR(*bytes);
	return freed;
}

static int fault_kasan_copy(void)
{
	size_t bytes = 40;
	char kept[64], *freed = kasan_freed(&bytes);

	if (!freed)
		return -ENOMEM;
	memcpy(kept, freed, bytes);
	OPTIMIZER_HIDE_VAR(kept[0]);
	return 0;
}

static int fault_kasan_move(void)
{
	size_t bytes = 40;
	char kept[64], *freed = kasan_freed(&bytes);

	if (!freed)
		return -ENOMEM;
	memmove(kept, freed, bytes);
	OPTIMIZER_HIDE_VAR(kept[0]);
	return 0;
}

static int fault_kasan_set(void)
{
	size_t bytes = 40;
	char *freed = kasan_freed(&bytes);

	if (!freed)
		return -ENOMEM;
	memset(freed, 0, bytes);
	return 0;
}

/* Pages, as segments have them */
static int fault_kasan_page(void)
{
	char *freed = (char *)__get_free_pages(GFP_KERNEL, 2);
	size_t bytes = 40;

	if (!freed)
		return -ENOMEM;
	free_pages((unsigned long)freed, 2);
	OPTIMIZER_HIDE_VAR(freed);
	OPTIMIZER_HIDE_VAR(bytes);
	memmove(freed, freed + SZ_4K, bytes);
	return 0;
}

/* Farther than an int is wide */
static int fault_ubsan(void)
{
	unsigned int places = 40;
	int word = 1;

	OPTIMIZER_HIDE_VAR(places);
	word <<= places;
	OPTIMIZER_HIDE_VAR(word);
	return 0;
}

static int __rcu *shared;

/* Without rcu_read_lock() */
static int fault_rcu(void)
{
	int *used = rcu_dereference(shared);

	OPTIMIZER_HIDE_VAR(used);
	return 0;
}

static int fault_lockdep(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
	return 0;
}

static int fault_atomic_sleep(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
	return 0;
}

/* Several, for a stale pointer on some stack may hide one of them. */
static int fault_kmemleak(void)
{
	void *lost;
	int i;

	for (i = 0; i < 16; i++) {
		lost = kmalloc(200, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(lost);
	}
	return 0;
}

static struct rcu_head waiting;

static void grace_period_ended(struct rcu_head *head)
{
}

/* Keeps a CPU from the scheduler while RCU waits for it. */
static int fault_stall(void)
{
	unsigned long end = jiffies + seconds * HZ;

	preempt_disable();
	call_rcu(&waiting, grace_period_ended);
	while (time_before(jiffies, end))
		cpu_relax();
	preempt_enable();
	rcu_barrier();
	return 0;
}

/* Uninterruptible, and nobody completes it before time is up. */
static int fault_hung_task(void)
{
	DECLARE_COMPLETION_ONSTACK(never);

	wait_for_completion_timeout(&never, seconds * HZ);
	return 0;
}

static void expired(struct timer_list *timer)
{
}

/* Frees what a timer still needs. */
static int fault_odebug(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return -ENOMEM;
	timer_setup(timer, expired, 0);
	mod_timer(timer, jiffies + HZ / 2);
	/* The detector takes the timer off before the memory goes. */
	kfree(timer);
	return 0;
}

static int fault_list(void)
{
	struct list_head head, one, two;

	INIT_LIST_HEAD(&head);
	list_add(&one, &head);
	list_add(&two, &one);
	/* Overwritten by a stranger */
	one.next = &head;
	list_del(&two);
	return 0;
}

/* A reference to the network device "faulty" that nobody gives back */
static int fault_netdev(void)
{
	return dev_get_by_name(&init_net, "faulty") ? 0 : -ENODEV;
}

static const struct {
	const char *name;
	int (*commit)(void);
} faults[] = {
	{ "warn", fault_warn },
	{ "kasan", fault_kasan },
	{ "kasan_copy", fault_kasan_copy },
	{ "kasan_move", fault_kasan_move },
	{ "kasan_set", fault_kasan_set },
	{ "kasan_page", fault_kasan_page },
	{ "ubsan", fault_ubsan },
	{ "lockdep", fault_lockdep },
	{ "rcu", fault_rcu },
	{ "atomic_sleep", fault_atomic_sleep },
	{ "kmemleak", fault_kmemleak },
	{ "stall", fault_stall },
	{ "hung_task", fault_hung_task },
	{ "odebug", fault_odebug },
	{ "list", fault_list },
	{ "netdev", fault_netdev },
};

/* One allocation in the writer's task: /proc/self/fail-nth can choose it. */
static int allocate_set(const char *value, const struct kernel_param *param)
{
	void *memory = kmalloc(64, GFP_KERNEL);

	pr_info("detector: allocation %s\n", memory ? "done" : "failed");
	kfree(memory);
	return memory ? 0 : -ENOMEM;
}

/* A page, which is no slab's, likewise */
static int pages_set(const char *value, const struct kernel_param *param)
{
	unsigned long page = __get_free_page(GFP_KERNEL);

	pr_info("detector: page %s\n", page ? "done" : "failed");
	free_page(page);
	return page ? 0 : -ENOMEM;
}

/* One copy from the writer's own memory, likewise */
static int usercopy_set(const char *value, const struct kernel_param *param)
{
	const void __user *place = (void __user *)current->mm->start_stack;
	unsigned long left;
	char word[8];

	left = copy_from_user(word, place, sizeof(word));
	pr_info("detector: copy %s\n", left ? "failed" : "done");
	return left ? -EFAULT : 0;
}

static const struct kernel_param_ops usercopy_ops = {
	.set = usercopy_set,
};
module_param_cb(usercopy, &usercopy_ops, NULL, 0200);
MODULE_PARM_DESC(usercopy, "write to copy once from the writer");

static const struct kernel_param_ops pages_ops = {
	.set = pages_set,
};
module_param_cb(pages, &pages_ops, NULL, 0200);
MODULE_PARM_DESC(pages, "write to allocate and free a page once");

static const struct kernel_param_ops allocate_ops = {
	.set = allocate_set,
};
module_param_cb(allocate, &allocate_ops, NULL, 0200);
MODULE_PARM_DESC(allocate, "write to allocate and free once");

static int __init detector_init(void)
{
	int i;

	if (!*fault)
		return 0;
	for (i = 0; i < ARRAY_SIZE(faults); i++)
		if (!strcmp(faults[i].name, fault))
			return faults[i].commit();
	pr_err("detector: no fault '%s'\n", fault);
	return -EINVAL;
}

static void __exit detector_exit(void)
{
}

module_init(detector_init);
module_exit(detector_exit);
MODULE_DESCRIPTION("Deliberate faults that prove the detectors of a test run");
MODULE_LICENSE("GPL");
