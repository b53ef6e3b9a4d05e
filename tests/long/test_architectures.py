# SPDX-License-Identifier: GPL-2.0
"""The series on other architectures: it builds without a warning, and works.

The whole kernel is built and booted with two CPUs, emulated, for each architecture;
then each patch's objects are built for some.
"""

import pytest

import file_load
import kunit_suites
import touched
from common.packages import ensure_packages
from guest import hashstats_file, kunit, vm
from kernel import build
from kernel.architectures import FOREIGN
from series import compose

pytestmark = pytest.mark.long

BOOTED = [name for name, one in FOREIGN.items() if one.qemu]
MEMORY = "1G"  # some of it is high memory with 32 bits
LOW_MEMORY = 896 << 20  # of i386, at most
PATCHES = compose.patches()
CONFIGS = (*build.BASE_GUEST, build.CONFIGS / "series.config")
# {name: words for make} of the builds patch by patch.
ARCHITECTURES = {
    "i386": FOREIGN["i386"].flags,
    "arm64": FOREIGN["arm64"].flags,
    "um": ["ARCH=um", "SUBARCH=x86_64"],
}
SIZES = {"dentry": 4096, "inode": 2048, "mount": 64, "folio_wait": 2, "bit_wait": 2}
TWO_BUCKETS = "hash_entries=dentry:2,inode:2,folio_wait:2,bit_wait:2"


@pytest.fixture(scope="module")
def machine(request, tree, visibly):
    """An architecture and its kernel."""
    one = FOREIGN[request.param]
    with visibly():
        return one, one.kernel()


def each(names):
    return pytest.mark.parametrize("machine", names, indirect=True, scope="module")


def boot(machine, script, append="", **options):
    one, kernel = machine
    ensure_packages("boot", one.emulator)
    options = {"mem": MEMORY, "timeout": 60} | options
    return vm.run(kernel, script, arch=one, append=append, **options)


@each(FOREIGN)
def test_kernel_builds_without_a_warning(machine):
    assert not machine[1].warnings


@each(BOOTED)
def test_suites(machine):
    result = boot(machine, "nproc", kunit.ENABLE)
    assert result.output == "2\n"
    assert kunit_suites.problems(machine[1].src, result.console) == {}


@each(BOOTED)
def test_sizes(machine):
    words = ",".join(f"{name}:{size}" for name, size in SIZES.items()).replace("4096", "4K")
    result = boot(machine, "cat /proc/hashstats", f"hash_entries={words}")
    tables = hashstats_file.parse(result.output)
    assert {name: tables[name]["buckets"] for name in SIZES} == SIZES
    assert {tables[name]["sized-by"] for name in SIZES} == {"command line"}


@each(["i386-pae"])
def test_tables_leave_low_memory(machine):
    """They cannot be in high memory, which is most of the memory here."""
    words = ",".join(f"{name}:64M" for name in ("dentry", "inode", "mount", "mountpoint"))
    result = boot(machine, "cat /proc/hashstats", f"hash_entries={words}", mem="4G")
    tables = hashstats_file.parse(result.output)
    assert sum(table["bytes"] for table in tables.values()) <= LOW_MEMORY // 4
    assert "expected at most 1/4 of memory for all tables" in result.console


@each(["i386-pae"])
def test_memory_that_comes_later_does_not_overflow(machine):
    append = "hash_memory=4096G hash_entries=page:auto"
    tables = hashstats_file.parse(boot(machine, "cat /proc/hashstats", append).output)
    assert tables["page"]["bytes"] >= 16 << 20


@each(BOOTED)
@pytest.mark.parametrize("append", ["", TWO_BUCKETS], ids=("default", "two-buckets"))
def test_load(machine, append, tmp_path):
    result = boot(machine, file_load.SCRIPT, append, qemu=file_load.disk(tmp_path))
    file_load.check(result)


@pytest.mark.parametrize("number", range(len(PATCHES)), ids=[one.title for one in PATCHES])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_objects_of_patch_build_without_a_warning(name, number, kernel):
    """Options that an architecture lacks are left out."""
    if name == "arm64":
        ensure_packages("arm64")
    patch, commit = PATCHES[number], compose.commits(compose.compose())[number]
    files = {file[:-2] + ".o" for file in {*patch.changes(), *patch.brings} if file.endswith(".c")}
    common = {"optional": CONFIGS, "flags": ARCHITECTURES[name]}
    config = build.build(name, (), commit, targets=["prepare"], **common).config
    objects = {file for file in files if (kernel.obj / file).exists()}
    targets = sorted(touched.wanted(objects, commit, config))
    if targets:
        assert not build.build(name, (), commit, targets=targets, **common).warnings
