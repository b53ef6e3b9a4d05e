# SPDX-License-Identifier: GPL-2.0
# Every verb of this repository; the work is done by the scripts.

PYTHON ?= python3
PYTHONS = accepted: Python 3.11 or newer
SCRIPT = $(PYTHON) harness/cli.py
# Bytecode stays out of the source folders.
export PYTHONDONTWRITEBYTECODE = 1

# What a user may set, handed to the scripts as environment.
VARIABLES = KERNEL KERNEL_URL KERNEL_SHA256 BASE TOPIC MEM CPUS SUITES APPEND QUICK LONG \
	FORCE CONFIG FLAVOUR DEBUG PREFIX DESTDIR RESULTS KEEP TESTS ARCH SEED LTP V
export $(VARIABLES)
# Make ignores a misspelt name.  Variables of a make that calls this one are not checked.
GIVEN = $(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name)))
UNKNOWN := $(if $(MAKELEVEL:0=),,$(filter-out $(VARIABLES) PYTHON ACCEL SHELL MAKEFLAGS %_proxy,$(GIVEN)))

.PHONY: help python setup tree export mail check-series check-bases kernel deb boot shell \
	kunit lint test test-long test-arch test-machine bench bench-compare report \
	install-tools uninstall-tools clean distclean
.NOTPARALLEL:
.SUFFIXES:
# A script's one line is enough; make's own echo of the command is not wanted.
.SILENT:

help:
	echo "boothash: hash tables of Linux, sized at boot and shown in /proc/hashstats"
	echo
	echo "  make boot          build the patched kernel, boot it in QEMU, run a short load,"
	echo "                     show the tables before and after it, power off"
	echo "  make shell         the same kernel with a prompt instead"
	echo "  make kunit         run the KUnit suites in one guest and show the kernel's report"
	echo "  make test          everything that CI runs"
	echo "  make lint          its first stage: ruff, mypy, codespell and shellcheck, silent if fine"
	echo "  make test-long     sanitizer kernels, stress, every memory size, unusual and random"
	echo "                     configurations, test-arch, test-machine"
	echo "  make test-arch     its part for other architectures: build each kernel, boot it in"
	echo "                     QEMU (riscv64: build only)"
	echo "  make test-machine  packages of make deb FLAVOUR=cloud in a Debian machine: boot,"
	echo "                     load, sizes, reboot, removal; as root, an hour or two"
	echo
	echo "  make tree          compose base + series + new files into a git tree in build/"
	echo "  make export        write that tree's commits back to patches/ and the new files"
	echo "  make mail          write the mail set of each topic, and check that the mails give"
	echo "                     the composed tree"
	echo "  make check-series  check that exactly one patch adds each file, that patches and"
	echo "                     topics apply, and white space"
	echo "  make check-bases KERNEL=PATH"
	echo "                     which patches apply to that kernel, of whatever version, and"
	echo "                     why others do not"
	echo "  make kernel        build the patched kernel only"
	echo "  make deb           Debian packages of the patched kernel for a real machine, and"
	echo "                     of hashstats"
	echo "  make install-tools"
	echo "                     install hashstats, which reads /proc/hashstats, its manual"
	echo "                     and shell completion"
	echo "  make uninstall-tools"
	echo "                     remove them"
	echo "  make bench         every benchmark, one after the other; make bench-NAME one of"
	echo "                     them (atomics, buffer, contention, crowd, dentry, functions,"
	echo "                     halfmd4, hashstats, herd, htree, index, inode, lines,"
	echo "                     mbcache, multiuser, readers, spread, wake, xattr)"
	echo "  make bench-compare compare the last two runs of each benchmark"
	echo "  make report        what was measured last, beside the tables of the documents"
	echo "                     that the series comes from, with pictures, in build/report"
	echo
	echo "  make setup         install packages and the Python environment (others do it too)"
	echo "  make clean         remove what was built; keep downloads, compiler cache, Python"
	echo "  make distclean     remove all of build/"
	echo
	echo "Variables:"
	echo "  KERNEL=PATH        another tree or tarball of BASE (else Debian's linux-source-6.12"
	echo "                     or, where apt has none, the tarball of kernel.org)"
	echo "  KERNEL_URL=        folder to fetch that tarball from, with sha256sums.asc"
	echo "  KERNEL_SHA256=     its checksum, instead of the one in that list"
	echo "  BASE=6.12          the kernel version to use, one of patches/bases"
	echo "  TOPIC=NAME         mail: only this topic of patches/topics"
	echo "  MEM=1G CPUS=2      size of the guest of boot, shell and kunit"
	echo "  SUITES='...'       kunit: only these suites, such as 'boot_hash mbcache'"
	echo "  APPEND='...'       more words for the guest's kernel command line"
	echo "  QUICK=1 LONG=1     bench: a minute each, or hours each"
	echo "  FORCE=1            tree, clean: drop commits that are not in the series; export:"
	echo "                     overwrite files that were changed here"
	echo "  CONFIG=PATH        deb: kernel configuration to start from"
	echo "  FLAVOUR=cloud      deb: Debian's configuration to start from, cloud or amd64 (else"
	echo "                     that of the running kernel)"
	echo "  DEBUG=1            deb: packages of debug information too"
	echo "  PREFIX=/usr/local  install-tools, uninstall-tools: below this folder"
	echo "  DESTDIR=           install-tools, uninstall-tools: put before PREFIX"
	echo "  RESULTS=PATH       report: results of another machine (else of this one)"
	echo "  KEEP=1             report: store the results, and write every quoted figure;"
	echo "                     test-long: store which tests passed"
	echo "  TESTS='...'        test: only these files, or words for pytest"
	echo "  ARCH=arm64         test-arch: only this architecture, such as i386, s390x, arm64-64k"
	echo "  SEED=1             test-long: seed of the first random configuration"
	echo "  LTP=/opt/ltp       test-long: an installed LTP to run, too"
	echo "  PYTHON=python3     Python that runs the scripts, version 3.11 or newer"
	echo "  V=1                show the output of what runs"

