// SPDX-License-Identifier: GPL-2.0-only
/*
 * beside.c - a thread that keeps another CPU busy
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "beside.h"
#include "end.h"
#include "nicperf.h"

/* Longer than a polling thread, or a worker, looks for work before it sleeps */
#define SETTLE_NS	1100000

enum wish { REST, BUSY, END };

/**
 * struct beside - the thread
 * @thread: it
 * @lock: of @changed
 * @changed: @wish or @busy
 * @wish: what it shall do
 * @busy: it does
 * @cpu: where it runs
 */
struct beside {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum wish wish;
	bool busy;
	int cpu;
};

static void *beside_run(void *arg)
{
	struct beside *beside = arg;

	cpu_bind(beside->cpu);
	pthread_mutex_lock(&beside->lock);
	while (beside->wish != END) {
		beside->busy = beside->wish == BUSY;
		pthread_cond_broadcast(&beside->changed);
		if (!beside->busy) {
			pthread_cond_wait(&beside->changed, &beside->lock);
			continue;
		}
		pthread_mutex_unlock(&beside->lock);
		while (__atomic_load_n(&beside->wish, __ATOMIC_RELAXED) == BUSY)
			cpu_relax();
		pthread_mutex_lock(&beside->lock);
	}
	pthread_mutex_unlock(&beside->lock);
	return NULL;
}

struct beside *beside_create(const struct run *run)
{
	struct beside *beside;

	if (run->cpu[0] == run->cpu[1])
		return NULL;
	beside = calloc(1, sizeof(*beside));
	if (!beside)
		return NULL;
	beside->cpu = run->cpu[1];
	pthread_mutex_init(&beside->lock, NULL);
	pthread_cond_init(&beside->changed, NULL);
	if (pthread_create(&beside->thread, NULL, beside_run, beside)) {
		free(beside);
		return NULL;
	}
	return beside;
}

static void wish_for(struct beside *beside, enum wish wish)
{
	__atomic_store_n(&beside->wish, wish, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&beside->changed);
}

void beside_set_busy(struct beside *beside, bool busy)
{
	const struct timespec settle = { .tv_nsec = SETTLE_NS };

	if (!beside)
		return;
	if (busy)
		nanosleep(&settle, NULL);
	pthread_mutex_lock(&beside->lock);
	wish_for(beside, busy ? BUSY : REST);
	while (beside->busy != busy)
		pthread_cond_wait(&beside->changed, &beside->lock);
	pthread_mutex_unlock(&beside->lock);
}

void beside_free(struct beside *beside)
{
	if (!beside)
		return;
	pthread_mutex_lock(&beside->lock);
	wish_for(beside, END);
	pthread_mutex_unlock(&beside->lock);
	pthread_join(beside->thread, NULL);
	free(beside);
}
