/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nodes.h - lists of numbers as NIC_NODES and nicrun --nodes have them:
 * numbers and rising ranges, "0-3,8,12-15". Nothing else: no blanks, no signs.
 */
#ifndef LIBNIC_NODES_H
#define LIBNIC_NODES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* Read a number; NULL: there is none, or it is too large. */
static inline const char *nic_nodes_number(const char *at, uint32_t *number)
{
	uint64_t value = 0;

	if (*at < '0' || *at > '9')
		return NULL;
	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (uint64_t)(*at - '0');
		if (value > UINT32_MAX)
			return NULL;
	}
	*number = (uint32_t)value;
	return at;
}

/**
 * nic_nodes_parse() - read a list
 * @text: the list
 * @nodes: room for @max numbers
 * @max: at most so many
 *
 * Return: how many; -EINVAL it is no list; -E2BIG more than @max.
 */
static inline int nic_nodes_parse(const char *text, uint32_t *nodes,
				  unsigned int max)
{
	uint32_t first, last;
	unsigned int count = 0;
	const char *at = text;

	for (;; at++) {
		at = nic_nodes_number(at, &first);
		if (!at)
			return -EINVAL;
		last = first;
		if (*at == '-') {
			at = nic_nodes_number(at + 1, &last);
			if (!at || last < first)
				return -EINVAL;
		}
		if (last - first >= max - count)
			return -E2BIG;
		for (uint64_t node = first; node <= last; node++)
			nodes[count++] = (uint32_t)node;
		if (!*at)
			return (int)count;
		if (*at != ',')
			return -EINVAL;
	}
}

#endif /* LIBNIC_NODES_H */
