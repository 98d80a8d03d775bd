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
 * DEV_NEW:   TYPE, NAME. loop: NODES nodes NAME0, NAME1, ...; MODEL.
 * DEV_DEL:   NAME, or FABRIC (every node made with that prefix); FORCE.
 * DEV_SET:   NAME, or FABRIC (every node or none); MODEL, FAILED to change.
 * STATS_GET: as DEV_GET; NAME, TYPE, NODE, FABRIC and STATS.
 * EVENT:     not a request: what the multicast group "events" gets about devices
 *            of its network namespace: EVENT and what DEV_GET answers.
 */
enum dmanic_genl_cmd {
	DMANIC_GENL_CMD_UNSPEC,
	DMANIC_GENL_CMD_DEV_GET,
	DMANIC_GENL_CMD_DEV_NEW,
	DMANIC_GENL_CMD_DEV_DEL,
	DMANIC_GENL_CMD_DEV_SET,
	DMANIC_GENL_CMD_STATS_GET,
	DMANIC_GENL_CMD_EVENT,
	__DMANIC_GENL_CMD_MAX,
};

#define DMANIC_GENL_CMD_MAX (__DMANIC_GENL_CMD_MAX - 1)

enum dmanic_attr {
	DMANIC_A_UNSPEC,
	DMANIC_A_NAME,		/* string: device; DEV_NEW loop: prefix */
	DMANIC_A_TYPE,		/* string: "loop" */
	DMANIC_A_NODE,		/* u32: node id */
	DMANIC_A_NODES,		/* u32: nodes of a loop fabric */
	DMANIC_A_FABRIC,	/* string: the prefix a loop device was made with */
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
	__DMANIC_A_MAX,
};

#define DMANIC_A_MAX (__DMANIC_A_MAX - 1)

enum dmanic_dev_state {
	DMANIC_DEV_UP = 0,
	DMANIC_DEV_FAILED = 1,		/* set by FAILED */
	DMANIC_DEV_REMOVED = 2,
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
	DMANIC_EVENT_PEER_UP = 6,	/* reserved: another node is reached */
	DMANIC_EVENT_PEER_DOWN = 7,	/* reserved: it no longer is */
};

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
	DMANIC_STATS_A_DOORBELLS,	/* ENTER calls that submitted something */
	DMANIC_STATS_A_ATOMICS,		/* done for this node */
	DMANIC_STATS_A_DMA_BYTES,	/* of operations of this node, by a DMA engine */
	DMANIC_STATS_A_DMA_FALLBACKS,	/* pieces that it failed and the CPU copied */
	__DMANIC_STATS_A_MAX,
};

#define DMANIC_STATS_A_MAX (__DMANIC_STATS_A_MAX - 1)

#endif /* _UAPI_LINUX_DMANIC_NETLINK_H */
