// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare_stream.c - TCP and UDP between the two namespaces: one way, as fast as goes
 *
 * Sender and receiver make system calls that sleep, as programs do that move much.
 * A run ends when the last byte is where it belongs: of TCP the receiver says so by
 * one byte, of UDP, which may lose some, it notes when the latest came.
 */
#include <errno.h>
#include <time.h>	/* before what refers to it */
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "compare_pipe.h"

#define PINNED_MOST	16	/* sends whose pages the kernel has, as puts in flight */
#define UDP_MOST	65507	/* payload of a datagram, also of one to be cut */
#define UDP_SEGMENTS	64	/* and into how many, on 6.1 */
#define UDP_IDLE_NS	20000000ULL	/* then what did not come is lost */

static char *slot(const struct pipe *pipe, char *base, uint64_t i)
{
	return base + i % pipe->slots * pipe->bytes;
}

/* ---- TCP ---- */

/* Take notes of the kernel that it is done with pages */
static void pinned_reap(struct pipe *pipe)
{
	char control[128];
	struct sock_extended_err error;
	struct msghdr message;
	struct cmsghdr *head;

	for (;;) {
		memset(&message, 0, sizeof(message));
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		if (recvmsg(pipe->fd[SIDE_NEAR], &message,
			    MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		for (head = CMSG_FIRSTHDR(&message); head;
		     head = CMSG_NXTHDR(&message, head)) {
			memcpy(&error, CMSG_DATA(head), sizeof(error));
			if (error.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
				continue;
			pipe->pinned -= error.ee_data - error.ee_info + 1;
			if (error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
				pipe->copied = true;
		}
	}
}

/* Until no more than @most are pinned */
static int pinned_wait(struct pipe *pipe, unsigned int most)
{
	uint64_t start = now_ns();

	for (;;) {
		pinned_reap(pipe);
		if (pipe->pinned <= most)
			return 0;
		if (now_ns() - start > END_TIMEOUT_NS)
			return -ETIME;
		sched_yield();
	}
}

static int zerocopy_send(struct pipe *pipe, const char *data)
{
	uint64_t done = 0;
	ssize_t sent;
	int ret = 0;

	while (done < pipe->bytes && !ret) {
		ret = pinned_wait(pipe, PINNED_MOST - 1);
		if (ret)
			break;
		sent = send(pipe->fd[SIDE_NEAR], data + done, pipe->bytes - done,
			    MSG_NOSIGNAL | MSG_ZEROCOPY);
		if (sent > 0) {
			done += (uint64_t)sent;
			pipe->pinned++;
		} else if (errno == ENOBUFS) {	/* for notes: read some */
			ret = pinned_wait(pipe, pipe->pinned ? pipe->pinned - 1 : 0);
		} else if (errno != EINTR) {
			ret = errno == EAGAIN ? -ETIME : -errno;
		}
	}
	return ret;
}

static int tcp_far(struct pipe *pipe)
{
	char *to = end_receive(&pipe->run->far);
	uint64_t i;
	int ret = 0;

	for (i = 0; i < pipe->count && !ret; i++)
		ret = pipe_receive(pipe, SIDE_FAR, slot(pipe, to, i));
	if (!ret && send(pipe->fd[SIDE_FAR], "", 1, MSG_NOSIGNAL) != 1)
		ret = -errno;
	return ret;
}

/* The receiver has all */
static int tcp_wait(struct pipe *pipe)
{
	ssize_t got;
	char done;

	do {
		got = recv(pipe->fd[SIDE_NEAR], &done, 1, 0);
	} while (got < 0 && errno == EINTR);
	if (got == 1)
		return 0;
	return got ? errno == EAGAIN ? -ETIME : -errno : -EPIPE;
}

static int tcp_near(struct pipe *pipe, uint64_t *ns)
{
	char *from = end_send(&pipe->run->near);
	uint64_t i, start = now_ns();
	int ret = 0;

	for (i = 0; i < pipe->count && !ret; i++) {
		if (pipe->carrier == CARRIER_ZEROCOPY)
			ret = zerocopy_send(pipe, slot(pipe, from, i));
		else
			ret = pipe_send(pipe, SIDE_NEAR, slot(pipe, from, i));
	}
	if (!ret)
		ret = tcp_wait(pipe);
	if (!ret)
		ret = pinned_wait(pipe, 0);
	*ns = now_ns() - start;
	return ret;
}

/* ---- UDP ---- */

/* Until all has come, or nothing comes any more */
static int udp_receive(struct pipe *pipe)
{
	char *to = end_receive(&pipe->run->far);
	uint64_t area = pipe->slots * pipe->bytes;
	uint64_t start = now_ns();
	ssize_t got;

	pipe->got = 0;
	while (pipe->got < pipe->count * pipe->bytes) {
		uint64_t at = pipe->got % area;

		/* what is joined is up to 64 KiB, and must not be cut off */
		if (at + 65536 > area)
			at = area - 65536;
		got = recv(pipe->fd[SIDE_FAR], to + at, 65536, 0);
		if (got > 0) {
			pipe->got += (uint64_t)got;
			pipe->last = now_ns();
		} else if (!got || (errno != EAGAIN && errno != EINTR)) {
			return got ? -errno : -EPIPE;
		} else if (atomic_load(&pipe->sent)) {
			break;
		} else if (now_ns() - start > END_TIMEOUT_NS) {
			return -ETIME;
		}
	}
	return pipe->got ? 0 : -ENODATA;
}

/* Others wait longer on the same socket */
static int udp_far(struct pipe *pipe)
{
	int again, ret = pipe_set_timeouts(pipe->fd[SIDE_FAR], UDP_IDLE_NS);

	if (!ret)
		ret = udp_receive(pipe);
	again = pipe_set_timeouts(pipe->fd[SIDE_FAR], END_TIMEOUT_NS);
	return ret ? ret : again;
}

static int udp_send_all(struct pipe *pipe, const char *data, uint64_t piece)
{
	uint64_t done = 0;

	while (done < pipe->bytes) {
		uint64_t left = pipe->bytes - done;
		ssize_t sent = send(pipe->fd[SIDE_NEAR], data + done,
				    left < piece ? left : piece, MSG_NOSIGNAL);

		if (sent > 0)
			done += (uint64_t)sent;
		else if (errno != EINTR && errno != ENOBUFS)
			return errno == EAGAIN ? -ETIME : -errno;
	}
	return 0;
}

/* As many packets of the wire's size as one call takes */
static uint64_t udp_piece(const struct pipe *pipe)
{
	uint64_t n = UDP_MOST / pipe->packet;

	return (n < UDP_SEGMENTS ? n : UDP_SEGMENTS) * pipe->packet;
}

static int udp_near(struct pipe *pipe, uint64_t *ns)
{
	const char *from = end_send(&pipe->run->near);
	uint64_t piece = udp_piece(pipe), i;
	int ret = 0;

	pipe->first = now_ns();
	for (i = 0; i < pipe->count && !ret; i++)
		ret = udp_send_all(pipe, slot(pipe, (char *)from, i), piece);
	atomic_store(&pipe->sent, true);
	*ns = 0;
	return ret;
}

/* Goodput: as if all had come in the time of what came */
static int udp_run(struct pipe *pipe, uint64_t count, uint64_t *ns)
{
	uint64_t all = count * pipe->bytes;
	int ret;

	ret = pipe_both(pipe, count, ns, udp_near, udp_far);
	if (ret)
		return ret;
	*ns = (uint64_t)((double)(pipe->last - pipe->first) * (double)all /
			 (double)pipe->got);
	pipe->moved += all;
	pipe->lost += all - pipe->got;
	return 0;
}

int pipe_stream_run(void *arg, uint64_t count, uint64_t *ns)
{
	struct pipe *pipe = arg;

	pipe->wait = WAIT_SLEEP;
	if (pipe->carrier == CARRIER_UDP)
		return udp_run(pipe, count, ns);
	return pipe_both(pipe, count, ns, tcp_near, tcp_far);
}
