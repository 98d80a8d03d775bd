// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_gso.c - cutting large frames for devices that do not take them whole
 *
 * The kernel calls where the frame leaves: behind a queue, a bridge, a VLAN. Each
 * piece gets a head of its own, by the protocol's rule; the payload stays where
 * it is. Anybody may give the kernel a frame that claims to be ours (a packet
 * socket, a tap), so nothing in it is believed.
 */
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "ether.h"

/**
 * struct ether_cutter - cuts frames of an EtherType
 * @entry: in the list of them
 * @used: by so many ports
 * @offload: the kernel's
 */
struct ether_cutter {
	struct list_head entry;
	unsigned int used;
	struct packet_offload offload;
};

/* Under dmanic_nodes_lock */
static LIST_HEAD(ether_cutters);

/* Tunnels add what they are to the type; other transports are not ours */
static bool cut_type(u32 type)
{
	return (type & ETHER_GSO_TYPE) &&
	       !(type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6 | SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST));
}

/*
 * Only what has its bytes in pages: lists of frames, which other protocols have with the
 * same type, are not for cut_segment().
 */
static bool cut_form(const struct sk_buff *skb)
{
	u16 size = skb_shinfo(skb)->gso_size;

	return size && size != GSO_BY_FRAGS && !skb_has_frag_list(skb);
}

/*
 * It is ours, and as long as it says; out: its head's length. The key is the node's: what
 * has a proof is only handed out where nothing cuts it, and gets lost elsewhere, which a
 * TEST finds.
 */
static bool cut_possible(struct sk_buff *skb, u32 *head_length, bool *crc)
{
	struct dmanic_head head;
	u32 pull;

	if (!cut_type(skb_shinfo(skb)->gso_type) || !cut_form(skb) ||
	    !pskb_may_pull(skb, DMANIC_WIRE_COMMON))
		return false;
	pull = dmanic_wire_pull(skb->data, skb_headlen(skb));
	if (pull > DMANIC_WIRE_CUT_HEAD || !pskb_may_pull(skb, pull) ||
	    dmanic_head_decode(skb->data, skb_headlen(skb), skb->len, &head) ||
	    (head.flags & DMANIC_WIRE_AUTH) || !dmanic_frame_cuttable(skb->data, &head) ||
	    head.head_length + head.payload_length != skb->len)
		return false;
	*head_length = head.head_length;
	*crc = head.flags & DMANIC_WIRE_CRC;
	return true;
}

/* The pieces have copies of the whole frame's head: make them their own */
static void cut_heads(struct sk_buff *pieces, const void *whole, u32 mac, u32 head, bool crc)
{
	struct sk_buff *skb;
	u32 from = 0, length, sum;
	void *to;

	for (skb = pieces; skb; skb = skb->next) {
		to = skb->data + mac;
		length = skb->len - mac - head;
		dmanic_frame_cut(whole, from, length, to);
		if (crc)
			sum = dmanic_ether_frame_crc(skb, mac + head, length);
		dmanic_data_seal(to, crc ? &sum : NULL);
		from += length;
	}
}

static struct sk_buff *cut_segment(struct sk_buff *skb, netdev_features_t features)
{
	u32 mac = skb->data - skb_mac_header(skb), head;
	u8 whole[DMANIC_WIRE_CUT_HEAD];
	struct sk_buff *pieces;
	bool crc;

	if (!cut_possible(skb, &head, &crc))
		return ERR_PTR(-EINVAL);
	memcpy(whole, skb->data, head);
	__skb_pull(skb, head);
	/*
	 * A checksum of the payload nobody looks at, but for a tunnel that has one
	 * of its own: its head adds to what is computed here.
	 */
	if (skb->encap_hdr_csum)
		features &= ~NETIF_F_CSUM_MASK;
	else
		features |= NETIF_F_HW_CSUM;
	pieces = skb_segment(skb, features);
	if (!IS_ERR_OR_NULL(pieces))
		cut_heads(pieces, whole, mac, head, crc);
	return pieces;
}

static struct ether_cutter *cutter_find(u16 ethertype)
{
	struct ether_cutter *cutter;

	lockdep_assert_held(&dmanic_nodes_lock);
	list_for_each_entry(cutter, &ether_cutters, entry)
		if (cutter->offload.type == htons(ethertype))
			return cutter;
	return NULL;
}

/**
 * dmanic_ether_cutter_get() - have large frames of an EtherType cut
 * @ethertype: it
 *
 * Return: 0 or -ENOMEM.
 */
int dmanic_ether_cutter_get(u16 ethertype)
{
	struct ether_cutter *cutter = cutter_find(ethertype);

	if (!cutter) {
		cutter = kzalloc(sizeof(*cutter), GFP_KERNEL);
		if (!cutter)
			return -ENOMEM;
		cutter->offload.type = htons(ethertype);
		cutter->offload.callbacks.gso_segment = cut_segment;
		dev_add_offload(&cutter->offload);
		list_add(&cutter->entry, &ether_cutters);
	}
	cutter->used++;
	return 0;
}

/**
 * dmanic_ether_cutter_put() - one port less needs it
 * @ethertype: of dmanic_ether_cutter_get()
 *
 * What is in a queue and not cut yet is dropped by the kernel.
 */
void dmanic_ether_cutter_put(u16 ethertype)
{
	struct ether_cutter *cutter = cutter_find(ethertype);

	if (--cutter->used)
		return;
	list_del(&cutter->entry);
	dev_remove_offload(&cutter->offload);
	kfree(cutter);
}
