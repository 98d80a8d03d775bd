/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dmanic_netlink.h - control plane: generic netlink family "dmanic"
 *
 * The family is described in Documentation/netlink/specs/dmanic.yaml. Commands
 * that change something need CAP_NET_ADMIN in the initial user namespace.
 * Errors carry an extended acknowledgment that says what to do.
 */
#ifndef _UAPI_LINUX_DMANIC_NETLINK_H
#define _UAPI_LINUX_DMANIC_NETLINK_H

#define DMANIC_GENL_NAME	"dmanic"
#define DMANIC_GENL_VERSION	1
#define DMANIC_GENL_GROUP_EVENTS "events"

/*
 * DEV_GET:   one device by NAME, or a dump of all in this network namespace.
 * DEV_NEW:   TYPE, NAME. loop: NODES nodes NAME0, NAME1, ...; MODEL. ether: one
 *            node NAME on NETDEV or IFINDEX, with the id NODE; ETHERTYPE, CRC,
 *            DEAD_NS, FABRIC, KEY, KEY_ID.
 * DEV_DEL:   NAME, or FABRIC (every node made with that prefix); FORCE.
 * DEV_SET:   NAME, or FABRIC (every node or none); MODEL, FAILED, FAULT, KEY with KEY_ID
 *            to change.
 * STATS_GET: as DEV_GET; NAME, TYPE, NODE, FABRIC and STATS.
 * EVENT:     not a request: what the multicast group "events" gets about devices
 *            of its network namespace: EVENT and what DEV_GET answers; about a
 *            peer: PEER with its NODE.
 * PEER_GET:  a dump of the other nodes that devices here know: NAME and PEER.
 */
enum dmanic_genl_cmd {
	DMANIC_GENL_CMD_UNSPEC,
	DMANIC_GENL_CMD_DEV_GET,
	DMANIC_GENL_CMD_DEV_NEW,
	DMANIC_GENL_CMD_DEV_DEL,
	DMANIC_GENL_CMD_DEV_SET,
	DMANIC_GENL_CMD_STATS_GET,
	DMANIC_GENL_CMD_EVENT,
	DMANIC_GENL_CMD_PEER_GET,
	__DMANIC_GENL_CMD_MAX,
};

#define DMANIC_GENL_CMD_MAX (__DMANIC_GENL_CMD_MAX - 1)

enum dmanic_attr {
	DMANIC_A_UNSPEC,
	DMANIC_A_NAME,		/* string: device; DEV_NEW loop: prefix */
	DMANIC_A_TYPE,		/* string: "loop", "ether" */
	DMANIC_A_NODE,		/* u32: node id */
	DMANIC_A_NODES,		/* u32: of a loop fabric; ether: this one, and connected now */
	DMANIC_A_FABRIC,	/* string: loop: the prefix; ether: as asked for, or NAME */
	DMANIC_A_STATE,		/* u32: enum dmanic_dev_state */
	DMANIC_A_INCARNATION,	/* u64 */
	DMANIC_A_FORCE,		/* flag: DEV_DEL though in use */
	DMANIC_A_FAILED,	/* u8: DEV_SET 1: node stops answering, 0: restarts */
	DMANIC_A_CONTEXTS,	/* u32: open contexts */
	DMANIC_A_SEGMENTS,	/* u32 */
	DMANIC_A_QUEUES,	/* u32 */
	DMANIC_A_IRQS,		/* u32 */
	DMANIC_A_PINNED,	/* u64: bytes of segments and rings */
	DMANIC_A_MODEL,		/* nest: enum dmanic_model_attr */
	DMANIC_A_STATS,		/* nest: enum dmanic_stats_attr */
	DMANIC_A_PAD,
	DMANIC_A_DMA_STATE,	/* u32: enum dmanic_dma_state */
	DMANIC_A_DMA_ENGINE,	/* string: channel it has, had or was offered */
	DMANIC_A_DMA_THRESHOLD,	/* u32: contiguous bytes from which on it is used */
	DMANIC_A_EVENT,		/* u32: enum dmanic_event */
	DMANIC_A_NETDEV,	/* string: network device of an ether device */
	DMANIC_A_IFINDEX,	/* u32: the same by number */
	DMANIC_A_ETHERTYPE,	/* u16: of the frames; default 0x88b5 */
	DMANIC_A_CRC,		/* u32: enum dmanic_crc, as asked for */
	DMANIC_A_CRC_ON,	/* u8: payloads have checksums */
	DMANIC_A_DEAD_NS,	/* u64: a silent peer is dead then; default 2 s */
	DMANIC_A_MTU,		/* u32: longest frame */
	DMANIC_A_PATH,		/* u32: enum dmanic_path */
	DMANIC_A_PEER,		/* nest: enum dmanic_peer_attr */
	DMANIC_A_PROTO,		/* nest: enum dmanic_proto_attr, with STATS */
	DMANIC_A_FAULT,		/* nest: enum dmanic_fault_attr */
	DMANIC_A_RIVAL_NS,	/* u64: so long ago another claimed its id; absent: never */
	DMANIC_A_KEY,		/* 16 bytes: of the fabric; none: no key. Nobody is told it */
	DMANIC_A_KEY_ID,	/* u32: a name for the key, not 0; default 1; absent: no key */
	__DMANIC_A_MAX,
};

