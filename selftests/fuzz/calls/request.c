// SPDX-License-Identifier: GPL-2.0-only
/*
 * request.c - what is asked of the control plane
 *
 * The numbers of a request: its command; whether it is as it should be; which of what a
 * command may have it has, a bit for each choice; what its values follow from; a device.
 * Most make sense: they are about a device that there is, have what belongs to it, and
 * values within their bounds. Of the others one thing is wrong, or all of it.
 */
#include <libmnl/libmnl.h>
#include <linux/dmanic_netlink.h>
#include <linux/genetlink.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

#define BIT(type)	(1ULL << (type))
#define KEY_BYTES	16U
#define LENGTH(array)	(sizeof(array) / sizeof(*(array)))

/* Of twelve requests ten are as they should be */
#define ODD_OF		12U
#define ODD_FROM	10U

enum odd {
	ODD_NONE,
	ODD_MISSING,	/* an attribute that belongs to it */
	ODD_DOUBLED,	/* with another value */
	ODD_LENGTH,
	ODD_VALUE,
	ODD_MORE,	/* an attribute that does not belong to it */
	ODD_DUMP,	/* of what is none, or none of what is one */
	ODDS
};

/**
 * struct target - a device
 * @name: its own
 * @fabric: it is of this; of a loop device: the beginning of its name
 * @netdev: what it is on; NULL: it is a loop device
 * @node: its number there
 */
struct target {
	const char *name;
	const char *fabric;
	const char *netdev;
	uint32_t node;
};

/* Those that selftests/net/test_calls has made, then those that programs make */
static const struct target targets[] = {
	{ "fz0", "fz", NULL, 0 }, { "fe0", "fe0", "fv0", 0 }, { "fz1", "fz", NULL, 1 },
	{ "fe1", "fe1", "fv1", 1 }, { "fz2", "fz", NULL, 2 },
	{ "fy0", "fy", NULL, 0 }, { "fx0", "fx", "fv0", 2 }, { "fy1", "fy", NULL, 1 },
	{ "fx1", "fx1", "fv1", 3 }, { "fy2", "fy", NULL, 2 },
};

#define FIRST_OWN	5U
#define LOOP_NODES	3U	/* of a fabric at most, so that all are above */

/**
 * struct request - what is being put together
 * @header: of it
 * @command: what is asked for
 * @choice: a bit for each
 * @seed: what its values follow from
 * @target: what it is about
 * @wild: the next value has no bounds
 */
struct request {
	struct nlmsghdr *header;
	uint8_t command;
	uint64_t choice;
	uint64_t seed;
	const struct target *target;
	bool wild;
};

struct nlmsghdr *request_begin(void *buffer, uint16_t type, uint16_t flags, uint8_t command)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *genl;

	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	genl = mnl_nlmsg_put_extra_header(header, sizeof(*genl));
	genl->cmd = command;
	genl->version = DMANIC_GENL_VERSION;
	return header;
}

/* splitmix64: the same seed, the same request */
static uint64_t next(struct request *request)
{
	uint64_t z = request->seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t within(struct request *request, uint64_t least, uint64_t most)
{
	uint64_t value = next(request);

	return request->wild ? value : least + value % (most - least + 1);
}

/* ---- devices ---- */

static bool is_there(const struct target *target)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/dmanic/%s", target->name);
	return !access(path, F_OK);
}

/* Loop devices are made together: none of them is there */
static bool is_missing(const struct target *target)
{
	uint32_t i;

	for (i = 0; i < LENGTH(targets); i++)
		if (!strcmp(targets[i].fabric, target->fabric) && is_there(&targets[i]))
			return false;
	return true;
}

/* From the number @which on, one of those from @first on that @is so; or NULL */
static const struct target *find(uint64_t which, uint32_t first,
				 bool (*is)(const struct target *target))
{
	const uint32_t nr = LENGTH(targets) - first;
	const struct target *target;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		target = &targets[first + (which % nr + i) % nr];
		if (is(target))
			return target;
	}
	return NULL;
}

