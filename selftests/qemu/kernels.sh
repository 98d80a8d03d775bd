# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Owns: which kernels there are and where each one's parts lie. Sourced.
# Outside the repository, in the cache: <cache>/6.1 and /6.12 (boot/ and lib/
# of Debian's image package; headers/, its header packages, unless the same are
# installed; version, its release and version) and <cache>/debug/source.

# Debian leaves these out for who is not root; depmod and modprobe are there
export PATH=$PATH:/usr/sbin:/sbin

cache=$(realpath -m "${DMANIC_CACHE:-/var/cache/dmanic}")

# Debian's meta package that follows the newest headers of a series.
kernel_meta() { # 6.1|6.12
	case $1 in
	6.1) echo linux-headers-amd64 ;;
	6.12) echo linux-headers-6.12-amd64 ;;
	esac
}

# Sets release, image, kdir (what modules are built against) and moddir (the
# kernel's own modules; empty when all is built in). The error says what to do.
# shellcheck disable=SC2034 # read by those who source this
kernel_find() { # 6.1|6.12|debug
	local me=${0##*/}
	case $1 in
	6.1 | 6.12)
		release=
		{ read -r release _ <"$cache/$1/version"; } 2>/dev/null || {
			echo "$me: no kernel $1 in $cache: run" \
				"selftests/setup as root" >&2
			return 1
		}
		image=$cache/$1/boot/vmlinuz-$release
		moddir=$cache/$1/lib/modules/$release
		for kdir in "$cache/$1/headers/usr/src/linux-headers-$release" \
			"/lib/modules/$release/build" \
			"/usr/src/linux-headers-$release"; do
			[ ! -e "$kdir/Makefile" ] || break
		done
		[ -e "$image" ] && [ -e "$kdir/Makefile" ] || {
			echo "$me: kernel $release or its headers are missing" \
				"(looked in $cache/$1 and $kdir): run" \
				"selftests/setup as root" >&2
			return 1
		}
		;;
	debug)
		moddir=
		kdir=$cache/debug/source
		image=$kdir/arch/x86/boot/bzImage
		[ -e "$image" ] && [ -e "$cache/debug/stamp" ] || {
			echo "$me: no debug kernel in $cache/debug: run" \
				"selftests/qemu/debug-kernel (15 minutes)" >&2
			return 1
		}
		release=$(cat "$kdir/include/config/kernel.release")
		;;
	*)
		echo "$me: unknown kernel '$1': choose 6.1, 6.12 or debug" >&2
		return 2
		;;
	esac
}
