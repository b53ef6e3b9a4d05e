/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a plugin reads in instructions of x86-64.
 *
 * A marker is the seven-byte no-op `nopl 0x6268LLKK(%rax)` in user space: KK is
 * its kind and LL its label.
 */
#ifndef BOOTHASH_X86_H
#define BOOTHASH_X86_H

#include <string.h>

#include "qemu.h"

#define OPEN		1
#define CLOSE		2
#define BEGIN		3
#define END		4
#define MARKER_SIZE	7
#define IRET_SIZE	2
#define INSN_MAX	15
/* Addresses of the kernel have the highest bit. */
#define KERNEL		(1ULL << 63)

static bool copy_code(const struct qemu_plugin_insn *insn, uint8_t *code,
		      size_t size)
{
#if API >= 3
	return qemu_plugin_insn_data(insn, code, size) == size;
#else
	memcpy(code, qemu_plugin_insn_data(insn), size);
	return true;
#endif
}

/* Whether an instruction has this size; its bytes, if so. */
static bool read_code(const struct qemu_plugin_insn *insn, uint8_t *code,
		      size_t size)
{
	return qemu_plugin_insn_size(insn) == size && copy_code(insn, code, size);
}

static bool is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					    0x66, 0x67, 0xf2, 0xf3 };

	return memchr(prefixes, byte, sizeof(prefixes));
}

/* With the prefix LOCK, or XCHG with memory, which needs none. */
static bool is_atomic(const struct qemu_plugin_insn *insn)
{
	uint8_t code[INSN_MAX + 2] = { 0 };
	size_t i = 0, size = qemu_plugin_insn_size(insn);

	if (size > INSN_MAX || !copy_code(insn, code, size))
		return false;
	while (i < size && is_prefix(code[i]))
		i++;
	if (code[i] == 0xf0)
		return true;
	/* REX */
	if ((code[i] & 0xf0) == 0x40)
		i++;
	return (code[i] == 0x86 || code[i] == 0x87) && code[i + 1] < 0xc0;
}

/* IRET of 64 bits: it ends an interrupt or an exception. */
static bool is_return(const struct qemu_plugin_insn *insn)
{
	uint8_t code[IRET_SIZE];

	return read_code(insn, code, sizeof(code)) && code[0] == 0x48 &&
	       code[1] == 0xcf;
}

/* Kind and label of a marker, 0 for any other instruction. */
static uintptr_t marker(const struct qemu_plugin_insn *insn)
{
	static const uint8_t nopl[] = { 0x0f, 0x1f, 0x80 };
	uint8_t code[MARKER_SIZE];

	if (!read_code(insn, code, sizeof(code)) ||
	    memcmp(code, nopl, sizeof(nopl)) || code[5] != 0x68 ||
	    code[6] != 0x62)
		return 0;
	return code[4] << 8 | code[3];
}

#endif /* BOOTHASH_X86_H */
