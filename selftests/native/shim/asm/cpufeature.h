/* SPDX-License-Identifier: GPL-2.0-only */
/* Just enough of the kernel's header for driver/proto in user space. */
#ifndef SHIM_ASM_CPUFEATURE_H
#define SHIM_ASM_CPUFEATURE_H

#define X86_FEATURE_XMM4_2	"sse4.2"
#define static_cpu_has(feature)	__builtin_cpu_supports(feature)

#endif /* SHIM_ASM_CPUFEATURE_H */
