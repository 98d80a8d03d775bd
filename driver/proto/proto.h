/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * proto.h - the reliable protocol between two nodes: every struct, and the way
 * of an operation
 *
 * Pure: no skb, no clock, no lock, no allocation. Frames, time (nanoseconds) and
 * randomness are arguments or come from struct dmanic_env, and what is to be sent is
 * pulled. Compiled into the module, the simulator and the fuzzers.
 *
 * Objects
 *
 *	host     this node as others see it: one of a link
 *	peer     another node and the connection to it. The caller provides
 *	         dmanic_peer_bytes() bytes and a lock around every call
 *	xfer     one operation of ours, or what we owe another node for a READ or an
 *	         ATOMIC of its own
 *	flow     xfers of one queue
 *	share    flows of one user: shares take turns, and the flows of each do
 *	tx, rx   the two ends of a stream; a peer has one of each in each class
 *	extent   a part of an xfer that has its place in a stream
 *	sent     a part of a stream that went out in one frame
 *
 * The way of an operation
 *
 *	dmanic_peer_submit() puts it in its flow. dmanic_peer_next() builds frames
 *	(next.c): what was lost, then new extents (tx.c) of shares and flows in turn
 *	(share.c). At the other side dmanic_host_receive() (host.c) finds the peer, auth.c
 *	whether it is the peer's, handshake.c or receive.c take the frame; records are placed
 *	as they come (later.c), done in order (reply.c), and acknowledged (ack.c). Back here
 *	ack.c marks what arrived, loss.c what did not, rate.c and path.c learn, tx.c retires
 *	extents; with its last one, or its result, the xfer is completed (xfer.c).
 *
 * A stream is counted in units: a byte of WRITE or READ data each, any other
 * record one. What is sent again may be cut anew. Positions never repeat.
 *
 * States of a peer
 *
 *	CLOSED   no tags. Nothing is owed by either side.
 *	OPENING  has a local tag, told to one address at most; asks when something
 *	         is to be sent: HELLO where it is, INIT there
 *	PAIRED   knows the other's tag, says so (ANSWER, DONE) until it hears
 *	         something; sends nothing else
 *	OPEN     both know both tags
 *
 * Invariants
 *
 *	1 a unit is placed or done at most once, and before it is acknowledged; to
 *	  the same byte the last in the stream is what stays, whatever came last
 *	2 next does not pass a NOTIFY, READ or ATOMIC that was not done
 *	3 a transfer ends OK only when its units were acknowledged and everything of
 *	  the other direction before the reject position of that ACK has arrived
 *	4 in the ring of extents there is always room for a RESULT of each operation
 *	  the other side may have, and an extent leaves it when it is acknowledged;
 *	  an id is used again only when everything owed for it was received in
 *	  order. So doing what comes never waits for what we send, nor the other
 *	  way round: two nodes cannot wait for each other
 *	5 nothing received changes a connection unless it carries its local tag
 *	  (RESET: its remote tag). A local tag is told to one address, in frames to
 *	  it alone
 */
#ifndef DMANIC_PROTO_H
#define DMANIC_PROTO_H

#include <linux/list.h>
#include <linux/types.h>

#include <linux/dmanic_ring.h>

#include "env.h"
#include "range.h"
#include "wire.h"

#define DMANIC_SOURCES		DMANIC_WIRE_RECORDS
#define DMANIC_NEVER		(~0ULL)
#define DMANIC_EVERYBODY	(~0ULL)	/* address: broadcast */
#define DMANIC_STAMP_SHIFT	8	/* a stamp's unit is 256 ns */
/* Positions a receiver looks at beyond next, whatever was granted */
#define DMANIC_REACH		(64U << 20)

/**
 * struct dmanic_frame - a frame that came
 * @from: address of who sent it
 * @head: its first bytes
 * @linear: how many of them, at least dmanic_wire_pull() if there are as many
 * @length: of the frame
 * @link: the caller's
 */
struct dmanic_frame {
	u64 from;
	const void *head;
	u32 linear;
	u32 length;
	void *link;
};

/**
 * struct dmanic_source - bytes that go into a payload
 * @xfer: whose
 * @at: which: bytes into the transfer, or what env->cut() said
 * @length: how many
 */
struct dmanic_source {
	struct dmanic_xfer *xfer;
	u64 at;
	u32 length;
};

