# SPDX-License-Identifier: GPL-2.0
"""The mail of 2004 on filtered wakeups, answered."""

import math
import statistics

from bench.cases import herd as bench_herd
from report.losses import group, noise, percent, processor_seconds
from report.page import EQUAL, PART, Section, Table

TITLE = "Filtered wakeups (W. L. Irwin, 2004)"

# Seconds, MB/s, user and system % of 512 threads, before and after.
TIOTEST = {
    "write": ((1118.1, 14.654, 1.6, 280.9), (1099.5, 14.901, 2.2, 279.3)),
    "random-write": ((336.2, 5.950, 0.8, 20.4), (333.8, 5.991, 1.0, 14.9)),
    "read": ((1717.1, 9.542, 1.4, 31.8), (1706.3, 9.602, 1.4, 19.1)),
    "random-read": ((465.2, 4.300, 1.1, 36.1), (460.3, 4.345, 1.1, 14.8)),
}
SCALED = {
    "write": (5.1873, 5.2934),
    "random-write": (28.0660, 37.6792),
    "read": (28.7410, 46.8390),
    "random-read": (11.5591, 27.3270),
}
# Sleeps, before and after, and what the function is today.
SLEEPERS = (
    ("wait_on_page_bit", 9391185, 2396754, "folio_wait_bit(): folio_wait below"),
    ("__lock_page", 1458446, "-", "__folio_lock(): folio_wait below"),
    ("__wait_on_buffer", 45989, "-", "the same name: bit_wait below"),
    ("cpu_idle", 7280055, 3985424, "do_idle(): not counted"),
)
# Ticks of the profile, likewise.
CONSUMERS = (
    ("__wake_up", 11976, "-", "wakeups below"),
    ("wake_up_filtered", "-", 2905, "wakeups below"),
    ("finish_task_switch", 21733, 10135, "the same name: not among the largest"),
    ("prepare_to_wait", 3635, "-", "the same name: not among the largest"),
)
KERNELS = ("base", "ours")
NAMES = {"base": "mainline", "ours": "series", "ours-256": "series, 256 queues"}
PHASES = bench_herd.PHASES | bench_herd.HERDS


def sections(results):
    return [tiotest(results), scaled(results), consumers(results), sleepers(results)]


def finding(results):
    result = results.get("herd")
    base, ours = (per_wake(result, kernel, bench_herd.PHASES, "called") for kernel in KERNELS)
    four = ", ".join(
        f"{cell.ratio:.2f}"
        for cell in group(results, "herd", "processor time").cells
        if cell.name in bench_herd.PHASES
    )
    insns = [cell.ratio for cell in counted(results)[0].cells]
    return (
        f"In the mail's four phases a wakeup of mainline calls {base:.2f} wake functions of other "
        f"waiters, one of the series {ours:.2f}. Processor time is {four} times mainline's. This "
        "shows nothing, since mainline's own rounds differ by up to "
        f"{noise(results, 'herd', 'processor time')}. Counted instructions of the kernel are "
        f"{min(insns):.3f} to {max(insns):.3f} times mainline's."
    )


def median(result, kernel, phase, name):
    return bench_herd.median(result, kernel, phase, name)


def of_rounds(result, kernel, phase, value):
    """What `value` says of each round."""
    return [value(one) for one in result.runs("throughput", kernel=kernel, phase=phase)]


def moved(one):
    """MB for a second of a processor."""
    return one["mb_per_second"] * one["seconds"] / processor_seconds(one)


def switches(one):
    return one["context_switches"]


def rate(one):
    return one["mb_per_second"]


def medians(result, phase, value):
    return [statistics.median(of_rounds(result, kernel, phase, value)) for kernel in KERNELS]


def by_itself(result, phases, value):
    """What mainline says of its own rounds, as the end of a sentence."""
    found = [of_rounds(result, "base", phase, value) for phase in phases]
    if len(found[0]) < 2:
        return "in one round of each."
    apart = max(max(values) / min(values) for values in found)
    return f"where mainline differs from itself by up to {apart - 1:.0%}."


def rounds(result, phase, value, form):
    """The rounds of mainline and of the series."""
    return (
        "/".join(f"{one:{form}}" for one in of_rounds(result, kernel, phase, value))
        for kernel in KERNELS
    )