const char *request_made(uint64_t which)
{
	const struct target *target = find(which, FIRST_OWN, is_there);

	return target ? target->name : NULL;
}

/* ---- what it asks for ---- */

/* Who may not change anything asks, mostly */
static uint8_t permitted(uint8_t command, uint64_t choice)
{
	if (!geteuid() || choice % 8 == 7)
		return command;
	switch (command) {
	case DMANIC_GENL_CMD_DEV_NEW:
		return DMANIC_GENL_CMD_STATS_GET;
	case DMANIC_GENL_CMD_DEV_DEL:
		return DMANIC_GENL_CMD_PEER_GET;
	case DMANIC_GENL_CMD_DEV_SET:
		return DMANIC_GENL_CMD_DEV_GET;
	default:
		return command;
	}
}

/* Numbers that are no request's change something */
static uint8_t command_of(uint64_t number, uint64_t choice)
{
	uint8_t command = (uint8_t)(number % (DMANIC_GENL_CMD_MAX + 2));

	if (number & AS_IT_IS)
		return command;
	if (command == DMANIC_GENL_CMD_EVENT)
		command = DMANIC_GENL_CMD_DEV_NEW;
	if (command == DMANIC_GENL_CMD_UNSPEC || command > DMANIC_GENL_CMD_MAX)
		command = DMANIC_GENL_CMD_DEV_SET;
	return permitted(command, choice);
}

/*
 * Devices of the machine are removed now and then only, for they have to be made anew. When
 * there is no other, one is made; when all there may be were made, one is removed.
 */
static void choose_target(struct request *request, uint64_t which)
{
	const struct target *there = find(which, FIRST_OWN, is_there);
	const struct target *missing = find(which, FIRST_OWN, is_missing);

	if (request->command == DMANIC_GENL_CMD_DEV_DEL && request->choice % 64 < 48 && !there)
		request->command = DMANIC_GENL_CMD_DEV_NEW;
	else if (request->command == DMANIC_GENL_CMD_DEV_NEW && !missing)
		request->command = DMANIC_GENL_CMD_DEV_DEL;
	if (request->command == DMANIC_GENL_CMD_DEV_NEW)
		request->target = missing;
	else if (request->command == DMANIC_GENL_CMD_DEV_DEL && request->choice % 64 < 48)
		request->target = there;
	else
		request->target = find(which, 0, is_there);
	if (!request->target)
		request->target = &targets[which % LENGTH(targets)];
}

static uint64_t wanted_new(const struct target *target, uint64_t choice)
{
	uint64_t which = BIT(DMANIC_A_NAME) | BIT(DMANIC_A_TYPE);

	if (!target->netdev)
		return which | BIT(DMANIC_A_NODES) | (choice & 2 ? BIT(DMANIC_A_MODEL) : 0);
	which |= BIT(DMANIC_A_NODE) | (choice & 1 ? BIT(DMANIC_A_IFINDEX) : BIT(DMANIC_A_NETDEV));
	which |= strcmp(target->fabric, target->name) ? BIT(DMANIC_A_FABRIC) : 0;
	which |= choice & 4 ? BIT(DMANIC_A_KEY) : 0;
	which |= (choice & 12) == 12 ? BIT(DMANIC_A_KEY_ID) : 0;
	which |= choice & 16 ? BIT(DMANIC_A_ETHERTYPE) | BIT(DMANIC_A_CRC) : 0;
	return which | (choice & 32 ? 0 : BIT(DMANIC_A_DEAD_NS));
}

