// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare_tcp.c - TCP and UDP between the two namespaces: sockets, there and back
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compare_pipe.h"

#define PORT		7000	/* nobody else is in these namespaces */
#define SPINS_A_LOOK	4096	/* between looks at the clock */
#define UDP_ROOM	(8 << 20)

int pipe_fail(struct pipe *pipe, int ret, const char *what)
{
	snprintf(pipe->error, sizeof(pipe->error), "cannot %s %s: %s", what,
		 pipe->carrier == CARRIER_UDP ? "by UDP" : "by TCP",
		 ret == -ETIME ? "nothing for 10 s" : strerror(-ret));
	return ret;
}

/* ---- connections ---- */

static int set(struct net *net, int fd, int level, int name, int value,
	       const char *what)
{
	if (!setsockopt(fd, level, name, &value, sizeof(value)))
		return 0;
	return net_fail(net, -errno, "cannot set %s of a socket: %s", what,
			strerror(errno));
}

int pipe_set_timeouts(int fd, uint64_t receive_ns)
{
	const struct timeval send = { .tv_sec = END_TIMEOUT_NS / NS_PER_S };
	const struct timeval receive = {
		.tv_sec = (time_t)(receive_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(receive_ns % NS_PER_S / 1000),
	};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof(receive)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send)))
		return -errno;
	return 0;
}

/* So that every wait ends */
static int set_timeouts(struct net *net, int fd)
{
	int ret = pipe_set_timeouts(fd, END_TIMEOUT_NS);

	return ret ? net_fail(net, ret, "cannot set the timeouts of a socket: %s",
			      strerror(-ret)) : 0;
}

static int refused(struct net *net, const char *what)
{
	return net_fail(net, -errno, "cannot %s between the namespaces: %s", what,
			strerror(errno));
}

