/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * request.h - what "nicctl dev add" and its sisters are asked to do
 *
 * Pure: fills a struct from the words of a command line. The driver judges the
 * values; here they must only be what they are called: a time, a rate.
 */
#ifndef NICCTL_REQUEST_H
#define NICCTL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "args.h"

/* In the order of their names in request.c */
enum keyword {
	KEYWORD_TYPE,
	KEYWORD_NODES,
	KEYWORD_MODEL,
	KEYWORD_START,
	KEYWORD_INTERRUPT,
	KEYWORD_LATENCY,
	KEYWORD_BANDWIDTH,
	KEYWORD_SCALE,
	KEYWORD_JITTER,
	KEYWORD_SEED,
	KEYWORD_FAILED,
	KEYWORD_FORCE,
	KEYWORD_NETDEV,
	KEYWORD_NODE,
	KEYWORD_CRC,
	KEYWORD_ETHERTYPE,
	KEYWORD_DEAD,
	KEYWORD_FAULT,
	KEYWORD_DROP,
	KEYWORD_DUPLICATE,
	KEYWORD_CORRUPT,
	KEYWORD_REORDER,
	KEYWORD_DELAY,
	KEYWORD_KEY,
	KEYWORD_KEY_ID,
	KEYWORDS
};

#define KEYWORD_BIT(keyword)	(1U << (keyword))

/* Those that go into a model: all from one to the other */
#define KEYWORDS_MODEL	(KEYWORD_BIT(KEYWORD_SEED + 1) - \
			 KEYWORD_BIT(KEYWORD_MODEL))
#define KEYWORDS_LOOP	(KEYWORD_BIT(KEYWORD_NODES) | KEYWORDS_MODEL)
/* What an ether device is made with: all from one to the other */
#define KEYWORDS_ETHER	(KEYWORD_BIT(KEYWORD_DEAD + 1) - \
			 KEYWORD_BIT(KEYWORD_NETDEV))
/* What its frames are proven with */
#define KEYWORDS_KEY	(KEYWORD_BIT(KEYWORD_KEY) | KEYWORD_BIT(KEYWORD_KEY_ID))
#define KEYWORDS_ADD	(KEYWORD_BIT(KEYWORD_TYPE) | KEYWORDS_LOOP | \
			 KEYWORDS_ETHER | KEYWORDS_KEY)
/* What happens on purpose to its frames: all from one to the other */
#define KEYWORDS_FAULT	(KEYWORD_BIT(KEYWORD_DELAY + 1) - \
			 KEYWORD_BIT(KEYWORD_FAULT))
#define KEYWORDS_FAULT_KINDS (KEYWORDS_FAULT & ~KEYWORD_BIT(KEYWORD_FAULT))
#define KEYWORDS_SET	(KEYWORDS_MODEL | KEYWORD_BIT(KEYWORD_FAILED) | \
			 KEYWORDS_FAULT | KEYWORDS_KEY)
#define KEYWORDS_DEL	KEYWORD_BIT(KEYWORD_FORCE)

/**
 * struct request - what is asked for
 * @name: one device, or the prefix of new ones
 * @fabric: instead: all devices made with this prefix
 * @type: link type of new ones
 * @model: preset
 * @netdev: network device of an ether device
 * @key: file with its key, "-": standard input; "none"
 * @no_fault: the fault is "none"
 * @given: KEYWORD_BIT of those that were there
 * @number: their values: counts, nanoseconds, bytes a second, thousandths,
 *	parts per million
 */
struct request {
	const char *name;
	const char *fabric;
	const char *type;
	const char *model;
	const char *netdev;
	const char *key;
	bool no_fault;
	unsigned int given;
	uint64_t number[KEYWORDS];
};

/*
 * [NAME | fabric PREFIX]; both stay NULL when nothing is left. 0, or -1 and
 * the error of @args is set; so for what follows.
 */
int request_devices(struct request *request, struct args *args);

/* PREFIX, which must be there */
int request_prefix(struct request *request, struct args *args);

/* The rest of the line: any of @keywords with their values, each once */
int request_keywords(struct request *request, struct args *args,
		     unsigned int keywords);

/*
 * What a type must have and must not have: 0, or -1 and the error of @args is set. A node that
 * is not given is the number that the name ends with.
 */
int request_check_add(struct request *request, struct args *args);

/* What does not go without another word: the same */
int request_check_set(const struct request *request, struct args *args);

/* As it is written on a command line */
const char *request_keyword_name(enum keyword keyword);

static inline bool request_has(const struct request *request,
			       enum keyword keyword)
{
	return request->given & KEYWORD_BIT(keyword);
}

#endif /* NICCTL_REQUEST_H */
