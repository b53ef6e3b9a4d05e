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
