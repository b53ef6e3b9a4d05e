# SPDX-License-Identifier: GPL-2.0
"""Configurations that change what the series compiles, and random ones."""

from dataclasses import dataclass

from common import die, setting
from common.packages import ensure_packages
from kernel import build
from kernel.build import CONFIGS
from kernel.kconfig import Fragment
from series import compose

# Debian 12 and 13 have this version; kCFI needs 16 or newer.
CLANG = 19
WITH_CLANG = (f"LLVM=-{CLANG}", f"CC=ccache clang-{CLANG}", f"HOSTCC=ccache clang-{CLANG}")


@dataclass(frozen=True)
class Configuration:
    """Lines that differ from the configuration of a guest, and the machine to boot it."""

    name: str
    config: str  # lines that must survive
    preferred: str = ""  # lines that some bases lack
    boots: bool = True  # it can, in a guest of the tests
    flags: tuple[str, ...] = ()  # words for each make
    targets: tuple[str, ...] = ("vmlinux",)
    cpus: int = 2
    memory: str = "2G"
    qemu: tuple[str, ...] = ()
    append: str = ""

    def kernel(self) -> build.Build:
        return self._build("config", self.targets)

    def objects(self, *targets: str) -> build.Build:
        """Objects, with the options of files that patches change but no guest needs."""
        return self._build("config-objects", targets, CONFIGS / "test/objects.config")

    def _build(self, kind: str, targets: tuple[str, ...], *more: Fragment) -> build.Build:
        if self.flags:
            ensure_packages("clang")
        return build.build(
            f"{kind}-{self.name}",
            (self.config,),
            compose.compose(),
            optional=(*build.GUEST, *more, self.preferred),
            flags=self.flags,
            targets=targets,
            tree="patched",
        )


NODES = 4
# Each node is a socket with one CPU.
FOUR_NODES = (
    "-smp",
    f"{NODES},sockets={NODES}",
    *(
        word
        for node in range(NODES)
        for word in (
            "-object",
            f"memory-backend-ram,id=m{node},size=512M",
            "-numa",
            f"node,nodeid={node},cpus={node},memdev=m{node}",
        )
    ),
)

CONFIGURATIONS = {
    one.name: one
    for one in (
        # A spinlock sleeps: a task that takes one where it must not is reported.
        Configuration(
            "preempt-rt",
            "CONFIG_EXPERT=y\nCONFIG_PREEMPT_RT=y\nCONFIG_DEBUG_ATOMIC_SLEEP=y\n",
        ),
        Configuration(
            "preempt-dynamic-full",
            "# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
            append="preempt=full",
        ),
        Configuration(
            "numa",
            "CONFIG_NUMA=y\nCONFIG_ACPI_NUMA=y\nCONFIG_X86_64_ACPI_NUMA=y\n",
            cpus=NODES,
            qemu=FOUR_NODES,
            append="hashdist=1",
        ),
        Configuration("up", "# CONFIG_SMP is not set\n", cpus=1),
        Configuration("base-small", "CONFIG_EXPERT=y\nCONFIG_BASE_SMALL=y\n"),
        Configuration("no-multiuser", "CONFIG_EXPERT=y\n# CONFIG_MULTIUSER is not set\n"),
        Configuration("no-proc", "# CONFIG_PROC_FS is not set\n", boots=False),
        Configuration("no-block", "# CONFIG_BLOCK is not set\n", boots=False),
        Configuration("no-cgroups", "# CONFIG_CGROUPS is not set\n"),
        # tests/kernel/test_patches.py boots a kernel without any option of the series.
        Configuration("no-hashstats", "# CONFIG_HASHSTATS is not set\n", boots=False),
        Configuration(
            "modules",
            (CONFIGS / "test/all-modules.config").read_text(),
            preferred="CONFIG_BCACHEFS_FS=m\n",
            boots=False,
            targets=("vmlinux", "modules"),
        ),
        Configuration("clang", "CONFIG_CC_IS_CLANG=y\n", flags=WITH_CLANG),
        Configuration(
            "clang-cfi-lto",
            "CONFIG_LTO_CLANG_THIN=y\n",
            preferred="CONFIG_CFI=y\nCONFIG_CFI_CLANG=y\n",
            flags=WITH_CLANG,
        ),
        # ccache does not see that the file with the seed of the layout has changed.
        Configuration(
            "clang-randstruct",
            "CONFIG_RANDSTRUCT_FULL=y\n",
            flags=tuple(word.replace("ccache ", "") for word in WITH_CLANG),
        ),
        # Reads of memory that nobody wrote to are reported.  KMSAN keeps two
        # bytes for each byte of memory, and for each of the 256 MiB in which PCI
        # devices are configured.  It does not watch the code that sets the numbers
        # of rseq, and reports each copy of them.  The kernel gives a word that it
        # does not know to init as a variable: with this one, no program uses rseq.
        Configuration(
            "clang-kmsan",
            "CONFIG_KMSAN=y\n",
            flags=WITH_CLANG,
            memory="6G",
            append="GLIBC_TUNABLES=glibc.pthread.rseq=0",
        ),
    )
}

# A warning must not end a build.
RANDOM = "# base: randconfig\n# CONFIG_WERROR is not set\n"
# Debug information only costs time. i915 has an option of its own for a warning.
PREFERRED = "CONFIG_DEBUG_INFO_NONE=y\n# CONFIG_DRM_I915_WERROR is not set\n"
RANDOM_CONFIGURATIONS = 30


def seeds() -> range:
    """Seeds of the random configurations, from SEED= on."""
    first = setting("SEED")
    if not first.isdecimal():
        die(f"SEED={first}: expected a number")
    return range(int(first), int(first) + RANDOM_CONFIGURATIONS)


def random_objects(seed: int, *targets: str) -> build.Build:
    """Parts of the series with the configuration that `make randconfig` has for a seed."""
    return build.build(
        f"random-{seed}",
        (RANDOM,),
        compose.compose(),
        optional=(PREFERRED,),
        flags=(f"KCONFIG_SEED={seed}",),
        targets=targets,
        tree="patched",
    )
