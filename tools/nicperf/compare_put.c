// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare_put.c - puts with notify, there and back: a sample of them
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "compare.h"
#include "pong.h"

static void *answer(void *arg)
{
	struct put_pong *pong = arg;
	struct end *far = &pong->run->far;
	int ret = cpu_bind(pong->run->cpu[1]);

	if (ret)
		end_fault(far, ret, "cannot run on CPU %d: %s", pong->run->cpu[1],
			  strerror(-ret));
	else
		ret = pong_serve(far, pong->wait);
	if (ret && ret != -ECANCELED) {
		pong->failed = true;
		atomic_store(&pong->abort, true);
	}
	return NULL;
}

static int trips_take(struct put_pong *pong, uint64_t count)
{
	uint64_t payload = pong->bytes << PONG_BYTES_SHIFT;
	uint64_t i, start = now_ns(), now;
	struct run *run = pong->run;
	int ret = 0;

	if (pong->wait == WAIT_SLEEP)
		payload |= PONG_SLEEP;
	for (i = 0; i < count && !ret; i++) {
		ret = pong_ping(&run->near, run->far.device,
				payload | (pong->sequence++ & PONG_SEQUENCE),
				pong->wait);
		now = now_ns();
		trips_add(pong->trips, now - start);
		start = now;
	}
	return ret ? ret : pong_send(&run->near, PONG_STOP);
}

int put_pong_run(void *arg, uint64_t count, uint64_t *ns)
{
	struct put_pong *pong = arg;
	struct run *run = pong->run;
	pthread_t thread;
	int ret;

	atomic_store(&pong->abort, false);
	pong->failed = false;
	end_forget_events(&run->near);
	end_forget_events(&run->far);
	run->near.abort = &pong->abort;
	run->far.abort = &pong->abort;
	ret = -pthread_create(&thread, NULL, answer, pong);
	if (ret) {
		snprintf(pong->error, sizeof(pong->error),
			 "cannot start a thread to answer: %s", strerror(-ret));
	} else {
		ret = trips_take(pong, count);
		if (ret)
			atomic_store(&pong->abort, true);
		pthread_join(thread, NULL);
		if (pong->failed && !ret)
			ret = -EIO;
		/* the other thread's failure is the cause of ours */
		if (ret)
			snprintf(pong->error, sizeof(pong->error), "%s",
				 pong->failed ? run->far.error : run->near.error);
	}
	run->near.abort = NULL;
	run->far.abort = NULL;
	*ns = trips_one_way(pong->trips, count);
	return ret;
}
