# SPDX-License-Identifier: GPL-2.0
"""The multi-user load of the year 2000."""

import re
import statistics
from typing import NamedTuple

from bench.lib import symbol_counts
from bench.lib.benchmark import NEAR, NOISY, Benchmark, Figure
from bench.lib.jobs import count_guest, mkfs_ext4, run_guest, split_counters
from bench.lib.rounds import run_jobs
from bench.lib.sides import build_kernels, check_counting, note_machine
from bench.lib.symbols import USER, clock_functions
from common import ROOT, die, step
from guest import debian_disk, hashstats_file, vm

SCRIPT = ROOT / "bench/multiuser/user.sh"
WARM = 1  # users
MEMORY = "1G"
CPUS = 2
APPEND = "nokaslr"
SECONDS = 120
DISK, INODES = "192M", 32768
SETUP = f"""
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
mount -t ext4 -o ro /dev/vda /mnt
mount -t devtmpfs dev /mnt/dev
{mkfs_ext4(f"/dev/ram0 {DISK}", f"-m 0 -N {INODES}")}
mount -t ext4 -o noinit_itable,no_prefetch_block_bitmaps,commit=900 \\
    /dev/ram0 /mnt/home
mkdir /mnt/home/tmp
mount --bind /mnt/home/tmp /mnt/tmp
cp /job/user.sh /mnt/home
ls -lR /mnt > /dev/null
"""
SCALES = {"quarter": (1, 4), "four": (4, 1)}
SMALL = {"dentry": 1024, "inode": 256}  # of the report's reference kernel

# The tables' own functions, by their names in either kernel. Not among them is
# next_uptodate_folio(), which maps the pages beside one that was looked up.
CODE = {
    "dentry": r"_*d_lookup(_rcu.*)?|_*d_rehash|_*d_drop",
    "dentry_lookup": r"d_alloc_parallel|__d_lookup_unhash.*",
    "inode": r"find_inode(_fast|_rcu|_nowait|_by_ino_rcu|_hashed)?|ilookup\w*|"
    r"iget5?_locked\w*|inode_insert5|"
    r"insert_inode_locked4?|__(insert|remove)_inode_hash",
    "mount": r"_*lookup_mnt|lookup_mountpoint",
    "buffer": r"_*find_get_block\w*|bdev_getblk|__getblk_slow|_*buffer_hash_\w+",
    "page": r"filemap_get_entry|__filemap_get_folio(_mpol)?|filemap_get_read_batch|"
    r"xas_(load|start|descend)|page_hash_\w+",
    "folio_wait": r"folio_wake_bit|folio_wait_bit_common|wake_page_function",
    "bit_wait": r"_*(inode_bit|bit|var)_waitqueue\w*|_*wake_up_(bit|var|hashed|counted)|"
    r"(wake_bit|var_wake)_function",
    "mbcache": r"_*mb_cache_\w+",
    "futex": r"futex_(hash|wake|wait|q_lock|q_unlock|wait_setup|unqueue)",
}
# What the base's tables have without a line of the boot log.
FIXED = {"folio_wait": 256, "bit_wait": 256, "dentry_lookup": 1024, "mbcache": 1024}
LOGGED = {
    "dentry": "Dentry cache",
    "inode": "Inode-cache",
    "mount": "Mount-cache",
    "mountpoint": "Mountpoint-cache",
    "futex": "futex",
}
# What is kept of /proc/hashstats.
COUNTS = (
    "buckets",
    "objects",
    "nodes-per-hit",
    "nodes-per-hit-expected",
    "lookups",
    "hits",
    "nodes-per-counted-hit",
    "nodes-per-counted-miss",
    "cache-hits",
    "wakes",
    "entries-examined",
    "entries-matched",
    "functions-called",
)


class Load(NamedTuple):
    users: tuple
    rounds: int  # of scripts an hour
    more: bool  # small, and each table alone at the base's size


LOADS = {
    "quick": Load((4,), rounds=1, more=False),
    "usual": Load((2, 4, 8, 16), rounds=2, more=True),
    "long": Load((2, 4, 8, 16), rounds=5, more=True),
}