static uint64_t wanted_set(const struct target *target, uint64_t choice)
{
	uint64_t which = choice & 1 ? BIT(DMANIC_A_FABRIC) : BIT(DMANIC_A_NAME);

	if (!target->netdev)
		return which | (choice & 2 ? BIT(DMANIC_A_FAILED) : BIT(DMANIC_A_MODEL)) |
		       (choice & 12 ? 0 : BIT(DMANIC_A_FAILED) | BIT(DMANIC_A_MODEL));
	return which | (choice & 2 ? BIT(DMANIC_A_KEY) : BIT(DMANIC_A_FAULT)) |
	       ((choice & 6) == 6 ? BIT(DMANIC_A_KEY_ID) : 0) |
	       (choice & 24 ? 0 : BIT(DMANIC_A_KEY) | BIT(DMANIC_A_FAULT));
}

/* What belongs to it: a bit for each attribute */
static uint64_t wanted(const struct request *request)
{
	uint64_t choice = request->choice;

	switch (request->command) {
	case DMANIC_GENL_CMD_DEV_NEW:
		return wanted_new(request->target, choice);
	case DMANIC_GENL_CMD_DEV_SET:
		return wanted_set(request->target, choice);
	case DMANIC_GENL_CMD_DEV_DEL:
		return (choice & 1 ? BIT(DMANIC_A_FABRIC) : BIT(DMANIC_A_NAME)) |
		       (choice & 6 ? BIT(DMANIC_A_FORCE) : 0);
	case DMANIC_GENL_CMD_DEV_GET:
	case DMANIC_GENL_CMD_STATS_GET:
		return choice & 1 ? BIT(DMANIC_A_NAME) : 0;
	default:
		return 0;
	}
}

/* ---- values ---- */

/**
 * struct inner - an attribute of a nest
 * @type: which
 * @bytes: of it
 * @least: of its value
 * @most: of its value, so that no program takes long
 */
struct inner {
	uint16_t type;
	uint16_t bytes;
	uint64_t least;
	uint64_t most;
};

static const struct inner model_has[] = {
	{ DMANIC_MODEL_A_START_NS, 8, 0, 2000000 },
	{ DMANIC_MODEL_A_INTERRUPT_NS, 8, 0, 2000000 },
	{ DMANIC_MODEL_A_LATENCY_NS, 8, 0, 2000000 },
	{ DMANIC_MODEL_A_BANDWIDTH, 8, 10000000, 4000000000 },
	{ DMANIC_MODEL_A_SCALE, 4, 1, 3000 },
	{ DMANIC_MODEL_A_JITTER_NS, 8, 0, 2000000 },
	{ DMANIC_MODEL_A_SEED, 8, 0, UINT32_MAX },
	{ }
};

/* Some pass others, which are held up: that is the last one */
static const struct inner fault_has[] = {
	{ DMANIC_FAULT_A_SEED, 8, 0, UINT32_MAX },
	{ DMANIC_FAULT_A_DROP, 4, 0, 300000 },
	{ DMANIC_FAULT_A_DUPLICATE, 4, 0, 1000000 },
	{ DMANIC_FAULT_A_CORRUPT, 4, 0, 300000 },
	{ DMANIC_FAULT_A_REORDER, 4, 0, 1000000 },
	{ DMANIC_FAULT_A_DELAY_NS, 8, 1, 2000000 },
	{ }
};

static void put_name(struct request *request, uint16_t type, const char *name)
{
	static const char *const strange[] = {
		"", "f/y", "..", "-f", "a-name-that-is-much-too-long-for-a-device-of-any-kind",
	};

	if (request->wild)
		name = strange[next(request) % LENGTH(strange)];
	mnl_attr_put_strz(request->header, type, name);
}

