# SPDX-License-Identifier: GPL-2.0
"""Operations among many users, timers, cgroups, sockets and files."""

import statistics
from typing import NamedTuple

from bench.lib import record, symbol_counts
from bench.lib.benchmark import NEAR, NOISY, Benchmark, Figure
from bench.lib.jobs import count_guest
from bench.lib.rounds import furthest
from bench.lib.sides import build_kernels, check_counting, kernel_of, note_machine
from common import die, step
from kernel import build, variants

MEMORY = "8G"  # on which a hundred thousand users are not unlikely
APPEND = "nokaslr"
OLD_SIZE = "hash_entries=uid:128"
SMALL, MANY, MOST = 100, 10_000, 100_000

# Limits that a crowd would meet, and scanners that would come between.
SETUP = """
echo 4194303 > /proc/sys/kernel/pid_max
echo 1000000 > /proc/sys/kernel/threads-max
echo 1000000 > /proc/sys/user/max_user_namespaces
echo 2000000 > /proc/sys/fs/file-max
echo 1000000000 > \
/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
mkdir /cgroup /hierarchy /locks
mount -t tmpfs locks /locks
mount -t cgroup2 none /cgroup
"""
QUOTAS = """
mkfs.ext4 -q -b 4096 -m 0 -O quota,project,^has_journal -N 262144 \
-E quotatype=usrquota:prjquota,nodiscard,lazy_itable_init=1 /dev/ram0 1000M
mount -o usrquota,prjquota,noinit_itable /dev/ram0 /mnt
chmod 777 /mnt
"""
LOOPBACK = "ip link set lo up\n"
SOCKETS = "mkdir /sockets\nmount -t tmpfs -o nr_inodes=0 sockets /sockets\n"
TRACEFS = "mount -t tracefs none /sys/kernel/tracing\n"
# Without exceptions that become jumps, which search no table.
TRAPS = f"{TRACEFS}echo 0 > /proc/sys/debug/kprobes-optimization\n"
VETH = """
ip link add crowd0 type veth
ip link set crowd0 up
ip link set veth0 up
"""
WATCHED = "mkdir /watched\nmount -t tmpfs -o nr_inodes=0 watched /watched\n"
ENCRYPTED = """
mkfs.ext4 -q -m 0 -O encrypt,^has_journal -N 65536 -E nodiscard /dev/ram0 500M
mount /dev/ram0 /mnt
"""
# A client that does not call for the time of a lease loses its session.
SERVER = """
ip link set lo up
mount -t nfsd nfsd /proc/fs/nfsd
echo 3600 > /proc/fs/nfsd/nfsv4leasetime
echo "-2 -3 +4 +4.1" > /proc/fs/nfsd/versions
echo "tcp 2049" > /proc/fs/nfsd/portlist
echo 1 > /proc/fs/nfsd/threads
echo "nfsd 127.0.0.1 2147483647 crowd" > /proc/net/rpc/auth.unix.ip/channel
"""
FAT = "mkdosfs /dev/ram0\nmount -t vfat /dev/ram0 /mnt\n"
CONTROLLED = "echo +pids > /cgroup/cgroup.subtree_control\n"

