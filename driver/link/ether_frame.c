// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_frame.c - frames: built of the pages they come from, and sent
 *
 * The head is in the linear part; the payload is fragments that refer to the pages
 * of the segment and hold them. No byte of it is touched, unless it has a
 * checksum, or there are more pieces than an skb has room for (small blocks of
 * a strided operation): then they are gathered in fresh pages.
 */
#include <linux/crc32c.h>
#include <linux/if_vlan.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/sctp.h>

#include "compat.h"
#include "ether.h"

/**
 * struct frame_piece - contiguous in a memory
 * @mem: the memory
 * @offset: into @mem
 * @length: bytes
 */
struct frame_piece {
	const struct dmanic_mem *mem;
	u64 offset;
	u32 length;
};

/* Where position @at of blocks is, and how much of its block is left */
static u64 frame_in_blocks(u64 at, u64 block, u64 stride, u32 *length)
{
	u64 within, nr = div64_u64_rem(at, block, &within);

	*length = min_t(u64, *length, block - within);
	return nr * stride + within;
}

/* The piece of a source that begins @done bytes into it */
static struct frame_piece frame_piece(const struct dmanic_source *source, u32 done)
{
	struct dmanic_xfer *xfer = source->xfer;
	struct frame_piece piece = { .length = source->length - done };
	u64 at = source->at + done;
	struct dmanic_op *op;

	if (xfer->kind == DMANIC_XFER_REPLY) {
		piece.mem = xfer->source;
		piece.offset = xfer->offset;
		if (xfer->block)
			at = frame_in_blocks(at, xfer->block, xfer->stride, &piece.length);
	} else {
		op = to_eop(xfer)->op;
		piece.mem = op->mem;
		if (!xfer->blocks)
			piece.offset = op->local_offset;
		if (xfer->block)
			at = frame_in_blocks(at, xfer->block, op->local_stride,
					     &piece.length);
	}
	piece.offset += at;
	return piece;
}

/*
 * Of a piece what one reference to a page holds: all of a block of ours; of user
 * memory what is in the same folio, and contiguous.
 */
static u32 frame_fragment(const struct frame_piece *piece, struct page **head, u32 *offset)
{
	const struct dmanic_mem *mem = piece->mem;
	u64 pos = mem->first + piece->offset;
	struct page *const *at = dmanic_mem_page(mem, pos), *page = *at;
	struct folio *folio = page_folio(page);
	u32 length;

	*head = &folio->page;
	*offset = ((u32)folio_page_idx(folio, page) << PAGE_SHIFT) + offset_in_page(pos);
	length = PAGE_SIZE - offset_in_page(pos);
	if (!mem->user_pages)
		length = folio_size(folio) - *offset;
	else
		while (length < piece->length && *++at == page + 1 &&
		       page_folio(page + 1) == folio) {
			length += PAGE_SIZE;
			page++;
		}
	return min(length, piece->length);
}

/* The payload of a TEST, at most a frame's; how many fragments that are */
static u32 frame_zeros(struct sk_buff *skb, u32 length)
{
	u32 nr = 0, some;

	BUILD_BUG_ON(DIV_ROUND_UP(DMANIC_WIRE_FRAME_MAX, PAGE_SIZE) > MAX_SKB_FRAGS);
	for (; length; length -= some) {
		some = min_t(u32, length, PAGE_SIZE);
		get_page(ZERO_PAGE(0));
		skb_fill_page_desc(skb, nr++, ZERO_PAGE(0), 0, some);
	}
	return nr;
}

/* Fragments of all sources; false: there are too many */
static bool frame_attach(struct sk_buff *skb, const struct dmanic_out *out)
{
	struct frame_piece piece;
	u32 i, done, length, offset, nr = 0;
	struct page *page;

	if (!out->nr_sources)
		nr = frame_zeros(skb, out->payload_length);
	for (i = 0; i < out->nr_sources; i++) {
		for (done = 0; done < out->source[i].length; done += length) {
			if (nr == MAX_SKB_FRAGS)
				return false;
			piece = frame_piece(&out->source[i], done);
			length = frame_fragment(&piece, &page, &offset);
			get_page(page);
			skb_fill_page_desc(skb, nr++, page, offset, length);
		}
	}
	skb->len += out->payload_length;
	skb->data_len += out->payload_length;
	skb->truesize += out->payload_length;
	/* Programs write to these pages when they like */
	if (nr)
		skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return true;
}

/* The same in pages of its own */
static int frame_gather(struct sk_buff *skb, const struct dmanic_out *out, u32 at)
{
	struct frame_piece piece;
	u32 i, done, length;
	void *from;
	int ret;

	for (i = 0; i < out->nr_sources; i++) {
		for (done = 0; done < out->source[i].length; done += length) {
			piece = frame_piece(&out->source[i], done);
			length = dmanic_mem_run(piece.mem, piece.offset, piece.length,
						&from);
			ret = skb_store_bits(skb, at, from, length);
			if (ret)
				return ret;
			at += length;
		}
	}
	return 0;
}