/**
 * struct dmanic_out - a frame to send
 * @head: DMANIC_WIRE_HEAD_MAX bytes, the caller's
 * @head_length: how many are used
 * @to: address
 * @mtu: longest frame of the path: a longer one is to be cut (dmanic_frame_cut()),
 *	into payloads of @piece bytes
 * @piece: see @mtu
 * @seal: dmanic_data_seal() is yet to be called, on each piece
 * @crc: with the CRC32C of the payload
 * @payload_length: bytes
 * @nr_sources: of @source; none, and the payload has a length: it is zeros
 * @source: what the payload consists of, in order
 * @counter: for dmanic_auth_seal(), which is to be called where there is a key
 * @class: of DATA
 * @seq: of DATA
 * @units: of DATA: how many; for dmanic_peer_unsent()
 */
struct dmanic_out {
	u8 *head;
	u32 head_length;
	u64 to;
	u32 mtu;
	u32 piece;
	bool seal;
	bool crc;
	u32 payload_length;
	u32 nr_sources;
	struct dmanic_source source[DMANIC_SOURCES];
	u64 counter;
	u8 class;
	u64 seq;
	u32 units;
};

/* ---- what is to be done ---- */

enum dmanic_xfer_kind {
	DMANIC_XFER_WRITE,
	DMANIC_XFER_NOTIFY,
	DMANIC_XFER_READ,
	DMANIC_XFER_ATOMIC,
	DMANIC_XFER_LOOKUP,
	DMANIC_XFER_REPLY,	/* of ours, to a READ, ATOMIC or LOOKUP of the other side */
};

/**
 * struct dmanic_lookup - where is an export of another node
 * @kind: 0: a segment, 1: an interrupt
 * @name: as published; empty: @id and @key say which
 * @secret: with @name
 * @id: of the export (in without @name, out)
 * @key: of it (the same)
 * @rights: granted (out)
 * @length: bytes, or depth (out)
 * @incarnation: of the node that answered (out)
 */
struct dmanic_lookup {
	u8 kind;
	char name[DMANIC_WIRE_NAME];
	u64 secret[2];
	u32 id;
	u64 key;
	u32 rights;
	u64 length;
	u64 incarnation;
};

/**
 * struct dmanic_xfer - an operation
 * @entry: in its flow, until all of it has a place in the stream
 * @flow: whose; NULL when it is in none
 * @kind: enum dmanic_xfer_kind
 * @opcode: ATOMIC: enum dmanic_opcode
 * @class: of its flow
 * @notifies: WRITE: raise @irq behind it
 * @blocks: WRITE: of many parts, env->cut() tells them
 * @segment: export id
 * @key: of the export
 * @incarnation: that the other node must have; 0: any
 * @offset: into the segment
 * @length: bytes of data in all
 * @block: bytes of a block; zero: contiguous
 * @stride: from block to block in the segment
 * @irq: NOTIFY, @notifies: export id
 * @irq_key: of it
 * @payload: for the waiter; ATOMIC: operand
 * @compare: ATOMIC
 * @lookup: LOOKUP: what is asked; and the answer, with DMANIC_STATUS_OK (out)
 * @source: the caller's
 * @status: enum dmanic_status (out)
 * @result: ATOMIC: old value; else bytes moved (out)
 * @id: its name on the wire, once it has begun
 * @begun: has @id
 * @whole: all of it has a place
 * @entered: bytes that have a place
 * @extents: in the ring
 */
struct dmanic_xfer {
	struct list_head entry;
	struct dmanic_flow *flow;
	u8 kind;
	u8 opcode;
	u8 class;
	bool notifies;
	bool blocks;
	u32 segment;
	u64 key;
	u64 incarnation;
	u64 offset;
	u64 length;
	u32 block;
	u32 stride;
	u32 irq;
	u64 irq_key;
	u64 payload;
	u64 compare;
	struct dmanic_lookup *lookup;
	void *source;
	u32 status;
	u64 result;
	/* the protocol's own */
	u32 id;
	bool begun;
	bool whole;
	u64 entered;
	u32 extents;
};

/**
 * struct dmanic_share - flows of one user to one peer in one class
 * @flows: that have transfers, in turn
 * @waiting: but those of which the first transfer, one that asks or one that does not, found
 *	no id, in turn: of each the first is looked at
 * @aside: it is the turn of those that wait, if there is one that can begin
 * @asks: and among them of those that ask
 * @turn: in tx->turns while there are any
 * @asking: ids of READs, ATOMICs and LOOKUPs of them
 * @sending: of the others, those with an id that want more places in the stream
 * @owner: whose it is, see dmanic_share_adopt(); 0: nobody's
 *
 * An id may be in use after its transfer has ended: dmanic_share_end() before it goes.
 */
