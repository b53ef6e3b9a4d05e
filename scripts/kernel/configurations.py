# SPDX-License-Identifier: GPL-2.0
"""Configurations that change what the series compiles."""

from dataclasses import dataclass

from kernel import build
from kernel.build import CONFIGS
from series import compose


@dataclass(frozen=True)
class Configuration:
    """Lines that differ from the configuration of a guest."""

    name: str
    config: str  # lines that must survive

    def objects(self, *targets: str) -> build.Build:
        """Parts of the series, with the options of what patches change but no guest needs."""
        return build.build(
            f"config-objects-{self.name}",
            (self.config,),
            compose.compose(),
            optional=(*build.GUEST, CONFIGS / "objects.config"),
            targets=targets,
            tree="patched",
        )


CONFIGURATIONS = {
    one.name: one
    for one in (
        Configuration(
            "preempt-rt", "CONFIG_EXPERT=y\nCONFIG_PREEMPT_RT=y\nCONFIG_DEBUG_ATOMIC_SLEEP=y\n"
        ),
        Configuration("up", "# CONFIG_SMP is not set\n"),
        Configuration("base-small", "CONFIG_EXPERT=y\nCONFIG_BASE_SMALL=y\n"),
    )
}
