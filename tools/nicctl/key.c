// SPDX-License-Identifier: GPL-2.0-only
/*
 * key.c - a fabric's key: read from a file, and "nicctl genkey"
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "key.h"
#include "nicctl.h"

#define KEY_DIGITS	(2 * KEY_BYTES)

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* 0, or -1: it is something else */
static int parse(const char *text, size_t length, uint8_t *key)
{
	size_t i;
	int value;

	while (length && strchr("\r\n\t ", text[length - 1]))
		length--;
	if (length != KEY_DIGITS)
		return -1;
	memset(key, 0, KEY_BYTES);
	for (i = 0; i < KEY_DIGITS; i++) {
		value = digit(text[i]);
		if (value < 0)
			return -1;
		key[i / 2] = (uint8_t)(key[i / 2] << 4 | value);
	}
	return 0;
}

/* What others can read they may know already */
static bool is_secret(int fd)
{
	struct stat file;

	return fstat(fd, &file) || !S_ISREG(file.st_mode) || !(file.st_mode & 077);
}

static ssize_t read_all(int fd, char *text, size_t room)
{
	size_t length = 0;
	ssize_t got;

	while (length < room) {
		got = read(fd, text + length, room - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		length += (size_t)got;
	}
	return (ssize_t)length;
}

int key_load(const char *path, uint8_t *key, char *why, size_t room)
{
	bool own = strcmp(path, "-") != 0;
	int fd = own ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	char text[2 * KEY_DIGITS];
	ssize_t length;
	int ret = -1;

	length = fd < 0 ? -1 : read_all(fd, text, sizeof(text));
	if (length < 0)
		snprintf(why, room, "%s", strerror(errno));
	else if (!is_secret(fd))
		snprintf(why, room, "others can read it, and may have: chmod 600 it, and better make another one (nicctl genkey)");
	else if (parse(text, (size_t)length, key))
		snprintf(why, room, "it has not 32 hexadecimal digits: make one with nicctl genkey");
	else
		ret = 0;
	explicit_bzero(text, sizeof(text));
	if (own && fd >= 0)
		close(fd);
	return ret;
}

int genkey_run(struct nicctl *ctl)
{
	uint8_t key[KEY_BYTES];
	char text[KEY_DIGITS + 1];
	size_t i;

	if (args_end(&ctl->args))
		return nicctl_usage(ctl, "genkey");
	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return nicctl_fail(ctl, "genkey", "no random bytes: %s", strerror(errno));
	for (i = 0; i < KEY_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", key[i]);
	if (ctl->json)
		report_add_text(report_root(ctl->report), "key", text);
	else
		printf("%s\n", text);
	return EXIT_SUCCESS;
}
