// SPDX-License-Identifier: GPL-2.0-only
/*
 * help.c - nicctl help
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nicctl.h"

static const char overview[] =
"Usage: nicctl [OPTION]... OBJECT [COMMAND] [WORD]...\n"
"Make, change, show, watch and remove dmanic devices.\n"
"\n"
"Objects\n"
"  dev      devices: show, add, set, del\n"
"  stats    their counters: show\n"
"  peer     other nodes they know: show\n"
"  monitor  what happens to devices, a line for each event\n"
"  doctor   what is wrong on this machine, and what to do\n"
"  save     a file that makes the devices there are\n"
"  restore  the devices of such a file\n"
"  genkey   a new key for ether devices\n"
"  help     this; nicctl help dev and so on for more, also of model, fault and key\n"
"  version  the version\n"
"\n"
"Options, anywhere on the line\n"
"  -j, --json     print one JSON object, nothing else (monitor: one a line)\n"
"  -h, --help     as help; behind an object: of that\n"
"  -V, --version  as version\n"
"\n"
"Objects, commands and keywords may be shortened while they are unambiguous:\n"
"nicctl de sh nic0; but for fabric behind dev show, set, del and stats, which could\n"
"be the name of a device. Only devices of the own network namespace are seen.\n"
"Changes need root (CAP_NET_ADMIN in the initial user namespace).\n"
"Exit status: 0 done, 1 it failed, 2 usage.\n";

static const char dev[] =
"Usage: nicctl dev [show] [NAME | fabric PREFIX]\n"
"       nicctl dev add PREFIX type loop nodes N [MODEL]\n"
"       nicctl dev add NAME type ether netdev IF [node N] [crc { auto | on | off }]\n"
"                [ethertype 0xNNNN] [dead TIME] [KEY]\n"
"       nicctl dev set { NAME | fabric PREFIX } [MODEL] [failed { on | off }] [FAULT]\n"
"                [KEY]\n"
"       nicctl dev del { NAME | fabric PREFIX } [force]\n"
"       MODEL := [model PRESET] [start TIME] [interrupt TIME] [latency TIME]\n"
"                [bandwidth RATE] [scale X] [jitter TIME] [seed N]\n"
"       FAULT := fault none | fault SEED [drop SHARE] [duplicate SHARE]\n"
"                [corrupt SHARE] [reorder SHARE] [delay TIME]\n"
"       KEY   := key none | key FILE [key-id N]\n"
"\n"
"show  one device in full, those of a fabric, or all, one a line\n"
"      In full it tells the DMA engine of this machine: used, or why the CPU\n"
"      copies instead: none, disabled (module parameter dma=off), measuring (for\n"
"      a moment), slow, failed or removed.\n"
"add   a fabric of N devices (at most 256) PREFIX0, PREFIX1, ... that reach\n"
"      each other in the memory of this machine. They appear in /dev/dmanic.\n"
"      Or one device NAME on the network device IF: the node N of those that reach\n"
"      each other over Ethernet. It goes with IF, and when that moves to another\n"
"      network namespace. PREFIX and NAME have 1 to 28 characters: letters, digits\n"
"      and, behind the first, hyphens, underscores and dots.\n"
"set   a device or a fabric: all that is asked for, or nothing\n"
"del   a device or a fabric. One in use is refused, unless forced: then what\n"
"      its users have in flight fails, and so does what they do later.\n"
"\n"
"A MODEL is what a loop device pretends to cost; without one it moves data at\n"
"the speed of memory.\n"
"  model      preset that the rest of the line changes: none (no cost), sci-d330\n"
"             (the paper's card, see Documentation/tile.rst) or eth-25g\n"
"             (Ethernet of 25 Gbit/s)\n"
"  start      what the poster spends on a doorbell with data\n"
"  interrupt  what the poster spends on a doorbell with notifies only, and\n"
"             again until they are delivered\n"
"  latency    from the engine to the target\n"
"  bandwidth  bytes a second through the engine of one node; 0: as memory\n"
"  scale      stretches all these times: 10 is ten times slower\n"
"  jitter     each transfer takes up to this much longer, by chance\n"
"  seed       of that chance, so that it can be repeated\n"
"Of an ether device\n"
"  netdev     the network device; its MTU must be at least 544\n"
"  node       its id, another one on each node: the number that NAME ends with\n"
"  crc        checksums of data: on, off, or auto (the default): where hardware\n"
"             is below, or behind the bridge that a veth leads to, and there is no\n"
"             key. Only where both nodes have it on.\n"
"  ethertype  of its frames: 0x88b5\n"
"  dead       a node that says nothing for so long is dead: 2s\n"
"\n"
"A FAULT is what happens on purpose to frames on their way to an ether device, to\n"
"see how programs bear it. Each set replaces all of it.\n"
"  fault      none, or a number: the same frames meet the same faults again\n"
"  drop       the SHARE of them that is lost: 0.5%\n"
"  duplicate  that comes twice\n"
"  corrupt    that has a wrong bit; in data it stays unseen without crc\n"
"  delay      all are so much late, but for\n"
"  reorder    the SHARE that is not, and passes others\n"
"\n"
"A KEY is what all nodes that reach each other know, and nobody else: with one, frames\n"
"of who does not know it are dropped. Connections are made anew when it is set.\n"
"  key        FILE with 32 hexadecimal digits (nicctl genkey) that only its owner can\n"
"             read, - for standard input, or none. Nobody is told it again.\n"
"  key-id     a number for it, the same on all nodes: 1. Another one for the next key\n"
"             tells the two apart.\n"
"\n"
"failed on lets a node stop answering; off restarts it.\n"
"\n"
"TIME takes ns, us, ms or s; RATE takes k, M, G (1024 each).\n"
"\n"
"Example: nine nodes with the paper's card, ten times slower\n"
"       nicctl dev add nic type loop nodes 9 model sci-d330 scale 10\n"
"Example: node 3 on eth0 (as a rank of nicrun finds it: device nic3)\n"
"       nicctl dev add nic3 type ether netdev eth0\n";

static const char peer[] =
"Usage: nicctl peer [show] [NAME]\n"
"\n"
"Other nodes that ether devices know, all or those of one device\n"
"  PEER         node id\n"
"  STATE        open: connected; opening, paired: about to be; closed; degraded: long\n"
"               frames get lost on the way; refuses: it lets this node not connect\n"
"  ADDRESS      MAC address\n"
"  MTU          longest frame of both\n"
"  FRAME        longest frame handed to the network device, which may cut it\n"
"  CARRIED      longest piece in which a test frame arrived there\n"
"  CAME         longest frame of data, or test frame, that came from it\n"
"  CRC          data have checksums\n"
"  RTT          round trip\n"
"  WINDOW       bytes that may be under way to it\n"
"  INCARNATION  another one after it restarted\n";

static const char stats[] =
"Usage: nicctl stats [show] [NAME | fabric PREFIX]\n"
"\n"
"Counters of one device, those of a fabric, or all, since they were made\n"
"  POSTED         entries the device accepted\n"
"  COMPLETED      operations that ended well\n"
"  FAILED         operations that ended otherwise\n"
"  WRITTEN        bytes its writes placed on other nodes\n"
"  READ           bytes its reads fetched from other nodes\n"
"  NOTIFIES SENT  interrupts it raised on other nodes\n"
"  RAISED         interrupts of its own that were raised\n"
"  REFUSED        accesses of other nodes it refused: key, rights, bounds\n"
"  DOORBELLS      how often entries were taken from a ring: by ENTER, by an ENTER\n"
"                 of an io_uring or by a polling thread; not operations that\n"
"                 an io_uring posted\n"
"  ATOMICS        atomic operations done for it\n"
"  BY DMA         bytes of its operations that a DMA engine copied\n"
"  FALLBACKS      pieces that the engine failed and the CPU copied\n"
"Ether devices have counters of their protocol, too.\n";

static const char monitor[] =
"Usage: nicctl monitor [dev NAME | fabric PREFIX] [count N] [timeout TIME]\n"
"\n"
"Print what happens to devices of this network namespace, a line for each event\n"
"with the time (UTC), until SIGINT or SIGTERM: added, removed, model (it was\n"
"set), failed, restarted; of an ether device link-down, link-up, and of a peer\n"
"peer-up, -down, -restarted, -refused, -rival, -degraded, -restored. Only the device NAME, or\n"
"those of a fabric, when one is named. Where lines are read too slowly events are\n"
"lost; that is told, and then each device there is now (present).\n"
"\n"
"count N       end after N events\n"
"timeout TIME  end after TIME (seconds, or with ns, us, ms or s: 60, 500ms);\n"
"              status 1 when fewer than count N events came\n"
"\n"
"With --json each line is an object: time, event, and the members of dev show; of a\n"
"peer also peer, its node id.\n";

static const char doctor[] =
"Usage: nicctl doctor\n"
"\n"
"Look at what dmanic needs of this machine and user - kernel, module, devices,\n"
"permissions, limits, settings - and print for each whether it is\n"
"  ok       as it should be\n"
"  warning  it works, but not as one may expect\n"
"  PROBLEM  something does not work; what to do follows\n"
"  unknown  not checked, since that needs root or something that is missing\n"
"Run it as the user who has the problem; as root it sees more of the machine.\n"
"Exit status: 0 no problem, 1 there is one, 2 usage.\n";

static const char save[] =
"Usage: nicctl save [FILE]\n"
"\n"
"Write what makes the devices of this network namespace again, with their\n"
"settings, to FILE or standard output. A regular file is replaced in one step, also\n"
"one that FILE is a link to; into a device or FIFO is written. The file has a\n"
"command a line, as after nicctl, and can be edited:\n"
"       dev add nic type loop nodes 9 model sci-d330 scale 10\n"
"       dev set nic3 model none latency 5us\n"
"       dev del nic8\n"
"Whether a device failed is not saved, and no faults of its wire. A key cannot be read\n"
"back: for nic0 the file says key /etc/dmanic/nic0.key, which has to have it.\n"
"\n"
"Example: have the devices after a reboot, too\n"
"       nicctl save /etc/dmanic.conf && systemctl enable --now dmanic\n";

static const char genkey[] =
"Usage: nicctl genkey\n"
"\n"
"Print a new key for ether devices, of random digits. It is to be the same on all\n"
"nodes, and in files that only root can read:\n"
"       (umask 077; mkdir -p /etc/dmanic; nicctl genkey >/etc/dmanic/nic0.key)\n"
"       nicctl dev set nic0 key /etc/dmanic/nic0.key\n";

static const char restore[] =
"Usage: nicctl restore FILE\n"
"\n"
"Make the devices of a FILE of nicctl save; -: of standard input. A fabric that\n"
"is there already is left alone, but for models that differ, which are set. One\n"
"that is there with other nodes or settings is an error, and so is a line that makes no\n"
"sense; then nothing is changed. What the driver refuses later undoes what was\n"
"done, and so does a signal that ends it. Devices that are not in FILE stay. One\n"
"restore runs at a time; another is refused.\n";

static const struct {
	const char *topic;
	const char *text;
} texts[] = {
	{ "dev", dev },
	{ "stats", stats },
	{ "peer", peer },
	{ "monitor", monitor },
	{ "doctor", doctor },
	{ "save", save },
	{ "restore", restore },
	{ "genkey", genkey },
	{ "model", dev },
	{ "fault", dev },
	{ "key", dev },
};

bool help_has(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strncmp(texts[i].topic, word, strlen(word)))
			return true;
	return false;
}

void help_print(const char *topic, FILE *file)
{
	size_t i;

	for (i = 0; topic && i < ARRAY_SIZE(texts); i++)
		if (!strcmp(texts[i].topic, topic))
			break;
	fputs(topic && i < ARRAY_SIZE(texts) ? texts[i].text : overview, file);
}

int help_topic(struct nicctl *ctl, const char *topic)
{
	if (args_end(&ctl->args))
		return nicctl_usage(ctl, topic);
	ctl->json = false;
	help_print(topic, stdout);
	return EXIT_SUCCESS;
}

/* The last of the topics with commands */
#define TOPIC_SHOWN	2

int help_run(struct nicctl *ctl)
{
	static const char *const topics[] = {
		"dev", "stats", "peer", "monitor", "doctor", "save", "restore", "genkey",
		"model", "fault", "key", NULL
	};
	/* Which are in the text of their object */
	static const char *const commands[] = { "show", "add", "set", "del", NULL };
	static const char *const show[] = { "show", NULL };
	const char *topic = NULL;
	int chosen;

	if (args_peek(&ctl->args)) {
		chosen = args_choose(&ctl->args, "topic", topics);
		if (chosen < 0)
			return nicctl_usage(ctl, NULL);
		topic = topics[chosen];
		if (chosen <= TOPIC_SHOWN && args_peek(&ctl->args) &&
		    args_choose(&ctl->args, "command", chosen ? show : commands) < 0)
			return nicctl_usage(ctl, topic);
	}
	return help_topic(ctl, topic);
}
