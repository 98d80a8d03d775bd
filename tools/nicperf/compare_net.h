/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compare_net.h - two namespaces, pairs of network devices, and nodes on them
 *
 *	namespace near                       namespace far
 *
 *	   device 0, node 0                     device 1, node 1     CRC off
 *	   device 2, node 2                     device 3, node 3     CRC on
 *	   full  <--------- veth pair --------->  full
 *	   198.18.0.1                             198.18.0.2
 *
 *	   plain <--------- veth pair --------->  plain              no offloads
 *	   198.18.1.1                             198.18.1.2
 *
 *	the first namespace of the machine
 *
 *	   nicperfPIDa <-- veth pair --> nicperfPIDb                 for Soft RoCE
 *	   198.18.2.1                    198.18.2.2
 *
 * A pair of its own is without offloads: to switch those of the other one off
 * and on would change the way of our frames, too. Soft RoCE knows no namespace but
 * the first one.
 *
 * The namespaces have no name: they go with the descriptors, whatever ends the
 * process, and all that is in them goes along. Only the last pair must be removed.
 *
 * For one thread, which is in its own namespace before and after each call. A
 * function that fails leaves the whole sentence in @error, and returns a negative
 * errno.
 */
#ifndef NICPERF_COMPARE_NET_H
#define NICPERF_COMPARE_NET_H

#include <linux/dmanic.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/common/output.h"

enum side { SIDE_NEAR, SIDE_FAR, SIDES };
enum wire { WIRE_FULL, WIRE_PLAIN, WIRE_RDMA, WIRES };

#define NET_NODES	4	/* two of each side, in turn */

/**
 * struct net - all of it
 * @home: namespace of this process; -1: not open, and so is @space
 * @space: the two namespaces
 * @mtu: of all pairs
 * @made: the pair is there
 * @device: names of the ether devices; empty: not made
 * @error: why it could not be made
 */
struct net {
	int home;
	int space[SIDES];
	unsigned int mtu;
	bool made[WIRES];
	char device[NET_NODES][DMANIC_NAME_MAX];
	char error[640];
};

/* Namespaces, the first two pairs, the nodes; net_remove() in both cases */
int net_create(struct net *net, unsigned int mtu);
void net_remove(struct net *net);

/* One more pair; net_remove() removes it */
int net_wire_create(struct net *net, enum wire wire);

/* What a device of a pair is called in its namespace */
char *net_wire_name(enum wire wire, enum side side, char name[IFNAMSIZ]);

/* Where a socket of that side is reached */
struct sockaddr_in net_address(enum wire wire, enum side side, uint16_t port);

/* A socket of that side: a descriptor */
int net_socket(struct net *net, enum side side, int type);

/* Say it in @error; returns @ret */
int net_fail(struct net *net, int ret, const char *format, ...)
	OUTPUT_PRINTF(3, 4);

#endif /* NICPERF_COMPARE_NET_H */
