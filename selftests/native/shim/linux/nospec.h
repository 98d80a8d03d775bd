/* SPDX-License-Identifier: GPL-2.0-only */
/* Of a program by itself nobody reads what is loaded in speculation */
#ifndef SHIM_NOSPEC_H
#define SHIM_NOSPEC_H

#define array_index_nospec(index, size)	((void)(size), (index))

#endif /* SHIM_NOSPEC_H */
