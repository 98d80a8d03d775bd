/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * link.h - ways to other nodes
 *
 * A link takes validated operations and completes each exactly once through
 * dmanic_queue_complete(), from any context, with op->status and op->result
 * set. On the receiving side it reaches memory through target.c only. One
 * link knows nothing of another.
 */
#ifndef DMANIC_LINK_H
#define DMANIC_LINK_H

#include <linux/if.h>

#include "config.h"
#include "dmanic.h"
#include "model.h"

struct net_device;
struct netlink_ext_ack;

/**
 * struct dmanic_dma_info - a DMA engine that copies for a node
 * @state: enum dmanic_dma_state
 * @threshold: contiguous bytes from which on it is used; 0: it is not
 * @name: of its channel, valid as long as the node; empty: there never was one
 */
struct dmanic_dma_info {
	u32 state;
	u32 threshold;
	const char *name;
};

/**
 * struct dmanic_ether_info - the network device a node is on
 * @netdev: its name
 * @ifindex: its number
 * @ethertype: of the frames
 * @crc: enum dmanic_crc, as asked for
 * @crc_on: payloads have checksums, if the other node agrees
 * @mtu: longest frame
 * @path: enum dmanic_path
 * @dead_ns: a peer that says nothing for so long is dead
 * @down: it carries nothing now
 * @rival_ns: so long ago somebody claimed the node's id; zero: never
 * @keyed: frames are made with a key
 * @key_id: of the key
 */
struct dmanic_ether_info {
	char netdev[IFNAMSIZ];
	u32 ifindex;
	u16 ethertype;
	u32 crc;
	bool crc_on;
	u32 mtu;
	u32 path;
	u64 dead_ns;
	bool down;
	u64 rival_ns;
	bool keyed;
	u32 key_id;
};

/**
 * struct dmanic_peer_info - another node, as a node sees it
 * @node: its id
 * @state: enum dmanic_peer_link
 * @address: its MAC address; U64_MAX: not known
 * @incarnation: of it
 * @mtu: longest frame of both
 * @frame: longest frame handed to the device: it is cut, unless the path carries it whole
 * @received: longest of data, or TEST, that came from it
 * @carried: longest piece of a test frame that arrived there; 0: not known yet
 * @refused: enum dmanic_refused
 * @crc: both have checksums of data on
 * @rtt_ns: smoothed round trip
 * @window: bytes that may be under way
 * @degraded: enum dmanic_degraded
 * @rival_ns: so long ago another claimed its id; zero: never
 */
struct dmanic_peer_info {
	u32 node;
	u32 state;
	u64 address;
	u64 incarnation;
	u32 mtu;
	u32 frame;
	u32 received;
	u32 carried;
	u32 refused;
	bool crc;
	u64 rtt_ns;
	u64 window;
	u32 degraded;
	u64 rival_ns;
};

