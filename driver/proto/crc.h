/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * crc.h - CRC32C of a few bytes
 *
 * Each frame's head has one, which is computed where the frame is made and where
 * it comes. For so few bytes the processor's own instruction is worth it, and the
 * way to it through the crypto API costs more than the sum; kernels before 6.14
 * have no other. It works on general registers, so it is allowed everywhere.
 */
#ifndef DMANIC_PROTO_CRC_H
#define DMANIC_PROTO_CRC_H

#include <linux/crc32.h>
#include <linux/string.h>
#include <linux/types.h>

#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#endif

/**
 * dmanic_crc32c() - go on with a CRC32C
 * @crc: so far; ~0 at first, and inverted at the end
 * @bytes: what follows
 * @length: of it
 *
 * Return: the checksum up to there.
 */
static inline u32 dmanic_crc32c(u32 crc, const u8 *bytes, u32 length)
{
#ifdef CONFIG_X86_64
	u64 wide = crc, word;

	if (static_cpu_has(X86_FEATURE_XMM4_2)) {
		for (; length >= sizeof(u64); length -= sizeof(u64)) {
			memcpy(&word, bytes, sizeof(word));
			asm("crc32q %1, %0" : "+r" (wide) : "rm" (word));
			bytes += sizeof(word);
		}
		crc = wide;
		while (length--)
			asm("crc32b %1, %0" : "+r" (crc) : "rm" (*bytes++));
		return crc;
	}
#endif
	return __crc32c_le(crc, bytes, length);
}

#endif /* DMANIC_PROTO_CRC_H */
