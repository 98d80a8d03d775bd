/* SPDX-License-Identifier: GPL-2.0-only */
/* See linux/types.h */
#ifndef SHIM_BYTEORDER_H
#define SHIM_BYTEORDER_H

#include <endian.h>

#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)
#define le64_to_cpu(x)	le64toh(x)
#define cpu_to_le64(x)	htole64(x)

#endif /* SHIM_BYTEORDER_H */
