# SPDX-License-Identifier: GPL-2.0
"""Benchmarks that are built into a kernel of user-mode Linux."""

import re
from collections.abc import Sequence

from bench.lib.record import Result
from bench.lib.sides import note_kernels
from common import die
from guest import uml
from kernel import build, variants
from kernel.kconfig import Fragment
from series import compose

REFUSED = re.compile(r"^hash_entries.*", re.M)


def kernels(
    result: Result, bench: str, base: Sequence[Fragment] = (), ours: Sequence[Fragment] = ()
) -> dict[str, build.Build]:
    """Both kernels with a benchmark built in, noted in the result."""
    sides = {
        "base": (variants.base_commit(), base),
        "patched": (compose.compose(), ours),
    }
    built = {
        name: uml.kernel(bench, f"{bench}-{name}", commit, fragments=fragments)
        for name, (commit, fragments) in sides.items()
    }
    return note_kernels(result, built)


def run(
    result: Result,
    name: str,
    kernel: build.Build,
    mem: int,
    append: Sequence[str],
    limit: int,
) -> str:
    """Run a kernel and return its output; the result keeps its command."""
    output = uml.boot(kernel.vmlinux, mem, append, limit)
    result.command(name, uml.command(kernel.vmlinux, mem, append))
    return output


def check_end(program: str, output: str) -> None:
    """The kernel accepted its command line and the benchmark ended well."""
    refused = REFUSED.search(output)
    if refused:
        die(f"the kernel's command line: {refused[0]}")
    if re.findall(rf"^{program}: end (-?\d+)$", output, re.M) != ["0"]:
        said = [line for line in output.splitlines() if line.startswith(f"{program}: ")]
        # The line before the end says what went wrong.
        die(
            "the kernel's benchmark did not end well: "
            f"{'; '.join(said[-2:]) if said else 'it never began'}"
        )
