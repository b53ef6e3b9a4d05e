// SPDX-License-Identifier: GPL-2.0
/*
 * symbol_counts - what a guest executed between two marker instructions
 *
 * A plugin for QEMU's TCG.  Each translation block that runs while a segment is
 * open is counted; at the end of the segment its blocks are written out, one
 * line each: segment, label, address, instructions of the block, executions,
 * the address that its last instruction calls or jumps to, 0 if it does neither
 * or does it through a pointer, and how many of the instructions are atomic.
 * Lines of "segment label" alone begin a segment, so that an empty one shows.
 *
 * A marker (x86.h) opens a segment or closes it.  The block that opens a
 * segment is not part of it, the block that closes it is.
 *
 * For guests of one CPU: then nothing here runs twice at a time, and an
 * interrupt comes between two blocks and never within one.
 *
 * Arguments: out=FILE and, if interrupts are not to be counted, skip=ADDRESSES:
 * where the kernel enters an interrupt, in hexadecimal, separated by colons.  From
 * there on nothing is counted until the IRET that belongs to it.
 *
 * Compiled with -DAPI=N, the version of the plugin API.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "x86.h"

#define SLOT_BITS	16
#define SLOTS		(1 << SLOT_BITS)
#define BRANCH_SIZE	5
#define SKIPPED_MAX	256

struct block {
	uint64_t address;
	uint64_t target;
	uint64_t executions;
	size_t insns;
	size_t atomics;
	struct block *next;
};

static struct block *blocks[SLOTS];
static bool counting;
static uint64_t skipped[SKIPPED_MAX];
static size_t nr_skipped;
static unsigned int interrupts;		/* entered and not yet left */
static unsigned int segment;
static FILE *out;

/*
 * Blocks stay for good: QEMU may still run one that it has dropped.  The same
 * code translated again is the same block, patched code of another length or
 * with another end is another.
 */
static struct block *find_block(uint64_t address, size_t insns, uint64_t target,
				size_t atomics)
{
	unsigned int slot = address * 0x9e3779b97f4a7c15 >> (64 - SLOT_BITS);
	struct block *block;

	for (block = blocks[slot]; block; block = block->next)
		if (block->address == address && block->insns == insns &&
		    block->target == target && block->atomics == atomics)
			return block;
	block = calloc(1, sizeof(*block));
	if (!block) {
		fputs("symbol_counts: out of memory\n", stderr);
		exit(1);
	}
	block->address = address;
	block->insns = insns;
	block->target = target;
	block->atomics = atomics;
	block->next = blocks[slot];
	blocks[slot] = block;
	return block;
}

static void clear_counts(void)
{
	struct block *block;
	size_t slot;

	for (slot = 0; slot < SLOTS; slot++)
		for (block = blocks[slot]; block; block = block->next)
			block->executions = 0;
}

static void write_counts(unsigned int label)
{
	struct block *block;
	size_t slot;

	fprintf(out, "%u %u\n", segment, label);
	for (slot = 0; slot < SLOTS; slot++)
		for (block = blocks[slot]; block; block = block->next)
			if (block->executions)
				fprintf(out, "%u %u %llx %zu %llu %llx %zu\n",
					segment, label,
					(unsigned long long)block->address,
					block->insns,
					(unsigned long long)block->executions,
					(unsigned long long)block->target,
					block->atomics);
	fflush(out);
}

static void on_block(unsigned int cpu, void *data)
{
	struct block *block = data;

	(void)cpu;
	if (counting && !interrupts)
		block->executions++;
}

static void on_interrupt(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	interrupts++;
}

/* Page faults and the like end so, too, but none happens in an interrupt. */
static void on_return(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (interrupts)
		interrupts--;
}

static void on_marker(unsigned int cpu, void *data)
{
	unsigned int kind = (uintptr_t)data & 0xff;
	unsigned int label = (uintptr_t)data >> 8;

	(void)cpu;
	if (kind == OPEN && !counting) {
		clear_counts();
		segment++;
		counting = true;
	} else if (kind == CLOSE && counting) {
		counting = false;
		write_counts(label);
	}
}

static size_t count_atomics(const struct qemu_plugin_tb *tb)
{
	size_t i, found = 0, insns = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < insns; i++)
		found += is_atomic(qemu_plugin_tb_get_insn(tb, i));
	return found;
}

static bool is_skipped(uint64_t address)
{
	size_t i;

	for (i = 0; i < nr_skipped; i++)
		if (skipped[i] == address)
			return true;
	return false;
}

/* Where `call` and `jmp` with 32 bits of distance go, 0 for anything else. */
static uint64_t target(const struct qemu_plugin_insn *insn)
{
	uint8_t code[BRANCH_SIZE];
	int32_t distance;

	if (!read_code(insn, code, sizeof(code)) ||
	    (code[0] != 0xe8 && code[0] != 0xe9))
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	return qemu_plugin_insn_vaddr(insn) + sizeof(code) + distance;
}

/* Before the block is counted: what enters an interrupt is no longer. */
static void watch_interrupts(struct qemu_plugin_tb *tb, uint64_t address)
{
	struct qemu_plugin_insn *last =
		qemu_plugin_tb_get_insn(tb, qemu_plugin_tb_n_insns(tb) - 1);

	if (is_skipped(address))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_interrupt,
						     QEMU_PLUGIN_CB_NO_REGS, NULL);
	if (is_return(last))
		qemu_plugin_register_vcpu_insn_exec_cb(last, on_return,
						       QEMU_PLUGIN_CB_NO_REGS,
						       NULL);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	size_t i, insns = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, insns - 1);

	(void)id;
	if (nr_skipped && address & KERNEL)
		watch_interrupts(tb, address);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block,
					     QEMU_PLUGIN_CB_NO_REGS,
					     find_block(address, insns,
							target(last),
							count_atomics(tb)));
	if (address & KERNEL)
		return;
	for (i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uintptr_t data = marker(insn);

		if (data)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker,
					QEMU_PLUGIN_CB_NO_REGS, (void *)data);
	}
}

static int refuse(const char *why)
{
	fprintf(stderr, "symbol_counts: %s\n", why);
	return -1;
}

/* skip=HEX:HEX... */
static bool read_skipped(const char *text)
{
	char *end;

	if (strncmp(text, "skip=", 5))
		return false;
	text += 5;
	while (nr_skipped < SKIPPED_MAX) {
		skipped[nr_skipped++] = strtoull(text, &end, 16);
		if (end == text || (*end && *end != ':'))
			return false;
		if (!*end)
			return true;
		text = end + 1;
	}
	return false;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
			int argc, char **argv)
{
	if (argc < 1 || argc > 2 || strncmp(argv[0], "out=", 4) ||
	    (argc == 2 && !read_skipped(argv[1])))
		return refuse("accepted: out=FILE and then skip=ADDRESSES");
	if (!info->system_emulation || info->system.max_vcpus > 1)
		return refuse("only a system of one CPU can be counted");
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return refuse("cannot write to the file of out=");
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