struct dmanic_share {
	struct list_head flows;
	struct list_head waiting[2];
	bool aside;
	bool asks;
	struct list_head turn;
	u32 asking;
	u32 sending;
	u64 owner;
};

/**
 * struct dmanic_flow - transfers to one peer, in order
 * @xfers: that have no place in the stream yet, or not all of it
 * @turn: in share->flows, or share->waiting, while there are any
 * @share: whose
 */
struct dmanic_flow {
	struct list_head xfers;
	struct list_head turn;
	struct dmanic_share *share;
};

/**
 * struct dmanic_slot - an operation id of ours
 * @late: in tx->late while nothing but @until is waited for
 * @xfer: whose, or NULL when it was given up or completed
 * @share: whose; NULL: that has ended
 * @owner: of the share that has; 0: nobody
 * @until: our receiving end must get here: refusals may be before; and what is
 *	owed to the id was, so that the other side will learn that it may be
 *	used again
 * @left: bytes a READ wants yet
 * @id: on the wire: the slot's number, and a generation above it
 * @extents: in the ring
 * @class: of its stream
 * @used: it is
 * @asks: READ, ATOMIC, LOOKUP
 * @answered: it was
 */
struct dmanic_slot {
	struct list_head late;
	struct dmanic_xfer *xfer;
	struct dmanic_share *share;
	u64 owner;
	u64 until;
	u64 left;
	u32 id;
	u32 extents;
	u8 class;
	bool used;
	bool asks;
	bool answered;
};

/**
 * struct dmanic_reply - what we owe the other side for an operation id of its
 * @xfer: data of a READ, and the RESULT
 * @id: of the operation
 * @class: stream it came in
 * @used: something is owed
 * @answered: a RESULT or FOUND was sent
 * @refused: a RESULT that is no success was sent
 * @ending: a NOTIFY or SKIP with END of it is yet to come
 * @reading: env->read_end() is to be called
 */
struct dmanic_reply {
	struct dmanic_xfer xfer;
	u32 id;
	u8 class;
	bool used;
	bool answered;
	bool refused;
	bool ending;
	bool reading;
};

/* ---- a stream's sending end (tx.c, next.c, loss.c) ---- */

/**
 * struct dmanic_extent - a part of a transfer that has its place
 * @seq: first unit
 * @units: how many
 * @type: enum dmanic_record_type; SKIP when it was given up
 * @flags: DMANIC_RECORD_*
 * @corrupt: how often a frame of it alone, the first of those that are missing, arrived
 *	with a wrong checksum
 * @corrupt_at: which: where it begins in the extent
 * @corrupt_all: the same, of all that were the first in turn
 * @id: of the operation
 * @xfer: whose; NULL when it was given up
 * @position: bytes into the transfer; DMANIC_NEVER: it was owed, and nobody wants it any more
 * @at: for struct dmanic_source
 * @offset: into the segment
 */
struct dmanic_extent {
	u64 seq;
	u32 units;
	u8 type;
	u8 flags;
	u8 corrupt;
	u8 corrupt_all;
	u32 corrupt_at;
	u32 id;
	struct dmanic_xfer *xfer;
	u64 position;
	u64 at;
	u64 offset;
};

enum dmanic_sent_state {
	DMANIC_SENT_FLYING,	/* in tx->flying, by time */
	DMANIC_SENT_LOST,	/* in tx->lost, to be sent again */
	DMANIC_SENT_ACKED,
};

/**
 * struct dmanic_sent - a part of a stream that went out in one frame
 * @seq: first unit
 * @time: when it went out last
 * @units: how many
 * @resent: of those, already sent again
 * @until: what is behind these has arrived; 0: not all of it, or it is not known
 * @parted: where a part began that has arrived, and told what it can; 0: none did
 * @prev: index in the list of its state
 * @next: the same; ACKED: all before that, counted as tx->sent_tail is, are
 * @state: enum dmanic_sent_state
 * @times: it was taken for lost
 * @again: it was sent more than once
 * @excused: it is known why it was lost last, and its length is not the reason
 * @alone: it arrived with a wrong checksum: its records go out one by one, so that it
 *	is seen whose is wrong
 * @cut: it went out last in a frame that is to be cut
 * @counted: LOST: as a loss; the end is sent again without
 */