/* The head, and room for the proof of who made it; the caller appends @payload bytes */
static struct sk_buff *frame_new(struct ether_node *en, const struct dmanic_out *out,
				 u32 payload)
{
	u32 proof = dmanic_auth_bytes(&en->host), head = out->head_length + proof;
	struct net_device *dev = en->port->dev;
	u32 reserve = LL_RESERVED_SPACE(dev);
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(reserve + head, payload, PAGE_ALLOC_COSTLY_ORDER, &err,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, reserve);
	skb_reset_network_header(skb);
	skb->dev = dev;
	skb_put_data(skb, out->head, out->head_length);
	if (proof)
		skb_put_zero(skb, proof);
	return skb;
}

static struct sk_buff *frame_copied(struct ether_node *en, const struct dmanic_out *out)
{
	struct sk_buff *skb;

	skb = frame_new(en, out, out->payload_length);
	if (!skb)
		return NULL;
	skb->data_len = out->payload_length;
	skb->len += out->payload_length;
	if (!frame_gather(skb, out, skb_headlen(skb)))
		return skb;
	kfree_skb(skb);
	return NULL;
}

/* Every byte of a part of a frame, in order, as it lies in memory */
static void frame_walk(const struct sk_buff *skb, u32 at, u32 length,
		       void (*add)(void *sum, const u8 *bytes, u32 length), void *sum)
{
	struct skb_seq_state state;
	u32 done = 0, some;
	const u8 *bytes;

	skb_prepare_seq_read((struct sk_buff *)skb, at, at + length, &state);
	while (done < length) {
		some = skb_seq_read(done, &bytes, &state);
		if (!some)
			return;
		some = min(some, length - done);
		add(sum, bytes, some);
		done += some;
	}
	skb_abort_seq_read(&state);
}

static void frame_add_crc(void *sum, const u8 *bytes, u32 length)
{
	u32 *crc = sum;

	*crc = crc32c(*crc, bytes, length);
}

/**
 * dmanic_ether_frame_crc() - checksum of a part of a frame
 * @skb: the frame
 * @at: where it begins, from skb->data on
 * @length: bytes
 *
 * Return: CRC32C.
 */
u32 dmanic_ether_frame_crc(const struct sk_buff *skb, u32 at, u32 length)
{
	u32 crc = ~0U;

	frame_walk(skb, at, length, frame_add_crc, &crc);
	return ~crc;
}

static void frame_add_mac(void *sum, const u8 *bytes, u32 length)
{
	dmanic_mac_add(sum, bytes, length);
}

/**
 * dmanic_ether_frame_mac() - keyed hash of a part of a frame
 * @skb: the frame
 * @at: where it begins, from skb->data on
 * @length: bytes
 * @mac: they are added to it
 */
void dmanic_ether_frame_mac(const struct sk_buff *skb, u32 at, u32 length,
			    struct dmanic_mac *mac)
{
	frame_walk(skb, at, length, frame_add_mac, mac);
}

/* Where there is a key; all else of the frame is there */
static void frame_prove(struct ether_node *en, struct sk_buff *skb,
			const struct dmanic_out *out, u64 from)
{
	struct dmanic_mac mac;

	if (!dmanic_auth_bytes(&en->host))
		return;
	dmanic_auth_begin(&en->host, out, &mac);
	dmanic_ether_frame_mac(skb, skb_headlen(skb), out->payload_length, &mac);
	dmanic_auth_seal(&en->host, out, from, skb->data, out->payload_length ? &mac : NULL);
}

/* Not inline: test_key looks whether it is called */
static noinline struct sk_buff *frame_own(const struct sk_buff *skb)
{
	u32 head = skb_headlen(skb), rest = skb->len - head, done;
	struct sk_buff *own;
	skb_frag_t *frag;
	int err, i;

	own = alloc_skb_with_frags(head, rest, PAGE_ALLOC_COSTLY_ORDER, &err,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!own)
		return NULL;
	skb_put_data(own, skb->data, head);
	for (i = 0, done = head; i < skb_shinfo(own)->nr_frags; i++) {
		frag = &skb_shinfo(own)->frags[i];
		if (skb_copy_bits(skb, done, skb_frag_address(frag), skb_frag_size(frag))) {
			kfree_skb(own);
			return NULL;
		}
		done += skb_frag_size(frag);
	}
	own->data_len = rest;
	own->len += rest;
	return own;
}

