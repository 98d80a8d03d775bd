// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of nicctl save and restore: what is refused and in which line, what a
 * device is to have when all lines were obeyed, and that what is saved is what
 * there was.
 *
 * Sources: tools/nicctl/plan.c tools/nicctl/request.c tools/nicctl/args.c
 * Sources: tools/common/size.c tools/common/device.c tools/common/nl.c
 * Sources: tools/common/output.c tools/common/stats.c
 * Flags: -lmnl -lcjson
 */
#include <stdlib.h>

#include "tools/nicctl/plan.h"

#include "unit.h"

static struct plan plan;

static void refused(const char *text, unsigned int line, const char *why)
{
	EXPECT_EQ(plan_parse(&plan, text), -1);
	EXPECT_EQ(plan.line, line);
	EXPECT_CONTAINS(plan.error, why);
	plan_free(&plan);
}

TEST(plan__empty)
{
	ASSERT_EQ(plan_parse(&plan, ""), 0);
	EXPECT_EQ(plan.n, 0);
	plan_free(&plan);
	ASSERT_EQ(plan_parse(&plan, "\n  \t# only this\n\n#\n"), 0);
	EXPECT_EQ(plan.n, 0);
	plan_free(&plan);
}

TEST(plan__fabrics)
{
	ASSERT_EQ(plan_parse(&plan,
			     "dev add a type loop nodes 3 # three\r\n"
			     "\td ad b ty loop nodes 256 mod sci-d330 sc 10"), 0);
	ASSERT_EQ(plan.n, 2);
	EXPECT_EQ(strcmp(plan.fabric[0].prefix, "a"), 0);
	EXPECT_EQ(plan.fabric[0].nodes, 3);
	EXPECT_EQ(plan.fabric[0].line, 1);
	EXPECT_EQ(strcmp(plan.fabric[0].model.model, "none"), 0);
	EXPECT(plan.fabric[0].node[2].there && !plan.fabric[0].node[3].there);
	EXPECT_EQ(plan.fabric[1].nodes, 256);
	EXPECT_EQ(plan.fabric[1].line, 2);
	EXPECT_EQ(strcmp(plan.fabric[1].node[255].model.model, "sci-d330"), 0);
	EXPECT_EQ(plan.fabric[1].node[255].model.number[KEYWORD_SCALE], 10000);
	plan_free(&plan);
}

TEST(plan__refused)
{
	char many[1024] = "dev add";
	size_t at = strlen(many);
	int i;

	refused("dev", 1, "a command is missing: add, set, del");
	refused("\nstats\n", 2, "\"stats\" is no command of this file");
	refused("dev show", 1, "unknown command \"show\"");
	refused("# x\ndev add\n", 2, "the prefix of the device names is missing");
	refused("dev add a nodes 2", 1, "type is missing");
	refused("dev add a type loop", 1, "nodes is missing");
	refused("dev add a type pci nodes 2", 1, "types: loop, ether");
	refused("dev add a type ether nodes 2", 1, "has no nodes");
	refused("dev add a type ether netdev eth0", 1, "node is missing");
	refused("dev add a type loop nodes 0", 1, "nodes must be 1 to 256");
	refused("dev add a type loop nodes 257", 1, "nodes must be 1 to 256");
	refused("dev add a type loop nodes x", 1, "nodes \"x\"");
	refused("dev add a type loop nodes 1 failed on", 1,
		"unknown keyword \"failed\"");
	refused("dev add a type loop nodes 1\ndev add a type loop nodes 1", 2,
		"fabric a is there twice, first in line 1");
	for (i = 0; i < 80; i++, at += 2)
		memcpy(many + at, " x", sizeof(" x"));
	refused(many, 1, "more than 63 words");
}

TEST(plan__refused_changes)
{
#define ADD "dev add a type loop nodes 11\n"
	refused(ADD "dev set a0", 2, "nothing to change");
	refused(ADD "dev set", 2, "which device is missing");
	refused(ADD "dev set b0 scale 2", 2, "no line above adds a device b0");
	refused(ADD "dev set a11 scale 2", 2, "no line above adds a device a11");
	refused(ADD "dev set a01 scale 2", 2, "no line above adds a device a01");
	refused(ADD "dev set a scale 2", 2, "no line above adds a device a");
	refused(ADD "dev set fabric b scale 2", 2,
		"no line above adds a fabric b");
	refused("dev set a0 scale 2\n" ADD, 1, "no line above adds");
	refused(ADD "dev set a0 failed on", 2, "unknown keyword \"failed\"");
	refused(ADD "dev del a1 force", 2, "unknown keyword \"force\"");
	refused(ADD "dev del a1\ndev del a1", 3, "no line above adds");
	refused(ADD "dev del a1\ndev set a1 scale 2", 3, "no line above adds");
	refused(ADD "dev del fabric a", 2, "can go instead");
}

