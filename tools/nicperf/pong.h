/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pong.h - what the two ends of a ping-pong tell each other
 *
 * The end that measures says everything in the payload of its interrupts, so
 * the end that answers needs no other way to learn what to do:
 *
 *   63     STOP    no answer, go home
 *   62     SLEEP   wait for the next one by sleeping
 *   61     VERIFY  the data are pattern_fill(sequence): check them, and send
 *                  them back
 *   60     BAD     (answer) they were not
 *   59-28  bytes of the put in either direction
 *   27     QUIET   no answer. With VERIFY, and nothing else: the answer is how
 *                  often the interrupt was raised before
 *   26-0   sequence, returned in the answer
 */
#ifndef NICPERF_PONG_H
#define NICPERF_PONG_H

#include <stdint.h>

#include "end.h"

#define PONG_STOP	(1ULL << 63)
#define PONG_SLEEP	(1ULL << 62)
#define PONG_VERIFY	(1ULL << 61)
#define PONG_BAD	(1ULL << 60)
#define PONG_QUIET	(1ULL << 27)
#define PONG_BYTES_SHIFT	28
#define PONG_BYTES_MAX	0xffffffffULL
#define PONG_SEQUENCE	(PONG_QUIET - 1)

static inline uint64_t pong_bytes(uint64_t payload)
{
	return payload >> PONG_BYTES_SHIFT & PONG_BYTES_MAX;
}

static inline uint32_t pong_sequence(uint64_t payload)
{
	return (uint32_t)(payload & PONG_SEQUENCE);
}

/* Put (or store, with @by_pio) what @payload says into the other end and raise its interrupt */
int pong_send(struct end *end, uint64_t payload);

/* Send @payload and wait until it comes back from @far (a name, for errors) */
int pong_ping(struct end *end, const char *far, uint64_t payload, enum wait wait);

/* Answer until told to stop; waits for the first one as @wait says */
int pong_serve(struct end *end, enum wait wait);

#endif /* NICPERF_PONG_H */
