// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every check of nicctl doctor, on machines that are made up of files in a
 * folder: what it finds, and that it says what to do.
 *
 * Sources: tools/nicctl/doctor_file.c tools/nicctl/doctor_system.c
 * Sources: tools/nicctl/doctor_user.c tools/nicctl/doctor_device.c
 * Sources: tools/common/size.c tools/common/device.c tools/common/nl.c
 * Sources: tools/common/output.c tools/common/stats.c
 * Flags: -lmnl -lcjson
 */
#include <errno.h>
#include <ftw.h>
#include <linux/dmanic_netlink.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/nicctl/doctor.h"

#include "unit.h"

static char root[64];
static struct doctor doctor;
static struct device there[8];

static int remove_one(const char *path, const struct stat *stat_buf, int type,
		      struct FTW *walk)
{
	(void)stat_buf;
	(void)type;
	(void)walk;
	return remove(path);
}

static void no_machine(void)
{
	if (*root)
		nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	*root = '\0';
}

/* A machine without anything */
static void machine(void)
{
	static bool registered;

	if (!registered)
		atexit(no_machine);
	registered = true;
	no_machine();
	strcpy(root, "/tmp/test_doctor.XXXXXX");
	if (!mkdtemp(root))
		UNIT_FAIL("mkdtemp: %s", strerror(errno));
	memset(&doctor, 0, sizeof(doctor));
	memset(there, 0, sizeof(there));
	doctor.root = root;
	doctor.uring_errno = EFAULT;
}

/* A file and the folders it is in */
static void put(const char *path, const char *text)
{
	char whole[256], *slash;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (slash = strchr(whole + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "w");
	if (!file) {
		UNIT_FAIL("%s: %s", whole, strerror(errno));
		return;
	}
	fputs(text, file);
	fclose(file);
}

static void put_link(const char *path, const char *to)
{
	char whole[256];

	put(path, "");
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	if (remove(whole) || symlink(to, whole))
		UNIT_FAIL("%s: %s", whole, strerror(errno));
}

static void put_mode(const char *path, mode_t mode)
{
	char whole[256];

	put(path, "");
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	chmod(whole, mode);
}

/* One check makes one finding; a problem and a warning come with a remedy. */
static const struct finding *found(void (*check)(struct doctor *doctor),
				   enum doctor_level level, const char *text)
{
	static const struct finding none = { .name = "" };
	const struct finding *finding = &doctor.finding[doctor.n];
	size_t before = doctor.n;

	check(&doctor);
	EXPECT_EQ(doctor.n, before + 1);
	if (doctor.n == before)
		return &none;
	EXPECT_EQ(finding->level, level);
	EXPECT_CONTAINS(finding->text, text);
	EXPECT(*finding->name);
	EXPECT(level == DOCTOR_OK || level == DOCTOR_UNKNOWN ||
	       *finding->remedy);
	return finding;
}

static void devices(size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		snprintf(there[i].name, sizeof(there[i].name), "nic%zu", i);
		strcpy(there[i].fabric, "nic");
		strcpy(there[i].model_name, "none");
		there[i].model[DMANIC_MODEL_A_SCALE] = 1000;
	}
	doctor.connected = true;
	doctor.family_version = DMANIC_GENL_VERSION;
	doctor.devices = (struct devices){ there, n, n };
}

#define RELEASE "/proc/sys/kernel/osrelease"

TEST(kernel__releases)
{
	machine();
	found(doctor_kernel, DOCTOR_UNKNOWN, "cannot read");
	put(RELEASE, "5.10.0-28-amd64\n");
	found(doctor_kernel, DOCTOR_PROBLEM, "older than 6.1");
	put(RELEASE, "6.1.0-56-amd64\n");
	found(doctor_kernel, DOCTOR_OK, "6.1.0-56-amd64");
	put(RELEASE, "6.12.117+deb12-amd64\n");
	found(doctor_kernel, DOCTOR_OK, "6.12");
	put(RELEASE, "6.13.1\n");
	found(doctor_kernel, DOCTOR_WARNING, "newer than 6.12");
	put(RELEASE, "7.0.0\n");
	found(doctor_kernel, DOCTOR_WARNING, "newer");
	put(RELEASE, "nonsense\n");
	found(doctor_kernel, DOCTOR_UNKNOWN, "no release");
}

