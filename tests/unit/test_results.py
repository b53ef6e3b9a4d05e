# SPDX-License-Identifier: GPL-2.0
"""Each sentence of the page of results, computed again from every single run.

Nothing here uses harness/report to compute a number, nor the figures that a
benchmark stored: only runs.  A decimal number of the first page that stands in
no passage is a fault.  The pages of the documents repeat its answers.
"""

import functools
import re
import statistics
from collections import Counter

import pytest

import common
from rawresults import Raw
from report import losses, run, stored
from report import mbcache as report_mbcache
from report.passages import constant, faults, passage
from series import source, topics

RAW = Raw(common.ROOT / "results")
# Of each base, the default first.
EVERY = {source.DEFAULT: RAW} | {
    base: Raw(stored.of_base(base)) for base in topics.bases() if base != source.DEFAULT
}
FIRST = common.ROOT / run.PAGE
LOST = FIRST.with_name(f"{FIRST.stem}-losses.rst")
RULE = re.compile(r"=+(?:  =+)+")
# See test_sentences_of_losses().
SENTENCES = re.compile(r"^What no document asks for.*?(?=^What the stored results)", re.M | re.S)
# The last cell of a row of questions: see test_noise().
NOISE = re.compile(r"^     - .*(?:%|one run|shown|-)\n(?=   \* |\n)", re.M)


def prose(text):
    """Without tables; three rules each."""
    lines, rules = [], 0
    for line in text.splitlines():
        if RULE.fullmatch(line):
            rules += 1
        elif rules % 3 == 0:
            lines.append(line)
    return SENTENCES.sub("", NOISE.sub("", "\n".join(lines) + "\n"))


# 2000.


def insns(kernel, what, users=16):
    """Divided by mainline's mean."""
    base = statistics.fmean(
        RAW.one("multiuser", "count", what, kernel=name, users=users) for name in ("base", "again")
    )
    return RAW.one("multiuser", "count", what, kernel=kernel, users=users) / base


USERS = (2, 4, 8, 16)


def users_apart(users):
    """Mainline's two runs."""
    found = [
        RAW.one("multiuser", "count", "kernel_insns", kernel=name, users=users)
        for name in ("base", "again")
    ]
    return 100 * max(found) / min(found) - 100


def tree_saves():
    """Of the instructions that the tables' code saves, those of the page tree, in percent."""
    (base, again, ours) = (
        RAW.rows("multiuser", "count", kernel=kernel, users=16)[0]
        for kernel in ("base", "again", "ours")
    )
    pages, every = (
        statistics.fmean([of(base), of(again)]) - of(ours)
        for of in (lambda one: one["tables"]["page"], lambda one: one["table_insns"])
    )
    return 100 * pages / every


def base_count():
    (one,) = RAW.rows("multiuser", "count", kernel="base", users=16)
    return one


def nodes(kernel, table):
    of = RAW.one("multiuser", "nodes", "tables", kernel=kernel, users=16)[table]
    missed = of["lookups"] - of["hits"]
    examined = of["hits"] * of["nodes_per_counted_hit"] + missed * of["nodes_per_counted_miss"]
    return examined / of["lookups"]


def worst_nodes(key, function):
    """Of all guests and sizes, divided by a random function's."""
    return max(
        one["hit"] / one["hit_ideal"]
        for one in RAW.rows("functions", "spread", key=key, function=function)
        if one["set"].startswith("guest-")
    )


def near_one(key, function):
    """The same in the table that each guest has a histogram of."""
    return max(
        one["hit"] / one["hit_ideal"]
        for of in RAW.rows("functions", "histogram", key=key, function=function)
        if of["set"].startswith("guest-")
        for one in RAW.rows(
            "functions", "spread", key=key, function=function, set=of["set"], bits=of["bits"]
        )
    )


# A key -> the function of the series, and today's.
FUNCTIONS = {
    "page": ("slot", "hash-64"),
    "buffer": ("pair", "hash-64"),
    "inode": ("pair", "mainline"),
}


def of_guests(key, what):
    """Nodes of the series' function divided by those of today's, for each guest and size."""
    ours, today = (
        {
            (one["set"], one["bits"]): one[what]
            for one in RAW.rows("functions", "spread", key=key, function=function)
            if one["set"].startswith("guest-")
        }
        for function in FUNCTIONS[key]
    )
    return [ours[table] / today[table] for table in today]


def to_64(function, guests):
    """The worst of the nodes of a function divided by those of hash_64()."""
    return max(
        one["hit"]
        / RAW.one(
            "functions",
            "spread",
            "hit",
            function="hash-64",
            **{name: one[name] for name in ("set", "key", "bits")},
        )
        for one in RAW.rows("functions", "spread", function=function)
        if one["set"].startswith("guest-" if guests else "far")
    )


def dentry_ns(size, name, op):
    return RAW.least("dentry", "size", "min_ns", size=size, set=name, op=op, cache="hot")


def sixteenth(name, op):
    return dentry_ns("1_16", name, op) / dentry_ns("1", name, op)


def pressed(pressure, what):
    return RAW.values("dentry", "pressure", what, pressure=pressure, size="1")


def eager(what):
    return statistics.median(pressed(1000, what)) / statistics.median(pressed(100, what))


def hash_ns():
    return [
        RAW.one("functions", "time", "waits_ns", key="inode", function=name)
        for name in ("pair", "mainline")
    ]


def worst_pattern(function):
    return max(RAW.values("spread", "spread", "worst", function=function))


def medians():
    """(mainline, hash_pair()) of each pattern."""
    return [
        [RAW.one("spread", "spread", "median", pattern=name, function=one) for one in PAIR]
        for name in dict.fromkeys(RAW.values("spread", "spread", "pattern"))
    ]


PAIR = ("mainline", "pair")


def code_of(table):
    """Instructions of a table's code with 16 users in mainline, there again, in the series."""
    return [
        RAW.one("multiuser", "count", "tables", kernel=kernel, users=16)[table]
        for kernel in ("base", "again", "ours")
    ]


def own_code(table):
    base, again, ours = code_of(table)
    return ours / statistics.fmean([base, again])


def larger_code():
    """Tables whose code takes more, by more than mainline differs from itself."""
    for table in RAW.one("multiuser", "count", "tables", kernel="ours", users=16):
        base, again, _ = code_of(table)
        if base and own_code(table) > max(base, again) / min(base, again):
            yield table


def nodes_under(pressure):
    return statistics.median(pressed(pressure, "nodes"))


def chains(name, function):
    (one,) = RAW.rows("functions", "spread", set=name, function=function)
    return one


def histogram(number, name, function, was, what="hit"):
    mine, ours = chains(name, function), chains(name, "pair")
    chosen = ", whose keys were chosen for that," if number < 3 else ""
    return passage(
        f"The longest chain was {was}; it is {{}} in the model{chosen} and {{}} with hash_pair(). A "
        f"{'failed' if what == 'miss' else 'successful'} lookup examines {{:.2f}} and {{:.2f}} "
        "nodes, with a random function {:.2f}.",
        mine["longest"],
        ours["longest"],
        mine[what],
        ours[what],
        mine[f"{what}_ideal"],
    )


