// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_target.c - what other nodes do to this one's memory
 *
 * In softirq, under RCU and en->lock. Every frame is checked on its own: segment,
 * key, right and bounds, for between two of them a segment may be taken back.
 * The one copy of the receiving side is here, from the frame to the segment.
 */
#include <linux/math64.h>
#include <linux/overflow.h>

#include "ether.h"

/*
 * As skb_copy_bits(). But that takes memcpy(), which is a loop of words where the CPU
 * has no fast short REP MOVSB; memmove() is fast for what is long wherever it can be.
 */
static void copy_bits(const struct sk_buff *skb, u32 at, void *to, u32 length)
{
	const skb_frag_t *frag = skb_shinfo(skb)->frags;
	const skb_frag_t *end = frag + skb_shinfo(skb)->nr_frags;
	u32 begin = skb_headlen(skb), run;

	if (at < begin) {
		run = min(length, begin - at);
		memmove(to, skb->data + at, run);
		to += run;
		at += run;
		length -= run;
	}
	for (; length && frag < end; begin += skb_frag_size(frag++)) {
		if (at - begin >= skb_frag_size(frag))
			continue;
		run = min_t(u32, length, skb_frag_size(frag) - (at - begin));
		memmove(to, skb_frag_address(frag) + (at - begin), run);
		to += run;
		at += run;
		length -= run;
	}
	/* Frames that were merged */
	if (length)
		WARN_ON_ONCE(skb_copy_bits(skb, at, to, length));
}

/**
 * dmanic_ether_copy() - bytes of a frame into a memory
 * @mem: the memory; the range was checked
 * @offset: into @mem
 * @skb: the frame
 * @at: where they begin in it
 * @length: bytes; the frame has them
 */
void dmanic_ether_copy(struct dmanic_mem *mem, u64 offset, const struct sk_buff *skb,
		       u32 at, u32 length)
{
	size_t run;
	void *to;

	while (length) {
		run = dmanic_mem_run(mem, offset, length, &to);
		copy_bits(skb, at, to, run);
		offset += run;
		at += run;
		length -= run;
	}
}

static struct dmanic_node *target_node(struct dmanic_peer *peer)
{
	return &to_ether_peer(peer)->en->node;
}

static u32 target_find(struct dmanic_peer *peer, const struct dmanic_record *record,
		       struct dmanic_export **export)
{
	struct dmanic_target target = { .id = record->segment, .key = record->key };

	return dmanic_target_find(target_node(peer), &target, DMANIC_EXPORT_SEGMENT, export);
}

/* Where byte @position of blocks is in a segment; false: nowhere */
static bool target_in_blocks(const struct dmanic_record *record, u64 position,
			     u64 *offset, u32 *length)
{
	u64 within, nr = div64_u64_rem(position, record->block, &within);

	*length = min_t(u64, *length, record->block - within);
	return !check_mul_overflow(nr, (u64)record->stride, offset) &&
	       !check_add_overflow(*offset, within, offset) &&
	       !check_add_overflow(*offset, record->offset, offset);
}

static u32 target_place_strided(struct dmanic_export *export,
				const struct dmanic_record *record, u32 skip,
				const struct sk_buff *skb, u32 at, u32 length)
{
	u32 done, some, status;
	u64 offset;

	for (done = 0; done < length; done += some) {
		some = length - done;
		if (!target_in_blocks(record, record->position + skip + done, &offset, &some))
			return DMANIC_STATUS_BOUNDS;
		status = dmanic_target_allow(export, DMANIC_RIGHT_WRITE, offset, some);
		if (status)
			return status;
		dmanic_ether_copy(export->mem, offset, skb, at + done, some);
	}
	return DMANIC_STATUS_OK;
}

u32 dmanic_ether_place(struct dmanic_peer *peer, const struct dmanic_record *record,
		       u32 skip, const struct dmanic_frame *frame, u32 at, u32 length)
{
	struct dmanic_export *export;
	u32 status;
	u64 offset;

	rcu_read_lock();
	status = target_find(peer, record, &export);
	if (status)
		goto out_unlock;
	if (record->type == DMANIC_RECORD_STRIDED) {
		status = target_place_strided(export, record, skip, dmanic_ether_bytes(frame),
					      at, length);
		goto out_unlock;
	}
	status = DMANIC_STATUS_BOUNDS;
	if (check_add_overflow(record->offset, (u64)skip, &offset))
		goto out_unlock;
	status = dmanic_target_allow(export, DMANIC_RIGHT_WRITE, offset, length);
	if (!status)
		dmanic_ether_copy(export->mem, offset, dmanic_ether_bytes(frame), at, length);
out_unlock:
	rcu_read_unlock();
	return dmanic_target_refused(target_node(peer), status);
}

u32 dmanic_ether_notify(struct dmanic_peer *peer, const struct dmanic_record *record)
{
	struct dmanic_target target = { .id = record->segment, .key = record->key };

	/* Who waits is told once en->lock is given up */
	return dmanic_target_notify(target_node(peer), &target, record->value, peer->node,
				    &to_ether_peer(peer)->en->wakes);
}

u32 dmanic_ether_atomic(struct dmanic_peer *peer, const struct dmanic_record *record,
			u64 *old)
{
	struct dmanic_target target = { .id = record->segment, .key = record->key };

	return dmanic_target_atomic(target_node(peer), &target, record->offset,
				    record->opcode, record->value, record->compare, old);
}

/* Bytes from the first to the last that a READ asks for; false: more than there are */
static bool target_read_span(const struct dmanic_record *record, u64 *span)
{
	u64 first, nr;

	*span = record->value;
	if (!record->block || !record->value)
		return true;
	nr = div64_u64_rem(record->value - 1, record->block, &first);
	return !check_mul_overflow(nr, (u64)record->stride, span) &&
	       !check_add_overflow(*span, first + 1, span);
}

u32 dmanic_ether_read_begin(struct dmanic_peer *peer, const struct dmanic_record *record,
			    struct dmanic_xfer *xfer)
{
	struct dmanic_export *export;
	u64 span;
	u32 status;

	rcu_read_lock();
	status = target_find(peer, record, &export);
	if (!status && !target_read_span(record, &span))
		status = DMANIC_STATUS_BOUNDS;
	if (!status)
		status = dmanic_target_allow(export, DMANIC_RIGHT_READ, record->offset, span);
	if (!status) {
		/* While it is exported its segment has a reference, too */
		refcount_inc(&export->mem->ref);
		xfer->source = export->mem;
		xfer->key = record->key;
	}
	rcu_read_unlock();
	return dmanic_target_refused(target_node(peer), status);
}

void dmanic_ether_read_end(struct dmanic_peer *peer, struct dmanic_xfer *xfer)
{
	dmanic_mem_put(xfer->source, 1);
	xfer->source = NULL;
}

/**
 * dmanic_ether_read_allowed() - may data of a READ be sent still
 * @en: this node
 * @xfer: what is owed
 *
 * Return: false when the segment was taken back.
 */
bool dmanic_ether_read_allowed(struct ether_node *en, const struct dmanic_xfer *xfer)
{
	struct dmanic_target target = { .id = xfer->segment, .key = xfer->key };
	struct dmanic_export *export;
	bool allowed;

	rcu_read_lock();
	allowed = !dmanic_target_find(&en->node, &target, DMANIC_EXPORT_SEGMENT, &export) &&
		  export->mem == xfer->source;
	rcu_read_unlock();
	return allowed;
}
