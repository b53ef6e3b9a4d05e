# SPDX-License-Identifier: GPL-2.0
"""A core file to the text of /proc/hashstats."""

from __future__ import annotations

import contextlib
import os
import sys
import time

from .. import errors
from ..errors import Complaint, quoted, quoted_path
from . import (
    catalog,
    chains,
    compressed,
    elf,
    futexes,
    identity,
    kallsyms,
    keys,
    layouts,
    memory,
    mounts,
    namespaces,
    paging,
    places,
    register,
    text,
    vmcoreinfo,
)
from .btf import Btf
from .kernel import Kernel, version_of
from .missing import DAMAGE, Missing

LIVE = "/proc/kcore"
TYPES = "/sys/kernel/btf/vmlinux"
LOCKDOWN = "/sys/kernel/security/lockdown"
RELEASE = "/proc/sys/kernel/osrelease"
COMMAND_LINE = "/proc/cmdline"
PATIENCE = 1.0  # seconds without a sign of life

opened: dict[tuple, Source] = {}


def read(path, shown, symbols=None, names=()):
    """The text of /proc/hashstats for a kernel; with names, of these tables only.

    What does not change while a kernel runs is read once in a process.
    """
    return source(path, shown, symbols).read(names)


def longest(path, shown, symbols, name, count):
    """[(number of the bucket, keys of its objects)] of the longest chains of a table."""
    return source(path, shown, symbols).longest(name, count)


def source(path, shown, symbols):
    key = path, symbols
    if key not in opened:
        opened[key] = Source(path, shown, symbols)
    return opened[key]


