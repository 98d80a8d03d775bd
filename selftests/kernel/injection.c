// SPDX-License-Identifier: GPL-2.0-only
/*
 * injection.c - the n-th allocation or copy of this thread's next call fails,
 *	and what a call that failed must leave as it was
 */
#include "injection.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
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

static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

/* Of calls with a return address between these two; those of faults by fail-nth, too */
static void put_range(unsigned long start, unsigned long end)
{
	char file[48], value[24];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(file, sizeof(file), "%s/require-start", kinds[i]);
		snprintf(value, sizeof(value), "%#lx", start);
		put_setting(file, value);
		snprintf(file, sizeof(file), "%s/require-end", kinds[i]);
		snprintf(value, sizeof(value), "%#lx", end);
		put_setting(file, value);
	}
}

/* Of all that is allocated by who is to fail, or of nothing */
static void put_chance(bool fail)
{
	put_setting("failslab/times", fail ? "-1" : "1");
	put_setting("failslab/probability", fail ? "100" : "0");
	put_setting("fail_page_alloc/times", fail ? "-1" : "1");
	put_setting("fail_page_alloc/probability", fail ? "100" : "0");
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
	put_chance(false);
	put_range(0, ULONG_MAX);
	return control;
}

void injection_of_driver(void)
{
	unsigned long size, start = 0;
	char line[512], name[64];
	FILE *modules;

	if (access("/sys/kernel/debug/failslab/require-start", W_OK) < 0)
		FAIL("this kernel cannot choose faults by who calls (debug.config does)");
	modules = fopen("/proc/modules", "re");
	ASSERT_TRUE(modules);
	while (!start && fgets(line, sizeof(line), modules))
		if (sscanf(line, "%63s %lu %*s %*s %*s %lx", name, &size, &start) != 3 ||
		    strcmp(name, "dmanic") != 0)
			start = 0;
	fclose(modules);
	ASSERT_NE(start, 0);
	put_range(start, start + size);
}

/* False: there is none of that number */
static bool make_fail(const char *pid, bool fail)
{
	char path[64];
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%.16s/make-it-fail", pid);
	stream = fopen(path, "we");
	if (!stream)
		return false;
	fprintf(stream, "%d", fail);
	return !fclose(stream);
}

static bool is_worker(const char *pid)
{
	char path[64], name[8] = "";
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	stream = fopen(path, "re");
	if (!stream)
		return false;
	if (!fgets(name, sizeof(name), stream))
		name[0] = 0;
	fclose(stream);
	return !strcmp(name, "kworker");
}

/*
 * A thread has it of who made it: of kthreadd, the second process of all. False: not all of
 * them are to be found.
 */
static bool kernel_threads_fail(bool fail)
{
	bool ret = make_fail("2", fail);
	struct dirent *entry;
	DIR *all;

	all = opendir("/proc");
	if (!all)
		return false;
	while ((entry = readdir(all)))
		if (is_worker(entry->d_name))
			make_fail(entry->d_name, fail);
	closedir(all);
	return ret;
}

void injection_of_kernel_threads(bool fail)
{
	if (fail)
		injection_of_driver();
	put_chance(fail);
	ASSERT_TRUE(kernel_threads_fail(fail));
	if (!fail)
		put_range(0, ULONG_MAX);
}

const char *injection_after(pid_t child)
{
	put_chance(false);
	put_range(0, ULONG_MAX);
	if (!access("/proc/self/make-it-fail", F_OK) && !kernel_threads_fail(false))
		return "allocations of the kernel's threads fail";
	return fabric_after(child);
}

