/* SPDX-License-Identifier: GPL-2.0-only */
/* See dmanic.h */
#ifndef SHIM_LINK_H
#define SHIM_LINK_H

#define DMANIC_LOOP_MAX_NODES	256U

#include "driver/link/config.h"
#include "driver/link/model.h"

struct dmanic_link_ops {
	void (*get_model)(struct dmanic_node *node, struct dmanic_model *model);
	void (*get_fault)(struct dmanic_node *node, struct dmanic_fault *fault);
};

#endif /* SHIM_LINK_H */