TEST(module__loaded_or_why_not)
{
	const struct finding *finding;

	machine();
	put(RELEASE, "6.1.0-56-amd64\n");
	finding = found(doctor_module, DOCTOR_PROBLEM,
			"not installed for 6.1.0-56-amd64");
	EXPECT_CONTAINS(finding->remedy, "modules_install");
	put("/lib/modules/6.1.0-56-amd64/modules.dep",
	    "kernel/notdmanic.ko: x.ko\nupdates/dmanic.ko:\n");
	finding = found(doctor_module, DOCTOR_PROBLEM, "but not loaded");
	EXPECT_CONTAINS(finding->remedy, "modprobe dmanic");
	put("/lib/modules/6.1.0-56-amd64/updates/dmanic.ko",
	    "xvermvermagic=6.1.0-1-amd64 SMP preempt");
	found(doctor_module, DOCTOR_PROBLEM, "built for 6.1.0-1-amd64");
	put("/lib/modules/6.1.0-56-amd64/updates/dmanic.ko",
	    "vermagic=6.1.0-56-amd64 SMP");
	found(doctor_module, DOCTOR_PROBLEM, "but not loaded");
	put("/sys/module/module/parameters/sig_enforce", "Y\n");
	finding = found(doctor_module, DOCTOR_PROBLEM, "but not loaded");
	EXPECT_CONTAINS(finding->remedy, "sign");
	put("/sys/module/dmanic/version", TOOL_VERSION "\n");
	doctor.why = "not loaded";
	found(doctor_module, DOCTOR_PROBLEM, "does not answer: not loaded");
	devices(1);
	found(doctor_module, DOCTOR_OK, "loaded");
}

TEST(versions__of_module_and_tool)
{
	machine();
	found(doctor_versions, DOCTOR_UNKNOWN, "not checked");
	devices(1);
	found(doctor_versions, DOCTOR_WARNING, "version unknown");
	put("/sys/module/dmanic/version", TOOL_VERSION "\n");
	found(doctor_versions, DOCTOR_OK, "module " TOOL_VERSION);
	put("/sys/module/dmanic/version", TOOL_VERSION "0\n");
	found(doctor_versions, DOCTOR_WARNING, TOOL_VERSION "0");
	put("/sys/module/dmanic/version", TOOL_VERSION "\n");
	doctor.queried = true;
	doctor.query.abi = DMANIC_ABI_VERSION + 1;
	found(doctor_versions, DOCTOR_PROBLEM, "the interface for programs");
	doctor.family_version++;
	found(doctor_versions, DOCTOR_PROBLEM, "the control plane");
}

TEST(rule__group_and_file)
{
	const struct finding *finding;

	machine();
	finding = found(doctor_rule, DOCTOR_PROBLEM, "no group dmanic");
	EXPECT_CONTAINS(finding->remedy, "groupadd");
	put("/etc/group", "root:x:0:\ndmanic:x:997:\n");
	finding = found(doctor_rule, DOCTOR_PROBLEM, "60-dmanic.rules");
	EXPECT_CONTAINS(finding->remedy, "make install");
	put("/usr/lib/udev/rules.d/60-dmanic.rules", "");
	found(doctor_rule, DOCTOR_OK, "group dmanic is 997");
}

