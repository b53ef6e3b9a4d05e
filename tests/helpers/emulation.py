# SPDX-License-Identifier: GPL-2.0
"""Guests whose emulated processors really run at the same time.

See accelerator.Accelerator.qemu(): such a guest may die of an accident of the
emulator, which is the one failure that is tried again.  The kernel switches
most of its static keys while it boots, so it boots with one CPU.
"""

from guest import vm

INT3 = "Oops: int3: 0000"
TRIES = 5

BRING_UP = """
for cpu in /sys/devices/system/cpu/cpu[1-9]*; do
    echo 1 > $cpu/online
done
"""


def run_parallel(kernel, script, append="", **options):
    """vm.run(), for scripts that switch no static key."""
    options["append"] = f"maxcpus=1 {append}"
    for turn in range(TRIES):
        try:
            return vm.run(kernel, BRING_UP + script, parallel=True, **options)
        except vm.GuestError as error:
            seen = any(INT3 in line for line in error.details)
            if turn == TRIES - 1 or not seen or error.kind != "panic":
                raise
            print(f"the emulator ran a breakpoint that is gone: {error.reason}")


def check_races(result, ours, mainline="nothing"):
    """KCSAN watched, and no race of the series was among what the kernel complained of."""
    assert "kcsan: enabled" in result.console
    races = [line for line in result.complaints if "KCSAN:" in line]
    assert result.complaints == races
    assert [line for line in races if ours.search(line) and mainline not in line] == []


def disks(machine, sizes):
    """Give a guest that has not started empty disks, {name: MiB}."""
    for name, size in sizes.items():
        with open(machine.folder / name, "wb") as image:
            image.truncate(size << 20)


def drives(names):
    """Words for QEMU: disks in the folder of the guest."""
    return [w for n in names for w in ("-drive", f"file={n},format=raw,if=virtio,cache=unsafe")]


def nodes(cpus):
    """Words for QEMU: two nodes of 1 GiB, each a package with half of the CPUs."""
    words = ["-smp", f"{cpus},sockets=2,cores={cpus // 2},threads=1"]
    for node in range(2):
        first = node * cpus // 2
        words += ["-object", f"memory-backend-ram,id=m{node},size=1G"]
        words += [
            "-numa",
            f"node,nodeid={node},cpus={first}-{first + cpus // 2 - 1},memdev=m{node}",
        ]
    return words
