# SPDX-License-Identifier: GPL-2.0
"""What a benchmark compares: the base kernel and the series."""

from typing import Any

from bench.lib import symbol_counts
from bench.lib.record import Result
from common import ROOT, step
from guest import vm
from kernel import build, variants
from series import compose, extra_patch

# Locks initialised at one place are one class to lockdep, so that an array of
# them is counted as one.
LOCK_CLASSES = ROOT / "bench/inode/inode-lock-classes.patch"
LOCKSTAT = build.CONFIGS / "test/lockstat.config"

# Stored results call the series "ours"; readers are shown these names.
TITLES = {
    "base": "base",
    "ours": "series",
    "again": "base again",
    "ours-again": "series again",
    "hash": "series, page hash",
}


def build_kernels(result: Result) -> dict[str, build.Build]:
    """Both kernels, built and noted in the result."""
    return note_kernels(result, {"base": variants.base(), "ours": variants.patched()})


def build_lockstat_kernels(result: Result) -> dict[str, build.Build]:
    """Both kernels with lock_stat, built and noted in the result."""
    classes = extra_patch.commit(compose.compose(), "the series", LOCK_CLASSES)
    options = {"targets": variants.VMLINUX}
    return note_kernels(
        result,
        {
            "base": variants.base("lockstat", LOCKSTAT, **options),
            "ours": variants.patched("lockstat", LOCKSTAT, commit=classes, **options),
        },
    )


def note_kernels(result: Result, built: dict[Any, Any]) -> dict[Any, Any]:
    """Write the kernels of a benchmark into its result."""
    for kernel in built.values():
        result.kernel(kernel)
    return built


def note_machine(result: Result, kernel: build.Build, **more: Any) -> None:
    """Which accelerator guests run with, and more about the machine."""
    accelerator = vm.accelerator(kernel.vmlinux)
    result.machine(accelerator=f"{accelerator.name} ({accelerator.reason})", **more)


def check_counting(result: Result, kernel: build.Build) -> None:
    """Count a loop of known length before anything else is counted."""
    with step("check the counting of instructions"):
        insns = symbol_counts.check(kernel.vmlinux)
    result.run("known-loop", instructions=insns, counted=insns)


def kernel_of(name: str) -> str:
    """Whose kernel a guest runs: `again` is the base once more, and so on."""
    return "base" if name in ("base", "again") else "ours"
