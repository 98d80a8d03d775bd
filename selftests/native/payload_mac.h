/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * payload_mac.h - what a frame's head says of its payload when there is a key, of a payload
 *	that is in one piece, as tests, the simulator and the hostile neighbour have it
 */
#ifndef PAYLOAD_MAC_H
#define PAYLOAD_MAC_H

#include "driver/proto/mac.h"

static inline u64 payload_mac(const struct dmanic_key *key, const u8 *bytes, u32 length)
{
	struct dmanic_mac mac;

	if (!length)
		return 0;
	dmanic_mac_begin(&mac, key, DMANIC_MAC_PAYLOAD);
	dmanic_mac_add(&mac, bytes, length);
	return dmanic_mac_end(&mac);
}

#endif /* PAYLOAD_MAC_H */
