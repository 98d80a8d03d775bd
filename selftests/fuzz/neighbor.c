// SPDX-License-Identifier: GPL-2.0-only
/*
 * neighbor.c - a hostile neighbour: sends frames to a node that no node would
 *
 * On a network device of its own, or on that of a node, where it hears all that is
 * said. neighbor_frames.c makes the frames, neighbor_member.c those of a node.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "selftests/fuzz/neighbor.h"
#define ANSWER_MS	2000
#define REFUSE_MS	20000

static const char usage[] =
"usage: neighbor --netdev IF --to ADDRESS [OPTION...]\n"
"Sends frames to the node at ADDRESS that no node would. In a network that is its own.\n"
"\n"
"  --frames N      how many; 0: no end (1000)\n"
"  --time SECONDS  at most so long; 0: no end (0)\n"
"  --seed N        what follows from it are the frames (1)\n"
"  --large         frames of up to 64 KiB that say to be many of TCP or UDP\n"
"  --listen        hear all that is said at IF first, and use it\n"
"  --member N      be node N, which is connected, and go on from there\n"
"  --key HEX       prove frames with that key of 32 digits, be it the victim's or not\n"
"  --key-id N      its number (1)\n"
"  --version N     only ask for a connection in that version, of node 0, and print\n"
"                  how that is answered\n"
"  --connect N     connect N times, each as another node, to node 0, and ask for\n"
"                  something without taking the answer; then be silent\n"
"  --first N       the first of these nodes (100000)\n"
"  --refuse N      be node N, of a later version: refuse who looks for it, once\n";

static void die(const char *format, ...)
{
	va_list args;

	fputs("neighbor: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* ---- the device ---- */

static void device_open(struct neighbor *n, const char *name)
{
	struct sockaddr_ll where = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETHERTYPE),
	};
	struct ifreq request = { };
	int on = 1;

	n->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (n->fd < 0)
		die("packet socket: %s%s", strerror(errno),
		    errno == EPERM ? "; run it as root" : "");
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(n->fd, SIOCGIFHWADDR, &request))
		die("%s: %s", name, strerror(errno));
	memcpy(n->own, request.ifr_hwaddr.sa_data, sizeof(n->own));
	if (ioctl(n->fd, SIOCGIFMTU, &request))
		die("%s: %s", name, strerror(errno));
	n->mtu = (u32)request.ifr_mtu;
	if (n->mtu > DMANIC_WIRE_FRAME_MAX)
		n->mtu = DMANIC_WIRE_FRAME_MAX;
	where.sll_ifindex = (int)if_nametoindex(name);
	/* Long frames are then in pages, but for their first bytes */
	if (setsockopt(n->fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)))
		die("packets with a header for GSO: %s", strerror(errno));
	if (bind(n->fd, (struct sockaddr *)&where, sizeof(where)))
		die("%s: %s", name, strerror(errno));
}

/* Return: false when there is none */
bool neighbor_hear(struct neighbor *n, int wait_ms, struct frame *frame)
{
	struct pollfd wait = { .fd = n->fd, .events = POLLIN };
	u8 bytes[sizeof(struct gso_header) + LONGEST];
	ssize_t got;

	if (poll(&wait, 1, wait_ms) != 1)
		return false;
	got = recv(n->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	got -= (ssize_t)sizeof(struct gso_header);
	if (got <= ETHERNET)
		return false;
	frame->length = (u32)got;
	memcpy(frame->bytes, bytes + sizeof(struct gso_header), frame->length);
	return true;
}

/*
 * A full queue is the device's, and has room soon; what it cannot take is not sent, be it
 * that it says so, or that it drops it each time, as one does that is longer than its MTU.
 */
bool neighbor_send(struct neighbor *n, const struct gso_header *header)
{
	static u8 bytes[sizeof(*header) + LONGEST];
	u32 tries = 0;

	memcpy(bytes, header, sizeof(*header));
	memcpy(bytes + sizeof(*header), n->out.bytes, n->out.length);
	while (send(n->fd, bytes, sizeof(*header) + n->out.length, 0) < 0) {
		/* ENOMEM, too: it was to be cut, and could not be */
		if (errno == EMSGSIZE || errno == EINVAL || errno == ENOMEM ||
		    (errno == ENOBUFS && tries++ == 5))
			return false;
		if (errno != ENOBUFS && errno != EAGAIN)
			die("send: %s", strerror(errno));
		usleep(1000);
	}
	return true;
}

static void listen_all(struct neighbor *n, const char *name)
{
	struct packet_mreq all = {
		.mr_ifindex = (int)if_nametoindex(name),
		.mr_type = PACKET_MR_PROMISC,
	};
	struct sockaddr_ll where = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(0x0003 /* what goes out, too */),
		.sll_ifindex = all.mr_ifindex,
	};

	if (setsockopt(n->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) ||
	    bind(n->fd, (struct sockaddr *)&where, sizeof(where)))
		die("listen at %s: %s", name, strerror(errno));
}

