// SPDX-License-Identifier: GPL-2.0-only
/*
 * pong.c - ping-pong: once there and back, and the end that answers
 *
 * That end knows nothing of the other one but what arrives, so it may run in a
 * thread, a process or a host of its own.
 */
#include <errno.h>
#include <string.h>

#include "pattern.h"
#include "pong.h"

/* Stores instead of a put: the notify comes after them */
static int pong_store(struct end *end, uint64_t payload)
{
	char *to = end->map + end->remote_half;
	int ret;

	memcpy(to, end_send(end), pong_bytes(payload));
	nic_pio_flush(to);
	ret = nic_post_notify(end->queue, end->bell, payload, NIC_SILENT,
			      payload);
	if (ret)
		return end_fail(end, ret, "post a notify");
	return end_submit(end, 1);
}

int pong_send(struct end *end, uint64_t payload)
{
	int ret;

	if (atomic_load(&end->by_pio))
		return pong_store(end, payload);
	/*
	 * SILENT: the answer tells that the put was placed. One may be posted
	 * while the one before has not been acknowledged, with the same data.
	 */
	ret = nic_post_put_notify(end->queue, end->segment, 0, end->remote,
				  end->remote_half, pong_bytes(payload),
				  end->bell, payload, NIC_SILENT, payload);
	if (ret)
		return end_fail(end, ret, "post a put with notify");
	return end_submit(end, 1);
}

int pong_ping(struct end *end, const char *far, uint64_t payload, enum wait wait)
{
	struct nic_event event;
	int ret;

	ret = pong_send(end, payload);
	if (!ret)
		ret = end_event(end, wait, &event);
	if (ret)
		return ret;
	if (event.payload & PONG_BAD)
		return end_fault(end, -EIO, "data came out wrong at %s", far);
	if (event.payload != payload)
		return end_fault(end, -EPROTO, "interrupt %#llx was expected, "
				 "%#llx came", (unsigned long long)payload,
				 (unsigned long long)event.payload);
	return 0;
}

/* The data that came, sent back; or word that they are not what they should */
static uint64_t pong_verify(struct end *end, uint64_t payload)
{
	uint64_t bytes = pong_bytes(payload);
	const char *data = end_receive(end);

	if (!pattern_matches(data, bytes, pong_sequence(payload)))
		payload |= PONG_BAD;
	memcpy(end_send(end), data, bytes);
	return payload;
}

/* How often our interrupt was raised before that */
static int pong_count(struct end *end)
{
	uint64_t raised = nic_irq_count(end->irq) - 1;
	int ret;

	ret = nic_post_notify(end->queue, end->bell, raised, NIC_SILENT, raised);
	return ret ? end_fail(end, ret, "post a notify") : end_submit(end, 1);
}

int pong_serve(struct end *end, enum wait wait)
{
	struct nic_event event;
	int ret;

	for (;;) {
		ret = end_event(end, wait, &event);
		if (ret)
			return ret;
		if (event.payload & PONG_STOP)
			return 0;
		if (event.payload & PONG_QUIET) {
			ret = event.payload & PONG_VERIFY ? pong_count(end) : 0;
			if (ret)
				return ret;
			continue;
		}
		if (pong_bytes(event.payload) > end->half)
			return end_fault(end, -EMSGSIZE, "asked to answer with"
					 " more than the segment holds");
		if (event.payload & PONG_VERIFY)
			event.payload = pong_verify(end, event.payload);
		ret = pong_send(end, event.payload);
		if (ret)
			return ret;
		wait = event.payload & PONG_SLEEP ? WAIT_SLEEP : WAIT_POLL;
	}
}
