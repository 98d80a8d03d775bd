/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nl.h - talking to the driver over generic netlink
 *
 * One request at a time. Functions return 0 or a negative errno; then the
 * error says what was wrong in the driver's words, where it sent any.
 */
#ifndef TOOLS_NL_H
#define TOOLS_NL_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NL_ERROR	512

/* Large enough for what a dump sends at once */
#define NL_BUFFER	32768

/**
 * struct nl - a connection to the driver
 * @socket: NULL when it is not open
 * @port: our address
 * @seq: of the latest request
 * @family: the driver's
 * @version: of the family
 * @events: number of its multicast group, 0: there is none
 * @error: set by a function that fails
 * @buffer: the request, then the answers
 */
struct nl {
	struct mnl_socket *socket;
	unsigned int port;
	unsigned int seq;
	uint16_t family;
	uint32_t version;
	uint32_t events;
	char error[NL_ERROR];
	char buffer[NL_BUFFER];
};

/* Gets the attributes of each answer: 0, or a negative errno that ends it */
typedef int (*nl_fn)(const struct nlmsghdr *message, void *data);

int nl_open(struct nl *nl);
void nl_close(struct nl *nl);

/* To the kernel's network devices instead of the driver; then a request to them */
int nl_open_route(struct nl *nl);
struct nlmsghdr *nl_route_request(struct nl *nl, uint16_t type, uint16_t flags);

/* Begin a request in nl->buffer; the caller adds attributes */
struct nlmsghdr *nl_request(struct nl *nl, uint8_t command, bool dump);

/* Send it and pass all answers to @fn; -EINTR: a dump that changed midway */
int nl_talk(struct nl *nl, struct nlmsghdr *request, nl_fn fn, void *data);

/*
 * Hear events from now on. The connection is then for that alone: an event
 * that comes while nl_talk() waits for an answer would be lost.
 */
int nl_events_join(struct nl *nl);

/*
 * Wait for what comes next and pass events to @fn. Besides what @fn returned:
 * -ENOBUFS some were lost; -ENODEV the driver was unloaded.
 */
int nl_events_take(struct nl *nl, nl_fn fn, void *data);

/* Attributes of an answer by type; those above @max are left out */
struct nl_attrs {
	const struct nlattr **attr;
	unsigned int max;
};

void nl_message_attrs(const struct nlmsghdr *message, struct nl_attrs attrs);
void nl_nested_attrs(const struct nlattr *nest, struct nl_attrs attrs);

/* A value, or 0 or "" when the driver did not send it (well) */
uint64_t nl_number(const struct nlattr *attr);
const char *nl_text(const struct nlattr *attr);

#endif /* TOOLS_NL_H */