struct dmanic_sent {
	u64 seq;
	u64 time;
	u32 units;
	u32 resent;
	u32 until;
	u32 parted;
	u32 prev;
	u32 next;
	u8 state;
	u8 times;
	bool again;
	bool excused;
	bool alone;
	bool cut;
	bool counted;
};

/**
 * struct dmanic_sent_list - of struct dmanic_sent, by index; U32_MAX ends it
 * @first: oldest
 * @last: newest
 */
struct dmanic_sent_list {
	u32 first;
	u32 last;
};

/**
 * struct dmanic_tx - sending end of a stream
 * @una: oldest unit not acknowledged
 * @next: next unit to be sent for the first time
 * @end: behind the last unit that has a place
 * @extent: ring
 * @extent_mask: its size less one
 * @extent_head: oldest; free running
 * @extent_tail: where the next goes
 * @reserved: places kept for the NOTIFY of transfers that have begun
 * @results: RESULTs in the ring: places kept for others count without them
 * @sent: ring
 * @sent_mask: its size less one
 * @sent_head: oldest
 * @sent_tail: where the next goes
 * @flying: on their way, by time
 * @lost: to be sent again, oldest first
 * @flight: units that are flying
 * @reject: refusals of what is before @una are before this in the other direction
 * @late: slots whose operation waits for that alone
 * @late_since: when what they wait for went on last; DMANIC_NEVER: there are none
 * @turns: shares that have something, in turn
 * @owed: share of what we owe
 * @replies: its flow
 */
struct dmanic_tx {
	u64 una;
	u64 next;
	u64 end;
	struct dmanic_extent *extent;
	u32 extent_mask;
	u32 extent_head;
	u32 extent_tail;
	u32 reserved;
	u32 results;
	struct dmanic_sent *sent;
	u32 sent_mask;
	u32 sent_head;
	u32 sent_tail;
	struct dmanic_sent_list flying;
	struct dmanic_sent_list lost;
	u32 flight;
	u64 reject;
	struct list_head late;
	u64 late_since;
	struct list_head turns;
	struct dmanic_share owed;
	struct dmanic_flow replies;
};

/* ---- a stream's receiving end (receive.c, later.c, reply.c) ---- */

/**
 * struct dmanic_early - a record that came before it may be done
 * @seq: its place
 * @record: it
 */
struct dmanic_early {
	u64 seq;
	struct dmanic_record record;
};

/**
 * struct dmanic_later - bytes placed though others that stand before are missing
 * @seq: their place in the stream
 * @segment: export id
 * @offset: into the segment: of the first byte, or of the first block
 * @end: behind the last of them
 * @first: STRIDED: bytes of the operation before them
 * @length: bytes
 * @block: STRIDED: bytes of a block; else zero
 * @stride: from block to block
 */
struct dmanic_later {
	u64 seq;
	u32 segment;
	u64 offset;
	u64 end;
	u64 first;
	u64 length;
	u32 block;
	u32 stride;
};

/**
 * struct dmanic_rx - receiving end of a stream
 * @got: what was received
 * @early: a ring, sorted
 * @first_early: where it begins; free running
 * @nr_early: how many
 * @max_early: how many there may be
 * @later: what must not be covered by what comes late (later.c)
 * @nr_later: how many
 * @max_later: how many there may be
 * @reject: our sending end's position behind the last refusal
 * @corrupt: where frames in a row with a wrong payload begin, that were not told yet
 * @corrupt_units: of them; zero: there is none
 * @sack_turn: range an ACK begins with when not all fit
 * @work: what may yet be done of a frame: see later.c
 */
struct dmanic_rx {
	struct dmanic_ranges got;
	struct dmanic_early *early;
	u32 first_early;
	u32 nr_early;
	u32 max_early;
	struct dmanic_later *later;
	u32 nr_later;
	u32 max_later;
	u64 reject;
	u64 corrupt;
	u32 corrupt_units;
	u32 sack_turn;
	u32 work;
};

/* ---- the connection's pace (rate.c) ---- */

/**
 * struct dmanic_rate - how much may be under way, and how fast
 * @srtt: smoothed round trip; 0: none was measured
 * @rttvar: its variation
 * @rtt_min: shortest of this period and the last
 * @rtt_next: shortest of this period
 * @rtt_period: when this period ends
 * @window: units that may be under way, of both streams
 * @ceiling: never more
 * @start: still doubling
 * @round: when the round trip ends that is being judged
 * @round_acked: units acknowledged in it
 * @round_lost: lost in it
 * @clean: acknowledged since something was lost
 * @round_delay: shortest round trip in it
 * @full: the window was what held sending up in it
 * @loss: units lost of a thousand, smoothed, times 16
 * @pace: what is on its way at this pace went out by then
 * @due: something waits until then for its turn; DMANIC_NEVER: nothing does
 */
