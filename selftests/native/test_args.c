// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words of nicctl's command line: shortened, ambiguous, missing, too many.
 *
 * Sources: tools/nicctl/args.c tools/nicctl/request.c tools/common/size.c
 */
#include <linux/dmanic_netlink.h>

#include "tools/nicctl/args.h"
#include "tools/nicctl/request.h"

#include "unit.h"

static const char *const names[] = { "show", "set", "sets", "del", NULL };

#define WORDS(...) { .word = (char *const[]){ __VA_ARGS__, NULL } }
#define NO_WORDS { .word = (char *const[]){ NULL } }

TEST(choose__exact)
{
	struct args args = WORDS("del", "x");

	EXPECT_EQ(args_choose(&args, "command", names), 3);
	EXPECT_EQ(strcmp(args_peek(&args), "x"), 0);
}

TEST(choose__shortened)
{
	struct args args = WORDS("sh");

	EXPECT_EQ(args_choose(&args, "command", names), 0);
	EXPECT(!args_peek(&args));
}

TEST(choose__exact_though_a_longer_one_begins_so)
{
	struct args args = WORDS("set");

	EXPECT_EQ(args_choose(&args, "command", names), 1);
}

TEST(choose__ambiguous_lists_the_candidates_only)
{
	struct args args = WORDS("se");

	EXPECT_EQ(args_choose(&args, "command", names), -1);
	EXPECT_EQ(strcmp(args.error,
			 "command \"se\" is ambiguous: set, sets"), 0);
	EXPECT(args_peek(&args));
}

TEST(choose__unknown_lists_all)
{
	struct args args = WORDS("shows");

	EXPECT_EQ(args_choose(&args, "command", names), -1);
	EXPECT_CONTAINS(args.error, "unknown command \"shows\"");
	EXPECT_CONTAINS(args.error, "show, set, sets, del");
}

TEST(choose__empty_word_is_no_abbreviation)
{
	struct args args = WORDS("");

	EXPECT_EQ(args_choose(&args, "command", names), -1);
	EXPECT_CONTAINS(args.error, "unknown command");
}

TEST(choose__missing)
{
	struct args args = NO_WORDS;

	EXPECT_EQ(args_choose(&args, "command", names), -1);
	EXPECT_CONTAINS(args.error, "a command is missing: show, set");
}

TEST(choose__long_word_does_not_overflow_the_error)
{
	char word[2 * ARGS_ERROR];
	struct args args = WORDS(word);

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	EXPECT_EQ(args_choose(&args, "command", names), -1);
	EXPECT_EQ(strlen(args.error), ARGS_ERROR - 1);
}

TEST(take__missing_and_empty)
{
	struct args none = NO_WORDS;
	struct args empty = WORDS("");

	EXPECT(!args_take(&none, "the name"));
	EXPECT_EQ(strcmp(none.error, "the name is missing"), 0);
	EXPECT(!args_take(&empty, "the name"));
	EXPECT_EQ(strcmp(empty.error, "the name is empty"), 0);
}

TEST(take__keyword_shortened_or_exactly)
{
	struct args args = WORDS("sh", "show", "sh", "shown");

	EXPECT(args_take_keyword(&args, "show"));
	EXPECT(args_take_keyword(&args, "show"));
	EXPECT(!args_take_exactly(&args, "show"));
	EXPECT(args_take_keyword(&args, "show"));
	EXPECT(!args_take_keyword(&args, "show"));
	EXPECT_EQ(args_end(&args), -1);
	EXPECT_CONTAINS(args.error, "\"shown\" is one word too many");
}

TEST(end__nothing_left)
{
	struct args args = NO_WORDS;

	EXPECT_EQ(args_end(&args), 0);
	EXPECT(!args_take_keyword(&args, "show"));
	EXPECT(!args_take_exactly(&args, "show"));
}

TEST(devices__name_fabric_or_all)
{
	struct args all = NO_WORDS;
	struct args one = WORDS("nic0", "force");
	struct args many = WORDS("fabric", "nic");
	struct args half = WORDS("fabric");
	struct request request = { 0 };

	EXPECT_EQ(request_devices(&request, &all), 0);
	EXPECT(!request.name && !request.fabric);
	ASSERT_EQ(request_devices(&request, &one), 0);
	ASSERT(request.name);
	EXPECT_EQ(strcmp(request.name, "nic0"), 0);
	EXPECT_EQ(strcmp(args_peek(&one), "force"), 0);
	ASSERT_EQ(request_devices(&request, &many), 0);
	ASSERT(request.fabric);
	EXPECT_EQ(strcmp(request.fabric, "nic"), 0);
	EXPECT_EQ(request_devices(&request, &half), -1);
	EXPECT_CONTAINS(half.error, "the prefix of the fabric is missing");
}

