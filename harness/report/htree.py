# SPDX-License-Identifier: GPL-2.0
"""The mails of 2002 on the hash of ext2 directories, answered."""

from bench.cases import halfmd4 as bench_halfmd4
from bench.cases import htree as bench_htree
from report.losses import group, noise
from report.page import AGAIN, EQUAL, PART, Picture, Section, Table

TITLE = "Shrinking ext3 directories: the hash bakeoff (D. Phillips, 2002)"

# Prefix of a figure -> its column.
PACKED = {
    "": "ratio",
    "chain_": "waiting",
    "unsigned_": "unsigned",
    "retpoline_": "retpoline",
    "tea_": "TEA",
}
# dx_hack_hash became "legacy".
FILLED = {"half_md4": 2872, "legacy": 2853}
SECONDS = {"half_md4": 6.88, "legacy": 6.40}


def sections(results):
    return [filled(results), cost(results), lookups(results), fragmented(results), packed(results)]


def each(results):
    result = results.get("htree")
    return result, list(bench_htree.places(result))


def patterns(places):
    return list(dict.fromkeys(pattern for _, pattern in places))


def one_leaf(result, when, name, pattern):
    (found,) = result.runs("leaves", kernel="ours", when=when, hash=name, pattern=pattern)
    return found


def files(result):
    return result.runs("phase")[0]["operations"]


def seconds(result, kernel, name, pattern, phase):
    (one,) = result.runs("phase", kernel=kernel, hash=name, pattern=pattern, phase=phase)
    return f"{one['seconds']:.1f}"


def filled(results):
    result, places = each(results)
    rows = []
    for name, pattern in places:
        one = one_leaf(result, "created", name, pattern)
        rows.append(
            (
                f"{pattern}, {name}",
                FILLED.get(name, "-"),
                f"{one['filled']:.0f}",
                f"{one['filled'] / bench_htree.BLOCK:.0%}",
                one["leaves"],
            )
        )
    spans = {
        pattern: [
            one_leaf(result, "created", name, of)["filled"] for name, of in places if of == pattern
        ]
        for pattern in patterns(places)
    }
    return Section(
        "Bytes filled of a 4 KiB block",
        "How even are the leaves with each hash after many creates?",
        AGAIN,
        f"{results.command('htree')}: {files(result):,} creates, read from the leaves with "
        "debugfs. Mainline and the series leave the same leaves.",
        "half_md4 fills most, as in 2002, and names matter as much as the hash: "
        + ", ".join(
            f"{min(found):.0f} to {max(found):.0f} bytes with names {pattern}"
            for pattern, found in spans.items()
        )
        + ".",
        "one run",
        [
            Table(
                "Bytes filled, 2002 (200,000 creates) and today.",
                ("names, hash", "2002", "bytes", "of 4096", "leaves"),
                rows,
            )
        ],
    )


