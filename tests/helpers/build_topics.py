# SPDX-License-Identifier: GPL-2.0
"""Build the files that each topic touches, with only those topics below that it needs.

BASE= names the kernel. Prints the compiler's warnings, and one line per topic.
"""

import touched
from kernel import build
from series import compose, source, topics


def main() -> None:
    whole = build.patched()
    for topic in topics.needs():
        names = {
            name
            for patch in compose.patches((topic,))
            for name in {*patch.changes(), *patch.brings}
        }
        # The rest is not part of this kernel.
        targets = sorted(touched.objects(names, whole))
        made = build.build(
            "topic",
            touched.CONFIG,
            compose.compose(tuple(topics.with_needs(topic))),
            optional=(build.CONFIGS / "series.config",),
            targets=targets or ["prepare"],
        )
        for line in made.warnings:
            print(line)
        print(f"{topic}: {len(targets)} objects on Linux {source.base_name()}", flush=True)


main()