struct dmanic_rate {
	u64 srtt;
	u64 rttvar;
	u64 rtt_min;
	u64 rtt_next;
	u64 rtt_period;
	u64 window;
	u64 ceiling;
	bool start;
	u64 round;
	u64 round_acked;
	u64 round_lost;
	u64 clean;
	u64 round_delay;
	bool full;
	u32 loss;
	u64 pace;
	u64 due;
};

/* ---- host and peer ---- */

/**
 * struct dmanic_proto_stats - what happened; all of the host, some of the peer
 * @frames_sent: of all types, before they were cut
 * @frames_received: of all types
 * @data_sent: DATA, after they were cut
 * @data_again: of those, sent again
 * @acks_sent: ACKs, and DATA that told as much
 * @acks_received: the same
 * @lost: sent frames taken for lost, by time and by what came back
 * @timeouts: how often nothing came back in time; each takes all that fly for lost
 * @tail_probes: frames sent again to learn whether the end was lost
 * @duplicates: frames that brought nothing new
 * @refused: records of other nodes refused
 * @connections: made
 * @restarts: peers that restarted
 * @deaths: peers that did not answer
 * @dropped: by enum dmanic_drop
 */
struct dmanic_proto_stats {
	u64 frames_sent;
	u64 frames_received;
	u64 data_sent;
	u64 data_again;
	u64 acks_sent;
	u64 acks_received;
	u64 lost;
	u64 timeouts;
	u64 tail_probes;
	u64 duplicates;
	u64 refused;
	u64 connections;
	u64 restarts;
	u64 deaths;
	u64 dropped[DMANIC_DROPS];
};

/**
 * struct dmanic_proto_config - set before dmanic_host_init(); zero: the default
 * @node: id
 * @incarnation: of the node
 * @mtu: longest frame the path takes
 * @super: longest frame the link takes and cuts; @mtu: it does not
 * @features: DMANIC_WIRE_*
 * @network: which of those that share a medium; with a key a part of what is proven
 * @operations: ids a peer may use at once, and we at most; power of two
 * @extents: of a stream; power of two, four times @operations or more: ids may all
 *	have a RESULT, and a NOTIFY, to come
 * @sent: frames of a stream under way; power of two
 * @ranges: received out of order
 * @early: records received too early; power of two
 * @later: pieces of memory written too early
 * @budget: bytes that may be under way to this node, of all peers together when there
 *	are several
 * @dead_ns: a peer that does not answer for so long is dead
 * @idle_ns: a peer that says nothing is asked after this time; DMANIC_NEVER: it
 *	is not
 * @ack_ns: the least time for which an acknowledgment may be held back
 * @rto_ns: nothing is sent again for lack of an answer before this time
 * @target_ns: delay by queues that is not yet too much
 */
struct dmanic_proto_config {
	u32 node;
	u64 incarnation;
	u32 mtu;
	u32 super;
	u32 features;
	u16 network;
	u32 operations;
	u32 extents;
	u32 sent;
	u32 ranges;
	u32 early;
	u32 later;
	u32 budget;
	u64 dead_ns;
	u64 idle_ns;
	u64 ack_ns;
	u64 rto_ns;
	u64 target_ns;
};

/**
 * struct dmanic_allowance - frames to strangers, of one kind
 * @left: that may be sent at once
 * @at: when that was computed
 */
struct dmanic_allowance {
	u32 left;
	u64 at;
};

#define DMANIC_STRANGERS	64U	/* groups of them */

/**
 * struct dmanic_auth - the fabric's key
 * @on: there is one
 * @id: of the key
 * @key: it; nobody is told
 * @counter: of our last frame that was of no connection
 * @rival: of the last frame of who has our node id, or what is older than ours
 * @salt: which senders are a group of strangers: by a hash with this key, so nobody can know
 * @guesses: frames not made with the key, of who is not connected
 */
struct dmanic_auth {
	bool on;
	u32 id;
	struct dmanic_key key;
	u64 counter;
	u64 rival;
	struct dmanic_key salt;
	struct dmanic_allowance guesses;
};

#define DMANIC_REPLAY_WORDS	32U

/**
 * struct dmanic_replay - which frames of a connection came
 * @newest: the greatest counter of these
 * @seen: of it, and of those before, a bit for each
 */