def of_2000():
    pair, mainline = hash_ns()
    found = medians()
    small = [nodes("small", table) for table in ("dentry", "inode")]
    own = [nodes("ours", table) for table in ("dentry", "inode")]
    base = base_count()
    yield passage(
        "lookup of a name examines {:.2f} nodes and one of an inode {:.2f}; with the default sizes "
        "{:.2f} and {:.2f}",
        *small,
        *own,
    )
    kernel = [insns("ours", "kernel_insns", users) for users in USERS]
    yield passage(
        "With 2, 4, 8 and 16 users the whole kernel takes {:.3f}, {:.3f}, {:.3f} and {:.3f} of "
        "mainline's instructions at the default sizes, and {:.3f} at those of 2.2.5 with 16 users "
        "(one run each; two of mainline differ by up to {:.1f}%)",
        *kernel,
        insns("small", "kernel_insns"),
        max(map(users_apart, USERS)),
    )
    lost = [
        (users, one) for users, one in zip(USERS, kernel) if 100 * one - 100 > users_apart(users)
    ]
    assert len(lost) == 2
    yield passage(
        "takes more instructions than mainline's with "
        + " and ".join(["{} users ({:.3f}, mainline differs by {:.1f}%)"] * 2),
        *(part for users, one in lost for part in (users, one, users_apart(users))),
    )
    yield passage(
        "worst case is {:.2f} times the nodes of a random function; mainline's is {:.0f} times",
        worst_pattern("pair"),
        worst_pattern("mainline"),
    )
    yield passage("{:.2f} instead of {:.2f} ns", pair, mainline)
    yield passage("default dentry table takes {:.1f} times the time", 1 / sixteenth("small", "hit"))
    yield passage(
        "{:.1f}% to {:.1f}% of the lookups hit instead of {:.1f}% to {:.1f}%",
        *(
            100 * end(pressed(pressure, "hit_rate"))
            for pressure in (1000, 100)
            for end in (min, max)
        ),
    )
    yield passage(
        "the lower median on {} of {} patterns of inode numbers, by up to {:.0f}%; on {} the "
        "difference is above 0.01 nodes",
        sum(one < other for one, other in found),
        len(found),
        100 * max(other / one for one, other in found) - 100,
        sum(other > one + 0.01 for one, other in found),
    )
    for key, ours, today in (
        ("inode", "hash_pair()", "mainline's function"),
        ("buffer", "hash_pair()", "hash_64()"),
        ("page", "the page hash's function", "hash_64()"),
    ):
        hit, failed = (of_guests(key, what) for what in ("hit", "miss"))
        yield passage(
            f"With the {key} keys of running kernels a lookup examines more nodes with {ours} than "
            f"with {today} in {{}} of {{}} tables: the median is {{:.3f}} times, the worst "
            "{:.2f}. If the lookup fails, the median is {:.3f} and the worst {:.2f}",
            sum(one > 1 for one in hit),
            len(hit),
            statistics.median(hit),
            max(hit),
            statistics.median(failed),
            max(failed),
        )
    yield passage(
        "({:.2f} and {:.2f} of a random function's at a load near 1) in {:.2f} ns. Over the "
        "patterns of Table 5 it reaches {:.2f} times",
        near_one("inode", "hash-64"),
        near_one("inode", "pair"),
        RAW.one("functions", "time", "waits_ns", key="inode", function="hash-64"),
        worst_pattern("sum"),
    )
    yield passage(
        ", ".join(f"{table} {{:.2f}}" for table in larger_code()) + " times",
        *map(own_code, larger_code()),
    )
    yield passage(
        "the original function examines up to {:.2f} times the nodes of a random function, the "
        "multiplicative one {:.2f} times, that of the series' page hash {:.2f} times",
        *(worst_nodes("page", one) for one in ("original", "mult", "slot")),
    )
    yield passage(
        "takes {:.3f} of mainline's instructions at a quarter of the sizes, {:.3f} at the default "
        "and {:.3f} at four times; the whole kernel takes {:.3f}, {:.3f} and {:.3f}",
        *(
            insns(kernel, what)
            for what in ("table_insns", "kernel_insns")
            for kernel in ("quarter", "ours", "four")
        ),
    )
    yield passage("{:.0f}% of it is saved in the page tree", tree_saves())
    yield passage(
        "(xor and mask) examines up to {:.2f} times the nodes of a random function, the "
        "multiplicative one with a full shift {:.2f} times, shift-add, which the report chose, "
        "{:.2f} times, hash_pair() {:.2f} times",
        *(worst_nodes("buffer", one) for one in ("original", "mult-full", "shift-add", "pair")),
    )
    yield passage(
        "The hash of a buffer takes {:.2f} ns. hash_64() takes {:.2f} ns and examines up to {:.2f} "
        "times",
        *(
            RAW.one("functions", "time", "waits_ns", key="buffer", function=one)
            for one in ("pair", "hash-64")
        ),
        worst_nodes("buffer", "hash-64"),
    )
    yield passage(
        "a lookup takes {:.2f} of the time when 10,000 names are cached ({:.2f} for a whole path), "
        "and {:.1f} times as long for these among 250,000",
        sixteenth("small", "hit"),
        sixteenth("small", "path"),
        sixteenth("among", "hit"),
    )
    yield passage(
        "each of the report's examines up to {:.2f} times the nodes of a random one. With "
        "vfs_cache_pressure at 1000 instead of 100, chains are shorter ({:.2f} instead of {:.2f} "
        "nodes), and a hit takes {:.2f} of the time. A step that includes the misses, on a file "
        "system in memory, takes {:.2f} of the time; this is within the noise",
        max(worst_nodes("dentry", one) for one in ("original", "addition", "mult-11", "mult-17")),
        nodes_under(1000),
        nodes_under(100),
        eager("lookup_ns"),
        eager("step_ns"),
    )
    assert max(pressed(1000, "step_ns")) > min(pressed(100, "step_ns"))
    yield passage(
        "examines {:.2f} nodes with the original function, {:.2f} with mainline's and {:.2f} with "
        "hash_pair(). On the keys "
        "of a running kernel mainline's function examines up to {:.2f} times the nodes of a random "
        "function, hash_pair() {:.2f} times. Over {} patterns of numbers and 100 addresses "
        "mainline's worst is {:.0f} times, for the synthetic stride of 2^40; the worst of "
        "hash_pair() is {:.2f} times",
        *(chains("paper-inodes-12", one)["miss"] for one in ("original", "mainline", "pair")),
        worst_nodes("inode", "mainline"),
        worst_nodes("inode", "pair"),
        len(found),
        RAW.one("spread", "spread", "worst", function="mainline", pattern="stride 2^40"),
        worst_pattern("pair"),
    )
    yield passage(
        "the code of the tables takes {:.3f} of its own; it is {:.1f}% of the kernel's. With the "
        "sizes of 2.2.5 (1024 names, 256 inodes) a lookup examines {:.2f} and {:.2f} nodes, and "
        "the tables take {:.3f}. This load looks up only {} inodes",
        insns("ours", "table_insns"),
        100 * base["table_insns"] / base["kernel_insns"],
        *small,
        insns("small", "table_insns"),
        RAW.one("multiuser", "nodes", "tables", kernel="ours", users=16)["inode"]["lookups"],
    )
    yield histogram(1, "paper-buffers", "original", 116)
    yield histogram(2, "paper-buffers-after", "original", 80)
    yield histogram(3, "paper-buffers", "mult-11", 11)
    yield histogram(4, "paper-buffers-after", "mult-11", 6)
    yield histogram(5, "paper-inodes", "original", 54, "miss")
    counted = RAW.one("multiuser", "nodes", "tables", kernel="ours", users=16)
    yield passage(
        "a dentry lookup examines {:.2f} nodes and an inode lookup {:.2f}; at the sizes of 2.2.5 "
        "they examine {:.2f} and {:.2f}. Of these lookups {:.0f}% and {:.0f}% hit",
        *own,
        *small,
        *(100 * of["hits"] / of["lookups"] for of in (counted["dentry"], counted["inode"])),
    )
    yield passage(
        "takes {:.1f} instructions instead of {:.1f}",
        searched("patched", "on"),
        searched("base", "off"),
    )
    # The report's own.
    yield constant("The report measured 38.978 nodes for a lookup of an inode")
    yield constant("The report counted 2.155 nodes")
    yield constant("The report counted 1.379 nodes")
    # Buckets are in hashstats.rst, which no benchmark writes.
    yield constant("1,144 KiB, 0.11% of it")
    found = [
        one["insns"] / one["operations"]
        for one in RAW.rows("htree", "phase", kernel="ours", phase="lookup")
    ]
    cached = RAW.least("lines", "lines", "insns", kernel="ours", operation="ext4 stat")
    yield passage(
        "{:,.0f} to {:,.0f} instructions if neither name nor inode is in memory, and {:,.0f} if "
        "they are: a miss takes at least {:.1f} times as many, before any disk is read. The search "
        "of the dentry table takes {:.0f} of them",
        min(found),
        max(found),
        cached,
        min(found) / cached,
        searched("patched", "off"),
    )
    yield passage(
        "examines up to {:.2f} times the nodes of GOLDEN_RATIO_64, on keys that differ in the "
        "upper half {:.2f} times. A 32-bit prime under a 64-bit shift, which nobody proposed, "
        "examines {:,.0f} times",
        to_64("hash-32", True),
        to_64("hash-32", False),
        to_64("const-32", True),
    )


