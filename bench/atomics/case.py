# SPDX-License-Identifier: GPL-2.0
"""Atomic operations on n pages of a file, one by one and in a batch."""

from typing import NamedTuple

from bench.lib import symbol_counts
from bench.lib.benchmark import EXACT, NOISY, Benchmark, Figure
from bench.lib.jobs import PAGE_HASH, check_page_hash, count_guest
from bench.lib.sides import TITLES, check_counting, kernel_of, note_kernels
from bench.lib.symbols import USER
from common import die, step
from common.packages import ensure_packages
from kernel import build, variants
from series import source

XFS = build.CONFIGS / "test/xfs.config"
SIZES = (1, 4, 16, 64, 128, 256)
PLACES = ("ext4", "xfs")
OPERATIONS = ("read", "fault", "readahead", "write", "evict", "truncate")
HOWS = ("one", "together")
# One page of a large folio cannot leave it.
LARGE = {
    "read": HOWS,
    "fault": HOWS,
    "write": ("together",),
    "evict": ("together",),
    "truncate": ("together",),
}
# A kernel for one processor takes the prefix LOCK out of its code, but for this.
APPEND = "nokaslr noreplace-smp"
MEMORY = "1G"
# mkfs.xfs makes nothing below 300 MiB.
DISK = "512M"
SECONDS = 300
# As many pages are read in at once as are asked for, to the most here.
SETUP = {
    "ext4": f"""
echo {4 * max(SIZES)} > /sys/block/ram0/queue/read_ahead_kb
mkfs.ext4 -q -b 4096 -m 0 /dev/ram0 64M
mkdir /ext4
mount -t ext4 -o noatime /dev/ram0 /ext4""",
    "xfs": f"""
echo {4 * max(SIZES)} > /sys/block/vda/queue/read_ahead_kb
mkfs.xfs -q /dev/vda
mkdir /xfs
mount -t xfs -o noatime /dev/vda /xfs""",
}
LOCKS = ("_raw_spin_lock_irq", "_raw_spin_lock_irqsave")
# Functions that take the lock of a file's page index with these.
INDEX = {
    "__filemap_add_folio",
    "filemap_remove_folio",
    "__remove_mapping",
    "remove_mapping",
    "delete_from_page_cache_batch",
    "__folio_mark_dirty",
    "folio_mark_dirty",
    "replace_page_cache_folio",
    "clear_shadow_entries",
    "__clear_shadow_entry",
    "truncate_folio_batch_exceptionals",
}


class Load(NamedTuple):
    kinds: tuple  # "again" is the base once more
    repeats: int  # of each case in a guest


LOADS = {
    "quick": Load(("base", "ours", "hash", "again"), 3),
    "usual": Load(("base", "ours", "hash", "again"), 9),
    "long": Load(("base", "ours", "hash", "again", "ours-again"), 31),
}


class Case(NamedTuple):
    place: str
    folios: str
    operation: str
    how: str
    pages: int


def have_large_folios():
    """File systems whose writes make large folios; on 6.12, ext4's do not."""
    return {"xfs"} if source.base_name() == "6.12" else set(PLACES)


def cases():
    """What a guest of this base does; large folios are asked for on XFS only."""
    small = [
        Case(place, "small", operation, how, pages)
        for place in PLACES
        for operation in OPERATIONS
        for how in HOWS
        for pages in SIZES
    ]
    large = [
        Case("xfs", "large", operation, how, pages)
        for operation, hows in LARGE.items()
        for how in hows
        for pages in SIZES
    ]
    no_small = {(place, "small", "write", "together") for place in have_large_folios()}
    return [case for case in small + large if case[:4] not in no_small]


def measured(result):
    """The cases of a result, in their order."""
    found = (Case(*(one[name] for name in Case._fields)) for one in result.runs("atomics"))
    return list(dict.fromkeys(found))


