/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * injection.h - the n-th allocation or copy of this thread's next call fails,
 *	and what a call that failed must leave as it was
 *
 * By /proc/thread-self/fail-nth (Documentation/fault-injection in the kernel).
 */
#ifndef INJECTION_H
#define INJECTION_H

#include "dmanic_test.h"

#define FAULTS_MAX	3000	/* a call that meets more is not believed */

/* A descriptor for what follows; skips where the kernel cannot inject faults */
int injection_open(void);

/* From now on only faults in what the driver does, and those whom it calls */
void injection_of_driver(void);

/*
 * Nothing is allocated any more below the driver by the kernel's workers, and by threads that
 * it makes from now on; before this ends, with @fail false, one of these has to have begun if
 * it is meant. As root of the machine
 */
void injection_of_kernel_threads(bool fail);

/* For programs that use it, whose tests may fail or be killed: after each of them it ends */
const char *injection_after(pid_t child);

#define INJECTION_TEST_MAIN(begin, end)					\
	int main(int argc, char **argv)					\
	{								\
		static const struct harness_program program = {		\
			.start = begin,					\
			.after = injection_after,			\
			.stop = end,					\
		};							\
									\
		return harness_main(argc, argv, &program);		\
	}

/* No page is, by this thread: while injection_of_kernel_threads() is on */
void injection_of_pages(bool fail);

/* The @nth fault from now on, of this thread, and no other */
void injection_arm(int control, unsigned int nth);

/* No fault any more. Whether it was injected */
bool injection_disarm(int control);

/* A request of who only looks: at one device, or at all of them */
void request_look(struct request *request, __u8 command, const char *name);

/*
 * Sends a request at whose @nth fault something fails. 0 or -errno as told, 1 when nothing
 * was told; @injected: there was such a fault
 */
int request_send_armed(int control, unsigned int nth, struct request *request,
		       bool *injected);

/* The same of one that is refused, with @refusal if there is memory to look at it */
int request_refused_armed(int control, unsigned int nth, struct request *request, int refusal,
			  bool *injected);

/* The same, with what is answered; @callback as for request_send() */
int request_ask_armed(int control, unsigned int nth, struct request *request,
		      mnl_cb_t callback, void *data, bool *injected);

/*
 * The same of rtnetlink, about a network device: what is to be with its flags is put into
 * what is returned, attributes behind it. What it fails with is not judged.
 */
struct ifinfomsg *link_begin(struct request *request, __u16 type, const char *netdev);
int link_send_armed(int control, unsigned int nth, struct request *request, bool *injected);

/* A sweep came to its end, where a call met no fault any more: after so many */
void faults_told(unsigned int faults);

/* It says that there was no memory, or that a program's was not there */
void errno_expect(unsigned int nth, int ret);

/* What a call that failed must leave as it was */
struct counts {
	struct device device;
	unsigned int fds;
	__u32 handle;		/* connections have lower ones */
};

/* Of @node, which connects to @target for it */
void counts_read(const struct node *node, const struct segment *target,
		 struct counts *counts);

/* They are again as @before, the call having failed with @ret at its @nth fault */
void counts_expect(const struct node *node, const struct segment *target,
		   unsigned int nth, int ret, const struct counts *before);

#endif /* INJECTION_H */
