/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ether.h - nodes on a network device: every object of the ether link
 *
 * Objects
 *
 *	node   what the core sees, and one host of the protocol. Made by DEV_NEW on
 *	       a network device, goes with it. [device refcount]
 *	port   a network device and an EtherType that nodes are on: takes frames.
 *	       Made with the first node on it, gone with the last. [its nodes]
 *	cutter what cuts large frames of an EtherType. [ports]
 *	peer   another node, and the connection to it. Made by who connects first,
 *	       on either side. Its memory lives as long as the node; while nobody
 *	       uses it, it may become the peer of another one. [users]
 *	eop    what the link keeps of an operation, in op->link. [its queue]
 *	lookup a question to a peer: where an export is. [who waits for it]
 *	share  what a user has of a peer, and a flow what a queue has. [account, queue]
 *
 * The way of an operation
 *
 *	ether_op.c submit() makes a transfer of it, for the protocol (proto.h) ->
 *	ether_run.c asks the protocol for frames -> ether_frame.c builds them of
 *	pages of the segment -> the device. ether_gso.c cuts those that the device
 *	cannot take whole. At the other side ether_port.c takes frames and finds
 *	the node -> ether_receive.c -> the protocol -> ether_target.c places
 *	bytes. Acknowledgments come back the same way; the protocol completes
 *	the transfer, and ether_run.c the operation.
 *
 *	A node's operations with itself never leave it (ether_self.c). Frames from
 *	one node to another on the same device take a short cut to the device's
 *	receiving side, for what is sent to one's own address does not come back.
 *
 * Locks
 *
 *	rtnl_lock          outside of dmanic_nodes_lock: making a node, and all that
 *	                   happens to a device
 *	dmanic_nodes_lock  ports and their lists of nodes (readers use RCU)
 *	en->lock           spinlock, softirqs off: all of the protocol, peers, eops.
 *	                   Held while frames are received and built, never while
 *	                   one is sent or an operation completed.
 *
 * One at a time sends for a node (en->sending), and one completes (en->completer), so
 * that both are done in order; everybody else leaves what is to be done under en->lock
 * and goes. Who does has softirqs off, so a grace period of RCU waits for him.
 *
 * A frame holds the pages it was built of, so that segment, operation and node may
 * go while a device has it still.
 */
#ifndef DMANIC_ETHER_H
#define DMANIC_ETHER_H

#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include "dmanic.h"
#include "link.h"
#include "proto.h"

/*
 * What large frames call themselves, so that a device which takes such frames whole
 * (veth, dummy) takes ours. Nothing else in the kernel looks at it.
 */
#define ETHER_GSO_TYPE		SKB_GSO_SCTP
#define ETHER_GSO_FEATURE	NETIF_F_GSO_SCTP

/* What is less is no path for us: with a key the least of frames has room for its proof */
#define ETHER_MTU_MIN		(DMANIC_WIRE_MTU_MIN + DMANIC_WIRE_AUTH_BYTES)

/*
 * Other nodes at once. One user has most of them, and so have guests, whom nobody here asks
 * for; who comes last has as many as both leave.
 */
#define ETHER_PEERS_MAX		320U
#define ETHER_USER_PEERS_MAX	192U
#define ETHER_GUESTS_MAX	192U
#define ETHER_GUESTS_KEPT	64U	/* of these, where somebody here wants a place */
#define ETHER_HASH_BITS		6
#define ETHER_SHARE_OPS		4096U	/* of a user with a peer; more wait, but for */
#define ETHER_QUEUE_OPS		16U	/* so many of each queue */
#define ETHER_LOOKS		4096U	/* at entries of LISTs, in a hold of the lock */
#define ETHER_BATCH		16U

/**
 * struct ether_frame - a frame that came, as struct dmanic_frame has it
 * @skb: it
 * @own: a copy that nobody else writes to, or NULL; see dmanic_ether_frame_own()
 */
struct ether_frame {
	struct sk_buff *skb;
	struct sk_buff *own;
};