#define DMANIC_A_MAX (__DMANIC_A_MAX - 1)

enum dmanic_dev_state {
	DMANIC_DEV_UP = 0,
	DMANIC_DEV_FAILED = 1,		/* set by FAILED */
	DMANIC_DEV_REMOVED = 2,
	DMANIC_DEV_LINK_DOWN = 3,	/* its network device carries nothing */
};

/* The DMA engine of the machine (dmaengine) that copies for a device */
enum dmanic_dma_state {
	DMANIC_DMA_DISABLED = 0,	/* module parameter dma=off */
	DMANIC_DMA_NONE = 1,		/* there was none free when it was made */
	DMANIC_DMA_MEASURING = 2,
	DMANIC_DMA_USED = 3,		/* from DMA_THRESHOLD on */
	DMANIC_DMA_SLOW = 4,		/* given back: the CPU is faster */
	DMANIC_DMA_FAILED = 5,		/* given back: lost copies or failed often */
	DMANIC_DMA_REMOVED = 6,		/* given back: its driver went */
};

/* What happened to the device; its other attributes are those it has now */
enum dmanic_event {
	DMANIC_EVENT_ADDED = 1,
	DMANIC_EVENT_REMOVED = 2,
	DMANIC_EVENT_MODEL = 3,		/* MODEL was set */
	DMANIC_EVENT_FAILED = 4,	/* it stopped answering */
	DMANIC_EVENT_RESTARTED = 5,	/* it answers again: new INCARNATION */
	DMANIC_EVENT_PEER_UP = 6,	/* another node is reached */
	DMANIC_EVENT_PEER_DOWN = 7,	/* it no longer is */
	DMANIC_EVENT_PEER_RESTARTED = 8, /* it is another one now */
	DMANIC_EVENT_PEER_REFUSED = 9,	/* it refuses this node */
	DMANIC_EVENT_PEER_RIVAL = 10,	/* two addresses claim its node id */
	DMANIC_EVENT_LINK_DOWN = 11,	/* the network device carries nothing */
	DMANIC_EVENT_LINK_UP = 12,	/* it does again */
	DMANIC_EVENT_PEER_DEGRADED = 13, /* large frames do not reach it: smaller ones do */
	DMANIC_EVENT_PEER_RESTORED = 14, /* they reach it again */
};

/* Checksums of payloads of an ether device */
enum dmanic_crc {
	DMANIC_CRC_AUTO = 0,		/* no key, hardware below or behind a bridge */
	DMANIC_CRC_OFF = 1,
	DMANIC_CRC_ON = 2,
};

/* What becomes of large frames of an ether device */
enum dmanic_path {
	DMANIC_PATH_WHOLE = 1,		/* the network device takes them as they are */
	DMANIC_PATH_CUT = 2,		/* cut into its frames, pages stay in place */
	DMANIC_PATH_COPIED = 3,		/* cut and copied: it takes no pages */
	DMANIC_PATH_NONE = 4,		/* none: GSO off, large MTU, or a key */
};