BENCH = Benchmark(
    seconds=(30, 90, 600),
    loads=LOADS,
    figures=(
        Figure("atomics_per_page_*", "atomics", NOISY),
        Figure("atomics_*", "ratio", NOISY),
        Figure("aa_atomics_*", "ratio", NOISY),
        Figure("index_lock_per_page_*", "acquisitions", EXACT),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    ensure_packages("xfs")
    kernels = note_kernels(result, build_all())
    result.machine(accelerator="tcg, one processor", guest_memory=MEMORY)
    check_counting(result, kernels["ours"])
    for number, kind in enumerate(load.kinds):
        with step(f"atomic operations, {TITLES[kind]}") as progress:
            progress.note = f"{number + 1} of {len(load.kinds)} guests"
            count(result, kernels, kind, load)
    figures(result)


def build_all():
    """{kernel: build}"""
    return {
        "base": variants.base("xfs", XFS, targets=variants.VMLINUX),
        "ours": variants.patched("xfs", XFS, targets=variants.VMLINUX),
    }


# Guests.


def job(wanted, repeats, kind):
    lines = [SETUP[place] for place in PLACES if any(case.place == place for case in wanted)]
    if kind == "hash":
        lines.append("grep -A1 '^name: page$' /proc/hashstats")
    for case in wanted:
        words = [
            f"batches /{case.place} {case.operation} {case.how}",
            f"-n {case.pages} -r {repeats}",
        ]
        if case.folios == "large":
            words.append("-l")
        lines += [f"echo '=== run {' '.join(map(str, case))}'", " ".join(words)]
    return "\n".join(lines) + "\n"


def options(kind):
    append = f"{APPEND} {PAGE_HASH}" if kind == "hash" else APPEND
    return {
        "mem": MEMORY,
        "append": append,
        "disk": DISK,
        "timeout": SECONDS,
        "programs": ["mkfs.ext4", "mkfs.xfs"],
        "interrupts": False,
    }


def count(result, kernels, kind, load):
    wanted = cases()
    kernel = kernels[kernel_of(kind)]
    segments, output = count_guest(
        result, f"atomics-{kind}", kernel, job(wanted, load.repeats, kind), **options(kind)
    )
    check_output(output, wanted, kind)
    symbol_counts.check_segments(segments, len(wanted) * load.repeats)
    for number, segment in enumerate(segments):
        case = wanted[number // load.repeats]
        turn = number % load.repeats
        check_faults(case, segment)
        result.run(
            "atomics", kernel=kind, repeat=turn, **case._asdict(), **costs(segment, turn == 0)
        )


def check_output(output, wanted, kind):
    """What `batches` said of each case is what was asked for."""
    head, *parts = output.split("=== run ")
    if kind == "hash":
        check_page_hash(head)
    found = [reported(part) for part in parts]
    if found != list(wanted):
        at = sum(1 for _ in zip(found, wanted))
        wrong = next(
            (f"{got} where {case} was wanted" for got, case in zip(found, wanted) if got != case),
            f"{at} cases of {len(wanted)}",
        )
        die(f"the guest reported {wrong}")


def reported(part):
    """The case of a part, from its head and from what the program printed."""
    first, *lines = part.splitlines()
    said = dict(line.split(": ", 1) for line in lines if ": " in line)
    try:
        return Case(
            first.split()[0], said["folios"], said["operation"], said["how"], int(said["pages"])
        )
    except (KeyError, ValueError):
        die(
            f"`batches` did not report the case {first!r}: "
            f"{lines[-1] if lines else 'it printed nothing'}"
        )


def check_faults(case, segment):
    """The pages must be mapped by one fault, or by one each, or a large folio by one (7.3)."""
    if case.operation != "fault":
        return
    one = case.how == "one" or case.pages == 1
    faults = segment.entries["filemap_fault"]
    # On 7.3, 255 faults mapped 256 pages of XFS; two of them may have shared a folio.
    least = 1 if case.folios == "large" else 0.99 * case.pages
    if not (least <= faults <= case.pages if one else faults == 0):
        die(f"{' '.join(map(str, case))}: filemap_fault() was called {faults} times")


def costs(segment, keep_functions):
    """Of the kernel, for all pages of a case together."""
    atomics = {name: count for name, count in segment.atomics.items() if count and name != USER}
    found = {
        "atomics": sum(atomics.values()),
        "index_locks": index_locks(segment),
        "insns": sum(segment.kernel().values()),
    }
    if keep_functions:
        found["functions"] = dict(sorted(atomics.items()))
    return found


def index_locks(segment):
    """How often the lock of a page index was taken."""
    return sum(
        count
        for (caller, called), count in segment.calls.items()
        if called in LOCKS and caller in INDEX
    )


# Figures.


def chosen(result, kind, case):
    wanted = case._asdict() | {"kernel": kind}
    return [
        one
        for one in result.runs("atomics")
        if all(one[name] == value for name, value in wanted.items())
    ]


def of(result, kind, case, what="atomics"):
    """Minimum of the repeats, for all pages: other work only adds."""
    found = chosen(result, kind, case)
    if not found:
        die(f"{kind}: there is no case {' '.join(map(str, case))}")
    return min(one[what] for one in found)


def per_page(result, kind, case, what="atomics"):
    return of(result, kind, case, what) / case.pages


def figures(result):
    read_figures(result)
    for case in measured(result):
        if case.pages < max(SIZES):
            continue
        name = figure_name(case)
        result.figure(f"index_lock_per_page_{name}", per_page(result, "base", case, "index_locks"))
        result.figure(f"atomics_per_page_{name}", per_page(result, "base", case))
    ratio_figures(result)


def figure_name(case):
    """The name omits ext4 and small folios."""
    words = [word for word in (case.place, case.folios) if word not in ("ext4", "small")]
    how = "one_by_one" if case.how == "one" else f"batch_{case.pages}"
    return "_".join((case.operation, *words, how))


def read_figures(result):
    """The paper's table, of the base, on ext4."""

    def case(how, pages):
        return Case("ext4", "small", "read", how, pages)

    result.figure("atomics_per_page_one_by_one", per_page(result, "base", case("one", max(SIZES))))
    for pages in SIZES:
        result.figure(
            f"atomics_per_page_batch_{pages}", per_page(result, "base", case("together", pages))
        )
        for kind, name in ("ours", "atomics_ratio"), ("hash", "atomics_hash_ratio"):
            compare(result, f"{name}_{pages}", kind, case("together", pages))
        compare(result, f"atomics_ratio_one_by_one_{pages}", "ours", case("one", pages))


def compare(result, name, kind, case):
    result.compare(name, *(of(result, one, case) for one in ("base", kind, "again")))


def ratio_figures(result):
    """The worst of all cases, and the base divided by itself."""
    for kind, name in (
        ("ours", "atomics_ratio_worst"),
        ("hash", "atomics_hash_ratio_worst"),
        ("again", "aa_atomics_worst"),
    ):
        ratios = {
            case: of(result, kind, case) / of(result, "base", case) for case in measured(result)
        }
        worst = max(ratios, key=lambda case: abs(ratios[case] - 1))
        result.figure(name, ratios[worst])
        result.run("worst", figure=name, ratio=ratios[worst], case=" ".join(map(str, worst)))