/**
 * struct ether_port - a network device, and nodes on it
 * @entry: in the list of ports, under dmanic_nodes_lock; readers use RCU
 * @dev: the device
 * @tracker: of the reference to it
 * @nodes: struct ether_node.entry; readers use RCU
 * @nr_nodes: how many
 * @address: of the device
 * @down: it carries nothing: not up, or a bridge's or a bond's
 * @taker: takes frames of the EtherType from @dev
 */
struct ether_port {
	struct list_head entry;
	struct net_device *dev;
	netdevice_tracker tracker;
	struct list_head nodes;
	unsigned int nr_nodes;
	u64 address;
	bool down;
	struct packet_type taker;
};

/**
 * struct ether_fault - how bad the wire to a node is, on purpose
 * @on: at all; read without a lock
 * @rule: what happens to frames
 * @random: decides to which
 * @hit: frames that something happened to, but for being late
 * @held: frames that are late, in the order of their times
 * @held_bytes: memory of these
 * @timer: the first of them is due
 */
struct ether_fault {
	bool on;
	struct dmanic_fault rule;
	struct rnd_state random;
	u64 hit;
	struct sk_buff_head held;
	u32 held_bytes;
	struct hrtimer timer;
};

/**
 * struct ether_batch - a frame to be sent, and what to tell the protocol if it could not be
 * @skb: the frame
 * @ep: to whom; NULL: nobody wants to know
 * @seq: as in struct dmanic_out
 * @units: the same
 * @class: the same
 */
struct ether_batch {
	struct sk_buff *skb;
	struct ether_peer *ep;
	u64 seq;
	u32 units;
	u8 class;
};

/**
 * struct ether_node - a node
 * @node: what the core sees
 * @port: where it is; NULL once it is stopped
 * @entry: in port->nodes
 * @info: what it is, under dmanic_nodes_lock
 * @wakeups: makes spare peers and tells listeners; holds @node
 * @self_work: operations with itself; holds @node
 * @lock: protects what follows
 * @stopped: takes nothing more
 * @silent: stopped, sends nothing more, and who posts completes it himself
 * @sending: somebody sends what was built: @batch is his
 * @completer: who completes what was done, as current; NULL: nobody
 * @host: the protocol's
 * @peers: by node id
 * @tags: by the tag in frames to us; readers use RCU, too
 * @nr_peers: how many
 * @nr_guests: of these, whom nobody here asked for
 * @nr_came: of @nr_peers, those with @came: guests, and what was a guest
 * @spare: a peer for who connects to us next, or NULL
 * @active: peers that may have something to send
 * @batch: frames built under one hold of the lock
 * @answers: frames to be sent at once
 * @done: operations to be completed, in order
 * @wakes: interrupts that were raised: who waits is to be told, without @lock
 * @looks: entries of LISTs that were looked at in this hold of the lock
 * @behind_first: @behind had the first of them, not @resumed
 * @resumed: eops of LISTs that go on
 * @behind: queues whose ops may be taken that waited
 * @selves: queues that have operations with itself, in turn
 * @kick: goes on sending
 * @news: peers that something is to be told of
 * @events: of this node's own id: bits, by enum dmanic_peer_event
 * @rival_at: when a rival was told of last
 * @unsent: frames that could not be built or sent
 * @fault: what happens to frames that come
 * @out: the frame that is being built
 * @head: its head
 * @farewell: one that is built meanwhile
 * @farewell_head: its head
 */
struct ether_node {
	struct dmanic_node node;
	struct ether_port *port;
	struct list_head entry;
	struct dmanic_ether_info info;
	struct work_struct wakeups;
	struct work_struct self_work;