def searched(kernel, counting):
    """Instructions of __d_lookup_rcu(), and of the counting, for each call."""
    runs = RAW.rows("hashstats", "count", kernel=kernel, counting=counting)
    name = "__d_lookup_rcu"
    parts = (name, "d_count_lookup", "hashstats_count_lookup")
    insns = sum(one["insns"].get(part, 0) for one in runs for part in parts)
    return insns / sum(one["entries"][name] for one in runs)


# 2004.

FOUR = ("write", "random-write", "read", "random-read")
PHASES = {
    "write": "Write",
    "random-write": "Random Write",
    "read": "Read",
    "random-read": "Random Read",
    "page-locks": "Page Locks",
    "same-pages": "Same Pages",
    "buffer-locks": "Buffer Locks",
}


def seconds(kernel, phase):
    """Of a processor, each round."""
    return [
        one["seconds"] * (one["user_percent"] + one["system_percent"]) / 100
        for one in RAW.rows("herd", "throughput", kernel=kernel, phase=phase)
    ]


def rounds(kernel, phase, what):
    return RAW.values("herd", "throughput", what, kernel=kernel, phase=phase)


def herd_ratio(phase, of):
    return statistics.median(of("ours", phase)) / statistics.median(of("base", phase))


def apart_by(of, phase):
    """How much mainline's rounds of a phase differ."""
    base = of("base", phase)
    return max(base) / min(base) - 1


def itself(of):
    """How much mainline's rounds of each phase differ, in percent."""
    return [100 * apart_by(of, phase) for phase in PHASES]


def switches(kernel, phase):
    return rounds(kernel, phase, "context_switches")


def insns_of(what):
    return lambda kernel, phase: RAW.values(
        "herd", "instructions", what, kernel=kernel, phase=phase
    )


def moved(kernel, phase):
    """MB for a second of a processor, each round."""
    return [
        100 * one["mb_per_second"] / (one["user_percent"] + one["system_percent"])
        for one in RAW.rows("herd", "throughput", kernel=kernel, phase=phase)
    ]


def foreign(kernel, phases, what):
    runs = [
        one for name in phases for one in RAW.rows("herd", "counters", kernel=kernel, phase=name)
    ]
    return sum(one[what] - one["matched"] for one in runs) / sum(one["wakes"] for one in runs)


def paired_rate(phase):
    """The median of the ratios of the rounds."""
    pairs = zip(*(rounds(kernel, phase, "mb_per_second") for kernel in ("ours", "base")))
    return statistics.median(ours / base for ours, base in pairs)


def of_2004():
    more = [herd_ratio(phase, seconds) for phase in PHASES]
    yield passage(
        "a wakeup of mainline calls {:.2f} wake functions of other waiters, one of the series "
        "{:.2f}",
        foreign("base", FOUR, "called"),
        foreign("ours", FOUR, "called"),
    )
    lost = sum(one > 1 for one in more[:4])
    yield passage(
        "In these phases the series takes {:.2f}, {:.2f}, {:.2f}, {:.2f} times mainline's processor "
        "time" + (": more in {} of {}" if lost else "") + ". In three herds of our own it takes "
        "{:.2f}, {:.2f}, {:.2f} times. Mainline's own rounds differ by {:.1f}% to {:.1f}%",
        *more[:4],
        *((lost, len(FOUR)) if lost else ()),
        *more[4:],
        min(itself(seconds)),
        max(itself(seconds)),
    )
    load = RAW.data["herd"]["machine"]["load_average"]
    if load >= 1:
        yield passage("the load average was {:.1f} on 2 processors", load)
    what = ("kernel_insns", "code_insns")
    counted = [[herd_ratio(phase, insns_of(one)) for phase in PHASES] for one in what]
    yield passage(
        "Counted on one processor, the kernel executes {:.3f} to {:.3f} times mainline's "
        "instructions. The code that finds pages and buffers and waits for them executes {:.3f} to "
        "{:.3f} times (mainline against itself: up to {:.1f}%)",
        *(edge(one) for one in counted for edge in (min, max)),
        max(max(itself(insns_of(one))) for one in what),
    )
    yield passage(
        "Processor time is {:.2f}, {:.2f}, {:.2f}, {:.2f} times mainline's. This shows nothing, "
        "since mainline's own rounds differ by up to {:.1f}%. Counted instructions of the kernel "
        "are {:.3f} to {:.3f} times",
        *more[:4],
        max(itself(seconds)),
        min(counted[0]),
        max(counted[0]),
    )
    where, *most = max(zip(PHASES, more, counted[0]), key=lambda one: max(one[1:]) / min(one[1:]))
    yield passage(
        f"Time and instructions differ most in {PHASES[where]}: {{:.2f}} and {{:.3f}} times "
        "mainline's",
        *most,
    )
    for phase, name in PHASES.items():
        base, ours = (seconds(kernel, phase) for kernel in ("base", "ours"))
        if statistics.median(ours) / statistics.median(base) > max(base) / min(base):
            yield passage(
                f"CPU: {name} takes {{:.2f}} times mainline's processor time: {{:.3f}} and {{:.3f}} s "
                "against {:.3f} and {:.3f} s",
                herd_ratio(phase, seconds),
                *ours,
                *base,
            )
    for phase, name in PHASES.items():
        base, ours = (rounds(kernel, phase, "mb_per_second") for kernel in ("base", "ours"))
        # As the losses have it: of the seconds of a MB.
        ratio = statistics.median(1 / one for one in base) / statistics.median(
            1 / one for one in ours
        )
        apart = 100 * max(base) / min(base) - 100
        if 1 / ratio > 1 + apart / 100:
            yield passage(
                f"threads: {name} has {{:.3f}} of mainline's MB/s. Mainline's own rounds differ by "
                f"{{:.{1 if apart >= 0.1 else 2}f}}%",
                ratio,
                apart,
            )
        base, ours = (switches(kernel, phase) for kernel in ("base", "ours"))
        if min(ours) > max(base):
            yield passage(
                f"CPU: {name}: {{:.0f}} and {{:.0f}} MB/s against {{:.0f}} and {{:.0f}}, and {{:.0f}} and "
                "{:.0f} context switches against {:.0f} and {:.0f}",
                *(
                    one
                    for what in ("mb_per_second", "context_switches")
                    for kernel in ("ours", "base")
                    for one in rounds(kernel, phase, what)
                ),
            )
    rates = [paired_rate(phase) for phase in FOUR]
    yield passage("the series has {:.3f} to {:.3f} of mainline's", min(rates), max(rates))
    # What the mail has of 2004.
    yield passage(
        "moves {:.2f}, {:.2f}, {:.2f}, {:.2f} times what it moves in mainline; in 2004 it was 1.02 "
        "to 2.36 times",
        *(herd_ratio(phase, moved) for phase in FOUR),
    )
    yield passage(
        "calls {:.2f} wake functions of other waiters, the series {:.2f}, and it looks at {:.3f} "
        "other waiters",
        foreign("base", FOUR, "called"),
        foreign("ours", FOUR, "called"),
        foreign("ours", FOUR, "examined"),
    )
    yield passage(
        "256 queues the series calls {:.2f} and looks at {:.2f}. With three herds of our own "
        "mainline calls {:.2f}",
        foreign("ours-256", FOUR, "called"),
        foreign("ours-256", FOUR, "examined"),
        foreign("base", PHASES, "called"),
    )
    found = {phase: herd_ratio(phase, switches) for phase in PHASES}
    lost = {phase: one for phase, one in found.items() if one > 1 + apart_by(switches, phase)}
    worst = max(lost or found, key=found.__getitem__)
    yield passage(
        "has {:.2f} to {:.2f} times mainline's context switches; the worst of all seven, "
        f"{PHASES[worst]}, has {{:.2f}} times",
        *(end(found[phase] for phase in FOUR) for end in (min, max)),
        found[worst],
    )


