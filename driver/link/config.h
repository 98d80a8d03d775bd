/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * config.h - what a device of type ether can be told
 */
#ifndef DMANIC_CONFIG_H
#define DMANIC_CONFIG_H

#include <linux/types.h>

struct net_device;

/**
 * struct dmanic_fault - what happens to frames on their way to a node, on purpose
 * @drop: parts per million that are lost
 * @duplicate: that come twice
 * @corrupt: that arrive with a wrong bit
 * @reorder: that pass those which @delay_ns holds up
 * @delay_ns: all others arrive so much later
 * @seed: of the choice
 */
struct dmanic_fault {
	u32 drop;
	u32 duplicate;
	u32 corrupt;
	u32 reorder;
	u64 delay_ns;
	u64 seed;
};

static inline bool dmanic_fault_any(const struct dmanic_fault *fault)
{
	return fault->drop || fault->duplicate || fault->corrupt || fault->delay_ns;
}

#define DMANIC_KEY_BYTES	16U

/**
 * struct dmanic_link_key - what all nodes of a fabric know
 * @bytes: it, or NULL: frames are anybody's
 * @id: a name for it
 */
struct dmanic_link_key {
	const u8 *bytes;
	u32 id;
};

/**
 * struct ether_config - a node to be made on a network device
 * @name: of the node
 * @fabric: what it is told with others by
 * @dev: network device
 * @id: node id
 * @ethertype: of the frames
 * @crc: enum dmanic_crc
 * @dead_ns: a peer that says nothing for so long is dead; 0: the default
 * @key: from the beginning
 */
struct ether_config {
	const char *name;
	const char *fabric;
	struct net_device *dev;
	u32 id;
	u16 ethertype;
	u32 crc;
	u64 dead_ns;
	struct dmanic_link_key key;
};

#endif /* DMANIC_CONFIG_H */
