/* SPDX-License-Identifier: GPL-2.0-only */
/* proto_keyed.h - a pair whose sides have a key, for the tests of it */
#ifndef PROTO_KEYED_H
#define PROTO_KEYED_H

#include "proto_pair.h"
#include "unit.h"

#define MTU	1500

static u8 source[PAIR_MEMORY];
static struct dmanic_xfer xfer[64];

static inline void begin(bool keyed)
{
	struct dmanic_proto_config config = { .mtu = MTU };
	u32 i;

	for (i = 0; i < sizeof(source); i++)
		source[i] = i * 7 + i / 256;
	pair_keyed = keyed;
	pair_begin_with(config);
	pair_keyed = false;
}

static inline void put(u32 i, u32 length, u64 offset)
{
	xfer[i] = pair_write(source + offset, length, offset);
	pair_submit(0, &xfer[i]);
}

static inline u64 dropped(u32 i, enum dmanic_drop why)
{
	return pair[i].host.stats.dropped[why];
}
#endif /* PROTO_KEYED_H */