# 2015.

CELL = ("system", "processes", "files", "values")
SEED = common.ROOT / "harness/report/mbcache-2015.txt"


def cells():
    """Cells of the mail's table: a run of the series, and mainline's runs of the same."""
    for kind, what in (("count", "insns"), ("count", "mbcache_insns"), ("seconds", "seconds")):
        rounds: dict = {}
        for one in RAW.rows("xattr", kind):
            if one["kernel"] != "disabled":
                sides = rounds.setdefault(tuple(one[name] for name in CELL), ([], []))
                sides[one["kernel"] == "ours"].append(one[what])
        for (system, *_), sides in rounds.items():
            yield what, system, *map(statistics.median, sides)


def disabled(kernel):
    """Seconds of a kernel divided by those without the cache, in each cell of ext4."""
    found: dict = {}
    for one in RAW.rows("xattr", "seconds", system="ext4"):
        cell = found.setdefault(tuple(one[name] for name in CELL), {})
        cell.setdefault(one["kernel"], []).append(one["seconds"])
    return [
        statistics.median(cell[kernel]) / statistics.median(cell["disabled"])
        for cell in found.values()
    ]


def shares():
    """Of what a cell saves, what mbcache saves; where something is saved."""
    own = [(base, ours) for what, _, base, ours in cells() if what == "mbcache_insns"]
    every = [(base, ours) for what, _, base, ours in cells() if what == "insns"]
    return [
        (own_base - own_ours) / (base - ours)
        for (own_base, own_ours), (base, ours) in zip(own, every)
        if ours / base < 0.995
    ]


def beyond(what, system):
    (ours,) = RAW.values("xattr", "beyond", what, kernel="ours", system=system)
    below = [
        one[what]
        for kernel in ("base", "again")
        for one in RAW.rows("xattr", "beyond", kernel=kernel, system=system)
    ]
    return ours / statistics.fmean(below)


def mail_cells():
    for line in SEED.read_text().splitlines():
        if line[:1].isdigit():
            for word in line.split()[1:]:
                *_, referenced, disabled = word.split(",")
                yield float(referenced) / float(disabled)


def mbcache(op, side, entries=16384, cache="hot"):
    return RAW.median("mbcache", "mbcache", "ns", side=side, op=op, cache=cache, entries=entries)


def of_2015():
    slower = {
        system: [
            ours / base for what, of, base, ours in cells() if (what, of) == ("seconds", system)
        ]
        for system in ("ext4", "ext2")
    }
    every = [one for of in slower.values() for one in of]
    above = sum(one > 1 for one in every)
    # A loss only if it is one on the whole.
    if statistics.median(every) > 1:
        yield passage(
            "takes longer in {} of {} cells of the mail's table: the median is {:.3f} times mainline's "
            "seconds, the worst {:.2f} on ext4 and {:.2f} on ext2",
            above,
            len(every),
            statistics.median(every),
            *map(max, slower.values()),
        )
    saved = [1 - ours / base for what, _, base, ours in cells() if what == "insns"]
    much = [one for one in saved if one > 0.005]
    yield passage(
        "a cell takes {:.2f} to {:.2f} times mainline's, the median {:.3f}, and {} of {} cells take "
        "longer. By instructions {} of {} cells take {:.1f}% to {:.1f}% less. This is not mbcache: "
        "it takes more itself in {} of these cells, and gives at most {:.0f}% of what the others "
        "save",
        min(every),
        max(every),
        statistics.median(every),
        above,
        len(every),
        len(much),
        len(saved),
        100 * min(much),
        100 * max(much),
        sum(one < 0 for one in shares()),
        100 * max(shares()),
    )
    for of in RAW.rows("xattr", "differences"):
        saved = {
            name: (base + again) / 2 - ours
            for name, (base, ours, again) in (of["objects"] | {"": of["insns"]}).items()
        }
        whole = saved.pop("")
        least, *_, third, second, first = sorted(saved, key=saved.__getitem__)
        if whole > 0:
            yield passage(
                f"On {of['system']} all cells together save {{:.1f}}% of their instructions: "
                f"{{:.0f}}% in {first}, {{:.0f}}% in {second}, {{:.0f}}% in {third} of this; "
                f"{{:.0f}}% are lost in {least}",
                100 * whole / of["insns"][0],
                *(100 * abs(saved[name]) / whole for name in (first, second, third, least)),
            )
    own = [ours / base for what, _, base, ours in cells() if what == "mbcache_insns"]
    yield passage(
        "The code of mbcache takes more instructions than mainline's in {} of {} cells: the median "
        "is {:.2f} times, the worst {:.2f}. It executes at most {:.1f}% of a cell's instructions",
        sum(one > 1 for one in own),
        len(own),
        statistics.median(own),
        max(own),
        100
        * max(
            one["mbcache_insns"] / one["insns"] for one in RAW.rows("xattr", "count", kernel="ours")
        ),
    )
    yield passage(
        "Mainline takes {:.2f} to {:.2f} times the seconds of the disabled cache, the median "
        "{:.2f}, and the series {:.2f} to {:.2f} times, the median {:.2f}. The mail's rewrite takes "
        "{:.2f} to {:.2f} times",
        *(
            of(disabled(kernel))
            for kernel in ("base", "ours")
            for of in (min, max, statistics.median)
        ),
        min(mail_cells()),
        max(mail_cells()),
    )
    of = RAW.rows("xattr", "beyond")[0]
    yield passage(
        "With {:,} files and {:,} values, more than mainline's cache may hold, the series takes "
        "{:.2f} of mainline's instructions on ext4 and {:.2f} on ext2, and {:.2f} of its blocks",
        of["files"],
        of["values"],
        beyond("insns", "ext4"),
        beyond("insns", "ext2"),
        max(beyond("blocks", system) for system in ("ext4", "ext2")),
    )
    ops = ("hit", "miss", "create_delete")
    found = [
        [mbcache(op, side, cache=cache) / mbcache(op, "base", cache=cache) for op in ops]
        for cache in ("hot", "cold")
        for side in ("ours", "ours_old_size")
    ]
    yield passage(
        "an operation in the CPU's cache takes {:.2f} to {:.2f} of mainline's time; with mainline's "
        "1024 buckets {:.2f} to {:.2f}. Out of the CPU's caches it takes {:.2f} to {:.2f}, with "
        "1024 buckets {:.2f} to {:.2f}",
        *(end(of) for of in found for end in (min, max)),
    )
    few = {op: mbcache(op, "ours", 1000) / mbcache(op, "base", 1000) for op in ops}
    worst = max(few, key=few.__getitem__)
    if few[worst] > 1.05:
        yield passage(
            f"With 1000 entries a {worst.replace('_', ' and ')} takes {{:.2f}} times mainline's",
            few[worst],
        )


