/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Markers in the instructions of a program. The emulator's plugin counts what is
 * executed between the two of a label.
 */
#ifndef BOOTHASH_MARKERS_H
#define BOOTHASH_MARKERS_H

#ifndef __x86_64__
#error The markers are instructions of x86-64.
#endif

#define MARKER(kind, label)	(0x62680000 + (label) * 256 + (kind))
#define OPEN(label)		MARKER(1, label)
#define CLOSE(label)		MARKER(2, label)

/* A no-op that nothing else uses. */
static __always_inline void mark(int marker)
{
	asm volatile("nopl %c0(%%rax)" : : "i" (marker) : "memory");
}

#endif /* BOOTHASH_MARKERS_H */
