# SPDX-License-Identifier: GPL-2.0
"""A whole Debian machine: the packages of make deb, a load, sizes, and back.

One machine takes the road once; the tests look at what it left behind. Its first boot
of the patched kernel has tables that are too small on purpose: those that follow memory
would stay as they are.
"""

import json
import os
import re
import subprocess
from typing import NamedTuple

import prometheus
import pytest
from toyhashstats import said

from common import ROOT, run, setting
from guest import debian_kernel, machine_disk, stock, vm
from guest.machine import Machine
from kernel import deb
from series import source

pytestmark = pytest.mark.long

FLAVOUR = setting("FLAVOUR", "cloud")  # CONFIG= builds another one
SMALL = "hash_entries=dentry:2K,inode:2K,uid:32"
GREW = ("dentry", "inode", "uid")
WITHIN = 0.15  # of the nodes that are observed
USERS = 300
MODULES = "ext4 quota_v2 nfsd overlay btrfs xfs"
EXPORTED = "/var/lib/prometheus/node-exporter/hashstats.prom"

# The same each time, so that the tables fill as much as before: users with a process
# each, packages, a repository, a database, and every name of the disk.
LOAD = f"""
export DEBIAN_FRONTEND=noninteractive
for uid in $(seq 20000 {20000 + USERS - 1}); do
    setpriv --reuid=$uid --clear-groups sleep 100000 > /dev/null 2>&1 &
done
# mmdebstrap fetched no package that is only recommended.
apt-get -q -y --no-download --no-install-recommends --reinstall install git postgresql 2>&1
rm -rf /root/tree
mkdir /root/tree
cp -a /etc /usr/lib/python3* /root/tree/
cd /root/tree
git init -q .
git add -A
git -c user.name=a -c user.email=a@b commit -q -m all
git status --short
systemctl start postgresql
cd /
runuser -u postgres -- sh -c 'dropdb --if-exists load; createdb load'
runuser -u postgres -- pgbench -q -i -s 1 load 2>&1
runuser -u postgres -- pgbench -c 8 -t 25 load 2>&1
find / -xdev -ls > /dev/null || true
"""
# What is in the journal from the kernel and from services, notices left out.
WARNINGS = "journalctl -b -q -p warning -o cat --no-pager"
# The host was busy while the guest measured time.
LATE = re.compile(r"APIC calibration not consistent|hrtimer: interrupt took")
NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+")


class Road(NamedTuple):
    packages: list
    debian: str  # the release of Debian's kernel
    patched: str
    warnings: dict  # release -> lines of the journal
    tainted: str
    listed: str  # modules that could be loaded
    shown: str  # `hashstats show` after the first load
    advice: dict
    grub: str  # what --apply-grub printed
    command_line: str  # of the boot that has the advice
    after: str  # /proc/hashstats after the same load
    exported: str
    last: str  # the release that runs when the packages are gone
    left: str  # files of the packages that are still there then
    configuration: str


def install_disk(folder, packages):
    """A file system with the packages, as a USB stick."""
    content = folder / "packages"
    content.mkdir()
    for path in packages:
        os.link(path, content / path.name)
    size = sum(path.stat().st_size for path in packages)
    image = folder / "packages.ext4"
    blocks = (size >> 12) + 4096
    run(["mkfs.ext4", "-q", "-b", "4096", "-d", content, image, blocks])
    return image


@pytest.fixture(scope="module")
def packages(visibly):
    with visibly(), pytest.MonkeyPatch.context() as patch:
        if not setting("CONFIG"):
            patch.setenv("FLAVOUR", FLAVOUR)
        return deb.build_packages()


@pytest.fixture(scope="module")
def road(packages, kernel, visibly, tmp_path_factory):
    if os.geteuid():
        pytest.skip("only root can make a disk with files of several users")
    second = install_disk(tmp_path_factory.mktemp("road"), packages)
    accel = vm.accelerator(kernel)
    with visibly():
        disk = machine_disk.image(accel)
        with Machine(disk, accel, second=second) as machine:
            return take(machine, packages)