/* A part of what there may be; wild: one of them */
static void put_nest(struct request *request, uint16_t type, const struct inner *has)
{
	static const char *const presets[] = { "none", "sci-d330", "eth-25g" };
	struct nlattr *nest = mnl_attr_nest_start(request->header, type);
	uint64_t which = next(request), wild = request->wild ? next(request) % 6 : UINT64_MAX;
	const char *preset = presets[which >> 33 & 1 ? 0 : 1 + (which >> 34 & 1)];
	uint64_t value, i;

	request->wild = false;
	if (type == DMANIC_A_MODEL && which >> 32 & 1)
		mnl_attr_put_strz(request->header, DMANIC_MODEL_A_NAME, wild == 5 ? "x" : preset);
	if (type == DMANIC_A_FAULT && which >> 4 & 1)
		which |= 32;
	for (i = 0; has[i].type; i++) {
		if (!(which >> i & 1) && i != wild)
			continue;
		request->wild = i == wild;
		value = within(request, has[i].least, has[i].most);
		mnl_attr_put(request->header, has[i].type,
			     i == wild && value % 4 == 0 ? 2 : has[i].bytes, &value);
	}
	request->wild = false;
	mnl_attr_nest_end(request->header, nest);
}

/* One that stays, or none; with a KEY_ID it has to be one */
static void put_key(struct request *request)
{
	uint64_t key[2] = { next(request), next(request) };
	bool none = request->command == DMANIC_GENL_CMD_DEV_SET && !(request->choice & 4) &&
		    key[0] % 2;

	mnl_attr_put(request->header, DMANIC_A_KEY,
		     request->wild ? key[1] % KEY_BYTES : none ? 0 : KEY_BYTES, key);
}

static uint32_t index_of(struct request *request)
{
	const char *netdev = request->target->netdev;

	return request->wild || !netdev ? (uint32_t)next(request) : if_nametoindex(netdev);
}

static void put_number(struct request *request, uint16_t type)
{
	const uint32_t node = request->target->node;
	struct nlmsghdr *header = request->header;

	switch (type) {
	case DMANIC_A_FAILED:
	case DMANIC_A_CRC_ON:
		mnl_attr_put_u8(header, type, (uint8_t)within(request, 0, 1));
		break;
	case DMANIC_A_ETHERTYPE:
		mnl_attr_put_u16(header, type, (uint16_t)within(request, 0x88b5, 0x88b6));
		break;
	case DMANIC_A_NODES:
		mnl_attr_put_u32(header, type, (uint32_t)within(request, 1, LOOP_NODES));
		break;
	case DMANIC_A_NODE:
		mnl_attr_put_u32(header, type, (uint32_t)within(request, node, node));
		break;
	case DMANIC_A_IFINDEX:
		mnl_attr_put_u32(header, type, index_of(request));
		break;
	case DMANIC_A_DEAD_NS:
		mnl_attr_put_u64(header, type, within(request, 20000000, 100000000));
		break;
	case DMANIC_A_INCARNATION:
	case DMANIC_A_PINNED:
		mnl_attr_put_u64(header, type, next(request));
		break;
	case DMANIC_A_CRC:
		mnl_attr_put_u32(header, type, (uint32_t)within(request, 0, DMANIC_CRC_ON));
		break;
	default:
		mnl_attr_put_u32(header, type, (uint32_t)within(request, 1, 3));
	}
}

static void put_attribute(struct request *request, uint16_t type)
{
	const struct target *target = request->target;
	const bool new = request->command == DMANIC_GENL_CMD_DEV_NEW;

	switch (type) {
	case DMANIC_A_NAME:
		put_name(request, type, new && !target->netdev ? target->fabric : target->name);
		break;
	case DMANIC_A_FABRIC:
		put_name(request, type, target->fabric);
		break;
	case DMANIC_A_NETDEV:
		put_name(request, type, target->netdev ? target->netdev : "lo");
		break;
	case DMANIC_A_TYPE:
		put_name(request, type, target->netdev ? "ether" : "loop");
		break;
	case DMANIC_A_MODEL:
		put_nest(request, type, model_has);
		break;
	case DMANIC_A_FAULT:
		put_nest(request, type, fault_has);
		break;
	case DMANIC_A_FORCE:
		mnl_attr_put(request->header, type, 0, NULL);
		break;
	case DMANIC_A_KEY:
		put_key(request);
		break;
	default:
		put_number(request, type);
	}
}

/* ---- all of it ---- */

