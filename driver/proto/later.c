// SPDX-License-Identifier: GPL-2.0-only
/*
 * later.c - bytes that were placed before others that stand before them
 *
 * Data are placed as they come. What fills a hole in the stream must not lie over
 * what was posted after it and is there already: to the same bytes the last one
 * posted wins. So what is placed beyond a hole is noted, until the hole is gone,
 * and what fills a hole is placed but for what it would cover. Without a hole
 * nothing is noted.
 *
 * Softirqs are off, and a peer may have chosen blocks of a byte, and a hole with as
 * many things behind it as can be noted. So each run of bytes and each look at what
 * is noted is counted, and of a frame that is too much work only a part is placed.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"

/* Work of a run of bytes; of a look at what is noted it is one */
#define LATER_RUN	8U

/**
 * dmanic_later_some() - is something noted that is behind a hole yet
 * @rx: of the stream; dmanic_later_any() asks
 *
 * Return: true if so. What is behind none any more is forgotten.
 */
bool dmanic_later_some(struct dmanic_rx *rx)
{
	u64 reach = dmanic_ranges_reach(&rx->got);
	u32 i, kept = 0;

	for (i = 0; i < rx->nr_later; i++)
		if (rx->later[i].seq > reach)
			rx->later[kept++] = rx->later[i];
	rx->nr_later = kept;
	return kept;
}

/* Byte @position of an operation: where it is, and how many follow it there */
static u64 later_address(const struct dmanic_record *record, u64 position, u64 *run)
{
	u64 within, nr;

	if (record->type == DMANIC_RECORD_WRITE) {
		*run = U64_MAX;
		return record->offset + position;
	}
	nr = div64_u64_rem(position, record->block, &within);
	*run = record->block - within;
	return record->offset + nr * record->stride + within;
}

/* Position in the operation of the first byte of a record */
static u64 later_position(const struct dmanic_record *record)
{
	return record->type == DMANIC_RECORD_WRITE ? 0 : record->position;
}

/* Whether the frame before ended where this begins, in stream and memory */
static bool later_joins(const struct dmanic_later *later, u64 seq,
			const struct dmanic_record *record, u64 first)
{
	if (later->seq + later->length != seq || later->segment != record->segment)
		return false;
	if (!later->block)
		return record->type == DMANIC_RECORD_WRITE &&
		       later->offset + later->length == record->offset + first;
	return record->type == DMANIC_RECORD_STRIDED && later->offset == record->offset &&
	       later->block == record->block && later->stride == record->stride &&
	       later->first + later->length == first;
}

/* May it be noted: as a part of the last one, or as another */
static bool later_room(const struct dmanic_rx *rx, u64 seq,
		       const struct dmanic_record *record, u64 first)
{
	if (rx->nr_later < rx->max_later)
		return true;
	return later_joins(&rx->later[rx->nr_later - 1], seq, record, first);
}

static void later_note(struct dmanic_rx *rx, u64 seq, const struct dmanic_record *record,
		       u64 first, u32 length)
{
	struct dmanic_later *later = &rx->later[rx->nr_later];

	u64 run;

	if (rx->nr_later && later_joins(later - 1, seq, record, first)) {
		later--;
		later->length += length;
		later->end = later_address(record, first + length - 1, &run) + 1;
		return;
	}
	*later = (struct dmanic_later) {
		.seq = seq,
		.segment = record->segment,
		.offset = record->offset,
		.end = later_address(record, first + length - 1, &run) + 1,
		.length = length,
	};
	if (record->type == DMANIC_RECORD_STRIDED) {
		later->first = first;
		later->block = record->block;
		later->stride = record->stride;
	} else {
		later->offset += first;
	}
	rx->nr_later++;
}

