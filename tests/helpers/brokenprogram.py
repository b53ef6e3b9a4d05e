# SPDX-License-Identifier: GPL-2.0
"""Guest programs in which a call is broken, as if the kernel had broken it."""

import re
import subprocess

import sections
from guest import initramfs, vm


def compile_changed(folder, program, name, old, new):
    """Build one of our selftests with one place changed."""
    source = initramfs.selftests()
    text = (source / f"{program}.c").read_text()
    assert text.count(old) == 1, old
    (folder / f"{name}.c").write_text(text.replace(old, new))
    words = ["gcc", "-O1", "-static", "-pthread", "-D_GNU_SOURCE=", f"-I{source}"]
    words += ["-o", folder / name, folder / f"{name}.c"]
    subprocess.run(words, check=True, timeout=60)
    return folder / name


def check_seen(kernel, folder, program, changes, job, **options):
    """Each change, as {name: ((old, new), words)}, must make a process say so.

    `job` has {name} where the broken program is called.
    """
    files = {
        f"/bin/broken-{name}": compile_changed(folder, program, name, *change)
        for name, (change, _) in changes.items()
    }
    script = "".join(f"echo '=== {name}'\n{job.format(name=name)}\n" for name in changes)
    result = vm.run(kernel, script, cpus=2, files=files, **options)
    said = sections.named(result.output)
    for name, (_, words) in changes.items():
        seen = re.search(rf"^# process \d+: ({words})", said[name], re.M)
        assert seen, (name, said[name])