class Source:
    kept = 0  # chains that a walk remembers
    found: tuple | None = None  # that walk, and where its table is

    def __init__(self, path, shown, symbols):
        self.path, self.shown = path, shown
        self.live = path == LIVE
        self.progress = Progress(shown)
        try:
            self.kernel = self._kernel(symbols)
        except Missing as missing:
            raise Complaint(f"{shown}: {missing}; accepted: -f FILE with a saved copy") from None
        except DAMAGE as error:
            raise Complaint(f"{shown}: {DAMAGED}: {one_line(error)}") from None

    def _kernel(self, symbols):
        core = self._open()
        info = self.info = vmcoreinfo.of(core)
        release = self._release(info)
        if version_of(release) < catalog.OLDEST:
            oldest = ".".join(map(str, catalog.OLDEST))
            raise Missing(
                f"this is Linux {release or 'of no known version'}, expected {oldest} or newer"
            )
        reads = self._memory(core, info)
        found = self._symbols(reads, info, symbols)
        if not found.all("inode_hashtable") and not register.has(
            Kernel(reads, found, None, release)
        ):
            raise Missing(
                "the symbols have no variables, expected a kernel with CONFIG_KALLSYMS_ALL=y "
                "or --kallsyms with its System.map"
            )
        types = Btf(self._types(reads, found))
        return Kernel(reads, found, types, release, self._command_line(reads, found))

    def _open(self):
        try:
            with open(self.path, "rb") as file:
                magic = file.read(16)
            if magic.startswith(compressed.MAGICS):
                return compressed.Dump(self.path, self.shown)
            if magic.startswith(compressed.FLAT):
                compressed.complain_of_flat(self.shown)
            if self.live and not magic:
                raise Complaint(
                    f"{self.shown}: empty, as a container has it, expected the memory of the "
                    "kernel; accepted: run on the host"
                )
            core = elf.Core(self.path, self.shown)
            if not self.live:
                core.check_size()
            return core
        except OSError as error:
            raise Complaint(f"{self.shown}: {refusal(self.path, error)}") from None

    def _release(self, info):
        if self.live:
            return contents(RELEASE)
        if "OSRELEASE" not in info:
            raise Missing("it has no VMCOREINFO, which names the kernel, expected a dump of Linux")
        return info["OSRELEASE"]

    def _memory(self, core, info):
        maps = [memory.virtual(core)]
        result = memory.Memory(core.fetch, maps)
        if not self.live:
            tables = paging.of(core.machine, result.fetch, memory.physical(core), info)
            if tables:
                maps.append(tables)
            elif not maps[0]:
                raise Missing("a dump of physical memory, expected one of an x86-64 machine")
        return result

    def _symbols(self, reads, info, path):
        source = path or (kallsyms.PATH if self.live else None)
        if source:
            shown = quoted_path(source)
            try:
                with open(source, "rb") as file:
                    found = kallsyms.Symbols(file.read(kallsyms.MOST_TEXT))
            except OSError as error:
                raise Complaint(
                    f"{shown}: {error.strerror}, expected a copy of {kallsyms.PATH}"
                ) from None
            if path and (wrong := found.wrong):
                raise Complaint(
                    f"{shown}, line {wrong[0]}: {quoted(wrong[1])}, expected 'ADDRESS TYPE NAME'"
                )
            if not found.hidden:
                return self._own(reads, found, info, shown) if path else found
            if path:
                raise Complaint(
                    f"{shown}: it has no addresses, expected a copy of {kallsyms.PATH} "
                    "that root made"
                )
        self.progress.say("symbols")
        return kallsyms.Symbols(kallsyms.in_memory(reads, info))

    def _own(self, reads, found, info, shown):
        """The symbols of a file, if they are of this kernel."""
        found = found.moved_to(vmcoreinfo.address(info, kallsyms.CHECKED))
        release = self._release(info)
        if what := identity.difference(reads, found, info, release):
            raise Complaint(
                f"{shown}: symbols of another kernel: {what}; expected those of Linux {release}"
            )
        return found

    def _types(self, reads, found):
        self.progress.say("types")
        if self.live and os.path.exists(TYPES):
            with open(TYPES, "rb") as file:
                return file.read()
        start, stop = (found.all(f"__{word}_BTF") for word in ("start", "stop"))
        if not start or not stop or stop[0].address <= start[0].address:
            raise Missing(
                "the kernel does not describe its types, expected CONFIG_DEBUG_INFO_BTF=y"
            )
        return reads.read(start[0].address, stop[0].address - start[0].address)

    def _command_line(self, reads, found):
        if self.live:
            return contents(COMMAND_LINE)
        try:
            return reads.text(reads.word(found.one("saved_command_line").address))
        except Missing:
            return ""

    def read(self, names=()):
        self.layouts: list[str] = []
        lines: list[str] = []
        unread: list[tuple] = []
        for name, paragraph in self._listed(unread):
            if names and name not in names:
                continue
            self.progress.say(name)
            try:
                lines += list(paragraph())
            except Missing as missing:
                unread.append((name, missing))
            except DAMAGE as error:
                unread.append((name, f"{DAMAGED}: {one_line(error)}"))
        self.progress.over()
        kernel = self.kernel
        source = self.path if self.live else os.path.basename(self.path).strip() or "core"
        stock = not register.has(kernel)
        head = text.header(one_line(source), kernel.release, stock, unread, self.layouts)
        return "\n".join([*head, *lines, ""]).encode()

    def longest(self, name, count):
        found = self._remembered(name, count)
        if not found:
            return None
        walk, where = found
        try:
            return [
                (
                    walk.number(address, where),
                    [keys.of(self.kernel, name, node) for node in walk.nodes(address, length)],
                )
                for length, address in sorted(walk.top, reverse=True)
            ]
        except (Missing, *DAMAGE) as error:
            raise Complaint(f"{self.shown}: {name}: {one_line(error)}") from None

    def _remembered(self, name, count):
        self.kept, self.found = count, None
        try:
            self.read([name])
        finally:
            self.kept = 0
        return self.found

    def _listed(self, unread):
        try:
            return list(self._tables(unread))
        except (Missing, *DAMAGE) as error:
            raise Complaint(f"{self.shown}: {one_line(error)}") from None

    def _tables(self, unread):
        """(name, function that gives its paragraph) of each table."""
        kernel = self.kernel
        if register.has(kernel):
            for row in list(register.rows(kernel)):
                yield row.name, lambda row=row: self._registered(row)
            return
        if kernel.version > catalog.NEWEST:
            newest = ".".join(map(str, catalog.NEWEST))
            unread.append(
                ("all", f"newer than {newest}, the last kernel that this hashstats knows")
            )
        entries, self.layouts = layouts.entries(kernel)
        for entry in entries:
            if not entry.optional or self._is_there(entry):
                yield entry.name, lambda entry=entry: self._entry(entry, unread)
        for entry, view in self._of_namespaces(entries, unread):
            yield entry.name, lambda entry=entry, view=view: self._entry(entry, unread, view)
        try:
            caches = list(mounts.caches(kernel))
        except (Missing, *DAMAGE) as error:
            unread.append(("mbcache", one_line(error)))
            return
        for cache in caches:
            yield cache.name, lambda cache=cache: self._cache(cache)

    def _of_namespaces(self, entries, unread):
        try:
            return list(namespaces.tables(self.kernel, entries))
        except (Missing, *DAMAGE) as error:
            unread.append(("network namespaces", one_line(error)))
            return []

    def _is_there(self, entry):
        return bool(self.kernel.symbols.all(entry.place.symbol))

    def _entry(self, entry, unread, view=None):
        """A table of the catalog; a view is the structure that has it instead of the variable."""
        kernel = self.kernel
        step = kernel.size(entry.form.bucket)
        where = (
            places.checked(places.inside(entry.place, view))
            if view
            else places.find(kernel, entry, step)
        )
        buckets = where.buckets * len(where.parts)
        each = step + sum(kernel.size(struct) for struct in entry.beside)
        lengths, seconds = self._walk(
            entry.name,
            entry.form.chain,
            where,
            step,
            kernel.offset(entry.form.bucket, entry.form.head),
            entry.same,
        )
        if entry.name == "futex" and (count := futexes.private_tables(kernel)):
            unread.append((entry.name, f"{count} private tables of processes"))
        yield from text.table(entry.name, buckets, buckets * each, sized_by(kernel, entry))
        yield from text.chains(buckets, lengths, seconds)

    def _cache(self, cache):
        kernel = self.kernel
        step = kernel.size("hlist_bl_head")
        where = places.Where([cache.base], cache.buckets)
        lengths, seconds = self._walk(
            *(cache.name, chains.BL, where, step, kernel.offset("hlist_bl_head", "first")),
            catalog.ATTRIBUTES,
        )
        yield from text.table(cache.name, cache.buckets, cache.buckets * step, "fixed")
        yield from text.chains(cache.buckets, lengths, seconds)

    def _registered(self, row):
        if row.chain is None or not row.base:
            yield from text.table(row.name, row.buckets, row.bytes, row.sized_by)
            return
        if not row.buckets:
            raise Missing("0 buckets cannot be true")
        where = places.Where([row.base], row.buckets)
        lengths, seconds = self._walk(row.name, row.chain, where, row.step, row.head)
        yield from text.table(row.name, row.buckets, row.bytes, row.sized_by)
        yield from text.chains(row.buckets, lengths, seconds)

    def _walk(self, name, chain, where, step, head, same=None):
        chains.check(self.kernel, chain)
        start = time.perf_counter()
        tick = self.progress.part(name, where.buckets * len(where.parts))
        walk = chains.Walk(self.kernel.memory, chain, step, head, tick)
        if same:
            with contextlib.suppress(Missing):  # a kernel without such keys
                key = self._key(same)
                walk = chains.Grouped(self.kernel.memory, chain, step, head, tick, key=key)
        if self.kept:
            walk = chains.Longest(self.kernel.memory, chain, step, head, tick, kept=self.kept)
            self.found = walk, where
        for base in where.parts:
            walk.table(base, where.buckets)
        lengths = walk.result
        if lengths.torn > SOME and lengths.torn * 2 > lengths.walked:
            raise Missing(f"{lengths.torn} of its {lengths.walked} chains lead nowhere")
        return lengths, time.perf_counter() - start

    def _key(self, same):
        """Where an object's key is behind its node, and its flags; see chains.Grouped."""
        types = self.kernel.types
        node = self.kernel.offset(same.struct, same.node)

        def behind(member):
            offset, number = types.member(types.struct(same.struct), member)
            return offset - node, types.size(number)

        return behind(same.key), behind(same.flags) if same.flags else None, same.bit