def take(machine, packages):
    def to(what):
        print(f"  {what}", flush=True)

    seen = {"packages": packages, "warnings": {}}

    def settle():
        machine.run("systemctl is-system-running --wait || true", 120)
        seen["warnings"][machine.release] = machine.run(WARNINGS)

    seen["debian"] = machine.booted()
    to(f"Debian's kernel {machine.release} runs")
    settle()
    names = " ".join(f"/mnt/{path.name}" for path in packages if "-dbg_" not in path.name)
    machine.run(
        f"""mount -o ro /dev/vdb /mnt
DEBIAN_FRONTEND=noninteractive apt-get -q -y install {names} 2>&1
umount /mnt
echo 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {SMALL}"' \\
    > /etc/default/grub.d/50-small.cfg
update-grub 2>&1
""",
        180,
    )
    to("packages are installed")
    seen["patched"] = machine.reboot()
    to(f"{machine.release} runs")
    settle()
    seen["listed"] = machine.run(
        f"for one in {MODULES}; do modprobe -q $one && echo $one; done", check=False
    )
    seen["tainted"] = machine.run("cat /proc/sys/kernel/tainted").strip()
    machine.run("hashstats on")
    machine.run(LOAD, 300)
    to("the load has run")
    seen["shown"] = machine.run("hashstats show")
    machine.run("hashstats copy > /root/before")
    seen["advice"] = json.loads(machine.run("hashstats advise --json -f /root/before"))
    seen["grub"] = machine.run("hashstats advise --apply-grub --yes -f /root/before")
    machine.run("update-grub 2>&1")
    machine.reboot()
    to("booted with the advised sizes")
    seen["command_line"] = machine.run("cat /proc/cmdline")
    machine.run("systemctl enable --now hashstats-metrics.timer 2>&1; hashstats on")
    machine.run(LOAD, 300)
    seen["after"] = machine.run("hashstats copy")
    seen["exported"] = machine.run(
        f"until [ -s {EXPORTED} ]; do sleep 1; done; cat {EXPORTED}", 120
    )
    to("the load has run again")
    image = next(p.name.partition("_")[0] for p in packages if p.name.startswith("linux-image"))
    others = " ".join(p.name.partition("_")[0] for p in packages if "-dbg_" not in p.name)
    machine.run(
        f"""rm /etc/default/grub.d/hashstats.cfg /etc/default/grub.d/50-small.cfg
DEBIAN_FRONTEND=noninteractive apt-get -q -y purge {others} 2>&1
""",
        120,
    )
    seen["last"] = machine.reboot()
    to(f"the packages are gone, {machine.release} runs")
    release = image.removeprefix("linux-image-")
    seen["left"] = machine.run(f"ls -d /boot/*{release} /lib/modules/{release} 2>/dev/null || true")
    seen["configuration"] = machine.run("cat /boot/grub/grub.cfg")
    machine.power_off()
    return Road(**seen)


def table(advice, name):
    [found] = [one for one in advice["tables"] if one["name"] == name]
    return found


def observed(road, name):
    return table(json.loads(said("json", "-f", "-", text=road.after)), name)


def test_packages_are_complete(packages):
    names = {path.name.partition("_")[0] for path in packages}
    [image] = {name for name in names if name.startswith("linux-image-") and "dbg" not in name}
    assert names >= {image, image.replace("image", "headers"), "boothash-tools"}
    assert "linux-libc-dev" not in names
    [path] = [path for path in packages if path.name.startswith(image + "_")]
    text = subprocess.run(
        ["dpkg-deb", "-f", path, "Description"], text=True, capture_output=True, check=True
    ).stdout
    assert "It is not signed. With Secure Boot" in text