struct dmanic_replay {
	u64 newest;
	u64 seen[DMANIC_REPLAY_WORDS];
};

/**
 * struct dmanic_host - this node
 * @env: its surroundings
 * @config: of it
 * @senders: peers that sent something lately
 * @heavy: of these, those that sent much: they share the budget
 * @crowd: how many of these there were at once, lately
 * @crowd_at: when that was counted
 * @hellos: answers to HELLOs; with a key of each group of strangers
 * @inits: to INITs; the same
 * @resets: to frames of no connection; the same
 * @seeks: questions to everybody, where a node is
 * @auth: the key
 * @stats: counters
 * @ack: the one at hand: too long for the stack, which kernels fill with zeros
 * @record: of the DATA frame at hand
 */
struct dmanic_host {
	const struct dmanic_env *env;
	struct dmanic_proto_config config;
	u32 senders;
	u32 heavy;
	u32 crowd;
	u64 crowd_at;
	struct dmanic_allowance hellos[DMANIC_STRANGERS];
	struct dmanic_allowance inits[DMANIC_STRANGERS];
	struct dmanic_allowance resets[DMANIC_STRANGERS];
	struct dmanic_allowance seeks;
	struct dmanic_auth auth;
	struct dmanic_proto_stats stats;
	struct dmanic_ack ack;
	struct dmanic_record record[DMANIC_WIRE_RECORDS];
};

/**
 * struct dmanic_newest - what was sent last of all that has arrived, of a stream
 * @time: when it was sent
 * @seq: its place
 * @rtt: how long it took
 */
struct dmanic_newest {
	u64 time;
	u64 seq;
	u64 rtt;
};

enum dmanic_peer_state {
	DMANIC_PEER_CLOSED,
	DMANIC_PEER_OPENING,
	DMANIC_PEER_PAIRED,
	DMANIC_PEER_OPEN,
};

/**
 * struct dmanic_peer_path - the way to a peer
 * @ends: longest frame that both ends take
 * @ends_super: longest that the link would cut to that
 * @told: the user was told that it carries less
 * @most: longest frame that is not known to get lost on it
 * @single: none longer than peer->mtu arrives: the link is not to cut any
 * @since: when one of these was found out
 * @hope: something longer may arrive: it just did, or the ends changed
 * @vain: how often in a row it did not, or not for long
 * @cut_lost: something was lost of a frame that is to be cut, and nothing arrived
 * @cuts_lost: so often in a row, and others arrived then
 * @carried: length of the longest part in which a TEST arrived; more than peer->mtu: large
 *	frames arrive whole; 0: not known yet
 * @number: of the TEST
 * @mtu: its length, or that of its pieces
 * @cuts: it is to be cut, if the way does not carry it whole
 * @due: to be sent now
 * @paced: but not right behind the last one
 * @put_off: hence at @at
 * @last: when one went out last; zero: none did
 * @asks: and before it a short one
 * @heard: when one of these was answered
 * @answers: one that came is to be answered: @answer
 * @tried: so often it was lost, while short frames were not
 * @unheard: so often nothing was heard at all
 * @sent: when it went out last; 0: there is none under way
 * @at: when to look again; DMANIC_NEVER
 * @later: when to try a longer one, when this TEST is done: it is in between;
 *	DMANIC_NEVER: as that says
 * @proven: with a key: a frame longer than @mtu arrived whole. Nobody can cut one, so none is
 *	sent before
 * @answer: of it
 */
struct dmanic_peer_path {
	u32 ends;
	u32 ends_super;
	bool told;
	u32 most;
	bool single;
	u64 since;
	bool hope;
	u32 vain;
	bool cut_lost;
	u8 cuts_lost;
	u32 carried;
	u32 number;
	u32 mtu;
	bool cuts;
	bool due;
	bool paced;
	bool put_off;
	u64 last;
	bool asks;
	u64 heard;
	bool answers;
	u32 tried;
	u32 unheard;
	u64 sent;
	u64 at;
	u64 later;
	bool proven;
	struct dmanic_tested answer;
};