DAMAGED = "the memory is damaged"
SOME = 8  # torn chains that are no sign of a wrong layout


def sized_by(kernel, entry):
    if entry.parameter and f"{entry.parameter}=" in kernel.command_line:
        return "command line"
    return "fixed" if entry.fixed else "memory"


def one_line(error):
    """A reason that can be a part of a line, and of the header."""
    text = " ".join(str(error).split()).replace(";", ",") or type(error).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def contents(path):
    # A command line may have any bytes.
    with open(path, errors="replace") as file:
        return file.read().strip()


def refusal(path, error):
    """Why a core cannot be opened, and what helps."""
    if path != LIVE:
        return f"{error.strerror}, expected a crash dump that you may read"
    if isinstance(error, FileNotFoundError):
        return (
            "no such file, expected a kernel with CONFIG_PROC_KCORE=y, or with CONFIG_HASHSTATS=y "
            "for /proc/hashstats; accepted: -f FILE"
        )
    try:
        locked = "[confidentiality]" in contents(LOCKDOWN)
    except OSError:
        locked = False
    if locked:
        return (
            "the kernel is locked down (confidentiality), expected lockdown=integrity or none; "
            "accepted: -f FILE"
        )
    if isinstance(error, PermissionError):
        return (
            "permission denied: run as root with CAP_SYS_RAWIO; accepted: -f FILE for a saved copy"
        )
    return f"{error.strerror}, expected the memory of the running kernel"


class Progress:
    """One line on a terminal while a read takes longer than a second."""

    def __init__(self, shown):
        self.shown = shown
        self.start = time.monotonic()
        self.wanted = sys.stderr is not None and sys.stderr.isatty() and not errors.quiet
        self.written = False

    def say(self, what):
        if self.wanted and time.monotonic() - self.start > PATIENCE:
            print(f"\r\x1b[Khashstats: {self.shown}: {what}", end="", file=sys.stderr, flush=True)
            self.written = True

    def part(self, name, buckets):
        """A function to call with how many buckets more were read."""
        done = 0

        def tick(count):
            nonlocal done
            done += count
            self.say(f"{name} {100 * done // buckets} %")

        return tick

    def over(self):
        if self.written:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self.written = False
        self.start = time.monotonic()