# 2005.


def structure(index, op, order, side="ours", bits=19):
    return RAW.least(
        "index",
        "structures",
        "min_ns",
        side=side,
        index=index,
        op=op,
        how="alone",
        order=order,
        bits=bits,
    )


def to_base(op, order, bits):
    ours, base = (structure("xarray_kernel", op, order, side, bits) for side in ("ours", "base"))
    return ours / base


def figure(op):
    """The XArray and the best of all, in sequence and at random."""
    names, numbers = [], []
    for order in ("sequential", "random"):
        of = {
            index: structure(index, op, order)
            for index in dict.fromkeys(RAW.values("index", "structures", "index"))
        }
        names.append(min(of, key=of.__getitem__))
        base = structure("xarray_kernel", op, order, "base")
        numbers += [of["xarray_kernel"], base, min(of.values())]
    return passage(
        f"{op} of the series' XArray takes this part of mainline's time: in sequence {{:.2f}} and "
        "{:.2f} and at "
        f"random {{:.2f}} and {{:.2f}}. With 2^19 entries it takes {{:.1f}} ns in sequence "
        f"(mainline's {{:.1f}}; {names[0]}: {{:.1f}}) and {{:.1f}} ns at random (mainline's "
        f"{{:.1f}}; {names[1]}: {{:.1f}})",
        *(to_base(op, order, bits) for order in ("sequential", "random") for bits in (15, 19)),
        *numbers,
    )


def longer(op):
    """Orders in which the XArray takes longer at most sizes."""
    for order, where in (("sequential", "in sequence"), ("random", "at random")):
        ratios = [to_base(op, order, bits) for bits in (12, 15, 17, 19)]
        if statistics.median(ratios) > 1:
            yield passage(
                f"{op.capitalize()}s of the XArray {where} take {{:.2f}}, {{:.2f}}, {{:.2f}}, "
                "{:.2f} of mainline's time with 2^12, 2^15, 2^17, 2^19 entries",
                *ratios,
            )


def xarray(op, how, order, bits, side):
    """In steps of a chain of multiplications: without the processor's clock."""
    return RAW.least("index", "xarray", "steps", side=side, op=op, how=how, order=order, bits=bits)


# In nanoseconds: it does not fit the cache.
LARGE = {"op": "lookup", "how": "dependent", "order": "random", "bits": 20}


def xarray_ratio(*cell):
    return xarray(*cell, "ours") / xarray(*cell, "base")


def atomics(operation, how, what="atomics", place="ext4", folios="small", kernel="ours"):
    """Of 256 pages."""
    return RAW.least(
        "atomics",
        "atomics",
        what,
        kernel=kernel,
        place=place,
        folios=folios,
        operation=operation,
        how=how,
        pages=256,
    )


def lost_operations(kind):
    """(cells, lost), and of the worst: its ratio, mainline's own, where it is."""
    keys = ("index", "op", "how", "order", "bits")
    of: dict = {}
    for one in RAW.rows("index", kind):
        value = one["steps" if one["bits"] <= {"xarray": 17, "pages": 12}[kind] else "min_ns"]
        sides = of.setdefault(tuple(one[key] for key in keys), ([], []))
        if one["side"] != "page_hash":
            sides[one["side"] == "ours"].append(value)
    lost = [
        (statistics.median(ours) / statistics.median(base), max(base) / min(base), where)
        for where, (base, ours) in of.items()
    ]
    lost = [one for one in lost if one[0] > one[1]]
    return (len(of), len(lost)), max(lost)


def of_2005():
    yield passage(
        "2^19 entries take {:.2f} of the time with 2^8 slots",
        structure("xarray_8", "lookup", "sequential")
        / structure("xarray_kernel", "lookup", "sequential"),
    )
    most = max(
        RAW.rows("readers", "locks", mode="sequential"), key=lambda one: one["index_acquisitions"]
    )
    yield passage(
        "with 1 to {} threads, and in both kernels, the lock of an index is taken at most {:.0f} "
        "times, in {:,.0f} reads",
        max(RAW.values("readers", "locks", "threads", mode="sequential")),
        most["index_acquisitions"],
        most["reads"],
    )
    yield constant("the paper asks for that in 3.1")
    for op in ("lookup", "insert", "delete"):
        yield figure(op)
        yield from longer(op)
    yield passage("at random it takes {:.0f} ns", structure("threaded_rbtree", "lookup", "random"))
    yield passage(
        "A read of ext4 takes {:.2f} atomics a page one by one and {:.2f} together, and no lock: a "
        "gang lookup saves nothing. On XFS, where a read takes a lock of the inode, it is {:.2f} "
        "and {:.2f}",
        *(
            atomics("read", how, place=place) / 256
            for place in ("ext4", "xfs")
            for how in ("one", "together")
        ),
    )
    yield passage(
        "index locks fall from {:.0f} to {:.3f} a page, its atomics from {:.0f} to {:.1f}. A write "
        "takes {:.0f} index locks a page either way, and with large folios of XFS {:.3f}",
        *(
            atomics("truncate", how, what) / 256
            for what in ("index_locks", "atomics")
            for how in ("one", "together")
        ),
        atomics("write", "together", "index_locks") / 256,
        atomics("write", "together", "index_locks", place="xfs", folios="large") / 256,
    )
    yield passage(
        "a read of 256 pages of XFS together takes {:.0f} atomics with small folios and {:.0f} with "
        "a large one",
        *(
            atomics("read", "together", place="xfs", folios=folios, kernel="base")
            for folios in ("small", "large")
        ),
    )
    yield passage(
        "a write of 256 pages of ext4 takes {:.0f} atomics instead of {:.0f}",
        *(atomics("write", "together", kernel=kernel) for kernel in ("hash", "base")),
    )
    marks = [
        xarray_ratio(op, how, order, bits)
        for op, how in (("set_mark", "all"), ("clear_mark", "most"), ("get_mark", "all"))
        for order in ("sequential", "random")
        for bits in (12, 15, 17)
    ]
    yield passage(
        "to set, clear or read a mark takes {:.2f} to {:.2f} of mainline's time",
        min(marks),
        max(marks),
    )
    yield passage(
        "waits for the one before takes {:.2f}, {:.2f}, {:.2f}, {:.2f} of mainline's time",
        *(xarray_ratio("lookup", "dependent", "random", bits) for bits in (12, 15, 17)),
        RAW.least("index", "xarray", "min_ns", side="ours", **LARGE)
        / RAW.least("index", "xarray", "min_ns", side="base", **LARGE),
    )
    cell = {"op": "lookup", "how": "independent", "order": "random", "bits": 20}
    yield passage(
        "among 2^20 pages of one file takes {:.2f}, and {:.2f} with the page hash",
        *(
            RAW.least("index", "pages", "min_ns", side=side, **cell)
            / RAW.least("index", "pages", "min_ns", side="base", **cell)
            for side in ("ours", "page_hash")
        ),
    )
    for kind, what in (("xarray", "operations of the XArray"), ("pages", "lookups of pages")):
        every, worst = lost_operations(kind)
        yield passage(
            f"takes longer in {{}} of {{}} {what}, by more than mainline differs from itself. The "
            "worst ({}, bits {}) takes {:.2f} times mainline's time, where mainline differs by "
            "{:.1f}%".replace("{}, bits", ", ".join(worst[2][:-1]) + ", bits"),
            every[1],
            every[0],
            worst[2][-1],
            worst[0],
            100 * worst[1] - 100,
        )
    cell["how"] = "dependent"
    found = [
        RAW.values("index", "xarray", "min_ns", side=side, **cell) for side in ("base", "ours")
    ]
    if max(found[0]) >= 1.5 * min(found[0]):
        yield passage(
            "the same lookup takes mainline {:.0f} to {:.0f} ns and the series {:.0f} to {:.0f} ns",
            *(end(of) for of in found for end in (min, max)),
        )