/**
 * struct dmanic_peer - another node
 * @host: this one
 * @node: its id
 * @state: enum dmanic_peer_state
 * @address: where it is; DMANIC_EVERYBODY: not known
 * @local_tag: frames to us carry it
 * @remote_tag: frames to it
 * @incarnation: of it, 0: never connected
 * @their_mtu: longest frame it takes
 * @own_mtu: longest frame we take, as it was told
 * @path: what the way to it carries
 * @mtu: least of these
 * @super: longest frame to hand to the link: more than @mtu, and it cuts
 * @largest: longest frame of data, or TEST, that came from it in this connection
 * @features: of both
 * @operations: ids we may use
 * @refused: enum dmanic_refusal_reason of the last REFUSE of this attempt, 0: none
 * @ended_as: with which status its operations ended last
 * @since: when that state began; OPENING, PAIRED: or was last wanted again
 * @hello_at: when to ask again: HELLO and INIT, or ANSWER
 * @hello_wait: and how long to wait then
 * @hello_now: ask at once
 * @init_now: send INIT at once: its address became known, or may be right still
 * @sought: everybody was asked where it is, and nobody has answered yet
 * @hello_told: when a HELLO was answered because it is surely of the peer
 * @init_told: when an INIT was, or because we ask, too
 * @doubted: when another address claimed its id; 0: never in this connection
 * @heard: when something came with our tag
 * @looked: when dmanic_peer_timer() was called
 * @waiting: since when we wait for something; DMANIC_NEVER: we do not
 * @probed: when a PROBE went out
 * @asked: PROBEs since something came; before there is a connection, how often it was
 *	asked for
 * @asked_at: when the last of these was
 * @spared: nobody had looked for answers meanwhile: it was asked anew, and is not once more
 * @probe_now: send one at once
 * @tx: sending ends
 * @rx: receiving ends
 * @granted: what the other side lets us have under way
 * @granted_at: when it said so
 * @unasked: units sent since an acknowledgment was asked for
 * @ack_seen: number of the newest ACK that came
 * @rate: see there
 * @backoff: time-outs in a row
 * @progress: when something was acknowledged, or came damaged, or was sent into silence,
 *	or timed out
 * @moved: when something was acknowledged, or sent with nothing unacknowledged
 * @reached: since the last time-out it has said that something came
 * @unreached: weight of time-outs in a row that it answered, see loss_reach()
 * @tail_probed: since then, the end was sent again
 * @newest: of each stream: one may overtake the other in a queue
 * @reorder: quarters of a round trip that frames may overtake each other
 * @calm: rounds without a duplicate
 * @duplicates: that the other side has seen
 * @unsent: times in a row that the link could not send
 * @unsent_until: and does not try again
 * @loss_at: when something flying will be taken for lost
 * @slot: ids of ours
 * @free_slot: which are free: a ring of @operations
 * @first_free: where it begins
 * @nr_free: how many
 * @reply: ids of the other side
 * @their_operations: how many
 * @nr_replies: in use
 * @ack_now: say at once what was received
 * @ack_at: say so at this time
 * @ack_units: received since the last ACK
 * @wanted_at: since when the other side waits for it; 0: it does not
 * @told_at: when it had one that it waited for, in a frame of its own; 0: data of ours
 *	followed since
 * @talk: times in a row that such data followed soon; negative: it was waited for in
 *	vain, and is to follow so often before it is waited for again
 * @vain: how often that was, less those since in which it was not
 * @ack_number: of the last ACK
 * @echo: stamp of the last DATA frame
 * @echo_at: when it came
 * @ack_duplicates: counter for ACKs
 * @sender_until: counts in host->senders until then; 0: does not
 * @heavy_until: counts in host->heavy until then; 0: does not
 * @brought: bytes that came lately
 * @brought_at: since then
 * @counter: of the last frame to it, in a connection
 * @replay: which frames of it came, in this connection
 * @newest_counter: of the last one that was of no connection
 * @first: buffers begin here
 */
