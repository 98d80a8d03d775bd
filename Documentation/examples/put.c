/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <nic.h>
#include <stdio.h>
#define MUST(call) \
	((call) < 0 ? errx(1, "%s", nic_error_detail(NULL)) : (void)0)

int main(void)	/* nic0 writes into nic1's memory and raises its interrupt */
{
	struct nic_ctx *here, *there;
	struct nic_segment *from, *to;
	struct nic_remote *inbox, *bell;
	struct nic_queue *queue;
	struct nic_irq *irq;

	MUST(nic_open("nic1", &there));	/* node 1; or in another process */
	MUST(nic_segment_alloc(there, 4096, &to));
	MUST(nic_segment_export(to, NIC_WRITE, "inbox", NULL, NULL));
	MUST(nic_irq_create(there, 1, 0, "bell", NULL, &irq));
	MUST(nic_open("nic0", &here));
	MUST(nic_segment_alloc(here, 4096, &from));
	MUST(nic_connect_name(here, 1, "inbox", NULL, 0, &inbox));
	MUST(nic_connect_irq_name(here, 1, "bell", NULL, 0, &bell));
	MUST(nic_queue_create(here, 0, &queue));
	snprintf(nic_segment_addr(from), 4096, "hello from nic0");
	MUST(nic_post_put_notify(queue, from, 0, inbox, 0, 64, bell, 0, 0, 0));
	MUST(nic_queue_drain(queue, NIC_TIMEOUT_NEVER));
	MUST(nic_irq_wait(irq, NULL, NIC_TIMEOUT_NEVER));
	puts(nic_segment_addr(to));	/* the kernel takes back what is open */
}