def tiotest(results):
    result = results.get("herd")
    rows: list[tuple[str, ...]] = []
    for phase, title in bench_herd.PHASES.items():
        for which, (seconds, mb, user, system) in zip(("before", "after"), TIOTEST[phase]):
            rows.append(
                (
                    f"{title}, 2004 {which}",
                    f"{seconds:.1f}",
                    f"{mb:.3f}",
                    f"{user:.1f}",
                    f"{system:.1f}",
                )
            )
        for kernel in KERNELS:
            rows.append(
                (
                    f"{title}, {NAMES[kernel]}",
                    *(
                        f"{median(result, kernel, phase, name):{form}}"
                        for name, form in (
                            ("seconds", ".1f"),
                            ("mb_per_second", ".3f"),
                            ("user_percent", ".1f"),
                            ("system_percent", ".1f"),
                        )
                    ),
                )
            )
    ratios = [
        results.figure("herd", f"throughput_ratio_{phase.replace('-', '_')}")
        for phase in bench_herd.PHASES
    ]
    spread = max(
        results.figure("herd", f"throughput_spread_{phase.replace('-', '_')}")
        for phase in bench_herd.PHASES
    )
    return Section(
        "Tiotest with 512 threads",
        "Do 512 threads on slow disks get more done, or the same with less processor time?",
        PART,
        f"{results.command('herd')}: the four phases on a disk throttled to 20 MiB/s and 1000 "
        f"requests a second, with {amount(result, 'write'):.0f} MB for the mail's 16,384 and "
        f"{amount(result, 'random-write'):.0f} MB at random for its 2000.",
        "Neither. The disk sets the rate, as in 2004: the series has "
        f"{min(ratios):.3f} to {max(ratios):.3f} of mainline's. The processor time of both is in "
        "the next table.",
        percent(spread),
        [
            Table(
                "Seconds, MB/s, % of a processor.",
                ("phase", "time", "rate", "user", "system"),
                rows,
            )
        ],
        [
            f"{PHASES[cell.name]} has {1 / cell.ratio:.3f} of mainline's MB/s. Mainline's own "
            f"rounds differ by {percent(cell.spread)}."
            for cell in group(results, "herd", "MB/s").lost
        ],
    )


def amount(result, phase):
    """MB of a phase."""
    return max(of_rounds(result, "base", phase, lambda one: rate(one) * one["seconds"]))


def processor_answer(results):
    """Processor time, phase by phase."""
    cells = {cell.name: cell for cell in group(results, "herd", "processor time").cells}
    four, herds = (
        ", ".join(f"{cells[phase].ratio:.2f}" for phase in phases)
        for phases in (bench_herd.PHASES, bench_herd.HERDS)
    )
    spreads = [cell.spread for cell in cells.values() if cell.spread]
    itself = (
        f" Mainline's own rounds differ by {percent(min(spreads))} to {percent(max(spreads))}."
        if spreads
        else ""
    )
    more = sum(cells[phase].ratio > 1 for phase in bench_herd.PHASES)
    count = f": more in {more} of {len(bench_herd.PHASES)}" if more else ""
    return (
        f"In these phases the series takes {four} times mainline's processor time{count}. In "
        f"three herds of our own it takes {herds} times.{itself}{beside(results.get('herd'))}"
    )


def beside(result):
    """What else the machine did."""
    machine = result.data["machine"]
    if machine["load_average"] < 1:
        return ""
    return (
        f" Other programs ran beside: the load average was {machine['load_average']:.1f} on "
        f"{machine['cores']} processors."
    )


def scaled(results):
    result = results.get("herd")
    rows = []
    for phase, title in PHASES.items():
        before, after = SCALED.get(phase, ("-", "-"))
        base, ours = medians(result, phase, moved)
        rows.append(
            (
                title,
                before if before == "-" else f"{before:.2f}",
                after if after == "-" else f"{after:.2f}",
                f"{base:.2f}",
                f"{ours:.2f}",
                f"{ours / base:.2f}",
                *rounds(result, phase, processor_seconds, ".3f"),
            )
        )
    return Section(
        "Throughput scaled by % of CPU",
        "How many MB does one second of processor time move?",
        PART,
        f"{results.command('herd')}, the same runs, and three herds of our own.",
        f"In the mail's four phases a second of a processor moves {moved_answer(result)} times "
        f"what it moves in mainline; in 2004 it was 1.02 to 2.36 times. {processor_answer(results)} "
        f"{cause(results)}" + disagreement(results),
        noise(results, "herd", "processor time"),
        [
            Table(
                "MB for each second of processor time; the processor seconds of each round.",
                (
                    "phase",
                    "2004 before",
                    "after",
                    "mainline",
                    "series",
                    "ratio",
                    "s, mainline",
                    "s, series",
                ),
                rows,
            ),
            *instruction_table(results),
            *function_table(result),
        ],
        [*processor_lost(results), *herd_lost(results)],
    )