/**
 * struct dmanic_link_ops - what a link can do
 * @type: "loop"
 * @features: DMANIC_FEATURE_* it has
 * @op_bytes: of op->link, zeroed when the queue is made; may be 0
 * @queue_bytes: of queue->link, zeroed when it is made; may be 0
 * @account_bytes: of account->link, the same
 * @account_gone: the user has no context any more; may be NULL
 * @connect: find the export of that kind on @remote->target.node, for @ctx. As @arg
 *	says: by name (waiting at most its timeout), else by target.id and key. Fills
 *	@remote, and @arg->refusal on failure. May sleep. 0 or -errno.
 * @reach: under RCU: the node of @target, when its memory is this machine's and
 *	the poster may use it at once; else NULL. @target NULL: this node, when
 *	operations cost nothing. dmanic_forget() when the answers change. May be
 *	NULL.
 * @map: under RCU: the node of @target, when a program may map its memory; else
 *	NULL, also when it does not answer or restarted. May be NULL. After a
 *	change to NULL dmanic_map_zap_all() is called.
 * @submit: must not sleep; take all @ops (of one queue, in order). Returns how many
 *	nanoseconds the poster has to spend, for a link that models a card.
 * @cancel: @op of @queue is given up (dmanic_op_given_up()), or all of @queue if
 *	that is NULL: complete what is not yet under way as CANCELLED, stop what
 *	is at the next block; returns at once. @op may be done already, and be
 *	another operation that was not given up.
 * @slow: operations may take as long as somebody asked for; NULL: they end
 *	soon. Nor is anything slow as long as dmanic_node_hurried().
 * @nr_nodes: nodes of the fabric; ether: this one and those that are connected now
 * @stop: the node goes: complete all its ops as LINK_DOWN and take no more
 * @set_model: change the cost model; -EOPNOTSUPP when NULL
 * @get_model: tell the cost model
 * @set_failed: let the node stop answering, or restart
 * @failed: is it set
 * @tell_dma: what DMA engine of the machine it copies with; NULL: it copies
 *	with none. Under dmanic_nodes_lock.
 * @tell_ether: what network device it is on; NULL: none. Under dmanic_nodes_lock.
 * @tell_counters: by enum dmanic_proto_attr; NULL: there are none
 * @peer: of other nodes known the @which-th; false: there are not so many. May be
 *	NULL.
 * @set_fault: make the way to the node bad; NULL: it cannot be
 * @get_fault: how bad it is
 * @set_key: frames are made with it from now on, and others are not taken. Under
 *	dmanic_nodes_lock. NULL: there are no frames.
 * @release: give back the struct that embeds @node
 */
struct dmanic_link_ops {
	const char *type;
	u64 features;
	size_t op_bytes;
	size_t queue_bytes;
	size_t account_bytes;
	void (*account_gone)(struct dmanic_node *node, struct dmanic_account *account);
	int (*connect)(struct dmanic_ctx *ctx, struct dmanic_connect *arg,
		       struct dmanic_remote *remote);
	struct dmanic_node *(*reach)(struct dmanic_node *node,
				     const struct dmanic_target *target);
	struct dmanic_node *(*map)(struct dmanic_node *node,
				   const struct dmanic_target *target);
	u64 (*submit)(struct dmanic_node *node, struct list_head *ops);
	void (*cancel)(struct dmanic_node *node, struct dmanic_queue *queue,
		       struct dmanic_op *op);
	bool (*slow)(struct dmanic_node *node);
	u32 (*nr_nodes)(struct dmanic_node *node);
	void (*stop)(struct dmanic_node *node);
	void (*set_model)(struct dmanic_node *node, const struct dmanic_model *model);
	void (*get_model)(struct dmanic_node *node, struct dmanic_model *model);
	void (*set_failed)(struct dmanic_node *node, bool failed);
	bool (*failed)(struct dmanic_node *node);
	void (*tell_dma)(struct dmanic_node *node, struct dmanic_dma_info *info);
	void (*tell_ether)(struct dmanic_node *node, struct dmanic_ether_info *info);
	void (*tell_counters)(struct dmanic_node *node, u64 *counter);
	bool (*peer)(struct dmanic_node *node, u32 which, struct dmanic_peer_info *info);
	void (*set_fault)(struct dmanic_node *node, const struct dmanic_fault *fault);
	void (*get_fault)(struct dmanic_node *node, struct dmanic_fault *fault);
	void (*set_key)(struct dmanic_node *node, const struct dmanic_link_key *key);
	void (*release)(struct dmanic_node *node);
};

static inline bool dmanic_link_slow(struct dmanic_node *node)
{
	return node->link->slow && node->link->slow(node);
}

#define DMANIC_LOOP_MAX_NODES	256U

/*
 * Make nodes prefix0 .. prefix<n-1> of one fabric. Called with
 * dmanic_nodes_lock held.
 */
int dmanic_loop_create(struct net *net, const char *prefix, u32 nodes,
		       const struct dmanic_model *model);

int dmanic_ether_port_check(struct net_device *dev, struct netlink_ext_ack *extack);
int dmanic_ether_create(struct net *net, const struct ether_config *config,
			struct netlink_ext_ack *extack);
int dmanic_ether_init(void);
void dmanic_ether_exit(void);

#endif /* DMANIC_LINK_H */
