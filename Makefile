# SPDX-License-Identifier: GPL-2.0-only
# Owns: how the module, the library, the tools and the tests are built and
# installed. Nothing is built beside a source: build/user/ holds the user
# space, build/native/ the unit tests with sanitizers, and
# build/modules/<release>/ a tree of links for one kernel.
#
#   make                 user space, and the module when KDIR is there
#   make user            libnic and the tools
#   make tests           the programs that test the driver, libnic and tools
#   make modules KDIR=…  dmanic.ko for the kernel whose headers are in KDIR
#   make check           native unit tests (T="pattern…" for some of them);
#                        make units only builds them
#   make sim             the simulator, optimized: build/user/sim
#   make fuzz            the fuzzers (needs clang): build/fuzz/
#   make style           every static check
#   make install         DESTDIR=, PREFIX=; modules_install for dmanic.ko,
#                        INSTALL_MOD_STRIP=1 without its debug information
#   make uninstall       what both put there; the group dmanic stays
#   make clean           V=1 shows every command
#   make help            prints this

VERSION	:= 0.1.0
SOVERSION := 1

PREFIX	?= /usr/local
BINDIR	?= $(PREFIX)/bin
LIBDIR	?= $(PREFIX)/lib
INCDIR	?= $(PREFIX)/include
MANDIR	?= $(PREFIX)/share/man
UDEVDIR	?= $(if $(filter /usr,$(PREFIX)),/usr/lib,/etc)/udev/rules.d
UNITDIR	?= $(if $(filter /usr,$(PREFIX)),/usr/lib,/etc)/systemd/system

KDIR	?= /lib/modules/$(shell uname -r)/build
BUILD	?= build
STRIP	?= strip

# Of users, and of root after su, Debian leaves out where depmod and ldconfig are
export PATH := $(PATH):/usr/sbin:/sbin

colon	:= :
ifneq ($(word 2,$(BUILD))$(findstring $(colon),$(BUILD)),)
$(error BUILD=$(BUILD) has a space or a colon in it, which make cannot build in: name another folder)
endif

MAKEFLAGS += --no-print-directory
Q	:= $(if $(filter 1,$(V)),,@)
say	 = @printf '  %-7s %s\n' $(1) "$(2)"

all: user

.PHONY: all user tests units sim fuzz modules check style install \
	modules_install uninstall clean help FORCE
FORCE:
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

# ---- what is built ----------------------------------------------------------

libnic-y += libnic/core/device.o
libnic-y += libnic/core/error.o
libnic-y += libnic/core/interrupt.o
libnic-y += libnic/core/map.o
libnic-y += libnic/core/news.o
libnic-y += libnic/core/queue.o
libnic-y += libnic/core/post.o
libnic-y += libnic/core/segment.o
libnic-y += libnic/core/uring.o
libnic-y += libnic/comm/barrier.o
libnic-y += libnic/comm/launcher.o
libnic-y += libnic/comm/team.o
libnic-y += libnic/tile/grid.o
libnic-y += libnic/tile/model.o
libnic-y += libnic/tile/plan.o
libnic-y += libnic/tile/point.o
libnic-y += libnic/tile/run.o
libnic-y += libnic/tile/schedule.o
libnic-y += libnic/tile/sequence.o
libnic-y += libnic/tile/tile.o

# A tool is the folder tools/<name>/, with what all share in tools/common/.
tools-y += nicctl
tools-y += nicperf
tools-y += nictile
tools-y += nicrun

# ---- how --------------------------------------------------------------------

CC	?= cc
AR	?= ar
CFLAGS	?= -O2 -g
warnings += -Wall
warnings += -Wextra
warnings += -Wshadow
warnings += -Wstrict-prototypes
warnings += -Wmissing-prototypes
# Values must not depend on what the compiler fuses.
cflags	:= -std=gnu11 -ffp-contract=off $(warnings) -D_GNU_SOURCE -fPIC
cppflags := -Iuapi -Ilibnic/include -I. -DDMANIC_VERSION=$(VERSION)
ldflags	:= -Wl,--as-needed
libs	:= -lmnl -lcjson -luring -lm -lpthread
# What tests of the driver's pure files include instead of the kernel's headers
shim	:= -Iselftests/native/shim
sanitize := -fsanitize=address,undefined -fno-sanitize-recover=all

user	:= $(BUILD)/user
native	:= $(BUILD)/native