/* Programs take their time to begin: before there is something to repeat, frames are few */
static int hear_ms(const struct neighbor *n, unsigned long sent)
{
	if (!sent)
		return ANSWER_MS;
	return n->nr_heard < HEARD ? 1 : 0;
}

/* @frames, @seconds: at most; 0: no end */
static void flood(struct neighbor *n, unsigned long frames, long seconds, bool hear, bool large)
{
	const time_t end = time(NULL) + seconds;
	struct gso_header header;
	unsigned long i, sent = 0;

	for (i = 0; (!frames || i < frames) && (!seconds || time(NULL) < end); i++) {
		if (hear && neighbor_hear(n, hear_ms(n, i), &n->heard[n->nr_heard % HEARD]))
			n->nr_heard++;
		neighbor_make(n);
		header = (struct gso_header){
			.linear = (u16)(neighbor_random(n) % 2 ? n->out.length : ETHERNET + neighbor_random(n) % 64),
		};
		if (large)
			neighbor_enlarge(n, &header);
		sent += neighbor_send(n, &header);
	}
	printf("%lu frames sent, %u heard\n", sent, n->nr_heard);
}

/* The frame whose body is there, from this neighbour itself */
static void send_own(struct neighbor *n, u32 length)
{
	struct gso_header header = { .linear = (u16)(ETHERNET + length) };

	neighbor_address(n);
	n->out.length = ETHERNET + length;
	if (!neighbor_send(n, &header))
		die("the device takes no frame of %u bytes", n->out.length);
}

/* Return: 0 when there was an answer */
static int ask(struct neighbor *n, u8 version)
{
	struct dmanic_hello hello = {
		.node = 77, .incarnation = 1, .tag = 4711, .mtu = n->mtu, .operations = 8,
		.version_min = version, .version_max = version, .window = 65536,
	};
	struct dmanic_refuse refuse;
	struct dmanic_head head;
	struct frame *answer = &n->heard[0];
	u32 length;

	length = dmanic_hello_encode(body(n), DMANIC_WIRE_INIT, 0, 0, &hello);
	body(n)[0] = version;
	dmanic_head_seal(body(n), length);
	send_own(n, length);
	while (neighbor_hear(n, ANSWER_MS, answer)) {
		const u8 *frame = answer->bytes + ETHERNET;

		length = answer->length - ETHERNET;
		if (memcmp(answer->bytes, n->own, 6) ||
		    dmanic_head_decode(frame, length, length, &head) || head.tag != 4711)
			continue;
		if (head.type == DMANIC_WIRE_REFUSE &&
		    !dmanic_refuse_decode(frame, &head, &refuse))
			printf("refused, reason %u, versions %u to %u\n", refuse.reason,
			       refuse.version_min, refuse.version_max);
		else
			printf("answered by type %u\n", head.type);
		return 0;
	}
	puts("no answer");
	return 1;
}

/* Return: 0 when somebody looked for it */
static int refuse(struct neighbor *n, u32 node)
{
	const struct dmanic_refuse refusal = {
		.node = node, .reason = DMANIC_REFUSE_VERSION,
		.version_min = DMANIC_WIRE_MAX + 1, .version_max = DMANIC_WIRE_MAX + 1,
	};
	struct frame *asked = &n->heard[0];
	struct dmanic_hello hello;
	struct dmanic_head head;

	while (neighbor_hear(n, REFUSE_MS, asked)) {
		const u8 *frame = asked->bytes + ETHERNET;
		u32 length = asked->length - ETHERNET;

		if (dmanic_head_decode(frame, length, length, &head) ||
		    head.type != DMANIC_WIRE_HELLO ||
		    dmanic_hello_decode(frame, &head, &hello) || hello.to != node)
			continue;
		send_own(n, dmanic_refuse_encode(body(n), 0, &refusal));
		puts("refused");
		return 0;
	}
	puts("nobody looked for it");
	return 1;
}

/* ---- many nodes ---- */

#define CROWD_FIRST	100000UL	/* node id */
#define INIT_WAIT_MS	20
#define CROWD_TRIES	2U

/* The answer to an INIT with that tag; false: there is none */
bool neighbor_answered(struct neighbor *n, u64 tag, struct dmanic_hello *hello)
{
	struct frame *answer = &n->heard[0];
	struct dmanic_head head;

	while (neighbor_hear(n, INIT_WAIT_MS, answer)) {
		const u8 *frame = answer->bytes + ETHERNET;
		u32 length = answer->length - ETHERNET;

		if (!memcmp(answer->bytes, n->own, 6) &&
		    !dmanic_head_decode(frame, length, length, &head) &&
		    head.type == DMANIC_WIRE_ANSWER && head.tag == tag &&
		    !dmanic_hello_decode(frame, &head, hello))
			return true;
	}
	return false;
}