enum dmanic_peer_attr {
	DMANIC_PEER_A_UNSPEC,
	DMANIC_PEER_A_PAD,
	DMANIC_PEER_A_NODE,		/* u32: its id */
	DMANIC_PEER_A_STATE,		/* u32: enum dmanic_peer_link */
	DMANIC_PEER_A_ADDRESS,		/* binary: its MAC address, when known */
	DMANIC_PEER_A_INCARNATION,	/* u64: of it; 0: never connected */
	DMANIC_PEER_A_MTU,		/* u32: longest frame of both */
	DMANIC_PEER_A_RTT_NS,		/* u64: round trip; 0: not measured */
	DMANIC_PEER_A_WINDOW,		/* u64: bytes that may be under way */
	DMANIC_PEER_A_FRAME,		/* u32: longest frame handed to the device */
	DMANIC_PEER_A_CRC,		/* u32: 1: both have checksums of data on */
	DMANIC_PEER_A_DEGRADED,		/* u32: enum dmanic_degraded */
	DMANIC_PEER_A_RIVAL_NS,		/* u64: so long ago another claimed its id; absent: never */
	DMANIC_PEER_A_RECEIVED,		/* u32: longest frame of data, or TEST, that came */
	DMANIC_PEER_A_REFUSED,		/* u32: enum dmanic_refused */
	DMANIC_PEER_A_CARRIED,		/* u32: longest piece of a test that arrived; 0: none yet */
	__DMANIC_PEER_A_MAX,
};

#define DMANIC_PEER_A_MAX (__DMANIC_PEER_A_MAX - 1)

enum dmanic_peer_link {
	DMANIC_PEER_LINK_CLOSED = 0,
	DMANIC_PEER_LINK_OPENING = 1,
	DMANIC_PEER_LINK_PAIRED = 2,	/* a moment before it is open */
	DMANIC_PEER_LINK_OPEN = 3,
};

/* Why a node does not let this one connect, as it said last */
enum dmanic_refused {
	DMANIC_REFUSED_NOT = 0,		/* it lets it, or says nothing */
	DMANIC_REFUSED_VERSION = 1,	/* no version of the protocol in common */
	DMANIC_REFUSED_ID = 2,		/* it knows this node's id as another's */
	DMANIC_REFUSED_ROOM = 3,	/* it has no room for another node */
	DMANIC_REFUSED_OTHER = 4,	/* it says something else */
};

/* Frames that get lost on the way to a node, while shorter ones do not */
enum dmanic_degraded {
	DMANIC_DEGRADED_NONE = 0,
	DMANIC_DEGRADED_UNCUT = 1,	/* large ones: none that is to be cut is sent */
	DMANIC_DEGRADED_SHORT = 2,	/* those of the MTU, too: shorter ones are sent */
};

/* Counters of the protocol of an ether device; all u64, since it was made */
enum dmanic_proto_attr {
	DMANIC_PROTO_A_UNSPEC,
	DMANIC_PROTO_A_PAD,
	DMANIC_PROTO_A_FRAMES_SENT,	/* before they were cut */
	DMANIC_PROTO_A_FRAMES_RECEIVED,
	DMANIC_PROTO_A_DATA_SENT,	/* with data, after they were cut */
	DMANIC_PROTO_A_DATA_AGAIN,	/* of those, sent again */
	DMANIC_PROTO_A_ACKS_SENT,
	DMANIC_PROTO_A_ACKS_RECEIVED,
	DMANIC_PROTO_A_LOST,		/* frames taken for lost */
	DMANIC_PROTO_A_TIMEOUTS,	/* nothing came in time: all under way is LOST */
	DMANIC_PROTO_A_TAIL_PROBES,	/* sent to learn whether the end was lost */
	DMANIC_PROTO_A_DUPLICATES,	/* frames that brought nothing new */
	DMANIC_PROTO_A_REFUSED,		/* operations of other nodes refused */
	DMANIC_PROTO_A_CONNECTIONS,	/* made */
	DMANIC_PROTO_A_RESTARTS,	/* peers that restarted */
	DMANIC_PROTO_A_DEATHS,		/* peers that did not answer */
	DMANIC_PROTO_A_CORRUPT,		/* frames whose payload was damaged */
	DMANIC_PROTO_A_DROPPED,		/* frames received and dropped, for any reason */
	DMANIC_PROTO_A_UNSENT,		/* frames the network device did not take */
	DMANIC_PROTO_A_FAULTS,		/* frames received that FAULT did something to */
	DMANIC_PROTO_A_FORGED,		/* frames received not made with the key, and dropped */
	DMANIC_PROTO_A_REPLAYED,	/* old frames received, or ones that came again, dropped */
	__DMANIC_PROTO_A_MAX,
};

