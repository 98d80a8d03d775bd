// SPDX-License-Identifier: GPL-2.0-only
/*
 * neighbor.c - a hostile neighbour: sends frames to a node that no node would
 *
 * On a network device of its own, or on that of a node, where it hears all that is
 * said. Of each frame its seed decides what it is: any bytes; a head as the encoder makes
 * it, of any node, with any tag; what was heard, once more or with some bytes replaced.
 * Most checksums of heads are right, so that what is behind them is looked at; with a key
 * most proofs are, too.
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

#include "driver/proto/proto.h"

#define ETHERNET	14
#define LONGEST		(ETHERNET + DMANIC_WIRE_FRAME_MAX)
#define HEARD		64U
#define NODES		8U
#define ETHERTYPE	0x88b5
#define ANSWER_MS	2000
#define REFUSE_MS	20000

static const char usage[] =
"usage: neighbor --netdev IF --to ADDRESS [OPTION...]\n"
"Sends frames to the node at ADDRESS that no node would. In a network that is its own.\n"
"\n"
"  --frames N      how many (1000)\n"
"  --seed N        what follows from it are the frames (1)\n"
"  --large         frames of up to 64 KiB that say to be many of TCP or UDP\n"
"  --listen        hear all that is said at IF first, and use it\n"
"  --key HEX       prove frames with that key of 32 digits, be it the victim's or not\n"
"  --key-id N      its number (1)\n"
"  --version N     only ask for a connection in that version, of node 0, and print\n"
"                  how that is answered\n"
"  --connect N     connect N times, each as another node, to node 0, and ask for\n"
"                  something without taking the answer; then be silent\n"
"  --refuse N      be node N, of a later version: refuse who looks for it, once\n";

#define GSO_CHECKSUM	1
#define GSO_TCPV4	1
#define GSO_UDP		3
#define GSO_TCPV6	4
#define GSO_UDP_L4	5
#define GSO_ECN		0x80

/**
 * struct gso_header - what stands before a frame (struct virtio_net_hdr)
 * @flags: GSO_CHECKSUM: the last two say where one is to be put
 * @type: it is many of that transport, or 0
 * @linear: so many bytes of it are not in pages
 * @size: payload of each of the many
 * @checksum: from where on, and how far behind that it goes
 */
struct gso_header {
	u8 flags;
	u8 type;
	u16 linear;
	u16 size;
	u16 checksum[2];
};

/**
 * struct frame - as it is on the wire
 * @length: bytes
 * @bytes: of them
 */
struct frame {
	u32 length;
	u8 bytes[LONGEST];
};

/**
 * struct neighbor - what it knows
 * @fd: packet socket
 * @random: state of the generator
 * @own: address
 * @to: the victim's
 * @heard: frames that were, a ring
 * @nr_heard: how many
 * @mtu: of the device
 * @key: frames are made with
 * @key_id: of it; 0: there is none
 * @out: what is sent next
 */
struct neighbor {
	int fd;
	u64 random;
	u8 own[6];
	u8 to[6];
	struct frame heard[HEARD];
	u32 nr_heard;
	u32 mtu;
	struct dmanic_key key;
	u32 key_id;
	struct frame out;
};

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