# 2002.

HASHES = ("legacy", "half_md4", "tea")
PATTERNS = ("number", "mail")


def phase(kernel, name, pattern, which, what="insns"):
    (one,) = RAW.rows("htree", "phase", kernel=kernel, hash=name, pattern=pattern, phase=which)
    return one[what] / one["operations"]


def phase_ratios(which, what="insns"):
    return [
        phase("ours", name, pattern, which, what) / phase("base", name, pattern, which, what)
        for pattern in PATTERNS
        for name in HASHES
    ]


def saved(what, pattern):
    """Of a lookup, by half-MD4."""
    base, ours = (phase(kernel, "half_md4", pattern, "lookup", what) for kernel in ("base", "ours"))
    return base - ours


def filled(when, name, pattern):
    return RAW.one(
        "htree", "leaves", "filled", kernel="ours", when=when, hash=name, pattern=pattern
    )


def half_md4(length, hash_="half_md4", how="stream", compiler="plain"):
    (one,) = RAW.rows("halfmd4", "names", length=length, hash=hash_, how=how, compiler=compiler)
    return one["ours_ns"] / min(one["base_ns"], one["again_ns"])


def extra_insns(kernel, which):
    """Percent of instructions that half-MD4 takes more than the legacy hash, by pattern."""
    return [
        100 * phase(kernel, "half_md4", pattern, which) / phase(kernel, "legacy", pattern, which)
        - 100
        for pattern in PATTERNS
    ]


def of_2002():
    yield passage(
        "{:.0f} to {:.0f} bytes with names number, {:.0f} to {:.0f} bytes with names mail",
        *(
            end(filled("created", name, pattern) for name in HASHES)
            for pattern in PATTERNS
            for end in (min, max)
        ),
    )
    assert all(
        filled("created", "half_md4", pattern) >= filled("created", name, pattern)
        for name in HASHES
        for pattern in PATTERNS
    )
    yield passage(
        "takes {:.1f}% more instructions with names number (the hash itself is {:.1f}% of a "
        "create) and {:.1f}% more instructions with names mail (the hash itself is {:.1f}% of a "
        "create) than the legacy hash. In mainline it takes {:.1f}% and {:.1f}% more",
        *(
            100 * one
            for pattern in PATTERNS
            for half in [phase("ours", "half_md4", pattern, "create")]
            for one in (
                half / phase("ours", "legacy", pattern, "create") - 1,
                phase("ours", "half_md4", pattern, "create", "hash_insns") / half,
            )
        ),
        *extra_insns("base", "create"),
    )
    yield passage(
        "The legacy hash takes up to {:.1f}% more instructions than mainline's",
        100
        * max(
            phase("ours", "legacy", pattern, which, "hash_insns")
            / phase("base", "legacy", pattern, which, "hash_insns")
            for pattern in PATTERNS
            for which in ("create", "lookup", "churn")
        )
        - 100,
    )
    found = phase_ratios("lookup")
    ours, base = (extra_insns(kernel, "lookup") for kernel in ("ours", "base"))
    yield passage(
        "half-MD4 takes {:.1f}% more instructions than the legacy hash with names number (mainline: "
        "{:.1f}%) and {:.1f}% more instructions than the legacy hash with names mail (mainline: "
        "{:.1f}%). The series takes {:.3f} to {:.3f} of mainline's instructions. Of what half-MD4 "
        "saves, the hash gives {:.0f}% with names number and {:.0f}% with names mail",
        ours[0],
        base[0],
        ours[1],
        base[1],
        min(found),
        max(found),
        *(100 * saved("hash_insns", pattern) / saved("insns", pattern) for pattern in PATTERNS),
    )
    for pattern in PATTERNS:
        yield passage(
            f"With names {pattern}, leaves keep {{:.2f}} (legacy), {{:.2f}} (half_md4), {{:.2f}} "
            "(tea) of what was filled.",
            *(
                filled("churned", name, pattern) / filled("created", name, pattern)
                for name in HASHES
            ),
        )
        # Not of each pattern, but with LONG=1.
        if RAW.rows("htree", "leaves", when="churned more", pattern=pattern):
            yield passage(
                f"With names {pattern}, leaves keep {{:.2f}} (legacy), {{:.2f}} (half_md4), "
                "{:.2f} (tea) of what was filled after {} times as many removals",
                *(
                    filled("churned more", name, pattern) / filled("created", name, pattern)
                    for name in HASHES
                ),
                1
                + RAW.one(
                    "htree",
                    "phase",
                    "operations",
                    kernel="ours",
                    phase="longer_churn",
                    hash="tea",
                    pattern=pattern,
                )
                // RAW.one(
                    "htree",
                    "phase",
                    "operations",
                    kernel="ours",
                    phase="churn",
                    hash="tea",
                    pattern=pattern,
                ),
            )
    yield passage(
        "255 bytes take {:.2f}, {:.2f}, {:.2f}, {:.2f} of mainline's time",
        *map(half_md4, (8, 16, 32, 255)),
    )
    yield passage("24 bytes of TEA take {:.2f}", half_md4(24, "tea"))
    yield passage(
        "32 bytes take {:.2f} of mainline's time, not {:.2f}",
        half_md4(32, how="chain"),
        half_md4(32),
    )


# What a benchmark counts of the kernel, and what says which cell it is.
COUNTED = {
    "herd": ("instructions", "kernel_insns", ("phase",)),
    "xattr": ("count", "insns", CELL),
    "readers": ("instructions", "insns", ("place", "mode")),
    "multiuser": ("count", "kernel_insns", ("users",)),
    "htree": ("phase", "insns", ("pattern", "hash", "phase")),
    "inode": ("instructions", "all_insns", ("system", "phase")),
    "buffer": ("instructions", "kernel_insns", ("blocks", "phase")),
    "crowd": ("count", "all_insns", ("crowd", "operation", "size")),
}


def repeats(raw):
    """{benchmark: percent by which mainline's runs of its worst cell differ}, if some ran twice."""
    found = {
        name: worst_spread(name, *of, raw=raw) for name, of in COUNTED.items() if name in raw.data
    }
    return {name: percent for name, percent in found.items() if percent}


def of_the_introduction():
    for start, raw, end in (
        ("two runs of mainline differ by ", RAW, " of the kernel's instructions"),
        ("On Linux 7.3, they differ by ", EVERY["7.3"], ""),
    ):
        *most, last = [f"{{:.1f}}% (bench-{name})" for name in repeats(raw)]
        yield passage(f"{start}{', '.join(most)} and {last}{end}", *repeats(raw).values())
    loads = [one["machine"]["load_average"] for one in EVERY["7.3"].data.values()]
    yield passage("the load average was {:.1f} to {:.1f} on 2", min(loads), max(loads))


@functools.cache
def passages():
    parts = (of_the_introduction, of_2000, of_2004, of_2015, of_2005, of_2002)
    return [one for part in parts for one in part()]


def test_each_sentence_is_computed_again():
    assert not "\n".join(faults(prose(FIRST.read_text()), passages()))


@pytest.mark.parametrize(
    "before,after",
    [
        ("takes 0.69 of", "takes 0.68 of"),
        ("of the control\n", "of the control 0.99\n"),
        ("The disk sets the rate", "The disk sets 0.99 of the rate"),
    ],
)
def test_another_number_is_a_fault(before, after):
    text = prose(FIRST.read_text())
    assert before in text
    assert faults(text.replace(before, after), passages())


@pytest.mark.parametrize("document", run.DOCUMENTS, ids=lambda module: module.__name__)
def test_pages_of_documents_have_the_same_answers(document):
    name = document.__name__.rpartition(".")[2]
    page = " ".join(FIRST.with_name(f"{FIRST.stem}-{name}.rst").read_text().split())
    first = " ".join(FIRST.read_text().split())
    for section in document.sections(stored.Results(*stored.machines())):
        assert section.answer in page and section.answer in first
        assert all(sentence in first for sentence in section.lost), section.name