/* One of the bits, if there are some */
static uint16_t any_of(struct request *request, uint64_t bits)
{
	uint64_t skip = bits ? next(request) % (uint32_t)__builtin_popcountll(bits) : 0;

	while (skip--)
		bits &= bits - 1;
	return bits ? (uint16_t)__builtin_ctzll(bits) : 0;
}

static void put_all(struct request *request, uint64_t which, enum odd odd)
{
	static const uint8_t zero[40];
	unsigned int at = any_of(request, which), type;

	if (odd == ODD_MORE)
		which |= BIT(next(request) % (DMANIC_A_MAX + 2));
	for (type = 0; type <= DMANIC_A_MAX + 1; type++) {
		if (!(which >> type & 1) || (type == at && odd == ODD_MISSING))
			continue;
		if (type == at && odd == ODD_LENGTH) {
			mnl_attr_put(request->header, type, next(request) % sizeof(zero), zero);
			continue;
		}
		request->wild = type == at && odd == ODD_VALUE;
		put_attribute(request, type);
		request->wild = false;
		if (type == at && odd == ODD_DOUBLED)
			put_attribute(request, type);
	}
}

/**
 * request_make() - put one together
 * @buffer: where, enough for any
 * @family: number of the driver's
 * @arg: its numbers: command, odd, choices, seed, device
 *
 * Return: the request.
 */
struct nlmsghdr *request_make(void *buffer, uint16_t family, const uint64_t *arg)
{
	struct request request = {
		.command = command_of(arg[0], arg[2]), .choice = arg[2],
		.seed = arg[3] ^ arg[2] << 16 ^ arg[4] << 32,
	};
	bool any = arg[2] & AS_IT_IS, dump;
	enum odd odd = ODD_NONE;
	uint64_t which;

	choose_target(&request, arg[4]);
	if (arg[1] % ODD_OF >= ODD_FROM)
		odd = ODD_NONE + 1 + (enum odd)(next(&request) % (ODDS - 1));
	which = any ? arg[2] : wanted(&request);
	dump = request.command == DMANIC_GENL_CMD_PEER_GET ||
	       ((request.command == DMANIC_GENL_CMD_DEV_GET ||
		 request.command == DMANIC_GENL_CMD_STATS_GET) && !which);
	if (odd == ODD_DUMP)
		dump = !dump;
	request.header = request_begin(buffer, family,
				       (uint16_t)(NLM_F_ACK | (dump ? NLM_F_DUMP : 0)),
				       request.command);
	put_all(&request, which, odd);
	return request.header;
}

/**
 * request_restore() - a device is as it was, or gone when a program made it
 * @buffer: where, enough for any
 * @family: number of the driver's
 * @turn: from zero on
 *
 * Return: the request; NULL: that was all.
 */
struct nlmsghdr *request_restore(void *buffer, uint16_t family, uint32_t turn)
{
	const struct target *target;
	struct nlmsghdr *header;
	struct nlattr *nest;

	if (turn >= LENGTH(targets))
		return NULL;
	target = &targets[turn];
	header = request_begin(buffer, family, NLM_F_ACK, turn < FIRST_OWN ?
			       DMANIC_GENL_CMD_DEV_SET : DMANIC_GENL_CMD_DEV_DEL);
	mnl_attr_put_strz(header, DMANIC_A_NAME, target->name);
	if (turn >= FIRST_OWN) {
		mnl_attr_put(header, DMANIC_A_FORCE, 0, NULL);
		return header;
	}
	if (!target->netdev)
		mnl_attr_put_u8(header, DMANIC_A_FAILED, 0);
	nest = mnl_attr_nest_start(header, target->netdev ? DMANIC_A_FAULT : DMANIC_A_MODEL);
	if (!target->netdev)
		mnl_attr_put_strz(header, DMANIC_MODEL_A_NAME, "none");
	mnl_attr_nest_end(header, nest);
	if (target->netdev)
		mnl_attr_put(header, DMANIC_A_KEY, 0, NULL);
	return header;
}
