/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uring-chain.c - disk, DMA and an interrupt in one chain of one io_uring
 *
 *	cc uring-chain.c -lnic -luring && ./a.out FROM TO
 *
 * The first 64 KiB of FROM are read into nic0's memory, put into nic1's, whose
 * interrupt is raised and waited for, and written to TO: one system call, five
 * steps, each of which begins when the one before it succeeded.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <nic_uring.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES	65536
#define SECOND	1000000000ULL

enum { READ, PUT, RAISE, WAIT, WRITE, STEPS };

static const char *const names[] = { "read", "put", "raise", "wait", "write" };

static void must(int ret)
{
	if (ret < 0) {
		fprintf(stderr, "%s\n", nic_error_detail(NULL));
		exit(1);
	}
}

static void must_have(int ret, const char *what)
{
	if (ret < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(ret == -1 ? errno : -ret));
		exit(1);
	}
}

/* The last step of a chain has no IOSQE_IO_LINK */
static void link_step(struct io_uring_sqe *sqe, unsigned int step)
{
	sqe->user_data = step;
	sqe->flags |= step < STEPS - 1 ? IOSQE_IO_LINK : 0;
}

int main(int argc, char **argv)
{
	struct nic_remote *inbox, *bell;
	struct nic_ctx *here, *there;
	struct nic_segment *from, *to;
	struct nic_queue *queue;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int in, out, i, failed = 0;
	struct nic_irq *irq;

	if (argc != 3)
		return fprintf(stderr, "usage: %s FROM TO\n", argv[0]), 2;
	in = open(argv[1], O_RDONLY | O_CLOEXEC);
	must_have(in, argv[1]);
	out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must_have(out, argv[2]);

	must(nic_open("nic1", &there));	/* in another process as a rule */
	must(nic_segment_alloc(there, BYTES, &to));
	must(nic_segment_export(to, NIC_WRITE, "chain", NULL, NULL));
	must(nic_irq_create(there, 1, 0, "chain-bell", NULL, &irq));
	must(nic_open("nic0", &here));
	must(nic_segment_alloc(here, BYTES, &from));
	must(nic_connect_name(here, 1, "chain", NULL, SECOND, &inbox));
	must(nic_connect_irq_name(here, 1, "chain-bell", NULL, SECOND, &bell));
	must(nic_queue_create(here, 0, &queue));
	if (!(nic_uring_features(here) & NIC_URING_POST))
		return fprintf(stderr, "this kernel has no io_uring\n"), 1;
	must_have(io_uring_queue_init(8, &ring, IORING_SETUP_SQE128), "io_uring");

	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_read(sqe, in, nic_segment_addr(from), BYTES, 0);
	link_step(sqe, READ);
	sqe = io_uring_get_sqe(&ring);
	must(nic_uring_prep_put(sqe, queue, from, 0, inbox, 0, BYTES, 0));
	link_step(sqe, PUT);
	sqe = io_uring_get_sqe(&ring);
	must(nic_uring_prep_notify(sqe, queue, bell, 42, 0));
	link_step(sqe, RAISE);
	sqe = io_uring_get_sqe(&ring);
	if (nic_uring_features(there) & NIC_URING_WAIT)
		nic_uring_prep_irq_wait(sqe, irq, nic_irq_count(irq) + 1, SECOND);
	else
		io_uring_prep_poll_add(sqe, nic_irq_fd(irq), POLLIN);
	link_step(sqe, WAIT);
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_write(sqe, out, nic_segment_addr(to), BYTES, 0);
	link_step(sqe, WRITE);

	must_have(io_uring_submit(&ring), "io_uring");
	for (i = 0; i < STEPS; i++) {
		must_have(io_uring_wait_cqe(&ring, &cqe), "io_uring");
		printf("%-5s %d\n", names[cqe->user_data], cqe->res);
		failed |= cqe->res < 0;
		if (cqe->user_data == READ && cqe->res >= 0 && cqe->res < BYTES)
			fprintf(stderr, "%s has less than 64 KiB, which ends the chain\n",
				argv[1]);
		io_uring_cqe_seen(&ring, cqe);
	}
	return failed;	/* the kernel takes back whatever is open */
}