def worst_spread(name, kind, what, keys, raw=RAW, **wanted):
    """The largest value of mainline divided by the least, of the worst cell, in percent."""
    of: dict = {}
    for kernel in ("base", "again"):
        for one in raw.rows(name, kind, **{"kernel": kernel} | wanted):
            value = what(one) if callable(what) else one[what]
            of.setdefault(tuple(one[key] for key in keys), []).append(value)
    return 100 * max((max(each) / min(each) for each in of.values()), default=1) - 100


@pytest.mark.parametrize(
    "section,noise",
    [
        (
            "Tiotest with 512",
            max(
                worst_spread("herd", "throughput", "mb_per_second", ["phase"], phase=phase)
                for phase in FOUR
            ),
        ),
        (
            "Throughput scaled",
            worst_spread(
                "herd",
                "throughput",
                lambda one: one["seconds"] * (one["user_percent"] + one["system_percent"]),
                ["phase"],
            ),
        ),
        ("Table 6", worst_spread("multiuser", "count", "kernel_insns", ["users"])),
        ("Table 2 ", worst_spread("multiuser", "count", "table_insns", ["users"])),
        ("The table of V", worst_spread("xattr", "count", "insns", CELL)),
    ],
)
def test_noise_of_the_control(section, noise):
    row = FIRST.read_text().partition(f"**{section}")[2].partition("\n   * ")[0]
    assert f"{noise:.1f}%" in row.splitlines()[-1] + row.splitlines()[-2]


# Losses, of whatever a benchmark stored.

MAINLINE = ("base", "again")
SERIES = ("ours", "patched", "hash", "page_hash")
# Words and numbers that say which cell a row is.
IDENTITY = """
    place folios operation how pages blocks phase crowd size hash pattern system processes files
    values op cache entries index order bits users mode threads compiler key layout foreign
    counting names length cpus
"""
# (benchmark, kind) -> what is compared; "-" stands before what should be large.
COMPARED = {
    ("atomics", "atomics"): "atomics index_locks insns",
    ("buffer", "instructions"): "kernel_insns lookup_insns",
    ("buffer", "locks"): "acquisitions",
    ("buffer", "seconds"): "microseconds",
    ("contention", "contention"): "ns",
    ("crowd", "count"): "all_insns",
    ("crowd", "seconds"): "nanoseconds",
    ("halfmd4", "names"): "ns",
    ("hashstats", "count"): "insns",
    ("herd", "throughput"): "-mb_per_second context_switches processor",
    ("herd", "instructions"): "kernel_insns code_insns",
    ("htree", "phase"): "insns hash_insns names_insns seconds",
    ("index", "xarray"): "ns",
    ("index", "pages"): "ns",
    ("index", "structures"): "ns",
    ("inode", "instructions"): "all_insns insns",
    ("inode", "locks"): "acquisitions hottest",
    ("inode", "throughput"): "-rate",
    ("lines", "lines"): "transfers insns",
    ("mbcache", "mbcache"): "ns",
    ("multiuser", "rate"): "-rate",
    ("multiuser", "count"): "kernel_insns table_insns",
    ("readers", "instructions"): "insns",
    ("readers", "throughput"): "-rate",
    ("wake", "wake"): "min_ns",
    ("xattr", "beyond"): "insns blocks",
    ("xattr", "count"): "insns mbcache_insns blocks",
    ("xattr", "seconds"): "seconds",
}
# Groups of which a document's sentence speaks.
IN_A_DOCUMENT = {
    "herd, processor time",
    "herd, MB/s",
    "herd, context switches",
    "xattr, instructions",
    "xattr, instructions of mbcache",
    "mbcache, ns",
    "index, XArray, ns",
    "index, pages, ns",
    "index, page hash, ns",
    "index, XArray among structures, ns",
    "atomics, atomics",
    "atomics, page hash, atomics",
    "multiuser, instructions",
    "multiuser, of each table",
    "htree, instructions of the hash",
    "functions, ns of a hash, buffer",
    "functions, ns of a hash, inode",
    *(
        f"functions, nodes on {key} keys, {what}"
        for key in FUNCTIONS
        for what in ("found", "failed")
    ),
    "spread, median nodes",
    "spread, 95th percentile of nodes",
    "spread, worst nodes",
    "spread, ns of a hash",
}
# Kinds of runs that compare nothing, or whose page is another.
ELSEWHERE = {
    ("buffer", "contentions"): "locks that were taken at once: chance",
    ("herd", "counters"): "wakeups: a table of its own",
    ("htree", "leaves"): "the same in both",
    ("inode", "walk"): "chains by one address: chance",
    ("multiuser", "nodes"): "of the series alone",
    ("readers", "locks"): "with lock_stat, which costs more than the locks",
}


def compared(name, kind, one):
    """(side, values by name) of each comparison that a row is part of."""
    if name == "halfmd4":
        for side in ("base", "again", "ours"):
            yield side, {"ns": one[f"{side}_ns"]}
        return
    side = one["kernel" if "kernel" in one else "side"]
    values = {}
    for what in COMPARED[name, kind].split():
        field = what.lstrip("-")
        if field == "processor":
            percent = one["user_percent"] + one["system_percent"]
            value = one["seconds"] * percent
        elif field == "ns" and name == "index":
            least = {"xarray": 17, "pages": 12, "structures": 0}[kind]
            value = one["steps" if one["bits"] <= least else "min_ns"]
        else:
            value = one[field]
        if isinstance(value, dict):
            value = sum(value.values())
        values[field] = 1 / value if what[0] == "-" else value
    yield side, values
    for field in ("tables", "lookup_insns"):
        if name in ("multiuser", "crowd") and isinstance(one.get(field), dict):
            for part, value in one[field].items():
                yield side, {f"{field} {part}": value}


def cells_of(raw):
    """{(benchmark, kind, words of the cell, field): {side: [value, ...]}} of the stored runs."""
    cells: dict = {}
    for name in raw.data:
        for kind in dict.fromkeys(one["kind"] for one in raw.data[name]["runs"]):
            if (name, kind) not in COMPARED:
                continue
            for one in raw.rows(name, kind):
                if one.get("counting") == "on" or one.get("queues", "256") != "256":
                    continue
                if kind == "structures" and one["index"] != "xarray_kernel":
                    continue
                keys = set(IDENTITY.split()) & one.keys() - set(COMPARED[name, kind].split())
                place = tuple(one[key] for key in sorted(keys) if isinstance(one[key], (str, int)))
                for side, values in compared(name, kind, one):
                    for field, value in values.items():
                        sides = cells.setdefault((name, kind, place, field), {})
                        sides.setdefault(side, []).append(value)
    return cells


def ratios_of(sides):
    """(side, ratio to mainline, spread of mainline) of each side of the series."""
    base = [value for side in MAINLINE for value in sides.get(side, ())]
    for side in SERIES:
        if side in sides and base and min(base) > 0:
            ratio = statistics.median(sides[side]) / statistics.median(base)
            yield side, ratio, max(base) / min(base)


def lost_cells(raw):
    """(benchmark, words of the cell, ratio) of each loss."""
    for (name, _, place, field), sides in cells_of(raw).items():
        for _, ratio, spread in ratios_of(sides):
            if ratio > spread:
                yield name, [*map(str, place), *field.split()[1:]], ratio


def test_each_kind_of_run_is_compared_or_not_for_a_reason():
    kinds = {
        (name, one["kind"])
        for name in RAW.data
        for one in RAW.data[name]["runs"]
        if {"kernel", "side"} & one.keys() or name == "halfmd4"
    }
    assert kinds - COMPARED.keys() == set(ELSEWHERE)


