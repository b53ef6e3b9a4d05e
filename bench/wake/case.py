# SPDX-License-Identifier: GPL-2.0
"""Time of a wakeup: no task waits, one waits, others share the queue."""

import re
import statistics

from bench.lib import usermode
from bench.lib.benchmark import EXACT, NOISY, Benchmark, Figure
from bench.lib.rounds import run_turns
from bench.lib.sides import note_kernels
from common import die
from guest import uml
from kernel import variants
from series import compose

SAME_SIZE = "hash_entries=bit_wait:256,folio_wait:256"
# Kernels and their queues, 256 as in the base or those of 4 or 16 GiB.  The base
# runs twice in each round: how the two differ is the noise.
#
# CONFIG_HASHSTATS is off, because user-mode Linux has no patched jumps, so that
# each wakeup would read the switch of the counters.  User-mode Linux has no
# runtime constants either: the series loads the addresses of its tables from
# memory, which it does not do on a real machine.  They are in the cache.
BASE, AGAIN = ("base", "256"), ("again", "256")
SERIES = (("patched", "256"), ("patched", "boot"), ("patched", "boot-16g"))
# Of one round: no side is far from the base, since neighbours of a virtual
# machine change its speed by a factor of 2 within seconds.
ORDER = (AGAIN, SERIES[2], BASE, SERIES[0], SERIES[1])
COMPILERS = ("plain", "retpoline")
# Objects with wakeups: wait.c and wait_bit.c, and the waits for folios.
WAKERS = ("kernel/sched/build_utility.o", "mm/filemap.o")
FOREIGN = (0, 8, 64, 512)
MIB = {"256": 4096, "boot": 4096, "boot-16g": 16384}
QUEUES = {"256": 256, "boot": 16384, "boot-16g": 65536}
LIMIT = 120

RESULT = re.compile(
    r"^wake_bench: key (\w+) layout (\w+) cache (\w+) foreign (\d+) "
    r"queued (\d+) min_ps (\d+) median_ps (\d+)$",
    re.M,
)

# The figures are of waiters on stacks, where those of tasks are.
LAYOUT = "stacks"

SPREAD = re.compile(r"^wake_bench: spread set_kb (\d+) waiting (\d+) wake_ps (-?\d+)$", re.M)
NUMBER = re.compile(r"^wake_bench: queues (\d+)$", re.M)
# KiB that the task reads between wakeups that find no waiter.
SETS = (1024, 4096)
# Tasks that wait for other keys meanwhile.
OTHERS = (0, 512)

