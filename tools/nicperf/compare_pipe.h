/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compare_pipe.h - what compare_tcp.c and compare_stream.c share
 */
#ifndef NICPERF_COMPARE_PIPE_H
#define NICPERF_COMPARE_PIPE_H

#include "compare_tcp.h"

#define UDP_HEADERS	28	/* of IPv4 and UDP, in each packet */

/* Say it in @error, after "cannot"; returns @ret */
int pipe_fail(struct pipe *pipe, int ret, const char *what);

/*
 * Run @near here and @far in a thread on the other CPU, for @count messages: 0,
 * or a negative errno and @error
 */
int pipe_both(struct pipe *pipe, uint64_t count, uint64_t *ns,
	      int (*near)(struct pipe *pipe, uint64_t *ns),
	      int (*far)(struct pipe *pipe));

/* So that every wait ends: a negative errno if it cannot be */
int pipe_set_timeouts(int fd, uint64_t receive_ns);

/* One message of @bytes, waited for as @wait says: 0 or a negative errno */
int pipe_send(struct pipe *pipe, enum side side, const char *data);
int pipe_receive(struct pipe *pipe, enum side side, char *data);

#endif /* NICPERF_COMPARE_PIPE_H */
