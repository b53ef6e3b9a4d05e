# SPDX-License-Identifier: GPL-2.0
"""The mail of 2004 on filtered wake-ups, answered."""

import statistics

from bench.cases import herd as bench_herd
from report.page import AGAIN, EQUAL, Section, Table

TITLE = "Filtered wake-ups (W. L. Irwin, 2004)"

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
KERNELS = ("base", "ours")


def sections(results):
    return [tiotest(results), scaled(results), consumers(results), sleepers(results)]


def median(result, kernel, phase, name):
    return bench_herd.median(result, kernel, phase, name)


def tiotest(results):
    result = results.get("herd")
    rows: list[tuple[str, ...]] = []
    for phase, title in bench_herd.PHASES.items():
        for which, (seconds, rate, user, system) in zip(("before", "after"), TIOTEST[phase]):
            rows.append(
                (
                    f"{title}, 2004 {which}",
                    f"{seconds:.1f}",
                    f"{rate:.3f}",
                    f"{user:.1f}",
                    f"{system:.1f}",
                )
            )
        for kernel in KERNELS:
            rows.append(
                (
                    f"{title}, {'6.12' if kernel == 'base' else 'ours'}",
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
        results.figure("herd", f"throughput_ratio_{name}")
        for name in ("write", "random_write", "read", "random_read")
    ]
    spread = max(
        results.figure("herd", f"throughput_spread_{name}")
        for name in ("write", "random_write", "read", "random_read")
    )
    return Section(
        "Tiotest with 512 threads",
        "Do 512 threads on slow disks get more done, or the same with less processor time?",
        AGAIN,
        f"{results.command('herd')}: the four phases on a disk throttled to "
        "20 MiB/s and 1000 requests a second.",
        f"The disk sets the rate, in 2004 as today: ours is at "
        f"{min(ratios):.3f} to {max(ratios):.3f} of 6.12"
        + (
            f", and 6.12 differs from itself by {spread - 1:.1%}."
            if spread > 1
            else ", in one round of each."
        ),
        [
            Table(
                "Seconds, MB/s, % of a processor.",
                ("phase", "time", "rate", "user", "system"),
                rows,
            )
        ],
        reads_lost(result),
    )


def of_rounds(result, kernel, phase, value):
    """What `value` says of each round."""
    return [value(one) for one in result.runs("throughput", kernel=kernel, phase=phase)]


def processor_seconds(one):
    """Of user and system, for the whole phase; the clock sees no less."""
    percent = one["user_percent"] + one["system_percent"]
    return max(one["seconds"] * percent / 100, 0.001)


def moved(one):
    """MB for a second of a processor."""
    return one["mb_per_second"] * one["seconds"] / processor_seconds(one)


def switches(one):
    return one["context_switches"]


def medians(result, phase, value):
    return [statistics.median(of_rounds(result, kernel, phase, value)) for kernel in KERNELS]


def by_itself(result, phases, value):
    """What 6.12 says of its own rounds, as the end of a sentence."""
    found = [of_rounds(result, "base", phase, value) for phase in phases]
    if len(found[0]) < 2:
        return "in one round of each."
    apart = max(max(values) / min(values) for values in found)
    return f"where 6.12 differs from itself by up to {apart - 1:.0%}."


def reads_lost(result):
    """Nothing where random reads gain what they gained in 2004."""
    base, ours = medians(result, "random-read", processor_seconds)
    ratio = ours / base
    if ratio < 0.6:
        return []
    return [
        f"Random reads take {ratio:.2f} of the processor time of 6.12 "
        "under emulation; in 2004 it was 0.43."
    ]


def scaled(results):
    result = results.get("herd")
    rows, ratios = [], []
    for phase, title in bench_herd.PHASES.items():
        base, ours = medians(result, phase, moved)
        ratios.append(ours / base)
        before, after = SCALED[phase]
        rows.append(
            (
                title,
                f"{before:.2f}",
                f"{after:.2f}",
                f"{after / before:.2f}",
                f"{base:.2f}",
                f"{ours:.2f}",
                f"{ratios[-1]:.2f}",
            )
        )
    return Section(
        "Throughput scaled by % of CPU",
        "How many MB does one second of processor time move?",
        AGAIN,
        f"{results.command('herd')}, the same runs.",
        f"Ours moves {min(ratios):.2f} to {max(ratios):.2f} times as much as "
        "6.12 with a second of a processor, in 2004 1.02 to 2.36, "
        + by_itself(result, bench_herd.PHASES, moved),
        [
            Table(
                "MB for each second of processor time.",
                ("phase", "2004 before", "after", "ratio", "6.12", "ours", "ratio"),
                rows,
            )
        ],
    )


def consumers(results):
    result = results.get("herd")
    rows = []
    for phase, title in (bench_herd.PHASES | bench_herd.HERDS).items():
        cells = []
        for kernel in bench_herd.KINDS:
            runs = result.runs("counters", kernel=kernel, phase=phase)
            cells += [
                sum(one["wakes"] for one in runs),
                f"{bench_herd.per_wake(runs, 'examined'):.3f}",
                f"{bench_herd.per_wake(runs, 'called'):.3f}",
            ]
        rows.append((title, *cells))
    base, ours = (results.figure("herd", f"foreign_calls_per_wake{end}") for end in ("_base", ""))
    looked = results.figure("herd", "foreign_examined_per_wake")
    return Section(
        "Top 10 kernel CPU consumers",
        "How much of the work of __wake_up() is for the wrong waiters? (11976 "
        "ticks of __wake_up became 2905 of wake_up_filtered.)",
        EQUAL,
        f"{results.command('herd')}: ticks of a profile say nothing under "
        "emulation, so counted is what a wake-up examines and calls.",
        f"A wake-up of 6.12 calls {base:.2f} functions of waiters for "
        f"something else, ours {ours:.2f}, and it looks at {looked:.3f}.",
        [
            Table(
                "Wake-ups; entries for other keys that each examined, and "
                "functions that it called for them.",
                (
                    "phase",
                    *(
                        f"{what} {kernel}"
                        for kernel in ("6.12", "ours", "ours 256")
                        for what in ("wakes", "examined", "called")
                    ),
                ),
                rows,
            )
        ],
    )


def sleepers(results):
    result = results.get("herd")
    rows, ratios = [], []
    phases = bench_herd.PHASES | bench_herd.HERDS
    for phase, title in phases.items():
        base, ours = medians(result, phase, switches)
        ratios.append(ours / base)
        rows.append((title, f"{base:.0f}", f"{ours:.0f}", f"{ratios[-1]:.3f}"))
    return Section(
        "Top 10 callers of scheduling functions",
        "Are fewer tasks woken in vain? (wait_on_page_bit() slept 9,391,185 "
        "times before and 2,396,754 after.)",
        EQUAL,
        f"{results.command('herd')}: context switches of the load.",
        "A waiter for another page is not made to run by 6.12, only its "
        f"wake function is called. Ours has {min(ratios):.2f} to "
        f"{max(ratios):.2f} times its context switches, " + by_itself(result, phases, switches),
        [Table("Context switches.", ("phase", "6.12", "ours", "ratio"), rows)],
        ["The four times fewer sleeps of 2004 cannot be had: mainline has them already."]
        if min(ratios) > 0.5
        else [],
    )