/* splitmix64 */
static u64 any(struct neighbor *n)
{
	u64 z = n->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static u32 below(struct neighbor *n, u32 end)
{
	return any(n) % end;
}

static void fill(struct neighbor *n, u8 *bytes, u32 length)
{
	while (length--)
		*bytes++ = any(n);
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
static bool device_hear(struct neighbor *n, int wait_ms, struct frame *frame)
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
static bool device_send(struct neighbor *n, const struct gso_header *header)
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

/* ---- frames ---- */

static u8 *body(struct neighbor *n)
{
	return n->out.bytes + ETHERNET;
}

/* Tags are in the heads of what was heard */
static u64 some_tag(struct neighbor *n)
{
	const struct frame *heard;
	u64 tag = 0;
	u32 i;

	if (!n->nr_heard || !below(n, 4))
		return below(n, 3) ? any(n) : 0;
	heard = &n->heard[below(n, n->nr_heard < HEARD ? n->nr_heard : HEARD)];
	if (heard->length < ETHERNET + DMANIC_WIRE_COMMON)
		return 0;
	for (i = 0; i < 8; i++)
		tag = tag << 8 | heard->bytes[ETHERNET + 16 + i];
	return tag;
}

/* Small, or next to where something ends */
static u64 some_number(struct neighbor *n)
{
	static const u64 ends[] = {
		0, 1, 1500, 4096, 65535, 65536, 0x7fffffff, 0xffffffff, 1ULL << 48,
		1ULL << 63, U64_MAX,
	};

	return below(n, 2) ? below(n, 256) :
			     ends[below(n, sizeof(ends) / sizeof(*ends))] - below(n, 3);
}

static u32 make_bytes(struct neighbor *n)
{
	u32 length = below(n, 4) ? below(n, 200) : below(n, n->mtu);

	fill(n, body(n), length);
	if (length > 1 && below(n, 4)) {
		body(n)[0] = DMANIC_WIRE_MAX;
		body(n)[1] = (u8)below(n, DMANIC_WIRE_TYPES + 1);
	}
	return length;
}

static u32 make_hello(struct neighbor *n)
{
	static const u8 types[] = {
		DMANIC_WIRE_HELLO, DMANIC_WIRE_INIT, DMANIC_WIRE_INIT, DMANIC_WIRE_ANSWER,
	};
	u8 type = types[below(n, 4)];
	struct dmanic_hello hello = {
		.node = below(n, 4) ? below(n, NODES) : (u32)some_number(n),
		.to = below(n, 8) ? below(n, 2) : DMANIC_WIRE_NOBODY,
		.incarnation = below(n, 4),
		.tag = type == DMANIC_WIRE_HELLO ? 0 : some_tag(n),
		.mtu = below(n, 4) ? n->mtu : (u32)some_number(n),
		.features = below(n, 4) ? 1 : (u32)any(n),
		.operations = (u16)(below(n, 4) ? 64 : some_number(n)),
		.version_min = (u8)(below(n, 8) ? 1 : any(n)),
		.version_max = (u8)(below(n, 8) ? 1 : any(n)),
		.window = below(n, 4) ? 65536 : (u32)some_number(n),
	};

	return dmanic_hello_encode(body(n), type, below(n, 8) ? 0 : (u8)any(n),
				   type == DMANIC_WIRE_ANSWER ? some_tag(n) : 0, &hello);
}

static u32 make_control(struct neighbor *n)
{
	struct dmanic_refuse refuse = {
		.node = below(n, NODES), .reason = (u8)some_number(n),
		.version_min = 1, .version_max = 1,
	};

	switch (below(n, 3)) {
	case 0:
		return dmanic_probe_encode(body(n), some_tag(n));
	case 1:
		return dmanic_refuse_encode(body(n), some_tag(n), &refuse);
	default:
		return dmanic_reset_encode(body(n), some_tag(n), below(n, NODES),
					   below(n, 4));
	}
}

static void some_ack(struct neighbor *n, struct dmanic_ack *ack)
{
	u32 class, i, nr = below(n, 8);

	memset(ack, 0, sizeof(*ack));
	ack->number = (u32)some_number(n);
	ack->echo = (u32)any(n);
	ack->held = (u32)some_number(n);
	ack->window = (u32)some_number(n);
	ack->duplicates = (u32)some_number(n);
	ack->mtu = n->mtu;
	for (class = 0; class < DMANIC_CLASSES; class++) {
		ack->stream[class].next = some_number(n);
		ack->stream[class].reject = some_number(n);
		ack->stream[class].corrupt = some_number(n);
		ack->stream[class].corrupt_units = below(n, 2) ? 0 : (u32)some_number(n);
	}
	ack->stream[below(n, DMANIC_CLASSES)].nr = nr;
	for (i = 0; i < nr; i++) {
		ack->range[i].after = (u32)some_number(n);
		ack->range[i].length = (u32)some_number(n);
	}
}

static u32 make_ack(struct neighbor *n)
{
	struct dmanic_ack ack;

	some_ack(n, &ack);
	return dmanic_ack_encode(body(n), some_tag(n), &ack);
}

static u32 make_test(struct neighbor *n)
{
	struct dmanic_tested tested = { (u32)some_number(n), (u32)some_number(n) };
	struct dmanic_test test = {
		.number = (u32)some_number(n), .total = below(n, n->mtu - 64),
	};
	u32 length;

	if (!below(n, 2))
		return dmanic_tested_encode(body(n), some_tag(n), &tested);
	length = dmanic_test_encode(body(n), some_tag(n), &test);
	fill(n, body(n) + length, test.total);
	return length + test.total;
}

static u32 make_data(struct neighbor *n)
{
	struct dmanic_data data = {
		.seq = some_number(n), .stamp = (u32)any(n), .records = 1 + below(n, 4),
	};
	static const char name[DMANIC_WIRE_NAME] = "name";
	bool told = !below(n, 4);
	u32 i, at, payload = 0;
	struct dmanic_ack ack;

	at = dmanic_data_begin(body(n), told);
	if (told) {
		some_ack(n, &ack);
		dmanic_told_encode(body(n), &ack);
	}
	for (i = 0; i < data.records; i++) {
		struct dmanic_record record = {
			.type = (u8)(1 + below(n, DMANIC_RECORD_TYPES - 1)),
			.flags = below(n, 4) ? 0 : (u8)any(n),
			.op = (u32)some_number(n),
			.segment = (u32)some_number(n),
			.key = any(n),
			.offset = some_number(n),
			.position = some_number(n),
			.block = (u32)some_number(n),
			.stride = some_number(n),
			.value = some_number(n),
			.opcode = (u8)some_number(n),
			.name = name,
		};

		record.length = below(n, n->mtu / 8);
		at = dmanic_record_encode(body(n), at, &record);
		payload += dmanic_record_payload(&record);
	}
	fill(n, body(n) + at, payload);
	dmanic_data_end(body(n), at, (u8)(any(n) | (told ? DMANIC_WIRE_TOLD : 0)),
			some_tag(n), &data, payload);
	dmanic_data_seal(body(n), NULL);
	return at + payload;
}

/* What was heard, from there on as it is */
static u32 make_again(struct neighbor *n)
{
	const struct frame *heard;

	if (!n->nr_heard)
		return make_hello(n);
	heard = &n->heard[below(n, n->nr_heard < HEARD ? n->nr_heard : HEARD)];
	memcpy(n->out.bytes, heard->bytes, heard->length);
	return heard->length - ETHERNET;
}

/* Some bytes are others, or it is of another length */
static u32 spoil(struct neighbor *n, u32 length)
{
	u32 i, head, nr = below(n, 4);

	for (i = 0; i < nr && length; i++)
		body(n)[below(n, below(n, 2) && length > 64 ? 64 : length)] = (u8)any(n);
	if (!below(n, 4))
		length = below(n, length + 1);
	else if (!below(n, 8) && length + 32 < n->mtu)
		length += below(n, 32);
	head = dmanic_wire_pull(body(n), length);
	if (below(n, 8) && head >= DMANIC_WIRE_COMMON && head <= length)
		dmanic_head_seal(body(n), head);
	return length;
}

static u64 source_of(const struct neighbor *n)
{
	u64 address = 0;
	u32 i;

	for (i = 6; i < 12; i++)
		address = address << 8 | n->out.bytes[i];
	return address;
}

/* As a connection has them, as those have that are of none, or any */
static u64 some_counter(struct neighbor *n)
{
	struct timespec now;

	switch (below(n, 3)) {
	case 0:
		return below(n, 1U << 20);
	case 1:
		clock_gettime(CLOCK_REALTIME, &now);
		return now.tv_sec * 1000000000ULL + now.tv_nsec;
	default:
		return some_number(n);
	}
}

/* Return: length of the frame of @length bytes with a proof, or @length: it has no room */
static u32 prove(struct neighbor *n, u32 length)
{
	u32 head = dmanic_wire_pull(body(n), length), payload;
	struct dmanic_proof proof = { .from = source_of(n), .key_id = n->key_id };
	struct dmanic_mac mac;

	if (head < DMANIC_WIRE_COMMON || head > length)
		return length;
	if ((body(n)[2] & DMANIC_WIRE_AUTH) && head >= DMANIC_WIRE_COMMON + DMANIC_WIRE_AUTH_BYTES) {
		head -= DMANIC_WIRE_AUTH_BYTES;
		length -= DMANIC_WIRE_AUTH_BYTES;
	} else if (length + DMANIC_WIRE_AUTH_BYTES > n->mtu) {
		return length;
	} else {
		memmove(body(n) + head + DMANIC_WIRE_AUTH_BYTES, body(n) + head, length - head);
	}
	payload = (u32)body(n)[6] << 8 | body(n)[7];
	if (payload > length - head)
		payload = length - head;
	proof.counter = some_counter(n);
	if (payload) {
		dmanic_auth_begin_payload(&mac, &n->key, body(n), proof.counter);
		dmanic_mac_add(&mac, body(n) + head + DMANIC_WIRE_AUTH_BYTES, payload);
		proof.payload_mac = dmanic_mac_end(&mac);
	}
	dmanic_auth_encode(body(n), head, &n->key, &proof);
	return length + DMANIC_WIRE_AUTH_BYTES;
}

static void make(struct neighbor *n)
{
	static u32 (*const kinds[])(struct neighbor *n) = {
		make_bytes, make_hello, make_control, make_ack, make_test, make_data,
		make_again, make_again, make_again,
	};
	u32 length;

	memset(n->out.bytes, 0, ETHERNET);
	length = kinds[below(n, sizeof(kinds) / sizeof(*kinds))](n);
	/*
	 * Where a heard one was from is kept, sometimes; the node's own address seldom, for
	 * a bridge that learns it takes all to that node away from it for a while.
	 */
	if (!n->out.bytes[12] || below(n, memcmp(n->out.bytes + 6, n->to, 6) ? 2 : 64)) {
		memcpy(n->out.bytes, n->to, 6);
		memcpy(n->out.bytes + 6, n->own, 6);
	}
	if (!below(n, 16))
		memset(n->out.bytes, 0xff, 6);
	if (!below(n, 32))
		fill(n, n->out.bytes + 6, 6);
	n->out.bytes[12] = ETHERTYPE >> 8;
	n->out.bytes[13] = ETHERTYPE & 0xff;
	if (below(n, 4))
		length = spoil(n, length);
	/* What was heard is proven already */
	if (n->key_id && below(n, 4))
		length = prove(n, length);
	n->out.length = ETHERNET + (length < n->mtu ? length : n->mtu);
}

/* What was made becomes long, and says that it is long, mostly; it is to be cut */
static void enlarge(struct neighbor *n, struct gso_header *header)
{
	static const u8 types[] = {
		GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, GSO_UDP, GSO_TCPV4 | GSO_ECN,
	};
	u32 head, length = n->out.length - ETHERNET, more;

	more = below(n, DMANIC_WIRE_FRAME_MAX - length);
	fill(n, body(n) + length, more);
	length += more;
	n->out.length = ETHERNET + length;
	head = dmanic_wire_pull(body(n), length);
	if (below(n, 4) && head >= DMANIC_WIRE_COMMON && head <= length) {
		body(n)[6] = (u8)((length - head) >> 8);
		body(n)[7] = (u8)(length - head);
		dmanic_head_seal(body(n), head);
	}
	header->type = types[below(n, sizeof(types))];
	header->flags = GSO_CHECKSUM;
	header->size = (u16)(below(n, 8) ? 500 + below(n, 1000) : some_number(n));
	/* Where theirs are, else the kernel takes none: behind a head of IP */
	header->checksum[0] = (u16)(ETHERNET + 40 + below(n, 32));
	header->checksum[1] = header->type == GSO_UDP_L4 || header->type == GSO_UDP ? 6 : 16;
	if (header->linear < header->checksum[0] + 64 && n->out.length > 200)
		header->linear = 200;
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
static int hear_ms(const struct neighbor *n, u32 sent)
{
	if (!sent)
		return ANSWER_MS;
	return n->nr_heard < HEARD ? 1 : 0;
}

static void flood(struct neighbor *n, u32 frames, bool hear, bool large)
{
	struct gso_header header;
	u32 i, sent = 0;

	for (i = 0; i < frames; i++) {
		if (hear && device_hear(n, hear_ms(n, i), &n->heard[n->nr_heard % HEARD]))
			n->nr_heard++;
		make(n);
		header = (struct gso_header){
			.linear = (u16)(below(n, 2) ? n->out.length : ETHERNET + below(n, 64)),
		};
		if (large)
			enlarge(n, &header);
		sent += device_send(n, &header);
	}
	printf("%u frames sent, %u heard\n", sent, n->nr_heard);
}

/* The frame whose body is there, from this neighbour itself */
static void send_own(struct neighbor *n, u32 length)
{
	struct gso_header header = { .linear = (u16)(ETHERNET + length) };

	memcpy(n->out.bytes, n->to, 6);
	memcpy(n->out.bytes + 6, n->own, 6);
	n->out.bytes[12] = ETHERTYPE >> 8;
	n->out.bytes[13] = ETHERTYPE & 0xff;
	n->out.length = ETHERNET + length;
	if (!device_send(n, &header))
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
	while (device_hear(n, ANSWER_MS, answer)) {
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

	while (device_hear(n, REFUSE_MS, asked)) {
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

#define CROWD_FIRST	100000U		/* node id */
#define CROWD_WAIT_MS	20
#define CROWD_TRIES	4U

/* Return: the tag that the victim wants to hear; 0: it does not answer */
static u64 crowd_answer(struct neighbor *n, u64 tag)
{
	struct frame *answer = &n->heard[0];
	struct dmanic_hello hello;
	struct dmanic_head head;

	while (device_hear(n, CROWD_WAIT_MS, answer)) {
		const u8 *frame = answer->bytes + ETHERNET;
		u32 length = answer->length - ETHERNET;

		if (!memcmp(answer->bytes, n->own, 6) &&
		    !dmanic_head_decode(frame, length, length, &head) &&
		    head.type == DMANIC_WIRE_ANSWER && head.tag == tag &&
		    !dmanic_hello_decode(frame, &head, &hello))
			return hello.tag;
	}
	return 0;
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

static void crowd(struct neighbor *n, u32 nodes)
{
	struct dmanic_hello hello = {
		.incarnation = 1, .mtu = n->mtu, .operations = 64, .version_min = 1,
		.version_max = 1, .window = 65536,
	};
	u32 i, connected = 0;
	u64 tag;

	for (i = 0; i < CROWD_TRIES * nodes && connected < nodes; i++) {
		hello.node = CROWD_FIRST + i;
		hello.tag = 1 + any(n) / 2;
		send_own(n, dmanic_hello_encode(body(n), DMANIC_WIRE_INIT, 0, 0, &hello));
		tag = crowd_answer(n, hello.tag);
		if (!tag)
			continue;
		send_own(n, dmanic_hello_encode(body(n), DMANIC_WIRE_ANSWER,
						  DMANIC_WIRE_DONE, tag, &hello));
		crowd_ask(n, tag);
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
		{ "seed", required_argument, NULL, 's' },
		{ "large", no_argument, NULL, 'g' },
		{ "listen", no_argument, NULL, 'l' },
		{ "key", required_argument, NULL, 'k' },
		{ "key-id", required_argument, NULL, 'i' },
		{ "version", required_argument, NULL, 'v' },
		{ "connect", required_argument, NULL, 'c' },
		{ "refuse", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	static struct neighbor neighbor;
	const char *netdev = NULL, *to = NULL;
	unsigned long frames = 1000, version = 0, nodes = 0, key_id = 1;
	long refused = -1;
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
		case 's':
			neighbor.random = strtoull(optarg, NULL, 0);
			break;
		case 'g':
			large = true;
			break;
		case 'l':
			hear = true;
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
		crowd(&neighbor, (u32)nodes);
		return 0;
	}
	if (hear)
		listen_all(&neighbor, netdev);
	flood(&neighbor, (u32)frames, hear, large);
	return 0;
}
