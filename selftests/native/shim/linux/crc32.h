/* SPDX-License-Identifier: GPL-2.0-only */
/* CRC32C, a byte at a time: see types.h */
#ifndef SHIM_CRC32_H
#define SHIM_CRC32_H

#include <linux/types.h>

/* The kernel's way to do it has a part for this machine, which is tested, too */
#ifdef __x86_64__
#define CONFIG_X86_64 1
#endif

static inline u32 __crc32c_le(u32 crc, const unsigned char *bytes, size_t length)
{
	static u32 table[256];
	u32 i, bit, value;

	if (!table[1]) {
		for (i = 256; i--;) {
			for (value = i, bit = 0; bit < 8; bit++)
				value = value >> 1 ^ (value & 1 ? 0x82f63b78 : 0);
			table[i] = value;
		}
	}
	while (length--)
		crc = crc >> 8 ^ table[(crc ^ *bytes++) & 0xff];
	return crc;
}

#endif /* SHIM_CRC32_H */
