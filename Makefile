# SPDX-License-Identifier: GPL-2.0
# The front door; harness/cli.py knows each target and variable.

PYTHON ?= python3
PYTHONS = accepted: Python 3.11 or newer
# Bytecode stays out of the source folders.
export PYTHONDONTWRITEBYTECODE = 1
# cli.py refuses a misspelt name.  Variables of a make that calls this one are not checked.
export GIVEN := $(if $(MAKELEVEL:0=),,$(foreach name,$(.VARIABLES),\
	$(if $(findstring command line,$(origin $(name))),$(name))))

export GOALS := $(or $(MAKECMDGOALS),help)
.PHONY: $(GOALS) .python
.NOTPARALLEL:
.SUFFIXES:
# The one line of cli.py is enough; make's own echo of the command is not wanted.
.SILENT:

$(GOALS): .python
	$(PYTHON) harness/cli.py $@

# Python does everything else, the installing of packages too.
.python:
	command -v $(PYTHON) >/dev/null || { \
		[ "$(PYTHON)" = python3 ] || { \
			echo "boothash: PYTHON=$(PYTHON): not found; $(PYTHONS)" >&2; exit 2; }; \
		[ "$(GOALS)" != help ] || { \
			echo "boothash: python3 is missing; make setup installs it" >&2; exit 2; }; \
		echo "  install python3"; \
		if [ "$$(id -u)" = 0 ]; then sudo=; \
		elif command -v sudo >/dev/null; then sudo=sudo; \
		else echo "boothash: python3 is missing, and this user is neither root nor has sudo; run as root: apt-get install python3" >&2; exit 2; fi; \
		{ $$sudo apt-get -qq update; \
		  $$sudo apt-get -qq -y install --no-install-recommends python3; } >/dev/null \
		|| { echo "boothash: apt-get could not install python3" >&2; exit 2; }; }
	case "$$($(PYTHON) -c 'import sys; print(sys.version_info >= (3, 11))' 2>/dev/null)" in \
	True) ;; \
	False) echo "boothash: PYTHON=$(PYTHON): is $$($(PYTHON) -V 2>&1); $(PYTHONS)" >&2; exit 2 ;; \
	*) echo "boothash: PYTHON=$(PYTHON): does not run; $(PYTHONS)" >&2; exit 2 ;; esac
