# SPDX-License-Identifier: GPL-2.0
"""Configurations that change what the series compiles, and random ones."""

from dataclasses import dataclass

from common import die, setting
from common.packages import ensure_packages
from kernel import build
from kernel.build import CONFIGS
from series import compose

# Debian 12 and 13 have this version; kCFI needs 16 or newer.
CLANG = 19
WITH_CLANG = (f"LLVM=-{CLANG}", f"CC=ccache clang-{CLANG}", f"HOSTCC=ccache clang-{CLANG}")


@dataclass(frozen=True)
class Configuration:
    """Lines that differ from the configuration of a guest."""

    name: str
    config: str  # lines that must survive
    preferred: str = ""  # lines of which one base may have only some
    flags: tuple[str, ...] = ()  # words for each make

    def objects(self, *targets: str) -> build.Build:
        """Parts of the series, with the options of what patches change but no guest needs."""
        if self.flags:
            ensure_packages("clang")
        return build.build(
            f"config-objects-{self.name}",
            (self.config,),
            compose.compose(),
            optional=(*build.GUEST, CONFIGS / "objects.config", self.preferred),
            flags=self.flags,
            targets=targets,
            tree="patched",
        )


CONFIGURATIONS = {
    one.name: one
    for one in (
        Configuration(
            "preempt-rt", "CONFIG_EXPERT=y\nCONFIG_PREEMPT_RT=y\nCONFIG_DEBUG_ATOMIC_SLEEP=y\n"
        ),
        Configuration(
            "preempt-dynamic-full",
            "# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
        ),
        Configuration("numa", "CONFIG_NUMA=y\nCONFIG_ACPI_NUMA=y\nCONFIG_X86_64_ACPI_NUMA=y\n"),
        Configuration("up", "# CONFIG_SMP is not set\n"),
        Configuration("base-small", "CONFIG_EXPERT=y\nCONFIG_BASE_SMALL=y\n"),
        Configuration("no-multiuser", "# CONFIG_MULTIUSER is not set\n"),
        Configuration("no-proc", "# CONFIG_PROC_FS is not set\n"),
        Configuration("no-block", "# CONFIG_BLOCK is not set\n"),
        Configuration("no-cgroups", "# CONFIG_CGROUPS is not set\n"),
        Configuration("no-hashstats", "# CONFIG_HASHSTATS is not set\n"),
        Configuration("modules", (CONFIGS / "all-modules.config").read_text()),
        Configuration("clang", "CONFIG_CC_IS_CLANG=y\n", flags=WITH_CLANG),
        Configuration(
            "clang-cfi-lto",
            "CONFIG_LTO_CLANG_THIN=y\n",
            preferred="CONFIG_CFI=y\nCONFIG_CFI_CLANG=y\n",
            flags=WITH_CLANG,
        ),
        Configuration("clang-randstruct", "CONFIG_RANDSTRUCT_FULL=y\n", flags=WITH_CLANG),
    )
}

# A warning must not end a build.
RANDOM = "# base: randconfig\n# CONFIG_WERROR is not set\n"
# Debug information only costs time.
PREFERRED = "CONFIG_DEBUG_INFO_NONE=y\n"
RANDOM_CONFIGURATIONS = 30


def seeds() -> range:
    """Seeds of the random configurations, from SEED= on."""
    first = setting("SEED", "1")
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
