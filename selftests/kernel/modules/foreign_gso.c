// SPDX-License-Identifier: GPL-2.0-only
/*
 * foreign_gso - frames that say to be dmanic's, in forms that dmanic does not make
 *
 * When it is loaded it makes one frame of each form and has the kernel cut it, as before a
 * device that does not take it whole. The parameters tell what came of it: how many pieces,
 * or -errno. So do packets of other protocols look that somebody has rewritten (tc), which
 * needs no more than a user namespace. Never loaded outside a test VM.
 */
#include <linux/crc32c.h>
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "../../../driver/core/compat.h"

#define FOREIGN_TYPE	0x88b5
#define FOREIGN_PAYLOAD	5000U
#define FOREIGN_PIECE	1000U

static int own;
module_param(own, int, 0444);
MODULE_PARM_DESC(own, "as dmanic makes it: the bytes behind the head in pages");

static int list;
module_param(list, int, 0444);
MODULE_PARM_DESC(list, "a part of them in another skb");

static int by_frags;
module_param(by_frags, int, 0444);
MODULE_PARM_DESC(by_frags, "the same, to be cut as that is (SCTP)");

/* protocol.rst: DATA, with one WRITE */
struct foreign_head {
	u8 version;
	u8 type;
	u8 flags;
	u8 reserved;
	__be16 head_length;
	__be16 payload_length;
	__be32 head_crc;
	__be32 payload_crc;
	__be64 tag;
	__be64 seq;
	__be32 stamp;
	__be16 records;
	__be16 reserved_data;
	u8 record;
	u8 record_flags;
	u8 opcode;
	u8 reserved_record;
	__be32 op;
	__be32 length;
	__be32 segment;
	__be64 key;
	__be64 offset;
} __packed;

static void foreign_fill(struct foreign_head *head)
{
	*head = (struct foreign_head) {
		.version = 1,
		.type = 8,
		.head_length = cpu_to_be16(sizeof(*head)),
		.payload_length = cpu_to_be16(FOREIGN_PAYLOAD),
		.tag = cpu_to_be64(1),
		.records = cpu_to_be16(1),
		.record = 1,
		.length = cpu_to_be32(FOREIGN_PAYLOAD),
	};
	head->head_crc = cpu_to_be32(~crc32c(~0U, head, sizeof(*head)));
}

/* The frame's bytes but for @linear of its payload, which are contiguous with the head */
static struct sk_buff *foreign_make(u32 linear)
{
	struct foreign_head head;
	struct sk_buff *skb;
	struct ethhdr *eth;

	skb = alloc_skb(ETH_HLEN + sizeof(head) + linear, GFP_KERNEL);
	if (!skb)
		return NULL;
	eth = skb_put_zero(skb, ETH_HLEN);
	eth->h_proto = htons(FOREIGN_TYPE);
	foreign_fill(&head);
	skb_put_data(skb, &head, sizeof(head));
	if (linear)
		skb_put_zero(skb, linear);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb_set_transport_header(skb, ETH_HLEN);
	skb->protocol = htons(FOREIGN_TYPE);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb_shinfo(skb)->gso_type = SKB_GSO_SCTP;
	skb_shinfo(skb)->gso_size = FOREIGN_PIECE;
	skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(FOREIGN_PAYLOAD, FOREIGN_PIECE);
	return skb;
}

static void foreign_grow(struct sk_buff *skb, u32 bytes)
{
	skb->len += bytes;
	skb->data_len += bytes;
	skb->truesize += bytes;
}

static bool foreign_pages(struct sk_buff *skb, u32 bytes)
{
	u32 some, nr;

	for (nr = 0; bytes; bytes -= some, nr++) {
		struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

		if (!page)
			return false;
		some = min_t(u32, bytes, PAGE_SIZE);
		skb_fill_page_desc(skb, nr, page, 0, some);
		foreign_grow(skb, some);
	}
	return true;
}

static bool foreign_list(struct sk_buff *skb, u32 bytes)
{
	struct sk_buff *rest = alloc_skb(bytes, GFP_KERNEL);

	if (!rest)
		return false;
	skb_put_zero(rest, bytes);
	skb_shinfo(skb)->frag_list = rest;
	foreign_grow(skb, bytes);
	return true;
}

/* Takes the frame; pieces, or -errno */
static int foreign_cut(struct sk_buff *skb)
{
	struct sk_buff *pieces;
	int nr = 0;

	pieces = __skb_gso_segment(skb, NETIF_F_SG, true);
	kfree_skb(skb);
	if (IS_ERR(pieces))
		return PTR_ERR(pieces);
	while (pieces) {
		skb = pieces->next;
		skb_mark_not_on_list(pieces);
		kfree_skb(pieces);
		pieces = skb;
		nr++;
	}
	return nr;
}

static int foreign_try(u32 linear, u16 piece, bool (*fill)(struct sk_buff *skb, u32 bytes))
{
	struct sk_buff *skb = foreign_make(linear);

	if (!skb)
		return -ENOMEM;
	if (!fill(skb, FOREIGN_PAYLOAD - linear)) {
		kfree_skb(skb);
		return -ENOMEM;
	}
	skb_shinfo(skb)->gso_size = piece;
	return foreign_cut(skb);
}

static int __init foreign_init(void)
{
	own = foreign_try(0, FOREIGN_PIECE, foreign_pages);
	list = foreign_try(100, FOREIGN_PIECE, foreign_list);
	by_frags = foreign_try(100, GSO_BY_FRAGS, foreign_list);
	return 0;
}

static void __exit foreign_exit(void)
{
}

module_init(foreign_init);
module_exit(foreign_exit);
MODULE_DESCRIPTION("Frames that say to be dmanic's, to be cut");
MODULE_LICENSE("GPL");
