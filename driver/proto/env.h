/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * env.h - what the protocol asks of its surroundings
 *
 * A link in the kernel, a simulator or a fuzzer gives these. They are called from
 * within the functions of proto.h, in softirq or with the peer's lock held: they
 * never sleep and never call back into the protocol. What they are told to
 * complete they put aside until the function has returned.
 */
#ifndef DMANIC_ENV_H
#define DMANIC_ENV_H

#include "wire.h"

struct dmanic_frame;
struct dmanic_host;
struct dmanic_lookup;
struct dmanic_peer;
struct dmanic_xfer;

/**
 * enum dmanic_peer_event - what happened to a peer
 * @DMANIC_PEER_FOUND: connected
 * @DMANIC_PEER_RESTARTED: it restarted; connected no more
 * @DMANIC_PEER_LOST: it does not answer, or closed
 * @DMANIC_PEER_REFUSED: it refuses us, see peer->refused
 * @DMANIC_PEER_RIVAL: another address claims its node id
 * @DMANIC_PEER_DEGRADED: large frames do not reach it: smaller ones are sent
 * @DMANIC_PEER_RESTORED: they reach it again
 * @DMANIC_PEER_EVENTS: end of events
 */
enum dmanic_peer_event {
	DMANIC_PEER_FOUND,
	DMANIC_PEER_RESTARTED,
	DMANIC_PEER_LOST,
	DMANIC_PEER_REFUSED,
	DMANIC_PEER_RIVAL,
	DMANIC_PEER_DEGRADED,
	DMANIC_PEER_RESTORED,
	DMANIC_PEER_EVENTS
};

/**
 * struct dmanic_env - the surroundings
 * @random: 64 bits nobody can guess
 * @find_tag: the peer whose @local_tag is this, or NULL
 * @find_node: the peer of a node id; @make: a new one, initialized, if there is
 *	none. NULL: none, or no room.
 * @tag_changed: @peer has another @local_tag than @old; either may be zero
 * @place: bytes from another node into a segment: @length bytes that begin at
 *	@at in @frame, to be the bytes of @record from @skip on. Checks segment,
 *	key, right and bounds each time. Returns enum dmanic_status.
 * @notify: raise an interrupt. Returns enum dmanic_status.
 * @atomic: do it. Returns enum dmanic_status, and @old.
 * @lookup: find an export of this node. Returns enum dmanic_status, and the rest of
 *	@lookup.
 * @read_begin: check what a READ asks for and hold it; xfer->source is the
 *	environment's. Returns enum dmanic_status.
 * @read_end: let go of it
 * @place_read: bytes that a READ of ours asked for, @position bytes into it
 * @complete: a transfer of ours ended: xfer->status, xfer->result. Exactly once.
 *	The protocol has forgotten it.
 * @cut: the next contiguous bytes of a transfer that consists of blocks: how many
 *	of at most @most from @position on, their offset in the remote segment,
 *	and @at for struct dmanic_source. Zero: it cannot be told (BOUNDS).
 * @payload_crc: CRC32C of @length bytes at @at in @frame
 * @payload_mac: the same bytes are added to @mac; from then on they do not change, whoever
 *	else may write to them. False: they cannot be had now.
 * @time_of_day: nanoseconds, those of a node that starts again are greater, if its clock
 *	is right. See auth.c
 * @event: something happened to a peer
 */
struct dmanic_env {
	u64 (*random)(struct dmanic_host *host);
	struct dmanic_peer *(*find_tag)(struct dmanic_host *host, u64 tag);
	struct dmanic_peer *(*find_node)(struct dmanic_host *host, u32 node, bool make);
	void (*tag_changed)(struct dmanic_peer *peer, u64 old);
	u32 (*place)(struct dmanic_peer *peer, const struct dmanic_record *record,
		     u32 skip, const struct dmanic_frame *frame, u32 at, u32 length);
	u32 (*notify)(struct dmanic_peer *peer, const struct dmanic_record *record);
	u32 (*atomic)(struct dmanic_peer *peer, const struct dmanic_record *record,
		      u64 *old);
	u32 (*lookup)(struct dmanic_peer *peer, struct dmanic_lookup *lookup);
	u32 (*read_begin)(struct dmanic_peer *peer, const struct dmanic_record *record,
			  struct dmanic_xfer *xfer);
	void (*read_end)(struct dmanic_peer *peer, struct dmanic_xfer *xfer);
	void (*place_read)(struct dmanic_peer *peer, struct dmanic_xfer *xfer,
			   u64 position, const struct dmanic_frame *frame, u32 at,
			   u32 length);
	void (*complete)(struct dmanic_peer *peer, struct dmanic_xfer *xfer);
	u32 (*cut)(struct dmanic_xfer *xfer, u64 position, u32 most, u64 *offset,
		   u64 *at);
	u32 (*payload_crc)(const struct dmanic_frame *frame, u32 at, u32 length);
	bool (*payload_mac)(const struct dmanic_frame *frame, u32 at, u32 length,
			    struct dmanic_mac *mac);
	u64 (*time_of_day)(struct dmanic_host *host);
	void (*event)(struct dmanic_peer *peer, enum dmanic_peer_event event);
};

#endif /* DMANIC_ENV_H */
