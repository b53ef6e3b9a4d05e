# SPDX-License-Identifier: GPL-2.0
"""Other people's tests on the base and on the series: the series adds no failure.

They are selftests of the kernel, stressors of stress-ng and, with LTP=PATH, an
installed Linux Test Project.  Each program runs in a guest of either kernel.  What
passes in the base and fails in the series runs again on both before it counts.
"""

import collections
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import emulation
import sections
from common import run, setting
from common.packages import ensure_packages
from guest import vm
from kernel import build, variants
from series import source

pytestmark = pytest.mark.long

CONFIG = build.CONFIGS / "test/other-suites.config"
SELFTESTS = "tools/testing/selftests"
TRIES = 8  # a test that fails by chance in each second run must not count
SECONDS = 120  # time limit of a program
KILLED = 128 + 9
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
DIFFERS, NEW = "differs", "new failure"
COLUMNS = (PASSED, FAILED, SKIPPED, DIFFERS, NEW)


@dataclass
class Suite:
    """Programs that run in one guest, one after the other."""

    commands: dict[str, str]  # name of a run -> command
    skips: tuple[int, ...]  # exit statuses of a program that cannot run
    prepare: str = ""  # script before them
    seconds: int = SECONDS
    options: dict = field(default_factory=dict)  # of vm.run


# --- selftests ------------------------------------------------------------------

# Folders of selftests whose programs run in one guest.
FOLDERS = {
    "timers": ("timers", "timens"),
    "cgroup": ("cgroup",),
    "mm": ("mm", "cachestat", "mincore", "memfd"),
    "files": (
        *("filelock", "filesystems", "filesystems/epoll", "filesystems/statmount"),
        *("mount_setattr", "move_mount_set_group", "nsfs", "tmpfs"),
    ),
    "tasks": ("proc", "futex/functional", "clone3", "core", "pidfd", "rlimits"),
    "sockets": ("net/af_unix",),
}
# Programs that do not run, and why.
HELPER = "no test by itself"
LEFT_OUT = {
    **dict.fromkeys(
        (
            *("timers/adjtick", "timers/alarmtimer-suspend", "timers/change_skew"),
            *("timers/clocksource-switch", "timers/freq-step", "timers/leap-a-day"),
            *("timers/leapcrash", "timers/set-2038", "timers/set-tai", "timers/set-tz"),
            *("timers/skew_consistency", "timers/valid-adjtimex"),
        ),
        "sets the clock, which the series does not touch",
    ),
    "timers/raw_skew": "compares two clocks for two minutes",
    "timers/rtcpie": "an emulated processor is too slow for 8192 interrupts a second",
    "timens/gettime_perf": "measures",
    "cgroup/wait_inotify": HELPER,
    "filesystems/dnotify_test": "runs until it is killed",
    "memfd/fuse_test": HELPER,
    **dict.fromkeys(("mm/hmm-tests", "mm/hugetlb-read-hwpoison"), "needs a module"),
    "mm/hugetlb-soft-offline": "needs CONFIG_MEMORY_FAILURE",
    "mm/va_high_addr_switch": "needs page tables of five levels",
    "mm/virtual_address_range": "maps 128 TiB and takes an hour under emulation",
    "mm/write_to_hugetlbfs": HELPER,
}
# Arguments of each run of a program, as its Makefile or run_vmtests.sh gives them.
ARGUMENTS = {
    "timers/inconsistency-check": ("-t 1",),
    "timers/threadtest": ("-t 5", "-t 5 -i"),
    "mm/gup_test": ("-u", "-a", "-ct -F 0x1 0 19 0x1000"),
    "mm/khugepaged": ("", "-s 2"),
    "mm/ksm_tests": (
        *("-M -p 10", "-U", "-Z -p 10 -z 0", "-Z -p 10 -z 1", "-N -m 1", "-N -m 0"),
        *("-P -s 20", "-H -s 20"),
    ),
    "mm/transhuge-stress": ("-d 5",),
    "mm/uffd-stress": ("anon 20 4", "hugetlb 16 4", "shmem 20 4", "shmem-private 20 4"),
}
# Two nodes, each with a CPU.
NUMA = emulation.nodes(2)
PREPARE = """
ip link set lo up
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/shm /dev/mqueue /dev/pts /dev/hugepages
mount -t tmpfs shm /dev/shm
mount -t mqueue mqueue /dev/mqueue
mount -t devpts devpts /dev/pts
echo 64 > /proc/sys/vm/nr_hugepages
"""


