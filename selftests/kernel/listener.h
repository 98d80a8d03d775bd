/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * listener.h - a socket that hears events of devices
 */
#ifndef LISTENER_H
#define LISTENER_H

#include "fabric.h"

/**
 * struct listener - a member of the multicast group "events"
 * @socket: non-blocking
 * @at: of @buffer, the first byte not yet looked at
 * @queued: bytes from there on
 * @buffer: what came in one go
 */
struct listener {
	struct mnl_socket *socket;
	size_t at;
	int queued;
	char buffer[32768] __attribute__((aligned(8)));
};

/* @receive_bytes: SO_RCVBUF, or zero: as it is. Fails the test. */
void listener_open(struct listener *listener, int receive_bytes);
void listener_close(struct listener *listener);

/* The next event: 0; -EAGAIN there is none; -ENOBUFS some were lost */
int listener_next(struct listener *listener, struct device *event);

/* All that there is, counted; @lost: there was more */
struct heard {
	unsigned int events[DMANIC_EVENT_PEER_RESTORED + 1];
	bool lost;
};

struct heard listener_hear(struct listener *listener);

/* So many of that event, as far as can be known */
bool heard_told(const struct heard *heard, __u32 event, unsigned int wanted);

/* The number of the group, 0: the driver has none of that name */
unsigned int listener_group(const char *name);

#endif /* LISTENER_H */