	spinlock_t lock; /* protects what follows */
	bool stopped;
	bool silent;
	bool sending;
	struct task_struct *completer;
	struct dmanic_host host;
	DECLARE_HASHTABLE(peers, ETHER_HASH_BITS);
	DECLARE_HASHTABLE(tags, ETHER_HASH_BITS);
	unsigned int nr_peers;
	unsigned int nr_guests;
	unsigned int nr_came;
	struct ether_peer *spare;
	struct list_head active;
	struct ether_batch batch[ETHER_BATCH];
	struct sk_buff_head answers;
	struct list_head done;
	struct dmanic_wakes wakes;
	u32 looks;
	bool behind_first;
	struct list_head resumed;
	struct list_head behind;
	struct list_head selves;
	struct hrtimer kick;
	struct list_head news;
	unsigned long events;
	u64 rival_at;
	u64 unsent;
	struct ether_fault fault;
	struct dmanic_out out;
	u8 head[DMANIC_WIRE_HEAD_MAX];
	struct dmanic_out farewell;
	u8 farewell_head[DMANIC_WIRE_HEAD_MAX];
};

/**
 * struct ether_peer - another node; all under en->lock
 * @en: this node
 * @entry: in en->peers
 * @tagged: in en->tags, while the connection has a tag
 * @active: in en->active
 * @ops: struct ether_op.of_peer
 * @news: in en->news
 * @events: to be told of it: bits, by enum dmanic_peer_event
 * @rival_at: when a rival of it was told of last
 * @reads_at: when what it reads was looked at
 * @index: the number of its place: shares and flows are found by it
 * @users: who has it without the lock, and LISTs that go on: it stays the peer of its node
 * @user: who asked for it, is here, and has it among his places; NULL: it is a guest
 * @came: it came before anybody asked for it, or who did is gone
 * @hash: what frames to it have in common, where something sorts them
 * @check: it connected anew: operations for the one it was before are to end
 * @died: node->deaths when it died or restarted last; zero: it never did, as this node.
 *	When it becomes another's, operations that wait for something else ask anew.
 * @timer: when the protocol wants to know of the time
 * @armed: when that goes off; DMANIC_NEVER: it does not
 * @peer: the protocol's; larger than it looks
 */
struct ether_peer {
	struct ether_node *en;
	struct hlist_node entry;
	struct hlist_node tagged;
	struct list_head active;
	struct list_head ops;
	struct list_head news;
	unsigned long events;
	u64 rival_at;
	u64 reads_at;
	unsigned int index;
	unsigned int users;
	struct ether_user *user;
	bool came;
	u32 hash;
	bool check;
	u64 died;
	struct hrtimer timer;
	u64 armed;
	struct dmanic_peer peer;
};

/**
 * struct ether_share - what a user has of a peer, under en->lock
 * @of: the protocol's, by class
 * @asking: his lookups
 * @users: operations under way, LISTs that go on, and calls of connect()
 */
struct ether_share {
	struct dmanic_share of[DMANIC_CLASSES];
	struct dmanic_flow asking;
	unsigned int users;
};

/**
 * struct ether_user - what the link keeps of an account, in account->link
 * @nr_peers: of which he uses a share
 * @nr_uses: the sum of @users of all his shares
 * @nr_places: of peers whose @user he is, in use or not
 * @share: by ep->index
 */
struct ether_user {
	unsigned int nr_peers;
	unsigned int nr_uses;
	unsigned int nr_places;
	struct ether_share share[ETHER_PEERS_MAX];
};

/**
 * struct ether_queue - what the link keeps of a queue, in queue->link
 * @nr_ops: in queue->turn, under en->lock
 * @flow: by ep->index
 */
struct ether_queue {
	unsigned int nr_ops;
	struct dmanic_flow flow[ETHER_PEERS_MAX];
};

/**
 * struct ether_op - what the link keeps of an operation
 * @xfer: what the protocol does
 * @op: the operation
 * @ep: where it goes; NULL: nothing of it is with the protocol
 * @of_queue: in queue->turn
 * @of_peer: in ep->ops
 * @resume: in en->resumed
 * @list_status: LIST: how it ends after what is under way
 * @list_reach: LIST that writes: behind the last entry that what is under way may have
 * @uses: LIST some of which was with the protocol: the peer it uses until it ends, or NULL
 * @local: LIST that reads: where the bytes under way go
 */
struct ether_op {
	struct dmanic_xfer xfer;
	struct dmanic_op *op;
	struct ether_peer *ep;
	struct list_head of_queue;
	struct list_head of_peer;
	struct list_head resume;
	u32 list_status;
	u32 list_reach;
	struct ether_peer *uses;
	u64 local;
};