# Functions that look something up, with what may be part of them or not.
USERS = ("alloc_uid", "find_user", "uid_hash_find")
COUNTS = ("alloc_ucounts", "find_ucounts")
DQUOTS = ("dqget", "find_dquot")
TIMERS = (
    "__lock_timer",
    "posix_timer_by_id",
    "__posix_timers_find",
    "do_timer_create",
    "posix_timer_add",
    # Of 7.3.
    "lock_timer",
    "posix_timer_add_at",
)
SETS = ("find_css_set", "find_existing_css_set", "compare_css_sets")
LOCKS = ("posix_lock_inode", "posix_locks_deadlock", "what_owner_is_waiting_for")
KSM = ("__ksm_enter", "__ksm_exit")
HUGE = ("__khugepaged_enter", "__khugepaged_exit")
ADDRESSES = ("__ip_dev_find", "inet_lookup_ifaddr_rcu")
NAMES = ("dev_get_by_name_rcu", "netdev_name_node_lookup_rcu")
INDEXES = ("dev_get_by_index_rcu", "netdev_get_name")
PATHS = ("unix_find_other", "unix_find_bsd", "unix_find_socket_byinode")
FILES = ("fat_iget",)
PROBES = ("get_kprobe",)
# The compiler may put a search into its caller.
REGISTER = (*PROBES, "register_kprobe", "unregister_kprobes", "__get_valid_kprobe")
SESSIONS = (
    "pppoe_rcv",
    "pppoe_connect",
    "pppoe_release",
    "get_item",
    "__get_item",
    "__set_item",
    "delete_item",
    "__delete_item",
)
TREES = ("audit_tree_lookup",)
RULES = (
    "audit_filter_syscall",
    "audit_filter_inodes",
    "audit_filter_inode_name",
    "__audit_filter_op",
    "audit_filter_rules",
    "match_tree_refs",
    "audit_tree_match",
    "audit_watch_compare",
    "audit_in_mask",
)
MEASURED = ("ima_lookup_digest_entry", "ima_add_template_entry")
KEYS = ("fscrypt_find_master_key",)
NFS_SESSIONS = ("find_in_sessionid_hashtbl", "__find_in_sessionid_hashtbl")
NFS_CLIENTS = (
    "nfsd4_create_session",
    "find_client_in_id_table",
    "find_confirmed_client",
    "find_unconfirmed_client",
)


class Crowd(NamedTuple):
    name: str
    words: str  # of crowd
    most: int  # members
    ops: int
    lookups: dict  # table -> functions
    setup: str = ""


CROWDS = (
    Crowd("users", "users", MOST, 1000, {"uid": USERS, "ucounts": COUNTS}),
    Crowd("subordinate", "users -s 65536", MANY, 500, {"uid": USERS, "ucounts": COUNTS}),
    Crowd("namespaces", "namespaces", MANY, 200, {"ucounts": COUNTS}),
    Crowd("quotas", "quotas -d /mnt -b /dev/ram0", MOST, 1000, {"dquot": DQUOTS}, QUOTAS),
    Crowd("timers", "timers", MOST, 1000, {"posix_timers": TIMERS}),
    Crowd("cgroups", "cgroups -d /cgroup", MANY, 200, {"css_set": SETS}),
    Crowd("controlled", "cgroups -d /cgroup", MANY, 200, {"css_set": SETS}, CONTROLLED),
    Crowd("locks", "locks -d /locks", MANY, 1000, {"blocked_locks": LOCKS}),
    Crowd("ksm", "ksm", MANY, 200, {"ksm_mm": KSM}),
    Crowd("huge", "huge", MANY, 200, {"khugepaged_mm": HUGE}),
    Crowd("addresses", "addresses", MANY, 1000, {"inet_addr": ADDRESSES}, LOOPBACK),
    Crowd("devices", "devices", MANY, 1000, {"netdev_name": NAMES, "netdev_index": INDEXES}),
    Crowd("sockets", "sockets -d /sockets", MOST, 1000, {"unix": PATHS}, SOCKETS),
    Crowd("files", "files -d /mnt", MOST, 1000, {"fat": FILES}, FAT),
)
# What walks all of a table in the base: a hierarchy that comes.  Of one size.
MOUNTS = Crowd("mounts", "mounts -d /hierarchy", 1, 20, {"css_set": ("cgroup_setup_root",)})


class Kept(NamedTuple):
    """A crowd in a table that the series leaves as it is."""

    crowd: Crowd  # here `lookups` is: operation -> functions
    append: str = ""  # to the command line
    mem: str = MEMORY