def cost(results):
    result, places = each(results)
    found = result.data["figures"]
    rows = []
    for name, pattern in places:
        end = f"{name}_{pattern}"
        rows.append(
            (
                f"{pattern}, {name}",
                f"{SECONDS[name]:.2f}" if name in SECONDS else "-",
                f"{found[f'insn_create_{end}']:.0f}",
                f"{found[f'insn_ratio_create_{end}']:.4f}",
                f"{found[f'insn_hash_base_{end}']:.0f}",
                f"{found[f'insn_hash_{end}']:.0f}",
                *(seconds(result, kernel, name, pattern, "create") for kernel in ("base", "ours")),
            )
        )
    more = []
    for pattern in patterns(places):
        share = found[f"insn_hash_half_md4_{pattern}"] / found[f"insn_create_half_md4_{pattern}"]
        more.append(
            f"{extra_insns(result, 'ours', pattern, 'create')} more instructions with names {pattern} "
            f"(the hash itself is {share:.1%} of a create)"
        )
    return Section(
        "Time of 200,000 creates",
        "half-MD4 was slower than dx_hack_hash: what does the hash cost today?",
        EQUAL,
        f"{results.command('htree')}: instructions of the kernel, on one processor. The mail says "
        "6 percent; its own seconds of system time, 6.88 and 6.40, give "
        f"{SECONDS['half_md4'] / SECONDS['legacy'] - 1:.1%}. dx_hack_hash is the hash 'legacy' "
        "today.",
        f"With the series half-MD4 takes {' and '.join(more)} than the legacy hash. In mainline "
        "it takes "
        f"{' and '.join(extra_insns(result, 'base', pattern, 'create') for pattern in patterns(places))} "
        "more.",
        noise(results, "htree", "instructions"),
        [
            Table(
                "2002: seconds of system time; today: instructions of a create, series; divided by "
                "mainline's; in the hash; seconds of 200,000 creates, one emulated round.",
                (
                    "names, hash",
                    "2002",
                    "create",
                    "ratio",
                    "hash, mainline",
                    "hash, series",
                    "s, mainline",
                    "s, series",
                ),
                rows,
            )
        ],
        [
            f"The legacy hash takes up to {max(legacy_hash(results)) - 1:.1%} more instructions "
            "than mainline's."
        ],
    )


def extra_insns(result, kernel, pattern, phase):
    """Instructions that half-MD4 takes more than the legacy hash."""
    legacy, half = (
        result.runs("phase", kernel=kernel, hash=name, pattern=pattern, phase=phase)[0]["insns"]
        for name in ("legacy", "half_md4")
    )
    return f"{half / legacy - 1:.1%}"


def legacy_hash(results):
    """Instructions of the hash, series divided by mainline."""
    cells = group(results, "htree", "instructions of the hash").cells
    return [cell.ratio for cell in cells if "legacy" in cell.name]


def lookups(results):
    result, places = each(results)
    found = result.data["figures"]
    ratios = [found[f"insn_ratio_lookup_{name}_{pattern}"] for name, pattern in places]
    return Section(
        "Lookups",
        "What does the hash cost a lookup? (The mail names lookups, but has no figure.)",
        EQUAL,
        f"{results.command('htree')}: names and inodes not in memory.",
        "half-MD4 takes "
        + " and ".join(
            f"{extra_insns(result, 'ours', pattern, 'lookup')} more instructions than the legacy hash "
            f"with names {pattern} (mainline: {extra_insns(result, 'base', pattern, 'lookup')})"
            for pattern in patterns(places)
        )
        + f". The series takes {min(ratios):.3f} to {max(ratios):.3f} of mainline's instructions. "
        "Of what half-MD4 saves, the hash gives "
        + " and ".join(
            f"{hash_share(result, pattern, 'lookup'):.0%} with names {pattern}"
            for pattern in patterns(places)
        )
        + ". Other parts of the kernel save the rest.",
        noise(results, "htree", "instructions"),
        [
            Table(
                "Instructions of a lookup.",
                ("names, hash", "series", "ratio"),
                [
                    (
                        f"{pattern}, {name}",
                        f"{found[f'insn_lookup_{name}_{pattern}']:.0f}",
                        f"{ratio:.4f}",
                    )
                    for (name, pattern), ratio in zip(places, ratios)
                ],
            )
        ],
    )


def hash_share(result, pattern, phase):
    """Of the instructions that the series saves with half-MD4, those of the hash."""
    base, ours = (
        result.runs("phase", kernel=kernel, hash="half_md4", pattern=pattern, phase=phase)[0]
        for kernel in ("base", "ours")
    )
    return (base["hash_insns"] - ours["hash_insns"]) / (base["insns"] - ours["insns"])


def kept(result, when):
    """{pattern: {hash: the share of the bytes filled that is left}}"""
    found: dict[str, dict[str, float]] = {}
    for one in result.runs("leaves", kernel="ours", when=when):
        before = one_leaf(result, "created", one["hash"], one["pattern"])["filled"]
        found.setdefault(one["pattern"], {})[one["hash"]] = one["filled"] / before
    return found


