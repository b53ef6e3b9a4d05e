# SPDX-License-Identifier: GPL-2.0
"""What a benchmark compares: the base kernel and the series."""

from typing import Any

from bench import symbol_counts
from bench.record import Result
from common import step
from guest import vm
from kernel import build, variants

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
    return note_kernels(
        result, {"base": variants.base_lockstat(), "ours": variants.patched_lockstat()}
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
