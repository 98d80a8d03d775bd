// SPDX-License-Identifier: GPL-2.0-only
/*
 * detector - commits one deliberate fault, to prove that it is noticed.
 *
 * Owns nothing that lasts: each fault is committed while the module loads
 * (fault=NAME) or, for the one that needs the caller's own task, when the
 * parameter "allocate" is written. Never loaded outside a test VM.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "warn, kasan, lockdep, atomic_sleep or kmemleak");

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

static const struct {
	const char *name;
	int (*commit)(void);
} faults[] = {
	{ "warn", fault_warn },
	{ "kasan", fault_kasan },
	{ "lockdep", fault_lockdep },
	{ "atomic_sleep", fault_atomic_sleep },
	{ "kmemleak", fault_kmemleak },
};

/* One allocation in the writer's task: /proc/self/fail-nth can choose it. */
static int allocate_set(const char *value, const struct kernel_param *param)
{
	void *memory = kmalloc(64, GFP_KERNEL);

	pr_info("detector: allocation %s\n", memory ? "done" : "failed");
	kfree(memory);
	return memory ? 0 : -ENOMEM;
}

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
