# SPDX-License-Identifier: GPL-2.0
"""What hashstats advise says of a kernel without our patches.

Its command line sizes few tables, each by a parameter of its own. The others
have one size on each machine; of those it says what the series would change.
"""

from . import numbers, sizing, spread, verdicts

# Parameters that set the number of buckets.
PARAMETERS = {
    "dentry": "dhash_entries",
    "inode": "ihash_entries",
    "mount": "mhash_entries",
    "mountpoint": "mphash_entries",
    "tcp-established": "thash_entries",
    "udp": "uhash_entries",
}
# thash_entries= takes more than the automatic limit of its table.
LIMITS = {name: limit for name, limit in sizing.LIMITS.items() if name != "tcp-established"}
# The series sizes tables whose names begin so by memory.
SIZED = (
    "folio_wait", "bit_wait", "dentry_lookup", "uid", "ucounts", "css_set", "dquot",
    "blocked_locks", "ksm_mm", "khugepaged_mm", "mbcache", "posix_timers",
)  # fmt: skip
# From Linux 6.15 on, mainline sizes this one by processors, and the series by
# hash_entries= only.
SIZED_BY_REQUEST = "posix_timers"
# The series gives the keys of these tables another hash function.
REHASHED = ("inode", "mount", "mountpoint", "css_set", "uid", "dquot", "ucounts")
# Tables that the parameter of another one sizes too, up to MOST_OF_FOLLOWERS buckets.
# bhash follows the size of ehash; lhash2 has one of its own without thash_entries=.
FOLLOWERS = {
    "tcp-bind": "tcp-established",
    "tcp-bind2": "tcp-established",
    "tcp_listen_portaddr_hash": "tcp-established",
    "udp-hash2": "udp",
    "udp-hash4": "udp",
}
MOST_OF_FOLLOWERS = 64 << 10
# What a parameter changes besides tables.
SIDE_EFFECTS = {
    "tcp-established": "thash_entries= also sets the limits of orphaned sockets and of sockets in "
    "TIME_WAIT (net.ipv4.tcp_max_orphans, tcp_max_tw_buckets) and that of the SYN queue."
}
WORTH = 0.5  # nodes per lookup more than the target


def follow(plans, target):
    """Plan the tables that have no parameter with the one whose parameter sizes them.

    Its size is what any of them needs, since one number is for all.
    """
    by_name = {plan.name: plan for plan in plans}
    for name in dict.fromkeys(FOLLOWERS.values()):
        leader = by_name.get(name)
        if not leader or leader.one.kind == verdicts.OFF:
            continue
        followers = [by_name[one] for one, of in FOLLOWERS.items() if of == name and one in by_name]
        for plan in followers:
            one = plan.one
            if one.bad and one.verdict != "skewed" and one.table.objects:
                wanted = min(spread.buckets_for(one.table.objects, target), MOST_OF_FOLLOWERS)
                if wanted > plan.now:
                    leader.buckets = max(leader.buckets, wanted)
                    leader.named = True
        if leader.action == sizing.KEEP and not leader.named:
            continue
        for plan in followers:
            plan.buckets = min(leader.buckets, MOST_OF_FOLLOWERS)


def side_effects(plans):
    """What else the line changes, a sentence each."""
    for plan in plans:
        if plan.name not in PARAMETERS or plan.action == sizing.KEEP and not plan.named:
            continue
        also = [
            f"{one.name} ({numbers.size(one.bytes)})"
            for one in plans
            if FOLLOWERS.get(one.name) == plan.name
        ]
        if also:
            yield f"{PARAMETERS[plan.name]}= also sizes {', '.join(also)}."
        if plan.name in SIDE_EFFECTS:
            yield SIDE_EFFECTS[plan.name]


def line_of(plans):
    """The words for the kernel command line; these parameters take no suffix K or M."""
    return " ".join(
        f"{PARAMETERS[plan.name]}={plan.buckets}"
        for plan in plans
        if plan.name in PARAMETERS
        and (plan.action != sizing.KEEP or plan.named or sizing.asked_for(plan))
    )


def advice(plan, worst, target):
    """What to do with a table that no parameter sizes; None if one does."""
    if worst.verdict == "skewed":
        return skewed(worst, target)
    one = plan.one
    if plan.name in FOLLOWERS and plan.action != sizing.KEEP:
        return f"{plan.action}, by {PARAMETERS[FOLLOWERS[plan.name]]}="
    if plan.name in PARAMETERS or one.verdict == "idle":
        return None
    if one.kind != verdicts.CHAINS or not one.table.objects:
        return "keep: its size cannot be set"
    if one.nodes < target + WORTH or one.momentary and not one.bad:
        return "keep: its fixed size is enough"
    if plan.name == SIZED_BY_REQUEST and one.table.sized_by != "fixed":
        return f"{fixed(one)}; with boothash's hash_entries= {sized(one, target):.1f}"
    if plan.name.startswith(SIZED):
        return f"{fixed(one)}; with boothash {sized(one, target):.1f}"
    return fixed(one)


def skewed(one, target):
    if one.name not in REHASHED:
        return "skewed: size will not help, keys collide"
    return f"skewed: {one.nodes:.1f} nodes per lookup; with boothash {sized(one, target):.1f}"


def sized(one, target):
    """Nodes per lookup with a random function and as many buckets as the target takes."""
    buckets = max(spread.buckets_for(one.table.objects, target), one.table.buckets)
    return spread.nodes_expected(buckets, one.table.objects)


def fixed(one):
    what = "fixed at" if one.table.sized_by == "fixed" else "made with"
    return f"{what} {one.table.buckets}: {one.nodes:.1f} nodes per lookup"