KEPT_SIZES = (SMALL, 1000, MANY)
KEPT = (
    Kept(Crowd("probes", "probes", MANY, 100, {"hit": PROBES, "register": REGISTER}, TRACEFS)),
    Kept(Crowd("traps", "traps", MANY, 200, {"hit": PROBES}, TRAPS)),
    Kept(
        Crowd("pppoe", "sessions", MANY, 500, dict.fromkeys(("receive", "connect"), SESSIONS), VETH)
    ),
    Kept(Crowd("audit_trees", "rules -d /watched", MANY, 200, {"open": TREES}, WATCHED), "audit=1"),
    Kept(
        Crowd("audit_files", "watches -d /watched", MANY, 200, {"open": RULES}, WATCHED), "audit=1"
    ),
    Kept(
        Crowd("ima", "measured -d /mnt", MANY, 200, {"measure": MEASURED}, ENCRYPTED),
        "ima_policy=tcb",
    ),
    Kept(Crowd("fscrypt", "keys -d /mnt", MANY, 1000, {"status": KEYS}, ENCRYPTED)),
    # 1024 clients per GiB of memory are accepted.
    Kept(
        Crowd(
            "nfsd", "clients", MANY, 200, {"sequence": NFS_SESSIONS, "create": NFS_CLIENTS}, SERVER
        ),
        mem="12G",
    ),
)
TABLES = tuple(dict.fromkeys(of for crowd in CROWDS for of in crowd.lookups))
SHORT = {MANY: "10k", MOST: "100k"}
# Makes an object as well, and takes a lock another way: not a lookup alone,
# so that it has a figure of its own.
CHANGES = {("timers", "create")}


class Load(NamedTuple):
    sizes: tuple
    counted: tuple  # guests that count instructions, in their order
    small: tuple = ()  # of these, those with the smallest crowd only
    kept: tuple = ()  # sizes of the crowds in KEPT


TWICE = ("base", "ours", "again", "ours-again")
LOADS = {
    "quick": Load((SMALL, MANY), TWICE[:3], small=("again",)),
    "usual": Load((SMALL, MANY, MOST), TWICE, kept=KEPT_SIZES),
    "long": Load((SMALL, 1000, MANY, MOST), TWICE, kept=KEPT_SIZES),
}
BENCH = Benchmark(
    seconds=(130, 800, 7400),
    loads=LOADS,
    figures=(
        Figure("ucounts_*", "ratio", NOISY),
        Figure("ksm_mm_*", "ratio", NOISY),
        Figure("khugepaged_mm_*", "ratio", NOISY),
        Figure("worst_*", "ratio", NOISY),
        Figure("kept_*", "ratio", NOISY),
        Figure("uid_*_at_128_buckets", "ratio", NOISY),
        Figure("*", "ratio", NEAR),
    ),
)


def measure(result, load):
    """Measure, compute the figures and print the tables."""
    symbol_counts.plugin()  # a QEMU without plugins fails before the builds
    kernels = build_kernels(result)
    note_machine(result, kernels["ours"], guest_memory=MEMORY)
    check_counting(result, kernels["ours"])
    for crowd in (*CROWDS, MOUNTS):
        for name in load.counted:
            count(result, crowd, load, name, kernels[kernel_of(name)])
    count(result, CROWDS[0], load, "old-size", kernels["ours"], f"{APPEND} {OLD_SIZE}")
    if load.kept:
        measure_kept(result, load)
    figures(result)
    draw(curves(result))


# Guests.


def sizes_of(crowd, load):
    """The sizes that the crowd may have, at least one."""
    return [one for one in load.sizes if one <= crowd.most] or [crowd.most]


def script(crowd, load):
    sizes = " ".join(map(str, sizes_of(crowd, load)))
    return f"{SETUP}{crowd.setup}crowd {crowd.words} -n {crowd.ops} {sizes}\n"


def options(append=APPEND):
    return {"mem": MEMORY, "append": append, "programs": ["mkfs.ext4"], "timeout": 600}