def test_grub_starts_the_patched_kernel(road):
    """Its modules load, and none taints it."""
    assert road.patched != road.debian and "-boothash" in road.patched
    assert road.tainted == "0"
    if not setting("CONFIG"):
        assert road.listed.split() == MODULES.split()


def test_no_new_warning(road):
    """Against Debian's kernel on the same disk."""
    known = {NUMBER.sub("#", line) for line in road.warnings[road.debian].splitlines()}
    new = [
        line
        for line in road.warnings[road.patched].splitlines()
        if NUMBER.sub("#", line) not in known and not LATE.match(line)
    ]
    assert not new


@pytest.mark.parametrize("name", GREW)
def test_small_table_grows_to_the_advised_size(road, name):
    assert re.search(rf"^{name} .* crowded$", road.shown, re.MULTILINE)
    advice, now = table(road.advice, name), observed(road, name)
    assert advice["action"] == "grow" and not advice["rough"]
    assert now["buckets"] == advice["buckets_new"]
    assert now["nodes"] == pytest.approx(advice["nodes_predicted"], rel=WITHIN)


def test_grub_gets_the_line(road):
    assert "Written. Run update-grub" in road.grub
    assert road.advice["line"] in road.command_line.split()


def test_exporters_file_is_accepted(road):
    assert 'hashstats_table_buckets{table="dentry"}' in road.exported
    done = subprocess.run(
        [prometheus.program("promtool"), "check", "metrics"],
        input=road.exported,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_debians_kernel_is_back(road):
    assert road.last == road.debian
    assert not road.left
    assert "boothash" not in road.configuration and "hash_entries" not in road.configuration


# --- memory ----------------------------------------------------------------------

PAGE = ROOT / "Documentation/admin-guide/hashstats-debian.rst"
NEW = {"buffer", "mbcache", "unix", "netdev_name", "netdev_index"}
if source.base_name() == "6.12":
    NEW.add("inet_addr")
# hashstats shows these on Debian's 7.3 only; the patched kernel calls the second posixtimers.
ONLY_DEBIAN = set() if source.base_name() == "6.12" else {"futex", "posix_timers"}
MEMORY = {"512 MiB": "512M", "4 GiB": "4G", "16 GiB": "16G"}
READ = """
echo 0 > /proc/sys/kernel/kptr_restrict
PYTHONDONTWRITEBYTECODE=1 python3.11 /tool/hashstats json 2> /dev/null
"""


@pytest.fixture(scope="module")
def kernels(packages, tmp_path_factory):
    """Debian's kernel and that of the packages."""
    [image] = [one for one in packages if re.match(r"linux-image-[^_]*(?<!-dbg)_", one.name)]
    unpacked, folder = tmp_path_factory.mktemp("unpacked"), tmp_path_factory.mktemp("kernel")
    run(["dpkg-deb", "-x", image, unpacked])
    return debian_kernel.kernel(source.base_name()), debian_kernel.keep([unpacked], folder)


def table_bytes(kernel, mem):
    with stock.guest(kernel, READ, mem=mem, disk="64M") as guest:
        said = json.loads(guest.finish().output)
    return {one["name"]: one["bytes"] for one in said["tables"]}


@pytest.mark.parametrize("size", MEMORY)
def test_memory_of_tables_is_what_the_page_says(kernels, size):
    """KiB of the tables that hashstats shows on both kernels, and of the new ones."""
    debian, patched = (table_bytes(kernel, MEMORY[size]) for kernel in kernels)
    both = debian.keys() & patched.keys()
    assert patched.keys() - both >= NEW
    assert debian.keys() - both <= ONLY_DEBIAN
    seen = [
        sum(debian[name] for name in both),
        sum(patched[name] for name in both),
        sum(patched[name] for name in NEW),
    ]
    seen = [number // 1024 for number in seen]
    [row] = re.findall(rf"^{source.base_name()} +{size} +(.*)$", PAGE.read_text(), re.MULTILINE)
    assert [int(number) for number in row.split()] == seen
