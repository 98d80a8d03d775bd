/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim.h - N nodes with the driver's own protocol, and a network that is as bad as
 * asked for, under a virtual clock
 *
 * Everything follows from the seed. Files: world.c (clock, network, faults),
 * node.c (a node's surroundings: memory, interrupts, words, and the checks made
 * when they are touched), load.c (operations and the checks made when they end),
 * over.c (those that write over each other), sim.c (scenarios), options.c (a run and
 * its command line).
 *
 * Every operation has a part of its target's memory for itself, and its bytes
 * follow from its serial number, so that each byte that is placed can be checked
 * where it is placed. Or all of a flow write over each other (over.c), and what is
 * there is what was posted last.
 */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>

#include "driver/proto/proto.h"

#define SIM_DEPTH	8	/* operations of a flow at once, at most */
#define SIM_SHARES	3	/* one is urgent; bulk flows have the others */
#define SIM_KEY		0x5ec5e7ULL
#define SIM_MS		1000000ULL
#define SIM_DEAD	(2000 * SIM_MS)	/* the protocol's default */

/**
 * struct sim_config - a run
 * @seed: of everything
 * @nodes: how many
 * @peers: that each node sends to
 * @flows: of each node to each such peer; the first is urgent
 * @depth: operations of a flow at once
 * @operations: in all
 * @bytes: largest operation
 * @fixed: every operation is a WRITE of @bytes
 * @mtu: of the network
 * @super: of the links
 * @crc: payloads have checksums
 * @key: frames are made with one
 * @budget: of each node; 0: the default
 * @target_ns: delay by queues that nodes accept; 0: the default
 * @rto_ns: their shortest time-out; 0: the default
 * @latency_ns: one way
 * @jitter_ns: more than that, uniformly: so frames overtake each other
 * @rate: bytes a second of each node's cable; 0: no limit
 * @cable: the same, of what it sends; 0: as @rate
 * @queue: bytes that wait for a node's cable in the network
 * @drop: of a million frames
 * @duplicate: the same
 * @corrupt: the same
 * @late: the same: delayed by up to 5 ms
 * @unsent: the same: the link cannot send them
 * @bursts: times that a node loses all frames it sends for up to 3 ms, in all
 * @resizes: times that a node's MTU changes, in all
 * @deaths: nodes that stop for a while or restart, in all
 * @absences: times that node 0 has no CPU for a while, in all
 * @short_ns: after which time node 0 alone thinks others dead; an absence is up to five
 *	times as long
 * @bad: of a thousand operations, refused by the target
 * @cancel: of a thousand operations, given up
 * @change: of a thousand operations, whose source changes all the time
 * @to_one: all send to node 0
 * @every_ns: operations are posted at multiples of this time, by all at once; 0: when
 *	the one before has ended
 * @over: WRITEs only, and those of a flow go over each other
 * @small: little memory for each peer
 * @late_ns: the last node begins then
 * @loss_operations: of each measurement of "loss"
 * @incast_ms: how long "incast" is; "bursts" eight times, "shallow" ten times that
 * @planted: fails when so many operations have ended; 0: never
 * @trace: print every frame
 */
struct sim_config {
	u64 seed;
	u32 nodes;
	u32 peers;
	u32 flows;
	u32 depth;
	u64 operations;
	u32 bytes;
	bool fixed;
	u32 mtu;
	u32 super;
	bool crc;
	bool key;
	u32 budget;
	u64 target_ns;
	u64 rto_ns;
	u64 latency_ns;
	u64 jitter_ns;
	u64 rate;
	u64 cable;
	u64 queue;
	u32 drop;
	u32 duplicate;
	u32 corrupt;
	u32 late;
	u32 unsent;
	u32 bursts;
	u32 resizes;
	u32 deaths;
	u32 absences;
	u64 short_ns;
	u32 bad;
	u32 cancel;
	u32 change;
	bool to_one;
	u64 every_ns;
	u64 late_ns;
	u64 loss_operations;
	u64 incast_ms;
	u64 planted;
	bool over;
	bool small;
	bool trace;
};

/* An operation, and the part of the target's memory that is its own */
struct sim_op {
	struct dmanic_xfer xfer;
	struct sim_flow *flow;
	u64 area;	/* where its bytes go, in the target's memory */
	u64 serial;	/* 0: none was posted yet */
	u64 order;	/* in its flow */
	u64 posted;
	u64 absent;	/* sim.absent then */
	u64 rest_until;	/* after a failure: old frames may still arrive */
	u64 placed;	/* bytes at the target */
	u64 arrived;	/* bytes a READ brought */
	u8 *came;	/* which: a bit for each */
	u32 raised;	/* its notify */
	u32 done;	/* an atomic, at the target */
	u64 found;	/* what it found there */
	struct dmanic_lookup lookup;
	u32 want;	/* the status it must end with */
	bool busy;
	bool changing;
	bool cancelled;
	bool touched;	/* given up or of a lost connection: may be in part */
};