def count(result, crowd, load, name, kernel, append=APPEND):
    if name in load.small:
        load = load._replace(sizes=load.sizes[:1])
    with step(f"count, {crowd.name}, {name}"):
        segments, output = count_guest(
            result, f"count-{name}", kernel, script(crowd, load), **options(append)
        )
    said = parse(output, crowd, load)
    symbol_counts.check_segments(segments, len(said))
    for one, segment in zip(said, segments):
        found = {
            of: sum(segment.insns[symbol] for symbol in symbols) / one["ops"]
            for of, symbols in crowd.lookups.items()
        }
        check_lookups(crowd, one, segment, found)
        keep(
            result,
            "count",
            crowd,
            name,
            one,
            all_insns=sum(segment.kernel().values()) / one["ops"],
            lookup_insns=found,
        )


def check_lookups(crowd, one, segment, found):
    """Each operation must call the functions of its lookup.

    In a small crowd who is drawn may be the same twice: nothing is looked up.
    """
    for of, symbols in crowd.lookups.items():
        calls = sum(segment.entries[symbol] for symbol in symbols)
        if calls < 0.9 * one["ops"] or not found[of]:
            die(
                f"{crowd.name} {one['operation']}: {calls} calls of "
                f"{' '.join(symbols)} in {one['ops']} operations"
            )


def keep(result, kind, crowd, name, one, **more):
    result.run(
        kind, crowd=crowd.name, kernel=name, operation=one["operation"], size=one["size"], **more
    )


def parse(output, crowd, load):
    """What crowd printed: a dictionary for each size and operation."""
    found = []
    for line in output.splitlines():
        words = line.split()
        if len(words) != 5 or words[0] != crowd.words.split()[0]:
            die(f"crowd printed {line!r}")
        size, ops, nanoseconds = map(int, words[2:])
        found.append({"operation": words[1], "size": size, "ops": ops, "nanoseconds": nanoseconds})
    names = list(dict.fromkeys(one["operation"] for one in found))
    wanted = [(size, name) for size in sizes_of(crowd, load) for name in names]
    if not found or [(one["size"], one["operation"]) for one in found] != wanted:
        die(
            f"crowd {crowd.words} printed {len(found)} lines, expected "
            f"{len(names)} operations for each of the sizes "
            f"{' '.join(map(str, sizes_of(crowd, load)))}"
        )
    return found


# Tables that the series leaves as they are.


def kept_kernel():
    return variants.base("crowd", build.CONFIGS / "test/crowd.config", targets=variants.VMLINUX)


def measure_kept(result, load):
    kernel = kept_kernel()
    result.kernel(kernel)
    load = load._replace(sizes=load.kept)
    for kept in KEPT:
        crowd = kept.crowd
        with step(f"count, {crowd.name}, base"):
            segments, output = count_guest(
                result, f"kept-{crowd.name}", kernel, script(crowd, load), **kept_options(kept)
            )
        keep_kept(result, crowd, load, segments, output)


def kept_options(kept):
    return options(f"{APPEND} {kept.append}") | {"mem": kept.mem}


def keep_kept(result, crowd, load, segments, output):
    said = parse(output, crowd, load)
    symbol_counts.check_segments(segments, len(said))
    for one, segment in zip(said, segments):
        symbols = crowd.lookups[one["operation"]]
        found = sum(segment.insns[symbol] for symbol in symbols) / one["ops"]
        check_lookups(
            crowd._replace(lookups={crowd.name: symbols}), one, segment, {crowd.name: found}
        )
        # Of the base alone: no kernel is named, so nothing compares it.
        result.run(
            "kept",
            crowd=crowd.name,
            operation=one["operation"],
            size=one["size"],
            all_insns=sum(segment.kernel().values()) / one["ops"],
            lookup_insns=found,
        )


def kept_rows(result):
    """{(crowd, operation): {size: (instructions of the lookup, of the kernel)}}"""
    rows: dict[tuple, dict] = {}
    for one in result.runs("kept"):
        row = rows.setdefault((one["crowd"], one["operation"]), {})
        row[one["size"]] = one["lookup_insns"], one["all_insns"]
    return rows