TEST(devices__too_long)
{
	struct args fits = WORDS("1234567890123456789012345678901");
	struct args args = WORDS("12345678901234567890123456789012");
	struct request request = { 0 };

	EXPECT_EQ(request_devices(&request, &fits), 0);
	EXPECT_EQ(request_devices(&request, &args), -1);
	EXPECT_CONTAINS(args.error, "longer than 31 characters");
}

TEST(keywords__all_of_a_loop)
{
	struct args args = WORDS("type", "loop", "nodes", "9", "mod", "sci-d330",
				 "start", "49.2us", "int", "1ms", "lat", "2s",
				 "band", "64k", "scale", "0.5", "jit", "7ns",
				 "seed", "18446744073709551615");
	struct request request = { 0 };

	ASSERT_EQ(request_keywords(&request, &args, KEYWORDS_ADD), 0);
	EXPECT_EQ(request.given, KEYWORDS_ADD & ~KEYWORDS_ETHER & ~KEYWORDS_KEY);
	EXPECT_EQ(request_check_add(&request, &args), 0);
	ASSERT(request.type && request.model);
	EXPECT_EQ(strcmp(request.type, "loop"), 0);
	EXPECT_EQ(strcmp(request.model, "sci-d330"), 0);
	EXPECT_EQ(request.number[KEYWORD_NODES], 9);
	EXPECT_EQ(request.number[KEYWORD_START], 49200);
	EXPECT_EQ(request.number[KEYWORD_INTERRUPT], 1000000);
	EXPECT_EQ(request.number[KEYWORD_LATENCY], 2000000000);
	EXPECT_EQ(request.number[KEYWORD_BANDWIDTH], 65536);
	EXPECT_EQ(request.number[KEYWORD_SCALE], 500);
	EXPECT_EQ(request.number[KEYWORD_JITTER], 7);
	EXPECT(request.number[KEYWORD_SEED] == UINT64_MAX);
}

TEST(keywords__all_of_an_ether)
{
	struct args args = WORDS("ty", "ether", "net", "eth0", "node", "7",
				 "crc", "on", "ethert", "0x88b6", "dead", "3s",
				 "key", "/etc/dmanic/nic0.key", "key-id", "4294967295");
	struct request request = { 0 };

	ASSERT_EQ(request_keywords(&request, &args, KEYWORDS_ADD), 0);
	EXPECT_EQ(request.given, KEYWORDS_ADD & ~KEYWORDS_LOOP);
	EXPECT_EQ(request_check_add(&request, &args), 0);
	ASSERT(request.type && request.netdev);
	EXPECT_EQ(strcmp(request.type, "ether"), 0);
	EXPECT_EQ(strcmp(request.netdev, "eth0"), 0);
	EXPECT_EQ(request.number[KEYWORD_NODE], 7);
	EXPECT_EQ(request.number[KEYWORD_CRC], DMANIC_CRC_ON);
	EXPECT_EQ(request.number[KEYWORD_ETHERTYPE], 0x88b6);
	EXPECT_EQ(request.number[KEYWORD_DEAD], 3000000000);
	EXPECT_EQ(strcmp(request.key, "/etc/dmanic/nic0.key"), 0);
	EXPECT_EQ(request.number[KEYWORD_KEY_ID], UINT32_MAX);
}

static void refused_set(struct args args, const char *why)
{
	struct request request = { 0 };

	EXPECT(request_keywords(&request, &args, KEYWORDS_SET) ||
	       request_check_set(&request, &args));
	EXPECT_CONTAINS(args.error, why);
}

TEST(keywords__of_keys)
{
	refused_set((struct args)WORDS("key-id", "3"), "key is missing");
	refused_set((struct args)WORDS("key", "none", "key-id", "3"), "key is missing");
	refused_set((struct args)WORDS("key", "-", "key-id", "0"), "means no key");
}

/* What one type has the other has not, and is said before what is missing */
static void refused_add(struct args args, const char *why)
{
	struct request request = { 0 };

	ASSERT_EQ(request_keywords(&request, &args, KEYWORDS_ADD), 0);
	EXPECT_EQ(request_check_add(&request, &args), -1);
	EXPECT_CONTAINS(args.error, why);
}

#define REFUSED_ADD(why, ...) refused_add((struct args)WORDS(__VA_ARGS__), why)

TEST(keywords__of_the_other_type)
{
	REFUSED_ADD("type loop has no netdev", "type", "loop", "netdev", "eth0");
	REFUSED_ADD("type ether has no nodes", "type", "ether", "nodes", "2");
	REFUSED_ADD("netdev is missing", "type", "ether", "node", "2");
	REFUSED_ADD("node is missing", "type", "ether", "netdev", "eth0");
	REFUSED_ADD("nodes is missing", "type", "loop");
	REFUSED_ADD("types: loop, ether", "type", "pci");
}

