// SPDX-License-Identifier: GPL-2.0-only
/*
 * cable.c - carries frames between two taps, as an emulator of a machine does
 *
 * usage: cable [vnet] TAP TAP
 * A TAP is the name of a tap in this namespace, which is made if there is none, or the path
 * of a macvtap's file. With "vnet" each frame has the head of virtio-net before it, and
 * checksums and TCP's segmentation are left to who reads, as virtual machines have it. Ends
 * by SIGTERM, and tells then how many frames there were with the EtherType of dmanic, and how
 * long the longest one of all was, without that head: "N frames, longest B".
 */
#include <err.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ETHERTYPE	0x88b5
#define FRAME_MAX	(128 * 1024)

static volatile sig_atomic_t ended;
static unsigned long frames, longest;

static void end(int signal)
{
	ended = signal;
}

static int tap_open(const char *tap, unsigned int flags)
{
	bool is_path = strchr(tap, '/');
	struct ifreq request = { .ifr_flags = (short)(IFF_TAP | IFF_NO_PI | flags) };
	int fd = open(is_path ? tap : "/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", is_path ? tap : "/dev/net/tun");
	if (!is_path)
		snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", tap);
	if (ioctl(fd, TUNSETIFF, &request) < 0)
		err(1, "%s: TUNSETIFF", tap);
	if ((flags & IFF_VNET_HDR) &&
	    ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) < 0)
		err(1, "%s: TUNSETOFFLOAD", tap);
	return fd;
}

/* All that is there. @head: bytes before each frame */
static void carry(int from, int to, size_t head)
{
	static uint8_t frame[FRAME_MAX];
	ssize_t length;

	while ((length = read(from, frame, sizeof(frame))) > 0) {
		const uint8_t *type = frame + head + 12;

		if ((size_t)length < head + 14)
			continue;
		if ((unsigned long)length - head > longest)
			longest = (unsigned long)length - head;
		frames += type[0] == ETHERTYPE >> 8 && type[1] == (ETHERTYPE & 0xff);
		/* One that has no room is lost, as on any cable */
		if (write(to, frame, (size_t)length) < 0)
			continue;
	}
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = end };
	bool vnet = argc > 1 && !strcmp(argv[1], "vnet");
	size_t head = vnet ? sizeof(struct virtio_net_hdr) : 0;
	struct pollfd fds[2];
	int i;

	if (argc != 3 + vnet)
		errx(2, "usage: cable [vnet] TAP TAP");
	sigaction(SIGTERM, &action, NULL);
	for (i = 0; i < 2; i++)
		fds[i] = (struct pollfd) {
			.fd = tap_open(argv[1 + vnet + i], vnet ? IFF_VNET_HDR : 0),
			.events = POLLIN,
		};
	while (!ended && poll(fds, 2, 1000) >= 0)
		for (i = 0; i < 2; i++)
			carry(fds[i].fd, fds[!i].fd, head);
	printf("%lu frames, longest %lu\n", frames, longest);
	return 0;
}