TEST(files__mode_and_group)
{
	char group[64];

	machine();
	found(doctor_files, DOCTOR_OK, "none");
	devices(1);
	found(doctor_files, DOCTOR_PROBLEM, "no file in /dev/dmanic");
	put_mode("/dev/dmanic/nic0", 0660);
	put("/etc/group", "dmanic:x:4294967:\n");
	found(doctor_files, DOCTOR_PROBLEM, "/dev/dmanic/nic0 has mode 0660");
	snprintf(group, sizeof(group), "dmanic:x:%u:\n", getegid());
	put("/etc/group", group);
	found(doctor_files, DOCTOR_OK, "1, for group dmanic");
	put_mode("/dev/dmanic/nic1", 0600);
	found(doctor_files, DOCTOR_PROBLEM,
	      "/dev/dmanic/nic1 has mode 0600");
	EXPECT_CONTAINS(doctor.finding[doctor.n - 1].text, "(1 of 2 files)");
}

#define STATUS(uid, groups, capabilities)				\
	"Name:\tnicctl\nUid:\t" uid "\t" uid "\t" uid "\t" uid "\n"	\
	"Gid:\t100\t100\t100\t100\nGroups:\t" groups " \n"		\
	"CapEff:\t" capabilities "\n"

TEST(permission__of_the_user)
{
	const struct finding *finding;

	machine();
	found(doctor_permission, DOCTOR_UNKNOWN, "not checked");
	put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:100::/:/\n");
	put("/proc/self/status", STATUS("0", "0", "000001ffffffffff"));
	found(doctor_permission, DOCTOR_OK, "root may open");
	put("/proc/self/status", STATUS("1000", "4 997 27", "0"));
	found(doctor_permission, DOCTOR_PROBLEM, "no group dmanic");
	put("/etc/group", "dmanic:x:997:bob,ann\n");
	found(doctor_permission, DOCTOR_OK, "ann may open devices (group");
	put("/proc/self/status", STATUS("1000", "4 9970 27", "0"));
	finding = found(doctor_permission, DOCTOR_PROBLEM,
			"after this session began");
	EXPECT_CONTAINS(finding->remedy, "newgrp dmanic");
	put("/etc/group", "dmanic:x:997:bob,anna\n");
	finding = found(doctor_permission, DOCTOR_PROBLEM,
			"ann is not in group dmanic");
	EXPECT_CONTAINS(finding->remedy, "usermod -aG dmanic ann");
	put("/proc/self/status", STATUS("1001", "", "0"));
	found(doctor_permission, DOCTOR_PROBLEM, "1001 is not in group");
	/* Files may be anybody's */
	doctor.queried = true;
	found(doctor_permission, DOCTOR_OK, "one was opened");
	doctor.queried = false;
	/* as the primary group */
	put("/etc/group", "dmanic:x:100:\n");
	found(doctor_permission, DOCTOR_OK, "may open");
}

#define LIMITS(soft, hard)						\
	"Limit                     Soft Limit           Hard Limit\n"	\
	"Max processes             1                    1       processes\n" \
	"Max locked memory         " soft "   " hard "   bytes\n"

TEST(memlock__soft_and_hard)
{
	const struct finding *finding;

	machine();
	found(doctor_memlock, DOCTOR_UNKNOWN, "not checked");
	put("/proc/self/status", STATUS("1000", "4", "0"));
	put("/proc/self/limits", LIMITS("65536", "65536"));
	finding = found(doctor_memlock, DOCTOR_PROBLEM, "at most 64k bytes");
	EXPECT_CONTAINS(finding->remedy, "limits.d/dmanic.conf");
	EXPECT_CONTAINS(finding->remedy, "memlock 16777216");
	EXPECT_CONTAINS(finding->remedy, "LimitMEMLOCK=16G");
	EXPECT(!strstr(finding->remedy, "ulimit"));
	put("/proc/self/limits", LIMITS("8388608", "unlimited"));
	finding = found(doctor_memlock, DOCTOR_WARNING, "at most 8M bytes");
	EXPECT_CONTAINS(finding->remedy, "ulimit -l unlimited");
	put("/proc/self/limits", LIMITS("67108864", "67108864"));
	found(doctor_memlock, DOCTOR_OK, "64M");
	put("/proc/self/limits", LIMITS("unlimited", "unlimited"));
	found(doctor_memlock, DOCTOR_OK, "no limit");
	put("/proc/self/limits", LIMITS("0", "0"));
	put("/proc/self/status", STATUS("0", "4", "0000000000004000"));
	found(doctor_memlock, DOCTOR_OK, "CAP_IPC_LOCK");
}