/**
 * dmanic_ether_frame_own() - from now on nobody else changes a frame's bytes
 * @frame: one that came; its head is contiguous, and was copied
 *
 * What others of this machine send may be pages that they write to: between the look at a
 * payload's proof and the copy into a segment it is to stay what it was. Whose pages they
 * are cannot be told, so those that a device filled are copied, too.
 *
 * Return: false: no memory for that.
 */
bool dmanic_ether_frame_own(struct ether_frame *frame)
{
	if (!frame->own && skb_is_nonlinear(frame->skb))
		frame->own = frame_own(frame->skb);
	return frame->own || !skb_is_nonlinear(frame->skb);
}

/* The device takes the frame as it is */
static bool frame_whole(struct sk_buff *skb)
{
	return !netif_needs_gso(skb, netif_skb_features(skb));
}

/* What is cut later gets the checksums of its pieces then; @here: it never is */
static void frame_seal(struct sk_buff *skb, const struct dmanic_out *out, bool here)
{
	u32 crc = 0;

	if (!out->crc)
		return;
	if (here || !skb_is_gso(skb) || frame_whole(skb))
		crc = dmanic_ether_frame_crc(skb, skb_headlen(skb), out->payload_length);
	dmanic_data_seal(skb->data, &crc);
}

/* A frame that the device may cut, its head all that is linear so far: every @piece bytes */
void dmanic_ether_frame_set_gso(struct sk_buff *skb, u32 piece, u32 pieces)
{
	struct skb_shared_info *info = skb_shinfo(skb);

	info->gso_type = ETHER_GSO_TYPE;
	info->gso_size = piece;
	info->gso_segs = pieces;
	/* Where a wire's frame begins to be the device's, for who counts its bytes */
	skb_set_transport_header(skb, skb_headlen(skb) - sizeof(struct sctphdr));
	/* Or every device has it cut; there is no checksum of the kernel's kind */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

/**
 * dmanic_ether_frame_build() - a frame as the protocol wants it
 * @en: from which node; under its lock
 * @out: what it is
 *
 * Return: the frame, or NULL: no memory.
 */
struct sk_buff *dmanic_ether_frame_build(struct ether_node *en, const struct dmanic_out *out)
{
	struct ether_port *port = en->port;
	u8 to[ETH_ALEN], from[ETH_ALEN];
	struct sk_buff *skb;

	skb = frame_new(en, out, 0);
	if (!skb)
		return NULL;
	if (!frame_attach(skb, out)) {
		consume_skb(skb);
		skb = frame_copied(en, out);
		if (!skb)
			return NULL;
	}
	skb->protocol = port->taker.type;
	skb->priority = out->units && out->class == DMANIC_BULK ? 0 : TC_PRIO_INTERACTIVE;
	if (out->piece && out->head_length + out->payload_length > out->mtu)
		dmanic_ether_frame_set_gso(skb, out->piece,
					   DIV_ROUND_UP(out->payload_length, out->piece));
	frame_seal(skb, out, out->to == READ_ONCE(port->address));
	ether_addr_copy(from, port->dev->dev_addr);
	frame_prove(en, skb, out, ether_addr_to_u64(from));
	u64_to_ether_addr(out->to == DMANIC_EVERYBODY ? U64_MAX >> 16 : out->to, to);
	if (dev_hard_header(skb, port->dev, ntohs(port->taker.type), to, from,
			    skb->len) < 0) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

/*
 * To another node on the same device, or to all there. A VLAN that writes its tag itself
 * (reorder_hdr off) gets its frames without it.
 */
static bool frame_send_here(struct net_device *dev, struct sk_buff *skb)
{
	skb->protocol = eth_type_trans(skb, dev);
	while (eth_type_vlan(skb->protocol)) {
		skb = skb_vlan_untag(skb);
		if (!skb)
			return false;
		__vlan_hwaccel_clear_tag(skb);
	}
	return netif_rx(skb) == NET_RX_SUCCESS;
}

/**
 * dmanic_ether_frame_send() - give a frame to the device
 * @port: of the node; softirqs are off
 * @skb: from dmanic_ether_frame_build(); taken
 *
 * Return: false when it was dropped here.
 */
bool dmanic_ether_frame_send(struct ether_port *port, struct sk_buff *skb)
{
	const u8 *to = skb->data;
	struct sk_buff *clone;
	int ret;

	if (ether_addr_to_u64(to) == READ_ONCE(port->address))
		return frame_send_here(port->dev, skb);
	if (is_broadcast_ether_addr(to) && READ_ONCE(port->nr_nodes) > 1) {
		clone = skb_clone(skb, GFP_ATOMIC);
		if (clone)
			frame_send_here(port->dev, clone);
	}
	/* Who connects would have to know that most frames never fit */
	if (READ_ONCE(port->dev->mtu) < ETHER_MTU_MIN) {
		kfree_skb(skb);
		return false;
	}
	ret = dev_queue_xmit(skb);
	return !net_xmit_eval(ret);
}
