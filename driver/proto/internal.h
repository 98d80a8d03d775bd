/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * internal.h - what the protocol's files call of each other
 */
#ifndef DMANIC_PROTO_INTERNAL_H
#define DMANIC_PROTO_INTERNAL_H

#include <linux/minmax.h>

#include "proto.h"

#define DMANIC_NONE	0xffffffffU	/* no index */
/* Blocks in one extent, and of WRITEs in a frame: to gather and to place each is work */
#define DMANIC_BLOCKS	1024U
/* What is done at most of one frame; what is left comes again. See later.c */
#ifndef DMANIC_WORK
#define DMANIC_WORK	32768U
#endif

static inline void dmanic_rx_work(struct dmanic_rx *rx, u32 work)
{
	rx->work -= min(rx->work, work);
}

static inline const struct dmanic_env *dmanic_peer_env(const struct dmanic_peer *peer)
{
	return peer->host->env;
}

static inline const struct dmanic_proto_config *
dmanic_peer_config(const struct dmanic_peer *peer)
{
	return &peer->host->config;
}

static inline struct dmanic_proto_stats *dmanic_peer_stats(struct dmanic_peer *peer)
{
	return &peer->host->stats;
}

static inline u32 dmanic_stamp(u64 now)
{
	return (u32)(now >> DMANIC_STAMP_SHIFT);
}

/* peer.c */
void dmanic_peer_reset(struct dmanic_peer *peer);
void dmanic_peer_end(struct dmanic_peer *peer, u32 status, u32 question);
bool dmanic_peer_wants(const struct dmanic_peer *peer);
void dmanic_peer_wait(struct dmanic_peer *peer, u64 now);
void dmanic_peer_asked(struct dmanic_peer *peer, u64 now);
void dmanic_peer_ask_anew(struct dmanic_peer *peer);
void dmanic_peer_heard(struct dmanic_peer *peer, u64 now);
u64 dmanic_peer_backoff(const struct dmanic_peer *peer, u64 time, u32 times);

/* path.c */
void dmanic_path_reset(struct dmanic_peer *peer);
void dmanic_path_begin(struct dmanic_peer *peer);
void dmanic_path_doubt(struct dmanic_peer *peer);
void dmanic_peer_degrade(struct dmanic_peer *peer, u64 now);
void dmanic_path_timer(struct dmanic_peer *peer, u64 now);
bool dmanic_path_answer(struct dmanic_peer *peer, struct dmanic_out *out);
bool dmanic_path_next(struct dmanic_peer *peer, u64 now, struct dmanic_out *out);
enum dmanic_drop dmanic_path_test(struct dmanic_peer *peer, const struct dmanic_frame *frame,
				  const struct dmanic_head *head);
enum dmanic_drop dmanic_path_tested(struct dmanic_peer *peer,
				    const struct dmanic_frame *frame,
				    const struct dmanic_head *head, u64 now);

/* host.c */
bool dmanic_host_may_seek(struct dmanic_host *host, u64 now);

/* handshake.c */
void dmanic_hello_fill(const struct dmanic_host *host, struct dmanic_hello *hello);
bool dmanic_handshake_asks(const struct dmanic_peer *peer);
void dmanic_handshake_begin(struct dmanic_peer *peer, u64 now);
void dmanic_handshake_hello(struct dmanic_peer *peer, u64 from, bool again);
bool dmanic_handshake_next(struct dmanic_peer *peer, u64 now, struct dmanic_out *out);
enum dmanic_drop dmanic_handshake_init(struct dmanic_peer *peer,
				       const struct dmanic_frame *frame,
				       const struct dmanic_hello *hello, u64 now,
				       struct dmanic_out *answer);
enum dmanic_drop dmanic_handshake_answer(struct dmanic_peer *peer,
					 const struct dmanic_frame *frame, bool done,
					 const struct dmanic_hello *hello, u64 now);
void dmanic_handshake_open(struct dmanic_peer *peer, u64 now);
void dmanic_handshake_reset(struct dmanic_peer *peer, u64 incarnation, u64 now);

/* receive.c */
enum dmanic_drop dmanic_receive_data(struct dmanic_peer *peer,
				     const struct dmanic_frame *frame,
				     const struct dmanic_head *head, u64 now,
				     struct dmanic_out *answer);

void dmanic_receive_retry(struct dmanic_peer *peer, u8 class, u64 now);

/* later.c */
bool dmanic_later_some(struct dmanic_rx *rx);

/* Mostly nothing is missing */
static inline bool dmanic_later_any(struct dmanic_rx *rx)
{
	return rx->nr_later && dmanic_later_some(rx);
}

