// SPDX-License-Identifier: GPL-2.0-only
/*
 * ether_receive.c - a frame for a node
 */
#include <linux/ktime.h>
#include <linux/percpu.h>

#include "ether.h"

/* Whose frame this CPU is at, under its lock */
DEFINE_PER_CPU(struct ether_node *, dmanic_ether_receiving);

/**
 * dmanic_ether_wants() - is a tag one of this node's
 * @en: the node; under RCU
 * @tag: of a frame
 *
 * Return: true when it is.
 */
bool dmanic_ether_wants(struct ether_node *en, u64 tag)
{
	struct ether_peer *ep;

	hash_for_each_possible_rcu(en->tags, ep, tagged, tag)
		if (READ_ONCE(ep->peer.local_tag) == tag)
			return true;
	return false;
}

/* Answers that wait: who makes us answer faster than the device sends gets none */
#define RECEIVE_ANSWERS		256U

static void receive_answer(struct ether_node *en, struct dmanic_peer *peer)
{
	struct sk_buff *skb;

	if (skb_queue_len(&en->answers) >= RECEIVE_ANSWERS)
		skb = NULL;
	else
		skb = dmanic_ether_frame_build(en, &en->out);
	if (!skb) {
		en->unsent++;
		return;
	}
	/* Those of a connection stay behind each other */
	if (peer)
		skb_set_hash(skb, to_ether_peer(peer)->hash, PKT_HASH_TYPE_L4);
	__skb_queue_tail(&en->answers, skb);
}

/**
 * dmanic_ether_receive() - a frame came
 * @en: for this node; softirqs are off
 * @skb: the frame, from its head on, which is contiguous; stays the caller's
 *
 * dmanic_ether_run() sends what that leads to.
 */
void dmanic_ether_receive(struct ether_node *en, struct sk_buff *skb)
{
	struct ether_frame link = { .skb = skb };
	struct dmanic_frame frame = {
		.from = ether_addr_to_u64(eth_hdr(skb)->h_source),
		.head = skb->data,
		.linear = skb_headlen(skb),
		.length = skb->len,
		.link = &link,
	};
	struct dmanic_peer *peer;

	spin_lock_bh(&en->lock);
	if (en->stopped)
		goto out_unlock;
	this_cpu_write(dmanic_ether_receiving, en);
	peer = dmanic_host_receive(&en->host, &frame, ktime_get_ns(), &en->out);
	if (en->out.head_length)
		receive_answer(en, peer);
	if (peer)
		dmanic_ether_wake(to_ether_peer(peer));
out_unlock:
	spin_unlock_bh(&en->lock);
	consume_skb(link.own);
}