#define DMANIC_PROTO_A_MAX (__DMANIC_PROTO_A_MAX - 1)

/*
 * What happens on purpose to frames on their way to an ether device, to see how
 * programs bear it. Shares are parts per million, at most 1000000. DEV_SET
 * replaces all: what is not given is 0; an empty nest ends it.
 */
enum dmanic_fault_attr {
	DMANIC_FAULT_A_UNSPEC,
	DMANIC_FAULT_A_PAD,
	DMANIC_FAULT_A_SEED,		/* u64: the same frames meet the same faults */
	DMANIC_FAULT_A_DROP,		/* u32: are lost */
	DMANIC_FAULT_A_DUPLICATE,	/* u32: come twice */
	DMANIC_FAULT_A_CORRUPT,		/* u32: have a wrong bit */
	DMANIC_FAULT_A_REORDER,		/* u32: are not held up by DELAY_NS */
	DMANIC_FAULT_A_DELAY_NS,	/* u64: are so much late, at most 10 s */
	__DMANIC_FAULT_A_MAX,
};

#define DMANIC_FAULT_A_MAX (__DMANIC_FAULT_A_MAX - 1)

/* What a loop link pretends to cost; all zero moves data at memory speed */
enum dmanic_model_attr {
	DMANIC_MODEL_A_UNSPEC,
	/*
	 * string: preset. "custom" once a cost was changed; SCALE and SEED are not
	 * about which card it is, so the preset keeps its name with any of them
	 */
	DMANIC_MODEL_A_NAME,
	DMANIC_MODEL_A_START_NS,	/* u64: the poster's time, once a doorbell with data */
	/*
	 * u64: the poster's time, once a doorbell with notifies only, and again
	 * until it is delivered
	 */
	DMANIC_MODEL_A_INTERRUPT_NS,
	DMANIC_MODEL_A_LATENCY_NS,	/* u64: from the engine to the target */
	DMANIC_MODEL_A_BANDWIDTH,	/* u64: bytes a second through a node's engine */
	DMANIC_MODEL_A_SCALE,		/* u32: thousandths; stretches every time above */
	DMANIC_MODEL_A_JITTER_NS,	/* u64: seeded uniform extra delay, 0 to this */
	DMANIC_MODEL_A_SEED,		/* u64 */
	DMANIC_MODEL_A_PAD,
	__DMANIC_MODEL_A_MAX,
};

#define DMANIC_MODEL_A_MAX (__DMANIC_MODEL_A_MAX - 1)

/* All u64, since the device was made */
enum dmanic_stats_attr {
	DMANIC_STATS_A_UNSPEC,
	DMANIC_STATS_A_PAD,
	DMANIC_STATS_A_POSTED,		/* entries accepted */
	DMANIC_STATS_A_COMPLETED,	/* with DMANIC_STATUS_OK */
	DMANIC_STATS_A_FAILED,		/* with any other status */
	DMANIC_STATS_A_WRITE_BYTES,	/* placed by WRITE of this node */
	DMANIC_STATS_A_READ_BYTES,	/* fetched by READ of this node */
	DMANIC_STATS_A_NOTIFIES_SENT,
	DMANIC_STATS_A_NOTIFIES_RAISED,	/* interrupts of this node raised */
	DMANIC_STATS_A_TARGET_REFUSED,	/* accesses to this node refused */
	/*
	 * how often entries were taken from a ring: by ENTER, by an io_uring's ENTER or
	 * by a polling thread; not operations that an io_uring posted
	 */
	DMANIC_STATS_A_DOORBELLS,
	DMANIC_STATS_A_ATOMICS,		/* done for this node */
	DMANIC_STATS_A_DMA_BYTES,	/* of operations of this node, by a DMA engine */
	DMANIC_STATS_A_DMA_FALLBACKS,	/* pieces that it failed and the CPU copied */
	__DMANIC_STATS_A_MAX,
};

#define DMANIC_STATS_A_MAX (__DMANIC_STATS_A_MAX - 1)

#endif /* _UAPI_LINUX_DMANIC_NETLINK_H */