/* As the driver: a preset replaces what there was, the rest is changed */
TEST(plan__changes_add_up)
{
	const struct request *model;

	ASSERT_EQ(plan_parse(&plan,
			     ADD "dev set fabric a scale 3 seed 9\n"
			     "dev set a1 latency 5us\n"
			     "dev set a1 scale 4\n"
			     "dev set a10 model eth-25g\n"
			     "dev del a2"), 0);
	model = &plan.fabric[0].node[1].model;
	EXPECT_EQ(strcmp(model->model, "none"), 0);
	EXPECT_EQ(model->number[KEYWORD_SCALE], 4000);
	EXPECT_EQ(model->number[KEYWORD_SEED], 9);
	EXPECT_EQ(model->number[KEYWORD_LATENCY], 5000);
	model = &plan.fabric[0].node[10].model;
	EXPECT_EQ(strcmp(model->model, "eth-25g"), 0);
	EXPECT(!request_has(model, KEYWORD_SCALE));
	EXPECT(!plan.fabric[0].node[2].there);
	/* what it is made with is not what it becomes */
	EXPECT(!request_has(&plan.fabric[0].model, KEYWORD_SCALE));
	plan_free(&plan);
}

/* ---- what there is ---- */

static struct device device(const char *fabric, unsigned int node,
			    const char *model)
{
	struct device made = { .type = "loop" };

	snprintf(made.name, sizeof(made.name), "%s%u", fabric, node);
	snprintf(made.fabric, sizeof(made.fabric), "%s", fabric);
	snprintf(made.model_name, sizeof(made.model_name), "%s", model);
	made.number[DMANIC_A_NODE] = node;
	made.model[DMANIC_MODEL_A_SCALE] = 1000;
	return made;
}

static bool is(const char *words, const struct device *there)
{
	char text[256];
	bool ret;

	snprintf(text, sizeof(text), "dev add a type loop nodes 1 %s", words);
	if (plan_parse(&plan, text)) {
		UNIT_FAIL("%s", plan.error);
		return false;
	}
	ret = plan_model_is(&plan.fabric[0].model, there);
	plan_free(&plan);
	return ret;
}

TEST(model__is)
{
	struct device none = device("a", 0, "none");
	struct device card = device("a", 0, "sci-d330");
	struct device own = device("a", 0, "custom");

	card.model[DMANIC_MODEL_A_START_NS] = 49200;
	own.model[DMANIC_MODEL_A_LATENCY_NS] = 5000;
	EXPECT(is("", &none));
	EXPECT(is("model none scale 1 seed 0", &none));
	EXPECT(!is("", &card));
	EXPECT(is("model sci-d330", &card));
	EXPECT(!is("model sci-d330 scale 2", &card));
	EXPECT(!is("model sci-d330 seed 1", &card));
	EXPECT(is("latency 5us", &own));
	EXPECT(!is("latency 5us jitter 1ns", &own));
	EXPECT(!is("latency 6us", &own));
	EXPECT(!is("", &own));
	/* what the rest of the preset costs only the driver knows */
	EXPECT(!is("model sci-d330 latency 5us", &own));
}

TEST(fabric__is)
{
	struct device there[] = {
		device("b", 0, "none"), device("a", 0, "none"),
		device("a", 2, "none"),
	};
	struct devices devices = { there, 3, 3 };

	ASSERT_EQ(plan_parse(&plan, "dev add a type loop nodes 3"), 0);
	EXPECT_CONTAINS(plan_fabric_differs(&plan.fabric[0], &devices), "nodes");
	plan.fabric[0].node[1].there = false;
	EXPECT(!plan_fabric_differs(&plan.fabric[0], &devices));
	plan.fabric[0].node[2].there = false;
	EXPECT_CONTAINS(plan_fabric_differs(&plan.fabric[0], &devices), "nodes");
	plan_free(&plan);
}

/* ---- saving ---- */

static char *saved(struct device *there, size_t n)
{
	struct devices devices = { there, n, n };
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	plan_write(&devices, file);
	fclose(file);
	return text;
}

TEST(write__as_expected)
{
	struct device there[] = {
		device("nic", 0, "sci-d330"), device("x", 0, "none"),
		device("nic", 1, "custom"), device("nic", 3, "sci-d330"),
	};
	char *text;

	there[0].model[DMANIC_MODEL_A_SCALE] = 10500;
	there[3].model[DMANIC_MODEL_A_SCALE] = 10500;
	there[2].model[DMANIC_MODEL_A_LATENCY_NS] = 123456789;
	there[2].model[DMANIC_MODEL_A_BANDWIDTH] = 85000000;
	there[2].model[DMANIC_MODEL_A_SEED] = UINT64_MAX;
	text = saved(there, 4);
	EXPECT_CONTAINS(text,
			"\ndev add nic type loop nodes 4 model sci-d330 scale 10.500\n"
			"dev set nic1 model none latency 123456789ns bandwidth 85000000 seed 18446744073709551615\n"
			"dev del nic2\n"
			"dev add x type loop nodes 1 model none\n");
	free(text);
}

