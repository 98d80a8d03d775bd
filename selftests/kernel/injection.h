/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * injection.h - the n-th allocation or copy of this thread's next call fails
 *
 * By /proc/thread-self/fail-nth (Documentation/fault-injection in the kernel).
 */
#ifndef INJECTION_H
#define INJECTION_H

#include "harness.h"

#include <stdbool.h>

#define FAULTS_MAX	3000	/* a call that meets more is not believed */

/* A descriptor for what follows; skips where the kernel cannot inject faults */
int injection_open(void);

/* The @nth fault from now on, of this thread, and no other */
void injection_arm(int control, unsigned int nth);

/* No fault any more. Whether it was injected */
bool injection_disarm(int control);

#endif /* INJECTION_H */