def kept_figures(result):
    for (crowd, operation), row in kept_rows(result).items():
        small, many = row[min(row)], row[max(row)]
        for what, number in (("lookup", 0), ("kernel", 1)):
            result.figure(f"kept_{crowd}_{operation}_{what}_growth", many[number] / small[number])


# Figures.


def curves(result):
    """[{table, crowd, operation, kernel -> {size: instructions}}]"""
    found: dict[tuple, dict] = {}
    for one in result.runs("count"):
        if one["crowd"] == MOUNTS.name:
            continue
        for of, insns in one["lookup_insns"].items():
            key = (of, one["crowd"], one["operation"])
            row = found.setdefault(key, dict(zip(("table", "crowd", "operation"), key)))
            row.setdefault(one["kernel"], {})[one["size"]] = insns
    return list(found.values())


def growth(curve, kernel, size):
    """Cost of a lookup in a crowd of this size divided by that in 100."""
    return curve[kernel][size] / curve[kernel][SMALL]


def ratio_at_100(curve):
    """From the means of two guests each, since the placement is random."""
    ours, base = (
        statistics.fmean(curve[name][SMALL] for name in names if name in curve)
        for names in (("ours", "ours-again"), ("base", "again"))
    )
    return ours / base


def figures(result):
    all_curves = curves(result)
    worst = 0
    for of in TABLES:
        for size, short in SHORT.items():
            mine = [one for one in all_curves if one["table"] == of and size in one["ours"]]
            for kernel, end in (("ours", ""), ("base", "_base")) if mine else ():
                most = max(growth(one, kernel, size) for one in mine)
                result.figure(f"{of}_{short}_vs_100{end}", most)
                worst = max(worst, most if kernel == "ours" else 0)
    result.figure("worst_growth", worst)
    lookups = [one for one in all_curves if (one["crowd"], one["operation"]) not in CHANGES]
    result.figure("worst_ratio_at_100", max(map(ratio_at_100, lookups)))
    result.figure(
        "worst_aa_ratio_at_100",
        furthest([one["again"][SMALL] / one["base"][SMALL] for one in lookups]),
    )
    operations(result)
    kept_figures(result)
    for size, short in SHORT.items():
        small = [
            growth(one, "old-size", size)
            for one in all_curves
            if one["table"] == "uid" and size in one.get("old-size", ())
        ]
        if small:
            result.figure(f"uid_{short}_vs_100_at_128_buckets", max(small))


def operations(result):
    """Figures of whole operations: all instructions of the kernel."""
    ratios, aa = {}, []
    for one in result.runs("count", kernel="ours"):
        where = {name: one[name] for name in ("crowd", "operation", "size")}
        base = [
            run["all_insns"]
            for name in ("base", "again")
            for run in result.runs("count", kernel=name, **where)
        ]
        ratio = one["all_insns"] / statistics.fmean(base)
        if one["crowd"] == MOUNTS.name:
            result.figure("css_set_mount_ratio", ratio)
        elif one["size"] == SMALL:
            ratios[f"{one['crowd']} {one['operation']}"] = ratio
            aa.append(base[1] / base[0])
    result.figure("worst_operation_ratio_at_100", max(ratios.values()))
    result.figure("worst_operation_aa_ratio_at_100", furthest(aa))
    result.figure("posix_timers_create_ratio_at_100", ratios["timers create"])


# Tables and the picture.


def draw(rows):
    panels: dict[str, dict] = {}
    for row in rows:
        for side, title in (("base", "mainline"), ("ours", "series")):
            name = f"{row['operation']}, {title}"
            panels.setdefault(row["table"], {})[name] = sorted(row[side].items())
    record.draw(
        "crowd",
        x="objects",
        y="instructions of the lookups of an operation",
        logarithms=(10, 10),
        columns=4,
        panels=panels,
    )
