# SPDX-License-Identifier: GPL-2.0
# Programs that measure in a guest or on the host, or that fill tables for a test.
# What is in kernel/ is linked into a kernel by `make bench-NAME`.

GUEST := badwrites batches crowd failing flood herd hostile htree inodes lineops lookups metadata multiuser readers xattr_bench
HOST := find_words hash_functions hash_spread wait_heads

ifeq ($(origin CC),default)
CC = $(CROSS_COMPILE)gcc
endif
CFLAGS ?= -O2
FEATURES = -D_GNU_SOURCE=
WARNINGS = -Wall -Wextra -Wno-missing-field-initializers
SHARED = ../tools/testing/selftests/boothash
OUTPUT ?= ../build/tools

vpath %.c guest host

all: $(addprefix $(OUTPUT)/,$(GUEST) $(HOST))

# Static: a guest may have no libraries.
$(OUTPUT)/%: %.c $(SHARED)/common.h $(wildcard guest/*.h host/*.h) Makefile
	@mkdir -p $(OUTPUT)
	$(CC) $(WARNINGS) $(CFLAGS) $(FEATURES) -I$(SHARED) $(LDFLAGS) -static -pthread -o $@ $<

clean:
	rm -f $(addprefix $(OUTPUT)/,$(GUEST) $(HOST))

.PHONY: all clean
