/* SPDX-License-Identifier: BSD-3-Clause */
/* put.c - nic0 writes a line into nic1's memory and raises its interrupt */
#include <nic.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND	1000000000ULL

static void must(int ret)
{
	if (ret < 0) {
		fprintf(stderr, "%s\n", nic_error_detail(NULL));
		exit(1);
	}
}

int main(void)
{
	struct nic_ctx *here, *there;
	struct nic_segment *from, *to;
	struct nic_remote *inbox, *bell;
	struct nic_queue *queue;
	struct nic_event event;
	struct nic_irq *irq;

	must(nic_open("nic1", &there));	/* node 1; or in another process */
	must(nic_segment_alloc(there, 4096, &to));
	must(nic_segment_export(to, NIC_WRITE, "inbox", NULL, NULL));
	must(nic_irq_create(there, 1, 0, "bell", NULL, &irq));

	must(nic_open("nic0", &here));
	must(nic_segment_alloc(here, 4096, &from));
	must(nic_connect_name(here, 1, "inbox", NULL, SECOND, &inbox));
	must(nic_connect_irq_name(here, 1, "bell", NULL, SECOND, &bell));
	must(nic_queue_create(here, 0, &queue));
	snprintf(nic_segment_addr(from), 4096, "hello");
	must(nic_post_put_notify(queue, from, 0, inbox, 0, 64, bell, 42, 0, 1));
	must(nic_queue_drain(queue, SECOND));

	must(nic_irq_wait(irq, &event, SECOND));
	printf("%s, %llu from node %u\n", (char *)nic_segment_addr(to),
	       (unsigned long long)event.payload, event.node);
	return 0;	/* the kernel takes back whatever is open */
}
