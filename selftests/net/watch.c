// SPDX-License-Identifier: GPL-2.0-only
/*
 * watch.c - rank 0 writes to the others until an operation fails
 *
 * It prints which status the first one that fails has, and how many milliseconds
 * after the last one that did not it came; then, of all that were pending to that
 * rank, how many had the same one, another, or ended well, and within what time. Some
 * wait for others: a put behind a get, and what has a FENCE. At last what the driver tells of
 * that rank's node, to who waits for it by an eventfd. The other ranks wait to be killed, or for
 * the end of their device.
 */
#include "exchange.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tools/common/clock.h"

/* So long news may take, and their signal */
#define NEWS_MS	5000

/**
 * struct watch - what rank 0 has for it
 * @x: the rank
 * @from: what is written
 * @to: where, at each other rank
 * @last_ns: when an operation to that rank was done
 * @bell: eventfd, signalled when there are more news
 */
struct watch {
	struct exchange *x;
	struct nic_segment *from;
	struct nic_remote **to;
	uint64_t *last_ns;
	int bell;
};

static void post(struct watch *w, unsigned int slot)
{
	struct exchange *x = w->x;
	unsigned int to = slot % (x->size - 1) + 1, turn = slot / (x->size - 1) % 4;

	if (turn == 1)
		must(x, nic_post_get(x->queue, w->from, slot * x->bytes, w->to[to],
				     slot * x->bytes, x->bytes, 0, slot), "get");
	else
		must(x, nic_post_put(x->queue, w->from, slot * x->bytes, w->to[to],
				     slot * x->bytes, x->bytes,
				     turn == 3 ? NIC_FENCE : 0, slot), "put");
}

static double ms_since(uint64_t then)
{
	return (double)(now_ns() - then) / 1e6;
}

/* All others to that rank end, too, as the first did */
static void drain(struct watch *w, unsigned int rank, uint32_t status, unsigned int left)
{
	struct nic_completion done;
	struct exchange *x = w->x;
	uint64_t begin = now_ns();
	unsigned int same = 1, other = 0, well = 0;

	while (left--) {
		must(x, nic_queue_wait(x->queue, &done, 1, x->wait_ns),
		     "wait for what is pending");
		if (done.cookie % (x->size - 1) + 1 != rank)
			continue;
		if (done.status == NIC_OK) {
			well++;
		} else if (done.status == status) {
			same++;
		} else {
			other++;
			fprintf(stderr, "one ended with %s\n", nic_status_name(done.status));
		}
	}
	printf(", %u of them, %u of others, %u well, all after %.1f ms\n", same, other, well,
	       ms_since(begin));
}

/* How often it was signalled since the last time */
static uint64_t rung(const struct watch *w)
{
	uint64_t times = 0;

	if (read(w->bell, &times, sizeof(times)) < 0 && errno != EAGAIN)
		die(w->x, "read an eventfd: %s", strerror(errno));
	return times;
}

/* From now on, what was told before is nobody's business */
static void bell_hang(struct watch *w)
{
	struct exchange *x = w->x;
	struct nic_news news;
	int got;

	w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->bell < 0)
		die(x, "make an eventfd: %s", strerror(errno));
	must(x, nic_news_eventfd(x->ctx, w->bell), "have news told to an eventfd");
	do {
		/* Before they are taken: of what is told in between there is a signal left */
		rung(w);
		got = nic_news_poll(x->ctx, &news, 1);
		must(x, got, "ask for news");
	} while (got);
}

/*
 * What the driver tells of that rank's node, and nothing of others. Who finds nothing waits
 * for the eventfd alone, so that without a signal he finds none. Who is quick finds them
 * before it is signalled, which it is once for what comes together.
 */
static void tell_news(struct watch *w, unsigned int rank)
{
	struct pollfd wait = { .fd = w->bell, .events = POLLIN };
	uint64_t begin = now_ns();
	struct exchange *x = w->x;
	struct nic_news news;
	bool signalled = false;
	int got = 0;

	while (got != 1 && ms_since(begin) < NEWS_MS) {
		got = nic_news_poll(x->ctx, &news, 1);
		must(x, got, "ask for news");
		if (!got && poll(&wait, 1, NEWS_MS) == 1)
			signalled = rung(w) || signalled;
		/* That it is there was told first */
		if (got && (news.event == NIC_NEWS_PEER_UP ||
			    news.node != nic_team_node(x->team, rank)))
			got = 0;
	}
	if (!signalled && poll(&wait, 1, NEWS_MS) == 1)
		signalled = rung(w);
	printf("news: %s%s\n", got ? nic_news_name(news.event) : "none",
	       signalled ? "" : ", and the eventfd was not signalled");
}

static void write_until_failure(struct watch *w)
{
	struct nic_completion done;
	struct exchange *x = w->x;
	unsigned int i, to;

	for (i = 0; i < x->depth; i++)
		post(w, i);
	for (;;) {
		must(x, nic_queue_wait(x->queue, &done, 1, x->wait_ns),
		     "wait for an operation");
		to = (unsigned int)done.cookie % (x->size - 1) + 1;
		if (done.status != NIC_OK)
			break;
		w->last_ns[to] = now_ns();
		post(w, (unsigned int)done.cookie);
	}
	printf("rank %u: %s after %.1f ms", to, nic_status_name(done.status),
	       ms_since(w->last_ns[to]));
	drain(w, to, done.status, x->depth - 1);
	tell_news(w, to);
}

void watch_run(struct exchange *x)
{
	struct watch w = { .x = x };
	struct nic_segment *segment;
	unsigned int i;

	if (x->rank) {
		share(x, x->depth * x->bytes, NIC_READ | NIC_WRITE, "watch", &segment);
		meet(x);
		for (;;)
			pause();
	}
	must(x, nic_segment_alloc(x->ctx, x->depth * x->bytes, &w.from),
	     "make a segment");
	w.to = calloc(x->size, sizeof(*w.to));
	w.last_ns = calloc(x->size, sizeof(*w.last_ns));
	if (!w.to || !w.last_ns)
		die(x, "out of memory");
	for (i = 1; i < x->size; i++) {
		must(x, nic_team_find(x->team, i, "watch", x->wait_ns, &w.to[i]),
		     "find a rank");
		w.last_ns[i] = now_ns();
	}
	meet(x);
	bell_hang(&w);
	puts("watching");
	fflush(stdout);
	write_until_failure(&w);
	/* No others are left to take leave of */
	exit(0);
}
