// SPDX-License-Identifier: GPL-2.0-only
/*
 * failure.c - why a rank gives up
 *
 * When one rank gives up, others fail for want of it, and nicrun stops them.
 * Only the first reason is of use. So whoever may have failed because of
 * another waits before it speaks: SIGTERM, which ends it in silence, comes
 * first.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "nictile.h"
#include "tools/common/size.h"

#define OTHERS_MS	1000	/* it is the fault of another rank */
#define ALL_MS		200	/* all may have failed alike: rank 0 speaks */

unsigned int failure_delay_ms(const struct failure *failure)
{
	if (failure->ret == -EREMOTEIO)
		return OTHERS_MS;
	return failure->rank ? ALL_MS : 0;
}

char *failure_text(const struct failure *failure, char text[FAILURE_TEXT])
{
	char time[SIZE_TEXT];
	int at;

	at = snprintf(text, FAILURE_TEXT, "nictile: rank %u: %s: %s",
		      failure->rank, failure->what,
		      *failure->detail ? failure->detail :
					 strerror(-failure->ret));
	if (failure->ret == -ETIME && at < FAILURE_TEXT)
		snprintf(text + at, FAILURE_TEXT - (size_t)at,
			 "; --timeout is %s%s%s (nicctl dev show)",
			 time_print((double)failure->timeout_ns, time),
			 *failure->model ? ", and the link slow: " :
					   "; is the link's model slow?",
			 failure->model);
	return text;
}

int failure_tell(struct nic_ctx *ctx, struct failure *failure)
{
	unsigned int ms = failure_delay_ms(failure);
	struct timespec delay = {
		.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L,
	};
	struct nic_info info = { .size = sizeof(info) };
	char text[FAILURE_TEXT], detail[FAILURE_TEXT];
	char model[DEVICE_MODEL_TEXT] = "";

	/* a later call would leave another one */
	snprintf(detail, sizeof(detail), "%s", failure->detail ?
		 failure->detail : nic_error_detail(ctx));
	failure->detail = detail;
	if (failure->ret == -ETIME && !nic_query(ctx, &info))
		device_ask_model(info.name, model);
	failure->model = model;
	nanosleep(&delay, NULL);
	fprintf(stderr, "%s\n", failure_text(failure, text));
	return failure->ret;
}