class Side(NamedTuple):
    name: str
    kernel: object
    sizes: dict  # {table: buckets} of the command line

    @property
    def append(self):
        if not self.sizes:
            return APPEND
        sizes = ",".join(f"{name}:{size}" for name, size in self.sizes.items())
        return f"{APPEND} hash_entries={sizes}"


class Job(NamedTuple):
    kind: str  # nodes, rate or count
    side: Side
    number: int = 0  # of the round
    again: bool = False  # the same once more

    @property
    def name(self):
        return AGAIN if self.again else self.side.name

    @property
    def work(self):
        """Counting takes about twice as long: for the estimate only."""
        return 2 if self.kind == "count" else 1

    @property
    def title(self):
        return f"{TITLES[self.kind]}, {self.name}"


TITLES = {"nodes": "nodes for each lookup", "rate": "scripts an hour", "count": "instructions"}
AGAIN = "again"
BENCH = Benchmark(
    seconds=(110, 1200, 6000),
    loads=LOADS,
    figures=(
        Figure("scripts_elapsed_*", "s", NOISY),
        Figure("scripts_*", "scripts an hour", NOISY),
        Figure("throughput_*", "ratio", NOISY),
        Figure("nodes_*", "nodes", NOISY),
        Figure("table_insns_*", "instructions", NEAR),
        Figure("*", "ratio", NEAR),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    kernels = build_kernels(result)
    _, packages = debian_disk.image()
    note_machine(result, kernels["ours"], guest_memory=MEMORY, packages=packages)
    check_counting(result, kernels["ours"])
    sides = choose_sides(result, kernels, load)
    carry_out(result, plan(load, sides), load)
    rate_figures(result, sides, load)
    instruction_figures(result, sides, load)
    node_figures(result, load)


# Guests.


def script(load, *options):
    """The rounds of one guest, after a warm-up."""
    rounds = " ".join(f"-n {users}" for users in load.users)
    words = " ".join(["multiuser /mnt/home /home/user.sh -r /mnt", rounds, f"-w {WARM}", *options])
    return f"{SETUP}echo '=== rounds'\n{words}\n"


def machine(side, load):
    scripts = WARM + sum(load.users)
    return {
        "mem": MEMORY,
        "append": side.append,
        "programs": ["mkfs.ext4"],
        "files": {"/job/user.sh": SCRIPT},
        "qemu": debian_disk.option(),
        "timeout": SECONDS + scripts,
    }


def parse(output, load):
    """A dict for each round: what multiuser printed, counters as text."""
    rounds = output.partition("=== rounds\n")[2].split("users: ")[1:]
    reports = [report("users: " + text) for text in rounds]
    found = tuple(one["users"] for one in reports)
    if found != load.users:
        die(f"the guest reported rounds of {words(found)} users; expected {words(load.users)}")
    return reports


def words(numbers):
    return " ".join(map(str, numbers)) or "no"


def report(text):
    text, counters = split_counters(text)
    said = dict(re.findall(r"^([a-z-]+): ([0-9.]+)$", text, re.M))
    for name in ("users", "hundredths", "seconds", "scripts-per-hour"):
        if name not in said:
            die(f"the guest reported no {name} of a round: {' '.join(text.split())}")
    return {
        "users": int(said["users"]),
        "hundredths": int(said["hundredths"]),
        "seconds": float(said["seconds"]),
        "rate": float(said["scripts-per-hour"]),
        "counters": counters,
    }


# Which kernels are compared.


def choose_sides(result, kernels, load):
    """Run the series with its counters on, to learn its tables and their sizes."""
    base, ours = (Side(name, kernels[name], {}) for name in ("base", "ours"))
    carry_out(result, [Job("nodes", ours)], load)
    runs = result.runs("nodes")
    default = {name: one["buckets"] for name, one in runs[-1]["tables"].items()}
    sides = [base, ours]
    sides += [Side(name, ours.kernel, scaled(default, *factor)) for name, factor in SCALES.items()]
    if not load.more:
        return sides
    used = {
        name: default[name]
        for name in default
        if any(activity(run["tables"][name]) for run in runs)
    }
    return [*sides, Side("small", ours.kernel, SMALL), *parts(result, base, ours, used)]


def scaled(sizes, times, shares):
    return {name: max(size * times // shares, 2) for name, size in sizes.items()}


def parts(result, base, ours, used):
    """The series with one table at the base's size, for each that differs."""
    with step("sizes of the base's tables"):
        console = vm.run(base.kernel, "true", mem=MEMORY, cpus=CPUS, append=APPEND).console
    sizes = base_sizes(console)
    result.run("sizes", base=sizes, ours=used)
    return [
        Side(name, ours.kernel, {name: sizes[name]})
        for name, size in used.items()
        if sizes.get(name, size) != size
    ]


def base_sizes(console):
    """Buckets of the tables that the base has as well."""
    found = dict(FIXED)
    for name, title in LOGGED.items():
        match = re.search(rf"\b{title} hash table entries: (\d+)", console)
        if not match:
            die(
                f"the boot log of the base names no size of its table {name}: "
                f"'{title} hash table entries: ' is not there"
            )
        found[name] = int(match[1])
    return found


# What is run, and how long it will take.


def plan(load, sides):
    """All guests in their order; the base again is the A/A pair."""
    base, ours, *others = sides
    jobs = [Job("nodes", side) for side in others]
    for number in range(load.rounds):
        jobs += [Job("rate", side, number) for side in (sides[::-1] if number % 2 else sides)]
    return jobs + [
        Job("count", base),
        Job("count", ours),
        Job("count", base, again=True),
        *(Job("count", side) for side in others),
    ]


def carry_out(result, jobs, load):
    run = {"nodes": count_nodes, "rate": take_rate, "count": count}
    run_jobs(jobs, lambda job: run[job.kind](result, job, load))


def take_rate(result, job, load):
    for one in run_job(result, job, load):
        result.run(
            "rate",
            kernel=job.name,
            round=job.number,
            **{name: one[name] for name in ("users", "hundredths", "seconds", "rate")},
        )


def run_job(result, job, load, *options):
    output = run_guest(
        result,
        f"{job.kind}-{job.name}",
        job.side.kernel,
        script(load, *options),
        cpus=CPUS,
        **machine(job.side, load),
    )
    reports = parse(output, load)
    return reports


# Nodes for each lookup.


def count_nodes(result, job, load):
    """Nodes of each round, as /proc/hashstats counts them."""
    for one in run_job(result, job, load, "-c"):
        tables = counted_tables(one["counters"])
        check_sizes(job.side, tables)
        result.run("nodes", kernel=job.name, users=one["users"], tables=tables)


def counted_tables(text):
    """{name: counts} of the tables whose lookups or wakeups are counted."""
    found: dict[str, dict] = {}
    for one in hashstats_file.parse(text).values():
        counts = {label.replace("-", "_"): one[label] for label in COUNTS if label in one}
        if counts["buckets"] and {"lookups", "wakes"} & set(counts):
            found[one["name"]] = counts | nodes(counts)
    if not any(map(activity, found.values())):
        die("/proc/hashstats counted nothing while the scripts ran")
    return found


def activity(counts):
    return counts.get("lookups", 0) + counts.get("wakes", 0)


def nodes(counts):
    """Nodes per lookup or per wakeup; empty without lookups and wakeups."""
    if counts.get("wakes"):
        return {"nodes_per_wake": counts["entries_examined"] / counts["wakes"]}
    if not counts.get("lookups"):
        return {}
    hits, lookups = counts["hits"], counts["lookups"]
    examined = (
        hits * counts["nodes_per_counted_hit"] + (lookups - hits) * counts["nodes_per_counted_miss"]
    )
    return {"nodes_per_lookup": examined / lookups}


def check_sizes(side, tables):
    """Each table must have the size that the command line asks for."""
    for name, size in side.sizes.items():
        if tables[name]["buckets"] != size:
            die(f"hash_entries={name}:{size} gave {tables[name]['buckets']} buckets")


# Instructions.


def count(result, job, load):
    segments, output = count_guest(
        result, f"count-{job.name}", job.side.kernel, script(load), **machine(job.side, load)
    )
    reports = parse(output, load)
    symbol_counts.check_segments(segments, len(reports))
    clock = clock_functions(job.side.kernel)
    for one, segment in zip(reports, segments):
        result.run("count", kernel=job.name, users=one["users"], **instructions(segment, clock))


def instructions(segment, clock):
    """Instructions of a round; those of the tables by table and by function."""
    kernel = segment.kernel()
    own = {name: of for name in kernel if (of := table_of(name))}
    tables = {of: sum(kernel[name] for name in own if own[name] == of) for of in CODE}
    if not tables["dentry"]:
        die(
            "no function of the dentry table ran while the scripts did: "
            f"their names are not like {CODE['dentry']}"
        )
    return {
        "user_insns": segment.insns[USER],
        "all_insns": sum(kernel.values()),
        "kernel_insns": sum(segment.kernel(without=clock).values()),
        "table_insns": sum(tables.values()),
        "tables": tables,
        "functions": {name: kernel[name] for name in sorted(own)},
        "calls": {name: segment.entries[name] for name in sorted(own)},
    }


def table_of(function):
    """The table that a function belongs to, or None."""
    return next((name for name, pattern in CODE.items() if re.fullmatch(pattern, function)), None)


# Figures.


def rates(result, name, users):
    """Scripts an hour over all rounds, and the sum of their seconds."""
    runs = result.runs("rate", kernel=name, users=users)
    found = [one["rate"] for one in runs]
    return {
        "mean": statistics.fmean(found),
        "stdev": statistics.stdev(found) if len(found) > 1 else None,
        "max": max(found),
        "elapsed": sum(one["seconds"] for one in runs),
    }


def suffix(side):
    """Figures of the series at its default sizes have no suffix."""
    return "" if side.name == "ours" else f"_{side.name}"


def rate_figures(result, sides, load):
    for users in load.users:
        base = rates(result, "base", users)
        for side in sides:
            one = rates(result, side.name, users)
            for name, value in one.items():
                if value is not None:
                    result.figure(f"scripts_{name}_{users}_{side.name}", value)
            if side.name != "base":
                result.figure(f"throughput_ratio_{users}{suffix(side)}", one["mean"] / base["mean"])


def insns(result, name, users, of):
    """Instructions per script; `of` is a label of the runs, or a table."""
    (one,) = result.runs("count", kernel=name, users=users)
    return (one["tables"][of] if of in CODE else one[of]) / users


def insn_ratio(result, name, users, of):
    """Divided by the mean of the base's two guests; the second by the first."""
    below = ("base",) if name == AGAIN else ("base", AGAIN)
    base = statistics.fmean(insns(result, one, users, of) for one in below)
    return insns(result, name, users, of) / base


def instruction_figures(result, sides, load):
    """A ratio without a number of users is that of the largest number."""
    for users in load.users:
        for side in sides:
            result.figure(
                f"table_insns_per_script_{users}_{side.name}",
                insns(result, side.name, users, "table_insns"),
            )
            if side.name == "base":
                continue
            for name, of in (("table", "table_insns"), ("total", "kernel_insns")):
                result.figure(
                    f"{name}_insn_ratio_{users}{suffix(side)}",
                    insn_ratio(result, side.name, users, of),
                )
        for name, of in (("table", "table_insns"), ("total", "kernel_insns")):
            result.figure(f"{name}_insn_aa_ratio_{users}", insn_ratio(result, AGAIN, users, of))
    for name in ("table_insn_ratio", "total_insn_ratio"):
        result.figure(name, result.value(f"{name}_{max(load.users)}"))


def node_figures(result, load):
    """Nodes with the largest number of users."""
    for one in result.runs("nodes", users=max(load.users)):
        end = "" if one["kernel"] == "ours" else f"_{one['kernel']}"
        for name, counts in one["tables"].items():
            for label in ("nodes_per_lookup", "nodes_per_wake"):
                if label in counts:
                    result.figure(f"{label}_{name}{end}", counts[label])
