# SPDX-License-Identifier: GPL-2.0
"""User-mode Linux: kernels that run as a process, for timings inside them."""

import contextlib
import functools
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from common import ROOT, die, run
from kernel import build
from kernel.kconfig import Fragment
from series import compose, gitcmd, source

CONFIG = build.CONFIGS / "arch/um.config"
# What the benchmarks that are built into a kernel share.  It and the benchmark's own
# code are in the kernel's tree at the same path as here.
SHARED = "bench/lib/um"
# With the large code model, the default of this architecture, each call goes
# through a register, as on no real machine.
FLAGS = {
    "plain": "-mcmodel=small",
    "retpoline": "-mcmodel=small -mindirect-branch=thunk-inline "
    "-mindirect-branch-register -fno-jump-tables",
}
INDIRECT = re.compile(r"\tcall +\*")
THUNK = re.compile(r"\tpause")

# The memory of the machine is a file; with huge pages a look at it misses the
# TLB as seldom as in a kernel.  The mount ends with the process.  Without one
# the kernel finds a place by itself.
RUN = r"""
unset TMPDIR
if [ "$1" ] && mount -t tmpfs -o "huge=always,size=$1" tmpfs "$HOME/memory"
then
    echo "uml: huge pages"
    export TMPDIR="$HOME/memory"
else
    echo "uml: small pages"
fi
shift
exec "$@"
"""
HUGE = "uml: huge pages"


def name(flavour: str, compiler: str) -> str:
    return f"um-{flavour}" + ("" if compiler == "plain" else f"-{compiler}")


def bench_files(bench: str) -> list[str]:
    """What a benchmark consists of, from the root of the tree."""
    return [
        str(path.relative_to(ROOT))
        for folder in (SHARED, f"bench/{bench}/kernel")
        for path in sorted((ROOT / folder).iterdir())
        if path.name == "Kbuild" or path.suffix in (".c", ".h")
    ]


def with_bench(bench: str, commit: str) -> str:
    """A commit with a benchmark built in."""
    repo = source.base_repo()
    with gitcmd.private_index(commit, repo) as env:
        for file in bench_files(bench):
            compose.replace(file, (ROOT / file).read_text(), repo, env)
        top = compose.blob(":Kbuild", repo, env)
        compose.replace("Kbuild", f"{top}obj-y += bench/{bench}/kernel/\n", repo, env)
        who = gitcmd.signature(source.PERSON, source.DATE)
        return gitcmd.commit_tree(commit, "a benchmark built in\n", repo, env, who)


def kernel(
    bench: str,
    flavour: str,
    commit: str,
    compiler: str = "plain",
    fragments: Iterable[Fragment] = (),
    calls: Iterable[str] = (),
) -> build.Build:
    """Build a commit as user-mode Linux with a benchmark in it.

    `calls` are objects whose indirect calls must be as the compiler was asked
    to make them.
    """
    result = build.build(
        name(flavour, compiler),
        [CONFIG, *fragments],
        with_bench(bench, commit),
        flags=["ARCH=um", "SUBARCH=x86_64", f"KCFLAGS={FLAGS[compiler]}"],
        targets=["vmlinux"],
    )
    for file in calls:
        check_calls(result.obj / file, compiler)
    return result


def check_calls(path: Path, compiler: str) -> None:
    """The compiler must have made indirect calls in the way asked for."""
    code = run(["objdump", "-d", "--no-show-raw-insn", path]).stdout
    calls, thunks = len(INDIRECT.findall(code)), len(THUNK.findall(code))
    wrong = calls or not thunks if compiler == "retpoline" else not calls
    if wrong:
        die(f"{path}: {calls} indirect calls and {thunks} retpolines, in a {compiler} kernel")


@functools.cache
def namespace() -> list[str]:
    """Words for a run with mounts of its own; none where that is refused."""
    words = ["unshare", "--mount"]
    if os.geteuid():
        words += ["--user", "--map-root-user"]
    refused = run([*words, "true"], check=False).returncode
    return [] if refused else words


def command(vmlinux: Path, mem: int, append: Iterable[str]) -> list[str | Path]:
    """The words of one run, with so many MiB of memory."""
    private = namespace()
    # Addresses that the host randomises would change the size of memory.
    return [
        *private,
        "setarch",
        "-R",
        "setpriv",
        "--pdeathsig",
        "KILL",
        "sh",
        "-c",
        RUN,
        "sh",
        f"{mem + 1024}M" if private else "",
        vmlinux,
        f"mem={mem}M",
        "con=null",
        "con0=null,fd:1",
        *append,
    ]


def boot(vmlinux: Path, mem: int = 4096, append: Iterable[str] = (), limit: float = 120) -> str:
    """Run a kernel to its end; what it printed."""
    with tempfile.TemporaryDirectory() as home:
        os.mkdir(f"{home}/memory")
        words = [str(word) for word in command(vmlinux, mem, append)]
        # It takes its terminal and its folders from here, and nothing else.
        with subprocess.Popen(
            words,
            env=build.environment() | {"HOME": home},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                die(f"{vmlinux}: user-mode Linux did not end within {limit} s")
            finally:
                stop(process)
    text = output.decode(errors="replace").replace("\r", "")
    if process.returncode or "Kernel panic" in text:
        said = re.search(r"Kernel panic.*", text)
        die(
            f"{vmlinux}: user-mode Linux ended with status "
            f"{process.returncode}: {said[0] if said else text[-200:]}"
        )
    return text


def cache_mb(level: int = 2) -> int:
    """Size of a level of cache of one processor; 2 where it is not known."""
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    for index in sorted(folder.glob("index*")):
        if (index / "level").read_text().strip() == str(level):
            size = (index / "size").read_text().strip()
            return max(1, int(size.removesuffix("K")) >> 10)
    return 2


def stop(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a run; its helpers are in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