def moved_answer(result):
    ratios = []
    for phase in bench_herd.PHASES:
        base, ours = medians(result, phase, moved)
        ratios.append(f"{ours / base:.2f}")
    return ", ".join(ratios)


def apart(results, title):
    """Cells whose rounds do not overlap: the best of the series is worse."""
    found = group(results, "herd", title)
    return [cell for cell in found.cells if min(cell.ours) > max(cell.base)]


def processor_lost(results):
    return [
        f"{PHASES[cell.name]} takes {cell.ratio:.2f} times mainline's processor time: "
        f"{' and '.join(f'{one:.3f}' for one in cell.ours)} s against "
        f"{' and '.join(f'{one:.3f}' for one in cell.base)} s."
        for cell in group(results, "herd", "processor time").lost
    ]


def herd_lost(results):
    """A herd that the series slows down."""
    result = results.get("herd")
    for cell in apart(results, "context switches"):
        mb, count = (
            [" and ".join(texts.split("/")) for texts in rounds(result, cell.name, value, ".0f")]
            for value in (rate, switches)
        )
        yield (
            f"{PHASES[cell.name]}: {mb[1]} MB/s against {mb[0]}, and {count[1]} context switches "
            f"against {count[0]}."
        )


def cause(results):
    """What the counted instructions say of it."""
    if not results.get("herd").runs("instructions"):
        return (
            "The cause is not known: instructions by function were not run "
            "(``make bench-herd`` counts them)."
        )
    kernel, code = (
        f"{min(cell.ratio for cell in of.cells):.3f} to {max(cell.ratio for cell in of.cells):.3f}"
        for of in counted(results)
    )
    itself = percent(max(of.spread for of in counted(results)))
    return (
        f"Counted on one processor, the kernel executes {kernel} times mainline's instructions. "
        f"The code that finds pages and buffers and waits for them executes {code} times "
        f"(mainline against itself: up to {itself}). So instructions do not explain a difference "
        "in time; what does is not known."
    )


def counted(results):
    """Instructions of the kernel, and of the code of finding and waiting."""
    return [group(results, "herd", f"instructions{of}") for of in ("", " of waits")]


def disagreement(results):
    """Of the phase whose time and instructions say different things."""
    if not results.get("herd").runs("instructions"):
        return ""
    insns = {cell.name: cell.ratio for cell in counted(results)[0].cells}
    time = {cell.name: cell.ratio for cell in group(results, "herd", "processor time").cells}
    most = max(time, key=lambda phase: abs(math.log(time[phase] / insns[phase])))
    return (
        f" Time and instructions differ most in {PHASES[most]}: {time[most]:.2f} and "
        f"{insns[most]:.3f} times mainline's."
    )


def instruction_table(results):
    """Where instructions were counted."""
    if not results.get("herd").runs("instructions"):
        return
    kernel, code = ({cell.name: cell for cell in of.cells} for of in counted(results))
    yield Table(
        "Instructions of a phase on one processor, series divided by mainline, and how much "
        "mainline differs from itself: of the kernel, and of the code that finds pages and "
        "buffers and waits for them.",
        ("phase", "kernel", "itself", "code", "itself"),
        [
            (
                title,
                *(
                    text
                    for of in (kernel, code)
                    for text in (f"{of[phase].ratio:.3f}", percent(of[phase].spread))
                ),
            )
            for phase, title in PHASES.items()
        ],
    )


MOST = 6  # functions at each end


def growth(result, phases=PHASES):
    """{function: instructions of mainline and of the series}, medians of rounds."""
    found: dict[str, list[float]] = {}
    for side, kernel in enumerate(KERNELS):
        for phase in phases:
            runs = result.runs("instructions", kernel=kernel, phase=phase)
            for name in {name for one in runs for name in one.get("functions", ())}:
                insns = statistics.median(one["functions"].get(name, 0) for one in runs)
                found.setdefault(name, [0, 0])[side] += insns
    return found


def function_table(result):
    """Functions that take most more than in mainline, and most less."""
    found = growth(result)
    names = sorted(found, key=lambda name: found[name][0] - found[name][1])
    if found:
        yield Table(
            f"The {MOST} functions that grow most and the {MOST} that shrink most: thousands of "
            "instructions, all phases together. Of each phase the largest functions are stored; 0 "
            "also stands for one that is not among them. The series compiles xas_start() into "
            "xas_load().",
            ("function", "mainline", "series"),
            [
                (name, *(f"{one / 1000:.0f}" for one in found[name]))
                for name in dict.fromkeys(names[:MOST] + names[-MOST:])
            ],
        )


TOP = 10  # functions, as in the mail