def compiled(folder, kernel):
    """The programs of a folder of selftests, made of the series' tree."""
    out = source.version_dir() / "other-suites" / folder
    out.mkdir(parents=True, exist_ok=True)
    run(
        [
            *("make", "-C", kernel.src / SELFTESTS / folder, f"-j{os.cpu_count()}", "CC=gcc"),
            # A program that does not build leaves the others.
            *("--keep-going", f"OUTPUT={out}"),
            # khugepaged.c includes no header that defines it, and ofdlocks.c compares the
            # padding of two structs on its stack.
            "USERCFLAGS=-DKSFT_SKIP=4 -ftrivial-auto-var-init=zero",
            f"KHDR_INCLUDES=-isystem {kernel.obj / 'usr/include'}",
        ],
        env=build.environment(),
        log=out / "build.log",
        check=False,
    )
    return [
        path
        for path in sorted(out.iterdir())
        if path.is_file() and os.access(path, os.X_OK) and f"{folder}/{path.name}" not in LEFT_OUT
    ]


def selftests(folders, kernel):
    programs = {
        f"{folder}/{path.name}": path for folder in folders for path in compiled(folder, kernel)
    }
    commands = {
        f"{name} {words}".rstrip(): f"{path} {words}"
        for name, path in programs.items()
        for words in ARGUMENTS.get(name, ("",))
    }
    options = {"programs": (*map(str, programs.values()), "mkfs.ext4"), "qemu": NUMA}
    return Suite(commands, skips=(4,), prepare=PREPARE, options=options)


# --- stress-ng ------------------------------------------------------------------

# Stressors of what the series touches; those of files run on two file systems.
FILES = (
    "access chdir chmod chown close copy-file dentry dir dirdeep dirmany dnotify dup fallocate "
    "fanotify fcntl file-ioctl fiemap filename flock fsize fstat getdent handle hdd inode-flags "
    "inotify io lease link locka lockf lockofd mknod open rename revio seek symlink sync-file "
    "touch utime xattr"
)
MEMORY = (
    "fault madvise memfd mincore mlock mmap mmapfixed mmapfork mmapmany mremap msync pipe ramfs "
    "readahead remap rmap seal secretmem sendfile splice tee tmpfs userfaultfd vm vm-rw vm-splice"
)
TASKS = (
    "alarm chroot clock clone daemon epoll eventfd exec fork futex get itimer key kill mq msg "
    "mutex nanosleep pidfd poll procfs pthread quota resources sem sem-sysv session set shm "
    "shm-sysv sigfd sigq sysfs timer timerfd umount unshare vfork wait zombie"
)
SOCKETS = (
    "netdev ping-sock rawsock rawudp sock sockabuse sockdiag sockfd sockmany sockpair udp udp-flood"
)
FILE_SYSTEMS = {
    "ext4": "mkfs.ext4 -q -O quota /dev/vda\nmount /dev/vda /mnt",
    "tmpfs": "mount -t tmpfs tmpfs /mnt",
}
STRESSORS = {
    "files on ext4": (FILES, "ext4"),
    "files on tmpfs": (FILES, "tmpfs"),
    "memory": (MEMORY, "ext4"),
    "tasks": (TASKS, "ext4"),
    "sockets": (SOCKETS, "tmpfs"),
}


def stressors(names, file_system):
    commands = {
        # Two of each share what they work on, or its table.
        name: f"stress-ng --verify --oomable --temp-path /mnt --timeout 2s --{name} 2"
        for name in names.split()
    }
    options = {"programs": ("stress-ng", "mkfs.ext4"), "disk": "1G", "mem": "1G"}
    # Statuses: no resources, not implemented.
    prepare = PREPARE + FILE_SYSTEMS[file_system]
    return Suite(commands, skips=(3, 4), prepare=prepare, seconds=60, options=options)


# --- LTP ------------------------------------------------------------------------

# Files of LTP's folder runtest, and which of their tests run.
LTP = {
    # Others run for one or two minutes each.
    "fs": r"(?!gf(1[5-8]|2|30)|rwtest0[1-4]|iogen)",
    "syscalls": r"(access|add_key|chdir|cgroup|clone|close|creat|dup|epoll|eventfd|fanotify|fcntl|"
    r"flock|fork|fstat|fsync|futex|getdents|inotify|keyctl|link|lstat|madvise|mincore|mkdir|mknod|"
    r"mlock|mmap|mount|mq_|mremap|msg|msync|munmap|name_to_handle|open|pipe|quotactl|readahead|"
    r"rename|request_key|rmdir|sem|sendfile|set.*id|setgroups|shm|socket|splice|stat|symlink|sync|"
    r"tee|timer|umount|unlink|unshare|utime|vmsplice)",
}
# Several file systems of the host have an inode of the same number.
HOST = (
    "-virtfs",
    "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
)
# The host's files, so that LTP finds its programs, and they find theirs.
ROOT = """
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose host /mnt
for folder in proc sys dev tmp; do
    mount --rbind /$folder /mnt/$folder
done
"""


