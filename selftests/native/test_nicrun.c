// SPDX-License-Identifier: GPL-2.0-only
/*
 * What nicrun advises when devices are missing: only what can work.
 *
 * Sources: tools/nicrun/advice.c
 */
#include <stdarg.h>

#include "tools/nicrun/nicrun.h"

#include "unit.h"

static char said[1024];

void say(const char *format, ...)
{
	size_t used = strlen(said);
	va_list list;

	va_start(list, format);
	vsnprintf(said + used, sizeof(said) - used, format, list);
	va_end(list);
	strncat(said, "\n", sizeof(said) - strlen(said) - 1);
}

/* Of nic0 to nic2 the last is missing, beside @others */
static const char *advice(enum others others, bool here)
{
	const struct missing missing = {
		.prefix = "nic", .here = here, .count = 1, .first = 2,
		.last = 2, .others = others,
	};

	*said = '\0';
	advice_missing(&missing);
	return said;
}

TEST(advice__of_a_loop_fabric)
{
	EXPECT(!strcmp(advice(OTHERS_NONE, false),
		       "make them: nicctl dev add nic type loop nodes 3\n"));
	EXPECT_CONTAINS(advice(OTHERS_LOOP, false), "nicctl dev del fabric nic\n");
	EXPECT_CONTAINS(said, "make them: nicctl dev add nic type loop nodes 3");
}

TEST(advice__of_ether_nodes)
{
	EXPECT_CONTAINS(advice(OTHERS_ETHER, false), "nic0 is an ether node");
	EXPECT_CONTAINS(said, "nicctl dev add nic2 type ether netdev eth0 node 2");
	EXPECT_CONTAINS(said, "--nodes 0,");
	EXPECT(!strstr(said, "loop"));
	EXPECT(!strstr(said, "dev del"));
}

TEST(advice__of_another_network_namespace)
{
	EXPECT_CONTAINS(advice(OTHERS_ELSEWHERE, false),
			"nic0 is in another network namespace");
	EXPECT_CONTAINS(said, "ip netns exec NAME nicctl dev add nic2 type ether");
	EXPECT_CONTAINS(said, "--nodes 0,");
	EXPECT(!strstr(said, "loop"));
	EXPECT(!strstr(said, "dev del"));
}

TEST(advice__of_a_part_of_the_ranks)
{
	EXPECT_CONTAINS(advice(OTHERS_ETHER, true),
			"make each: nicctl dev add nic<number> type ether");
}