def largest(result):
    """The mail's table, by instructions for its ticks."""
    found = growth(result, bench_herd.PHASES)
    if found:
        yield Table(
            f"Today: the {TOP} functions that execute most in the mail's four phases, thousands of "
            "instructions on one processor.",
            ("function", "mainline", "series"),
            [
                (name, *(f"{one / 1000:.0f}" for one in found[name]))
                for name in sorted(found, key=lambda name: -found[name][0])[:TOP]
            ],
        )


def per_wake(result, kernel, phases, what):
    runs = [one for phase in phases for one in result.runs("counters", kernel=kernel, phase=phase)]
    return bench_herd.per_wake(runs, what)


def consumers(results):
    result = results.get("herd")
    rows = []
    for phase, title in PHASES.items():
        cells = []
        for kernel in bench_herd.KINDS:
            runs = result.runs("counters", kernel=kernel, phase=phase)
            cells += [
                sum(one["wakes"] for one in runs),
                f"{bench_herd.per_wake(runs, 'examined'):.3f}",
                f"{bench_herd.per_wake(runs, 'called'):.3f}",
            ]
        rows.append((title, *cells))
    base, ours, looked = (
        per_wake(result, kernel, bench_herd.PHASES, what)
        for kernel, what in (("base", "called"), ("ours", "called"), ("ours", "examined"))
    )
    filtered, still = (
        per_wake(result, "ours-256", bench_herd.PHASES, what) for what in ("called", "examined")
    )
    every = per_wake(result, "base", PHASES, "called")
    return Section(
        "Top 10 kernel CPU consumers",
        "How much of the work of __wake_up() is for the wrong waiters?",
        EQUAL,
        f"{results.command('herd')}: ticks of a profile say nothing under emulation, so "
        "instructions of functions are counted, and what a wakeup examines and calls.",
        f"In the mail's four phases a wakeup of mainline calls {base:.2f} wake functions of other "
        f"waiters, the series {ours:.2f}, and it looks at {looked:.3f} other waiters. The filter "
        f"removes the calls and the size removes the looks: with mainline's 256 queues the series "
        f"calls {filtered:.2f} and looks at {still:.2f}. With three herds of our own mainline "
        f"calls {every:.2f}.",
        "one run",
        [
            Table(
                "2004: ticks, before and after, of the functions that sleep and wake.",
                ("function", "before", "after", "today"),
                CONSUMERS,
            ),
            *largest(result),
            Table(
                "Wakeups; other waiters that each examined, and wake functions that it called for "
                "them. The last three phases are ours.",
                (
                    "phase",
                    *(
                        f"{what}, {NAMES[kernel]}"
                        for kernel in bench_herd.KINDS
                        for what in ("wakes", "examined", "called")
                    ),
                ),
                rows,
            ),
        ],
    )


def wakes(result, kernel, table, phase):
    runs = result.runs("counters", kernel=kernel, phase=phase, table=table)
    return sum(one["wakes"] for one in runs)


def sleepers(results):
    result = results.get("herd")
    found = group(results, "herd", "context switches")
    rows = [
        (
            PHASES[cell.name],
            *rounds(result, cell.name, switches, ".0f"),
            f"{cell.ratio:.3f}",
            percent(cell.spread),
            *(
                wakes(result, kernel, table, cell.name)
                for table in bench_herd.TABLES
                for kernel in KERNELS
            ),
        )
        for cell in found.cells
    ]
    four = [cell.ratio for cell in found.cells if cell.name in bench_herd.PHASES]
    return Section(
        "Top 10 callers of scheduling functions",
        "Are fewer tasks woken in vain?",
        EQUAL,
        f"{results.command('herd')}: context switches of the load, and wakeups of each table.",
        "Mainline does not run a task that waits for another page: it only calls its wake "
        f"function. In the mail's four phases the series has {min(four):.2f} to {max(four):.2f} "
        f"times mainline's context switches; the worst of all seven, "
        f"{PHASES[found.worst.name]}, has {found.worst.ratio:.2f} times.",
        noise(results, "herd", "context switches"),
        [
            Table(
                "2004: sleeps, before and after, of the callers that the change reaches.",
                ("caller", "before", "after", "today"),
                SLEEPERS,
            ),
            Table(
                "Context switches of each round; wakeups.",
                (
                    "phase",
                    *(NAMES[kernel] for kernel in KERNELS),
                    "ratio",
                    "itself",
                    *(
                        f"{table}, {NAMES[kernel]}"
                        for table in bench_herd.TABLES
                        for kernel in KERNELS
                    ),
                ),
                rows,
            ),
        ],
        ["The series does not save the sleeps of 2004: mainline saves them already."],
    )