/* Is @at in one of them? Out: @run, how far it is the same at most */
static bool later_has(const struct dmanic_later *later, u64 at, u64 *run)
{
	u64 end = later->first + later->length, rel, within, nr, position;

	if (at >= later->end)
		return false;
	if (at < later->offset) {
		*run = min(*run, later->offset - at);
		return false;
	}
	rel = at - later->offset;
	if (!later->block) {
		if (rel >= later->length)
			return false;
		*run = min(*run, later->length - rel);
		return true;
	}
	nr = div64_u64_rem(rel, later->stride, &within);
	if (within >= later->block) {
		*run = min(*run, later->stride - within);
		return false;
	}
	*run = min(*run, later->block - within);
	position = nr * later->block + within;
	if (position >= end)
		return false;
	if (position < later->first) {
		*run = min(*run, later->first - position);
		return false;
	}
	*run = min(*run, end - position);
	return true;
}

/* Is @at covered by what stands from @behind on? Out: @run as later_has() */
static bool later_covers(const struct dmanic_rx *rx, u64 behind, u32 segment, u64 at, u64 *run)
{
	const struct dmanic_later *later;
	u64 same;
	u32 i;

	for (i = 0; i < rx->nr_later; i++) {
		later = &rx->later[i];
		if (later->seq < behind || later->segment != segment)
			continue;
		same = *run;
		if (later_has(later, at, &same)) {
			*run = same;
			return true;
		}
		*run = same;
	}
	return false;
}

/*
 * All but what is covered, or as much of it as is not too much work: @length, out,
 * at least one run. What is covered all over is checked, too.
 */
static u32 later_place(struct dmanic_peer *peer, struct dmanic_rx *rx,
		       const struct dmanic_record *record, u64 behind, u32 skip,
		       const struct dmanic_frame *frame, u32 at, u32 *length)
{
	const struct dmanic_env *env = dmanic_peer_env(peer);
	u64 run, address, first = later_position(record) + skip;
	u32 done, status;
	bool old;

	status = env->place(peer, record, skip, frame, at, 0);
	for (done = 0; done < *length && !status && (!done || rx->work); done += run) {
		dmanic_rx_work(rx, LATER_RUN + rx->nr_later);
		address = later_address(record, first + done, &run);
		run = min_t(u64, run, *length - done);
		old = later_covers(rx, behind, record->segment, address, &run);
		if (!old)
			status = env->place(peer, record, skip + done, frame, at + done,
					    run);
	}
	if (!status)
		*length = done;
	return status;
}

/* Without a hole: the same of blocks */
static u32 later_place_all(struct dmanic_peer *peer, struct dmanic_rx *rx,
			   const struct dmanic_record *record, u32 skip,
			   const struct dmanic_frame *frame, u32 at, u32 *length)
{
	u64 most;

	if (record->type == DMANIC_RECORD_STRIDED) {
		most = (u64)record->block * max(rx->work / LATER_RUN, 1U);
		*length = min_t(u64, *length, most);
		dmanic_rx_work(rx, LATER_RUN * (*length / record->block + 1));
	}
	return dmanic_peer_env(peer)->place(peer, record, skip, frame, at, *length);
}

/**
 * dmanic_later_place() - bytes for a segment, but for those that are old
 * @peer: whose
 * @class: of the stream
 * @record: WRITE or STRIDED
 * @seq: position of the first byte in the stream
 * @skip: bytes of the record before it
 * @frame: has them
 * @at: from here on
 * @length: how many, all new; out: how many of them count as received
 * @status: out: what became of it
 *
 * Return: false when there is no room to note them: they have to come again.
 */
bool dmanic_later_place(struct dmanic_peer *peer, u8 class,
			const struct dmanic_record *record, u64 seq, u32 skip,
			const struct dmanic_frame *frame, u32 at, u32 *length, u32 *status)
{
	struct dmanic_rx *rx = &peer->rx[class];
	u64 first = later_position(record) + skip;
	bool any = dmanic_later_any(rx), beyond;

	beyond = *length && seq > dmanic_ranges_reach(&rx->got);
	if (beyond && !later_room(rx, seq, record, first))
		return false;
	if (any && *length)
		*status = later_place(peer, rx, record, seq + *length, skip, frame, at,
				      length);
	else
		*status = later_place_all(peer, rx, record, skip, frame, at, length);
	if (beyond && !*status)
		later_note(rx, seq, record, first, *length);
	return true;
}
