# SPDX-License-Identifier: GPL-2.0
"""A benchmark program of the guest, run on this machine."""

import subprocess

from guest import initramfs


def program(name):
    def run(*words):
        return subprocess.run(
            [initramfs.tools() / name, *words],
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )

    return run
