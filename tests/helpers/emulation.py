# SPDX-License-Identifier: GPL-2.0
"""Guests whose emulated processors really run at the same time.

See accelerator.Accelerator.qemu(): such a guest may die of an accident of the
emulator, which is the one failure that is tried again.
"""

from guest import vm

INT3 = "Oops: int3: 0000"
TRIES = 3


def run_parallel(kernel, script, **options):
    """vm.run(), for guests that switch no static key by themselves."""
    for turn in range(TRIES):
        try:
            return vm.run(kernel, script, parallel=True, **options)
        except vm.GuestError as error:
            seen = any(INT3 in line for line in error.details)
            if turn == TRIES - 1 or not seen or error.kind != "panic":
                raise
            print(f"the emulator ran a breakpoint that is gone: {error.reason}")
