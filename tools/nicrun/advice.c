// SPDX-License-Identifier: GPL-2.0-only
/*
 * advice.c - how the devices are made that are missing
 *
 * Pure, but for say(): what there is, device.c has found out.
 */
#include <inttypes.h>

#include "nicrun.h"

/* Each ether node is made by itself, on whichever machine */
static void say_ether(const struct missing *missing)
{
	say("%s%" PRIu32 " is an ether node, and these are made one by one: nicctl dev add %s%" PRIu32 " type ether netdev eth0 node %" PRIu32 "%s",
	    missing->prefix, missing->there, missing->prefix, missing->first,
	    missing->first, missing->count > 1 ? ", and so on" : "");
}

static void say_elsewhere(const struct missing *missing)
{
	say("%s%" PRIu32 " is in another network namespace: make what is missing there, too: ip netns exec NAME nicctl dev add %s%" PRIu32 " type ether netdev eth0 node %" PRIu32 "%s",
	    missing->prefix, missing->there, missing->prefix, missing->first,
	    missing->first, missing->count > 1 ? ", and so on" : "");
}

static void say_loop(const struct missing *missing)
{
	if (missing->others == OTHERS_LOOP)
		say("remove the others first: nicctl dev del fabric %s",
		    missing->prefix);
	say("make them: nicctl dev add %s type loop nodes %" PRIu32,
	    missing->prefix, missing->last + 1);
}

void advice_missing(const struct missing *missing)
{
	if (missing->here) {
		say("make each: nicctl dev add %s<number> type ether netdev eth0 node <number>",
		    missing->prefix);
		return;
	}
	if (missing->others == OTHERS_ETHER)
		say_ether(missing);
	else if (missing->others == OTHERS_ELSEWHERE)
		say_elsewhere(missing);
	else
		say_loop(missing);
	if (missing->others == OTHERS_ETHER || missing->others == OTHERS_ELSEWHERE)
		say("or name those there are, one number a rank; ranks may share a device: --nodes %" PRIu32 ",...; or leave ranks to other machines: --here",
		    missing->there);
}