# Python does everything else, the installing of packages too.
python:
	$(if $(UNKNOWN),echo "boothash: $(UNKNOWN): no such variable; accepted: $(VARIABLES) PYTHON" >&2; exit 2)
	command -v $(PYTHON) >/dev/null || { \
		[ "$(PYTHON)" = python3 ] || { \
			echo "boothash: PYTHON=$(PYTHON): not found; $(PYTHONS)" >&2; exit 2; }; \
		echo "  install python3"; \
		if [ "$$(id -u)" = 0 ]; then sudo=; \
		elif command -v sudo >/dev/null; then sudo=sudo; \
		else echo "boothash: python3 is missing and neither root nor sudo is at hand; run as root: apt-get install python3" >&2; exit 2; fi; \
		{ $$sudo apt-get -qq update; \
		  $$sudo apt-get -qq -y install --no-install-recommends python3; } >/dev/null \
		|| { echo "boothash: apt-get could not install python3" >&2; exit 2; }; }
	case "$$($(PYTHON) -c 'import sys; print(sys.version_info >= (3, 11))' 2>/dev/null)" in \
	True) ;; \
	False) echo "boothash: PYTHON=$(PYTHON): is $$($(PYTHON) -V 2>&1); $(PYTHONS)" >&2; exit 2 ;; \
	*) echo "boothash: PYTHON=$(PYTHON): does not run; $(PYTHONS)" >&2; exit 2 ;; esac

# Each verb is a function in harness/; cli.py knows which.
setup tree export mail check-series check-bases kernel deb boot shell kunit lint test test-long \
test-arch test-machine bench-compare report install-tools uninstall-tools clean distclean: python
	$(SCRIPT) $@

bench: bench-all

bench-%: python
	$(SCRIPT) bench $*