# Sources of a list that are there already; of a folder and one level below.
there	 = $(patsubst %.c,%.o,$(wildcard $(patsubst %.o,%.c,$(1))))
under	 = $(patsubst %.c,%.o,$(wildcard $(1)/*.c $(1)/*/*.c))
# The words after "Sources:" or "Flags:" in the head comment of a test.
named	 = $(shell sed -n 's,^ \* $(2): *,,p' $(1))

libnic-o := $(addprefix $(user)/,$(call there,$(libnic-y)))
libnic-a := $(if $(libnic-o),$(user)/libnic.a)
libnic-so := $(if $(libnic-o),$(user)/libnic.so)
libnic-map := $(wildcard libnic/libnic.map)
tools	:= $(foreach t,$(tools-y),$(if $(call under,tools/$(t)),$(t)))
tests	:= $(basename $(wildcard selftests/kernel/test_*.c \
	selftests/user/test_*.c))
units	:= $(basename $(notdir $(wildcard selftests/native/test_*.c)))

# What is missing on this machine, all of it at once, and told before the
# compiler says it in its way: HEADER:PACKAGE, of Debian.
libraries += stdio.h:libc6-dev
libraries += libmnl/libmnl.h:libmnl-dev
libraries += cjson/cJSON.h:libcjson-dev
libraries += liburing.h:liburing-dev
.PHONY: needs
needs:
	@command -v $(firstword $(CC)) >/dev/null || { echo "make: there is no" \
		"compiler $(firstword $(CC)): install one (Debian:" \
		"apt-get install gcc libc6-dev), or name it with CC=" >&2; exit 1; }
	@missing=; for library in $(libraries); do \
		echo "#include <$${library%:*}>" | $(CC) $(CPPFLAGS) -E \
			-o /dev/null -x c - 2>/dev/null || \
			missing="$$missing $${library#*:}"; \
	done; [ -z "$$missing" ] || { echo "make: libraries are missing, or their" \
		"headers: apt-get install$$missing (Debian's names)" >&2; exit 1; }
	@for folder in $(BUILD) $(user) $(native); do \
		[ ! -e $$folder ] || [ -w $$folder ] || { echo "make: user" \
			"$$(id -un) may not write to $$folder: if root built there:" \
			"sudo chown -R $$(id -un) $(BUILD); or BUILD= names another" \
			"folder" >&2; exit 1; }; \
	done

user: $(libnic-a) $(libnic-so) $(addprefix $(user)/,$(tools))
tests: user $(addprefix $(user)/,$(tests)) $(user)/selftests/user/example \
	$(user)/selftests/user/uring-chain $(user)/exchange $(user)/neighbor \
	$(user)/fuzz-calls $(user)/cable
units: $(addprefix $(native)/,$(units)) $(native)/sim
sim: $(user)/sim

# Objects are built again when the compiler or its flags change.
$(user)/flags: flags = $(CC) $(CPPFLAGS) $(CFLAGS) $(cflags) $(cppflags)
$(native)/flags: flags = $(CC) $(CPPFLAGS) $(CFLAGS) $(cflags) $(cppflags) \
	$(sanitize) $(shim)
$(user)/flags $(native)/flags: FORCE | needs
	@mkdir -p $(@D)
	@echo '$(flags)' | cmp -s - $@ || echo '$(flags)' >$@

$(user)/%.o: %.c $(user)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(cflags) $(cppflags) -MMD -MP \
		-c -o $@ $<