bool dmanic_later_place(struct dmanic_peer *peer, u8 class,
			const struct dmanic_record *record, u64 seq, u32 skip,
			const struct dmanic_frame *frame, u32 at, u32 *length, u32 *status);

/* next.c */
void dmanic_next_ack(struct dmanic_peer *peer, u64 now, struct dmanic_out *out);

/* reply.c */
bool dmanic_reply_refuse(struct dmanic_peer *peer, u8 class, u32 id, u32 status,
			 bool ending);
bool dmanic_reply_busy(const struct dmanic_peer *peer, u32 id);
struct dmanic_reply *dmanic_reply_find(struct dmanic_peer *peer, u32 id);
bool dmanic_reply_do(struct dmanic_peer *peer, u8 class,
		     const struct dmanic_record *record, u64 now);
void dmanic_reply_retired(struct dmanic_peer *peer, struct dmanic_xfer *xfer);
void dmanic_reply_cancel(struct dmanic_peer *peer, struct dmanic_xfer *xfer, u32 status);
void dmanic_reply_drop_all(struct dmanic_peer *peer);

/* share.c */
void dmanic_flow_add(struct dmanic_tx *tx, struct dmanic_flow *flow,
		     struct dmanic_xfer *xfer);
void dmanic_flow_remove(struct dmanic_xfer *xfer);
struct dmanic_xfer *dmanic_flow_next(struct dmanic_peer *peer, struct dmanic_tx *tx);
struct dmanic_xfer *dmanic_flow_any(struct dmanic_tx *tx);
void dmanic_flow_pass(struct dmanic_tx *tx, struct dmanic_flow *flow);

/* xfer.c */
void dmanic_xfer_ids(struct dmanic_peer *peer);
bool dmanic_xfer_ready(struct dmanic_peer *peer, struct dmanic_xfer *xfer);
u32 dmanic_xfer_enter(struct dmanic_peer *peer, u8 class, u32 most);
void dmanic_xfer_retired(struct dmanic_peer *peer, u8 class,
			 const struct dmanic_extent *extent);
void dmanic_xfer_reached(struct dmanic_peer *peer, u8 class);
void dmanic_xfer_late(struct dmanic_peer *peer, u8 class, bool moved, u64 now);
enum dmanic_drop dmanic_xfer_result(struct dmanic_peer *peer, u8 class,
				    const struct dmanic_record *record, u64 seq);
enum dmanic_drop dmanic_xfer_found(struct dmanic_peer *peer, u8 class,
				   const struct dmanic_record *record, u64 seq);
enum dmanic_drop dmanic_xfer_data(struct dmanic_peer *peer, u8 class,
				  const struct dmanic_record *record, u64 seq, u32 skip,
				  const struct dmanic_frame *frame, u32 at, u32 *length);
void dmanic_xfer_changed(struct dmanic_peer *peer, struct dmanic_xfer *xfer);
void dmanic_xfer_end_all(struct dmanic_peer *peer, u32 status, u32 question);
bool dmanic_xfer_any(const struct dmanic_peer *peer);

/* It ends with an answer */
static inline bool dmanic_xfer_asks(const struct dmanic_xfer *xfer)
{
	return xfer->kind == DMANIC_XFER_READ || xfer->kind == DMANIC_XFER_ATOMIC ||
	       xfer->kind == DMANIC_XFER_LOOKUP;
}

/* tx.c */
void dmanic_tx_reset(struct dmanic_tx *tx);
bool dmanic_tx_room(const struct dmanic_peer *peer, const struct dmanic_tx *tx);
struct dmanic_extent *dmanic_tx_add(struct dmanic_tx *tx, u8 type, u32 units,
				    struct dmanic_xfer *xfer, u32 id);
struct dmanic_extent *dmanic_tx_find(struct dmanic_tx *tx, u64 seq);
void dmanic_tx_record(const struct dmanic_extent *extent, u32 skip, u32 units,
		      struct dmanic_record *record);
void dmanic_tx_disown(struct dmanic_tx *tx, struct dmanic_xfer *xfer);
void dmanic_tx_forget(struct dmanic_tx *tx, const struct dmanic_xfer *xfer);
void dmanic_tx_retire(struct dmanic_peer *peer, u8 class);
void dmanic_sent_add(struct dmanic_tx *tx, u64 seq, u32 units, bool cut, u64 now);
u32 dmanic_sent_find(const struct dmanic_tx *tx, u64 seq);
void dmanic_sent_move(struct dmanic_tx *tx, u32 index, u8 state);

/* There is something new */
static inline bool dmanic_tx_more(const struct dmanic_tx *tx)
{
	return tx->next != tx->end || !list_empty(&tx->turns);
}

/* There is something to send, once that is possible */
static inline bool dmanic_tx_any(const struct dmanic_tx *tx)
{
	return tx->lost.first != DMANIC_NONE || dmanic_tx_more(tx);
}