def kept_answer(left, when=""):
    return " ".join(
        f"With names {pattern}, leaves keep "
        + ", ".join(f"{ratio:.2f} ({name})" for name, ratio in of.items())
        + f" of what was filled{when}."
        for pattern, of in left.items()
    )


def churn_row(result, name, pattern, when, phase):
    before, after = (one_leaf(result, of, name, pattern) for of in ("created", when))
    return (
        f"{pattern}, {name}",
        f"{before['filled']:.0f}",
        f"{after['filled']:.0f}",
        f"{after['filled'] / before['filled']:.2f}",
        after["leaves"],
        *(seconds(result, kernel, name, pattern, phase) for kernel in ("base", "ours")),
    )


def fragmented(results):
    result, places = each(results)
    longer = kept(result, "churned more")
    times = bench_htree.MORE + 1
    head = ("names, hash", "before", "after", "kept", "leaves", "s, mainline", "s, series")
    return Section(
        "Fragmentation of the key space",
        "Does a more uniform hash slow down how leaves get emptier over many insertions and "
        "deletions?",
        PART,
        f"{results.command('htree')}: as many removals and creates at random as there are files, "
        f"and then {bench_htree.MORE} times as many.",
        f"It depends on the names. {kept_answer(kept(result, 'churned'))} "
        f"{kept_answer(longer, f' after {times} times as many removals')}",
        "one run",
        [
            Table(
                "Bytes filled before and after; seconds of the churn, one emulated round.",
                head,
                [churn_row(result, name, of, "churned", "churn") for name, of in places],
            ),
            Table(
                f"The same after {times} times as many removals; seconds of those that came later.",
                head,
                [
                    churn_row(result, name, of, "churned more", bench_htree.LONGER)
                    for name, of in places
                    if of in longer
                ],
            ),
        ],
        ["Leaves are still not merged when they get empty: mainline has no coalesce on delete."],
    )


def apart(ratio):
    return max(ratio, 1 / ratio) - 1


def packed(results):
    result = results.get("halfmd4")
    found = result.data["figures"]
    columns = [bench_halfmd4.chosen(result, *bench_halfmd4.SERIES[prefix]) for prefix in PACKED]
    rows = [
        (
            one["length"] or "1 to 32 mixed",
            *(f"{bench_halfmd4.nanoseconds(one, side):.1f}" for side in ("base", "ours")),
            *(f"{bench_halfmd4.ratio(of[one['length']]):.3f}" for of in columns),
        )
        for one in columns[0].values()
    ]
    ratios = [found[f"ratio_{length}"] for length in (8, 16, 32, 255)]
    return Section(
        '"We just have to be more efficient about it"',
        "Can half-MD4 be had for less, with the same bits on the disk?",
        EQUAL,
        f"{results.command('halfmd4')}: user space, one processor.",
        "Names of 8, 16, 32 and 255 bytes take "
        + ", ".join(f"{value:.2f}" for value in ratios)
        + " of mainline's time, with identical values. 24 bytes of TEA take "
        f"{found['tea_ratio_24']:.2f}.",
        f"{apart(found['aa_ratio_worst']):.1%}",
        [
            Picture("halfmd4", "Nanoseconds of a hash by bytes of the name, mainline and series"),
            Table(
                "By bytes of a name: ns of half-MD4; the series divided by mainline for names one "
                "after the other, for names that each wait for the hash of the last, for unsigned "
                "characters, with retpolines; TEA.",
                ("bytes", "mainline", "series", *PACKED.values()),
                rows,
            ),
        ],
        [
            "Where each name waits for the hash of the last, 32 bytes take "
            f"{found['chain_ratio_32']:.2f} of mainline's time, not {found['ratio_32']:.2f}."
        ]
        if found["chain_ratio_32"] > found["ratio_32"]
        else [],
    )
