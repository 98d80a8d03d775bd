// SPDX-License-Identifier: GPL-2.0-only
/*
 * ranks.c - a job of ranks on a loop fabric, as nicrun would start it
 */
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_number(const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	setenv(name, text, 1);
}

static void become(struct rank *self, const struct fabric *own, pid_t job,
		   void (*main_of)(struct rank *rank))
{
	char name[DMANIC_NAME_MAX];

	fabric_name(own, self->rank, name);
	set_number("NIC_RANK", self->rank);
	set_number("NIC_SIZE", self->size);
	set_number("NIC_JOB", (unsigned int)job);
	setenv("NIC_SECRET", "00112233445566778899aabbccddeeff", 1);
	unsetenv("NIC_NODES");
	/* More ranks than processors: who polls keeps others from running. */
	setenv("NIC_SPIN_NS", "0", 1);
	NIC_OK_OR_FAIL(NULL, nic_open(name, &self->ctx));
	NIC_OK_OR_FAIL(self->ctx, nic_team_init(self->ctx, WAIT_NS,
						&self->team));
	ASSERT_EQ(nic_team_rank(self->team), self->rank);
	ASSERT_EQ(nic_team_size(self->team), self->size);
	main_of(self);
	nic_team_finalize(self->team);
	nic_close(self->ctx);
}

void ranks_run(unsigned int size, void (*main_of)(struct rank *rank))
{
	struct rank self = { .size = size };
	struct fabric own;
	unsigned int i;
	pid_t child;
	int status;

	self.shared = mmap(NULL, RANKS_SHARED, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(self.shared, MAP_FAILED);
	fabric_make(&own, "a", size, NULL);
	for (i = 0; i < size; i++) {
		child = fork();
		ASSERT_GE(child, 0);
		if (!child) {
			self.rank = i;
			become(&self, &own, getppid(), main_of);
			_exit(harness_failed() ? 1 : 0);
		}
	}
	while (wait(&status) > 0)
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			harness_fail(__FILE__, __LINE__,
				     "a rank ended with status %#x", status);
	munmap(self.shared, RANKS_SHARED);
}