static inline struct dmanic_sent *dmanic_sent_at(const struct dmanic_tx *tx, u32 index)
{
	return &tx->sent[index & tx->sent_mask];
}

/* ack.c */
/* No acknowledgment is held back for longer, whatever the other side's times are */
#define DMANIC_ACK_HOLD_NS	1000000ULL
void dmanic_ack_wanted(struct dmanic_peer *peer, bool last, u64 now);
void dmanic_ack_late(struct dmanic_peer *peer, u64 now);
u64 dmanic_ack_hold(const struct dmanic_peer *peer);
bool dmanic_ack_along(const struct dmanic_peer *peer, u8 class);
void dmanic_ack_fill(struct dmanic_peer *peer, bool along, u64 now, struct dmanic_ack *ack);
void dmanic_ack_answered(struct dmanic_peer *peer, u64 now);
enum dmanic_drop dmanic_ack_receive(struct dmanic_peer *peer, const struct dmanic_ack *ack,
				    u64 now);
void dmanic_ack_brought(struct dmanic_peer *peer, u32 bytes, u64 now);
u32 dmanic_ack_window(struct dmanic_peer *peer, u64 now);

/* loss.c */
void dmanic_loss_acked(struct dmanic_peer *peer, u8 class, const struct dmanic_sent *sent,
		       u64 now);
void dmanic_loss_detect(struct dmanic_peer *peer, u64 now);
u64 dmanic_loss_deadline(const struct dmanic_peer *peer);
void dmanic_loss_timer(struct dmanic_peer *peer, u64 now);
void dmanic_loss_mark(struct dmanic_peer *peer, u8 class, u32 index, u64 now);
bool dmanic_loss_damaged(struct dmanic_peer *peer, u8 class, u32 index, u64 now);

/* rate.c */
void dmanic_rate_reset(struct dmanic_peer *peer);
void dmanic_rate_rtt(struct dmanic_peer *peer, u64 rtt, u64 now);
void dmanic_rate_round(struct dmanic_peer *peer, u64 acked, u64 now);
u64 dmanic_rate_rto(const struct dmanic_peer *peer);
u64 dmanic_rate_room(struct dmanic_peer *peer, u8 class, u64 now);
u32 dmanic_rate_ask(const struct dmanic_peer *peer);
bool dmanic_rate_clean(const struct dmanic_peer *peer);
void dmanic_rate_lost(struct dmanic_peer *peer, u32 units);
void dmanic_rate_found(struct dmanic_peer *peer, u32 units);
u64 dmanic_rate_due(struct dmanic_peer *peer, u64 now);
void dmanic_rate_sent(struct dmanic_peer *peer, u32 bytes, u64 now);

/* auth.c */
void dmanic_auth_count(struct dmanic_host *host, struct dmanic_peer *peer,
		       struct dmanic_out *out);
bool dmanic_auth_newer(struct dmanic_host *host, u32 node, const struct dmanic_head *head);
enum dmanic_drop dmanic_auth_check_head(struct dmanic_host *host,
					const struct dmanic_frame *frame,
					const struct dmanic_head *head, u64 now);
u32 dmanic_auth_stranger(const struct dmanic_host *host, u64 from);
enum dmanic_drop dmanic_auth_check_payload(struct dmanic_host *host,
					   const struct dmanic_frame *frame,
					   const struct dmanic_head *head);
bool dmanic_auth_check_counter(struct dmanic_peer *peer, u64 counter);

/* Is a frame of who knows the key. Its payload is to be checked yet. 0, or why to drop it */
static inline enum dmanic_drop dmanic_auth_receive(struct dmanic_host *host,
						   const struct dmanic_frame *frame,
						   const struct dmanic_head *head, u64 now)
{
	if (!host->auth.on)
		return head->flags & DMANIC_WIRE_AUTH ? DMANIC_DROP_AUTH : DMANIC_DROP_NONE;
	return dmanic_auth_check_head(host, frame, head, now);
}

/* Is the payload what its head, which was checked, says; always without a key. 0, or why not */
static inline enum dmanic_drop dmanic_auth_receive_payload(struct dmanic_host *host,
							   const struct dmanic_frame *frame,
							   const struct dmanic_head *head)
{
	return host->auth.on ? dmanic_auth_check_payload(host, frame, head) : DMANIC_DROP_NONE;
}

/* Was there no frame of the peer's with that counter; it is noted. Always without a key */
static inline bool dmanic_auth_fresh(struct dmanic_peer *peer, u64 counter)
{
	return !peer->host->auth.on || dmanic_auth_check_counter(peer, counter);
}

#endif /* DMANIC_PROTO_INTERNAL_H */