def ltp(name, config):
    place = Path(setting("LTP"))
    inside = {
        "LTPROOT": place,
        "KCONFIG_PATH": config,
        "PATH": f"{place}/testcases/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TMPDIR": "/tmp",
        "LTP_TIMEOUT_MUL": 4,
        "LTP_DEV": "/dev/vda",
    }
    environment = " ".join(f"{key}={value}" for key, value in inside.items())
    commands = {}
    for line in (place / "runtest" / name).read_text().splitlines():
        test, command = [*line.split(maxsplit=1), "", ""][:2]
        if command and not test.startswith("#") and re.match(LTP[name], test):
            quoted = command.replace("'", "'\\''")
            commands[test] = f"chroot /mnt env {environment} sh -c '{quoted}'"
    options = {"qemu": HOST, "disk": "512M", "mem": "2G"}
    return Suite(commands, skips=(32,), prepare=PREPARE + ROOT, options=options)


# --- runs -----------------------------------------------------------------------

# A program's output goes to a file: no line of it is taken for a mark.  What it
# leaves running ends with it: all but init, this shell and the kernel's threads.
RUNNER = """
run() {
    echo "=== $1"
    status=0
    setsid timeout -s KILL $2 sh -c "$3" > /root/output 2>&1 || status=$?
    for entry in /proc/[0-9]*; do
        case ${entry#/proc/} in
        1 | $$) ;;
        *) [ ! -e $entry/exe ] || kill -9 ${entry#/proc/} 2> /dev/null || true ;;
        esac
    done
    tail -c 300000 /root/output | sed 's/^/ /'
    echo
    echo "status $status"
}
ulimit -c 0
cd /tmp
"""
# A stressor that cannot run exits with 0.
NOT_RUN = re.compile("skipping stressor|finished prematurely")
# `ok` may stand behind a message without an end of line.
RESULT = re.compile(
    r"(?:^ |\.\.)(not )?ok \d+\b(?: -)? *(.*?) *(?:# *(SKIP|XFAIL|error)\b *(.*))?$", re.MULTILINE
)
KERNEL = "kernel"  # stands for a program: what it complains of is a failure


def general(text):
    """Without addresses, times and processes, which differ between runs."""
    return re.sub(r"\b0x[0-9a-f]+|\b\d[\d.]*\b", "N", text).strip()


def outcomes(output, complaints, skips):
    """{(name of a run, test of the program or nothing): outcome}"""
    found = {}
    for name, text in sections.named(output).items():
        body, _, status = text.rpartition("status ")
        found[name, ""] = {0: PASSED, **dict.fromkeys(skips, SKIPPED)}.get(int(status), FAILED)
        if not int(status) and NOT_RUN.search(body):
            found[name, ""] = SKIPPED
        if int(status) == KILLED:
            continue  # how far it came says nothing
        count = collections.Counter()
        for bad, before, directive, behind in RESULT.findall(body):
            test = general(before or behind)
            count[test] += 1
            found[name, f"{test} ({count[test]})"] = (
                SKIPPED if directive == "SKIP" else FAILED if bad or directive else PASSED
            )
    for line in complaints:
        found[KERNEL, general(line.partition("] ")[2])] = FAILED
    return found


def script(suite, names):
    quoted = {name: suite.commands[name].replace("'", "'\\''") for name in names}
    lines = [f"run '{name}' {suite.seconds} '{command}'" for name, command in quoted.items()]
    return "\n".join([suite.prepare, RUNNER, *lines])


def guest(kernel, suite, names):
    """What the programs of these names did in one guest."""
    accel = vm.accelerator(kernel)
    result = vm.run(
        kernel,
        script(suite, names),
        complaints=True,
        accel=accel,
        # Most limits of programs are never reached; they hold under emulation as well.
        timeout=(60 + suite.seconds * len(names)) / accel.limit(1),
        **{"mem": "2G", "cpus": 2} | suite.options,
    )
    found = outcomes(result.output, result.complaints, suite.skips)
    assert [name for name, test in found if name in names and not test] == list(names)
    return found


