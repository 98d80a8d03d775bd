/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trace.h - tracepoints: an operation is posted, started, done; an interrupt
 * is raised. An operation that goes to no node has target=-1.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dmanic

#if !defined(DMANIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DMANIC_TRACE_H

#include <linux/tracepoint.h>

#include "dmanic.h"

DECLARE_EVENT_CLASS(dmanic_op,
	TP_PROTO(const struct dmanic_op *op),
	TP_ARGS(op),
	TP_STRUCT__entry(
		__field(u32, node)
		__field(u32, target)
		__field(u8, opcode)
		__field(u8, flags)
		__field(u64, cookie)
		__field(u64, bytes)
		__field(u32, status)
	),
	TP_fast_assign(
		__entry->node = op->queue->node->id;
		__entry->target = op->target.node;
		__entry->opcode = op->opcode;
		__entry->flags = op->flags;
		__entry->cookie = op->cookie;
		__entry->bytes = dmanic_op_bytes(op);
		__entry->status = op->status;
	),
	TP_printk("node=%u target=%d opcode=%u flags=%#x cookie=%#llx bytes=%llu status=%u",
		  __entry->node, (int)__entry->target, __entry->opcode, __entry->flags,
		  __entry->cookie, __entry->bytes, __entry->status)
);

DEFINE_EVENT(dmanic_op, dmanic_post,
	TP_PROTO(const struct dmanic_op *op), TP_ARGS(op));
DEFINE_EVENT(dmanic_op, dmanic_start,
	TP_PROTO(const struct dmanic_op *op), TP_ARGS(op));
DEFINE_EVENT(dmanic_op, dmanic_done,
	TP_PROTO(const struct dmanic_op *op), TP_ARGS(op));

TRACE_EVENT(dmanic_notify,
	TP_PROTO(const struct dmanic_node *node, u32 id, u64 payload, u32 from,
		 u32 status),
	TP_ARGS(node, id, payload, from, status),
	TP_STRUCT__entry(
		__field(u32, node)
		__field(u32, id)
		__field(u64, payload)
		__field(u32, from)
		__field(u32, status)
	),
	TP_fast_assign(
		__entry->node = node->id;
		__entry->id = id;
		__entry->payload = payload;
		__entry->from = from;
		__entry->status = status;
	),
	TP_printk("node=%u irq=%u payload=%#llx from=%u status=%u", __entry->node,
		  __entry->id, __entry->payload, __entry->from, __entry->status)
);

#endif /* DMANIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