static inline struct ether_node *to_ether(struct dmanic_node *node)
{
	return container_of(node, struct ether_node, node);
}

static inline struct ether_queue *to_ether_queue(const struct dmanic_queue *queue)
{
	return queue->link;
}

static inline struct ether_peer *to_ether_peer(struct dmanic_peer *peer)
{
	return container_of(peer, struct ether_peer, peer);
}

static inline struct ether_op *to_eop(struct dmanic_xfer *xfer)
{
	return container_of(xfer, struct ether_op, xfer);
}

static inline bool ether_is_list(const struct dmanic_op *op)
{
	return op->list.mem;
}

/* ether.c */
extern struct workqueue_struct *dmanic_ether_wq;
void dmanic_ether_hello(struct ether_node *en);
void dmanic_ether_look_below(struct ether_node *en);

/* ether_port.c */
struct ether_port *dmanic_ether_port_get(struct net_device *dev, u16 ethertype);
void dmanic_ether_port_put(struct ether_port *port);
int dmanic_ether_port_join(struct ether_port *port, struct ether_node *en);
void dmanic_ether_port_leave(struct ether_node *en);
u32 dmanic_ether_path(struct net_device *dev, u16 ethertype);
u32 dmanic_ether_mtu(const struct net_device *dev);
void dmanic_ether_set_mtu(struct ether_node *en, const struct net_device *dev);
int dmanic_ether_port_init(void);
void dmanic_ether_port_exit(void);

/* ether_gso.c */
int dmanic_ether_cutter_get(u16 ethertype);
void dmanic_ether_cutter_put(u16 ethertype);

/* ether_frame.c */
struct sk_buff *dmanic_ether_frame_build(struct ether_node *en, const struct dmanic_out *out);
bool dmanic_ether_frame_send(struct ether_port *port, struct sk_buff *skb);
void dmanic_ether_frame_set_gso(struct sk_buff *skb, u32 piece, u32 pieces);
u32 dmanic_ether_frame_crc(const struct sk_buff *skb, u32 at, u32 length);
void dmanic_ether_frame_mac(const struct sk_buff *skb, u32 at, u32 length,
			    struct dmanic_mac *mac);
bool dmanic_ether_frame_own(struct ether_frame *frame);

/* The bytes of a frame that came */
static inline const struct sk_buff *dmanic_ether_bytes(const struct dmanic_frame *frame)
{
	const struct ether_frame *link = frame->link;

	return link->own ?: link->skb;
}

/* ether_receive.c */
DECLARE_PER_CPU(struct ether_node *, dmanic_ether_receiving);
bool dmanic_ether_wants(struct ether_node *en, u64 tag);
void dmanic_ether_receive(struct ether_node *en, struct sk_buff *skb);

/* ether_fault.c */
void dmanic_ether_fault(struct ether_node *en, struct sk_buff *skb);
void dmanic_ether_fault_init(struct ether_node *en);
void dmanic_ether_fault_exit(struct ether_node *en);
void dmanic_ether_set_fault(struct dmanic_node *node, const struct dmanic_fault *rule);
void dmanic_ether_get_fault(struct dmanic_node *node, struct dmanic_fault *rule);

/* ether_run.c; wake under en->lock */
void dmanic_ether_wake(struct ether_peer *ep);
bool dmanic_ether_idle(const struct ether_node *en);
bool dmanic_ether_run_some(struct ether_node *en);
void dmanic_ether_run(struct ether_node *en);
enum hrtimer_restart dmanic_ether_kick(struct hrtimer *timer);
enum hrtimer_restart dmanic_ether_timer(struct hrtimer *timer);

/* ether_peer.c */
struct ether_peer *dmanic_ether_peer_find(struct ether_node *en, u32 id);
void dmanic_ether_peer_disown(struct ether_peer *ep);
struct ether_peer *dmanic_ether_peer_take(struct ether_node *en, u32 id,
					  const struct dmanic_account *account);
