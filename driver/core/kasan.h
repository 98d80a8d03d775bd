/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kasan.h - copies that KASAN sees
 *
 * Kbuild puts it before every file where the kernel has KASAN. Since 6.3 that of x86 checks
 * what is copied and set only where the compiler calls functions of its own for it, as gcc
 * does from 13 on. With an older one memcpy() may read what was freed, and nobody notices:
 * so it calls them here by other names.
 */
#ifndef DMANIC_KASAN_H
#define DMANIC_KASAN_H

#include <linux/types.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0) && \
	!defined(CONFIG_CC_HAS_KASAN_MEMINTRINSIC_PREFIX)
void *memcpy(void *to, const void *from, size_t bytes) asm("__asan_memcpy");
void *memmove(void *to, const void *from, size_t bytes) asm("__asan_memmove");
void *memset(void *to, int byte, size_t bytes) asm("__asan_memset");
#endif

#endif
