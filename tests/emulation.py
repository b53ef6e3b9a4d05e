# SPDX-License-Identifier: GPL-2.0
"""Guests that patch their own code, on an emulator that does it badly.

A static key that is switched rewrites instructions which other processors run.
QEMU 7.2 with a host thread for each processor may go on with a translation of
the breakpoint that stands there in between, long after it has gone: the guest
dies of `Oops: int3`.  Mainline does so too, within seconds, when
perf_event_open() switches perf_swevent_enabled under page faults; and now and
then at boot.  With one thread for all processors it does not happen.
"""

import accelerator
import guest

INT3 = "Oops: int3: 0000"
TRIES = 3


class OneThread(accelerator.Accelerator):
    """Emulation in one thread; processors still take turns at any time."""

    def limit(self, seconds):
        return seconds * accelerator.SLOWNESS["tcg"]


def one_thread(kernel):
    """The accelerator for a guest in which a static key is switched."""
    usual = guest.accelerator(kernel.vmlinux)
    if usual.name != "tcg":
        return usual
    return OneThread("tcg,thread=single", usual.reason)


def run(kernel, script, **options):
    """guest.run() on that accelerator."""
    return guest.run(kernel, script, accel=one_thread(kernel), **options)


def run_parallel(kernel, script, **options):
    """guest.run() with processors that really run at the same time.

    For guests that switch no key; what remains is the emulator's accident at
    boot, which is the one failure that is tried again.
    """
    for turn in range(TRIES):
        try:
            return guest.run(kernel, script, **options)
        except guest.GuestError as error:
            seen = any(INT3 in line for line in error.details)
            if turn == TRIES - 1 or not seen or error.kind != "panic":
                raise
            print(f"the emulator ran a breakpoint that is gone: {error.reason}")
