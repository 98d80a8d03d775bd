// SPDX-License-Identifier: GPL-2.0-only
/*
 * injection.c - the n-th allocation or copy of this thread's next call fails
 */
#include "injection.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void put_setting(const char *file, const char *value)
{
	char path[96];
	FILE *stream;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", file);
	stream = fopen(path, "we");
	if (!stream)
		return;
	fputs(value, stream);
	fclose(stream);
}

/* All kinds of allocation, at any size, without a word in the kernel log */
int injection_open(void)
{
	int control = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);

	if (control < 0)
		SKIP("this kernel has no fault injection (fail-nth)");
	put_setting("failslab/ignore-gfp-wait", "N");
	put_setting("failslab/cache-filter", "N");
	put_setting("failslab/task-filter", "Y");
	put_setting("failslab/verbose", "0");
	put_setting("fail_page_alloc/ignore-gfp-wait", "N");
	put_setting("fail_page_alloc/ignore-gfp-highmem", "N");
	put_setting("fail_page_alloc/min-order", "0");
	put_setting("fail_page_alloc/task-filter", "Y");
	put_setting("fail_page_alloc/verbose", "0");
	put_setting("fail_usercopy/task-filter", "Y");
	put_setting("fail_usercopy/verbose", "0");
	return control;
}

void injection_arm(int control, unsigned int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", nth);

	ASSERT_EQ(pwrite(control, text, length, 0), length);
}

/*
 * Reading and writing the file copy from and to the user too, so they may be
 * what meets the fault: then it was not the call.
 */
bool injection_disarm(int control)
{
	char text[16] = "";
	bool injected = false;

	if (pread(control, text, sizeof(text) - 1, 0) > 0)
		injected = !atoi(text);
	while (pwrite(control, "0", 1, 0) != 1)
		;
	return injected;
}