static struct device ether(const char *name, const char *netdev, unsigned int node)
{
	struct device made = device(name, node, "");

	snprintf(made.name, sizeof(made.name), "%s", name);
	snprintf(made.type, sizeof(made.type), "ether");
	snprintf(made.netdev, sizeof(made.netdev), "%s", netdev);
	made.number[DMANIC_A_ETHERTYPE] = 0x88b5;
	made.number[DMANIC_A_DEAD_NS] = 2000000000;
	return made;
}

TEST(ether__is_what_its_line_says)
{
	struct device there = ether("nic0", "eth0", 7);
	struct devices devices = { &there, 1, 1 };

	there.number[DMANIC_A_CRC] = DMANIC_CRC_ON;
	ASSERT_EQ(plan_parse(&plan, "dev add nic0 type ether netdev eth0 node 7 crc on"), 0);
	EXPECT(!plan_fabric_differs(&plan.fabric[0], &devices));
	there.number[DMANIC_A_CRC] = DMANIC_CRC_OFF;
	EXPECT_CONTAINS(plan_fabric_differs(&plan.fabric[0], &devices), "crc");
	there.number[DMANIC_A_CRC] = DMANIC_CRC_ON;
	there.number[DMANIC_A_NODE] = 8;
	EXPECT_CONTAINS(plan_fabric_differs(&plan.fabric[0], &devices), "node");
	there.number[DMANIC_A_NODE] = 7;
	snprintf(there.netdev, sizeof(there.netdev), "eth1");
	EXPECT_CONTAINS(plan_fabric_differs(&plan.fabric[0], &devices), "netdev");
	plan_free(&plan);
}

TEST(ether__is_written_whole)
{
	struct device there[] = {
		ether("nic0", "eth0", 0), ether("far", "bond0.12", 4294967294u),
	};
	struct devices devices = { there, 2, 2 };
	char *text;

	there[1].number[DMANIC_A_CRC] = DMANIC_CRC_OFF;
	text = saved(there, 2);
	EXPECT_CONTAINS(text,
			"dev add nic0 type ether netdev eth0 node 0 ethertype 0x88b5 dead 2000000000ns\n");
	EXPECT_CONTAINS(text,
			"dev add far type ether netdev bond0.12 node 4294967294 crc off ethertype 0x88b5 dead 2000000000ns\n");
	ASSERT_EQ(plan_parse(&plan, text), 0);
	ASSERT_EQ(plan.n, 2);
	EXPECT(!plan_fabric_differs(&plan.fabric[0], &devices));
	EXPECT(!plan_fabric_differs(&plan.fabric[1], &devices));
	plan_free(&plan);
	free(text);
}

/* Whatever there is: what was saved asks for just that. */
TEST(write__comes_back)
{
	static const char *const names[] = { "none", "sci-d330", "custom" };
	struct device there[40];
	struct devices devices = { there, 40, 40 };
	uint64_t random = 7;
	size_t i, round;
	unsigned int id;
	char *text;

	for (round = 0; round < 200; round++) {
		for (i = 0; i < 40; i++) {
			there[i] = device(i % 2 ? "a" : "b", (unsigned int)i / 2,
					  names[unit_between(&random, 0, 2)]);
			there[i].model[DMANIC_MODEL_A_SCALE] =
				(uint64_t)unit_between(&random, 1, 1000000);
			there[i].model[DMANIC_MODEL_A_SEED] =
				unit_random(&random) >> (i % 64);
			if (strcmp(there[i].model_name, "custom") != 0)
				continue;
			there[i].model[DMANIC_MODEL_A_START_NS] =
				(uint64_t)unit_between(&random, 0, 3600000000000);
			there[i].model[DMANIC_MODEL_A_JITTER_NS] =
				(uint64_t)unit_between(&random, 0, 1);
		}
		devices.n = (size_t)unit_between(&random, 1, 40);
		text = saved(there, devices.n);
		if (plan_parse(&plan, text))
			UNIT_FAIL("line %u: %s", plan.line, plan.error);
		for (i = 0; i < plan.n; i++)
			EXPECT(!plan_fabric_differs(&plan.fabric[i], &devices));
		for (i = 0; i < devices.n; i++) {
			id = (unsigned int)there[i].number[DMANIC_A_NODE];
			EXPECT(plan_model_is(&plan.fabric[strcmp(plan.fabric[0].prefix,
								 there[i].fabric) != 0].node[id].model,
					     &there[i]));
		}
		plan_free(&plan);
		free(text);
		if (unit_failed)
			return;
	}
}
