# SPDX-License-Identifier: GPL-2.0
# Programs for guests and for this machine: bench/NAME/*.c measure, tests/programs/*.c
# fill tables.  Kernel code of benchmarks, in bench/NAME/kernel, is built by `make bench-NAME`.

TOP := $(dir $(lastword $(MAKEFILE_LIST)))../..
SOURCES := $(wildcard $(TOP)/bench/*/*.c $(TOP)/tests/programs/*.c)
PROGRAMS := $(basename $(notdir $(SOURCES)))

ifeq ($(origin CC),default)
CC = $(CROSS_COMPILE)gcc
endif
CFLAGS ?= -O2
FEATURES = -D_GNU_SOURCE=
WARNINGS = -Wall -Wextra -Wno-missing-field-initializers
SHARED = $(TOP)/tools/testing/selftests/boothash
OUTPUT ?= $(TOP)/build/tools
HEADERS = $(wildcard $(SHARED)/common.h $(TOP)/bench/lib/*.h $(TOP)/bench/*/*.h)

vpath %.c $(sort $(dir $(SOURCES)))

all: $(addprefix $(OUTPUT)/,$(PROGRAMS))

# Static: a guest may have no libraries.
$(OUTPUT)/%: %.c $(HEADERS) $(lastword $(MAKEFILE_LIST))
	@mkdir -p $(OUTPUT)
	$(CC) $(WARNINGS) $(CFLAGS) $(FEATURES) -I$(SHARED) -I$(TOP)/bench/lib $(LDFLAGS) \
		-static -pthread -o $@ $<

.PHONY: all