def verdict(base, series):
    """base, series: how often a test ended in each way, over all tries."""
    if set(base) == set(series) and len(base) == 1:
        return next(iter(base))
    mostly_passes = base[PASSED] * 2 > base.total()
    # It could not run in the base, or the kernel complained of nothing there.
    does_not_run = base[SKIPPED] == base.total()
    if not series[PASSED] and (mostly_passes or does_not_run and series[FAILED]):
        return NEW
    return DIFFERS


def compare(suite, run_guest):
    """{(name of a run, test): (verdict, counts in the base, counts in the series)}"""
    counts = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    names = list(suite.commands)
    for _ in range(TRIES):
        found = [run_guest(side, names) for side in ("base", "series")]
        for key in set(found[0]) | set(found[1]):
            for count, one in zip(counts[key], found):
                if key in one:
                    count[one[key]] += 1
        judged = {key: (verdict(*both), *both) for key, both in counts.items()}
        again = {name for (name, _), (what, *_) in judged.items() if what == NEW}
        names = [name for name in suite.commands if name in again or KERNEL in again]
        if not names:
            break
    return judged


@pytest.fixture(scope="module")
def kernels(visibly):
    """Base and series with the same configuration, and what the suites are made with."""
    ensure_packages("suites")
    with visibly():
        found = {
            "base": variants.base("suites", CONFIG, targets=variants.VMLINUX, tree="base"),
            "series": variants.patched("suites", CONFIG, targets=variants.VMLINUX),
        }
        series = found["series"]
        log = series.obj.parent / "headers.log"
        build.make(series.src, series.obj, "headers", log=log, what="make headers")
    return found


@pytest.fixture(scope="module")
def table(visibly):
    """Rows that the tests add: a suite, and how many tests of it have each verdict."""
    rows = []
    yield rows
    with visibly():
        print(f"{'suite':36}{''.join(f'{name:>13}' for name in COLUMNS)}")
        for name, count in rows:
            print(f"{name:36}{''.join(f'{count[column]:13}' for column in COLUMNS)}")


@pytest.fixture
def check(kernels, table):
    """Compare the two kernels by a suite."""

    def compared(name, suite):
        judged = compare(suite, lambda side, names: guest(kernels[side], suite, names))
        count = collections.Counter(what for what, *_ in judged.values())
        table.append((name, count))
        for key, (what, base, series) in sorted(judged.items()):
            if what != PASSED:
                print(f"{what}: {' '.join(key)}: base {dict(base)}, series {dict(series)}")
        assert [key for key, (what, *_) in judged.items() if what == NEW] == []
        assert count[PASSED]
        return count

    return compared


@pytest.mark.parametrize("name", FOLDERS)
def test_selftests(name, kernels, check):
    check(f"selftests of {name}", selftests(FOLDERS[name], kernels["series"]))


@pytest.mark.parametrize("name", STRESSORS)
def test_stressors(name, check):
    check(f"stress-ng: {name}", stressors(*STRESSORS[name]))


@pytest.mark.skipif(not setting("LTP"), reason="LTP= names no folder of an installed LTP")
@pytest.mark.parametrize("name", LTP)
def test_ltp(name, kernels, check):
    count = check(f"LTP: {name}", ltp(name, kernels["series"].config))
    assert count[PASSED] > count[FAILED] + count[SKIPPED]


# --- what judges them --------------------------------------------------------------


def test_new_failure_is_seen():
    """Also one that no test reports: a program that crashes, and a kernel's warning."""
    good = "=== one\n ok 1 a\n ok 2 # SKIP b\n\nstatus 0\n=== two\n\nstatus 4\n"
    bad = "=== one\n not ok 1 a\n ok 2 b 0x12\n\nstatus 1\n=== two\n\nstatus 139\n"
    complaint = "[    1.5] WARNING: CPU: 0 PID: 7 at mm/a.c:1"
    found = {"base": outcomes(good, (), (4,)), "series": outcomes(bad, [complaint], (4,))}
    suite = Suite({"one": "one", "two": "two"}, skips=(4,))
    judged = compare(suite, lambda side, names: found[side])
    assert {key for key, (what, *_) in judged.items() if what == NEW} == {
        ("one", ""),
        ("one", "a (1)"),
        ("two", ""),
        (KERNEL, "WARNING: CPU: N PID: N at mm/a.c:N"),
    }