# Rounds, and samples of a wakeup.
LOADS = {"quick": (9, 100), "usual": (15, 300), "long": (25, 1000)}
BENCH = Benchmark(
    seconds=(70, 250, 1300),
    loads=LOADS,
    figures=(
        Figure("boot_size_queued_*", "entries", EXACT),
        Figure("*", "ratio", NOISY),
    ),
    base="6.12",
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    kernels = note_kernels(result, build_all())
    rounds, samples = load
    wakes(result, kernels, rounds, samples)


def build_all():
    """{(flavour, compiler): kernel}"""
    base, ours = variants.base_commit(), compose.compose()
    return {
        (flavour, compiler): uml.kernel("wake", flavour, commit, compiler, calls=WAKERS)
        for compiler in COMPILERS
        for flavour, commit in (("base", base), ("patched", ours))
    }


def wakes(result, kernels, rounds, samples):
    cache = uml.cache_mb()
    settings = [f"wake_bench.samples={samples}", f"wake_bench.evict_mb={4 * cache}"]
    turns = [
        (number, compiler, *side)
        for number in range(rounds)
        for compiler in COMPILERS
        for side in (ORDER[::-1] if number % 2 else ORDER)
    ]

    def one_kernel(number, compiler, side, queues):
        names = {"kernel": side, "compiler": compiler, "round": number}
        flavour = "base" if side == "again" else side
        wake(result, kernels[flavour, compiler], queues, settings, names)

    run_turns("time wakeups", turns, one_kernel)
    result.machine(
        evicted_mb=4 * cache, huge_pages=all(one["huge_pages"] for one in result.runs("wake"))
    )
    wake_figures(result)


def wake(result, kernel, queues, settings, names):
    """Run one kernel, which times all cases and ends."""
    sized = (names["kernel"], queues) == ("patched", "256")
    append = [*settings, SAME_SIZE] if sized else settings
    output = usermode.run(result, f"{kernel.flavour}-{queues}", kernel, MIB[queues], append, LIMIT)
    cases = parse(output, queues)
    check_queues(output, queues)
    result.run(
        "wake",
        queues=queues,
        huge_pages=uml.HUGE in output,
        cases=cases,
        empty=parse_empty(output),
        **names,
    )


def parse(output, queues):
    """The cases that one kernel timed."""
    usermode.check_end("wake_bench", output)
    found = []
    for key, layout, cache, *numbers in RESULT.findall(output):
        foreign, queued, least, median = map(int, numbers)
        if queues == "256" and queued != foreign:
            die(
                f"{queued} of {foreign} foreign waiters share the queue, of "
                "256, that they were chosen for"
            )
        found.append(
            {
                "key": key,
                "layout": layout,
                "cache": cache,
                "foreign": foreign,
                "queued": queued,
                "min_ns": least / 1000,
                "median_ns": median / 1000,
            }
        )
    if not found:
        die("the kernel's benchmark printed no result")
    return found


def parse_empty(output):
    """Nanoseconds of a wakeup that finds no waiter, by other waiters and KiB of the set."""
    found: dict[str, dict[str, float]] = {str(others): {} for others in OTHERS}
    for size, others, time in SPREAD.findall(output):
        found.setdefault(others, {})[size] = int(time) / 1000
    if set(map(int, found)) != set(OTHERS) or any(
        set(map(int, times)) != set(SETS) for times in found.values()
    ):
        die("the kernel's benchmark printed no wakeups that find no waiter")
    return found


def check_queues(output, queues):
    """The tables must have the size that the figures are about."""
    found = [int(number) for number in NUMBER.findall(output)]
    if found != [QUEUES[queues]]:
        die(f"expected {QUEUES[queues]} queues for bits, found {found}")


def one_of(cases, **wanted):
    """The one case of a run that has these values."""
    found = [case for case in cases if all(case[name] == value for name, value in wanted.items())]
    if len(found) != 1:
        die(f"{len(found)} cases {wanted} in a run")
    return found[0]


def times(result, compiler, side, what="min_ns", **wanted):
    """A time from each round."""
    kernel, queues = side
    return [
        one_of(one["cases"], **wanted)[what]
        for one in result.runs("wake", kernel=kernel, compiler=compiler, queues=queues)
    ]


def of_base(ours, base):
    """Median of the ratios of the rounds."""
    return statistics.median(one / other for one, other in zip(ours, base, strict=True))


def ratio(result, compiler, side, **wanted):
    return of_base(times(result, compiler, side, **wanted), times(result, compiler, BASE, **wanted))


def wake_figures(result):
    ours = SERIES[0]
    for compiler in COMPILERS:
        for foreign in FOREIGN:
            name = f"{compiler}_{foreign}"
            usual = {"key": "bit", "layout": LAYOUT, "cache": "hot", "foreign": foreign}
            for mark, other in (
                ("", {}),
                ("_cold", {"cache": "cold"}),
                ("_var", {"key": "var"}),
                ("_folio", {"key": "folio"}),
            ):
                case = usual | other
                base, series, again = (
                    times(result, compiler, side, **case) for side in (BASE, ours, AGAIN)
                )
                result.figure(
                    f"ratio_{name}{mark}",
                    of_base(series, base),
                    mainline=statistics.median(base),
                    series=statistics.median(series),
                    control=of_base(again, base),
                )
                result.figure(f"aa_{name}{mark}", of_base(again, base))
        result.figure(f"wake_alone_{compiler}", result.value(f"ratio_{compiler}_0"))
    boot_size_figures(result)
    empty_figures(result)


def empty_figures(result):
    for size in SETS:
        mark = "" if size == SETS[0] else f"_{size >> 10}m"
        for others in OTHERS:
            case = f"among_{others}" if others else "empty_cold"
            base = empty_times(result, BASE, size, others)
            for name, side in (
                (f"wake_{case}_256", SERIES[0]),
                (f"wake_{case}_4g", SERIES[1]),
                (f"wake_{case}_16g", SERIES[2]),
                (f"aa_{case}", AGAIN),
            ):
                times_ = empty_times(result, side, size, others)
                result.figure(name + mark, of_base(times_, base))


def empty_times(result, side, size, others):
    """Nanoseconds of a wakeup that finds no waiter, from each round."""
    kernel, queues = side
    runs = result.runs("wake", kernel=kernel, compiler="plain", queues=queues)
    return [one["empty"][str(others)][str(size)] for one in runs]


def boot_size_figures(result):
    for foreign in FOREIGN[1:]:
        usual = {"key": "bit", "layout": LAYOUT, "cache": "hot", "foreign": foreign}
        result.figure(f"ratio_boot_size_{foreign}", ratio(result, "plain", SERIES[1], **usual))
        result.figure(
            f"boot_size_queued_{foreign}",
            max(times(result, "plain", SERIES[1], "queued", **usual)),
        )