void injection_of_pages(bool fail)
{
	put_setting("failslab/probability", fail ? "0" : "100");
	ASSERT_TRUE(make_fail("thread-self", fail));
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

void counts_read(const struct node *node, const struct segment *target,
		 struct counts *counts)
{
	ASSERT_EQ(device_get(node->name, &counts->device), 0);
	counts->fds = count_fds();
	counts->handle = handle_next(node, target);
}

static bool same(const struct node *node, const struct device *before)
{
	struct device after;

	return !device_get(node->name, &after) &&
	       after.contexts == before->contexts &&
	       after.segments == before->segments &&
	       after.queues == before->queues && after.irqs == before->irqs &&
	       after.pinned == before->pinned;
}

void faults_told(unsigned int faults)
{
	/* Loops count the call without a fault, too, some of them twice */
	EXPECT_LT(faults, FAULTS_MAX - 2);
	harness_note("%u faults", faults);
}

void errno_expect(unsigned int nth, int ret)
{
	if (ret != -ENOMEM && ret != -EFAULT && ret != -ENFILE && ret != -ENOBUFS)
		harness_fail(__FILE__, __LINE__, "fault %u: %s", nth, strerror(-ret));
}

void counts_expect(const struct node *node, const struct segment *target,
		   unsigned int nth, int ret, const struct counts *before)
{
	__u32 handle;

	errno_expect(nth, ret);
	if (!WAIT_FOR(same(node, &before->device)))
		harness_fail(__FILE__, __LINE__,
			     "fault %u (%s): the counts changed", nth,
			     strerror(-ret));
	if (count_fds() != before->fds)
		harness_fail(__FILE__, __LINE__,
			     "fault %u (%s): a descriptor was left", nth,
			     strerror(-ret));
	handle = handle_next(node, target);
	if (handles_left(node, before->handle, handle))
		harness_fail(__FILE__, __LINE__,
			     "fault %u (%s): a connection was left", nth,
			     strerror(-ret));
}

/* What is told of a list in the end; mnl_cb_run() does not look at it */
static int told_last(const void *buffer, ssize_t length)
{
	const struct nlmsghdr *header = buffer;
	int last = (int)length, ret = 0;

	for (; mnl_nlmsg_ok(header, last); header = mnl_nlmsg_next(header, &last)) {
		if (header->nlmsg_type == NLMSG_DONE &&
		    mnl_nlmsg_get_payload_len(header) >= sizeof(ret))
			memcpy(&ret, mnl_nlmsg_get_payload(header), sizeof(ret));
	}
	return ret;
}

/* 0 or -errno as told, 1 when the answer was lost, which is told, too */
static int send_armed(int control, unsigned int nth, int bus, const struct nlmsghdr *header,
		      mnl_cb_t callback, void *data, bool *injected)
{
	struct mnl_socket *socket = mnl_socket_open2(bus, SOCK_CLOEXEC | SOCK_NONBLOCK);
	char buffer[8192] __attribute__((aligned(8)));
	ssize_t length;
	int ret;

	ASSERT_TRUE(socket);
	ASSERT_EQ(mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID), 0);
	injection_arm(control, nth);
	ret = mnl_socket_sendto(socket, header, header->nlmsg_len) < 0 ? -errno : 1;
	*injected = injection_disarm(control);
	while (ret == 1) {
		length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		if (length <= 0) {
			EXPECT_EQ(errno, ENOBUFS);
			break;
		}
		ret = mnl_cb_run(buffer, length, 0, mnl_socket_get_portid(socket), callback,
				 data);
		if (ret < 0)
			ret = -errno;
		else if (!ret)
			ret = told_last(buffer, length);
	}
	mnl_socket_close(socket);
	return ret;
}

void request_look(struct request *request, __u8 command, const char *name)
{
	request_begin(request, command, name ? 0 : NLM_F_DUMP);
	if (name)
		mnl_attr_put_strz(request->header, DMANIC_A_NAME, name);
}

int request_refused_armed(int control, unsigned int nth, struct request *request, int refusal,
			  bool *injected)
{
	int ret = send_armed(control, nth, NETLINK_GENERIC, request->header, NULL, NULL,
			     injected);

	if (ret < 0 && ret != refusal)
		errno_expect(nth, ret);
	return ret;
}

int request_ask_armed(int control, unsigned int nth, struct request *request,
		      mnl_cb_t callback, void *data, bool *injected)
{
	int ret = send_armed(control, nth, NETLINK_GENERIC, request->header, callback, data,
			     injected);

	if (*injected && ret < 0)
		errno_expect(nth, ret);
	return ret;
}

int request_send_armed(int control, unsigned int nth, struct request *request,
		       bool *injected)
{
	return request_ask_armed(control, nth, request, NULL, NULL, injected);
}

struct ifinfomsg *link_begin(struct request *request, __u16 type, const char *netdev)
{
	struct ifinfomsg *info;

	request->header = mnl_nlmsg_put_header(request->buffer);
	request->header->nlmsg_type = type;
	request->header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	info = mnl_nlmsg_put_extra_header(request->header, sizeof(*info));
	info->ifi_index = (int)if_nametoindex(netdev);
	return info;
}

int link_send_armed(int control, unsigned int nth, struct request *request, bool *injected)
{
	return send_armed(control, nth, NETLINK_ROUTE, request->header, NULL, NULL, injected);
}
