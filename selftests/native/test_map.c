// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings of remote segments as libnic makes them: which pages are asked for,
 * with which rights, and what is said when they are refused.
 *
 * Sources: libnic/core/queue.c libnic/core/post.c libnic/core/interrupt.c
 * Sources: libnic/core/device.c
 * Sources: libnic/core/segment.c libnic/core/error.c libnic/core/map.c
 * Flags: -Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap
 * Flags: -lpthread
 */
#include <nic.h>

#include "fake_driver.h"
#include "unit.h"

#define BYTES	(4ULL * FAKE_PAGE)	/* of every remote segment */

static struct nic_ctx *ctx;
static struct nic_remote *remote;
static uint64_t base;		/* mmap_offset of @remote */

static void start(void)
{
	if (nic_open("nic3", &ctx) || nic_connect(ctx, 1, 2, 3, &remote))
		abort();
	base = 1ULL << 62 | (uint64_t)fake.handles << 40;
}

static void stop(void)
{
	nic_disconnect(remote);
	nic_close(ctx);
	fake_reset();
}

TEST(map__asks_for_whole_pages)
{
	static const struct {
		uint64_t offset, bytes, page, mapped;
	} cases[] = {
		{ 0, BYTES, 0, BYTES }, { 0, 1, 0, 1 },
		{ 1, 1, 0, 2 }, { FAKE_PAGE - 1, 2, 0, FAKE_PAGE + 1 },
		{ FAKE_PAGE, 8, FAKE_PAGE, 8 },
		{ 3 * FAKE_PAGE + 5, FAKE_PAGE - 5, 3 * FAKE_PAGE, FAKE_PAGE },
		{ BYTES - 1, 1, 3 * FAKE_PAGE, FAKE_PAGE },
	};
	void *addr;

	start();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ASSERT_EQ(nic_map_remote(remote, cases[i].offset,
					 cases[i].bytes, &addr), 0);
		EXPECT_EQ(fake.mapped.offset, base + cases[i].page);
		EXPECT_EQ(fake.mapped.bytes, cases[i].mapped);
		EXPECT_EQ((uint8_t *)addr - fake.segment,
			  (long)(cases[i].offset - cases[i].page));
		*(volatile uint8_t *)addr = 1;
		nic_pio_flush(addr);
		fake.unmapped = 0;
		nic_unmap_remote(addr, cases[i].bytes);
		EXPECT_EQ(fake.unmapped, cases[i].mapped);
	}
	nic_unmap_remote(NULL, 1);
	stop();
}

TEST(map__has_the_rights_granted)
{
	void *addr;

	start();
	ASSERT_EQ(nic_map_remote(remote, 0, 1, &addr), 0);
	EXPECT_EQ(fake.mapped.prot, PROT_READ | PROT_WRITE);
	stop();
	fake.no_rights = DMANIC_RIGHT_WRITE;
	start();
	ASSERT_EQ(nic_map_remote(remote, 0, 1, &addr), 0);
	EXPECT_EQ(fake.mapped.prot, PROT_READ);
	stop();
	fake.no_rights = DMANIC_RIGHT_READ;
	start();
	EXPECT_EQ(nic_map_remote(remote, 0, 1, &addr), -EOPNOTSUPP);
	EXPECT_CONTAINS(nic_error_detail(ctx), "NIC_READ");
	stop();
}

TEST(map__refuses_what_is_not_within)
{
	static const struct {
		uint64_t offset, bytes;
	} cases[] = {
		{ 0, 0 }, { 0, BYTES + 1 }, { 1, BYTES }, { BYTES, 1 },
		{ BYTES + 1, 0 }, { UINT64_MAX, 1 }, { 1, UINT64_MAX },
		{ UINT64_MAX, UINT64_MAX },
	};
	void *addr = NULL;

	start();
	fake.mapped.bytes = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		EXPECT_EQ(nic_map_remote(remote, cases[i].offset,
					 cases[i].bytes, &addr), -EINVAL);
		EXPECT_CONTAINS(nic_error_detail(ctx), "not within");
	}
	EXPECT_EQ(fake.mapped.bytes, 0);
	EXPECT(!addr);
	stop();
}

TEST(map__says_why_it_failed)
{
	static const struct {
		int err;
		const char *why;
	} cases[] = {
		{ ENOENT, "revoked" }, { EHOSTUNREACH, "restarted" },
		{ EOPNOTSUPP, "put and get instead" },
	};
	void *addr;

	start();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fake.fail_map = cases[i].err;
		EXPECT_EQ(nic_map_remote(remote, 8, FAKE_PAGE, &addr),
			  -cases[i].err);
		EXPECT_CONTAINS(nic_error_detail(ctx), cases[i].why);
		EXPECT_CONTAINS(nic_error_detail(ctx),
				"map 4K at 8 of a segment of node 1");
	}
	fake.fail_map = 0;
	stop();
	fake.no_map = true;
	start();
	EXPECT_EQ(nic_map_remote(remote, 0, 1, &addr), -EOPNOTSUPP);
	EXPECT_CONTAINS(nic_error_detail(ctx), "put and get instead");
	stop();
}