struct ether_peer *dmanic_ether_peer_make(struct ether_node *en, u32 id,
					  const struct dmanic_account *account,
					  struct dmanic_refusal *refusal);
void dmanic_ether_peer_put(struct ether_peer *ep, const struct dmanic_account *account);
void dmanic_ether_peer_refill(struct ether_node *en);
void dmanic_ether_peer_close_all(struct ether_node *en);
void dmanic_ether_peer_free_all(struct ether_node *en);
void dmanic_ether_wakeups(struct work_struct *work);
extern const struct dmanic_env dmanic_ether_env;

/* ether_share.c; all but asking and account_gone under en->lock */
int dmanic_ether_share_check(struct ether_node *en, u32 id,
			     const struct dmanic_account *account,
			     struct dmanic_refusal *refusal);
void dmanic_ether_share_get(struct ether_peer *ep, const struct dmanic_account *account);
void dmanic_ether_share_put(struct ether_peer *ep, const struct dmanic_account *account);
bool dmanic_ether_share_full(const struct ether_peer *ep, const struct dmanic_queue *queue);
struct dmanic_flow *dmanic_ether_share_asking(const struct ether_peer *ep,
					      const struct dmanic_account *account);
struct dmanic_flow *dmanic_ether_share_flow(const struct ether_peer *ep,
					    const struct dmanic_queue *queue);
void dmanic_ether_account_gone(struct dmanic_node *node, struct dmanic_account *account);

/* ether_target.c: the protocol's, as env.h says of them */
u32 dmanic_ether_place(struct dmanic_peer *peer, const struct dmanic_record *record,
		       u32 skip, const struct dmanic_frame *frame, u32 at, u32 length);
u32 dmanic_ether_notify(struct dmanic_peer *peer, const struct dmanic_record *record);
u32 dmanic_ether_atomic(struct dmanic_peer *peer, const struct dmanic_record *record,
			u64 *old);
u32 dmanic_ether_read_begin(struct dmanic_peer *peer, const struct dmanic_record *record,
			    struct dmanic_xfer *xfer);
void dmanic_ether_read_end(struct dmanic_peer *peer, struct dmanic_xfer *xfer);
bool dmanic_ether_read_allowed(struct ether_node *en, const struct dmanic_xfer *xfer);
void dmanic_ether_copy(struct dmanic_mem *mem, u64 offset, const struct sk_buff *skb,
		       u32 at, u32 length);

/* ether_op.c; resume, end and end_all under en->lock */
u64 dmanic_ether_submit(struct dmanic_node *node, struct list_head *ops);
void dmanic_ether_cancel(struct dmanic_node *node, struct dmanic_queue *queue,
			 struct dmanic_op *op);
void dmanic_ether_end(struct ether_node *en, struct dmanic_op *op, u32 status);
void dmanic_ether_resume(struct ether_node *en);
void dmanic_ether_check(struct ether_peer *ep);
void dmanic_ether_place_read(struct dmanic_peer *peer, struct dmanic_xfer *xfer,
			     u64 position, const struct dmanic_frame *frame, u32 at,
			     u32 length);
void dmanic_ether_complete(struct dmanic_peer *peer, struct dmanic_xfer *xfer);
u32 dmanic_ether_cut(struct dmanic_xfer *xfer, u64 position, u32 most, u64 *offset,
		     u64 *at);

/* ether_self.c; cancel under en->lock */
void dmanic_ether_self_submit(struct ether_node *en, struct dmanic_op *op);
void dmanic_ether_self_cancel(struct ether_node *en, struct dmanic_queue *queue);
bool dmanic_ether_self_cancel_some(struct ether_node *en, u32 status);
void dmanic_ether_self_work(struct work_struct *work);

/* ether_connect.c */
u32 dmanic_ether_lookup(struct dmanic_peer *peer, struct dmanic_lookup *lookup);
int dmanic_ether_connect(struct dmanic_ctx *ctx, struct dmanic_connect *arg,
			 struct dmanic_remote *remote);

#endif /* DMANIC_ETHER_H */
