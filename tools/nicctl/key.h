/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * key.h - a fabric's key in a file: 32 hexadecimal digits
 *
 * Never on a command line: everybody on the machine sees those.
 */
#ifndef NICCTL_KEY_H
#define NICCTL_KEY_H

#include <stddef.h>
#include <stdint.h>

#define KEY_BYTES	16U
#define KEY_FOLDER	"/etc/dmanic"	/* where "nicctl save" expects them */

/* From a file that others cannot read, "-": standard input. 0, or -1 and @why */
int key_load(const char *path, uint8_t *key, char *why, size_t room);

#endif /* NICCTL_KEY_H */