TEST(cgroup__mounted_and_memory)
{
	const struct finding *finding;

	machine();
	found(doctor_cgroup, DOCTOR_UNKNOWN, "not checked");
	found(doctor_memory, DOCTOR_UNKNOWN, "not checked");
	put("/proc/mounts", "cgroup /sys/fs/cgroup/memory cgroup rw 0 0\n");
	found(doctor_cgroup, DOCTOR_WARNING, "not mounted");
	put_link("/proc/self/ns/mnt", "mnt:[4026531841]");
	put_link("/proc/1/ns/mnt", "mnt:[4026531841]");
	found(doctor_cgroup, DOCTOR_WARNING, "not mounted");
	/* ip netns exec */
	put_link("/proc/self/ns/mnt", "mnt:[4026532247]");
	finding = found(doctor_cgroup, DOCTOR_UNKNOWN, "ip netns exec");
	EXPECT(!*finding->remedy);
	put("/proc/mounts", "proc /proc proc rw 0 0\n"
	    "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	found(doctor_cgroup, DOCTOR_OK, "on /sys/fs/cgroup");
	put("/proc/self/cgroup", "1:name=x:/y\n0::/user.slice/a/b\n");
	found(doctor_memory, DOCTOR_OK, "none");
	put("/sys/fs/cgroup/user.slice/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/user.slice/a/memory.max", "536870912\n");
	found(doctor_memory, DOCTOR_OK, "512M bytes");
	put("/sys/fs/cgroup/user.slice/memory.max", "67108864\n");
	found(doctor_memory, DOCTOR_WARNING, "64M bytes");
}

TEST(devices__state_and_model)
{
	const struct finding *finding;

	machine();
	found(doctor_devices, DOCTOR_UNKNOWN, "not checked");
	found(doctor_models, DOCTOR_UNKNOWN, "not checked");
	devices(0);
	finding = found(doctor_devices, DOCTOR_WARNING, "none in this network");
	EXPECT_CONTAINS(finding->remedy, "nicctl dev add nic type loop");
	put("/dev/dmanic/nic0", "");
	finding = found(doctor_devices, DOCTOR_WARNING,
			"; 1 device is in other network namespaces");
	EXPECT(!strstr(finding->remedy, "dev add"));
	put("/dev/dmanic/nic1", "");
	finding = found(doctor_devices, DOCTOR_WARNING,
			"; 2 devices are in other network namespaces");
	EXPECT_CONTAINS(finding->remedy, "ip netns exec");
	devices(3);
	found(doctor_devices, DOCTOR_OK, "3, all up");
	found(doctor_models, DOCTOR_OK, "as fast as they can");
	there[1].number[DMANIC_A_STATE] = DMANIC_DEV_FAILED;
	finding = found(doctor_devices, DOCTOR_PROBLEM, "nic1 was told to fail");
	EXPECT_CONTAINS(finding->remedy, "nicctl dev set nic1 failed off");
	there[0].number[DMANIC_A_STATE] = DMANIC_DEV_REMOVED;
	found(doctor_devices, DOCTOR_PROBLEM, "nic0 is removed (2 of 3");
	strcpy(there[2].model_name, "sci-d330");
	there[2].model[DMANIC_MODEL_A_SCALE] = 10000;
	finding = found(doctor_models, DOCTOR_WARNING,
			"nic2 pretends to be sci-d330, scale 10");
	EXPECT_CONTAINS(finding->remedy, "nicctl dev set fabric nic model none");
}

TEST(engines__used_or_given_back)
{
	const struct finding *finding;

	machine();
	found(doctor_engines, DOCTOR_UNKNOWN, "not checked");
	devices(3);
	there[0].number[DMANIC_A_DMA_STATE] = DMANIC_DMA_USED;
	there[1].number[DMANIC_A_DMA_STATE] = DMANIC_DMA_SLOW;
	found(doctor_engines, DOCTOR_OK, "for 1 of 3 loop devices");
	there[2].number[DMANIC_A_DMA_STATE] = DMANIC_DMA_REMOVED;
	found(doctor_engines, DOCTOR_WARNING, "its driver was removed");
	there[1].number[DMANIC_A_DMA_STATE] = DMANIC_DMA_FAILED;
	finding = found(doctor_engines, DOCTOR_WARNING,
			"of nic1 was given back because it lost copies");
	EXPECT_CONTAINS(finding->text, "2 of 3 devices");
	EXPECT_CONTAINS(finding->remedy, "nicctl dev del nic1");
}

TEST(ether__has_neither_model_nor_engine)
{
	const struct finding *finding;
	size_t i;

	machine();
	devices(2);
	for (i = 0; i < 2; i++) {
		strcpy(there[i].type, "ether");
		*there[i].model_name = '\0';
	}
	found(doctor_models, DOCTOR_OK, "ether devices have none");
	finding = found(doctor_engines, DOCTOR_OK, "ether devices");
	EXPECT(!strstr(finding->text, "0 of"));
	strcpy(there[1].type, "loop");
	strcpy(there[1].model_name, "none");
	found(doctor_models, DOCTOR_OK, "as fast as they can");
	found(doctor_engines, DOCTOR_OK, "for 0 of 1 loop devices");
}

TEST(degraded__worst_of_the_peers)
{
	static struct device peers[3];
	const struct finding *finding;
	size_t i;

	machine();
	devices(1);
	strcpy(there[0].netdev, "eth7");
	memset(peers, 0, sizeof(peers));
	for (i = 0; i < 3; i++) {
		strcpy(peers[i].name, "nic0");
		peers[i].peer[DMANIC_PEER_A_NODE] = i + 1;
		peers[i].peer[DMANIC_PEER_A_MTU] = 1500;
	}
	doctor.peers = (struct devices){ peers, 3, 3 };
	doctor_degraded(&doctor);
	EXPECT_EQ(doctor.n, 0);
	peers[0].peer[DMANIC_PEER_A_DEGRADED] = DMANIC_DEGRADED_UNCUT;
	finding = found(doctor_degraded, DOCTOR_WARNING,
			"large frames of nic0 are lost on the way to node 1");
	EXPECT_CONTAINS(finding->text, "(1 of 3 peers)");
	EXPECT_CONTAINS(finding->remedy, "ethtool -K eth7");
	peers[2].peer[DMANIC_PEER_A_DEGRADED] = DMANIC_DEGRADED_SHORT;
	peers[2].peer[DMANIC_PEER_A_MTU] = 750;
	finding = found(doctor_degraded, DOCTOR_WARNING,
			"longer than 750 bytes are lost on the way to node 3");
	EXPECT_CONTAINS(finding->text, "(2 of 3 peers)");
	EXPECT_CONTAINS(finding->remedy, "smaller MTU than eth7's");
}

TEST(keys__without_one)
{
	const struct finding *finding;

	machine();
	devices(3);
	/* Loop devices have none */
	doctor_keys(&doctor);
	EXPECT_EQ(doctor.n, 0);
	strcpy(there[1].type, "ether");
	strcpy(there[2].type, "ether");
	there[1].number[DMANIC_A_KEY_ID] = 1;
	finding = found(doctor_keys, DOCTOR_WARNING, "nic2 has no key");
	EXPECT_CONTAINS(finding->text, "(1 of 2 ether devices)");
	EXPECT_CONTAINS(finding->remedy, "nicctl dev set nic2 key");
	there[2].number[DMANIC_A_KEY_ID] = 1;
	doctor.n = 0;
	doctor_keys(&doctor);
	EXPECT_EQ(doctor.n, 0);
}

/* Two devices' counters, all zero: the second one's */
static struct device *machine_with_counters(void)
{
	static struct device stats[2];

	machine();
	memset(stats, 0, sizeof(stats));
	strcpy(stats[0].name, "nic0");
	strcpy(stats[1].name, "nic1");
	doctor.stats = (struct devices){ stats, 2, 2 };
	return &stats[1];
}

TEST(keys__forged_frames)
{
	struct device *second = machine_with_counters();
	const struct finding *finding;

	doctor_keys(&doctor);
	EXPECT_EQ(doctor.n, 0);
	second->proto[DMANIC_PROTO_A_FORGED] = 17;
	finding = found(doctor_keys, DOCTOR_WARNING, "17 frames to nic1");
	EXPECT_CONTAINS(finding->remedy, "the same key and key-id");
}

/* A few come of networks, too */
TEST(keys__replayed_frames)
{
	struct device *second = machine_with_counters();
	const struct finding *finding;

	second->proto[DMANIC_PROTO_A_REPLAYED] = 15;
	doctor_keys(&doctor);
	EXPECT_EQ(doctor.n, 0);
	second->proto[DMANIC_PROTO_A_REPLAYED] = 16;
	finding = found(doctor_keys, DOCTOR_WARNING, "16 frames to nic1");
	EXPECT_CONTAINS(finding->remedy, "set its clock right");
}

TEST(limits__fullest)
{
	machine();
	found(doctor_limits, DOCTOR_UNKNOWN, "no answer");
	devices(2);
	found(doctor_limits, DOCTOR_UNKNOWN, "no device can be opened");
	doctor.queried = true;
	doctor.query.max_contexts = 100;
	doctor.query.max_segments = 1000;
	doctor.query.max_queues = 100;
	doctor.query.max_irqs = 100;
	doctor.query.user_share = 4;
	found(doctor_limits, DOCTOR_OK, "one user may have 1/4");
	there[1].number[DMANIC_A_SEGMENTS] = 740;
	there[0].number[DMANIC_A_QUEUES] = 73;
	found(doctor_limits, DOCTOR_OK, "nic1 with 740 of 1000 segments");
	there[0].number[DMANIC_A_QUEUES] = 75;
	found(doctor_limits, DOCTOR_WARNING, "nic0 with 75 of 100 queues");
	there[1].number[DMANIC_A_IRQS] = 100;
	found(doctor_limits, DOCTOR_PROBLEM, "nic1 with 100 of 100 interrupts");
}

TEST(cpus__for_devices)
{
	machine();
	found(doctor_cpus, DOCTOR_UNKNOWN, "not checked");
	put("/sys/devices/system/cpu/online", "0-1,3\n");
	devices(3);
	found(doctor_cpus, DOCTOR_OK, "3 for 3 devices");
	devices(4);
	found(doctor_cpus, DOCTOR_WARNING, "3 for 4 devices");
}

TEST(boot__unit)
{
	machine();
	found(doctor_boot, DOCTOR_OK, "gone after a reboot");
	put("/etc/dmanic.conf", "");
	found(doctor_boot, DOCTOR_WARNING, "nothing reads it");
	put("/etc/systemd/system/multi-user.target.wants/dmanic.service", "");
	found(doctor_boot, DOCTOR_OK, "made at boot");
}

TEST(tracing__on_or_off)
{
	static const char path[] = "/sys/kernel/tracing/events/dmanic/enable";
	char whole[256];

	machine();
	found(doctor_tracing, DOCTOR_OK, "not there");
	put(path, "0\n");
	found(doctor_tracing, DOCTOR_OK, "off");
	put(path, "1\n");
	found(doctor_tracing, DOCTOR_WARNING, "all trace events");
	put(path, "X\n");
	found(doctor_tracing, DOCTOR_WARNING, "some trace events");
	/* as a plain user, whom the folder is closed to */
	if (!geteuid())
		SKIP("root may read everything");
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	chmod(whole, 0);
	found(doctor_tracing, DOCTOR_UNKNOWN, "needs root");
}

TEST(unknown__says_what_is_needed)
{
	machine();
	doctor_unknown(&doctor, "x", "/some/file", -EPERM);
	EXPECT_CONTAINS(doctor.finding[0].text, "not checked: needs root (/some/file)");
	EXPECT_EQ(doctor.finding[0].level, DOCTOR_UNKNOWN);
	doctor_unknown(&doctor, "x", "/some/file", -EIO);
	EXPECT_CONTAINS(doctor.finding[1].text, "Input/output error");
}

TEST(uring__switches_and_features)
{
	machine();
	found(doctor_uring, DOCTOR_OK, "available");
	doctor.uring_errno = ENOSYS;
	found(doctor_uring, DOCTOR_WARNING, "this kernel has none");
	doctor.uring_errno = EPERM;
	put("/proc/sys/kernel/io_uring_disabled", "1\n");
	found(doctor_uring, DOCTOR_WARNING, "not for this user");
	put("/proc/sys/kernel/io_uring_disabled", "2\n");
	found(doctor_uring, DOCTOR_WARNING, "for everybody");
	put("/proc/sys/kernel/io_uring_disabled", "0\n");
	doctor.uring_errno = EFAULT;
	doctor.queried = true;
	found(doctor_uring, DOCTOR_OK, "takes no operations");
	doctor.query.features = DMANIC_FEATURE_URING_CMD;
	found(doctor_uring, DOCTOR_OK, "IORING_OP_POLL_ADD");
	doctor.query.features |= DMANIC_FEATURE_URING_CANCEL;
	found(doctor_uring, DOCTOR_OK, "waited for");
}

TEST(log__complaints_about_us)
{
	machine();
	found(doctor_log, DOCTOR_UNKNOWN, "not checked");
	put("/dev/kmsg", "6,1,0,-;dmanic: hello\n"
	    "4,2,0,-;WARNING: CPU: 0 at net/core/x.c:1\n"
	    "4,3,0,-;Modules linked in: dmanic loop\n"
	    "4,4,0,-; foo+0x1/0x2 [other]\n");
	found(doctor_log, DOCTOR_OK, "no complaint");
	put("/dev/kmsg", "4,2,0,-;BUG: KASAN: slab-out-of-bounds\n"
	    "4,4,0,-; dmanic_x+0x1/0x2 [dmanic]\n"
	    "4,5,0,-; dmanic_y+0x1/0x2 [dmanic]\n"
	    "4,2,0,-;INFO: task x:1 blocked for more than 120 seconds.\n"
	    "4,4,0,-; dmanic_z+0x1/0x2 [dmanic]\n");
	found(doctor_log, DOCTOR_PROBLEM,
	      "times: 2; first: BUG: KASAN: slab-out-of-bounds");
}

/* No check needs anything to be there. */
TEST(all__on_an_empty_machine)
{
	static void (*const checks[])(struct doctor *doctor) = {
		doctor_kernel, doctor_module, doctor_versions, doctor_rule,
		doctor_files, doctor_permission, doctor_memlock, doctor_cgroup,
		doctor_memory, doctor_devices, doctor_models, doctor_engines,
		doctor_limits, doctor_cpus, doctor_boot, doctor_tracing, doctor_uring,
		doctor_log,
	};
	size_t i;

	machine();
	for (i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](&doctor);
	EXPECT_EQ(doctor.n, ARRAY_SIZE(checks));
	for (i = 0; i < doctor.n; i++)
		EXPECT(*doctor.finding[i].text);
}