struct dmanic_peer {
	struct dmanic_host *host;
	u32 node;
	u8 state;
	u64 address;
	u64 local_tag;
	u64 remote_tag;
	u64 incarnation;
	u32 their_mtu;
	u32 own_mtu;
	struct dmanic_peer_path path;
	u32 mtu;
	u32 super;
	u32 largest;
	u32 features;
	u32 operations;
	u8 refused;
	u32 ended_as;
	u64 since;
	u64 hello_at;
	u64 hello_wait;
	bool hello_now;
	bool init_now;
	bool sought;
	u64 hello_told;
	u64 init_told;
	u64 doubted;
	u64 heard;
	u64 looked;
	u64 waiting;
	u64 probed;
	u32 asked;
	bool spared;
	u64 asked_at;
	bool probe_now;
	struct dmanic_tx tx[DMANIC_CLASSES];
	struct dmanic_rx rx[DMANIC_CLASSES];
	u32 granted;
	u64 granted_at;
	u32 unasked;
	u32 ack_seen;
	struct dmanic_rate rate;
	u32 backoff;
	u64 progress;
	u64 moved;
	bool reached;
	u32 unreached;
	bool tail_probed;
	struct dmanic_newest newest[DMANIC_CLASSES];
	u32 reorder;
	u32 calm;
	u32 duplicates;
	u32 unsent;
	u64 unsent_until;
	u64 loss_at;
	struct dmanic_slot *slot;
	u16 *free_slot;
	u32 first_free;
	u32 nr_free;
	struct dmanic_reply *reply;
	u32 their_operations;
	u32 nr_replies;
	bool ack_now;
	u64 ack_at;
	u32 ack_units;
	u64 wanted_at;
	u64 told_at;
	int talk;
	u32 vain;
	u32 ack_number;
	u32 echo;
	u64 echo_at;
	u32 ack_duplicates;
	u64 sender_until;
	u64 heavy_until;
	u64 brought;
	u64 brought_at;
	u64 counter;
	struct dmanic_replay replay;
	u64 newest_counter;
	u64 first[];
};

/* ---- for links ---- */

/* host.c */
void dmanic_host_init(struct dmanic_host *host, const struct dmanic_env *env,
		      const struct dmanic_proto_config *config);
struct dmanic_peer *dmanic_host_receive(struct dmanic_host *host,
					const struct dmanic_frame *frame, u64 now,
					struct dmanic_out *answer);
void dmanic_host_set_mtu(struct dmanic_host *host, u32 mtu, u32 super);
void dmanic_host_hello(struct dmanic_host *host, struct dmanic_out *out);

/* auth.c */
void dmanic_host_set_key(struct dmanic_host *host, const struct dmanic_key *key, u32 id);
void dmanic_auth_begin(const struct dmanic_host *host, const struct dmanic_out *out,
		       struct dmanic_mac *mac);
u32 dmanic_auth_seal(const struct dmanic_host *host, const struct dmanic_out *out, u64 from,
		     void *head, struct dmanic_mac *mac);

/* Bytes of each head more */
static inline u32 dmanic_auth_bytes(const struct dmanic_host *host)
{
	return host->auth.on ? DMANIC_WIRE_AUTH_BYTES : 0;
}

/* peer.c */
size_t dmanic_peer_bytes(const struct dmanic_host *host);
void dmanic_peer_init(struct dmanic_peer *peer, struct dmanic_host *host, u32 node);
u64 dmanic_peer_deadline(const struct dmanic_peer *peer);
void dmanic_peer_timer(struct dmanic_peer *peer, u64 now);
void dmanic_peer_close(struct dmanic_peer *peer, u32 status, struct dmanic_out *out);
bool dmanic_peer_idle(const struct dmanic_peer *peer);
u64 dmanic_peer_active_at(const struct dmanic_peer *peer);
bool dmanic_peer_silent(const struct dmanic_peer *peer, u64 now);
bool dmanic_peer_quiet(const struct dmanic_peer *peer, u64 now);
void dmanic_peer_forget(struct dmanic_peer *peer);
void dmanic_peer_rekeyed(struct dmanic_peer *peer);

/* path.c */
void dmanic_peer_set_mtu(struct dmanic_peer *peer);
bool dmanic_peer_degraded(const struct dmanic_peer *peer);

/* share.c */
void dmanic_share_init(struct dmanic_share *share);
void dmanic_share_adopt(struct dmanic_peer *peer, struct dmanic_share *share, u64 owner);
void dmanic_share_end(struct dmanic_peer *peer, struct dmanic_share *share);
void dmanic_flow_init(struct dmanic_flow *flow, struct dmanic_share *share);

/* xfer.c */
void dmanic_peer_submit(struct dmanic_peer *peer, struct dmanic_flow *flow,
			struct dmanic_xfer *xfer, u64 now);
void dmanic_peer_cancel(struct dmanic_peer *peer, struct dmanic_xfer *xfer,
			u32 status);

/* reply.c */
struct dmanic_xfer *dmanic_peer_reading(struct dmanic_peer *peer, u32 *at);

/* next.c */
bool dmanic_peer_next(struct dmanic_peer *peer, u64 now, struct dmanic_out *out);
void dmanic_peer_withdrawn(struct dmanic_peer *peer, const struct dmanic_out *out,
			   u64 now);
void dmanic_peer_unsent(struct dmanic_peer *peer, const struct dmanic_out *out,
			u64 now);

#endif /* DMANIC_PROTO_H */