struct sim_flow {
	struct dmanic_flow flow;
	struct sim_node *node;
	struct sim_peer *peer;
	u8 class;
	struct sim_op op[SIM_DEPTH];
	u64 order;	/* of the next operation */
	u64 notified;	/* order of the last notify raised, plus one */
	u64 word;	/* in the target's memory: atomics */
	u64 counted;	/* order of the last atomic done, plus one */
	u64 did;	/* atomics done, since the target began */
	u8 *wanted;	/* over.c: what is to be in the area in the end */
	u64 *owner;	/* over.c: of each byte of it, serial of the last posted */
};

/* What a node has of another */
struct sim_peer {
	struct sim_node *node;
	struct sim_node *other;
	u64 armed;	/* a timer is set for then */
	struct sim_flow *flow;	/* to that node; NULL: it only sends to us */
	struct dmanic_share share[SIM_SHARES];
	u64 incarnation;	/* as last heard of */
	struct sim_peer *next;
	struct dmanic_peer *peer;
};

struct sim_node {
	struct dmanic_host host;
	u32 id;
	bool silent;
	u64 trouble;	/* when it was silent, or restarted, last */
	u64 burst;	/* what it sends gets lost until then */
	u64 away;	/* it has no CPU until then */
	u32 absences;	/* such times yet to come */
	bool looks;	/* what came meanwhile is handled before the time is looked at */
	u8 *memory;
	u64 memory_bytes;
	struct sim_peer *peers;
	u64 cable_free;	/* its own sending */
	u64 queue_free;	/* the network's, towards it */
	bool pump_armed;
	u64 reads;	/* held, env->read_begin() */
	u64 received;	/* bytes of WRITEs placed */
	u64 incarnation;
	struct sim_op *ended[4096];
	u32 nr_ended;
};

struct sim_world {
	struct sim_config config;
	u64 now;
	u64 random;
	struct sim_node *node;
	u8 *serial;	/* of each operation: did it end with OK */
	u64 serials;
	u64 posted;
	u64 ended;
	u64 ok;
	u64 failed;
	u64 bytes_ok;
	u64 frames;
	u64 dropped;
	u64 queue_drops;
	u64 digest;	/* of everything that happened */
	u64 last_end;
	u64 absent;	/* of all absences */
	bool stop;
};

extern struct sim_world sim;

/* A violation ends the run and says how to see it again */
#define SIM_CHECK(condition, ...)					\
	do {								\
		if (!(condition))					\
			sim_fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
	} while (0)

void __attribute__((noreturn, format(printf, 4, 5)))
sim_fail(const char *file, int line, const char *what, const char *format, ...);

/* sim.c */
struct sim_config sim_scenario(const char *name, u64 seed);

/* options.c */
/* Of the command line, NULL where nothing follows; false: told what is wrong with it */
bool sim_number(const char *option, const char *text, u64 least, u64 most,
		u64 *value);
bool sim_option_set(struct sim_config *config, const char *option, const char *text);
void sim_options_print(void);
void sim_replay_is(const char *program, const char *name, const struct sim_config *config);
void sim_replay_print(void);

/* world.c */
u64 sim_random(void);
bool sim_chance(u32 of, u32 most);
void sim_world_begin(const struct sim_config *config);
void sim_world_run(u64 until, bool (*done)(void));
void sim_world_end(void);
void sim_pump(struct sim_peer *peer);
void sim_timer(u64 when, void (*call)(void *), void *arg);
void sim_broadcast_hello(struct sim_node *node);
bool sim_away(struct sim_node *node, void (*call)(void *), void *arg);

struct sim_payload {
	const u8 *bytes;	/* the whole frame */
};

/* node.c */
extern const struct dmanic_env sim_env;
u8 sim_byte(u64 serial, u64 position);
void sim_fill(u64 serial, u64 position, u8 *to, u32 length);
void sim_source(const struct dmanic_source *source, struct sim_peer *peer, u8 *to);
struct sim_peer *sim_peer_get(struct sim_node *node, struct sim_node *other);
void sim_node_start(struct sim_node *node);
void sim_node_stop(struct sim_node *node);

/* over.c */
void sim_over_setup(struct sim_flow *flow);
void sim_over_post(struct sim_op *op);
void sim_over_check(const struct sim_flow *flow, u64 first, u64 last);

/* load.c */
void sim_load_setup(void);
void sim_load_start(struct sim_node *node);
void sim_load_ended(struct sim_node *node);
void sim_load_lost(struct sim_node *node);
void sim_load_absent(struct sim_node *node);
bool sim_load_done(void);
void sim_load_check_end(void);
struct sim_flow *sim_flow_next(struct sim_peer *peer, u32 *at);
bool sim_ended_ok(u64 serial);
struct sim_op *sim_op_at(struct sim_peer *from, u64 area);
u64 sim_area_bytes(void);

#endif /* SIM_H */
