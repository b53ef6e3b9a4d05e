# SPDX-License-Identifier: GPL-2.0
"""The mails of 2002 on the hash of ext2 directories, answered."""

from bench.cases import halfmd4 as bench_halfmd4
from bench.cases import htree as bench_htree
from report.page import AGAIN, EQUAL, Picture, Section, Table

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
    return [filled(results), cost(results), fragmented(results), packed(results)]


def each(results):
    result = results.get("htree")
    return result, list(bench_htree.places(result))


def one_leaf(result, when, name, pattern):
    (found,) = result.runs("leaves", kernel="ours", when=when, hash=name, pattern=pattern)
    return found


def files(result):
    return result.runs("phase")[0]["operations"]


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
    best = {
        pattern: max(
            (one_leaf(result, "created", name, of)["filled"], name)
            for name, of in places
            if of == pattern
        )[1]
        for _, pattern in places
    }
    return Section(
        "Bytes filled of a 4 KiB block",
        "How even are the leaves with each hash after many creates?",
        AGAIN,
        f"{results.command('htree')}: {files(result):,} creates, read from "
        "the leaves with debugfs; base and ours leave the same leaves.",
        "It depends on the names more than on the hash: "
        + ", ".join(f"{name} fills most with names {pattern}" for pattern, name in best.items())
        + ".",
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
            )
        )
    pattern = places[0][1]
    legacy, half = (found[f"insn_create_{name}_{pattern}"] for name in ("legacy", "half_md4"))
    return Section(
        "Time of 200,000 creates",
        "half-MD4 was 6 % slower than dx_hack_hash: what does the hash cost today?",
        AGAIN,
        f"{results.command('htree')}: instructions of the kernel, on one processor.",
        f"half-MD4 takes {half / legacy - 1:.1%} more instructions a create "
        f"than the legacy hash with names {pattern}; the hash itself is "
        f"{found[f'insn_hash_half_md4_{pattern}'] / half:.1%} of a create.",
        [
            Table(
                "2002: seconds of system time of 200,000 creates; today: "
                "instructions a create, ours; divided by 6.12; in the hash.",
                ("names, hash", "2002", "create", "ratio", "hash 6.12", "hash ours"),
                rows,
            )
        ],
    )


def fragmented(results):
    result, places = each(results)
    rows = []
    kept: dict[str, list[float]] = {}
    for name, pattern in places:
        before = one_leaf(result, "created", name, pattern)
        after = one_leaf(result, "churned", name, pattern)
        kept.setdefault(name, []).append(after["filled"] / before["filled"])
        rows.append(
            (
                f"{pattern}, {name}",
                f"{before['filled']:.0f}",
                f"{after['filled']:.0f}",
                f"{after['filled'] / before['filled']:.2f}",
                after["leaves"],
            )
        )
    worst = min(kept, key=lambda name: min(kept[name]))
    return Section(
        "Fragmentation of the key space",
        "Does a more uniform hash slow down how leaves get emptier over many "
        "insertions and deletions?",
        AGAIN,
        f"{results.command('htree')}: as many removals and creates at random as there are files.",
        f"{worst} keeps least, {min(kept[worst]):.2f} of what was filled.",
        [
            Table(
                "Bytes filled before and after.",
                ("names, hash", "before", "after", "kept", "leaves"),
                rows,
            )
        ],
        ["Leaves are still not merged when they get empty: 6.12 has no coalesce on delete."],
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
        + " of the time of 6.12, with identical values.",
        [
            Picture("halfmd4", "Nanoseconds of a hash by bytes of the name, 6.12 and ours"),
            Table(
                "By bytes of a name: ns of half-MD4; ours divided by 6.12 for "
                "names one after the other, for names that each wait for the "
                "hash of the last, for unsigned characters, with retpolines; "
                "TEA. 6.12 against itself differs by up to "
                f"{apart(found['aa_ratio_worst']):.1%}.",
                ("bytes", "6.12", "ours", *PACKED.values()),
                rows,
            ),
        ],
        [
            "Where each name waits for the hash of the last, 32 bytes are "
            f"{1 / found['chain_ratio_32']:.2f} times as fast, not 1.4."
        ]
        if found.get("chain_ratio_32", 0) > 1 / 1.4
        else [],
    )