/* A name that there is not: who asks is told so again and again, until he says he heard */
static void crowd_ask(struct neighbor *n, u64 tag)
{
	static const char nothing[DMANIC_WIRE_NAME] = "nothing";
	struct dmanic_record record = {
		.type = DMANIC_RECORD_LOOKUP, .opcode = 1, .op = 1, .name = nothing,
	};
	struct dmanic_data data = { .records = 1 };
	u32 end = dmanic_data_begin(body(n), false);

	end = dmanic_record_encode(body(n), end, &record);
	dmanic_data_end(body(n), end, DMANIC_WIRE_URGENT | DMANIC_WIRE_NOW, tag, &data, 0);
	dmanic_data_seal(body(n), NULL);
	send_own(n, end);
}

static void crowd(struct neighbor *n, u32 first, u32 nodes)
{
	struct dmanic_hello hello = {
		.incarnation = 1, .mtu = n->mtu, .operations = 64, .version_min = 1,
		.version_max = 1, .window = 65536,
	}, answer;
	u32 i, connected = 0;

	for (i = 0; i < CROWD_TRIES * nodes && connected < nodes; i++) {
		/* Who is not answered asks again */
		hello.node = first + connected;
		hello.tag = 1 + neighbor_random(n) / 2;
		send_own(n, dmanic_hello_encode(body(n), DMANIC_WIRE_INIT, 0, 0, &hello));
		if (!neighbor_answered(n, hello.tag, &answer))
			continue;
		send_own(n, dmanic_hello_encode(body(n), DMANIC_WIRE_ANSWER,
						  DMANIC_WIRE_DONE, answer.tag, &hello));
		crowd_ask(n, answer.tag);
		connected++;
	}
	printf("%u of %u connected\n", connected, i);
}

static void key_parse(const char *text, struct dmanic_key *key)
{
	u8 bytes[16];
	u32 i;

	if (strlen(text) != 2 * sizeof(bytes) || text[strspn(text, "0123456789abcdef")])
		die("--key %s: give 32 hexadecimal digits", text);
	for (i = 0; i < sizeof(bytes); i++)
		sscanf(text + 2 * i, "%2hhx", &bytes[i]);
	dmanic_key_set(key, bytes);
}

static void address_parse(const char *text, u8 address[6])
{
	unsigned int byte[6], i;
	char more;

	if (sscanf(text, "%x:%x:%x:%x:%x:%x%c", &byte[0], &byte[1], &byte[2], &byte[3],
		   &byte[4], &byte[5], &more) != 6)
		die("--to %s: give an address like 02:00:00:00:00:01", text);
	for (i = 0; i < 6; i++)
		address[i] = (u8)byte[i];
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "netdev", required_argument, NULL, 'n' },
		{ "to", required_argument, NULL, 't' },
		{ "frames", required_argument, NULL, 'f' },
		{ "time", required_argument, NULL, 'd' },
		{ "seed", required_argument, NULL, 's' },
		{ "large", no_argument, NULL, 'g' },
		{ "listen", no_argument, NULL, 'l' },
		{ "member", required_argument, NULL, 'm' },
		{ "key", required_argument, NULL, 'k' },
		{ "key-id", required_argument, NULL, 'i' },
		{ "version", required_argument, NULL, 'v' },
		{ "connect", required_argument, NULL, 'c' },
		{ "first", required_argument, NULL, 'o' },
		{ "refuse", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	static struct neighbor neighbor;
	const char *netdev = NULL, *to = NULL;
	unsigned long frames = 1000, version = 0, nodes = 0, key_id = 1;
	unsigned long first = CROWD_FIRST;
	long refused = -1, member = -1, seconds = 0;
	bool hear = false, large = false, keyed = false;
	int option;

	neighbor.random = 1;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			netdev = optarg;
			break;
		case 't':
			to = optarg;
			break;
		case 'f':
			frames = strtoul(optarg, NULL, 0);
			break;
		case 'd':
			seconds = strtol(optarg, NULL, 0);
			break;
		case 's':
			neighbor.random = strtoull(optarg, NULL, 0);
			break;
		case 'g':
			large = true;
			break;
		case 'l':
			hear = true;
			break;
		case 'm':
			member = strtol(optarg, NULL, 0);
			break;
		case 'k':
			key_parse(optarg, &neighbor.key);
			keyed = true;
			break;
		case 'i':
			key_id = strtoul(optarg, NULL, 0);
			break;
		case 'v':
			version = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			nodes = strtoul(optarg, NULL, 0);
			break;
		case 'o':
			first = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			refused = strtol(optarg, NULL, 0);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!netdev || !to || optind != argc) {
		fputs(usage, stderr);
		return 2;
	}
	address_parse(to, neighbor.to);
	neighbor.key_id = keyed ? (u32)key_id : 0;
	device_open(&neighbor, netdev);
	if (version)
		return ask(&neighbor, (u8)version);
	if (refused >= 0)
		return refuse(&neighbor, (u32)refused);
	if (nodes) {
		crowd(&neighbor, (u32)first, (u32)nodes);
		return 0;
	}
	if (member >= 0) {
		neighbor_member(&neighbor, (u32)member, frames, seconds);
		return 0;
	}
	if (hear)
		listen_all(&neighbor, netdev);
	flood(&neighbor, frames, seconds, hear, large);
	return 0;
}
