# SPDX-License-Identifier: GPL-2.0
"""The tables of a kernel without /proc/hashstats, read from its memory.

Each module uses only those above it:

missing		why something cannot be read
elf		program headers and notes of a core file
memory		addresses to bytes of the file
vmcoreinfo	what the kernel says of itself for crash dumps
paging		virtual to physical addresses, where the file does not have them
compressed	the same as elf, for makedumpfile's compressed dumps
kallsyms	addresses of symbols
identity	whether these are of this kernel
btf		layouts of structures
kernel		these together, and typed views of structures
chains		lengths of chains
catalog		which tables there are: the only data about kernel versions
layouts		which form of a table this kernel has
places		where a table of the catalog is in memory
mounts, futexes,
namespaces	tables that no symbol names
keys		which objects are in a chain
register	the tables of a kernel with /proc/hashstats, in its dump
text		the result, in the form of /proc/hashstats
reader		all of it for a file; the only module that others use
"""