static void expect_node(const char *name, const char *given, uint64_t node)
{
	struct args args = WORDS("type", "ether", "netdev", "eth0", given ? "node" : NULL,
				 (char *)given);
	struct request request = { .name = name };

	ASSERT_EQ(request_keywords(&request, &args, KEYWORDS_ADD), 0);
	ASSERT_EQ(request_check_add(&request, &args), 0);
	EXPECT(request_has(&request, KEYWORD_NODE));
	EXPECT_EQ(request.number[KEYWORD_NODE], node);
}

TEST(keywords__node_is_that_of_the_name)
{
	expect_node("nic0", NULL, 0);
	expect_node("nic17", NULL, 17);
	expect_node("rack2nic3", NULL, 3);
	expect_node("nic007", NULL, 7);
	expect_node("nic3", "5", 5);
}

/* Refused words and what must be said about them */
static void refused(struct args args, unsigned int allowed, const char *why)
{
	struct request request = { 0 };

	EXPECT_EQ(request_keywords(&request, &args, allowed), -1);
	EXPECT_CONTAINS(args.error, why);
}

#define REFUSED(allowed, why, ...) \
	refused((struct args)WORDS(__VA_ARGS__), allowed, why)

TEST(keywords__refused)
{
	REFUSED(KEYWORDS_ADD, "keyword \"s\" is ambiguous: start, scale, seed",
		"s", "1");
	REFUSED(KEYWORDS_ADD, "keyword \"no\" is ambiguous: nodes, node",
		"no", "1");
	REFUSED(KEYWORDS_ADD, "unknown keyword \"force\"", "force");
	REFUSED(KEYWORDS_SET, "unknown keyword \"nodes\"", "nodes", "2");
	REFUSED(KEYWORDS_DEL, "unknown keyword \"model\"", "model", "none");
	REFUSED(KEYWORDS_ADD, "the value of nodes is missing", "nodes");
	REFUSED(KEYWORDS_ADD, "seed is there twice", "seed", "1", "seed", "1");
	REFUSED(KEYWORDS_ADD, "nodes \"4294967296\" is too large", "nodes",
		"4294967296");
	REFUSED(KEYWORDS_ADD, "start \"5 us\" has an unknown unit", "start",
		"5 us");
	REFUSED(KEYWORDS_ADD, "bandwidth \"-1\" is negative", "bandwidth",
		"-1");
	REFUSED(KEYWORDS_SET, "failed \"yes\" is neither on nor off", "failed",
		"yes");
}

TEST(keywords__times_have_a_unit)
{
	struct args zero = WORDS("start", "0", "interrupt", "0.0", "jitter",
				 "0s");
	struct request request = { 0 };

	REFUSED(KEYWORDS_SET, "latency \"5\" has no unit: give ns, us, ms or s",
		"latency", "5");
	REFUSED(KEYWORDS_ADD, "start \"0.5\" has no unit", "start", "0.5");
	REFUSED(KEYWORDS_ADD, "interrupt \"1\" has no unit", "interrupt", "1");
	REFUSED(KEYWORDS_ADD, "jitter \"7\" has no unit", "jitter", "7");
	EXPECT_EQ(request_keywords(&request, &zero, KEYWORDS_SET), 0);
	EXPECT_EQ(request.number[KEYWORD_START], 0);
	EXPECT_EQ(request.number[KEYWORD_INTERRUPT], 0);
}

TEST(keywords__scale)
{
	REFUSED(KEYWORDS_ADD, "scale \"10ms\" is not a number without unit",
		"scale", "10ms");
	REFUSED(KEYWORDS_ADD, "scale \"1.2345\" has more than three decimals",
		"scale", "1.2345");
	REFUSED(KEYWORDS_ADD, "scale \"-1\" is negative", "scale", "-1");
	REFUSED(KEYWORDS_ADD, "scale \".5\" is not a number", "scale", ".5");
	REFUSED(KEYWORDS_ADD, "scale \"4294967.296\" is too large", "scale",
		"4294967.296");
}

TEST(keywords__switch_and_force)
{
	struct args on = WORDS("failed", "on");
	struct args off = WORDS("fai", "off");
	struct args force = WORDS("forc");
	struct request request = { 0 };

	EXPECT_EQ(request_keywords(&request, &on, KEYWORDS_SET), 0);
	EXPECT_EQ(request.number[KEYWORD_FAILED], 1);
	request.given = 0;
	EXPECT_EQ(request_keywords(&request, &off, KEYWORDS_SET), 0);
	EXPECT_EQ(request.number[KEYWORD_FAILED], 0);
	EXPECT(request_has(&request, KEYWORD_FAILED));
	EXPECT_EQ(request_keywords(&request, &force, KEYWORDS_DEL), 0);
	EXPECT(request_has(&request, KEYWORD_FORCE));
}