static int tcp_connect(struct pipe *pipe, struct net *net, enum wire wire)
{
	struct sockaddr_in address = net_address(wire, SIDE_FAR, PORT);
	int listener = net_socket(net, SIDE_FAR, SOCK_STREAM);
	int ret;

	if (listener < 0)
		return listener;
	ret = set(net, listener, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	pipe->fd[SIDE_NEAR] = ret ? ret : net_socket(net, SIDE_NEAR, SOCK_STREAM);
	if (pipe->fd[SIDE_NEAR] < 0)
		ret = pipe->fd[SIDE_NEAR];
	if (!ret)
		ret = set_timeouts(net, pipe->fd[SIDE_NEAR]);
	if (!ret && (bind(listener, (void *)&address, sizeof(address)) ||
		     listen(listener, 1) ||
		     connect(pipe->fd[SIDE_NEAR], (void *)&address, sizeof(address))))
		ret = refused(net, "connect");
	if (!ret) {
		pipe->fd[SIDE_FAR] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (pipe->fd[SIDE_FAR] < 0)
			ret = refused(net, "accept");
	}
	close(listener);
	return ret;
}

static int udp_connect(struct pipe *pipe, struct net *net)
{
	enum side side;
	int ret = 0;

	for (side = 0; side < SIDES && !ret; side++) {
		struct sockaddr_in here = net_address(WIRE_FULL, side, PORT);

		pipe->fd[side] = net_socket(net, side, SOCK_DGRAM);
		if (pipe->fd[side] < 0)
			return pipe->fd[side];
		if (bind(pipe->fd[side], (void *)&here, sizeof(here)))
			ret = refused(net, "bind");
	}
	for (side = 0; side < SIDES && !ret; side++) {
		struct sockaddr_in there = net_address(WIRE_FULL, !side, PORT);

		if (connect(pipe->fd[side], (void *)&there, sizeof(there)))
			ret = refused(net, "connect");
		else
			ret = set(net, pipe->fd[side], SOL_SOCKET, SO_RCVBUFFORCE,
				  UDP_ROOM, "SO_RCVBUFFORCE");
	}
	return ret;
}

/* What large messages need: packets of the wire's size, made late and joined early */
static int udp_set(struct pipe *pipe, struct net *net)
{
	int ret;

	pipe->packet = net->mtu - UDP_HEADERS;
	ret = set(net, pipe->fd[SIDE_NEAR], IPPROTO_UDP, UDP_SEGMENT,
		  (int)pipe->packet, "UDP_SEGMENT");
	if (!ret)
		ret = set(net, pipe->fd[SIDE_FAR], IPPROTO_UDP, UDP_GRO, 1, "UDP_GRO");
	return ret;
}

void pipe_init(struct pipe *pipe)
{
	memset(pipe, 0, sizeof(*pipe));
	pipe->fd[SIDE_NEAR] = -1;
	pipe->fd[SIDE_FAR] = -1;
}

int pipe_open(struct pipe *pipe, struct run *run, struct net *net,
	      enum carrier carrier)
{
	enum side side;
	int ret;

	pipe->run = run;
	pipe->carrier = carrier;
	if (carrier == CARRIER_UDP)
		ret = udp_connect(pipe, net);
	else
		ret = tcp_connect(pipe, net, carrier == CARRIER_PLAIN ? WIRE_PLAIN :
									WIRE_FULL);
	for (side = 0; side < SIDES && !ret; side++) {
		ret = set_timeouts(net, pipe->fd[side]);
		if (!ret && carrier != CARRIER_UDP)
			ret = set(net, pipe->fd[side], IPPROTO_TCP, TCP_NODELAY, 1,
				  "TCP_NODELAY");
	}
	if (!ret && carrier == CARRIER_UDP)
		ret = udp_set(pipe, net);
	if (!ret && carrier == CARRIER_ZEROCOPY)
		ret = set(net, pipe->fd[SIDE_NEAR], SOL_SOCKET, SO_ZEROCOPY, 1,
			  "SO_ZEROCOPY");
	return ret;
}

void pipe_close(struct pipe *pipe)
{
	enum side side;

	for (side = 0; side < SIDES; side++) {
		if (pipe->fd[side] >= 0)
			close(pipe->fd[side]);
		pipe->fd[side] = -1;
	}
}

/* ---- two threads ---- */

struct far_thread {
	struct pipe *pipe;
	int (*serve)(struct pipe *pipe);
};

static void *far_main(void *arg)
{
	struct far_thread *far = arg;
	struct pipe *pipe = far->pipe;

	pipe->far_ret = cpu_bind(pipe->run->cpu[1]);
	atomic_store(&pipe->ready, true);
	if (!pipe->far_ret)
		pipe->far_ret = far->serve(pipe);
	/* who waits for an answer gets none */
	if (pipe->far_ret)
		shutdown(pipe->fd[SIDE_FAR], SHUT_RDWR);
	return NULL;
}

int pipe_both(struct pipe *pipe, uint64_t count, uint64_t *ns,
	      int (*near)(struct pipe *pipe, uint64_t *ns),
	      int (*far)(struct pipe *pipe))
{
	struct far_thread thread = { .pipe = pipe, .serve = far };
	pthread_t id;
	int ret;

	pipe->count = count;
	atomic_store(&pipe->ready, false);
	atomic_store(&pipe->sent, false);
	atomic_store(&pipe->abort, false);
	ret = -pthread_create(&id, NULL, far_main, &thread);
	if (ret)
		return pipe_fail(pipe, ret, "start a thread to answer");
	while (!atomic_load(&pipe->ready))
		sched_yield();
	ret = near(pipe, ns);
	if (ret) {
		atomic_store(&pipe->abort, true);
		shutdown(pipe->fd[SIDE_NEAR], SHUT_RDWR);
	}
	pthread_join(id, NULL);
	if (pipe->far_ret)
		return pipe_fail(pipe, pipe->far_ret, "receive");
	return ret ? pipe_fail(pipe, ret, "send and receive") : 0;
}

/* ---- messages ---- */

/* 0: try again */
static int look(const struct pipe *pipe, unsigned int spins, uint64_t *start)
{
	if (spins % SPINS_A_LOOK)
		return 0;
	if (atomic_load(&pipe->abort))
		return -ECANCELED;
	if (!*start)
		*start = now_ns();
	return now_ns() - *start > END_TIMEOUT_NS ? -ETIME : 0;
}

/* What a call that moved nothing means: 0, or why it is the last one */
static int again(const struct pipe *pipe, unsigned int spins, uint64_t *start)
{
	if (errno == EINTR)
		return 0;
	if (errno != EAGAIN)
		return -errno;
	/* a call that sleeps has slept as long as it may */
	return pipe->wait == WAIT_POLL ? look(pipe, spins, start) : -ETIME;
}

int pipe_send(struct pipe *pipe, enum side side, const char *data)
{
	int flags = MSG_NOSIGNAL | (pipe->wait == WAIT_POLL ? MSG_DONTWAIT : 0);
	unsigned int spins = 0;
	uint64_t done = 0, start = 0;
	ssize_t sent;
	int ret = 0;

	while (done < pipe->bytes && !ret) {
		sent = send(pipe->fd[side], data + done, pipe->bytes - done, flags);
		if (sent > 0)
			done += (uint64_t)sent;
		else
			ret = again(pipe, ++spins, &start);
	}
	return ret;
}

int pipe_receive(struct pipe *pipe, enum side side, char *data)
{
	int flags = pipe->wait == WAIT_POLL ? MSG_DONTWAIT : 0;
	unsigned int spins = 0;
	uint64_t done = 0, start = 0;
	ssize_t got;
	int ret = 0;

	while (done < pipe->bytes && !ret) {
		got = recv(pipe->fd[side], data + done, pipe->bytes - done, flags);
		if (got > 0)
			done += (uint64_t)got;
		else if (!got)
			ret = -EPIPE;
		else
			ret = again(pipe, ++spins, &start);
	}
	return ret;
}

/* ---- there and back ---- */

uint64_t trips_one_way(struct trips *trips, uint64_t count)
{
	size_t n = trips->n < TRIPS_MAX ? (size_t)trips->n : TRIPS_MAX;

	stats_sort(trips->ns, n);
	trips->n = 0;
	return (uint64_t)(stats_percentile(trips->ns, n, 50) / 2 * (double)count);
}

static int pong_far(struct pipe *pipe)
{
	struct end *end = &pipe->run->far;
	uint64_t i;
	int ret = 0;

	for (i = 0; i < pipe->count && !ret; i++) {
		ret = pipe_receive(pipe, SIDE_FAR, end_receive(end));
		if (!ret)
			ret = pipe_send(pipe, SIDE_FAR, end_send(end));
	}
	return ret;
}

static int pong_near(struct pipe *pipe, uint64_t *ns)
{
	struct end *end = &pipe->run->near;
	uint64_t i, start = now_ns(), now;
	int ret = 0;

	for (i = 0; i < pipe->count && !ret; i++) {
		ret = pipe_send(pipe, SIDE_NEAR, end_send(end));
		if (!ret)
			ret = pipe_receive(pipe, SIDE_NEAR, end_receive(end));
		now = now_ns();
		trips_add(pipe->trips, now - start);
		start = now;
	}
	*ns = trips_one_way(pipe->trips, pipe->count);
	return ret;
}

int pipe_pong_run(void *arg, uint64_t count, uint64_t *ns)
{
	return pipe_both(arg, count, ns, pong_near, pong_far);
}
