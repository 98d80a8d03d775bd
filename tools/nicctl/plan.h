/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * plan.h - devices as a file of nicctl save and restore wants them
 *
 * A file has the words of nicctl dev add, dev set and dev del, a command a
 * line, and comments from # to the end of the line:
 *
 *	dev add nic type loop nodes 9 model sci-d330 scale 10
 *	dev set nic3 model none latency 5us
 *	dev del nic8
 *	dev add net0 type ether netdev eth0 node 3
 *
 * Commands are about devices of the same file. A plan is what there is to be
 * when all were obeyed; to have it already is to have nothing to do. Pure.
 */
#ifndef NICCTL_PLAN_H
#define NICCTL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "request.h"
#include "tools/common/device.h"

/* As many as a loop fabric may have */
#define PLAN_NODES	256

/**
 * struct plan_node - a device
 * @there: it is to be there
 * @model: of it: the preset and what differs from that
 */
struct plan_node {
	bool there;
	struct request model;
};

/**
 * struct plan_fabric - devices made together
 * @line: of the file, where it is added
 * @prefix: of their names; of an ether device: its name
 * @nodes: how many are to be made; 0: it is an ether device
 * @model: that they are made with; of an ether device: all it is made with
 * @node: what becomes of them
 */
struct plan_fabric {
	unsigned int line;
	const char *prefix;
	unsigned int nodes;
	struct request model;
	struct plan_node node[PLAN_NODES];
};

/**
 * struct plan - a file
 * @text: a copy of it, which the words are in
 * @fabric: @n of them
 * @n: how many
 * @line: that @error is about
 * @error: why it is refused
 */
struct plan {
	char *text;
	struct plan_fabric *fabric;
	size_t n;
	unsigned int line;
	char error[ARGS_ERROR];
};

/* 0, or -1: @plan->line and its error are set. plan_free() in both cases. */
int plan_parse(struct plan *plan, const char *text);
void plan_free(struct plan *plan);

/* What sets the model of a device to what that one has; it owns the words */
struct request plan_model_of(const struct device *device);

/* Has the device the model that is wanted? When in doubt: no. */
bool plan_model_is(const struct request *model, const struct device *device);

/*
 * What the devices of a fabric, models aside, have otherwise than they are to have it:
 * "set of nodes", "type", or a keyword of nicctl dev add. NULL: nothing
 */
const char *plan_fabric_differs(const struct plan_fabric *fabric,
				const struct devices *devices);

/* The file that makes these devices */
void plan_write(const struct devices *devices, FILE *file);

#endif /* NICCTL_PLAN_H */