def lost_lines(base):
    """Of the page of losses."""
    text = LOST.read_text().partition(f"\nLinux {base}\n")[2].partition("\nLinux ")[0]
    return [line for line in text.splitlines() if re.search(": .*(?:%|one run)$", line)]


@pytest.mark.parametrize("base", EVERY)
def test_each_loss_is_named(base):
    lines = lost_lines(base)
    found = list(lost_cells(EVERY[base]))
    missing = [
        (name, words, f"{ratio:.4f}")
        for name, words, ratio in found
        if not any(names(line, name, words, f"{ratio:.4f}") for line in lines)
    ]
    assert not missing
    assert len(lines) >= len(found) > 100 * (base == source.DEFAULT)


def names(line, name, words, ratio):
    """That a line has the cell and its ratio."""
    found = re.split(r"[ ,:]+", line)
    words = re.split(r"[ ,:]+", " ".join(words))
    return found[0] == name and ratio in found and set(words) <= set(found)


@pytest.mark.parametrize("base", EVERY)
def test_first_page_counts_the_losses_of_the_other(base):
    title = "What the stored results compare" if base == source.DEFAULT else f"on Linux {base}\n="
    table = FIRST.read_text().partition(title)[2].partition("\n\n===")[2].partition("\n\n")[0]
    counted = {
        found[1]: int(found[2])
        for found in re.finditer(r"^(.+?)  +\d?.* (\d+)  +[\d.]+$", table, re.M)
    }
    named = [line.partition(": ")[0] for line in lost_lines(base)]
    assert {title: number for title, number in counted.items() if number} == Counter(named)


def test_sentences_of_losses():
    """They count, and name the worst of, the cells that the page of losses has."""
    text = " ".join(SENTENCES.search(FIRST.read_text())[0].split())
    cells: dict = {}
    for line in lost_lines(source.DEFAULT):
        title, _, cell = line.partition(": ")
        name, ratio, control = re.fullmatch(r"(.*?)  +(\S+)  +(.*)", cell).groups()
        cells.setdefault(title, []).append((float(ratio), name, control))
    wanted = {title: of for title, of in cells.items() if title in losses.SENTENCES}
    assert wanted and text.count("* ") == len(wanted)
    for title, of in wanted.items():
        ratio, name, control = max(of, key=lambda one: one[0])
        sentence = re.search(
            rf"{re.escape(losses.SENTENCES[title])} \(bench-{title.partition(',')[0]}\): "
            r"(\d+) of \d+ cells\. Worst: (\S+) \((.*?); mainline (.*?)\)\.( |$)",
            text,
        )
        assert sentence and int(sentence[1]) == len(of)
        assert abs(float(sentence[2]) - ratio) < 0.0006 and sentence[3] == name
        assert sentence[4] == ("ran once" if control == "one run" else f"differs by {control}")


@pytest.mark.parametrize("base", EVERY)
def test_each_loss_is_in_a_sentence(base):
    """Of the default; of the other bases a table has it."""
    titles = {line.partition(": ")[0] for line in lost_lines(base)}
    if base == source.DEFAULT:
        assert titles <= {*losses.SENTENCES, *IN_A_DOCUMENT}
    else:
        assert all(title in FIRST.read_text() for title in titles)


def instructions_of(raw, name, field):
    """{cell: ratio} of all instructions."""
    return {
        key: ratio
        for key, sides in cells_of(raw).items()
        if key[0] == name and key[1] != "beyond" and key[3] == field
        for side, ratio, _ in ratios_of(sides)
        if side == "ours"
    }


@pytest.mark.parametrize("base", list(EVERY)[1:])
def test_medians_of_both_bases_are_those_of_the_cells_that_both_have(base):
    text = FIRST.read_text().partition(f"on Linux {base}\n=")[2].partition("\nQuestions")[0]
    fields = {"herd": "kernel_insns", "buffer": "kernel_insns", "inode": "all_insns"}
    fields |= {"crowd": "all_insns", "xattr": "insns", "htree": "insns"}
    seen = 0
    for name, field in fields.items():
        if name not in EVERY[base].data:
            continue
        here, there = (instructions_of(EVERY[one], name, field) for one in (source.DEFAULT, base))
        if not there:
            continue
        seen += 1
        both = here.keys() & there.keys()
        row = re.search(rf"^{name}, instructions  +\w+ +(\d+) +(\S+) +(\S+) ", text, re.M)
        assert row.groups() == (
            f"{len(there)}",
            *(f"{statistics.median(one[key] for key in both):.3f}" for one in (here, there)),
        )
    assert seen


def test_what_the_words_say():
    """Directions that a sentence has without a number."""
    # "So instructions do not explain a difference in time."
    assert max(herd_ratio(phase, insns_of("kernel_insns")) for phase in PHASES) < 1.05
    # "What the default saves is not their size", "no fewer instructions".
    assert tree_saves() > 80
    assert statistics.median(insns("ours", "kernel_insns", users) for users in USERS) > 0.99
    # "Not among the largest": of the functions that the mail names.
    largest = {
        name
        for phase in FOUR
        for one in RAW.rows("herd", "instructions", phase=phase)
        for name in one["functions"]
    }
    assert not [name for name in largest if re.match("finish_task_switch|prepare_to_wait", name)]
    # "Mainline and the series leave the same leaves."
    base, ours = (
        sorted(str(one | {"kernel": ""}) for one in RAW.rows("htree", "leaves", kernel=kernel))
        for kernel in ("base", "ours")
    )
    assert base == ours
    # "The table is too small for any function."
    (of,) = RAW.rows("functions", "histogram", set="paper-inodes", function="pair")
    assert sum(one[1] for one in of["rows"][:-1]) == 0
    # "In mainline they take 64 KiB."
    sizes = (common.ROOT / "Documentation/admin-guide/hashstats.rst").read_text()
    assert "In mainline, these tables take 64 KiB" in sizes and "they take 64 KiB" in (
        " ".join(FIRST.read_text().split())
    )


def test_losses_of_the_hash_are_named():
    """Its price and its patterns: other fields than those of kernels."""
    text = "\n".join(lost_lines(source.DEFAULT))
    pair, mainline = hash_ns()
    assert "functions, ns of a hash, inode: inode" in text and f"{pair / mainline:.4f}" in text
    for what, title in (("hit", "found"), ("miss", "failed")):
        lost = sum(one > 1 for one in of_guests("inode", what))
        named = re.findall(
            rf"functions, nodes on inode keys, {title}: guest-.* (\d\.\d{{4}})  ", text
        )
        assert len(named) == lost and min(map(float, named)) >= 1
    for name in dict.fromkeys(RAW.values("spread", "spread", "pattern")):
        for what, title in (("median", "median"), ("p95", "95th"), ("worst", "worst")):
            ours, base = (
                RAW.one("spread", "spread", what, pattern=name, function=one)
                for one in ("pair", "mainline")
            )
            if ours > base:
                assert re.search(
                    rf"spread, {title} .*: {re.escape(name)}  .*{ours / base:.4f}", text
                )


def test_a_control_that_differs_from_itself_excuses():
    cell = losses.Cell("one", [10, 13], [12, 12])
    assert not cell.lost and losses.percent(cell.spread) == "30.0%"
    assert losses.Cell("one", [10, 10.5], [12, 12]).lost
    once = losses.Cell("one", [10], [10.1])
    assert once.lost and losses.percent(once.spread) == "one run"


def test_table_of_2015_is_that_of_the_mail():
    """Seven of its cells were once mistyped."""
    found = report_mbcache.seed()
    assert len(found) == 105
    assert found[10, 100, 1]["referenced"] == 0.185
    assert found[10_000, 100, 8]["old"] == 0.696
    assert found[10_000, 1000, 64]["old"] is None
