/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fabric.h - loop fabrics of a test, made and asked about by generic netlink
 *
 * A program's nodes are called t<pid>_0, t<pid>_1, ...; a test that needs nodes
 * of its own (because it fails, removes or slows them) makes more of them, and
 * whatever it leaves is removed after it. All functions need root.
 */
#ifndef FABRIC_H
#define FABRIC_H

#include "harness.h"

#include <linux/dmanic.h>
#include <linux/dmanic_netlink.h>
#include <linux/types.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#define FABRIC_NODES	4	/* of a program's own fabric */

struct fabric {
	char prefix[DMANIC_NAME_MAX];
	unsigned int nodes;
};

/* Zero and NULL mean: do not mention it to the driver */
struct model {
	const char *name;
	__u64 start_ns;
	__u64 interrupt_ns;
	__u64 latency_ns;
	__u64 bandwidth;
	__u32 scale;
	__u64 jitter_ns;
	__u64 seed;
};

/* What DEV_GET, STATS_GET, PEER_GET and events say; model.name points into model_name */
struct device {
	char name[DMANIC_NAME_MAX];
	char type[DMANIC_NAME_MAX];
	char fabric[DMANIC_NAME_MAX];
	__u32 node;
	__u32 nodes;
	__u32 state;
	__u64 incarnation;
	__u32 key_id;		/* zero: it has no key */
	__u32 fault_drop;	/* frames of a million that it drops on purpose */
	__u32 contexts;
	__u32 segments;
	__u32 queues;
	__u32 irqs;
	__u64 pinned;
	__u32 dma_state;
	__u32 dma_threshold;
	char dma_engine[DMANIC_NAME_MAX];
	bool has_model;
	bool has_stats;
	struct model model;
	char model_name[DMANIC_NAME_MAX];
	__u64 stats[DMANIC_STATS_A_MAX + 1];
	char netdev[DMANIC_NAME_MAX];	/* and what else an ether device is on */
	__u32 ifindex;
	__u32 mtu;
	__u32 path;
	__u32 peer;		/* of PEER_GET, and of an event about one */
	__u32 peer_link;	/* of PEER_GET: enum dmanic_peer_link */
	__u32 event;		/* of an event; zero: an answer */
};

/* A request under construction: put attributes with mnl_attr_put*(). */
struct request {
	struct nlmsghdr *header;
	char message[256];	/* what the kernel said about an error */
	char buffer[4096] __attribute__((aligned(8)));
};

extern struct fabric fabric;	/* the program's */
extern int netlink_family;

void request_begin(struct request *request, int command, int flags);
void request_model(struct request *request, const struct model *model);
/* DEV_NEW of a node on a network device, which is still to be put: as NETDEV, or by its index */
void request_ether(struct request *request, const struct fabric *of, unsigned int node,
		   __u64 dead_ns);
int request_send(struct request *request, mnl_cb_t callback, void *data);
int netlink_find_family(void);
bool fabric_on_netdevs(void);
/* Two network devices with a cable between them, which are up; their names, of IFNAMSIZ */
void veth_make(char *one, char *other);

int fabric_add(struct fabric *added, const char *letter, unsigned int nodes,
	       const struct model *model);
int fabric_delete(const char *prefix, bool force);
/* mnl_cb_t; @data: a struct device, which gets what the message has */
int read_device(const struct nlmsghdr *header, void *data);
int device_delete(const char *name, bool force);
int device_get(const char *name, struct device *device);
int device_stats(const char *name, struct device *device);
int device_set_failed(const char *name, bool failed);
int device_set_model(const char *name, const struct model *model);
unsigned int device_dump(const char *prefix, struct device *devices,
			 unsigned int room);

void fabric_make(struct fabric *made, const char *letter, unsigned int nodes,
		 const struct model *model);
/* Nodes on network devices, which take each other for dead after so long, not after 2 s */
void fabric_make_patient(struct fabric *made, const char *letter, unsigned int nodes,
			 __u64 dead_ns);
/*
 * Operations of each node take so much longer from now on: by its model, or frames to it are
 * late, but not by more than a node waits for; with 5 s and more they do not arrive until it
 * is called with zero, and in the end the nodes take each other for dead. What a node on a
 * network device does with itself is never late.
 */
void fabric_late(const struct fabric *of, __u64 ns);
void fabric_name(const struct fabric *of, unsigned int node, char *name);
bool fabric_idle(const struct fabric *of, char *what, size_t bytes);

/* One fabric for the whole program, no node of it in use between tests */
const char *fabric_start(void);
const char *fabric_after(pid_t child);
void fabric_stop(void);

/* The same for a program whose tests make all their fabrics */
const char *fabric_start_none(void);

extern const struct harness_program fabric_program;
extern const struct harness_program fabric_program_none;

#define FABRIC_TEST_MAIN()						\
	int main(int argc, char **argv)					\
	{								\
		return harness_main(argc, argv, &fabric_program);	\
	}

#define FABRIC_TEST_MAIN_NONE()						\
	int main(int argc, char **argv)					\
	{								\
		return harness_main(argc, argv, &fabric_program_none);	\
	}

#endif /* FABRIC_H */