# The protocol, its simulator and its tests, over the shim, in either folder
proto-o	:= $(patsubst %.c,%.o,$(wildcard driver/proto/*.c))
sim-o	:= $(proto-o) $(patsubst %.c,%.o,$(wildcard selftests/sim/*.c))
$(native)/driver/%.o $(native)/selftests/native/test_link_%.o \
$(native)/selftests/native/test_proto_%.o $(native)/selftests/sim/%.o \
$(user)/driver/%.o $(user)/selftests/sim/%.o $(user)/selftests/fuzz/neighbor%: \
	cppflags := $(shim) $(cppflags)
$(native)/%.o: %.c $(native)/flags
	$(call say,CC,$< [sanitized])
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(cflags) $(cppflags) $(sanitize) \
		-MMD -MP -c -o $@ $<

$(user)/libnic.a: $(libnic-o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(user)/libnic.so.$(SOVERSION): $(libnic-o) $(libnic-map)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(ldflags) -shared -Wl,-z,defs \
		-Wl,-soname,libnic.so.$(SOVERSION) \
		$(libnic-map:%=-Wl,--version-script=%) \
		-o $@ $(libnic-o) -lm -lpthread

$(user)/libnic.so: $(user)/libnic.so.$(SOVERSION)
	$(Q)ln -sf libnic.so.$(SOVERSION) $@

link	 = $(CC) $(CFLAGS) $(LDFLAGS) $(ldflags) -o $@ \
	$(filter %.o,$^) $(filter %.a %.so,$^) $(test-flags) $(libs)

define tool-rule
$(user)/$(1): $(addprefix $(user)/,$(call under,tools/$(1)) \
		$(call under,tools/common)) $(libnic-a)
	$$(call say,LD,$$@)
	$$(Q)$$(link)
endef

# A test of the driver, or of user space on it, has the objects it names, the
# harness, and what stands beside it that is not a test itself.
beside	 = $(call there,$(filter-out $(1)/test_%,\
	$(patsubst %.c,%.o,$(wildcard $(1)/*.c))))
define test-rule
$(user)/$(1): test-flags := $(call named,$(1).c,Flags)
$(user)/$(1): $(patsubst %.c,$(user)/%.o,$(1).c \
		$(call named,$(1).c,Sources)) $(addprefix $(user)/,$(sort \
		$(call beside,selftests/kernel) \
		$(call beside,$(patsubst %/,%,$(dir $(1)))))) $(libnic-a)
	$$(call say,LD,$$@)
	$$(Q)$$(link)
endef

# The program of README.md, as README.md builds it
$(user)/selftests/user/example: Documentation/examples/put.c $(libnic-a)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(warnings) -Ilibnic/include -o $@ \
		$< $(libnic-a)

$(user)/selftests/user/uring-chain: Documentation/examples/uring-chain.c \
		$(libnic-a)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(warnings) -Ilibnic/include -o $@ \
		$< $(libnic-a) -luring

# Ranks for the tests over networks, where nicrun and they find it
$(user)/exchange: $(addprefix $(user)/,$(filter-out selftests/net/cable/%, \
		$(call under,selftests/net)) tools/common/size.o) $(libnic-so)
	$(call say,LD,$@)
	$(Q)$(link)

# What connects two taps
$(user)/cable: $(user)/selftests/net/cable/cable.o
	$(call say,LD,$@)
	$(Q)$(link)

# Who sends them frames that no node would
neighbor-o := neighbor.o neighbor_frames.o neighbor_member.o
$(user)/neighbor: $(addprefix $(user)/selftests/fuzz/,$(neighbor-o)) $(addprefix $(user)/,$(proto-o))
	$(call say,LD,$@)
	$(Q)$(link)

# Who calls the driver as no program would
$(user)/fuzz-calls: test-flags := -lmnl -luring -lpthread
$(user)/fuzz-calls: $(addprefix $(user)/,$(call under,selftests/fuzz/calls))
	$(call say,LD,$@)
	$(Q)$(link)

define unit-rule
$(native)/$(1): test-flags := $(sanitize) \
	$(call named,selftests/native/$(1).c,Flags)
$(native)/$(1): $(patsubst %.c,$(native)/%.o,selftests/native/$(1).c \
		$(call named,selftests/native/$(1).c,Sources))
	$$(call say,LD,$$@)
	$$(Q)$$(link)
endef

$(native)/sim: test-flags := $(sanitize)
$(native)/sim: $(addprefix $(native)/,$(sim-o))
	$(call say,LD,$@)
	$(Q)$(link)

$(user)/sim: $(addprefix $(user)/,$(sim-o))
	$(call say,LD,$@)
	$(Q)$(link)

# Fuzzers are built by clang, whole: objects of gcc know nothing of coverage. They may
# do little work for a frame, so that short ones are placed in parts, too.
FUZZ_CC	?= clang
fuzz	:= $(BUILD)/fuzz
fuzzers	:= $(basename $(notdir $(wildcard selftests/fuzz/fuzz_*.c)))
fuzz: $(addprefix $(fuzz)/,$(fuzzers))
.PHONY: needs-clang
needs-clang:
	@echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o /dev/null -x c - 2>/dev/null || \
		{ echo "make: $(FUZZ_CC) builds no fuzzers: install clang (Debian:" \
		"apt-get install clang), or name it with FUZZ_CC=" >&2; exit 1; }
$(fuzz)/%: fuzz-with := $(wildcard driver/proto/*.c)
$(fuzz)/fuzz_netlink: fuzz-with := -Iselftests/fuzz/shim -Idriver/link
$(fuzz)/fuzz_netlink: $(wildcard driver/netlink*.[ch] driver/link/*.h \
		selftests/fuzz/shim/*.h selftests/fuzz/shim/net/*.h)
$(fuzz)/%: selftests/fuzz/%.c $(wildcard driver/proto/*.[ch] selftests/fuzz/*.h \
		selftests/native/proto_pair.h) | needs-clang
	$(call say,CLANG,$@)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -O1 -g -std=gnu11 $(warnings) -fno-sanitize-recover=all \
		-fsanitize=fuzzer,address,undefined $(filter -I%,$(fuzz-with)) \
		$(shim) $(cppflags) -DDMANIC_WORK=200U -o $@ $< $(filter %.c,$(fuzz-with))

$(foreach t,$(tools),$(eval $(call tool-rule,$(t))))
$(foreach t,$(tests),$(eval $(call test-rule,$(t))))
$(foreach t,$(units),$(eval $(call unit-rule,$(t))))

-include $(shell find $(user) $(native) -name '*.d' 2>/dev/null)

# ---- the module -------------------------------------------------------------

# The release names the build folder. (Debian's kernel.release holds another.)
uts	 = include/generated/utsrelease.h
release	 = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/$(uts) \
	2>/dev/null)
modules	 = $(BUILD)/modules/$(release)
kbuild	 = $(MAKE) -C $(KDIR) CONFIG_DEBUG_INFO_BTF_MODULES=

# A KDIR that was named is meant: without a kernel there it is an error.
ifneq ($(wildcard $(KDIR)/$(uts))$(filter-out file,$(origin KDIR)),)
all: modules
else
all: no-modules
.PHONY: no-modules
no-modules: user
	@echo "make: dmanic.ko not built: no kernel headers in $(KDIR);" \
		"install them (Debian: linux-headers-$$(uname -r))," \
		"or give another KDIR"
endif

# What kbuild could not do, told before anything is built: it splits paths at
# spaces and colons, and says so in words of its own.
modules-at := $(if $(filter /%,$(BUILD)),$(BUILD),$(CURDIR)/$(BUILD))
modules-check = $(if $(word 2,$(modules-at))$(findstring $(colon),\
	$(modules-at)),$(error the kernel builds no module below a path with \
	spaces or colons, $(modules-at): move the checkout, or name another \
	folder with BUILD=))$(if $(release),,$(error KDIR=$(KDIR) \
	has no kernel build tree$(if $(wildcard $(KDIR)/.),,: it does not exist); \
	install its headers (Debian: apt-get install \
	linux-headers-$(shell uname -r)), or name another KDIR))

# Folders are real, files are links: kbuild then writes beside the links, and
# only what changed is built again. Links whose file is gone are removed.
modules: FORCE
	$(modules-check)
	@selftests/mirror $(modules) Kbuild driver uapi
	+$(Q)$(kbuild) M=$(abspath $(modules)) modules
	@selftests/mirror $(modules)/selftests/kernel/modules \
		-C selftests/kernel/modules .
	+$(Q)[ ! -e $(modules)/selftests/kernel/modules/Kbuild ] || \
		$(kbuild) M=$(abspath $(modules)/selftests/kernel/modules) \
		KBUILD_EXTRA_SYMBOLS=$(abspath $(modules)/Module.symvers) \
		modules

# ---- checks -----------------------------------------------------------------

check: units
	@selftests/native/run-all $(native) $(T)

style:
	@selftests/style

# ---- installation -----------------------------------------------------------

headers	:= $(wildcard libnic/include/*.h)
headers-uapi := $(wildcard uapi/linux/*.h)
ko	:= updates/dmanic.ko
# Where /lib is a link the folder it points to: who unpacks DESTDIR in / keeps the link. That is
# of this machine: where DESTDIR is the root of one without that link, moddir=/lib/modules
moddir	:= $(or $(realpath /lib),/lib)/modules

# What a user may not write, told before anything is built or installed
.PHONY: may-install may-install-modules
may-write = @for folder in $(1); do \
		while [ ! -e "$$folder" ]; do folder=$$(dirname "$$folder"); done; \
		[ -w "$$folder" ] || { echo "make:" \
			"user $$(id -un) may not write to $$folder:" \
			"sudo make $(MAKECMDGOALS)," \
			"or DESTDIR= to put all below another folder" >&2; exit 1; }; \
	done
may-install:
	$(if $(filter-out /%,$(firstword $(PREFIX))),$(error PREFIX=$(PREFIX) is not an absolute path))
	$(call may-write,"$(DESTDIR)$(LIBDIR)" "$(DESTDIR)$(INCDIR)" \
		"$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(MANDIR)" \
		"$(DESTDIR)$(UDEVDIR)" "$(DESTDIR)$(UNITDIR)")
may-install-modules:
	$(if $(release),$(call may-write,"$(DESTDIR)$(moddir)/$(release)"))
	@[ -n "$(DESTDIR)" ] || command -v depmod >/dev/null || { echo "make: there is no" \
		"depmod, without which no module is found: install it (Debian:" \
		"apt-get install kmod)" >&2; exit 1; }

# With modules_install nothing is installed unless there is a module.
install: may-install user $(if $(filter modules_install,$(MAKECMDGOALS)),| modules)
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)install -d "$(DESTDIR)$(LIBDIR)/pkgconfig" "$(DESTDIR)$(UDEVDIR)" \
		"$(DESTDIR)$(INCDIR)/linux" "$(DESTDIR)$(BINDIR)" \
		"$(DESTDIR)$(UNITDIR)"
	$(Q)install -m 755 $(user)/libnic.so.$(SOVERSION) "$(DESTDIR)$(LIBDIR)"
	$(Q)ln -sf libnic.so.$(SOVERSION) "$(DESTDIR)$(LIBDIR)/libnic.so"
	$(Q)install -m 644 $(user)/libnic.a "$(DESTDIR)$(LIBDIR)"
	$(Q)install -m 644 $(headers) "$(DESTDIR)$(INCDIR)"
	$(Q)install -m 644 $(headers-uapi) "$(DESTDIR)$(INCDIR)/linux"
	$(Q)pc="$(DESTDIR)$(LIBDIR)/pkgconfig/libnic.pc"; \
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@INCDIR@|$(INCDIR)|' -e 's|@VERSION@|$(VERSION)|' \
		libnic/libnic.pc.in >"$$pc" && chmod 644 "$$pc"
	$(Q)install -m 755 $(addprefix $(user)/,$(tools)) "$(DESTDIR)$(BINDIR)"
	$(Q)tools/man/install "$(DESTDIR)$(MANDIR)"
	$(Q)install -m 644 driver/60-dmanic.rules "$(DESTDIR)$(UDEVDIR)"
	$(Q)unit="$(DESTDIR)$(UNITDIR)/dmanic.service"; \
	sed -e 's|@BINDIR@|$(BINDIR)|' tools/nicctl/dmanic.service >"$$unit" && \
		chmod 644 "$$unit"
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	@[ -n "$(DESTDIR)" ] || getent group dmanic >/dev/null || \
		groupadd --system dmanic || echo "make: no group dmanic:" \
		"groupadd --system dmanic, then add its users" >&2

modules_install: may-install-modules modules
	$(call say,INSTALL,$(DESTDIR)$(moddir)/$(release)/$(ko))
	$(Q)install -D -m 644 $(modules)/dmanic.ko \
		"$(DESTDIR)$(moddir)/$(release)/$(ko)"
	$(Q)[ -z "$(INSTALL_MOD_STRIP)" ] || $(STRIP) --strip-debug \
		"$(DESTDIR)$(moddir)/$(release)/$(ko)"
	$(Q)[ -n "$(DESTDIR)" ] || depmod $(release)

# Of every kernel, for who knows which were booted. DKMS has its own. The group
# stays, since files and users may refer to it, and what the user wrote.
uninstall: may-install may-install-modules
	$(call say,REMOVE,$(DESTDIR)$(PREFIX))
	$(Q)for name in libnic.so libnic.so.$(SOVERSION) libnic.a \
		pkgconfig/libnic.pc; do rm -f "$(DESTDIR)$(LIBDIR)/$$name"; done
	$(Q)for name in $(notdir $(headers)) \
		$(addprefix linux/,$(notdir $(headers-uapi))); \
		do rm -f "$(DESTDIR)$(INCDIR)/$$name"; done
	$(Q)for name in $(tools-y); do rm -f "$(DESTDIR)$(BINDIR)/$$name"; done
	$(Q)tools/man/install --remove "$(DESTDIR)$(MANDIR)"
	$(Q)rm -f "$(DESTDIR)$(UDEVDIR)/60-dmanic.rules" \
		"$(DESTDIR)$(UNITDIR)/dmanic.service"
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	$(Q)for file in "$(DESTDIR)$(moddir)"/*/$(ko); do \
		[ -e "$$file" ] || continue; \
		printf '  %-7s %s\n' REMOVE "$$file"; \
		rm -f "$$file" || exit; \
		release=$${file%/$(ko)}; \
		[ -n "$(DESTDIR)" ] || depmod "$${release##*/}" || exit; \
	done

clean:
	$(call say,CLEAN,$(BUILD))
	$(Q)rm -rf $(BUILD) 2>/dev/null || { echo "make: user $$(id -un) may not remove all" \
		"of $(BUILD): if root built there: sudo make clean" >&2; exit 1; }

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))
