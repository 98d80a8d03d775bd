/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * neighbor.h - what a hostile neighbour knows, and the frames it makes of that
 */
#ifndef NEIGHBOR_H
#define NEIGHBOR_H

#include "driver/proto/proto.h"

#define ETHERNET	14
#define LONGEST		(ETHERNET + DMANIC_WIRE_FRAME_MAX)
#define HEARD		64U
#define ETHERTYPE	0x88b5

#define GSO_CHECKSUM	1
#define GSO_TCPV4	1
#define GSO_UDP		3
#define GSO_TCPV6	4
#define GSO_UDP_L4	5
#define GSO_ECN		0x80

/**
 * struct gso_header - what stands before a frame (struct virtio_net_hdr)
 * @flags: GSO_CHECKSUM: the last two say where one is to be put
 * @type: it is many of that transport, or 0
 * @linear: so many bytes of it are not in pages
 * @size: payload of each of the many
 * @checksum: from where on, and how far behind that it goes
 */
struct gso_header {
	u8 flags;
	u8 type;
	u16 linear;
	u16 size;
	u16 checksum[2];
};

/**
 * struct frame - as it is on the wire
 * @length: bytes
 * @bytes: of them
 */
struct frame {
	u32 length;
	u8 bytes[LONGEST];
};

/**
 * struct neighbor - what it knows
 * @fd: packet socket
 * @random: state of the generator
 * @own: address
 * @to: the victim's
 * @heard: frames that were, a ring
 * @nr_heard: how many
 * @mtu: of the device
 * @key: frames are made with
 * @key_id: of it; 0: there is none
 * @tag: that the victim knows; 0: only those that were heard
 * @out: what is sent next
 */
struct neighbor {
	int fd;
	u64 random;
	u8 own[6];
	u8 to[6];
	struct frame heard[HEARD];
	u32 nr_heard;
	u32 mtu;
	struct dmanic_key key;
	u32 key_id;
	u64 tag;
	struct frame out;
};

static inline u8 *body(struct neighbor *n)
{
	return n->out.bytes + ETHERNET;
}

/* neighbor.c */
bool neighbor_hear(struct neighbor *n, int wait_ms, struct frame *frame);
bool neighbor_send(struct neighbor *n, const struct gso_header *header);
bool neighbor_answered(struct neighbor *n, u64 tag, struct dmanic_hello *hello);

/* neighbor_frames.c */
u64 neighbor_random(struct neighbor *n);
u64 neighbor_number(struct neighbor *n);
void neighbor_fill(struct neighbor *n, u8 *bytes, u32 length);
void neighbor_address(struct neighbor *n);
u32 neighbor_kind(struct neighbor *n);
u32 neighbor_spoil(struct neighbor *n, u32 length);
u32 neighbor_prove(struct neighbor *n, u32 length, u64 counter);
void neighbor_make(struct neighbor *n);
void neighbor_enlarge(struct neighbor *n, struct gso_header *header);

/* neighbor_member.c */
void neighbor_member(struct neighbor *n, u32 node, unsigned long frames, long seconds);

static inline u32 below(struct neighbor *n, u32 end)
{
	return neighbor_random(n) % end;
}

#endif /* NEIGHBOR_H */
